//! Sizes: bound, freed, renamed. Results are compared by running the models.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test")]

use onnx_check::{CheckOptions, check};
use onnx_compose::{ComposeError, EditOptions, NewSize, Resized, SizeChange, SizeTarget, resize};
use onnx_eval::{EvalOptions, Evaluator, Value};
use onnx_ir::{Constant, Model};
use onnx_smith::{SmithOptions, from_seed};
use onnx_text::{ParseOptions, PrintOptions, parse_model, print_model};
use onnx_types::Dim;
use onnx_types::tensor::{NoData, Tensor};

fn model(text: &str) -> Model {
    parse_model(text, &ParseOptions::default()).unwrap()
}

fn print(model: &Model) -> String {
    print_model(model, &PrintOptions::default()).unwrap().text
}

/// `batch=1`, `x[0]=batch`.
fn change(model: &Model, text: &str) -> SizeChange {
    let (target, size) = text.split_once('=').unwrap();
    let size = size.parse().map_or_else(|_| NewSize::Name(size.to_owned()), NewSize::Number);
    let target = match target.strip_suffix(']').and_then(|text| text.split_once('[')) {
        Some((name, axis)) => {
            let value = model.find_value(model.main_graph(), name).unwrap();
            SizeTarget::Axis(value, axis.parse().unwrap())
        }
        None => SizeTarget::Variable(target.to_owned()),
    };
    SizeChange { target, size }
}

fn resized(text: &str, changes: &[&str]) -> Result<(Model, Resized), ComposeError> {
    let mut model = model(text);
    let before = print(&model);
    let changes: Vec<SizeChange> = changes.iter().map(|text| change(&model, text)).collect();
    match resize(&mut model, &changes, &EditOptions::default()) {
        Ok(done) => {
            model.verify().unwrap();
            let found = check(&model, &CheckOptions::default());
            assert!(!found.has_errors(), "{:?}\n{}", found.diagnostics(), print(&model));
            Ok((model, done))
        }
        Err(error) => {
            assert_eq!(print(&model), before);
            assert!(!error.findings(&model).is_empty());
            Err(error)
        }
    }
}

fn freed(text: &str, changes: &[&str]) -> (String, Resized) {
    let (model, done) = resized(text, changes).unwrap_or_else(|error| panic!("{error}"));
    (print(&model), done)
}

fn refused(text: &str, changes: &[&str]) -> String {
    match resized(text, changes) {
        Err(ComposeError::FixedSizes(fixed)) => fixed.iter().map(|fixed| fixed.to_string() + "\n").collect(),
        Err(error) => error.to_string(),
        Ok((model, _)) => panic!("{}", print(&model)),
    }
}

/// A vector of different numbers.
fn input(dims: &[i64], from: i64) -> Tensor {
    let count: i64 = dims.iter().product();
    let numbers: Vec<f32> = (0..count).map(|index| ((index + from) as f32 * 0.37).sin()).collect();
    Tensor::from_slice(dims.iter().copied(), &numbers).unwrap()
}

fn run(model: &Model, inputs: &[(&str, Tensor)]) -> Vec<Vec<f32>> {
    let evaluator = Evaluator::new(model, &EvalOptions::default()).unwrap();
    let inputs: Vec<(&str, Value)> =
        inputs.iter().map(|(name, tensor)| (*name, Value::from(tensor.clone()))).collect();
    let outputs = evaluator.run(&inputs).unwrap_or_else(|failure| panic!("{failure}\n{}", print(model)));
    outputs.iter().map(|value| value.tensor().unwrap().to_vec::<f32>(&NoData).unwrap()).collect()
}

