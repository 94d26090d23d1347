//! Idioms: nodes that a runtime executes as one kernel. Edits keep them whole, or make all of them unnecessary.
//!
//! A runtime finds an idiom by its form. An edit that replaces one of its nodes saves that node and costs the kernel, so
//! that the model becomes slower.

use onnx_diag::Quoted;
use onnx_ir::{Model, NodeId};
use onnx_shape_infer::Inference;
use onnx_types::Interrupt;
use onnx_types::tensor::DataSource;
use slotmap::SecondaryMap;

use crate::cx::PassCx;
use crate::keys::KeySet;
use crate::patch::Draft;

/// An occurrence of an idiom in a model.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Idiom {
    /// The name of the kernel that executes the nodes.
    pub kernel: String,
    /// The nodes.
    pub nodes: Vec<NodeId>,
}

impl Idiom {
    /// An occurrence.
    #[must_use]
    pub fn new(kernel: impl Into<String>, nodes: Vec<NodeId>) -> Self {
        Self { kernel: kernel.into(), nodes }
    }
}

/// The idioms of a runtime.
pub trait Idioms: Sync {
    /// The name of the runtime, for messages.
    fn runtime(&self) -> &str;

    /// The occurrences in a model; those that were found until an interrupt. `data` is the source of external weights.
    fn find(
        &self,
        model: &Model,
        inference: &Inference,
        data: &dyn DataSource,
        interrupt: &Interrupt,
    ) -> Vec<Idiom>;
}

/// The occurrences in the model of a context.
#[derive(Default)]
pub(crate) struct IdiomTable {
    idioms: Vec<Idiom>,
    /// The indices of the occurrences that contain a node.
    of_node: SecondaryMap<NodeId, Vec<usize>>,
    /// Number of entries of the journal when they were found.
    found_at: usize,
}

impl IdiomTable {
    fn new(idioms: Vec<Idiom>, found_at: usize) -> Self {
        let mut of_node: SecondaryMap<NodeId, Vec<usize>> = SecondaryMap::new();
        for (index, idiom) in idioms.iter().enumerate() {
            for &node in &idiom.nodes {
                match of_node.get_mut(node) {
                    Some(indices) => indices.push(index),
                    None => {
                        of_node.insert(node, vec![index]);
                    }
                }
            }
        }
        Self { idioms, of_node, found_at }
    }

    fn of(&self, node: NodeId) -> impl Iterator<Item = &Idiom> {
        self.of_node.get(node).into_iter().flatten().filter_map(|&index| self.idioms.get(index))
    }
}

impl PassCx<'_> {
    /// Finds the idioms of the model, if that was not done in this pass. It is done before a patch makes nodes, which would use
    /// values inside an idiom.
    pub(crate) fn find_idioms(&mut self) {
        if let Some(idioms) = self.options.idioms.filter(|_| self.idioms.is_none()) {
            let interrupt = &self.options.execution.interrupt;
            let found = idioms.find(self.model, &self.inference, self.options.data, interrupt);
            self.idioms = Some(IdiomTable::new(found, self.journal.len()));
        }
    }

    /// Forgets the idioms before a pass, unless nothing was edited since they were found.
    pub(crate) fn forget_idioms(&mut self) {
        let edits = self.journal.len();
        self.idioms.take_if(|found| found.found_at != edits);
    }

    /// The reason why a patch that erases nodes is not made: an idiom would not be whole any more. `None` if none is affected.
    pub(crate) fn broken_idiom(&mut self, draft: &Draft, dying: &[NodeId]) -> Option<String> {
        let idioms = self.options.idioms?;
        let found = self.idioms.take()?;
        let affected = dying.iter().flat_map(|&node| found.of(node).map(move |idiom| (node, idiom)));
        let mut affected = affected.peekable();
        // Most edits are outside of idioms.
        let is_any = affected.peek().is_some();
        let ends: KeySet<NodeId> = dying.iter().filter(|_| is_any).map(|&node| (node, ())).collect();
        let broken = affected.find(|&(node, idiom): &(NodeId, &Idiom)| {
            // An earlier edit can have replaced some of the nodes by others of the same operator.
            let mut left = idiom.nodes.iter().filter(|&&member| self.model.get_node(member).is_some());
            let ends_whole = left.all(|&member| ends.contains_key(member));
            !ends_whole && !self.has_successor(draft, node, idiom)
        });
        let reason = broken.map(|(_, idiom)| {
            let (kernel, runtime) = (Quoted(&idiom.kernel), Quoted(idioms.runtime()));
            format!("it would break a group of nodes that {runtime} executes as one kernel, {kernel}")
        });
        drop(affected);
        self.idioms = Some(found);
        reason
    }

    /// Returns `true` if a node of an idiom is replaced by a node of its operator outside of the idiom: its form remains, and
    /// runtimes merge equal nodes themselves before they search idioms.
    fn has_successor(&self, draft: &Draft, node: NodeId, idiom: &Idiom) -> bool {
        let model = &*self.model;
        let op = |node: NodeId| (model.node(node).domain(), model.node(node).op());
        let mut outputs = model.node(node).outputs().iter().flatten().peekable();
        outputs.peek().is_some()
            && outputs.filter(|&&output| model.value(output).is_used()).all(|&output| {
                let new = draft.pairs.iter().find(|&&(old, _)| old == output).map(|&(_, new)| new);
                let producer = new.and_then(|new| model.value(new).producer());
                producer.is_some_and(|new| op(new) == op(node) && !idiom.nodes.contains(&new))
            })
    }
}
