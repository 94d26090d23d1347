//! Device configurations of models and nodes.

use onnx_ir::{
    DeviceConfiguration, DeviceGroup, NodeDeviceConfiguration, ShardSize, ShardedDim, Sharding,
    SimpleSharding, ValueRef,
};
use onnx_types::field::{
    device_configuration, int_int_list_entry, node_device_configuration, sharded_dim, sharding_spec,
    simple_sharded_dim,
};
use onnx_types::{FieldForms, Symbol};

use super::Printer;
use super::meta::Entries;

impl Printer<'_> {
    /// Writes a string entry of a record. The entries of a record determine which fields the file contains.
    fn text_entry(&mut self, record: &mut Entries, key: &str, text: Symbol, number: u32, forms: FieldForms) {
        if !text.is_empty() || (forms.is_explicit(number) && self.exact()) {
            self.key(record, key);
            self.string(self.str(text));
        }
    }

    fn int_entry(&mut self, record: &mut Entries, key: &str, value: i64, number: u32, forms: FieldForms) {
        if value != 0 || (forms.is_explicit(number) && self.exact()) {
            self.key(record, key);
            self.int(value);
        }
    }

    /// Writes that the list in field `number` is packed, if it is.
    fn packed_entry(&mut self, record: &mut Entries, number: u32, forms: FieldForms) {
        let packed = Some(number).filter(|&number| forms.is_packed(number));
        self.present(record, packed.into_iter().collect());
    }

    /// Writes a device configuration of the model.
    pub(super) fn device(&mut self, device: &DeviceConfiguration) {
        let mut record = Entries::record();
        self.text_entry(&mut record, "name", device.name, device_configuration::NAME, device.forms);
        let count = i64::from(device.num_devices);
        self.int_entry(&mut record, "num_devices", count, device_configuration::NUM_DEVICES, device.forms);
        if !device.devices.is_empty() {
            self.key(&mut record, "device");
            self.list('[', ']', &device.devices, |printer, &name| printer.string(printer.str(name)));
        }
        self.unknown(&mut record, &device.unknown);
        self.end_record(&record);
    }

    /// Writes the device configurations of a node.
    pub(super) fn node_devices(&mut self, entries: &mut Entries, devices: &[NodeDeviceConfiguration]) {
        if devices.is_empty() {
            return;
        }
        self.key(entries, "device_configurations");
        self.list('[', ']', devices, |printer, devices| {
            let mut record = Entries::record();
            let name = devices.configuration;
            printer.text_entry(
                &mut record,
                "configuration_id",
                name,
                node_device_configuration::CONFIGURATION_ID,
                devices.forms,
            );
            let alive: Vec<&Sharding> =
                devices.shardings.iter().filter(|sharding| !printer.is_gone(sharding.tensor)).collect();
            if !alive.is_empty() {
                printer.key(&mut record, "sharding_spec");
                printer.list('[', ']', &alive, |printer, sharding| printer.sharding(sharding));
            }
            if let Some(stage) = devices.pipeline_stage {
                printer.key(&mut record, "pipeline_stage");
                printer.int(i64::from(stage));
            }
            printer.unknown(&mut record, &devices.unknown);
            printer.end_record(&record);
        });
    }

    /// Whether a reference names a value that was erased; such a reference is left out.
    pub(super) fn is_gone(&self, reference: ValueRef) -> bool {
        matches!(reference, ValueRef::Value(value) if self.model.get_value(value).is_none())
    }

    /// Writes the name that a reference stands for, in quotes.
    pub(super) fn reference(&mut self, reference: ValueRef) {
        let name = self.plan.reference(reference, self.model).unwrap_or_default().to_owned();
        self.string(&name);
    }

    fn sharding(&mut self, sharding: &Sharding) {
        let mut record = Entries::record();
        let unnamed = self.plan.reference(sharding.tensor, self.model).is_none_or(str::is_empty);
        if !unnamed || (sharding.forms.is_explicit(sharding_spec::TENSOR_NAME) && self.exact()) {
            self.key(&mut record, "tensor_name");
            self.reference(sharding.tensor);
        }
        if !sharding.devices.is_empty() {
            self.key(&mut record, "device");
            self.ints(&sharding.devices);
        }
        self.packed_entry(&mut record, sharding_spec::DEVICE, sharding.forms);
        if !sharding.groups.is_empty() {
            self.key(&mut record, "index_to_device_group_map");
            self.list('[', ']', &sharding.groups, Self::device_group);
        }
        if !sharding.dims.is_empty() {
            self.key(&mut record, "sharded_dim");
            self.list('[', ']', &sharding.dims, Self::sharded_dim);
        }
        self.unknown(&mut record, &sharding.unknown);
        self.end_record(&record);
    }

    fn device_group(&mut self, group: &DeviceGroup) {
        let mut record = Entries::record();
        self.int_entry(&mut record, "key", group.key, int_int_list_entry::KEY, group.forms);
        if !group.members.is_empty() {
            self.key(&mut record, "value");
            self.ints(&group.members);
        }
        self.packed_entry(&mut record, int_int_list_entry::VALUE, group.forms);
        self.unknown(&mut record, &group.unknown);
        self.end_record(&record);
    }

    fn sharded_dim(&mut self, dim: &ShardedDim) {
        let mut record = Entries::record();
        self.int_entry(&mut record, "axis", dim.axis, sharded_dim::AXIS, dim.forms);
        if !dim.simple.is_empty() {
            self.key(&mut record, "simple_sharding");
            self.list('[', ']', &dim.simple, Self::simple_sharding);
        }
        self.unknown(&mut record, &dim.unknown);
        self.end_record(&record);
    }

    fn simple_sharding(&mut self, simple: &SimpleSharding) {
        let mut record = Entries::record();
        match simple.dim {
            ShardSize::Absent => {}
            ShardSize::Known(size) => {
                self.key(&mut record, "dim");
                self.int(size);
            }
            ShardSize::Var(name) => {
                self.key(&mut record, "dim");
                self.string(self.str(name));
            }
        }
        self.int_entry(
            &mut record,
            "num_shards",
            simple.num_shards,
            simple_sharded_dim::NUM_SHARDS,
            simple.forms,
        );
        self.unknown(&mut record, &simple.unknown);
        self.end_record(&record);
    }
}
