//! Rules on models that a file test cannot show: with files of external data, with options, too long, or not from a text.
#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests may fail")]

use bytes::Bytes;
use onnx_check::{CheckOptions, ExternalFiles, Part, Profile, check, check_part};
use onnx_diag::{Position, STOPPED, Sink};
use onnx_ir::{Model, NodeId, Origin, ValueId};
use onnx_text::{ParseOptions, parse_model};
use onnx_types::tensor::{DataError, DataSource, MemoryData, Tensor};
use onnx_types::{ElemType, Execution, Interrupt, Shape, Type, field};

/// A model with this main graph, and what follows it.
fn model(rest: &str) -> Model {
    let text = format!("<ir_version: 10, opset_import: [\"\": 18]>\n{rest}");
    parse_model(&text, &ParseOptions::default()).unwrap()
}

fn found(sink: &Sink) -> Vec<(String, String)> {
    let one = |found: &onnx_diag::Diagnostic| (found.rule.id().to_string(), found.locus.to_string());
    sink.diagnostics().iter().map(one).collect()
}

/// Compares code and locus of every diagnostic.
#[track_caller]
fn expect(model: &Model, options: &CheckOptions, expected: &[(&str, &str)]) {
    let expected: Vec<_> = expected.iter().map(|(code, locus)| ((*code).into(), (*locus).into())).collect();
    assert_eq!(found(&check(model, options)), expected);
}

/// A model with an initializer `w` in an external file of eight bytes.
fn external(entries: &str) -> Model {
    model(&format!("g () => () <float[1] w = [{entries}]> {{ }}"))
}

fn files(name: &str, bytes: &'static [u8]) -> ExternalFiles {
    let mut files = MemoryData::new();
    files.insert(name, bytes);
    ExternalFiles::new(files)
}

const DATA: &str = r#"graph "g" / initializer "w" / field external_data"#;

