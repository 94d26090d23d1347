//! The cost of inlining is known before anything is copied.

use std::fmt::Write as _;

use onnx_functions::{InlineError, InlineOptions, inline, inline_all};
use onnx_ir::Model;
use onnx_types::{Execution, Interrupt, Limits};

use crate::parse;

/// Functions of which each calls the one before it twice.
fn doubling(levels: usize) -> Model {
    let mut text = format!(
        "<ir_version: 10, opset_import: [\"\": 20, \"d\": 1]>\n\
         g (float[N] x) => (float[N] y) {{ y = d.f{levels} (x) }}\n\
         <domain: \"d\", opset_import: [\"\": 20]> f0 (x) => (y) {{ y = Neg (x) }}\n"
    );
    for level in 1..=levels {
        let below = level - 1;
        let _ = writeln!(
            text,
            "<domain: \"d\", opset_import: [\"\": 20, \"d\": 1]> f{level} (x) => (y) {{ t = d.f{below} (x) y = d.f{below} (t) }}"
        );
    }
    parse(&text)
}

#[track_caller]
fn refused(mut model: Model, limits: &Limits) -> String {
    let (nodes, values) = (model.node_count(), model.value_count());
    let error = inline_all(&mut model, &InlineOptions::default().with_execution(*limits)).unwrap_err();
    assert_eq!((model.node_count(), model.value_count()), (nodes, values));
    model.verify_sorted().unwrap();
    error.to_string()
}

#[test]
fn doubling_functions_are_refused_with_the_number_of_nodes() {
    // f0 is 1 node, and each level is 2 calls and twice the level below: 3 * 2^n - 2.
    let expected = |levels: u32, extra: u64| (3_u64 << levels) - 2 + extra;
    assert_eq!(
        refused(doubling(40), &Limits::default()),
        format!("inlining can take {} nodes at a time; the limit `nodes` is 10000000", expected(40, 82))
    );
    assert_eq!(
        refused(doubling(63), &Limits::default()),
        format!("inlining can take at least {} nodes at a time; the limit `nodes` is 10000000", u64::MAX)
    );
    let mut model = doubling(10);
    let done = inline_all(&mut model, &InlineOptions::default()).unwrap();
    assert_eq!((model.node_count(), done.inlined(), done.removed_functions), (1024, 2047, 11));
    model.verify_sorted().unwrap();
}

#[test]
fn graphs_of_calls_double_too() {
    // Each level uses the graph that it is given twice, in the graph that it passes on.
    let mut text = "<ir_version: 10, opset_import: [\"\": 20, \"d\": 1]>\n\
         g (bool c, float[N] x) => (float[N] y) { y = d.f40 <b = t () => (p) { p = Neg (x) }> (c) }\n\
         <domain: \"d\", opset_import: [\"\": 20]> f0 <b> (c) => (y) { y = If (c) <then_branch: graph = @b, else_branch: graph = @b> }\n"
        .to_owned();
    for level in 1..=40 {
        let below = level - 1;
        let _ = writeln!(
            text,
            "<domain: \"d\", opset_import: [\"\": 20, \"d\": 1]> f{level} <b> (c) => (y) {{ \
             y = d.f{below} <b: graph = h () => (q) {{ q = If (c) <then_branch: graph = @b, else_branch: graph = @b> }}> (c) }}"
        );
    }
    let reason = refused(parse(&text), &Limits::default());
    let needed: u64 = reason.split(' ').nth(3).and_then(|word| word.parse().ok()).unwrap();
    assert!(needed > 1 << 40, "{reason}");
}

#[test]
fn wide_nodes_count() {
    let operands = vec!["x"; 1000].join(", ");
    let calls: String = (0..1000).map(|index| format!("y{index} = d.f (x)\n")).collect();
    let text = format!(
        "<ir_version: 10, opset_import: [\"\": 20, \"d\": 1]>\ng (float[N] x) => (float[N] y0) {{ {calls} }}\n\
         <domain: \"d\", opset_import: [\"\": 20]> f (x) => (y) {{ y = Sum ({operands}) }}"
    );
    let limits = Limits { values: 10_000, ..Limits::default() };
    assert_eq!(
        refused(parse(&text), &limits),
        "inlining can take 250751 values at a time; the limit `values` is 10000"
    );
}

