//! A large graph is walked by two threads.
//!
//! The second one walks the nodes of the latter half, as if nothing stood before them, and only to see whether anything is
//! to be said of them. That is rare, and where it is so, they are walked again behind the others. So what is found, and in
//! which order, does not depend on how many threads there are.

use std::sync::OnceLock;
use std::thread::Builder;

use onnx_ir::{GraphId, Model, NodeId};

use super::{Run, Task};
use crate::external::Piece;
use crate::imports::Imports;
use crate::names::Names;
use crate::options::{CheckOptions, Part};

/// The stack of the thread, in bytes: walking nests graphs on the heap.
const STACK: usize = 512 << 10;

/// What is left of walking nodes of which nothing is to be said.
struct Half<'a> {
    /// The names of what they define.
    names: Names,
    pieces: Vec<Piece<'a>>,
}

impl<'a> Run<'a> {
    /// Walks the main graph.
    pub(super) fn main_graph(&mut self, imports: &Imports) {
        let model = self.cx.model;
        let root = model.main_graph();
        let is_alone = model.algorithms().next().is_none();
        let middle = middle(model, root, self.cx.options.two_threads_from).filter(|_| is_alone);
        let Some(middle) = middle else { return self.graph(root, imports, model.algorithms()) };
        let mark = self.names.enter();
        let latter = OnceLock::new();
        std::thread::scope(|scope| {
            let options = self.cx.options;
            let work = || drop(latter.set(latter_half(model, options, middle, imports)));
            let is_started = Builder::new().stack_size(STACK).spawn_scoped(scope, work).is_ok();
            self.until = Some(middle).filter(|_| is_started);
            self.begin(root);
            self.work(imports);
        });
        let is_split = self.until.take().is_some();
        match latter.into_inner().flatten().filter(|half| !self.names.meet(&half.names)) {
            Some(half) => self.cx.pieces.extend(half.pieces),
            None if is_split => {
                self.tasks.push(Task::Nodes(middle));
                self.work(imports);
            }
            None => {}
        }
        self.names.leave(mark);
    }
}

/// The first node of the latter half of a graph that has so many nodes.
fn middle(model: &Model, graph: GraphId, fewest: usize) -> Option<NodeId> {
    let record = model.graph(graph);
    let last = record.last().filter(|_| record.node_count() >= fewest)?;
    std::iter::successors(Some(last), |&node| model.node(node).prev()).nth(record.node_count() / 2)
}

/// Walks the nodes from `node` on; `None` where anything is to be said of them, or a graph is nested in one of them.
fn latter_half<'a>(
    model: &'a Model,
    options: &'a CheckOptions,
    node: NodeId,
    imports: &Imports,
) -> Option<Half<'a>> {
    let mut run = Run::new(model, Part::Model, options);
    run.names.enter();
    for node in std::iter::successors(Some(node), |&node| model.node(node).next()) {
        if run.node(node, imports) || run.cx.is_unchecked {
            return None;
        }
        run.outputs(node);
        if run.cx.sink.counts().total() > 0 {
            return None;
        }
    }
    run.features.is_empty().then_some(Half { names: run.names, pieces: run.cx.pieces })
}
