//! The machine: runs the steps of a plan with a stack of active graphs, so that no nesting uses the stack of the thread.

use std::sync::atomic::Ordering;

use onnx_diag::Locus;
use onnx_ir::{AttrValue, Attribute, FunctionId, Model, NodeId, Places};
use onnx_schema::SchemaRef;
use onnx_types::Symbol;
use smallvec::SmallVec;

use super::control::{Control, Next};
use super::notes::{self, operands};
use super::plan::{Action, Plan, Step};
use super::shared::{Key, Results};
use super::{proof, types, zeros};
use crate::budget::Budget;
use crate::cx::{Buffer, Cx, Outcome, REUSED_INPUTS, Stop};
use crate::fault::Failure;
use crate::observer::NodeRun;
use crate::options::{EvalOptions, Precision};
use crate::registry::{KernelFn, has_open_rounding};
use crate::threads::Threads;
use crate::value::Value;

pub(super) struct Machine<'p, 'm> {
    model: &'m Model,
    options: &'p EvalOptions<'m>,
    plan: &'p Plan<'m>,
    budget: Budget,
    frames: Vec<Frame>,
    active: Vec<Active>,
    /// The memory of the first operands of the node that runs, if no other node uses them.
    spare: [Option<Buffer>; REUSED_INPUTS],
    /// Number of nodes so far whose results depend on the order of zeros.
    zeros_ordered: u32,
}

/// The values of a root, and the attributes of the call.
struct Frame {
    slots: Vec<Option<Stored>>,
    arguments: Vec<Attribute>,
    /// The frame in which the graphs of an argument run, by argument: that of the node that has the graph.
    homes: Vec<usize>,
}

struct Stored {
    /// `None` while the last node that uses it runs.
    value: Option<Value>,
    /// Bytes that the budget counts for it; weights count as 0.
    bytes: u64,
    /// Its memory, if a kernel may overwrite it.
    buffer: Option<Buffer>,
}

/// A graph that runs.
struct Active {
    graph: usize,
    /// The frame of its values: the newest one, except for a graph that a function has from its call.
    frame: usize,
    /// The next step.
    at: usize,
    then: Then,
}

/// The continuation after a graph, which receives its outputs.
enum Then {
    /// They are the results of the run.
    Return,
    /// They are the outputs of the call before `at` of the graph below.
    Call,
    /// The operator before `at` of the graph below resumes.
    Control(Box<dyn Control>, SmallVec<[Option<Value>; 4]>),
}

/// The outputs that a kernel has set, with their memory.
#[derive(Default)]
struct Made {
    outputs: SmallVec<[Option<Value>; 2]>,
    buffers: SmallVec<[Option<Buffer>; 2]>,
}

/// Why the machine stops: the node, the reason, and the types of its operands.
type Halt = Box<(Option<NodeId>, Stop, String)>;

fn halt(node: Option<NodeId>, stop: Stop, operands: String) -> Halt {
    Box::new((node, stop, operands))
}

impl<'p, 'm> Machine<'p, 'm> {
    pub(super) fn new(model: &'m Model, options: &'p EvalOptions<'m>, plan: &'p Plan<'m>) -> Self {
        let budget = Budget::new(&options.execution);
        let (frames, active, spare) = (Vec::new(), Vec::new(), [None, None]);
        Self { model, options, plan, budget, frames, active, spare, zeros_ordered: 0 }
    }

    /// Runs the first graph of the plan. Inputs that are `None` keep the value of their initializer.
    pub(super) fn run(
        mut self,
        inputs: Vec<Option<Value>>,
        arguments: Vec<Attribute>,
    ) -> Result<Vec<Option<Value>>, Failure> {
        let homes = vec![0; arguments.len()];
        let entered = self.push_frame(0, arguments, homes);
        let entered = entered.and_then(|frame| self.enter((0, frame), inputs, Then::Return));
        let result = entered.map_err(|stop| halt(None, stop, String::new())).and_then(|()| self.execute());
        if let Some(meter) = self.options.meter {
            let steps = self.options.execution.limits.run_steps.saturating_sub(self.budget.steps_left());
            meter.fetch_add(steps, Ordering::Relaxed);
        }
        result.map_err(|halt| {
            let (node, stop, operands) = *halt;
            failure(self.model, node, stop, &operands)
        })
    }

