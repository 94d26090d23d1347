//! `ModelProto`, `TrainingInfoProto` and `FunctionProto`.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use onnx_ir::{FunctionId, GraphId, ModelInfo, Owner, TrainingInfo, ValueId, ValueRef};
use onnx_proto::field::{function, model, training_info};
use onnx_proto::wire::{Payload, Reader};
use onnx_types::Symbol;

use super::{Cx, Decoded, Occurrences, Result, Step, WireForm, len, varint};
use crate::rules;

/// The fields of a model that hold graphs or refer to values, put aside until everything else is known.
#[derive(Default)]
struct Later<'a> {
    graph: Occurrences<'a>,
    training: Vec<Payload<'a>>,
    functions: Vec<Payload<'a>>,
}

/// Reads the whole model.
pub(super) fn model(mut cx: Cx<'_>) -> Result<Decoded> {
    cx.start()?;
    let reader = cx.input.reader();
    let mut later = Later::default();
    cx.model_fields(&reader, &mut later)?;
    if later.graph.is_empty() {
        cx.report(&rules::NO_GRAPH, 0, || "the model has no graph".to_owned());
    }
    let main = cx.model.main_graph();
    cx.graph(&later.graph, main, true, |cx| cx.training(&reader, &later.training))
        .map_err(|error| error.in_field("graph"))?;
    for (index, &function) in later.functions.iter().enumerate() {
        cx.function(&reader, function).map_err(|error| error.in_item("functions", index))?;
    }
    cx.model.names_mut().shrink_to_fit();
    Ok(Decoded { model: cx.model.finish(), findings: cx.findings })
}

impl<'a> Cx<'a> {
    fn model_fields(&mut self, reader: &Reader<'a>, later: &mut Later<'a>) -> Result<()> {
        let mut fields = reader.clone();
        let mut form = WireForm::default();
        while let Some(field) = fields.next_field()? {
            let number = field.number;
            match (number, len(field.value), varint(field.value)) {
                (model::IR_VERSION, _, Some(version)) => {
                    self.model.info_mut().ir_version = version.cast_signed();
                    form.note(model::IR_VERSION, version == 0);
                }
                (model::MODEL_VERSION, _, Some(version)) => {
                    self.model.info_mut().model_version = version.cast_signed();
                    form.note(model::MODEL_VERSION, version == 0);
                }
                (
                    model::PRODUCER_NAME | model::PRODUCER_VERSION | model::DOMAIN | model::DOC_STRING,
                    Some(text),
                    _,
                ) => {
                    let name = self.noted(&fields, text, number, &mut form)?;
                    *header(&mut self.model.info_mut(), number) = name;
                }
                (model::GRAPH, Some(graph), _) => {
                    later.graph.push(fields.message(graph)?);
                    form.forms.set_explicit(model::GRAPH, true);
                }
                (model::OPSET_IMPORT, Some(opset), _) => {
                    let import = self.opset(&fields, opset)?;
                    self.model.info_mut().opset_imports.push(import);
                    let count = self.model.info().opset_imports.len();
                    self.check("entries", count, self.options.execution.limits.entries, field.start)?;
                }
                (model::METADATA_PROPS, Some(entry), _) => {
                    let entry = self.metadata(&fields, entry)?;
                    self.model.info_mut().metadata.push(entry);
                }
                (model::TRAINING_INFO, Some(training), _) => later.training.push(training),
                (model::FUNCTIONS, Some(function), _) => {
                    later.functions.push(function);
                    let count = later.functions.len();
                    self.check("functions", count, self.options.execution.limits.functions, field.start)?;
                }
                (model::CONFIGURATION, Some(device), _) => {
                    let device = self.device(&fields, device)?;
                    self.model.info_mut().configurations.push(device);
                }
                _ => {
                    let known = model::is_known(number);
                    self.keep(&mut form.unknown, &field, known);
                }
            }
        }
        let mut info = self.model.info_mut();
        info.forms = form.forms;
        info.unknown = form.unknown;
        Ok(())
    }

