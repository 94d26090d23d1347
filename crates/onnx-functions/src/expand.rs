//! The engine of inlining: bodies are copied from the outermost call to the innermost, and results are replaced in the
//! reverse order.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use foldhash::fast::RandomState;
use onnx_ir::{
    Event, FunctionId, GraphId, Model, NewNode, NodeId, OpsetImport, OpsetScope, Position, ValueId,
};
use onnx_schema::{domain, op};
use onnx_types::{Dim, Stopped, Symbol, Type, TypeKind};
use slotmap::SecondaryMap;
use smallvec::SmallVec;

use crate::call::{FunctionCall, Needs};
use crate::convert::Conversions;
use crate::cost::Cost;
use crate::inline::{Calls, InlineOptions, InlinedCall, graphs_of};
use crate::names::Names;
use crate::reason::FunctionReason;
use crate::references::{Forwards, redirect};

/// The version of the default domain that is imported if a model does not import the domain and needs an `Identity`:
/// the first one in which `Identity` accepts sequences.
const IDENTITY_VERSION: i64 = 14;

/// Tasks of an expansion: a stack of them replaces recursion on calls.
enum Task {
    /// Expand a call.
    Open { node: NodeId, parent: Option<u32>, path: Option<Arc<str>> },
    /// The calls in a body are expanded, so the call that it replaces can be erased.
    Close(Frame),
}

/// A call whose body was inserted.
struct Frame {
    node: NodeId,
    /// The number of the call.
    index: u32,
    results: SmallVec<[(ValueId, ValueId); 2]>,
}

pub(crate) struct Expander<'a> {
    model: &'a mut Model,
    options: &'a InlineOptions<'a>,
    /// The calls to inline.
    calls: Calls,
    /// The results of calls.
    report: Vec<InlinedCall>,
    needs: SecondaryMap<FunctionId, Result<Arc<Needs>, FunctionReason>>,
    names: Names,
    conversions: Conversions,
    /// The values that replace outputs of calls.
    forwards: Forwards,
    /// The nodes that were copied, each with the number of the call for which it was copied. Calls in a body have higher numbers.
    copied: SecondaryMap<NodeId, u32>,
    /// The number of the outermost call that is being expanded.
    outermost: u32,
    /// The types of bodies, without the dimension variables of the function.
    types: HashMap<*const Type, (Arc<Type>, Arc<Type>), RandomState>,
    /// The functions that are called once, each with the call: their bodies are moved, not copied.
    single: SecondaryMap<FunctionId, NodeId>,
    /// Functions whose bodies were moved.
    moved: Vec<FunctionId>,
    pass: Symbol,
}

/// Nodes of a body, each with its counterpart in the place of the call: a copy, or the node itself.
type Pairs = SmallVec<[(NodeId, NodeId); 8]>;

impl<'a> Expander<'a> {
    /// `single` has the functions that only one node names, with that node.
    pub(crate) fn new(
        model: &'a mut Model,
        options: &'a InlineOptions<'a>,
        calls: Calls,
        single: SecondaryMap<FunctionId, NodeId>,
    ) -> Self {
        let pass = model.intern("inline");
        Self {
            model,
            options,
            calls,
            report: Vec::new(),
            needs: SecondaryMap::new(),
            names: Names::new(options.naming),
            conversions: Conversions::default(),
            forwards: Forwards::default(),
            copied: SecondaryMap::new(),
            outermost: 0,
            types: HashMap::default(),
            single,
            moved: Vec::new(),
            pass,
        }
    }

    /// Expands the calls in outermost graphs.
    pub(crate) fn roots(&mut self, roots: &[GraphId]) -> Result<(), Stopped> {
        roots.iter().try_for_each(|&root| self.root(root))
    }

    /// Expands the calls in the functions that are kept: those that were not used before, and those that are still
    /// called. A function whose expansion would exceed the limits is kept unchanged. `is_complete` states that no node
    /// outside of functions names a function any more.
    pub(crate) fn functions(
        &mut self,
        used: &SecondaryMap<FunctionId, ()>,
        bodies: &SecondaryMap<FunctionId, Cost>,
        is_complete: bool,
    ) -> Result<(), Stopped> {
        let model = &*self.model;
        // Converted copies have no cost, and are removed at the end.
        let own = model.functions().iter().copied().filter(|&function| bodies.contains_key(function));
        let mut open: Vec<FunctionId> = own.filter(|&function| !used.contains_key(function)).collect();
        open.reverse();
        let is_root = |&graph: &GraphId| !is_complete && model.scope(graph) == OpsetScope::Model;
        let roots: Vec<GraphId> = model.all_graphs().filter(is_root).collect();
        let mut met: SecondaryMap<FunctionId, ()> = open.iter().map(|&function| (function, ())).collect();
        for graph in roots {
            self.meet(graph, &mut met, &mut open);
        }
        while let Some(function) = open.pop() {
            let size = bodies.get(function).copied().unwrap_or_default();
            if size.exceeded(self.model, &self.options.execution.limits).is_none() {
                let graphs: Vec<GraphId> = graphs_of(self.model, function).collect();
                self.roots(&graphs)?;
                // Cached facts about the body no longer hold.
                self.needs.remove(function);
                self.conversions.forget(function);
            }
            for graph in graphs_of(self.model, function).collect::<Vec<_>>() {
                for nested in self.model.graphs_in(graph).collect::<Vec<_>>() {
                    self.meet(nested, &mut met, &mut open);
                }
            }
        }
        Ok(())
    }

