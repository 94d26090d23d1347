//! The state of a model in the making: scopes with their values, and nodes that are added one by one.

use onnx_check::{CheckOptions, Part, check_part};
use onnx_ir::{Changes, Def, GraphId, Model, NewNode, NodeId, OpsetImport, Position, Revision, ValueId};
use onnx_schema::{
    AttrKind, DeclaredSchema, Schema, SchemaId, domain, ir_version_for, lookup, op, opset_versions,
};
use onnx_shape_infer::{InferOptions, Inference, Ty, infer, infer_node};
use onnx_types::tensor::Tensor;
use onnx_types::{Dim, ElemType, Shape, Symbol, Type, TypeKind};

use crate::choices::Choices;
use crate::custom_operators::{self, Proposal};
use crate::draft::{Draft, Operand};
use crate::functions::Signature;
use crate::stats::Stats;
use crate::{SmithOptions, elements};

/// The names of the dimension variables of the inputs.
const VARIABLES: [&str; 4] = ["N", "M", "batch", "seq_len"];

/// How deep bodies may be nested in each other.
const MOST_DEPTH: usize = 3;

/// Maximum number of values of each scope that are considered when an operand is chosen.
const MOST_VISIBLE: usize = 256;

/// What a scope is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The main graph: it can have more inputs and initializers.
    Main,
    /// A graph in an attribute, which sees what is around it.
    Body,
    /// The body of a function, which sees nothing else.
    Function,
}

/// A value that nodes can use.
#[derive(Clone)]
pub(crate) struct Entry {
    pub(crate) value: ValueId,
    pub(crate) ty: Ty,
    /// Whether a node of the scope makes it.
    pub(crate) is_made: bool,
}

/// A graph that nodes are being added to.
pub(crate) struct Scope {
    pub(crate) graph: GraphId,
    pub(crate) kind: Kind,
    pub(crate) entries: Vec<Entry>,
}

/// A model in the making.
pub(crate) struct Smith<'b> {
    pub(crate) model: Model,
    pub(crate) choices: Choices<'b>,
    pub(crate) options: SmithOptions<'b>,
    pub(crate) stats: Stats,
    /// The graphs around the place where nodes are added, the innermost last.
    pub(crate) scopes: Vec<Scope>,
    pub(crate) signatures: Vec<Signature>,
    variables: Vec<Symbol>,
    /// What is known about the main graph.
    inference: Inference,
    /// The revision that `inference` belongs to.
    revision: Option<Revision>,
    names: usize,
    /// The schemas of the imported operator sets.
    schemas: Vec<&'static Schema>,
    /// The operators of declared sets that are imported.
    custom: Vec<&'b DeclaredSchema>,
}

impl<'b> Smith<'b> {
    pub(crate) fn new(bytes: &'b [u8], options: SmithOptions<'b>) -> Self {
        let mut model = Model::new();
        let variables = VARIABLES.map(|name| model.intern(name)).to_vec();
        let graph = model.main_graph();
        let name = model.intern("smith");
        model.set_graph_name(graph, name);
        let scopes = vec![Scope { graph, kind: Kind::Main, entries: Vec::new() }];
        let mut smith = Self {
            model,
            choices: Choices::new(bytes),
            options,
            stats: Stats::default(),
            scopes,
            signatures: Vec::new(),
            variables,
            inference: Inference::default(),
            revision: None,
            names: 0,
            schemas: Vec::new(),
            custom: Vec::new(),
        };
        smith.choose_versions();
        let options = smith.main_options();
        smith.inference = infer(&smith.model, &options);
        smith
    }

