//! Puts pairs, weights and biases into a model.

use std::collections::{HashMap, HashSet};

use foldhash::fast::RandomState;
use onnx_compose::Scales;
use onnx_ir::{AttrValue, Def, GraphId, Model, Node, NodeId, Position, Use, User, ValueId};
use onnx_schema::{attr, op};
use onnx_types::tensor::{DataSource, Tensor, TensorError};
use onnx_types::{ElemType, Watch};

use super::biases::{Biases, quantized};
use super::parameters::Parameters;
use super::plan::{Candidate, Plan, activation, bounds, is_scaled};
use super::{StaticOptions, WATCHED_NODES};
use crate::edits::{add_constant, add_constant_in, behind, erase_unused_initializers};
use crate::weights::{
    Format, Layout, QuantizeError, Quantized, QuantizedWeight, dense_constant, quantize, quantize_with,
    weight_operand,
};

/// What was put into a model.
#[derive(Default)]
pub(crate) struct Applied {
    pub(crate) folded: usize,
    pub(crate) pairs: usize,
    pub(crate) weights: Vec<QuantizedWeight>,
    pub(crate) biases: usize,
}

/// A weight in the model, by its value, the axis of its scales, and the least scales that its biases need.
struct Placed {
    dequantized: ValueId,
    scales: Vec<f32>,
}

struct Cx<'a> {
    plan: &'a Plan,
    parameters: &'a Parameters,
    to: &'a Format,
    weight_format: &'a Format,
    options: &'a StaticOptions<'a>,
    /// Scales and zero points of sets of values, in graphs.
    constants: HashMap<(ValueId, GraphId), [ValueId; 2], RandomState>,
    placed: HashMap<(ValueId, Option<usize>, ElemType, NodeId), Placed, RandomState>,
    done: Applied,
}

/// Puts a plan into a model.
///
/// # Errors
///
/// Returns an error if a weight cannot be read.
pub(crate) fn apply(
    model: &mut Model,
    plan: &Plan,
    parameters: &Parameters,
    (to, weight_format): (&Format, &Format),
    options: &StaticOptions<'_>,
) -> Result<Applied, QuantizeError> {
    let mut cx = Cx {
        plan,
        parameters,
        to,
        weight_format,
        options,
        constants: HashMap::default(),
        placed: HashMap::default(),
        done: Applied::default(),
    };
    for candidate in &plan.nodes {
        options.execution.interrupt.check()?;
        cx.constants_of(model, candidate)?;
    }
    let uses = uses(plan);
    let makers: HashSet<NodeId, RandomState> = plan.nodes.iter().map(|candidate| candidate.node).collect();
    let mut watch = Watch::silent(&options.execution.interrupt, WATCHED_NODES);
    for &value in &plan.values {
        watch.work(1)?;
        if dense_constant(model, value).is_some() {
            continue;
        }
        let Some((scale, zero)) = parameters.of(plan, value) else { continue };
        let mut is_made = model.value(value).producer().is_some_and(|node| makers.contains(&node));
        if let Some(&(activation, operand)) = plan.folds.get(&value) {
            if is_in_range(model, activation, (to, scale, zero), options.data) {
                cx.pair(model, value, &uses, true, operand)?;
                model.erase_node(activation)?;
                cx.done.folded += 1;
                continue;
            }
            is_made = true;
        }
        cx.pair(model, value, &uses, is_made, value)?;
    }
    watch.check()?;
    erase_unused_initializers(model);
    watch.check()?;
    Ok(cx.done)
}

/// Returns `true` if the range of a quantized type does what an activation does: numbers beyond the bounds of the activation are beyond the
/// range, too.
fn is_in_range(
    model: &Model,
    activation: NodeId,
    (format, scale, zero): (&Format, f32, f32),
    data: &dyn DataSource,
) -> bool {
    let (low, high) = ((format.low - zero) * scale, (format.high - zero) * scale);
    let (least, greatest) = bounds(model, activation, data).unwrap_or((f32::NEG_INFINITY, f32::INFINITY));
    low >= least - scale * 0.5 && high <= greatest + scale * 0.5
}

/// The result of the `Relu` or `Clip` behind a value that the range of a quantized type, with this scale and zero point, does too, so that
/// a quantizer can leave it out: the quantized numbers of the value are those of the result. `None` if the value has other users, or the
/// range has numbers that the activation does not give.
///
/// # Panics
///
/// Panics if the value is not of this model or was erased.
#[must_use]
pub fn activation_in_range(
    model: &Model,
    value: ValueId,
    (elem, scale, zero): (ElemType, f32, f32),
    data: &dyn DataSource,
) -> Option<ValueId> {
    let (node, result) = activation(model, value)?;
    let format = Format::of(elem)?;
    is_in_range(model, node, (&format, scale, zero), data).then_some(result)
}

