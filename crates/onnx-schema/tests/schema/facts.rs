//! The tables agree with the extracted facts, schema by schema, and the facts have the known totals.
#![allow(clippy::expect_used, clippy::panic, reason = "a test that cannot read its expectations has failed")]

use std::collections::{BTreeMap, BTreeSet};

use onnx_schema::{
    AttrDefault, AttrKind, Determinism, Differentiation, Formal, FormalOption, FormalType, Schema, SchemaId,
    SupportLevel, TypeId, TypeSet, all, known_name, op_symbol, operators, opset_versions, releases,
};
use serde_json::{Value, json};

fn core() -> Value {
    serde_json::from_str(include_str!("../../facts/onnx-1.23.2.json")).expect("the facts are JSON")
}

fn functions() -> Value {
    serde_json::from_str(include_str!("../../facts/functions-1.23.2.json")).expect("the facts are JSON")
}

fn rows<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value[key].as_array().map_or(&[], Vec::as_slice)
}

/// What the facts say about a formal, written from the table.
fn formal(schema: &Schema, formal: &Formal) -> Value {
    let ty = match formal.ty {
        FormalType::Variable(index) => schema.constraints()[usize::from(index)].variable,
        FormalType::Concrete(id) => id.text(),
    };
    let mut fact = json!({ "name": formal.name, "type": ty });
    if formal.option != FormalOption::Single {
        fact["option"] = json!(format!("{:?}", formal.option));
    }
    if formal.is_variadic() {
        fact["min_arity"] = json!(formal.min_arity);
    }
    if !formal.is_homogeneous {
        fact["heterogeneous"] = json!(true);
    }
    if formal.differentiation != Differentiation::Unknown {
        fact["differentiation"] = json!(format!("{:?}", formal.differentiation));
    }
    fact
}

/// A float as in the facts file, from its bits: the decimal text of the facts is ignored.
fn float(value: f32) -> Value {
    json!(format!("{:08x}", value.to_bits()))
}

fn default(value: AttrDefault) -> Value {
    match value {
        AttrDefault::Float(value) => float(value),
        AttrDefault::Int(value) => json!(value),
        AttrDefault::String(text) => json!(text),
        AttrDefault::Floats(values) => values.iter().map(|&value| float(value)).collect(),
        AttrDefault::Ints(values) => json!(values),
        AttrDefault::Strings(texts) => json!(texts),
        other => panic!("{other:?} is a new kind of default"),
    }
}

/// The default of the facts with floats as their bits.
fn expected_default(value: &Value) -> Value {
    match value {
        Value::Object(float) => float["bits"].clone(),
        Value::Array(items) => items.iter().map(expected_default).collect(),
        other => other.clone(),
    }
}

fn attributes(schema: &Schema) -> Value {
    let row = |attribute: &onnx_schema::FormalAttribute| {
        let mut fact = json!({ "name": attribute.text(), "kind": attribute.kind.name() });
        if attribute.is_required {
            fact["required"] = json!(true);
        }
        if let Some(value) = attribute.default {
            assert_eq!(value.kind(), attribute.kind);
            fact["default"] = default(value);
        }
        fact
    };
    schema.attributes().iter().map(row).collect()
}

fn expected_attributes(fact: &Value) -> Value {
    let row = |attribute: &Value| {
        let mut attribute = attribute.clone();
        if let Some(value) = attribute.get("default").map(expected_default) {
            attribute["default"] = value;
        }
        attribute
    };
    rows(fact, "attributes").iter().map(row).collect()
}

/// Everything the facts say about a schema in one line, written from the table.
fn scalars(schema: &Schema) -> Value {
    let mut fact = json!({
        "op": schema.name(),
        "domain": schema.domain_name(),
        "since": schema.since_version(),
        "determinism": format!("{:?}", schema.determinism()),
        "inference": schema.has_inference(),
        "propagation": schema.has_data_propagation(),
        "input_range": [schema.min_inputs(), schema.max_inputs()],
        "output_range": [schema.min_outputs(), schema.max_outputs()],
    });
    if schema.is_deprecated() {
        fact["deprecated"] = json!(true);
    }
    if schema.support_level() == SupportLevel::Experimental {
        fact["support"] = json!("EXPERIMENTAL");
    }
    if schema.allows_unchecked_attributes() {
        fact["unchecked_attributes"] = json!(true);
    }
    let bodies: Vec<i64> = schema.function_bodies().map(|(version, _)| version).collect();
    for (key, list) in [
        ("input_counts", json!(schema.input_counts())),
        ("output_counts", json!(schema.output_counts())),
        ("functions", json!(bodies)),
        ("context_functions", json!(schema.context_function_versions())),
    ] {
        if list != json!([]) {
            fact[key] = list;
        }
    }
    fact
}

