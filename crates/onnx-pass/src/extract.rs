//! The equivalence of a patch: the computation between tapped and replaced values, before and after.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, Hasher as _};

use foldhash::fast::{FixedState, RandomState};
use onnx_ir::{Constant, Def, GraphId, Model, NewNode, NodeId, OpsetImport, Position, ValueId};
use onnx_schema::{Registry, domain, op};
use onnx_shape_infer::{Content, Elem, Relation};
use onnx_types::expr::ExprTable;
use onnx_types::tensor::{DataSource, Tensor};
use onnx_types::{Dim, ElemClass, Interrupt, Symbol, Type};

use crate::assumption::{Assumption, Condition, Exactness};
use crate::determinism::{has_references, is_deterministic, is_deterministic_in};
use crate::equivalence::{DOMAIN, Equivalence, Labels, SIDES};
use crate::keys::{KeyMap, KeySet};
use crate::query::label;
use crate::sample::SMALL;
use crate::transfer::{Transfer, Unsupported, in_memory};
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

/// The equivalence of a region, and the values that are its inputs.
pub(crate) fn extract(region: &Region<'_>) -> Result<(Equivalence, Vec<ValueId>), Unsupported> {
    let (decisions, inputs, equal) = (KeyMap::default(), Vec::new(), Vec::new());
    let mut collector =
        Collector { region, decisions, inputs, equal, constants: HashMap::default(), count: 0 };
    let before = collector.side(false)?;
    let after = collector.side(true)?;
    let transfer = Transfer::new(region.model, region.exprs, region.registry);
    let Collector { inputs, equal, .. } = &collector;
    let eq = Assembly { region, inputs, equal, transfer }.equivalence([&before, &after])?;
    Ok((eq, collector.inputs))
}

