//! What operators do with the elements along an axis: they keep them apart, or combine them.
//!
//! With a batch of 1, every operator along the axis of the batch combines one row. If the size is free, the rows of a batch would
//! influence each other.

use onnx_ir::{Callee, FunctionId, Model, Node, NodeId};
use onnx_schema::{Registry, attr, domain, op};
use onnx_shape_infer::Inference;
use onnx_types::Symbol;

use super::choice::ELEMENTWISE;

/// What a node does with the elements at different indices of an axis of an operand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Along {
    /// Each element of a result depends on one index only.
    Separate,
    /// Elements of results depend on several indices.
    Combined,
    /// This is not known for the operator or its attributes.
    Unknown,
}

/// Reductions.
const REDUCTIONS: [Symbol; 10] = [
    op::REDUCE_SUM,
    op::REDUCE_MEAN,
    op::REDUCE_MAX,
    op::REDUCE_MIN,
    op::REDUCE_PROD,
    op::REDUCE_L1,
    op::REDUCE_L2,
    op::REDUCE_LOG_SUM,
    op::REDUCE_LOG_SUM_EXP,
    op::REDUCE_SUM_SQUARE,
];

/// Operators with the batch on the first axis of their first operand.
const BATCH_FIRST: [Symbol; 14] = [
    op::CONV,
    op::CONV_TRANSPOSE,
    op::CONV_INTEGER,
    op::Q_LINEAR_CONV,
    op::MAX_POOL,
    op::AVERAGE_POOL,
    op::LP_POOL,
    op::GLOBAL_AVERAGE_POOL,
    op::GLOBAL_MAX_POOL,
    op::INSTANCE_NORMALIZATION,
    op::GROUP_NORMALIZATION,
    op::LRN,
    op::DEPTH_TO_SPACE,
    op::SPACE_TO_DEPTH,
];

/// Elementwise operators in which no choice of an axis is followed, so that [`ELEMENTWISE`] does not list them.
const OTHER_ELEMENTWISE: [Symbol; 17] = [
    op::ACOS,
    op::ACOSH,
    op::ASIN,
    op::ASINH,
    op::ATAN,
    op::ATANH,
    op::BIT_SHIFT,
    op::BITWISE_AND,
    op::BITWISE_NOT,
    op::BITWISE_OR,
    op::BITWISE_XOR,
    op::CAST_LIKE,
    op::COSH,
    op::SHRINK,
    op::SINH,
    op::TAN,
    op::THRESHOLDED_RELU,
];

/// Elementwise operators of onnxruntime.
const CONTRIB: [&str; 2] = ["Gelu", "QuickGelu"];

/// What a node does along an axis of its operand at an index.
pub(super) fn along(model: &Model, inference: &Inference, node: NodeId, index: usize, axis: usize) -> Along {
    let record = model.node(node);
    if let Callee::Function(function) = model.callee(node, Registry::STANDARD) {
        return separate_if(is_elementwise(model, function));
    }
    match onnx_schema::normalize_domain(record.domain()) {
        domain::ONNX => {}
        domain::MICROSOFT if CONTRIB.contains(&model.str(record.op())) => return Along::Separate,
        _ => return Along::Unknown,
    }
    let Some(rank) = record.input(index).and_then(|value| inference.shape(value)).map(<[_]>::len) else {
        return Along::Unknown;
    };
    let version = model.versions_in(record.graph()).get(domain::ONNX).unwrap_or(1);
    let operand = Operand { inference, record, index, axis, rank, version };
    let found = operand.along_axis().or_else(|| operand.along_batch()).or_else(|| operand.along_layout());
    found.unwrap_or(Along::Unknown)
}

/// Whether an operator keeps each element at its index, except that normalizations also work along the axes that they name.
fn keeps_indices(op: Symbol) -> bool {
    ELEMENTWISE.contains(&op) || OTHER_ELEMENTWISE.contains(&op)
}

