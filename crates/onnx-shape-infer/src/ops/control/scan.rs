//! `Scan`: a graph that is run for each slice of its inputs, hands states on, and collects slices of its outputs.
//!
//! All states have the same shape in each run, as the specification demands, so one visit of the body is enough.
//! Without slices, a state is returned unchanged; so the outputs have the shapes of the initial states, and the types
//! that the body infers for them are used only if the input provably has a slice. The reference always uses them.
//!
//! A state whose element type changes is a fault, as are directions that are not one for each tensor, or neither 0 nor 1;
//! the reference accepts these.
//!
//! All scanned axes have the same size, which is that of the collected axes. Until version 8 a batch axis comes before the
//! scanned one, and sequences may be shorter than that; what is collected is padded.

use onnx_schema::{attr, op};
use onnx_types::{Dim, ElemType, Symbol};

use crate::cx::{Cx, Outcome};
use crate::engine::control::{Control, Known, Runs, Step};
use crate::fault::{BAD_ATTRIBUTE, BODY_ARITY, MISSING, SIZES_DIFFER, TYPES_DIFFER, WRONG_KIND, WRONG_RANK};
use crate::registry::{OpRules, infer, since_control};
use crate::ty::{Dims, Ty};

pub(super) const RULES: OpRules = infer(
    op::SCAN,
    &[
        since_control(8, |cx, control| rule(cx, control, &BATCHED)),
        since_control(9, |cx, control| rule(cx, control, &PLAIN)),
    ],
);

/// How versions differ.
struct Form {
    /// The first input that is a state: the lengths of sequences precede it.
    first: usize,
    /// The number of batch axes.
    batch: usize,
}

const BATCHED: Form = Form { first: 1, batch: 1 };
const PLAIN: Form = Form { first: 0, batch: 0 };

/// What is known about the inputs together.
struct Parts {
    /// The number of states.
    states: usize,
    /// The number of collected outputs.
    collected: usize,
    batch: Dim,
    length: Dim,
}

fn rule(cx: &mut Cx<'_, '_>, control: &mut Control, form: &Form) -> Outcome<Step> {
    let body = cx.required_graph(attr::BODY)?;
    let Some(scanned) = cx.int(attr::NUM_SCAN_INPUTS)? else {
        return Err(cx.fail(&MISSING, "attribute `num_scan_inputs` is missing"));
    };
    let given = cx.input_count().saturating_sub(form.first);
    let scanned = usize::try_from(scanned).ok().filter(|&scanned| scanned <= given);
    let Some(scanned) = scanned else {
        return Err(cx.fail(&BAD_ATTRIBUTE, format_args!("`num_scan_inputs` does not fit {given} inputs")));
    };
    let states = given.saturating_sub(scanned);
    let Some(collected) = cx.output_count().checked_sub(states) else {
        return Err(cx.fail(&BODY_ARITY, format_args!("{states} states do not fit the outputs of the node")));
    };
    cx.body_arity(body, given, states.saturating_add(collected))?;
    if control.round == 0 {
        directions(cx, form, scanned, collected)?;
    }
    let mut parts = Parts { states, collected, batch: Dim::Unknown, length: Dim::Unknown };
    let slices = slices(cx, form, &mut parts)?;
    if control.round == 0 {
        for index in 0..states {
            let mut ty = cx.ty(form.first.saturating_add(index));
            if let Ty::Tensor(_, Some(dims)) = &mut ty {
                dims.drain(..form.batch.min(dims.len()));
            }
            cx.bind(body, index, Known { ty, content: None }, true)?;
        }
        for (at, ty) in slices.into_iter().enumerate() {
            cx.bind(body, states.saturating_add(at), Known { ty, content: None }, true)?;
        }
        return Ok(Step::Enter(body, parts.runs(cx, form)));
    }
    finish(cx, form, &parts, body)
}

