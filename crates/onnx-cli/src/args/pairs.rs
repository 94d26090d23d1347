//! Every pair of options of every command, as the parser takes it: an option that needs another one is not accepted next to
//! the opposite of that one. The parser leaves out a requirement whose option is excluded by another one.

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, ArgAction, Command, CommandFactory as _};

use super::Cli;

/// Values that most parsers of options take.
const VALUES: [&str; 12] =
    ["1", "x=1", "a", "1s", "nodes=1", "auto", "x=1:2", "/", "snr=1", "=1", "1k", "x=float[1]"];

/// An option with a value that its parser takes; `error` is what the parser says about a line with it.
fn words(argument: &Arg, error: impl Fn(&str) -> Option<ErrorKind>) -> Option<String> {
    let option = format!("--{}", argument.get_long()?);
    if !argument.get_action().takes_values() {
        return Some(option);
    }
    let named = argument.get_possible_values().first().map(|first| format!("{option}={}", first.get_name()));
    let values = VALUES.iter().map(|value| format!("{option}={value}"));
    let wrong = [Some(ErrorKind::ValueValidation), Some(ErrorKind::InvalidValue)];
    named.into_iter().chain(values).find(|word| !wrong.contains(&error(word)))
}

/// The commands that have no subcommands, with the words that lead to them.
fn leaves(command: &Command, path: &[String], found: &mut Vec<(Vec<String>, Command)>) {
    let path: Vec<String> = path.iter().cloned().chain([command.get_name().to_owned()]).collect();
    if !command.has_subcommands() {
        found.push((path, command.clone()));
        return;
    }
    for subcommand in command.get_subcommands().filter(|subcommand| subcommand.get_name() != "help") {
        leaves(subcommand, &path, found);
    }
}

/// The options that an error says are missing.
fn missing(error: &clap::Error) -> Vec<String> {
    match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::Strings(missing)) if error.kind() == ErrorKind::MissingRequiredArgument => {
            missing.clone()
        }
        _ => Vec::new(),
    }
}

#[test]
fn an_option_that_needs_another_one_is_refused_without_it() {
    let (mut commands, mut pairs, mut needing) = (Vec::new(), 0, 0);
    leaves(&Cli::command(), &[], &mut commands);
    let mut wrong = Vec::new();
    for (path, command) in commands {
        let positional = command.get_positionals().filter(|argument| argument.is_required_set()).count();
        let base: Vec<&str> = std::iter::once("onnx").chain((0..positional).map(|_| "1")).collect();
        let parse = |options: &[&str]| command.clone().try_get_matches_from(base.iter().chain(options));
        let is_option = |argument: &&Arg| {
            !argument.is_positional()
                && matches!(argument.get_action(), ArgAction::Set | ArgAction::Append | ArgAction::SetTrue)
        };
        let kind = |word: &str| parse(&[word]).err().map(|error| error.kind());
        let options = command.get_arguments().filter(is_option);
        let options: Vec<String> = options.filter_map(|argument| words(argument, kind)).collect();
        // What every line of the command needs is not what an option needs.
        let always = parse(&[]).err().map(|error| missing(&error)).unwrap_or_default();
        for option in &options {
            let Err(error) = parse(&[option]) else { continue };
            let needed: Vec<String> =
                missing(&error).into_iter().filter(|one| !always.contains(one)).collect();
            if needed.is_empty() {
                continue;
            }
            needing += 1;
            for other in options.iter().filter(|other| *other != option) {
                pairs += 1;
                let name = other.split('=').next().unwrap_or_default();
                let is_needed = needed.iter().any(|one| one.contains(name));
                if !is_needed && parse(&[option, other]).is_ok() {
                    wrong.push(format!("{} {option} {other}", path.join(" ")));
                }
            }
        }
    }
    assert!(needing > 10 && pairs > 200, "{needing} {pairs}");
    assert!(wrong.is_empty(), "accepted without what the first option needs:\n{}", wrong.join("\n"));
}
