//! Graphs.

use onnx_ir::raw::OuterGraph;
use onnx_ir::{Constant, GraphId, QuantAnnotation, QuantParameter};
use onnx_types::{FieldForms, Symbol, UnknownFields, field};

use super::info::{Definition, Info, Initializer};
use super::meta::Form;
use super::{Parser, Result, Step};

/// Constructs that precede the nodes in the text, but refer to values that the nodes define.
#[derive(Default)]
struct Waiting {
    inputs: Vec<Info>,
    outputs: Vec<Info>,
    dense: Vec<Initializer>,
    sparse: Vec<Initializer>,
    value_info: Vec<Info>,
    annotations: Vec<Annotation>,
}

/// A quantization annotation by names.
struct Annotation {
    tensor: Symbol,
    parameters: Vec<Parameter>,
    forms: FieldForms,
    unknown: UnknownFields,
}

/// A key and a name.
pub(super) struct Parameter {
    pub(super) key: Symbol,
    pub(super) value: Symbol,
    pub(super) form: Form,
}

impl Waiting {
    fn initializer(&mut self, initializer: Initializer) {
        match initializer.constant {
            Constant::Dense(_) => self.dense.push(initializer),
            Constant::Sparse(_) => self.sparse.push(initializer),
        }
    }
}

impl<'a> Parser<'a> {
    /// Parses a graph that sees the names of the graphs that are open, unless it is `isolated`.
    pub(super) fn graph(&mut self, graph: GraphId, isolated: bool) -> Result {
        self.deeper()?;
        let outer = self.model.enter(graph, isolated);
        let result = self.graph_inside(graph);
        self.leave(outer);
        self.depth = self.depth.saturating_sub(1);
        result
    }

    /// Leaves the innermost graph.
    pub(super) fn leave(&mut self, outer: OuterGraph) {
        self.model.leave(outer);
    }

    /// Parses a graph in whose scope the parser is.
    pub(super) fn graph_inside(&mut self, graph: GraphId) -> Result {
        self.steps.push(Step::Graph(graph));
        let result = self.graph_head(graph).and_then(|waiting| {
            self.nodes(graph)?;
            self.references(graph, *waiting);
            self.check_size()
        });
        self.steps.pop();
        result
    }

    /// Parses everything before the nodes, and defines inputs and initializers.
    #[inline(never)]
    fn graph_head(&mut self, graph: GraphId) -> Result<Box<Waiting>> {
        let name = self.name("the name of a graph")?;
        self.model.set_graph_name(graph, name);
        let mut waiting = Box::<Waiting>::default();
        if self.lex.peek() == Some(b'(') {
            self.inputs(&mut waiting)?;
        }
        self.arrow()?;
        self.parentheses(|parser| {
            let info = parser.info()?;
            waiting.outputs.push(info);
            Ok(())
        })?;
        if self.lex.peek() == Some(b'<') {
            self.definitions(&mut waiting)?;
        }
        if self.is_annotation() {
            self.graph_annotation(graph, &mut waiting)?;
        }
        // Files have the initializers before the inputs, and the sparse ones after them.
        for initializer in std::mem::take(&mut waiting.dense) {
            self.initializer(initializer);
        }
        for info in std::mem::take(&mut waiting.inputs) {
            self.graph_input(info);
        }
        for initializer in std::mem::take(&mut waiting.sparse) {
            self.initializer(initializer);
        }
        self.check_size()?;
        Ok(waiting)
    }

    /// Consumes `=>`.
    pub(super) fn arrow(&mut self) -> Result {
        if self.lex.peek() == Some(b'=') && self.lex.second() == Some(b'>') {
            self.lex.bump();
            self.lex.bump();
            return Ok(());
        }
        Err(self.expected("`=>`"))
    }

    fn inputs(&mut self, waiting: &mut Waiting) -> Result {
        self.parentheses(|parser| {
            match parser.definition(true)? {
                Definition::Info(info) => waiting.inputs.push(info),
                Definition::Initializer(initializer) => waiting.initializer(initializer),
                Definition::Both(info, initializer) => {
                    waiting.inputs.push(info);
                    waiting.initializer(initializer);
                }
            }
            Ok(())
        })
    }

    /// Parses a list in parentheses.
    pub(super) fn parentheses(&mut self, item: impl FnMut(&mut Self) -> Result) -> Result {
        self.expect(b'(')?;
        if self.lex.eat(b')') { Ok(()) } else { self.items(b')', item) }
    }

    /// Parses initializers and value info.
    fn definitions(&mut self, waiting: &mut Waiting) -> Result {
        self.expect(b'<')?;
        if self.lex.eat(b'>') {
            return Ok(());
        }
        self.items(b'>', |parser| {
            match parser.definition(false)? {
                Definition::Info(info) => waiting.value_info.push(info),
                Definition::Initializer(initializer) | Definition::Both(_, initializer) => {
                    waiting.initializer(initializer);
                }
            }
            Ok(())
        })
    }

    #[inline(never)]
    fn graph_annotation(&mut self, graph: GraphId, waiting: &mut Waiting) -> Result {
        let mut form = Form::default();
        self.annotation(|parser, key| {
            if key != b"quantization_annotation" {
                return parser.form_entry(key, &mut form);
            }
            parser.list(|parser| {
                waiting.annotations.push(parser.quantization()?);
                Ok(())
            })?;
            Ok(true)
        })?;
        let mut record = self.model.graph_mut(graph);
        record.doc = form.doc;
        record.metadata = form.metadata;
        record.forms = form.forms;
        record.unknown = form.unknown;
        Ok(())
    }

    fn quantization(&mut self) -> Result<Annotation> {
        let mut annotation = Annotation {
            tensor: Symbol::EMPTY,
            parameters: Vec::new(),
            forms: FieldForms::CANONICAL,
            unknown: UnknownFields::new(),
        };
        self.record(|parser, key| {
            match key {
                b"tensor_name" => {
                    let number = field::tensor_annotation::TENSOR_NAME;
                    parser.text_entry(number, &mut annotation.tensor, &mut annotation.forms)?;
                }
                b"quant_parameter_tensor_names" => parser.parameters(&mut annotation.parameters)?,
                b"unknown" => parser.unknown(&mut annotation.unknown)?,
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        Ok(annotation)
    }

    /// Parses a list of keys and names.
    pub(super) fn parameters(&mut self, parameters: &mut Vec<Parameter>) -> Result {
        self.list(|parser| {
            let key = parser.text("a string")?;
            parser.expect(b':')?;
            let value = parser.text("a string")?;
            let mut form = Form::default();
            parser.annotation(|parser, key| parser.form_entry(key, &mut form))?;
            parameters.push(Parameter { key, value, form });
            Ok(())
        })
    }

    /// The constructs that refer to values: outputs, value info and annotations.
    #[inline(never)]
    fn references(&mut self, graph: GraphId, waiting: Waiting) {
        for info in waiting.outputs {
            self.model.write_output(info.loaded);
        }
        for info in waiting.value_info {
            self.model.write_value_info(info.loaded);
        }
        for annotation in waiting.annotations {
            let parameter = |parameter: Parameter| {
                QuantParameter::new(parameter.key, self.model.reference(parameter.value))
                    .with_encoding(parameter.form.forms, parameter.form.unknown)
            };
            let parameters = annotation.parameters.into_iter().map(parameter).collect();
            let tensor = self.model.reference(annotation.tensor);
            let Annotation { forms, unknown, .. } = annotation;
            let annotation = QuantAnnotation::new(tensor, parameters).with_encoding(forms, unknown);
            self.model.graph_mut(graph).quantization.push(annotation);
        }
    }
}
