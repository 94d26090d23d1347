//! Tensors and their data.

use bytes::Bytes;
use onnx_ir::{SparseTensor, TensorPart};
use onnx_types::tensor::{
    ExternalData, Payload, Splat, Tensor, TensorDims, TensorExtra, TensorLayout, TensorSegment, Varints,
};
use onnx_types::{Dim, ElemType, FieldMask, Storage, Type, TypeKind};
use smallvec::SmallVec;

use super::ty::TypeText;
use super::{Parser, Result};
use crate::elements::{element_bits, entry_count, int32_range, narrow_code, pack};
use crate::lexer::{Literal, Mark};
use crate::originals::Place;
use crate::rules;

/// How far the brace is looked for that ends an elision, in bytes; a digest is shorter.
const LONGEST_ELISION: usize = 1024;

/// Element type and dimensions of a tensor whose data come next.
pub(super) struct Head {
    code: i32,
    dims: TensorDims,
}

impl Head {
    fn elem(&self) -> ElemType {
        ElemType::from_code(self.code).unwrap_or_default()
    }

    /// The number of elements that the dimensions say.
    fn count(&self) -> Option<u64> {
        Tensor::from_parts(self.code, self.dims.clone(), Payload::None).element_count()
    }
}

impl<'a> Parser<'a> {
    /// The element type and dimensions that a type gives to a tensor.
    pub(super) fn tensor_head(&mut self, mark: Mark, ty: &Type, code: i32) -> Result<Head> {
        let dims = match &ty.kind {
            TypeKind::Tensor(tensor) => tensor.shape.as_ref().map(|shape| shape.dims()),
            _ => {
                return Err(self.error_since(&rules::WRONG_LITERAL, mark, || {
                    "a tensor literal takes an element type with dimensions".to_owned()
                }));
            }
        };
        let dims = dims.and_then(|dims| dims.iter().copied().map(Dim::known).collect::<Option<TensorDims>>());
        match dims {
            Some(dims) if ty.denotation.is_none() => Ok(Head { code, dims }),
            _ => Err(self.error_since(&rules::WRONG_LITERAL, mark, || {
                "the dimensions of a tensor literal must be numbers".to_owned()
            })),
        }
    }

    /// Takes the data of a tensor, and what an annotation says of it.
    pub(super) fn tensor(&mut self, head: Head) -> Result<Tensor> {
        let payload = self.data(&head)?;
        let mut tensor = Tensor::from_parts(head.code, head.dims, payload);
        if self.is_annotation() {
            self.tensor_annotation(&mut tensor)?;
        }
        Ok(tensor)
    }

    fn data(&mut self, head: &Head) -> Result<Payload> {
        self.lex.peek();
        let mark = self.lex.mark();
        match self.lex.peek() {
            Some(b'{') if self.is_elided() => self.elided(head),
            Some(b'{') => {
                let payload = self.entries(head.elem().storage(), head.elem(), int32_range(head.elem()))?;
                self.check_count(mark, &payload, head)?;
                Ok(payload)
            }
            Some(b'[') => {
                let mut entries = Vec::new();
                self.tensor_metadata(&mut entries)?;
                Ok(Payload::External(ExternalData::from_entries(entries)))
            }
            _ => match self.lex.peek_word() {
                Some(word) => self.named_data(head, word),
                None => Ok(Payload::None),
            },
        }
    }

    /// Whether the data that come next were left out: `{…`.
    fn is_elided(&mut self) -> bool {
        let mark = self.lex.mark();
        self.lex.bump();
        // The first byte of an ellipsis, which no literal begins with.
        let is_elided = matches!(self.lex.peek(), Some(0xe2 | b'.'));
        self.lex.rewind(mark);
        is_elided
    }

