//! The rule `unknown-device`: a sharding names a device that the configuration does not have.

use onnx_diag::{Diagnostic, Reference, Rule, Severity};
use std::collections::BTreeSet;

use crate::declared::ShardingCx;

pub(crate) static RULE: Rule = Rule {
    code: 2854,
    slug: "unknown-device",
    severity: Severity::Error,
    summary: "A sharding names a device that the configuration does not have.",
    spec: "IR: Multi-Device Configuration",
    reference: Reference::NotEnforced,
    explain: include_str!("unknown_device.md"),
};

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

#[cfg(test)]
mod tests {
    use onnx_ir::{
        DeviceConfiguration, Extras, LoadedNode, LoadedOutput, NodeDeviceConfiguration, ShardSize,
        ShardedDim, Sharding, SimpleSharding, ValueRef,
    };
    use onnx_types::{FieldMask, Type};

    use crate::testing::{Builder, check_model};

    /// A model that runs `y = Relu (x)` on two devices `d`, and how the node says so.
    struct Spread {
        configuration: &'static str,
        tensor: &'static str,
        devices: [i64; 2],
        axis: i64,
        shards: i64,
    }

    const RIGHT: Spread = Spread { configuration: "d", tensor: "x", devices: [0, 1], axis: 0, shards: 2 };

    fn model(m: &mut Builder, spread: &Spread) {
        m.model.info_mut().ir_version = 11;
        let device = DeviceConfiguration { name: m.model.intern("d"), num_devices: 2, ..Default::default() };
        m.model.info_mut().configurations.push(device);
        m.inputs(["x", "z"]);
        let shape = onnx_types::Shape::known(&[4]);
        m.typed("x", Some(Type::tensor(onnx_types::ElemType::Float, Some(shape))));
        let (mask, unknown) = (FieldMask::NONE, Vec::new);
        let piece =
            SimpleSharding { dim: ShardSize::Known(4), num_shards: spread.shards, mask, unknown: unknown() };
        let dim = ShardedDim { axis: spread.axis, simple: vec![piece], mask, unknown: unknown() };
        let sharding = Sharding {
            tensor: ValueRef::Value(m.value(spread.tensor)),
            devices: spread.devices.into_iter().collect(),
            groups: Vec::new(),
            dims: vec![dim],
            mask,
            unknown: unknown(),
        };
        let configuration = NodeDeviceConfiguration {
            configuration: m.model.intern(spread.configuration),
            shardings: vec![sharding],
            pipeline_stage: None,
            mask,
            unknown: unknown(),
        };
        let extras = Extras { device_configurations: vec![configuration], ..Default::default() };
        let node =
            LoadedNode { op: onnx_schema::op::RELU, extras: Some(Box::new(extras)), ..Default::default() };
        let (graph, x, y) = (m.graph(), m.value("x"), m.model.intern("y"));
        m.model.load_node(graph, node, &[Some(x)], &[LoadedOutput::New(y)]);
    }

    #[test]
    fn unknown_device_is_found() {
        let wrong = Spread { devices: [0, 2], ..RIGHT };
        check_model(
            |m| model(m, &wrong),
            &[("ONNX2854", r#"graph "g" / node #0 Relu / device configuration "d" / value "x""#)],
        );
        check_model(|m| model(m, &RIGHT), &[]);
    }
}
