//! What operators do with the elements along an axis: they keep them apart, or combine them.
//!
//! With a batch of 1, every operator along the axis of the batch combines one row. If the size is free, the rows of a batch would
//! influence each other.

use onnx_ir::{Callee, FunctionId, Model, Node, NodeId, ValueId};
use onnx_schema::traits::{Combines, Elements, newest};
use onnx_schema::{Registry, Traits, attr, domain, op};
use onnx_shape_infer::Inference;
use onnx_types::tensor::NoData;
use onnx_types::{Dim, Symbol};

use super::attributes::{Attributes, from_front};
use super::slices;

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

/// Maximum number of elements of a constant that names axes or numbers for axes.
const MAX_NUMBERS: u64 = 1024;

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
    let rank = record.input(index).and_then(|value| inference.shape(value)).map(<[_]>::len);
    let (Some(rank), Some(attributes)) = (rank, Attributes::of(model, node)) else {
        return Along::Unknown;
    };
    let operand = Operand { model, inference, record, attributes, index, axis, rank };
    let found = operand.along_axis().or_else(|| operand.along_elements());
    let found = found.or_else(|| operand.along_batch()).or_else(|| operand.along_layout());
    found.unwrap_or(Along::Unknown)
}

/// The integers of a value that is a small constant, or whose elements inference knows.
pub(super) fn numbers(model: &Model, inference: &Inference, value: ValueId) -> Option<Vec<i64>> {
    if let Some(content) = inference.content(value) {
        return content.iter().map(|elem| elem.known()).collect();
    }
    // Inference reads the initializers only that it needs.
    let tensor = model.get_value(value).and_then(|_| model.constant_tensor(value))?;
    let count = tensor.element_count().filter(|&count| count <= MAX_NUMBERS)?;
    tensor.get_i64s(&NoData, usize::try_from(count).ok()?).ok()
}

/// Whether an operator keeps each element at its index, except that normalizations also work along the axes that they name.
pub(super) fn keeps_indices(op: Symbol) -> bool {
    newest(op).is_some_and(Traits::keeps_indices)
}

/// Whether all nodes of a function are elementwise operators of its operands and of single numbers.
fn is_elementwise(model: &Model, function: FunctionId) -> bool {
    let is_number = |record: &Node| {
        let tensor = record.attribute(attr::VALUE).and_then(|value| value.as_tensor());
        [attr::VALUE_FLOAT, attr::VALUE_INT].iter().any(|&name| record.attribute(name).is_some())
            || tensor.is_some_and(|tensor| tensor.element_count() == Some(1))
    };
    let body = model.function(function).body();
    model.initializers(body).next().is_none()
        && model.nodes(body).map(|node| (node, model.node(node))).all(|(node, record)| {
            let standard = model.callee(node, Registry::STANDARD).standard();
            standard.is_some_and(|schema| {
                (record.is(op::CONSTANT) && is_number(record)) || schema.traits().is_elementwise()
            })
        })
}

/// An axis of an operand.
struct Operand<'a> {
    model: &'a Model,
    inference: &'a Inference,
    record: &'a Node,
    attributes: Attributes<'a>,
    index: usize,
    axis: usize,
    rank: usize,
}

/// `Combined` if a condition holds, `Separate` otherwise.
const fn combined_if(is_combined: bool) -> Along {
    if is_combined { Along::Combined } else { Along::Separate }
}

/// `Separate` if a condition holds, `Unknown` otherwise.
const fn separate_if(is_separate: bool) -> Along {
    if is_separate { Along::Separate } else { Along::Unknown }
}

/// Like [`combined_if`], if the condition is known.
const fn combined_if_known(is_combined: Option<bool>) -> Along {
    match is_combined {
        Some(is_combined) => combined_if(is_combined),
        None => Along::Unknown,
    }
}

