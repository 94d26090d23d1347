//! A model in the making, with what its values are for each binding of the dimension variables.

use onnx_ir::{Model, ValueId};
use onnx_shape_infer::{InferOptions, Inference, Ty, contrib, infer};
use onnx_text::{ParseOptions, parse_model};
use onnx_types::{Dim, Symbol};

use super::random::Random;

/// The number of bindings of the dimension variables.
pub const BINDINGS: usize = 4;

/// The sizes of the dimension variables: one number for each binding.
pub type Sizes = Vec<(String, [i64; BINDINGS])>;

/// A value with one binding, as far as it is known.
#[derive(Clone, Debug, Default)]
pub struct At {
    /// The sizes; absent where the rank is not known.
    pub dims: Option<Vec<Option<i64>>>,
    /// The elements of a small tensor of integers.
    pub elements: Option<Vec<Option<i64>>>,
}

impl At {
    /// The sizes, where all are known.
    #[must_use]
    pub fn known(&self) -> Option<Vec<i64>> {
        self.dims.as_ref()?.iter().copied().collect()
    }
}

/// A value of the main graph.
#[derive(Clone, Debug)]
pub struct Value {
    /// Its name.
    pub name: String,
    /// The element type; empty if the value is not a tensor or its type is unknown.
    pub elem: &'static str,
    /// Whether it is a sequence.
    pub is_sequence: bool,
    /// What is known with each binding.
    pub at: [At; BINDINGS],
}

impl Value {
    /// The sizes with the first binding.
    #[must_use]
    pub fn dims(&self) -> Option<Vec<i64>> {
        self.at[0].known()
    }

    /// The rank with the first binding.
    #[must_use]
    pub fn rank(&self) -> Option<usize> {
        self.at[0].dims.as_ref().map(Vec::len)
    }

    /// Whether it is a tensor of floats of this rank.
    #[must_use]
    pub fn is_float(&self, rank: usize) -> bool {
        self.elem == "float" && self.rank() == Some(rank)
    }

    /// The elements with the first binding.
    #[must_use]
    pub fn elements(&self) -> Option<Vec<i64>> {
        self.at[0].elements.as_ref()?.iter().copied().collect()
    }
}

/// An input of the main graph.
#[derive(Clone, Debug)]
pub struct Input {
    /// Its name.
    pub name: String,
    /// Its element type.
    pub elem: &'static str,
    /// The lowest and the highest number that it is given.
    pub range: (i64, i64),
    /// The elements of its initializer, if it has one.
    pub default: Option<String>,
    /// Its sizes as text.
    pub dims: Vec<String>,
}

impl Input {
    fn ty(&self) -> String {
        if self.dims.is_empty() {
            return self.elem.to_owned();
        }
        let is_plain = |dim: &String| dim.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        let quoted =
            |dim: &String| if is_plain(dim) || dim == "?" { dim.clone() } else { format!("\"{dim}\"") };
        format!("{}[{}]", self.elem, self.dims.iter().map(quoted).collect::<Vec<_>>().join(", "))
    }
}

/// A model in the making.
#[derive(Clone, Debug)]
pub struct World {
    /// Where choices come from.
    pub rng: Random,
    /// The version of the default domain.
    pub opset: i64,
    /// The version of the format.
    pub ir: i64,
    /// The sizes of the dimension variables.
    pub sizes: Sizes,
    /// The inputs.
    pub inputs: Vec<Input>,
    /// Initializers and declared types, as text.
    pub entries: Vec<String>,
    /// Functions, as text.
    pub functions: Vec<String>,
    /// The values of the main graph, refreshed by [`World::refresh`].
    pub values: Vec<Value>,
    /// Values that no other block may use.
    pub closed: Vec<String>,
    /// The nodes of the graph that is being written, and of those around it.
    pub(super) lines: Vec<Vec<String>>,
    pub(super) count: usize,
    /// The text that the values were inferred from, and the bindings it contradicts.
    pub(super) seen: (String, [bool; BINDINGS]),
}

