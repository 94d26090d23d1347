//! The operators that are known, standard and declared ones alike.

use onnx_schema::{DeclaredSchema, OperatorSet, Registry, known_name, versions};

use super::args::SetArgs;
use crate::exit::Failure;
use crate::output::shown;

/// The name of a domain for people: the default one has a spelling.
pub(super) fn domain_name(domain: &str) -> &str {
    if domain.is_empty() { "ai.onnx" } else { domain }
}

/// All schemas of an operator, oldest first.
pub(super) fn history(registry: &Registry, domain: &str, op: &str) -> Vec<DeclaredSchema> {
    let symbols = onnx_schema::domain_symbol(domain).zip(onnx_schema::op_symbol(op));
    let standard = symbols.map(|(domain, op)| versions(domain, op)).unwrap_or_default();
    let mut history: Vec<DeclaredSchema> = standard.iter().map(Into::into).collect();
    let newest = history.last().map_or(0, DeclaredSchema::since_version);
    let declared = registry.declared_history(domain, op);
    history.extend(declared.filter(|schema| schema.since_version() > newest).cloned());
    history
}

/// Who defines an operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    Onnx,
    Document,
    Onnxruntime,
}

impl Source {
    /// Who defines an operator of a domain. The sets of onnxruntime are open, and those of documents are not.
    pub(super) fn of(registry: &Registry, domain: &str, op: &str) -> Self {
        let symbols = onnx_schema::domain_symbol(domain).zip(onnx_schema::op_symbol(op));
        if symbols.is_some_and(|(domain, op)| !versions(domain, op).is_empty()) {
            return Self::Onnx;
        }
        if registry.declared_versions(domain).is_some() { Self::Document } else { Self::Onnxruntime }
    }

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Onnx => "onnx",
            Self::Document => "document",
            Self::Onnxruntime => "onnxruntime",
        }
    }
}

/// The domains that are known.
pub(super) fn domains(registry: &Registry) -> Vec<String> {
    let standard = onnx_schema::domains().filter_map(known_name).map(str::to_owned);
    let mut domains: Vec<String> = standard.collect();
    for domain in registry.declared_domains() {
        if !domains.iter().any(|known| known == domain) {
            domains.push(domain.to_owned());
        }
    }
    domains
}

/// The newest version that is known of a domain.
pub(super) fn newest(registry: &Registry, domain: &str) -> Option<i64> {
    let standard = onnx_schema::domain_symbol(domain).and_then(onnx_schema::latest_opset);
    let declared = registry.declared_versions(domain).map(|versions| *versions.end());
    standard.max(declared)
}

/// The operators of a domain at a version, in alphabetical order.
pub(super) fn set(registry: &Registry, domain: &str, version: i64) -> Result<OperatorSet, Failure> {
    let names = onnx_schema::operators().filter_map(<[_]>::first);
    let names = names.filter(|first| first.domain_name() == domain).map(|first| first.name());
    let mut names: Vec<&str> = names.chain(registry.declared_operators(domain)).collect();
    names.sort_unstable();
    names.dedup();
    let mut set = OperatorSet::new(domain, version);
    for name in names {
        let schema = match registry.lookup(domain, name, version) {
            Some(onnx_schema::SchemaRef::Standard(schema)) => schema.into(),
            Some(onnx_schema::SchemaRef::Declared(schema)) => schema.clone(),
            None => continue,
        };
        set.add_schema(schema).map_err(Failure::defect)?;
    }
    Ok(set)
}

/// The operator sets that the command line names.
pub(super) fn sets(registry: &Registry, args: &SetArgs) -> Result<Vec<OperatorSet>, Failure> {
    let domains = match &args.domain {
        Some(domain) => vec![known_domain(registry, domain)?],
        None if args.opset.is_some() => vec![String::new()],
        None => domains(registry),
    };
    domains.iter().map(|domain| set(registry, domain, version(registry, domain, args.opset)?)).collect()
}

/// The canonical name of a domain, if it is known.
pub(super) fn known_domain(registry: &Registry, name: &str) -> Result<String, Failure> {
    let canonical = if name == "ai.onnx" { "" } else { name };
    let known = domains(registry);
    if known.iter().any(|domain| domain == canonical) {
        return Ok(canonical.to_owned());
    }
    let names: Vec<&str> = known.iter().map(|domain| domain_name(domain)).collect();
    let failure = Failure::new(format_args!("nothing is known of domain `{}`", shown(name)));
    Err(failure.help(format!("known are {}; `--ops FILE` adds a document", names.join(", "))))
}

/// The version that is meant: the given one, if the domain has it, or the newest.
pub(super) fn version(registry: &Registry, domain: &str, given: Option<i64>) -> Result<i64, Failure> {
    let newest = newest(registry, domain).unwrap_or(1);
    match given {
        None => Ok(newest),
        Some(version) if (1..=newest).contains(&version) => Ok(version),
        Some(version) => {
            let domain = domain_name(domain);
            let failure = Failure::new(format_args!("`{}` has no version {version}", shown(domain)));
            Err(failure.help(format!("the newest that is known is {newest}")))
        }
    }
}
