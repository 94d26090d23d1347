//! Findings as SARIF 2.1.0, the format in which code hosts and editors take results of static analysis.

use std::fmt::{self, Write};

use super::json_string;
use crate::diagnostic::Diagnostic;
use crate::locus::{Locus, Position};
use crate::rule::{Reference, Rule, Severity};
use crate::sink::Sink;

/// The program that the log names as its author.
#[derive(Clone, Copy, Debug)]
pub struct Tool<'a> {
    /// The name of the program.
    pub name: &'a str,
    /// Its version.
    pub version: &'a str,
}

/// Writes a log with one run: everything found in the given files. Each file comes with its name or path.
///
/// # Errors
///
/// When writing to `out` fails.
pub fn render(out: &mut dyn Write, tool: Tool<'_>, files: &[(&str, &Sink)]) -> fmt::Result {
    let rules = rules_of(files);
    out.write_str("{\"$schema\":\"https://json.schemastore.org/sarif-2.1.0.json\",\"version\":\"2.1.0\",")?;
    out.write_str("\"runs\":[{\"tool\":{\"driver\":{\"name\":")?;
    json_string(out, tool.name)?;
    out.write_str(",\"version\":")?;
    json_string(out, tool.version)?;
    out.write_str(",\"rules\":[")?;
    for (i, rule) in rules.iter().enumerate() {
        out.write_str(if i == 0 { "\n" } else { ",\n" })?;
        descriptor(out, rule)?;
    }
    out.write_str("\n]}},\"columnKind\":\"unicodeCodePoints\",\"results\":[")?;
    let mut first = true;
    for (file, sink) in files {
        for diagnostic in sink.diagnostics() {
            out.write_str(if first { "\n" } else { ",\n" })?;
            first = false;
            let index = rules.iter().position(|rule| rule.code == diagnostic.rule.code).unwrap_or_default();
            result(out, file, diagnostic, index)?;
        }
    }
    out.write_str("\n]}]}\n")
}

/// The rules that have results, by code.
fn rules_of(files: &[(&str, &Sink)]) -> Vec<&'static Rule> {
    let mut rules: Vec<&'static Rule> =
        files.iter().flat_map(|(_, sink)| sink.diagnostics()).map(|diagnostic| diagnostic.rule).collect();
    rules.sort_by_key(|rule| rule.code);
    rules.dedup();
    rules
}

fn descriptor(out: &mut dyn Write, rule: &Rule) -> fmt::Result {
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
    // Viewers show the message and little else, so what helps goes into it.
    let mut message = diagnostic.message.clone();
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
    write!(out, ",\"properties\":{{\"beyondReference\":{}}}}}", diagnostic.beyond_reference)
}

fn location(out: &mut dyn Write, file: &str, locus: &Locus, text: Option<&str>) -> fmt::Result {
    out.write_str("{\"physicalLocation\":{\"artifactLocation\":{\"uri\":")?;
    json_string(out, &uri(file))?;
    out.write_char('}')?;
    match locus.position() {
        None => {}
        Some(Position::Byte(offset)) => write!(out, ",\"region\":{{\"byteOffset\":{offset}}}")?,
        Some(Position::Text { line, column, length }) => {
            // Lines and columns are at least 1 in SARIF, and the end column is exclusive.
            let (line, column) = (line.max(1), column.max(1));
            let end = column.saturating_add(length.max(1));
            write!(out, ",\"region\":{{\"startLine\":{line},\"startColumn\":{column},\"endColumn\":{end}}}")?;
        }
    }
    out.write_str("},\"logicalLocations\":[{\"fullyQualifiedName\":")?;
    json_string(out, &locus.to_string())?;
    out.write_str("}]")?;
    if let Some(text) = text {
        out.write_str(",\"message\":{\"text\":")?;
        json_string(out, text)?;
        out.write_char('}')?;
    }
    out.write_char('}')
}

/// The path of a file as a URI reference: `/` and the unreserved characters stay, the rest is percent-encoded.
fn uri(file: &str) -> String {
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
