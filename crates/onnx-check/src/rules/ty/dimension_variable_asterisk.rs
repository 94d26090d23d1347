//! The rule `dimension-variable-asterisk`: a dimension variable is called `*`.

use onnx_diag::{Diagnostic, Rule, Severity};
use onnx_types::Dim;

use crate::cx::TypeCx;

pub(crate) static RULE: Rule = Rule::new(
    2905,
    "dimension-variable-asterisk",
    Severity::Warning,
    "A dimension variable is called `*`, which stands for nothing.",
)
.with_spec("IR: Static tensor shapes")
.with_explain(include_str!("dimension_variable_asterisk.md"));

pub(crate) fn check(cx: &mut TypeCx<'_, '_>) {
    let Some(asterisk) = cx.asterisk else { return };
    for (level, ty) in cx.levels().enumerate() {
        let dims = ty.shape().map_or(&[][..], |shape| shape.dims());
        let Some(axis) = dims.iter().position(|&dim| dim == Dim::Var(asterisk)) else { continue };
        let place = cx.place;
        cx.report(&RULE, |places| {
            let place = place.locate(places, level).dimension(axis);
            Diagnostic::new(&RULE, place, "`*` is not a dimension variable").help(
                "leave the dimension open if its size is not known, or leave out the shape if the rank is not",
            )
        });
    }
}
