//! Attributes and inputs that exclude each other, and attributes that are lists of one length.
//!
//! Not here: inputs that exclude each other, as an empty tensor can stand for an omitted one (`Resize`), and what an operator
//! merely ignores (`pads` next to `output_shape`).

use onnx_types::Symbol;

use crate::generated::names::attr;

/// The attributes of `Constant`, each of which gives its value.
pub const CONSTANT_VALUES: &[Symbol] = &[
    attr::VALUE,
    attr::SPARSE_VALUE,
    attr::VALUE_FLOAT,
    attr::VALUE_FLOATS,
    attr::VALUE_INT,
    attr::VALUE_INTS,
    attr::VALUE_STRING,
    attr::VALUE_STRINGS,
];

/// A part of a node that can be given or left out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ExclusivePart {
    /// An attribute.
    Attribute(Symbol),
    /// A string attribute with another value than these.
    AttributeOtherThan(Symbol, &'static [&'static str]),
    /// The input at an index.
    Input(usize),
}

impl ExclusivePart {
    /// The attribute; `None` for an input.
    #[must_use]
    pub const fn attribute(self) -> Option<Symbol> {
        match self {
            Self::Attribute(name) | Self::AttributeOtherThan(name, _) => Some(name),
            Self::Input(_) => None,
        }
    }
}

/// Parts of which a node has at most one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Exclusion {
    /// The parts.
    pub parts: &'static [ExclusivePart],
    /// Whether the node needs one of them.
    pub is_needed: bool,
    /// Where the operator's documentation has the sentence: `doc`, or the attribute or input that it describes.
    pub sentence: &'static str,
}

/// The node needs one of the parts; the operator's documentation says so in this sentence.
pub(super) const fn needed(parts: &'static [ExclusivePart], sentence: &'static str) -> Exclusion {
    Exclusion { parts, is_needed: true, sentence }
}

/// The node can have one of the parts.
pub(super) const fn allowed(parts: &'static [ExclusivePart], sentence: &'static str) -> Exclusion {
    Exclusion { parts, is_needed: false, sentence }
}

/// Padding that is given and padding that is computed.
pub(super) const PADDING: &[Exclusion] = &[allowed(
    &[
        ExclusivePart::Attribute(attr::PADS),
        ExclusivePart::AttributeOtherThan(attr::AUTO_PAD, &["", "NOTSET"]),
    ],
    "attribute pads",
)];
