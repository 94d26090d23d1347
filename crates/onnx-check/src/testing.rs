//! Builds the models of the tests the way decoders do, and compares findings with expectations.
//!
//! Each test states the examples of its rule's page. They are built here line by line, until the text format can read the
//! page itself.

use onnx_ir::raw::{ModelWriter, NodeFields};
use onnx_ir::{
    AttrKind, AttrValue, Attribute, Constant, Edit, FunctionInfo, GraphId, NodeId, OpsetImport, Origin,
    OwnInfo, Owner, SparseTensor, TrainingInfo, ValueId,
};
use onnx_types::tensor::Tensor;
use onnx_types::{ElemType, FieldForms, Shape, Type, UnknownFields};

use crate::{CheckOptions, check};

/// Checks the model that `build` makes of an empty one, and compares code and place of every finding.
#[track_caller]
pub(crate) fn check_model(build: impl FnOnce(&mut Builder), expected: &[(&str, &str)]) {
    check_with(&CheckOptions::default(), build, expected);
}

/// Like [`check_model`], with options.
#[track_caller]
pub(crate) fn check_with(
    options: &CheckOptions,
    build: impl FnOnce(&mut Builder),
    expected: &[(&str, &str)],
) {
    let mut builder = Builder::new();
    build(&mut builder);
    let model = builder.model.finish();
    assert_eq!(model.verify(), Ok(()));
    let sink = check(&model, options);
    let found: Vec<_> = sink
        .diagnostics()
        .iter()
        .map(|found| (found.rule.id().to_string(), found.locus.to_string()))
        .collect();
    let found: Vec<_> = found.iter().map(|(code, place)| (code.as_str(), place.as_str())).collect();
    assert_eq!(found, expected, "{:#?}", sink.diagnostics());
}

/// What the findings about the model that `build` makes say: the message, and the help where there is one.
pub(crate) fn words(build: impl FnOnce(&mut Builder)) -> Vec<(String, Option<String>)> {
    let mut builder = Builder::new();
    build(&mut builder);
    let sink = check(&builder.model, &CheckOptions::default());
    sink.into_diagnostics().into_iter().map(|found| (found.message, found.help)).collect()
}

/// Makes a model by names, which mean what they mean in a file.
///
/// It starts with IR version 10, version 18 of the ONNX operators and an empty graph `g`.
pub(crate) struct Builder {
    pub(crate) model: ModelWriter,
    /// The open graphs, the outermost first.
    open: Vec<GraphId>,
}

impl Builder {
    pub(crate) fn new() -> Self {
        let mut model = ModelWriter::new(onnx_schema::interner());
        let main = model.main_graph();
        model.enter(main, true);
        let name = model.intern("g");
        model.set_graph_name(main, name);
        let mut builder = Self { model, open: vec![main] };
        builder.model.info_mut().ir_version = 10;
        builder.import("", 18);
        builder
    }

    /// Adds an opset import to the model.
    pub(crate) fn import(&mut self, domain: &str, version: i64) {
        let domain = self.model.intern(domain);
        self.model.info_mut().opset_imports.push(OpsetImport::new(domain, version));
    }

    /// Removes the opset imports of the model.
    pub(crate) fn no_imports(&mut self) {
        self.model.info_mut().opset_imports.clear();
    }

    pub(crate) fn graph(&self) -> GraphId {
        *self.open.last().unwrap()
    }

    /// Adds graph inputs. Those of the main graph are scalars of floats, unless [`typed`](Self::typed) says otherwise.
    pub(crate) fn inputs<const N: usize>(&mut self, names: [&str; N]) {
        for name in names {
            let value = self.define(name);
            self.type_interface(value);
        }
    }

    /// Adds a graph input: a tensor of floats that has this rank.
    pub(crate) fn typed_input(&mut self, name: &str, rank: usize) {
        let value = self.define(name);
        self.model.set_type(value, Some(Type::tensor(ElemType::Float, Some(Shape::unknown(rank)))));
    }

    /// Adds graph outputs; call it when all nodes are there. They have types as graph inputs have.
    pub(crate) fn outputs<const N: usize>(&mut self, names: [&str; N]) {
        for name in names {
            let graph = self.graph();
            let value = self.used(name);
            self.model.push_graph_output(graph, value);
            self.type_interface(value);
        }
    }

    /// Gives a value that is defined or used already another type, or none.
    pub(crate) fn typed(&mut self, name: &str, ty: Option<Type>) {
        let value = self.used(name);
        self.model.set_type(value, ty);
    }

    /// The value that a name means here.
    pub(crate) fn value(&mut self, name: &str) -> ValueId {
        self.used(name)
    }

    /// Adds an entry to `value_info`, which says what the value says; call it when all nodes are there.
    pub(crate) fn value_info(&mut self, name: &str) {
        let (graph, value) = (self.graph(), self.used(name));
        self.model.push_value_info(graph, value, None);
    }

    /// Adds an entry to `value_info` that says something else than the value does.
    pub(crate) fn other_info(&mut self, name: &str, ty: Type) {
        let (graph, value) = (self.graph(), self.used(name));
        let own = OwnInfo::of_type(ty);
        self.model.push_value_info(graph, value, Some(own.into()));
    }

    fn type_interface(&mut self, value: ValueId) {
        if self.graph() == self.model.main_graph() && self.model.ty(value).is_none() {
            self.model.set_type(value, Some(float(Some(&[]))));
        }
    }

    /// Adds an initializer.
    pub(crate) fn initializer(&mut self, name: &str, constant: impl Into<Constant>) {
        let name = self.model.intern(name);
        self.model.write_initializer(name, constant.into());
    }

