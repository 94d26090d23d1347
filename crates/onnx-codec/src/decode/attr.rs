//! `AttributeProto`.

use std::sync::Arc;

use onnx_ir::{AttrExtra, AttrKind, AttrValue, Attribute, SparseTensor};
use onnx_proto::field::attribute;
use onnx_proto::wire::{Field, Payload, Reader, Value, Writer};
use onnx_types::{FieldForms, Symbol, Type, UnknownField};
use smallvec::SmallVec;

use super::tensor::{SparseParts, TensorParts};
use super::{Cx, NumberSet, Occurrences, Result, Step, WireForm, len, small_messages, varint};
use crate::rules;

/// An attribute that is being read.
#[derive(Default)]
struct Parts<'a> {
    name: Symbol,
    doc: Symbol,
    reference: Option<Symbol>,
    declared: Option<i32>,
    value: Option<AttrValue>,
    /// The number of the field that contains the value.
    number: u32,
    /// A singular tensor, sparse tensor, graph or type may occur several times. The large ones are boxed, because an
    /// attribute is on the stack while a graph in it is read.
    tensor: Option<Box<TensorParts<'a>>>,
    sparse: Option<Box<SparseParts<'a>>>,
    graph: Occurrences<'a>,
    /// Graphs are read last, when it is known that the value is of this field.
    graphs: Vec<Reader<'a>>,
    ty: SmallVec<[Payload<'a>; 1]>,
    form: WireForm,
    /// Whether several fields hold a value, and `number` was chosen among them.
    chosen: bool,
    several: bool,
}

impl Parts<'_> {
    /// Returns `true` if the value may be in field `number`: no other value field was seen.
    fn claim(&mut self, number: u32) -> bool {
        if self.number == 0 {
            self.number = number;
        }
        self.number == number
    }

    fn has_value(&self) -> bool {
        self.value.is_some()
            || self.tensor.is_some()
            || self.sparse.is_some()
            || !(self.graph.is_empty() && self.graphs.is_empty() && self.ty.is_empty())
    }
}

macro_rules! list {
    ($parts:ident, $variant:ident) => {{
        let list = $parts.value.get_or_insert(AttrValue::$variant(Vec::new()));
        match list {
            AttrValue::$variant(list) => list,
            // `claim` made sure that the value is of this field.
            _ => return Ok(false),
        }
    }};
}

impl<'a> Cx<'a> {
    pub(super) fn attribute(&mut self, reader: &Reader<'a>, payload: Payload<'a>) -> Result<Attribute> {
        let whole = reader.message(payload)?;
        if let Some(attribute) = self.simple_attribute(whole.clone())? {
            return Ok(attribute);
        }
        self.general_attribute(&whole)
    }

    /// The fast path: an attribute that consists of the name, one value of a common kind, and the kind, in this order. Returns
    /// `None` for others.
    fn simple_attribute(&mut self, mut fields: Reader<'a>) -> Result<Option<Attribute>> {
        let Some((attribute::NAME, text)) = fields.next_short_len().filter(|(_, text)| !text.is_empty())
        else {
            return Ok(None);
        };
        let mut value = AttrValue::None;
        while let Ok(Some(field)) = fields.next_field() {
            match (field.number, field.value, &mut value) {
                (attribute::F, Value::Fixed32(bits), AttrValue::None) => {
                    value = AttrValue::Float(f32::from_bits(bits))
                }
                (attribute::I, Value::Varint(number), AttrValue::None) => {
                    value = AttrValue::Int(number.cast_signed())
                }
                (attribute::S, Value::Len(text), AttrValue::None) => {
                    value = AttrValue::String(small_messages::bytes(&fields, text))
                }
                (attribute::T, Value::Len(tensor), AttrValue::None) => {
                    match self.simple_tensor(&fields, tensor)? {
                        Some((tensor, None)) => value = AttrValue::Tensor(Arc::new(tensor)),
                        _ => break,
                    }
                }
                (attribute::FLOATS, Value::Fixed32(bits), AttrValue::Floats(list)) => {
                    list.push(f32::from_bits(bits))
                }
                (attribute::FLOATS, Value::Fixed32(bits), AttrValue::None) => {
                    value = AttrValue::Floats(vec![f32::from_bits(bits)])
                }
                (attribute::INTS, Value::Varint(number), AttrValue::Ints(list)) => {
                    list.push(number.cast_signed())
                }
                (attribute::INTS, Value::Varint(number), AttrValue::None) => {
                    value = AttrValue::Ints(vec![number.cast_signed()])
                }
                (attribute::TYPE, Value::Varint(_), AttrValue::None) => break,
                (attribute::TYPE, Value::Varint(code), value) if fields.remaining() == 0 => {
                    let (name, value) =
                        (self.name(&fields, text)?, std::mem::replace(value, AttrValue::None));
                    let declared = Some(fields.int32(code));
                    return Ok(Some(Attribute::from_parts(
                        name,
                        value,
                        declared,
                        FieldForms::CANONICAL,
                        None,
                    )));
                }
                _ => break,
            }
        }
        Ok(None)
    }

