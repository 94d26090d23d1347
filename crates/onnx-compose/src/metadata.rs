//! Descriptions of a model that do not affect its results: metadata, producer, documentation.

use onnx_ir::{MetadataEntry, Model, set_metadata};
use onnx_types::Symbol;

/// A change of what describes a model.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MetadataEdit {
    /// Sets the entry of a key of `metadata_props` of the model; it is added if there is none. A key that occurs several times
    /// keeps one entry.
    Set(String, String),
    /// Removes the entries of a key from `metadata_props` of the model.
    Remove(String),
    /// Sets the name of the tool that made the model.
    ProducerName(String),
    /// Sets the version of that tool.
    ProducerVersion(String),
    /// Sets the domain of the model, in reverse-DNS style.
    Domain(String),
    /// Sets the version of the model.
    ModelVersion(i64),
    /// Sets the documentation of the model.
    Doc(String),
    /// Sets the name of the main graph.
    GraphName(String),
    /// Removes the documentation of the model, its graphs, functions, nodes and values.
    RemoveDocs,
    /// Removes all metadata of the model, its graphs, functions, nodes and values.
    RemoveMetadata,
}

/// Changes descriptions, in order. Returns the number of strings that have changed.
pub fn edit_metadata(model: &mut Model, edits: &[MetadataEdit]) -> usize {
    edits.iter().map(|edit| apply(model, edit)).sum()
}

fn apply(model: &mut Model, edit: &MetadataEdit) -> usize {
    match edit {
        MetadataEdit::Set(key, value) => {
            let key = model.intern(key);
            usize::from(set_metadata(&mut model.info_mut().metadata, key, value.as_str()))
        }
        MetadataEdit::Remove(key) => {
            let key = model.intern(key);
            let before = model.info().metadata.len();
            model.info_mut().metadata.retain(|entry| entry.key() != key);
            before.saturating_sub(model.info().metadata.len())
        }
        MetadataEdit::ProducerName(text) => {
            let text = model.intern(text);
            replace(&mut model.info_mut().producer_name, text)
        }
        MetadataEdit::ProducerVersion(text) => {
            let text = model.intern(text);
            replace(&mut model.info_mut().producer_version, text)
        }
        MetadataEdit::Domain(text) => {
            let text = model.intern(text);
            replace(&mut model.info_mut().domain, text)
        }
        MetadataEdit::Doc(text) => {
            let text = model.intern(text);
            replace(&mut model.info_mut().doc, text)
        }
        MetadataEdit::ModelVersion(version) => {
            let differs = model.info().model_version != *version;
            model.info_mut().model_version = *version;
            usize::from(differs)
        }
        MetadataEdit::GraphName(text) => {
            let (graph, text) = (model.main_graph(), model.intern(text));
            let differs = model.graph(graph).name() != text;
            model.set_graph_name(graph, text);
            usize::from(differs)
        }
        MetadataEdit::RemoveDocs => clear(model, &mut |doc, _| replace(doc, Symbol::EMPTY)),
        MetadataEdit::RemoveMetadata => clear(model, &mut |_, metadata| std::mem::take(metadata).len()),
    }
}

fn replace(slot: &mut Symbol, new: Symbol) -> usize {
    usize::from(std::mem::replace(slot, new) != new)
}

/// Calls a function with the documentation and the metadata of everything that has them.
fn clear(model: &mut Model, edit: &mut dyn FnMut(&mut Symbol, &mut Vec<MetadataEntry>) -> usize) -> usize {
    let mut count = 0;
    {
        let mut info = model.info_mut();
        let info = &mut *info;
        count += edit(&mut info.doc, &mut info.metadata);
    }
    for function in model.functions().to_vec() {
        let mut info = model.function_mut(function);
        let info = &mut *info;
        count += edit(&mut info.doc, &mut info.metadata);
    }
    let graphs: Vec<_> = model.all_graphs().collect();
    for graph in graphs {
        {
            let mut info = model.graph_mut(graph);
            let info = &mut *info;
            count += edit(&mut info.doc, &mut info.metadata);
        }
        let nodes: Vec<_> = model.nodes(graph).collect();
        for node in nodes.into_iter().filter(|&node| model.node(node).extras().is_some()).collect::<Vec<_>>()
        {
            let mut extras = model.node_extras_mut(node);
            let extras = &mut *extras;
            count += edit(&mut extras.doc, &mut extras.metadata);
        }
        let values: Vec<_> =
            model.definitions(graph).filter(|&value| model.value(value).extras().is_some()).collect();
        for value in values {
            let mut extras = model.value_extras_mut(value);
            let extras = &mut *extras;
            count += edit(&mut extras.doc, &mut extras.metadata);
        }
    }
    count
}
