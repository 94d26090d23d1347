//! What is said of values: graph inputs, graph outputs and value info.

use std::sync::Arc;

use onnx_ir::{Constant, Def, Extras, GraphId, OwnInfo, Owner, ValueId};
use onnx_types::{Symbol, Type};

use super::meta::Form;
use super::{Parser, Result};
use crate::lexer::Mark;
use crate::rules;

/// An entry that describes a value.
pub(super) struct Info {
    pub(super) name: Symbol,
    ty: Option<Arc<Type>>,
    extras: Option<Box<Extras>>,
    mark: Mark,
}

/// An entry of a list in which initializers may stand.
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
    /// Takes a name with or without a type.
    pub(super) fn info(&mut self) -> Result<Info> {
        self.lex.peek();
        let mark = self.lex.mark();
        let ty = if self.is_type() { Some(self.value_type()?) } else { None };
        let name = self.name("a name")?;
        let extras = self.info_annotation()?;
        Ok(Info { name, ty, extras, mark })
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

    /// Takes an entry of a list in which initializers may stand; `as_input` of the list of inputs.
    pub(super) fn definition(&mut self, as_input: bool) -> Result<Definition> {
        self.lex.peek();
        let mark = self.lex.mark();
        if self.is_sparse_literal() {
            let dims = self.sparse_dims()?;
            let name = self.name("a name")?;
            self.expect(b'=')?;
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
        let (ty, code) = self.shared_type()?;
        let name = self.name("a name")?;
        if !self.lex.eat(b'=') {
            self.existing(mark, code)?;
            let extras = self.info_annotation()?;
            return Ok(Definition::Info(Info { name, ty: Some(ty), extras, mark }));
        }
        let head = self.tensor_head(mark, &ty, code)?;
        let constant = Constant::Dense(self.tensor(head)?);
        let initializer = Initializer { name, constant, mark };
        Ok(if as_input {
            Definition::Both(Info { name, ty: Some(ty), extras: None, mark }, initializer)
        } else {
            Definition::Initializer(initializer)
        })
    }

    /// Takes the type of a value.
    fn value_type(&mut self) -> Result<Arc<Type>> {
        let mark = self.lex.mark();
        let (ty, code) = self.shared_type()?;
        self.existing(mark, code)?;
        Ok(ty)
    }

    /// An input of a graph.
    pub(super) fn graph_input(&mut self, graph: GraphId, info: Info) {
        let known = self.bound_here(info.name).filter(|&value| {
            // An initializer of the same name is the input's default, unless an input has taken it already.
            self.model.value(value).initializer().is_some() && !self.is_input(value)
        });
        let value = match known {
            Some(value) => value,
            None => self.define(graph, info.name),
        };
        self.model.load_graph_input(graph, value);
        self.model.load_value_info(value, info.ty, info.extras);
        self.place(value, info.mark);
    }

    /// An initializer of a graph.
    pub(super) fn initializer(&mut self, graph: GraphId, initializer: Initializer) {
        let known = self.bound_here(initializer.name).filter(|&value| {
            let record = self.model.value(value);
            record.initializer().is_none() && matches!(record.def(), Def::Input { .. })
        });
        let value = match known {
            Some(value) => value,
            None => self.define(graph, initializer.name),
        };
        self.model.load_initializer(graph, value, initializer.constant);
        self.place(value, initializer.mark);
    }

    /// An output of a graph.
    pub(super) fn graph_output(&mut self, graph: GraphId, info: Info) {
        let value = self.used(graph, info.name);
        let index = self.model.graph(graph).outputs().len();
        self.model.push_graph_output(graph, value);
        let own = self.merge_info(graph, value, info);
        self.model.set_output_info(graph, index, own);
    }

    /// An entry of the value info.
    pub(super) fn value_info(&mut self, graph: GraphId, info: Info) {
        let value = self.used(graph, info.name);
        let own = self.merge_info(graph, value, info);
        self.model.push_value_info(graph, value, own);
    }

    /// Takes over what is said of a value for the first time; returns what deviates from an earlier statement.
    ///
    /// A graph that names a value of another graph speaks for itself only: otherwise the other graph would be written with
    /// an entry that it did not have.
    fn merge_info(&mut self, graph: GraphId, value: ValueId, info: Info) -> Option<Box<OwnInfo>> {
        let record = self.model.value(value);
        let says_nothing = record.shared_ty().is_none() && record.extras().is_none();
        let foreign = self.is_foreign(graph, value);
        if says_nothing && !foreign && !self.is_described_input(value) && !self.silent.contains(&value) {
            if info.ty.is_none() && info.extras.is_none() {
                self.silent.insert(value);
            }
            self.model.load_value_info(value, info.ty, info.extras);
            return None;
        }
        let same_type = match (record.shared_ty(), &info.ty) {
            (Some(a), Some(b)) => a == b && a.source == b.source,
            (None, None) => true,
            _ => false,
        };
        if same_type && record.extras() == info.extras.as_deref() && !(foreign && says_nothing) {
            return None;
        }
        let Extras { doc, metadata, mask, unknown, .. } =
            info.extras.map(|extras| *extras).unwrap_or_default();
        Some(Box::new(OwnInfo { ty: info.ty, doc, metadata, mask, unknown }))
    }

    fn is_input(&self, value: ValueId) -> bool {
        matches!(self.model.value(value).def(), Def::Input { .. })
    }

    /// Whether a value belongs to another graph, or may turn out to: an enclosing graph may still define what a nested one
    /// does not.
    fn is_foreign(&self, graph: GraphId, value: ValueId) -> bool {
        match self.model.value(value).def() {
            Def::Output { node, .. } => self.model.node(node).graph() != graph,
            Def::Input { graph: home, .. } | Def::Initializer(home) => home != graph,
            Def::Unresolved(_) => self.open.len() > 1,
        }
    }

    /// Whether a graph's list of inputs describes the value; functions only name theirs.
    fn is_described_input(&self, value: ValueId) -> bool {
        match self.model.value(value).def() {
            Def::Input { graph, .. } => !matches!(self.model.graph(graph).owner(), Owner::Function(_)),
            _ => false,
        }
    }

    /// Records the place of a value's description.
    fn place(&mut self, value: ValueId, mark: Mark) {
        if self.positions {
            let origin = self.origin(mark);
            self.model.set_value_origin(value, origin);
        }
    }

    /// The value that a name is bound to in the innermost graph.
    pub(super) fn bound_here(&self, name: Symbol) -> Option<ValueId> {
        let binding = self.scope.get(name)?;
        (binding.graph == self.scope.current()).then_some(binding.value)
    }

    /// The value that a definition of `name` defines: one that was used before, or a new one.
    ///
    /// Where the name is defined already, here or in an enclosing graph, the new value takes it over and remembers that
    /// the name is not its own.
    pub(super) fn define(&mut self, graph: GraphId, name: Symbol) -> ValueId {
        if name.is_empty() {
            return self.model.new_value_in(graph, name);
        }
        let old = self.scope.get(name);
        if let Some(old) = old
            && old.graph == self.scope.current()
            && matches!(self.model.value(old.value).def(), Def::Unresolved(_))
        {
            return old.value;
        }
        let value = self.model.new_value_in(graph, name);
        if old.is_some() {
            self.model.set_name_as_read(value);
        }
        self.scope.bind(name, value);
        value
    }

    /// The value that a use of `name` means; a name that nobody defined so far becomes an unresolved value.
    #[inline]
    pub(super) fn used(&mut self, graph: GraphId, name: Symbol) -> ValueId {
        match self.scope.get(name) {
            Some(binding) => binding.value,
            None => self.unresolved(graph, name),
        }
    }

    #[inline(never)]
    fn unresolved(&mut self, graph: GraphId, name: Symbol) -> ValueId {
        let value = self.model.new_value_in(graph, name);
        if !name.is_empty() {
            self.scope.bind(name, value);
            self.scope.note_unresolved(name, value);
        }
        value
    }
}
