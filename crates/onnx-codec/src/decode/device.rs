//! Device configurations of models and nodes.

use onnx_ir::{
    DeviceConfiguration, DeviceGroup, NodeDeviceConfiguration, ShardSize, ShardedDim, Sharding,
    SimpleSharding, ValueRef,
};
use onnx_proto::wire::{Payload, Reader};
use onnx_types::Symbol;
use smallvec::SmallVec;

use super::small::{Packed, push_ints};
use super::{Cx, Form, Result, len, varint};

impl<'a> Cx<'a> {
    /// A `DeviceConfigurationProto`.
    pub(super) fn device(
        &mut self,
        reader: &Reader<'a>,
        payload: Payload<'a>,
    ) -> Result<DeviceConfiguration> {
        let mut fields = reader.message(payload)?;
        let mut form = Form::default();
        let mut device = DeviceConfiguration::default();
        while let Some(field) = fields.next_field()? {
            match (field.number, len(field.value), varint(field.value)) {
                (1, Some(text), _) => {
                    device.name = self.name(&fields, text)?;
                    form.note(1, text.is_empty());
                }
                (2, _, Some(number)) => {
                    device.num_devices = fields.int32(number);
                    form.note(2, device.num_devices == 0);
                }
                (3, Some(text), _) => device.devices.push(self.name(&fields, text)?),
                (number, ..) => self.keep(&mut form.unknown, &field, number <= 3),
            }
        }
        device.mask = form.mask;
        device.unknown = form.unknown;
        Ok(device)
    }

    /// A `NodeDeviceConfigurationProto`.
    pub(super) fn node_devices(
        &mut self,
        reader: &Reader<'a>,
        payload: Payload<'a>,
    ) -> Result<NodeDeviceConfiguration> {
        let mut fields = reader.message(payload)?;
        let mut form = Form::default();
        let (mut configuration, mut shardings, mut pipeline_stage) = (Symbol::EMPTY, Vec::new(), None);
        while let Some(field) = fields.next_field()? {
            match (field.number, len(field.value), varint(field.value)) {
                (1, Some(text), _) => {
                    configuration = self.name(&fields, text)?;
                    form.note(1, text.is_empty());
                }
                (2, Some(sharding), _) => shardings.push(self.sharding(&fields, sharding)?),
                (3, _, Some(stage)) => pipeline_stage = Some(fields.int32(stage)),
                (number, ..) => self.keep(&mut form.unknown, &field, number <= 3),
            }
        }
        let Form { mask, unknown } = form;
        Ok(NodeDeviceConfiguration { configuration, shardings, pipeline_stage, mask, unknown })
    }

    fn sharding(&mut self, reader: &Reader<'a>, payload: Payload<'a>) -> Result<Sharding> {
        let mut fields = reader.message(payload)?;
        let mut form = Form::default();
        let mut tensor = ValueRef::Name(Symbol::EMPTY);
        let mut devices: SmallVec<[i64; 2]> = SmallVec::new();
        let (mut groups, mut dims) = (Vec::new(), Vec::new());
        while let Some(field) = fields.next_field()? {
            match (field.number, len(field.value)) {
                (1, Some(text)) => {
                    tensor = self.value_ref(&fields, text)?;
                    form.note(1, text.is_empty());
                }
                (2, _) => match push_ints(&fields, field.value, |device| devices.push(device))? {
                    Some(Packed::Yes) => form.mask.insert(2),
                    Some(Packed::No) => {}
                    None => self.keep(&mut form.unknown, &field, true),
                },
                (3, Some(group)) => groups.push(self.device_group(&fields, group)?),
                (4, Some(dim)) => dims.push(self.sharded_dim(&fields, dim)?),
                (number, _) => self.keep(&mut form.unknown, &field, number <= 4),
            }
        }
        let Form { mask, unknown } = form;
        Ok(Sharding { tensor, devices, groups, dims, mask, unknown })
    }

    fn device_group(&mut self, reader: &Reader<'a>, payload: Payload<'a>) -> Result<DeviceGroup> {
        let mut fields = reader.message(payload)?;
        let mut form = Form::default();
        let mut key = 0;
        let mut members: SmallVec<[i64; 2]> = SmallVec::new();
        while let Some(field) = fields.next_field()? {
            match (field.number, varint(field.value)) {
                (1, Some(number)) => {
                    key = number.cast_signed();
                    form.note(1, key == 0);
                }
                (2, _) => match push_ints(&fields, field.value, |member| members.push(member))? {
                    Some(Packed::Yes) => form.mask.insert(2),
                    Some(Packed::No) => {}
                    None => self.keep(&mut form.unknown, &field, true),
                },
                (number, _) => self.keep(&mut form.unknown, &field, number <= 2),
            }
        }
        Ok(DeviceGroup { key, members, mask: form.mask, unknown: form.unknown })
    }

    fn sharded_dim(&mut self, reader: &Reader<'a>, payload: Payload<'a>) -> Result<ShardedDim> {
        let mut fields = reader.message(payload)?;
        let mut form = Form::default();
        let (mut axis, mut simple) = (0, Vec::new());
        while let Some(field) = fields.next_field()? {
            match (field.number, len(field.value), varint(field.value)) {
                (1, _, Some(number)) => {
                    axis = number.cast_signed();
                    form.note(1, axis == 0);
                }
                (2, Some(sharding), _) => simple.push(self.simple_sharding(&fields, sharding)?),
                (number, ..) => self.keep(&mut form.unknown, &field, number <= 2),
            }
        }
        Ok(ShardedDim { axis, simple, mask: form.mask, unknown: form.unknown })
    }

    fn simple_sharding(&mut self, reader: &Reader<'a>, payload: Payload<'a>) -> Result<SimpleSharding> {
        let mut fields = reader.message(payload)?;
        let mut form = Form::default();
        let (mut dim, mut num_shards) = (ShardSize::Absent, 0);
        while let Some(field) = fields.next_field()? {
            match (field.number, len(field.value), varint(field.value)) {
                (1, _, Some(size)) => dim = ShardSize::Known(size.cast_signed()),
                (2, Some(text), _) => dim = ShardSize::Var(self.name(&fields, text)?),
                (3, _, Some(number)) => {
                    num_shards = number.cast_signed();
                    form.note(3, num_shards == 0);
                }
                (number, ..) => self.keep(&mut form.unknown, &field, number <= 3),
            }
        }
        Ok(SimpleSharding { dim, num_shards, mask: form.mask, unknown: form.unknown })
    }
}
