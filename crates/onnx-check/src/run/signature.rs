//! The nodes that do not follow the signature of their operator.

use std::collections::HashMap;

use onnx_diag::{Caps, Policy, Severity, Sink};
use onnx_ir::{Callee, Model, NodeId, OpsetScope};
use onnx_types::Stopped;

use super::Run;
use crate::InvalidNode;
use crate::cx::{AttributeCx, NodeCx};
use crate::imports::Imports;
use crate::options::{CheckOptions, Part, Profile};
use crate::rules::signature;

/// Finds the nodes that are not valid in the versions of operator sets that are imported.
pub(crate) fn invalid_nodes(model: &Model, options: &CheckOptions) -> Result<Vec<InvalidNode>, Stopped> {
    // What a user thinks of a defect does not change what a node means.
    let options =
        CheckOptions { policy: Policy::new(), profile: Profile::Spec, rules: Vec::new(), ..options.clone() };
    let most = options.execution.limits.findings;
    let mut run = Run::new(model, Part::Model, &options);
    run.cx.sink = Sink::with(Policy::new(), Caps::NONE);
    let mut scopes: HashMap<OpsetScope, Imports> = HashMap::new();
    let mut found = Vec::new();
    for graph in model.all_graphs() {
        let scope = model.scope(graph);
        let next = u32::try_from(scopes.len()).unwrap_or(u32::MAX);
        let imports = scopes
            .entry(scope)
            .or_insert_with(|| Imports { versions: model.versions_of(scope).clone(), number: next });
        for node in model.nodes(graph) {
            run.watch.work(1)?;
            run.signature(node, imports);
            if run.cx.sink.is_empty() {
                continue;
            }
            let sink = std::mem::replace(&mut run.cx.sink, Sink::with(Policy::new(), Caps::NONE));
            let finding = sink.into_diagnostics().into_iter().find(|found| found.severity == Severity::Error);
            found.extend(finding.map(|finding| InvalidNode { node, finding }));
            if found.len() >= most {
                return Ok(found);
            }
        }
    }
    Ok(found)
}

impl Run<'_> {
    fn signature(&mut self, id: NodeId, imports: &Imports) {
        let record = self.cx.model.node(id);
        let callee = self.cx.model.callee_in(record, &imports.versions, &self.cx.options.registry);
        // Versions of other sets are not known, so that a declaration may be older or newer than the node.
        if matches!(callee, Callee::Custom(_) | Callee::Function(_)) {
            return;
        }
        let mut cx = NodeCx { cx: &mut self.cx, id, node: record, callee, imports };
        for entry in signature::NODE {
            (entry.check)(&mut cx);
        }
        let Some(schema) = cx.schema() else { return };
        for attribute in record.attributes() {
            let formal = schema.attribute(attribute.name());
            let (schema, declared) = (Some(schema), None);
            let mut cx = AttributeCx { cx: &mut self.cx, node: id, attribute, schema, formal, declared };
            for entry in signature::ATTRIBUTE {
                (entry.check)(&mut cx);
            }
        }
    }
}
