//! Inference: it goes through with any model, and says the same every time.

use onnx_ir::{Model, ValueId};
use onnx_shape_infer::{InferOptions, Inference, MergePolicy, infer as run, infer_function};
use onnx_types::{Dim, Symbol, TypeKind};

use super::{equal, findings, model_of, sound, write};

/// Any model is inferred, in all ways; the answer is the same every time, can be asked about, and can be written.
///
/// # Errors
///
/// What does not hold.
pub fn infer(bytes: &[u8]) -> Result<(), String> {
    let Some(mut model) = model_of(bytes) else { return Ok(()) };
    let second = model.clone();
    let mut inference = run(&model, &InferOptions::default());
    let again = run(&second, &InferOptions::default());
    equal(
        &findings(inference.findings())?,
        &findings(again.findings())?,
        "inferring twice gives different results",
    )?;
    let values = values(&model);
    for &value in &values {
        let differs = || format!("inferring twice gives {value} different types");
        equal(&inference.ty(value), &again.ty(value), &differs())?;
    }
    questions(&model, &inference, &values);
    let mut others = InferOptions::default();
    (others.check_types, others.declared, others.defaults_are_constant) = (true, false, true);
    findings(run(&second, &others).findings())?;
    others.values = false;
    findings(run(&second, &others).findings())?;
    if let Some(&function) = model.functions().first() {
        findings(infer_function(&second, function, &[], &[], &InferOptions::default()).findings())?;
    }
    for policy in [MergePolicy::Keep, MergePolicy::Override] {
        // A contradiction is not a failure here.
        let _ = inference.apply(&mut model, policy);
        sound(&model, "after applying", true)?;
    }
    write(&model).map(drop)
}

/// The outputs of all nodes.
fn values(model: &Model) -> Vec<ValueId> {
    let graphs: Vec<_> = model.all_graphs().collect();
    let nodes = graphs.into_iter().flat_map(|graph| model.nodes(graph));
    nodes.flat_map(|node| model.node(node).outputs().iter().flatten().copied()).collect()
}

/// The dimension variables of the main graph's inputs.
fn variables(model: &Model) -> Vec<Symbol> {
    let inputs = model.graph(model.main_graph()).inputs().iter();
    let shapes = inputs.filter_map(|&input| match &model.ty(input)?.kind {
        TypeKind::Tensor(tensor) => tensor.shape.as_ref(),
        _ => None,
    });
    let dims = shapes.flat_map(|shape| shape.dims().iter().take(16));
    let mut symbols: Vec<Symbol> =
        dims.filter_map(|dim| if let Dim::Var(symbol) = dim { Some(*symbol) } else { None }).collect();
    symbols.truncate(64);
    symbols
}

/// Asks what can be asked; the answers are judged elsewhere.
fn questions(model: &Model, inference: &Inference, values: &[ValueId]) {
    let mut shapes = inference.shapes(model);
    for size in [0, 1, 7, i64::MAX] {
        let given: Vec<(Symbol, i64)> = variables(model).into_iter().map(|name| (name, size)).collect();
        let sizes = shapes.evaluate(&given);
        for &value in values {
            std::hint::black_box(sizes.shape(value));
        }
    }
    for &value in values.iter().take(20) {
        for gap in inference.gaps(value).into_iter().take(4) {
            std::hint::black_box(inference.why(model, value, gap).is_some());
        }
    }
    let inputs: Vec<ValueId> = model.graph(model.main_graph()).inputs().to_vec();
    let given: Vec<(ValueId, &[i64])> = inputs.iter().map(|&input| (input, [1, 2, 3].as_slice())).collect();
    std::hint::black_box(inference.solve(model, &given));
}
