//! Passes with faults: edits as a pass makes them, each with one mistake. None may be committed.

use std::collections::BTreeMap;

use onnx_ir::{CopyMap, Model, NodeId, Position, ValueId};
use onnx_pass::{Exactness, Level, PassCx, PassOptions};
use onnx_schema::{attr, domain};
use onnx_text::{ParseOptions, parse_model};

use crate::claims::expand;

/// What takes the place of a value.
enum By {
    /// Another value of the model.
    Value(&'static str),
    /// The value `r` of new nodes of the tapped values, before the node that makes the old value.
    Nodes(&'static str),
    /// The same before the node that makes this value.
    NodesBefore(&'static str, &'static str),
}

use By::{Nodes, NodesBefore, Value};

/// An edit with a fault.
struct Fault {
    name: &'static str,
    /// Whether most inputs do not show it.
    is_subtle: bool,
    class: Exactness,
    /// The model: inputs, outputs and nodes.
    graph: &'static str,
    taps: &'static [&'static str],
    /// Constants whose elements the pass reads.
    reads: &'static [&'static str],
    replaced: &'static str,
    by: By,
}

const fn fault(
    name: &'static str,
    graph: &'static str,
    taps: &'static [&'static str],
    replaced: &'static str,
    by: By,
) -> Fault {
    Fault { name, is_subtle: false, class: Exactness::Exact, graph, taps, reads: &[], replaced, by }
}

impl Fault {
    const fn subtle(self) -> Self {
        Self { is_subtle: true, ..self }
    }

    const fn rounding(self) -> Self {
        Self { class: Exactness::Rounding, ..self }
    }

    const fn reads(self, reads: &'static [&'static str]) -> Self {
        Self { reads, ..self }
    }

    /// Makes the edit; the level that refuses it.
    fn commit(&self) -> Option<Level> {
        let taps = self.taps.join(", ");
        let (place, nodes) = match self.by {
            Value(_) => (self.replaced, ""),
            Nodes(nodes) => (self.replaced, nodes),
            NodesBefore(place, nodes) => (place, nodes),
        };
        let function = match nodes {
            "" => String::new(),
            nodes => {
                format!(r#"<domain: "t", opset_import: ["": 20]> f ({taps}) => (r) {{ {} }}"#, expand(nodes))
            }
        };
        let mut model = parse(&format!(
            r#"<ir_version: 10, opset_import: ["": 20, "t": 1]> g {} {function}"#,
            expand(self.graph)
        ));
        let mut cx = PassCx::new(&mut model, PassOptions::default());
        let mut patch = cx.patch(self.name, self.class);
        let find = |model: &Model, name: &str| value(model, name);
        let taps: Vec<ValueId> = self.taps.iter().map(|name| find(patch.model(), name)).collect();
        taps.iter().for_each(|&tap| patch.tap(tap));
        for name in self.reads {
            let read = find(patch.model(), name);
            patch.constant(read).unwrap();
        }
        let old = find(patch.model(), self.replaced);
        let new = match self.by {
            Value(name) => find(patch.model(), name),
            _ => {
                let body = patch.model().function(patch.model().functions()[0]).body();
                let mut map = CopyMap::new();
                let inner = patch.model().graph(body).inputs().to_vec();
                inner.into_iter().zip(taps).for_each(|(inner, tap)| map.map(inner, tap));
                let result = patch.model().graph(body).outputs()[0].value();
                let node = maker(patch.model(), place);
                patch.copy_nodes(body, Position::Before(node), &mut map).unwrap();
                map.get(result)
            }
        };
        patch.replace(old, new);
        patch.commit().err().map(|refusal| refusal.level)
    }
}

