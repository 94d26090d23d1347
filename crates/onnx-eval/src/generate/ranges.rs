//! The ranges that a model implies for the elements of an input.

use onnx_ir::{Constant, Model, NodeId, User, ValueId};
use onnx_schema::traits::{Elements, Rounding, newest};
use onnx_schema::{Registry, attr, domain};
use onnx_types::ElemType;

use super::SizesOf;
use crate::registry::{Takes, takes};

/// The elements that an input may have.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Range {
    /// From the first number to the second one, which integers include and floats do not.
    Within(f64, f64),
    /// Element `k` is `k`: a list of axes.
    Index,
    /// All elements are 1, the last one is -1: the shape of a `Reshape` to one dimension that is not 1.
    Reshape,
}

impl Range {
    /// Element `index` of `count`, from a draw in [0, 1).
    pub(super) fn number(self, index: usize, count: usize, unit: f64, is_float: bool) -> f64 {
        match self {
            Self::Within(low, high) if is_float => unit.mul_add(high - low, low),
            Self::Within(low, high) => (unit * (high - low + 1.0)).floor() + low,
            Self::Index => index as f64,
            Self::Reshape if index + 1 == count => -1.0,
            Self::Reshape => 1.0,
        }
    }

    /// The range of values that both allow, or the other range if none is.
    fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Within(a, b), Self::Within(c, d)) if a.max(c) <= b.min(d) => {
                Self::Within(a.max(c), b.min(d))
            }
            _ => other,
        }
    }
}

/// The range of an element type; `top` is the greatest integer of the types that are wider than a byte.
pub(super) fn of_type(elem: ElemType, top: f64) -> Range {
    let (low, high) = match (elem, elem.bits()) {
        (ElemType::Bool, _) => (0.0, 1.0),
        (ElemType::Float8E8M0, _) => (0.25, 4.0),
        _ if elem.is_float() => (-1.0, 1.0),
        (ElemType::Int8, _) => (-128.0, 127.0),
        (ElemType::Int4, _) => (-8.0, 7.0),
        (ElemType::Int2, _) => (-2.0, 1.0),
        (_, Some(bits @ ..=8)) => (0.0, f64::from((1_u32 << bits) - 1)),
        _ => (0.0, top),
    };
    Range::Within(low, high)
}

/// The ranges of inputs.
pub(super) struct Ranges<'a> {
    model: &'a Model,
    sizes: &'a SizesOf<'a>,
    /// The greatest integer of an input without a range.
    top: f64,
}

/// Values that are followed from one input, against long chains.
const FOLLOWED: usize = 256;

impl<'a> Ranges<'a> {
    pub(super) fn new(model: &'a Model, sizes: &'a SizesOf<'a>) -> Self {
        let takes_indices = model.all_graphs().any(|graph| {
            model.nodes(graph).any(|node| {
                let op = model.str(model.node(node).op());
                op.starts_with("Gather") || op.starts_with("Scatter") || matches!(op, "Slice" | "OneHot")
            })
        });
        Self { model, sizes, top: if takes_indices { 1.0 } else { 9.0 } }
    }

    /// The range of an element type if the model implies none.
    pub(super) fn default(&self, elem: ElemType) -> Range {
        of_type(elem, self.top)
    }

    /// The range of an input: of all operands that are made of it without computing.
    pub(super) fn of(&self, input: ValueId, elem: ElemType) -> Range {
        let mut implied: Option<Range> = None;
        let mut values = vec![input];
        let mut next = 0;
        while let Some(&value) = values.get(next) {
            next += 1;
            for used in self.model.value(value).uses() {
                let User::Node(node) = used.user else { continue };
                if let Some(range) = self.operand(node, used.index) {
                    implied = Some(implied.map_or(range, |known| known.and(range)));
                }
                if self.passes(node, used.index) {
                    let output = self.model.node(node).output(0);
                    let is_new = |value: &ValueId| !values.contains(value) && values.len() < FOLLOWED;
                    values.extend(output.filter(is_new));
                }
            }
        }
        let default = self.default(elem);
        match implied {
            None => default,
            // What the type cannot hold is cut off.
            Some(range) if elem.bits().is_some_and(|bits| bits <= 8) => default.and(range),
            Some(range) => range,
        }
    }

    /// Whether the first output of a node has the elements of an operand, converted or not.
    fn passes(&self, node: NodeId, index: u32) -> bool {
        let record = self.model.node(node);
        let is_standard = record.domain() == domain::ONNX || self.model.str(record.domain()) == "ai.onnx";
        newest(record.op()).filter(|_| is_standard).is_some_and(|traits| {
            let is_kept = traits.keeps_elements() || traits.rounding() == Rounding::Converts;
            traits.elements() == Elements::Joined || (is_kept && index == 0)
        })
    }

    /// The range that an operator takes for an operand, as its kernel declares it; `None` if it takes all values.
    fn operand(&self, node: NodeId, index: u32) -> Option<Range> {
        let schema = self.model.callee(node, Registry::STANDARD).standard()?;
        Some(match takes(schema.id(), usize::try_from(index).ok()?)? {
            Takes::Within(low, high) => Range::Within(low, high),
            Takes::Indices { of, axis } => self.indices(node, of, axis),
            Takes::Axes => Range::Index,
            Takes::Shape => Range::Reshape,
        })
    }

    /// The indices of an axis of an operand, which is an attribute of the node unless it is given; 0 if the size of the axis
    /// is not known.
    fn indices(&self, node: NodeId, operand: usize, axis: Option<i64>) -> Range {
        let record = self.model.node(node);
        let attribute = || record.attribute(attr::AXIS).and_then(|axis| axis.as_int()).unwrap_or(0);
        let axis = axis.unwrap_or_else(attribute);
        let size = || {
            let value = record.input(operand)?;
            let dims = self.dims(value)?;
            let axis = if axis < 0 { axis.checked_add(i64::try_from(dims.len()).ok()?)? } else { axis };
            dims.get(usize::try_from(axis).ok()?).copied().flatten()
        };
        Range::Within(0.0, size().map_or(0.0, |size| (size - 1).max(0) as f64))
    }

    fn dims(&self, value: ValueId) -> Option<Vec<Option<i64>>> {
        if let Some(constant) = self.model.value(value).initializer() {
            let dims = match &**constant {
                Constant::Dense(tensor) => tensor.dims(),
                Constant::Sparse(sparse) => &sparse.dims,
            };
            return Some(dims.iter().map(|&dim| Some(dim)).collect());
        }
        (self.sizes)(value)
    }
}