/// Frees the first axis, of size 1, of the input `x` with further sizes; the rows of greater batches equal those of the model.
#[track_caller]
fn rows(text: &str, rest: &[i64]) -> (String, Resized) {
    let old = model(text);
    let (new, done) = resized(text, &["x[0]=batch"]).unwrap_or_else(|error| panic!("{error}"));
    let size: i64 = rest.iter().product();
    for batch in [1, 2, 5] {
        let dims: Vec<i64> = std::iter::once(batch).chain(rest.iter().copied()).collect();
        let all = run(&new, &[("x", input(&dims, 0))]);
        for row in 0..batch {
            let dims: Vec<i64> = std::iter::once(1).chain(rest.iter().copied()).collect();
            let one = run(&old, &[("x", input(&dims, row * size))]);
            for (all, one) in all.iter().zip(&one) {
                let length = one.len();
                let start = row as usize * length;
                let row = &all[start..start + length];
                let is_equal = row.iter().zip(one).all(|(a, b)| (a - b).abs() <= 1e-5);
                assert!(is_equal, "{batch} {row:?} {one:?}\n{}", print(&new));
            }
        }
    }
    (print(&new), done)
}

const HEAD: &str = r#"<ir_version: 10, opset_import: ["": 21]>"#;

#[test]
fn a_bound_variable_is_a_number_everywhere() {
    let text = format!(
        "{HEAD} g (float[N, 4] x, float[N, M] z) => (float[P, 4] y, float[M] w) <float[N, 4] a, float[\"2*N\", 4] c> {{
           a = Relu (x)  c = Concat <axis = 0> (a, a)  y = Identity (c)
           axes = Constant <value_ints = [0]> ()  w = ReduceSum <keepdims = 0> (z, axes)
        }}"
    );
    let (text, done) = freed(&text, &["N=3"]);
    assert!(text.contains("(float[3,4] x, float[3,M] z) => (float[6,4] y, float[M] w)"), "{text}");
    assert!(text.contains("float[3,4] a") && text.contains("float[6,4] c"), "{text}");
    assert_eq!((done.bound.as_slice(), done.removed), (&[("N".to_owned(), 3)][..], 0));
}

#[test]
fn a_declared_size_that_is_wrong_for_the_number_goes() {
    // Exporters give one name to sizes that differ.
    let text = format!(
        "{HEAD} g (float[N, 4] x) => (float[K, 4] y) <float[N, 4] a, float[N] b> {{
           a = Concat <axis = 0> (x, x)  b = acme.Op (a)  y = Relu (a)
        }}"
    )
    .replace("\"\": 21", "\"\": 21, \"acme\": 1");
    let (text, done) = freed(&text, &["N=3"]);
    assert!(text.contains("=> (float[6,4] y)") && text.contains("float[6,4] a"), "{text}");
    assert!(text.contains("float[?] b"), "{text}");
    assert_eq!(done.removed, 1);
}

#[test]
fn a_number_that_the_model_cannot_have_is_refused() {
    let text = format!(
        "{HEAD} g (float[N, 4] x) => (float[M] y) <int64[2] s = {{6, 2}}> {{
           r = Reshape (x, s)  axes = Constant <value_ints = [1]> ()  y = ReduceSum <keepdims = 0> (r, axes)
        }}"
    );
    let message = refused(&text, &["N=2"]);
    assert!(message.contains("Reshape `r`"), "{message}");
    freed(&text, &["N=3"]);
    assert!(refused(&text, &["Q=2"]).contains("no input has the dimension variable `Q`"));
    assert!(refused(&text, &["N=2", "N=3"]).contains("two sizes"));
    assert!(refused(&text, &["N=-1"]).contains("negative"));
    for size in ["a b", "1.5", "2*N"] {
        let expected = format!("`{size}` is not a size, which is a whole number or a name");
        assert_eq!(refused(&text, &[&format!("N={size}")]), expected);
    }
}

#[test]
fn variables_are_renamed_in_expressions_and_unified() {
    let text = format!(
        "{HEAD} g (float[N, 4] x, float[M, 4] z) => (float[\"2*N + M\", 4] y) <float[N, 4] a> {{
           a = Relu (x)  y = Concat <axis = 0> (a, x, z)
        }}"
    );
    let (renamed, _) = freed(&text, &["N=batch"]);
    assert!(
        renamed.contains("(float[batch,4] x, float[M,4] z) => (float[\"2*batch + M\",4] y)"),
        "{renamed}"
    );
    assert!(renamed.contains("float[batch,4] a"), "{renamed}");
    let (back, _) = freed(&renamed, &["batch=N"]);
    assert_eq!(back, print(&model(&text)));
    let (swapped, _) = freed(&text, &["N=M", "M=N"]);
    assert!(swapped.contains("float[\"2*M + N\",4] y"), "{swapped}");
    let (unified, _) = freed(&text, &["N=M"]);
    assert!(unified.contains("(float[M,4] x, float[M,4] z)"), "{unified}");
}