    /// Adds a frame for the root of a graph, and returns its index. Its slots are work.
    fn push_frame(&mut self, graph: usize, arguments: Vec<Attribute>, homes: Vec<usize>) -> Outcome<usize> {
        let root = self.plan.graphs.get(graph).map_or(0, |plan| plan.root);
        let count = self.plan.roots.get(root).copied().unwrap_or(0);
        self.budget.work(count as u64)?;
        let mut slots = Vec::new();
        slots.resize_with(count, || None);
        self.frames.push(Frame { slots, arguments, homes });
        Ok(self.frames.len() - 1)
    }

    /// The frame of the graph that runs.
    fn frame(&self) -> usize {
        self.active.last().map_or(0, |active| active.frame)
    }

    /// Makes a graph active in a frame.
    fn enter(&mut self, (graph, frame): (usize, usize), inputs: Vec<Option<Value>>, then: Then) -> Outcome {
        if self.active.len() >= self.options.execution.limits.run_depth {
            return Err(Stop::Limit("run_depth"));
        }
        let plan = self.plan;
        let Some(entered) = plan.graphs.get(graph) else { return Ok(()) };
        if inputs.len() != entered.inputs.len() {
            let (given, wanted) = (inputs.len(), entered.inputs.len());
            return Err(Stop::failed(format_args!("a graph with {wanted} inputs is given {given} values")));
        }
        if let Some(observer) = self.options.observer {
            observer.enter(entered.formals, &inputs);
        }
        self.budget.work(entered.steps_to_enter())?;
        for &(slot, weight) in &entered.weights {
            if let Some(weight) = plan.weights.get(weight) {
                let value = weight.value(self.options.data, &mut self.budget)?;
                let value = self.in_force(value)?;
                self.store(frame, slot, (value, None), false)?;
            }
        }
        self.budget.end_kernel();
        for (&slot, value) in entered.inputs.iter().zip(inputs) {
            if let Some(value) = value {
                let value = self.in_force(value)?;
                self.store(frame, slot, (value, None), true)?;
            }
        }
        self.active.push(Active { graph, frame, at: 0, then });
        Ok(())
    }

    /// The value that stands for one of the model or of a kernel.
    fn in_force(&mut self, value: Value) -> Outcome<Value> {
        match self.options.precision {
            Precision::Declared => Ok(value),
            Precision::Double => proof::widened(value, self.options.data, &mut self.budget),
        }
    }

    fn store(
        &mut self,
        frame: usize,
        slot: u32,
        (value, buffer): (Value, Option<Buffer>),
        is_counted: bool,
    ) -> Outcome {
        let bytes = if is_counted { self.budget.bytes_of(&value)? } else { 0 };
        let frame = self.frames.get_mut(frame);
        let place = frame.and_then(|frame| frame.slots.get_mut(slot as usize));
        let Some(place) = place else { return Ok(()) };
        if let Some(old) = place.replace(Stored { value: Some(value), bytes, buffer }) {
            self.budget.release(old.bytes);
        }
        self.budget.keep(bytes)
    }

    fn free(&mut self, slots: &[u32]) {
        let frame = self.frame();
        let Some(frame) = self.frames.get_mut(frame) else { return };
        for &slot in slots {
            if let Some(old) = frame.slots.get_mut(slot as usize).and_then(Option::take) {
                self.budget.release(old.bytes);
            }
        }
    }

    fn load(&self, slot: u32) -> Option<Value> {
        let stored = self.frames.get(self.frame())?.slots.get(slot as usize)?.as_ref()?;
        stored.value.clone()
    }

    /// The value of a slot that no other node uses, as an operand whose memory may be reused. The bytes count until the slot is
    /// freed.
    fn take(&mut self, slot: u32, operand: usize) -> Option<Value> {
        let frame = self.frame();
        let stored = self.frames.get_mut(frame)?.slots.get_mut(slot as usize)?.as_mut()?;
        if let Some(spare) = self.spare.get_mut(operand) {
            *spare = stored.buffer.take();
        }
        stored.value.take()
    }

    /// Whether kernels may overwrite operands: the modes for proofs read them again.
    fn overwrites(&self) -> bool {
        self.options.precision == Precision::Declared && self.is_plain()
    }

    /// Whether results are those that kernels compute.
    fn is_plain(&self) -> bool {
        self.options.perturbation.is_none() && self.options.zeros.is_none()
    }

