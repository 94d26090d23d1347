//! Which values of a quantized model stand for which float values of the other one.
//!
//! What is quantized is compared behind `DequantizeLinear`, because only there it has been rounded. Quantizers leave out a `Relu` or
//! `Clip` that the range of the quantized numbers does, so these stand for the result of the activation, not for its operand.

use std::collections::{HashMap, HashSet};

use onnx_eval::{EvalOptions, constant};
use onnx_ir::{Model, NodeId, Position, ValueId};
use onnx_quantize::activation_in_range;
use onnx_schema::traits::newest;
use onnx_schema::{Traits, attr, op};
use onnx_types::tensor::Tensor;
use onnx_types::{ElemType, Stopped, Symbol};

use super::pairing::{is_op, is_quantized, outputs, values};
use crate::exit::Failure;
use crate::run::name;

/// The end of the name that quantizers give to the quantized numbers of a value.
const SUFFIX: &str = "_quantized";

/// Scale and zero point of quantized numbers, and how `DequantizeLinear` reads them.
#[derive(Clone, Copy)]
struct Parameters {
    scale: ValueId,
    zero: Option<ValueId>,
    axis: Option<i64>,
    domain: Symbol,
}

/// A float value of the second model, or one that a `DequantizeLinear` gives, and its counterpart.
enum Found {
    Value {
        one: ValueId,
        two: ValueId,
    },
    /// Quantized numbers that nothing dequantizes.
    Open {
        one: ValueId,
        two: ValueId,
        parameters: Parameters,
    },
}

/// The search for what the values of a model with quantized numbers stand for, in the order of its nodes.
pub(super) struct Search<'a> {
    pub(super) a: &'a Model,
    pub(super) b: &'a Model,
    pub(super) run_a: &'a EvalOptions<'a>,
    pub(super) run_b: &'a EvalOptions<'a>,
    /// The values of the second model that have a counterpart already.
    pub(super) given: &'a [(ValueId, String)],
    /// Values of the second model whose names are accidental.
    pub(super) renamed: &'a HashSet<ValueId>,
}

/// The pairs that were found: values of the second model, some of them quantized numbers that need a `DequantizeLinear`, and names of
/// the first one.
#[derive(Default)]
pub(super) struct Pairs {
    /// Values behind `DequantizeLinear`.
    pub(super) dequantized: Vec<(ValueId, String)>,
    /// Values that are floats and have other names.
    pub(super) floats: Vec<(ValueId, String)>,
    open: Vec<(ValueId, Parameters, String)>,
}

impl Pairs {
    /// Lets a `DequantizeLinear` compute the floats of the quantized numbers that only operators of quantized numbers read.
    pub(super) fn dequantize(&mut self, model: &mut Model) -> Result<(), Failure> {
        for (value, parameters, wanted) in std::mem::take(&mut self.open) {
            let Some(node) = model.value(value).producer() else { continue };
            let inputs = [Some(value), Some(parameters.scale), parameters.zero].into_iter().flatten();
            let free = format!("{}_dequantized", name(model, value));
            let free = model.unused_name(&free);
            let free = model.str(free).to_owned();
            let domain = model.str(parameters.domain).to_owned();
            let mut build = model.build_at(Position::After(node));
            let mut call = build.call(&domain, "DequantizeLinear", inputs);
            if let Some(axis) = parameters.axis {
                call = call.attr(attr::AXIS, axis);
            }
            let new = call.output_named(&free).map_err(Failure::new)?;
            self.dequantized.push((new, wanted));
        }
        Ok(())
    }
}

struct Walk<'a> {
    search: &'a Search<'a>,
    /// The values of the first model by name.
    of_a: HashMap<&'a str, ValueId>,
    /// The names of the second model that are not accidental, and those that values got.
    of_b: HashSet<&'a str>,
    /// What values of the second model stand for.
    meanings: HashMap<ValueId, ValueId>,
    parameters: HashMap<ValueId, Parameters>,
    found: Vec<Found>,
}

impl<'a> Search<'a> {
    /// The pairs of a model in which something is quantized.
    pub(super) fn found(&'a self) -> Result<Pairs, Failure> {
        let (a, b) = (self.a, self.b);
        let nodes = b.sorted_nodes(b.main_graph()).unwrap_or_else(|_| b.nodes(b.main_graph()).collect());
        if !nodes.iter().any(|&node| has_quantized_operator(b, node)) {
            return Ok(Pairs::default());
        }
        let of_a: HashMap<&str, ValueId> = values(a).map(|value| (name(a, value), value)).collect();
        let of_b = values(b).filter(|value| !self.renamed.contains(value)).map(|value| name(b, value));
        let of_b = of_b.chain(self.given.iter().map(|(_, name)| name.as_str())).collect();
        let mut walk = Walk {
            search: self,
            meanings: HashMap::new(),
            parameters: HashMap::new(),
            found: Vec::new(),
            of_a,
            of_b,
        };
        walk.begin();
        for node in nodes {
            self.run_b.execution.interrupt.check()?;
            walk.node(node)?;
        }
        Ok(walk.pairs())
    }
}

