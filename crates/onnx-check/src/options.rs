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
    /// Whether functions may import other versions of an operator set than the model does. The reference has a flag of
    /// the same name; the meaning of a function does not depend on it, but readers exist that inline without looking.
    pub skip_opset_compatibility: bool,
    /// Whose rules count.
    pub profile: Profile,
    /// Whether to report, as notes, what a model should say of itself and does not: who made it, what it belongs to, whose
    /// names it uses. Most models leave such things out, so this is off unless asked for.
    pub recommendations: bool,
}

impl Default for CheckOptions {
    fn default() -> Self {
        Self {
            policy: Policy::new(),
            caps: Caps::DEFAULT,
            data: false,
            external: None,
            custom_operators: CustomOperators::default(),
            skip_opset_compatibility: false,
            profile: Profile::default(),
            recommendations: false,
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

/// Whose rules count.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Profile {
    /// The specification: everything is reported.
    #[default]
    Spec,
    /// The reference checker: findings that it would not have are left out.
    Reference,
}
