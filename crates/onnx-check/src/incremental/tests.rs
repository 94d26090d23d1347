//! Each aspect of an edit, and the cost of one.

use std::sync::Arc;

use onnx_ir::{
    Attribute, Changes, Constant, MetadataEntry, Model, NewNode, NodeId, OpsetImport, Position,
    QuantAnnotation, ValueId, ValueRef,
};
use onnx_schema::{attr, domain, op};
use onnx_types::tensor::Tensor;
use onnx_types::{Dim, ElemType, Execution, Interrupt, Shape, Symbol, Type};

use super::IncrementalCheck;
use crate::testing::{Builder, float, scalar};
use crate::{CheckOptions, check};

/// Compares what an update reports with a full check, and returns the slugs.
#[track_caller]
fn slugs(incremental: &mut IncrementalCheck, model: &Model, changes: &Changes) -> Vec<&'static str> {
    let found = incremental.update(model, changes).into_diagnostics();
    assert_eq!(found, check(model, &CheckOptions::default()).into_diagnostics());
    found.iter().map(|found| found.rule.slug).collect()
}

/// Checks the model that `build` makes, which is right, edits it, and compares what the next check reports. Returns the
/// number of units that it visits, and that a full check does.
#[track_caller]
fn check_edit(
    build: impl FnOnce(&mut Builder),
    edit: impl FnOnce(&mut Model),
    expected: &[&str],
) -> (usize, usize) {
    let mut m = Builder::new();
    build(&mut m);
    // The names are not those of a file.
    let mut model = std::mem::take(&mut *m.model);
    let mut incremental = IncrementalCheck::new(CheckOptions::default());
    assert_eq!(slugs(&mut incremental, &model, &Changes::Everything), [""; 0]);
    let before = model.revision();
    edit(&mut model);
    assert_eq!(slugs(&mut incremental, &model, &model.changes_since(&before)), expected);
    let visited = incremental.visited();
    // What is reported stays so, whatever else is edited.
    let before = model.revision();
    model.info_mut().producer_name = op::RELU;
    assert_eq!(slugs(&mut incremental, &model, &model.changes_since(&before)), expected);
    assert_eq!(slugs(&mut incremental, &model, &Changes::Everything), expected);
    (visited, incremental.visited())
}

/// A chain of nodes.
fn chain(m: &mut Builder) {
    m.inputs(["x"]);
    for text in ["a = Relu (x)", "b = Relu (a)", "c = Relu (b)"] {
        m.node(text);
    }
    m.outputs(["c"]);
}

/// The node that makes a value of the main graph.
fn maker(model: &Model, name: &str) -> NodeId {
    model.value(value(model, name)).producer().unwrap()
}

fn value(model: &Model, name: &str) -> ValueId {
    model.find_value(model.main_graph(), name).unwrap()
}

#[test]
fn edits_of_operators_are_checked() {
    let rename = |model: &mut Model| {
        let rellu = model.intern("Rellu");
        model.set_op(maker(model, "b"), Symbol::EMPTY, rellu, Symbol::EMPTY);
    };
    let (visited, all) = check_edit(chain, rename, &["unknown-operator"]);
    assert!(visited < all);
    let add = |model: &mut Model| {
        model.set_attribute(maker(model, "b"), Attribute::new(attr::AXIS, 1)).unwrap();
    };
    check_edit(chain, add, &["unknown-attribute"]);
}

#[test]
fn edits_of_operands_are_checked() {
    check_edit(chain, |model| model.set_input(maker(model, "b"), 0, None), &["wrong-input-count"]);
    check_edit(
        chain,
        |model| {
            model.push_output(maker(model, "b"), Symbol::EMPTY);
        },
        &["wrong-output-count"],
    );
}

#[test]
fn edits_of_positions_are_checked_at_the_users() {
    let graph = |model: &Model| model.main_graph();
    let move_last = |model: &mut Model| {
        model.move_node(maker(model, "b"), Position::End(graph(model))).unwrap();
    };
    check_edit(chain, move_last, &["node-not-sorted"]);
    let nested = |m: &mut Builder| {
        m.inputs(["x"]);
        m.node("a = Relu (x)");
        let body = m.nested("t", |m| {
            m.node("p = Relu (a)");
            m.outputs(["p"]);
        });
        m.import("d", 1);
        let body = m.attribute("body", body);
        m.node_with("y = d.Frob (x)", [body]);
        m.outputs(["y"]);
    };
    let move_first = |model: &mut Model| {
        model.move_node(maker(model, "y"), Position::Start(graph(model))).unwrap();
    };
    check_edit(nested, move_first, &["node-not-sorted"]);
}

