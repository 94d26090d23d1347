//! `onnx completions`: a script that teaches a shell the command line.

use clap::CommandFactory as _;

use crate::args::{Cli, CompletionsArgs};
use crate::exit::{Failure, Outcome};
use crate::output::Out;

pub(crate) fn run(args: &CompletionsArgs, out: &mut Out) -> Result<Outcome, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "onnx", &mut script);
    out.bytes([script.as_slice()])?;
    Ok(Outcome::Fine)
}
