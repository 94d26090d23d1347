//! The tables of the operators that onnxruntime adds to those of ONNX.
//!
//! They are separate tables: their names are not in the name table that every interner starts with, and they do not
//! have the dense keys of the standard schemas.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

use serde::Deserialize;

use super::facts::{Attribute, Constraint, Formal, read_json};
use super::names::constant;
use super::tables::{Pool, default_source, formal_row};
use super::types::{Types, variant};

/// `onnxruntime-<version>.json`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RuntimeFacts {
    onnxruntime: String,
    onnx: String,
    pub(super) type_sets: BTreeMap<String, Vec<String>>,
    schemas: Vec<RuntimeSchema>,
}

/// One operator at one version.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RuntimeSchema {
    op: String,
    domain: String,
    since: u16,
    #[serde(default)]
    deprecated: bool,
    support: Option<String>,
    inference: bool,
    input_range: (u16, Option<u16>),
    output_range: (u16, Option<u16>),
    inputs: Vec<Formal>,
    outputs: Vec<Formal>,
    constraints: Vec<Constraint>,
    attributes: Vec<Attribute>,
}

/// The modules of operator constants: the domain, the name of the module, what it holds.
const DOMAINS: [(&str, &str, &str); 4] = [
    ("", "default", "Operators that onnxruntime adds to the default domain."),
    ("com.microsoft", "microsoft", "Operators of domain `com.microsoft`."),
    ("com.microsoft.nchwc", "nchwc", "Operators of domain `com.microsoft.nchwc`, on blocks of channels."),
    ("com.ms.internal.nhwc", "nhwc", "Operators of domain `com.ms.internal.nhwc`, with the channels last."),
];

impl RuntimeFacts {
    pub(super) fn read(folder: &Path, runtime: &str, onnx: &str) -> Result<Self, String> {
        let facts: Self = read_json(&folder.join(format!("onnxruntime-{runtime}.json")))?;
        if facts.onnxruntime != runtime || facts.onnx != onnx {
            let found = (&facts.onnxruntime, &facts.onnx);
            return Err(format!("the facts are of onnxruntime {} with onnx {}", found.0, found.1));
        }
        let key = |schema: &RuntimeSchema| (schema.domain.clone(), schema.op.clone(), schema.since);
        if !facts.schemas.is_sorted_by_key(key) {
            return Err("the schemas of onnxruntime are not in order of domain, name and version".to_owned());
        }
        Ok(facts)
    }

    /// The file `onnxruntime.rs`.
    pub(super) fn source(&self, types: &Types) -> Result<String, String> {
        let sets: BTreeSet<u128> =
            self.type_sets.values().map(|texts| types.bits(texts)).collect::<Result<_, _>>()?;
        let sets: Vec<u128> = sets.into_iter().collect();
        let (mut formals, mut constraints, mut attributes) =
            (Pool::default(), Pool::default(), Pool::default());
        let mut rows = Vec::new();
        for (id, schema) in self.schemas.iter().enumerate() {
            let mut lists = [&schema.inputs, &schema.outputs].into_iter().map(|list| {
                let row = |formal| formal_row(formal, &schema.constraints, types);
                list.iter().map(row).collect::<Result<Vec<_>, _>>()
            });
            let inputs = formals.add(lists.next().transpose()?.unwrap_or_default());
            let outputs = formals.add(lists.next().transpose()?.unwrap_or_default());
            let constraint = |constraint: &Constraint| {
                let bits =
                    types.bits(self.type_sets.get(&constraint.types).ok_or("a type set is missing")?)?;
                let set = sets.iter().position(|&set| set == bits).unwrap_or_default();
                Ok::<_, String>(format!("constraint({:?}, {set})", constraint.variable))
            };
            let variables = schema.constraints.iter().map(constraint).collect::<Result<Vec<_>, _>>()?;
            let declared = schema.attributes.iter().map(attribute_row).collect::<Result<Vec<_>, _>>()?;
            rows.push(format!(
                "row({id}, {:?}, {:?}, {}).inputs_at({inputs}, {}, {}).outputs_at({outputs}, {}, {})\
                 .constraints_at({}).attributes_at({}).with_flags({})",
                schema.domain,
                schema.op,
                schema.since,
                schema.input_range.0,
                schema.input_range.1.unwrap_or(u16::MAX),
                schema.output_range.0,
                schema.output_range.1.unwrap_or(u16::MAX),
                constraints.add(variables),
                attributes.add(declared),
                flags(schema)
            ));
        }
        let mut out = header(&self.onnxruntime, &sets);
        formals.table(&mut out, "Formal inputs and outputs.", "FORMALS", "Formal");
        constraints.table(&mut out, "Type constraints.", "CONSTRAINTS", "TypeConstraint");
        attributes.table(&mut out, "Attributes.", "ATTRIBUTES", "RuntimeAttribute");
        self.operators(&mut out, &rows)?;
        Ok(out)
    }