#[rustfmt::skip]
const FAULTS: &[Fault] = &[
    fault("merges operands in another order", "(float[N] a, float[N] b) => (y) { p = Sub (a, b) q = Sub (b, a) y = Mul (p, q) }", &["a", "b"], "q", Value("p")),
    fault("merges random results", "(float[N] x) => (y) { p = Bernoulli (x) q = Bernoulli (x) y = Sub (p, q) }", &["x"], "q", Value("p")),
    fault("makes a random node", "(float[N] x) => (y) { y = Round (x) }", &["x"], "y", Nodes("r = Bernoulli (x)")),
    fault("drops a random node", "(float[N] x) => (y) { p = Bernoulli (x) y = Sub (p, p) }", &["x"], "y", Nodes("r = Sub (x, x)")),
    fault("ignores an attribute", "(float[N] x) => (y) { p = LeakyRelu <alpha = 0.1> (x) q = LeakyRelu <alpha = 0.1000001> (x) y = Sub (p, q) }", &["x"], "q", Value("p")).subtle(),
    fault("merges a branch with its sibling", "(bool c, float[N] x) => (y) { y = If (c) <then_branch = t () => (p) { p = Abs (x) }, else_branch = e () => (q) { q = Abs (x) }> }", &["x"], "q", Value("p")),
    fault("uses what comes later", "(float[N] x) => (y) { p = Abs (x) u = Neg (p) q = Abs (x) y = Sub (q, u) }", &["x"], "p", Value("q")),
    fault("makes a cycle", "(float[N] x) => (y) { y = Neg (x) }", &["y"], "y", Nodes("r = Identity (y)")),
    fault("makes a cycle of two", "(float[N] x) => (y, z) { y = Neg (x) z = Abs (y) }", &["z"], "y", Nodes("r = Neg (z)")),
    fault("moves a node out of a branch", "(bool c, float[N] x) => (y) { y = If (c) <then_branch = t () => (p) { s := int64[2] {2, 2} p = Reshape (x, s) }, else_branch = e () => (q) { q = Neg (x) }> }", &["x"], "p", NodesBefore("y", "s := int64[2] {2, 2} r = Reshape (x, s)")).reads(&["s"]).subtle(),
    fault("moves a node out of a loop", "(int64 n, bool c, float[N] x) => (y) { i := int64 {1} y = Loop (n, c, x) <body = b (k, go, v) => (next, w) { next = Identity (go) g = Gather (x, i) w = Add (v, g) }> }", &["x", "i"], "g", NodesBefore("y", "r = Gather (x, i)")).reads(&["i"]).subtle(),
    fault("forgets what a loop carries", "(int64 n, bool c, float[N] x) => (y) { y = Loop (n, c, x) <body = b (k, go, v) => (next, w) { next = Identity (go) w = Add (v, x) }> }", &["x"], "w", Nodes("r = Add (x, x)")),
    fault("folds with another type", "(int32[N] x) => (y) { a := int32 {2} b := int32 {3} c = Add (a, b) y = Mul (x, c) }", &[], "c", Nodes("r := int64 {5}")).reads(&["a", "b"]),
    fault("folds with a wider type", "(int32[N] x) => (y) { a := int32 {2147483647} b := int32 {1} c = Add (a, b) y = Mul (x, c) }", &[], "c", Nodes("r := int32 {2147483647}")).reads(&["a", "b"]).subtle(),
    fault("folds a quotient downward", "(int32[N] x) => (y) { a := int32 {-7} b := int32 {2} c = Div (a, b) y = Mul (x, c) }", &[], "c", Nodes("r := int32 {-4}")).reads(&["a", "b"]).subtle(),
    fault("folds the negation of zero", "(float[N] x) => (y) { a := float {0.0} c = Neg (a) y = Div (x, c) }", &[], "c", Nodes("r := float {0.0}")).reads(&["a"]).subtle(),
    fault("folds with another rounding", "(float[N] x) => (y) { a := float {0.1} b := float {0.2} c = Add (a, b) y = Mul (x, c) }", &[], "c", Nodes("r := float {0.29999998}")).reads(&["a", "b"]).subtle(),
    fault("folds an empty operand", "(float[N] x) => (y) { a := float[0] {} c = ReduceMax <keepdims = 0> (a) y = Mul (x, c) }", &[], "c", Nodes("r := float {0.0}")).reads(&["a"]).subtle(),
    fault("folds the default of an input", "(float[N] x, float w) => (y) <float w = {2}> { c = Add (w, w) y = Mul (x, c) }", &["w"], "c", Nodes("r := float {4.0}")),
    fault("does not read a constant", "(float[N] x) => (y) { w := float {2.0} c = Pow (x, w) y = Neg (c) }", &["x", "w"], "c", Nodes("r = Mul (x, x)")),
    fault("removes a cast", "(float[N] x) => (y) { c = Cast <to = 10> (x) d = Cast <to = 1> (c) y = Neg (d) }", &["x"], "c", Value("x")),
    fault("removes casts that lose bits", "(int64[N] x) => (y) { c = Cast <to = 11> (x) d = Cast <to = 7> (c) y = Neg (d) }", &["x"], "d", Value("x")).subtle(),
    fault("removes a transposition of a square", "(float[N,M,M] x) => (y) { t = Transpose <perm = [0, 2, 1]> (x) y = Neg (t) }", &["x"], "t", Value("x")),
    fault("removes a transposition of one row", "(float[1,N] x) => (y) { t = Transpose (x) y = Neg (t) }", &["x"], "t", Value("x")),
    fault("removes a reshape", "(float[N,M] x) => (y) { s := int64[2] {-1, 4} t = Reshape (x, s) y = Neg (t) }", &["x", "s"], "t", Value("x")).reads(&["s"]),
    fault("removes a reversal", "(float[N] x) => (y) { s := int64[1] {-1} e := int64[1] {-9223372036854775808} a := int64[1] {0} t = Slice (x, s, e, a, s) y = Neg (t) }", &["x"], "t", Value("x")).reads(&["s", "e", "a"]),
    fault("removes a slice with an end", "(float[N] x) => (y) { s := int64[1] {0} e := int64[1] {100} t = Slice (x, s, e) y = Neg (t) }", &["x"], "t", Value("x")).reads(&["s", "e"]).subtle(),
    fault("removes pads whose sum is zero", "(float[N] x) => (y) { p := int64[2] {1, -1} t = Pad (x, p) y = Neg (t) }", &["x"], "t", Value("x")).reads(&["p"]).subtle(),
    fault("removes a dropout in training", "(float[N] x) => (y) { h := float {0.5} c := bool {1} t = Dropout (x, h, c) y = Neg (t) }", &["x"], "t", Value("x")).reads(&["h", "c"]),
    fault("removes a sum", "(float[N] a, float[N] b) => (y) { t = Sum (a, b) y = Neg (t) }", &["a", "b"], "t", Value("a")),
    fault("removes an expansion of one", "(float[N] x, float[M] z) => (y) { s = Shape (z) t = Expand (x, s) y = Neg (t) }", &["x", "z"], "t", Value("x")),
    fault("takes a size for known", "(float[N,3] x) => (y) { t = Shape (x) y = Neg (t) }", &["x"], "t", Nodes("r := int64[2] {2, 3}")),
    fault("takes the shape of another value", "(float[N,M] x) => (y) { t = Transpose (x) u = Neg (t) y = Shape (u) }", &["x"], "y", Nodes("r = Shape (x)")),
    fault("chooses a branch", "(bool c, float[N] x) => (y) { y = If (c) <then_branch = t () => (p) { p = Abs (x) }, else_branch = e () => (q) { q = Neg (x) }> }", &["c", "x"], "y", Nodes("r = Abs (x)")),
    fault("forgets a capture", "(bool c, float[N] x, float[N] z) => (y) { y = If (c) <then_branch = t () => (p) { p = Add (x, z) }, else_branch = e () => (q) { q = Neg (x) }> }", &["c", "x", "z"], "y", Nodes("r = If (c) <then_branch = t () => (p) { p = Add (x, x) }, else_branch = e () => (q) { q = Neg (x) }>")),
    fault("unrolls one iteration less", "(float[N] x) => (y) { n := int64 {2} c := bool {1} y = Loop (n, c, x) <body = b (k, go, v) => (next, w) { next = Identity (go) w = Add (v, x) }> }", &["x"], "y", Nodes("r = Add (x, x)")).reads(&["n", "c"]),
    fault("ignores the condition of a loop", "(bool c, float[N] x) => (y) { n := int64 {1} y = Loop (n, c, x) <body = b (k, go, v) => (next, w) { next = Identity (go) w = Add (v, x) }> }", &["c", "x"], "y", Nodes("r = Add (x, x)")).reads(&["n"]).subtle(),
    fault("loses an epsilon", "(float[N,3] x) => (y) { w := float[3] {1.0, 2.0, 0.5} t = LayerNormalization <epsilon = 0.001> (x, w) y = Neg (t) }", &["x"], "t", Nodes("w := float[3] {1.0, 2.0, 0.5} r = LayerNormalization (x, w)")).reads(&["w"]).rounding().subtle(),
    fault("calls a sum in another order exact", "(float[N] a, float[N] b, float[N] c) => (y) { s = Add (a, b) t = Add (s, c) y = Neg (t) }", &["a", "b", "c"], "t", Nodes("s = Add (b, c) r = Add (a, s)")).subtle(),
    fault("calls a fused product exact", "(float[N,3] a, float[3,M] b, float[M] c) => (y) { p = MatMul (a, b) t = Add (p, c) y = Neg (t) }", &["a", "b", "c"], "t", Nodes("r = Gemm (a, b, c)")).subtle(),
    fault("loses the choice among equal elements", "(float[N,3] x) => (y) { t = ArgMax <axis = 1, select_last_index = 1> (x) y = Neg (t) }", &["x"], "t", Nodes("r = ArgMax <axis = 1> (x)")).subtle(),
    fault("divides a value by itself", "(float[N] x) => (y) { t = Div (x, x) y = Neg (t) }", &["x"], "t", Nodes("o := float {1.0} s = Shape (x) r = Expand (o, s)")).subtle(),
    fault("removes a maximum with one", "(float[N] x) => (y) { o := int64 {1} n = Size (x) t = Max (n, o) y = Neg (t) }", &["x"], "t", Nodes("r = Size (x)")).reads(&["o"]).subtle(),
    fault("includes a limit", "(float[N] x, float[N] a, float[N] b) => (y) { l := float {2.5} c = Less (x, l) y = Where (c, a, b) }", &["x"], "c", Nodes("l := float {2.5} r = LessOrEqual (x, l)")).reads(&["l"]).subtle(),
    fault("leaves out an attribute", "(float[N] x) => (y) { t = Concat <axis = 0> (x, x) y = Neg (t) }", &["x"], "t", Nodes("r = Concat (x, x)")),
    fault("replaces an input", "(float[N] x) => (y) { t = Neg (x) y = Neg (t) }", &["t"], "x", Value("t")),
];

