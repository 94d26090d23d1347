//! Conditions that inputs state with expressions and common variables, after sizes were edited and models merged.

#![allow(clippy::unwrap_used, clippy::panic, clippy::expect_used, reason = "a test")]

use std::collections::BTreeMap;

use onnx_compose::{
    ComposeError, Connection, EditOptions, MergeOptions, NewSize, SizeChange, SizeTarget, merge, resize,
};
use onnx_eval::{EvalOptions, Evaluator, Value};
use onnx_ir::{GraphOutput, Model, ValueId};
use onnx_text::{ParseOptions, PrintOptions, parse_model, print_model};
use onnx_types::expr::{Dialect, ExprTable};
use onnx_types::tensor::Tensor;
use onnx_types::{Dim, Interner};

fn model(text: &str) -> Model {
    parse_model(text, &ParseOptions::default()).unwrap()
}

fn print(model: &Model) -> String {
    print_model(model, &PrintOptions::default()).unwrap().text
}

fn find(model: &Model, name: &str) -> ValueId {
    model.find_value(model.main_graph(), name).expect(name)
}

fn attempt(text: &str, changes: &[&str]) -> Result<Model, ComposeError> {
    let mut model = model(text);
    let change = |text: &&str| {
        let (target, size) = text.split_once('=').unwrap();
        let size = size.parse().map_or_else(|_| NewSize::Name(size.to_owned()), NewSize::Number);
        let target = match target.strip_suffix(']').and_then(|text| text.split_once('[')) {
            Some((name, axis)) => SizeTarget::Axis(find(&model, name), axis.parse().unwrap()),
            None => SizeTarget::Variable(target.to_owned()),
        };
        SizeChange { target, size }
    };
    let changes: Vec<SizeChange> = changes.iter().map(change).collect();
    resize(&mut model, &changes, &EditOptions::default()).map(|_| model)
}

/// The interface of a model after changes of sizes: `x[N,3] -> y[N,3]`.
fn resized(text: &str, changes: &[&str]) -> String {
    interface(&attempt(text, changes).unwrap_or_else(|error| panic!("{error}")))
}

fn dims(model: &Model, value: ValueId) -> Vec<String> {
    let text = |&dim: &Dim| model.exprs().text(dim, model.names(), Dialect::Python).unwrap_or("?".to_owned());
    model.ty(value).unwrap().shape().unwrap().dims().iter().map(text).collect()
}

fn outputs(model: &Model) -> Vec<ValueId> {
    model.graph(model.main_graph()).outputs().iter().map(GraphOutput::value).collect()
}

fn interface(model: &Model) -> String {
    let text = |&value: &ValueId| {
        let dims = dims(model, value).join(",").replace(['`', ' '], "");
        format!("{}[{dims}]", model.str(model.value(value).name()))
    };
    let inputs: Vec<String> = model.graph(model.main_graph()).inputs().iter().map(text).collect();
    let outputs: Vec<String> = outputs(model).iter().map(text).collect();
    format!("{} -> {}", inputs.join(" "), outputs.join(" "))
}

fn merged(a: &str, b: &str, joints: &[(&str, &str)]) -> Model {
    let (a, b) = (model(a), model(b));
    let joints: Vec<Connection> =
        joints.iter().map(|(from, to)| Connection::new((0, find(&a, from)), (1, find(&b, to)))).collect();
    merge(&[&a, &b], &joints, &MergeOptions::default()).unwrap().model
}

const CACHE: &str = r#"<ir_version: 8, opset_import: ["": 17]>
h (float[batch,past] k, float[batch,seq] ids, float[batch,"past + seq"] mask) => (float[batch,"past + seq"] o, float[batch,"2*past + 2*seq"] o2) {
  o = Relu (mask)
  c = Concat <axis = 1> (k, ids)
  o2 = Concat <axis = 1> (c, mask)
}"#;

