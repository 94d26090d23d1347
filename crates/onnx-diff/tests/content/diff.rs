//! Differences.

use std::collections::BTreeMap;

use onnx_diff::{AspectKind, ChangeKind, ChangedElement, Diff, DiffOptions, HashOptions, diff, hash_model};
use onnx_eval::compare::Tolerances;
use onnx_ir::Model;
use onnx_text::{ParseOptions, PrintOptions, parse_model, print_model};
use onnx_types::tensor::{ExternalData, NoData, Tensor};
use onnx_types::{ElemType, Execution, Interrupt};

use crate::disguise::disguise;
use crate::edits::ALL;
use crate::hash::generated;
use crate::random::Random;

fn print(model: &Model) -> String {
    print_model(model, &PrintOptions::full()).map_or_else(|error| error.to_string(), |printed| printed.text)
}

fn parse(text: &str) -> Model {
    parse_model(text, &ParseOptions::default()).unwrap()
}

fn main_graph(body: &str) -> Model {
    parse(&format!("<ir_version: 10, opset_import: [\"\": 21]>\ng (float[2] x) => (float[2] y) {body}"))
}

/// The changes, one a line, without loci.
fn lines(found: &Diff) -> Vec<String> {
    let of = |change: &onnx_diff::ModelChange| {
        let aspects: Vec<String> = change.aspects.iter().map(ToString::to_string).collect();
        let mut line = format!("{} {}", change.kind.name(), change.element.name());
        for part in [change.text.clone(), aspects.join("; ")] {
            if !part.is_empty() {
                line.push_str(" | ");
                line.push_str(&part);
            }
        }
        line
    };
    found.changes.iter().map(of).collect()
}

#[track_caller]
fn check(a: &str, b: &str, expected: &[&str]) {
    let (a, b) = (main_graph(a), main_graph(b));
    let found = diff(&a, &b, &DiffOptions::default()).unwrap();
    assert_eq!(lines(&found), expected);
}

#[test]
fn declared_types_in_one_model_only_are_counted() {
    let body = "{ t = Neg (x) u = Abs (t) y = Exp (u) }";
    let (one, two) = (format!("<float[2] t> {body}"), format!("<float[2] t, float[2] u> {body}"));
    check(body, &two, &["changed model | 2 inner values have a declared type only in the second model"]);
    check(&two, &one, &["changed model | 1 inner value has a declared type only in the first model"]);
    let other = format!("<float[2] u> {body}");
    let both = "changed model | 1 inner value has a declared type only in the first model; \
                1 inner value has a declared type only in the second model";
    check(&one, &other, &[both]);
}

#[test]
fn the_same_model_in_another_form_has_no_difference() {
    for seed in 0..60 {
        let model = generated(seed);
        let (same, data) = disguise(&model, &mut Random(seed));
        let options = DiffOptions::default().with_data_of_b(&data);
        let found = diff(&model, &same, &options).unwrap();
        assert!(found.is_same_model(), "{seed}: {:#?}\n{}\n{}", lines(&found), print(&model), print(&same));
        assert_eq!(
            found.same_nodes,
            model.all_graphs().map(|graph| model.nodes(graph).count()).sum::<usize>()
        );
        assert!(found.unread.is_empty());
        let back = diff(&same, &model, &DiffOptions::default().with_data_of_a(&data)).unwrap();
        assert!(back.is_same_model(), "{seed}");
    }
}

/// What is reported for an edit of a kind.
fn expected(name: &str) -> Vec<(ChangeKind, ChangedElement, Option<AspectKind>)> {
    use {AspectKind as A, ChangeKind as K, ChangedElement as E};
    let one = match name {
        "attribute changed" | "attribute removed" => (K::Changed, E::Node, Some(A::Attribute)),
        "operator changed" => (K::Changed, E::Node, Some(A::Operator)),
        "operands swapped" | "operand changed" => (K::Changed, E::Node, Some(A::Operand)),
        "node removed" => (K::Removed, E::Node, None),
        "node added" | "dead node added" => (K::Added, E::Node, None),
        "element type of a weight changed" | "dimensions of a weight changed" => {
            (K::Changed, E::Initializer, Some(A::Type))
        }
        "bit of a weight changed" => (K::Changed, E::Initializer, Some(A::Elements)),
        "initializer added" => (K::Added, E::Initializer, None),
        "order of outputs changed" | "order of inputs changed" => (K::Changed, E::Graph, Some(A::Order)),
        "output added" => (K::Added, E::Output, None),
        "input renamed" => (K::Changed, E::Input, Some(A::Name)),
        "type of an input changed" => (K::Changed, E::Input, Some(A::Type)),
        "operator set version changed" => (K::Changed, E::Model, Some(A::OperatorSet)),
        "function renamed" => return vec![(K::Removed, E::Function, None), (K::Added, E::Function, None)],
        other => panic!("{other}"),
    };
    vec![one]
}

