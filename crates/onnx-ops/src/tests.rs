//! Every operator at every version is read and made, and the lists about attributes are complete.

use onnx_ir::{AttrValue, Attribute, Model, NewNode, NodeId, OpsetImport, Position, ValueId};
use onnx_schema::{AttrKind, Schema, attr, domain, op};
use onnx_types::Symbol;
use onnx_types::tensor::Tensor;

use crate::{
    Absence, Call, MakeError, Mismatch, Operator, Param, absence, derived_default, is_commutative, kind, ops,
};

mod builders;
mod defaults;

fn model(version: i64) -> Model {
    let mut model = Model::new();
    model.info_mut().ir_version = 10;
    model.info_mut().opset_imports.push(OpsetImport::new(domain::ONNX, version));
    model
}

fn input(model: &mut Model, name: &str) -> ValueId {
    let graph = model.main_graph();
    model.add_graph_input(graph, name, None)
}

fn producer(model: &Model, value: ValueId) -> NodeId {
    model.value(value).producer().expect("a node")
}

#[test]
fn absence_is_classified_for_every_attribute() {
    let mut derived = 0;
    for schema in onnx_schema::all() {
        for formal in schema.attributes().iter().filter(|formal| !formal.is_required) {
            let found = absence(schema.domain(), schema.op(), formal.name);
            if formal.default.is_none() {
                assert!(found.is_some(), "{schema}: `{}` is in no list", formal.text());
            }
            derived += usize::from(formal.default.is_none() && matches!(found, Some(Absence::Derived(_))));
        }
    }
    assert!(derived > 100, "{derived} attributes with a derived default");
}

/// Makes a node of an operator with two operands of rank 4 at a version, and compares a derived default.
#[track_caller]
fn check_derived(version: i64, op: Symbol, attribute: Symbol, expected: Option<&[i64]>) {
    let mut model = model(version);
    let (x, w) = (input(&mut model, "x"), input(&mut model, "w"));
    let graph = model.main_graph();
    let node = model.add_node(Position::End(graph), NewNode::new(op).inputs([x, w])).unwrap();
    let shape = |value| {
        let sizes =
            if value == x { [None, Some(3), None, None] } else { [Some(8), Some(3), Some(5), Some(7)] };
        Some(sizes.to_vec())
    };
    let call = Call::of(&model, node).unwrap();
    assert_eq!(derived_default(&call, attribute, &shape).as_deref(), expected);
}

#[test]
fn defaults_are_derived_from_the_node() {
    check_derived(13, op::TRANSPOSE, attr::PERM, Some(&[3, 2, 1, 0]));
    check_derived(13, op::CONV, attr::STRIDES, Some(&[1, 1]));
    check_derived(13, op::CONV, attr::PADS, Some(&[0, 0, 0, 0]));
    check_derived(13, op::CONV, attr::KERNEL_SHAPE, Some(&[5, 7]));
    check_derived(13, op::REDUCE_MAX, attr::AXES, Some(&[0, 1, 2, 3]));
    check_derived(15, op::SHAPE, attr::END, Some(&[4]));
    check_derived(11, op::SQUEEZE, attr::AXES, None);
}

#[test]
fn parameters_move_with_the_version() {
    for (version, is_operand) in [(11, false), (13, true), (24, true)] {
        let mut model = model(version);
        let x = input(&mut model, "x");
        let graph = model.main_graph();
        let mut build = model.build_at(Position::End(graph));
        let y = ops::squeeze(&mut build, x).axes([0, 2]).name("squeeze").output().unwrap();
        let squeeze = ops::Squeeze::of(&model, producer(&model, y)).unwrap();
        assert_eq!((squeeze.data(), squeeze.out_squeezed()), (Some(x), Some(y)));
        assert_eq!(squeeze.axes().given().as_deref(), Some(&[0_i64, 2][..]));
        assert_eq!(squeeze.call().operand(ops::Squeeze::AXES).is_some(), is_operand);
        assert_eq!(model.node_count(), 1 + usize::from(is_operand));
    }
}

