//! The `onnx` command: inspects ONNX models, checks, runs and changes them, and converts between their formats.
//!
//! One file for each subcommand; what they share is `args` (the command line), `input` (from a path to a model),
//! `format` (the formats a model can be stored in), `part` (parts of a model in separate files),
//! `syntax` (the tokens of ONNX text), `output` (terminal and colours), `store` (from a model to a file),
//! `weights` (where the weights of an output are, and the command of this name), `change` (reports of edits), `jobs` (several files at a time), `spelling` and `other_tools` (what users of other tools type),
//! `interrupt` (signals), `reading` and `writing` (files and pipes within the timeout), `progress`, `wrap` (narrow terminals) and `exit` (exit codes and failures).
//! Functions that are useful to users of the library are in the library crates; this one has [`main`] and the [`rows`] of
//! `onnx scan`, which packages of other languages call.
//!
//! ```
//! use std::ffi::OsString;
//!
//! let arguments = ["onnx", "explain", "ONNX2303", "--quiet"].map(OsString::from);
//! assert_eq!(onnx_cli::main(&arguments), 0);
//! ```
#![forbid(unsafe_code)]

mod args;
mod batch;
mod change;
mod check;
mod compare;
mod completions;
mod convert;
mod cost;
mod diff;
mod dimensions;
mod dot;
mod draw;
mod edit;
mod elided;
mod exit;
mod explain;
mod extract;
mod failures;
mod file_help;
mod find;
mod fmt;
mod folder;
mod format;
mod format_version;
mod git_driver;
mod hash;
mod infer;
mod info;
mod inline;
mod input;
mod interrupt;
mod jobs;
mod json;
mod known_names;
mod limits;
mod man;
mod memory;
mod merge;
mod not_narrowed;
mod number_formats;
mod ops;
mod other_tools;
mod outline;
mod output;
mod part;
mod precondition;
mod print;
mod progress;
mod quantize;
mod reading;
mod reduce;
mod report;
mod rewrite;
pub mod rows;
mod rule_files;
mod rules;
mod run;
mod samples;
mod scan;
mod selection;
mod self_test;
mod simplify;
mod size;
mod smith;
mod spelling;
mod split;
mod standard_input;
#[cfg(test)]
mod stopping;
mod store;
mod syntax;
mod table;
mod targets;
mod tensors;
mod trial;
mod usage;
mod verify;
mod versions;
mod view;
mod weights;
mod wrap;
mod writing;

use std::ffi::OsString;

use clap::error::ErrorKind;
use clap::{CommandFactory as _, ValueEnum as _};

use args::{Cli, Color, Command, DebugArgs, DebugCommand};
use exit::Outcome;
use limits::LimitArgs;
use output::Out;
use writing::Stream;

/// All rules that the command reports, by ascending code, for the index of rules.
#[doc(hidden)]
#[must_use]
pub fn rules() -> Vec<&'static onnx_diag::Rule> {
    rules::all()
}

/// Runs the command with its arguments, of which the first is its name, and returns the exit status.
///
/// It is the main function of a process: it handles signals, and a request for memory that fails ends the process.
pub fn main(arguments: &[OsString]) -> u8 {
    interrupt::obey_limits_of_process();
    let outcome = run_with(arguments);
    // The standard library does this where a program ends, but not in a process of another language.
    if !Stream::Stdout.is_abandoned() {
        let _ = std::io::Write::flush(&mut std::io::stdout());
    }
    outcome.status().exit()
}

fn run_with(arguments: &[OsString]) -> Outcome {
    let arguments = &args::with_command_first(arguments);
    if let Some(batch) = batch::of(arguments) {
        return several(batch, arguments);
    }
    let cli = match args::parse(arguments) {
        Ok(cli) => cli,
        Err(error) => return misused(&error, arguments),
    };
    let (name, format) = (cli.command.name(), cli.command.format());
    let format =
        if cli.command.is_about_directories() && !cli.quiet { report::ReportFormat::Table } else { format };
    let format = table::format(format, cli.sort_by.as_deref());
    let mut out = Out::new(cli.color, name, format)
        .with_verbosity(cli.quiet, cli.verbose)
        .with_brief(cli.brief)
        .with_timeout(cli.command.bounds().and_then(LimitArgs::timeout).cloned())
        .sorted_by(cli.sort_by.clone());
    if let Some(path) = cli.command.report_file() {
        out.report_to(path);
    }
    out.name_inputs(&cli.command.inputs());
    let checked = table::check(name, format, cli.sort_by.as_deref());
    let checked = checked.and_then(|()| standard_input::require_once(&cli.command));
    let result = checked.and_then(|()| dispatch(cli, &mut out));
    ended(result, out)
}

/// Runs a command on each of several models.
fn several(batch: Result<batch::Batch, exit::Failure>, arguments: &[OsString]) -> Outcome {
    let batch = match batch {
        Ok(batch) => batch,
        Err(failure) => {
            let (command, format) = batch::form(arguments);
            let format = table::format(format, None);
            return ended(Err(failure), Out::new(Color::Auto, &command, format));
        }
    };
    let parsed = match batch.parsed() {
        Ok(parsed) => parsed,
        Err(error) => return misused(&error, arguments),
    };
    let Some((_, first)) = parsed.first() else { return Outcome::Fine };
    let mut out = batch.out(first);
    let sort = first.sort_by.clone();
    let name = first.command.name();
    let checked = table::check(name, out.collected.format, sort.as_deref());
    let checked = checked.and_then(|()| {
        if first.command.is_dry_run() { out.would_make(batch.directory()) } else { batch.make_directories() }
    });
    let result = checked.and_then(|()| batch::run(parsed, &mut out, dispatch));
    batch.explain(&out);
    ended(result, out)
}

