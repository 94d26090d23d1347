//! The help of the program: commands in groups, and a short form for each command that fits one screen.

use std::ffi::OsString;
use std::fmt::Write as _;

use clap::{Arg, Command, CommandFactory as _, FromArgMatches as _};

use super::{COMMON, Cli, STYLES};
use crate::spelling::WITH_OUTPUT;
use crate::table::has_table;

/// The groups in the order of the help, with the names of their commands.
const GROUPS: [(&str, &[&str]); 3] = [
    (
        "Inspect and run a model",
        &[
            "info", "print", "draw", "view", "find", "cost", "weights", "hash", "diff", "check", "infer",
            "run", "compare", "scan",
        ],
    ),
    (
        "Change a model",
        &["simplify", "rewrite", "convert", "quantize", "edit", "extract", "merge", "inline", "outline"],
    ),
    (
        "Write and test tools, look up",
        &["fmt", "smith", "reduce", "ops", "explain", "completions", "man", "self-test"],
    ),
];

/// Reads the arguments of the process.
pub(crate) fn parse(arguments: &[OsString]) -> Result<Cli, clap::Error> {
    let matches = command().try_get_matches_from(with_show(arguments.to_vec()))?;
    Cli::from_arg_matches(&matches)
}

/// The arguments with `onnx ops OP` written out as `onnx ops show OP`. Names of operators have a capital letter or a domain,
/// and names of subcommands have neither.
fn with_show(mut words: Vec<OsString>) -> Vec<OsString> {
    let cli = Cli::command();
    let is_command = |word: &OsString| word.to_str().is_some_and(|word| cli.find_subcommand(word).is_some());
    let command = words.iter().skip(1).position(is_command).map(|index| index + 1);
    let Some(index) = command.filter(|&index| words.get(index).is_some_and(|word| word == "ops")) else {
        return words;
    };
    let is_operator = |word: &OsString| {
        let word = word.to_str().unwrap_or_default();
        !word.starts_with('-') && (word.contains('.') || word.starts_with(|c: char| c.is_ascii_uppercase()))
    };
    if words.get(index + 1).is_some_and(is_operator) {
        words.insert(index + 1, "show".into());
    }
    words
}

/// The command as users see it.
pub(crate) fn command() -> Command {
    brief(grouped(with_several(program())))
}

/// The usage of a command: one that changes each of several models takes one at a time from its parser.
pub(crate) fn usage_of(command: &Command) -> String {
    let usage = command.clone().render_usage().to_string();
    let usage = usage.strip_prefix("Usage: ").unwrap_or(&usage);
    if WITH_OUTPUT.contains(&command.get_name()) {
        usage.replacen("<IN>", "<IN>...", 1)
    } else {
        usage.to_owned()
    }
}

/// The command with the usage of the commands that take several models.
fn with_several(command: Command) -> Command {
    WITH_OUTPUT.iter().fold(command, |command, name| {
        command.mut_subcommand(*name, |subcommand| {
            let named = subcommand.clone().bin_name(format!("onnx {name}"));
            let template = format!(
                "{{before-help}}{{about-with-newline}}\n{{usage-heading}} {}\n\n{{all-args}}{{after-help}}",
                usage_of(&named)
            );
            subcommand.help_template(template)
        })
    })
}

/// The command with its options. Subcommands without a table do not show the option for one: they refuse it.
pub(crate) fn program() -> Command {
    let command = Cli::command();
    let sort_by = command.get_arguments().find(|arg| arg.get_id() == "sort_by").cloned();
    let Some(hidden) = sort_by.map(|arg| arg.hide(true)) else { return command };
    command.mut_subcommands(
        |command| {
            if has_table(command.get_name()) { command } else { command.arg(hidden.clone()) }
        },
    )
}

/// Options that every command has, as its short help names them.
const EVERYWHERE: [&str; 4] = ["--color WHEN", "--brief", "-q", "-v"];
/// Options that have one line in the short help of a command, although another command shows more of them.
const ONE_LINE: [(&str, &str); 3] = [("run", "rtol"), ("run", "atol"), ("run", "ulps")];
/// Examples that the short help of a command has at most.
const EXAMPLES: usize = 5;
/// Examples that the short help of the program has at most, which lists the commands, too.
const PROGRAM_EXAMPLES: usize = 1;
/// Columns of the short help.
const WIDTH: usize = 100;
/// Columns of an option and its value.
const USAGE_WIDTH: usize = 26;

