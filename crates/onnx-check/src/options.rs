//! What to check, and how to report it.

use onnx_diag::{Caps, Policy};

use crate::external::ExternalFiles;

/// What to check, and how to report it. The default is what the reference checker looks at, and more.
///
/// ```
/// use onnx_check::{CheckOptions, CustomOperators};
///
/// let options = CheckOptions { custom_operators: CustomOperators::Refuse, ..CheckOptions::default() };
/// assert!(!options.data);
/// ```
#[derive(Clone, Debug)]
pub struct CheckOptions {
    /// Severities that the user changed.
    pub policy: Policy,
    /// How many findings are kept; the rest is counted.
    pub caps: Caps,
    /// Whether to look at the elements of tensors: those in memory, and those in [`external`](Self::external) files where
    /// these are given. It takes time in proportion to their bytes; everything else about a tensor is checked without.
    pub data: bool,
    /// The files of external data. Without them, only what the model says of them is checked.
    pub external: Option<ExternalFiles>,
    /// What to make of operators of domains that ONNX does not define.
    pub custom_operators: CustomOperators,
}

impl Default for CheckOptions {
    fn default() -> Self {
        Self {
            policy: Policy::new(),
            caps: Caps::DEFAULT,
            data: false,
            external: None,
            custom_operators: CustomOperators::default(),
        }
    }
}

/// What to make of operators of domains that ONNX does not define, unless the model defines them as functions.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum CustomOperators {
    /// They are taken as they are: nothing is known about them.
    #[default]
    Accept,
    /// They are unknown operators.
    Refuse,
}
