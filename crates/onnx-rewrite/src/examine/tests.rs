//! Which operands and attributes are generated around each operator.

use std::collections::BTreeMap;

use onnx_ir::AttrValue;
use onnx_types::Execution;
use onnx_types::tensor::{NoData, Tensor};

use super::generate::{Generator, Slot};
use crate::parse::parse;
use crate::pattern::Pattern;

/// Properties of the operands and attributes of generated nodes, each with the number of models.
type Features = BTreeMap<String, usize>;

const MODELS: usize = 400;

/// A rule around one node with all operands of an operator, and attributes that may be omitted.
fn rule_around(schema: &onnx_schema::Schema) -> String {
    let (mut operands, mut arguments) = (Vec::new(), Vec::new());
    for (index, formal) in schema.inputs().iter().enumerate() {
        let (suffix, star) = match () {
            () if formal.is_variadic() => ("*", "*"),
            () if formal.is_optional() => ("?", ""),
            () => ("", ""),
        };
        operands.push(format!("v{index}{suffix}"));
        arguments.push(format!("v{index}{star}"));
    }
    let results: Vec<String> = (0..schema.min_outputs().max(1)).map(|index| format!("y{index}")).collect();
    let (operands, arguments, results) = (operands.join(", "), arguments.join(", "), results.join(", "));
    let domain = if schema.domain_name().is_empty() { "ai.onnx" } else { schema.domain_name() };
    let call = format!("{results} = {domain}.{} <...> ({arguments})", schema.name());
    format!(
        "rule t: exact from ({operands}) => ({results}) {{ {call} }} to ({operands}) => ({results}) {{ {call} }}"
    )
}

fn of_operands(tensors: &[Option<Tensor>], found: &mut Vec<String>) {
    let Some(first) = tensors.first().and_then(Option::as_ref) else { return };
    found.push(format!("rank {}", first.dims().len()));
    if first.dims().contains(&0) {
        found.push("empty".to_owned());
    }
    for (index, tensor) in tensors.iter().enumerate().skip(1) {
        let Some(tensor) = tensor else {
            found.push(format!("{index} absent"));
            continue;
        };
        let (a, b) = (first.dims(), tensor.dims());
        found.push(format!(
            "{index} rank{}",
            match a.len().cmp(&b.len()) {
                std::cmp::Ordering::Less => ">",
                std::cmp::Ordering::Equal => "=",
                std::cmp::Ordering::Greater => "<",
            }
        ));
        if b.len() < 3 {
            found.push(format!("{index} rank {}", b.len()));
        }
        for (axis, (&a, &b)) in a.iter().rev().zip(b.iter().rev()).enumerate() {
            let place = if axis < 2 { "" } else { " before the last two" };
            if a == 1 && b > 1 {
                found.push(format!("{index} n:1{place}"));
            } else if a > 1 && b == 1 {
                found.push(format!("{index} 1:n{place}"));
            }
        }
        if let Ok(numbers) = tensor.get_i64s(&NoData, 16) {
            if numbers.iter().any(|&number| number < 0) {
                found.push(format!("{index} <0"));
            }
            if numbers.iter().any(|&number| number >= 0) {
                found.push(format!("{index} >=0"));
            }
        }
    }
}

fn of_attributes(schema: &onnx_schema::Schema, attributes: &[(String, AttrValue)], found: &mut Vec<String>) {
    for formal in schema.attributes() {
        let name = formal.text();
        match attributes.iter().find(|(other, _)| other == name).map(|(_, value)| value) {
            None => found.push(format!("{name} absent")),
            Some(AttrValue::Int(number)) => {
                let range = match number {
                    ..0 => "<0",
                    0 => "=0",
                    1 => "=1",
                    _ => ">1",
                };
                found.push(format!("{name}{range}"));
            }
            Some(AttrValue::String(text)) => found.push(format!("{name} {}", String::from_utf8_lossy(text))),
            Some(AttrValue::Ints(numbers)) => {
                found.push(name.to_owned());
                if numbers.iter().any(|&number| number < 0) {
                    found.push(format!("{name}<0"));
                }
            }
            Some(_) => found.push(name.to_owned()),
        }
    }
}

