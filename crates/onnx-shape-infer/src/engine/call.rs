//! Calls of model-local functions: visited once for each combination of what is known about the arguments.
//!
//! What a visit finds about the values in a function holds for that call; the results of a run have what is common to all
//! calls (see `bodies.rs`).

use std::collections::HashMap;
use std::hash::{BuildHasher as _, Hash as _, Hasher};

use foldhash::fast::RandomState;
use onnx_ir::{AttrValue, Attribute, FunctionId, GraphId};
use onnx_types::Symbol;

use super::Engine;
use super::control::{Control, Known, Step};
use super::frame::{FactScope, Frame, Runs};
use crate::content::Elem;
use crate::cx::{Cx, Outcome, Stop};
use crate::fault::RECURSION;
use crate::ty::Ty;

/// A call whose function is being visited.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) function: FunctionId,
    /// Where its results are remembered, if they are.
    slot: Option<usize>,
    /// Number of conclusions before the visit.
    concluded: u64,
}

/// What decides the results of a call: the function, arguments (none for an absent one) and attributes.
#[derive(PartialEq)]
struct Key {
    function: FunctionId,
    arguments: Vec<Option<Known>>,
    attributes: Vec<(Symbol, AttrValue)>,
    /// Whether the call is executed decides whether contradictions and facts of the function hold for the model.
    runs: Runs,
}

struct Entry {
    key: Key,
    /// What the outputs of the body were, with the symbols of the body; none until the visit has ended.
    results: Option<Vec<Known>>,
    /// Whether the visit concluded facts or found contradictions.
    has_facts: bool,
}

/// The calls that were visited.
#[derive(Default)]
pub(super) struct Memo {
    entries: Vec<Entry>,
    by_hash: HashMap<u64, Vec<usize>, RandomState>,
}

/// More calls than this are not remembered: a bound on memory, far above what models have.
const MAX_REMEMBERED: usize = 1 << 16;

impl Memo {
    fn hash(&self, key: &Key) -> u64 {
        let mut hasher = self.by_hash.hasher().build_hasher();
        key.function.hash(&mut hasher);
        for argument in &key.arguments {
            match argument {
                Some(known) => hash_known(known, &mut hasher),
                None => 0_u8.hash(&mut hasher),
            }
        }
        for (name, value) in &key.attributes {
            name.hash(&mut hasher);
            match value {
                AttrValue::Int(value) => value.hash(&mut hasher),
                AttrValue::Ints(values) => values.hash(&mut hasher),
                AttrValue::Float(value) => value.to_bits().hash(&mut hasher),
                AttrValue::String(value) => value.hash(&mut hasher),
                _ => {}
            }
        }
        hasher.finish()
    }

    /// The place of a call that is remembered: a new one where it was not.
    fn slot(&mut self, key: Key) -> Option<usize> {
        let hash = self.hash(&key);
        let slots = self.by_hash.entry(hash).or_default();
        let known =
            slots.iter().copied().find(|&at| self.entries.get(at).is_some_and(|entry| entry.key == key));
        if known.is_some() || self.entries.len() >= MAX_REMEMBERED {
            return known;
        }
        slots.push(self.entries.len());
        self.entries.push(Entry { key, results: None, has_facts: false });
        self.entries.len().checked_sub(1)
    }
}

/// Feeds what usually tells arguments apart.
fn hash_known(known: &Known, hasher: &mut impl Hasher) {
    match &known.ty {
        Ty::Unknown => 1_u8.hash(hasher),
        Ty::Tensor(elem, dims) => (2_u8, elem, dims).hash(hasher),
        Ty::Other(_) => 3_u8.hash(hasher),
    }
    for elem in known.content.iter().flat_map(|content| content.iter()) {
        match elem {
            Elem::Int(dim) | Elem::Dyadic(dim, _) | Elem::Quotient(dim, _) => dim.hash(hasher),
            Elem::Float(value) => value.to_bits().hash(hasher),
            Elem::Unknown => 4_u8.hash(hasher),
        }
    }
}

