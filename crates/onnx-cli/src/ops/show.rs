//! `onnx ops show`: all there is to know about an operator.

use std::fmt::Write as _;

use onnx_formats::signatures_to_json;
use onnx_schema::{
    DeclaredAttribute, DeclaredFormal, DeclaredSchema, OperatorSet, Registry, SchemaChange, changes,
    domain_symbol, onnxruntime, op_symbol, schema_since,
};
use onnx_shape_infer::{contrib, follows_values};
use serde_json::{Value, json};

use super::args::ShowArgs;
use super::known::{Source, domain_name, domains, history, known_domain, newest};
use crate::exit::Failure;
use crate::json::JsonText;
use crate::output::{DIM, HEADING, KEY, Out, WARN, paint, shown};

pub(super) fn show(args: &ShowArgs, registry: &Registry, out: &mut Out) -> Result<String, Failure> {
    let history = find(args, registry)?;
    let newest = history.first().and_then(|schema| newest(registry, schema.domain()));
    if let (Some(asked), Some(newest)) = (args.version, newest)
        && !(1..=newest).contains(&asked)
    {
        let failure = Failure::new(format_args!("version {asked} of the operator set does not exist"));
        return Err(failure.help(format!("the versions are 1 to {newest}")));
    }
    let asked = args.version.unwrap_or(i64::MAX);
    let schema = history.iter().rev().find(|schema| schema.since_version() <= asked);
    let Some(schema) = schema else {
        let first = history.first().map_or(1, DeclaredSchema::since_version);
        let failure =
            Failure::new(format_args!("version {asked} of the operator set has no `{}`", shown(&args.op)));
        return Err(failure.help(format!("it exists since version {first}")));
    };
    if out.is_for_people() {
        return text(registry, schema, &history, newest);
    }
    out.result_kind("operators/1", "operators");
    out.items(vec![json(registry, schema, &history)?]);
    Ok(String::new())
}

/// All schemas of the operator that is meant.
fn find(args: &ShowArgs, registry: &Registry) -> Result<Vec<DeclaredSchema>, Failure> {
    let (mut wanted, mut op) = (args.domain.as_deref(), args.op.as_str());
    // `domain.Op`, or as diagnostics have it: `domain::Op`.
    let parts = op.rsplit_once("::").or_else(|| op.rsplit_once('.'));
    if let Some((domain, name)) = parts.filter(|_| wanted.is_none()) {
        (wanted, op) = (Some(domain), name);
    }
    let domains = match wanted {
        Some(domain) => vec![known_domain(registry, domain)?],
        None => domains(registry),
    };
    let found = domains.iter().map(|domain| history(registry, domain, op)).filter(|found| !found.is_empty());
    let mut found: Vec<_> = found.collect();
    // Operators of ONNX and of documents come before those of onnxruntime of the same name.
    let is_own = |found: &Vec<DeclaredSchema>| {
        found.first().is_some_and(|first| Source::of(registry, first.domain(), op) != Source::Onnxruntime)
    };
    if found.iter().any(is_own) {
        found.retain(is_own);
    }
    if found.len() > 1 {
        let names: Vec<&str> =
            found.iter().filter_map(|found| found.first()).map(|first| domain_name(first.domain())).collect();
        let failure = Failure::new(format_args!("several domains have `{}`", shown(op)));
        return Err(failure.help(format!("add `--domain` with one of {}", names.join(", "))));
    }
    found.pop().ok_or_else(|| {
        let failure = Failure::new(format_args!("there is no operator `{}`", shown(op)));
        let standard = onnx_schema::operators().filter_map(<[_]>::first).map(onnx_schema::Schema::name);
        let mut names: Vec<&str> = standard.collect();
        for domain in &domains {
            names.extend(registry.declared_operators(domain));
        }
        match crate::other_tools::operator(op).or_else(|| onnx_schema::nearest(op, names.into_iter())) {
            Some(near) => failure.help(format!("did you mean `{}`?", shown(near))),
            None => failure.help("`onnx ops search WORD` looks for a part of a name"),
        }
    })
}

