//! `onnx compare`: equal models, broken ones, tolerances, sizes, parts.

use crate::run::{Folder, onnx, onnx_with};

pub(crate) const HEAD: &str = "<ir_version: 10, opset_import: [\"\": 20]>";

pub(crate) fn folder(a: &str, b: &str) -> Folder {
    let folder = Folder::with("a.onnxtxt", format!("{HEAD} g {a}"));
    folder.put("b.onnxtxt", format!("{HEAD} g {b}"));
    folder
}

const CHAIN: &str = "(float[N, 3] x) => (float[N, 3] y) {
    s = Neg (x)
    [middle] t = Abs (s)
    u = Exp (t)
    y = Softmax (u)
}";

#[test]
fn a_model_agrees_with_itself_for_several_sizes() {
    let folder = folder(CHAIN, CHAIN);
    let run = onnx(&folder, "compare a.onnxtxt b.onnxtxt --set N=0,1,7 --inner").exits(0);
    for title in ["N=0, seed 0", "N=1, seed 0", "N=7, seed 0", "y  float[7,3]  equal", "3 inner values agree"]
    {
        assert!(run.out.contains(title), "{}", run.out);
    }
    assert!(run.out.ends_with("float: |a - b| <= 1e-5 + 1e-4 * |b|\nthe models agree\n"), "{}", run.out);
    let report = onnx(&folder, "compare a.onnxtxt b.onnxtxt --runs 2 --format json").exits(0).json();
    let runs = report["result"]["runs"].as_array().unwrap();
    let sizes: Vec<_> = runs.iter().map(|run| run["sizes"][0]["size"].as_i64().unwrap()).collect();
    assert_eq!(sizes[2..], [1, 1, 0, 0]);
    assert_eq!(runs[1]["seed"], 1);
}

#[test]
fn a_broken_model_is_found_with_its_node() {
    let broken = CHAIN.replace("Abs", "Relu");
    let folder = folder(CHAIN, &broken);
    let run = onnx(&folder, "compare a.onnxtxt b.onnxtxt --inner").exits(1);
    assert!(
        run.out.contains("inner values diverge after the node Relu `middle` of B, in A Abs `middle`:"),
        "{}",
        run.out
    );
    assert!(run.out.ends_with("the models differ\n"), "{}", run.out);
    let report = onnx(&folder, "compare a.onnxtxt b.onnxtxt --inner --format json").exits(1).json();
    let divergence = &report["result"]["runs"][0]["divergence"];
    assert_eq!((&divergence["node"], &divergence["name"]), (&"middle".into(), &"t".into()));
    assert_eq!((&divergence["op"], &divergence["op_in_a"]), (&"Relu".into(), &"Abs".into()));
    assert_eq!(divergence["type_in_b"], serde_json::Value::Null);
    // The operator is the same, and an operand is another one.
    folder.put("b.onnxtxt", format!("{HEAD} g {}", CHAIN.replace("Exp (t)", "Exp (s)")));
    let run = onnx(&folder, "compare a.onnxtxt b.onnxtxt --inner").exits(1);
    assert!(run.out.contains("inner values diverge after the node Exp `u` of B:"), "{}", run.out);
}

