//! From centers to places of boxes and ways of edges.

use std::collections::HashMap;

use super::layers::Layers;
use super::rank::Ranking;
use super::{Band, Block, BoxLayout, GAP, Link, Route, Size, Spot};

/// Space between two ranks.
const RANK_GAP: f64 = 46.0;
/// Space that is added between ranks whose edges are long.
const MOST_EXTRA: f64 = 90.0;
/// Distance of the ends of edges on one side of a box at most.
const PORT_GAP: f64 = 26.0;

/// Completes a layout.
pub(super) fn finish(
    blocks: &[Block],
    links: &[Link],
    ranking: &Ranking,
    layers: &Layers,
    centers: &[f64],
) -> BoxLayout {
    let bands = bands(blocks, layers, centers);
    let spots: Vec<Spot> = blocks
        .iter()
        .enumerate()
        .map(|(index, block)| {
            let rank = layers.rank[index];
            // The space around a vertex belongs to its width.
            Spot { x: centers[index] - block.size.width / 2.0 - GAP / 2.0, y: bands[rank].top, rank }
        })
        .collect();
    let mut routes: Vec<Route> = links
        .iter()
        .enumerate()
        .map(|(index, _)| {
            let chain = layers.chains[index].as_deref();
            let via = chain.unwrap_or_default();
            Route {
                via: via.iter().map(|&vertex| (layers.rank[vertex], centers[vertex] - GAP / 2.0)).collect(),
                is_cut: chain.is_none(),
                is_back: ranking.is_back[index],
                ..Route::default()
            }
        })
        .collect();
    ends(blocks, links, &spots, &mut routes, true);
    ends(blocks, links, &spots, &mut routes, false);
    let right = spots.iter().zip(blocks).map(|(spot, block)| spot.x + block.size.width);
    let passed = routes.iter().flat_map(|route| route.via.iter().map(|&(_, x)| x + GAP / 2.0));
    let width = right.chain(passed).fold(0.0, f64::max);
    let height = bands.last().map_or(0.0, |band| band.bottom);
    BoxLayout { size: Size { width, height }, bands, spots, routes }
}

fn bands(blocks: &[Block], layers: &Layers, centers: &[f64]) -> Vec<Band> {
    let mut heights = vec![0.0_f64; layers.ranks.len()];
    for (index, block) in blocks.iter().enumerate() {
        let height = &mut heights[layers.rank[index]];
        *height = height.max(block.size.height);
    }
    let mut top = 0.0;
    let mut bands = Vec::with_capacity(heights.len());
    for (rank, height) in heights.into_iter().enumerate() {
        let bottom = top + height;
        bands.push(Band { top, bottom });
        let below = |&vertex: &usize| {
            layers
                .down
                .of(vertex)
                .iter()
                .map(|&other| (centers[vertex] - centers[other]).abs())
                .fold(0.0, f64::max)
        };
        let widest = layers.ranks[rank].iter().map(below).fold(0.0, f64::max);
        top = bottom + RANK_GAP + ((widest - 120.0) / 10.0).clamp(0.0, MOST_EXTRA);
    }
    bands
}

/// Distributes the ends of edges on the lower (`is_start`) or upper sides of the boxes.
fn ends(blocks: &[Block], links: &[Link], spots: &[Spot], routes: &mut [Route], is_start: bool) {
    let mut groups: Vec<Vec<usize>> = vec![Vec::new(); blocks.len()];
    for (index, link) in links.iter().enumerate() {
        let block = if is_start { link.from } else { link.to };
        if let Some(group) = groups.get_mut(block).filter(|_| link.from.max(link.to) < blocks.len()) {
            group.push(index);
        }
    }
    let center = |block: usize| spots[block].x + blocks[block].size.width / 2.0;
    for (block, group) in groups.iter_mut().enumerate() {
        let far = |index: usize| {
            let via = &routes[index].via;
            let next = if is_start { via.first() } else { via.last() };
            next.map_or_else(
                || center(if is_start { links[index].to } else { links[index].from }),
                |&(_, x)| x,
            )
        };
        // Edges that share their way begin at one place, that of the leftmost.
        let mut keys: Vec<(f64, u32, usize)> = group
            .iter()
            .map(|&index| match is_start {
                true => (far(index), links[index].trunk, index),
                false if blocks[block].is_ordered => (f64::from(links[index].slot), 0, index),
                false => (far(index), links[index].trunk, index),
            })
            .collect();
        keys.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.2.cmp(&b.2)));
        let mut places: Vec<(usize, usize)> = Vec::with_capacity(keys.len());
        let mut numbers: HashMap<u32, usize> = HashMap::new();
        for (number, &(_, trunk, index)) in keys.iter().enumerate() {
            let next = numbers.len();
            let number = if is_start { *numbers.entry(trunk).or_insert(next) } else { number };
            places.push((number, index));
        }
        let count = if is_start { numbers.len() } else { keys.len() };
        let width = blocks[block].size.width;
        let gap = if is_start { PORT_GAP.max(blocks[block].start_gap) } else { PORT_GAP };
        let step = if count > 1 { gap.min((width - 12.0).max(0.0) / count as f64) } else { 0.0 };
        for (number, index) in places {
            let offset = (number as f64 - (count as f64 - 1.0) / 2.0) * step;
            let given = if is_start { links[index].from_x } else { links[index].to_x };
            let x = given.map_or(center(block) + offset, |given| spots[block].x + given);
            if is_start { routes[index].start = x } else { routes[index].end = x }
        }
        if is_start && group.iter().any(|&index| links[index].from_x.is_some()) {
            separate((spots[block].x, width), gap, group, links, routes);
        }
    }
}

/// Gives the trunks of an open box places that are apart: their labels begin there. Each keeps its order, and stays near the
/// middle of the places that its edges were given.
fn separate((left, width): (f64, f64), gap: f64, group: &[usize], links: &[Link], routes: &mut [Route]) {
    let mut sums: HashMap<u32, (f64, usize)> = HashMap::new();
    for &index in group {
        let sum = sums.entry(links[index].trunk).or_default();
        *sum = (sum.0 + routes[index].start, sum.1 + 1);
    }
    let mut trunks: Vec<(u32, f64)> = Vec::with_capacity(sums.len());
    for &index in group {
        if let Some((sum, count)) = sums.remove(&links[index].trunk) {
            trunks.push((links[index].trunk, sum / count as f64));
        }
    }
    trunks.sort_by(|a, b| a.1.total_cmp(&b.1).then(a.0.cmp(&b.0)));
    let gap = gap.min(width / trunks.len().max(1) as f64);
    let mut last = left + gap / 2.0 - gap;
    for (_, x) in &mut trunks {
        *x = x.max(last + gap);
        last = *x;
    }
    let mut next = left + width - gap / 2.0 + gap;
    for (_, x) in trunks.iter_mut().rev() {
        *x = x.min(next - gap);
        next = *x;
    }
    let places: HashMap<u32, f64> = trunks.into_iter().collect();
    for &index in group {
        routes[index].start = places.get(&links[index].trunk).copied().unwrap_or(routes[index].start);
    }
}
