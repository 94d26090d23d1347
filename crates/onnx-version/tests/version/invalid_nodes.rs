//! Nodes that are not valid in the version that is imported: none is converted, and their import can be corrected.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail by panicking")]

use onnx_ir::{Model, OpsetScope};
use onnx_schema::{AttrKind, Schema, domain, opset_versions};
use onnx_text::{ParseOptions, PrintOptions, parse_model, print_model};
use onnx_version::{Cause, ConvertOptions, VersionError, convert, correct_import, nearest, plan, set_import};

fn parsed(text: &str) -> Model {
    parse_model(text, &ParseOptions::default()).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn printed(model: &Model) -> String {
    print_model(model, &PrintOptions::default()).unwrap().text
}

/// A call of an operator in the form of one of its versions.
struct Form {
    inputs: usize,
    attributes: Vec<(&'static str, AttrKind)>,
    call: String,
    results: Vec<String>,
}

impl Form {
    /// All operands that the version takes, and the attributes that it requires or that another version does not have. `None` if
    /// one of these cannot be written here.
    fn new(schema: &'static Schema, other: &'static Schema) -> Option<Self> {
        let all = schema.inputs().len();
        let inputs = if schema.allows_inputs(all) { all } else { schema.min_inputs() };
        let wanted = schema
            .attributes()
            .iter()
            .filter(|formal| formal.is_required || other.attribute(formal.name).is_none());
        let mut attributes = Vec::new();
        let mut texts = Vec::new();
        for formal in wanted {
            let value = match formal.kind {
                AttrKind::Int => "1",
                AttrKind::Float => "1.0",
                AttrKind::String => "\"a\"",
                AttrKind::Ints => "[1]",
                AttrKind::Floats => "[1.0]",
                AttrKind::Strings => "[\"a\"]",
                AttrKind::Tensor => "float[1] {1}",
                AttrKind::Graph => "nested () => () {}",
                _ => return None,
            };
            attributes.push((formal.text(), formal.kind));
            texts.push(format!("{} = {value}", formal.text()));
        }
        let operands: Vec<String> = (0..inputs).map(|index| format!("x{index}")).collect();
        let results: Vec<String> =
            (0..schema.min_outputs().max(1)).map(|index| format!("y{index}")).collect();
        let name = match schema.domain_name() {
            "" => schema.name().to_owned(),
            domain => format!("{domain}.{}", schema.name()),
        };
        let attribute_list =
            if texts.is_empty() { String::new() } else { format!(" <{}>", texts.join(", ")) };
        let call = format!("{} = {name}{attribute_list} ({})", results.join(", "), operands.join(", "));
        Some(Self { inputs, attributes, call, results })
    }

    /// Whether a version has another signature than this form: another number of operands, another kind of an attribute, an
    /// attribute that it does not have, or one that it requires.
    fn is_invalid_in(&self, schema: &'static Schema) -> bool {
        let formal = |name: &str| schema.attributes().iter().find(|formal| formal.text() == name);
        let is_wrong =
            |&(name, kind): &(&str, AttrKind)| formal(name).is_none_or(|formal| formal.kind != kind);
        let is_given = |name: &str| self.attributes.iter().any(|&(given, _)| given == name);
        !schema.allows_inputs(self.inputs)
            || (!schema.allows_unchecked_attributes() && self.attributes.iter().any(is_wrong))
            || schema.attributes().iter().any(|formal| formal.is_required && !is_given(formal.text()))
    }

    /// Models with this call in the main graph, in a nested graph, and in a function.
    fn models(&self, domain: &str, version: i64) -> Vec<String> {
        let imports = match domain {
            "" => format!("\"\": {version}"),
            domain => format!("\"\": 17, \"{domain}\": {version}"),
        };
        let inputs: Vec<String> = (0..self.inputs).map(|index| format!("float[2] x{index}")).collect();
        let (inputs, result) = (inputs.join(", "), self.results.first().unwrap());
        let names: Vec<String> = (0..self.inputs).map(|index| format!("x{index}")).collect();
        let (head, call, names) =
            (format!("<ir_version: 8, opset_import: [{imports}, \"f\": 1]>"), &self.call, names.join(", "));
        let with_condition =
            if inputs.is_empty() { "bool c".to_owned() } else { format!("{inputs}, bool c") };
        vec![
            format!("{head} g ({inputs}) => (float[2] {result}) {{ {call} }}"),
            format!(
                "{head} g ({with_condition}) => (float[2] z) {{
                   z = If <then_branch = t () => (float[2] {result}) {{ {call} }},
                           else_branch = e () => (float[2] u) {{ u = Constant <value = float[2] {{1, 1}}> () }}> (c)
                 }}"
            ),
            format!(
                "{head} g ({inputs}) => (float[2] z) {{ z = f.F ({names}) }}
                 <domain: \"f\", opset_import: [{imports}]> F ({names}) => ({result}) {{ {call} }}"
            ),
        ]
    }
}

