//! One node: which rule serves it, running it, and taking what it says.
//!
//! # A visit
//!
//! A visit is one call of `step`. `Engine::drive` begins it with `visit` for each node of the innermost frame, in order. A node
//! whose rule enters a graph (a branch, a body, a called function) has several visits: after the frame of the graph is left,
//! `resume` calls `step` again with the [`Control`] that the rule had left in the frame.
//!
//! 1. **Site.** The state takes over what is true of the visit: the call and arguments of the frame, whether and where the
//!    node is executed, and how many expressions the visit may make. Rules and faults read these from the state, so they are
//!    set before anything can be reported.
//! 2. **Target.** `target` finds what serves the node: the rule of its schema, of a pack, of onnxruntime, a function, or nothing.
//! 3. **Binding.** `bind` gives outputs the types that follow from the type variables of the schema. This is before the rule,
//!    since a rule that ends early because a size is unknown keeps them.
//! 4. **Rule.** It reads operands from the table and writes outputs to `Cx::outs` only. The table still has what an earlier
//!    visit found, and nothing of a rule that fails reaches it. Facts, guards and faults go to the state at once.
//! 5. **Graph.** If the rule enters a graph, a frame is pushed and the visit ends here: its outputs are those of a later visit.
//! 6. **Outputs.** `finish` settles each output: the shape of another value is copied, then merged with the declared type,
//!    then negative sizes are forgotten; sizes become variables (`materialize`) last, as the declaration can name them.
//! 7. **Premises.** `inherit_premises` records on which sizes being at least 0 the results rely. It compares with the sizes of
//!    the inputs, so it runs when the outputs are in the table.
//!
//! `Engine::outs` is moved into the visit and back at each of its ends, to keep the memory: most visits allocate nothing.

use onnx_diag::Quoted;
use onnx_ir::{Callee, FunctionId, Node, NodeId, ValueId};
use onnx_schema::onnxruntime::{self, RuntimeSchema};
use onnx_schema::{DeclaredSchema, Schema, lookup};
use onnx_types::Dim;

use super::Engine;
use super::call::Memo;
use super::control::{Control, Step};
use super::frame::{FactScope, Frame, Runs};
use super::state::Site;
use crate::contrib;
use crate::cx::{Cx, Out, Outcome, Stop};
use crate::fault::NOT_IMPORTED;
use crate::registry::{ControlFn, Rule, RuleFn, Served, TABLE};
use crate::ty::Ty;

/// What serves a node.
enum Target<'m> {
    Plain(RuleFn, Option<RuleFn>),
    /// The rule of a pack, and the declaration of the operator if there is one.
    Custom(Served, Option<&'m DeclaredSchema>),
    Runtime(&'static RuntimeSchema),
    /// An operator of a custom set without a rule.
    Declared(&'m DeclaredSchema),
    Control(ControlFn),
    Call(FunctionId),
    Nothing,
}

impl<'m> Target<'m> {
    /// The declaration of the operator.
    const fn declared(&self) -> Option<&'m DeclaredSchema> {
        match self {
            Self::Custom(_, declared) => *declared,
            Self::Declared(declared) => Some(declared),
            _ => None,
        }
    }

    /// The schema of an operator that onnxruntime adds.
    const fn runtime(&self) -> Option<&'static RuntimeSchema> {
        match self {
            Self::Runtime(schema) => Some(schema),
            _ => None,
        }
    }
}

impl<'m> Engine<'m> {
    /// Visits the current node of the innermost frame.
    pub(super) fn visit(&mut self, node: NodeId) {
        let record = self.state.model.node(node);
        let operands = record.input_count().saturating_add(record.outputs().len());
        self.work = self.work.saturating_add(operands as u64).saturating_add(1);
        self.state.bodies.begin(self.state.model, node);
        self.step(node, None);
    }

    /// Resumes a node whose inference rule entered a graph.
    pub(super) fn resume(&mut self, node: NodeId) {
        let control = self.frames.last_mut().and_then(|frame| frame.control.take());
        self.step(node, control);
    }

