//! The names that values are written with.

use std::collections::HashMap;

use onnx_schema::{attr, op};
use onnx_types::Symbol;
use proptest::prelude::*;

use super::script::{Editor, config, steps};
use super::{append, small};
use crate::{Def, GraphId, Model, NamePlan, Position, ValueId};

/// Reads names as a file's reader would, and says which uses find another value than their own.
struct Reader<'a> {
    model: &'a Model,
    plan: &'a NamePlan,
    /// Whether definitions count in the whole graph, or only after their node.
    whole_graph: bool,
    wrong: Vec<String>,
}

type Names = HashMap<String, ValueId>;

impl<'a> Reader<'a> {
    fn run(model: &'a Model, plan: &'a NamePlan, whole_graph: bool) -> Vec<String> {
        let mut reader = Self { model, plan, whole_graph, wrong: Vec::new() };
        for root in model.roots() {
            let left = reader.graph(root, &Names::new());
            for (name, value) in left {
                reader.expect(&name, value, None);
            }
        }
        reader.wrong
    }

    fn expect(&mut self, name: &str, value: ValueId, found: Option<ValueId>) {
        let unresolved = matches!(self.model.value(value).def(), Def::Unresolved(_));
        if found != Some(value) && !(unresolved && found.is_none()) {
            self.wrong.push(format!("{value} as {name:?}: {found:?}"));
        }
    }

    /// Returns the uses that found nothing.
    fn graph(&mut self, graph: GraphId, outer: &Names) -> Vec<(String, ValueId)> {
        let model = self.model;
        let mut names = outer.clone();
        let mut own = Names::new();
        let mut waiting: Vec<(String, ValueId)> = Vec::new();
        let plan = self.plan;
        let define = |value: ValueId, names: &mut Names, own: &mut Names| {
            let name = plan.name(value, model).to_owned();
            if !name.is_empty() && !own.contains_key(&name) {
                own.insert(name.clone(), value);
                names.insert(name, value);
            }
        };
        for &value in model.graph(graph).inputs() {
            define(value, &mut names, &mut own);
        }
        for value in model.initializers(graph) {
            define(value, &mut names, &mut own);
        }
        if self.whole_graph {
            for node in model.nodes(graph) {
                for &value in model.node(node).outputs().iter().flatten() {
                    define(value, &mut names, &mut own);
                }
            }
        }
        let mut uses: Vec<ValueId> = Vec::new();
        for node in model.nodes(graph) {
            for value in model.node(node).inputs().flatten() {
                self.look_up(value, &names, &mut waiting);
            }
            for nested in model.node(node).nested_graphs() {
                waiting.extend(self.graph(nested, &names));
            }
            for &value in model.node(node).outputs().iter().flatten() {
                define(value, &mut names, &mut own);
                let name = plan.name(value, model);
                if own.get(name) == Some(&value) {
                    for (_, used) in waiting.extract_if(.., |(waiting, _)| waiting == name) {
                        uses.push(used);
                        self.expect(name, used, Some(value));
                    }
                }
            }
        }
        for output in model.graph(graph).outputs() {
            self.look_up(output.value(), &names, &mut waiting);
        }
        if graph == model.main_graph() {
            for algorithm in model.algorithms() {
                waiting.extend(self.graph(algorithm, &names));
            }
        }
        waiting
    }

    fn look_up(&mut self, value: ValueId, names: &Names, waiting: &mut Vec<(String, ValueId)>) {
        let name = self.plan.name(value, self.model).to_owned();
        assert!(!name.is_empty(), "{value} has no name");
        match names.get(&name) {
            Some(&found) => self.expect(&name, value, Some(found)),
            None => waiting.push((name, value)),
        }
    }
}

fn check_names(model: &Model) {
    let plan = model.name_plan();
    for whole_graph in [true, false] {
        let wrong = Reader::run(model, &plan, whole_graph);
        assert!(wrong.is_empty(), "whole graph {whole_graph}: {wrong:?}\n{plan:?}\n{model:?}");
    }
    let mut settled = model.clone();
    settled.settle_names();
    assert!(settled.name_plan().is_trivial());
    settled.names_touched = true;
    assert!(settled.name_plan().is_trivial(), "a plan leaves names that need another plan\n{settled:?}");
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn written_names_find_their_values(steps in steps()) {
        let mut editor = Editor::new(false);
        for step in steps {
            let before = editor.model.clone();
            editor.step(step);
            if editor.model.verify().is_err() {
                editor.model = before;
            }
        }
        check_names(&editor.model);
    }
}