/// Converts a model with a node that is not valid to versions near and far, in both directions: all refuse.
fn is_refused(text: &str, domain: &str, version: i64) {
    let mut model = parsed(text);
    let symbol = model.intern(domain);
    let options = ConvertOptions::default().with_domain(symbol);
    let versions = opset_versions(onnx_schema::normalize_domain(symbol)).unwrap();
    let targets = [version - 1, version + 1, *versions.start(), *versions.end()];
    for target in targets.into_iter().filter(|target| *target != version && versions.contains(target)) {
        let planned = plan(&model, target, &options).unwrap();
        let invalid = planned.refusals.iter().filter(|refusal| refusal.reason.cause() == Cause::Invalid);
        let invalid: Vec<String> = invalid.map(ToString::to_string).collect();
        assert_eq!(invalid.len(), 1, "{target}: {:?}\n{text}", planned.refusals);
        let says = format!("it is not valid in version {version}, which is imported: ");
        assert!(invalid[0].contains(&says), "{}", invalid[0]);
        let before = model.clone();
        let error = convert(&mut model, target, &options).unwrap_err();
        assert!(matches!(error, VersionError::Refused(_)), "{error}");
        assert!(error.findings(&model).diagnostics().iter().any(|found| found.rule.code == 4046));
        assert_eq!(model.opset_version(symbol), before.opset_version(symbol));
        assert_eq!(nearest(&model, target, &options).unwrap().version, version);
    }
}

/// For every operator and every two successive versions, a node in the form of one with an import of the other.
#[test]
fn no_node_in_the_form_of_another_version_is_converted() {
    let mut cases = [0; 2];
    for versions in onnx_schema::operators() {
        for pair in versions.windows(2) {
            let [old, new] = pair else { continue };
            for (is_newer, form_of, import_of, version) in
                [(true, new, old, new.since_version() - 1), (false, old, new, new.since_version())]
            {
                // A deprecated operator has no signature.
                if import_of.is_deprecated() || form_of.is_deprecated() {
                    continue;
                }
                let Some(form) = Form::new(form_of, import_of) else { continue };
                if !form.is_invalid_in(import_of) {
                    continue;
                }
                for text in form.models(import_of.domain_name(), version) {
                    is_refused(&text, import_of.domain_name(), version);
                }
                cases[usize::from(is_newer)] += 1;
            }
        }
    }
    // Forms of older and of newer versions.
    assert_eq!(cases, [77, 72]);
}

#[test]
fn an_operator_of_another_version_is_not_converted() {
    is_refused(
        r#"<ir_version: 8, opset_import: ["": 17]> g (float[2] x) => (float[2] y) { y = Gelu (x) }"#,
        "",
        17,
    );
    is_refused(
        r#"<ir_version: 8, opset_import: ["": 13]>
        g (float[2] x) => (float[2] y) { y = Resize <mode = "cubic_or_so"> (x, , x) }"#,
        "",
        13,
    );
}