const TWICE: &str = r#"<ir_version: 8, opset_import: ["": 17]>
b (float[N,3] x, float["2*N",3] w) => (float[N,3] y, float["N*3",3] u) {
  y = Relu (x)
  u = Concat <axis = 0> (x, w)
}"#;

#[test]
fn expressions_of_inputs_get_numbers_and_names() {
    assert_eq!(
        resized(CACHE, &["seq=1", "past=4", "batch=2"]),
        "k[2,4] ids[2,1] mask[2,5] -> o[2,5] o2[2,10]"
    );
    assert_eq!(
        resized(CACHE, &["seq=1"]),
        "k[batch,past] ids[batch,1] mask[batch,past+1] -> o[batch,past+1] o2[batch,2*past+2]"
    );
    assert_eq!(
        resized(CACHE, &["seq=S"]),
        "k[batch,past] ids[batch,S] mask[batch,past+S] -> o[batch,past+S] o2[batch,2*past+2*S]"
    );
    assert_eq!(resized(TWICE, &["N=K"]), "x[K,3] w[2*K,3] -> y[K,3] u[K*3,3]");
    assert_eq!(resized(TWICE, &["x[0]=K"]), "x[K,3] w[2*K,3] -> y[K,3] u[K*3,3]");
}

#[test]
fn a_number_for_an_expression_is_one_for_its_variable() {
    assert_eq!(resized(TWICE, &["w[0]=8"]), "x[4,3] w[8,3] -> y[4,3] u[12,3]");
    assert_eq!(resized(TWICE, &["w[0]=8", "N=4"]), "x[4,3] w[8,3] -> y[4,3] u[12,3]");
    assert_eq!(
        resized(CACHE, &["mask[1]=10", "seq=4"]),
        "k[batch,6] ids[batch,4] mask[batch,10] -> o[batch,10] o2[batch,20]"
    );
    let refused = |changes: &[&str]| attempt(TWICE, changes).unwrap_err().to_string();
    assert_eq!(refused(&["w[0]=7"]), "`2*N` is an expression that is never 7");
    assert_eq!(refused(&["w[0]=8", "N=3"]), "`2*N` is an expression that is never 8");
    assert_eq!(refused(&["w[0]=8", "N=K"]), "`N` gets two sizes");
    let less = TWICE.replace("2*N", "N-2").replace("N*3", "2*N-2");
    assert_eq!(resized(&less, &["N=2"]), "x[2,3] w[0,3] -> y[2,3] u[2,3]");
    assert!(attempt(&less, &["N=1"]).is_err());
    assert!(attempt(&less, &["w[0]=N"]).is_err());
}

#[test]
fn what_is_not_proved_without_an_expression_is_proved_again() {
    assert_eq!(resized(TWICE, &["w[0]=Q"]), "x[N,3] w[Q,3] -> y[N,3] u[N+Q,3]");
    assert_eq!(resized(TWICE, &["w[0]=N"]), "x[N,3] w[N,3] -> y[N,3] u[2*N,3]");
    assert_eq!(
        resized(CACHE, &["mask[1]=10"]),
        "k[batch,past] ids[batch,seq] mask[batch,10] -> o[batch,10] o2[batch,past+seq+10]"
    );
}

#[test]
fn names_do_not_become_expressions() {
    let text = TWICE.replace("[N,3] y", "[\"K*L\",3] y");
    assert!(attempt(&text, &["x[0]=K"]).is_ok());
    let text = TWICE.replace("[N,3] y", "[\"K+K\",3] y");
    assert!(attempt(&text, &["x[0]=K"]).is_err());
}

const ONE_MORE: &str = r#"<ir_version: 8, opset_import: ["": 17]>
a (float[N,3] p) => (float["N+1",3] s) {
  z = Constant <value = float[1,3] {1,2,3}> ()
  s = Concat <axis = 0> (p, z)
}"#;

const FROM_DATA: &str = r#"<ir_version: 8, opset_import: ["": 17]>
c (float[N,3] p, float[K] q) => (float[N,3] r, float[M,3] s) {
  r = Relu (p)
  n = NonZero (q)
  t = Transpose <perm = [1, 0]> (n)
  f = Cast <to = 1> (t)
  s = Concat <axis = 1> (f, f, f)
}"#;

