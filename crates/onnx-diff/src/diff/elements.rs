//! Tensors of two models.

use std::sync::Arc;

use onnx_diag::Locus;
use onnx_eval::Value;
use onnx_eval::compare::{Difference, Tolerances, compare_values_within};
use onnx_ir::{Constant, SparseTensor, TensorHolder, TensorPart, TensorPlace, ValueId};
use onnx_types::Stopped;
use onnx_types::tensor::{DataSource, Payload, Tensor, TensorError};

use super::compare::Comparison;
use super::side::Side;
use super::{Aspect, AspectKind};

/// Text for an initializer: type and dimensions, and the name.
pub(super) fn text(side: &Side<'_>, value: ValueId) -> String {
    let of = |constant: &Constant| match constant {
        Constant::Dense(tensor) => tensor_text(tensor),
        Constant::Sparse(sparse) => sparse_text(sparse),
    };
    let ty = side.model.value(value).initializer().map(|constant| of(constant)).unwrap_or_default();
    format!("{ty} {}", side.value(value))
}

fn dims_text(dims: &[i64]) -> String {
    let dims: Vec<String> = dims.iter().map(i64::to_string).collect();
    format!("[{}]", dims.join(","))
}

pub(super) fn tensor_text(tensor: &Tensor) -> String {
    format!("{}{}", tensor.elem().name(), dims_text(tensor.dims()))
}

fn sparse_text(sparse: &SparseTensor) -> String {
    let elem = sparse.values.as_ref().map(|values| values.elem().name()).unwrap_or_default();
    format!("sparse {elem}{}", dims_text(&sparse.dims))
}

