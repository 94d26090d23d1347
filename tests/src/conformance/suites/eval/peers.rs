//! What `tests/conformance/eval.py` is asked and answers.

use bytes::Bytes;
use onnx_eval::Value;
use onnx_ir::{Model, NodeId};
use serde_json::{Value as Json, json};

use super::super::values;
use super::ours::Run;
use crate::conformance::reference::{self, Reference};

/// The names of the peers.
pub(super) const PEERS: [&str; 2] = ["reference", "onnxruntime"];

/// What a peer makes of a node.
pub(super) enum Answer {
    /// The outputs, `None` for one that the node omits.
    Outputs(Vec<Option<Value>>),
    /// Why there are none.
    Failed(String),
}

impl Answer {
    /// The outputs, if there are any.
    pub(super) fn outputs(&self) -> Option<&[Option<Value>]> {
        match self {
            Self::Outputs(outputs) => Some(outputs),
            Self::Failed(_) => None,
        }
    }
}

/// The answers for a node, by peer.
pub(super) type Answers = Vec<(NodeId, Vec<(&'static str, Answer)>)>;

/// Asks peers about all nodes whose operands are known and which ran, or failed, here.
///
/// # Errors
///
/// Returns an error if the process ends or gives up.
pub(super) fn ask(
    reference: &Reference,
    model: &Model,
    bytes: &Bytes,
    run: &Run,
    peers: &[&'static str],
) -> Result<Answers, String> {
    let mut described: Vec<(String, &str, usize)> = Vec::new();
    let mut blobs: Vec<Bytes> = vec![bytes.clone()];
    let mut known: Vec<_> = run.values.iter().collect();
    known.sort_by_key(|(id, _)| **id);
    for (&id, value) in known {
        let name = model.str(model.value(id).name()).to_owned();
        let (kind, message) = values::write(value, &name)?;
        described.push((name, kind, message.len()));
        blobs.push(message);
    }
    let is_known = |node: NodeId| {
        let mut outputs = model.node(node).outputs().iter().flatten();
        let has_run = outputs.any(|output| run.values.contains_key(output));
        run.has_operands(model, node) && (has_run || run.failed.contains_key(&node))
    };
    let elems = |node: NodeId| -> Vec<Option<&str>> {
        let outputs = model.node(node).outputs().iter();
        outputs.map(|id| Some(run.values.get(&(*id)?)?.tensor()?.elem().name())).collect()
    };
    let all = model.nodes(model.main_graph()).enumerate();
    let nodes: Vec<(usize, NodeId)> = all.filter(|(_, node)| is_known(*node)).collect();
    let asked: Vec<_> = nodes.iter().map(|&(index, node)| json!([index, elems(node)])).collect();
    let question = json!({ "model": bytes.len(), "values": described, "nodes": asked, "peers": peers });
    let mut question = question.to_string().into_bytes();
    question.push(b'\n');
    blobs.iter().for_each(|blob| question.extend_from_slice(blob));
    let answer = match reference.ask(&question)? {
        reference::Answer::Message(answer) => Bytes::from(answer),
        reference::Answer::Refused(reason) => return Err(reason),
    };
    parse(&answer, &nodes, peers)
}

fn parse(answer: &Bytes, nodes: &[(usize, NodeId)], peers: &[&'static str]) -> Result<Answers, String> {
    let end = answer.iter().position(|&byte| byte == b'\n').ok_or("an answer without a line")?;
    let line: Json = serde_json::from_slice(&answer[..end]).map_err(|error| error.to_string())?;
    let mut blobs = answer.slice(end + 1..);
    let described = line.get("nodes").and_then(Json::as_array).ok_or("an answer without nodes")?;
    let mut answers = Vec::new();
    for (&(_, node), described) in nodes.iter().zip(described) {
        let mut of_node = Vec::new();
        for &peer in peers {
            let described = described.get(peer).ok_or("an answer without a peer")?;
            let answer = match described.get("outputs").and_then(Json::as_array) {
                None => {
                    Answer::Failed(described.get("failed").and_then(Json::as_str).unwrap_or("").to_owned())
                }
                Some(outputs) => Answer::Outputs(
                    outputs.iter().map(|output| value(output, &mut blobs)).collect::<Result<_, _>>()?,
                ),
            };
            of_node.push((peer, answer));
        }
        answers.push((node, of_node));
    }
    Ok(answers)
}

/// The next value of an answer.
fn value(described: &Json, blobs: &mut Bytes) -> Result<Option<Value>, String> {
    if described.is_null() {
        return Ok(None);
    }
    let kind = described.get(0).and_then(Json::as_str).ok_or("a value without a kind")?;
    let length = described.get(1).and_then(Json::as_u64).and_then(|length| usize::try_from(length).ok());
    let length = length.filter(|&length| length <= blobs.len()).ok_or("a value without a length")?;
    values::read_as(kind, &blobs.split_to(length)).map(Some)
}

/// A failure of a peer without the names and numbers in it.
pub(super) fn category(reason: &str) -> String {
    let reason =
        reason.split(" : ").filter(|part| !part.starts_with("[ONNXRuntimeError]")).collect::<Vec<_>>();
    let reason = reason.join(": ");
    let mut text: String = reason.chars().take(60).collect();
    text.retain(|letter| !letter.is_ascii_digit());
    text.lines().next().unwrap_or_default().trim().to_owned()
}
