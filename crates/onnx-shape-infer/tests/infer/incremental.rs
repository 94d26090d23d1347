//! Inferring again after edits gives what inferring from scratch gives.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

#[path = "../properties/numbers.rs"]
mod numbers;

use std::collections::HashMap;

use onnx_ir::{Attribute, Changes, Constant, Model, NewNode, NodeId, OpsetImport, Position, ValueId};
use onnx_schema::{attr, op};
use onnx_shape_infer::{Elem, Fact, Guard, InferOptions, Inference, Relation, Ty, infer};
use onnx_text::{ParseOptions, parse_model};
use onnx_types::expr::ExprTable;
use onnx_types::{Dim, ElemType, Shape, Symbol, Type};

use numbers::Numbers;

const MODEL: &str = r#"
<ir_version: 10, opset_import: ["" : 18]>
g (float[N, S, 64] x, float[N, T, 64] y, int64[K] free) => (float[] z)
<int64[3] keep = {0, -1, 32}, int64[1] two = {2}>
{
   a = Relu (x)
   b = Add (a, x)
   c = Concat <axis = 1> (b, y)
   s = Shape (c)
   t = Mul (s, two)
   d = Reshape (c, keep)
   e = Reshape (d, s)
   f = Reshape (d, free)
   h = Neg (f)
   z = Reshape (h, t)
}
"#;

/// Compares two results; new symbols may have other numbers, one for one.
struct Comparison<'a> {
    left: &'a Inference,
    right: &'a Inference,
    names: HashMap<Symbol, Symbol>,
    /// The expressions of both.
    exprs: ExprTable,
}

impl Comparison<'_> {
    fn dim(&mut self, left: Dim, right: Dim) -> bool {
        let (ours, theirs) = (self.left.exprs().symbols(left), self.right.exprs().symbols(right));
        let fresh = ours.iter().any(|&symbol| self.left.origin(symbol).is_some());
        if !fresh {
            let [left, right] = [(self.left, left), (self.right, right)]
                .map(|(inference, dim)| self.exprs.import(inference.exprs(), dim, &mut |symbol| symbol));
            return left == right;
        }
        if let (Dim::Var(left), Dim::Var(right)) = (left, right) {
            return self.left.origin(left) == self.right.origin(right)
                && *self.names.entry(left).or_insert(right) == right;
        }
        // Expressions of new symbols are compared by value.
        let mut ours = ours;
        ours.sort_by_key(|&symbol| self.left.origin(symbol));
        let mut theirs = theirs;
        theirs.sort_by_key(|&symbol| self.right.origin(symbol));
        let value = |inference: &Inference, symbols: &[Symbol], dim| {
            let known =
                |symbol| symbols.iter().position(|&known| known == symbol).map(|at| 3 + 7 * at as i64);
            inference.exprs().eval(dim, &known)
        };
        ours.len() == theirs.len() && value(self.left, &ours, left) == value(self.right, &theirs, right)
    }

    fn value(&mut self, value: ValueId) -> bool {
        let types = match (self.left.ty(value), self.right.ty(value)) {
            (Ty::Tensor(left, Some(ours)), Ty::Tensor(right, Some(theirs))) => {
                left == right
                    && ours.len() == theirs.len()
                    && ours.iter().zip(&theirs).all(|(&left, &right)| self.dim(left, right))
            }
            (left, right) => left == right,
        };
        let contents = match (self.left.content(value), self.right.content(value)) {
            (Some(ours), Some(theirs)) => {
                ours.len() == theirs.len()
                    && ours.iter().zip(theirs.iter()).all(|(&left, &right)| match (left, right) {
                        (Elem::Int(left), Elem::Int(right)) => self.dim(left, right),
                        (left, right) => left == right,
                    })
            }
            (left, right) => left == right,
        };
        types && contents
    }
}

