//! What the model itself says about types: inputs, initializers, and declarations for values in between.
//!
//! Declared types of the main graph's inputs are used unchanged. A declared type of an intermediate value is used if
//! inference derives nothing, and results that depend on it are recorded as assumed. Names of sizes in such types are
//! less reliable: exporters give one name to different sizes, so a name that the inputs also use is trusted on request only. In
//! nested graphs and functions no name of a size is trusted, as each visit may have another size. What a function declares
//! about its values is only compared with what was inferred: kinds and element types, which must agree in every call.

use std::sync::Arc;

use onnx_ir::{Constant, Def, GraphId, NodeId, ValueId};
use onnx_types::{Dim, ExprId, Symbol, Type};

use super::Engine;
use super::state::{Basis, State};
use crate::cx::Out;
use crate::facts::{Relation, Strength};
use crate::fault::{DECLARED_DIFFERS, DECLARED_SHAPE_DIFFERS};
use crate::ty::{Dims, Ty, with_shapes};

/// Why a guard on a declared type is needed.
const DECLARED: &str = "the model declares it";

impl<'m> Engine<'m> {
    /// Takes the types of a main graph's inputs and initializers.
    pub(super) fn declare_inputs(&mut self, graph: GraphId) {
        let model = self.state.model;
        for &value in model.graph(graph).inputs() {
            self.declare_value(value);
        }
        self.note_input_symbols(graph);
        self.note_repeated(graph);
        self.declare_initializers(graph);
    }

    /// Takes the type of an input or initializer of the main graph.
    pub(super) fn declare_value(&mut self, value: ValueId) {
        let model = self.state.model;
        let record = model.value(value);
        if let (Def::Initializer(_), Some(constant)) = (record.def(), record.initializer()) {
            self.state.table.set(value, &of_constant(constant));
            return;
        }
        let mut ty = record.ty().map_or(Ty::Unknown, |ty| self.state.declared(ty));
        if let Some(constant) = record.initializer() {
            self.state.check_default(value, &ty, constant);
            if self.state.options.assumed && (ty.is_unknown() || self.state.defaults_are_constant()) {
                let found = of_constant(constant);
                // A declaration with other sizes lets the caller override them.
                if found != ty {
                    self.state.note_default(value);
                }
                ty = found;
            }
        }
        if let Ty::Tensor(_, Some(dims)) = &mut ty {
            self.state.materialize(value, dims);
            if !self.state.options.assumed {
                self.state.note_given(dims);
            }
        }
        self.state.table.set(value, &ty);
    }

    /// Notes which symbols the sizes of a graph's inputs are made of.
    pub(super) fn note_input_symbols(&mut self, graph: GraphId) {
        self.interface.input_symbols.clear();
        for &value in self.state.model.graph(graph).inputs() {
            for &dim in self.state.table.dims(value).unwrap_or_default() {
                for symbol in self.state.exprs.symbols(dim) {
                    self.interface.input_symbols.insert(symbol, ());
                }
            }
        }
    }

    /// Sets the types of a graph's initializers, and the declared types of unbound inputs.
    pub(super) fn declare_initializers(&mut self, graph: GraphId) {
        let model = self.state.model;
        for value in model.initializers(graph) {
            let record = model.value(value);
            if let (Def::Initializer(_), Some(constant)) = (record.def(), record.initializer()) {
                self.state.table.set(value, &of_constant(constant));
            }
        }
        for &value in model.graph(graph).inputs() {
            if !self.state.table.contains(value)
                && let Some(ty) = model.value(value).ty()
                && self.state.options.assumed
            {
                let caller = self.caller();
                self.state.assume_declared(value, caller);
                let mut ty = self.state.declared_inside(ty);
                if let Ty::Tensor(_, Some(dims)) = &mut ty {
                    self.state.materialize(value, dims);
                }
                self.state.table.set(value, &ty);
            }
        }
    }

    /// Compares what is declared in a function, and does not use it: declared sizes may hold for some calls only, and the reference
    /// does not use them either.
    fn compare_declared_in_call(&mut self, ty: &Type, (node, value): (NodeId, ValueId), found: &Ty) {
        let message = "it is of another type than the function declares";
        let at = (Some(node), Some(value));
        self.state.check_callee(ty, found, at, message);
        // Runtimes that infer all graphs compare the sizes in those that are nested in the function.
        let model = self.state.model;
        let is_nested = model.owner_node(model.node(node).graph()).is_some();
        if self.state.options.every_graph && is_nested {
            let declared = self.state.declared_inside(ty);
            if self.state.differs(found, &declared) == Some(Basis::Sizes) {
                let message = "it is of another shape than the function declares";
                self.state.declared_differs(Basis::Structure, at, message);
            }
        }
    }