/// The command with a short help (`-h`): rare and common options have a line each, which `--help` explains.
fn brief(command: Command) -> Command {
    let is_common = |arg: &Arg| arg.get_help_heading() == Some(COMMON);
    let is_own = |arg: &&Arg| !arg.is_global_set() && !arg.is_hide_set() && !arg.is_positional();
    let is_rare = |arg: &Arg| {
        !is_common(arg)
            && (arg.is_hide_short_help_set()
                || ONE_LINE.contains(&(command.get_name(), arg.get_id().as_str())))
    };
    let header = STYLES.get_header();
    let mut text = String::new();
    let rare: Vec<String> =
        command.get_arguments().filter(is_own).filter(|arg| is_rare(arg)).map(line).collect();
    if !rare.is_empty() {
        let _ =
            write!(text, "{header}More options{header:#} (--help explains them)\n{}\n\n", rare.join("\n"));
    }
    let common: Vec<String> =
        command.get_arguments().filter(is_own).filter(|arg| is_common(arg)).map(line).collect();
    let _ = writeln!(text, "{header}{COMMON}{header:#} (--help explains them)");
    common.iter().for_each(|line| text.extend([line.as_str(), "\n"]));
    let _ = write!(text, "  {}", EVERYWHERE.join(", "));
    if has_table(command.get_name()) || command.get_name() == "onnx" {
        text.push_str(", --sort-by COLUMN");
    }
    let long = command.get_after_help().cloned().unwrap_or_default();
    let examples = long.to_string();
    let examples = examples.lines().filter(|line| line.starts_with("  "));
    let most = if command.get_name() == "onnx" { PROGRAM_EXAMPLES } else { EXAMPLES };
    for (index, example) in examples.take(most).enumerate() {
        text.push_str(if index == 0 { "\n\nExamples:\n" } else { "\n" });
        text.push_str(example);
    }
    let hidden: Vec<clap::Id> = command
        .get_arguments()
        .filter(|arg| is_common(arg) || is_rare(arg))
        .map(|arg| arg.get_id().clone())
        .collect();
    let command =
        command.mut_args(|arg| if hidden.contains(arg.get_id()) { arg.hide_short_help(true) } else { arg });
    command.after_help(text).after_long_help(long).mut_subcommands(brief)
}

/// An option and the beginning of what it does, in one line.
fn line(arg: &Arg) -> String {
    let option = usage(arg);
    let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
    let help = help.lines().next().unwrap_or_default().trim_end_matches('.');
    let room = WIDTH - 4 - USAGE_WIDTH.max(option.chars().count());
    let mut words = String::new();
    for word in help.split(' ') {
        if words.chars().count() + word.chars().count() + 2 > room {
            return format!("  {option:USAGE_WIDTH$} {}…", words.trim_end_matches([',', ';', ':']));
        }
        if !words.is_empty() {
            words.push(' ');
        }
        words.push_str(word);
    }
    format!("  {option:USAGE_WIDTH$} {words}")
}

/// An option with its value: `--limit NAME=N`.
fn usage(arg: &Arg) -> String {
    let long = arg.get_long().unwrap_or_default();
    let value = arg.get_value_names().filter(|_| arg.get_action().takes_values());
    match value.and_then(|names| names.first()) {
        Some(value) => format!("--{long} {value}"),
        None => format!("--{long}"),
    }
}

