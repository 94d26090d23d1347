//! Spellings of other tools: errors that print the command line as it is written here.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::Path;

use clap::CommandFactory as _;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::args::Cli;
use crate::exit::Failure;
use crate::other_tools::{self, OTHER_TOOLS};

/// A spelling of other tools, and that of this one.
pub(crate) struct Spelling {
    /// The command that has it; empty for every command.
    command: &'static str,
    /// The words of a command, or an option.
    old: &'static str,
    /// What is written here; `{}` is the value of the option.
    new: &'static str,
}

impl Spelling {
    /// The value of the option is an argument.
    pub(crate) const ARGUMENT: &str = "{}";

    pub(crate) const fn new(command: &'static str, old: &'static str, new: &'static str) -> Self {
        Self { command, old, new }
    }

    fn is_option(&self) -> bool {
        self.old.starts_with("--")
    }

    fn takes_value(&self) -> bool {
        self.new.contains("{}")
    }
}

/// A command line that is brought to the spelling of this tool.
#[derive(Default)]
struct Line {
    words: Vec<String>,
    /// The words that were replaced, and what they became.
    changes: Vec<(String, String)>,
}

/// The failure for arguments in the spelling of other tools: it has that of this one, and the corrected command line.
pub(crate) fn corrected(error: &clap::Error, arguments: &[OsString]) -> Option<Failure> {
    let words: Vec<String> =
        arguments.iter().skip(1).map(|word| word.to_str().map(str::to_owned)).collect::<Option<_>>()?;
    let line = with_outputs(with_options(with_dashes(with_sizes(with_command(words.clone())))));
    // With a size that is two words, the error is about a word behind them.
    let is_size = |old: &str| old.starts_with("--set ") && error.kind() == ErrorKind::UnknownArgument;
    // The parser takes the first letter as a short option, so that the error is about what follows.
    let is_dashed = |old: &str| is_single_dash(old) && error.kind() != ErrorKind::MissingRequiredArgument;
    let is_found = |old: &str| is_size(old) || is_dashed(old) || is_about(error, old);
    let found = line.changes.iter().find(|(old, _)| is_found(old));
    let Some((old, new)) = found else { return other_tools::explained(error, &words) };
    let help = format!("write `{}`", text_of(&line.words));
    if line.words.contains(new) && !new.starts_with('-') && old.starts_with("--") {
        let mut words = line.words.clone();
        if command_of(&words).is_none() {
            words.insert(0, "info".to_owned());
        }
        let help = format!("write `{}`", text_of(&words));
        return Some(
            Failure::new(format_args!("the model is an argument, not an option `{old}`")).help(help),
        );
    }
    if new.starts_with("-o ") && !Path::new(old).exists() {
        let message = format!("`{old}` does not exist: as an output, it is `{new}` here");
        return Some(Failure::new(message).help(help));
    }
    Some(Failure::new(format_args!("`{old}` is `{new}` here")).help(help))
}

/// A command line as a shell reads it.
pub(crate) fn text_of(words: &[String]) -> String {
    let mut text = String::from("onnx");
    for word in words {
        // Writing to a string cannot fail.
        let _ = write!(text, " {}", quoted(word));
    }
    text
}

/// Whether the error is about a word.
fn is_about(error: &clap::Error, word: &str) -> bool {
    if error.kind() == ErrorKind::MissingRequiredArgument {
        return true;
    }
    let whole = word;
    // An option with its value is two words; the name of a file with a space is one.
    let word = word.rsplit(' ').next().unwrap_or(word);
    let is = |value: &str| {
        value == whole
            || value == word
            || value.strip_prefix(word).is_some_and(|rest| rest.starts_with([' ', '=']))
    };
    [ContextKind::InvalidArg, ContextKind::InvalidSubcommand].iter().any(|&kind| match error.get(kind) {
        Some(ContextValue::String(value)) => is(value),
        Some(ContextValue::Strings(values)) => values.iter().any(|value| is(value)),
        _ => false,
    })
}

