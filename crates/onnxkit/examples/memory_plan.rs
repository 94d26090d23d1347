//! Plans the memory of activations: `cargo run -p onnxkit --example memory_plan MODEL`.
//!
//! A value lives from the node that makes it until [`Liveness`] says that nothing needs it. The peak of live bytes is an
//! expression of the dimension variables, which the plan also evaluates for given sizes: there each value gets an offset.
#![allow(clippy::print_stdout, reason = "an example")]

use std::collections::HashMap;
use std::error::Error;

use onnxkit::eval::Liveness;
use onnxkit::infer::{InferOptions, InputSizeOptions, InputSizes, infer};
use onnxkit::ir::{Model, ValueId};
use onnxkit::types::tensor::DataSource;
use onnxkit::types::{Dim, Symbol};

/// The memory of the main graph's values.
#[derive(Debug)]
pub struct Plan {
    /// The candidates for the peak of live bytes, as text: none of them is at most another one for all sizes.
    pub peak: Vec<String>,
    /// The place of each value: offset and bytes, for the sizes below.
    pub places: HashMap<ValueId, (i64, i64)>,
    /// Bytes of all places.
    pub bytes: i64,
    /// The sizes of the dimension variables.
    pub sizes: Vec<(String, i64)>,
    /// Names of values whose size is not known.
    pub unknown: Vec<String>,
}

/// The plan of a model.
pub fn plan(model: &Model, data: &dyn DataSource) -> Result<Plan, Box<dyn Error>> {
    let inference = infer(model, &InferOptions::default().with_data(data));
    let sizes = InputSizes::choose(model, &inference, &InputSizeOptions::default())?;
    let symbols: Vec<(Symbol, i64)> = sizes.symbols();
    let mut compiled = inference.shapes(model);
    let evaluated = compiled.evaluate(&symbols);
    let (graph, mut exprs) = (model.main_graph(), inference.exprs().clone());
    let liveness = Liveness::of(model, graph);
    let mut live: Vec<(ValueId, Dim)> = Vec::new();
    let mut used: Vec<(i64, i64, ValueId)> = Vec::new();
    let (mut peaks, mut unknown): (Vec<Dim>, Vec<String>) = (Vec::new(), Vec::new());
    let mut places = HashMap::new();
    for node in model.nodes(graph) {
        for &output in model.node(node).outputs().iter().flatten() {
            let width =
                inference.elem(output).and_then(|elem| elem.bits()).map(|bits| i64::from(bits.div_ceil(8)));
            let shape =
                evaluated.shape(output).and_then(|shape| shape.into_iter().collect::<Option<Vec<i64>>>());
            let (Some(width), Some(dims), Some(shape)) = (width, inference.shape(output), shape) else {
                unknown.push(model.str(model.value(output).name()).to_owned());
                continue;
            };
            let elements = dims.iter().fold(Dim::Known(1), |product, &dim| exprs.mul(product, dim));
            live.push((output, exprs.mul(elements, Dim::Known(width))));
            // First fit: the least offset at which no living value is in the way.
            let bytes = shape.iter().product::<i64>() * width;
            used.sort_unstable();
            let offset = used
                .iter()
                .fold(0, |at, &(begin, end, _)| if begin >= at + bytes { at } else { at.max(end) });
            used.push((offset, offset + bytes, output));
            places.insert(output, (offset, bytes));
        }
        let bytes: Vec<Dim> = live.iter().map(|&(_, bytes)| bytes).collect();
        let total = exprs.sum(&bytes);
        let is_at_most = |a, b| inference.facts().le(&exprs, a, b) == Some(true);
        if !peaks.iter().any(|&peak| is_at_most(total, peak)) {
            peaks.retain(|&peak| !is_at_most(peak, total));
            peaks.push(total);
        }
        live.retain(|(value, _)| !liveness.after(node).contains(value));
        used.retain(|(.., value)| !liveness.after(node).contains(value));
    }
    let names = inference.names(model);
    let peak = peaks.iter().map(|&peak| exprs.display(peak, &names).to_string()).collect();
    let bytes = places.values().map(|(offset, bytes)| offset + bytes).max().unwrap_or(0);
    Ok(Plan { peak, places, bytes, sizes: sizes.named(), unknown })
}

fn main() -> Result<(), Box<dyn Error>> {
    use onnxkit::codec::{DecodeOptions, ReadMode, load};
    let input = std::env::args().nth(1).ok_or("usage: memory_plan MODEL")?;
    let loaded = load(&input, ReadMode::Memory, &DecodeOptions::default())?;
    let plan = plan(&loaded.model, &loaded.data)?;
    println!("peak: the greatest of {}", plan.peak.join(", "));
    let sizes: Vec<String> = plan.sizes.iter().map(|(name, size)| format!("{name}={size}")).collect();
    println!("{} values take {} bytes for {}", plan.places.len(), plan.bytes, sizes.join(", "));
    println!("{} values of unknown size", plan.unknown.len());
    Ok(())
}
