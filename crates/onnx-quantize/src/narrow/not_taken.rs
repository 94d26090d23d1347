//! Why nothing in a model gets another type.

use std::fmt;

use onnx_diag::Quoted;
use onnx_ir::{Model, NodeId, ValueId};
use onnx_schema::{Schema, TypeSet, domain, op};
use onnx_shape_infer::infer;
use onnx_types::ElemType;

use super::change::Change;
use super::{Half, NarrowOptions, Narrowed, WideNode, WideReason, infer_options};
use crate::report::by_operator;

/// Why no node of a model gets another type.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct NotTaken {
    /// The narrow type; `None` if `float` takes the place of one.
    pub half: Option<Half>,
    /// The nodes with `float`, each with the reason why it keeps it. Empty if no node computes with `float`.
    pub wide: Vec<WideNode>,
    /// The worst numbers out of range, by the name of the first output of their nodes.
    pub out_of_range: Vec<(String, f64)>,
    /// The newer versions of the ONNX operators in which one of these nodes takes the type, in ascending order.
    pub versions: Vec<i64>,
}

impl NotTaken {
    /// If inputs and outputs keep their types, an operator that only moves elements does not get another type on its own.
    pub(super) fn new(model: &Model, change: Change, done: &Narrowed, options: &NarrowOptions<'_>) -> Self {
        let half = match change {
            Change::Narrow(half) => Some(half),
            Change::Widen(_) => None,
        };
        let lacks_type = done.wide.iter().filter(|wide| wide.reason == WideReason::Signature);
        let lacks_type = lacks_type.filter_map(|wide| Some((wide.node, half?)));
        let inference = infer(model, &infer_options(options));
        let is_float = |value: ValueId| inference.ty(value).elem() == Some(ElemType::Float);
        let mut versions: Vec<i64> = lacks_type
            .flat_map(|(node, half)| versions_that_take(model, node, half, (options.keep_io, &is_float)))
            .collect();
        versions.sort_unstable();
        versions.dedup();
        Self { half, wide: done.wide.clone(), out_of_range: done.out_of_range.clone(), versions }
    }
}

/// Whether a node takes or gives the type that others do not get.
pub(super) fn has_type(model: &Model, change: Change, options: &NarrowOptions<'_>) -> bool {
    let inference = infer(model, &infer_options(options));
    let mut nodes = model.all_graphs().flat_map(|graph| model.nodes(graph));
    nodes.any(|node| {
        let record = model.node(node);
        let has = |value: ValueId| inference.elem(value) == Some(change.to());
        !record.is(op::CONSTANT)
            && record.inputs().flatten().chain(record.outputs().iter().copied().flatten()).any(has)
    })
}

/// Finds the least version of the operators that stay for their types in which they take the narrow one.
pub(super) fn find_versions(model: &Model, change: Change, done: &mut Narrowed, options: &NarrowOptions<'_>) {
    let Change::Narrow(half) = change else { return };
    let lacks_type =
        |wide: &&mut WideNode| wide.reason == WideReason::Signature && model.get_node(wide.node).is_some();
    let mut lacking = done.wide.iter_mut().filter(lacks_type).peekable();
    if lacking.peek().is_none() {
        return;
    }
    let inference = infer(model, &infer_options(options));
    let is_float = |value: ValueId| inference.ty(value).elem() == Some(ElemType::Float);
    for wide in lacking {
        wide.version = versions_that_take(model, wide.node, half, (false, &is_float)).into_iter().min();
    }
}

/// The newer versions of the operator of a node that take a narrow type in the place of `float`, or compute in it.
fn versions_that_take(
    model: &Model,
    node: NodeId,
    half: Half,
    (computes, is_float): (bool, &dyn Fn(ValueId) -> bool),
) -> Vec<i64> {
    let record = model.node(node);
    let imported = model.versions_in(model.main_graph()).get(domain::ONNX).unwrap_or(1);
    let now = onnx_schema::lookup(domain::ONNX, record.op(), imported);
    // What the imported version takes in both types is not what the operator stays for.
    let lacks =
        |types: TypeSet| types.contains_tensor(ElemType::Float) && !types.contains_tensor(half.elem());
    let takes = |schema: &&Schema| {
        let Some(now) = now else { return false };
        let given = record.inputs().enumerate().filter(|(_, value)| value.is_some_and(is_float));
        let inputs =
            given.filter_map(|(index, _)| Some((now, now.input_for(index)?, schema.input_for(index)?)));
        let given = record.outputs().iter().enumerate().filter(|(_, value)| value.is_some_and(is_float));
        let outputs =
            given.filter_map(|(index, _)| Some((now, now.output_for(index)?, schema.output_for(index)?)));
        inputs.chain(outputs).any(|(now, old, new)| {
            let types = schema.types_of(new);
            let moves = types.contains_tensor(ElemType::String);
            lacks(now.types_of(old)) && types.contains_tensor(half.elem()) && !(computes && moves)
        })
    };
    let all =
        if record.domain() == domain::ONNX { onnx_schema::versions(domain::ONNX, record.op()) } else { &[] };
    let newer = all.iter().filter(takes).map(|schema| schema.since_version());
    newer.filter(|&version| version > imported).collect()
}

impl fmt::Display for NotTaken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        /// More operators are only counted.
        const MOST: usize = 3;
        let Some(half) = self.half else {
            return f
                .write_str("nothing in the model is `float16` or `bfloat16` and takes `float` in its place");
        };
        let operators = by_operator(&self.wide);
        if operators.is_empty() {
            return f.write_str("nothing in the model computes with `float`");
        }
        write!(f, "nothing in the model becomes {}", half.elem())?;
        for (index, (op, reason, _)) in operators.iter().take(MOST).enumerate() {
            let separator = if index == 0 { ":" } else { "," };
            write!(f, "{separator} {} stays ({reason})", Quoted(op))?;
        }
        match operators.len().saturating_sub(MOST) {
            0 => Ok(()),
            more => write!(f, " and {more} more"),
        }
    }
}
