//! Heads of attention, and what is chosen with them.

use onnx_types::tensor::Tensor;

use super::{Given, Planner, integers};

/// The sizes of one attention.
struct Sizes {
    batch: i64,
    /// Heads of queries, and of keys and values: several heads of queries have the same keys.
    heads: i64,
    shared: i64,
    queries: i64,
    keys: i64,
    key: i64,
    value: i64,
}

impl Planner<'_> {
    /// A number that the operands depend on: what the rule gives, or the wanted one.
    fn number(&mut self, name: &str, wanted: i64) -> Option<i64> {
        match self.given(name) {
            Given::Value(value) => integers(&value)?.first().copied(),
            Given::Any => {
                self.set(name, wanted);
                Some(wanted)
            }
            Given::Default => None,
        }
    }

    /// Numbers of heads: those of the rule, or any of which the first is a multiple of the second.
    fn heads(&mut self, known: [Option<i64>; 2]) -> Option<(i64, i64)> {
        let given = |planner: &Self, name: &str| match planner.given(name) {
            Given::Value(value) => integers(&value)?.first().copied(),
            _ => None,
        };
        let heads = known[0].or_else(|| given(self, "q_num_heads"));
        let shared = known[1].or_else(|| given(self, "kv_num_heads"));
        let fits = |heads: i64, shared: i64| shared > 0 && heads.checked_rem(shared) == Some(0);
        match (heads, shared) {
            (Some(heads), Some(shared)) => fits(heads, shared).then_some((heads, shared)),
            (Some(heads), None) => {
                let all: Vec<i64> = (1..=heads.min(8)).filter(|&shared| fits(heads, shared)).collect();
                Some((heads, self.rng.pick(&all)?))
            }
            (None, shared) => {
                let shared = shared.or_else(|| self.rng.pick(&[1, 1, 2, 2, 3]))?;
                Some((shared.checked_mul(self.rng.pick(&[1, 1, 2, 2, 3])?)?, shared))
            }
        }
    }
}

/// `Attention` with operands of four axes, or of three, in which the last one has the elements of all heads.
pub(super) fn attention(planner: &mut Planner<'_>) -> Option<()> {
    let names = ["Q", "K", "V"];
    let known = names.map(|name| planner.known(name));
    let rank = known.iter().flatten().map(Vec::len).next();
    let is_flat = match (rank, planner.given("q_num_heads")) {
        (Some(rank), _) => rank == 3,
        (None, Given::Value(_)) => true,
        (None, Given::Any) => planner.rng.chance(55),
        (None, Given::Default) => false,
    };
    let sizes = if is_flat { flat(planner, &known)? } else { split(planner, &known)? };
    let &Sizes { batch, heads, shared, queries, keys, key, value } = &sizes;
    if is_flat {
        planner.place("Q", &[batch, queries, heads.checked_mul(key)?]);
        planner.place("K", &[batch, keys, shared.checked_mul(key)?]);
        planner.place("V", &[batch, keys, shared.checked_mul(value)?]);
    } else {
        planner.place("Q", &[batch, heads, queries, key]);
        planner.place("K", &[batch, shared, keys, key]);
        planner.place("V", &[batch, shared, keys, value]);
    }
    rest(planner, &sizes)
}

/// The cache, the lengths and the mask.
fn rest(planner: &mut Planner<'_>, sizes: &Sizes) -> Option<()> {
    let &Sizes { batch, heads, shared, queries, keys, key, value } = sizes;
    let past = planner.known("past_key").and_then(|sizes| sizes.get(2).copied());
    let mut total = keys;
    if planner.has("past_key") {
        let past = past.or_else(|| planner.rng.pick(&[1, 2, 3]))?;
        total = total.checked_add(past)?;
        if planner.known("past_key").is_none() {
            planner.sizes("past_key", &[batch, shared, past, key]);
        }
        if planner.known("past_value").is_none() {
            planner.sizes("past_value", &[batch, shared, past, value]);
        }
        planner.omit("nonpad_kv_seqlen");
    } else {
        planner.omit("past_value");
        if planner.version < 24 {
            planner.omit("nonpad_kv_seqlen");
        } else if planner.known("nonpad_kv_seqlen").is_none() && planner.has("nonpad_kv_seqlen") {
            let lengths: Vec<i64> =
                (0..batch).map(|_| if planner.rng.chance(50) { keys } else { keys.min(1) }).collect();
            planner.elements("nonpad_kv_seqlen", Tensor::vector(&lengths));
        }
    }
    let masks = [
        vec![queries, total],
        vec![1, 1, queries, total],
        vec![batch, 1, queries, total],
        vec![batch, heads, queries, total],
    ];
    let mask = planner.rng.pick(&masks)?;
    planner.place("attn_mask", &mask);
    Some(())
}

