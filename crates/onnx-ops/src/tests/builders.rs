//! The parameters of builders, read from the generated source.

use std::collections::BTreeMap;

use onnx_schema::{Schema, domain, op};

use super::{Model, model, producer};
use crate::{Operator, ops};

const SOURCES: [(&str, &str); 4] = [
    ("", include_str!("../generated/onnx.rs")),
    ("ai.onnx.ml", include_str!("../generated/ml.rs")),
    ("ai.onnx.preview", include_str!("../generated/preview.rs")),
    ("ai.onnx.preview.training", include_str!("../generated/training.rs")),
];

/// The parameters of each builder after `build`, with their types, by the operator that it returns.
fn builders(source: &str) -> BTreeMap<String, Vec<(String, String)>> {
    let mut found = BTreeMap::new();
    for function in source.split("\npub fn ").skip(1) {
        let Some((head, _)) = function.split_once('{') else { continue };
        let Some((parameters, result)) = head.rsplit_once("-> Make<'a, 'b, ") else { continue };
        let operator = result.trim().trim_end_matches('>').to_owned();
        let (_, parameters) = parameters.split_once('(').expect("a list of parameters");
        let parameters = parameters.trim().trim_end_matches(')').split(',').filter_map(|parameter| {
            let (name, ty) = parameter.trim().split_once(": ")?;
            Some((name.to_owned(), ty.to_owned()))
        });
        found.insert(operator, parameters.skip(1).collect());
    }
    found
}

/// A name without case and underscores, so that names of the schema and of methods are comparable.
fn plain(name: &str) -> String {
    name.trim_end_matches("...").replace('_', "").to_lowercase()
}

fn newest(domain: &str) -> Vec<&'static Schema> {
    let mut newest: BTreeMap<&str, &'static Schema> = BTreeMap::new();
    for schema in onnx_schema::all().iter().filter(|schema| schema.domain_name() == domain) {
        let slot = newest.entry(schema.name()).or_insert(schema);
        if schema.since_version() > slot.since_version() {
            *slot = schema;
        }
    }
    newest.into_values().filter(|schema| !schema.is_deprecated()).collect()
}

/// Nothing that compiles may mean another operand: operands are in the order of the newest version, and required attributes
/// after them are of different types, or in an order that is chosen by hand.
#[test]
fn parameters_are_in_the_order_of_the_newest_version() {
    const ORDERED: [&str; 5] = ["If", "LinearAttention", "Momentum", "TfIdfVectorizer", "TreeEnsemble"];
    let mut count = 0;
    for (domain, source) in SOURCES {
        let builders = builders(source);
        for schema in newest(domain) {
            let parameters = &builders[schema.name()];
            let required =
                schema.inputs().iter().filter(|formal| !formal.is_optional() && formal.min_arity > 0);
            let mut expected: Vec<String> = required.map(|formal| plain(formal.name)).collect();
            let operands = expected.len();
            let names: Vec<String> = parameters.iter().map(|(name, _)| plain(name)).collect();
            assert_eq!(names.get(..operands), Some(expected.as_slice()), "the operands of {schema}");
            let attributes = schema.attributes().iter().filter(|formal| formal.is_required);
            expected.extend(attributes.map(|formal| plain(formal.text())));
            let (mut sorted, mut all) = (names, expected);
            sorted.sort_unstable();
            all.sort_unstable();
            assert_eq!(sorted, all, "the parameters of {schema}");
            let types: Vec<&str> = parameters.iter().skip(operands).map(|(_, ty)| ty.as_str()).collect();
            let is_repeated = (1..types.len()).any(|index| types[..index].contains(&types[index]));
            assert_eq!(is_repeated, ORDERED.contains(&schema.name()), "{schema}: {types:?}");
            count += 1;
        }
    }
    assert!(count > 200, "{count} builders");
}

#[test]
fn slices_begin_where_the_first_argument_says() {
    for version in [1, 10, 13] {
        let mut model: Model = model(version);
        let graph = model.main_graph();
        let x = model.add_graph_input(graph, "x", None);
        let mut build = model.build_at(onnx_ir::Position::End(graph));
        let y = ops::slice(&mut build, x, [1], [5]).output().unwrap();
        let slice = ops::Slice::of(&model, producer(&model, y)).unwrap();
        assert_eq!(slice.starts().known().as_deref(), Some(&[1_i64][..]));
        assert_eq!(slice.ends().known().as_deref(), Some(&[5_i64][..]));
    }
}

#[test]
fn branches_come_in_the_order_of_the_condition() {
    let mut model = model(13);
    let graph = model.main_graph();
    let condition = model.add_graph_input(graph, "c", None);
    let [yes, no] = [(); 2].map(|()| model.new_graph(onnx_types::Symbol::EMPTY));
    let mut build = model.build_at(onnx_ir::Position::End(graph));
    let node = ops::if_(&mut build, condition, yes, no).output().unwrap();
    let view = ops::If::of(&model, producer(&model, node)).unwrap();
    assert_eq!((view.then_branch().known(), view.else_branch().known()), (Some(yes), Some(no)));
    assert!(model.node(producer(&model, node)).is(op::IF));
    assert_eq!(model.node(producer(&model, node)).domain(), domain::ONNX);
}

/// A builder takes an element type, not its number, which any other integer could be taken for.
#[test]
fn element_types_are_not_numbers() {
    const NAMES: [&str; 6] = ["to", "dtype", "output_dtype", "stash_type", "softmax_precision", "precision"];
    let mut count = 0;
    for (domain, source) in SOURCES {
        for name in NAMES {
            assert!(!source.contains(&format!("{name}: i64")), "{domain}: {name}");
            count += source.matches(&format!("{name}: ElemType")).count();
        }
    }
    assert_eq!(count, 23);
    let mut model = model(13);
    let graph = model.main_graph();
    let x = model.add_graph_input(graph, "x", None);
    let mut build = model.build_at(onnx_ir::Position::End(graph));
    let y = ops::cast(&mut build, x, onnx_types::ElemType::Float16).output().unwrap();
    let cast = model.node(producer(&model, y));
    assert_eq!(cast.attribute(onnx_schema::attr::TO).and_then(|to| to.as_int()), Some(10));
}
