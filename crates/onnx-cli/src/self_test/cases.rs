//! One case: what this program answers, and whether that is what was recorded.

use std::fmt::Display;

use bytes::Bytes;
use onnx_check::{CheckOptions, check};
use onnx_codec::{DecodeOptions, Decoded, EncodeOptions, decode, encode};
use onnx_diag::{Diagnostic, Severity};
use onnx_diff::{DiffOptions, diff};
use onnx_eval::compare::{Tolerances, compare_values_within};
use onnx_eval::{EvalOptions, Evaluator};
use onnx_ir::{GraphId, Model, ValueId};
use onnx_pass::{Exactness, Level, PassOptions, Verdict};
use onnx_rewrite::{RuleSet, simplification};
use onnx_schema::Registry;
use onnx_shape_infer::{InferOptions, MergePolicy, infer};
use onnx_text::{ParseOptions, parse_model};
use onnx_types::tensor::NoData;
use onnx_types::{Dim, ElemType, Execution, Type, TypeKind};

use super::samples::{Area, Case, Samples};
use crate::compare::difference_text;
use crate::exit::Failure;
use crate::output::shown;
use crate::run::files;

/// The tolerances with which the reference runs these tests: relative and absolute.
const TOLERANCES: (f64, f64) = (1e-3, 1e-7);

/// Returns what is not as recorded.
pub(super) fn test(case: &Case, samples: &Samples) -> Result<(), String> {
    match case.area {
        Area::Evaluator => runs(&model(case, samples)?.model, case, samples),
        Area::Checker => verdict(case, refuses(case, samples)?),
        Area::Inference => inference(case, samples),
        Area::Parser => parser(case, samples),
        Area::Simplifier => simplifier(case, samples),
    }
}

/// Whether a binary model has the same bytes after it was read and written; `None` if it cannot be read completely, which is what
/// the checker of the reference reports.
pub(super) fn round_trip(bytes: &Bytes) -> Option<Result<(), String>> {
    let decoded = decode(bytes.clone(), &DecodeOptions::default()).ok()?;
    if decoded.findings.has_errors() {
        return None;
    }
    Some(match encode(&decoded.model, &EncodeOptions::default()) {
        Ok(written) if written.clone().into_bytes() == *bytes => Ok(()),
        Ok(written) => Err(format!("{} bytes are {} other ones", bytes.len(), written.into_bytes().len())),
        Err(error) => Err(error.to_string()),
    })
}

fn text(error: impl Display) -> String {
    error.to_string()
}

fn failure(failure: Failure) -> String {
    failure.message
}

fn model(case: &Case, samples: &Samples) -> Result<Decoded, String> {
    decode(samples.file(case.model)?.clone(), &DecodeOptions::default()).map_err(text)
}

/// Compares an error, if there is one, with what was recorded.
fn verdict(case: &Case, error: Option<String>) -> Result<(), String> {
    match (case.refused, error) {
        (true, None) => Err("the reference refuses it".to_owned()),
        (false, Some(error)) => Err(format!("the reference accepts it: {error}")),
        _ => Ok(()),
    }
}

/// The first error. In what the reference accepts, errors of rules that it does not enforce do not count.
fn first_error<'d>(case: &Case, found: impl IntoIterator<Item = &'d Diagnostic>) -> Option<String> {
    let mut found = found.into_iter();
    let error =
        found.find(|found| found.severity == Severity::Error && (case.refused || !found.beyond_reference))?;
    Some(format!("{} {}: {}", error.rule.id(), error.locus, error.message))
}

fn refuses(case: &Case, samples: &Samples) -> Result<Option<String>, String> {
    let decoded = match decode(samples.file(case.model)?.clone(), &DecodeOptions::default()) {
        Ok(decoded) => decoded,
        Err(error) => return Ok(Some(error.to_string())),
    };
    let options =
        CheckOptions::default().with_opset_compatibility(!case.has("skip_opset_compatibility_check"));
    let mut found = decoded.findings.diagnostics().to_vec();
    found.extend(check(&decoded.model, &options).into_diagnostics());
    if case.has("full_check") {
        let mut options = InferOptions::default();
        options.check_types = true;
        found.extend_from_slice(infer(&decoded.model, &options).findings().diagnostics());
    }
    Ok(first_error(case, &found))
}

/// Runs a model on the recorded inputs, and compares with the recorded outputs.
fn runs(model: &Model, case: &Case, samples: &Samples) -> Result<(), String> {
    let execution = Execution::default();
    let value = |file: usize, id: ValueId| {
        files::message(samples.file(file)?, model.ty(id), &execution).map_err(failure)
    };
    let mut tolerances = Tolerances::default();
    (tolerances.rtol, tolerances.atol) = (Some(TOLERANCES.0), Some(TOLERANCES.1));
    let graph = model.graph(model.main_graph());
    let mut inputs = Vec::new();
    for (&file, &id) in case.inputs.iter().zip(graph.inputs()) {
        inputs.push(file.map(|file| value(file, id)).transpose()?);
    }
    let evaluator = Evaluator::new(model, &EvalOptions::default()).map_err(text)?;
    let outputs = evaluator.run_in_order(inputs).map_err(text)?;
    if outputs.len() != case.outputs.len() {
        return Err(format!("{} outputs instead of {}", outputs.len(), case.outputs.len()));
    }
    for ((output, file), found) in graph.outputs().iter().zip(&case.outputs).zip(&outputs) {
        let Some(file) = *file else { continue };
        let expected = value(file, output.value())?;
        let difference = compare_values_within(found, &expected, &tolerances, &execution.interrupt);
        let difference = difference.map_err(text)?;
        if !difference.agrees() {
            let name = shown(model.str(model.value(output.value()).name()));
            return Err(format!("output `{name}`: {}", difference_text(&difference)));
        }
    }
    Ok(())
}

