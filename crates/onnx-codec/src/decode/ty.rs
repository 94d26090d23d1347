//! `TypeProto` and what is in it.

use std::sync::Arc;

use onnx_proto::field::{tensor_shape, ty};
use onnx_proto::wire::{Payload, Reader};
use onnx_types::{Dim, ElemType, Shape, Symbol, TensorType, Type, TypeKind};

use super::{Cx, Result, len, varint};
use crate::rules;

/// Whether the bytes of a message are those that the encoder would write.
///
/// The encoder writes every type in one form; a type in another form keeps its bytes.
struct Canonical {
    last: u32,
    holds: bool,
}

impl Canonical {
    const fn new() -> Self {
        Self { last: 0, holds: true }
    }

    /// Records a singular field: numbers must ascend.
    fn singular(&mut self, number: u32) {
        self.holds &= number > self.last;
        self.last = number;
    }
}

impl<'a> Cx<'a> {
    /// The type of a value. Values whose types have the same bytes share it.
    pub(super) fn shared_ty(
        &mut self,
        reader: &Reader<'a>,
        occurrences: &[Payload<'a>],
    ) -> Result<Arc<Type>> {
        // In a nested graph, the same bytes may exceed the limit on nesting.
        let key = match occurrences {
            [occurrence] if self.model.depth() == 1 => occurrence.as_slice(),
            _ => return Ok(Arc::new(self.ty(reader, occurrences)?)),
        };
        if let Some(ty) = self.types.get(key) {
            return Ok(Arc::clone(ty));
        }
        let before = (self.input.non_minimal(), self.findings.counts().total());
        let ty = Arc::new(self.ty(reader, occurrences)?);
        // Whether these bytes cause a diagnostic or are not minimal does not depend on where they occur.
        if before == (self.input.non_minimal(), self.findings.counts().total()) {
            self.types.insert(key, Arc::clone(&ty));
        }
        Ok(ty)
    }

    /// A type, merged from its occurrences; its bytes are kept if their encoding is not canonical.
    pub(super) fn ty(&mut self, reader: &Reader<'a>, occurrences: &[Payload<'a>]) -> Result<Type> {
        let minimal = self.input.non_minimal();
        let mut ty = Type::default();
        let mut canonical = true;
        for &occurrence in occurrences {
            canonical &= self.merge_type(reader, occurrence, &mut ty)?;
        }
        ty.source = match occurrences {
            [occurrence] if canonical && minimal == self.input.non_minimal() => {
                debug_assert!(!occurrence.is_empty() || ty == Type::default());
                None
            }
            [occurrence] => Some(reader.share(*occurrence)),
            // Occurrences merge into one message: its fields one after the other.
            occurrences => {
                Some(occurrences.iter().flat_map(|occurrence| occurrence.iter().copied()).collect())
            }
        };
        Ok(ty)
    }

    /// Reads a type; the reader's depth limit bounds the recursion.
    fn merge_type(&mut self, reader: &Reader<'a>, payload: Payload<'a>, ty: &mut Type) -> Result<bool> {
        let mut fields = reader.message(payload)?;
        let mut form = Canonical::new();
        let mut several = false;
        while let Some(field) = fields.next_field()? {
            form.singular(field.number);
            let Some(inner) = len(field.value) else {
                form.holds = false;
                continue;
            };
            match field.number {
                ty::TENSOR_TYPE
                | ty::SEQUENCE_TYPE
                | ty::MAP_TYPE
                | ty::OPAQUE_TYPE
                | ty::SPARSE_TENSOR_TYPE
                | ty::OPTIONAL_TYPE => {
                    several |= kind_field(&ty.kind).is_some_and(|number| number != field.number);
                    let holds = self.kind(&fields, field.number, inner, &mut ty.kind)?;
                    form.holds &= holds;
                }
                ty::DENOTATION => {
                    let denotation = self.name(&fields, inner)?;
                    form.holds &= !denotation.is_empty();
                    ty.denotation = (!denotation.is_empty()).then_some(denotation);
                }
                _ => form.holds = false,
            }
        }
        if several {
            form.holds = false;
            self.report(&rules::TYPE_WITH_SEVERAL_KINDS, payload.offset(), || {
                "a type gives more than one kind: the last one counts".to_owned()
            });
        }
        Ok(form.holds)
    }

