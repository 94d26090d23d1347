//! The mode for proofs in which zeros have an order: the least of 0.0 and -0.0 may be either of them.

use std::sync::Arc;

use onnx_schema::{SchemaRef, attr, op};
use onnx_types::ElemType;
use onnx_types::tensor::Tensor;

use crate::budget::probe;
use crate::cx::{Cx, Operand, Outcome};
use crate::number::Unit;
use crate::registry::KernelFn;
use crate::value::Value;

/// Whether the results of a node depend on how zeros are ordered.
pub(super) fn depend_on_order(cx: &Cx<'_, '_>) -> bool {
    let Some(SchemaRef::Standard(schema)) = cx.schema else { return false };
    let reduces = || cx.text(attr::REDUCTION).is_ok_and(|reduction| matches!(reduction, "max" | "min"));
    let is_scatter = matches!(cx.op(), op::SCATTER_ELEMENTS | op::SCATTER_ND);
    schema.traits().orders_zeros() && (!is_scatter || reduces())
}

/// Runs a kernel, and gives the zeros of its first result the signs that they have if -0.0 is less than 0.0, or if it is greater.
///
/// The kernel runs again on the least numbers of each sign in the place of zeros.
pub(super) fn run_in_order(cx: &mut Cx<'_, '_>, kernel: KernelFn, is_reversed: bool) -> Outcome {
    kernel(cx)?;
    let Some(Some(Value::Tensor(result))) = cx.outputs.first() else { return Ok(()) };
    let Some(format) = Format::of(result.elem()) else { return Ok(()) };
    let result = Operand::new(Arc::clone(result))?;
    let mut inputs = Vec::with_capacity(cx.inputs.len());
    for index in 0..cx.inputs.len() {
        let input = cx.inputs.get(index).cloned().flatten();
        inputs.push(match &input {
            Some(Value::Tensor(tensor)) if tensor.elem() == result.elem => {
                let operand = Operand::new(Arc::clone(tensor))?;
                Some(format.map(cx, &operand, |code, _| format.apart(code, is_reversed))?.into())
            }
            _ => input,
        });
    }
    let outputs = std::mem::take(&mut cx.outputs);
    cx.buffers.clear();
    inputs.iter_mut().zip(cx.inputs.iter_mut()).for_each(|(one, other)| std::mem::swap(one, other));
    let again = kernel(cx);
    inputs.iter_mut().zip(cx.inputs.iter_mut()).for_each(|(one, other)| std::mem::swap(one, other));
    again?;
    let moved = std::mem::replace(&mut cx.outputs, outputs);
    cx.buffers.clear();
    let Some(Some(Value::Tensor(moved))) = moved.first() else { return Ok(()) };
    let moved = format.codes(cx, &Operand::new(Arc::clone(moved))?)?;
    let chosen = format.map(cx, &result, |code, index| {
        let moved = moved.get(index).copied().unwrap_or(code);
        if format.magnitude(code) == 0 { format.together(moved, is_reversed) } else { code }
    })?;
    if let Some(slot) = cx.outputs.first_mut() {
        *slot = Some(chosen.into());
    }
    Ok(())
}

/// A float format of which all bits but the first one are a magnitude.
#[derive(Clone, Copy)]
struct Format {
    width: u32,
}

impl Format {
    const fn of(elem: ElemType) -> Option<Self> {
        Some(Self {
            width: match elem {
                ElemType::Double => 64,
                ElemType::Float => 32,
                ElemType::Float16 | ElemType::Bfloat16 => 16,
                _ => return None,
            },
        })
    }

    const fn sign(self) -> u64 {
        1 << (self.width - 1)
    }

    const fn magnitude(self, code: u64) -> u64 {
        code & (self.sign() - 1)
    }

    /// The least number of the sign of a zero, or of the other one if the order is reversed; other numbers as they are.
    const fn apart(self, code: u64, is_reversed: bool) -> u64 {
        match (self.magnitude(code), is_reversed) {
            (0, false) => code | 1,
            (0, true) => code ^ self.sign() | 1,
            _ => code,
        }
    }

    /// The zero that a number made by [`apart`](Self::apart) stands for. A zero is one that the operator made.
    const fn together(self, code: u64, is_reversed: bool) -> u64 {
        match (self.magnitude(code), is_reversed) {
            (0, _) | (_, false) => code & self.sign(),
            _ => (code ^ self.sign()) & self.sign(),
        }
    }

    fn codes(self, cx: &mut Cx<'_, '_>, operand: &Operand) -> Outcome<Vec<u64>> {
        probe(operand.count, size_of::<u64>())?;
        Ok(match self.width {
            64 => cx.units::<u64>(operand)?.to_vec(),
            32 => cx.units::<u32>(operand)?.iter().map(|&code| u64::from(code)).collect(),
            _ => cx.units::<u16>(operand)?.iter().map(|&code| u64::from(code)).collect(),
        })
    }

    /// A tensor with other codes.
    fn map(
        self,
        cx: &mut Cx<'_, '_>,
        operand: &Operand,
        code: impl Fn(u64, usize) -> u64,
    ) -> Outcome<Tensor> {
        let codes = self.codes(cx, operand)?;
        let codes = codes.into_iter().enumerate().map(|(index, own)| code(own, index));
        let payload = match self.width {
            64 => u64::store(operand.elem, codes.collect()),
            32 => u32::store(operand.elem, codes.map(|code| code as u32).collect()),
            _ => u16::store(operand.elem, codes.map(|code| code as u16).collect()),
        };
        Ok(Tensor::from_parts(operand.elem.code(), operand.tensor.dims().into(), payload))
    }
}
