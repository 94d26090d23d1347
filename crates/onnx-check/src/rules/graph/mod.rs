//! Rules about a graph as a whole.

mod graph_name_missing;
mod graph_output_not_produced;

use super::{Entry, entry};
use crate::cx::GraphCx;

/// The function of a rule of this unit.
pub(crate) type Check = fn(&mut GraphCx<'_, '_>);

/// The rules of this unit, in alphabetical order.
pub(crate) static ENTRIES: &[Entry<Check>] = &[
    entry(&graph_name_missing::RULE, graph_name_missing::check),
    entry(&graph_output_not_produced::RULE, graph_output_not_produced::check),
];
