//! Sizes of values, and arithmetic with amounts.

use onnx_ir::{Model, ValueId};
use onnx_shape_infer::{Inference, Ty};
use onnx_types::expr::ExprTable;
use onnx_types::{Dim, ElemType};

/// Operations of a node. [`Dim::Unknown`] is a result beyond the limits of expressions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Work {
    pub(super) macs: Dim,
    pub(super) operations: Dim,
}

impl Work {
    pub(super) const NONE: Self = Self { macs: Dim::Known(0), operations: Dim::Known(0) };

    /// Operations without multiply-accumulates.
    pub(super) const fn operations(operations: Dim) -> Self {
        Self { macs: Dim::Known(0), operations }
    }

    /// Whether both amounts are within the limits of expressions.
    pub(super) const fn is_known(self) -> bool {
        !self.macs.is_unknown() && !self.operations.is_unknown()
    }
}

/// Sizes of the values of a model, and the table for amounts that are computed from them.
pub(super) struct Measure<'a> {
    pub(super) model: &'a Model,
    pub(super) inference: &'a Inference,
    pub(super) exprs: ExprTable,
}

impl<'a> Measure<'a> {
    pub(super) fn new(model: &'a Model, inference: &'a Inference) -> Self {
        Self { model, inference, exprs: inference.exprs().clone() }
    }

    /// The dimensions of a value; `None` if its rank or a size is not known.
    pub(super) fn dims(&self, value: ValueId) -> Option<&'a [Dim]> {
        let dims = self.inference.shape(value)?;
        dims.iter().all(|dim| !dim.is_unknown()).then_some(dims)
    }

    /// Bytes of a tensor; `None` if they are not known.
    pub(super) fn bytes(&mut self, value: ValueId) -> Option<Dim> {
        let bits = match self.inference.ty(value) {
            Ty::Tensor(elem, _) if elem != ElemType::Undefined => elem.bits()?,
            _ => return None,
        };
        let dims = self.dims(value)?;
        let elements = self.exprs.product(dims);
        let bytes = match bits.checked_div(8) {
            Some(width) if width > 0 && bits.is_multiple_of(8) => {
                self.exprs.mul(elements, Dim::Known(i64::from(width)))
            }
            _ => {
                let bits = self.exprs.mul(elements, Dim::Known(i64::from(bits)));
                self.exprs.ceil_div(bits, Dim::Known(8))
            }
        };
        (!bytes.is_unknown()).then_some(bytes)
    }

    pub(super) fn add_work(&mut self, a: Work, b: Work) -> Work {
        Work { macs: self.exprs.add(a.macs, b.macs), operations: self.exprs.add(a.operations, b.operations) }
    }

    pub(super) fn times(&mut self, work: Work, times: Dim) -> Work {
        Work { macs: self.exprs.mul(work.macs, times), operations: self.exprs.mul(work.operations, times) }
    }

    pub(super) fn max_work(&mut self, a: Work, b: Work) -> Work {
        Work { macs: self.exprs.max(a.macs, b.macs), operations: self.exprs.max(a.operations, b.operations) }
    }
}
