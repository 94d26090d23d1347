//! Tensors and their data.

use bytes::Bytes;
use onnx_ir::{SparseTensor, TensorPart};
use onnx_types::tensor::{
    Elided, ExternalData, Payload, Splat, Tensor, TensorDims, TensorExtra, TensorLayout, TensorSegment,
    Varints,
};
use onnx_types::{Dim, ElemType, FieldForms, Shape, Storage, Text, Type, TypeKind};
use smallvec::SmallVec;

use super::ty::TypeText;
use super::{Parser, Result, fast_number};
use crate::decimal::code_of_decimal;
use crate::elements::{element_bits, entry_count, int32_range, narrow_code, pack};
use crate::elided::TensorKey;
use crate::lexer::{Literal, Mark};
use crate::rules;

/// Maximum distance of the brace that ends an elision, in bytes; a digest is shorter.
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
        let shape = match &ty.kind {
            TypeKind::Tensor(tensor) => tensor.shape.as_ref(),
            _ => {
                return Err(self.error_since(&rules::WRONG_LITERAL, mark, || {
                    "a tensor literal takes an element type with dimensions".to_owned()
                }));
            }
        };
        // Tensors of files with faults have negative dimensions, and come back with them.
        let number =
            |shape: &Shape, axis| shape.dim(axis).and_then(Dim::known).or_else(|| shape.negative(axis));
        let dims = shape.and_then(|shape| {
            (0..shape.rank()).map(|axis| number(shape, axis)).collect::<Option<TensorDims>>()
        });
        match dims {
            Some(dims) if ty.denotation.is_none() => Ok(Head { code, dims }),
            _ => Err(self.error_since(&rules::WRONG_LITERAL, mark, || {
                "the dimensions of a tensor literal must be numbers".to_owned()
            })),
        }
    }

    /// Parses the data of a tensor, and its annotation.
    pub(super) fn tensor(&mut self, head: Head) -> Result<Tensor> {
        let payload = self.data(&head)?;
        let mut tensor = Tensor::from_parts(head.code, head.dims, payload);
        if self.is_annotation() {
            self.tensor_annotation(&mut tensor)?;
        }
        self.restore_storage(&mut tensor);
        Ok(tensor)
    }

    fn data(&mut self, head: &Head) -> Result<Payload> {
        self.lex.peek();
        let mark = self.lex.mark();
        match self.lex.peek() {
            Some(b'{') if self.is_elided() => self.elided(head),
            Some(b'{') => {
                let payload = self.entries(
                    head.elem().storage(),
                    head.elem(),
                    &int32_range(head.elem()),
                    self.room(head),
                )?;
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

    /// Uses the data of an elided tensor from the original model.
    fn elided(&mut self, head: &Head) -> Result<Payload> {
        self.lex.bump();
        self.lex.peek();
        let mark = self.lex.mark();
        if self.elided_source.is_none() && !self.keep_elided {
            return Err(self.error(&rules::ELIDED_TENSOR, || {
                "the data of this tensor were left out when the text was printed: print it with `--full`, or name \
                 the model that it was printed from with `--weights-from`"
                    .to_owned()
            }));
        }
        let rest = self.lex.rest();
        let Some(end) = rest.iter().take(LONGEST_ELISION).position(|&byte| byte == b'}') else {
            return Err(self.expected("`}` after what says how much was left out"));
        };
        let content = String::from_utf8_lossy(rest.get(..end).unwrap_or_default()).into_owned();
        self.lex.skip(end.saturating_add(1));
        let digest = content.split_once(", ").map(|(_, digest)| digest.trim());
        let Some(elided_source) = self.elided_source else {
            return self.unknown_elements(mark, head, &content, digest);
        };
        // The digest of a tensor takes time for all of its elements, which are not part of the text.
        let result = self.watch.check();
        self.unless_stopped(result)?;
        let wanted = Tensor::from_parts(head.code, head.dims.clone(), Payload::None);
        let TensorKey { holder, attribute, element, part } = self.holder;
        let (holder, attribute) = (self.model.str(holder), self.model.str(attribute));
        match elided_source.find(&TensorKey { holder, attribute, element, part }, &wanted, digest) {
            Ok(tensor) => Ok(tensor.payload().clone()),
            Err(reason) => Err(self.error_since(&rules::ELIDED_TENSOR, mark, || {
                format!("the data of this tensor were left out, and {reason}")
            })),
        }
    }

    /// The data of an elided tensor without the original model. What the text states about them must be consistent.
    fn unknown_elements(
        &mut self,
        mark: Mark,
        head: &Head,
        content: &str,
        digest: Option<&str>,
    ) -> Result<Payload> {
        let stated = content.trim_start_matches(['…', '.']).split_once(" elements");
        let stated = stated.and_then(|(count, _)| count.trim().parse::<u64>().ok());
        if let Some(stated) = stated.filter(|&stated| head.count() != Some(stated)) {
            return Err(self.error_since(&rules::WRONG_ELEMENT_COUNT, mark, || {
                format!("{stated} elements were left out here, which is not the number that the dimensions specify")
            }));
        }
        let is_part =
            |c: char| c.is_ascii_alphanumeric() || matches!(c, ':' | '+' | '/' | '=' | '-' | '_' | '.');
        if digest.is_some_and(|digest| digest.is_empty() || !digest.chars().all(is_part)) {
            return Err(self.expected("a digest such as `sha256:0f…`"));
        }
        Ok(Payload::Elided(Elided::new(digest.map(Text::from))))
    }

    /// Stores a tensor as the original model does, if that has the same elements. A text that is not printed in full does not
    /// state how its elements are stored.
    fn restore_storage(&mut self, tensor: &mut Tensor) {
        let Some(elided_source) = self.elided_source else { return };
        let TensorKey { holder, attribute, element, part } = self.holder;
        let (holder, attribute) = (self.model.str(holder), self.model.str(attribute));
        let Some(original) = elided_source.same(&TensorKey { holder, attribute, element, part }, tensor)
        else {
            return;
        };
        tensor.set_payload(original.payload().clone());
        if tensor.forms() == FieldForms::CANONICAL && tensor.layout() == TensorLayout::CANONICAL {
            tensor.set_forms(original.forms());
            tensor.set_layout(original.layout());
            if let Some(extra) = original.extra().filter(|extra| !extra.unused_external.is_empty()) {
                tensor.extra_mut().unused_external.clone_from(&extra.unused_external);
            }
        }
    }

    /// Parses data that say which field they are for; their number is not compared with the dimensions.
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
        let payload = self.entries(storage, head.elem(), &all, 0)?;
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

    /// Parses raw data: bytes in hexadecimal digits, or elements. Of a splat, one element.
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
            let mut codes: Vec<u16> = Vec::with_capacity(self.room(head));
            let fast = |text: &[u8]| fast_element(elem, text);
            let mut values = 0_usize;
            self.numbers(
                fast,
                |parser| parser.element(elem),
                |(code, is_value)| {
                    values = values.saturating_add(usize::from(is_value));
                    codes.push(code);
                },
            )?;
            let found = codes.len();
            self.refuse_mixed(mark, elem, values, found)?;
            let bytes = match bits {
                16 => codes.iter().flat_map(|code| code.to_le_bytes()).collect(),
                8 => codes.iter().map(|&code| code as u8).collect(),
                _ => pack(&codes.iter().map(|&code| code as u8).collect::<Vec<u8>>(), bits),
            };
            (Bytes::from(bytes), found as u64)
        } else {
            let (bytes, found) = self.wide_elements(elem, self.room(head))?;
            (Bytes::from(bytes), found as u64)
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

    /// How many entries to expect: as many as the dimensions say, if the rest of the text is long enough for them. A tensor
    /// with another number is an error, so what was expected wrongly is given back at once.
    fn room(&self, head: &Head) -> usize {
        let count = head.count().and_then(|count| entry_count(head.elem(), count)).unwrap_or(0);
        usize::try_from(count).unwrap_or(usize::MAX).min(self.lex.rest().len() / 2)
    }

    /// Parses one element of a type of at most 16 bits, by its value or, for a float, by its bit pattern. Returns whether it is
    /// the value of a float.
    fn element(&mut self, elem: ElemType) -> Result<(u16, bool)> {
        self.lex.peek();
        let mark = self.lex.mark();
        match self.literal("an element")? {
            Literal::Int(digits) => {
                let (low, high) = element_bits(elem);
                match digits.parse::<i64>() {
                    // The low bits of a negative number are its code.
                    Ok(value) if (low..=high).contains(&value) => {
                        Ok(((value & 0xffff) as u16 & mask(elem), false))
                    }
                    _ => Err(self.out_of_range(mark, digits, elem.name())),
                }
            }
            literal => self.narrow(mark, elem, &literal).map(|code| (code, true)),
        }
    }

    /// The code of an element of a narrow float type that is given by its value.
    pub(super) fn narrow(&mut self, mark: Mark, elem: ElemType, literal: &Literal<'a>) -> Result<u16> {
        let code = match *literal {
            Literal::Float(digits) => match digits.parse::<f32>() {
                Ok(value) if value.is_finite() => Some(code_of_decimal(elem, value, digits.as_bytes())),
                _ => return Err(self.out_of_range(mark, digits, elem.name())),
            },
            Literal::Inf(true) => Some(narrow_code(elem, f32::NEG_INFINITY)),
            Literal::Inf(false) => Some(narrow_code(elem, f32::INFINITY)),
            Literal::Nan(true) => Some(narrow_code(elem, -f32::NAN)),
            Literal::Nan(false) => Some(narrow_code(elem, f32::NAN)),
            Literal::NanBits(bits) => {
                return match u16::try_from(bits) {
                    Ok(code) if code <= mask(elem) => Ok(code),
                    _ => Err(self.taken_out_of_range(mark, elem.name())),
                };
            }
            Literal::Int(_) | Literal::String(_) => None,
        };
        match code {
            Some(Ok(code)) => Ok(code),
            Some(Err(())) => Err(self.taken_out_of_range(mark, elem.name())),
            None => Err(self.wrong_literal(mark, "a number")),
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
        if expected == Some(found) || !self.has_element_counts {
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
        let mut forms = FieldForms::CANONICAL;
        self.annotation(|parser, key| {
            match key {
                b"doc_string" => extra.doc = parser.owned_text()?,
                b"metadata_props" => parser.tensor_metadata(&mut extra.metadata)?,
                b"segment" => extra.segment = Some(parser.segment()?),
                b"external_data" => parser.tensor_metadata(&mut extra.unused_external)?,
                b"present" => parser.present(&mut forms)?,
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
        tensor.set_forms(forms);
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

    /// Parses the dimensions of a sparse tensor.
    pub(super) fn sparse_dims(&mut self) -> Result<SmallVec<[i64; 4]>> {
        self.lex.word();
        let mut dims = SmallVec::new();
        if self.lex.peek() == Some(b'[') {
            self.ints(|dim| dims.push(dim))?;
        }
        Ok(dims)
    }

    /// Parses the parts of a sparse tensor, after the equals sign.
    pub(super) fn sparse(&mut self, dims: SmallVec<[i64; 4]>) -> Result<SparseTensor> {
        let mut sparse = SparseTensor {
            values: None,
            indices: None,
            dims,
            forms: FieldForms::CANONICAL,
            unknown: Vec::new(),
        };
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
                b"present" => parser.present(&mut sparse.forms)?,
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

    /// Parses the rest of a tensor after its type: name, equals sign and data.
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

/// An element of a type of at most 16 bits that is a simple literal, with its length.
fn fast_element(elem: ElemType, text: &[u8]) -> Option<((u16, bool), usize)> {
    let (low, high) = element_bits(elem);
    if let Some((value, length)) = fast_number::int(text)
        && !matches!(text.get(length), Some(b'.' | b'e' | b'E'))
    {
        let code = (value & 0xffff) as u16 & mask(elem);
        return (low..=high).contains(&value).then_some(((code, false), length));
    }
    let (value, length) = fast_number::f32(text)?;
    Some(((code_of_decimal(elem, value, text.get(..length)?).ok()?, true), length))
}

/// The bits that a code of a type can have.
fn mask(elem: ElemType) -> u16 {
    u16::MAX >> 16_u32.saturating_sub(elem.bits().unwrap_or(16))
}
