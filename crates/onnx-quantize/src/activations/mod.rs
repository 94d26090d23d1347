//! Static quantization: pairs of `QuantizeLinear` and `DequantizeLinear` around what computes with quantized numbers.

mod apply;
mod biases;
mod calibrate;
mod calibrated;
mod constants;
mod correct;
mod fusible;
mod groups;
mod histogram;
mod joined;
mod losses;
mod parameters;
mod plan;
mod ranges;

use std::borrow::Cow;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt;

use foldhash::fast::RandomState;
use onnx_compose::{Quantization, Scales};
use onnx_eval::EvalOptions;
use onnx_ir::{Model, Node, NodeId, ValueId};
use onnx_schema::Registry;
use onnx_types::tensor::{DataSource, NoData};
use onnx_types::{ElemType, Execution, Stopped, Watch};

pub use self::apply::activation_in_range;
use self::apply::{Applied, apply};
use self::biases::Biases;
use self::calibrate::Runs;
pub use self::calibrate::{CalibrateError, calibrate};
pub use self::calibrated::{Calibrated, CalibratedError, Calibration, quantize_calibrated};
use self::constants::fold_biases;
pub(crate) use self::constants::fold_weights;
pub use self::correct::Correction;
pub(crate) use self::fusible::{RuntimeView, moves_elements};
use self::joined::join_biases;
pub use self::losses::{QuantizedValue, losses};
use self::parameters::Parameters;
pub use self::plan::StayReason;
use self::plan::{Candidates, Plan};
pub(crate) use self::plan::{bounds, is_dequantized};
pub use self::ranges::{Ranges, RangesError};
use crate::budget::{Trial, choose};
use crate::edits::{count, evaluation, write_types};
use crate::measure::{MeasureOptions, MeasuredOutput, measure_each};
use crate::samples::Samples;
use crate::weights::{
    Format, Granularity, QuantizeError, QuantizedWeight, Reading, dense_constant, ends, require_version,
    weight_operand,
};

/// How the range of a value follows from the numbers that it had.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
#[non_exhaustive]
pub enum Method {
    /// All numbers are in the range.
    #[default]
    MinMax,
    /// This part of the numbers, in percent.
    Percentile(f64),
    /// The range with the least divergence between the distributions before and after.
    Entropy,
    /// The range with the least expected square of the error.
    Mse,
}

/// Settings of [`quantize_static`] and [`calibrate`].
#[derive(Clone)]
#[non_exhaustive]
pub struct StaticOptions<'a> {
    /// The operators that are quantized, and how.
    pub table: &'a Quantization,
    /// The type of the weights. Default: signed, with as many bits as the activations; of floats, the same.
    pub weights: Option<ElemType>,
    /// Whether each output channel of a weight has a scale.
    pub per_channel: bool,
    /// Whether zero is in the middle of the range of activations.
    pub symmetric: bool,
    /// Whether results of `MatMul` and `Gemm` are quantized even if no quantized operator takes them, which
    /// [`use_operators`](crate::use_operators) needs.
    pub quantized_results: bool,
    /// Inputs on which biases are corrected: what rounding of the weights adds to the mean of each output channel is subtracted, if the
    /// outputs of the model are closer to those before then. Default: none, and biases stay.
    pub correction: Option<&'a dyn Samples>,
    /// Nodes that stay. Default: none.
    pub except: &'a [NodeId],
    /// The operators that are known. By default those of ONNX.
    pub registry: &'a Registry,
    /// Source of external weights. By default there is none.
    pub data: &'a dyn DataSource,
    /// Limits, and what ends the work early.
    pub execution: Execution,
    /// The greatest number of threads that compute a node at one time. Default: 1.
    pub threads: usize,
}

impl<'a> StaticOptions<'a> {
    /// The settings for a table.
    #[must_use]
    pub const fn new(table: &'a Quantization) -> Self {
        Self {
            table,
            weights: None,
            per_channel: false,
            symmetric: false,
            quantized_results: false,
            correction: None,
            except: &[],
            registry: Registry::STANDARD,
            data: &NoData,
            execution: Execution::DEFAULT,
            threads: 1,
        }
    }

