//! Operands and attributes that an operator is likely to accept.

use onnx_eval::SplitMix64;
use onnx_ir::AttrValue;
use onnx_schema::{AttrDefault, AttrKind, FormalAttribute};
use onnx_types::tensor::Tensor;
use onnx_types::{ElemClass, ElemType};

use super::sizes::{any, broadcast};

/// Element types of generated operands other than `float`.
pub(super) const OTHER_ELEMS: [ElemType; 12] = [
    ElemType::Double,
    ElemType::Float16,
    ElemType::Bfloat16,
    ElemType::Int64,
    ElemType::Int32,
    ElemType::Int16,
    ElemType::Int8,
    ElemType::Uint64,
    ElemType::Uint32,
    ElemType::Uint16,
    ElemType::Uint8,
    ElemType::Bool,
];

/// Element types that few operators take in addition to casts.
const RARE_ELEMS: [ElemType; 4] =
    [ElemType::String, ElemType::Float8E4M3Fn, ElemType::Float8E5M2, ElemType::Int4];

/// A generator of numbers; the same seed gives the same models.
#[derive(Clone, Debug)]
pub(super) struct Rng(SplitMix64);

impl Rng {
    pub(super) const fn new(seed: u64) -> Self {
        Self(SplitMix64::new(seed))
    }

    pub(super) const fn next(&mut self) -> u64 {
        self.0.next()
    }

    pub(super) fn below(&mut self, count: usize) -> usize {
        usize::try_from(self.next() % (count.max(1) as u64)).unwrap_or(0)
    }

    /// `true` in this part of 100 cases.
    pub(super) fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    pub(super) fn pick<T: Clone>(&mut self, all: &[T]) -> Option<T> {
        let index = self.below(all.len());
        all.get(index).cloned()
    }

    /// A permutation. Every other one is a rotation, which has the greatest order: exchanges undo themselves.
    fn permutation(&mut self, count: usize) -> Vec<i64> {
        let mut all = self.shuffled(count);
        if count > 0 && self.chance(50) {
            all.sort_unstable();
            let by = if self.chance(50) { 1 } else { count.saturating_sub(1) };
            all.rotate_left(by);
        }
        all
    }

    fn shuffled(&mut self, count: usize) -> Vec<i64> {
        let mut all: Vec<i64> = (0..count).filter_map(|index| i64::try_from(index).ok()).collect();
        for index in (1..all.len()).rev() {
            let other = self.below(index.saturating_add(1));
            all.swap(index, other);
        }
        all
    }
}

/// A constant operand that is a list of axes, sizes or indices; `None` for operands that hold data.
pub(super) fn parameter(
    rng: &mut Rng,
    op: &str,
    name: &str,
    first: &[i64],
    count: usize,
) -> Option<Vec<i64>> {
    let rank = first.len();
    let list = |rng: &mut Rng, all: &[i64], count: usize| -> Vec<i64> {
        (0..count).map(|_| rng.pick(all).unwrap_or(0)).collect()
    };
    Some(match (op, name) {
        ("Reshape", "shape") => reshaped(rng, first),
        ("ConstantOfShape", _) => {
            let rank = rng.below(3);
            any(rng, rank)
        }
        ("Expand", "shape") => broadcast(rng, first),
        ("Unsqueeze", "axes") => {
            let count = rng.below(2).saturating_add(1);
            let all = rng.shuffled(rank.saturating_add(count));
            signed(rng, all.into_iter().take(count).collect(), rank.saturating_add(count))
        }
        ("Squeeze", "axes") => {
            let ones = first.iter().enumerate().filter(|(_, size)| **size == 1).map(|(axis, _)| axis as i64);
            let ones: Vec<i64> = ones.filter(|_| rng.chance(60)).collect();
            signed(rng, ones, rank)
        }
        (_, "axes") if op.starts_with("Reduce") && rank > 0 && rng.chance(50) => {
            let last = rank.saturating_sub(1);
            let begin = if rng.chance(70) { last } else { last.min(2) };
            signed(rng, (begin..rank).filter_map(|axis| i64::try_from(axis).ok()).collect(), rank)
        }
        (_, "axes") => {
            let count = match op {
                "Slice" => count,
                // The paddings of all axes are chosen, mostly.
                "Pad" if rng.chance(80) => rank,
                _ => rng.below(rank.saturating_add(1)),
            };
            let all = rng.shuffled(rank);
            signed(rng, all.into_iter().take(count).collect(), rank)
        }
        ("Slice", "starts") => list(rng, &[0, 0, 1, 1, 2, -1, -2, i64::MAX], count),
        ("Slice", "ends") => list(rng, &[1, 2, 3, i64::MAX, -1, i64::MIN, 100], count),
        ("Slice", "steps") => list(rng, &[1, 1, 1, 1, 2, 2, 3, -1, -2, -3], count),
        ("Pad", "pads") => paddings(rng, rank),
        ("Tile", "repeats") => repeats(rng, rank),
        ("Split", "split") => {
            let total = if rng.chance(70) { first.first().copied() } else { rng.pick(first) }.unwrap_or(0);
            let part = if rng.chance(60) { total / 2 } else { rng.pick(&[0, 1, total]).unwrap_or(0) };
            vec![part, total.saturating_sub(part)]
        }
        ("Resize", "sizes") => list(rng, &[1, 2, 3, 4], rank),
        ("TopK", "K") => list(rng, &[1, 1, 2, 2, 3], 1),
        (_, "indices") => list(rng, &[0, 0, 1], count),
        _ => return None,
    })
}

