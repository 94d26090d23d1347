//! Descriptions of values: graph inputs, graph outputs and value info.

use std::sync::Arc;

use onnx_ir::raw::ValueInfoFields;
use onnx_ir::{Constant, Extras, ValueId};
use onnx_types::{Symbol, Type};

use super::meta::Form;
use super::{Parser, Reported, Result};
use crate::elided::TensorKey;
use crate::lexer::Mark;
use crate::rules;

/// An entry that describes a value.
pub(super) struct Info {
    pub(super) loaded: ValueInfoFields,
    mark: Mark,
}

/// An entry of a list that may contain initializers.
pub(super) enum Definition {
    Info(Info),
    Initializer(Initializer),
    /// An entry of a list of inputs that has data, too.
    Both(Info, Initializer),
}

/// An initializer that waits for its value.
pub(super) struct Initializer {
    pub(super) name: Symbol,
    pub(super) constant: Constant,
    pub(super) mark: Mark,
}

impl<'a> Parser<'a> {
    /// Parses a name with or without a type.
    pub(super) fn info(&mut self) -> Result<Info> {
        self.lex.peek();
        let mark = self.lex.mark();
        let ty = if self.is_type() { Some(self.value_type()?) } else { None };
        self.lex.peek();
        let named = self.lex.mark();
        let name = self.name("a name")?;
        if ty.is_none() && self.lex.peek() == Some(b'[') {
            return Err(self.no_such_type(named, name));
        }
        let extras = self.info_annotation()?;
        Ok(Info { loaded: ValueInfoFields { name, ty, extras }, mark })
    }

    /// Dimensions follow a name.
    #[cold]
    fn no_such_type(&mut self, mark: Mark, name: Symbol) -> Reported {
        self.lex.rewind(mark);
        let text = self.model.str(name);
        let near = onnx_schema::suggest_type(text).map(|near| format!(": did you mean `{near}`?"));
        let message = format!("unknown element type {}{}", onnx_diag::Quoted(text), near.unwrap_or_default());
        self.error(&rules::UNEXPECTED_TOKEN, || message)
    }

    #[inline]
    fn info_annotation(&mut self) -> Result<Option<Box<Extras>>> {
        if !self.is_annotation() {
            return Ok(None);
        }
        let mut form = Form::default();
        self.annotation(|parser, key| parser.form_entry(key, &mut form))?;
        Ok(form.into_extras())
    }

    /// Parses an entry of a list that may contain initializers; `as_input` of the list of inputs.
    pub(super) fn definition(&mut self, as_input: bool) -> Result<Definition> {
        self.lex.peek();
        let mark = self.lex.mark();
        // Most entries have a type that many have.
        if let Some(known) = self.known_type() {
            return self.typed_definition(mark, known, as_input);
        }
        if self.is_sparse_literal() {
            let dims = self.sparse_dims()?;
            let name = self.name("a name")?;
            self.expect(b'=')?;
            self.holder = TensorKey::new(name, Symbol::EMPTY);
            let constant = Constant::Sparse(self.sparse(dims)?);
            return Ok(Definition::Initializer(Initializer { name, constant, mark }));
        }
        if !self.is_type() {
            let info = self.info()?;
            if self.lex.peek() == Some(b'=') && self.lex.second() != Some(b'>') {
                return Err(self.error_since(&rules::WRONG_LITERAL, mark, || {
                    "an initializer needs an element type and dimensions before its name".to_owned()
                }));
            }
            return Ok(Definition::Info(info));
        }
        let found = self.shared_type()?;
        self.typed_definition(mark, found, as_input)
    }

    /// Parses an entry of a list that may contain initializers, after its type.
    fn typed_definition(
        &mut self,
        mark: Mark,
        (ty, code): (Arc<Type>, i32),
        as_input: bool,
    ) -> Result<Definition> {
        let name = self.name("a name")?;
        if !self.lex.eat(b'=') {
            self.existing(mark, code)?;
            let extras = self.info_annotation()?;
            return Ok(Definition::Info(Info {
                loaded: ValueInfoFields { name, ty: Some(ty), extras },
                mark,
            }));
        }
        let head = self.tensor_head(mark, &ty, code)?;
        self.holder = TensorKey::new(name, Symbol::EMPTY);
        let constant = Constant::Dense(self.tensor(head)?);
        let initializer = Initializer { name, constant, mark };
        Ok(if as_input {
            let loaded = ValueInfoFields { name, ty: Some(ty), extras: None };
            Definition::Both(Info { loaded, mark }, initializer)
        } else {
            Definition::Initializer(initializer)
        })
    }

    /// Parses the type of a value.
    fn value_type(&mut self) -> Result<Arc<Type>> {
        let mark = self.lex.mark();
        let (ty, code) = self.shared_type()?;
        self.existing(mark, code)?;
        Ok(ty)
    }

    /// An input of a graph.
    pub(super) fn graph_input(&mut self, info: Info) {
        let value = self.model.write_input(info.loaded);
        self.place(value, info.mark);
    }

    /// An initializer of a graph.
    pub(super) fn initializer(&mut self, initializer: Initializer) {
        let Initializer { name, constant, mark } = initializer;
        let value = self.model.write_initializer(name, constant);
        self.place(value, mark);
    }

    /// Records the place of a value's description.
    fn place(&mut self, value: ValueId, mark: Mark) {
        if self.has_positions {
            let origin = self.origin(mark);
            self.model.set_value_origin(value, origin);
        }
    }
}
