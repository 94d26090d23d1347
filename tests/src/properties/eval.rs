//! Runs: whatever the model and its inputs, a run ends with outputs or with a failure, within its limits, and the same again.

use std::sync::Arc;

use onnx_eval::compare::{Tolerances, compare_values};
use onnx_eval::{EvalOptions, Evaluator, FailureKind, Limits, MapKey, NodeRun, Observer, Value, contrib};
use onnx_ir::{Model, ValueId};
use onnx_schema::Registry;
use onnx_types::tensor::{Payload, Tensor};
use onnx_types::{Dim, ElemType, Symbol, Type, TypeKind};

use super::mutate::Numbers;
use super::{model_of, sound};

/// What a run may cost.
const LIMITS: Limits = Limits {
    run_elements: 1 << 16,
    run_bytes: 1 << 22,
    run_steps: 1 << 22,
    run_depth: 64,
    ..Limits::DEFAULT
};

/// Sizes of dimensions that are not known. The last ones are for tensors without elements, whose other sizes cost nothing.
const SIZES: [i64; 10] = [0, 1, 1, 2, 2, 3, 4, 5, 1 << 33, i64::MAX];

/// Any model runs on any inputs: the bytes are the model, and numbers made of them are the inputs. A run ends with outputs or
/// with a failure; it keeps its limits, and a second run returns the same.
///
/// # Errors
///
/// What does not hold.
pub fn eval(bytes: &[u8]) -> Result<(), String> {
    let Some(model) = model_of(bytes) else { return Ok(()) };
    let registry = Registry::standard().with(contrib::pack()).map_err(|error| error.to_string())?;
    let seed = bytes.iter().fold(0, |seed: u64, &byte| seed.rotate_left(7) ^ u64::from(byte));
    for draw in 0..2 {
        let mut numbers = Numbers::new(seed.wrapping_add(draw));
        let inputs = inputs(&model, &mut numbers);
        let options = EvalOptions::default().with_limits(LIMITS).with_registry(&registry);
        let first = run(&model, &options, inputs.clone());
        let again = run(&model, &options, inputs);
        same(&first, &again)?;
    }
    sound(&model, "after a run", false)
}

/// Checks the bytes that a run keeps.
struct Kept;

impl Observer for Kept {
    fn end(&self, run: &NodeRun<'_>) {
        assert!(run.live_bytes <= LIMITS.run_bytes, "a run keeps {} bytes", run.live_bytes);
    }
}

fn run(
    model: &Model,
    options: &EvalOptions<'_>,
    inputs: Vec<Option<Value>>,
) -> Result<Vec<Value>, (FailureKind, String)> {
    let options = options.clone().with_observer(&Kept);
    let outcome = Evaluator::new(model, &options).and_then(|evaluator| evaluator.run_in_order(inputs));
    outcome.map_err(|failure| (failure.kind(), failure.to_string()))
}

type Ran = Result<Vec<Value>, (FailureKind, String)>;

/// Two runs on the same inputs return the same.
fn same(first: &Ran, again: &Ran) -> Result<(), String> {
    match (first, again) {
        (Ok(first), Ok(again)) if first.len() == again.len() => {
            let differs = |(a, b)| !compare_values(a, b, &Tolerances::EXACT).agrees();
            match first.iter().zip(again).position(differs) {
                Some(index) => Err(format!("a second run returns another output {index}")),
                None => Ok(()),
            }
        }
        (Err(first), Err(again)) if first == again => Ok(()),
        _ => Err(format!("a run returns {first:?}, a second one {again:?}")),
    }
}

/// Values for the inputs of the main graph, most of them of the declared types.
fn inputs(model: &Model, numbers: &mut Numbers) -> Vec<Option<Value>> {
    let mut sizes = Vec::new();
    let inputs = model.graph(model.main_graph()).inputs().iter();
    let value = |&input: &ValueId| {
        let has_default = model.value(input).initializer().is_some();
        if has_default && numbers.below(4) > 0 {
            return None;
        }
        let ty = model.ty(input).cloned().unwrap_or_default();
        Some(value(&ty, numbers, &mut sizes, 0))
    };
    inputs.map(value).collect()
}

