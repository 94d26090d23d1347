//! Shapes of inputs that a test gives, against declarations and guards.

use onnx_diag::Sink;
use onnx_ir::{Model, ValueId};
use onnx_shape_infer::{Inference, parse_shapes};

/// What contradicts the shapes of a text such as `x=2x128,y=3`.
///
/// # Errors
///
/// With a message if the text is malformed or names an input that the model does not have.
pub fn check(model: &Model, inference: &Inference, text: &str) -> Result<Sink, String> {
    let given: Vec<(ValueId, Vec<i64>)> = parse_shapes(text)?
        .into_iter()
        .map(|(name, sizes)| {
            let mut inputs = model.graph(model.main_graph()).inputs().iter().copied();
            let input = inputs.find(|&input| model.str(model.value(input).name()) == name);
            Ok((input.ok_or_else(|| format!("no input `{name}`"))?, sizes))
        })
        .collect::<Result<_, String>>()?;
    let given: Vec<(ValueId, &[i64])> =
        given.iter().map(|(input, sizes)| (*input, sizes.as_slice())).collect();
    Ok(inference.check_shapes(model, &given))
}