    /// Returns `true` if every call so far was inlined.
    pub(crate) fn has_inlined_all(&self) -> bool {
        self.report.iter().all(|call| call.result.is_ok())
    }

    /// Adds the functions that nodes of a graph name.
    fn meet(&self, graph: GraphId, met: &mut SecondaryMap<FunctionId, ()>, open: &mut Vec<FunctionId>) {
        for node in self.model.nodes(graph) {
            if let Some(function) = self.model.function_called(self.model.node(node))
                && met.insert(function, ()).is_none()
            {
                open.push(function);
            }
        }
    }

    /// Ends the work: references to replaced values are redirected, and converted copies of functions are removed.
    ///
    /// Returns the results of calls, and the number of functions that were removed as their bodies moved.
    pub(crate) fn finish(self) -> (Vec<InlinedCall>, usize) {
        redirect(self.model, &self.forwards);
        self.conversions.remove(self.model);
        (self.report, self.model.remove_functions(&self.moved))
    }

    /// Expands the calls in a graph and in everything nested in it. Calls in the graphs of a call are expanded before
    /// the call.
    fn root(&mut self, root: GraphId) -> Result<(), Stopped> {
        let nodes = self.model.walk(root).filter_map(|event| match event {
            Event::After(node) if self.calls.contains_key(node) => Some(node),
            _ => None,
        });
        let nodes: Vec<NodeId> = nodes.collect();
        if nodes.is_empty() {
            return Ok(());
        }
        self.names.collect(self.model, self.model.root(root));
        self.report.reserve(nodes.len());
        let mut tasks = Vec::new();
        for node in nodes {
            // A model has fewer than 2^32 nodes.
            self.outermost = self.report.len() as u32;
            tasks.push(Task::Open { node, parent: None, path: None });
            let mut stopped = Ok(());
            while let Some(task) = tasks.pop() {
                match task {
                    Task::Open { .. } if stopped.is_err() => {}
                    Task::Open { node, parent, path } => {
                        self.open(node, parent, path.as_deref(), &mut tasks);
                        stopped = self.options.execution.interrupt.check();
                    }
                    Task::Close(frame) => self.close(&frame),
                }
            }
            stopped?;
        }
        Ok(())
    }

    /// Replaces a call by the body, and adds the calls in the body to the tasks.
    fn open(&mut self, node: NodeId, parent: Option<u32>, around: Option<&str>, tasks: &mut Vec<Task>) {
        // A model has fewer than 2^32 nodes.
        let index = self.report.len() as u32;
        let record = self.model.node(node);
        let mut entry = InlinedCall {
            function: (record.domain(), record.op(), record.overload()),
            node,
            name: record.name(),
            origin: self.model.node_origin(node),
            parent,
            result: Ok(0),
        };
        match self.copy(node) {
            Err(reason) => entry.result = Err(reason),
            Ok((call, pairs)) => {
                entry.result = Ok(pairs.len());
                self.names.release(self.model, node);
                self.names.enter(self.model, node, around.unwrap_or_default());
                for &(original, copy) in &pairs {
                    self.settle((node, index), original, copy);
                    self.names.name(self.model, copy);
                }
                let results = call.results.iter().map(|&(old, result)| (old, call.map.get(result)));
                tasks.push(Task::Close(Frame { node, index, results: results.collect() }));
                let mut path: Option<Arc<str>> = None;
                for &(original, copy) in pairs.iter().rev() {
                    let Some(&function) = self.calls.get(original) else { continue };
                    self.calls.insert(copy, function);
                    let path = path.get_or_insert_with(|| self.names.path().into());
                    let path = Some(Arc::clone(path));
                    tasks.push(Task::Open { node: copy, parent: Some(index), path });
                }
            }
        }
        self.calls.remove(node);
        self.report.push(entry);
    }

