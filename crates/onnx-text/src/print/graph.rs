//! Graphs: inputs, outputs, initializers, value info and nodes.

use std::sync::Arc;

use onnx_ir::{Constant, Extras, GraphId, OwnInfo, Owner, QuantAnnotation, User, ValueId};
use onnx_types::{FieldForms, Symbol, Type, UnknownField, field};

use super::meta::Entries;
use super::{Printer, Result, Step};

/// A list of more entries than this has one on each line.
const ENTRIES_ON_A_LINE: usize = 4;

/// The fields of a `ValueInfoProto` except the name.
#[derive(Clone, Copy)]
struct Info<'m> {
    ty: Option<&'m Type>,
    doc: Symbol,
    metadata: &'m [onnx_ir::MetadataEntry],
    forms: FieldForms,
    unknown: &'m [UnknownField],
}

impl<'m> Info<'m> {
    fn of(ty: Option<&'m Type>, extras: Option<&'m Extras>) -> Self {
        match extras {
            None => {
                Self { ty, doc: Symbol::EMPTY, metadata: &[], forms: FieldForms::CANONICAL, unknown: &[] }
            }
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

impl<'m> Printer<'m> {
    /// Writes a graph with its name.
    pub(super) fn graph(&mut self, graph: GraphId) -> Result {
        self.steps.push(Step::Graph(graph));
        self.name_not_type(self.str(self.model.graph(graph).name()));
        self.graph_rest(graph)?;
        self.steps.pop();
        Ok(())
    }

    /// Writes a graph as the value of an attribute.
    pub(super) fn nested(&mut self, graph: GraphId) -> Result {
        self.steps.push(Step::Graph(graph));
        self.graph_name_of_attribute(self.str(self.model.graph(graph).name()));
        self.graph_rest(graph)?;
        self.steps.pop();
        Ok(())
    }

    fn graph_rest(&mut self, id: GraphId) -> Result {
        self.deeper()?;
        let model = self.model;
        let graph = model.graph(id);
        self.out.push(' ');
        self.io(graph.inputs().len(), |printer, index| match graph.inputs().get(index) {
            Some(&value) => {
                let record = model.value(value);
                printer.info(value, Info::of(record.ty(), record.extras()))
            }
            None => Ok(()),
        })?;
        self.out.push_str(" => ");
        self.io(graph.outputs().len(), |printer, index| match graph.outputs().get(index) {
            Some(output) => {
                let record = model.value(output.value());
                let of_value = || Info::of(record.ty(), record.extras());
                printer.info(output.value(), output.own().map_or_else(of_value, Info::own))
            }
            None => Ok(()),
        })?;
        self.definitions(id)?;
        self.graph_meta(id);
        self.nodes(id)?;
        self.depth = self.depth.saturating_sub(1);
        Ok(())
    }

    /// Writes a list in parentheses.
    fn io(&mut self, count: usize, mut write: impl FnMut(&mut Self, usize) -> Result) -> Result {
        let lines = count > ENTRIES_ON_A_LINE;
        self.out.push('(');
        self.indent = self.indent.saturating_add(usize::from(lines));
        for index in 0..count {
            if index > 0 {
                self.out.push(',');
            }
            if lines {
                self.line();
            } else if index > 0 {
                self.out.push(' ');
            }
            write(self, index)?;
        }
        self.indent = self.indent.saturating_sub(usize::from(lines));
        if lines {
            self.line();
        }
        self.out.push(')');
        Ok(())
    }

    /// Writes initializers and value info in angle brackets, one on each line.
    fn definitions(&mut self, graph: GraphId) -> Result {
        let model = self.model;
        let mut any = false;
        for sparse in [false, true] {
            for value in model.initializers(graph) {
                let Some(constant) = model.value(value).initializer() else { continue };
                if matches!(&**constant, Constant::Sparse(_)) == sparse {
                    let constant = Arc::clone(constant);
                    self.initializer(value, &constant, &mut any)?;
                }
            }
        }
        self.value_infos(graph, &mut any)?;
        if any {
            self.indent = self.indent.saturating_sub(1);
            self.line();
            self.out.push('>');
        }
        Ok(())
    }

    /// Begins an entry between the angle brackets.
    fn definition(&mut self, any: &mut bool) {
        if *any {
            self.out.push(',');
        } else {
            self.line();
            self.out.push('<');
            self.indent = self.indent.saturating_add(1);
            *any = true;
        }
        self.line();
    }

    fn initializer(&mut self, value: ValueId, constant: &Constant, any: &mut bool) -> Result {
        self.steps.push(Step::Value(value));
        let name = self.plan.name(value, self.model).to_owned();
        match constant {
            Constant::Dense(tensor) => {
                if self.has_plain_head(tensor) {
                    self.definition(any);
                    self.tensor_head(tensor);
                    self.out.push(' ');
                    self.name(&name);
                    self.out.push_str(" = ");
                    self.tensor_data(tensor);
                    self.tensor_meta(tensor);
                }
            }
            Constant::Sparse(_) if self.compat() => self.lost("a sparse initializer"),
            Constant::Sparse(sparse) => {
                self.definition(any);
                self.sparse(sparse, Some(&name))?;
            }
        }
        self.steps.pop();
        Ok(())
    }

    /// Writes the entries of `value_info`, then one for every value that got its type since.
    pub(super) fn value_infos(&mut self, id: GraphId, any: &mut bool) -> Result {
        let model = self.model;
        for entry in model.value_info(id) {
            let record = model.value(entry.value());
            let of_value = || Info::of(record.ty(), record.extras());
            self.definition(any);
            self.info(entry.value(), entry.own().map_or_else(of_value, Info::own))?;
        }
        let is_function = matches!(model.graph(id).owner(), Owner::Function(_));
        for node in model.nodes(id) {
            for &value in model.node(node).outputs().iter().flatten() {
                let record = model.value(value);
                if record.shared_ty().is_none() || record.is_in_value_info() {
                    continue;
                }
                let is_output = |at: &onnx_ir::Use| at.user == User::Graph(id);
                // The list of outputs states the types of a graph's outputs, but only the names of a function's outputs.
                if is_function || !record.output_uses().iter().any(is_output) {
                    self.definition(any);
                    self.info(value, Info::of(record.ty(), record.extras()))?;
                }
            }
        }
        Ok(())
    }

    /// Writes an entry that describes a value.
    fn info(&mut self, value: ValueId, info: Info<'m>) -> Result {
        let mut ty = info.ty;
        if self.compat() {
            self.steps.push(Step::Value(value));
            if ty.is_some_and(|ty| !self.is_plain_type(ty)) {
                self.lost("the type of a value");
                ty = None;
            }
            let parts = [
                (!info.doc.is_empty(), "the documentation of a value"),
                (!info.metadata.is_empty(), "the metadata of a value"),
                (!info.unknown.is_empty(), "fields of a value info that are unknown"),
            ];
            for (_, what) in parts.into_iter().filter(|(any, _)| *any) {
                self.lost(what);
            }
        }
        match ty {
            Some(ty) => {
                self.ty(ty)?;
                self.out.push(' ');
                self.value_name(value);
            }
            None => self.value_name_not_type(value),
        }
        if self.compat() {
            self.steps.pop();
            return Ok(());
        }
        let mut entries = Entries::annotation();
        self.doc(&mut entries, info.doc);
        self.metadata(&mut entries, info.metadata);
        self.present(&mut entries, info.forms);
        self.unknown(&mut entries, info.unknown);
        self.end(&entries);
        Ok(())
    }

    fn graph_meta(&mut self, id: GraphId) {
        let graph = self.model.graph(id);
        if self.compat() {
            let parts = [
                (!graph.doc.is_empty(), "the documentation of a graph"),
                (!graph.metadata.is_empty(), "the metadata of a graph"),
                (!graph.quantization.is_empty(), "the quantization annotations of a graph"),
                (!graph.unknown.is_empty(), "fields of a graph that are unknown"),
            ];
            for (_, what) in parts.into_iter().filter(|(any, _)| *any) {
                self.lost(what);
            }
            return;
        }
        let mut entries = Entries::annotation();
        self.doc(&mut entries, graph.doc);
        self.metadata(&mut entries, &graph.metadata);
        let alive = |annotation: &&QuantAnnotation| !self.is_gone(annotation.tensor);
        let annotations: Vec<&QuantAnnotation> = graph.quantization.iter().filter(alive).collect();
        if !annotations.is_empty() {
            self.key(&mut entries, "quantization_annotation");
            self.list('[', ']', &annotations, |printer, annotation| printer.annotation(annotation));
        }
        self.present(&mut entries, graph.forms);
        self.unknown(&mut entries, &graph.unknown);
        self.end(&entries);
    }

    fn annotation(&mut self, annotation: &QuantAnnotation) {
        let mut record = Entries::record();
        let unnamed = self.plan.reference(annotation.tensor, self.model).is_none_or(str::is_empty);
        if !unnamed || (annotation.forms.is_explicit(field::tensor_annotation::TENSOR_NAME) && self.exact()) {
            self.key(&mut record, "tensor_name");
            self.reference(annotation.tensor);
        }
        let alive = annotation.parameters.iter().filter(|parameter| !self.is_gone(parameter.value));
        let parameters: Vec<_> = alive.collect();
        if !parameters.is_empty() {
            self.key(&mut record, "quant_parameter_tensor_names");
            self.list('[', ']', &parameters, |printer, parameter| {
                printer.string(printer.str(parameter.key));
                printer.out.push_str(": ");
                printer.reference(parameter.value);
                let mut entries = Entries::annotation();
                printer.present(&mut entries, parameter.forms);
                printer.unknown(&mut entries, &parameter.unknown);
                printer.end(&entries);
            });
        }
        self.unknown(&mut record, &annotation.unknown);
        self.end_record(&record);
    }

    /// Writes the nodes of a graph in braces.
    pub(super) fn nodes(&mut self, graph: GraphId) -> Result {
        let model = self.model;
        self.out.push_str(" {");
        self.indent = self.indent.saturating_add(1);
        for (index, node) in model.nodes(graph).enumerate() {
            self.steps.push(Step::Node(index, node));
            self.line();
            self.node(node)?;
            self.steps.pop();
        }
        self.indent = self.indent.saturating_sub(1);
        self.line();
        self.out.push('}');
        Ok(())
    }
}