    /// Takes the data of an elided tensor from the original model.
    fn elided(&mut self, head: &Head) -> Result<Payload> {
        self.lex.bump();
        self.lex.peek();
        let mark = self.lex.mark();
        let Some(originals) = self.originals else {
            return Err(self.error(&rules::ELIDED_TENSOR, || {
                "the data of this tensor were left out when the text was printed: print it in full, or name the \
                 model that it was printed from"
                    .to_owned()
            }));
        };
        let rest = self.lex.rest();
        let Some(end) = rest.iter().take(LONGEST_ELISION).position(|&byte| byte == b'}') else {
            return Err(self.expected("`}` after what says how much was left out"));
        };
        let content = String::from_utf8_lossy(rest.get(..end).unwrap_or_default()).into_owned();
        self.lex.skip(end + 1);
        let digest = content.split_once(", ").map(|(_, digest)| digest.trim());
        let wanted = Tensor::from_parts(head.code, head.dims.clone(), Payload::None);
        let Place { holder, attribute, element, part } = self.holder;
        let (holder, attribute) = (self.model.str(holder), self.model.str(attribute));
        match originals.find(&Place { holder, attribute, element, part }, &wanted, digest) {
            Ok(tensor) => Ok(tensor.payload().clone()),
            Err(reason) => Err(self.error_since(&rules::ELIDED_TENSOR, mark, || {
                format!("the data of this tensor were left out, and {reason}")
            })),
        }
    }

    /// Takes data that say which field they are for; their number is not compared with the dimensions.
    fn named_data(&mut self, head: &Head, word: &[u8]) -> Result<Payload> {
        let storage = match word {
            b"raw" | b"splat" => return self.raw(head, word == b"splat"),
            b"float_data" => Storage::Float,
            b"int32_data" => Storage::Int32,
            b"string_data" => Storage::String,
            b"int64_data" => Storage::Int64,
            b"double_data" => Storage::Double,
            b"uint64_data" => Storage::Uint64,
            _ => return Err(self.expected("the data of a tensor")),
        };
        self.lex.word();
        if self.lex.peek() == Some(b'"') && storage != Storage::String {
            let mark = self.lex.mark();
            let bytes = self.hex()?;
            return self.wire_form(mark, storage, bytes);
        }
        let all = i64::from(i32::MIN)..=i64::from(i32::MAX);
        let payload = self.entries(storage, head.elem(), all)?;
        // A field that is named is there, also when it is empty.
        Ok(match (payload, storage) {
            (Payload::None, Storage::Float) => Payload::Floats(Bytes::new()),
            (Payload::None, Storage::Double) => Payload::Doubles(Bytes::new()),
            (Payload::None, Storage::Int32) => Payload::Int32s(Varints::default()),
            (Payload::None, Storage::Int64) => Payload::Int64s(Varints::default()),
            (Payload::None, Storage::Uint64) => Payload::Uint64s(Varints::default()),
            (Payload::None, Storage::String) => Payload::strings(Vec::new()),
            (payload, _) => payload,
        })
    }

    /// The contents of a field as the file has them.
    fn wire_form(&mut self, mark: Mark, storage: Storage, bytes: Bytes) -> Result<Payload> {
        let varints = match storage {
            Storage::Float => return Ok(Payload::Floats(bytes)),
            Storage::Double => return Ok(Payload::Doubles(bytes)),
            _ => Varints::new(bytes),
        };
        match (varints, storage) {
            (Ok(varints), Storage::Int32) => Ok(Payload::Int32s(varints)),
            (Ok(varints), Storage::Int64) => Ok(Payload::Int64s(varints)),
            (Ok(varints), _) => Ok(Payload::Uint64s(varints)),
            (Err(_), _) => Err(self.wrong_literal(mark, "complete varints in hexadecimal digits")),
        }
    }

    /// Takes raw data: bytes in hexadecimal digits, or elements. Of a splat, one element.
    fn raw(&mut self, head: &Head, is_splat: bool) -> Result<Payload> {
        self.lex.word();
        self.lex.peek();
        let mark = self.lex.mark();
        let bytes =
            if self.lex.peek() == Some(b'"') { self.hex()? } else { self.raw_elements(head, is_splat)? };
        if !is_splat {
            return Ok(Payload::Raw(bytes));
        }
        match Splat::new(&bytes) {
            Some(splat) => Ok(Payload::Splat(splat)),
            None => Err(self.wrong_literal(mark, "one element of at most 16 bytes")),
        }
    }

