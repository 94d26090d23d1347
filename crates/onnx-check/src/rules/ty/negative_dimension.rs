//! The rule `negative-dimension`: a declared shape has a negative dimension.

use crate::cx::TypeCx;
use onnx_diag::{Diagnostic, Rule, Severity};
use onnx_ir::Model;

pub(crate) static RULE: Rule =
    Rule::new(2903, "negative-dimension", Severity::Warning, "A declared shape has a negative dimension.")
        .with_spec("IR: Tensor Definition")
        .with_explain(include_str!("negative_dimension.md"));

pub(crate) fn check(cx: &mut TypeCx<'_, '_>) {
    for (level, ty) in cx.levels().enumerate() {
        let Some(shape) = ty.shape() else { continue };
        let negative = (0..shape.rank()).find_map(|axis| Some((axis, shape.negative(axis)?)));
        let Some((axis, size)) = negative else { continue };
        let place = cx.place;
        // One finding for a shape will do: the others in it are repaired along with it.
        cx.report(&RULE, |places| {
            Diagnostic::new(&RULE, place.locate(places, level).dimension(axis), format!("the size is {size}"))
                .help("leave a dimension open that is not known, as `onnx check --fix` does, or name a dimension variable")
        });
    }
}

/// Makes the dimensions unknown, as which everything reads them.
pub(crate) fn fix(model: &mut Model) -> Vec<String> {
    let count = model.forget_negative_dimensions();
    if count == 0 {
        return Vec::new();
    }
    let types = if count == 1 { "type" } else { "types" };
    vec![format!("made the negative dimensions of {count} {types} unknown")]
}
