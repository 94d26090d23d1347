//! Findings as JSON, for scripts.
//!
//! ```json
//! {"diagnostics":[
//! {"code":"ONNX2101","rule":"value-defined-twice","severity":"error","message":"…",
//!  "path":"graph \"main\" / node #12 Conv","offset":4096,"line":null,"column":null,"help":null,"beyond_reference":false}
//! ],"summary":{"file":"model.onnx","errors":1,"warnings":0,"notes":0,"dropped":0}}
//! ```
//!
//! Every key is always there; what is not known is `null`. `path` is the place in the model; `offset` (bytes, from 0)
//! is known for binary files, `line` and `column` (characters, from 1) for text files. The counts in `summary` are exact;
//! `dropped` findings are counted in them but not listed.

use std::fmt::{self, Write};

use super::json_string;
use crate::diagnostic::Diagnostic;
use crate::locus::Position;
use crate::sink::Sink;

/// Writes everything a sink collected about `file` as one JSON document, one finding per line.
///
/// # Errors
///
/// When writing to `out` fails.
pub fn render(out: &mut dyn Write, sink: &Sink, file: &str) -> fmt::Result {
    out.write_str("{\"diagnostics\":[")?;
    for (i, found) in sink.diagnostics().iter().enumerate() {
        out.write_str(if i == 0 { "\n" } else { ",\n" })?;
        diagnostic(out, found)?;
    }
    out.write_str("\n],\"summary\":")?;
    summary(out, sink, file)?;
    out.write_str("}\n")
}

/// Writes one finding as a JSON object, for callers that compose a document of their own.
///
/// # Errors
///
/// When writing to `out` fails.
pub fn diagnostic(out: &mut dyn Write, diagnostic: &Diagnostic) -> fmt::Result {
    write!(out, "{{\"code\":\"{}\",\"rule\":", diagnostic.rule.id())?;
    json_string(out, diagnostic.rule.slug)?;
    write!(out, ",\"severity\":\"{}\",\"message\":", diagnostic.severity)?;
    json_string(out, &diagnostic.message)?;
    out.write_str(",\"path\":")?;
    json_string(out, &diagnostic.locus.to_string())?;
    match diagnostic.locus.position() {
        None => out.write_str(",\"offset\":null,\"line\":null,\"column\":null")?,
        Some(Position::Byte(offset)) => write!(out, ",\"offset\":{offset},\"line\":null,\"column\":null")?,
        Some(Position::Text { line, column, .. }) => {
            write!(out, ",\"offset\":null,\"line\":{line},\"column\":{column}")?;
        }
    }
    out.write_str(",\"help\":")?;
    match &diagnostic.help {
        Some(help) => json_string(out, help)?,
        None => out.write_str("null")?,
    }
    write!(out, ",\"beyond_reference\":{}}}", diagnostic.beyond_reference)
}

/// Writes the counts of a sink as a JSON object.
///
/// # Errors
///
/// When writing to `out` fails.
pub fn summary(out: &mut dyn Write, sink: &Sink, file: &str) -> fmt::Result {
    out.write_str("{\"file\":")?;
    json_string(out, file)?;
    let counts = sink.counts();
    write!(
        out,
        ",\"errors\":{},\"warnings\":{},\"notes\":{},\"dropped\":{}}}",
        counts.errors,
        counts.warnings,
        counts.notes,
        sink.dropped()
    )
}
