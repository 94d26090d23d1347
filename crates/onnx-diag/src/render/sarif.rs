//! Findings as SARIF 2.1.0, the format in which code hosts and editors take results of static analysis.

use std::fmt::{self, Write};

use super::{json_string, optional_string, relative};
use crate::diagnostic::Diagnostic;
use crate::fingerprint::fingerprint;
use crate::locus::{Locus, LocusStep, Position};
use crate::report::{CommandFailure, CommandReport, Status};
use crate::rule::{Reference, Rule, Severity};

/// Writes a log with one run. Inputs that could not be read are notifications of the run, and `executionSuccessful` is
/// false if there are any.
///
/// # Errors
///
/// If writing to `out` fails.
pub fn render(out: &mut dyn Write, report: &CommandReport) -> fmt::Result {
    let found = || report.inputs.iter().flat_map(|input| input.findings.diagnostics());
    let rules = unique(found().map(|diagnostic| diagnostic.rule));
    let failed = unique(report.failures.iter().map(|failure| failure.rule));
    out.write_str("{\"$schema\":\"https://json.schemastore.org/sarif-2.1.0.json\",\"version\":\"2.1.0\",")?;
    out.write_str("\"runs\":[{\"tool\":{\"driver\":{\"name\":")?;
    json_string(out, report.tool.name)?;
    out.write_str(",\"version\":")?;
    json_string(out, report.tool.version)?;
    descriptors(out, "rules", &rules, report)?;
    descriptors(out, "notifications", &failed, report)?;
    out.write_str("}},\"columnKind\":\"unicodeCodePoints\",\"invocations\":[")?;
    invocation(out, report, &failed)?;
    out.write_str("],\"artifacts\":[")?;
    for (i, input) in report.inputs.iter().enumerate() {
        out.write_str(if i == 0 { "\n" } else { ",\n" })?;
        out.write_str("{\"location\":{\"uri\":")?;
        json_string(out, &uri(&input.name))?;
        out.write_char('}')?;
        if let Some(bytes) = input.bytes {
            write!(out, ",\"length\":{bytes}")?;
        }
        out.write_char('}')?;
    }
    out.write_str("\n],\"results\":[")?;
    let mut first = true;
    for input in &report.inputs {
        for diagnostic in input.findings.diagnostics() {
            out.write_str(if first { "\n" } else { ",\n" })?;
            first = false;
            let index = rules.iter().position(|rule| rule.id() == diagnostic.rule.id()).unwrap_or_default();
            result(out, &input.name, diagnostic, index)?;
        }
    }
    out.write_str("\n]}]}\n")
}

