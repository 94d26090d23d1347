//! Definitions of values.

use onnx_types::Stopped;
use slotmap::SecondaryMap;

use super::FaultKind::Definition;
use super::{Subject, Verifier};
use crate::entity::{GraphId, ValueId};
use crate::value::Def;

impl Verifier<'_> {
    pub(super) fn definitions(&mut self) -> Result<(), Stopped> {
        let model = self.model;
        for (node, record) in model.nodes.iter() {
            self.watch.work(1)?;
            for (index, &value) in record.outputs.iter().enumerate() {
                let Some(value) = value else { continue };
                let expected = Def::Output { node, index: index as u32 };
                self.defined(Subject::Node(node), &format_args!("output {index}"), value, expected);
            }
        }
        for (graph, record) in &model.graphs {
            for (index, &value) in record.inputs.iter().enumerate() {
                let expected = Def::Input { graph, index: index as u32 };
                self.defined(Subject::Graph(graph), &format_args!("input {index}"), value, expected);
            }
        }
        for (value, record) in &model.values {
            self.watch.work(1)?;
            let there = match record.def {
                Def::Unresolved(_) => true,
                Def::Input { graph, index } => {
                    let inputs = model.graphs.get(graph).map(|graph| graph.inputs.as_slice());
                    inputs.and_then(|inputs| inputs.get(index as usize)) == Some(&value)
                }
                Def::Initializer(graph) => model.graphs.contains_key(graph),
                Def::Output { node, index } => {
                    model.nodes.get(node).and_then(|node| node.output(index as usize)) == Some(value)
                }
            };
            if !there {
                self.fault(Definition, Subject::Value(value), || {
                    format!("its definition does not refer back to it: {}", record.def)
                });
            }
        }
        Ok(())
    }

    fn defined(&mut self, subject: Subject, place: &std::fmt::Arguments<'_>, value: ValueId, expected: Def) {
        match self.model.values.get(value).map(|record| record.def) {
            None => self.fault(Definition, subject, || format!("{place} names {value}, which is gone")),
            Some(def) if def != expected => {
                self.fault(Definition, subject, || {
                    format!("{place} is {value}, whose definition is another: {def}")
                });
            }
            Some(_) => {}
        }
    }

    pub(super) fn initializers(&mut self) -> Result<(), Stopped> {
        let model = self.model;
        let mut listed: SecondaryMap<ValueId, GraphId> = SecondaryMap::new();
        for (graph, record) in &model.graphs {
            let mut gone = 0;
            for &value in &record.initializers {
                self.watch.work(1)?;
                if !model.values.contains_key(value) {
                    gone += 1;
                } else if listed.insert(value, graph).is_some() {
                    self.fault(Definition, Subject::Value(value), || {
                        format!("a list of initializers contains it a second time, that of {graph}")
                    });
                }
            }
            self.require(
                gone == record.stale_initializers,
                Definition,
                Subject::Graph(graph),
                "the count of initializers that are gone is wrong",
            );
        }
        for (value, record) in &model.values {
            self.watch.work(1)?;
            let home = match record.def {
                Def::Initializer(graph) => Some(graph),
                Def::Input { graph, .. } if record.constant.is_some() => Some(graph),
                _ => None,
            };
            let subject = Subject::Value(value);
            let holds = record.constant.is_some() == home.is_some();
            self.require(
                holds,
                Definition,
                subject,
                "it has contents and is not an initializer, or vice versa",
            );
            let holds = listed.get(value).copied() == home;
            self.require(
                holds,
                Definition,
                subject,
                "its graph's list of initializers does not agree with it",
            );
        }
        Ok(())
    }
}
