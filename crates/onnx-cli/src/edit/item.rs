//! The result of `onnx edit` for programs: `edit/1`.

use onnx_ir::ValueId;
use serde::Serialize;

use super::Done;
use crate::input::Loaded;

/// A model, as an item of `edit/1`.
#[derive(Serialize)]
pub(super) struct Item<'a> {
    name: &'a str,
    inputs: Vec<&'a str>,
    outputs: Vec<&'a str>,
    bound: Vec<Size<'a>>,
    freed: Vec<Size<'a>>,
    renamed_sizes: Vec<Pair<'a>>,
    constants: Vec<Replaced<'a>>,
    conditions: Vec<&'a str>,
    fixed_axes: Vec<Axis<'a>>,
    changed_types: u64,
    operators: u64,
    attributes: u64,
    layouts: u64,
    removed_sizes: u64,
    renamed_values: Vec<Pair<'a>>,
    renamed_nodes: Vec<Pair<'a>>,
    renamed_functions: Vec<Functions>,
    imports: Vec<&'a str>,
    /// The version of the format, if it is another one.
    ir_version: Option<i64>,
    descriptions: u64,
}

/// A variable, and the number that it has or had.
#[derive(Serialize)]
struct Size<'a> {
    variable: &'a str,
    size: i64,
}

/// An axis of an input, and its size.
#[derive(Serialize)]
struct Axis<'a> {
    axis: &'a str,
    size: i64,
}

#[derive(Serialize)]
struct Pair<'a> {
    from: &'a str,
    to: &'a str,
}

#[derive(Serialize)]
struct Functions {
    from: String,
    to: String,
}

/// A node whose constant was replaced.
#[derive(Serialize)]
struct Replaced<'a> {
    node: &'a str,
    change: &'a str,
}

fn sizes(list: &[(String, i64)]) -> Vec<Size<'_>> {
    list.iter().map(|(variable, size)| Size { variable, size: *size }).collect()
}

fn pairs(list: &[(String, String)]) -> Vec<Pair<'_>> {
    list.iter().map(|(from, to)| Pair { from, to }).collect()
}

impl<'a> Item<'a> {
    pub(super) fn new(loaded: &'a Loaded, done: Option<&'a Done>) -> Self {
        let model = &loaded.model;
        let graph = model.graph(model.main_graph());
        let name = |value: ValueId| model.str(model.value(value).name());
        let sizes_of =
            |list: fn(&Done) -> &Vec<(String, i64)>| done.map_or_else(Vec::new, |done| sizes(list(done)));
        let pairs_of =
            |list: fn(&Done) -> &Vec<(String, String)>| done.map_or_else(Vec::new, |done| pairs(list(done)));
        let constants = done.into_iter().flat_map(|done| &done.sizes.constants);
        let fixed = done.into_iter().flat_map(|done| &done.sizes.fixed_axes);
        let functions = done.into_iter().flat_map(|done| &done.names.functions);
        Item {
            name: &loaded.name,
            inputs: graph.inputs().iter().map(|&input| name(input)).collect(),
            outputs: graph.outputs().iter().map(|output| name(output.value())).collect(),
            bound: sizes_of(|done| &done.sizes.bound),
            freed: sizes_of(|done| &done.sizes.freed),
            renamed_sizes: pairs_of(|done| &done.sizes.renamed),
            constants: constants.map(|(node, change)| Replaced { node, change }).collect(),
            conditions: done
                .into_iter()
                .flat_map(|done| &done.sizes.conditions)
                .map(String::as_str)
                .collect(),
            fixed_axes: fixed.map(|(axis, size)| Axis { axis, size: *size }).collect(),
            changed_types: done.map_or(0, |done| (done.sizes.types + done.small.types) as u64),
            operators: done.map_or(0, |done| done.small.operators as u64),
            attributes: done.map_or(0, |done| done.small.attributes as u64),
            layouts: done.map_or(0, |done| done.small.layouts as u64),
            removed_sizes: done.map_or(0, |done| done.sizes.removed as u64),
            renamed_values: pairs_of(|done| &done.names.values),
            renamed_nodes: pairs_of(|done| &done.names.nodes),
            renamed_functions: functions
                .map(|(from, to)| Functions { from: from.to_string(), to: to.to_string() })
                .collect(),
            imports: done.into_iter().flat_map(|done| &done.imports).map(String::as_str).collect(),
            ir_version: done.and_then(|done| done.ir_version),
            descriptions: done.map_or(0, |done| done.metadata as u64),
        }
    }
}
