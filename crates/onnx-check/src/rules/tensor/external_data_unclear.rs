//! The rule `external-data-unclear`: the entries that locate the elements of a tensor are missing, repeated or not
//! numbers.

use onnx_diag::{Diagnostic, Reference, Rule, Severity};
use onnx_types::tensor::{ExternalFault, TensorFault};

use crate::cx::TensorCx;

pub(crate) static RULE: Rule = Rule::new(
    2505,
    "external-data-unclear",
    Severity::Error,
    "The entries that locate the elements of a tensor are missing, repeated or not numbers.",
)
.with_spec("IR: External Tensor Data")
.with_reference(Reference::Partly)
.with_explain(include_str!("external_data_unclear.md"));

pub(crate) fn check(cx: &mut TensorCx<'_, '_>) {
    let place = cx.place;
    for fault in cx.faults {
        let TensorFault::External(fault) = fault else { continue };
        cx.report(&RULE, |places| {
            let help = match fault {
                ExternalFault::NoLocation => "set `location` to the path of the file, relative to the model",
                ExternalFault::Duplicate { .. } => "keep one of them; readers disagree on which one counts",
                _ => "write it as a decimal number of bytes",
            };
            Diagnostic::new(&RULE, place.locate(places).field("external_data"), fault.to_string())
                .help(help)
                .beyond_reference(!matches!(fault, ExternalFault::NoLocation))
        });
    }
}