/// The operands of the nodes of a plan.
fn uses(plan: &Plan) -> HashSet<(NodeId, usize), RandomState> {
    let of = |candidate: &Candidate| {
        let node = candidate.node;
        candidate.operands.clone().into_iter().map(move |index| (node, index))
    };
    plan.nodes.iter().flat_map(of).collect()
}

impl<'a> Cx<'a> {
    /// The scale and the zero point of a value as initializers of a graph: onnxruntime looks for them next to the pair.
    fn constants(
        &mut self,
        model: &mut Model,
        value: ValueId,
        graph: GraphId,
    ) -> Result<[ValueId; 2], QuantizeError> {
        let root = (self.plan.groups.of(value), graph);
        if let Some(&known) = self.constants.get(&root) {
            return Ok(known);
        }
        let (scale, zero) = self.parameters.of(self.plan, value).unwrap_or((1.0, 0.0));
        let name = model.str(model.value(value).name()).to_owned();
        let scale = add_constant_in(model, graph, &format!("{name}_scale"), Tensor::scalar(scale))?;
        let zero = self.to.tensor(&[], &[zero]).map_err(|reason| failed(&name, reason))?;
        let zero = add_constant_in(model, graph, &format!("{name}_zero_point"), zero)?;
        self.constants.insert(root, [scale, zero]);
        Ok([scale, zero])
    }

    /// Puts a pair behind `from`, and lets the quantized users of `value` use its result; all users if a quantized node makes it.
    fn pair(
        &mut self,
        model: &mut Model,
        value: ValueId,
        uses: &HashSet<(NodeId, usize), RandomState>,
        is_made: bool,
        from: ValueId,
    ) -> Result<(), QuantizeError> {
        let graph = model.graph_of(from);
        let parameters = self.constants(model, value, graph)?;
        add_pair(model, (value, from), parameters, is_made, |_, at| match at.user {
            User::Node(user) => is_made || uses.contains(&(user, at.index as usize)),
            User::Graph(_) | User::Attribute(_) => is_made,
        })?;
        self.done.pairs += 1;
        Ok(())
    }

    /// Quantizes the constant operands of a node.
    fn constants_of(&mut self, model: &mut Model, candidate: &Candidate) -> Result<(), QuantizeError> {
        let node = candidate.node;
        let mut weight = None;
        let bias = self.biases().row(model, candidate)?;
        let bias = bias.filter(|_| !is_scaled(model.node(node)));
        for &index in &candidate.operands {
            let Some(value) = model.node(node).input(index) else { continue };
            let Some(tensor) = dense_constant(model, value).cloned() else { continue };
            let place = weight_operand(model.node(node), index, tensor.rank());
            let is_weight = candidate.scales == Scales::Own && place.is_some();
            if is_weight {
                let channel =
                    place.map(|(channel, _)| channel).filter(|_| self.has_channels(model, node, &tensor));
                let format = self.format_of(model.node(node), index);
                let placed = self.weight(model, (index, value), &tensor, (channel, format), candidate)?;
                if let Some(placed) = placed {
                    weight = Some((index, placed, channel.is_some()));
                }
                continue;
            }
            let parameters = match candidate.scales {
                Scales::Equal => self.parameters.of(self.plan, value),
                _ => None,
            };
            self.constant(model, (node, index), value, &tensor, parameters)?;
        }
        let weight = weight.filter(|(index, ..)| *index == 1);
        self.bias(model, candidate, weight.map(|(_, scales, has_channels)| (scales, has_channels)), bias)
    }

