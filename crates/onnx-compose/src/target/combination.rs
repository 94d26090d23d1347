//! Values of attributes and types that a runtime does not support together.

use std::collections::BTreeMap;

use onnx_diag::Quoted;
use onnx_ir::AttrValue;
use onnx_schema::{AttrDefault, Schema};
use serde::Deserialize;

use super::{Cx, Requirements};

/// Values by attribute, types by variable of the schema, or ranks by operand: a node has the combination if each of them has one of its values.
pub type Combination = BTreeMap<String, Vec<Option<Setting>>>;

/// A value of an attribute, a rank, or a type such as `tensor(float)`; none in a [`Combination`] is an attribute without a value.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum Setting {
    /// An integer, or a rank.
    Int(i64),
    /// A text, or a type.
    Text(String),
}

/// What is known of a setting of a node.
enum Known {
    No,
    Absent,
    Default(Setting),
    Value(Setting),
    Rank(i64),
}

impl Cx<'_> {
    /// The first combination that the node has and may not have, as the rest of a sentence.
    pub(super) fn combination_excluded(
        &self,
        requires: &Requirements,
        name: &str,
        schema: &Schema,
    ) -> Option<String> {
        let found = requires.excludes.iter().find(|combination| self.has(combination, schema))?;
        Some(format!("no {name} with {}", self.shown_settings(found, schema)))
    }

    /// The settings of the node that a combination is about.
    pub(super) fn shown_settings(&self, combination: &Combination, schema: &Schema) -> String {
        let shown = combination.keys().filter_map(|key| match self.setting(key, schema) {
            // That a flag is not set goes without saying.
            Known::Default(Setting::Int(0)) | Known::No | Known::Absent => None,
            Known::Value(Setting::Int(value)) | Known::Default(Setting::Int(value)) => {
                Some(format!("{} = {value}", Quoted(key)))
            }
            Known::Value(Setting::Text(text)) | Known::Default(Setting::Text(text)) => {
                Some(format!("{} = {text}", Quoted(key)))
            }
            Known::Rank(rank) => Some(format!("{} of rank {rank}", Quoted(key))),
        });
        shown.collect::<Vec<_>>().join(" and ")
    }

    /// Returns `true` if the node is known to have a combination.
    pub(super) fn has(&self, combination: &Combination, schema: &Schema) -> bool {
        combination.iter().all(|(key, allowed)| match self.setting(key, schema) {
            Known::No => false,
            Known::Absent => allowed.contains(&None),
            Known::Value(value) | Known::Default(value) => allowed.contains(&Some(value)),
            Known::Rank(rank) => allowed.contains(&Some(Setting::Int(rank))),
        })
    }

    fn setting(&self, key: &str, schema: &Schema) -> Known {
        if schema.constraints().iter().any(|constraint| constraint.variable == key) {
            let bound = self.bound(schema).into_iter().find(|(variable, _)| *variable == key);
            return bound.map_or(Known::No, |(_, ty)| Known::Value(Setting::Text(ty)));
        }
        if let Some(given) = self.attribute(self.node, key) {
            let setting = match given.value() {
                AttrValue::Int(value) => Some(Setting::Int(*value)),
                _ => given.as_str().map(|text| Setting::Text(text.to_owned())),
            };
            return setting.map_or(Known::No, Known::Value);
        }
        let formal = schema.attributes().iter().find(|formal| formal.text() == key);
        if formal.is_none() && schema.inputs().iter().any(|formal| formal.name == key) {
            let rank = self.rank(key, schema).and_then(|rank| i64::try_from(rank).ok());
            return rank.map_or(Known::No, Known::Rank);
        }
        match formal.and_then(|formal| formal.default) {
            Some(AttrDefault::Int(value)) => Known::Default(Setting::Int(value)),
            Some(AttrDefault::String(text)) => Known::Default(Setting::Text(text.to_owned())),
            Some(_) => Known::No,
            None => Known::Absent,
        }
    }
}
