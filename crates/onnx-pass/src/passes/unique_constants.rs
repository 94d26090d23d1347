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
        let mut known: HashMap<u64, Vec<ValueId>, RandomState> = HashMap::default();
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
fn merge(
    model: &mut Model,
    value: ValueId,
    known: &mut HashMap<u64, Vec<ValueId>, RandomState>,
    data: &dyn DataSource,
) -> bool {
    // Callers can override the default of an input.
    if !matches!(model.value(value).def(), Def::Initializer(_)) || model.is_graph_output(value) {
        return false;
    }
    let Some(constant) = model.value(value).constant() else { return false };
    let mut hasher = FixedState::default().build_hasher();
    constant.hash_meaning(data, &mut hasher);
    let candidates = known.entry(hasher.finish()).or_default();
    let graph = model.graph_of(value);
    let is_twin = |&&other: &&ValueId| {
        model
            .get_value(other)
            .is_some_and(|record| record.constant().is_some_and(|other| other.same_meaning(constant, data)))
            && model.is_visible(other, graph)
    };
    let Some(&twin) = candidates.iter().find(is_twin) else {
        candidates.push(value);
        return false;
    };
    model.replace_all_uses(value, twin);
    model.erase_value(value).is_ok()
}
