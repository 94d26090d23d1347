//! The evaluator: a model that is planned once and runs any number of times.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use onnx_ir::{Model, NodeId, Places, ValueId};

use super::machine::Machine;
use super::notes;
use super::plan::{Action, Plan, Planner};
use crate::declared::difference;
use crate::fault::{self, Failure, FailureKind};
use crate::observer::Observer;
use crate::options::EvalOptions;
use crate::value::Value;

/// A model that is ready to run.
///
/// Planning takes time linear in the nodes. Runs do not change the evaluator, so several threads may run it at once.
pub struct Evaluator<'m> {
    model: &'m Model,
    options: EvalOptions<'m>,
    plan: Plan<'m>,
}

impl<'m> Evaluator<'m> {
    /// Plans the main graph of a model and everything that it calls.
    ///
    /// A node without a kernel is not an error here: it fails when it runs.
    ///
    /// # Errors
    ///
    /// Returns a failure if nodes need each other's results in a cycle, or if the interrupt ends the work on a large model.
    pub fn new(model: &'m Model, options: &EvalOptions<'m>) -> Result<Self, Failure> {
        let plan = Planner::new(model, options).main()?;
        Ok(Self { model, options: options.clone(), plan })
    }

    /// The model.
    #[must_use]
    pub const fn model(&self) -> &'m Model {
        self.model
    }

    /// The options.
    #[must_use]
    pub const fn options(&self) -> &EvalOptions<'m> {
        &self.options
    }

    /// The inputs of the main graph in order.
    #[must_use]
    pub fn inputs(&self) -> &'m [ValueId] {
        self.model.graph(self.model.main_graph()).inputs()
    }

    /// The nodes that no kernel computes, each with a message that says which operator that is, and why if there is a reason. They
    /// are nodes of the main graph, of nested graphs and of called functions; a run fails if it reaches one of them.
    pub fn without_kernel(&self) -> impl Iterator<Item = (NodeId, String)> + '_ {
        self.plan.graphs.iter().flat_map(|graph| &graph.steps).filter_map(|step| match &step.action {
            Action::Missing(reason) => Some((step.id, notes::unsupported(self.model, step.id, reason))),
            _ => None,
        })
    }

    /// Runs the model on values by the names of its inputs, and returns its outputs in order. An input with an initializer
    /// may be left out.
    ///
    /// # Errors
    ///
    /// Returns a failure if the values do not fit the inputs, a node fails, or a limit is exceeded.
    pub fn run(&self, inputs: &[(&str, Value)]) -> Result<Vec<Value>, Failure> {
        let ids = self.inputs();
        let mut values = vec![None; ids.len()];
        // Of several inputs of one name, the first one has it.
        let names = ids.iter().map(|&input| self.model.str(self.model.value(input).name()));
        let names: HashMap<&str, usize, RandomState> =
            names.enumerate().map(|(index, name)| (name, index)).rev().collect();
        for (name, value) in inputs {
            let index = names.get(name).copied();
            let Some(slot) = index.and_then(|index| values.get_mut(index)) else {
                let quoted = onnx_diag::Quoted(name);
                let message = format!("the model has no input {quoted}");
                let locus = Places::new(self.model).graph(self.model.main_graph());
                return Err(Failure::new(FailureKind::Input, &fault::INPUT_UNKNOWN, None, locus, message));
            };
            *slot = Some(value.clone());
        }
        self.run_in_order(values)
    }

    /// Runs the model on values in the order of its inputs, and returns its outputs in order. `None` leaves out an input
    /// with an initializer.
    ///
    /// # Errors
    ///
    /// See [`Evaluator::run`].
    pub fn run_in_order(&self, inputs: Vec<Option<Value>>) -> Result<Vec<Value>, Failure> {
        self.run_within(inputs, &self.options)
    }

    /// Like [`Evaluator::run_in_order`], with another observer than that of the options.
    ///
    /// # Errors
    ///
    /// See [`Evaluator::run`].
    pub fn run_observed(
        &self,
        inputs: Vec<Option<Value>>,
        observer: &dyn Observer,
    ) -> Result<Vec<Value>, Failure> {
        self.run_within(inputs, &self.options.clone().with_observer(observer))
    }

    /// Options that planning does not depend on may differ from those of the evaluator: observer, seed and limits.
    pub(crate) fn run_within(
        &self,
        mut inputs: Vec<Option<Value>>,
        options: &EvalOptions<'_>,
    ) -> Result<Vec<Value>, Failure> {
        let ids = self.inputs();
        inputs.resize(ids.len().max(inputs.len()), None);
        for (index, (&id, value)) in ids.iter().zip(&inputs).enumerate() {
            self.check_input(index, id, value.as_ref())?;
        }
        let data = options.data.restarted();
        let restarted = data.as_deref().map(|data| options.clone().with_data(data));
        let options = restarted.as_ref().unwrap_or(options);
        let outputs = Machine::new(self.model, options, &self.plan).run(inputs, Vec::new())?;
        let graph = self.model.main_graph();
        let defined = outputs.into_iter().enumerate().map(|(index, value)| {
            value.ok_or_else(|| {
                let locus = Places::new(self.model).graph_output(graph, index);
                let message = "nothing has computed the output";
                Failure::new(FailureKind::Model, &fault::VALUE_UNDEFINED, None, locus, message)
            })
        });
        defined.collect()
    }

    fn check_input(&self, index: usize, id: ValueId, value: Option<&Value>) -> Result<(), Failure> {
        let record = self.model.value(id);
        let fail = |rule, message: String| {
            let locus = Places::new(self.model).graph_input(self.model.main_graph(), index);
            Failure::new(FailureKind::Input, rule, None, locus, message)
        };
        let name = onnx_diag::Quoted(self.model.str(record.name()));
        match value {
            None if record.initializer().is_some() => Ok(()),
            None => Err(fail(&fault::INPUT_MISSING, format!("input {name} has no value"))),
            Some(value) => {
                let declared = record.ty();
                let differs = || difference(declared?, value, self.options.precision, "given");
                match value.fault().map(|fault| fault.to_string()).or_else(differs) {
                    Some(problem) => Err(fail(&fault::INPUT_DIFFERS, format!("input {name}: {problem}"))),
                    None => Ok(()),
                }
            }
        }
    }
}