fn text(
    registry: &Registry,
    schema: &DeclaredSchema,
    history: &[DeclaredSchema],
    newest: Option<i64>,
) -> Result<String, Failure> {
    let mut text = String::new();
    let last = until(schema, history).or(newest).unwrap_or(schema.since_version());
    let (first, domain) = (schema.since_version(), shown(domain_name(schema.domain())));
    let versions =
        if first == last { format!("version {first}") } else { format!("versions {first} to {last}") };
    writeln!(text, "{}  {domain}, {versions}", paint(HEADING, shown(schema.name())))?;
    writeln!(text, "\n  {}", paint(KEY, schema.call(shown)))?;
    formals(&mut text, "Inputs", &schema.inputs)?;
    formals(&mut text, "Outputs", &schema.outputs)?;
    attributes(&mut text, &schema.attributes)?;
    if !schema.constraints.is_empty() {
        writeln!(text, "\n{}", paint(HEADING, "Types"))?;
        let widest = widest(schema.constraints.iter().map(|constraint| &constraint.variable));
        for constraint in &schema.constraints {
            writeln!(text, "  {:<widest$}  {}", shown(&constraint.variable), constraint.types)?;
        }
    }
    facts(&mut text, registry, schema)?;
    writeln!(text, "\n{}", paint(HEADING, "Versions"))?;
    for (index, version) in history.iter().enumerate().rev() {
        let before = index.checked_sub(1).and_then(|index| history.get(index));
        let told = told(before, version);
        let mark = if version.since_version() == first { "*" } else { " " };
        writeln!(text, "{mark} {:>3}  {}", version.since_version(), told.join("\n       "))?;
    }
    Ok(text)
}

/// What a version changes, in words.
fn told(before: Option<&DeclaredSchema>, version: &DeclaredSchema) -> Vec<String> {
    let Some(before) = before else { return vec!["the first version".to_owned()] };
    let told: Vec<String> =
        changes(before, version).iter().map(|change| shown(&change.to_string())).collect();
    if told.is_empty() { vec!["nothing that schemas tell".to_owned()] } else { told }
}

/// The last operator set version for which a schema holds; `None` for the newest.
fn until(schema: &DeclaredSchema, history: &[DeclaredSchema]) -> Option<i64> {
    let next = history.iter().find(|other| other.since_version() > schema.since_version())?;
    Some(next.since_version().saturating_sub(1))
}

fn formals(text: &mut String, title: &str, formals: &[DeclaredFormal]) -> Result<(), Failure> {
    if formals.is_empty() {
        return Ok(());
    }
    writeln!(text, "\n{}", paint(HEADING, title))?;
    let width = widest(formals.iter().map(|formal| &formal.name));
    for formal in formals {
        let occurrence = formal.occurrence();
        let comma = if occurrence.is_empty() { "" } else { ", " };
        let ty = shown(&formal.ty.to_string());
        writeln!(
            text,
            "  {:<width$}  {ty}{}",
            shown(&formal.name),
            paint(DIM, format_args!("{comma}{occurrence}"))
        )?;
    }
    Ok(())
}

fn attributes(text: &mut String, attributes: &[DeclaredAttribute]) -> Result<(), Failure> {
    if attributes.is_empty() {
        return Ok(());
    }
    writeln!(text, "\n{}", paint(HEADING, "Attributes"))?;
    let width = widest(attributes.iter().map(|attribute| &attribute.name));
    for attribute in attributes {
        writeln!(text, "  {:<width$}  {}", shown(&attribute.name), shown(&attribute.describe()))?;
    }
    Ok(())
}

fn facts(text: &mut String, registry: &Registry, schema: &DeclaredSchema) -> Result<(), Failure> {
    let mut facts: Vec<String> = Vec::new();
    if schema.is_deprecated {
        facts.push(paint(WARN, "deprecated: models of these versions must not use it").to_string());
    }
    facts.extend(schema.remarks());
    facts.extend(inferred(registry, schema));
    facts.extend(computed(registry, schema));
    if !facts.is_empty() {
        writeln!(text, "\n{}\n  {}", paint(HEADING, "Facts"), facts.join("\n  "))?;
    }
    Ok(())
}

