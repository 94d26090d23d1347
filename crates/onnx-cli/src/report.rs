//! Reports for programs: what the command collects for `--format`, and how it is written.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum, ValueHint};
use onnx_codec::WriteOptions;
use onnx_codec::file::{FileKind, write_file};
use onnx_diag::render::{github, json, sarif};
use onnx_diag::{CommandReport, Locus, Output, Rule, Sink, Status, Tool};
use onnx_ir::Model;
use onnx_select::Selectors;

use crate::args::{COMMON, Command, DebugArgs, DebugCommand};
use crate::exit::{Failure, Outcome};
use crate::input::{Loaded, display_name, is_stdin, is_stream};
use crate::interrupt;
use crate::json::JsonText;
use crate::output::Out;
use crate::rows;
use crate::table::{self, Form};

/// Format of a report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReportFormat {
    /// For people.
    #[default]
    Text,
    /// A line for each input, in aligned columns.
    Table,
    /// The same lines as CSV.
    Csv,
    /// One JSON document: the envelope `onnx-report/1`.
    Json,
    /// One such document per line and input, as soon as it is complete, and a summary on the last line.
    Jsonl,
    /// SARIF 2.1.0, for code hosts and editors.
    Sarif,
    /// Annotations of GitHub Actions.
    Github,
}

impl ReportFormat {
    /// Whether it has a line for each input.
    pub(crate) const fn is_table(self) -> bool {
        matches!(self, Self::Table | Self::Csv)
    }
}

/// Where and how to report.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct ReportArgs {
    /// Format of the report: text, table, csv, json, jsonl, sarif or github.
    ///
    /// `table` and `csv` have a line for each input, sorted with `--sort-by` (a command without them names those that have them); `json` is one document, the envelope `onnx-report/1`; `jsonl` is one such document per line and input, and a summary on
    /// the last line; `sarif` is SARIF 2.1.0, for code hosts and editors; `github` are annotations of GitHub Actions.
    #[arg(long, value_enum, default_value_t = ReportFormat::Text, hide_possible_values = true)]
    pub(crate) format: ReportFormat,
}

/// Where and how commands report that write a model.
#[derive(Clone, Debug, Args)]
pub(crate) struct ModelReportArgs {
    #[command(flatten)]
    pub(crate) format: ReportArgs,
    /// Write the report to this file.
    ///
    /// It is JSON, unless `--format` or the extension (.jsonl, .sarif) says otherwise.
    #[arg(id = "report_file", long = "report", value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = COMMON)]
    pub(crate) file: Option<PathBuf>,
}

impl ModelReportArgs {
    pub(crate) fn effective_format(&self) -> ReportFormat {
        let Some(file) = self.file.as_ref().filter(|_| self.format.format == ReportFormat::Text) else {
            return self.format.format;
        };
        match file.extension().and_then(|extension| extension.to_str()) {
            Some("jsonl") => ReportFormat::Jsonl,
            Some("sarif") => ReportFormat::Sarif,
            _ => ReportFormat::Json,
        }
    }

    /// Refuses to write the model and the report to one place, the report over the input, and anything without the report.
    pub(crate) fn check(
        &self,
        input: Option<&Path>,
        output: Option<&Path>,
        out: &mut Out,
    ) -> Result<(), Failure> {
        if self.file.is_none() && output.is_some_and(is_stream) && !out.is_for_people() {
            let failure = Failure::new("the model and the report cannot both be written to standard output");
            return Err(failure.help("use `-o FILE`, or `--report FILE`"));
        }
        let Some(file) = &self.file else { return Ok(()) };
        // Nor is this failure reported there.
        require_own_file("--report", file, input.into_iter().chain(output))
            .inspect_err(|_| out.collected.file = None)?;
        let written = write_file(file, FileKind::Json, &report_options().with_dry_run(true), |_| Ok(()));
        written.inspect_err(|_| out.collected.file = None).map_err(Failure::from)
    }
}

