//! Operands of `Reshape`, `Expand`, `Tile` and `Slice` that become constants although their elements are not the same in every run.

use onnx_ir::{Model, NodeId, Position, ValueId};
use onnx_ops::{Operator, ops};
use onnx_schema::{domain, op};
use onnx_shape_infer::Elem;
use onnx_types::tensor::Tensor;
use onnx_types::{Dim, ElemType};

use super::sizes::tap_sizes;
use super::{NAME, is_constant};
use crate::assumption::Exactness;
use crate::cx::PassCx;
use crate::passes::Report;
use crate::patch::Patch;
use crate::query::Reason;

/// The first version of `Slice` that has its bounds as operands.
const SLICE_WITH_OPERANDS: i64 = 10;

/// The first version of `Tile` that repeats all axes.
const TILE_WITH_REPEATS: i64 = 6;

/// Makes the operands constants.
pub(super) fn simplify(cx: &mut PassCx<'_>) -> Report {
    cx.rewrite_nodes(NAME, Exactness::Exact, is_candidate, |patch, node| {
        let record = patch.model().node(node);
        if record.is(op::RESHAPE) {
            reshape(patch, node)
        } else if record.is(op::EXPAND) {
            expand(patch, node)
        } else if record.is(op::TILE) {
            tile(patch, node)
        } else {
            slice(patch, node)
        }
    })
}

fn is_candidate(model: &Model, node: NodeId) -> bool {
    let record = model.node(node);
    // An operand that is the default of an input is not replaced: it is constant unless a caller overrides it.
    let has_default = |operand: ValueId| model.value(operand).initializer().is_some();
    let is_open = |index| {
        record.input(index).is_some_and(|operand| !is_constant(model, operand) && !has_default(operand))
    };
    let is_since = |first: i64| {
        let version = model.versions_in(record.graph()).get(domain::ONNX);
        version.is_some_and(|version| version >= first)
    };
    match () {
        () if record.is(op::RESHAPE) || record.is(op::EXPAND) => is_open(1),
        () if record.is(op::TILE) => is_open(1) && is_since(TILE_WITH_REPEATS),
        () if record.is(op::SLICE) => is_open(2) && is_since(SLICE_WITH_OPERANDS),
        () => false,
    }
}

/// Replaces one operand of a node by a constant.
fn set_operand(
    patch: &mut Patch<'_, '_>,
    node: NodeId,
    index: usize,
    elements: &[i64],
) -> Result<(), Reason> {
    let record = patch.model().node(node);
    let mut operands: Vec<Option<ValueId>> = record.inputs().collect();
    let old = record.output(0).ok_or("an output is left out")?;
    let data = record.input(0).ok_or("an operand is left out")?;
    if let Some(operand) = record.input(index) {
        // The known elements are assumptions of the claim, because the sizes of the result follow from them.
        let _ = patch.content(operand);
        // The nodes that compute the operand may remain a part of the claim.
        let _ = tap_sizes(patch, operand);
    }
    patch.tap(data);
    let tensor = Tensor::from_slice([elements.len() as i64], elements)?;
    let constant = patch.new_constant(Position::Before(node), tensor)?;
    *operands.get_mut(index).ok_or("an operand is left out")? = Some(constant);
    let made = patch.like(node, Position::Before(node), &operands)?;
    let new = made.first().copied().flatten().ok_or("the node has no output")?;
    patch.replace(old, new);
    Ok(())
}

/// Replaces the shape of a `Reshape` by a constant with at most one −1.
fn reshape(patch: &mut Patch<'_, '_>, node: NodeId) -> Result<(), Reason> {
    let reshape = ops::Reshape::of(patch.model(), node).ok_or("the node has no view")?;
    let (Some(data), Some(reshaped)) = (reshape.data(), reshape.out_reshaped()) else {
        return Err("an operand is left out".into());
    };
    let allows_zero = reshape.allowzero().or(0).ok_or("whether it copies sizes is not known")? != 0;
    let sizes = patch.try_shape(reshaped)?;
    let from = patch.try_shape(data)?;
    let mut elements = Vec::with_capacity(sizes.len());
    let mut unknown = 0_usize;
    for (axis, &size) in sizes.iter().enumerate() {
        let copies = |patch: &mut Patch<'_, '_>| {
            !allows_zero && from.get(axis).is_some_and(|&from| patch.proved_eq(from, size))
        };
        match size {
            Dim::Known(size) if size > 0 => elements.push(size),
            _ if copies(patch) => elements.push(0),
            _ => {
                unknown += 1;
                elements.push(-1);
            }
        }
    }
    if unknown > 1 {
        return Err(Reason::new(format!("{unknown} sizes are not known")));
    }
    // The size at −1 is the quotient of the number of elements and the other sizes, which must not be 0.
    if unknown == 1 && elements.contains(&0) {
        return Err("a size that is copied may be 0".into());
    }
    set_operand(patch, node, 1, &elements)
}