/// Whether all nodes of a function are elementwise operators of its operands and of single numbers.
fn is_elementwise(model: &Model, function: FunctionId) -> bool {
    const ALONG_AXES: [Symbol; 4] =
        [op::SOFTMAX, op::LOG_SOFTMAX, op::LAYER_NORMALIZATION, op::RMS_NORMALIZATION];
    let is_number = |record: &Node| {
        let tensor = record.attribute(attr::VALUE).and_then(|value| value.as_tensor());
        [attr::VALUE_FLOAT, attr::VALUE_INT].iter().any(|&name| record.attribute(name).is_some())
            || tensor.is_some_and(|tensor| tensor.element_count() == Some(1))
    };
    let body = model.function(function).body();
    model.initializers(body).next().is_none()
        && model.nodes(body).map(|node| (node, model.node(node))).all(|(node, record)| {
            let is_standard = model.callee(node, Registry::STANDARD).standard().is_some();
            let op = record.op();
            is_standard
                && ((record.is(op::CONSTANT) && is_number(record))
                    || (keeps_indices(op) && !ALONG_AXES.contains(&op)))
        })
}

/// Returns `true` if a node combines the elements of its operand at an index along an axis.
pub(super) fn mixes(model: &Model, inference: &Inference, node: NodeId, index: usize, axis: usize) -> bool {
    along(model, inference, node, index, axis) == Along::Combined
}

/// An axis of an operand.
struct Operand<'a> {
    inference: &'a Inference,
    record: &'a Node,
    index: usize,
    axis: usize,
    rank: usize,
    version: i64,
}

/// `Combined` if a condition holds, `Separate` otherwise.
const fn combined_if(is_combined: bool) -> Along {
    if is_combined { Along::Combined } else { Along::Separate }
}

/// `Separate` if a condition holds, `Unknown` otherwise.
const fn separate_if(is_separate: bool) -> Along {
    if is_separate { Along::Separate } else { Along::Unknown }
}

