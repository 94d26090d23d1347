//! Samples with features, and the labels of their classes.

use onnx_schema::attr;
use onnx_types::Dim;

use crate::draft::Draft;

pub(crate) const WORDS: [&str; 3] = ["a", "cat", "dog"];

/// Samples with a random number of features: `[N, features]`.
pub(crate) fn samples(draft: &mut Draft<'_, '_>) -> Option<i64> {
    let dims = draft.operand(
        |dims| dims.len() == 2 && dims.get(1).is_some_and(|dim| dim.known().is_some_and(|size| size > 0)),
        |smith| {
            let mut dims = smith.dims(1);
            dims.push(Dim::Known(smith.choices.int(1, 4)));
            dims
        },
    )?;
    dims.get(1)?.known()
}

/// Labels of the classes, as texts or as integers, for an output of either type.
pub(crate) fn labels(draft: &mut Draft<'_, '_>, count: usize) {
    let is_text = draft.smith.choices.chance(50);
    let ints: Vec<i64> = (0..count as i64).collect();
    for name in [attr::CLASSLABELS_INTS, attr::CLASSLABELS_INT64S] {
        if !is_text {
            draft.set(name, ints.clone());
        }
    }
    if is_text {
        draft.set_strings(attr::CLASSLABELS_STRINGS, WORDS.into_iter().cycle().take(count));
    }
    draft.leave(&[attr::CLASSLABELS_INTS, attr::CLASSLABELS_INT64S, attr::CLASSLABELS_STRINGS]);
}
