//! What a claim is about: the nodes between tapped and replaced values, before and after, and the values that they begin with.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, Hasher as _};

use foldhash::fast::{FixedState, RandomState};
use onnx_ir::{Def, GraphId, Model, NodeId, ValueId};
use onnx_schema::Registry;
use onnx_shape_infer::{Content, Relation};
use onnx_types::expr::ExprTable;
use onnx_types::tensor::{DataSource, Tensor};
use onnx_types::{ElemClass, Interrupt, Symbol, Type};

use crate::assumption::{Condition, Exactness};
use crate::determinism::{has_references, is_deterministic, is_deterministic_in};
use crate::keys::{KeyMap, KeySet};
use crate::query::label;
use crate::transfer::Unsupported;
use crate::used_elements::Used;

/// Integer, Boolean and string constants of at most this many elements stay constants in the equivalence, although the
/// edit did not read them: as free operands (axes, shapes, indices), they would make almost every run fail.
const MAX_STRUCTURAL: u64 = 64;

/// Maximum number of elements of a constant that stays a constant if no run completes with a free one.
const MAX_FALLBACK: u64 = 1 << 20;

/// A request to stop is looked for after this many nodes.
const CHECKED_NODES: usize = 256;

/// An answer to a query that an edit used.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Recorded {
    Shape(ValueId),
    Content(ValueId),
    Constant(ValueId),
    Relation(Relation),
    Guard(String),
    /// An answer holds only where this graph is executed.
    Scope(GraphId),
    Granted(Condition),
}

/// The inferred facts about a value.
#[derive(Clone, Default)]
pub(crate) struct Known {
    pub(crate) ty: Option<Type>,
    /// Whether the sizes depend on a guard that is assumed.
    pub(crate) is_assumed: bool,
    pub(crate) content: Option<Content>,
}

/// The input of the extraction of an equivalence.
pub(crate) struct Region<'a> {
    pub(crate) model: &'a Model,
    /// The expressions in what is known.
    pub(crate) exprs: &'a ExprTable,
    pub(crate) known: &'a dyn Fn(ValueId) -> Known,
    pub(crate) taps: &'a [ValueId],
    pub(crate) pairs: &'a [(ValueId, ValueId)],
    pub(crate) recorded: &'a [Recorded],
    /// The dependencies of the recorded answers.
    pub(crate) used: &'a Used,
    /// New initializers and nodes: constants among them are part of the edit.
    pub(crate) own: (&'a [ValueId], &'a [NodeId]),
    pub(crate) class: Exactness,
    /// Operator set versions of the side `after` that differ.
    pub(crate) versions: &'a [(Symbol, i64)],
    pub(crate) data: &'a dyn DataSource,
    pub(crate) registry: &'a Registry,
    pub(crate) max_nodes: usize,
    pub(crate) interrupt: &'a Interrupt,
    /// Whether all constants stay constants.
    pub(crate) with_constants: bool,
}

/// The nodes and inputs of a claim.
pub(crate) struct Collected {
    /// The nodes of the sides `before` and `after`, producers first.
    pub(crate) sides: [Vec<NodeId>; 2],
    /// The values that both sides begin with.
    pub(crate) inputs: Vec<ValueId>,
    /// For each input, the constants after it that are equal to it: they are the same input.
    equal: Vec<Vec<ValueId>>,
}

impl Collected {
    /// The values that an input is: the first one, and the constants that are equal to it.
    pub(crate) fn values_of(&self, input: usize, first: ValueId) -> impl Iterator<Item = ValueId> {
        std::iter::once(first).chain(self.equal.get(input).into_iter().flatten().copied())
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Decision {
    Input,
    Node(NodeId),
}

#[derive(Clone, Copy)]
enum Step {
    Value { value: ValueId, is_root: bool, deriving: bool },
    Emit(NodeId),
}

struct Collector<'a> {
    region: &'a Region<'a>,
    decisions: KeyMap<ValueId, Decision>,
    inputs: Vec<ValueId>,
    /// For each input, the constants after it that are equal to it: they are the same input.
    equal: Vec<Vec<ValueId>>,
    /// The inputs that are constants, by the hashes of their elements.
    constants: HashMap<u64, Vec<usize>, RandomState>,
    /// Number of nodes of both sides.
    count: usize,
}

/// The nodes and inputs of the claim of a region.
pub(crate) fn collect(region: &Region<'_>) -> Result<Collected, Unsupported> {
    let (decisions, inputs, equal) = (KeyMap::default(), Vec::new(), Vec::new());
    let mut collector =
        Collector { region, decisions, inputs, equal, constants: HashMap::default(), count: 0 };
    let sides = [collector.side(false)?, collector.side(true)?];
    let Collector { inputs, equal, .. } = collector;
    Ok(Collected { sides, inputs, equal })
}

impl Region<'_> {
    pub(crate) fn replacement(&self, value: ValueId) -> Option<ValueId> {
        self.pairs.iter().find(|(old, _)| *old == value).map(|&(_, new)| new)
    }

    pub(crate) fn is_replaced(&self, value: ValueId) -> bool {
        self.replacement(value).is_some()
    }

    fn is_deterministic(&self, node: NodeId) -> bool {
        let is_new = !self.versions.is_empty() && self.own.1.contains(&node);
        match is_new {
            true => is_deterministic_in(self.model, node, self.registry, self.versions),
            false => is_deterministic(self.model, node, self.registry),
        }
    }

    fn is_own(&self, value: ValueId) -> bool {
        let (initializers, nodes) = self.own;
        let producer = self.model.value(value).producer();
        initializers.contains(&value) || producer.is_some_and(|producer| nodes.contains(&producer))
    }

