//! Repeated blocks become functions.

use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use onnx_functions::{
    InlineOptions, OutlineError, OutlineOptions, inline_all, outline_repeated, repeated_blocks,
};
use onnx_ir::{Model, set_metadata};
use onnx_types::{Execution, Interrupt};

use crate::{errors, maker, nodes, parse};

/// The text of a model with a graph.
fn model(body: &str) -> Model {
    parse(&format!("<ir_version: 10, opset_import: [\"\": 20]>\ng (float[2] x) => (float[2] y) {{ {body} }}"))
}

/// Outlines, and returns for each function the number of calls and of nodes. Checks that inlining gives the same nodes back, up to
/// names and order.
#[track_caller]
fn outlined(model: &Model, min_nodes: usize) -> Vec<(usize, usize)> {
    let mut model = model.clone();
    let before = shape(&model);
    let graph = model.main_graph();
    let options = OutlineOptions::default().with_min_nodes(min_nodes);
    let blocks = outline_repeated(&mut model, graph, &options).unwrap();
    model.verify_sorted().unwrap();
    assert_eq!(errors(&model), Vec::<String>::new(), "{:?}", nodes(&model));
    let mut names = std::collections::HashSet::new();
    let named = model.nodes(graph).map(|node| model.node(node).name()).filter(|name| !name.is_empty());
    named.for_each(|name| assert!(names.insert(name), "two nodes are named `{}`", model.str(name)));
    let found = blocks.iter().map(|block| (block.calls.len(), block.nodes)).collect();
    inline_all(&mut model, &InlineOptions::default()).unwrap();
    model.verify_sorted().unwrap();
    assert_eq!(shape(&model), before);
    found
}

/// The expression of each output of the main graph, without names of inner values.
fn shape(model: &Model) -> Vec<String> {
    let mut texts = slotmap::SecondaryMap::new();
    let graph = model.main_graph();
    let mut order = model.clone();
    order.sort(graph).unwrap();
    for node in order.nodes(graph) {
        let record = order.node(node);
        let inputs = record.inputs().flatten().map(|value| match texts.get(value) {
            Some(text) => String::clone(text),
            None => order.str(order.value(value).name()).to_owned(),
        });
        // Texts of long chains would double at each node, so they are hashed.
        let inputs = inputs.collect::<Vec<_>>().join(",");
        let mut hasher = std::hash::DefaultHasher::new();
        std::hash::Hash::hash(&format!("{}({inputs})", order.str(record.op())), &mut hasher);
        for (index, &output) in record.outputs().iter().enumerate() {
            let text = format!("{:x}:{index}", std::hash::Hasher::finish(&hasher));
            texts.extend(output.map(|output| (output, text)));
        }
    }
    let outputs = order.graph(graph).outputs().iter();
    outputs.map(|output| texts.get(output.value()).cloned().unwrap_or_default()).collect()
}

fn layers(count: usize) -> String {
    let mut body = String::from("h0 = Exp (x)\n");
    for layer in 0..count {
        let next = layer + 1;
        let _ = writeln!(
            body,
            "q{layer} = Neg (h{layer}) k{layer} = Neg (h{layer}) a{layer} = Mul (q{layer}, k{layer}) s{layer} = Softmax (a{layer}) h{next} = Add (h{layer}, s{layer})"
        );
    }
    let _ = writeln!(body, "y = Log (h{count})");
    body
}

#[test]
fn layers_are_found_with_their_boundaries() {
    for count in [2, 3, 12, 50] {
        assert_eq!(outlined(&model(&layers(count)), 4), [(count, 5)], "{count}");
    }
    // A single layer is not repeated.
    assert_eq!(outlined(&model(&layers(1)), 4), []);
    assert_eq!(outlined(&model(&layers(12)), 6), []);
}

#[test]
fn values_that_occurrences_share_are_operands() {
    let mut body = String::from("m = Exp (x)\n");
    for branch in 0..4 {
        let _ = writeln!(
            body,
            "a{branch} = Mul (x, m) b{branch} = Abs (a{branch}) c{branch} = Mul (b{branch}, m) d{branch} = Tanh (c{branch})"
        );
    }
    body.push_str("y = Sum (d0, d1, d2, d3)");
    let mut model = model(&body);
    assert_eq!(outlined(&model, 4), [(4, 4)]);
    let graph = model.main_graph();
    outline_repeated(&mut model, graph, &OutlineOptions::default()).unwrap();
    assert_eq!(
        nodes(&model)[1..],
        [
            "d0 = outlined.Block (x, m)",
            "d1 = outlined.Block (x, m)",
            "d2 = outlined.Block (x, m)",
            "d3 = outlined.Block (x, m)",
            "y = Sum (d0, d1, d2, d3)"
        ]
    );
}

