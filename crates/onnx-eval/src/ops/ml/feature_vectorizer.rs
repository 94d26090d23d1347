//! `FeatureVectorizer`: rows of several inputs joined, as `float`. Each input gives as many columns as `inputdimensions` says,
//! cut or padded with zeros as in onnxruntime; without the attribute, as many as it has.

use onnx_schema::{attr, domain, op};
use onnx_types::ElemType;

use crate::cx::{Cx, Outcome, Stop, axes};
use crate::registry::{OpKernels, eval, since};

pub(super) const KERNELS: OpKernels = eval(op::FEATURE_VECTORIZER, &[since(1, vectorize)]).of(domain::ML);

fn vectorize(cx: &mut Cx<'_, '_>) -> Outcome {
    let inputs = (0..cx.input_count()).map(|index| cx.tensor(index)).collect::<Outcome<Vec<_>>>()?;
    let mut shapes = Vec::new();
    for input in &inputs {
        shapes.push(match *input.dims {
            [own] => (1, own),
            [rows, ref rest @ ..] => (rows, axes::product(rest)),
            [] => return Err(Stop::failed("an input must have an axis")),
        });
    }
    let rows = shapes.first().map_or(0, |&(rows, _)| rows);
    if shapes.iter().any(|&(own, _)| own != rows) {
        return Err(Stop::failed("the inputs have different numbers of rows"));
    }
    let given = cx.ints(attr::INPUTDIMENSIONS)?;
    let widths = match given {
        Some(widths) => axes::sizes(&widths)?,
        None => shapes.iter().map(|&(_, own)| own).collect(),
    };
    if widths.len() != inputs.len() {
        return Err(Stop::failed(format_args!(
            "there are {} sizes for {} inputs",
            widths.len(),
            inputs.len()
        )));
    }
    let columns = widths.iter().try_fold(0_usize, |sum, &width| sum.checked_add(width));
    let dims = [rows, columns.ok_or(Stop::Limit("run_elements"))?];
    let count = cx.count(&dims)?;
    let mut out = cx.filled(count, 0.0_f32)?;
    let mut start = 0;
    for ((input, &width), &(_, own)) in inputs.iter().zip(&widths).zip(&shapes) {
        let values: Vec<f32> = if input.elem.is_float() {
            let elements = cx.read_f64(input)?;
            cx.collect(elements.iter().map(|&value| value as f32))?
        } else {
            let elements = cx.read::<i64>(input)?;
            cx.collect(elements.iter().map(|&value| value as f32))?
        };
        let taken = width.min(own);
        for (target, source) in out.chunks_mut(dims[1].max(1)).zip(values.chunks(own.max(1))) {
            target[start..start + taken].copy_from_slice(&source[..taken]);
        }
        start += width;
    }
    cx.put(0, ElemType::Float, &dims, out)
}
