//! Formats of quantized numbers.

use onnx_eval::compare::Noise;
use onnx_types::tensor::{DataSource, F4E2M1, F8E4M3Fn, F8E5M2, Tensor, TensorError, TensorFault};
use onnx_types::{ElemClass, ElemType};

/// The numbers of a quantized type.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Format {
    pub(crate) elem: ElemType,
    /// The least and the greatest number.
    pub(crate) low: f32,
    pub(crate) high: f32,
    bits: u32,
    is_float: bool,
}

impl Format {
    /// The format of a type; `None` if weights are not quantized to it.
    pub(crate) fn of(elem: ElemType) -> Option<Self> {
        let bits = elem.bits()?;
        let of = |low: f32, high: f32, is_float| Some(Self { elem, low, high, bits, is_float });
        match (elem, elem.class()) {
            (ElemType::Float8E4M3Fn, _) => of(-448.0, 448.0, true),
            (ElemType::Float8E5M2, _) => of(-57344.0, 57344.0, true),
            (ElemType::Float4E2M1, _) => of(-6.0, 6.0, true),
            (_, ElemClass::Int) if bits <= 16 => {
                let half = (1_u32 << (bits - 1)) as f32;
                of(-half, half - 1.0, false)
            }
            (_, ElemClass::Uint) if bits <= 16 => of(0.0, ((1_u32 << bits) - 1) as f32, false),
            _ => None,
        }
    }

    /// Returns `true` if the range has as many negative numbers as positive ones, so that zero needs no offset.
    pub(crate) const fn is_signed(&self) -> bool {
        self.low < 0.0
    }

    /// Returns `true` if the numbers are floats, which have no zero point.
    pub(crate) const fn is_float(&self) -> bool {
        self.is_float
    }

    /// The scale and the zero point for numbers of a range.
    pub(crate) fn parameters(&self, (min, max): (f32, f32), symmetric: bool) -> (f32, f32) {
        if symmetric || self.is_float {
            let (magnitude, middle) =
                (min.abs().max(max.abs()), if self.is_signed() { 0.0 } else { self.middle() });
            return (scale(magnitude, self.high - middle), middle);
        }
        // The range has zero, so that zero is exact.
        let (min, max) = (min.min(0.0), max.max(0.0));
        let scale = scale(max - min, self.high - self.low);
        let zero = (self.low - min / scale).round_ties_even().clamp(self.low, self.high);
        (scale, zero)
    }

    const fn middle(&self) -> f32 {
        ((self.high + 1.0) / 2.0).floor()
    }

    /// The quantized number, as a float.
    pub(crate) fn quantize(&self, number: f32, scale: f32, zero: f32) -> f32 {
        let scaled = number / scale;
        match self.elem {
            ElemType::Float8E4M3Fn => F8E4M3Fn::from_f32(scaled, true).to_f32(),
            ElemType::Float8E5M2 => F8E5M2::from_f32(scaled, true).to_f32(),
            ElemType::Float4E2M1 => F4E2M1::from_f32(scaled).to_f32(),
            _ => (scaled.round_ties_even() + zero).clamp(self.low, self.high),
        }
    }

    /// A tensor of quantized numbers.
    pub(crate) fn tensor(&self, dims: &[i64], numbers: &[f32]) -> Result<Tensor, TensorFault> {
        let mut bytes: Vec<u8> = Vec::with_capacity(numbers.len());
        match self.bits {
            16 => numbers.iter().for_each(|&number| bytes.extend((number as i32 as u16).to_le_bytes())),
            8 => bytes.extend(numbers.iter().map(|&number| self.code(number))),
            bits => {
                let in_byte = (8 / bits) as usize;
                for group in numbers.chunks(in_byte) {
                    let mask = (1_u8 << bits) - 1;
                    let pack = |byte: u8, (place, &number): (u32, &f32)| {
                        byte | ((self.code(number) & mask) << (place * bits))
                    };
                    bytes.push((0..).zip(group).fold(0, pack));
                }
            }
        }
        Tensor::from_raw(self.elem, dims.iter().copied(), bytes)
    }

    /// The low bits of the code of a number.
    fn code(&self, number: f32) -> u8 {
        match self.elem {
            ElemType::Float8E4M3Fn => F8E4M3Fn::from_f32(number, true).to_bits(),
            ElemType::Float8E5M2 => F8E5M2::from_f32(number, true).to_bits(),
            ElemType::Float4E2M1 => F4E2M1::from_f32(number).to_bits(),
            _ => number as i32 as u8,
        }
    }
}

