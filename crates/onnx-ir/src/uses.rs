//! Use lists: every value knows its uses, and every use knows its place in that list.
//!
//! A use is removed by moving the last one of the list into its place, so adding, removing and redirecting a use take
//! constant time however often a value is used. Uses by outputs of graphs come before all others: whether a value is an
//! output is known without a walk over its uses.

use crate::changes::Aspects;
use crate::entity::{GraphId, NodeId, ValueId};
use crate::model::Model;
use crate::node::Operand;
use crate::value::{OwnInfo, Use, User};

impl Model {
    /// Adds a use to a value's list and returns its place.
    pub(crate) fn link_use(&mut self, value: ValueId, user: User, index: u32) -> u32 {
        let record = &mut self.values[value];
        // A value has fewer than 2^32 uses: each belongs to an operand in memory.
        let slot = record.uses.len() as u32;
        record.uses.push(Use { user, index });
        if !matches!(user, User::Graph(_)) {
            return slot;
        }
        let place = record.graph_uses;
        record.graph_uses += 1;
        self.swap_uses(value, place, slot);
        place
    }

    /// Exchanges two uses in a value's list; the operand or output at the first place need not exist.
    fn swap_uses(&mut self, value: ValueId, new: u32, slot: u32) {
        if new != slot {
            let uses = &mut self.values[value].uses;
            uses.swap(new as usize, slot as usize);
            let moved = uses[slot as usize];
            self.set_slot(moved, slot);
        }
    }

    /// Removes the use at `slot` from a value's list.
    pub(crate) fn unlink_use(&mut self, value: ValueId, mut slot: u32) {
        let record = &mut self.values[value];
        if slot < record.graph_uses {
            record.graph_uses -= 1;
            // The last use by an output takes its place, and the last use by a node that one's.
            let last = record.graph_uses;
            self.swap_uses(value, last, slot);
            slot = last;
        }
        let uses = &mut self.values[value].uses;
        uses.swap_remove(slot as usize);
        if let Some(&moved) = uses.get(slot as usize) {
            self.set_slot(moved, slot);
        }
    }

    fn set_slot(&mut self, at: Use, slot: u32) {
        match at.user {
            User::Node(node) => self.nodes[node].inputs[at.index as usize].slot = slot,
            User::Attribute(node) => self.nodes[node].name_slots[at.index as usize] = slot,
            User::Graph(graph) => self.graphs[graph].outputs[at.index as usize].slot = slot,
        }
    }

    /// Sets the input at `index` of a node; `None` leaves it out. Inputs that do not exist yet are added, left out.
    ///
    /// # Panics
    ///
    /// Panics if the node or the value is not of this model or was erased.
    pub fn set_input(&mut self, node: NodeId, index: usize, value: Option<ValueId>) {
        let inputs = &mut self.nodes[node].inputs;
        let grows = inputs.len() <= index;
        if grows {
            inputs.resize(index + 1, Operand::ABSENT);
        }
        let old = inputs[index];
        self.record(node, Aspects::OPERANDS.when(grows || old.value != value));
        if old.value == value {
            return;
        }
        if let Some(old_value) = old.value {
            self.unlink_use(old_value, old.slot);
        }
        let slot = value.map_or(0, |value| self.link_use(value, User::Node(node), index as u32));
        self.nodes[node].inputs[index] = Operand { value, slot };
        self.names_touched = true;
    }

    /// Adds an input at the end.
    ///
    /// # Panics
    ///
    /// Panics if the node or the value is not of this model or was erased.
    pub fn push_input(&mut self, node: NodeId, value: Option<ValueId>) {
        let index = self.nodes[node].inputs.len();
        self.set_input(node, index, value);
    }

    /// Removes the input at `index`; the later ones move up.
    ///
    /// # Panics
    ///
    /// Panics if the node is not of this model, was erased, or has no such input.
    pub fn remove_input(&mut self, node: NodeId, index: usize) {
        self.set_input(node, index, None);
        self.nodes[node].inputs.remove(index);
        self.record(node, Aspects::OPERANDS);
        for position in index..self.nodes[node].inputs.len() {
            let operand = self.nodes[node].inputs[position];
            if let Some(value) = operand.value {
                self.values[value].uses[operand.slot as usize].index = position as u32;
            }
        }
    }

    /// Sets the value at an output of a graph.
    ///
    /// The declaration of the output is kept: if the new value has no type, it receives that of the old one; if it has
    /// a different type, the declaration is stored separately.
    ///
    /// # Panics
    ///
    /// Panics if the graph or the value is not of this model, or the graph has no such output.
    pub fn set_output(&mut self, graph: GraphId, index: usize, value: ValueId) {
        let (old, old_slot) = {
            let output = &self.graphs[graph].outputs[index];
            (output.value, output.slot)
        };
        if old == value {
            return;
        }
        let declared = self.values[old].ty.clone();
        self.unlink_use(old, old_slot);
        let slot = self.link_use(value, User::Graph(graph), index as u32);
        let record = &mut self.values[value];
        let differs = declared.is_some() && record.ty.is_some() && record.ty != declared;
        let takes = record.ty.is_none() && declared.is_some();
        if takes {
            record.ty.clone_from(&declared);
        }
        let output = &mut self.graphs[graph].outputs[index];
        output.value = value;
        output.slot = slot;
        let keeps = differs && output.own.is_none();
        if keeps {
            output.own = Some(Box::new(OwnInfo { ty: declared, ..OwnInfo::default() }));
        }
        self.record(value, Aspects::TYPE.when(takes));
        self.record(graph, Aspects::INTERFACE | Aspects::TYPE.when(keeps));
        self.names_touched = true;
    }

    /// Lets every use of `from` use `to` instead, graph outputs included; takes time linear in the uses.
    ///
    /// Names stay with their values: an output of a graph is then called as `to` is. Where callers rely on the name of an
    /// output, see [`Model::take_name`].
    ///
    /// # Panics
    ///
    /// Panics if a value is not of this model or was erased.
    pub fn replace_all_uses(&mut self, from: ValueId, to: ValueId) {
        self.replace_uses_where(from, to, |_, _| true);
    }

    /// Lets the uses of `from` that `select` accepts use `to` instead.
    ///
    /// # Panics
    ///
    /// Panics if a value is not of this model or was erased.
    pub fn replace_uses_where(
        &mut self,
        from: ValueId,
        to: ValueId,
        mut select: impl FnMut(&Self, Use) -> bool,
    ) {
        if from == to {
            return;
        }
        // Uses are taken from the end, so those that stay keep their places.
        let mut slot = self.values[from].uses.len();
        while slot > 0 {
            slot -= 1;
            let Some(&at) = self.values[from].uses.get(slot) else { continue };
            if select(self, at) {
                match at.user {
                    User::Node(node) => self.set_input(node, at.index as usize, Some(to)),
                    User::Attribute(node) => self.set_named_value(node, at.index as usize, to),
                    User::Graph(graph) => self.set_output(graph, at.index as usize, to),
                }
            }
        }
    }

    /// Lets the uses of `from` in one graph, and in the graphs nested in it, use `to` instead.
    ///
    /// # Panics
    ///
    /// Panics if a value or the graph is not of this model or was erased.
    pub fn replace_uses_in(&mut self, graph: GraphId, from: ValueId, to: ValueId) {
        self.replace_uses_where(from, to, |model, at| {
            let user_graph = match at.user {
                User::Node(node) | User::Attribute(node) => model.nodes[node].graph,
                User::Graph(user) => user,
            };
            model.is_inside(user_graph, graph)
        });
    }
}
