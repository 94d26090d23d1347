//! Commands that change one model, on several: each is written into a directory under its own name, or only reported.

use std::collections::HashSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::{FromArgMatches as _, ValueEnum as _};

use crate::args::{Cli, command};
use crate::cost::SharedSizes;
use crate::exit::{Failure, Outcome};
use crate::format::Format;
use crate::input::{expand, is_stdin};
use crate::limits::LimitArgs;
use crate::output::{Out, shown};
use crate::report::ReportFormat;
use crate::size::plural;
use crate::spelling::{command_of, dashed, positions};
use crate::table;

/// Several command lines that one stands for, each with one model.
pub(crate) struct Batch {
    command: String,
    /// The model, and the words.
    lines: Vec<(String, Vec<String>)>,
    format: ReportFormat,
    /// The directory of the outputs.
    directory: Option<String>,
    /// The second of two models, if nothing is written.
    unwritten: Option<String>,
}

/// Where the output is named in a command line.
struct OutputWord {
    /// The position of the word that holds it.
    at: usize,
    /// What the word begins with: `--output=`, `-o` or nothing.
    prefix: &'static str,
    value: String,
}

impl OutputWord {
    fn of(words: &[String]) -> Option<Self> {
        words.iter().enumerate().find_map(|(at, word)| {
            if word == "-o" || word == "--output" {
                let value = words.get(at + 1)?.clone();
                return Some(Self { at: at + 1, prefix: "", value });
            }
            let attached = ["--output=", "-o"].into_iter().find(|prefix| word.starts_with(prefix))?;
            let value = word.strip_prefix(attached)?.to_owned();
            Some(Self { at, prefix: attached, value })
        })
    }
}

/// The command lines that the arguments stand for; `None` if they name one model, or something else.
pub(crate) fn of(arguments: &[OsString]) -> Option<Result<Batch, Failure>> {
    let words: Vec<String> =
        arguments.iter().skip(1).map(|word| word.to_str().map(str::to_owned)).collect::<Option<_>>()?;
    let (command, files) = positions(&words)?;
    let spelled = command_of(&words)?;
    if words.iter().any(|word| dashed(&spelled, word).is_some()) {
        // The words are not what they seem: the parser says so.
        return None;
    }
    let paths: Vec<PathBuf> = files.iter().filter_map(|&at| words.get(at)).map(PathBuf::from).collect();
    let has_directory = paths.iter().any(|path| path.is_dir());
    let output = OutputWord::of(&words);
    let into_directory = output.as_ref().is_some_and(|output| is_directory(&output.value));
    let missing = paths.iter().find(|path| !path.exists());
    // The parts of one model are files of a directory themselves.
    let goes_inside =
        !is_divided(&words) && output.as_ref().is_some_and(|output| is_named_directory(&output.value));
    let has_several = paths.len() > 1;
    if paths.iter().any(|path| is_stdin(path)) && (goes_inside || (into_directory && has_several)) {
        let failure = Failure::new(
            "a model from standard input has no name, and outputs in a directory have those of their inputs",
        );
        return Some(Err(failure.help("change it on its own: `-o DIR/NAME.onnx`")));
    }
    if let Some(missing) = missing.filter(|_| goes_inside || (into_directory && has_several)) {
        // With the words of the system, as for one model.
        let source = missing.metadata().err().unwrap_or_else(|| std::io::ErrorKind::NotFound.into());
        return Some(Err(Failure::cannot_read(missing, source)));
    }
    // A pattern may stand for one file, which is written to the directory as several are.
    let is_single = paths.len() < 2 && !has_directory && !goes_inside;
    if is_single || paths.is_empty() || missing.is_some() {
        return None;
    }
    let format = format(&words);
    let is_in_place = words.iter().any(|word| word == "--in-place");
    let only_reports = words.iter().any(|word| word == "--dry-run") || format.is_some();
    if let Some(failure) = one_file_for_all(&words).filter(|_| has_several || has_directory) {
        return Some(Err(failure));
    }
    if let Some(output) = output.as_ref().filter(|output| !is_directory(&output.value)) {
        return Some(Err(no_directory(&output.value, has_directory)));
    }
    let is_report = output.is_none() && !is_in_place;
    let has_table = table::has_table(&command);
    let default = if is_report && has_table { ReportFormat::Table } else { ReportFormat::Text };
    let format = format.unwrap_or(default);
    // The second of two files may be meant as the output.
    let second = words.get(*files.get(1).unwrap_or(&0)).filter(|_| paths.len() == 2 && !has_directory);
    let unwritten = second.filter(|_| is_report && !only_reports).cloned();
    Some(lines(&words, &files, &paths, output.as_ref()).map(|mut lines| {
        if command == "infer" && format.is_table() {
            // The table counts what is unknown.
            lines.iter_mut().for_each(|(_, line)| line.push("--unknown".to_owned()));
        }
        Batch { command, lines, format, directory: output.map(|output| output.value), unwritten }
    }))
}