    /// Completes what was inferred by what is declared.
    pub(super) fn merge_declared(&mut self, node: NodeId, value: ValueId, out: &mut Out) {
        let model = self.state.model;
        let Some(ty) = model.value(value).ty() else { return };
        if self.state.call != 0 {
            self.compare_declared_in_call(ty, (node, value), &out.ty);
            return;
        }
        self.check_repeated(node, value, &out.ty);
        let is_main = self.frames.len() == 1;
        let declared = if is_main { self.state.declared(ty) } else { self.state.declared_inside(ty) };
        match (&mut out.ty, declared) {
            (_, Ty::Unknown) => {}
            (inferred @ Ty::Unknown, mut declared) => {
                if self.state.options.uses_declared() {
                    if let Ty::Tensor(_, Some(dims)) = &mut declared {
                        dims.iter_mut().for_each(|dim| *dim = self.trusted(*dim));
                    }
                    *inferred = declared;
                    self.state.assume_declared(value, Some(node));
                }
            }
            (Ty::Tensor(elem, dims), Ty::Tensor(wanted, shape)) => {
                if *elem != wanted && elem.code() != 0 && wanted.code() != 0 {
                    let message = format!("it is {} and declared as {}", elem.name(), wanted.name());
                    self.state.declared_differs(Basis::Structure, (Some(node), Some(value)), message);
                    return;
                }
                if elem.code() == 0 && wanted.code() != 0 && self.state.options.assumed {
                    *elem = wanted;
                    self.state.assume_declared(value, Some(node));
                }
                let Some(shape) = shape else { return };
                match dims {
                    Some(dims) if dims.len() != shape.len() => {
                        let message =
                            format!("it has rank {} and is declared with rank {}", dims.len(), shape.len());
                        self.state.declared_differs(Basis::Sizes, (Some(node), Some(value)), message);
                    }
                    Some(dims) => {
                        let mut merged = std::mem::take(dims);
                        self.merge_dims(node, value, &mut merged, &shape);
                        *dims = merged;
                    }
                    None if self.state.options.uses_declared() => {
                        *dims = Some(shape.into_iter().map(|dim| self.trusted(dim)).collect());
                        self.state.assume_declared(value, Some(node));
                    }
                    None => {}
                }
            }
            (inferred, declared) => {
                if let Some(basis) = self.state.differs(inferred, &declared) {
                    let message = "it is of another type than declared";
                    self.state.declared_differs(basis, (Some(node), Some(value)), message);
                }
            }
        }
    }

    /// Notes which values of the main graph are declared several times, with different types.
    pub(super) fn note_repeated(&mut self, graph: GraphId) {
        self.interface.repeated.clear();
        for entry in self.state.model.value_info(graph) {
            if let Some(ty) = entry.own().and_then(|own| own.ty.as_ref()) {
                self.interface.repeated.insert(entry.value(), Arc::clone(ty));
            }
        }
    }

    /// Compares what was inferred with the other type that is declared. Nothing is taken from that.
    fn check_repeated(&mut self, node: NodeId, value: ValueId, inferred: &Ty) {
        let Some(ty) = self.interface.repeated.get(value).cloned() else { return };
        let declared = self.state.declared_inside(&ty);
        if let Some(basis) = self.state.differs(inferred, &declared) {
            let message = "it is declared several times, once with another type than it is of";
            self.state.declared_differs(basis, (Some(node), Some(value)), message);
        }
    }

    /// A declared dimension; unknown if it cannot be trusted.
    fn trusted(&self, dim: Dim) -> Dim {
        match dim {
            Dim::Known(_) => dim,
            _ if self.state.options.names_are_trusted => dim,
            _ if self
                .state
                .exprs
                .symbols(dim)
                .iter()
                .any(|symbol| self.interface.input_symbols.contains_key(symbol)) =>
            {
                Dim::Unknown
            }
            _ => dim,
        }
    }

    fn merge_dims(&mut self, node: NodeId, value: ValueId, dims: &mut Dims, declared: &[Dim]) {
        for (axis, (dim, &wanted)) in dims.iter_mut().zip(declared).enumerate() {
            match (*dim, wanted) {
                (_, Dim::Unknown) => {}
                (Dim::Known(found), Dim::Known(size)) if found != size => {
                    let message = format!("dimension {axis} is {found} and declared as {size}");
                    self.state.declared_differs(Basis::Sizes, (Some(node), Some(value)), message);
                }
                (Dim::Known(_), _) => {}
                (Dim::Unknown, wanted) if self.state.options.uses_declared() => {
                    *dim = self.trusted(wanted);
                    if !dim.is_unknown() {
                        self.state.assume_declared(value, Some(node));
                    }
                }
                (found, Dim::Known(_)) if self.state.options.uses_declared() => {
                    let relation = Relation::Equal(found, wanted);
                    self.state.conclude(relation, Strength::Assumed, Some(node), DECLARED);
                    // Files declare sizes that are not so; one that follows from the inputs counts for more.
                    if self.state.exprs.symbols(found).iter().all(|&symbol| self.state.is_fresh(symbol)) {
                        *dim = wanted;
                    }
                }
                _ => {}
            }
        }
    }
}

