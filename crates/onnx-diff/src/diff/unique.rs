//! Parts that are the only ones of their models with a key.

use std::collections::BTreeMap;

use onnx_ir::{NodeId, ValueId};

use super::side::Side;
use crate::hash::Digest;

/// A key by which parts are matched, within one root.
type Key = (u64, Digest, Digest);

pub(super) fn node_name<'a>(side: &Side<'a>, node: NodeId) -> &'a str {
    side.model.str(side.model.node(node).name())
}

pub(super) fn no_name<'a>(_: &Side<'a>, _: NodeId) -> &'a str {
    ""
}

pub(super) fn value_name<'a>(side: &Side<'a>, value: ValueId) -> &'a str {
    side.model.str(side.model.value(value).name())
}

/// The parts that are the only ones with a key on both sides; of several with one key, those with a name that none of the
/// others has. The order is that of the keys.
pub(super) fn only<'a, 'b, T: Copy>(
    a: &Side<'a>,
    mut one: Vec<(Key, T)>,
    b: &Side<'b>,
    mut two: Vec<(Key, T)>,
    name: impl for<'c> Fn(&Side<'c>, T) -> &'c str,
) -> Vec<(T, T)> {
    one.sort_by_key(|(key, _)| *key);
    two.sort_by_key(|(key, _)| *key);
    let mut pairs = Vec::new();
    let mut left = two.chunk_by(|(x, _), (y, _)| x == y).peekable();
    for group in one.chunk_by(|(x, _), (y, _)| x == y) {
        let Some((key, first)) = group.first() else { continue };
        while left.next_if(|other| other.first().is_some_and(|(other, _)| other < key)).is_some() {}
        let Some(other) = left.next_if(|other| other.first().is_some_and(|(other, _)| other == key)) else {
            continue;
        };
        match (group, other) {
            (&[_], &[(_, second)]) => pairs.push((*first, second)),
            _ => {
                let names = named(a, group, &name);
                let others = named(b, other, &name);
                pairs.extend(names.iter().filter_map(|(text, part)| {
                    let other = others.get(text)?;
                    Some(((*part)?, (*other)?))
                }));
            }
        }
    }
    pairs
}

/// Parts by name; `None` for a name that several have.
fn named<'a, T: Copy>(
    side: &Side<'a>,
    group: &[(Key, T)],
    name: &impl for<'c> Fn(&Side<'c>, T) -> &'c str,
) -> BTreeMap<&'a str, Option<T>> {
    let mut names = BTreeMap::new();
    for &(_, part) in group {
        let text = name(side, part);
        if !text.is_empty() {
            names.entry(text).and_modify(|known| *known = None).or_insert(Some(part));
        }
    }
    names
}
