//! Numbers that are likely to separate the sides of a claim: those that occur in it, and their neighbors.

use onnx_ir::{AttrValue, Model, NodeId};
use onnx_schema::op;
use onnx_types::ElemClass;
use onnx_types::tensor::{NoData, Tensor};

use crate::equivalence::Equivalence;

/// Maximum number of points of a class. More would be sampled too rarely.
const MAX_POINTS: usize = 48;

/// Elements of longer constants are weights rather than thresholds.
const MAX_ELEMENTS: u64 = 16;

/// Sampling points by the class of inputs that they are for.
#[derive(Default)]
pub(crate) struct Points {
    pub(crate) floats: Vec<f64>,
    pub(crate) integers: Vec<i64>,
}

impl Points {
    /// The points of a claim: of initializers, `Constant` nodes, and float attributes, which are bounds and thresholds.
    pub(crate) fn of(eq: &Equivalence) -> Self {
        let mut points = Self::default();
        for input in eq.inputs() {
            if let Some(constant) = eq.constant(input) {
                points.add_tensor(constant);
            }
        }
        let model = eq.model();
        for graph in model.all_graphs() {
            for value in model.initializers(graph) {
                if let Some(tensor) = model.constant_tensor(value) {
                    points.add_tensor(tensor);
                }
            }
            for node in model.nodes(graph) {
                points.add_node(model, node);
            }
        }
        points.add_neighbors();
        points
    }

    /// The successor and the predecessor of each number, after all numbers.
    fn add_neighbors(&mut self) {
        for number in self.floats.clone() {
            self.add_float(number + 1.0);
            self.add_float(number - 1.0);
        }
        for number in self.integers.clone() {
            self.add_integer(number.saturating_add(1));
            self.add_integer(number.saturating_sub(1));
        }
    }

    fn add_node(&mut self, model: &Model, node: NodeId) {
        let record = model.node(node);
        let is_constant = record.is(op::CONSTANT);
        for attribute in record.attributes() {
            match attribute.value() {
                AttrValue::Float(number) => self.add_float(f64::from(*number)),
                AttrValue::Tensor(tensor) => self.add_tensor(tensor),
                AttrValue::Floats(numbers) if is_constant && numbers.len() as u64 <= MAX_ELEMENTS => {
                    numbers.iter().for_each(|&number| self.add_float(f64::from(number)));
                }
                AttrValue::Int(number) if is_constant => self.add_integer(*number),
                AttrValue::Ints(numbers) if is_constant && numbers.len() as u64 <= MAX_ELEMENTS => {
                    numbers.iter().for_each(|&number| self.add_integer(number));
                }
                _ => {}
            }
        }
    }

    fn add_tensor(&mut self, tensor: &Tensor) {
        if tensor.element_count().is_none_or(|count| count > MAX_ELEMENTS) {
            return;
        }
        match tensor.elem().class() {
            ElemClass::Float => {
                let elements = tensor.iter_f64(&NoData).into_iter().flatten();
                elements.for_each(|number| self.add_float(number));
            }
            ElemClass::Int | ElemClass::Uint => {
                let elements = tensor.iter_i64(&NoData).into_iter().flatten();
                elements.for_each(|number| self.add_integer(number));
            }
            _ => {}
        }
    }

    fn add_float(&mut self, number: f64) {
        if number.is_finite() && self.floats.len() < MAX_POINTS && !self.floats.contains(&number) {
            self.floats.push(number);
        }
    }

    fn add_integer(&mut self, number: i64) {
        if self.integers.len() < MAX_POINTS && !self.integers.contains(&number) {
            self.integers.push(number);
        }
    }
}