    /// Runs until the first graph ends.
    fn execute(&mut self) -> Result<Vec<Option<Value>>, Halt> {
        let plan = self.plan;
        while let Some(active) = self.active.last_mut() {
            let Some(graph) = plan.graphs.get(active.graph) else { break };
            let Some(step) = graph.steps.get(active.at) else {
                let outputs: Vec<Option<Value>> =
                    graph.outputs.iter().map(|&(slot, _)| self.load(slot)).collect();
                if let Some(results) = self.leave(outputs)? {
                    return Ok(results);
                }
                continue;
            };
            active.at += 1;
            self.step(step)?;
        }
        Ok(Vec::new())
    }

    fn step(&mut self, step: &Step<'m>) -> Result<(), Halt> {
        let mut inputs: SmallVec<[Option<Value>; 4]> = SmallVec::with_capacity(step.inputs.len());
        let overwrites = self.overwrites();
        for (index, (&slot, value)) in step.inputs.iter().zip(step.node.inputs()).enumerate() {
            let is_taken = overwrites && step.takes.get(index) == Some(&true);
            let loaded = match slot {
                Some(slot) if is_taken => self.take(slot, index),
                Some(slot) => self.load(slot),
                None => None,
            };
            // An omitted argument of a function is an input of its body without a value.
            let is_argument = |value| matches!(self.model.value(value).def(), onnx_ir::Def::Input { .. });
            if let (Some(value), None) = (value.filter(|&value| !is_argument(value)), &loaded) {
                let name = self.model.str(self.model.value(value).name()).to_owned();
                return Err(halt(Some(step.id), Stop::Undefined(name), String::new()));
            }
            inputs.push(loaded);
        }
        let result = self.dispatch(step, &mut inputs);
        result.map_err(|stop| halt(Some(step.id), stop, operands(&inputs)))
    }

    fn dispatch(&mut self, step: &Step<'m>, inputs: &mut SmallVec<[Option<Value>; 4]>) -> Outcome {
        self.budget.work(step.steps)?;
        for tensor in inputs.iter().flatten().filter_map(Value::tensor) {
            self.budget.operand(tensor)?;
        }
        if let Some(observer) = self.options.observer {
            observer.begin(step.id);
        }
        if let Some(SchemaRef::Standard(schema)) = step.schema {
            if self.options.precision == Precision::Double {
                proof::narrowed(schema, inputs, self.options.data, &mut self.budget)?;
            }
            types::check(schema, inputs)?;
        }
        match &step.action {
            Action::Plain(kernel) => self.plain(step, inputs, *kernel),
            Action::Custom(kernel) => {
                let outputs = self.kernel(step, inputs, |cx| kernel(cx))?.1;
                self.finish(step, outputs)
            }
            Action::Control(control) => {
                let mut state = self.kernel(step, inputs, |cx| control(cx))?.0;
                let (next, outputs) = self.kernel(step, inputs, |cx| state.step(cx, None))?;
                self.control(step, state, std::mem::take(inputs), next, outputs)
            }
            Action::Call(function, graph) => {
                let (arguments, homes) = self.arguments(step, *function);
                let formal = self.plan.graphs.get(*graph).map_or(0, |plan| plan.inputs.len());
                if inputs.len() > formal {
                    return Err(Stop::failed("the call has more inputs than the function"));
                }
                let mut values = inputs.to_vec();
                values.resize(formal, None);
                let frame = self.push_frame(*graph, arguments, homes)?;
                self.enter((*graph, frame), values, Then::Call)
            }
            Action::Missing(reason) => Err(Stop::Unsupported(reason.clone())),
        }
    }

    /// Runs a kernel that needs no graphs, if its results are not known.
    fn plain(
        &mut self,
        step: &Step<'m>,
        inputs: &mut SmallVec<[Option<Value>; 4]>,
        kernel: KernelFn,
    ) -> Outcome {
        let shared = self.options.shared.filter(|_| self.is_plain());
        let key = shared.and_then(|shared| Some((shared, Key::of(self.model, step, inputs)?)));
        if let Some(known) = key.as_ref().and_then(|(shared, key)| shared.find(key)) {
            self.budget.work(known.steps)?;
            let outputs = known.outputs.into_iter().collect();
            return self.finish(step, Made { outputs, buffers: SmallVec::new() });
        }
        let left = self.budget.steps_left();
        let (zeros, ordered) = (self.options.zeros, self.zeros_ordered);
        let run = |cx: &mut Cx<'_, '_>| match zeros {
            Some(zeros) if zeros::depend_on_order(cx) => {
                zeros::run_in_order(cx, kernel, zeros.is_reversed(ordered)).map(|()| true)
            }
            _ => kernel(cx).map(|()| false),
        };
        let (is_ordered, made) = self.kernel(step, inputs, run)?;
        self.zeros_ordered = ordered.wrapping_add(u32::from(is_ordered));
        if let Some((shared, key)) = key {
            let steps = left.saturating_sub(self.budget.steps_left());
            shared.keep(key, Results { outputs: made.outputs.to_vec(), steps });
        }
        self.finish(step, made)
    }

