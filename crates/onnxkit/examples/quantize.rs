//! Quantizes convolutions and products to 8 bits: `cargo run -p onnxkit --example quantize IN OUT`.
//!
//! The form is `QuantizeLinear` and `DequantizeLinear` around the operators (QDQ): activations `uint8` with one scale, weights
//! `int8` with a scale for each channel. The ranges of activations are those of runs on generated inputs, which an [`Observer`]
//! sees; a real calibration runs the model on samples of its data.
#![allow(clippy::print_stdout, reason = "an example")]

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::error::Error;
use std::sync::Mutex;

use onnxkit::eval::{EvalOptions, Evaluator, NodeRun, Observer, Statistics, Value, constant};
use onnxkit::ir::{Model, NodeId, Position, ValueId};
use onnxkit::ops::{Operator, ops};
use onnxkit::pass::{FeedOptions, feeds};
use onnxkit::types::tensor::{DataSource, NoData, Tensor};
use onnxkit::types::{Execution, Interrupt};

/// The least and the greatest number of each value in all runs.
struct Ranges<'m> {
    model: &'m Model,
    found: Mutex<HashMap<ValueId, (f64, f64)>>,
}

impl Ranges<'_> {
    fn add(&self, value: ValueId, found: &Value) {
        let Some(tensor) = found.tensor() else { return };
        let Ok(statistics) = Statistics::of(tensor, &Interrupt::NEVER) else { return };
        let (Some(min), Some(max)) = (statistics.min, statistics.max) else { return };
        let Ok(mut ranges) = self.found.lock() else { return };
        let range = ranges.entry(value).or_default();
        // A range contains 0, so that padding is exact.
        *range = (range.0.min(min.to_f64()), range.1.max(max.to_f64()));
    }
}

impl Observer for Ranges<'_> {
    fn end(&self, run: &NodeRun<'_>) {
        let outputs = self.model.node(run.node).outputs().iter().zip(run.outputs);
        outputs.for_each(|(&output, value)| {
            if let (Some(output), Some(value)) = (output, value) {
                self.add(output, value);
            }
        });
    }
}

/// The ranges of all values that runs with these seeds compute.
fn calibrate(
    model: &Model,
    data: &dyn DataSource,
    seeds: std::ops::Range<u64>,
) -> Result<HashMap<ValueId, (f64, f64)>, Box<dyn Error>> {
    let ranges = Ranges { model, found: Mutex::default() };
    let evaluator = Evaluator::new(model, &EvalOptions::default().with_data(data).with_observer(&ranges))?;
    for seed in seeds {
        let options =
            FeedOptions::default().with_data(data).with_execution(Execution::DEFAULT.with_seed(seed));
        let feeds = feeds(model, &options)?;
        for (name, value) in &feeds.values {
            model.find_value(model.main_graph(), name).iter().for_each(|&input| ranges.add(input, value));
        }
        evaluator.run(&feeds.by_name())?;
    }
    Ok(ranges.found.into_inner()?)
}

/// The activation and the weight of a node that is quantized, and the axis of the channels of the weight.
fn operands(model: &Model, node: NodeId) -> Option<(ValueId, ValueId, usize)> {
    if let Some(conv) = ops::Conv::of(model, node) {
        return Some((conv.x()?, conv.w()?, 0));
    }
    if let Some(gemm) = ops::Gemm::of(model, node) {
        let is_transposed = gemm.trans_b().known()? != 0;
        return (gemm.trans_a().known()? == 0).then_some((gemm.a()?, gemm.b()?, usize::from(!is_transposed)));
    }
    let product = ops::MatMul::of(model, node)?;
    Some((product.a()?, product.b()?, 1))
}

/// A weight in 8 bits: the elements, and the scale of each channel.
fn quantize(weight: &Tensor, axis: usize) -> Option<(Tensor, Tensor)> {
    let view = weight.view::<f32>(&NoData).ok()?;
    let elements = view.to_slice().ok()?;
    let dims: Vec<usize> = weight.dims().iter().map(|&size| size.try_into().ok()).collect::<Option<_>>()?;
    let (&channels, inner) = (dims.get(axis)?, dims.get(axis + 1..)?.iter().product::<usize>());
    let channel = |index: usize| index / inner % channels;
    let mut scales = vec![f32::MIN_POSITIVE; channels];
    for (index, element) in elements.iter().enumerate() {
        let scale = scales.get_mut(channel(index))?;
        *scale = scale.max(element.abs() / 127.0);
    }
    let code = |(index, element): (usize, &f32)| Some((element / scales.get(channel(index))?).round() as i8);
    let codes: Vec<i8> = elements.iter().enumerate().map(code).collect::<Option<_>>()?;
    Some((Tensor::from_slice(weight.dims().iter().copied(), &codes).ok()?, Tensor::vector(&scales)))
}

/// Quantizes all convolutions and products with constant weights, and returns how many.
pub fn quantize_model(model: &mut Model, data: &dyn DataSource) -> Result<usize, Box<dyn Error>> {
    let ranges = calibrate(model, data, 0..3)?;
    let mut narrow: HashMap<ValueId, ValueId> = HashMap::new();
    let mut count = 0;
    for node in model.nodes(model.main_graph()).collect::<Vec<_>>() {
        let Some((x, w, axis)) = operands(model, node) else { continue };
        let Some(&(min, max)) = ranges.get(&x) else { continue };
        let Ok(weight) = constant(model, w, &EvalOptions::default().with_data(data)) else { continue };
        let is_matrix = weight.rank() == 2 || ops::Conv::of(model, node).is_some();
        let Some((codes, scales)) = quantize(&weight, axis).filter(|_| is_matrix) else { continue };
        let mut build = model.build_at(Position::Before(node));
        if let Entry::Vacant(entry) = narrow.entry(x) {
            let scale = ((max - min) / 255.0).max(f64::from(f32::MIN_POSITIVE));
            let (size, zero) = (Tensor::scalar(scale as f32), Tensor::scalar((-min / scale).round() as u8));
            let (size, zero) = (build.constant(size)?, build.constant(zero)?);
            let code = ops::quantize_linear(&mut build, x, size).y_zero_point(zero).output()?;
            let back = ops::dequantize_linear(&mut build, code, size).x_zero_point(zero).output()?;
            entry.insert(back);
        }
        let (codes, scales) = (build.constant(codes)?, build.constant(scales)?);
        let back = ops::dequantize_linear(&mut build, codes, scales).axis(axis as i64).output()?;
        model.set_input(node, 0, narrow.get(&x).copied());
        model.set_input(node, 1, Some(back));
        count += 1;
    }
    model.erase_unused();
    Ok(count)
}

fn main() -> Result<(), Box<dyn Error>> {
    use onnxkit::codec::{DecodeOptions, EncodeOptions, ReadMode, WriteOptions, load, save};
    let mut args = std::env::args().skip(1);
    let (Some(input), Some(output)) = (args.next(), args.next()) else {
        return Err("usage: quantize IN OUT".into());
    };
    let mut loaded = load(&input, ReadMode::Memory, &DecodeOptions::default())?;
    let count = quantize_model(&mut loaded.model, &loaded.data)?;
    println!("{count} nodes are quantized");
    save(&output, &loaded.model, &[], &EncodeOptions::default(), &WriteOptions::default())?;
    Ok(())
}
