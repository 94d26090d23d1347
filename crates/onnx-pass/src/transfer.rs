//! Copies of nodes, types, nested graphs and functions into another model.

use std::collections::HashMap;
use std::sync::Arc;

use foldhash::fast::RandomState;
use onnx_ir::{
    AttrValue, Attribute, Callee, Constant, Def, FunctionId, GraphId, Model, NewNode, NodeId, OpsetImport,
    Position, ValueId,
};
use onnx_schema::OpsetRegistry;
use onnx_types::expr::Dialect;
use onnx_types::{Dim, Shape, Symbol, Type, TypeKind};
use slotmap::SecondaryMap;

/// Why a part of a model cannot be copied: the reason as a clause.
pub(crate) type Unsupported = String;

/// Maximum number of nodes that are copied with nested graphs and functions.
const MAX_NODES: usize = 10_000;

/// Maximum nesting of types; deeper parts become unknown.
const MAX_TYPE_DEPTH: usize = 32;

pub(crate) static STANDARD: OpsetRegistry = OpsetRegistry::standard();

/// A copy in progress. Values and dimension variables of the copy are numbered in the order in which they are first copied,
/// so the copy does not depend on names in the original.
pub(crate) struct Transfer<'a> {
    from: &'a Model,
    pub(crate) to: Model,
    pub(crate) values: SecondaryMap<ValueId, ValueId>,
    symbols: HashMap<Symbol, Symbol, RandomState>,
    functions: HashMap<FunctionId, (), RandomState>,
    open_functions: Vec<FunctionId>,
    named: usize,
    copied: usize,
}

impl<'a> Transfer<'a> {
    pub(crate) fn new(from: &'a Model) -> Self {
        let mut to = Model::new();
        to.info_mut().ir_version = from.info().ir_version.max(10);
        Self {
            from,
            to,
            values: SecondaryMap::new(),
            symbols: HashMap::default(),
            functions: HashMap::default(),
            open_functions: Vec::new(),
            named: 0,
            copied: 0,
        }
    }

    pub(crate) fn symbol(&mut self, symbol: Symbol) -> Symbol {
        self.to.intern(self.from.str(symbol))
    }

    /// The variable that a dimension variable of the original becomes.
    fn variable(&mut self, symbol: Symbol) -> Symbol {
        if let Some(&known) = self.symbols.get(&symbol) {
            return known;
        }
        let name = format!("s{}", self.symbols.len());
        let new = self.to.intern(&name);
        self.symbols.insert(symbol, new);
        new
    }

    /// A variable that occurs nowhere else.
    fn fresh_variable(&mut self) -> Dim {
        let name = format!("u{}", self.named);
        self.named = self.named.saturating_add(1);
        Dim::Var(self.to.intern(&name))
    }

    /// A dimension with the variables of the copy; unknown if its text is too long.
    pub(crate) fn dim(&mut self, dim: Dim) -> Dim {
        match dim {
            Dim::Known(_) | Dim::Unknown => dim,
            Dim::Var(symbol) => Dim::Var(self.variable(symbol)),
            Dim::Expr(_) => {
                let symbols = self.from.exprs().symbols(dim);
                let Some(text) = self.from.exprs().text(dim, self.from.names(), Dialect::Python) else {
                    return Dim::Unknown;
                };
                let mut map = Vec::new();
                for symbol in symbols {
                    let variable = self.variable(symbol);
                    map.push((self.symbol(symbol), Dim::Var(variable)));
                }
                let (exprs, names) = self.to.exprs_mut();
                let Ok(parsed) = exprs.try_parse(names, &text) else { return Dim::Unknown };
                let binding = |symbol| map.iter().find(|(from, _)| *from == symbol).map(|&(_, to)| to);
                exprs.substitute(parsed, &binding)
            }
        }
    }

    /// The type of a free input: unknown sizes become variables of their own. `with_dims` keeps the sizes of the original.
    pub(crate) fn input_type(&mut self, ty: &Type, with_dims: bool) -> Type {
        let mut sizes = |shape: &Shape, transfer: &mut Self| {
            let dims: Vec<Dim> = shape.dims().to_vec();
            let dims = dims.into_iter().map(|dim| {
                let dim = if with_dims { transfer.dim(dim) } else { Dim::Unknown };
                if dim.is_unknown() { transfer.fresh_variable() } else { dim }
            });
            Shape::new(dims.collect::<Vec<_>>())
        };
        self.map_type(ty, &mut sizes, MAX_TYPE_DEPTH)
    }

