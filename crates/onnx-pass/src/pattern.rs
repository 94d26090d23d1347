//! Patterns: computations that are looked for in a model, written in the ONNX text syntax.

use onnx_ir::{Attribute, Model, NodeId, ValueId};
use onnx_ops::{Call, is_commutative};
use onnx_text::{ParseError, ParseOptions, parse_model};
use onnx_types::tensor::NoData;
use slotmap::SecondaryMap;

use crate::patch::Patch;
use crate::query::{Reason, label};

/// Maximum number of steps of one match. Operands that commute are tried in both orders.
const MAX_STEPS: usize = 10_000;

/// A computation that is looked for in a model: a graph in the ONNX text syntax, without the header.
///
/// The inputs of the graph stand for any values; a name that occurs twice stands for one value. Nodes match nodes of the same
/// operator with the same attributes, as far as the pattern has them: an attribute that the pattern omits may have any value,
/// and operands after the last one of the pattern may be anything. Operands of commutative operators match in each order. The
/// pattern has one output, and every node of it is needed for the output.
///
/// ```
/// use onnx_ir::Cursor;
/// use onnx_pass::{Exactness, PassCx, PassOptions, Pattern};
/// use onnx_schema::op;
/// use onnx_text::{ParseOptions, parse_model};
///
/// let text = r#"<ir_version: 10, opset_import: ["": 20]> g (float[N] a, float[N] b) => (float[N] c) {
///     s = Sigmoid (a)
///     p = Mul (s, a)
///     c = Add (p, b)
/// }"#;
/// let mut model = parse_model(text, &ParseOptions::default())?;
/// let mut cx = PassCx::new(&mut model, PassOptions::default());
/// let swish = Pattern::parse("(x) => (y) { s = Sigmoid (x) y = Mul (x, s) }")?;
/// let report = cx.rewrite("fuse-swish", Exactness::Rounding, op::MUL, |patch, node| {
///     let found = patch.find(&swish, node)?;
///     let [x, y] = found.values(["x", "y"])?;
///     patch.raise_opset(onnx_schema::domain::ONNX, 24)?;
///     let new = patch.build(onnx_ir::Position::Before(node), |build| onnx_ops::ops::swish(build, x).output())?;
///     patch.replace(y, new);
///     Ok(())
/// });
/// assert_eq!((report.edits, report.refusals.len()), (1, 0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Pattern {
    model: Model,
    root: NodeId,
}