#[test]
fn all_states_of_a_parameter_are_told_apart() {
    let mut model = model(13);
    let (x, axes) = (input(&mut model, "x"), input(&mut model, "axes"));
    let target = model.intern("target");
    let graph = model.main_graph();
    let mut build = model.build_at(Position::End(graph));
    let computed = ops::squeeze(&mut build, x).axes(axes).output().unwrap();
    let absent = ops::squeeze(&mut build, x).output().unwrap();
    let [softmax, given, wrong, open] =
        [(None), Some(AttrValue::Int(2)), Some(AttrValue::Float(2.0)), Some(AttrValue::Ref(target))].map(
            |value| {
                let node = build.op(op::SOFTMAX, [x]);
                let node = match value {
                    Some(value) => node.attr(attr::AXIS, value),
                    None => node,
                };
                node.output().unwrap()
            },
        );
    // `training_mode` came with version 14.
    let norm = build.op(op::BATCH_NORMALIZATION, [x; 5]).output().unwrap();
    let axes_of = |value| ops::Squeeze::of(&model, producer(&model, value)).unwrap().axes();
    assert_eq!(axes_of(computed), Param::Computed(axes));
    assert_eq!(axes_of(absent), Param::Absent);
    let view = |value| ops::Softmax::of(&model, producer(&model, value)).unwrap();
    assert_eq!(view(softmax).axis(), Param::Default(-1));
    assert_eq!(view(given).axis(), Param::Given(2));
    assert_eq!(view(wrong).axis(), Param::WrongKind(AttrKind::Float));
    assert_eq!(view(open).axis(), Param::FromCall(target));
    assert_eq!((view(wrong).axis().or(1), view(open).axis().or(1)), (None, None));
    let arguments = [Attribute::new(target, 5_i64)];
    assert_eq!(view(open).within(&arguments).axis(), Param::Given(5));
    assert_eq!(view(open).within(&[]).axis(), Param::Default(-1));
    let norm = ops::BatchNormalization::of(&model, producer(&model, norm)).unwrap();
    assert_eq!((norm.training_mode(), norm.training_mode().or(0)), (Param::Undeclared, None));
    assert_eq!(norm.training_mode().or_default(0), Some(0));
    assert_eq!(axes_of(absent).or_default([1].as_slice().into()).as_deref(), Some(&[1_i64][..]));
    assert_eq!(axes_of(computed).or_default([1].as_slice().into()), None);
    assert_eq!((view(wrong).axis().or_default(1), view(open).axis().or_default(1)), (None, None));
    assert_eq!(norm.input_mean(), Some(x));
}

#[test]
fn mismatches_have_a_reason() {
    let mut model = model(13);
    let x = input(&mut model, "x");
    let graph = model.main_graph();
    let mut build = model.build_at(Position::End(graph));
    let relu = build.op(op::RELU, [x]).output().unwrap();
    let gelu = build.op(op::GELU, [x]).output().unwrap();
    let (relu, gelu) = (producer(&model, relu), producer(&model, gelu));
    assert_eq!(ops::Gelu::try_of(&model, relu).unwrap_err(), Mismatch::OtherOperator);
    assert_eq!(ops::Gelu::try_of(&model, gelu).unwrap_err(), Mismatch::NotInVersion { version: 13 });
    assert!(ops::Relu::of(&model, relu).is_some());
    let function = model.add_function(domain::ONNX, op::RELU, Symbol::EMPTY);
    assert_eq!(ops::Relu::try_of(&model, relu).unwrap_err(), Mismatch::Shadowed(function));
    model.remove_function(function).unwrap();
    model.info_mut().opset_imports.clear();
    assert_eq!(ops::Relu::try_of(&model, relu).unwrap_err(), Mismatch::NotImported);
    model.erase_node(relu).unwrap();
    assert_eq!(ops::Relu::try_of(&model, relu).unwrap_err(), Mismatch::Gone);
}

