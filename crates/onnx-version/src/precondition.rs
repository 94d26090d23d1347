//! The nodes that a model must not have where their meaning counts, and the import that gives them one.

use onnx_check::{CheckOptions, InvalidNode, invalid_nodes as find};
use onnx_ir::{FunctionId, Model, NodeId, OpsetImport, OpsetScope};
use onnx_schema::{Registry, normalize_domain, opset_versions};
use onnx_shape_infer::{InferOptions, infer};
use onnx_types::{Execution, Stopped, Symbol};

use crate::convert::{ConvertOptions, VersionError, raise_ir_version};
use crate::imports;
use crate::plan::plan;

/// The nodes that are not valid in the versions that are imported.
pub(crate) fn invalid_nodes(
    model: &Model,
    registry: &Registry,
    execution: &Execution,
) -> Result<Vec<InvalidNode>, Stopped> {
    find(model, &CheckOptions::default().with_registry(registry.clone()).with_execution(execution.clone()))
}

/// Imports a version of an operator set without changing nodes, in the model and in its functions that import the operator set.
/// If nothing imports it, the model does afterwards. This corrects an import; [`convert`](crate::convert) converts nodes.
///
/// The IR version is raised to that of the first ONNX release with the version if it is lower. The nodes may be invalid
/// afterwards: [`onnx_check::invalid_nodes`] finds those.
///
/// ```
/// use onnx_schema::domain;
/// use onnx_text::{ParseOptions, parse_model};
/// use onnx_version::{set_import, ConvertOptions};
///
/// let text = r#"<ir_version: 5, opset_import: ["": 10]>
/// g (float[4] x, float low) => (float[4] y) { y = Clip (x, low) }"#;
/// let mut model = parse_model(text, &ParseOptions::default())?;
/// assert_eq!(set_import(&mut model, domain::ONNX, 11)?, 1);
/// assert_eq!((model.opset_version(domain::ONNX), model.info().ir_version), (Some(11), 6));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Returns the number of imports that changed.
///
/// # Errors
///
/// Returns an error if ONNX defines the operator set and it does not have the version.
pub fn set_import(model: &mut Model, domain: Symbol, version: i64) -> Result<usize, VersionError> {
    let set = normalize_domain(domain);
    if let Some(versions) = opset_versions(set)
        && !versions.contains(&version)
    {
        return Err(VersionError::NoVersion(version, *versions.end()));
    }
    let scopes: Vec<OpsetScope> = imports::scopes(model).map(|(scope, _)| scope).collect();
    let importing: Vec<OpsetScope> =
        scopes.into_iter().filter(|&scope| model.versions_of(scope).get(set).is_some()).collect();
    let scopes = if importing.is_empty() { vec![OpsetScope::Model] } else { importing };
    Ok(scopes.into_iter().filter(|&scope| import(model, scope, set, version)).count())
}

/// Imports a version in one scope, once. Returns whether that is a change.
fn import(model: &mut Model, scope: OpsetScope, set: Symbol, version: i64) -> bool {
    let change = |imports: &mut Vec<OpsetImport>| {
        let before: Vec<i64> =
            imports.iter().filter(|import| import.domain() == set).map(OpsetImport::version).collect();
        if before == [version] {
            return false;
        }
        let mut is_first = true;
        imports.retain(|import| import.domain() != set || std::mem::take(&mut is_first));
        match imports.iter_mut().find(|import| import.domain() == set) {
            Some(import) => import.set_version(version),
            None => imports.push(OpsetImport::new(set, version)),
        }
        true
    };
    let is_changed = match scope {
        OpsetScope::Model => change(&mut model.info_mut().opset_imports),
        OpsetScope::Function(function) => change(&mut model.function_mut(function).opset_imports),
    };
    raise_ir_version(model, set, version);
    is_changed
}

/// A wrong import of an operator set that was corrected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ImportCorrection {
    /// The function with the import; `None` is the model.
    pub function: Option<FunctionId>,
    /// The version that was imported, in which some nodes are not valid.
    pub from: i64,
    /// The version that is imported now, in which all are.
    pub to: i64,
}

