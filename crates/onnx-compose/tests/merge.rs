//! Merging: what becomes one model, and what is refused.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test")]

use onnx_check::{CheckOptions, check};
use onnx_compose::{Connection, MergeError, MergeOptions, Merged, RenamedKind, connections_by_name, merge};
use onnx_ir::{Model, ValueId};
use onnx_text::{ParseOptions, PrintOptions, parse_model, print_model};
use onnx_types::{Execution, Interrupt, Limits};

fn model(text: &str) -> Model {
    parse_model(text, &ParseOptions::default()).unwrap()
}

fn print(model: &Model) -> String {
    print_model(model, &PrintOptions::default()).unwrap().text
}

fn value(model: &Model, name: &str) -> ValueId {
    model.find_value(model.main_graph(), name).expect(name)
}

/// Connections as `model.value`, numbered from 1.
fn connections(models: &[&Model], texts: &[(&str, &str)]) -> Vec<Connection> {
    let place = |text: &str| {
        let (index, name) = text.split_once('.').unwrap();
        let index = index.parse::<usize>().unwrap() - 1;
        (index, value(models[index], name))
    };
    texts.iter().map(|(from, to)| Connection::new(place(from), place(to))).collect()
}

fn attempt(
    texts: &[&str],
    joints: &[(&str, &str)],
    options: &MergeOptions<'_>,
) -> Result<Merged, MergeError> {
    let models: Vec<Model> = texts.iter().map(|text| model(text)).collect();
    let models: Vec<&Model> = models.iter().collect();
    let before: Vec<String> = models.iter().map(|model| print(model)).collect();
    let merged = merge(&models, &connections(&models, joints), options);
    assert_eq!(before, models.iter().map(|model| print(model)).collect::<Vec<_>>());
    merged
}

fn merged(texts: &[&str], joints: &[(&str, &str)]) -> Merged {
    let merged = attempt(texts, joints, &MergeOptions::default()).unwrap();
    valid(&merged.model);
    merged
}

fn valid(model: &Model) {
    model.verify().unwrap();
    assert!(model.is_sorted(model.main_graph()));
    assert!(model.name_plan().is_trivial(), "{}", print(model));
    let found = check(model, &CheckOptions::default());
    assert!(!found.has_errors(), "{:?}\n{}", found.diagnostics(), print(model));
}

/// What was renamed, as `kind model from to`.
fn renamed(merged: &Merged, kind: RenamedKind) -> Vec<String> {
    let of_kind = merged.renamed.iter().filter(|renamed| renamed.kind == kind);
    of_kind.map(|renamed| format!("{} {} {}", renamed.model + 1, renamed.from, renamed.to)).collect()
}

const A: &str = r#"<ir_version: 10, opset_import: ["": 21]>
a (float[N, 4] x) => (float[N, 4] h, float[N, 4] z) <float[4] w = {1, 2, 3, 4}> {
   [n] t = Add (x, w)
   h = Relu (t)
   z = Neg (t)
}"#;

const B: &str = r#"<ir_version: 9, opset_import: ["": 21]>
b (float[M, 4] x) => (float[M, 4] y) <float[4] w = {1, 2, 3, 4}> {
   [n] t = Mul (x, w)
   y = Exp (t)
}"#;

#[test]
fn an_output_takes_the_place_of_an_input() {
    let merged = merged(&[A, B], &[("1.h", "2.x")]);
    let text = print(&merged.model);
    assert!(text.contains("a_b (float[N,4] x) => (float[N,4] z, float[N,4] y)"), "{text}");
    assert!(text.contains("ir_version: 10") && text.contains("t_2 = Mul (h, w)"), "{text}");
    assert!(text.contains("float[N,4] h"), "the declared type stays: {text}");
    assert_eq!(merged.shared_initializers, 1);
    assert_eq!(renamed(&merged, RenamedKind::Value), ["2 t t_2"]);
    assert_eq!(renamed(&merged, RenamedKind::Node), ["2 n n_2"]);
    assert_eq!(renamed(&merged, RenamedKind::Dimension), ["2 M N"]);
}

