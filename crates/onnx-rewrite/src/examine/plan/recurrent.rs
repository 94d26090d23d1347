//! Layers with a state: all sizes follow from those of the input, the number of gates, and the size of the state.

use onnx_types::tensor::Tensor;

use super::{Given, Planner};

pub(super) fn recurrent(planner: &mut Planner<'_>) -> Option<()> {
    let gates = match planner.op {
        "GRU" => 3,
        "LSTM" => 4,
        _ => 1,
    };
    let layout = if planner.version >= 14 { planner.int("layout", 0, &[0, 0, 1]) } else { 0 };
    if planner.version < 14 {
        planner.leave_out("layout");
    }
    let direction = planner.text("direction", "forward", &["forward", "reverse", "bidirectional"]);
    let directions = if direction == "bidirectional" { 2 } else { 1 };
    let input = planner.known_or("X", &[3])?;
    let hidden = hidden(planner, gates)?;
    let (first, second) = (*input.first()?, *input.get(1)?);
    let (steps, batch) = if layout == 1 { (second, first) } else { (first, second) };
    let rows = hidden.checked_mul(gates)?;
    let mut place = |name: &'static str, sizes: &[i64]| {
        if planner.known(name).is_none() && planner.has(name) {
            planner.sizes(name, sizes);
        }
    };
    place("W", &[directions, rows, *input.get(2)?]);
    place("R", &[directions, rows, hidden]);
    place("B", &[directions, rows.checked_mul(2)?]);
    let state = if layout == 1 { [batch, directions, hidden] } else { [directions, batch, hidden] };
    place("initial_h", &state);
    place("initial_c", &state);
    place("P", &[directions, hidden.checked_mul(3)?]);
    if planner.known("sequence_lens").is_none() && planner.has("sequence_lens") {
        // Some sequences are shorter than the longest one.
        let lengths: Vec<i64> = (0..batch)
            .map(|_| if planner.rng.chance(50) { steps } else { steps.saturating_sub(1).max(1) })
            .collect();
        planner.elements("sequence_lens", Tensor::vector(&lengths));
    }
    // The words of a function are one for each gate.
    for name in ["activations", "activation_alpha", "activation_beta"] {
        planner.leave_out(name);
    }
    if let Given::Any = planner.given("clip") {
        match planner.rng.chance(40) {
            true => planner.set("clip", 0.5_f32),
            false => planner.leave_out("clip"),
        }
    }
    Some(())
}

/// The size of the state: that of weights that are chosen already, that of the rule, or any.
fn hidden(planner: &mut Planner<'_>, gates: i64) -> Option<i64> {
    let of_weights = planner.known("W").and_then(|sizes| sizes.get(1)?.checked_div(gates));
    let known = of_weights.or_else(|| planner.known("R").and_then(|sizes| sizes.get(2).copied()));
    match (known, planner.given("hidden_size")) {
        (_, Given::Value(value)) => super::integers(&value)?.first().copied(),
        (known, Given::Any) => {
            let hidden = known.or_else(|| planner.rng.pick(&[1, 2, 2, 3]))?;
            planner.set("hidden_size", hidden);
            Some(hidden)
        }
        (known, Given::Default) => known.or_else(|| planner.rng.pick(&[1, 2, 2, 3])),
    }
}