impl World {
    /// A model without nodes.
    #[must_use]
    pub fn new(rng: Random, opset: i64, ir: i64) -> Self {
        Self {
            rng,
            opset,
            ir,
            sizes: Vec::new(),
            inputs: Vec::new(),
            entries: Vec::new(),
            functions: Vec::new(),
            values: Vec::new(),
            closed: Vec::new(),
            lines: vec![Vec::new()],
            count: 0,
            seen: Default::default(),
        }
    }

    /// A new name with a prefix.
    pub fn fresh(&mut self, prefix: &str) -> String {
        self.count += 1;
        format!("{prefix}{}", self.count)
    }

    /// Adds a node with several outputs, and returns their names.
    pub fn ops(&mut self, op: &str, inputs: &[&str], attributes: &str, outputs: usize) -> Vec<String> {
        let names: Vec<String> = (0..outputs).map(|_| self.fresh("v")).collect();
        let attributes = if attributes.is_empty() { String::new() } else { format!(" <{attributes}>") };
        let node = self.fresh("n");
        let line = format!("[{node}] {} = {op}{attributes} ({})", names.join(", "), inputs.join(", "));
        self.lines.last_mut().into_iter().for_each(|lines| lines.push(line.clone()));
        names
    }

    /// Adds a node with one output, and returns its name.
    pub fn op(&mut self, op: &str, inputs: &[&str], attributes: &str) -> String {
        self.ops(op, inputs, attributes, 1).remove(0)
    }

    /// Begins a nested graph: the nodes that follow belong to it.
    pub fn begin(&mut self) {
        self.lines.push(Vec::new());
    }

    /// Ends a nested graph, and returns its nodes as text.
    pub fn end(&mut self) -> String {
        self.lines.pop().unwrap_or_default().join(" ")
    }

    /// Adds an initializer of a type, with elements as text.
    pub fn constant(&mut self, ty: &str, elements: &str) -> String {
        let name = self.fresh("c");
        self.entries.push(format!("{ty} {name} = {elements}"));
        name
    }

    /// A vector of integers, as an initializer or the output of a node.
    pub fn ints(&mut self, elements: &[i64]) -> String {
        let list = elements.iter().map(i64::to_string).collect::<Vec<_>>().join(", ");
        if self.rng.percent(15) && self.opset >= 12 && !elements.is_empty() {
            return self.op("Constant", &[], &format!("value_ints = [{list}]"));
        }
        if self.rng.percent(20) {
            return self.op("Constant", &[], &format!("value = int64[{}] {{{list}}}", elements.len()));
        }
        self.constant(&format!("int64[{}]", elements.len()), &format!("{{{list}}}"))
    }

    /// A scalar integer.
    pub fn scalar(&mut self, element: i64) -> String {
        if self.rng.percent(20) {
            return self.op("Constant", &[], &format!("value = int64 {{{element}}}"));
        }
        self.constant("int64", &format!("{{{element}}}"))
    }

    /// A scalar float.
    pub fn float(&mut self, element: f64) -> String {
        self.constant("float", &format!("{{{element:?}}}"))
    }

    /// A tensor of equal floats.
    pub fn weight(&mut self, dims: &[i64]) -> String {
        let list = dims.iter().map(i64::to_string).collect::<Vec<_>>().join(", ");
        let ty = if dims.is_empty() { "float".to_owned() } else { format!("float[{list}]") };
        let count: i64 = dims.iter().product();
        let elements = vec!["0.5"; usize::try_from(count).unwrap_or(0)].join(", ");
        self.constant(&ty, &format!("{{{elements}}}"))
    }

    /// One of the values that a condition holds of, more often a recent one.
    pub fn pick(&mut self, fits: impl Fn(&Value) -> bool) -> Option<Value> {
        let found: Vec<&Value> =
            self.values.iter().filter(|value| !self.closed.contains(&value.name) && fits(value)).collect();
        if found.is_empty() {
            return None;
        }
        let (a, b) = (self.rng.below(found.len()), self.rng.below(found.len()));
        Some(found[a.max(b)].clone())
    }

    /// What is known of a value now.
    pub fn look(&mut self, name: &str) -> Option<Value> {
        self.refresh().ok()?;
        self.values.iter().find(|value| value.name == name).cloned()
    }