#[test]
fn edits_of_definitions_are_checked_at_the_users() {
    let remove = |model: &mut Model| {
        model.remove_graph_input(model.main_graph(), 0);
    };
    check_edit(chain, remove, &["value-never-defined"]);
    let unused = |m: &mut Builder| {
        chain(m);
        m.node("d = Relu (c)");
    };
    check_edit(unused, |model| model.erase_node(maker(model, "d")).unwrap(), &[]);
}

#[test]
fn edits_of_constants_are_checked() {
    let build = |m: &mut Builder| {
        chain(m);
        m.initializer("w", Tensor::vector(&[1.0_f32, 2.0]));
        m.typed("w", Some(float(Some(&[2]))));
    };
    let edit = |model: &mut Model| {
        let constant = Arc::new(Constant::from(Tensor::vector(&[1.0_f32])));
        model.set_initializer(model.main_graph(), value(model, "w"), Some(constant));
    };
    check_edit(build, edit, &["initializer-contradicts-type"]);
}

#[test]
fn edits_of_types_are_checked_where_they_are_declared_and_used() {
    check_edit(chain, |model| model.set_type(value(model, "c"), None::<Type>), &["type-incomplete"]);
    let softmax = |m: &mut Builder| {
        chain(m);
        let axis = m.attribute("axis", 1);
        m.typed("b", Some(float(Some(&[2, 2]))));
        m.node_with("s = Softmax (b)", [axis]);
    };
    let edit = |model: &mut Model| model.set_type(value(model, "b"), Some(float(Some(&[2]))));
    check_edit(softmax, edit, &["axis-out-of-range"]);
    let described = |m: &mut Builder| {
        chain(m);
        m.typed("b", Some(float(Some(&[2]))));
        m.value_info("b");
    };
    let edit = |model: &mut Model| model.set_type(value(model, "b"), Some(float(Some(&[-2]))));
    check_edit(described, edit, &["negative-dimension"]);
}

#[test]
fn edits_of_value_info_are_checked() {
    let edit = |model: &mut Model| model.push_value_info(model.main_graph(), value(model, "c"), None);
    check_edit(chain, edit, &["value-info-of-interface"]);
    let build = |m: &mut Builder| {
        chain(m);
        m.initializer("w", scalar());
        m.value_info("w");
    };
    let edit = |model: &mut Model| model.set_initializer(model.main_graph(), value(model, "w"), None);
    check_edit(build, edit, &["value-info-without-value"]);
    let twice = |m: &mut Builder| {
        chain(m);
        m.value_info("b");
        m.value_info("b");
    };
    // From here on, the names are those of a file.
    check_edit(twice, Model::settle_names, &["value-info-twice"]);
    let described = |m: &mut Builder| {
        chain(m);
        m.value_info("late");
        m.node("z = Relu (late)");
    };
    let mut m = Builder::new();
    described(&mut m);
    let mut incremental = IncrementalCheck::new(CheckOptions::default());
    assert_eq!(slugs(&mut incremental, &m.model, &Changes::Everything), ["value-never-defined"]);
    let before = m.model.revision();
    let maker = maker(&m.model, "z");
    m.model.erase_node(maker).unwrap();
    let changes = m.model.changes_since(&before);
    assert_eq!(slugs(&mut incremental, &m.model, &changes), ["value-info-without-value"]);
}

#[test]
fn edits_of_interfaces_are_checked() {
    let edit = |model: &mut Model| model.push_graph_output(model.main_graph(), value(model, "c"));
    check_edit(chain, edit, &["output-listed-twice"]);
    let edit = |model: &mut Model| {
        let x = model.new_value(Symbol::EMPTY);
        model.push_graph_output(model.main_graph(), x);
    };
    check_edit(chain, edit, &["value-name-missing", "type-incomplete"]);
}

