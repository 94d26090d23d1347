//! Verifies that a model's arenas are consistent.
//!
//! # What is verified
//!
//! **Lists.** In every graph the links of nodes agree in both directions from the first node to the last, every node is
//! in the list of its graph and of no other graph, order keys ascend, and the count of nodes is correct.
//!
//! **Uses.** Every input of a node and every output of a graph refers to an existing value, and stores the index of
//! this use in the value's list; every use in a list leads back to that input or output. So the lists are exact.
//!
//! **Definitions.** Every output of a node and every input of a graph leads to a value whose definition leads back.
//! Every definition refers to an entity that refers back to the value. A value has contents if and only if the
//! initializer list of the graph that defines it contains it, once, as initializer or as input with a default.
//!
//! **Owners.** Every graph is owned once, by what its record names: the model, an attribute of a node, a function (as
//! body or in an attribute default), or an entry of the training information. Owners form trees: no graph lies in itself.
//! A graph has the scope of the graph around it, or of its function.
//! Detached graphs are allowed.
//!
//! **Functions.** Every function is in the file order once and has a body, and its domain, name and overload resolve to
//! the first function of that identity.
//!
//! **Visibility.** A used value is defined in the same graph as its user or in one that encloses it, or is unresolved.
//! Graphs that are detached, and what is nested in them, are exempt, as they are under construction.
//!
//! # What is not verified
//!
//! The checker, not this crate, determines whether a model is valid ONNX. This module does not check names (they may be
//! missing or the same until the model is written), unresolved values, the order of nodes (see [`Model::is_sorted`]),
//! types, attributes, operator sets, or the contents of tensors. Annotations, bindings, shardings and entries of
//! `value_info` may refer to erased values: writing skips them. The graph in which an unresolved value was looked up
//! may also be erased.

mod definitions;
mod lists;
mod owners;
mod visibility;

use std::fmt;

use onnx_types::{Interrupt, Stopped, Watch};
use slotmap::SecondaryMap;

use crate::entity::{FunctionId, GraphId, NodeId, ValueId};
use crate::model::Model;

/// The most faults that one run collects.
const MOST_FAULTS: usize = 1000;
/// Nodes and values between two checks of the interrupt.
const INTERVAL: u64 = 1 << 10;

/// The subject of a fault.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Subject {
    /// A node.
    Node(NodeId),
    /// A value.
    Value(ValueId),
    /// A graph.
    Graph(GraphId),
    /// A function.
    Function(FunctionId),
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Node(node) => node.fmt(f),
            Self::Value(value) => value.fmt(f),
            Self::Graph(graph) => graph.fmt(f),
            Self::Function(function) => function.fmt(f),
        }
    }
}

/// Which invariant is broken: the headings of [`Model::verify`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum FaultKind {
    /// The links, order keys or count of a list of nodes.
    List,
    /// A use list and the operands that belong to it.
    Use,
    /// A definition and the place that it names.
    Definition,
    /// The owner of a graph.
    Owner,
    /// The order or the index of functions.
    Function,
    /// A value is used where it cannot be seen.
    Visibility,
    /// A node precedes one whose outputs it needs; only [`Model::verify_sorted`] checks this.
    Order,
}

/// A broken invariant of a model; see [`Model::verify`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fault {
    /// Which invariant.
    pub kind: FaultKind,
    /// Its subject.
    pub subject: Subject,
    /// The violated invariant, in words.
    pub message: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.subject, self.message)
    }
}

impl std::error::Error for Fault {}

/// The state of one run of the verifier.
struct Verifier<'a> {
    model: &'a Model,
    faults: Vec<Fault>,
    /// Where a walk around the forest of graphs enters and leaves each graph, so that "encloses" is two comparisons.
    span: SecondaryMap<GraphId, (u32, u32)>,
    watch: Watch,
}

impl<'a> Verifier<'a> {
    fn new(model: &'a Model, interrupt: &Interrupt) -> Self {
        let watch = Watch::silent(interrupt, INTERVAL);
        Self { model, faults: Vec::new(), span: SecondaryMap::new(), watch }
    }

    fn all(mut self) -> Result<Result<(), Vec<Fault>>, Stopped> {
        self.lists()?;
        self.uses()?;
        self.definitions()?;
        self.initializers()?;
        self.owners()?;
        self.functions();
        // Walks up from graphs need their owners to be in order.
        if self.faults.is_empty() {
            self.visibility()?;
        }
        Ok(if self.faults.is_empty() { Ok(()) } else { Err(self.faults) })
    }

    fn fault(&mut self, kind: FaultKind, subject: Subject, message: impl FnOnce() -> String) {
        if self.faults.len() < MOST_FAULTS {
            self.faults.push(Fault { kind, subject, message: message() });
        }
    }

    fn require(&mut self, holds: bool, kind: FaultKind, subject: Subject, message: &str) {
        if !holds {
            self.fault(kind, subject, || message.to_owned());
        }
    }
}

impl Model {
    /// Proves the structural invariants of the model: links of nodes, use lists, definitions, owners of graphs, the index
    /// of functions, and that every used value is visible to its user.
    ///
    /// Edits through this crate keep all of them but the last, which moving nodes between graphs and redirecting uses can
    /// break. It takes time linear in the model. Run it after every pass in tests.
    ///
    /// It does not check whether the model is valid ONNX: names, types, order of nodes, attributes and operator sets
    /// are ignored.
    ///
    /// # Errors
    ///
    /// All faults found, up to a thousand.
    pub fn verify(&self) -> Result<(), Vec<Fault>> {
        // Nothing ends it early.
        self.verify_until(&Interrupt::NEVER).unwrap_or(Ok(()))
    }

    /// Like [`Model::verify`], unless the interrupt ends it.
    ///
    /// # Errors
    ///
    /// Returns an error if the work is interrupted. The result inside has all faults found, up to a thousand.
    pub fn verify_until(&self, interrupt: &Interrupt) -> Result<Result<(), Vec<Fault>>, Stopped> {
        Verifier::new(self, interrupt).all()
    }

    /// Like [`Model::verify`], and requires every graph to be sorted topologically, as a valid model is. Run it after every
    /// pass that expects and keeps sorted graphs.
    ///
    /// # Errors
    ///
    /// All faults found, up to a thousand.
    pub fn verify_sorted(&self) -> Result<(), Vec<Fault>> {
        self.verify()?;
        let mut verifier = Verifier::new(self, &Interrupt::NEVER);
        for graph in self.graphs.keys() {
            for node in self.nodes(graph) {
                let message = "the node precedes a node whose outputs it needs";
                let holds = self.is_after_predecessors(node);
                verifier.require(holds, FaultKind::Order, Subject::Node(node), message);
            }
        }
        if verifier.faults.is_empty() { Ok(()) } else { Err(verifier.faults) }
    }
}