    fn raw_elements(&mut self, head: &Head, is_splat: bool) -> Result<Bytes> {
        let elem = head.elem();
        self.lex.peek();
        let mark = self.lex.mark();
        if matches!(elem, ElemType::String | ElemType::Undefined) {
            return Err(self.wrong_literal(mark, "the bytes of raw data as a string of hexadecimal digits"));
        }
        let bits = elem.bits().unwrap_or(8);
        let (bytes, found) = if elem.storage() == Storage::Int32 && bits < 32 {
            let mut codes: Vec<u16> = Vec::new();
            self.braces(|parser| {
                let code = parser.element(elem)?;
                codes.push(code);
                Ok(())
            })?;
            let found = codes.len();
            let bytes = match bits {
                16 => codes.iter().flat_map(|code| code.to_le_bytes()).collect(),
                8 => codes.iter().map(|&code| code as u8).collect(),
                _ => pack(&codes.iter().map(|&code| code as u8).collect::<Vec<u8>>(), bits),
            };
            (Bytes::from(bytes), found as u64)
        } else {
            let payload = self.entries(elem.storage(), elem, int32_range(elem))?;
            raw_bytes(elem, &payload)
        };
        let expected = match (is_splat, bits < 8) {
            (true, _) => entry_count(elem, 1),
            (false, true) => head.count(),
            (false, false) => head.count().and_then(|count| entry_count(elem, count)),
        };
        if expected != Some(found) {
            return Err(self.wrong_count(mark, expected, found));
        }
        Ok(bytes)
    }

    /// Takes one element of a type of at most 16 bits, by its value or, for a float, by its bit pattern.
    fn element(&mut self, elem: ElemType) -> Result<u16> {
        self.lex.peek();
        let mark = self.lex.mark();
        match self.literal("an element")? {
            Literal::Int(digits) => {
                let (low, high) = element_bits(elem);
                match digits.parse::<i64>() {
                    // The low bits of a negative number are its code.
                    Ok(value) if (low..=high).contains(&value) => Ok((value & 0xffff) as u16 & mask(elem)),
                    _ => Err(self.out_of_range(mark, digits, elem.name())),
                }
            }
            literal => self.narrow(mark, elem, &literal),
        }
    }

    /// The code of an element of a narrow float type that is given by its value.
    fn narrow(&mut self, mark: Mark, elem: ElemType, literal: &Literal<'a>) -> Result<u16> {
        let value = match *literal {
            Literal::Float(digits) => match digits.parse::<f32>() {
                Ok(value) if value.is_finite() => Some(value),
                _ => return Err(self.out_of_range(mark, digits, elem.name())),
            },
            Literal::Inf(negative) => Some(if negative { f32::NEG_INFINITY } else { f32::INFINITY }),
            Literal::Nan(negative) => Some(if negative { -f32::NAN } else { f32::NAN }),
            Literal::NanBits(bits) => {
                return match u16::try_from(bits) {
                    Ok(code) if code <= mask(elem) => Ok(code),
                    _ => Err(self.out_of_range(mark, "NaN", elem.name())),
                };
            }
            Literal::Int(_) | Literal::String(_) => None,
        };
        match value.map(|value| narrow_code(elem, value)) {
            Some(Ok(code)) => Ok(code),
            Some(Err(())) => Err(self.out_of_range(mark, "the number", elem.name())),
            None => Err(self.wrong_literal(mark, "a number")),
        }
    }