    /// The model as text. Every value that no node uses is an output, and some that are used.
    #[must_use]
    pub fn text(&self) -> String {
        let domains = r#""com.microsoft" : 1, "local" : 1"#;
        let inputs: Vec<String> = self
            .inputs
            .iter()
            .map(|input| match &input.default {
                Some(default) => format!("{} {} = {default}", input.ty(), input.name),
                None => format!("{} {}", input.ty(), input.name),
            })
            .collect();
        let lines = self.lines.first().cloned().unwrap_or_default();
        let mut text = format!(
            "<ir_version: {}, opset_import: [\"\" : {}, {domains}]>\ng ({}) => ({})\n",
            self.ir,
            self.opset,
            inputs.join(", "),
            self.outputs(&lines),
        );
        if !self.entries.is_empty() {
            text.push_str(&format!("<{}>\n", self.entries.join(",\n ")));
        }
        text.push_str(&format!("{{\n   {}\n}}\n", lines.join("\n   ")));
        text.push_str(&self.functions.join("\n"));
        text
    }

    /// The names of the last values: a model needs an output.
    fn outputs(&self, lines: &[String]) -> String {
        let mut made = lines.iter().filter_map(|line| line.split_once("] ")?.1.split_once(" = "));
        made.next_back().map(|(names, _)| names.to_owned()).unwrap_or_default()
    }

    /// The number of nodes of the main graph.
    #[must_use]
    pub fn node_count(&self) -> usize {
        self.lines.first().map_or(0, Vec::len)
    }

    /// The model. The text is ours, so an error is a defect of the generator.
    ///
    /// # Errors
    ///
    /// When the text has errors.
    pub fn model(&self) -> Result<Model, String> {
        let text = self.text();
        parse_model(&text, &ParseOptions::default()).map_err(|error| format!("{error}\n{text}"))
    }

    /// Infers the model for each binding; returns the bindings that it reports contradictions for.
    ///
    /// # Errors
    ///
    /// When the text has errors.
    pub fn refresh(&mut self) -> Result<[bool; BINDINGS], String> {
        let text = self.text();
        if self.seen.0 == text {
            return Ok(self.seen.1);
        }
        let mut model = self.model()?;
        let registry = contrib::registry();
        let mut values: Vec<Value> = Vec::new();
        let mut contradicts = [false; BINDINGS];
        for binding in 0..BINDINGS {
            let sizes: Vec<(Symbol, i64)> =
                self.sizes.iter().map(|(name, sizes)| (model.intern(name), sizes[binding])).collect();
            let options = InferOptions::default().with_sizes(&sizes).with_registry(&registry);
            let inference = infer(&model, &options);
            contradicts[binding] = inference.findings().has_errors();
            for (index, value) in main_values(&model).into_iter().enumerate() {
                if binding == 0 {
                    values.push(known_of(&model, &inference, value));
                }
                if let Some(entry) = values.get_mut(index) {
                    entry.at[binding] = at(&inference, value);
                }
            }
        }
        self.values = values;
        self.seen = (text, contradicts);
        Ok(contradicts)
    }
}

/// The inputs of the main graph and what its nodes make, in order.
#[must_use]
pub fn main_values(model: &Model) -> Vec<ValueId> {
    let graph = model.main_graph();
    let made = model.nodes(graph).flat_map(|node| model.node(node).outputs().iter().flatten().copied());
    model.graph(graph).inputs().iter().copied().chain(made).collect()
}

fn known_of(model: &Model, inference: &Inference, value: ValueId) -> Value {
    let ty = inference.ty(value);
    Value {
        name: model.str(model.value(value).name()).to_owned(),
        elem: if matches!(ty, Ty::Tensor(..)) { ty.elem().map_or("", |elem| elem.name()) } else { "" },
        is_sequence: matches!(ty, Ty::Other(_)),
        at: Default::default(),
    }
}

fn at(inference: &Inference, value: ValueId) -> At {
    let number = |dim: &Dim| dim.known();
    At {
        dims: inference.shape(value).map(|dims| dims.iter().map(number).collect()),
        elements: inference.content(value).map(|content| content.iter().map(|elem| elem.known()).collect()),
    }
}