impl State<'_> {
    /// Records a guard that a value has the type that the model declares.
    pub(crate) fn assume_declared(&mut self, value: ValueId, node: Option<NodeId>) {
        self.conclude(Relation::Declared(value), Strength::Assumed, node, DECLARED);
    }

    /// Notes that the expressions in the shape of an input of the model are sizes: no caller can give a negative one.
    fn note_given(&mut self, dims: &[Dim]) {
        for &dim in dims {
            if let Dim::Expr(size) = dim {
                self.facts.add_size(size);
                self.facts.set_guarded(size);
            }
        }
    }

    /// A declared type with the texts of its dimension variables read as expressions.
    pub(crate) fn declared(&mut self, ty: &Type) -> Ty {
        self.read_dims(ty, |state, dim| match dim {
            // The name that `apply` gave to a symbol of this result.
            Dim::Var(name) if let Some(symbol) = state.named.of(name) => Dim::Var(symbol),
            Dim::Var(name) => {
                let dim = state.read_symbol(name);
                state.set_sizes(dim)
            }
            Dim::Expr(id) => {
                let dim = state.read_expr(id);
                state.set_sizes(dim)
            }
            dim => dim,
        })
    }

    /// A declared type of a nested graph or a function, reduced to its numbers.
    pub(crate) fn declared_inside(&mut self, ty: &Type) -> Ty {
        self.read_dims(ty, |_, dim| match dim {
            Dim::Known(size) if size >= 0 => dim,
            _ => Dim::Unknown,
        })
    }

    fn read_dims(&mut self, ty: &Type, mut read: impl FnMut(&mut Self, Dim) -> Dim) -> Ty {
        let limit = self.options.execution.limits.inferred_rank;
        match Ty::from(ty) {
            Ty::Tensor(elem, Some(dims)) if dims.len() > limit => Ty::Tensor(elem, None),
            Ty::Tensor(elem, Some(dims)) => {
                Ty::Tensor(elem, Some(dims.into_iter().map(|dim| read(self, dim)).collect()))
            }
            Ty::Other(ty) => with_shapes(&ty, &mut |shape| {
                let mut shape = shape.clone();
                shape.dims_mut().iter_mut().for_each(|dim| *dim = read(self, *dim));
                Some(shape)
            })
            .into(),
            ty => ty,
        }
    }

    /// The dimension that the text of a dimension variable denotes. A simple name is kept; `2*N` becomes an expression
    /// if `N` is the size of an input. Otherwise it is a name as well: some writers name sizes after paths
    /// (`block/conv-1`), and parsing these as arithmetic would relate independent sizes.
    fn read_symbol(&mut self, name: Symbol) -> Dim {
        let text = self.model.names().resolve(name);
        if text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
            && !text.bytes().all(|b| b.is_ascii_digit())
        {
            return Dim::Var(name);
        }
        // Exporters declare few sizes on many values, and reading one takes longer than most rules.
        if let Some(&dim) = self.read.get(&name) {
            return dim;
        }
        // Other readers do not interpret a number that is written as text.
        let dim = match self.exprs.try_parse_known(self.model.names(), text) {
            Ok(dim @ (Dim::Var(_) | Dim::Expr(_)))
                if self.exprs.symbols(dim).iter().all(|symbol| self.variables.contains(symbol)) =>
            {
                dim
            }
            _ => Dim::Var(name),
        };
        if !self.exprs.ran_out_of_steps() {
            self.read.insert(name, dim);
        }
        dim
    }

    /// An expression of the model as one of the results.
    fn read_expr(&mut self, id: ExprId) -> Dim {
        if let Some(&dim) = self.imported.get(&id) {
            return dim;
        }
        let mut symbol = |name| self.named.of(name).unwrap_or(name);
        let dim = self.exprs.import(self.model.exprs(), Dim::Expr(id), &mut symbol);
        if !self.exprs.ran_out_of_steps() {
            self.imported.insert(id, dim);
        }
        dim
    }

    /// Puts the sizes that the caller chose for symbols.
    fn set_sizes(&mut self, dim: Dim) -> Dim {
        let sizes = self.options.sizes;
        if sizes.is_empty() {
            return dim;
        }
        let binding =
            |symbol| sizes.iter().find(|&&(name, _)| name == symbol).map(|&(_, size)| Dim::Known(size));
        self.exprs.substitute(dim, &binding)
    }

    /// Whether an input's default fits the declared type.
    fn check_default(&mut self, value: ValueId, declared: &Ty, constant: &Constant) {
        let found = of_constant(constant);
        if let Some(basis) = self.differs(&found, declared) {
            let message = "the initializer is of another type than the input declares";
            self.declared_differs(basis, (None, Some(value)), message);
        }
    }

    /// Compares the kind and the element type of a value in a function with what the function declares.
    pub(crate) fn check_callee(
        &mut self,
        declared: &Type,
        found: &Ty,
        place: (Option<NodeId>, Option<ValueId>),
        message: &str,
    ) {
        if self.differs(found, &Ty::from(declared)) == Some(Basis::Structure) {
            self.declared_differs(Basis::Structure, place, message);
        }
    }

    /// Reports that what was inferred contradicts a declaration.
    pub(crate) fn declared_differs(
        &mut self,
        basis: Basis,
        place: (Option<NodeId>, Option<ValueId>),
        message: impl std::fmt::Display,
    ) {
        let rule = if basis == Basis::Sizes { &DECLARED_SHAPE_DIFFERS } else { &DECLARED_DIFFERS };
        self.contradiction(rule, basis, place, message);
    }

    /// What keeps a value from having both types, if anything does.
    pub(crate) fn differs(&self, a: &Ty, b: &Ty) -> Option<Basis> {
        if self.compatible(a, b) {
            return None;
        }
        let fit = self.compatible(&a.without_shape(), &b.without_shape());
        Some(if fit { Basis::Sizes } else { Basis::Structure })
    }

    /// Whether a value could have both types.
    pub(crate) fn compatible(&self, a: &Ty, b: &Ty) -> bool {
        match (a, b) {
            (Ty::Unknown, _) | (_, Ty::Unknown) => true,
            (Ty::Tensor(a, left), Ty::Tensor(b, right)) => {
                (a == b || a.code() == 0 || b.code() == 0)
                    && left.as_deref().zip(right.as_deref()).is_none_or(|(a, b)| fit(a, b))
            }
            (Ty::Other(a), Ty::Other(b)) => types_fit(a, b),
            (Ty::Tensor(..), Ty::Other(_)) | (Ty::Other(_), Ty::Tensor(..)) => false,
        }
    }
}

