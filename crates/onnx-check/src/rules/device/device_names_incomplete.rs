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

#[cfg(test)]
mod tests {
    use onnx_ir::DeviceConfiguration;

    use crate::testing::{Builder, check_model};

    fn device(m: &mut Builder, name: &str, num_devices: i32, devices: &[&str]) {
        m.model.info_mut().ir_version = 11;
        let name = m.model.intern(name);
        let devices = devices.iter().map(|device| m.model.intern(device)).collect();
        let device = DeviceConfiguration::new(name, num_devices, devices);
        m.model.info_mut().configurations.push(device);
    }

    #[test]
    fn all_devices_are_named_or_none() {
        check_model(|m| device(m, "d", 2, &["a"]), &[("ONNX2804", r#"device configuration "d""#)]);
        check_model(|m| device(m, "d", 2, &["a", "b"]), &[]);
        check_model(|m| device(m, "d", 2, &[]), &[]);
    }
}
