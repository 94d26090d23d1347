//! The record of edits, compared with the difference of two snapshots.

use std::collections::BTreeMap;
use std::sync::Arc;

use onnx_schema::{attr, domain, op};
use onnx_types::{ElemType, Shape, Type};
use proptest::prelude::*;

use super::script::{Editor, Step, config, steps};
use super::{append, scalar, small};
use crate::changes::Entity;
use crate::{
    Aspects, Attribute, Change, Changes, Def, Extras, Graph, GraphId, MetadataEntry, Model, Node, NodeId,
    OpsetImport, Position, Revision, Value,
};

/// What changed, by entity.
type Summary = BTreeMap<String, Change>;

/// The key with its version, as a slot may be used again.
fn id(key: impl slotmap::Key + std::fmt::Display) -> String {
    format!("{key} {:?}", key.data())
}

fn recorded(model: &Model, since: &Revision) -> Summary {
    let Changes::Edits(edits) = model.changes_since(since) else { panic!("the edits are on record") };
    let mut summary = Summary::new();
    summary.extend(edits.nodes().map(|(node, change)| (id(node), change)));
    summary.extend(edits.values().map(|(value, change)| (id(value), change)));
    summary.extend(edits.graphs().map(|(graph, change)| (id(graph), change)));
    summary.extend(edits.functions().map(|(function, change)| (id(function), change)));
    if !edits.model().is_empty() {
        summary.insert("model".to_owned(), Change::Changed(edits.model()));
    }
    summary
}

fn extras(extras: Option<&Extras>) -> Extras {
    extras.cloned().unwrap_or_default()
}

fn node_aspects(old: &Node, new: &Node) -> Aspects {
    let operator = |node: &Node| {
        let attributes = node.attributes.clone();
        (node.op, node.domain, node.overload, attributes)
    };
    let operands = |node: &Node| node.inputs().collect::<Vec<_>>();
    let mut aspects = Aspects::OPERATOR.when(operator(old) != operator(new));
    aspects |= Aspects::OPERANDS.when(operands(old) != operands(new));
    aspects |= Aspects::OUTPUTS.when(old.outputs != new.outputs);
    aspects |= Aspects::POSITION.when(old.graph != new.graph);
    let named = (old.name, old.forms, extras(old.extras())) != (new.name, new.forms, extras(new.extras()));
    aspects | Aspects::NAME.when(named)
}

/// A definition without its index, which belongs to the node or graph.
fn definition(def: Def) -> Def {
    match def {
        Def::Input { graph, .. } => Def::Input { graph, index: 0 },
        Def::Output { node, .. } => Def::Output { node, index: 0 },
        Def::Unresolved(_) | Def::Initializer(_) => def,
    }
}

fn value_aspects(old: &Value, new: &Value) -> Aspects {
    // A weight is not compared with what takes its place.
    let constant = |value: &Value| value.constant.as_ref().map(Arc::as_ptr);
    let mut aspects = Aspects::DEFINITION.when(definition(old.def) != definition(new.def));
    aspects |= Aspects::TYPE.when(old.ty != new.ty);
    aspects |= Aspects::CONSTANT.when(constant(old) != constant(new));
    let named = |value: &Value| (value.name, value.is_name_as_read(), extras(value.extras()));
    aspects | Aspects::NAME.when(named(old) != named(new))
}

fn graph_aspects(old: &Graph, new: &Graph, live: &Model) -> Aspects {
    let interface = |graph: &Graph| {
        let outputs: Vec<_> = graph.outputs.iter().map(|output| output.value).collect();
        (graph.inputs.clone(), outputs)
    };
    let declared = |graph: &Graph| {
        let infos = graph.value_info.iter().filter(|entry| live.get_value(entry.value).is_some());
        let own = graph.outputs.iter().filter_map(|output| output.own.clone());
        (infos.cloned().collect::<Vec<_>>(), own.collect::<Vec<_>>())
    };
    let mut aspects = Aspects::INTERFACE.when(interface(old) != interface(new));
    aspects |= Aspects::TYPE.when(declared(old) != declared(new));
    aspects |= Aspects::POSITION.when(old.owner != new.owner);
    aspects |= Aspects::VERSIONS.when(old.scope != new.scope);
    aspects | Aspects::NAME.when(old.name != new.name || old.info != new.info)
}