#[test]
fn equal_constants_of_one_name_are_there_once() {
    let part = |input: &str, output: &str, elements: &str| {
        format!(
            r#"<ir_version: 10, opset_import: ["": 21]>
            g (float[2] {input}) => (float[2] {output}, float[2] c) {{
               [n] c = Constant <value = float[2] {{{elements}}}> ()
               {output} = Add ({input}, c)
            }}"#
        )
    };
    let connect: &[(&str, &str)] = &[("1.h", "2.h")];
    let first = part("x", "h", "1, 2");
    let same = merged(&[&first, &part("h", "y", "1, 2")], connect);
    assert_eq!((same.shared_initializers, same.model.node_count()), (1, 4));
    let text = print(&same.model);
    // The outputs of both models are one value: the second one is a copy.
    assert_eq!((text.matches("Constant").count(), text.matches("Identity").count()), (1, 1), "{text}");
    let other = merged(&[&first, &part("h", "y", "1, 3")], connect);
    assert_eq!((other.shared_initializers, other.model.node_count()), (0, 4));
    assert_eq!(renamed(&other, RenamedKind::Interface), ["2 c c_2"]);
}

#[test]
fn without_connections_models_are_side_by_side_and_their_dimension_variables_are_not_the_same() {
    let merged = merged(&[A, A], &[]);
    let text = print(&merged.model);
    let interface = "a (float[N,4] x, float[N_2,4] x_2) => (float[N,4] h, float[N,4] z, float[N_2,4] h_2, float[N_2,4] z_2)";
    assert!(text.contains(interface), "{text}");
    assert_eq!(renamed(&merged, RenamedKind::Interface), ["2 x x_2", "2 h h_2", "2 z z_2"]);
    let options = MergeOptions::default().with_same_dimensions(["N"]);
    let text = print(&attempt(&[A, A], &[], &options).unwrap().model);
    assert!(text.contains("(float[N,4] x, float[N,4] x_2)"), "{text}");
}

#[test]
fn prefixes_are_for_all_names_of_a_model() {
    let options = MergeOptions::default().with_prefixes(["", "b/"]);
    let merged = attempt(&[A, B], &[("1.h", "2.x")], &options).unwrap();
    let text = print(&merged.model);
    assert!(text.contains("[\"b/n\"] \"b/t\" = Mul (h, \"b/w\")"), "{text}");
    assert!(text.contains("float[N,4] \"b/y\")"), "{text}");
    assert!(
        merged.renamed.iter().all(|renamed| renamed.kind == RenamedKind::Dimension),
        "{:?}",
        merged.renamed
    );
}

#[test]
fn names_of_the_interface_have_precedence_over_inner_names() {
    let inner = r#"<ir_version: 10, opset_import: ["": 21]>
        a (float[2] p) => (float[2] q) { y = Neg (p)  q = If_ (y) }"#
        .replace("If_", "Relu");
    let outer = r#"<ir_version: 10, opset_import: ["": 21]> b (float[2] p) => (float[2] y) { y = Abs (p) }"#;
    let merged = merged(&[&inner, outer], &[("1.q", "2.p")]);
    let text = print(&merged.model);
    assert!(text.contains("(float[2] p) => (float[2] y)"), "{text}");
    assert!(text.contains("y_2 = Neg (p)") && text.contains("y = Abs (q)"), "{text}");
    assert_eq!(renamed(&merged, RenamedKind::Value), ["1 y y_2"]);
}

#[test]
fn names_of_nested_graphs_do_not_hide_those_of_other_models() {
    let branches = r#"<ir_version: 10, opset_import: ["": 21]> a (bool c, float[2] x) => (float[2] r) {
       r = If (c) <
          then_branch = t () => (y) { y = Neg (x) },
          else_branch = e () => (v) { y = Exp (x)  v = Abs (y) }
       >
    }"#;
    let other = r#"<ir_version: 10, opset_import: ["": 21]> b (float[2] x) => (float[2] y) { v = Abs (x)  y = Exp (v) }"#;
    let merged = merged(&[branches, other], &[("1.r", "2.x")]);
    assert_eq!(renamed(&merged, RenamedKind::Value), ["1 y y_2", "1 y y_3", "1 v v_2"]);
    // Two nested graphs may have the same names.
    let merged = self::merged(&[branches, branches], &[("1.r", "2.x")]);
    assert_eq!(renamed(&merged, RenamedKind::Value), ["1 r r_2"]);
}

