//! Rules about the device configurations of the model.

mod device_configuration_name_missing;
mod device_configuration_repeated;
mod device_count_missing;
mod device_names_incomplete;

use super::{Entry, entry};
use crate::declaration_cx::DeviceCx;

/// The function of a rule of this unit.
pub(crate) type Check = fn(&mut DeviceCx<'_, '_>);

/// The rules of this unit, in alphabetical order.
pub(crate) static ENTRIES: &[Entry<Check>] = &[
    entry(&device_configuration_name_missing::RULE, device_configuration_name_missing::check),
    entry(&device_configuration_repeated::RULE, device_configuration_repeated::check),
    entry(&device_count_missing::RULE, device_count_missing::check),
    entry(&device_names_incomplete::RULE, device_names_incomplete::check),
];