/// Adds what differs between two states of one arena.
fn compare<'a, K: slotmap::Key + std::fmt::Display, T: 'a>(
    summary: &mut Summary,
    old: impl Iterator<Item = (K, &'a T)>,
    new: impl Iterator<Item = (K, &'a T)>,
    aspects: impl Fn(K, &T, &T) -> Aspects,
) {
    let mut old: BTreeMap<K, &T> = old.collect();
    for (key, new) in new {
        let change = match old.remove(&key) {
            Some(old) => Change::Changed(aspects(key, old, new)),
            None => Change::Created,
        };
        if change != Change::Changed(Aspects::NONE) {
            summary.insert(id(key), change);
        }
    }
    for key in old.into_keys() {
        summary.insert(id(key), Change::Erased);
    }
}

/// The differences between two states of a model, except for the order of nodes.
fn difference(old: &Model, new: &Model) -> Summary {
    let mut summary = Summary::new();
    compare(&mut summary, old.nodes.iter(), new.nodes.iter(), |_, a, b| node_aspects(a, b));
    compare(&mut summary, old.values.iter(), new.values.iter(), |_, a, b| value_aspects(a, b));
    let left = |graph: GraphId| {
        let left = |(node, record): (NodeId, &Node)| {
            record.graph == graph && new.get_node(node).is_none_or(|new| new.graph != graph)
        };
        old.nodes.iter().any(left)
    };
    let lossy: Vec<GraphId> = old.graphs.keys().filter(|&graph| left(graph)).collect();
    compare(&mut summary, old.graphs.iter(), new.graphs.iter(), |graph, a, b| {
        graph_aspects(a, b, new) | Aspects::REMOVALS.when(lossy.contains(&graph))
    });
    compare(&mut summary, old.functions.iter(), new.functions.iter(), |_, a, b| {
        Aspects::INTERFACE.when(a.defaults != b.defaults)
    });
    summary
}

/// The record without the positions of nodes that moved past others, after checking that the others kept their order.
fn checked_order(old: &Model, new: &Model, since: &Revision) -> Summary {
    let mut summary = recorded(new, since);
    let moved: Vec<String> = summary.keys().filter(|entity| is_moved(&summary, entity)).cloned().collect();
    for graph in old.graphs.keys().filter(|&graph| new.get_graph(graph).is_some()) {
        let stays = |node: &NodeId| old.get_node(*node).is_some_and(|old| old.graph == graph);
        let nodes: Vec<NodeId> = new.nodes(graph).filter(stays).collect();
        let unmoved: Vec<NodeId> = nodes.iter().copied().filter(|&node| !moved.contains(&id(node))).collect();
        assert!(unmoved.is_sorted_by_key(|&node| old.order_key(node)), "{unmoved:?} kept their order");
        for &a in nodes.iter().filter(|&&node| moved.contains(&id(node))) {
            let inverted = |&b: &NodeId| a != b && old.is_before(a, b) != new.is_before(a, b);
            if nodes.iter().any(inverted)
                && let Some(Change::Changed(aspects)) = summary.get_mut(&id(a))
            {
                *aspects = aspects.without(Aspects::POSITION);
            }
        }
    }
    summary.retain(|_, change| *change != Change::Changed(Aspects::NONE));
    summary
}

fn is_moved(summary: &Summary, entity: &str) -> bool {
    matches!(summary.get(entity), Some(Change::Changed(aspects)) if aspects.contains(Aspects::POSITION))
}

/// The record of the same edits from two revisions that follow each other.
fn joined(mut first: Summary, second: Summary) -> Summary {
    for (entity, change) in second {
        match (first.get(&entity).copied(), change) {
            (Some(Change::Created), Change::Erased) => {
                first.remove(&entity);
            }
            (Some(Change::Created), Change::Changed(_)) => {}
            (Some(Change::Changed(old)), Change::Changed(new)) => {
                first.insert(entity, Change::Changed(old | new));
            }
            _ => {
                first.insert(entity, change);
            }
        }
    }
    first
}

/// Takes one step and compares its record with the difference of the models before and after. Returns the record, or
/// `None` if the step replaced the model by a clone.
fn check_step(editor: &mut Editor, step: Step) -> Option<Summary> {
    let before = editor.model.clone();
    let revision = editor.model.revision();
    editor.step(step);
    if matches!(editor.model.changes_since(&revision), Changes::Everything) {
        assert!(difference(&before, &editor.model).is_empty(), "only a clone loses its record");
        return None;
    }
    let expected = difference(&before, &editor.model);
    assert_eq!(checked_order(&before, &editor.model, &revision), expected, "{step:?}\n{before:?}");
    Some(recorded(&editor.model, &revision))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..config() })]

    #[test]
    fn the_record_of_each_edit_is_the_difference_of_snapshots(steps in steps(), wild in any::<bool>()) {
        let mut editor = Editor::new(wild);
        let mut start = editor.model.revision();
        let mut snapshot = editor.model.clone();
        let mut sum = Summary::new();
        for step in steps {
            match check_step(&mut editor, step) {
                Some(record) => sum = joined(sum, record),
                None => {
                    start = editor.model.revision();
                    snapshot = editor.model.clone();
                    sum.clear();
                }
            }
        }
        // The whole record is that of its parts, and covers all that differs.
        let whole = recorded(&editor.model, &start);
        prop_assert_eq!(&whole, &sum);
        for (entity, change) in difference(&snapshot, &editor.model) {
            match (whole.get(&entity), change) {
                (Some(Change::Changed(record)), Change::Changed(aspects)) => {
                    prop_assert!(record.contains(aspects), "{} {:?} {:?}", entity, record, aspects);
                }
                (record, change) => prop_assert_eq!(record, Some(&change), "{}", entity),
            }
        }
    }
}