    /// The type of a weight. The first operand of a product has the type of activations also if it is a constant: kernels take pairs of types, and
    /// which depends on the place.
    fn format_of(&self, record: &Node, index: usize) -> &'a Format {
        match index {
            0 if !record.is(op::GATHER) => self.to,
            _ => self.weight_format,
        }
    }

    /// Returns `true` if a weight has a scale for each channel.
    fn has_channels(&self, model: &Model, node: NodeId, tensor: &Tensor) -> bool {
        let record = model.node(node);
        let is_in_groups = record.is(op::CONV_TRANSPOSE) && record.int(attr::GROUP).unwrap_or(1) != 1;
        let is_stack = record.is(op::MAT_MUL) && tensor.rank() != 2;
        // Scales for the rows of a first operand are not what kernels take.
        let is_first = record.input(0).is_some_and(|value| dense_constant(model, value).is_some());
        self.options.per_channel && !is_in_groups && !is_stack && !is_first
    }

    /// Quantizes a weight; returns its scales, or `None` if it stays.
    fn weight(
        &mut self,
        model: &mut Model,
        (index, value): (usize, ValueId),
        tensor: &Tensor,
        (channel, format): (Option<usize>, &Format),
        candidate: &Candidate,
    ) -> Result<Option<Vec<f32>>, QuantizeError> {
        let node = candidate.node;
        let least = self.biases().least_scales(model, candidate)?;
        // Users of one weight with separate biases can need other scales.
        let owner = if least.is_empty() { NodeId::default() } else { node };
        let key = (value, channel, format.elem, owner);
        if !self.placed.contains_key(&key) {
            let Some(layout) = layout(tensor, channel) else { return Ok(None) };
            let name = model.str(model.value(value).name()).to_owned();
            let symmetric = self.options.is_symmetric() || format.is_signed();
            let found = quantize_with(tensor, format, &layout, symmetric, &least, self.options.reading());
            let Ok(quantized) = found.map_err(|error| error.of(&name))? else { return Ok(None) };
            let dequantized = self.place(model, &name, tensor, &quantized, (channel, format))?;
            self.placed.insert(key, Placed { dequantized, scales: quantized.scales });
        }
        let Some(placed) = self.placed.get(&key) else { return Ok(None) };
        let scales = placed.scales.clone();
        let dequantized = placed.dequantized;
        model.set_input(node, index, Some(dequantized));
        Ok(Some(scales))
    }

    /// Adds the quantized numbers of a constant with their scales and zero points, and a `DequantizeLinear`.
    fn place(
        &mut self,
        model: &mut Model,
        name: &str,
        tensor: &Tensor,
        quantized: &Quantized,
        (channel, format): (Option<usize>, &Format),
    ) -> Result<ValueId, QuantizeError> {
        let dims: Vec<i64> = channel.and_then(|axis| tensor.dims().get(axis).copied()).into_iter().collect();
        let zeros = match quantized.zeros.is_empty() {
            true => vec![0.0; quantized.scales.len()],
            false => quantized.zeros.clone(),
        };
        let zeros = format.tensor(&dims, &zeros).map_err(|reason| failed(name, reason))?;
        let scales = Tensor::from_slice(dims.iter().copied(), &quantized.scales)?;
        let (parts, loss) = ([&quantized.tensor, &scales, &zeros], (quantized.max_error, quantized.snr));
        self.done.weights.push(QuantizedWeight::new(name.to_owned(), tensor, parts, loss));
        let inputs = [
            add_constant(model, &format!("{name}_quantized"), quantized.tensor.clone())?,
            add_constant(model, &format!("{name}_scale"), scales)?,
            add_constant(model, &format!("{name}_zero_point"), zeros)?,
        ];
        dequantize(model, name, &inputs, channel)
    }

    /// Quantizes a constant that is not a weight, with its own parameters or those of the values around it.
    fn constant(
        &mut self,
        model: &mut Model,
        (node, index): (NodeId, usize),
        value: ValueId,
        tensor: &Tensor,
        parameters: Option<(f32, f32)>,
    ) -> Result<(), QuantizeError> {
        let Some(layout) = layout(tensor, None) else { return Ok(()) };
        let name = model.str(model.value(value).name()).to_owned();
        let symmetric = self.options.is_symmetric();
        let found = match parameters {
            Some(parameters) => {
                crate::weights::quantize_to(tensor, self.to, &layout, &[parameters], self.options.reading())
            }
            None => quantize(tensor, self.to, &layout, symmetric, self.options.reading()).map(Result::ok),
        };
        let Some(quantized) = found.map_err(|error| error.of(&name))? else { return Ok(()) };
        let new = match parameters {
            // The initializers are those of the other values, so that the scales are equal by their names.
            Some(_) => {
                let graph = model.node(node).graph();
                let [scale, zero] = self.constants(model, value, graph)?;
                let graph = model.graph_of(scale);
                let elements = format!("{name}_quantized");
                let elements = add_constant_in(model, graph, &elements, quantized.tensor.clone())?;
                dequantize_in(model, graph, &name, (&[elements, scale, zero], None))?
            }
            None => self.place(model, &name, tensor, &quantized, (None, self.to))?,
        };
        model.set_input(node, index, Some(new));
        Ok(())
    }

    /// What is known about biases.
    const fn biases(&self) -> Biases<'a> {
        Biases { plan: self.plan, parameters: self.parameters, options: self.options }
    }

    /// Makes a constant bias `int32` with the product of the scales.
    fn bias(
        &mut self,
        model: &mut Model,
        candidate: &Candidate,
        weight: Option<(Vec<f32>, bool)>,
        bias: Option<Vec<f32>>,
    ) -> Result<(), QuantizeError> {
        let (node, record) = (candidate.node, model.node(candidate.node));
        let (Some(index), Some(row)) = (candidate.bias, bias) else { return Ok(()) };
        let has_channels = weight.as_ref().map(|weight| weight.1);
        let scales = self.biases().both(model, candidate, weight.map(|weight| weight.0));
        let quantized = scales.and_then(|scales| quantized(&row, &scales));
        let (Some(quantized), Some(value)) = (quantized, record.input(index)) else { return Ok(()) };
        let has_channels = has_channels.unwrap_or(quantized.scales.len() != 1);
        let name = model.str(model.value(value).name()).to_owned();
        let scale = match has_channels {
            true => Tensor::vector(&quantized.scales),
            false => Tensor::scalar(quantized.scales.first().copied().unwrap_or(1.0)),
        };
        let inputs = [
            add_constant(model, &format!("{name}_quantized"), Tensor::vector(&quantized.numbers))?,
            add_constant(model, &format!("{name}_scale"), scale)?,
        ];
        let new = dequantize(model, &name, &inputs, has_channels.then_some(0))?;
        model.set_input(node, index, Some(new));
        self.done.biases += 1;
        Ok(())
    }
}

