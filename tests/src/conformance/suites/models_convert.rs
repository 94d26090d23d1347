//! Conversion of real models to every version: how many reach it, and whether onnxruntime computes the same there.
//!
//! `--models DIR` names a folder of models, as for the suite `models-eval`; weights that are zeros are filled first. A model is
//! converted to every version from 7 on that it reaches, and checked; onnxruntime runs it, without optimizations, at the versions
//! that it supports. `tests/conformance/reference_versions.json` has the lowest and the highest version that the reference's
//! converter reached, by model.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::path::Path;

use onnx_codec::{EncodeOptions, encode};
use onnx_eval::Value;
use onnx_ir::Model;
use onnx_schema::{domain, ir_version_for, latest_opset};
use onnx_version::{ConvertOptions, convert, nearest, set_ir_version};

use super::passes;
use super::real_models::{Filled, Inputs, RealModels, Wrong, difference};
use crate::conformance::data::{Case, Data, Feed};
use crate::conformance::reference::Reference;
use crate::conformance::report::{Failure, Report};
use crate::conformance::runner::{Outcome, Suite};

const REFERENCE: &str = include_str!("../../../conformance/reference_versions.json");

/// The oldest version that is compared.
const OLDEST: i64 = 7;

/// The newest versions of the operator set and of the format that onnxruntime loads.
const RUNTIME: (i64, i64) = (28, 13);

/// The suite.
#[derive(Default)]
pub(super) struct ModelsConvert {
    models: RealModels,
}

impl Suite for ModelsConvert {
    fn name(&self) -> &'static str {
        "models-convert"
    }

    fn cases(&self, data: &Data, feed: &mut Feed<'_>) -> Result<(), String> {
        self.models.cases(data, feed)
    }

    fn peer(&self, data: &Data) -> Option<&Reference> {
        self.models.peer(data)
    }

    fn needs(&self) -> &'static str {
        "it needs `--models DIR`"
    }

    fn has_bundled_cases(&self) -> bool {
        false
    }

    fn check(&self, case: &Case) -> Outcome {
        let mut outcome = Outcome::default();
        let checked =
            self.models.with_filled(&case.id, |filled| self.checked(&case.id, filled, &mut outcome));
        if let Err((kind, detail)) = checked {
            outcome.failures.push(Failure::new(kind, detail));
        }
        outcome
    }

    fn summary(&self, report: &Report) -> String {
        let mut text = format!("models-convert: {} models\n", report.count("models"));
        text.push_str("| version | onnx-version | reference | run equal | not run by onnxruntime |\n|---|---|---|---|---|\n");
        for version in OLDEST..=latest_opset(domain::ONNX).unwrap_or(OLDEST) {
            let count = |what: &str| report.count(&format!("{what} {version}"));
            // Writing to a text does not fail.
            let _ = writeln!(
                text,
                "| {version} | {} | {} | {} | {} |",
                count("reaches"),
                count("reference reaches"),
                count("equal at"),
                count("not run at")
            );
        }
        text
    }
}

impl ModelsConvert {
    fn checked(&self, name: &str, filled: &Filled, outcome: &mut Outcome) -> Result<(), Wrong> {
        outcome.counts.push("models".to_owned());
        let before = filled.decode()?;
        let newest = latest_opset(domain::ONNX).unwrap_or(OLDEST);
        let Some(from) = before.opset_version(domain::ONNX) else { return Ok(()) };
        let reference: BTreeMap<String, [i64; 2]> =
            serde_json::from_str(REFERENCE).map_err(|error| ("reference", error.to_string()))?;
        if let Some(&[lowest, highest]) = reference.get(name) {
            outcome.counts.extend((lowest..=highest).map(|version| format!("reference reaches {version}")));
        }
        let reach = |version| nearest(&before, version, &ConvertOptions::default());
        let mut ends = [from, from];
        for (end, limit) in ends.iter_mut().zip([OLDEST, newest]) {
            let reached = reach(limit).map_err(|error| ("not planned", error.to_string()))?;
            *end = reached.version;
            if let Some(refusal) = reached.refusals.first() {
                outcome.remarks.push(format!("reaches {end}: {refusal}"));
            }
        }
        let inputs = filled.inputs(&before, 0).map_err(|error| ("no inputs", error))?;
        let old = self.models.runtime(&filled.path, &before, &inputs, false);
        for version in ends[0].max(OLDEST)..=ends[1] {
            outcome.counts.push(format!("reaches {version}"));
            let mut after = before.clone();
            convert(&mut after, version, &ConvertOptions::default())
                .map_err(|error| ("refused", format!("to {version}: {error}")))?;
            if let Some(found) = passes::new_errors(&before, &after) {
                return Err(("new errors", format!("to {version}: {found}")));
            }
            let Ok(old) = &old else { continue };
            if version <= RUNTIME.0 {
                self.run((&before, after), version, filled, (&inputs, old), outcome)?;
            }
        }
        Ok(())
    }

    /// Runs a converted model on the inputs of the original one.
    fn run(
        &self,
        (before, mut after): (&Model, Model),
        version: i64,
        filled: &Filled,
        (inputs, old): (&Inputs, &HashMap<String, Value>),
        outcome: &mut Outcome,
    ) -> Result<(), Wrong> {
        let format = ir_version_for(domain::ONNX, version).unwrap_or(RUNTIME.1).min(RUNTIME.1);
        if after.info().ir_version > RUNTIME.1 {
            // What the older format does not have is left to onnxruntime to refuse.
            let _ = set_ir_version(&mut after, format);
        }
        let path = filled.path.with_extension("converted.onnx");
        let new = write(&after, &path).and_then(|()| self.models.runtime(&path, before, inputs, false));
        // It is fine if the file was not written.
        let _ = std::fs::remove_file(&path);
        let new = match new {
            Ok(new) => new,
            Err(reason) => {
                outcome.counts.push(format!("not run at {version}"));
                outcome.remarks.push(format!("not run at {version}: {reason}"));
                return Ok(());
            }
        };
        for output in before.graph(before.main_graph()).outputs() {
            let name = before.str(before.value(output.value()).name());
            let (Some(old), Some(new)) = (old.get(name), new.get(name)) else {
                return Err(("output", format!("at {version}: output `{name}` is missing")));
            };
            if let Some(found) = difference(old, new) {
                return Err(("different", format!("at {version}: output `{name}`: {found}")));
            }
        }
        outcome.counts.push(format!("equal at {version}"));
        Ok(())
    }
}

fn write(model: &Model, path: &Path) -> Result<(), String> {
    let file = encode(model, &EncodeOptions::default()).map_err(|error| error.to_string())?;
    std::fs::write(path, file.into_bytes()).map_err(|error| error.to_string())
}