/// Whether inference follows small values of an operator, if it is a standard one.
fn follows(schema: &DeclaredSchema) -> Option<bool> {
    let (domain, name) = (domain_symbol(schema.domain())?, op_symbol(schema.name())?);
    schema_since(domain, name, schema.since_version()).map(follows_values)
}

/// What inference does about an operator, unless a document defines it.
fn inferred(registry: &Registry, schema: &DeclaredSchema) -> Option<String> {
    let (domain, name) = (schema.domain(), schema.name());
    if Source::of(registry, domain, name) == Source::Onnxruntime {
        let mut without = contrib::uncovered();
        let has_rule = !without.any(|other| other.domain() == domain && other.name() == name);
        let what = if has_rule { "inference has a rule" } else { "inference has no rule" };
        let version = onnxruntime::RUNTIME_VERSION;
        return Some(format!(
            "an operator of onnxruntime {version}, not of ONNX; {what}: docs/generated/onnxruntime.md"
        ));
    }
    let follows = if follows(schema)? { "follows small values" } else { "follows no values" };
    let (domain, name) = (domain_name(schema.domain()), schema.name());
    Some(format!("inference {follows} of it: docs/generated/operators/{domain}/{name}.md"))
}

/// Whether a kernel computes an operator in the version of its schema.
fn has_kernel(registry: &Registry, schema: &DeclaredSchema) -> bool {
    let (domain, name, since) = (schema.domain(), schema.name(), schema.since_version());
    let symbols = domain_symbol(domain).zip(op_symbol(name));
    let standard = symbols.and_then(|(domain, name)| schema_since(domain, name, since));
    match standard {
        Some(standard) => onnx_eval::has_kernel(standard),
        None => onnx_eval::has_custom_kernel(registry, domain, name, since),
    }
}

/// Whether `onnx run` computes an operator, if that is not what readers expect.
fn computed(registry: &Registry, schema: &DeclaredSchema) -> Option<String> {
    let is_standard = Source::of(registry, schema.domain(), schema.name()) == Source::Onnx;
    match has_kernel(registry, schema) {
        true if is_standard => None,
        true => Some("`onnx run` has a kernel".to_owned()),
        // A function is computed through its body.
        false if schema.is_function() => None,
        false => Some("`onnx run` has no kernel".to_owned()),
    }
}

fn widest<'a>(names: impl Iterator<Item = &'a String>) -> usize {
    names.map(|name| shown(name).chars().count()).max().unwrap_or_default()
}

/// The signature in the form of the companions of documents, with the history.
fn json(
    registry: &Registry,
    schema: &DeclaredSchema,
    history: &[DeclaredSchema],
) -> Result<JsonText, Failure> {
    let mut set = OperatorSet::new(schema.domain(), schema.since_version());
    set.add_schema(schema.clone()).map_err(Failure::defect)?;
    let signatures = signatures_to_json(&set).map_err(Failure::defect)?;
    let mut value: Value = serde_json::from_str(&signatures).map_err(Failure::defect)?;
    let mut operator = value.pointer_mut("/operators/0").map(Value::take).unwrap_or_default();
    let versions = history.iter().enumerate().map(|(index, version)| {
        let before = index.checked_sub(1).and_then(|index| history.get(index));
        let changes = before.map(|before| changes(before, version)).unwrap_or_default();
        let changes: Vec<String> = changes.iter().map(SchemaChange::to_string).collect();
        json!({ "since_version": version.since_version(), "changes": changes })
    });
    let versions: Vec<Value> = versions.collect();
    if let Some(fields) = operator.as_object_mut() {
        fields.insert("domain".to_owned(), schema.domain().into());
        fields.insert("until_version".to_owned(), until(schema, history).into());
        fields.insert("function".to_owned(), schema.is_function().into());
        fields.insert("follows_values".to_owned(), follows(schema).into());
        let source = Source::of(registry, schema.domain(), schema.name());
        fields.insert("source".to_owned(), source.name().into());
        fields.insert("kernel".to_owned(), has_kernel(registry, schema).into());
        fields.insert("versions".to_owned(), versions.into());
    }
    JsonText::of(&operator)
}
