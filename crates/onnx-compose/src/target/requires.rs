//! What a runtime demands of the nodes of an operator although the specification does not.

use std::collections::{BTreeMap, BTreeSet};

use onnx_diag::Quoted;
use onnx_ir::{AttrValue, Attribute, NodeId};
use onnx_schema::Schema;
use onnx_types::tensor::NoData;
use serde::Deserialize;

use super::Cx;

/// What a node of an operator needs to be loaded, beyond what the specification demands.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct Requirements {
    /// Attributes that it must have.
    pub attributes: Vec<String>,
    /// Attributes that it must have, with at least one element.
    pub nonempty: Vec<String>,
    /// The integers that attributes may be.
    pub values: BTreeMap<String, BTreeSet<i64>>,
    /// The operands of a list that it may not leave out.
    pub operands: Option<Operands>,
    /// The scales of axes that it may have, by its `mode`: lists of scales for all axes, in which only the numbers matter.
    pub scales: BTreeMap<String, Vec<Vec<Option<f32>>>>,
    /// The last version of the operator set that has the operator.
    pub opset_until: Option<i64>,
}

/// Operands of a list.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Operands {
    /// The first one.
    First,
    /// Each.
    All,
}

impl Requirements {
    /// Compares the names with those of the versions of the operator; there are none if the standard does not define it.
    pub(super) fn check(&self, operator: &str, schemas: &[Schema]) -> Result<(), String> {
        if schemas.is_empty() {
            return Ok(());
        }
        let attributes = schemas.iter().flat_map(|schema| schema.attributes());
        let known: BTreeSet<&str> =
            attributes.filter_map(|attribute| onnx_schema::known_name(attribute.name)).collect();
        let mut written = self.attributes.iter().chain(&self.nonempty).chain(self.values.keys());
        if let Some(unknown) = written.find(|name| !known.contains(name.as_str())) {
            let near = onnx_schema::nearest(unknown, known.iter().copied());
            let help = near.map_or_else(String::new, |near| format!("; did you mean {}?", Quoted(near)));
            return Err(format!("{} has no attribute {}{help}", Quoted(operator), Quoted(unknown)));
        }
        let mut inputs = schemas.iter().flat_map(|schema| schema.inputs());
        if !self.scales.is_empty() && !known.contains("mode") {
            return Err(format!("{} has no attribute `mode`", Quoted(operator)));
        }
        if self.operands.is_some() && !inputs.any(|formal| formal.is_variadic()) {
            return Err(format!("{} has no list of operands", Quoted(operator)));
        }
        Ok(())
    }
}