#[test]
fn untouched_names_stay() {
    let (mut model, ..) = small();
    assert!(model.names_touched());
    assert!(model.name_plan().is_trivial());
    model.settle_names();
    assert!(!model.names_touched());
    let graph = model.main_graph();
    model.add_graph_input(graph, "x", None);
    assert!(!model.name_plan().is_trivial());
}

#[test]
fn callers_keep_the_names_they_know() {
    let (mut model, x, w, y) = small();
    let graph = model.main_graph();
    // An inner value, and a weight, take the names of the input and the output.
    let (_, inner) = append(&mut model, graph, op::RELU, &[x]);
    append(&mut model, graph, op::RELU, &[inner]);
    let (name_x, name_y) = (model.value(x).name(), model.value(y).name());
    model.set_value_name(inner, name_x);
    model.set_value_name(w, name_y);
    let plan = model.name_plan();
    assert_eq!(plan.name(x, &model), "x");
    assert_eq!(plan.name(y, &model), "y");
    assert_eq!(plan.fresh_name(inner).map(|name| name.starts_with("x_")), Some(true));
    assert!(plan.fresh_name(w).is_some());
    check_names(&model);
}

#[test]
fn unresolved_names_are_kept_and_not_captured() {
    let (mut model, x, _, y) = small();
    let graph = model.main_graph();
    let missing = model.intern("missing");
    let nobody = model.new_value(missing);
    append(&mut model, graph, op::RELU, &[nobody]);
    // Even an output's name gives way, as the unresolved one cannot.
    model.set_value_name(y, missing);
    model.set_value_name(x, missing);
    let plan = model.name_plan();
    assert_eq!(plan.fresh_name(nobody), None);
    assert!(plan.fresh_name(y).is_some() && plan.fresh_name(x).is_some());
    check_names(&model);
}

#[test]
fn names_as_read_stay_while_they_are_found() {
    let (mut model, x, ..) = small();
    let graph = model.main_graph();
    let body = model.new_graph(Symbol::EMPTY);
    // The body hides the outer `x`.
    let hidden = model.add_graph_input(body, "x", None);
    model.set_name_as_read(hidden);
    let (user, inner) = append(&mut model, body, op::RELU, &[hidden]);
    model.push_graph_output(body, inner);
    model.build_at(Position::End(graph)).op(op::IF, [x]).attr(attr::BODY, body).output().unwrap();
    let plan = model.name_plan();
    assert_eq!(plan.name(hidden, &model), "x");
    // When the outer value is also used inside, the two need different names.
    model.push_input(user, Some(x));
    let plan = model.name_plan();
    assert_eq!(plan.name(x, &model), "x");
    assert_ne!(plan.name(hidden, &model), "x");
    check_names(&model);
}

#[test]
fn long_names_are_not_repeated_at_full_length() {
    let (mut model, x, ..) = small();
    let graph = model.main_graph();
    let long = "é".repeat(100_000);
    let long = model.intern(&long);
    for _ in 0..100 {
        let (_, value) = append(&mut model, graph, op::RELU, &[x]);
        model.set_value_name(value, long);
    }
    let plan = model.name_plan();
    let total: usize = model.values.keys().filter_map(|value| plan.fresh_name(value)).map(str::len).sum();
    assert!(total < 100 * 80);
    check_names(&model);
}

#[test]
fn many_copies_of_one_name_take_linear_time() {
    let (mut model, x, ..) = small();
    let graph = model.main_graph();
    let name = model.intern("dup");
    for index in 0..100_000 {
        let (_, value) = append(&mut model, graph, op::RELU, &[x]);
        model.set_value_name(value, name);
        if index % 2 == 0 {
            model.set_name_as_read(value);
        }
    }
    let plan = model.name_plan();
    let renamed = model.values.keys().filter(|&value| plan.fresh_name(value).is_some()).count();
    assert!((49_999..=50_001).contains(&renamed), "{renamed}");
}
