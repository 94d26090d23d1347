//! `MatMulNBits`: the product with a matrix of `N` columns and `K` rows whose columns are quantized in blocks of 2, 4 or 8
//! bits.
//!
//! The codes of a column lie one after the other, those of a block in whole bytes, the first one in the lowest bits; the last
//! block is filled up. An element is `(code - zero point) * scale`; the zero points are codes too, packed for each column, or
//! numbers of the type of the scales, and `2^(bits - 1)` if they are not given. Weights are computed in `float` and products
//! are summed in the type of the input, or in 32 bits; `accuracy_level`, which allows runtimes to sum in narrower types, has no
//! effect. `g_idx` is unsupported.

use onnx_schema::onnxruntime::microsoft;

use crate::contrib::Row;
use crate::cx::axes::size;
use crate::cx::{Cx, Operand, Outcome, Stop};
use crate::number::{Number, by_float};
use crate::ops::linear::matmul::multiply;

pub(in crate::contrib) const KERNELS: &[Row] = &[(microsoft::MAT_MUL_N_BITS, multiply_blocks)];

/// The quantized matrix.
struct Blocks {
    rows: usize,
    columns: usize,
    bits: usize,
    block: usize,
    /// Number of blocks of a column.
    blocks: usize,
}

impl Blocks {
    fn read(cx: &Cx<'_, '_>) -> Outcome<Self> {
        let (rows, columns) = (size(cx.int_or("K", 0)?)?, size(cx.int_or("N", 0)?)?);
        let (bits, block) = (size(cx.int_or("bits", 4)?)?, size(cx.int_or("block_size", 0)?)?);
        if !matches!(bits, 2 | 4 | 8) || !block.is_power_of_two() || !(8..=1 << 16).contains(&block) {
            return Err(Stop::failed(format_args!(
                "{bits} bits in blocks of {block} are not supported by the operator"
            )));
        }
        // The sizes are gone through even if one of them is 0.
        cx.count(&[rows.max(1), columns.max(1)])?;
        Ok(Self { rows, columns, bits, block, blocks: rows.div_ceil(block) })
    }

    /// The code of an index in the bytes of a column.
    fn code(&self, bytes: &[u8], index: usize) -> Option<f64> {
        let position = index.checked_mul(self.bits)?;
        let byte = *bytes.get(position / 8)?;
        Some(f64::from(u16::from(byte) >> (position % 8) & ((1 << self.bits) - 1)))
    }

    /// The zero points of all blocks.
    fn zeros(&self, cx: &mut Cx<'_, '_>) -> Outcome<Vec<f64>> {
        let count = cx.count(&[self.columns, self.blocks])?;
        let Some(zeros) = cx.optional(3)? else {
            return cx.filled(count, f64::from(1_u8 << (self.bits - 1)));
        };
        let wrong = || Stop::failed("there is not one zero point for each block");
        if zeros.elem.is_float() {
            let values = cx.read_f64(&zeros)?.into_vec();
            return if values.len() == count { Ok(values) } else { Err(wrong()) };
        }
        let bytes = cx.units::<u8>(&zeros)?;
        let width = (self.blocks * self.bits).div_ceil(8);
        let mut values = cx.buffer(count)?;
        for column in 0..self.columns {
            let own = bytes.get(column * width..(column + 1) * width).ok_or_else(wrong)?;
            for block in 0..self.blocks {
                values.push(self.code(own, block).ok_or_else(wrong)?);
            }
        }
        Ok(values)
    }

    /// The matrix with `K` rows and `N` columns, in row-major order.
    fn matrix<T: Number>(&self, cx: &mut Cx<'_, '_>, codes: &Operand) -> Outcome<Vec<T>> {
        let scales = cx.tensor(2)?;
        let (zeros, scales) = (self.zeros(cx)?, cx.read_f64(&scales)?);
        let bytes = cx.units::<u8>(codes)?;
        let width = self.blocks * (self.block * self.bits / 8);
        if scales.len() != zeros.len() || Some(bytes.len()) != self.columns.checked_mul(width) {
            return Err(Stop::failed("the weights or the scales do not fit `N`, `K` and the blocks"));
        }
        let mut matrix = cx.filled(cx.count(&[self.rows, self.columns])?, T::ZERO)?;
        for column in 0..self.columns {
            let own = bytes.get(column * width..(column + 1) * width).unwrap_or_default();
            for row in 0..self.rows {
                let at = column * self.blocks + row / self.block;
                let code = self.code(own, row).unwrap_or(0.0);
                let value = (code - zeros[at]) as f32 * scales[at] as f32;
                matrix[row * self.columns + column] = T::of_f64(value.into());
            }
        }
        Ok(matrix)
    }
}

fn multiply_blocks(cx: &mut Cx<'_, '_>) -> Outcome {
    let (a, codes) = (cx.tensor(0)?, cx.tensor(1)?);
    if cx.has_input(4) {
        return Err(Stop::unsupported("`g_idx`"));
    }
    let (blocks, bias) = (Blocks::read(cx)?, cx.optional(5)?);
    if bias.as_ref().is_some_and(|bias| *bias.dims != [blocks.columns]) {
        return Err(Stop::failed("the bias has not one element for each column"));
    }
    by_float!(a.elem, T => {
        let matrix = blocks.matrix::<T>(cx, &codes)?;
        let elements = cx.read::<T>(&a)?;
        let (dims, mut out) =
            multiply::<T>(cx, (&elements, &a.dims), (&matrix, &[blocks.rows, blocks.columns]))?;
        if let Some(bias) = bias {
            let bias = cx.read::<T>(&bias)?;
            out.iter_mut().zip(bias.iter().cycle()).for_each(|(value, bias)| *value += bias);
        }
        cx.put(0, a.elem, &dims, out)
    })
}