/// The second model computes in `float16`, with inputs and outputs of `float`; 300 * 300 is beyond the range.
#[test]
fn a_model_in_float16_diverges_where_it_overflows() {
    let graph = |rest: &str| format!("(float[N] x) => (float[N] y) <float k = {{300}}> {{ {rest} }}");
    let wide = "a = Sigmoid (x) b = Add (a, k) c = Mul (b, b) d = Abs (c) y = Sqrt (d)";
    let narrow = "h = Cast <to = 10> (x) k16 = Cast <to = 10> (k)
        a = Sigmoid (h) b = Add (a, k16) c = Mul (b, b) d = Abs (c) e = Cast <to = 1> (d) y = Sqrt (e)";
    let folder = folder(&graph(wide), &graph(narrow));
    let run = onnx(&folder, "compare a.onnxtxt b.onnxtxt --inner --set N=2").exits(1);
    for text in [
        "inner values diverge after the node Mul `c` of B:\n  c  float[2] in A, float16[2] in B  2 of 2 elements differ",
        " and inf\n",
        "float16: |a - b| <= 1e-3 + 1e-2 * |b|\n",
    ] {
        assert!(run.out.contains(text), "{text}\n{}", run.out);
    }
    let report = onnx(&folder, "compare a.onnxtxt b.onnxtxt --inner --set N=2 --format json").exits(1).json();
    let divergence = &report["result"]["runs"][0]["divergence"];
    assert_eq!((&divergence["type"], &divergence["type_in_b"]), (&"float[2]".into(), &"float16[2]".into()));
    // Without the overflow, the models agree. The tolerance can be given.
    let small = |text: &str| graph(text).replace("300", "3");
    folder.put("a.onnxtxt", format!("{HEAD} g {}", small(wide)));
    folder.put("b.onnxtxt", format!("{HEAD} g {}", small(narrow)));
    let command = "compare a.onnxtxt b.onnxtxt --inner --set N=2 --rtol 0.01";
    onnx(&folder, command).exits(0).says("4 inner values agree; the types of 4 differ\n");
    onnx(&folder, "compare a.onnxtxt b.onnxtxt --inner --set N=2 --rtol 0 --atol 0")
        .exits(1)
        .says("inner values diverge after the node Sigmoid `a` of B, or the node before it, whose result is not compared:");
    // An output of another type is a difference at any tolerance.
    folder.put("a.onnxtxt", format!("{HEAD} g (float[N] x) => (float[N] y) {{ y = Neg (x) }}"));
    let cast = "(float[N] x) => (float16[N] y) { h = Cast <to = 10> (x) y = Neg (h) }";
    folder.put("b.onnxtxt", format!("{HEAD} g {cast}"));
    onnx(&folder, "compare a.onnxtxt b.onnxtxt --inner --set N=2 --atol 9")
        .exits(1)
        .says("y  float[2]  differs: float16[2] instead of float[2]");
}

#[test]
fn the_node_of_the_first_model_is_named_if_it_is_another_operator() {
    let folder = folder(
        "(float[2] x) => (float[2] y) { y = Neg (x) }",
        "(float[2] x) => (float[2] y) { y = Neg (x) }",
    );
    let functions = "<domain: \"acme\", opset_import: [\"\": 20]> Twice (a) => (b) { b = Add (a, a) }";
    let head = HEAD.replace("20]", "20, \"acme\": 1]");
    folder.put(
        "b.onnxtxt",
        format!("{head} g (float[2] x) => (float[2] y) {{ y = acme.Twice (x) }} {functions}"),
    );
    onnx(&folder, "compare a.onnxtxt b.onnxtxt --inner --common")
        .exits(1)
        .says("only outputs are compared: they diverge after the node acme.Twice `y` of B, in A Neg `y`:");
    // An output of the first model that is an input, too.
    folder.put("b.onnxtxt", format!("{HEAD} g (float[2] z) => (float[2] x) {{ x = Exp (z) }}"));
    folder.put("a.onnxtxt", format!("{HEAD} g (float[2] x, float[2] z) => (float[2] x) {{ y = Neg (x) }}"));
    onnx(&folder, "compare a.onnxtxt b.onnxtxt --inner")
        .exits(1)
        .says("only outputs are compared: they diverge after the node Exp `x` of B, in A no node:");
}

#[test]
fn tolerances_decide() {
    let folder = folder(
        "(float[2] x) => (float[2] y) { y = Identity (x) }",
        "(float[2] x) => (float[2] y) <float d = {0.001}> { y = Add (x, d) }",
    );
    folder.put("in/x.npy", {
        let header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }\n";
        let data = [1.0_f32, 2.0].map(f32::to_le_bytes).concat();
        [b"\x93NUMPY\x01\0", &(header.len() as u16).to_le_bytes()[..], header.as_bytes(), &data].concat()
    });
    let compare = |options: &str| onnx(&folder, &format!("compare a.onnxtxt b.onnxtxt --feeds in {options}"));
    let run = compare("").exits(1);
    assert!(run.out.contains("2 of 2 elements differ: at most 0.001"), "{}", run.out);
    assert!(run.out.contains("first at [0]: 1.0 and 1.001"), "{}", run.out);
    compare("--atol 0.0011").exits(0).says("within the tolerance");
    compare("--rtol 0.0006 --atol 0").exits(1).says("1 of 2 elements differ");
    // From 1 to 1.001 are 8,389 numbers, from 2 to 2.001 half as many.
    compare("--rtol 0 --atol 0 --ulps 8389").exits(0);
    compare("--rtol 0 --atol 0 --ulps 8388").exits(1).says("1 of 2 elements differ");
    compare("--atol -1").exits(2);
}

