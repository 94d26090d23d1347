//! The merged model: contents of all models side by side, connected.

use std::collections::{HashMap, HashSet};

use foldhash::fast::RandomState;
use onnx_diag::Quoted;
use onnx_functions::{Identity, import_functions};
use onnx_ir::{
    Def, EditError, FunctionId, Importer, Model, NodeId, Position, QuantAnnotation, ValueId, ValueRef,
};
use onnx_schema::{Registry, domain, op};
use onnx_types::tensor::NoData;
use onnx_types::{Dim, Interrupt, Stopped, Symbol, Watch};
use slotmap::SecondaryMap;

use super::dims::{Target, Targets};
use super::names::{self, Contents, WATCHED};
use super::{Connection, MergeError, MergeOptions, Merged, Part, Renamed, RenamedKind, info};
use crate::interface::{redirect, set_inputs};

/// Facts about the merged model that later steps need.
pub(super) struct Assembled {
    /// The axes of values that declare a size which a connection binds.
    pub(super) bound: Vec<(ValueId, usize)>,
    /// The values that the connections begin at.
    pub(super) sources: Vec<ValueId>,
    /// The values of each model, and those of the merged model that they are.
    pub(super) origins: Vec<Vec<(ValueId, ValueId)>>,
}

/// Builds the merged model.
pub(super) fn assemble(
    parts: &mut [Part<'_>],
    connections: &[Connection],
    outputs: &[(usize, ValueId)],
    (dims, options, registry): (&Targets, &MergeOptions<'_>, &Registry),
    merged: &mut Merged,
) -> Result<Assembled, MergeError> {
    let interrupt = &options.execution.interrupt;
    interrupt.check()?;
    separate_calls(parts, registry, merged);
    import_all_functions(parts, registry, merged)?;
    interrupt.check()?;
    let parts = &*parts;
    let mut importers: Vec<Importer<'_>> = parts.iter().map(|part| Importer::new(&part.model)).collect();
    info::versions(parts, &mut importers, &mut merged.model);
    info::describe(parts, &mut importers, merged)?;
    for (importer, targets) in importers.iter_mut().zip(dims) {
        importer.set_interrupt(interrupt);
        for (from, target) in targets {
            let to = match target {
                Target::Known(size) => Dim::Known(*size),
                Target::Name(name) => Dim::Var(merged.model.intern(name)),
                Target::Unknown => Dim::Unknown,
            };
            importer.map_dimension(*from, to);
        }
    }
    let mut work =
        Work { parts, importers, merged, contents: Vec::new(), inputs: Vec::new(), bound: Vec::new() };
    let mut connected: HashMap<(usize, ValueId), (usize, ValueId), RandomState> = HashMap::default();
    connected.extend(connections.iter().map(|connection| (connection.to, connection.from)));
    for index in 0..parts.len() {
        interrupt.check()?;
        work.import(index, &connected)?;
        interrupt.check()?;
        work.find_bound(index, dims);
        interrupt.check()?;
        let prefix = options.prefixes.get(index).map_or("", String::as_str);
        if let Some(contents) = work.contents.last() {
            names::add_prefix(&mut work.merged.model, contents, prefix, interrupt)?;
        }
    }
    let (replaced, sources) = work.connect(connections, &connected)?;
    interrupt.check()?;
    let shared = work.share(&replaced, interrupt)?;
    interrupt.check()?;
    work.redirect(&[&replaced, &shared])?;
    let bound = std::mem::take(&mut work.bound);
    let origins = |index| interrupt.check().map(|()| work.origins(index));
    let origins = (0..parts.len()).map(origins).collect::<Result<_, _>>()?;
    interrupt.check()?;
    work.finish(outputs, &[&replaced, &shared], interrupt)?;
    interrupt.check()?;
    Ok(Assembled { bound, sources, origins })
}

/// Gives functions of a model another name if another model has nodes of that name that do not call a function: there the name
/// means an operator.
fn separate_calls(parts: &mut [Part<'_>], registry: &Registry, merged: &mut Merged) {
    if parts.iter().all(|part| part.model.functions().is_empty()) {
        return;
    }
    let open: Vec<HashSet<Texts, RandomState>> = parts.iter().map(|part| operators(&part.model)).collect();
    for (index, part) in parts.iter_mut().enumerate() {
        let is_open =
            |name: &Texts| open.iter().enumerate().any(|(other, open)| other != index && open.contains(name));
        let wanted = part.model.functions().iter().copied();
        let wanted: Vec<_> = wanted
            .filter(|&function| is_open(&texts(&part.model, identity_of(&part.model, function))))
            .collect();
        if !wanted.is_empty() {
            rename_functions(part, index, &wanted, &|name| !is_open(name), registry, merged);
        }
    }
}

/// Renames functions of a model, with all calls.
pub(super) fn rename_functions(
    part: &mut Part<'_>,
    index: usize,
    wanted: &[FunctionId],
    is_free: &dyn Fn(&Texts) -> bool,
    registry: &Registry,
    merged: &mut Merged,
) {
    let accept = |model: &Model, identity: Identity| is_free(&texts(model, identity));
    for (function, old) in onnx_functions::rename_functions(part.model.to_mut(), wanted, registry, accept) {
        let model = &*part.model;
        let [from, to] = [old, identity_of(model, function)].map(|identity| shown(model, identity));
        merged.renamed.push(Renamed { model: index, kind: RenamedKind::Function, from, to });
    }
}

/// The operators that nodes name and that are not functions of the model.
fn operators(model: &Model) -> HashSet<Texts, RandomState> {
    let nodes = model.all_graphs().flat_map(|graph| model.nodes(graph)).map(|node| model.node(node));
    let open = nodes.filter(|record| model.function_called(record).is_none());
    let names: HashSet<Identity, RandomState> =
        open.map(|record| (record.domain(), record.op(), record.overload())).collect();
    names.into_iter().map(|identity| texts(model, identity)).collect()
}

/// Domain, name and overload.
pub(super) type Texts = (String, String, String);

fn texts(model: &Model, (domain, name, overload): Identity) -> Texts {
    let text = |symbol| model.str(symbol).to_owned();
    (text(onnx_schema::normalize_domain(domain)), text(name), text(overload))
}

fn identity_of(model: &Model, function: FunctionId) -> Identity {
    let record = model.function(function);
    (record.domain(), record.name(), record.overload())
}

/// `domain.name:overload`.
fn shown(model: &Model, identity: Identity) -> String {
    let (domain, name, overload) = texts(model, identity);
    let domain = if domain.is_empty() { domain } else { format!("{domain}.") };
    let overload = if overload.is_empty() { overload } else { format!(":{overload}") };
    format!("{domain}{name}{overload}")
}

/// Imports the functions of all models. Calls of a model are changed with the functions that get another name.
fn import_all_functions(
    parts: &mut [Part<'_>],
    registry: &Registry,
    merged: &mut Merged,
) -> Result<(), MergeError> {
    for (index, part) in parts.iter_mut().enumerate() {
        let count = part.model.functions().len();
        if count == 0 {
            continue;
        }
        let imported = import_functions(&mut merged.model, part.model.to_mut(), registry);
        let imported =
            imported.map_err(|error| MergeError::Model { model: index, reason: error.to_string() })?;
        merged.shared_functions += count.saturating_sub(imported.len());
        for function in &imported {
            let Some(old) = function.renamed_from else { continue };
            let model = &merged.model;
            let [from, to] =
                [old, identity_of(model, function.function)].map(|identity| shown(model, identity));
            merged.renamed.push(Renamed { model: index, kind: RenamedKind::Function, from, to });
        }
    }
    // A new name of a function can be that of an operator of another model.
    let is_empty = merged.model.functions().is_empty();
    for (index, part) in parts.iter().enumerate().filter(|_| !is_empty) {
        let open = operators(&part.model);
        let model = &merged.model;
        let mut identities = model.functions().iter().map(|&function| identity_of(model, function));
        if let Some(identity) = identities.find(|&identity| open.contains(&texts(model, identity))) {
            let name = Quoted(&shown(model, identity)).to_string();
            let reason =
                format!("it uses the operator {name}, and another model has a function of that name");
            return Err(MergeError::Model { model: index, reason });
        }
    }
    Ok(())
}

struct Work<'a> {
    parts: &'a [Part<'a>],
    importers: Vec<Importer<'a>>,
    merged: &'a mut Merged,
    contents: Vec<Contents>,
    /// The inputs of the merged model.
    inputs: Vec<ValueId>,
    /// Axes of values that are not inputs and declare a size which a connection binds.
    bound: Vec<(ValueId, usize)>,
}

/// Replaced values.
type Replaced = SecondaryMap<ValueId, ValueId>;

impl Work<'_> {
    /// Imports the inputs, weights and nodes of a model.
    fn import(
        &mut self,
        index: usize,
        connected: &HashMap<(usize, ValueId), (usize, ValueId), RandomState>,
    ) -> Result<(), MergeError> {
        let (Some(part), Some(importer)) = (self.parts.get(index), self.importers.get_mut(index)) else {
            return Ok(());
        };
        let (from, into) = (&*part.model, &mut self.merged.model);
        let main = into.main_graph();
        let error = |source: EditError| match source {
            EditError::NotMapped { value } => {
                let name = Quoted(from.str(from.value(value).name())).to_string();
                MergeError::Model { model: index, reason: format!("nothing defines {name}") }
            }
            EditError::Stopped => Stopped.into(),
            source => MergeError::Import { model: index, source },
        };
        let mut contents = Contents::default();
        for &input in from.graph(part.main()).inputs() {
            let new = importer.input(into, input, main).map_err(error)?;
            if !connected.contains_key(&(index, input)) {
                into.set_initializer(main, new, from.value(input).initializer().cloned());
                self.inputs.push(new);
                contents.values.push(new);
            }
        }
        contents.nodes = importer.nodes(into, part.main(), Position::End(main)).map_err(error)?;
        for value in from.definitions(part.main()) {
            if !matches!(from.value(value).def(), Def::Input { .. } | Def::Unresolved(_)) {
                contents.values.extend(importer.get(value));
            }
        }
        self.contents.push(contents);
        Ok(())
    }

    /// Finds the declared types of results that contain a bound size: exporters give one name to sizes that differ.
    fn find_bound(&mut self, index: usize, dims: &Targets) {
        let targets = dims.get(index).map_or(&[][..], Vec::as_slice);
        let names: HashSet<Symbol, RandomState> =
            targets.iter().filter(|(_, to)| matches!(to, Target::Known(_))).map(|&(name, _)| name).collect();
        let (Some(part), false) = (self.parts.get(index), names.is_empty()) else { return };
        let model = &*part.model;
        let contains = |dim: Dim| match dim {
            Dim::Var(name) => names.contains(&name),
            Dim::Expr(_) => model.exprs().symbols(dim).iter().any(|name| names.contains(name)),
            Dim::Known(_) | Dim::Unknown => false,
        };
        for graph in model.graphs_in(part.main()) {
            for value in model.definitions(graph) {
                let is_contract =
                    matches!(model.value(value).def(), Def::Input { graph, .. } if graph == part.main());
                let (Some(shape), false) = (model.ty(value).and_then(|ty| ty.shape()), is_contract) else {
                    continue;
                };
                let Some(new) = self.importers.get(index).and_then(|importer| importer.get(value)) else {
                    continue;
                };
                let axes = shape.dims().iter().enumerate().filter(|&(_, &dim)| contains(dim));
                self.bound.extend(axes.map(|(axis, _)| (new, axis)));
            }
        }
    }

    /// The values of a model, and those of the merged model that they are.
    fn origins(&self, index: usize) -> Vec<(ValueId, ValueId)> {
        let Some(part) = self.parts.get(index) else { return Vec::new() };
        let values = part.model.graphs_in(part.main()).flat_map(|graph| part.model.definitions(graph));
        values.filter_map(|value| Some((value, self.get((index, value))?))).collect()
    }

    fn get(&self, (index, value): (usize, ValueId)) -> Option<ValueId> {
        self.importers.get(index)?.get(value)
    }

    /// Replaces connected inputs. Returns the replacement of each value, and of the input of each connection.
    fn connect(
        &mut self,
        connections: &[Connection],
        connected: &HashMap<(usize, ValueId), (usize, ValueId), RandomState>,
    ) -> Result<(Replaced, Vec<ValueId>), MergeError> {
        let mut replaced = Replaced::new();
        let mut sources = Vec::with_capacity(connections.len());
        for (index, connection) in connections.iter().enumerate() {
            let mut source = connection.from;
            let mut steps = 0_usize;
            while let Some(&next) = connected.get(&source) {
                (source, steps) = (next, steps.saturating_add(1));
                if steps > connections.len() {
                    let reason = "the connected inputs depend on each other only".to_owned();
                    return Err(MergeError::Connection { index, reason });
                }
            }
            let (Some(old), Some(new)) = (self.get(connection.to), self.get(source)) else {
                let reason = "a connected value is not defined".to_owned();
                return Err(MergeError::Connection { index, reason });
            };
            let model = &mut self.merged.model;
            if model.is_named_by_attribute(old) && sources.contains(&new) {
                let reason = "a `Gradient` names the input, and its value is that of another connected input: the derivative would be by both";
                return Err(MergeError::Connection { index, reason: reason.to_owned() });
            }
            if model.ty(new).is_none() {
                let ty = model.value(old).shared_ty().cloned();
                model.set_type(new, ty);
            }
            model.replace_all_uses(old, new);
            replaced.insert(old, new);
            sources.push(new);
        }
        Ok((replaced, sources))
    }

    /// Lets models share initializers and constants of one name that are equal. Initializers that are inputs, too, are not
    /// shared, because callers can replace them.
    fn share(&mut self, connected: &Replaced, interrupt: &Interrupt) -> Result<Replaced, Stopped> {
        let mut watch = Watch::silent(interrupt, WATCHED);
        let mut shared = Replaced::new();
        let mut known: HashMap<Symbol, ValueId, RandomState> = HashMap::default();
        let model = &mut self.merged.model;
        for contents in &mut self.contents {
            let mut own = Vec::new();
            let mut nodes: HashSet<NodeId, RandomState> = HashSet::default();
            contents.values.retain(|&value| {
                // Nothing is shared any more once the work is interrupted.
                if watch.work(1).is_err() {
                    return true;
                }
                let record = model.value(value);
                let name = record.name();
                let is_constant =
                    matches!(record.def(), Def::Initializer(_)) || constant_node(model, value).is_some();
                let is_shared = !model.is_named_by_attribute(value);
                if !is_constant || !is_shared || name.is_empty() || connected.contains_key(value) {
                    return true;
                }
                let Some(&other) = known.get(&name) else {
                    own.push((name, value));
                    return true;
                };
                let is_equal = are_equal(model, value, other);
                if is_equal {
                    shared.insert(value, other);
                    nodes.extend(constant_node(model, value));
                }
                !is_equal
            });
            watch.check()?;
            contents.nodes.retain(|node| !nodes.contains(node));
            known.extend(own);
        }
        for (value, &other) in &shared {
            model.replace_all_uses(value, other);
        }
        self.merged.shared_initializers = shared.len();
        Ok(shared)
    }

    /// Redirects annotations of replaced values to the replacements. Two annotations of one value must be equal.
    fn redirect(&mut self, replaced: &[&Replaced]) -> Result<(), MergeError> {
        let model = &mut self.merged.model;
        let main = model.main_graph();
        let nodes: Vec<NodeId> = model.nodes_in(main).collect();
        for replaced in replaced {
            redirect(model, main, &nodes, replaced);
        }
        let mut known: HashMap<ValueId, QuantAnnotation, RandomState> = HashMap::default();
        let (mut kept, mut differs) = (Vec::new(), None);
        for annotation in &model.graph(main).quantization {
            let ValueRef::Value(value) = annotation.tensor else {
                kept.push(true);
                continue;
            };
            let is_new = !known.contains_key(&value);
            if !is_new && known.get(&value).is_none_or(|other| other.parameters != annotation.parameters) {
                differs = Some(value);
            }
            known.entry(value).or_insert_with(|| annotation.clone());
            kept.push(is_new);
        }
        if let Some(value) = differs {
            let name = crate::interface::name(model, value);
            let reason = format!("two models annotate the quantization of `{name}` differently");
            return Err(MergeError::Contradiction { reason });
        }
        if kept.contains(&false) {
            let mut kept = kept.into_iter();
            model.graph_mut(main).quantization.retain(|_| kept.next() != Some(false));
        }
        Ok(())
    }

    /// Sets the interface and the names, and sorts the nodes.
    fn finish(
        mut self,
        outputs: &[(usize, ValueId)],
        replaced: &[&Replaced],
        interrupt: &Interrupt,
    ) -> Result<(), MergeError> {
        let main = self.merged.model.main_graph();
        let mut interface = self.inputs.clone();
        let mut is_output: SecondaryMap<ValueId, ()> = SecondaryMap::new();
        let mut values = Vec::new();
        for &(part, value) in outputs {
            let Some(mut new) = self.get((part, value)) else {
                let reason = "an output is not defined".to_owned();
                return Err(MergeError::Model { model: part, reason });
            };
            let name = self.merged.model.value(new).name();
            for replaced in replaced {
                new = replaced.get(new).copied().unwrap_or(new);
            }
            if is_output.insert(new, ()).is_some() {
                new = self.copy(part, new, name)?;
            }
            values.push(new);
            interface.push(new);
        }
        let model = &mut self.merged.model;
        for &value in &values {
            model.push_graph_output(main, value);
        }
        for value in replaced.iter().flat_map(|replaced| replaced.keys()) {
            if matches!(model.value(value).def(), Def::Initializer(_)) {
                model.set_initializer(main, value, None);
            }
        }
        let listed: SecondaryMap<ValueId, ()> =
            replaced.iter().flat_map(|replaced| replaced.keys()).map(|value| (value, ())).collect();
        model.retain_value_info(main, |entry| !listed.contains_key(entry.value()));
        set_inputs(model, main, &self.inputs).map_err(of_compose)?;
        erase(model, replaced)?;
        declare_inner(model, replaced);
        interrupt.check()?;
        let renamed = names::separate(model, &self.contents, &interface, interrupt)?;
        self.merged.renamed.extend(renamed);
        interrupt.check()?;
        // A conversion makes values without names.
        model.settle_names();
        interrupt.check()?;
        if !model.is_sorted(main) {
            model.sort(main)?;
        }
        Ok(())
    }

    /// A copy of an output that another output is, too.
    fn copy(&mut self, part: usize, value: ValueId, name: Symbol) -> Result<ValueId, MergeError> {
        let model = &mut self.merged.model;
        if model.opset_version(domain::ONNX).is_none() {
            let reason = "two outputs are one value, and the models do not import the operators of ONNX";
            return Err(MergeError::Model { model: part, reason: reason.to_owned() });
        }
        let main = model.main_graph();
        let copy = model.build_at(Position::End(main)).op(op::IDENTITY, [value]).output()?;
        model.set_value_name(copy, name);
        let ty = model.value(value).shared_ty().cloned();
        model.set_type(copy, ty);
        if let (Some(contents), Def::Output { node, .. }) =
            (self.contents.get_mut(part), self.merged.model.value(copy).def())
        {
            contents.values.push(copy);
            contents.nodes.push(node);
        }
        Ok(copy)
    }
}

/// Lists connected values that are not outputs any more in `value_info`, so that their declared types are kept.
fn declare_inner(model: &mut Model, replaced: &[&Replaced]) {
    let main = model.main_graph();
    let mut listed: SecondaryMap<ValueId, ()> =
        model.value_info(main).map(|entry| (entry.value(), ())).collect();
    for &value in replaced.iter().flat_map(|replaced| replaced.values()) {
        let is_inner =
            matches!(model.value(value).def(), Def::Output { .. }) && !model.is_graph_output(value);
        if is_inner && model.ty(value).is_some() && listed.insert(value, ()).is_none() {
            model.push_value_info(main, value, None);
        }
    }
}

/// Erases what was replaced and is still there.
fn erase(model: &mut Model, replaced: &[&Replaced]) -> Result<(), MergeError> {
    for value in replaced.iter().flat_map(|replaced| replaced.keys()) {
        let Some(record) = model.get_value(value).filter(|record| !record.is_used()) else { continue };
        match record.def() {
            Def::Output { node, .. } => model.erase_node(node)?,
            _ => model.erase_value(value)?,
        }
    }
    Ok(())
}

/// The node `Constant` that makes a value.
fn constant_node(model: &Model, value: ValueId) -> Option<NodeId> {
    let Def::Output { node, .. } = model.value(value).def() else { return None };
    let record = model.node(node);
    let is_constant =
        onnx_schema::normalize_domain(record.domain()) == domain::ONNX && record.is(op::CONSTANT);
    is_constant.then_some(node)
}

/// Whether two initializers, or two constants, have the same elements.
fn are_equal(model: &Model, one: ValueId, two: ValueId) -> bool {
    if let (Some(one), Some(two)) = (constant_node(model, one), constant_node(model, two)) {
        return model.same_meaning(one, two, &NoData);
    }
    match (model.value(one).initializer(), model.value(two).initializer()) {
        (Some(one), Some(two)) => std::sync::Arc::ptr_eq(one, two) || one.same_meaning(two, &NoData),
        _ => false,
    }
}

fn of_compose(error: crate::ComposeError) -> MergeError {
    match error {
        crate::ComposeError::Edit(error) => MergeError::Edit(error),
        other => MergeError::Contradiction { reason: other.to_string() },
    }
}
