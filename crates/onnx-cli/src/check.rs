//! `onnx check`: everything that is wrong with models.

use std::fmt::Write as _;

use bytes::Bytes;
use onnx_check::{CheckOptions, CustomOperators, Profile, check};
use onnx_diag::render::{json, sarif, text};
use onnx_diag::{Caps, Clean, Counts, Policy, Sink};

use crate::args::{CheckArgs, ReportFormat, RuleProfile};
use crate::exit::{Failure, Faults, Outcome};
use crate::external;
use crate::input::{display_name, expand, load};
use crate::output::{BAD, Colours, GOOD, HEADING, Out, WARN, paint, terminal_safe};
use crate::progress::Progress;
use crate::rules;
use crate::size::plural;

/// How many findings a person reads.
const TEXT_CAPS: Caps = Caps { per_rule: 10, total: 100 };

pub(crate) fn run(args: &CheckArgs, out: &mut Out) -> Result<Outcome, Failure> {
    let policy = rules::policy(&args.deny, &args.allow)?;
    let files = expand(&args.files, &["onnx"]);
    let progress = Progress::start("checking", files.len());
    let mut report = Report { args, checked: Vec::new(), failures: Vec::new() };
    let mut totals = Totals::default();
    for file in files {
        let name = file.as_ref().map(|path| display_name(path)).unwrap_or_default();
        progress.begin(&name);
        match file.and_then(|path| findings(&path, args, &policy)) {
            Ok(Checked { sink, source }) => {
                totals.add(&sink);
                if args.format == ReportFormat::Text {
                    let text = report.text(&name, &sink, source.as_deref())?;
                    progress.aside(|| out.text(&text))?;
                } else {
                    report.checked.push((name, sink));
                }
            }
            Err(failure) => {
                totals.failed += 1;
                progress.aside(|| out.failure(&failure));
                report.failures.push((name, failure));
            }
        }
        progress.end();
    }
    drop(progress);
    match args.format {
        ReportFormat::Text => out.text(&totals.text()?)?,
        ReportFormat::Json => out.bytes([report.json(&totals)?.as_bytes()])?,
        ReportFormat::Sarif => out.bytes([report.sarif()?.as_bytes()])?,
    }
    Ok(totals.outcome())
}

/// Everything that is wrong with one model.
struct Checked {
    sink: Sink,
    /// The text of the model, if it is one.
    source: Option<Bytes>,
}

fn findings(path: &std::path::Path, args: &CheckArgs, policy: &Policy) -> Result<Checked, Failure> {
    let loaded = load(path, &args.input);
    let caps = match (args.limit, args.format) {
        (Some(0), _) => Caps::NONE,
        (Some(limit), _) => Caps { per_rule: limit, total: limit },
        (None, ReportFormat::Text) => TEXT_CAPS,
        (None, _) => Caps::DEFAULT,
    };
    let mut sink = Sink::with(policy.clone(), caps);
    let mut loaded = match loaded {
        Ok(loaded) => loaded,
        Err(Failure { faults: Some(faults), .. }) => return Ok(unparsed(*faults, sink)),
        Err(failure) => return Err(failure),
    };
    let read = std::mem::take(&mut loaded.findings);
    if args.profile == RuleProfile::Reference {
        for finding in read.into_diagnostics().into_iter().filter(|finding| !finding.beyond_reference) {
            sink.report(finding);
        }
    } else {
        sink.merge(read);
    }
    let custom_operators =
        if args.check_custom_domains { CustomOperators::Refuse } else { CustomOperators::default() };
    let profile = match args.profile {
        RuleProfile::Spec => Profile::Spec,
        RuleProfile::Reference => Profile::Reference,
    };
    if rules::verify(&loaded.model, &mut sink) {
        let options = CheckOptions {
            policy: policy.clone(),
            caps,
            data: args.data,
            custom_operators,
            skip_opset_compatibility: args.skip_opset_compatibility,
            profile,
            recommendations: args.recommendations,
            external: None,
        };
        sink.merge(check(&loaded.model, &options));
        external::check(&loaded, &mut sink)?;
    }
    Ok(Checked { sink, source: loaded.text })
}

/// What is wrong with a text that cannot be parsed. Silencing the rules does not make it a model, so that is ignored.
fn unparsed(faults: Faults, mut sink: Sink) -> Checked {
    let Faults { findings, source, .. } = faults;
    let silenced = findings.diagnostics().iter().all(|found| sink.policy().severity(found.rule).is_none());
    if silenced {
        return Checked { sink: findings, source: Some(source) };
    }
    sink.merge(findings);
    Checked { sink, source: Some(source) }
}

