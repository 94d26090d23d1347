//! Idioms of runtimes stay whole, or become unnecessary as a whole.

use onnx_ir::Model;
use onnx_pass::{Idioms, PassOptions};
use onnx_rewrite::{Costs, IdiomSet, RuleSet, simplification};
use onnx_schema::Registry;
use onnx_shape_infer::{InferOptions, infer};
use onnx_text::{ParseOptions, PrintOptions, parse_model, print_graph};
use onnx_types::Interrupt;
use onnx_types::tensor::NoData;

/// The constants of the models.
const CONSTANTS: &str = "<float[4] s = {1, 1, 1, 1}, float[4] c = {-0.0, -0.0, -0.0, -0.0}, float e = {1e-5}, float one = {1}, \
    float two = {2}, float half = {0.5}, float three = {3}, float root = {1.4142135}, float[4] v = {1, 2, 3, 4}>";

/// The normalization of the last axis from its distance `d` on.
const NORMALIZED: &str = "m = ReduceMean <axes = [-1]> (x) d = Sub (x, m) p = Pow (d, two) w = ReduceMean <axes = [-1]> (p) \
     k = Add (w, e) r = Sqrt (k) n = Div (d, r)";

fn parse(outputs: &str, body: &str) -> Model {
    let text = format!(
        "<ir_version: 8, opset_import: [\"\": 13]> g (float[N,2,4] x) => ({outputs}) {CONSTANTS} {{ {body} }}"
    );
    parse_model(text, &ParseOptions::default()).unwrap()
}

/// The operators of a model after simplification, sorted.
fn simplified(mut model: Model, idioms: Option<&IdiomSet>) -> Vec<String> {
    let pipeline = simplification(RuleSet::standard().unwrap(), Registry::STANDARD).unwrap();
    let idioms = idioms.map(|idioms| idioms as &dyn Idioms);
    let done = pipeline.run(&mut model, &PassOptions::default().with_idioms(idioms));
    assert!(done.ended.is_none(), "{:?}", done.ended);
    model.verify_sorted().unwrap();
    let graph = model.main_graph();
    let mut ops: Vec<String> =
        model.nodes(graph).map(|node| model.str(model.node(node).op()).to_owned()).collect();
    ops.sort();
    ops
}

fn found(model: &Model) -> Vec<String> {
    let inference = infer(model, &InferOptions::default());
    let idioms = IdiomSet::onnxruntime().unwrap().find(model, &inference, &NoData, &Interrupt::NEVER);
    idioms.into_iter().map(|idiom| format!("{} of {}", idiom.kernel, idiom.nodes.len())).collect()
}

#[test]
fn occurrences_are_found_in_the_forms_that_the_runtime_fuses() {
    let y = "float[N,2,4] y";
    let cases = [
        (
            format!("{NORMALIZED} q = Mul (n, s) y = Add (q, c)"),
            vec!["SimplifiedLayerNormalization of 6", "LayerNormalization of 9"],
        ),
        (
            format!("{NORMALIZED} q = Mul (s, n) y = Add (c, q)"),
            vec!["SimplifiedLayerNormalization of 6", "LayerNormalization of 9"],
        ),
        // Without an offset, the distances are what the runtime takes for the operand.
        (format!("{NORMALIZED} y = Mul (n, s)"), vec!["SimplifiedLayerNormalization of 6"]),
        // The runtime finds neither of these.
        (
            format!("{} q = Mul (n, s) y = Add (q, c)", NORMALIZED.replace("Pow (d, two)", "Mul (d, d)")),
            vec![],
        ),
        (format!("{NORMALIZED} y = Add (n, c)"), vec![]),
        (
            "p = Div (x, root) f = Erf (p) t = Add (f, one) u = Mul (x, t) y = Mul (u, half)".to_owned(),
            vec!["Gelu of 5"],
        ),
        (
            "p = Div (x, root) f = Erf (p) t = Add (f, one) u = Mul (x, half) y = Mul (u, t)".to_owned(),
            vec!["Gelu of 5"],
        ),
        ("t = Sigmoid (x) y = Mul (x, t)".to_owned(), vec!["QuickGelu of 2"]),
        ("a = Mul (x, three) t = Sigmoid (a) y = Mul (x, t)".to_owned(), vec!["QuickGelu of 3"]),
    ];
    for (body, expected) in cases {
        assert_eq!(found(&parse(y, &body)), expected, "{body}");
    }
    // The square is used elsewhere, so the runtime keeps the nodes.
    let body = format!("{NORMALIZED} q = Mul (n, s) y = Add (q, c)");
    assert_eq!(found(&parse("float[N,2,4] y, float[N,2,4] p", &body)), Vec::<String>::new());
}

