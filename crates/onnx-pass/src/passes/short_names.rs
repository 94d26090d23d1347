//! The pass `short-names`: inner values have names of few letters, and nodes none.

use std::collections::HashSet;

use foldhash::fast::RandomState;
use onnx_ir::{Cursor, Def, GraphId, Model, ValueId};
use onnx_types::Symbol;

use super::Report;
use super::unique_names::interface;
use crate::assumption::Exactness;
use crate::cx::PassCx;
use crate::pass::Pass;

/// The name of the pass.
const NAME: &str = "short-names";

/// The digits of a name. A name begins with a letter, since many readers make identifiers of names.
const DIGITS: &[u8; 36] = b"abcdefghijklmnopqrstuvwxyz0123456789";

/// The digits that a name can begin with.
const LETTERS: u64 = 26;

pub(super) fn pass() -> Pass {
    Pass::new(NAME, "Gives inner values short names, and nodes none.", Exactness::Exact, short_names)
        .with_page(include_str!("short_names.md"))
        .against("unique-names")
}

/// Gives each inner value a short name that no other value of the model has, and removes the names of nodes. Inputs and outputs
/// of the main graph and of functions keep their names.
pub fn short_names(cx: &mut PassCx<'_>) -> Report {
    cx.restructure(NAME, |model| values(model).saturating_add(nodes(model)))
}

fn values(model: &mut Model) -> usize {
    let fixed: HashSet<ValueId, RandomState> = interface(model).into_iter().collect();
    let mut taken: HashSet<Symbol, RandomState> =
        fixed.iter().map(|&value| model.value(value).name()).collect();
    taken.extend(undefined(model));
    let graphs: Vec<GraphId> = model.all_graphs().collect();
    let mut number = 0_u64;
    let mut renamed = 0_usize;
    for graph in graphs {
        let definitions: Vec<ValueId> = model.definitions(graph).collect();
        for value in definitions {
            if fixed.contains(&value) {
                continue;
            }
            let name = loop {
                let name = model.intern(&text(number));
                number = number.saturating_add(1);
                if !taken.contains(&name) {
                    break name;
                }
            };
            if model.value(value).name() != name {
                model.set_value_name(value, name);
                renamed = renamed.saturating_add(1);
            }
        }
    }
    renamed
}

/// The names that are used and not defined: they must not be given to a value, because these uses would then refer to
/// it.
fn undefined(model: &Model) -> Vec<Symbol> {
    let mut names = Vec::new();
    let mut add = |value: ValueId| {
        let record = model.value(value);
        if matches!(record.def(), Def::Unresolved(_)) {
            names.push(record.name());
        }
    };
    for graph in model.all_graphs() {
        model.nodes(graph).for_each(|node| model.node(node).inputs().flatten().for_each(&mut add));
        model.graph(graph).outputs().iter().for_each(|output| add(output.value()));
    }
    names
}

/// The name of a number: `a`, `b`, …, `z`, `aa`, `ab`, …
fn text(number: u64) -> String {
    let count = DIGITS.len() as u64;
    let digit = |index: u64| DIGITS.get(index as usize).map_or('_', |&digit| char::from(digit));
    let mut name = String::from(digit(number % LETTERS));
    let mut rest = number / LETTERS;
    while rest > 0 {
        rest -= 1;
        name.push(digit(rest % count));
        rest /= count;
    }
    name
}

fn nodes(model: &mut Model) -> usize {
    let mut renamed = 0_usize;
    let mut cursor = Cursor::all(model);
    while let Some(node) = cursor.next(model) {
        if !model.node(node).name().is_empty() {
            model.set_node_name(node, Symbol::EMPTY);
            renamed = renamed.saturating_add(1);
        }
    }
    renamed
}
