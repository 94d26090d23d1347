//! Copies of nodes, types and functions into another model, which do not depend on the names in the original.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use onnx_ir::{Callee, FunctionId, GraphId, Importer, Model, NodeId, Position, ValueId};
use onnx_schema::Registry;
use onnx_types::expr::ExprTable;
use onnx_types::tensor::{DataSource, Tensor, TensorError};
use onnx_types::{Dim, Shape, Symbol, Type, TypeKind};

use crate::keys::KeySet;

/// The reason why a part of a model cannot be copied, as a clause.
pub(crate) type Unsupported = String;

/// Maximum number of nodes that are copied with nested graphs and functions.
const MAX_NODES: usize = 10_000;

/// A tensor with its elements in memory.
pub(crate) fn in_memory(tensor: &Tensor, data: &dyn DataSource) -> Result<Tensor, TensorError> {
    if !tensor.is_external() {
        return Ok(tensor.clone());
    }
    let bytes = tensor.bytes(data)?;
    Ok(Tensor::from_raw(tensor.elem(), tensor.dims().iter().copied(), bytes)?)
}

/// A copy in progress. Dimension variables of the copy are numbered in the order in which they are first copied.
pub(crate) struct Transfer<'a> {
    from: &'a Model,
    /// Inferred expressions about the original.
    exprs: &'a ExprTable,
    registry: &'a Registry,
    pub(crate) to: Model,
    importer: Importer<'a>,
    variables: HashMap<Symbol, Symbol, RandomState>,
    /// The functions that copied nodes call, and those of them that are not copied yet.
    called: KeySet<FunctionId>,
    waiting: Vec<FunctionId>,
    /// Number of variables that occur once.
    fresh: usize,
    copied: usize,
}

impl<'a> Transfer<'a> {
    pub(crate) fn new(from: &'a Model, exprs: &'a ExprTable, registry: &'a Registry) -> Self {
        let mut to = Model::new();
        to.info_mut().ir_version = from.info().ir_version.max(10);
        Self {
            from,
            exprs,
            registry,
            to,
            importer: Importer::anonymous(from),
            variables: HashMap::default(),
            called: KeySet::default(),
            waiting: Vec::new(),
            fresh: 0,
            copied: 0,
        }
    }

    pub(crate) fn symbol(&mut self, symbol: Symbol) -> Symbol {
        self.importer.symbol(&mut self.to, symbol)
    }

    /// A variable that occurs nowhere else.
    fn fresh_variable(&mut self) -> Dim {
        let name = format!("u{}", self.fresh);
        self.fresh = self.fresh.saturating_add(1);
        Dim::Var(self.to.intern(&name))
    }

    /// A declared or inferred dimension with the variables of the copy.
    pub(crate) fn dim(&mut self, dim: Dim) -> Dim {
        let from = if self.exprs.has(dim) { self.exprs } else { self.from.exprs() };
        let variables = &mut self.variables;
        let (exprs, names) = self.to.exprs_mut();
        exprs.import(from, dim, &mut |symbol| {
            let number = variables.len();
            *variables.entry(symbol).or_insert_with(|| names.intern(&format!("s{number}")))
        })
    }

    /// The type of a free input: unknown sizes become distinct variables. `with_dims` keeps the sizes of the original.
    pub(crate) fn input_type(&mut self, ty: &Type, with_dims: bool) -> Type {
        let mut copy = self.importer.ty(&mut self.to, ty);
        let (mut from, mut to) = (ty, &mut copy);
        loop {
            match (&from.kind, &mut to.kind) {
                (
                    TypeKind::Tensor(from) | TypeKind::SparseTensor(from),
                    TypeKind::Tensor(to) | TypeKind::SparseTensor(to),
                ) => {
                    to.shape = from.shape.as_ref().map(|shape| self.input_shape(shape, with_dims));
                    break;
                }
                (
                    TypeKind::Sequence(Some(inner)) | TypeKind::Optional(Some(inner)),
                    TypeKind::Sequence(Some(copy)) | TypeKind::Optional(Some(copy)),
                )
                | (TypeKind::Map { value: Some(inner), .. }, TypeKind::Map { value: Some(copy), .. }) => {
                    (from, to) = (inner, copy);
                }
                _ => break,
            }
        }
        copy
    }

    fn input_shape(&mut self, shape: &Shape, with_dims: bool) -> Shape {
        let dims = shape.dims().iter().map(|&dim| {
            let dim = if with_dims { self.dim(dim) } else { Dim::Unknown };
            if dim.is_unknown() { self.fresh_variable() } else { dim }
        });
        Shape::new(dims.collect::<Vec<_>>())
    }

    /// Begins another graph, in which no value of the original has a copy.
    pub(crate) fn begin(&mut self) {
        self.importer = Importer::anonymous(self.from);
    }

    /// Maps a value of the original to a value of the copy.
    pub(crate) fn map(&mut self, from: ValueId, to: ValueId) {
        self.importer.map(from, Some(to));
    }

    pub(crate) fn mapped(&self, value: ValueId) -> Result<ValueId, Unsupported> {
        self.importer.get(value).ok_or_else(|| format!("{value} is used before it is defined"))
    }

    /// Copies a node to the end of a graph, with its nested graphs. All values from outside must be mapped.
    pub(crate) fn node(&mut self, node: NodeId, target: GraphId) -> Result<NodeId, Unsupported> {
        self.count(self.from.walk_node(node).nodes())?;
        let copy = self.importer.node(&mut self.to, node, Position::End(target));
        copy.map_err(|error| error.to_string())
    }

    /// Counts nodes that are going to be copied, and collects the functions that they call.
    fn count(&mut self, nodes: impl Iterator<Item = NodeId>) -> Result<(), Unsupported> {
        for node in nodes {
            self.copied = self.copied.saturating_add(1);
            if self.copied > MAX_NODES {
                return Err(format!(
                    "the region has more than {MAX_NODES} nodes with nested graphs and functions"
                ));
            }
            let function = match self.from.callee(node, self.registry) {
                // A patch imports the domain when it is committed.
                Callee::NotImported => self.from.function_called(self.from.node(node)),
                callee => callee.function(),
            };
            if let Some(function) = function
                && self.called.insert(function, ()).is_none()
            {
                self.waiting.push(function);
            }
        }
        Ok(())
    }

    /// Copies the functions that copied nodes call, and those that these call.
    pub(crate) fn functions(&mut self) -> Result<(), Unsupported> {
        while let Some(function) = self.waiting.pop() {
            self.count(self.from.nodes_in(self.from.function(function).body()))?;
            self.begin();
            let copy = self.importer.function(&mut self.to, function).map_err(|error| error.to_string())?;
            let body = self.to.function(copy).body();
            self.to.sort(body).map_err(|cycle| cycle.to_string())?;
        }
        Ok(())
    }
}