#[test]
fn recursion_of_every_form_is_refused() {
    let check = |functions: &str, expected: &str| {
        let text = format!(
            "<ir_version: 10, opset_import: [\"\": 20, \"d\": 1]>\ng (bool c, float[N] x) => (float[N] y) {{ y = d.f (c, x) }}\n{functions}"
        );
        let functions = text.replace("FN", "<domain: \"d\", opset_import: [\"\": 20, \"d\": 1]>");
        assert_eq!(refused(parse(&functions), &Limits::default()), expected);
    };
    check("FN f (c, x) => (y) { y = d.f (c, x) }", "functions form a cycle of length 1: `d.f`");
    check(
        "FN f (c, x) => (y) { y = d.h (c, x) } FN h (c, x) => (y) { y = d.f (c, x) }",
        "functions form a cycle of length 2: `d.f` -> `d.h`",
    );
    check(
        "FN f (c, x) => (y) { y = If (c) <then_branch = t () => (p) { p = d.f (c, x) }, else_branch = e () => (q) { q = Neg (x) }> }",
        "functions form a cycle of length 1: `d.f`",
    );
    check(
        "FN f (c, x) => (y) { y = d.f:a (c, x) } <domain: \"d\", overload: \"a\", opset_import: [\"\": 20, \"d\": 1]> f (c, x) => (y) { y = d.f (c, x) }",
        "functions form a cycle of length 2: `d.f` -> `d.f:a`",
    );
}

#[test]
fn calls_that_are_not_selected_may_be_recursive() {
    let mut model = parse(
        r#"<ir_version: 10, opset_import: ["": 20, "d": 1]>
        g (float[N] x) => (float[N] y) { a = d.h (x) y = d.f (a) }
        <domain: "d", opset_import: ["": 20, "d": 1]> f (x) => (y) { y = d.f (x) }
        <domain: "d", opset_import: ["": 20]> h (x) => (y) { y = Neg (x) }"#,
    );
    let done = inline(&mut model, &InlineOptions::default(), |model, _, function| {
        model.str(model.function(function).name()) == "h"
    });
    assert_eq!(done.unwrap().inlined(), 1);
    model.verify_sorted().unwrap();
}

#[test]
fn interrupted_work_leaves_a_model_in_order() {
    let mut model = doubling(8);
    let interrupt = Interrupt::new();
    interrupt.cancel();
    let options = InlineOptions::default().with_execution(Execution::default().with_interrupt(interrupt));
    let error = inline_all(&mut model, &options).unwrap_err();
    assert!(matches!(error, InlineError::Stopped(_)), "{error}");
    model.verify_sorted().unwrap();
    assert_eq!(crate::errors(&model), Vec::<String>::new());
}

#[test]
fn deep_chains_of_calls_take_no_stack() {
    let depth = 3000;
    let mut text = format!(
        "<ir_version: 10, opset_import: [\"\": 20, \"d\": 1]>\ng (float[N] x) => (float[N] y) {{ y = d.f{depth} (x) }}\n\
         <domain: \"d\", opset_import: [\"\": 20]> f0 (x) => (y) {{ y = Neg (x) }}\n"
    );
    for level in 1..=depth {
        let below = level - 1;
        let _ = writeln!(
            text,
            "<domain: \"d\", opset_import: [\"\": 20, \"d\": 1]> f{level} (x) => (y) {{ t = d.f{below} (x) y = Abs (t) }}"
        );
    }
    let mut model = parse(&text);
    let done = inline_all(&mut model, &InlineOptions::default()).unwrap();
    assert_eq!((done.inlined(), model.node_count(), model.functions().len()), (depth + 1, depth + 1, 0));
    model.verify_sorted().unwrap();
    // Paths of deep calls do not grow without end.
    let names = model.definitions(model.main_graph()).map(|value| model.str(model.value(value).name()).len());
    let longest = names.max().unwrap();
    assert!(longest < 300, "{longest}");
}

/// Sizes and cycles are known without expansion: in less than a second even in a debug build on a busy machine, where expansion
/// would not end.
#[test]
fn a_million_calls_are_counted_before_they_are_made() {
    let calls: String = (0..1000).map(|index| format!("y{index} = d.thousand (x)\n")).collect();
    let bodies: String = (0..1000).map(|index| format!("t{index} = d.wide (x)\n")).collect();
    let text = format!(
        "<ir_version: 10, opset_import: [\"\": 20, \"d\": 1]>\ng (float[N] x) => (float[N] y0) {{ {calls} }}\n\
         <domain: \"d\", opset_import: [\"\": 20, \"d\": 1]> thousand (x) => (t0) {{ {bodies} }}\n\
         <domain: \"d\", opset_import: [\"\": 20]> wide (x) => (y) {{ a = Neg (x) b = Neg (a) c = Neg (b) d = Neg (c) e = Neg (d) f = Neg (e) h = Neg (f) i = Neg (h) j = Neg (i) y = Neg (j) }}"
    );
    // A million calls of ten nodes each, the calls in the bodies, and the nodes that are there.
    assert_eq!(
        refused(parse(&text), &Limits::default()),
        format!(
            "inlining can take {} nodes at a time; the limit `nodes` is 10000000",
            10_000_000 + 1_000_000 + 2010
        )
    );
}