/// What all files have together.
#[derive(Default)]
struct Totals {
    files: u64,
    fine: u64,
    failed: u64,
    counts: Counts,
    dropped: u64,
}

impl Totals {
    fn add(&mut self, sink: &Sink) {
        self.files += 1;
        self.fine += u64::from(!sink.has_errors());
        let Counts { errors, warnings, notes } = sink.counts();
        self.counts.errors = self.counts.errors.saturating_add(errors);
        self.counts.warnings = self.counts.warnings.saturating_add(warnings);
        self.counts.notes = self.counts.notes.saturating_add(notes);
        self.dropped = self.dropped.saturating_add(sink.dropped());
    }

    fn outcome(&self) -> Outcome {
        if self.failed > 0 {
            Outcome::CouldNotRun
        } else if self.counts.errors > 0 {
            Outcome::Findings
        } else {
            Outcome::Fine
        }
    }

    /// One line about several files; a single one has said everything already.
    fn text(&self) -> Result<String, Failure> {
        let mut text = String::new();
        if self.files + self.failed < 2 {
            return Ok(text);
        }
        write!(text, "\n{}: ", paint(HEADING, plural(self.files + self.failed, "model")))?;
        write!(text, "{} without errors", paint(GOOD, self.fine))?;
        if self.files > self.fine {
            write!(text, ", {} with errors", paint(BAD, self.files - self.fine))?;
        }
        if self.failed > 0 {
            write!(text, ", {} could not be read", paint(BAD, self.failed))?;
        }
        let Counts { errors, warnings, notes } = self.counts;
        let mut separator = "; ";
        for (count, noun, style) in
            [(errors, "error", BAD), (warnings, "warning", WARN), (notes, "note", HEADING)]
        {
            if count > 0 {
                write!(text, "{separator}{}", paint(style, plural(count, noun)))?;
                separator = ", ";
            }
        }
        text.push('\n');
        Ok(text)
    }
}

struct Report<'a> {
    args: &'a CheckArgs,
    checked: Vec<(String, Sink)>,
    failures: Vec<(String, Failure)>,
}

impl Report<'_> {
    fn text(&self, name: &str, sink: &Sink, source: Option<&[u8]>) -> Result<String, Failure> {
        let mut text = String::new();
        if sink.is_empty() {
            writeln!(text, "{}: {}", Clean(name), paint(GOOD, "no findings"))?;
            return Ok(text);
        }
        let source = source.map(String::from_utf8_lossy);
        let options = text::Options {
            style: &Colours,
            concise: self.args.concise,
            source: source.as_deref(),
            ..text::Options::new(name)
        };
        text::render(&mut text, sink, &options)?;
        Ok(text)
    }

    /// One document for all files: the findings with their files, then the totals, the counts of each file, and what
    /// could not be read.
    fn json(&self, totals: &Totals) -> Result<String, Failure> {
        let mut text = String::from("{\"diagnostics\":[");
        let mut separator = "\n";
        for (name, sink) in &self.checked {
            let file = json_string(name);
            for found in sink.diagnostics() {
                let mut object = String::new();
                json::diagnostic(&mut object, found)?;
                let rest = object.strip_prefix('{').unwrap_or(&object);
                write!(text, "{separator}{{\"file\":{file},{rest}")?;
                separator = ",\n";
            }
        }
        let Counts { errors, warnings, notes } = totals.counts;
        write!(text, "\n],\"summary\":{{\"errors\":{errors},\"warnings\":{warnings},\"notes\":{notes}")?;
        write!(text, ",\"dropped\":{},\"files\":[", totals.dropped)?;
        let mut separator = "\n";
        for (name, sink) in &self.checked {
            text.push_str(separator);
            json::summary(&mut text, sink, name)?;
            separator = ",\n";
        }
        text.push_str("\n],\"failures\":[");
        let mut separator = "\n";
        for (name, failure) in &self.failures {
            let (name, message) = (json_string(name), json_string(&failure.message));
            let help = failure.help.as_deref().map_or_else(|| "null".to_owned(), json_string);
            write!(text, "{separator}{{\"file\":{name},\"message\":{message},\"help\":{help}}}")?;
            separator = ",\n";
        }
        text.push_str("\n]}}\n");
        Ok(text)
    }

    fn sarif(&self) -> Result<String, Failure> {
        let mut text = String::new();
        let tool = sarif::Tool { name: "onnx", version: env!("CARGO_PKG_VERSION") };
        let files: Vec<(&str, &Sink)> =
            self.checked.iter().map(|(name, sink)| (name.as_str(), sink)).collect();
        sarif::render(&mut text, tool, &files)?;
        Ok(text)
    }
}

fn json_string(text: &str) -> String {
    terminal_safe(&serde_json::Value::from(text).to_string())
}
