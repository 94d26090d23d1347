//! Whether the rows of a freed size are independent, by runs: what the new model computes for several rows is what the old one
//! computes for each of them.

use std::cell::RefCell;
use std::collections::HashMap;

use foldhash::fast::RandomState;
use onnx_eval::compare::{Tolerances, compare_values};
use onnx_eval::generate::Generator;
use onnx_eval::{EvalOptions, Evaluator, FailureKind, Value};
use onnx_ir::{Model, ValueId};
use onnx_shape_infer::Inference;
use onnx_types::tensor::{NoData, Tensor};
use onnx_types::{Dim, ElemClass, Limits, Symbol};
use slotmap::SecondaryMap;

use super::EditOptions;
use crate::interface::name;

/// Number of runs of the old model.
const RUNS: u64 = 3;

/// Multiples of the old size for which the new model runs.
const MULTIPLES: [usize; 2] = [2, 3];

/// Sizes of the other variables of the inputs, one list for each attempt: by the number of the variable, the last one for all
/// that follow.
const OTHERS: [&[i64]; 6] = [&[2, 3, 4, 5], &[4], LEAST, &[16], &[128], &[1024]];

/// The least sizes of the other variables.
const LEAST: &[i64] = &[1];

/// Elements of the weights up to which a model is run: a run reads all of them.
const MAX_WEIGHTS: u64 = 1 << 26;

/// What an output lacks.
const NO_RESULTS: &str = "does not have a result for each row";

/// The result of comparing rows by runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Rows {
    Independent,
    /// An output for several rows is not that for each row.
    Dependent(String),
    /// An output that may depend on the rows is that of each row, as often as there are rows.
    Without(String),
    /// The new model does not run with several rows.
    Failing(String),
    /// The reason why the rows were not compared.
    Unknown(String),
}

/// A model before and after axes of its inputs were freed.
pub(super) struct Law<'a> {
    pub(super) old: &'a Model,
    pub(super) new: &'a Model,
    /// The results for the old model.
    pub(super) before: &'a Inference,
    pub(super) axes: &'a [(ValueId, usize)],
    pub(super) old_size: i64,
    /// The outputs that may depend on the freed size.
    pub(super) outputs: &'a [ValueId],
    pub(super) options: &'a EditOptions<'a>,
}

/// The reason why the rows are not compared.
struct Unknown(String);

