//! `NonMaxSuppression`: the boxes of each class by score, without those that overlap one chosen before.
//!
//! A box is dropped if the ratio of intersection and union is greater than the threshold, and considered if its score
//! is greater than the other threshold. Opposite corners may be in any order. Of equal scores, the first box comes
//! first. The result is in the order of images, classes and scores. Without a number of boxes for each class, none is
//! chosen. Without a score threshold, a NaN score is the lowest.

use onnx_schema::{attr, op};
use onnx_types::ElemType;

use crate::cx::{Cx, Outcome, Stop};
use crate::registry::{OpKernels, Takes, eval, since};

pub(super) const KERNELS: OpKernels = eval(op::NON_MAX_SUPPRESSION, &[since(10, suppress)])
    .takes(&[(2, Takes::Within(1.0, 3.0)), (3, Takes::Within(0.0, 1.0))]);

/// A box by its least and greatest coordinates.
#[derive(Clone, Copy)]
struct Area {
    low: [f32; 2],
    high: [f32; 2],
}

impl Area {
    fn new(numbers: &[f32], is_center: bool) -> Self {
        let &[a, b, c, d] = numbers else { return Self { low: [0.0; 2], high: [0.0; 2] } };
        if is_center {
            let (half_width, half_height) = (c / 2.0, d / 2.0);
            return Self { low: [a - half_width, b - half_height], high: [a + half_width, b + half_height] };
        }
        Self { low: [a.min(c), b.min(d)], high: [a.max(c), b.max(d)] }
    }

    fn size(&self) -> f32 {
        (self.high[0] - self.low[0]) * (self.high[1] - self.low[1])
    }

    fn overlaps(&self, other: &Self, threshold: f32) -> bool {
        let side = |at: usize| (self.high[at].min(other.high[at]) - self.low[at].max(other.low[at])).max(0.0);
        let common = side(0) * side(1);
        let (one, two) = (self.size(), other.size());
        let all = one + two - common;
        common > 0.0 && one > 0.0 && two > 0.0 && all > 0.0 && common / all > threshold
    }
}

fn suppress(cx: &mut Cx<'_, '_>) -> Outcome {
    let (boxes, scores) = (cx.tensor(0)?, cx.tensor(1)?);
    let (&[batch, count, 4], &[images, classes, scored]) = (&boxes.dims[..], &scores.dims[..]) else {
        return Err(Stop::failed(format_args!(
            "boxes {:?} and scores {:?} instead of [batch, boxes, 4] and [batch, classes, boxes]",
            boxes.dims, scores.dims
        )));
    };
    if images != batch || scored != count {
        return Err(Stop::wrong_sizes("the tensor of scores", &scores.dims, &[batch, classes, count]));
    }
    let most = if cx.has_input(2) { cx.scalar_int(2)?.max(0) } else { 0 };
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    let threshold = cx.optional_scalar::<f32>(3)?.unwrap_or(0.0);
    if !(0.0..=1.0).contains(&threshold) {
        return Err(Stop::failed(format_args!("{threshold} is not a ratio")));
    }
    let least = cx.optional_scalar::<f32>(4)?;
    let is_center = cx.flag(attr::CENTER_POINT_BOX)?;
    let (numbers, scores) = (cx.read::<f32>(&boxes)?, cx.read::<f32>(&scores)?);
    let mut areas: Vec<Area> = cx.buffer(batch.saturating_mul(count))?;
    areas.extend(numbers.chunks_exact(4).map(|numbers| Area::new(numbers, is_center)));
    let mut out: Vec<i64> = Vec::new();
    let rows = if count == 0 || most == 0 { 0 } else { batch * classes };
    for row in 0..rows {
        let (image, class) = (row / classes, row % classes);
        let scores = &scores[row * count..(row + 1) * count];
        let areas = &areas[image * count..(image + 1) * count];
        cx.work(count.saturating_mul(count.ilog2() as usize + 1))?;
        let is_candidate = |&at: &usize| least.is_none_or(|least| scores[at] > least);
        let mut order: Vec<usize> = (0..count).filter(is_candidate).collect();
        let key = |at: usize| if scores[at].is_nan() { f32::NEG_INFINITY } else { scores[at] };
        // The sort is stable, so equal scores keep the order of the boxes.
        order.sort_by(|&a, &b| key(b).partial_cmp(&key(a)).unwrap_or(std::cmp::Ordering::Equal));
        let mut chosen: Vec<usize> = Vec::new();
        for at in order {
            if chosen.len() >= most {
                break;
            }
            cx.work(chosen.len())?;
            if !chosen.iter().any(|&other| areas[at].overlaps(&areas[other], threshold)) {
                chosen.push(at);
            }
        }
        let _room: Vec<[i64; 3]> = cx.buffer(chosen.len())?;
        out.extend(chosen.iter().flat_map(|&at| [image as i64, class as i64, at as i64]));
    }
    let rows = out.len() / 3;
    cx.count(&[rows, 3])?;
    cx.put::<i64>(0, ElemType::Int64, &[rows, 3], out)
}
