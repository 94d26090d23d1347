//! The pass `no-unused-imports`: imports of operator sets that no node uses are removed.

use std::collections::BTreeSet;

use onnx_ir::{GraphId, Model, OpsetImport};
use onnx_types::Symbol;

use super::Report;
use crate::assumption::Exactness;
use crate::cx::PassCx;
use crate::pass::Pass;

/// The name of the pass.
const NAME: &str = "no-unused-imports";

pub(super) fn pass() -> Pass {
    Pass::new(
        NAME,
        "Removes imports of operator sets that no node uses.",
        Exactness::Exact,
        no_unused_imports,
    )
    .with_page(include_str!("no_unused_imports.md"))
    .after("no-unused-functions")
}

/// Removes the imports of the model and of each function whose operator set no node in their scope uses. The import of the
/// default operator set of the model is kept.
pub fn no_unused_imports(cx: &mut PassCx<'_>) -> Report {
    cx.restructure(NAME, |model| {
        let mut removed = 0;
        for function in model.functions().to_vec() {
            let used = domains(model, [model.function(function).body()]);
            let imports = &model.function(function).opset_imports;
            let count = imports.iter().filter(|import| !used.contains(&import.domain())).count();
            if count > 0 {
                model.function_mut(function).opset_imports.retain(|import| used.contains(&import.domain()));
                removed += count;
            }
        }
        let is_of_model = |graph: &GraphId| {
            model.functions().iter().all(|&function| model.function(function).body() != *graph)
        };
        let roots: Vec<GraphId> = model.roots().filter(is_of_model).chain(model.algorithms()).collect();
        let used = domains(model, roots);
        let is_kept = |import: &OpsetImport| import.domain().is_empty() || used.contains(&import.domain());
        let count = model.info().opset_imports.iter().filter(|import| !is_kept(import)).count();
        if count > 0 {
            model.info_mut().opset_imports.retain(is_kept);
        }
        removed + count
    })
}

/// The operator sets of the nodes of graphs and of everything nested in them.
fn domains(model: &Model, graphs: impl IntoIterator<Item = GraphId>) -> BTreeSet<Symbol> {
    let nodes = graphs.into_iter().flat_map(|graph| model.nodes_in(graph));
    nodes.map(|node| model.node(node).domain()).collect()
}
