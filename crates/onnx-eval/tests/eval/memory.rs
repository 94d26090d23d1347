//! No kernel ends the process when the system has no more memory: each returns a result, a limit or the lack of memory.
//!
//! The runs are in another process, whose address space is limited. The limits of runs allow more than that.
#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "helpers of tests may fail, and show what they ran"
)]

use std::process::Command;

use onnx_eval::{EvalOptions, Evaluator, FailureKind, has_kernel};
use onnx_schema::{Schema, SchemaId};
use onnx_text::{ParseOptions, parse_model};
use onnx_types::{ElemType, Limits};
use rustix::process::{Resource, Rlimit, setrlimit};

/// Set in the process with limited memory.
const CHILD: &str = "ONNX_EVAL_LIMITED_MEMORY";

/// Runs this test in a process with limited memory.
#[track_caller]
fn in_child(test: &str) {
    let test = &format!("memory::{test}");
    let mut child = Command::new(std::env::current_exe().unwrap());
    let output = child.args(["--exact", test, "--nocapture", "--test-threads=1"]).env(CHILD, "1").output();
    let output = output.unwrap();
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let last: Vec<&str> = out.lines().rev().take(3).collect();
    assert!(output.status.success(), "{}: {last:?}\n{err}", output.status);
    assert!(out.contains("1 passed"), "{out}");
}

fn is_child() -> bool {
    std::env::var_os(CHILD).is_some()
}

/// Limits the address space of this process to what it uses now and a number of megabytes more.
fn limit_memory(space: u64) {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let used = status.lines().find_map(|line| line.strip_prefix("VmSize:")).unwrap();
    let used: u64 = used.trim().strip_suffix(" kB").unwrap().parse().unwrap();
    let most = Some((used << 10) + (space << 20));
    setrlimit(Resource::As, Rlimit { current: most, maximum: most }).unwrap();
}

/// Runs a model without inputs, and returns why it ended without a result.
fn run(text: &str) -> Option<FailureKind> {
    // What runs when the process is ended is its last line.
    println!("{text}");
    let model = parse_model(text, &ParseOptions::default()).unwrap();
    let limits = Limits::default().with_run_steps(1 << 28);
    let evaluator = match Evaluator::new(&model, &EvalOptions::default().with_limits(limits)) {
        Ok(evaluator) => evaluator,
        Err(failure) => return Some(failure.kind()),
    };
    evaluator.run(&[]).err().map(|failure| failure.kind())
}