/// The facts about sizes that have names in the model, with expressions of a table.
fn facts(inference: &Inference, exprs: &mut ExprTable) -> Vec<String> {
    let is_named =
        |dim| inference.exprs().symbols(dim).iter().all(|&symbol| inference.origin(symbol).is_none());
    let all = inference.facts().all().iter().filter(|fact| match fact.relation {
        Relation::Equal(a, b)
        | Relation::AtMost(a, b)
        | Relation::Divides(a, b)
        | Relation::Broadcasts(a, b) => is_named(a) && is_named(b),
        Relation::Declared(_) | Relation::Default(_) => true,
    });
    let mut all: Vec<String> = all
        .map(|fact| {
            let mut import = |dim| exprs.import(inference.exprs(), dim, &mut |symbol| symbol);
            let relation = match fact.relation {
                Relation::Equal(a, b) => Relation::Equal(import(a), import(b)),
                Relation::AtMost(a, b) => Relation::AtMost(import(a), import(b)),
                Relation::Divides(a, b) => Relation::Divides(import(a), import(b)),
                Relation::Broadcasts(a, b) => Relation::Broadcasts(import(a), import(b)),
                other => other,
            };
            format!("{relation:?} {:?} {:?}", fact.strength, fact.scope)
        })
        .collect();
    all.sort();
    all
}

fn compare(model: &Model, updated: &Inference, script: &[String]) {
    let scratch = infer(model, &InferOptions::default());
    let nodes = nodes_of(model);
    let values: Vec<ValueId> = nodes
        .iter()
        .flat_map(|&node| model.node(node).outputs().iter().flatten().copied().collect::<Vec<_>>())
        .collect();
    let mut comparison =
        Comparison { left: updated, right: &scratch, names: HashMap::new(), exprs: ExprTable::new() };
    for value in values {
        let name = model.str(model.value(value).name());
        assert!(
            comparison.value(value),
            "`{name}` is {:?} after an update and {:?} from scratch, after {script:#?}",
            updated.ty(value),
            scratch.ty(value)
        );
    }
    let findings = |inference: &Inference| {
        let mut all: Vec<String> = inference
            .findings()
            .diagnostics()
            .iter()
            .map(|found| format!("{} {}", found.locus, found.message))
            .collect();
        all.sort();
        all
    };
    assert_eq!(findings(updated), findings(&scratch), "{script:#?}");
    let mut exprs = ExprTable::new();
    let (ours, theirs) = (facts(updated, &mut exprs), facts(&scratch, &mut exprs));
    assert_eq!(ours, theirs, "{script:#?}");
}

/// With a nested graph, a function, a guard and a default.
const NESTED: &str = r#"
<ir_version: 10, opset_import: ["": 18, "my": 1]>
g (float[N, S, 64] x, float[N, T, 64] y, bool c, float[2] w = {1, 2}) => (float[] z)
<int64[1] one = {1}, int64[1] three = {3}>
{
   a = Relu (x)
   b = If (c) <then_branch = t () => (p) { q = Neg (a) p = Concat <axis = 1> (q, y) k = Add (q, y) },
               else_branch = e () => (r) { r = Abs (x) }>
   d = my.F (a)
   f = Slice (d, one, three)
   h = Add (f, x)
   i = MatMul (h, x)
   z = Neg (b)
}
<domain: "my", opset_import: ["": 18]> F (u) => (v) { s = Relu (u) v = Identity (s) }
"#;

/// All nodes that are inferred as part of the main graph.
fn nodes_of(model: &Model) -> Vec<NodeId> {
    model.nodes_in(model.main_graph()).collect()
}

/// A value that a node may use: a result of an earlier node of its graph, or an input of the main graph.
fn earlier_value(model: &Model, node: NodeId, numbers: &mut Numbers) -> ValueId {
    let nodes = model.nodes(model.node(node).graph()).take_while(|&other| other != node);
    let earlier = nodes.filter_map(|other| model.node(other).output(0));
    let inputs = model.graph(model.main_graph()).inputs().iter().copied();
    let candidates: Vec<ValueId> = earlier.chain(inputs).collect();
    candidates[numbers.below(candidates.len())]
}

