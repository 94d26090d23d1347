//! Smaller constants: the elements at some indices of the axes of one size.
//!
//! A claim about weights is cheap to run if the weights are few. Which indices are kept changes from run to run, and is the same
//! for all axes of one size, so that products and sums along them still fit.

use std::collections::BTreeMap;

use onnx_types::tensor::{NoData, Tensor};

use crate::sample::SplitMix64;

/// Number of elements of all constants of a claim up to which they stay whole.
pub(crate) const WHOLE: u64 = 1 << 12;

/// The indices that a run keeps, by the size of the axis.
pub(crate) struct Kept(BTreeMap<i64, Vec<usize>>);

impl Kept {
    /// `sizes` maps sizes to smaller ones. The first attempt keeps the first indices, the second one the last ones, and others any.
    pub(crate) fn of(sizes: &BTreeMap<i64, i64>, attempt: usize) -> Self {
        let kept = sizes.iter().map(|(&size, &small)| {
            let (count, wanted) = (size.unsigned_abs() as usize, small.unsigned_abs() as usize);
            let indices = match attempt {
                0 => (0..wanted).collect(),
                1 => (count.saturating_sub(wanted)..count).collect(),
                _ => any(count, wanted, &mut SplitMix64::new((attempt as u64) << 32 ^ size.unsigned_abs())),
            };
            (size, indices)
        });
        Self(kept.collect())
    }

    /// The elements of a constant at these indices; `None` if its elements cannot be taken one by one.
    pub(crate) fn cut(&self, constant: &Tensor) -> Option<Tensor> {
        if !constant.dims().iter().any(|size| self.0.contains_key(size)) {
            return Some(constant.clone());
        }
        let width = element_bytes(constant)?;
        let bytes = constant.bytes(&NoData).ok()?;
        let mut starts: Vec<usize> = vec![0];
        let mut dims = Vec::new();
        for &size in constant.dims() {
            let count = usize::try_from(size).ok()?;
            let of = |start: usize, index: usize| start.saturating_mul(count).saturating_add(index);
            starts = match self.0.get(&size) {
                Some(kept) => {
                    starts.iter().flat_map(|&start| kept.iter().map(move |&index| of(start, index))).collect()
                }
                None => {
                    starts.iter().flat_map(|&start| (0..count).map(move |index| of(start, index))).collect()
                }
            };
            dims.push(self.0.get(&size).map_or(size, |kept| kept.len() as i64));
        }
        let mut cut = Vec::with_capacity(starts.len().saturating_mul(width));
        for start in starts {
            let begin = start.checked_mul(width)?;
            cut.extend_from_slice(bytes.get(begin..begin.checked_add(width)?)?);
        }
        Tensor::from_raw(constant.elem(), dims, cut).ok()
    }
}

/// The bytes of an element; `None` for strings and for elements that are not whole bytes.
pub(crate) fn element_bytes(tensor: &Tensor) -> Option<usize> {
    let bits = tensor.elem().bits().filter(|bits| bits % 8 == 0)?;
    usize::try_from(bits / 8).ok()
}

/// Different indices in order.
fn any(count: usize, wanted: usize, rng: &mut SplitMix64) -> Vec<usize> {
    let mut indices = std::collections::BTreeSet::new();
    while indices.len() < wanted.min(count) {
        indices.insert(usize::try_from(rng.below(count as u64)).unwrap_or(0));
    }
    indices.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_of_one_size_keep_the_same_indices() {
        let matrix: Vec<i64> = (0..100).collect();
        let matrix = Tensor::from_slice([10, 10], &matrix).unwrap();
        let vector = Tensor::vector(&(0..10_i64).collect::<Vec<_>>());
        for attempt in 0..6 {
            let kept = Kept::of(&BTreeMap::from([(10, 3)]), attempt);
            let chosen = kept.cut(&vector).unwrap().to_vec::<i64>(&NoData).unwrap();
            assert_eq!(chosen.len(), 3);
            let expected: Vec<i64> =
                chosen.iter().flat_map(|&row| chosen.iter().map(move |&column| row * 10 + column)).collect();
            assert_eq!(kept.cut(&matrix).unwrap().to_vec::<i64>(&NoData).unwrap(), expected);
        }
        let last = Kept::of(&BTreeMap::from([(10, 3)]), 1).cut(&vector).unwrap();
        assert_eq!(last.to_vec::<i64>(&NoData).unwrap(), [7, 8, 9]);
    }

    #[test]
    fn other_axes_stay_and_strings_are_not_cut() {
        let tensor = Tensor::from_slice([2, 10], &[1.5_f32; 20]).unwrap();
        let kept = Kept::of(&BTreeMap::from([(10, 4)]), 2);
        assert_eq!(kept.cut(&tensor).unwrap().dims(), [2, 4]);
        assert!(kept.cut(&Tensor::from_strings([10], vec!["a"; 10]).unwrap()).is_none());
    }
}
