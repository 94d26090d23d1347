//! Recurrent operators: the products of each step, and the operations on the units.

use super::{Cx, Why, Work};

/// For each step, element of the batch, direction and unit: the products of all gates with the input and the state, the sum
/// of the two, two biases if there are any, and operations on the unit.
pub(super) fn recurrent(cx: &mut Cx<'_, '_>, gates: i64, unit: i64) -> Result<Work, Why> {
    let &[first, second, input] = cx.input(0)? else { return Err(Why::Input(0)) };
    // Steps and batch, in an order that `layout` chooses.
    let rows = cx.mul(first, second);
    let &[directions, gate_units, hidden] = cx.input(2)? else { return Err(Why::Input(2)) };
    let units = cx.product(&[rows, directions, hidden]);
    let gate_units = cx.product(&[rows, directions, gate_units]);
    let summed = cx.add(input, hidden);
    let macs = cx.mul(gate_units, summed);
    let biases = if cx.has_input(3) { 2 } else { 0 };
    let each = gates.saturating_mul(1_i64.saturating_add(biases)).saturating_add(unit);
    let peepholes = if cx.has_input(7) { 6 } else { 0 };
    let others = cx.scaled(units, each.saturating_add(peepholes));
    Ok(cx.macs(macs, others))
}