    /// The type of a value inside a graph: only sizes that are numbers remain, as names of sizes would change.
    fn inner_type(&mut self, ty: &Type) -> Type {
        let mut sizes = |shape: &Shape, _: &mut Self| {
            let known = |dim: &Dim| dim.known().map_or(Dim::Unknown, Dim::Known);
            Shape::new(shape.dims().iter().map(known).collect::<Vec<_>>())
        };
        self.map_type(ty, &mut sizes, MAX_TYPE_DEPTH)
    }

    fn map_type(
        &mut self,
        ty: &Type,
        sizes: &mut dyn FnMut(&Shape, &mut Self) -> Shape,
        depth: usize,
    ) -> Type {
        // `MAX_TYPE_DEPTH` bounds this recursion.
        let Some(depth) = depth.checked_sub(1) else { return Type::default() };
        let kind = match &ty.kind {
            TypeKind::Undefined => TypeKind::Undefined,
            TypeKind::Tensor(of) | TypeKind::SparseTensor(of) => {
                let shape = of.shape.as_ref().map(|shape| sizes(shape, self));
                let of = onnx_types::TensorType { elem: of.elem, shape };
                if matches!(ty.kind, TypeKind::Tensor(_)) {
                    TypeKind::Tensor(of)
                } else {
                    TypeKind::SparseTensor(of)
                }
            }
            TypeKind::Sequence(of) => {
                TypeKind::Sequence(of.as_ref().map(|of| Box::new(self.map_type(of, sizes, depth))))
            }
            TypeKind::Optional(of) => {
                TypeKind::Optional(of.as_ref().map(|of| Box::new(self.map_type(of, sizes, depth))))
            }
            TypeKind::Map { key, value } => {
                let value = value.as_ref().map(|of| Box::new(self.map_type(of, sizes, depth)));
                TypeKind::Map { key: *key, value }
            }
            TypeKind::Opaque { domain, name } => {
                TypeKind::Opaque { domain: self.symbol(*domain), name: self.symbol(*name) }
            }
        };
        Type::new(kind)
    }

    /// The name of the next value.
    fn next_name(&mut self) -> Symbol {
        let name = format!("v{}", self.named);
        self.named = self.named.saturating_add(1);
        self.to.intern(&name)
    }

    /// Copies a node to the end of a graph, with its nested graphs. All values from outside must be mapped.
    pub(crate) fn node(&mut self, node: NodeId, target: GraphId) -> Result<NodeId, Unsupported> {
        // Graphs are filled from the inside out: a node is made when its nested graphs are complete.
        let mut graphs: Vec<(GraphId, GraphId)> = Vec::new();
        let mut copies: SecondaryMap<GraphId, GraphId> = SecondaryMap::new();
        self.define_outputs(node)?;
        for nested in self.from.node(node).nested_graphs() {
            self.open_graph(nested, target, &mut graphs, &mut copies);
        }
        let mut at = 0;
        while let Some(&(graph, copy)) = graphs.get(at) {
            at = at.saturating_add(1);
            for inner in self.from.nodes(graph) {
                self.define_outputs(inner)?;
                for nested in self.from.node(inner).nested_graphs() {
                    self.open_graph(nested, copy, &mut graphs, &mut copies);
                }
            }
        }
        for &(graph, copy) in graphs.iter().rev() {
            for inner in self.from.nodes(graph) {
                self.place(inner, copy, &copies)?;
            }
            for output in self.from.graph(graph).outputs() {
                let value = self.mapped(output.value())?;
                self.to.push_graph_output(copy, value);
            }
        }
        self.place(node, target, &copies)
    }

    /// Makes the values that a node defines.
    fn define_outputs(&mut self, node: NodeId) -> Result<(), Unsupported> {
        self.copied = self.copied.saturating_add(1);
        if self.copied > MAX_NODES {
            return Err(format!(
                "the region has more than {MAX_NODES} nodes with nested graphs and functions"
            ));
        }
        for &output in self.from.node(node).outputs().iter().flatten() {
            let name = self.next_name();
            let value = self.to.new_value(name);
            self.values.insert(output, value);
        }
        Ok(())
    }

    fn open_graph(
        &mut self,
        graph: GraphId,
        parent: GraphId,
        graphs: &mut Vec<(GraphId, GraphId)>,
        copies: &mut SecondaryMap<GraphId, GraphId>,
    ) {
        let name = self.to.intern(&format!("g{}", self.named));
        let copy = self.to.new_graph_in(parent, name);
        graphs.push((graph, copy));
        copies.insert(graph, copy);
        self.open_inputs(graph, copy);
        let constants: Vec<ValueId> = self.from.initializers(graph).collect();
        for value in constants {
            let record = self.from.value(value);
            if matches!(record.def(), Def::Initializer(_))
                && let Some(constant) = record.initializer()
            {
                let name = self.next_name();
                let new = self.to.add_initializer(copy, name, Constant::clone(constant));
                self.values.insert(value, new);
            }
        }
    }

