//! Inputs of which claims read the sizes only: their elements are not needed, however many there are.

use onnx_ir::{NodeId, User};
use onnx_schema::{domain, op};
use onnx_types::ElemType;
use onnx_types::tensor::Tensor;

use crate::equivalence::EquivalenceSide;
use crate::sample::Sampler;

/// Multiple of the limit of elements up to which such an input is made: that for the results of runs.
const MOST: u64 = 64;

impl Sampler<'_> {
    /// Zeros for an input with this number of elements, if both sides read at most its sizes.
    pub(crate) fn unread(
        &self,
        number: usize,
        elem: ElemType,
        (dims, elements): (&[i64], u64),
    ) -> Option<Tensor> {
        let model = self.eq.model();
        let reads_sizes = |node: NodeId| {
            let record = model.node(node);
            onnx_schema::normalize_domain(record.domain()) == domain::ONNX
                && (record.is(op::SHAPE) || record.is(op::SIZE))
        };
        let is_unread = |side: EquivalenceSide| {
            let body = model.function(self.eq.function(side)).body();
            let input = model.graph(body).inputs().get(number);
            let mut uses = input.into_iter().flat_map(|&input| model.value(input).uses());
            uses.all(|usage| matches!(usage.user, User::Node(node) if reads_sizes(node)))
        };
        if elements > self.max_elements.saturating_mul(MOST)
            || ![EquivalenceSide::Before, EquivalenceSide::After].into_iter().all(is_unread)
        {
            return None;
        }
        let bits = elements.checked_mul(elem.bits()?.into())?;
        let bytes = usize::try_from(bits.div_ceil(8)).ok()?;
        Tensor::from_raw(elem, dims.to_vec(), vec![0; bytes]).ok()
    }
}

/// Why no inputs were made, if one would have had a number of elements above the limit.
pub(crate) fn without_case(large: Option<u64>, most: u64) -> String {
    large.map_or_else(
        || "no sizes satisfy the assumptions".to_owned(),
        |elements| {
            format!("an input has {elements} elements, more than the limit of {most}: raise the limit `proof_elements`")
        },
    )
}

/// Why a number of runs, and of those in which the standard leaves a result open, show nothing. The reason is given if nothing ran.
pub(crate) fn untested(
    (runs, open): (usize, usize),
    (has_compared, has_not_finite): (bool, bool),
    reason: String,
) -> Option<String> {
    match () {
        () if has_not_finite && !has_compared => {
            Some("the results of the old side are finite in no run".to_owned())
        }
        () if open > 0 && !has_compared => {
            Some("the standard defines the results of the old side in no run".to_owned())
        }
        () => (runs == 0).then_some(reason),
    }
}