impl<'a> Walk<'a> {
    /// Values with one name, and those that were paired before.
    fn begin(&mut self) {
        let b = self.search.b;
        for value in values(b).filter(|value| !self.search.renamed.contains(value)) {
            if let Some(&one) = self.of_a.get(name(b, value)).filter(|_| !name(b, value).is_empty()) {
                self.meanings.insert(value, one);
            }
        }
        for (value, name) in self.search.given {
            if let Some(&one) = self.of_a.get(name.as_str()) {
                self.meanings.insert(*value, one);
            }
        }
    }

    fn node(&mut self, node: NodeId) -> Result<(), Stopped> {
        let b = self.search.b;
        let record = b.node(node);
        let Some(result) = record.output(0) else { return Ok(()) };
        if is_op(b, node, "DequantizeLinear") {
            let meaning = record.input(0).and_then(|value| self.meanings.get(&value)).copied();
            if let Some(meaning) = meaning {
                self.meanings.entry(result).or_insert(meaning);
            }
            return Ok(());
        }
        if let Some(parameters) = self.parameters_of(node) {
            self.parameters.insert(result, parameters);
            let operand = record.input(0).filter(|_| is_op(b, node, "QuantizeLinear"));
            let mut meaning = operand.and_then(|operand| self.meanings.get(&operand)).copied();
            if meaning.is_none() {
                let named = name(b, result).strip_suffix(SUFFIX);
                meaning = named
                    .filter(|_| !self.search.renamed.contains(&result))
                    .and_then(|name| self.of_a.get(name).copied());
            }
            if meaning.is_none() && operand.is_none() {
                meaning = self.corresponding(node)?.and_then(|other| self.search.a.node(other).output(0));
            }
            let Some(meaning) = meaning else { return Ok(()) };
            let one = self.behind_activations(meaning, result, parameters);
            self.meanings.insert(result, one);
            self.quantized(one, result, parameters);
            return Ok(());
        }
        let is_open = |value: &ValueId| !self.meanings.contains_key(value);
        if record.outputs().iter().flatten().any(is_open)
            && let Some(other) = self.corresponding(node)?
        {
            let others = self.search.a.node(other).outputs();
            for (&two, &one) in record.outputs().iter().zip(others) {
                let (Some(one), Some(two)) = (one, two) else { continue };
                if self.meanings.insert(two, one).is_none() {
                    self.found.push(Found::Value { one, two });
                }
            }
        }
        Ok(())
    }

    /// Scale and zero point of the first result of a node, if that is quantized numbers.
    fn parameters_of(&self, node: NodeId) -> Option<Parameters> {
        let b = self.search.b;
        let record = b.node(node);
        let domain = record.domain();
        if is_op(b, node, "QuantizeLinear") {
            if record.int(attr::BLOCK_SIZE).unwrap_or(0) != 0 {
                return None;
            }
            let (scale, zero, axis) = (record.input(1)?, record.input(2), record.int(attr::AXIS));
            return Some(Parameters { scale, zero, axis, domain });
        }
        if record.is(op::DYNAMIC_QUANTIZE_LINEAR) && domain.is_empty() {
            let (scale, zero) = (record.output(1)?, record.output(2));
            return Some(Parameters { scale, zero, axis: None, domain });
        }
        let is_list = record.is(op::CONCAT);
        let moves =
            || is_list || record.is(op::MAX_POOL) || newest(record.op()).is_some_and(Traits::keeps_elements);
        if domain.is_empty() && moves() {
            let mut operands = record.inputs().flatten().take(if is_list { usize::MAX } else { 1 });
            let first = *self.parameters.get(&operands.next()?)?;
            let is_same = |value| {
                self.parameters.get(&value).is_some_and(|other| {
                    other.scale == first.scale && other.zero == first.zero && other.axis.is_none()
                })
            };
            return (first.axis.is_none() && operands.all(is_same)).then_some(first);
        }
        // Operators of quantized numbers have formal inputs `y_scale` and `y_zero_point` for a result `y`.
        let schema = b.callee(node, self.search.run_b.registry).schema()?;
        let (result, _) = schema.output_for(0)?;
        let formal = |suffix: &str| {
            let wanted = format!("{result}{suffix}");
            (0..record.input_count()).find(|&index| {
                schema.input_for(index).is_some_and(|(name, _)| name.eq_ignore_ascii_case(&wanted))
            })
        };
        let (scale, zero) = (formal("_scale")?, formal("_zero_point")?);
        let (scale, zero) = (record.input(scale)?, record.input(zero));
        Some(Parameters { scale, zero, axis: None, domain: Symbol::EMPTY })
    }

