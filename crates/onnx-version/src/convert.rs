//! The conversion of a model.

use std::collections::HashMap;

use onnx_diag::{Diagnostic, Sink};
use onnx_ir::{AttrValue, Callee, Model, NodeId, OpsetImport, OpsetScope, Places};
use onnx_schema::{AttrDefault, Registry, Schema, SchemaId, attr, ir_version_for, opset_versions};
use onnx_shape_infer::{InferOptions, infer};
use onnx_types::Symbol;
use slotmap::SecondaryMap;

use crate::rules::CONVERSION_REFUSED;
use crate::step::{Reason, Step, Types};
use crate::steps;
use crate::table::{Kind, STEPS};

/// Options of [`convert`].
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct ConvertOptions<'a> {
    /// The domain of the operator set; by default that of ONNX.
    pub domain: Symbol,
    /// The operators that are known.
    pub registry: Option<&'a Registry>,
}

impl<'a> ConvertOptions<'a> {
    /// Sets the domain.
    #[must_use]
    pub const fn with_domain(mut self, domain: Symbol) -> Self {
        self.domain = domain;
        self
    }

    /// Sets the operators that are known.
    #[must_use]
    pub const fn with_registry(mut self, registry: &'a Registry) -> Self {
        self.registry = Some(registry);
        self
    }
}

/// What a conversion did.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Converted {
    /// The oldest version from which the model or a function was converted.
    pub from: i64,
    /// Number of nodes that a step changed or replaced.
    pub changed: usize,
    /// Nodes of the domain whose operator no version defines: they stay.
    pub unknown: Vec<NodeId>,
}

/// A node that has no equivalent in the new version.
#[derive(Clone, Debug)]
pub struct Refusal {
    /// The node, in the model before the conversion.
    pub node: NodeId,
    /// The operator.
    pub op: String,
    /// The version that changes the operator.
    pub version: i64,
    /// Why the node cannot be converted, as a clause.
    pub reason: Reason,
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "`{}` cannot be converted to version {}: {}", self.op, self.version, self.reason)
    }
}

/// Why a model was not converted.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum VersionError {
    /// The model does not import the operator set.
    #[error("the model does not import the operator set of the domain")]
    NotImported,
    /// The operator set does not have the version.
    #[error("the operator set has no version {0}; the newest one is {1}")]
    NoVersion(i64, i64),
    /// The model imports a newer version.
    #[error("the model imports version {0}, which is newer; conversion to older versions is not supported")]
    Older(i64),
    /// Some nodes have no equivalent.
    #[error("{}{}", first(.0), more(.0))]
    Refused(Vec<Refusal>),
}

impl VersionError {
    /// A diagnostic for each node that cannot be converted; `model` is the model, which is unchanged. Empty for other errors.
    #[must_use]
    pub fn findings(&self, model: &Model) -> Sink {
        let mut sink = Sink::new();
        let Self::Refused(refusals) = self else { return sink };
        let places = Places::new(model);
        for refusal in refusals.iter().filter(|refusal| model.get_node(refusal.node).is_some()) {
            sink.report_with(&CONVERSION_REFUSED, || {
                Diagnostic::new(&CONVERSION_REFUSED, places.node(refusal.node), refusal.to_string())
            });
        }
        sink
    }
}

fn first(refusals: &[Refusal]) -> String {
    refusals.first().map(ToString::to_string).unwrap_or_default()
}

fn more(refusals: &[Refusal]) -> String {
    match refusals.len() {
        0 | 1 => String::new(),
        count => format!(" (and {} more)", count.saturating_sub(1)),
    }
}

