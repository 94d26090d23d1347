//! Rules as they are written, with all expressions flattened into nodes with one operator each.

use onnx_ir::AttrValue;
use onnx_pass::Exactness;

/// The number of a variable of a rule: a value, an attribute, or the result of a nested call.
pub(crate) type Var = usize;

/// A rewrite rule: two functions with one signature, what is computed at rewrite time, and conditions.
#[derive(Clone, Debug)]
pub struct Rule {
    pub(crate) name: String,
    /// The comment before the rule, without `#`.
    pub(crate) page: String,
    /// The rule as it is written, without the comment before it.
    pub(crate) text: String,
    pub(crate) class: Exactness,
    /// The least version of the operator set of the default domain.
    pub(crate) since: i64,
    /// The names of the variables; empty for the result of a nested call.
    pub(crate) names: Vec<String>,
    /// The byte at which each variable is defined.
    pub(crate) places: Vec<usize>,
    pub(crate) from: Side,
    pub(crate) lets: Vec<FlatNode>,
    pub(crate) conditions: Vec<(usize, Condition)>,
    pub(crate) to: Side,
    /// The byte at which the rule begins.
    pub(crate) at: usize,
}

impl Side {
    /// Returns `true` if a node is part of an alternative for which `is_taken` is `false`.
    pub(crate) fn is_left_out(&self, node: usize, is_taken: impl Fn(usize) -> bool) -> bool {
        // An alternative comes after the calls that are nested in it.
        let mut at = node;
        while let Some(owner) = self.nodes.get(at).and_then(|node| node.within).filter(|&owner| owner > at) {
            if !is_taken(owner) {
                return true;
            }
            at = owner;
        }
        false
    }
}

impl Rule {
    /// The name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The comment before the rule: Markdown, without the `#` of the comment.
    #[must_use]
    pub fn page(&self) -> &str {
        &self.page
    }

    /// The rule as it is written, without the comment before it.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The class of its edits.
    #[must_use]
    pub const fn class(&self) -> Exactness {
        self.class
    }

    /// A size as it is written in a condition.
    pub(crate) fn size_text(&self, size: Size) -> String {
        match size {
            Size::Number(number) => number.to_string(),
            Size::Rank(var) => format!("rank({})", self.variable(var)),
            Size::Dim(var, axis) => format!("dim({}, {axis})", self.variable(var)),
        }
    }

    /// The byte at which a variable is defined.
    pub(crate) fn place(&self, var: Var) -> usize {
        self.places.get(var).copied().unwrap_or(self.at)
    }

    /// The name of a variable in a message.
    pub(crate) fn variable(&self, var: Var) -> &str {
        self.names.get(var).map_or("", |name| if name.is_empty() { "a nested call" } else { name })
    }
}

/// Number of operands that a variable matches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Arity {
    One,
    /// `b?`: the operand may be omitted.
    Optional,
    /// `xs*`: any number of operands.
    Rest,
}

/// A function of a rule.
#[derive(Clone, Debug, Default)]
pub(crate) struct Side {
    pub(crate) inputs: Vec<(Var, Arity)>,
    pub(crate) outputs: Vec<Var>,
    /// The bytes of the names of the results.
    pub(crate) output_places: Vec<usize>,
    /// Operands before their users.
    pub(crate) nodes: Vec<FlatNode>,
}

/// A node. Alternatives are nodes with the same result.
#[derive(Clone, Debug)]
pub(crate) struct FlatNode {
    pub(crate) domain: String,
    pub(crate) op: String,
    pub(crate) attributes: Vec<(String, AttributeTerm)>,
    /// The byte of the name of each attribute.
    pub(crate) attribute_places: Vec<usize>,
    /// `...`: other attributes may have any value; on the right side they are copied.
    pub(crate) is_open: bool,
    pub(crate) operands: Vec<Operand>,
    pub(crate) outputs: Vec<Option<Var>>,
    /// The alternative of which this nested call is an operand, possibly through others: the index of its node.
    pub(crate) within: Option<usize>,
    /// The offset of the operator in bytes.
    pub(crate) at: usize,
}

impl FlatNode {
    /// The attributes, each with the byte of its name.
    pub(crate) fn placed_attributes(&self) -> impl Iterator<Item = (&str, &AttributeTerm, usize)> {
        let places = self.attribute_places.iter().copied().chain(std::iter::repeat(self.at));
        self.attributes.iter().zip(places).map(|((name, term), at)| (name.as_str(), term, at))
    }
}

/// The value of an attribute.
#[derive(Clone, Debug)]
pub(crate) enum AttributeTerm {
    Value(AttrValue),
    Var(Var),
}

/// An operand of a node.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Operand {
    Omitted,
    Var(Var),
    /// `xs*`.
    Rest(Var),
    /// `b : 0.0`: what stands for an omitted operand.
    Default(Var, Literal),
    Literal(Literal),
}

/// A number, or a list of numbers.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Literal {
    pub(crate) numbers: Vec<f64>,
    pub(crate) is_list: bool,
    /// The numbers, if all are written as integers: a float does not have all of 64 bits.
    pub(crate) integers: Option<Vec<i64>>,
}

/// A set of element types.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Elems {
    Class(Class),
    List(Vec<onnx_types::ElemType>),
    Of(Var),
}

/// A class of element types.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Class {
    Floats,
    Integers,
    Signed,
    Unsigned,
    Numbers,
}

/// A size of a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Size {
    Number(i64),
    Rank(Var),
    Dim(Var, i64),
}

/// A condition of a rule.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Condition {
    /// A result of `let` is true in all elements.
    Holds(Var),
    Elem(Var, Elems),
    Constant(Var),
    NotConstant(Var),
    /// The value has one use.
    OneUse(Var),
    /// A value inside the pattern may have other uses.
    Shared(Var),
    Equal(Size, Size),
    AtMost(Size, Size),
    SameShape(Var, Var),
    /// The caller grants a condition on numbers at run time.
    Granted(onnx_pass::Condition),
}

impl Size {
    fn names(self, var: Var) -> bool {
        matches!(self, Self::Rank(other) | Self::Dim(other, _) if other == var)
    }
}

impl Condition {
    /// Returns `true` if a variable occurs in the condition.
    pub(crate) fn names(&self, var: Var) -> bool {
        match self {
            Self::Holds(other)
            | Self::Constant(other)
            | Self::NotConstant(other)
            | Self::OneUse(other)
            | Self::Shared(other) => *other == var,
            Self::Elem(other, elems) => *other == var || *elems == Elems::Of(var),
            Self::Equal(a, b) | Self::AtMost(a, b) => a.names(var) || b.names(var),
            Self::SameShape(a, b) => *a == var || *b == var,
            Self::Granted(_) => false,
        }
    }
}
