//! Signatures of operators: formal inputs and outputs, and the types their variables stand for.

use crate::typeset::{TypeId, TypeSet};

/// Number of values that correspond to a formal input or output.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum FormalOption {
    /// Exactly one.
    Single,
    /// One or none: the name may be empty, and at the end it may be left out.
    Optional,
    /// Any number from [`Formal::min_arity`] on. Only the last formal can be variadic.
    Variadic,
}

/// Information of the schema about gradients with respect to an input or of an output.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Differentiation {
    /// Nothing.
    Unknown,
    /// A gradient exists.
    Differentiable,
    /// No gradient exists.
    NonDifferentiable,
}

/// The type of a formal input or output.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum FormalType {
    /// A type variable: the position of its constraint in [`Schema::constraints`](crate::Schema::constraints).
    Variable(u8),
    /// This type and no other.
    Concrete(TypeId),
}

/// A formal input or output of an operator.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Formal {
    /// Its name in the specification. Nodes refer to inputs and outputs by position; the name serves messages.
    pub name: &'static str,
    /// Its type.
    pub ty: FormalType,
    /// The number of values that correspond to it.
    pub option: FormalOption,
    /// Minimum number of values of a variadic formal: 0 or 1. It is 1 for the others.
    pub min_arity: u8,
    /// Whether all values of a variadic formal must have the same type. It is true for the others.
    pub is_homogeneous: bool,
    /// Information of the schema about gradients.
    pub differentiation: Differentiation,
}

impl Formal {
    /// Whether a node may leave it out by an empty name.
    #[must_use]
    pub const fn is_optional(&self) -> bool {
        matches!(self.option, FormalOption::Optional)
    }

    /// Returns `true` if any number of values correspond to it.
    #[must_use]
    pub const fn is_variadic(&self) -> bool {
        matches!(self.option, FormalOption::Variadic)
    }

    pub(crate) const fn with_min_arity(mut self, count: u8) -> Self {
        self.min_arity = count;
        self
    }

    pub(crate) const fn heterogeneous(mut self) -> Self {
        self.is_homogeneous = false;
        self
    }
}

/// The types that a type variable may stand for (specification, "Type constraints").
///
/// All values of a node whose formals name the same variable have the same type, except the values of a heterogeneous
/// variadic formal, of which each may have any type of the set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct TypeConstraint {
    /// The name of the variable, such as `T`.
    pub variable: &'static str,
    /// The types it may stand for.
    pub types: TypeSet,
}

pub(crate) const fn formal(
    name: &'static str,
    ty: FormalType,
    option: FormalOption,
    differentiation: Differentiation,
) -> Formal {
    Formal { name, ty, option, min_arity: 1, is_homogeneous: true, differentiation }
}

pub(crate) const fn var(constraint: u8) -> FormalType {
    FormalType::Variable(constraint)
}

pub(crate) const fn concrete(id: u8) -> FormalType {
    FormalType::Concrete(TypeId::from_raw(id))
}
