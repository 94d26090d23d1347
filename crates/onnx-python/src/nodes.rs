//! The iteration over nodes.

use std::thread::ThreadId;

use onnxkit::ir::{self, NodeId};
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::fault::{Fault, Outcome};
use crate::model::Model;
use crate::node::Node;

/// The nodes of a model at one moment.
#[pyclass(module = "onnxkit")]
pub(crate) struct NodeIter {
    model: Py<Model>,
    /// With the places of their operators in the list of these.
    nodes: std::vec::IntoIter<(NodeId, u32)>,
    operators: Vec<Py<PyString>>,
    /// When all of them were in the model.
    moment: u64,
    /// The thread that iterates, and the edits of others when it began.
    owner: ThreadId,
    foreign_edits: u64,
}

impl NodeIter {
    /// An iteration over some nodes of the model as it is now.
    pub(crate) fn new(
        py: Python<'_>,
        model: Py<Model>,
        all: impl FnOnce(&ir::Model) -> Outcome<Vec<NodeId>>,
    ) -> PyResult<Self> {
        let shared = model.get();
        let owner = std::thread::current().id();
        let (nodes, operators, moment, foreign_edits) = shared.read(py, |inner| {
            let (mut operators, mut places) = (Vec::new(), Vec::new());
            let mut placed = |id: NodeId| {
                let op = inner.model.node(id).op();
                let index = op.index() as usize;
                if places.len() <= index {
                    places.resize(index + 1, u32::MAX);
                }
                let Some(place) = places.get_mut(index) else { return (id, u32::MAX) };
                if *place == u32::MAX {
                    *place = u32::try_from(operators.len()).unwrap_or(u32::MAX);
                    operators.push(shared.string(py, &inner.model, op).unbind());
                }
                (id, *place)
            };
            let nodes: Vec<(NodeId, u32)> = all(&inner.model)?.into_iter().map(&mut placed).collect();
            Ok((nodes, operators, shared.moment(), inner.foreign_edits(owner)))
        })?;
        Ok(Self { model, nodes: nodes.into_iter(), operators, moment, owner, foreign_edits })
    }
}

#[pymethods]
impl NodeIter {
    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __len__(&self) -> usize {
        self.nodes.len()
    }

    fn __next__(&mut self, py: Python<'_>) -> PyResult<Option<Node>> {
        let Self { model, nodes, operators, moment, owner, foreign_edits } = self;
        if model.get().moment() == *moment {
            return Ok(nodes.next().map(|(id, place)| match operators.get(place as usize) {
                Some(op) => Node::at(model.clone_ref(py), id, (*moment, op.clone_ref(py))),
                None => Node::new(model.clone_ref(py), id),
            }));
        }
        let next = model.get().read(py, |inner| {
            let thread = inner.is_edited().then(|| std::thread::current().id());
            if thread.is_some_and(|thread| thread != *owner) {
                // The iterator was handed to another thread, whose edits are its own.
                *owner = std::thread::current().id();
                *foreign_edits = inner.foreign_edits(*owner);
            }
            if thread.is_some_and(|thread| inner.foreign_edits(thread) != *foreign_edits) {
                return Err(Fault::new(
                    "ConcurrentEditError",
                    "another thread changed the model during iteration",
                ));
            }
            Ok(nodes.find(|&(node, _)| inner.model.get_node(node).is_some()))
        })?;
        Ok(next.map(|(id, _)| Node::new(model.clone_ref(py), id)))
    }
}
