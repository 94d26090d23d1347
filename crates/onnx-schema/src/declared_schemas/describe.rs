//! Descriptions of schemas in words.

use std::fmt;

use super::{DeclaredAttribute, DeclaredFormal, DeclaredSchema, DeclaredType};
use crate::facts::{Determinism, SupportLevel};
use crate::signature::FormalOption;

impl DeclaredSchema {
    /// A node as it would be written: `Y = Concat <axis> (inputs...)`, with the attributes that are required, `?` behind
    /// what may be absent and `...` behind what may occur several times. `shown` turns a name into what is shown of it.
    #[must_use]
    pub fn call(&self, shown: impl Fn(&str) -> String) -> String {
        let list = |formals: &[DeclaredFormal]| {
            let one = |formal: &DeclaredFormal| match formal.option {
                FormalOption::Single => shown(&formal.name),
                FormalOption::Optional => format!("{}?", shown(&formal.name)),
                FormalOption::Variadic => format!("{}...", shown(&formal.name)),
            };
            formals.iter().map(one).collect::<Vec<_>>().join(", ")
        };
        let required = self.attributes.iter().filter(|attribute| attribute.is_required);
        let required: Vec<String> = required.map(|attribute| shown(&attribute.name)).collect();
        let required =
            if required.is_empty() { String::new() } else { format!(" <{}>", required.join(", ")) };
        format!("{} = {}{required} ({})", list(&self.outputs), shown(&self.name), list(&self.inputs))
    }

    /// Restrictions in addition to the signature, as phrases such as `takes 1 or 3 inputs and no other number`. Does
    /// not include that the operator is deprecated.
    #[must_use]
    pub fn remarks(&self) -> Vec<String> {
        let mut remarks = Vec::new();
        if self.support == SupportLevel::Experimental {
            remarks.push("experimental: it may still change".to_owned());
        }
        let counts = |counts: &[u16]| counts.iter().map(u16::to_string).collect::<Vec<_>>().join(" or ");
        if !self.input_counts.is_empty() {
            remarks.push(format!("takes {} inputs and no other number", counts(&self.input_counts)));
        }
        if !self.output_counts.is_empty() {
            remarks.push(format!("gives {} outputs and no other number", counts(&self.output_counts)));
        }
        match self.determinism {
            Determinism::Unknown => {}
            Determinism::Deterministic => remarks.push("equal inputs give equal outputs".to_owned()),
            Determinism::NonDeterministic => {
                remarks.push("equal inputs may give different outputs".to_owned());
            }
        }
        for (version, _) in &self.bodies {
            remarks.push(format!("is a function, with a body for version {version}"));
        }
        if !self.context_function_versions.is_empty() {
            remarks.push("is a function, whose body depends on the node".to_owned());
        }
        if self.allows_unchecked_attributes {
            remarks.push("accepts attributes that it does not declare".to_owned());
        }
        remarks
    }
}

impl DeclaredFormal {
    /// The number of its occurrences: `optional`, `any number`, `one or more`, `of different types`; empty for exactly
    /// one.
    #[must_use]
    pub fn occurrence(&self) -> String {
        let option = match (self.option, self.min_arity) {
            (FormalOption::Single, _) => "",
            (FormalOption::Optional, _) => "optional",
            (FormalOption::Variadic, 0) => "any number",
            (FormalOption::Variadic, _) => "one or more",
        };
        let mixed = if self.is_homogeneous { "" } else { "of different types" };
        let comma = if option.is_empty() || mixed.is_empty() { "" } else { ", " };
        format!("{option}{comma}{mixed}")
    }
}

impl DeclaredAttribute {
    /// The description after the name: `INT = 1`, `FLOATS, required`.
    #[must_use]
    pub fn describe(&self) -> String {
        let kind = self.kind.map_or("any kind", crate::AttrKind::name);
        match &self.default {
            Some(default) => format!("{kind} = {default}"),
            None if self.is_required => format!("{kind}, required"),
            None => format!("{kind}, optional"),
        }
    }
}

/// The variable, the type, or `any type`.
impl fmt::Display for DeclaredType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Any => f.write_str("any type"),
            Self::Concrete(id) => id.fmt(f),
            Self::Variable(name) => f.write_str(name),
        }
    }
}
