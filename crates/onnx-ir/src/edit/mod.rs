//! Making, moving and erasing nodes, values, graphs and functions.

mod attributes;
mod functions;
mod graphs;
mod nodes;
mod values;

use std::fmt;

use onnx_diag::Quoted;
use onnx_types::Stopped;

use crate::entity::{GraphId, NodeId, ValueId};
use crate::model::Model;
use crate::places::Places;

/// Why an edit was refused. The model is unchanged.
///
/// Its text has no names, as it has no model: [`show`](Self::show) gives one with names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum EditError {
    /// The node, value, graph or function is not in the model (any more).
    Gone,
    /// A value is still used, so what defines it cannot go.
    StillUsed {
        /// The value.
        value: ValueId,
        /// Number of its uses.
        uses: usize,
    },
    /// A value already has a definition.
    AlreadyDefined {
        /// The value.
        value: ValueId,
    },
    /// A graph belongs to something already.
    AlreadyOwned {
        /// The graph.
        graph: GraphId,
    },
    /// A graph cannot become part of a node that it contains.
    AroundItself {
        /// The graph.
        graph: GraphId,
    },
    /// An imported part uses a value from outside, and nothing was mapped to it.
    NotMapped {
        /// The value of the other model.
        value: ValueId,
    },
    /// The model has another function of the same domain, name and overload.
    FunctionExists,
    /// A node cannot move into a graph that is part of itself.
    IntoItself {
        /// The node.
        node: NodeId,
        /// The graph.
        graph: GraphId,
    },
    /// An interrupt ended the work: see [`Importer::set_interrupt`](crate::Importer::set_interrupt).
    Stopped,
}

impl EditError {
    /// The error as text with the names of the values, nodes and graphs that it is about. They are those of the model that was
    /// edited; of [`NotMapped`](Self::NotMapped), that of the model that is copied from.
    ///
    /// ```
    /// use onnx_ir::{Model, Position};
    /// use onnx_schema::op;
    ///
    /// let mut model = Model::new();
    /// let graph = model.main_graph();
    /// let x = model.add_graph_input(graph, "x", None);
    /// let y = model.build_at(Position::End(graph)).op(op::RELU, [x]).output_named("y")?;
    /// model.push_graph_output(graph, y);
    /// let error = model.erase_node(model.value(y).producer().unwrap()).unwrap_err();
    /// assert_eq!(error.show(&model).to_string(), "value `y` is still used once: replace its uses first");
    /// # Ok::<(), onnx_ir::EditError>(())
    /// ```
    #[must_use]
    pub const fn show<'a>(&'a self, model: &'a Model) -> ShowEditError<'a> {
        ShowEditError { error: self, model: Some(model) }
    }
}

/// An [`EditError`] with names; made by [`EditError::show`].
#[derive(Clone, Copy)]
pub struct ShowEditError<'a> {
    error: &'a EditError,
    model: Option<&'a Model>,
}

impl fmt::Debug for ShowEditError<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl ShowEditError<'_> {
    fn value(&self, value: ValueId) -> String {
        let record = self.model.and_then(|model| Some((model, model.get_value(value)?)));
        match record {
            Some((model, record)) if !record.name().is_empty() => {
                format!("value {}", Quoted(model.str(record.name())))
            }
            Some((model, record)) if let Some(node) = record.producer() => {
                format!("the result of {}", Places::new(model).node(node))
            }
            _ => "a value".to_owned(),
        }
    }

    fn graph(&self, graph: GraphId) -> String {
        let record = self.model.and_then(|model| Some((model, model.get_graph(graph)?)));
        match record {
            Some((model, record)) if !record.name().is_empty() => {
                format!("graph {}", Quoted(model.str(record.name())))
            }
            _ => "a graph".to_owned(),
        }
    }

    fn node(&self, node: NodeId) -> String {
        match self.model.filter(|model| model.get_node(node).is_some()) {
            Some(model) => Places::new(model).node(node).to_string(),
            None => "a node".to_owned(),
        }
    }
}

impl fmt::Display for ShowEditError<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self.error {
            EditError::Gone => f.write_str("the key is not in this model: erased, or of another model"),
            EditError::StillUsed { value, uses } => {
                write!(f, "{} is still used ", self.value(value))?;
                match uses {
                    1 => f.write_str("once")?,
                    uses => write!(f, "{uses} times")?,
                }
                f.write_str(": replace its uses first")
            }
            EditError::AlreadyDefined { value } => {
                write!(f, "{} already has a definition: make a new value for the output", self.value(value))
            }
            EditError::AlreadyOwned { graph } => write!(
                f,
                "{} already has an owner: only a detached graph can become part of a node",
                self.graph(graph)
            ),
            EditError::AroundItself { graph } => {
                write!(f, "{} cannot become part of a node that it contains", self.graph(graph))
            }
            EditError::NotMapped { value } => {
                write!(f, "{} is outside the copied part: map it to a value", self.value(value))
            }
            EditError::FunctionExists => f.write_str(
                "the model has another function of this domain, name and overload: rename one of them first",
            ),
            EditError::IntoItself { node, graph } => {
                write!(f, "{} cannot move into {}, which is part of it", self.node(node), self.graph(graph))
            }
            EditError::Stopped => write!(f, "{Stopped}"),
        }
    }
}

impl fmt::Display for EditError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        ShowEditError { error: self, model: None }.fmt(f)
    }
}

impl std::error::Error for EditError {}
