//! Device configurations of models and nodes.

use onnx_ir::{
    DeviceConfiguration, DeviceGroup, NodeDeviceConfiguration, ShardSize, ShardedDim, Sharding,
    SimpleSharding, ValueRef,
};
use onnx_proto::field::{
    device_configuration, int_int_list_entry, node_device_configuration, sharded_dim, sharding_spec,
    simple_sharded_dim,
};
use onnx_proto::wire::{Payload, Reader};
use onnx_types::Symbol;
use smallvec::SmallVec;

use super::{Cx, Result, WireForm, len, varint};

impl<'a> Cx<'a> {
    /// A `DeviceConfigurationProto`.
    pub(super) fn device(
        &mut self,
        reader: &Reader<'a>,
        payload: Payload<'a>,
    ) -> Result<DeviceConfiguration> {
        let mut fields = reader.message(payload)?;
        let mut form = WireForm::default();
        let mut device = DeviceConfiguration::default();
        while let Some(field) = fields.next_field()? {
            match (field.number, len(field.value), varint(field.value)) {
                (device_configuration::NAME, Some(text), _) => {
                    device.name = self.noted(&fields, text, field.number, &mut form)?;
                }
                (device_configuration::NUM_DEVICES, _, Some(number)) => {
                    device.num_devices = fields.int32(number);
                    form.note(device_configuration::NUM_DEVICES, device.num_devices == 0);
                }
                (device_configuration::DEVICE, Some(text), _) => {
                    device.devices.push(self.name(&fields, text)?)
                }
                (number, ..) => self.keep(&mut form.unknown, &field, device_configuration::is_known(number)),
            }
        }
        device.forms = form.forms;
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
        let mut form = WireForm::default();
        let (mut configuration, mut shardings, mut pipeline_stage) = (Symbol::EMPTY, Vec::new(), None);
        while let Some(field) = fields.next_field()? {
            match (field.number, len(field.value), varint(field.value)) {
                (node_device_configuration::CONFIGURATION_ID, Some(text), _) => {
                    configuration = self.noted(&fields, text, field.number, &mut form)?;
                }
                (node_device_configuration::SHARDING_SPEC, Some(sharding), _) => {
                    shardings.push(self.sharding(&fields, sharding)?)
                }
                (node_device_configuration::PIPELINE_STAGE, _, Some(stage)) => {
                    pipeline_stage = Some(fields.int32(stage))
                }
                (number, ..) => {
                    self.keep(&mut form.unknown, &field, node_device_configuration::is_known(number))
                }
            }
        }
        let WireForm { forms, unknown } = form;
        let mut devices = NodeDeviceConfiguration::new(configuration).with_encoding(forms, unknown);
        (devices.shardings, devices.pipeline_stage) = (shardings, pipeline_stage);
        Ok(devices)
    }

    fn sharding(&mut self, reader: &Reader<'a>, payload: Payload<'a>) -> Result<Sharding> {
        let mut fields = reader.message(payload)?;
        let mut form = WireForm::default();
        let mut tensor = ValueRef::Name(Symbol::EMPTY);
        let mut devices: SmallVec<[i64; 2]> = SmallVec::new();
        let (mut groups, mut dims) = (Vec::new(), Vec::new());
        while let Some(field) = fields.next_field()? {
            match (field.number, len(field.value)) {
                (sharding_spec::TENSOR_NAME, Some(text)) => {
                    tensor = self.value_ref(&fields, text)?;
                    form.note(sharding_spec::TENSOR_NAME, text.is_empty());
                }
                (sharding_spec::DEVICE, _) => {
                    self.integers(&fields, &field, &mut form, |device| devices.push(device))?;
                }
                (sharding_spec::INDEX_TO_DEVICE_GROUP_MAP, Some(group)) => {
                    groups.push(self.device_group(&fields, group)?)
                }
                (sharding_spec::SHARDED_DIM, Some(dim)) => dims.push(self.sharded_dim(&fields, dim)?),
                (number, _) => self.keep(&mut form.unknown, &field, sharding_spec::is_known(number)),
            }
        }
        let WireForm { forms, unknown } = form;
        let mut sharding = Sharding::new(tensor).with_encoding(forms, unknown);
        (sharding.devices, sharding.groups, sharding.dims) = (devices, groups, dims);
        Ok(sharding)
    }

    fn device_group(&mut self, reader: &Reader<'a>, payload: Payload<'a>) -> Result<DeviceGroup> {
        let mut fields = reader.message(payload)?;
        let mut form = WireForm::default();
        let mut key = 0;
        let mut members: SmallVec<[i64; 2]> = SmallVec::new();
        while let Some(field) = fields.next_field()? {
            match (field.number, varint(field.value)) {
                (int_int_list_entry::KEY, Some(number)) => {
                    key = number.cast_signed();
                    form.note(int_int_list_entry::KEY, key == 0);
                }
                (int_int_list_entry::VALUE, _) => {
                    self.integers(&fields, &field, &mut form, |member| members.push(member))?;
                }
                (number, _) => self.keep(&mut form.unknown, &field, int_int_list_entry::is_known(number)),
            }
        }
        let mut group = DeviceGroup::new(key).with_encoding(form.forms, form.unknown);
        group.members = members;
        Ok(group)
    }

    fn sharded_dim(&mut self, reader: &Reader<'a>, payload: Payload<'a>) -> Result<ShardedDim> {
        let mut fields = reader.message(payload)?;
        let mut form = WireForm::default();
        let (mut axis, mut simple) = (0, Vec::new());
        while let Some(field) = fields.next_field()? {
            match (field.number, len(field.value), varint(field.value)) {
                (sharded_dim::AXIS, _, Some(number)) => {
                    axis = number.cast_signed();
                    form.note(sharded_dim::AXIS, axis == 0);
                }
                (sharded_dim::SIMPLE_SHARDING, Some(sharding), _) => {
                    simple.push(self.simple_sharding(&fields, sharding)?)
                }
                (number, ..) => self.keep(&mut form.unknown, &field, sharded_dim::is_known(number)),
            }
        }
        let mut dim = ShardedDim::new(axis).with_encoding(form.forms, form.unknown);
        dim.simple = simple;
        Ok(dim)
    }

    fn simple_sharding(&mut self, reader: &Reader<'a>, payload: Payload<'a>) -> Result<SimpleSharding> {
        let mut fields = reader.message(payload)?;
        let mut form = WireForm::default();
        let (mut dim, mut num_shards) = (ShardSize::Absent, 0);
        while let Some(field) = fields.next_field()? {
            match (field.number, len(field.value), varint(field.value)) {
                (simple_sharded_dim::DIM_VALUE, _, Some(size)) => dim = ShardSize::Known(size.cast_signed()),
                (simple_sharded_dim::DIM_PARAM, Some(text), _) => {
                    dim = ShardSize::Var(self.name(&fields, text)?)
                }
                (simple_sharded_dim::NUM_SHARDS, _, Some(number)) => {
                    num_shards = number.cast_signed();
                    form.note(simple_sharded_dim::NUM_SHARDS, num_shards == 0);
                }
                (number, ..) => self.keep(&mut form.unknown, &field, simple_sharded_dim::is_known(number)),
            }
        }
        Ok(SimpleSharding::new(dim, num_shards).with_encoding(form.forms, form.unknown))
    }
}