    /// Adds a node without attributes, written `y, z = domain.Op (a, b)`.
    pub(crate) fn node(&mut self, text: &str) -> NodeId {
        self.node_with(text, [])
    }

    /// Adds a node with attributes.
    pub(crate) fn node_with(
        &mut self,
        text: &str,
        attributes: impl IntoIterator<Item = Attribute>,
    ) -> NodeId {
        let (outputs, call) = text.split_once(" = ").unwrap_or(("", text));
        let (op, inputs) = call.split_once('(').unwrap();
        let (domain, op) = op.trim().rsplit_once('.').unwrap_or(("", op.trim()));
        let [inputs, outputs] = [inputs.trim_end_matches(')'), outputs]
            .map(|list| names(list).into_iter().map(|name| self.model.intern(name)).collect::<Vec<_>>());
        let node = NodeFields {
            op: self.model.intern(op),
            domain: self.model.intern(domain),
            attributes: attributes.into_iter().collect(),
            ..NodeFields::default()
        };
        self.model.write_node(node, &inputs, &outputs)
    }

    /// Sets the byte offset of a node in its file.
    pub(crate) fn at_byte(&mut self, node: NodeId, offset: u64) {
        self.model.set_node_origin(node, Origin::Byte(offset));
    }

    /// An attribute.
    pub(crate) fn attribute(&mut self, name: &str, value: impl Into<AttrValue>) -> Attribute {
        Attribute::new(self.model.intern(name), value)
    }

    /// An attribute that refers to one of the function around it.
    pub(crate) fn reference(&mut self, name: &str, target: &str, kind: AttrKind) -> Attribute {
        let [name, target] = [name, target].map(|name| self.model.intern(name));
        Attribute::reference(name, target, kind)
    }

    /// Makes a nested graph, to be given to an attribute.
    pub(crate) fn nested(&mut self, name: &str, build: impl FnOnce(&mut Self)) -> GraphId {
        let name = self.model.intern(name);
        let graph = self.model.new_graph(name);
        self.inside(graph, false, build);
        graph
    }

    /// Adds a function that imports version 18 of the ONNX operators, or nothing.
    pub(crate) fn function(
        &mut self,
        domain: &str,
        name: &str,
        import: Option<&str>,
        build: impl FnOnce(&mut Self),
    ) {
        let [domain, name] = [domain, name].map(|name| self.model.intern(name));
        let empty = self.model.intern("");
        let function = self.model.add_function(domain, name, empty);
        let import = import.map(|domain| OpsetImport::new(self.model.intern(domain), 18));
        let mut record = self.model.function_mut(function);
        record.opset_imports.extend(import);
        drop(record);
        let body = self.model.function(function).body();
        self.inside(body, true, build);
    }

    /// The function that was added last.
    pub(crate) fn last_function(&mut self) -> Edit<'_, FunctionInfo> {
        let id = *self.model.functions().last().unwrap();
        self.model.function_mut(id)
    }

    /// Adds an attribute with a default to the function that was added last.
    pub(crate) fn push_default(&mut self, default: Attribute) {
        let id = *self.model.functions().last().unwrap();
        self.model.push_function_default(id, default).unwrap();
    }

    /// Lets the function that was added last import version 1 of a domain.
    pub(crate) fn own_import(&mut self, domain: &str) {
        let import = OpsetImport::new(self.model.intern(domain), 1);
        self.last_function().opset_imports.push(import);
    }

    /// Adds a training algorithm, which sees the names of the main graph.
    pub(crate) fn algorithm(&mut self, build: impl FnOnce(&mut Self)) {
        let graph = self.model.new_training_graph(Owner::Algorithm);
        let name = self.model.intern("step");
        self.model.set_graph_name(graph, name);
        self.inside(graph, false, build);
        self.model.info_mut().training.push(TrainingInfo::of_algorithm(graph));
    }

    fn inside(&mut self, graph: GraphId, isolated: bool, build: impl FnOnce(&mut Self)) {
        let outer = self.model.enter(graph, isolated);
        self.open.push(graph);
        build(self);
        self.open.pop();
        self.model.leave(outer);
    }

    /// Defines an input.
    fn define(&mut self, name: &str) -> ValueId {
        let name = self.model.intern(name);
        self.model.write_formal_input(name)
    }

    fn used(&mut self, name: &str) -> ValueId {
        let name = self.model.intern(name);
        self.model.used(name)
    }
}

/// The names in a list with commas; empty ones stand for what is left out.
fn names(list: &str) -> Vec<&str> {
    let list = list.trim();
    if list.is_empty() { Vec::new() } else { list.split(',').map(str::trim).collect() }
}

/// A tensor of one float.
pub(crate) fn scalar() -> Tensor {
    Tensor::scalar(1.0_f32)
}

/// A sparse tensor with these positions of its values.
pub(crate) fn sparse(values: &[f32], indices: &[i64], dims: &[i64]) -> SparseTensor {
    SparseTensor {
        values: Some(Tensor::vector(values)),
        indices: Some(Tensor::vector(indices)),
        dims: dims.into(),
        forms: FieldForms::CANONICAL,
        unknown: UnknownFields::default(),
    }
}

/// Checks a model that has a sparse initializer `s`.
#[track_caller]
pub(crate) fn check_sparse(tensor: SparseTensor, expected: &[(&str, &str)]) {
    check_model(|m| m.initializer("s", Constant::Sparse(tensor)), expected);
}

/// The type of a tensor of floats with the given sizes, or of unknown rank.
pub(crate) fn float(sizes: Option<&[i64]>) -> Type {
    Type::tensor(ElemType::Float, sizes.map(Shape::known))
}
