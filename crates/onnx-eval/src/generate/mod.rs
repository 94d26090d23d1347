//! Inputs for a run that the caller does not give: values of the declared types in the ranges that the model implies.
//!
//! An element depends only on the seed, the name of the input and its linear index. With `mix` the output function of
//! splitmix64, the state of an input is `mix(seed)`, then for each byte of the name `mix(state ^ byte)`; the draw of element
//! `k` is `mix(state + (k + 1)·0x9e3779b97f4a7c15)`, of which the upper 53 bits are a number in [0, 1). So that two floats have
//! both signs, the draw `d` of element 1 of a float tensor is `1 - 2⁻⁵³ - d` if those of the elements 0 and 1 are in the same
//! half of [0, 1).
//!
//! | element type | range, if the model implies none |
//! |---|---|
//! | floats, complex numbers | [-1, 1) |
//! | integers of at most 8 bits | all values |
//! | other integers | 0 and 1 if the model has an operator that takes indices, else 0 to 9 |
//! | `bool` | both |
//! | strings | one letter, `a` to `z` or `A` to `Z`; some are empty, a digit, several words, or have letters outside of ASCII |
//!
//! The model implies a range if the input, or what `Cast`, `Reshape` and similar operators make of it, is an operand that an
//! operator restricts: indices of `Gather`, the variance of `BatchNormalization`, a divisor. The record of a kernel declares
//! them (`.takes(…)`). Only such nodes are considered, so a run on generated inputs can still fail. A map has the keys that
//! its operator knows: the words of a `DictVectorizer`, the positions of a sparse `CastMap`, otherwise three.

mod maps;
mod ranges;

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use onnx_ir::{Model, ValueId};
use onnx_types::tensor::{Payload, Tensor};
use onnx_types::{ElemClass, ElemType, Execution, Interrupt, Limits, Stopped, TensorType, Type, TypeKind};

use crate::budget;
use crate::number::{Number, by_number};
use crate::random::{at, mix};
use crate::value::{MapKey, Value};
pub use maps::keys as map_keys;
use ranges::{Range, Ranges};

/// Number of elements of a generated sequence.
const ITEMS: usize = 2;
/// The size of a dimension that the type of an element of a sequence leaves open.
const OPEN_SIZE: i64 = 2;

/// Why no value can be generated for an input.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum GenerateError {
    /// The model declares no type from which a value can be made; the reason.
    Type(String),
    /// The tensor exceeds a limit; its name.
    Limit(&'static str),
    /// The work was interrupted.
    Stopped(Stopped),
}

impl fmt::Display for GenerateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Type(reason) => f.write_str(reason),
            Self::Stopped(stopped) => stopped.fmt(f),
            Self::Limit(name) => write!(f, "the value is too large: raise the limit `{name}` to allow it"),
        }
    }
}

impl std::error::Error for GenerateError {}

/// Sizes of a value of the model: `None` if the rank is not known, an element that is `None` for an unknown size.
pub type SizesOf<'a> = dyn Fn(ValueId) -> Option<Vec<Option<i64>>> + 'a;

/// Generates values for the inputs of a model.
///
/// ```
/// use onnx_eval::generate::Generator;
/// use onnx_eval::Limits;
///
/// let text = r#"<ir_version: 10, opset_import: ["": 20]>
/// g (float[2, 3] x) => (float[2, 3] y) { y = Sqrt (x) }"#;
/// let model = onnx_text::parse_model(text, &onnx_text::ParseOptions::default())?;
/// let x = model.graph(model.main_graph()).inputs()[0];
/// let sizes = |_| Some(vec![Some(2), Some(3)]);
/// let value = Generator::new(&model, 0, &sizes).value(x, &Limits::default())?;
/// let tensor = value.tensor().unwrap();
/// assert_eq!(tensor.dims(), [2, 3]);
/// // `Sqrt` needs numbers that are not negative.
/// assert!(tensor.iter_f64(&onnx_types::tensor::NoData)?.all(|number| number > 0.0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Generator<'a> {
    model: &'a Model,
    seed: u64,
    sizes: &'a SizesOf<'a>,
    ranges: Ranges<'a>,
}

impl fmt::Debug for Generator<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Generator").field("seed", &self.seed).finish_non_exhaustive()
    }
}

impl<'a> Generator<'a> {
    /// A generator of values with these sizes of the inputs, and, as far as they are known, of inner values: the size of an
    /// axis bounds its indices.
    #[must_use]
    pub fn new(model: &'a Model, seed: u64, sizes: &'a SizesOf<'a>) -> Self {
        Self { model, seed, sizes, ranges: Ranges::new(model, sizes) }
    }