    pub(crate) const fn is_symmetric(&self) -> bool {
        self.symmetric || self.table.symmetric
    }

    pub(crate) const fn reading(&self) -> Reading<'_> {
        Reading { data: self.data, interrupt: &self.execution.interrupt }
    }

    fn evaluation(&self) -> EvalOptions<'_> {
        evaluation(self.registry, self.data, &self.execution)
    }

    /// The model with initializers in the place of weights that nodes compute.
    fn fold_weights<'m>(&self, model: &'m Model) -> Result<Cow<'m, Model>, QuantizeError> {
        let is_taken = |record: &Node| self.table.operator(model.str(record.op())).is_some();
        fold_weights(model, self.except, &self.evaluation(), is_taken, |_| false)
    }
}

onnx_types::option_setters! {
    StaticOptions<'a> {
        with_weights => weights: Option<ElemType>,
        with_per_channel => per_channel: bool,
        with_symmetric => symmetric: bool,
        with_quantized_results => quantized_results: bool,
        with_correction => correction: Option<&'a dyn Samples>,
        with_except => except: &'a [NodeId],
        with_registry => registry: &'a Registry,
        with_data => data: &'a dyn DataSource,
        with_execution => execution: into Execution,
        with_threads => threads: usize,
    }
}

impl fmt::Debug for StaticOptions<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StaticOptions")
            .field("weights", &self.weights)
            .field("per_channel", &self.per_channel)
            .field("symmetric", &self.symmetric)
            .finish_non_exhaustive()
    }
}

/// What a static quantization did.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct StaticReport {
    /// Number of nodes that compute with quantized operands, by operator, in the order of the first one.
    pub quantized: Vec<(String, usize)>,
    /// The nodes of operators of the table that stay: operator, name of the first output, and reason.
    pub stay: Vec<(String, String, StayReason)>,
    /// Number of activations that are part of a range now.
    pub folded: usize,
    /// Number of values with a pair of `QuantizeLinear` and `DequantizeLinear`.
    pub pairs: usize,
    /// The weights.
    pub weights: Vec<QuantizedWeight>,
    /// Number of biases that are `int32`.
    pub biases: usize,
    /// The scale and the zero point of each quantized value, by its name.
    pub parameters: Vec<(String, f32, f32)>,
    /// How far the outputs are apart, if there is a budget.
    pub outputs: Vec<MeasuredOutput>,
    /// What the correction of biases did, if it was requested and there is one to correct.
    pub correction: Option<Correction>,
    /// Number of runs of the quantized model that it took to meet the budget.
    pub runs: usize,
}

/// A quality that the outputs need, and the inputs on which it is measured.
#[derive(Clone, Copy)]
pub struct Budget<'a> {
    /// The least ratio of signal to noise of each output, in decibels.
    pub snr: f64,
    /// The inputs.
    pub samples: &'a dyn Samples,
}

impl fmt::Debug for Budget<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Budget").field("snr", &self.snr).finish_non_exhaustive()
    }
}

