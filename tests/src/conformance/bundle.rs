//! Chooses the small set of models that is committed: `cargo xtask conformance --bundle --corpus PATH --models PATH`.
//!
//! Every file is described by its features: which fields it has, in which form, which element types are in which data
//! field, which tool wrote it, and its irregularities. Files are selected, the one with most new features for its size
//! first, until every feature of any file is covered. `tests/models/manifest.json` lists the purpose of each file.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use serde_json::json;

use super::data::{Case, Data, bundled};
use super::schema::{FieldType, MessageId, Schema};
use super::survey::Survey;
use super::tree::{LEVELS, fits};
use super::wire::{Malformed, Records, Value};

/// The largest file that is taken, in bytes.
const LARGEST: usize = 64 << 10;

/// Cost of a file in addition to its size, in bytes: a few larger files are better than many small ones.
const OVERHEAD: usize = 2000;

/// A file that may be taken.
struct Candidate {
    case: Case,
    features: BTreeSet<u32>,
}

/// The features, numbered.
#[derive(Default)]
struct Names {
    numbers: BTreeMap<String, u32>,
    names: Vec<String>,
}

impl Names {
    fn number(&mut self, name: String) -> u32 {
        let next = self.names.len() as u32;
        *self.numbers.entry(name).or_insert_with_key(|name| {
            self.names.push(name.clone());
            next
        })
    }
}

/// Chooses the models anew and writes them to `tests/models`; returns what to tell.
///
/// # Errors
///
/// When no collection is given, or something cannot be read or written.
pub fn choose(data: &Data) -> Result<String, String> {
    if data.is_bundled() {
        return Err("`--bundle` needs `--corpus` or `--models` to choose from".to_owned());
    }
    let schema = Schema::load()?;
    let model = schema.find("ModelProto").ok_or("the descriptors have no `ModelProto`")?;
    let mut names = Names::default();
    let mut candidates: BTreeMap<BTreeSet<u32>, Case> = BTreeMap::new();
    data.messages(&mut |case| {
        if case.bytes.len() > LARGEST {
            return Ok(());
        }
        let exported = case.id.starts_with("models/");
        let Ok(features) = features(&schema, model, &case.bytes, exported, &mut names) else {
            return Ok(());
        };
        let smallest = candidates.entry(features).or_insert_with(|| case.clone());
        if (case.bytes.len(), &case.id) < (smallest.bytes.len(), &smallest.id) {
            *smallest = case;
        }
        Ok(())
    })?;
    let candidates = candidates.into_iter().map(|(features, case)| Candidate { case, features }).collect();
    write(&bundled(), &take(candidates), &names, &schema, model)
}

