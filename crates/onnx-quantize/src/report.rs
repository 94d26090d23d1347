//! What changes of number formats did, as values for programs.

use std::collections::BTreeMap;

use onnx_ir::Model;
use onnx_types::ElemType;
use serde_json::{Value, json};

use crate::activations::{QuantizedValue, StaticReport};
use crate::measure::MeasuredOutput;
use crate::narrow::{Narrowed, WideNode};
use crate::samples::GeneratedInput;
use crate::weights::{QuantizedWeight, WeightReport};

/// How much smaller a model is, and how far its outputs are apart.
#[derive(Clone, PartialEq, Debug, Default)]
#[non_exhaustive]
pub struct Effect {
    /// Bytes of weights before and after.
    pub bytes: (u64, u64),
    /// How far each output is apart, or why that is not known; `None` if it was not asked for.
    pub measured: Option<Result<Vec<MeasuredOutput>, String>>,
    /// The sizes of the inputs of the runs, if these were generated.
    pub generated: Vec<GeneratedInput>,
}

impl Effect {
    /// The effect of a change, with the [bytes of weights](weight_bytes) before and after.
    #[must_use]
    pub const fn new(bytes: (u64, u64), measured: Option<Result<Vec<MeasuredOutput>, String>>) -> Self {
        Self { bytes, measured, generated: Vec::new() }
    }

    /// The same with the sizes of generated inputs.
    #[must_use]
    pub fn with_generated(mut self, generated: Vec<GeneratedInput>) -> Self {
        self.generated = generated;
        self
    }

    fn json_generated(&self) -> Value {
        self.generated.iter().map(GeneratedInput::to_json).collect()
    }

    fn json_bytes(&self) -> Value {
        json!({ "before": self.bytes.0, "after": self.bytes.1 })
    }

    fn json_outputs(&self) -> Value {
        let measured = self.measured.as_ref().and_then(|found| found.as_ref().ok());
        measured.map(|found| found.iter().map(output_to_json).collect()).unwrap_or_else(|| json!([]))
    }

    fn not_measured(&self) -> Option<&str> {
        self.measured.as_ref().and_then(|found| found.as_ref().err()).map(String::as_str)
    }
}

/// Bytes of all tensors of a model.
#[must_use]
pub fn weight_bytes(model: &Model) -> u64 {
    let mut bytes = 0_u64;
    model.for_each_tensor(|_, tensor| bytes = bytes.saturating_add(tensor.byte_len().unwrap_or(0)));
    bytes
}

/// JSON has no number that is not finite.
fn number(number: f64) -> Value {
    if number.is_finite() { json!(number) } else { Value::Null }
}

fn output_to_json(output: &MeasuredOutput) -> Value {
    json!({
        "name": output.name,
        "elements": output.elements,
        "differing": output.differing,
        "max": number(output.max),
        "max_error": number(output.max_error),
        "integers": output.is_exact,
        "snr": output.snr.map(number),
        "not_finite": output.not_finite,
        "equal_not_finite": output.equal_not_finite,
    })
}

fn weight_to_json(weight: &QuantizedWeight) -> Value {
    json!({
        "name": weight.name,
        "elements": weight.elements,
        "before": weight.before,
        "after": weight.after,
        "max_error": number(weight.max_error),
        "snr": number(weight.snr),
        "kept": weight.is_kept,
    })
}

