//! Recorded values: inputs that are written so that a run can be repeated, and outputs that a run is compared with.

use std::path::Path;

use onnx_codec::WriteOptions;
use onnx_diag::{Diagnostic, Quoted, Sink};
use onnx_eval::compare::{Difference, compare_values_within};
use onnx_eval::{Value, fault};
use onnx_ir::{Model, Places, ValueId};
use onnx_types::Execution;
use serde_json::{Value as Json, json};

use super::files::{self, WrittenFile};
use super::given::{Given, Ports, inputs, name};
use super::prepare::Inputs;
use super::{RunArgs, as_failure};
use crate::compare::{difference_item, difference_text};
use crate::exit::Failure;
use crate::input::{Loaded, is_stream};
use crate::output::shown;

/// Refuses a directory in which `--feeds` would find other values than those that are written, or that is a stream.
pub(super) fn check_directory(path: &Path, model: &Model) -> Result<(), Failure> {
    if is_stream(path) {
        return Err(Failure::new("inputs are not written to a stream").help("name a directory"));
    }
    let ports = Ports { model, values: inputs(model).to_vec(), kind: "input" };
    for index in 0..ports.values.len() {
        let named = ports.files(path, index).into_iter().flatten().take(2);
        if let Some(other) = named.into_iter().find(|file| file.exists()) {
            let message = format_args!(
                "`{}` exists, and `--feeds` would read it instead of `input_{index}.pb`",
                other.display()
            );
            return Err(Failure::new(message).help("remove it, or choose another directory"));
        }
    }
    Ok(())
}

/// Writes inputs as `input_K.pb`. An input that has its default is not written.
pub(super) fn save(
    path: &Path,
    loaded: &Loaded,
    values: &Inputs,
    options: &WriteOptions,
) -> Result<Vec<WrittenFile>, Failure> {
    let model = &loaded.model;
    let ports = Ports { model, values: inputs(model).to_vec(), kind: "input" };
    let mut files = Vec::new();
    for (index, &input) in ports.values.iter().enumerate() {
        let (own, file) = (name(model, input), ports.by_index(path, index));
        match values.values.iter().find(|(known, _)| known == own) {
            Some((_, value)) => files.push((file, own, value)),
            None if file.exists() => {
                let message = format_args!(
                    "`{}` exists, and the input `{}` has its default in this run",
                    file.display(),
                    shown(own)
                );
                return Err(Failure::new(message).help("remove it, or choose another directory"));
            }
            None => {}
        }
    }
    files::write_messages(path, &files, options, &loaded.execution)
}

/// The outputs that are expected.
pub(super) struct Expected {
    values: Given,
}

/// An output that is compared with the expected one.
pub(super) struct Compared {
    index: usize,
    name: String,
    difference: Difference,
}

impl Expected {
    /// Reads the outputs that the arguments name, if they do.
    pub(super) fn read(args: &RunArgs, loaded: &Loaded) -> Result<Option<Self>, Failure> {
        let Some(path) = &args.expect else {
            if args.tolerances.is_given() {
                return Err(Failure::new("there is nothing to which a tolerance applies")
                    .help("add `--expect DIR` with recorded outputs, or remove the tolerance"));
            }
            return Ok(None);
        };
        let model = &loaded.model;
        let outputs = model.graph(model.main_graph()).outputs();
        let values: Vec<ValueId> = outputs.iter().map(|output| output.value()).collect();
        let ports = Ports { model, values, kind: "output" };
        let beyond = ports.by_index(path, ports.values.len());
        if beyond.exists() {
            let count = crate::size::plural(ports.values.len() as u64, "output");
            let message = format_args!("`{}` exists, and the model has {count}", beyond.display());
            return Err(Failure::new(message).help("give the outputs that are recorded for this model"));
        }
        Ok(Some(Self { values: ports.read(path, &loaded.execution)? }))
    }

    /// The names of outputs for which nothing is recorded.
    pub(super) fn missing<'o>(&self, outputs: &'o [(String, Value)]) -> Vec<&'o str> {
        let names = outputs.iter().map(|(name, _)| name.as_str());
        names.filter(|name| !self.values.contains_key(*name)).collect()
    }

    /// Compares computed outputs with those that are recorded.
    pub(super) fn compare(
        &self,
        args: &RunArgs,
        outputs: &[(String, Value)],
        execution: &Execution,
    ) -> Result<Vec<Compared>, Failure> {
        let tolerances = args.tolerances.tolerances();
        let mut all = Vec::new();
        for (index, (name, computed)) in outputs.iter().enumerate() {
            let Some(expected) = self.values.get(name) else { continue };
            let compared = compare_values_within(computed, expected, &tolerances, &execution.interrupt);
            let mut difference = compared.map_err(as_failure)?;
            let (computed, expected) = (computed.describe(), expected.describe());
            if difference.mismatch.is_some() && computed != expected {
                difference.mismatch = Some(format!("it is {computed}, and {expected} is expected"));
            }
            all.push(Compared { index, name: name.clone(), difference });
        }
        Ok(all)
    }
}

/// Reports the outputs that differ from the expected ones.
pub(super) fn report(model: &Model, compared: &[Compared], sink: &mut Sink) {
    let (places, graph) = (Places::new(model), model.main_graph());
    for Compared { index, name, difference } in compared.iter().filter(|one| !one.difference.agrees()) {
        let (name, how) = (Quoted(name), difference_text(difference));
        let message = format!("output {name} is not as expected: {how}");
        let diagnostic =
            Diagnostic::new(&fault::EXPECTED_DIFFERS, places.graph_output(graph, *index), message);
        sink.report(diagnostic.help(
            "compare the inputs and weights with those of the recorded run, or allow more: `--rtol`, `--atol`",
        ));
    }
}

/// The comparisons in one line.
pub(super) fn summary(compared: &[Compared], path: &Path) -> String {
    let all = crate::size::plural(compared.len() as u64, "output");
    let differing = compared.iter().filter(|one| !one.difference.agrees()).count();
    let exact = compared.iter().filter(|one| one.difference.differing == 0).count();
    let path = path.display();
    match differing {
        0 if exact == compared.len() => format!("{all} compared with {path}: equal"),
        0 => format!("{all} compared with {path}: equal within the tolerance"),
        count => format!("{all} compared with {path}: {count} not as expected"),
    }
}

/// The comparisons as JSON.
pub(super) fn items(compared: &[Compared]) -> Vec<Json> {
    let item = |one: &Compared| {
        let mut item = difference_item(&one.difference);
        if let Some(fields) = item.as_object_mut() {
            fields.insert("name".to_owned(), json!(one.name));
        }
        item
    };
    compared.iter().map(item).collect()
}
