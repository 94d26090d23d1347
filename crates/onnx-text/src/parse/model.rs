//! Models and functions.

use onnx_ir::{Binding, FunctionId, GraphId, Metadata, OpsetImport, Owner, TrainingInfo, ValueRef};
use onnx_types::field::{function, model};
use onnx_types::{FieldForms, Symbol};

use super::graph::Parameter;
use super::info::{Definition, Info};
use super::meta::Form;
use super::recover::Next;
use super::{Parser, Result, Step};

/// The header before a function.
#[derive(Default)]
struct Header {
    domain: Symbol,
    overload: Symbol,
    opset_imports: Vec<OpsetImport>,
    doc: Symbol,
    metadata: Metadata,
    forms: FieldForms,
}

impl<'a> Parser<'a> {
    /// Parses a model: header, graph, training steps and functions.
    pub(super) fn model(&mut self) -> Result {
        self.model.info_mut().forms = FieldForms::CANONICAL;
        let has_graph = if self.lex.peek() == Some(b'<') { self.model_header()? } else { true };
        let main = self.model.main_graph();
        let start = self.lex.mark();
        let outer = self.model.enter(main, true);
        let result = self.main_graph(main, has_graph);
        self.leave(outer);
        self.depth = 0;
        if let Err(error) = result {
            self.recover(start, Next::Body, error)?;
        }
        while self.lex.peek().is_some() {
            let start = self.lex.mark();
            if let Err(error) = self.function() {
                self.recover(start, Next::Body, error)?;
            }
            self.check("functions", self.model.functions().len(), self.limits.functions)?;
        }
        Ok(())
    }

    /// The main graph and the training steps, which see its names.
    fn main_graph(&mut self, main: GraphId, has_graph: bool) -> Result {
        if has_graph {
            self.model.info_mut().forms.set_explicit(model::GRAPH, true);
            self.deeper()?;
            self.graph_inside(main)?;
            self.depth = self.depth.saturating_sub(1);
        }
        while self.lex.peek() == Some(b'@') {
            let training = self.training()?;
            self.model.info_mut().training.push(training);
        }
        Ok(())
    }

