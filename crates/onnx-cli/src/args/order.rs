//! Options before the command: `onnx --timeout 5s check model.onnx` means `onnx check model.onnx --timeout 5s`.

use std::ffi::OsString;

use clap::{Arg, Command, CommandFactory as _};

use super::Cli;

/// Help and the version are those of the program, and `--` ends options.
const OF_THE_PROGRAM: [&str; 5] = ["--", "-h", "--help", "-V", "--version"];

/// The arguments with the options before the command behind its own arguments, where the parser knows those of the command.
pub(crate) fn with_command_first(arguments: &[OsString]) -> Vec<OsString> {
    let is_moved = |word: &OsString| word.to_str().is_some_and(is_moved);
    if !arguments.get(1).is_some_and(is_moved) {
        return arguments.to_vec();
    }
    let words: Vec<&str> = arguments.iter().map(|word| word.to_str().unwrap_or_default()).collect();
    let Some(command) = position(&Cli::command(), &words) else { return arguments.to_vec() };
    let (before, rest) = arguments.split_at(command);
    let end = rest.iter().position(|word| word == "--").unwrap_or(rest.len());
    let (own, after) = rest.split_at(end);
    let (program, options) = before.split_at(1);
    [program, own, options, after].concat()
}

/// Whether a word is an option that may be that of the command.
fn is_moved(word: &str) -> bool {
    word.len() > 1 && word.starts_with('-') && !OF_THE_PROGRAM.contains(&word)
}

/// The position of the command, if only options and their values are before it.
fn position(program: &Command, words: &[&str]) -> Option<usize> {
    let mut at = 1;
    loop {
        let word = *words.get(at)?;
        if program.find_subcommand(word).is_some() {
            return Some(at);
        }
        if !is_moved(word) {
            return None;
        }
        let next = words.get(at + 1).and_then(|next| program.find_subcommand(next));
        let is_flag_of_next = next.is_some_and(|next| takes_value(next, word) == Some(false));
        let all = program.get_subcommands().flat_map(|command| command.get_subcommands().chain([command]));
        let has_value = !word.contains('=')
            && !is_flag_of_next
            && all.chain([program]).any(|command| takes_value(command, word) == Some(true));
        at += if has_value { 2 } else { 1 };
    }
}

/// Whether an option is followed by a value; `None` if the command does not have it.
fn takes_value(command: &Command, option: &str) -> Option<bool> {
    let is_named = |argument: &&Arg| match option.strip_prefix("--") {
        Some(long) => {
            argument.get_long() == Some(long)
                || argument.get_all_aliases().unwrap_or_default().contains(&long)
        }
        None => option.len() == 2 && argument.get_short() == option.chars().nth(1),
    };
    let argument = command.get_arguments().find(is_named)?;
    let needs_value = argument.get_num_args().is_none_or(|count| count.min_values() > 0);
    Some(argument.get_action().takes_values() && needs_value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ordered(line: &str) -> String {
        let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        let words = with_command_first(&words);
        words.iter().map(|word| word.to_str().unwrap()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn options_before_the_command_are_moved_behind_it() {
        for (line, expected) in [
            ("onnx check a.onnx", "onnx check a.onnx"),
            ("onnx -q check a.onnx", "onnx check a.onnx -q"),
            ("onnx --timeout 5s check a.onnx", "onnx check a.onnx --timeout 5s"),
            ("onnx --timeout=5s -v check a.onnx", "onnx check a.onnx --timeout=5s -v"),
            ("onnx --format json weights list a.onnx", "onnx weights list a.onnx --format json"),
            ("onnx --format json ops Relu", "onnx ops Relu --format json"),
            ("onnx --limit nodes=3 reduce a -o b -- c {}", "onnx reduce a -o b --limit nodes=3 -- c {}"),
            // A flag of one command is an option with a value of another one.
            ("onnx --weights diff a b", "onnx diff a b --weights"),
            ("onnx --weights embed convert a", "onnx convert a --weights embed"),
            ("onnx -o check check a", "onnx check a -o check"),
            // Nothing is moved behind what is not a command.
            ("onnx --timeout 5s chek a", "onnx --timeout 5s chek a"),
            ("onnx --help check", "onnx --help check"),
            ("onnx -q a.onnx check", "onnx -q a.onnx check"),
            ("onnx", "onnx"),
        ] {
            assert_eq!(ordered(line), expected);
        }
    }
}
