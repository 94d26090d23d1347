//! `ArrayFeatureExtractor`: picks columns along the last axis; a vector counts as one row.

use onnx_schema::{domain, op};

use crate::cx::{Cx, Outcome, Stop};
use crate::number::by_unit;
use crate::registry::{OpKernels, eval, since};

pub(super) const KERNELS: OpKernels = eval(op::ARRAY_FEATURE_EXTRACTOR, &[since(1, extract)]).of(domain::ML);

fn extract(cx: &mut Cx<'_, '_>) -> Outcome {
    let x = cx.tensor(0)?;
    let Some(&columns) = x.dims.last() else { return Err(Stop::failed("the input must have an axis")) };
    let indices = cx.tensor(1)?;
    let indices = cx.read::<i64>(&indices)?;
    let place = |&index: &i64| usize::try_from(index).ok().filter(|&index| index < columns);
    let indices: Option<Vec<usize>> = indices.iter().map(place).collect();
    let indices =
        indices.ok_or_else(|| Stop::failed(format_args!("an index is outside the {columns} columns")))?;
    let mut dims = x.dims.clone();
    if dims.len() == 1 {
        dims.insert(0, 1);
    }
    if let Some(last) = dims.last_mut() {
        *last = indices.len();
    }
    let count = cx.count(&dims)?;
    by_unit!(x.elem, U => {
        let elements = cx.units::<U>(&x)?;
        let mut out = cx.buffer(count)?;
        for row in elements.chunks(columns.max(1)) {
            out.extend(indices.iter().map(|&index| row[index].clone()));
        }
        cx.put_units::<U>(0, x.elem, &dims, out)
    })
}