/// Refuses a stream or one of the other files of the command as the file that an option writes in addition to the output.
pub(crate) fn require_own_file<'a>(
    option: &str,
    file: &Path,
    mut others: impl Iterator<Item = &'a Path>,
) -> Result<(), Failure> {
    if !is_stream(file) && !others.any(|other| is_same_place(file, other)) {
        return Ok(());
    }
    let message = format_args!(
        "`{option}` takes the name of a file that is not the input, the output, the report or a stream"
    );
    Err(Failure::new(message).help(format!("name another file: `{option} FILE`")))
}

/// Whether two paths name one file, which may not be there yet.
pub(crate) fn is_same_place(a: &Path, b: &Path) -> bool {
    let place = |path: &Path| {
        path.canonicalize().ok().or_else(|| {
            let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
            Some(folder.unwrap_or(Path::new(".")).canonicalize().ok()?.join(path.file_name()?))
        })
    };
    a == b || place(a).is_some_and(|a| place(b).is_some_and(|b| a == b))
}

impl Command {
    /// Whether the command shows one model after another, and a directory of models is meant.
    pub(crate) fn is_about_directories(&self) -> bool {
        let has_directory = |files: &[PathBuf]| files.iter().any(|file| file.is_dir());
        match self {
            Self::Info(args) => {
                let is_plain = !args.all && !args.functions && !args.versions;
                is_plain && args.report.format == ReportFormat::Text && has_directory(&args.files)
            }
            Self::Cost(args) => {
                !args.all && args.report.format == ReportFormat::Text && has_directory(&args.files)
            }
            _ => false,
        }
    }

    /// Whether nothing is written.
    pub(crate) fn is_dry_run(&self) -> bool {
        match self {
            Self::Infer(args) => args.output.dry_run,
            Self::Convert(args) => args.output.dry_run,
            Self::Quantize(args) => args.output.dry_run,
            Self::Rewrite(args) => args.edits.output.dry_run,
            Self::Simplify(args) => args.edits.output.dry_run,
            Self::Edit(args) => args.output.dry_run,
            Self::Extract(args) => args.output.dry_run,
            Self::Inline(args) => args.output.dry_run,
            Self::Outline(args) => args.output.dry_run,
            _ => false,
        }
    }

    /// The file for the report, for commands whose standard output can be a model.
    pub(crate) fn report_file(&self) -> Option<&Path> {
        match self {
            Self::Infer(args) => args.output.report.file.as_deref(),
            Self::Weights(args) => args.report_file(),
            Self::Convert(args) => args.output.report.file.as_deref(),
            Self::Quantize(args) => args.output.report.file.as_deref(),
            Self::Rewrite(args) => args.edits.output.report.file.as_deref(),
            Self::Simplify(args) => args.edits.output.report.file.as_deref(),
            Self::Edit(args) => args.output.report.file.as_deref(),
            Self::Extract(args) => args.output.report.file.as_deref(),
            Self::Merge(args) => args.output.report.file.as_deref(),
            Self::Inline(args) => args.output.report.file.as_deref(),
            Self::Outline(args) => args.output.report.file.as_deref(),
            Self::Smith(args) => args.output.report.file.as_deref(),
            Self::Reduce(args) => args.output.report.file.as_deref(),
            Self::Print(args) => args.report.file.as_deref(),
            Self::Draw(args) => args.report.file.as_deref(),
            Self::Ops(args) => args.report_file(),
            _ => None,
        }
    }

