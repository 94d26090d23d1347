//! The points at which a model is cut.

use onnx_types::{Interrupt, Stopped, Watch};

use super::flow::Flow;
use super::{Parts, Values, WATCHED};
use crate::error::ComposeError;

/// The divisor of the window: a cut is placed within `1 / WINDOW` of the ideal size of a part around the ideal point,
/// at the point that the fewest values cross.
const WINDOW: u64 = 4;

/// The most points before a limit of bytes that are compared.
const MAX_COMPARED: usize = 64;

/// The points, ascending; each is the number of nodes before it.
pub(super) fn choose(flow: &Flow, parts: Parts, interrupt: &Interrupt) -> Result<Vec<usize>, ComposeError> {
    let crossed = flow.crossed();
    interrupt.check()?;
    match parts {
        Parts::Count(count) => by_count(flow, &crossed, count, &weights(flow)),
        Parts::CountByNodes(count) => by_count(flow, &crossed, count, &vec![1; flow.nodes.len()]),
        Parts::Bytes(bytes) => Ok(by_bytes(flow, &crossed, bytes, interrupt)?),
    }
}

/// The weight of each node: the bytes of its tensors that no earlier node uses, plus 1, so that nodes without weights
/// are balanced, too.
fn weights(flow: &Flow) -> Vec<u64> {
    let mut seen = Values::new();
    let of_step = |step: &super::flow::Step| {
        let new = step.weights.iter().filter(|&&(value, _)| seen.insert(value, ()).is_none());
        new.fold(step.own_bytes.saturating_add(1), |sum, &(_, bytes)| sum.saturating_add(bytes))
    };
    flow.nodes.iter().map(of_step).collect()
}

/// Whether the model can be cut at a point.
fn is_possible(crossed: &[(usize, usize)], point: usize) -> bool {
    crossed.get(point).is_some_and(|&(_, untyped)| untyped == 0)
}

fn by_count(
    flow: &Flow,
    crossed: &[(usize, usize)],
    count: usize,
    weights: &[u64],
) -> Result<Vec<usize>, ComposeError> {
    let nodes = flow.nodes.len();
    if count == 0 {
        let help = "`--parts N` takes a number from 1 on";
        return Err(ComposeError::Advised("the number of parts is 0".to_owned(), None, help));
    }
    let points: Vec<usize> = (1..nodes).filter(|&point| is_possible(crossed, point)).collect();
    let most = points.len().saturating_add(1);
    if count > most {
        let untyped = (1..nodes).find(|&point| !is_possible(crossed, point));
        let value = untyped.and_then(|point| flow.untyped_at(point).first().copied());
        let why = if value.is_some() { ", because types are not known elsewhere" } else { "" };
        let reason = match most {
            1 if nodes < 2 => {
                let nodes = if nodes == 0 { "no node" } else { "only one node" };
                format!("the model cannot be cut: its outputs need {nodes}")
            }
            1 => format!("the model cannot be cut{why}"),
            _ => format!("the model can be cut into at most {most} parts{why}, not into {count}"),
        };
        let help = match value {
            Some(_) => {
                "`onnx infer MODEL -o NEW` declares types that follow from the operators, behind which the model can be cut"
            }
            None => "ask for fewer parts, or cut at values: `onnx extract --inputs SEL --outputs SEL`",
        };
        return Err(ComposeError::Advised(reason, value, help));
    }
    let mut sums = Vec::with_capacity(nodes.saturating_add(1));
    let mut sum = 0_u64;
    sums.push(0);
    for weight in weights {
        sum = sum.saturating_add(*weight);
        sums.push(sum);
    }
    let before = |point: usize| sums.get(point).copied().unwrap_or(sum);
    let mut cuts: Vec<usize> = Vec::with_capacity(count.saturating_sub(1));
    let mut next = 0;
    for part in 1..count {
        // As many points must be left as cuts follow.
        let end = points.len().saturating_sub(count.saturating_sub(1).saturating_sub(part));
        let free = points.get(next..end).unwrap_or_default();
        let target = share(sum, part, count);
        let window = sum.checked_div(count as u64).unwrap_or(0) / WINDOW;
        let low = free.partition_point(|&point| before(point) < target.saturating_sub(window));
        let high = free.partition_point(|&point| before(point) <= target.saturating_add(window));
        let distance = |point: usize| before(point).abs_diff(target);
        let inside = free.get(low..high).unwrap_or_default();
        let few = |&(_, &point): &(usize, &usize)| {
            (crossed.get(point).map_or(0, |&(all, _)| all), distance(point), point)
        };
        let best = inside.iter().enumerate().min_by_key(few).map(|(at, _)| low.saturating_add(at));
        // Without a point in the window, the nearest one.
        let nearest = || {
            let around = [low.checked_sub(1), Some(low)];
            let around = around.into_iter().flatten().filter_map(|at| Some((at, *free.get(at)?)));
            around.min_by_key(|&(_, point)| distance(point)).map(|(at, _)| at)
        };
        let Some(at) = best.or_else(nearest) else { break };
        cuts.extend(free.get(at));
        next = next.saturating_add(at).saturating_add(1);
    }
    Ok(cuts)
}

/// `sum * part / count`.
fn share(sum: u64, part: usize, count: usize) -> u64 {
    let share = u128::from(sum).saturating_mul(part as u128).checked_div(count as u128);
    share.and_then(|share| u64::try_from(share).ok()).unwrap_or(u64::MAX)
}

fn by_bytes(
    flow: &Flow,
    crossed: &[(usize, usize)],
    most: u64,
    interrupt: &Interrupt,
) -> Result<Vec<usize>, Stopped> {
    let mut watch = Watch::silent(interrupt, WATCHED);
    let mut cuts = Vec::new();
    let (mut start, mut index) = (0, 0);
    let (mut seen, mut bytes) = (Values::new(), 0_u64);
    while let Some(step) = flow.nodes.get(index) {
        watch.work(1)?;
        let new = step.weights.iter().filter(|&&(value, _)| seen.insert(value, ()).is_none());
        bytes = new.fold(bytes.saturating_add(step.own_bytes), |sum, &(_, more)| sum.saturating_add(more));
        let cut = if bytes > most { before_limit(crossed, start, index) } else { None };
        match cut {
            Some(cut) => {
                cuts.push(cut);
                (start, index, bytes) = (cut, cut, 0);
                seen = Values::new();
            }
            None => index = index.saturating_add(1),
        }
    }
    Ok(cuts)
}

/// The point after the start of a part, up to a node that exceeds the limit, that the fewest values cross; of the last points
/// only, so that the part is nearly as large as it can be.
fn before_limit(crossed: &[(usize, usize)], start: usize, end: usize) -> Option<usize> {
    let far = end.saturating_sub(start) / 4;
    let possible = (start.saturating_add(1)..=end).rev().filter(|&point| is_possible(crossed, point));
    let last = possible.clone().next()?;
    let near = possible.take(MAX_COMPARED).take_while(|&point| last.saturating_sub(point) <= far);
    near.min_by_key(|&point| {
        (crossed.get(point).map_or(0, |&(all, _)| all), usize::MAX.saturating_sub(point))
    })
}
