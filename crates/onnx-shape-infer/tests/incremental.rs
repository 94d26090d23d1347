//! Inferring again after edits gives what inferring from scratch gives.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

#[path = "properties/numbers.rs"]
mod numbers;

use std::collections::HashMap;

use onnx_ir::{Attribute, Model, NewNode, NodeId, Position, ValueId};
use onnx_schema::{attr, op};
use onnx_shape_infer::{Changed, Elem, Inference, Options, Ty, infer};
use onnx_text::{ParseOptions, parse_model};
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

/// Compares two results; new symbols may have other names, one for one.
struct Comparison<'a> {
    model: &'a Model,
    left: &'a Inference,
    right: &'a Inference,
    names: HashMap<Symbol, Symbol>,
}

impl Comparison<'_> {
    fn dim(&mut self, left: Dim, right: Dim) -> bool {
        let symbols = |dim| match dim {
            Dim::Var(symbol) => vec![symbol],
            Dim::Expr(_) => self.model.exprs().symbols(dim),
            _ => Vec::new(),
        };
        let (ours, theirs) = (symbols(left), symbols(right));
        let fresh = ours.iter().any(|&symbol| self.left.origin(symbol).is_some());
        if !fresh {
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
        let value = |symbols: &[Symbol], dim| {
            let known =
                |symbol| symbols.iter().position(|&known| known == symbol).map(|at| 3 + 7 * at as i64);
            self.model.exprs().eval(dim, &known)
        };
        ours.len() == theirs.len() && value(&ours, left) == value(&theirs, right)
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

fn compare(model: &mut Model, updated: &Inference, script: &[String]) {
    let scratch = infer(model, &Options::default());
    let nodes: Vec<NodeId> = model.nodes(model.main_graph()).collect();
    let values: Vec<ValueId> = nodes
        .iter()
        .flat_map(|&node| model.node(node).outputs().iter().flatten().copied().collect::<Vec<_>>())
        .collect();
    let mut comparison = Comparison { model, left: updated, right: &scratch, names: HashMap::new() };
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
}

/// One random edit: what it did, and what it changed.
fn edit(model: &mut Model, numbers: &mut Numbers) -> (String, Vec<Changed>) {
    let graph = model.main_graph();
    let nodes: Vec<NodeId> = model.nodes(graph).collect();
    let node = nodes[numbers.below(nodes.len())];
    match numbers.below(4) {
        0 => {
            // Another input, from an earlier node or an input of the graph.
            let index = numbers.below(model.node(node).input_count());
            let before = nodes.iter().position(|&other| other == node).unwrap();
            let earlier = nodes[..before].iter().filter_map(|&other| model.node(other).output(0));
            let candidates: Vec<ValueId> =
                earlier.chain(model.graph(graph).inputs().iter().copied()).collect();
            let value = candidates[numbers.below(candidates.len())];
            model.set_input(node, index, Some(value));
            (format!("input {index} of {node} is {value}"), vec![Changed::Node(node)])
        }
        1 => {
            let value = model.node(node).output(0).unwrap();
            let made = model.new_value(Symbol::EMPTY);
            let relu = NewNode::new(op::RELU).inputs([value]).outputs([made]);
            let new = model.add_node(Position::After(node), relu).unwrap();
            // Some users take the new value.
            let mut changed = vec![Changed::Node(new)];
            for (user, index) in model.node_uses(value) {
                if user != new && numbers.below(2) == 0 {
                    model.set_input(user, index, Some(made));
                    changed.push(Changed::Node(user));
                }
            }
            (format!("{new} after {node}"), changed)
        }
        2 => {
            let concats = nodes.iter().filter(|&&node| model.node(node).is(op::CONCAT));
            let Some(&concat) = concats.clone().next() else { return ("nothing".to_owned(), Vec::new()) };
            let axis = i64::try_from(numbers.below(3)).unwrap();
            model.set_attribute(concat, Attribute::new(attr::AXIS, axis)).unwrap();
            (format!("axis of {concat} is {axis}"), vec![Changed::Node(concat)])
        }
        _ => {
            let input = model.graph(graph).inputs()[0];
            let size = i64::try_from(numbers.below(5)).unwrap();
            let name = model.intern("N");
            let dims = [Dim::Var(name), Dim::Known(size), Dim::Known(64)];
            model.set_type(input, Some(Type::tensor(ElemType::Float, Some(Shape::new(dims)))));
            (format!("the input is [N, {size}, 64]"), vec![Changed::Value(input)])
        }
    }
}

#[test]
fn an_update_gives_what_a_new_run_gives() {
    for seed in 1..=60 {
        let mut numbers = Numbers::new(seed);
        let mut model = parse_model(MODEL, &ParseOptions::default()).unwrap();
        let mut inference = infer(&mut model, &Options::default());
        let mut script = Vec::new();
        for _ in 0..12 {
            let (said, changed) = edit(&mut model, &mut numbers);
            script.push(said);
            inference = inference.update(&mut model, &Options::default(), &changed);
            compare(&mut model, &inference, &script);
        }
    }
}