impl Region<'_> {
    fn replacement(&self, value: ValueId) -> Option<ValueId> {
        self.pairs.iter().find(|(old, _)| *old == value).map(|&(_, new)| new)
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
    fn uses_content(&self, value: ValueId) -> bool {
        self.used.elements.contains_key(value)
    }

    /// The constant that an input of the equivalence is.
    fn constant(&self, value: ValueId) -> Option<&Tensor> {
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

/// The values that an input of the equivalence is: the first one, and the constants that are equal to it.
fn values_of(equal: &[Vec<ValueId>], input: usize, first: ValueId) -> impl Iterator<Item = ValueId> {
    std::iter::once(first).chain(equal.get(input).into_iter().flatten().copied())
}

struct Assembly<'a> {
    region: &'a Region<'a>,
    inputs: &'a [ValueId],
    equal: &'a [Vec<ValueId>],
    transfer: Transfer<'a>,
}

impl Assembly<'_> {
    fn equivalence(mut self, sides: [&[NodeId]; 2]) -> Result<Equivalence, Unsupported> {
        let main = self.transfer.to.main_graph();
        let name = self.transfer.to.intern("equivalence");
        self.transfer.to.set_graph_name(main, name);
        let mut operands = Vec::new();
        for (index, &input) in self.inputs.iter().enumerate() {
            operands.push(self.input(index, input)?);
        }
        let assume = self.assumptions();
        let mut calls = Vec::new();
        for (is_after, nodes) in sides.iter().enumerate() {
            calls.push(self.side(is_after == 1, nodes, &operands)?);
        }
        self.transfer.functions()?;
        let [(before, first), (after, second)] = calls.as_slice() else {
            return Err("a side is missing".to_owned());
        };
        let (calls, functions) = ([*before, *after], [*first, *second]);
        let mut model = self.transfer.to;
        Equivalence::write_metadata(&mut model, self.region.class, &assume);
        let original = self.region.model;
        let name = |value: ValueId| original.str(original.value(value).name()).to_owned();
        let labels = Labels {
            inputs: self.inputs.iter().map(|&value| name(value)).collect(),
            outputs: self.region.pairs.iter().map(|&(old, _)| name(old)).collect(),
        };
        Ok(Equivalence { model, calls, functions, assume, class: self.region.class, labels })
    }

    /// Makes an input of the main graph, or an initializer.
    fn input(&mut self, index: usize, value: ValueId) -> Result<ValueId, Unsupported> {
        let region = self.region;
        let main = self.transfer.to.main_graph();
        // One of equal constants is enough to fix the elements of all.
        if let Some(tensor) = values_of(self.equal, index, value).find_map(|value| region.constant(value)) {
            let mut tensor = in_memory(tensor, region.data).map_err(|error| error.to_string())?;
            tensor.set_name("");
            let name = self.transfer.to.intern(&format!("c{index}"));
            return Ok(self.transfer.to.add_initializer(main, name, Constant::Dense(tensor)));
        }
        let known = (region.known)(value);
        let ty = match region.model.constant_tensor(value) {
            Some(tensor) => Some(Type::tensor(tensor.elem(), Some(onnx_types::Shape::known(tensor.dims())))),
            None => known.ty.or_else(|| region.model.ty(value).cloned()),
        };
        let ty = ty.ok_or_else(|| format!("the type of {} is not known", label(region.model, value)))?;
        let ty = self.transfer.input_type(&ty, !known.is_assumed);
        Ok(self.transfer.to.add_graph_input(main, &format!("x{index}"), ty))
    }

    /// Makes the function of a side, and the node that calls it.
    fn side(
        &mut self,
        is_after: bool,
        nodes: &[NodeId],
        operands: &[ValueId],
    ) -> Result<(NodeId, onnx_ir::FunctionId), Unsupported> {
        let region = self.region;
        let name = if is_after { SIDES[1] } else { SIDES[0] };
        let [domain, name, empty] = [DOMAIN, name, ""].map(|text| self.transfer.to.intern(text));
        let function = self.transfer.to.add_function(domain, name, empty);
        let body = self.transfer.to.function(function).body();
        self.transfer.begin();
        let mut inputs: KeyMap<ValueId, ValueId> = KeyMap::default();
        for (index, &input) in self.inputs.iter().enumerate() {
            let inner = self.transfer.to.add_graph_input(body, &format!("x{index}"), None);
            for value in values_of(self.equal, index, input) {
                self.transfer.map(value, inner);
                inputs.insert(value, inner);
            }
        }
        let imports = self.imports(nodes, is_after);
        self.transfer.to.function_mut(function).opset_imports = imports;
        for &node in nodes {
            if is_after {
                self.redirect(node)?;
            }
            self.transfer.node(node, body)?;
            // A node can make an input of the equivalence, and another value that is needed on this side only.
            for &output in region.model.node(node).outputs().iter().flatten() {
                if let Some(&inner) = inputs.get(output).filter(|_| !self.is_replaced(output)) {
                    self.transfer.map(output, inner);
                }
            }
        }
        let mut outputs = Vec::new();
        for (index, &(old, new)) in region.pairs.iter().enumerate() {
            let value = self.transfer.mapped(if is_after { new } else { old })?;
            outputs.push(self.output(body, index, value)?);
        }
        for value in outputs {
            self.transfer.to.push_graph_output(body, value);
        }
        let call = self.call((domain, name), operands)?;
        Ok((call, function))
    }

    fn is_replaced(&self, value: ValueId) -> bool {
        self.region.pairs.iter().any(|&(old, _)| old == value)
    }

    /// Replaces the old values by the new ones in the operands of a copied node.
    fn redirect(&mut self, node: NodeId) -> Result<(), Unsupported> {
        let region = self.region;
        let mut replaced = Vec::new();
        region.model.for_each_use_within(node, |value| {
            if let Some(new) = region.replacement(value) {
                replaced.push((value, new));
            }
        });
        for (old, new) in replaced {
            let value = self.transfer.mapped(new)?;
            self.transfer.map(old, value);
        }
        Ok(())
    }

    /// An output of a function: a value of a node that is not an output already.
    fn output(&mut self, body: GraphId, index: usize, value: ValueId) -> Result<ValueId, Unsupported> {
        let to = &mut self.transfer.to;
        let name = to.intern(&format!("y{index}"));
        let new = to.new_value(name);
        let identity = NewNode::new(op::IDENTITY).inputs([value]).outputs([new]);
        to.add_node(Position::End(body), identity).map_err(|error| error.to_string())?;
        Ok(new)
    }

    fn call(
        &mut self,
        (domain, name): (Symbol, Symbol),
        operands: &[ValueId],
    ) -> Result<NodeId, Unsupported> {
        let to = &mut self.transfer.to;
        let main = to.main_graph();
        let side = to.str(name).to_owned();
        let mut new = NewNode::new(name).domain(domain).inputs(operands.iter().copied());
        let mut outputs = Vec::new();
        for index in 0..self.region.pairs.len() {
            let name = to.intern(&format!("{side}{index}"));
            outputs.push(to.new_value(name));
        }
        new = new.outputs(outputs.iter().copied());
        let node = to.add_node(Position::End(main), new).map_err(|error| error.to_string())?;
        for (value, &(old, _)) in outputs.into_iter().zip(self.region.pairs) {
            if let Some(ty) = (self.region.known)(old).ty {
                let ty = self.transfer.input_type(&ty, false);
                self.transfer.to.set_type(value, Some(ty));
            }
            self.transfer.to.push_graph_output(main, value);
        }
        if self.transfer.to.info().opset_imports.is_empty() {
            let version = self.versions_of_model();
            self.transfer.to.info_mut().opset_imports = version;
        }
        Ok(node)
    }

    fn versions_of_model(&mut self) -> Vec<OpsetImport> {
        let version = self.region.model.opset_version(domain::ONNX).unwrap_or(1);
        let own = self.transfer.to.intern(DOMAIN);
        vec![OpsetImport::new(domain::ONNX, version), OpsetImport::new(own, 1)]
    }

    /// The operator sets that the nodes of a side use.
    fn imports(&mut self, nodes: &[NodeId], is_after: bool) -> Vec<OpsetImport> {
        let model = self.region.model;
        let mut used: Vec<(Symbol, Option<i64>)> = Vec::new();
        // The outputs are made by `Identity`.
        let scope = self.region.pairs.first().map(|&(old, _)| model.graph_of(old));
        let versions = scope.map(|graph| model.versions_in(graph));
        used.push((domain::ONNX, versions.and_then(|versions| versions.get(domain::ONNX))));
        for &node in nodes {
            for inner in model.walk_node(node).nodes() {
                let record = model.node(inner);
                if !used.iter().any(|(domain, _)| *domain == record.domain()) {
                    let version = model.versions_in(record.graph()).get(record.domain());
                    used.push((record.domain(), version));
                }
            }
        }
        let mut imports = Vec::new();
        for (domain, version) in used {
            let changed = self.region.versions.iter().find(|(other, _)| *other == domain);
            let version = changed.filter(|_| is_after).map(|&(_, version)| version).or(version);
            imports.push(OpsetImport::new(self.transfer.symbol(domain), version.unwrap_or(1)));
        }
        imports
    }

    fn assumptions(&mut self) -> Vec<Assumption> {
        let region = self.region;
        let mut assume: Vec<Assumption> = Vec::new();
        let mut shapes: KeySet<ValueId> = KeySet::default();
        for assumption in self.assumptions_of_inputs() {
            let is_new = match &assumption {
                Assumption::Shape { input } => {
                    self.inputs.get(*input).is_none_or(|&value| shapes.insert(value, ()).is_none())
                }
                // One for each input.
                Assumption::Constant { .. } | Assumption::Content { .. } => true,
                other => !assume.contains(other),
            };
            if is_new {
                assume.push(assumption);
            }
        }
        for recorded in region.recorded {
            let assumption = match recorded {
                // `assumptions_of_inputs` has the shapes and elements that these answers depend on.
                Recorded::Shape(_) | Recorded::Constant(_) | Recorded::Content(_) | Recorded::Scope(_) => {
                    None
                }
                Recorded::Relation(relation) => Some(Assumption::Relation(self.relation(*relation))),
                Recorded::Guard(text) => Some(Assumption::Guard(text.clone())),
                Recorded::Granted(condition) => Some(Assumption::Granted(*condition)),
            };
            if let Some(assumption) = assumption.filter(|assumption| !assume.contains(assumption)) {
                assume.push(assumption);
            }
        }
        assume
    }

    /// The facts about the inputs that the edit used: their sizes and their elements.
    fn assumptions_of_inputs(&mut self) -> Vec<Assumption> {
        let region = self.region;
        let mut assume = Vec::new();
        for recorded in region.recorded {
            if let Recorded::Shape(value) = *recorded {
                assume.extend(self.shape_assumptions(value));
            }
        }
        for &value in &region.used.sizes {
            assume.extend(self.shape_assumptions(value));
        }
        for (input, &value) in self.inputs.iter().enumerate() {
            if !values_of(self.equal, input, value).any(|value| region.uses_content(value)) {
                continue;
            }
            if values_of(self.equal, input, value).any(|value| region.constant(value).is_some()) {
                assume.push(Assumption::Constant { input });
            } else if let Some(content) = (region.known)(value).content {
                let elements = content.iter().map(|&elem| self.elem(elem)).collect();
                assume.push(Assumption::Content { input, elements });
            }
        }
        assume
    }

    /// What the edit used about the sizes of a value: the shape of an input, or the numbers among the sizes of what is
    /// computed, which runs must not replace by smaller ones.
    fn shape_assumptions(&self, value: ValueId) -> Vec<Assumption> {
        if let Some(input) = self.inputs.iter().position(|&input| input == value) {
            return vec![Assumption::Shape { input }];
        }
        let ty = (self.region.known)(value).ty;
        let shape = ty.as_ref().and_then(Type::tensor_type).and_then(|ty| ty.shape.as_ref());
        let numbers =
            shape.map(|shape| shape.dims()).unwrap_or_default().iter().filter_map(|dim| dim.known());
        let number = |size: i64| Assumption::Relation(Relation::Equal(Dim::Known(size), Dim::Known(size)));
        numbers.filter(|&size| size > SMALL).map(number).collect()
    }

    fn elem(&mut self, elem: Elem) -> Elem {
        match elem {
            Elem::Int(dim) => Elem::int(self.transfer.dim(dim)),
            Elem::Dyadic(dim, by) => match self.transfer.dim(dim) {
                Dim::Unknown => Elem::Unknown,
                dim => Elem::Dyadic(dim, by),
            },
            Elem::Quotient(..) => Elem::Unknown,
            Elem::Float(_) | Elem::Unknown => elem,
        }
    }

    fn relation(&mut self, relation: Relation) -> Relation {
        let mut both = |a, b| (self.transfer.dim(a), self.transfer.dim(b));
        match relation {
            Relation::Equal(a, b) => {
                let (a, b) = both(a, b);
                Relation::Equal(a, b)
            }
            Relation::AtMost(a, b) => {
                let (a, b) = both(a, b);
                Relation::AtMost(a, b)
            }
            Relation::Divides(a, b) => {
                let (a, b) = both(a, b);
                Relation::Divides(a, b)
            }
            Relation::Broadcasts(a, b) => {
                let (a, b) = both(a, b);
                Relation::Broadcasts(a, b)
            }
            Relation::Declared(_) | Relation::Default(_) => relation,
        }
    }
}