#[test]
fn integers_and_truth_values_are_exact() {
    let folder = folder(
        "(int64[8] x) => (int64[8] y, bool[8] z) <int64 c = {1}> { y = Add (x, c) z = Equal (x, y) }",
        "(int64[8] x) => (int64[8] y, bool[8] z) <int64 c = {1}> { y = Sub (x, c) z = Equal (x, x) }",
    );
    let run = onnx(&folder, "compare a.onnxtxt b.onnxtxt --atol 100 --rtol 100 --ulps 100").exits(1);
    assert!(run.out.contains("y  int64[8]  8 of 8 elements differ: at most 2,"), "{}", run.out);
    assert!(run.out.contains("z  bool[8]  8 of 8 elements differ"), "{}", run.out);
    assert!(run.out.contains("first at [0]: false and true"), "{}", run.out);
}

#[test]
fn nan_equals_nan() {
    let root = "(float[4] x) => (float[4] y) { n = Abs (x) m = Neg (n) y = Sqrt (m) }";
    let folder = folder(root, root);
    let run = onnx(&folder, "compare a.onnxtxt b.onnxtxt").exits(0);
    assert!(run.out.contains("y  float[4]  equal"), "{}", run.out);
}

#[test]
fn a_part_is_compared_with_the_whole_from_a_stream() {
    let folder = folder(CHAIN, CHAIN);
    let part = format!("{HEAD} g (float[N, 3] s) => (float[N, 3] u) {{ v = Abs (s) u = Exp (v) }}");
    let command = "compare a.onnxtxt - --from onnxtxt --set N=2";
    let run = onnx_with(&folder, &format!("{command} --common"), part.as_bytes()).exits(0);
    assert!(run.out.contains("u  float[2,3]  equal\n  y  only an output of A"), "{}", run.out);
    // Without the option, the models differ.
    let run = onnx_with(&folder, command, part.as_bytes()).exits(1);
    assert!(run.out.ends_with("the models differ\n"), "{}", run.out);
    onnx_with(&folder, "compare - - --from onnxtxt", part.as_bytes()).exits(2).says("only one model");
    let other = format!("{HEAD} g (float[N, 3] s) => (float[N, 3] other) {{ other = Abs (s) }}");
    onnx_with(&folder, "compare a.onnxtxt - --from onnxtxt", other.as_bytes())
        .exits(1)
        .says("A has no value of this name");
    // With nothing in common, nothing is compared.
    onnx_with(&folder, "compare a.onnxtxt - --from onnxtxt --common", other.as_bytes())
        .exits(2)
        .says("nothing was compared: <stdin> has no output that is a value of the first model");
}

#[test]
fn an_input_that_only_the_second_model_has_is_named() {
    let folder = folder(
        "(float[2] x) => (float[2] y) { y = Neg (x) }",
        "(float[2] ids) => (float[2] y) { y = Neg (ids) }",
    );
    onnx(&folder, "compare a.onnxtxt b.onnxtxt")
        .exits(2)
        .says("a.onnxtxt has no value with the name of the input `ids` of b.onnxtxt")
        .says("inputs are matched by name");
    onnx(&folder, "compare a.onnxtxt b.onnxtxt --set M=2")
        .exits(2)
        .says("a.onnxtxt: no input has the dimension");
}

