//! The list of what an artefact contains, as a CycloneDX document. It has neither a time nor a random number: equal builds have equal
//! documents.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::contents::{self, Artefact, Crate, Id};

/// The name of the document about an artefact.
pub(super) fn file(artefact: Artefact) -> String {
    format!("sbom-{}.cdx.json", artefact.name())
}

/// The document about an artefact and all crates that are linked into it.
pub(super) fn document(artefact: Artefact, root: &Id, crates: &BTreeMap<Id, Crate>, lock: &str) -> Value {
    let checksums = checksums(lock);
    // What was installed has the name of its registry.
    let named = |id: &Id, found: &Crate| {
        let registry = subject(artefact).filter(|_| id == root);
        registry.map_or_else(|| url(id, found), |(_, registry)| format!("pkg:{registry}/onnxkit@{}", id.1))
    };
    let reference = |id: &Id| crates.get(id).map(|found| named(id, found));
    let mut components: Vec<Value> = Vec::new();
    let mut dependencies: Vec<Value> = Vec::new();
    let mut about = Value::Null;
    for (id, found) in crates {
        let depends: Vec<String> = found.depends.iter().filter_map(reference).collect();
        dependencies.push(json!({ "ref": named(id, found), "dependsOn": depends }));
        if id == root {
            about = component(id, found, "application", &checksums);
            if let Some((name, _)) = subject(artefact) {
                about["type"] = json!("library");
                about["name"] = json!(name);
            }
            about["bom-ref"] = json!(named(id, found));
            about["purl"] = json!(named(id, found));
        } else {
            components.push(component(id, found, "library", &checksums));
        }
    }
    json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": { "component": about },
        "components": components,
        "dependencies": dependencies,
    })
}

/// The name of a package that is not a crate, and the registry of its kind.
const fn subject(artefact: Artefact) -> Option<(&'static str, &'static str)> {
    match artefact {
        Artefact::Command => None,
        Artefact::Wheel => Some(("onnxkit", "pypi")),
        Artefact::Npm => Some(("onnxkit", "npm")),
    }
}

fn component(id: &Id, found: &Crate, kind: &str, checksums: &BTreeMap<(&str, &str), &str>) -> Value {
    let (name, version) = (id.0.as_str(), id.1.as_str());
    let mut component = json!({
        "type": kind,
        "bom-ref": url(id, found),
        "name": contents::published(name, found),
        "version": version,
        "purl": url(id, found),
    });
    if let Some(license) = &found.license {
        component["licenses"] = json!([{ "expression": contents::expression(license) }]);
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

/// The name of a crate that is valid everywhere.
fn url(id: &Id, found: &Crate) -> String {
    format!("pkg:cargo/{}@{}", contents::published(&id.0, found), id.1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contents::tests::{TREE, metadata};

    #[test]
    fn what_is_linked_is_listed_with_checksums() {
        let lock = "[[package]]\nname = \"b\"\nversion = \"1.0.0\"\nsource = \"r\"\nchecksum = \"5a\"\n";
        let (root, crates) = contents::joined(TREE, &metadata()).unwrap();
        let found = document(Artefact::Command, &root, &crates, lock);
        let components = found["components"].as_array().unwrap();
        let names: Vec<&Value> = components.iter().map(|component| &component["name"]).collect();
        assert_eq!(names, ["b", "c", "d"]);
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
        let last = json!({
            "ref": "pkg:cargo/onnxkit-a@1.0.0",
            "dependsOn": ["pkg:cargo/b@1.0.0", "pkg:cargo/d@0.2.0"],
        });
        assert_eq!(found["dependencies"][3], last);
        assert_eq!(found["metadata"]["component"]["type"], "application");
        for (artefact, registry) in [(Artefact::Wheel, "pypi"), (Artefact::Npm, "npm")] {
            let found = document(artefact, &root, &crates, lock);
            let about = &found["metadata"]["component"];
            let name = format!("pkg:{registry}/onnxkit@1.0.0");
            assert_eq!((&about["purl"], &about["bom-ref"]), (&json!(name), &json!(name)));
            assert_eq!((&about["name"], &about["type"]), (&json!("onnxkit"), &json!("library")));
            assert_eq!(found["dependencies"][3]["ref"], name);
            assert_eq!(found["components"][0]["purl"], "pkg:cargo/b@1.0.0");
        }
    }
}
