//! `TypeProto` and what is in it.

use onnx_proto::wire::Writer;
use onnx_types::{Dim, ElemType, Shape, TensorType, Type, TypeKind};

use super::{Cx, Result};

impl Cx<'_> {
    /// Writes a type as field `number`.
    pub(super) fn ty(&self, writer: &mut Writer, number: u32, ty: &Type) -> Result {
        self.nested_type(writer, number, ty, 0)
    }

    /// Writes a type that stands inside `depth` others.
    fn nested_type(&self, writer: &mut Writer, number: u32, ty: &Type, depth: u32) -> Result {
        if let Some(source) = &ty.source {
            writer.bytes(number, source);
            return Ok(());
        }
        // A sequence or the like is two messages: the type and what it holds.
        let depth = self.deeper(depth, 2)?;
        writer.message(number, |writer| {
            match &ty.kind {
                TypeKind::Opaque { .. }
                | TypeKind::Tensor(_)
                | TypeKind::Sequence(_)
                | TypeKind::Map { .. } => {
                    // The denotation is field 6, which comes after tensors, sequences and maps only.
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
            self.put(writer, 6, self.str(denotation));
        }
    }

    fn kind(&self, writer: &mut Writer, kind: &TypeKind, depth: u32) -> Result {
        match kind {
            TypeKind::Undefined => {}
            TypeKind::Tensor(tensor) => writer.message(1, |writer| self.tensor_type(writer, tensor)),
            TypeKind::SparseTensor(tensor) => writer.message(8, |writer| self.tensor_type(writer, tensor)),
            TypeKind::Sequence(inner) => self.wrapped(writer, 4, inner.as_deref(), depth)?,
            TypeKind::Optional(inner) => self.wrapped(writer, 9, inner.as_deref(), depth)?,
            TypeKind::Map { key, value } => writer.message(5, |writer| {
                elem(writer, *key);
                value.as_deref().map_or(Ok(()), |value| self.nested_type(writer, 2, value, depth))
            })?,
            TypeKind::Opaque { domain, name } => writer.message(7, |writer| {
                for (number, symbol) in [(1, *domain), (2, *name)] {
                    if !symbol.is_empty() {
                        self.put(writer, number, self.str(symbol));
                    }
                }
            }),
        }
        Ok(())
    }

    fn wrapped(&self, writer: &mut Writer, number: u32, inner: Option<&Type>, depth: u32) -> Result {
        writer
            .message(number, |writer| inner.map_or(Ok(()), |inner| self.nested_type(writer, 1, inner, depth)))
    }

    fn tensor_type(&self, writer: &mut Writer, tensor: &TensorType) {
        elem(writer, tensor.elem);
        if let Some(shape) = &tensor.shape {
            writer.message(2, |writer| self.shape(writer, shape));
        }
    }

    fn shape(&self, writer: &mut Writer, shape: &Shape) {
        for (axis, &dim) in shape.dims().iter().enumerate() {
            writer.message(1, |writer| {
                match dim {
                    Dim::Known(size) => writer.int64(1, size),
                    Dim::Var(name) => self.put(writer, 2, self.str(name)),
                    Dim::Expr(_) => {
                        self.put(writer, 2, &self.model.exprs().display(dim, self.model.names()).to_string());
                    }
                    Dim::Unknown => {}
                }
                if let Some(denotation) = shape.denotation(axis) {
                    self.put(writer, 3, self.str(denotation));
                }
            });
        }
    }
}

/// Writes an element type, unless it is undefined.
fn elem(writer: &mut Writer, elem: ElemType) {
    if elem != ElemType::Undefined {
        writer.int32(1, elem.code());
    }
}
