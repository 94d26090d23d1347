//! Which numbers a runtime computes with when a model is quantized, as data.

use onnx_diag::Quoted;
use onnx_schema::{Schema, domain};
use onnx_types::ElemType;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

/// The tables of this crate: name and JSON text.
pub const QUANTIZATIONS: &[(&str, &str)] = &[
    ("generic", include_str!("../../targets/quantization/generic.json")),
    ("onnxruntime", include_str!("../../targets/quantization/onnxruntime.json")),
    ("tensorrt", include_str!("../../targets/quantization/tensorrt.json")),
];

/// How a runtime wants quantized models: the key `quantization` of a target.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Quantization {
    /// The types of quantized activations.
    #[serde(deserialize_with = "elems")]
    pub activations: Vec<ElemType>,
    /// The types of quantized weights.
    #[serde(deserialize_with = "elems")]
    pub weights: Vec<ElemType>,
    /// Whether zero points have to be 0 (of unsigned types: the middle).
    #[serde(default)]
    pub symmetric: bool,
    /// The type of a bias.
    #[serde(default)]
    pub bias: BiasFormat,
    /// Whether results of operators are quantized, and not only operands.
    #[serde(default = "yes")]
    pub results: bool,
    /// The operators that compute with quantized numbers, each once.
    #[serde(deserialize_with = "operators")]
    pub operators: Vec<QuantizedOperator>,
}

const fn yes() -> bool {
    true
}

/// The type of a quantized bias.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum BiasFormat {
    /// `int32` with the product of the scales of the operands.
    #[default]
    Int32,
    /// It stays `float`.
    Float,
}

/// An operator that computes with quantized numbers.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct QuantizedOperator {
    /// Its name, in the domain of ONNX.
    pub name: String,
    /// The scales of its operands and results.
    #[serde(default)]
    pub scales: Scales,
}

/// The scales of the operands and results of an operator.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Scales {
    /// Each its own: the operator computes.
    #[default]
    Own,
    /// All have one scale and one zero point: the operator moves or selects elements. It is quantized only between others that are.
    Equal,
}

impl Quantization {
    /// The table of this crate with a name; `None` if there is none.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let (_, text) = QUANTIZATIONS.iter().find(|(known, _)| *known == name)?;
        serde_json::from_str(text).ok()
    }

    /// The row of an operator of the default domain.
    #[must_use]
    pub fn operator(&self, name: &str) -> Option<&QuantizedOperator> {
        self.operators.iter().find(|operator| operator.name == name)
    }
}

fn elems<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<ElemType>, D::Error> {
    let names = Vec::<String>::deserialize(deserializer)?;
    let elem = |name: &String| {
        ElemType::from_name(name)
            .filter(|elem| elem.name() == name)
            .ok_or_else(|| D::Error::custom(format!("{} is not an element type", Quoted(name))))
    };
    names.iter().map(elem).collect()
}

/// Operators of the standard, each at most once: a misspelled name would be an operator that stays float.
fn operators<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<QuantizedOperator>, D::Error> {
    let rows = Vec::<QuantizedOperator>::deserialize(deserializer)?;
    for (index, row) in rows.iter().enumerate() {
        let name = Quoted(&row.name);
        let symbol = onnx_schema::op_symbol(&row.name);
        if symbol.is_none_or(|op| onnx_schema::versions(domain::ONNX, op).is_empty()) {
            let first = onnx_schema::operators().filter_map(<[Schema]>::first);
            let names = first.filter(|schema| schema.domain() == domain::ONNX).map(Schema::name);
            let near = onnx_schema::nearest(&row.name, names);
            let near = near.map_or_else(String::new, |near| format!("; did you mean {}?", Quoted(near)));
            return Err(D::Error::custom(format!("ONNX has no operator {name}{near}")));
        }
        if rows.iter().take(index).any(|other| other.name == row.name) {
            return Err(D::Error::custom(format!("{name} is listed twice")));
        }
    }
    Ok(rows)
}
