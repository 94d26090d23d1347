//! Which part of an entity an edit changed.

use std::fmt;
use std::ops::{BitOr, BitOrAssign};

/// A set of aspects of a node, value, graph, function or of the model.
///
/// Each field of an entity belongs to one aspect. Code that caches results about a model only checks the aspects that
/// the results depend on: a name or metadata, for instance, has no influence on an inferred shape.
///
/// | aspect | node | value | graph | function | model |
/// |---|---|---|---|---|---|
/// | [`OPERATOR`](Self::OPERATOR) | operator, domain, overload, attributes with nested graphs | | | | |
/// | [`OPERANDS`](Self::OPERANDS) | inputs | | | | |
/// | [`OUTPUTS`](Self::OUTPUTS) | outputs | | | | |
/// | [`POSITION`](Self::POSITION) | graph, place among its nodes | | owner | | |
/// | [`DEFINITION`](Self::DEFINITION) | | what defines it | | | |
/// | [`CONSTANT`](Self::CONSTANT) | | initializer or default | | | |
/// | [`TYPE`](Self::TYPE) | | declared type | `value_info`, declarations of outputs | | |
/// | [`INTERFACE`](Self::INTERFACE) | | | inputs, outputs | attributes, defaults | training |
/// | [`VERSIONS`](Self::VERSIONS) | | | scope | versions in scope | versions in scope |
/// | [`REMOVALS`](Self::REMOVALS) | | | nodes that left it | | |
/// | [`NAME`](Self::NAME) | name, metadata | name, metadata | name, metadata, annotations | metadata | everything else |
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Aspects(u16);

impl Aspects {
    /// Nothing.
    pub const NONE: Self = Self(0);
    /// The operator that a node calls, and its attributes with their nested graphs. Edits inside a nested graph are recorded
    /// for the entities there.
    pub const OPERATOR: Self = Self(1);
    /// The inputs of a node.
    pub const OPERANDS: Self = Self(1 << 1);
    /// The outputs of a node.
    pub const OUTPUTS: Self = Self(1 << 2);
    /// The graph of a node and its place among the nodes there, or the owner of a graph. Nodes that other nodes are moved
    /// past keep their position.
    pub const POSITION: Self = Self(1 << 3);
    /// What defines a value: a node, an input of a graph, an initializer, or nothing. The index among the outputs or inputs
    /// belongs to the node and to the interface of the graph.
    pub const DEFINITION: Self = Self(1 << 4);
    /// The initializer of a value.
    pub const CONSTANT: Self = Self(1 << 5);
    /// The declared type of a value, or what a graph declares in `value_info` and at its outputs.
    pub const TYPE: Self = Self(1 << 6);
    /// The inputs and outputs of a graph, the attributes of a function, or the training steps of a model.
    pub const INTERFACE: Self = Self(1 << 7);
    /// The operator set versions of the model or of a function, or the scope of a graph. The meaning of all nodes in the
    /// scope may have changed; these nodes are not listed.
    pub const VERSIONS: Self = Self(1 << 8);
    /// Names, documentation, metadata, annotations, unknown fields and details of the encoding.
    pub const NAME: Self = Self(1 << 9);

    /// Nodes left a graph: they were erased or moved to another one. The nodes that are in the graph now are listed
    /// themselves if they are new there.
    pub const REMOVALS: Self = Self(1 << 10);

    /// The entity is new.
    pub(crate) const CREATED: Self = Self(1 << 14);
    /// The entity is gone.
    pub(crate) const ERASED: Self = Self(1 << 15);

    const NAMES: [(Self, &'static str); 13] = [
        (Self::OPERATOR, "operator"),
        (Self::OPERANDS, "operands"),
        (Self::OUTPUTS, "outputs"),
        (Self::POSITION, "position"),
        (Self::DEFINITION, "definition"),
        (Self::CONSTANT, "constant"),
        (Self::TYPE, "type"),
        (Self::INTERFACE, "interface"),
        (Self::VERSIONS, "versions"),
        (Self::NAME, "name"),
        (Self::REMOVALS, "removals"),
        (Self::CREATED, "created"),
        (Self::ERASED, "erased"),
    ];

    /// Returns `true` if all of `other` is in the set.
    #[must_use]
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Returns `true` if any of `other` is in the set.
    #[must_use]
    pub const fn intersects(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Returns `true` if the set is empty.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The set without the members of `other`.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// The union, for constants.
    pub(crate) const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// `self` if the condition holds, otherwise nothing.
    pub(crate) const fn when(self, condition: bool) -> Self {
        if condition { self } else { Self::NONE }
    }
}

impl BitOr for Aspects {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitOrAssign for Aspects {
    fn bitor_assign(&mut self, other: Self) {
        self.0 |= other.0;
    }
}

impl fmt::Debug for Aspects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut names = Self::NAMES.iter().filter(|&&(aspect, _)| self.contains(aspect));
        f.write_str(names.next().map_or("nothing", |&(_, name)| name))?;
        names.try_for_each(|&(_, name)| write!(f, "+{name}"))
    }
}
