//! The statistics of weights.

use onnx_diag::Clean;
use onnx_draw::{number_text, stored_weight};
use onnx_eval::{EvalOptions, Extremum, Statistics, constant};
use onnx_ir::{NodeId, ValueId};
use onnx_schema::op;
use onnx_types::tensor::Tensor;
use onnx_weights::{Anomaly, anomalies, weights};
use serde_json::{Value, json};

use crate::details::value_row;
use crate::queries::grouped;
use crate::session::Session;

/// Elements of a weight that are listed.
const MOST_ELEMENTS: usize = 24;
/// Elements of a weight that is computed from what is stored.
const MOST_COMPUTED: u64 = 1 << 26;

/// The statistics of a weight: the operand of a node at a position. If nodes such as `DequantizeLinear` compute it from what is
/// stored, they are those of its elements, and those of what is stored come with them.
pub(crate) fn weight(session: &Session, node: NodeId, input: usize) -> Result<Value, String> {
    let model = &session.model;
    let operand = model.node(node).input(input).ok_or("the operand is absent")?;
    let value = stored_weight(model, operand).ok_or("the operand is not a weight")?;
    let of_node = || model.node(model.value(value).producer()?).constant_tensor();
    let listed = || weights(model).into_iter().find(|weight| weight.value == Some(value));
    let tensor = model.constant_tensor(value).cloned().or_else(of_node);
    let tensor = tensor.or_else(|| listed().map(|weight| weight.tensor.clone()));
    let stored = tensor.ok_or("the elements of the operand are not stored as numbers")?;
    let mut answer = statistics(session, &stored)?;
    let stored_as = value_row(session, model, value).join(" ");
    let name = json!(value_row(session, model, operand)[0]);
    if is_copy(session, operand, value) {
        if value != operand
            && let Some(rows) = answer["rows"].as_array_mut()
        {
            rows.insert(0, json!(["stored as", stored_as]));
        }
        answer["name"] = name;
        return Ok(answer);
    }
    let mut whole = match computed(session, operand, &stored) {
        Ok(tensor) => statistics(session, &tensor)?,
        Err(reason) => {
            let rows = json!([["elements", format!("not computed: {reason}")]]);
            json!({ "rows": rows, "histogram": null, "elements": [] })
        }
    };
    answer["name"] = json!(stored_as);
    whole["name"] = name;
    whole["stored"] = answer;
    Ok(whole)
}

/// Returns `true` if only nodes `Identity` are between an operand and the weight that it is.
fn is_copy(session: &Session, operand: ValueId, weight: ValueId) -> bool {
    let model = &session.model;
    let mut at = operand;
    while at != weight {
        let maker = model.value(at).producer().map(|node| model.node(node));
        match maker.filter(|node| node.is(op::IDENTITY)).and_then(|node| node.input(0)) {
            Some(before) => at = before,
            None => return false,
        }
    }
    true
}

/// The elements that nodes compute from what is stored.
fn computed(session: &Session, operand: ValueId, stored: &Tensor) -> Result<Tensor, String> {
    if stored.element_count().is_none_or(|count| count > MOST_COMPUTED) {
        return Err(format!("there are more than {} elements", grouped(MOST_COMPUTED)));
    }
    let options = EvalOptions::default()
        .with_execution(session.execution.clone())
        .with_data(&*session.source)
        .with_registry(&session.registry);
    constant(&session.model, operand, &options).map_err(|reason| Clean(&reason.to_string()).to_string())
}

/// The statistics of a tensor, with its first elements.
fn statistics(session: &Session, tensor: &Tensor) -> Result<Value, String> {
    let read = Statistics::read(tensor, &*session.source, &session.execution.interrupt);
    let found = read.map_err(|error| Clean(&error.to_string()).to_string())?;
    let number = |number: Option<f64>| number.map_or_else(|| "–".to_owned(), number_text);
    let extremum = |end: Option<Extremum>| number(end.map(Extremum::to_f64));
    let mut rows = vec![
        ["elements".to_owned(), grouped(found.elements)],
        ["bytes".to_owned(), grouped(found.bytes)],
        ["smallest".to_owned(), extremum(found.min)],
        ["greatest".to_owned(), extremum(found.max)],
        ["mean".to_owned(), number(found.mean)],
        ["standard deviation".to_owned(), number(found.deviation)],
    ];
    let counts = [("zeros", found.zeros), ("not a number", found.nans), ("infinite", found.infinities)];
    for (name, count) in counts.into_iter().filter(|&(_, count)| count > 0) {
        rows.push([name.to_owned(), grouped(count)]);
    }
    let anomalies: Vec<&str> = anomalies(&found).into_iter().map(Anomaly::name).collect();
    if !anomalies.is_empty() {
        rows.push(["unusual".to_owned(), anomalies.join(", ")]);
    }
    let elements: Vec<String> = tensor
        .iter_f64(&*session.source)
        .map(|elements| elements.take(MOST_ELEMENTS).map(number_text).collect())
        .unwrap_or_default();
    let histogram = found.histogram.map(|histogram| histogram.counts.to_vec());
    Ok(json!({ "name": "", "rows": rows, "histogram": histogram, "elements": elements }))
}
