//! Which values inference leaves unknown although sizes determine them.

use std::collections::{HashMap, HashSet};

use onnx_ir::{Model, ValueId};
use onnx_schema::Registry;
use onnx_shape_infer::{InferOptions, infer};
use onnx_types::{Dim, Symbol};

use super::generate::random::Random;
use super::generate::world::{BINDINGS, Sizes, main_values};
use super::judge::{Verdict, operands};
use super::observation::{Observation, Seen};

/// Those of some values that have different ranks for different sizes, as inference with the sizes set says: no shape
/// states what they have in common. Four bindings that run show this only where each branch of an `If` runs.
pub(super) fn varying_ranks(
    model: &mut Model,
    sizes: &Sizes,
    values: &[ValueId],
    registry: &Registry,
) -> HashSet<ValueId> {
    const TRIED: [i64; 8] = [1, 2, 3, 4, 5, 6, 8, 16];
    let is_variable = |name: &str| name.chars().all(|c| c.is_ascii_alphanumeric());
    let mut rng = Random::new(1);
    let mut ranks: HashMap<ValueId, usize> = HashMap::new();
    let mut varying = HashSet::new();
    for round in 0..40 {
        let mut bound: Vec<(Symbol, i64)> = Vec::new();
        for (name, _) in sizes.iter().filter(|(name, _)| is_variable(name)) {
            let size = TRIED.get(round).copied().unwrap_or_else(|| rng.of(&TRIED));
            bound.push((model.intern(name), size));
        }
        // A dimension such as `2*N` is a separate name in a model whose names are not parsed as expressions.
        for (name, _) in sizes.iter().filter(|(name, _)| !is_variable(name)) {
            let (exprs, names) = model.exprs_mut();
            let dim = exprs.parse(names, name);
            let size = |symbol| bound.iter().find(|(known, _)| *known == symbol).map(|&(_, size)| size);
            if let Some(size) = model.exprs().eval(dim, &size) {
                bound.push((model.intern(name), size));
            }
        }
        let options = InferOptions::default().with_registry(registry).with_sizes(&bound);
        let inference = infer(model, &options);
        for &value in values {
            let Some(rank) = inference.shape(value).map(<[Dim]>::len) else { continue };
            if *ranks.entry(value).or_insert(rank) != rank {
                varying.insert(value);
            }
        }
    }
    varying
}

/// Counts the values that sizes determine, and those of them that are unknown.
pub(super) fn unknown(
    model: &Model,
    seen: &Observation,
    open: &HashSet<ValueId>,
    incomplete: &HashSet<ValueId>,
    varying: &HashSet<ValueId>,
    verdict: &mut Verdict,
) {
    let mut origins: HashMap<ValueId, String> = HashMap::new();
    for value in main_values(model) {
        let Some(node) = model.value(value).producer() else { continue };
        let name = model.str(model.value(value).name());
        let Some(determined) = determined(seen, name) else { continue };
        if determined.sizes {
            verdict.count("values that sizes determine", 1);
        }
        let is_open = open.contains(&value) && determined.sizes;
        let is_incomplete = incomplete.contains(&value) && determined.elements;
        if !is_open && !is_incomplete {
            continue;
        }
        let before = operands(model, node).into_iter().find_map(|operand| origins.get(&operand).cloned());
        let what = if is_open { "" } else { " (elements)" };
        let rank_varies = determined.rank_varies || varying.contains(&value);
        let rank = if is_open && rank_varies { " (rank)" } else { "" };
        let op = format!("{}{what}{rank}", model.str(model.node(node).op()));
        let origin = before.unwrap_or(op);
        verdict.origins.entry(origin.clone()).or_insert_with(|| name.to_owned());
        if is_open {
            verdict.count("values that sizes determine, unknown", 1);
            if rank_varies {
                verdict.count("values that sizes determine, unknown, of a rank that varies", 1);
            }
            *verdict.unknown.entry(origin.clone()).or_default() += 1;
        }
        origins.insert(value, origin);
    }
}

struct Determined {
    sizes: bool,
    elements: bool,
    rank_varies: bool,
}

/// Whether all runs of each binding give the same sizes, and the same elements. At least one binding has several runs.
fn determined(seen: &Observation, name: &str) -> Option<Determined> {
    let mut found = Determined { sizes: true, elements: true, rank_varies: false };
    let mut is_repeated = false;
    let mut rank = None;
    for binding in 0..BINDINGS {
        let runs = seen.runs.iter().filter(|run| run.binding == binding);
        let values: Vec<&Seen> = runs.filter_map(|run| run.values.as_ref()?.get(name)).collect();
        is_repeated |= values.len() > 1;
        let Some(first) = values.first() else { continue };
        let Seen::Tensor { dims, elements, .. } = first else { return None };
        found.rank_varies |= rank.is_some_and(|rank| rank != dims.len());
        rank = Some(dims.len());
        for value in &values {
            found.sizes &= value.dims() == Some(dims);
            found.elements &=
                matches!(value, Seen::Tensor { elements: other, .. } if other == elements && other.is_some());
        }
    }
    is_repeated.then_some(found)
}
