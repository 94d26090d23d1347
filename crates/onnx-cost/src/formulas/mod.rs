//! Formulas: the operations of one run of a node. `docs/cost.md` states each of them.
//!
//! An operator without a formula has an unknown cost, never none.

mod attention;
mod contraction;
mod elementwise;
mod fused;
mod normalization;
mod recurrent;
mod reduction;

use std::fmt;

use onnx_ir::{NodeId, ValueId};
use onnx_ops::Call;
use onnx_types::Dim;

use super::measure::{Measure, Work};

/// Why the operations of a node are not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Why {
    /// The operator has no formula.
    NoFormula,
    /// The node does not call an operator that is known, or the version in scope does not have it.
    NotAnOperator,
    /// The dimensions of an input are not all known.
    Input(usize),
    /// The dimensions of an output are not all known.
    Output(usize),
    /// An attribute is missing or not known.
    Attribute(&'static str),
    /// The expression exceeds the limits of expressions.
    TooLarge,
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoFormula => f.write_str("the operator has no formula"),
            Self::NotAnOperator => f.write_str("the operator is not defined by ONNX, or not in this version"),
            Self::Input(index) => write!(f, "the shape of input {index} is not known"),
            Self::Output(index) => write!(f, "the shape of output {index} is not known"),
            Self::Attribute(name) => write!(f, "the attribute `{name}` is not known"),
            Self::TooLarge => f.write_str("the expression is too large"),
        }
    }
}

/// A node whose operations are computed.
pub(super) struct Cx<'c, 'm> {
    pub(super) measure: &'c mut Measure<'m>,
    pub(super) node: NodeId,
}

/// The operations of a node.
type Formula = fn(&mut Cx<'_, '_>) -> Result<Work, Why>;

/// The operations of one run of a node without nested graphs.
pub(crate) fn work(measure: &mut Measure<'_>, node: NodeId) -> Result<Work, Why> {
    let model = measure.model;
    let record = model.node(node);
    let op = model.str(record.op());
    let formula = match Call::of(model, node) {
        Ok(call) => match model.str(call.schema().domain()) {
            "" => of_onnx(op),
            _ => None,
        },
        Err(_) if model.str(record.domain()) == "com.microsoft" => fused::of_onnxruntime(op),
        Err(_) => return Err(Why::NotAnOperator),
    };
    let work = formula.ok_or(Why::NoFormula)?(&mut Cx { measure, node })?;
    if work.is_known() { Ok(work) } else { Err(Why::TooLarge) }
}

/// The formula of an operator of ONNX.
fn of_onnx(op: &str) -> Option<Formula> {
    contraction::formula(op)
        .or_else(|| elementwise::formula(op))
        .or_else(|| reduction::formula(op))
        .or_else(|| normalization::formula(op))
        .or_else(|| recurrent::formula(op))
        .or_else(|| attention::formula(op))
}

impl<'m> Cx<'_, 'm> {
    /// The node as a call of an operator of ONNX.
    fn call(&self) -> Result<Call<'m>, Why> {
        Call::of(self.measure.model, self.node).map_err(|_| Why::NotAnOperator)
    }

    fn has_input(&self, index: usize) -> bool {
        self.measure.model.node(self.node).input(index).is_some()
    }

    /// The dimensions of an input.
    fn input(&self, index: usize) -> Result<&'m [Dim], Why> {
        let value = self.measure.model.node(self.node).input(index);
        value.and_then(|value| self.measure.dims(value)).ok_or(Why::Input(index))
    }

    /// The dimensions of an output.
    fn output(&self, index: usize) -> Result<&'m [Dim], Why> {
        let value = self.measure.model.node(self.node).output(index);
        value.and_then(|value| self.measure.dims(value)).ok_or(Why::Output(index))
    }

    /// The elements of an input.
    fn input_elements(&mut self, index: usize) -> Result<Dim, Why> {
        let dims = self.input(index)?;
        Ok(self.product(dims))
    }

    /// The elements of an output.
    fn output_elements(&mut self, index: usize) -> Result<Dim, Why> {
        let dims = self.output(index)?;
        Ok(self.product(dims))
    }

    /// The elements of the first output that is not omitted.
    fn first_output_elements(&mut self) -> Result<Dim, Why> {
        let outputs = self.measure.model.node(self.node).outputs();
        let index = outputs.iter().position(Option::is_some).unwrap_or(0);
        self.output_elements(index)
    }

    /// The inputs that are not omitted.
    fn inputs(&self) -> Vec<ValueId> {
        self.measure.model.node(self.node).inputs().flatten().collect()
    }

    fn product(&mut self, dims: &[Dim]) -> Dim {
        self.measure.exprs.product(dims)
    }

    fn mul(&mut self, a: Dim, b: Dim) -> Dim {
        self.measure.exprs.mul(a, b)
    }

    fn scaled(&mut self, a: Dim, factor: i64) -> Dim {
        self.measure.exprs.mul(a, Dim::Known(factor))
    }

    fn add(&mut self, a: Dim, b: Dim) -> Dim {
        self.measure.exprs.add(a, b)
    }

    /// Multiply-accumulates, of two operations each, and other operations.
    fn macs(&mut self, macs: Dim, others: Dim) -> Work {
        let twice = self.scaled(macs, 2);
        Work { macs, operations: self.add(twice, others) }
    }
}