/// The sizes of operands with three axes.
fn flat(planner: &mut Planner<'_>, known: &[Option<Vec<i64>>; 3]) -> Option<Sizes> {
    let at = |operand: usize, axis: usize| known.get(operand)?.as_ref()?.get(axis).copied();
    let mut choice = planner.heads([None, None])?;
    if let (Some(width), Given::Any) = (at(0, 2), planner.given("q_num_heads")) {
        let all = [1, 2, 3, 4, 6].into_iter().filter(|&heads| width.checked_rem(heads) == Some(0));
        let heads = planner.rng.pick(&all.collect::<Vec<i64>>())?;
        choice = planner.heads([Some(heads), None])?;
    }
    let (heads, shared) = choice;
    planner.number("q_num_heads", heads)?;
    planner.number("kv_num_heads", shared)?;
    let part = |width: i64, heads: i64| {
        (width.checked_rem(heads) == Some(0)).then(|| width.checked_div(heads)).flatten()
    };
    let key = match (at(0, 2), at(1, 2)) {
        (Some(width), _) => part(width, heads)?,
        (None, Some(width)) => part(width, shared)?,
        (None, None) => planner.size(),
    };
    let value = match at(2, 2) {
        Some(width) => part(width, shared)?,
        None => planner.size(),
    };
    let batch = at(0, 0).or_else(|| at(1, 0)).or_else(|| at(2, 0)).unwrap_or_else(|| planner.size());
    let queries = at(0, 1).unwrap_or_else(|| planner.size());
    let keys = at(1, 1).or_else(|| at(2, 1)).unwrap_or_else(|| planner.size());
    Some(Sizes { batch, heads, shared, queries, keys, key, value })
}

/// The sizes of operands with four axes.
fn split(planner: &mut Planner<'_>, known: &[Option<Vec<i64>>; 3]) -> Option<Sizes> {
    let at = |operand: usize, axis: usize| known.get(operand)?.as_ref()?.get(axis).copied();
    let (heads, shared) = planner.heads([at(0, 1), at(1, 1).or_else(|| at(2, 1))])?;
    for name in ["q_num_heads", "kv_num_heads"] {
        planner.leave_out(name);
    }
    let key = at(0, 3).or_else(|| at(1, 3)).unwrap_or_else(|| planner.size());
    let value = at(2, 3).unwrap_or_else(|| planner.size());
    let batch = at(0, 0).or_else(|| at(1, 0)).or_else(|| at(2, 0)).unwrap_or_else(|| planner.size());
    let queries = at(0, 2).unwrap_or_else(|| planner.size());
    let keys = at(1, 2).or_else(|| at(2, 2)).unwrap_or_else(|| planner.size());
    Some(Sizes { batch, heads, shared, queries, keys, key, value })
}

/// `LinearAttention`: the rule of its state decides which operands it has.
pub(super) fn linear(planner: &mut Planner<'_>) -> Option<()> {
    let known = ["query", "key", "value"].map(|name| planner.known(name));
    let &Sizes { batch, heads, shared, queries, key, value, .. } = &flat(planner, &known)?;
    planner.place("query", &[batch, queries, heads.checked_mul(key)?]);
    planner.place("key", &[batch, queries, shared.checked_mul(key)?]);
    planner.place("value", &[batch, queries, shared.checked_mul(value)?]);
    planner.place("past_state", &[batch, shared, key, value]);
    let rule = planner.text("update_rule", "gated_delta", &["linear", "gated", "delta", "gated_delta"]);
    let width = if planner.rng.chance(50) { shared } else { shared.checked_mul(key)? };
    match rule.starts_with("gated") {
        true => planner.sizes("decay", &[batch, queries, width]),
        false => planner.omit("decay"),
    }
    let width = if planner.rng.chance(50) { shared } else { 1 };
    match rule.ends_with("delta") {
        true => planner.sizes("beta", &[batch, queries, width]),
        false => planner.omit("beta"),
    }
    Some(())
}

