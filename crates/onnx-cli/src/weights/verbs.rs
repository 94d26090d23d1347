//! `onnx weights`: the weights of a model, as a collection.

use std::collections::HashSet;

use onnx_ir::{Model, ValueId};
use onnx_select::{Element, Selectors};
use onnx_types::ElemType;
use onnx_types::tensor::{Payload, Tensor};
use onnx_weights::safetensors::SafetensorsError;
use onnx_weights::{Weight, WeightError, is_stripped, weights};
use serde_json::{Value, json};

use super::{RESTORE, export, import, list, refuse_stripped, show, stats, strip};
use crate::args::{ChosenArgs, WeightsCommand, WeightsCommandArgs};
use crate::exit::{Failure, LibraryError, Outcome};
use crate::input::{Loaded, load};
use crate::json::JsonText;
use crate::output::{Out, shown};
use crate::selection;

pub(crate) fn run(args: &WeightsCommandArgs, out: &mut Out) -> Result<Outcome, Failure> {
    match &args.command {
        WeightsCommand::List(args) => list::run(args, out),
        WeightsCommand::Show(args) => show::run(args, out),
        WeightsCommand::Stats(args) => stats::run(args, out),
        WeightsCommand::Export(args) => export::run(args, out),
        WeightsCommand::Import(args) => import::run(args, out),
        WeightsCommand::Strip(args) => strip::run(args, out),
    }
}

/// Reads the model of a command that only reads weights.
pub(super) fn loaded(args: &ChosenArgs, out: &mut Out) -> Result<Loaded, Failure> {
    let mut loaded = load(&args.input_file, &args.input)?;
    loaded.report(&args.input.severity, true, out)?;
    Ok(loaded)
}

/// Refuses weights without elements.
pub(super) fn require_elements(weights: &[Weight<'_>]) -> Result<(), Failure> {
    refuse_stripped(weights.iter().filter(|weight| is_stripped(weight.tensor)).count() as u64)
}

/// The weights that the user means, in the order of the model.
pub(super) fn chosen<'m>(model: &'m Model, at: &[String]) -> Result<Vec<Weight<'m>>, Failure> {
    let mut all = weights(model);
    if at.is_empty() {
        return Ok(all);
    }
    let mut names: HashSet<&str> = HashSet::new();
    let mut values: HashSet<ValueId> = HashSet::new();
    let known: HashSet<&str> = all.iter().map(|weight| weight.name.as_str()).collect();
    for text in at {
        // A complete text that equals a name is this name.
        if known.contains(text.as_str()) {
            names.insert(text);
            continue;
        }
        let found = selection::values(model, std::slice::from_ref(text))?;
        let is_weight = |value: &ValueId| all.iter().any(|weight| weight.value == Some(*value));
        if !found.iter().any(is_weight) {
            let message = format_args!("`{}` selects no weight of the model", shown(text));
            return Err(Failure::new(message).help("`onnx weights list MODEL` lists the weights"));
        }
        values.extend(found);
    }
    let is_chosen = |weight: &Weight<'_>| {
        names.contains(weight.name.as_str()) || weight.value.is_some_and(|value| values.contains(&value))
    };
    let kept: Vec<bool> = all.iter().map(is_chosen).collect();
    let mut kept = kept.into_iter();
    all.retain(|_| kept.next() == Some(true));
    Ok(all)
}

/// What every report has of a weight.
pub(super) fn facts(selectors: &Selectors<'_>, weight: &Weight<'_>) -> Value {
    let tensor = weight.tensor;
    let selector = weight.value.and_then(|value| selectors.text(Element::Value(value)));
    let file = match tensor.payload() {
        Payload::External(data) => data.location().ok().map(|location| {
            json!({ "location": location, "offset": data.offset().ok(), "length": data.length().ok().flatten() })
        }),
        _ => None,
    };
    json!({
        "name": weight.name,
        "selector": selector,
        "type": elem(tensor),
        "shape": tensor.dims(),
        "elements": weight.elements(),
        "bytes": weight.bytes(),
        "storage": tensor.payload().field_name(),
        "file": file,
    })
}

/// The element type, as text models have it.
pub(super) fn elem(tensor: &Tensor) -> &'static str {
    ElemType::from_code(tensor.data_type()).map_or("undefined", ElemType::name)
}

/// Type and dimensions: `float[64, 3, 7, 7]`.
pub(super) fn ty(tensor: &Tensor) -> String {
    let dims: Vec<String> = tensor.dims().iter().map(ToString::to_string).collect();
    format!("{}[{}]", elem(tensor), dims.join(", "))
}

/// Adds a model with its weights to the report.
pub(super) fn report(
    loaded: &Loaded,
    kind: &'static str,
    mut item: Value,
    out: &mut Out,
) -> Result<(), Failure> {
    if out.is_for_people() {
        return out.input(loaded, loaded.findings.clone());
    }
    out.result_kind(kind, "models");
    if let Some(fields) = item.as_object_mut() {
        fields.insert("name".to_owned(), json!(loaded.name));
    }
    let item = JsonText::of(&item)?;
    let findings = loaded.findings.clone();
    out.input_of(&loaded.name, Some(loaded.format.id()), Some(loaded.bytes), findings, vec![item])
}

impl LibraryError for WeightError {
    fn limit(&self) -> Option<&'static str> {
        self.limit()
    }

    fn help(&self) -> Option<String> {
        match self {
            _ if self.limit().is_some() => None,
            Self::NoSuchWeight(_) => Some(
                "`onnx weights list MODEL` lists the weights; `onnx weights export OTHER --at NAMES -o FILE` writes some of another model"
                    .to_owned(),
            ),
            Self::OtherType { .. } => {
                Some("convert the other tensor: weights keep their type and dimensions".to_owned())
            }
            Self::Stripped(_) => Some(RESTORE.to_owned()),
            Self::Tensor(_) | Self::Named { .. } => Some(
                "`onnx check --data MODEL` reports what is wrong; `--data-dir DIR` specifies the directory of external data"
                    .to_owned(),
            ),
            _ => None,
        }
    }
}

impl LibraryError for SafetensorsError {
    fn limit(&self) -> Option<&'static str> {
        self.limit()
    }

    fn help(&self) -> Option<String> {
        match self {
            Self::NotStorable { .. } => Some("leave it away with `--at`, or write `-o NAME.pb`".to_owned()),
            Self::ReservedName(_) => Some(
                "rename the weight with `onnx edit --rename OLD=NEW`, leave it away with `--at`, or write `-o NAME.npz`"
                    .to_owned(),
            ),
            _ => Some("write the file again: readers of the format refuse it".to_owned()),
        }
    }
}
