//! Standard input as an input of a command: it can be read once.

use std::path::Path;

use crate::args::Command;
use crate::exit::Failure;
use crate::input::is_stdin;

/// Other names of standard input.
const NAMES: [&str; 3] = ["/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"];

/// Refuses a command that reads standard input twice.
pub(crate) fn require_once(command: &Command) -> Result<(), Failure> {
    let is_named = |path: &&Path| is_stdin(path) || NAMES.iter().any(|name| path.as_os_str() == *name);
    let count = command.inputs().into_iter().chain(further(command)).filter(is_named).count();
    if count < 2 {
        return Ok(());
    }
    Err(Failure::new("only one model can come from standard input").help("write the other one to a file"))
}

/// Models that other arguments name.
fn further(command: &Command) -> Option<&Path> {
    match command {
        Command::Convert(args) => args.weights_from.as_deref(),
        Command::Draw(args) => args.against.as_deref(),
        Command::View(args) => args.newer_file.as_deref(),
        Command::Weights(args) => args.weights_file(),
        _ => None,
    }
}
