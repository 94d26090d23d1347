//! Rules for operators outside the standard that are widely met, written against what every user of this crate has.
//!
//! [`registry`] has those of domain `com.microsoft` that onnxruntime's optimizers and quantizers put into models. Operators
//! of its inner layouts (`com.microsoft.nchwc`) are not among them: nobody documents them.

mod fused;
mod quantized;
mod transformer;

use crate::cx::{Cx, Outcome};
use crate::registry::InferRegistry;

/// The domain of the operators that onnxruntime adds.
const MICROSOFT: &str = "com.microsoft";

/// The rules of the standard operators, with those of this module.
///
/// ```
/// use onnx_shape_infer::{Options, contrib};
///
/// let registry = contrib::registry();
/// let options = Options::default().with_registry(&registry);
/// # let _ = options;
/// ```
#[must_use]
pub fn registry() -> InferRegistry {
    InferRegistry::new().with_microsoft()
}

impl InferRegistry {
    /// Adds the rules for operators of domain `com.microsoft`.
    #[must_use]
    pub fn with_microsoft(mut self) -> Self {
        for rules in [fused::RULES, quantized::RULES, transformer::RULES] {
            for &(op, rule) in rules {
                self = self.with(MICROSOFT, op, rule);
            }
        }
        self
    }
}

/// A rule and the operator that it is for.
type Rule = (&'static str, fn(&mut Cx<'_, '_>) -> Outcome);

/// The first output is a tensor like the first input.
fn like_first(cx: &mut Cx<'_, '_>) -> Outcome {
    cx.copy_ty(0, 0);
    Ok(())
}

/// An integer attribute by its name.
fn int(cx: &mut Cx<'_, '_>, name: &str, otherwise: i64) -> Outcome<i64> {
    match cx.names().get(name) {
        Some(name) => cx.int_or(name, otherwise),
        None => Ok(otherwise),
    }
}