/// A word as a shell reads it.
pub(crate) fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./=:,+@%".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// Replaces a command.
fn with_command(words: Vec<String>) -> Line {
    let cli = Cli::command();
    let mut line = Line { words, changes: Vec::new() };
    let commands = || OTHER_TOOLS.iter().filter(|spelling| !spelling.is_option());
    let is_command = |word: &String| {
        cli.find_subcommand(word).is_some()
            || commands()
                .any(|spelling| spelling.old.split(' ').next() == Some(word.replace('_', "-").as_str()))
    };
    let Some(start) = line.words.iter().position(is_command) else { return line };
    for spelling in commands() {
        let end = start + spelling.old.split(' ').count();
        // `inspect model` alone is about a file of that name.
        if end - start > 1 && line.words.len() == end {
            continue;
        }
        let old = line.words.get(start..end).map(|words| words.join(" "));
        if let Some(old) = old.filter(|old| old.replace('_', "-") == spelling.old) {
            line.words.splice(start..end, spelling.new.split(' ').map(str::to_owned));
            // The parser complains about the first word.
            let first = old.split(' ').next().unwrap_or_default().to_owned();
            line.changes.push((first, spelling.new.to_owned()));
            break;
        }
    }
    line
}

/// The command of a line.
pub(crate) fn command_of(words: &[String]) -> Option<clap::Command> {
    let cli = Cli::command();
    words.iter().find_map(|word| cli.find_subcommand(word).cloned())
}

/// Joins the name and the number of a size, as in `--set batch 1`.
fn with_sizes(mut line: Line) -> Line {
    let mut at = 0;
    while let Some([option, name, size]) = line.words.get(at..at + 3) {
        if option == "--set" && !name.contains('=') && size.parse::<u64>().is_ok() {
            let (old, set) = (format!("--set {name} {size}"), format!("{name}={size}"));
            line.changes.push((old, format!("--set {set}")));
            line.words.splice(at + 1..at + 3, [set]);
        }
        at += 1;
    }
    line
}

fn is_single_dash(word: &str) -> bool {
    word.len() > 2 && word.starts_with('-') && !word.starts_with("--")
}

/// The option with two dashes of a word with one, `-opset`, if the command has an option of this name.
pub(crate) fn dashed(command: &clap::Command, word: &str) -> Option<String> {
    let name = word.strip_prefix('-').filter(|_| is_single_dash(word))?;
    let (name, value) = name.split_at(name.find('=').unwrap_or(name.len()));
    let name = if name == "out" { "output" } else { name };
    let cli = Cli::command();
    let is_known = |argument: &clap::Arg| {
        argument.get_long_and_visible_aliases().is_some_and(|names| names.contains(&name))
    };
    let is_option = command.get_arguments().chain(cli.get_arguments()).any(is_known);
    is_option.then(|| format!("--{name}{value}"))
}

/// Gives options with one dash the second one.
fn with_dashes(mut line: Line) -> Line {
    let Some(command) = command_of(&line.words) else { return line };
    for word in &mut line.words {
        if word == "--" {
            break;
        }
        if let Some(new) = dashed(&command, word) {
            line.changes.push((std::mem::replace(word, new.clone()), new));
        }
    }
    line
}

/// Replaces options.
fn with_options(line: Line) -> Line {
    let command = command_of(&line.words);
    let name = command.as_ref().map_or("", |command| command.get_name());
    let mut new = Line { words: Vec::new(), changes: line.changes };
    let all = line.words.clone();
    let mut words = line.words.into_iter();
    while let Some(word) = words.next() {
        let (option, attached) = match word.split_once('=') {
            Some((option, value)) => (option, Some(value.to_owned())),
            None => (word.as_str(), None),
        };
        let spelling = OTHER_TOOLS.iter().find(|spelling| {
            spelling.is_option()
                && spelling.old == option
                && (spelling.command.is_empty() || spelling.command == name)
        });
        let Some(spelling) = spelling else {
            new.words.push(word);
            continue;
        };
        let is_attached = attached.is_some();
        let value = match (spelling.takes_value(), attached) {
            (false, _) => None,
            (true, Some(value)) => Some(value),
            (true, None) => words.next(),
        };
        let value = value.unwrap_or_default();
        if spelling.new == Spelling::ARGUMENT && !other_tools::is_file(&value) {
            let separate = Some(value).filter(|value| !value.is_empty() && !is_attached);
            new.words.push(word);
            new.words.extend(separate);
            continue;
        }
        let template = feeding(spelling.new, &value);
        new.changes.push((spelling.old.to_owned(), template.replace("{}", &value)));
        // `--float16 --half` says it twice.
        let is_said = !spelling.takes_value() && all.iter().any(|word| word == spelling.new);
        if !is_said {
            new.words.extend(template.split(' ').map(|word| word.replace("{}", &value)));
        }
    }
    new
}