/// The imports before and after a correction.
fn corrected(text: &str) -> Vec<(Option<String>, i64, i64)> {
    let mut model = parsed(text);
    let done = correct_import(&mut model, &ConvertOptions::default()).unwrap();
    done.iter()
        .map(|correction| {
            let name =
                correction.function.map(|function| model.str(model.function(function).name()).to_owned());
            let scope = correction.function.map_or(OpsetScope::Model, OpsetScope::Function);
            assert_eq!(model.versions_of(scope).get(domain::ONNX), Some(correction.to));
            (name, correction.from, correction.to)
        })
        .collect()
}

#[test]
fn an_import_is_corrected_if_only_one_meaning_is_possible() {
    let model = |version: i64, nodes: &str| {
        format!(
            "<ir_version: 8, opset_import: [\"\": {version}]>
            g (float[2, 4] x, float low, float high, int64[1] axes) => (float[2, 4] y) {{ {nodes} }}"
        )
    };
    let clip = "y = Clip (x, low, high)";
    // The versions 11, 12 and 13 differ in types only.
    assert_eq!(corrected(&model(10, clip)), [(None, 10, 11)]);
    assert_eq!(corrected(&model(17, "y = ReduceMean (x, axes)")), [(None, 17, 18)]);
    // Downwards, too.
    assert_eq!(corrected(&model(20, "y = ReduceMean <axes = [1]> (x)")), [(None, 20, 17)]);
    // What is valid stays, and so does what is valid nowhere.
    assert_eq!(corrected(&model(11, clip)), []);
    assert_eq!(corrected(&model(10, "y = Clip (x, low, high, high)")), []);
    // `Softmax` means something else from version 13 on, and version 11 and 13 are possible.
    assert_eq!(corrected(&model(10, "a = Softmax (x) y = Clip (a, low, high)")), []);
    // With the form of `Squeeze` of version 13, only one meaning is.
    let nodes = "a = Softmax (x) b = Unsqueeze (a, axes) c = Squeeze (b, axes) y = Clip (c, low, high)";
    assert_eq!(corrected(&model(10, nodes)), [(None, 10, 13)]);
}

#[test]
fn imports_of_functions_are_corrected_on_their_own() {
    let text = r#"<ir_version: 8, opset_import: ["": 17, "f": 1]>
    g (float[2, 4] x, float low) => (float[2, 4] y) { y = f.F (x, low) }
    <domain: "f", opset_import: ["": 10]> F (x, low) => (y) { y = Clip (x, low) }"#;
    assert_eq!(corrected(text), [(Some("F".to_owned()), 10, 11)]);
}

#[test]
fn a_version_is_imported_in_the_model_and_its_functions() {
    let text = r#"<ir_version: 7, opset_import: ["": 13, "f": 1]>
    g (float[2, 4] x) => (float[2, 4] y) { y = f.F (x) }
    <domain: "f", opset_import: ["": 12]> F (x) => (y) { y = Relu (x) }"#;
    let mut model = parsed(text);
    assert_eq!(set_import(&mut model, domain::ONNX, 17).unwrap(), 2);
    assert_eq!((model.opset_version(domain::ONNX), model.info().ir_version), (Some(17), 8));
    let function = OpsetScope::Function(model.functions()[0]);
    assert_eq!(model.versions_of(function).get(domain::ONNX), Some(17));
    assert_eq!(set_import(&mut model, domain::ONNX, 17).unwrap(), 0);
    assert!(matches!(set_import(&mut model, domain::ONNX, 1000), Err(VersionError::NoVersion(1000, _))));
    // A new operator set, and one of another author.
    assert_eq!(set_import(&mut model, domain::ML, 3).unwrap(), 1);
    let own = model.intern("f");
    assert_eq!(set_import(&mut model, own, 1000).unwrap(), 1);
    // Two imports of one operator set become one.
    let text =
        r#"<ir_version: 7, opset_import: ["": 11, "ai.onnx": 13]> g (float x) => (float y) { y = Relu (x) }"#;
    let mut model = parsed(text);
    assert_eq!(set_import(&mut model, domain::ONNX, 13).unwrap(), 1);
    assert_eq!(model.info().opset_imports.len(), 1);
}

