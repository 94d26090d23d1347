//! `onnx man`: the manual pages of the commands, made from their helps.

use std::fmt::Write as _;
use std::fs;
use std::io::ErrorKind;

use clap::{Arg, Command};

use crate::args::{ManArgs, program, usage_of};
use crate::exit::{Failure, Outcome};
use crate::folder::refuse_stream;
use crate::output::{Out, shown};
use crate::size::plural;

/// The pages that every page names.
const SEE_ALSO: &str =
    "Each command explains itself: onnx help COMMAND. onnx explain tells what a diagnostic means.";

/// How a page begins.
const MARK: &str = ".TH ONNX";

pub(crate) fn run(args: &ManArgs, out: &mut Out) -> Result<Outcome, Failure> {
    let mut program = program();
    program.build();
    let Some(directory) = &args.output_dir else {
        let command = found(&program, &args.command)?;
        out.bytes([page(command, &args.command).as_bytes()])?;
        return Ok(Outcome::Fine);
    };
    refuse_stream(directory)?;
    fs::create_dir_all(directory).map_err(|error| Failure::cannot_write(directory, error))?;
    let pages = pages(&program);
    for (path, text) in &pages {
        let file = directory.join(file_name(path));
        match fs::read(&file) {
            Ok(other) if !other.starts_with(MARK.as_bytes()) => {
                return Err(Failure::not_writable(format_args!(
                    "{}: the file is not a manual page of onnx",
                    file.display()
                ))
                .help("remove it, or name another directory"));
            }
            Err(error) if error.kind() != ErrorKind::NotFound => {
                return Err(Failure::cannot_write(&file, error));
            }
            _ => fs::write(&file, text).map_err(|error| Failure::cannot_write(&file, error))?,
        }
    }
    out.summary(&format!("{}: {}", plural(pages.len() as u64, "page"), directory.display()));
    Ok(Outcome::Fine)
}

/// The command of a path such as `weights list`.
fn found<'c>(program: &'c Command, path: &[String]) -> Result<&'c Command, Failure> {
    let mut command = program;
    for name in path {
        let subcommand = command.find_subcommand(name).filter(|_| name != "help");
        command = subcommand.ok_or_else(|| {
            let near = onnx_schema::nearest(name, subcommands(command).map(Command::get_name));
            let near = near.map(|near| format!("did you mean `{near}`? ")).unwrap_or_default();
            Failure::new(format_args!("there is no command `{}`", shown(&path.join(" "))))
                .help(format!("{near}`onnx --help` lists the commands"))
        })?;
    }
    Ok(command)
}

/// The page of each command, with the names of the commands that lead to it.
fn pages(program: &Command) -> Vec<(Vec<String>, String)> {
    let mut left = vec![(Vec::new(), program)];
    let mut pages = Vec::new();
    while let Some((path, command)) = left.pop() {
        pages.push((path.clone(), page(command, &path)));
        for subcommand in subcommands(command) {
            let name = subcommand.get_name().to_owned();
            left.push((path.iter().cloned().chain([name]).collect(), subcommand));
        }
    }
    pages.sort();
    pages
}

fn subcommands(command: &Command) -> impl Iterator<Item = &Command> {
    command.get_subcommands().filter(|command| !command.is_hide_set() && command.get_name() != "help")
}

fn title(path: &[String]) -> String {
    std::iter::once("onnx").chain(path.iter().map(String::as_str)).collect::<Vec<_>>().join("-")
}

fn file_name(path: &[String]) -> String {
    format!("{}.1", title(path))
}

/// A page in the language of roff, with the macros of `man`.
fn page(command: &Command, path: &[String]) -> String {
    let title = title(path);
    let mut text = String::new();
    let version = env!("CARGO_PKG_VERSION");
    let _ = writeln!(text, ".TH {} 1 \"\" \"onnx {version}\" \"onnx\"", roff(&title.to_uppercase()));
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    let _ = writeln!(text, ".SH NAME\n{} \\- {}", roff(&title), roff(about.trim_end_matches('.')));
    let usage = usage_of(command);
    text.push_str(".SH SYNOPSIS\n.nf\n");
    usage.lines().for_each(|line| push_line(&mut text, line.trim_start()));
    text.push_str(".fi\n");
    if let Some(long) = command.get_long_about() {
        text.push_str(".SH DESCRIPTION\n");
        push_text(&mut text, &long.to_string());
    }
    if subcommands(command).next().is_some() {
        text.push_str(".SH COMMANDS\n");
    }
    for subcommand in subcommands(command) {
        let name = [path, &[subcommand.get_name().to_owned()]].concat();
        let about = subcommand.get_about().map(ToString::to_string).unwrap_or_default();
        let _ = writeln!(text, ".TP\n\\fB{}\\fR(1)", roff(&self::title(&name)));
        push_text(&mut text, &about);
    }
    options(command, &mut text);
    if let Some(after) = command.get_after_help() {
        notes(&after.to_string(), &mut text);
    }
    text.push_str(".SH SEE ALSO\n");
    push_line(&mut text, SEE_ALSO);
    text
}

/// The arguments under their headings; those without one come first.
fn options(command: &Command, text: &mut String) {
    let shown: Vec<&Arg> = command.get_arguments().filter(|arg| !arg.is_hide_set()).collect();
    let mut headings: Vec<Option<&str>> = Vec::new();
    for arg in &shown {
        if !headings.contains(&arg.get_help_heading()) {
            headings.push(arg.get_help_heading());
        }
    }
    headings.sort_by_key(Option::is_some);
    for heading in headings {
        let _ = writeln!(text, ".SH {}", roff(&heading.unwrap_or("Options").to_uppercase()));
        for arg in shown.iter().filter(|arg| arg.get_help_heading() == heading) {
            option(arg, text);
        }
    }
}

