//! Verdicts: the checker refuses what the reference refuses, and accepts what it accepts.
//!
//! * Where the reference found an error, there is an error here, by whatever rule.
//! * Where it found none, no error comes from a rule that the reference enforces; diagnostics of other rules are
//!   ignored.
//! * Where the reference was asked to infer as well (`full_check`), what inference finds counts with the rest.
//!
//! If the program `onnx` is given (`--program`), it checks the same cases, and must agree with the library.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, OnceLock, PoisonError};

use bytes::Bytes;
use onnx_check::{CheckOptions, CustomOperators, ExternalFiles, Part, check_part};
use onnx_codec::{
    DecodeError, DecodeOptions, Decoded, FileSource, decode, decode_attribute, decode_function, decode_graph,
    decode_node, decode_sparse_tensor, decode_tensor, decode_value_info,
};
use onnx_diag::{Diagnostic, Severity};
use onnx_ir::OpsetImport;
use onnx_shape_infer::infer;
use serde_json::Value;

use crate::conformance::archive;
use crate::conformance::data::{self, Case, Data, Feed, Group, bundled};
use crate::conformance::manifest::{self, Blobs, Record};
use crate::conformance::report::{Failure, Report};
use crate::conformance::runner::{Outcome, Suite};

/// The option of the reference that adds inference.
const FULL: &str = "full_check";

/// The recorded verdict of the reference on a case, and its options.
#[derive(Clone, Default)]
struct Recorded {
    /// What was called, such as `check_node`; for models of a collection, `model`.
    call: String,
    options: Value,
    /// The class and the text of the error; `None` where all was well.
    error: Option<(String, String)>,
    /// The external data files of the model.
    files: Vec<(String, Bytes)>,
    /// Whether files of external data are looked for.
    looks_for_files: bool,
}

/// The suite.
#[derive(Default)]
pub struct CheckSuite {
    recorded: Mutex<BTreeMap<String, Recorded>>,
    program: OnceLock<PathBuf>,
}

/// What was found of a case.
#[derive(Default, PartialEq, Eq)]
struct Verdict {
    /// The bytes are not a message at all.
    is_unreadable: bool,
    /// The rules of errors that the reference has, too.
    enforced: Vec<String>,
    /// The rules of errors that it does not have.
    beyond: Vec<String>,
}

impl Verdict {
    fn add(&mut self, rule: &str, is_beyond: bool) {
        let list = if is_beyond { &mut self.beyond } else { &mut self.enforced };
        if !list.iter().any(|known| known == rule) {
            list.push(rule.to_owned());
        }
    }

    fn of(found: &[Diagnostic]) -> Self {
        let mut verdict = Self::default();
        for found in found.iter().filter(|found| found.severity == Severity::Error) {
            verdict.add(found.rule.slug, found.beyond_reference);
        }
        verdict
    }

    const fn has_errors(&self) -> bool {
        self.is_unreadable || !self.enforced.is_empty() || !self.beyond.is_empty()
    }
}

impl Recorded {
    fn flag(&self, name: &str) -> bool {
        self.options.get(name).and_then(Value::as_bool).unwrap_or(false)
    }

    /// The IR version and the operator sets around a part.
    fn context(&self) -> (i64, Vec<(String, i64)>) {
        let ir_version = self.options.get("ir_version").and_then(Value::as_i64).unwrap_or_default();
        let imports = self.options.get("opset_imports").and_then(Value::as_object);
        let imports = imports.into_iter().flatten();
        let imports = imports.filter_map(|(domain, version)| Some((domain.clone(), version.as_i64()?)));
        (ir_version, imports.collect())
    }

    /// What `onnx check --as` calls it.
    fn part(&self) -> &str {
        match self.call.as_str() {
            "check_model" | "check_model_path" | "model" => "model",
            "check_sparse_tensor" => "sparse-tensor",
            "check_value_info" => "value-info",
            call => call.strip_prefix("check_").unwrap_or(call),
        }
    }

