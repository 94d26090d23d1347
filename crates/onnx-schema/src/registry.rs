//! The operators that a program knows: the standard ones and, laid over them, those of packs.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::RangeInclusive;
use std::sync::Arc;

use crate::declared_schemas::{DeclareError, DeclaredSchema, OperatorSet, normal_domain};
use crate::facts::Schema;
use crate::pack::{Extension, Extensions, Pack};
use crate::signature::FormalOption;

/// The operators that are known: the standard sets, which never change, and the [packs](Pack) that were laid over them.
///
/// The registry is not global. A caller that needs custom operators creates a value of this type and passes it to the
/// checker, inference, the generator, the evaluator and passes; it is immutable, and cloning it copies two pointers.
/// [`with`](Self::with) returns a new registry with one more pack.
///
/// Operators that ONNX defines cannot be redefined: in a domain of ONNX, a declared set may only add versions newer
/// than this crate supports, and its other content is ignored.
#[derive(Clone, Default)]
pub struct Registry {
    /// `None` when there are only the standard sets.
    domains: Option<Arc<BTreeMap<String, Domain>>>,
    /// `None` when no pack has any.
    extensions: Option<Arc<Extensions>>,
}

/// A registry is shared: a copy refers to the same declarations and extensions.
impl From<&Self> for Registry {
    fn from(registry: &Self) -> Self {
        registry.clone()
    }
}

/// The declarations of one domain.
#[derive(Clone)]
struct Domain {
    /// The oldest and the newest version that was declared.
    versions: RangeInclusive<i64>,
    /// The schemas of each operator, oldest first.
    operators: BTreeMap<String, Vec<Arc<DeclaredSchema>>>,
    /// Whether the domain can have other operators and versions.
    is_open: bool,
}

impl Registry {
    /// [`standard`](Self::standard) to refer to: the default of options that borrow a registry.
    pub const STANDARD: &'static Self = &Self::standard();

    /// The registry that contains only the standard sets.
    #[must_use]
    pub const fn standard() -> Self {
        Self { domains: None, extensions: None }
    }

    /// This registry and one more pack; a single operator set is also a pack.
    ///
    /// # Errors
    ///
    /// Returns an error if another set declares the same version of an operator in another way.
    pub fn with(&self, pack: impl Into<Pack>) -> Result<Self, DeclareError> {
        let pack = pack.into();
        let mut registry = self.clone();
        if !pack.sets.is_empty() {
            let mut domains = self.domains.as_deref().cloned().unwrap_or_default();
            for (set, is_open) in pack.sets {
                lay(&mut domains, set, is_open)?;
            }
            registry.domains = Some(Arc::new(domains));
        }
        if !pack.extensions.is_empty() {
            let mut extensions = self.extensions.as_deref().cloned().unwrap_or_default();
            extensions.merge(&pack.extensions);
            registry.extensions = Some(Arc::new(extensions));
        }
        Ok(registry)
    }

    /// The content of the packs for the crate that defines this extension.
    #[must_use]
    pub fn extension<T: Extension>(&self) -> Option<&T> {
        self.extensions.as_deref()?.get()
    }

    /// Returns `true` if there are declared sets in addition to the standard ones.
    #[must_use]
    pub const fn has_declared(&self) -> bool {
        self.domains.is_some()
    }

    /// The domains of the declared sets, in alphabetical order.
    pub fn declared_domains(&self) -> impl Iterator<Item = &str> {
        self.domains.iter().flat_map(|domains| domains.keys().map(String::as_str))
    }

    /// The oldest and the newest version of a domain that the declared sets have; `None` for a domain of which only
    /// [open](Pack::with_open_set) sets are declared.
    #[must_use]
    pub fn declared_versions(&self, domain: &str) -> Option<RangeInclusive<i64>> {
        self.domain(domain).filter(|domain| !domain.is_open).map(|domain| domain.versions.clone())
    }

    /// The schemas that the declared sets have for an operator, oldest first.
    pub fn declared_history(&self, domain: &str, op: &str) -> impl Iterator<Item = &DeclaredSchema> {
        let schemas = self.domain(domain).and_then(|domain| domain.operators.get(op));
        schemas.into_iter().flatten().map(Arc::as_ref)
    }

    /// The names of the operators that the declared sets have in a domain, in alphabetical order.
    pub fn declared_operators(&self, domain: &str) -> impl Iterator<Item = &str> {
        self.domain(domain).into_iter().flat_map(|domain| domain.operators.keys().map(String::as_str))
    }

    /// The schema that the declared sets have for an operator in a model that imports the given version of its domain:
    /// the one with the greatest version not above it.
    #[must_use]
    pub fn declared(&self, domain: &str, op: &str, opset_version: i64) -> Option<&DeclaredSchema> {
        let schemas = self.domain(domain)?.operators.get(op)?;
        let found = schemas.iter().rev().find(|schema| schema.since_version() <= opset_version)?;
        Some(found)
    }

    /// The schema that holds for an operator in a model that imports the given version of its domain, standard or
    /// declared: the one with the greatest version not above it, and of two with one version the standard one.
    #[must_use]
    pub fn lookup(&self, domain: &str, op: &str, opset_version: i64) -> Option<SchemaRef<'_>> {
        let standard = crate::lookup_by_name(domain, op, opset_version);
        let declared = self.declared(domain, op, opset_version);
        match (standard, declared) {
            (Some(standard), Some(declared)) if declared.since_version() > standard.since_version() => {
                Some(SchemaRef::Declared(declared))
            }
            (Some(standard), _) => Some(SchemaRef::Standard(standard)),
            (None, declared) => declared.map(SchemaRef::Declared),
        }
    }

    fn domain(&self, name: &str) -> Option<&Domain> {
        self.domains.as_ref()?.get(normal_domain(name))
    }
}