    fn step(&mut self, id: NodeId, control: Option<Box<Control>>) {
        let node = self.state.model.node(id);
        let Some(frame) = self.frames.last() else { return };
        // The site comes first: whatever is reported below reads it.
        let args = frame.args.clone();
        self.state.call = frame.call;
        self.state.begin_steps();
        let root = self.frames.first().and_then(Frame::current);
        self.state.site = Site { runs: frame.runs, graph: frame.graph, root };
        let opset = self.state.model.versions_in(node.graph()).get(node.domain());
        let (schema, target) = self.target(id, node, opset);
        if opset.is_none() && control.is_none() && !matches!(target, Target::Custom(..) | Target::Runtime(_))
        {
            self.report_missing_import(id, node);
        }
        let is_call = matches!(target, Target::Call(_));
        let mut outs = std::mem::take(&mut self.outs);
        outs.resize_with(node.outputs().len(), Out::default);
        let mut cx = Cx {
            state: &mut self.state,
            id,
            node,
            schema,
            declared: target.declared(),
            runtime: target.runtime(),
            opset: opset.unwrap_or(0),
            args: args.as_deref(),
            outs,
        };
        cx.state.is_refused = control.as_ref().is_some_and(|control| control.is_refused);
        let step = run_checked(&mut cx, &target, control, &mut self.memo, &mut self.active);
        let mut outs = std::mem::take(&mut cx.outs);
        if is_call {
            self.state.bodies.call(step.is_err());
        }
        match step {
            Ok(Next::Enter(graph, runs, mut control)) => {
                control.is_refused = self.state.is_refused;
                if self.enter(graph, runs, control) {
                    // The outputs are those of the visit in which the rule enters no graph.
                    self.end_steps(id);
                    self.state.inherit_premises(id);
                    outs.clear();
                    self.outs = outs;
                    return;
                }
                // Nested too deep: what the graph gives is not known.
                outs.clear();
            }
            // What contradicts itself says nothing about sizes.
            Err(Stop::Failed) => outs.iter_mut().for_each(Out::forget_sizes),
            Ok(Next::Done) | Err(Stop::Unknown) => {}
        }
        self.state.bodies.end(self.state.model, id);
        // Sizes that rest on an assumption that the options exclude are not results.
        if self.state.is_refused {
            outs.iter_mut().for_each(Out::forget_sizes);
        }
        // Before `finish`: merging with declarations is not limited by the expressions of the rule.
        self.end_steps(id);
        self.finish(id, node, &mut outs);
        self.state.inherit_premises(id);
        outs.clear();
        self.outs = outs;
    }

    /// Ends the count of expressions for a node.
    fn end_steps(&mut self, id: NodeId) {
        if self.state.end_steps() {
            let what = "the sizes or elements need too many expressions";
            self.state.exceeded("expression_steps", Some(id), what);
        }
    }

    fn report_missing_import(&mut self, id: NodeId, node: &Node) {
        let message = format!(
            "operator set {} is not imported",
            Quoted(self.state.model.names().resolve(node.domain()))
        );
        self.state.fail(&NOT_IMPORTED, id, message);
    }

    /// What serves a node.
    fn target(&self, id: NodeId, node: &Node, opset: Option<i64>) -> (Option<&'static Schema>, Target<'m>) {
        let registry = self.state.options.registry;
        match self.state.model.callee(id, registry) {
            Callee::Standard(schema) => {
                let target =
                    match TABLE.get(schema.id().index()).and_then(|entry| Some((entry.infer?, entry.values)))
                    {
                        Some((Rule::Plain(rule), values)) => Target::Plain(rule, values),
                        Some((Rule::Control(rule), _)) => Target::Control(rule),
                        None => Target::Nothing,
                    };
                (Some(schema), target)
            }
            Callee::Function(function) => (None, Target::Call(function)),
            Callee::Custom(schema) => (None, self.declared_target(node, opset, schema)),
            _ => (
                None,
                self.custom_target(node, opset, None)
                    .or_else(|| self.runtime_target(node, opset))
                    .unwrap_or(Target::Nothing),
            ),
        }
    }

