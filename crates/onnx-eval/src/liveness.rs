//! Liveness: the nodes after which values are not needed any more.

use onnx_ir::{Def, Event, GraphId, Model, NodeId, User, ValueId};
use slotmap::SecondaryMap;

/// The values that are not needed after each node, in the graph that defines them. Outputs of graphs are needed to the end.
///
/// ```
/// use onnx_eval::Liveness;
///
/// let text = r#"<ir_version: 10, opset_import: ["": 20]>
/// g (float[N] x) => (float[N] y) {
///    a = Exp (x)
///    b = Neg (a)
///    y = Add (a, b)
/// }"#;
/// let model = onnx_text::parse_model(text, &onnx_text::ParseOptions::default())?;
/// let graph = model.main_graph();
/// let liveness = Liveness::of(&model, graph);
/// let ends: Vec<Vec<&str>> = model
///     .nodes(graph)
///     .map(|node| liveness.after(node).iter().map(|&value| model.str(model.value(value).name())).collect())
///     .collect();
/// assert_eq!(ends, [vec![], vec![], vec!["a", "b"]]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Liveness {
    dying: SecondaryMap<NodeId, Vec<ValueId>>,
}

impl Liveness {
    /// The liveness of the values in a graph and those nested in it, whose nodes are in topological order. A use in a nested
    /// graph is one of the node around it.
    #[must_use]
    pub fn of(model: &Model, graph: GraphId) -> Self {
        let mut last: SecondaryMap<ValueId, NodeId> = SecondaryMap::new();
        let mut order: Vec<ValueId> = Vec::new();
        // The open graphs, each with the node that is visited.
        let mut depths: SecondaryMap<GraphId, usize> = SecondaryMap::new();
        let mut open: Vec<Option<NodeId>> = Vec::new();
        for event in model.walk(graph) {
            match event {
                Event::Enter(graph) => {
                    depths.insert(graph, open.len());
                    open.push(None);
                }
                Event::Leave(graph) => {
                    // The output of a nested graph is used by the node that contains the graph.
                    for output in model.graph(graph).outputs() {
                        used(model, output.value(), &depths, &open, &mut last, &mut order);
                    }
                    depths.remove(graph);
                    open.pop();
                }
                Event::Node(node) => {
                    if let Some(slot) = open.last_mut() {
                        *slot = Some(node);
                    }
                    let record = model.node(node);
                    for value in record.inputs().flatten().chain(record.outputs().iter().copied().flatten()) {
                        used(model, value, &depths, &open, &mut last, &mut order);
                    }
                }
                Event::After(_) => {}
            }
        }
        let mut dying: SecondaryMap<NodeId, Vec<ValueId>> = SecondaryMap::new();
        for value in order.into_iter().filter(|&value| is_freed(model, value)) {
            let Some(&node) = last.get(value) else { continue };
            match dying.get_mut(node) {
                Some(values) => values.push(value),
                None => drop(dying.insert(node, vec![value])),
            }
        }
        Self { dying }
    }

    /// The outputs of nodes that are not needed after a node: their last use is in it, or it makes them and nothing uses them.
    #[must_use]
    pub fn after(&self, node: NodeId) -> &[ValueId] {
        self.dying.get(node).map_or(&[], Vec::as_slice)
    }
}

/// Returns `true` if a value is the output of a node and not of its graph.
fn is_freed(model: &Model, value: ValueId) -> bool {
    let record = model.value(value);
    let graph = model.graph_of(value);
    matches!(record.def(), Def::Output { .. })
        && !record.output_uses().iter().any(|used| matches!(used.user, User::Graph(other) if other == graph))
}

/// Records a use of a value: by the node of its graph that is visited.
fn used(
    model: &Model,
    value: ValueId,
    depths: &SecondaryMap<GraphId, usize>,
    open: &[Option<NodeId>],
    last: &mut SecondaryMap<ValueId, NodeId>,
    order: &mut Vec<ValueId>,
) {
    let depth = depths.get(model.graph_of(value)).copied();
    if let Some(node) = depth.and_then(|depth| open.get(depth).copied().flatten())
        && last.insert(value, node).is_none()
    {
        order.push(value);
    }
}
