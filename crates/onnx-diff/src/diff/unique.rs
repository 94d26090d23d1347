//! Parts that are the only ones of their models with a key.

use std::collections::BTreeMap;

use onnx_ir::{NodeId, ValueId};
use onnx_types::{Stopped, Watch};

use super::side::Side;
use crate::hash::Digest;

/// A key by which parts are matched, within one root.
type Key = (u64, Digest, Digest);

/// Parts that are sorted between two checks of the interrupt, at first.
const SORTED: usize = 1 << 10;

/// Sorts parts by their keys, those with equal ones in their order: longer and longer runs, whose ends are work between two checks.
fn sort<T>(parts: &mut [(Key, T)], watch: &mut Watch) -> Result<(), Stopped> {
    let mut length = SORTED;
    loop {
        for run in parts.chunks_mut(length) {
            watch.work(run.len() as u64)?;
            // Of two sorted runs, this is the merge.
            run.sort_by_key(|(key, _)| *key);
        }
        if length >= parts.len() {
            return Ok(());
        }
        length = length.saturating_mul(2);
    }
}

/// The name of a part.
pub(super) type NameOf<T> = for<'c> fn(&Side<'c>, T) -> &'c str;

/// The names by which nodes are identified, the most reliable first: exporters number the nodes of an operator in order, so that an edit
/// changes the names of all later ones.
pub(super) const NODE_NAMES: &[NameOf<NodeId>] = &[result_name, node_name];

pub(super) const VALUE_NAMES: &[NameOf<ValueId>] = &[value_name];

pub(super) fn node_name<'a>(side: &Side<'a>, node: NodeId) -> &'a str {
    side.model.str(side.model.node(node).name())
}

/// The name of the first result of a node.
pub(super) fn result_name<'a>(side: &Side<'a>, node: NodeId) -> &'a str {
    side.model.node(node).output(0).map_or("", |value| value_name(side, value))
}

pub(super) fn value_name<'a>(side: &Side<'a>, value: ValueId) -> &'a str {
    side.model.str(side.model.value(value).name())
}

/// The parts that are the only ones with a key on both sides; of several with one key, those with a name that none of the
/// others has, where the first kinds of names come first. The order is that of the keys.
pub(super) fn only<T: Copy>(
    a: &Side<'_>,
    mut one: Vec<(Key, T)>,
    b: &Side<'_>,
    mut two: Vec<(Key, T)>,
    names: &[NameOf<T>],
    watch: &mut Watch,
) -> Result<Vec<(T, T)>, Stopped> {
    sort(&mut one, watch)?;
    sort(&mut two, watch)?;
    let mut pairs = Vec::new();
    let mut left = two.chunk_by(|(x, _), (y, _)| x == y).peekable();
    for group in one.chunk_by(|(x, _), (y, _)| x == y) {
        let Some((key, first)) = group.first() else { continue };
        watch.work(group.len() as u64)?;
        while left.next_if(|other| other.first().is_some_and(|(other, _)| other < key)).is_some() {}
        let Some(other) = left.next_if(|other| other.first().is_some_and(|(other, _)| other == key)) else {
            continue;
        };
        match (group, other) {
            (&[_], &[(_, second)]) => pairs.push((*first, second)),
            _ => {
                let (mut group, mut other) = (group.to_vec(), other.to_vec());
                for &name in names {
                    let (ours, theirs) = (named(a, &group, name), named(b, &other, name));
                    let found = |text: &str| Some(((*ours.get(text)?)?, (*theirs.get(text)?)?));
                    pairs.extend(ours.keys().filter_map(|text| found(text)));
                    group.retain(|&(_, part)| found(name(a, part)).is_none());
                    other.retain(|&(_, part)| found(name(b, part)).is_none());
                }
            }
        }
    }
    Ok(pairs)
}

/// Parts by name; `None` for a name that several have.
fn named<'a, T: Copy>(side: &Side<'a>, group: &[(Key, T)], name: NameOf<T>) -> BTreeMap<&'a str, Option<T>> {
    let mut names = BTreeMap::new();
    for &(_, part) in group {
        let text = name(side, part);
        if !text.is_empty() {
            names.entry(text).and_modify(|known| *known = None).or_insert(Some(part));
        }
    }
    names
}