    /// Takes the entries of a typed field in braces.
    fn entries(
        &mut self,
        storage: Storage,
        elem: ElemType,
        range: std::ops::RangeInclusive<i64>,
    ) -> Result<Payload> {
        match storage {
            Storage::Float => self.floats().map(|list| some(list, |list| Payload::Floats(list.into()))),
            Storage::Double => self.doubles().map(|list| some(list, |list| Payload::Doubles(list.into()))),
            Storage::Int32 => {
                let mut list = Vec::new();
                self.braces(|parser| parser.int32(elem, &range).map(|value| list.push(value)))?;
                Ok(some(list, |list| Payload::Int32s(Varints::from_i32s(list))))
            }
            Storage::Int64 => {
                let mut list = Vec::new();
                self.braces(|parser| parser.int().map(|value| list.push(value)))?;
                Ok(some(list, |list| Payload::Int64s(Varints::from_i64s(list))))
            }
            Storage::Uint64 => {
                let max = if elem == ElemType::Uint32 && range != (i64::from(i32::MIN)..=i64::from(i32::MAX))
                {
                    u64::from(u32::MAX)
                } else {
                    u64::MAX
                };
                let mut list = Vec::new();
                self.braces(|parser| parser.uint64(max).map(|value| list.push(value)))?;
                Ok(some(list, |list| Payload::Uint64s(Varints::from_u64s(list))))
            }
            Storage::String => {
                let mut list = Vec::new();
                self.braces(|parser| {
                    let string = parser.string("a string")?;
                    list.push(Bytes::from(string.into_owned()));
                    Ok(())
                })?;
                Ok(some(list, Payload::strings))
            }
            Storage::None => {
                let mut any = false;
                self.braces(|parser| {
                    any = true;
                    parser.literal("a literal").map(drop)
                })?;
                if any {
                    return Err(self.error(&rules::WRONG_LITERAL, || {
                        "a tensor without an element type takes no elements".to_owned()
                    }));
                }
                Ok(Payload::None)
            }
        }
    }

    /// Takes a list in braces.
    fn braces(&mut self, mut item: impl FnMut(&mut Self) -> Result) -> Result {
        self.expect(b'{')?;
        if self.lex.eat(b'}') {
            return Ok(());
        }
        loop {
            item(self)?;
            if !self.lex.eat(b',') {
                return self.expect(b'}');
            }
        }
    }

    fn floats(&mut self) -> Result<Vec<u8>> {
        let mut list = Vec::new();
        self.braces(|parser| {
            let value = parser.f32()?;
            list.extend_from_slice(&value.to_le_bytes());
            Ok(())
        })?;
        Ok(list)
    }

    fn doubles(&mut self) -> Result<Vec<u8>> {
        let mut list = Vec::new();
        self.braces(|parser| {
            let value = parser.f64()?;
            list.extend_from_slice(&value.to_le_bytes());
            Ok(())
        })?;
        Ok(list)
    }

    /// Takes a binary32.
    fn f32(&mut self) -> Result<f32> {
        self.lex.peek();
        let mark = self.lex.mark();
        let literal = self.literal("a number")?;
        self.literal_f32(mark, &literal)
    }

    /// The binary32 that a literal stands for.
    pub(super) fn literal_f32(&mut self, mark: Mark, literal: &Literal<'_>) -> Result<f32> {
        match *literal {
            Literal::Int(digits) | Literal::Float(digits) => match digits.parse::<f32>() {
                Ok(value) if value.is_finite() => Ok(value),
                _ => Err(self.out_of_range(mark, digits, "a 32-bit float")),
            },
            Literal::Inf(negative) => Ok(if negative { f32::NEG_INFINITY } else { f32::INFINITY }),
            Literal::Nan(negative) => Ok(f32::from_bits(if negative { 0xffc0_0000 } else { 0x7fc0_0000 })),
            Literal::NanBits(bits) => match u32::try_from(bits).map(f32::from_bits) {
                Ok(value) if value.is_nan() => Ok(value),
                _ => Err(self.out_of_range(mark, "NaN", "a 32-bit float")),
            },
            Literal::String(_) => Err(self.wrong_literal(mark, "a number")),
        }
    }

    fn f64(&mut self) -> Result<f64> {
        self.lex.peek();
        let mark = self.lex.mark();
        match self.literal("a number")? {
            Literal::Int(digits) | Literal::Float(digits) => match digits.parse::<f64>() {
                Ok(value) if value.is_finite() => Ok(value),
                _ => Err(self.out_of_range(mark, digits, "a 64-bit float")),
            },
            Literal::Inf(negative) => Ok(if negative { f64::NEG_INFINITY } else { f64::INFINITY }),
            Literal::Nan(negative) => Ok(f64::from_bits(if negative { 0xfff8 << 48 } else { 0x7ff8 << 48 })),
            Literal::NanBits(bits) if f64::from_bits(bits).is_nan() => Ok(f64::from_bits(bits)),
            Literal::NanBits(_) => Err(self.out_of_range(mark, "NaN", "a 64-bit float")),
            Literal::String(_) => Err(self.wrong_literal(mark, "a number")),
        }
    }

