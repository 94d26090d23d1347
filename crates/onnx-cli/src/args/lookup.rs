//! Arguments of commands that are about the program: `explain`, `completions`, `man` and `self-test`.

use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};

use crate::report::ReportArgs;

const EXPLAIN_EXAMPLES: &str = "\
An error that a limit causes names it, and every command that reads a model takes `--limit NAME=N`.

Examples:
  onnx explain ONNX1003
  onnx explain attribute-with-several-values
  onnx explain message_depth
  onnx explain no-identities
  onnx explain mul-reciprocal
  onnx explain --list rules
  onnx explain --list limits --format json";

/// Arguments of `onnx explain`.
#[derive(Debug, Args)]
#[command(after_help = EXPLAIN_EXAMPLES)]
pub(crate) struct ExplainArgs {
    /// A rule as diagnostics name it (`ONNX1003`, `1003`, or its name), a rewrite rule, a pass, a limit, or a target.
    #[arg(required_unless_present = "list", value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// List everything of a kind.
    #[arg(long, value_enum, value_name = "KIND", conflicts_with = "name")]
    pub(crate) list: Option<ListKind>,
    #[command(flatten)]
    pub(crate) report: ReportArgs,
}

/// What can be explained.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ListKind {
    /// The rules of diagnostics and failures.
    Rules,
    /// The limits on what a model may cost, with their defaults.
    Limits,
    /// The passes of `onnx rewrite`.
    Passes,
    /// The rewrite rules of `onnx simplify`.
    RewriteRules,
    /// The targets of `onnx check --target`.
    Targets,
}

const COMPLETIONS_EXAMPLES: &str = "\
Examples:
  onnx completions bash > ~/.local/share/bash-completion/completions/onnx
  onnx completions zsh > ~/.zfunc/_onnx
  onnx completions fish > ~/.config/fish/completions/onnx.fish";

/// Arguments of `onnx completions`.
#[derive(Debug, Args)]
#[command(after_help = COMPLETIONS_EXAMPLES)]
pub(crate) struct CompletionsArgs {
    /// The shell.
    #[arg(value_enum, value_name = "SHELL")]
    pub(crate) shell: clap_complete::Shell,
}

const MAN_EXAMPLES: &str = "\
Examples:
  onnx man | man -l -                             the commands
  onnx man weights list | man -l -
  onnx man -o man1                                all pages, for a directory of `MANPATH`";

/// Arguments of `onnx man`.
#[derive(Debug, Args)]
#[command(after_help = MAN_EXAMPLES)]
pub(crate) struct ManArgs {
    /// The command; without this, the page of the program.
    #[arg(value_name = "COMMAND", conflicts_with = "output_dir")]
    pub(crate) command: Vec<String>,
    /// Write the pages of all commands into a directory, which is made if it does not exist.
    #[arg(short, long = "output", value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) output_dir: Option<PathBuf>,
}

const SELF_TEST_EXAMPLES: &str = "\
Models, inputs and answers of the reference are part of the program. Exit status 1: an answer is
another one here, and the program is not reliable on this machine.

Examples:
  onnx self-test
  onnx self-test --format json";

/// Arguments of `onnx self-test`.
#[derive(Debug, Args)]
#[command(after_help = SELF_TEST_EXAMPLES)]
pub(crate) struct SelfTestArgs {
    #[command(flatten)]
    pub(crate) report: ReportArgs,
}
