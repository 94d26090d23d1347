//! The rule `device-configuration-repeated`: two device configurations have the same name.

use onnx_diag::Quoted;
use onnx_diag::{Diagnostic, Rule, Severity};

use crate::declaration_cx::DeviceCx;

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
