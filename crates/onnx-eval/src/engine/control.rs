//! Operators with graphs: which graph runs next.

use onnx_types::Symbol;

use crate::cx::{Cx, Outcome};
use crate::value::Value;

/// The next step of an operator with graphs.
pub(crate) enum Next {
    /// The graph in an attribute runs on these inputs; its outputs are the results of the next call.
    Enter {
        /// The name of the attribute.
        graph: Symbol,
        /// The inputs of the graph.
        inputs: Vec<Value>,
    },
    /// All outputs are set.
    Done,
}

/// The state of an operator with graphs. It is entered once without results, and again after each graph that it entered,
/// so that nesting needs no recursion.
pub(crate) trait Control {
    /// The next step, given the outputs of the graph that ran.
    fn step(&mut self, cx: &mut Cx<'_, '_>, results: Option<Vec<Value>>) -> Outcome<Next>;
}