    fn decode(&self, bytes: Bytes) -> Result<(Decoded, Part), DecodeError> {
        let options = DecodeOptions::default();
        Ok(match self.part() {
            "graph" => (decode_graph(bytes, &options)?, Part::Graph),
            "value-info" => (decode_value_info(bytes, &options)?, Part::Inputs),
            "function" => {
                decode_function(bytes, &options).map(|(decoded, key)| (decoded, Part::Function(key)))?
            }
            "node" => decode_node(bytes, &options).map(|(decoded, key)| (decoded, Part::Node(key)))?,
            "attribute" => {
                decode_attribute(bytes, &options).map(|(decoded, key)| (decoded, Part::Attributes(key)))?
            }
            "tensor" => {
                decode_tensor(bytes, &options).map(|(decoded, key)| (decoded, Part::Contents(key)))?
            }
            "sparse-tensor" => {
                decode_sparse_tensor(bytes, &options).map(|(decoded, key)| (decoded, Part::Contents(key)))?
            }
            _ => (decode(bytes, &options)?, Part::Model),
        })
    }

    /// Asks the library.
    fn verdict(&self, bytes: Bytes, folder: &Path) -> Result<Verdict, String> {
        let Ok((Decoded { mut model, findings }, part)) = self.decode(bytes) else {
            return Ok(Verdict { is_unreadable: true, ..Verdict::default() });
        };
        if part != Part::Model {
            let (ir_version, imports) = self.context();
            model.info_mut().ir_version = ir_version;
            for (domain, version) in imports {
                let domain = model.intern(&domain);
                model.info_mut().opset_imports.push(OpsetImport::new(domain, version));
            }
        }
        let mut options =
            CheckOptions::default().with_opset_compatibility(!self.flag("skip_opset_compatibility_check"));
        if self.flag("check_custom_domain") {
            options.custom_operators = CustomOperators::Refuse;
        }
        if self.looks_for_files {
            let source = FileSource::in_directory(folder).map_err(|error| error.to_string())?;
            options.external = Some(ExternalFiles::new(source));
        }
        let mut found = findings.into_diagnostics();
        found.extend(check_part(&model, part, &options).into_diagnostics());
        if self.flag(FULL) && part == Part::Model {
            let source = FileSource::in_directory(folder).map_err(|error| error.to_string())?;
            let mut options = onnx_shape_infer::InferOptions::default().with_data(&source);
            options.check_types = true;
            found.extend_from_slice(infer(&model, &options).findings().diagnostics());
        }
        Ok(Verdict::of(&found))
    }

    /// Asks the program.
    fn verdict_of_program(&self, program: &Path, bytes: &[u8], folder: &Path) -> Result<Verdict, String> {
        let fail = |error: &dyn std::fmt::Display| format!("`{}`: {error}", program.display());
        let model = folder.join("model.onnx");
        std::fs::write(&model, bytes).map_err(|error| fail(&error))?;
        let mut command = Command::new(program);
        command.args(["check", "--format", "json", "--as", self.part()]).current_dir(folder);
        if self.part() != "model" {
            let (ir_version, imports) = self.context();
            command.arg("--ir-version").arg(ir_version.to_string());
            for (domain, version) in imports {
                command.arg("--opset").arg(format!("{domain}={version}"));
            }
        }
        for (option, flag) in [
            ("check_custom_domain", "--check-custom-domains"),
            ("skip_opset_compatibility_check", "--skip-opset-compatibility"),
            (FULL, "--full"),
        ] {
            if self.flag(option) {
                command.arg(flag);
            }
        }
        let output = command.arg("model.onnx").output().map_err(|error| fail(&error))?;
        let json: Value = serde_json::from_slice(&output.stdout).map_err(|error| fail(&error))?;
        let mut verdict = Verdict { is_unreadable: output.status.code() == Some(2), ..Verdict::default() };
        let findings =
            json.get("findings").and_then(Value::as_array).ok_or("the report has no `findings`")?;
        for found in findings {
            let text = |key| {
                let text = found.get(key).and_then(Value::as_str);
                text.ok_or_else(|| format!("a finding of the report has no `{key}`"))
            };
            if text("severity")? == "error" {
                verdict.add(text("name")?, found.get("beyond_reference") == Some(&Value::Bool(true)));
            }
        }
        let expected = if verdict.is_unreadable { 2 } else { i32::from(verdict.has_errors()) };
        if output.status.code() != Some(expected) {
            return Err(format!("exit code {:?}, which is not {expected}", output.status.code()));
        }
        Ok(verdict)
    }

