//! Quantized weights, with `DequantizeLinear` in front of what uses them.

mod dequantize;
mod expand;
mod format;
mod layout;
mod packed;
mod pairs;
mod stay;

use std::collections::HashSet;
use std::fmt;

use onnx_diag::Quoted;
use onnx_ir::{AttrValue, EditError, GraphId, Model, Node, NodeId, ValueId};
use onnx_schema::{Registry, Schema, attr, domain, op};
use onnx_types::tensor::{DataSource, NoData, Tensor, TensorError, TensorFault};
use onnx_types::{ElemType, Execution, Stopped};

pub use self::dequantize::{DequantizeError, DequantizeOptions, Dequantized, dequantize};
pub(crate) use self::format::{
    Format, Quantized, Reading, ReadingError, ends, quantize, quantize_to, quantize_with,
};
pub(crate) use self::layout::Layout;
pub use self::stay::NoScale;
use self::stay::miscomputed;
pub(crate) use self::stay::of_other_types;
use crate::activations::fold_weights;
use crate::budget::choose;
use crate::edits::{
    add_constant_in, behind, erase_unused_initializers, evaluation, graphs_outside_functions, write_types,
};
use crate::measure::{MeasureOptions, MeasuredOutput, measure_on};
use crate::narrow::is_weight;
use crate::samples::{GeneratedSamples, Samples};

/// Returns `true` if weights can be quantized to a type: integers of up to 16 bits, and some small floats.
#[must_use]
pub fn is_quantized_type(elem: ElemType) -> bool {
    Format::of(elem).is_some()
}

/// How many elements share a scale.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum Granularity {
    /// All elements of a tensor.
    #[default]
    Tensor,
    /// The elements of one output channel.
    Channel,
    /// Blocks of this number of elements along the axis that the operator sums over.
    Block(usize),
}

/// Settings of [`quantize_weights`].
#[derive(Clone)]
#[non_exhaustive]
pub struct WeightOptions<'a> {
    /// How many elements share a scale. Default: all of a tensor.
    pub granularity: Granularity,
    /// Whether zero is in the middle of the range, so zero points are not needed (of unsigned types: it is the middle). Default:
    /// of signed types only; see [`symmetric`](Self::symmetric) for others.
    pub symmetric: bool,
    /// Nodes whose weights stay. Default: none.
    pub except: &'a [NodeId],
    /// The least ratio of signal to noise of each output, in decibels: the weights that lose most stay until it is reached.
    /// Default: none.
    pub budget: Option<f64>,
    /// The inputs on which the budget is measured. Default: one that is generated.
    pub samples: Option<&'a dyn Samples>,
    /// The operators that are known. By default those of ONNX.
    pub registry: &'a Registry,
    /// Source of external weights. By default there is none.
    pub data: &'a dyn DataSource,
    /// The seed of generated inputs, limits, and what ends the work early.
    pub execution: Execution,
}

impl Default for WeightOptions<'_> {
    fn default() -> Self {
        Self {
            granularity: Granularity::Tensor,
            symmetric: false,
            except: &[],
            budget: None,
            samples: None,
            registry: Registry::STANDARD,
            data: &NoData,
            execution: Execution::DEFAULT,
        }
    }
}

onnx_types::option_setters! {
    WeightOptions<'a> {
        with_granularity => granularity: Granularity,
        with_symmetric => symmetric: bool,
        with_except => except: &'a [NodeId],
        with_budget => budget: Option<f64>,
        with_samples => samples: Option<&'a dyn Samples>,
        with_registry => registry: &'a Registry,
        with_data => data: &'a dyn DataSource,
        with_execution => execution: into Execution,
    }
}

impl fmt::Debug for WeightOptions<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WeightOptions")
            .field("granularity", &self.granularity)
            .field("symmetric", &self.symmetric)
            .field("budget", &self.budget)
            .finish_non_exhaustive()
    }
}