    fn open_inputs(&mut self, graph: GraphId, copy: GraphId) {
        let inputs = self.from.graph(graph).inputs();
        for &input in inputs {
            let name = self.next_name();
            let name = self.to.str(name).to_owned();
            let ty = self.from.ty(input).map(|ty| self.inner_type(ty));
            let new = self.to.add_graph_input(copy, &name, ty);
            if let Some(constant) = self.from.value(input).initializer() {
                self.to.set_initializer(copy, new, Some(Arc::clone(constant)));
            }
            self.values.insert(input, new);
        }
    }

    pub(crate) fn mapped(&self, value: ValueId) -> Result<ValueId, Unsupported> {
        let new = self.values.get(value).copied();
        new.ok_or_else(|| format!("{value} is used before it is defined"))
    }

    /// Makes a node whose outputs and nested graphs exist.
    fn place(
        &mut self,
        node: NodeId,
        target: GraphId,
        copies: &SecondaryMap<GraphId, GraphId>,
    ) -> Result<NodeId, Unsupported> {
        let record = self.from.node(node);
        if let Callee::Function(function) = self.from.callee(node, &STANDARD)
            && self.functions.insert(function, ()).is_none()
        {
            self.open_functions.push(function);
        }
        let [op, domain, overload] =
            [record.op(), record.domain(), record.overload()].map(|symbol| self.symbol(symbol));
        let mut new = NewNode { domain, overload, ..NewNode::new(op) };
        for input in record.inputs() {
            new.inputs.push(input.map(|input| self.mapped(input)).transpose()?);
        }
        for output in record.outputs() {
            new.outputs.push(output.map(|output| self.mapped(output)).transpose()?);
        }
        for attribute in record.attributes() {
            let attribute = self.attribute(attribute, Some(copies))?;
            new.attributes.push(attribute);
        }
        self.to.add_node(Position::End(target), new).map_err(|error| error.to_string())
    }

    fn attribute(
        &mut self,
        attribute: &Attribute,
        copies: Option<&SecondaryMap<GraphId, GraphId>>,
    ) -> Result<Attribute, Unsupported> {
        let copy_of = |graph: &GraphId| {
            let copy = copies.and_then(|copies| copies.get(*graph)).copied();
            copy.ok_or_else(|| "a default of a function holds a graph".to_owned())
        };
        let value = match attribute.value() {
            AttrValue::Ref(target) => {
                let (name, target) = (self.symbol(attribute.name()), self.symbol(*target));
                return Ok(Attribute::reference(name, target, attribute.kind()));
            }
            AttrValue::Graph(graph) => AttrValue::Graph(copy_of(graph)?),
            AttrValue::Graphs(graphs) => {
                AttrValue::Graphs(graphs.iter().map(copy_of).collect::<Result<_, _>>()?)
            }
            AttrValue::Type(ty) => AttrValue::Type(Arc::new(self.inner_type(ty))),
            AttrValue::Types(types) => AttrValue::Types(types.iter().map(|ty| self.inner_type(ty)).collect()),
            other => other.clone(),
        };
        Ok(Attribute::new(self.symbol(attribute.name()), value))
    }

    /// Copies the functions that copied nodes call, and those that these call.
    pub(crate) fn functions(&mut self) -> Result<(), Unsupported> {
        while let Some(function) = self.open_functions.pop() {
            self.function(function)?;
        }
        Ok(())
    }

    fn function(&mut self, function: FunctionId) -> Result<(), Unsupported> {
        let record = self.from.function(function);
        let [domain, name, overload] =
            [record.domain(), record.name(), record.overload()].map(|symbol| self.symbol(symbol));
        let copy = self.to.add_function(domain, name, overload);
        let attributes: Vec<Symbol> = record.attributes.iter().map(|&name| self.symbol(name)).collect();
        let mut defaults = Vec::new();
        for default in &record.defaults {
            defaults.push(self.attribute(default, None)?);
        }
        let mut imports = Vec::new();
        for import in &record.opset_imports {
            imports.push(OpsetImport::new(self.symbol(import.written_domain()), import.version()));
        }
        let target = self.to.function(copy).body();
        self.to.function_mut(copy).attributes = attributes;
        for default in defaults {
            self.to.push_function_default(copy, default).map_err(|error| error.to_string())?;
        }
        self.to.function_mut(copy).opset_imports = imports;
        let body = record.body();
        self.open_inputs(body, target);
        let nodes = self.from.sorted_nodes(body).map_err(|cycle| cycle.to_string())?;
        for node in nodes {
            self.node(node, target)?;
        }
        for output in self.from.graph(body).outputs() {
            let value = self.mapped(output.value())?;
            self.to.push_graph_output(target, value);
        }
        Ok(())
    }
}
