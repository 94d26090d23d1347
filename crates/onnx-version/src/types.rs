//! The types of values during a conversion.

use onnx_ir::{Model, ValueId};
use onnx_schema::Registry;
use onnx_shape_infer::{InferOptions, Inference, Ty, infer};
use onnx_types::{Dim, ElemType, Execution};
use slotmap::SecondaryMap;

/// The types of values: those of inference, and of the values that steps made after it.
pub(crate) struct Types {
    pub(crate) inference: Inference,
    changed: Changed,
}

/// The changes by steps since inference.
#[derive(Clone, Default)]
pub(crate) struct Changed {
    /// New values that replaced others, each with the original one.
    stand_for: SecondaryMap<ValueId, ValueId>,
    /// Values whose element type a step sets.
    elems: SecondaryMap<ValueId, ElemType>,
}

impl Types {
    pub(crate) fn new(model: &Model, registry: &Registry, execution: &Execution) -> Self {
        let options = InferOptions::default().with_registry(registry).with_execution(execution.clone());
        Self { inference: infer(model, &options), changed: Changed::default() }
    }

    /// A saved state of the changes, which can be restored.
    pub(crate) fn changed(&self) -> Changed {
        self.changed.clone()
    }

    pub(crate) fn restore(&mut self, changed: Changed) {
        self.changed = changed;
    }

    /// Gives a value the type that another one had.
    pub(crate) fn stand_for(&mut self, value: ValueId, original: ValueId) {
        let original = self.original(original);
        self.changed.stand_for.insert(value, original);
    }

    pub(crate) fn set_elem(&mut self, value: ValueId, elem: ElemType) {
        self.changed.elems.insert(value, elem);
    }

    /// The value whose inferred type a value has.
    pub(crate) fn original(&self, value: ValueId) -> ValueId {
        self.changed.stand_for.get(value).copied().unwrap_or(value)
    }

    pub(crate) fn elem(&self, value: ValueId) -> Option<ElemType> {
        let known = self.changed.elems.get(value).copied();
        known.or_else(|| self.inference.elem(self.original(value)))
    }

    pub(crate) fn dims(&self, value: ValueId) -> Option<&[Dim]> {
        self.inference.shape(self.original(value))
    }

    /// The type, without a shape if a step set the element type.
    pub(crate) fn ty(&self, value: ValueId) -> Ty {
        match self.changed.elems.get(value) {
            Some(&elem) => Ty::Tensor(elem, None),
            None => self.inference.ty(self.original(value)),
        }
    }
}
