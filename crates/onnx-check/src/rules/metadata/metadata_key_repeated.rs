//! The rule `metadata-key-repeated`: the metadata of a part of the model has a key twice.

use onnx_diag::{Diagnostic, Rule, Severity};
use std::collections::BTreeSet;

use onnx_diag::Quoted;

use crate::declaration_cx::Holder;

use crate::declaration_cx::MetadataCx;

pub(crate) static RULE: Rule = Rule::new(
    2021,
    "metadata-key-repeated",
    Severity::Warning,
    "The metadata of a part of the model has a key twice.",
)
.with_spec("IR: Models")
.with_explain(include_str!("metadata_key_repeated.md"));

pub(crate) fn check(cx: &mut MetadataCx<'_, '_>) {
    if matches!(cx.holder, Holder::Model) || cx.entries.len() < 2 {
        return;
    }
    let mut seen = BTreeSet::new();
    let holder = cx.holder;
    for key in cx.keys() {
        if seen.insert(key) {
            continue;
        }
        cx.report(&RULE, |places| {
            let place = holder.locate(places).metadata(key);
            Diagnostic::new(&RULE, place, format!("metadata has the key {} twice", Quoted(key)))
                .help("remove one of them: readers disagree on whether the first or the last one applies")
                .beyond_reference(true)
        });
    }
}

#[cfg(test)]
mod tests {
    use onnx_ir::MetadataEntry;

    use crate::testing::{Builder, check_model};

    fn entries(m: &mut Builder, keys: &[&str]) -> Vec<MetadataEntry> {
        keys.iter().map(|key| MetadataEntry::new(m.model.intern(key), "value")).collect()
    }

    #[test]
    fn keys_of_graphs_and_functions_stand_once() {
        let model = |m: &mut Builder, keys: &[&str]| {
            let graph = m.graph();
            m.model.graph_mut(graph).metadata = entries(m, keys);
            m.function("d", "f", Some(""), |_| ());
            m.last_function().metadata = entries(m, keys);
        };
        check_model(
            |m| model(m, &["a", "b", "a"]),
            &[
                ("ONNX2021", r#"graph "g" / metadata "a""#),
                ("ONNX2021", r#"function "f" of domain "d" / metadata "a""#),
            ],
        );
        check_model(|m| model(m, &["a", "b"]), &[]);
    }

    #[test]
    fn keys_of_nodes_and_tensors_stand_once() {
        let model = |m: &mut Builder, keys: &[&str]| {
            let mut tensor = crate::testing::scalar();
            let metadata = keys.iter().map(|&key| onnx_types::tensor::TensorMetadata::new(key, "v"));
            tensor.extra_mut().metadata.extend(metadata);
            m.initializer("w", tensor);
            let extras =
                onnx_ir::Extras::new(Default::default(), entries(m, keys), Default::default(), Vec::new());
            let node = onnx_ir::raw::NodeFields {
                op: onnx_schema::op::RELU,
                extras: Some(Box::new(extras)),
                ..Default::default()
            };
            let [w, y] = ["w", "y"].map(|name| m.model.intern(name));
            m.model.write_node(node, &[w], &[y]);
        };
        check_model(
            |m| model(m, &["a", "a"]),
            &[
                ("ONNX2021", r#"graph "g" / initializer "w" / metadata "a""#),
                ("ONNX2021", r#"graph "g" / node #0 Relu / metadata "a""#),
            ],
        );
        check_model(|m| model(m, &["a", "b"]), &[]);
    }
}