impl Parts {
    /// Whether the body runs: there is a slice, in at least one sequence of the batch.
    fn runs(&self, cx: &Cx<'_, '_>, form: &Form) -> Runs {
        let is_positive = |size| cx.dims_le(Dim::Known(1), size);
        let batch = if form.batch == 0 { Some(true) } else { is_positive(self.batch) };
        // Sequences of the first version may be shorter than the axis.
        let length = if form.first == 0 { is_positive(self.length) } else { None };
        Runs::if_positive(match (batch, length) {
            (Some(false), _) | (_, Some(false)) => Some(false),
            (Some(true), Some(true)) => Some(true),
            _ => None,
        })
    }
}

/// The types of the slices, and on the way the sizes of batch and sequence.
fn slices(cx: &mut Cx<'_, '_>, form: &Form, parts: &mut Parts) -> Outcome<Vec<Ty>> {
    if form.batch > 0 {
        for index in 0..parts.states {
            if let Some(&dim) = cx.shape(form.first.saturating_add(index)).unwrap_or_default().first() {
                parts.batch = cx.same(parts.batch, dim, "the sizes of the batch")?;
            }
        }
    }
    let start = form.first.saturating_add(parts.states);
    let count = cx.input_count().saturating_sub(start);
    let axes = axes(cx, form, attr::SCAN_INPUT_AXES, count)?;
    let mut slices = Vec::with_capacity(count);
    for (at, axis) in axes.into_iter().enumerate() {
        let mut ty = cx.ty(start.saturating_add(at));
        if let Ty::Tensor(elem, Some(dims)) = &mut ty {
            if dims.len() < form.batch {
                return Err(cx.fail(&WRONG_RANK, "what is scanned has no axis for the batch"));
            }
            if form.batch > 0 && dims.len() == form.batch {
                // The node cannot run, which the reference does not see.
                slices.push(Ty::Tensor(*elem, None));
                continue;
            }
            for _ in 0..form.batch {
                let dim = dims.remove(0);
                parts.batch = cx.same(parts.batch, dim, "the sizes of the batch")?;
            }
            let axis = cx.axis(axis, dims.len())?;
            let dim = dims.remove(axis);
            parts.length = cx.same(parts.length, dim, "the sizes of the scanned axes")?;
        }
        slices.push(ty);
    }
    Ok(slices)
}

/// Whether all lists of directions have an entry for each tensor, which is 0 or 1.
fn directions(cx: &mut Cx<'_, '_>, form: &Form, scanned: usize, collected: usize) -> Outcome {
    let lists: &[(Symbol, usize)] = if form.batch > 0 {
        &[(attr::DIRECTIONS, scanned)]
    } else {
        &[(attr::SCAN_INPUT_DIRECTIONS, scanned), (attr::SCAN_OUTPUT_DIRECTIONS, collected)]
    };
    for &(name, count) in lists {
        // Writers give an empty list for none.
        let Some(list) = cx.ints(name)?.filter(|list| !list.is_empty()) else { continue };
        let found = list.len();
        if found != count {
            let message = format_args!("{found} directions are given for {count} tensors");
            return Err(cx.fail_structure(&BAD_ATTRIBUTE, message));
        }
        if let Some(direction) = list.iter().find(|direction| !(0..=1).contains(*direction)) {
            let message = format_args!("a direction is {direction}, and must be 0 or 1");
            return Err(cx.fail_structure(&BAD_ATTRIBUTE, message));
        }
    }
    Ok(())
}

/// The axes that an attribute names for a number of inputs or outputs.
fn axes(cx: &mut Cx<'_, '_>, form: &Form, name: Symbol, count: usize) -> Outcome<Vec<i64>> {
    match cx.ints(name)? {
        Some(axes) if form.batch == 0 => {
            if axes.len() != count {
                let found = axes.len();
                return Err(
                    cx.fail(&BAD_ATTRIBUTE, format_args!("{found} axes are given for {count} tensors"))
                );
            }
            Ok(axes.to_vec())
        }
        _ => Ok(vec![0; count]),
    }
}

