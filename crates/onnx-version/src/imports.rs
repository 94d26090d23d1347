//! The imports of an operator set, from which a conversion starts.

use onnx_diag::{Caps, Diagnostic, Locus, Policy, Quoted, Sink};
use onnx_ir::{FunctionId, GraphId, Model, OpsetScope, Places};
use onnx_schema::opset_versions;
use onnx_types::Symbol;

use crate::convert::VersionError;
use crate::rules;

/// The version of an operator set from which a model is converted: the one that it imports, or the newest one that its
/// functions import if only these import the operator set.
#[must_use]
pub fn imported_version(model: &Model, domain: Symbol) -> Option<i64> {
    let set = onnx_schema::normalize_domain(domain);
    model.opset_version(set).or_else(|| {
        let functions = model.functions().iter();
        functions.filter_map(|&function| model.versions_of(OpsetScope::Function(function)).get(set)).max()
    })
}

/// The model and its functions, with the graph of each.
pub(crate) fn scopes(model: &Model) -> impl Iterator<Item = (OpsetScope, GraphId)> + '_ {
    let main = (OpsetScope::Model, model.main_graph());
    let functions = model.functions().iter();
    std::iter::once(main)
        .chain(functions.map(|&function| (OpsetScope::Function(function), model.function(function).body())))
}

/// Refuses imports of one operator set in two versions, of which readers choose different ones, and of a version that does
/// not exist.
pub(crate) fn check(model: &Model, scope: OpsetScope, set: Symbol) -> Result<(), VersionError> {
    let (imports, function) = match scope {
        OpsetScope::Model => (&model.info().opset_imports, None),
        OpsetScope::Function(function) => (&model.function(function).opset_imports, Some(function)),
    };
    let mut versions = imports.iter().filter(|import| import.domain() == set).map(|import| import.version());
    let Some(first) = versions.next() else { return Ok(()) };
    let importer = || match function {
        None => "the model".to_owned(),
        Some(function) => format!("the function {}", Quoted(model.str(model.function(function).name()))),
    };
    let name = if set.is_empty() { "ai.onnx" } else { model.str(set) };
    let reason = match versions.find(|&version| version != first) {
        Some(second) => {
            format!("{} imports {} in version {first} and in version {second}", importer(), Quoted(name))
        }
        None => {
            let known = opset_versions(set).filter(|known| !known.contains(&first));
            let Some(known) = known else { return Ok(()) };
            let (oldest, newest) = (known.start(), known.end());
            let importer = importer();
            format!(
                "{importer} imports version {first} of {}, which is not known; versions {oldest} to {newest} are",
                Quoted(name)
            )
        }
    };
    Err(VersionError::Imports { function, reason })
}

/// The diagnostic of imports.
pub(crate) fn findings(model: &Model, function: Option<FunctionId>, reason: &str) -> Sink {
    let mut sink = Sink::with(Policy::new(), Caps::NONE);
    let function = function.filter(|function| model.functions().contains(function));
    sink.report_with(&rules::CONVERSION_REFUSED, || {
        let place = function.map_or_else(Locus::model, |function| Places::new(model).function(function));
        let place = place.field("opset_import");
        Diagnostic::new(&rules::CONVERSION_REFUSED, place, reason.to_owned())
            .help("import one version: that for which the operators were written")
    });
    sink
}
