//! A graph that is being visited.

use std::rc::Rc;

use onnx_ir::{Attribute, GraphId, Model, NodeId};
use onnx_types::{ExprId, Symbol};

use super::control::Control;

/// The versions of the domains in force, as imported.
pub(super) type Opsets = Rc<[(Symbol, i64)]>;

/// What attribute references mean in the body of a function.
pub(super) type Args<'m> = Rc<[(Symbol, &'m Attribute)]>;

/// What holds in a graph because of where it stands.
pub(super) struct Scope<'m> {
    pub(super) opsets: Opsets,
    pub(super) args: Args<'m>,
    pub(super) call: u32,
}

enum Order {
    /// The graph is sorted: along its links.
    Linked(Option<NodeId>),
    /// In the order that data flow asks for.
    Listed(std::vec::IntoIter<NodeId>),
}

pub(super) struct Frame<'m> {
    pub(super) graph: GraphId,
    order: Order,
    current: Option<NodeId>,
    pub(super) opsets: Opsets,
    pub(super) args: Args<'m>,
    /// The visit of a function that this is part of, by its number; 0 outside of functions.
    pub(super) call: u32,
    /// The state of the current node's rule, if it has entered a graph.
    pub(super) control: Option<Box<Control>>,
    /// The expressions that were first met as sizes here. When the graph need not run, they say nothing outside.
    pub(super) sizes: Vec<ExprId>,
}

impl<'m> Frame<'m> {
    pub(super) fn new(model: &Model, graph: GraphId, scope: Scope<'m>) -> Self {
        // Nodes in a circle can be visited in no order that has all inputs; the order of the file serves.
        let order = match if model.is_sorted(graph) { None } else { model.sorted_nodes(graph).ok() } {
            Some(nodes) => Order::Listed(nodes.into_iter()),
            None => Order::Linked(model.graph(graph).first()),
        };
        let Scope { opsets, args, call } = scope;
        Self { graph, order, current: None, opsets, args, call, control: None, sizes: Vec::new() }
    }

    /// One node of a graph alone.
    pub(super) fn single(graph: GraphId, node: NodeId, opsets: Opsets) -> Self {
        let order = Order::Listed(vec![node].into_iter());
        Self {
            graph,
            order,
            current: None,
            opsets,
            args: Rc::from([]),
            call: 0,
            control: None,
            sizes: Vec::new(),
        }
    }

    pub(super) fn next(&mut self, model: &Model) -> Option<NodeId> {
        self.current = match &mut self.order {
            Order::Linked(next) => {
                let node = *next;
                *next = node.and_then(|node| model.node(node).next());
                node
            }
            Order::Listed(nodes) => nodes.next(),
        };
        self.current
    }

    /// Stands at a node out of turn.
    pub(super) const fn stand_at(&mut self, node: NodeId) {
        self.current = Some(node);
    }

    /// The node that is being visited.
    pub(super) const fn current(&self) -> Option<NodeId> {
        self.current
    }

    /// The version of a domain in force; the last import wins.
    pub(super) fn opset(&self, domain: Symbol) -> Option<i64> {
        self.opsets.iter().rev().find(|&&(known, _)| known == domain).map(|&(_, version)| version)
    }
}
