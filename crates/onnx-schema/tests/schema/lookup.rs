//! Looking schemas up, and what is found.
#![allow(clippy::expect_used, reason = "a test that cannot read its expectations has failed")]

use std::collections::BTreeSet;

use onnx_schema::{
    AttrDefault, AttrKind, LATEST_IR_VERSION, LATEST_OPSET, Schema, SchemaId, TypeId, TypeSet, all, attr,
    domain, domain_symbol, domains_of, interner, ir_version_for, known_name, latest_opset, lookup,
    lookup_by_name, normalize_domain, op, op_symbol, operators, opset_for_ir_version, opset_versions,
    schema_since, versions,
};
use onnx_types::{ElemType, Symbol, Type, TypeKind};

/// The schema by the words of the rule: of the operator's schemas not above the version, the one of greatest version.
fn brute_force(schemas: &[&Schema], domain: &str, version: i64) -> Option<SchemaId> {
    schemas
        .iter()
        .filter(|schema| schema.domain_name() == domain && schema.since_version() <= version)
        .max_by_key(|schema| schema.since_version())
        .map(|schema| schema.id())
}

#[test]
fn lookup_agrees_with_a_scan_at_every_version() {
    let domains = [
        "",
        "ai.onnx.ml",
        "ai.onnx.preview",
        "ai.onnx.preview.training",
        "ai.onnx.training",
        "com.microsoft",
    ];
    for name in operators().map(|versions| versions[0].name()) {
        let op = op_symbol(name).unwrap();
        let schemas: Vec<&Schema> = all().iter().filter(|schema| schema.name() == name).collect();
        for domain in domains {
            let symbol = domain_symbol(domain).unwrap();
            for version in (-1..=30).chain([i64::MIN, i64::MAX, 1 << 32]) {
                let expected = brute_force(&schemas, domain, version);
                let found = lookup(symbol, op, version);
                assert_eq!(found.map(Schema::id), expected, "{domain} {name} {version}");
                assert_eq!(lookup_by_name(domain, name, version).map(Schema::id), expected);
                if let (Some(schema), 1..) = (found, version) {
                    assert!(
                        schema.until_version().is_none_or(|until| version <= until),
                        "{schema} {version}"
                    );
                }
            }
        }
    }
}

#[test]
fn the_two_spellings_are_one_domain() {
    assert_eq!(normalize_domain(domain::AI_ONNX), domain::ONNX);
    assert_eq!(normalize_domain(domain::ML), domain::ML);
    for schema in all().iter().filter(|schema| schema.domain() == domain::ONNX) {
        let version = schema.since_version();
        let same = lookup(domain::AI_ONNX, schema.op(), version).unwrap();
        assert_eq!(same.id(), schema.id());
        assert_eq!(lookup_by_name("ai.onnx", schema.name(), version).unwrap().id(), schema.id());
    }
    assert_eq!(opset_versions(domain::AI_ONNX), opset_versions(domain::ONNX));
    assert_eq!(ir_version_for(domain::AI_ONNX, 20), ir_version_for(domain::ONNX, 20));
}

#[test]
fn symbols_are_the_names_of_the_interner() {
    let names = interner();
    let mut seen = BTreeSet::new();
    for index in 0..names.len() {
        let symbol = Symbol::from_index(u32::try_from(index).unwrap());
        assert_eq!(known_name(symbol), Some(names.resolve(symbol)));
        assert!(seen.insert(names.resolve(symbol).to_owned()), "the table contains a name twice");
    }
    assert_eq!(known_name(Symbol::from_index(u32::try_from(names.len()).unwrap())), None);
    for schema in all() {
        assert_eq!(names.get(schema.name()), Some(schema.op()));
        assert_eq!(names.get(schema.domain_name()), Some(schema.domain()));
        for attribute in schema.attributes() {
            assert_eq!(names.get(attribute.text()), Some(attribute.name));
        }
    }
    for (symbol, text) in [
        (domain::ONNX, ""),
        (domain::AI_ONNX, "ai.onnx"),
        (domain::ML, "ai.onnx.ml"),
        (domain::PREVIEW, "ai.onnx.preview"),
        (domain::PREVIEW_TRAINING, "ai.onnx.preview.training"),
        (domain::TRAINING, "ai.onnx.training"),
        (domain::MICROSOFT, "com.microsoft"),
        (op::IS_NAN, "IsNaN"),
        (op::Q_LINEAR_CONV, "QLinearConv"),
        (op::COL2IM, "Col2Im"),
        (op::P_RELU, "PRelu"),
        (attr::TRANS_A, "transA"),
        (attr::TYPE, "type"),
        (attr::ELSE_BRANCH, "else_branch"),
    ] {
        assert_eq!(names.get(text), Some(symbol), "{text}");
    }
}

