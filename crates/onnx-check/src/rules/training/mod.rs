//! Rules about training information.

mod binding_of_no_initializer;
mod binding_repeated;
mod binding_to_no_output;
mod initialization_missing;
mod initialization_with_inputs;

use super::{Entry, entry};
use crate::declaration_cx::TrainingCx;

/// The function of a rule of this unit.
pub(crate) type Check = fn(&mut TrainingCx<'_, '_>);

/// The rules of this unit, in alphabetical order.
pub(crate) static ENTRIES: &[Entry<Check>] = &[
    entry(&binding_of_no_initializer::RULE, binding_of_no_initializer::check),
    entry(&binding_repeated::RULE, binding_repeated::check),
    entry(&binding_to_no_output::RULE, binding_to_no_output::check),
    entry(&initialization_missing::RULE, initialization_missing::check),
    entry(&initialization_with_inputs::RULE, initialization_with_inputs::check),
];