#[test]
fn operands_that_differ_in_some_occurrence_are_separate_inputs() {
    // The first block uses one value twice, the second one two values.
    let mut model = model(
        "p = Exp (x)
        a0 = Mul (x, x) b0 = Tanh (a0) c0 = Abs (b0) d0 = Sin (c0)
        a1 = Mul (x, p) b1 = Tanh (a1) c1 = Abs (b1) d1 = Sin (c1)
        y = Add (d0, d1)",
    );
    assert_eq!(outlined(&model, 4), [(2, 4)]);
    let graph = model.main_graph();
    outline_repeated(&mut model, graph, &OutlineOptions::default()).unwrap();
    assert_eq!(nodes(&model)[1..3], ["d0 = outlined.Block (x, x)", "d1 = outlined.Block (x, p)"]);
}

#[test]
fn results_that_only_some_occurrences_need_are_omitted_in_the_others() {
    let mut model = model(
        "a0 = Neg (x) b0 = Tanh (a0) c0 = Abs (b0) d0 = Sin (c0)
        a1 = Neg (d0) b1 = Tanh (a1) c1 = Abs (b1) d1 = Sin (c1)
        y = Add (d1, b1)",
    );
    assert_eq!(outlined(&model, 4), [(2, 4)]);
    let graph = model.main_graph();
    outline_repeated(&mut model, graph, &OutlineOptions::default()).unwrap();
    assert_eq!(nodes(&model)[..2], [", d0 = outlined.Block (x)", "b1, d1 = outlined.Block (d0)"]);
}

#[test]
fn occurrences_are_convex() {
    // What lies between two equal halves depends on the first and is needed by the second, and differs.
    let mut body = String::from("h0 = Exp (x)\n");
    for (layer, between) in ["Sqrt", "Sign", "Floor", "Ceil"].into_iter().enumerate() {
        let next = layer + 1;
        let _ = writeln!(
            body,
            "a{layer} = Neg (h{layer}) b{layer} = Tanh (a{layer}) c{layer} = Abs (b{layer}) d{layer} = Sin (c{layer})
            z{layer} = {between} (b{layer})
            e{layer} = Mul (d{layer}, z{layer}) f{layer} = Cos (e{layer}) k{layer} = Exp (f{layer}) h{next} = Tanh (k{layer})"
        );
    }
    body.push_str("y = Log (h4)");
    let found = outlined(&model(&body), 2);
    assert!(found.iter().map(|(calls, nodes)| calls * nodes).sum::<usize>() >= 4 * 6, "{found:?}");
    // Two sets that are convex, but of which each depends on the other one.
    let crossed = "a0 = Neg (x) b0 = Tanh (x)
        a1 = Neg (b0) b1 = Tanh (a0)
        c0 = Sin (a1) d0 = Cos (b1) y = Add (c0, d0)";
    outlined(&model(crossed), 2);
}

#[test]
fn nodes_may_be_in_any_order() {
    // All first nodes of the layers that do not depend on others come first.
    let mut body = String::new();
    for branch in 0..3 {
        let _ = writeln!(body, "a{branch} = Neg (x)");
    }
    for branch in (0..3).rev() {
        let _ = writeln!(
            body,
            "b{branch} = Tanh (a{branch}) c{branch} = Abs (b{branch}) d{branch} = Sin (c{branch})"
        );
    }
    body.push_str("y = Sum (d0, d1, d2)");
    assert_eq!(outlined(&model(&body), 4), [(3, 4)]);
}

#[test]
fn nodes_with_graphs_and_annotated_values_stay() {
    let mut model = model(&layers(3));
    let graph = model.main_graph();
    let value = model.find_value(graph, "s1").unwrap();
    let annotation = onnx_ir::QuantAnnotation::new(onnx_ir::ValueRef::Value(value), Vec::new());
    model.graph_mut(graph).quantization.push(annotation);
    outline_repeated(&mut model, graph, &OutlineOptions::default().with_min_nodes(2)).unwrap();
    assert!(nodes(&model).iter().any(|line| line.starts_with("s1 = Softmax")), "{:?}", nodes(&model));
    model.verify_sorted().unwrap();
}

#[test]
fn what_does_not_allow_it_is_refused() {
    let mut model = model(&layers(3));
    let graph = model.main_graph();
    let mut refused = |options: &OutlineOptions<'_>| {
        let before = nodes(&model);
        let error = outline_repeated(&mut model, graph, options).unwrap_err().to_string();
        assert_eq!((nodes(&model), model.functions().len()), (before, 0));
        error
    };
    for domain in ["", "ai.onnx", "ai.onnx.ml"] {
        let options = OutlineOptions::default().with_domain(domain);
        assert_eq!(refused(&options), "the functions need a domain that has no operators");
    }
    let interrupt = Interrupt::new();
    interrupt.cancel();
    let execution = Execution::default().with_interrupt(interrupt);
    refused(&OutlineOptions::default().with_execution(execution));
}