/// The paddings of all axes, or only of those after the channels.
fn paddings(rng: &mut Rng, rank: usize) -> Vec<i64> {
    let is_spatial = rng.chance(50);
    let all: &[i64] = if is_spatial { &[0, 1, 1, 2] } else { &[0, 0, 1, 2, -1] };
    let begin_and_end = (0..rank).chain(0..rank);
    begin_and_end.map(|axis| if is_spatial && axis < 2 { 0 } else { rng.pick(all).unwrap_or(0) }).collect()
}

/// The repetitions of all axes, or of one.
fn repeats(rng: &mut Rng, rank: usize) -> Vec<i64> {
    let repeated = rng.below(rank);
    let is_one = rng.chance(50);
    let all = |rng: &mut Rng| rng.pick(&[1, 1, 2, 3]).unwrap_or(1);
    (0..rank)
        .map(|axis| match is_one {
            true if axis == repeated => 2,
            true => 1,
            false => all(rng),
        })
        .collect()
}

fn signed(rng: &mut Rng, axes: Vec<i64>, rank: usize) -> Vec<i64> {
    let rank = i64::try_from(rank).unwrap_or(0);
    axes.into_iter().map(|axis| if rng.chance(30) { axis.saturating_sub(rank) } else { axis }).collect()
}

/// The operand of a `Reshape`.
fn reshaped(rng: &mut Rng, first: &[i64]) -> Vec<i64> {
    if let [batch, channels, _, ..] = *first
        && rng.chance(30)
    {
        // Rows, or groups of channels.
        let last = first.last().copied().unwrap_or(1);
        let groups = rng.pick(&[1, 2, channels]).unwrap_or(1);
        return if rng.chance(50) { vec![-1, last] } else { vec![batch, groups, -1] };
    }
    let mut factors: Vec<i64> = Vec::new();
    for &size in first {
        match size {
            4 if rng.chance(50) => factors.extend([2, 2]),
            6 if rng.chance(50) => factors.extend([2, 3]),
            _ => factors.push(size),
        }
    }
    while factors.len() > 1 && rng.chance(45) {
        let index = rng.below(factors.len().saturating_sub(1));
        let removed = factors.remove(index);
        if let Some(next) = factors.get_mut(index) {
            *next = next.saturating_mul(removed);
        }
    }
    if rng.chance(25) {
        factors.insert(rng.below(factors.len().saturating_add(1)), 1);
    }
    if rng.chance(35) {
        let index = rng.below(factors.len());
        factors.iter_mut().enumerate().filter(|(other, _)| *other == index).for_each(|(_, size)| *size = -1);
    }
    if rng.chance(30) {
        // A 0 copies the size of the operand.
        let index = rng.below(factors.len());
        let size = first.get(index).copied();
        factors
            .iter_mut()
            .enumerate()
            .filter(|(other, factor)| *other == index && Some(**factor) == size)
            .for_each(|(_, factor)| *factor = 0);
    }
    factors
}

