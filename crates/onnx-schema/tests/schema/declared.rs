//! Operators that are declared, and the standard ones in the same form.

use onnx_schema::{
    AttrKind, Declaration, DeclareError, DeclaredDefault, DeclaredSchema, OperatorSet, Registry, SchemaRef,
    all, changes, declare, domain, domains, known_name, lookup_by_name, opset_versions,
};

#[test]
fn declared_forms_of_standard_schemas_say_the_same() {
    for schema in all() {
        let declared = DeclaredSchema::from(schema);
        assert_eq!(declared.to_string(), schema.to_string());
        assert_eq!(
            (declared.min_inputs(), declared.max_inputs(), declared.min_outputs(), declared.max_outputs()),
            (schema.min_inputs(), schema.max_inputs(), schema.min_outputs(), schema.max_outputs()),
            "{schema}"
        );
        for (ours, formal) in declared.inputs.iter().zip(schema.inputs()) {
            assert_eq!(declared.types_of(ours), Some(schema.types_of(formal)), "{schema}");
        }
        for version in [1, schema.since_version(), 28] {
            assert_eq!(declared.function_body(version), schema.function_body(version), "{schema}");
        }
        assert_eq!(declared.is_function(), schema.is_function());
        let (ours, theirs) = (SchemaRef::Declared(&declared), SchemaRef::Standard(schema));
        assert_eq!((ours.inputs(), ours.outputs()), (theirs.inputs(), theirs.outputs()));
    }
}

#[test]
fn all_versions_of_a_domain_add_up_to_the_standard_registry() {
    for domain in domains() {
        let name = known_name(domain).unwrap();
        // Under another name, so that the standard sets do not answer.
        let copy = format!("copy.of.{name}");
        let mut registry = Registry::standard();
        for version in opset_versions(domain).unwrap() {
            let standard = OperatorSet::standard(name, version).unwrap();
            let mut set = OperatorSet::new(&copy, version);
            for schema in standard.operators() {
                set.add_schema(schema.clone()).unwrap();
            }
            registry = registry.with(&set).unwrap();
        }
        assert_eq!(registry.declared_versions(&copy), opset_versions(domain));
        for schema in all().iter().filter(|schema| schema.domain() == domain) {
            for version in [schema.since_version(), schema.until_version().unwrap_or(999)] {
                let found = registry.declared(&copy, schema.name(), version).unwrap();
                assert_eq!(found.since_version(), schema.since_version(), "{schema}");
                assert!(found.has_same_signature(&schema.into()), "{schema}");
            }
        }
    }
}

#[test]
fn what_onnx_defines_stays() {
    let mut set = OperatorSet::new("ai.onnx", 99);
    for name in ["Relu", "Frob"] {
        set.add(declare(name, 99).input("X", "").output("Y", "")).unwrap();
    }
    let mut old = OperatorSet::new("", 14);
    old.add(declare("Relu", 14).output("Y", "")).unwrap();
    let registry = Registry::standard().with(&set).unwrap().with(&old).unwrap();
    let since = |op: &str, version| {
        let found = registry.lookup("", op, version)?;
        Some((found.since_version(), found.is_declared()))
    };
    assert_eq!(since("Relu", 28), Some((14, false)));
    assert_eq!(since("Relu", 99), Some((99, true)));
    assert_eq!(since("Frob", 98), None);
    assert_eq!(since("Frob", 99), Some((99, true)));
    assert_eq!(since("Gelu", 28), Some((20, false)));
    assert_eq!(opset_versions(domain::ONNX), Some(1..=28));
}

/// Adds an operator to version 2 of a domain, and compares the outcome.
#[track_caller]
fn check(declaration: Declaration, expected: &str) {
    let mut set = OperatorSet::new("com.example", 2);
    assert_eq!(set.add(declare("Known", 1)), Ok(()));
    let result = set.add(declaration).map_err(|error: DeclareError| error.to_string());
    assert_eq!(result.err().unwrap_or_default(), expected);
}

#[test]
fn declarations_make_sense() {
    let frob = || declare("Frob", 1);
    check(frob(), "");
    check(frob().input("x", "T").types("T", ["tensor(float)"]).output("y", "seq(tensor(int64))"), "");
    check(frob().variadic_input("x", "", 0).heterogeneous().optional_output("y", ""), "");
    check(declare("", 1), "an operator has no name");
    check(declare("Frob", 0), "`com.example.Frob-0`: versions begin with 1");
    check(declare("Frob", 3), "`com.example.Frob-3` is newer than its operator set, which is version 2");
    check(declare("Known", 2), "the operator set has `com.example.Known-2` already");
    let unknown = "`T` is neither a known type, such as `tensor(float)`, nor a type variable";
    check(frob().input("x", "T"), unknown);
    check(
        frob().variadic_input("x", "", 1).input("y", ""),
        "`com.example.Frob-1`: `x` is variadic, so it must be the last one",
    );
    check(
        frob().variadic_input("x", "", 7),
        "`com.example.Frob-1`: `x` can need no more than one value at least",
    );
    check(
        frob().attribute("a", AttrKind::Int).required_attribute("a", AttrKind::Int),
        "`com.example.Frob-1` declares `a` twice",
    );
}

#[test]
fn contradicting_sets_do_not_add_up() {
    let set = |version, attribute: &str| {
        let mut set = OperatorSet::new("d", version);
        set.add(declare("Frob", 1).attribute_with_default(attribute, DeclaredDefault::Ints(vec![1, 2])))
            .unwrap();
        set
    };
    let registry = Registry::standard().with(set(1, "a")).unwrap();
    assert!(registry.with(set(2, "a")).is_ok());
    let conflict = registry.with(set(2, "b")).unwrap_err();
    assert_eq!(conflict.to_string(), "two operator sets declare `d.Frob-1` in different ways");
    assert_eq!(registry.declared_versions("d"), Some(1..=1));
    assert_eq!(format!("{registry:?}"), r#"{"d": 1}"#);
}

/// Compares what the newer of two standard versions of an operator changes.
#[track_caller]
fn check_changes(op: &str, old: i64, new: i64, expected: &[&str]) {
    let schema = |version| lookup_by_name("", op, version).map(DeclaredSchema::from);
    let found = schema(old).zip(schema(new)).map(|(old, new)| changes(&old, &new)).unwrap_or_default();
    let found: Vec<String> = found.iter().map(ToString::to_string).collect();
    assert_eq!(found, expected, "{op}");
}

#[test]
fn changes_are_told() {
    check_changes("Squeeze", 1, 11, &[]);
    check_changes(
        "Squeeze",
        11,
        13,
        &["attribute axes becomes an input", "type T also allows tensor(bfloat16)"],
    );
    check_changes(
        "Softmax",
        11,
        13,
        &["type T also allows tensor(bfloat16)", "attribute axis: INT = 1 becomes INT = -1"],
    );
    check_changes("Upsample", 9, 10, &["deprecates the operator"]);
    check_changes(
        "Dropout",
        10,
        12,
        &["attribute ratio becomes an input", "adds input training_mode", "adds attribute seed"],
    );
}
