//! Checks the indices of sparse tensors, once for all rules.

use onnx_ir::SparseTensor;
use onnx_types::ElemType;
use onnx_types::tensor::NoData;
use smallvec::SmallVec;

/// What is wrong with the indices of a sparse tensor: the first case of each kind.
#[derive(Debug, Default)]
pub(crate) struct IndexFaults {
    pub(crate) outside: Option<Outside>,
    /// The index of the value that is not after its predecessor, and whether the two have the same index in the tensor.
    pub(crate) unsorted: Option<(usize, bool)>,
}

/// An index that is outside of the dimensions.
#[derive(Debug)]
pub(crate) struct Outside {
    /// The number of the value.
    pub(crate) entry: usize,
    /// The axis that the index is for; `None` where it counts through the flattened tensor.
    pub(crate) axis: Option<usize>,
    pub(crate) index: i64,
    /// The largest index that would be inside.
    pub(crate) largest: u128,
}

impl IndexFaults {
    /// Reads the indices in one pass, if types and shapes say how. Those in other files are not read.
    pub(crate) fn find(sparse: &SparseTensor) -> Self {
        let Some(indices) = &sparse.indices else { return Self::default() };
        let is_clear = indices.elem() == ElemType::Int64 && !indices.is_external();
        if !is_clear || sparse.dims.iter().any(|&dim| dim <= 0) {
            return Self::default();
        }
        let bounds: SmallVec<[u128; 4]> = match *indices.dims() {
            [_] => SmallVec::from_slice(&[positions(&sparse.dims)]),
            [_, columns] if usize::try_from(columns) == Ok(sparse.dims.len()) => {
                sparse.dims.iter().map(|&dim| u128::from(dim.unsigned_abs())).collect()
            }
            _ => return Self::default(),
        };
        let is_linear = indices.rank() == 1;
        match indices.iter_i64(&NoData) {
            Ok(indices) if !bounds.is_empty() => Self::among(indices, &bounds, is_linear),
            _ => Self::default(),
        }
    }

    /// Reads rows that have an index for each of the bounds.
    fn among(mut indices: impl Iterator<Item = i64>, bounds: &[u128], is_linear: bool) -> Self {
        let mut faults = Self::default();
        let (mut row, mut last) = (SmallVec::<[i64; 4]>::new(), SmallVec::<[i64; 4]>::new());
        for entry in 0.. {
            row.clear();
            row.extend(indices.by_ref().take(bounds.len()));
            if row.len() < bounds.len() {
                break;
            }
            if faults.outside.is_none() {
                let is_inside = |index: i64, bound| u128::try_from(index).is_ok_and(|index| index < bound);
                let mut columns = row.iter().zip(bounds).enumerate();
                let found = columns.find(|&(_, (&index, &bound))| !is_inside(index, bound));
                faults.outside = found.map(|(axis, (&index, &bound))| Outside {
                    entry,
                    axis: (!is_linear).then_some(axis),
                    index,
                    largest: bound.saturating_sub(1),
                });
            }
            if entry > 0 && faults.unsorted.is_none() && row <= last {
                faults.unsorted = Some((entry, row == last));
            }
            if faults.unsorted.is_some() {
                // What comes after cannot be trusted, and nothing would end the reading of a repeated index.
                break;
            }
            std::mem::swap(&mut row, &mut last);
        }
        faults
    }
}

/// The number of positions in a tensor: the product of its dimensions, or so many that no index reaches them.
fn positions(dims: &[i64]) -> u128 {
    dims.iter().fold(1, |product: u128, &dim| product.saturating_mul(u128::from(dim.unsigned_abs())))
}