/// Why weights are not quantized.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum QuantizeError {
    /// Numbers are not quantized to this type.
    #[error("numbers are not quantized to {0}")]
    Type(ElemType),
    /// The version of `DequantizeLinear` or `QuantizeLinear` does not have the type, an axis or blocks.
    #[error("`{operator}` of version {imported} {what}; version {needed} can")]
    Version {
        /// The operator.
        operator: &'static str,
        /// The version that the model imports.
        imported: i64,
        /// What it cannot do.
        what: String,
        /// The first version that can.
        needed: i64,
    },
    /// The size of a block is 0.
    #[error("a block has at least one element")]
    Block,
    /// The size of a block is not one that `MatMulNBits` takes.
    #[error("blocks of `MatMulNBits` have 16, 32, 64, ... elements, not {0}")]
    BlockOfProduct(usize),
    /// A weight cannot be read.
    #[error("the elements of {} cannot be read: {reason}", Quoted(tensor))]
    Weight {
        /// Its name.
        tensor: String,
        /// The reason.
        reason: TensorError,
    },
    /// The runtime of the table does not compute with the type.
    #[error("the target has no {what} of type {elem}")]
    Target {
        /// Activations or weights.
        what: &'static str,
        /// The type.
        elem: ElemType,
        /// The types that it takes.
        taken: Vec<ElemType>,
    },
    /// No value of the model has a range.
    #[error("no value of the operators that are quantized has a range")]
    NoRanges,
    /// The error of the outputs cannot be measured.
    #[error("the error of the outputs is not known: {0}")]
    NotMeasured(String),
    /// All outputs are integers or truth values, and there is a budget.
    #[error("no output has a ratio of signal to noise: all are integers or truth values")]
    NoRatio,
    /// An edit failed, which is a defect of this crate.
    #[error("the model cannot be edited: {0}")]
    Edit(String),
    /// The work was ended early.
    #[error(transparent)]
    Stopped(#[from] Stopped),
}

impl From<EditError> for QuantizeError {
    fn from(error: EditError) -> Self {
        Self::Edit(error.to_string())
    }
}

impl From<TensorFault> for QuantizeError {
    fn from(fault: TensorFault) -> Self {
        Self::Edit(fault.to_string())
    }
}

/// A weight that was quantized, or stays.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct QuantizedWeight {
    /// The name of its value.
    pub name: String,
    /// Number of elements.
    pub elements: u64,
    /// Bytes before.
    pub before: u64,
    /// Bytes after, with scales and zero points.
    pub after: u64,
    /// The largest error of an element.
    pub max_error: f64,
    /// The ratio of signal to noise in decibels.
    pub snr: f64,
    /// Whether it stays, so that the outputs are within the budget.
    pub is_kept: bool,
}

impl QuantizedWeight {
    /// A weight whose quantized form consists of some tensors, with its largest error and its ratio of signal to noise.
    pub(crate) fn new<'a>(
        name: String,
        before: &Tensor,
        after: impl IntoIterator<Item = &'a Tensor>,
        (max_error, snr): (f64, f64),
    ) -> Self {
        let bytes = |tensor: &Tensor| tensor.byte_len().unwrap_or_default();
        let after = after.into_iter().map(bytes).sum();
        let elements = before.element_count().unwrap_or_default();
        Self { name, elements, before: bytes(before), after, max_error, snr, is_kept: false }
    }
}

/// What a quantization of weights did.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct WeightReport {
    /// The weights, in order.
    pub weights: Vec<QuantizedWeight>,
    /// The weights that get no scale, by their names. They stay.
    pub stay: Vec<(String, NoScale)>,
    /// How far the outputs are apart, if there is a budget.
    pub outputs: Vec<MeasuredOutput>,
    /// Number of runs of the quantized model that it took to meet the budget.
    pub runs: usize,
}

impl WeightReport {
    /// The report of a quantization without a budget: the weights, and those that stay.
    #[must_use]
    pub const fn of(weights: Vec<QuantizedWeight>, stay: Vec<(String, NoScale)>) -> Self {
        Self { weights, stay, outputs: Vec::new(), runs: 0 }
    }
}

/// A weight with the place of its use.
struct Candidate {
    value: ValueId,
    graph: GraphId,
    channel: usize,
    reduced: usize,
}

