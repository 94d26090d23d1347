//! A graph that is being visited.

use std::rc::Rc;

use onnx_ir::{Attribute, GraphId, Model, NodeId};
use onnx_types::{ExprId, Symbol};

use super::control::Control;
use crate::table::Table;

/// The attributes that references in the body of a function refer to: those of the call, completed by the defaults of the
/// function. A reference that is not among them is omitted by the call. `None` if no call is known; a reference then has
/// an unknown value. Outside of functions the list is empty.
pub(super) type Args<'m> = Option<Rc<[(Symbol, &'m Attribute)]>>;

/// Whether a graph is executed when the model is. The order is from certain to impossible, so the maximum of a graph and
/// the graph that owns it applies to nodes in it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub(crate) enum Runs {
    /// In every run of the model.
    #[default]
    Always,
    /// Not known.
    Maybe,
    /// In no run of the model: the other branch is taken, or a loop has no iteration.
    Never,
}

impl Runs {
    /// For a graph that is executed if a size or an element is at least 1.
    pub(crate) const fn if_positive(is_positive: Option<bool>) -> Self {
        match is_positive {
            Some(true) => Self::Always,
            Some(false) => Self::Never,
            None => Self::Maybe,
        }
    }
}

/// Properties of a graph that depend on where it is used.
pub(super) struct FactScope<'m> {
    pub(super) args: Args<'m>,
    pub(super) call: u32,
    pub(super) runs: Runs,
}

enum Order {
    /// Along the links of the graph, of which `done` have been followed. Nodes that form a cycle cannot be visited in
    /// an order that has all inputs; the order of the file is used then, and is no longer checked.
    Linked { next: Option<NodeId>, done: usize, is_watched: bool },
    /// In the order that data flow asks for.
    Listed(std::vec::IntoIter<NodeId>),
}

pub(super) struct Frame<'m> {
    pub(super) graph: GraphId,
    order: Order,
    current: Option<NodeId>,
    pub(super) args: Args<'m>,
    /// The visit of a function that this is part of, by its number; 0 outside of functions.
    pub(super) call: u32,
    pub(super) runs: Runs,
    /// The state of the current node's rule, if it has entered a graph.
    pub(super) control: Option<Box<Control>>,
    /// The expressions that were first met as sizes here. When the graph need not run, they say nothing outside.
    pub(super) sizes: Vec<ExprId>,
}

impl<'m> Frame<'m> {
    pub(super) fn new(model: &Model, graph: GraphId, scope: FactScope<'m>) -> Self {
        let order = Order::Linked { next: model.graph(graph).first(), done: 0, is_watched: true };
        let FactScope { args, call, runs } = scope;
        Self { graph, order, current: None, args, call, runs, control: None, sizes: Vec::new() }
    }

    /// A frame for one node of a graph.
    pub(super) fn single(graph: GraphId, node: NodeId, scope: FactScope<'m>) -> Self {
        let order = Order::Listed(vec![node].into_iter());
        let FactScope { args, call, runs } = scope;
        Self { graph, order, current: None, args, call, runs, control: None, sizes: Vec::new() }
    }

    /// Goes on to the next node; `table` holds what was found in this visit of the graph.
    ///
    /// Nearly all graphs are sorted, so this is not checked in advance, which would visit all nodes and inputs. The
    /// first node that precedes one of its producers shows that the graph is not sorted; up to that node, both orders
    /// agree.
    pub(super) fn next(&mut self, model: &Model, table: &Table) -> Option<NodeId> {
        if let Order::Linked { next: Some(node), done, is_watched: is_watched @ true } = &mut self.order
            && !is_ready(model, table, *node)
        {
            match model.sorted_nodes(self.graph) {
                Ok(mut nodes) => {
                    nodes.drain(..(*done).min(nodes.len()));
                    self.order = Order::Listed(nodes.into_iter());
                }
                Err(_) => *is_watched = false,
            }
        }
        self.current = match &mut self.order {
            Order::Linked { next, done, .. } => {
                let node = *next;
                *next = node.and_then(|node| model.node(node).next());
                *done = done.saturating_add(1);
                node
            }
            Order::Listed(nodes) => nodes.next(),
        };
        self.current
    }

    /// Makes `node` the current node, out of order.
    pub(super) const fn stand_at(&mut self, node: NodeId) {
        self.current = Some(node);
    }

    /// The node that is being visited.
    pub(super) const fn current(&self) -> Option<NodeId> {
        self.current
    }
}

/// Returns `true` if all producers of the inputs of a node precede it. A value with a known type was visited.
fn is_ready(model: &Model, table: &Table, node: NodeId) -> bool {
    let record = model.node(node);
    if record.inputs().flatten().all(|value| table.contains(value)) && record.nested_graphs().next().is_none()
    {
        return true;
    }
    let order = model.order_key(node);
    let mut is_ready = true;
    model.for_each_predecessor(node, |producer| is_ready &= model.order_key(producer) < order);
    is_ready
}