#[test]
fn older_operator_sets_are_raised() {
    let old = r#"<ir_version: 7, opset_import: ["": 11]>
        a (float[N, 4] x) => (float[N, 4] h) { s = ReduceSum <axes = [1]> (x)  h = Add (x, s) }"#;
    let merged = merged(&[old, B], &[("1.h", "2.x")]);
    let text = print(&merged.model);
    assert!(text.contains("\"\": 21") && text.contains("ReduceSum (x, "), "{text}");
    assert_eq!((merged.raised[0].from, merged.raised[0].to), (11, 21));
}

#[test]
fn a_function_that_would_become_an_operator_has_another_name() {
    let old = r#"<ir_version: 8, opset_import: ["": 16]> a (float[4] x) => (float[4] h) { h = GroupNormalization (x) }
        <domain: "", opset_import: ["": 16]> GroupNormalization (p) => (q) { q = Neg (p) }"#;
    let other = r#"<ir_version: 10, opset_import: ["": 21]> b (float[4] x) => (float[4] y) { y = Abs (x) }"#;
    let merged = attempt(&[old, other], &[("1.h", "2.x")], &MergeOptions::default()).unwrap();
    assert_eq!(renamed(&merged, RenamedKind::Function), ["1 GroupNormalization GroupNormalization_2"]);
    let text = print(&merged.model);
    assert!(text.contains("h = GroupNormalization_2 (x)"), "{text}");
}

#[test]
fn what_has_no_equivalent_in_the_newest_version_is_refused_with_its_place() {
    let old = r#"<ir_version: 7, opset_import: ["": 9]>
        a (float[1,1,2,2] x) => (float[1,1,4,4] h) <float[4] s = {1,1,2,2}> { h = Upsample <mode = "linear"> (x, s) }"#;
    let new = r#"<ir_version: 10, opset_import: ["": 21]> b (float[1,1,4,4] x) => (float[1,1,4,4] y) { y = Abs (x) }"#;
    let models = [model(old), model(new)];
    let models: Vec<&Model> = models.iter().collect();
    match merge(&models, &connections(&models, &[("1.h", "2.x")]), &MergeOptions::default()) {
        Ok(merged) => valid(&merged.model),
        Err(error) => {
            let (of, findings) = error.findings(&models);
            assert_eq!(of, 0, "{error}");
            assert!(findings.has_errors());
        }
    }
    let custom = |version: i64| {
        format!(
            r#"<ir_version: 10, opset_import: ["": 21, "acme": {version}]> a (float[4] x) => (float[4] y) {{ y = acme.Op (x) }}"#
        )
    };
    let error = attempt(&[&custom(1), &custom(2)], &[("1.y", "2.x")], &MergeOptions::default()).unwrap_err();
    let expected = "model 1: it imports version 1 of the operator set `acme`, another model version 2, and what changes in \
                    `Op` is not known";
    assert_eq!(error.to_string(), expected);
}

#[test]
fn equal_functions_are_shared_and_others_are_renamed_with_their_calls() {
    let with = |body: &str| {
        format!(
            r#"<ir_version: 10, opset_import: ["": 21, "my": 1]> a (float[4] x) => (float[4] y) {{ y = my.G (x) }}
            <domain: "my", opset_import: ["": 21, "my": 1]> G (p) => (q) {{ q = my.F (p) }}
            <domain: "my", opset_import: ["": 21]> F (p) => (q) {{ q = {body} (p) }}"#
        )
    };
    let same = merged(&[&with("Neg"), &with("Neg")], &[("1.y", "2.x")]);
    assert_eq!((same.shared_functions, same.model.functions().len()), (2, 2));
    let other = merged(&[&with("Neg"), &with("Abs")], &[("1.y", "2.x")]);
    assert_eq!(renamed(&other, RenamedKind::Function), ["2 my.F my.F_2", "2 my.G my.G_2"]);
    let text = print(&other.model);
    assert!(text.contains("y = my.G_2 (y_2)") && text.contains("q = my.F_2 (p)"), "{text}");
}

#[test]
fn an_operator_of_the_runtime_does_not_become_a_call_of_a_function() {
    let function = r#"<ir_version: 10, opset_import: ["": 21, "my": 1]> a (float[4] x) => (float[4] h) { h = my.F (x) }
        <domain: "my", opset_import: ["": 21]> F (p) => (q) { q = Neg (p) }"#;
    let runtime = r#"<ir_version: 10, opset_import: ["": 21, "my": 1]> b (float[4] x) => (float[4] y) { y = my.F (x) }"#;
    let merged = merged(&[function, runtime], &[("1.h", "2.x")]);
    let text = print(&merged.model);
    assert!(text.contains("h = my.F_2 (x)") && text.contains("y = my.F (h)"), "{text}");
}