/// Compares errors and types of values with those that the reference infers.
fn inference(case: &Case, samples: &Samples) -> Result<(), String> {
    let mut model = model(case, samples)?.model;
    let mut options = InferOptions::default();
    options.values = case.has("data_prop");
    options.check_types = case.has("check_type");
    let mut inference = infer(&model, &options);
    verdict(case, first_error(case, inference.findings().diagnostics()))?;
    let Some(result) = case.result else { return Ok(()) };
    inference.apply(&mut model, MergePolicy::Refine).map_err(text)?;
    let theirs = decode(samples.file(result)?.clone(), &DecodeOptions::default()).map_err(text)?.model;
    let mut graphs: Vec<(GraphId, GraphId)> = vec![(model.main_graph(), theirs.main_graph())];
    while let Some((graph, other)) = graphs.pop() {
        let values = |model: &Model, graph: GraphId| {
            let nodes = model.nodes(graph);
            nodes.flat_map(|node| model.node(node).outputs().to_vec()).flatten().collect::<Vec<_>>()
        };
        for (ours, expected) in values(&model, graph).into_iter().zip(values(&theirs, other)) {
            if !covers(model.ty(ours), theirs.ty(expected)) {
                let name = shown(model.str(model.value(ours).name()));
                return Err(format!("value `{name}`: the type is another one, or less is known"));
            }
        }
        let nodes: Vec<_> = model.nodes(graph).zip(theirs.nodes(other)).collect();
        for (node, other) in nodes {
            graphs.extend(model.node(node).nested_graphs().zip(theirs.node(other).nested_graphs()));
        }
    }
    Ok(())
}

/// Whether a type states everything that another one states with numbers.
fn covers(ours: Option<&Type>, theirs: Option<&Type>) -> bool {
    use TypeKind as K;
    let Some(theirs) = theirs.map(|ty| &ty.kind) else { return true };
    match (ours.map(|ty| &ty.kind), theirs) {
        (_, K::Undefined) => true,
        (Some(K::Tensor(ours)), K::Tensor(theirs))
        | (Some(K::SparseTensor(ours)), K::SparseTensor(theirs)) => {
            let same_elem = theirs.elem == ElemType::Undefined || ours.elem == theirs.elem;
            let same_shape = theirs.shape.as_ref().is_none_or(|theirs| {
                ours.shape.as_ref().is_some_and(|ours| {
                    let mut dims = ours.dims().iter().zip(theirs.dims());
                    ours.rank() == theirs.rank()
                        && dims.all(|(ours, theirs)| !matches!(theirs, Dim::Known(_)) || ours == theirs)
                })
            });
            same_elem && same_shape
        }
        (Some(K::Sequence(ours)), K::Sequence(theirs)) | (Some(K::Optional(ours)), K::Optional(theirs)) => {
            covers(ours.as_deref(), theirs.as_deref())
        }
        (Some(K::Map { key, value }), K::Map { key: their_key, value: theirs }) => {
            key == their_key && covers(value.as_deref(), theirs.as_deref())
        }
        _ => false,
    }
}

/// Compares the model of a text with that of the reference.
fn parser(case: &Case, samples: &Samples) -> Result<(), String> {
    let parsed = parse_model(samples.file(case.model)?, &ParseOptions::default());
    verdict(case, parsed.as_ref().err().map(ToString::to_string))?;
    let (Ok(model), Some(result)) = (parsed, case.result) else { return Ok(()) };
    let theirs = decode(samples.file(result)?.clone(), &DecodeOptions::default()).map_err(text)?.model;
    let options = DiffOptions::default().with_data_of_a(&NoData).with_data_of_b(&NoData);
    let found = diff(&model, &theirs, &options).map_err(text)?;
    match found.changes.first() {
        Some(change) => Err(format!("the model differs: {} {}", change.kind.name(), change.element.name())),
        None if found.unread.is_empty() => Ok(()),
        None => Err("a tensor of the model cannot be read".to_owned()),
    }
}

/// Simplifies a model that other simplifiers get wrong: the proof holds, and the result computes what was recorded.
fn simplifier(case: &Case, samples: &Samples) -> Result<(), String> {
    let mut model = model(case, samples)?.model;
    let registry = Registry::standard();
    let pipeline = simplification(RuleSet::standard().map_err(text)?, &registry).map_err(text)?;
    let options = PassOptions::default()
        .with_untested(true)
        .with_class(Exactness::Exact)
        .with_level(Level::Model)
        .with_registry(&registry);
    let done = pipeline.run(&mut model, &options);
    if let Some(ended) = done.ended {
        return Err(text(ended));
    }
    if done.model.as_ref().is_some_and(Verdict::is_refuted) {
        return Err("the simplified model computes something else".to_owned());
    }
    let refusals = done.passes.iter().flat_map(|pass| &pass.report.refusals);
    if let Some(refusal) = refusals.into_iter().find(|refusal| refusal.level > Level::Structure) {
        return Err(format!("an edit is refused: {refusal}"));
    }
    runs(&model, case, samples)
}
