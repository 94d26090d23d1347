//! The generated pages about operators: what schemas say, what is inferred, and what file tests show of it.

mod conversions;
mod homes;
mod page;
mod runtime;
mod shown;
mod traits;

use std::fmt::Write as _;

use onnx_schema::{Schema, SchemaId};
use onnx_shape_infer::follows_values;

use crate::documents::HEADER;
use conversions::Conversions;
use homes::{Home, homes};
pub use runtime::runtime_without_filetest;
use shown::{Source, sources};

/// A generated document: its path below `docs/generated`, and its text.
pub type Document = (String, String);

/// An operator with all that its page is made of.
struct Operator<'a> {
    /// The schemas, oldest first.
    schemas: &'static [Schema],
    newest: &'static Schema,
    home: &'a Home,
}

/// The index of all operators, and a page for each.
///
/// # Errors
///
/// When an operator has no home or several, no file test shows it, or a file test has errors.
pub fn operator_pages() -> Result<Vec<Document>, String> {
    let (homes, sources) = (homes()?, sources()?);
    let mut operators = Vec::new();
    for schemas in onnx_schema::operators() {
        let newest = schemas.last().ok_or("an operator has no schema")?;
        let home = homes.get(&homes::key(newest.name()));
        let home = home.ok_or_else(|| format!("no file has the rules of {}", newest.name()))?;
        operators.push(Operator { schemas, newest, home });
    }
    operators.sort_by_key(|operator| (operator.newest.domain_name(), operator.newest.name()));
    let conversions = Conversions::new()?;
    let index = index(&operators).map_err(|error| error.to_string())?;
    let steps = conversions::page(&conversions, &operators).map_err(|error| error.to_string())?;
    let mut documents =
        vec![("operators.md".to_owned(), index), ("versions.md".to_owned(), steps), runtime::runtime_page()?];
    for operator in &operators {
        documents.push((path(operator.newest), page::page(operator, &sources, &conversions)?));
    }
    Ok(documents)
}

/// The operators that no file test of inference says the outputs of.
///
/// # Errors
///
/// When a file test cannot be read or has errors.
pub fn without_filetest() -> Result<Vec<&'static str>, String> {
    let sources = sources()?;
    let is_shown = |schema: &&Schema| sources.iter().any(|source| source.of(schema).next().is_some());
    let newest = onnx_schema::operators().filter_map(<[Schema]>::last);
    Ok(newest.filter(|schema| !is_shown(schema)).map(Schema::name).collect())
}

/// The schemas of nodes in file tests whose elements are given although [`follows_values`] returns `false`.
///
/// # Errors
///
/// When a file test cannot be read or has errors.
pub fn with_unexpected_values() -> Result<Vec<SchemaId>, String> {
    let sources = sources()?;
    let told = sources.iter().flat_map(Source::told);
    Ok(told.filter(|&schema| !follows_values(schema)).collect())
}

/// The name of a domain as a folder; the default one has a spelling.
fn domain_name(schema: &Schema) -> &'static str {
    if schema.domain_name().is_empty() { "ai.onnx" } else { schema.domain_name() }
}

/// The place of the page of an operator.
fn path(schema: &Schema) -> String {
    format!("operators/{}/{}.md", domain_name(schema), schema.name())
}

fn index(operators: &[Operator<'_>]) -> Result<String, std::fmt::Error> {
    let mut text = format!("{HEADER}# Operators\n\n");
    writeln!(
        text,
        "{} operators with {} schemas. A page has the signature, what each version changed, what is inferred and an \
         example. The third column says whether the elements of small tensors are followed.",
        operators.len(),
        SchemaId::COUNT
    )?;
    let mut domain = None;
    for operator in operators {
        let newest = operator.newest;
        if domain.replace(newest.domain()) != Some(newest.domain()) {
            write!(text, "\n## {}\n\n", domain_name(newest))?;
            text.push_str("| operator | versions | values | rules |\n|---|---|---|---|\n");
        }
        let versions: Vec<String> =
            operator.schemas.iter().map(|schema| schema.since_version().to_string()).collect();
        let values = if follows_values(newest.id()) { "followed" } else { "–" };
        let deprecated = if newest.is_deprecated() { ", deprecated" } else { "" };
        writeln!(
            text,
            "| [{}]({}) | {}{deprecated} | {values} | [{}](../../{}) |",
            newest.name(),
            path(newest),
            versions.join(", "),
            operator.home.short,
            operator.home.path
        )?;
    }
    Ok(text)
}