/// Why a text is not a pattern.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PatternError {
    /// The text is not a graph.
    #[error(transparent)]
    Parse(#[from] ParseError),
    /// The graph is not a pattern; the reason.
    #[error("not a pattern: {0}")]
    Form(&'static str),
}

/// The nodes and values that a pattern matched.
#[derive(Clone, Debug)]
pub struct PatternMatch {
    /// The values by their names in the pattern, inputs first.
    values: Vec<(String, ValueId)>,
    nodes: Vec<NodeId>,
    inputs: Vec<ValueId>,
}

impl PatternMatch {
    /// The values of these names of the pattern.
    ///
    /// # Errors
    ///
    /// Returns the reason if the pattern does not have one of the names.
    pub fn values<const N: usize>(&self, names: [&str; N]) -> Result<[ValueId; N], Reason> {
        let mut found = Vec::with_capacity(N);
        for name in names {
            let value = self.values.iter().find(|(other, _)| other == name).map(|&(_, value)| value);
            found.push(value.ok_or_else(|| Reason::new(format!("the pattern has no value `{name}`")))?);
        }
        found.try_into().map_err(|_| Reason::from("the pattern has too few values"))
    }

    /// The node that makes the value of a name.
    ///
    /// # Errors
    ///
    /// Returns the reason if the pattern does not have the name, or no node makes it.
    pub fn node(&self, model: &Model, name: &str) -> Result<NodeId, Reason> {
        let [value] = self.values([name])?;
        let node = model.get_value(value).and_then(onnx_ir::Value::producer);
        node.ok_or_else(|| Reason::new(format!("{} is not made by a node", label(model, value))))
    }

    /// The matched nodes, users first.
    #[must_use]
    pub fn nodes(&self) -> &[NodeId] {
        &self.nodes
    }

    /// The values at which the pattern begins: those of its inputs.
    #[must_use]
    pub fn inputs(&self) -> &[ValueId] {
        &self.inputs
    }
}

impl Pattern {
    /// Reads a pattern, such as `(x) => (y) { s = Sigmoid (x) y = Mul (x, s) }`.
    ///
    /// # Errors
    ///
    /// Returns an error if the text is not a graph, if it has not exactly one output, or if its output does not need one of the
    /// nodes.
    pub fn parse(text: &str) -> Result<Self, PatternError> {
        let latest = onnx_schema::latest_opset(onnx_schema::domain::ONNX).unwrap_or(1);
        let model = format!("<ir_version: 10, opset_import: [\"\": {latest}]> pattern {text}");
        let model = parse_model(&model, &ParseOptions::default())?;
        let graph = model.main_graph();
        let [output] = model.graph(graph).outputs() else {
            return Err(PatternError::Form("it must have one output"));
        };
        let root = model.value(output.value()).producer();
        let root = root.ok_or(PatternError::Form("its output must be made by a node"))?;
        if model.nodes(graph).any(|node| model.node(node).nested_graphs().next().is_some()) {
            return Err(PatternError::Form("its nodes must not have graphs"));
        }
        let mut needed: SecondaryMap<NodeId, ()> = SecondaryMap::new();
        let mut open = vec![root];
        while let Some(node) = open.pop() {
            if needed.insert(node, ()).is_none() {
                open.extend(
                    model.node(node).inputs().flatten().filter_map(|value| model.value(value).producer()),
                );
            }
        }
        if model.nodes(graph).any(|node| !needed.contains_key(node)) {
            return Err(PatternError::Form("its output must need every node"));
        }
        Ok(Self { model, root })
    }

    /// Matches the pattern, with its output at the first output of a node.
    ///
    /// # Errors
    ///
    /// Returns the first difference if the node does not match.
    pub fn find(&self, model: &Model, node: NodeId) -> Result<PatternMatch, Reason> {
        let mut search =
            Search { pattern: &self.model, model, values: SecondaryMap::new(), steps: 0, difference: None };
        let (Some(root), Some(value)) =
            (self.model.node(self.root).output(0), model.get_node(node).and_then(|node| node.output(0)))
        else {
            return Err(Reason::from("the node has no output"));
        };
        if !search.run(root, value) {
            return Err(search.difference.unwrap_or_else(|| Reason::from("the pattern does not match")));
        }
        let graph = self.model.main_graph();
        let values = search
            .values
            .iter()
            .map(|(name, &value)| (self.model.str(self.model.value(name).name()).to_owned(), value));
        let producer = |value: Option<ValueId>| model.value(*search.values.get(value?)?).producer();
        let nodes = self.model.nodes(graph).filter_map(|node| producer(self.model.node(node).output(0)));
        let mut nodes: Vec<NodeId> = nodes.collect();
        nodes.reverse();
        let inputs = self.model.graph(graph).inputs().iter();
        Ok(PatternMatch {
            values: values.collect(),
            nodes,
            inputs: inputs.filter_map(|&input| search.values.get(input).copied()).collect(),
        })
    }
}

impl Patch<'_, '_> {
    /// Matches a pattern, with its output at the first output of a node. The matched nodes become sources of the edit, and the
    /// values of the inputs of the pattern its taps.
    ///
    /// # Errors
    ///
    /// Returns the first difference if the node does not match.
    pub fn find(&mut self, pattern: &Pattern, node: NodeId) -> Result<PatternMatch, Reason> {
        let found = pattern.find(self.model(), node)?;
        for &node in found.nodes() {
            self.source(node);
        }
        for &input in found.inputs() {
            self.tap(input);
        }
        Ok(found)
    }
}

/// A match in progress.
struct Search<'a> {
    pattern: &'a Model,
    model: &'a Model,
    /// The value of the model for a value of the pattern.
    values: SecondaryMap<ValueId, ValueId>,
    steps: usize,
    difference: Option<Reason>,
}

/// A choice to return to: the obligations that were open, and the values bound, before the operands were exchanged.
struct Choice {
    open: Vec<(ValueId, ValueId)>,
    bound: Vec<ValueId>,
}