#[test]
fn a_size_without_constants_is_free() {
    let text = format!(
        "{HEAD} g (float[1, 4] x) => (float[1, 4] y) <float[1, 4] a> {{ a = Relu (x)  y = Exp (a) }}"
    );
    let (text, done) = rows(&text, &[4]);
    assert!(
        text.contains("(float[batch,4] x) => (float[batch,4] y)") && text.contains("float[batch,4] a"),
        "{text}"
    );
    assert_eq!(done.freed, [("batch".to_owned(), 1)]);
    assert!(done.constants.is_empty() && done.conditions.is_empty(), "{done:?}");
}

#[test]
fn the_shapes_of_attention_follow() {
    let text = format!(
        "{HEAD} g (float[1, 3, 4] x) => (float[1, 3, 4] y)
         <float[4, 4] w = {{1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 6, 7}}, int64[4] split = {{1, 3, 2, 2}},
          int64[3] merged = {{2, 3, 2}}, int64[3] joined = {{1, -1, 4}}> {{
           q = MatMul (x, w)
           qs = Reshape (q, split)
           qt = Transpose <perm = [0, 2, 1, 3]> (qs)
           qm = Reshape (qt, merged)
           kt = Transpose <perm = [0, 2, 1]> (qm)
           scores = MatMul (qm, kt)
           p = Softmax (scores)
           o = MatMul (p, qm)
           back = Constant <value = int64[4] {{1, 2, 3, 2}}> ()
           os = Reshape (o, back)
           ot = Transpose <perm = [0, 2, 1, 3]> (os)
           y = Reshape (ot, joined)
        }}"
    );
    let (text, done) = rows(&text, &[3, 4]);
    assert!(text.contains("=> (float[batch,3,4] y)"), "{text}");
    let texts: Vec<String> = done.constants.iter().map(|(node, new)| format!("{node} {new}")).collect();
    assert_eq!(
        texts,
        [
            "Reshape `qs` [0, 3, 2, 2]",
            "Reshape `qm` [-1, 3, 2]",
            "Reshape `os` [-1, 2, 3, 2]",
            "Reshape `y` [0, -1, 4]",
        ]
    );
    // What nothing uses any more is gone.
    assert!(!text.contains("merged") && !text.contains("back"), "{text}");
}

#[test]
fn the_heads_of_attention_take_the_batch_if_the_sequence_comes_first() {
    let text = format!(
        "{HEAD} g (float[1, 3, 4] x) => (float[1, 3, 4] y)
         <int64[3] heads = {{3, 2, 2}}, int64[4] all = {{1, 2, 3, 2}}, int64[2] flat = {{3, 4}}, int64[3] back = {{3, 1, 4}}> {{
           s = Transpose <perm = [1, 0, 2]> (x)
           h = Reshape (s, heads)
           t = Transpose <perm = [1, 0, 2]> (h)
           q = Reshape (t, all)
           k = Transpose <perm = [0, 1, 3, 2]> (q)
           scores = MatMul (q, k)
           p = Softmax (scores)
           o = MatMul (p, q)
           u = Transpose <perm = [2, 0, 1, 3]> (o)
           f = Reshape (u, flat)
           b = Reshape (f, back)
           y = Transpose <perm = [1, 0, 2]> (b)
        }}"
    );
    let (_, done) = rows(&text, &[3, 4]);
    let texts: Vec<String> = done.constants.iter().map(|(node, new)| format!("{node} {new}")).collect();
    assert_eq!(
        texts,
        [
            "Reshape `h` [3, -1, 2]",
            "Reshape `q` [-1, 2, 3, 2]",
            "Reshape `f` [-1, 4]",
            "Reshape `b` [3, -1, 4]",
        ]
    );
}