const SAME: &str = r#"<ir_version: 8, opset_import: ["": 17]>
d (float[N,3] x, float[N,3] w) => (float[N,3] y, float["2*N",3] z) {
  y = Relu (w)
  z = Concat <axis = 0> (w, w)
}"#;

#[test]
fn conditions_that_a_connection_does_not_prove_are_not_needed_by_what_is_declared() {
    let of = |a, b, joints: &[(&str, &str)]| interface(&merged(a, b, joints));
    assert_eq!(of(FROM_DATA, SAME, &[("r", "x"), ("s", "w")]), "p[N,3] q[K] -> y[M,3] z[2*M,3]");
    assert_eq!(of(FROM_DATA, SAME, &[("s", "w")]), "p[N,3] q[K] x[N_2,3] -> r[N,3] y[M,3] z[2*M,3]");
    assert_eq!(of(FROM_DATA, SAME, &[("r", "w")]), "p[N,3] q[K] x[N,3] -> s[M,3] y[N,3] z[2*N,3]");
    assert_eq!(of(ONE_MORE, TWICE, &[("s", "w")]), "p[N,3] x[N_2,3] -> y[N_2,3] u[N_2+N+1,3]");
    assert_eq!(of(ONE_MORE, TWICE, &[("p", "w")]), "p[N,3] x[N_2,3] -> s[N+1,3] y[N_2,3] u[N_2+N,3]");
}

/// Chooses from a list.
fn choose<'a>(state: &mut u64, list: &[&'a str]) -> &'a str {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    list[(*state >> 33) as usize % list.len()]
}

/// A random model of rows, with expressions in its interface. All that it declares is proved.
fn random(state: &mut u64, prefix: &str) -> Model {
    let sizes = ["N", "M", "2*N", "N+1", "N + M", "N-1", "3*M", "K"];
    let mut names: Vec<String> = Vec::new();
    let mut inputs = Vec::new();
    for number in 0..3 {
        let name = format!("{prefix}x{number}");
        inputs.push(format!("float[\"{}\",3] {name}", choose(state, &sizes)));
        names.push(name);
    }
    let mut nodes = String::new();
    for number in 0..4 {
        let known: Vec<&str> = names.iter().map(String::as_str).collect();
        let (a, b) = (choose(state, &known), choose(state, &known));
        let name = format!("{prefix}y{number}");
        let node = match choose(state, &["relu", "concat", "concat", "data"]) {
            "relu" => format!("{name} = Relu ({a})"),
            "concat" => format!("{name} = Concat <axis = 0> ({a}, {b})"),
            _ => format!(
                "{name}n = NonZero ({a})  {name}t = Transpose <perm = [1, 0]> ({name}n)
                 {name}c = Cast <to = 1> ({name}t)  {name} = Concat <axis = 1> ({name}c, {name}d)
                 {name}i = Constant <value = int64[1] {{0}}> ()  {name}e = Gather <axis = 1> ({name}c, {name}i)"
            )
            .replace(&format!("{name}d)"), &format!("{name}e)")),
        };
        // The nodes of `data` are listed in the order of their results.
        let node = node.replace('\n', " ");
        nodes.push_str(&sorted(&node));
        names.push(name);
    }
    let results = names.split_off(3);
    let header = r#"<ir_version: 8, opset_import: ["": 17]>"#;
    let outputs = results.join(", ");
    let mut model = model(&format!("{header} g ({}) => ({outputs}) {{ {nodes} }}", inputs.join(", ")));
    let options = onnx_shape_infer::InferOptions::default().with_assumed(false);
    let mut inference = onnx_shape_infer::infer(&model, &options);
    inference.apply(&mut model, onnx_shape_infer::MergePolicy::Refine).unwrap();
    model
}

