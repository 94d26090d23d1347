//! A model that is spread over two devices, for the tests of the unit `sharding`.

use onnx_ir::{
    DeviceConfiguration, Extras, LoadedNode, LoadedOutput, NodeDeviceConfiguration, ShardSize, ShardedDim,
    Sharding, SimpleSharding, ValueRef,
};
use onnx_types::{FieldForms, Type};

use crate::testing::Builder;

/// A model that runs `y = Relu (x)` on two devices `d`, and how the node says so.
pub(crate) struct Spread {
    pub(crate) configuration: &'static str,
    pub(crate) tensor: &'static str,
    pub(crate) devices: [i64; 2],
    pub(crate) axis: i64,
    pub(crate) shards: i64,
}

/// The model as it should be.
pub(crate) const RIGHT: Spread =
    Spread { configuration: "d", tensor: "x", devices: [0, 1], axis: 0, shards: 2 };

/// Builds the model.
pub(crate) fn model(m: &mut Builder, spread: &Spread) {
    m.model.info_mut().ir_version = 11;
    let device = DeviceConfiguration { name: m.model.intern("d"), num_devices: 2, ..Default::default() };
    m.model.info_mut().configurations.push(device);
    m.inputs(["x", "z"]);
    let shape = onnx_types::Shape::known(&[4]);
    m.typed("x", Some(Type::tensor(onnx_types::ElemType::Float, Some(shape))));
    let (forms, unknown) = (FieldForms::CANONICAL, Vec::new);
    let piece =
        SimpleSharding { dim: ShardSize::Known(4), num_shards: spread.shards, forms, unknown: unknown() };
    let dim = ShardedDim { axis: spread.axis, simple: vec![piece], forms, unknown: unknown() };
    let sharding = Sharding {
        tensor: ValueRef::Value(m.value(spread.tensor)),
        devices: spread.devices.into_iter().collect(),
        groups: Vec::new(),
        dims: vec![dim],
        forms,
        unknown: unknown(),
    };
    let configuration = NodeDeviceConfiguration {
        configuration: m.model.intern(spread.configuration),
        shardings: vec![sharding],
        pipeline_stage: None,
        forms,
        unknown: unknown(),
    };
    let extras = Extras { device_configurations: vec![configuration], ..Default::default() };
    let node = LoadedNode { op: onnx_schema::op::RELU, extras: Some(Box::new(extras)), ..Default::default() };
    let (graph, x, y) = (m.graph(), m.value("x"), m.model.intern("y"));
    m.model.load_node(graph, node, &[Some(x)], &[LoadedOutput::New(y)]);
}
