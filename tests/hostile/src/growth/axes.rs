//! The axes along which models grow: for each, a text model with `n` entities of one kind.

use std::fmt::Write as _;

/// A model of some size.
pub(super) type Make = fn(usize) -> String;

/// All axes.
pub(super) const AXES: [(&str, Make); 34] = [
    ("nodes", |n| chain(n, |_, x| format!("Tanh ({x})"))),
    ("equal nodes", |n| fan(n, |_| "Relu (x)".into())),
    ("uses of a value", |n| fan(n, |i| format!("LeakyRelu <alpha = {i}.5> (x)"))),
    ("nodes without use", |n| {
        main("float[N] x", "float[N] y", &[], &format!("{} y = Abs (x)", links(n, tanh)))
    }),
    ("inputs", inputs),
    ("dimension variables", dimension_variables),
    ("outputs", |n| outputs(n, |i| format!("LeakyRelu <alpha = {i}.5> (x)"))),
    ("equal outputs", |n| outputs(n, |_| "Relu (x)".into())),
    ("outputs of a node", split_outputs),
    ("functions in a chain", functions_in_a_chain),
    ("functions called once", |n| functions_called_once(n, |i| format!("b = LeakyRelu <alpha = {i}.5> (a)"))),
    ("equal functions", |n| functions_called_once(n, |_| "b = Tanh (a)".into())),
    ("functions without call", functions_without_call),
    ("calls of a function", calls_of_a_function),
    ("nodes of a function", nodes_of_a_function),
    ("graphs", |n| conditionals(n, |i, x| format!("Relu ({x}) q{i} = Exp (p{i})"))),
    ("graphs in graphs", graphs_in_graphs),
    ("nodes of a graph", nodes_of_a_graph),
    ("initializers of graphs", |n| conditionals(n, |_, x| format!("Add ({x}, k)"))),
    ("equal names", |n| {
        main("float[N] x", "float[N] y", &[], &format!("{} y = Abs (v{})", equal_names(n), n - 1))
    }),
    ("initializers", |n| weights(n, |i| format!("float[1] w{i} = {{{i}.5}}"))),
    ("equal initializers", |n| weights(n, |i| format!("float[1] w{i} = {{0.5}}"))),
    ("metadata entries", metadata),
    ("attributes", attributes),
    ("value_info", value_info),
    ("opset imports", opset_imports),
    ("casts", |n| {
        chain(2 * n, |i, x| format!("Cast <to = {}> ({x})", if i.is_multiple_of(2) { 10 } else { 1 }))
    }),
    ("identities", |n| chain(n, |_, x| format!("Identity ({x})"))),
    ("concatenations of constants", concatenations_of_constants),
    ("reshapes", reshapes),
    ("transposes", transposes),
    ("concats", |n| chain(n, |_, x| format!("Concat <axis = 0> ({x}, x)"))),
    ("shape arithmetic", shape_arithmetic),
    ("undefined names", |n| chain(n, |i, x| format!("Add ({x}, u{i})"))),
];

fn model(imports: &str, inputs: &str, outputs: &str, initializers: &[String], nodes: &str) -> String {
    let initializers = match initializers {
        [] => String::new(),
        some => format!("<{}>", some.join(", ")),
    };
    format!(
        "<ir_version: 10, opset_import: [\"\": 21, \"d\": 1{imports}]>\n\
         g ({inputs}) => ({outputs}) {initializers} {{\n{nodes}\n}}\n"
    )
}

fn main(inputs: &str, outputs: &str, initializers: &[String], nodes: &str) -> String {
    model("", inputs, outputs, initializers, nodes)
}

fn function(name: &str, body: &str) -> String {
    format!("<domain: \"d\", opset_import: [\"\": 21, \"d\": 1]>\n{name} (a) => (b) {{ {body} }}\n")
}

fn tanh(_: usize, x: &str) -> String {
    format!("Tanh ({x})")
}

/// Nodes `v0`, `v1`, … that each use the one before.
fn links(n: usize, call: impl Fn(usize, &str) -> String) -> String {
    let mut nodes = String::new();
    let mut before = "x".to_owned();
    for index in 0..n {
        let _ = writeln!(nodes, " v{index} = {}", call(index, &before));
        before = format!("v{index}");
    }
    nodes
}

fn chain(n: usize, call: impl Fn(usize, &str) -> String) -> String {
    main("float[N] x", "float[M] y", &[], &format!("{} y = Abs (v{})", links(n, call), n - 1))
}

