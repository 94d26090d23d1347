//! The rule `unknown-denotation`: a type or dimension has a denotation that ONNX does not define.

use onnx_diag::{Diagnostic, Locus, Quoted, Rule, Severity};
use onnx_types::{Shape, Symbol};

use crate::cx::TypeCx;

pub(crate) static RULE: Rule = Rule::new(
    2907,
    "unknown-denotation",
    Severity::Note,
    "A type or dimension has a denotation that ONNX does not define.",
)
.with_spec("Type Denotation; Dimension Denotation")
.with_explain(include_str!("unknown_denotation.md"));

/// What values can mean.
const TYPES: [&str; 4] = ["TENSOR", "IMAGE", "AUDIO", "TEXT"];

/// What dimensions can mean.
const DIMENSIONS: [&str; 7] = [
    "DATA_BATCH",
    "DATA_CHANNEL",
    "DATA_TIME",
    "DATA_FEATURE",
    "FILTER_IN_CHANNEL",
    "FILTER_OUT_CHANNEL",
    "FILTER_SPATIAL",
];

pub(crate) fn check(cx: &mut TypeCx<'_, '_>) {
    for (level, ty) in cx.levels().enumerate() {
        if let Some(denotation) = ty.denotation {
            check_name(cx, level, denotation, &TYPES, |place| place);
        }
        let denotations = ty.shape().into_iter().flat_map(of_dimensions);
        for (axis, denotation) in denotations {
            check_name(cx, level, denotation, &DIMENSIONS, |place| place.dimension(axis));
        }
    }
}

fn of_dimensions(shape: &Shape) -> impl Iterator<Item = (usize, Symbol)> + '_ {
    (0..shape.rank()).filter_map(|axis| Some((axis, shape.denotation(axis)?)))
}

fn check_name(
    cx: &mut TypeCx<'_, '_>,
    level: usize,
    name: Symbol,
    known: &[&'static str],
    refine: impl FnOnce(Locus) -> Locus,
) {
    let text = cx.model.str(name);
    if known.contains(&text) {
        return;
    }
    let place = cx.place;
    cx.report(&RULE, |places| {
        let help = match onnx_schema::nearest(text, known.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("the known ones are {}", known.join(", ")),
        };
        let message = format!("there is no denotation {}", Quoted(text));
        Diagnostic::new(&RULE, refine(place.locate(places, level)), message).help(help)
    });
}
