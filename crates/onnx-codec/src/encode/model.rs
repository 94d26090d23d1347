//! `ModelProto`, `TrainingInfoProto` and `FunctionProto`.

use onnx_ir::{Binding, FunctionId, GraphId, OpsetImport, TrainingInfo, ValueRef};
use onnx_proto::wire::Writer;
use onnx_types::Symbol;

use super::{Cx, Result, Window, int, merged};

impl Cx<'_> {
    pub(super) fn model(&self, writer: &mut Writer) -> Result {
        merged(writer, &self.model.info().unknown, |writer, window| self.model_fields(writer, window))
    }

    fn model_fields(&self, writer: &mut Writer, window: Window) -> Result {
        let info = self.model.info();
        if window.has(1) {
            int(writer, 1, info.ir_version, info.mask);
        }
        for (number, symbol) in [(2, info.producer_name), (3, info.producer_version), (4, info.domain)] {
            if window.has(number) {
                self.text(writer, number, symbol, info.mask);
            }
        }
        if window.has(5) {
            int(writer, 5, info.model_version, info.mask);
        }
        if window.has(6) {
            self.text(writer, 6, info.doc, info.mask);
        }
        if window.has(7) {
            self.main_graph(writer)?;
        }
        if window.has(8) {
            self.opsets(writer, 8, &info.opset_imports);
        }
        if window.has(14) {
            self.metadata(writer, 14, &info.metadata);
        }
        if window.has(20) {
            for training in &info.training {
                writer.message(20, |writer| self.training(writer, training))?;
            }
        }
        if window.has(25) {
            for &function in self.model.functions() {
                writer.message(25, |writer| self.function(writer, function))?;
            }
        }
        if window.has(26) {
            for device in &info.configurations {
                writer.message(26, |writer| self.device(writer, device))?;
            }
        }
        Ok(())
    }

    /// The main graph is left out only where a file left it out and nothing was added to it.
    fn main_graph(&self, writer: &mut Writer) -> Result {
        let main = self.model.main_graph();
        if !self.model.info().mask.contains(7) && self.is_empty(main) {
            return Ok(());
        }
        writer.message(7, |writer| self.graph(writer, main, 1))
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
                    self.put(writer, 1, self.str(import.written_domain()));
                    writer.int64(2, import.version());
                }),
            }
        }
    }

    fn training(&self, writer: &mut Writer, training: &TrainingInfo) -> Result {
        merged(writer, &training.unknown, |writer, window| {
            for (number, graph) in [(1, training.initialization), (2, training.algorithm)] {
                if let Some(graph) = graph.filter(|_| window.has(number)) {
                    writer.message(number, |writer| self.graph(writer, graph, 2))?;
                }
            }
            for (number, bindings) in [(3, &training.initialization_binding), (4, &training.update_binding)] {
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
                for (number, reference) in [(1, binding.key), (2, binding.value)] {
                    if window.has(number) {
                        self.reference(writer, number, reference, binding.mask);
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
        if window.has(1) {
            self.text(writer, 1, function.name(), function.mask);
        }
        if window.has(4) {
            for &input in body.inputs() {
                self.put(writer, 4, self.value_name(input));
            }
        }
        if window.has(5) {
            for output in body.outputs() {
                self.put(writer, 5, self.value_name(output.value()));
            }
        }
        if window.has(6) {
            for &attribute in &function.attributes {
                self.put(writer, 6, self.str(attribute));
            }
        }
        let mut typed = Vec::new();
        if window.has(7) {
            self.nodes(writer, 7, function.body(), 1, &mut typed)?;
        } else if window.has(12) {
            self.typed_values(function.body(), &mut typed);
        }
        let text = |writer: &mut Writer, number: u32, symbol: Symbol| {
            if window.has(number) {
                self.text(writer, number, symbol, function.mask);
            }
        };
        text(writer, 8, function.doc);
        if window.has(9) {
            self.opsets(writer, 9, &function.opset_imports);
        }
        text(writer, 10, function.written_domain());
        if window.has(11) {
            for default in &function.defaults {
                writer.message(11, |writer| self.attribute(writer, default, 2))?;
            }
        }
        if window.has(12) {
            self.value_infos(writer, 12, function.body(), &typed)?;
        }
        text(writer, 13, function.overload());
        if window.has(14) {
            self.metadata(writer, 14, &function.metadata);
        }
        Ok(())
    }
}