fn fit(a: &[Dim], b: &[Dim]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.known().zip(b.known()).is_none_or(|(a, b)| a == b))
}

/// Whether a value could have both types, nested ones included.
fn types_fit(a: &Type, b: &Type) -> bool {
    use onnx_types::TypeKind as K;
    let (mut a, mut b) = (a, b);
    // As deep as the shallower of the two, without recursion.
    loop {
        let (left, right) = match (&a.kind, &b.kind) {
            (K::Undefined, _) | (_, K::Undefined) => return true,
            (K::Tensor(x), K::Tensor(y)) | (K::SparseTensor(x), K::SparseTensor(y)) => {
                let shapes = x.shape.as_ref().zip(y.shape.as_ref());
                return (x.elem == y.elem || x.elem.code() == 0 || y.elem.code() == 0)
                    && shapes.is_none_or(|(x, y)| fit(x.dims(), y.dims()));
            }
            (K::Sequence(x), K::Sequence(y)) | (K::Optional(x), K::Optional(y)) => (x, y),
            (K::Map { key: k, value: x }, K::Map { key: l, value: y }) if k == l => (x, y),
            (K::Opaque { .. }, K::Opaque { .. }) => return a == b,
            _ => return false,
        };
        match (left, right) {
            (Some(left), Some(right)) => (a, b) = (left, right),
            _ => return true,
        }
    }
}

/// The type of a constant.
pub(crate) fn of_constant(constant: &Constant) -> Ty {
    let dims = |dims: &[i64]| dims.iter().map(|&size| Dim::Known(size)).collect::<Dims>();
    match constant {
        Constant::Dense(tensor) if tensor.dims().iter().all(|&size| size >= 0) => {
            Ty::Tensor(tensor.elem(), Some(dims(tensor.dims())))
        }
        Constant::Dense(tensor) => Ty::Tensor(tensor.elem(), None),
        Constant::Sparse(sparse) => {
            let elem = sparse.values.as_ref().map_or(onnx_types::ElemType::Undefined, |values| values.elem());
            Type::sparse_tensor(elem, Some(onnx_types::Shape::known(&sparse.dims))).into()
        }
    }
}
