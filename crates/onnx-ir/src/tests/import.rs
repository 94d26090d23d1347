//! Import of parts of another model.

use onnx_schema::{attr, op};
use onnx_types::tensor::{NoData, Tensor};
use onnx_types::{Dim, ElemType, Shape, Symbol, Type};

use super::check;
use crate::{
    AttrKind, Attribute, EditError, FunctionId, GraphId, Importer, Model, NewNode, OpsetImport, Position,
    ValueId,
};

fn append(model: &mut Model, graph: GraphId, node: NewNode) -> ValueId {
    let output = model.new_value_in(graph, Symbol::EMPTY);
    model.add_node(Position::End(graph), node.outputs([output])).unwrap();
    output
}

/// `y = If (c) <then = { t = Add (x, w) }>` with a weight `w` of the main graph, and names that the other model does not
/// have under the same symbols.
fn conditional() -> (Model, [ValueId; 3]) {
    let mut model = Model::new();
    model.info_mut().opset_imports.push(OpsetImport::new(Symbol::EMPTY, 18));
    let graph = model.main_graph();
    let (n, c) = (model.intern("N"), Type::tensor(ElemType::Bool, None));
    let (exprs, _) = model.exprs_mut();
    let twice = exprs.mul(Dim::Var(n), Dim::Known(2));
    let shape = Shape::new([Dim::Var(n), twice]);
    let c = model.add_graph_input(graph, "c", c);
    let x = model.add_graph_input(graph, "x", Type::tensor(ElemType::Float, Some(shape)));
    let name = model.intern("w");
    let w = model.add_initializer(graph, name, Tensor::vector(&[1.0_f32]));
    let branch = model.new_graph(Symbol::EMPTY);
    let sum = append(&mut model, branch, NewNode::new(op::ADD).inputs([x, w]));
    model.push_graph_output(branch, sum);
    let node = NewNode::new(op::IF).inputs([c]).attribute(Attribute::new(attr::THEN_BRANCH, branch));
    let y = append(&mut model, graph, node);
    model.push_graph_output(graph, y);
    (model, [c, x, y])
}

fn receiving() -> (Model, ValueId, ValueId) {
    let mut model = Model::new();
    // Other symbols for the same names.
    ["other", "c", "M", "x"].iter().for_each(|name| {
        model.intern(name);
    });
    model.info_mut().opset_imports.push(OpsetImport::new(Symbol::EMPTY, 18));
    let graph = model.main_graph();
    let a = model.add_graph_input(graph, "a", Type::tensor(ElemType::Bool, None));
    let b = model.add_graph_input(graph, "b", Type::tensor(ElemType::Float, None));
    (model, a, b)
}

/// A receiving model, and an importer that maps the operands of [`conditional`] to its inputs; also the second input.
fn importing(from: &Model, [c, x, _]: [ValueId; 3]) -> (Model, Importer<'_>, ValueId) {
    let (into, a, b) = receiving();
    let mut importer = Importer::new(from);
    importer.map(c, Some(a));
    importer.map(x, Some(b));
    (into, importer, b)
}

#[test]
fn nodes_with_nested_graphs_are_imported() {
    let (from, operands) = conditional();
    let y = operands[2];
    let (mut into, mut importer, b) = importing(&from, operands);
    let graph = into.main_graph();
    let nodes = importer.nodes(&mut into, from.main_graph(), Position::End(graph)).unwrap();
    check(&into);
    assert_eq!(nodes.len(), 1);
    let y = importer.get(y).unwrap();
    assert_eq!(into.node(nodes[0]).output(0), Some(y));
    let branch = into.node(nodes[0]).nested_graphs().next().unwrap();
    let add = into.node(into.graph(branch).first().unwrap());
    assert_eq!(add.input(0), Some(b));
    let w = add.input(1).unwrap();
    assert_eq!(into.str(into.value(w).name()), "w");
    assert!(into.constant_tensor(w).unwrap().same_meaning(&Tensor::vector(&[1.0_f32]), &NoData));
}

#[test]
fn a_graph_is_imported_with_its_types() {
    let (from, [_, x, _]) = conditional();
    let (mut into, ..) = receiving();
    let mut importer = Importer::new(&from);
    let copy = importer.graph(&mut into, from.main_graph()).unwrap();
    check(&into);
    assert_eq!(into.graph(copy).inputs().len(), 2);
    let x = importer.get(x).unwrap();
    let dims = into.value(x).ty().unwrap().shape().unwrap().dims().to_vec();
    let text = |dim: Dim| into.exprs().display(dim, into.names()).to_string();
    assert_eq!(dims.into_iter().map(text).collect::<Vec<_>>(), ["N", "2*N"]);
}

