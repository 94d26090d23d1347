//! The rules: for each one a file with its record and its function, and a page that explains it.
//!
//! A unit is what a rule checks. Each has a module with the list of its rules, in alphabetical order.

pub(crate) mod attribute;
pub(crate) mod call;
pub(crate) mod device;
pub(crate) mod external;
pub(crate) mod feature;
pub(crate) mod function;
pub(crate) mod graph;
pub(crate) mod metadata;
pub(crate) mod model;
pub(crate) mod node;
pub(crate) mod operator_set;
pub(crate) mod opset;
pub(crate) mod reference;
pub(crate) mod sharding;
pub(crate) mod signature;
pub(crate) mod sparse;
pub(crate) mod tensor;
pub(crate) mod training;
pub(crate) mod ty;
pub(crate) mod value;

use onnx_diag::Rule;
use onnx_ir::Model;

pub(crate) use self::feature::feature_newer_than_ir_version::raise as raise_ir_version;

/// A rule of a unit, with the function that looks for the defect; `F` takes the context of the unit.
pub(crate) struct Entry<F> {
    pub(crate) rule: &'static Rule,
    pub(crate) check: F,
}

/// One line of a unit's list.
const fn entry<F: Copy>(rule: &'static Rule, check: F) -> Entry<F> {
    Entry { rule, check }
}

const COUNT: usize = model::ENTRIES.len()
    + graph::ENTRIES.len()
    + value::ENTRIES.len()
    + node::ENTRIES.len()
    + attribute::ENTRIES.len()
    + attribute::NODE_ENTRIES.len()
    + tensor::ENTRIES.len()
    + sparse::ENTRIES.len()
    + external::ENTRIES.len()
    + ty::ENTRIES.len()
    + function::ENTRIES.len()
    + call::ENTRIES.len()
    + reference::ENTRIES.len()
    + opset::ENTRIES.len()
    + metadata::ENTRIES.len()
    + training::ENTRIES.len()
    + device::ENTRIES.len()
    + sharding::ENTRIES.len()
    + feature::ENTRIES.len()
    + operator_set::ENTRIES.len();

/// Repairs a model, and says what was done.
pub(crate) type Repair = fn(&mut Model) -> Vec<String>;

/// The rules whose findings can be repaired, in the order in which that is done.
pub(crate) static FIXES: &[Entry<Repair>] = &[
    entry(&feature::feature_newer_than_ir_version::RULE, feature::feature_newer_than_ir_version::fix),
    entry(&feature::annotation_newer_than_ir_version::RULE, feature::annotation_newer_than_ir_version::fix),
    entry(&opset::opset_imported_twice::RULE, opset::opset_imported_twice::fix),
    entry(&node::domain_not_imported::RULE, node::domain_not_imported::fix),
    entry(&metadata::model_metadata_key_repeated::RULE, metadata::model_metadata_key_repeated::fix),
    entry(&graph::value_info_of_interface::RULE, graph::value_info_of_interface::fix),
    entry(&graph::value_info_twice::RULE, graph::value_info_twice::fix),
    entry(&graph::value_info_without_value::RULE, graph::value_info_without_value::fix),
    entry(&graph::node_name_twice::RULE, graph::node_name_twice::fix),
    entry(&node::node_not_sorted::RULE, node::node_not_sorted::fix),
    entry(&ty::negative_dimension::RULE, ty::negative_dimension::fix),
];

/// The rules that nearly every exported model violates: programs count their diagnostics and print them on request.
pub static ON_REQUEST: &[&Rule] =
    &[&graph::name_not_identifier::RULE, &graph::dimension_variable_not_identifier::RULE];

/// All rules of the checker, by ascending code.
///
/// ```
/// use onnx_check::RULES;
/// use onnx_diag::find_rule;
///
/// let rule = find_rule(RULES, "value-defined-twice").expect("a rule of this name exists");
/// assert_eq!(rule.id().to_string(), "ONNX2101");
/// assert!(rule.explain.contains("## Why"));
/// ```
pub static RULES: [&Rule; COUNT] = {
    let mut rules = [model::ENTRIES[0].rule; COUNT];
    let at = fill(&mut rules, 0, model::ENTRIES);
    let at = fill(&mut rules, at, graph::ENTRIES);
    let at = fill(&mut rules, at, value::ENTRIES);
    let at = fill(&mut rules, at, node::ENTRIES);
    let at = fill(&mut rules, at, attribute::ENTRIES);
    let at = fill(&mut rules, at, attribute::NODE_ENTRIES);
    let at = fill(&mut rules, at, tensor::ENTRIES);
    let at = fill(&mut rules, at, sparse::ENTRIES);
    let at = fill(&mut rules, at, external::ENTRIES);
    let at = fill(&mut rules, at, ty::ENTRIES);
    let at = fill(&mut rules, at, function::ENTRIES);
    let at = fill(&mut rules, at, call::ENTRIES);
    let at = fill(&mut rules, at, reference::ENTRIES);
    let at = fill(&mut rules, at, opset::ENTRIES);
    let at = fill(&mut rules, at, metadata::ENTRIES);
    let at = fill(&mut rules, at, training::ENTRIES);
    let at = fill(&mut rules, at, device::ENTRIES);
    let at = fill(&mut rules, at, sharding::ENTRIES);
    let at = fill(&mut rules, at, feature::ENTRIES);
    fill(&mut rules, at, operator_set::ENTRIES);
    sort(&mut rules);
    rules
};

/// Copies the rules of a unit behind those that are there already and returns the next free position.
#[cfg_attr(
    not(test),
    expect(clippy::arithmetic_side_effects, reason = "the compiler evaluates it, and refuses overflow")
)]
const fn fill<F>(rules: &mut [&'static Rule; COUNT], mut at: usize, entries: &[Entry<F>]) -> usize {
    let mut next = 0;
    while next < entries.len() {
        rules[at] = entries[next].rule;
        at += 1;
        next += 1;
    }
    at
}

/// Sorts by code; it runs at compile time, where the library's sort cannot.
#[cfg_attr(
    not(test),
    expect(clippy::arithmetic_side_effects, reason = "the compiler evaluates it, and refuses overflow")
)]
const fn sort(rules: &mut [&'static Rule; COUNT]) {
    let mut sorted = 1;
    while sorted < COUNT {
        let mut at = sorted;
        while at > 0 && rules[at - 1].code > rules[at].code {
            rules.swap(at - 1, at);
            at -= 1;
        }
        sorted += 1;
    }
}

#[cfg(test)]
mod tests;