    /// Returns `true` if a value is replaced, or replaces one: an edit of a constant is about its elements.
    fn is_in_pair(&self, value: ValueId) -> bool {
        self.pairs.iter().any(|&(old, new)| old == value || new == value)
    }

    /// Returns `true` if the edit depends on the elements of a value.
    pub(crate) fn uses_content(&self, value: ValueId) -> bool {
        self.used.elements.contains_key(value)
    }

    /// The constant that an input of the equivalence is.
    pub(crate) fn constant(&self, value: ValueId) -> Option<&Tensor> {
        let tensor = self.model.constant_tensor(value)?;
        let count = tensor.element_count()?;
        let is_structural = !matches!(tensor.elem().class(), ElemClass::Float | ElemClass::Complex)
            && count <= MAX_STRUCTURAL;
        let stays = self.is_own(value)
            || self.uses_content(value)
            || self.is_in_pair(value)
            || is_structural && tensor.bytes(self.data).is_ok()
            || self.with_constants && count <= MAX_FALLBACK;
        stays.then_some(tensor)
    }
}

impl Collector<'_> {
    /// The nodes of one side, producers first.
    fn side(&mut self, is_after: bool) -> Result<Vec<NodeId>, Unsupported> {
        let model = self.region.model;
        let mut nodes = Vec::new();
        let mut seen: KeySet<NodeId> = KeySet::default();
        let root = |&(old, new): &(ValueId, ValueId)| if is_after { new } else { old };
        let roots = self.region.pairs.iter().rev().map(root);
        let mut steps: Vec<Step> =
            roots.map(|value| Step::Value { value, is_root: !is_after, deriving: false }).collect();
        while let Some(step) = steps.pop() {
            let (value, is_root, deriving) = match step {
                Step::Emit(node) => {
                    nodes.push(node);
                    continue;
                }
                Step::Value { value, is_root, deriving } => (value, is_root, deriving),
            };
            let value = if is_after { self.region.replacement(value).unwrap_or(value) } else { value };
            // Many claims can have many nodes each, before any of them is tested.
            if self.count.is_multiple_of(CHECKED_NODES) {
                self.region.interrupt.check().map_err(|stopped| stopped.to_string())?;
            }
            let Decision::Node(node) = self.decide(value, is_root, deriving)? else { continue };
            if seen.insert(node, ()).is_some() {
                continue;
            }
            self.count = self.count.saturating_add(1);
            steps.push(Step::Emit(node));
            let deriving = deriving || self.region.taps.contains(&value) && self.region.uses_content(value);
            let begin = steps.len();
            model.for_each_use_within(node, |value| {
                if !is_inside(model, value, node) {
                    steps.push(Step::Value { value, is_root: false, deriving });
                }
            });
            if let Some(operands) = steps.get_mut(begin..) {
                operands.reverse();
            }
        }
        Ok(nodes)
    }

    fn decide(&mut self, value: ValueId, is_root: bool, deriving: bool) -> Result<Decision, Unsupported> {
        if let Some(&known) = self.decisions.get(value)
            && !(is_root && known == Decision::Input)
        {
            return Ok(known);
        }
        let decision = self.decide_first(value, is_root, deriving)?;
        let is_new = self.decisions.insert(value, decision) != Some(decision);
        if is_new && decision == Decision::Input {
            self.add_input(value);
        }
        Ok(decision)
    }

    /// Adds a value to the inputs, or to the constants that are equal to one of them.
    fn add_input(&mut self, value: ValueId) {
        let (model, data) = (self.region.model, self.region.data);
        let index = self.inputs.len();
        if let Some(constant) = model.constant_tensor(value) {
            let mut hasher = FixedState::default().build_hasher();
            constant.hash_meaning(data, &mut hasher);
            let alike = self.constants.entry(hasher.finish()).or_default();
            let is_equal = |&&other: &&usize| {
                let other = self.inputs.get(other).and_then(|&other| model.constant_tensor(other));
                other.is_some_and(|other| other.same_meaning(constant, data))
            };
            if let Some(equal) = alike.iter().find(is_equal).and_then(|&first| self.equal.get_mut(first)) {
                return equal.push(value);
            }
            alike.push(index);
        }
        self.inputs.push(value);
        self.equal.push(Vec::new());
    }

    fn decide_first(&self, value: ValueId, is_root: bool, deriving: bool) -> Result<Decision, Unsupported> {
        let region = self.region;
        let model = region.model;
        let node = match model.get_value(value).map(onnx_ir::Value::def) {
            Some(Def::Output { node, .. }) => node,
            Some(Def::Input { .. } | Def::Initializer(_)) => return Ok(Decision::Input),
            Some(Def::Unresolved(_)) | None => {
                return Err(format!("nothing defines {}", label(model, value)));
            }
        };
        if model.constant_tensor(value).is_some() {
            return Ok(Decision::Input);
        }
        if is_root {
            return match () {
                () if !region.is_deterministic(node) => {
                    Err("a value is the result of an operator that is not known to be deterministic"
                        .to_owned())
                }
                () if has_references(model, node) => {
                    Err("an attribute refers to an attribute of the function around it".to_owned())
                }
                () => Ok(Decision::Node(node)),
            };
        }
        let is_cut = region.taps.contains(&value) && !region.uses_content(value)
            || deriving && !region.uses_content(value)
            || self.count >= region.max_nodes
            || !region.is_deterministic(node)
            || has_references(model, node);
        Ok(if is_cut { Decision::Input } else { Decision::Node(node) })
    }
}

/// Returns `true` if a graph nested in a node defines the value.
pub(crate) fn is_inside(model: &Model, value: ValueId, node: NodeId) -> bool {
    let mut graph = model.graph_of(value);
    while let Some(owner) = model.owner_node(graph) {
        if owner == node {
            return true;
        }
        graph = model.node(owner).graph();
    }
    false
}
