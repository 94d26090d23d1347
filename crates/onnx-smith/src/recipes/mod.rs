//! Recipes: how operands of operators fit together. One file for each family, and rows for single operators.
//!
//! Most operators need none: [`general`] gives the first tensor any sizes and the others the same, one, or any, and
//! proposals that do not fit are refused. A recipe raises the share of those that do, or makes what never comes about by
//! chance.

mod broadcast;
mod control;
mod general;
mod index;
mod linear;
mod ml;
mod nn;
mod reduce;
mod rest;
mod tensor;
mod window;

use onnx_types::Symbol;

use crate::draft::Draft;

/// Chooses operands, and the attributes that depend on them. Nothing where that cannot be done here.
pub(crate) type Recipe = fn(&mut Draft<'_, '_>) -> Option<()>;

/// The recipe for some operators.
pub(crate) struct Row {
    ops: &'static [Symbol],
    recipe: Recipe,
}

const fn row(ops: &'static [Symbol], recipe: Recipe) -> Row {
    Row { ops, recipe }
}

/// All rows.
static FAMILIES: &[&[Row]] = &[
    broadcast::ROWS,
    control::ROWS,
    index::ROWS,
    linear::ROWS,
    ml::ROWS,
    nn::ROWS,
    reduce::ROWS,
    rest::ROWS,
    tensor::ROWS,
    window::ROWS,
];

/// Follows the recipe of the draft's operator.
pub(crate) fn follow(draft: &mut Draft<'_, '_>) -> Option<()> {
    let op = draft.schema.op();
    let row = FAMILIES.iter().flat_map(|rows| rows.iter()).find(|row| row.ops.contains(&op));
    row.map_or(general::recipe as Recipe, |row| row.recipe)(draft)
}