#[test]
fn a_factor_and_an_offset_without_effect_stay_where_a_kernel_needs_them() {
    let idioms = IdiomSet::onnxruntime().unwrap();
    let body = format!("{NORMALIZED} q = Mul (n, s) y = Add (q, c)");
    let model = parse("float[N,2,4] y", &body);
    let all = ["Add", "Add", "Div", "Mul", "Pow", "ReduceMean", "ReduceMean", "Sqrt", "Sub"];
    assert_eq!(simplified(model.clone(), Some(&idioms)), all);
    assert_eq!(simplified(model, None), ["Add", "Div", "Pow", "ReduceMean", "ReduceMean", "Sqrt", "Sub"]);
}

#[test]
fn a_factor_without_effect_stays_after_a_product() {
    let idioms = IdiomSet::onnxruntime().unwrap();
    let body = "p = Pow (x, two) w = ReduceMean <axes = [-1]> (p) k = Add (w, e) r = Sqrt (k) i = Div (one, r) \
        n = Mul (x, i) y = Mul (n, s)";
    let model = parse("float[N,2,4] y", body);
    let all = ["Add", "Div", "Mul", "Mul", "Pow", "ReduceMean", "Sqrt"];
    assert_eq!(simplified(model.clone(), Some(&idioms)), all);
    assert_eq!(simplified(model, None), ["Add", "Div", "Pow", "ReduceMean", "Sqrt"]);
}

#[test]
fn the_mask_of_an_attention_stays() {
    let idioms = IdiomSet::onnxruntime().unwrap();
    let model = |version: i64, axes: [&str; 4]| {
        let [first, second, one, two] = axes;
        let text = format!(
            "<ir_version: 7, opset_import: [\"\": {version}]> g (int64[N,S] m) => (float[N,1,1,S] y)
            <float one = {{1}}, float low = {{-10000}}, int64[1] a = {{1}}, int64[1] b = {{2}}> {{
            u = Unsqueeze {first} (m{one}) v = Unsqueeze {second} (u{two}) c = Cast <to = 1> (v)
            d = Sub (one, c) y = Mul (d, low) }}"
        );
        parse_model(&text, &ParseOptions::default()).unwrap()
    };
    for model in [model(11, ["<axes = [1]>", "<axes = [2]>", "", ""]), model(13, ["", "", ", a", ", b"])] {
        assert_eq!(found(&model), ["Attention of 5"]);
        assert_eq!(
            simplified(model.clone(), Some(&idioms)),
            ["Cast", "Mul", "Sub", "Unsqueeze", "Unsqueeze"]
        );
        assert_eq!(simplified(model, None), ["Cast", "Mul", "Sub", "Unsqueeze"]);
    }
}

#[test]
fn a_factor_that_closes_an_activation_does_not_move_into_a_convolution() {
    let text = r#"<ir_version: 8, opset_import: ["": 13]> g (float[N,2,4,4] x) => (float[N,1,4,4] y)
        <float one = {1}, float half = {0.5}, float root = {1.4142135}, float[1,2,1,1] w = {1, 2}> {
        p = Div (x, root) f = Erf (p) t = Add (f, one) u = Mul (x, t) v = Mul (u, half) y = Conv (v, w) }"#;
    let model = parse_model(text, &ParseOptions::default()).unwrap();
    let idioms = IdiomSet::onnxruntime().unwrap();
    assert_eq!(simplified(model.clone(), Some(&idioms)), ["Add", "Conv", "Div", "Erf", "Mul", "Mul"]);
    assert_eq!(simplified(model, None), ["Add", "Conv", "Div", "Erf", "Mul"]);
}