fn features(schema: &onnx_schema::Schema, count: usize) -> (usize, Features, String) {
    let text = rule_around(schema);
    let (rules, _) = parse(&text).unwrap_or_else(|error| panic!("{text}: {error:?}"));
    let pattern = Pattern::new(rules[0].clone());
    let mut generator = Generator::new(&pattern, &Execution::DEFAULT);
    let (mut models, mut all, mut why) = (0, Features::new(), String::new());
    for _ in 0..count {
        if generator.model().is_none() {
            why = generator.difficulty();
            continue;
        }
        models += 1;
        let mut tensors = Vec::new();
        for (var, _) in &pattern.rule.from.inputs {
            match generator.slots[*var].clone() {
                Some(Slot::Rest(list)) => tensors.extend(list.into_iter().map(Some)),
                Some(slot) => tensors.push(slot.tensor().cloned()),
                None => tensors.push(None),
            }
        }
        let mut found = Vec::new();
        of_operands(&tensors, &mut found);
        of_attributes(schema, &generator.chosen[0].attributes, &mut found);
        found.sort();
        found.dedup();
        found.into_iter().for_each(|feature| *all.entry(feature).or_default() += 1);
    }
    (models, all, why)
}

/// What must be generated around each operator that broadcasts, or that takes several ranks or notations of axes: properties of the
/// first operand (`rank 3`, `empty`), of others by their indices (`1 rank>`: more axes than the first one; `1 n:1`: a size that is
/// 1 in the first one and not in this one), and of attributes.
const EXPECTED: &[(&str, &str)] = &[
    (
        "MatMul",
        "rank 1, rank 2, rank 3, rank 4, empty, 1 rank 1, 1 rank 2, 1 rank<, 1 rank=, 1 rank>, 1 n:1 before the last two, 1 1:n before the last two",
    ),
    (
        "MatMulInteger",
        "rank 1, rank 3, 1 rank 1, 1 rank<, 1 rank>, 1 n:1 before the last two, 1 1:n before the last two, 2 absent, 2 rank 0, 3 rank 1",
    ),
    (
        "QLinearMatMul",
        "rank 1, rank 3, 3 rank 1, 3 rank<, 3 rank>, 3 n:1 before the last two, 3 1:n before the last two",
    ),
    ("Gemm", "2 rank 0, 2 rank 1, 2 rank 2, 2 absent, 2 1:n, transA=1, transB=1, alpha, beta"),
    ("Add", "rank 0, rank 1, rank 6, empty, 1 rank 0, 1 rank<, 1 rank=, 1 rank>, 1 n:1, 1 1:n"),
    ("Pow", "rank 0, 1 rank<, 1 rank=, 1 rank>, 1 n:1, 1 1:n"),
    ("Where", "rank 0, 1 rank<, 1 rank>, 1 n:1, 1 1:n, 2 rank<, 2 rank>, 2 n:1, 2 1:n"),
    ("PRelu", "1 rank 0, 1 rank<, 1 rank=, 1 1:n"),
    ("Expand", "rank 0, 1 rank 1, empty"),
    ("Concat", "rank 1, rank 3, axis<0, axis=0, axis>1, 2 rank="),
    ("Gather", "rank 1, rank 3, 1 rank 0, 1 rank 1, 1 rank 2, 1 <0, axis<0, axis=0, axis>1, axis absent"),
    ("GatherElements", "1 <0, 1 rank=, axis<0, axis>1"),
    ("GatherND", "rank 1, rank 4, 1 rank 1, 1 rank 2, 1 <0, batch_dims=1, batch_dims absent"),
    ("ScatterND", "1 rank 1, 1 rank 2, 1 <0, 2 rank 0, reduction add, reduction max"),
    (
        "ReduceSum",
        "rank 0, rank 4, empty, 1 absent, 1 <0, 1 >=0, keepdims=0, keepdims=1, noop_with_empty_axes=1",
    ),
    ("ReduceMax", "rank 0, rank 4, empty, 1 absent, 1 <0, 1 >=0, keepdims=0, keepdims=1"),
    ("ArgMax", "axis<0, axis=0, axis>1, keepdims=0, select_last_index=1"),
    ("Squeeze", "rank 2, rank 4, 1 absent, 1 <0, 1 >=0"),
    ("Unsqueeze", "rank 0, rank 1, rank 3, 1 <0, 1 >=0"),
    ("Transpose", "rank 0, rank 1, rank 4, perm, perm absent"),
    ("Flatten", "rank 1, rank 4, axis<0, axis=0, axis>1, axis absent"),
    ("Slice", "rank 1, rank 4, 1 <0, 2 <0, 3 <0, 3 absent, 4 <0, 4 absent"),
    ("Pad", "rank 1, rank 4, 1 <0, 2 absent, 3 absent, 3 <0, mode reflect, mode edge, mode wrap"),
    ("Tile", "rank 1, rank 4"),
    ("Split", "axis<0, axis=0, axis>1"),
    ("TopK", "axis<0, axis=0, axis>1, largest=0"),
    ("CumSum", "1 <0, 1 >=0, exclusive=1, reverse=1"),
    ("Softmax", "rank 1, rank 2, rank 4, rank 6, axis<0, axis=0, axis>1, axis absent"),
    ("LogSoftmax", "rank 1, rank 4, axis<0, axis=0, axis>1"),
    ("LayerNormalization", "rank 1, rank 4, 1 rank 1, 1 rank 2, 2 absent, axis<0, axis=0, axis>1"),
    ("Dropout", "1 absent, 2 absent, 2 rank 0"),
];

