//! Development tasks of the workspace: `cargo xtask <task>`.
//!
//! Each task is one module with one `run` function that receives the arguments after the task's name.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command-line program talks to its terminal")]

mod api;
mod attack;
mod bench;
mod channels;
mod ci;
mod codegen;
mod conformance;
mod contents;
mod create;
mod fuzz;
mod hostile;
mod notices;
mod operator;
mod package;
mod page;
mod python;
mod release;
mod sanitize;
mod tidy;
mod upstream;
mod wasm;
mod watchdog;
mod wheel;
mod workspace;

use std::process::ExitCode;

/// What a task reports when it fails: one sentence per problem.
pub(crate) type TaskResult = Result<(), String>;

const HELP: &str = "\
cargo xtask <task>

  api           write the public API of every crate to docs/api; --check fails where it differs
  attack        independent stress tests: `attack infer` holds inference of random models against onnxruntime
  channels      install the command as users do, from an archive, in an image, for git, as hooks and in an action
  ci            everything that CI runs: format, clippy, tidy, codegen --check, tests, doc tests, conformance
  codegen       regenerate the committed generated files; --check fails on drift; --extract reads the facts anew
  conformance   compare with the reference, whose answers it asks for; --offline compares with committed ones
  bench         run the benchmarks; --peers measures side by side with other tools
  fuzz          try random input, as long as one likes: --minutes N, --target NAME
  hostile       try every hostile case, and show what each took and may take
  new           create the files of an operator, a rule or a pass: `new op NAME`, `new rule UNIT/SLUG`, `new pass NAME`
  op            list the files of an operator: `op Reshape`, `op com.microsoft.Gelu`
  page          click through the page of `onnx view` in Chromium; --bless writes its reference pictures
  package       pack every crate as for publishing, and compile the packages; publishes nothing
  python        build the wheel of the Python package, install it, and run its tests; --bench compares it with others, --stress attacks it
  release       build all artefacts of a version: `release VERSION --dry-run`; --again tests none, --check only compares what states the version
  sanitize      the tests of crates with unsafe code under the address sanitizer
  tidy          run the checks of docs/architecture.md
";

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    let task = args.next().unwrap_or_default();
    let rest: Vec<String> = args.collect();
    let result = match task.as_str() {
        "api" => api::run(&rest),
        "attack" => attack::run(&rest),
        "bench" => bench::run(&rest),
        "channels" => channels::run(&rest),
        "ci" => ci::run(&rest),
        "codegen" => codegen::run(&rest),
        "conformance" => conformance::run(&rest),
        "fuzz" => fuzz::run(&rest),
        "hostile" => hostile::run(&rest),
        "new" => create::run(&rest),
        "op" => operator::run(&rest),
        "package" => package::run(&rest),
        "page" => page::run(&rest),
        "python" => wheel::run(&rest),
        "release" => release::run(&rest),
        "sanitize" => sanitize::run(&rest),
        "tidy" => tidy::run(&rest),
        "" | "help" | "--help" | "-h" => {
            print!("{HELP}");
            Ok(())
        }
        other => Err(format!("there is no task `{other}`\n\n{HELP}")),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("xtask {task}: {problem}");
            ExitCode::FAILURE
        }
    }
}
