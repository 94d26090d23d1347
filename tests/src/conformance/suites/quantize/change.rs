//! The change of a number format that follows from a seed.

use onnx_compose::Quantization;
use onnx_ir::Model;
use onnx_quantize::{
    BlockOptions, Calibration, DequantizeOptions, DynamicOptions, GeneratedSamples, Granularity, Half,
    MeasureOptions, Method, NarrowOptions, StaticOptions, WeightOptions, dequantize, is_quantized_type,
    narrow, quantize_blocks, quantize_calibrated, quantize_dynamic, quantize_weights,
};
use onnx_types::ElemType;

/// All kinds of changes.
pub(super) const KINDS: [&str; 7] =
    ["half", "weights", "weights and back", "dynamic", "blocks", "pairs", "operators"];

/// What was done.
pub(super) struct Done {
    pub(super) kind: &'static str,
    pub(super) to: Option<ElemType>,
}

/// The types of quantized numbers.
pub(super) fn types() -> impl Iterator<Item = ElemType> {
    ElemType::all().filter(|&elem| is_quantized_type(elem))
}

/// Changes a model; an error says why that is refused.
pub(super) fn change(model: &mut Model, seed: u64, tables: &[Quantization]) -> Result<Done, String> {
    let turn = usize::try_from(seed / 2).unwrap_or(0);
    let all: Vec<ElemType> = types().collect();
    let kind = KINDS[turn % KINDS.len()];
    let turn = turn / KINDS.len();
    let of = |types: &[ElemType]| types.get(turn % types.len().max(1)).copied().unwrap_or(ElemType::Int8);
    let bytes = [ElemType::Int8, ElemType::Uint8];
    let to = match kind {
        "half" => None,
        "weights" | "weights and back" => Some(of(&all)),
        "dynamic" => Some(of(&bytes)),
        "blocks" => Some(of(&[ElemType::Int4, ElemType::Uint4, ElemType::Int8, ElemType::Uint8])),
        _ => Some(of(tables.get(turn % tables.len().max(1)).map_or(&bytes, |table| &table.activations))),
    };
    let done = match (kind, to) {
        (_, None) => {
            let half = if turn.is_multiple_of(2) { Half::Float16 } else { Half::Bfloat16 };
            let options = NarrowOptions::default().with_keep_io(turn.is_multiple_of(3));
            narrow(model, half, &options).map(|_| ()).map_err(|error| error.to_string())
        }
        ("weights", Some(to)) => weights(model, to, turn),
        ("weights and back", Some(to)) => weights(model, to, turn).and_then(|()| {
            dequantize(model, &DequantizeOptions::default()).map(|_| ()).map_err(|error| error.to_string())
        }),
        ("dynamic", Some(to)) => {
            let options = DynamicOptions::default().with_per_channel(turn % 4 < 2);
            quantize_dynamic(model, to, &options).map(|_| ()).map_err(|error| error.to_string())
        }
        ("blocks", Some(to)) => {
            let registry = onnx_schema::Registry::STANDARD;
            let options = BlockOptions::default()
                .with_block([16, 32][turn / 4 % 2])
                .with_symmetric(turn.is_multiple_of(3))
                .with_registry(registry);
            quantize_blocks(model, to, &options).map(|_| ()).map_err(|error| error.to_string())
        }
        (_, Some(to)) => calibrated(model, to, turn, (tables, kind == "operators")),
    };
    done.map(|()| Done { kind, to })
}

/// Weights only.
fn weights(model: &mut Model, to: ElemType, turn: usize) -> Result<(), String> {
    let granularities = [Granularity::Tensor, Granularity::Channel, Granularity::Block(16)];
    let options = WeightOptions::default()
        .with_granularity(granularities[turn % granularities.len()])
        .with_symmetric(turn.is_multiple_of(4));
    quantize_weights(model, to, &options).map(|_| ()).map_err(|error| error.to_string())
}

/// Activations and weights.
fn calibrated(
    model: &mut Model,
    to: ElemType,
    turn: usize,
    (tables, operators): (&[Quantization], bool),
) -> Result<(), String> {
    let Some(table) = tables.get(turn % tables.len().max(1)) else { return Ok(()) };
    let methods = [Method::MinMax, Method::Percentile(99.9), Method::Entropy, Method::Mse];
    let before = model.clone();
    let settings = MeasureOptions::default();
    let samples = GeneratedSamples::new(&before, 2, &settings);
    let options = StaticOptions::new(table)
        .with_per_channel(turn.is_multiple_of(2))
        .with_symmetric(turn.is_multiple_of(5));
    let calibration = Calibration::default()
        .with_samples(Some(&samples))
        .with_method(methods[turn % methods.len()])
        .with_operators(operators);
    quantize_calibrated(model, to, &calibration, &options).map(|_| ()).map_err(|error| error.to_string())
}
