//! The page of one operator.

use std::fmt::Write as _;

use onnx_schema::{DeclaredFormal, DeclaredSchema, Schema, TypeSet, changes};
use onnx_shape_infer::follows_values;

use super::conversions::{Conversions, shown};
use super::shown::{Source, best};
use super::{Operator, domain_name};
use crate::documents::HEADER;
use onnx_filetest::Range;

/// From a page to the root of the workspace.
const ROOT: &str = "../../../..";

pub(super) fn page(
    operator: &Operator<'_>,
    sources: &[Source],
    conversions: &Conversions,
) -> Result<String, String> {
    let mut text = HEADER.to_owned();
    let written = signature(&mut text, operator)
        .and_then(|()| versions(&mut text, operator, conversions))
        .and_then(|()| inferred(&mut text, operator))
        .and_then(|()| super::traits::section(&mut text, operator));
    written.map_err(|error| error.to_string())?;
    example(&mut text, operator, sources)?;
    Ok(text)
}

fn signature(text: &mut String, operator: &Operator<'_>) -> std::fmt::Result {
    let newest = DeclaredSchema::from(operator.newest);
    let deprecated = if newest.is_deprecated { ", deprecated" } else { "" };
    writeln!(
        text,
        "# {}\n\n{}, version {}{deprecated}. [All operators](../../operators.md).\n\n```text\n{}\n```",
        newest.name(),
        domain_name(operator.newest),
        newest.since_version(),
        newest.call(str::to_owned)
    )?;
    formals(text, "input", &newest.inputs)?;
    formals(text, "output", &newest.outputs)?;
    if !newest.attributes.is_empty() {
        text.push_str("\n| attribute | |\n|---|---|\n");
        for attribute in &newest.attributes {
            writeln!(text, "| `{}` | {} |", attribute.name, cell(&attribute.describe()))?;
        }
    }
    if !newest.constraints.is_empty() {
        text.push_str("\n| type | one of |\n|---|---|\n");
        for constraint in &newest.constraints {
            writeln!(text, "| `{}` | {} |", constraint.variable, cell(&types(constraint.types)))?;
        }
    }
    let remarks = newest.remarks();
    if !remarks.is_empty() {
        writeln!(text, "\n* {}", remarks.join("\n* "))?;
    }
    Ok(())
}

fn formals(text: &mut String, title: &str, formals: &[DeclaredFormal]) -> std::fmt::Result {
    if formals.is_empty() {
        return Ok(());
    }
    writeln!(text, "\n| {title} | type | |\n|---|---|---|")?;
    for formal in formals {
        writeln!(text, "| `{}` | {} | {} |", formal.name, formal.ty, formal.occurrence())?;
    }
    Ok(())
}

/// The types of a set; many types are grouped by their structure: `tensor of float, double; seq(tensor) of the same`.
fn types(set: TypeSet) -> String {
    const FEW: usize = 8;
    if set.len() <= FEW {
        return set.to_string();
    }
    let mut groups: Vec<(String, Vec<&str>)> = Vec::new();
    for id in set.iter() {
        let text = id.text();
        let (around, element) = match text.split_once("tensor(") {
            Some((before, rest)) if !before.contains("map") => {
                let open = before.matches('(').count();
                (format!("{before}tensor{}", ")".repeat(open)), rest.trim_end_matches(')'))
            }
            _ => (String::new(), text),
        };
        match groups.iter_mut().find(|(other, _)| *other == around) {
            Some((_, elements)) => elements.push(element),
            None => groups.push((around, vec![element])),
        }
    }
    let mut told = Vec::with_capacity(groups.len());
    for (index, (around, elements)) in groups.iter().enumerate() {
        let before = index.checked_sub(1).and_then(|index| groups.get(index));
        let same = before.is_some_and(|(_, before)| before == elements);
        let elements = if same { "the same".to_owned() } else { elements.join(", ") };
        told.push(if around.is_empty() { elements } else { format!("{around} of {elements}") });
    }
    told.join("; ")
}

/// A text inside a cell of a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('<', "&lt;")
}

fn versions(text: &mut String, operator: &Operator<'_>, conversions: &Conversions) -> std::fmt::Result {
    let told: Vec<[String; 2]> = operator.schemas.iter().map(|schema| conversions.told(schema)).collect();
    let is_converted = told.iter().flatten().any(|told| !told.is_empty());
    text.push_str("\n## Versions\n\n");
    if is_converted {
        text.push_str(
            "What the schema changes, and what a [conversion](../../../versions.md) to the version and down from it does.\n\n\
             | version | what changed | upwards | downwards |\n|---|---|---|---|\n",
        );
    } else {
        text.push_str("| version | what changed |\n|---|---|\n");
    }
    let schemas: Vec<DeclaredSchema> = operator.schemas.iter().map(Into::into).collect();
    for (index, (schema, [up, down])) in schemas.iter().zip(&told).enumerate().rev() {
        let before = index.checked_sub(1).and_then(|index| schemas.get(index));
        let told: Vec<String> = match before {
            None => vec!["the first version".to_owned()],
            Some(before) => changes(before, schema).iter().map(|change| cell(&change.to_string())).collect(),
        };
        let told = if told.is_empty() { "nothing that schemas tell".to_owned() } else { told.join("<br>") };
        write!(text, "| {} | {told} |", schema.since_version())?;
        if is_converted {
            write!(text, " {} | {} |", shown(up), shown(down))?;
        }
        text.push('\n');
    }
    Ok(())
}

fn inferred(text: &mut String, operator: &Operator<'_>) -> std::fmt::Result {
    let home = operator.home;
    writeln!(text, "\n## What is inferred\n\n{}\n", home.about)?;
    let (followed, other): (Vec<&Schema>, Vec<&Schema>) =
        operator.schemas.iter().partition(|schema| follows_values(schema.id()));
    let values = match (followed.first(), other.is_empty()) {
        (None, _) => "are not followed".to_owned(),
        (Some(_), true) => "are followed where they are known".to_owned(),
        (Some(first), false) => {
            format!("are followed from version {} on where they are known", first.since_version())
        }
    };
    writeln!(
        text,
        "The elements of small tensors {values}. The rules are in [{}]({ROOT}/{}).",
        home.short, home.path
    )
}

fn example(text: &mut String, operator: &Operator<'_>, sources: &[Source]) -> Result<(), String> {
    let newest = operator.newest;
    let (source, nodes) = best(sources, newest, &operator.home.short)
        .ok_or_else(|| format!("no file test of inference has a line of {}", newest.name()))?;
    let path = &source.path;
    let file = path.rsplit('/').next().unwrap_or_default();
    let versions = match source.range.filter(|range| range.domain == newest.domain()) {
        Some(Range { first, last, .. }) if first == last => format!(", at version {first}"),
        Some(Range { first, last, .. }) => format!(", the same at versions {first} to {last}"),
        None => String::new(),
    };
    let mut lines = String::new();
    for node in nodes {
        if !node.inputs.is_empty() {
            lines.push_str(&format!("# {}\n", node.inputs.join("; ")));
        }
        lines.push_str(&node.text);
        lines.push('\n');
    }
    text.push_str(&format!(
        "\n## Example\n\nFrom [{file}]({ROOT}/{path}){versions}. The comment above a node says what its inputs are.\n\n\
         ```text\n{lines}```\n"
    ));
    Ok(())
}