/// The operators of nodes with the reasons, in the order of the first node of each, and numbers of nodes.
pub(crate) fn by_operator(wide: &[WideNode]) -> Vec<(&str, &'static str, usize)> {
    let mut rows: Vec<(&str, &'static str, usize)> = Vec::new();
    for node in wide {
        let (op, reason) = (node.op.as_str(), node.reason.text());
        match rows.iter_mut().find(|row| row.0 == op && row.1 == reason) {
            Some(row) => row.2 += 1,
            None => rows.push((op, reason, 1)),
        }
    }
    rows
}

impl GeneratedInput {
    /// The sizes, as the reports of number formats have them.
    #[must_use]
    pub fn to_json(&self) -> Value {
        json!({ "name": self.name, "least": self.least, "greatest": self.greatest })
    }
}

impl Narrowed {
    /// Number of wide nodes of each operator, with the reason, in the order of the first one.
    #[must_use]
    pub fn wide_by_operator(&self) -> Vec<(&str, &'static str, usize)> {
        by_operator(&self.wide)
    }

    /// What was done, as the report `number-format/1` has it; `to` is the new type.
    #[must_use]
    pub fn to_json(&self, to: ElemType, effect: &Effect) -> Value {
        let wide = self.wide_by_operator().into_iter();
        let wide = wide.map(|(op, reason, count)| {
            let of = |node: &&WideNode| node.op == op && node.reason.text() == reason;
            let names: Vec<&str> = self.wide.iter().filter(of).map(|node| node.name.as_str()).collect();
            json!({ "op": op, "reason": reason, "nodes": count, "results": names })
        });
        let tensors = self.tensors.iter().map(|tensor| {
            let losses = &tensor.losses;
            json!({
                "name": tensor.name,
                "elements": losses.elements,
                "saturated": losses.saturated,
                "zero": losses.zeros,
                "subnormal": losses.subnormal,
                "kept_positive": losses.is_kept_positive,
            })
        });
        let ranges: BTreeMap<&str, f64> =
            self.out_of_range.iter().map(|(name, number)| (name.as_str(), *number)).collect();
        let imprecise: BTreeMap<&str, f64> =
            self.imprecise.iter().map(|(name, error)| (name.as_str(), *error)).collect();
        json!({
            "format": to.to_string(),
            "nodes": self.nodes,
            "casts": self.casts,
            "removed_casts": self.removed_casts,
            "constants": self.constants,
            "wide": wide.collect::<Vec<_>>(),
            "tensors": tensors.collect::<Vec<_>>(),
            "out_of_range": ranges,
            "imprecise": imprecise,
            "unchanged": self.unchanged.as_ref().map(ToString::to_string),
            "bytes": effect.json_bytes(),
            "outputs": effect.json_outputs(),
            "generated": effect.json_generated(),
            "not_measured": effect.not_measured(),
        })
    }
}

impl WeightReport {
    /// What was done, as the report `quantize/1` has it.
    #[must_use]
    pub fn to_json(&self, to: ElemType, effect: &Effect) -> Value {
        let stay = self.stay.iter().map(|(name, reason)| json!({ "name": name, "reason": reason.text() }));
        json!({
            "to": to.to_string(),
            "weights": self.weights.iter().map(weight_to_json).collect::<Vec<_>>(),
            "weights_stay": stay.collect::<Vec<_>>(),
            "bytes": effect.json_bytes(),
            "runs": self.runs,
            "outputs": effect.json_outputs(),
            "generated": effect.json_generated(),
            "not_measured": effect.not_measured(),
        })
    }
}

impl StaticReport {
    /// What was done, as the report `quantize/1` has it, with what rounding does to some values. `ranges` and `samples` are the
    /// numbers of ranges and of inputs.
    #[must_use]
    pub fn to_json(
        &self,
        to: ElemType,
        losses: &[QuantizedValue],
        (ranges, samples): (usize, usize),
        effect: &Effect,
    ) -> Value {
        let quantized = self.quantized.iter().map(|(op, count)| json!({ "op": op, "nodes": count }));
        let stay = self
            .stay
            .iter()
            .map(|(op, name, reason)| json!({ "op": op, "output": name, "reason": reason.text() }));
        let values = self.parameters.iter().map(|(name, scale, zero)| {
            let loss = losses.iter().find(|value| value.name == *name);
            json!({
                "name": name,
                "scale": scale,
                "zero_point": zero,
                "max_error": loss.map(|value| number(value.max_error)),
                "snr": loss.map(|value| number(value.snr)),
            })
        });
        let correction = self.correction.as_ref().map(|correction| {
            json!({
                "biases": correction.biases,
                "before": number(correction.before),
                "after": number(correction.after),
                "applied": correction.is_applied(),
            })
        });
        json!({
            "to": to.to_string(),
            "quantized": quantized.collect::<Vec<_>>(),
            "stay": stay.collect::<Vec<_>>(),
            "pairs": self.pairs,
            "folded": self.folded,
            "biases": self.biases,
            "correction": correction,
            "values": values.collect::<Vec<_>>(),
            "weights": self.weights.iter().map(weight_to_json).collect::<Vec<_>>(),
            "ranges": ranges,
            "samples": samples,
            "bytes": effect.json_bytes(),
            "runs": self.runs,
            "outputs": effect.json_outputs(),
            "generated": effect.json_generated(),
            "not_measured": effect.not_measured(),
        })
    }
}