    /// The schemas, the range of each operator, and a constant for each operator.
    fn operators(&self, out: &mut String, rows: &[String]) -> Result<(), String> {
        let _ = writeln!(
            out,
            "\n/// All schemas by domain, name and version.\npub(crate) static SCHEMAS: [RuntimeSchema; {}] = [",
            rows.len()
        );
        for row in rows {
            let _ = writeln!(out, "{row},");
        }
        out.push_str("];\n");
        let mut operators: Vec<(usize, usize, &RuntimeSchema)> = Vec::new();
        for (at, schema) in self.schemas.iter().enumerate() {
            match operators.last_mut() {
                Some((_, count, first)) if (&first.domain, &first.op) == (&schema.domain, &schema.op) => {
                    *count += 1;
                }
                _ => operators.push((at, 1, schema)),
            }
        }
        let _ = writeln!(
            out,
            "\n/// The first schema of each operator and their number, by domain and name.\n\
             pub(crate) static OPERATORS: [(usize, usize); {}] = [",
            operators.len()
        );
        for (first, count, _) in &operators {
            let _ = writeln!(out, "({first}, {count}),");
        }
        out.push_str("];\n");
        for (domain, module, doc) in DOMAINS {
            let _ = writeln!(out, "\n/// {doc}\npub mod {module} {{\nuse crate::onnxruntime::RuntimeOp;\n");
            for (at, (_, _, schema)) in operators.iter().enumerate().filter(|(_, row)| row.2.domain == domain)
            {
                let name = constant(&schema.op);
                let _ = writeln!(out, "/// `{}`.\npub const {name}: RuntimeOp = RuntimeOp({at});", schema.op);
            }
            out.push_str("}\n");
        }
        match operators.iter().find(|row| DOMAINS.iter().all(|&(domain, ..)| domain != row.2.domain)) {
            Some((_, _, schema)) => {
                Err(format!("domain `{}` has no module: extend the generator", schema.domain))
            }
            None => Ok(()),
        }
    }
}

fn header(version: &str, sets: &[u128]) -> String {
    let mut out = String::from(
        "use crate::attribute::{AttrDefault as D, AttrKind as K};\n\
         use crate::onnxruntime::row::{RuntimeAttribute, attribute, defaulted, flag::*, required, row};\n\
         use crate::onnxruntime::RuntimeSchema;\n\
         use crate::signature::{Differentiation::*, Formal, FormalOption::*, TypeConstraint, concrete, formal, var};\n\
         use crate::typeset::TypeSet;\n\n\
         const fn constraint(variable: &'static str, set: usize) -> TypeConstraint {\n\
         TypeConstraint { variable, types: SETS[set] }\n}\n",
    );
    let _ = writeln!(
        out,
        "\n/// The version of onnxruntime that the facts are taken from.\npub(crate) const VERSION: &str = {version:?};"
    );
    let _ = writeln!(out, "\n/// The distinct type sets.\nstatic SETS: [TypeSet; {}] = [", sets.len());
    for &bits in sets {
        let (low, high) = (bits as u64, (bits >> 64) as u64);
        let _ = writeln!(out, "TypeSet::from_words([{low:#x}, {high:#x}]),");
    }
    out.push_str("];\n");
    out
}

fn attribute_row(attribute: &Attribute) -> Result<String, String> {
    let (name, kind) = (&attribute.name, variant(&attribute.kind));
    Ok(match &attribute.default {
        Some(value) => format!("defaulted({name:?}, D::{kind}({}))", default_source(&attribute.kind, value)?),
        None if attribute.required => format!("required({name:?}, K::{kind})"),
        None => format!("attribute({name:?}, K::{kind})"),
    })
}

fn flags(schema: &RuntimeSchema) -> String {
    let is_experimental = schema.support.as_deref() == Some("EXPERIMENTAL");
    let all =
        [(schema.inference, "INFERS"), (schema.deprecated, "DEPRECATED"), (is_experimental, "EXPERIMENTAL")];
    let set: Vec<&str> = all.iter().filter(|(is_set, _)| *is_set).map(|&(_, name)| name).collect();
    if set.is_empty() { "0".to_owned() } else { set.join(" | ") }
}
