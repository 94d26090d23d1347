//! Attributes.

use std::sync::Arc;

use bytes::Bytes;
use onnx_ir::{AttrExtra, AttrKind, AttrValue, Attribute};
use onnx_types::Symbol;

use super::meta::Form;
use super::{Parser, Result, Step};
use crate::elided::TensorKey;
use crate::lexer::{Literal, Mark, is_float_word, is_type_word};
use crate::rules;

/// The content of an attribute's annotation.
#[derive(Default)]
struct Head {
    form: Form,
    /// The number in the field `type`, where it is not that of the value.
    declared: Option<Option<i32>>,
}

impl<'a> Parser<'a> {
    /// Parses attributes up to the closing angle bracket; the opening one was consumed.
    pub(super) fn attributes(&mut self, attributes: &mut Vec<Attribute>) -> Result {
        self.items(b'>', |parser| {
            let name = parser.name("the name of an attribute")?;
            attributes.push(parser.attribute(name)?);
            Ok(())
        })
    }

    /// Parses the rest of an attribute after its name.
    pub(super) fn attribute(&mut self, name: Symbol) -> Result<Attribute> {
        let kind = if self.lex.eat(b':') { Some(self.kind()?) } else { None };
        let mut head = Head::default();
        if self.is_annotation() {
            self.attribute_annotation(&mut head)?;
        }
        self.expect(b'=')?;
        self.holder = match self.steps.last() {
            Some(&Step::Node { output, .. }) => TensorKey::new(output, name),
            _ => TensorKey::new(Symbol::EMPTY, name),
        };
        self.lex.peek();
        let mark = self.lex.mark();
        let value = if self.lex.peek() == Some(b'[') {
            self.list_value(mark, kind)?
        } else {
            self.value(kind.unwrap_or(AttrKind::Undefined))?
        };
        let declared = match head.declared {
            Some(declared) => declared,
            None => value.kind().or(kind).map(AttrKind::code),
        };
        let Form { doc, forms, unknown, .. } = head.form;
        Ok(Attribute::from_parts(name, value, declared, forms, AttrExtra::boxed(doc, unknown)))
    }

    fn kind(&mut self) -> Result<AttrKind> {
        self.lex.peek();
        let mark = self.lex.mark();
        let word = self.word("a kind of attribute")?;
        let known = (1..=14).filter_map(AttrKind::from_code).find(|kind| kind.text_name().as_bytes() == word);
        known.ok_or_else(|| {
            self.error_since(&rules::UNEXPECTED_TOKEN, mark, || {
                "there is no such kind of attribute".to_owned()
            })
        })
    }

    fn attribute_annotation(&mut self, head: &mut Head) -> Result {
        self.annotation(|parser, key| {
            if key != b"type" {
                return parser.form_entry(key, &mut head.form);
            }
            parser.lex.peek();
            let mark = parser.lex.mark();
            if parser.lex.eat(b'?') {
                head.declared = Some(None);
                return Ok(true);
            }
            let code = parser.int()?;
            match i32::try_from(code) {
                Ok(code) => head.declared = Some(Some(code)),
                Err(_) => return Err(parser.out_of_range(mark, &code.to_string(), "a 32-bit integer")),
            }
            Ok(true)
        })
    }

    /// Parses a list.
    fn list_value(&mut self, mark: Mark, declared: Option<AttrKind>) -> Result<AttrValue> {
        self.lex.bump();
        if self.lex.eat(b']') {
            return match declared.and_then(empty_list) {
                Some(list) => Ok(list),
                None => Err(self.error_since(&rules::KIND_MISMATCH, mark, || {
                    "an empty list needs the kind of its elements: write `name: ints = []`".to_owned()
                })),
            };
        }
        let mut kind = declared.map_or(AttrKind::Undefined, element_kind);
        let mut list = None;
        loop {
            self.lex.peek();
            let mark = self.lex.mark();
            self.work()?;
            let value = self.value(kind)?;
            self.holder.element = self.holder.element.saturating_add(1);
            match value.kind().filter(|_| push(&mut list, value)) {
                Some(found) => kind = found,
                None => return Err(self.wrong_literal(mark, "a value of the kind that the list holds")),
            }
            if !self.lex.eat(b',') {
                self.expect(b']')?;
                return Ok(list.unwrap_or(AttrValue::None));
            }
        }
    }

    /// Parses a single value, of the given kind unless that is undefined.
    fn value(&mut self, kind: AttrKind) -> Result<AttrValue> {
        self.lex.peek();
        let mark = self.lex.mark();
        let value = match self.lex.peek() {
            Some(b'@') => {
                self.lex.bump();
                return Ok(AttrValue::Ref(self.name("the name of an attribute")?));
            }
            Some(b'?') => self.type_or_tensor(mark)?,
            Some(b'"') => self.string_or_graph()?,
            _ => match self.lex.peek_word() {
                Some(word) if is_type_word(word) => self.type_or_tensor(mark)?,
                Some(word) if is_float_word(word) => self.number(mark, kind)?,
                Some(b"none") if !matches!(self.lex.after_word(), Some(b'(' | b'=' | b'@')) => {
                    self.lex.word();
                    return Ok(AttrValue::None);
                }
                Some(_) => AttrValue::Graph(self.nested()?),
                None => self.number(mark, kind)?,
            },
        };
        if kind == AttrKind::Undefined || value.kind() == Some(kind) {
            return Ok(value);
        }
        let found = value.kind().map_or("none", AttrKind::text_name);
        Err(self.error_since(&rules::KIND_MISMATCH, mark, || {
            format!("expected a value of kind `{}`, found one of kind `{found}`", kind.text_name())
        }))
    }