/// Each rule once, by code.
fn unique(rules: impl Iterator<Item = &'static Rule>) -> Vec<&'static Rule> {
    let mut rules: Vec<&'static Rule> = rules.collect();
    rules.sort_by_key(|rule| rule.id());
    rules.dedup();
    rules
}

fn descriptors(
    out: &mut dyn Write,
    key: &str,
    rules: &[&'static Rule],
    report: &CommandReport,
) -> fmt::Result {
    write!(out, ",\"{key}\":[")?;
    for (i, rule) in rules.iter().enumerate() {
        out.write_str(if i == 0 { "\n" } else { ",\n" })?;
        descriptor(out, rule, report.tool.rules_url)?;
    }
    out.write_str("\n]")
}

/// The run of the program, with what it could not do and how many diagnostics are not in the log.
fn invocation(out: &mut dyn Write, report: &CommandReport, rules: &[&'static Rule]) -> fmt::Result {
    let status = report.status();
    let is_successful = matches!(status, Status::Ok | Status::Findings);
    write!(out, "{{\"executionSuccessful\":{is_successful},\"exitCode\":{},", status.exit())?;
    out.write_str("\"toolExecutionNotifications\":[")?;
    let mut separator = "\n";
    for failure in &report.failures {
        out.write_str(separator)?;
        separator = ",\n";
        notification(out, report, failure, rules)?;
    }
    for input in &report.inputs {
        for count in input.findings.rule_counts().filter(|count| count.found > count.kept) {
            let left_out = count.found.saturating_sub(count.kept);
            let message =
                format!("{left_out} more of {} ({}) are not listed", count.rule.id(), count.rule.slug);
            write!(out, "{separator}{{\"level\":\"note\",\"message\":{{\"text\":")?;
            separator = ",\n";
            json_string(out, &message)?;
            out.write_str("},\"locations\":[{\"physicalLocation\":{\"artifactLocation\":{\"uri\":")?;
            json_string(out, &uri(&input.name))?;
            out.write_str("}}}]}")?;
        }
    }
    out.write_str("\n]}")
}

fn notification(
    out: &mut dyn Write,
    report: &CommandReport,
    failure: &CommandFailure,
    rules: &[&'static Rule],
) -> fmt::Result {
    let index = rules.iter().position(|rule| rule.id() == failure.rule.id()).unwrap_or_default();
    write!(out, "{{\"descriptor\":{{\"id\":\"{}\",\"index\":{index}}},", failure.rule.id())?;
    out.write_str("\"level\":\"error\",\"message\":{\"text\":")?;
    let help = failure.help.as_ref().map_or_else(String::new, |help| format!("\nhelp: {help}"));
    json_string(out, &format!("{}{help}", failure.message))?;
    out.write_str("},\"locations\":[")?;
    if let Some(input) = failure.input.and_then(|index| report.inputs.get(index)) {
        out.write_str("{\"physicalLocation\":{\"artifactLocation\":{\"uri\":")?;
        json_string(out, &uri(&input.name))?;
        out.write_str("}}}")?;
    }
    out.write_str("],\"properties\":{\"limit\":")?;
    optional_string(out, failure.limit.as_deref())?;
    out.write_str("}}")
}

fn descriptor(out: &mut dyn Write, rule: &Rule, rules_url: &str) -> fmt::Result {
    write!(out, "{{\"id\":\"{}\",\"name\":", rule.id())?;
    json_string(out, rule.slug)?;
    out.write_str(",\"shortDescription\":{\"text\":")?;
    json_string(out, rule.summary)?;
    out.write_char('}')?;
    if !rule.explain.is_empty() {
        out.write_str(",\"help\":{\"text\":")?;
        json_string(out, rule.explain)?;
        out.write_str(",\"markdown\":")?;
        json_string(out, rule.explain)?;
        out.write_char('}')?;
    }
    if !rules_url.is_empty() {
        out.write_str(",\"helpUri\":")?;
        json_string(out, &format!("{rules_url}#{}", rule.id()))?;
    }
    write!(out, ",\"defaultConfiguration\":{{\"level\":\"{}\"}}", level(rule.severity))?;
    out.write_str(",\"properties\":{\"spec\":")?;
    json_string(out, rule.spec)?;
    let reference = match rule.reference {
        Reference::Enforced => "enforced",
        Reference::Partly => "partly",
        Reference::NotEnforced => "not-enforced",
    };
    write!(out, ",\"reference\":\"{reference}\"}}}}")
}

/// SARIF's words for the severities happen to be ours; the match makes sure that this stays a decision.
const fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "note",
    }
}

fn result(out: &mut dyn Write, file: &str, diagnostic: &Diagnostic, rule_index: usize) -> fmt::Result {
    write!(
        out,
        "{{\"ruleId\":\"{}\",\"ruleIndex\":{rule_index},\"level\":\"{}\",\"message\":{{\"text\":",
        diagnostic.rule.id(),
        level(diagnostic.severity)
    )?;
    // Viewers show the message and little else, so the place and what helps go into it.
    let mut message = diagnostic.message.clone();
    if !diagnostic.locus.steps().is_empty() {
        write!(message, " ({:#})", diagnostic.locus)?;
    }
    if let Some(help) = &diagnostic.help {
        write!(message, "\nhelp: {help}")?;
    }
    for note in &diagnostic.notes {
        write!(message, "\nnote: {note}")?;
    }
    json_string(out, &message)?;
    out.write_str("},\"locations\":[")?;
    location(out, file, &diagnostic.locus, None)?;
    out.write_char(']')?;
    if !diagnostic.labels.is_empty() {
        out.write_str(",\"relatedLocations\":[")?;
        for (i, label) in diagnostic.labels.iter().enumerate() {
            if i > 0 {
                out.write_char(',')?;
            }
            location(out, file, &label.locus, Some(&label.text))?;
        }
        out.write_char(']')?;
    }
    write!(out, ",\"partialFingerprints\":{{\"onnx/v1\":\"{}\"}}", fingerprint(diagnostic))?;
    write!(out, ",\"properties\":{{\"beyondReference\":{}}}}}", diagnostic.beyond_reference)
}

fn location(out: &mut dyn Write, file: &str, locus: &Locus, text: Option<&str>) -> fmt::Result {
    out.write_str("{\"physicalLocation\":{\"artifactLocation\":{\"uri\":")?;
    json_string(out, &uri(file))?;
    out.write_char('}')?;
    match locus.position() {
        None => {}
        // Code scanning takes regions of lines only.
        Some(Position::Byte(offset)) => write!(out, ",\"properties\":{{\"byteOffset\":{offset}}}")?,
        Some(Position::Text { line, column, length }) => {
            // Lines and columns are at least 1 in SARIF, and the end column is exclusive.
            let (line, column) = (line.max(1), column.max(1));
            let end = column.saturating_add(length.max(1));
            write!(out, ",\"region\":{{\"startLine\":{line},\"startColumn\":{column},\"endColumn\":{end}}}")?;
        }
    }
    // The selector where there is one; the path is readable in any case.
    let path = locus.to_string();
    out.write_str("},\"logicalLocations\":[{\"fullyQualifiedName\":")?;
    json_string(out, locus.selector().unwrap_or(&path))?;
    write!(out, ",\"kind\":\"{}\",\"decoratedName\":", kind(locus))?;
    json_string(out, &path)?;
    out.write_str("}]")?;
    if let Some(text) = text {
        out.write_str(",\"message\":{\"text\":")?;
        json_string(out, text)?;
        out.write_char('}')?;
    }
    out.write_char('}')
}

/// The kind of the innermost element of a place.
fn kind(locus: &Locus) -> &'static str {
    match locus.steps().last() {
        None => "model",
        Some(LocusStep::Graph { .. } | LocusStep::Function { .. }) => "function",
        Some(LocusStep::Node { .. }) => "node",
        Some(
            LocusStep::Input { .. }
            | LocusStep::Output { .. }
            | LocusStep::Initializer { .. }
            | LocusStep::Value { .. },
        ) => "value",
        Some(LocusStep::Attribute { .. }) => "attribute",
        Some(_) => "element",
    }
}

/// The path of a file as a URI reference: `/` and the unreserved characters stay, the rest is percent-encoded.
fn uri(file: &str) -> String {
    let file = relative(file);
    let mut uri = String::with_capacity(file.len());
    if file.starts_with('/') {
        uri.push_str("file://");
    }
    for byte in file.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                uri.push(char::from(byte));
            }
            b'\\' if cfg!(windows) => uri.push('/'),
            _ => {
                let _ = write!(uri, "%{byte:02X}");
            }
        }
    }
    uri
}