#[test]
fn what_is_not_mapped_is_an_error_and_leaves_nothing_behind() {
    let (from, [c, x, _]) = conditional();
    let (mut into, a, _) = receiving();
    let graph = into.main_graph();
    let before = (into.node_count(), into.value_count(), into.graph_count());
    let mut importer = Importer::new(&from);
    importer.map(c, Some(a));
    let result = importer.nodes(&mut into, from.main_graph(), Position::End(graph));
    assert_eq!(result, Err(EditError::NotMapped { value: x }));
    check(&into);
    assert_eq!((into.node_count(), into.value_count(), into.graph_count()), before);
}

#[test]
fn a_function_that_cannot_be_imported_leaves_nothing_behind() {
    let (mut from, function) = with_function(1.0);
    let body = from.function(function).body();
    // Nested in the body, so that values of the body are made before the import fails.
    let outside = from.add_graph_input(from.main_graph(), "outside", None);
    let branch = from.new_graph_in(body, Symbol::EMPTY);
    let y = append(&mut from, branch, NewNode::new(op::RELU).inputs([outside]));
    from.push_graph_output(branch, y);
    let node = NewNode::new(op::IF).attribute(Attribute::new(attr::THEN_BRANCH, branch));
    append(&mut from, body, node);
    let (mut into, ..) = receiving();
    let before = (into.node_count(), into.value_count(), into.graph_count(), into.functions().len());
    let result = Importer::new(&from).function(&mut into, function);
    assert_eq!(result, Err(EditError::NotMapped { value: outside }));
    check(&into);
    let after = (into.node_count(), into.value_count(), into.graph_count(), into.functions().len());
    assert_eq!(after, before);
}

#[test]
fn a_node_is_imported_alone() {
    let (from, operands) = conditional();
    let y = operands[2];
    let (mut into, mut importer, b) = importing(&from, operands);
    let graph = into.main_graph();
    let node = from.value(y).producer().unwrap();
    // The weight is not part of the node.
    let w = from.initializers(from.main_graph()).next().unwrap();
    let result = importer.node(&mut into, node, Position::End(graph));
    assert_eq!(result, Err(EditError::NotMapped { value: w }));
    check(&into);
    importer.map(w, Some(b));
    let copy = importer.node(&mut into, node, Position::End(graph)).unwrap();
    check(&into);
    assert_eq!(importer.get(y), into.node(copy).output(0));
    let branch = into.node(copy).nested_graphs().next().unwrap();
    let add = into.node(into.graph(branch).first().unwrap());
    assert_eq!(add.inputs().collect::<Vec<_>>(), [Some(b), Some(b)]);
}

#[test]
fn anonymous_copies_have_no_names_but_those_of_operators() {
    let (mut from, [_, x, y]) = conditional();
    let node = from.value(y).producer().unwrap();
    let (name, doc) = (from.intern("the conditional"), from.intern("documented"));
    from.set_node_name(node, name);
    from.node_extras_mut(node).doc = doc;
    from.graph_mut(from.main_graph()).doc = doc;
    let mut into = Model::new();
    let mut importer = Importer::anonymous(&from);
    let copy = importer.graph(&mut into, from.main_graph()).unwrap();
    check(&into);
    let str = |symbol| into.str(symbol);
    assert_eq!(str(into.graph(copy).name()), "g0");
    assert_eq!(str(into.value(importer.get(x).unwrap()).name()), "v2");
    assert!(
        into.ty(importer.get(x).unwrap()).unwrap().shape().unwrap().dims().iter().all(|dim| dim.is_unknown())
    );
    let nodes: Vec<_> = into.nodes(copy).map(|node| into.node(node)).collect();
    assert_eq!(nodes.len(), 1);
    assert_eq!((str(nodes[0].op()), str(nodes[0].name()), nodes[0].extras().is_none()), ("If", "", true));
    assert!(into.graph(copy).doc.is_empty());
    assert!(
        ["the conditional", "documented", "x", "w", "c", "N"]
            .iter()
            .all(|name| into.names().get(name).is_none())
    );
}

#[test]
fn operands_can_be_omitted() {
    let mut from = Model::new();
    let graph = from.main_graph();
    let [x, low] = ["x", "low"].map(|name| from.add_graph_input(graph, name, None));
    append(&mut from, graph, NewNode::new(op::CLIP).inputs([x, low]));
    let (mut into, _, b) = receiving();
    let mut importer = Importer::new(&from);
    importer.map(x, Some(b));
    importer.map(low, None);
    let end = Position::End(into.main_graph());
    let nodes = importer.nodes(&mut into, graph, end).unwrap();
    check(&into);
    let inputs: Vec<_> = into.node(nodes[0]).inputs().collect();
    assert_eq!(inputs, [Some(b), None]);
}

