//! The graph in ranks: boxes, and a vertex for each rank that an edge passes.

use std::collections::HashMap;

use super::rank::{Lists, Ranking};
use super::{Block, GAP, Link};

/// Vertices of edges that a layout has at least, whatever the number of boxes.
const LEAST_BUDGET: usize = 3_000;

/// A graph whose edges connect neighbouring ranks.
pub(super) struct Layers {
    /// The vertices of each rank, from left to right. The first vertices are the boxes.
    pub(super) ranks: Vec<Vec<usize>>,
    /// The rank of each vertex.
    pub(super) rank: Vec<usize>,
    /// The place of each vertex in its rank.
    pub(super) at: Vec<usize>,
    /// Half of the width of each vertex, with the space around it.
    pub(super) half: Vec<f64>,
    /// The neighbours of each vertex in the rank above.
    pub(super) up: Lists,
    /// The neighbours of each vertex in the rank below.
    pub(super) down: Lists,
    /// The vertices of each edge between its ends, from top to bottom; `None` if the edge is cut.
    pub(super) chains: Vec<Option<Vec<usize>>>,
    /// Number of boxes.
    pub(super) blocks: usize,
}

impl Layers {
    pub(super) fn new(
        blocks: &[Block],
        links: &[Link],
        ranking: &Ranking,
        valid: &dyn Fn(&Link) -> bool,
    ) -> Self {
        let spans: Vec<usize> = links
            .iter()
            .map(|link| if valid(link) { ranking.rank[link.from].abs_diff(ranking.rank[link.to]) } else { 0 })
            .collect();
        let longest = longest_span(links, &spans, 3 * blocks.len() + LEAST_BUDGET);
        let mut rank = ranking.rank.clone();
        let mut half: Vec<f64> = blocks.iter().map(|block| (block.size.width + GAP) / 2.0).collect();
        let mut pairs: Vec<(usize, usize)> = Vec::new();
        let mut shared: HashMap<(usize, u32, usize), usize> = HashMap::new();
        let mut chains = Vec::with_capacity(links.len());
        for (index, link) in links.iter().enumerate() {
            if spans[index] == 0 || spans[index] > longest {
                chains.push(None);
                continue;
            }
            let is_back = ranking.is_back[index];
            let (top, bottom) = if is_back { (link.to, link.from) } else { (link.from, link.to) };
            // Edges that point up share their way with no other edge.
            let trunk = if is_back { u32::MAX - u32::try_from(index).unwrap_or(0) } else { link.trunk };
            let mut chain = Vec::new();
            let mut above = top;
            for passed in ranking.rank[top] + 1..ranking.rank[bottom] {
                let mut is_new = false;
                let vertex = *shared.entry((top, trunk, passed)).or_insert_with(|| {
                    is_new = true;
                    rank.push(passed);
                    half.push(GAP / 2.0);
                    rank.len() - 1
                });
                if is_new {
                    pairs.push((above, vertex));
                }
                chain.push(vertex);
                above = vertex;
            }
            pairs.push((above, bottom));
            chains.push(Some(chain));
        }
        pairs.sort_unstable();
        pairs.dedup();
        let reversed: Vec<(usize, usize)> = pairs.iter().map(|&(above, below)| (below, above)).collect();
        let count = rank.len();
        let mut layers = Self {
            ranks: vec![Vec::new(); rank.iter().map(|rank| rank + 1).max().unwrap_or(0)],
            at: vec![0; count],
            rank,
            half,
            up: Lists::new(count, &reversed),
            down: Lists::new(count, &pairs),
            chains,
            blocks: blocks.len(),
        };
        for vertex in 0..count {
            layers.ranks[layers.rank[vertex]].push(vertex);
        }
        (0..layers.ranks.len()).for_each(|rank| layers.number(rank));
        layers
    }

    /// Number of vertices.
    pub(super) fn count(&self) -> usize {
        self.rank.len()
    }

    /// Returns `true` for the vertex of an edge.
    pub(super) fn is_passed(&self, vertex: usize) -> bool {
        vertex >= self.blocks
    }

    /// Updates the places of the vertices of a rank.
    pub(super) fn number(&mut self, rank: usize) {
        for (at, &vertex) in self.ranks[rank].iter().enumerate() {
            self.at[vertex] = at;
        }
    }
}

/// The longest span of an edge that is drawn as a whole, so that no more than `budget` vertices are needed.
fn longest_span(links: &[Link], spans: &[usize], budget: usize) -> usize {
    // Of edges that share their way, the longest one counts.
    let mut trunks: HashMap<(usize, u32), usize> = HashMap::new();
    for (link, &span) in links.iter().zip(spans) {
        let longest = trunks.entry((link.from, link.trunk)).or_default();
        *longest = span.max(*longest);
    }
    let mut sorted: Vec<usize> = trunks.into_values().collect();
    sorted.sort_unstable();
    let mut used = 0_usize;
    for (index, &span) in sorted.iter().enumerate() {
        used += span.saturating_sub(1);
        if used > budget {
            let whole = if index == 0 { 1 } else { sorted[index - 1] };
            // Spans that are equal are all drawn or all cut.
            return if whole == span { span.saturating_sub(1).max(1) } else { whole.max(1) };
        }
    }
    usize::MAX
}