#[test]
fn an_output_of_one_model_only_is_a_difference() {
    let folder = folder(
        "(float[2] x) => (float[2] y, float[2] z) { y = Neg (x) z = Abs (x) }",
        "(float[2] x) => (float[2] y) { y = Neg (x) }",
    );
    for (command, text) in [
        ("a.onnxtxt b.onnxtxt", "z  only an output of A"),
        ("b.onnxtxt a.onnxtxt", "z  A has no value of this name"),
    ] {
        onnx(&folder, &format!("compare {command}")).exits(1).says(text).says("the models differ");
        onnx(&folder, &format!("compare {command} --common")).exits(0).says(text).says("the models agree");
        let report = onnx(&folder, &format!("compare {command} --format json")).exits(1).json();
        assert_eq!(report["result"]["runs"][0]["status"], "different");
    }
}

#[test]
fn a_model_that_does_not_run_differs_from_one_that_does() {
    let fixed =
        "(float[N, 3] x) => (float[N, 3] y) <int64[2] k = {2, 3}> { r = Reshape (x, k) y = Softmax (r) }";
    let folder = folder("(float[N, 3] x) => (float[N, 3] y) { y = Softmax (x) }", fixed);
    let run = onnx(&folder, "compare a.onnxtxt b.onnxtxt --set N=2,5").exits(1);
    assert!(run.out.contains("N=2, seed 0\n  y  float[2,3]  equal"), "{}", run.out);
    assert!(run.out.contains("B does not run") && run.err.contains("ONNX5004"), "{}\n{}", run.out, run.err);
    // The first model decides about the sizes.
    let run = onnx(&folder, "compare b.onnxtxt a.onnxtxt").exits(0);
    assert!(run.out.contains("A does not run"), "{}", run.out);
    onnx(&folder, "compare b.onnxtxt a.onnxtxt --set N=3")
        .exits(2)
        .says("does not hold")
        .says("nothing was compared");
    onnx(&folder, "compare a.onnxtxt missing.onnx").exits(2).says("missing.onnx");
    onnx(&folder, "compare a.onnxtxt b.onnxtxt --limit run_steps=1").exits(3).says("run_steps");
}

#[test]
fn tensors_of_one_repeated_element_are_not_written_out() {
    // 4 TiB each.
    let splat = |element: &str| {
        format!(
            "() => (float[N] x) <int64[1] s = {{1099511627776}}> {{ x = ConstantOfShape <value = float[1] {{{element}}}> (s) }}"
        )
    };
    let limits = "--limit run_elements=2000000000000 --limit run_bytes=1M --timeout 60s";
    let same = folder(&splat("1"), &splat("1"));
    let run = onnx(&same, &format!("compare a.onnxtxt b.onnxtxt {limits}")).exits(0);
    assert_eq!(run.out.matches("seed").count(), 1, "nothing is generated: {}", run.out);
    let other = folder(&splat("1"), &splat("2"));
    onnx(&other, &format!("compare a.onnxtxt b.onnxtxt {limits}"))
        .exits(1)
        .says("1,099,511,627,776 of 1,099,511,627,776 elements differ: at most 1,");
    let run = onnx(&same, &format!("run a.onnxtxt {limits}")).exits(0);
    assert!(run.out.contains("min 1, mean 1, max 1"), "{}", run.out);
    for options in ["-o out", "-o out --to npy", "-o out.npz"] {
        onnx(&same, &format!("run a.onnxtxt {limits} {options}")).exits(3).says("splat_bytes");
    }
    assert_eq!(same.list(), ["a.onnxtxt", "b.onnxtxt"]);
}

#[test]
fn writing_out_a_repeated_element_is_a_limit_and_not_a_difference() {
    let neg = "() => (float[N] y) <int64[1] s = {1000}> { x = ConstantOfShape (s) y = Neg (x) }";
    let folder = folder(neg, neg);
    for command in ["compare a.onnxtxt b.onnxtxt", "run a.onnxtxt"] {
        onnx(&folder, &format!("{command} --limit splat_bytes=3999"))
            .exits(3)
            .says("raise the limit `splat_bytes`");
        onnx(&folder, &format!("{command} --limit splat_bytes=4000")).exits(0);
    }
}