/// A weight in its quantized form, not yet in the model.
struct Prepared {
    value: ValueId,
    graph: GraphId,
    /// The elements, the scales, and the zero points if they are not 0, with what their names end with.
    tensors: Vec<(&'static str, Tensor)>,
    axis: Option<usize>,
    block: Option<usize>,
    weight: QuantizedWeight,
}

/// Quantizes the weights of products and convolutions: the model gets the quantized elements, their scales and zero points, and a
/// `DequantizeLinear` in front of what uses the weight. Tensors are read one at a time. The model is unchanged after an error.
///
/// ```
/// use onnx_quantize::{Granularity, WeightOptions, quantize_weights};
/// use onnx_text::{ParseOptions, parse_model};
/// use onnx_types::ElemType;
///
/// let text = r#"<ir_version: 10, opset_import: ["": 21]>
/// g (float[N,4] x) => (float[N,2] y) <float[4,2] w = {0.1, 0.7, -0.3, 0.2, 0.5, -0.1, 0.4, 0.9}> { y = MatMul (x, w) }"#;
/// let mut model = parse_model(text, &ParseOptions::default())?;
/// let options = WeightOptions::default().with_granularity(Granularity::Block(2)).with_symmetric(true);
/// let report = quantize_weights(&mut model, ElemType::Int4, &options)?;
/// assert_eq!((report.weights[0].before, report.weights[0].after), (32, 20));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// Returns an error if the version that the model imports cannot express the type or the granularity, a weight cannot be read, or a
/// budget is given and the model does not run.
pub fn quantize_weights(
    model: &mut Model,
    to: ElemType,
    options: &WeightOptions<'_>,
) -> Result<WeightReport, QuantizeError> {
    let format = Format::of(to).ok_or(QuantizeError::Type(to))?;
    if options.granularity == Granularity::Block(0) {
        return Err(QuantizeError::Block);
    }
    let run = evaluation(options.registry, options.data, &options.execution);
    // One that is also the weight of another node has one quantized form.
    let stored: HashSet<ValueId> =
        candidates(model, options).into_iter().map(|candidate| candidate.value).collect();
    let is_stored = |value| stored.contains(&value);
    let mut folded = fold_weights(model, options.except, &run, |_| true, is_stored)?.into_owned();
    let report = quantize_stored(&mut folded, (to, &format), options)?;
    if report.weights.iter().any(|weight| !weight.is_kept) {
        *model = folded;
    }
    Ok(report)
}

/// Quantizes weights that are stored.
fn quantize_stored(
    model: &mut Model,
    (to, format): (ElemType, &Format),
    options: &WeightOptions<'_>,
) -> Result<WeightReport, QuantizeError> {
    let candidates = candidates(model, options);
    let (mut prepared, mut stay) = (Vec::new(), of_other_types(model, options.except, |_| true));
    for candidate in &candidates {
        options.execution.interrupt.check()?;
        require_version(model, candidate.graph, to, options.granularity)?;
        match prepare(model, candidate, format, options)? {
            Some(Ok(weight)) => prepared.push(weight),
            Some(Err(reason)) => {
                stay.push((model.str(model.value(candidate.value).name()).to_owned(), reason))
            }
            None => {}
        }
    }
    if candidates.is_empty() {
        require_version(model, model.main_graph(), to, options.granularity)?;
    }
    let Some(budget) = options.budget else {
        apply(model, &prepared, &vec![true; prepared.len()], options)?;
        if !prepared.is_empty() {
            write_types(model, options.registry, options.data, &options.execution)?;
        }
        let weights = prepared.into_iter().map(|prepared| prepared.weight).collect();
        return Ok(WeightReport::of(weights, stay));
    };
    let report = WeightReport { stay, ..within_budget(model, prepared, budget, options)? };
    if report.weights.iter().any(|weight| !weight.is_kept) {
        write_types(model, options.registry, options.data, &options.execution)?;
    }
    Ok(report)
}

/// Chooses the weights to keep by what quantization of parts of the model does to the outputs.
fn within_budget(
    model: &mut Model,
    mut prepared: Vec<Prepared>,
    budget: f64,
    options: &WeightOptions<'_>,
) -> Result<WeightReport, QuantizeError> {
    let settings = MeasureOptions::default()
        .with_registry(options.registry)
        .with_data(options.data)
        .with_execution(options.execution.clone());
    let generated = GeneratedSamples::new(model, 1, &settings);
    let samples = options.samples.unwrap_or(&generated);
    let mut measure = |quantized: &[bool], _| {
        options.execution.interrupt.check()?;
        let mut result = model.clone();
        apply(&mut result, &prepared, quantized, options)?;
        measure_on(model, &result, samples, &settings).map_err(QuantizeError::NotMeasured)
    };
    let chosen = choose(prepared.len(), budget, &mut measure)?;
    let mut result = model.clone();
    apply(&mut result, &prepared, &chosen.quantized, options)?;
    *model = result;
    let kept = prepared.iter_mut().zip(&chosen.quantized).filter(|(_, is_quantized)| !**is_quantized);
    for (weight, _) in kept {
        weight.weight.is_kept = true;
        weight.weight.after = weight.weight.before;
    }
    let weights = prepared.into_iter().map(|prepared| prepared.weight).collect();
    Ok(WeightReport { weights, stay: Vec::new(), outputs: chosen.outputs, runs: chosen.runs })
}

/// The tensor of a constant of `float` that no caller replaces: of an initializer, or of a `Constant` node.
pub(crate) fn dense_constant(model: &Model, value: ValueId) -> Option<&Tensor> {
    constant(model, value).filter(|tensor| tensor.elem() == ElemType::Float)
}

/// The tensor of a constant that no caller replaces.
fn constant(model: &Model, value: ValueId) -> Option<&Tensor> {
    if is_weight(model, value) { dense(model, value) } else { model.constant_tensor(value) }
}

/// The operand of an operator that is a weight: its number, the axis of output channels, and the axis that is summed over.
pub(crate) fn weight_operand(node: &Node, index: usize, rank: usize) -> Option<(usize, usize)> {
    let is_transposed = |name| node.int(name).unwrap_or(0) != 0;
    let last = rank.checked_sub(1)?;
    let before_last = rank.checked_sub(2)?;
    match index {
        1 if node.is(op::MAT_MUL) => Some((last, before_last)),
        0 if node.is(op::MAT_MUL) => Some((before_last, last)),
        1 if node.is(op::GEMM) && is_transposed(attr::TRANS_B) => Some((0, 1)),
        1 if node.is(op::GEMM) => Some((1, 0)),
        0 if node.is(op::GEMM) && is_transposed(attr::TRANS_A) => Some((1, 0)),
        0 if node.is(op::GEMM) => Some((0, 1)),
        1 if node.is(op::CONV) => Some((0, 1)),
        1 if node.is(op::CONV_TRANSPOSE) => Some((1, 0)),
        0 if node.is(op::GATHER) && node.int(attr::AXIS).unwrap_or(0) == 0 => Some((0, last)),
        _ => None,
    }
}

/// The weights of products, convolutions and embeddings, in the order of the model.
fn candidates(model: &Model, options: &WeightOptions<'_>) -> Vec<Candidate> {
    let except: HashSet<NodeId> = options.except.iter().copied().collect();
    let mut found = Vec::new();
    for graph in graphs_outside_functions(model) {
        let made = model.nodes(graph).filter(|&node| model.node(node).is(op::CONSTANT));
        let made = made.filter_map(|node| model.node(node).output(0));
        for value in model.initializers(graph).chain(made) {
            let Some(tensor) = dense_constant(model, value) else { continue };
            let uses = model.node_uses(value);
            if uses.iter().any(|(node, _)| except.contains(node)) || model.is_graph_output(value) {
                continue;
            }
            let place = uses.iter().find_map(|&(node, index)| {
                let record = model.node(node);
                record.domain().is_empty().then(|| weight_operand(record, index, tensor.rank())).flatten()
            });
            if let Some((channel, reduced)) = place {
                found.push(Candidate { value, graph, channel, reduced });
            }
        }
    }
    found
}

/// The tensor of an initializer, also of one that is an input.
fn dense(model: &Model, value: ValueId) -> Option<&Tensor> {
    model.value(value).initializer()?.dense()
}

/// Refuses what the version of `DequantizeLinear` in scope cannot express.
pub(crate) fn require_version(
    model: &Model,
    graph: GraphId,
    to: ElemType,
    granularity: Granularity,
) -> Result<(), QuantizeError> {
    let imported = model.versions_in(graph).get(domain::ONNX).unwrap_or(1);
    let all = onnx_schema::versions(domain::ONNX, op::DEQUANTIZE_LINEAR);
    let at = all.iter().rev().find(|schema| schema.since_version() <= imported);
    let takes = |schema: &Schema| {
        schema.input_for(0).is_some_and(|formal| schema.types_of(formal).contains_tensor(to))
    };
    let needs = match granularity {
        Granularity::Tensor => None,
        Granularity::Channel => Some((attr::AXIS, "has no scales for channels")),
        Granularity::Block(_) => Some((attr::BLOCK_SIZE, "has no scales for blocks")),
    };
    let has = |schema: &Schema| needs.is_none_or(|(name, _)| schema.attribute(name).is_some());
    let (what, is_enough) = match at {
        None => ("does not exist".to_owned(), false),
        Some(schema) if !takes(schema) => (format!("does not take {to}"), false),
        Some(schema) => (needs.map_or_else(String::new, |(_, text)| text.to_owned()), has(schema)),
    };
    if is_enough {
        return Ok(());
    }
    let needed = all.iter().find(|schema| takes(schema) && has(schema)).map(|schema| schema.since_version());
    let operator = "DequantizeLinear";
    Err(needed.map_or(QuantizeError::Type(to), |needed| QuantizeError::Version {
        operator,
        imported,
        what,
        needed,
    }))
}

/// Quantizes a weight, or returns why it stays; `None` if it is empty.
fn prepare(
    model: &Model,
    candidate: &Candidate,
    format: &Format,
    options: &WeightOptions<'_>,
) -> Result<Option<Result<Prepared, NoScale>>, QuantizeError> {
    let Some(tensor) = dense_constant(model, candidate.value) else { return Ok(None) };
    let name = model.str(model.value(candidate.value).name()).to_owned();
    let dims: Option<Vec<usize>> = tensor.dims().iter().map(|&dim| usize::try_from(dim).ok()).collect();
    let Some(dims) = dims else { return Ok(None) };
    let count = dims.iter().product::<usize>();
    if count == 0 {
        return Ok(None);
    }
    let place = (candidate.value, tensor.dims());
    if let Some(reason) = miscomputed(model, place, format.elem, options.granularity) {
        return Ok(Some(Err(reason)));
    }
    let (layout, axis, block, scale_dims) = match options.granularity {
        Granularity::Tensor => (Layout::whole(count), None, None, Vec::new()),
        Granularity::Channel => {
            let axis = candidate.channel;
            (Layout::per_axis(&dims, axis), Some(axis), None, vec![tensor.dims()[axis]])
        }
        Granularity::Block(size) => {
            let axis = candidate.reduced;
            // One block is the whole axis at most.
            let size = size.min(dims[axis]);
            let mut scale_dims = tensor.dims().to_vec();
            scale_dims[axis] = dims[axis].div_ceil(size) as i64;
            (Layout::blocked(&dims, axis, size), Some(axis), Some(size), scale_dims)
        }
    };
    let symmetric = options.symmetric || format.is_signed();
    let reading = Reading { data: options.data, interrupt: &options.execution.interrupt };
    let read = quantize(tensor, format, &layout, symmetric, reading).map_err(|error| error.of(&name))?;
    let quantized = match read {
        Ok(quantized) => quantized,
        Err(reason) => return Ok(Some(Err(reason))),
    };
    let bits = u64::from(format.elem.bits().unwrap_or(8));
    let zero_bits = if quantized.zeros.is_empty() { 0 } else { quantized.zeros.len() as u64 * bits };
    let weight = QuantizedWeight {
        name,
        elements: count as u64,
        before: count as u64 * 4,
        after: (count as u64 * bits).div_ceil(8) + quantized.scales.len() as u64 * 4 + zero_bits.div_ceil(8),
        max_error: quantized.max_error,
        snr: quantized.snr,
        is_kept: false,
    };
    let scale = Tensor::from_slice(scale_dims.iter().copied(), &quantized.scales)?.held(options.data);
    let mut tensors = vec![("quantized", quantized.tensor), ("scale", scale)];
    if !quantized.zeros.is_empty() && !format.is_float() {
        let zeros = format.tensor(&scale_dims, &quantized.zeros);
        let zeros = zeros.map_err(|error| ReadingError::from(error).of(&weight.name))?;
        tensors.push(("zero_point", zeros.held(options.data)));
    }
    let (value, graph) = (candidate.value, candidate.graph);
    Ok(Some(Ok(Prepared { value, graph, tensors, axis, block, weight })))
}

/// Puts the chosen quantized weights into the model.
fn apply(
    model: &mut Model,
    prepared: &[Prepared],
    chosen: &[bool],
    options: &WeightOptions<'_>,
) -> Result<(), QuantizeError> {
    for (weight, _) in prepared.iter().zip(chosen).filter(|(_, is_chosen)| **is_chosen) {
        options.execution.interrupt.check()?;
        let &Prepared { value, graph, axis, block, .. } = weight;
        let name = weight.weight.name.clone();
        let mut inputs = Vec::new();
        for (suffix, tensor) in &weight.tensors {
            inputs.push(add_constant_in(model, graph, &format!("{name}_{suffix}"), tensor.clone())?);
        }
        let output = model.unused_name(&format!("{name}_dequantized"));
        let output = model.str(output).to_owned();
        let at = behind(model, graph, &inputs);
        let mut build = model.build_at(at);
        let mut node = build.op(op::DEQUANTIZE_LINEAR, inputs);
        if let Some(axis) = axis {
            node = node.attr(attr::AXIS, AttrValue::Int(axis as i64));
        }
        if let Some(block) = block {
            node = node.attr(attr::BLOCK_SIZE, AttrValue::Int(block as i64));
        }
        let new = node.output_named(&output)?;
        model.replace_all_uses(value, new);
    }
    erase_unused_initializers(model);
    Ok(())
}
