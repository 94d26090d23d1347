//! `TreeEnsembleClassifier`, `TreeEnsembleRegressor`: numbers are attributes of type `float`, since version 3 also tensors.

use crate::reason::VersionReason;
use crate::step::Step;

/// Downwards: numbers are not tensors.
pub(crate) fn without_tensors(step: &mut Step<'_>) -> Result<(), VersionReason> {
    for formal in step.old.attributes() {
        if step.new.attribute(formal.name).is_none() && step.has(formal.name) {
            return Err(format!("`{}` is a tensor", formal.text()).into());
        }
    }
    Ok(())
}
