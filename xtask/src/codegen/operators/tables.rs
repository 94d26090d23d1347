//! The tables of schemas, signatures, operator sets and function bodies.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::Value;

use super::facts::{Attribute, Constraint, Facts, Formal, Function, Schema};
use super::names::{Names, constant};
use super::types::{Types, variant};

/// Rows of a table that schemas refer to by range; equal ranges are stored once.
#[derive(Default)]
pub(super) struct Pool {
    rows: Vec<String>,
    ranges: BTreeMap<Vec<String>, usize>,
}

impl Pool {
    /// The range that holds `rows`, as Rust source.
    pub(super) fn add(&mut self, rows: Vec<String>) -> String {
        if rows.is_empty() {
            return "(0, 0)".to_owned();
        }
        let length = rows.len();
        let start = *self.ranges.entry(rows).or_insert_with_key(|rows| {
            let start = self.rows.len();
            self.rows.extend(rows.iter().cloned());
            start
        });
        format!("({start}, {length})")
    }

    /// The table as Rust source.
    pub(super) fn table(&self, out: &mut String, doc: &str, name: &str, ty: &str) {
        let _ = writeln!(out, "\n/// {doc}\npub(crate) static {name}: [{ty}; {}] = [", self.rows.len());
        for row in &self.rows {
            let _ = writeln!(out, "{row},");
        }
        out.push_str("];\n");
    }
}

/// The rows of all tables that describe schemas.
pub(super) struct Tables {
    formals: Pool,
    constraints: Pool,
    attributes: Pool,
    schemas: Vec<String>,
    operators: Vec<String>,
    starts: Vec<usize>,
}

impl Tables {
    /// Builds all rows.
    pub(super) fn of(facts: &Facts, names: &Names, types: &Types) -> Result<Self, String> {
        let mut tables = Self {
            formals: Pool::default(),
            constraints: Pool::default(),
            attributes: Pool::default(),
            schemas: Vec::new(),
            operators: Vec::new(),
            starts: Vec::new(),
        };
        let mut body = 0;
        for (id, schema) in facts.core.schemas.iter().enumerate() {
            let row = tables.schema_row(id, schema, types, &mut body);
            let row = row.map_err(|problem| format!("{}-{}: {problem}", schema.op, schema.since))?;
            tables.schemas.push(row);
        }
        if body != facts.functions.len() {
            return Err("the function bodies do not match the schemas".to_owned());
        }
        tables.add_operators(facts, names);
        Ok(tables)
    }

    fn schema_row(
        &mut self,
        id: usize,
        schema: &Schema,
        types: &Types,
        body: &mut usize,
    ) -> Result<String, String> {
        let mut formals = [&schema.inputs, &schema.outputs].into_iter().map(|formals| {
            formals
                .iter()
                .map(|formal| formal_row(formal, &schema.constraints, types))
                .collect::<Result<Vec<_>, _>>()
        });
        let inputs = self.formals.add(formals.next().transpose()?.unwrap_or_default());
        let outputs = self.formals.add(formals.next().transpose()?.unwrap_or_default());
        let constraints: Result<Vec<String>, String> = schema
            .constraints
            .iter()
            .map(|constraint| {
                Ok(format!("constraint({:?}, {})", constraint.variable, types.set(&constraint.types)?))
            })
            .collect();
        let constraints = self.constraints.add(constraints?);
        let attributes: Result<Vec<String>, String> = schema.attributes.iter().map(attribute_row).collect();
        let attributes = self.attributes.add(attributes?);
        let (min_in, max_in) = (schema.input_range.0, schema.input_range.1.unwrap_or(u16::MAX));
        let (min_out, max_out) = (schema.output_range.0, schema.output_range.1.unwrap_or(u16::MAX));
        let mut row = format!(
            "row({id}, {}, op::{}, {}).inputs_at({inputs}, {min_in}, {max_in}).outputs_at({outputs}, {min_out}, {max_out})\
             .constraints_at({constraints}).attributes_at({attributes}).with_flags({})",
            Names::domain(&schema.domain),
            constant(&schema.op),
            schema.since,
            flags(schema)?
        );
        if !schema.input_counts.is_empty() || !schema.output_counts.is_empty() {
            let _ = write!(row, ".only_counts(&{:?}, &{:?})", schema.input_counts, schema.output_counts);
        }
        if !schema.functions.is_empty() {
            let _ = write!(row, ".bodies_at(({}, {}))", body, schema.functions.len());
            *body += schema.functions.len();
        }
        if !schema.context_functions.is_empty() {
            let _ = write!(row, ".context_bodies_for(&{:?})", schema.context_functions);
        }
        Ok(row)
    }