/// The search looks for an interrupt in each of its parts, so that it ends soon wherever it is.
#[test]
fn interrupts_end_the_search_anywhere() {
    let nodes = 4096;
    let ops = ["Tanh", "Neg", "Exp"];
    let mut body = String::from("c0 = Neg (x)\n");
    for index in 0..nodes {
        let _ = writeln!(body, "c{} = {} (c{index})", index + 1, ops[index % 3]);
    }
    let model = model(&format!("{body} y = Abs (c{nodes})"));
    let graph = model.main_graph();
    let search = |number: usize| {
        let asked = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&asked);
        let interrupt = Interrupt::when(move || counted.fetch_add(1, Ordering::Relaxed) == number);
        let execution = Execution::default().with_interrupt(interrupt);
        let found = repeated_blocks(&model, graph, &OutlineOptions::default().with_execution(execution));
        (found, asked.load(Ordering::Relaxed))
    };
    let (found, checks) = search(usize::MAX);
    assert!(found.is_ok());
    assert!(checks > 8 * nodes / 1024, "{checks} checks");
    for number in (0..checks).step_by(checks.div_ceil(16)) {
        let ended = search(number).0;
        assert!(matches!(ended, Err(OutlineError::Stopped(_))), "check {number} of {checks}");
    }
}

/// Many equal nodes in every arrangement take time that is not quadratic.
#[test]
fn large_graphs_are_outlined() {
    let wide: String =
        (0..4000).map(|index| format!("a{index} = Neg (x) b{index} = Tanh (a{index})\n")).collect();
    let found = outlined(&model(&format!("{wide} y = Exp (x)")), 2);
    assert_eq!(found, [], "results that nothing uses do not become calls");
    let mut chain = String::from("c0 = Neg (x)\n");
    for index in 0..4000 {
        let op = if index % 2 == 0 { "Tanh" } else { "Neg" };
        let _ = writeln!(chain, "c{} = {op} (c{index})", index + 1);
    }
    chain.push_str("y = Exp (c4000)");
    let found = outlined(&model(&chain), 2);
    assert!(!found.is_empty());
}

#[test]
fn documentation_and_metadata_that_all_occurrences_have_is_kept() {
    let mut model = parse(
        r#"<ir_version: 10, opset_import: ["": 20]> g (float[N] x) => (float[N] y) {
            a = Neg (x) b = Abs (a) c = Exp (b) d = Log (c)
            e = Neg (d) f = Abs (e) h = Exp (f) y = Log (h)
        }"#,
    );
    let [kind, layer, same, other] = ["kind", "layer", "same", "other"].map(|name| model.intern(name));
    for (name, number) in [("b", "0"), ("f", "1")] {
        let node = maker(&model, name);
        let value = model.node(node).output(0).unwrap();
        let mut extras = model.node_extras_mut(node);
        extras.doc = same;
        set_metadata(&mut extras.metadata, kind, "attention");
        set_metadata(&mut extras.metadata, layer, number);
        drop(extras);
        model.value_extras_mut(value).doc = if number == "0" { same } else { other };
    }
    let main = model.main_graph();
    let blocks = outline_repeated(&mut model, main, &OutlineOptions::default()).unwrap();
    assert_eq!(blocks.len(), 1);
    let body = model.function(blocks[0].function).body();
    let node = model.nodes(body).find(|&node| model.str(model.node(node).op()) == "Abs").unwrap();
    let record = model.node(node);
    assert_eq!(model.str(record.doc()), "same");
    let entries: Vec<&str> = record.metadata().iter().map(|entry| model.str(entry.key())).collect();
    assert_eq!(entries, ["kind"]);
    let value = model.value(record.output(0).unwrap());
    assert!(value.extras().is_none_or(|extras| extras.doc.is_empty()));
}

#[test]
fn calls_have_names_of_their_own() {
    let block = |input: &str, number: usize, output: &str| {
        format!(
            "[\"/m/a{number}\"] a{number} = Neg ({input})\n[\"/m/b{number}\"] b{number} = Exp (a{number})\n\
             [\"/m/c{number}\"] {output} = Tanh (b{number})\n"
        )
    };
    let text = format!(
        "{}[\"/m\"] e = Sigmoid (d0)\n{}[\"/m_1\"] f = Sigmoid (d1)\n{}",
        block("x", 0, "d0"),
        block("e", 1, "d1"),
        block("f", 2, "y")
    );
    assert_eq!(outlined(&model(&text), 3), [(3, 3)]);
}