/// Graphs with a result that is larger than the memory, by operands or attributes of a few bytes: their inputs, the nodes.
const REQUESTS: &[(&str, &str)] = &[
    ("int64[2] n = {1000000000, 2}, float[2] a = {1, 2}", "y = Expand (a, n)"),
    ("int64[1] n = {300000000}, string[1] a = {\"ab\"}", "y = Expand (a, n)"),
    ("int64[1] n = {100000000}, float[1] a = {1}", "y = Tile (a, n)"),
    ("int64[1] n = {100000000}, string[1] a = {\"ab\"}", "y = Tile (a, n)"),
    ("int64[1] n = {100000000}", "c = ConstantOfShape (n) y = Neg (c)"),
    ("int64[1] n = {100000000}", "c = ConstantOfShape <value = float16[1] {1}> (n) y = Exp (c)"),
    ("int64[1] n = {100000000}", "c = ConstantOfShape <value = bool[1] {1}> (n) y = Not (c)"),
    ("int64 a = {0}, int64 n = {100000000}, int64 d = {1}", "y = Range (a, n, d)"),
    ("int64 a = {0}, int64 n = {2000000}, int64 d = {1}", "r = Range (a, n, d) y = Cast <to = 8> (r)"),
    ("int64 a = {0}, int64 n = {2000000}, int64 d = {1}", "r = Range (a, n, d) y = Unique (r)"),
    ("int64[1] i = {1}, int64 n = {100000000}, float[2] v = {0, 1}", "y = OneHot (i, n, v)"),
    ("float[1] a = {1}, int64[2] p = {0, 100000000}", "y = Pad (a, p)"),
    ("float[2] a = {1, 2}, int64[2] p = {100000000, 0}", "y = Pad <mode = \"wrap\"> (a, p)"),
    ("float[1,2] a = {1, 2}, int64[2] n = {20000, 20000}", "y = Resize <mode = \"linear\"> (a, , , n)"),
    ("float[2] a = {1, 2}, int64[1] n = {100000000}", "y = Resize <mode = \"cubic\"> (a, , , n)"),
    ("float[2] a = {1, 2}, float[1] s = {100000000.0}", "y = Resize (a, , s)"),
    ("", "y = RandomUniform <shape = [10000, 10000]> ()"),
    ("", "y = RandomNormal <shape = [10000, 10000], dtype = 11> ()"),
    ("int64[1] n = {100000000}", "c = ConstantOfShape (n) y = RandomNormalLike (c)"),
    ("int64[1] n = {100000000}", "c = ConstantOfShape (n) y = Bernoulli (c)"),
    ("float[1,2] a = {1, 2}", "y = Multinomial <sample_size = 100000000> (a)"),
    ("int64[2] n = {10000, 10000}", "c = ConstantOfShape (n) y = EyeLike (c)"),
    ("int64[4] n = {100, 100, 100, 4}", "c = ConstantOfShape <value = uint8[1] {1}> (n) y = NonZero (c)"),
    (
        "int64[1] n = {100000000}, float[1] a = {1}",
        "i = ConstantOfShape <value = int64[1] {0}> (n) y = Gather (a, i)",
    ),
    (
        "int64[1] n = {100000000}, float[1] a = {1}",
        "i = ConstantOfShape <value = int64[1] {0}> (n) y = GatherElements (a, i)",
    ),
    (
        "int64[2] n = {100000000, 1}, float[1] a = {1}",
        "i = ConstantOfShape <value = int64[1] {0}> (n) y = GatherND (a, i)",
    ),
    (
        "int64[1] n = {20000000}, string[1] a = {\"x\"}",
        "c = ConstantOfShape <value = bool[1] {1}> (n) y = Where (c, a, a)",
    ),
    ("int64[1] n = {100000000}", "c = ConstantOfShape (n) y = SplitToSequence (c)"),
    (
        "int64[1] n = {300000}",
        "c = ConstantOfShape (n) s = SplitToSequence (c) y = SequenceMap <body = b (float[A] t) => (float[B] u) { u = Neg (t) }> (s)",
    ),
    ("float[1,1,1,1] a = {1}", "y = Conv <pads = [10000, 10000, 10000, 10000]> (a, a)"),
    ("float[1,1,2] a = {1, 2}, float[1,1,1] w = {1}", "y = ConvTranspose <strides = [100000000]> (a, w)"),
    ("float[1,1,1] a = {1}", "y = MaxPool <kernel_shape = [100000001], pads = [100000000, 100000000]> (a)"),
    (
        "float[1,1,4] a = {1, 2, 3, 4}, int64[2] i = {10000, 10000}, int64[2] b = {1, 1}",
        "y = Col2Im <strides = [9999, 9999]> (a, i, b)",
    ),
    (
        "float[1,1,1,1] a = {1}, int64[1,1,1,1] i = {0}, int64[4] s = {1, 1, 10000, 10000}",
        "y = MaxUnpool <kernel_shape = [2, 2], strides = [2, 2]> (a, i, s)",
    ),
    ("float[1] a = {1}, int64[1] n = {100000000}", "y = CenterCropPad (a, n)"),
    ("float[1,2,3] t = {1, 0, 0, 0, 1, 0}, int64[4] n = {1, 1, 10000, 10000}", "y = AffineGrid (t, n)"),
    ("int64 n = {100000000}", "y = HannWindow (n)"),
    ("int64 n = {100000000}", "y = HammingWindow (n)"),
    ("int64 n = {100000000}", "y = BlackmanWindow (n)"),
    (
        "int64 a = {10000}, int64 l = {20000}, int64 r = {16000}, float lo = {0}, float hi = {8000}",
        "y = MelWeightMatrix (a, l, r, lo, hi)",
    ),
    ("float[1,2,1] a = {1, 2}, int64 n = {100000007}", "y = DFT (a, n)"),
    (
        "int64[1] a = {1}",
        "y = TfIdfVectorizer <max_gram_length = 1, min_gram_length = 1, max_skip_count = 0, mode = \"TF\", ngram_counts = [0], ngram_indexes = [100000000], pool_int64s = [1]> (a)",
    ),
    (
        "float[1,1,2,2] a = {1, 2, 3, 4}, float[1,4] r = {0, 0, 1, 1}, int64[1] i = {0}",
        "y = RoiAlign <output_height = 10000, output_width = 10000> (a, r, i)",
    ),
    (
        "float[1,1,2,2] a = {1, 2, 3, 4}, float[1,5] r = {0, 0, 0, 1, 1}",
        "y = MaxRoiPool <pooled_shape = [10000, 10000]> (a, r)",
    ),
    (
        "int64[1] n = {10000000}",
        "c = ConstantOfShape <value = int64[1] {1}> (n) y = ai.onnx.ml.LabelEncoder <keys_int64s = [1], values_strings = [\"abc\"]> (c)",
    ),
    (
        "int64[1] n = {20000000}",
        "c = ConstantOfShape <value = int64[1] {1}> (n) y = ai.onnx.ml.OneHotEncoder <cats_int64s = [1, 2, 3]> (c)",
    ),
    ("float[1,1] a = {1}", "y = ai.onnx.ml.FeatureVectorizer <inputdimensions = [100000000]> (a)"),
    (
        "int64[2] n = {2000000, 2}",
        "c = ConstantOfShape (n) y = ai.onnx.ml.ZipMap <classlabels_int64s = [1, 2]> (c)",
    ),
    (
        "int64[3] n = {1, 10000, 1}",
        "q = ConstantOfShape (n) y = Attention <q_num_heads = 1, kv_num_heads = 1> (q, q, q)",
    ),
    (
        "int64[2] n = {10000, 1}, int64[2] m = {1, 10000}",
        "a = ConstantOfShape (n) b = ConstantOfShape (m) y = MatMul (a, b)",
    ),
    (
        "int64[2] n = {10000, 1}, int64[2] m = {1, 10000}",
        "a = ConstantOfShape (n) b = ConstantOfShape (m) y = Gemm (a, b)",
    ),
    (
        "int64[2] n = {10000, 1}, int64[2] m = {1, 10000}",
        "a = ConstantOfShape (n) b = ConstantOfShape (m) y = Add (a, b)",
    ),
    ("int64[1] n = {10000}", "a = ConstantOfShape (n) y = Einsum <equation = \"i,j->ij\"> (a, a)"),
    (
        "int64[1] n = {100000000}, float[1] v = {1}, int64[1] i = {0}",
        "c = ConstantOfShape (n) y = ScatterElements (c, i, v)",
    ),
    (
        "int64 n = {1000000000}, bool c = {1}, float[1] x = {1}",
        "y = Loop <body = b (int64 i, bool p, float[N] s) => (bool q, float[M] t) { q = Identity (p) t = Concat <axis = 0> (s, s) }> (n, c, x)",
    ),
    (
        "int64 n = {1000000000}, bool c = {1}, string[1] x = {\"ab\"}",
        "y = Loop <body = b (int64 i, bool p, string[1] s) => (bool q, string[1] t) { q = Identity (p) t = StringConcat (s, s) }> (n, c, x)",
    ),
    (
        "int64 n = {1000000000}, bool c = {1}",
        "y = Loop <body = b (int64 i, bool p) => (bool q, int64 t) { q = Identity (p) t = Identity (i) }> (n, c)",
    ),
];