impl Cx<'_> {
    /// What the node lacks for the target, as the rest of a sentence; `name` is the operator with quotes.
    pub(super) fn unmet(
        &self,
        requires: &Requirements,
        name: &str,
        schema: Option<&Schema>,
    ) -> Option<String> {
        self.removed(requires, name)
            .or_else(|| self.attribute_unmet(requires, name))
            .or_else(|| self.operand_unmet(requires.operands?, name, schema?))
            .or_else(|| self.scales_unmet(requires, name, schema?))
    }

    /// Scales that are constant are compared when a model is loaded, others when it runs.
    fn scales_unmet(&self, requires: &Requirements, name: &str, schema: &Schema) -> Option<String> {
        let mode = match self.attribute(self.node, "mode") {
            Some(mode) => mode.as_str()?,
            None => "nearest",
        };
        let allowed = requires.scales.get(mode)?;
        let scales = self.scales(schema).filter(|scales| !scales.is_empty())?;
        let fits = |pattern: &Vec<Option<f32>>| {
            pattern.len() == scales.len()
                && pattern
                    .iter()
                    .zip(&scales)
                    .all(|(wanted, scale)| wanted.is_none_or(|wanted| wanted == *scale))
        };
        if allowed.iter().any(fits) {
            return None;
        }
        let shown = |pattern: &Vec<Option<f32>>| {
            let scales =
                pattern.iter().map(|scale| scale.map_or_else(|| "*".to_owned(), |scale| scale.to_string()));
            format!("[{}]", scales.collect::<Vec<_>>().join(", "))
        };
        let found = shown(&scales.into_iter().map(Some).collect());
        let all = allowed.iter().map(shown).collect::<Vec<_>>().join(" or ");
        Some(format!("no {name} with mode {mode} and scales {found}, only {all}"))
    }

    /// The constant scales of all axes.
    fn scales(&self, schema: &Schema) -> Option<Vec<f32>> {
        let record = self.model.node(self.node);
        if let Some(scales) = self.attribute(self.node, "scales") {
            return Some(scales.as_floats()?.to_vec());
        }
        let index = schema.inputs().iter().position(|formal| formal.name == "scales")?;
        let value = record.input(index)?;
        let of_node =
            self.model.value(value).producer().and_then(|node| self.model.node(node).constant_tensor());
        let tensor = of_node.or_else(|| self.model.constant_tensor(value).cloned())?;
        #[allow(clippy::cast_possible_truncation, reason = "scales have the type float")]
        let found: Vec<f32> = tensor.iter_f64(&NoData).ok()?.map(|scale| scale as f32).collect();
        let Some(axes) = self.attribute(self.node, "axes") else { return Some(found) };
        let ty = self.types.type_of(self.model, record.input(0)?)?;
        let rank = ty.shape()?.dims().len();
        let mut scales = vec![1.0; rank];
        for (&axis, scale) in axes.as_ints()?.iter().zip(found) {
            let axis = if axis < 0 { axis.checked_add(i64::try_from(rank).ok()?)? } else { axis };
            *scales.get_mut(usize::try_from(axis).ok()?)? = scale;
        }
        Some(scales)
    }

    fn removed(&self, requires: &Requirements, name: &str) -> Option<String> {
        let until = requires.opset_until?;
        let record = self.model.node(self.node);
        let version = self.model.versions_in(record.graph()).get(record.domain())?;
        (version > until).then(|| format!("no {name} in operator set {version}, only up to {until}"))
    }

    fn attribute_unmet(&self, requires: &Requirements, name: &str) -> Option<String> {
        let value = |attribute: &str| self.attribute(self.node, attribute).map(Attribute::value);
        if let Some(missing) = requires.attributes.iter().find(|attribute| value(attribute).is_none()) {
            return Some(format!("no {name} without attribute {}", Quoted(missing)));
        }
        if let Some(empty) = requires.nonempty.iter().find(|attribute| value(attribute).is_none_or(is_empty))
        {
            return Some(format!("no {name} without elements of attribute {}", Quoted(empty)));
        }
        requires.values.iter().find_map(|(attribute, allowed)| {
            let found = self.attribute(self.node, attribute)?.as_int()?;
            let all: Vec<String> = allowed.iter().map(i64::to_string).collect();
            let (attribute, all) = (Quoted(attribute), all.join(" or "));
            (!allowed.contains(&found)).then(|| format!("no {name} with {attribute} = {found}, only {all}"))
        })
    }

    fn operand_unmet(&self, operands: Operands, name: &str, schema: &Schema) -> Option<String> {
        let first = schema.inputs().iter().position(|formal| formal.is_variadic())?;
        let count = if operands == Operands::First { 1 } else { usize::MAX };
        let mut inputs = self.model.node(self.node).inputs().enumerate().skip(first).take(count);
        let (index, _) = inputs.find(|(_, input)| input.is_none())?;
        Some(format!("no {name} without input {index}"))
    }

    /// The attribute of a node with a name.
    pub(super) fn attribute(&self, node: NodeId, name: &str) -> Option<&Attribute> {
        let mut all = self.model.node(node).attributes().iter();
        all.find(|attribute| self.model.str(attribute.name()) == name)
    }
}

/// Returns `true` for a list without elements. What a reference stands for is not known.
fn is_empty(value: &AttrValue) -> bool {
    match value {
        AttrValue::None => true,
        AttrValue::Floats(list) => list.is_empty(),
        AttrValue::Ints(list) => list.is_empty(),
        AttrValue::Strings(list) => list.is_empty(),
        _ => false,
    }
}