/// The command and the format of its report, for arguments that stand for no command lines.
pub(crate) fn form(arguments: &[OsString]) -> (String, ReportFormat) {
    let words: Vec<String> =
        arguments.iter().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    let command = positions(&words).map_or_else(String::new, |(command, _)| command);
    (command, format(&words).unwrap_or(ReportFormat::Text))
}

/// The failure to write several models to a name that is not that of a directory.
fn no_directory(output: &str, has_directory: bool) -> Failure {
    if !has_directory {
        // Two files and one output: the error is about the second file.
        return Failure::new("several models cannot be written to one file")
            .help("write them to a directory: `-o DIR/`; `onnx merge` joins models");
    }
    Failure::new(format_args!("`{}` is not a directory", shown(output)))
        .help("end the name with a slash, so that it is made: `-o DIR/`")
}

/// Refuses an option whose file would be written for each model, and have what is about the last one.
fn one_file_for_all(words: &[String]) -> Option<Failure> {
    const FILES: [&str; 3] = ["--journal", "--report", "--save-ranges"];
    let is = |word: &str, option: &str| {
        word.strip_prefix(option).is_some_and(|rest| rest.is_empty() || rest.starts_with('='))
    };
    let option = FILES.into_iter().find(|&option| words.iter().any(|word| is(word, option)))?;
    let failure = Failure::new(format_args!("`{option}` is one file, and there are several models"));
    Some(failure.help("run the command on one model at a time"))
}

/// Whether a name is meant as that of a directory: one with the extension of a model needs a slash.
fn is_named_directory(path: &str) -> bool {
    path.ends_with('/') || (is_directory(path) && Format::of(Path::new(path)).is_none())
}

fn is_directory(path: &str) -> bool {
    path.ends_with('/') || Path::new(path).is_dir()
}

fn format(words: &[String]) -> Option<ReportFormat> {
    ReportFormat::from_str(value_of(words, "--format")?, false).ok()
}

/// The value of an option.
fn value_of<'a>(words: &'a [String], option: &str) -> Option<&'a str> {
    words.iter().enumerate().find_map(|(at, word)| match word.strip_prefix(option)? {
        "" => words.get(at + 1).map(String::as_str),
        rest => rest.strip_prefix('='),
    })
}

/// Whether a command cuts each model into several files.
fn is_divided(words: &[String]) -> bool {
    words.iter().any(|word| word == "--parts" || word.starts_with("--parts="))
}

/// A command line for each model.
fn lines(
    words: &[String],
    files: &[usize],
    paths: &[PathBuf],
    output: Option<&OutputWord>,
) -> Result<Vec<(String, Vec<String>)>, Failure> {
    let (mut lines, mut targets) = (Vec::new(), HashSet::new());
    // Of `onnx quantize`, it is the type of elements.
    let stored_as = value_of(words, "--to").and_then(|value| Format::from_str(value, false).ok());
    for path in paths {
        for found in expand(std::slice::from_ref(path), &["onnx"]) {
            let file = found?;
            let name = file.to_string_lossy().into_owned();
            let mut line = Vec::new();
            for (at, word) in words.iter().enumerate() {
                match output.filter(|output| output.at == at) {
                    Some(output) => {
                        let mut target = target(&output.value, path, &file, stored_as);
                        if is_divided(words) {
                            // The parts of each model have the same names.
                            target = format!("{}/", Path::new(&target).with_extension("").display());
                        }
                        if !targets.insert(target.clone()) {
                            return Err(Failure::new(format_args!(
                                "two models would be written to `{}`",
                                shown(&target)
                            ))
                            .help("write them to different directories"));
                        }
                        line.push(format!("{}{target}", output.prefix));
                    }
                    None if files.first() == Some(&at) => line.push(name.clone()),
                    None if files.contains(&at) => {}
                    None => line.push(word.clone()),
                }
            }
            lines.push((name, line));
        }
    }
    Ok(lines)
}

