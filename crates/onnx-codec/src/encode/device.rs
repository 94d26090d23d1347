//! Device configurations of models and nodes.

use onnx_ir::{
    DeviceConfiguration, DeviceGroup, NodeDeviceConfiguration, ShardSize, ShardedDim, Sharding,
    SimpleSharding,
};
use onnx_proto::field::{
    device_configuration, int_int_list_entry, node_device_configuration, sharded_dim, sharding_spec,
    simple_sharded_dim,
};
use onnx_proto::wire::Writer;

use super::{Cx, Result, int, ints, merged};

impl Cx<'_> {
    /// Writes the fields of a `DeviceConfigurationProto`.
    pub(super) fn device(&self, writer: &mut Writer, device: &DeviceConfiguration) -> Result {
        merged(writer, &device.unknown, |writer, window| {
            if window.has(device_configuration::NAME) {
                self.text(writer, device_configuration::NAME, device.name, device.forms);
            }
            if window.has(device_configuration::NUM_DEVICES) {
                int(writer, device_configuration::NUM_DEVICES, i64::from(device.num_devices), device.forms);
            }
            for &name in device.devices.iter().filter(|_| window.has(device_configuration::DEVICE)) {
                self.put(writer, device_configuration::DEVICE, self.str(name));
            }
            Ok(())
        })
    }

    /// Writes the fields of a `NodeDeviceConfigurationProto`.
    pub(super) fn node_devices(&self, writer: &mut Writer, devices: &NodeDeviceConfiguration) -> Result {
        merged(writer, &devices.unknown, |writer, window| {
            if window.has(node_device_configuration::CONFIGURATION_ID) {
                self.text(
                    writer,
                    node_device_configuration::CONFIGURATION_ID,
                    devices.configuration,
                    devices.forms,
                );
            }
            for sharding in
                devices.shardings.iter().filter(|_| window.has(node_device_configuration::SHARDING_SPEC))
            {
                if !self.is_gone(sharding.tensor) {
                    writer.message(node_device_configuration::SHARDING_SPEC, |writer| {
                        self.sharding(writer, sharding)
                    })?;
                }
            }
            if let Some(stage) =
                devices.pipeline_stage.filter(|_| window.has(node_device_configuration::PIPELINE_STAGE))
            {
                writer.int32(node_device_configuration::PIPELINE_STAGE, stage);
            }
            Ok(())
        })
    }

    fn sharding(&self, writer: &mut Writer, sharding: &Sharding) -> Result {
        merged(writer, &sharding.unknown, |writer, window| {
            if window.has(sharding_spec::TENSOR_NAME) {
                self.reference(writer, sharding_spec::TENSOR_NAME, sharding.tensor, sharding.forms);
            }
            if window.has(sharding_spec::DEVICE) {
                ints(writer, sharding_spec::DEVICE, &sharding.devices, sharding.forms);
            }
            for group in
                sharding.groups.iter().filter(|_| window.has(sharding_spec::INDEX_TO_DEVICE_GROUP_MAP))
            {
                writer.message(sharding_spec::INDEX_TO_DEVICE_GROUP_MAP, |writer| {
                    device_group(writer, group)
                })?;
            }
            for dim in sharding.dims.iter().filter(|_| window.has(sharding_spec::SHARDED_DIM)) {
                writer.message(sharding_spec::SHARDED_DIM, |writer| self.sharded_dim(writer, dim))?;
            }
            Ok(())
        })
    }

    fn sharded_dim(&self, writer: &mut Writer, dim: &ShardedDim) -> Result {
        merged(writer, &dim.unknown, |writer, window| {
            if window.has(sharded_dim::AXIS) {
                int(writer, sharded_dim::AXIS, dim.axis, dim.forms);
            }
            for simple in dim.simple.iter().filter(|_| window.has(sharded_dim::SIMPLE_SHARDING)) {
                writer
                    .message(sharded_dim::SIMPLE_SHARDING, |writer| self.simple_sharding(writer, simple))?;
            }
            Ok(())
        })
    }

    fn simple_sharding(&self, writer: &mut Writer, simple: &SimpleSharding) -> Result {
        merged(writer, &simple.unknown, |writer, window| {
            match simple.dim {
                ShardSize::Known(size) if window.has(simple_sharded_dim::DIM_VALUE) => {
                    writer.int64(simple_sharded_dim::DIM_VALUE, size)
                }
                ShardSize::Var(name) if window.has(simple_sharded_dim::DIM_PARAM) => {
                    self.put(writer, simple_sharded_dim::DIM_PARAM, self.str(name))
                }
                _ => {}
            }
            if window.has(simple_sharded_dim::NUM_SHARDS) {
                int(writer, simple_sharded_dim::NUM_SHARDS, simple.num_shards, simple.forms);
            }
            Ok(())
        })
    }
}

fn device_group(writer: &mut Writer, group: &DeviceGroup) -> Result {
    merged(writer, &group.unknown, |writer, window| {
        if window.has(int_int_list_entry::KEY) {
            int(writer, int_int_list_entry::KEY, group.key, group.forms);
        }
        if window.has(int_int_list_entry::VALUE) {
            ints(writer, int_int_list_entry::VALUE, &group.members, group.forms);
        }
        Ok(())
    })
}