/// The value of an attribute; `None` if it is omitted.
pub(super) fn attribute(
    rng: &mut Rng,
    op: &str,
    formal: &FormalAttribute,
    first: &[i64],
) -> Option<AttrValue> {
    let name = formal.text();
    let rank = first.len();
    let spatial = rank.saturating_sub(2);
    let list = |rng: &mut Rng, all: &[i64], count: usize| {
        AttrValue::Ints((0..count).map(|_| rng.pick(all).unwrap_or(0)).collect())
    };
    Some(match name {
        "perm" => AttrValue::Ints(rng.permutation(rank)),
        "axis" | "batch_axis" => {
            let axis = rng.pick(&rng.clone().shuffled(rank.saturating_add(usize::from(op == "Flatten"))))?;
            let rank = i64::try_from(rank).ok()?;
            AttrValue::Int(if rng.chance(30) && axis < rank { axis.saturating_sub(rank) } else { axis })
        }
        "to" | "dtype" => {
            let is_float = rng.below(OTHER_ELEMS.len().saturating_add(1)) == 0;
            let others = if op == "Cast" && rng.chance(8) { &RARE_ELEMS[..] } else { &OTHER_ELEMS };
            let elem = if is_float { ElemType::Float } else { rng.pick(others)? };
            AttrValue::Int(i64::from(elem as i32))
        }
        "kernel_shape" if !op.starts_with("Conv") => list(rng, &[1, 2, 3], spatial),
        "output_padding" => list(rng, &[0, 0, 1], spatial),
        "strides" => list(rng, &[1, 1, 1, 2, 2, 3], spatial),
        "dilations" => list(rng, &[1, 1, 1, 2, 2, 3], spatial),
        "pads" => list(rng, &[0, 0, 1], spatial.saturating_mul(2)),
        "keepdims" | "allowzero" | "noop_with_empty_axes" | "transA" | "transB" | "count_include_pad" => {
            AttrValue::Int(i64::from(rng.chance(50)))
        }
        "scale" => AttrValue::Float(rng.pick(&[0.25, 0.5, 1.0])?),
        "value" if op == "ConstantOfShape" => {
            let elem = rng.pick(&[ElemType::Float, ElemType::Float, ElemType::Double, ElemType::Int64]);
            AttrValue::from(match elem? {
                ElemType::Double => Tensor::from_slice([1], &[-2.5_f64]).ok()?,
                ElemType::Int64 => Tensor::from_slice([1], &[7_i64]).ok()?,
                _ => Tensor::from_slice([1], &[1.5_f32]).ok()?,
            })
        }
        "blocksize" => AttrValue::Int(rng.pick(&[1, 2, 2, 2, 3])?),
        "axes" => {
            let count = rng.below(rank).saturating_add(1);
            let axes = rng.shuffled(rank).into_iter().take(count).collect();
            AttrValue::Ints(if rng.chance(30) { signed(rng, axes, rank) } else { axes })
        }
        "num_groups" => AttrValue::Int(rng.pick(&[1, 2, 2, 3, 4])?),
        "batch_dims" => AttrValue::Int(rng.pick(&[0, 0, 1, 1, 2])?),
        "k" => AttrValue::Int(rng.pick(&[0, 0, 1, 1, -1, 2, -2, 3])?),
        "size" => AttrValue::Int(rng.pick(&[1, 2, 3, 4, 5])?),
        "epsilon" => AttrValue::Float(rng.pick(&[1e-5, 1e-3, 0.25])?),
        "p" => AttrValue::Int(rng.pick(&[1, 2, 2, 3])?),
        "start" => AttrValue::Int(rng.pick(&[0, 0, 1, 1, -1, 2, -2])?),
        "end" => AttrValue::Int(rng.pick(&[1, 2, 2, -1, 3, -2])?),
        _ => return attribute_of_kind(rng, op, formal),
    })
}

/// The value of an attribute of a convolution that its weights determine.
pub(super) fn of_weights(op: &str, name: &str, weight: Option<&[i64]>, groups: i64) -> Option<AttrValue> {
    match (op, name) {
        ("Conv" | "ConvTranspose", "group") => Some(AttrValue::Int(groups)),
        ("Conv" | "ConvTranspose", "kernel_shape") => Some(AttrValue::Ints(weight?.get(2..)?.to_vec())),
        _ => None,
    }
}

/// Attributes whose values depend on sizes that are chosen before, on other attributes, or on implementations.
const LEFT_OUT: &[&str] = &[
    "group",
    "kernel_shape",
    "kv_num_heads",
    "num_outputs",
    "output_dtype",
    "output_shape",
    "precision",
    "q_num_heads",
    "qk_matmul_output_mode",
    "seed",
    "softmax_precision",
    "stash_type",
    "training_mode",
];