    /// Takes an entry of `int32_data`: an integer, or the value of a float type of 8 or 16 bits.
    fn int32(&mut self, elem: ElemType, range: &std::ops::RangeInclusive<i64>) -> Result<i32> {
        self.lex.peek();
        let mark = self.lex.mark();
        let literal = self.literal("an integer")?;
        match literal {
            Literal::Int(digits) => match digits.parse::<i64>() {
                Ok(value) if range.contains(&value) => Ok(value as i32),
                _ => Err(self.out_of_range(mark, digits, elem.name())),
            },
            Literal::String(_) => Err(self.wrong_literal(mark, "an integer")),
            _ if elem.is_float() && elem.bits().is_some_and(|bits| (6..=16).contains(&bits)) => {
                self.narrow(mark, elem, &literal).map(i32::from)
            }
            _ => Err(self.wrong_literal(mark, "an integer")),
        }
    }

    fn uint64(&mut self, max: u64) -> Result<u64> {
        self.lex.peek();
        let mark = self.lex.mark();
        match self.literal("an integer")? {
            Literal::Int(digits) => match digits.parse::<u64>() {
                Ok(value) if value <= max => Ok(value),
                _ => Err(self.out_of_range(mark, digits, "an unsigned integer of this type")),
            },
            _ => Err(self.wrong_literal(mark, "an integer")),
        }
    }

    fn check_count(&mut self, mark: Mark, payload: &Payload, head: &Head) -> Result {
        let found = match payload {
            Payload::Floats(bytes) => bytes.len() as u64 / 4,
            Payload::Doubles(bytes) => bytes.len() as u64 / 8,
            Payload::Int32s(list) | Payload::Int64s(list) | Payload::Uint64s(list) => list.count() as u64,
            Payload::Strings(strings) => strings.len() as u64,
            _ => return Ok(()),
        };
        let expected = head.count().and_then(|count| entry_count(head.elem(), count));
        if expected == Some(found) {
            return Ok(());
        }
        Err(self.wrong_count(mark, expected, found))
    }

    #[cold]
    fn wrong_count(&mut self, mark: Mark, expected: Option<u64>, found: u64) -> onnx_diag::Reported {
        let want = expected.map_or("a number that no tensor can have".to_owned(), |count| count.to_string());
        self.error_at(
            &rules::WRONG_ELEMENT_COUNT,
            mark,
            1,
            format!("the dimensions ask for {want} entries, but there are {found}"),
        )
    }

