//! `GraphProto` and `ValueInfoProto`.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use bytes::Bytes;
use foldhash::fast::RandomState;
use onnx_ir::{
    Constant, Extras, GraphId, GraphOutput, Metadata, OwnInfo, Owner, QuantAnnotation, User, ValueId,
};
use onnx_proto::field::{graph, string_string_entry, tensor_annotation, value_info};
use onnx_proto::wire::Writer;
use onnx_types::{FieldForms, Symbol, Type, UnknownField};

use super::{Cx, Result, Window, merged};

/// The fields of a `ValueInfoProto` except the name.
struct Info<'m> {
    ty: Option<&'m Type>,
    doc: Symbol,
    metadata: &'m Metadata,
    forms: FieldForms,
    unknown: &'m [UnknownField],
}

static NOTHING: Metadata = Metadata::new();

impl<'m> Info<'m> {
    fn of(ty: Option<&'m Type>, extras: Option<&'m Extras>) -> Self {
        match extras {
            None => Self {
                ty,
                doc: Symbol::EMPTY,
                metadata: &NOTHING,
                forms: FieldForms::CANONICAL,
                unknown: &[],
            },
            Some(extras) => Self {
                ty,
                doc: extras.doc,
                metadata: &extras.metadata,
                forms: extras.forms,
                unknown: &extras.unknown,
            },
        }
    }

    fn own(own: &'m OwnInfo) -> Self {
        Self {
            ty: own.ty.as_deref(),
            doc: own.doc,
            metadata: &own.metadata,
            forms: own.forms,
            unknown: &own.unknown,
        }
    }
}

