//! Arguments of `onnx view`.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::InputArgs;

const VIEW_EXAMPLES: &str = "\
The page is served on the loopback address, under a token that changes with each call; other
programs and other pages cannot read it without the token. The file is read, never written: `Save`
downloads a copy. Each tab changes a model of its own. The command ends when the last tab is
closed, or with Ctrl-C.

Examples:
  onnx view model.onnx
  onnx view old.onnx new.onnx                  side by side, with what differs
  onnx view model.onnx --no-browser            prints the address only
  onnx view model.onnx --port 8080 --no-browser";

/// Arguments of `onnx view`.
#[derive(Debug, Args)]
#[command(after_help = VIEW_EXAMPLES)]
pub(crate) struct ViewArgs {
    /// The model; `-` is standard input.
    #[arg(value_name = "IN", value_hint = ValueHint::FilePath)]
    pub(crate) input_file: PathBuf,
    /// A newer model, which is compared with it.
    #[arg(value_name = "NEW", value_hint = ValueHint::FilePath)]
    pub(crate) newer_file: Option<PathBuf>,
    /// The port; without this, a free one.
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    pub(crate) port: u16,
    /// Do not open a browser; print the address on standard output.
    #[arg(long)]
    pub(crate) no_browser: bool,
    /// Do not end when the last tab is closed.
    #[arg(long)]
    pub(crate) stay: bool,
    /// Show what could be decoded of a file with errors.
    #[arg(long)]
    pub(crate) keep_going: bool,
    #[command(flatten)]
    pub(crate) input: InputArgs,
}
