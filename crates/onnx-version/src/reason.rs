//! Why a node cannot be converted.

use onnx_ir::EditError;

/// The class of a reason, which decides what helps.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Cause {
    /// The type of a value is not known, and the other version allows fewer types.
    TypeUnknown,
    /// The other version does not allow the type of a value.
    TypeNotAllowed,
    /// The rank or a size of a value is not known.
    ShapeUnknown,
    /// A value that becomes an attribute is not constant.
    NotConstant,
    /// A value that becomes an attribute is the default of an input, which callers can override.
    Overridable,
    /// The other version does not have the operator, and nothing else computes the same.
    NoForm,
    /// The node uses something that the other version does not have or defines in another way.
    Meaning,
    /// An attribute refers to an attribute of the function around the node.
    Reference,
    /// The node is not valid in the version from which it would be converted.
    Invalid,
}

impl Cause {
    /// What a user can do.
    #[must_use]
    pub const fn help(self) -> &'static str {
        match self {
            Self::TypeUnknown => "declare the type of the value, or of the inputs that it is computed from",
            Self::TypeNotAllowed => "insert a `Cast` to a type that the version allows",
            Self::ShapeUnknown => {
                "declare the shape of the value, or fix dimensions of the inputs that it depends on"
            }
            Self::NotConstant => "make the operand a constant: `onnx simplify` folds what is constant",
            Self::Overridable => "remove the value from the inputs of the graph, so that it is a constant",
            Self::NoForm => "choose a version that has the operator, or compute it with other operators",
            Self::Meaning => "choose another version, or change the node so that it does not use this",
            Self::Reference => "inline the function first, with `onnx inline`",
            Self::Invalid => {
                "if the import is wrong, `onnx check --fix` finds the version for which the nodes were written, and \
                 `onnx edit --import [DOMAIN=]N` imports another one; otherwise correct the node"
            }
        }
    }
}

/// The reason why a node cannot be converted: a clause.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{text}")]
pub struct VersionReason {
    cause: Cause,
    text: String,
    help: Option<&'static str>,
}

impl VersionReason {
    /// A reason, as a clause.
    pub fn new(cause: Cause, text: impl Into<String>) -> Self {
        Self { cause, text: text.into(), help: None }
    }

    /// The same with other help than that of the class.
    pub(crate) fn with_help(self, help: &'static str) -> Self {
        Self { help: Some(help), ..self }
    }

    /// What a user can do.
    #[must_use]
    pub const fn help(&self) -> &'static str {
        match self.help {
            Some(help) => help,
            None => self.cause.help(),
        }
    }

    /// The class of the reason.
    #[must_use]
    pub const fn cause(&self) -> Cause {
        self.cause
    }
}

impl From<&str> for VersionReason {
    fn from(text: &str) -> Self {
        Self::new(Cause::Meaning, text)
    }
}

impl From<String> for VersionReason {
    fn from(text: String) -> Self {
        Self::new(Cause::Meaning, text)
    }
}

impl From<EditError> for VersionReason {
    fn from(error: EditError) -> Self {
        Self::new(Cause::Meaning, error.to_string())
    }
}
