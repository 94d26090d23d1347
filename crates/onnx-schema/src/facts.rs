//! The contents of a schema.

pub(crate) mod row;

use std::fmt;

use onnx_types::Symbol;

use crate::attribute::{AttrDefault, FormalAttribute};
use crate::generated::names::NAMES;
use crate::generated::schemas::SCHEMAS;
use crate::lookup;
use crate::signature::{Formal, FormalType, TypeConstraint};
use crate::typeset::TypeSet;

/// A schema's position in the table of all schemas: a dense index for tables that say something about every schema.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SchemaId(u16);

impl SchemaId {
    /// Number of schemas.
    pub const COUNT: usize = SCHEMAS.len();

    /// The schema with the given index; `None` if the index is out of range.
    #[must_use]
    pub const fn from_index(index: usize) -> Option<Self> {
        if index < Self::COUNT { Some(Self(index as u16)) } else { None }
    }

    /// The position of the schema.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// The schema.
    #[must_use]
    pub const fn schema(self) -> &'static Schema {
        &SCHEMAS[self.index()]
    }
}

/// The operator and the version, such as `Relu-14`.
impl fmt::Debug for SchemaId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.schema())
    }
}

/// Whether a schema may still change.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum SupportLevel {
    /// The operator is settled: a change makes a new version.
    Common,
    /// The operator is being tried out.
    Experimental,
}

/// Whether a node of the operator gives the same outputs each time it runs on the same inputs.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Determinism {
    /// The facts do not specify it.
    Unknown,
    /// It does.
    Deterministic,
    /// It need not: it draws random numbers, or holds a graph in which nodes could.
    NonDeterministic,
}

/// The facts about one operator from one operator set version on, until the operator's next schema.
#[derive(Debug)]
pub struct Schema {
    id: SchemaId,
    domain: Symbol,
    op: Symbol,
    since: u16,
    flags: u8,
    min_inputs: u16,
    max_inputs: u16,
    min_outputs: u16,
    max_outputs: u16,
    inputs: &'static [Formal],
    outputs: &'static [Formal],
    constraints: &'static [TypeConstraint],
    attributes: &'static [FormalAttribute],
    input_counts: &'static [u16],
    output_counts: &'static [u16],
    bodies: &'static [(u16, &'static [u8])],
    context_bodies: &'static [u16],
}

impl Schema {
    /// The position of the schema in the table of all schemas.
    #[must_use]
    pub const fn id(&self) -> SchemaId {
        self.id
    }

    /// The domain; [`domain::ONNX`](crate::domain::ONNX) for the ONNX operators, never its alias.
    #[must_use]
    pub const fn domain(&self) -> Symbol {
        self.domain
    }