#[test]
fn nothing_to_compare_is_not_a_difference() {
    let fails = "(float[2] x) => (float[2] y) { y = Concat <axis = 5> (x) }";
    let folder = folder(fails, fails);
    let run =
        onnx(&folder, "compare a.onnxtxt b.onnxtxt").exits(2).says("nothing was compared").says("ONNX5004");
    assert!(!run.out.contains("the models"), "{}", run.out);
    let report = onnx(&folder, "compare a.onnxtxt b.onnxtxt --format json").exits(2).json();
    assert_eq!((&report["status"], report["failures"].as_array().unwrap().len()), (&"failed".into(), 1));
    folder.put("a.onnxtxt", format!("{HEAD} g (float[2] x) => (float[2] y) {{ y = Exp (x) }}"));
    folder.put("none.onnxtxt", format!("{HEAD} g (float[2] x) => () {{ y = Neg (x) }}"));
    onnx(&folder, "compare a.onnxtxt none.onnxtxt").exits(2).says("none.onnxtxt has no outputs");
    onnx(&folder, "compare none.onnxtxt none.onnxtxt").exits(2).says("nothing was compared");
}

#[test]
fn sizes_are_those_that_either_model_declares() {
    let folder = folder(
        "(float[N, S] x) => (float[N, S] y) { y = Relu (x) }",
        "(float[2, 3] x) => (float[2, 3] y) { y = Relu (x) }",
    );
    let run = onnx(&folder, "compare a.onnxtxt b.onnxtxt").exits(0);
    assert_eq!(run.out.matches("N=2, S=3").count(), 3, "{}", run.out);
    onnx(&folder, "compare a.onnxtxt b.onnxtxt --set N=4").exits(1).says("B does not run");
    folder.put("b.onnxtxt", format!("{HEAD} g (float[2, T] x) => (float[2, T] y) {{ y = Relu (x) }}"));
    let run = onnx(&folder, "compare a.onnxtxt b.onnxtxt").exits(0);
    assert!(run.out.contains("N=2, S=0") && !run.out.contains("N=0"), "{}", run.out);
}

#[test]
fn one_variable_in_the_place_of_another_is_found() {
    // Names for which the generated sizes are equal, and others.
    for [a, b] in [["batch", "seq"], ["H", "W"], ["S", "T"], ["N", "M"]] {
        let folder = folder(
            &format!("(float[{a}, {b}] x) => (int64[1] y) {{ y = Shape <start = 0, end = 1> (x) }}"),
            &format!("(float[{a}, {b}] x) => (int64[1] y) {{ y = Shape <start = 1, end = 2> (x) }}"),
        );
        onnx(&folder, "compare a.onnxtxt b.onnxtxt").exits(1).says("the models differ");
    }
}

#[test]
fn inner_values_do_not_include_outputs() {
    let folder = folder(
        "(float[2] x) => (float[2] y) { s = Neg (x) y = Relu (s) }",
        "(float[2] x) => (float[2] y) { t = Neg (x) y = Relu (t) }",
    );
    onnx(&folder, "compare a.onnxtxt b.onnxtxt --inner").exits(0).says("1 inner values agree");
    let report = onnx(&folder, "compare a.onnxtxt b.onnxtxt --inner --format json").exits(0).json();
    assert_eq!(report["result"]["runs"][0]["inner"], 1);
}

#[test]
fn outputs_that_differ_are_diagnostics() {
    let folder = folder(CHAIN, &CHAIN.replace("Abs", "Relu"));
    let report = onnx(&folder, "compare a.onnxtxt b.onnxtxt --format json").exits(1).json();
    let findings = report["findings"].as_array().unwrap();
    assert_eq!(findings.len(), 1, "one for all runs: {report}");
    assert_eq!((&findings[0]["code"], &findings[0]["place"]["selector"]), (&"ONNX5012".into(), &"y".into()));
    let run = onnx(&folder, "compare a.onnxtxt b.onnxtxt --format github").exits(1);
    assert!(run.out.starts_with("::error") && run.out.contains("elements differ"), "{}", run.out);
    onnx(&folder, "compare a.onnxtxt b.onnxtxt --format sarif").exits(1).says("ONNX5012");
    let text = onnx(&folder, "compare a.onnxtxt b.onnxtxt").exits(1);
    assert_eq!(text.err, "", "the list of runs tells people");
}