/// The sum of nodes that use one value.
fn fan(n: usize, call: impl Fn(usize) -> String) -> String {
    let names: Vec<String> = (0..n).map(|index| format!("v{index}")).collect();
    let nodes = format!("{} y = Sum ({})", links(n, |index, _| call(index)), names.join(", "));
    main("float[N] x", "float[N] y", &[], &nodes)
}

fn listed(n: usize, item: impl Fn(usize) -> String) -> String {
    (0..n).map(item).collect::<Vec<_>>().join(", ")
}

fn inputs(n: usize) -> String {
    let nodes = format!(" y = Sum ({})", listed(n, |i| format!("x{i}")));
    main(&listed(n, |i| format!("float[N] x{i}")), "float[N] y", &[], &nodes)
}

fn dimension_variables(n: usize) -> String {
    let nodes: String = (0..n).map(|i| format!(" y{i} = Relu (x{i})\n")).collect();
    main(
        &listed(n, |i| format!("float[N{i}] x{i}")),
        &listed(n, |i| format!("float[N{i}] y{i}")),
        &[],
        &nodes,
    )
}

fn outputs(n: usize, call: impl Fn(usize) -> String) -> String {
    let nodes: String = (0..n).map(|i| format!(" y{i} = {}\n", call(i))).collect();
    main("float[N] x", &listed(n, |i| format!("float[N] y{i}")), &[], &nodes)
}

fn split_outputs(n: usize) -> String {
    let parts = listed(n, |i| format!("s{i}"));
    let nodes = format!(" {parts} = Split <axis = 0, num_outputs = {n}> (x)\n y = Sum ({parts})");
    main(&format!("float[{n}] x"), "float[1] y", &[], &nodes)
}

fn functions_in_a_chain(n: usize) -> String {
    let mut text = main("float[N] x", "float[N] y", &[], " y = d.F0 (x)");
    for index in 0..n {
        let callee = if index + 1 < n { format!("d.F{}", index + 1) } else { "Relu".to_owned() };
        text.push_str(&function(&format!("F{index}"), &format!("b = {callee} (a)")));
    }
    text
}

fn functions_called_once(n: usize, body: impl Fn(usize) -> String) -> String {
    let mut text = chain(n, |index, x| format!("d.F{index} ({x})"));
    (0..n).for_each(|index| text.push_str(&function(&format!("F{index}"), &body(index))));
    text
}

fn functions_without_call(n: usize) -> String {
    let mut text = main("float[N] x", "float[N] y", &[], " y = Relu (x)");
    let body = |index| format!("b = LeakyRelu <alpha = {index}.5> (a)");
    (0..n).for_each(|index| text.push_str(&function(&format!("F{index}"), &body(index))));
    text
}

fn calls_of_a_function(n: usize) -> String {
    chain(n, |_, x| format!("d.F ({x})")) + &function("F", "t = Sigmoid (a) b = Tanh (t)")
}

fn nodes_of_a_function(n: usize) -> String {
    let body = format!("x = Identity (a)\n{} b = Abs (v{})", links(n, tanh), n - 1);
    main("float[N] x", "float[N] y", &[], " v = d.F (x)\n y = d.F (v)") + &function("F", &body)
}

/// Nodes with branches; `call` is the first one of a branch.
fn conditionals(n: usize, call: impl Fn(usize, &str) -> String) -> String {
    let conditional = |index: usize, x: &str| {
        let is_used = call(index, x).contains(", k)");
        let constant = if is_used { "<float k = {0.5}>" } else { "" };
        format!(
            "If (c) <then_branch = t{index} () => (float[N] p{index}) {constant} {{ p{index} = {} }}, \
             else_branch = e{index} () => (float[N] o{index}) {{ o{index} = Tanh ({x}) }}>",
            call(index, x)
        )
    };
    let nodes = format!("{} y = Abs (v{})", links(n, conditional), n - 1);
    main("float[N] x, bool c", "float[N] y", &[], &nodes)
}

/// Towers of branches, as deep as a text may be.
fn graphs_in_graphs(n: usize) -> String {
    const DEPTH: usize = 24;
    let towers = n.div_ceil(DEPTH);
    let mut nodes = String::new();
    for tower in 0..towers {
        let mut inner = format!("r{tower}_{DEPTH} = Relu (x)");
        for level in (0..DEPTH).rev() {
            let result = format!("r{tower}_{}", level + 1);
            inner = format!(
                "r{tower}_{level} = If (c) <then_branch = t () => (float[N] {result}) {{ {inner} }}, \
                 else_branch = e () => (float[N] q{tower}_{level}) {{ q{tower}_{level} = Tanh (x) }}>"
            );
        }
        let _ = writeln!(nodes, " {inner}");
    }
    let _ = write!(nodes, " y = Sum ({})", listed(towers, |tower| format!("r{tower}_0")));
    main("float[N] x, bool c", "float[N] y", &[], &nodes)
}