    /// Runs a kernel, and returns its result and the outputs that it set.
    fn kernel<T>(
        &mut self,
        step: &Step<'m>,
        inputs: &mut [Option<Value>],
        run: impl FnOnce(&mut Cx<'_, 'm>) -> Outcome<T>,
    ) -> Outcome<(T, Made)> {
        let spare = std::mem::take(&mut self.spare);
        let arguments = self.frames.get(self.frame()).map_or(&[][..], |frame| &frame.arguments);
        let mut cx = Cx {
            model: self.model,
            node: step.node,
            schema: step.schema,
            arguments,
            inputs,
            spare,
            outputs: SmallVec::new(),
            buffers: SmallVec::new(),
            budget: &mut self.budget,
            data: self.options.data,
            seed: self.options.execution.seed,
            is_double: self.options.precision == Precision::Double,
            threads: Threads::new(self.options.threads),
        };
        types::check_strings(&cx)?;
        let result = run(&mut cx)?;
        if let Some(perturbation) = self.options.perturbation
            && let Some(SchemaRef::Standard(schema)) = step.schema
            && (has_open_rounding(schema.id()) || perturbation.arithmetic && proof::is_arithmetic(schema))
        {
            proof::perturb(&mut cx, perturbation)?;
        }
        let made =
            Made { outputs: std::mem::take(&mut cx.outputs), buffers: std::mem::take(&mut cx.buffers) };
        self.budget.end_kernel();
        Ok((result, made))
    }

    /// Resumes an operator with graphs.
    fn control(
        &mut self,
        step: &Step<'m>,
        state: Box<dyn Control>,
        inputs: SmallVec<[Option<Value>; 4]>,
        next: Next,
        outputs: Made,
    ) -> Outcome {
        match next {
            Next::Done => self.finish(step, outputs),
            Next::Enter { graph, inputs: values } => {
                let Some(entered) = self.graph_of(step, graph) else {
                    let name = self.model.str(graph);
                    return Err(Stop::unsupported(format_args!(
                        "attribute `{name}` holds no graph of the node"
                    )));
                };
                self.budget.work(step.steps)?;
                self.enter(entered, values.into_iter().map(Some).collect(), Then::Control(state, inputs))
            }
        }
    }

    /// The plan of the graph in an attribute, and the frame in which it runs. The graph that a reference names belongs to the
    /// node that calls the function, and uses the values around it.
    fn graph_of(&self, step: &Step<'m>, attribute: Symbol) -> Option<(usize, usize)> {
        if let Some(&(_, index)) = step.graphs.iter().find(|(name, _)| *name == attribute) {
            return Some((index, self.frame()));
        }
        let AttrValue::Ref(target) = step.node.attribute(attribute)?.value() else { return None };
        let frame = self.frames.get(self.frame())?;
        let argument = frame.arguments.iter().position(|argument| argument.name() == *target)?;
        let graph = frame.arguments.get(argument)?.as_graph()?;
        Some((self.plan.index(graph)?, frame.homes.get(argument).copied()?))
    }

    /// Stores the outputs of a node and frees what is not used after it.
    fn finish(&mut self, step: &Step<'m>, Made { mut outputs, mut buffers }: Made) -> Outcome {
        outputs.resize(outputs.len().max(step.outputs.len()), None);
        if self.options.precision == Precision::Double {
            for output in &mut outputs {
                *output = output.take().map(|value| self.in_force(value)).transpose()?;
            }
        }
        let reused = self.budget.take_reused();
        if let Some(observer) = self.options.observer {
            let made = outputs.iter().flatten().map(Value::resident_bytes).fold(0, u64::saturating_add);
            let live_bytes = self.budget.live().saturating_add(made).saturating_sub(reused);
            observer.end(&NodeRun { node: step.id, depth: self.active.len(), outputs: &outputs, live_bytes });
        }
        // Operands that a kernel has overwritten are not counted twice.
        self.free(&step.frees);
        buffers.resize(outputs.len(), None);
        for (index, (&slot, (value, buffer))) in
            step.outputs.iter().zip(outputs.into_iter().zip(buffers)).enumerate()
        {
            match (slot, value) {
                (Some(slot), Some(value)) => self.store(self.frame(), slot, (value, buffer), true)?,
                (Some(_), None) => {
                    return Err(Stop::unsupported(format_args!("output {index} is not computed")));
                }
                (None, _) => {}
            }
        }
        // Outputs that nothing uses.
        self.free(&step.frees);
        Ok(())
    }

