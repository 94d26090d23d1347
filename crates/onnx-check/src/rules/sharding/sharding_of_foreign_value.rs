//! The rule `sharding-of-foreign-value`: a node says how a value is spread that is none of its inputs and outputs.

use onnx_diag::Quoted;
use onnx_diag::{Diagnostic, Reference, Rule, Severity};
use onnx_ir::ValueRef;

use crate::declared::ShardingCx;

pub(crate) static RULE: Rule = Rule {
    code: 2851,
    slug: "sharding-of-foreign-value",
    severity: Severity::Error,
    summary: "A node says how a value is spread that is none of its inputs and outputs.",
    spec: "IR: Multi-Device Configuration",
    reference: Reference::NotEnforced,
    explain: include_str!("sharding_of_foreign_value.md"),
};

pub(crate) fn check(cx: &mut ShardingCx<'_, '_>) {
    for entry in &cx.sharding.shardings {
        let is_operand = match entry.tensor {
            ValueRef::Value(value) => cx.operands.contains(&value) || cx.model.get_value(value).is_none(),
            ValueRef::Name(_) => false,
        };
        if is_operand {
            continue;
        }
        let (tensor, place) = (entry.tensor, cx.place(Some(entry.tensor)));
        cx.report(&RULE, |places| {
            let message = match places.referred(tensor) {
                "" => "the sharding names no tensor".to_owned(),
                name => format!("{} is no input or output of the node", Quoted(name)),
            };
            Diagnostic::new(&RULE, place(places), message)
                .help("set `tensor_name` to the name of an input or output of the node")
                .beyond_reference(true)
        });
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
    fn sharding_of_foreign_value_is_found() {
        let wrong = Spread { tensor: "z", ..RIGHT };
        check_model(
            |m| model(m, &wrong),
            &[("ONNX2851", r#"graph "g" / node #0 Relu / device configuration "d" / value "z""#)],
        );
        check_model(|m| model(m, &RIGHT), &[]);
    }
}
