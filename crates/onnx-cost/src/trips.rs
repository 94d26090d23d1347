//! Number of times that nested graphs run.

use onnx_ir::{GraphId, Model, NodeId, ValueId};
use onnx_ops::{Operator as _, ops};
use onnx_types::Dim;

use super::measure::Measure;

/// Number of times that the graphs of a node run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Nested {
    /// One of several branches.
    Branch,
    /// The branch at this position.
    OneBranch(usize),
    /// A body this many times.
    Runs(Dim),
    /// A body, an unknown number of times.
    Unknown,
}

impl Nested {
    /// The number of runs, if it is known.
    pub(super) const fn trips(self) -> Option<Dim> {
        match self {
            Self::Branch | Self::OneBranch(_) => Some(Dim::Known(1)),
            Self::Runs(trips) => Some(trips),
            Self::Unknown => None,
        }
    }

    /// The only branch that runs.
    pub(super) const fn branch(self) -> Option<usize> {
        match self {
            Self::OneBranch(position) => Some(position),
            _ => None,
        }
    }
}

/// Number of times that the graphs of a node run.
pub(super) fn nested(measure: &Measure<'_>, node: NodeId) -> Nested {
    let model = measure.model;
    if let Some(view) = ops::If::of(model, node) {
        return branch(measure, node, view.cond());
    }
    if ops::Loop::of(model, node).is_some() {
        return iterations(measure, node).map_or(Nested::Unknown, Nested::Runs);
    }
    if let Some(view) = ops::Scan::of(model, node) {
        // Before version 9, each sequence of a batch has its own length.
        let trips = (view.call().since() >= 9).then(|| scanned(measure, node)).flatten();
        return trips.map_or(Nested::Unknown, Nested::Runs);
    }
    Nested::Unknown
}

/// The branch of a condition, by its position among the graphs of the node.
fn branch(measure: &Measure<'_>, node: NodeId, condition: Option<ValueId>) -> Nested {
    let Some(holds) = condition.and_then(|condition| known(measure, condition)) else {
        return Nested::Branch;
    };
    let name = if holds == 0 { onnx_schema::attr::ELSE_BRANCH } else { onnx_schema::attr::THEN_BRANCH };
    let record = measure.model.node(node);
    let graph = record.attribute(name).and_then(|attribute| attribute.value().graphs().first().copied());
    let position = record.nested_graphs().position(|nested| Some(nested) == graph);
    position.map_or(Nested::Branch, Nested::OneBranch)
}

/// The iterations of a `Loop` that only the maximum trip count ends.
fn iterations(measure: &Measure<'_>, node: NodeId) -> Option<Dim> {
    let record = measure.model.node(node);
    let body = record.nested_graphs().next()?;
    let condition = record.input(1);
    if condition.is_some_and(|condition| known(measure, condition) != Some(1)) || !continues(measure, body) {
        return None;
    }
    let trips = element(measure, record.input(0)?)?;
    let is_negative = trips.known().is_some_and(|trips| trips < 0);
    let is_size = measure.exprs.bounds(trips).lo.is_some_and(|least| least >= 0);
    match (is_negative, is_size) {
        (true, _) => Some(Dim::Known(0)),
        (false, true) => Some(trips),
        (false, false) => None,
    }
}

/// Whether the condition that a body returns is always true, or the one that it receives.
fn continues(measure: &Measure<'_>, body: GraphId) -> bool {
    let model = measure.model;
    let Some(returned) = model.graph(body).outputs().first().map(onnx_ir::GraphOutput::value) else {
        return false;
    };
    let origin = origin(model, returned);
    known(measure, origin) == Some(1) || model.graph(body).inputs().get(1) == Some(&origin)
}

/// The value of which a value is a copy.
fn origin(model: &Model, mut value: ValueId) -> ValueId {
    /// More copies in a row are not followed.
    const MOST: usize = 64;
    for _ in 0..MOST {
        let source = model.value(value).producer().and_then(|node| ops::Identity::of(model, node)?.input());
        match source {
            Some(source) => value = source,
            None => break,
        }
    }
    value
}

/// The size of the axis that a `Scan` iterates over.
fn scanned(measure: &Measure<'_>, node: NodeId) -> Option<Dim> {
    let view = ops::Scan::of(measure.model, node)?;
    let count = usize::try_from(view.num_scan_inputs().known()?).ok()?;
    let inputs = measure.model.node(node).input_count();
    let dims = measure.inference.shape(measure.model.node(node).input(inputs.checked_sub(count)?)?)?;
    let axes = view.scan_input_axes();
    let axis = axes.or(std::borrow::Cow::Borrowed(&[]))?.first().copied().unwrap_or(0);
    let axis = if axis < 0 { axis.checked_add(i64::try_from(dims.len()).ok()?)? } else { axis };
    dims.get(usize::try_from(axis).ok()?).copied().filter(|dim| !dim.is_unknown())
}

/// The only element of a value, if it is known.
fn element(measure: &Measure<'_>, value: ValueId) -> Option<Dim> {
    if let Some(tensor) = measure.model.constant_tensor(value) {
        let elements = tensor.get_i64s(&onnx_types::tensor::NoData, 1).ok()?;
        return elements.first().map(|&element| Dim::Known(element));
    }
    match measure.inference.content(value)?.as_ref() {
        [element] => Some(element.dim()).filter(|dim| !dim.is_unknown()),
        _ => None,
    }
}

/// The only element of a value as a number.
fn known(measure: &Measure<'_>, value: ValueId) -> Option<i64> {
    element(measure, value)?.known()
}