/// Quantizes what the operators of a table compute with: operands, and results that others take, get a pair of `QuantizeLinear` and
/// `DequantizeLinear` with a scale for their range, weights become quantized numbers, and biases `int32` with the product of the scales.
/// `Relu` and `Clip` behind an operator become part of its range, and a `MatMul` of matrices with a bias behind it becomes `Gemm`. Inputs and
/// outputs of the model keep their types. The model is unchanged after an error.
///
/// ```
/// use onnx_compose::Quantization;
/// use onnx_quantize::{GeneratedSamples, MeasureOptions, Method, StaticOptions, calibrate, quantize_static};
/// use onnx_text::{ParseOptions, parse_model};
/// use onnx_types::ElemType;
///
/// let text = r#"<ir_version: 10, opset_import: ["": 21]>
/// g (float[N,4] x) => (float[N,4] z) <float[4,4] w = {0.1, 0.7, -0.3, 0.2, 0.5, -0.1, 0.4, 0.9, 1, -0.2, 0.6, 0.3, 0.8, 0.1, 0.2, 0.4}> {
///    product = MatMul (x, w)
///    y = Relu (product)
///    z = MatMul (y, w)
/// }"#;
/// let mut model = parse_model(text, &ParseOptions::default())?;
/// let table = Quantization::named("onnxruntime").unwrap();
/// let (options, settings) = (StaticOptions::new(&table), MeasureOptions::default());
/// let samples = GeneratedSamples::new(&model, 8, &settings);
/// let ranges = calibrate(&model, ElemType::Uint8, Method::MinMax, &samples, &options)?;
/// let report = quantize_static(&mut model, ElemType::Uint8, &ranges, None, &options)?;
/// assert_eq!((report.quantized, report.pairs, report.folded), (vec![("MatMul".to_owned(), 2)], 2, 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// Returns an error if the target or the version that the model imports cannot express the types, no value has a range, a weight cannot be
/// read, or a budget is given and the model does not run.
pub fn quantize_static(
    model: &mut Model,
    to: ElemType,
    ranges: &Ranges,
    budget: Option<Budget<'_>>,
    options: &StaticOptions<'_>,
) -> Result<StaticReport, QuantizeError> {
    Ok(quantize_with_runs(model, (to, ranges), budget, options, &Runs::default())?.0)
}

/// Like [`quantize_static`], after runs of the model on the samples of the correction. Returns how far the outputs are apart as well, if
/// that was measured.
pub(crate) fn quantize_with_runs(
    model: &mut Model,
    (to, ranges): (ElemType, &Ranges),
    budget: Option<Budget<'_>>,
    options: &StaticOptions<'_>,
    known: &Runs,
) -> Result<(StaticReport, Option<Vec<MeasuredOutput>>), QuantizeError> {
    let weighted = options.fold_weights(model)?;
    let folded = fold_biases(&weighted, options)?;
    let source = join_biases(&folded, options)?;
    let work = Work::new(&source, to, ranges, options)?;
    let (mut result, mut report, stay) = match budget {
        None => {
            let (result, report) = work.attempt(&source, &work.stay)?;
            (result, report, work.stay.clone())
        }
        Some(budget) => work.within(&source, budget, known)?,
    };
    let measured = match options.correction.filter(|samples| samples.count() > 0) {
        Some(samples) => work.correct(&source, samples, known, (&mut result, &mut report, &stay))?,
        None => None,
    };
    write_types(&mut result, options.registry, options.data, &options.execution)?;
    if fusible::write(&mut result, &source, options.table.bias, (&mut report, &options.execution.interrupt))?
    {
        write_types(&mut result, options.registry, options.data, &options.execution)?;
    }
    drop(source);
    drop(folded);
    drop(weighted);
    options.execution.interrupt.check()?;
    *model = result;
    report.stay.sort_by(|a, b| (&a.0, a.2).cmp(&(&b.0, b.2)));
    Ok((report, measured))
}

/// Nodes and values between two checks of the interrupt.
const WATCHED_NODES: u64 = 256;

/// Nodes that stay wide, with the reason.
type Stay = HashMap<NodeId, StayReason, RandomState>;

/// A quantization that has been checked.
struct Work<'a> {
    to: Format,
    weights: Format,
    ranges: &'a Ranges,
    options: &'a StaticOptions<'a>,
    candidates: Candidates,
    stay: Stay,
}