/// Compares the record of an edit of a small model.
#[track_caller]
fn check_edit(edit: impl FnOnce(&mut Model, GraphId), expected: &[(&str, Change)]) {
    let (mut model, ..) = small();
    let revision = model.revision();
    let graph = model.main_graph();
    edit(&mut model, graph);
    let expected: Summary = expected.iter().map(|&(entity, change)| (entity.to_owned(), change)).collect();
    let record = recorded(&model, &revision).into_iter();
    let slot = |(entity, change): (String, Change)| (entity.split(' ').next().unwrap().to_owned(), change);
    assert_eq!(record.map(slot).collect::<Summary>(), expected);
}

#[test]
fn accessors_record_what_was_edited() {
    let changed = Change::Changed;
    check_edit(|model, _| drop(model.info_mut()), &[]);
    check_edit(|model, _| model.info_mut().model_version = 0, &[]);
    check_edit(|model, _| model.info_mut().model_version = 1, &[("model", changed(Aspects::NAME))]);
    check_edit(
        |model, _| model.info_mut().opset_imports.push(OpsetImport::new(domain::ONNX, 13)),
        &[("model", changed(Aspects::NAME | Aspects::VERSIONS))],
    );
    check_edit(
        |model, _| model.info_mut().training.push(crate::TrainingInfo::default()),
        &[("model", changed(Aspects::INTERFACE))],
    );
    check_edit(
        |model, graph| model.graph_mut(graph).metadata.push(MetadataEntry::new(op::ADD, "x")),
        &[("g0", changed(Aspects::NAME))],
    );
    check_edit(
        |model, graph| {
            let node = model.graph(graph).first().unwrap();
            model.node_extras_mut(node).doc = op::ADD;
            let value = model.node(node).output(0).unwrap();
            model.value_extras_mut(value).doc = op::ADD;
        },
        &[("n0", changed(Aspects::NAME)), ("v2", changed(Aspects::NAME))],
    );
    // A borrow that is not dropped leaves everything on record that it can edit.
    check_edit(
        |model, _| {
            let mut info = model.info_mut();
            info.model_version = 7;
            std::mem::forget(info);
        },
        &[("model", changed(Aspects::NAME | Aspects::INTERFACE | Aspects::VERSIONS))],
    );
}