/// Puts a pair with a scale and a zero point behind `from`, and lets the selected users of `value` use its result. Returns the result, which
/// has the name of `value` if that is an output of the model and `is_made`.
pub(super) fn add_pair(
    model: &mut Model,
    (value, from): (ValueId, ValueId),
    [scale, zero]: [ValueId; 2],
    is_made: bool,
    select: impl Fn(&Model, Use) -> bool,
) -> Result<ValueId, QuantizeError> {
    let at = match model.value(from).def() {
        Def::Output { node, .. } => Position::After(node),
        _ => behind(model, model.graph_of(from), &[scale, zero]),
    };
    let name = model.str(model.value(value).name()).to_owned();
    let [first, second] = ["quantized", "dequantized"].map(|suffix| {
        let name = model.unused_name(&format!("{name}_{suffix}"));
        model.str(name).to_owned()
    });
    let ty = model.value(value).shared_ty().cloned();
    let mut build = model.build_at(at);
    let quantized = build.op(op::QUANTIZE_LINEAR, [from, scale, zero]).output_named(&first)?;
    let new = build.op(op::DEQUANTIZE_LINEAR, [quantized, scale, zero]).output_named(&second)?;
    let node = model.value(quantized).producer();
    if is_made && model.is_known_output(value) {
        model.take_name(new, value);
    }
    model.set_type(new, ty);
    model.replace_uses_where(value, new, |model, at| at.user.node() != node && select(model, at));
    Ok(new)
}

/// The failure to read a tensor.
fn failed(tensor: &str, reason: TensorError) -> QuantizeError {
    QuantizeError::Weight { tensor: tensor.to_owned(), reason }
}

/// How the elements of a constant share scales; `None` if it is empty.
fn layout(tensor: &Tensor, channel: Option<usize>) -> Option<Layout> {
    let dims: Option<Vec<usize>> = tensor.dims().iter().map(|&dim| usize::try_from(dim).ok()).collect();
    let dims = dims?;
    let count = dims.iter().product::<usize>();
    match channel {
        _ if count == 0 => None,
        Some(axis) if axis < dims.len() => Some(Layout::per_axis(&dims, axis)),
        _ => Some(Layout::whole(count)),
    }
}

/// A `DequantizeLinear` of constants, at the beginning of the model.
fn dequantize(
    model: &mut Model,
    name: &str,
    inputs: &[ValueId],
    channel: Option<usize>,
) -> Result<ValueId, QuantizeError> {
    dequantize_in(model, model.main_graph(), name, (inputs, channel))
}

/// A `DequantizeLinear` of constants, at the beginning of a graph.
fn dequantize_in(
    model: &mut Model,
    graph: GraphId,
    name: &str,
    (inputs, channel): (&[ValueId], Option<usize>),
) -> Result<ValueId, QuantizeError> {
    let name = model.unused_name(&format!("{name}_dequantized"));
    let name = model.str(name).to_owned();
    let at = behind(model, graph, inputs);
    let mut build = model.build_at(at);
    let mut node = build.op(op::DEQUANTIZE_LINEAR, inputs.iter().copied());
    if let Some(axis) = channel {
        node = node.attr(attr::AXIS, AttrValue::Int(axis as i64));
    }
    Ok(node.output_named(&name)?)
}
