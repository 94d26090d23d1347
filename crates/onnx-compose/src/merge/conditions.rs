//! The conditions that inputs of a model state, after its inputs are connected.
//!
//! `x[N]` and `w[N]` state that two sizes are equal, and declared sizes of the model can depend on that. If the sizes
//! of the connected values are not proved to be equal, the condition is lost: each declared size that depends on it is
//! replaced by the size that inference proves in the merged model, or becomes unknown.

use std::collections::{HashMap, HashSet};

use foldhash::fast::RandomState;
use onnx_ir::{Def, Model, ValueId};
use onnx_schema::Registry;
use onnx_shape_infer::Inference;
use onnx_types::expr::{Dialect, ExprTable};
use onnx_types::{Dim, Shape, Symbol, Type, TypeKind};
use slotmap::SecondaryMap;

use super::declared::Declared;
use super::dims::{Target, Targets, variables_of};
use super::seam::prove;
use super::{Connection, MergeError, MergeOptions, Part};
use crate::sizes::{Variables, expression, is_name};

/// Prefix of the variables that stand for sizes which a connection does not prove.
const FREE: &str = "onnx.merged.";

/// The models, and where their values are in the merged model.
pub(super) struct Merging<'a> {
    pub(super) parts: &'a [Part<'a>],
    pub(super) connections: &'a [Connection],
    /// The values that the connections begin at.
    pub(super) sources: &'a [ValueId],
    /// The values of each model, and those of the merged model that they are.
    pub(super) origins: &'a [Vec<(ValueId, ValueId)>],
    pub(super) declared: &'a Declared,
    pub(super) targets: &'a Targets,
}

/// Replaces the declared sizes that depend on lost conditions.
pub(super) fn keep(
    model: &mut Model,
    merging: &Merging<'_>,
    options: &MergeOptions<'_>,
    registry: &Registry,
) -> Result<(), MergeError> {
    if merging.connections.is_empty() {
        return Ok(());
    }
    let inference = prove(model, options, registry)?;
    let inputs = model.graph(model.main_graph()).inputs().iter();
    let variables = inputs.flat_map(|&input| variables_of(model, model.ty(input))).collect();
    let exprs = inference.exprs().clone();
    let mut work = Work { merging, options, inference, exprs, variables, lost: Vec::new() };
    work.lost = merging.parts.iter().map(|_| Lost::default()).collect();
    // The declared sizes of a model are conditions for others as long as the model's own conditions hold.
    loop {
        let mut is_new = false;
        for index in 0..merging.parts.len() {
            let lost = work.lost_by(model, index);
            is_new |= work.lost.get(index).is_some_and(|before| before.axes.len() < lost.axes.len());
            if let Some(slot) = work.lost.get_mut(index) {
                *slot = lost;
            }
        }
        if !is_new {
            break;
        }
    }
    let names = work.names(model);
    for index in 0..merging.parts.len() {
        if work.lost.get(index).is_some_and(|lost| !lost.axes.is_empty()) {
            work.declare(model, index, &names, registry)?;
        }
    }
    Ok(())
}

/// The conditions of a model that are lost.
#[derive(Default)]
struct Lost {
    /// The axes of inputs whose declared size is not proved.
    axes: HashSet<(ValueId, usize), RandomState>,
    /// The variables of these.
    variables: HashSet<Symbol, RandomState>,
}

struct Work<'a> {
    merging: &'a Merging<'a>,
    options: &'a MergeOptions<'a>,
    /// The inferred results of the merged model.
    inference: Inference,
    /// The expressions of it, and others.
    exprs: ExprTable,
    /// The dimension variables of the inputs of the merged model.
    variables: Variables,
    lost: Vec<Lost>,
}

/// Variables of a model that are sizes of connected inputs only, and what is proved for the first of them.
type Local = HashMap<Symbol, Dim, RandomState>;

