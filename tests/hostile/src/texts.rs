//! Texts that attack a parser, or the stages after it.

use std::fmt::Write as _;

use super::Case;

/// All cases.
#[must_use]
pub fn cases() -> Vec<Case> {
    let mut cases = deep();
    cases.extend(long());
    cases.extend(functions());
    cases.extend(expressions());
    cases
}

/// What a graph looks like around this list of nodes.
fn graph(nodes: &str) -> String {
    format!(
        "<ir_version: 10, opset_import: [\"\": 18]>\ng (float[N] x, bool c) => (float[] z) {{\n{nodes}\n}}\n"
    )
}

/// Brackets in brackets, of which the parser follows 64.
fn deep() -> Vec<Case> {
    let mut cases = Vec::new();
    for levels in [100, 20_000] {
        for (name, before, open, error) in [
            ("seq", "g (", "seq(", "nested more than 64 levels deep"),
            ("map", "g (", "map(int64, ", "nested more than 64 levels deep"),
            ("optional", "y = Op <a = ", "optional(", "expected"),
            ("graph", "g () => () {", "y = A <b = g () => () {", "nested more than 64 levels deep"),
            ("list", "g () => () { y = Op <a = ", "[", "expected"),
            ("paren", "g (", "(", "expected"),
            ("angle", "g () => () {", "a <", "expected"),
            ("string", "g () => () {", "[\"", "expected"),
        ] {
            let text = format!("{before}{}", open.repeat(levels));
            cases.push(Case::refused_text(format!("text-{name}{levels}"), text, error));
        }
    }
    let (open, close) = ("y = A () <b = g () => () {".repeat(63), "}>".repeat(63));
    // Without an IR version, the file is older than imports and uses version 1 of the operators of ONNX.
    cases.push(Case::text("text-graph63", format!("g () => () {{{open}{close}}}"), &[]));
    cases
}

/// Words and lists that are long, and errors without end.
fn long() -> Vec<Case> {
    let numbers = "9,".repeat(100_000);
    let name = "n".repeat(1 << 20);
    let errors = "y = = (x)\n".repeat(50_000);
    vec![
        Case::text("text-long-name", graph(&format!("{name} = Relu (x)\nz = Relu ({name})")), &[]),
        Case::text("text-long-list", graph(&format!("z = Op <a = [{numbers}9]> (x)")), &[]),
        Case::refused_text("text-digits", graph(&format!("z = Op <a = {}> (x)", "9".repeat(100_000))), "64"),
        Case::refused_text("text-floods-errors", graph(&errors), "expected"),
        Case::refused_text("text-not-closed", "g (x) => (y) { y = Op <a = \"", "string"),
        Case::refused_text("text-empty", "", "expected"),
        Case::refused_text("text-nul", vec![0; 100_000], "expected"),
        Case::refused_text("text-not-utf8", vec![0xff; 100_000], "expected"),
    ]
}

/// Calls that double or go round, which inference remembers or refuses.
fn functions() -> Vec<Case> {
    let mut cases = Vec::new();
    for depth in [10, 26, 63, 200] {
        cases.push(Case::text(
            format!("infer-fn{depth}"),
            tower(depth, |next| format!("a = f.f{next} (x) y = f.f{next} (a)")),
            &[],
        ));
        let both = |next| {
            format!(
                "s = Shape (x) y = If <then_branch = t () => (p) {{ p = f.f{next} (x) }}, \
                 else_branch = e () => (q) {{ q = f.f{next} (x) }}> (s)"
            )
        };
        cases.push(Case::text(format!("infer-fn-if{depth}"), tower(depth, both), &[]));
    }
    cases.push(Case::text(
        "infer-fn-cycle",
        tower(0, |_| String::new()).replace("y = Relu (x) }", "y = f.f0 (x) }"),
        &["recursive-call"],
    ));
    for depth in [5, 26, 50] {
        let (mut open, mut close) = (String::new(), String::new());
        for level in 0..depth {
            let _ = write!(open, "v{level} = If (c) <then_branch = t{level} () => (v{}) {{ ", level + 1);
            close = format!(" }}, else_branch = e{level} () => (w{level}) {{ w{level} = Neg (x) }}> {close}");
        }
        let nodes = format!("{open} v{depth} = Relu (x) {close} z = Relu (v0)");
        cases.push(Case::text(format!("nested-if{depth}"), graph(&nodes), &[]));
    }
    cases
}

