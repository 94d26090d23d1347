//! `ReduceL1` … `ReduceSumSquare`: reduction along axes, which are an attribute in older versions and an input in newer
//! ones. Without axes, all axes are reduced, or none if the node specifies so: then each element is a separate set, so
//! `ReduceSumSquare` still squares.
//!
//! Elements are combined in row-major order, in blocks for sums (`family/sum.rs`). Sums of floats are accumulated in the type in
//! which they are computed, integers wrap, a mean of integers is rounded toward zero. Of no elements: a sum is 0, a product 1, a maximum the least number or
//! negative infinity, a minimum the greatest, `LogSum` and `LogSumExp` negative infinity, a mean NaN or, of integers, 0.
//! `LogSumExp` subtracts the maximum first. NaN wins in a maximum and a minimum.

use onnx_schema::{attr, op};
use onnx_types::ElemType;

use crate::cx::{Cx, Dims, Operand, Outcome};
use crate::family::Axes;
use crate::family::reduce::{Reduction, Set};
use crate::number::{Number, by_number, fit, integer_range};
use crate::ops::math::variadic::{greater, smaller};
use crate::registry::{OpKernels, Row, Takes, eval, since};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    L1,
    L2,
    LogSum,
    LogSumExp,
    Max,
    Mean,
    Min,
    Prod,
    Sum,
    SumSquare,
}

macro_rules! rows {
    ($version:literal, $kind:ident) => {{
        const ROWS: &[Row] = &[
            since(1, |cx| reduce(cx, Kind::$kind, Axes::Attribute)),
            since($version, |cx| reduce(cx, Kind::$kind, Axes::Input(1))),
        ];
        ROWS
    }};
}

pub(in crate::ops) const KERNELS: &[OpKernels] = &[
    eval(op::REDUCE_L1, rows!(18, L1)).open().takes(&[(1, Takes::Axes)]),
    eval(op::REDUCE_L2, rows!(18, L2)).open().takes(&[(1, Takes::Axes)]),
    eval(op::REDUCE_LOG_SUM, rows!(18, LogSum)).open().takes(&[(1, Takes::Axes)]),
    eval(op::REDUCE_LOG_SUM_EXP, rows!(18, LogSumExp)).open().takes(&[(1, Takes::Axes)]),
    eval(op::REDUCE_MAX, rows!(18, Max)).takes(&[(1, Takes::Axes)]),
    eval(op::REDUCE_MEAN, rows!(18, Mean)).open().takes(&[(1, Takes::Axes)]),
    eval(op::REDUCE_MIN, rows!(18, Min)).takes(&[(1, Takes::Axes)]),
    eval(op::REDUCE_PROD, rows!(18, Prod)).open().takes(&[(1, Takes::Axes)]),
    eval(op::REDUCE_SUM, rows!(13, Sum)).open().takes(&[(1, Takes::Axes)]),
    eval(op::REDUCE_SUM_SQUARE, rows!(18, SumSquare)).open().takes(&[(1, Takes::Axes)]),
];

fn reduce(cx: &mut Cx<'_, '_>, kind: Kind, place: Axes) -> Outcome {
    let x = cx.tensor(0)?;
    let axes = cx.axes_at(place)?;
    let keep = cx.int_or(attr::KEEPDIMS, 1)? != 0;
    let none = axes.as_ref().is_none_or(Vec::is_empty);
    let axes = match axes {
        _ if none && cx.flag(attr::NOOP_WITH_EMPTY_AXES)? => Some(Vec::new()),
        _ if none => None,
        axes => axes,
    };
    let reduction = Reduction::new(&x.dims, axes.as_deref())?;
    let dims = if keep { reduction.kept.clone() } else { reduction.squeezed.clone() };
    by_number!(x.elem, T => compute::<T>(cx, kind, &x, &reduction, &dims))
}

fn compute<T: Number>(
    cx: &mut Cx<'_, '_>,
    kind: Kind,
    x: &Operand,
    reduction: &Reduction,
    dims: &Dims,
) -> Outcome {
    let elements = cx.read::<T>(x)?;
    let size = T::of_i64(reduction.size() as i64);
    let (least, greatest) = ends::<T>(x.elem);
    let sum = |set: Set<'_, T>| set.sum(|x| x);
    let squares = |set: Set<'_, T>| set.sum(|x| x.times(x));
    // A sum of integers wraps in the type of the tensor before a function is applied to it.
    let total = |sum: T| if T::IS_FLOAT { sum } else { fit(x.elem, sum) };
    let absolute = |x: T| if x < T::ZERO { T::ZERO.minus(x) } else { x };
    let out = match kind {
        Kind::L1 => reduction.apply(cx, &elements, |set| set.sum(absolute)),
        Kind::L2 => reduction.apply(cx, &elements, |set| T::of_f64(total(squares(set)).f64().sqrt())),
        Kind::LogSum => reduction.apply(cx, &elements, |set| T::of_f64(libm::log(total(sum(set)).f64()))),
        Kind::LogSumExp => reduction.apply(cx, &elements, log_sum_exp::<T>),
        Kind::Max => reduction.apply(cx, &elements, |set| set.fold(least, |a, x| greater(a, x))),
        Kind::Min => reduction.apply(cx, &elements, |set| set.fold(greatest, |a, x| smaller(a, x))),
        Kind::Mean => reduction.apply(cx, &elements, |set| sum(set).over(size).unwrap_or(T::ZERO)),
        Kind::Prod => reduction.apply(cx, &elements, |set| set.fold(T::ONE, T::times)),
        Kind::Sum => reduction.apply(cx, &elements, sum),
        Kind::SumSquare => reduction.apply(cx, &elements, squares),
    }?;
    cx.put(0, x.elem, dims, out)
}

/// The least and the greatest value of a type.
fn ends<T: Number>(elem: ElemType) -> (T, T) {
    match integer_range(elem) {
        Ok((low, high)) if elem != ElemType::Uint64 => (T::of_i64(low as i64), T::of_i64(high as i64)),
        _ => (T::BOTTOM, T::TOP),
    }
}

fn log_sum_exp<T: Number>(set: Set<'_, T>) -> T {
    let max = set.fold(f64::NEG_INFINITY, |max, x| greater(max, x.f64()));
    if !max.is_finite() {
        return T::of_f64(max);
    }
    let sum = set.fold(0.0, |sum, x| sum + libm::exp(x.f64() - max));
    T::of_f64(max + libm::log(sum))
}