    /// What serves an operator of a declared set.
    fn declared_target(&self, node: &Node, opset: Option<i64>, schema: &'m DeclaredSchema) -> Target<'m> {
        let is_open = || self.state.options.registry.declared_versions(schema.domain()).is_none();
        self.custom_target(node, opset, Some(schema))
            .or_else(|| self.runtime_target(node, opset).filter(|_| is_open()))
            .unwrap_or(Target::Declared(schema))
    }

    /// The rule of a pack.
    fn custom_target(
        &self,
        node: &Node,
        opset: Option<i64>,
        schema: Option<&'m DeclaredSchema>,
    ) -> Option<Target<'m>> {
        if self.custom.is_empty() {
            return None;
        }
        let domain = onnx_schema::normalize_domain(node.domain());
        let served = self.custom.get(&(domain, node.op()))?.at(opset.unwrap_or(i64::MAX))?;
        Some(Target::Custom(served, schema))
    }

    /// An operator that onnxruntime adds. The runtime accepts nodes of its domains without an import.
    fn runtime_target(&self, node: &Node, opset: Option<i64>) -> Option<Target<'m>> {
        if !self.has_onnxruntime {
            return None;
        }
        let [domain, op] = [node.domain(), node.op()].map(|name| self.state.model.names().resolve(name));
        let version = opset.or((!domain.is_empty()).then_some(i64::MAX))?;
        onnxruntime::lookup(domain, op, version).map(Target::Runtime)
    }

    /// Opens a graph for the current node. Returns `false` if too many graphs are open.
    fn enter(&mut self, graph: onnx_ir::GraphId, runs: Runs, control: Box<Control>) -> bool {
        let Some(frame) = self.frames.last() else { return false };
        let scope = match &control.call {
            Some(call) => {
                self.calls = self.calls.wrapping_add(1);
                self.callee_scope(frame, call)
            }
            None => FactScope { args: frame.args.clone(), call: frame.call, runs: frame.runs.max(runs) },
        };
        if self.frames.len() >= self.state.options.execution.limits.inference_depth {
            let node = self.caller();
            let what = "graphs and calls are nested too deep to look inside";
            self.state.exceeded("inference_depth", node, what);
            match &control.call {
                Some(call) => drop(self.active.remove(call.function)),
                None => self.state.forget_graph(graph),
            }
            return false;
        }
        if scope.runs != Runs::Always {
            self.state.conditional.insert(graph, ());
        }
        self.state.bodies.enter(graph);
        self.clear(graph);
        let opened = Frame::new(self.state.model, graph, scope);
        if let Some(frame) = self.frames.last_mut() {
            frame.control = Some(control);
        }
        self.frames.push(opened);
        true
    }

    /// Forgets what an earlier visit of a graph found, but not what its inputs were bound to, and reads its initializers.
    fn clear(&mut self, graph: onnx_ir::GraphId) {
        let model = self.state.model;
        for node in model.nodes(graph) {
            for &value in model.node(node).outputs().iter().flatten() {
                self.state.table.clear(value);
            }
        }
        self.declare_initializers(graph);
    }

    /// Takes what a rule said about the outputs of a node.
    fn finish(&mut self, id: NodeId, node: &'m Node, outs: &mut Vec<Out>) {
        if outs.len() < node.outputs().len() {
            outs.resize_with(node.outputs().len(), Out::default);
        }
        for (&value, out) in node.outputs().iter().zip(outs) {
            let Some(value) = value else { continue };
            if let Some(like) = out.like
                && self.finish_like(id, value, out, like)
            {
                continue;
            }
            out.settle(&self.state.table);
            self.merge_declared(id, value, out);
            // After the merge, as a declaration can replace a size that a rule did not find.
            if let Ty::Tensor(_, Some(dims)) = &mut out.ty {
                // The formula of a rule does not apply where it gives a negative number: a guard of it is violated.
                dims.iter_mut()
                    .filter(|dim| matches!(dim, Dim::Known(..0)))
                    .for_each(|dim| *dim = Dim::Unknown);
                self.state.forget_negative(id, dims);
                self.state.materialize(value, dims);
                self.note_sizes(id, dims);
            }
            let content = out.content.take().filter(|content| holds(&out.ty, content.len()));
            self.state.table.set(value, &out.ty);
            if content.is_some() || self.state.table.content(value).is_some() {
                self.state.table.set_content(value, content);
            }
            if let Some(members) = out.members.take()
                && matches!(out.ty, Ty::Other(_))
            {
                self.state.table.set_members(value, members);
            }
        }
    }

    /// The same for an output without elements that has the shape of another value, unless something is declared about it.
    fn finish_like(&mut self, id: NodeId, value: ValueId, out: &Out, like: ValueId) -> bool {
        let Ty::Tensor(elem, None) = out.ty else { return false };
        let is_declared = self.state.model.value(value).shared_ty().is_some();
        if is_declared || out.content.is_some() || !self.state.table.set_like(value, elem, like) {
            return false;
        }
        if self.state.table.content(value).is_some() {
            self.state.table.set_content(value, None);
        }
        let dims = crate::ty::Dims::from_slice(self.state.table.dims(value).unwrap_or_default());
        self.note_sizes(id, &dims);
        true
    }

    /// Notes the expressions that are sizes, for the graph that is open. An expression may be negative for sizes of the
    /// inputs with which the node cannot run, or with which its result is another one; a guard excludes these.
    fn note_sizes(&mut self, id: NodeId, dims: &[Dim]) {
        for &dim in dims {
            let Dim::Expr(size) = dim else { continue };
            if self.state.facts.add_size(size)
                && let [_, .., frame] = self.frames.as_mut_slice()
            {
                frame.sizes.push(size);
            }
            self.state.guard_size(id, size);
        }
    }
}