    /// The general path: an attribute with any fields.
    fn general_attribute(&mut self, whole: &Reader<'a>) -> Result<Attribute> {
        let mut fields = whole.clone();
        let mut parts = Parts::default();
        while let Some(field) = fields.next_field()? {
            let taken = match field.number {
                number if is_head(number) => self.attribute_head(&fields, &field, &mut parts)?,
                number if is_value(number) => {
                    let claimed = parts.claim(field.number);
                    if !(claimed || parts.chosen) {
                        parts = choose(whole)?;
                        fields = whole.clone();
                        continue;
                    }
                    claimed && self.attribute_value(&fields, &field, &mut parts)?
                }
                _ => {
                    self.keep(&mut parts.form.unknown, &field, false);
                    true
                }
            };
            if !taken {
                let other = parts.number != field.number && is_value(field.number);
                self.keep(&mut parts.form.unknown, &field, !other);
            }
        }
        self.finish(whole, parts)
    }

    /// Name, documentation, kind and reference.
    fn attribute_head(
        &mut self,
        reader: &Reader<'a>,
        field: &Field<'a>,
        parts: &mut Parts<'a>,
    ) -> Result<bool> {
        match (field.number, len(field.value), varint(field.value)) {
            (attribute::NAME, Some(text), _) => {
                parts.name = self.cached_name(reader, text)?;
                parts.form.note(attribute::NAME, text.is_empty());
            }
            (attribute::DOC_STRING, Some(text), _) => {
                parts.doc = self.noted(reader, text, field.number, &mut parts.form)?;
            }
            (attribute::TYPE, _, Some(code)) => {
                let code = reader.int32(code);
                if let Some(before) = parts.declared.replace(code) {
                    declared_again(parts, before, code);
                }
            }
            (attribute::REF_ATTR_NAME, Some(text), _) => {
                parts.reference = (!text.is_empty()).then_some(self.name(reader, text)?);
                parts.form.note(attribute::REF_ATTR_NAME, text.is_empty());
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Reads a value field; returns `true` if its wire type matches.
    fn attribute_value(
        &mut self,
        reader: &Reader<'a>,
        field: &Field<'a>,
        parts: &mut Parts<'a>,
    ) -> Result<bool> {
        match (field.number, field.value) {
            (attribute::F, Value::Fixed32(bits)) => {
                parts.value = Some(AttrValue::Float(f32::from_bits(bits)))
            }
            (attribute::I, Value::Varint(value)) => parts.value = Some(AttrValue::Int(value.cast_signed())),
            (attribute::S, Value::Len(text)) => {
                parts.value = Some(AttrValue::String(small_messages::bytes(reader, text)))
            }
            (attribute::T, Value::Len(tensor)) => {
                self.tensor_into(reader, tensor, parts.tensor.get_or_insert_default())?
            }
            (attribute::G, Value::Len(graph)) => parts.graph.push(reader.message(graph)?),
            (attribute::FLOATS, _) => return self.floats(reader, field.value, parts),
            (attribute::INTS, _) => return Self::ints(reader, field.value, parts),
            (attribute::STRINGS, Value::Len(text)) => {
                list!(parts, Strings).push(small_messages::bytes(reader, text))
            }
            (attribute::TENSORS, Value::Len(tensor)) => {
                let mut tensor_parts = TensorParts::default();
                self.tensor_into(reader, tensor, &mut tensor_parts)?;
                let tensor = Arc::new(self.finish_tensor(tensor_parts)?);
                list!(parts, Tensors).push(tensor);
            }
            (attribute::GRAPHS, Value::Len(graph)) => parts.graphs.push(reader.message(graph)?),
            (attribute::TP, Value::Len(ty)) => parts.ty.push(ty),
            (attribute::TYPE_PROTOS, Value::Len(ty)) => {
                let ty: Type = self.ty(reader, &[ty])?;
                list!(parts, Types).push(ty);
            }
            (attribute::SPARSE_TENSOR, Value::Len(sparse)) => {
                self.sparse_into(reader, sparse, parts.sparse.get_or_insert_default())?
            }
            (attribute::SPARSE_TENSORS, Value::Len(sparse)) => {
                let mut sparse_parts = SparseParts::default();
                self.sparse_into(reader, sparse, &mut sparse_parts)?;
                let sparse: Arc<SparseTensor> = Arc::new(self.finish_sparse(sparse_parts)?);
                list!(parts, SparseTensors).push(sparse);
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn floats(&self, reader: &Reader<'a>, value: Value<'a>, parts: &mut Parts<'a>) -> Result<bool> {
        match value {
            Value::Fixed32(bits) => list!(parts, Floats).push(f32::from_bits(bits)),
            Value::Len(packed) => {
                let values = reader.packed_fixed32(packed)?;
                list!(parts, Floats).extend(values.floats());
                parts.form.forms.set_packed(attribute::FLOATS, true);
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn ints(reader: &Reader<'a>, value: Value<'a>, parts: &mut Parts<'a>) -> Result<bool> {
        let list = list!(parts, Ints);
        let packed = small_messages::push_ints(reader, value, |value| list.push(value))?;
        if packed == Some(small_messages::Packed::Yes) {
            parts.form.forms.set_packed(attribute::INTS, true);
        }
        Ok(packed.is_some())
    }

    /// Reads a graph of an attribute.
    fn nested(&mut self, occurrences: &Occurrences<'a>, attribute: Symbol) -> Result<onnx_ir::GraphId> {
        let graph = self.model.new_graph(Symbol::EMPTY);
        self.steps.push(Step::Attribute(attribute));
        self.graph(occurrences, graph, false, |_| Ok(()))?;
        self.steps.pop();
        Ok(graph)
    }

    fn finish(&mut self, whole: &Reader<'a>, mut parts: Parts<'a>) -> Result<Attribute> {
        let value = match parts.reference {
            Some(target) => {
                if parts.has_value() {
                    // A value in addition to the reference is kept unchanged; graphs in it stay out of the model.
                    self.reference_with_value(parts.name, whole.offset());
                    self.keep_value(whole.clone(), &mut parts)?;
                }
                AttrValue::Ref(target)
            }
            None => self.finish_value(whole, &mut parts)?,
        };
        if parts.several {
            let name = self.model.str(parts.name).to_owned();
            self.report(&rules::ATTRIBUTE_WITH_SEVERAL_VALUES, whole.offset(), || {
                format!("attribute {} holds more than one value", onnx_diag::Quoted(&name))
            });
        }
        let WireForm { forms, unknown } = parts.form;
        let extra = AttrExtra::boxed(parts.doc, unknown);
        Ok(Attribute::from_parts(parts.name, value, parts.declared, forms, extra))
    }

    /// The value; its messages are merged now.
    fn finish_value(&mut self, whole: &Reader<'a>, parts: &mut Parts<'a>) -> Result<AttrValue> {
        // Graphs hold attributes again, so what they need not is not on the stack when they are read.
        if parts.graph.is_empty() && parts.graphs.is_empty() {
            self.finish_leaf(whole, parts)
        } else {
            self.finish_graphs(parts)
        }
    }

    fn finish_leaf(&mut self, whole: &Reader<'a>, parts: &mut Parts<'a>) -> Result<AttrValue> {
        if let Some(tensor) = parts.tensor.take() {
            return Ok(AttrValue::Tensor(Arc::new(self.finish_tensor(*tensor)?)));
        }
        if let Some(sparse) = parts.sparse.take() {
            return Ok(AttrValue::SparseTensor(Arc::new(self.finish_sparse(*sparse)?)));
        }
        if !parts.ty.is_empty() {
            return Ok(AttrValue::Type(Arc::new(self.ty(whole, &parts.ty)?)));
        }
        Ok(parts.value.take().unwrap_or_else(|| empty_list(parts.declared)))
    }

    fn finish_graphs(&mut self, parts: &mut Parts<'a>) -> Result<AttrValue> {
        if !parts.graph.is_empty() {
            return Ok(AttrValue::Graph(self.nested(&parts.graph, parts.name)?));
        }
        let mut graphs = Vec::with_capacity(parts.graphs.len());
        for graph in parts.graphs.drain(..) {
            graphs.push(self.nested(&std::iter::once(graph).collect(), parts.name)?);
        }
        Ok(AttrValue::Graphs(graphs))
    }

    /// Reports a value in addition to a reference. The reference implementation rejects it in nested graphs only.
    #[cold]
    fn reference_with_value(&mut self, name: Symbol, offset: usize) {
        let name = self.model.str(name).to_owned();
        let nested = self.model.depth() > 1;
        self.report_as(&rules::REFERENCE_WITH_VALUE, offset, !nested, || {
            format!("attribute {} refers to another one and holds a value, too", onnx_diag::Quoted(&name))
        });
    }

    /// Keeps the value fields of an attribute that is a reference.
    #[cold]
    fn keep_value(&mut self, mut fields: Reader<'a>, parts: &mut Parts<'a>) -> Result<()> {
        while let Some(field) = fields.next_field()? {
            if field.number == parts.number && has_value_form(&field) {
                self.keep(&mut parts.form.unknown, &field, false);
            }
        }
        parts.form.forms.set_packed(attribute::FLOATS, false);
        parts.form.forms.set_packed(attribute::INTS, false);
        Ok(())
    }
}

/// Restarts an attribute that has several value fields, with the one that counts: that of the declared kind, or else
/// the one with the lowest number. Their order has no meaning in protobuf.
#[cold]
fn choose<'a>(whole: &Reader<'a>) -> Result<Parts<'a>> {
    let mut fields = whole.clone();
    let (mut present, mut declared) = (NumberSet::default(), None);
    while let Some(field) = fields.next_field()? {
        if let (attribute::TYPE, Value::Varint(code)) = (field.number, field.value) {
            declared = AttrKind::from_code(fields.int32(code));
        }
        if has_value_form(&field) {
            present.insert(field.number);
        }
    }
    let number = match declared.and_then(value_field) {
        Some(number) if present.contains(number) => number,
        // The lowest number; without any field, a number that no field has.
        _ => present.lowest(),
    };
    let several = present.has_several();
    Ok(Parts { number, several, chosen: true, ..Parts::default() })
}

/// The number of the field that contains a value of the given kind.
const fn value_field(kind: AttrKind) -> Option<u32> {
    Some(match kind {
        AttrKind::Undefined => return None,
        AttrKind::Float => attribute::F,
        AttrKind::Int => attribute::I,
        AttrKind::String => attribute::S,
        AttrKind::Tensor => attribute::T,
        AttrKind::Graph => attribute::G,
        AttrKind::Floats => attribute::FLOATS,
        AttrKind::Ints => attribute::INTS,
        AttrKind::Strings => attribute::STRINGS,
        AttrKind::Tensors => attribute::TENSORS,
        AttrKind::Graphs => attribute::GRAPHS,
        AttrKind::TypeProto => attribute::TP,
        AttrKind::TypeProtos => attribute::TYPE_PROTOS,
        AttrKind::SparseTensor => attribute::SPARSE_TENSOR,
        AttrKind::SparseTensors => attribute::SPARSE_TENSORS,
    })
}

/// Keeps the one of two declared kinds that no kind has as number, as protobuf does: it is an unknown field.
#[cold]
fn declared_again(parts: &mut Parts<'_>, before: i32, code: i32) {
    let (kind, other) = if AttrKind::from_code(code).is_some() { (code, before) } else { (before, code) };
    parts.declared = Some(kind);
    if AttrKind::from_code(other).is_none() {
        let mut writer = Writer::new();
        writer.int32(attribute::TYPE, other);
        parts
            .form
            .unknown
            .push(UnknownField { number: attribute::TYPE, bytes: writer.finish().into_bytes() });
    }
}

/// Whether a field of an attribute holds a value in a form that it can have.
const fn has_value_form(field: &Field<'_>) -> bool {
    match field.value {
        Value::Fixed32(_) => matches!(field.number, attribute::F | attribute::FLOATS),
        Value::Varint(_) => matches!(field.number, attribute::I | attribute::INTS),
        Value::Len(_) => is_value(field.number) && !matches!(field.number, attribute::F | attribute::I),
        _ => false,
    }
}

/// Returns `true` for the fields of an attribute that do not hold a value.
const fn is_head(number: u32) -> bool {
    matches!(number, attribute::NAME | attribute::DOC_STRING | attribute::TYPE | attribute::REF_ATTR_NAME)
}

/// Whether a field of an attribute holds a value.
const fn is_value(number: u32) -> bool {
    attribute::is_known(number) && !is_head(number)
}

/// What an attribute without a value field holds: an empty list if it declares a list, else nothing.
fn empty_list(declared: Option<i32>) -> AttrValue {
    match declared.and_then(AttrKind::from_code) {
        Some(AttrKind::Floats) => AttrValue::Floats(Vec::new()),
        Some(AttrKind::Ints) => AttrValue::Ints(Vec::new()),
        Some(AttrKind::Strings) => AttrValue::Strings(Vec::new()),
        Some(AttrKind::Tensors) => AttrValue::Tensors(Vec::new()),
        Some(AttrKind::Graphs) => AttrValue::Graphs(Vec::new()),
        Some(AttrKind::SparseTensors) => AttrValue::SparseTensors(Vec::new()),
        Some(AttrKind::TypeProtos) => AttrValue::Types(Vec::new()),
        _ => AttrValue::None,
    }
}
