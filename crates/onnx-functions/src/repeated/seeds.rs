//! Seeds of the search for repeated blocks: sets of nodes whose surroundings are equal.

use std::collections::{BTreeMap, HashMap};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use foldhash::fast::RandomState;
use onnx_types::{Interrupt, Stopped, Watch};

use super::flow::{Flow, Source, WATCHED_NODES};

/// Number of steps by which the hashed surroundings of a node grow.
const ROUNDS: usize = 6;
/// Number of different sizes of sets that are tried.
const SIZES: usize = 12;
/// Number of sets of each size that are tried.
const SETS: usize = 3;

/// For each round, a hash of each node with its surroundings up to as many edges away.
pub(super) struct Colors {
    rounds: Vec<Vec<u64>>,
}

impl Colors {
    /// Each round takes time linear in the data flow.
    pub(super) fn new(flow: &Flow, interrupt: &Interrupt) -> Result<Self, Stopped> {
        let mut watch = Watch::silent(interrupt, WATCHED_NODES);
        let first: Vec<u64> = flow.labels.iter().map(|label| label.unwrap_or_default()).collect();
        let mut rounds = vec![first];
        for _ in 0..ROUNDS {
            let Some(last) = rounds.last() else { break };
            let next = |node| watch.work(1).map(|()| refined(flow, last, node));
            let next = (0..flow.nodes.len()).map(next).collect::<Result<_, _>>()?;
            rounds.push(next);
        }
        Ok(Self { rounds })
    }

    /// Sets of free nodes from which blocks are grown, the most promising first: those whose size is that of most sets, as a
    /// model of 12 layers has many sets of 12 nodes.
    pub(super) fn seeds(
        &self,
        flow: &Flow,
        interrupt: &Interrupt,
        is_free: impl Fn(usize) -> bool,
    ) -> Result<Vec<Vec<usize>>, Stopped> {
        let mut by_size: BTreeMap<usize, Candidates> = BTreeMap::new();
        for colors in &self.rounds {
            interrupt.check()?;
            for (size, sets) in sets_by_size(flow, colors, &is_free) {
                let coverage = sets.len().saturating_mul(size);
                let best = by_size.entry(size).or_default();
                if coverage > best.coverage {
                    *best = Candidates { coverage, sets };
                }
            }
        }
        let mut sizes: Vec<Candidates> = by_size.into_values().collect();
        sizes.sort_by_key(|candidates| std::cmp::Reverse(candidates.coverage));
        let chosen = sizes.into_iter().take(SIZES).flat_map(|candidates| {
            let step = candidates.sets.len().div_ceil(SETS).max(1);
            candidates.sets.into_iter().step_by(step)
        });
        Ok(chosen.collect())
    }
}

/// The sets of one size, from the round in which they have the most nodes.
#[derive(Default)]
struct Candidates {
    coverage: usize,
    sets: Vec<Vec<usize>>,
}

/// The sets of at least two free nodes of one color, by their size; sets in the order of their first nodes.
fn sets_by_size(
    flow: &Flow,
    colors: &[u64],
    is_free: impl Fn(usize) -> bool,
) -> BTreeMap<usize, Vec<Vec<usize>>> {
    let mut indices: HashMap<u64, usize, RandomState> = HashMap::default();
    let mut sets: Vec<Vec<usize>> = Vec::new();
    for (node, &color) in colors.iter().enumerate() {
        if flow.labels[node].is_none() || !is_free(node) {
            continue;
        }
        let at = *indices.entry(color).or_insert_with(|| {
            sets.push(Vec::new());
            sets.len() - 1
        });
        sets[at].push(node);
    }
    let mut by_size: BTreeMap<usize, Vec<Vec<usize>>> = BTreeMap::new();
    for set in sets.into_iter().filter(|set| set.len() > 1) {
        by_size.entry(set.len()).or_default().push(set);
    }
    by_size
}

/// The color of a node in the next round.
fn refined(flow: &Flow, colors: &[u64], node: usize) -> u64 {
    let mut hasher = DefaultHasher::new();
    colors[node].hash(&mut hasher);
    for source in &flow.operands[node] {
        match *source {
            Source::Omitted => 0_u8.hash(&mut hasher),
            Source::Outside(_) => 1_u8.hash(&mut hasher),
            Source::Node { node, output, .. } => (2_u8, output, colors[node]).hash(&mut hasher),
        }
    }
    // The order of uses does not count, so their hashes are added.
    let uses = flow.uses[node].iter().map(|edge| {
        let mut hasher = DefaultHasher::new();
        (edge.output, edge.input, colors[edge.user]).hash(&mut hasher);
        hasher.finish()
    });
    uses.fold(0_u64, u64::wrapping_add).hash(&mut hasher);
    hasher.finish()
}