impl Work<'_> {
    /// The proved size of an axis.
    fn proved(&self, value: ValueId, axis: usize) -> Dim {
        self.inference.shape(value).and_then(|dims| dims.get(axis)).copied().unwrap_or_default()
    }

    /// A declared size of the merged model, as an expression if its name is one.
    fn meaning(&mut self, model: &Model, dim: Dim) -> Dim {
        meaning(model, &mut self.exprs, &self.variables, dim)
    }

    /// The inputs of a model with a shape, and their replacements.
    fn inputs(&self, index: usize) -> Vec<(ValueId, ValueId, Vec<Dim>)> {
        let Some(part) = self.merging.parts.get(index) else { return Vec::new() };
        let origins: SecondaryMap<ValueId, ValueId> =
            self.merging.origins.get(index).into_iter().flatten().copied().collect();
        let connected: HashMap<ValueId, ValueId, RandomState> = self
            .merging
            .connections
            .iter()
            .zip(self.merging.sources)
            .filter(|(connection, _)| connection.to.0 == index)
            .map(|(connection, &source)| (connection.to.1, source))
            .collect();
        let inputs = part.model.graph(part.main()).inputs().iter();
        let found = inputs.filter_map(|&input| {
            let place = connected.get(&input).or_else(|| origins.get(input)).copied()?;
            Some((input, place, part.model.ty(input)?.shape()?.dims().to_vec()))
        });
        found.collect()
    }

    /// The size of a model in the merged one.
    fn expected(&mut self, model: &Model, index: usize, dim: Dim, local: &Local) -> Dim {
        let Dim::Var(symbol) = dim else { return dim };
        let target = self.merging.targets.get(index).into_iter().flatten();
        let target = target.filter(|(from, _)| *from == symbol).map(|(_, target)| target).next();
        let text = match target {
            Some(Target::Known(size)) => return Dim::Known(*size),
            Some(Target::Unknown) => return Dim::Unknown,
            Some(Target::Name(name)) => name.as_str(),
            None => self.merging.parts.get(index).map_or("", |part| part.model.str(symbol)),
        };
        let parsed = if self.merging.declared.is_expression(index, symbol) {
            self.exprs.try_parse_known(model.names(), text).ok()
        } else {
            model.names().get(text).map(Dim::Var)
        };
        let Some(parsed) = parsed else { return Dim::Unknown };
        self.exprs.substitute(parsed, &|symbol| local.get(&symbol).copied())
    }

    /// Finds the conditions of a model that are lost.
    fn lost_by(&mut self, model: &Model, index: usize) -> Lost {
        let inputs = self.inputs(index);
        let mut local = Local::default();
        let mut open: HashSet<Symbol, RandomState> = HashSet::default();
        let mut lost = Lost::default();
        for &(input, place, ref dims) in &inputs {
            for (axis, &dim) in dims.iter().enumerate() {
                let Dim::Var(symbol) = self.expected(model, index, dim, &Local::default()) else { continue };
                if self.variables.contains(&symbol) || local.contains_key(&symbol) {
                    continue;
                }
                let proved = self.proved(place, axis);
                if !proved.is_unknown() {
                    local.insert(symbol, proved);
                } else if !open.insert(symbol) {
                    lost.axes.insert((input, axis));
                }
            }
        }
        let shared: HashSet<&str, RandomState> =
            self.options.same_dimensions.iter().map(String::as_str).collect();
        for (input, place, dims) in inputs {
            for (axis, dim) in dims.into_iter().enumerate() {
                let expected = self.expected(model, index, dim, &local);
                let proved = self.proved(place, axis);
                let is_open = matches!(expected, Dim::Var(symbol) if open.contains(&symbol));
                if dim.is_unknown() || is_open || (expected == proved && !proved.is_unknown()) {
                    continue;
                }
                let is_unproved = self.exprs.symbols(proved).iter().all(|symbol| symbol.number().is_some());
                let is_unproved = is_unproved && proved.known().is_none();
                let symbols = self.exprs.symbols(expected);
                // The request states that these sizes are equal.
                let is_stated = !symbols.is_empty()
                    && symbols
                        .iter()
                        .all(|&symbol| symbol.number().is_none() && shared.contains(model.str(symbol)));
                let is_declared =
                    expected.known().is_some() && self.is_declared(model, place, axis, expected);
                if !(is_unproved && (is_stated || is_declared)) {
                    lost.axes.insert((input, axis));
                }
            }
        }
        if let Some(part) = self.merging.parts.get(index) {
            let of = |&(input, axis): &(ValueId, usize)| {
                let dim = part.model.ty(input).and_then(|ty| ty.shape()?.dim(axis)).unwrap_or_default();
                self.merging.declared.symbols(index, dim)
            };
            lost.variables = lost.axes.iter().flat_map(of).collect();
        }
        lost
    }

    /// Whether a model whose conditions hold declares a number for a size.
    fn is_declared(&self, model: &Model, value: ValueId, axis: usize, size: Dim) -> bool {
        let has = |(index, origins): (usize, &Vec<(ValueId, ValueId)>)| {
            let is_kept = self.lost.get(index).is_some_and(|lost| lost.axes.is_empty());
            let of = origins.iter().find(|&&(_, new)| new == value).map(|&(old, _)| old);
            let part = self.merging.parts.get(index);
            is_kept && part.zip(of).is_some_and(|(part, old)| part.model.ty(old).is_some())
        };
        model.ty(value).and_then(|ty| ty.shape()?.dim(axis)) == Some(size)
            && self.merging.origins.iter().enumerate().any(has)
    }

    /// The names of sizes for which inference has only a symbol that it made, by these symbols. A name is in the result
    /// if all its sizes have the same symbol.
    fn names(&mut self, model: &Model) -> HashMap<Symbol, Symbol, RandomState> {
        let mut names: HashMap<Symbol, Symbol, RandomState> = HashMap::default();
        let mut symbols: HashMap<Symbol, Option<Symbol>, RandomState> = HashMap::default();
        for (lost, origins) in self.lost.iter().zip(self.merging.origins) {
            for &(_, value) in origins.iter().filter(|_| lost.axes.is_empty()) {
                let shape = model.get_value(value).and_then(|record| record.ty()?.shape());
                for (axis, &dim) in shape.into_iter().flat_map(Shape::dims).enumerate() {
                    let (Dim::Var(name), Dim::Var(symbol)) = (dim, self.proved(value, axis)) else {
                        continue;
                    };
                    if symbol.number().is_some()
                        && is_name(model.str(name))
                        && !self.variables.contains(&name)
                    {
                        names.entry(symbol).or_insert(name);
                        let known = symbols.entry(name).or_insert(Some(symbol));
                        *known = known.filter(|&known| known == symbol);
                    }
                }
            }
        }
        names.retain(|symbol, name| symbols.get(name) == Some(&Some(*symbol)));
        names
    }

    /// A proved size in the form of a declaration; `None` if one of its variables is neither a size of inputs nor has a
    /// name.
    fn written(
        &mut self,
        model: &mut Model,
        proved: Dim,
        names: &HashMap<Symbol, Symbol, RandomState>,
    ) -> Option<Dim> {
        let of = |symbol: Symbol| names.get(&symbol).copied().map(Dim::Var);
        let dim = self.exprs.substitute(proved, &of);
        let is_written = |symbol: &Symbol| symbol.number().is_none() && is_name(model.str(*symbol));
        if dim.is_unknown() || !self.exprs.symbols(dim).iter().all(is_written) {
            return None;
        }
        if !matches!(dim, Dim::Expr(_)) {
            return Some(dim);
        }
        let (exprs, names) = model.exprs_mut();
        let dim = exprs.import_rounded(&self.exprs, dim, &mut |symbol| symbol);
        exprs.text(dim, names, Dialect::Python).map(|_| dim)
    }

    /// Pairs of a value of a model and its value in the merged model, for all values that are not inputs of the merged
    /// model. A connected input is included if the value that replaces it has no own declared type.
    fn results(&self, model: &Model, index: usize) -> Vec<(ValueId, ValueId)> {
        let merging = self.merging;
        let mut found = merging.origins.get(index).cloned().unwrap_or_default();
        for (connection, &source) in merging.connections.iter().zip(merging.sources) {
            let (from, value) = connection.from;
            let part = merging.parts.get(from);
            let is_typed = part.is_some_and(|part| part.model.ty(value).is_some());
            if connection.to.0 == index && !is_typed {
                found.push((connection.to.1, source));
            }
        }
        let main = model.main_graph();
        let is_result = |value: ValueId| {
            let def = model.get_value(value).map(|record| record.def());
            def.is_some_and(|def| !matches!(def, Def::Input { graph, .. } if graph == main))
        };
        found.retain(|&(_, new)| is_result(new));
        found
    }

    /// Replaces the declared sizes of a model that need lost conditions.
    fn declare(
        &mut self,
        model: &mut Model,
        index: usize,
        names: &HashMap<Symbol, Symbol, RandomState>,
        registry: &Registry,
    ) -> Result<(), MergeError> {
        let (merging, options) = (self.merging, self.options);
        let (Some(part), Some(lost)) = (merging.parts.get(index), self.lost.get_mut(index)) else {
            return Ok(());
        };
        let lost = std::mem::take(lost);
        let mut with_conditions = Unmerged::new(Model::clone(&part.model), options, registry)?;
        let mut without = Model::clone(&part.model);
        free(&mut without, &lost);
        let mut without = Unmerged::new(without, options, registry)?;
        for (old, new) in self.results(model, index) {
            let dims = |ty: Option<&Type>| ty.and_then(Type::shape).map(|shape| shape.dims().to_vec());
            let (Some(was), Some(now)) = (dims(part.model.ty(old)), dims(model.ty(new))) else { continue };
            let mut sizes = Vec::new();
            for (axis, (was, now)) in was.into_iter().zip(now).enumerate() {
                let proved = self.proved(new, axis);
                if now.is_unknown() || (self.meaning(model, now) == proved) {
                    continue;
                }
                let size = self.written(model, proved, names);
                let is_needed = || {
                    merging.declared.symbols(index, was).iter().any(|symbol| lost.variables.contains(symbol))
                };
                let size = match size {
                    Some(size) => size,
                    None if without.proves(old, axis, was) && !lost.axes.contains(&(old, axis)) => continue,
                    None if with_conditions.proves(old, axis, was) || is_needed() => Dim::Unknown,
                    None => continue,
                };
                sizes.push((axis, size));
            }
            set(model, new, &sizes);
        }
        if let Some(slot) = self.lost.get_mut(index) {
            *slot = lost;
        }
        Ok(())
    }
}

