//! The pass `no-metadata`: metadata of the model and of everything in it is removed.

use onnx_ir::{Cursor, GraphId, ValueId};

use super::Report;
use crate::assumption::Exactness;
use crate::commit::ASSUMED_KEY;
use crate::cx::PassCx;
use crate::pass::Pass;

/// The name of the pass.
const NAME: &str = "no-metadata";

/// Entries that state the conditions under which the model is equivalent to the original.
const KEPT: [&str; 2] = [ASSUMED_KEY, "onnx.infer.guard."];

pub(super) fn pass() -> Pass {
    Pass::new(NAME, "Removes all metadata except recorded assumptions.", Exactness::Exact, no_metadata)
        .with_page(include_str!("no_metadata.md"))
}

/// Removes `metadata_props` of the model, its graphs, functions, nodes and values. The conditions that earlier edits and
/// inferred types depend on are kept in that of the model.
pub fn no_metadata(cx: &mut PassCx<'_>) -> Report {
    cx.restructure(NAME, |model| {
        let is_kept = |key: &str| KEPT.iter().any(|prefix| key.starts_with(prefix));
        let kept: Vec<_> =
            model.info().metadata.iter().filter(|entry| is_kept(model.str(entry.key()))).cloned().collect();
        let mut removed = model.info().metadata.len() - kept.len();
        if removed > 0 {
            model.info_mut().metadata = kept;
        }
        for function in model.functions().to_vec() {
            let count = model.function(function).metadata.len();
            if count > 0 {
                model.function_mut(function).metadata.clear();
                removed += count;
            }
        }
        let graphs: Vec<GraphId> = model.all_graphs().collect();
        for graph in graphs {
            let count = model.graph(graph).metadata.len();
            if count > 0 {
                model.graph_mut(graph).metadata.clear();
                removed += count;
            }
            let values: Vec<ValueId> = model.definitions(graph).collect();
            for value in values {
                let count = model.value(value).metadata().len();
                if count > 0 {
                    model.value_extras_mut(value).metadata.clear();
                    removed += count;
                }
            }
        }
        let mut cursor = Cursor::all(model);
        while let Some(node) = cursor.next(model) {
            let count = model.node(node).metadata().len();
            if count > 0 {
                model.node_extras_mut(node).metadata.clear();
                removed += count;
            }
        }
        removed
    })
}
