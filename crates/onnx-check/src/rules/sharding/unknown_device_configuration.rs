//! The rule `unknown-device-configuration`: a node refers to a device configuration that the model does not have.

use onnx_diag::Quoted;
use onnx_diag::{Diagnostic, Rule, Severity};

use crate::declaration_cx::ShardingCx;

pub(crate) static RULE: Rule = Rule::new(
    2850,
    "unknown-device-configuration",
    Severity::Error,
    "A node refers to a device configuration that the model does not have.",
)
.with_spec("IR: Multi-Device Configuration")
.with_explain(include_str!("unknown_device_configuration.md"));

pub(crate) fn check(cx: &mut ShardingCx<'_, '_>) {
    if cx.device.is_some() {
        return;
    }
    let (name, place) = (cx.sharding.configuration, cx.place(None));
    cx.report(&RULE, |places| {
        let message = match places.str(name) {
            "" => "the node does not say which device configuration it means".to_owned(),
            name => format!("the model has no device configuration {}", Quoted(name)),
        };
        Diagnostic::new(&RULE, place(places), message)
            .help("set `configuration_id` to the name of an entry in `configuration` of the model")
            .beyond_reference(true)
    });
}
