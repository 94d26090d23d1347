//! Reports as JSON: the envelope `onnx-report/1`.
//!
//! `docs/schema/onnx-report-1.schema.json` is its schema and `docs/reports.md` its description. Every key is always present;
//! unknown values are `null`. The text has no character that acts on a terminal: such characters are escaped.

use std::collections::BTreeMap;
use std::fmt::{self, Write};

use super::{json_string, optional_string};
use crate::diagnostic::Diagnostic;
use crate::escape::Name;
use crate::fingerprint::fingerprint;
use crate::locus::{Locus, LocusStep, Position};
use crate::report::{CommandFailure, CommandReport};

/// Name and version of the envelope.
pub const SCHEMA: &str = "onnx-report/1";

/// Writes a report as one JSON document that ends with a line break, one diagnostic on each line.
///
/// # Errors
///
/// If writing to `out` fails.
pub fn render(out: &mut dyn Write, report: &CommandReport) -> fmt::Result {
    envelope(out, report, "\n")
}

/// Writes a report as one line.
///
/// # Errors
///
/// If writing to `out` fails.
pub fn line(out: &mut dyn Write, report: &CommandReport) -> fmt::Result {
    envelope(out, report, "")
}

fn envelope(out: &mut dyn Write, report: &CommandReport, newline: &str) -> fmt::Result {
    let status = report.status();
    write!(out, "{{\"schema\":\"{SCHEMA}\",\"tool\":{{\"name\":")?;
    json_string(out, report.tool.name)?;
    out.write_str(",\"version\":")?;
    json_string(out, report.tool.version)?;
    out.write_str("},\"command\":")?;
    json_string(out, &report.command)?;
    write!(out, ",\"status\":\"{}\",\"exit\":{},\"inputs\":[", status.as_str(), status.exit())?;
    let inputs = report.inputs.iter().map(|input| (&input.name, input.format, input.bytes, None));
    files(out, inputs, newline)?;
    out.write_str("],\"outputs\":[")?;
    let outputs = report.outputs.iter();
    let outputs = outputs.map(|output| (&output.name, output.format, output.bytes, Some(output.written)));
    files(out, outputs, newline)?;
    out.write_str("],\"counts\":")?;
    counts(out, report)?;
    out.write_str(",\"findings\":[")?;
    let mut separator = "";
    for (index, input) in report.inputs.iter().enumerate() {
        for found in input.findings.diagnostics() {
            write!(out, "{separator}{newline}")?;
            separator = ",";
            diagnostic(out, report, index, found)?;
        }
    }
    write!(out, "{newline}],\"failures\":[")?;
    let mut separator = "";
    for failed in &report.failures {
        write!(out, "{separator}{newline}")?;
        separator = ",";
        failure(out, failed)?;
    }
    writeln!(out, "{newline}],\"result\":{newline}{}}}", report.result.as_deref().unwrap_or("null"))
}

/// The files by name, format, size, and, for outputs, whether they were written.
fn files<'a>(
    out: &mut dyn Write,
    files: impl Iterator<Item = (&'a String, Option<&'a str>, Option<u64>, Option<bool>)>,
    newline: &str,
) -> fmt::Result {
    let mut separator = "";
    for (name, format, bytes, written) in files {
        write!(out, "{separator}{newline}{{\"name\":")?;
        separator = ",";
        json_string(out, name)?;
        out.write_str(",\"format\":")?;
        optional_string(out, format)?;
        out.write_str(",\"bytes\":")?;
        number(out, bytes)?;
        out.write_str(",\"hash\":null")?;
        if let Some(written) = written {
            write!(out, ",\"written\":{written}")?;
        }
        out.write_str("}")?;
    }
    Ok(())
}

fn number(out: &mut dyn Write, number: Option<u64>) -> fmt::Result {
    match number {
        Some(number) => write!(out, "{number}"),
        None => out.write_str("null"),
    }
}

