//! The methods `…_or_default`.

use std::borrow::Cow;

use onnx_ir::{Attribute, NewNode, NodeId, Position};
use onnx_schema::{attr, domain, op};
use onnx_types::Symbol;

use super::{Model, input, model};
use crate::{Absence, Operator, absence, ops};

/// A model with one node of an operator with two operands and these attributes.
fn one(version: i64, op: Symbol, attributes: impl IntoIterator<Item = Attribute>) -> (Model, NodeId) {
    let mut model = model(version);
    let (x, w) = (input(&mut model, "x"), input(&mut model, "w"));
    let graph = model.main_graph();
    let new = attributes.into_iter().fold(NewNode::new(op).inputs([x, w]), NewNode::attribute);
    let node = model.add_node(Position::End(graph), new).unwrap();
    (model, node)
}

fn list(values: &[i64]) -> Option<Cow<'_, [i64]>> {
    Some(Cow::Borrowed(values))
}

#[test]
fn every_derived_default_has_a_method() {
    const SOURCE: &str = include_str!("../generated/onnx.rs");
    let views: Vec<(&str, &str)> = SOURCE
        .split("impl<'m> View<'m, ")
        .skip(1)
        .filter_map(|view| view.split_once("> {"))
        .map(|(name, rest)| (name, rest.split("\n}\n").next().unwrap_or_default()))
        .collect();
    let mut count = 0;
    for schema in onnx_schema::all().iter().filter(|schema| schema.domain() == domain::ONNX) {
        for formal in
            schema.attributes().iter().filter(|formal| formal.default.is_none() && !formal.is_required)
        {
            let found = absence(schema.domain(), schema.op(), formal.name);
            let method = format!("pub fn {}_or_default(", formal.text());
            let view = views.iter().find(|(name, _)| *name == schema.name()).unwrap().1;
            let is_derived = matches!(found, Some(Absence::Derived(_)));
            assert_eq!(view.contains(&method), is_derived, "{schema}: {}", formal.text());
            count += usize::from(is_derived);
        }
    }
    assert!(count > 100, "{count}");
}

#[test]
fn windows_have_the_defaults_of_their_rank() {
    let (model, node) = one(13, op::CONV, []);
    let conv = ops::Conv::of(&model, node).unwrap();
    assert_eq!(conv.strides_or_default(4), list(&[1, 1]));
    assert_eq!(conv.dilations_or_default(3), list(&[1]));
    assert_eq!(conv.pads_or_default(5), list(&[0; 6]));
    assert_eq!(conv.kernel_shape_or_default(&[8, 3, 5, 7]), list(&[5, 7]));
    assert_eq!(conv.strides_or_default(1), None);
    let given = Attribute::new(attr::STRIDES, vec![2_i64, 3]);
    let (model, node) = one(13, op::CONV, [given]);
    assert_eq!(ops::Conv::of(&model, node).unwrap().strides_or_default(4), list(&[2, 3]));
    // Version 8 does not declare `dilations`, and has none.
    let (model, node) = one(8, op::MAX_POOL, []);
    assert_eq!(ops::MaxPool::of(&model, node).unwrap().dilations_or_default(4), list(&[1, 1]));
}

#[test]
fn pads_that_another_attribute_determines_are_not_known() {
    let auto = |text: &str| Attribute::new(attr::AUTO_PAD, text);
    for (attributes, expected) in [
        (vec![auto("NOTSET")], list(&[0, 0, 0, 0])),
        (vec![auto("VALID")], list(&[0, 0, 0, 0])),
        (vec![auto("SAME_UPPER")], None),
        (vec![auto("SAME_LOWER")], None),
        (vec![auto("NOTSET"), Attribute::new(attr::PADS, vec![1_i64, 2, 3, 4])], list(&[1, 2, 3, 4])),
    ] {
        let (model, node) = one(13, op::CONV, attributes);
        assert_eq!(ops::Conv::of(&model, node).unwrap().pads_or_default(4), expected);
    }
    let shape = Attribute::new(attr::OUTPUT_SHAPE, vec![9_i64, 9]);
    let (model, node) = one(13, op::CONV_TRANSPOSE, [shape]);
    let view = ops::ConvTranspose::of(&model, node).unwrap();
    assert_eq!((view.pads_or_default(4), view.output_padding_or_default(4)), (None, list(&[0, 0])));
}

#[test]
fn axes_have_the_defaults_of_their_operator() {
    let (model, node) = one(13, op::TRANSPOSE, []);
    assert_eq!(ops::Transpose::of(&model, node).unwrap().perm_or_default(3), list(&[2, 1, 0]));
    let (model, node) = one(13, op::SHAPE, []);
    assert_eq!(ops::Shape::of(&model, node).unwrap().end_or_default(3), Some(3));
    // The second operand of version 18 is the list of axes, which is not constant here.
    for (version, expected) in [(13, list(&[0, 1, 2])), (18, None)] {
        let (model, node) = one(version, op::REDUCE_MAX, []);
        assert_eq!(ops::ReduceMax::of(&model, node).unwrap().axes_or_default(3), expected);
    }
    // Without axes, nothing is reduced if the attribute says so.
    for (noop, expected) in [(0_i64, list(&[0, 1, 2])), (1, list(&[]))] {
        let mut model = super::model(18);
        let x = input(&mut model, "x");
        let graph = model.main_graph();
        let new = NewNode::new(op::REDUCE_MAX).inputs([x]);
        let new = new.attribute(Attribute::new(attr::NOOP_WITH_EMPTY_AXES, noop));
        let node = model.add_node(Position::End(graph), new).unwrap();
        assert_eq!(ops::ReduceMax::of(&model, node).unwrap().axes_or_default(3), expected);
    }
    let empty = Attribute::new(attr::AXES, Vec::<i64>::new());
    let (model, node) = one(13, op::REDUCE_MAX, [empty]);
    assert_eq!(ops::ReduceMax::of(&model, node).unwrap().axes_or_default(2), list(&[0, 1]));
    let starts = [attr::STARTS, attr::ENDS].map(|name| Attribute::new(name, vec![0_i64, 1]));
    let (model, node) = one(1, op::SLICE, starts);
    assert_eq!(ops::Slice::of(&model, node).unwrap().axes_or_default(), list(&[0, 1]));
}
