//! Two models side by side: what differs, as marks of both pictures, and which boxes correspond.

use std::fmt::Write as _;

use onnx_diag::Clean;
use onnx_diff::{ChangeKind, ChangedElement, Diff, DiffOptions, ModelChange, diff_with_values};
use onnx_draw::{DifferenceMark, Marks, shown};
use onnx_ir::{Model, NodeId};
use onnx_select::{Element, Selectors};
use serde_json::{Value, json};
use slotmap::SecondaryMap;

use crate::queries::{limited, place};
use crate::request::Place;
use crate::session::Session;

/// Differences that are listed.
const MOST_CHANGES: usize = 500;
/// Aspects of a difference that are listed.
const MOST_ASPECTS: usize = 12;

/// The nodes that correspond.
#[derive(Clone, Default)]
pub(crate) struct Pairs {
    /// The older node of each newer one.
    older: SecondaryMap<NodeId, NodeId>,
    /// The newer node of each older one.
    newer: SecondaryMap<NodeId, NodeId>,
}

/// The differences of a model from the older one. The nodes of both get marks.
pub(crate) fn compare(session: &mut Session) -> Result<Value, String> {
    let Some(mut older) = session.other.take() else { return Err("no other model is open".to_owned()) };
    let answer = compared(session, &mut older);
    session.other = Some(older);
    answer
}

fn compared(newer: &mut Session, older: &mut Session) -> Result<Value, String> {
    let (found, pairs) = {
        let options = DiffOptions::default()
            .with_data_of_a(&*older.source)
            .with_data_of_b(&*newer.source)
            .with_execution(newer.execution.clone());
        let (found, values) =
            diff_with_values(&older.model, &newer.model, &options).map_err(|error| error.to_string())?;
        let mut pairs = Pairs::default();
        // Where both have a pair, that of the structure counts.
        for (a, b) in values.by_weights.into_iter().chain(values.by_structure) {
            let nodes = (older.model.value(a).producer(), newer.model.value(b).producer());
            if let (Some(a), Some(b)) = nodes {
                pairs.older.insert(b, a);
                pairs.newer.insert(a, b);
            }
        }
        (found, pairs)
    };
    let mut counts = [0_usize; 3];
    for change in &found.changes {
        counts[match change.kind {
            ChangeKind::Added => 0,
            ChangeKind::Removed => 1,
            _ => 2,
        }] += 1;
    }
    mark(newer, &found, PageSide::Newer);
    mark(older, &found, PageSide::Older);
    let list: Vec<Value> = {
        let sides: [&Session; 2] = [&*newer, &*older];
        let selectors = [Selectors::new(&sides[0].model), Selectors::new(&sides[1].model)];
        let changes = found.changes.iter().take(MOST_CHANGES);
        changes.map(|change| entry([(sides[0], &selectors[0]), (sides[1], &selectors[1])], change)).collect()
    };
    newer.pairs = pairs;
    Ok(json!({
        "titles": [older.title, newer.title],
        "counts": counts,
        "same": found.same_nodes,
        "unread": found.unread.len(),
        "changes": list,
        "more": found.changes.len().saturating_sub(MOST_CHANGES),
    }))
}

/// The model of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageSide {
    /// The first model.
    Older,
    /// The second model.
    Newer,
}

fn mark(session: &mut Session, found: &Diff, side: PageSide) {
    let mut marks = session.marks.clone();
    marks.changes.clear();
    mark_changes(&session.model, found, side, &mut marks);
    session.marked(marks);
}

