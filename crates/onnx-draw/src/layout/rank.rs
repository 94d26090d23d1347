//! Ranks of boxes: longest paths, then shorter edges.

use super::{Block, Link, Pin};

/// Ranks, and the edges that had to be turned around.
pub(super) struct Ranking {
    /// The rank of each box.
    pub(super) rank: Vec<usize>,
    /// `true` for each edge that points up.
    pub(super) is_back: Vec<bool>,
}

/// Gives each box a rank below all boxes that have an edge to it. Edges of a cycle that end at the first box of it point up.
pub(super) fn ranks(blocks: &[Block], links: &[Link], valid: &dyn Fn(&Link) -> bool) -> Ranking {
    let neighbours = Neighbours::new(blocks.len(), links, valid);
    let order = topological(blocks.len(), &neighbours, links);
    let mut at = vec![0_usize; blocks.len()];
    for (index, &block) in order.iter().enumerate() {
        at[block] = index;
    }
    let is_back: Vec<bool> = links.iter().map(|link| valid(link) && at[link.from] > at[link.to]).collect();
    let mut rank = vec![0_usize; blocks.len()];
    for &block in &order {
        for &link in neighbours.outgoing(block) {
            if !is_back[link] {
                let to = links[link].to;
                rank[to] = rank[to].max(rank[block] + 1);
            }
        }
        // Edges that point up are laid out from their end to their beginning.
        for &link in neighbours.incoming(block) {
            if is_back[link] {
                let from = links[link].from;
                rank[from] = rank[from].max(rank[block] + 1);
            }
        }
    }
    let mut ranking = Ranking { rank, is_back };
    shorten(blocks, links, &neighbours, &order, &mut ranking);
    pin_last(blocks, &mut ranking.rank);
    ranking
}

/// Moves boxes down if that makes edges shorter in total.
fn shorten(
    blocks: &[Block],
    links: &[Link],
    neighbours: &Neighbours,
    order: &[usize],
    ranking: &mut Ranking,
) {
    for &block in order.iter().rev() {
        if blocks[block].pin != Pin::Free {
            continue;
        }
        let (mut lowest, mut below, mut above) = (usize::MAX, 0_usize, 0_usize);
        let mut trunks: Vec<u32> = Vec::new();
        for &link in neighbours.outgoing(block) {
            let other = ranking.rank[links[link].to];
            if ranking.is_back[link] {
                above += 1;
            } else {
                lowest = lowest.min(other);
                if !trunks.contains(&links[link].trunk) && trunks.len() < 8 {
                    trunks.push(links[link].trunk);
                    below += 1;
                }
            }
        }
        for &link in neighbours.incoming(block) {
            if ranking.is_back[link] {
                lowest = lowest.min(ranking.rank[links[link].from]);
                below += 1;
            } else {
                above += 1;
            }
        }
        if above < below && lowest != usize::MAX {
            ranking.rank[block] = ranking.rank[block].max(lowest - 1);
        }
    }
    if blocks.iter().any(|block| block.pin == Pin::First) {
        return;
    }
    let first = ranking.rank.iter().copied().min().unwrap_or(0);
    ranking.rank.iter_mut().for_each(|rank| *rank -= first);
}

/// Moves the boxes that must be in the last rank there. They have no edges to other boxes.
fn pin_last(blocks: &[Block], rank: &mut [usize]) {
    let others = blocks.iter().zip(rank.iter()).filter(|(block, _)| block.pin != Pin::Last);
    let last = others.map(|(_, &rank)| rank + 1).max().unwrap_or(0);
    for (block, rank) in blocks.iter().zip(rank.iter_mut()) {
        match block.pin {
            Pin::Last => *rank = last.max(*rank),
            Pin::First | Pin::Free => {}
        }
    }
}

/// The edges of each box.
pub(super) struct Neighbours {
    outgoing: Lists,
    incoming: Lists,
}

impl Neighbours {
    fn new(count: usize, links: &[Link], valid: &dyn Fn(&Link) -> bool) -> Self {
        let valid = links.iter().enumerate().filter(|(_, link)| valid(link));
        let (from, to): (Vec<_>, Vec<_>) =
            valid.map(|(index, link)| ((link.from, index), (link.to, index))).unzip();
        Self { outgoing: Lists::new(count, &from), incoming: Lists::new(count, &to) }
    }

    fn outgoing(&self, block: usize) -> &[usize] {
        self.outgoing.of(block)
    }

    fn incoming(&self, block: usize) -> &[usize] {
        self.incoming.of(block)
    }
}

/// A list of numbers for each key below a number, in one piece of memory.
#[derive(Clone, Debug, Default)]
pub(super) struct Lists {
    starts: Vec<usize>,
    items: Vec<usize>,
}

impl Lists {
    /// The lists of the keys below `count`, from pairs of a key and an item.
    pub(super) fn new(count: usize, pairs: &[(usize, usize)]) -> Self {
        let mut starts = vec![0; count + 1];
        for &(key, _) in pairs {
            starts[key + 1] += 1;
        }
        for index in 0..count {
            starts[index + 1] += starts[index];
        }
        let mut next = starts.clone();
        let mut items = vec![0; pairs.len()];
        for &(key, item) in pairs {
            items[next[key]] = item;
            next[key] += 1;
        }
        Self { starts, items }
    }

    pub(super) fn of(&self, key: usize) -> &[usize] {
        &self.items[self.starts[key]..self.starts[key + 1]]
    }

    pub(super) fn of_mut(&mut self, key: usize) -> &mut [usize] {
        &mut self.items[self.starts[key]..self.starts[key + 1]]
    }
}

/// The boxes in an order in which each is after those that have an edge to it. Of a cycle, the box with the smallest index
/// is first.
fn topological(count: usize, neighbours: &Neighbours, links: &[Link]) -> Vec<usize> {
    let mut waiting: Vec<usize> = (0..count).map(|block| neighbours.incoming(block).len()).collect();
    let mut is_done = vec![false; count];
    let mut order = Vec::with_capacity(count);
    let mut ready: std::collections::VecDeque<usize> =
        (0..count).filter(|&block| waiting[block] == 0).collect();
    let mut next = 0;
    while order.len() < count {
        let block = match ready.pop_front() {
            Some(block) => block,
            None => {
                while is_done[next] {
                    next += 1;
                }
                next
            }
        };
        if std::mem::replace(&mut is_done[block], true) {
            continue;
        }
        order.push(block);
        for &link in neighbours.outgoing(block) {
            let to = links[link].to;
            waiting[to] = waiting[to].saturating_sub(1);
            if waiting[to] == 0 && !is_done[to] {
                ready.push_back(to);
            }
        }
    }
    order
}
