//! Arguments of `onnx explain` and `onnx completions`.

use clap::{Args, ValueEnum};

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
