//! Device configurations of models and nodes.

use onnx_ir::{
    DeviceConfiguration, DeviceGroup, NodeDeviceConfiguration, ShardSize, ShardedDim, Sharding,
    SimpleSharding, ValueRef,
};
use onnx_types::{FieldMask, Symbol};

use super::Printer;
use super::meta::Entries;

impl Printer<'_> {
    /// Writes a string entry of a record. A record says which fields stand in the file by having them.
    fn text_entry(&mut self, record: &mut Entries, key: &str, text: Symbol, written: bool) {
        if !text.is_empty() || (written && self.exact()) {
            self.key(record, key);
            self.string(self.str(text));
        }
    }

    fn int_entry(&mut self, record: &mut Entries, key: &str, value: i64, written: bool) {
        if value != 0 || (written && self.exact()) {
            self.key(record, key);
            self.int(value);
        }
    }

    /// Says that a list is packed, which it usually is not.
    fn packed_entry(&mut self, record: &mut Entries, packed: bool) {
        if packed {
            let mut mask = FieldMask::NONE;
            mask.insert(2);
            self.present(record, mask);
        }
    }

    /// Writes a device configuration of the model.
    pub(super) fn device(&mut self, device: &DeviceConfiguration) {
        let mut record = Entries::record();
        self.text_entry(&mut record, "name", device.name, device.mask.contains(1));
        let count = i64::from(device.num_devices);
        self.int_entry(&mut record, "num_devices", count, device.mask.contains(2));
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
            printer.text_entry(&mut record, "configuration_id", name, devices.mask.contains(1));
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
        if !unnamed || (sharding.mask.contains(1) && self.exact()) {
            self.key(&mut record, "tensor_name");
            self.reference(sharding.tensor);
        }
        if !sharding.devices.is_empty() {
            self.key(&mut record, "device");
            self.ints(&sharding.devices);
        }
        self.packed_entry(&mut record, sharding.mask.contains(2));
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
        self.int_entry(&mut record, "key", group.key, group.mask.contains(1));
        if !group.members.is_empty() {
            self.key(&mut record, "value");
            self.ints(&group.members);
        }
        self.packed_entry(&mut record, group.mask.contains(2));
        self.unknown(&mut record, &group.unknown);
        self.end_record(&record);
    }

    fn sharded_dim(&mut self, dim: &ShardedDim) {
        let mut record = Entries::record();
        self.int_entry(&mut record, "axis", dim.axis, dim.mask.contains(1));
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
        self.int_entry(&mut record, "num_shards", simple.num_shards, simple.mask.contains(3));
        self.unknown(&mut record, &simple.unknown);
        self.end_record(&record);
    }
}
