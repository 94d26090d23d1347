//! Which nodes of a level are one box.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use super::MAX_BOXES;

/// Boxes of a part at which a level is divided.
const PART: usize = 25;

/// Nodes that are one box of a level.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Draft {
    /// The component of the path that they share; `None` for a node that is a box by itself.
    pub(super) component: Option<u32>,
    /// A number that distinguishes pieces of one scope, from 1; 0 if the scope is whole.
    pub(super) piece: u32,
    /// The nodes, ascending.
    pub(super) members: Vec<u32>,
}

/// The boxes of a level.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Division {
    /// Nodes and scopes. The components before them are shared by all nodes.
    Boxes { shared: Vec<u32>, drafts: Vec<Draft> },
    /// Parts of a level that has too many boxes.
    Parts(Vec<Vec<u32>>),
}

/// The nodes of a graph, numbered in topological order.
pub(super) struct Nodes {
    /// The scope of each node.
    pub(super) paths: Vec<Vec<u32>>,
    /// The nodes that make operands of each node.
    pub(super) sources: Vec<Vec<u32>>,
}

/// Divides the nodes of a level whose scopes are equal in the first `depth` components.
pub(super) fn divide(nodes: &Nodes, members: &[u32], depth: usize) -> Division {
    let mut shared = Vec::new();
    let mut drafts = by_component(nodes, members, depth);
    // A scope that has everything in it is not a box.
    while let [Draft { component: Some(component), .. }] = drafts.as_slice() {
        shared.push(*component);
        drafts = by_component(nodes, members, depth + shared.len());
    }
    let mut drafts = without_cycles(nodes, drafts);
    for draft in drafts.iter_mut().filter(|draft| draft.members.len() == 1) {
        draft.component = None;
    }
    if drafts.len() <= MAX_BOXES {
        return Division::Boxes { shared, drafts };
    }
    Division::Parts(parts(nodes, &drafts))
}

fn by_component(nodes: &Nodes, members: &[u32], depth: usize) -> Vec<Draft> {
    let mut drafts: Vec<Draft> = Vec::new();
    let mut known: HashMap<u32, usize> = HashMap::new();
    for &member in members {
        let component = nodes.paths[member as usize].get(depth).copied();
        let next = drafts.len();
        let index = component.map_or(next, |component| *known.entry(component).or_insert(next));
        match drafts.get_mut(index) {
            Some(draft) => draft.members.push(member),
            None => drafts.push(Draft { component, piece: 0, members: vec![member] }),
        }
    }
    drafts
}

/// The edges between drafts: for each one, those that make something that it uses, each once.
fn between(nodes: &Nodes, drafts: &[Draft]) -> Vec<Vec<usize>> {
    let mut of: HashMap<u32, usize> = HashMap::new();
    for (index, draft) in drafts.iter().enumerate() {
        of.extend(draft.members.iter().map(|&member| (member, index)));
    }
    drafts
        .iter()
        .enumerate()
        .map(|(index, draft)| {
            let sources = draft.members.iter().flat_map(|&member| &nodes.sources[member as usize]);
            let mut sources: Vec<usize> = sources
                .filter_map(|source| of.get(source).copied())
                .filter(|&other| other != index)
                .collect();
            sources.sort_unstable();
            sources.dedup();
            sources
        })
        .collect()
}

/// Removes drafts as long as one has no edges of a kind, and returns those that are left.
fn peel(edges: &[Vec<usize>]) -> Vec<bool> {
    let count = edges.len();
    let mut is_left = vec![true; count];
    let mut reversed: Vec<Vec<usize>> = vec![Vec::new(); count];
    for (to, sources) in edges.iter().enumerate() {
        sources.iter().for_each(|&from| reversed[from].push(to));
    }
    for (towards, back) in [(edges, reversed.as_slice()), (reversed.as_slice(), edges)] {
        let mut waiting: Vec<usize> =
            towards.iter().map(|others| others.iter().filter(|&&other| is_left[other]).count()).collect();
        let mut ready: Vec<usize> =
            (0..count).filter(|&index| is_left[index] && waiting[index] == 0).collect();
        while let Some(index) = ready.pop() {
            is_left[index] = false;
            for &other in back[index].iter().filter(|&&other| is_left[other]) {
                waiting[other] -= 1;
                if waiting[other] == 0 {
                    ready.push(other);
                }
            }
        }
    }
    is_left
}

/// Divides scopes that depend on each other, so that edges between boxes form no cycle: a node is in a later piece than a node
/// that it depends on through another scope. Along edges the number of the piece never falls, and it rises from scope to scope.
fn without_cycles(nodes: &Nodes, drafts: Vec<Draft>) -> Vec<Draft> {
    let is_cyclic = peel(&between(nodes, &drafts));
    if !is_cyclic.contains(&true) {
        return drafts;
    }
    let mut all: Vec<(u32, usize)> = Vec::new();
    let mut of: HashMap<u32, (usize, u32)> = HashMap::new();
    for (index, draft) in drafts.iter().enumerate() {
        all.extend(draft.members.iter().map(|&member| (member, index)));
    }
    // Members are numbered in topological order.
    all.sort_unstable();
    let mut pieces: Vec<Draft> = Vec::new();
    let mut known: HashMap<(usize, u32), usize> = HashMap::new();
    let mut counts: HashMap<usize, u32> = HashMap::new();
    for (member, index) in all {
        let phases = nodes.sources[member as usize]
            .iter()
            .filter_map(|source| of.get(source))
            .map(|&(other, phase)| phase + u32::from(other != index && is_cyclic[other] && is_cyclic[index]));
        let phase = phases.max().unwrap_or(0);
        of.insert(member, (index, phase));
        let key = (index, if is_cyclic[index] { phase } else { 0 });
        let next = pieces.len();
        let found = *known.entry(key).or_insert(next);
        if found == next {
            let number = counts.entry(index).or_default();
            *number += 1;
            let piece = if is_cyclic[index] { *number } else { 0 };
            pieces.push(Draft { component: drafts[index].component, piece, members: Vec::new() });
        }
        pieces[found].members.push(member);
    }
    pieces
}

