//! Models and functions.

use onnx_ir::{Binding, Function, FunctionId, GraphId, OpsetImport, TrainingInfo};
use onnx_types::field::{function, model};
use onnx_types::{FieldForms, Symbol};

use super::meta::Entries;
use super::{Printer, Result, Step};

/// The list of keys before a model or function, each on a line.
struct Header {
    any: bool,
}

impl Printer<'_> {
    /// Writes the model.
    pub(super) fn model(&mut self) -> Result {
        let model = self.model;
        self.model_header();
        if self.has_graph() || self.compat() {
            self.graph(model.main_graph())?;
            self.out.push('\n');
        }
        if self.compat() {
            if !model.info().training.is_empty() {
                self.lost("training information");
            }
        } else {
            for training in &model.info().training {
                self.training(training)?;
            }
        }
        for &function in model.functions() {
            self.out.push('\n');
            self.function(function)?;
        }
        Ok(())
    }

    /// A model has a main graph unless its file left it out and nothing was added.
    fn has_graph(&self) -> bool {
        let main = self.model.main_graph();
        let graph = self.model.graph(main);
        self.model.info().forms.is_explicit(model::GRAPH)
            || graph.node_count() > 0
            || !graph.name().is_empty()
            || !graph.doc.is_empty()
            || !graph.inputs().is_empty()
            || !graph.outputs().is_empty()
            || self.model.initializers(main).next().is_some()
            || self.model.value_info(main).next().is_some()
            || !graph.quantization.is_empty()
            || !graph.metadata.is_empty()
            || !graph.unknown.is_empty()
    }

    fn header_key(&mut self, header: &mut Header, key: &str) {
        self.out.push_str(if header.any { ",\n   " } else { "<\n   " });
        header.any = true;
        self.out.push_str(key);
        self.out.push_str(": ");
    }

    fn end_header(&mut self, header: &Header) {
        if header.any {
            self.out.push_str("\n>\n");
        }
    }

    /// Writes a string in a header, if it is not empty or explicitly encoded in the file.
    fn header_text(&mut self, header: &mut Header, key: &str, text: Symbol, number: u32, forms: FieldForms) {
        if !text.is_empty() || (forms.is_explicit(number) && self.exact()) {
            self.header_key(header, key);
            self.string(self.str(text));
        }
    }

    fn header_int(&mut self, header: &mut Header, key: &str, value: i64, number: u32, forms: FieldForms) {
        if value != 0 || (forms.is_explicit(number) && self.exact()) {
            self.header_key(header, key);
            self.int(value);
        }
    }

    fn model_header(&mut self) {
        let info = self.model.info();
        let mut header = Header { any: false };
        self.header_int(&mut header, "ir_version", info.ir_version, model::IR_VERSION, info.forms);
        if !info.opset_imports.is_empty() {
            self.header_key(&mut header, "opset_import");
            self.opsets(&info.opset_imports);
        }
        for (key, text, number) in [
            ("producer_name", info.producer_name, model::PRODUCER_NAME),
            ("producer_version", info.producer_version, model::PRODUCER_VERSION),
            ("domain", info.domain, model::DOMAIN),
        ] {
            self.header_text(&mut header, key, text, number, info.forms);
        }
        self.header_int(&mut header, "model_version", info.model_version, model::MODEL_VERSION, info.forms);
        if self.options.metadata {
            self.header_text(&mut header, "doc_string", info.doc, model::DOC_STRING, info.forms);
        }
        if !info.metadata.is_empty() && self.options.metadata {
            self.header_key(&mut header, "metadata_props");
            self.metadata_list(&info.metadata);
        }
        if !info.configurations.is_empty() {
            if self.compat() {
                self.lost("the device configurations of the model");
            } else {
                self.header_key(&mut header, "configuration");
                self.list('[', ']', &info.configurations, Self::device);
            }
        }
        if !info.unknown.is_empty() {
            if self.compat() {
                self.lost("fields of the model that are unknown");
            } else if self.exact() {
                self.header_key(&mut header, "unknown");
                self.list('[', ']', &info.unknown, |printer, field| printer.hex(&field.bytes));
            }
        }
        if !self.has_graph() {
            if self.compat() {
                self.lost("that the model has no graph");
            } else {
                self.header_key(&mut header, "graph");
                self.out.push_str("none");
            }
        }
        self.end_header(&header);
    }

    fn opsets(&mut self, imports: &[OpsetImport]) {
        self.list('[', ']', imports, |printer, import| {
            printer.string(printer.str(import.written_domain()));
            printer.out.push_str(": ");
            printer.int(import.version());
            printer.source(import.source());
        });
    }

    fn training(&mut self, training: &TrainingInfo) -> Result {
        self.out.push_str("\n@training {");
        self.indent = self.indent.saturating_add(1);
        let mut any = false;
        if let Some(graph) = training.initialization {
            self.training_graph("initialization", graph, &mut any)?;
        }
        if let Some(graph) = training.algorithm {
            self.training_graph("algorithm", graph, &mut any)?;
        }
        for (key, bindings) in [
            ("initialization_binding", &training.initialization_binding),
            ("update_binding", &training.update_binding),
        ] {
            let alive = |binding: &&Binding| !self.is_gone(binding.key) && !self.is_gone(binding.value);
            let bindings: Vec<&Binding> = bindings.iter().filter(alive).collect();
            if !bindings.is_empty() {
                self.training_key(key, &mut any);
                self.list('[', ']', &bindings, |printer, binding| printer.binding(binding));
            }
        }
        if !training.unknown.is_empty() && self.exact() {
            self.training_key("unknown", &mut any);
            self.list('[', ']', &training.unknown, |printer, field| printer.hex(&field.bytes));
        }
        self.indent = self.indent.saturating_sub(1);
        self.line();
        self.out.push_str("}\n");
        Ok(())
    }

    fn training_key(&mut self, key: &str, any: &mut bool) {
        if *any {
            self.out.push(',');
        }
        *any = true;
        self.line();
        self.out.push_str(key);
        self.out.push_str(": ");
    }

    fn training_graph(&mut self, key: &str, graph: GraphId, any: &mut bool) -> Result {
        self.training_key(key, any);
        self.graph(graph)
    }

    fn binding(&mut self, binding: &Binding) {
        self.reference(binding.key);
        self.out.push_str(": ");
        self.reference(binding.value);
        let mut entries = Entries::annotation();
        self.present(&mut entries, binding.forms);
        self.unknown(&mut entries, &binding.unknown);
        self.end(&entries);
    }

    /// Writes a function, with its header.
    pub(super) fn function(&mut self, id: FunctionId) -> Result {
        self.steps.push(Step::Function(id));
        let model = self.model;
        let function = model.function(id);
        self.function_header(function);
        self.name_not_type(self.str(function.name()));
        self.function_attributes(function)?;
        let body = model.graph(function.body());
        self.out.push_str(" (");
        for (index, &input) in body.inputs().iter().enumerate() {
            self.formal(index, input);
        }
        self.out.push_str(") => (");
        for (index, output) in body.outputs().iter().enumerate() {
            self.formal(index, output.value());
        }
        self.out.push(')');
        let mut any = false;
        self.value_infos(function.body(), &mut any)?;
        if any {
            self.indent = self.indent.saturating_sub(1);
            self.line();
            self.out.push('>');
        }
        self.function_meta(function);
        self.nodes(function.body())?;
        self.out.push('\n');
        self.steps.pop();
        Ok(())
    }

    fn formal(&mut self, index: usize, value: onnx_ir::ValueId) {
        if index > 0 {
            self.out.push_str(", ");
        }
        self.value_name_not_type(value);
    }

    fn function_header(&mut self, function: &Function) {
        let mut header = Header { any: false };
        let forms = function.forms;
        self.header_text(&mut header, "domain", function.written_domain(), function::DOMAIN, forms);
        self.header_text(&mut header, "overload", function.overload(), function::OVERLOAD, forms);
        if !function.opset_imports.is_empty() {
            self.header_key(&mut header, "opset_import");
            self.opsets(&function.opset_imports);
        }
        if self.options.metadata {
            self.header_text(&mut header, "doc_string", function.doc, function::DOC_STRING, forms);
        }
        if !function.metadata.is_empty() && self.options.metadata {
            if self.compat() {
                self.lost("the metadata of a function");
            } else {
                self.header_key(&mut header, "metadata_props");
                self.metadata_list(&function.metadata);
            }
        }
        self.end_header(&header);
    }

    fn function_attributes(&mut self, function: &Function) -> Result {
        if function.attributes.is_empty() {
            return self.attributes(&function.defaults);
        }
        for (index, &name) in function.attributes.iter().enumerate() {
            self.out.push_str(if index == 0 { " <" } else { ", " });
            self.bare_name(name, "the name of an attribute");
        }
        // The defaults continue the list that the names began.
        if !self.attributes_after(", ", &function.defaults)? {
            self.out.push('>');
        }
        Ok(())
    }

    fn function_meta(&mut self, function: &Function) {
        let mut entries = Entries::annotation();
        // The header has the other fields.
        let name = Some(function::NAME).filter(|&number| function.forms.is_explicit(number));
        self.present(&mut entries, name.into_iter().collect());
        self.unknown(&mut entries, &function.unknown);
        self.end(&entries);
    }
}