fn counts(out: &mut dyn Write, report: &CommandReport) -> fmt::Result {
    let counts = report.counts();
    let (mut by_code, mut dropped, mut hidden) = (BTreeMap::new(), 0_u64, 0_u64);
    for input in &report.inputs {
        dropped = dropped.saturating_add(input.findings.dropped());
        hidden = hidden.saturating_add(input.findings.hidden());
        for count in input.findings.rule_counts() {
            let sum: &mut u64 = by_code.entry(count.rule.id()).or_default();
            *sum = sum.saturating_add(count.found);
        }
    }
    write!(
        out,
        "{{\"errors\":{},\"warnings\":{},\"notes\":{}",
        counts.errors, counts.warnings, counts.notes
    )?;
    write!(out, ",\"dropped\":{dropped},\"hidden\":{hidden},\"by_code\":{{")?;
    let mut separator = "";
    for (code, count) in by_code {
        write!(out, "{separator}\"{code}\":{count}")?;
        separator = ",";
    }
    out.write_str("}}")
}

fn diagnostic(out: &mut dyn Write, report: &CommandReport, input: usize, found: &Diagnostic) -> fmt::Result {
    write!(out, "{{\"code\":\"{}\",\"name\":", found.rule.id())?;
    json_string(out, found.rule.slug)?;
    write!(out, ",\"severity\":\"{}\",\"message\":", found.severity)?;
    json_string(out, &found.message)?;
    write!(out, ",\"input\":{input},\"file\":")?;
    json_string(out, report.inputs.get(input).map_or("", |input| input.name.as_str()))?;
    out.write_str(",\"place\":")?;
    place(out, &found.locus)?;
    out.write_str(",\"at\":")?;
    at(out, &found.locus)?;
    out.write_str(",\"related\":[")?;
    let mut separator = "";
    for label in &found.labels {
        write!(out, "{separator}{{\"message\":")?;
        separator = ",";
        json_string(out, &label.text)?;
        out.write_str(",\"place\":")?;
        place(out, &label.locus)?;
        out.write_str(",\"at\":")?;
        at(out, &label.locus)?;
        out.write_char('}')?;
    }
    out.write_str("],\"notes\":[")?;
    let mut separator = "";
    for note in &found.notes {
        out.write_str(separator)?;
        separator = ",";
        json_string(out, note)?;
    }
    out.write_str("],\"help\":")?;
    optional_string(out, found.help.as_deref())?;
    out.write_str(",\"fix\":")?;
    if (report.is_fixable)(found.rule) {
        out.write_str("{\"safe\":true,\"title\":")?;
        json_string(out, found.help.as_deref().unwrap_or(found.rule.summary))?;
        out.write_char('}')?;
    } else {
        out.write_str("null")?;
    }
    write!(
        out,
        ",\"origin\":{{\"pass\":null,\"rule\":null,\"from\":[]}},\"fingerprint\":\"{}\",\"url\":",
        fingerprint(found)
    )?;
    match report.tool.rules_url {
        "" => out.write_str("null")?,
        url => json_string(out, &format!("{url}#{}", found.rule.id()))?,
    }
    write!(out, ",\"beyond_reference\":{}}}", found.beyond_reference)
}

fn failure(out: &mut dyn Write, failure: &CommandFailure) -> fmt::Result {
    write!(out, "{{\"code\":\"{}\",\"name\":", failure.rule.id())?;
    json_string(out, failure.rule.slug)?;
    out.write_str(",\"message\":")?;
    json_string(out, &failure.message)?;
    out.write_str(",\"help\":")?;
    optional_string(out, failure.help.as_deref())?;
    out.write_str(",\"input\":")?;
    number(out, failure.input.map(|index| index as u64))?;
    out.write_str(",\"limit\":")?;
    optional_string(out, failure.limit.as_deref())?;
    out.write_char('}')
}