#[test]
fn functions_record_what_they_declare() {
    let (mut model, ..) = small();
    let name = model.intern("f");
    let function = model.add_function(name, name, name);
    let check = |model: &Model, since: &Revision, aspects: Aspects| {
        let expected = Summary::from([(id(function), Change::Changed(aspects))]);
        assert_eq!(recorded(model, since), expected);
    };
    let revision = model.revision();
    model.function_mut(function).opset_imports.push(OpsetImport::new(domain::ONNX, 13));
    check(&model, &revision, Aspects::NAME | Aspects::VERSIONS);
    let revision = model.revision();
    model.function_mut(function).attributes.push(name);
    check(&model, &revision, Aspects::INTERFACE);
    let revision = model.revision();
    model.push_function_default(function, Attribute::new(attr::VALUE, scalar())).unwrap();
    model.replace_function_default(function, 0, Attribute::new(attr::VALUE, 1_i64)).unwrap();
    check(&model, &revision, Aspects::INTERFACE);
    assert_eq!(model.function(function).defaults, [Attribute::new(attr::VALUE, 1_i64)]);
}

#[test]
fn graphs_in_defaults_are_owned_and_released() {
    let (mut model, ..) = small();
    let name = model.intern("f");
    let function = model.add_function(name, name, name);
    let graph = model.new_graph(name);
    model.push_function_default(function, Attribute::new(attr::BODY, graph)).unwrap();
    assert_eq!(model.graph(graph).owner(), crate::Owner::Function(function));
    assert!(model.push_function_default(function, Attribute::new(attr::BODY, graph)).is_err());
    super::check(&model);
    let other = model.new_graph(name);
    model.replace_function_default(function, 0, Attribute::new(attr::BODY, other)).unwrap();
    assert!(model.get_graph(graph).is_none());
    model.remove_function_default(function, 0);
    assert!(model.get_graph(other).is_none());
    super::check(&model);
}

#[test]
fn tensors_and_types_are_recorded() {
    let changed = Change::Changed;
    check_edit(
        |model, _| model.replace_tensors(|_, _| Some(scalar())),
        &[("v1", changed(Aspects::CONSTANT))],
    );
    check_edit(|model, _| model.replace_tensors(|_, _| None), &[]);
    check_edit(
        |model, graph| {
            let x = model.graph(graph).inputs()[0];
            let ty = || Type::tensor(ElemType::Float, Some(Shape::known(&[2])));
            model.set_type(x, Some(ty()));
            let revision = model.revision();
            model.set_type(x, Some(ty()));
            assert!(model.changes_since(&revision).is_empty());
        },
        &[("v0", changed(Aspects::TYPE))],
    );
}

#[test]
fn sorting_records_the_nodes_that_move() {
    let (mut model, ..) = small();
    let graph = model.main_graph();
    let (a, value) = append(&mut model, graph, op::RELU, &[]);
    let (b, _) = append(&mut model, graph, op::ABS, &[value]);
    let (c, _) = append(&mut model, graph, op::NEG, &[]);
    model.move_node(a, Position::End(graph)).unwrap();
    let revision = model.revision();
    model.sort(graph).unwrap();
    assert!(model.is_before(a, b) && model.is_before(b, c));
    assert_eq!(recorded(&model, &revision), Summary::from([(id(a), Change::Changed(Aspects::POSITION))]));
    // To where it is already.
    let revision = model.revision();
    model.move_node(a, Position::Before(b)).unwrap();
    assert!(model.changes_since(&revision).is_empty());
}

#[test]
fn clones_and_long_records_read_as_everything() {
    let (mut model, x, ..) = small();
    let revision = model.revision();
    let clone = model.clone();
    assert!(matches!(clone.changes_since(&revision), Changes::Everything));
    assert!(matches!(model.changes_since(&clone.revision()), Changes::Everything));
    assert!(model.changes_since(&revision).is_empty());
    let rename = |model: &mut Model, count: usize| {
        for index in 0..count {
            model.set_value_name(x, if index % 2 == 0 { op::ADD } else { op::ABS });
        }
    };
    // More edits than the model has entities, by far.
    rename(&mut model, 1100);
    assert!(matches!(model.changes_since(&revision), Changes::Everything));
    // A record that lost its older half still has the newest edits.
    rename(&mut model, 10_000);
    let revision = model.revision();
    rename(&mut model, 500);
    let expected = Summary::from([(id(x), Change::Changed(Aspects::NAME))]);
    assert_eq!(recorded(&model, &revision), expected);
    model.forget_changes();
    assert!(matches!(model.changes_since(&revision), Changes::Everything));
    assert_eq!(size_of::<Entity>(), 12);
}