/// A positive scale; 1 for numbers that are all zero.
fn scale(range: f32, steps: f32) -> f32 {
    let scale = range / steps;
    if scale.is_normal() { scale } else { 1.0 }
}

/// How the elements of a tensor share scales: `outer` x `size` x `inner`, and a scale for each `block` along the middle.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Layout {
    outer: usize,
    size: usize,
    inner: usize,
    block: usize,
    /// Whether the parts before and behind the axis share scales.
    is_shared: bool,
}

impl Layout {
    /// One scale for all.
    pub(crate) const fn whole(count: usize) -> Self {
        Self { outer: 1, size: count, inner: 1, block: if count == 0 { 1 } else { count }, is_shared: true }
    }

    /// A scale for each index of an axis.
    pub(crate) fn per_axis(dims: &[usize], axis: usize) -> Self {
        Self { block: 1, is_shared: true, ..Self::blocked(dims, axis, 1) }
    }

    /// A scale for each block of elements along an axis.
    pub(crate) fn blocked(dims: &[usize], axis: usize, block: usize) -> Self {
        let product = |dims: &[usize]| dims.iter().product::<usize>();
        let (before, from) = dims.split_at(axis);
        let (size, inner) = from.split_first().map_or((1, 1), |(&size, rest)| (size, product(rest)));
        Self { outer: product(before), size, inner, block, is_shared: false }
    }

    /// Number of scales.
    pub(crate) const fn scales(&self) -> usize {
        let blocks = self.size.div_ceil(self.block);
        if self.is_shared { blocks } else { self.outer * blocks * self.inner }
    }

    /// The scale of an element.
    pub(crate) const fn scale_of(&self, element: usize) -> usize {
        let (inner, rest) = (element % self.inner, element / self.inner);
        let block = (rest % self.size) / self.block;
        if self.is_shared {
            return block;
        }
        let blocks = self.size.div_ceil(self.block);
        ((rest / self.size) * blocks + block) * self.inner + inner
    }
}

/// A quantized tensor with its error.
pub(crate) struct Quantized {
    pub(crate) tensor: Tensor,
    pub(crate) scales: Vec<f32>,
    /// Empty if all are zero.
    pub(crate) zeros: Vec<f32>,
    pub(crate) max_error: f64,
    pub(crate) snr: f64,
}

/// Quantizes a tensor of `float`; `None` if it has a number that is not finite.
pub(crate) fn quantize(
    tensor: &Tensor,
    format: &Format,
    layout: &Layout,
    symmetric: bool,
    data: &dyn DataSource,
) -> Result<Option<Quantized>, TensorError> {
    quantize_with(tensor, format, layout, symmetric, &[], data)
}

/// Like [`quantize`], with scales that are not smaller than those of a list. One scale for all has to be at least the greatest.
pub(crate) fn quantize_with(
    tensor: &Tensor,
    format: &Format,
    layout: &Layout,
    symmetric: bool,
    least: &[f32],
    data: &dyn DataSource,
) -> Result<Option<Quantized>, TensorError> {
    let view = tensor.view::<f32>(data)?;
    let numbers = view.to_slice()?;
    let mut ranges = vec![(f32::INFINITY, f32::NEG_INFINITY); layout.scales()];
    for (element, &number) in numbers.iter().enumerate() {
        if !number.is_finite() {
            return Ok(None);
        }
        let range = &mut ranges[layout.scale_of(element)];
        *range = (range.0.min(number), range.1.max(number));
    }
    let mut parameters: Vec<(f32, f32)> =
        ranges.iter().map(|&range| format.parameters(range, symmetric)).collect();
    let greatest = least.iter().copied().fold(0.0, f32::max);
    let is_one = parameters.len() == 1;
    for (index, (scale, _)) in parameters.iter_mut().enumerate().filter(|_| symmetric) {
        let least = if is_one { Some(greatest) } else { least.get(index).copied() };
        *scale = scale.max(least.unwrap_or(0.0));
    }
    quantize_to(tensor, format, layout, &parameters, data)
}