impl Operand<'_> {
    fn int(&self, name: Symbol, default: i64) -> i64 {
        self.record.attribute(name).and_then(|found| found.as_int()).unwrap_or(default)
    }

    /// The number of an axis, from the front.
    const fn normal(&self, axis: i64) -> i64 {
        if axis < 0 { axis.saturating_add(self.rank as i64) } else { axis }
    }

    /// Whether the attribute `axis` names the axis.
    fn has_axis(&self, default: i64) -> bool {
        self.normal(self.int(attr::AXIS, default)) == self.axis as i64
    }

    /// The known elements of an operand.
    fn numbers(&self, index: usize) -> Option<Vec<i64>> {
        let content = self.inference.content(self.record.input(index)?)?;
        content.iter().map(|elem| elem.known()).collect()
    }

    /// Operators that work along the axes that they name.
    fn along_axis(&self) -> Option<Along> {
        let (index, at) = (self.index, self.axis as i64);
        Some(match self.record.op() {
            op::SOFTMAX | op::LOG_SOFTMAX | op::HARDMAX if self.version >= 13 => {
                combined_if(self.has_axis(-1))
            }
            op::SOFTMAX | op::LOG_SOFTMAX | op::HARDMAX => {
                combined_if(self.normal(self.int(attr::AXIS, 1)) <= at)
            }
            op::LAYER_NORMALIZATION | op::RMS_NORMALIZATION if index == 0 => {
                combined_if(self.normal(self.int(attr::AXIS, -1)) <= at)
            }
            op::LAYER_NORMALIZATION | op::RMS_NORMALIZATION => Along::Unknown,
            op::ARG_MAX | op::ARG_MIN => combined_if(self.has_axis(0)),
            op::TOP_K if index == 0 => combined_if(self.has_axis(if self.version >= 10 { -1 } else { 0 })),
            op::CUM_SUM if index == 0 => {
                let axis = self.numbers(1).and_then(|all| all.first().copied());
                combined_if(axis.is_none_or(|axis| self.normal(axis) == at))
            }
            op::LP_NORMALIZATION => combined_if(self.has_axis(-1)),
            op::MEAN_VARIANCE_NORMALIZATION => {
                let axes = self.record.attribute(attr::AXES).and_then(|axes| axes.as_ints());
                combined_if(axes.unwrap_or(&[0, 2, 3]).iter().any(|&axis| self.normal(axis) == at))
            }
            op::TRILU if index == 0 => combined_if(self.axis.saturating_add(2) >= self.rank),
            op::GATHER if index == 0 => combined_if(self.has_axis(0)),
            op::GATHER => Along::Separate,
            op::GATHER_ELEMENTS | op::SCATTER_ELEMENTS => separate_if(!self.has_axis(0)),
            op::GATHER_ND => separate_if(at < self.int(attr::BATCH_DIMS, 0)),
            op::CONCAT => separate_if(!self.has_axis(0)),
            op::SPLIT if index == 0 => separate_if(!self.has_axis(0)),
            op::NON_ZERO | op::UNIQUE | op::COMPRESS => Along::Combined,
            reduction if REDUCTIONS.contains(&reduction) => combined_if(index == 0 && self.is_reduced()),
            op::SLICE if index == 0 => separate_if(self.is_sliced() == Some(false)),
            op::TILE if index == 0 => {
                let repeats = self.numbers(1);
                separate_if(repeats.and_then(|all| all.get(self.axis).copied()) == Some(1))
            }
            op::PAD if index == 0 => separate_if(self.is_padded() == Some(false)),
            _ => return None,
        })
    }

    /// Operators whose operands have the batch on a certain axis.
    fn along_batch(&self) -> Option<Along> {
        let (index, axis) = (self.index, self.axis);
        Some(match self.record.op() {
            op::LSTM | op::GRU | op::RNN => {
                let batch = usize::from(self.int(attr::LAYOUT, 0) != 1);
                match index {
                    0 => combined_if(axis != batch),
                    4 => Along::Separate,
                    5 | 6 => separate_if(axis == batch),
                    _ => Along::Unknown,
                }
            }
            op::MAT_MUL | op::MAT_MUL_INTEGER if index < 2 => combined_if(self.is_inner(index == 0)),
            op::Q_LINEAR_MAT_MUL if index == 0 || index == 3 => combined_if(self.is_inner(index == 0)),
            op::GEMM if index < 2 => {
                let name = if index == 0 { attr::TRANS_A } else { attr::TRANS_B };
                let inner = usize::from((index == 0) != (self.int(name, 0) != 0));
                combined_if(axis == inner)
            }
            op::GEMM => Along::Separate,
            // Indices of `MaxPool` count the elements of all images.
            op::MAX_POOL if self.record.output(1).is_some() => Along::Combined,
            other if BATCH_FIRST.contains(&other) && index == 0 => combined_if(axis != 0),
            op::BATCH_NORMALIZATION if index == 0 && axis == 0 => {
                let is_training = self.int(attr::TRAINING_MODE, 0) != 0
                    || self.record.outputs().iter().skip(1).flatten().next().is_some();
                combined_if(is_training)
            }
            op::SOFTMAX_CROSS_ENTROPY_LOSS | op::NEGATIVE_LOG_LIKELIHOOD_LOSS if index < 2 => {
                let reduction = self.record.attribute(attr::REDUCTION).and_then(|found| found.as_str());
                combined_if(reduction != Some("none") || axis != 0)
            }
            op::ATTENTION => separate_if(axis == 0 && (matches!(index, 0 | 1 | 2 | 4 | 5) || self.rank == 4)),
            op::ROTARY_EMBEDDING => separate_if(axis == 0 && (index == 0 || index == 3)),
            op::RESIZE | op::UPSAMPLE if index == 0 => separate_if(self.keeps_size()),
            op::EINSUM => self.along_label(),
            _ => return None,
        })
    }

    /// Operators that keep or move elements.
    fn along_layout(&self) -> Option<Along> {
        Some(match self.record.op() {
            // `constants` locates the size behind a `Reshape`.
            op::RESHAPE | op::TRANSPOSE | op::SQUEEZE | op::UNSQUEEZE | op::SHAPE | op::SIZE => {
                Along::Separate
            }
            op::FLATTEN => separate_if(self.axis == 0),
            op::EXPAND | op::ONE_HOT if self.index == 0 => Along::Separate,
            op::QUANTIZE_LINEAR | op::DEQUANTIZE_LINEAR if self.index == 0 => Along::Separate,
            // States are passed to the body and back as they are.
            op::LOOP if self.index >= 2 => Along::Separate,
            op::SCAN if self.version >= 9 => self.along_scan(),
            other if keeps_indices(other) => Along::Separate,
            _ => return None,
        })
    }

    /// Whether the axis is the inner one of a matrix product.
    fn is_inner(&self, is_left: bool) -> bool {
        let from_end = if is_left || self.rank == 1 { 1 } else { 2 };
        self.rank.checked_sub(from_end) == Some(self.axis)
    }

    /// Whether a reduction has the axis; `true` if its axes are not known.
    fn is_reduced(&self) -> bool {
        let listed = self.record.attribute(attr::AXES).and_then(|axes| axes.as_ints()).map(<[i64]>::to_vec);
        let axes = match (listed, self.record.input(1)) {
            (Some(axes), _) => axes,
            (None, Some(_)) => match self.numbers(1) {
                Some(axes) => axes,
                None => return true,
            },
            (None, None) => Vec::new(),
        };
        if axes.is_empty() {
            return self.int(attr::NOOP_WITH_EMPTY_AXES, 0) == 0;
        }
        axes.into_iter().any(|other| self.normal(other) == self.axis as i64)
    }

    /// Whether a `Slice` takes a part of the axis, as far as its axes are known.
    fn is_sliced(&self) -> Option<bool> {
        let ints = |name: Symbol| self.record.attribute(name).and_then(|axes| axes.as_ints());
        let axes: Vec<i64> = if self.version < 10 {
            let count = ints(attr::STARTS)?.len() as i64;
            ints(attr::AXES).map_or_else(|| (0..count).collect(), <[i64]>::to_vec)
        } else if self.record.input(3).is_some() {
            self.numbers(3)?
        } else {
            (0..self.numbers(1)?.len() as i64).collect()
        };
        Some(axes.iter().any(|&axis| self.normal(axis) == self.axis as i64))
    }

    /// Whether a `Pad` adds or removes elements along the axis, as far as this is known.
    fn is_padded(&self) -> Option<bool> {
        let pads = match self.record.attribute(attr::PADS).and_then(|pads| pads.as_ints()) {
            Some(pads) => pads.to_vec(),
            None => self.numbers(1)?,
        };
        let axes = match self.record.input(3) {
            Some(_) => self.numbers(3)?,
            None => (0..self.rank as i64).collect(),
        };
        let of_axis = axes.iter().enumerate().filter(|&(_, &axis)| self.normal(axis) == self.axis as i64);
        let mut amounts =
            of_axis.flat_map(|(place, _)| [pads.get(place), pads.get(place.saturating_add(axes.len()))]);
        Some(!amounts.all(|amount| amount == Some(&0)))
    }

    /// Whether the axis of a `Resize` has the same size in the result, where a region of interest does not move it.
    fn keeps_size(&self) -> bool {
        let mode = self.record.attribute(attr::COORDINATE_TRANSFORMATION_MODE);
        let is_cropped = mode.and_then(|mode| mode.as_str()) == Some("tf_crop_and_resize");
        let dim = |value| self.inference.shape(value).and_then(|dims| dims.get(self.axis)).copied();
        let [before, after] = [self.record.input(0), self.record.output(0)].map(|value| value.and_then(dim));
        !is_cropped && before.is_some() && before == after
    }

    /// What an `Einsum` does with the label of the axis.
    fn along_label(&self) -> Along {
        let equation = self.record.attribute(attr::EQUATION).and_then(|found| found.as_str());
        let equation = equation.unwrap_or_default().replace(' ', "");
        let Some((inputs, output)) = equation.split_once("->") else { return Along::Unknown };
        let labels = inputs.split(',').nth(self.index).unwrap_or_default();
        let label = labels.chars().nth(self.axis).filter(|_| !equation.contains('.'));
        let Some(label) = label else { return Along::Unknown };
        match (labels.matches(label).count(), output.matches(label).count()) {
            (1, 1) => Along::Separate,
            (_, 0) => Along::Combined,
            _ => Along::Unknown,
        }
    }

    /// What a `Scan` does with an axis: it runs along one of each scanned operand, and passes states as they are.
    fn along_scan(&self) -> Along {
        let Ok(scanned) = usize::try_from(self.int(attr::NUM_SCAN_INPUTS, 0)) else { return Along::Unknown };
        let Some(place) = self.index.checked_sub(self.record.input_count().saturating_sub(scanned)) else {
            return Along::Separate;
        };
        let axes = self.record.attribute(attr::SCAN_INPUT_AXES).and_then(|axes| axes.as_ints());
        let axis = axes.and_then(|axes| axes.get(place).copied()).unwrap_or(0);
        combined_if(self.normal(axis) == self.axis as i64)
    }
}
