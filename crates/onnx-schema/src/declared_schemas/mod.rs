//! Schemas that are declared while a program runs: those of custom domains, and those that come from documents.

mod builder;
mod describe;
mod set;
mod standard;

use std::fmt;
use std::sync::Arc;

use crate::attribute::{AttrDefault, AttrKind};
use crate::facts::{Determinism, SupportLevel};
use crate::signature::{Differentiation, FormalOption};
use crate::typeset::{TypeId, TypeSet};

pub use builder::{Declaration, declare};
pub use set::{DeclareError, OperatorSet};

/// The type of a formal input or output of a declared operator.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum DeclaredType {
    /// Any type: the declaration does not specify it. A function body by itself declares no types.
    Any,
    /// This type and no other.
    Concrete(TypeId),
    /// A type that the constraint of this name allows, the same for all formals of the variable.
    Variable(String),
}

/// A formal input or output of a declared operator; the counterpart of [`Formal`](crate::Formal).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DeclaredFormal {
    /// Its name.
    pub name: String,
    /// Its type.
    pub ty: DeclaredType,
    /// The number of values that correspond to it.
    pub option: FormalOption,
    /// Minimum number of values of a variadic formal: 0 or 1. It is 1 for the others.
    pub min_arity: u8,
    /// Whether all values of a variadic formal must have the same type. It is true for the others.
    pub is_homogeneous: bool,
    /// Information of the schema about gradients.
    pub differentiation: Differentiation,
}

/// The types that a type variable of a declared operator may stand for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DeclaredConstraint {
    /// The name of the variable, such as `T`.
    pub variable: String,
    /// The types it may stand for.
    pub types: TypeSet,
}

/// The value that an attribute of a declared operator has where a node does not give it.
#[derive(Clone, PartialEq, Debug)]
pub enum DeclaredDefault {
    /// One float.
    Float(f32),
    /// One integer.
    Int(i64),
    /// One string.
    String(String),
    /// A list of floats.
    Floats(Vec<f32>),
    /// A list of integers.
    Ints(Vec<i64>),
    /// A list of strings.
    Strings(Vec<String>),
}

impl DeclaredDefault {
    /// The kind of the value.
    #[must_use]
    pub const fn kind(&self) -> AttrKind {
        match self {
            Self::Float(_) => AttrKind::Float,
            Self::Int(_) => AttrKind::Int,
            Self::String(_) => AttrKind::String,
            Self::Floats(_) => AttrKind::Floats,
            Self::Ints(_) => AttrKind::Ints,
            Self::Strings(_) => AttrKind::Strings,
        }
    }
}

impl From<AttrDefault> for DeclaredDefault {
    fn from(default: AttrDefault) -> Self {
        match default {
            AttrDefault::Float(value) => Self::Float(value),
            AttrDefault::Int(value) => Self::Int(value),
            AttrDefault::String(value) => Self::String(value.to_owned()),
            AttrDefault::Floats(values) => Self::Floats(values.to_vec()),
            AttrDefault::Ints(values) => Self::Ints(values.to_vec()),
            AttrDefault::Strings(values) => {
                Self::Strings(values.iter().map(|&value| value.to_owned()).collect())
            }
        }
    }
}

/// The value as ONNX text writes it.
impl fmt::Display for DeclaredDefault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fn list<T>(f: &mut fmt::Formatter<'_>, values: &[T], show: impl Fn(&T) -> String) -> fmt::Result {
            let values: Vec<String> = values.iter().map(show).collect();
            write!(f, "[{}]", values.join(", "))
        }
        match self {
            Self::Float(value) => write!(f, "{value:?}"),
            Self::Int(value) => write!(f, "{value}"),
            Self::String(value) => write!(f, "{value:?}"),
            Self::Floats(values) => list(f, values, |value| format!("{value:?}")),
            Self::Ints(values) => list(f, values, i64::to_string),
            Self::Strings(values) => list(f, values, |value| format!("{value:?}")),
        }
    }
}

