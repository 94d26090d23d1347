//! The recorded results, which are compiled in. `tests/conformance/self_test.py` chooses them.

use std::collections::BTreeMap;
use std::io::{Cursor, Read as _};

use bytes::Bytes;
use serde::Deserialize;
use zip::ZipArchive;

use crate::exit::Failure;

const ARCHIVE: &[u8] = include_bytes!("samples.zip");

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Area {
    Evaluator,
    Checker,
    Inference,
    Parser,
    Simplifier,
}

/// A question, and what was answered. Files are indices of [`Samples::file`].
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Case {
    pub(super) area: Area,
    /// The name of the test, or of the record.
    pub(super) name: String,
    /// The model, or the text of the parser.
    pub(super) model: usize,
    #[serde(default)]
    pub(super) inputs: Vec<Option<usize>>,
    #[serde(default)]
    pub(super) outputs: Vec<Option<usize>>,
    /// The options that were set.
    #[serde(default)]
    pub(super) flags: Vec<String>,
    /// Whether the answer is an error.
    #[serde(default)]
    pub(super) refused: bool,
    /// The model in the answer.
    pub(super) result: Option<usize>,
}

impl Case {
    pub(super) fn has(&self, flag: &str) -> bool {
        self.flags.iter().any(|known| known == flag)
    }
}

#[derive(Deserialize)]
struct Index {
    reference: String,
    lengths: Vec<usize>,
    cases: Vec<Case>,
}

/// All cases and their files.
pub(super) struct Samples {
    /// The version that answered.
    pub(super) reference: String,
    pub(super) cases: Vec<Case>,
    pub(super) files: Vec<Bytes>,
}

impl Samples {
    /// Those that are compiled in.
    pub(super) fn bundled() -> Result<Self, Failure> {
        Self::read(ARCHIVE)
            .map_err(|reason| Failure::defect(format_args!("the samples are damaged: {reason}")))
    }

    fn read(archive: &[u8]) -> Result<Self, String> {
        let mut archive = ZipArchive::new(Cursor::new(archive)).map_err(|error| error.to_string())?;
        let mut entry = |name: &str| -> Result<Vec<u8>, String> {
            let mut content = Vec::new();
            let mut file = archive.by_name(name).map_err(|error| error.to_string())?;
            file.read_to_end(&mut content).map_err(|error| error.to_string())?;
            Ok(content)
        };
        let index = entry("index.json")?;
        let Index { reference, lengths, cases } =
            serde_json::from_slice(&index).map_err(|error| error.to_string())?;
        let mut data = Bytes::from(entry("data")?);
        let mut files = Vec::new();
        for length in lengths {
            if length > data.len() {
                return Err("a file is incomplete".to_owned());
            }
            files.push(data.split_to(length));
        }
        Ok(Self { reference, cases, files })
    }

    /// A file of a case.
    pub(super) fn file(&self, index: usize) -> Result<&Bytes, String> {
        self.files.get(index).ok_or_else(|| "the samples lack a file".to_owned())
    }

    /// The binary models, each once, with the name of a case that has it.
    pub(super) fn models(&self) -> impl Iterator<Item = (&str, &Bytes)> {
        let mut names: BTreeMap<usize, &str> = BTreeMap::new();
        for case in &self.cases {
            let model = Some(case.model).filter(|_| case.area != Area::Parser);
            for index in model.into_iter().chain(case.result) {
                names.entry(index).or_insert(&case.name);
            }
        }
        names.into_iter().filter_map(|(index, name)| Some((name, self.files.get(index)?)))
    }
}