#[test]
fn operands_have_all_ranks_and_notations() {
    let mut missing = Vec::new();
    for (op, expected) in EXPECTED {
        let schema = onnx_schema::lookup_by_name("", op, i64::MAX).unwrap();
        let (models, found, why) = features(schema, MODELS);
        let lacks = |feature: &&str| !found.contains_key(*feature);
        let lacking: Vec<&str> = expected.split(", ").filter(lacks).collect();
        if !lacking.is_empty() {
            missing.push(format!("{op} ({models} models, {why}): {lacking:?} of {found:?}"));
        }
    }
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}

/// Every operator that broadcasts all operands does so with operands that are smaller and larger than the first one.
#[test]
fn operands_are_broadcast_in_both_directions() {
    for versions in onnx_schema::operators() {
        let schema = onnx_schema::lookup_by_name("", versions[0].name(), i64::MAX);
        let Some(schema) =
            schema.filter(|schema| schema.traits().broadcasts() && schema.max_inputs() != Some(1))
        else {
            continue;
        };
        let (_, found, _) = features(schema, MODELS);
        for feature in ["1 rank<", "1 rank=", "1 rank>", "1 n:1", "1 1:n"] {
            assert!(found.contains_key(feature), "{}: {feature} of {found:?}", schema.name());
        }
    }
}

/// Operators around which no model is generated: those of training, and that which is a function of graphs. Rules cannot write graphs, so that operators which require them are not in the list.
const NOT_GENERATED: &[&str] = &[
    "ai.onnx.preview.training.Adagrad-1",
    "ai.onnx.preview.training.Adam-1",
    "ai.onnx.preview.FlexAttention-1",
    "ai.onnx.preview.training.Gradient-1",
    "ai.onnx.preview.training.Momentum-1",
];

/// Attempts to generate a model around each operator.
const FEW: usize = 60;

/// Whether an operator has an attribute that is a graph.
fn has_graph(schema: &onnx_schema::Schema) -> bool {
    schema.attributes().iter().any(|formal| {
        formal.is_required
            && matches!(formal.kind, onnx_schema::AttrKind::Graph | onnx_schema::AttrKind::Graphs)
    })
}

/// Models are generated around every operator, those that are deprecated included. The list of exceptions can only become shorter.
#[test]
fn models_are_generated_around_every_operator() {
    let mut missing = Vec::new();
    for versions in onnx_schema::operators() {
        let Some(schema) = versions.iter().rfind(|schema| !schema.is_deprecated()) else { continue };
        // The kernel of `ImageDecoder` is a feature of the build.
        if has_graph(schema) || schema.op() == onnx_schema::op::IMAGE_DECODER {
            continue;
        }
        let (models, _, why) = features(schema, FEW);
        if models < FEW / 20 {
            missing.push((schema.to_string(), models, why));
        }
    }
    let names: Vec<&str> = missing.iter().map(|(name, ..)| name.as_str()).collect();
    let texts: Vec<String> =
        missing.iter().map(|(name, models, why)| format!("{name}: {models} models, {why}")).collect();
    assert_eq!(names, NOT_GENERATED, "{}", texts.join("\n"));
}