/// A `Reshape` from `data` to `output`.
fn reshape(data: &str, output: &str) -> String {
    format!(
        "{HEAD} g (float[{data}] x) => (float[{output}] y) <int64[{}] s = {{{output}}}> {{ y = Reshape (x, s) }}",
        output.split(',').count()
    )
}

#[test]
fn a_reshape_that_does_not_determine_the_axis_is_refused() {
    for (data, output) in [("4,1,8", "4,8"), ("4,1,8", "4,2,4")] {
        let message = refused(&reshape(data, output), &["x[1]=N"]);
        let expected = "Reshape `y` has a constant target that does not determine which axis gets the freed size: axes 0 and 1";
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn a_reshape_that_determines_the_axis_follows() {
    for (data, output, axis, expected) in [
        ("2,1,3,5", "6,5", 1, r#"float["6*N",5] y"#),
        ("1,1,8", "1,8", 1, "float[N,8] y"),
        ("1,1,8", "1,1,2,4", 1, "float[1,N,2,4] y"),
    ] {
        let (text, _) = freed(&reshape(data, output), &[&format!("x[{axis}]=N")]);
        assert!(text.contains(expected), "{text}");
    }
}

#[test]
fn the_axis_is_the_one_with_which_the_batch_is_first_in_the_output() {
    let text = format!(
        "{HEAD} g (float[1, 1, 8] x) => (float[1, 1, 8] y) <int64[2] s = {{1, 8}}, int64[3] u = {{1, 1, 8}}> {{
           a = Transpose <perm = [1, 0, 2]> (x)
           b = Reshape (a, s)
           d = Reshape (b, u)
           y = Transpose <perm = [1, 0, 2]> (d)
        }}"
    );
    let (text, _) = rows(&text, &[1, 8]);
    assert!(text.contains("=> (float[batch,1,8] y)"), "{text}");
}

#[test]
fn an_axis_that_a_weight_cannot_have_is_not_chosen() {
    let text = |weight: &str| {
        format!(
            "{HEAD} g (float[2, 1, 2] x) => (float[2, 2] y) <int64[2] s = {{2, 2}}, float[2, 2] w = {{1, 2, 3, 4}}> {{
               r = Reshape (x, s)
               y = MatMul ({weight})
            }}"
        )
    };
    let (free, _) = freed(&text("r, w"), &["x[1]=N"]);
    assert!(free.contains("(float[2,N,2] x) => (float[\"2*N\",2] y)"), "{free}");
    let (free, _) = freed(&text("w, r"), &["x[1]=N"]);
    assert!(free.contains("(float[2,N,2] x) => (float[2,\"2*N\"] y)"), "{free}");
}

#[test]
fn a_class_token_is_expanded_and_slices_end_at_the_end() {
    let text = format!(
        "{HEAD} g (float[1, 2, 3] x) => (float[1, 3, 3] y)
         <float[1, 1, 3] token = {{7, 8, 9}}, int64[1] zero = {{0}}, int64[1] one = {{1}}, int64[3] same = {{1, 3, 3}}> {{
           c = Concat <axis = 1> (token, x)
           s = Slice (c, zero, one, zero)
           y = Expand (s, same)
        }}"
    );
    let (text, done) = rows(&text, &[2, 3]);
    assert!(text.contains("Expand (token, "), "{text}");
    assert_eq!(done.constants.len(), 2, "{done:?}");
}

#[test]
fn states_of_recurrent_networks_are_expanded() {
    let text = format!(
        "{HEAD} g (float[1, 2, 3] x) => (float[1, 2, 2] y)
         <float[1, 2, 3] w = {{1, 2, 3, 4, 5, 6}}, float[1, 2, 2] r = {{1, 0, 0, 1}}, float[1, 1, 2] h = {{0.5, 0.25}},
          int64[3] flat = {{1, 2, 2}}> {{
           t = Transpose <perm = [1, 0, 2]> (x)
           o, last = RNN <hidden_size = 2> (t, w, r, , , h)
           axes = Constant <value_ints = [1]> ()
           s = Squeeze (o, axes)
           u = Transpose <perm = [1, 0, 2]> (s)
           y = Reshape (u, flat)
        }}"
    );
    rows(&text, &[2, 3]);
}