fn option(arg: &Arg, text: &mut String) {
    let mut names = Vec::new();
    names.extend(arg.get_short().map(|short| format!("\\fB{}\\fR", roff(&format!("-{short}")))));
    names.extend(arg.get_long().map(|long| format!("\\fB{}\\fR", roff(&format!("--{long}")))));
    let mut line = names.join(", ");
    if arg.is_positional() || arg.get_action().takes_values() {
        let values = arg.get_value_names().unwrap_or_default();
        let values: Vec<String> = values.iter().map(|value| format!("\\fI{}\\fR", roff(value))).collect();
        let space = if line.is_empty() { "" } else { " " };
        line.push_str(&format!("{space}{}", values.join(" ")));
        if arg.get_num_args().is_some_and(|count| count.max_values() > values.len()) {
            line.push_str(" ...");
        }
    }
    let _ = writeln!(text, ".TP\n{line}");
    let help = arg.get_long_help().or(arg.get_help()).map(ToString::to_string).unwrap_or_default();
    push_text(text, &help);
    let values: Vec<String> = arg
        .get_possible_values()
        .iter()
        .filter(|value| !value.is_hide_set())
        .map(|value| value.get_name().to_owned())
        .collect();
    let is_listed =
        arg.get_action().takes_values() && !values.is_empty() && !arg.is_hide_possible_values_set();
    let default: Vec<String> =
        arg.get_default_values().iter().map(|value| value.to_string_lossy().into_owned()).collect();
    let mut remarks = Vec::new();
    remarks.extend(is_listed.then(|| format!("values: {}", values.join(", "))));
    let has_default = arg.get_action().takes_values() && !arg.is_hide_default_value_set();
    remarks.extend((has_default && !default.is_empty()).then(|| format!("default: {}", default.join(", "))));
    if !remarks.is_empty() {
        push_line(text, &format!("[{}]", remarks.join("; ")));
    }
}

/// What a help has after the options: paragraphs, and examples, which keep their lines.
fn notes(after: &str, text: &mut String) {
    let (before, examples) = after.split_once("Examples:\n").unwrap_or((after, ""));
    if !before.trim().is_empty() {
        text.push_str(".SH NOTES\n");
        push_text(text, before.trim());
    }
    if !examples.is_empty() {
        // A paragraph may follow the examples.
        let (examples, rest) = examples.split_once("\n\n").unwrap_or((examples, ""));
        text.push_str(".SH EXAMPLES\n.nf\n");
        examples.lines().for_each(|line| push_line(text, line.trim_start()));
        text.push_str(".fi\n");
        if !rest.trim().is_empty() {
            text.push_str(".PP\n");
            push_text(text, rest.trim());
        }
    }
}

/// Paragraphs, of which the words between backticks are bold.
fn push_text(text: &mut String, paragraphs: &str) {
    for (index, paragraph) in paragraphs.split("\n\n").enumerate() {
        if index > 0 {
            text.push_str(".IP\n");
        }
        for line in paragraph.lines() {
            let pieces = line.split('`').collect::<Vec<_>>();
            if pieces.len() % 2 == 0 {
                push_line(text, line);
                continue;
            }
            let pieces = pieces.iter().enumerate().map(|(index, piece)| match index % 2 {
                0 => roff(piece),
                _ => format!("\\fB{}\\fR", roff(piece)),
            });
            push_escaped(text, &pieces.collect::<String>());
        }
    }
}

fn push_line(text: &mut String, line: &str) {
    push_escaped(text, &roff(line));
}

/// A line that is not a request, whatever it begins with.
fn push_escaped(text: &mut String, line: &str) {
    if line.starts_with(['.', '\'']) {
        text.push_str("\\&");
    }
    text.extend([line, "\n"]);
}

/// Text in which nothing is a command of roff, and a hyphen stays what it is when it is copied.
fn roff(text: &str) -> String {
    text.replace('\\', "\\e")
        .replace('-', "\\-")
        .replace('"', "\\(dq")
        .replace('…', "...")
        .replace('\u{1b}', "")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn built() -> Command {
        let mut program = program();
        program.build();
        program
    }

    #[test]
    fn every_visible_command_has_a_page_with_its_options() {
        let program = built();
        let pages = pages(&program);
        let names: Vec<String> = pages.iter().map(|(path, _)| file_name(path)).collect();
        assert!(names.len() > 35 && names.contains(&"onnx-weights-list.1".to_owned()), "{names:?}");
        assert!(!names.iter().any(|name| name.contains("debug") || name.contains("help")), "{names:?}");
        for (path, text) in &pages {
            let command = found(&program, path).unwrap();
            for arg in command.get_arguments().filter(|arg| !arg.is_hide_set()) {
                let name = arg.get_long().map_or_else(
                    || format!("\\fI{}", roff(&arg.get_value_names().unwrap()[0])),
                    |long| roff(&format!("--{long}")),
                );
                assert!(text.contains(&name), "{path:?}: {name}");
            }
            let requests = [".TH ", ".SH ", ".TP", ".nf", ".fi", ".PP", ".IP"];
            for line in text.lines().filter(|line| line.starts_with(['.', '\''])) {
                assert!(requests.iter().any(|request| line.starts_with(request)), "{path:?}: {line}");
            }
            assert!(text.is_ascii() && !text.contains('\u{1b}'), "{path:?}");
        }
    }

    #[test]
    fn text_is_not_a_request() {
        let mut text = String::new();
        push_text(&mut text, ".so /etc/passwd\n'x \\n `--all` and\n\nmore");
        assert_eq!(text, "\\&.so /etc/passwd\n\\&'x \\en \\fB\\-\\-all\\fR and\n.IP\nmore\n");
    }
}
