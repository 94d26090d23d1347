//! From pairs to changes.

use onnx_diag::Locus;
use onnx_ir::{GraphId, MetadataEntry, Model, NodeId, Owner, ValueId};
use onnx_types::{Stopped, Symbol, Watch};
use slotmap::SecondaryMap;

use super::interface::Border;
use super::pairs::Pairs;
use super::side::Side;
use super::{Aspect, AspectKind, ChangeKind, ChangedElement, Diff, DiffOptions, ModelChange};
use crate::hash::Message;

/// Number of elements after which the interrupt is checked.
const INTERVAL: u64 = 256;
/// The most nodes that are visited to find out whether a node was inserted into or removed from an edge.
const MAX_BYPASS: usize = 64;

/// A comparison under way.
pub(super) struct Comparison<'a> {
    pub(super) a: &'a Side<'a>,
    pub(super) b: &'a Side<'a>,
    pub(super) border: &'a Border,
    pub(super) pairs: &'a Pairs,
    pub(super) options: &'a DiffOptions<'a>,
    pub(super) found: Diff,
    pub(super) message: Message,
    /// Number of values with a declared type in the first, or in the second model only.
    pub(super) declared: [usize; 2],
}

pub(super) fn changes(
    a: &Side<'_>,
    b: &Side<'_>,
    border: &Border,
    pairs: &Pairs,
    options: &DiffOptions<'_>,
) -> Result<Diff, Stopped> {
    let (found, message) = (Diff::default(), Message::new());
    let mut comparison = Comparison { a, b, border, pairs, options, found, message, declared: [0; 2] };
    comparison.model();
    comparison.interface();
    comparison.functions();
    comparison.graphs();
    let total = a.nodes().count() as u64;
    let mut watch = Watch::new(&options.execution, "diff", total, INTERVAL);
    let kept = [comparison.kept_of_a(), comparison.kept_of_b()];
    comparison.initializers(&kept, &mut watch)?;
    comparison.nodes(&kept, &mut watch)?;
    comparison.declared_types();
    Ok(comparison.found)
}

/// The graphs whose contents are compared one by one; all others were added or removed with the element that contains
/// them.
pub(super) type Kept = SecondaryMap<GraphId, ()>;

impl<'a> Comparison<'a> {
    fn kept_of_a(&self) -> Kept {
        kept(
            self.a,
            |graph| self.pairs.graphs.contains_key(graph),
            |node| self.pairs.nodes.contains_key(node),
        )
    }

    fn kept_of_b(&self) -> Kept {
        let mut graphs: SecondaryMap<GraphId, ()> = SecondaryMap::new();
        let partners = self.a.graphs.iter().filter_map(|&graph| self.pairs.graphs.get(graph));
        partners.for_each(|&graph| _ = graphs.insert(graph, ()));
        kept(self.b, |graph| graphs.contains_key(graph), |node| self.pairs.nodes_of_b.contains_key(node))
    }

    fn nodes(&mut self, kept: &[Kept; 2], watch: &mut Watch) -> Result<(), Stopped> {
        let (a, b) = (self.a, self.b);
        for node in a.nodes() {
            watch.work(1)?;
            match self.pairs.nodes.get(node) {
                Some(&other) => {
                    self.found.same_nodes = self.found.same_nodes.saturating_add(1);
                    let aspects = self.node(node, other)?;
                    let places = || (Some(a.places.node(node)), Some(b.places.node(other)));
                    self.changed(ChangedElement::Node, places, || b.node(other), aspects);
                }
                None if kept[0].contains_key(a.model.node(node).graph()) => {
                    self.only(ChangeKind::Removed, ChangedElement::Node, a.places.node(node), a.node(node));
                }
                None => {}
            }
        }
        for node in b.nodes() {
            watch.work(1)?;
            let is_kept = kept[1].contains_key(b.model.node(node).graph());
            if is_kept && !self.pairs.nodes_of_b.contains_key(node) {
                self.only(ChangeKind::Added, ChangedElement::Node, b.places.node(node), b.node(node));
            }
        }
        Ok(())
    }

    fn initializers(&mut self, kept: &[Kept; 2], watch: &mut Watch) -> Result<(), Stopped> {
        let (a, b) = (self.a, self.b);
        for (graph, value) in a.initializers() {
            watch.work(1)?;
            match self.pairs.values.get(value) {
                Some(&other) if b.model.value(other).initializer().is_some() => {
                    self.found.same_initializers = self.found.same_initializers.saturating_add(1);
                    let mut aspects = self.constants(value, other)?;
                    let graph_of_b = b.model.graph_of(other);
                    self.moved(graph, graph_of_b, &mut aspects);
                    let places = || (Some(a.places.initializer(value)), Some(b.places.initializer(other)));
                    self.changed(
                        ChangedElement::Initializer,
                        places,
                        || super::elements::text(b, other),
                        aspects,
                    );
                }
                // An input that lost its default.
                Some(_) => {}
                None if kept[0].contains_key(graph) => {
                    let text = super::elements::text(a, value);
                    self.only(
                        ChangeKind::Removed,
                        ChangedElement::Initializer,
                        a.places.initializer(value),
                        text,
                    );
                }
                None => {}
            }
        }
        for (graph, value) in b.initializers() {
            watch.work(1)?;
            if kept[1].contains_key(graph) && !self.pairs.values_of_b.contains_key(value) {
                let text = super::elements::text(b, value);
                self.only(ChangeKind::Added, ChangedElement::Initializer, b.places.initializer(value), text);
            }
        }
        Ok(())
    }