/// Moves the node that makes the second operand of the last `Concat` before it.
fn sorted(node: &str) -> String {
    match node.find(" = Concat <axis = 1>") {
        None => format!("{node}\n"),
        Some(at) => {
            let begin = node[..at].rfind(' ').unwrap();
            let end = node[at..].find(')').unwrap() + at + 1;
            format!("{} {} {}\n", &node[..begin], &node[end..], &node[begin..end])
        }
    }
}

/// Runs a model, and compares all sizes that it declares for results with those of the run. Returns `false` if no inputs have the
/// sizes.
fn holds(model: &Model, from: i64) -> bool {
    let (mut exprs, mut names) = (ExprTable::new(), Interner::new());
    let graph = model.graph(model.main_graph());
    let mut known: BTreeMap<String, i64> = BTreeMap::new();
    let is_name = |text: &str| text.chars().all(|c| c.is_alphanumeric() || c == '_');
    for &input in graph.inputs() {
        for text in dims(model, input) {
            if is_name(&text) && text.parse::<i64>().is_err() && text != "?" {
                let next = from + known.len() as i64;
                known.entry(text).or_insert(next);
            }
        }
    }
    let mut eval = |text: &str, known: &BTreeMap<String, i64>| {
        let text = text.replace('`', "");
        let dim = exprs.parse(&mut names, &text);
        exprs.eval(dim, &|symbol| known.get(names.resolve(symbol)).copied())
    };
    let mut inputs = Vec::new();
    for &input in graph.inputs() {
        let sizes: Vec<i64> =
            dims(model, input).iter().map(|text| eval(text, &known).unwrap_or(from + 7)).collect();
        if sizes.iter().any(|&size| size < 0) {
            return false;
        }
        let count: i64 = sizes.iter().product();
        let elements: Vec<f32> = (0..count).map(|index| ((index * from) % 3) as f32).collect();
        let tensor = Tensor::from_slice(sizes, &elements).unwrap();
        inputs.push((model.str(model.value(input).name()), Value::from(tensor)));
    }
    let evaluator = Evaluator::new(model, &EvalOptions::default()).unwrap();
    let found = evaluator.run(&inputs).unwrap();
    for (value, found) in outputs(model).into_iter().zip(&found) {
        let found = found.tensor().unwrap().dims().to_vec();
        for (text, &size) in dims(model, value).iter().zip(&found) {
            if let Some(declared) = eval(text, &known) {
                assert_eq!(declared, size, "{text} {known:?} {found:?}\n{}", print(model));
            } else if is_name(text) && text != "?" {
                known.insert(text.clone(), size);
            }
        }
    }
    true
}

#[test]
fn declared_sizes_of_merged_and_edited_models_are_those_of_runs() {
    let mut state = 7;
    let (mut merges, mut edits) = (0, 0);
    for _ in 0..150 {
        let (a, b) = (random(&mut state, "a"), random(&mut state, "b"));
        let mut joints = Vec::new();
        for input in ["bx0", "bx1", "bx2"] {
            let from = choose(&mut state, &["ax0", "ay0", "ay1", "ay2", "ay3", "", ""]);
            if !from.is_empty() {
                joints.push(Connection::new((0, find(&a, from)), (1, find(&b, input))));
            }
        }
        if let Ok(merged) = merge(&[&a, &b], &joints, &MergeOptions::default()) {
            merges += usize::from(holds(&merged.model, 2) && holds(&merged.model, 5));
        }
        let mut edited = a.clone();
        let target = SizeTarget::Axis(find(&a, choose(&mut state, &["ax0", "ax1"])), 0);
        let size = match choose(&mut state, &["4", "6", "N", "Q"]) {
            name @ ("N" | "Q") => NewSize::Name(name.to_owned()),
            number => NewSize::Number(number.parse().unwrap()),
        };
        if resize(&mut edited, &[SizeChange { target, size }], &EditOptions::default()).is_ok() {
            edits += usize::from(holds(&edited, 2) && holds(&edited, 5));
        }
    }
    assert!(merges > 60 && edits > 60, "{merges} {edits}");
}