    /// The models and documents that the arguments name, in order.
    pub(crate) fn inputs(&self) -> Vec<&Path> {
        fn all(paths: &[PathBuf]) -> Vec<&Path> {
            paths.iter().map(PathBuf::as_path).collect()
        }
        match self {
            Self::Check(args) => all(&args.files),
            Self::Info(args) => all(&args.files),
            Self::Cost(args) => all(&args.files),
            Self::Weights(args) => vec![args.input()],
            Self::Hash(args) => all(&args.files),
            Self::Fmt(args) => all(&args.files),
            Self::Infer(args) => vec![&args.input_file],
            Self::Run(args) => vec![&args.input_file],
            Self::Convert(args) => vec![&args.input_file],
            Self::Quantize(args) => vec![&args.input_file],
            Self::Rewrite(args) => vec![&args.input_file],
            Self::Simplify(args) => vec![&args.input_file],
            Self::Edit(args) => vec![&args.input_file],
            Self::Extract(args) => vec![&args.input_file],
            Self::Merge(args) => args.input_files.iter().chain(&args.link).map(PathBuf::as_path).collect(),
            Self::Inline(args) => vec![&args.input_file],
            Self::Outline(args) => vec![&args.input_file],
            Self::Print(args) => vec![&args.input_file],
            Self::Draw(args) => vec![&args.input_file],
            Self::View(args) => vec![&args.input_file],
            Self::Reduce(args) => vec![&args.input_file],
            Self::Find(args) => vec![&args.input_file],
            Self::Compare(args) => std::iter::once(&args.a).chain(&args.b).map(PathBuf::as_path).collect(),
            Self::Diff(args) => {
                args.pair().map(|pair| pair.map(PathBuf::as_path).to_vec()).unwrap_or_default()
            }
            Self::Ops(args) => args.model().into_iter().collect(),
            Self::Debug(DebugArgs { command: DebugCommand::Verify(args) }) => all(&args.files),
            Self::Scan(args) => all(&args.files),
            Self::Explain(_) | Self::Smith(_) | Self::Completions(_) | Self::Man(_) | Self::SelfTest(_) => {
                Vec::new()
            }
        }
    }

    /// The name of the command in reports.
    pub(crate) const fn name(&self) -> &'static str {
        match self {
            Self::Check(_) => "check",
            Self::Info(_) => "info",
            Self::Cost(_) => "cost",
            Self::Weights(args) => args.name(),
            Self::Infer(_) => "infer",
            Self::Run(_) => "run",
            Self::Compare(_) => "compare",
            Self::Diff(_) => "diff",
            Self::Hash(_) => "hash",
            Self::Convert(_) => "convert",
            Self::Quantize(_) => "quantize",
            Self::Rewrite(_) => "rewrite",
            Self::Simplify(_) => "simplify",
            Self::Edit(_) => "edit",
            Self::Extract(_) => "extract",
            Self::Merge(_) => "merge",
            Self::Inline(_) => "inline",
            Self::Outline(_) => "outline",
            Self::Print(_) => "print",
            Self::Draw(_) => "draw",
            Self::View(_) => "view",
            Self::Find(_) => "find",
            Self::Reduce(_) => "reduce",
            Self::Fmt(_) => "fmt",
            Self::Explain(_) => "explain",
            Self::Ops(_) => "ops",
            Self::Smith(_) => "smith",
            Self::Completions(_) => "completions",
            Self::Man(_) => "man",
            Self::SelfTest(_) => "self-test",
            Self::Scan(_) => "scan",
            Self::Debug(DebugArgs { command: DebugCommand::Verify(_) }) => "debug verify",
        }
    }

    /// The format of the report, for commands that report.
    pub(crate) fn format(&self) -> ReportFormat {
        match self {
            Self::Check(args) => args.report.format,
            Self::Info(args) => args.report.format,
            Self::Cost(args) => args.report.format,
            Self::Weights(args) => args.format(),
            Self::Run(args) => args.report.format,
            Self::Compare(args) => args.report.format,
            Self::Diff(args) => args.report.format,
            Self::Hash(args) => args.report.format,
            Self::Find(args) => args.report.format,
            Self::Reduce(args) => args.output.report.effective_format(),
            Self::Infer(args) => args.output.report.effective_format(),
            Self::Convert(args) => args.output.report.effective_format(),
            Self::Quantize(args) => args.output.report.effective_format(),
            Self::Rewrite(args) => args.edits.output.report.effective_format(),
            Self::Simplify(args) => args.edits.output.report.effective_format(),
            Self::Edit(args) => args.output.report.effective_format(),
            Self::Extract(args) => args.output.report.effective_format(),
            Self::Merge(args) => args.output.report.effective_format(),
            Self::Inline(args) => args.output.report.effective_format(),
            Self::Outline(args) => args.output.report.effective_format(),
            Self::Smith(args) => args.output.report.effective_format(),
            Self::Explain(args) => args.report.format,
            Self::Debug(DebugArgs { command: DebugCommand::Verify(args) }) => args.report.format,
            Self::Ops(args) => args.format(),
            Self::Fmt(args) => args.report.format,
            Self::Print(args) => args.report.effective_format(),
            Self::Draw(args) => args.report.effective_format(),
            Self::SelfTest(args) => args.report.format,
            Self::Completions(_) | Self::Man(_) | Self::Scan(_) | Self::View(_) => ReportFormat::Text,
        }
    }
}