/// Runs what serves a node, between the schema's type variables before it and the test of its outputs.
fn run_checked(
    cx: &mut Cx<'_, '_>,
    target: &Target<'_>,
    control: Option<Box<Control>>,
    memo: &mut Memo,
    active: &mut super::Active,
) -> Outcome<Next> {
    let step = if super::bind::bind(cx).is_err() {
        Err(Stop::Failed)
    } else if cx.has_open_reference() {
        Err(Stop::Unknown)
    } else {
        run_target(cx, target, control, memo, active)
    };
    match step {
        // An inference rule that ends early because sizes or elements are unknown may have set the type of an output.
        Ok(Next::Done) | Err(Stop::Unknown) if cx.state.options.check_types => {
            super::bind::check_outputs(cx).map(|()| Next::Done)
        }
        step => step,
    }
}

/// Runs what serves a node.
fn run_target(
    cx: &mut Cx<'_, '_>,
    target: &Target<'_>,
    control: Option<Box<Control>>,
    memo: &mut Memo,
    active: &mut super::Active,
) -> Outcome<Next> {
    match target {
        Target::Plain(infer, values) => run_rule(cx, *infer, *values),
        Target::Custom(custom, schema) => {
            if let Some(schema) = schema {
                super::bind::fill_declared(cx, schema);
            }
            let infer = |cx: &mut Cx<'_, '_>| custom.infer.as_ref().map_or(Ok(()), |infer| infer(cx));
            run_rule(cx, infer, custom.values.as_deref())
        }
        Target::Runtime(schema) => match contrib::rules(schema) {
            (Some(infer), values) => run_rule(cx, infer, values),
            (None, _) => Ok(Next::Done),
        },
        Target::Declared(schema) => {
            super::bind::fill_declared(cx, schema);
            Ok(Next::Done)
        }
        Target::Nothing => Ok(Next::Done),
        Target::Control(rule) => {
            let mut control = control.unwrap_or_default();
            let step = rule(cx, &mut control);
            if step.is_err() && control.round == 0 {
                // An earlier visit of this node may have found something that does not hold now.
                cx.node.nested_graphs().for_each(|graph| cx.state.forget_graph(graph));
            }
            step.map(|step| Next::of(step, control))
        }
        Target::Call(function) => {
            let mut control = control.unwrap_or_default();
            let step = super::call::step(cx, &mut control, *function, memo, active);
            step.map(|step| Next::of(step, control))
        }
    }
}

