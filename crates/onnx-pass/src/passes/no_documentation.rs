//! The pass `no-documentation`: documentation of the model and of everything in it is removed.

use onnx_ir::{Cursor, GraphId, Model, ValueId};
use onnx_types::Symbol;

use super::Report;
use crate::assumption::Exactness;
use crate::cx::PassCx;
use crate::pass::Pass;

/// The name of the pass.
const NAME: &str = "no-documentation";

pub(super) fn pass() -> Pass {
    Pass::new(NAME, "Removes all documentation.", Exactness::Exact, no_documentation)
        .with_page(include_str!("no_documentation.md"))
}

/// Removes `doc_string` of the model, its graphs, functions, nodes, attributes and values.
pub fn no_documentation(cx: &mut PassCx<'_>) -> Report {
    cx.restructure(NAME, |model| {
        let mut removed = 0;
        if !model.info().doc.is_empty() {
            model.info_mut().doc = Symbol::EMPTY;
            removed += 1;
        }
        for function in model.functions().to_vec() {
            if !model.function(function).doc.is_empty() {
                model.function_mut(function).doc = Symbol::EMPTY;
                removed += 1;
            }
        }
        let graphs: Vec<GraphId> = model.all_graphs().collect();
        for graph in graphs {
            if !model.graph(graph).doc.is_empty() {
                model.graph_mut(graph).doc = Symbol::EMPTY;
                removed += 1;
            }
            let values: Vec<ValueId> = model.definitions(graph).collect();
            for value in values {
                if !model.value(value).doc().is_empty() {
                    model.value_extras_mut(value).doc = Symbol::EMPTY;
                    removed += 1;
                }
            }
        }
        removed + of_nodes(model)
    })
}

fn of_nodes(model: &mut Model) -> usize {
    let mut removed = 0;
    let mut cursor = Cursor::all(model);
    while let Some(node) = cursor.next(model) {
        if !model.node(node).doc().is_empty() {
            model.node_extras_mut(node).doc = Symbol::EMPTY;
            removed += 1;
        }
        let documented = model.node(node).attributes().iter().filter(|attribute| !attribute.doc().is_empty());
        for mut attribute in documented.cloned().collect::<Vec<_>>() {
            attribute.set_doc(Symbol::EMPTY);
            removed += usize::from(model.set_attribute(node, attribute).is_ok());
        }
    }
    removed
}
