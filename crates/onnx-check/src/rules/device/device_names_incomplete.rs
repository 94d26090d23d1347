//! The rule `device-names-incomplete`: a device configuration names more or fewer devices than it has.

use onnx_diag::{Diagnostic, Rule, Severity};

use crate::declaration_cx::DeviceCx;

pub(crate) static RULE: Rule = Rule::new(
    2804,
    "device-names-incomplete",
    Severity::Error,
    "A device configuration names more or fewer devices than it has.",
)
.with_spec("IR: Multi-Device Configuration")
.with_explain(include_str!("device_names_incomplete.md"));

pub(crate) fn check(cx: &mut DeviceCx<'_, '_>) {
    let (named, count) = (cx.configuration.devices.len(), cx.configuration.num_devices);
    // Names may be omitted; another rule reports that there are no devices.
    if named == 0 || count < 1 || usize::try_from(count) == Ok(named) {
        return;
    }
    let place = cx.place();
    cx.report(&RULE, |places| {
        let message = format!("the device configuration has {count} devices and names {named}");
        Diagnostic::new(&RULE, place(places), message)
            .help("name each device once, or none")
            .beyond_reference(true)
    });
}