#[test]
fn constants_that_are_not_the_size_alone_are_named() {
    // A product over the rows of a batch of 4.
    let text = format!(
        "{HEAD} g (float[4, 3] x) => (float[4, 3] y) <float[4, 1] w = {{1, 2, 3, 4}}> {{ m = Mul (x, w)  y = Relu (m) }}"
    );
    let message = refused(&text, &["x[0]=batch"]);
    assert!(message.contains("Mul `m` requires"), "{message}");
    let text = format!(
        "{HEAD} g (float[1, 3] x) => (float[3] y) <int64[1] axes = {{0}}> {{ r = Relu (x)  y = Squeeze (r, axes) }}"
    );
    assert!(refused(&text, &["x[0]=batch"]).contains("Squeeze `y`"), "{}", refused(&text, &["x[0]=batch"]));
    let text = format!(
        "{HEAD} g (float[1, 3] x) => (float[3] y) <int64 index = {{0}}> {{ r = Relu (x)  y = Gather <axis = 0> (r, index) }}"
    );
    assert!(refused(&text, &["x[0]=batch"]).contains("Gather `y` takes a constant index"));
    let text = format!(
        "{HEAD} g (float[1, 3] x, float[1, 3] z) => (float[1, 6] y) {{ y = Concat <axis = 1> (x, z) }}"
    );
    let message = refused(&text, &["x[0]=batch"]);
    assert!(message.contains("Concat `y`"), "{message}");
    freed(&text, &["x[0]=batch", "z[0]=batch"]);
    let text = r#"<ir_version: 10, opset_import: ["": 21, "acme": 1]>
    g (float[1, 3] x) => (float[1, 3] y) { y = acme.Op (x) }"#;
    assert!(refused(text, &["x[0]=batch"]).contains("does not know"));
}

#[test]
fn a_greater_size_is_freed_and_bound() {
    let text = format!(
        "{HEAD} g (float[4, 6] x) => (float[8, 3] y) <int64[2] s = {{8, 3}}> {{ r = Reshape (x, s)  y = Relu (r) }}"
    );
    let (text_free, done) = freed(&text, &["x[0]=B"]);
    assert!(text_free.contains("(float[B,6] x) => (float[\"2*B\",3] y)"), "{text_free}");
    assert_eq!(done.constants, [("Reshape `r`".to_owned(), "[-1, 3]".to_owned())]);
    let (text_bound, done) = freed(&text, &["x[0]=10"]);
    assert!(text_bound.contains("(float[10,6] x) => (float[20,3] y)"), "{text_bound}");
    assert!(done.freed.is_empty() && done.bound.is_empty(), "{done:?}");
    let old = run(&model(&text), &[("x", input(&[4, 6], 0))]);
    assert_eq!(run(&model(&text_free), &[("x", input(&[4, 6], 0))]), old);
}

#[test]
fn a_sequence_is_freed_with_its_products() {
    let text = format!(
        "{HEAD} g (float[2, 5, 4] x) => (float[2, 5, 4] y)
         <int64[4] split = {{2, 5, 2, 2}}, int64[3] joined = {{2, 5, 4}}> {{
           s = Reshape (x, split)
           t = Transpose <perm = [0, 2, 1, 3]> (s)
           k = Transpose <perm = [0, 1, 3, 2]> (t)
           a = MatMul (t, k)
           o = MatMul (a, t)
           b = Transpose <perm = [0, 2, 1, 3]> (o)
           y = Reshape (b, joined)
        }}"
    );
    let (text_free, done) = freed(&text, &["x[1]=T"]);
    assert!(text_free.contains("(float[2,T,4] x) => (float[2,T,4] y)"), "{text_free}");
    assert_eq!(done.constants.len(), 2);
    let old = run(&model(&text), &[("x", input(&[2, 5, 4], 0))]);
    assert_eq!(run(&model(&text_free), &[("x", input(&[2, 5, 4], 0))]), old);
    run(&model(&text_free), &[("x", input(&[2, 9, 4], 0))]);
}

