//! Rules about operator set documents.

mod operator_function_of_other_domain;
mod operator_listed_twice;
mod operator_set_domain_not_reverse_dns;
mod operator_set_ir_version_unknown;
mod operator_set_magic_wrong;
mod operator_set_version_out_of_range;
mod operator_status_undefined;
mod operator_version_out_of_range;
mod operator_without_name;

use onnx_diag::Locus;

use super::{Entry, entry};
use crate::operator_set::OperatorSetCx;

/// The function of a rule of this unit.
pub(crate) type Check = fn(&mut OperatorSetCx<'_, '_>);

/// The rules of this unit, in alphabetical order.
pub(crate) static ENTRIES: &[Entry<Check>] = &[
    entry(&operator_function_of_other_domain::RULE, operator_function_of_other_domain::check),
    entry(&operator_listed_twice::RULE, operator_listed_twice::check),
    entry(&operator_set_domain_not_reverse_dns::RULE, operator_set_domain_not_reverse_dns::check),
    entry(&operator_set_ir_version_unknown::RULE, operator_set_ir_version_unknown::check),
    entry(&operator_set_magic_wrong::RULE, operator_set_magic_wrong::check),
    entry(&operator_set_version_out_of_range::RULE, operator_set_version_out_of_range::check),
    entry(&operator_status_undefined::RULE, operator_status_undefined::check),
    entry(&operator_version_out_of_range::RULE, operator_version_out_of_range::check),
    entry(&operator_without_name::RULE, operator_without_name::check),
];

/// The place of an entry of a document.
fn entry_place(index: usize) -> Locus {
    Locus::model().field("operator").element(index)
}
