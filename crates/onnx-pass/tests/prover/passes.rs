//! Passes with faults: the claims of the edits that the passes of this crate make on generated models, with a fault in the new
//! side of each. A claim with a fault that inputs show must be refused.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;

use onnx_ir::{AttrValue, Attribute, GraphId, Model, NewNode, NodeId, Position, ValueId};
use onnx_pass::{Equivalence, Level, Pass, PassCx, PassOptions, Verdict, prove};
use onnx_schema::{attr, op};
use onnx_smith::SmithOptions;
use onnx_types::Symbol;
use onnx_types::tensor::{NoData, Tensor};

use crate::witness;

/// Number of generated models.
const MODELS: u64 = 120;

/// Claims of one pass that get faults, at most: passes that edit often do not crowd out others.
const CLAIMS: usize = 12;

/// Faults of one kind in a claim, at most.
const FAULTS: usize = 1;

/// Operators that are taken for each other by mistake.
const SIBLINGS: &[(Symbol, Symbol)] = &[
    (op::ADD, op::SUB),
    (op::SUB, op::ADD),
    (op::MUL, op::DIV),
    (op::DIV, op::MUL),
    (op::MAX, op::MIN),
    (op::MIN, op::MAX),
    (op::CEIL, op::FLOOR),
    (op::FLOOR, op::CEIL),
    (op::LESS, op::LESS_OR_EQUAL),
    (op::GREATER, op::GREATER_OR_EQUAL),
    (op::RELU, op::ABS),
    (op::NEG, op::ABS),
    (op::AND, op::OR),
    (op::OR, op::AND),
    (op::REDUCE_MAX, op::REDUCE_MIN),
    (op::REDUCE_SUM, op::REDUCE_MEAN),
    (op::SQUEEZE, op::UNSQUEEZE),
];

/// The claims of the passes on generated models, different ones, with the name of the pass.
fn claims() -> Vec<(String, Equivalence)> {
    let mut claims = Vec::new();
    let mut known: BTreeSet<u128> = BTreeSet::new();
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for seed in 0..MODELS {
        let options = SmithOptions::default().with_nodes(4 + (seed % 4) as usize * 4);
        let mut model = onnx_smith::from_seed(seed, &options).model;
        let found: Mutex<Vec<Equivalence>> = Mutex::default();
        let observe = |eq: &Equivalence| found.lock().unwrap().push(eq.clone());
        let options = PassOptions::default().with_level(Level::Rules).with_claim_observer(Some(&observe));
        let mut cx = PassCx::new(&mut model, options);
        for pass in Pass::standard() {
            pass.run(&mut cx);
            for eq in std::mem::take(&mut *found.lock().unwrap()) {
                let count = counts.entry(pass.name().to_owned()).or_default();
                if *count < CLAIMS && eq.hash().is_ok_and(|hash| known.insert(hash)) {
                    *count += 1;
                    claims.push((pass.name().to_owned(), eq));
                }
            }
        }
    }
    claims
}

/// The function of the new side.
fn new_side(model: &Model) -> GraphId {
    let is_new = |&&function: &&_| model.str(model.function(function).name()) == "after";
    model.function(*model.functions().iter().find(is_new).unwrap()).body()
}

/// A model with a fault in the new side, and its kind.
type Faulty = (&'static str, Model);

fn faults(eq: &Equivalence) -> Vec<Faulty> {
    let mut found: Vec<Faulty> = Vec::new();
    let graph = new_side(eq.model());
    let mut add = |kind: &'static str, change: &dyn Fn(&mut Model) -> bool| {
        let mut model = eq.model().clone();
        let count = found.iter().filter(|(other, _)| *other == kind).count();
        if count < FAULTS && change(&mut model) {
            found.push((kind, model));
        }
    };
    let nodes: Vec<NodeId> = eq.model().nodes(graph).collect();
    for &node in &nodes {
        add("operands exchanged", &|model| exchange(model, node));
        add("attribute dropped", &|model| drop_attribute(model, node));
        add("number in an attribute", &|model| change_attribute(model, node));
        add("axes reversed", &|model| reverse(model, node));
        add("another operator", &|model| replace_operator(model, node));
        add("constant changed", &|model| change_constant(model, graph, node));
        add("node left out", &|model| bypass(model, node));
        add("another operand", &|model| other_operand(model, graph, node));
    }
    add("one more node", &|model| append(model, graph, op::ABS));
    add("one more node", &|model| append(model, graph, op::NEG));
    found
}

fn exchange(model: &mut Model, node: NodeId) -> bool {
    let record = model.node(node);
    let (Some(a), Some(b)) = (record.input(0), record.input(1)) else { return false };
    model.set_input(node, 0, Some(b));
    model.set_input(node, 1, Some(a));
    a != b
}

fn drop_attribute(model: &mut Model, node: NodeId) -> bool {
    let attributes = model.node(node).attributes();
    let Some(name) = attributes.iter().find(|one| one.value().graphs().is_empty()).map(Attribute::name)
    else {
        return false;
    };
    model.remove_attribute(node, name)
}

fn change_attribute(model: &mut Model, node: NodeId) -> bool {
    let change = |attribute: &Attribute| match attribute.value() {
        AttrValue::Int(number) => Some(Attribute::new(attribute.name(), number.wrapping_add(1))),
        AttrValue::Float(number) => Some(Attribute::new(attribute.name(), number * 1.01 + 1e-3)),
        _ => None,
    };
    let Some(changed) = model.node(node).attributes().iter().find_map(change) else { return false };
    model.set_attribute(node, changed).is_ok()
}