/// The value of an attribute of which only the kind and the default are known.
fn attribute_of_kind(rng: &mut Rng, op: &str, formal: &FormalAttribute) -> Option<AttrValue> {
    let name = formal.text();
    if LEFT_OUT.contains(&name) {
        return None;
    }
    Some(match (formal.kind, formal.default) {
        // Booleans are integers.
        (AttrKind::Int, Some(AttrDefault::Int(0 | 1))) => AttrValue::Int(i64::from(rng.chance(50))),
        (AttrKind::Int, _) => AttrValue::Int(rng.pick(&[0, 1, 2, -1, 3])?),
        // A limit of zero means none.
        (AttrKind::Float, _) if name == "softcap" => AttrValue::Float(rng.pick(&[0.0, 0.5, 2.0])?),
        (AttrKind::Float, _) => {
            let all = [1.0, 1.0, 0.5, 2.0, 0.25, 0.0, -0.5, -1.0, -2.0, 100.0, 0.95, 1.5, 3.0, 0.1];
            AttrValue::Float(rng.pick(&all)?)
        }
        (AttrKind::String, _) => rng.pick(words(op, name))?.into(),
        (AttrKind::Strings, _) if name == "stopwords" => {
            let all = ["a", "b", "The", "the", "a b"];
            let count = rng.below(3);
            AttrValue::Strings(
                (0..count).filter_map(|_| rng.pick(&all)).map(|word| word.as_bytes().into()).collect(),
            )
        }
        _ => return None,
    })
}

/// The words that a string attribute can be in the latest version.
pub(super) fn words(op: &str, name: &str) -> &'static [&'static str] {
    match (op, name) {
        (_, "approximate") => &["none", "tanh"],
        // The sizes of windows and paddings are chosen for themselves.
        (_, "auto_pad") => &["NOTSET", "NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"],
        (_, "nearest_mode") => &["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"],
        (_, "padding_mode") => &["zeros", "border", "reflection"],
        (_, "coordinate_transformation_mode") => {
            &["half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel"]
        }
        ("BitShift", "direction") => &["LEFT", "RIGHT"],
        ("DepthToSpace" | "SpaceToDepth", "mode") => &["DCR", "CRD"],
        ("GridSample", "mode") => &["linear", "nearest", "cubic"],
        ("Pad", "mode") => &["constant", "reflect", "edge", "wrap"],
        ("Resize", "mode") => &["nearest", "linear", "cubic"],
        ("RoiAlign", "mode") => &["avg", "max"],
        ("ScatterElements" | "ScatterND", "reduction") => &["none", "add", "mul", "max", "min"],
        (_, "reduction") => &["mean", "sum", "none"],
        ("StringNormalizer", "case_change_action") => &["NONE", "LOWER", "UPPER"],
        ("LinearAttention", "update_rule") => &["linear", "gated", "delta", "gated_delta"],
        ("StringSplit", "delimiter") => &["", " ", ",", "ab"],
        ("RegexFullMatch", "pattern") => &["[a-z]*", "[A-Za-z]+", ".*", "a.*", "[0-9]+", "a|b"],
        _ => &[],
    }
}

