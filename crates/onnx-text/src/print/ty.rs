//! Types and shapes.

use std::fmt::Write as _;

use onnx_types::{Dim, ElemType, Shape, Type, TypeKind};

use super::meta::Entries;
use super::{Printer, Result};
use crate::lexer::is_identifier;

impl Printer<'_> {
    /// Writes a type with what else it says.
    pub(super) fn ty(&mut self, ty: &Type) -> Result {
        self.deeper()?;
        match &ty.kind {
            TypeKind::Undefined => self.out.push('?'),
            TypeKind::Tensor(tensor) => self.shaped(tensor.elem, tensor.shape.as_ref()),
            TypeKind::SparseTensor(tensor) => {
                self.out.push_str("sparse_tensor(");
                self.shaped(tensor.elem, tensor.shape.as_ref());
                self.out.push(')');
            }
            TypeKind::Sequence(inner) => self.wrapped("seq(", inner.as_deref())?,
            TypeKind::Optional(inner) => self.wrapped("optional(", inner.as_deref())?,
            TypeKind::Map { key, value } => {
                self.out.push_str("map(");
                self.elem(key.code());
                if let Some(value) = value {
                    self.out.push_str(", ");
                    self.ty(value)?;
                }
                self.out.push(')');
            }
            TypeKind::Opaque { domain, name } => self.opaque(self.str(*domain), self.str(*name)),
        }
        self.depth = self.depth.saturating_sub(1);
        let mut entries = Entries::annotation();
        if let Some(denotation) = ty.denotation {
            if self.compat() {
                self.lost("the denotation of a type");
            } else {
                self.key(&mut entries, "denotation");
                self.string(self.str(denotation));
            }
        }
        if let Some(source) = &ty.source {
            if self.compat() {
                self.lost("the form that the file gives to a type");
            } else if self.exact() {
                self.key(&mut entries, "source");
                self.hex(source);
            }
        }
        self.end(&entries);
        Ok(())
    }

    fn wrapped(&mut self, open: &str, inner: Option<&Type>) -> Result {
        self.out.push_str(open);
        inner.map_or(Ok(()), |inner| self.ty(inner))?;
        self.out.push(')');
        Ok(())
    }

    /// Writes an element type by its name, or as `?7` where no type has the number.
    pub(super) fn elem(&mut self, code: i32) {
        match ElemType::from_code(code) {
            Some(elem) if elem != ElemType::Undefined => self.out.push_str(elem.name()),
            _ => {
                // Writing to a string cannot fail.
                let _ = write!(self.out, "?{code}");
            }
        }
    }

    fn shaped(&mut self, elem: ElemType, shape: Option<&Shape>) {
        self.elem(elem.code());
        let Some(shape) = shape else {
            self.out.push_str("[]");
            return;
        };
        for (axis, &dim) in shape.dims().iter().enumerate() {
            self.out.push(if axis == 0 { '[' } else { ',' });
            match dim {
                Dim::Known(size) => self.int(size),
                Dim::Var(name) => self.name(self.str(name)),
                Dim::Expr(_) => {
                    let text = self.model.exprs().display(dim, self.model.names()).to_string();
                    self.name(&text);
                }
                Dim::Unknown => match shape.negative(axis) {
                    Some(number) => self.int(number),
                    None => self.out.push('?'),
                },
            }
            if let Some(denotation) = shape.denotation(axis) {
                if self.compat() {
                    self.lost("the denotation of a dimension");
                } else {
                    self.out.push_str(" @");
                    self.string(self.str(denotation));
                }
            }
        }
        if shape.rank() > 0 {
            self.out.push(']');
        }
    }

    /// Writes an opaque type. Two arguments are domain and name; one is the name, which may have dots in it.
    fn opaque(&mut self, domain: &str, name: &str) {
        self.out.push_str("opaque(");
        if !domain.is_empty() {
            self.dotted(domain);
            self.out.push_str(", ");
            self.name(name);
        } else if !name.is_empty() {
            self.dotted(name);
        }
        self.out.push(')');
    }

    fn dotted(&mut self, name: &str) {
        if is_dotted(name) { self.out.push_str(name) } else { self.string(name) }
    }

    /// Returns `true` if the reference's syntax can express a type, except for denotations.
    pub(super) fn is_plain_type(&self, ty: &Type) -> bool {
        let mut at = Some(ty);
        // Types are chains: no kind holds more than one other type.
        while let Some(ty) = at {
            at = match &ty.kind {
                TypeKind::Undefined => return false,
                TypeKind::Tensor(tensor) | TypeKind::SparseTensor(tensor) => {
                    let named = |dim: &Dim| !matches!(dim, Dim::Var(name) if name.is_empty());
                    return tensor.elem != ElemType::Undefined
                        && tensor.shape.iter().flat_map(Shape::dims).all(named);
                }
                TypeKind::Sequence(None) | TypeKind::Optional(None) | TypeKind::Map { value: None, .. } => {
                    return false;
                }
                TypeKind::Sequence(inner) | TypeKind::Optional(inner) => inner.as_deref(),
                TypeKind::Map { key, value } => {
                    if *key == ElemType::Undefined {
                        return false;
                    }
                    value.as_deref()
                }
                TypeKind::Opaque { domain, name } => {
                    let (domain, name) = (self.str(*domain), self.str(*name));
                    return if domain.is_empty() {
                        name.is_empty() || is_dotted(name)
                    } else {
                        is_dotted(domain) && is_identifier(name.as_bytes())
                    };
                }
            };
        }
        true
    }
}

/// Whether a name consists of identifiers with dots between them.
pub(super) fn is_dotted(name: &str) -> bool {
    name.split('.').all(|part| is_identifier(part.as_bytes()))
}