#[test]
fn edits_of_names_and_texts_are_checked() {
    let edit = |model: &mut Model| {
        let name = model.intern("n");
        for value in ["a", "c"] {
            model.set_node_name(maker(model, value), name);
        }
    };
    check_edit(chain, edit, &["node-name-twice"]);
    let edit = |model: &mut Model| {
        let name = model.intern("a b");
        model.set_value_name(value(model, "a"), name);
    };
    check_edit(chain, edit, &["name-not-identifier"]);
    check_edit(
        chain,
        |model| model.set_graph_name(model.main_graph(), Symbol::EMPTY),
        &["graph-name-missing"],
    );
    let edit = |model: &mut Model| {
        let key = model.intern("key");
        let entries = ["1", "2"].map(|text| MetadataEntry::new(key, text));
        model.value_extras_mut(value(model, "a")).metadata.extend(entries);
    };
    check_edit(chain, edit, &["metadata-key-repeated"]);
    let edit = |model: &mut Model| {
        let main = model.main_graph();
        model.graph_mut(main).doc = model.intern("</b>");
    };
    check_edit(chain, edit, &["markup-in-documentation"]);
}

/// Names that a decoder found to be wrong. No edit makes such names, but edits show, hide and repair them.
#[test]
fn names_of_a_file_are_checked_after_each_edit() {
    let mut m = Builder::new();
    m.inputs(["x"]);
    m.node("a = Relu (x)");
    m.node("a = Abs (x)");
    m.node("y = Neg (x)");
    let body = m.nested("t", |m| {
        m.initializer("", scalar());
        m.node("a = Neg (x)");
        m.outputs(["a"]);
    });
    m.import("d", 1);
    let body = m.attribute("body", body);
    m.node_with("z = d.Frob (x)", [body]);
    m.outputs(["y"]);
    let mut model = m.model.finish();
    let [first, second, _, holder] = *model.nodes(model.main_graph()).collect::<Vec<_>>() else { panic!() };
    let mut incremental = IncrementalCheck::new(CheckOptions::default());
    let (twice, nameless) = ("value-defined-twice", "value-name-missing");
    assert_eq!(slugs(&mut incremental, &model, &Changes::Everything), [twice, nameless, twice]);
    let mut after = |model: &mut Model, edit: &mut dyn FnMut(&mut Model)| {
        let before = model.revision();
        edit(model);
        slugs(&mut incremental, model, &model.changes_since(&before))
    };
    let (mut detached, attribute) = (None, model.intern("body"));
    let mut detach = |model: &mut Model| detached = model.detach_graph(holder, attribute);
    assert_eq!(after(&mut model, &mut detach), [twice]);
    let detached = detached.unwrap();
    let rename = |node: NodeId, name: &'static str| {
        move |model: &mut Model| {
            let (name, value) = (model.intern(name), model.node(node).output(0).unwrap());
            model.set_value_name(value, name);
        }
    };
    // What is defined twice is reported when the graph is part of the model again. From here on, empty names are not: they
    // are settled when the model is written.
    let mut attach = |model: &mut Model| {
        model.set_attribute(holder, Attribute::new(attribute, detached)).unwrap();
    };
    assert_eq!(after(&mut model, &mut attach), [twice, twice]);
    assert_eq!(after(&mut model, &mut rename(second, "b")), [twice]);
    assert_eq!(after(&mut model, &mut rename(first, "c")), [""; 0]);
    assert_eq!(after(&mut model, &mut rename(first, "a")), [twice]);
    assert_eq!(after(&mut model, &mut |model| model.erase_node(first).unwrap()), [""; 0]);
}

#[test]
fn annotations_are_checked_after_any_edit() {
    let build = |m: &mut Builder| {
        chain(m);
        m.initializer("w", Tensor::vector(&[1.0_f32]));
        let tensor = ValueRef::Value(m.value("w"));
        let annotation = QuantAnnotation::new(tensor, Vec::new());
        let graph = m.graph();
        m.model.graph_mut(graph).quantization.push(annotation);
    };
    let edit = |model: &mut Model| model.set_initializer(model.main_graph(), value(model, "w"), None);
    check_edit(build, edit, &["quantization-annotation-dangling"]);
}