impl Law<'_> {
    pub(super) fn check(&self) -> Rows {
        self.examine().unwrap_or_else(|Unknown(reason)| Rows::Unknown(reason))
    }

    fn examine(&self) -> Result<Rows, Unknown> {
        self.refuse_unfit()?;
        let run = self.run_options();
        let old = Evaluator::new(self.old, &run).map_err(|failure| Unknown(failure.to_string()))?;
        let (inputs, outputs) = self.rows(&old)?;
        let new = match Evaluator::new(self.new, &run) {
            Ok(new) => new,
            Err(failure) if failure.kind() == FailureKind::Stopped => {
                return Err(Unknown(failure.to_string()));
            }
            Err(failure) => return Ok(Rows::Failing(format!("does not run: {failure}"))),
        };
        let mut without = None;
        for multiple in MULTIPLES {
            let (inputs, outputs) = (inputs.get(..multiple), outputs.get(..multiple));
            let (Some(inputs), Some(outputs)) = (inputs, outputs) else { break };
            let size = self.old_size.saturating_mul(i64::try_from(multiple).unwrap_or(1));
            let found = match new.run_in_order(self.joined(inputs)?) {
                Ok(found) => found,
                Err(failure) if failure.kind() == FailureKind::Operator => {
                    return Ok(Rows::Failing(format!("does not run for the size {size}: {failure}")));
                }
                Err(failure) => return Err(Unknown(failure.to_string())),
            };
            if let Some(difference) = self.difference(outputs, &found) {
                return Ok(Rows::Dependent(format!("for the size {size}, {difference}")));
            }
            let lacking = self.lacking(outputs, &found);
            without = without.or(lacking.map(|lacking| format!("for the size {size}, {lacking}")));
        }
        Ok(without.map_or(Rows::Independent, Rows::Without))
    }

    /// Models that are not run.
    fn refuse_unfit(&self) -> Result<(), Unknown> {
        let mut elements = 0_u64;
        for graph in self.old.all_graphs() {
            for tensor in self.old.initializers(graph).filter_map(|value| self.old.constant_tensor(value)) {
                elements = elements.saturating_add(tensor.element_count().unwrap_or(u64::MAX));
            }
            let mut nodes = self.old.nodes(graph);
            if let Some(node) = nodes.find(|&node| !self.old.is_deterministic(node, self.options.registry)) {
                let op = self.old.str(self.old.node(node).op());
                return Err(Unknown(format!("`{op}` is not known to be deterministic")));
            }
        }
        if elements > MAX_WEIGHTS {
            return Err(Unknown("the model is large".to_owned()));
        }
        Ok(())
    }

    fn run_options(&self) -> EvalOptions<'_> {
        let limits = self.options.execution.limits;
        // The limit of steps is 64 times that of a proof, because a whole model runs.
        let limits =
            Limits { run_steps: limits.run_steps.min(limits.proof_steps.saturating_mul(64)), ..limits };
        EvalOptions::default()
            .with_registry(self.options.registry)
            .with_data(self.options.data)
            .with_execution(self.options.execution.clone().with_limits(limits))
    }

    /// Inputs and outputs of the runs of the old model. Inputs without a freed axis are the same in all of them.
    #[allow(clippy::type_complexity, reason = "two lists of runs")]
    fn rows(&self, old: &Evaluator<'_>) -> Result<(Vec<Vec<Option<Value>>>, Vec<Vec<Value>>), Unknown> {
        let mut reason = Unknown("the model does not run".to_owned());
        let mut is_limited = false;
        for others in OTHERS {
            if is_limited && others != LEAST {
                continue;
            }
            let mut runs = (Vec::new(), Vec::new());
            for run in 0..RUNS {
                let inputs = self.inputs(run, others)?;
                match old.run_in_order(inputs.clone()) {
                    Ok(outputs) if outputs.iter().any(says_nothing) => {
                        reason = Unknown("an output is empty, or nothing of it is finite".to_owned());
                        break;
                    }
                    Ok(outputs) => {
                        runs.0.push(inputs);
                        runs.1.push(outputs);
                    }
                    Err(failure) => {
                        // After a limit, only less work helps.
                        is_limited |= failure.kind() != FailureKind::Operator;
                        reason = Unknown(format!("the model does not run: {failure}"));
                        break;
                    }
                }
            }
            if runs.1.len() as u64 == RUNS {
                return Ok(runs);
            }
        }
        Err(reason)
    }

    /// Values for the inputs of the old model.
    fn inputs(&self, run: u64, others: &[i64]) -> Result<Vec<Option<Value>>, Unknown> {
        let known: RefCell<HashMap<Symbol, usize, RandomState>> = RefCell::default();
        let of = |symbol: Symbol| {
            let mut known = known.borrow_mut();
            let next = known.len();
            let number = *known.entry(symbol).or_insert(next);
            others.get(number).or(others.last()).copied()
        };
        let sizes = |value: ValueId| {
            let dims = self.before.shape(value)?;
            let size = |&dim: &Dim| self.before.exprs().eval(dim, &of);
            Some(dims.iter().map(size).collect())
        };
        let seed = self.options.execution.seed;
        let generators = [0, run].map(|run| Generator::new(self.old, seed.wrapping_add(run), &sizes));
        let inputs = self.old.graph(self.old.main_graph()).inputs();
        let freed = self.axes_of_inputs();
        let value = |&input: &ValueId| {
            if self.old.value(input).initializer().is_some() {
                return Ok(None);
            }
            let generator = &generators[usize::from(freed.contains_key(input))];
            let value = generator.value(input, &self.options.execution.limits);
            value.map(Some).map_err(|error| Unknown(error.to_string()))
        };
        inputs.iter().map(value).collect()
    }

    /// The freed axes of each input that has some.
    fn axes_of_inputs(&self) -> SecondaryMap<ValueId, Vec<usize>> {
        let mut found: SecondaryMap<ValueId, Vec<usize>> = SecondaryMap::new();
        for &(input, axis) in self.axes {
            match found.get_mut(input) {
                Some(axes) => axes.push(axis),
                None => {
                    found.insert(input, vec![axis]);
                }
            }
        }
        found
    }

    /// The inputs of several runs as those of one.
    fn joined(&self, runs: &[Vec<Option<Value>>]) -> Result<Vec<Option<Value>>, Unknown> {
        let Some(first) = runs.first() else { return Ok(Vec::new()) };
        let inputs = self.old.graph(self.old.main_graph()).inputs();
        let freed = self.axes_of_inputs();
        let join = |(index, (&input, value)): (usize, (&ValueId, &Option<Value>))| {
            let axes = freed.get(input).filter(|_| value.is_some());
            let Some((&axis, others)) = axes.and_then(|axes| axes.split_first()) else {
                return Ok(value.clone());
            };
            if !others.is_empty() {
                return Err(Unknown(format!("`{}` has the size twice", name(self.old, input))));
            }
            let values = runs.iter().map(|run| run.get(index)?.as_ref());
            let joined = values.collect::<Option<Vec<_>>>().and_then(|values| concat(&values, axis));
            joined.map(Some).ok_or_else(|| Unknown(format!("`{}` is not a tensor", name(self.old, input))))
        };
        inputs.iter().zip(first).enumerate().map(join).collect()
    }

    /// The output that may depend on the rows and has as many elements for several rows as for one, which it is equal to.
    fn lacking(&self, rows: &[Vec<Value>], found: &[Value]) -> Option<String> {
        let outputs = self.new.graph(self.new.main_graph()).outputs().iter().map(onnx_ir::GraphOutput::value);
        let first = rows.first()?.iter().zip(found);
        let is_without = |(one, all): (&Value, &Value)| {
            one.tensor().zip(all.tensor()).is_some_and(|(one, all)| one.dims() == all.dims())
        };
        let mut without =
            outputs.zip(first).filter(|(value, pair)| self.outputs.contains(value) && is_without(*pair));
        let (value, _) = without.next()?;
        Some(format!("the output `{}` {NO_RESULTS}", name(self.new, value)))
    }

    /// How outputs for several rows differ from those for each row.
    fn difference(&self, rows: &[Vec<Value>], found: &[Value]) -> Option<String> {
        let outputs = self.new.graph(self.new.main_graph()).outputs();
        outputs.iter().zip(found).enumerate().find_map(|(index, (output, found))| {
            let rows: Option<Vec<&Value>> = rows.iter().map(|outputs| outputs.get(index)).collect();
            let difference = of_output(&rows?, found)?;
            Some(format!("the output `{}` {difference}", name(self.new, output.value())))
        })
    }
}

