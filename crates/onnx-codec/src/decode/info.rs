//! `ValueInfoProto`: graph inputs, graph outputs and `value_info`.

use std::sync::Arc;

use onnx_ir::{Def, Extras, GraphId, Metadata, Origin, OwnInfo, Owner, ValueId};
use onnx_proto::wire::{Payload, Reader};
use onnx_types::{Symbol, Type};
use smallvec::SmallVec;

use super::{Cx, Form, Result, extras, len};

/// What a `ValueInfoProto` says.
pub(super) struct Info {
    name: Symbol,
    ty: Option<Arc<Type>>,
    extras: Option<Box<Extras>>,
}

impl<'a> Cx<'a> {
    fn info(&mut self, reader: &Reader<'a>, payload: Payload<'a>) -> Result<Info> {
        let mut fields = reader.message(payload)?;
        let mut form = Form::default();
        let (mut name, mut doc) = (Symbol::EMPTY, Symbol::EMPTY);
        let mut metadata = Metadata::new();
        let mut pieces: SmallVec<[Payload<'a>; 1]> = SmallVec::new();
        while let Some(field) = fields.next_field()? {
            match (field.number, len(field.value)) {
                (1, Some(text)) => {
                    name = self.name(&fields, text)?;
                    form.note(1, name.is_empty());
                }
                (2, Some(piece)) => pieces.push(piece),
                (3, Some(text)) => {
                    doc = self.name(&fields, text)?;
                    form.note(3, doc.is_empty());
                }
                (4, Some(entry)) => metadata.push(self.metadata(&fields, entry)?),
                (number, _) => self.keep(&mut form.unknown, &field, number <= 4),
            }
        }
        let ty = if pieces.is_empty() { None } else { Some(self.shared_ty(&fields, &pieces)?) };
        Ok(Info { name, ty, extras: extras(doc, metadata, form) })
    }

    /// An input of a graph.
    pub(super) fn graph_input(
        &mut self,
        reader: &Reader<'a>,
        payload: Payload<'a>,
        graph: GraphId,
    ) -> Result<()> {
        let info = self.info(reader, payload)?;
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
        self.offset(value, payload.offset());
        Ok(())
    }

    /// An input or output of a function, which is only a name.
    pub(super) fn formal_input(&mut self, graph: GraphId, name: Symbol) {
        let value = self.define(graph, name);
        self.model.load_graph_input(graph, value);
    }

    /// An output of a graph.
    pub(super) fn graph_output(
        &mut self,
        reader: &Reader<'a>,
        payload: Payload<'a>,
        graph: GraphId,
    ) -> Result<()> {
        let info = self.info(reader, payload)?;
        let value = self.used(graph, info.name);
        let index = self.model.graph(graph).outputs().len();
        self.model.push_graph_output(graph, value);
        let own = self.merge_info(graph, value, info);
        self.model.set_output_info(graph, index, own);
        Ok(())
    }

    /// An entry of `value_info`.
    pub(super) fn value_info(
        &mut self,
        reader: &Reader<'a>,
        payload: Payload<'a>,
        graph: GraphId,
    ) -> Result<()> {
        let info = self.info(reader, payload)?;
        let value = self.used(graph, info.name);
        let own = self.merge_info(graph, value, info);
        self.model.push_value_info(graph, value, own);
        Ok(())
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
        let extras = info.extras.map(|extras| *extras).unwrap_or_default();
        let Extras { doc, metadata, mask, unknown, .. } = extras;
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

    /// Records the place of a value's message.
    pub(super) fn offset(&mut self, value: ValueId, offset: usize) {
        if !self.options.no_offsets {
            self.model.set_value_origin(value, Origin::Byte(offset as u64));
        }
    }
}
