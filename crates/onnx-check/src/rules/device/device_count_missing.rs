//! The rule `device-count-missing`: a device configuration does not say how many devices there are.

use onnx_diag::{Diagnostic, Rule, Severity};

use crate::declaration_cx::DeviceCx;

pub(crate) static RULE: Rule = Rule::new(
    2803,
    "device-count-missing",
    Severity::Error,
    "A device configuration does not say how many devices there are.",
)
.with_spec("IR: Multi-Device Configuration")
.with_explain(include_str!("device_count_missing.md"));

pub(crate) fn check(cx: &mut DeviceCx<'_, '_>) {
    let count = cx.configuration.num_devices;
    if count >= 1 {
        return;
    }
    let place = cx.place();
    cx.report(&RULE, |places| {
        let message = match count {
            0 => "the device configuration has no devices".to_owned(),
            count => format!("the device configuration has {count} devices"),
        };
        Diagnostic::new(&RULE, place(places), message)
            .help("set `num_devices` to the number of devices")
            .beyond_reference(true)
    });
}