#[test]
fn faults_of_passes_are_refused() {
    let mut levels: BTreeMap<Level, usize> = BTreeMap::new();
    let mut committed = Vec::new();
    for fault in FAULTS {
        match fault.commit() {
            Some(level) => *levels.entry(level).or_default() += 1,
            None => committed.push(fault.name),
        }
    }
    let subtle = FAULTS.iter().filter(|fault| fault.is_subtle).count();
    println!("{} faults, {subtle} of them subtle; refused: {levels:?}", FAULTS.len());
    assert_eq!(committed, Vec::<&str>::new());
    assert!(FAULTS.len() >= 40 && subtle * 3 >= FAULTS.len());
}

/// An edit of the whole model with a fault, which returns the number of its edits.
type Restructuring = (&'static str, fn(&mut Model) -> usize);

#[rustfmt::skip]
const RESTRUCTURINGS: &[Restructuring] = &[
    ("drops an output that is used", |model| {
        let node = maker(model, "v");
        let y = value(model, "y");
        let index = value(model, "i");
        model.replace_all_uses(index, y);
        usize::from(model.clear_output(node, 1).is_ok())
    }),
    ("exchanges operands", |model| {
        let node = maker(model, "d");
        let [a, b] = [0, 1].map(|index| model.node(node).input(index));
        model.set_input(node, 0, b);
        model.set_input(node, 1, a);
        1
    }),
    ("merges zeros of both signs", |model| {
        let [plus, minus] = ["plus", "minus"].map(|name| value(model, name));
        model.replace_all_uses(minus, plus);
        1
    }),
    ("changes an attribute", |model| {
        let node = maker(model, "t");
        usize::from(model.set_attribute(node, onnx_ir::Attribute::new(attr::PERM, vec![0_i64, 1])).is_ok())
    }),
    ("takes an attribute for a default", |model| {
        let node = maker(model, "v");
        usize::from(model.remove_attribute(node, attr::LARGEST))
    }),
    ("renames an output", |model| {
        let (y, name) = (value(model, "y"), model.intern("z"));
        model.set_value_name(y, name);
        1
    }),
    ("exchanges outputs", |model| {
        let main = model.main_graph();
        let [a, b] = [0, 1].map(|index| model.graph(main).outputs()[index].value());
        model.set_output(main, 0, b);
        model.set_output(main, 1, a);
        1
    }),
    ("places a node before its operand", |model| {
        let [t, d] = ["t", "d"].map(|name| maker(model, name));
        usize::from(model.move_node(t, Position::Before(d)).is_ok())
    }),
    ("changes a version", |model| {
        model.info_mut().opset_imports.iter_mut().for_each(|import| import.set_version(12));
        1
    }),
    ("changes an operator", |model| {
        let node = maker(model, "d");
        let (op, none) = (model.intern("Add"), model.intern(""));
        model.set_op(node, domain::ONNX, op, none);
        1
    }),
    ("changes the type of an output", |model| {
        let y = value(model, "y");
        model.set_type(y, None::<onnx_types::Type>);
        1
    }),
];

#[test]
fn faults_of_restructurings_are_refused() {
    let text = r#"<ir_version: 10, opset_import: ["": 20]>
        g (float[N,3] x) => (float[3,N] y, u) <float plus = {0.0}, float minus = {-0.0}, int64[1] k = {2}> {
            p = Div (x, plus)
            m = Div (x, minus)
            d = Sub (p, m)
            t = Transpose <perm = [1, 0]> (d)
            y = Neg (t)
            v, i = TopK <largest = 0> (x, k)
            c = Cast <to = 1> (i)
            u = Add (v, c)
        }"#;
    let mut committed = Vec::new();
    for &(name, edit) in RESTRUCTURINGS {
        let mut model = parse(text);
        let mut cx = PassCx::new(&mut model, PassOptions::default());
        let report = cx.restructure("fault", edit);
        if report.edits > 0 || report.refusals.len() != 1 {
            committed.push(name);
        }
        drop(cx);
        assert_eq!(model.verify_sorted(), Ok(()), "{name}");
    }
    println!("{} faults of restructurings", RESTRUCTURINGS.len());
    assert_eq!(committed, Vec::<&str>::new());
}

fn parse(text: &str) -> Model {
    parse_model(text, &ParseOptions::default()).unwrap()
}

/// The value of a name in the main graph or in graphs nested in it.
fn value(model: &Model, name: &str) -> ValueId {
    let mut all = model.graphs_in(model.main_graph()).flat_map(|graph| model.definitions(graph));
    all.find(|&value| model.str(model.value(value).name()) == name).unwrap()
}

fn maker(model: &Model, name: &str) -> NodeId {
    model.value(value(model, name)).producer().unwrap()
}
