//! Arguments that are not valid: what is wrong, and what can be written instead.

use std::any::TypeId;
use std::ffi::OsString;
use std::io::IsTerminal as _;
use std::num::{IntErrorKind, NonZeroU32, NonZeroU64, NonZeroUsize, ParseFloatError, ParseIntError};
use std::path::Path;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Command, CommandFactory as _};

use crate::args::Cli;
use crate::exit::Failure;
use crate::output::shown;

/// The failure for a value that begins with a hyphen and a digit, which the parser takes for an option.
fn negative(
    arguments: &[OsString],
    words: &[String],
    command: &Command,
    program: &Command,
) -> Option<Failure> {
    let is_negative = |word: &str| {
        word.strip_prefix('-').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit() || c == '.'))
    };
    let takes_value = |word: &String| {
        let is_named = |argument: &&Arg| match word.strip_prefix("--") {
            Some(long) => argument.get_long_and_visible_aliases().is_some_and(|names| names.contains(&long)),
            None => {
                word.len() == 2
                    && argument.get_short() == word.strip_prefix('-').and_then(|word| word.chars().next())
            }
        };
        let argument =
            command.get_arguments().find(is_named).or_else(|| program.get_arguments().find(is_named));
        argument.is_some_and(|argument| argument.get_action().takes_values())
    };
    let at = words
        .windows(2)
        .position(|pair| matches!(pair, [option, value] if is_negative(value) && takes_value(option)))?;
    let (option, value) = (words.get(at)?, words.get(at + 1)?);
    // As one word, the value is read by the parser of the option, which says what it takes.
    let mut joined = arguments.to_vec();
    let one = if option.starts_with("--") { format!("{option}={value}") } else { format!("{option}{value}") };
    joined.splice(at + 1..at + 3, [OsString::from(&one)]);
    let Err(error) = crate::args::parse(&joined) else {
        let message = format!("`{}` is taken for an option behind `{option}`", shown(value));
        return Some(Failure::new(message).help(format!("write `{}`", shown(&one))));
    };
    let failure = failure(&error, &joined);
    failure.message.contains(&shown(value)).then_some(failure)
}

/// The failure for arguments that are not valid.
pub(crate) fn failure(error: &clap::Error, arguments: &[OsString]) -> Failure {
    let words: Vec<String> =
        arguments.iter().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    let program = Cli::command();
    let (path, command) = command_of(&program, &words);
    let known = match error.kind() {
        ErrorKind::InvalidSubcommand => unknown_command(error, &path, command),
        ErrorKind::UnknownArgument => negative(arguments, &words, command, &program)
            .or_else(|| unknown_argument(error, &program, &path, command)),
        ErrorKind::InvalidValue => invalid_value(error, &path, command),
        ErrorKind::ValueValidation => refused_value(error, &path, command),
        ErrorKind::MissingRequiredArgument => missing(error, &path, command),
        ErrorKind::ArgumentConflict => conflict(error),
        ErrorKind::InvalidUtf8 => Some(not_utf8(arguments)),
        _ => None,
    };
    known.unwrap_or_else(|| {
        // The lines after the first are the usage, and tips for people.
        let plain = crate::output::clean_lines(&error.render().to_string());
        let first = plain.lines().next().unwrap_or_default();
        Failure::new(first.trim_start_matches("error: ")).help(see(&path))
    })
}

/// The innermost command that the words name, with the words that lead to it.
fn command_of<'c>(program: &'c Command, words: &[String]) -> (Vec<String>, &'c Command) {
    let (mut path, mut command) = (vec!["onnx".to_owned()], program);
    for word in words {
        match command.find_subcommand(word) {
            Some(found) => {
                path.push(found.get_name().to_owned());
                command = found;
            }
            // A file of the name of a command is an argument.
            None if path.len() > 1 && !word.starts_with('-') => break,
            None => {}
        }
    }
    (path, command)
}

fn see(path: &[String]) -> String {
    format!("`{} --help` describes the arguments", path.join(" "))
}

fn text(error: &clap::Error, kind: ContextKind) -> Option<&str> {
    match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text),
        Some(ContextValue::Strings(texts)) => texts.first().map(String::as_str),
        _ => None,
    }
}

/// The option of an argument as errors name it: `--set` of `--set <DIM=SIZE>`, `--verbose` of `--verbose...`.
fn option(argument: &str) -> &str {
    // `[B]` is an operand, and `--map[=FILE]` an option whose value can be left out.
    let argument =
        argument.strip_prefix('[').map_or(argument, |operand| operand.trim_end_matches(['.', ']']));
    argument.split([' ', '=', '[', '.']).next().unwrap_or(argument)
}