/// Writes the report of a command that ended.
fn ended(result: Result<Outcome, exit::Failure>, mut out: Out) -> Outcome {
    out.settle_summaries(matches!(result, Ok(Outcome::Fine)));
    let outcome = result.unwrap_or_else(|failure| {
        let failure = out.expired(&failure).unwrap_or(failure);
        out.end_with(&failure)
            .map_or_else(|unwritten| failure.outcome().max(unwritten.outcome()), |()| failure.outcome())
    });
    out.finish(outcome)
}

/// Runs a command; a warning that the user denies makes it fail.
fn dispatch(cli: Cli, out: &mut Out) -> Result<Outcome, exit::Failure> {
    let outcome = run_command(cli, out)?;
    Ok(outcome.max(if out.take_denied() { Outcome::Findings } else { Outcome::Fine }))
}

fn run_command(cli: Cli, out: &mut Out) -> Result<Outcome, exit::Failure> {
    match cli.command {
        Command::Check(args) => check::run(&args, out),
        Command::Info(args) => info::run(&args, out),
        Command::Cost(args) => cost::run(&args, out),
        Command::Weights(args) => weights::verbs::run(&args, out),
        Command::Scan(args) => scan::run(&args, out),
        Command::Infer(args) => infer::run(&args, out),
        Command::Run(args) => run::run(&args, out),
        Command::Compare(args) => compare::run(&args, out),
        Command::Diff(args) => diff::run(&args, out),
        Command::Hash(args) => hash::run(&args, out),
        Command::Convert(args) => convert::run(&args, out),
        Command::Quantize(args) => quantize::run(&args, out),
        Command::Simplify(args) => simplify::run(&args, out),
        Command::Rewrite(args) => rewrite::run(&args, out),
        Command::Edit(args) => edit::run(&args, out),
        Command::Extract(args) => extract::run(&args, out),
        Command::Merge(args) => merge::run(&args, out),
        Command::Inline(args) => inline::run(&args, out),
        Command::Outline(args) => outline::run(&args, out),
        Command::Print(args) => print::run(&args, out),
        Command::Draw(args) => draw::run(&args, out),
        Command::View(args) => view::run(&args, out),
        Command::Find(args) => find::run(&args, out),
        Command::Fmt(args) => fmt::run(&args, out),
        Command::Explain(args) => explain::run(&args, out),
        Command::Ops(args) => ops::run(&args, out),
        Command::Reduce(args) => reduce::run(&args, out),
        Command::Smith(args) => smith::run(&args, out),
        Command::Completions(args) => completions::run(&args, out),
        Command::Man(args) => man::run(&args, out),
        Command::SelfTest(args) => self_test::run(&args, out),
        Command::Debug(DebugArgs { command: DebugCommand::Verify(args) }) => verify::run(&args, out),
    }
}

/// The subcommand and the format of the report, as far as arguments that are not valid tell them.
fn requested(arguments: &[OsString]) -> (String, report::ReportFormat) {
    let mut format = report::ReportFormat::Text;
    let mut arguments = arguments.iter().skip(1).filter_map(|argument| argument.to_str());
    let cli = Cli::command();
    let command = arguments.clone().find(|argument| cli.find_subcommand(argument).is_some());
    while let Some(argument) = arguments.next() {
        let name = match argument.split_once('=') {
            Some(("--format", name)) => name,
            // The spelling of other tools requests a report as JSON, too.
            _ if argument == "--json" => "json",
            _ if argument == "--format" => arguments.next().unwrap_or_default(),
            _ => continue,
        };
        format = report::ReportFormat::from_str(name, false).unwrap_or(format);
    }
    (command.unwrap_or_default().to_owned(), format)
}

/// Prints help, the version, or what is wrong with the arguments. Arguments are repeated with escapes, because they can
/// contain characters that act on a terminal.
fn misused(error: &clap::Error, arguments: &[OsString]) -> Outcome {
    let has = |value: &str| {
        let joined = format!("--color={value}");
        arguments.iter().any(|argument| *argument == *joined)
            || arguments.windows(2).any(|pair| matches!(pair, [a, b] if a == "--color" && *b == *value))
    };
    let choice = if has("never") {
        Color::Never
    } else if has("always") {
        Color::Always
    } else {
        Color::Auto
    };
    if !error.use_stderr() {
        // A closed pipe is not an error; a full device is.
        let mut out = Out::new(choice, "", report::ReportFormat::Text);
        let text = output::clean_styled(&error.render().ansi().to_string());
        return match out.text(&text) {
            Ok(()) => Outcome::Fine,
            Err(failure) => {
                out.failure(&failure);
                failure.outcome()
            }
        };
    }
    let (command, format) = requested(arguments);
    let mut out = Out::new(choice, &command, format);
    if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
        && format == report::ReportFormat::Text
    {
        out.aside(&output::clean_styled(&error.render().ansi().to_string()));
        return Outcome::CouldNotRun;
    }
    let failure = spelling::corrected(error, arguments).unwrap_or_else(|| usage::failure(error, arguments));
    let outcome = out.refused(None, &failure).map_or(Outcome::CouldNotRun, |()| failure.outcome());
    out.finish(outcome)
}