/// A constant operand that holds axes or indices and is not a list.
pub(super) fn shaped_parameter(rng: &mut Rng, op: &str, name: &str, first: &[i64]) -> Option<Tensor> {
    match (op, name) {
        ("GatherElements" | "ScatterElements", "indices") => {
            let count = first.iter().try_fold(1_i64, |count, &size| count.checked_mul(size))?;
            let count = usize::try_from(count).ok().filter(|&count| count <= 4096)?;
            let indices: Vec<i64> = (0..count).map(|_| rng.pick(&[0, 0, -1, 1]).unwrap_or(0)).collect();
            Tensor::from_slice(first.iter().copied(), &indices).ok()
        }
        // One index removes the axis, a matrix adds one; indices may count from the end.
        ("Gather", "indices") => {
            let sizes = rng.pick(&[&[][..], &[1], &[2], &[3], &[2, 2], &[2, 1]])?;
            let count = sizes.iter().fold(1_usize, |count, &size: &usize| count.saturating_mul(size));
            let indices: Vec<i64> = (0..count).map(|_| rng.pick(&[0, 0, 1, -1]).unwrap_or(0)).collect();
            Tensor::from_slice(sizes.iter().filter_map(|&size| i64::try_from(size).ok()), &indices).ok()
        }
        ("GatherND" | "ScatterND", "indices") => {
            let sizes = rng.pick(&[&[1][..], &[2], &[2, 1], &[3, 1], &[2, 2]])?;
            let count = sizes.iter().fold(1_usize, |count, &size: &usize| count.saturating_mul(size));
            let indices: Vec<i64> = (0..count).map(|_| rng.pick(&[0, 0, 1, -1]).unwrap_or(0)).collect();
            Tensor::from_slice(sizes.iter().filter_map(|&size| i64::try_from(size).ok()), &indices).ok()
        }
        ("Resize", "scales") => {
            let scales: Vec<f64> = (0..first.len())
                .map(|axis| if axis < 2 { 1.0 } else { rng.pick(&[1.0, 2.0, 1.5, 0.5]).unwrap_or(1.0) })
                .collect();
            Tensor::from_slice([i64::try_from(scales.len()).ok()?], &scales).ok()
        }
        ("Trilu", "k") => Some(Tensor::scalar(rng.pick(&[-1_i64, 0, 1, 2, -2, 3])?)),
        (_, "axis") => {
            let rank = i64::try_from(first.len()).ok()?;
            let axis = i64::try_from(rng.below(first.len())).ok()?;
            Some(Tensor::scalar(if rng.chance(30) { axis.saturating_sub(rank) } else { axis }))
        }
        _ => None,
    }
}

/// A tensor of numbers at the limits of a type: extremes, and those whose sums and products overflow or are rounded. Sums of large
/// floats of different signs have no correct digit in any order, so that they test only rules that are exact.
pub(super) fn limits(rng: &mut Rng, sizes: &[i64], elem: ElemType, is_exact: bool) -> Option<Tensor> {
    let count = sizes.iter().try_fold(1_i64, |count, &size| count.checked_mul(size))?;
    let count = usize::try_from(count).ok().filter(|&count| count <= 4096)?;
    if elem.class() == ElemClass::Float {
        let large = if elem == ElemType::Float16 { 30_000.0 } else { 1e9 };
        let exact = [
            large,
            -large,
            1.0 / large,
            0.1,
            -0.3,
            0.7,
            3.0,
            0.0,
            -0.0,
            -7.0,
            f64::INFINITY,
            f64::NEG_INFINITY,
            f64::NAN,
        ];
        let rounded = [0.1, -0.3, 0.7, 3.0, 0.0, -0.0, -7.0];
        let all: &[f64] = if is_exact { &exact } else { &rounded };
        let numbers: Vec<f64> = (0..count).map(|_| rng.pick(all).unwrap_or(0.0)).collect();
        return Tensor::from_slice(sizes.iter().copied(), &numbers).ok();
    }
    let (least, most, half) = match elem {
        ElemType::Int8 => (i64::from(i8::MIN), i64::from(i8::MAX), 1 << 4),
        ElemType::Uint8 => (0, i64::from(u8::MAX), 1 << 4),
        ElemType::Int16 => (i64::from(i16::MIN), i64::from(i16::MAX), 1 << 8),
        ElemType::Uint16 => (0, i64::from(u16::MAX), 1 << 8),
        ElemType::Int32 => (i64::from(i32::MIN), i64::from(i32::MAX), 1 << 16),
        ElemType::Uint32 => (0, i64::from(u32::MAX), 1 << 16),
        ElemType::Uint64 => (0, i64::MAX, 1_i64 << 32),
        ElemType::Int64 => (i64::MIN, i64::MAX, 1_i64 << 32),
        _ => return None,
    };
    let factor = half.saturating_add(1);
    let all = [0, 1, least, most, most / 2, factor, factor, if least < 0 { -1 } else { 2 }];
    let numbers: Vec<i64> = (0..count).map(|_| rng.pick(&all).unwrap_or(0)).collect();
    Tensor::from_slice(sizes.iter().copied(), &numbers).ok()
}