/// An argument of a command, by the text with which errors name it.
fn argument_of<'c>(command: &'c Command, argument: &str) -> Option<&'c Arg> {
    let long = option(argument).strip_prefix("--");
    command.get_arguments().find(|known| match long {
        Some(long) => known.get_long() == Some(long),
        None => argument.trim_matches(['<', '>', '.', '[', ']']) == placeholder(known),
    })
}

fn placeholder(argument: &Arg) -> String {
    let names = argument.get_value_names().unwrap_or_default();
    names.iter().map(|name| name.as_str()).collect::<Vec<_>>().join(" ")
}

/// The names that an option can be misspelt from, `--output` for `--ouput`.
fn long_names(command: &Command) -> Vec<&str> {
    let shown = command.get_arguments().filter(|argument| !argument.is_hide_set());
    let names = shown.map(|argument| {
        argument.get_long().into_iter().chain(argument.get_visible_aliases().unwrap_or_default())
    });
    names.flatten().collect()
}

/// An example of the command that has all of these words, or else the first one; without its comment.
fn example(command: &Command, words: &[&str]) -> Option<String> {
    let help = command.get_after_help()?.to_string();
    let lines = help.lines().filter_map(|line| line.trim_start().strip_prefix("onnx "));
    let commands: Vec<&str> = lines.map(|line| line.split("   ").next().unwrap_or(line).trim_end()).collect();
    let has_all = |line: &&&str| words.iter().all(|word| line.split([' ', '=']).any(|part| part == *word));
    let found = commands.iter().find(has_all).or(commands.first().filter(|_| words.is_empty()));
    found.map(|line| format!("onnx {line}"))
}

fn unknown_command(error: &clap::Error, path: &[String], command: &Command) -> Option<Failure> {
    let word = text(error, ContextKind::InvalidSubcommand)?;
    let names = command.get_subcommands().filter(|known| !known.is_hide_set()).map(Command::get_name);
    let help = match onnx_schema::nearest(word, names) {
        Some(near) => format!("did you mean `{near}`? `{} --help` lists the commands", path.join(" ")),
        None => format!("`{} --help` lists the commands", path.join(" ")),
    };
    Some(Failure::new(format_args!("`{}` has no command `{}`", path.join(" "), shown(word))).help(help))
}

fn unknown_argument(
    error: &clap::Error,
    program: &Command,
    path: &[String],
    command: &Command,
) -> Option<Failure> {
    let word = text(error, ContextKind::InvalidArg)?;
    let name = path.join(" ");
    let Some(long) = word.strip_prefix("--") else { return Some(surplus(word, path, command)) };
    let message = format!("`{name}` has no option `{}`", shown(word));
    let all = long_names(command).into_iter().chain(long_names(program)).chain(["help", "version"]);
    let nearest = onnx_schema::nearest(long, all);
    // An option of another command with this very name is what was meant.
    let others: Vec<String> = program
        .get_subcommands()
        .filter(|other| !other.is_hide_set() && long_names(other).contains(&long))
        .map(|other| format!("`onnx {} --{long}`", other.get_name()))
        .collect();
    let help = match (nearest, others.as_slice()) {
        (_, [_, ..]) if path.len() == 1 => {
            format!("write it after the command: `onnx COMMAND --{long}`; `onnx --help` lists the commands")
        }
        (_, [one]) => format!("it is one of another command, {one}; `{name} --help` lists those of this one"),
        (_, [.., _]) if others.len() <= 4 => {
            format!(
                "it is one of other commands: {}; `{name} --help` lists those of this one",
                others.join(", ")
            )
        }
        (Some(near), _) => format!("did you mean `--{near}`? `{name} --help` lists all"),
        (None, _) => format!("`{name} --help` lists the options"),
    };
    Some(Failure::new(message).help(help))
}

/// An argument that is neither an option nor expected.
fn surplus(word: &str, path: &[String], command: &Command) -> Failure {
    let name = path.join(" ");
    if word.starts_with('-') {
        // `-x.onnx` is reported as `-x`.
        let help =
            format!("a file whose name begins with `-` is written `./{0}…`; {1}", shown(word), see(path));
        return Failure::new(format_args!("`{name}` has no option `{}`", shown(word))).help(help);
    }
    let what = if Path::new(word).exists() { "file" } else { "argument" };
    let positionals: Vec<String> = command.get_positionals().map(ToString::to_string).collect();
    let help = match positionals.is_empty() {
        true => format!("it takes options only; {}", see(path)),
        false => format!("it takes `{}`; {}", positionals.join(" "), see(path)),
    };
    Failure::new(format_args!("`{}` is one {what} too many for `{name}`", shown(word))).help(help)
}

