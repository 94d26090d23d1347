//! What a runtime demands of the nodes of an operator although the specification does not.

use std::collections::{BTreeMap, BTreeSet};

use onnx_diag::Quoted;
use onnx_ir::{AttrValue, Attribute, NodeId};
use onnx_schema::Schema;
use serde::Deserialize;

use super::combination::Combination;
use super::scales::ScaleForms;
use super::{Cx, TargetOperator};

/// What a node of an operator needs to be loaded or to run, beyond what the specification demands.
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
    /// Attributes that may not be 0 or less.
    pub positive: Vec<String>,
    /// Lists of integers of which each is less than that of another list; the other one is repeated if it is shorter.
    pub below: BTreeMap<String, String>,
    /// The ranks that an operand may have.
    pub ranks: BTreeMap<String, BTreeSet<usize>>,
    /// The operands of a list that it may not leave out.
    pub operands: Option<Operands>,
    /// Values of attributes, types and ranks that it may not have together.
    pub excludes: Vec<Combination>,
    /// The scales of axes that it may have.
    pub scales: Vec<ScaleForms>,
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
        let lists = self.attributes.iter().chain(&self.nonempty).chain(&self.positive);
        let mut written =
            lists.chain(self.values.keys()).chain(self.below.iter().flat_map(|(list, bound)| [list, bound]));
        if let Some(unknown) = written.find(|name| !known.contains(name.as_str())) {
            let near = onnx_schema::nearest(unknown, known.iter().copied());
            let help = near.map_or_else(String::new, |near| format!("; did you mean {}?", Quoted(near)));
            return Err(format!("{} has no attribute {}{help}", Quoted(operator), Quoted(unknown)));
        }
        let mut inputs = schemas.iter().flat_map(|schema| schema.inputs());
        let operands: BTreeSet<&str> = inputs.clone().map(|formal| formal.name).collect();
        if let Some(unknown) = self.ranks.keys().find(|name| !operands.contains(name.as_str())) {
            return Err(format!("{} has no operand {}", Quoted(operator), Quoted(unknown)));
        }
        let combinations = self.excludes.iter().chain(self.scales.iter().map(|forms| &forms.of));
        let variables: BTreeSet<&str> =
            schemas.iter().flat_map(Schema::constraints).map(|constraint| constraint.variable).collect();
        let mut keys = combinations.flat_map(BTreeMap::keys);
        if let Some(unknown) =
            keys.find(|key| ![&known, &variables, &operands].iter().any(|names| names.contains(key.as_str())))
        {
            let all = known.iter().chain(&variables).chain(&operands);
            let near = onnx_schema::nearest(unknown, all.copied());
            let help = near.map_or_else(String::new, |near| format!("; did you mean {}?", Quoted(near)));
            let unknown = Quoted(unknown);
            return Err(format!(
                "{} has no attribute, variable or operand {unknown}{help}",
                Quoted(operator)
            ));
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
        operator: &TargetOperator,
        name: &str,
        schema: Option<&Schema>,
    ) -> Option<String> {
        let to_run = self.is_always_run.then_some(&operator.requires_to_run);
        let mut all = std::iter::once(&operator.requires).chain(to_run);
        all.find_map(|requires| self.unmet_of(requires, name, schema))
    }

    fn unmet_of(&self, requires: &Requirements, name: &str, schema: Option<&Schema>) -> Option<String> {
        self.removed(requires, name)
            .or_else(|| self.attribute_unmet(requires, name))
            .or_else(|| self.not_below(requires, name))
            .or_else(|| self.operand_unmet(requires.operands?, name, schema?))
            .or_else(|| self.rank_unmet(requires, name, schema?))
            .or_else(|| self.combination_excluded(requires, name, schema?))
            .or_else(|| self.scales_unmet(requires, name, schema?))
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
        let not_positive = requires.positive.iter().find_map(|attribute| {
            let found = match value(attribute)? {
                AttrValue::Float(found) => *found,
                _ => return None,
            };
            (found <= 0.0).then(|| format!("no {name} with {} = {found}, only above 0", Quoted(attribute)))
        });
        if not_positive.is_some() {
            return not_positive;
        }
        requires.values.iter().find_map(|(attribute, allowed)| {
            let found = self.attribute(self.node, attribute)?.as_int()?;
            let all: Vec<String> = allowed.iter().map(i64::to_string).collect();
            let (attribute, all) = (Quoted(attribute), all.join(" or "));
            (!allowed.contains(&found)).then(|| format!("no {name} with {attribute} = {found}, only {all}"))
        })
    }

    fn rank_unmet(&self, requires: &Requirements, name: &str, schema: &Schema) -> Option<String> {
        requires.ranks.iter().find_map(|(operand, allowed)| {
            let rank = self.rank(operand, schema)?;
            let all: Vec<String> = allowed.iter().map(usize::to_string).collect();
            let (operand, all) = (Quoted(operand), all.join(" or "));
            (!allowed.contains(&rank)).then(|| format!("no {name} with {operand} of rank {rank}, only {all}"))
        })
    }

    /// The rank of an operand by its name, if it is known.
    pub(super) fn rank(&self, operand: &str, schema: &Schema) -> Option<usize> {
        let index = schema.inputs().iter().position(|formal| formal.name == operand)?;
        let ty = self.types.type_of(self.model, self.model.node(self.node).input(index)?)?;
        Some(ty.shape()?.rank())
    }

    fn not_below(&self, requires: &Requirements, name: &str) -> Option<String> {
        requires.below.iter().find_map(|(attribute, bound)| {
            let list = |name: &str| self.attribute(self.node, name)?.as_ints();
            let (found, bounds) = (list(attribute)?, list(bound)?);
            let is_below = found.iter().zip(bounds.iter().cycle()).all(|(found, bound)| found < bound);
            let (attribute, bound) = (Quoted(attribute), Quoted(bound));
            (!is_below)
                .then(|| format!("no {name} with {attribute} = {found:?}, only below {bound} = {bounds:?}"))
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
