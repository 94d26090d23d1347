//! Facts about operators that the schemas do not state: the values of absent attributes, and which operands commute.

use std::borrow::Cow;

use onnx_ir::ValueId;
use onnx_schema::traits::{Absence, Combines, DerivedDefault, absence_of};
use onnx_schema::{attr, domain};
use onnx_types::Symbol;

use crate::call::Call;
use crate::param::{Param, kind};

/// Maximum number of spatial axes of `Col2Im`, whose number is an operand.
const MAX_IMAGE_AXES: usize = 256;

/// What the absence of an optional attribute without a default means; `None` for attributes that no standard operator of
/// the default domain has. Operators of `ai.onnx.ml` use absence to choose between alternatives, so it is [`Absence::Own`]
/// for all of them.
#[must_use]
pub fn absence(domain: Symbol, op: Symbol, attribute: Symbol) -> Option<Absence> {
    if domain == domain::ML {
        return Some(Absence::Own);
    }
    absence_of(onnx_schema::known_name(op)?, onnx_schema::known_name(attribute)?)
}

/// The value that an absent attribute has by the definition of the operator, for attributes of integers whose default
/// depends on the node. `None` if the absence has a separate meaning, if the inputs of the computation are unknown, or if
/// another attribute decides: `pads` of a node with `auto_pad = SAME_UPPER` follow from the sizes.
///
/// `shape` returns the sizes of a value, `None` for unknown ones, or `None` if its rank is unknown. The methods
/// `…_or_default` of views, such as `strides_or_default`, return what the node gives or else this value.
#[must_use]
pub fn derived_default(
    call: &Call<'_>,
    attribute: Symbol,
    shape: &dyn Fn(ValueId) -> Option<Vec<Option<i64>>>,
) -> Option<Vec<i64>> {
    let schema = call.schema();
    let Absence::Derived(rule) = absence(schema.domain(), schema.op(), attribute)? else { return None };
    derive(call, attribute, rule, &|index| shape(call.input(index)?))
}

/// The known sizes of an operand, for the methods `…_or_default` of views.
#[derive(Clone, Copy)]
pub(crate) enum Known<'a> {
    /// Nothing is needed.
    Nothing,
    /// The rank of the first input.
    Rank(usize),
    /// The sizes of the operand at an index.
    Sizes(usize, &'a [i64]),
    /// Number of elements of the second input.
    Length(usize),
}

/// The value of a parameter with a derived default: given, or derived if the node does not give it.
pub(crate) fn or_derived<'m>(
    call: &Call<'m>,
    attribute: Symbol,
    param: Param<Cow<'m, [i64]>>,
    known: Known<'_>,
) -> Option<Cow<'m, [i64]>> {
    let schema = call.schema();
    let Absence::Derived(rule) = absence(schema.domain(), schema.op(), attribute)? else { return None };
    if attribute == attr::PADS && !has_explicit_pads(call) {
        return None;
    }
    // An empty list of axes to reduce means the same as none.
    let is_given = match &param {
        Param::Given(axes) => !(axes.is_empty() && is_reduction(call)),
        _ => !param.is_omitted(),
    };
    if is_given {
        return param.known();
    }
    let sizes = |index: usize| match known {
        Known::Rank(rank) if index == 0 => Some(vec![None; rank]),
        Known::Sizes(of, sizes) if index == of => Some(sizes.iter().copied().map(Some).collect()),
        Known::Length(length) if index == 1 => Some(vec![Some(i64::try_from(length).ok()?)]),
        _ => None,
    };
    derive(call, attribute, rule, &sizes).map(Cow::Owned)
}

/// Like [`or_derived`], for an attribute that is one integer.
pub(crate) fn or_derived_int(
    call: &Call<'_>,
    attribute: Symbol,
    param: Param<i64>,
    known: Known<'_>,
) -> Option<i64> {
    let list = or_derived(call, attribute, param.map(|value| Cow::Owned(vec![value])), known)?;
    crate::param::one(&list)
}