/// Corrects the imports of an operator set with which some nodes are not valid, if all nodes of the model or function are valid in
/// another version. That must be unambiguous: if several versions are possible, the nodes must mean the same in all of them, so
/// that a conversion between them changes none. A version is not possible if an operand has a type that it does not allow. Then the version nearest to the imported one is taken.
///
/// # Errors
///
/// Returns an error if the work is interrupted.
pub fn correct_import(
    model: &mut Model,
    options: &ConvertOptions<'_>,
) -> Result<Vec<ImportCorrection>, Stopped> {
    let set = normalize_domain(options.domain);
    let mut done = Vec::new();
    let mut wrong: Vec<OpsetScope> = Vec::new();
    for scope in invalid_scopes(model, set, options)? {
        if !wrong.contains(&scope) {
            wrong.push(scope);
        }
    }
    for scope in wrong {
        let Some(from) = model.versions_of(scope).get(set) else { continue };
        let Some(to) = only_version(model, scope, (set, from), options)? else { continue };
        import(model, scope, set, to);
        let function = match scope {
            OpsetScope::Model => None,
            OpsetScope::Function(function) => Some(function),
        };
        done.push(ImportCorrection { function, from, to });
    }
    Ok(done)
}

/// The scopes of the nodes of an operator set that are not valid.
fn invalid_scopes(
    model: &Model,
    set: Symbol,
    options: &ConvertOptions<'_>,
) -> Result<Vec<OpsetScope>, Stopped> {
    let found = invalid_nodes(model, options.registry, &options.execution)?;
    let records = found.iter().map(|invalid| model.node(invalid.node));
    let of_set = records.filter(|record| normalize_domain(record.domain()) == set);
    Ok(of_set.map(|record| model.scope(record.graph())).collect())
}

/// The version in which all nodes of a scope are valid, if their meaning does not depend on which one it is.
fn only_version(
    model: &Model,
    scope: OpsetScope,
    (set, from): (Symbol, i64),
    options: &ConvertOptions<'_>,
) -> Result<Option<i64>, Stopped> {
    let mut candidates = Vec::new();
    let mut other = model.clone();
    for version in opset_versions(set).into_iter().flatten() {
        import(&mut other, scope, set, version);
        if !invalid_scopes(&other, set, options)?.contains(&scope) {
            candidates.push(version);
        }
    }
    if !mean_the_same(&mut other, scope, (set, &candidates), options)? {
        // Types of operands exclude versions, too: the sizes of `Split` are floats in version 1, and integers from version 13 on.
        candidates.retain(|&version| {
            import(&mut other, scope, set, version);
            takes_operands(&other, options)
        });
        if !mean_the_same(&mut other, scope, (set, &candidates), options)? {
            return Ok(None);
        }
    }
    Ok(candidates.into_iter().min_by_key(|version| (version.abs_diff(from), *version)))
}

/// Whether a conversion between the first and the last of these versions changes no node of the scope.
fn mean_the_same(
    model: &mut Model,
    scope: OpsetScope,
    (set, versions): (Symbol, &[i64]),
    options: &ConvertOptions<'_>,
) -> Result<bool, Stopped> {
    let (Some(&oldest), Some(&newest)) = (versions.first(), versions.last()) else { return Ok(true) };
    import(model, scope, set, oldest);
    let is_elsewhere = |node: NodeId| model.scope(model.node(node).graph()) != scope;
    if oldest == newest {
        return Ok(true);
    }
    match plan(model, newest, options) {
        Ok(plan) => {
            let mut changed = plan.steps.iter().map(|step| step.node);
            let mut refused = plan.refusals.iter().map(|refusal| refusal.node);
            Ok(changed.all(is_elsewhere) && refused.all(is_elsewhere))
        }
        Err(VersionError::Stopped(stopped)) => Err(stopped),
        Err(_) => Ok(false),
    }
}

/// Whether no operand has a type that its node does not take, as far as types are known.
fn takes_operands(model: &Model, options: &ConvertOptions<'_>) -> bool {
    let mut settings =
        InferOptions::default().with_registry(options.registry).with_execution(options.execution.clone());
    settings.check_types = true;
    let inference = infer(model, &settings);
    !inference
        .findings()
        .diagnostics()
        .iter()
        .any(|found| found.rule.code == onnx_shape_infer::fault::TYPE_NOT_ALLOWED.code)
}
