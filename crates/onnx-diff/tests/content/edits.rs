//! Edits that change what a model is, one at a time.

use std::sync::Arc;

use onnx_diff::ModelHash;
use onnx_ir::{
    AttrValue, Attribute, Callee, Constant, Def, GraphId, Model, NewNode, NodeId, Owner, Position, ValueId,
};
use onnx_schema::{Registry, op};
use onnx_types::tensor::{NoData, Tensor};
use onnx_types::{ElemType, Symbol, Type, TypeKind};

use crate::random::Random;

/// A kind of edit: its name, and which digests other than that of the model it changes.
pub(crate) struct Edit {
    pub(crate) name: &'static str,
    pub(crate) apply: fn(&mut Model, &mut Random) -> Option<()>,
    /// The digests that must change.
    pub(crate) changes: &'static [Part],
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Part {
    Structure,
    Interface,
    Weights,
}

impl Part {
    pub(crate) fn of(self, hash: &ModelHash) -> onnx_diff::Digest {
        match self {
            Self::Structure => hash.structure,
            Self::Interface => hash.interface,
            Self::Weights => hash.weights,
        }
    }
}

const fn edit(
    name: &'static str,
    apply: fn(&mut Model, &mut Random) -> Option<()>,
    changes: &'static [Part],
) -> Edit {
    Edit { name, apply, changes }
}

/// All kinds. An edit does nothing and returns `None` if the model has nothing for it.
pub(crate) const ALL: &[Edit] = &[
    edit("attribute changed", change_attribute, &[]),
    edit("attribute removed", remove_attribute, &[]),
    edit("operator changed", change_operator, &[Part::Structure]),
    edit("operands swapped", swap_operands, &[]),
    edit("operand changed", rewire, &[]),
    edit("node removed", remove_node, &[Part::Structure]),
    edit("node added", add_node, &[Part::Structure]),
    edit("dead node added", add_dead_node, &[Part::Structure]),
    edit("element type of a weight changed", change_type, &[Part::Structure, Part::Weights]),
    edit("dimensions of a weight changed", change_dims, &[Part::Structure, Part::Weights]),
    edit("bit of a weight changed", change_bit, &[Part::Weights]),
    edit("initializer added", add_initializer, &[Part::Structure, Part::Weights]),
    edit("order of outputs changed", swap_outputs, &[Part::Interface]),
    edit("order of inputs changed", swap_inputs, &[Part::Interface]),
    edit("output added", add_output, &[Part::Structure, Part::Interface]),
    edit("input renamed", rename_input, &[Part::Interface]),
    edit("type of an input changed", change_input_type, &[Part::Interface]),
    edit("operator set version changed", change_opset, &[Part::Structure]),
    edit("function renamed", rename_function, &[Part::Structure]),
];

fn nodes(model: &Model) -> Vec<NodeId> {
    model.all_graphs().flat_map(|graph| model.nodes(graph)).collect()
}

/// A number other than the given one.
fn other(random: &mut Random, value: i64) -> i64 {
    value.wrapping_add(1 + random.below(5) as i64)
}

/// An attribute that is not the default of the operator, and what may take its place.
fn attribute(model: &Model, random: &mut Random) -> Option<(NodeId, Attribute)> {
    let node = random.pick(&nodes(model))?;
    let attributes: Vec<&Attribute> = model.node(node).attributes().iter().collect();
    let attribute = random.pick(&attributes)?.clone();
    Some((node, attribute))
}

fn is_default(model: &Model, node: NodeId, attribute: &Attribute) -> bool {
    let Callee::Standard(schema) = model.callee(node, Registry::STANDARD) else { return false };
    let default = schema.attribute(attribute.name()).and_then(|attribute| attribute.default);
    default.is_some_and(|default| attribute.value().is_default(default))
}

fn change_attribute(model: &mut Model, random: &mut Random) -> Option<()> {
    let (node, attribute) = attribute(model, random)?;
    let value = match attribute.value() {
        AttrValue::Int(value) => AttrValue::Int(other(random, *value)),
        AttrValue::Float(value) => AttrValue::Float(f32::from_bits(value.to_bits() ^ 1)),
        AttrValue::String(value) => AttrValue::String([value, &b"x"[..]].concat().into()),
        AttrValue::Ints(values) => {
            let mut values = values.clone();
            let index = random.below(values.len());
            match values.get_mut(index) {
                Some(value) => *value = other(random, *value),
                None => values.push(0),
            }
            AttrValue::Ints(values)
        }
        AttrValue::Floats(values) => AttrValue::Floats([&values[..], &[0.5]].concat()),
        AttrValue::Tensor(tensor) => AttrValue::Tensor(Arc::new(with_other_bit(tensor, random)?)),
        _ => return None,
    };
    model.set_attribute(node, Attribute::new(attribute.name(), value)).ok()?;
    Some(())
}

fn remove_attribute(model: &mut Model, random: &mut Random) -> Option<()> {
    let (node, attribute) = attribute(model, random)?;
    if is_default(model, node, &attribute) || !attribute.value().graphs().is_empty() {
        return None;
    }
    model.remove_attribute(node, attribute.name()).then_some(())
}

fn change_operator(model: &mut Model, random: &mut Random) -> Option<()> {
    let node = random.pick(&nodes(model))?;
    let new = model.intern("SomethingElse");
    let (domain, overload) = (model.node(node).written_domain(), model.node(node).overload());
    model.set_op(node, domain, new, overload);
    Some(())
}

/// Whether two values are distinguished by what makes them, so that exchanging one for the other is not a symmetry.
fn are_different(model: &Model, a: ValueId, b: ValueId) -> bool {
    let (one, two) = (model.value(a), model.value(b));
    match (one.def(), two.def()) {
        (Def::Output { node: a, .. }, Def::Output { node: b, .. }) => {
            let name = |node| (model.node(node).domain(), model.node(node).op());
            name(a) != name(b)
        }
        (Def::Initializer(_), Def::Initializer(_)) => {
            one.constant().zip(two.constant()).is_some_and(|(one, two)| !one.same_meaning(two, &NoData))
        }
        (Def::Input { .. }, Def::Input { .. }) => a != b,
        (Def::Unresolved(_), Def::Unresolved(_)) => one.name() != two.name(),
        _ => true,
    }
}

fn swap_operands(model: &mut Model, random: &mut Random) -> Option<()> {
    let node = random.pick(&nodes(model))?;
    let inputs: Vec<(usize, ValueId)> =
        model.node(node).inputs().enumerate().filter_map(|(index, input)| Some((index, input?))).collect();
    let ((i, a), (j, b)) = (random.pick(&inputs)?, random.pick(&inputs)?);
    if !are_different(model, a, b) {
        return None;
    }
    model.set_input(node, i, Some(b));
    model.set_input(node, j, Some(a));
    Some(())
}

/// Values that a node may use instead of others: those of its graph that are defined before it.
fn visible(model: &Model, node: NodeId) -> Vec<ValueId> {
    let graph = model.node(node).graph();
    let before = model.nodes(graph).take_while(|&before| before != node);
    let made = before.flat_map(|before| model.node(before).outputs().iter().flatten().copied());
    let inputs = model.graph(graph).inputs().iter().copied();
    made.chain(inputs).chain(model.initializers(graph)).collect()
}

fn rewire(model: &mut Model, random: &mut Random) -> Option<()> {
    let node = random.pick(&nodes(model))?;
    let index = random.below(model.node(node).input_count());
    let old = model.node(node).input(index)?;
    let new = random.pick(&visible(model, node))?;
    if !are_different(model, old, new) {
        return None;
    }
    model.set_input(node, index, Some(new));
    Some(())
}

fn remove_node(model: &mut Model, random: &mut Random) -> Option<()> {
    let node = random.pick(&nodes(model))?;
    let record = model.node(node);
    let input = record.inputs().flatten().next();
    let outputs: Vec<ValueId> = record.outputs().iter().flatten().copied().collect();
    // Outputs of graphs keep their names.
    if record.nested_graphs().next().is_some() || outputs.iter().any(|&output| model.is_graph_output(output))
    {
        return None;
    }
    for output in outputs {
        if model.value(output).is_used() {
            model.replace_all_uses(output, input?);
        }
    }
    model.erase_node(node).ok()
}

fn add_node(model: &mut Model, random: &mut Random) -> Option<()> {
    let node = random.pick(&nodes(model))?;
    let index = random.below(model.node(node).input_count());
    let old = model.node(node).input(index)?;
    let new = model.new_value(Symbol::EMPTY);
    model.add_node(Position::Before(node), NewNode::new(op::IDENTITY).inputs([old]).outputs([new])).ok()?;
    model.set_input(node, index, Some(new));
    model.settle_names();
    Some(())
}

fn add_dead_node(model: &mut Model, random: &mut Random) -> Option<()> {
    let graphs: Vec<GraphId> = model.all_graphs().collect();
    let graph = random.pick(&graphs)?;
    let input = random.pick(model.graph(graph).inputs())?;
    let new = model.new_value(Symbol::EMPTY);
    model.add_node(Position::End(graph), NewNode::new(op::IDENTITY).inputs([input]).outputs([new])).ok()?;
    model.settle_names();
    Some(())
}

fn initializer(model: &Model, random: &mut Random) -> Option<(GraphId, ValueId, Tensor)> {
    let graphs: Vec<GraphId> = model.all_graphs().collect();
    let all: Vec<(GraphId, ValueId)> = graphs
        .iter()
        .flat_map(|&graph| model.initializers(graph).map(move |value| (graph, value)))
        // An unused one with another type and name is another one.
        .filter(|&(_, value)| {
            matches!(model.value(value).def(), Def::Initializer(_)) && model.value(value).is_used()
        })
        .collect();
    let (graph, value) = random.pick(&all)?;
    Some((graph, value, model.value(value).constant()?.dense()?.clone()))
}

fn set(model: &mut Model, graph: GraphId, value: ValueId, tensor: Tensor) {
    model.set_initializer(graph, value, Some(Arc::new(Constant::Dense(tensor))));
}

fn change_type(model: &mut Model, random: &mut Random) -> Option<()> {
    let (graph, value, tensor) = initializer(model, random)?;
    let other = match tensor.elem() {
        ElemType::Float => ElemType::Int32,
        ElemType::Int64 => ElemType::Double,
        ElemType::Float16 => ElemType::Bfloat16,
        ElemType::Int32 => ElemType::Uint32,
        _ => return None,
    };
    let new = Tensor::from_raw(other, tensor.dims().iter().copied(), tensor.bytes(&NoData).ok()?).ok()?;
    set(model, graph, value, new);
    Some(())
}

fn change_dims(model: &mut Model, random: &mut Random) -> Option<()> {
    let (graph, value, mut tensor) = initializer(model, random)?;
    let dims: Vec<i64> = tensor.dims().iter().copied().chain([1]).collect();
    tensor.set_dims(dims);
    set(model, graph, value, tensor);
    Some(())
}

fn with_other_bit(tensor: &Tensor, random: &mut Random) -> Option<Tensor> {
    // The highest bit of a byte can be padding.
    tensor.elem().bits().filter(|bits| *bits >= 8)?;
    let mut bytes = tensor.bytes(&NoData).ok()?.to_vec();
    let index = random.below(bytes.len());
    *bytes.get_mut(index)? ^= 1;
    Tensor::from_raw(tensor.elem(), tensor.dims().iter().copied(), bytes).ok()
}

fn change_bit(model: &mut Model, random: &mut Random) -> Option<()> {
    let (graph, value, tensor) = initializer(model, random)?;
    let new = with_other_bit(&tensor, random)?;
    set(model, graph, value, new);
    Some(())
}

fn add_initializer(model: &mut Model, random: &mut Random) -> Option<()> {
    let name = model.intern("another one");
    model.add_initializer(model.main_graph(), name, Tensor::scalar(random.next() as i64));
    Some(())
}

fn swap_outputs(model: &mut Model, random: &mut Random) -> Option<()> {
    let graph = model.main_graph();
    let outputs: Vec<ValueId> = model.graph(graph).outputs().iter().map(|output| output.value()).collect();
    let (i, j) = (random.below(outputs.len()), random.below(outputs.len()));
    let (a, b) = (*outputs.get(i)?, *outputs.get(j)?);
    if model.value(a).name() == model.value(b).name() {
        return None;
    }
    let order = (0..outputs.len()).map(|at| {
        if at == i {
            b
        } else if at == j {
            a
        } else {
            outputs[at]
        }
    });
    let order: Vec<ValueId> = order.collect();
    (0..outputs.len()).for_each(|_| model.remove_graph_output(graph, 0));
    order.into_iter().for_each(|value| model.push_graph_output(graph, value));
    Some(())
}

fn swap_inputs(model: &mut Model, random: &mut Random) -> Option<()> {
    let graph = model.main_graph();
    let mut inputs = model.graph(graph).inputs().to_vec();
    let (i, j) = (random.below(inputs.len()), random.below(inputs.len()));
    if i == j {
        return None;
    }
    inputs.swap(i, j);
    model.set_graph_inputs(graph, &inputs).ok()
}

fn add_output(model: &mut Model, random: &mut Random) -> Option<()> {
    let graph = model.main_graph();
    let nodes: Vec<NodeId> = model.nodes(graph).collect();
    let node = random.pick(&nodes)?;
    let value = model.node(node).outputs().iter().flatten().copied().next()?;
    if model.is_graph_output(value) {
        return None;
    }
    model.push_graph_output(graph, value);
    Some(())
}

fn rename_input(model: &mut Model, random: &mut Random) -> Option<()> {
    let input = random.pick(model.graph(model.main_graph()).inputs())?;
    let name = model.intern("called otherwise");
    model.set_value_name(input, name);
    Some(())
}

fn change_input_type(model: &mut Model, random: &mut Random) -> Option<()> {
    let input = random.pick(model.graph(model.main_graph()).inputs())?;
    let mut ty: Type = model.ty(input)?.clone();
    let TypeKind::Tensor(tensor) = &mut ty.kind else { return None };
    match &mut tensor.shape {
        Some(shape) if random.below(2) == 0 => shape.push(7.into()),
        _ => tensor.elem = if tensor.elem == ElemType::Float { ElemType::Double } else { ElemType::Float },
    }
    ty.source = None;
    model.set_type(input, Some(ty));
    Some(())
}

fn change_opset(model: &mut Model, random: &mut Random) -> Option<()> {
    let mut info = model.info_mut();
    let index = random.below(info.opset_imports.len());
    let import = info.opset_imports.get_mut(index)?;
    // An import under the other name of the default domain might not count.
    if import.domain() != import.written_domain() {
        return None;
    }
    let version = import.version();
    import.set_version(version + 1);
    Some(())
}

fn rename_function(model: &mut Model, random: &mut Random) -> Option<()> {
    let function = random.pick(model.functions())?;
    let body = model.function(function).body();
    assert!(matches!(model.graph(body).owner(), Owner::Function(_)));
    let name = model.intern("CalledOtherwise");
    let (domain, overload) = (model.function(function).domain(), model.function(function).overload());
    model.set_function_identities([(function, (domain, name, overload))]);
    Some(())
}