/// One random edit; returns what it did.
fn edit(model: &mut Model, numbers: &mut Numbers) -> String {
    let nodes = nodes_of(model);
    let node = nodes[numbers.below(nodes.len())];
    match numbers.below(9) {
        0 | 1 if model.node(node).input_count() > 0 => {
            let index = numbers.below(model.node(node).input_count());
            let value = earlier_value(model, node, numbers);
            model.set_input(node, index, Some(value));
            format!("input {index} of {node} is {value}")
        }
        2 => {
            let value = model.node(node).output(0).unwrap();
            let made = model.new_value(Symbol::EMPTY);
            let relu = NewNode::new(op::RELU).inputs([value]).outputs([made]);
            let new = model.add_node(Position::After(node), relu).unwrap();
            // Some users take the new value.
            for (user, index) in model.node_uses(value) {
                if user != new && numbers.below(2) == 0 {
                    model.set_input(user, index, Some(made));
                }
            }
            format!("{new} after {node}")
        }
        3 => {
            let Some(concat) = nodes.iter().copied().find(|&node| model.node(node).is(op::CONCAT)) else {
                return "nothing".to_owned();
            };
            let axis = i64::try_from(numbers.below(3)).unwrap();
            model.set_attribute(concat, Attribute::new(attr::AXIS, axis)).unwrap();
            format!("axis of {concat} is {axis}")
        }
        4 => edit_interface(model, numbers),
        5 => {
            let with = earlier_value(model, node, numbers);
            let with = vec![Some(with); model.node(node).outputs().len()];
            let replaced = model.replace_node(node, &with).is_ok();
            format!("{node} replaced by {with:?}: {replaced}")
        }
        6 => {
            let value = model.node(node).output(0).unwrap();
            let ty = Type::tensor(ElemType::Float, Some(Shape::known(&[2, 3])));
            model.set_type(value, (numbers.below(2) == 0).then_some(ty));
            let name = model.intern("renamed");
            model.set_node_name(node, name);
            format!("{value} is declared")
        }
        7 => edit_initializer(model, numbers),
        _ => {
            let others: Vec<NodeId> = model.nodes(model.node(node).graph()).collect();
            let other = others[numbers.below(others.len())];
            model.move_node(node, Position::Before(other)).unwrap();
            let sorted = model.sort(model.node(node).graph());
            format!("{node} before {other}: {sorted:?}")
        }
    }
}

/// Gives an initializer other contents.
fn edit_initializer(model: &mut Model, numbers: &mut Numbers) -> String {
    let graph = model.main_graph();
    let values: Vec<ValueId> = model.initializers(graph).collect();
    let Some(&value) = values.get(numbers.below(values.len().max(1))) else {
        return "nothing".to_owned();
    };
    let data: Vec<i64> = (0..=numbers.below(3)).map(|at| i64::try_from(at).unwrap() * 2 - 1).collect();
    let constant = Constant::from(onnx_types::tensor::Tensor::vector(&data));
    model.set_initializer(graph, value, Some(std::sync::Arc::new(constant)));
    format!("{value} is {data:?}")
}

/// Edits what concerns more than one node.
fn edit_interface(model: &mut Model, numbers: &mut Numbers) -> String {
    let graph = model.main_graph();
    match numbers.below(4) {
        0 => {
            let version = i64::try_from(numbers.below(4)).unwrap() + 17;
            model.info_mut().opset_imports[0].set_version(version);
            format!("version {version}")
        }
        1 if !model.functions().is_empty() => {
            let function = model.functions()[0];
            let body = model.function(function).body();
            let node = model.graph(body).first().unwrap();
            let name = if numbers.below(2) == 0 { op::SHAPE } else { op::RELU };
            model.set_op(node, Symbol::EMPTY, name, Symbol::EMPTY);
            if numbers.below(2) == 0 {
                let import = OpsetImport::new(onnx_schema::domain::ML, 1);
                model.function_mut(function).opset_imports.push(import);
            }
            "the function".to_owned()
        }
        _ => {
            let input = model.graph(graph).inputs()[0];
            let size = i64::try_from(numbers.below(5)).unwrap();
            let [n, s] = ["N", "S"].map(|name| Dim::Var(model.intern(name)));
            let dims =
                if numbers.below(2) == 0 { [n, s, Dim::Known(size)] } else { [n, Dim::Known(size), s] };
            model.set_type(input, Some(Type::tensor(ElemType::Float, Some(Shape::new(dims)))));
            format!("the input is {dims:?}")
        }
    }
}

