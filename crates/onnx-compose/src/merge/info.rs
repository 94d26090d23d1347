//! The descriptions of a merged model and its main graph.

use onnx_diag::Quoted;
use onnx_ir::{Importer, MetadataEntry, Model, OpsetImport, OpsetScope};
use onnx_types::Symbol;

use super::{MergeError, Merged, Part, Renamed, RenamedKind};

/// Describes the merged model: producer, domain and versions of the first model that states them, the documentation and
/// metadata of all.
pub(super) fn describe(
    parts: &[Part<'_>],
    importers: &mut [Importer<'_>],
    merged: &mut Merged,
) -> Result<(), MergeError> {
    let model = &mut merged.model;
    let main = model.main_graph();
    let (mut titles, mut docs, mut graph_docs) = (Vec::new(), Vec::new(), Vec::new());
    let mut graph_metadata: Vec<MetadataEntry> = Vec::new();
    for (index, (part, importer)) in parts.iter().zip(importers.iter_mut()).enumerate() {
        let (info, graph) = (part.model.info(), part.model.graph(part.main()));
        titles.push(part.model.str(graph.name()));
        docs.push(part.model.str(info.doc));
        graph_docs.push(part.model.str(graph.doc));
        let [name, version, domain] = [info.producer_name, info.producer_version, info.domain]
            .map(|symbol| importer.symbol(model, symbol));
        let ir_version = model.info().ir_version.max(info.ir_version);
        let is_first = index == 0;
        let mut target = model.info_mut();
        target.ir_version = ir_version;
        if target.producer_name.is_empty() {
            (target.producer_name, target.producer_version) = (name, version);
        }
        if target.domain.is_empty() {
            target.domain = domain;
        }
        if is_first {
            (target.model_version, target.forms) = (info.model_version, info.forms);
        }
        if is_first || target.unknown.is_empty() {
            target.unknown.clone_from(&info.unknown);
        }
        drop(target);
        let mut all = model.info().metadata.to_vec();
        add_metadata(model, importer, (index, part), &info.metadata, &mut all, &mut merged.renamed);
        model.info_mut().metadata = all.into_iter().collect();
        add_metadata(
            model,
            importer,
            (index, part),
            graph.metadata(),
            &mut graph_metadata,
            &mut merged.renamed,
        );
        add_configurations(model, importer, (index, part))?;
    }
    let title = model.intern(&joined(&titles, "_"));
    model.set_graph_name(main, title);
    let [doc, graph_doc] = [docs, graph_docs].map(|docs| model.intern(&joined(&docs, "\n\n")));
    model.info_mut().doc = doc;
    let mut graph = model.graph_mut(main);
    (graph.doc, graph.metadata) = (graph_doc, graph_metadata.into_iter().collect());
    Ok(())
}

/// Imports the operator sets of all models, whose versions are equal.
pub(super) fn versions(parts: &[Part<'_>], importers: &mut [Importer<'_>], model: &mut Model) {
    let imports = model.info().opset_imports.iter();
    let mut known: std::collections::HashSet<Symbol, foldhash::fast::RandomState> =
        imports.map(|import| onnx_schema::normalize_domain(import.written_domain())).collect();
    for (part, importer) in parts.iter().zip(importers.iter_mut()) {
        let versions = part.model.versions_of(OpsetScope::Model);
        for import in &part.model.info().opset_imports {
            let domain = importer.symbol(model, import.written_domain());
            if known.insert(onnx_schema::normalize_domain(domain)) {
                let version = versions.get(import.domain()).unwrap_or_else(|| import.version());
                model.info_mut().opset_imports.push(OpsetImport::new(domain, version));
            }
        }
    }
}

/// Texts that differ, without empty ones.
fn joined(texts: &[&str], between: &str) -> String {
    let mut different: Vec<&str> = Vec::new();
    let mut seen: std::collections::HashSet<&str, foldhash::fast::RandomState> = Default::default();
    different.extend(texts.iter().copied().filter(|text| !text.is_empty() && seen.insert(text)));
    different.join(between)
}

/// Adds entries; one whose key has another value gets another key.
fn add_metadata(
    model: &mut Model,
    importer: &mut Importer<'_>,
    (index, part): (usize, &Part<'_>),
    entries: &[MetadataEntry],
    all: &mut Vec<MetadataEntry>,
    renamed: &mut Vec<Renamed>,
) {
    let known: std::collections::HashMap<Symbol, usize, foldhash::fast::RandomState> =
        all.iter().enumerate().map(|(at, entry)| (entry.key(), at)).collect();
    let mut taken: std::collections::HashSet<Symbol, foldhash::fast::RandomState> =
        known.keys().copied().collect();
    for entry in entries {
        let key = importer.symbol(model, entry.key());
        let Some(other) = known.get(&key).and_then(|&at| all.get(at)) else {
            taken.insert(key);
            all.push(MetadataEntry::new(key, entry.value().clone()));
            continue;
        };
        if other.value().as_str() == entry.value().as_str() {
            continue;
        }
        let like = part.model.str(entry.key()).to_owned();
        let mut number = 2_u64;
        let free = loop {
            let name = model.intern(&format!("{like}_{number}"));
            if taken.insert(name) {
                break name;
            }
            number = number.saturating_add(1);
        };
        let to = model.str(free).to_owned();
        renamed.push(Renamed { model: index, kind: RenamedKind::Metadata, from: like, to });
        all.push(MetadataEntry::new(free, entry.value().clone()));
    }
}

/// Adds the device configurations of a model; one of a name that differs is refused.
fn add_configurations(
    model: &mut Model,
    importer: &mut Importer<'_>,
    (index, part): (usize, &Part<'_>),
) -> Result<(), MergeError> {
    for configuration in &part.model.info().configurations {
        let devices = configuration.devices.iter().map(|&device| importer.symbol(model, device)).collect();
        let name = importer.symbol(model, configuration.name);
        let mut copy = configuration.clone();
        (copy.name, copy.devices) = (name, devices);
        match model.info().configurations.iter().find(|known| known.name == name) {
            Some(known) if *known == copy => {}
            Some(_) => {
                let name = Quoted(part.model.str(configuration.name)).to_string();
                let reason = format!("another model has a different device configuration {name}");
                return Err(MergeError::Model { model: index, reason });
            }
            None => model.info_mut().configurations.push(copy),
        }
    }
    Ok(())
}