impl<'a> Work<'a> {
    fn new(
        model: &Model,
        to: ElemType,
        ranges: &'a Ranges,
        options: &'a StaticOptions<'a>,
    ) -> Result<Self, QuantizeError> {
        let format = Format::of(to).filter(|format| format.elem.bits() >= Some(8));
        let to = format.ok_or(QuantizeError::Type(to))?;
        let default = match to.elem.bits() {
            _ if to.is_float() => to.elem,
            Some(16) => ElemType::Int16,
            _ => ElemType::Int8,
        };
        let weights = options.weights.unwrap_or(default);
        let weights = Format::of(weights).ok_or(QuantizeError::Type(weights))?;
        let table = options.table;
        for (what, elem, list) in
            [("activations", to.elem, &table.activations), ("weights", weights.elem, &table.weights)]
        {
            if !list.contains(&elem) {
                return Err(QuantizeError::Target { what, elem, taken: list.clone() });
            }
        }
        let main = model.main_graph();
        let granularity = if options.per_channel { Granularity::Channel } else { Granularity::Tensor };
        require_version(model, main, to.elem, Granularity::Tensor)?;
        require_version(model, main, weights.elem, granularity)?;
        let candidates = Candidates::find(model, table, options)?;
        let mut stay = Stay::default();
        // A bias may be an initializer now in the place of nodes that were excepted.
        let excepted = options.except.iter().copied();
        for node in excepted.filter(|&node| model.get_node(node).is_some()) {
            stay.insert(node, StayReason::Selection);
            for graph in model.node(node).nested_graphs() {
                model.nodes_in(graph).for_each(|node| _ = stay.insert(node, StayReason::Selection));
            }
        }
        let mut work = Self { to, weights, ranges, options, candidates, stay };
        if work.ranges.iter().len() == 0 && !work.candidates.all.is_empty() {
            return Err(QuantizeError::NoRanges);
        }
        work.keep_without_scale(model)?;
        work.keep_unusable(model)?;
        Ok(work)
    }

    /// Keeps nodes with a constant operand that has no scale: the other operand of a product would be quantized for nothing.
    fn keep_without_scale(&mut self, model: &Model) -> Result<(), QuantizeError> {
        let mut known: HashMap<ValueId, (f32, f32), RandomState> = HashMap::default();
        for candidate in &self.candidates.all {
            if self.stay.contains_key(&candidate.node) {
                continue;
            }
            let record = model.node(candidate.node);
            for &index in &candidate.operands {
                let Some(value) = record.input(index) else { continue };
                let Some(tensor) = dense_constant(model, value) else { continue };
                let range = match known.entry(value) {
                    Entry::Occupied(known) => *known.get(),
                    Entry::Vacant(unknown) => {
                        let found = ends(tensor, self.options.reading());
                        let name = model.str(model.value(value).name());
                        *unknown.insert(found.map_err(|error| error.of(name))?)
                    }
                };
                let is_weight = index == 1 && weight_operand(record, index, tensor.rank()).is_some();
                let format = if is_weight { &self.weights } else { &self.to };
                if !(range.0.is_finite() && range.1.is_finite()) {
                    self.stay.insert(candidate.node, StayReason::NotFinite);
                } else if !format.has_scale(range, self.options.is_symmetric() || format.is_signed()) {
                    self.stay.insert(candidate.node, StayReason::TooSmall);
                }
            }
        }
        Ok(())
    }

    /// Keeps nodes with a value that has no range, with an operand that would vanish, or with a bias that has no form, until none is left.
    fn keep_unusable(&mut self, model: &Model) -> Result<(), QuantizeError> {
        loop {
            let (plan, parameters) = self.plan(model, &self.stay)?;
            let biases = Biases { plan: &plan, parameters: &parameters, options: self.options };
            let mut bad = biases.unusable(model)?;
            bad.extend(parameters.unusable(model, &plan, &self.to, &self.options.execution.interrupt)?);
            if bad.is_empty() {
                return Ok(());
            }
            self.stay.extend(bad);
        }
    }

    /// What is quantized if some nodes stay, and its scales and zero points.
    fn plan(&self, model: &Model, stay: &Stay) -> Result<(Plan, Parameters), Stopped> {
        let plan = Plan::choose(model, &self.candidates, stay, self.options)?;
        let parameters = Parameters::find(model, &plan, &self.to, self.ranges, self.options)?;
        Ok((plan, parameters))
    }

