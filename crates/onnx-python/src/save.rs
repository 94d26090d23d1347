//! Writing models to files, in the form that the name stands for.

use std::ffi::CString;
use std::io::{self, Write};
use std::path::Path;

use onnxkit::codec::externalize::{ExternalizeOptions, InlineDataOptions, externalize, inline};
use onnxkit::codec::file::{Temporaries, is_stream};
use onnxkit::codec::{DataFile, EncodeError, EncodeOptions, WriteOptions, encode, save_as};
use onnxkit::formats::{ConvertError, Losses, MessageType, write_json, write_text};
use onnxkit::ir;
use onnxkit::text::{PrintOptions, WriteError, print_model_to};
use onnxkit::types::Execution;
use pyo3::exceptions::PyUserWarning;
use pyo3::prelude::*;

use crate::fault::{Fault, Outcome};
use crate::model::Snapshot;
use crate::work::Signals;

/// A form in which a model is written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Binary,
    Textproto,
    Json,
    Text,
}

/// The names of the forms.
const FORMS: [(&str, Form); 4] =
    [("onnx", Form::Binary), ("textproto", Form::Textproto), ("json", Form::Json), ("onnxtxt", Form::Text)];

impl Form {
    /// The form that the caller names, or else the one that the ending of the file stands for.
    pub(crate) fn of(path: &Path, named: Option<&str>) -> Outcome<Self> {
        if let Some(name) = named {
            let found = FORMS.iter().find(|(known, _)| *known == name);
            return found.map(|&(_, form)| form).ok_or_else(|| {
                let names: Vec<&str> = FORMS.iter().map(|(name, _)| *name).collect();
                Fault::argument(format!("`form={name}`: write {}", names.join(", ")))
            });
        }
        let ending = path.extension().and_then(|ending| ending.to_str()).map(str::to_ascii_lowercase);
        match ending.as_deref() {
            Some("onnx" | "pb") => Ok(Self::Binary),
            Some("textproto" | "pbtxt" | "prototxt") => Ok(Self::Textproto),
            Some("json") => Ok(Self::Json),
            Some("onnxtxt" | "onnxtext") => Ok(Self::Text),
            _ if is_stream(path) => Ok(Self::Binary),
            // A file with another name can be data of some model, so that it would not be replaced later.
            _ => Err(Fault::argument(format!(
                "the ending of `{}` stands for no form of a model: use .onnx, .onnxtxt, .textproto or .json, or say the \
                 form with `form=`",
                path.display()
            ))),
        }
    }
}

/// How a model is saved.
pub(crate) struct Request<'a> {
    pub(crate) path: &'a Path,
    pub(crate) form: Form,
    /// `keep`, `embed` or `external`.
    pub(crate) weights: &'a str,
    pub(crate) threshold: u64,
    pub(crate) align: u32,
    pub(crate) max_shard_bytes: Option<u64>,
}

/// Moves weights as the request says, and writes the model. Returns the bytes of weights in other files, and what a caller is warned about.
pub(crate) fn save(
    snapshot: &mut Snapshot,
    request: &Request<'_>,
    execution: &Execution,
    signals: &Signals<'_>,
) -> Outcome<(u64, Vec<String>)> {
    let parent = request.path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let there = std::fs::canonicalize(parent.unwrap_or(Path::new("."))).ok();
    let is_elsewhere = snapshot.kept_data().directories().into_iter().next() != there;
    let data = snapshot.data(execution);
    let fault = |error: &onnxkit::codec::ExternalizeError| Fault::limited("SaveError", error.limit(), error);
    let (mut files, mut moved, mut is_external) = (Vec::new(), 0, false);
    snapshot.model.for_each_tensor(|_, tensor| is_external |= tensor.is_external());
    match request.weights {
        "embed" if is_external => {
            let done = inline(snapshot.editable(), &InlineDataOptions::default(), &data);
            execution.interrupt.check()?;
            done.map_err(|error| fault(&error))?;
        }
        "external" => moved = request.threshold,
        // What is in files elsewhere would not be found there.
        "keep" if is_external && is_elsewhere => moved = request.threshold,
        _ => {}
    }
    if moved > 0 {
        let stem = request.path.file_name().map_or_else(|| "model".into(), |name| name.to_string_lossy());
        let options = ExternalizeOptions::new(format!("{stem}.data"))
            .with_threshold_bytes(moved)
            .with_alignment(request.align)
            .with_keep_existing(false)
            .with_max_shard_bytes(request.max_shard_bytes);
        let done = externalize(snapshot.editable(), &options, &data);
        execution.interrupt.check()?;
        files = done.map_err(|error| fault(&error))?.files;
    }
    execution.interrupt.check()?;
    let notes = write(request.path, request.form, &snapshot.model, &files, execution, signals)?;
    Ok((files.iter().map(DataFile::len).sum(), notes))
}

