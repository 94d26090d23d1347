//! The rule `device-configuration-name-missing`: a device configuration has no name.

use onnx_diag::{Diagnostic, Rule, Severity};

use crate::declaration_cx::DeviceCx;

pub(crate) static RULE: Rule = Rule::new(
    2801,
    "device-configuration-name-missing",
    Severity::Error,
    "A device configuration has no name.",
)
.with_spec("IR: Multi-Device Configuration")
.with_explain(include_str!("device_configuration_name_missing.md"));

pub(crate) fn check(cx: &mut DeviceCx<'_, '_>) {
    if cx.configuration.name.is_empty() {
        let place = cx.place();
        cx.report(&RULE, |places| {
            Diagnostic::new(&RULE, place(places), "the device configuration has no name")
                .help("give it the name by which nodes refer to it")
                .beyond_reference(true)
        });
    }
}
