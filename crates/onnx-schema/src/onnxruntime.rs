//! The operators that onnxruntime adds to those of ONNX: an optional operator set.
//!
//! They are of domain `com.microsoft`, of the domains of its internal layouts, and some are in the default domain. The
//! facts are what onnxruntime declares; whether an operator is deterministic is not among them. Their names are not in the
//! table that every interner starts with, and their schemas are not among the dense keys of the standard ones, so programs
//! that do not use this module do not pay for it.
//!
//! ```
//! use onnx_schema::onnxruntime::{self, microsoft};
//!
//! let schema = onnxruntime::lookup("com.microsoft", "FusedMatMul", 1).expect("onnxruntime declares it");
//! assert_eq!(schema.op(), microsoft::FUSED_MAT_MUL);
//! assert_eq!(schema.to_string(), "com.microsoft.FusedMatMul-1");
//! assert!(onnxruntime::lookup("", "Relu", 14).is_none());
//! ```

mod declare;
pub(crate) mod row;

use std::fmt;

pub use declare::operator_sets;
pub use row::RuntimeAttribute;

use crate::facts::row::slice;
use crate::facts::{allows, formal_for};
use crate::generated::onnxruntime::{OPERATORS, SCHEMAS, VERSION};
pub use crate::generated::onnxruntime::{default, microsoft, nchwc, nhwc};
use crate::signature::{Formal, FormalType, TypeConstraint};
use crate::typeset::TypeSet;

/// The version of onnxruntime that the facts are taken from.
pub const RUNTIME_VERSION: &str = VERSION;

/// An operator that onnxruntime adds: a dense index, with constants in [`microsoft`] and the modules next to it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct RuntimeOp(pub(crate) u16);

impl RuntimeOp {
    /// The number of operators.
    pub const COUNT: usize = OPERATORS.len();

    /// The index of the operator.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// The schemas of the operator, oldest first.
    #[must_use]
    pub const fn schemas(self) -> &'static [RuntimeSchema] {
        slice(&SCHEMAS, OPERATORS[self.index()])
    }
}

/// The facts about one operator that onnxruntime adds, from one operator set version until the operator's next schema.
#[derive(Debug)]
pub struct RuntimeSchema {
    id: u16,
    domain: &'static str,
    name: &'static str,
    since: u16,
    flags: u8,
    min_inputs: u16,
    max_inputs: u16,
    min_outputs: u16,
    max_outputs: u16,
    inputs: &'static [Formal],
    outputs: &'static [Formal],
    constraints: &'static [TypeConstraint],
    attributes: &'static [RuntimeAttribute],
}

impl RuntimeSchema {
    /// The number of schemas.
    pub const COUNT: usize = SCHEMAS.len();

    /// The position in the table of these schemas.
    #[must_use]
    pub const fn index(&self) -> usize {
        self.id as usize
    }

    /// The operator.
    #[must_use]
    pub fn op(&self) -> RuntimeOp {
        let after = OPERATORS.partition_point(|&(first, _)| first <= self.index());
        RuntimeOp(u16::try_from(after.saturating_sub(1)).unwrap_or_default())
    }