    /// A value for an input of the main graph: a tensor, two elements for a sequence, a map, a present optional.
    ///
    /// # Errors
    ///
    /// Returns an error if the element type or a size of the input is not known, if it has a type of which no
    /// values are generated, or if it exceeds [`Limits::run_elements`].
    pub fn value(&self, input: ValueId, limits: &Limits) -> Result<Value, GenerateError> {
        let record = self.model.value(input);
        let name = self.model.str(record.name());
        let unknown = || GenerateError::Type("its type is not declared".to_owned());
        let mut ty: &Type = record.ty().ok_or_else(unknown)?;
        let is_optional = matches!(ty.kind, TypeKind::Optional(_));
        if let TypeKind::Optional(inner) = &ty.kind {
            ty = inner.as_deref().ok_or_else(unknown)?;
        }
        let value = match &ty.kind {
            TypeKind::Tensor(tensor) | TypeKind::SparseTensor(tensor) => {
                let sizes = (self.sizes)(input).and_then(|sizes| sizes.into_iter().collect());
                let dims: Vec<i64> = sizes.ok_or_else(|| {
                    GenerateError::Type("its rank, or the size of a dimension, is not known".to_owned())
                })?;
                let range = self.ranges.of(input, tensor.elem);
                let limits = (limits, &Interrupt::NEVER);
                Value::from(self::tensor(self.seed, tensor.elem, dims, name, range, limits)?)
            }
            TypeKind::Sequence(Some(item)) => match &item.kind {
                TypeKind::Tensor(tensor) => self.sequence(tensor, name, limits)?,
                _ => {
                    return Err(GenerateError::Type(
                        "it is a sequence of other values than tensors".to_owned(),
                    ));
                }
            },
            TypeKind::Map { key, value: Some(item) } => match &item.kind {
                TypeKind::Tensor(item) => {
                    self.map(maps::keys(self.model, input, *key), item, name, limits)?
                }
                _ => return Err(GenerateError::Type("it is a map to other values than tensors".to_owned())),
            },
            _ => return Err(GenerateError::Type("no value of its type can be generated".to_owned())),
        };
        Ok(if is_optional { Value::Optional(Some(Arc::new(value))) } else { value })
    }

    fn sequence(&self, item: &TensorType, name: &str, limits: &Limits) -> Result<Value, GenerateError> {
        let items = (0..ITEMS).map(|index| self.item(item, &format!("{name}/{index}"), limits));
        Ok(Value::Sequence(Arc::new(items.collect::<Result<_, _>>()?)))
    }

    fn map(
        &self,
        keys: Vec<MapKey>,
        item: &TensorType,
        name: &str,
        limits: &Limits,
    ) -> Result<Value, GenerateError> {
        let entry = |key: MapKey| {
            let text = match &key {
                MapKey::Int(key) => key.to_string(),
                MapKey::Text(key) => String::from_utf8_lossy(key).into_owned(),
            };
            let value = self.item(item, &format!("{name}/{text}"), limits)?;
            Ok((key, value))
        };
        Ok(Value::Map(Arc::new(keys.into_iter().map(entry).collect::<Result<_, _>>()?)))
    }

    /// An element of a sequence, or a value of a map.
    fn item(&self, item: &TensorType, name: &str, limits: &Limits) -> Result<Value, GenerateError> {
        let dims = item.shape.iter().flat_map(|shape| shape.dims());
        let dims = dims.map(|dim| dim.known().unwrap_or(OPEN_SIZE)).collect();
        let range = self.ranges.default(item.elem);
        Ok(Value::from(tensor(self.seed, item.elem, dims, name, range, (limits, &Interrupt::NEVER))?))
    }
}

/// A tensor whose elements depend only on the seed, its name and their indices.
fn tensor(
    seed: u64,
    elem: ElemType,
    dims: Vec<i64>,
    name: &str,
    range: Range,
    (limits, interrupt): (&Limits, &Interrupt),
) -> Result<Tensor, GenerateError> {
    let too_large = GenerateError::Limit("run_elements");
    let count = dims.iter().try_fold(1_u64, |count, &dim| count.checked_mul(u64::try_from(dim).ok()?));
    let count = if dims.contains(&0) { Some(0) } else { count };
    let count = count.filter(|&count| count <= limits.run_elements).ok_or(too_large.clone())?;
    let bits = u64::from(elem.bits().unwrap_or(256).max(8));
    if count.saturating_mul(bits / 8) > limits.run_bytes {
        return Err(GenerateError::Limit("run_bytes"));
    }
    let count = usize::try_from(count).map_err(|_| too_large)?;
    // Elements as they are computed, and as they are stored.
    let computed = if elem == ElemType::String { 4 * size_of::<Bytes>() } else { 3 * size_of::<u64>() };
    budget::probe(count, computed).map_err(|_| GenerateError::Limit("run_bytes"))?;
    let draws = Draws::new(seed, name);
    let payload = match elem.class() {
        ElemClass::None => return Err(GenerateError::Type("its element type is not known".to_owned())),
        ElemClass::String => Payload::strings((0..count).map(|index| string(draws.unit(index))).collect()),
        ElemClass::Complex => complex(elem, count, draws),
        _ => numbers(elem, count, draws, range, interrupt)?,
    };
    Ok(Tensor::from_parts(elem.code(), dims.into_iter().collect(), payload))
}