    /// The value of the first model that quantized numbers stand for: behind the activations that have no counterpart and that the
    /// range of the numbers does.
    fn behind_activations(&self, from: ValueId, quantized: ValueId, parameters: Parameters) -> ValueId {
        let (a, b) = (self.search.a, self.search.b);
        let Some(range) = self.range(parameters) else { return from };
        let mut users = Vec::new();
        for (node, _) in b.node_uses(quantized) {
            match b.node(node).output(0).filter(|_| is_op(b, node, "DequantizeLinear")) {
                Some(value) => users.extend(b.node_uses(value).into_iter().map(|(node, _)| node)),
                None => users.push(node),
            }
        }
        let mut found = from;
        while let Some(next) = activation_in_range(a, found, range, self.search.run_a.data) {
            let is_left_out = |activation: NodeId| {
                let wanted = a.str(a.node(activation).op());
                users.iter().all(|&user| b.str(b.node(user).op()) != wanted)
            };
            let is_folded = a.value(next).producer().is_some_and(is_left_out);
            if !is_folded || self.of_b.contains(name(a, next)) {
                break;
            }
            found = next;
        }
        found
    }

    /// Type, scale and zero point, if they are constants of one element.
    fn range(&self, parameters: Parameters) -> Option<(ElemType, f32, f32)> {
        let (b, run) = (self.search.b, self.search.run_b);
        let one = |value: ValueId| {
            let tensor = constant(b, value, run).ok()?;
            let number =
                tensor.iter_f64(run.data).ok().filter(|_| tensor.element_count() == Some(1))?.next()?;
            Some((tensor.elem(), number as f32))
        };
        let (_, scale) = one(parameters.scale)?;
        let (elem, zero) = parameters.zero.map_or(Some((ElemType::Uint8, 0.0)), one)?;
        Some((elem, scale, zero))
    }

    /// Records what quantized numbers stand for.
    fn quantized(&mut self, one: ValueId, two: ValueId, parameters: Parameters) {
        let b = self.search.b;
        let mut users = b.node_uses(two).into_iter();
        let back = users.find(|(node, index)| *index == 0 && is_op(b, *node, "DequantizeLinear"));
        match back.and_then(|(node, _)| b.node(node).output(0)) {
            Some(value) => {
                self.meanings.entry(value).or_insert(one);
                self.found.push(Found::Value { one, two: value });
            }
            None => self.found.push(Found::Open { one, two, parameters }),
        }
    }

    /// The only node of the first model with the operator and attributes of one of the second model and with operands that correspond.
    fn corresponding(&self, node: NodeId) -> Result<Option<NodeId>, Stopped> {
        let (a, b) = (self.search.a, self.search.b);
        let record = b.node(node);
        let mut operands = record.inputs().flatten();
        let Some(first) = operands.find_map(|value| self.meanings.get(&value).copied()) else {
            return Ok(None);
        };
        let mut candidates: Vec<NodeId> = a.node_uses(first).into_iter().map(|(node, _)| node).collect();
        candidates.dedup();
        let mut found = None;
        for other in candidates {
            self.search.run_b.execution.interrupt.check()?;
            if same_operator((a, other), (b, node)) && self.same_operands(other, node) {
                if found.is_some() {
                    return Ok(None);
                }
                found = Some(other);
            }
        }
        Ok(found)
    }

    fn same_operands(&self, of_a: NodeId, of_b: NodeId) -> bool {
        let (a, b) = (self.search.a, self.search.b);
        let (one, two) = (a.node(of_a), b.node(of_b));
        let has_bias = one.is(op::CONV) || one.is(op::CONV_TRANSPOSE) || one.is(op::GEMM);
        // Values are compared before weights are read.
        let pairs: Vec<_> = one.inputs().zip(two.inputs()).enumerate().collect();
        let is_constant = |value: ValueId| {
            let weight = b.value(value).producer().filter(|&node| is_op(b, node, "DequantizeLinear"));
            let weight = weight.and_then(|node| b.node(node).input(0)).unwrap_or(value);
            b.constant_tensor(weight).is_some()
        };
        pairs.iter().all(|(_, pair)| match *pair {
            (Some(one), Some(two)) => is_constant(two) || self.meanings.get(&two) == Some(&one),
            (one, two) => one.is_none() && two.is_none(),
        }) && pairs.iter().all(|(index, pair)| match *pair {
            // Quantizers correct biases.
            (Some(one), Some(two)) if is_constant(two) => self.close(one, two, has_bias && *index == 2),
            _ => true,
        })
    }

