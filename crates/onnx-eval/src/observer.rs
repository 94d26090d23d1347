//! Observing the nodes of a run: for measurements, and to inspect inner values.

use onnx_ir::{NodeId, ValueId};

use crate::value::Value;

/// Receives every node that runs, and what graphs receive ([`EvalOptions::with_observer`](crate::EvalOptions::with_observer)).
///
/// Calls nest: a node that enters graphs or calls a function ends after the nodes inside it, and a node in a loop begins and
/// ends in every iteration. If the run fails, the node that fails and the nodes around it have begun and do not end; no other
/// call follows. Several threads that run one evaluator call its observer at the same time.
///
/// Progress in general, without nodes and values, is [`Execution::with_progress`](onnx_types::Execution::with_progress).
///
/// ```
/// use std::sync::Mutex;
/// use onnx_eval::{EvalOptions, Evaluator, NodeRun, Observer, Value};
/// use onnx_ir::{Model, NodeId};
/// use onnx_types::tensor::Tensor;
///
/// /// The order in which nodes begin and end, with the types of their outputs.
/// struct Log<'m>(&'m Model, Mutex<Vec<String>>);
///
/// impl Log<'_> {
///     fn add(&self, event: &str, node: NodeId, rest: &str) {
///         let op = self.0.str(self.0.node(node).op());
///         self.1.lock().expect("no thread panics").push(format!("{event} {op}{rest}"));
///     }
/// }
///
/// impl Observer for Log<'_> {
///     fn begin(&self, node: NodeId) {
///         self.add("begin", node, "");
///     }
///
///     fn end(&self, run: &NodeRun<'_>) {
///         let types: Vec<String> = run.outputs.iter().flatten().map(Value::describe).collect();
///         self.add("end", run.node, &format!(" at depth {}: {}", run.depth, types.join(", ")));
///     }
/// }
///
/// let text = r#"<ir_version: 10, opset_import: ["": 20]>
/// g (bool c, float[2] x) => (float[2] y) {
///    y = If (c) <then_branch = t () => (float[2] a) { a = Neg (x) },
///                else_branch = e () => (float[2] b) { b = Abs (x) }>
/// }"#;
/// let model = onnx_text::parse_model(text, &onnx_text::ParseOptions::default())?;
/// let log = Log(&model, Mutex::default());
/// let evaluator = Evaluator::new(&model, &EvalOptions::default().with_observer(&log))?;
/// let inputs = [("c", Value::from(Tensor::scalar(true))), ("x", Value::from(Tensor::vector(&[1.0_f32, 2.0])))];
/// evaluator.run(&inputs)?;
/// let lines = log.1.into_inner()?;
/// assert_eq!(lines, ["begin If", "begin Neg", "end Neg at depth 2: float[2]", "end If at depth 1: float[2]"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Observer: Sync {
    /// A graph begins with values for its inputs: the main graph, one nested in a node, in every iteration of a loop, or the body of a
    /// function. A value is `None` for an argument that a call omits, and for an input of the main graph that keeps its initializer.
    fn enter(&self, inputs: &[ValueId], values: &[Option<Value>]) {
        let _ = (inputs, values);
    }

    /// A node begins.
    fn begin(&self, node: NodeId) {
        let _ = node;
    }

    /// A node has computed its outputs.
    fn end(&self, run: &NodeRun<'_>) {
        let _ = run;
    }
}

/// A node that has run; [`Observer`] has an example.
#[derive(Debug)]
#[non_exhaustive]
pub struct NodeRun<'a> {
    /// The node.
    pub node: NodeId,
    /// Number of graphs that are active: 1 for a node of the main graph.
    pub depth: usize,
    /// The outputs in the order of the node; `None` for an output that the node omits or does not compute.
    pub outputs: &'a [Option<Value>],
    /// Bytes of all values that the run keeps, the outputs included; weights of the model are not counted. A tensor that is
    /// kept counts as 128 bytes in addition to its elements, as for [`run_bytes`](onnx_types::Limits::run_bytes).
    pub live_bytes: u64,
}
