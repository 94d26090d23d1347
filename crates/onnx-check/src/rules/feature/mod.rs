//! Rules about what came to the format later than the version that the model names.

pub(super) mod annotation_newer_than_ir_version;
pub(crate) mod feature_newer_than_ir_version;

use super::{Entry, entry};
use crate::declaration_cx::FeatureCx;

/// The function of a rule of this unit.
pub(crate) type Check = fn(&mut FeatureCx<'_, '_>);

/// The rules of this unit, in alphabetical order.
pub(crate) static ENTRIES: &[Entry<Check>] = &[
    entry(&annotation_newer_than_ir_version::RULE, annotation_newer_than_ir_version::check),
    entry(&feature_newer_than_ir_version::RULE, feature_newer_than_ir_version::check),
];
