//! The matching of two models, from their inputs and outputs inwards.
//!
//! Parts that are the only ones with a color correspond: what a node computes from the inputs (forward color) or is used for
//! (backward color), with and without the elements of weights. An edit changes the forward colors of what depends on it and
//! the backward colors of what it depends on, so nearly everything has a partner by one or the other. The rest is aligned with
//! neighbors that have partners, first with equal labels, then with equal operators.

use std::collections::{BTreeMap, HashMap};

use foldhash::fast::RandomState;
use onnx_ir::{Def, GraphId, GraphOutput, Model, NodeId, Owner, User, ValueId};
use onnx_types::{Execution, Stopped, Watch};
use slotmap::{Key as _, SecondaryMap};

use super::interface::Border;
use super::pairs::Pairs;
use super::side::Side;
use super::unique::{NODE_NAMES, VALUE_NAMES, only, value_name};
use crate::hash::{Colors, Digest, Message, nested};

/// Number of steps after which the interrupt is checked.
const INTERVAL: u64 = 256;

/// The properties that neighbors of corresponding parts must share to correspond themselves.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Level {
    /// Everything but the operands.
    Label,
    /// Everything but the operands and the elements of tensors.
    Kind,
    /// The operator.
    Operator,
    /// The operands.
    Operands,
}

#[derive(Clone, Copy)]
enum Found {
    Nodes(NodeId, NodeId),
    Values(ValueId, ValueId),
    Graphs(GraphId, GraphId),
}

struct Matcher<'a> {
    a: &'a Side<'a>,
    b: &'a Side<'a>,
    border: &'a Border,
    pairs: Pairs,
    found: Vec<Found>,
    watch: Watch,
    /// Watches steps that progress does not count.
    parts: Watch,
}

/// Matches two models in time linear in them, up to sorting.
pub(crate) fn matched(
    a: &Side<'_>,
    b: &Side<'_>,
    border: &Border,
    execution: &Execution,
) -> Result<Pairs, Stopped> {
    let total = (a.model.node_count() as u64).saturating_add(b.model.node_count() as u64);
    let watch = Watch::new(execution, "diff", total, INTERVAL);
    let parts = Watch::silent(&execution.interrupt, INTERVAL);
    let mut matcher = Matcher { a, b, border, pairs: Pairs::default(), found: Vec::new(), watch, parts };
    for &(one, two) in &border.inputs {
        matcher.pair_values(one, two);
    }
    for &(one, two) in &border.graphs {
        matcher.pair_graphs(one, two);
    }
    matcher.by_all_colors()?;
    matcher.align(0, Level::Label)?;
    // Indistinguishable nodes are paired before names are compared, because names are not part of the comparison.
    matcher.in_order(true)?;
    matcher.by_colors()?;
    matcher.by_operands(true)?;
    matcher.align(0, Level::Operands)?;
    matcher.by_operands(false)?;
    matcher.by_contents()?;
    matcher.by_names()?;
    matcher.in_order(false)?;
    matcher.left_over()?;
    Ok(matcher.pairs)
}