/// `RotaryEmbedding` with operands of four axes, or of three and a number of heads.
pub(super) fn rotary(planner: &mut Planner<'_>) -> Option<()> {
    let known = planner.known("X");
    let is_flat = match (&known, planner.given("num_heads")) {
        (Some(known), _) => known.len() == 3,
        (None, Given::Value(_)) => true,
        (None, Given::Any) => planner.rng.chance(50),
        (None, Given::Default) => false,
    };
    let head = planner.rng.pick(&[2, 4, 4, 6])?;
    let (wanted, batch, steps) = (planner.rng.pick(&[1, 2, 3])?, planner.size(), planner.size());
    let heads = if is_flat {
        planner.number("num_heads", wanted)?
    } else {
        planner.leave_out("num_heads");
        wanted
    };
    let sizes = known.unwrap_or_else(|| match is_flat {
        true => vec![batch, steps, heads.saturating_mul(head)],
        false => vec![batch, heads, steps, head],
    });
    let (batch, steps, head) = match *sizes {
        [batch, steps, width] => (batch, steps, width.checked_div(heads)?),
        [batch, _, steps, head] => (batch, steps, head),
        _ => return None,
    };
    planner.place("X", &sizes);
    let turned = planner.int("rotary_embedding_dim", 0, &[0, 2, head]);
    let half = if turned > 0 { turned } else { head }.checked_div(2)?;
    let positions = steps.saturating_add(2);
    let cache = if planner.has("position_ids") {
        if planner.known("position_ids").is_none() {
            let count = usize::try_from(batch.checked_mul(steps)?).ok()?;
            let below = usize::try_from(positions).ok()?;
            let indices: Vec<i64> =
                (0..count).filter_map(|_| i64::try_from(planner.rng.below(below)).ok()).collect();
            planner.elements("position_ids", Tensor::from_slice([batch, steps], &indices).ok()?);
        }
        vec![positions, half]
    } else {
        vec![batch, steps, half]
    };
    planner.place("cos_cache", &cache);
    planner.place("sin_cache", &cache);
    Some(())
}

/// `CausalConvWithState`.
pub(super) fn causal(planner: &mut Planner<'_>) -> Option<()> {
    let input = planner.known_or("input", &[3])?;
    let (batch, channels) = (*input.first()?, *input.get(1)?);
    let of_weight = planner.known("weight").and_then(|sizes| sizes.get(2).copied());
    let kernel = of_weight.or_else(|| planner.rng.pick(&[1, 2, 3]))?;
    planner.place("weight", &[channels, 1, kernel]);
    planner.place("bias", &[channels]);
    planner.place("past_state", &[batch, channels, kernel.checked_sub(1)?]);
    planner.text("activation", "none", &["none", "silu", "swish"]);
    Some(())
}

/// `TensorScatter`: an update is written into a cache at an index of each batch.
pub(super) fn cache(planner: &mut Planner<'_>) -> Option<()> {
    let mut cache = planner.known("past_cache").or_else(|| {
        let rank = planner.rng.pick(&[3, 3, 4])?;
        Some((0..rank).map(|_| planner.size()).collect())
    })?;
    let axis = planner.int("axis", -2, &[-2, 1, 2]);
    let at = super::axis_of(axis, cache.len()).filter(|&axis| axis > 0)?;
    let length = *cache.get(at)?;
    let length = if planner.known("past_cache").is_none() { length.saturating_add(2) } else { length };
    *cache.get_mut(at)? = length;
    planner.place("past_cache", &cache);
    let mut update = cache.clone();
    let steps = planner.rng.pick(&[1, 2, length])?.min(length);
    *update.get_mut(at)? = steps;
    planner.place("update", &update);
    planner.text("mode", "linear", &["linear", "circular"]);
    if planner.known("write_indices").is_none() && planner.has("write_indices") {
        let most = usize::try_from(length.checked_sub(steps)?).ok()?.saturating_add(1);
        let batch = usize::try_from(*cache.first()?).ok()?;
        let indices: Vec<i64> =
            (0..batch).filter_map(|_| i64::try_from(planner.rng.below(most)).ok()).collect();
        planner.elements("write_indices", Tensor::vector(&indices));
    }
    Some(())
}