#[test]
fn every_schema_agrees_with_the_facts() {
    let core = core();
    let facts = rows(&core, "schemas");
    assert_eq!(facts.len(), all().len());
    for (schema, fact) in all().iter().zip(facts) {
        let mut expected = fact.clone();
        for key in ["inputs", "outputs", "constraints", "attributes"] {
            expected.as_object_mut().and_then(|fact| fact.remove(key)).expect("the fact has all lists");
        }
        assert_eq!(scalars(schema), expected);
        let formals =
            |formals: &[Formal]| -> Value { formals.iter().map(|row| formal(schema, row)).collect() };
        assert_eq!(formals(schema.inputs()), fact["inputs"], "{schema}");
        assert_eq!(formals(schema.outputs()), fact["outputs"], "{schema}");
        assert_eq!(attributes(schema), expected_attributes(fact), "{schema}");
        let constraints = rows(fact, "constraints");
        assert_eq!(schema.constraints().len(), constraints.len(), "{schema}");
        for (constraint, fact) in schema.constraints().iter().zip(constraints) {
            assert_eq!(constraint.variable, fact["variable"], "{schema}");
            let texts = core["type_sets"][fact["types"].as_str().unwrap()].as_array().unwrap();
            let expected: TypeSet = texts
                .iter()
                .map(|text| TypeId::from_text(text.as_str().unwrap()).expect("a known type"))
                .collect();
            assert_eq!(constraint.types, expected, "{schema} {}", constraint.variable);
        }
    }
}

#[test]
fn every_function_body_agrees_with_the_facts() {
    let bodies = all().iter().flat_map(|schema| schema.function_bodies().map(move |body| (schema, body)));
    let bodies: Vec<Value> = bodies
        .map(|(schema, (opset, bytes))| {
            let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            json!({
                "op": schema.name(), "domain": schema.domain_name(), "since": schema.since_version(),
                "opset": opset, "body": hex,
            })
        })
        .collect();
    let keys = ["op", "domain", "since", "opset", "body"];
    let file = functions();
    let facts = rows(&file, "functions").iter();
    let facts: Vec<Value> =
        facts.map(|fact| keys.map(|key| (key.to_owned(), fact[key].clone())).into_iter().collect()).collect();
    assert_eq!(facts, bodies);
}

#[test]
fn versions_agree_with_the_facts() {
    let core = core();
    for fact in rows(&core, "domains") {
        let domain = onnx_schema::domain_symbol(fact["domain"].as_str().unwrap()).unwrap();
        let versions = opset_versions(domain).unwrap();
        assert_eq!(json!([versions.start(), versions.end()]), json!([fact["min"], fact["max"]]));
    }
    assert_eq!(rows(&core, "domains").len(), onnx_schema::domains().len());
    let releases: Vec<Value> = releases()
        .iter()
        .map(|release| {
            let opsets = release.opsets().map(|(domain, version)| {
                json!({ "domain": known_name(domain).unwrap(), "version": version })
            });
            json!({ "release": release.name(), "ir": release.ir_version(), "opsets": opsets.collect::<Vec<_>>() })
        })
        .collect();
    assert_eq!(core["releases"], Value::Array(releases));
}

/// How often each item occurs.
fn tally<T: Ord>(items: impl IntoIterator<Item = T>) -> BTreeMap<T, usize> {
    let mut counts = BTreeMap::new();
    for item in items {
        *counts.entry(item).or_insert(0) += 1;
    }
    counts
}

#[test]
fn schema_totals() {
    assert_eq!(SchemaId::COUNT, 659);
    assert_eq!(operators().len(), 227);
    let by_domain = tally(all().iter().map(Schema::domain_name));
    let expected = [("", 629), ("ai.onnx.ml", 25), ("ai.onnx.preview", 1), ("ai.onnx.preview.training", 4)];
    assert_eq!(by_domain, BTreeMap::from(expected));
    let operators_by_domain = tally(operators().map(|versions| versions[0].domain_name()));
    assert_eq!((operators_by_domain[""], operators_by_domain["ai.onnx.ml"]), (203, 19));
    let deprecated: BTreeSet<String> =
        all().iter().filter(|schema| schema.is_deprecated()).map(Schema::to_string).collect();
    let expected = [
        "GroupNormalization-18",
        "Scatter-11",
        "Upsample-10",
        "ai.onnx.ml.TreeEnsembleClassifier-5",
        "ai.onnx.ml.TreeEnsembleRegressor-5",
    ];
    assert_eq!(deprecated, expected.map(str::to_owned).into());
    let experimental = all().iter().filter(|schema| schema.support_level() == SupportLevel::Experimental);
    let experimental: Vec<String> = experimental.map(Schema::to_string).collect();
    assert_eq!(experimental, ["Upsample-1", "ai.onnx.preview.FlexAttention-1"]);
    let determinism = tally(all().iter().map(|schema| format!("{:?}", schema.determinism())));
    let of = |value: Determinism| determinism[&format!("{value:?}")];
    assert_eq!(
        [of(Determinism::Deterministic), of(Determinism::NonDeterministic), of(Determinism::Unknown)],
        [607, 48, 4]
    );
    assert_eq!(all().iter().filter(|schema| schema.has_inference()).count(), 604);
    assert_eq!(all().iter().filter(|schema| schema.has_data_propagation()).count(), 39);
}