/// Numbers of one sign would not tell these apart.
#[test]
fn generated_numbers_have_both_signs() {
    let folder = folder(
        "(float[2] x) => (float[2] y) { y = Abs (x) }",
        "(float[2] x) => (float[2] y) { y = Neg (x) }",
    );
    for seed in 0..20 {
        onnx(&folder, &format!("compare a.onnxtxt b.onnxtxt --runs 1 --seed {seed}")).exits(1);
    }
}

/// Eight nodes in a row, whose results are named by counting, from a number on.
fn counted(first: usize, ops: &[&str]) -> String {
    let name = |index: usize| if index == 0 { "x".to_owned() } else { format!("val_{}", first + index) };
    let nodes = ops.iter().enumerate().map(|(at, op)| format!("{} = {op} ({})", name(at + 1), name(at)));
    let nodes: Vec<String> = nodes.collect();
    format!("(float[N] x) => (float[N] y) {{ {} y = Relu ({}) }}", nodes.join(" "), name(ops.len()))
}

#[test]
fn names_that_two_exporters_have_counted_say_nothing() {
    let ops = ["Sin", "Cos", "Exp", "Tanh", "Sigmoid", "Softplus", "Erf", "Neg", "Abs", "Sqrt"];
    // The names of the second model are greater by one, so that each is that of another operator.
    let folder = folder(&counted(1, &ops), &counted(2, &ops).replace("Erf", "Elu <alpha = 0.5>"));
    let run = onnx(&folder, "compare a.onnxtxt b.onnxtxt --inner --set N=3 --runs 1").exits(1);
    assert!(run.out.contains("inner values diverge after the node"), "{}", run.out);
    run.says("names of inner values are not compared: of 9 values with names of both models, 0 come from the same operator")
        .says("values with different names correspond by structure or weights, as in `onnx diff`");
    // Of one origin, an edit of one operator is found by the names.
    folder.put("b.onnxtxt", format!("{HEAD} g {}", counted(1, &ops).replace("Erf", "Elu")));
    let run = onnx(&folder, "compare a.onnxtxt b.onnxtxt --inner --set N=3 --runs 1").exits(1);
    assert!(
        run.out.contains("inner values diverge after the node Elu `val_8` of B, in A Erf"),
        "{}",
        run.out
    );
}

#[test]
fn nodes_that_read_the_same_weights_correspond_whatever_is_around_them() {
    let weights = "float[4,4] u = {1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16}, float[4,4] v = {2,1,3,4,5,6,7,8,9,1,1,2,3,4,5,6}";
    let model = |first: &str, rest: &str| {
        format!("(float[N,4] x) => (float[N,4] y) <{weights}> {{ {first} {rest} y = Relu (last) }}")
    };
    let a = model("s = Sin (x) p = MatMul (s, u)", "c = Cos (p) q = MatMul (c, v) last = Neg (q)");
    let b = model(
        "one = Exp (x) two = Log (one) three = Sin (two) four = MatMul (three, u)",
        "five = Cos (four) six = Mul (five, five) seven = MatMul (six, v) last = Neg (seven)",
    );
    let folder = folder(&a, &b);
    let run = onnx(&folder, "compare a.onnxtxt b.onnxtxt --inner --set N=3 --runs 1 --rtol 0.01").exits(1);
    assert!(
        run.out.contains("inner values diverge after the node MatMul `seven` of B, in A MatMul `q`"),
        "{}",
        run.out
    );
}

/// As onnxruntime writes it: the range of the quantized value does what the `Relu` did.
#[test]
fn values_are_compared_behind_their_quantization() {
    let folder = folder(
        "(float[N] x) => (float[N] y) { c = Sin (x) r = Relu (c) y = Neg (r) }",
        "(float[N] x) => (float[N] y) <float s = {0.00390625}, uint8 z = {0}> {
            r = Sin (x) q = QuantizeLinear (r, s, z) d = DequantizeLinear (q, s, z) y = Neg (d)
        }",
    );
    let run = onnx(&folder, "compare a.onnxtxt b.onnxtxt --inner --set N=8 --atol 0.01").exits(0);
    run.says("1 value of the second model is compared behind DequantizeLinear");
}

