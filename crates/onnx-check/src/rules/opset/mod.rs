//! Rules about the opset imports of the model and of its functions.

mod opset_domain_not_reverse_dns;
pub(super) mod opset_imported_twice;
mod opset_version_out_of_range;
mod opset_version_unknown;

use super::{Entry, entry};
use crate::declaration_cx::OpsetCx;

/// The function of a rule of this unit.
pub(crate) type Check = fn(&mut OpsetCx<'_, '_>);

/// The rules of this unit, in alphabetical order.
pub(crate) static ENTRIES: &[Entry<Check>] = &[
    entry(&opset_domain_not_reverse_dns::RULE, opset_domain_not_reverse_dns::check),
    entry(&opset_imported_twice::RULE, opset_imported_twice::check),
    entry(&opset_version_out_of_range::RULE, opset_version_out_of_range::check),
    entry(&opset_version_unknown::RULE, opset_version_unknown::check),
];