    /// The model with everything quantized but the nodes that stay.
    fn attempt(&self, model: &Model, stay: &Stay) -> Result<(Model, StaticReport), QuantizeError> {
        self.options.execution.interrupt.check()?;
        let (plan, parameters) = self.plan(model, stay)?;
        let mut result = model.clone();
        let mut watch = Watch::silent(&self.options.execution.interrupt, WATCHED_NODES);
        let Applied { folded, pairs, weights, biases } =
            apply(&mut result, &plan, &parameters, (&self.to, &self.weights), self.options)?;
        let mut report = StaticReport { folded, pairs, weights, biases, ..StaticReport::default() };
        let chosen: std::collections::HashSet<NodeId, RandomState> =
            plan.nodes.iter().map(|candidate| candidate.node).collect();
        for candidate in &self.candidates.all {
            watch.work(1)?;
            let record = model.node(candidate.node);
            let name = model.str(record.op()).to_owned();
            if chosen.contains(&candidate.node) {
                count(&mut report.quantized, name);
                continue;
            }
            let output = record.output(0).map(|output| model.str(model.value(output).name()).to_owned());
            let reason = stay.get(&candidate.node).copied().unwrap_or(match candidate.scales {
                Scales::Own => StayReason::NotTaken,
                _ => StayReason::Neighbors,
            });
            report.stay.push((name, output.unwrap_or_default(), reason));
        }
        for &node in &self.candidates.others {
            let record = model.node(node);
            let output = record.output(0).map(|output| model.str(model.value(output).name()).to_owned());
            let reason = stay.get(&node).copied().unwrap_or(StayReason::OtherType);
            report.stay.push((model.str(record.op()).to_owned(), output.unwrap_or_default(), reason));
        }
        for &value in &plan.values {
            watch.work(1)?;
            if let Some((scale, zero)) = parameters.of(&plan, value) {
                report.parameters.push((model.str(model.value(value).name()).to_owned(), scale, zero));
            }
        }
        Ok((result, report))
    }

    /// Chooses the nodes to keep by what quantization of parts of the model does to the outputs.
    fn within(
        &self,
        model: &Model,
        budget: Budget<'_>,
        known: &Runs,
    ) -> Result<(Model, StaticReport, Stay), QuantizeError> {
        let (plan, _) = self.plan(model, &self.stay)?;
        let nodes: Vec<NodeId> = plan.nodes.iter().map(|candidate| candidate.node).collect();
        let settings = MeasureOptions::default()
            .with_registry(self.options.registry)
            .with_data(self.options.data)
            .with_execution(self.options.execution.clone())
            .with_threads(self.options.threads);
        let few = Few(budget.samples);
        let stay_of = |quantized: &[bool]| {
            let mut stay = self.stay.clone();
            let kept = nodes.iter().zip(quantized).filter(|(_, is_quantized)| !**is_quantized);
            stay.extend(kept.map(|(&node, _)| (node, StayReason::Budget)));
            stay
        };
        let mut measure = |quantized: &[bool], trial: Trial| {
            let (result, _) = self.attempt(model, &stay_of(quantized))?;
            let samples: &dyn Samples = if trial == Trial::Part { &few } else { budget.samples };
            let outputs = measure_each(model, &[&result], (samples, known.outputs.as_deref()), &settings);
            Ok(outputs.map_err(QuantizeError::NotMeasured)?.pop().unwrap_or_default())
        };
        let chosen = choose(nodes.len(), budget.snr, &mut measure)?;
        let stay = stay_of(&chosen.quantized);
        let (result, mut report) = self.attempt(model, &stay)?;
        report.outputs = chosen.outputs;
        report.runs = chosen.runs;
        Ok((result, report, stay))
    }
}

/// The first samples: enough to compare parts of a model.
struct Few<'a>(&'a dyn Samples);

impl Samples for Few<'_> {
    fn count(&self) -> usize {
        self.0.count().min(4)
    }

    fn sample(&self, index: usize) -> Result<Vec<(String, onnx_eval::Value)>, String> {
        self.0.sample(index)
    }

    fn replace(&self, index: usize) -> bool {
        self.0.replace(index)
    }
}