/// The command with its subcommands in groups.
fn grouped(command: Command) -> Command {
    let (header, literal) = (STYLES.get_header(), STYLES.get_literal());
    let mut template = String::from("{about-with-newline}\n{usage-heading} {usage}\n");
    for (group, names) in GROUPS {
        // Writing to a string cannot fail.
        let _ = write!(template, "\n{header}{group}{header:#}\n");
        for subcommand in names.iter().filter_map(|name| command.find_subcommand(name)) {
            let about = subcommand.get_about().map(ToString::to_string).unwrap_or_default();
            let _ = writeln!(template, "  {literal}{:<12}{literal:#} {about}", subcommand.get_name());
        }
    }
    let _ = write!(template, "\n{header}Options{header:#}\n{{options}}{{after-help}}");
    command.help_template(template)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The commands that `cargo xtask hostile` runs on models that grow.
    const GROWING: &str = include_str!("../../../../tests/hostile/growth/commands.txt");

    /// Commands that read no model, so that none grows, and `view`, which ends with its page.
    const WITHOUT_MODEL: [&str; 10] = [
        "explain",
        "ops list",
        "ops search",
        "ops show",
        "ops export",
        "smith",
        "completions",
        "man",
        "self-test",
        "view",
    ];

    /// The names of the subcommands that have none themselves.
    fn leaves(command: &Command, path: &str, found: &mut Vec<String>) {
        let subcommands: Vec<&Command> =
            command.get_subcommands().filter(|subcommand| subcommand.get_name() != "help").collect();
        if subcommands.is_empty() {
            found.push(path.trim_start().to_owned());
        }
        for subcommand in subcommands {
            leaves(subcommand, &format!("{path} {}", subcommand.get_name()), found);
        }
    }

    #[test]
    fn every_command_runs_on_models_that_grow() {
        let lines = GROWING.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
        let lines: Vec<Vec<&str>> = lines.map(|line| line.split_whitespace().skip(1).collect()).collect();
        let mut commands = Vec::new();
        leaves(&Cli::command(), "", &mut commands);
        let has_case = |command: &str| {
            let words: Vec<&str> = command.split(' ').collect();
            lines.iter().any(|line| line.starts_with(&words))
        };
        let missing: Vec<&String> = commands
            .iter()
            .filter(|command| has_case(command) == WITHOUT_MODEL.contains(&command.as_str()))
            .collect();
        assert!(
            missing.is_empty(),
            "not in tests/hostile/growth/commands.txt, or without a model: {missing:?}"
        );
        for line in &lines {
            let mut arguments = vec!["onnx"];
            arguments.extend(line);
            command().try_get_matches_from(arguments).unwrap_or_else(|error| panic!("{line:?}: {error}"));
        }
    }

    #[test]
    fn the_help_lists_every_command_once() {
        let command = Cli::command();
        let help = grouped(Cli::command()).render_help().to_string();
        let visible = command.get_subcommands().filter(|subcommand| !subcommand.is_hide_set());
        let mut expected: Vec<&str> = visible.map(Command::get_name).collect();
        let groups: Vec<&str> = GROUPS.iter().map(|(group, _)| *group).collect();
        let headings: Vec<&str> = help.lines().filter(|line| groups.contains(line)).collect();
        assert_eq!(headings, groups);
        let listing = help.split("\nOptions").next().unwrap();
        let lines = listing.lines().filter_map(|line| line.strip_prefix("  "));
        let mut listed: Vec<&str> = lines.filter_map(|line| line.split(' ').next()).collect();
        expected.sort_unstable();
        listed.sort_unstable();
        assert_eq!(listed, expected);
    }

    /// One screen: the commands are more than half of it.
    #[test]
    fn the_help_fits_one_screen() {
        let help = command().render_help().to_string();
        assert!(help.lines().count() <= 50, "{help}");
        assert!(help.lines().all(|line| line.chars().count() <= 100), "{help}");
        assert_eq!(help.lines().filter(|line| line.starts_with("  onnx ")).count(), PROGRAM_EXAMPLES);
    }

    /// The words of the first command in an example, without the comment after it.
    fn words(example: &str) -> Vec<String> {
        let command = example.trim_start().split("  ").next().unwrap_or_default();
        // Every second piece is between quotes.
        let mut words = vec![String::new()];
        for (index, piece) in command.split('\'').enumerate() {
            let mut parts = if index % 2 == 0 { piece.split(' ').collect() } else { vec![piece] }.into_iter();
            words.last_mut().unwrap().push_str(parts.next().unwrap_or_default());
            words.extend(parts.map(str::to_owned));
        }
        words.retain(|word| !word.is_empty());
        let end = words.iter().position(|word| ["|", "<", ">"].contains(&word.as_str()));
        words.truncate(end.unwrap_or(words.len()));
        words
    }

    #[test]
    fn examples_of_all_helps_can_be_parsed() {
        let mut count = 0;
        let mut left = vec![Cli::command()];
        while let Some(command) = left.pop() {
            left.extend(command.get_subcommands().cloned());
            let text = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            for example in text.lines().filter(|line| line.starts_with("  onnx ")) {
                let parsed = Cli::command().try_get_matches_from(words(example));
                assert!(parsed.is_ok(), "{example}: {:?}", parsed.err().map(|error| error.to_string()));
                count += 1;
            }
        }
        assert!(count > 40, "{count}");
    }
}