/// Converts the nodes of a model and its functions so that they compute the same with a newer version of an operator set, and
/// imports that version.
///
/// # Errors
///
/// Returns every node that has no equivalent, or why the version cannot be imported. The model is unchanged then.
pub fn convert(
    model: &mut Model,
    version: i64,
    options: &ConvertOptions<'_>,
) -> Result<Converted, VersionError> {
    let set = onnx_schema::normalize_domain(options.domain);
    let versions = opset_versions(set).ok_or(VersionError::NotImported)?;
    if !versions.contains(&version) {
        return Err(VersionError::NoVersion(version, *versions.end()));
    }
    let main = model.opset_version(set).ok_or(VersionError::NotImported)?;
    let standard = Registry::default();
    let registry = options.registry.unwrap_or(&standard);
    let mut work = Work {
        set,
        version,
        types: Types {
            inference: infer(model, &InferOptions::default().with_registry(registry)),
            stand_for: SecondaryMap::new(),
            elems: SecondaryMap::new(),
        },
        after: model.clone(),
        done: Converted { from: main, ..Converted::default() },
        refusals: Vec::new(),
        kinds: kinds(),
    };
    let mut scopes = vec![(OpsetScope::Model, main)];
    for &function in model.functions() {
        let scope = OpsetScope::Function(function);
        scopes.extend(model.versions_of(scope).get(set).map(|from| (scope, from)));
    }
    if let Some(&(_, newer)) = scopes.iter().find(|&&(_, from)| from > version) {
        return Err(VersionError::Older(newer));
    }
    work.done.from = scopes.iter().map(|&(_, from)| from).min().unwrap_or(main);
    for graph in model.all_graphs() {
        let Some(from) = model.versions_in(graph).get(set) else { continue };
        for node in model.nodes(graph) {
            work.node(model, node, from, registry);
        }
    }
    if !work.refusals.is_empty() {
        return Err(VersionError::Refused(work.refusals));
    }
    scopes.iter().for_each(|&(scope, _)| import(&mut work.after, scope, set, version));
    *model = work.after;
    Ok(work.done)
}

/// Imports a version, which the model or function imports in an older one.
fn import(model: &mut Model, scope: OpsetScope, set: Symbol, version: i64) {
    let raise = |imports: &mut Vec<OpsetImport>| {
        imports
            .iter_mut()
            .filter(|import| import.domain() == set)
            .for_each(|import| import.set_version(version));
    };
    match scope {
        OpsetScope::Model => {
            let mut info = model.info_mut();
            raise(&mut info.opset_imports);
            info.ir_version = info.ir_version.max(ir_version_for(set, version).unwrap_or(0));
        }
        OpsetScope::Function(function) => raise(&mut model.function_mut(function).opset_imports),
    }
}

struct Work {
    set: Symbol,
    version: i64,
    types: Types,
    after: Model,
    done: Converted,
    refusals: Vec<Refusal>,
    kinds: HashMap<SchemaId, Kind>,
}

impl Work {
    /// Takes a node of the model, and the nodes that its steps make, to the version.
    fn node(&mut self, before: &Model, node: NodeId, from: i64, registry: &Registry) {
        let record = before.node(node);
        if onnx_schema::normalize_domain(record.domain()) != self.set {
            return;
        }
        match before.callee(node, registry) {
            Callee::Standard(_) => {}
            Callee::Unknown { .. } | Callee::Experimental | Callee::Undefined => {
                self.unknown(before, node);
                return;
            }
            _ => return,
        }
        let mut queue = vec![(node, from)];
        while let Some((next, from)) = queue.pop() {
            let Some((old, new)) = self.next_step(next, from) else { continue };
            let mut step = Step {
                model: &mut self.after,
                types: &mut self.types,
                node: next,
                old,
                new,
                made: Vec::new(),
            };
            match take(&mut step, self.kinds.get(&new.id()).copied()) {
                Ok(is_changed) => {
                    self.done.changed = self.done.changed.saturating_add(usize::from(is_changed));
                    let version = new.since_version();
                    queue.extend(step.made.into_iter().map(|made| (made, version)));
                    queue.push((next, version));
                }
                Err(reason) => {
                    let (op, version) = (old.name().to_owned(), new.since_version());
                    self.refusals.push(Refusal { node, op, version, reason });
                    return;
                }
            }
        }
    }

    /// A node whose operator the imported version does not have: it stays, unless it would get a meaning.
    fn unknown(&mut self, before: &Model, node: NodeId) {
        let op = before.node(node).op();
        let first = onnx_schema::versions(self.set, op).iter().map(Schema::since_version).min();
        match first.filter(|&first| first <= self.version) {
            Some(version) => {
                let reason = Reason::from("the version that the model imports does not have the operator");
                self.refusals.push(Refusal { node, op: before.str(op).to_owned(), version, reason });
            }
            None => self.done.unknown.push(node),
        }
    }

    /// The schema of a node at a version, and the next one up to the target.
    fn next_step(&self, node: NodeId, from: i64) -> Option<(&'static Schema, &'static Schema)> {
        let op = self.after.get_node(node)?.op();
        let old = onnx_schema::lookup(self.set, op, from)?;
        let later = onnx_schema::versions(self.set, op).iter().filter(|schema| {
            schema.since_version() > old.since_version() && schema.since_version() <= self.version
        });
        Some((old, later.min_by_key(|schema| schema.since_version())?))
    }
}