/// The program, as reports name it.
const TOOL: Tool<'_> = Tool {
    name: "onnx",
    version: env!("CARGO_PKG_VERSION"),
    rules_url: concat!(env!("CARGO_PKG_REPOSITORY"), "/blob/main/docs/generated/rules.md"),
};

/// What a command reports, in the format that the user wants.
#[derive(Debug)]
pub(crate) struct Collected {
    pub(crate) format: ReportFormat,
    pub(crate) report: CommandReport,
    /// The kind of the result and the key of its list.
    kind: Option<(&'static str, &'static str)>,
    /// The elements of the list.
    items: Vec<JsonText>,
    /// The file for the report instead of standard output, and what it will contain.
    file: Option<(PathBuf, String)>,
    /// The inputs that the arguments name.
    pub(crate) named: Vec<String>,
    /// The column by which a table is sorted.
    pub(crate) sort: Option<String>,
}

impl Collected {
    pub(crate) fn new(command: &str, format: ReportFormat) -> Self {
        let mut report = CommandReport::new(TOOL, command);
        report.is_fixable = |rule: &Rule| crate::check::is_fixable(rule);
        Self { format, report, kind: None, items: Vec::new(), file: None, named: Vec::new(), sort: None }
    }

    /// The command that reports.
    pub(crate) fn command(&self) -> &str {
        &self.report.command
    }

    /// The result: an object with its kind and the list of all items.
    fn result(&self) -> Option<String> {
        let (kind, key) = self.kind?;
        let newline = if self.format == ReportFormat::Jsonl { "" } else { "\n" };
        let items: Vec<&str> = self.items.iter().map(JsonText::as_str).collect();
        let items = items.join(&format!(",{newline}"));
        Some(format!("{{\"kind\":\"{kind}\",\"{key}\":[{newline}{items}{newline}]}}"))
    }

    fn rendered(&mut self) -> Result<String, Failure> {
        self.report.result = self.result();
        let mut text = String::new();
        match self.format {
            ReportFormat::Text => {}
            ReportFormat::Table | ReportFormat::Csv => {
                let form = if self.format == ReportFormat::Csv { Form::Csv } else { Form::Text };
                let items: Vec<serde_json::Value> =
                    self.items.iter().filter_map(|item| serde_json::from_str(item.as_str()).ok()).collect();
                text = table::render(&self.report, &items, form, self.sort.as_deref());
            }
            ReportFormat::Json => json::render(&mut text, &self.report)?,
            ReportFormat::Jsonl => json::line(&mut text, &self.report)?,
            ReportFormat::Sarif => sarif::render(&mut text, &self.report)?,
            ReportFormat::Github => github::render(&mut text, &self.report)?,
        }
        Ok(text)
    }
}

impl Out {
    /// Whether the command writes text for people, and not a report for programs.
    pub(crate) fn is_for_people(&self) -> bool {
        self.collected.format == ReportFormat::Text
    }

    /// Adds a model and what was found in it to the report.
    pub(crate) fn input(&mut self, loaded: &Loaded, findings: Sink) -> Result<(), Failure> {
        self.input_of(&loaded.name, Some(loaded.format.id()), Some(loaded.bytes), findings, Vec::new())
    }

