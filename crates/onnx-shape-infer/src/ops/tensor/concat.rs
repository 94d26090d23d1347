//! `Concat`: tensors one after another along an axis; all other sizes must be the same.
//!
//! Until version 3 the axis may be left out and is 1 then.

use onnx_schema::{attr, op};
use onnx_types::Dim;

use crate::content::Elem;
use crate::cx::{Cx, Outcome, Stop};
use crate::fault::{MISSING, WRONG_RANK};
use crate::registry::{OpRules, infer, since};

pub(super) const RULES: OpRules =
    infer(op::CONCAT, &[since(1, |cx| concat(cx, Some(1))), since(4, |cx| concat(cx, None))])
        .values(&[since(1, values)]);

fn concat(cx: &mut Cx<'_, '_>, default: Option<i64>) -> Outcome {
    let Some(axis) = cx.int(attr::AXIS)?.or(default) else {
        return Err(cx.fail(&MISSING, "attribute `axis` is missing"));
    };
    let mut dims = cx.shape(0)?;
    let axis = cx.axis(axis, dims.len())?;
    for index in 1..cx.input_count() {
        let other = cx.shape(index)?;
        if other.len() != dims.len() {
            let (found, rank) = (other.len(), dims.len());
            return Err(cx.fail(
                &WRONG_RANK,
                format_args!("input {index} has rank {found} and those before it {rank}"),
            ));
        }
        for (at, (dim, size)) in dims.iter_mut().zip(other).enumerate() {
            *dim = if at == axis {
                cx.dims().add(*dim, size)
            } else {
                cx.same(*dim, size, "the sizes beside the axis")?
            };
        }
    }
    cx.set_shape(0, dims);
    Ok(())
}

/// Vectors are joined; tensors of higher rank are not followed.
fn values(cx: &mut Cx<'_, '_>) -> Outcome {
    let mut elems = Vec::new();
    for index in 0..cx.input_count() {
        if cx.rank(index)? != 1 {
            return Err(Stop::Unknown);
        }
        match (cx.content(index), cx.shape(index)?.first()) {
            (Some(content), _) => elems.extend(content.iter().copied()),
            (None, Some(&Dim::Known(count))) => {
                let count = usize::try_from(count).map_err(|_| Stop::Unknown)?;
                if count > cx.state.options.limits.content {
                    return Err(Stop::Unknown);
                }
                elems.extend(std::iter::repeat_n(Elem::Unknown, count));
            }
            (None, _) => return Err(Stop::Unknown),
        }
    }
    cx.set_content(0, elems);
    Ok(())
}