impl Matcher<'_> {
    fn pair_nodes(&mut self, a: NodeId, b: NodeId) {
        self.pairs.nodes.insert(a, b);
        self.pairs.nodes_of_b.insert(b, a);
        self.found.push(Found::Nodes(a, b));
        let others = nested(self.b.model, b);
        let text = |model: &Model, name| model.str(name).to_owned();
        let mut known: BTreeMap<(String, usize), GraphId> = others
            .into_iter()
            .map(|(name, element, graph)| ((text(self.b.model, name), element), graph))
            .collect();
        for (name, element, graph) in nested(self.a.model, a) {
            if let Some(other) = known.remove(&(text(self.a.model, name), element)) {
                self.pair_graphs(graph, other);
            }
        }
    }

    fn pair_values(&mut self, a: ValueId, b: ValueId) {
        self.pairs.values.insert(a, b);
        self.pairs.values_of_b.insert(b, a);
        self.found.push(Found::Values(a, b));
    }

    fn pair_graphs(&mut self, a: GraphId, b: GraphId) {
        self.pairs.graphs.insert(a, b);
        self.found.push(Found::Graphs(a, b));
        let inputs = self.a.model.graph(a).inputs().iter().zip(self.b.model.graph(b).inputs());
        for (&one, &two) in inputs {
            if self.pairs.are_free_values(one, two) && a != self.a.model.main_graph() {
                self.pair_values(one, two);
            }
        }
    }

    /// Pairs nodes that are computed and used in the same way.
    fn by_all_colors(&mut self) -> Result<(), Stopped> {
        let (a, b) = (self.a, self.b);
        for (one, two) in a.colors.iter().zip(&b.colors) {
            self.unique(false, |side, node| {
                let colors = if side { two } else { one };
                Some((*colors.forward.get(node)?, *colors.backward.get(node)?))
            })?;
        }
        Ok(())
    }

    fn by_colors(&mut self) -> Result<(), Stopped> {
        let (a, b) = (self.a, self.b);
        for (one, two) in a.colors.iter().zip(&b.colors) {
            let choose = |side: bool| if side { two } else { one };
            self.unique(true, |side, node| Some((*choose(side).forward.get(node)?, Digest::default())))?;
            self.unique(true, |side, node| Some((Digest::default(), *choose(side).backward.get(node)?)))?;
        }
        self.initializers_by_colors()
    }

    /// Pairs initializers with the same elements and uses, then with the same uses and name, with the same elements, with the
    /// same uses.
    fn initializers_by_colors(&mut self) -> Result<(), Stopped> {
        let (a, b) = (self.a, self.b);
        let colors = |is_b: bool, is_bare: bool| {
            let colors = if is_b { &b.colors } else { &a.colors };
            if is_bare { colors.last() } else { colors.first() }
        };
        let used = |is_b, is_bare, value| colors(is_b, is_bare)?.used.get(value).copied();
        let name = |is_b, value| match value_name(if is_b { b } else { a }, value) {
            "" => None,
            name => Some(Digest::of_text(name)),
        };
        self.unique_initializers(|is_b, value| Some((used(is_b, false, value)?, Digest::default())))?;
        self.unique_initializers(|is_b, value| Some((used(is_b, true, value)?, name(is_b, value)?)))?;
        self.unique_initializers(|is_b, value| {
            Some((*colors(is_b, false)?.constants.get(value)?, Digest::default()))
        })?;
        self.unique_initializers(|is_b, value| Some((used(is_b, true, value)?, Digest::default())))
    }

    /// Pairs the nodes that are the only ones of their models with a key; of several, those with a unique name if names
    /// count. The key is given for the second model if its first argument is `true`.
    fn unique(
        &mut self,
        names: bool,
        key: impl Fn(bool, NodeId) -> Option<(Digest, Digest)>,
    ) -> Result<(), Stopped> {
        let parts = &mut self.parts;
        let mut keys = |side: &Side<'_>, is_b: bool, taken: &SecondaryMap<NodeId, NodeId>| {
            let mut keyed = Vec::new();
            for node in side.nodes() {
                parts.work(1)?;
                if !taken.contains_key(node)
                    && let Some((first, second)) = key(is_b, node)
                {
                    keyed.push(((side.root(side.model.node(node).graph()), first, second), node));
                }
            }
            Ok::<_, Stopped>(keyed)
        };
        let one = keys(self.a, false, &self.pairs.nodes)?;
        let two = keys(self.b, true, &self.pairs.nodes_of_b)?;
        let names = if names { NODE_NAMES } else { &[] };
        for (a, b) in only(self.a, one, self.b, two, names, &mut self.parts)? {
            self.parts.work(1)?;
            self.pair_nodes(a, b);
        }
        Ok(())
    }

    fn unique_initializers(
        &mut self,
        key: impl Fn(bool, ValueId) -> Option<(Digest, Digest)>,
    ) -> Result<(), Stopped> {
        let parts = &mut self.parts;
        let mut keys = |side: &Side<'_>, is_b: bool, taken: &SecondaryMap<ValueId, ValueId>| {
            let mut keyed = Vec::new();
            for (graph, value) in side.initializers() {
                parts.work(1)?;
                if !taken.contains_key(value)
                    && let Some((first, second)) = key(is_b, value)
                {
                    keyed.push(((side.root(graph), first, second), value));
                }
            }
            Ok::<_, Stopped>(keyed)
        };
        let one = keys(self.a, false, &self.pairs.values)?;
        let two = keys(self.b, true, &self.pairs.values_of_b)?;
        for (a, b) in only(self.a, one, self.b, two, VALUE_NAMES, &mut self.parts)? {
            self.parts.work(1)?;
            self.pair_values(a, b);
        }
        Ok(())
    }

    /// Pairs nodes with equal labels and operands that correspond. Several with the same operands are paired in the order of the
    /// files, unless only what is unique counts. A node whose operands are paired here follows them, because graphs are sorted.
    fn by_operands(&mut self, is_unique: bool) -> Result<(), Stopped> {
        let mut message = Message::new();
        let mut open: HashMap<Digest, Vec<NodeId>, RandomState> = HashMap::default();
        let free: Vec<NodeId> =
            self.b.nodes().filter(|&node| !self.pairs.nodes_of_b.contains_key(node)).collect();
        for node in free.into_iter().rev() {
            self.parts.work(1)?;
            if let Some(key) = operands_key(self.b, node, &mut message, Some, Some) {
                open.entry(key).or_default().push(node);
            }
        }
        let free: Vec<NodeId> = self.a.nodes().filter(|&node| !self.pairs.nodes.contains_key(node)).collect();
        for node in free {
            self.parts.work(1)?;
            let (nodes, values) = (&self.pairs.nodes, &self.pairs.values);
            let key = operands_key(
                self.a,
                node,
                &mut message,
                |node| nodes.get(node).copied(),
                |value| values.get(value).copied(),
            );
            let others = key.and_then(|key| open.get_mut(&key));
            let others = others.filter(|others| !is_unique || others.len() == 1);
            if let Some(other) = others.and_then(Vec::pop)
                && self.pairs.are_free(node, other)
            {
                self.pair_nodes(node, other);
            }
        }
        Ok(())
    }

    /// Aligns the neighbors of the pairs found since `start`, first those with most in common.
    fn align(&mut self, start: usize, last: Level) -> Result<(), Stopped> {
        for level in [Level::Label, Level::Kind, Level::Operator, Level::Operands] {
            let mut at = start;
            while level <= last && at < self.found.len() {
                self.watch.work(1)?;
                if let Some(&found) = self.found.get(at) {
                    self.expand(found, level)?;
                }
                at = at.saturating_add(1);
            }
        }
        Ok(())
    }

    fn expand(&mut self, found: Found, level: Level) -> Result<(), Stopped> {
        match found {
            Found::Nodes(a, b) => {
                let (one, two) = (self.a.model.node(a), self.b.model.node(b));
                for (one, two) in one.inputs().zip(two.inputs()) {
                    self.operand(one, two, level);
                }
                for (one, two) in one.outputs().iter().zip(two.outputs()) {
                    self.users(*one, *two, level)?;
                }
            }
            Found::Values(a, b) => self.users(Some(a), Some(b), level)?,
            Found::Graphs(a, b) => {
                let (one, two) = (self.a.model.graph(a).outputs(), self.b.model.graph(b).outputs());
                let count = one.len().min(two.len());
                let border = self.border;
                let is_main = a == self.a.model.main_graph();
                let pairs: &mut dyn Iterator<Item = (usize, usize)> = match is_main {
                    true => &mut border.outputs.iter().copied(),
                    false => &mut (0..count).zip(0..count),
                };
                for (i, j) in pairs {
                    let value = |outputs: &[GraphOutput], at: usize| outputs.get(at).map(GraphOutput::value);
                    self.operand(value(one, i), value(two, j), level);
                }
            }
        }
        Ok(())
    }

    /// Pairs the producers of two operands at the same index.
    fn operand(&mut self, one: Option<ValueId>, two: Option<ValueId>, level: Level) {
        let (Some(one), Some(two)) = (one, two) else { return };
        let (a, b) = (self.a.model.value(one), self.b.model.value(two));
        match (a.def(), b.def()) {
            (Def::Output { node: a, index }, Def::Output { node: b, index: other })
                if index == other && self.pairs.are_free(a, b) && self.fit(a, b, level) =>
            {
                self.pair_nodes(a, b);
            }
            (Def::Initializer(_) | Def::Input { .. }, Def::Initializer(_) | Def::Input { .. })
                if a.initializer().is_some()
                    && b.initializer().is_some()
                    && self.pairs.are_free_values(one, two) =>
            {
                let label = |side: &Side<'_>, value, at: usize| {
                    side.colors.get(at).or_else(|| side.colors.last())?.constants.get(value).copied()
                };
                let fit = match level {
                    Level::Label => label(self.a, one, 0) == label(self.b, two, 0),
                    Level::Kind => label(self.a, one, 1) == label(self.b, two, 1),
                    Level::Operator | Level::Operands => true,
                };
                if fit {
                    self.pair_values(one, two);
                }
            }
            _ => {}
        }
    }

    /// The properties that two nodes must have in common at a level.
    fn aspect(side: &Side<'_>, node: NodeId, level: Level) -> Digest {
        let digests = match level {
            Level::Label => side.colors.first().map(|colors| &colors.labels),
            Level::Kind => side.colors.last().map(|colors| &colors.labels),
            Level::Operator => Some(&side.operators),
            Level::Operands => None,
        };
        digests.and_then(|digests| digests.get(node)).copied().unwrap_or_default()
    }

    fn fit(&self, a: NodeId, b: NodeId, level: Level) -> bool {
        if level != Level::Operands {
            return Self::aspect(self.a, a, level) == Self::aspect(self.b, b, level);
        }
        let (one, two) = (self.a.model.node(a), self.b.model.node(b));
        let mut pairs = one.inputs().zip(two.inputs());
        let same_counts =
            one.input_count() == two.input_count() && one.outputs().len() == two.outputs().len();
        same_counts && pairs.all(|(x, y)| self.can_correspond(x, y))
    }

    /// Returns `true` if two operands correspond, or are equal initializers or results of equal nodes that are not paired yet.
    fn can_correspond(&self, x: Option<ValueId>, y: Option<ValueId>) -> bool {
        if self.pairs.correspond((self.a.model, x), (self.b.model, y)) {
            return true;
        }
        let (Some(x), Some(y)) = (x, y) else { return false };
        let (one, two) = (self.a.model.value(x).def(), self.b.model.value(y).def());
        if let (Def::Output { node: a, index }, Def::Output { node: b, index: other }) = (one, two) {
            let color = |side: &Side<'_>, node| side.colors.first()?.forward.get(node).copied();
            let color_of_a = color(self.a, a);
            return index == other
                && color_of_a.is_some()
                && color_of_a == color(self.b, b)
                && self.pairs.are_free(a, b);
        }
        let label = |side: &Side<'_>, value| side.colors.first()?.constants.get(value).copied();
        let label_of_a = label(self.a, x);
        label_of_a.is_some() && label_of_a == label(self.b, y) && self.pairs.are_free_values(x, y)
    }

    /// Pairs the users of two values that correspond, if they are the only ones of their kind at their operand index.
    fn users(&mut self, one: Option<ValueId>, two: Option<ValueId>, last: Level) -> Result<(), Stopped> {
        let (Some(one), Some(two)) = (one, two) else { return Ok(()) };
        for level in [Level::Label, Level::Kind, Level::Operator, Level::Operands] {
            if level > last {
                break;
            }
            let open = |side: &Side<'_>, value: ValueId, taken: &SecondaryMap<NodeId, NodeId>| {
                let uses = side.model.value(value).uses().iter();
                let keyed = uses.filter_map(|at| match at.user {
                    User::Node(node) if !taken.contains_key(node) => {
                        let root = side.roots.get(side.model.node(node).graph())?;
                        let port = Digest::of_number(at.index.into());
                        Some(((*root, Self::aspect(side, node, level), port), node))
                    }
                    _ => None,
                });
                keyed.collect::<Vec<_>>()
            };
            let first = open(self.a, one, &self.pairs.nodes);
            if first.is_empty() {
                return Ok(());
            }
            let second = open(self.b, two, &self.pairs.nodes_of_b);
            for (a, b) in only(self.a, first, self.b, second, NODE_NAMES, &mut self.parts)? {
                // A node can use a value several times.
                let is_free =
                    self.pairs.are_free(a, b) && (level != Level::Operands || self.fit(a, b, level));
                // Nested graphs use outer values, too. Nodes that stay in their graph are paired before those that may have moved.
                if is_free && (last > Level::Label || self.are_in_paired_graphs(a, b)) {
                    self.pair_nodes(a, b);
                }
            }
        }
        Ok(())
    }

    /// Returns `false` if the graph of the first node corresponds to another one than that of the second.
    fn are_in_paired_graphs(&self, a: NodeId, b: NodeId) -> bool {
        let [one, two] = [self.a.model.node(a).graph(), self.b.model.node(b).graph()];
        self.pairs.graphs.get(one).is_none_or(|&graph| graph == two)
    }

    /// Pairs nodes with nested graphs in which nodes correspond.
    fn by_contents(&mut self) -> Result<(), Stopped> {
        let owner = |model: &Model, node: NodeId| match model.graph(model.node(node).graph()).owner() {
            Owner::Node(node) => Some(node),
            _ => None,
        };
        let (start, mut at) = (self.found.len(), 0);
        while let Some(&found) = self.found.get(at) {
            self.watch.work(1)?;
            at = at.saturating_add(1);
            let Found::Nodes(a, b) = found else { continue };
            if let (Some(a), Some(b)) = (owner(self.a.model, a), owner(self.b.model, b))
                && self.pairs.are_free(a, b)
            {
                self.pair_nodes(a, b);
            }
        }
        self.align(start, Level::Operands)
    }

    /// Pairs nodes of one operator and initializers that have the same name, which no other has.
    fn by_names(&mut self) -> Result<(), Stopped> {
        let start = self.found.len();
        let (a, b) = (self.a, self.b);
        for name in NODE_NAMES {
            let named = |side: &Side<'_>, node: NodeId| match name(side, node) {
                "" => None,
                name => Some((side.operators.get(node).copied()?, Digest::of_text(name))),
            };
            self.unique(true, |is_b, node| named(if is_b { b } else { a }, node))?;
        }
        self.unique_initializers(|is_b, value| match value_name(if is_b { b } else { a }, value) {
            "" => None,
            name => Some((Digest::of_text(name), Digest::default())),
        })?;
        self.align(start, Level::Operands)
    }

    /// Pairs the remaining nodes in the order of the files if they are indistinguishable. If `all` is `true`, both
    /// colors must be equal, else one of them.
    fn in_order(&mut self, all: bool) -> Result<(), Stopped> {
        let (a, b) = (self.a, self.b);
        for (one, two) in a.colors.iter().zip(&b.colors).take(if all { 1 } else { usize::MAX }) {
            for is_forward in if all { &[true][..] } else { &[true, false] } {
                let color = |colors: &Colors, node| {
                    let (forward, backward) = (*colors.forward.get(node)?, *colors.backward.get(node)?);
                    let none = Digest::default();
                    Some(match (all, is_forward) {
                        (true, _) => (forward, backward),
                        (false, true) => (forward, none),
                        (false, false) => (none, backward),
                    })
                };
                let key = |side: &Side<'_>, colors, node| {
                    Some((side.root(side.model.node(node).graph()), color(colors, node)?))
                };
                let mut open: BTreeMap<(u64, (Digest, Digest)), Vec<NodeId>> = BTreeMap::new();
                let free = b.nodes().filter(|&node| !self.pairs.nodes_of_b.contains_key(node));
                for node in free {
                    self.parts.work(1)?;
                    open.entry(key(b, two, node).unwrap_or_default()).or_default().push(node);
                }
                open.values_mut().for_each(|nodes| nodes.reverse());
                let free: Vec<NodeId> =
                    a.nodes().filter(|&node| !self.pairs.nodes.contains_key(node)).collect();
                for node in free {
                    self.parts.work(1)?;
                    let others = key(a, one, node).and_then(|key| open.get_mut(&key));
                    let Some(others) = others.filter(|_| !self.pairs.nodes.contains_key(node)) else {
                        continue;
                    };
                    while others.last().is_some_and(|&other| self.pairs.nodes_of_b.contains_key(other)) {
                        others.pop();
                    }
                    if let Some(other) = others.pop() {
                        let start = self.found.len();
                        self.pair_nodes(node, other);
                        self.align(start, Level::Label)?;
                    }
                }
            }
        }
        if !all {
            self.initializers_in_order()?;
        }
        Ok(())
    }

    /// Pairs the nodes of corresponding graphs that are the only ones left, such as a node that reads and changes nothing: first
    /// of one operator, then of all, with operands that correspond.
    fn left_over(&mut self) -> Result<(), Stopped> {
        for level in [Level::Operator, Level::Operands] {
            let start = self.found.len();
            let key = |side: &Side<'_>, node: NodeId, graph: GraphId| {
                let graph = Digest::of_number(graph.data().as_ffi());
                ((0, graph, Self::aspect(side, node, level)), node)
            };
            let one = self.a.nodes().filter(|&node| !self.pairs.nodes.contains_key(node));
            let one = one.filter_map(|node| {
                let graph = *self.pairs.graphs.get(self.a.model.node(node).graph())?;
                Some(key(self.a, node, graph))
            });
            let two = self.b.nodes().filter(|&node| !self.pairs.nodes_of_b.contains_key(node));
            let two = two.map(|node| key(self.b, node, self.b.model.node(node).graph()));
            let (one, two) = (one.collect(), two.collect());
            for (a, b) in only(self.a, one, self.b, two, &[], &mut self.parts)? {
                if self.fit(a, b, Level::Operands) {
                    self.pair_nodes(a, b);
                }
            }
            self.align(start, Level::Operands)?;
        }
        Ok(())
    }

    fn initializers_in_order(&mut self) -> Result<(), Stopped> {
        let (a, b) = (self.a, self.b);
        for (one, two) in a.colors.iter().zip(&b.colors) {
            let mut open: BTreeMap<(u64, Digest), Vec<ValueId>> = BTreeMap::new();
            let free: Vec<_> =
                b.initializers().filter(|(_, value)| !self.pairs.values_of_b.contains_key(*value)).collect();
            for (graph, value) in free.into_iter().rev() {
                self.parts.work(1)?;
                let Some(&label) = two.constants.get(value) else { continue };
                open.entry((b.root(graph), label)).or_default().push(value);
            }
            let free: Vec<_> =
                a.initializers().filter(|(_, value)| !self.pairs.values.contains_key(*value)).collect();
            for (graph, value) in free {
                self.parts.work(1)?;
                let Some(&label) = one.constants.get(value) else { continue };
                if let Some(other) = open.get_mut(&(a.root(graph), label)).and_then(Vec::pop) {
                    self.pair_values(value, other);
                }
            }
        }
        Ok(())
    }
}

/// The label of a node with its operands as parts of the second model; `None` if it has no operand, or one has no partner.
fn operands_key(
    side: &Side<'_>,
    node: NodeId,
    message: &mut Message,
    partner: impl Fn(NodeId) -> Option<NodeId>,
    partner_of_value: impl Fn(ValueId) -> Option<ValueId>,
) -> Option<Digest> {
    let record = side.model.node(node);
    if record.input_count() == 0 {
        return None;
    }
    let label = side.colors.first()?.labels.get(node).copied()?;
    message.begin("operands").digest(label).number(side.root(record.graph()));
    for value in record.inputs().flatten() {
        let of = side.model.value(value);
        match of.def() {
            Def::Output { node, index } => {
                message.byte(1).number(partner(node)?.data().as_ffi()).number(index.into());
            }
            Def::Input { .. } | Def::Initializer(_) => {
                message.byte(2).number(partner_of_value(value)?.data().as_ffi());
            }
            Def::Unresolved(_) => _ = message.byte(3).text(side.model.str(of.name()).as_bytes()),
        }
    }
    Some(message.finish())
}
