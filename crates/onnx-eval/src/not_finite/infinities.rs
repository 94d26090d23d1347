//! Where the infinities of a run come from.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use onnx_ir::{Callee, Def, NodeId, ValueId};

use super::{Kind, Tracer};
use crate::observer::NodeRun;

/// The values that have infinities, and the nodes that computed these from finite operands.
pub(super) struct Infinities {
    /// The values, each with the index of its origin; `None` if an input, a weight or a constant is the origin, or it is not
    /// known.
    values: HashMap<ValueId, Option<usize>, RandomState>,
    /// The nodes that computed infinities from finite operands, in the order of execution.
    origins: Vec<NodeId>,
    /// The nodes that have begun, outermost first.
    active: Vec<Active>,
}

/// A node that has begun.
struct Active {
    node: NodeId,
    /// Number of origins when it began.
    origins: usize,
    /// Whether nodes run inside it.
    has_inner: bool,
}

/// What is known about the infinities of an operand.
enum Found {
    Finite,
    /// Infinities with the index of their origin.
    Infinite(Option<usize>),
}

impl Infinities {
    /// Before a run on inputs of which these have infinities.
    pub(super) fn new(inputs: impl Iterator<Item = ValueId>) -> Self {
        let values = inputs.map(|input| (input, None)).collect();
        Self { values, origins: Vec::new(), active: Vec::new() }
    }

    pub(super) fn begin(&mut self, node: NodeId) {
        if let Some(outer) = self.active.last_mut() {
            outer.has_inner = true;
        }
        self.active.push(Active { node, origins: self.origins.len(), has_inner: false });
    }

    /// The node that computed infinities of the operands of a node that is active; the first one if there are several.
    pub(super) fn origin_of_operands(&self, cx: &Tracer<'_>, node: NodeId) -> Option<NodeId> {
        let operands = cx.model.node(node).inputs().flatten();
        let first = operands.filter_map(|operand| match self.of(cx, operand) {
            Found::Infinite(origin) => origin,
            Found::Finite => None,
        });
        self.origins.get(first.min()?).copied()
    }

    /// Records which outputs of a node have infinities.
    pub(super) fn end(&mut self, cx: &Tracer<'_>, run: &NodeRun<'_>) {
        let node = cx.model.node(run.node);
        let mut infinite = Vec::new();
        for (&output, value) in node.outputs().iter().zip(run.outputs) {
            let Some(output) = output else { continue };
            if value.as_ref().is_some_and(|value| Kind::Infinity.is_in(value, cx.interrupt)) {
                infinite.push(output);
            } else {
                self.values.remove(&output);
            }
        }
        if !infinite.is_empty() {
            let origin = self.origin(cx, run.node);
            self.values.extend(infinite.into_iter().map(|output| (output, origin)));
        }
        self.active.pop();
    }

    /// The origin of the infinities in the outputs of the innermost active node.
    fn origin(&mut self, cx: &Tracer<'_>, node: NodeId) -> Option<usize> {
        let record = cx.model.node(node);
        let active = self.active.last()?;
        if active.origins < self.origins.len() {
            return Some(active.origins);
        }
        let is_outer = active.has_inner || record.nested_graphs().next().is_some();
        let operands: Vec<Found> = record.inputs().flatten().map(|operand| self.of(cx, operand)).collect();
        let is_finite = operands.iter().all(|found| matches!(found, Found::Finite));
        // Infinities in constants are usually intended, and those in the outputs of a graph can be values from outside of it.
        if !is_finite || operands.is_empty() || is_outer {
            let origins = operands.into_iter().filter_map(|found| match found {
                Found::Infinite(origin) => origin,
                Found::Finite => None,
            });
            return origins.min();
        }
        self.origins.push(node);
        Some(self.origins.len() - 1)
    }

    fn of(&self, cx: &Tracer<'_>, operand: ValueId) -> Found {
        let Some(operand) = self.actual(cx, operand) else {
            return if self.values.is_empty() { Found::Finite } else { Found::Infinite(None) };
        };
        match self.values.get(&operand) {
            Some(origin) => Found::Infinite(*origin),
            None if cx.is_in_weight(Kind::Infinity, operand) => Found::Infinite(None),
            None => Found::Finite,
        }
    }

    /// The value that a parameter of a function stands for, in the calls that are active; any other value is itself. Returns
    /// `None` for what the body of a loop receives, and for an omitted argument.
    fn actual(&self, cx: &Tracer<'_>, operand: ValueId) -> Option<ValueId> {
        let mut operand = operand;
        for active in self.active.iter().rev() {
            let Def::Input { graph, index } = cx.model.value(operand).def() else { break };
            let Callee::Function(function) = cx.model.callee(active.node, cx.registry) else { continue };
            if cx.model.function(function).body() == graph {
                operand = cx.model.node(active.node).inputs().nth(index as usize)??;
            }
        }
        (!cx.is_formal(operand)).then_some(operand)
    }
}