#[test]
fn builders_refuse_what_a_version_cannot_express() {
    let mut model = model(11);
    let (x, axes) = (input(&mut model, "x"), input(&mut model, "axes"));
    let graph = model.main_graph();
    let before = (model.node_count(), model.value_count());
    let mut build = model.build_at(Position::End(graph));
    let error = ops::squeeze(&mut build, x).axes(axes).output().unwrap_err();
    assert!(matches!(error, MakeError::NotConstant { param: "axes", .. }), "{error}");
    assert_eq!(
        error.to_string(),
        "`Squeeze-11` takes `axes` as an attribute, but the value given for it is not a constant in memory"
    );
    let error = ops::reshape(&mut build, x, [2, 3]).allowzero(1).output().unwrap_err();
    assert!(matches!(error, MakeError::NoParameter { param: "allowzero", .. }), "{error}");
    let error = ops::gelu(&mut build, x).output().unwrap_err();
    assert!(matches!(error, MakeError::NotInVersion { version: 11, .. }), "{error}");
    assert_eq!((model.node_count(), model.value_count()), before, "nothing stays behind");
    // A constant operand becomes the attribute.
    let mut build = model.build_at(Position::End(graph));
    let constant = build.op(op::CONSTANT, []).attr(attr::VALUE, Tensor::vector(&[1_i64])).output().unwrap();
    let y = ops::squeeze(&mut build, x).axes(constant).output().unwrap();
    let squeeze = ops::Squeeze::of(&model, producer(&model, y)).unwrap();
    assert_eq!(squeeze.call().attr::<kind::Ints>(attr::AXES).given().as_deref(), Some(&[1_i64][..]));
}

#[test]
fn variadic_operands_and_omitted_outputs() {
    let mut model = model(20);
    let inputs = ["a", "b", "c"].map(|name| input(&mut model, name));
    let graph = model.main_graph();
    let mut build = model.build_at(Position::End(graph));
    let y = ops::concat(&mut build, inputs, -1).output().unwrap();
    let outs = ops::lstm(&mut build, y, y, y).hidden_size(4).outputs_if(&[false, true, true]).unwrap();
    let sum = ops::add(&mut build, y, y).output().unwrap();
    let concat = ops::Concat::of(&model, producer(&model, y)).unwrap();
    assert_eq!(concat.inputs().collect::<Vec<_>>(), inputs.map(Some));
    assert_eq!(concat.axis().known(), Some(-1));
    let lstm = ops::LSTM::of(&model, producer(&model, outs[1].unwrap())).map(|_| ());
    assert!(lstm.is_some() && outs[0].is_none());
    assert!(is_commutative(&Call::of(&model, producer(&model, sum)).unwrap()));
    assert!(!is_commutative(&concat.call()));
}

/// The place of each declared parameter, in every version of every operator, is where the view looks for it.
#[test]
fn attributes_are_read_at_every_version() {
    let mut read = 0;
    for schema in onnx_schema::all().iter().filter(|schema| schema.domain() == domain::ONNX) {
        for formal in schema.attributes().iter().filter(|formal| formal.kind == AttrKind::Int) {
            let mut model = model(schema.since_version());
            let graph = model.main_graph();
            let new = NewNode::new(schema.op()).attribute(Attribute::new(formal.name, 3_i64));
            let node = model.add_node(Position::End(graph), new).unwrap();
            let call = Call::of(&model, node).unwrap();
            assert_eq!(call.schema().id(), schema.id());
            assert_eq!(call.attr::<kind::Int>(formal.name), Param::Given(3), "{schema}");
            read += 1;
        }
    }
    assert!(read > 400, "{read}");
    assert_eq!(onnx_schema::all().len(), onnx_schema::all().iter().map(Schema::id).count());
}