/// A model that calls `d.f`, which calls `d.g`.
fn functions(m: &mut Builder) {
    m.import("d", 1);
    m.inputs(["x"]);
    m.node("y = d.f (x)");
    m.outputs(["y"]);
    for (name, node) in [("f", "q = d.g (p)"), ("g", "q = Relu (p)")] {
        m.function("d", name, Some(""), |m| {
            m.inputs(["p"]);
            m.node(node);
            m.outputs(["q"]);
        });
        m.own_import("d");
    }
}

#[test]
fn edits_of_functions_are_checked_at_their_calls() {
    let call = |model: &mut Model| {
        let body = model.function(model.functions()[1]).body();
        let node = model.nodes(body).next().unwrap();
        let [d, f] = ["d", "f"].map(|name| model.intern(name));
        model.set_op(node, d, f, Symbol::EMPTY);
    };
    check_edit(functions, call, &["function-calls-itself"]);
    let shorten = |model: &mut Model| {
        let body = model.function(model.functions()[1]).body();
        let node = model.nodes(body).next().unwrap();
        let p = model.remove_graph_input(body, 0);
        model.set_input(node, 0, None);
        model.erase_value(p).unwrap();
    };
    check_edit(functions, shorten, &["too-many-call-inputs", "wrong-input-count"]);
    let attribute = |model: &mut Model| {
        let name = model.intern("alpha");
        model.function_mut(model.functions()[0]).attributes.push(name);
    };
    check_edit(functions, attribute, &["missing-call-attribute"]);
}

#[test]
fn names_of_outputs_are_checked_with_their_function() {
    let build = |m: &mut Builder| {
        m.import("d", 1);
        m.inputs(["x"]);
        m.node("y = d.f (x)");
        m.outputs(["y"]);
        m.function("d", "f", Some(""), |m| {
            m.inputs(["p"]);
            m.node("q = Relu (p)");
            m.node("r = Relu (p)");
            m.outputs(["q", "r"]);
        });
    };
    let rename = |model: &mut Model| {
        let outputs = model.graph(model.function(model.functions()[0]).body()).outputs();
        let [q, r] = [0, 1].map(|index: usize| outputs[index].value());
        model.set_value_name(r, model.value(q).name());
    };
    check_edit(build, rename, &["function-output-repeated"]);
}

#[test]
fn everything_is_checked_after_edits_of_versions() {
    let edit = |model: &mut Model| model.info_mut().opset_imports[0] = OpsetImport::new(domain::ONNX, 0);
    let (visited, all) = check_edit(
        chain,
        edit,
        &["opset-version-out-of-range", "unknown-operator", "unknown-operator", "unknown-operator"],
    );
    assert_eq!(visited, all);
    check_edit(chain, |model| model.info_mut().ir_version = 0, &["ir-version-missing"]);
    let mut m = Builder::new();
    chain(&mut m);
    let mut incremental = IncrementalCheck::new(CheckOptions::default());
    assert_eq!(slugs(&mut incremental, &m.model, &Changes::Everything), [""; 0]);
    let (foreign, all) = (m.model.clone().revision(), incremental.visited());
    let main = m.model.main_graph();
    m.model.set_graph_name(main, Symbol::EMPTY);
    let changes = m.model.changes_since(&foreign);
    assert_eq!(slugs(&mut incremental, &m.model, &changes), ["graph-name-missing"]);
    assert_eq!(incremental.visited(), all);
}

/// A chain of `nodes` nodes.
fn long_chain(nodes: usize) -> Model {
    let mut m = Builder::new();
    m.inputs(["v0"]);
    for index in 0..nodes {
        m.node(&format!("v{} = Relu (v{index})", index + 1));
    }
    let last = m.value(&format!("v{nodes}"));
    let graph = m.graph();
    m.model.push_graph_output(graph, last);
    m.model.set_type(last, Some(float(Some(&[1]))));
    m.model.finish()
}