/// Whether a result would be equal whatever the model computes: an average over no elements, for example.
fn says_nothing(value: &Value) -> bool {
    let Some(tensor) = value.tensor() else { return false };
    match tensor.elem().class() {
        ElemClass::Float => tensor.iter_f64(&NoData).is_ok_and(|mut numbers| !numbers.any(f64::is_finite)),
        _ => tensor.element_count() == Some(0),
    }
}

/// How an output for several rows differs from that for each row; `None` if it does not, or is not a tensor.
fn of_output(rows: &[&Value], found: &Value) -> Option<String> {
    let first = rows.first()?.tensor()?;
    let new = found.tensor()?;
    let (old_dims, new_dims) = (first.dims(), new.dims());
    let grown: Vec<usize> =
        (0..old_dims.len()).filter(|&axis| old_dims.get(axis) != new_dims.get(axis)).collect();
    if old_dims.len() != new_dims.len() {
        return Some("has another rank".to_owned());
    }
    let tolerances = Tolerances::default();
    match grown[..] {
        [] => {
            let differs = |row: &&Value| !compare_values(row, found, &tolerances).agrees();
            rows.iter().any(differs).then(|| NO_RESULTS.to_owned())
        }
        [axis] => {
            // The sizes of other axes of a row can depend on its elements.
            let expected = concat(rows, axis)?;
            let difference = compare_values(&expected, found, &tolerances);
            (!difference.agrees()).then(|| match (difference.mismatch, difference.first) {
                (None, Some(first)) => {
                    let index: Vec<String> = first.index.iter().map(ToString::to_string).collect();
                    let (index, single, together) = (index.join(","), first.a, first.b);
                    format!("is {together} at [{index}], and {single} if the rows run one after the other")
                }
                (mismatch, _) => {
                    format!("is not that of the rows one after the other: {}", mismatch.unwrap_or_default())
                }
            })
        }
        _ => Some("grows along several axes".to_owned()),
    }
}

/// Tensors one after the other along an axis; `None` for other values, and elements that are narrower than a byte.
fn concat(values: &[&Value], axis: usize) -> Option<Value> {
    let tensors: Vec<&Tensor> =
        values.iter().map(|value| value.tensor().map(|tensor| &**tensor)).collect::<Option<_>>()?;
    let first = tensors.first()?;
    let width = usize::try_from(first.elem().bits()?).ok()? / 8;
    let mut dims = first.dims().to_vec();
    let product =
        |dims: &[i64]| dims.iter().try_fold(1_usize, |all, &dim| all.checked_mul(dim.try_into().ok()?));
    let outer = product(dims.get(..axis)?)?;
    let mut parts = Vec::new();
    let mut size = 0_i64;
    for tensor in &tensors {
        let is_like_first = tensor.elem() == first.elem()
            && tensor.dims().len() == dims.len()
            && tensor.dims().iter().zip(&dims).enumerate().all(|(at, (a, b))| at == axis || a == b);
        if !is_like_first || width == 0 {
            return None;
        }
        size = size.checked_add(*tensor.dims().get(axis)?)?;
        let inner = product(tensor.dims().get(axis..)?)?.checked_mul(width)?;
        parts.push((tensor.bytes(&NoData).ok()?, inner));
    }
    let mut bytes = Vec::new();
    for block in 0..outer {
        for (part, inner) in &parts {
            let start = block.checked_mul(*inner)?;
            bytes.extend_from_slice(part.get(start..start.checked_add(*inner)?)?);
        }
    }
    *dims.get_mut(axis)? = size;
    Tensor::from_raw(first.elem(), dims, bytes).ok().map(Value::from)
}