    /// Returns `true` if two constants are the same up to the error of quantization.
    fn close(&self, one: ValueId, two: ValueId, is_bias: bool) -> bool {
        let Search { a, b, run_a, run_b, .. } = self.search;
        let (Ok(one), Ok(two)) = (constant(a, one, run_a), constant(b, two, run_b)) else { return false };
        let sizes = |tensor: &Tensor| -> Vec<i64> {
            tensor.dims().iter().copied().skip_while(|&size| size == 1).collect()
        };
        if sizes(&one) != sizes(&two) || one.elem().is_integer() != two.elem().is_integer() {
            return false;
        }
        if is_bias {
            return true;
        }
        if one.elem().is_integer() {
            return one.same_meaning_across(run_a.data, &two, run_b.data) == Some(true);
        }
        let (Ok(numbers), Ok(others)) = (one.iter_f64(run_a.data), two.iter_f64(run_b.data)) else {
            return one.same_meaning_across(run_a.data, &two, run_b.data) == Some(true);
        };
        let (mut signal, mut noise) = (0.0_f64, 0.0_f64);
        for (number, other) in numbers.zip(others).filter(|(number, other)| number != other) {
            signal += number * number;
            noise += (number - other) * (number - other);
        }
        noise * 4.0 <= signal
    }

    /// The pairs that no name contradicts.
    fn pairs(self) -> Pairs {
        let (a, b) = (self.search.a, self.search.b);
        let outputs = outputs(b);
        let mut taken: HashSet<ValueId> = self.search.given.iter().map(|(value, _)| *value).collect();
        let mut wanted: HashSet<&str> = self.search.given.iter().map(|(_, name)| name.as_str()).collect();
        // A value that only `QuantizeLinear` reads is compared behind it.
        let kept = values(b).filter(|value| !self.search.renamed.contains(value));
        let kept = kept.filter(|&value| outputs.contains(&value) || !is_quantized(b, value));
        let kept: HashSet<&str> = kept.map(|value| name(b, value)).collect();
        let mut pairs = Pairs::default();
        let is_dequantized =
            |value: ValueId| b.value(value).producer().is_some_and(|node| is_op(b, node, "DequantizeLinear"));
        let (first, second): (Vec<_>, Vec<_>) = self
            .found
            .into_iter()
            .partition(|found| !matches!(found, Found::Value { two, .. } if !is_dequantized(*two)));
        for found in first.into_iter().chain(second) {
            let (Found::Value { one, two } | Found::Open { one, two, .. }) = found;
            let own = name(a, one);
            let is_inner = a.value(one).producer().is_some() && !own.is_empty() && !outputs.contains(&two);
            let has_counterpart = !self.search.renamed.contains(&two) && self.of_a.contains_key(name(b, two));
            if !is_inner || has_counterpart || kept.contains(own) || is_quantized(a, one) {
                continue;
            }
            if wanted.contains(own) || !taken.insert(two) {
                continue;
            }
            wanted.insert(own);
            match found {
                Found::Open { parameters, .. } => pairs.open.push((two, parameters, own.to_owned())),
                Found::Value { .. } if is_dequantized(two) => pairs.dequantized.push((two, own.to_owned())),
                Found::Value { .. } => pairs.floats.push((two, own.to_owned())),
            }
        }
        pairs
    }
}

/// Returns `true` if a node makes, takes or gives quantized numbers, by its operator.
fn has_quantized_operator(model: &Model, node: NodeId) -> bool {
    let op = model.str(model.node(node).op());
    op.contains("QuantizeLinear") || op.starts_with("QLinear") || op == "QGemm"
}

/// Returns `true` if two nodes have one operator, the same attributes, and as many operands and results.
fn same_operator((a, one): (&Model, NodeId), (b, two): (&Model, NodeId)) -> bool {
    let (one, two) = (a.node(one), b.node(two));
    let has_sizes = one.input_count() == two.input_count() && one.outputs().len() == two.outputs().len();
    let is_same = a.str(one.op()) == b.str(two.op()) && a.str(one.domain()) == b.str(two.domain());
    has_sizes
        && is_same
        && one.attributes().len() == two.attributes().len()
        && one.attributes().iter().all(|attribute| {
            let mut others = two.attributes().iter();
            others.any(|other| {
                a.str(attribute.name()) == b.str(other.name()) && attribute.value() == other.value()
            })
        })
}