/// The dimension variables of the inputs of a model.
fn variables(model: &Model) -> Vec<String> {
    let mut found = Vec::new();
    for &input in model.graph(model.main_graph()).inputs() {
        for &dim in model.ty(input).and_then(|ty| ty.shape()).map(|shape| shape.dims()).unwrap_or_default() {
            if let Dim::Var(symbol) = dim {
                found.push(model.str(symbol).to_owned());
            }
        }
    }
    found.sort();
    found.dedup();
    found
}

/// Values of the inputs with some sizes, and the outputs of a run.
fn outputs(model: &Model, sizes: &[(String, i64)], seed: u64) -> Option<Vec<Value>> {
    let of = |value| {
        let dims = model.ty(value)?.shape()?.dims();
        let size = |dim: &Dim| match *dim {
            Dim::Known(size) => Some(size),
            Dim::Var(symbol) => {
                sizes.iter().find(|(name, _)| *name == model.str(symbol)).map(|&(_, size)| size)
            }
            _ => None,
        };
        Some(dims.iter().map(size).collect())
    };
    // The generator chooses other sizes for elements of sequences.
    let mut inputs = model.graph(model.main_graph()).inputs().iter();
    if !inputs
        .all(|&input| model.ty(input).is_some_and(|ty| matches!(ty.kind, onnx_types::TypeKind::Tensor(_))))
    {
        return None;
    }
    let generator = onnx_eval::generate::Generator::new(model, seed, &of);
    let graph = model.graph(model.main_graph());
    let inputs: Vec<(&str, Value)> = graph
        .inputs()
        .iter()
        .map(|&input| {
            Some((
                model.str(model.value(input).name()),
                generator.value(input, &onnx_types::Limits::DEFAULT).ok()?,
            ))
        })
        .collect::<Option<_>>()?;
    Evaluator::new(model, &EvalOptions::default()).ok()?.run(&inputs).ok()
}

/// Whether values are equal in every bit.
fn equal(a: &[Value], b: &[Value]) -> bool {
    let same = |(a, b): (&Value, &Value)| match (a.tensor(), b.tensor()) {
        (Some(a), Some(b)) => {
            let [a, b] = [a, b].map(|tensor| Constant::Dense(tensor.as_ref().clone()));
            a.same_meaning(&b, &NoData)
        }
        // Sequences and others: their types.
        _ => format!("{a:?}") == format!("{b:?}"),
    };
    a.len() == b.len() && a.iter().zip(b).all(same)
}

/// Numbers of models.
#[derive(Debug, Default)]
struct Counts {
    bound: usize,
    ran: usize,
    freed: usize,
}

fn checked(model: &Model, seed: u64) {
    model.verify().unwrap();
    let found = check(model, &CheckOptions::default());
    assert!(!found.has_errors(), "{seed}: {:?}\n{}", found.diagnostics(), print(model));
}