    /// Chooses operator sets and the version of the format.
    fn choose_versions(&mut self) {
        let wanted = self.options.schema.map(SchemaId::schema);
        let mut imports = Vec::new();
        for name in onnx_schema::domains() {
            let Some(versions) = opset_versions(name) else { continue };
            let (mut least, mut most) = (*versions.start(), *versions.end());
            if let Some(schema) = wanted.filter(|schema| schema.domain() == name) {
                least = schema.since_version();
                most = schema.until_version().unwrap_or(most);
            } else if let Some(opset) = self.options.opset.filter(|_| name == domain::ONNX) {
                (least, most) = (opset.clamp(least, most), opset.clamp(least, most));
            } else if name == domain::ONNX && self.choices.chance(60) {
                least = most.saturating_sub(12).max(least);
            }
            imports.push((name, self.choices.int(least, most)));
        }
        let release = imports.iter().filter_map(|&(name, version)| {
            let is_relevant = name == domain::ONNX || wanted.is_some_and(|schema| schema.domain() == name);
            ir_version_for(name, version).filter(|_| is_relevant)
        });
        let least = release.max().unwrap_or(3).max(3);
        let newest = onnx_schema::LATEST_IR_VERSION;
        let usual = if self.choices.chance(70) { least.max(10).min(newest) } else { least };
        self.model.info_mut().ir_version = self.choices.int(usual, newest);
        for &(name, version) in &imports {
            self.model.info_mut().opset_imports.push(OpsetImport::new(name, version));
        }
        let is_usable = |schema: &&Schema| {
            let version =
                imports.iter().find(|(name, _)| *name == schema.domain()).map(|(_, version)| *version);
            let current = version.and_then(|version| lookup(schema.domain(), schema.op(), version));
            current.is_some_and(|current| current.id() == schema.id()) && !schema.is_deprecated()
        };
        self.schemas = onnx_schema::all().iter().filter(is_usable).collect();
        let registry = self.options.registry;
        for domain in registry.declared_domains() {
            let Some(versions) =
                registry.declared_versions(domain).filter(|_| onnx_schema::domain_symbol(domain).is_none())
            else {
                continue;
            };
            let version = self.choices.int(*versions.start(), *versions.end());
            let name = self.model.intern(domain);
            self.model.info_mut().opset_imports.push(OpsetImport::new(name, version));
        }
        self.custom = custom_operators::usable(self);
    }

    /// The version of the format.
    pub(crate) const fn ir_version(&self) -> i64 {
        self.model.info().ir_version
    }

    /// Adds nodes to the innermost graph until `nodes` have been added, the bytes are used up, or too many were
    /// refused.
    pub(crate) fn fill(&mut self, nodes: usize) {
        let (mut made, mut tries) = (0, 0);
        while made < nodes && tries < nodes.saturating_mul(6).saturating_add(8) && !self.choices.is_done() {
            made += usize::from(self.node());
            tries += 1;
        }
    }