/// The string of a draw in [0, 1): small and capital letters with the same chance, and others that operators treat differently.
fn string(draw: f64) -> Bytes {
    const OTHERS: [&str; 12] =
        ["", "7", "a b", "A b", " a", "b,c", "the", "The", "\u{e9}", "e\u{301}", "\u{df}", "\u{130}"];
    let place = (draw * 64.0) as usize;
    let letter = |first: u8, place: usize| Bytes::from(vec![first.wrapping_add(place as u8)]);
    match place {
        ..26 => letter(b'a', place),
        26..52 => letter(b'A', place - 26),
        _ => Bytes::from_static(OTHERS.get(place - 52).copied().unwrap_or_default().as_bytes()),
    }
}

/// The elements that [`weight`] generates.
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub enum WeightRange {
    /// From the first number to the second one. Complex numbers have both parts between -1 and 1 instead.
    Within(f64, f64),
    /// All integers of the type; floats from -1 to 1.
    OfType,
}

/// A tensor whose elements depend only on the seed, its name and their indices.
///
/// # Errors
///
/// Returns an error if no elements of the type can be generated, if it exceeds [`Limits::run_elements`] or
/// [`Limits::run_bytes`], or if the work is interrupted.
pub fn weight(
    seed: u64,
    name: &str,
    elem: ElemType,
    dims: &[i64],
    range: WeightRange,
    execution: &Execution,
) -> Result<Tensor, GenerateError> {
    let range = match range {
        WeightRange::Within(low, high) => Range::Within(low, high),
        WeightRange::OfType => ranges::of_type(elem, 1.0),
    };
    let Execution { limits, interrupt, .. } = execution;
    tensor(seed, elem, dims.to_vec(), name, range, (limits, interrupt))
}

/// Elements between two checks of the interrupt.
const WATCHED_ELEMENTS: usize = 1 << 16;

fn numbers(
    elem: ElemType,
    count: usize,
    draws: Draws,
    range: Range,
    interrupt: &Interrupt,
) -> Result<Payload, GenerateError> {
    let is_float = elem.is_float();
    let draw = |index| if is_float { draws.spread(index) } else { draws.unit(index) };
    let encoded = by_number!(elem, T => {
        let number = |index| T::of_f64(range.number(index, count, draw(index), is_float));
        let mut numbers = Vec::with_capacity(count);
        while numbers.len() < count && interrupt.check().is_ok() {
            let end = numbers.len().saturating_add(WATCHED_ELEMENTS).min(count);
            numbers.extend((numbers.len()..end).map(number));
        }
        Ok::<_, crate::cx::Stop>(T::encode(elem, numbers))
    });
    interrupt.check().map_err(GenerateError::Stopped)?;
    encoded.map_err(|_| GenerateError::Type("no value of its element type can be generated".to_owned()))
}

fn complex(elem: ElemType, count: usize, draws: Draws) -> Payload {
    let mut bytes = Vec::new();
    for index in 0..count.saturating_mul(2) {
        let number = draws.unit(index) * 2.0 - 1.0;
        if elem == ElemType::Complex64 {
            bytes.extend_from_slice(&(number as f32).to_le_bytes());
        } else {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
    }
    Payload::Raw(bytes.into())
}

/// The draws of an input.
#[derive(Clone, Copy)]
struct Draws(u64);

impl Draws {
    fn new(seed: u64, name: &str) -> Self {
        Self(name.bytes().fold(mix(seed), |state, byte| mix(state ^ u64::from(byte))))
    }

    /// A number in [0, 1).
    fn unit(self, index: usize) -> f64 {
        (at(self.0, index) >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// The same, where the numbers at 0 and 1 are not both less than a half, and not both greater.
    fn spread(self, index: usize) -> f64 {
        let unit = self.unit(index);
        let is_mirrored = index == 1 && (self.unit(0) < 0.5) == (unit < 0.5);
        // 2⁻⁵³ is half of what `EPSILON` is.
        if is_mirrored { 1.0 - f64::EPSILON / 2.0 - unit } else { unit }
    }
}

/// A number from 0 to `below` (exclusive) that depends only on a seed and a name, such as that of a dimension variable.
#[must_use]
pub fn small_number(seed: u64, name: &str, below: u64) -> u64 {
    (Draws::new(seed, name).unit(0) * below as f64) as u64
}

#[cfg(test)]
mod tests;
