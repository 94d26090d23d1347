//! The nodes of a result: the pass that made each, and the nodes of the input that it goes back to.

use onnx_ir::{DerivationSource, MetadataEntry, Model, NodeId, Origin};
use serde_json::{Value, json};

use crate::exit::Failure;

/// The keys of the metadata of nodes.
const PASS: &str = "onnx.pass";
const SOURCES: &str = "onnx.pass.sources";

/// The first version of the format in which nodes have metadata.
const WITH_METADATA: i64 = 10;

/// All nodes, graph by graph.
pub(super) fn nodes(model: &Model) -> Vec<Value> {
    let nodes = model.all_graphs().flat_map(|graph| model.nodes(graph));
    nodes.map(|node| entry(model, node)).collect()
}

fn entry(model: &Model, node: NodeId) -> Value {
    let record = model.node(node);
    let source = |source: DerivationSource| {
        json!({
            "op": model.str(source.op),
            "name": model.str(source.name),
            "byte": match source.origin { Origin::Byte(offset) => Some(offset), _ => None },
        })
    };
    json!({
        "graph": model.str(model.graph(record.graph()).name()),
        "op": model.str(record.op()),
        "name": model.str(record.name()),
        "output": record.output(0).map(|value| model.str(model.value(value).name())),
        "pass": pass(model, node),
        "sources": model.root_sources(node).into_iter().map(source).collect::<Vec<_>>(),
    })
}

/// The pass that made a node.
fn pass(model: &Model, node: NodeId) -> Option<&str> {
    let Origin::Derived(id) = model.node_origin(node) else { return None };
    model.derivation(id).map(|derivation| model.str(derivation.pass))
}

/// Writes the pass and the sources into the metadata of the nodes that passes made.
pub(super) fn annotate(model: &mut Model) -> Result<(), Failure> {
    let made: Vec<(NodeId, String)> = model
        .all_graphs()
        .flat_map(|graph| model.nodes(graph))
        .filter_map(|node| pass(model, node).map(|pass| (node, pass.to_owned())))
        .collect();
    if made.is_empty() {
        return Ok(());
    }
    if model.info().ir_version < WITH_METADATA {
        let version = model.info().ir_version;
        return Err(Failure::new(format_args!("nodes have no metadata in version {version} of the format"))
            .help("`--journal FILE` writes the same into a file"));
    }
    let (pass_key, sources_key) = (model.intern(PASS), model.intern(SOURCES));
    for (node, pass) in made {
        let sources = model.root_sources(node);
        let texts = sources.iter().map(|source| match model.str(source.name) {
            "" => model.str(source.op).to_owned(),
            name => format!("{} {name}", model.str(source.op)),
        });
        let sources = texts.collect::<Vec<_>>().join("; ");
        let mut extras = model.node_extras_mut(node);
        extras.metadata.retain(|entry| entry.key() != pass_key && entry.key() != sources_key);
        extras.metadata.push(MetadataEntry::new(pass_key, pass));
        extras.metadata.push(MetadataEntry::new(sources_key, sources));
    }
    Ok(())
}
