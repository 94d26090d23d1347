//! The rows of the steps against the facts and the functions.

use std::collections::HashSet;

use onnx_schema::domain;

use super::*;

#[test]
fn every_version_of_every_operator_has_a_row() {
    let table = Table::new();
    assert_eq!(table.0.len(), STEPS.iter().map(|(.., versions)| versions.len()).sum::<usize>());
    let mut missing = Vec::new();
    for schemas in onnx_schema::operators() {
        let first = schemas.iter().map(Schema::since_version).min();
        for schema in schemas.iter().filter(|schema| Some(schema.since_version()) != first) {
            if [domain::ONNX, domain::ML].contains(&schema.domain()) && table.row(schema).is_none() {
                missing.push(format!("{}-{}", schema.name(), schema.since_version()));
            }
        }
    }
    assert_eq!(missing, Vec::<String>::new(), "versions without a row in `STEPS`");
}

#[test]
fn rows_and_functions_agree() {
    let table = Table::new();
    let rows = |is_wanted: fn((VersionChange, Down)) -> bool| -> HashSet<String> {
        let schemas = onnx_schema::all().iter().filter(|schema| table.row(schema).is_some_and(is_wanted));
        schemas.map(|schema| format!("{}-{}", schema.name(), schema.since_version())).collect()
    };
    let with = |find: fn(&Schema) -> bool| -> HashSet<String> {
        let schemas = onnx_schema::all().iter().filter(|schema| table.row(schema).is_some() && find(schema));
        schemas.map(|schema| format!("{}-{}", schema.name(), schema.since_version())).collect()
    };
    let mut up = rows(|(up, _)| up == VersionChange::Adapted);
    // The trees of version 5 are another operator.
    up.retain(|name| !name.starts_with("TreeEnsemble"));
    assert_eq!(up, with(|schema| crate::steps::find(schema).is_some()));
    assert_eq!(
        rows(|(_, down)| down == Down::Adapted),
        with(|schema| crate::steps::find_down(schema).is_some())
    );
}
