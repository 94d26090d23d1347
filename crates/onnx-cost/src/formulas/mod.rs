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
use onnx_schema::traits::Operations;
use onnx_schema::{Schema, domain, op};
use onnx_types::{Dim, Symbol};

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
    let cx = &mut Cx { measure, node };
    let work = match Call::of(model, node) {
        Ok(call) => of_onnx(cx, call.schema())?,
        Err(_) if record.domain() == domain::MICROSOFT => {
            let formula = fused::of_onnxruntime(model.str(record.op()));
            formula.ok_or(Why::NoFormula)?(cx)?
        }
        Err(_) => return Err(Why::NotAnOperator),
    };
    if work.is_known() { Ok(work) } else { Err(Why::TooLarge) }
}

/// The operations of an operator of ONNX, as its traits say.
fn of_onnx(cx: &mut Cx<'_, '_>, schema: &Schema) -> Result<Work, Why> {
    let traits = schema.traits();
    match traits.operations() {
        Operations::None => Ok(Work::NONE),
        Operations::Each(operations) => elementwise::per_element(cx, operations),
        Operations::Operands { more } => elementwise::variadic(cx, more),
        Operations::Read { read, made } => reduction::reduction(cx, (read, made)),
        Operations::Window { read, made } => reduction::pooling(cx, (read, made)),
        Operations::Convolution { bias } => {
            contraction::convolution(cx, traits.window_weights().ok_or(Why::NoFormula)?, bias)
        }
        Operations::MatrixProduct => contraction::matrix_product(cx),
        Operations::Recurrent { gates, unit } => recurrent::recurrent(cx, i64::from(gates), i64::from(unit)),
        Operations::Formula => formula(schema.op()).ok_or(Why::NoFormula)?(cx),
        _ => Err(Why::NoFormula),
    }
}

/// The formula of an operator that has its own.
fn formula(op: Symbol) -> Option<Formula> {
    Some(match op {
        op::ATTENTION => attention::attention,
        op::BATCH_NORMALIZATION => normalization::batch_normalization,
        op::CONV_TRANSPOSE => contraction::transposed_convolution,
        op::EINSUM => contraction::einsum,
        op::GEMM => contraction::gemm,
        op::LAYER_NORMALIZATION => normalization::layer_normalization,
        op::LRN => normalization::local_response,
        op::RESIZE | op::UPSAMPLE => elementwise::resize,
        _ => return None,
    })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operators_with_a_formula_of_their_own_have_one() {
        for schema in onnx_schema::all() {
            let has_own = schema.traits().operations() == Operations::Formula;
            assert_eq!(has_own, schema.domain().is_empty() && formula(schema.op()).is_some(), "{schema}");
        }
    }
}