    /// Binds a call and copies the body; the model is unchanged if there is a reason against it.
    fn copy(&mut self, node: NodeId) -> Result<(FunctionCall, Pairs), FunctionReason> {
        let function = self.calls.get(node).copied().ok_or("the node calls no function")?;
        let graph = self.model.node(node).graph();
        let needs = match self.needs.get(function) {
            Some(needs) => needs.clone(),
            None => {
                let needs = Needs::of(self.model, function, self.options.registry).map(Arc::new);
                self.needs.insert(function, needs.clone());
                needs
            }
        }?;
        let known = self.conversions.get(self.model, function, graph, self.options, &mut self.calls)?;
        let mut call = FunctionCall::bind_to(self.model, node, known.function, &needs)?;
        self.separate(node, &mut call);
        let is_single = self.single.get(function) == Some(&node) && known.function == function;
        let pairs: Pairs = if is_single && call.is_movable(self.model, &needs) {
            let nodes = call.move_body(self.model, Position::Before(node))?;
            self.moved.push(function);
            nodes.into_iter().map(|node| (node, node)).collect()
        } else {
            call.copy_body(self.model, Position::Before(node))?;
            call.map.copied_nodes().iter().copied().collect()
        };
        add_imports(self.model, graph, &known.missing);
        Ok((call, pairs))
    }

    /// Records the origin of a copy, and removes dimension variables of the function from its types.
    fn settle(&mut self, (call, index): (NodeId, u32), original: NodeId, copy: NodeId) {
        let origin = self.model.derive(self.pass, &[call, original]);
        self.model.set_node_origin(copy, origin);
        self.copied.insert(copy, index);
        let record = self.model.node(copy);
        // Graphs that the call passes have the variables of the scope around it.
        if original != copy
            && self.model.scope(self.model.node(original).graph()) == self.model.scope(record.graph())
        {
            return;
        }
        let mut values: SmallVec<[ValueId; 4]> = record.outputs().iter().flatten().copied().collect();
        values.extend(
            record.nested_graphs().flat_map(|graph| self.model.graph(graph).inputs().iter().copied()),
        );
        for value in values {
            let Some(ty) = self.model.value(value).shared_ty().cloned() else { continue };
            let kept = self.types.entry(Arc::as_ptr(&ty)).or_insert_with(|| {
                let free = without_variables(&ty);
                (Arc::clone(&ty), free.map_or_else(|| Arc::clone(&ty), Arc::new))
            });
            // The key is the address of a type that the entry keeps alive.
            let free = Arc::clone(&kept.1);
            if !Arc::ptr_eq(&free, &ty) {
                self.model.set_type(value, Some(free));
            }
        }
    }

    /// Replaces the outputs of a call by the results of the body, and erases the call.
    fn close(&mut self, frame: &Frame) {
        let mut named: HashSet<ValueId, RandomState> = HashSet::default();
        let is_single = frame.results.len() < 2;
        let repeated = self.repeated_results(frame);
        for &(old, result) in &frame.results {
            let mut new = self.forwarded(result);
            let maker = self.model.value(new).producer().and_then(|producer| self.copied.get(producer));
            let maker = maker.copied();
            let is_own = maker.is_some_and(|maker| maker >= frame.index) && !repeated.contains(&new);
            if !is_own && old != new && self.model.is_named_by_attribute(old) {
                new = self.alias(frame.node, new);
                self.adopt(old, new);
            } else if maker.is_some_and(|maker| maker >= self.outermost) && (is_single || named.insert(new)) {
                self.adopt(old, new);
            }
            // A value of a cycle cannot replace itself.
            if old != new {
                self.replace(frame.node, old, new);
            }
        }
        // Its results have no uses any more.
        let _ = self.model.erase_node(frame.node);
    }

    /// What takes the place of a value by now.
    fn forwarded(&self, value: ValueId) -> ValueId {
        let mut new = value;
        while let Some(&next) = self.forwards.get(&new) {
            new = next;
        }
        new
    }

    /// The values of which a call returns one several times, if a `Gradient` names one of its results.
    fn repeated_results(&self, frame: &Frame) -> HashSet<ValueId, RandomState> {
        if !frame.results.iter().any(|&(old, _)| self.model.is_named_by_attribute(old)) {
            return HashSet::default();
        }
        repeated(frame.results.iter().map(|&(_, result)| self.forwarded(result)))
    }

