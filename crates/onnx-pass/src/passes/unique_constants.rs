//! The pass `unique-constants`: initializers of equal elements are one.

use std::collections::HashMap;
use std::hash::Hasher as _;

use foldhash::fast::{FixedState, RandomState};
use onnx_ir::{Def, GraphId, Model, User, ValueId};
use onnx_schema::op;
use onnx_types::tensor::{DataSource, Tensor};
use std::hash::BuildHasher as _;

use super::Report;
use crate::assumption::Exactness;
use crate::cx::PassCx;
use crate::pass::Pass;

/// The name of the pass.
const NAME: &str = "unique-constants";

pub(super) fn pass() -> Pass {
    Pass::new(NAME, "Merges initializers of equal type and elements.", Exactness::Exact, unique_constants)
        .with_page(include_str!("unique_constants.md"))
}

/// Merges initializers of equal type and elements, also those of nested graphs with those around them. They are compared by
/// a hash first, then by their bytes; external data is read only if the options have a source for it. Those to which annotations, training
/// bindings or device configurations refer are not merged.
pub fn unique_constants(cx: &mut PassCx<'_>) -> Report {
    let data = cx.options().data;
    let references = cx.references();
    // A runtime makes a kernel of quantized weights that no other node uses.
    let keeps_weights = cx.options().idioms.is_some();
    cx.restructure(NAME, |model| {
        let mut known = Known::default();
        let mut merged = 0;
        // Graphs precede those that are nested in them.
        let graphs: Vec<GraphId> = model.all_graphs().collect();
        for graph in graphs {
            let values: Vec<ValueId> = model.initializers(graph).collect();
            for value in values.into_iter().filter(|&value| references.allow(value)) {
                if keeps_weights && is_quantized_weight(model, value) {
                    continue;
                }
                merged += usize::from(merge(model, value, &mut known, data));
            }
        }
        merged
    })
}

/// The initializers that are kept, by their graph and the hash of their type and elements.
type Known = HashMap<(GraphId, u64), Vec<ValueId>, RandomState>;

/// Whether a value is more than one number that a `DequantizeLinear` reads.
fn is_quantized_weight(model: &Model, value: ValueId) -> bool {
    let is_dequantized = |user| {
        let User::Node(user) = user else { return false };
        let record = model.node(user);
        record.is(op::DEQUANTIZE_LINEAR) && record.input(0) == Some(value)
    };
    let count = model.constant_tensor(value).and_then(Tensor::element_count);
    count.is_some_and(|count| count > 1) && model.value(value).uses().iter().any(|at| is_dequantized(at.user))
}

/// Replaces an initializer by an equal one that is visible where it is; `false` if there is none.
fn merge(model: &mut Model, value: ValueId, known: &mut Known, data: &dyn DataSource) -> bool {
    // Callers can override the default of an input.
    if !matches!(model.value(value).def(), Def::Initializer(_)) || model.is_graph_output(value) {
        return false;
    }
    let Some(constant) = model.value(value).constant() else { return false };
    let mut hasher = FixedState::default().build_hasher();
    constant.hash_meaning(data, &mut hasher);
    let (graph, hash) = (model.graph_of(value), hasher.finish());
    let is_twin = |&&other: &&ValueId| {
        let other = model.get_value(other).and_then(|record| record.constant());
        other.is_some_and(|other| other.same_meaning(constant, data))
    };
    // Only the graphs around are searched: many graphs next to each other may have an equal constant each.
    let around = std::iter::successors(Some(graph), |&graph| model.parent(graph));
    let twin = around.filter_map(|graph| known.get(&(graph, hash))?.iter().find(is_twin)).last().copied();
    let Some(twin) = twin else {
        known.entry((graph, hash)).or_default().push(value);
        return false;
    };
    model.replace_all_uses(value, twin);
    model.erase_value(value).is_ok()
}
