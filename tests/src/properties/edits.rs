//! Scripts of edits: whatever is done to a model, its arenas fit together, and it can be written and read.

use std::sync::Arc;

use bytes::Bytes;
use onnx_codec::DecodeOptions;
use onnx_ir::{
    AttrKind, Attribute, Constant, CopyMap, Def, GraphId, Model, NewNode, NodeId, Position, ValueId,
};
use onnx_schema::{attr, op};
use onnx_shape_infer::{InferOptions, MergePolicy, infer};
use onnx_text::{ParseOptions, parse_model};
use onnx_types::tensor::Tensor;
use onnx_types::{Dim, ElemType, Shape, Symbol, Type};

use super::{equal, findings, sound, write};

/// The models that scripts start from.
pub(super) const MODELS: [&str; 4] = [
    r#"<ir_version: 10, opset_import: ["": 18]>
g (float[N, 4] x, bool c) => (float[] z) <float[4] w = {1, 2, 3, 4}> {
   a = Add (x, w)
   b = If (c) <then_branch = t () => (float[] p) { q = Neg (a) p = Relu (q) }, else_branch = e () => (p) { p = Abs (a) }>
   s = Shape (b)
   r = Reshape (b, s)
   z = Concat <axis = 0> (r, x)
}"#,
    r#"<ir_version: 10, opset_import: ["": 18, "f": 1]>
g (float[N] x) => (float[] y) { y = f.twice <alpha = 0.5> (x) }
<domain: "f", opset_import: ["": 18, "f": 1]>
twice <alpha: float = 1.0> (a) => (c) { b = f.once (a) c = LeakyRelu <alpha: float = @alpha> (b) }
<domain: "f", opset_import: ["": 18]>
once (a) => (b) { b = Neg (a) }"#,
    r#"<ir_version: 10, opset_import: ["": 18]>
g (int64 n, bool c, float[N, 2] x) => (float[] y, float[] s) {
   y, s = Loop (n, c, x) <body = b (i, go, v) => (go2, w, v) { go2 = Identity (go) k = Relu (v) w = Add (k, x) }>
}"#,
    r#"<ir_version: 10, opset_import: ["": 18]>
g (float[N, 4] x) => (float[] z) <float[4] w = {1, 2, 3, 4}, float[N, 4] b> {
   [first] a = Add (x, w)
   b = LeakyRelu <alpha = 0.5> (a)
   k = Constant <value = int64[2] {-1, 300}> ()
   c = Reshape (b, k)
   z = Transpose <perm = [1, 0]> (c)
}"#,
];

/// A step of a script: which edit, and three choices.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    pub(super) kind: u8,
    pub(super) choices: [usize; 3],
}

/// The steps of a script, each from seven bytes.
pub(super) fn steps(bytes: &[u8]) -> impl Iterator<Item = Step> {
    let choice = |high, low| usize::from(u16::from_be_bytes([high, low]));
    let (steps, _) = bytes.as_chunks();
    steps.iter().map(move |&[kind, a, b, c, d, e, f]| Step {
        kind,
        choices: [choice(a, b), choice(c, d), choice(e, f)],
    })
}

/// Scripts may be long, but models that double with each step may not.
const NODES: usize = 80;

/// Runs a script. The first byte chooses the model, each seven after it are a step.
///
/// # Errors
///
/// What does not hold.
pub fn edit_scripts(bytes: &[u8]) -> Result<(), String> {
    let (&first, rest) = bytes.split_first().unwrap_or((&0, &[]));
    let text = MODELS.get(usize::from(first) % MODELS.len()).ok_or("there are models")?;
    let model = parse_model(text, &ParseOptions::default()).map_err(|error| error.to_string())?;
    let mut script = Script { model: read(write(&model)?.ok_or("the models can be written")?)? };
    for step in steps(rest).take(200) {
        script.step(step.kind, step.choices);
        sound(&script.model, &format!("after {step:?}"), false)?;
    }
    script.finish()
}

pub(super) struct Script {
    pub(super) model: Model,
}

impl Script {
    fn graphs(&self) -> Vec<GraphId> {
        self.model.all_graphs().collect()
    }

    pub(super) fn graph(&self, choice: usize) -> Option<GraphId> {
        pick(&self.graphs(), choice)
    }

    pub(super) fn node(&self, choice: usize) -> Option<NodeId> {
        let graphs = self.graphs();
        let nodes: Vec<NodeId> = graphs.iter().flat_map(|&graph| self.model.nodes(graph)).collect();
        pick(&nodes, choice)
    }

    /// Any value that some graph defines or uses.
    pub(super) fn value(&self, choice: usize) -> Option<ValueId> {
        let mut values = Vec::new();
        for graph in self.graphs() {
            values.extend(self.model.graph(graph).inputs().iter().copied());
            values.extend(self.model.initializers(graph));
            for node in self.model.nodes(graph) {
                let node = self.model.node(node);
                values.extend(node.outputs().iter().flatten());
                values.extend(node.inputs().flatten());
            }
        }
        pick(&values, choice)
    }