/// The kinds of all steps.
fn kinds() -> HashMap<SchemaId, Kind> {
    let rows = STEPS.iter().flat_map(|&(domain, op, versions)| {
        versions.iter().map(move |&(version, kind)| (domain, op, version, kind))
    });
    rows.filter_map(|(domain, op, version, kind)| {
        let (domain, op) = (onnx_schema::domain_symbol(domain)?, onnx_schema::op_symbol(op)?);
        Some((onnx_schema::schema_since(domain, op, version)?, kind))
    })
    .collect()
}

/// Takes a node to the new version. Returns `true` if it changed.
fn take(step: &mut Step<'_>, kind: Option<Kind>) -> Result<bool, Reason> {
    let revision = step.model.revision();
    match kind.ok_or("the table of steps does not have the version")? {
        Kind::Adapted => {
            keep_defaults(step)?;
            let adapt = steps::find(step.new).ok_or("the change of the operator has no conversion")?;
            adapt(step)?;
        }
        Kind::Moved => {
            steps::moved::attributes(step)?;
            keep_defaults(step)?;
        }
        Kind::Same | Kind::Added | Kind::Values => keep_defaults(step)?,
    }
    step.remove_meaningless();
    refuse_undeclared(step)?;
    Ok(!step.model.changes_since(&revision).is_empty())
}

/// Attributes that the old version declares and the new one does not have an effect that no step keeps.
fn refuse_undeclared(step: &Step<'_>) -> Result<(), Reason> {
    let Some(record) = step.model.get_node(step.node).filter(|record| record.op() == step.new.op()) else {
        return Ok(());
    };
    let declares = |schema: &Schema, name| schema.attributes().iter().any(|formal| formal.name == name);
    let lost = record.attributes().iter().map(onnx_ir::Attribute::name);
    let lost = lost.into_iter().find(|&name| declares(step.old, name) && !declares(step.new, name));
    match lost {
        Some(name) => {
            Err(Reason::new(format!("the new version has no attribute `{}`", step.model.str(name))))
        }
        None => Ok(()),
    }
}

/// Writes the attributes that the node omits and whose defaults the new version changes.
fn keep_defaults(step: &mut Step<'_>) -> Result<(), Reason> {
    for formal in step.old.attributes() {
        let Some(default) = formal.default.filter(|_| !step.has(formal.name)) else { continue };
        // The schema of `GRU-1` misspells the default, which means `forward`.
        if default == AttrDefault::String("foward") {
            continue;
        }
        let stays = step.new.attributes().iter().find(|other| other.name == formal.name);
        if stays.is_some_and(|stays| stays.default != Some(default)) {
            step.set(formal.name, value_of(default))?;
        }
    }
    Ok(())
}

fn value_of(default: AttrDefault) -> AttrValue {
    match default {
        AttrDefault::Float(value) => AttrValue::Float(value),
        AttrDefault::Int(value) => AttrValue::Int(value),
        AttrDefault::String(text) => AttrValue::String(text.as_bytes().to_vec().into()),
        AttrDefault::Floats(values) => AttrValue::Floats(values.to_vec()),
        AttrDefault::Ints(values) => AttrValue::Ints(values.to_vec()),
        AttrDefault::Strings(texts) => {
            AttrValue::Strings(texts.iter().map(|text| text.as_bytes().to_vec().into()).collect())
        }
        _ => AttrValue::None,
    }
}

impl Step<'_> {
    /// Removes `consumed_inputs`, a hint for allocators.
    fn remove_meaningless(&mut self) {
        if self.new.attributes().iter().all(|formal| formal.name != attr::CONSUMED_INPUTS) {
            self.remove(attr::CONSUMED_INPUTS);
        }
    }
}

#[cfg(test)]
mod tests {
    use onnx_schema::domain;

    use super::*;

    #[test]
    fn every_version_of_every_operator_has_a_step() {
        let kinds = kinds();
        assert_eq!(kinds.len(), STEPS.iter().map(|(.., versions)| versions.len()).sum::<usize>());
        for schemas in onnx_schema::operators() {
            let first = schemas.iter().map(Schema::since_version).min();
            for schema in schemas.iter().filter(|schema| Some(schema.since_version()) != first) {
                if ![domain::ONNX, domain::ML].contains(&schema.domain()) {
                    continue;
                }
                let is_known = kinds.contains_key(&schema.id());
                assert!(is_known, "{}-{} has no step", schema.name(), schema.since_version());
            }
        }
    }
}