    /// Adds an aspect if two parts are in graphs that do not correspond.
    pub(super) fn moved(&self, one: GraphId, two: GraphId, aspects: &mut Vec<Aspect>) {
        if self.pairs.graphs.get(one) != Some(&two) {
            let text = |side: &Side<'_>, graph| side.places.graph(graph).to_string();
            aspects.push(Aspect::new(
                AspectKind::Graph,
                "",
                Some(text(self.a, one)),
                Some(text(self.b, two)),
            ));
        }
    }

    pub(super) fn changed(
        &mut self,
        element: ChangedElement,
        places: impl FnOnce() -> (Option<Locus>, Option<Locus>),
        text: impl FnOnce() -> String,
        aspects: Vec<Aspect>,
    ) {
        if !aspects.is_empty() {
            // Loci are computed only for changes, because computing one takes time proportional to the depth of
            // nesting.
            let ((before, after), kind, text) = (places(), ChangeKind::Changed, text());
            self.found.changes.push(ModelChange { kind, element, before, after, text, aspects });
        }
    }

    pub(super) fn only(&mut self, kind: ChangeKind, element: ChangedElement, at: Locus, text: String) {
        let (before, after) = if kind == ChangeKind::Removed { (Some(at), None) } else { (None, Some(at)) };
        self.found.changes.push(ModelChange { kind, element, before, after, text, aspects: Vec::new() });
    }

    pub(super) fn correspond(&self, one: Option<ValueId>, two: Option<ValueId>) -> bool {
        self.pairs.correspond((self.a.model, one), (self.b.model, two))
    }

    /// Returns `true` if two operands differ only because nodes between were added, removed or replaced, which is reported
    /// with these nodes.
    pub(super) fn is_implied(&self, one: Option<ValueId>, two: Option<ValueId>) -> bool {
        let (Some(one), Some(two)) = (one, two) else { return false };
        let open = |side: &Side<'_>, value: ValueId, taken: &SecondaryMap<NodeId, NodeId>| {
            side.model.value(value).producer().is_some_and(|node| !taken.contains_key(node))
        };
        let removed = open(self.a, one, &self.pairs.nodes);
        let added = open(self.b, two, &self.pairs.nodes_of_b);
        let is_bypassed = |value| self.correspond(Some(value), Some(two));
        let is_inserted = |value| self.correspond(Some(one), Some(value));
        match (removed, added) {
            (true, true) => true,
            (true, false) => reaches(self.a, one, &self.pairs.nodes, is_bypassed),
            (false, true) => reaches(self.b, two, &self.pairs.nodes_of_b, is_inserted),
            (false, false) => false,
        }
    }

    /// Adds the changes of documentation and metadata.
    pub(super) fn notes(
        &self,
        docs: [Symbol; 2],
        metadata: [&[MetadataEntry]; 2],
        aspects: &mut Vec<Aspect>,
    ) {
        let models = [self.a.model, self.b.model];
        let [one, two] = [0, 1].map(|side| some(models[side].str(docs[side])));
        if one != two {
            aspects.push(Aspect::new(AspectKind::Documentation, "", one, two));
        }
        let [one, two] = [0, 1].map(|side| entries(models[side], metadata[side]));
        for (key, before, after) in joined(one, two) {
            if before != after {
                aspects.push(Aspect::new(AspectKind::Metadata, key, before, after));
            }
        }
    }
}

/// Whether a value can be reached from another one through nodes without a partner.
fn reaches(
    side: &Side<'_>,
    from: ValueId,
    taken: &SecondaryMap<NodeId, NodeId>,
    is_goal: impl Fn(ValueId) -> bool,
) -> bool {
    let mut seen: Vec<NodeId> = Vec::new();
    let mut open = vec![from];
    while let Some(value) = open.pop() {
        let Some(node) = side.model.value(value).producer() else { continue };
        if taken.contains_key(node) || seen.contains(&node) || seen.len() == MAX_BYPASS {
            continue;
        }
        seen.push(node);
        for input in side.model.node(node).inputs().flatten().take(MAX_BYPASS) {
            if is_goal(input) {
                return true;
            }
            open.push(input);
        }
    }
    false
}

fn kept(side: &Side<'_>, has_partner: impl Fn(GraphId) -> bool, is_matched: impl Fn(NodeId) -> bool) -> Kept {
    let mut kept = Kept::new();
    for &graph in &side.graphs {
        let is_kept = has_partner(graph)
            && match side.model.graph(graph).owner() {
                Owner::Node(node) => is_matched(node),
                _ => true,
            };
        if is_kept {
            kept.insert(graph, ());
        }
    }
    kept
}

pub(super) fn some(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

fn entries(model: &Model, metadata: &[MetadataEntry]) -> Vec<(String, String)> {
    let entry =
        |entry: &MetadataEntry| (model.str(entry.key()).to_owned(), entry.value().as_str().to_owned());
    metadata.iter().map(entry).collect()
}

/// Two lists by their keys, in the order of these; of entries with one key the last one counts.
pub(super) fn joined(
    one: Vec<(String, String)>,
    two: Vec<(String, String)>,
) -> Vec<(String, Option<String>, Option<String>)> {
    let mut all: std::collections::BTreeMap<String, (Option<String>, Option<String>)> =
        std::collections::BTreeMap::new();
    one.into_iter().for_each(|(key, value)| all.entry(key).or_default().0 = Some(value));
    two.into_iter().for_each(|(key, value)| all.entry(key).or_default().1 = Some(value));
    all.into_iter().map(|(key, (before, after))| (key, before, after)).collect()
}

impl Aspect {
    pub(super) fn new(
        kind: AspectKind,
        label: impl Into<String>,
        before: Option<String>,
        after: Option<String>,
    ) -> Self {
        Self { kind, label: label.into(), before, after, difference: None }
    }
}
