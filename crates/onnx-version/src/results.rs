//! What holds after a conversion: no node that was valid before has become invalid, and no invalid node was converted.

use std::collections::HashSet;

use onnx_ir::{Model, NodeId};
use onnx_schema::Schema;
use onnx_shape_infer::fault::{BAD_ATTRIBUTE, BAD_VALUE, MISSING};
use onnx_shape_infer::{InferOptions, Inference, infer};
use onnx_types::tensor::Tensor;

use crate::engine::Engine;
use crate::plan::Unconvertible;
use crate::reason::{Cause, VersionReason};

/// A contradiction of the converted model.
struct Found {
    /// The node of the original model.
    node: NodeId,
    /// Whether an attribute or a constant operand is wrong by itself.
    is_own: bool,
    message: String,
}

impl Engine<'_> {
    /// Refuses the nodes that contradict themselves in every run of the result. Steps pass on what they do not compute with, and
    /// a version can define what an earlier one does not: an invalid node would become another invalid node, or a valid one.
    ///
    /// What contradicts itself in `before`, too, and is not changed is as wrong as it was.
    pub(crate) fn check_results(&mut self, before: &Model) {
        if !self.refusals.is_empty() {
            return;
        }
        self.infer();
        let found: Vec<Found> = self
            .types
            .inference()
            .into_iter()
            .flat_map(Inference::contradicted)
            .map(|(node, rule, message)| Found {
                node: self.source(node),
                is_own: [&BAD_ATTRIBUTE, &BAD_VALUE, &MISSING].iter().any(|of| of.code == rule.code),
                message: message.to_owned(),
            })
            .collect();
        if found.is_empty() {
            return;
        }
        let options =
            InferOptions::default().with_registry(self.registry).with_execution(self.execution.clone());
        let known: HashSet<NodeId> = infer(before, &options).contradicted().map(|(node, ..)| node).collect();
        let changed: HashSet<NodeId> = self.records.iter().map(|record| record.node).collect();
        for Found { node, is_own, message } in found {
            if before.get_node(node).is_some()
                && (!known.contains(&node) || (is_own && changed.contains(&node)))
            {
                self.refuse_result(before, node, &message);
            }
        }
    }

    fn refuse_result(&mut self, before: &Model, node: NodeId, message: &str) {
        let record = before.node(node);
        let target = self.target;
        let from = before.versions_in(record.graph()).get(self.set).unwrap_or(target);
        let since = onnx_schema::lookup(self.set, record.op(), from).map_or(from, Schema::since_version);
        let reason = format!("what it becomes is not valid in that version: {message}");
        let reason = VersionReason::new(Cause::Invalid, reason);
        let op = before.str(record.op()).to_owned();
        self.refuse(Unconvertible { node, op, since, to: target, target, reason });
    }
}

/// Checks a tensor that a step makes of one of the model.
pub(crate) fn check_tensor(tensor: &Tensor) -> Result<(), VersionReason> {
    match tensor.faults().first() {
        Some(fault) => {
            Err(VersionReason::new(Cause::Invalid, format!("a tensor of it is not valid: {fault}")))
        }
        None => Ok(()),
    }
}
