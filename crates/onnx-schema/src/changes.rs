//! Changes between two versions of an operator.

use std::fmt;

use crate::declared_schemas::{DeclaredFormal, DeclaredSchema, DeclaredType};
use crate::signature::FormalOption;
use crate::typeset::TypeSet;

/// A difference between two schemas of one operator. It displays as a phrase such as `adds attribute axis`.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum SchemaChange {
    /// An input or output is new.
    Added {
        /// `input`, `output` or `attribute`.
        what: &'static str,
        /// Its name.
        name: String,
    },
    /// An input, output or attribute is gone.
    Removed {
        /// `input`, `output` or `attribute`.
        what: &'static str,
        /// Its name.
        name: String,
    },
    /// An attribute became an input.
    BecameInput(String),
    /// An input or output has another name at the same place.
    Renamed {
        /// `input` or `output`.
        what: &'static str,
        /// The name before.
        old: String,
        /// The name now.
        new: String,
    },
    /// An input or output became optional, variadic or single.
    Option {
        /// `input` or `output`.
        what: &'static str,
        /// Its name.
        name: String,
        /// Its new option.
        now: FormalOption,
    },
    /// An input, an output or a type variable allows other types.
    Types {
        /// `input`, `output`, or `type` for a variable.
        what: &'static str,
        /// Its name.
        name: String,
        /// The types that were not allowed before; `None` where any type is allowed now.
        added: Option<TypeSet>,
        /// The types that are not allowed any more. Both are empty where any type was allowed before.
        removed: TypeSet,
    },
    /// An attribute has another kind, default, or became required or optional; the texts say which.
    Attribute {
        /// Its name.
        name: String,
        /// Its former description.
        old: String,
        /// Its new description.
        new: String,
    },
    /// The operator was withdrawn.
    Deprecated,
    /// The operator is in use again.
    Restored,
    /// Models may have other numbers of inputs or outputs.
    Counts {
        /// `inputs` or `outputs`.
        what: &'static str,
    },
    /// The function body was added, changed or removed.
    Body,
}

/// What the schema `new` of an operator changes in the schema `old`. Empty where nothing that schemas tell is different:
/// then the meaning was made clearer, or changed in words only.
#[must_use]
pub fn changes(old: &DeclaredSchema, new: &DeclaredSchema) -> Vec<SchemaChange> {
    let mut found = Vec::new();
    match (old.is_deprecated, new.is_deprecated) {
        (false, true) => found.push(SchemaChange::Deprecated),
        (true, false) => found.push(SchemaChange::Restored),
        _ => {}
    }
    formals(&mut found, "input", [(old, &old.inputs), (new, &new.inputs)]);
    formals(&mut found, "output", [(old, &old.outputs), (new, &new.outputs)]);
    constraints(&mut found, old, new);
    attributes(&mut found, old, new);
    if old.input_counts != new.input_counts {
        found.push(SchemaChange::Counts { what: "inputs" });
    }
    if old.output_counts != new.output_counts {
        found.push(SchemaChange::Counts { what: "outputs" });
    }
    if old.bodies != new.bodies {
        found.push(SchemaChange::Body);
    }
    found
}

fn formals(
    found: &mut Vec<SchemaChange>,
    what: &'static str,
    [(old, before), (new, after)]: [(&DeclaredSchema, &[DeclaredFormal]); 2],
) {
    for index in 0..before.len().max(after.len()) {
        match (before.get(index), after.get(index)) {
            (Some(gone), None) => found.push(SchemaChange::Removed { what, name: gone.name.clone() }),
            (None, Some(added)) => {
                let was_attribute = what == "input" && old.attribute(&added.name).is_some();
                let name = added.name.clone();
                found.push(if was_attribute && new.attribute(&name).is_none() {
                    SchemaChange::BecameInput(name)
                } else {
                    SchemaChange::Added { what, name }
                });
            }
            (Some(was), Some(is)) => formal(found, what, (old, was), (new, is)),
            (None, None) => {}
        }
    }
}

fn formal(
    found: &mut Vec<SchemaChange>,
    what: &'static str,
    (old, was): (&DeclaredSchema, &DeclaredFormal),
    (new, is): (&DeclaredSchema, &DeclaredFormal),
) {
    if was.name != is.name {
        found.push(SchemaChange::Renamed { what, old: was.name.clone(), new: is.name.clone() });
    }
    if was.option != is.option {
        found.push(SchemaChange::Option { what, name: is.name.clone(), now: is.option });
    }
    // A change of the types of a variable is reported once for the variable, not for each formal.
    if matches!(is.ty, DeclaredType::Variable(_)) && was.ty == is.ty {
        return;
    }
    let (before, after) = (old.types_of(was), new.types_of(is));
    if before != after {
        found.push(types_change(what, &is.name, before, after));
    }
}

