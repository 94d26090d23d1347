//! The rule `shard-count-missing`: a sharding does not say into how many shards an axis is split.

use onnx_diag::{Diagnostic, Reference, Rule, Severity};

use crate::declared::ShardingCx;

pub(crate) static RULE: Rule = Rule {
    code: 2853,
    slug: "shard-count-missing",
    severity: Severity::Error,
    summary: "A sharding does not say into how many shards an axis is split.",
    spec: "IR: Multi-Device Configuration",
    reference: Reference::NotEnforced,
    explain: include_str!("shard_count_missing.md"),
};

pub(crate) fn check(cx: &mut ShardingCx<'_, '_>) {
    for entry in &cx.sharding.shardings {
        for piece in entry.dims.iter().flat_map(|dim| &dim.simple) {
            let count = piece.num_shards;
            if count >= 1 {
                continue;
            }
            let place = cx.place(Some(entry.tensor));
            cx.report(&RULE, |places| {
                Diagnostic::new(&RULE, place(places), format!("an axis is split into {count} shards"))
                    .help("set `num_shards` to the number of shards, 1 or more")
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
    fn shard_count_missing_is_found() {
        let wrong = Spread { shards: 0, ..RIGHT };
        check_model(
            |m| model(m, &wrong),
            &[("ONNX2853", r#"graph "g" / node #0 Relu / device configuration "d" / value "x""#)],
        );
        check_model(|m| model(m, &RIGHT), &[]);
    }
}
