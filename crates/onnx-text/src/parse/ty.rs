//! Types and shapes.

use std::sync::Arc;

use onnx_types::{Dim, ElemType, Shape, Symbol, TensorType, Type, TypeKind};

use super::{Parser, Result};
use crate::lexer::{Mark, element_type, is_type_word};
use crate::rules;

/// A type in the text.
pub(super) struct TypeText {
    pub(super) ty: Type,
    /// The number of the element type of a dense tensor, which tensors may give without there being such a type.
    pub(super) code: i32,
}

impl<'a> Parser<'a> {
    /// Whether a type comes next.
    #[inline]
    pub(super) fn is_type(&mut self) -> bool {
        match self.lex.peek() {
            Some(b'?') => true,
            Some(b'b' | b'c' | b'd' | b'f' | b'i' | b'm' | b'o' | b's' | b'u') => {
                self.lex.peek_word().is_some_and(is_type_word)
            }
            _ => false,
        }
    }

    /// Parses a type of a value. Types with the same notation, which are common, share one allocation.
    pub(super) fn shared_type(&mut self) -> Result<(Arc<Type>, i32)> {
        if let Some(known) = self.known_type() {
            return Ok(known);
        }
        let spelled = self.spelled_type();
        let TypeText { ty, code } = self.type_text()?;
        let ty = Arc::new(ty);
        if let Some(spelled) = spelled {
            self.types.insert(spelled, Arc::clone(&ty));
        }
        Ok((ty, code))
    }

    /// Parses a type of a value that occurred before with the same notation, if one comes next.
    #[inline]
    pub(super) fn known_type(&mut self) -> Option<(Arc<Type>, i32)> {
        let spelled = self.tensor_type()?;
        let ty = Arc::clone(self.types.get(spelled)?);
        self.lex.skip(spelled.len());
        let code = ty.elem().code();
        Some((ty, code))
    }