    /// Training information, read while the names of the main graph are known: algorithms see them.
    fn training(&mut self, reader: &Reader<'a>, payloads: &[Payload<'a>]) -> Result<()> {
        for (index, &payload) in payloads.iter().enumerate() {
            self.steps.push(Step::Training(index));
            let info = self.training_info(reader, payload)?;
            self.model.info_mut().training.push(info);
            self.steps.pop();
        }
        Ok(())
    }

    fn training_info(&mut self, reader: &Reader<'a>, payload: Payload<'a>) -> Result<TrainingInfo> {
        let whole = reader.message(payload)?;
        let mut fields = whole.clone();
        let mut info = TrainingInfo::default();
        let (mut initialization, mut algorithm) = (Occurrences::new(), Occurrences::new());
        while let Some(field) = fields.next_field()? {
            match (field.number, len(field.value)) {
                (training_info::INITIALIZATION, Some(graph)) => initialization.push(fields.message(graph)?),
                (training_info::ALGORITHM, Some(graph)) => algorithm.push(fields.message(graph)?),
                (training_info::INITIALIZATION_BINDING | training_info::UPDATE_BINDING, Some(_)) => {}
                (number, _) => self.keep(&mut info.unknown, &field, training_info::is_known(number)),
            }
        }
        if !initialization.is_empty() {
            let graph = self.model.new_training_graph(Owner::Initialization);
            info.initialization = Some(graph);
            self.graph(&initialization, graph, true, |_| Ok(()))?;
        }
        let mut bindings = |cx: &mut Self| cx.bindings(&whole, &mut info);
        if algorithm.is_empty() {
            bindings(self)?;
        } else {
            let graph = self.model.new_training_graph(Owner::Algorithm);
            self.graph(&algorithm, graph, false, bindings)?;
            info.algorithm = Some(graph);
        }
        Ok(info)
    }

    /// The bindings of a training step, read while the names of its algorithm are known.
    fn bindings(&mut self, whole: &Reader<'a>, info: &mut TrainingInfo) -> Result<()> {
        let mut fields = whole.clone();
        let initialization = info.initialization;
        // There may be as many bindings as outputs, so the outputs are looked up, not searched.
        let mut outputs: Option<HashMap<Symbol, ValueId, RandomState>> = None;
        while let Some(field) = fields.next_field()? {
            match (field.number, len(field.value)) {
                (training_info::INITIALIZATION_BINDING, Some(entry)) => {
                    let outputs = outputs.get_or_insert_with(|| self.outputs_by_name(initialization));
                    let binding = self.binding(&fields, entry, |_, name| {
                        outputs.get(&name).map_or(ValueRef::Name(name), |&value| ValueRef::Value(value))
                    })?;
                    info.initialization_binding.push(binding);
                }
                (training_info::UPDATE_BINDING, Some(entry)) => {
                    let binding = self.binding(&fields, entry, |cx, name| cx.model.reference(name))?;
                    info.update_binding.push(binding);
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// The outputs of a graph by name; of several with one name, the first.
    fn outputs_by_name(&self, graph: Option<GraphId>) -> HashMap<Symbol, ValueId, RandomState> {
        let outputs = graph.map_or(&[][..], |graph| self.model.graph(graph).outputs());
        let named = outputs.iter().map(|output| (self.model.value(output.value()).name(), output.value()));
        named.rev().collect()
    }

    fn function(&mut self, reader: &Reader<'a>, payload: Payload<'a>) -> Result<()> {
        self.function_message(&reader.message(payload)?)?;
        Ok(())
    }

    /// Reads a function from its whole message.
    pub(super) fn function_message(&mut self, whole: &Reader<'a>) -> Result<FunctionId> {
        let (domain, name, overload) = self.function_identity(whole)?;
        let function = self.model.add_function(domain, name, overload);
        let body = self.model.function(function).body();
        self.steps.push(Step::Function(domain, name, overload));
        let outer = self.model.enter(body, true);
        self.function_fields(whole, function)?;
        self.nodes(whole, function::NODE, &mut 0)?;
        self.function_references(whole)?;
        self.model.leave(outer);
        self.steps.pop();
        self.check_size(whole.offset())?;
        Ok(function)
    }

    /// Domain, name and overload of a function; the last of each counts.
    fn function_identity(&mut self, whole: &Reader<'a>) -> Result<(Symbol, Symbol, Symbol)> {
        let mut fields = whole.clone();
        let (mut domain, mut name, mut overload) = (Symbol::EMPTY, Symbol::EMPTY, Symbol::EMPTY);
        while let Some(field) = fields.next_field()? {
            match (field.number, len(field.value)) {
                (function::NAME, Some(text)) => name = self.name(&fields, text)?,
                (function::DOMAIN, Some(text)) => domain = self.name(&fields, text)?,
                (function::OVERLOAD, Some(text)) => overload = self.name(&fields, text)?,
                _ => {}
            }
        }
        Ok((domain, name, overload))
    }

    /// Everything of a function but its nodes and what refers to its values.
    fn function_fields(&mut self, whole: &Reader<'a>, function: FunctionId) -> Result<()> {
        let mut fields = whole.clone();
        let mut form = WireForm::default();
        while let Some(field) = fields.next_field()? {
            match (field.number, len(field.value)) {
                (function::NAME | function::DOMAIN | function::OVERLOAD, Some(text)) => {
                    form.note(field.number, text.is_empty())
                }
                (function::INPUT, Some(text)) => {
                    self.work(text)?;
                    let name = self.name(&fields, text)?;
                    self.model.write_formal_input(name);
                }
                (function::OUTPUT | function::NODE | function::VALUE_INFO, Some(_)) => {}
                (function::ATTRIBUTE, Some(text)) => {
                    let name = self.name(&fields, text)?;
                    self.model.function_mut(function).attributes.push(name);
                }
                (function::DOC_STRING, Some(text)) => {
                    let doc = self.noted(&fields, text, field.number, &mut form)?;
                    self.model.function_mut(function).doc = doc;
                }
                (function::OPSET_IMPORT, Some(opset)) => {
                    let import = self.opset(&fields, opset)?;
                    self.model.function_mut(function).opset_imports.push(import);
                }
                (function::ATTRIBUTE_PROTO, Some(default)) => {
                    self.work(default)?;
                    let position = self.model.function(function).defaults.len();
                    // A default is not part of the body: graphs in it do not see the names there.
                    let outer = self.model.enter_isolated();
                    let default = self
                        .attribute(&fields, default)
                        .map_err(|error| error.in_item("attribute_proto", position))?;
                    self.model.leave(outer);
                    self.model.write_function_default(function, default);
                }
                (function::METADATA_PROPS, Some(entry)) => {
                    let entry = self.metadata(&fields, entry)?;
                    self.model.function_mut(function).metadata.push(entry);
                }
                (number, _) => {
                    let known = function::is_known(number);
                    self.keep(&mut form.unknown, &field, known);
                }
            }
        }
        let mut record = self.model.function_mut(function);
        record.forms = form.forms;
        record.unknown = form.unknown;
        Ok(())
    }

    /// Outputs and `value_info` of a function.
    fn function_references(&mut self, whole: &Reader<'a>) -> Result<()> {
        let mut fields = whole.clone();
        while let Some(field) = fields.next_field()? {
            match (field.number, len(field.value)) {
                (function::OUTPUT, Some(text)) => {
                    self.work(text)?;
                    let name = self.name(&fields, text)?;
                    self.model.write_formal_output(name);
                }
                (function::VALUE_INFO, Some(info)) => self.value_info(&fields, info)?,
                _ => {}
            }
        }
        Ok(())
    }
}

/// The string with the given field number.
const fn header(info: &mut ModelInfo, number: u32) -> &mut Symbol {
    match number {
        model::PRODUCER_NAME => &mut info.producer_name,
        model::PRODUCER_VERSION => &mut info.producer_version,
        model::DOMAIN => &mut info.domain,
        _ => &mut info.doc,
    }
}
