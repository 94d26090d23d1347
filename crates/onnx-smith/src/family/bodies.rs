//! Bodies of control-flow operators.

use onnx_ir::ValueId;
use onnx_shape_infer::Ty;
use onnx_types::{ElemType, Shape, Type, TypeKind};

use crate::draft::Draft;

pub(crate) fn tensor(elem: ElemType, dims: &[i64]) -> Type {
    Type::tensor(elem, Some(Shape::known(dims)))
}

impl Draft<'_, '_> {
    /// Adds some nodes to the body that was begun last.
    pub(crate) fn fill_body(&mut self) {
        let nodes = self.smith.choices.between(1, 3);
        self.smith.fill(nodes);
    }

    /// What the body declares of an operand.
    pub(crate) fn declared(&self, index: usize) -> Option<Type> {
        self.smith.declarable(&Ty::from(self.ty(index)?))
    }

    /// What the body declares of the last operand, of which it gets pieces along the first `lead` axes.
    pub(crate) fn declared_without(&self, lead: usize) -> Option<Type> {
        let ty = self.declared(self.count().checked_sub(1)?)?;
        let dims = ty.shape()?.dims().get(lead..)?.to_vec();
        Some(Type::tensor(ty.elem(), Some(Shape::new(dims))))
    }

    /// Makes something that a node of the body makes an output of it.
    pub(crate) fn result(&mut self) -> Option<Type> {
        self.result_of(|_| true)
    }

    /// The same for a tensor of known rank, as those that are stacked have.
    pub(crate) fn result_tensor(&mut self) -> Option<Type> {
        self.result_of(|ty| matches!(ty.kind, TypeKind::Tensor(_)) && ty.shape().is_some())
    }

    pub(crate) fn result_of(&mut self, fits: impl Fn(&Type) -> bool) -> Option<Type> {
        let scope = self.smith.scopes.last()?;
        let graph = scope.graph;
        let made: Vec<(ValueId, Type)> = scope
            .entries
            .iter()
            .filter(|entry| entry.is_made && !self.smith.model.is_graph_output(entry.value))
            .filter_map(|entry| Some((entry.value, self.smith.declarable(&entry.ty).filter(&fits)?)))
            .collect();
        let back = self.smith.choices.below(made.len());
        let found = made.len().checked_sub(back.checked_add(1)?).and_then(|index| made.get(index)).cloned();
        let (value, ty) = match found {
            Some(found) => found,
            None => (self.smith.constant_in(ElemType::Float, &[2], &[1, 2])?, tensor(ElemType::Float, &[2])),
        };
        self.smith.model.push_graph_output(graph, value);
        Some(ty)
    }
}
