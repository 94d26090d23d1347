//! `TypeProto` and what is in it.

use onnx_proto::field::{tensor_shape, ty};
use onnx_proto::wire::Writer;
use onnx_types::{Dim, ElemType, Shape, TensorType, Type, TypeKind};

use super::{Cx, Result};

impl Cx<'_> {
    /// Writes a type as field `number`.
    pub(super) fn ty(&self, writer: &mut Writer, number: u32, ty: &Type) -> Result {
        self.nested_type(writer, number, ty, 0)
    }

    /// Writes a type that is nested in `depth` others.
    fn nested_type(&self, writer: &mut Writer, number: u32, ty: &Type, depth: u32) -> Result {
        if let Some(source) = &ty.source {
            writer.bytes(number, source);
            return Ok(());
        }
        // A sequence or a similar type is two messages: the type and what it holds.
        let depth = self.deeper(depth, 2)?;
        writer.message(number, |writer| {
            match &ty.kind {
                TypeKind::Opaque { .. }
                | TypeKind::Tensor(_)
                | TypeKind::Sequence(_)
                | TypeKind::Map { .. } => {
                    // In the order of the numbers, the denotation follows tensors, sequences and maps, and precedes the others.
                    let after = !matches!(ty.kind, TypeKind::Opaque { .. });
                    if after {
                        self.kind(writer, &ty.kind, depth)?;
                    }
                    self.denotation(writer, ty);
                    if !after {
                        self.kind(writer, &ty.kind, depth)?;
                    }
                }
                kind => {
                    self.denotation(writer, ty);
                    self.kind(writer, kind, depth)?;
                }
            }
            Ok(())
        })
    }

    fn denotation(&self, writer: &mut Writer, ty: &Type) {
        if let Some(denotation) = ty.denotation {
            self.put(writer, ty::DENOTATION, self.str(denotation));
        }
    }

    fn kind(&self, writer: &mut Writer, kind: &TypeKind, depth: u32) -> Result {
        match kind {
            TypeKind::Undefined => {}
            TypeKind::Tensor(tensor) => {
                writer.message(ty::TENSOR_TYPE, |writer| self.tensor_type(writer, tensor))
            }
            TypeKind::SparseTensor(tensor) => {
                writer.message(ty::SPARSE_TENSOR_TYPE, |writer| self.tensor_type(writer, tensor))
            }
            TypeKind::Sequence(inner) => self.wrapped(writer, ty::SEQUENCE_TYPE, inner.as_deref(), depth)?,
            TypeKind::Optional(inner) => self.wrapped(writer, ty::OPTIONAL_TYPE, inner.as_deref(), depth)?,
            TypeKind::Map { key, value } => writer.message(ty::MAP_TYPE, |writer| {
                elem(writer, ty::map::KEY_TYPE, *key);
                value
                    .as_deref()
                    .map_or(Ok(()), |value| self.nested_type(writer, ty::map::VALUE_TYPE, value, depth))
            })?,
            TypeKind::Opaque { domain, name } => writer.message(ty::OPAQUE_TYPE, |writer| {
                for (number, symbol) in [(ty::opaque::DOMAIN, *domain), (ty::opaque::NAME, *name)] {
                    if !symbol.is_empty() {
                        self.put(writer, number, self.str(symbol));
                    }
                }
            }),
        }
        Ok(())
    }

    /// Writes a sequence or an optional as field `number`. Both hold the inner type in a field of the same number.
    fn wrapped(&self, writer: &mut Writer, number: u32, inner: Option<&Type>, depth: u32) -> Result {
        const { assert!(ty::sequence::ELEM_TYPE == ty::optional::ELEM_TYPE) };
        writer.message(number, |writer| match inner {
            Some(inner) => self.nested_type(writer, ty::sequence::ELEM_TYPE, inner, depth),
            None => Ok(()),
        })
    }

    fn tensor_type(&self, writer: &mut Writer, tensor: &TensorType) {
        elem(writer, ty::tensor::ELEM_TYPE, tensor.elem);
        if let Some(shape) = &tensor.shape {
            writer.message(ty::tensor::SHAPE, |writer| self.shape(writer, shape));
        }
    }

    fn shape(&self, writer: &mut Writer, shape: &Shape) {
        for (axis, &dim) in shape.dims().iter().enumerate() {
            writer.message(tensor_shape::DIM, |writer| {
                match dim {
                    Dim::Known(size) => writer.int64(tensor_shape::dimension::DIM_VALUE, size),
                    Dim::Var(name) => self.put(writer, tensor_shape::dimension::DIM_PARAM, self.str(name)),
                    Dim::Expr(_) => {
                        self.put(
                            writer,
                            tensor_shape::dimension::DIM_PARAM,
                            &self.model.exprs().display(dim, self.model.names()).to_string(),
                        );
                    }
                    Dim::Unknown => {
                        if let Some(number) = shape.negative(axis) {
                            writer.int64(tensor_shape::dimension::DIM_VALUE, number);
                        }
                    }
                }
                if let Some(denotation) = shape.denotation(axis) {
                    self.put(writer, tensor_shape::dimension::DENOTATION, self.str(denotation));
                }
            });
        }
    }
}

/// Writes an element type as field `number`, unless it is undefined.
fn elem(writer: &mut Writer, number: u32, elem: ElemType) {
    if elem != ElemType::Undefined {
        writer.int32(number, elem.code());
    }
}
