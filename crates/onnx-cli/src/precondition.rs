//! The precondition of commands that depend on what nodes compute: that the nodes are valid in the imported versions.

use std::collections::HashMap;
use std::path::Path;

use onnx_check::{CheckOptions, ExternalFiles, check, invalid_nodes};
use onnx_diag::render::text;
use onnx_diag::{Caps, Policy, Rule, Severity, Sink};
use onnx_ir::{GraphId, Model, NodeId, ValueId};
use onnx_schema::{FormalType, Registry, attr};
use onnx_shape_infer::InferOptions;
use onnx_shape_infer::fault::{self, TYPE_NOT_ALLOWED};
use onnx_types::{ElemType, Type, TypeKind};

use crate::args::SeverityArgs;
use crate::exit::Failure;
use crate::input::{Loaded, is_stdin};
use crate::output::{Colours, Out};
use crate::spelling::quoted;
use crate::weights::external_locations;
use crate::{report, tensors};

/// What to do about nodes that are not valid.
pub(crate) const HELP: &str = "if the import is wrong, `onnx check --fix` finds the version for which the nodes were written, and \
                               `onnx edit --import [DOMAIN=]N` imports another one; otherwise correct the nodes";

fn options(loaded: &Loaded, registry: &Registry) -> CheckOptions {
    CheckOptions::default().with_registry(registry.clone()).with_execution(loaded.execution.clone())
}

/// A finding for each node that is not valid in the versions that are imported.
pub(crate) fn invalid(loaded: &Loaded, registry: &Registry) -> Result<Sink, Failure> {
    let mut sink = Sink::with(Policy::new(), Caps::NONE);
    let nodes = invalid_nodes(&loaded.model, &options(loaded, registry))?;
    let has_forms = nodes.is_empty();
    for invalid in nodes {
        sink.report(invalid.finding);
    }
    // Types are inferred only where one is in doubt. Those of nodes that mean nothing are not.
    if has_forms && has_doubtful_type(&loaded.model) {
        let inference =
            loaded.infer(InferOptions::default().with_registry(registry).with_check_types(true))?;
        let findings = inference.findings().diagnostics().iter();
        for found in findings.filter(|found| found.rule == &TYPE_NOT_ALLOWED) {
            sink.report(found.clone());
        }
    }
    report::select(&loaded.model, &mut sink);
    Ok(sink)
}

/// Refuses a model with nodes that are not valid, unless the command continues in spite of errors.
pub(crate) fn require_valid_nodes(
    loaded: &Loaded,
    registry: &Registry,
    severity: &SeverityArgs,
    keep_going: bool,
    out: &mut Out,
) -> Result<(), Failure> {
    if keep_going {
        return Ok(());
    }
    require_order(loaded, registry, severity, keep_going, out)?;
    let message =
        "nodes are not valid in the versions that are imported, so that nothing says what they compute";
    refuse(loaded, invalid(loaded, registry)?, severity, (message, HELP), out)
}

/// Refuses a model with nodes that need their own results, unless the command continues in spite of errors.
pub(crate) fn require_order(
    loaded: &Loaded,
    registry: &Registry,
    severity: &SeverityArgs,
    keep_going: bool,
    out: &mut Out,
) -> Result<(), Failure> {
    if keep_going {
        return Ok(());
    }
    let cycles =
        "nodes need their own results, so that the model computes nothing in whatever order they run";
    let help = "give one of the nodes another operand; `onnx check` shows all that are not in order";
    refuse(loaded, in_cycles(loaded, registry), severity, (cycles, help), out)
}

/// The findings about the order of nodes, if no order is right.
fn in_cycles(loaded: &Loaded, registry: &Registry) -> Sink {
    let mut sink = Sink::with(Policy::new(), Caps::NONE);
    let model = &loaded.model;
    let unsorted: Vec<GraphId> = model.all_graphs().filter(|&graph| !model.is_sorted(graph)).collect();
    let mut sorted = if unsorted.is_empty() { return sink } else { model.clone() };
    if unsorted.into_iter().all(|graph| sorted.sort(graph).is_ok()) {
        return sink;
    }
    let found = check(model, &options(loaded, registry)).into_diagnostics().into_iter();
    for found in found.filter(|found| found.rule.is_named("node-not-sorted")) {
        sink.report(found);
    }
    report::select(model, &mut sink);
    sink
}

/// Whether inference finds errors in the types of a model.
pub(crate) fn has_type_errors(loaded: &Loaded, registry: &Registry) -> Result<bool, Failure> {
    let options = InferOptions::default().with_registry(registry).with_check_types(true);
    Ok(loaded.infer(options)?.has_errors())
}

/// Warns of errors that inference found in a model that is changed in spite of them.
pub(crate) fn warn_of_type_errors(has_errors: bool, input: &Path, out: &Out) {
    if has_errors {
        let model = if is_stdin(input) { "MODEL".into() } else { quoted(&input.to_string_lossy()) };
        out.warning(
            "inference finds errors in the types of the model, which the result has, too",
            Some(&format!("`onnx check {model}` lists them with their repairs")),
        );
    }
}

/// Whether a rule is about declared types and shapes of results, which state nothing about the nodes.
pub(crate) fn is_about_declarations(rule: &Rule) -> bool {
    [&fault::DECLARED_DIFFERS, &fault::DECLARED_SHAPE_DIFFERS].contains(&rule)
}

