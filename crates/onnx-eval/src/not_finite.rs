//! The origin of NaN and infinities in the outputs of a run.

mod infinities;

use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use foldhash::fast::RandomState;
use onnx_diag::Diagnostic;
use onnx_ir::{Def, Model, NodeId, Places, ValueId};
use onnx_schema::Registry;
use onnx_types::Interrupt;
use onnx_types::tensor::{DataSource, NoData, Payload, Tensor};

use crate::engine::Evaluator;
use crate::fault::{self, Failure};
use crate::observer::{NodeRun, Observer};
use crate::value::Value;
use infinities::Infinities;

/// Elements between two checks of the interrupt.
const CHECKED: usize = 1 << 16;

/// Finds the node where NaN in the outputs of a run come from, or infinities if no output has NaN: the first one in the order
/// of execution that computes such elements from operands without any. If an output has such elements, the model is run a
/// second time.
///
/// If the operands of the node that computes the first NaN have infinities, a label of the diagnostic names the node that
/// computed these from finite operands.
///
/// If weights are the origin of NaN, the diagnostic names the first of them that is used, and the node.
///
/// Returns `None` if no output has such elements, if those of the inputs are the origin, or infinities of weights: masks have
/// them.
///
/// ```
/// use onnx_eval::{EvalOptions, Evaluator, Value, first_not_finite};
/// use onnx_types::tensor::Tensor;
///
/// let text = r#"<ir_version: 10, opset_import: ["": 20]>
/// g (float[N] x) => (float[N] y) {
///    l = Log (x)
///    y = Neg (l)
/// }"#;
/// let model = onnx_text::parse_model(text, &onnx_text::ParseOptions::default())?;
/// let evaluator = Evaluator::new(&model, &EvalOptions::default())?;
/// let inputs = [Some(Value::from(Tensor::vector(&[1.0_f32, -1.0])))];
/// let outputs = evaluator.run_in_order(inputs.to_vec())?;
/// let found = first_not_finite(&evaluator, &inputs, &outputs)?.expect("the logarithm of -1 is NaN");
/// assert_eq!(found.message, "the node computes the first NaN: its operands have none");
/// assert!(found.locus.to_string().contains("Log"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// Returns a failure if the second run fails, for example because the interrupt ends it.
pub fn first_not_finite(
    evaluator: &Evaluator<'_>,
    inputs: &[Option<Value>],
    outputs: &[Value],
) -> Result<Option<Diagnostic>, Failure> {
    let interrupt = &evaluator.options().execution.interrupt;
    let has = |kind: Kind| outputs.iter().any(|value| kind.is_in(value, interrupt));
    let Some(kind) = [Kind::Nan, Kind::Infinity].into_iter().find(|&kind| has(kind)) else {
        return Ok(None);
    };
    let model = evaluator.model();
    let given = evaluator.inputs().iter().zip(inputs);
    let having = |kind: Kind| {
        let has =
            move |value: &Option<Value>| value.as_ref().is_some_and(|value| kind.is_in(value, interrupt));
        given.clone().filter(move |(_, value)| has(value)).map(|(&input, _)| input)
    };
    let infinities = match kind {
        Kind::Nan => Some(Infinities::new(having(Kind::Infinity))),
        Kind::Infinity => None,
    };
    let tracer = Tracer {
        model,
        kind,
        registry: evaluator.options().registry,
        data: evaluator.options().data,
        interrupt,
        state: Mutex::new(State { values: having(kind).collect(), first: None, weight: None, infinities }),
    };
    evaluator.run_observed(inputs.to_vec(), &tracer)?;
    let (first, weight) = {
        let state = tracer.state();
        (state.first, state.weight)
    };
    if let (None, Some((weight, node)), Kind::Nan) = (first, weight, kind) {
        let places = Places::new(model);
        let message = "the elements of the weight have NaN, and outputs have them from it";
        let found = Diagnostic::new(&fault::NOT_FINITE, places.definition(weight), message);
        let found = found.label(places.node(node), "first used here");
        return Ok(Some(found.help("`onnx weights show MODEL --at NAME` shows the elements; export the model again, or replace the weight")));
    }
    Ok(first.map(|(node, infinity)| {
        let message = match infinity {
            None => format!("the node computes the first {}: its operands have none", kind.name()),
            Some(_) => "the node computes the first NaN: its operands have infinities and no NaN".to_owned(),
        };
        let locus = Places::new(model).node(node);
        let found = Diagnostic::new(&fault::NOT_FINITE, locus, message).help(fault::help(&fault::NOT_FINITE));
        match infinity {
            None => found,
            Some(node) => found.label(
                Places::new(model).node(node),
                "the infinities are computed here, from finite operands",
            ),
        }
    }))
}