impl Cx<'_> {
    /// Writes the fields of a graph; `depth` is the number of messages around it, its own included.
    pub(super) fn graph(&self, writer: &mut Writer, graph: GraphId, depth: u32) -> Result {
        let depth = self.deeper(depth, 0)?;
        let unknown = &self.model.graph(graph).unknown;
        merged(writer, unknown, |writer, window| self.graph_fields(writer, graph, depth, window))
    }

    fn graph_fields(&self, writer: &mut Writer, id: GraphId, depth: u32, window: Window) -> Result {
        let graph = self.model.graph(id);
        let mut typed = Vec::new();
        if window.has(graph::NODE) {
            self.nodes(writer, graph::NODE, id, depth, &mut typed)?;
        } else if window.has(graph::VALUE_INFO) {
            self.typed_values(id, &mut typed);
        }
        if window.has(graph::NAME) {
            self.text(writer, graph::NAME, graph.name(), graph.forms);
        }
        if window.has(graph::INITIALIZER) {
            self.initializers(writer, graph::INITIALIZER, id)?;
        }
        if window.has(graph::DOC_STRING) {
            self.text(writer, graph::DOC_STRING, graph.doc, graph.forms);
        }
        if window.has(graph::INPUT) {
            for &input in graph.inputs() {
                let value = self.model.value(input);
                self.info(writer, graph::INPUT, input, &Info::of(value.ty(), value.extras()))?;
            }
        }
        if window.has(graph::OUTPUT) {
            for output in graph.outputs() {
                self.output(writer, output)?;
            }
        }
        if window.has(graph::VALUE_INFO) {
            self.value_infos(writer, graph::VALUE_INFO, id, &typed)?;
        }
        if window.has(graph::QUANTIZATION_ANNOTATION) {
            for annotation in &graph.quantization {
                self.annotation(writer, annotation)?;
            }
        }
        if window.has(graph::SPARSE_INITIALIZER) {
            self.initializers(writer, graph::SPARSE_INITIALIZER, id)?;
        }
        if window.has(graph::METADATA_PROPS) {
            self.metadata(writer, graph::METADATA_PROPS, &graph.metadata);
        }
        Ok(())
    }

    /// Writes the nodes of a graph, and notes the values that have a type and are in no list yet.
    pub(super) fn nodes(
        &self,
        writer: &mut Writer,
        number: u32,
        graph: GraphId,
        depth: u32,
        typed: &mut Vec<ValueId>,
    ) -> Result {
        for node in self.model.nodes(graph) {
            let mark = writer.begin(number);
            self.node(writer, node, depth, typed)?;
            writer.end(mark);
        }
        Ok(())
    }

    /// Records the values of a graph that have a type and are in no list yet.
    pub(super) fn typed_values(&self, graph: GraphId, typed: &mut Vec<ValueId>) {
        for node in self.model.nodes(graph) {
            for &value in self.model.node(node).outputs().iter().flatten() {
                self.note_typed(value, typed);
            }
        }
    }

    #[inline]
    pub(super) fn note_typed(&self, value: ValueId, typed: &mut Vec<ValueId>) {
        let record = self.model.value(value);
        if record.shared_ty().is_some() && !record.is_in_value_info() {
            typed.push(value);
        }
    }

    /// Writes the initializers that field `number` holds: the dense or the sparse ones.
    fn initializers(&self, writer: &mut Writer, number: u32, graph: GraphId) -> Result {
        for value in self.model.initializers(graph) {
            let name = self.value_name(value);
            match self.model.value(value).initializer().map(AsRef::as_ref) {
                Some(Constant::Dense(tensor)) if number == graph::INITIALIZER => {
                    writer.message(graph::INITIALIZER, |writer| self.tensor(writer, tensor, Some(name)))?;
                }
                Some(Constant::Sparse(sparse)) if number == graph::SPARSE_INITIALIZER => {
                    writer.message(graph::SPARSE_INITIALIZER, |writer| {
                        self.sparse(writer, sparse, Some(name))
                    })?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn output(&self, writer: &mut Writer, output: &GraphOutput) -> Result {
        let value = self.model.value(output.value());
        let info = output.own().map_or_else(|| Info::of(value.ty(), value.extras()), Info::own);
        self.info(writer, graph::OUTPUT, output.value(), &info)
    }

    /// Writes the entries of `value_info`, then one for every value that got its type since.
    pub(super) fn value_infos(
        &self,
        writer: &mut Writer,
        number: u32,
        graph: GraphId,
        typed: &[ValueId],
    ) -> Result {
        for entry in self.model.value_info(graph) {
            let value = self.model.value(entry.value());
            let info = entry.own().map_or_else(|| Info::of(value.ty(), value.extras()), Info::own);
            self.info(writer, number, entry.value(), &info)?;
        }
        let is_function = matches!(self.model.graph(graph).owner(), Owner::Function(_));
        // Many values share a type: it is written once, and its bytes again for each.
        let mut written: HashMap<*const Type, Bytes, RandomState> = HashMap::default();
        for &id in typed {
            let value = self.model.value(id);
            // A graph's outputs are described in their own list; a function only names them there.
            let listed = !is_function && value.output_uses().iter().any(|at| at.user == User::Graph(graph));
            if listed {
                continue;
            }
            let (Some(ty), None) = (value.ty(), value.extras()) else {
                self.info(writer, number, id, &Info::of(value.ty(), value.extras()))?;
                continue;
            };
            let bytes = match written.entry(std::ptr::from_ref(ty)) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(new) => {
                    let mut encoded = Writer::new();
                    self.ty(&mut encoded, value_info::TYPE, ty)?;
                    new.insert(encoded.finish().to_vec().into())
                }
            };
            let mark = writer.begin(number);
            let name = self.value_name(id);
            if !name.is_empty() {
                self.put(writer, value_info::NAME, name);
            }
            writer.raw(bytes);
            writer.end(mark);
        }
        Ok(())
    }

    fn info(&self, writer: &mut Writer, number: u32, value: ValueId, info: &Info<'_>) -> Result {
        let name = self.value_name(value);
        writer.message(number, |writer| {
            merged(writer, info.unknown, |writer, window| {
                if window.has(value_info::NAME)
                    && (!name.is_empty() || info.forms.is_explicit(value_info::NAME))
                {
                    self.put(writer, value_info::NAME, name);
                }
                if let Some(ty) = info.ty.filter(|_| window.has(value_info::TYPE)) {
                    self.ty(writer, value_info::TYPE, ty)?;
                }
                if window.has(value_info::DOC_STRING) {
                    self.text(writer, value_info::DOC_STRING, info.doc, info.forms);
                }
                if window.has(value_info::METADATA_PROPS) {
                    self.metadata(writer, value_info::METADATA_PROPS, info.metadata);
                }
                Ok(())
            })
        })
    }

    fn annotation(&self, writer: &mut Writer, annotation: &QuantAnnotation) -> Result {
        if self.is_gone(annotation.tensor) {
            return Ok(());
        }
        writer.message(graph::QUANTIZATION_ANNOTATION, |writer| {
            merged(writer, &annotation.unknown, |writer, window| {
                if window.has(tensor_annotation::TENSOR_NAME) {
                    self.reference(
                        writer,
                        tensor_annotation::TENSOR_NAME,
                        annotation.tensor,
                        annotation.forms,
                    );
                }
                for parameter in annotation
                    .parameters
                    .iter()
                    .filter(|_| window.has(tensor_annotation::QUANT_PARAMETER_TENSOR_NAMES))
                {
                    if self.is_gone(parameter.value) {
                        continue;
                    }
                    writer.message(tensor_annotation::QUANT_PARAMETER_TENSOR_NAMES, |writer| {
                        merged(writer, &parameter.unknown, |writer, window| {
                            if window.has(string_string_entry::KEY) {
                                self.text(writer, string_string_entry::KEY, parameter.key, parameter.forms);
                            }
                            if window.has(string_string_entry::VALUE) {
                                self.reference(
                                    writer,
                                    string_string_entry::VALUE,
                                    parameter.value,
                                    parameter.forms,
                                );
                            }
                            Ok(())
                        })
                    })?;
                }
                Ok(())
            })
        })
    }
}