#[test]
fn everything_is_checked_after_a_check_that_was_stopped() {
    let mut model = long_chain(1000);
    let mut incremental = IncrementalCheck::new(CheckOptions::default());
    assert_eq!(slugs(&mut incremental, &model, &Changes::Everything), [""; 0]);
    let all = incremental.visited();
    incremental.set_execution(Execution::default().with_interrupt(Interrupt::when(|| true)));
    let stopped = incremental.update(&model, &Changes::Everything).into_diagnostics();
    assert_eq!(stopped.iter().map(|found| found.rule.slug).collect::<Vec<_>>(), [onnx_diag::STOPPED.slug]);
    incremental.set_execution(Execution::default());
    let before = model.revision();
    model.set_graph_name(model.main_graph(), Symbol::EMPTY);
    let changes = model.changes_since(&before);
    assert_eq!(slugs(&mut incremental, &model, &changes), ["graph-name-missing"]);
    assert_eq!(incremental.visited(), all);
}

#[test]
fn an_edit_of_a_large_model_visits_few_units() {
    let mut model = long_chain(10_000);
    let mut incremental = IncrementalCheck::new(CheckOptions::default());
    assert_eq!(slugs(&mut incremental, &model, &Changes::Everything), [""; 0]);
    assert!(incremental.visited() > 20_000);
    for at in ["v1", "v5000", "v9999"] {
        let before = model.revision();
        let user = model.consumers(value(&model, at)).next().unwrap();
        let (abs, name) = (model.new_value(Symbol::EMPTY), model.intern("named"));
        let new = NewNode::new(op::ABS).name(name);
        let new = new.inputs([value(&model, at)]).outputs([abs]);
        let node = model.add_node(Position::Before(user), new).unwrap();
        model.set_input(user, 0, Some(abs));
        let found = incremental.update(&model, &model.changes_since(&before));
        // The two nodes and the value between them.
        assert_eq!((found.diagnostics(), incremental.visited()), (&[][..], 3));
        let before = model.revision();
        let with = model.node(node).input(0);
        model.replace_node(node, &[with]).unwrap();
        let found = incremental.update(&model, &model.changes_since(&before));
        assert_eq!((found.diagnostics(), incremental.visited()), (&[][..], 1));
    }
}

/// The messages of an update, which are those of a full check, shortened.
#[track_caller]
fn messages(incremental: &mut IncrementalCheck, model: &Model, changes: &Changes) -> Vec<String> {
    let found = incremental.update(model, changes).into_diagnostics();
    assert_eq!(found, check(model, &CheckOptions::default()).into_diagnostics());
    let shortened =
        |text: &str| text.replace("not a C90 identifier", "wrong").replace("not C90 identifiers", "wrong");
    found.into_iter().map(|found| shortened(&found.message)).collect()
}

#[test]
fn names_that_are_not_identifiers_are_counted_after_each_edit() {
    let mut m = Builder::new();
    m.inputs(["x"]);
    m.node("a/1 = Relu (x)");
    m.import("d", 1);
    let body = m.nested("t/1", |m| {
        m.node("p/1 = Relu (a/1)");
        m.outputs(["p/1"]);
    });
    let body = m.attribute("body", body);
    m.node_with("y = d.Frob (x)", [body]);
    m.outputs(["y"]);
    let mut model = m.model;
    let graph = model.main_graph();
    let mut incremental = IncrementalCheck::new(CheckOptions::default());
    let some = |count| vec![format!("{count} names are wrong, for example `a/1`")];
    assert_eq!(messages(&mut incremental, &model, &Changes::Everything), some(3));
    let mut after = |model: &mut Model, edit: &mut dyn FnMut(&mut Model)| {
        let before = model.revision();
        edit(model);
        messages(&mut incremental, model, &model.changes_since(&before))
    };
    let (first, second) = (maker(&model, "a/1"), maker(&model, "y"));
    let set_name = |node, name: &'static str| {
        move |model: &mut Model| {
            let name = model.intern(name);
            model.set_node_name(node, name);
        }
    };
    assert_eq!(after(&mut model, &mut set_name(second, "n/1")), some(4));
    // A name that two entities have counts once.
    assert_eq!(after(&mut model, &mut set_name(first, "a/1")), some(4));
    assert_eq!(after(&mut model, &mut set_name(second, "n")), some(3));
    // A detached graph is not part of the model.
    let (mut detached, body) = (None, model.intern("body"));
    let taken = after(&mut model, &mut |model| detached = model.detach_graph(second, body));
    assert_eq!(taken, ["name `a/1` is wrong"]);
    let detached = detached.unwrap();
    let moved = after(&mut model, &mut |model| model.move_node(second, Position::End(detached)).unwrap());
    assert!(moved.contains(&"name `a/1` is wrong".to_owned()), "{moved:?}");
    after(&mut model, &mut |model| model.move_node(second, Position::End(graph)).unwrap());
    let given = after(&mut model, &mut |model| {
        model.set_attribute(second, Attribute::new(body, detached)).unwrap();
    });
    assert_eq!(given, some(3));
    assert_eq!(
        after(&mut model, &mut |model| assert!(model.remove_attribute(second, body))),
        ["name `a/1` is wrong"]
    );
    after(&mut model, &mut set_name(first, "f"));
    let rename = &mut |model: &mut Model| {
        let name = model.intern("a");
        model.set_value_name(value(model, "a/1"), name);
    };
    assert_eq!(after(&mut model, rename), [""; 0]);
    assert_eq!(after(&mut model, &mut set_name(first, "1")), ["name `1` is wrong"]);
}

