//! Recipes: how operands of operators fit together, at the same paths as the inference rules in `onnx-shape-infer`.
//!
//! Most operators need none: [`default_recipe`] gives the first tensor any sizes and the others the same, one, or any, and
//! proposals that do not fit are refused. A recipe raises the share of those that do, or makes what never comes about by
//! chance.

mod control;
mod generator;
mod linear;
mod logical;
mod math;
mod ml;
mod nn;
mod quant;
mod reduction;
mod rnn;
mod sequence;
mod signal;
mod tensor;
mod training;

use onnx_types::Symbol;

use crate::draft::Draft;
use crate::family::default_recipe;

/// Chooses operands, and the attributes that depend on them. Returns `None` if that is not possible here.
pub(crate) type Recipe = fn(&mut Draft<'_, '_>) -> Option<()>;

/// The recipe for some operators.
pub(crate) struct Row {
    ops: &'static [Symbol],
    recipe: Recipe,
}

const fn row(ops: &'static [Symbol], recipe: Recipe) -> Row {
    Row { ops, recipe }
}

/// The recipes of all operators that have one, by group and file.
static GROUPS: &[&[&[Row]]] = &[
    control::RECIPES,
    generator::RECIPES,
    linear::RECIPES,
    logical::RECIPES,
    math::RECIPES,
    ml::RECIPES,
    nn::RECIPES,
    quant::RECIPES,
    reduction::RECIPES,
    rnn::RECIPES,
    sequence::RECIPES,
    signal::RECIPES,
    tensor::RECIPES,
    training::RECIPES,
];

/// Follows the recipe of the draft's operator.
pub(crate) fn follow(draft: &mut Draft<'_, '_>) -> Option<()> {
    let op = draft.schema.op();
    let rows = GROUPS.iter().flat_map(|files| files.iter()).flat_map(|rows| rows.iter());
    let row = rows.into_iter().find(|row| row.ops.contains(&op));
    row.map_or(default_recipe::recipe as Recipe, |row| row.recipe)(draft)
}