/// A function `d.F` that computes `Elu` with a reference to its attribute, whose default is this.
fn with_function(alpha: f32) -> (Model, FunctionId) {
    let mut model = Model::new();
    let (domain, name) = (model.intern("d"), model.intern("F"));
    let function = model.add_function(domain, name, Symbol::EMPTY);
    model.function_mut(function).opset_imports.push(OpsetImport::new(Symbol::EMPTY, 18));
    model.push_function_default(function, Attribute::new(attr::ALPHA, alpha)).unwrap();
    let body = model.function(function).body();
    let x = model.add_graph_input(body, "x", None);
    let node = NewNode::new(op::ELU).inputs([x]);
    let node = node.attribute(Attribute::reference(attr::ALPHA, attr::ALPHA, AttrKind::Float));
    let y = append(&mut model, body, node);
    model.push_graph_output(body, y);
    (model, function)
}

#[test]
fn functions_are_imported_once() {
    let (from, function) = with_function(1.0);
    let (mut into, ..) = receiving();
    let copy = Importer::new(&from).function(&mut into, function).unwrap();
    check(&into);
    let record = into.function(copy);
    assert_eq!((into.str(record.domain()), into.str(record.name())), ("d", "F"));
    assert_eq!(record.defaults[0].as_float(), Some(1.0));
    // Again, from another model: the same function.
    let (same, function) = with_function(1.0);
    assert_eq!(Importer::new(&same).function(&mut into, function), Ok(copy));
    let (other, function) = with_function(2.0);
    assert_eq!(Importer::new(&other).function(&mut into, function), Err(EditError::FunctionExists));
    check(&into);
    assert_eq!(into.functions().len(), 1);
    assert_eq!(into.erase_unused_functions(), 1);
    check(&into);
}

#[test]
fn what_values_need_is_imported_as_a_model() {
    let (mut from, [c, x, y]) = conditional();
    let graph = from.main_graph();
    let (domain, name) = (from.intern("my"), from.intern("F"));
    let function = from.add_function(domain, name, Symbol::EMPTY);
    let body = from.function(function).body();
    let inner = from.add_graph_input(body, "p", None);
    let result = append(&mut from, body, NewNode::new(op::RELU).inputs([inner]));
    from.push_graph_output(body, result);
    from.function_mut(function).opset_imports.push(OpsetImport::new(Symbol::EMPTY, 18));
    from.info_mut().opset_imports.push(OpsetImport::new(domain, 1));
    let z = append(&mut from, graph, NewNode { domain, ..NewNode::new(name) }.inputs([y]));
    append(&mut from, graph, NewNode::new(op::ABS).inputs([z]));

    let mut into = Model::new();
    let main = into.main_graph();
    let mut importer = Importer::new(&from);
    importer.versions(&mut into);
    // `x` is not an input of the part yet.
    let missing = importer.values(&mut into, &[z], Position::End(main));
    assert!(matches!(missing, Err(EditError::NotMapped { value }) if value == c || value == x));
    for input in [c, x] {
        importer.input(&mut into, input, main).unwrap();
    }
    let nodes = importer.values(&mut into, &[z], Position::End(main)).unwrap();
    let output = importer.get(z).unwrap();
    into.push_graph_output(main, output);
    check(&into);
    into.verify_sorted().unwrap();
    assert_eq!((nodes.len(), into.functions().len(), into.initializers(main).count()), (2, 1, 1));
    assert_eq!(into.info().opset_imports.len(), 2);
    let input = into.graph(main).inputs()[1];
    let shape = into.ty(input).and_then(|ty| ty.shape()).unwrap().dims().to_vec();
    let dims: Vec<String> =
        shape.into_iter().map(|dim| into.exprs().display(dim, into.names()).to_string()).collect();
    assert_eq!((into.str(into.value(input).name()), dims.len(), dims[0].as_str()), ("x", 2, "N"));
    // The result of a node becomes an input where the part begins.
    let mut last = Model::new();
    let main = last.main_graph();
    let mut importer = Importer::new(&from);
    importer.input(&mut last, y, main).unwrap();
    let nodes = importer.values(&mut last, &[z], Position::End(main)).unwrap();
    check(&last);
    assert_eq!((nodes.len(), last.initializers(main).count()), (1, 0));
}
