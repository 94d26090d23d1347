//! The conversion of a model.

use std::collections::{BTreeMap, HashSet};

use onnx_diag::{Caps, Diagnostic, Policy, Quoted, Rule, Sink};
use onnx_functions::InlineError;
use onnx_ir::{FunctionId, GraphId, MetadataEntry, Model, NodeId, OpsetScope, Places, ValueId};
use onnx_schema::{Registry, ir_version_for, op, opset_versions};
use onnx_shape_infer::GUARD_KEY;
use onnx_types::{Execution, Stopped, Symbol};
use slotmap::SecondaryMap;

use crate::engine::{Engine, Scope};
use crate::imports::{self, imported_version};
use crate::plan::{Plan, StepRecord, Unconvertible};
use crate::reason::Cause;
use crate::rules;
use crate::table::Table;
use crate::types::Types;

/// Options of [`convert`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ConvertOptions<'a> {
    /// The domain of the operator set; by default that of ONNX.
    pub domain: Symbol,
    /// The operators that are known; by default those of the standard.
    pub registry: &'a Registry,
    /// Limits and interrupts.
    pub execution: Execution,
    /// Whether sizes may be taken as positive where nothing else decides. Each size that a step relies on is written into the
    /// metadata of the model, as guards are. Off by default.
    pub assume_positive_sizes: bool,
}

impl Default for ConvertOptions<'_> {
    fn default() -> Self {
        Self {
            domain: Symbol::EMPTY,
            registry: Registry::STANDARD,
            execution: Execution::default(),
            assume_positive_sizes: false,
        }
    }
}

onnx_types::option_setters! {
    ConvertOptions<'a> {
        with_domain => domain: Symbol,
        with_registry => registry: &'a Registry,
        with_execution => execution: into Execution,
        with_assume_positive_sizes => assume_positive_sizes: bool,
    }
}

/// Result of [`convert`].
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Converted {
    /// The version from which the model was converted.
    pub from: i64,
    /// Number of nodes of the model that changed or were replaced.
    pub changed: usize,
    /// The steps that changed nodes.
    pub steps: Vec<StepRecord>,
    /// Nodes of the domain whose operator no version defines: they are unchanged.
    pub unknown: Vec<NodeId>,
}

/// Why a model was not converted.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum VersionError {
    /// The model does not import the operator set.
    #[error("the model does not import the operator set of the domain")]
    NotImported,
    /// No versions of an operator set are known that the model imports.
    #[error("no versions of the operator set {} are known, so it has no steps between them", Quoted(.0))]
    NoVersions(String),
    /// The operator set does not have the version.
    #[error("the operator set has no version {0}; the newest one is {1}")]
    NoVersion(i64, i64),
    /// The model or one of its functions imports the operator set in a way that does not tell what its nodes mean.
    #[error("{reason}")]
    Imports {
        /// The function with the imports; `None` is the model.
        function: Option<FunctionId>,
        /// The reason, as a sentence.
        reason: String,
    },
    /// Some nodes have no equivalent.
    #[error("{}{}", first(.0), more(.0))]
    Refused(Vec<Unconvertible>),
    /// The bodies of operators exceed a limit.
    #[error(transparent)]
    Bodies(#[from] InlineError),
    /// The work was interrupted.
    #[error(transparent)]
    Stopped(#[from] Stopped),
}

impl VersionError {
    /// A diagnostic for each node that cannot be converted, or for the imports of the operator set; `model` is the model, which
    /// is unchanged. Empty for other errors.
    #[must_use]
    pub fn findings(&self, model: &Model) -> Sink {
        match self {
            Self::Refused(refusals) => findings(model, refusals),
            Self::Imports { function, reason } => imports::findings(model, *function, reason),
            _ => Sink::new(),
        }
    }
}

/// A diagnostic for each node that cannot be converted. No cap applies; [`Sink::limit`] applies one.
#[must_use]
pub fn findings(model: &Model, refusals: &[Unconvertible]) -> Sink {
    let mut sink = Sink::with(Policy::new(), Caps::NONE);
    let places = Places::new(model);
    let unused = unused_functions(model, refusals);
    for refusal in refusals.iter().filter(|refusal| model.get_node(refusal.node).is_some()) {
        let rule = rule(refusal.reason.cause());
        sink.report_with(rule, || {
            let own = model.str(model.node(refusal.node).op());
            let message = match own == refusal.op {
                true => refusal.to_string(),
                false => format!("{refusal}; it takes the place of `{own}` at an earlier step"),
            };
            let scope = model.scope(model.node(refusal.node).graph());
            let help = match scope {
                OpsetScope::Function(_) if unused.contains(&scope) => {
                    "nothing calls the function: remove it, as `onnx simplify` does"
                }
                // A function can be called with several types and values, which nothing in it declares.
                OpsetScope::Function(_) if depends_on_operands(refusal.reason.cause()) => {
                    Cause::Reference.help()
                }
                _ => refusal.reason.help(),
            };
            Diagnostic::new(rule, places.node(refusal.node), message).help(help)
        });
    }
    sink
}

/// Whether a reason can go if the operands of a function are known.
const fn depends_on_operands(cause: Cause) -> bool {
    matches!(cause, Cause::TypeUnknown | Cause::ShapeUnknown | Cause::NotConstant | Cause::Overridable)
}

/// The functions with refused nodes that nothing calls.
fn unused_functions(model: &Model, refusals: &[Unconvertible]) -> HashSet<OpsetScope> {
    let nodes = refusals.iter().filter_map(|refusal| model.get_node(refusal.node));
    let mut scopes: HashSet<OpsetScope> = nodes.map(|record| model.scope(record.graph())).collect();
    scopes.retain(|scope| matches!(scope, OpsetScope::Function(_)));
    if scopes.is_empty() {
        return scopes;
    }
    let mut used = model.clone();
    used.erase_unused_functions();
    let used: HashSet<FunctionId> = used.functions().iter().copied().collect();
    scopes.retain(|scope| matches!(scope, OpsetScope::Function(function) if !used.contains(function)));
    scopes
}

const fn rule(cause: Cause) -> &'static Rule {
    match cause {
        Cause::TypeUnknown => &rules::CONVERSION_TYPE_UNKNOWN,
        Cause::TypeNotAllowed => &rules::CONVERSION_TYPE_NOT_ALLOWED,
        Cause::NotConstant => &rules::CONVERSION_NOT_CONSTANT,
        Cause::Overridable => &rules::CONVERSION_OVERRIDABLE,
        Cause::NoForm => &rules::CONVERSION_NO_FORM,
        Cause::Invalid => &rules::CONVERSION_INVALID_NODE,
        Cause::ShapeUnknown | Cause::Meaning | Cause::Reference => &rules::CONVERSION_REFUSED,
    }
}

