//! What can be done about a shape that an input does not take.

use onnx_diag::Clean;
use onnx_ir::{Model, ValueId};
use onnx_types::{Dim, Type};

use crate::Inference;

/// The letters of the axes, with the channels before and behind those that are moved over an image.
const LAYOUTS: [(&str, &str); 3] = [("NCL", "NLC"), ("NCHW", "NHWC"), ("NCDHW", "NDHWC")];

/// Advice about a shape that is given for an input and contradicts its declaration.
pub(crate) fn advice(model: &Model, inference: &Inference, input: ValueId, given: &[i64]) -> Option<String> {
    let dims = model.ty(input).and_then(Type::shape)?.dims();
    let fits = |dims: &[Dim], sizes: &[i64]| {
        let same = |(dim, size): (&Dim, &i64)| dim.known().is_none_or(|known| known == *size);
        dims.len() == sizes.len() && dims.iter().zip(sizes).all(same)
    };
    if let Some(advice) = layout(model, input, given, |sizes| fits(dims, sizes)) {
        return Some(advice);
    }
    if dims.split_first().is_some_and(|(_, rest)| fits(rest, given)) {
        return Some(
            "an axis is missing at the front, mostly that of the batch: NumPy's `x[None]` adds it".to_owned(),
        );
    }
    if given.split_first().is_some_and(|(first, rest)| *first == 1 && fits(dims, rest)) {
        return Some("there is one axis more at the front: NumPy's `x[0]` removes it".to_owned());
    }
    let text = |&dim: &Dim| inference.text(model, dim).unwrap_or_else(|| "?".to_owned());
    let wanted: Vec<String> = dims.iter().map(text).collect();
    Some(format!("give a shape of [{}]", wanted.join(", ")))
}

/// Advice if the sizes fit once the channels are on the other side.
fn layout(model: &Model, input: ValueId, given: &[i64], fits: impl Fn(&[i64]) -> bool) -> Option<String> {
    let (first, last) = LAYOUTS.into_iter().find(|(first, _)| first.len() == given.len())?;
    // Between quotes of a shell.
    let name = Clean(model.str(model.value(input).name())).to_string().replace('\'', "'\\''");
    [(first, last), (last, first)].into_iter().find_map(|(model_axes, given_axes)| {
        let axes: Vec<usize> = model_axes.chars().filter_map(|axis| given_axes.find(axis)).collect();
        let moved: Vec<i64> = axes.iter().filter_map(|&axis| given.get(axis).copied()).collect();
        let order: Vec<String> = axes.iter().map(usize::to_string).collect();
        fits(&moved).then(|| {
            format!(
                "the axes seem to be {given_axes}: NumPy's `x.transpose({})` puts them in the order of the model, and \
                 `onnx edit MODEL --layout '{name}={given_axes}' -o NEW` makes a model that takes them as they are",
                order.join(", ")
            )
        })
    })
}
