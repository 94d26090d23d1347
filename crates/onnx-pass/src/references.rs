//! References to values apart from data flow: quantization annotations, training bindings, and shardings of nodes over devices.
//!
//! Such a reference is a statement about one tensor. Whether it holds for another one is not known, so the policy is:
//!
//! * A value that it names is not replaced: a patch is refused, and a restructuring leaves the value where it is.
//! * The node or initializer that makes the value is kept, even if nothing else uses it. Annotations of a node about its
//!   own operands and results are erased with the node.
//! * An initializer that training updates is not a constant: no edit depends on its elements.

use onnx_ir::{Model, ValueId, ValueRef};

use crate::keys::{KeyMap, KeySet};

/// The values that the references of a model name.
#[derive(Debug, Default)]
pub(crate) struct References {
    /// The kind of reference that names a value.
    named: KeyMap<ValueId, &'static str>,
    /// The initializers that a training step sets.
    trained: KeySet<ValueId>,
}

impl References {
    /// Collects the references. It takes linear time.
    pub(crate) fn of(model: &Model) -> Self {
        let mut references = Self::default();
        for_each(model, &mut |value, by| {
            references.named.entry(value).map(|entry| entry.or_insert(by));
        });
        let bindings = model
            .info()
            .training
            .iter()
            .flat_map(|training| training.initialization_binding.iter().chain(&training.update_binding));
        for binding in bindings {
            if let ValueRef::Value(value) = binding.key {
                references.trained.insert(value, ());
            }
        }
        references
    }

    /// An erased value that a reference of an edited model names, and the kind of reference.
    pub(crate) fn lost(&self, after: &Model) -> Option<(ValueId, &'static str)> {
        let mut lost = None;
        if !self.named.is_empty() {
            for_each(after, &mut |value, by| {
                if self.named.contains_key(value) && after.get_value(value).is_none() {
                    lost = lost.or(Some((value, by)));
                }
            });
        }
        lost
    }

    /// The reference that names a value; `None` if there is none.
    pub(crate) fn to(&self, value: ValueId) -> Option<&'static str> {
        self.named.get(value).copied()
    }

    /// Returns `true` if nothing names a value.
    pub(crate) fn allow(&self, value: ValueId) -> bool {
        !self.named.contains_key(value)
    }

    /// Returns `true` if a training step sets an initializer of the model.
    pub(crate) fn has_trained(&self) -> bool {
        !self.trained.is_empty()
    }

    /// Returns `true` if a training step sets an initializer.
    pub(crate) fn is_trained(&self, value: ValueId) -> bool {
        self.trained.contains_key(value)
    }
}

/// Visits the values that references name, in the order of the model.
fn for_each(model: &Model, visit: &mut dyn FnMut(ValueId, &'static str)) {
    let mut add = |reference: ValueRef, by| {
        if let ValueRef::Value(value) = reference {
            visit(value, by);
        }
    };
    for graph in model.all_graphs() {
        for annotation in &model.graph(graph).quantization {
            add(annotation.tensor, "a quantization annotation");
            annotation.parameters.iter().for_each(|entry| add(entry.value, "a quantization annotation"));
        }
        for node in model.nodes(graph) {
            let configurations = model.node(node).device_configurations().iter();
            let shardings = configurations.flat_map(|entry| &entry.shardings);
            shardings.for_each(|sharding| add(sharding.tensor, "a device configuration"));
        }
    }
    for training in &model.info().training {
        for binding in training.initialization_binding.iter().chain(&training.update_binding) {
            add(binding.key, "a training binding");
            add(binding.value, "a training binding");
        }
    }
}