/// A model with values of known sizes, and a nested graph.
fn listed() -> Model {
    let mut m = Builder::new();
    m.inputs(["x"]);
    m.node("a = Relu (x)");
    m.node("b = Relu (x)");
    m.import("d", 1);
    let body = m.nested("t", |m| {
        m.node("p = Relu (a)");
        m.outputs(["p"]);
    });
    let body = m.attribute("body", body);
    m.node_with("y = d.Frob (x)", [body]);
    m.outputs(["y"]);
    for name in ["a", "b"] {
        m.value_info(name);
        m.typed(name, Some(float(Some(&[1]))));
    }
    m.model.finish()
}

#[test]
fn dimension_variables_are_counted_after_each_edit() {
    let mut model = listed();
    let mut ty = |name| {
        let name = model.intern(name);
        Some(Type::tensor(ElemType::Float, Some(Shape::new([Dim::Var(name)]))))
    };
    let (first, second) = (ty("1st"), ty("2nd"));
    let (graph, holder, body) = (model.main_graph(), maker(&model, "y"), model.intern("body"));
    let nested = model.node(holder).nested_graphs().next().unwrap();
    let output = model.graph(nested).outputs()[0].value();
    let mut incremental = IncrementalCheck::new(CheckOptions::default());
    assert_eq!(messages(&mut incremental, &model, &Changes::Everything), [""; 0]);
    let mut after = |model: &mut Model, edit: &mut dyn FnMut(&mut Model)| {
        let before = model.revision();
        edit(model);
        messages(&mut incremental, model, &model.changes_since(&before))
    };
    let one = |name| vec![format!("dimension variable `{name}` is wrong")];
    let both = vec!["2 dimension variables are wrong, for example `1st`".to_owned()];
    let set = |name: &'static str, ty: &Option<Type>| {
        let ty = ty.clone();
        move |model: &mut Model| model.set_type(value(model, name), ty.clone())
    };
    assert_eq!(after(&mut model, &mut set("a", &first)), one("1st"));
    let rename = &mut |model: &mut Model| {
        let name = model.intern("n");
        model.set_node_name(holder, name);
    };
    assert_eq!(after(&mut model, rename), one("1st"));
    assert_eq!(after(&mut model, &mut set("b", &second)), both);
    assert_eq!(after(&mut model, &mut set("b", &first)), one("1st"));
    // The variables of a nested graph count while it is part of the model.
    assert_eq!(after(&mut model, &mut |model| model.set_type(output, second.clone())), both);
    let mut detached = None;
    let detach = &mut |model: &mut Model| detached = model.detach_graph(holder, body);
    assert_eq!(after(&mut model, detach), one("1st"));
    let attach = &mut |model: &mut Model| {
        model.set_attribute(holder, Attribute::new(body, nested)).unwrap();
    };
    assert_eq!(after(&mut model, attach), both);
    assert_eq!(detached, Some(nested));
    // A type counts while its value is listed, and an erased value is not listed.
    let unlist = &mut |model: &mut Model| {
        let a = value(model, "a");
        model.retain_value_info(graph, |entry| entry.value() != a);
    };
    assert_eq!(after(&mut model, unlist), both);
    let erase = &mut |model: &mut Model| model.erase_node(maker(model, "b")).unwrap();
    assert_eq!(after(&mut model, erase), one("2nd"));
}