#[test]
fn signature_totals() {
    let options = |formals: fn(&Schema) -> &'static [Formal]| {
        let formals = all().iter().flat_map(formals).map(|formal| format!("{:?}", formal.option));
        let counts = tally(formals);
        [counts["Single"], counts["Optional"], counts["Variadic"]]
    };
    assert_eq!(options(Schema::inputs), [929, 210, 49]);
    assert_eq!(options(Schema::outputs), [624, 80, 37]);
    let formals = || all().iter().flat_map(|schema| schema.inputs().iter().chain(schema.outputs()));
    assert_eq!(formals().filter(|formal| !formal.is_homogeneous).count(), 55);
    let arities = tally(formals().filter(|formal| formal.is_variadic()).map(|formal| formal.min_arity));
    assert_eq!(arities, BTreeMap::from([(0, 9), (1, 77)]));
    let differentiation = tally(formals().map(|formal| format!("{:?}", formal.differentiation)));
    let expected = [("Differentiable", 586), ("NonDifferentiable", 334), ("Unknown", 1009)];
    assert_eq!(differentiation, expected.map(|(name, count)| (name.to_owned(), count)).into());
    assert_eq!(all().iter().map(|schema| schema.constraints().len()).sum::<usize>(), 949);
    let core = core();
    let sets = core["type_sets"].as_object().unwrap();
    assert_eq!(sets.len(), 103);
    // The constraints write `map(int64, float)` what the package resolves to `map(int64,tensor(float))`, eight times.
    let texts = sets.values().flat_map(|set| set.as_array().unwrap()).filter_map(Value::as_str);
    let texts: BTreeSet<&str> = texts.collect();
    // Operators of onnxruntime add six types.
    assert_eq!((texts.len(), TypeId::COUNT), (120, 126));
    assert_eq!(TypeId::all().filter(|id| !texts.contains(id.text())).count(), 14);
}

#[test]
fn attribute_totals() {
    let attributes = || all().iter().flat_map(|schema| schema.attributes());
    let expected = [
        (AttrKind::Float, 161),
        (AttrKind::Int, 511),
        (AttrKind::String, 142),
        (AttrKind::Tensor, 40),
        (AttrKind::Graph, 39),
        (AttrKind::Floats, 80),
        (AttrKind::Ints, 328),
        (AttrKind::Strings, 44),
        (AttrKind::SparseTensor, 8),
        (AttrKind::TypeProto, 2),
    ];
    assert_eq!(tally(attributes().map(|attribute| attribute.kind)), BTreeMap::from(expected));
    assert_eq!(attributes().count(), 1355);
    assert_eq!(attributes().filter(|attribute| attribute.is_required).count(), 139);
    let defaults = tally(attributes().filter_map(|attribute| attribute.default).map(|value| value.kind()));
    let expected = [
        (AttrKind::Float, 118),
        (AttrKind::Int, 389),
        (AttrKind::String, 124),
        (AttrKind::Ints, 2),
        (AttrKind::Strings, 4),
    ];
    assert_eq!(defaults, BTreeMap::from(expected));
    assert_eq!(attributes().filter(|row| !row.is_required && row.default.is_none()).count(), 579);
    let names: BTreeSet<&str> = attributes().map(|attribute| attribute.text()).collect();
    assert_eq!(names.len(), 246);
    assert!(names.iter().all(|name| op_symbol(name).is_none()));
}

#[test]
fn function_totals() {
    let count = |of: fn(&Schema) -> usize| {
        (all().iter().map(of).sum::<usize>(), all().iter().filter(|schema| of(schema) > 0).count())
    };
    assert_eq!(count(|schema| schema.function_bodies().count()), (43, 42));
    assert_eq!(count(|schema| schema.context_function_versions().len()), (37, 34));
    assert_eq!(all().iter().filter(|schema| schema.is_function()).count(), 76);
}
