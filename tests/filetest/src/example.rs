//! The nodes of file tests of inference, as examples of their operators.

use std::collections::BTreeMap;

use onnx_ir::{Model, NodeId, Origin, ValueId};
use onnx_schema::SchemaId;
use onnx_types::Symbol;

use super::infer::{Inferred, Words, Writer};
use super::marks::MARK;

/// A node whose outputs a file test of inference says.
#[derive(Clone, Debug)]
pub struct Example {
    /// The schema of the operator, at the newest version that the test runs at.
    pub schema: SchemaId,
    /// What the inputs are: `x: float[N]`.
    pub inputs: Vec<String>,
    /// The text of the node in the file, with its comments.
    pub text: String,
    /// Whether the elements of an output are given.
    pub has_content: bool,
}

/// The versions of a domain that a file test runs at.
#[derive(Clone, Copy, Debug)]
pub struct Range {
    /// The domain.
    pub domain: Symbol,
    /// The oldest version.
    pub first: i64,
    /// The newest version.
    pub last: i64,
}

/// The examples of a file test, in order, with the versions of the domain that it runs at, where it names some. Nodes of
/// nested graphs and functions are not among them, nor are those that share a line.
///
/// # Errors
///
/// When the text has errors, or its directive asks for what there is not.
pub fn examples(text: &str) -> Result<(Option<Range>, Vec<Example>), String> {
    let mut found = Vec::new();
    let mut range = None;
    for words in text.lines().map_while(|line| line.strip_prefix("#! infer")) {
        let words: Vec<&str> = words.split_whitespace().collect();
        let words = Words::new(&words)?;
        range = match (words.versions.first(), words.versions.last()) {
            (Some(&(domain, Some(first))), Some(&(_, Some(last)))) => Some(Range { domain, first, last }),
            _ => None,
        };
        let inferred = words.newest(text)?;
        collect(&mut found, text, &inferred);
    }
    Ok((range, found))
}

fn collect(found: &mut Vec<Example>, text: &str, inferred: &Inferred) {
    let model = &inferred.model;
    let (_, mut writer) = inferred.say(text);
    let lines: Vec<&str> = text.lines().collect();
    let mut starts: BTreeMap<usize, Vec<NodeId>> = BTreeMap::new();
    for node in model.nodes(model.main_graph()) {
        if let Origin::Text { line, .. } = model.node_origin(node) {
            starts.entry((line as usize).saturating_sub(1)).or_default().push(node);
        }
    }
    let ends = starts.keys().copied().skip(1).chain([lines.len()]);
    for ((&start, nodes), end) in starts.iter().zip(ends) {
        let &[node] = nodes.as_slice() else { continue };
        let Some(schema) = schema(model, node) else { continue };
        let own = lines.get(start..end).unwrap_or_default();
        if !own.first().is_some_and(|line| line.contains(MARK)) {
            continue;
        }
        found.push(Example {
            schema,
            inputs: inputs(model, node, &mut writer),
            text: trimmed(own),
            has_content: inferred.has_content(node),
        });
    }
}

fn schema(model: &Model, node: NodeId) -> Option<SchemaId> {
    let (domain, op) = (model.node(node).domain(), model.node(node).op());
    let version = model.opset_version(domain)?;
    onnx_schema::lookup(domain, op, version).map(onnx_schema::Schema::id)
}

fn inputs(model: &Model, node: NodeId, writer: &mut Writer<'_>) -> Vec<String> {
    let mut seen: Vec<ValueId> = Vec::new();
    for value in model.node(node).inputs().flatten() {
        if !seen.contains(&value) {
            seen.push(value);
        }
    }
    let said = |value| format!("{}: {}", model.str(model.value(value).name()), writer.value(value));
    seen.into_iter().map(said).collect()
}

/// The lines of a node without their indentation, and without what is about the next node or ends the graph.
fn trimmed(lines: &[&str]) -> String {
    let end = lines.iter().position(|line| *line == "}").unwrap_or(lines.len());
    let own = lines.get(..end).unwrap_or_default();
    let is_own = |line: &&str| !line.trim().is_empty() && !line.trim_start().starts_with('#');
    let count = own.iter().rposition(is_own).map_or(0, |last| last + 1);
    let indent = own.first().map_or(0, |line| line.len() - line.trim_start().len());
    let own = own.iter().take(count).map(|line| line.get(indent..).unwrap_or_else(|| line.trim_start()));
    own.collect::<Vec<_>>().join("\n")
}