fn invalid_value(error: &clap::Error, path: &[String], command: &Command) -> Option<Failure> {
    let argument = text(error, ContextKind::InvalidArg)?;
    let value = text(error, ContextKind::InvalidValue).unwrap_or_default();
    let name = option(argument);
    let values: Vec<&str> = match error.get(ContextKind::ValidValue) {
        Some(ContextValue::Strings(values)) => values.iter().map(String::as_str).collect(),
        _ => Vec::new(),
    };
    if value.is_empty() && !name.starts_with('-') {
        return Some(Failure::new("the name of a file is empty").help(see(path)));
    }
    if value.is_empty() {
        let wanted = argument_of(command, argument).map(placeholder).filter(|wanted| !wanted.is_empty());
        let message = match wanted {
            Some(wanted) => format!("`{name}` needs a value, `{wanted}`"),
            None => format!("`{name}` needs a value"),
        };
        let help = match (values.as_slice(), example(command, &[name])) {
            ([_, ..], _) => format!("the values are {}", listed(&values)),
            ([], Some(example)) => format!("for example `{example}`"),
            ([], None) => see(path),
        };
        return Some(Failure::new(message).help(help));
    }
    let known = listed(&values);
    let help = match onnx_schema::nearest(value, values.iter().copied()) {
        Some(near) => format!("did you mean `{near}`? The values are {known}"),
        None => format!("the values are {known}"),
    };
    Some(Failure::new(format_args!("`{}` is not a value of `{name}`", shown(value))).help(help))
}

fn listed(values: &[&str]) -> String {
    values.iter().map(|value| format!("`{value}`")).collect::<Vec<_>>().join(", ")
}

/// A value that its parser refuses, which says why.
fn refused_value(error: &clap::Error, path: &[String], command: &Command) -> Option<Failure> {
    let argument = text(error, ContextKind::InvalidArg)?;
    let value = shown(text(error, ContextKind::InvalidValue)?);
    let name = option(argument);
    let source = std::error::Error::source(error)?;
    let known = argument_of(command, argument);
    let example = example(command, &[name]).map(|example| format!("for example `{example}`"));
    let help = example.or_else(|| known.and_then(described)).unwrap_or_else(|| see(path));
    let number = |reason: &str| {
        Failure::new(format_args!("`{value}` is not a value of `{name}`: {reason}")).help(help.clone())
    };
    if let Some(error) = source.downcast_ref::<ParseIntError>() {
        let range = known.and_then(range).unwrap_or_default();
        return Some(number(&match error.kind() {
            IntErrorKind::PosOverflow | IntErrorKind::NegOverflow => {
                format!("the number is too large: it is a whole number{range}")
            }
            _ => format!("it is a whole number{range}"),
        }));
    }
    if source.is::<ParseFloatError>() {
        return Some(number("it is a number"));
    }
    if let Some(range) = source.to_string().rsplit_once(" is not in ").and_then(|(_, range)| whole(range)) {
        return Some(number(&format!("it is a whole number {range}")));
    }
    // Parsers of arguments say what to write.
    Some(Failure::new(format_args!("`{value}` is not a value of `{name}`")).help(source.to_string()))
}

/// A range in words, which is written `1..=100`, `1..` or `..=100`.
fn whole(range: &str) -> Option<String> {
    let (least, most) = range.split_once("..")?;
    let most = most.strip_prefix('=').unwrap_or(most);
    Some(match (least, most) {
        (least, "") => format!("from {least} on"),
        ("", most) => format!("up to {most}"),
        (least, most) => format!("from {least} to {most}"),
    })
}

/// What an option is for, in the words of its help.
fn described(argument: &Arg) -> Option<String> {
    let help = argument.get_help()?.to_string();
    let first = help.lines().next()?.trim_end_matches('.');
    let name = argument.get_long().map(|long| format!("--{long} "));
    Some(format!("`{}{}`: {first}", name?, placeholder(argument)))
}

/// The range of a whole number that an option takes.
fn range(argument: &Arg) -> Option<String> {
    let id = argument.get_value_parser().type_id();
    let is = |other: TypeId| id == other;
    let most = |most: u64| format!(" from 0 to {most}");
    Some(
        if is(TypeId::of::<NonZeroUsize>())
            || is(TypeId::of::<NonZeroU64>())
            || is(TypeId::of::<NonZeroU32>())
        {
            " from 1".to_owned()
        } else if is(TypeId::of::<u64>()) || is(TypeId::of::<usize>()) {
            most(u64::MAX)
        } else if is(TypeId::of::<u32>()) {
            most(u32::MAX.into())
        } else if is(TypeId::of::<i64>()) {
            format!(" from {} to {}", i64::MIN, i64::MAX)
        } else {
            return None;
        },
    )
}