/// The number of operators of each declared domain: the schemas themselves would fill pages.
impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let domains = self.domains.iter().flat_map(|domains| domains.iter());
        f.debug_map().entries(domains.map(|(name, domain)| (name, domain.operators.len()))).finish()
    }
}

/// Adds a set to what is declared.
fn lay(domains: &mut BTreeMap<String, Domain>, set: OperatorSet, is_open: bool) -> Result<(), DeclareError> {
    let version = set.version();
    let domain = domains.entry(set.domain().to_owned()).or_insert_with(|| Domain {
        versions: version..=version,
        operators: BTreeMap::new(),
        is_open,
    });
    let (oldest, newest) = (*domain.versions.start(), *domain.versions.end());
    domain.is_open &= is_open;
    domain.versions = oldest.min(version)..=newest.max(version);
    for schema in set.into_operators() {
        merge(domain.operators.entry(schema.name().to_owned()).or_default(), schema)?;
    }
    Ok(())
}

/// Adds a schema to those of its operator.
fn merge(versions: &mut Vec<Arc<DeclaredSchema>>, schema: DeclaredSchema) -> Result<(), DeclareError> {
    let place = versions.binary_search_by_key(&schema.since_version(), |known| known.since_version());
    match place {
        Err(place) => versions.insert(place, Arc::new(schema)),
        Ok(place) => {
            let Some(known) = versions.get_mut(place) else { return Ok(()) };
            if !known.has_same_signature(&schema) {
                return Err(DeclareError::Conflict(schema.to_string()));
            }
            for body in &schema.bodies {
                if known.bodies.iter().all(|(version, _)| *version != body.0) {
                    Arc::make_mut(known).bodies.push(body.clone());
                }
            }
        }
    }
    Ok(())
}

/// A schema, whether standard or declared, as far as callers need not care which it is.
#[derive(Clone, Copy, Debug)]
pub enum SchemaRef<'a> {
    /// A schema of ONNX.
    Standard(&'static Schema),
    /// A schema of a declared operator set.
    Declared(&'a DeclaredSchema),
}

impl<'a> SchemaRef<'a> {
    /// The operator name.
    #[must_use]
    pub fn name(self) -> &'a str {
        match self {
            Self::Standard(schema) => schema.name(),
            Self::Declared(schema) => schema.name(),
        }
    }

    /// The operator set version from which on the schema holds.
    #[must_use]
    pub const fn since_version(self) -> i64 {
        match self {
            Self::Standard(schema) => schema.since_version(),
            Self::Declared(schema) => schema.since_version(),
        }
    }

    /// Whether models of these versions must not use the operator.
    #[must_use]
    pub const fn is_deprecated(self) -> bool {
        match self {
            Self::Standard(schema) => schema.is_deprecated(),
            Self::Declared(schema) => schema.is_deprecated,
        }
    }

    /// Whether the schema is that of a declared operator set.
    #[must_use]
    pub const fn is_declared(self) -> bool {
        matches!(self, Self::Declared(_))
    }

    /// The numbers of inputs that nodes can have.
    #[must_use]
    pub fn inputs(self) -> Arity<'a> {
        match self {
            Self::Standard(schema) => {
                Arity { min: schema.min_inputs(), max: schema.max_inputs(), only: schema.input_counts() }
            }
            Self::Declared(schema) => {
                Arity { min: schema.min_inputs(), max: schema.max_inputs(), only: &schema.input_counts }
            }
        }
    }

    /// The numbers of outputs that nodes can have.
    #[must_use]
    pub fn outputs(self) -> Arity<'a> {
        match self {
            Self::Standard(schema) => {
                Arity { min: schema.min_outputs(), max: schema.max_outputs(), only: schema.output_counts() }
            }
            Self::Declared(schema) => {
                Arity { min: schema.min_outputs(), max: schema.max_outputs(), only: &schema.output_counts }
            }
        }
    }

    /// Name and option of the formal input that a node's input number `index` belongs to.
    #[must_use]
    pub fn input_for(self, index: usize) -> Option<(&'a str, FormalOption)> {
        match self {
            Self::Standard(schema) => schema.input_for(index).map(|formal| (formal.name, formal.option)),
            Self::Declared(schema) => {
                schema.input_for(index).map(|formal| (formal.name.as_str(), formal.option))
            }
        }
    }

    /// Name and option of the formal output that a node's output number `index` belongs to.
    #[must_use]
    pub fn output_for(self, index: usize) -> Option<(&'a str, FormalOption)> {
        match self {
            Self::Standard(schema) => schema.output_for(index).map(|formal| (formal.name, formal.option)),
            Self::Declared(schema) => {
                schema.output_for(index).map(|formal| (formal.name.as_str(), formal.option))
            }
        }
    }
}

impl fmt::Display for SchemaRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Standard(schema) => schema.fmt(f),
            Self::Declared(schema) => schema.fmt(f),
        }
    }
}

/// The numbers of inputs or outputs that an operator allows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Arity<'a> {
    /// The minimum.
    pub min: usize,
    /// The maximum; `None` if there is none.
    pub max: Option<usize>,
    /// The only ones, where not all between the bounds are allowed; empty otherwise.
    pub only: &'a [u16],
}

impl Arity<'_> {
    /// Returns `true` if a node can have `count` of them.
    #[must_use]
    pub fn allows(self, count: usize) -> bool {
        count >= self.min
            && self.max.is_none_or(|max| count <= max)
            && (self.only.is_empty() || self.only.iter().any(|&allowed| usize::from(allowed) == count))
    }
}