    /// The text of the domain; empty for the ONNX operators.
    #[must_use]
    pub const fn domain_name(&self) -> &'static str {
        NAMES[self.domain.index() as usize]
    }

    /// The operator.
    #[must_use]
    pub const fn op(&self) -> Symbol {
        self.op
    }

    /// The text of the operator name.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        NAMES[self.op.index() as usize]
    }

    /// The operator set version from which on the schema holds.
    #[must_use]
    pub const fn since_version(&self) -> i64 {
        self.since as i64
    }

    /// The last operator set version for which the schema holds; `None` when the operator has no newer schema.
    #[must_use]
    pub const fn until_version(&self) -> Option<i64> {
        let next = self.id.index() + 1;
        if next >= SCHEMAS.len() {
            return None;
        }
        let next = &SCHEMAS[next];
        let is_same = next.op.index() == self.op.index() && next.domain.index() == self.domain.index();
        if is_same { Some(next.since as i64 - 1) } else { None }
    }

    /// Whether the operator is deprecated from this version on: models of these versions must not use it.
    #[must_use]
    pub const fn is_deprecated(&self) -> bool {
        self.flags & row::flag::DEPRECATED != 0
    }

    /// Whether the schema may still change.
    #[must_use]
    pub const fn support_level(&self) -> SupportLevel {
        if self.flags & row::flag::EXPERIMENTAL != 0 {
            SupportLevel::Experimental
        } else {
            SupportLevel::Common
        }
    }

    /// Whether equal inputs give equal outputs.
    #[must_use]
    pub const fn determinism(&self) -> Determinism {
        if self.flags & row::flag::DETERMINISTIC != 0 {
            Determinism::Deterministic
        } else if self.flags & row::flag::NON_DETERMINISTIC != 0 {
            Determinism::NonDeterministic
        } else {
            Determinism::Unknown
        }
    }

    /// Whether the reference implementation infers types and shapes for it.
    #[must_use]
    pub const fn has_inference(&self) -> bool {
        self.flags & row::flag::INFERS != 0
    }

    /// Whether the reference implementation propagates values through it.
    #[must_use]
    pub const fn has_data_propagation(&self) -> bool {
        self.flags & row::flag::PROPAGATES != 0
    }

    /// Whether the reference checker accepts attributes that the schema does not declare.
    #[must_use]
    pub const fn allows_unchecked_attributes(&self) -> bool {
        self.flags & row::flag::UNCHECKED_ATTRIBUTES != 0
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
    /// `None` when the operator has no such input.
    #[must_use]
    pub fn input_for(&self, index: usize) -> Option<&'static Formal> {
        formal_for(self.inputs, index)
    }

    /// The formal output that a node's output number `index` belongs to, likewise.
    #[must_use]
    pub fn output_for(&self, index: usize) -> Option<&'static Formal> {
        formal_for(self.outputs, index)
    }

    /// Minimum number of inputs of a node, including optional ones before the last required one.
    #[must_use]
    pub const fn min_inputs(&self) -> usize {
        self.min_inputs as usize
    }

    /// Maximum number of inputs of a node; `None` if it is unlimited.
    #[must_use]
    pub const fn max_inputs(&self) -> Option<usize> {
        if self.max_inputs == u16::MAX { None } else { Some(self.max_inputs as usize) }
    }

    /// Minimum number of outputs of a node.
    #[must_use]
    pub const fn min_outputs(&self) -> usize {
        self.min_outputs as usize
    }

    /// Maximum number of outputs of a node; `None` if it is unlimited.
    #[must_use]
    pub const fn max_outputs(&self) -> Option<usize> {
        if self.max_outputs == u16::MAX { None } else { Some(self.max_outputs as usize) }
    }

    /// The only numbers of inputs a node can have, where not all between the bounds are allowed; empty otherwise.
    #[must_use]
    pub const fn input_counts(&self) -> &'static [u16] {
        self.input_counts
    }

    /// The only numbers of outputs a node can have, where not all between the bounds are allowed; empty otherwise.
    #[must_use]
    pub const fn output_counts(&self) -> &'static [u16] {
        self.output_counts
    }

    /// Whether a node can have `count` inputs.
    #[must_use]
    pub fn allows_inputs(&self, count: usize) -> bool {
        allows(count, self.min_inputs(), self.max_inputs(), self.input_counts)
    }

    /// Whether a node can have `count` outputs.
    #[must_use]
    pub fn allows_outputs(&self, count: usize) -> bool {
        allows(count, self.min_outputs(), self.max_outputs(), self.output_counts)
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
    pub const fn attributes(&self) -> &'static [FormalAttribute] {
        self.attributes
    }

    /// The attribute of the given name, if the operator declares it.
    #[must_use]
    pub const fn attribute(&self, name: Symbol) -> Option<&'static FormalAttribute> {
        let mut at = 0;
        while at < self.attributes.len() {
            if self.attributes[at].name.index() == name.index() {
                return Some(&self.attributes[at]);
            }
            at += 1;
        }
        None
    }

    /// The default of the attribute of the given name, if it has one.
    #[must_use]
    pub fn default_of(&self, name: Symbol) -> Option<AttrDefault> {
        self.attribute(name)?.default
    }

    /// Whether the operator is a function: its meaning is given by a body of other operators, fixed or made for the node.
    #[must_use]
    pub const fn is_function(&self) -> bool {
        !self.bodies.is_empty() || !self.context_bodies.is_empty()
    }

    /// The fixed function bodies: the operator set version each is written for, which can be smaller than
    /// [`since_version`](Self::since_version), and the body as a serialized `FunctionProto`.
    pub fn function_bodies(&self) -> impl ExactSizeIterator<Item = (i64, &'static [u8])> {
        self.bodies.iter().map(|&(version, bytes)| (i64::from(version), bytes))
    }

    /// The fixed function body for the given operator set version: that of the greatest version not above it.
    #[must_use]
    pub fn function_body(&self, opset_version: i64) -> Option<&'static [u8]> {
        self.function_bodies()
            .take_while(|&(version, _)| version <= opset_version)
            .last()
            .map(|(_, body)| body)
    }

    /// The operator set versions for which the reference makes a function body from the node and its input types.
    #[must_use]
    pub const fn context_function_versions(&self) -> &'static [u16] {
        self.context_bodies
    }

    /// All schemas of the same operator, oldest first.
    #[must_use]
    pub const fn versions(&self) -> &'static [Self] {
        lookup::versions(self.domain, self.op)
    }
}

/// The operator and the version, with the domain where it is not that of the ONNX operators: `Relu-14`,
/// `ai.onnx.ml.Binarizer-1`.
impl fmt::Display for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.domain.is_empty() {
            write!(f, "{}.", self.domain_name())?;
        }
        write!(f, "{}-{}", self.name(), self.since)
    }
}

pub(crate) fn formal_for(formals: &'static [Formal], index: usize) -> Option<&'static Formal> {
    formals.get(index).or_else(|| formals.last().filter(|formal| formal.is_variadic()))
}

pub(crate) fn allows(count: usize, min: usize, max: Option<usize>, counts: &[u16]) -> bool {
    count >= min
        && max.is_none_or(|max| count <= max)
        && (counts.is_empty() || counts.iter().any(|&allowed| usize::from(allowed) == count))
}
