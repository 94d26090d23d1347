//! Gathers the facts about a model, in time linear in the graph and without reading any weights.

use std::collections::{HashMap, HashSet};

use onnx_functions::{FunctionSize, function_sizes};
use onnx_ir::{GraphId, Model, NodeId, OpsetImport, Owner, ValueId};
use onnx_schema::{Registry, lookup, onnxruntime, opset_versions, releases, versions};
use onnx_types::Symbol;

use super::facts::{
    Facts, Findings, FunctionFacts, FunctionOpset, GraphFacts, Operator, OperatorStatus, Opset, OpsetStatus,
    Port, Property,
};
use super::{types, weights};
use crate::input::Loaded;

pub(super) fn gather(loaded: &Loaded) -> Facts {
    let model = &loaded.model;
    let info = model.info();
    let text = |symbol: Symbol| model.str(symbol).to_owned();
    let main = model.graph(model.main_graph());
    let usage = Usage::of(model);
    let counts = loaded.findings.counts();
    Facts {
        name: loaded.name.clone(),
        file: loaded.name.clone(),
        format: loaded.format.name(),
        bytes: loaded.bytes,
        ir_version: info.ir_version,
        ir_releases: releases_of_ir(info.ir_version),
        producer_name: text(info.producer_name),
        producer_version: text(info.producer_version),
        domain: text(info.domain),
        model_version: info.model_version,
        doc_string: text(info.doc),
        opsets: opsets(model),
        metadata: info
            .metadata
            .iter()
            .map(|entry| Property { key: text(entry.key()), value: entry.value().to_string() })
            .collect(),
        graph: graphs(model),
        inputs: main.inputs().iter().map(|&value| port(model, value, None)).collect(),
        outputs: main
            .outputs()
            .iter()
            .map(|output| port(model, output.value(), output.own().and_then(|own| own.ty.as_deref())))
            .collect(),
        functions: functions(model),
        operators: usage.operators(model),
        weights: weights::gather(loaded),
        findings: Findings { errors: counts.errors, warnings: counts.warnings, notes: counts.notes },
        versions: None,
    }
}

/// The first and the last release that came with an IR version.
fn releases_of_ir(version: i64) -> Option<[&'static str; 2]> {
    let mut names = releases().iter().filter(|release| release.ir_version() == version).map(|r| r.name());
    let first = names.next()?;
    Some([first, names.next_back().unwrap_or(first)])
}

/// A domain for people: the empty one has a name, too.
pub(super) fn domain_name(model: &Model, domain: Symbol) -> String {
    let domain = onnx_schema::normalize_domain(domain);
    if domain.is_empty() { "ai.onnx".to_owned() } else { model.str(domain).to_owned() }
}

fn opsets(model: &Model) -> Vec<Opset> {
    let own: HashSet<Symbol> = model.functions().iter().map(|&f| model.function(f).domain()).collect();
    model.info().opset_imports.iter().map(|import| opset(model, import, &own)).collect()
}

/// What is known of an import, given the domains of the model's functions.
fn opset(model: &Model, import: &OpsetImport, own: &HashSet<Symbol>) -> Opset {
    let (domain, version) = (import.domain(), import.version());
    let status = match opset_versions(domain) {
        Some(versions) if versions.contains(&version) => OpsetStatus::Known,
        Some(_) => OpsetStatus::Unknown,
        None if own.contains(&domain) => OpsetStatus::Functions,
        None if is_of_onnxruntime(model.str(domain)) => OpsetStatus::Onnxruntime,
        None => OpsetStatus::Custom,
    };
    let has_it = |opset: Option<i64>| opset.is_some_and(|newest| newest >= version);
    let release = releases().iter().find(|release| has_it(release.opset(domain)));
    let release = release.filter(|_| status == OpsetStatus::Known).map(|release| release.name());
    Opset { domain: domain_name(model, domain), version, release, status }
}

/// Whether onnxruntime adds operators to a domain that is none of ONNX.
fn is_of_onnxruntime(domain: &str) -> bool {
    onnxruntime::all().iter().any(|schema| schema.domain() == domain)
}

fn functions(model: &Model) -> Vec<FunctionFacts> {
    let sizes = function_sizes(model, Registry::STANDARD);
    sizes.iter().map(|size| function(model, size)).collect()
}

fn function(model: &Model, size: &FunctionSize) -> FunctionFacts {
    let record = model.function(size.function);
    let body = model.graph(record.body());
    let text = |symbol: Symbol| model.str(symbol).to_owned();
    let name = |value: ValueId| text(model.value(value).name());
    let opsets = record.opset_imports.iter().map(|import| FunctionOpset {
        domain: domain_name(model, import.domain()),
        version: import.version(),
    });
    FunctionFacts {
        domain: domain_name(model, record.domain()),
        name: text(record.name()),
        overload: text(record.overload()),
        calls: size.calls,
        nodes: size.nodes,
        expanded_nodes: size.expanded,
        inputs: body.inputs().iter().copied().map(name).collect(),
        outputs: body.outputs().iter().map(|output| name(output.value())).collect(),
        attributes: record.attributes.iter().copied().map(text).collect(),
        optional_attributes: record.defaults.iter().map(|default| text(default.name())).collect(),
        opsets: opsets.collect(),
    }
}