/// Marks the nodes of one of two models that differ: those that only this one has, and those of which something changed.
pub fn mark_changes(model: &Model, found: &Diff, side: PageSide, marks: &mut Marks) {
    let selectors = Selectors::new(model);
    for change in found.changes.iter().filter(|change| !change.is_note()) {
        let (place, only) = match side {
            PageSide::Older => (&change.before, DifferenceMark::Removed),
            PageSide::Newer => (&change.after, DifferenceMark::Added),
        };
        let difference = if change.kind == ChangeKind::Changed { DifferenceMark::Changed } else { only };
        let nodes: Vec<NodeId> = match place.as_ref().and_then(|locus| selectors.element(locus)) {
            Some(Element::Node(node)) => vec![node],
            Some(Element::Value(value)) => match model.value(value).producer() {
                Some(node) => vec![node],
                // The nodes that use a weight or an input that differs.
                None => model.value(value).uses().iter().filter_map(|usage| usage.user.node()).collect(),
            },
            _ => Vec::new(),
        };
        let is_node = change.element == ChangedElement::Node;
        for node in nodes {
            let difference = if is_node { difference } else { DifferenceMark::Changed };
            if is_node || !marks.changes.contains_key(node) {
                marks.changes.insert(node, difference);
            }
        }
    }
}

/// A difference, with its places in the newer and in the older model.
fn entry(sides: [(&Session, &Selectors<'_>); 2], change: &ModelChange) -> Value {
    let aspects: Vec<String> = change
        .aspects
        .iter()
        .take(MOST_ASPECTS)
        .map(|aspect| {
            let mut text = aspect.to_string();
            if let Some(difference) = &aspect.difference {
                let _ = write!(
                    text,
                    ": {} of {} elements differ, by {:.3e} at most",
                    difference.differing, difference.elements, difference.max_abs
                );
            }
            limited(&Clean(&text).to_string(), 300)
        })
        .collect();
    let locus = change.after.as_ref().or(change.before.as_ref());
    let mut entry = json!({
        "kind": change.kind.name(),
        "element": change.element.name(),
        "text": limited(&Clean(&change.text).to_string(), 200),
        "where": locus.map(|locus| limited(&Clean(&locus.to_string()).to_string(), 200)),
        "note": change.is_note(),
        "aspects": aspects,
    });
    let places = [("after", &change.after), ("before", &change.before)];
    for ((name, locus), (session, selectors)) in places.into_iter().zip(sides) {
        let element = locus.as_ref().and_then(|locus| selectors.element(locus));
        if let Some((level, item)) = element.and_then(|element| place(session, element)) {
            entry[name] = json!([level, item]);
        }
    }
    entry
}

/// The path of the box in the other model that corresponds to a box of the newer model, or of the older one if `from` is 1:
/// that of the same title around a node that corresponds to one in it.
pub(crate) fn counterpart(session: &Session, (level, item): Place, from: u8) -> Value {
    let Some(older) = session.other.as_deref() else { return Value::Null };
    let (this, that, pairs) = match from {
        0 => (session, older, &session.pairs.older),
        _ => (older, session, &session.pairs.newer),
    };
    let Some(found) = this.scene.level(level).and_then(|level| level.items.get(item)) else {
        return Value::Null;
    };
    let nodes = this.scene.nodes_in(level, item);
    let Some(place) = nodes.iter().find_map(|&node| that.scene.place(*pairs.get(node)?)) else {
        // Inputs and outputs have names.
        let Some(root) = that.scene.level(that.scene.root()) else { return Value::Null };
        let is_same = |other: &onnx_draw::Item| other.kind == found.kind && other.title == found.title;
        let index = root.items.iter().position(is_same).filter(|_| !found.kind.is_box());
        return json!({ "path": index.map(|index| vec![index]) });
    };
    let path = that.scene.path(place);
    let depth = this.scene.path((level, item)).len();
    let mut titles = Vec::new();
    let mut at = that.scene.root();
    for &index in &path {
        let Some(item) = that.scene.level(at).and_then(|level| level.items.get(index as usize)) else {
            break;
        };
        titles.push(item.title.as_str());
        at = item.inside.unwrap_or(at);
    }
    let is_same = |length: &usize| titles.get(length - 1) == Some(&found.title.as_str());
    let length = (1..=path.len()).filter(is_same).min_by_key(|length| length.abs_diff(depth));
    let length = length.unwrap_or(if found.inside.is_none() { path.len() } else { depth.min(path.len()) });
    json!({ "path": path.get(..length), "title": shown(titles.get(length - 1).unwrap_or(&"")) })
}
