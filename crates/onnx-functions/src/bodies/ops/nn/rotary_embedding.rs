//! `RotaryEmbedding`: rotates pairs of the elements of each head by angles that depend on their position in the
//! sequence.
//!
//! The reference reshapes with sizes of 0 and -1, which does not work for inputs without elements.

use onnx_schema::attr;

use super::heads;
use crate::bodies::draft::{Draft, Made, V};

pub(in crate::bodies) fn body(draft: &mut Draft<'_>) -> Made<Vec<V>> {
    let is_joined = heads::are_joined(draft)?;
    let x = heads::split(draft, 0, attr::NUM_HEADS)?;
    let turned = draft.int(attr::ROTARY_EMBEDDING_DIM)?;
    if turned < 0 || turned % 2 != 0 {
        return Err(draft.wrong(attr::ROTARY_EMBEDDING_DIM, "is not a number of pairs"));
    }
    let (head, rest) = if turned == 0 {
        (x, None)
    } else {
        let (zero, turned) = (draft.ints(&[0])?, draft.ints(&[turned])?);
        let end = draft.dim(x, 3)?;
        (draft.slice(x, zero, turned, 3)?, Some(draft.slice(x, turned, end, 3)?))
    };
    let (cosines, sines) = (angles(draft, 1)?, angles(draft, 2)?);
    let mut y = turn(draft, head, cosines, sines)?;
    if let Some(rest) = rest {
        y = draft.concat(&[y, rest], 3)?;
    }
    Ok(vec![if is_joined { heads::join(draft, y)? } else { y }])
}

/// The cosines or sines of each step, `[batch, 1, steps, pairs]`.
fn angles(draft: &mut Draft<'_>, index: usize) -> Made {
    let mut angles = draft.input(index)?;
    if let Some(places) = draft.optional(3) {
        angles = draft.gather(angles, places, 0)?;
    }
    draft.unsqueeze(angles, &[1])
}

/// Rotates the pairs of elements along the last axis, which are neighbors or half of the axis apart.
fn turn(draft: &mut Draft<'_>, x: V, cosines: V, sines: V) -> Made {
    let is_interleaved = draft.int(attr::INTERLEAVED)? != 0;
    let sizes = draft.sizes(x, 0, None)?;
    let outer = draft.sizes(x, 0, Some(3))?;
    let two = draft.ints(&[2])?;
    let width = draft.dim(x, 3)?;
    let half = draft.div(width, two)?;
    // The two elements of a pair lie along a separate axis: behind the pairs if they are neighbors.
    let (parts, axis) = if is_interleaved { ([outer, half, two], 4) } else { ([outer, two, half], 3) };
    let pairs = draft.concat(&parts, 0)?;
    let x = draft.reshape(x, pairs)?;
    let (first, second) = (draft.int64(0)?, draft.int64(1)?);
    let (a, b) = (draft.gather(x, first, axis)?, draft.gather(x, second, axis)?);
    let (ca, sb) = (draft.mul(cosines, a)?, draft.mul(sines, b)?);
    let real = draft.sub(ca, sb)?;
    let (sa, cb) = (draft.mul(sines, a)?, draft.mul(cosines, b)?);
    let imaginary = draft.add(sa, cb)?;
    let (real, imaginary) = (draft.unsqueeze(real, &[axis])?, draft.unsqueeze(imaginary, &[axis])?);
    let y = draft.concat(&[real, imaginary], axis)?;
    draft.reshape(y, sizes)
}
