//! Content that text and JSON cannot express.

use std::fmt;

/// Something of a message that another form leaves out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loss {
    /// The message or field it belongs to, such as `graph.node[3]`; empty for the whole message.
    pub path: String,
    /// The omitted content.
    pub kind: LossKind,
}

/// The content that another format omits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LossKind {
    /// A field that the schema does not know, or whose wire type is not that of the schema.
    UnknownField {
        /// Its number.
        number: u32,
    },
    /// The sign and payload bits of a NaN: only the default NaN has a name.
    NanBits,
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = if self.path.is_empty() { "the model" } else { &self.path };
        match self.kind {
            LossKind::UnknownField { number } => {
                write!(f, "{path}: field {number}, which the schema does not know")
            }
            LossKind::NanBits => write!(f, "{path}: sign and payload of a NaN"),
        }
    }
}

/// Everything that another form leaves out: the first losses, and how many there are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Losses {
    kept: Vec<Loss>,
    count: u64,
}

impl Losses {
    /// Maximum number of losses that are kept; further ones are counted.
    pub const MOST: usize = 100;

    pub(crate) fn push(&mut self, kind: LossKind, path: impl FnOnce() -> String) {
        self.count = self.count.saturating_add(1);
        if self.kept.len() < Self::MOST {
            self.kept.push(Loss { path: path(), kind });
        }
    }

    /// Number of losses.
    #[must_use]
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// Whether the form contains everything.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The first [`MOST`](Self::MOST) losses, in the order of the fields; unknown fields of a message come first.
    pub fn iter(&self) -> std::slice::Iter<'_, Loss> {
        self.kept.iter()
    }

    /// The first loss.
    #[must_use]
    pub fn first(&self) -> Option<&Loss> {
        self.kept.first()
    }
}

impl<'a> IntoIterator for &'a Losses {
    type Item = &'a Loss;
    type IntoIter = std::slice::Iter<'a, Loss>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}