fn reverse(model: &mut Model, node: NodeId) -> bool {
    let change = |attribute: &Attribute| match attribute.value() {
        AttrValue::Ints(numbers) => {
            let numbers: Vec<i64> = numbers.iter().rev().copied().collect();
            Some(Attribute::new(attribute.name(), numbers))
        }
        _ => None,
    };
    let Some(changed) = model.node(node).attributes().iter().find_map(change) else { return false };
    model.set_attribute(node, changed).is_ok()
}

fn replace_operator(model: &mut Model, node: NodeId) -> bool {
    let record = model.node(node);
    let sibling = SIBLINGS.iter().find(|(one, _)| record.is(*one)).map(|&(_, other)| other);
    let Some(sibling) = sibling else { return false };
    let domain = record.domain();
    model.set_op(node, domain, sibling, Symbol::EMPTY);
    true
}

/// Lets a node read a constant that differs from the one of the claim in one element.
fn change_constant(model: &mut Model, graph: GraphId, node: NodeId) -> bool {
    let inputs = model.graph(graph).inputs().to_vec();
    let call = model.nodes(model.main_graph()).next().unwrap();
    let constant = |value: ValueId| {
        let place = inputs.iter().position(|&input| input == value)?;
        model.constant_tensor(model.node(call).input(place)?).and_then(changed)
    };
    let operands: Vec<ValueId> = model.node(node).inputs().flatten().collect();
    let found = operands.iter().enumerate().find_map(|(index, &value)| Some((index, constant(value)?)));
    let Some((index, tensor)) = found else { return false };
    let made = model.build_at(Position::Start(graph)).op(op::CONSTANT, []).attr(attr::VALUE, tensor).output();
    model.set_input(node, index, made.ok());
    true
}

fn changed(tensor: &Tensor) -> Option<Tensor> {
    let dims = tensor.dims().to_vec();
    if let Ok(mut elements) = tensor.to_vec::<i64>(&NoData) {
        let last = elements.last_mut()?;
        *last = last.wrapping_add(1);
        return Tensor::from_slice(dims, &elements).ok();
    }
    if let Ok(mut elements) = tensor.to_vec::<bool>(&NoData) {
        let last = elements.last_mut()?;
        *last = !*last;
        return Tensor::from_slice(dims, &elements).ok();
    }
    let mut elements = tensor.to_vec::<f32>(&NoData).ok()?;
    let last = elements.last_mut()?;
    *last = *last * 1.01 + 1e-3;
    Tensor::from_slice(dims, &elements).ok()
}

/// Lets the users of a node have its operand.
fn bypass(model: &mut Model, node: NodeId) -> bool {
    let record = model.node(node);
    let (Some(operand), Some(output), false) = (record.input(0), record.output(0), record.is(op::IDENTITY))
    else {
        return false;
    };
    model.replace_all_uses(output, operand);
    true
}

/// Lets a node read another input of the claim.
fn other_operand(model: &mut Model, graph: GraphId, node: NodeId) -> bool {
    let Some(operand) = model.node(node).input(0) else { return false };
    let others = model.graph(graph).inputs().to_vec();
    let Some(other) = others.into_iter().find(|&other| other != operand) else { return false };
    model.set_input(node, 0, Some(other));
    true
}

/// Computes something of the result.
fn append(model: &mut Model, graph: GraphId, operator: Symbol) -> bool {
    let Some(result) = model.graph(graph).outputs().first().map(onnx_ir::GraphOutput::value) else {
        return false;
    };
    let name = model.intern("appended");
    let new = model.new_value(name);
    let node = NewNode::new(operator).inputs([result]).outputs([new]);
    if model.add_node(Position::End(graph), node).is_err() {
        return false;
    }
    model.set_output(graph, 0, new);
    true
}

#[test]
fn passes_with_faults_are_refuted() {
    let claims = claims();
    let mut rows: BTreeMap<(String, &'static str), [usize; 3]> = BTreeMap::new();
    let mut accepted = Vec::new();
    for (pass, eq) in &claims {
        for (kind, model) in faults(eq) {
            let Ok(faulty) = Equivalence::from_model(model) else { continue };
            let row = rows.entry((pass.clone(), kind)).or_default();
            let verdict = prove(&faulty, &PassOptions::default());
            let witness = witness::search(&faulty, "");
            match (&verdict, witness) {
                (Verdict::Refuted(_), Some(_)) => row[0] += 1,
                (Verdict::Proved(_) | Verdict::Tested { .. }, Some(witness)) => {
                    row[1] += 1;
                    accepted.push(format!("{pass}, {kind}: {verdict}, but wrong for {witness}\n{faulty:?}"));
                }
                _ => row[2] += 1,
            }
        }
    }
    let total = |index: usize| rows.values().map(|row| row[index]).sum::<usize>();
    let (refuted, missed, others) = (total(0), total(1), total(2));
    println!(
        "{} claims; {refuted} wrong ones refuted, {missed} accepted; {others} not shown to be wrong",
        claims.len()
    );
    for ((pass, kind), [refuted, accepted, others]) in &rows {
        println!(
            "{pass:24} {kind:24} {refuted:4} refuted, {accepted:2} accepted, {others:3} not shown to be wrong"
        );
    }
    println!("{}", accepted.join("\n"));
    assert!(refuted >= 100, "{refuted} faults");
    assert!(missed * 100 <= refuted, "{missed} of {refuted} faults are accepted");
}