/// The range of the quantized numbers does what an activation does: they stand for its result, not for its operand.
#[test]
fn quantized_numbers_stand_for_the_result_of_an_activation_that_is_left_out() {
    let pair = |from: &str, to: &str| {
        format!("{to}_q = QuantizeLinear ({from}, s, z) {to} = DequantizeLinear ({to}_q, s, z)")
    };
    let cases = [
        // As this command writes it: the operand keeps its name.
        ("Relu (c)", "s = {0.00390625}, uint8 z = {0}", pair("c", "d"), "r"),
        ("Relu (c)", "s = {0.0078125}, int8 z = {-128}", pair("c", "d"), "r"),
        ("Clip (c, low, high)", "s = {0.001953125}, uint8 z = {0}", pair("c", "d"), "r"),
        // The range has numbers that the activation does not give, or the activation is not left out.
        ("Relu (c)", "s = {0.0078125}, uint8 z = {128}", pair("c", "d"), "c"),
        ("Clip (c, low, high)", "s = {0.00390625}, uint8 z = {0}", pair("c", "d"), "c"),
        ("LeakyRelu (c)", "s = {0.0078125}, uint8 z = {128}", pair("c", "d"), "c"),
        ("Relu (c)", "s = {0.00390625}, uint8 z = {0}", pair("c", "e") + " d = Relu (e)", "c"),
    ];
    for (activation, parameters, quantized, counterpart) in cases {
        let limits = "float low = {0}, float high = {0.5}";
        let folder = folder(
            &format!(
                "(float[N] x) => (float[N] y) <{limits}> {{ c = Sin (x) r = {activation} y = Neg (r) }}"
            ),
            &format!(
                "(float[N] x) => (float[N] y) <float {parameters}> {{ c = Sin (x) {quantized} y = Neg (d) }}"
            ),
        );
        let run = onnx(&folder, "compare a.onnxtxt b.onnxtxt --inner --all --set N=8 --format json").json();
        let values = run["result"]["runs"][0]["values"].as_array().unwrap();
        let names: Vec<&str> = values.iter().filter_map(|value| value["name"].as_str()).collect();
        assert!(names.contains(&counterpart), "{activation} {parameters}: {names:?}");
        let is_folded = counterpart == "r";
        assert_eq!(names.contains(&"c"), is_folded || counterpart == "c", "{activation}: {names:?}");
        for value in values.iter().filter(|value| is_folded && value["name"] != "y") {
            let distance = value["max_abs"].as_f64().unwrap();
            assert!(distance < 0.005, "{activation} {parameters}: {value}");
        }
    }
}

/// Values that only operators of quantized numbers read are compared, too; also where names are lost.
#[test]
fn values_between_quantized_operators_are_compared() {
    let a =
        "(float[1,1,4,4] x) => (float[1,1,2,2] y) <float[1,1,1,1] w = {0.5}, float[1,1,1,1] v = {-0.25}> {
        c = Conv (x, w) r = Relu (c) m = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (r) y = Conv (m, v)
    }";
    let weights =
        "float s = {0.0078125}, uint8 z = {0}, float t = {0.0078125}, uint8 o = {128}, float u = {0.03125},
        uint8[1,1,1,1] w_q = {192}, uint8[1,1,1,1] v_q = {96}";
    let folder = folder(
        a,
        &format!(
            "(float[1,1,4,4] x) => (float[1,1,2,2] y) <{weights}> {{
                x_q = QuantizeLinear (x, u, o)
                r_quantized = QLinearConv (x_q, u, o, w_q, t, o, s, z)
                k = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (r_quantized)
                y_q = QLinearConv (k, s, z, v_q, t, o, t, o)
                y = DequantizeLinear (y_q, t, o)
            }}"
        ),
    );
    let run = onnx(&folder, "compare a.onnxtxt b.onnxtxt --inner --all --atol 0.02").exits(0);
    let run = run.says("2 values of the second model are compared behind DequantizeLinear");
    for name in ["  r  float[1,1,4,4]", "  m  float[1,1,2,2]"] {
        assert!(run.out.contains(name), "{}", run.out);
    }
    // Pairs, with other names: weights tell which convolution it is.
    folder.put(
        "b.onnxtxt",
        format!(
            "{HEAD} g (float[1,1,4,4] x) => (float[1,1,2,2] y) <{weights}> {{
                w1 = DequantizeLinear (w_q, t, o)
                n1 = Conv (x, w1)
                n2 = QuantizeLinear (n1, s, z)
                n3 = DequantizeLinear (n2, s, z)
                n4 = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (n3)
                n5 = QuantizeLinear (n4, s, z)
                n6 = DequantizeLinear (n5, s, z)
                v1 = DequantizeLinear (v_q, t, o)
                y = Conv (n6, v1)
            }}"
        ),
    );
    let run = onnx(&folder, "compare a.onnxtxt b.onnxtxt --inner --all --atol 0.02").exits(0);
    for name in ["  c  float[1,1,4,4]", "  r  float[1,1,4,4]", "  m  float[1,1,2,2]"] {
        assert!(run.out.contains(name), "{}", run.out);
    }
}

