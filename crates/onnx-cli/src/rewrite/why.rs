//! `--why`: for nodes that a simplification leaves, how far the rules match there, and what excludes each.

use std::collections::HashMap;

use onnx_ir::{Model, NodeId};
use onnx_pass::{PassCx, PassOptions, PipelineReport};
use onnx_rewrite::RuleSet;
use serde_json::{Value, json};

use crate::exit::Failure;
use crate::output::{Out, shown};
use crate::selection;

/// Rules that are listed for a node; those that match most nodes come first.
const MAX_RULES: usize = 12;

/// The nodes that the user asks about, and the rules that may apply there.
pub(crate) struct Why<'a> {
    pub(crate) selectors: &'a [String],
    pub(crate) rules: RuleSet,
}

/// A node before the passes: its operator and name.
pub(super) struct Asked {
    node: NodeId,
    source: (String, String),
    label: String,
}

/// What is known about a node after the passes.
pub(super) struct Answer {
    source: (String, String),
    /// The name of the node, or of its first output.
    label: String,
    /// The edits that name the node as a source.
    edits: Vec<String>,
    is_gone: bool,
    rules: Vec<(String, onnx_rewrite::RuleMismatch)>,
}

/// The nodes that the selectors denote.
pub(super) fn asked(model: &Model, why: Option<&Why<'_>>) -> Result<Vec<Asked>, Failure> {
    let Some(why) = why.filter(|why| !why.selectors.is_empty()) else { return Ok(Vec::new()) };
    let nodes = selection::nodes(model, why.selectors)?;
    let asked = nodes.into_iter().map(|node| {
        let record = model.node(node);
        let source = (model.str(record.op()).to_owned(), model.str(record.name()).to_owned());
        let output = record.output(0).map(|output| model.str(model.value(output).name()).to_owned());
        let label = if source.1.is_empty() { output.unwrap_or_default() } else { source.1.clone() };
        Asked { node, source, label }
    });
    Ok(asked.collect())
}

/// The answers, after the passes.
pub(super) fn answers(
    asked: Vec<Asked>,
    why: Option<&Why<'_>>,
    model: &mut Model,
    options: &PassOptions<'_>,
    done: &PipelineReport,
) -> Vec<Answer> {
    let Some(why) = why.filter(|_| !asked.is_empty()) else { return Vec::new() };
    let mut cx = PassCx::new(model, options.clone());
    let mut edits_of: HashMap<&(String, String), Vec<&str>> = HashMap::new();
    for entry in &done.journal {
        for source in entry.sources.iter().filter(|source| !source.1.is_empty()) {
            edits_of.entry(source).or_default().push(&entry.pass);
        }
    }
    let answer = |asked: Asked| {
        let is_gone = cx.model().get_node(asked.node).is_none();
        let edits = edits_of.get(&asked.source).into_iter().flatten();
        let mut edits: Vec<String> = edits.map(|&pass| pass.to_owned()).collect();
        edits.dedup();
        let mut rules = if is_gone { Vec::new() } else { why.rules.why(&mut cx, asked.node) };
        rules.sort_by(|a, b| b.1.matched.cmp(&a.1.matched).then_with(|| a.0.cmp(&b.0)));
        Answer { source: asked.source, label: asked.label, edits, is_gone, rules }
    };
    asked.into_iter().map(answer).collect()
}

/// Writes the answers for people.
pub(super) fn show(answers: &[Answer], out: &mut Out) -> Result<(), Failure> {
    let mut text = String::new();
    for answer in answers {
        let (op, name) = (&answer.source.0, &answer.label);
        let state = match (answer.is_gone, answer.rules.is_empty()) {
            (true, _) => "is gone",
            (false, true) => "stays: no rule ends with this operator",
            (false, false) => "stays",
        };
        text.push_str(&format!("{} {}: {state}", shown(op), shown(name)));
        if !answer.edits.is_empty() {
            text.push_str(&format!(", after edits by {}", answer.edits.join(", ")));
        }
        text.push('\n');
        for (rule, difference) in answer.rules.iter().take(MAX_RULES) {
            let nodes = crate::size::plural(difference.matched as u64, "node");
            let rule = shown(rule);
            text.push_str(&format!("  {rule:<32} {nodes} matched, then: {}\n", shown(&difference.reason)));
        }
        let more = answer.rules.len().saturating_sub(MAX_RULES);
        if more > 0 {
            text.push_str(&format!("  and {more} more rules\n"));
        }
    }
    out.text(&text)
}

/// The answers for programs.
pub(super) fn to_json(answers: &[Answer]) -> Vec<Value> {
    let rule = |(rule, difference): &(String, onnx_rewrite::RuleMismatch)| json!({ "rule": rule, "matched": difference.matched, "reason": difference.reason });
    let answer = |answer: &Answer| {
        json!({
            "op": answer.source.0,
            "name": answer.label,
            "gone": answer.is_gone,
            "edits": answer.edits,
            "rules": answer.rules.iter().map(rule).collect::<Vec<_>>(),
        })
    };
    answers.iter().map(answer).collect()
}
