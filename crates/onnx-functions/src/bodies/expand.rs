//! Expansion: nodes are replaced by the bodies of their operators, until no selected node has a body.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use onnx_ir::{Event, FunctionId, Model, NodeId, ValueTypes};
use onnx_schema::{Schema, SchemaId};
use onnx_types::{ElemType, Stopped};

use super::types::depends_on_sizes;
use super::{body_of, fixed, has_body};
use crate::inline::{Calls, InlineError, InlineOptions, Inlined, InlinedCall, inline_calls};
use crate::reason::FunctionReason;

/// Most rounds of an expansion. Bodies use operators with bodies, but not in a cycle, and to a depth below 8, which a test
/// determines.
const MAX_ROUNDS: usize = 16;

/// Replaces the nodes for which `select` returns `true` by the bodies of their standard operators: nodes of the model,
/// and nodes of bodies that were inserted.
///
/// # Fixed point
///
/// Expansion runs in rounds. Each replaces all selected nodes that have a body; `infer` gives the types of values at the
/// beginning of each round, as bodies depend on the types of the operands. It ends when no selected node has a body. No
/// operator is used in its own body, directly or through others, so this takes few rounds. What remains are operators without
/// a body, nodes that are not selected, and those whose body is not known; [`Inlined::kept`] has the latter with the
/// reasons: a type or an attribute that the body depends on is not known, or the body is for an older operator set version in
/// which an operator meant something else.
///
/// Functions of the model are expanded like other graphs. A call of a function that has the name of an operator is not a node
/// of the operator.
///
/// # Errors
///
/// Returns an error if the result would exceed the limits `nodes` or `values`, which is computed in each round before
/// anything is replaced, or if the work is interrupted. Results of complete rounds are kept.
///
/// ```
/// use onnx_functions::{InlineOptions, expand};
/// use onnx_ir::DeclaredTypes;
/// use onnx_text::{ParseOptions, parse_model};
///
/// let text = r#"<ir_version: 10, opset_import: ["": 20]>
/// g (float[N] x) => (float[N] y) { y = Clip (x) }"#;
/// let mut model = parse_model(text, &ParseOptions::default())?;
/// let options = InlineOptions::default();
/// let done = expand(&mut model, &options, |_| Box::new(DeclaredTypes), |_, _, _| true)?;
/// assert_eq!(done.inlined(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn expand(
    model: &mut Model,
    options: &InlineOptions<'_>,
    mut infer: impl FnMut(&Model) -> Box<dyn ValueTypes>,
    mut select: impl FnMut(&Model, NodeId, &'static Schema) -> bool,
) -> Result<Inlined, InlineError> {
    let mut done = Inlined::default();
    for _ in 0..MAX_ROUNDS {
        let nodes = selected(model, options, &mut select);
        if nodes.is_empty() {
            break;
        }
        let types = infer(model);
        let mut round = Round::default();
        let built = round.build(model, options, &*types, &nodes);
        let inlined = match built {
            Ok(()) => inline_calls(model, options, std::mem::take(&mut round.calls)),
            Err(error) => Err(error),
        };
        model.remove_functions(&round.functions);
        let mut inlined = inlined?;
        let progress = inlined.inlined() > 0;
        // Nodes that were not expanded are tried again in the next round, so only the reasons of the last round count.
        done.calls.retain(|call| call.result.is_ok());
        inlined.calls.append(&mut round.kept);
        done.calls.append(&mut inlined.calls);
        if !progress {
            break;
        }
    }
    Ok(done)
}

/// The selected nodes that call an operator with a body.
fn selected(
    model: &Model,
    options: &InlineOptions<'_>,
    select: &mut impl FnMut(&Model, NodeId, &'static Schema) -> bool,
) -> Vec<NodeId> {
    let mut nodes = Vec::new();
    for graph in model.all_graphs() {
        for node in model.nodes(graph) {
            let Some(schema) = model.callee(node, options.registry).standard() else { continue };
            let version = || model.versions_in(graph).get(schema.domain());
            if schema.is_function()
                && version().is_some_and(|version| has_body(schema, version))
                && select(model, node, schema)
            {
                nodes.push(node);
            }
        }
    }
    nodes
}

/// The properties that nodes with one body have in common.
type Shared = (SchemaId, i64, Vec<Option<ElemType>>);

/// The bodies of a round.
#[derive(Default)]
struct Round {
    calls: Calls,
    functions: Vec<FunctionId>,
    kept: Vec<InlinedCall>,
    /// The functions of bodies that do not depend on the node, with their sizes, by schema, version and the types of operands.
    shared: HashMap<Shared, Result<(FunctionId, u64), FunctionReason>, RandomState>,
}

impl Round {
    /// Builds the bodies of nodes. Beyond the limit they are counted and dropped.
    fn build(
        &mut self,
        model: &mut Model,
        options: &InlineOptions<'_>,
        types: &dyn ValueTypes,
        nodes: &[NodeId],
    ) -> Result<(), InlineError> {
        let allowed = options.execution.limits.nodes;
        let mut needed = model.node_count() as u64;
        for &node in nodes {
            options.execution.interrupt.check().map_err(|stopped: Stopped| InlineError::Stopped(stopped))?;
            match self.body(model, options, types, node) {
                Ok((function, size)) => {
                    needed = needed.saturating_add(size);
                    self.calls.insert(node, function);
                }
                Err(reason) => {
                    let record = model.node(node);
                    self.kept.push(InlinedCall {
                        function: (record.domain(), record.op(), record.overload()),
                        node,
                        name: record.name(),
                        origin: model.node_origin(node),
                        parent: None,
                        result: Err(reason),
                    });
                }
            }
            if needed > allowed {
                let count = self.functions.len();
                self.functions.drain(count.saturating_sub(1)..).for_each(|function| {
                    model.remove_functions(&[function]);
                });
                self.shared.clear();
            }
        }
        if needed > allowed {
            return Err(InlineError::TooLarge { limit: "nodes", allowed, needed });
        }
        Ok(())
    }

    /// The body of a node, and the number of its nodes.
    fn body(
        &mut self,
        model: &mut Model,
        options: &InlineOptions<'_>,
        types: &dyn ValueTypes,
        node: NodeId,
    ) -> Result<(FunctionId, u64), FunctionReason> {
        let schema = model.callee(node, options.registry).standard();
        let graph = model.node(node).graph();
        let version = schema.and_then(|schema| model.versions_in(graph).get(schema.domain()));
        let elems = super::elems(model, node, types);
        let key = schema
            .zip(version)
            .filter(|&(schema, version)| fixed(schema, version).is_some() && !depends_on_sizes(schema));
        let shared = key.map(|(schema, version)| (schema.id(), version, elems));
        if let Some(known) = shared.as_ref().and_then(|key| self.shared.get(key)) {
            return known.clone();
        }
        let made = body_of(model, node, types, options.registry).map(|function| {
            self.functions.push(function);
            (function, size(model, function))
        });
        if let Some(key) = shared {
            self.shared.insert(key, made.clone());
        }
        made
    }
}

/// Number of nodes of a body, those of nested graphs included.
fn size(model: &Model, function: FunctionId) -> u64 {
    let events = model.walk(model.function(function).body());
    events.filter(|event| matches!(event, Event::Node(_))).count() as u64
}