/// Quantizes a tensor of `float` with given scales and zero points; `None` if it has a number that is not finite.
pub(crate) fn quantize_to(
    tensor: &Tensor,
    format: &Format,
    layout: &Layout,
    parameters: &[(f32, f32)],
    data: &dyn DataSource,
) -> Result<Option<Quantized>, TensorError> {
    let view = tensor.view::<f32>(data)?;
    let numbers = view.to_slice()?;
    let mut quantized = Vec::with_capacity(numbers.len());
    let mut sums = Noise::default();
    for (element, &number) in numbers.iter().enumerate() {
        let &(scale, zero) = parameters.get(layout.scale_of(element)).unwrap_or(&(1.0, 0.0));
        if !number.is_finite() {
            return Ok(None);
        }
        let code = format.quantize(number, scale, zero);
        sums.add(f64::from(number), f64::from((code - zero) * scale));
        quantized.push(code);
    }
    let zeros: Vec<f32> = parameters.iter().map(|&(_, zero)| zero).collect();
    let has_zeros = zeros.iter().any(|&zero| zero != 0.0);
    Ok(Some(Quantized {
        tensor: format.tensor(tensor.dims(), &quantized)?,
        scales: parameters.iter().map(|&(scale, _)| scale).collect(),
        zeros: if has_zeros { zeros } else { Vec::new() },
        max_error: sums.max_error,
        snr: sums.ratio().unwrap_or(f64::NEG_INFINITY),
    }))
}

#[cfg(test)]
mod tests {
    use onnx_types::tensor::NoData;

    use super::*;

    #[test]
    fn formats_cover_their_range() {
        let of = |elem| Format::of(elem).map(|format| (format.low, format.high));
        assert_eq!(of(ElemType::Int4), Some((-8.0, 7.0)));
        assert_eq!(of(ElemType::Uint16), Some((0.0, 65535.0)));
        assert_eq!(of(ElemType::Uint2), Some((0.0, 3.0)));
        assert_eq!((of(ElemType::Int32), of(ElemType::Float16), of(ElemType::Bool)), (None, None, None));
    }

    #[test]
    fn scales_are_for_blocks_and_axes() {
        let blocked = Layout::blocked(&[2, 5, 3], 1, 2);
        assert_eq!(blocked.scales(), 2 * 3 * 3);
        // Element [1, 4, 2] is in the last block, which has one element.
        assert_eq!(blocked.scale_of(29), 17);
        let axis = Layout::per_axis(&[2, 5, 3], 1);
        assert_eq!((axis.scales(), axis.scale_of(29), axis.scale_of(3)), (5, 4, 1));
        assert_eq!((Layout::whole(30).scales(), Layout::whole(30).scale_of(29)), (1, 0));
    }

    #[test]
    fn elements_are_packed_from_the_low_bits() {
        let format = Format::of(ElemType::Int4).unwrap();
        let tensor = format.tensor(&[3], &[-8.0, 7.0, -1.0]).unwrap();
        assert_eq!(tensor.iter_i64(&NoData).unwrap().collect::<Vec<_>>(), [-8, 7, -1]);
        let format = Format::of(ElemType::Uint2).unwrap();
        let tensor = format.tensor(&[5], &[3.0, 0.0, 1.0, 2.0, 3.0]).unwrap();
        assert_eq!(tensor.iter_i64(&NoData).unwrap().collect::<Vec<_>>(), [3, 0, 1, 2, 3]);
        let format = Format::of(ElemType::Uint16).unwrap();
        let tensor = format.tensor(&[2], &[65535.0, 1.0]).unwrap();
        assert_eq!(tensor.iter_i64(&NoData).unwrap().collect::<Vec<_>>(), [65535, 1]);
    }

    #[test]
    fn errors_are_at_most_half_a_step() {
        let numbers: Vec<f32> = (0..64).map(|number| (number as f32 * 0.37).sin() + 0.4).collect();
        for elem in [ElemType::Int8, ElemType::Uint8, ElemType::Int4, ElemType::Uint4, ElemType::Int16] {
            for symmetric in [true, false] {
                let format = Format::of(elem).unwrap();
                let layout = Layout::blocked(&[8, 8], 1, 4);
                let tensor = Tensor::from_slice([8, 8], &numbers).unwrap();
                let found = quantize(&tensor, &format, &layout, symmetric, &NoData).unwrap().unwrap();
                let step = found.scales.iter().copied().fold(0.0, f32::max);
                // The least number of a signed type has no counterpart, so the greatest one may be half a step beyond.
                assert!(
                    found.max_error <= f64::from(step) * 0.5001,
                    "{elem} {symmetric}: {}",
                    found.max_error
                );
            }
        }
        let zeros = Tensor::vector(&[0.0_f32; 4]);
        let format = Format::of(ElemType::Int8).unwrap();
        let found = quantize(&zeros, &format, &Layout::whole(4), true, &NoData).unwrap().unwrap();
        assert_eq!((found.scales, found.max_error), (vec![1.0], 0.0));
        let infinite = Tensor::vector(&[f32::INFINITY]);
        assert!(quantize(&infinite, &format, &Layout::whole(1), true, &NoData).unwrap().is_none());
    }
}
