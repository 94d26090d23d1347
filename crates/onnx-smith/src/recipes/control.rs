//! `If`, `Loop`, `Scan` and `SequenceMap`: operators with bodies.

use onnx_ir::ValueId;
use onnx_schema::{attr, op};
use onnx_shape_infer::Ty;
use onnx_types::{Dim, ElemType, Shape, Type, TypeKind};

use super::{Row, row};
use crate::draft::Draft;

pub(super) static ROWS: &[Row] = &[
    row(&[op::IF], conditional),
    row(&[op::LOOP], repetition),
    row(&[op::SCAN], scan),
    row(&[op::SEQUENCE_MAP], sequence_map),
];

fn conditional(draft: &mut Draft<'_, '_>) -> Option<()> {
    // A condition is one truth value, of any rank.
    draft.operand(|dims| dims.iter().all(|&dim| dim == Dim::Known(1)), |_| Vec::new())?;
    let then_branch = draft.open(&[]);
    draft.fill_body();
    let count = draft.smith.choices.between(1, 2);
    let mut types = Vec::new();
    for _ in 0..count {
        let ty = draft.result()?;
        types.push(ty);
    }
    draft.smith.close();
    let else_branch = draft.open(&[]);
    draft.fill_body();
    for ty in &types {
        let value = draft.smith.produce(ty)?;
        draft.smith.model.push_graph_output(else_branch, value);
    }
    draft.smith.close();
    draft.set(attr::THEN_BRANCH, then_branch);
    draft.set(attr::ELSE_BRANCH, else_branch);
    draft.make(count);
    Some(())
}

fn repetition(draft: &mut Draft<'_, '_>) -> Option<()> {
    // Every loop ends: it has a small trip count, or a condition that is false after the first round.
    let is_counted = draft.smith.choices.chance(80);
    if is_counted {
        let count = draft.smith.choices.int(0, 3);
        draft.scalar(count)?;
        if draft.smith.choices.chance(50) { draft.skip() } else { draft.scalar(1)? }
    } else {
        draft.skip();
        draft.scalar(1)?;
    }
    let mut inputs = vec![tensor(ElemType::Int64, &[]), tensor(ElemType::Bool, &[])];
    let carried = draft.smith.choices.below(3);
    for _ in 0..carried {
        draft.any()?;
        inputs.push(draft.declared(draft.count().checked_sub(1)?)?);
    }
    let body = draft.open(&inputs);
    draft.fill_body();
    let condition = draft.smith.constant_in(ElemType::Bool, &[], &[i64::from(is_counted)])?;
    draft.smith.model.push_graph_output(body, condition);
    for ty in inputs.get(2..)? {
        let value = draft.smith.produce(ty)?;
        draft.smith.model.push_graph_output(body, value);
    }
    let scanned = draft.smith.choices.below(2).max(usize::from(carried == 0));
    for _ in 0..scanned {
        draft.result_tensor()?;
    }
    draft.smith.close();
    draft.set(attr::BODY, body);
    draft.make(carried.checked_add(scanned)?);
    Some(())
}