fn value(ty: &Type, numbers: &mut Numbers, sizes: &mut Vec<(Symbol, i64)>, depth: usize) -> Value {
    match &ty.kind {
        TypeKind::Sequence(Some(inner)) if depth < 4 => {
            let count = numbers.below(3);
            Value::Sequence(Arc::new((0..count).map(|_| value(inner, numbers, sizes, depth + 1)).collect()))
        }
        TypeKind::Optional(Some(inner)) if depth < 4 => {
            let is_present = numbers.below(3) > 0;
            Value::Optional(is_present.then(|| Arc::new(value(inner, numbers, sizes, depth + 1))))
        }
        TypeKind::Map { key, value: Some(inner) } if depth < 4 => {
            let key = |index: usize| match key {
                ElemType::String => MapKey::Text(index.to_string().into()),
                _ => MapKey::Int(index as i64),
            };
            let count = numbers.below(3);
            let entries = (0..count).map(|index| (key(index), value(inner, numbers, sizes, depth + 1)));
            Value::Map(Arc::new(entries.collect()))
        }
        _ => {
            let elem = if ty.elem() == ElemType::Undefined { ElemType::Float } else { ty.elem() };
            let dims: Vec<i64> = match ty.shape() {
                Some(shape) => shape.dims().iter().map(|&dim| size(dim, numbers, sizes)).collect(),
                None => (0..numbers.below(4)).map(|_| size(Dim::Unknown, numbers, sizes)).collect(),
            };
            Value::from(tensor(elem, dims, numbers))
        }
    }
}

fn size(dim: Dim, numbers: &mut Numbers, sizes: &mut Vec<(Symbol, i64)>) -> i64 {
    let mut any = || SIZES.get(numbers.below(SIZES.len())).copied().unwrap_or(1);
    match dim {
        Dim::Known(size) => size.max(0),
        Dim::Var(name) => match sizes.iter().find(|(known, _)| *known == name) {
            Some(&(_, size)) => size,
            None => {
                let size = any();
                sizes.push((name, size));
                size
            }
        },
        Dim::Expr(_) | Dim::Unknown => any(),
    }
}

/// A tensor with these sizes, or with small ones if it has too many elements.
fn tensor(elem: ElemType, mut dims: Vec<i64>, numbers: &mut Numbers) -> Tensor {
    const MOST: i64 = 1 << 10;
    let count = |dims: &[i64]| dims.iter().try_fold(1_i64, |count, &dim| count.checked_mul(dim));
    if !dims.contains(&0) && count(&dims).is_none_or(|count| count > MOST) {
        dims.iter_mut().for_each(|dim| *dim = 1);
    }
    let count = if dims.contains(&0) { 0 } else { count(&dims).unwrap_or(0) };
    if elem == ElemType::String {
        let texts = (0..count).map(|_| bytes::Bytes::from(numbers.below(5).to_string()));
        return Tensor::from_parts(
            elem.code(),
            dims.into_iter().collect(),
            Payload::strings(texts.collect()),
        );
    }
    let bytes = usize::try_from(elem.byte_len(count.unsigned_abs()).unwrap_or(0)).unwrap_or(0);
    let width = elem.bits().unwrap_or(8).div_ceil(8) as usize;
    let elements: Vec<u8> =
        (0..bytes.div_ceil(width.max(1))).flat_map(|_| element(elem, width, numbers)).take(bytes).collect();
    Tensor::from_parts(elem.code(), dims.into_iter().collect(), Payload::Raw(elements.into()))
}

/// A small number of a type, or rarely any bits.
fn element(elem: ElemType, width: usize, numbers: &mut Numbers) -> Vec<u8> {
    let bits = numbers.next();
    let small = bits % 8;
    let code = match elem {
        _ if bits >> 60 == 0 => numbers.next(),
        ElemType::Bool => small % 2,
        ElemType::Float => u64::from((small as f32 * 0.5 - 1.0).to_bits()),
        ElemType::Double => (small as f64 * 0.5 - 1.0).to_bits(),
        ElemType::Int8 | ElemType::Int16 | ElemType::Int32 | ElemType::Int64 => small.wrapping_sub(1),
        _ => small,
    };
    let mut bytes = code.to_le_bytes().to_vec();
    bytes.resize(width.max(8), 0);
    bytes.truncate(width);
    bytes
}