impl Search<'_> {
    /// Matches a value of the pattern with one of the model, and everything before it.
    fn run(&mut self, root: ValueId, value: ValueId) -> bool {
        let mut open = vec![(root, value)];
        let mut bound: Vec<ValueId> = Vec::new();
        let mut choices: Vec<Choice> = Vec::new();
        loop {
            let Some((wanted, found)) = open.pop() else { return true };
            self.steps = self.steps.saturating_add(1);
            if self.steps > MAX_STEPS {
                self.difference.get_or_insert_with(|| Reason::from("the pattern has too many orders"));
                return false;
            }
            let matched = self.value(wanted, found, &mut bound);
            match matched {
                Some(Operands { pairs, exchanged }) => {
                    if let Some(exchanged) = exchanged {
                        let mut open = open.clone();
                        open.extend(exchanged);
                        choices.push(Choice { open, bound: bound.clone() });
                    }
                    open.extend(pairs);
                }
                None => {
                    let Some(choice) = choices.pop() else { return false };
                    for &value in bound.iter().filter(|value| !choice.bound.contains(value)) {
                        self.values.remove(value);
                    }
                    (open, bound) = (choice.open, choice.bound);
                }
            }
        }
    }

    /// Matches one value; returns the operands that must match, or `None` if the values differ.
    fn value(&mut self, wanted: ValueId, found: ValueId, bound: &mut Vec<ValueId>) -> Option<Operands> {
        if let Some(&known) = self.values.get(wanted) {
            if known == found {
                return Some(Operands::default());
            }
            let name = self.pattern.str(self.pattern.value(wanted).name()).to_owned();
            return self.differs(format!("`{name}` is {} and {}", self.label(known), self.label(found)));
        }
        let operands = match self.pattern.value(wanted).producer() {
            None => Operands::default(),
            Some(node) => self.node(node, wanted, found)?,
        };
        self.values.insert(wanted, found);
        bound.push(wanted);
        Some(operands)
    }

    fn node(&mut self, node: NodeId, wanted: ValueId, found: ValueId) -> Option<Operands> {
        let pattern = self.pattern.node(node);
        let op = self.pattern.str(pattern.op());
        let producer = self.model.get_value(found).and_then(onnx_ir::Value::producer);
        let Some(other) = producer else {
            return self.differs(format!("{} is not made by `{op}`", self.label(found)));
        };
        let record = self.model.node(other);
        let domain = |model: &Model, domain| model.str(domain).to_owned();
        let is_same = op == self.model.str(record.op())
            && domain(self.pattern, pattern.domain()) == domain(self.model, record.domain());
        if !is_same {
            let made = self.model.str(record.op());
            return self.differs(format!("{} is made by `{made}`, not by `{op}`", self.label(found)));
        }
        let index = |outputs: &[Option<ValueId>], value| outputs.iter().position(|&made| made == Some(value));
        if index(pattern.outputs(), wanted) != index(record.outputs(), found) {
            return self.differs(format!("{} is another output of `{op}`", self.label(found)));
        }
        let call = Call::of(self.model, other).ok();
        if let Some(reason) = self.other_attribute(node, other, call.as_ref()) {
            return self.differs(reason);
        }
        let mut pairs = Vec::new();
        for (wanted, found) in pattern.inputs().zip(record.inputs().chain(std::iter::repeat(None))) {
            match (wanted, found) {
                (None, None) => {}
                (Some(wanted), Some(found)) => pairs.push((wanted, found)),
                _ => return self.differs(format!("`{op}` has other operands at {}", self.label(found?))),
            }
        }
        let commutes = call.is_some_and(|call| is_commutative(&call));
        let exchanged = match pairs.as_slice() {
            &[(a, x), (b, y)] if commutes && x != y => Some(vec![(a, y), (b, x)]),
            _ => None,
        };
        Some(Operands { pairs, exchanged })
    }

    /// Which attribute of the pattern the node does not have with the same value, as a clause. Standard operators have the
    /// default of an attribute that is omitted.
    fn other_attribute(&self, wanted: NodeId, found: NodeId, call: Option<&Call<'_>>) -> Option<String> {
        let schema = call.map(|call| call.schema());
        let record = self.model.node(found);
        let op = self.model.str(record.op());
        self.pattern.node(wanted).attributes().iter().find_map(|attribute| {
            let name = self.pattern.str(attribute.name());
            let given = record.attributes().iter().find(|other| self.model.str(other.name()) == name);
            let formal = schema.and_then(|schema| schema.attribute(attribute.name()));
            let is_same = match given {
                Some(other) => {
                    // Attributes are compared by their values: names are symbols of two models.
                    let other = Attribute::new(attribute.name(), other.value().clone());
                    self.pattern.same_attribute_meaning(attribute, &other, &NoData)
                }
                None => {
                    let default = formal.and_then(|formal| formal.default);
                    default.is_some_and(|default| attribute.value().is_default(default))
                }
            };
            match schema {
                _ if is_same => None,
                Some(schema) if formal.is_none() => {
                    let version = schema.since_version();
                    Some(format!("`{op}` of version {version} does not declare the attribute `{name}`"))
                }
                _ => Some(format!("the attribute `{name}` of `{op}` has another value")),
            }
        })
    }

    fn label(&self, value: ValueId) -> String {
        label(self.model, value)
    }

    /// Records the first difference.
    fn differs<T>(&mut self, reason: String) -> Option<T> {
        self.difference.get_or_insert_with(|| Reason::new(reason));
        None
    }
}

/// Operands that must match: pairs of a value of the pattern and one of the model.
#[derive(Default)]
struct Operands {
    pairs: Vec<(ValueId, ValueId)>,
    /// The pairs with the operands exchanged, if they commute.
    exchanged: Option<Vec<(ValueId, ValueId)>>,
}
