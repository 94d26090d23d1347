//! `#! run`: what the evaluator computes for a model, and the failures that it reports.
//!
//! The inputs of the main graph are given by initializers: `g (float[2] x) => (y) <float[2] x = {1.0, 2.0}> { … }`. A comment
//! `# is: float[2] {1.0, 2.0}` at the end of a node's line specifies its outputs, in order and separated by `; `; that of a
//! node that runs several times, in its last run. An empty `# is:` is filled in by `BLESS=1`; compare the result with the
//! specification, not with the kernel. A failure is expected by `# error: ONNX5004 "text"` as everywhere.
//!
//! Words: `opset=13..18` (or `13..`, up to the newest) runs the test at each of these versions of the default domain, and
//! `ml=1..5` of `ai.onnx.ml`.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use onnx_eval::{EvalOptions, Evaluator, NodeRun, Observer, Value, contrib};
use onnx_ir::NodeId;
use onnx_schema::{Registry, domain};
use onnx_types::tensor::{NoData, Tensor, TensorError};
use onnx_types::{ElemClass, ElemType};

use super::marks::{Version, at_each, fill, parse_at, range_of};
use super::{Finding, Outcome};

pub(super) fn run(text: &str, words: &[&str]) -> Result<Outcome, String> {
    let mut versions = vec![(domain::ONNX, None)];
    for word in words {
        match word.split_once('=') {
            Some(("opset", range)) => versions = range_of(domain::ONNX, range)?,
            Some(("ml", range)) => versions = range_of(domain::ML, range)?,
            _ => return Err(format!("`run` does not know `{word}`")),
        }
    }
    at_each(versions, |version| at_version(text, version))
}

fn at_version(text: &str, version: Version) -> Result<Outcome, String> {
    let model = parse_at(text, version)?;
    let registry = Registry::standard().with(contrib::pack()).map_err(|error| error.to_string())?;
    let seen = Seen::default();
    let options = EvalOptions::default().with_registry(&registry).with_observer(&seen);
    let result = Evaluator::new(&model, &options).and_then(|evaluator| evaluator.run(&[]));
    let findings = result.err().iter().map(|failure| Finding::new(failure.diagnostic())).collect();
    let said = seen.0.into_inner().unwrap_or_else(PoisonError::into_inner);
    let body = fill(text, &model, |node| said.get(&node).cloned().unwrap_or_else(|| "-".to_owned()));
    Ok(Outcome { findings, body: Some(body) })
}

/// What the outputs of each node were when it ran last.
#[derive(Default)]
struct Seen(Mutex<HashMap<NodeId, String>>);

impl Observer for Seen {
    fn end(&self, run: &NodeRun<'_>) {
        let outputs: Vec<String> = run.outputs.iter().flatten().map(said).collect();
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(run.node, outputs.join("; "));
    }
}

/// The type of a value and its elements.
fn said(value: &Value) -> String {
    match value {
        Value::Tensor(tensor) => {
            let elements = elements(tensor).unwrap_or_else(|error| vec![error.to_string()]);
            format!("{} {{{}}}", value.describe(), elements.join(", "))
        }
        Value::Sequence(items) => format!("seq({})", items.iter().map(said).collect::<Vec<_>>().join(", ")),
        Value::Optional(Some(inner)) => format!("optional({})", said(inner)),
        other => other.describe(),
    }
}

fn elements(tensor: &Tensor) -> Result<Vec<String>, TensorError> {
    Ok(match tensor.elem() {
        ElemType::String => {
            tensor.strings()?.map(|text| text.map(|text| format!("{text:?}"))).collect::<Result<_, _>>()?
        }
        ElemType::Double => {
            tensor.to_vec::<f64>(&NoData)?.iter().map(|number| format!("{number:?}")).collect()
        }
        elem if elem.class() == ElemClass::Float => {
            tensor.iter_f64(&NoData)?.map(|number| format!("{:?}", number as f32)).collect()
        }
        _ => tensor.iter_i64(&NoData)?.map(|number| number.to_string()).collect(),
    })
}