#[test]
fn symbols_and_names_that_are_no_operator_find_nothing() {
    let end = u32::try_from(interner().len()).unwrap();
    for symbol in
        [Symbol::EMPTY, domain::ML, domain::MICROSOFT, attr::AXIS, attr::ZS, Symbol::from_index(end)]
    {
        assert!(lookup(domain::ONNX, symbol, 28).is_none());
    }
    assert!(lookup(domain::ONNX, Symbol::from_index(u32::MAX - 1), 28).is_none());
    assert!(lookup(attr::AXIS, op::RELU, 28).is_none());
    for name in ["", "axis", "relu", "Relu ", "ai.onnx", "\u{0}"] {
        assert!(lookup_by_name("", name, 28).is_none(), "{name:?}");
    }
    assert!(lookup_by_name("my.domain", "Relu", 28).is_none());
    assert_eq!(domains_of(op::BINARIZER).collect::<Vec<_>>(), [domain::ML]);
    assert_eq!(domains_of(attr::AXIS).count(), 0);
}

/// Lookups work in constants, so tables of other crates can be checked while they are compiled.
const SQUEEZE_13: Option<SchemaId> = schema_since(domain::ONNX, op::SQUEEZE, 13);
const SQUEEZE_12: Option<SchemaId> = schema_since(domain::ONNX, op::SQUEEZE, 12);

#[test]
fn exact_versions_are_found_in_constants() {
    assert_eq!(SQUEEZE_13.unwrap().schema().to_string(), "Squeeze-13");
    assert_eq!(SQUEEZE_12, None);
    for (index, schema) in all().iter().enumerate() {
        assert_eq!(SchemaId::from_index(index), Some(schema.id()));
        assert_eq!(schema_since(schema.domain(), schema.op(), schema.since_version()), Some(schema.id()));
        assert!(versions(schema.domain(), schema.op()).iter().any(|other| other.id() == schema.id()));
    }
    assert_eq!(SchemaId::from_index(SchemaId::COUNT), None);
}

fn schema(op: &str, version: i64) -> &'static Schema {
    lookup_by_name("", op, version).expect(op)
}

#[test]
fn formals_and_counts() {
    let conv = schema("Conv", 15);
    assert_eq!((conv.min_inputs(), conv.max_inputs()), (2, Some(3)));
    assert!(conv.input_for(2).unwrap().is_optional());
    assert!(conv.input_for(3).is_none());
    assert_eq!(conv.attribute(attr::AUTO_PAD).unwrap().default, Some(AttrDefault::String("NOTSET")));
    assert_eq!(conv.attribute(attr::KERNEL_SHAPE).unwrap().kind, AttrKind::Ints);
    assert!(conv.attribute(attr::AXIS).is_none());

    let concat = schema("Concat", 13);
    assert_eq!((concat.min_inputs(), concat.max_inputs()), (1, None));
    assert_eq!(concat.input_for(1000), concat.input_for(0));
    assert!(concat.attribute(attr::AXIS).unwrap().is_required);
    assert!(!concat.allows_inputs(0) && concat.allows_inputs(1_000_000));

    let body = schema("Loop", 21).input_for(7).unwrap();
    assert!(body.is_variadic() && !body.is_homogeneous && body.min_arity == 0);

    for (version, allowed) in [(9, [1, 5]), (14, [1, 3])] {
        let counts = (0..=6).filter(|&count| schema("BatchNormalization", version).allows_outputs(count));
        assert_eq!(counts.collect::<Vec<_>>(), allowed);
    }
    assert!(schema("LayerNormalization", 17).allows_unchecked_attributes());
    assert_eq!(schema("Selu", 22).default_of(attr::ALPHA), Some(AttrDefault::Float(1.673_263_2)));
    assert!(schema("Upsample", 10).is_deprecated() && !schema("Upsample", 9).is_deprecated());
}