fn is_reduction(call: &Call<'_>) -> bool {
    call.schema().traits().combines() == Combines::Reduced
}

/// Returns `true` if the attribute `pads`, or its absence, states the padding of a node: another attribute may do so.
fn has_explicit_pads(call: &Call<'_>) -> bool {
    let is_automatic = match call.attr::<kind::Text>(attr::AUTO_PAD) {
        Param::Undeclared | Param::Absent => false,
        param => !param.known().is_some_and(|text| matches!(text, b"NOTSET" | b"VALID" | b"")),
    };
    !is_automatic && call.attr::<kind::Ints>(attr::OUTPUT_SHAPE).is_omitted()
}

/// The derived value of an absent attribute; `sizes` returns those of an operand.
fn derive(
    call: &Call<'_>,
    attribute: Symbol,
    rule: DerivedDefault,
    sizes: &dyn Fn(usize) -> Option<Vec<Option<i64>>>,
) -> Option<Vec<i64>> {
    if attribute == attr::PADS && !has_explicit_pads(call) {
        return None;
    }
    let rank = || sizes(0).map(|sizes| sizes.len());
    let spatial = || rank()?.checked_sub(2);
    Some(match rule {
        DerivedDefault::AxesReversed => axes(rank()?).into_iter().rev().collect(),
        DerivedDefault::Axes if is_reduction(call) => {
            match call.attr::<kind::Int>(attr::NOOP_WITH_EMPTY_AXES).or_default(0)? {
                0 => axes(rank()?),
                _ => Vec::new(),
            }
        }
        DerivedDefault::Axes => axes(rank()?),
        DerivedDefault::Rank => vec![i64::try_from(rank()?).ok()?],
        DerivedDefault::SpatialOnes => vec![1; spatial()?],
        DerivedDefault::SpatialZeros => vec![0; spatial()?],
        DerivedDefault::SpatialPads => vec![0; spatial()?.checked_mul(2)?],
        DerivedDefault::Kernel(index) => sizes(index)?.get(2..)?.iter().copied().collect::<Option<_>>()?,
        DerivedDefault::Int(value) => vec![value],
        DerivedDefault::ScanInputs => vec![0; scanned_inputs(call)?],
        DerivedDefault::ScanOutputs => vec![0; scanned_outputs(call)?],
        DerivedDefault::Starts => axes(call.param::<kind::Ints>(crate::ops::Slice::STARTS).known()?.len()),
        DerivedDefault::Image { value, times } => {
            let count = usize::try_from((*sizes(1)?.first()?)?).ok()?;
            vec![value; count.checked_mul(times).filter(|&count| count <= MAX_IMAGE_AXES)?]
        }
        DerivedDefault::OutputCount => vec![i64::try_from(call.node().outputs().len()).ok()?],
    })
}

fn axes(rank: usize) -> Vec<i64> {
    (0_i64..).take(rank).collect()
}

fn scanned_inputs(call: &Call<'_>) -> Option<usize> {
    let count = call.attr::<kind::Int>(attr::NUM_SCAN_INPUTS).known()?;
    // Version 8 has an operand before the state variables; a count beyond the operands is not valid.
    usize::try_from(count).ok().filter(|&count| count <= call.node().input_count())
}

fn scanned_outputs(call: &Call<'_>) -> Option<usize> {
    let lengths = usize::from(call.since() < 9);
    let states = call.node().input_count().checked_sub(lengths)?.checked_sub(scanned_inputs(call)?)?;
    call.node().outputs().len().checked_sub(states)
}

/// Returns `true` if the two operands of a call may be exchanged without changing a bit of the result, up to payloads of
/// NaNs, in every admissible implementation.
///
/// This does not include `Max` and `Min`: which zero they return for -0.0 and 0.0 may depend on the order. Neither does
/// it include operators of versions before 7, which broadcast only the second operand.
#[must_use]
pub fn is_commutative(call: &Call<'_>) -> bool {
    call.schema().traits().commutes() && call.node().input_count() == 2
}
