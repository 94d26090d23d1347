//! The pass `value-info`: the declared types of inner values are those that inference finds.

use std::sync::Arc;

use onnx_ir::{Model, ValueId};
use onnx_shape_infer::{Inference, MergePolicy};
use onnx_types::Type;

use super::Report;
use super::unique_names::interface;
use crate::assumption::Exactness;
use crate::cx::PassCx;
use crate::pass::Pass;
use crate::patch::{Level, Refusal};

/// The name of the pass.
const NAME: &str = "value-info";

pub(super) fn pass() -> Pass {
    Pass::new(NAME, "Declares the types of inner values that inference finds.", Exactness::Exact, value_info)
        .with_page(include_str!("value_info.md"))
        .after("sorted")
}

/// Writes the inferred types of inner values into the model; those of inputs and outputs of the main graph and of functions stay.
/// Types that depend on guards are written only if the options allow assumptions, with the guards in the metadata.
pub fn value_info(cx: &mut PassCx<'_>) -> Report {
    let has_guards = cx.inference().has_guards(cx.model());
    if has_guards && !cx.options().allow_assumed {
        let reason =
            "inferred types depend on guards, which the options exclude (`allow_assumed`)".to_owned();
        let refusal = Refusal::new(NAME, Level::Class, reason);
        return Report { refusals: vec![refusal], ..Report::default() };
    }
    let inference = cx.inference().clone();
    // A model in which only the types of the interface would change stays as it is: to write and restore them is an edit.
    if declare(&mut cx.model().clone(), inference.clone(), has_guards) == 0 {
        return Report::default();
    }
    cx.restructure(NAME, |model| declare(model, inference, has_guards))
}

/// Writes the types, and returns the number of values that have another one now.
fn declare(model: &mut Model, mut inference: Inference, has_guards: bool) -> usize {
    let fixed: Vec<(ValueId, Option<Arc<Type>>)> =
        interface(model).into_iter().map(|value| (value, model.ty(value).cloned().map(Arc::new))).collect();
    // Only `Strict` can fail.
    let Ok(applied) = inference.apply(model, MergePolicy::Refine) else { return 0 };
    let mut written = applied.added.saturating_add(applied.changed);
    for (value, ty) in fixed {
        if model.ty(value) != ty.as_deref() {
            model.set_type(value, ty);
            written = written.saturating_sub(1);
        }
    }
    if has_guards && written > 0 {
        inference.apply_guards(model);
    }
    written
}