    fn kind(
        &mut self,
        reader: &Reader<'a>,
        number: u32,
        payload: Payload<'a>,
        kind: &mut TypeKind,
    ) -> Result<bool> {
        match number {
            ty::TENSOR_TYPE => {
                let mut tensor = match kind {
                    TypeKind::Tensor(tensor) => std::mem::take(tensor),
                    _ => TensorType::default(),
                };
                let holds = self.tensor_type(reader, payload, &mut tensor)?;
                *kind = TypeKind::Tensor(tensor);
                Ok(holds)
            }
            ty::SPARSE_TENSOR_TYPE => {
                let mut tensor = match kind {
                    TypeKind::SparseTensor(tensor) => std::mem::take(tensor),
                    _ => TensorType::default(),
                };
                let holds = self.tensor_type(reader, payload, &mut tensor)?;
                *kind = TypeKind::SparseTensor(tensor);
                Ok(holds)
            }
            ty::SEQUENCE_TYPE => {
                let mut inner = match kind {
                    TypeKind::Sequence(inner) => inner.take(),
                    _ => None,
                };
                let holds = self.inner_type(reader, payload, &mut inner)?;
                *kind = TypeKind::Sequence(inner);
                Ok(holds)
            }
            ty::OPTIONAL_TYPE => {
                let mut inner = match kind {
                    TypeKind::Optional(inner) => inner.take(),
                    _ => None,
                };
                let holds = self.inner_type(reader, payload, &mut inner)?;
                *kind = TypeKind::Optional(inner);
                Ok(holds)
            }
            ty::MAP_TYPE => self.map_type(reader, payload, kind),
            _ => self.opaque_type(reader, payload, kind),
        }
    }

    /// Element type and shape.
    fn tensor_type(
        &mut self,
        reader: &Reader<'a>,
        payload: Payload<'a>,
        tensor: &mut TensorType,
    ) -> Result<bool> {
        let mut fields = reader.message(payload)?;
        let mut form = Canonical::new();
        while let Some(field) = fields.next_field()? {
            form.singular(field.number);
            match (field.number, len(field.value), varint(field.value)) {
                (ty::tensor::ELEM_TYPE, _, Some(code)) => {
                    let code = fields.int32(code);
                    form.holds &= self.elem(code, field.start, &mut tensor.elem);
                }
                (ty::tensor::SHAPE, Some(shape), _) => {
                    let target = tensor.shape.get_or_insert_default();
                    form.holds &= self.shape(&fields, shape, target)?;
                }
                _ => form.holds = false,
            }
        }
        Ok(form.holds)
    }

    /// Sets an element type from its code; returns `true` if the encoder would write the same.
    fn elem(&mut self, code: i32, offset: usize, elem: &mut ElemType) -> bool {
        if let Some(known) = ElemType::from_code(code) {
            *elem = known;
            return code != 0;
        }
        *elem = ElemType::Undefined;
        self.report(&rules::UNKNOWN_ELEMENT_TYPE, offset, || format!("unknown element type {code}"));
        false
    }

    fn shape(&mut self, reader: &Reader<'a>, payload: Payload<'a>, shape: &mut Shape) -> Result<bool> {
        let mut fields = reader.message(payload)?;
        let mut holds = true;
        while let Some(field) = fields.next_field()? {
            match (field.number, len(field.value)) {
                (tensor_shape::DIM, Some(dim)) => {
                    let (dim, denotation, canonical) = self.dim(&fields, dim)?;
                    holds &= canonical;
                    shape.push(dim);
                    if denotation.is_some() {
                        shape.set_denotation(shape.rank().saturating_sub(1), denotation);
                    }
                }
                _ => holds = false,
            }
        }
        Ok(holds)
    }

