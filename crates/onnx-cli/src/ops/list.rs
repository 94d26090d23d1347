//! `onnx ops list` and `onnx ops search`.

use std::fmt::Write as _;

use onnx_schema::{DeclaredSchema, OperatorSet, Registry, SupportLevel};
use serde_json::{Value, json};

use super::args::{ListArgs, SearchArgs};
use super::known::{domain_name, history, sets};
use crate::exit::Failure;
use crate::json::JsonText;
use crate::output::{DIM, HEADING, KEY, Out, WARN, paint, shown};
use crate::size::plural;

pub(super) fn list(args: &ListArgs, registry: &Registry, out: &mut Out) -> Result<String, Failure> {
    render(registry, &sets(registry, &args.sets)?, out, |_| true)
}

pub(super) fn search(args: &SearchArgs, registry: &Registry, out: &mut Out) -> Result<String, Failure> {
    let word = args.word.to_lowercase();
    let sets = sets(registry, &args.sets)?;
    let has = |name: &str| name.to_lowercase().contains(&word);
    let fits = |schema: &DeclaredSchema| {
        has(schema.name()) || schema.attributes.iter().any(|attribute| has(&attribute.name))
    };
    let names = || sets.iter().flat_map(|set| set.operators().iter().map(DeclaredSchema::name));
    if !sets.iter().flat_map(OperatorSet::operators).any(fits) {
        let failure = Failure::new(format_args!("no operator is like `{}`", shown(&args.word)));
        return Err(match onnx_schema::nearest(&args.word, names()) {
            Some(near) => failure.help(format!("did you mean `{near}`?")),
            None => failure.help("`onnx ops list` lists all operators"),
        });
    }
    render(registry, &sets, out, fits)
}

fn render(
    registry: &Registry,
    sets: &[OperatorSet],
    out: &mut Out,
    fits: impl Fn(&DeclaredSchema) -> bool,
) -> Result<String, Failure> {
    if !out.is_for_people() {
        let operators = sets.iter().flat_map(OperatorSet::operators).filter(|schema| fits(schema));
        out.result_kind("operators/1", "operators");
        let items = operators.map(|schema| JsonText::of(&entry(registry, schema)));
        out.items(items.collect::<Result<_, _>>()?);
        return Ok(String::new());
    }
    let mut text = String::new();
    for set in sets {
        let operators: Vec<_> = set.operators().iter().filter(|schema| fits(schema)).collect();
        // A domain that was not asked for and has nothing is left out.
        if operators.is_empty() && sets.len() > 1 {
            continue;
        }
        if !text.is_empty() {
            text.push('\n');
        }
        let name = shown(domain_name(set.domain()));
        let count = plural(operators.len().try_into().unwrap_or(u64::MAX), "operator");
        writeln!(
            text,
            "{}  {}",
            paint(HEADING, format_args!("{name} {}", set.version())),
            paint(DIM, count)
        )?;
        table(&mut text, registry, &operators)?;
    }
    Ok(text)
}

fn table(text: &mut String, registry: &Registry, operators: &[&DeclaredSchema]) -> Result<(), Failure> {
    let names: Vec<String> = operators.iter().map(|schema| shown(schema.name())).collect();
    let widest = names.iter().map(|name| name.chars().count()).max().unwrap_or_default();
    for (name, schema) in names.iter().zip(operators) {
        let versions = history(registry, schema.domain(), schema.name());
        let versions: Vec<String> =
            versions.iter().map(|version| version.since_version().to_string()).collect();
        let padding = widest.saturating_sub(name.chars().count());
        write!(text, "  {}{:padding$}  {:>3}", paint(KEY, name), "", schema.since_version())?;
        if versions.len() > 1 {
            write!(text, "  {}", paint(DIM, format_args!("of {}", versions.join(", "))))?;
        }
        if schema.is_deprecated {
            write!(text, "  {}", paint(WARN, "deprecated"))?;
        }
        if schema.support == SupportLevel::Experimental {
            write!(text, "  {}", paint(WARN, "experimental"))?;
        }
        if schema.is_function() {
            write!(text, "  {}", paint(DIM, "function"))?;
        }
        text.push('\n');
    }
    Ok(())
}

fn entry(registry: &Registry, schema: &DeclaredSchema) -> Value {
    let versions: Vec<i64> =
        history(registry, schema.domain(), schema.name()).iter().map(DeclaredSchema::since_version).collect();
    json!({
        "domain": schema.domain(),
        "name": schema.name(),
        "since_version": schema.since_version(),
        "versions": versions,
        "deprecated": schema.is_deprecated,
        "experimental": schema.support == SupportLevel::Experimental,
        "function": schema.is_function(),
    })
}