    pub(super) fn name(&mut self, choice: usize) -> Symbol {
        const NAMES: [&str; 9] = ["", "a", "x", "y", "w", "b", "\u{202e}", "a b", "v_1"];
        self.model.intern(NAMES.get(choice % NAMES.len()).copied().unwrap_or_default())
    }

    pub(super) fn position(&self, a: usize, b: usize) -> Option<Position> {
        let graph = self.graph(a)?;
        let nodes: Vec<NodeId> = self.model.nodes(graph).collect();
        Some(match (b % 4, pick(&nodes, b / 4)) {
            (0, Some(node)) => Position::Before(node),
            (1, Some(node)) => Position::After(node),
            (2, _) => Position::Start(graph),
            _ => Position::End(graph),
        })
    }

    /// Does one edit; edits that cannot be done are refused by the model, and nothing happens.
    pub(super) fn step(&mut self, kind: u8, choices: [usize; 3]) {
        let _ = match kind % 6 {
            0 => self.add(kind / 6, choices),
            1 => self.on_node(kind / 6, choices),
            2 => self.on_value(kind / 6, choices),
            3 => self.on_graph(kind / 6, choices),
            4 => self.on_attribute(kind / 6, choices),
            _ => self.on_model(kind / 6, choices),
        };
    }

    fn add(&mut self, kind: u8, [a, b, c]: [usize; 3]) -> Option<()> {
        if self.model.node_count() > NODES {
            return None;
        }
        let at = self.position(a, b)?;
        let inputs: Vec<ValueId> =
            [b, c].into_iter().take(1 + c % 2).filter_map(|choice| self.value(choice)).collect();
        let name = self.name(c);
        let output = self.model.new_value(name);
        let ops = [op::RELU, op::ADD, op::CONCAT, op::SHAPE, op::IDENTITY];
        let mut new = NewNode::new(pick(&ops, a ^ c)?).inputs(inputs).outputs([output]);
        if kind.is_multiple_of(4) {
            let body = self.model.new_graph(name);
            let input = self.model.add_graph_input(body, "x", None);
            self.model.push_graph_output(body, input);
            new = new.attribute(Attribute::new(attr::BODY, body));
        }
        self.model.add_node(at, new).ok().map(drop)
    }

    fn on_node(&mut self, kind: u8, [a, b, c]: [usize; 3]) -> Option<()> {
        let node = self.node(a)?;
        let (inputs, outputs) = (self.model.node(node).input_count(), self.model.node(node).outputs().len());
        let value = self.value(b).filter(|_| c % 5 != 0);
        match kind % 10 {
            0 => self.model.erase_node(node).ok()?,
            1 => self.model.move_node(node, self.position(b, c)?).ok()?,
            2 => self.model.set_input(node, c % 5, value),
            3 if inputs > 0 => self.model.remove_input(node, b % inputs),
            4 => self.model.push_input(node, value),
            5 if outputs > 0 => self.model.clear_output(node, c % outputs).ok()?,
            6 => drop(self.model.replace_node(node, &vec![value; outputs])),
            7 => {
                let name = self.name(b);
                self.model.push_output(node, name);
            }
            8 => {
                let name = self.name(b);
                self.model.set_node_name(node, name);
            }
            _ => {
                let graph = self.model.node(node).nested_graphs().next()?;
                self.model.splice(graph, Position::Before(node)).ok()?;
            }
        }
        Some(())
    }

    fn on_value(&mut self, kind: u8, [a, b, c]: [usize; 3]) -> Option<()> {
        let value = self.value(a)?;
        match kind % 8 {
            0 => {
                let name = self.name(b);
                self.model.set_value_name(value, name);
            }
            1 => self.model.replace_all_uses(value, self.value(b)?),
            2 => {
                let with = self.value(b)?;
                self.model.replace_value(value, with);
            }
            3 => self.model.erase_value(value).ok()?,
            4 => {
                let dims = [Dim::Known(b as i64 - 3), Dim::Var(self.name(c)), Dim::Unknown];
                let shape = Shape::new(dims.into_iter().take(c % 4));
                self.model.set_type(value, Some(Type::tensor(ElemType::Float, Some(shape))));
            }
            5 => self.model.set_type(value, None::<Type>),
            6 => {
                let constant = (c % 2 == 0).then(|| Arc::new(Constant::from(Tensor::vector(&[1.0_f32]))));
                let graph = self.graph(b)?;
                self.model.set_initializer(graph, value, constant);
            }
            _ => self.model.take_name(value, self.value(b)?),
        }
        Some(())
    }