    /// Adds an input with items of the result to the report. With `jsonl`, they are written at once.
    pub(crate) fn input_of(
        &mut self,
        name: &str,
        format: Option<&'static str>,
        bytes: Option<u64>,
        findings: Sink,
        items: Vec<JsonText>,
    ) -> Result<(), Failure> {
        let mut findings = findings;
        self.add_warnings(&mut findings);
        let mut findings = self.within_caps(findings);
        let collected = &mut self.collected;
        match collected.format {
            ReportFormat::Text => findings.discard(),
            ReportFormat::Jsonl => {
                let report = CommandReport::new(collected.report.tool, collected.report.command.clone());
                let mut one = Collected {
                    report,
                    kind: collected.kind,
                    items,
                    file: None,
                    named: Vec::new(),
                    sort: None,
                    format: ReportFormat::Jsonl,
                };
                one.report.is_fixable = collected.report.is_fixable;
                one.report.input(name, format, bytes, findings.clone());
                findings.discard();
                collected.report.input(name, format, bytes, findings);
                let line = one.rendered()?;
                return self.report_text(&line);
            }
            _ => collected.items.extend(items),
        }
        collected.report.input(name, format, bytes, findings);
        Ok(())
    }

    /// Adds a file that was written to the report, or that a dry run would have written.
    pub(crate) fn output(&mut self, path: &Path, format: Option<&'static str>, bytes: u64, written: bool) {
        let name = if is_stdin(path) { "<stdout>".to_owned() } else { rows::name(path) };
        self.collected.report.outputs.push(Output { name, format, bytes: Some(bytes), written });
    }

    /// Writes the report to a file instead of standard output.
    pub(crate) fn report_to(&mut self, file: &Path) {
        self.collected.file = Some((file.to_owned(), String::new()));
    }

    /// Writes a part of the report.
    fn report_text(&mut self, text: &str) -> Result<(), Failure> {
        match &mut self.collected.file {
            Some((_, contents)) => {
                contents.push_str(text);
                Ok(())
            }
            None => self.bytes([text.as_bytes()]),
        }
    }

    /// Writes the file for the report, if there is one.
    fn write_report(&mut self) -> Result<(), Failure> {
        let Some((path, contents)) = self.collected.file.take() else { return Ok(()) };
        Ok(write_file(path, FileKind::Json, &report_options(), |file| file.write_all(contents.as_bytes()))?)
    }

    /// Sets the kind of the result and the key of its list.
    pub(crate) fn result_kind(&mut self, kind: &'static str, key: &'static str) {
        self.collected.kind = Some((kind, key));
    }

    /// Adds items to the result.
    pub(crate) fn items(&mut self, items: Vec<JsonText>) {
        self.collected.items.extend(items);
    }

    /// Reports on standard error, and in the report, that an input could not be processed.
    pub(crate) fn refused(&mut self, input: Option<&str>, failure: &Failure) -> Result<(), Failure> {
        let expired = self.expired(failure);
        let failure = expired.as_ref().unwrap_or(failure);
        self.failure(failure);
        self.close_if(failure.closes_output);
        if let Some(faults) = &failure.faults {
            let bytes = u64::try_from(faults.source.len()).ok();
            self.input_of(&faults.name, Some("onnxtxt"), bytes, faults.findings.clone(), Vec::new())?;
        }
        self.failed(failure, input)
    }