    /// Compares what was found with what the reference said.
    fn compare(&self, verdict: &Verdict, outcome: &mut Outcome) {
        match &self.error {
            None if verdict.is_unreadable => {
                outcome.failures.push(Failure::new("unreadable", "the reference reads it"));
            }
            None if verdict.enforced.is_empty() => outcome.counts.push("accepted by both".to_owned()),
            None => {
                let rules = verdict.enforced.join("+");
                outcome.failures.push(Failure::new(format!("refused:{rules}"), "the reference accepts it"));
            }
            Some(_) if verdict.has_errors() => {
                outcome.counts.push("refused by both".to_owned());
                if !verdict.is_unreadable && verdict.enforced.is_empty() {
                    outcome.counts.push("refused only by additional rules".to_owned());
                    outcome.remarks.push(format!(
                        "refused by both, here by rules marked as beyond the reference ({})",
                        verdict.beyond.join("+")
                    ));
                }
            }
            Some((class, message)) => {
                let message = message.lines().next().unwrap_or_default();
                outcome.failures.push(Failure::new("accepted", format!("{class}: {message}")));
            }
        }
    }
}

impl CheckSuite {
    fn note(&self, id: &str, recorded: Recorded) {
        self.recorded.lock().unwrap_or_else(PoisonError::into_inner).insert(id.to_owned(), recorded);
    }

    fn corpus(&self, corpus: &Path, feed: &mut Feed<'_>) -> Result<(), String> {
        let is_call = |record: &Record| record.call.starts_with("checker.");
        let (records, blobs) = manifest::read_with_blobs(corpus, is_call)?;
        for record in records {
            let id = format!("{}/{}", record.call, record.id);
            let Some((bytes, recorded)) = recorded(&record, &blobs) else {
                return Err(format!("{id}: a blob is missing"));
            };
            self.note(&id, recorded);
            feed(Case { id, group: Group::Fragment, bytes })?;
        }
        Ok(())
    }

    /// Models of a collection, with what its `manifest.json` says that the reference made of them.
    fn models(&self, models: &Path, feed: &mut Feed<'_>) -> Result<(), String> {
        let mut verdicts = BTreeMap::new();
        archive::visit(models, &mut |mut entry| {
            if entry.name != "manifest.json" {
                return Ok(std::ops::ControlFlow::Continue(()));
            }
            let manifest: Value =
                serde_json::from_slice(&entry.read()?).map_err(|error| error.to_string())?;
            for model in manifest.get("models").and_then(Value::as_array).into_iter().flatten() {
                let name = model.get("name").and_then(Value::as_str).unwrap_or_default();
                let error = model.get("check_full").and_then(Value::as_str);
                verdicts.insert(format!("models/{name}.onnx"), error.map(split_error));
            }
            Ok(std::ops::ControlFlow::Break(()))
        })?;
        data::files(models, "models", &mut |case| {
            let Some(error) = verdicts.get(&case.id) else { return Ok(()) };
            let recorded = Recorded {
                call: "model".to_owned(),
                options: serde_json::json!({ FULL: true }),
                error: error.clone(),
                ..Recorded::default()
            };
            self.note(&case.id, recorded);
            feed(case)
        })
    }

    /// The models that every clone has; `verdicts.json` in their directory contains the verdicts of the reference.
    fn bundled(&self, feed: &mut Feed<'_>) -> Result<(), String> {
        let path = bundled().join("verdicts.json");
        let fail = |error: &dyn std::fmt::Display| format!("`{}`: {error}", path.display());
        let text = std::fs::read(&path).map_err(|error| fail(&error))?;
        let verdicts: Value = serde_json::from_slice(&text).map_err(|error| fail(&error))?;
        data::files(&bundled(), "bundled", &mut |case| {
            let name = case.id.strip_prefix("bundled/").unwrap_or(&case.id);
            let verdict = verdicts.get("check_model").and_then(|verdicts| verdicts.get(name));
            let Some(verdict) = verdict else { return Err(fail(&format_args!("nothing on `{name}`"))) };
            let recorded = Recorded {
                call: "check_model".to_owned(),
                error: verdict.as_str().map(split_error),
                looks_for_files: true,
                ..Recorded::default()
            };
            self.note(&case.id, recorded);
            feed(case)
        })
    }
}

