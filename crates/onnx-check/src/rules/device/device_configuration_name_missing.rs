//! The rule `device-configuration-name-missing`: a device configuration has no name.

use onnx_diag::{Diagnostic, Rule, Severity};

use crate::declared::DeviceCx;

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

#[cfg(test)]
mod tests {
    use onnx_ir::DeviceConfiguration;

    use crate::testing::{Builder, check_model};

    fn device(m: &mut Builder, name: &str, num_devices: i32, devices: &[&str]) {
        m.model.info_mut().ir_version = 11;
        let name = m.model.intern(name);
        let devices = devices.iter().map(|device| m.model.intern(device)).collect();
        let device = DeviceConfiguration { name, num_devices, devices, ..Default::default() };
        m.model.info_mut().configurations.push(device);
    }

    #[test]
    fn configurations_have_names() {
        let place = r#"device configuration "" / element 0"#;
        check_model(|m| device(m, "", 2, &[]), &[("ONNX2801", place)]);
        check_model(|m| device(m, "d", 2, &[]), &[]);
    }
}
