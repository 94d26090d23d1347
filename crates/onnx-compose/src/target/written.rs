//! The parts of a target as they are written: what serde does not check is compared with the standard, so that a misspelled name
//! is an error with its line, and not a feature that the target seems to lack.

use std::collections::{BTreeMap, HashSet};
use std::fmt;

use onnx_diag::Quoted;
use onnx_schema::{Schema, domain};
use onnx_types::ElemType;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Error as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::{Requirements, TargetKernel, TargetOperator, full_name};

/// The other name of the default domain.
const DEFAULT_DOMAIN: &str = "ai.onnx";

/// Versions by domain.
pub(super) fn opset<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BTreeMap<String, i64>, D::Error> {
    let mut opset = BTreeMap::<String, i64>::deserialize(deserializer)?;
    if let Some(version) = opset.remove(DEFAULT_DOMAIN)
        && opset.insert(String::new(), version).is_some()
    {
        return Err(D::Error::custom("`ai.onnx` and the empty text are the same domain"));
    }
    Ok(opset)
}

/// Pairs of element types.
pub(super) fn casts<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<(String, String)>, D::Error> {
    let casts = Vec::<(String, String)>::deserialize(deserializer)?;
    let unknown = casts.iter().flat_map(|(from, to)| [from, to]).find(|name| !is_elem(name));
    unknown.map_or(Ok(()), |name| {
        let help = "`casts` has names such as `float16`";
        Err(D::Error::custom(format!("{} is not an element type; {help}", Quoted(name))))
    })?;
    Ok(casts)
}

/// Operators, each at most once.
pub(super) fn operators<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<TargetOperator>, D::Error> {
    let operators = Vec::<TargetOperator>::deserialize(deserializer)?;
    let mut names = HashSet::new();
    let twice = operators.iter().find(|operator| !names.insert((&operator.domain, &operator.name)));
    twice.map_or(Ok(()), |operator| {
        let name = full_name(&operator.domain, &operator.name);
        Err(D::Error::custom(format!("{} is listed twice", Quoted(&name))))
    })?;
    Ok(operators)
}

/// An operator before its kernels are compared with the schemas: an error has the line of the operator.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenOperator {
    #[serde(default)]
    domain: String,
    name: String,
    #[serde(default)]
    kernels: Vec<TargetKernel>,
    #[serde(default)]
    requires: Requirements,
    #[serde(default)]
    requires_to_run: Requirements,
}

impl<'de> Deserialize<'de> for TargetOperator {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(OperatorVisitor)
    }
}

struct OperatorVisitor;

impl<'de> Visitor<'de> for OperatorVisitor {
    type Value = TargetOperator;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an operator")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<TargetOperator, A::Error> {
        let WrittenOperator { domain, name, kernels, requires, requires_to_run } =
            WrittenOperator::deserialize(MapAccessDeserializer::new(map))?;
        let domain = if domain == DEFAULT_DOMAIN { String::new() } else { domain };
        let operator = TargetOperator { domain, name, kernels, requires, requires_to_run };
        operator.check().map_err(A::Error::custom)?;
        Ok(operator)
    }
}

impl TargetOperator {
    /// Compares the operator with the schemas.
    fn check(&self) -> Result<(), String> {
        let schemas = match (onnx_schema::domain_symbol(&self.domain), onnx_schema::op_symbol(&self.name)) {
            (Some(domain), Some(op)) => onnx_schema::versions(domain, op),
            _ => &[],
        };
        // Runtimes have operators of their own in the default domain, so that only a name that is almost one of the standard is
        // an error.
        if schemas.is_empty() && self.domain.is_empty() {
            let first = onnx_schema::operators().filter_map(<[Schema]>::first);
            let names = first.filter(|schema| schema.domain() == domain::ONNX).map(Schema::name);
            if let Some(near) = onnx_schema::nearest(&self.name, names) {
                let name = Quoted(&self.name);
                return Err(format!("ONNX has no operator {name}; did you mean {}?", Quoted(near)));
            }
        }
        let name = full_name(&self.domain, &self.name);
        self.requires.check(&name, schemas)?;
        self.requires_to_run.check(&name, schemas)?;
        self.kernels.iter().try_for_each(|kernel| kernel.check(&name, schemas))
    }
}

impl TargetKernel {
    /// Compares a kernel with the versions of its operator; there are none if the standard does not define it.
    fn check(&self, operator: &str, schemas: &[Schema]) -> Result<(), String> {
        if let Some(until) = self.until.filter(|&until| until < self.since) {
            let operator = Quoted(operator);
            return Err(format!("{operator} has a kernel until version {until}, but since {}", self.since));
        }
        let mut types = self.types.iter().flat_map(BTreeMap::values).flatten();
        if let Some(unknown) = types.find(|text| !is_type(text)) {
            let help = "types are written `tensor(float)`";
            return Err(format!("{} of {} is not a type; {help}", Quoted(unknown), Quoted(operator)));
        }
        let of_kernel: Vec<&Schema> =
            schemas.iter().filter(|schema| self.covers(schema.since_version())).collect();
        let variables = || of_kernel.iter().flat_map(|schema| schema.constraints()).map(|one| one.variable);
        // Kernels of onnxruntime also state the type of an operand whose type the standard fixes.
        let formals = || of_kernel.iter().flat_map(|schema| schema.inputs().iter().chain(schema.outputs()));
        let is_known = |written: &str| {
            variables().any(|known| known == written) || formals().any(|formal| formal.name == written)
        };
        let unknown = self.types.iter().flat_map(BTreeMap::keys).find(|written| !is_known(written));
        let Some(unknown) = unknown.filter(|_| !of_kernel.is_empty()) else { return Ok(()) };
        let mut known: Vec<String> = variables().map(|variable| format!("`{variable}`")).collect();
        known.sort_unstable();
        known.dedup();
        let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        Err(format!(
            "{} has no type variable {}, but {known}, from version {} on",
            Quoted(operator),
            Quoted(unknown),
            self.since
        ))
    }
}

/// Returns `true` for the name of an element type as types are written.
fn is_elem(name: &str) -> bool {
    ElemType::from_name(name).is_some_and(|elem| elem.name() == name)
}

/// Returns `true` for a type as the schemas of operators write it, such as `seq(map(int64,tensor(float)))`.
fn is_type(text: &str) -> bool {
    let Some((kind, inner)) = text.strip_suffix(')').and_then(|text| text.split_once('(')) else {
        return false;
    };
    match kind {
        "tensor" | "sparse_tensor" => is_elem(inner),
        "seq" | "optional" => is_type(inner),
        "map" => {
            inner.split_once(',').is_some_and(|(key, value)| is_elem(key.trim()) && is_type(value.trim()))
        }
        "opaque" => true,
        _ => false,
    }
}