    /// Parses keys in angle brackets.
    fn header(&mut self, mut entry: impl FnMut(&mut Self, &'a [u8]) -> Result<bool>) -> Result {
        self.expect(b'<')?;
        loop {
            self.lex.peek();
            let mark = self.lex.mark();
            let key = self.word("a key")?;
            self.expect(b':')?;
            if !entry(self, key)? {
                return Err(self.unknown_key(mark, key));
            }
            if !self.lex.eat(b',') {
                return self.expect(b'>');
            }
        }
    }

    /// Parses the header of a model; returns `true` if a graph follows. An explicitly written default is recorded as
    /// such.
    fn model_header(&mut self) -> Result<bool> {
        let mut has_graph = true;
        self.header(|parser, key| {
            let text_number = match key {
                b"producer_name" => Some(model::PRODUCER_NAME),
                b"producer_version" => Some(model::PRODUCER_VERSION),
                b"domain" => Some(model::DOMAIN),
                b"doc_string" => Some(model::DOC_STRING),
                _ => None,
            };
            if let Some(number) = text_number {
                parser.model_text(number)?;
                return Ok(true);
            }
            match key {
                b"ir_version" => {
                    let version = parser.int()?;
                    let mut info = parser.model.info_mut();
                    info.ir_version = version;
                    info.forms.set_explicit(model::IR_VERSION, version == 0);
                }
                b"model_version" => {
                    let version = parser.int()?;
                    let mut info = parser.model.info_mut();
                    info.model_version = version;
                    info.forms.set_explicit(model::MODEL_VERSION, version == 0);
                }
                b"opset_import" => {
                    let mut imports = Vec::new();
                    parser.opsets(&mut imports)?;
                    parser.model.info_mut().opset_imports.append(&mut imports);
                }
                b"metadata_props" => {
                    let mut metadata = Metadata::new();
                    parser.metadata(&mut metadata)?;
                    parser.model.info_mut().metadata.append(&mut metadata);
                }
                b"configuration" => parser.list(|parser| {
                    let device = parser.device()?;
                    parser.model.info_mut().configurations.push(device);
                    Ok(())
                })?,
                b"unknown" => {
                    let mut unknown = Vec::new();
                    parser.unknown(&mut unknown)?;
                    parser.model.info_mut().unknown.append(&mut unknown);
                }
                b"graph" => {
                    if parser.lex.word() != Some(b"none") {
                        return Err(parser.expected("`none`"));
                    }
                    has_graph = false;
                }
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        Ok(has_graph)
    }

    fn model_text(&mut self, number: u32) -> Result {
        let text = self.text("a string")?;
        let mut info = self.model.info_mut();
        match number {
            model::PRODUCER_NAME => info.producer_name = text,
            model::PRODUCER_VERSION => info.producer_version = text,
            model::DOMAIN => info.domain = text,
            _ => info.doc = text,
        }
        info.forms.set_explicit(number, text.is_empty());
        Ok(())
    }

    /// Parses `@training {…}`.
    fn training(&mut self) -> Result<TrainingInfo> {
        self.expect(b'@')?;
        if self.lex.peek_word() != Some(b"training") {
            return Err(self.expected("`training`"));
        }
        self.lex.word();
        let mut info = TrainingInfo::default();
        let (mut initial, mut update) = (Vec::new(), Vec::new());
        let mut outer = None;
        let result = self.record(|parser, key| {
            match key {
                b"initialization" if info.initialization.is_none() => {
                    let graph = parser.model.new_training_graph(Owner::Initialization);
                    info.initialization = Some(graph);
                    parser.graph(graph, true)?;
                }
                b"algorithm" if info.algorithm.is_none() => {
                    let graph = parser.model.new_training_graph(Owner::Algorithm);
                    info.algorithm = Some(graph);
                    // Bindings see the names of the algorithm, so its scope stays open.
                    outer = Some(parser.model.enter(graph, false));
                    parser.deeper()?;
                    parser.graph_inside(graph)?;
                    parser.depth = parser.depth.saturating_sub(1);
                }
                b"initialization_binding" => parser.parameters(&mut initial)?,
                b"update_binding" => parser.parameters(&mut update)?,
                b"unknown" => parser.unknown(&mut info.unknown)?,
                _ => return Ok(false),
            }
            Ok(true)
        });
        let initialization = info.initialization;
        let bind = |parameter: Parameter, value: &dyn Fn(&Self, Symbol) -> ValueRef| {
            Binding::new(self.model.reference(parameter.key), value(self, parameter.value))
                .with_encoding(parameter.form.forms, parameter.form.unknown)
        };
        info.initialization_binding = initial
            .into_iter()
            .map(|parameter| bind(parameter, &|parser, name| parser.output_named(initialization, name)))
            .collect();
        info.update_binding = update
            .into_iter()
            .map(|parameter| bind(parameter, &|parser, name| parser.model.reference(name)))
            .collect();
        if let Some(outer) = outer {
            self.leave(outer);
        }
        result.map(|()| info)
    }

    /// The output of a graph that has the given name.
    fn output_named(&self, graph: Option<GraphId>, name: Symbol) -> ValueRef {
        let outputs = graph.map_or(&[][..], |graph| self.model.graph(graph).outputs());
        let named = outputs.iter().find(|output| self.model.value(output.value()).name() == name);
        named
            .filter(|_| !name.is_empty())
            .map_or(ValueRef::Name(name), |output| ValueRef::Value(output.value()))
    }

    /// Parses a function with its header.
    pub(super) fn function(&mut self) -> Result<FunctionId> {
        let header = if self.lex.peek() == Some(b'<') { self.function_header()? } else { Header::default() };
        let name = self.name("the name of a function")?;
        let function = self.model.add_function(header.domain, name, header.overload);
        let mut record = self.model.function_mut(function);
        record.opset_imports = header.opset_imports;
        record.doc = header.doc;
        record.metadata = header.metadata;
        record.forms = header.forms;
        drop(record);
        let body = self.model.function(function).body();
        let outer = self.model.enter(body, true);
        self.steps.push(Step::Function { domain: header.domain, name, overload: header.overload });
        let result = self.function_inside(function, body);
        self.steps.pop();
        self.leave(outer);
        self.depth = 0;
        result.map(|()| function)
    }

    fn function_header(&mut self) -> Result<Header> {
        let mut header = Header::default();
        self.header(|parser, key| {
            match key {
                b"domain" => parser.text_entry(function::DOMAIN, &mut header.domain, &mut header.forms)?,
                b"overload" => {
                    parser.text_entry(function::OVERLOAD, &mut header.overload, &mut header.forms)?
                }
                b"doc_string" => {
                    parser.text_entry(function::DOC_STRING, &mut header.doc, &mut header.forms)?
                }
                b"opset_import" => parser.opsets(&mut header.opset_imports)?,
                b"metadata_props" => parser.metadata(&mut header.metadata)?,
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        Ok(header)
    }

    /// Everything of a function after its name.
    fn function_inside(&mut self, function: FunctionId, body: GraphId) -> Result {
        if self.lex.eat(b'<') {
            self.function_attributes(function)?;
        }
        let (mut outputs, mut infos): (Vec<Symbol>, Vec<Info>) = (Vec::new(), Vec::new());
        let mut inputs = Vec::new();
        self.parentheses(|parser| parser.formal(&mut inputs, &mut infos))?;
        for name in inputs {
            self.model.write_formal_input(name);
        }
        self.arrow()?;
        self.parentheses(|parser| parser.formal(&mut outputs, &mut infos))?;
        if self.lex.eat(b'<') && !self.lex.eat(b'>') {
            self.function_infos(&mut infos)?;
        }
        if self.is_annotation() {
            let mut form = Form::default();
            self.annotation(|parser, key| parser.form_entry(key, &mut form))?;
            let mut record = self.model.function_mut(function);
            record.forms = record.forms | form.forms;
            record.unknown = form.unknown;
        }
        self.nodes(body)?;
        for name in outputs {
            self.model.write_formal_output(name);
        }
        for info in infos {
            self.model.write_value_info(info.loaded);
        }
        self.check_size()
    }

    /// Parses a formal input or output; a type before it makes an entry of the value info.
    fn formal(&mut self, names: &mut Vec<Symbol>, infos: &mut Vec<Info>) -> Result {
        if self.is_type() {
            let info = self.info()?;
            names.push(info.loaded.name);
            infos.push(info);
        } else {
            names.push(self.name("a name")?);
        }
        Ok(())
    }

    /// Parses the value info of a function, which has no initializers.
    fn function_infos(&mut self, infos: &mut Vec<Info>) -> Result {
        loop {
            match self.definition(false)? {
                Definition::Info(info) => infos.push(info),
                Definition::Initializer(_) | Definition::Both(..) => {
                    return Err(self.error(&crate::rules::UNEXPECTED_TOKEN, || {
                        "a function has no initializers: use a node `Constant`".to_owned()
                    }));
                }
            }
            if !self.lex.eat(b',') {
                return self.expect(b'>');
            }
        }
    }

    /// Parses the attributes of a function, with or without defaults.
    fn function_attributes(&mut self, function: FunctionId) -> Result {
        loop {
            let name = self.name("the name of an attribute")?;
            if matches!(self.lex.peek(), Some(b':' | b'=' | b'@')) {
                // A default is not part of the body: graphs in it do not see the names there.
                let outer = self.model.enter_isolated();
                let default = self.attribute(name);
                self.leave(outer);
                self.model.write_function_default(function, default?);
            } else {
                self.model.function_mut(function).attributes.push(name);
            }
            if !self.lex.eat(b',') {
                return self.expect(b'>');
            }
        }
    }
}