/// Values of inputs are given one by one, `NAME=FILE`, or all in a directory or an archive.
fn feeding<'a>(new: &'a str, value: &str) -> &'a str {
    let is_feed = new == "--feed {}" || new == "--feeds {}";
    let is_all = Path::new(value).is_dir() || (value.ends_with(".npz") && !value.contains('='));
    match is_feed && !Path::new(value).exists() && value.contains('=') {
        true => "--feed {}",
        false if is_feed && is_all => "--feeds {}",
        false if is_feed && value.ends_with(".npy") => "--feed NAME={}",
        false => new,
    }
}

/// Commands that change one model, or each of several; a second file is meant as the output.
pub(crate) const WITH_OUTPUT: [&str; 9] =
    ["convert", "quantize", "simplify", "rewrite", "edit", "extract", "infer", "inline", "outline"];

/// The command of a line that changes one model, and the positions of the words that name files for it; without the command
/// that comes after `--`.
pub(crate) fn positions(words: &[String]) -> Option<(String, Vec<usize>)> {
    let command = command_of(words).filter(|command| WITH_OUTPUT.contains(&command.get_name()))?;
    let start = words.iter().position(|word| word == command.get_name())? + 1;
    let (mut files, mut is_value) = (Vec::new(), false);
    for (index, word) in words.iter().enumerate().skip(start) {
        if std::mem::take(&mut is_value) {
            continue;
        }
        match word.as_str() {
            "--" => break,
            word if word == "-" || !word.starts_with('-') => files.push(index),
            word => is_value = !word.contains('=') && takes_value(&command, word),
        }
    }
    Some((command.get_name().to_owned(), files))
}

/// Puts `-o` before the second file of a command that changes one.
fn with_outputs(mut line: Line) -> Line {
    let Some((_, files)) = positions(&line.words) else { return line };
    let is_output =
        |word: &str| word.starts_with("-o") || word == "--output" || word.starts_with("--output=");
    let has_output = line.words.iter().any(|word| is_output(word));
    if let (&[_, index], false) = (files.as_slice(), has_output)
        && let Some(old) = line.words.get(index).cloned()
        && !Path::new(&old).is_file()
    {
        line.changes.push((old.clone(), format!("-o {}", quoted(&old))));
        line.words.insert(index, "-o".to_owned());
    }
    line
}

/// Whether an option of a command, or of all commands, is followed by a value.
fn takes_value(command: &clap::Command, option: &str) -> bool {
    let cli = Cli::command();
    let long = option.strip_prefix("--");
    let is_option = |argument: &&clap::Arg| match long {
        Some(long) => argument.get_long() == Some(long),
        None => argument.get_short() == option.chars().nth(1) && option.len() == 2,
    };
    let argument = command.get_arguments().find(is_option);
    let argument = argument.or_else(|| cli.get_arguments().find(is_option));
    argument.is_some_and(|argument| argument.get_action().takes_values())
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;

    fn correction(line: &str) -> Option<(String, String)> {
        let arguments: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
        let error = Cli::try_parse_from(&arguments).expect_err(line);
        let failure = corrected(&error, &arguments)?;
        Some((failure.message, failure.help.unwrap_or_default()))
    }

    #[test]
    fn the_second_file_of_a_conversion_is_its_output() {
        for (old, new) in [
            ("convert a.onnx b.json", "convert a.onnx -o b.json"),
            ("-q convert --from onnx a -", "-q convert --from onnx a -o -"),
            ("convert a.onnx b.onnx --fp16", "convert a.onnx -o b.onnx --float16"),
            ("convert a.onnx $x --opset-version=7", "convert a.onnx -o '$x' --opset 7"),
        ] {
            let (_, help) = correction(&format!("onnx {old}")).expect(old);
            assert_eq!(help, format!("write `onnx {new}`"));
        }
    }

    #[test]
    fn a_second_file_may_have_a_space_in_its_name() {
        let arguments = ["onnx", "simplify", "a.onnx", "b c.onnx"].map(OsString::from);
        let error = Cli::try_parse_from(&arguments).expect_err("two models");
        let failure = corrected(&error, &arguments).expect("a correction");
        assert_eq!(failure.help.as_deref(), Some("write `onnx simplify a.onnx -o 'b c.onnx'`"));
    }

    #[test]
    fn other_errors_are_not_about_spelling() {
        for line in
            ["chek a.onnx", "check", "check a.onnx --limit x", "infer --report r.json", "convert a -o b c"]
        {
            assert_eq!(correction(&format!("onnx {line}")), None, "{line}");
        }
    }
}
