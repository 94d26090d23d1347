//! Inference of a part of a model: one node, or one function.

use std::rc::Rc;

use onnx_ir::{AttrValue, Attribute, FunctionId, Model, NodeId};
use onnx_types::{Symbol, Type};

use crate::engine::Engine;
use crate::options::InferOptions;
use crate::result::{Inference, cycles};

/// Infers the outputs of one node of any graph, from what the model declares about its inputs and from initializers among
/// them. Nodes before it are not visited.
///
/// # Panics
///
/// When the node is not of this model or was erased, and as [`infer`](crate::infer).
#[must_use]
pub fn infer_node(model: &Model, node: NodeId, options: &InferOptions<'_>) -> Inference {
    let mut engine = Engine::new(model, options, None);
    engine.cycles = cycles(model, options);
    engine.run_node(node);
    Inference::from(engine).with_findings(model, options)
}

/// Infers the body of a function for given types of its inputs, in order; an input without a type is absent. Attributes
/// that are not given have the function's defaults.
///
/// The types of the outputs are those of the outputs of the function's body:
///
/// ```
/// use onnx_shape_infer::{InferOptions, infer_function};
/// use onnx_text::{ParseOptions, parse_model};
/// use onnx_types::{ElemType, Shape, Type};
///
/// let text = r#"<ir_version: 10, opset_import: ["": 20, "my": 1]> g () => () {}
///     <domain: "my", opset_import: ["": 20]> F (a) => (b) { b = Relu (a) }"#;
/// let model = parse_model(text, &ParseOptions::default())?;
/// let function = model.functions()[0];
/// let given = Type::tensor(ElemType::Float, Some(Shape::known(&[2, 3])));
/// let inference = infer_function(&model, function, &[Some(given)], &[], &InferOptions::default());
/// let output = model.graph(model.function(function).body()).outputs()[0].value();
/// assert_eq!(inference.shape(output), Some(&[2.into(), 3.into()][..]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Panics
///
/// When the function is not of this model or was removed, and as [`infer`](crate::infer).
#[must_use]
pub fn infer_function(
    model: &Model,
    function: FunctionId,
    inputs: &[Option<Type>],
    attributes: &[Attribute],
    options: &InferOptions<'_>,
) -> Inference {
    let mut engine = Engine::new(model, options, None);
    engine.cycles = cycles(model, options);
    let defaults = &model.function(function).defaults;
    let given = |name: Symbol| attributes.iter().any(|attribute| attribute.name() == name);
    let args: Rc<[(Symbol, &Attribute)]> = attributes
        .iter()
        .filter(|attribute| !matches!(attribute.value(), AttrValue::Ref(_)))
        .chain(defaults.iter().filter(|default| !given(default.name())))
        .map(|attribute| (attribute.name(), attribute))
        .collect();
    engine.run_function(function, inputs, Some(args));
    Inference::from(engine).with_findings(model, options)
}
