//! Generated models: whatever the bytes, the model is valid, and everything that reads models agrees about it.

use onnx_check::{CheckOptions, check};
use onnx_codec::{DecodeOptions, decode};
use onnx_diag::Severity;
use onnx_ir::{Model, ValueId};
use onnx_shape_infer::{InferOptions, Inference, Ty, infer as run};
use onnx_text::{ParseOptions, PrintOptions, parse_model, print_model};
use onnx_types::expr::ExprTable;
use onnx_types::{Dim, Shape, Symbol, Type, TypeKind};

use super::{bodies, decode as files, infer, sound, text, write};
use crate::reduce::reduce;

/// The bytes choose a valid model, which everything agrees about; it stays sound when it is edited, and what an edit
/// tells inference leads where a new run leads.
///
/// # Errors
///
/// What does not hold.
pub fn smith(bytes: &[u8]) -> Result<(), String> {
    let nodes = 1 + bytes.first().map_or(0, |&first| usize::from(first) % 12);
    let model = onnx_smith::generate(bytes, &onnx_smith::SmithOptions::default().with_nodes(nodes)).model;
    fault(&model).map_err(|(property, fault)| format!("{property}: {fault}"))?;
    let file = write(&model)?.ok_or("it cannot be written")?;
    infer::infer(&file)?;
    files::decode_encode(&file)?;
    text::text_parse(&file)?;
    bodies::bodies(&model)?;
    refines(&model)?;
    reduces(&model)
}

/// What is wrong with a model that should be valid: the property that does not hold, in one word, and how.
///
/// # Errors
///
/// When the arenas do not fit together, the checker or inference finds something, or the model does not come back from
/// bytes or from text.
pub fn fault(model: &Model) -> Result<(), (&'static str, String)> {
    sound(model, "as it was made", true).map_err(|fault| ("verify", fault))?;
    let options = CheckOptions::default().with_elements(true);
    let findings = check(model, &options);
    let errors = findings.diagnostics().iter().find(|found| found.severity == Severity::Error);
    if let Some(found) = errors {
        return Err(("check", format!("{}: {}", found.locus, found.message)));
    }
    let mut options = InferOptions::default();
    options.check_types = true;
    let inference = run(model, &options);
    if let Some(found) = inference.findings().diagnostics().first() {
        return Err(("infer", format!("{}: {}", found.locus, found.message)));
    }
    round_trips(model)
}

fn bytes_of(model: &Model) -> Result<bytes::Bytes, (&'static str, String)> {
    write(model)
        .and_then(|file| file.ok_or_else(|| "it is too large".to_owned()))
        .map_err(|error| ("encode", error))
}

fn round_trips(model: &Model) -> Result<(), (&'static str, String)> {
    let bytes = bytes_of(model)?;
    let read = decode(bytes.clone(), &DecodeOptions::default());
    let read = read.map_err(|error| ("decode", error.to_string()))?;
    if let Some(found) = read.findings.diagnostics().first() {
        return Err(("decode", format!("{}: {}", found.locus, found.message)));
    }
    if bytes_of(&read.model)? != bytes {
        return Err(("bytes", "other bytes come back".to_owned()));
    }
    let printed = print_model(&read.model, &PrintOptions::full());
    let text = printed.map_err(|error| ("print", error.to_string()))?.text;
    let parsed = parse_model(&text, &ParseOptions::default());
    let parsed = parsed.map_err(|error| {
        let found = error.findings().diagnostics().first();
        ("parse", found.map_or_else(String::new, |found| format!("{}: {}", found.locus, found.message)))
    })?;
    if bytes_of(&parsed)? != bytes {
        return Err(("text", "other bytes come back from the text".to_owned()));
    }
    Ok(())
}

/// The sizes that a dimension variable becomes.
const SIZE: i64 = 6;