/// Runs one node on values for its inputs, in the order of the node, and returns its outputs: for constant folding and
/// tests. Nested graphs see the initializers around the node, and nothing else from outside.
///
/// # Errors
///
/// Returns a failure if the node fails or a limit is exceeded.
///
/// # Panics
///
/// Panics if the node is not of this model or was erased.
pub fn run_node(
    model: &Model,
    node: NodeId,
    inputs: &[Option<Value>],
    options: &EvalOptions<'_>,
) -> Result<Vec<Option<Value>>, Failure> {
    NodeEvaluator::new(model, node, options)?.run(inputs, options)
}

/// A node that is planned once and runs any number of times, as [`run_node`] runs it.
pub struct NodeEvaluator<'m> {
    model: &'m Model,
    node: NodeId,
    plan: Plan<'m>,
}

impl<'m> NodeEvaluator<'m> {
    /// Plans a node and everything that it calls.
    ///
    /// # Errors
    ///
    /// Returns a failure if nodes need each other's results in a cycle.
    ///
    /// # Panics
    ///
    /// See [`run_node`].
    pub fn new(model: &'m Model, node: NodeId, options: &EvalOptions<'m>) -> Result<Self, Failure> {
        let plan = Planner::new(model, options).node(node)?;
        Ok(Self { model, node, plan })
    }

    /// Runs the node on values for its inputs, in the order of the node, and returns its outputs. Observer, seed and limits may be
    /// others than when it was planned.
    ///
    /// # Errors
    ///
    /// See [`run_node`].
    pub fn run(
        &self,
        inputs: &[Option<Value>],
        options: &EvalOptions<'_>,
    ) -> Result<Vec<Option<Value>>, Failure> {
        let record = self.model.node(self.node);
        // The inputs of the plan are those that the node does not omit.
        let given = record.inputs().enumerate().filter(|(_, value)| value.is_some());
        let values = given.map(|(index, _)| inputs.get(index).cloned().flatten()).collect();
        let mut outputs = Machine::new(self.model, options, &self.plan).run(values, Vec::new())?.into_iter();
        Ok(record.outputs().iter().map(|output| output.and_then(|_| outputs.next().flatten())).collect())
    }
}

impl std::fmt::Debug for NodeEvaluator<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NodeEvaluator").field("node", &self.node).finish_non_exhaustive()
    }
}
