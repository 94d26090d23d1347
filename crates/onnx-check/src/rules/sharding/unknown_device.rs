//! The rule `unknown-device`: a sharding names a device that the configuration does not have.

use onnx_diag::{Diagnostic, Rule, Severity};
use std::collections::BTreeSet;

use crate::declaration_cx::ShardingCx;

pub(crate) static RULE: Rule = Rule::new(
    2854,
    "unknown-device",
    Severity::Error,
    "A sharding names a device that the configuration does not have.",
)
.with_spec("IR: Multi-Device Configuration")
.with_explain(include_str!("unknown_device.md"));

pub(crate) fn check(cx: &mut ShardingCx<'_, '_>) {
    let Some(count) = cx.device.map(|device| i64::from(device.num_devices)).filter(|&count| count > 0) else {
        return;
    };
    for entry in &cx.sharding.shardings {
        let groups: BTreeSet<i64> = entry.groups.iter().map(|group| group.key).collect();
        // A number that is the key of a group stands for the devices in that.
        let single = entry.devices.iter().filter(|device| !groups.contains(device));
        let members = entry.groups.iter().flat_map(|group| &group.members);
        for &device in single.chain(members).filter(|device| !(0..count).contains(device)) {
            let place = cx.place(Some(entry.tensor));
            cx.report(&RULE, |places| {
                let message = format!("there is no device {device} among {count}");
                Diagnostic::new(&RULE, place(places), message)
                    .help("devices are numbered from 0; use one of them, or the key of a group")
                    .beyond_reference(true)
            });
        }
    }
}