    /// One row per operator in the order of the operator symbols, and where the rows of each symbol begin.
    fn add_operators(&mut self, facts: &Facts, names: &Names) {
        for op in &names.ops {
            self.starts.push(self.operators.len());
            let mut rest =
                facts.core.schemas.iter().enumerate().filter(|(_, schema)| schema.op == *op).peekable();
            while let Some((first, schema)) = rest.next() {
                let mut count = 1;
                while rest.next_if(|(_, next)| next.domain == schema.domain).is_some() {
                    count += 1;
                }
                let domain = Names::domain(&schema.domain);
                self.operators.push(format!("operator({domain}, op::{}, {first}, {count})", constant(op)));
            }
        }
        self.starts.push(self.operators.len());
    }

    /// The file `signatures.rs`.
    pub(super) fn signatures(&self) -> String {
        let mut out = String::from(
            "use super::names::attr;\nuse super::types::TYPE_SETS;\n\
             use crate::attribute::{AttrDefault as D, AttrKind as K, FormalAttribute, attribute, defaulted, required};\n\
             use crate::signature::{Differentiation::*, Formal, FormalOption::*, TypeConstraint, concrete, formal, var};\n\n\
             const fn constraint(variable: &'static str, set: usize) -> TypeConstraint {\n\
             TypeConstraint { variable, types: TYPE_SETS[set] }\n}\n",
        );
        self.formals.table(&mut out, "Formal inputs and outputs.", "FORMALS", "Formal");
        self.constraints.table(&mut out, "Type constraints.", "CONSTRAINTS", "TypeConstraint");
        self.attributes.table(&mut out, "Formal attributes.", "ATTRIBUTES", "FormalAttribute");
        out
    }

    /// The file `schemas.rs`.
    pub(super) fn schemas(&self) -> String {
        let mut out = String::from(
            "use super::names::{domain, op};\nuse crate::facts::Schema;\nuse crate::facts::row::{flag::*, row};\n\
             use crate::lookup::{Operator, operator};\n\n",
        );
        let count = self.schemas.len();
        let _ = writeln!(
            out,
            "/// All schemas by domain, operator name and version.\npub(crate) static SCHEMAS: [Schema; {count}] = ["
        );
        for row in &self.schemas {
            let _ = writeln!(out, "{row},");
        }
        let count = self.operators.len();
        let _ = writeln!(
            out,
            "];\n\n/// All operators by symbol.\npub(crate) static OPERATORS: [Operator; {count}] = ["
        );
        for row in &self.operators {
            let _ = writeln!(out, "{row},");
        }
        let starts = &self.starts;
        let _ = writeln!(
            out,
            "];\n\n/// Where the rows of each operator symbol begin in [`OPERATORS`], and at last where they end.\n\
             pub(crate) static STARTS: [u16; {}] = {starts:?};",
            starts.len()
        );
        out
    }
}

pub(super) fn formal_row(
    formal: &Formal,
    constraints: &[Constraint],
    types: &Types,
) -> Result<String, String> {
    let variable = constraints.iter().position(|constraint| constraint.variable == formal.ty);
    let ty = match variable {
        Some(index) => format!("var({index})"),
        None => format!("concrete({})", types.id(&formal.ty)?),
    };
    let option = formal.option.as_deref().unwrap_or("Single");
    let differentiation = formal.differentiation.as_deref().unwrap_or("Unknown");
    let mut row = format!("formal({:?}, {ty}, {option}, {differentiation})", formal.name);
    if let Some(count) = formal.min_arity {
        let _ = write!(row, ".with_min_arity({count})");
    }
    if formal.heterogeneous {
        row.push_str(".heterogeneous()");
    }
    Ok(row)
}

fn attribute_row(attribute: &Attribute) -> Result<String, String> {
    let name = constant(&attribute.name);
    let kind = variant(&attribute.kind);
    Ok(match &attribute.default {
        Some(_) if attribute.required => {
            return Err(format!("`{}` is required and has a default", attribute.name));
        }
        Some(value) => {
            format!("defaulted(attr::{name}, D::{kind}({}))", default_source(&attribute.kind, value)?)
        }
        None if attribute.required => format!("required(attr::{name}, K::{kind})"),
        None => format!("attribute(attr::{name}, K::{kind})"),
    })
}

/// A default value as Rust source.
pub(super) fn default_source(kind: &str, value: &Value) -> Result<String, String> {
    let list = |item: &str| -> Result<String, String> {
        let items = value.as_array().ok_or("a list default is not a list")?;
        let items: Result<Vec<String>, String> =
            items.iter().map(|value| default_source(item, value)).collect();
        Ok(format!("&[{}]", items?.join(", ")))
    };
    match kind {
        "INT" => value
            .as_i64()
            .map(|int| int.to_string())
            .ok_or_else(|| "an INT default is not an integer".to_owned()),
        "STRING" => value
            .as_str()
            .map(|text| format!("{text:?}"))
            .ok_or_else(|| "a STRING default is not text".to_owned()),
        "FLOAT" => float_source(value),
        "INTS" => list("INT"),
        "FLOATS" => list("FLOAT"),
        "STRINGS" => list("STRING"),
        _ => Err(format!("a default of kind {kind} cannot be written")),
    }
}