fn first(refusals: &[Unconvertible]) -> String {
    refusals.first().map(ToString::to_string).unwrap_or_default()
}

fn more(refusals: &[Unconvertible]) -> String {
    match refusals.len() {
        0 | 1 => String::new(),
        count => format!(" (and {} more)", count.saturating_sub(1)),
    }
}

/// Converts the nodes of a model and its functions so that they compute the same with another version of an operator set, and
/// imports that version. Functions that import another version than the model are converted, too, even if the model imports the
/// version already.
///
/// A function that has the name of a standard operator, and that nothing names after the bodies of operators have taken the
/// place of nodes, is removed: none of these nodes called it.
///
/// # Errors
///
/// Returns every node that has no equivalent, or why the version cannot be imported. The model is unchanged then.
pub fn convert(
    model: &mut Model,
    version: i64,
    options: &ConvertOptions<'_>,
) -> Result<Converted, VersionError> {
    let (mut after, plan) = work(model, version, options)?;
    if !plan.is_possible() {
        return Err(VersionError::Refused(plan.refusals));
    }
    raise_ir_version(&mut after, options.domain, version);
    remove_used_up(model, &mut after);
    *model = after;
    let mut nodes: Vec<NodeId> = plan.steps.iter().map(|step| step.node).collect();
    nodes.sort_unstable();
    nodes.dedup();
    Ok(Converted { from: plan.from, changed: nodes.len(), steps: plan.steps, unknown: plan.unknown })
}

/// Removes constants that are attributes now, or that steps made and did not need. Those that nothing used before are
/// kept.
fn remove_used_up(before: &Model, after: &mut Model) {
    let mut graphs: Vec<GraphId> = after.all_graphs().collect();
    for &graph in &graphs {
        let nodes: Vec<NodeId> = after.nodes(graph).collect();
        for node in nodes {
            let is_constant = after.node(node).op() == op::CONSTANT
                && after.callee(node, Registry::STANDARD).standard().is_some();
            if is_constant && after.is_dead(node) && !before.is_dead(node) {
                // A node that cannot be erased is kept.
                let _ = after.erase_node(node);
            }
        }
    }
    let is_unused = |value: ValueId| !before.value(value).is_used();
    graphs.retain(|&graph| before.get_graph(graph).is_none() || !before.initializers(graph).any(is_unused));
    after.erase_unused_initializers_in(&graphs);
}

/// The version of the format that a model gets when it is converted to a version of an operator set; `None` if it keeps its own.
/// Operator sets need the version of the format that they were released with.
#[must_use]
pub fn raised_ir_version(model: &Model, domain: Symbol, version: i64) -> Option<i64> {
    let needed = ir_version_for(onnx_schema::normalize_domain(domain), version);
    needed.filter(|&needed| model.info().ir_version < needed)
}