fn scan(draft: &mut Draft<'_, '_>) -> Option<()> {
    // The first version has a batch in front, and takes lengths.
    let is_batched = draft.since() < 9;
    let lead = 1 + usize::from(is_batched);
    if is_batched {
        draft.skip();
    }
    let batch = Dim::Known(2);
    let states = draft.smith.choices.below(2);
    let mut inputs = Vec::new();
    for _ in 0..states {
        let inner = draft.smith.dims(1);
        let dims: Vec<Dim> = is_batched.then_some(batch).into_iter().chain(inner.iter().copied()).collect();
        draft.shaped(&dims)?;
        inputs.push(draft.declared_without(usize::from(is_batched))?);
    }
    let length = draft.smith.dims(1);
    let scans = draft.smith.choices.between(1, 2);
    for _ in 0..scans {
        let rank = draft.smith.choices.below(3);
        let inner = draft.smith.dims(rank);
        let front = is_batched.then_some(batch).into_iter().chain(length.iter().copied());
        let dims: Vec<Dim> = front.chain(inner.iter().copied()).collect();
        draft.shaped(&dims)?;
        inputs.push(draft.declared_without(lead)?);
    }
    let body = draft.open(&inputs);
    draft.fill_body();
    for ty in inputs.get(..states)? {
        let value = draft.smith.produce(ty)?;
        draft.smith.model.push_graph_output(body, value);
    }
    let outputs = draft.smith.choices.between(usize::from(states == 0), 2);
    for _ in 0..outputs {
        draft.result_tensor()?;
    }
    draft.smith.close();
    draft.set(attr::BODY, body);
    draft.set(attr::NUM_SCAN_INPUTS, i64::try_from(scans).ok()?);
    let directions = |draft: &mut Draft<'_, '_>, count: usize| -> Vec<i64> {
        (0..count).map(|_| draft.smith.choices.int(0, 1)).collect()
    };
    if draft.smith.choices.chance(30) {
        let values = directions(draft, scans);
        draft.set(attr::SCAN_INPUT_DIRECTIONS, values.clone());
        draft.set(attr::DIRECTIONS, values);
    }
    if outputs > 0 && draft.smith.choices.chance(30) {
        let values = directions(draft, outputs);
        draft.set(attr::SCAN_OUTPUT_DIRECTIONS, values);
    }
    draft.make(states.checked_add(outputs)?);
    Some(())
}

fn sequence_map(draft: &mut Draft<'_, '_>) -> Option<()> {
    draft.any()?;
    let mut inputs = vec![draft.ty(0)?.inner()?.clone()];
    if draft.smith.choices.chance(40) {
        draft.any()?;
        let ty = draft.declared(1)?;
        // Of another sequence, the body gets the elements.
        inputs.push(ty.inner().filter(|_| matches!(ty.kind, TypeKind::Sequence(_))).cloned().unwrap_or(ty));
    }
    let body = draft.open(&inputs);
    draft.fill_body();
    let count = draft.smith.choices.between(1, 2);
    for _ in 0..count {
        draft.result_tensor()?;
    }
    draft.smith.close();
    draft.set(attr::BODY, body);
    draft.make(count);
    Some(())
}

fn tensor(elem: ElemType, dims: &[i64]) -> Type {
    Type::tensor(elem, Some(Shape::known(dims)))
}

impl Draft<'_, '_> {
    /// Adds some nodes to the body that was begun last.
    fn fill_body(&mut self) {
        let nodes = self.smith.choices.between(1, 3);
        self.smith.fill(nodes);
    }

    /// What the body declares of an operand.
    fn declared(&self, index: usize) -> Option<Type> {
        self.smith.declarable(&Ty::from(self.ty(index)?))
    }

    /// What the body declares of the last operand, of which it gets pieces along the first `lead` axes.
    fn declared_without(&self, lead: usize) -> Option<Type> {
        let ty = self.declared(self.count().checked_sub(1)?)?;
        let dims = ty.shape()?.dims().get(lead..)?.to_vec();
        Some(Type::tensor(ty.elem(), Some(Shape::new(dims))))
    }

    /// Makes something that a node of the body makes an output of it.
    fn result(&mut self) -> Option<Type> {
        self.result_of(|_| true)
    }

    /// The same for a tensor of known rank, as those that are stacked have.
    fn result_tensor(&mut self) -> Option<Type> {
        self.result_of(|ty| matches!(ty.kind, TypeKind::Tensor(_)) && ty.shape().is_some())
    }

    fn result_of(&mut self, fits: impl Fn(&Type) -> bool) -> Option<Type> {
        let scope = self.smith.scopes.last()?;
        let graph = scope.graph;
        let made: Vec<(ValueId, Type)> = scope
            .entries
            .iter()
            .filter(|entry| entry.is_made && !self.smith.model.is_graph_output(entry.value))
            .filter_map(|entry| Some((entry.value, self.smith.declarable(&entry.ty).filter(&fits)?)))
            .collect();
        let back = self.smith.choices.below(made.len());
        let found = made.len().checked_sub(back.checked_add(1)?).and_then(|index| made.get(index)).cloned();
        let (value, ty) = match found {
            Some(found) => found,
            None => (self.smith.constant_in(ElemType::Float, &[2], &[1, 2])?, tensor(ElemType::Float, &[2])),
        };
        self.smith.model.push_graph_output(graph, value);
        Some(ty)
    }
}