#[test]
fn types_at_a_connection_must_fit() {
    let to = |ty: &str| {
        format!(
            r#"<ir_version: 10, opset_import: ["": 21]> b ({ty} x) => (float[2] y) <float[2] y = {{1, 2}}> {{ k = Shape (x) }}"#
        )
    };
    for (ty, reason) in [
        ("int64[N, 4]", "the element types are float and int64"),
        ("float[N]", "the ranks are 2 and 1"),
        ("float[N, 5]", "axis 1 is 4 and 5"),
        ("seq(float[N, 4])", "a tensor is not a sequence"),
    ] {
        let error = attempt(&[A, &to(ty)], &[("1.h", "2.x")], &MergeOptions::default()).unwrap_err();
        assert_eq!(error.to_string(), format!("`h` of model 1 does not fit `x` of model 2: {reason}"));
    }
}

#[test]
fn sizes_are_proved_and_declared_names_of_results_are_not_believed() {
    // The model calls two different sizes `N`.
    let wrong = r#"<ir_version: 10, opset_import: ["": 21, "acme": 1]> a (float[N] x) => (float[N] h) { h = acme.Twice (x) }"#;
    let two = r#"<ir_version: 10, opset_import: ["": 21]> b (float[N] x, float[N] k) => (float[N] y) { y = Add (x, k) }"#;
    let merged = merged(&[wrong, two], &[("1.h", "2.x")]);
    let text = print(&merged.model);
    // Only equal sizes of `h` and `k` would make `y` as long as `k`, and nothing proves these.
    assert!(text.contains("(float[N] x, float[N_2] k) => (float[?] y)"), "{text}");
    // Where inference proves the size, the variables are one.
    let right = wrong.replace("acme.Twice", "Neg");
    let merged = self::merged(&[&right, two], &[("1.h", "2.x")]);
    assert!(
        print(&merged.model).contains("(float[N] x, float[N] k) => (float[N] y)"),
        "{}",
        print(&merged.model)
    );
}

/// The second model reshapes to sizes that the first one computes, so that only both together prove a size of its result.
#[test]
fn sizes_that_several_models_compute_together_are_one_variable() {
    let first = r#"<ir_version: 10, opset_import: ["": 21]> a (float[N,6] x) => (float[N,6] h, int64[3] s)
        <int64[2] rest = {2, 3}> { h = Neg (x) n = Shape <start = 0, end = 1> (x) s = Concat <axis = 0> (n, rest) }"#;
    let second = r#"<ir_version: 10, opset_import: ["": 21]> b (float[N,6] h, int64[3] s) => (float[N,2,3] r)
        { r = Reshape (h, s) }"#;
    let third = r#"<ir_version: 10, opset_import: ["": 21]> c (float[N,2,3] r, float[N,1,1] k) => (float[N,2,3] y)
        { y = Add (r, k) }"#;
    let joints = [("1.h", "2.h"), ("1.s", "2.s"), ("2.r", "3.r")];
    let result = merged(&[first, second, third], &joints);
    let text = print(&result.model);
    assert!(text.contains("(float[N,6] x, float[N,1,1] k) => (float[N,2,3] y)"), "{text}");
    assert!(renamed(&result, RenamedKind::Dimension).is_empty(), "{text}");
    // The sizes that a caller gives prove nothing.
    let open =
        first.replace("a (float[N,6] x)", "a (float[N,6] x, int64[3] t)").replace("s = Concat", "u = Concat");
    let open = open.replace("(n, rest) }", "(n, rest) s = Neg (t) }");
    let result = merged(&[&open, second, third], &joints);
    let text = print(&result.model);
    assert!(text.contains("float[N_2,1,1] k) => (float[?,2,3] y)"), "{text}");
}

