//! What a rule says about the outputs.

use std::sync::Arc;

use onnx_ir::ValueId;
use onnx_types::{ElemType, Type};

use super::{Cx, Stop};
use crate::content::{Content, Elem};
use crate::sequence::Members;
use crate::table::Table;
use crate::ty::{Dims, Ty};

/// What a rule has said about one output. The type variables have been filled in before.
#[derive(Clone, Debug, Default)]
pub(crate) struct Out {
    pub(crate) ty: Ty,
    /// The tensor whose shape it has. The type has no shape then: most outputs have that of an input, and need not copy it
    /// twice to get it.
    pub(crate) like: Option<ValueId>,
    pub(crate) content: Option<Content>,
    /// The elements of a sequence.
    pub(crate) members: Option<Arc<Members>>,
}

impl Out {
    /// Says the whole type.
    pub(crate) fn set(&mut self, ty: Ty) {
        self.ty = ty;
        self.like = None;
    }

    /// Leaves nothing but what kind of value it is.
    pub(crate) fn forget_sizes(&mut self) {
        self.content = None;
        self.members = None;
        self.set(self.ty.without_shape());
    }

    /// Puts the shape into the type where it was only said whose it is.
    pub(crate) fn settle(&mut self, table: &Table) {
        if let Some(like) = self.like.take()
            && let Ty::Tensor(_, dims) = &mut self.ty
        {
            *dims = table.dims(like).map(Dims::from_slice);
        }
    }
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
    pub fn output_ty(&mut self, index: usize) -> &Ty {
        match self.outs.get_mut(index) {
            Some(out) => {
                out.settle(&self.state.table);
                &out.ty
            }
            None => &Ty::Unknown,
        }
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
        self.set_dims(index, dims.into_iter().collect());
    }

    /// The same for dimensions that are gathered already.
    pub(crate) fn set_dims(&mut self, index: usize, dims: Dims) {
        if let Some(out) = self.outs.get_mut(index) {
            out.like = None;
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
            out.set(ty.into());
        }
    }

    /// Says what elements an output has, in row-major order. It counts only if the shape of the output is known and has as
    /// many elements.
    pub fn set_content(&mut self, index: usize, content: impl IntoIterator<Item = Elem>) {
        let most = self.content_limit().saturating_add(1);
        if index < self.outs.len() {
            self.share_content(index, content.into_iter().take(most).collect());
        }
    }

    /// The same for elements that are gathered already, such as those of an input.
    pub fn share_content(&mut self, index: usize, content: Content) {
        let limit = self.content_limit();
        if let Some(out) = self.outs.get_mut(index) {
            let is_of_use = content.len() <= limit && content.iter().any(|&elem| elem != Elem::Unknown);
            out.content = is_of_use.then_some(content);
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
        let table = &self.state.table;
        let value = self.input(input).filter(|&value| table.dims(value).is_some()).ok_or(Stop::Unknown)?;
        let Some(out) = self.outs.get_mut(output) else { return Ok(()) };
        match &mut out.ty {
            Ty::Tensor(_, dims) => *dims = None,
            ty @ Ty::Unknown => *ty = Ty::Tensor(ElemType::Undefined, None),
            Ty::Other(_) => {
                let dims = self.shape(input)?;
                self.set_dims(output, dims);
                return Ok(());
            }
        }
        out.like = Some(value);
        Ok(())
    }
}