pub(crate) fn raise_ir_version(model: &mut Model, domain: Symbol, version: i64) {
    if let Some(needed) = raised_ir_version(model, domain, version) {
        model.info_mut().ir_version = needed;
    }
}

/// Converts a copy of the model, as far as it can be converted.
pub(crate) fn work(
    model: &Model,
    version: i64,
    options: &ConvertOptions<'_>,
) -> Result<(Model, Plan), VersionError> {
    let set = onnx_schema::normalize_domain(options.domain);
    let from = imported_version(model, set).ok_or(VersionError::NotImported)?;
    let versions = opset_versions(set).ok_or_else(|| VersionError::NoVersions(model.str(set).to_owned()))?;
    if !versions.contains(&version) {
        return Err(VersionError::NoVersion(version, *versions.end()));
    }
    let mut scopes = Vec::new();
    for (scope, graph) in imports::scopes(model) {
        imports::check(model, scope, set)?;
        scopes.extend(model.versions_of(scope).get(set).map(|from| (scope, graph, from)));
    }
    scopes.retain(|&(.., from)| from != version);
    if scopes.is_empty() {
        return Ok((model.clone(), Plan { from, to: version, ..Plan::default() }));
    }
    let table = Table::new();
    let mut engine = engine(model.clone(), (set, version), options, &table);
    let mut by_version: BTreeMap<i64, Vec<Scope>> = BTreeMap::new();
    for (scope, body, from) in scopes {
        by_version.entry(from).or_default().push((scope, body));
    }
    engine.refuse_invalid(&by_version)?;
    for (from, mut scopes) in by_version {
        scopes.retain(|&(_, body)| engine.model.get_graph(body).is_some());
        engine.run(&scopes, from)?;
    }
    engine.check_bodies();
    engine.check_results(model);
    // Inference that was stopped knows no types, so that its refusals mean nothing.
    options.execution.interrupt.check()?;
    let Engine { model: mut after, records: steps, refusals, unknown, types, .. } = engine;
    record(&mut after, types.assumed());
    Ok((after, Plan { from, to: version, steps, unknown, refusals }))
}

/// Writes conditions that the conversion relies on into the metadata, each once, as guards of inference are.
fn record(model: &mut Model, conditions: &[String]) {
    let entries = model.info().metadata.iter();
    let known: Vec<(String, String)> = entries
        .filter_map(|entry| {
            let number = model.str(entry.key()).strip_prefix(GUARD_KEY)?;
            Some((number.to_owned(), entry.value().to_string()))
        })
        .collect();
    let numbers = known.iter().filter_map(|(number, _)| number.parse::<usize>().ok());
    let mut next = numbers.max().map_or(0, |number| number.saturating_add(1));
    let mut written: Vec<String> = known.into_iter().map(|(_, line)| line).collect();
    for condition in conditions {
        let line = format!("{condition}  # assumed by a conversion: a size of 0 would be replaced");
        if written.contains(&line) {
            continue;
        }
        let key = model.intern(&format!("{GUARD_KEY}{next}"));
        model.info_mut().metadata.push(MetadataEntry::new(key, line.clone()));
        written.push(line);
        next = next.saturating_add(1);
    }
}

/// Converts the body of one function.
pub(crate) fn convert_function(
    model: &mut Model,
    function: FunctionId,
    version: i64,
    options: &ConvertOptions<'_>,
) -> Result<(), VersionError> {
    let set = onnx_schema::normalize_domain(options.domain);
    let scope = OpsetScope::Function(function);
    let from = model.versions_of(scope).get(set).ok_or(VersionError::NotImported)?;
    imports::check(model, scope, set)?;
    let body = model.function(function).body();
    let table = Table::new();
    let mut engine = engine(model.clone(), (set, version), options, &table);
    engine.refuse_invalid(&BTreeMap::from([(from, vec![(scope, body)])]))?;
    engine.run(&[(scope, body)], from)?;
    engine.check_bodies();
    engine.check_results(model);
    options.execution.interrupt.check()?;
    if !engine.refusals.is_empty() {
        return Err(VersionError::Refused(engine.refusals));
    }
    *model = engine.model;
    Ok(())
}

fn engine<'a>(
    model: Model,
    (set, target): (Symbol, i64),
    options: &'a ConvertOptions<'_>,
    table: &'a Table,
) -> Engine<'a> {
    Engine {
        set,
        target,
        registry: options.registry,
        execution: &options.execution,
        table,
        types: Types::assuming(options.assume_positive_sizes),
        model,
        is_stale: false,
        records: Vec::new(),
        refusals: Vec::new(),
        refused: SecondaryMap::new(),
        replaced: SecondaryMap::new(),
        unknown: Vec::new(),
        sources: SecondaryMap::new(),
        in_bodies: Vec::new(),
        seen: SecondaryMap::new(),
        due: BTreeMap::new(),
    }
}
