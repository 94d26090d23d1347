//! Rules about how a node is spread over devices.

mod shard_count_missing;
mod sharded_axis_out_of_range;
mod sharding_of_foreign_value;
mod unknown_device;
mod unknown_device_configuration;

use super::{Entry, entry};
use crate::declaration_cx::ShardingCx;

/// The function of a rule of this unit.
pub(crate) type Check = fn(&mut ShardingCx<'_, '_>);

/// The rules of this unit, in alphabetical order.
pub(crate) static ENTRIES: &[Entry<Check>] = &[
    entry(&shard_count_missing::RULE, shard_count_missing::check),
    entry(&sharded_axis_out_of_range::RULE, sharded_axis_out_of_range::check),
    entry(&sharding_of_foreign_value::RULE, sharding_of_foreign_value::check),
    entry(&unknown_device::RULE, unknown_device::check),
    entry(&unknown_device_configuration::RULE, unknown_device_configuration::check),
];
