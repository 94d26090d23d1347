//! The list of what an artefact contains, as a CycloneDX document. It has neither a time nor a random number: equal builds have equal
//! documents.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::package;

/// The document about a package of `cargo metadata` and all packages that are compiled into it.
///
/// # Errors
///
/// Returns an error if there is no such package.
pub(super) fn document(metadata: &Value, lock: &str, package: &str) -> Result<Value, String> {
    let packages: BTreeMap<&str, &Value> =
        list(&metadata["packages"]).map(|package| (text(&package["id"]), package)).collect();
    let root = packages
        .iter()
        .find(|(_, found)| text(&found["name"]) == package && found["source"].is_null())
        .map(|(&id, _)| id)
        .ok_or_else(|| format!("the workspace has no package `{package}`"))?;
    let edges: BTreeMap<&str, BTreeSet<&str>> = list(&metadata["resolve"]["nodes"])
        .map(|node| {
            let linked = list(&node["deps"]).filter(|edge| is_linked(edge)).map(target);
            let linked = linked.filter(|id| !packages.get(id).is_some_and(|package| is_macro(package)));
            (text(&node["id"]), linked.collect())
        })
        .collect();
    let reached = reached(root, &edges);
    let checksums = checksums(lock);
    let mut components: Vec<Value> = Vec::new();
    let mut dependencies: Vec<Value> = Vec::new();
    for id in &reached {
        let Some(found) = packages.get(id) else { continue };
        let own = edges.get(id).into_iter().flatten();
        let depends: Vec<String> =
            own.filter_map(|id| packages.get(id)).map(|&package| url(package)).collect();
        dependencies.push(json!({ "ref": url(found), "dependsOn": depends }));
        if *id != root {
            components.push(component(found, "library", &checksums));
        }
    }
    let about = packages.get(root).map(|found| component(found, "application", &checksums));
    Ok(json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": { "component": about },
        "components": components,
        "dependencies": dependencies,
    }))
}

/// All packages that are compiled into one, itself included.
fn reached<'a>(root: &'a str, edges: &BTreeMap<&'a str, BTreeSet<&'a str>>) -> BTreeSet<&'a str> {
    let mut reached = BTreeSet::new();
    let mut open = vec![root];
    while let Some(id) = open.pop() {
        if reached.insert(id) {
            open.extend(edges.get(id).into_iter().flatten());
        }
    }
    reached
}

/// Whether a dependency is in the program: those of tests and of build scripts are not.
fn is_linked(edge: &Value) -> bool {
    list(&edge["dep_kinds"]).any(|kind| kind["kind"].is_null())
}

/// Whether a package runs in the compiler only.
fn is_macro(package: &Value) -> bool {
    list(&package["targets"]).flat_map(|target| list(&target["kind"])).any(|kind| kind == "proc-macro")
}

fn target(edge: &Value) -> &str {
    text(&edge["pkg"])
}

fn component(package: &Value, kind: &str, checksums: &BTreeMap<(&str, &str), &str>) -> Value {
    let (name, version) = (text(&package["name"]), text(&package["version"]));
    let published = published(package);
    let mut component = json!({
        "type": kind,
        "bom-ref": url(package),
        "name": published,
        "version": version,
        "purl": url(package),
    });
    if let Some(license) = package["license"].as_str() {
        // Old manifests separate alternatives by a slash.
        component["licenses"] = json!([{ "expression": license.replace('/', " OR ") }]);
    }
    if let Some(checksum) = checksums.get(&(name, version)) {
        component["hashes"] = json!([{ "alg": "SHA-256", "content": checksum }]);
    }
    component
}

/// The checksums of a lock file by name and version.
fn checksums(lock: &str) -> BTreeMap<(&str, &str), &str> {
    let field = |entry: &str, name: &str| -> Option<(usize, usize)> {
        let start = entry.find(&format!("\n{name} = \""))? + name.len() + 5;
        Some((start, start + entry.get(start..)?.find('"')?))
    };
    let mut checksums = BTreeMap::new();
    for entry in lock.split("[[package]]") {
        let found = ["name", "version", "checksum"].map(|name| {
            let (start, end) = field(entry, name)?;
            entry.get(start..end)
        });
        if let [Some(name), Some(version), Some(checksum)] = found {
            checksums.insert((name, version), checksum);
        }
    }
    checksums
}

/// The name of a package in the registry, where a package of the workspace may have the name of another one.
fn published(package: &Value) -> String {
    let name = text(&package["name"]);
    if package["source"].is_null() { package::published(name) } else { name.to_owned() }
}

/// The name of a package that is valid everywhere.
fn url(package: &Value) -> String {
    format!("pkg:cargo/{}@{}", published(package), text(&package["version"]))
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metadata() -> Value {
        let package = |id: &str, source: Option<&str>| {
            let license = "MIT/Apache-2.0";
            let kind = if id == "e" { "proc-macro" } else { "lib" };
            json!({
                "id": id,
                "name": id,
                "version": "1.0.0",
                "license": license,
                "source": source,
                "targets": [{ "kind": [kind] }],
            })
        };
        let edge = |id: &str, kind: Option<&str>| json!({ "pkg": id, "dep_kinds": [{ "kind": kind }] });
        json!({
            "packages": [
                package("onnx-a", None),
                package("b", Some("r")),
                package("c", Some("r")),
                package("d", Some("r")),
                package("e", Some("r")),
            ],
            "resolve": { "nodes": [
                { "id": "onnx-a", "deps": [edge("b", None), edge("c", Some("dev"))] },
                { "id": "b", "deps": [edge("d", None), edge("e", None)] },
                { "id": "c", "deps": [] },
                { "id": "d", "deps": [edge("b", None)] },
                { "id": "e", "deps": [edge("c", None)] },
            ] },
        })
    }

    #[test]
    fn what_is_compiled_in_is_listed_with_checksums() {
        let lock = "[[package]]\nname = \"b\"\nversion = \"1.0.0\"\nsource = \"r\"\nchecksum = \"5a\"\n";
        let found = document(&metadata(), lock, "onnx-a").unwrap();
        let names: Vec<&str> = list(&found["components"]).map(|component| text(&component["name"])).collect();
        assert_eq!(names, ["b", "d"]);
        assert_eq!(
            found["components"][0],
            json!({
                "type": "library",
                "bom-ref": "pkg:cargo/b@1.0.0",
                "name": "b",
                "version": "1.0.0",
                "purl": "pkg:cargo/b@1.0.0",
                "licenses": [{ "expression": "MIT OR Apache-2.0" }],
                "hashes": [{ "alg": "SHA-256", "content": "5a" }],
            })
        );
        assert_eq!(found["metadata"]["component"]["name"], "onnxkit-a");
        let last = json!({ "ref": "pkg:cargo/onnxkit-a@1.0.0", "dependsOn": ["pkg:cargo/b@1.0.0"] });
        assert_eq!(found["dependencies"][2], last);
        assert_eq!(list(&found["dependencies"]).count(), 3);
    }

    #[test]
    fn packages_that_do_not_exist_are_refused() {
        assert_eq!(document(&metadata(), "", "b"), Err("the workspace has no package `b`".to_owned()));
        assert_eq!(document(&Value::Null, "", "a"), Err("the workspace has no package `a`".to_owned()));
    }
}
