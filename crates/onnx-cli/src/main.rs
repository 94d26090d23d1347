//! The `onnx` command: looks at ONNX models, checks them, and converts between their formats.
//!
//! One file for each subcommand; what they share is [`args`] (the command line), [`input`] (from a path to a model),
//! [`format`](mod@format) (the formats a model can be stored in), [`part`] (parts of a model in files of their own),
//! [`syntax`] (the tokens of ONNX text), [`output`] (terminal and colours), [`store`] (from a model to a
//! file), [`interrupt`] (signals), [`progress`] and [`exit`] (exit codes and failures). Whatever a library user could want is in the library crates.
#![forbid(unsafe_code)]

mod args;
mod check;
mod completions;
mod convert;
mod exit;
mod explain;
mod fmt;
mod format;
mod infer;
mod info;
mod input;
mod interrupt;
mod limits;
mod ops;
mod output;
mod parse;
mod part;
mod print;
mod progress;
mod rules;
mod size;
mod smith;
mod store;
mod syntax;
mod tensors;
mod verify;

use std::process::ExitCode;

use clap::Parser as _;

use args::{Cli, Color, Command};
use exit::Outcome;
use output::Out;

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version go to standard output and are no errors; whoever closed it does not want them.
            let _ = error.print();
            return if error.use_stderr() { Outcome::CouldNotRun.into() } else { Outcome::Fine.into() };
        }
    };
    let mut out = Out::new(if cli.no_color { Color::Never } else { cli.color });
    let result = match cli.command {
        Command::Check(args) => check::run(args, &mut out),
        Command::Info(args) => info::run(&args, &mut out),
        Command::Infer(args) => infer::run(&args, &mut out),
        Command::Convert(args) => convert::run(&args, &mut out),
        Command::Print(args) => print::run(&args, &mut out),
        Command::Parse(args) => parse::run(&args, &mut out),
        Command::Fmt(args) => fmt::run(&args, &mut out),
        Command::Verify(args) => verify::run(&args, &mut out),
        Command::Explain(args) => explain::run(&args, &mut out),
        Command::Ops(args) => ops::run(&args, &mut out),
        Command::Smith(args) => smith::run(&args, &mut out),
        Command::Limits(args) => limits::run(&args, &mut out),
        Command::Completions(args) => completions::run(&args, &mut out),
    };
    let outcome = result.unwrap_or_else(|failure| {
        out.failure(&failure);
        failure.outcome()
    });
    outcome.into()
}
