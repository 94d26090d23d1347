//! Observing the nodes of a run: for measurements, and to inspect inner values.

use onnx_ir::NodeId;

use crate::value::Value;

/// Receives every node that runs. A node that enters graphs or calls a function ends after the nodes inside.
pub trait Observer: Sync {
    /// A node begins.
    fn begin(&self, node: NodeId) {
        let _ = node;
    }

    /// A node has computed its outputs.
    fn end(&self, run: &NodeRun<'_>) {
        let _ = run;
    }
}

/// A node that has run.
#[derive(Debug)]
#[non_exhaustive]
pub struct NodeRun<'a> {
    /// The node.
    pub node: NodeId,
    /// Number of graphs that are active: 1 for a node of the main graph.
    pub depth: usize,
    /// The outputs in the order of the node; `None` for an output that the node omits or does not compute.
    pub outputs: &'a [Option<Value>],
    /// Bytes of all values that the run keeps, the outputs included; weights of the model are not counted.
    pub live_bytes: u64,
}
