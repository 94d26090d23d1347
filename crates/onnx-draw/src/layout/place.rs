//! Horizontal coordinates after Brandes and Köpf: vertices are aligned with the median of their neighbours in four ways, each way
//! is compacted, and the mean of the two middle results is taken. Each of the four keeps all distances, so the mean does.

use std::collections::HashSet;

use super::layers::Layers;

/// The center of each vertex. The leftmost side is at 0.
pub(super) fn centers(layers: &Layers) -> Vec<f64> {
    let conflicts = conflicts(layers);
    let mut results: Vec<Vec<f64>> = Vec::with_capacity(4);
    for from_above in [true, false] {
        for from_left in [true, false] {
            let root = align(layers, &conflicts, from_above, from_left);
            let mut centers = compact(layers, &root, from_left);
            if !from_left {
                centers.iter_mut().for_each(|x| *x = -*x);
            }
            results.push(centers);
        }
    }
    let extents: Vec<(f64, f64)> = results.iter().map(|centers| extent(layers, centers)).collect();
    let narrowest = extents.iter().copied().min_by(|a, b| (a.1 - a.0).total_cmp(&(b.1 - b.0)));
    let (left, right) = narrowest.unwrap_or_default();
    for (index, centers) in results.iter_mut().enumerate() {
        // The results from the left share the left side, those from the right the right one.
        let shift = if index % 2 == 0 { left - extents[index].0 } else { right - extents[index].1 };
        centers.iter_mut().for_each(|x| *x += shift);
    }
    let mut centers: Vec<f64> = (0..layers.count())
        .map(|vertex| {
            let mut four: [f64; 4] = std::array::from_fn(|index| results[index][vertex]);
            four.sort_unstable_by(f64::total_cmp);
            f64::midpoint(four[1], four[2])
        })
        .collect();
    let (left, _) = extent(layers, &centers);
    centers.iter_mut().for_each(|x| *x -= left);
    centers
}

/// The leftmost and the rightmost side.
fn extent(layers: &Layers, centers: &[f64]) -> (f64, f64) {
    let (mut left, mut right) = (f64::INFINITY, f64::NEG_INFINITY);
    for (x, half) in centers.iter().zip(&layers.half) {
        left = left.min(x - half);
        right = right.max(x + half);
    }
    if centers.is_empty() { (0.0, 0.0) } else { (left, right) }
}

/// Edges to a box that cross the way of an edge past two ranks, which stays straight: pairs of an upper and a lower vertex.
fn conflicts(layers: &Layers) -> HashSet<(usize, usize)> {
    let mut found = HashSet::new();
    for rank in 1..layers.ranks.len() {
        let (above, below) = (&layers.ranks[rank - 1], &layers.ranks[rank]);
        let (mut left, mut scanned) = (0, 0);
        for (index, &vertex) in below.iter().enumerate() {
            let inner = layers
                .is_passed(vertex)
                .then(|| layers.up.of(vertex).iter().copied().find(|&other| layers.is_passed(other)));
            let inner = inner.flatten();
            if inner.is_none() && index + 1 < below.len() {
                continue;
            }
            let right = inner.map_or(above.len(), |other| layers.at[other]);
            for &passed in &below[scanned..=index] {
                for &other in layers.up.of(passed) {
                    let at = layers.at[other];
                    let is_inner = layers.is_passed(passed) && layers.is_passed(other);
                    if !is_inner && (at < left || at > right) {
                        found.insert((other, passed));
                    }
                }
            }
            scanned = index + 1;
            left = right;
        }
    }
    found
}

/// The root of the chain of aligned vertices that each vertex is in.
fn align(
    layers: &Layers,
    conflicts: &HashSet<(usize, usize)>,
    from_above: bool,
    from_left: bool,
) -> Vec<usize> {
    let count = layers.ranks.len();
    let mut root: Vec<usize> = (0..layers.count()).collect();
    // The vertex with which something in the next rank is aligned already.
    let mut is_taken = vec![false; layers.count()];
    for step in 0..count {
        let rank = if from_above { step } else { count - 1 - step };
        let width = layers.ranks[rank].len();
        let mut reached: Option<usize> = None;
        for index in 0..width {
            let vertex = layers.ranks[rank][if from_left { index } else { width - 1 - index }];
            let neighbours = if from_above { layers.up.of(vertex) } else { layers.down.of(vertex) };
            let degree = neighbours.len();
            let (low, high) = (degree.saturating_sub(1) / 2, degree / 2);
            let medians = if from_left { [low, high] } else { [high, low] };
            for middle in medians {
                let Some(&other) = neighbours.get(middle) else { continue };
                let key = if from_above { (other, vertex) } else { (vertex, other) };
                let at = layers.at[other];
                let is_beyond = match reached {
                    None => true,
                    Some(reached) if from_left => at > reached,
                    Some(reached) => at < reached,
                };
                if root[vertex] == vertex && is_beyond && !is_taken[other] && !conflicts.contains(&key) {
                    root[vertex] = root[other];
                    is_taken[other] = true;
                    reached = Some(at);
                    break;
                }
            }
        }
    }
    root
}

/// The centers of the vertices, with all chains as far to the left as possible, and then as near to their right neighbours
/// as possible. From the right, centers are negative.
fn compact(layers: &Layers, root: &[usize], from_left: bool) -> Vec<f64> {
    // Distances between neighbouring chains.
    let mut pairs: Vec<(usize, usize, f64)> = Vec::with_capacity(layers.count());
    for rank in &layers.ranks {
        for near in rank.windows(2) {
            let distance = layers.half[near[0]] + layers.half[near[1]];
            let (a, b) = if from_left { (near[0], near[1]) } else { (near[1], near[0]) };
            pairs.push((root[a], root[b], distance));
        }
    }
    let count = layers.count();
    let mut starts = vec![0_usize; count + 1];
    let mut waiting = vec![0_u32; count];
    for &(a, b, _) in &pairs {
        starts[a + 1] += 1;
        waiting[b] += 1;
    }
    for index in 0..count {
        starts[index + 1] += starts[index];
    }
    let mut next = starts.clone();
    let mut right = vec![(0_usize, 0.0_f64); pairs.len()];
    for &(a, b, distance) in &pairs {
        right[next[a]] = (b, distance);
        next[a] += 1;
    }
    let mut order: Vec<usize> =
        (0..count).filter(|&vertex| root[vertex] == vertex && waiting[vertex] == 0).collect();
    let mut x = vec![0.0_f64; count];
    let mut done = 0;
    while let Some(&chain) = order.get(done) {
        done += 1;
        for &(other, distance) in &right[starts[chain]..starts[chain + 1]] {
            x[other] = x[other].max(x[chain] + distance);
            waiting[other] -= 1;
            if waiting[other] == 0 {
                order.push(other);
            }
        }
    }
    for &chain in order.iter().rev() {
        let nearest = right[starts[chain]..starts[chain + 1]]
            .iter()
            .map(|&(other, distance)| x[other] - distance)
            .min_by(f64::total_cmp);
        if let Some(nearest) = nearest {
            x[chain] = x[chain].max(nearest);
        }
    }
    (0..count).map(|vertex| x[root[vertex]]).collect()
}