fn check_scripts(text: &str, seeds: std::ops::RangeInclusive<u64>) {
    for seed in seeds {
        let mut numbers = Numbers::new(seed);
        let mut model = parse_model(text, &ParseOptions::default()).unwrap();
        let mut revision = model.revision();
        let mut inference = infer(&model, &InferOptions::default());
        let mut script = Vec::new();
        for _ in 0..12 {
            // Several edits at once, too.
            for _ in 0..=numbers.below(3) {
                script.push(edit(&mut model, &mut numbers));
            }
            let changes = model.changes_since(&revision);
            assert!(matches!(changes, Changes::Edits(_)));
            revision = model.revision();
            inference = inference.update(&model, &InferOptions::default(), &changes);
            compare(&model, &inference, &script);
        }
    }
}

#[test]
fn an_update_gives_what_a_new_run_gives() {
    check_scripts(MODEL, 1..=60);
}

#[test]
fn updates_see_nested_graphs_and_functions() {
    check_scripts(NESTED, 100..=180);
}

#[test]
fn an_update_without_changes_and_one_after_a_clone_are_right() {
    let model = parse_model(MODEL, &ParseOptions::default()).unwrap();
    let revision = model.revision();
    let inference = infer(&model, &InferOptions::default());
    let none = model.changes_since(&revision);
    assert!(none.is_empty());
    let inference = inference.update(&model, &InferOptions::default(), &none);
    compare(&model, &inference, &[]);
    let clone = model.clone();
    let everything = clone.changes_since(&revision);
    assert!(matches!(everything, Changes::Everything));
    let inference = inference.update(&clone, &InferOptions::default(), &everything);
    compare(&clone, &inference, &[]);
    assert!(model.changes_since(&revision).is_empty());
}

/// Nodes that rely on sizes which others have assumed or proved not to be negative.
const GUARDED: &str = r#"
<ir_version: 10, opset_import: ["" : 18]>
g (float[N, S, 64] x, float[N, T, 64] y, float[2, 2, 64] w) => (float[] z)
<int64[1] one = {1}, int64[1] two = {2}, int64[1] all = {9223372036854775807}, int64[3] keep = {0, -1, 32}>
{
   a = Slice (x, one, all, one)
   b = Slice (x, one, all, one)
   c = Slice (y, two, all, one)
   d = Add (a, b)
   s = Shape (x)
   n = Gather (s, one)
   m = Sub (n, one)
   e = Expand (one, m)
   f = Conv (c, w)
   h = MaxPool <kernel_shape = [2], strides = [2]> (y)
   i = MatMul (x, y)
   j = MatMul (x, y)
   k = Reshape (d, keep)
   z = Neg (e)
}
"#;

#[test]
fn guards_that_several_nodes_need_outlive_one_of_them() {
    check_scripts(GUARDED, 200..=280);
}

/// Erases the nodes of the given outputs one by one and compares with a new run after each.
#[track_caller]
fn check_erasures(graph: &str, outputs: &[&str], expected: &[&[&str]]) {
    let text = format!("<ir_version: 10, opset_import: [\"\": 20]> {graph}");
    let mut model = parse_model(&text, &ParseOptions::default()).unwrap();
    let mut revision = model.revision();
    let mut inference = infer(&model, &InferOptions::default());
    for (name, expected) in outputs.iter().zip(expected) {
        let nodes = nodes_of(&model);
        let is_it = |&node: &NodeId| {
            let output = model.node(node).output(0).unwrap();
            model.str(model.value(output).name()) == *name
        };
        let node = nodes.into_iter().find(is_it).unwrap();
        model.erase_node(node).unwrap();
        let changes = model.changes_since(&revision);
        revision = model.revision();
        inference = inference.update(&model, &InferOptions::default(), &changes);
        compare(&model, &inference, &[format!("{name} erased")]);
        let shown = |&fact: &Fact| Guard::new(&model, &inference, fact).condition;
        let facts: Vec<String> = inference.facts().all().iter().map(shown).collect();
        assert_eq!(facts, *expected, "without {name}");
    }
}