    /// The bytes of the next type, if it is a tensor type in simple notation and without annotation.
    fn spelled_type(&mut self) -> Option<&'a [u8]> {
        self.lex.peek_word().filter(|word| element_type(word).is_some())?;
        let plain = |&byte: &u8| byte.is_ascii_alphanumeric() || b"[],?_- ".contains(&byte);
        self.tensor_type().filter(|spelled| spelled.iter().all(plain))
    }

    /// A word, brackets with their content after it, and then a blank and the possible start of the name of a value.
    #[inline]
    #[cfg_attr(
        not(test),
        expect(clippy::arithmetic_side_effects, reason = "the bracket was found in the text")
    )]
    fn tensor_type(&mut self) -> Option<&'a [u8]> {
        const LONGEST: usize = 96;
        let word = self.lex.peek_word()?;
        let rest = self.lex.rest();
        let mut end = word.len();
        if rest.get(end) == Some(&b'[') {
            let brackets = rest.get(end..rest.len().min(LONGEST))?;
            end += brackets.iter().position(|&byte| byte == b']')? + 1;
        }
        // An annotation would be part of the type.
        let ends = matches!(rest.get(end..), Some([b' ', next, ..]) if next.is_ascii_alphanumeric() || *next == b'"');
        rest.get(..end).filter(|_| ends)
    }

    /// Parses a type of a value, whose elements must be of a type that exists.
    pub(super) fn ty(&mut self) -> Result<Type> {
        let mark = self.lex.mark();
        let TypeText { ty, code } = self.type_text()?;
        self.existing(mark, code)?;
        Ok(ty)
    }

    /// Refuses a number that no element type has; only tensors can hold such a one.
    pub(super) fn existing(&mut self, mark: Mark, code: i32) -> Result {
        if ElemType::from_code(code).is_some() {
            return Ok(());
        }
        Err(self.error_since(&rules::NUMBER_OUT_OF_RANGE, mark, || format!("unknown element type {code}")))
    }

    /// Parses a type, and its annotation.
    pub(super) fn type_text(&mut self) -> Result<TypeText> {
        self.deeper()?;
        let kind = self.type_kind();
        self.depth = self.depth.saturating_sub(1);
        let (kind, code) = kind?;
        let mut ty = Type::new(kind);
        if self.is_annotation() {
            self.annotation(|parser, key| {
                match key {
                    b"denotation" => ty.denotation = Some(parser.text("a string")?),
                    b"source" => ty.source = Some(parser.hex()?),
                    _ => return Ok(false),
                }
                Ok(true)
            })?;
        }
        Ok(TypeText { ty, code })
    }

    fn type_kind(&mut self) -> Result<(TypeKind, i32)> {
        if self.lex.peek() == Some(b'?') {
            if !self.lex.second().is_some_and(|byte| byte.is_ascii_digit() || byte == b'-') {
                self.lex.bump();
                return Ok((TypeKind::Undefined, 0));
            }
            let code = self.elem()?;
            let elem = ElemType::from_code(code).unwrap_or_default();
            return Ok((TypeKind::Tensor(TensorType { elem, shape: self.shape()? }), code));
        }
        let word = self.lex.peek_word().unwrap_or_default();
        if let Some(elem) = element_type(word) {
            self.lex.word();
            return Ok((TypeKind::Tensor(TensorType { elem, shape: self.shape()? }), elem.code()));
        }
        if !is_type_word(word) {
            return Err(self.expected("a type"));
        }
        self.lex.word();
        self.expect(b'(')?;
        let kind = self.wrapped(word)?;
        self.expect(b')')?;
        Ok((kind, 0))
    }

    /// The part between the parentheses of a type.
    fn wrapped(&mut self, word: &[u8]) -> Result<TypeKind> {
        Ok(match word {
            b"seq" => TypeKind::Sequence(self.inner()?),
            b"optional" => TypeKind::Optional(self.inner()?),
            b"map" => {
                let key = self.known_elem()?;
                let value = if self.lex.eat(b',') { Some(Box::new(self.ty()?)) } else { None };
                TypeKind::Map { key, value }
            }
            b"sparse_tensor" => {
                let elem = self.known_elem()?;
                TypeKind::SparseTensor(TensorType { elem, shape: self.shape()? })
            }
            _ => self.opaque()?,
        })
    }

    fn inner(&mut self) -> Result<Option<Box<Type>>> {
        if self.lex.peek() == Some(b')') {
            return Ok(None);
        }
        Ok(Some(Box::new(self.ty()?)))
    }

    /// One argument is the name, two are domain and name.
    fn opaque(&mut self) -> Result<TypeKind> {
        let (mut domain, mut name) = (Symbol::EMPTY, Symbol::EMPTY);
        if self.lex.peek() != Some(b')') {
            name = self.dotted()?;
            if self.lex.eat(b',') {
                domain = name;
                name = self.name("a name")?;
            }
        }
        Ok(TypeKind::Opaque { domain, name })
    }

    /// Parses identifiers with dots between them, or a string.
    fn dotted(&mut self) -> Result<Symbol> {
        if self.lex.peek() == Some(b'"') {
            return self.text("a name");
        }
        let mut name = self.word("a name")?.to_vec();
        while self.lex.eat(b'.') {
            name.push(b'.');
            name.extend_from_slice(self.word("a name after the dot")?);
        }
        Ok(self.intern(&name))
    }

    /// Parses an element type: a name, or `?7` for a number.
    fn elem(&mut self) -> Result<i32> {
        self.lex.peek();
        let mark = self.lex.mark();
        if self.lex.eat(b'?') {
            let code = self.int()?;
            return match i32::try_from(code) {
                Ok(code) => Ok(code),
                Err(_) => Err(self.out_of_range(mark, &code.to_string(), "a 32-bit integer")),
            };
        }
        match self.lex.peek_word().and_then(element_type) {
            Some(elem) => {
                self.lex.word();
                Ok(elem.code())
            }
            None => Err(self.expected("an element type")),
        }
    }

    fn known_elem(&mut self) -> Result<ElemType> {
        self.lex.peek();
        let mark = self.lex.mark();
        let code = self.elem()?;
        match ElemType::from_code(code) {
            Some(elem) => Ok(elem),
            None => Err(self
                .error_since(&rules::NUMBER_OUT_OF_RANGE, mark, || format!("unknown element type {code}"))),
        }
    }

    /// Parses a shape: none is that of a scalar, empty brackets are an unknown rank.
    fn shape(&mut self) -> Result<Option<Shape>> {
        if !self.lex.eat(b'[') {
            return Ok(Some(Shape::scalar()));
        }
        if self.lex.eat(b']') {
            return Ok(None);
        }
        let mut shape = Shape::scalar();
        loop {
            let dim = self.dim()?;
            shape.push(dim);
            if self.lex.eat(b'@') {
                let denotation = self.text("a string")?;
                shape.set_denotation(shape.rank().saturating_sub(1), Some(denotation));
            }
            if !self.lex.eat(b',') {
                self.expect(b']')?;
                return Ok(Some(shape));
            }
        }
    }

    fn dim(&mut self) -> Result<Dim> {
        if self.lex.eat(b'?') {
            return Ok(Dim::Unknown);
        }
        if let Some(name) = self.try_name()? {
            return Ok(Dim::Var(name));
        }
        if !matches!(self.lex.peek(), Some(b'-' | b'0'..=b'9')) {
            return Err(self.expected("a dimension"));
        }
        self.int().map(Dim::Known)
    }
}