/// What `Constant` computes is its tensor, also of a type that its operator has only since version 9.
#[test]
fn constants_of_newer_types_are_converted() {
    let text = r#"<ir_version: 3, opset_import: ["": 8]>
g (float[4] x) => (float[2,2] y) { s = Constant <value = int64[2] {2, 2}> () y = Reshape (x, s) }"#;
    for target in [7, 9, 13] {
        let mut model = parsed(text);
        convert(&mut model, target, &ConvertOptions::default()).unwrap();
        assert_eq!(model.opset_version(domain::ONNX), Some(target));
    }
}

/// Attributes and constants that no run allows are neither passed on to another version nor become others there.
#[test]
fn invalid_attributes_and_constants_are_refused() {
    let cases = [
        (
            21,
            8,
            "int64[1] s",
            "ConstantOfShape <value = float[0] {}> (s)",
            "`value` is not a vector of one element",
        ),
        (
            21,
            8,
            "int64[1] s",
            "ConstantOfShape <value = float[2] {1, 2}> (s)",
            "`value` is not a vector of one element",
        ),
        (21, 8, "int64[1] s", "ConstantOfShape <value = float {1}> (s)", "the type of `y` is unknown"),
        (
            7,
            21,
            "float[1, 1, 2, 2] x",
            "Upsample <scales = [1.0, 1.0, -1.0, -1.0]> (x)",
            "a scale is -1, and must be greater than 0",
        ),
        (
            1,
            21,
            "float[1, 1, 2, 2] x",
            "Upsample <height_scale = -2.0, width_scale = 2.0> (x)",
            "a scale is -2, and must be greater than 0",
        ),
        (
            7,
            9,
            "float[1, 1, 2, 2] x",
            "Upsample <scales = [1.0, 1.0, 0.0, 1.0]> (x)",
            "a scale is 0, and must be greater than 0",
        ),
        (10, 11, "float[2, 2] x", "Pad <pads = [1, 1, 1]> (x)", "there are 3 numbers for 2 axes"),
        (9, 13, "float[2, 2] x", "Slice <starts = [0, 0], ends = [1]> (x)", "there are 2 starts and 1 ends"),
    ];
    for (from, to, input, call, wanted) in cases {
        let text =
            format!("<ir_version: 10, opset_import: [\"\": {from}]>\ng ({input}) => (y) {{ y = {call} }}");
        let mut model = parsed(&text);
        let before = printed(&model);
        let error = convert(&mut model, to, &ConvertOptions::default()).expect_err(call).to_string();
        assert!(error.contains(wanted), "{call}: {error}");
        assert_eq!(printed(&model), before);
    }
}

/// Upward and downward conversions of the valid forms of the same operators are done.
#[test]
fn valid_attributes_and_constants_are_converted() {
    let cases = [
        (21, 8, "int64[1] s", "ConstantOfShape <value = float[1] {1}> (s)"),
        (7, 21, "float[1, 1, 2, 2] x", "Upsample <scales = [1.0, 1.0, 2.0, 2.0]> (x)"),
        (1, 21, "float[1, 1, 2, 2] x", "Upsample <height_scale = 2.0, width_scale = 2.0> (x)"),
        (10, 11, "float[2, 2] x", "Pad <pads = [1, 1, 1, 1]> (x)"),
    ];
    for (from, to, input, call) in cases {
        let text =
            format!("<ir_version: 10, opset_import: [\"\": {from}]>\ng ({input}) => (y) {{ y = {call} }}");
        let mut model = parsed(&text);
        assert!(convert(&mut model, to, &ConvertOptions::default()).is_ok(), "{call}");
    }
}