/// A model and what is proved about it.
struct Unmerged {
    model: Model,
    inference: Inference,
    exprs: ExprTable,
    variables: Variables,
}

impl Unmerged {
    fn new(model: Model, options: &MergeOptions<'_>, registry: &Registry) -> Result<Self, MergeError> {
        let inference = prove(&model, options, registry)?;
        let inputs = model.graph(model.main_graph()).inputs().iter();
        let variables = inputs.flat_map(|&input| variables_of(&model, model.ty(input))).collect();
        let exprs = inference.exprs().clone();
        Ok(Self { model, inference, exprs, variables })
    }

    /// Whether a declared size is proved.
    fn proves(&mut self, value: ValueId, axis: usize, dim: Dim) -> bool {
        let proved = self.inference.shape(value).and_then(|dims| dims.get(axis)).copied().unwrap_or_default();
        let dim = meaning(&self.model, &mut self.exprs, &self.variables, dim);
        dim == proved && !dim.is_unknown()
    }
}

/// A declared size, as an expression of a table if its name is one.
fn meaning(model: &Model, exprs: &mut ExprTable, variables: &Variables, dim: Dim) -> Dim {
    match dim {
        Dim::Var(symbol) => expression((exprs, model.names()), variables, symbol).unwrap_or(dim),
        Dim::Expr(_) => exprs.import(model.exprs(), dim, &mut |symbol| symbol),
        dim => dim,
    }
}

