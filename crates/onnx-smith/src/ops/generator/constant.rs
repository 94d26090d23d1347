//! Recipe of `Constant`.

use onnx_schema::{attr, op};
use onnx_types::ElemType;

use crate::draft::Draft;
use crate::elements;
use crate::ops::{Row, row};

pub(in crate::ops) const RECIPES: &[Row] = &[row(&[op::CONSTANT], constant)];

fn constant(draft: &mut Draft<'_, '_>) -> Option<()> {
    // Every version gives its value by exactly one of its attributes.
    let names = draft.schema.attributes();
    names.iter().for_each(|formal| draft.leave(&[formal.name]));
    let formal = draft.smith.choices.pick(names)?;
    match formal.name {
        attr::VALUE_FLOAT => draft.set(attr::VALUE_FLOAT, 1.5_f32),
        attr::VALUE_FLOATS => draft.set_floats(attr::VALUE_FLOATS, 3),
        attr::VALUE_INT => draft.set(attr::VALUE_INT, -3_i64),
        attr::VALUE_INTS => draft.set(attr::VALUE_INTS, [2, 3, -1]),
        attr::VALUE_STRING => draft.set(attr::VALUE_STRING, "text"),
        attr::VALUE_STRINGS => draft.set_strings(attr::VALUE_STRINGS, ["a", "", "b c"]),
        attr::SPARSE_VALUE => {
            let sparse = draft.sparse()?;
            draft.set(attr::SPARSE_VALUE, std::sync::Arc::new(sparse));
        }
        _ => {
            let code = i32::try_from(draft.elem_code(0)?).ok()?;
            let sizes: Vec<i64> =
                (0..draft.smith.choices.below(3)).map(|_| draft.smith.choices.int(0, 4)).collect();
            let mut value = draft.random(ElemType::from_code(code)?, &sizes)?;
            if draft.smith.choices.chance(50) {
                value = elements::typed(&value).unwrap_or(value);
            }
            draft.set(attr::VALUE, value);
        }
    }
    Some(())
}