#[test]
fn function_bodies_follow_the_version() {
    let mvn = schema("MeanVarianceNormalization", 13);
    assert_ne!(mvn.function_body(13), mvn.function_body(18));
    assert_eq!(mvn.function_body(17), mvn.function_body(13));
    assert_eq!(mvn.function_body(28), mvn.function_body(18));
    assert!(mvn.function_body(12).is_none());
    // The body can be written for an older or for a newer version than the schema's own.
    assert!(schema("Selu", 22).function_body(18).is_some());
    assert!(schema("Elu", 6).function_body(17).is_none() && schema("Elu", 6).function_body(18).is_some());
    assert!(schema("Conv", 22).function_body(28).is_none() && !schema("Conv", 22).is_function());
}

#[test]
fn types_are_matched_by_structure() {
    let relu = schema("Relu", 14);
    let types = relu.types_of(&relu.inputs()[0]);
    assert!(types.contains_tensor(ElemType::Int8) && !types.contains_tensor(ElemType::Uint8));
    assert!(!types.contains_tensor(ElemType::Undefined));
    assert!(types.contains_type(&Type::tensor(ElemType::Float, None)));
    assert!(!types.contains_type(&Type::sparse_tensor(ElemType::Float, None)));
    assert_eq!(types.iter().collect::<TypeSet>(), types);
    assert_eq!(types.len(), types.iter().count());

    let shape = schema("Shape", 15);
    let int64 = shape.types_of(&shape.outputs()[0]).single().unwrap();
    assert_eq!(int64.text(), "tensor(int64)");

    for id in TypeId::all() {
        assert_eq!(TypeId::of(&id.form().to_type()), Some(id));
        assert_eq!(TypeId::from_text(id.text()), Some(id));
        assert_eq!(TypeSet::of(id).single(), Some(id));
    }
    for elem in ElemType::all().skip(1) {
        assert_eq!(TypeId::tensor(elem).unwrap().text(), format!("tensor({elem})"));
    }
    assert_eq!(TypeId::from_text("map(int64, float)"), TypeId::from_text("map(int64,tensor(float))"));
    assert_eq!(TypeId::from_text("float"), TypeId::tensor(ElemType::Float));
    for text in ["", ")", "(", "tensor()", "seq", "tensor(float", "map(int64)", ",,,", "tensor(floatx)"] {
        assert_eq!(TypeId::from_text(text), None, "{text:?}");
    }
    for kind in [
        TypeKind::Undefined,
        TypeKind::Sequence(None),
        TypeKind::Optional(None),
        TypeKind::Map { key: ElemType::Int64, value: None },
        TypeKind::Opaque { domain: Symbol::EMPTY, name: Symbol::EMPTY },
    ] {
        assert_eq!(TypeId::of(&Type::new(kind)), None);
    }
    let deep = (0..1000).fold(Type::tensor(ElemType::Float, None), |inner, _| Type::sequence(inner));
    assert_eq!(TypeId::of(&deep), None);
}

#[test]
fn versions_and_releases() {
    assert_eq!((LATEST_OPSET, LATEST_IR_VERSION), (28, 14));
    assert_eq!(latest_opset(domain::ONNX), Some(28));
    assert_eq!(latest_opset(domain::ML), Some(5));
    assert_eq!(latest_opset(domain::MICROSOFT), None);
    for (opset, ir) in
        [(1, 3), (3, 3), (8, 3), (9, 4), (10, 5), (11, 6), (14, 7), (18, 8), (22, 10), (28, 14)]
    {
        assert_eq!(ir_version_for(domain::ONNX, opset), Some(ir), "{opset}");
    }
    for opset in [i64::MIN, -1, 0, 29, i64::MAX] {
        assert_eq!(ir_version_for(domain::ONNX, opset), None, "{opset}");
    }
    assert_eq!(ir_version_for(domain::PREVIEW_TRAINING, 1), Some(7));
    assert_eq!(opset_for_ir_version(domain::ONNX, 8), Some(15));
    assert_eq!(opset_for_ir_version(domain::ONNX, 2), None);
    for schema in all() {
        assert!(opset_versions(schema.domain()).unwrap().contains(&schema.since_version()), "{schema}");
    }
}