/// A model that calls the first of `depth + 1` functions, of which each says what it does with the next.
fn tower(depth: usize, body: impl Fn(usize) -> String) -> String {
    let mut text = String::from(
        "<ir_version: 10, opset_import: [\"\": 18, \"f\": 1]>\n\
         g (float[N] x) => (float[] z) { y = f.f0 (x) z = Relu (y) }\n",
    );
    for number in 0..=depth {
        let body = if number == depth { "y = Relu (x)".to_owned() } else { body(number + 1) };
        let _ = writeln!(
            text,
            "<domain: \"f\", opset_import: [\"\": 18, \"f\": 1]> f{number} (x) => (y) {{ {body} }}"
        );
    }
    text
}

/// Sizes that are expressions, with more and more terms, factors and levels.
fn expressions() -> Vec<Case> {
    let chain = |op: &str, count: usize| {
        let mut nodes = String::from("s0 = Shape (x)\n");
        for index in 0..count {
            let _ = writeln!(nodes, "s{} = {op} (s{index}, s{})", index + 1, index / 2);
        }
        let _ = writeln!(nodes, "z = Expand (x, s{count})");
        graph(&nodes)
    };
    let mut cases = Vec::new();
    for op in ["Add", "Mul", "Sub", "Div", "Max", "Min"] {
        cases.push(Case::text(format!("solver-{op}"), chain(op, 300), &[]));
    }
    let mut concat = String::new();
    for index in 0..300 {
        let _ = writeln!(concat, "a{} = Concat <axis = 0> (a{index}, a{})", index + 1, index / 3);
    }
    let nodes = format!("a0 = Relu (x)\n{concat}z = Relu (a300)");
    cases.push(Case::text("solver-Concat", graph(&nodes), &[]));
    let names: Vec<String> = (0..3000).map(|index| format!("float[N{index}] x{index}")).collect();
    let uses: Vec<String> = (0..3000).map(|index| format!("x{index}")).collect();
    let text = format!(
        "<ir_version: 10, opset_import: [\"\": 18]>\ng ({}) => (float[] z) {{ z = Concat <axis = 0> ({}) }}",
        names.join(", "),
        uses.join(", ")
    );
    cases.push(Case::text("solver-3000-symbols", text, &[]));
    let deep = format!(
        "<ir_version: 10, opset_import: [\"\": 18]>\ng (float[\"{}N{}\"] x) => (float[] z) {{ z = Relu (x) }}",
        "(".repeat(2000),
        ")".repeat(2000)
    );
    cases.push(Case::text("dim-text-deep", deep, &[]));
    // Products of sums of eight sizes, for each of 256 elements.
    let products = |last: &str| {
        format!(
            "<ir_version: 10, opset_import: [\"\": 18]>\n\
             g (float[a, b, c, d, e, f, h, i] x) => (int64[] z) {{ s = Shape (x) t = ReduceSum (s) r = Add (s, t) \
             m = Mul (r, r) n = Constant <value = int64[1] {{32}}> () w = Tile (m, n) {last} }}"
        )
    };
    cases.push(Case::text("expression-steps", products("z = Mul (w, w)"), &["inference-limit-reached"]));
    let many: String = (0..1000).map(|index| format!("z{index} = Mul (w, w)\n")).collect();
    // Once no steps are left, a node of 18 bytes still visits its 256 elements, 14 for each byte.
    let many = Case::text("expression-steps-of-1000-nodes", products(&many), &["inference-limit-reached"]);
    cases.push(many.steps(2000));
    cases
}