fn nodes_of_a_graph(n: usize) -> String {
    let nodes = format!(
        " y = If (c) <then_branch = t () => (float[N] p) {{\n{} p = Abs (v{}) }}, \
         else_branch = e () => (float[N] q) {{ q = Relu (x) }}>",
        links(n, |_, x| format!("Identity ({x})")),
        n - 1
    );
    main("float[N] x, bool c", "float[N] y", &[], &nodes)
}

fn equal_names(n: usize) -> String {
    links(n, tanh).replace(" v", " [\"same\"] v")
}

fn weights(n: usize, declared: impl Fn(usize) -> String) -> String {
    let nodes = format!("{} y = Abs (v{})", links(n, |i, x| format!("Mul ({x}, w{i})")), n - 1);
    main("float[N] x", "float[N] y", &(0..n).map(declared).collect::<Vec<_>>(), &nodes)
}

fn metadata(n: usize) -> String {
    let entries = listed(n, |i| format!("\"k{i}\": \"v{i}\""));
    format!(
        "<ir_version: 10, opset_import: [\"\": 21], metadata_props: [{entries}]>\n\
         g (float[N] x) => (float[N] y) {{ y = Relu (x) }}\n"
    )
}

fn attributes(n: usize) -> String {
    main(
        "float[N] x",
        "float[N] y",
        &[],
        &format!(" y = d.Op <{}> (x)", listed(n, |i| format!("a{i} = {i}"))),
    )
}

fn value_info(n: usize) -> String {
    let nodes = format!("{} y = Abs (v{})", links(n, tanh), n - 1);
    let declared: Vec<String> = (0..n).map(|i| format!("float[N] v{i}")).collect();
    main("float[N] x", "float[N] y", &declared, &nodes)
}

fn opset_imports(n: usize) -> String {
    let imports: String = (0..n).map(|i| format!(", \"d{i}\": 1")).collect();
    let nodes = format!("{} y = Abs (v{})", links(n, |i, x| format!("d{i}.Op ({x})")), n - 1);
    model(&imports, "float[N] x", "float[N] y", &[], &nodes)
}

fn concatenations_of_constants(n: usize) -> String {
    let constants: String = (0..n)
        .map(|i| format!(" c{i} = Constant <value_int = {i}> ()\n u{i} = Unsqueeze (c{i}, z)\n"))
        .collect();
    let nodes = format!(
        "{constants} s = Concat <axis = 0> ({})\n f = Cast <to = 1> (s)\n t = ReduceSum (f)\n y = Add (x, t)",
        listed(n, |i| format!("u{i}"))
    );
    main("float[N] x", "float[M] y", &["int64[1] z = {0}".to_owned()], &nodes)
}

fn reshapes(n: usize) -> String {
    let shapes = ["int64[1] a = {-1}", "int64[2] b = {-1, 4}"].map(str::to_owned);
    let call = |i: usize, x: &str| format!("Reshape ({x}, {})", if i.is_multiple_of(2) { "a" } else { "b" });
    let nodes = format!("{} y = Reshape (v{}, b)", links(n, call), n - 1);
    main("float[N, 4] x", "float[M, 4] y", &shapes, &nodes)
}

fn transposes(n: usize) -> String {
    let call = |i: usize, x: &str| {
        format!("Transpose <perm = [{}]> ({x})", if i.is_multiple_of(2) { "0, 2, 1" } else { "1, 2, 0" })
    };
    let nodes = format!("{} y = Abs (v{})", links(n, call), n - 1);
    main("float[N, M, 3] x", "float[P, Q, R] y", &[], &nodes)
}

fn shape_arithmetic(n: usize) -> String {
    let mut nodes = String::new();
    let mut before = "x".to_owned();
    for i in 0..n {
        let _ = writeln!(
            nodes,
            " s{i} = Shape ({before})\n c{i} = Concat <axis = 0> (s{i}, one)\n \
             p{i} = ReduceProd <keepdims = 1> (c{i})\n v{i} = Reshape ({before}, p{i})"
        );
        before = format!("v{i}");
    }
    let _ = write!(nodes, " y = Abs ({before})");
    main("float[N, 4] x", "float[M] y", &["int64[1] one = {1}".to_owned()], &nodes)
}
