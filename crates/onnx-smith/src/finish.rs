//! What is left when the nodes are there: outputs, declared types, operator sets, documentation and metadata.

use onnx_ir::{
    Constant, Def, GraphId, MetadataEntry, Model, Owner, QuantAnnotation, QuantParameter, ValueId, ValueRef,
};
use onnx_schema::domain;
use onnx_types::{Dim, ElemType, Shape, Symbol, Type, TypeKind};

use crate::elements;
use crate::smith::Smith;

/// Texts that a model may hold anywhere.
const TEXTS: [&str; 6] =
    ["made by hand", "", "line one\nline two", "\"quoted\" \\ text", "größer als ≥ 0", "a, b; c"];

impl Smith<'_> {
    /// Makes a whole model of the nodes.
    pub(crate) fn finish(&mut self) {
        self.choose_outputs();
        if self.options.decorations {
            self.add_rare_values();
        }
        self.declare_types();
        self.keep_used_imports();
        if self.options.decorations {
            self.decorate();
        }
    }

    /// Makes outputs of everything that is not used, and of some of the rest.
    fn choose_outputs(&mut self) {
        let graph = self.model.main_graph();
        let made: Vec<ValueId> = self
            .scopes
            .first()
            .into_iter()
            .flat_map(|scope| &scope.entries)
            .filter(|entry| entry.is_made)
            .map(|entry| entry.value)
            .collect();
        for (index, &value) in made.iter().enumerate() {
            // An output declares its rank.
            if !self.model.ty(value).is_some_and(has_shapes) {
                continue;
            }
            let is_last = index + 1 == made.len();
            let is_output = !self.model.value(value).is_used() || is_last || self.choices.chance(10);
            if is_output && !self.model.is_graph_output(value) {
                self.model.push_graph_output(graph, value);
            }
        }
    }

    /// Takes most of the types away that were noted for values in between, and makes others vaguer.
    fn declare_types(&mut self) {
        let graphs: Vec<GraphId> = self.model.all_graphs().collect();
        for graph in graphs {
            let is_function = matches!(self.model.graph(self.model.root(graph)).owner(), Owner::Function(_));
            let is_function_body = matches!(self.model.graph(graph).owner(), Owner::Function(_));
            if is_function_body {
                for value in self.model.graph(graph).inputs().to_vec() {
                    self.model.set_type(value, None::<Type>);
                }
            }
            let nodes: Vec<_> = self.model.nodes(graph).collect();
            for node in nodes {
                for value in self.model.node(node).outputs().iter().flatten().copied().collect::<Vec<_>>() {
                    let is_output = self.model.is_graph_output(value) && !is_function_body;
                    if is_output || !(is_function || self.is_inferred(node)) {
                        continue;
                    }
                    let ty = self.model.ty(value).cloned();
                    let kept =
                        ty.filter(|_| !is_function && self.choices.chance(25)).map(|ty| self.vaguer(ty));
                    self.model.set_type(value, kept);
                }
            }
            for value in self.model.initializers(graph).collect::<Vec<_>>() {
                let is_input = matches!(self.model.value(value).def(), Def::Input { .. });
                if !is_input && (is_function || !self.choices.chance(10)) {
                    self.model.set_type(value, None::<Type>);
                }
            }
        }
    }

    /// Leaves some sizes of a type open.
    fn vaguer(&mut self, mut ty: Type) -> Type {
        if let TypeKind::Tensor(tensor) = &mut ty.kind {
            if self.choices.chance(15) {
                tensor.shape = None;
            } else if let Some(shape) = &mut tensor.shape {
                for dim in shape.dims_mut() {
                    if self.choices.chance(20) {
                        *dim = Dim::Unknown;
                    }
                }
            }
        }
        ty
    }

    /// Removes the operator sets that no node uses, except that of ONNX and, sometimes, another.
    fn keep_used_imports(&mut self) {
        let used = used_domains(&self.model);
        let keep_all = self.choices.chance(10);
        let is_used = |name: Symbol| keep_all || name == domain::ONNX || used.contains(&name);
        self.model.info_mut().opset_imports.retain(|import| is_used(import.domain()));
        for function in self.model.functions().to_vec() {
            let body = self.model.function(function).body();
            let mut used: Vec<Symbol> = Vec::new();
            for node in self.model.nodes_in(body) {
                used.push(self.model.node(node).domain());
            }
            let mut edit = self.model.function_mut(function);
            let imports = &mut edit.opset_imports;
            imports.retain(|import| import.domain() == domain::ONNX || used.contains(&import.domain()));
        }
    }

    /// Adds inputs of types that few operators take, a sparse initializer, and notes on how a value is quantized; nothing uses
    /// them.
    fn add_rare_values(&mut self) {
        let graph = self.model.main_graph();
        if self.choices.chance(15) {
            let ty = self.rare_type();
            let name = self.name("rare");
            let name = self.model.str(name).to_owned();
            self.model.add_graph_input(graph, &name, ty);
        }
        // Before version 4 of the format, every initializer must be an input, too.
        if self.ir_version() < 4 {
            return;
        }
        let elem = self.choices.pick(&[ElemType::Float, ElemType::Int8, ElemType::Bool, ElemType::Bfloat16]);
        if self.choices.chance(10)
            && let Some(sparse) = elements::sparse(elem.unwrap_or(ElemType::Float), self.choices.chance(50))
        {
            let name = self.name("sparse");
            self.model.add_initializer(graph, name, Constant::Sparse(sparse));
        }
        let annotated = self.model.graph(graph).outputs().first().map(|output| output.value());
        if let Some(value) = annotated.filter(|_| self.choices.chance(10)) {
            self.annotate(graph, value);
        }
    }

    /// Names the scale with which a value is quantized.
    fn annotate(&mut self, graph: GraphId, value: ValueId) {
        let Some(tensor) = elements::tensor(ElemType::Float, &[], &[2]) else { return };
        let name = self.name("scale");
        let scale = self.model.add_initializer(graph, name, tensor);
        let key = self.model.intern("SCALE_TENSOR");
        let parameter = QuantParameter::new(key, ValueRef::Value(scale));
        let annotation = QuantAnnotation::new(ValueRef::Value(value), vec![parameter]);
        self.model.graph_mut(graph).quantization.push(annotation);
    }

    /// A type that few operators take.
    fn rare_type(&mut self) -> Type {
        let elems: Vec<ElemType> = ElemType::all().skip(1).collect();
        let elem = self.choices.pick(&elems).unwrap_or(ElemType::Float);
        let dims = self.dims(2);
        let tensor = Type::tensor(elem, Some(Shape::new(dims.iter().copied())));
        match self.choices.below(6) {
            0 => Type::sparse_tensor(elem, Some(Shape::new(dims))),
            1 => Type::sequence(tensor),
            2 => Type::optional(Type::sequence(tensor)),
            3 => Type::map(ElemType::String, Type::sequence(Type::map(ElemType::Int64, tensor))),
            4 => Type::optional(tensor),
            _ => tensor,
        }
    }

    /// Adds documentation, metadata and the like in some places.
    fn decorate(&mut self) {
        if !self.choices.chance(40) {
            return;
        }
        let text = |smith: &mut Self| {
            let text = smith.choices.pick(&TEXTS).unwrap_or_default();
            smith.model.intern(text)
        };
        let (producer, version, namespace) = (text(self), text(self), text(self));
        let doc = text(self);
        let model_version = self.choices.int(0, 9);
        let mut info = self.model.info_mut();
        (info.producer_name, info.producer_version, info.domain) = (producer, version, namespace);
        (info.doc, info.model_version) = (doc, model_version);
        drop(info);
        let key = self.model.intern("key");
        let value = self.choices.pick(&TEXTS).unwrap_or_default();
        let entry = MetadataEntry::new(key, value);
        self.model.info_mut().metadata.push(entry.clone());
        // Graphs, nodes, values and functions have metadata since version 10 of the format.
        let has_metadata = self.ir_version() >= 10;
        let graphs: Vec<GraphId> = self.model.all_graphs().collect();
        for graph in graphs {
            if !matches!(self.model.graph(graph).owner(), Owner::Function(_)) && self.choices.chance(30) {
                let doc = text(self);
                self.model.graph_mut(graph).doc = doc;
                if has_metadata {
                    self.model.graph_mut(graph).metadata.push(entry.clone());
                }
            }
            let nodes: Vec<_> = self.model.nodes(graph).collect();
            for node in nodes {
                if self.choices.chance(15) {
                    let doc = text(self);
                    let mut extras = self.model.node_extras_mut(node);
                    extras.doc = doc;
                    if has_metadata {
                        extras.metadata.push(entry.clone());
                    }
                }
            }
        }
        for function in self.model.functions().to_vec() {
            let doc = text(self);
            let mut record = self.model.function_mut(function);
            record.doc = doc;
            if has_metadata {
                record.metadata.push(entry.clone());
            }
        }
    }
}

/// The domains of all nodes outside of functions' bodies and inside.
fn used_domains(model: &Model) -> Vec<Symbol> {
    let mut used: Vec<Symbol> = Vec::new();
    for graph in model.all_graphs() {
        for node in model.nodes(graph) {
            let name = model.node(node).domain();
            if !used.contains(&name) {
                used.push(name);
            }
        }
    }
    used
}

/// Whether the rank of every tensor in a type is known.
fn has_shapes(ty: &Type) -> bool {
    let mut inner = ty;
    while let Some(next) = inner.inner() {
        inner = next;
    }
    inner.shape().is_some()
}
