//! `ModelProto`, `TrainingInfoProto` and `FunctionProto`.

use onnx_ir::{Binding, FunctionId, GraphId, OpsetImport, TrainingInfo, ValueRef};
use onnx_proto::field::{function, model, operator_set_id, string_string_entry, training_info};
use onnx_proto::wire::Writer;
use onnx_types::Symbol;

use super::{Cx, Result, Window, int, merged};

impl Cx<'_> {
    pub(super) fn model(&self, writer: &mut Writer) -> Result {
        merged(writer, &self.model.info().unknown, |writer, window| self.model_fields(writer, window))
    }

    fn model_fields(&self, writer: &mut Writer, window: Window) -> Result {
        let info = self.model.info();
        if window.has(model::IR_VERSION) {
            int(writer, model::IR_VERSION, info.ir_version, info.forms);
        }
        for (number, symbol) in [
            (model::PRODUCER_NAME, info.producer_name),
            (model::PRODUCER_VERSION, info.producer_version),
            (model::DOMAIN, info.domain),
        ] {
            if window.has(number) {
                self.text(writer, number, symbol, info.forms);
            }
        }
        if window.has(model::MODEL_VERSION) {
            int(writer, model::MODEL_VERSION, info.model_version, info.forms);
        }
        if window.has(model::DOC_STRING) {
            self.text(writer, model::DOC_STRING, info.doc, info.forms);
        }
        if window.has(model::GRAPH) {
            self.main_graph(writer)?;
        }
        if window.has(model::OPSET_IMPORT) {
            self.opsets(writer, model::OPSET_IMPORT, &info.opset_imports);
        }
        if window.has(model::METADATA_PROPS) {
            self.metadata(writer, model::METADATA_PROPS, &info.metadata);
        }
        if window.has(model::TRAINING_INFO) {
            for training in &info.training {
                writer.message(model::TRAINING_INFO, |writer| self.training(writer, training))?;
            }
        }
        if window.has(model::FUNCTIONS) {
            for &function in self.model.functions() {
                writer.message(model::FUNCTIONS, |writer| self.function(writer, function))?;
            }
        }
        if window.has(model::CONFIGURATION) {
            for device in &info.configurations {
                writer.message(model::CONFIGURATION, |writer| self.device(writer, device))?;
            }
        }
        Ok(())
    }

    /// The main graph is left out only where a file left it out and nothing was added to it.
    fn main_graph(&self, writer: &mut Writer) -> Result {
        let main = self.model.main_graph();
        if !self.model.info().forms.is_explicit(model::GRAPH) && self.is_empty(main) {
            return Ok(());
        }
        writer.message(model::GRAPH, |writer| self.graph(writer, main, 1))
    }

    fn is_empty(&self, graph: GraphId) -> bool {
        let record = self.model.graph(graph);
        record.node_count() == 0
            && record.name().is_empty()
            && record.doc.is_empty()
            && record.inputs().is_empty()
            && record.outputs().is_empty()
            && self.model.initializers(graph).next().is_none()
            && self.model.value_info(graph).next().is_none()
            && record.quantization.is_empty()
            && record.metadata.is_empty()
            && record.unknown.is_empty()
    }

    fn opsets(&self, writer: &mut Writer, number: u32, imports: &[OpsetImport]) {
        for import in imports {
            match import.source() {
                Some(source) => writer.bytes(number, source),
                None => writer.message(number, |writer| {
                    self.put(writer, operator_set_id::DOMAIN, self.str(import.written_domain()));
                    writer.int64(operator_set_id::VERSION, import.version());
                }),
            }
        }
    }

    fn training(&self, writer: &mut Writer, training: &TrainingInfo) -> Result {
        merged(writer, &training.unknown, |writer, window| {
            for (number, graph) in [
                (training_info::INITIALIZATION, training.initialization),
                (training_info::ALGORITHM, training.algorithm),
            ] {
                if let Some(graph) = graph.filter(|_| window.has(number)) {
                    writer.message(number, |writer| self.graph(writer, graph, 2))?;
                }
            }
            for (number, bindings) in [
                (training_info::INITIALIZATION_BINDING, &training.initialization_binding),
                (training_info::UPDATE_BINDING, &training.update_binding),
            ] {
                for binding in bindings.iter().filter(|_| window.has(number)) {
                    self.binding(writer, number, binding)?;
                }
            }
            Ok(())
        })
    }

    fn binding(&self, writer: &mut Writer, number: u32, binding: &Binding) -> Result {
        if self.is_gone(binding.key) || self.is_gone(binding.value) {
            return Ok(());
        }
        writer.message(number, |writer| {
            merged(writer, &binding.unknown, |writer, window| {
                for (number, reference) in
                    [(string_string_entry::KEY, binding.key), (string_string_entry::VALUE, binding.value)]
                {
                    if window.has(number) {
                        self.reference(writer, number, reference, binding.forms);
                    }
                }
                Ok(())
            })
        })
    }

    /// Whether a reference names a value that was erased.
    pub(super) fn is_gone(&self, reference: ValueRef) -> bool {
        matches!(reference, ValueRef::Value(value) if self.model.get_value(value).is_none())
    }

    pub(super) fn function(&self, writer: &mut Writer, function: FunctionId) -> Result {
        let unknown = &self.model.function(function).unknown;
        merged(writer, unknown, |writer, window| self.function_fields(writer, function, window))
    }

    fn function_fields(&self, writer: &mut Writer, id: FunctionId, window: Window) -> Result {
        let function = self.model.function(id);
        let body = self.model.graph(function.body());
        if window.has(function::NAME) {
            self.text(writer, function::NAME, function.name(), function.forms);
        }
        if window.has(function::INPUT) {
            for &input in body.inputs() {
                self.put(writer, function::INPUT, self.value_name(input));
            }
        }
        if window.has(function::OUTPUT) {
            for output in body.outputs() {
                self.put(writer, function::OUTPUT, self.value_name(output.value()));
            }
        }
        if window.has(function::ATTRIBUTE) {
            for &attribute in &function.attributes {
                self.put(writer, function::ATTRIBUTE, self.str(attribute));
            }
        }
        let mut typed = Vec::new();
        if window.has(function::NODE) {
            self.nodes(writer, function::NODE, function.body(), 1, &mut typed)?;
        } else if window.has(function::VALUE_INFO) {
            self.typed_values(function.body(), &mut typed);
        }
        let text = |writer: &mut Writer, number: u32, symbol: Symbol| {
            if window.has(number) {
                self.text(writer, number, symbol, function.forms);
            }
        };
        text(writer, function::DOC_STRING, function.doc);
        if window.has(function::OPSET_IMPORT) {
            self.opsets(writer, function::OPSET_IMPORT, &function.opset_imports);
        }
        text(writer, function::DOMAIN, function.written_domain());
        if window.has(function::ATTRIBUTE_PROTO) {
            for default in &function.defaults {
                writer.message(function::ATTRIBUTE_PROTO, |writer| self.attribute(writer, default, 2))?;
            }
        }
        if window.has(function::VALUE_INFO) {
            self.value_infos(writer, function::VALUE_INFO, function.body(), &typed)?;
        }
        text(writer, function::OVERLOAD, function.overload());
        if window.has(function::METADATA_PROPS) {
            self.metadata(writer, function::METADATA_PROPS, &function.metadata);
        }
        Ok(())
    }
}