/// The elements that are looked for.
#[derive(Clone, Copy)]
enum Kind {
    Nan,
    Infinity,
}

impl Kind {
    const fn name(self) -> &'static str {
        match self {
            Self::Nan => "NaN",
            Self::Infinity => "infinity",
        }
    }

    /// Whether a value, or a value inside it, has such an element.
    fn is_in(self, value: &Value, interrupt: &Interrupt) -> bool {
        let mut open = vec![value];
        while let Some(value) = open.pop() {
            match value {
                Value::Tensor(tensor) if self.is_in_tensor(tensor, &NoData, interrupt) => return true,
                Value::Tensor(_) => {}
                Value::Sequence(items) => open.extend(items.iter()),
                Value::Optional(inner) => open.extend(inner.as_deref()),
                Value::Map(entries) => open.extend(entries.values()),
            }
        }
        false
    }

    /// Whether a tensor has such an element. If the interrupt ends the work, the answer has no effect: the run is stopped.
    fn is_in_tensor(self, tensor: &Tensor, data: &dyn DataSource, interrupt: &Interrupt) -> bool {
        if !tensor.elem().is_float() {
            return false;
        }
        let Ok(elements) = tensor.iter_f64(data) else { return false };
        // A repeated element is read once.
        let most = if matches!(tensor.payload(), Payload::Splat(_)) { 1 } else { usize::MAX };
        for (index, element) in elements.take(most).enumerate() {
            if index.is_multiple_of(CHECKED) && interrupt.check().is_err() {
                return false;
            }
            let is_wanted = match self {
                Self::Nan => element.is_nan(),
                Self::Infinity => element.is_infinite(),
            };
            if is_wanted {
                return true;
            }
        }
        false
    }
}

struct Tracer<'a> {
    model: &'a Model,
    kind: Kind,
    registry: &'a Registry,
    data: &'a dyn DataSource,
    interrupt: &'a Interrupt,
    state: Mutex<State>,
}

struct State {
    /// Values that have such elements.
    values: HashSet<ValueId, RandomState>,
    /// The node that computes the first ones, and the one that computed the infinities of its operands.
    first: Option<(NodeId, Option<NodeId>)>,
    /// The first weight with such elements, and the node that passes them on.
    weight: Option<(ValueId, NodeId)>,
    /// The origins of infinities, if NaN is looked for.
    infinities: Option<Infinities>,
}

impl Tracer<'_> {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether an operand may have such elements.
    fn may_have(&self, operand: ValueId, state: &State) -> bool {
        state.values.contains(&operand)
            || self.is_in_weight(self.kind, operand)
            // What a body receives is not observed: it can be any value that is known to have them.
            || self.is_formal(operand) && !state.values.is_empty()
    }

    fn is_in_weight(&self, kind: Kind, operand: ValueId) -> bool {
        let weight = self.model.value(operand).initializer().and_then(|constant| constant.dense());
        weight.is_some_and(|weight| kind.is_in_tensor(weight, self.data, self.interrupt))
    }

    fn is_formal(&self, operand: ValueId) -> bool {
        matches!(self.model.value(operand).def(), Def::Input { graph, .. } if graph != self.model.main_graph())
    }
}

impl Observer for Tracer<'_> {
    fn begin(&self, node: NodeId) {
        if let State { first: None, infinities: Some(infinities), .. } = &mut *self.state() {
            infinities.begin(node);
        }
    }

    fn end(&self, run: &NodeRun<'_>) {
        let mut guard = self.state();
        let state = &mut *guard;
        if state.first.is_some() {
            return;
        }
        let node = self.model.node(run.node);
        let mut is_origin = false;
        for (&output, value) in node.outputs().iter().zip(run.outputs) {
            let Some(output) = output else { continue };
            if value.as_ref().is_some_and(|value| self.kind.is_in(value, self.interrupt)) {
                is_origin = true;
                state.values.insert(output);
            } else {
                // An iteration of a loop can compute other elements than the one before.
                state.values.remove(&output);
            }
        }
        // Infinities in constants are usually intended: masks have them.
        let is_constant = node.inputs().flatten().next().is_none();
        let is_mask = is_constant && matches!(self.kind, Kind::Infinity);
        if is_origin && state.weight.is_none() {
            let mut operands = node.inputs().flatten();
            let weight = operands.find(|&operand| self.is_in_weight(self.kind, operand));
            state.weight = weight.map(|weight| (weight, run.node));
        }
        if is_origin && !is_mask && !node.inputs().flatten().any(|operand| self.may_have(operand, state)) {
            let infinity =
                state.infinities.as_ref().and_then(|known| known.origin_of_operands(self, run.node));
            state.first = Some((run.node, infinity));
        } else if let Some(infinities) = &mut state.infinities {
            infinities.end(self, run);
        }
    }
}
