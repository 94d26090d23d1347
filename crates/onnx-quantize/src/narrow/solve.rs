//! The choice of the types as a minimum cut.

use onnx_ir::{NodeId, ValueId};
use onnx_schema::op;
use onnx_types::{Interrupt, Stopped, Watch};

use super::WATCHED_VALUES;
use super::cut::{Network, UNLIMITED};
use super::slots::Slots;
use super::want::Want;

/// Solves the choice as a minimum cut: narrow slots are on the side of the source.
pub(super) fn solve(slots: &Slots<'_>, interrupt: &Interrupt) -> Result<Vec<bool>, Stopped> {
    /// The cost of a cast that is added.
    const CAST: u64 = 1 << 10;
    /// More than all casts of a model cost.
    const DESIRED: u64 = CAST << 20;
    let (source, sink) = (slots.len(), slots.len() + 1);
    let mut network = Network::new(slots.len() + 2);
    let mut watch = Watch::silent(interrupt, WATCHED_VALUES);
    for slot in (0..slots.len()).filter(|&slot| slots.root(slot) == slot) {
        watch.work(1)?;
        match slots.want(slot).0 {
            Want::Free => {}
            Want::Narrow => network.edge(source, slot, DESIRED),
            Want::Wide => network.edge(slot, sink, UNLIMITED),
        }
    }
    for &(value, slot) in &slots.made {
        watch.work(1)?;
        let maker = slots.root(slot);
        let mut users: Vec<usize> = slots
            .model
            .value(value)
            .uses()
            .iter()
            .filter_map(|at| slots.used_in.get(at).map(|&slot| slots.root(slot)))
            .filter(|&user| user != maker)
            .collect();
        users.sort_unstable();
        users.dedup();
        if users.is_empty() {
            continue;
        }
        // One cast serves all users of the other type.
        let (down, up) = (network.node(), network.node());
        network.edge(maker, down, CAST);
        network.edge(up, maker, CAST);
        for user in users {
            network.edge(down, user, UNLIMITED);
            network.edge(user, up, UNLIMITED);
        }
    }
    // A cast of the model that would have no effect in the new type is removed then. It costs a little less than another one in its place, so
    // that a model that was converted before stays as it is.
    for slot in slots.of_nodes.iter().filter_map(|(node, own)| idle_cast(slots, *node, own)) {
        network.edge(source, slots.root(slot), CAST - 1);
    }
    network.source_side(source, sink, interrupt)
}

/// The slot of a `Cast` from or to the new type that makes the node superfluous if it gets the type, too.
fn idle_cast(slots: &Slots<'_>, node: NodeId, own: &[usize]) -> Option<usize> {
    let record = slots.model.node(node);
    let &[slot] = own else { return None };
    let is_new = |value: ValueId| slots.elem(value) == Some(slots.change().to());
    let ends = [record.input(0)?, record.output(0)?];
    (record.is(op::CAST) && ends.into_iter().any(is_new)).then_some(slot)
}