fn graphs(model: &Model) -> GraphFacts {
    let main = model.graph(model.main_graph());
    let mut facts = GraphFacts {
        name: model.str(main.name()).to_owned(),
        nodes: main.node_count() as u64,
        all_nodes: model.node_count() as u64,
        all_values: model.value_count() as u64,
        training_steps: model.info().training.len() as u64,
        device_configurations: model.info().configurations.len() as u64,
        ..GraphFacts::default()
    };
    for graph in model.all_graphs() {
        let record = model.graph(graph);
        facts.quantization_annotations += record.quantization.len() as u64;
        if let Owner::Node(_) = record.owner() {
            facts.subgraphs += 1;
            facts.depth = facts.depth.max(depth(model, graph));
        }
    }
    facts
}

/// How many graphs enclose a graph; files nest no deeper than decoding allows.
fn depth(model: &Model, graph: GraphId) -> u64 {
    std::iter::successors(model.parent(graph), |&graph| model.parent(graph)).map(|_| 1).sum()
}

fn port(model: &Model, value: ValueId, own: Option<&onnx_types::Type>) -> Port {
    let record = model.value(value);
    let ty = own.or_else(|| record.ty());
    let tensor = ty.and_then(|ty| ty.tensor_type());
    Port {
        name: model.str(record.name()).to_owned(),
        r#type: ty.map_or_else(|| "no type".to_owned(), |ty| types::text(model, ty)),
        element_type: tensor.map(|tensor| tensor.elem.name()),
        shape: ty.and_then(|ty| types::dims(model, ty)),
        has_default: record.initializer().is_some(),
    }
}

/// The imported version of each domain; the last import wins, as everywhere.
fn imports_of(imports: &[OpsetImport]) -> HashMap<Symbol, i64> {
    imports.iter().map(|import| (import.domain(), import.version())).collect()
}

/// Which operators are used, how often.
#[derive(Default)]
struct Usage {
    /// By domain, operator and imported version.
    operators: HashMap<(Symbol, Symbol, Option<i64>, bool), u64>,
}

impl Usage {
    fn of(model: &Model) -> Self {
        let mut usage = Self::default();
        let main_imports = imports_of(&model.info().opset_imports);
        for root in model.roots() {
            let imports = match model.graph(root).owner() {
                Owner::Function(function) => &imports_of(&model.function(function).opset_imports),
                _ => &main_imports,
            };
            for node in model.graphs_in(root).flat_map(|graph| model.nodes(graph)) {
                usage.node(model, node, imports);
            }
        }
        usage
    }

    fn node(&mut self, model: &Model, node: NodeId, imports: &HashMap<Symbol, i64>) {
        let record = model.node(node);
        let callee = model.function_called(record);
        let version = imports.get(&record.domain()).copied();
        *self.operators.entry((record.domain(), record.op(), version, callee.is_some())).or_default() += 1;
    }

    /// The operators, the most frequent first.
    fn operators(&self, model: &Model) -> Vec<Operator> {
        let mut merged: HashMap<(Symbol, Symbol), (u64, OperatorStatus)> = HashMap::new();
        #[expect(clippy::iter_over_hash_type, reason = "sums and maxima do not depend on the order")]
        for (&(domain, op, version, is_call), &count) in &self.operators {
            let status =
                if is_call { OperatorStatus::Function } else { status(model, (domain, op), version) };
            let entry = merged.entry((domain, op)).or_insert((0, status));
            entry.0 += count;
            entry.1 = entry.1.max(status);
        }
        let mut operators: Vec<Operator> = merged
            .into_iter()
            .map(|((domain, op), (count, status))| Operator {
                domain: domain_name(model, domain),
                name: model.str(op).to_owned(),
                count,
                status,
            })
            .collect();
        operators.sort_by(|a, b| {
            b.count.cmp(&a.count).then_with(|| a.name.cmp(&b.name)).then_with(|| a.domain.cmp(&b.domain))
        });
        operators
    }
}

fn status(model: &Model, (domain, op): (Symbol, Symbol), version: Option<i64>) -> OperatorStatus {
    if opset_versions(domain).is_none() {
        let (domain, op) = (model.str(domain), model.str(op));
        if onnxruntime::lookup(domain, op, version.unwrap_or(i64::MAX)).is_some() {
            return OperatorStatus::Onnxruntime;
        }
        return OperatorStatus::Custom;
    }
    if versions(domain, op).is_empty() {
        return OperatorStatus::Unknown;
    }
    let Some(version) = version else { return OperatorStatus::Unimported };
    match lookup(domain, op, version) {
        None => OperatorStatus::Version,
        Some(schema) if schema.is_deprecated() => OperatorStatus::Deprecated,
        Some(_) => OperatorStatus::Known,
    }
}