#[test]
fn a_size_that_a_model_requires_is_bound_everywhere() {
    let four =
        r#"<ir_version: 10, opset_import: ["": 21]> b (float[4, 4] x) => (float[4, 4] y) { y = Abs (x) }"#;
    let result = merged(&[A, four], &[("1.h", "2.x")]);
    let text = print(&result.model);
    assert!(text.contains("(float[4,4] x) => (float[4,4] z, float[4,4] y)"), "{text}");
    assert_eq!(result.bound, [(0, "N".to_owned(), 4)]);
    // Two numbers for one variable contradict.
    let both = r#"<ir_version: 10, opset_import: ["": 21]> b (float[P] x, float[P] k) => (float[P] y) { y = Add (x, k) }"#;
    let of = |size: i64| {
        format!(
            r#"<ir_version: 10, opset_import: ["": 21]> a (float[{size}] x) => (float[{size}] h) {{ h = Abs (x) }}"#
        )
    };
    let error = attempt(&[&of(2), &of(3), both], &[("1.h", "3.x"), ("2.h", "3.k")], &MergeOptions::default());
    assert_eq!(
        error.unwrap_err().to_string(),
        "`h` of model 2 does not fit `k` of model 3: axis 0 is 3 and 2"
    );
}

/// A variable that one connection binds to a number gives the sizes of others.
#[test]
fn sizes_that_contradict_after_a_variable_is_bound_are_refused() {
    let head = r#"<ir_version: 9, opset_import: ["": 18]>"#;
    let twice =
        "g (float[N,4] x) => (float[M,4] y, float[N,4] k) { y = Concat <axis = 0> (x, x) k = Abs (x) }";
    let doubled = format!("{head} {twice}");
    let square = format!("{head} g (float[N,\"2*N\"] q) => (float[N,\"2*N\"] a) {{ a = Relu (q) }}");
    let two = format!("{head} h (float[2,2] q) => (float[2,2] b) {{ b = Neg (q) }}");
    let fixed = |y: i64, k: i64| format!("{head} g (float[{y},4] p, float[{k},4] q) => (p, q) {{ }}");
    let refused =
        |texts: &[&str], joints: &[(&str, &str)]| match attempt(texts, joints, &MergeOptions::default()) {
            Err(MergeError::Connection { reason, .. }) => reason,
            found => panic!("{found:?}"),
        };
    let both = [("1.y", "2.p"), ("1.k", "2.q")];
    assert!(refused(&[&doubled, &fixed(6, 4)], &both).contains("axis 0 is"));
    assert!(refused(&[&doubled, &fixed(6, 4)], &[both[1], both[0]]).contains("axis 0 is"));
    assert!(refused(&[&square, &two], &[("1.q", "2.q")]).contains("axis 1 is 4"));
    assert!(refused(&[&two, &square], &[("1.q", "2.q")]).contains("axis 1 is 2"));
    assert!(refused(&[&doubled, &fixed(3, 4)], &both[..1]).contains("is not 3 for any size of `N`"));
    // A size that an expression has binds its variable.
    let done = merged(&[&doubled, &fixed(6, 3)], &both[..1]);
    assert_eq!(done.bound, [(0, "N".to_owned(), 3)]);
}

#[test]
fn a_bound_size_is_declared_only_where_it_is_proved() {
    // The model calls two different sizes `N`.
    let wrong = r#"<ir_version: 10, opset_import: ["": 21]>
        a (float[N] x) => (float[N] h, float[N] k) { k = Concat <axis = 0> (x, x)  h = Neg (x) }"#;
    let four = r#"<ir_version: 10, opset_import: ["": 21]> b (float[4] x) => (float[4] y) { y = Abs (x) }"#;
    let text = print(&merged(&[wrong, four], &[("1.h", "2.x")]).model);
    assert!(text.contains("(float[4] x) => (float[8] k, float[4] y)"), "{text}");
}

/// A model with a size that is an expression, of inputs `first` and `x`.
fn concatenation(first: &str, result: &str) -> String {
    format!(
        r#"<ir_version: 10, opset_import: ["": 20]>
        g (float[past,2] {first}, float[seq,2] x) => (float["seq + past",2] {result})
        {{ {result} = Concat <axis=0> ({first}, x) }}"#
    )
}