    /// The domain; empty for the default one.
    #[must_use]
    pub const fn domain(&self) -> &'static str {
        self.domain
    }

    /// The operator name.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// The operator set version from which on the schema holds.
    #[must_use]
    pub const fn since_version(&self) -> i64 {
        self.since as i64
    }

    /// Whether onnxruntime withdrew the operator from this version on.
    #[must_use]
    pub const fn is_deprecated(&self) -> bool {
        self.flags & row::flag::DEPRECATED != 0
    }

    /// Whether the schema may still change.
    #[must_use]
    pub const fn is_experimental(&self) -> bool {
        self.flags & row::flag::EXPERIMENTAL != 0
    }

    /// Whether onnxruntime infers types and shapes for it when it loads a model.
    #[must_use]
    pub const fn has_inference(&self) -> bool {
        self.flags & row::flag::INFERS != 0
    }

    /// The formal inputs.
    #[must_use]
    pub const fn inputs(&self) -> &'static [Formal] {
        self.inputs
    }

    /// The formal outputs.
    #[must_use]
    pub const fn outputs(&self) -> &'static [Formal] {
        self.outputs
    }

    /// The formal input that a node's input number `index` belongs to; a variadic one takes all numbers from its own on.
    #[must_use]
    pub fn input_for(&self, index: usize) -> Option<&'static Formal> {
        formal_for(self.inputs, index)
    }

    /// The formal output that a node's output number `index` belongs to, likewise.
    #[must_use]
    pub fn output_for(&self, index: usize) -> Option<&'static Formal> {
        formal_for(self.outputs, index)
    }

    /// The minimum number of inputs, optional ones before the last required one counted.
    #[must_use]
    pub const fn min_inputs(&self) -> usize {
        self.min_inputs as usize
    }

    /// Whether a node can have `count` inputs.
    #[must_use]
    pub fn allows_inputs(&self, count: usize) -> bool {
        allows(count, self.min_inputs(), most(self.max_inputs), &[])
    }

    /// Whether a node can have `count` outputs.
    #[must_use]
    pub fn allows_outputs(&self, count: usize) -> bool {
        allows(count, self.min_outputs.into(), most(self.max_outputs), &[])
    }

    /// The type variables with the types they may stand for.
    #[must_use]
    pub const fn constraints(&self) -> &'static [TypeConstraint] {
        self.constraints
    }

    /// The types that one of this schema's formals allows, whether it names a variable or a type.
    #[must_use]
    pub fn types_of(&self, formal: &Formal) -> TypeSet {
        match formal.ty {
            FormalType::Concrete(id) => TypeSet::of(id),
            FormalType::Variable(index) => {
                self.constraints.get(usize::from(index)).map_or(TypeSet::EMPTY, |constraint| constraint.types)
            }
        }
    }

    /// The attributes in alphabetical order.
    #[must_use]
    pub const fn attributes(&self) -> &'static [RuntimeAttribute] {
        self.attributes
    }

    /// The attribute of the given name, if the operator declares it.
    #[must_use]
    pub fn attribute(&self, name: &str) -> Option<&'static RuntimeAttribute> {
        self.attributes.iter().find(|attribute| attribute.name == name)
    }
}

const fn most(count: u16) -> Option<usize> {
    if count == u16::MAX { None } else { Some(count as usize) }
}

/// The domain, unless it is the default one, the operator and the version: `com.microsoft.FusedMatMul-1`.
impl fmt::Display for RuntimeSchema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.domain.is_empty() {
            write!(f, "{}.", self.domain)?;
        }
        write!(f, "{}-{}", self.name, self.since)
    }
}

/// All schemas by domain, name and version.
#[must_use]
pub const fn all() -> &'static [RuntimeSchema] {
    &SCHEMAS
}

/// All operators by domain and name.
pub fn operators() -> impl ExactSizeIterator<Item = RuntimeOp> {
    (0..u16::try_from(RuntimeOp::COUNT).unwrap_or(u16::MAX)).map(RuntimeOp)
}

/// The schema in force for an operator in a model that imports the given version of its domain: the one with the greatest
/// version not above it. `None` if onnxruntime adds no such operator to the domain, or none that early; an operator that
/// ONNX defines in this version is ONNX's, so look it up there first.
#[must_use]
pub fn lookup(domain: &str, name: &str, opset_version: i64) -> Option<&'static RuntimeSchema> {
    let domain = if domain == "ai.onnx" { "" } else { domain };
    let after = SCHEMAS.partition_point(|schema| {
        (schema.domain, schema.name, schema.since_version()) <= (domain, name, opset_version)
    });
    let schema = SCHEMAS.get(after.checked_sub(1)?)?;
    (schema.domain == domain && schema.name == name).then_some(schema)
}
