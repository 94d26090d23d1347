//! Checking a model again after edits, at the cost of the edits.
//!
//! The traversal of a full check visits *units*: a node, a value, a function, one rule about a graph. A unit that has nothing
//! to report stays so until something is edited that its rules read, so it is omitted until then. The units that have
//! something to report are visited every time, in the order of the full traversal: so places, counts, suggestions and what
//! is reported once for several units need no memory, and the report is that of a full check.
//!
//! So it is always right to visit a unit too often, and where it is not worth a table to know better, that is what happens.

mod identifiers;
mod marks;
mod memory;
mod plan;

use onnx_diag::Sink;
use onnx_ir::{Changes, Model};
use onnx_types::Execution;

use crate::options::CheckOptions;
use crate::run::{Tables, run_tracked};
use identifiers::WrongNameTable;
use memory::Memory;
use plan::Plan;

pub(crate) use identifiers::Named;
pub(crate) use plan::{Track, Unit};

/// A check that is repeated after edits of a model: only rules that read what was edited run again.
///
/// # Cost
///
/// [`update`](Self::update) takes time proportional to the edits, to the units that read the edited ones, and to the
/// units that have something to report, which are a node, a value, a function, an entry of `value_info`, or one rule about a
/// graph. Units that read others are:
///
/// * for a value, the nodes that use it and the node that makes it; for a value of an interface, the graph's rules about that;
/// * for a node that is moved, the users of its outputs and everything in its nested graphs;
/// * for a graph that is made or taken elsewhere, everything in it; for edits of its `value_info`, all of the list;
/// * for a name that two values or two nodes have, all of them.
///
/// Some rules summarize a graph or the model in one diagnostic (such as `node-name-twice`). They run if an edit may concern
/// them or while they have something to report, and then scan all names of the graph or model. For `name-not-identifier`
/// there is one such scan, after which a table of the names is kept; `dimension-variable-not-identifier` scans the types
/// again only after edits of types, or of lists of values with types. A report with the index of a node counts all nodes.
///
/// Everything is checked
///
/// * for the first time, and after [`Changes::Everything`];
/// * after edits of functions other than in their bodies, or of the inputs and outputs of a body;
/// * after edits of opset imports, the IR version, training steps and device configurations.
///
/// An edit of what functions call runs the rules about all functions.
///
/// The [root documentation](crate#after-edits) has an example.
pub struct IncrementalCheck {
    options: CheckOptions,
    /// What is known of the last check; `None` before the first.
    memory: Option<Memory>,
    tables: Tables,
    visited: usize,
}

impl IncrementalCheck {
    /// A check with options that stay the same, except for [`set_execution`](Self::set_execution).
    #[must_use]
    pub fn new(options: CheckOptions) -> Self {
        Self { options, memory: None, tables: Tables::default(), visited: 0 }
    }

    /// Checks a model after `changes`, which must be everything that was edited since the last call. The result is that of
    /// [`check`](crate::check) with the same options.
    ///
    /// # Panics
    ///
    /// Panics if the arenas of the model do not fit together, as `check` does. After a panic, and if the work was
    /// [stopped](onnx_types::Interrupt), the next call checks everything.
    #[must_use]
    pub fn update(&mut self, model: &Model, changes: &Changes) -> Sink {
        let registry = &self.options.registry;
        // A rule that panics leaves no memory, and a run that is stopped neither.
        let mut last = self.memory.take();
        let units = match (&mut last, changes) {
            (Some(memory), Changes::Edits(edits)) => marks::concerned(memory, model, registry, edits),
            _ => None,
        };
        let plan = units.map(|units| Plan::new(model, units));
        let mut memory = match (&plan, last) {
            (Some(_), Some(memory)) => memory,
            _ => Memory::new(model, registry),
        };
        let mut track = Track::new(plan);
        track.wrong_names = memory.wrong_names.as_ref().map(WrongNameTable::summary);
        track.wrong_variables = memory.wrong_variables;
        let sink = run_tracked(model, &self.options, &mut track, &mut self.tables);
        self.visited = track.visited;
        if !track.is_stopped {
            memory.revisited = track.revisited;
            memory.wrong_variables = track.wrong_variables;
            self.memory = Some(memory);
        }
        sink
    }

    /// Sets what ends the next updates early, and how many diagnostics they keep.
    pub fn set_execution(&mut self, execution: Execution) {
        self.options.execution = execution;
    }

    /// Number of units that the last [`update`](Self::update) visited. The rules of a unit run together.
    #[must_use]
    pub const fn visited(&self) -> usize {
        self.visited
    }
}

impl std::fmt::Debug for IncrementalCheck {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("IncrementalCheck").field("visited", &self.visited).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
