//! What can be done when nothing in a model gets a narrow number format: only what was tried on the model is advised.

use onnx_ir::Model;
use onnx_quantize::{Half, NarrowError, NarrowOptions, NotTaken, WideReason, narrow};
use onnx_schema::domain;
use onnx_types::ElemType;
use onnx_version::{ConvertOptions, convert};

use crate::exit::{Failure, LibraryError};
use crate::output::shown;

impl LibraryError for NarrowError {
    fn limit(&self) -> Option<&'static str> {
        if let Self::Weight { reason, .. } = self { reason.limit() } else { None }
    }

    fn help(&self) -> Option<String> {
        match self {
            Self::Training => Some(
                "extract the part without training first: `onnx extract MODEL --outputs NAME -o NEW`"
                    .to_owned(),
            ),
            Self::NotTaken(_) => Some("`onnx info MODEL` lists the operators and their versions".to_owned()),
            Self::Weight { reason, .. } if reason.limit().is_none() => Some(
                "are the files of the weights next to the model? `--data-dir DIR` names another folder"
                    .to_owned(),
            ),
            Self::Invalid(_) => Some("`--except SELECTOR` leaves nodes as they are".to_owned()),
            _ => None,
        }
    }
}

/// The failure of a conversion to a narrow format, with what helps this model.
pub(crate) fn failure(
    model: &Model,
    error: NarrowError,
    options: &NarrowOptions<'_>,
    is_selected: bool,
) -> Failure {
    let help = match &error {
        NarrowError::NotTaken(reason) => Some(advice(model, reason, options, is_selected)),
        _ => None,
    };
    let failure = Failure::from(error);
    match help {
        Some(help) => failure.help(help),
        None => failure,
    }
}

/// What helps a model in which nothing gets the type.
pub(crate) fn advice(
    model: &Model,
    reason: &NotTaken,
    options: &NarrowOptions<'_>,
    is_selected: bool,
) -> String {
    let Some(half) = reason.half.filter(|_| !is_selected) else {
        return match (is_selected, reason.versions.first()) {
            (true, Some(version)) => format!(
                "`onnx convert MODEL --opset {version} -o NEW` first, or select others with `--only` and `--except`"
            ),
            (true, None) => "`--only` and `--except` may leave no node to change".to_owned(),
            (false, _) => "`onnx find MODEL 'type(float16, bfloat16)'` lists such values; `--dequantize` is for quantized \
                weights"
                .to_owned(),
        };
    };
    // A run finds numbers out of range, and takes the time of a run for each try.
    let quick = options.clone().with_run(false);
    let version = reason.versions.iter().find(|&&version| takes_in(model, version, half, options)).copied();
    if let Some(version) = version {
        return format!("`onnx convert MODEL --opset {version} -o NEW` first");
    }
    let is_out_of_range = reason.wide.iter().any(|wide| wide.reason == WideReason::Range);
    if !is_out_of_range {
        let types = "`onnx info MODEL` lists the operators, and the types of inputs, outputs and weights";
        return types.to_owned();
    }
    let worst = reason.out_of_range.iter().max_by(|a, b| a.1.abs().total_cmp(&b.1.abs()));
    let number = worst.map(|(name, number)| {
        let (what, limit) = match number.abs() > f64::from(half.max()) {
            true => ("greatest", half.max()),
            false => ("least positive", half.tiny()),
        };
        format!("`{}` has {number:.2e}, and the {what} number of {} is {limit:e}; ", shown(name), half.elem())
    });
    let number = number.unwrap_or_default();
    let is_other_possible = half == Half::Float16 && takes(&mut model.clone(), Half::Bfloat16, &quick);
    match is_other_possible {
        true => format!(
            "{number}{} has the range of {}: `onnx convert MODEL --bfloat16 -o NEW`",
            ElemType::Bfloat16,
            ElemType::Float
        ),
        false => format!("{number}`onnx weights stats MODEL` lists the ranges of the weights"),
    }
}

/// Whether the model gets the type after a conversion to a version of the ONNX operators.
fn takes_in(model: &Model, version: i64, half: Half, options: &NarrowOptions<'_>) -> bool {
    let mut newer = model.clone();
    let conversion = ConvertOptions::default()
        .with_domain(domain::ONNX)
        .with_registry(options.registry)
        .with_execution(options.execution.clone());
    // The nodes of the options are those of the model before the conversion.
    let narrowing = options.clone().with_only(None).with_except(&[]);
    convert(&mut newer, version, &conversion).is_ok() && takes(&mut newer, half, &narrowing)
}

fn takes(model: &mut Model, half: Half, options: &NarrowOptions<'_>) -> bool {
    narrow(model, half, options).is_ok_and(|done| done.unchanged.is_none())
}