/// What follows a rule.
enum Next {
    Enter(onnx_ir::GraphId, Runs, Box<Control>),
    Done,
}

impl Next {
    fn of(step: Step, mut control: Box<Control>) -> Self {
        match step {
            Step::Enter(graph, runs) => {
                control.round = control.round.saturating_add(1);
                Self::Enter(graph, runs, control)
            }
            Step::Done => Self::Done,
        }
    }
}

/// Runs a rule, and then how the operator computes small tensors, where that is known and an output is small.
fn run_rule(
    cx: &mut Cx<'_, '_>,
    infer: impl Fn(&mut Cx<'_, '_>) -> Outcome,
    values: Option<impl Fn(&mut Cx<'_, '_>) -> Outcome>,
) -> Outcome<Next> {
    let inferred = infer(cx);
    if inferred == Err(Stop::Failed) {
        return Err(Stop::Failed);
    }
    if let Some(values) = values
        && cx.wants_content()
        && values(cx) == Err(Stop::Failed)
    {
        return Err(Stop::Failed);
    }
    inferred.map(|()| Next::Done)
}

impl Cx<'_, '_> {
    /// Infers this node as if it were of another operator: a standard one, at a version of its domain. What the operator
    /// does not know is passed over: further inputs, outputs and attributes.
    ///
    /// # Errors
    ///
    /// As the rule of the operator says, and [`Stop::Unknown`] when there is none, or it is one with graphs.
    pub fn infer_as(&mut self, domain: onnx_types::Symbol, op: onnx_types::Symbol, version: i64) -> Outcome {
        let schema = lookup(onnx_schema::normalize_domain(domain), op, version).ok_or(Stop::Unknown)?;
        let Some(Rule::Plain(rule)) = TABLE.get(schema.id().index()).and_then(|entry| entry.infer) else {
            return Err(Stop::Unknown);
        };
        let values = TABLE.get(schema.id().index()).and_then(|entry| entry.values);
        let own = (self.schema.replace(schema), std::mem::replace(&mut self.opset, version));
        let runtime = self.runtime.take();
        // The types of an operator of onnxruntime follow from its own schema, which can allow others.
        let bound = if runtime.is_some() { Ok(()) } else { super::bind::bind(self) };
        let outcome = bound.and_then(|()| run_rule(self, rule, values));
        (self.schema, self.opset) = own;
        self.runtime = runtime;
        outcome.map(|_| ())
    }

    /// Whether the elements of the first output could be followed: it is a small tensor of known shape.
    fn wants_content(&self) -> bool {
        let limit = self.content_limit();
        let table = &self.state.table;
        let small = |out: &Out| match out.like.map_or_else(|| out.ty.dims(), |like| table.dims(like)) {
            Some(dims) => count(dims).is_some_and(|count| count <= limit),
            None => false,
        };
        // What a node without inputs gives is a constant and no value that is followed.
        (self.state.options.values || self.node.input_count() == 0) && self.outs.iter().any(small)
    }
}

/// The number of elements of a shape, if all its sizes are numbers.
fn count(dims: &[Dim]) -> Option<usize> {
    dims.iter().try_fold(1_usize, |count, dim| count.checked_mul(usize::try_from(dim.known()?).ok()?))
}

/// Returns `true` if a value of this type has `len` elements.
fn holds(ty: &Ty, len: usize) -> bool {
    ty.dims().and_then(count) == Some(len)
}
