//! Which nodes a node of a pattern may stand for, and an index of patterns by operator.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use onnx_ir::Model;
use onnx_ops::Call;
use onnx_types::Symbol;

use crate::ast::FlatNode;
use crate::matching::Pattern;

/// Returns `true` if a node calls the operator of a node of a pattern.
pub(crate) fn is_operator(model: &Model, record: &onnx_ir::Node, wanted: &FlatNode) -> bool {
    model.str(record.op()) == wanted.op && model.str(record.domain()) == wanted.domain
}

/// The version from which on an operator has the semantics of its latest version, for operators where older versions differ in
/// more than types and forms of operands.
const SEMANTICS: &[(&str, i64)] = &[
    ("Add", 7),
    ("Sub", 7),
    ("Mul", 7),
    ("Div", 7),
    ("Pow", 7),
    ("And", 7),
    ("Or", 7),
    ("Xor", 7),
    ("Equal", 7),
    ("Greater", 7),
    ("Less", 7),
    ("PRelu", 7),
    ("Gemm", 7),
    ("Sum", 8),
    ("Mean", 8),
    ("Max", 8),
    ("Min", 8),
    ("BatchNormalization", 9),
    ("Softmax", 13),
    ("LogSoftmax", 13),
    ("Hardmax", 13),
    ("Dropout", 7),
    ("Cast", 6),
    ("Reshape", 5),
    ("Resize", 13),
    ("GroupNormalization", 21),
];

/// Returns `true` if a version does not have an attribute, and the latest one has this default.
pub(crate) fn is_later_default(call: Option<&Call<'_>>, name: &str, value: &onnx_ir::AttrValue) -> bool {
    let Some(schema) = call.map(Call::schema) else { return false };
    let is_declared = schema.attributes().iter().any(|formal| formal.text() == name);
    let later = crate::effective::latest(schema.domain(), schema.op());
    let formal = later.and_then(|later| later.attributes().iter().find(|formal| formal.text() == name));
    let default = formal.and_then(|formal| formal.default);
    !is_declared && default.is_some_and(|default| value.is_default(default))
}

/// Returns `true` if the version in scope has the semantics of the latest one.
pub(crate) fn has_semantics(call: Option<&Call<'_>>) -> bool {
    let Some(call) = call.filter(|call| call.schema().domain().is_empty()) else { return true };
    let name = call.schema().name();
    SEMANTICS.iter().find(|(op, _)| *op == name).is_none_or(|&(_, since)| call.since() >= since)
}

/// Patterns by the operators of their roots: the cost at a node does not depend on patterns of other operators.
#[derive(Clone, Debug, Default)]
pub(crate) struct Index {
    by_op: Vec<(String, Vec<usize>)>,
}

impl Index {
    pub(crate) fn new(patterns: &[Pattern]) -> Self {
        let mut index = Self::default();
        for (number, pattern) in patterns.iter().enumerate() {
            for root in pattern.roots() {
                match index.by_op.iter_mut().find(|(op, _)| *op == root.op) {
                    Some((_, list)) if list.contains(&number) => {}
                    Some((_, list)) => list.push(number),
                    None => index.by_op.push((root.op.clone(), vec![number])),
                }
            }
        }
        index
    }

    /// The patterns for an operator, by the symbols of a model.
    pub(crate) fn of_model(&self, model: &Model) -> HashMap<Symbol, Vec<usize>, RandomState> {
        let names = self.by_op.iter();
        names.filter_map(|(name, list)| Some((model.names().get(name)?, list.clone()))).collect()
    }
}
