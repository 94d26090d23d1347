//! Whether a node returns the same outputs each time it runs on the same inputs.

use onnx_schema::{Determinism, Registry, Schema, attr, op};
use onnx_types::tensor::NoData;

use crate::entity::NodeId;
use crate::model::Model;
use crate::resolve::Callee;

impl Model {
    /// Returns `true` if a node, the nodes nested in it and the functions that it calls have only operators that are known to
    /// be deterministic: such a node may be merged with an equal one, dropped or repeated. An unknown operator counts as not
    /// deterministic. `registry` supplies the custom operators, as in [`Model::callee`].
    ///
    /// The time is linear in the nodes that are nested and called.
    ///
    /// # Panics
    ///
    /// Panics if the node is not of this model or was erased.
    #[must_use]
    pub fn is_deterministic(&self, node: NodeId, registry: &Registry) -> bool {
        let mut nodes = self.walk_node(node).with_functions(registry).nodes();
        nodes.all(|node| self.has_deterministic_operator(node, registry))
    }

    /// Like [`is_deterministic`](Self::is_deterministic), without the nodes nested in the node and the functions that it
    /// calls: an operator with graphs is as deterministic as their nodes, and a function as those of its body.
    ///
    /// # Panics
    ///
    /// Panics if the node is not of this model or was erased.
    #[must_use]
    pub fn has_deterministic_operator(&self, node: NodeId, registry: &Registry) -> bool {
        match self.callee(node, registry) {
            Callee::Standard(schema) => {
                schema.determinism() == Determinism::Deterministic
                    || self.nodes[node].nested_graphs().next().is_some()
                    || self.is_dropout_outside_training(node, schema)
            }
            Callee::Custom(schema) => schema.determinism == Determinism::Deterministic,
            Callee::Function(_) => true,
            _ => false,
        }
    }

    /// `Dropout` draws random numbers in training only.
    fn is_dropout_outside_training(&self, node: NodeId, schema: &Schema) -> bool {
        let node = &self.nodes[node];
        if !node.is(op::DROPOUT) {
            return false;
        }
        match (schema.since_version(), node.input(2)) {
            (7 | 10, _) | (12.., None) => true,
            (12.., Some(mode)) => {
                let producer = self.values[mode].producer().map(|producer| &self.nodes[producer]);
                let constant = producer.filter(|producer| producer.is(op::CONSTANT));
                let held = constant.and_then(|constant| constant.attribute(attr::VALUE)?.as_tensor());
                let tensor = held.map(AsRef::as_ref).or_else(|| self.constant_tensor(mode));
                let elements = tensor.and_then(|tensor| tensor.get_i64s(&NoData, 1).ok());
                elements.is_some_and(|elements| elements == [0])
            }
            _ => node.int(attr::IS_TEST) == Some(1),
        }
    }
}