#[test]
fn requests_of_any_size_end_by_limits_or_memory() {
    if !is_child() {
        return in_child("requests_of_any_size_end_by_limits_or_memory");
    }
    limit_memory(96);
    let mut others = Vec::new();
    for (initializers, nodes) in REQUESTS {
        let given = if initializers.is_empty() { String::new() } else { format!("<{initializers}>") };
        let text = format!(
            "<ir_version: 10, opset_import: [\"\": 23, \"ai.onnx.ml\": 4]> g () => (y) {given} {{ {nodes} }}"
        );
        let ended = run(&text);
        if !matches!(ended, Some(FailureKind::Limit | FailureKind::Memory)) {
            others.push((ended, nodes));
        }
    }
    assert!(others.is_empty(), "{others:?}");
}

/// A node with operands of a size that fits into the memory a few times, of a type that the operator takes; `None` without
/// such types.
fn node(schema: &Schema, dims: &[usize]) -> Option<String> {
    let kinds = [
        (ElemType::Float, "float[1] {1}"),
        (ElemType::Int64, "int64[1] {1}"),
        (ElemType::Bool, "bool[1] {1}"),
        (ElemType::Uint8, "uint8[1] {1}"),
        (ElemType::Float16, "float16[1] {1}"),
        (ElemType::Int32, "int32[1] {1}"),
    ];
    let count = schema.min_inputs().max(1).min(schema.inputs().len());
    let (mut nodes, mut operands) = (String::new(), Vec::new());
    for index in 0..count {
        let types = schema.types_of(schema.input_for(index)?);
        let (_, value) = kinds.iter().find(|(elem, _)| types.contains_tensor(*elem))?;
        // Not a splat, which would take no memory.
        nodes.push_str(&format!(
            "c{index} = ConstantOfShape <value = {value}> (n) e{index} = Concat <axis = 0> (c{index}) "
        ));
        operands.push(format!("e{index}"));
    }
    let outputs: Vec<String> = (0..schema.outputs().len().min(1)).map(|index| format!("y{index}")).collect();
    let dims: Vec<String> = dims.iter().map(ToString::to_string).collect();
    let domain =
        if schema.domain_name().is_empty() { String::new() } else { format!("{}.", schema.domain_name()) };
    Some(format!(
        "<ir_version: 10, opset_import: [\"\": 28, \"ai.onnx.ml\": 5, \"ai.onnx.preview.training\": 1]> g () => ({}) <int64[{}] n = {{{}}}> {{ {nodes} {} = {domain}{} ({}) }}",
        outputs.join(", "),
        dims.len(),
        dims.join(", "),
        outputs.join(", "),
        schema.name(),
        operands.join(", ")
    ))
}

#[test]
fn every_kernel_survives_operands_that_fill_the_memory() {
    if !is_child() {
        return in_child("every_kernel_survives_operands_that_fill_the_memory");
    }
    limit_memory(32);
    let schemas = (0..SchemaId::COUNT).filter_map(SchemaId::from_index).filter(|&schema| has_kernel(schema));
    let mut ran = 0;
    for schema in schemas.map(SchemaId::schema).filter(|schema| schema.until_version().is_none()) {
        // 4 MB of floats. With larger ones, reading the operands would be all that is tried.
        for dims in [&[1_000_000][..], &[1, 1, 1000, 1000]] {
            let Some(text) = node(schema, dims) else { continue };
            let _ = run(&text);
            ran += 1;
        }
    }
    assert!(ran > 300, "{ran}");
}