fn missing(error: &clap::Error, path: &[String], command: &Command) -> Option<Failure> {
    let Some(ContextValue::Strings(missing)) = error.get(ContextKind::InvalidArg) else { return None };
    // A choice of several is reported as `<--a <A>|--b <B>>`.
    let texts: Vec<String> = missing
        .iter()
        .map(|argument| match argument.strip_prefix('<').filter(|rest| rest.starts_with("--")) {
            Some(choice) => {
                let choices = choice.strip_suffix('>').unwrap_or(choice).split("|--");
                let choices = choices.map(|one| format!("`--{}`", one.trim_start_matches('-')));
                choices.collect::<Vec<_>>().join(" or ")
            }
            None => format!("`{argument}`"),
        })
        .collect();
    let options: Vec<&str> =
        missing.iter().filter(|one| one.starts_with("--")).map(|one| option(one)).collect();
    let is_optional =
        |one: &&str| argument_of(command, one).is_some_and(|argument| !argument.is_required_set());
    if options.iter().any(is_optional)
        && let Some(ContextValue::StyledStr(usage)) = error.get(ContextKind::Usage)
    {
        let usage = usage.to_string();
        let line = usage.lines().next().unwrap_or_default();
        let line = line.trim_start_matches("Usage:").trim();
        let message = format!("`{}` needs {} here", path.join(" "), texts.join(" and "));
        return Some(Failure::new(message).help(format!("an option that is given needs it: `{line}`")));
    }
    let is_stream = |argument: &&String| {
        let help = argument_of(command, argument).and_then(Arg::get_help).map(ToString::to_string);
        // A second file is one next to a first one.
        let first = command.get_positionals().next().map(Arg::get_id);
        let is_first =
            argument_of(command, argument).is_some_and(|argument| Some(argument.get_id()) == first);
        is_first && help.is_some_and(|help| help.contains("standard input"))
    };
    let example = example(command, &options).or_else(|| example(command, &[]));
    // The data of another command may wait there.
    let is_piped = missing.iter().any(|argument| is_stream(&argument)) && !std::io::stdin().is_terminal();
    let help = match example {
        Some(example) if is_piped => {
            format!("for example `{example}`; `{} -` reads standard input; {}", path.join(" "), see(path))
        }
        Some(example) => format!("for example `{example}`; {}", see(path)),
        None => see(path),
    };
    Some(Failure::new(format_args!("`{}` needs {}", path.join(" "), texts.join(" and "))).help(help))
}

fn conflict(error: &clap::Error) -> Option<Failure> {
    let argument = option(text(error, ContextKind::InvalidArg)?);
    let others: Vec<String> = match error.get(ContextKind::PriorArg)? {
        ContextValue::String(other) => vec![format!("`{}`", option(other))],
        ContextValue::Strings(others) => others.iter().map(|other| format!("`{}`", option(other))).collect(),
        _ => return None,
    };
    if others.iter().all(|other| other.trim_matches('`') == argument) {
        let message = format!("`{argument}` is given twice");
        return Some(Failure::new(message).help("it takes one value: leave one of them out"));
    }
    let message = format!("`{argument}` and {} exclude each other", others.join(", "));
    // What one command makes, another one can take.
    let formats = ["--float16", "--bfloat16", "--float32", "--dequantize"];
    let is_step = |name: &str| name == "--opset" || formats.contains(&name);
    let all = || others.iter().map(|other| other.trim_matches('`')).chain([argument]);
    let is_sequence = all().all(is_step) && all().any(|name| name == "--opset" || name == "--dequantize");
    let help = match is_sequence {
        true if all().any(|name| name == "--opset") => {
            "run two commands one after the other: `onnx convert IN --opset N -o NEW`, and then the other one with NEW"
        }
        true => {
            "run two commands one after the other: `onnx convert IN --dequantize -o NEW`, and then the other one with NEW"
        }
        false => "leave one of them out",
    };
    Some(Failure::new(message).help(help))
}

/// The failure for arguments that are not UTF-8, of which the error does not name the one that has to be.
fn not_utf8(arguments: &[OsString]) -> Failure {
    let is_odd = |argument: &OsString| argument.to_str().is_none();
    let is_refused = |at: usize| {
        let words = arguments.iter().enumerate().map(|(other, word)| match other == at {
            true => word.clone(),
            false => word.to_string_lossy().into_owned().into(),
        });
        let parsed = crate::args::command().try_get_matches_from(words);
        parsed.is_err_and(|error| error.kind() == ErrorKind::InvalidUtf8)
    };
    let refused = arguments.iter().enumerate().filter(|(at, argument)| is_odd(argument) && is_refused(*at));
    let refused: Vec<String> =
        refused.map(|(_, argument)| format!("`{}`", argument.as_encoded_bytes().escape_ascii())).collect();
    Failure::new(format_args!("not UTF-8: {}", refused.join(", "))).help(
        "this argument is text, also the name of a file in it: give the file a name that is UTF-8, such as with `ln -s`",
    )
}