#[test]
fn each_edit_is_reported_as_that_edit() {
    let (mut counts, mut exact): (BTreeMap<&str, usize>, BTreeMap<&str, usize>) = Default::default();
    let wanted = crate::edits();
    for seed in 0..wanted as u64 * 40 {
        let open: Vec<_> =
            ALL.iter().filter(|edit| counts.get(edit.name).is_none_or(|count| *count < wanted)).collect();
        if open.is_empty() {
            break;
        }
        let model = generated(seed);
        for edit in open {
            let mut edited = model.clone();
            if (edit.apply)(&mut edited, &mut Random(seed)).is_none() {
                continue;
            }
            let (edited, data) = disguise(&edited, &mut Random(seed));
            let options = DiffOptions::default().with_data_of_b(&data);
            let found = diff(&model, &edited, &options).unwrap();
            let context = || {
                let lines = lines(&found).join("\n");
                format!("{}, seed {seed}\n{lines}\n{}\n{}", edit.name, print(&model), print(&edited))
            };
            assert!(!found.is_same_model(), "{}", context());
            let changes = found.changes.iter().filter(|change| !change.is_note());
            let changes: Vec<_> = changes
                .map(|change| {
                    let mut kinds: Vec<AspectKind> =
                        change.aspects.iter().map(|aspect| aspect.kind).collect();
                    kinds.retain(|kind| !kind.is_note());
                    kinds.dedup();
                    assert!(kinds.len() < 2, "{}", context());
                    (change.kind, change.element, kinds.first().copied())
                })
                .collect();
            *counts.entry(edit.name).or_default() += 1;
            if changes == expected(edit.name) {
                *exact.entry(edit.name).or_default() += 1;
            } else {
                println!("{}", context());
            }
        }
    }
    assert_eq!(exact, counts);
    assert!(ALL.iter().all(|edit| counts.get(edit.name) == Some(&wanted)), "{counts:?}");
}

#[test]
fn differences_are_empty_exactly_if_hashes_are_equal() {
    let mut equal = 0;
    for seed in 0..120 {
        let model = generated(seed % 30);
        let mut other = model.clone();
        let mut random = Random(seed);
        for _ in 0..random.below(4) {
            let edit = &ALL[random.below(ALL.len())];
            let _ = (edit.apply)(&mut other, &mut random);
        }
        let (other, data) = disguise(&other, &mut random);
        let one = hash_model(&model, &HashOptions::default()).unwrap().model;
        let two = hash_model(&other, &HashOptions::default().with_data(&data)).unwrap().model;
        let found = diff(&model, &other, &DiffOptions::default().with_data_of_b(&data)).unwrap();
        let context =
            || format!("{seed}\n{}\n{}\n{}", lines(&found).join("\n"), print(&model), print(&other));
        assert_eq!(found.is_same_model(), one == two, "{}", context());
        equal += usize::from(one == two);
    }
    assert!((20..100).contains(&equal), "{equal}");
}