    /// Adds a failure to the report, about the input of this name if there is one.
    pub(crate) fn failed(&mut self, failure: &Failure, input: Option<&str>) -> Result<(), Failure> {
        if failure.faults.is_some() || failure.outcome() == Outcome::Findings {
            let report = &mut self.collected.report;
            report.at_least = report.at_least.max(failure.outcome().status());
            return Ok(());
        }
        let report = &mut self.collected.report;
        // A message about an input begins with its name.
        let is_about = |input: &onnx_diag::Input| {
            failure.message.strip_prefix(input.name.as_str()).is_some_and(|rest| rest.starts_with(": "))
        };
        let input = match input.or(failure.input.as_deref()) {
            Some(name) => Some(match report.inputs.iter().position(|input| input.name == name) {
                Some(known) => known,
                None => report.input(name, None, None, Sink::new()),
            }),
            None => report.inputs.iter().position(is_about),
        };
        let failure = onnx_diag::CommandFailure {
            rule: failure.rule,
            message: failure.message.clone(),
            help: Some(failure.advice(&report.command)),
            input,
            limit: failure.limit.map(str::to_owned),
        };
        report.failures.push(failure.clone());
        if self.collected.format == ReportFormat::Jsonl
            && let Some(name) = input
        {
            let report =
                CommandReport::new(self.collected.report.tool, self.collected.report.command.clone());
            let mut one = Collected::new("", ReportFormat::Jsonl);
            one.report = report;
            let name = self.collected.report.inputs.get(name).map_or("", |input| input.name.as_str());
            let index = one.report.input(name, None, None, Sink::new());
            one.report.failures.push(onnx_diag::CommandFailure { input: Some(index), ..failure });
            let line = one.rendered()?;
            return self.report_text(&line);
        }
        Ok(())
    }

    /// Sets the inputs that the arguments name.
    pub(crate) fn name_inputs(&mut self, paths: &[&Path]) {
        let files = paths.iter().filter(|path| !path.is_dir());
        self.collected.named = files.map(|path| display_name(path)).collect();
    }

    /// Reports a failure that ends the command. The report lists all inputs that the arguments name, also those that were not
    /// read.
    pub(crate) fn end_with(&mut self, failure: &Failure) -> Result<(), Failure> {
        self.settle_warnings(None);
        // A line of a table says what became of an input, and nothing became of these.
        let is_table = self.collected.format.is_table();
        let Collected { report, named, .. } = &mut self.collected;
        for name in named.drain(..).filter(|_| !is_table) {
            if !report.inputs.iter().any(|input| input.name == name) {
                report.input(name, None, None, Sink::new());
            }
        }
        self.refused(None, failure)
    }

    /// Writes the report, and returns how the command ends: as the report says, or worse.
    pub(crate) fn finish(&mut self, outcome: Outcome) -> Outcome {
        self.settle_warnings(None);
        let collected = &mut self.collected;
        collected.report.at_least = collected.report.at_least.max(outcome.status());
        let outcome = outcome_of(collected.report.status());
        let outcome = match self.take_unwritten() {
            Ok(()) => outcome,
            Err(failure) => {
                self.failure(&failure);
                outcome.max(failure.outcome())
            }
        };
        let collected = &mut self.collected;
        if collected.format == ReportFormat::Text {
            return outcome;
        }
        if collected.format == ReportFormat::Jsonl {
            collected.report.command = "summary".to_owned();
        }
        let is_text = collected.format == ReportFormat::Table;
        if collected.format.is_table() && collected.report.inputs.is_empty() {
            return outcome;
        }
        let text = collected.rendered();
        if is_text && collected.file.is_none() {
            let written = text.and_then(|text| self.text(&text));
            return self.unless_unwritten(outcome, written);
        }
        let written = text.and_then(|text| self.report_text(&text)).and_then(|()| self.write_report());
        self.unless_unwritten(outcome, written)
    }

    /// How the command ends if its report was written, or could not be.
    fn unless_unwritten(&self, outcome: Outcome, written: Result<(), Failure>) -> Outcome {
        let Err(failure) = written else { return outcome };
        self.failure(&failure);
        outcome.max(failure.outcome())
    }
}

const fn outcome_of(status: Status) -> Outcome {
    match status {
        Status::Ok => Outcome::Fine,
        Status::Findings => Outcome::Findings,
        Status::Limit => Outcome::Limit,
        Status::Failed => Outcome::CouldNotRun,
    }
}

/// How the file for the report is written.
fn report_options() -> WriteOptions {
    WriteOptions::default().with_temporaries(interrupt::temporaries())
}

/// Sets the selectors of all places of diagnostics about a model.
pub(crate) fn select(model: &Model, findings: &mut Sink) {
    let selectors = Selectors::new(model);
    findings.set_selectors(|locus: &Locus| selectors.of_locus(locus));
}