/// Gives each size of an input that is not proved a separate variable.
fn free(model: &mut Model, lost: &Lost) {
    let mut axes: Vec<(ValueId, usize)> = lost.axes.iter().copied().collect();
    axes.sort_unstable();
    let mut number = 0_usize;
    for of_input in axes.chunk_by(|one, next| one.0 == next.0) {
        let Some(&(input, _)) = of_input.first() else { continue };
        let sizes = of_input.iter().map(|&(_, axis)| {
            let name = model.intern(&format!("{FREE}{number}"));
            number = number.saturating_add(1);
            (axis, Dim::Var(name))
        });
        let sizes: Vec<(usize, Dim)> = sizes.collect();
        set(model, input, &sizes);
    }
}

/// Declares sizes of some axes of a value.
fn set(model: &mut Model, value: ValueId, sizes: &[(usize, Dim)]) {
    let Some(mut ty) = model.ty(value).filter(|_| !sizes.is_empty()).cloned() else { return };
    let (TypeKind::Tensor(tensor) | TypeKind::SparseTensor(tensor)) = &mut ty.kind else { return };
    let Some(dims) = tensor.shape.as_mut().map(Shape::dims_mut) else { return };
    for &(axis, size) in sizes {
        if let Some(dim) = dims.get_mut(axis) {
            *dim = size;
        }
    }
    ty.source = None;
    model.set_type(value, Some(ty));
}