#[test]
fn single_edits_are_described() {
    let a = "{ a = Exp (x) b = LeakyRelu <alpha = 0.5> (a) c = Log (b) y = Sub (c, a) }";
    check(
        a,
        "{ p = Exp (x) q = LeakyRelu <alpha = 0.25> (p) r = Log (q) y = Sub (r, p) }",
        &["changed node | LeakyRelu(p) -> q | attribute alpha: 0.5 -> 0.25"],
    );
    check(
        a,
        "{ a = Exp (x) b = LeakyRelu (a) c = Log (b) y = Sub (c, a) }",
        &["changed node | LeakyRelu(a) -> b | attribute alpha: 0.5 -> 0.01 (default)"],
    );
    check(
        a,
        "{ a = Exp (x) b = LeakyRelu <alpha = 0.5> (a) c = Log (b) y = Sub (a, c) }",
        &["changed node | Sub(a, c) -> y | operand 0: c -> a; operand 1: a -> c"],
    );
    check(a, "{ a = Exp (x) c = Log (a) y = Sub (c, a) }", &["removed node | LeakyRelu(a) -> b"]);
    check(
        a,
        "{ a = Exp (x) b = LeakyRelu <alpha = 0.5> (a) c = Log (b) d = Abs (c) e = Neg (d) y = Sub (e, a) }",
        &["added node | Abs(c) -> d", "added node | Neg(d) -> e"],
    );
    check(
        a,
        "{ a = Exp (x) b = LeakyRelu <alpha = 0.5> (a) c = Sin (b) y = Sub (c, a) }",
        &["changed node | Sin(b) -> c | operator: Log -> Sin"],
    );
    check(
        a,
        "{ a = Exp (x) b = LeakyRelu <alpha = 0.5> (a) c = Log (b) y = Sub (c, x) }",
        &["changed node | Sub(c, x) -> y | operand 1: a -> x"],
    );
    // The output is made by another node, after which nothing uses the last one.
    check("{ a = Exp (x) y = Log (a) }", "{ y = Exp (x) }", &["removed node | Log(a) -> y"]);
    // Elements are exchanged, which only names tell from exchanged operands.
    check(
        "<float[2] v = {1, 2}, float[2] w = {3, 4}> { a = Mul (x, v) y = Sub (a, w) }",
        "<float[2] v = {3, 4}, float[2] w = {1, 2}> { a = Mul (x, v) y = Sub (a, w) }",
        &["changed initializer | float[2] v | elements", "changed initializer | float[2] w | elements"],
    );
    // Nodes without users look alike, and an edit before them changes what they compute.
    check(
        "{ a = Elu <alpha = 0.5> (x) b = Exp (a) c = Exp (b) d = Exp (b) e = Exp (x) y = Neg (b) }",
        "{ a = Elu <alpha = 2.0> (x) b = Exp (a) c = Exp (b) d = Exp (b) e = Sin (x) y = Neg (b) }",
        &[
            "changed node | Elu(x) -> a | attribute alpha: 0.5 -> 2.0",
            "changed node | Sin(x) -> e | operator: Exp -> Sin",
        ],
    );
    // Two edits, with nodes between them that neither inputs nor outputs tell.
    check(
        "{ a = Elu <alpha = 0.5> (x) b = Exp (a) c = Log (b) d = Abs (c) y = Elu <alpha = 2.0> (d) }",
        "{ a = Elu <alpha = 0.25> (x) b = Exp (a) c = Log (b) d = Abs (c) y = Elu <alpha = 3.0> (d) }",
        &[
            "changed node | Elu(x) -> a | attribute alpha: 0.5 -> 0.25",
            "changed node | Elu(d) -> y | attribute alpha: 2.0 -> 3.0",
        ],
    );
}

#[test]
fn weights_are_compared() {
    let a = "<float[3] w = {1, 2, 3}> { a = Mul (x, w) y = Exp (a) }";
    let found = |b: &str, options: &DiffOptions<'_>| diff(&main_graph(a), &main_graph(b), options).unwrap();
    let b = "<float[3] v = {1, 2, 3.5}> { a = Mul (x, v) y = Exp (a) }";
    let exact = found(b, &DiffOptions::default());
    assert_eq!(lines(&exact), ["changed initializer | float[3] v | elements"]);
    let difference = exact.changes[0].aspects[0].difference.as_ref().unwrap();
    assert_eq!((difference.differing, difference.max_abs), (1, 0.5));
    assert_eq!(difference.first.as_ref().unwrap().index, [2]);
    let tolerant = DiffOptions::default().with_tolerances(Tolerances::default().with_atol(Some(0.5)));
    let within = found(b, &tolerant);
    assert_eq!((within.is_empty(), within.is_same_model(), within.within_tolerance), (true, false, 1));
    assert!(found(b, &DiffOptions::default().with_weights(false)).is_same_model());
    // The sign of zero is a bit, although the numbers are equal.
    let zero = |text: &str| main_graph(&format!("<float[1] w = {{{text}}}> {{ y = Mul (x, w) }}"));
    let found = diff(&zero("0"), &zero("-0.0"), &DiffOptions::default()).unwrap();
    assert_eq!(lines(&found), ["changed initializer | float[1] w | elements"]);
}

