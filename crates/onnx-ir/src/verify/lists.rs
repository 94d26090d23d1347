//! Lists of nodes and lists of uses.

use onnx_types::Stopped;
use slotmap::SecondaryMap;

use super::FaultKind::{List, Use as UseList};
use super::{Subject, Verifier};
use crate::entity::{GraphId, NodeId};
use crate::value::{Use, User};

impl Verifier<'_> {
    pub(super) fn lists(&mut self) -> Result<(), Stopped> {
        let model = self.model;
        let mut seen = SecondaryMap::with_capacity(model.nodes.len());
        for (graph, _) in &model.graphs {
            self.list(graph, &mut seen)?;
        }
        for (node, _) in model.nodes.iter() {
            self.watch.work(1)?;
            self.require(
                seen.contains_key(node),
                List,
                Subject::Node(node),
                "the node is not in the list of any graph",
            );
        }
        Ok(())
    }

    fn list(&mut self, graph: GraphId, seen: &mut SecondaryMap<NodeId, ()>) -> Result<(), Stopped> {
        let model = self.model;
        let record = &model.graphs[graph];
        let (mut at, mut prev, mut order, mut count) = (record.first, None, 0, 0_usize);
        while let Some(node) = at {
            self.watch.work(1)?;
            let subject = Subject::Node(node);
            let Some(entry) = model.nodes.get(node) else {
                self.fault(List, Subject::Graph(graph), || format!("its list names {node}, which is gone"));
                return Ok(());
            };
            if seen.insert(node, ()).is_some() {
                self.fault(List, subject, || "the node is in a list twice".to_owned());
                return Ok(());
            }
            self.require(entry.graph == graph, List, subject, "the node is in the list of another graph");
            self.require(entry.prev == prev, List, subject, "the links to and from the node before disagree");
            self.require(
                entry.order > order,
                List,
                subject,
                "the order key is not above that of the node before",
            );
            order = entry.order;
            prev = at;
            at = entry.next;
            count += 1;
        }
        let subject = Subject::Graph(graph);
        self.require(record.last == prev, List, subject, "the last node is not the end of the list");
        self.require(record.node_count == count, List, subject, "the count of nodes is wrong");
        Ok(())
    }

    pub(super) fn uses(&mut self) -> Result<(), Stopped> {
        let model = self.model;
        for (node, record) in model.nodes.iter() {
            self.watch.work(1)?;
            for (index, operand) in record.inputs.iter().enumerate() {
                let Some(value) = operand.value else { continue };
                let expected = Use { user: User::Node(node), index: index as u32 };
                let found = model.values.get(value).map(|value| value.uses.get(operand.slot as usize));
                self.operand(Subject::Node(node), &format_args!("input {index}"), found, expected);
            }
            let attributes = record.attributes.iter();
            let named = attributes.flat_map(|attribute| attribute.value().values());
            self.require(
                named.clone().count() == record.name_slots.len(),
                UseList,
                Subject::Node(node),
                "the values that its attributes name have not one slot each",
            );
            for (index, (&value, &slot)) in named.zip(&record.name_slots).enumerate() {
                let expected = Use { user: User::Attribute(node), index: index as u32 };
                let found = model.values.get(value).map(|value| value.uses.get(slot as usize));
                self.operand(Subject::Node(node), &format_args!("name {index}"), found, expected);
            }
        }
        for (graph, record) in &model.graphs {
            for (index, output) in record.outputs.iter().enumerate() {
                let expected = Use { user: User::Graph(graph), index: index as u32 };
                let found = model.values.get(output.value).map(|value| value.uses.get(output.slot as usize));
                self.operand(Subject::Graph(graph), &format_args!("output {index}"), found, expected);
            }
        }
        self.use_lists()
    }

    fn use_lists(&mut self) -> Result<(), Stopped> {
        let model = self.model;
        for (value, record) in &model.values {
            self.watch.work(1)?;
            for (slot, at) in record.uses.iter().enumerate() {
                self.watch.work(1)?;
                let index = at.index as usize;
                let back = match at.user {
                    User::Node(node) => {
                        let operand = model.nodes.get(node).and_then(|node| node.inputs.get(index));
                        operand.and_then(|operand| Some((operand.value?, operand.slot)))
                    }
                    User::Attribute(node) => model.nodes.get(node).and_then(|node| {
                        Some((node.named_values().nth(index)?, *node.name_slots.get(index)?))
                    }),
                    User::Graph(graph) => {
                        let output = model.graphs.get(graph).and_then(|graph| graph.outputs.get(index));
                        output.map(|output| (output.value, output.slot))
                    }
                };
                let is_output = matches!(at.user, User::Graph(_));
                if is_output != (slot < record.graph_uses as usize) {
                    self.fault(UseList, Subject::Value(value), || {
                        format!("use {slot} of its list is not in order: uses by outputs come first")
                    });
                }
                if back != Some((value, slot as u32)) {
                    self.fault(UseList, Subject::Value(value), || {
                        format!("use {slot} of its list does not lead back to it: {at}")
                    });
                }
            }
        }
        Ok(())
    }

    fn operand(
        &mut self,
        subject: Subject,
        place: &std::fmt::Arguments<'_>,
        found: Option<Option<&Use>>,
        expected: Use,
    ) {
        match found {
            None => self.fault(UseList, subject, || format!("{place} names a value that is gone")),
            Some(found) if found != Some(&expected) => {
                self.fault(UseList, subject, || {
                    format!("{place} is not where it says in the value's list of uses")
                });
            }
            Some(_) => {}
        }
    }
}