/// An attribute of a declared operator; the counterpart of [`FormalAttribute`](crate::FormalAttribute).
#[derive(Clone, PartialEq, Debug)]
pub struct DeclaredAttribute {
    /// Its name.
    pub name: String,
    /// The kind its value must have; `None` if the declaration does not specify it.
    pub kind: Option<AttrKind>,
    /// Whether every node must give it.
    pub is_required: bool,
    /// Its value where a node does not give it.
    pub default: Option<DeclaredDefault>,
}

/// A schema that was declared while the program runs; the counterpart of [`Schema`](crate::Schema), without a
/// [`SchemaId`](crate::SchemaId).
///
/// It is made with [`declare`], from a standard schema, or from an operator set document.
#[derive(Clone, PartialEq, Debug)]
pub struct DeclaredSchema {
    domain: String,
    name: String,
    since_version: i64,
    /// Whether models of these versions must not use the operator.
    pub is_deprecated: bool,
    /// Whether the schema may still change.
    pub support: SupportLevel,
    /// Whether equal inputs give equal outputs.
    pub determinism: Determinism,
    /// The formal inputs.
    pub inputs: Vec<DeclaredFormal>,
    /// The formal outputs.
    pub outputs: Vec<DeclaredFormal>,
    /// The type variables with the types they may stand for.
    pub constraints: Vec<DeclaredConstraint>,
    /// The attributes.
    pub attributes: Vec<DeclaredAttribute>,
    /// The only numbers of inputs a node can have, where not all between the bounds are allowed; empty otherwise.
    pub input_counts: Vec<u16>,
    /// The only numbers of outputs a node can have, where not all between the bounds are allowed; empty otherwise.
    pub output_counts: Vec<u16>,
    /// Whether nodes may have attributes that are not declared.
    pub allows_unchecked_attributes: bool,
    /// Whether the reference implementation infers types and shapes for it.
    pub has_inference: bool,
    /// Whether the reference implementation propagates values through it.
    pub has_data_propagation: bool,
    /// The fixed function bodies: the operator set version each is written for, and the serialized `FunctionProto`.
    pub bodies: Vec<(i64, Arc<[u8]>)>,
    /// The operator set versions for which the reference makes a function body from the node and its input types.
    pub context_function_versions: Vec<i64>,
}

impl DeclaredSchema {
    /// A schema that takes and gives nothing.
    pub(crate) fn new(domain: &str, name: &str, since_version: i64) -> Self {
        Self {
            domain: normal_domain(domain).to_owned(),
            name: name.to_owned(),
            since_version,
            is_deprecated: false,
            support: SupportLevel::Common,
            determinism: Determinism::Unknown,
            inputs: Vec::new(),
            outputs: Vec::new(),
            constraints: Vec::new(),
            attributes: Vec::new(),
            input_counts: Vec::new(),
            output_counts: Vec::new(),
            allows_unchecked_attributes: false,
            has_inference: false,
            has_data_propagation: false,
            bodies: Vec::new(),
            context_function_versions: Vec::new(),
        }
    }

    /// The domain; empty for the ONNX operators.
    #[must_use]
    pub fn domain(&self) -> &str {
        &self.domain
    }

    /// The operator name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The operator set version from which on the schema holds.
    #[must_use]
    pub const fn since_version(&self) -> i64 {
        self.since_version
    }

    /// The formal input that a node's input number `index` belongs to; a variadic one takes all from its own on.
    #[must_use]
    pub fn input_for(&self, index: usize) -> Option<&DeclaredFormal> {
        formal_for(&self.inputs, index)
    }

    /// The formal output that a node's output number `index` belongs to, likewise.
    #[must_use]
    pub fn output_for(&self, index: usize) -> Option<&DeclaredFormal> {
        formal_for(&self.outputs, index)
    }