    /// Ends the graph on top of the stack; returns its outputs if it was the first one.
    fn leave(&mut self, outputs: Vec<Option<Value>>) -> Result<Option<Vec<Option<Value>>>, Halt> {
        let Some(left) = self.active.pop() else { return Ok(Some(outputs)) };
        let plan = self.plan;
        if matches!(left.then, Then::Call) {
            self.pop_frame();
        }
        let below =
            self.active.last().and_then(|below| plan.graphs.get(below.graph)?.steps.get(below.at - 1));
        let Some(step) = below else { return Ok(Some(outputs)) };
        match left.then {
            Then::Return => Ok(Some(outputs)),
            Then::Call => {
                let done = self.finish(step, Made { outputs: outputs.into(), ..Made::default() });
                done.map_err(|stop| halt(Some(step.id), stop, String::new())).map(|()| None)
            }
            Then::Control(mut state, mut inputs) => {
                let mut defined = Vec::with_capacity(outputs.len());
                for (value, &(_, id)) in outputs.into_iter().zip(&plan.graphs[left.graph].outputs) {
                    let name = || self.model.str(self.model.value(id).name()).to_owned();
                    let undefined = || halt(Some(step.id), Stop::Undefined(name()), String::new());
                    defined.push(value.ok_or_else(undefined)?);
                }
                let run = self.kernel(step, &mut inputs, |cx| state.step(cx, Some(defined)));
                let (next, outputs) = run.map_err(|stop| halt(Some(step.id), stop, operands(&inputs)))?;
                let id = Some(step.id);
                let done = self.control(step, state, inputs, next, outputs);
                done.map_err(|stop| halt(id, stop, String::new())).map(|()| None)
            }
        }
    }

    fn pop_frame(&mut self) {
        if let Some(frame) = self.frames.pop() {
            let bytes = frame.slots.iter().flatten().map(|stored| stored.bytes).sum();
            self.budget.release(bytes);
        }
    }

    /// The attributes of a call: those that it gives, with references to the call around it resolved, and the defaults of
    /// the function for the others. With each, the frame in which its graphs run.
    fn arguments(&self, step: &Step<'m>, function: FunctionId) -> (Vec<Attribute>, Vec<usize>) {
        let here = self.frame();
        let outer = self.frames.get(here);
        let (mut arguments, mut homes): (Vec<Attribute>, Vec<usize>) = (Vec::new(), Vec::new());
        for attribute in step.node.attributes() {
            match attribute.value() {
                AttrValue::Ref(target) => {
                    let given = outer.into_iter().flat_map(|frame| frame.arguments.iter().zip(&frame.homes));
                    let mut given = given.filter(|(argument, _)| argument.name() == *target);
                    if let Some((given, &home)) = given.next() {
                        arguments.push(Attribute::new(attribute.name(), given.value().clone()));
                        homes.push(home);
                    }
                }
                _ => {
                    arguments.push(attribute.clone());
                    homes.push(here);
                }
            }
        }
        for default in &self.model.function(function).defaults {
            if !arguments.iter().any(|argument| argument.name() == default.name()) {
                arguments.push(default.clone());
                // The frame of the call, which is made next.
                homes.push(self.frames.len());
            }
        }
        (arguments, homes)
    }
}

fn failure(model: &Model, node: Option<NodeId>, stop: Stop, operands: &str) -> Failure {
    let locus = node.map_or_else(Locus::model, |node| Places::new(model).node(node));
    let is_stopped = matches!(stop, Stop::Interrupted(_));
    let stop = match (stop, node) {
        (Stop::Unsupported(reason), Some(node)) => {
            Stop::Unsupported(notes::unsupported(model, node, &reason))
        }
        (stop, _) => stop,
    };
    let failure = Failure::of_stop(stop, node, locus);
    let attributes = node.map(|node| notes::attributes(model, model.node(node))).unwrap_or_default();
    let given = [("inputs", operands), ("attributes", &attributes)].into_iter();
    let given = given.filter(|(_, given)| !is_stopped && !given.is_empty());
    given.fold(failure, |failure, (what, given)| failure.note(format!("the {what} are {given}")))
}