/// The file in a directory that a model is written to: below a directory that is searched, the path in it stays. The extension is that
/// of the format, if one is named.
fn target(directory: &str, root: &Path, file: &Path, format: Option<Format>) -> String {
    let inside = if root.is_dir() { file.strip_prefix(root).ok() } else { None };
    let inside = inside.or_else(|| file.file_name().map(Path::new)).unwrap_or(file);
    let mut path = Path::new(directory).join(inside);
    if let Some(format) = format {
        path.set_extension(format.id());
    }
    path.to_string_lossy().into_owned()
}

impl Batch {
    /// The report of all command lines.
    pub(crate) fn out(&self, cli: &Cli) -> Out {
        Out::new(cli.color, &self.command, table::format(self.format, cli.sort_by.as_deref()))
            .with_verbosity(cli.quiet, cli.verbose)
            .with_brief(cli.brief)
            .with_timeout(cli.command.bounds().and_then(LimitArgs::timeout).cloned())
            .sorted_by(cli.sort_by.clone())
    }

    /// The arguments of each command line, which fail as one.
    pub(crate) fn parsed(&self) -> Result<Vec<(&str, Cli)>, clap::Error> {
        let parsed = self.lines.iter().map(|(name, line)| {
            let words = std::iter::once("onnx").chain(line.iter().map(String::as_str));
            let matches = command().try_get_matches_from(words)?;
            Ok((name.as_str(), Cli::from_arg_matches(&matches)?))
        });
        parsed.collect()
    }

    /// Says how to write the models, if the second one may be meant as an output.
    pub(crate) fn explain(&self, out: &Out) {
        if let Some(second) = &self.unwritten {
            out.remark(&format!(
                "nothing is written: `-o DIR/` writes both models into a directory; `{}` is taken for a model, as it exists",
                shown(second)
            ));
        }
    }

    /// The directory of the outputs.
    pub(crate) fn directory(&self) -> Option<&Path> {
        self.directory.as_deref().map(Path::new)
    }

    /// Makes the directories of the outputs.
    pub(crate) fn make_directories(&self) -> Result<(), Failure> {
        let Some(directory) = &self.directory else { return Ok(()) };
        for (_, line) in &self.lines {
            let target = OutputWord::of(line).map(|output| output.value).unwrap_or_default();
            let parent = Path::new(&target).parent().unwrap_or(Path::new(directory));
            std::fs::create_dir_all(parent).map_err(|error| Failure::cannot_write(parent, error))?;
        }
        Ok(())
    }
}

/// One line about all models.
fn total(count: usize, failed: &[&str]) -> String {
    /// More names are in the messages above.
    const MOST_NAMES: usize = 3;
    let models = plural(count as u64, "model");
    let names: Vec<String> = failed.iter().take(MOST_NAMES).map(|name| shown(name)).collect();
    let names = names.join(", ");
    let (done, more) = (count.saturating_sub(failed.len()), failed.len().saturating_sub(MOST_NAMES));
    match (failed.len(), more) {
        (0, _) => format!("{models}: all done"),
        (failed, 0) => format!("{models}: {done} done, {failed} failed: {names}"),
        (failed, more) => format!("{models}: {done} done, {failed} failed: {names} and {more} more"),
    }
}

/// The worst outcome of commands that run one after the other. One that fails does not end the others, except when the user
/// ends the work or the time is over.
pub(crate) fn run(
    parsed: Vec<(&str, Cli)>,
    out: &mut Out,
    each: impl Fn(Cli, &mut Out) -> Result<Outcome, Failure>,
) -> Result<Outcome, Failure> {
    let (count, mut failed, mut worst) = (parsed.len(), Vec::new(), Outcome::Fine);
    out.shared_sizes = (count > 1).then(SharedSizes::default);
    for (name, cli) in parsed {
        if count > 1 {
            out.begin(name);
        }
        let result = each(cli, out);
        out.settle_summaries(matches!(result, Ok(Outcome::Fine)));
        let outcome = match result {
            Ok(outcome) => outcome,
            Err(failure) => {
                let is_about = failure.message.contains(name);
                let failure = if is_about { failure } else { failure.about(&shown(name)) };
                out.refused(Some(name), &failure)?;
                failure.outcome()
            }
        };
        out.settle_warnings(Some(name));
        worst = worst.max(outcome);
        if outcome != Outcome::Fine {
            failed.push(name);
        }
    }
    out.omit_name();
    if count > 1 {
        out.summary(&total(count, &failed));
    }
    out.shared_sizes.take().map_or(Ok(()), |shared| shared.require_used())?;
    Ok(worst)
}