    /// Gives an input of the body that a `Gradient` names a separate operand, where the call has the operand twice: the derivative
    /// by the operand is not that by one of the inputs.
    fn separate(&mut self, node: NodeId, call: &mut FunctionCall) {
        let is_named = |&formal: &ValueId| self.model.is_named_by_attribute(formal);
        if !self.model.graph(call.body).inputs().iter().any(is_named) {
            return;
        }
        let repeated = repeated(self.model.node(node).inputs().flatten());
        for index in 0..self.model.node(node).input_count() {
            let Some(operand) = self.model.node(node).input(index) else { continue };
            let Some(&formal) = self.model.graph(call.body).inputs().get(index) else { continue };
            if repeated.contains(&operand) && self.model.is_named_by_attribute(formal) {
                let own = self.alias(node, operand);
                call.map.map(formal, own);
            }
        }
    }

    /// A separate value with the content of another one, before a call: for a `Gradient` that names it, it is not the other one.
    fn alias(&mut self, call: NodeId, value: ValueId) -> ValueId {
        let graph = self.model.node(call).graph();
        let alias = self.model.new_value_in(graph, Symbol::EMPTY);
        let node = NewNode::new(op::IDENTITY).inputs([value]).outputs([alias]);
        let Ok(node) = self.model.add_node(Position::Before(call), node) else { return value };
        add_imports(self.model, graph, &[(domain::ONNX, IDENTITY_VERSION)]);
        let origin = self.model.derive(self.pass, &[call]);
        self.model.set_node_origin(node, origin);
        let ty = self.model.value(value).shared_ty().cloned();
        self.model.set_type(alias, ty);
        alias
    }

    /// Replaces an output of a call, through an `Identity` where it is an output of a graph and the result is a value from outside.
    fn replace(&mut self, call: NodeId, old: ValueId, new: ValueId) {
        // It does not fail: the output of a call is not an input or initializer.
        if let Ok(Some(alias)) = self.model.replace_or_alias(old, new) {
            let graph = self.model.node(alias).graph();
            add_imports(self.model, graph, &[(domain::ONNX, IDENTITY_VERSION)]);
            let origin = self.model.derive(self.pass, &[call]);
            self.model.set_node_origin(alias, origin);
        }
        self.forwards.insert(old, new);
    }

    /// Gives a result the name and the type of the output of the call, because other parts of the model refer to these.
    fn adopt(&mut self, old: ValueId, new: ValueId) {
        let record = self.model.value(old);
        let ty = record.shared_ty().cloned();
        let has_name = !record.name().is_empty();
        let is_described = !record.doc().is_empty() || !record.metadata().is_empty();
        // For an output that callers know by name, `replace` exchanges the names.
        if has_name && !self.model.is_known_output(old) {
            self.model.take_name(new, old);
        }
        if ty.is_some() {
            self.model.set_type(new, ty);
        }
        if is_described {
            let extras = std::mem::take(&mut *self.model.value_extras_mut(old));
            *self.model.value_extras_mut(new) = extras;
        }
    }
}

/// The values that occur several times.
fn repeated(values: impl Iterator<Item = ValueId>) -> HashSet<ValueId, RandomState> {
    let mut seen: HashSet<ValueId, RandomState> = HashSet::default();
    values.filter(|&value| !seen.insert(value)).collect()
}

/// Adds operator sets to the imports that apply to a graph.
pub(crate) fn add_imports(model: &mut Model, graph: GraphId, missing: &[(Symbol, i64)]) {
    for &(domain, version) in missing {
        if model.versions_in(graph).get(domain).is_some() {
            continue;
        }
        let import = OpsetImport::new(domain, version);
        match model.scope(graph) {
            OpsetScope::Model => model.info_mut().opset_imports.push(import),
            OpsetScope::Function(function) => model.function_mut(function).opset_imports.push(import),
        }
    }
}

/// A type whose dimension variables are unknown dimensions; `None` if it has none. A variable of a function is a size in one
/// call, and another one or the same in the next.
fn without_variables(ty: &Type) -> Option<Type> {
    let mut free = ty.clone();
    let mut at = Some(&mut free);
    while let Some(ty) = at {
        ty.source = None;
        at = match &mut ty.kind {
            TypeKind::Tensor(tensor) | TypeKind::SparseTensor(tensor) => {
                let dims = tensor.shape.as_mut().map(|shape| shape.dims_mut()).unwrap_or_default();
                for dim in dims {
                    if dim.known().is_none() {
                        *dim = Dim::Unknown;
                    }
                }
                None
            }
            TypeKind::Sequence(inner) | TypeKind::Optional(inner) => inner.as_deref_mut(),
            TypeKind::Map { value, .. } => value.as_deref_mut(),
            TypeKind::Undefined | TypeKind::Opaque { .. } => None,
        };
    }
    (free != *ty).then_some(free)
}