#[test]
fn expressions_have_the_names_of_their_variables() {
    let [a, b] = [concatenation("p1", "k1"), concatenation("p2", "k2")];
    let result = merged(&[&a, &b], &[("1.x", "2.x")]);
    let interface =
        |merged: &Merged| print(&merged.model).lines().find(|line| line.contains("=>")).unwrap().to_owned();
    // The notation stays.
    let expected = "g (float[past,2] p1, float[seq,2] x, float[past_2,2] p2) => \
                    (float[\"seq + past\",2] k1, float[\"seq + past_2\",2] k2) {";
    assert_eq!(interface(&result), expected);
    assert_eq!(renamed(&result, RenamedKind::Dimension), ["2 past past_2"]);
    let options = MergeOptions::default().with_same_dimensions(["past", "seq"]);
    let result = attempt(&[&a, &b], &[], &options).unwrap();
    let expected = "g (float[past,2] p1, float[seq,2] x, float[past,2] p2, float[seq,2] x_2) => \
                    (float[\"seq + past\",2] k1, float[\"seq + past\",2] k2) {";
    assert_eq!(interface(&result), expected);
    assert!(renamed(&result, RenamedKind::Dimension).is_empty());
    // A variable that no model before has in an expression.
    let other =
        r#"<ir_version: 10, opset_import: ["": 20]> a (float[seq] y) => (float[seq] z) { z = Neg (y) }"#;
    let result = merged(&[other, &a], &[]);
    let expected = "a_g (float[seq] y, float[past,2] p1, float[seq_2,2] x) => \
                    (float[seq] z, float[\"seq_2 + past\",2] k1) {";
    assert_eq!(interface(&result), expected);
}