/// A tensor of strings that operators treat differently.
pub(super) fn strings(rng: &mut Rng, sizes: &[i64]) -> Option<Tensor> {
    const STRINGS: [&str; 12] =
        ["", "a", "A", "b", "a b", "Ab", "The", "the", "a,b", "12", "\u{df}", "\u{e9}"];
    let count = sizes.iter().try_fold(1_i64, |count, &size| count.checked_mul(size))?;
    let count = usize::try_from(count).ok().filter(|&count| count <= 4096)?;
    let all: Vec<&str> = (0..count).filter_map(|_| rng.pick(&STRINGS)).collect();
    Tensor::from_strings(sizes.iter().copied(), all).ok()
}

/// Returns `true` for operands that hold variances and scales.
pub(super) fn is_positive(name: &str) -> bool {
    matches!(name, "var" | "input_var" | "scale" | "x_scale" | "y_scale" | "a_scale" | "b_scale")
}

/// The set that the numbers of a tensor are of: conditions of rules are about the least or the greatest element, or about all of them.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Style {
    Any,
    Equal,
    /// No number is less than this bound, or none is greater, and one is the bound.
    Least(i8),
    Greatest(i8),
    /// Zeros and ones.
    Bits,
    Integers,
    /// A few numbers in ascending order, again and again.
    Ascending,
}

impl Style {
    const ALL: [Self; 10] = [
        Self::Least(0),
        Self::Least(1),
        Self::Greatest(0),
        Self::Greatest(1),
        Self::Greatest(-1),
        Self::Bits,
        Self::Bits,
        Self::Integers,
        Self::Integers,
        Self::Ascending,
    ];

    fn choose(rng: &mut Rng) -> Self {
        match rng.below(100) {
            0..15 => Self::Equal,
            15..40 => rng.pick(&Self::ALL).unwrap_or(Self::Any),
            _ => Self::Any,
        }
    }

    fn apply(self, rng: &mut Rng, numbers: &mut [f64]) {
        let bound_at = rng.below(numbers.len());
        let set_bound = |numbers: &mut [f64], bound: f64| {
            numbers.get_mut(bound_at).into_iter().for_each(|number| *number = bound);
        };
        match self {
            Self::Any => {}
            Self::Equal => {
                let first = numbers.first().copied().unwrap_or(0.0);
                numbers.fill(first);
            }
            Self::Least(bound) => {
                let bound = f64::from(bound);
                numbers.iter_mut().for_each(|number| *number = bound + number.abs());
                set_bound(numbers, bound);
            }
            Self::Greatest(bound) => {
                let bound = f64::from(bound);
                numbers.iter_mut().for_each(|number| *number = bound - number.abs());
                set_bound(numbers, bound);
            }
            Self::Bits => numbers.iter_mut().for_each(|number| *number = f64::from(u8::from(*number > 0.0))),
            Self::Integers => numbers.iter_mut().for_each(|number| *number = (*number * 2.0).trunc()),
            Self::Ascending => {
                let begin = rng.below(4) as f64 - 2.0;
                numbers
                    .iter_mut()
                    .enumerate()
                    .for_each(|(index, number)| *number = begin + (index % 5) as f64);
            }
        }
    }
}

/// A tensor with small numbers.
pub(super) fn data(rng: &mut Rng, name: &str, sizes: &[i64], elem: ElemType) -> Option<Tensor> {
    let count = sizes.iter().try_fold(1_i64, |count, &size| count.checked_mul(size))?;
    let count = usize::try_from(count).ok().filter(|&count| count <= 4096)?;
    let is_positive = is_positive(name);
    let zero_free = elem != ElemType::Bool && rng.chance(50);
    // The neutral elements of scales, offsets and paddings.
    let is_one = matches!(name, "scale" | "Scale") && rng.chance(40);
    let is_zero = matches!(name, "constant_value" | "B" | "y_zero_point" | "x_zero_point") && rng.chance(60);
    let mut numbers = Vec::with_capacity(count);
    for _ in 0..count {
        let number = (rng.below(17) as f64 - 8.0) / 4.0;
        numbers.push(match () {
            () if is_zero => 0.0,
            () if is_one => 1.0,
            () if is_positive => number.abs() + 0.25,
            () if elem == ElemType::Bool => f64::from(u8::from(number > 0.0)),
            () if zero_free && number == 0.0 => 1.0,
            () => number,
        });
    }
    let style = Style::choose(rng);
    if !is_positive || style == Style::Equal || matches!(style, Style::Least(1)) {
        style.apply(rng, &mut numbers);
    }
    Tensor::from_slice(sizes.iter().copied(), &numbers).ok().filter(|_| elem != ElemType::String)
}
