//! Rules about the model's own properties.

mod ir_version_missing;
mod ir_version_unknown;
mod model_domain_missing;
pub(crate) mod model_too_large;
mod negative_model_version;
mod opset_import_missing;
mod opset_import_too_early;
mod producer_missing;
mod too_many_functions;

use super::{Entry, entry};
use crate::cx::Cx;

/// The function of a rule of this unit.
pub(crate) type Check = fn(&mut Cx<'_>);

/// The rules of this unit, in alphabetical order.
pub(crate) static ENTRIES: &[Entry<Check>] = &[
    entry(&ir_version_missing::RULE, ir_version_missing::check),
    entry(&ir_version_unknown::RULE, ir_version_unknown::check),
    entry(&model_domain_missing::RULE, model_domain_missing::check),
    entry(&model_too_large::RULE, model_too_large::check),
    entry(&negative_model_version::RULE, negative_model_version::check),
    entry(&opset_import_missing::RULE, opset_import_missing::check),
    entry(&opset_import_too_early::RULE, opset_import_too_early::check),
    entry(&producer_missing::RULE, producer_missing::check),
    entry(&too_many_functions::RULE, too_many_functions::check),
];
