//! Finding schemas.

use onnx_types::Symbol;

use crate::facts::row::slice;
use crate::facts::{Schema, SchemaId};
use crate::generated::names::{FIRST_OP, NAMES, domain};
use crate::generated::schemas::{OPERATORS, SCHEMAS, STARTS};

/// The schemas of one operator of one domain.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Operator {
    domain: Symbol,
    op: Symbol,
    first: u16,
    count: u16,
}

pub(crate) const fn operator(domain: Symbol, op: Symbol, first: u16, count: u16) -> Operator {
    Operator { domain, op, first, count }
}

impl Operator {
    const fn schemas(&self) -> &'static [Schema] {
        slice(&SCHEMAS, (self.first as usize, self.count as usize))
    }
}

/// The canonical name of the domain: `ai.onnx` becomes the empty name, all others are unchanged.
#[must_use]
pub const fn normalize_domain(domain: Symbol) -> Symbol {
    if domain.index() == domain::AI_ONNX.index() { domain::ONNX } else { domain }
}

/// The schema that holds for an operator in a model that imports the given version of its domain: the one with the
/// greatest [`since_version`](Schema::since_version) not above it.
///
/// `None` when ONNX defines no such operator in the domain, or none as early. A deprecated schema is returned as any
/// other, and a version newer than this crate knows gets the newest schema: what to make of either is the caller's to
/// decide (see [`latest_opset`](crate::latest_opset)).
///
/// It is a table access by the operator's symbol and a scan of the operator's few versions; no text is compared. It can be
/// called in constants.
///
/// ```
/// use onnx_schema::{domain, lookup, op};
///
/// let relu = lookup(domain::ONNX, op::RELU, 13).unwrap();
/// assert_eq!(relu.since_version(), 13);
/// assert_eq!(lookup(domain::ONNX, op::GELU, 19).map(|s| s.id()), None);
/// ```
#[must_use]
pub const fn lookup(domain: Symbol, op: Symbol, opset_version: i64) -> Option<&'static Schema> {
    let versions = versions(domain, op);
    let mut at = versions.len();
    while let Some(before) = at.checked_sub(1) {
        if versions[before].since_version() <= opset_version {
            return Some(&versions[before]);
        }
        at = before;
    }
    None
}

/// All schemas of an operator, oldest first; empty when ONNX defines no such operator in the domain.
#[must_use]
pub const fn versions(domain: Symbol, op: Symbol) -> &'static [Schema] {
    let domain = normalize_domain(domain);
    let Some(offset) = op.index().checked_sub(FIRST_OP) else { return &[] };
    let offset = offset as usize;
    if offset + 1 >= STARTS.len() {
        return &[];
    }
    let mut at = STARTS[offset] as usize;
    while at < STARTS[offset + 1] as usize {
        if OPERATORS[at].domain.index() == domain.index() {
            return OPERATORS[at].schemas();
        }
        at += 1;
    }
    &[]
}

/// Like [`lookup`], for names that are not symbols: the domain and the operator are searched by text.
#[must_use]
pub fn lookup_by_name(domain: &str, op: &str, opset_version: i64) -> Option<&'static Schema> {
    lookup(domain_symbol(domain)?, op_symbol(op)?, opset_version)
}

/// The symbol of an operator name that ONNX knows in any of its domains.
#[must_use]
pub fn op_symbol(name: &str) -> Option<Symbol> {
    let names = slice(&NAMES, (FIRST_OP as usize, STARTS.len() - 1));
    let offset = names.binary_search(&name).ok()?;
    Some(Symbol::from_index(FIRST_OP + u32::try_from(offset).ok()?))
}

/// The symbol of a domain that ONNX knows.
#[must_use]
pub fn domain_symbol(name: &str) -> Option<Symbol> {
    let names = slice(&NAMES, (0, FIRST_OP as usize));
    let index = names.iter().position(|&known| known == name)?;
    Some(Symbol::from_index(u32::try_from(index).ok()?))
}

/// The text of a symbol that every interner of [`interner`](crate::interner) holds from the start; `None` for others.
#[must_use]
pub fn known_name(symbol: Symbol) -> Option<&'static str> {
    NAMES.get(usize::try_from(symbol.index()).ok()?).copied()
}

/// All schemas by domain, operator name and version.
#[must_use]
pub const fn all() -> &'static [Schema] {
    &SCHEMAS
}

/// All operators of all domains in alphabetical order, each as its schemas, oldest first.
pub fn operators() -> impl ExactSizeIterator<Item = &'static [Schema]> {
    OPERATORS.iter().map(Operator::schemas)
}

/// The schema of exactly the given version, for tables that are written by hand and checked at compile time.
///
/// `None` when the operator has no schema that begins at `since_version`.
#[must_use]
pub const fn schema_since(domain: Symbol, op: Symbol, since_version: i64) -> Option<SchemaId> {
    match lookup(domain, op, since_version) {
        Some(schema) if schema.since_version() == since_version => Some(schema.id()),
        _ => None,
    }
}

/// The domains that define an operator of this name.
pub fn domains_of(op: Symbol) -> impl Iterator<Item = Symbol> {
    OPERATORS.iter().filter(move |row| row.op == op).map(|row| row.domain)
}
