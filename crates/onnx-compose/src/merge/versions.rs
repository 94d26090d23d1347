//! One version of each operator set: older models are raised to the newest version of any.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use onnx_diag::Quoted;
use onnx_ir::{FunctionId, Model, OpsetScope, ValueId};
use onnx_schema::{Registry, domain_symbol, opset_versions};
use onnx_types::Symbol;
use onnx_version::{ConvertOptions, VersionError, convert};

use super::assemble::rename_functions;
use super::{MergeError, Merged, Part, Raised};

/// Raises operator sets. Values in `places` that a conversion replaces are replaced by the new ones.
pub(super) fn unify(
    parts: &mut [Part<'_>],
    registry: &Registry,
    places: &mut [(usize, ValueId)],
    merged: &mut Merged,
) -> Result<(), MergeError> {
    let newest = newest(parts);
    for (index, part) in parts.iter_mut().enumerate() {
        for (domain, version) in &newest {
            let Some(from) = imported(&part.model, domain).filter(|from| from < version) else { continue };
            rename_shadowed(part, (index, domain, *version), registry, merged);
            raise(part, (index, domain, *version), registry, places)?;
            let domain = domain.clone();
            merged.raised.push(Raised { model: index, domain, from, to: *version });
        }
    }
    Ok(())
}

/// The newest version of each domain, in the order of the first import of each.
fn newest(parts: &[Part<'_>]) -> Vec<(String, i64)> {
    let mut newest: Vec<(String, i64)> = Vec::new();
    let mut indices: HashMap<String, usize, RandomState> = HashMap::default();
    for part in parts {
        for import in &part.model.info().opset_imports {
            let domain = part.model.str(import.domain()).to_owned();
            // A domain may be imported twice: the version in force counts.
            let version = imported(&part.model, &domain).unwrap_or_else(|| import.version());
            let index = *indices.entry(domain.clone()).or_insert(newest.len());
            match newest.get_mut(index) {
                Some((_, newest)) => *newest = version.max(*newest),
                None => newest.push((domain, version)),
            }
        }
    }
    newest
}

fn imported(model: &Model, domain: &str) -> Option<i64> {
    model.names().get(domain).and_then(|domain| model.versions_of(OpsetScope::Model).get(domain))
}

fn raise(
    part: &mut Part<'_>,
    (index, domain, version): (usize, &str, i64),
    registry: &Registry,
    places: &mut [(usize, ValueId)],
) -> Result<(), MergeError> {
    let error = |source: VersionError| MergeError::Version {
        model: index,
        domain: Quoted(domain).to_string(),
        version,
        source: Box::new(source),
    };
    let Some(set) = domain_symbol(domain).filter(|&set| opset_versions(set).is_some()) else {
        return raise_custom(part, (index, domain, version));
    };
    let before: Vec<(usize, Place)> = places
        .iter()
        .enumerate()
        .filter(|(_, (of, _))| *of == index)
        .map(|(slot, &(_, value))| (slot, Place::of(&part.model, value)))
        .collect();
    let options = ConvertOptions::default().with_domain(set).with_registry(registry);
    convert(part.model.to_mut(), version, &options).map_err(error)?;
    for (slot, place) in before {
        let found = place.find(&part.model).ok_or_else(|| MergeError::Model {
            model: index,
            reason: "the conversion to a newer operator set removes a value that is connected".to_owned(),
        })?;
        if let Some((_, value)) = places.get_mut(slot) {
            *value = found;
        }
    }
    Ok(())
}

/// Renames functions whose names are those of operators in a newer version: calls of these would call the operators.
fn rename_shadowed(
    part: &mut Part<'_>,
    (index, domain, version): (usize, &str, i64),
    registry: &Registry,
    merged: &mut Merged,
) {
    let Some(set) = domain_symbol(domain) else { return };
    let from = imported(&part.model, domain).unwrap_or_default();
    let is_shadowed = |&function: &FunctionId| {
        let record = part.model.function(function);
        record.domain() == set
            && onnx_schema::lookup(set, record.name(), version).is_some()
            && onnx_schema::lookup(set, record.name(), from).is_none()
    };
    let wanted: Vec<FunctionId> = part.model.functions().iter().copied().filter(is_shadowed).collect();
    if !wanted.is_empty() {
        rename_functions(part, index, &wanted, &|_| true, registry, merged);
    }
}

/// Raises an operator set that is not ONNX's: possible if every node of the domain calls a function of the model.
fn raise_custom(part: &mut Part<'_>, (index, domain, version): (usize, &str, i64)) -> Result<(), MergeError> {
    let model = &*part.model;
    let symbol = model.names().get(domain).unwrap_or_default();
    let mut nodes = model.all_graphs().flat_map(|graph| model.nodes(graph));
    let is_open = |node| {
        let record = model.node(node);
        record.domain() == symbol && model.function_called(record).is_none()
    };
    let open = nodes.find(|&node| is_open(node));
    drop(nodes);
    if let Some(node) = open {
        let (op, from) = (model.str(model.node(node).op()), imported(model, domain).unwrap_or_default());
        let reason = format!(
            "it imports version {from} of the operator set {}, another model version {version}, and what changes in \
             {} is not known",
            Quoted(domain),
            Quoted(op)
        );
        return Err(MergeError::Model { model: index, reason });
    }
    let mut info = part.model.to_mut().info_mut();
    let imports = info.opset_imports.iter_mut().filter(|import| import.domain() == symbol);
    imports.for_each(|import| import.set_version(version));
    Ok(())
}

/// The key by which a value is found after a conversion.
enum Place {
    Kept(ValueId),
    Output(usize),
    Name(Symbol),
}

impl Place {
    fn of(model: &Model, value: ValueId) -> Self {
        let outputs = model.graph(model.main_graph()).outputs();
        if let Some(index) = outputs.iter().position(|output| output.value() == value) {
            return Self::Output(index);
        }
        match model.value(value).def() {
            onnx_ir::Def::Input { .. } => Self::Kept(value),
            _ => Self::Name(model.value(value).name()),
        }
    }

    fn find(&self, model: &Model) -> Option<ValueId> {
        let main = model.main_graph();
        match *self {
            Self::Kept(value) => model.get_value(value).map(|_| value),
            Self::Output(index) => model.graph(main).outputs().get(index).map(onnx_ir::GraphOutput::value),
            Self::Name(name) => model.find_value(main, model.str(name)),
        }
    }
}
