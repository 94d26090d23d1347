//! Device configurations of models and nodes. The fields of a record determine which fields the file contains.

use onnx_ir::{
    DeviceConfiguration, DeviceGroup, NodeDeviceConfiguration, ShardSize, ShardedDim, Sharding,
    SimpleSharding, ValueRef,
};
use onnx_types::field::{
    device_configuration, int_int_list_entry, node_device_configuration, sharded_dim, sharding_spec,
    simple_sharded_dim,
};
use onnx_types::{FieldForms, Symbol};

use super::{Parser, Result};

impl Parser<'_> {
    /// Parses the string in field `number`. A key that is there with its default is kept as such.
    pub(super) fn text_entry(&mut self, number: u32, text: &mut Symbol, forms: &mut FieldForms) -> Result {
        *text = self.text("a string")?;
        forms.set_explicit(number, text.is_empty());
        Ok(())
    }

    fn int_entry(&mut self, number: u32, value: &mut i64, forms: &mut FieldForms) -> Result {
        *value = self.int()?;
        forms.set_explicit(number, *value == 0);
        Ok(())
    }

    fn small_int(&mut self) -> Result<i32> {
        self.lex.peek();
        let mark = self.lex.mark();
        let value = self.int()?;
        match i32::try_from(value) {
            Ok(value) => Ok(value),
            Err(_) => Err(self.out_of_range(mark, &value.to_string(), "a 32-bit integer")),
        }
    }

    /// Parses a device configuration of the model.
    pub(super) fn device(&mut self) -> Result<DeviceConfiguration> {
        let mut device = DeviceConfiguration::default();
        self.record(|parser, key| {
            match key {
                b"name" => {
                    parser.text_entry(device_configuration::NAME, &mut device.name, &mut device.forms)?
                }
                b"num_devices" => {
                    device.num_devices = parser.small_int()?;
                    let is_default = device.num_devices == 0;
                    device.forms.set_explicit(device_configuration::NUM_DEVICES, is_default);
                }
                b"device" => parser.list(|parser| {
                    device.devices.push(parser.text("a string")?);
                    Ok(())
                })?,
                b"unknown" => parser.unknown(&mut device.unknown)?,
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        Ok(device)
    }

    /// Parses a device configuration of a node.
    pub(super) fn node_devices(&mut self) -> Result<NodeDeviceConfiguration> {
        let mut devices = NodeDeviceConfiguration::new(Symbol::EMPTY);
        self.record(|parser, key| {
            match key {
                b"configuration_id" => {
                    parser.text_entry(
                        node_device_configuration::CONFIGURATION_ID,
                        &mut devices.configuration,
                        &mut devices.forms,
                    )?;
                }
                b"sharding_spec" => parser.list(|parser| {
                    devices.shardings.push(parser.sharding()?);
                    Ok(())
                })?,
                b"pipeline_stage" => devices.pipeline_stage = Some(parser.small_int()?),
                b"unknown" => parser.unknown(&mut devices.unknown)?,
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        Ok(devices)
    }

    fn sharding(&mut self) -> Result<Sharding> {
        let mut sharding = Sharding::new(ValueRef::Name(Symbol::EMPTY));
        self.record(|parser, key| {
            match key {
                b"tensor_name" => {
                    let mut name = Symbol::EMPTY;
                    parser.text_entry(sharding_spec::TENSOR_NAME, &mut name, &mut sharding.forms)?;
                    sharding.tensor = parser.model.reference(name);
                }
                b"device" => parser.ints(|device| sharding.devices.push(device))?,
                b"index_to_device_group_map" => parser.list(|parser| {
                    sharding.groups.push(parser.device_group()?);
                    Ok(())
                })?,
                b"sharded_dim" => parser.list(|parser| {
                    sharding.dims.push(parser.sharded_dim()?);
                    Ok(())
                })?,
                b"present" => parser.present(&mut sharding.forms)?,
                b"unknown" => parser.unknown(&mut sharding.unknown)?,
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        Ok(sharding)
    }

    fn device_group(&mut self) -> Result<DeviceGroup> {
        let mut group = DeviceGroup::new(0);
        self.record(|parser, key| {
            match key {
                b"key" => parser.int_entry(int_int_list_entry::KEY, &mut group.key, &mut group.forms)?,
                b"value" => parser.ints(|member| group.members.push(member))?,
                b"present" => parser.present(&mut group.forms)?,
                b"unknown" => parser.unknown(&mut group.unknown)?,
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        Ok(group)
    }

    fn sharded_dim(&mut self) -> Result<ShardedDim> {
        let mut dim = ShardedDim::new(0);
        self.record(|parser, key| {
            match key {
                b"axis" => parser.int_entry(sharded_dim::AXIS, &mut dim.axis, &mut dim.forms)?,
                b"simple_sharding" => parser.list(|parser| {
                    dim.simple.push(parser.simple_sharding()?);
                    Ok(())
                })?,
                b"unknown" => parser.unknown(&mut dim.unknown)?,
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        Ok(dim)
    }

    fn simple_sharding(&mut self) -> Result<SimpleSharding> {
        let mut simple = SimpleSharding::new(ShardSize::Absent, 0);
        self.record(|parser, key| {
            match key {
                b"dim" if parser.lex.peek() == Some(b'"') => {
                    simple.dim = ShardSize::Var(parser.text("a string")?);
                }
                b"dim" => simple.dim = ShardSize::Known(parser.int()?),
                b"num_shards" => parser.int_entry(
                    simple_sharded_dim::NUM_SHARDS,
                    &mut simple.num_shards,
                    &mut simple.forms,
                )?,
                b"unknown" => parser.unknown(&mut simple.unknown)?,
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        Ok(simple)
    }
}