    /// Tries to add one node. Returns `true` if it was added.
    fn node(&mut self) -> bool {
        if !self.signatures.is_empty() && self.choices.chance(12) {
            return self.call().is_some();
        }
        if !self.custom.is_empty() && self.choices.chance(25) {
            let schema = self.choices.pick(&self.custom);
            return schema.is_some_and(|schema| Proposal::forge(self, schema).is_some());
        }
        let nested = self.choices.chance(8) && self.depth() < MOST_DEPTH;
        let candidates: Vec<&'static Schema> = if nested {
            self.schemas.iter().copied().filter(|schema| holds_graphs(schema)).collect()
        } else {
            Vec::new()
        };
        let schema = self.choices.pick(&candidates).or_else(|| self.choices.pick(&self.schemas));
        schema.is_some_and(|schema| self.operator(schema).is_some())
    }

    /// Tries to add a node of an operator.
    pub(crate) fn operator(&mut self, schema: &'static Schema) -> Option<NodeId> {
        let has_graphs = schema.attributes().iter().any(|formal| formal.kind == AttrKind::Graph);
        if has_graphs && self.depth() >= MOST_DEPTH {
            return None;
        }
        let made = Draft::new(self, schema).forge();
        self.stats.count(schema.id(), made.is_some());
        made
    }

    /// How many graphs are around the place where nodes are added, that of the model or function not counted.
    fn depth(&self) -> usize {
        self.scopes.len().saturating_sub(1)
    }

    pub(crate) fn kind(&self) -> Kind {
        self.scopes.last().map_or(Kind::Main, |scope| scope.kind)
    }

    pub(crate) fn graph(&self) -> GraphId {
        self.scopes.last().map_or_else(|| self.model.main_graph(), |scope| scope.graph)
    }

    /// The values that a node here can use, outer ones first; of each scope the last ones, so that large models take time in
    /// proportion to their nodes.
    pub(crate) fn visible(&self) -> impl Iterator<Item = &Entry> {
        let root = self.scopes.iter().rposition(|scope| scope.kind != Kind::Body).unwrap_or(0);
        let recent = |scope: &'_ Scope| scope.entries.len().saturating_sub(MOST_VISIBLE);
        self.scopes.iter().skip(root).flat_map(move |scope| scope.entries.iter().skip(recent(scope)))
    }

    /// A name that nothing in the model has.
    pub(crate) fn name(&mut self, prefix: &str) -> Symbol {
        self.names += 1;
        self.model.intern(&format!("{prefix}{}", self.names))
    }

    /// Begins a graph whose inputs have these types.
    pub(crate) fn open(&mut self, graph: GraphId, kind: Kind, inputs: &[Type]) {
        let mut entries = Vec::new();
        for ty in inputs {
            let name = self.name("b");
            let value = self.model.new_value_in(graph, name);
            // A new value has no definition, so it can become an input.
            if self.model.push_graph_input(graph, value).is_ok() {
                self.model.set_type(value, Some(ty.clone()));
                entries.push(Entry { value, ty: Ty::from(ty), is_made: false });
            }
        }
        self.scopes.push(Scope { graph, kind, entries });
    }

    /// Ends the innermost graph.
    pub(crate) fn close(&mut self) {
        if self.scopes.len() > 1 {
            self.scopes.pop();
        }
    }

    /// Adds a node with new values for its operands and outputs. Where inference or the checker have something to say
    /// against it, everything is taken back.
    pub(crate) fn commit(
        &mut self,
        mut node: NewNode,
        operands: &[Operand],
        outputs: &[bool],
    ) -> Option<NodeId> {
        let graph = self.graph();
        let known = self.scopes.last().map_or(0, |scope| scope.entries.len());
        let mut values = Vec::new();
        for operand in operands {
            let value = match operand {
                Operand::Missing => None,
                Operand::Value(value) => Some(*value),
                Operand::Input(ty) => Some(self.input(ty.clone(), None)),
                Operand::Constant(tensor) => {
                    let made = self.constant(tensor.clone());
                    if made.is_none() {
                        self.take_back(None, &values, known);
                        return None;
                    }
                    made
                }
            };
            if let Some(value) = value.filter(|_| !matches!(operand, Operand::Value(_))) {
                values.push(value);
            }
            node.inputs.push(value);
        }
        for &is_there in outputs {
            let name = if is_there { self.name("v") } else { Symbol::EMPTY };
            node.outputs.push(is_there.then(|| self.model.new_value_in(graph, name)));
        }
        let made: Vec<ValueId> = node.outputs.iter().flatten().copied().collect();
        let node = self.model.add_node(Position::End(graph), node).ok()?;
        if self.judge(node, &made) {
            let scope = self.scopes.last_mut()?;
            for value in values {
                let ty = self.model.ty(value).map_or(Ty::Unknown, Ty::from);
                // Constants that nodes make are there already.
                if self.model.value(value).producer().is_none() {
                    scope.entries.push(Entry { value, ty, is_made: false });
                }
            }
            return Some(node);
        }
        self.take_back(Some(node), &values, known);
        None
    }

    /// Removes what a node that is not to be has brought, and what the innermost scope knows beyond the first `known`.
    fn take_back(&mut self, node: Option<NodeId>, values: &[ValueId], known: usize) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.entries.truncate(known);
        }
        // What was just made is used by nothing else, so none of these can fail.
        if let Some(node) = node {
            let _ = self.model.erase_node(node);
        }
        for &value in values.iter().rev() {
            match self.model.value(value).def() {
                Def::Input { graph, index } => {
                    self.model.remove_graph_input(graph, index as usize);
                    self.model.set_initializer(graph, value, None);
                    let _ = self.model.erase_value(value);
                }
                Def::Output { node, .. } => {
                    let _ = self.model.erase_node(node);
                }
                Def::Initializer(_) | Def::Unresolved(_) => {
                    let _ = self.model.erase_value(value);
                }
            }
        }
    }

    /// Creates an input of the main graph, optionally with a default.
    fn input(&mut self, ty: Type, default: Option<Tensor>) -> ValueId {
        let graph = self.model.main_graph();
        let name = self.name("x");
        let value = self.model.new_value_in(graph, name);
        // A new value has no definition, so it can become an input.
        let _ = self.model.push_graph_input(graph, value);
        self.model.set_type(value, Some(ty));
        if let Some(tensor) = default {
            self.model.set_initializer(graph, value, Some(std::sync::Arc::new(tensor.into())));
        }
        value
    }

    /// Makes a constant: an initializer where the graph can have one, or else a node.
    fn constant(&mut self, tensor: Tensor) -> Option<ValueId> {
        let is_early = self.ir_version() < 4;
        let by_node = self.kind() == Kind::Function
            || (self.kind() == Kind::Body && (is_early || self.choices.chance(30)))
            || (self.kind() == Kind::Main && self.choices.chance(10));
        let ty = Type::tensor(tensor.elem(), Some(Shape::known(tensor.dims())));
        if by_node {
            let attribute = onnx_ir::Attribute::new(onnx_schema::attr::VALUE, tensor);
            let node = self.commit(NewNode::new(op::CONSTANT).attribute(attribute), &[], &[true])?;
            return self.model.node(node).output(0);
        }
        let tensor =
            if self.choices.chance(30) { elements::typed(&tensor).unwrap_or(tensor) } else { tensor };
        if is_early {
            // Before version 4 of the format, every initializer must be an input, too.
            return Some(self.input(ty, Some(tensor)));
        }
        let name = self.name("c");
        let value = self.model.add_initializer(self.graph(), name, tensor);
        self.model.set_type(value, Some(ty));
        Some(value)
    }

    /// Makes a constant by a node of the innermost graph, for an output of the graph.
    pub(crate) fn constant_in(&mut self, elem: ElemType, dims: &[i64], numbers: &[i64]) -> Option<ValueId> {
        let tensor = elements::tensor(elem, dims, numbers)?;
        let attribute = onnx_ir::Attribute::new(onnx_schema::attr::VALUE, tensor);
        let node = self.commit(NewNode::new(op::CONSTANT).attribute(attribute), &[], &[true])?;
        self.model.node(node).output(0)
    }

    /// A value of a type that a node of the innermost graph produces, and that is not yet an output of the graph.
    pub(crate) fn produce(&mut self, ty: &Type) -> Option<ValueId> {
        let fitting: Vec<Entry> = self
            .visible()
            .filter(|entry| self.declarable(&entry.ty).is_some_and(|found| found == *ty))
            .cloned()
            .collect();
        let graph = self.graph();
        let is_here = |entry: &&Entry| {
            let maker = self.model.value(entry.value).producer();
            maker.is_some_and(|node| self.model.node(node).graph() == graph)
                && !self.model.is_graph_output(entry.value)
        };
        if let Some(entry) = fitting.iter().rev().find(is_here) {
            return Some(entry.value);
        }
        if let Some(entry) = self.choices.pick(&fitting.iter().collect::<Vec<_>>()) {
            let node = self.commit(NewNode::new(op::IDENTITY), &[Operand::Value(entry.value)], &[true])?;
            return self.model.node(node).output(0);
        }
        let sizes: Option<Vec<i64>> = ty.shape()?.dims().iter().map(|dim| dim.known()).collect();
        let sizes = sizes.filter(|_| matches!(ty.kind, TypeKind::Tensor(_)))?;
        let count = sizes
            .iter()
            .try_fold(1_i64, |all, &size| all.checked_mul(size))
            .filter(|&count| count <= 1024)?;
        self.constant_in(ty.elem(), &sizes, &(0..count).collect::<Vec<_>>())
    }

    /// How the main graph is inferred while it grows: every type comes from the operators.
    fn main_options(&self) -> InferOptions<'b> {
        let mut options = InferOptions::default().with_registry(self.options.registry);
        options.declared = false;
        options.check_types = true;
        options
    }

    /// Brings what is inferred about the main graph up to date.
    fn infer_main(&mut self) {
        let changes = match &self.revision {
            Some(revision) => self.model.changes_since(revision),
            None => Changes::Everything,
        };
        self.revision = Some(self.model.revision());
        let before = std::mem::take(&mut self.inference);
        let options = self.main_options();
        self.inference = before.update(&self.model, &options, &changes);
    }

    /// Infers a new node, and checks it. What is known about its outputs goes to the innermost scope.
    fn judge(&mut self, node: NodeId, made: &[ValueId]) -> bool {
        let is_main = self.kind() == Kind::Main;
        let types: Vec<Ty> = if is_main {
            self.infer_main();
            let Self { model, inference, .. } = self;
            made.iter().map(|&value| inference.intern_type(model, value).into()).collect()
        } else {
            let mut options = InferOptions::default().with_registry(self.options.registry);
            options.check_types = true;
            let mut inference = infer_node(&self.model, node, &options);
            if !inference.findings().is_empty() {
                return false;
            }
            let interned = made.iter().map(|&value| inference.intern_type(&mut self.model, value).into());
            let types: Vec<Ty> = interned.collect();
            types.iter().map(|ty| self.declarable(ty).into()).collect()
        };
        if (is_main && !self.inference.findings().is_empty()) || !self.passes(node) {
            return false;
        }
        // The reference infers nothing of what some operators give, so types must be declared where others use it.
        let is_open = !self.is_inferred(node);
        for (&value, ty) in made.iter().zip(types) {
            if is_open && self.is_in_function() {
                continue;
            }
            let declared = self.declarable(&ty);
            self.model.set_type(value, declared);
            if let Some(scope) = self.scopes.last_mut() {
                scope.entries.push(Entry { value, ty, is_made: true });
            }
        }
        true
    }

    /// Whether nodes are added to a function's body, or to a graph in one.
    fn is_in_function(&self) -> bool {
        self.scopes.iter().any(|scope| scope.kind == Kind::Function)
    }

    /// Whether the reference infers what a node gives.
    pub(crate) fn is_inferred(&self, node: NodeId) -> bool {
        let record = self.model.node(node);
        let domain = self.model.str(record.domain());
        if self.custom.iter().any(|schema| schema.domain() == domain) {
            return false;
        }
        let version = self.model.versions_in(record.graph()).get(record.domain()).unwrap_or(1);
        let schema = lookup(record.domain(), record.op(), version);
        schema.is_none_or(|schema| schema.has_inference() || schema.is_function())
    }

    /// Whether the checker has nothing to say against a node.
    fn passes(&self, node: NodeId) -> bool {
        let registry = self.options.registry.clone();
        let found =
            check_part(&self.model, Part::Node(node), &CheckOptions::default().with_registry(registry));
        !found.has_errors()
    }

    /// The part of a type that a file can declare: the fresh symbols of inference are unknown to other readers.
    pub(crate) fn declarable(&self, ty: &Ty) -> Option<Type> {
        let known = |dim: Dim| {
            let symbols = match dim {
                Dim::Var(symbol) => vec![symbol],
                Dim::Expr(_) => self.model.exprs().symbols(dim),
                _ => Vec::new(),
            };
            if symbols.iter().all(|symbol| self.variables.contains(symbol)) { dim } else { Dim::Unknown }
        };
        let mut ty = ty.to_type()?;
        let mut inner = &mut ty;
        loop {
            inner = match &mut inner.kind {
                TypeKind::Tensor(tensor) | TypeKind::SparseTensor(tensor) => {
                    if let Some(shape) = &mut tensor.shape {
                        shape.dims_mut().iter_mut().for_each(|dim| *dim = known(*dim));
                    }
                    break;
                }
                TypeKind::Sequence(Some(inner)) | TypeKind::Optional(Some(inner)) => inner,
                TypeKind::Map { value: Some(value), .. } => value,
                _ => break,
            };
        }
        (ty.elem() != ElemType::Undefined || ty.inner().is_some()).then_some(ty)
    }

    /// Whether a size can be declared by an input: a number, or a dimension variable that the main graph has.
    pub(crate) fn is_plain(&self, dim: Dim) -> bool {
        match dim {
            Dim::Known(_) => true,
            Dim::Var(symbol) => self.variables.contains(&symbol),
            Dim::Expr(_) | Dim::Unknown => false,
        }
    }

    /// Sizes to begin with.
    pub(crate) fn dims(&mut self, rank: usize) -> Vec<Dim> {
        (0..rank).map(|_| self.dim()).collect()
    }

    fn dim(&mut self) -> Dim {
        let symbolic = self.options.symbolic && self.kind() == Kind::Main && self.choices.chance(15);
        if let Some(symbol) = self.choices.pick(&self.variables).filter(|_| symbolic) {
            return Dim::Var(symbol);
        }
        Dim::Known(self.choices.pick(&[2, 3, 4, 1, 5, 2, 3, 4, 6, 1, 8, 2, 3, 4, 7, 0]).unwrap_or(2))
    }
}

/// Whether an operator of ONNX has attributes that are graphs.
fn holds_graphs(schema: &Schema) -> bool {
    schema.domain() == domain::ONNX && schema.attributes().iter().any(|formal| formal.kind == AttrKind::Graph)
}