/// Replaces the shape of an `Expand` by a constant: 1 where the operand has the size of the result.
fn expand(patch: &mut Patch<'_, '_>, node: NodeId) -> Result<(), Reason> {
    let expand = ops::Expand::of(patch.model(), node).ok_or("the node has no view")?;
    let (Some(data), Some(expanded)) = (expand.input(), expand.out_output()) else {
        return Err("an operand is left out".into());
    };
    let sizes = patch.try_shape(expanded)?;
    let from = patch.try_shape(data)?;
    let added = sizes.len().checked_sub(from.len()).ok_or("the operand has more axes than the result")?;
    let mut elements = Vec::with_capacity(sizes.len());
    for (axis, &size) in sizes.iter().enumerate() {
        let own = axis.checked_sub(added).and_then(|axis| from.get(axis));
        match (size, own) {
            (_, Some(&own)) if patch.proved_eq(own, size) => elements.push(1),
            (Dim::Known(size), _) => elements.push(size),
            _ => return Err("a size that it broadcasts to is not known".into()),
        }
    }
    set_operand(patch, node, 1, &elements)
}

/// Replaces the repeats of a `Tile` by a constant: 1 where the operand has the size of the result.
fn tile(patch: &mut Patch<'_, '_>, node: NodeId) -> Result<(), Reason> {
    let tile = ops::Tile::of(patch.model(), node).ok_or("the node has no view")?;
    let (Some(data), Some(repeats), Some(tiled)) = (tile.input(), tile.repeats(), tile.out_output()) else {
        return Err("an operand is left out".into());
    };
    let sizes = patch.try_shape(tiled)?;
    let from = patch.try_shape(data)?;
    let known = patch.content(repeats).filter(|known| known.len() == sizes.len());
    if from.len() != sizes.len() {
        return Err("the result has another rank".into());
    }
    let mut elements = Vec::with_capacity(sizes.len());
    for (axis, (&size, &own)) in sizes.iter().zip(&from).enumerate() {
        let count = known.as_ref().and_then(|known| known.get(axis)?.known());
        match count {
            Some(count) => elements.push(count),
            None if patch.proved_eq(own, size) => elements.push(1),
            None => return Err("a number of repeats is not known".into()),
        }
    }
    set_operand(patch, node, 1, &elements)
}

/// Replaces the ends of a `Slice` by constants: the greatest number where it ends at the size of the axis or after it.
fn slice(patch: &mut Patch<'_, '_>, node: NodeId) -> Result<(), Reason> {
    let record = patch.model().node(node);
    let operand = |index| record.input(index);
    let (Some(data), Some(starts), Some(ends)) = (operand(0), operand(1), operand(2)) else {
        return Err("an operand is left out".into());
    };
    let (axes, steps) = (operand(3), operand(4));
    if patch.elem(ends) != Some(ElemType::Int64) || patch.elem(starts) != Some(ElemType::Int64) {
        return Err("the bounds are not 64-bit integers".into());
    }
    let sizes = patch.try_shape(data)?;
    let known = patch.content(ends).ok_or("the ends are not known")?;
    let axes = match axes {
        Some(axes) => patch.integers(axes).ok_or("the axes are not known")?,
        None => (0..known.len() as i64).collect(),
    };
    let steps = match steps {
        Some(steps) => patch.integers(steps).ok_or("the steps are not known")?,
        None => vec![1; known.len()],
    };
    if axes.len() != known.len() || steps.len() != known.len() {
        return Err("the bounds are not as many as the axes".into());
    }
    let mut elements = Vec::with_capacity(known.len());
    for ((&end, &axis), &step) in known.iter().zip(&axes).zip(&steps) {
        let axis = if axis < 0 { axis.saturating_add(sizes.len() as i64) } else { axis };
        let size = usize::try_from(axis).ok().and_then(|axis| sizes.get(axis)).copied();
        match Elem::dim(end) {
            Dim::Known(end) => elements.push(end),
            end if step > 0 && size.is_some_and(|size| patch.proved_le(size, end)) => elements.push(i64::MAX),
            _ => return Err("an end is not known, and may be before the size of its axis".into()),
        }
    }
    set_operand(patch, node, 2, &elements)
}
