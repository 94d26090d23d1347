//! What a rule says about the outputs.

use std::sync::Arc;

use onnx_types::{ElemType, Type};

use super::Cx;
use crate::content::{Content, Elem};
use crate::ty::{Dims, Ty};

/// What a rule has said about one output. The type variables have been filled in before.
#[derive(Clone, Debug, Default)]
pub(crate) struct Out {
    pub(crate) ty: Ty,
    pub(crate) content: Option<Content>,
}

impl Cx<'_, '_> {
    /// How many outputs the node writes, absent ones between others included.
    #[must_use]
    pub fn output_count(&self) -> usize {
        self.node.outputs().len()
    }

    /// Whether an output is there.
    #[must_use]
    pub fn has_output(&self, index: usize) -> bool {
        self.node.output(index).is_some()
    }

    /// What has been said about the type of an output, by the rule or by the type variables of the schema before it.
    #[must_use]
    pub fn output_ty(&self, index: usize) -> &Ty {
        self.outs.get(index).map_or(&Ty::Unknown, |out| &out.ty)
    }

    /// Says that an output is a tensor of this element type. Not needed where the schema's type variables say so.
    pub fn set_elem(&mut self, index: usize, elem: ElemType) {
        if let Some(out) = self.outs.get_mut(index) {
            match &mut out.ty {
                Ty::Tensor(known, _) => *known = elem,
                ty => *ty = Ty::Tensor(elem, None),
            }
        }
    }

    /// Says that an output is a tensor of this shape. A dimension may be unknown; it becomes a new symbol then. Outputs
    /// that the node does not write are passed over.
    pub fn set_shape(&mut self, index: usize, dims: impl IntoIterator<Item = onnx_types::Dim>) {
        if let Some(out) = self.outs.get_mut(index) {
            let dims: Dims = dims.into_iter().collect();
            match &mut out.ty {
                Ty::Tensor(_, known) => *known = Some(dims),
                Ty::Other(ty) if matches!(ty.kind, onnx_types::TypeKind::SparseTensor(_)) => {
                    let shape = onnx_types::Shape::new(dims);
                    out.ty = Ty::Other(Arc::new(Type::sparse_tensor(ty.elem(), Some(shape))));
                }
                ty => *ty = Ty::Tensor(ElemType::Undefined, Some(dims)),
            }
        }
    }

    /// Gives the unknown sizes of an output the symbols that they will have, so that other outputs can have the same ones.
    /// Without that output they stay unknown.
    pub fn name_sizes(&mut self, index: usize, dims: &mut [onnx_types::Dim]) {
        if let Some(value) = self.node.output(index) {
            self.state.materialize(value, dims);
        }
    }

    /// Says the whole type of an output.
    pub fn set_ty(&mut self, index: usize, ty: impl Into<Ty>) {
        if let Some(out) = self.outs.get_mut(index) {
            out.ty = ty.into();
        }
    }

    /// Says what elements an output has, in row-major order. It counts only if the shape of the output is known and has as
    /// many elements.
    pub fn set_content(&mut self, index: usize, content: impl IntoIterator<Item = Elem>) {
        let limit = self.state.options.limits.content;
        if let Some(out) = self.outs.get_mut(index) {
            let content: Content = content.into_iter().take(limit.saturating_add(1)).collect();
            out.content = (content.len() <= limit && content.iter().any(|&elem| elem != Elem::Unknown))
                .then_some(content);
        }
    }

    /// Gives an output the type of an input.
    pub fn copy_ty(&mut self, input: usize, output: usize) {
        let ty = self.ty(input);
        if !ty.is_unknown() {
            self.set_ty(output, ty);
        }
    }

    /// Gives an output the shape of an input.
    ///
    /// # Errors
    ///
    /// [`Stop::Unknown`](super::Stop::Unknown) when the rank is not known.
    pub fn copy_shape(&mut self, input: usize, output: usize) -> super::Outcome {
        let dims = self.shape(input)?;
        self.set_shape(output, dims);
        Ok(())
    }
}