/// A truth value is not a number: it differs, and not by an amount.
#[test]
fn masks_have_no_distances() {
    let text = |limit: &str| {
        format!(
            "(float[8,4] x) => (float[8,4] y) <float k = {{{limit}}}, float z = {{0}}> {{ m = Greater (x, k) y = Where (m, x, z) }}"
        )
    };
    let folder = folder(&text("0"), &text("0.5"));
    let run = onnx(&folder, "compare a.onnxtxt b.onnxtxt --inner --all").exits(1);
    let row =
        run.out.lines().find(|line| line.contains("  m  bool") && line.contains("  -")).expect(&run.out);
    assert!(row.ends_with("of 32 elements differ") && !row.contains("inf"), "{row}");
    let line = run.out.lines().find(|line| line.starts_with("  m  bool")).expect(&run.out);
    assert!(!line.contains("ulps") && line.contains("first at"), "{line}");
    let run = onnx(&folder, "compare a.onnxtxt a.onnxtxt --inner --all").exits(0);
    assert!(run.out.lines().any(|line| line.contains("equal  m  bool[8,4]")), "{}", run.out);
}

/// As `onnx run` does, a model that fails on the smallest sizes runs on larger ones.
#[test]
fn models_that_need_larger_sizes_get_them() {
    let text = "(float[batch, samples] x) => (float[A] y) <int64 five = {5}> { s = Identity (x) y = Gather <axis = 1> (s, five) }";
    let folder = folder(text, text);
    let run = onnx(&folder, "compare a.onnxtxt b.onnxtxt").exits(0);
    assert!(run.out.contains("samples=12") && run.out.contains("the models agree"), "{}", run.out);
    // Sizes that the user sets stay.
    onnx(&folder, "compare a.onnxtxt b.onnxtxt --set samples=3").exits(2).says("nothing was compared");
}

/// Masks are equal: they have no error, and are not part of the ratio.
#[test]
fn equal_infinities_are_equal() {
    let model = |scale: &str| {
        format!(
            "<ir_version: 10, opset_import: [\"\": 20]> g (float[4] x) => (float[4] y) {{
                zero = Sub (x, x)
                mask = Log (zero)
                one = Cos (zero)
                both = Concat <axis = 0> (mask, one)
                limit = Constant <value_float = {scale}> ()
                y = Mul (one, limit) }}"
        )
    };
    let folder = Folder::with("a.onnxtxt", model("1.0"));
    folder.put("b.onnxtxt", model("1.5"));
    let run = onnx(&folder, "compare a.onnxtxt b.onnxtxt --inner --all").exits(1);
    let row =
        |name: &str| run.out.lines().find(|line| line.contains(&format!("  {name}  "))).unwrap_or_default();
    for (name, count) in [("mask", "4"), ("both", "4")] {
        let row = row(name);
        assert!(
            row.contains("equal  ") && row.ends_with(&format!("{count} equal and not finite")),
            "{}",
            run.out
        );
    }
    let report = onnx(&folder, "compare a.onnxtxt b.onnxtxt --inner --all --format json").exits(1).json();
    let inner = report["result"]["runs"][0]["values"].as_array().unwrap().clone();
    let both = inner.iter().find(|value| value["name"] == "both").unwrap();
    assert_eq!(both["similarity"]["equal_not_finite"], 4, "{both}");
    assert_eq!(both["similarity"]["signal_to_noise"], "Infinity", "{both}");
}
