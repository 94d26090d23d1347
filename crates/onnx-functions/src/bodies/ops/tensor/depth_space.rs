//! `DepthToSpace` and `SpaceToDepth`: blocks of an image become channels, or channels become blocks, by a transposition.

use onnx_schema::attr;

use crate::bodies::draft::{Draft, Made, V};

/// Whether the index in the block is the more significant part of the index of a channel (`DCR`), or the less
/// significant one (`CRD`).
fn is_depth_first(draft: &Draft<'_>) -> Made<bool> {
    match draft.text(attr::MODE)?.as_str() {
        "DCR" => Ok(true),
        "CRD" => Ok(false),
        _ => Err(draft.wrong(attr::MODE, "names no order of channels")),
    }
}

/// The side and the area of a block, as tensors of rank 1.
fn block(draft: &mut Draft<'_>) -> Made<(V, V)> {
    let size = draft.int(attr::BLOCKSIZE)?;
    let area = size.checked_mul(size).filter(|_| size > 0);
    let area = area.ok_or_else(|| draft.wrong(attr::BLOCKSIZE, "is not the size of a block"))?;
    Ok((draft.ints(&[size])?, draft.ints(&[area])?))
}

pub(in crate::bodies) fn to_space(draft: &mut Draft<'_>) -> Made<Vec<V>> {
    let x = draft.input(0)?;
    let (size, area) = block(draft)?;
    let [n, c, h, w] = [draft.dim(x, 0)?, draft.dim(x, 1)?, draft.dim(x, 2)?, draft.dim(x, 3)?];
    let channels = draft.div(c, area)?;
    let (split, permutation) = if is_depth_first(draft)? {
        ([n, size, size, channels, h, w], [0, 3, 4, 1, 5, 2])
    } else {
        ([n, channels, size, size, h, w], [0, 1, 4, 2, 5, 3])
    };
    let split = draft.concat(&split, 0)?;
    let parts = draft.reshape(x, split)?;
    let parts = draft.transpose(parts, &permutation)?;
    let (height, width) = (draft.mul(h, size)?, draft.mul(w, size)?);
    let sizes = draft.concat(&[n, channels, height, width], 0)?;
    Ok(vec![draft.reshape(parts, sizes)?])
}

pub(in crate::bodies) fn to_depth(draft: &mut Draft<'_>) -> Made<Vec<V>> {
    let x = draft.input(0)?;
    let (size, area) = block(draft)?;
    let [n, c, h, w] = [draft.dim(x, 0)?, draft.dim(x, 1)?, draft.dim(x, 2)?, draft.dim(x, 3)?];
    let (height, width) = (draft.div(h, size)?, draft.div(w, size)?);
    let permutation = if is_depth_first(draft)? { [0, 3, 5, 1, 2, 4] } else { [0, 1, 3, 5, 2, 4] };
    let split = draft.concat(&[n, c, height, size, width, size], 0)?;
    let parts = draft.reshape(x, split)?;
    let parts = draft.transpose(parts, &permutation)?;
    let channels = draft.mul(c, area)?;
    let sizes = draft.concat(&[n, channels, height, width], 0)?;
    Ok(vec![draft.reshape(parts, sizes)?])
}
