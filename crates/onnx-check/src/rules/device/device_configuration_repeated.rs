//! The rule `device-configuration-repeated`: two device configurations have the same name.

use onnx_diag::Quoted;
use onnx_diag::{Diagnostic, Rule, Severity};

use crate::declared::DeviceCx;

pub(crate) static RULE: Rule = Rule::new(
    2802,
    "device-configuration-repeated",
    Severity::Error,
    "Two device configurations have the same name.",
)
.with_spec("IR: Multi-Device Configuration")
.with_explain(include_str!("device_configuration_repeated.md"));

pub(crate) fn check(cx: &mut DeviceCx<'_, '_>) {
    let name = cx.configuration.name;
    let first = cx.devices.get(&name).map_or(cx.index, |&(first, _)| first);
    if name.is_empty() || first == cx.index {
        return;
    }
    let place = cx.place();
    cx.report(&RULE, |places| {
        let message = format!("there are two device configurations {}", Quoted(places.str(name)));
        Diagnostic::new(&RULE, place(places), message)
            .help("rename one of them, and the references of the nodes that mean it")
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
        let device = DeviceConfiguration { name, num_devices, devices, ..Default::default() };
        m.model.info_mut().configurations.push(device);
    }

    #[test]
    fn configurations_are_told_apart() {
        let two = |m: &mut Builder, second| {
            device(m, "d", 2, &[]);
            device(m, second, 2, &[]);
        };
        check_model(|m| two(m, "d"), &[("ONNX2802", r#"device configuration "d""#)]);
        check_model(|m| two(m, "e"), &[]);
    }
}