fn constraints(found: &mut Vec<SchemaChange>, old: &DeclaredSchema, new: &DeclaredSchema) {
    for constraint in &new.constraints {
        let was = old.constraints.iter().find(|was| was.variable == constraint.variable);
        // A name may be given to another variable; only one that types the same formal is the same variable.
        let is_same = [(&old.inputs, &new.inputs), (&old.outputs, &new.outputs)].iter().any(|(was, is)| {
            let variable = DeclaredType::Variable(constraint.variable.clone());
            was.iter().zip(is.iter()).any(|(was, is)| was.ty == variable && is.ty == variable)
        });
        if let Some(was) = was.filter(|was| is_same && was.types != constraint.types) {
            let (before, after) = (Some(was.types), Some(constraint.types));
            found.push(types_change("type", &constraint.variable, before, after));
        }
    }
}

fn types_change(
    what: &'static str,
    name: &str,
    before: Option<TypeSet>,
    after: Option<TypeSet>,
) -> SchemaChange {
    let minus = |a: TypeSet, b: TypeSet| a.iter().filter(|&id| !b.contains(id)).collect::<TypeSet>();
    let (added, removed) = match (before, after) {
        (Some(before), Some(after)) => (Some(minus(after, before)), minus(before, after)),
        (None, _) => (Some(TypeSet::EMPTY), TypeSet::EMPTY),
        (_, None) => (None, TypeSet::EMPTY),
    };
    SchemaChange::Types { what, name: name.to_owned(), added, removed }
}

fn attributes(found: &mut Vec<SchemaChange>, old: &DeclaredSchema, new: &DeclaredSchema) {
    for gone in old.attributes.iter().filter(|attribute| new.attribute(&attribute.name).is_none()) {
        let became_input = found.contains(&SchemaChange::BecameInput(gone.name.clone()));
        if !became_input {
            found.push(SchemaChange::Removed { what: "attribute", name: gone.name.clone() });
        }
    }
    for attribute in &new.attributes {
        match old.attribute(&attribute.name) {
            None => found.push(SchemaChange::Added { what: "attribute", name: attribute.name.clone() }),
            Some(was) if was != attribute => found.push(SchemaChange::Attribute {
                name: attribute.name.clone(),
                old: was.describe(),
                new: attribute.describe(),
            }),
            Some(_) => {}
        }
    }
}

impl fmt::Display for SchemaChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Added { what, name } => write!(f, "adds {what} {name}"),
            Self::Removed { what, name } => write!(f, "removes {what} {name}"),
            Self::BecameInput(name) => write!(f, "attribute {name} becomes an input"),
            Self::Renamed { what, old, new } => write!(f, "{what} {old} is called {new}"),
            Self::Option { what, name, now } => {
                let now = match now {
                    FormalOption::Single => "needed",
                    FormalOption::Optional => "optional",
                    FormalOption::Variadic => "variadic",
                };
                write!(f, "{what} {name} becomes {now}")
            }
            Self::Types { what, name, added, removed } => types(f, what, name, *added, *removed),
            Self::Attribute { name, old, new } => write!(f, "attribute {name}: {old} becomes {new}"),
            Self::Deprecated => f.write_str("deprecates the operator"),
            Self::Restored => f.write_str("brings the operator back"),
            Self::Counts { what } => write!(f, "allows other numbers of {what}"),
            Self::Body => f.write_str("changes the function body"),
        }
    }
}

fn types(
    f: &mut fmt::Formatter<'_>,
    what: &str,
    name: &str,
    added: Option<TypeSet>,
    removed: TypeSet,
) -> fmt::Result {
    write!(f, "{what} {name}")?;
    let Some(added) = added else { return f.write_str(" allows any type") };
    if !added.is_empty() {
        write!(f, " also allows {added}")?;
    }
    if !removed.is_empty() {
        let also = if added.is_empty() { "" } else { ", and" };
        write!(f, "{also} no longer allows {removed}")?;
    }
    if added.is_empty() && removed.is_empty() {
        f.write_str(" declares its types")?;
    }
    Ok(())
}