impl Comparison<'_> {
    /// Changes of an initializer.
    pub(super) fn constants(&mut self, one: ValueId, two: ValueId) -> Result<Vec<Aspect>, Stopped> {
        let (a, b) = (self.a.model.value(one).initializer(), self.b.model.value(two).initializer());
        let (Some(a), Some(b)) = (a, b) else { return Ok(Vec::new()) };
        let holders = [TensorHolder::Initializer(one), TensorHolder::Initializer(two)];
        let locus = |side: &Side<'_>| side.places.initializer(one);
        match (a.as_ref(), b.as_ref()) {
            (Constant::Dense(a), Constant::Dense(b)) => {
                let places =
                    holders.map(|holder| TensorPlace { holder, element: 0, part: TensorPart::Dense });
                Ok(self.dense((a, b), places, locus)?.into_iter().collect())
            }
            (Constant::Sparse(a), Constant::Sparse(b)) => Ok(self.sparse((a, b), holders, locus)),
            (Constant::Dense(a), Constant::Sparse(b)) => {
                Ok(vec![Aspect::new(AspectKind::Type, "", Some(tensor_text(a)), Some(sparse_text(b)))])
            }
            (Constant::Sparse(a), Constant::Dense(b)) => {
                Ok(vec![Aspect::new(AspectKind::Type, "", Some(sparse_text(a)), Some(tensor_text(b)))])
            }
        }
    }

    /// The change of a tensor; notes elements that cannot be read.
    pub(super) fn dense(
        &mut self,
        (one, two): (&Tensor, &Tensor),
        places: [TensorPlace; 2],
        locus: impl Fn(&Side<'_>) -> Locus,
    ) -> Result<Option<Aspect>, Stopped> {
        if one.data_type() != two.data_type() || one.dims() != two.dims() {
            let texts = [one, two].map(|tensor| Some(tensor_text(tensor)));
            let [before, after] = texts;
            return Ok(Some(Aspect::new(AspectKind::Type, "", before, after)));
        }
        if self.is_unread(places, &locus) || self.same_elements(places) {
            return Ok(None);
        }
        if self.is_by_range(places) && self.same_bytes(one, two) {
            return Ok(None);
        }
        let difference = self.difference(one, two)?;
        let is_tolerated =
            self.options.tolerances.is_some() && difference.as_ref().is_some_and(Difference::agrees);
        if is_tolerated {
            self.found.within_tolerance = self.found.within_tolerance.saturating_add(1);
            return Ok(None);
        }
        let aspect = Aspect::new(AspectKind::Elements, "", None, None);
        Ok(Some(Aspect { difference: difference.map(Box::new), ..aspect }))
    }

    fn sparse(
        &mut self,
        (one, two): (&SparseTensor, &SparseTensor),
        holders: [TensorHolder; 2],
        locus: impl Fn(&Side<'_>) -> Locus,
    ) -> Vec<Aspect> {
        let ty = |tensor: &Option<Tensor>| {
            tensor.as_ref().map(|tensor| (tensor.data_type(), tensor.dims().to_vec()))
        };
        let is_same_type = one.dims == two.dims
            && ty(&one.values) == ty(&two.values)
            && ty(&one.indices) == ty(&two.indices);
        if !is_same_type {
            let [before, after] = [one, two].map(|sparse| {
                let count = sparse.values.as_ref().and_then(Tensor::element_count).unwrap_or_default();
                Some(format!("{} with {count} values", sparse_text(sparse)))
            });
            return vec![Aspect::new(AspectKind::Type, "", before, after)];
        }
        let parts = [TensorPart::SparseValues, TensorPart::SparseIndices];
        let differ = parts.into_iter().any(|part| {
            let places = holders.map(|holder| TensorPlace { holder, element: 0, part });
            !self.is_unread(places, &locus) && !self.same_elements(places)
        });
        differ.then(|| Aspect::new(AspectKind::Elements, "", None, None)).into_iter().collect()
    }

    fn same_elements(&self, [one, two]: [TensorPlace; 2]) -> bool {
        match (&self.a.contents, &self.b.contents) {
            (Some(a), Some(b)) => a.of(one) == b.of(two),
            _ => true,
        }
    }

    /// Whether a digest says nothing about the elements of a tensor in another range.
    fn is_by_range(&self, [one, two]: [TensorPlace; 2]) -> bool {
        let is =
            |side: &Side<'_>, place| side.contents.as_ref().is_some_and(|known| known.is_by_range(place));
        is(self.a, one) || is(self.b, two)
    }

    fn same_bytes(&self, one: &Tensor, two: &Tensor) -> bool {
        match (one.bytes(self.a.source), two.bytes(self.b.source)) {
            (Ok(one), Ok(two)) => one == two,
            _ => false,
        }
    }

    /// Returns `true` and notes it if the elements of either tensor cannot be read.
    fn is_unread(&mut self, [one, two]: [TensorPlace; 2], locus: &impl Fn(&Side<'_>) -> Locus) -> bool {
        let reason = |side: &Side<'_>, place| Some(side.contents.as_ref()?.error(place)?.to_string());
        let Some(reason) = reason(self.a, one).or_else(|| reason(self.b, two)) else { return false };
        self.found.unread.push((locus(self.a), reason));
        true
    }

    /// The difference of the elements of two tensors of one type.
    fn difference(&self, one: &Tensor, two: &Tensor) -> Result<Option<Difference>, Stopped> {
        let values = in_memory(one, self.a.source).and_then(|one| Ok((one, in_memory(two, self.b.source)?)));
        let Ok((one, two)) = values else { return Ok(None) };
        let [one, two] = [one, two].map(|tensor| Value::Tensor(Arc::new(tensor)));
        let tolerances = self.options.tolerances.unwrap_or(Tolerances::EXACT);
        let interrupt = &self.options.execution.interrupt;
        let found = compare_values_within(&one, &two, &tolerances, interrupt).ok();
        interrupt.check()?;
        Ok(found)
    }
}

/// The tensor with elements that need no source.
fn in_memory(tensor: &Tensor, source: &dyn DataSource) -> Result<Tensor, TensorError> {
    if !matches!(tensor.payload(), Payload::External(_)) {
        return Ok(tensor.clone());
    }
    Ok(Tensor::from_raw(tensor.elem(), tensor.dims().iter().copied(), tensor.bytes(source)?)?)
}