fn finish(cx: &mut Cx<'_, '_>, form: &Form, parts: &Parts, body: onnx_ir::GraphId) -> Outcome<Step> {
    let mut results = cx.raw_results(body);
    let collected = cx.export(results.split_off(parts.states.min(results.len())), body);
    let results = cx.export(results, body);
    for (index, result) in results.iter().enumerate() {
        state(cx, form, parts, index, &result.ty)?;
    }
    let axes = axes(cx, form, attr::SCAN_OUTPUT_AXES, parts.collected)?;
    let length = shared(cx, parts, parts.length, 0);
    let batch = shared(cx, parts, parts.batch, 1);
    for (at, (known, axis)) in collected.into_iter().zip(axes).enumerate() {
        let index = parts.states.saturating_add(at);
        let (elem, dims) = match known.ty {
            Ty::Unknown => continue,
            Ty::Tensor(elem, dims) => (elem, dims),
            Ty::Other(_) => {
                return Err(cx.fail_structure(&WRONG_KIND, format_args!("scan output {at} is not a tensor")));
            }
        };
        let dims = match dims {
            Some(mut dims) => {
                let axis = cx.axis(axis, dims.len().saturating_add(1))?;
                dims.insert(axis, length);
                if form.batch > 0 {
                    dims.insert(0, batch);
                }
                Some(dims)
            }
            None => None,
        };
        cx.set_ty(index, Ty::Tensor(elem, dims));
    }
    Ok(Step::Done)
}

/// A size that all collected outputs have, with a symbol if it is not known.
fn shared(cx: &mut Cx<'_, '_>, parts: &Parts, dim: Dim, place: u32) -> Dim {
    let owner = (parts.states..cx.output_count()).find_map(|index| cx.node().output(index));
    match owner {
        Some(owner) if dim.is_unknown() => Dim::Var(cx.state.fresh(owner, SHARED.saturating_add(place))),
        _ => dim,
    }
}

/// The first axis number for sizes that do not belong to the first output only; larger than any rank.
const SHARED: u32 = 0x1_0000;

/// The output of a state: the initial one, or what the body gives if there is a slice.
fn state(cx: &mut Cx<'_, '_>, form: &Form, parts: &Parts, index: usize, result: &Ty) -> Outcome {
    let initial = cx.ty(form.first.saturating_add(index));
    let runs = parts.runs(cx, form) == Runs::Always;
    let never = parts.length == Dim::Known(0);
    let changes = match (&initial, result) {
        (_, Ty::Unknown) | (Ty::Unknown, _) => false,
        (Ty::Tensor(before, _), Ty::Tensor(after, _)) => {
            before != after && ![*before, *after].contains(&ElemType::Undefined)
        }
        (Ty::Other(_), _) | (_, Ty::Other(_)) => true,
    };
    if changes {
        let message = format_args!("state {index} changes its type from run to run");
        return Err(cx.fail_structure(&TYPES_DIFFER, message));
    }
    let (Ty::Tensor(_, _) | Ty::Unknown, Ty::Tensor(elem, dims)) = (&initial, result) else {
        cx.set_ty(index, initial);
        return Ok(());
    };
    let elem = initial.elem().unwrap_or(*elem);
    let Some(before) = initial.dims() else {
        let batch = (0..form.batch).map(|_| parts.batch);
        let dims = dims.as_ref().filter(|_| runs);
        cx.set_ty(index, Ty::Tensor(elem, dims.map(|dims| batch.chain(dims.iter().copied()).collect())));
        return Ok(());
    };
    let mut merged = Dims::from_slice(before);
    if let (Some(first), true) = (merged.first_mut(), form.batch > 0) {
        *first = parts.batch;
    }
    if let (Some(dims), false) = (dims, never) {
        if dims.len().saturating_add(form.batch) != before.len() {
            return Err(cx.fail(&WRONG_RANK, format_args!("state {index} changes its rank from run to run")));
        }
        for (slot, &dim) in merged.iter_mut().skip(form.batch).zip(dims) {
            if slot.known().zip(dim.known()).is_some_and(|(a, b)| a != b) {
                return Err(
                    cx.fail(&SIZES_DIFFER, format_args!("state {index} changes its shape from run to run"))
                );
            }
            if runs {
                *slot = cx.same(*slot, dim, "the sizes of a state")?;
            }
        }
    }
    cx.set_ty(index, Ty::Tensor(elem, Some(merged)));
    Ok(())
}