fn place(out: &mut dyn Write, locus: &Locus) -> fmt::Result {
    out.write_str("{\"selector\":")?;
    optional_string(out, locus.selector())?;
    out.write_str(",\"text\":")?;
    json_string(out, &locus.to_string())?;
    out.write_str(",\"steps\":[")?;
    for (index, taken) in locus.steps().iter().enumerate() {
        if index > 0 {
            out.write_char(',')?;
        }
        step(out, taken)?;
    }
    out.write_str("]}")
}

/// A step with its kind, its position and its names.
fn step(out: &mut dyn Write, step: &LocusStep) -> fmt::Result {
    let mut named = |kind: &str, index: Option<usize>, names: &[(&str, &Name)]| {
        write!(out, "{{\"kind\":\"{kind}\"")?;
        if let Some(index) = index {
            write!(out, ",\"index\":{index}")?;
        }
        for (key, name) in names {
            write!(out, ",\"{key}\":")?;
            json_string(out, name.as_str())?;
            if name.is_cut() {
                write!(out, ",\"{key}_bytes\":{}", name.len())?;
            }
        }
        out.write_char('}')
    };
    match step {
        LocusStep::Graph { name } => named("graph", None, &[("name", name)]),
        LocusStep::Function { domain, name, overload } => {
            named("function", None, &[("domain", domain), ("name", name), ("overload", overload)])
        }
        LocusStep::Node { index, op, name } => {
            let (domain, op) = op.as_str().rsplit_once("::").map_or(("", op.as_str()), |parts| parts);
            let (domain, op) = (Name::new(domain), Name::new(op));
            named("node", Some(*index), &[("domain", &domain), ("op", &op), ("name", name)])
        }
        LocusStep::Input { index, name } => named("input", Some(*index), &[("name", name)]),
        LocusStep::Output { index, name } => named("output", Some(*index), &[("name", name)]),
        LocusStep::Attribute { name } => named("attribute", None, &[("name", name)]),
        LocusStep::Initializer { name } => named("initializer", None, &[("name", name)]),
        LocusStep::SparseInitializer { name } => named("sparse-initializer", None, &[("name", name)]),
        LocusStep::Value { name } => named("value", None, &[("name", name)]),
        LocusStep::ValueInfo { name } => named("value-info", None, &[("name", name)]),
        LocusStep::QuantizationAnnotation { name } => {
            named("quantization-annotation", None, &[("name", name)])
        }
        LocusStep::Tensor { name } => named("tensor", None, &[("name", name)]),
        LocusStep::Type => named("type", None, &[]),
        LocusStep::Dimension { index } => named("dimension", Some(*index), &[]),
        LocusStep::Element { index } => named("element", Some(*index), &[]),
        LocusStep::OpsetImport { domain } => named("opset-import", None, &[("domain", domain)]),
        LocusStep::Metadata { key } => named("metadata", None, &[("name", key)]),
        LocusStep::TrainingInfo { index } => named("training-info", Some(*index), &[]),
        LocusStep::DeviceConfiguration { name } => named("device-configuration", None, &[("name", name)]),
        LocusStep::Field { name } => named("field", None, &[("name", name)]),
    }
}

fn at(out: &mut dyn Write, locus: &Locus) -> fmt::Result {
    match locus.position() {
        None => out.write_str("{\"byte\":null,\"length\":null,\"line\":null,\"column\":null,\"end_line\":null,\"end_column\":null}"),
        Some(Position::Byte(byte)) => write!(
            out,
            "{{\"byte\":{byte},\"length\":null,\"line\":null,\"column\":null,\"end_line\":null,\"end_column\":null}}"
        ),
        Some(Position::Text { line, column, length }) => {
            let (line, column) = (line.max(1), column.max(1));
            let end = column.saturating_add(length.max(1));
            write!(
                out,
                "{{\"byte\":null,\"length\":{},\"line\":{line},\"column\":{column},\"end_line\":{line},\"end_column\":{end}}}",
                length.max(1)
            )
        }
    }
}