/// Divides drafts, in topological order, where few values cross.
fn parts(nodes: &Nodes, drafts: &[Draft]) -> Vec<Vec<u32>> {
    let edges = between(nodes, drafts);
    let order = topological(drafts, &edges);
    let mut at = vec![0_usize; drafts.len()];
    for (index, &draft) in order.iter().enumerate() {
        at[draft] = index;
    }
    // Drafts whose results are used after each place.
    let mut last = at.clone();
    for (to, sources) in edges.iter().enumerate() {
        sources.iter().for_each(|&from| last[from] = last[from].max(at[to]));
    }
    let mut crossing = vec![0_i64; drafts.len() + 2];
    for (from, &last) in last.iter().enumerate() {
        crossing[at[from] + 1] += 1;
        crossing[last + 1] -= 1;
    }
    for index in 1..crossing.len() {
        crossing[index] += crossing[index - 1];
    }
    let count = drafts.len().div_ceil(PART).clamp(2, MAX_BOXES);
    let size = drafts.len().div_ceil(count);
    let slack = size / 3;
    let mut cuts = vec![0];
    for number in 1..count {
        let middle = number * drafts.len() / count;
        let from = middle.saturating_sub(slack).max(cuts.last().copied().unwrap_or(0) + 1);
        let to = (middle + slack).min(drafts.len() - 1);
        let best = (from..=to).min_by_key(|&cut| (crossing[cut], cut.abs_diff(middle)));
        cuts.extend(best);
    }
    cuts.push(drafts.len());
    cuts.windows(2)
        .map(|cut| {
            let chosen = order[cut[0]..cut[1]].iter();
            let mut members: Vec<u32> =
                chosen.flat_map(|&draft| drafts[draft].members.iter().copied()).collect();
            members.sort_unstable();
            members
        })
        .collect()
}

/// Drafts without cycles, each after those that it uses, otherwise in the order of their first nodes or users.
fn topological(drafts: &[Draft], edges: &[Vec<usize>]) -> Vec<usize> {
    let mut users: Vec<Vec<usize>> = vec![Vec::new(); drafts.len()];
    for (to, sources) in edges.iter().enumerate() {
        sources.iter().for_each(|&from| users[from].push(to));
    }
    let mut waiting: Vec<usize> = edges.iter().map(Vec::len).collect();
    let own = |index: usize| drafts[index].members.first().copied();
    // What needs nothing is with its first user, not at the beginning.
    let first = |index: usize| {
        let user = users[index].iter().filter(|_| edges[index].is_empty()).map(|&user| own(user)).min();
        Reverse((user.unwrap_or_else(|| own(index)), index))
    };
    let mut ready: BinaryHeap<_> =
        (0..drafts.len()).filter(|&index| waiting[index] == 0).map(first).collect();
    let mut is_done = vec![false; drafts.len()];
    let mut order = Vec::with_capacity(drafts.len());
    while let Some(Reverse((_, index))) = ready.pop() {
        order.push(index);
        is_done[index] = true;
        for &user in &users[index] {
            waiting[user] -= 1;
            if waiting[user] == 0 {
                ready.push(first(user));
            }
        }
    }
    // Nodes that form a cycle are in the order of the file.
    order.extend((0..drafts.len()).filter(|&index| !is_done[index]));
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chain(paths: &[&[u32]]) -> Nodes {
        let sources = (0..paths.len()).map(|index| (index as u32).checked_sub(1).into_iter().collect());
        Nodes { paths: paths.iter().map(|path| path.to_vec()).collect(), sources: sources.collect() }
    }

    #[test]
    fn scopes_that_alternate_are_divided() {
        // a b a: both scopes would depend on each other.
        let nodes = chain(&[&[1], &[1], &[2], &[2], &[1], &[1]]);
        let Division::Boxes { shared, drafts } = divide(&nodes, &[0, 1, 2, 3, 4, 5], 0) else { panic!() };
        assert!(shared.is_empty());
        let found: Vec<(u32, &[u32])> =
            drafts.iter().map(|draft| (draft.piece, draft.members.as_slice())).collect();
        assert_eq!(found, [(1, [0, 1].as_slice()), (1, &[2, 3]), (2, &[4, 5])]);
    }

    #[test]
    fn a_scope_with_everything_in_it_is_no_box() {
        let nodes = chain(&[&[7, 8, 1], &[7, 8, 1], &[7, 8, 2], &[7, 8, 2]]);
        let Division::Boxes { shared, drafts } = divide(&nodes, &[0, 1, 2, 3], 0) else { panic!() };
        assert_eq!((shared.as_slice(), drafts.len()), ([7, 8].as_slice(), 2));
    }

    #[test]
    fn a_wide_level_has_parts() {
        let paths: Vec<&[u32]> = vec![&[]; 1000];
        let nodes = chain(&paths);
        let members: Vec<u32> = (0..1000).collect();
        let Division::Parts(parts) = divide(&nodes, &members, 0) else { panic!() };
        assert_eq!(parts.len(), 40);
        assert_eq!(parts.concat(), members);
        assert!(parts.iter().all(|part| !part.is_empty() && part.len() < MAX_BOXES));
    }
}
