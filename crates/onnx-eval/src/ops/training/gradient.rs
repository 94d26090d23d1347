//! `Gradient`: the derivatives of the sum of a value of the graph by some of the values that it is computed from.
//!
//! The nodes between the values named in `xs` and `zs` and the value named in `y`, which are those of the graph of the node,
//! run on the inputs of the node in place of the values; constants of the graph take part as they are. The derivatives follow
//! in reverse, in `double`, by the rule of each operator, and are rounded once. Where a function has no derivative, as `Relu`
//! at 0, it is 0. A value that does not depend on an `x` has the derivative 0. `derivatives.rs` has the rules: elementwise
//! operators, sums, products of matrices, and operators that move elements; a derivative of another operator, of a function, or
//! of another `Gradient` is unsupported.

use std::collections::BTreeMap;
use std::sync::Arc;

use onnx_ir::{AttrValue, Def, NodeId, ValueId};
use onnx_schema::{Registry, attr, domain, op};
use onnx_types::Symbol;
use smallvec::SmallVec;

use super::derivatives::{Tensor, pulled_back};
use crate::cx::{Cx, Operand, Outcome, Stop};
use crate::engine::constant::Weight;
use crate::engine::types;
use crate::ops::math::cast::put_real;
use crate::registry::{Kernel, OpKernels, eval, kernel, since};
use crate::value::Value;

pub(super) const KERNELS: OpKernels =
    eval(op::GRADIENT, &[since(1, gradient)]).open().of(domain::PREVIEW_TRAINING);

fn gradient(cx: &mut Cx<'_, '_>) -> Outcome {
    let xs = named(cx, attr::XS)?;
    let zs = named(cx, attr::ZS)?;
    let y = named(cx, attr::Y)?;
    if y.is_empty() {
        return Err(Stop::failed("`y` names no value"));
    }
    let mut values: BTreeMap<ValueId, Value> = BTreeMap::new();
    for (index, &given) in xs.iter().chain(&zs).enumerate() {
        values.insert(given, cx.value(index)?.clone());
    }
    let order = between(cx, &mut values, &y)?;
    for &id in &order {
        let inputs = operands(cx, &values, id);
        let outputs = run(cx, id, &inputs, |cx, kernel| {
            kernel(cx)?;
            Ok(std::mem::take(&mut cx.outputs))
        })?;
        for (value, output) in cx.model.node(id).outputs().iter().zip(outputs) {
            if let (Some(value), Some(output)) = (value, output) {
                values.insert(*value, output);
            }
        }
    }
    let mut slopes: BTreeMap<ValueId, Vec<f64>> = BTreeMap::new();
    for &y in &y {
        let tensor = read(cx, values.get(&y))?;
        slopes.insert(y, vec![1.0; tensor.values.len()]);
    }
    for &id in order.iter().rev() {
        back(cx, &values, &mut slopes, id)?;
    }
    for (index, x) in xs.iter().enumerate() {
        let operand = cx.tensor(index)?;
        let zeros = cx.filled(operand.count, 0.0)?;
        put_real(cx, index, operand.elem, &operand.dims, slopes.get(x).unwrap_or(&zeros))?;
    }
    Ok(())
}

/// The values that an attribute names; where a call passes the attribute to the function around the node, those of these names that
/// the node sees.
fn named(cx: &Cx<'_, '_>, name: Symbol) -> Outcome<Vec<ValueId>> {
    let missing = |name: &str| Stop::failed(format_args!("no value is named {}", onnx_diag::Quoted(name)));
    let names = match cx.attribute(name).map(onnx_ir::Attribute::value) {
        None | Some(AttrValue::None) => return Ok(Vec::new()),
        Some(AttrValue::String(name)) => std::slice::from_ref(name),
        Some(AttrValue::Strings(names)) => names,
        Some(value) => {
            let is_defined = |&value: &ValueId| match cx.model.value(value).def() {
                Def::Unresolved(_) => Err(missing(cx.model.str(cx.model.value(value).name()))),
                _ => Ok(value),
            };
            return value.values().iter().map(is_defined).collect();
        }
    };
    let find = |name: &bytes::Bytes| {
        let text = String::from_utf8_lossy(name);
        cx.model.find_value(cx.node.graph(), &text).ok_or_else(|| missing(&text))
    };
    names.iter().map(find).collect()
}

