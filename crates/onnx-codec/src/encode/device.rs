//! Device configurations of models and nodes.

use onnx_ir::{
    DeviceConfiguration, DeviceGroup, NodeDeviceConfiguration, ShardSize, ShardedDim, Sharding,
    SimpleSharding,
};
use onnx_proto::wire::Writer;

use super::{Cx, Result, int, ints, merged};

impl Cx<'_> {
    /// Writes the fields of a `DeviceConfigurationProto`.
    pub(super) fn device(&self, writer: &mut Writer, device: &DeviceConfiguration) -> Result {
        merged(writer, &device.unknown, |writer, window| {
            if window.has(1) {
                self.text(writer, 1, device.name, device.mask);
            }
            if window.has(2) {
                int(writer, 2, i64::from(device.num_devices), device.mask);
            }
            for &name in device.devices.iter().filter(|_| window.has(3)) {
                self.put(writer, 3, self.str(name));
            }
            Ok(())
        })
    }

    /// Writes the fields of a `NodeDeviceConfigurationProto`.
    pub(super) fn node_devices(&self, writer: &mut Writer, devices: &NodeDeviceConfiguration) -> Result {
        merged(writer, &devices.unknown, |writer, window| {
            if window.has(1) {
                self.text(writer, 1, devices.configuration, devices.mask);
            }
            for sharding in devices.shardings.iter().filter(|_| window.has(2)) {
                if !self.is_gone(sharding.tensor) {
                    writer.message(2, |writer| self.sharding(writer, sharding))?;
                }
            }
            if let Some(stage) = devices.pipeline_stage.filter(|_| window.has(3)) {
                writer.int32(3, stage);
            }
            Ok(())
        })
    }

    fn sharding(&self, writer: &mut Writer, sharding: &Sharding) -> Result {
        merged(writer, &sharding.unknown, |writer, window| {
            if window.has(1) {
                self.reference(writer, 1, sharding.tensor, sharding.mask);
            }
            if window.has(2) {
                ints(writer, 2, &sharding.devices, sharding.mask.contains(2));
            }
            for group in sharding.groups.iter().filter(|_| window.has(3)) {
                writer.message(3, |writer| device_group(writer, group))?;
            }
            for dim in sharding.dims.iter().filter(|_| window.has(4)) {
                writer.message(4, |writer| self.sharded_dim(writer, dim))?;
            }
            Ok(())
        })
    }

    fn sharded_dim(&self, writer: &mut Writer, dim: &ShardedDim) -> Result {
        merged(writer, &dim.unknown, |writer, window| {
            if window.has(1) {
                int(writer, 1, dim.axis, dim.mask);
            }
            for simple in dim.simple.iter().filter(|_| window.has(2)) {
                writer.message(2, |writer| self.simple_sharding(writer, simple))?;
            }
            Ok(())
        })
    }

    fn simple_sharding(&self, writer: &mut Writer, simple: &SimpleSharding) -> Result {
        merged(writer, &simple.unknown, |writer, window| {
            match simple.dim {
                ShardSize::Known(size) if window.has(1) => writer.int64(1, size),
                ShardSize::Var(name) if window.has(2) => self.put(writer, 2, self.str(name)),
                _ => {}
            }
            if window.has(3) {
                int(writer, 3, simple.num_shards, simple.mask);
            }
            Ok(())
        })
    }
}

fn device_group(writer: &mut Writer, group: &DeviceGroup) -> Result {
    merged(writer, &group.unknown, |writer, window| {
        if window.has(1) {
            int(writer, 1, group.key, group.mask);
        }
        if window.has(2) {
            ints(writer, 2, &group.members, group.mask.contains(2));
        }
        Ok(())
    })
}
