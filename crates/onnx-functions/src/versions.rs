//! Operator set versions of functions and of the graphs that contain their calls.

use onnx_diag::Quoted;
use onnx_ir::{Callee, FunctionId, GraphId, Model};
use onnx_schema::{Registry, normalize_domain};
use onnx_types::Symbol;

use crate::reason::FunctionReason;

/// Conversion of functions to other operator set versions.
pub trait Convert {
    /// Changes the nodes of the body of a function, and what the function imports, so that it imports `version` of `domain`
    /// and computes the same. It may only edit the body.
    ///
    /// # Errors
    ///
    /// Returns the reason if the function cannot be converted. The body may be changed partly then.
    fn convert(
        &self,
        model: &mut Model,
        function: FunctionId,
        domain: Symbol,
        version: i64,
    ) -> Result<(), FunctionReason>;
}

/// A domain whose version at a call gives an operator of a function another meaning.
#[derive(Clone, Debug)]
pub(crate) struct Mismatch {
    pub(crate) domain: Symbol,
    pub(crate) here: i64,
    pub(crate) reason: FunctionReason,
}

/// Returns the operator sets that a function imports and the graph of a call does not. `planned` are versions that
/// replace those of the graph.
///
/// Versions may differ: the schema of an operator must be the same in both.
///
/// # Errors
///
/// Returns the reason if an operator of the function has another meaning in the versions of the graph, or if the function
/// does not import its operator set.
pub fn missing_imports(
    model: &Model,
    function: FunctionId,
    graph: GraphId,
    planned: &[(Symbol, i64)],
    registry: &Registry,
) -> Result<Vec<(Symbol, i64)>, FunctionReason> {
    compare(model, function, graph, planned, registry).map_err(|mismatch| mismatch.reason)
}

pub(crate) fn compare(
    model: &Model,
    function: FunctionId,
    graph: GraphId,
    planned: &[(Symbol, i64)],
    registry: &Registry,
) -> Result<Vec<(Symbol, i64)>, Mismatch> {
    let record = model.function(function);
    let mut missing: Vec<(Symbol, i64)> = Vec::new();
    let (there, around) = (model.versions_in(record.body()), model.versions_in(graph));
    let defaults = record.defaults.iter().flat_map(|default| default.value().graphs().iter().copied());
    let nodes = std::iter::once(record.body()).chain(defaults).flat_map(|graph| model.nodes_in(graph));
    for node in nodes {
        let record = model.node(node);
        let domain = normalize_domain(record.domain());
        let of = |list: &[(Symbol, i64)]| {
            list.iter().find(|(other, _)| *other == domain).map(|&(_, version)| version)
        };
        let op = || Quoted(model.str(record.op()));
        let Some(old) = there.get(domain) else {
            let reason =
                FunctionReason::new(format!("the function does not import the operator set of {}", op()));
            return Err(Mismatch { domain, here: 0, reason });
        };
        let Some(here) = of(planned).or_else(|| of(&missing)).or_else(|| around.get(domain)) else {
            missing.push((domain, old));
            continue;
        };
        if here == old {
            continue;
        }
        let callee = |version: i64| {
            let versions = onnx_ir::OpsetVersions::default().or(std::iter::once((domain, version)));
            model.callee_in(record, &versions, registry)
        };
        if !is_same(callee(old), callee(here)) {
            let text =
                format!("{} can have another meaning in version {here}, which applies to the call,", op());
            let reason =
                FunctionReason::new(format!("{text} than in version {old}, which the function imports"));
            return Err(Mismatch { domain, here, reason });
        }
    }
    Ok(missing)
}

/// Returns `true` if two versions of an operator set have the same definition of an operator.
fn is_same(old: Callee<'_>, new: Callee<'_>) -> bool {
    match (old, new) {
        (Callee::Standard(old), Callee::Standard(new)) => old.id() == new.id(),
        (Callee::Custom(old), Callee::Custom(new)) => old.since_version() == new.since_version(),
        (Callee::Function(old), Callee::Function(new)) => old == new,
        // It is not known whether an operator without a definition changes.
        _ => false,
    }
}