/// Writes a model with its data files, all or nothing. Returns what a caller is warned about, as predicates of the file.
fn write(
    path: &Path,
    form: Form,
    model: &ir::Model,
    files: &[DataFile],
    execution: &Execution,
    signals: &Signals<'_>,
) -> Outcome<Vec<String>> {
    let (mut notes, mut failure) = (Vec::new(), None);
    let temporaries = Temporaries::default().ended_by(execution.interrupt.clone());
    let options = WriteOptions::default().with_temporaries(temporaries);
    let saved = save_as(path, model, files, &options, &mut |model, out| {
        notes.clear();
        let written = contents(form, model, execution, out, &mut notes);
        // What is left is to bring the file to disk and to rename it, before which the interrupt is checked.
        signals.look_at_next_check();
        written.map_err(|error| match error {
            Failed::Io(error) => error,
            Failed::Fault(fault) => {
                failure = Some(fault);
                io::ErrorKind::Other.into()
            }
        })
    });
    match (saved, failure) {
        // Whatever ends the work after that has come too late.
        (Ok(()), _) => Ok(notes),
        (Err(error), failure) => {
            execution.interrupt.check()?;
            Err(failure.unwrap_or_else(|| Fault::new("SaveError", error.to_string())))
        }
    }
}

/// Warns about a file that was written.
pub(crate) fn warn(py: Python<'_>, path: &Path, notes: &[String]) -> PyResult<()> {
    let Some(first) = notes.first() else { return Ok(()) };
    let more = if notes.len() > 1 { format!(" (and {} more)", notes.len() - 1) } else { String::new() };
    let text = format!("{} {first}{more}", path.display());
    let text = CString::new(text.replace('\0', "\\0")).map_err(Fault::argument)?;
    PyErr::warn(py, &py.get_type::<PyUserWarning>(), &text, 1)
}

/// The largest message that implementations of protobuf read.
const PROTOBUF_BYTES: u64 = (1 << 31) - 1;

/// Why contents are not written: the file, or the model.
enum Failed {
    Io(io::Error),
    Fault(Fault),
}

impl From<io::Error> for Failed {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<EncodeError> for Failed {
    fn from(error: EncodeError) -> Self {
        Self::Fault(Fault::limited("SaveError", error.limit(), error))
    }
}

impl From<ConvertError> for Failed {
    fn from(error: ConvertError) -> Self {
        Self::Fault(Fault::limited("SaveError", error.limit(), error))
    }
}

impl From<WriteError> for Failed {
    fn from(error: WriteError) -> Self {
        match error {
            WriteError::Io(error) => Self::Io(error),
            error => Self::Fault(Fault::new("SaveError", error.to_string())),
        }
    }
}

fn contents(
    form: Form,
    model: &ir::Model,
    execution: &Execution,
    out: &mut dyn Write,
    notes: &mut Vec<String>,
) -> Result<(), Failed> {
    if form == Form::Text {
        let found = print_model_to(model, &PrintOptions::full(), out)?;
        notes.extend(found.diagnostics().iter().map(|found| format!("leaves out {}", found.message)));
        return Ok(());
    }
    let encoded = encode(model, &EncodeOptions::default())?;
    let pieces = encoded.iter().map(|piece| &piece[..]);
    let losses: Losses = match form {
        Form::Json => write_json(MessageType::MODEL, pieces, execution, out)?,
        Form::Textproto => write_text(MessageType::MODEL, pieces, execution, out)?,
        Form::Binary | Form::Text => {
            pieces.into_iter().try_for_each(|piece| out.write_all(piece))?;
            if encoded.len() > PROTOBUF_BYTES {
                notes.push(format!(
                    "has {} bytes, and readers with protobuf, such as `onnx.load`, take less than 2 GiB: \
                     `weights=\"external\"` moves weights to a file next to the model",
                    encoded.len()
                ));
            }
            return Ok(());
        }
    };
    notes.extend(losses.iter().map(|loss| format!("leaves out {loss}")));
    Ok(())
}