    fn dim(&mut self, reader: &Reader<'a>, payload: Payload<'a>) -> Result<(Dim, Option<Symbol>, bool)> {
        let mut fields = reader.message(payload)?;
        let mut form = Canonical::new();
        let (mut dim, mut denotation, mut values) = (Dim::Unknown, None, 0_u32);
        while let Some(field) = fields.next_field()? {
            form.singular(field.number);
            match (field.number, len(field.value), varint(field.value)) {
                (tensor_shape::dimension::DIM_VALUE, _, Some(size)) => {
                    dim = Dim::Known(size.cast_signed());
                    values = values.saturating_add(1);
                }
                (tensor_shape::dimension::DIM_PARAM, Some(name), _) => {
                    let name = self.name(&fields, name)?;
                    // The empty name stands for no variable (specification, "Static tensor shapes").
                    form.holds &= !name.is_empty();
                    dim = if name.is_empty() { Dim::Unknown } else { Dim::Var(name) };
                    values = values.saturating_add(1);
                }
                (tensor_shape::dimension::DENOTATION, Some(text), _) => {
                    let name = self.name(&fields, text)?;
                    form.holds &= !name.is_empty();
                    denotation = (!name.is_empty()).then_some(name);
                }
                _ => form.holds = false,
            }
        }
        if values > 1 {
            form.holds = false;
            self.report(&rules::DIMENSION_WITH_TWO_VALUES, payload.offset(), || {
                "a dimension is both a number and a variable: the last one counts".to_owned()
            });
        }
        Ok((dim, denotation, form.holds))
    }

    /// The type inside a sequence or optional.
    fn inner_type(
        &mut self,
        reader: &Reader<'a>,
        payload: Payload<'a>,
        inner: &mut Option<Box<Type>>,
    ) -> Result<bool> {
        let mut fields = reader.message(payload)?;
        let mut form = Canonical::new();
        while let Some(field) = fields.next_field()? {
            form.singular(field.number);
            match (field.number, len(field.value)) {
                (ty::sequence::ELEM_TYPE, Some(ty)) => {
                    form.holds &= self.merge_type(&fields, ty, inner.get_or_insert_default())?
                }
                _ => form.holds = false,
            }
        }
        Ok(form.holds)
    }

    fn map_type(&mut self, reader: &Reader<'a>, payload: Payload<'a>, kind: &mut TypeKind) -> Result<bool> {
        let (mut key, mut value) = match kind {
            TypeKind::Map { key, value } => (*key, value.take()),
            _ => (ElemType::Undefined, None),
        };
        let mut fields = reader.message(payload)?;
        let mut form = Canonical::new();
        while let Some(field) = fields.next_field()? {
            form.singular(field.number);
            match (field.number, len(field.value), varint(field.value)) {
                (ty::map::KEY_TYPE, _, Some(code)) => {
                    let code = fields.int32(code);
                    form.holds &= self.elem(code, field.start, &mut key);
                }
                (ty::map::VALUE_TYPE, Some(ty), _) => {
                    form.holds &= self.merge_type(&fields, ty, value.get_or_insert_default())?;
                }
                _ => form.holds = false,
            }
        }
        *kind = TypeKind::Map { key, value };
        Ok(form.holds)
    }

    fn opaque_type(
        &mut self,
        reader: &Reader<'a>,
        payload: Payload<'a>,
        kind: &mut TypeKind,
    ) -> Result<bool> {
        let (mut domain, mut name) = match kind {
            TypeKind::Opaque { domain, name } => (*domain, *name),
            _ => (Symbol::EMPTY, Symbol::EMPTY),
        };
        let mut fields = reader.message(payload)?;
        let mut form = Canonical::new();
        while let Some(field) = fields.next_field()? {
            form.singular(field.number);
            match (field.number, len(field.value)) {
                (ty::opaque::DOMAIN, Some(text)) => {
                    domain = self.name(&fields, text)?;
                    form.holds &= !domain.is_empty();
                }
                (ty::opaque::NAME, Some(text)) => {
                    name = self.name(&fields, text)?;
                    form.holds &= !name.is_empty();
                }
                _ => form.holds = false,
            }
        }
        *kind = TypeKind::Opaque { domain, name };
        Ok(form.holds)
    }
}

/// The field that encodes a kind of type; `None` for an undefined one.
const fn kind_field(kind: &TypeKind) -> Option<u32> {
    Some(match kind {
        TypeKind::Undefined => return None,
        TypeKind::Tensor(_) => ty::TENSOR_TYPE,
        TypeKind::Sequence(_) => ty::SEQUENCE_TYPE,
        TypeKind::Map { .. } => ty::MAP_TYPE,
        TypeKind::Opaque { .. } => ty::OPAQUE_TYPE,
        TypeKind::SparseTensor(_) => ty::SPARSE_TENSOR_TYPE,
        TypeKind::Optional(_) => ty::OPTIONAL_TYPE,
    })
}
