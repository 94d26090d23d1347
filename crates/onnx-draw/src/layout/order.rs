//! The order of the vertices of each rank: barycentres from above and below in turn, and exchanges of neighbours.

use super::layers::Layers;

/// Vertices and edges that all sweeps visit at most, in total.
const WORK: usize = 8_000_000;
/// Edges of a graph at most for which neighbours are exchanged.
const MOST_EXCHANGED: usize = 4_000;

/// Reorders the ranks for few crossings.
pub(super) fn reduce_crossings(layers: &mut Layers) {
    let edges: usize = (0..layers.count()).map(|vertex| layers.down.of(vertex).len()).sum();
    let sweeps = (WORK / (layers.count() + edges + 1)).clamp(2, 16);
    sort_neighbours(layers);
    let mut best = (u64::MAX, layers.ranks.clone());
    for sweep in 0..sweeps {
        let count = layers.ranks.len();
        match sweep % 2 {
            0 => (1..count).for_each(|rank| by_barycentre(layers, rank, true)),
            _ => (0..count.saturating_sub(1)).rev().for_each(|rank| by_barycentre(layers, rank, false)),
        }
        sort_neighbours(layers);
        if edges <= MOST_EXCHANGED {
            exchange(layers);
        }
        let crossings = crossings(layers);
        if crossings < best.0 {
            best = (crossings, layers.ranks.clone());
        }
        if crossings == 0 {
            break;
        }
    }
    layers.ranks = best.1;
    (0..layers.ranks.len()).for_each(|rank| layers.number(rank));
    sort_neighbours(layers);
}

/// Sorts a rank by the mean place of the neighbours above or below. Vertices without neighbours stay where they are.
fn by_barycentre(layers: &mut Layers, rank: usize, from_above: bool) {
    let mut keyed: Vec<(f64, usize)> = Vec::with_capacity(layers.ranks[rank].len());
    let mut fixed: Vec<(usize, usize)> = Vec::new();
    for (at, &vertex) in layers.ranks[rank].iter().enumerate() {
        let lists = if from_above { &layers.up } else { &layers.down };
        let neighbours = lists.of(vertex);
        if neighbours.is_empty() {
            fixed.push((at, vertex));
            continue;
        }
        let sum: usize = neighbours.iter().map(|&other| layers.at[other]).sum();
        keyed.push((sum as f64 / neighbours.len() as f64, vertex));
    }
    keyed.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut moved = keyed.into_iter().map(|(_, vertex)| vertex);
    let mut fixed = fixed.into_iter().peekable();
    let mut sorted = Vec::with_capacity(layers.ranks[rank].len());
    while let Some(vertex) = match fixed.next_if(|&(at, _)| at == sorted.len()) {
        Some((_, vertex)) => Some(vertex),
        None => moved.next(),
    } {
        sorted.push(vertex);
    }
    sorted.extend(fixed.map(|(_, vertex)| vertex));
    layers.ranks[rank] = sorted;
    layers.number(rank);
}

/// Sorts the neighbours of all vertices by their places.
fn sort_neighbours(layers: &mut Layers) {
    for vertex in 0..layers.rank.len() {
        let at = &layers.at;
        layers.up.of_mut(vertex).sort_unstable_by_key(|&other| at[other]);
        layers.down.of_mut(vertex).sort_unstable_by_key(|&other| at[other]);
    }
}

/// Exchanges neighbours of a rank as long as that removes crossings.
fn exchange(layers: &mut Layers) {
    for _ in 0..4 {
        let mut is_changed = false;
        for rank in 0..layers.ranks.len() {
            for at in 1..layers.ranks[rank].len() {
                let (left, right) = (layers.ranks[rank][at - 1], layers.ranks[rank][at]);
                let between = |a: usize, b: usize| {
                    pairs(layers.up.of(a), layers.up.of(b), &layers.at)
                        + pairs(layers.down.of(a), layers.down.of(b), &layers.at)
                };
                if between(right, left) < between(left, right) {
                    layers.ranks[rank].swap(at - 1, at);
                    (layers.at[left], layers.at[right]) = (at, at - 1);
                    is_changed = true;
                }
            }
            // The lists of the ranks above and below must be sorted before they are compared.
            for near in [rank.checked_sub(1), Some(rank + 1)].into_iter().flatten() {
                for index in 0..layers.ranks.get(near).map_or(0, Vec::len) {
                    let vertex = layers.ranks[near][index];
                    let at = &layers.at;
                    layers.up.of_mut(vertex).sort_unstable_by_key(|&other| at[other]);
                    layers.down.of_mut(vertex).sort_unstable_by_key(|&other| at[other]);
                }
            }
        }
        if !is_changed {
            break;
        }
    }
}

/// Crossings of the edges of two vertices, the first of which is on the left. The lists are sorted.
fn pairs(left: &[usize], right: &[usize], at: &[usize]) -> usize {
    let (mut count, mut passed) = (0, 0);
    for &a in left {
        while right.get(passed).is_some_and(|&b| at[b] < at[a]) {
            passed += 1;
        }
        count += passed;
    }
    count
}

/// All crossings. The neighbours are sorted.
pub(super) fn crossings(layers: &Layers) -> u64 {
    let mut total = 0_u64;
    for rank in 1..layers.ranks.len() {
        let width = layers.ranks[rank].len();
        // A Fenwick tree of the ends of the edges that were seen.
        let mut tree = vec![0_u32; width + 1];
        let mut seen = 0_u64;
        for &above in &layers.ranks[rank - 1] {
            let ends = layers.down.of(above);
            for &below in ends {
                let mut at = layers.at[below] + 1;
                let mut up_to = 0_u64;
                while at > 0 {
                    up_to += u64::from(tree[at]);
                    at &= at - 1;
                }
                total = total.saturating_add(seen - up_to);
            }
            for &below in ends {
                let mut at = layers.at[below] + 1;
                while at <= width {
                    tree[at] += 1;
                    at += at & at.wrapping_neg();
                }
            }
            seen += ends.len() as u64;
        }
    }
    total
}