/// The rule of a call.
pub(super) fn step(
    cx: &mut Cx<'_, '_>,
    control: &mut Control,
    function: FunctionId,
    memo: &mut Memo,
    active: &mut super::Active,
) -> Outcome<Step> {
    let body = cx.model().function(function).body();
    if let Some(call) = control.call.take() {
        active.remove(function);
        cx.state.join_body(body);
        let raw = cx.raw_results(body);
        if let Some(entry) = call.slot.and_then(|slot| memo.entries.get_mut(slot)) {
            entry.results = Some(raw.clone());
            entry.has_facts = cx.state.conclusions() != call.concluded;
        }
        return Ok(give(cx, raw, body));
    }
    if active.contains_key(function) {
        // It was reported before the first visit.
        return Err(Stop::Failed);
    }
    // What a call gives or asks for beyond what the function has, goes nowhere and is known of no more.
    let inputs = cx.model().graph(body).inputs();
    let arguments: Vec<Option<Known>> =
        (0..inputs.len()).map(|index| cx.has_input(index).then(|| cx.known(index))).collect();
    let attributes = attributes(cx, function);
    let runs = cx.state.site.runs;
    let slot = memo.slot(Key { function, arguments: arguments.clone(), attributes, runs });
    if let Some(entry) = slot.and_then(|slot| memo.entries.get(slot))
        && let Some(raw) = entry.results.clone()
    {
        if entry.has_facts {
            cx.state.facts.set_incomplete();
        }
        return Ok(give(cx, raw, body));
    }
    for (&value, argument) in inputs.iter().zip(arguments) {
        cx.state.set_absent(value, argument.is_none());
        let argument = argument.unwrap_or_default();
        if let Some(declared) = cx.model().value(value).ty() {
            let message = "the argument is of another type than the function declares";
            cx.state.check_callee(declared, &argument.ty, (Some(cx.id), Some(value)), message);
        }
        cx.state.bind(value, argument);
    }
    active.insert(function, ());
    control.call = Some(Call { function, slot, concluded: cx.state.conclusions() });
    Ok(Step::Enter(body, Runs::Always))
}

/// Gives the outputs of a call what the body gave, with symbols of the call's own.
fn give(cx: &mut Cx<'_, '_>, raw: Vec<Known>, body: GraphId) -> Step {
    for (index, known) in cx.export(raw, body).into_iter().enumerate() {
        cx.set_known(index, known);
    }
    Step::Done
}

/// The attributes of a call, with references resolved; those that it leaves out have the function's defaults.
fn attributes(cx: &Cx<'_, '_>, function: FunctionId) -> Vec<(Symbol, AttrValue)> {
    let record = cx.model().function(function);
    let formal = record.attributes.iter().copied();
    let defaulted = record.defaults.iter().map(Attribute::name);
    formal.chain(defaulted).filter_map(|name| Some((name, cx.attribute(name)?.value().clone()))).collect()
}

impl<'m> Engine<'m> {
    /// What the attribute references in a function mean.
    pub(super) fn callee_scope(&self, caller: &Frame<'m>, call: &Call) -> FactScope<'m> {
        let model = self.state.model;
        let record = model.function(call.function);
        let number = self.calls;
        let runs = caller.runs;
        let Some(node) = caller.current().map(|node| model.node(node)) else {
            return FactScope { args: None, call: number, runs };
        };
        // `args` is absent if no call of the caller is known. `step` then enters only calls without attribute references.
        let outer = caller.args.as_deref().unwrap_or_default();
        let actual = |name: Symbol| {
            let attribute = node.attribute(name)?;
            match attribute.value() {
                AttrValue::Ref(target) => {
                    outer.iter().find(|(formal, _)| formal == target).map(|&(_, actual)| actual)
                }
                _ => Some(attribute),
            }
        };
        let formal = record.attributes.iter().filter_map(|&name| Some((name, actual(name)?)));
        let defaulted =
            record.defaults.iter().map(|default| (default.name(), actual(default.name()).unwrap_or(default)));
        FactScope { args: Some(formal.chain(defaulted).collect()), call: number, runs }
    }

    /// Reports the functions that call themselves, directly or through others, each once.
    pub(super) fn report_recursion(&mut self) {
        for node in std::mem::take(&mut self.cycles) {
            self.state.fail(&RECURSION, node, "the function calls itself");
        }
    }

    /// Clears the facts about values in functions: they hold for one call only.
    pub(super) fn forget_functions(&mut self) {
        for &function in self.state.model.functions() {
            self.state.forget_graph(self.state.model.function(function).body());
        }
    }
}