#[test]
fn what_cannot_be_read_is_said() {
    let a = main_graph("<float[3] w = {1, 2, 3}> { y = Mul (x, w) }");
    let mut b = a.clone();
    b.replace_tensors(|_, _| Tensor::external(ElemType::Float, [3], ExternalData::new("gone")).ok());
    let found = diff(&a, &b, &DiffOptions::default()).unwrap();
    assert!(found.is_empty());
    assert_eq!(found.unread.len(), 1);
    assert!(found.unread[0].1.contains("gone"), "{:?}", found.unread);
    let cancelled = Interrupt::new();
    cancelled.cancel();
    let options = DiffOptions::default().with_execution(Execution::default().with_interrupt(cancelled));
    assert!(diff(&a, &b, &options).is_err());
    assert!(NoData == NoData);
}

#[test]
fn functions_nested_graphs_and_notes_are_compared() {
    let of = |body: &str, branch: &str, doc: &str| {
        parse(&format!(
            "<ir_version: 10, opset_import: [\"\": 21, \"d\": 1], producer_name: \"{doc}\">
            g (bool c, float[2] x) => (float[2] y) {{
               a = d.F (x)
               y = If (c) <then_branch = t () => (float[2] p) {{ p = {branch} (a) }},
                           else_branch = e () => (float[2] q) {{ q = Abs (a) }}>
            }}
            <opset_import: [\"\": 21], domain: \"d\"> F (u) => (v) {{ w = Exp (u) v = {body} (w) }}"
        ))
    };
    let a = of("Log", "Neg", "one");
    let found = |b: &Model| lines(&diff(&a, b, &DiffOptions::default()).unwrap());
    assert_eq!(found(&of("Sin", "Neg", "one")), ["changed node | Sin(w) -> v | operator: Log -> Sin"]);
    assert_eq!(found(&of("Log", "Sin", "one")), ["changed node | Sin(a) -> p | operator: Neg -> Sin"]);
    let noted = diff(&a, &of("Log", "Neg", "two"), &DiffOptions::default()).unwrap();
    assert_eq!(lines(&noted), ["changed model | header producer_name: one -> two"]);
    assert!(noted.is_same_model() && !noted.is_empty());
    let change = &diff(&a, &of("Sin", "Neg", "one"), &DiffOptions::default()).unwrap().changes[0];
    assert_eq!(change.before.as_ref().unwrap().to_string(), "function \"F\" of domain \"d\" / node #1 Log");
}

#[test]
fn nodes_are_not_paired_across_graphs_when_their_own_graph_has_a_partner_for_them() {
    let model = |before: &str, of: &str| {
        main_graph(&format!(
            "{{ {before} \
               y = If (c) <then_branch = t () => (float[2] u) {{ k = Constant <value_float = 2.0> () u = Div ({of}, k) }}, \
                           else_branch = e () => (float[2] w) {{ w = Exp ({of}) }}> }}"
        ))
    };
    let (a, b) = (model("c = IsInf (x) d = Div (x, x)", "d"), model("c = IsInf (x)", "x"));
    let found = diff(&a, &b, &DiffOptions::default()).unwrap();
    let first: Vec<_> = lines(&found).into_iter().filter(|line| line.contains("Div")).collect();
    assert_eq!(first, ["removed node | Div(x, x) -> d"]);
}

#[test]
fn a_node_that_reads_nothing_and_is_not_used_is_changed_and_not_replaced() {
    let model = |node: &str| main_graph(&format!("{{ {node} y = Exp (x) }}"));
    let change =
        |one: &str, two: &str| lines(&diff(&model(one), &model(two), &DiffOptions::default()).unwrap());
    let random = "r = RandomNormal <shape = [2]> ()";
    assert_eq!(
        change(random, "r = RandomNormal <shape = [3]> ()"),
        ["changed node | RandomNormal() -> r | attribute shape: [2] -> [3]"]
    );
    assert_eq!(
        change(random, "r = RandomUniform <shape = [2]> ()"),
        ["changed node | RandomUniform() -> r | operator: RandomNormal -> RandomUniform"]
    );
    assert_eq!(
        change(random, "r = Exp (x)"),
        ["removed node | RandomNormal() -> r", "added node | Exp(x) -> r"]
    );
}