#[test]
fn a_fact_that_two_nodes_prove_outlives_one_of_them() {
    check_erasures(
        "g (float[N] x, float[M] y) => () { a = MatMul (x, y) b = MatMul (x, y) }",
        &["a", "b"],
        &[&["N == M"], &[]],
    );
    let cuts = "<int64[1] one = {1}, int64[1] all = {9223372036854775807}>";
    // The second one needs the guard as well, although the first one has recorded it.
    check_erasures(
        &format!(
            "g (float[N] x, float[N] y) => () {cuts} {{ a = Slice (x, one, all) b = Slice (y, one, all) }}"
        ),
        &["a", "b"],
        &[&["1 <= N"], &[]],
    );
    check_erasures(
        &format!(
            "g (float[N] x, float[N] y) => () {cuts} {{ a = Slice (x, one, all) b = Slice (y, one, all) }}"
        ),
        &["b", "a"],
        &[&["1 <= N"], &[]],
    );
    // One has proved what the other one relies on, which then has to assume it.
    check_erasures(
        "g (float[1, 1, N] x, float[1, 1, 3] w, float[N] y, float v) => () \
         <int64[1] two = {2}, int64[1] zero = {0}> { \
         a = Conv (x, w) s = Shape (y) n = Sub (s, two) c = Reshape (y, n) b = Expand (v, n) }",
        &["a"],
        &[&["N % 1 == 0"]],
    );
}

/// Nodes that need each other's results in a cycle could grow their shapes without end.
#[test]
fn an_update_of_a_cycle_ends() {
    for nodes in ["v = Concat <axis = 0> (x, v)", "v = Pad (v, p)  p = Constant <value_ints = [1, 0]> ()"] {
        let text = format!("<ir_version: 10, opset_import: [\"\": 20]> g (float[N] x) => (v) {{ {nodes} }}");
        let mut model = parse_model(&text, &ParseOptions::default()).unwrap();
        let revision = model.revision();
        let inference = infer(&model, &InferOptions::default());
        let v = model.graph(model.main_graph()).outputs()[0].value();
        model.set_type(v, Some(Type::tensor(ElemType::Float, Some(Shape::known(&[3])))));
        let changes = model.changes_since(&revision);
        let updated = inference.update(&model, &InferOptions::default(), &changes);
        assert_eq!(updated.ty(v), infer(&model, &InferOptions::default()).ty(v));
    }
}

/// A node that is edited need not enter its graphs any more.
#[test]
fn graphs_that_are_not_entered_again_are_unknown() {
    let text = r#"<ir_version: 10, opset_import: ["": 20, "my": 1]>
        g (float[2] x, int64 n, bool c) => (y) {
            y = Loop (n, c, x) <body = b (int64 i, bool cc, v) => (cc2, v2) { cc2 = Identity (cc)  v2 = Neg (v) }>
        }"#;
    let mut model = parse_model(text, &ParseOptions::default()).unwrap();
    let revision = model.revision();
    let inference = infer(&model, &InferOptions::default());
    let node = model.graph(model.main_graph()).first().unwrap();
    let body = model.node(node).nested_graphs().next().unwrap();
    let v = model.graph(body).inputs()[2];
    assert_eq!(inference.shape(v), Some(&[Dim::Known(2)][..]));
    let (domain, op) = (model.intern("my"), model.intern("Q"));
    model.set_op(node, domain, op, Symbol::EMPTY);
    let changes = model.changes_since(&revision);
    let updated = inference.update(&model, &InferOptions::default(), &changes);
    assert_eq!(updated.ty(v), Ty::Unknown);
}