/// Refuses a model with nodes whose operands contradict their operators.
pub(crate) fn require_fitting_operands(
    loaded: &Loaded,
    registry: &Registry,
    severity: &SeverityArgs,
    out: &mut Out,
) -> Result<(), Failure> {
    let inference = loaded.infer(InferOptions::default().with_registry(registry))?;
    let mut sink = Sink::with(Policy::new(), Caps::NONE);
    for found in inference.findings().diagnostics() {
        if found.severity == Severity::Error && !is_about_declarations(found.rule) {
            sink.report(found.clone());
        }
    }
    let message = "nodes fail for their operands, so that a body in their place fails, too";
    refuse(
        loaded,
        sink,
        severity,
        (message, "correct the nodes or their operands; `--keep-going` inlines them in spite of that"),
        out,
    )
}

/// Refuses an invalid model whose result of the command would be invalid, too, unless the command continues in spite of errors.
pub(crate) fn require_valid(
    loaded: &Loaded,
    registry: &Registry,
    severity: &SeverityArgs,
    keep_going: bool,
    out: &mut Out,
) -> Result<(), Failure> {
    if keep_going {
        return Ok(());
    }
    let inference = loaded.infer(InferOptions::default().with_registry(registry).with_check_types(true))?;
    let mut sink = Sink::with(Policy::new(), Caps::NONE);
    // Weights that were stripped are nowhere.
    let files = if external_locations(loaded) > 0 { external_files(loaded, false)? } else { None };
    let options = options(loaded, registry).with_external(files);
    let mut found = check(&loaded.model, &options);
    found.merge(inference.findings().clone());
    for found in found.into_diagnostics() {
        // A limit is reported with its own exit status where the elements are read.
        let is_unreadable = found.rule.is_named("external-file-unreadable");
        if is_unreadable && found.limit.is_some() {
            continue;
        }
        if is_unreadable && found.severity == Severity::Error {
            return Err(Failure::not_readable(found.message).help(
                "are the files of the weights next to the model? `--data-dir DIR` names another folder",
            ));
        }
        if found.severity == Severity::Error {
            sink.report(found);
        }
    }
    report::select(&loaded.model, &mut sink);
    let message = "the model is not valid, and the result would not be, either";
    let help = "repair what is found first: `onnx check MODEL --full` shows each finding with its repair, and \
                `onnx check MODEL --full --fix -o NEW` makes those that are certain; `--keep-going` converts in spite of it";
    refuse(loaded, sink, severity, (message, help), out)
}

/// The files of the weights of a model, if it has such and is a file; `always` also if it is not one.
pub(crate) fn external_files(loaded: &Loaded, always: bool) -> Result<Option<ExternalFiles>, Failure> {
    let mut is_needed = false;
    tensors::for_each(&loaded.model, |_, tensor| is_needed |= tensor.is_external());
    // A model from a stream has no directory in which its data could be.
    if !is_needed || (loaded.place.directory().is_none() && !always) {
        return Ok(None);
    }
    Ok(Some(ExternalFiles::new(loaded.source()?)))
}

/// Fails if there are findings, and shows them.
fn refuse(
    loaded: &Loaded,
    mut sink: Sink,
    severity: &SeverityArgs,
    (message, help): (&str, &str),
    out: &mut Out,
) -> Result<(), Failure> {
    if sink.is_empty() {
        return Ok(());
    }
    sink.limit(severity.caps().unwrap_or(Caps::DEFAULT));
    let options = text::Options::new(&loaded.name).with_style(&Colours).with_concise(true);
    out.findings(&sink, &options);
    sink.merge(loaded.findings.clone());
    out.input(loaded, sink)?;
    Err(Failure::because_of_findings(message).about(&loaded.name).help(help))
}

/// Whether the type of an operand, followed through operators that keep it, seems to be one that the imported version of an
/// operator does not take.
fn has_doubtful_type(model: &Model) -> bool {
    let mut elems = HashMap::new();
    model.all_graphs().any(|graph| {
        let versions = model.versions_of(model.scope(graph));
        model.nodes(graph).any(|node| {
            let version = versions.exact(model.node(node).domain());
            version.is_some_and(|version| is_doubtful(model, node, version, &mut elems))
        })
    })
}

/// The same for a node; notes the types of its results.
fn is_doubtful(model: &Model, node: NodeId, version: i64, elems: &mut HashMap<ValueId, ElemType>) -> bool {
    let record = model.node(node);
    let Some(schema) = onnx_schema::lookup(record.domain(), record.op(), version) else { return false };
    let mut variables: [Option<ElemType>; 16] = [None; 16];
    for (index, input) in record.inputs().enumerate() {
        let Some(formal) = schema.input_for(index) else { break };
        let Some(elem) = input.and_then(|input| elem_of(model, input).or_else(|| elems.get(&input).copied()))
        else {
            continue;
        };
        if !schema.types_of(formal).contains_tensor(elem) {
            return true;
        }
        if let FormalType::Variable(variable) = formal.ty
            && let Some(known) = variables.get_mut(usize::from(variable))
        {
            *known = Some(elem);
        }
    }
    for (index, output) in record.outputs().iter().enumerate() {
        let (Some(output), Some(formal)) = (*output, schema.output_for(index)) else { continue };
        let given =
            record.attribute(attr::TO).and_then(|to| ElemType::from_code(i32::try_from(to.as_int()?).ok()?));
        let elem = match formal.ty {
            FormalType::Variable(variable) => {
                variables.get(usize::from(variable)).copied().flatten().or(given)
            }
            FormalType::Concrete(_) => None,
        };
        elems.extend(elem.map(|elem| (output, elem)));
    }
    false
}

/// The element type of a tensor as the model declares it.
fn elem_of(model: &Model, value: ValueId) -> Option<ElemType> {
    let declared = model.ty(value).filter(|ty| matches!(ty.kind, TypeKind::Tensor(_))).map(Type::elem);
    declared
        .or_else(|| Some(model.constant_tensor(value)?.elem()))
        .filter(|&elem| elem != ElemType::Undefined)
}