#[test]
fn digests_are_compared_when_asked() {
    let with = |files| CheckOptions::default().with_external(files);
    let stated = |digest: &str| external(&format!(r#""location": "w.bin", "checksum": "{digest}""#));
    let wrong = "a9993e364706816aba3e25717850c26c9cd0d89d";
    let asked = with(files("w.bin", b"abcd").with_digests());
    expect(&stated(wrong), &asked, &[("ONNX2515", DATA)]);
    expect(&stated("81FE8BFE87576C3ECB22426F8E57847382917ACF"), &asked, &[]);
    expect(&stated(wrong), &with(files("w.bin", b"abcd")), &[]);
}

/// A file of zeros that is too large to be read; the first read cancels the work.
struct Endless(Interrupt);

impl DataSource for Endless {
    fn read(&self, _: &str, _: u64, length: Option<u64>) -> Result<Bytes, DataError> {
        self.0.cancel();
        Ok(vec![0; length.map_or(0, |length| usize::try_from(length).unwrap())].into())
    }

    fn len(&self, _: &str) -> Result<u64, DataError> {
        Ok(u64::MAX)
    }
}

#[test]
fn reading_a_file_can_be_stopped() {
    let interrupt = Interrupt::new();
    let options = CheckOptions::default()
        .with_external(ExternalFiles::new(Endless(interrupt.clone())).with_digests())
        .with_execution(Execution::default().with_interrupt(interrupt));
    let sink = check(&external(r#""location": "w.bin", "checksum": "00""#), &options);
    assert_eq!(sink.diagnostics().iter().map(|found| found.rule).collect::<Vec<_>>(), [&STOPPED]);
}

#[test]
fn files_are_there() {
    let options = CheckOptions::default().with_external(files("w.bin", &[0; 8]));
    let two = |file: &str| {
        let entries = format!(r#""location": "{file}", "length": "4""#);
        model(&format!("g () => () <float[1] w = [{entries}], float[1] v = [{entries}]> {{ }}"))
    };
    // Each file is reported once.
    expect(&two("v.bin"), &options, &[("ONNX2513", DATA)]);
    expect(&two("w.bin"), &options, &[]);
    expect(&two("v.bin"), &CheckOptions::default(), &[]);
}

#[test]
fn ranges_are_inside_the_file() {
    let options = CheckOptions::default().with_external(files("w.bin", &[0; 8]));
    let range = |offset: u64, length: Option<u64>| {
        let length = length.map_or_else(String::new, |length| format!(r#", "length": "{length}""#));
        external(&format!(r#""location": "w.bin", "offset": "{offset}"{length}"#))
    };
    for (offset, length) in [(5, Some(4)), (5, None), (u64::MAX, Some(4)), (9, None)] {
        expect(&range(offset, length), &options, &[("ONNX2514", DATA)]);
    }
    expect(&range(4, Some(4)), &options, &[]);
    expect(&range(4, None), &options, &[]);
}

#[test]
fn files_of_two_gibibytes_are_too_large() {
    let severities = |bytes: u64, profile: Profile| {
        let options = CheckOptions::default().with_file_bytes(bytes).with_profile(profile);
        let sink = check(&Model::new(), &options);
        let found = sink.diagnostics().iter().filter(|found| found.rule.slug == "model-too-large");
        found.map(|found| found.severity.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(severities(1 << 31, Profile::Spec), ["warning"]);
    assert_eq!(severities(1 << 31, Profile::Reference), ["error"]);
    for profile in [Profile::Spec, Profile::Reference] {
        assert!(severities((1 << 31) - 1, profile).is_empty());
    }
}

#[test]
fn too_much_data_is_an_error_of_the_reference_for_the_indices_of_sparse_tensors() {
    let parsed = |rest: &str| {
        let text = format!("<ir_version: 10, opset_import: [\"\": 18]>\n{rest}");
        parse_model(&text, &ParseOptions::default().with_element_counts(false)).unwrap()
    };
    let reference = CheckOptions::default().with_profile(Profile::Reference);
    let dense = parsed("g () => () <float[2] w = {1, 2, 3}> { }");
    expect(&dense, &reference, &[]);
    let sparse = "sparse_tensor[3] w = {values: float[2] {1, 2}, indices: int64[2] {0, 1, 2}}";
    let sparse = parsed(&format!("g () => () <{sparse}> {{ }}"));
    let place = found(&check(&sparse, &CheckOptions::default()));
    assert_eq!(found(&check(&sparse, &reference)), place);
    assert_eq!(place.iter().map(|(code, _)| code.as_str()).collect::<Vec<_>>(), ["ONNX2503"]);
}

#[test]
fn chains_of_functions_end_soon() {
    let chain = |length: usize| {
        let function = |number: usize| {
            let op = if number + 1 < length { format!("d.f{}", number + 1) } else { "Relu".to_owned() };
            format!(
                "<domain: \"d\", opset_import: [\"\": 18, \"d\": 1]> f{number} (x) => (y) {{ y = {op} (x) }}\n"
            )
        };
        model(&format!("g () => () {{ }}\n{}", (0..length).map(function).collect::<String>()))
    };
    expect(&chain(101), &CheckOptions::default(), &[("ONNX2605", r#"function "f0" of domain "d""#)]);
    expect(&chain(100), &CheckOptions::default(), &[]);
}

#[test]
fn functions_are_not_too_many() {
    let functions = |count: usize| {
        let mut model = model("g () => () { }");
        let [domain, overload] = ["d", ""].map(|name| model.intern(name));
        for number in 0..count {
            let name = model.intern(&format!("f{number}"));
            model.add_function(domain, name, overload);
        }
        model
    };
    expect(&functions(10_001), &CheckOptions::default(), &[("ONNX2005", "field functions")]);
    expect(&functions(10_000), &CheckOptions::default(), &[]);
}

/// A function whose file states its domain although that is the default one.
#[test]
fn the_default_domain_of_a_function_can_be_meant() {
    let stated = |rest: &str| {
        let mut model =
            model(&format!("g () => () {{ }}\n<opset_import: [\"\": 18]> f () => () {{ }}\n{rest}"));
        let function = model.functions()[0];
        model.function_mut(function).forms.set_explicit(field::function::DOMAIN, true);
        model
    };
    expect(&stated(""), &CheckOptions::default(), &[]);
    let again = r#"<domain: "ai.onnx", opset_import: ["": 18]> f () => () { }"#;
    expect(&stated(again), &CheckOptions::default(), &[("ONNX2603", r#"function "f""#)]);
}

#[test]
fn names_of_values_that_were_made_in_memory_are_chosen_later() {
    for name in ["", "x"] {
        let mut model = model("g () => () { }");
        let graph = model.main_graph();
        for _ in 0..2 {
            let name = model.intern(name);
            model.add_initializer(graph, name, Tensor::scalar(1.0_f32));
        }
        expect(&model, &CheckOptions::default(), &[]);
    }
}

#[test]
fn an_element_type_that_is_spelled_out_as_undefined_is_beyond_the_reference() {
    for source in [None, Some(Bytes::from_static(b"\x0a\x04\x08\x00\x12\x00"))] {
        let mut model = model("g (float x) => (float y) { y = Identity (x) }");
        let x: ValueId = model.graph(model.main_graph()).inputs()[0];
        let ty = Type::tensor(ElemType::Undefined, Some(Shape::scalar()));
        model.set_type(x, Some(Type { source: source.clone(), ..ty }));
        let sink = check(&model, &CheckOptions::default());
        let found: Vec<_> =
            sink.diagnostics().iter().map(|found| (found.rule.code, found.beyond_reference)).collect();
        assert_eq!(found, [(2901, source.is_some())]);
    }
}

#[test]
fn what_the_reference_does_not_look_at_is_marked() {
    let model = model("g () => () { }\n@training { algorithm: step () => () { b = Relu (nothing) } }");
    let sink = check(&model, &CheckOptions::default());
    let [found] = sink.diagnostics() else { panic!("{:?}", sink.diagnostics()) };
    let place = r#"training info #0 / graph "step" / node #0 Relu / input 0 "nothing""#;
    assert_eq!((found.locus.to_string().as_str(), found.beyond_reference), (place, true));
}

/// A model with an unknown operator, and a function that does not produce its output: only the former is seen by the
/// reference.
#[test]
fn the_reference_has_fewer_findings() {
    let model =
        model(r#"g (float x) => () { y = Rellu (x) } <domain: "d", opset_import: ["": 18]> f () => (z) { }"#);
    let enforced = ("ONNX2303", r#"graph "g" / node #0 Rellu"#);
    let other = ("ONNX2202", r#"function "f" of domain "d" / output 0 "z""#);
    let with = |profile| CheckOptions::default().with_profile(profile);
    expect(&model, &with(Profile::Spec), &[enforced, other]);
    expect(&model, &with(Profile::Reference), &[enforced]);
}

#[test]
fn loci_have_their_position_in_the_file() {
    let mut model = model("g () => () { a = Rellu (x) x = Relu (a) }");
    let nodes: Vec<NodeId> = model.nodes(model.main_graph()).collect();
    for (&node, byte) in nodes.iter().zip([100, 200]) {
        model.set_node_origin(node, Origin::Byte(byte));
    }
    let found = check(&model, &CheckOptions::default()).into_diagnostics();
    let found: Vec<_> = found
        .iter()
        .map(|found| {
            let labels = found.labels.iter().map(|label| (label.locus.to_string(), label.locus.position()));
            (found.rule.slug, found.locus.position(), labels.collect::<Vec<_>>())
        })
        .collect();
    let made = (r#"graph "g" / node #1 Relu / output 0 "x""#.to_owned(), Some(Position::Byte(200)));
    let at = Some(Position::Byte(100));
    assert_eq!(found, [("node-not-sorted", at, vec![made]), ("unknown-operator", at, vec![])]);
}

/// Checks a part of a model, and compares slug, locus and whether it is beyond the reference.
#[track_caller]
fn expect_of_part(model: &Model, part: Part, expected: &[(&str, &str, bool)]) {
    let found = check_part(model, part, &CheckOptions::default()).into_diagnostics();
    let found: Vec<_> =
        found.iter().map(|one| (one.rule.slug, one.locus.to_string(), one.beyond_reference)).collect();
    let found: Vec<_> = found.iter().map(|(slug, place, beyond)| (*slug, &**place, *beyond)).collect();
    assert_eq!(found, expected);
}

fn first_node(model: &Model) -> NodeId {
    model.nodes(model.main_graph()).next().unwrap()
}

#[test]
fn a_node_alone_may_use_any_name() {
    for (node, expected) in [
        ("y = Relu (x)", vec![]),
        ("y = Rellu (x)", vec![("unknown-operator", "node #0 Rellu", false)]),
        ("y = Relu (y)", vec![("node-not-sorted", r#"node #0 Relu / input 0 "y""#, true)]),
    ] {
        let model = model(&format!("g () => () {{ {node} }}"));
        expect_of_part(&model, Part::Node(first_node(&model)), &expected);
    }
}

#[test]
fn an_operator_set_has_to_be_around_a_node() {
    let mut model = model("g () => () { y = Relu (x) }");
    model.info_mut().opset_imports.clear();
    let part = Part::Node(first_node(&model));
    expect_of_part(&model, part, &[("domain-not-imported", "node #0 Relu", false)]);
}

#[test]
fn attributes_alone_need_no_operator() {
    let model = model("g () => () { y = Frob <alpha = 1.0> (x) }");
    expect_of_part(&model, Part::Attributes(first_node(&model)), &[]);
}

#[test]
fn inputs_alone_need_a_type() {
    let model = model("g (x) => () { }");
    expect_of_part(&model, Part::Inputs, &[("type-incomplete", r#"input 0 "x" / type"#, false)]);
}