/// Takes files until all features are covered; each with the features it is the first to have.
fn take(mut candidates: Vec<Candidate>) -> Vec<(Case, BTreeSet<u32>)> {
    let mut taken = Vec::new();
    loop {
        let best = candidates.iter().enumerate().max_by(|(_, a), (_, b)| {
            let gain = |candidate: &Candidate| candidate.features.len() as u64;
            let cost = |candidate: &Candidate| (candidate.case.bytes.len() + OVERHEAD) as u64;
            (gain(a) * cost(b)).cmp(&(gain(b) * cost(a))).then_with(|| b.case.id.cmp(&a.case.id))
        });
        let Some((index, _)) = best else { return taken };
        let Candidate { case, features } = candidates.swap_remove(index);
        for candidate in &mut candidates {
            candidate.features.retain(|feature| !features.contains(feature));
        }
        candidates.retain(|candidate| !candidate.features.is_empty());
        if !features.is_empty() {
            taken.push((case, features));
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "a developer reads it")]
fn write(
    folder: &Path,
    taken: &[(Case, BTreeSet<u32>)],
    names: &Names,
    schema: &Schema,
    model: MessageId,
) -> Result<String, String> {
    let fail = |error: std::io::Error| format!("`{}` cannot be written: {error}", folder.display());
    fs::create_dir_all(folder).map_err(fail)?;
    for entry in fs::read_dir(folder).map_err(fail)? {
        let path = entry.map_err(fail)?.path();
        if path.extension().is_some_and(|extension| extension == "onnx") {
            fs::remove_file(path).map_err(fail)?;
        }
    }
    let name = |number: &u32| names.names.get(*number as usize).map(String::as_str).unwrap_or_default();
    let mut files = Vec::new();
    let mut total = 0;
    for (case, features) in taken {
        let (kind, from) = case.id.split_once('/').unwrap_or(("", &case.id));
        let stem: String = from.trim_end_matches(".onnx").trim_end_matches("/model").to_owned();
        let stem = stem.rsplit('/').next().unwrap_or_default().to_owned();
        let file = match kind {
            "models" => format!("{stem}.onnx"),
            kind => format!("{}-{stem}.onnx", kind.trim_end_matches("Proto").to_lowercase()),
        };
        fs::write(folder.join(&file), &case.bytes).map_err(fail)?;
        total += case.bytes.len();
        let covers: Vec<&str> = features.iter().map(name).collect();
        files.push(json!({ "file": file, "from": case.id, "bytes": case.bytes.len(), "covers": covers }));
    }
    files.sort_by_key(|file| file["file"].to_string());
    let missing = missing(schema, model, names);
    let manifest = json!({
        "command": "cargo xtask conformance --bundle --corpus PATH --models PATH",
        "fields_in_no_file": missing,
        "files": files,
    });
    let text = serde_json::to_string_pretty(&manifest).map_err(|error| error.to_string())?;
    fs::write(folder.join("manifest.json"), text + "\n").map_err(fail)?;
    Ok(format!(
        "{} files, {total} bytes, {} features; {} fields are in no file",
        taken.len(),
        names.names.len(),
        missing.len()
    ))
}

/// Fields of a model that no file has. The generated cases of the round trip have them all.
fn missing(schema: &Schema, model: MessageId, names: &Names) -> Vec<String> {
    let seen: BTreeSet<&str> =
        names.names.iter().filter_map(|name| name.strip_prefix("field ")?.split(' ').next()).collect();
    let mut missing = Vec::new();
    let (mut reached, mut open) = (vec![model], vec![model]);
    while let Some(id) = open.pop() {
        let message = schema.message(id);
        for field in &message.fields {
            let name = format!("{}.{}", message.name, field.name);
            if !seen.contains(name.as_str()) {
                missing.push(name);
            }
            if let FieldType::Message(inner) = field.ty
                && !reached.contains(&inner)
            {
                reached.push(inner);
                open.push(inner);
            }
        }
    }
    missing.sort();
    missing
}

fn features(
    schema: &Schema,
    model: MessageId,
    bytes: &[u8],
    exported: bool,
    names: &mut Names,
) -> Result<BTreeSet<u32>, Malformed> {
    let mut found = BTreeSet::new();
    let survey = Survey::of(schema, model, bytes)?;
    found.extend(survey.departure.map(|(_, reason)| format!("form {reason}")));
    found.extend(survey.findings.iter().map(|slug| format!("finding {slug}")));
    message(schema, model, bytes, LEVELS, 0, &mut found)?;
    if !exported {
        // What test cases call their producer says nothing.
        found.retain(|name| !name.starts_with("producer "));
    }
    Ok(found.into_iter().map(|name| names.number(name)).collect())
}

fn message(
    schema: &Schema,
    id: MessageId,
    bytes: &[u8],
    levels: u32,
    graphs: usize,
    found: &mut BTreeSet<String>,
) -> Result<(), Malformed> {
    let ty = schema.message(id);
    let (mut elem, mut content) = (None, BTreeSet::new());
    let mut last = 0;
    for record in Records::new(bytes, levels) {
        let record = record?;
        let Some(field) = ty.field(record.number).filter(|field| fits(field, &record)) else {
            found.insert(format!("unknown field of {}", ty.name));
            continue;
        };
        if record.number < last {
            found.insert(format!("order of {}", ty.name));
        }
        last = record.number;
        let mut name = format!("field {}.{}", ty.name, field.name);
        match (&field.ty, record.value) {
            (FieldType::Message(inner), Value::Len(bytes)) => {
                let inside =
                    graphs + usize::from(ty.name == "AttributeProto" && matches!(field.number, 6 | 11));
                if inside > graphs {
                    found.insert(format!("graphs nested {} deep", inside.min(3)));
                }
                message(schema, *inner, bytes, levels.checked_sub(1).ok_or(Malformed(0))?, inside, found)?;
            }
            (_, Value::Len([])) => name += " empty",
            (field_ty, Value::Len(_)) if field.repeated && field_ty.packable() => name += " packed",
            (FieldType::String, Value::Len(text)) if name.ends_with(".producer_name") => {
                found.insert(format!("producer {}", String::from_utf8_lossy(text)));
            }
            (FieldType::Enum(_), Value::Varint(value)) => name += &format!(" {value}"),
            (_, Value::Varint(0)) if !field.repeated => name += " zero",
            _ => {}
        }
        if ty.name == "TensorProto" {
            match (record.number, record.value) {
                (2, Value::Varint(code)) => elem = Some(code),
                (4..=7 | 9..=11, _) => drop(content.insert(field.name.clone())),
                _ => {}
            }
        }
        found.insert(name);
    }
    if ty.name == "TensorProto" {
        let content = content.into_iter().collect::<Vec<_>>().join(" and ");
        found.insert(format!("elements of type {}", elem.unwrap_or(0)));
        found.insert(format!("elements in {content}"));
    }
    Ok(())
}