/// A float as Rust source: its decimal text, provided that it reads back to the recorded bits.
pub(super) fn float_source(value: &Value) -> Result<String, String> {
    let field = |key: &str| {
        value.get(key).and_then(Value::as_str).ok_or_else(|| format!("a float default lacks `{key}`"))
    };
    let (text, bits) = (field("text")?, field("bits")?);
    let float: f32 = text.parse().map_err(|error| format!("{text}: {error}"))?;
    if format!("{:08x}", float.to_bits()) != bits {
        return Err(format!("the float default {text} does not have the bits {bits}"));
    }
    Ok(format!("{float:?}"))
}

/// The flags of a schema as Rust source.
fn flags(schema: &Schema) -> Result<String, String> {
    let mut flags = Vec::new();
    let mut add = |is_set: bool, name: &'static str| {
        if is_set {
            flags.push(name);
        }
    };
    add(schema.inference, "INFERS");
    add(schema.propagation, "PROPAGATES");
    add(schema.deprecated, "DEPRECATED");
    add(schema.unchecked_attributes, "UNCHECKED_ATTRIBUTES");
    match schema.support.as_deref() {
        None => {}
        Some("EXPERIMENTAL") => add(true, "EXPERIMENTAL"),
        Some(other) => return Err(format!("the support level {other} is unknown")),
    }
    match schema.determinism.as_str() {
        "Deterministic" => add(true, "DETERMINISTIC"),
        "NonDeterministic" => add(true, "NON_DETERMINISTIC"),
        "Unknown" => {}
        other => return Err(format!("the determinism {other} is unknown")),
    }
    Ok(if flags.is_empty() { "0".to_owned() } else { flags.join(" | ") })
}

/// The file `opsets.rs`.
pub(super) fn opsets(facts: &Facts) -> String {
    let mut out = String::from("use super::names::domain;\nuse crate::opset::{DomainVersions, Release};\n\n");
    let (domains, releases) = (&facts.core.domains, &facts.core.releases);
    let _ = writeln!(
        out,
        "/// The versions of each domain.\npub(crate) static DOMAINS: [DomainVersions; {}] = [",
        domains.len()
    );
    for row in domains {
        let domain = Names::domain(&row.domain);
        let _ =
            writeln!(out, "DomainVersions {{ domain: {domain}, oldest: {}, newest: {} }},", row.min, row.max);
    }
    let _ = writeln!(
        out,
        "];\n\n/// The releases of ONNX, oldest first.\npub(crate) static RELEASES: [Release; {}] = [",
        releases.len()
    );
    for row in releases {
        let opsets =
            row.opsets.iter().map(|opset| format!("({}, {})", Names::domain(&opset.domain), opset.version));
        let opsets = opsets.collect::<Vec<_>>().join(", ");
        let _ = writeln!(
            out,
            "Release {{ name: {:?}, ir_version: {}, opsets: &[{opsets}] }},",
            row.release, row.ir
        );
    }
    out.push_str("];\n");
    out
}

/// The file `functions.rs`.
pub(super) fn functions(facts: &Facts) -> Result<String, String> {
    let mut bodies = facts.functions.iter();
    let mut out = String::from(
        "/// Serialized `FunctionProto` messages with the version they are written for, in the order of the schemas.\n",
    );
    let _ = writeln!(out, "pub(crate) static BODIES: [(u16, &[u8]); {}] = [", facts.functions.len());
    for schema in &facts.core.schemas {
        for &opset in &schema.functions {
            let fits = |body: &&Function| {
                (&body.op, &body.domain, body.since, body.opset)
                    == (&schema.op, &schema.domain, schema.since, opset)
            };
            let body = bodies.next().filter(fits);
            let body = body
                .ok_or_else(|| format!("the body of {}-{} is not in its place", schema.op, schema.since))?;
            let _ = writeln!(
                out,
                "// {}-{}\n({opset}, b\"{}\"),",
                body.op,
                body.since,
                bytes(&body.body)?.escape_ascii()
            );
        }
    }
    out.push_str("];\n");
    Ok(out)
}

/// The bytes that a hexadecimal text stands for.
fn bytes(hex: &str) -> Result<Vec<u8>, String> {
    let pairs = hex.as_bytes().chunks(2);
    let byte =
        |pair: &[u8]| std::str::from_utf8(pair).ok().and_then(|pair| u8::from_str_radix(pair, 16).ok());
    pairs.map(byte).collect::<Option<_>>().ok_or_else(|| "a function body is not hexadecimal".to_owned())
}
