//! Comments `# is:` at the end of a node's line, and tests at several versions of an operator set.

use onnx_ir::{Model, NodeId, OpsetImport, Origin};
use onnx_schema::latest_opset;
use onnx_text::{ParseOptions, parse_model};
use onnx_types::Symbol;

use super::{Outcome, split};

pub(crate) const MARK: &str = "# is:";

/// The text behind its directives, with every `# is:` filled in by what is said about the node.
pub(crate) fn fill(text: &str, model: &Model, mut say: impl FnMut(NodeId) -> String) -> String {
    let mut body: Vec<String> = split(text).1.lines().map(str::to_owned).collect();
    let skipped = text.lines().count() - body.len();
    for graph in model.all_graphs() {
        for node in model.nodes(graph) {
            let Origin::Text { line, .. } = model.node_origin(node) else { continue };
            let at = (line as usize).checked_sub(skipped + 1);
            let Some(line) = at.and_then(|at| body.get_mut(at)) else { continue };
            let Some(begin) = line.find(MARK) else { continue };
            let end = line
                .get(begin + 1..)
                .and_then(|rest| rest.find("# "))
                .map_or(line.len(), |at| begin + 1 + at);
            let space = if end < line.len() { "  " } else { "" };
            line.replace_range(begin..end, &format!("{MARK} {}{space}", say(node)));
        }
    }
    let mut body = body.join("\n");
    body.push('\n');
    body
}

/// A version of a domain; `None` leaves what the text imports.
pub(crate) type Version = (Symbol, Option<i64>);

/// The versions of a word such as `13..18`, or `13..`, up to the newest.
pub(crate) fn range_of(domain: Symbol, range: &str) -> Result<Vec<Version>, String> {
    let wrong = || format!("`{range}` is not a range of versions such as `13..18`");
    let (low, high) = range.split_once("..").ok_or_else(wrong)?;
    let low: i64 = low.parse().map_err(|_| wrong())?;
    let newest = latest_opset(domain).unwrap_or(1);
    let high = if high.is_empty() { newest } else { high.parse().map_err(|_| wrong())? };
    Ok((low..=high).map(|version| (domain, Some(version))).collect())
}

/// Parses a text, and sets the version of a domain.
pub(crate) fn parse_at(text: &str, (domain, version): Version) -> Result<Model, String> {
    let mut model = parse_model(text, &ParseOptions::default())
        .map_err(|error| format!("the text has errors: {error}"))?;
    if let Some(version) = version {
        let mut edit = model.info_mut();
        let imports = &mut edit.opset_imports;
        imports.retain(|import| import.domain() != domain);
        imports.push(OpsetImport::new(domain, version));
    }
    Ok(model)
}

/// Runs a test at each version; all must have the same outcome.
pub(crate) fn at_each(
    versions: Vec<Version>,
    run: impl Fn(Version) -> Result<Outcome, String>,
) -> Result<Outcome, String> {
    let mut first: Option<(Outcome, Option<i64>)> = None;
    for (domain, version) in versions {
        let outcome = run((domain, version))?;
        match &first {
            None => first = Some((outcome, version)),
            Some((expected, other)) => {
                if expected.body != outcome.body || expected.findings != outcome.findings {
                    let (version, other) = (version.unwrap_or_default(), other.unwrap_or_default());
                    let [then, now] =
                        [expected, &outcome].map(|outcome| outcome.body.clone().unwrap_or_default());
                    let findings = (&expected.findings, &outcome.findings);
                    return Err(format!(
                        "version {other} gives\n{then}\nand version {version}\n{now}\n{findings:?}"
                    ));
                }
            }
        }
    }
    first.map(|(outcome, _)| outcome).ok_or_else(|| "the range of versions is empty".to_owned())
}