#[cfg(test)]
mod tests {
    use onnx_text::{ParseOptions, parse_model};
    use onnx_types::tensor::Tensor;

    use crate::{EvalOptions, Evaluator, Value, first_not_finite};

    /// The message, and the operators at the locus and at the label.
    fn found(text: &str, x: [f32; 2]) -> (String, String, Option<String>) {
        let text = format!("<ir_version: 10, opset_import: [\"\": 20, \"f\": 1]> {text}");
        let model = parse_model(&text, &ParseOptions::default()).unwrap();
        let evaluator = Evaluator::new(&model, &EvalOptions::default()).unwrap();
        let inputs = [Some(Value::from(Tensor::vector(&x)))];
        let outputs = evaluator.run_in_order(inputs.to_vec()).unwrap();
        let found = first_not_finite(&evaluator, &inputs, &outputs).unwrap().unwrap();
        let label = found.labels.first().map(|label| {
            assert_eq!(label.text, "the infinities are computed here, from finite operands");
            label.locus.to_string()
        });
        (found.message, found.locus.to_string(), label)
    }

    const FROM_INFINITIES: &str = "the node computes the first NaN: its operands have infinities and no NaN";

    #[track_caller]
    fn comes_from(text: &str, x: [f32; 2], [nan, infinity]: [&str; 2]) {
        let (message, locus, label) = found(text, x);
        assert_eq!(message, FROM_INFINITIES);
        assert!(locus.contains(nan), "{locus}");
        assert!(label.as_ref().is_some_and(|label| label.contains(infinity)), "{label:?}");
    }

    #[track_caller]
    fn has_no_label(text: &str, x: [f32; 2]) {
        let (message, _, label) = found(text, x);
        assert_eq!(
            (message.as_str(), label),
            ("the node computes the first NaN: its operands have none", None)
        );
    }

    #[test]
    fn the_node_that_made_the_infinities_is_labeled() {
        let graph = "g (float[2] x) => (float[2] y) {
            [other] o = Exp (x) [culprit] m = Mul (o, o) n = Neg (m) [nan] s = Softmax (n) y = Relu (s) }";
        comes_from(graph, [60.0, 60.0], ["\"nan\"", "\"culprit\""]);
        // Infinities that do not reach the operands do not count.
        let graph = "g (float[2] x) => (float[2] y, float[2] z) {
            [other] z = Exp (x) m = Neg (x) [culprit] e = Mul (m, x) [nan] y = Sub (e, e) }";
        comes_from(graph, [100.0, 1e30], ["\"nan\"", "\"culprit\""]);
    }

    #[test]
    fn infinities_that_are_given_have_no_node() {
        let text = "g (float[2] x) => (float[2] y) { m = Neg (x) y = Softmax (m) }";
        has_no_label(text, [f32::NEG_INFINITY, 0.0]);
        let text =
            "g (float[2] x) => (float[2] y) <float hole = {-inf}> { m = Add (x, hole) y = Softmax (m) }";
        has_no_label(text, [1.0, 0.0]);
        let text = "g (float[2] x) => (float[2] y) { c = Constant <value_float = -inf> () m = Add (x, c) y = Softmax (m) }";
        has_no_label(text, [1.0, 0.0]);
        has_no_label("g (float[2] x) => (float[2] y) { y = Sqrt (x) }", [-1.0, 0.0]);
    }

    #[test]
    fn infinities_reach_and_leave_functions_and_branches() {
        let inside = "g (float[2] x) => (float[2] y) { [call] m = f.Twice (x) [nan] y = Softmax (m) }
            <domain: \"f\", opset_import: [\"\": 20]> Twice (a) => (b) { [culprit] b = Add (a, a) }";
        comes_from(inside, [3e38, 0.0], ["\"nan\"", "\"culprit\""]);
        let outside = "g (float[2] x) => (float[2] y) { [culprit] m = Add (x, x) y = f.Outer (m) }
            <domain: \"f\", opset_import: [\"\": 20, \"f\": 1]> Outer (a) => (b) { b = f.Inner (a) }
            <domain: \"f\", opset_import: [\"\": 20]> Inner (a) => (b) { n = Neg (a) [nan] b = Sub (n, n) }";
        comes_from(outside, [3e38, 0.0], ["\"nan\"", "\"culprit\""]);
        let branch = "g (float[2] x) => (float[2] y) {
            [culprit] m = Add (x, x)
            c = Constant <value = bool {1}> ()
            n = If (c) <then_branch = t () => (float[2] p) { p = Identity (m) },
                        else_branch = e () => (float[2] q) { q = Neg (m) }>
            o = Neg (m)
            [nan] y = Add (n, o) }";
        comes_from(branch, [3e38, 0.0], ["\"nan\"", "\"culprit\""]);
    }
}
