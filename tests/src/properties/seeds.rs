//! Inputs to start from: small files, texts and scripts that already lead far.

use std::fs;
use std::path::Path;

use super::mutate::Numbers;
use super::write;
use crate::conformance::data::bundled;
use crate::conformance::generate::{self, Choices, Style};
use crate::conformance::schema::Schema;
use onnx_hostile as hostile;

/// Longer seeds teach a fuzzer nothing that shorter ones do not, and slow it down.
const LONGEST: usize = 8 << 10;

/// Files of models: the bundled ones, messages made from the descriptors, the hostile ones.
#[must_use]
pub fn models() -> Vec<Vec<u8>> {
    let mut seeds: Vec<Vec<u8>> = files(&bundled(), "onnx");
    if let Ok(schema) = Schema::load()
        && let Some(model) = schema.find("ModelProto")
    {
        for seed in 0..150 {
            let style = [Style::Canonical, Style::Odd, Style::Broken][seed as usize % 3];
            let noise = generate::noise(seed, 100 + 20 * (seed as usize % 50));
            seeds.push(generate::message(&schema, model, &mut Choices::new(&noise), style, 8));
        }
    }
    for seed in 0..60 {
        let model = onnx_smith::from_seed(seed, &onnx_smith::SmithOptions::default()).model;
        seeds.extend(write(&model).ok().flatten().map(|file| file.to_vec()));
    }
    let hostile = hostile::nesting::cases().into_iter().chain(hostile::tensors::cases());
    let hostile = hostile.chain(hostile::functions::cases());
    seeds.extend(hostile.map(|case| case.bytes.to_vec()));
    seeds.retain(|seed| seed.len() <= LONGEST);
    seeds
}

/// The crates with file tests.
const WITH_FILETESTS: [&str; 4] = ["onnx-check", "onnx-shape-infer", "onnx-codec", "onnx-text"];

/// Texts: the file tests, which hold every operator and most mistakes.
#[must_use]
pub fn texts() -> Vec<Vec<u8>> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates");
    let texts = |name| files(&crates.join(name).join("tests/filetests"), "onnxtxt");
    WITH_FILETESTS.into_iter().flat_map(texts).collect()
}

/// Models as protobuf's text and as JSON, and hostile texts of both.
#[must_use]
pub fn forms() -> Vec<Vec<u8>> {
    let mut seeds: Vec<Vec<u8>> = Vec::new();
    for model in models().iter().step_by(3) {
        let (text, json) = (onnx_formats::to_text(model), onnx_formats::to_json(model));
        seeds.extend(text.ok().map(|written| written.text.into()));
        seeds.extend(json.ok().map(|written| written.text.into()));
    }
    seeds.extend(hostile::forms::cases().into_iter().map(|case| case.bytes.to_vec()));
    seeds.retain(|seed| seed.len() <= LONGEST);
    seeds
}

/// Texts, and the models in them as files.
#[must_use]
pub fn texts_and_models() -> Vec<Vec<u8>> {
    let mut seeds = texts();
    seeds.extend(models());
    seeds
}

/// Files, and the models of texts as files.
#[must_use]
pub fn models_and_texts() -> Vec<Vec<u8>> {
    let mut seeds = models();
    for text in texts() {
        let model = onnx_text::parse_model(&text, &onnx_text::ParseOptions::default());
        if let Some(file) = model.ok().and_then(|model| write(&model).ok().flatten()) {
            seeds.push(file.to_vec());
        }
    }
    seeds.retain(|seed| seed.len() <= LONGEST);
    seeds
}

/// Files of models with a node of each schema in turn, and of other ones.
#[must_use]
pub fn runs() -> Vec<Vec<u8>> {
    let made = onnx_schema::all().iter().filter(|schema| !schema.is_deprecated()).map(|schema| {
        let options = onnx_smith::SmithOptions::default().with_nodes(2).with_schema(schema.id());
        onnx_smith::from_seed(schema.id().index() as u64, &options).model
    });
    let mut seeds: Vec<Vec<u8>> =
        made.filter_map(|model| write(&model).ok().flatten()).map(|file| file.to_vec()).collect();
    seeds.extend(models_and_texts());
    seeds.retain(|seed| seed.len() <= LONGEST);
    seeds
}

/// Bytes of all kinds, enough for some nodes.
#[must_use]
pub fn noise() -> Vec<Vec<u8>> {
    (0..60).map(|seed| generate::noise(seed, 3000)).collect()
}

/// The rules of `onnx-rewrite`, and scripts that exchange tokens between them.
#[must_use]
pub fn rules_and_scripts() -> Vec<Vec<u8>> {
    let script = |seed: u64| {
        let mut numbers = Numbers::new(seed);
        let count = 1 + 3 * (1 + seed as usize % 4);
        let bytes = (0..count).map(|_| numbers.next() as u8);
        std::iter::once(super::rules::SCRIPT).chain(bytes).collect()
    };
    let mut seeds = rules();
    seeds.extend((0..100).map(script));
    seeds
}

/// The rules of `onnx-rewrite`, one in each file.
#[must_use]
pub fn rules() -> Vec<Vec<u8>> {
    let mut seeds = Vec::new();
    for (_, text) in onnx_rewrite::FILES.iter().chain(onnx_rewrite::FUSION_FILES) {
        // A comment begins each rule.
        let rules = text.split("\n\n#").map(|rule| format!("#{}\n", rule.trim_start_matches('#').trim_end()));
        seeds.extend(rules.map(String::into_bytes));
    }
    seeds
}

/// Scripts: numbers that are taken for steps.
#[must_use]
pub fn scripts() -> Vec<Vec<u8>> {
    let script = |seed: usize| {
        let mut numbers = Numbers::new(seed as u64);
        (0..40 + 20 * (seed % 20)).map(|_| numbers.next() as u8).collect()
    };
    (0..60).map(script).collect()
}

/// The files under a folder with this ending, in the order of their names, unless they are long.
fn files(root: &Path, ending: &str) -> Vec<Vec<u8>> {
    let (mut paths, mut left) = (Vec::new(), vec![root.to_owned()]);
    while let Some(path) = left.pop() {
        if let Ok(entries) = path.read_dir() {
            left.extend(entries.filter_map(Result::ok).map(|entry| entry.path()));
        } else if path.extension().is_some_and(|extension| extension == ending) {
            paths.push(path);
        }
    }
    paths.sort();
    let contents = paths.iter().filter_map(|path| fs::read(path).ok());
    contents.filter(|bytes| bytes.len() <= LONGEST).collect()
}
