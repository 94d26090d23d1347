//! The rule `attribute-lengths-differ`: lists whose entries belong together have different lengths.

use onnx_diag::{Diagnostic, Quoted, Rule, Severity};
use onnx_ir::AttrValue;

use crate::cx::NodeCx;

pub(crate) static RULE: Rule = Rule::new(
    2421,
    "attribute-lengths-differ",
    Severity::Error,
    "Lists whose entries at one index belong together have different lengths.",
)
.with_spec("Operators")
.with_explain(include_str!("attribute_lengths_differ.md"));

pub(crate) fn check(cx: &mut NodeCx<'_, '_>) {
    let Some(schema) = cx.schema() else { return };
    let (id, node) = (cx.id, cx.node);
    for names in schema.parallel_lists() {
        let lists = node.attributes().iter().filter(|given| names.contains(&given.name()));
        let mut lists = lists.filter_map(|given| Some((given.name(), length(given.value())?)));
        let Some((first, expected)) = lists.next() else { continue };
        let Some((name, found)) = lists.find(|&(_, length)| length != expected) else { continue };
        cx.report(&RULE, |places| {
            let [text, other] = [name, first].map(|name| Quoted(places.str(name)));
            let message = format!("{text} has {found} entries, and {other} has {expected}");
            Diagnostic::new(&RULE, places.attribute(id, name), message)
                .help("give all of them as many entries: those at one index belong together")
        });
    }
}

/// The number of entries of a list; `None` if it has none, as some writers give for a list that they do not mean.
fn length(value: &AttrValue) -> Option<usize> {
    let length = match value {
        AttrValue::Floats(list) => list.len(),
        AttrValue::Ints(list) => list.len(),
        AttrValue::Strings(list) => list.len(),
        _ => return None,
    };
    (length > 0).then_some(length)
}

#[cfg(test)]
mod tests {
    use onnx_ir::AttrValue;

    use crate::testing::{Builder, check_model};

    fn model(m: &mut Builder, op: &str, lists: &[(&str, usize)]) {
        m.import("ai.onnx.ml", 3);
        m.inputs(["x"]);
        let attributes: Vec<_> = lists
            .iter()
            .map(|&(name, length)| match name {
                "nodes_modes" => {
                    let modes = vec![bytes::Bytes::from_static(b"LEAF"); length];
                    m.attribute(name, AttrValue::Strings(modes))
                }
                "nodes_values" | "target_weights" | "offset" | "scale" => {
                    m.attribute(name, AttrValue::Floats(vec![0.5; length]))
                }
                _ => m.attribute(name, AttrValue::Ints(vec![0; length])),
            })
            .collect();
        m.node_with(&format!("y = ai.onnx.ml.{op} (x)"), attributes);
        m.outputs(["y"]);
    }

    fn place(op: &str, name: &str) -> String {
        format!(r#"graph "g" / node #0 ai.onnx.ml::{op} / attribute "{name}""#)
    }

    #[test]
    fn entries_at_one_index_belong_together() {
        let nodes = [("nodes_treeids", 3), ("nodes_modes", 3), ("nodes_values", 3), ("target_ids", 1)];
        check_model(|m| model(m, "TreeEnsembleRegressor", &nodes), &[]);
        let place_of = |name| place("TreeEnsembleRegressor", name);
        let lists = [("nodes_treeids", 3), ("nodes_modes", 2)];
        check_model(|m| model(m, "TreeEnsembleRegressor", &lists), &[("ONNX2421", &place_of("nodes_modes"))]);
        let lists = [("target_ids", 1), ("target_weights", 2), ("nodes_treeids", 3)];
        check_model(
            |m| model(m, "TreeEnsembleRegressor", &lists),
            &[("ONNX2421", &place_of("target_weights"))],
        );
        let lists = [("nodes_treeids", 3), ("nodes_values", 0)];
        check_model(|m| model(m, "TreeEnsembleRegressor", &lists), &[]);
        let lists = [("offset", 2), ("scale", 1)];
        check_model(|m| model(m, "Scaler", &lists), &[("ONNX2421", &place("Scaler", "scale"))]);
    }
}