/// `ValidationError: what is wrong` in two.
fn split_error(text: &str) -> (String, String) {
    let (class, message) = text.split_once(": ").unwrap_or((text, ""));
    (class.to_owned(), message.to_owned())
}

fn recorded(record: &Record, blobs: &Blobs) -> Option<(Bytes, Recorded)> {
    let mut files = Vec::new();
    let mut message = None;
    for input in &record.inputs {
        let bytes = blobs.get(&input.hash)?.clone();
        match input.name.strip_prefix("file:") {
            Some(path) => files.push((path.to_owned(), bytes)),
            None => message = Some(bytes),
        }
    }
    let recorded = Recorded {
        call: record.call.strip_prefix("checker.").unwrap_or(&record.call).to_owned(),
        options: record.options.clone(),
        error: record.error.clone().map(|class| (class, record.message.clone().unwrap_or_default())),
        files,
        looks_for_files: true,
    };
    Some((message?, recorded))
}

/// A folder with the external data files of a model, which is removed when the value is dropped.
fn folder(files: &[(String, Bytes)]) -> Result<tempfile::TempDir, String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    for (path, bytes) in files {
        let path = folder.path().join(path);
        let parent = path.parent().map_or(Ok(()), std::fs::create_dir_all);
        parent.and_then(|()| std::fs::write(&path, bytes)).map_err(|error| error.to_string())?;
    }
    Ok(folder)
}

impl Suite for CheckSuite {
    fn name(&self) -> &'static str {
        "check"
    }

    fn cases(&self, data: &Data, feed: &mut Feed<'_>) -> Result<(), String> {
        if let Some(program) = &data.program {
            // It is asked from other folders.
            let program = program.canonicalize().map_err(|error| error.to_string())?;
            let _ = self.program.set(program);
        }
        if data.is_bundled() {
            return self.bundled(feed);
        }
        if let Some(corpus) = &data.corpus {
            self.corpus(corpus, feed)?;
        }
        data.models.as_ref().map_or(Ok(()), |models| self.models(models, feed))
    }

    fn check(&self, case: &Case) -> Outcome {
        let mut outcome = Outcome::default();
        let recorded = self.recorded.lock().unwrap_or_else(PoisonError::into_inner).remove(&case.id);
        let recorded = recorded.unwrap_or_default();
        outcome.counts.push(recorded.call.clone());
        if recorded.flag(FULL) {
            outcome.counts.push("asked with inference".to_owned());
        }
        let verdict = folder(&recorded.files).and_then(|folder| {
            let verdict = recorded.verdict(case.bytes.clone(), folder.path())?;
            let Some(program) = self.program.get() else { return Ok(verdict) };
            if !recorded.looks_for_files {
                return Ok(verdict);
            }
            outcome.counts.push("asked of the program".to_owned());
            let other = recorded.verdict_of_program(program, &case.bytes, folder.path())?;
            if other != verdict {
                let what = format!(
                    "program: {:?} beyond {:?}; library: {:?} beyond {:?}",
                    other.enforced, other.beyond, verdict.enforced, verdict.beyond
                );
                outcome.failures.push(Failure::new("program-differs", what));
            }
            Ok(verdict)
        });
        match verdict {
            Ok(verdict) => recorded.compare(&verdict, &mut outcome),
            Err(problem) => outcome.failures.push(Failure::new("not-asked", problem)),
        }
        outcome
    }

    fn summary(&self, report: &Report) -> String {
        let counts = [
            "accepted by both",
            "refused by both",
            "refused only by additional rules",
            "asked with inference",
            "asked of the program",
        ];
        counts.map(|count| format!("check: {} {count}", report.count(count))).join("\n")
    }
}