    fn tensor_annotation(&mut self, tensor: &mut Tensor) -> Result {
        let mut extra = TensorExtra::default();
        let mut layout = TensorLayout::CANONICAL;
        let mut mask = FieldMask::NONE;
        self.annotation(|parser, key| {
            match key {
                b"doc_string" => extra.doc = parser.owned_text()?,
                b"metadata_props" => parser.tensor_metadata(&mut extra.metadata)?,
                b"segment" => extra.segment = Some(parser.segment()?),
                b"external_data" => parser.tensor_metadata(&mut extra.unused_external)?,
                b"present" => parser.present(&mut mask)?,
                b"unknown" => parser.unknown(&mut extra.unknown)?,
                b"packed_dims" => {
                    parser.int()?;
                    layout = layout.with(TensorLayout::DIMS_PACKED);
                }
                b"unpacked_data" => {
                    parser.int()?;
                    layout = layout.with(TensorLayout::DATA_UNPACKED);
                }
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        tensor.set_mask(mask);
        tensor.set_layout(layout);
        tensor.set_extra(extra);
        Ok(())
    }

    fn segment(&mut self) -> Result<TensorSegment> {
        let mut segment = TensorSegment::default();
        self.record(|parser, key| {
            match key {
                b"begin" => segment.begin = Some(parser.int()?),
                b"end" => segment.end = Some(parser.int()?),
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        segment.source = self.source()?;
        Ok(segment)
    }

    /// Whether a sparse tensor comes next, and not the type of one.
    pub(super) fn is_sparse_literal(&mut self) -> bool {
        self.lex.peek() == Some(b's')
            && self.lex.peek_word() == Some(b"sparse_tensor")
            && self.lex.after_word() != Some(b'(')
    }

    /// Takes the dimensions of a sparse tensor.
    pub(super) fn sparse_dims(&mut self) -> Result<SmallVec<[i64; 4]>> {
        self.lex.word();
        let mut dims = SmallVec::new();
        if self.lex.peek() == Some(b'[') {
            self.ints(|dim| dims.push(dim))?;
        }
        Ok(dims)
    }

    /// Takes the parts of a sparse tensor, after the equals sign.
    pub(super) fn sparse(&mut self, dims: SmallVec<[i64; 4]>) -> Result<SparseTensor> {
        let mut sparse =
            SparseTensor { values: None, indices: None, dims, mask: FieldMask::NONE, unknown: Vec::new() };
        self.record(|parser, key| {
            match key {
                b"values" => sparse.values = Some(parser.part(TensorPart::SparseValues)?),
                b"indices" => sparse.indices = Some(parser.part(TensorPart::SparseIndices)?),
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        self.annotation(|parser, key| {
            match key {
                b"present" => parser.present(&mut sparse.mask)?,
                b"unknown" => parser.unknown(&mut sparse.unknown)?,
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        Ok(sparse)
    }

    fn part(&mut self, part: TensorPart) -> Result<Tensor> {
        self.lex.peek();
        let mark = self.lex.mark();
        let text = self.type_text()?;
        self.holder.part = part;
        let tensor = self.named_tensor(mark, &text);
        self.holder.part = TensorPart::Dense;
        tensor
    }

    /// Takes what follows the type of a tensor: name, equals sign and data.
    pub(super) fn named_tensor(&mut self, mark: Mark, text: &TypeText) -> Result<Tensor> {
        let head = self.tensor_head(mark, &text.ty, text.code)?;
        let name = if self.lex.peek_word().is_some() || self.lex.peek() == Some(b'"') {
            let name = self.name("a name")?;
            Some(self.model.str(name).to_owned())
        } else {
            None
        };
        self.lex.eat(b'=');
        let mut tensor = self.tensor(head)?;
        if let Some(name) = name {
            tensor.set_name(name);
        }
        Ok(tensor)
    }
}

/// What a list without elements stands for: no data field.
fn some<T>(list: Vec<T>, make: impl FnOnce(Vec<T>) -> Payload) -> Payload {
    if list.is_empty() { Payload::None } else { make(list) }
}

/// The bits that a code of a type can have.
fn mask(elem: ElemType) -> u16 {
    u16::MAX >> 16_u32.saturating_sub(elem.bits().unwrap_or(16))
}

/// The entries of a typed field as raw data, and how many there were.
fn raw_bytes(elem: ElemType, payload: &Payload) -> (Bytes, u64) {
    match payload {
        Payload::Floats(bytes) => (bytes.clone(), bytes.len() as u64 / 4),
        Payload::Doubles(bytes) => (bytes.clone(), bytes.len() as u64 / 8),
        Payload::Int32s(list) => (list.iter_i32().flat_map(i32::to_le_bytes).collect(), list.count() as u64),
        Payload::Int64s(list) => (list.iter_i64().flat_map(i64::to_le_bytes).collect(), list.count() as u64),
        Payload::Uint64s(list) if elem == ElemType::Uint32 => {
            (list.iter().flat_map(|value| (value as u32).to_le_bytes()).collect(), list.count() as u64)
        }
        Payload::Uint64s(list) => (list.iter().flat_map(u64::to_le_bytes).collect(), list.count() as u64),
        _ => (Bytes::new(), 0),
    }
}