/// The nodes that compute the wanted values from the known ones, in order. Constants on the way become known.
fn between(
    cx: &mut Cx<'_, '_>,
    known: &mut BTreeMap<ValueId, Value>,
    wanted: &[ValueId],
) -> Outcome<Vec<NodeId>> {
    let mut needed: BTreeMap<NodeId, ()> = BTreeMap::new();
    let mut open: Vec<ValueId> = wanted.to_vec();
    while let Some(value) = open.pop() {
        if known.contains_key(&value) {
            continue;
        }
        cx.work(1)?;
        if let Some(constant) = cx.model.value(value).initializer() {
            let weight = Weight::new(Arc::clone(constant));
            known.insert(value, weight.value(cx.data, cx.budget)?);
            continue;
        }
        let Def::Output { node, .. } = cx.model.value(value).def() else {
            let name = onnx_diag::Quoted(cx.model.str(cx.model.value(value).name()));
            return Err(Stop::failed(format_args!("`y` depends on {name}, which `xs` and `zs` do not name")));
        };
        if needed.insert(node, ()).is_none() {
            open.extend(cx.model.node(node).inputs().flatten());
        }
    }
    let mut order = Vec::with_capacity(needed.len());
    let mut graphs: Vec<_> = needed.keys().map(|&node| cx.model.node(node).graph()).collect();
    graphs.dedup();
    let Some(&first) = graphs.first() else { return Ok(order) };
    if graphs.iter().any(|&graph| graph != first) {
        return Err(Stop::unsupported("a derivative across graphs"));
    }
    let sorted = cx.model.sorted_nodes(first).map_err(|cycle| Stop::failed(cycle.to_string()))?;
    order.extend(sorted.into_iter().filter(|node| needed.contains_key(node)));
    Ok(order)
}

fn operands(cx: &Cx<'_, '_>, values: &BTreeMap<ValueId, Value>, id: NodeId) -> SmallVec<[Option<Value>; 4]> {
    let inputs = cx.model.node(id).inputs();
    inputs.map(|input| input.and_then(|input| values.get(&input).cloned())).collect()
}

/// Does something in the context of another node of the model.
fn run<R>(
    cx: &mut Cx<'_, '_>,
    id: NodeId,
    inputs: &[Option<Value>],
    then: impl FnOnce(&mut Cx<'_, '_>, crate::registry::KernelFn) -> Outcome<R>,
) -> Outcome<R> {
    let node = cx.model.node(id);
    let name = cx.model.str(node.op());
    let schema = cx.model.callee(id, Registry::STANDARD).standard();
    let Some((schema, Some(Kernel::Plain(kernel)))) = schema.map(|schema| (schema, kernel(schema.id())))
    else {
        return Err(Stop::unsupported(format_args!("the derivative of `{name}`")));
    };
    types::check(schema, inputs)?;
    let mut inputs = inputs.to_vec();
    let mut inner = Cx {
        model: cx.model,
        node,
        schema: Some(onnx_schema::SchemaRef::Standard(schema)),
        arguments: cx.arguments,
        inputs: &mut inputs,
        spare: [None, None],
        outputs: SmallVec::new(),
        buffers: SmallVec::new(),
        budget: &mut *cx.budget,
        data: cx.data,
        seed: cx.seed,
        is_double: cx.is_double,
        threads: cx.threads,
    };
    then(&mut inner, kernel)
}

fn read(cx: &mut Cx<'_, '_>, value: Option<&Value>) -> Outcome<Tensor> {
    let Some(Value::Tensor(tensor)) = value else {
        return Err(Stop::unsupported("the derivative of a value that is not a tensor"));
    };
    let operand = Operand::new(tensor.clone())?;
    let values = cx.read_f64(&operand)?.into_vec();
    Ok(Tensor { is_float: operand.elem.is_float(), dims: operand.dims, values })
}

/// Adds what a node contributes to the derivatives by its inputs.
fn back(
    cx: &mut Cx<'_, '_>,
    values: &BTreeMap<ValueId, Value>,
    slopes: &mut BTreeMap<ValueId, Vec<f64>>,
    id: NodeId,
) -> Outcome {
    let record = cx.model.node(id);
    let mut outputs = record.outputs().iter().flatten();
    let slope = outputs.next().and_then(|output| Some((*output, slopes.get(output)?.clone())));
    if outputs.any(|output| slopes.contains_key(output)) {
        return Err(Stop::unsupported("the derivative of a second output"));
    }
    let Some((output, slope)) = slope else { return Ok(()) };
    let result = read(cx, values.get(&output))?;
    let inputs = operands(cx, values, id);
    let mut tensors = Vec::with_capacity(inputs.len());
    for input in &inputs {
        tensors.push(match input {
            Some(input) => Some(read(cx, Some(input))?),
            None => None,
        });
    }
    let parts = run(cx, id, &inputs, |cx, _| pulled_back(cx, &tensors, &result, &slope))?;
    for ((input, part), tensor) in record.inputs().zip(parts).zip(&tensors) {
        let (Some(input), Some(part), Some(tensor)) = (input, part, tensor) else { continue };
        if !tensor.is_float {
            continue;
        }
        let sum = slopes.entry(input).or_insert_with(|| vec![0.0; part.len()]);
        sum.iter_mut().zip(part).for_each(|(sum, part)| *sum += part);
    }
    Ok(())
}
