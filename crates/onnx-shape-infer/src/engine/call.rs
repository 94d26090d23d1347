//! Calls of model-local functions: visited once for each combination of what is known about the arguments.

use std::collections::HashMap;
use std::rc::Rc;

use foldhash::fast::RandomState;
use onnx_ir::{AttrValue, Attribute, FunctionId};
use onnx_types::Symbol;
use slotmap::SecondaryMap;

use super::Engine;
use super::control::{Control, Known, Step};
use super::frame::{Args, Frame, Opsets};
use crate::cx::{Cx, Outcome, Stop};
use crate::fault::{BODY_ARITY, RECURSION};

/// A call whose function is being visited.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) function: FunctionId,
    /// Where its results are remembered.
    slot: usize,
}

/// What decides the results of a call: arguments (none for an absent one) and attributes.
struct Entry {
    arguments: Vec<Option<Known>>,
    attributes: Vec<(Symbol, AttrValue)>,
    /// What the outputs of the body were, with the symbols of the body; none until the visit has ended.
    results: Option<Vec<Known>>,
}

/// The calls of each function that were visited.
#[derive(Default)]
pub(super) struct Memo {
    entries: Vec<Entry>,
    by_function: HashMap<FunctionId, Vec<usize>, RandomState>,
}

/// More different calls of one function than this are not remembered: comparing would cost more than visiting.
const MAX_REMEMBERED: usize = 64;

/// The rule of a call.
pub(super) fn step(
    cx: &mut Cx<'_, '_>,
    control: &mut Control,
    function: FunctionId,
    memo: &mut Memo,
    active: &mut SecondaryMap<FunctionId, ()>,
) -> Outcome<Step> {
    let body = cx.model().function(function).body();
    if let Some(call) = control.call.take() {
        active.remove(function);
        let raw = cx.raw_results(body);
        if let Some(entry) = memo.entries.get_mut(call.slot) {
            entry.results = Some(raw.clone());
        }
        return give(cx, raw, body);
    }
    if active.contains_key(function) {
        return Err(cx.fail(&RECURSION, "the function calls itself"));
    }
    let inputs = cx.model().graph(body).inputs();
    if cx.input_count() > inputs.len() || cx.output_count() > cx.model().graph(body).outputs().len() {
        return Err(cx.fail(&BODY_ARITY, "the call has more inputs or outputs than the function"));
    }
    let arguments: Vec<Option<Known>> =
        (0..inputs.len()).map(|index| cx.has_input(index).then(|| cx.known(index))).collect();
    let attributes = attributes(cx, function);
    let slots = memo.by_function.entry(function).or_default();
    let known = |&&slot: &&usize| {
        memo.entries
            .get(slot)
            .is_some_and(|entry| entry.arguments == arguments && entry.attributes == attributes)
    };
    if let Some(entry) = slots.iter().find(known).and_then(|&slot| memo.entries.get(slot))
        && let Some(raw) = entry.results.clone()
    {
        return give(cx, raw, body);
    }
    for (&value, argument) in inputs.iter().zip(&arguments) {
        cx.state.set_absent(value, argument.is_none());
        cx.state.bind(value, argument.clone().unwrap_or_default());
    }
    let slot = memo.entries.len();
    if slots.len() < MAX_REMEMBERED {
        slots.push(slot);
        memo.entries.push(Entry { arguments, attributes, results: None });
    }
    active.insert(function, ());
    control.call = Some(Call { function, slot });
    Ok(Step::Enter(body))
}

/// Gives the outputs of a call what the body gave, with symbols of the call's own.
fn give(cx: &mut Cx<'_, '_>, raw: Vec<Known>, body: onnx_ir::GraphId) -> Outcome<Step> {
    let Some(owner) = cx.node.outputs().iter().flatten().copied().next() else { return Err(Stop::Unknown) };
    for (index, known) in cx.state.export_all(raw, body, owner, 0).into_iter().enumerate() {
        cx.set_known(index, known);
    }
    Ok(Step::Done)
}

/// The attributes of a call, with references resolved; those that it leaves out have the function's defaults.
fn attributes(cx: &Cx<'_, '_>, function: FunctionId) -> Vec<(Symbol, AttrValue)> {
    let record = cx.model().function(function);
    let formal = record.attributes.iter().copied();
    let defaulted = record.defaults.iter().map(Attribute::name);
    formal.chain(defaulted).filter_map(|name| Some((name, cx.attr(name)?.value().clone()))).collect()
}

impl<'m> Engine<'m> {
    /// The imports of a function and what its attribute references mean.
    pub(super) fn callee_scope(&self, caller: &Frame<'m>, call: &Call) -> (Opsets, Args<'m>) {
        let model = self.state.model;
        let record = model.function(call.function);
        let opsets = record.opset_imports.iter().map(|import| (import.domain(), import.version())).collect();
        let Some(node) = caller.current().map(|node| model.node(node)) else { return (opsets, Rc::from([])) };
        let actual = |name: Symbol| {
            let attribute = node.attribute(name)?;
            match attribute.value() {
                AttrValue::Ref(target) => {
                    caller.args.iter().find(|(formal, _)| formal == target).map(|&(_, actual)| actual)
                }
                _ => Some(attribute),
            }
        };
        let formal = record.attributes.iter().filter_map(|&name| Some((name, actual(name)?)));
        let defaulted =
            record.defaults.iter().map(|default| (default.name(), actual(default.name()).unwrap_or(default)));
        (opsets, formal.chain(defaulted).collect())
    }
}