/// Makes the dimension variables of the inputs numbers, and infers what that changes: it is what a new run finds, and
/// nothing that was known is lost.
fn refines(model: &Model) -> Result<(), String> {
    let mut model = model.clone();
    let revision = model.revision();
    let before = run(&model, &InferOptions::default());
    let exprs = before.exprs().clone();
    let known: Vec<(ValueId, Ty)> = made(&model).into_iter().map(|value| (value, before.ty(value))).collect();
    for input in model.graph(model.main_graph()).inputs().to_vec() {
        let Some(mut ty) = model.ty(input).cloned() else { continue };
        if give_sizes(&mut ty) {
            model.set_type(input, Some(ty));
        }
    }
    let changes = model.changes_since(&revision);
    let after = before.update(&model, &InferOptions::default(), &changes);
    let scratch = run(&model, &InferOptions::default());
    // With numbers for the variables, contradictions may come about, which say nothing about what comes after.
    if !after.findings().is_empty() || !scratch.findings().is_empty() {
        return Ok(());
    }
    for (value, ty) in known {
        let name = || model.str(model.value(value).name()).to_owned();
        if !agree(&after, &scratch, value) {
            return Err(format!(
                "an update gives `{}` {:?}, a new run {:?}",
                name(),
                after.ty(value),
                scratch.ty(value)
            ));
        }
        if !is_kept(&model, &exprs, &ty, &after.ty(value)) {
            return Err(format!("`{}` was {ty:?} and is {:?} with sizes", name(), after.ty(value)));
        }
    }
    Ok(())
}

/// Replaces the dimension variables in a type by numbers. Returns `true` if there are any.
fn give_sizes(ty: &mut Type) -> bool {
    match &mut ty.kind {
        TypeKind::Tensor(tensor) | TypeKind::SparseTensor(tensor) => {
            let Some(shape) = &mut tensor.shape else { return false };
            let size = |&dim: &Dim| if let Dim::Var(_) = dim { Dim::Known(SIZE) } else { dim };
            let sizes: Vec<Dim> = shape.dims().iter().map(size).collect();
            let has_any = sizes != shape.dims();
            *shape = Shape::new(sizes);
            has_any
        }
        TypeKind::Sequence(Some(inner)) | TypeKind::Optional(Some(inner)) => give_sizes(inner),
        TypeKind::Map { value: Some(inner), .. } => give_sizes(inner),
        _ => false,
    }
}

fn made(model: &Model) -> Vec<ValueId> {
    let nodes = model.nodes(model.main_graph());
    nodes.flat_map(|node| model.node(node).outputs().iter().flatten().copied()).collect()
}

/// Returns `true` if two runs agree on a value; unknown sizes have different names in each.
fn agree(left: &Inference, right: &Inference, value: ValueId) -> bool {
    match (left.shape(value), right.shape(value)) {
        (Some(ours), Some(theirs)) => {
            ours.len() == theirs.len()
                && left.elem(value) == right.elem(value)
                && ours.iter().zip(theirs).all(|(a, b)| a.known() == b.known())
        }
        (None, None) => left.elem(value) == right.elem(value),
        _ => false,
    }
}

/// Whether what was known is still known.
fn is_kept(model: &Model, exprs: &ExprTable, before: &Ty, after: &Ty) -> bool {
    let Ty::Tensor(elem, dims) = before else {
        return !matches!(before, Ty::Other(_)) || matches!(after, Ty::Other(_));
    };
    let is_elem = after.elem() == Some(*elem) || before.elem().is_none();
    let Some(dims) = dims else { return is_elem };
    let Some(found) = after.dims() else { return false };
    let variables: Vec<Symbol> =
        ["N", "M", "batch", "seq_len"].iter().filter_map(|name| model.names().get(name)).collect();
    let size = |symbol: Symbol| variables.contains(&symbol).then_some(SIZE);
    let is_same = |(&was, &is): (&Dim, &Dim)| match exprs.eval(was, &size) {
        Some(number) => is.known() == Some(number),
        None => true,
    };
    is_elem && dims.len() == found.len() && dims.iter().zip(found).all(is_same)
}

/// Maximum number of models that a reduction tries.
const MOST_ATTEMPTS: u64 = 3000;

/// Taking away what can go leaves a sound model, which has what was asked for.
fn reduces(model: &Model) -> Result<(), String> {
    let graph = model.main_graph();
    let Some(op) = model.graph(graph).last().map(|node| model.node(node).op()) else { return Ok(()) };
    let has_op = |model: &Model| {
        model.all_graphs().any(|graph| model.nodes(graph).any(|node| model.node(node).op() == op))
    };
    let small = reduce(model, MOST_ATTEMPTS, has_op);
    sound(&small, "when it was reduced", false)?;
    if !has_op(&small) || small.node_count() > model.node_count() {
        return Err("reduction lost what was asked for".to_owned());
    }
    Ok(())
}
