//! The codes of failures, which are what a command could not do because of its arguments, files or limits, and of its warnings.

use onnx_diag::{Rule, Severity};

macro_rules! failures {
    ($($severity:ident $name:ident = $code:literal $slug:literal $summary:literal $explain:literal;)*) => {
        $(
            #[doc = $summary]
            pub(crate) static $name: Rule = Rule::new($code, $slug, Severity::$severity, $summary).with_explain($explain);
        )*

        /// All of them, by ascending code.
        pub(crate) static ALL: &[&Rule] = &[$(&$name),*];
    };
}

failures! {
    Error COMMAND_FAILED = 8000 "command-failed" "The command cannot do what its arguments request."
        "## What\n\nThe arguments and the files do not allow what was requested. The message gives the reason.\n\n## Why\n\nNo output is written.\n\n## Repair\n\nFollow the help of the message.\n";
    Error FILE_NOT_READABLE = 8001 "file-not-readable" "A file cannot be read."
        "## What\n\nThe system refuses to open or read the file. The message has its reason.\n\n## Why\n\nThe other files are still processed; the exit status is 2.\n\n## Repair\n\nCheck the path and the permissions.\n";
    Error NOT_A_MODEL = 8002 "not-a-model" "The bytes of a file are not a model."
        "## What\n\nThe file is empty, in another format, or truncated. The message tells what it appears to be.\n\n## Why\n\nThe exit status is 2, and no output is written.\n\n## Repair\n\nGive the format with `--from`, or the part of a model with `--as`; download the file again if it is truncated.\n";
    Error LIMIT_EXCEEDED = 8003 "limit-exceeded" "A file exceeds a limit."
        "## What\n\nReading, checking or writing the file would cost more memory or time than a limit allows. `onnx explain --list limits` lists the limits.\n\n## Why\n\nLimits protect against files that were made to exhaust memory. The exit status is 3.\n\n## Repair\n\nIf the file can be trusted, raise the limit: `--limit NAME=N`. The limit `memory` is that of the system or of `ulimit -v`: give the process more, or smaller sizes.\n";
    Error FILE_NOT_WRITABLE = 8004 "file-not-writable" "A file cannot be written."
        "## What\n\nThe system refuses to write the file, or standard output. The message has its reason.\n\n## Why\n\nA file that existed is unchanged. The exit status is 2.\n\n## Repair\n\nCheck the path, the permissions and the free space.\n";
    Warning COMMAND_WARNED = 8006 "command-warned" "The command did what was requested, with a consequence that may not be wanted."
        "## What\n\nThe message says what follows from the arguments and the model, such as two sizes that are one size now, or weights that stay as they are.\n\n## Why\n\nThe model is valid, and may not be what was meant. With `--deny warnings` no model is written.\n\n## Repair\n\nFollow the help of the message, or use the result as it is.\n";
}