    /// Parses a number. Where the kind is that of a float, an integer is one, of any size.
    fn number(&mut self, mark: Mark, kind: AttrKind) -> Result<AttrValue> {
        match self.literal("a value")? {
            Literal::Int(digits) if kind != AttrKind::Float => match digits.parse() {
                Ok(value) => Ok(AttrValue::Int(value)),
                Err(_) => Err(self.out_of_range(mark, digits, "a 64-bit integer")),
            },
            literal => self.literal_f32(mark, &literal).map(AttrValue::Float),
        }
    }

    /// Parses a string, or a graph with a quoted name.
    fn string_or_graph(&mut self) -> Result<AttrValue> {
        let mark = self.lex.mark();
        let string = self.string("a string")?;
        if matches!(self.lex.peek(), Some(b'(' | b'=')) {
            self.lex.rewind(mark);
            return self.nested().map(AttrValue::Graph);
        }
        Ok(AttrValue::String(Bytes::from(string.into_owned())))
    }

    fn type_or_tensor(&mut self, mark: Mark) -> Result<AttrValue> {
        if self.is_sparse_literal() {
            let dims = self.sparse_dims()?;
            self.expect(b'=')?;
            return Ok(AttrValue::SparseTensor(Arc::new(self.sparse(dims)?)));
        }
        let text = self.type_text()?;
        if matches!(self.lex.peek(), Some(b'{' | b'=' | b'"')) || self.lex.peek_word().is_some() {
            return Ok(AttrValue::Tensor(Arc::new(self.named_tensor(mark, &text)?)));
        }
        self.existing(mark, text.code)?;
        Ok(AttrValue::Type(Arc::new(text.ty)))
    }

    fn nested(&mut self) -> Result<onnx_ir::GraphId> {
        self.check_size()?;
        let graph = self.model.new_graph(Symbol::EMPTY);
        self.graph(graph, false)?;
        Ok(graph)
    }
}

/// The kind of the elements of a list.
const fn element_kind(list: AttrKind) -> AttrKind {
    match list {
        AttrKind::Floats => AttrKind::Float,
        AttrKind::Ints => AttrKind::Int,
        AttrKind::Strings => AttrKind::String,
        AttrKind::Tensors => AttrKind::Tensor,
        AttrKind::Graphs => AttrKind::Graph,
        AttrKind::SparseTensors => AttrKind::SparseTensor,
        AttrKind::TypeProtos => AttrKind::TypeProto,
        single => single,
    }
}

/// The empty list of a kind.
const fn empty_list(kind: AttrKind) -> Option<AttrValue> {
    Some(match kind {
        AttrKind::Floats => AttrValue::Floats(Vec::new()),
        AttrKind::Ints => AttrValue::Ints(Vec::new()),
        AttrKind::Strings => AttrValue::Strings(Vec::new()),
        AttrKind::Tensors => AttrValue::Tensors(Vec::new()),
        AttrKind::Graphs => AttrValue::Graphs(Vec::new()),
        AttrKind::SparseTensors => AttrValue::SparseTensors(Vec::new()),
        AttrKind::TypeProtos => AttrValue::Types(Vec::new()),
        _ => return None,
    })
}

/// Adds a value to a list, which the first value begins; returns `true` if its kind matches.
fn push(list: &mut Option<AttrValue>, value: AttrValue) -> bool {
    match (list, value) {
        (Some(AttrValue::Floats(list)), AttrValue::Float(value)) => list.push(value),
        (Some(AttrValue::Ints(list)), AttrValue::Int(value)) => list.push(value),
        (Some(AttrValue::Strings(list)), AttrValue::String(value)) => list.push(value),
        (Some(AttrValue::Tensors(list)), AttrValue::Tensor(value)) => list.push(value),
        (Some(AttrValue::Graphs(list)), AttrValue::Graph(value)) => list.push(value),
        (Some(AttrValue::SparseTensors(list)), AttrValue::SparseTensor(value)) => list.push(value),
        (Some(AttrValue::Types(list)), AttrValue::Type(value)) => list.push(Arc::unwrap_or_clone(value)),
        (list @ None, value) => {
            *list = Some(match value {
                AttrValue::Float(value) => AttrValue::Floats(vec![value]),
                AttrValue::Int(value) => AttrValue::Ints(vec![value]),
                AttrValue::String(value) => AttrValue::Strings(vec![value]),
                AttrValue::Tensor(value) => AttrValue::Tensors(vec![value]),
                AttrValue::Graph(value) => AttrValue::Graphs(vec![value]),
                AttrValue::SparseTensor(value) => AttrValue::SparseTensors(vec![value]),
                AttrValue::Type(value) => AttrValue::Types(vec![Arc::unwrap_or_clone(value)]),
                _ => return false,
            });
        }
        _ => return false,
    }
    true
}