#[test]
fn equal_nodes_are_merged_as_runtimes_do() {
    let idioms = IdiomSet::onnxruntime().unwrap();
    let twice = |second: &str| {
        let again = ["m", "d", "p", "w", "k", "r", "n"].iter().fold(NORMALIZED.to_owned(), |text, name| {
            text.replace(&format!("{name} = "), &format!("{name}2 = "))
                .replace(&format!("({name},"), &format!("({name}2,"))
                .replace(&format!(" {name})"), &format!(" {name}2)"))
                .replace(&format!("({name})"), &format!("({name}2)"))
        });
        let body = format!(
            "{NORMALIZED} q = Mul (n, s) f = Add (q, c) y = Relu (f) {again} q2 = Mul (n2, {second}) f2 = Add (q2, c) z = Neg (f2)"
        );
        parse("float[N,2,4] y, float[N,2,4] z", &body)
    };
    let equal = simplified(twice("s"), Some(&idioms));
    assert_eq!(equal.len(), 11, "{equal:?}");
    // The factors differ. The runtime merges the nodes before them, so that no idiom is left to keep.
    let different = simplified(twice("v"), Some(&idioms));
    // Of the factors and offsets, one is left that has an effect.
    assert_eq!(different.len(), 10, "{different:?}");
}

/// The runtime makes one kernel of a product and its quantized weights.
#[test]
fn equal_quantized_weights_stay_apart() {
    let text = r#"<ir_version: 10, opset_import: ["": 21]> g (float[N,2] x) => (float[N,2] y)
        <int8[2,2] v = {1, 2, 3, 4}, int8[2,2] w = {1, 2, 3, 4}, float s = {0.5}, float t = {0.25}> {
        a = DequantizeLinear (v, s) b = DequantizeLinear (w, t) c = MatMul (x, a) y = MatMul (c, b) }"#;
    let pipeline = simplification(RuleSet::standard().unwrap(), Registry::STANDARD).unwrap();
    let idioms = IdiomSet::onnxruntime().unwrap();
    for (idioms, count) in [(Some(&idioms as &dyn Idioms), 4), (None, 3)] {
        let mut model = parse_model(text, &ParseOptions::default()).unwrap();
        pipeline.run(&mut model, &PassOptions::default().with_idioms(idioms));
        assert_eq!(model.initializers(model.main_graph()).count(), count);
    }
}

#[test]
fn mistakes_of_idioms_have_a_place() {
    let mistake = |text: &str| IdiomSet::parse("acme", text).unwrap_err().to_string();
    let unknown = mistake("idiom A from (x) => (y) { y = Rellu (x) }");
    assert!(unknown.contains("the operator `Rellu` does not exist"), "{unknown}");
    let condition = mistake("idiom A from (x) => (y) { y = Relu (x) } where rank(x) == 2");
    assert!(condition.contains("are of the form `const(x)`"), "{condition}");
    let rule = mistake("rule a: exact from (x) => (y) { y = Neg (Neg (x)) } to (x) => (x) {}");
    assert!(rule.contains("expected `idiom`"), "{rule}");
}

#[test]
fn an_edit_that_saves_nothing_for_a_target_is_not_made() {
    let text = r#"<ir_version: 8, opset_import: ["": 13]> g (float[N] x) => (float[N] y) { a = Neg (x) b = Neg (a) y = Relu (b) }"#;
    let mut model = parse_model(text, &ParseOptions::default()).unwrap();
    let rules = RuleSet::standard().unwrap().with_costs(Costs::standard().and([("Neg".to_owned(), 0)]));
    let pipeline = simplification(rules, Registry::STANDARD).unwrap();
    let done = pipeline.run(&mut model, &PassOptions::default());
    let printed = print_graph(&model, model.main_graph(), &PrintOptions::default()).unwrap().text;
    assert_eq!((done.edits(), model.node_count()), (0, 3), "{printed}");
}