#[test]
fn expressions_of_inputs_and_inner_values_are_expressions() {
    let part = r#"<ir_version: 10, opset_import: ["": 20]>
        g (float[past] p, float[seq] x, float["(past+seq)"] m) => (int64[1] n) <float["past + seq"] k>
        { k = Concat <axis=0> (p, x)  a = Add (k, m)  n = Shape (a) }"#;
    let result = merged(&[part, part], &[("1.x", "2.x")]);
    let text = print(&result.model);
    for expected in [r#"float["(past+seq)"] m,"#, "float[past_2] p_2,", r#"float["(past_2+seq)"] m_2"#] {
        assert!(text.contains(expected), "{text}");
    }
    assert!(
        text.contains(r#"float["past + seq"] k,"#) && text.contains(r#"float["past_2 + seq"] k_2"#),
        "{text}"
    );
}

#[test]
fn numbers_are_put_in_expressions() {
    let fixed = |name: &str, size: i64| {
        format!(
            r#"<ir_version: 10, opset_import: ["": 20]> a (float[{size},2] {name}) => (float[{size},2] y) {{ y = Neg ({name}) }}"#
        )
    };
    let (three, four, open) = (fixed("p", 3), fixed("x", 4), concatenation("p", "k"));
    let inner = open.replace("float[\"seq + past\",2] k)", "int64[2] n) <float[\"seq + past\",2] k>");
    let inner = inner.replace("(p, x)", "(p, x) n = Shape (k)");
    let result = merged(&[&three, &inner], &[("1.p", "2.p")]);
    let text = print(&result.model);
    assert!(text.contains("float[\"seq + 3\",2] k"), "{text}");
    assert_eq!(result.bound, [(1, "past".to_owned(), 3)]);
    let result = merged(&[&three, &four, &open], &[("1.p", "3.p"), ("2.x", "3.x")]);
    let text = print(&result.model);
    assert!(text.contains("float[7,2] k)"), "{text}");
    // A wrong expression becomes the number that is proved.
    let wrong = open.replace("(p, x)", "(p, x, x)");
    let text = print(&merged(&[&three, &four, &wrong], &[("1.p", "3.p"), ("2.x", "3.x")]).model);
    assert!(text.contains("float[11,2] k)"), "{text}");
}

#[test]
fn texts_that_are_no_expressions_are_names_and_do_not_become_expressions() {
    // `p` is not a size of an input.
    let opaque = r#"<ir_version: 10, opset_import: ["": 20]>
        a (float["p + q"] x, float["a::b"] v) => (float["p + q"] y) { y = Neg (x) }"#;
    let alone = print(&merged(&[opaque], &[]).model);
    assert!(alone.contains(r#"(float["p + q"] x, float["a::b"] v)"#), "{alone}");
    let inputs = r#"<ir_version: 10, opset_import: ["": 20]>
        b (float[p] s, float[q] t) => (float["p + q"] u) { u = Concat <axis = 0> (s, t) }"#;
    for models in [[inputs, opaque], [opaque, inputs]] {
        let text = print(&merged(&models, &[]).model);
        assert!(text.contains("float[p_q] x") && text.contains("float[p_q] y"), "{text}");
        assert!(text.contains("float[p] s, float[q] t") && text.contains(r#"float["p + q"] u"#), "{text}");
    }
    let text = print(&merged(&[opaque, opaque], &[]).model);
    assert!(text.contains(r#"float[p_q] x_2, float["a::b_2"] v_2"#), "{text}");
    // A variable that is the same in all models is known in all of them.
    let options = MergeOptions::default().with_same_dimensions(["p", "q"]);
    let text = print(&attempt(&[inputs, opaque], &[], &options).unwrap().model);
    assert!(text.contains(r#"float["p + q"] x"#), "{text}");
}

#[test]
fn names_of_dimension_variables_that_no_model_has_are_refused() {
    let of = |name: &str| {
        let options = MergeOptions::default().with_same_dimensions([name]);
        attempt(&[A, B], &[], &options).map(drop).map_err(|error| error.to_string())
    };
    assert_eq!(of("N"), Ok(()));
    let expected = "no model has the dimension variable `n`, only `N`, `M`";
    assert_eq!(of("n"), Err(expected.to_owned()));
}

#[test]
fn contradictions_inside_of_a_model_are_found_by_inference() {
    let from =
        r#"<ir_version: 10, opset_import: ["": 21]> a (float[2, 3] x) => (float[2, 3] h) { h = Abs (x) }"#;
    let to = r#"<ir_version: 10, opset_import: ["": 21]>
        b (float[P, Q] x) => (float[P, R] y) <float[4, 1] w = {1, 2, 3, 4}> { y = MatMul (x, w) }"#;
    let error = attempt(&[from, to], &[("1.h", "2.x")], &MergeOptions::default()).unwrap_err();
    assert!(matches!(error, MergeError::Contradiction { .. }), "{error}");
}

#[test]
fn connections_in_any_direction_are_sorted_and_cycles_are_refused() {
    let two = r#"<ir_version: 10, opset_import: ["": 21]>
        a (float[2] x, float[2] y) => (float[2] p, float[2] q) { p = Neg (x)  q = Abs (y) }"#;
    let one = r#"<ir_version: 10, opset_import: ["": 21]> b (float[2] u) => (float[2] v) { v = Exp (u) }"#;
    let merged = merged(&[two, one], &[("1.p", "2.u"), ("2.v", "1.y")]);
    assert!(print(&merged.model).contains("(float[2] x) => (float[2] q)"), "{}", print(&merged.model));
    let error =
        attempt(&[two, one], &[("1.p", "2.u"), ("2.v", "1.x")], &MergeOptions::default()).unwrap_err();
    assert!(matches!(error, MergeError::Cycle(_)), "{error}");
    let pass = r#"<ir_version: 10, opset_import: ["": 21]> b (float[2] u) => (float[2] u) { }"#;
    let error =
        attempt(&[pass, pass], &[("1.u", "2.u"), ("2.u", "1.u")], &MergeOptions::default()).unwrap_err();
    assert_eq!(error.to_string(), "the connected inputs depend on each other only");
}

#[test]
fn an_input_can_be_shared_and_outputs_that_are_one_value_are_copied() {
    let pass = r#"<ir_version: 10, opset_import: ["": 21]> b (float[2] u) => (float[2] u, float[2] v) { v = Exp (u) }"#;
    let first = r#"<ir_version: 10, opset_import: ["": 21]> a (float[2] u) => (float[2] w) { w = Abs (u) }"#;
    let result = merged(&[first, pass], &[("1.u", "2.u")]);
    assert!(
        print(&result.model).contains("(float[2] u) => (float[2] w, float[2] u, float[2] v)"),
        "{}",
        print(&result.model)
    );
    // Both outputs are `u`.
    let result = merged(&[pass, pass], &[("1.v", "2.u")]);
    assert!(
        print(&result.model).contains("=> (float[2] u, float[2] v, float[2] v_2)"),
        "{}",
        print(&result.model)
    );
    let models = [model(pass), model(pass)];
    let models: Vec<&Model> = models.iter().collect();
    let outputs = vec![(0, value(models[0], "u")), (1, value(models[1], "u")), (1, value(models[1], "v"))];
    let joints = connections(&models, &[("1.u", "2.u")]);
    let merged = merge(&models, &joints, &MergeOptions::default().with_outputs(outputs)).unwrap();
    valid(&merged.model);
    assert!(print(&merged.model).contains("u_2 = Identity (u)"), "{}", print(&merged.model));
}

#[test]
fn a_default_of_a_connected_input_does_not_count() {
    let with_default = r#"<ir_version: 10, opset_import: ["": 21]>
        b (float[2] u, float[2] k) => (float[2] v) <float[2] u = {7, 8}, float[2] k = {1, 2}> { v = Add (u, k) }"#;
    let first = r#"<ir_version: 10, opset_import: ["": 21]> a (float[2] x) => (float[2] w) { w = Abs (x) }"#;
    let text = print(&merged(&[first, with_default], &[("1.w", "2.u")]).model);
    assert!(
        text.contains("(float[2] x, float[2] k)") && !text.contains("{7") && text.contains("{1"),
        "{text}"
    );
}

#[test]
fn metadata_and_documentation_of_all_models_stay() {
    let with = |author: &str, doc: &str| {
        format!(
            r#"<ir_version: 10, opset_import: ["": 21], doc_string: "{doc}", metadata_props: ["author": "{author}", "kind": "part"]>
            a (float[4] x) => (float[4] y) {{ y = Abs (x) }}"#
        )
    };
    let result = merged(&[&with("me", "first"), &with("you", "second")], &[("1.y", "2.x")]);
    let text = print(&result.model);
    let metadata = r#"metadata_props: ["author": "me", "kind": "part", "author_2": "you"]"#;
    assert!(text.contains(metadata) && text.contains("first\n\nsecond"), "{text}");
    assert_eq!(renamed(&result, RenamedKind::Metadata), ["2 author author_2"]);
}

#[test]
fn inputs_are_connected_by_name() {
    let models = [
        A,
        r#"<ir_version: 10, opset_import: ["": 21]>
        b (float[M, 4] h, float[M, 4] x) => (float[M, 4] y) { y = Add (h, x) }"#,
    ];
    let models = models.map(model);
    let models: Vec<&Model> = models.iter().collect();
    let found = connections_by_name(&models);
    assert_eq!(found, connections(&models, &[("1.h", "2.h"), ("1.x", "2.x")]));
    let merged = merge(&models, &found, &MergeOptions::default()).unwrap();
    valid(&merged.model);
    assert!(
        print(&merged.model).contains("(float[N,4] x) => (float[N,4] z, float[N,4] y)"),
        "{}",
        print(&merged.model)
    );
}

#[test]
fn impossible_requests_are_refused() {
    let (a, b) = (model(A), model(B));
    let models = [&a, &b];
    let join = |from, to| merge(&models, &[Connection::new(from, to)], &MergeOptions::default());
    let h = (0, value(&a, "h"));
    for result in [
        merge(&[], &[], &MergeOptions::default()),
        join(h, (1, value(&b, "y"))),
        join(h, (2, value(&b, "x"))),
        join((5, h.1), (1, value(&b, "x"))),
        merge(&models, &connections(&models, &[("1.h", "2.x"), ("1.z", "2.x")]), &MergeOptions::default()),
        merge(&models, &[], &MergeOptions::default().with_outputs(vec![(9, h.1)])),
    ] {
        assert!(result.is_err(), "{result:?}");
    }
    let undefined =
        r#"<ir_version: 10, opset_import: ["": 21]> a (float[2] x) => (float[2] y) { y = Add (x, nothing) }"#;
    let error = attempt(&[undefined, A], &[], &MergeOptions::default()).unwrap_err();
    assert_eq!(error.to_string(), "model 1: nothing defines `nothing`");
}

#[test]
fn limits_and_interrupts_end_merging() {
    let limits = Limits::default().with_nodes(4);
    let options = MergeOptions::default().with_execution(Execution::default().with_limits(limits));
    let error = attempt(&[A, B], &[], &options).unwrap_err();
    assert_eq!(error.limit(), Some("nodes"));
    let interrupt = Interrupt::new();
    interrupt.cancel();
    let options = MergeOptions::default().with_execution(Execution::default().with_interrupt(interrupt));
    assert!(matches!(attempt(&[A, B], &[], &options), Err(MergeError::Stopped(_))));
}