/// Binds a variable, runs, and frees what was bound again.
fn bound_and_freed(whole: &Model, name: &str, number: i64, seed: u64, counts: &mut Counts) {
    let mut model = whole.clone();
    let target = SizeTarget::Variable(name.to_owned());
    let changes = [SizeChange { target, size: NewSize::Number(number) }];
    if let Err(error) = resize(&mut model, &changes, &EditOptions::default()) {
        assert!(matches!(error, ComposeError::FixedSizes(_)), "{seed} {error}");
        return;
    }
    checked(&model, seed);
    counts.bound += 1;
    let sizes = variables(whole).into_iter().map(|variable| {
        let size = if variable == name { number } else { 2 };
        (variable, size)
    });
    let mut sizes: Vec<(String, i64)> = sizes.collect();
    let old = outputs(whole, &sizes, seed);
    if let Some(old) = &old {
        let new = outputs(&model, &sizes, seed).unwrap();
        assert!(equal(old, &new), "{seed} {name}={number} {} {}", print(whole), print(&model));
        counts.ran += 1;
    }
    let changes: Vec<SizeChange> = axes_of(whole, name)
        .into_iter()
        .map(|(input, axis)| SizeChange {
            target: SizeTarget::Axis(input, axis),
            size: NewSize::Name("freed_size".to_owned()),
        })
        .collect();
    let before = print(&model);
    if let Err(error) = resize(&mut model, &changes, &EditOptions::default()) {
        assert!(number == 0 || matches!(error, ComposeError::FixedSizes(_)), "{seed} {error}");
        assert_eq!(print(&model), before);
        return;
    }
    counts.freed += 1;
    checked(&model, seed);
    sizes.push(("freed_size".to_owned(), number));
    if let Some(old) = &old {
        let new = outputs(&model, &sizes, seed).unwrap();
        assert!(equal(old, &new), "{seed} {before} {}", print(&model));
    }
}

/// The axes of inputs that have a variable.
fn axes_of(model: &Model, name: &str) -> Vec<(onnx_ir::ValueId, usize)> {
    let mut axes = Vec::new();
    for &input in model.graph(model.main_graph()).inputs() {
        let dims = model.ty(input).and_then(|ty| ty.shape()).map(|shape| shape.dims()).unwrap_or_default();
        for (axis, dim) in dims.iter().enumerate() {
            if matches!(dim, Dim::Var(symbol) if model.str(*symbol) == name) {
                axes.push((input, axis));
            }
        }
    }
    axes
}

#[test]
fn a_bound_model_computes_what_the_model_does_for_the_number_and_a_freed_one_the_same() {
    let mut counts = Counts::default();
    for seed in 0..200 {
        let whole = from_seed(seed, &SmithOptions::default().with_nodes(10)).model;
        for name in variables(&whole) {
            for number in [1, 3] {
                bound_and_freed(&whole, &name, number, seed, &mut counts);
            }
        }
    }
    assert!(counts.bound > 100 && counts.ran > 50 && counts.freed > 50, "{counts:?}");
}

#[test]
fn operators_that_would_combine_the_rows_of_a_batch_are_named() {
    for (node, operator) in [
        ("y = Softmax <axis = 0> (x)", "Softmax `y`"),
        ("y = ReduceMean <keepdims = 1> (x, zero)", "ReduceMean `y`"),
        ("y = CumSum (x, index)", "CumSum `y`"),
        ("t = Transpose (x)  y = MatMul (t, x)", "MatMul `y`"),
    ] {
        let text = format!(
            "{HEAD} g (float[1, 3] x) => (float[P, 3] y) <int64[1] zero = {{0}}, int64 index = {{0}}> {{ {node} }}"
        );
        let message = refused(&text, &["x[0]=batch"]);
        assert!(message.contains(operator) && message.contains("combines the elements"), "{message}");
        // The second axis is not that of a batch.
        freed(&text.replace("float[1, 3]", "float[3, 1]").replace("P, 3", "P, Q"), &["x[1]=T"]);
    }
}

#[test]
fn sizes_that_other_sizes_would_lose_are_refused() {
    for (graph, reason) in [
        ("g (float[1, 4] x) => (float[4] y) { y = Squeeze (x) }", "removes all axes of size 1"),
        ("g (float[3, 4] x) => (float[3, 4] y) { y = Squeeze (x) }", "removes all axes of size 1"),
        (
            "g (float[4, 4] x) => (float[4, 4] y) <int64[1] s = {3}, int64[1] e = {-5}, int64[1] a = {0}, int64[1] t = {-1}> {
                y = Slice (x, s, e, a, t)
            }",
            "does not grow",
        ),
    ] {
        let message = refused(&format!("{HEAD} {graph}"), &["x[0]=Q"]);
        assert!(message.contains(reason), "{graph}: {message}");
    }
}