    fn on_graph(&mut self, kind: u8, [a, b, c]: [usize; 3]) -> Option<()> {
        let graph = self.graph(a)?;
        let record = self.model.graph(graph);
        let (inputs, outputs) = (record.inputs().len(), record.outputs().len());
        match kind % 10 {
            0 => drop(self.model.add_graph_input(graph, ["", "a", "x"][b % 3], None)),
            1 if inputs > 0 => drop(self.model.remove_graph_input(graph, b % inputs)),
            2 => self.model.push_graph_output(graph, self.value(b)?),
            3 if outputs > 0 => self.model.remove_graph_output(graph, b % outputs),
            4 if outputs > 0 => self.model.set_output(graph, c % outputs, self.value(b)?),
            5 => drop(self.model.sort(graph)),
            6 => drop(self.model.erase_dead_nodes(graph)),
            7 => {
                let name = self.name(b);
                self.model.add_initializer(graph, name, Tensor::vector(&[c as i64]));
            }
            8 => drop(self.model.erase_unused_initializers(graph)),
            _ => {
                let value = self
                    .value(b)
                    .filter(|&value| matches!(self.model.value(value).def(), Def::Unresolved(_)))?;
                self.model.push_graph_input(graph, value).ok()?;
            }
        }
        Some(())
    }

    fn on_attribute(&mut self, kind: u8, [a, b, c]: [usize; 3]) -> Option<()> {
        let node = self.node(a)?;
        let names = [attr::AXIS, attr::BODY, attr::THEN_BRANCH, attr::AXES, attr::VALUE];
        let name = pick(&names, b)?;
        let value = match kind % 8 {
            0 => Attribute::new(name, c as i64 - 100),
            1 => Attribute::new(name, vec![c as i64, -1]),
            2 => Attribute::new(name, Tensor::vector(&[c as f32])),
            3 => Attribute::reference(name, attr::AXIS, AttrKind::Int),
            4 => {
                self.model.remove_attribute(node, name);
                return Some(());
            }
            5 => {
                self.model.detach_graph(node, name);
                return Some(());
            }
            6 => {
                let before = self.model.node(node).attributes().len();
                let gone = self.model.retain_attributes(node, |index, _| c >> (index % 8) & 1 == 0);
                assert_eq!(self.model.node(node).attributes().len() + gone, before);
                return Some(());
            }
            _ => {
                let graph = self.graph(c).filter(|_| self.model.node_count() < NODES)?;
                let copy = self.model.copy_graph(graph, &mut CopyMap::new()).ok()?;
                Attribute::new(name, copy)
            }
        };
        self.model.set_attribute(node, value).ok()
    }

    fn on_model(&mut self, kind: u8, [a, b, c]: [usize; 3]) -> Option<()> {
        match kind % 7 {
            0 => self.model = self.model.clone(),
            1 => {
                let (name, overload) = (self.name(a), self.name(b));
                let function = self.model.add_function(Symbol::EMPTY, name, overload);
                let body = self.model.function(function).body();
                let x = self.model.add_graph_input(body, "x", None);
                self.model.add_node(Position::End(body), NewNode::new(op::RELU).inputs([x])).ok()?;
            }
            2 => self.model.remove_function(pick(self.model.functions(), a)?).ok()?,
            3 if self.model.node_count() < NODES => {
                let at = self.position(a, b)?;
                drop(self.model.copy_nodes(self.graph(c)?, at, &mut CopyMap::new()));
            }
            4 => drop(self.model.sort_all()),
            5 => self.model.settle_names(),
            _ => drop(onnx_check::fix(&mut self.model)),
        }
        Some(())
    }

    /// Runs all other stages on the model, unless values are used where they are not visible, which cannot occur in a
    /// file.
    fn finish(mut self) -> Result<(), String> {
        if self.model.verify().is_err() {
            return Ok(());
        }
        findings(&onnx_check::check(&self.model, &onnx_check::CheckOptions::default()))?;
        let mut inference = infer(&self.model, &InferOptions::default());
        findings(inference.findings())?;
        sound(&self.model, "after inference", false)?;
        if inference.apply(&mut self.model, MergePolicy::Override).is_ok() {
            sound(&self.model, "after inference has been applied", false)?;
        }
        let Some(written) = write(&self.model)? else { return Ok(()) };
        equal(&write(&self.model)?.as_ref(), &Some(&written), "writing twice gives different files")?;
        let model = read(written.clone())?;
        sound(&model, "after reading what was written", true)?;
        equal(&write(&model)?.as_ref(), &Some(&written), "reading and writing what was written changes it")
    }
}

fn read(bytes: Bytes) -> Result<Model, String> {
    let decoded = onnx_codec::decode(bytes, &DecodeOptions::default());
    decoded.map(|decoded| decoded.model).map_err(|error| format!("what was written: {error}"))
}

pub(super) fn pick<T: Copy>(list: &[T], choice: usize) -> Option<T> {
    list.get(choice % list.len().max(1)).copied()
}