impl Operand<'_> {
    /// Whether an attribute names the axis; `None` if it has no value.
    fn is_named_by(&self, name: Symbol) -> Option<bool> {
        Some(self.attributes.axis(name, self.rank)? == self.axis)
    }

    /// Whether an attribute names the axis or one before it; `None` if it has no value.
    fn is_behind(&self, name: Symbol) -> Option<bool> {
        Some(self.attributes.axis(name, self.rank)? <= self.axis)
    }

    /// Whether a list of axes has the axis.
    fn is_in(&self, axes: &[i64]) -> bool {
        axes.iter().any(|&other| from_front(other, self.rank) == Some(self.axis))
    }

    /// The known elements of an operand.
    fn numbers(&self, index: usize) -> Option<Vec<i64>> {
        numbers(self.model, self.inference, self.record.input(index)?)
    }

    /// A dimension of an operand.
    fn dim(&self, index: usize, axis: usize) -> Option<Dim> {
        self.inference.shape(self.record.input(index)?)?.get(axis).copied()
    }

    /// Whether all operands have the size of the axis, each on the axis at its position in a list: with fewer indices than rows,
    /// as some operators permit, the results would be those of some rows only.
    fn has_common_axis(&self, axes: &[usize]) -> bool {
        let own = self.dim(self.index, self.axis).filter(|dim| !dim.is_unknown());
        own.is_some()
            && axes.get(self.index) == Some(&self.axis)
            && self.record.input_count() <= axes.len()
            && axes
                .iter()
                .enumerate()
                .all(|(index, &axis)| self.record.input(index).is_none() || self.dim(index, axis) == own)
    }

    /// Operators that work along the axes that they name.
    fn along_axis(&self) -> Option<Along> {
        let (index, since) = (self.index, self.attributes.since());
        // The labels of a loss have the axes of its scores, but the one of the classes.
        let is_first = index == 0 || (index == 1 && self.attributes.traits().combines() == Combines::Loss);
        if is_first && let Some(along) = self.along_named_axes() {
            return Some(along);
        }
        Some(match self.record.op() {
            op::CONCAT => separate_if(self.is_named_by(attr::AXIS) == Some(false)),
            op::SPLIT if index == 0 => separate_if(self.is_named_by(attr::AXIS) == Some(false)),
            op::COMPRESS => Along::Combined,
            op::GATHER => Along::Separate,
            op::SLICE if index == 0 => separate_if(self.is_sliced() == Some(false)),
            op::TILE if index == 0 && since >= 6 => {
                let repeats = self.numbers(1);
                separate_if(repeats.and_then(|all| all.get(self.axis).copied()) == Some(1))
            }
            op::PAD if index == 0 => separate_if(self.is_padded() == Some(false)),
            _ => return None,
        })
    }

    /// The axes of the first operand that the traits of the operator name.
    fn along_named_axes(&self) -> Option<Along> {
        let is_combined = match self.attributes.traits().combines() {
            Combines::Axis(name) => self.is_named_by(name),
            Combines::From(name) => self.is_behind(name),
            Combines::Axes(name) => self.attributes.ints(name).map(|axes| self.is_in(axes)),
            Combines::AxisOrAll(name) if self.record.attribute(name).is_some() => self.is_named_by(name),
            Combines::AxisOrAll(_) | Combines::All => Some(true),
            Combines::Operand(index) => {
                self.numbers(index).filter(|all| all.len() == 1).map(|axis| self.is_in(&axis))
            }
            Combines::Reduced => self.is_reduced(),
            Combines::LastTwo => Some(self.axis.saturating_add(2) >= self.rank),
            Combines::Loss => Some(self.axis != 0 || self.attributes.text(attr::REDUCTION) != Some("none")),
            // Indices of `MaxPool` count the elements of all images.
            Combines::AllButFirst => Some(self.axis != 0 || self.makes_indices()),
            _ => return None,
        };
        Some(combined_if_known(is_combined))
    }

    /// Whether a `MaxPool` returns indices.
    fn makes_indices(&self) -> bool {
        self.record.is(op::MAX_POOL) && self.record.output(1).is_some()
    }

    /// Operators that choose elements by indices.
    fn along_elements(&self) -> Option<Along> {
        let axis = self.axis;
        let of_all = |axis: usize, count: usize| separate_if(self.has_common_axis(&vec![axis; count]));
        Some(match self.record.op() {
            op::GATHER_ELEMENTS | op::SCATTER_ELEMENTS => {
                let is_other = self.is_named_by(attr::AXIS) == Some(false);
                if is_other { of_all(axis, 3) } else { Along::Unknown }
            }
            op::GATHER_ND => {
                let count = self.attributes.int(attr::BATCH_DIMS).unwrap_or(0);
                let is_batch = i64::try_from(axis).is_ok_and(|axis| axis < count);
                if is_batch { of_all(axis, 2) } else { Along::Unknown }
            }
            op::REVERSE_SEQUENCE => {
                match [attr::BATCH_AXIS, attr::TIME_AXIS].map(|name| self.of_first(name)) {
                    [Some(batch), Some(time)] if batch != time => {
                        separate_if(self.has_common_axis(&[batch, 0]))
                    }
                    _ => Along::Unknown,
                }
            }
            _ => return None,
        })
    }

    /// The axis of the first operand that an attribute names.
    fn of_first(&self, name: Symbol) -> Option<usize> {
        self.attributes.axis(name, self.inference.shape(self.record.input(0)?)?.len())
    }

    /// Operators whose operands have the batch on a certain axis.
    fn along_batch(&self) -> Option<Along> {
        let (index, axis) = (self.index, self.axis);
        Some(match self.record.op() {
            op::LSTM | op::GRU | op::RNN => {
                let batch = usize::from(self.attributes.int(attr::LAYOUT) != Some(1));
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
                let is_transposed = self.attributes.int(name).unwrap_or(0) != 0;
                let inner = usize::from((index == 0) != is_transposed);
                combined_if(axis == inner)
            }
            op::GEMM => Along::Separate,
            op::BATCH_NORMALIZATION if index == 0 && axis == 0 => self.along_statistics(),
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
            op::FLATTEN => separate_if(self.axis == 0),
            op::TRANSPOSE | op::SHAPE | op::SIZE if self.index == 0 => Along::Separate,
            // `constants` locates the size behind a `Reshape`.
            _ if self.index == 0 && self.attributes.traits().elements() == Elements::Reshaped => {
                Along::Separate
            }
            op::EXPAND if self.index == 0 => separate_if(self.is_kept_by_target()),
            op::ONE_HOT if self.index == 0 => Along::Separate,
            op::QUANTIZE_LINEAR | op::DEQUANTIZE_LINEAR if self.index == 0 => Along::Separate,
            op::SCAN if self.attributes.since() >= 9 => self.along_scan(),
            _ if self.attributes.traits().is_elementwise() => Along::Separate,
            _ => return None,
        })
    }

    /// Whether the axis is the inner one of a matrix product.
    fn is_inner(&self, is_left: bool) -> bool {
        let from_end = if is_left || self.rank == 1 { 1 } else { 2 };
        self.rank.checked_sub(from_end) == Some(self.axis)
    }

    /// Whether `BatchNormalization` uses statistics of the batch.
    fn along_statistics(&self) -> Along {
        let is_set = |name: Symbol| self.attributes.int(name).unwrap_or(0) != 0;
        if is_set(attr::TRAINING_MODE) || self.record.outputs().iter().skip(1).flatten().next().is_some() {
            return Along::Combined;
        }
        // The first versions are in training unless an attribute says otherwise.
        separate_if(self.attributes.since() >= 7 || is_set(attr::IS_TEST))
    }

    /// Whether a reduction has the axis; `None` if its axes are not known.
    fn is_reduced(&self) -> Option<bool> {
        let axes = match (self.record.attribute(attr::AXES), self.record.input(1)) {
            (Some(axes), _) => axes.as_ints()?.to_vec(),
            (None, Some(_)) => self.numbers(1)?,
            (None, None) => Vec::new(),
        };
        if axes.is_empty() {
            return Some(self.attributes.int(attr::NOOP_WITH_EMPTY_AXES).unwrap_or(0) == 0);
        }
        Some(self.is_in(&axes))
    }

    /// Whether a `Slice` takes a part of the axis, as far as its axes are known.
    fn is_sliced(&self) -> Option<bool> {
        let parts = slices::parts(self.model, self.inference, self.record, self.attributes)?;
        let (before, after) = (self.dim(0, self.axis)?, self.inference.shape(self.record.output(0)?)?);
        let is_whole = after.get(self.axis) == Some(&before) && !before.is_unknown();
        let mut parts = parts.iter().filter(|part| part.axis == self.axis);
        Some(parts.any(|part| !part.is_from_start() || !is_whole))
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
        let of_axis = axes.iter().enumerate().filter(|&(_, &axis)| self.is_in(&[axis]));
        let mut amounts =
            of_axis.flat_map(|(place, _)| [pads.get(place), pads.get(place.saturating_add(axes.len()))]);
        Some(!amounts.all(|amount| amount == Some(&0)))
    }

    /// Whether an `Expand` keeps the size of the axis: its target has 1 or the size there, or nothing.
    fn is_kept_by_target(&self) -> bool {
        let Some(target) = self.record.input(1) else { return false };
        let from_end = self.rank.saturating_sub(self.axis);
        let dims: Option<Vec<Dim>> = match self.inference.content(target) {
            Some(content) => Some(content.iter().map(|elem| elem.dim()).collect()),
            None => self.numbers(1).map(|all| all.into_iter().map(Dim::Known).collect()),
        };
        dims.is_some_and(|dims| match dims.len().checked_sub(from_end) {
            None => true,
            Some(at) => {
                let own = self.dim(0, self.axis).filter(|dim| !dim.is_unknown());
                dims.get(at).is_some_and(|dim| dim.known() == Some(1) || own == Some(*dim))
            }
        })
    }

    /// Whether the axis of a `Resize` has the same size in the result, and each element is at its place.
    fn keeps_size(&self) -> bool {
        // A region of interest moves elements; the other mode is half an element off for the scale 1.
        let is_moved = self
            .attributes
            .text(attr::COORDINATE_TRANSFORMATION_MODE)
            .is_some_and(|mode| matches!(mode, "tf_crop_and_resize" | "tf_half_pixel_for_nn"));
        let dim = |value| self.inference.shape(value).and_then(|dims| dims.get(self.axis)).copied();
        let [before, after] = [self.record.input(0), self.record.output(0)].map(|value| value.and_then(dim));
        !is_moved && before.is_some_and(|dim| !dim.is_unknown()) && before == after
    }

    /// What an `Einsum` does with the label of the axis.
    fn along_label(&self) -> Along {
        let equation = self.attributes.text(attr::EQUATION).unwrap_or_default().replace(' ', "");
        let (inputs, output) = match equation.split_once("->") {
            Some((inputs, output)) => (inputs, Some(output)),
            None => (equation.as_str(), None),
        };
        let labels = inputs.split(',').nth(self.index).unwrap_or_default();
        let label = labels.chars().nth(self.axis).filter(|_| !equation.contains('.'));
        let Some(label) = label else { return Along::Unknown };
        // Without an output, the result has the labels that occur once.
        let in_output = output.map_or_else(
            || usize::from(inputs.matches(label).count() == 1),
            |output| output.matches(label).count(),
        );
        match (labels.matches(label).count(), in_output) {
            (1, 1) => Along::Separate,
            (_, 0) => Along::Combined,
            _ => Along::Unknown,
        }
    }

    /// What a `Scan` does with an axis: it runs along one of each scanned operand, and passes states as they are.
    fn along_scan(&self) -> Along {
        let count = self.attributes.int(attr::NUM_SCAN_INPUTS).and_then(|count| usize::try_from(count).ok());
        let Some(scanned) = count else { return Along::Unknown };
        let Some(place) = self.index.checked_sub(self.record.input_count().saturating_sub(scanned)) else {
            return Along::Separate;
        };
        let axes = self.attributes.ints(attr::SCAN_INPUT_AXES);
        let axis = axes.and_then(|axes| axes.get(place).copied()).unwrap_or(0);
        combined_if(self.is_in(&[axis]))
    }
}