    /// Minimum number of inputs of a node, including optional ones before the last required one.
    #[must_use]
    pub fn min_inputs(&self) -> usize {
        least(&self.inputs)
    }

    /// Maximum number of inputs of a node; `None` if it is unlimited.
    #[must_use]
    pub fn max_inputs(&self) -> Option<usize> {
        most(&self.inputs)
    }

    /// Minimum number of outputs of a node.
    #[must_use]
    pub fn min_outputs(&self) -> usize {
        least(&self.outputs)
    }

    /// Maximum number of outputs of a node; `None` if it is unlimited.
    #[must_use]
    pub fn max_outputs(&self) -> Option<usize> {
        most(&self.outputs)
    }

    /// The attribute of the given name, if the operator declares it.
    #[must_use]
    pub fn attribute(&self, name: &str) -> Option<&DeclaredAttribute> {
        self.attributes.iter().find(|attribute| attribute.name == name)
    }

    /// The types that a formal of this schema allows; `None` for any type at all.
    #[must_use]
    pub fn types_of(&self, formal: &DeclaredFormal) -> Option<TypeSet> {
        match &formal.ty {
            DeclaredType::Any => None,
            DeclaredType::Concrete(id) => Some(TypeSet::of(*id)),
            DeclaredType::Variable(name) => {
                let found = self.constraints.iter().find(|constraint| constraint.variable == *name);
                Some(found.map_or(TypeSet::EMPTY, |constraint| constraint.types))
            }
        }
    }

    /// Whether the meaning of the operator is given by a body of other operators.
    #[must_use]
    pub const fn is_function(&self) -> bool {
        !self.bodies.is_empty() || !self.context_function_versions.is_empty()
    }

    /// The fixed function body for the given operator set version: that of the greatest version not above it.
    #[must_use]
    pub fn function_body(&self, opset_version: i64) -> Option<&[u8]> {
        let fitting = self.bodies.iter().filter(|(version, _)| *version <= opset_version);
        fitting.max_by_key(|(version, _)| *version).map(|(_, body)| &**body)
    }

    /// Returns `true` if another schema has the same signature; bodies and facts about the reference are ignored.
    #[must_use]
    pub fn has_same_signature(&self, other: &Self) -> bool {
        self.inputs == other.inputs
            && self.outputs == other.outputs
            && self.constraints == other.constraints
            && self.attributes == other.attributes
            && self.input_counts == other.input_counts
            && self.output_counts == other.output_counts
            && self.is_deprecated == other.is_deprecated
            && self.allows_unchecked_attributes == other.allows_unchecked_attributes
    }
}

/// The operator and the version, with the domain where it is not that of the ONNX operators: `com.example.Frob-2`.
impl fmt::Display for DeclaredSchema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.domain.is_empty() {
            write!(f, "{}.", self.domain)?;
        }
        write!(f, "{}-{}", self.name, self.since_version)
    }
}

/// The canonical name of a domain.
pub(crate) fn normal_domain(domain: &str) -> &str {
    if domain == "ai.onnx" { "" } else { domain }
}

fn formal_for(formals: &[DeclaredFormal], index: usize) -> Option<&DeclaredFormal> {
    formals.get(index).or_else(|| formals.last().filter(|formal| formal.option == FormalOption::Variadic))
}

/// A variadic formal makes even optional ones before it count, which is how the standard schemas count, too.
fn least(formals: &[DeclaredFormal]) -> usize {
    let needed = |(index, formal): (usize, &DeclaredFormal)| match formal.option {
        FormalOption::Single => index.saturating_add(1),
        FormalOption::Optional => 0,
        FormalOption::Variadic => index.saturating_add(formal.min_arity.into()),
    };
    formals.iter().enumerate().map(needed).max().unwrap_or(0)
}

fn most(formals: &[DeclaredFormal]) -> Option<usize> {
    let is_open = formals.last().is_some_and(|formal| formal.option == FormalOption::Variadic);
    (!is_open).then_some(formals.len())
}
