//! The rule `unknown-device-configuration`: a node refers to a device configuration that the model does not have.

use onnx_diag::Quoted;
use onnx_diag::{Diagnostic, Reference, Rule, Severity};

use crate::declared::ShardingCx;

pub(crate) static RULE: Rule = Rule {
    code: 2850,
    slug: "unknown-device-configuration",
    severity: Severity::Error,
    summary: "A node refers to a device configuration that the model does not have.",
    spec: "IR: Multi-Device Configuration",
    reference: Reference::NotEnforced,
    explain: include_str!("unknown_device_configuration.md"),
};

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
    fn unknown_device_configuration_is_found() {
        let wrong = Spread { configuration: "e", ..RIGHT };
        check_model(
            |m| model(m, &wrong),
            &[("ONNX2850", r#"graph "g" / node #0 Relu / device configuration "e""#)],
        );
        check_model(|m| model(m, &RIGHT), &[]);
    }
}
