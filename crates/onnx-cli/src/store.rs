//! From a model to a file or a stream, in any format.

use std::collections::BTreeMap;
use std::io::{self, IsTerminal as _, Write};
use std::path::Path;

use onnx_codec::file::{self, create_folders, open_stream};
use onnx_codec::{
    DataFile, EncodeOptions, FileError, InlineOptions, InputFiles, Segments, WriteOptions, encode, inline,
    save_as,
};
use onnx_diag::Sink;
use onnx_formats::{FormatError, Losses, MessageType, write_json, write_text};
use onnx_ir::Model;
use onnx_text::{PrintOptions, WriteError, print_model_to};
use onnx_types::Execution;
use onnx_types::tensor::{DataErrorReason, DataSource, Payload};

use crate::args::OutputArgs;
use crate::exit::Failure;
use crate::format::Format;
use crate::input::{Loaded, is_stdin, is_stream};
use crate::output::Out;
use crate::progress::Progress;
use crate::{interrupt, size, tensors};

/// The most bytes that protobuf's readers take for a model.
const MAX_MODEL_BYTES: u64 = i32::MAX as u64;

/// Where and how a model is written.
pub(crate) struct Destination<'a> {
    pub(crate) path: &'a Path,
    pub(crate) format: Format,
    pub(crate) execution: Execution,
    pub(crate) options: WriteOptions,
}

/// How to write files, none of which an input reads.
pub(crate) fn options(args: OutputArgs, inputs: InputFiles) -> WriteOptions {
    WriteOptions::default()
        .with_force(args.force)
        .with_inputs(inputs)
        .with_temporaries(interrupt::temporaries())
}

/// Refuses to write binary to a terminal.
pub(crate) fn refuse_terminal(path: &Path, format: Format) -> Result<(), Failure> {
    let is_terminal = || match is_stdin(path) {
        true => io::stdout().is_terminal(),
        false => file::is_terminal(path),
    };
    if format == Format::Onnx && is_terminal() {
        return Err(Failure::new("this would write binary to the terminal")
            .help("redirect it, or choose a format of text: `--to textproto`"));
    }
    Ok(())
}

/// Writes a model and the files of its external data, whole or not at all.
pub(crate) fn write(
    model: &Model,
    to: &Destination<'_>,
    files: &[DataFile],
    progress: Progress,
    out: &mut Out,
) -> Result<(), Failure> {
    to.execution.interrupt.check()?;
    write_model(model, to, files, progress, out).map_err(|failure| failure.or_timeout(&to.execution))
}

fn write_model(
    model: &Model,
    to: &Destination<'_>,
    files: &[DataFile],
    progress: Progress,
    out: &mut Out,
) -> Result<(), Failure> {
    let mut first = Some(contents(model, to)?);
    if let Some(Contents::Binary(encoded)) = &first {
        check_size(encoded, to, &progress, out)?;
    }
    let mut losses = Losses::default();
    if is_stream(to.path) {
        drop(progress);
        if let Some(contents) = first {
            let write = |stream: &mut dyn Write| contents.write(to, stream).map(|found| losses = found);
            stream_with(to.path, &to.options.inputs, write, out)?;
        }
        report_losses(&losses, to.format, out);
        return Ok(());
    }
    let mut failure = None;
    let saved = save_as(to.path, model, files, &to.options, &mut |model, file| {
        // The first call is for the model itself.
        let contents = match first.take() {
            Some(contents) => Ok(contents),
            None => contents(model, to),
        };
        contents.map_or_else(
            |error| {
                failure = Some(error);
                Err(io::ErrorKind::Other.into())
            },
            |contents| contents.write(to, file).map(|found| losses = found),
        )
    });
    if let Some(failure) = failure {
        return Err(failure);
    }
    saved?;
    drop(progress);
    report_losses(&losses, to.format, out);
    summary(to.path, model, files, out);
    Ok(())
}

/// Tells which files were written: `wrote out.onnx: 27 nodes, 3.2 kB; 18.1 kB in w.data`.
pub(crate) fn summary(path: &Path, model: &Model, files: &[DataFile], out: &Out) {
    let len = std::fs::metadata(path).map_or(0, |metadata| metadata.len());
    let nodes = size::plural(model.node_count() as u64, "node");
    let mut text = format!("wrote {}: {nodes}, {}", path.to_string_lossy(), size::bytes(len));
    let moved: u64 = files.iter().map(DataFile::len).sum();
    match files {
        [] => {}
        [file] => text.push_str(&format!("; {} in {}", size::bytes(moved), file.location())),
        _ => text.push_str(&format!(
            "; {} in {}",
            size::bytes(moved),
            size::plural(files.len() as u64, "file")
        )),
    }
    out.summary(&text);
}

/// Writes to standard output or another stream.
pub(crate) fn stream<'a>(
    path: &Path,
    inputs: &InputFiles,
    pieces: impl IntoIterator<Item = &'a [u8]>,
    out: &mut Out,
) -> Result<(), Failure> {
    stream_with(path, inputs, |stream| pieces.into_iter().try_for_each(|piece| stream.write_all(piece)), out)
}

/// Writes what a function produces to standard output or another stream.
pub(crate) fn stream_with(
    path: &Path,
    inputs: &InputFiles,
    contents: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    out: &mut Out,
) -> Result<(), Failure> {
    if is_stdin(path) || file::descriptor(path) == Some(1) {
        check_standard_output(inputs)?;
        return out.stream(contents);
    }
    match contents(&mut open_stream(path, inputs)?) {
        // As for standard output: a reader that closes it does not want the rest.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => {
            other.map_err(|source| FileError { operation: "write", path: path.to_owned(), source }.into())
        }
    }
}

/// Refuses to write to standard output if it is connected to a file that an input is or reads.
pub(crate) fn check_standard_output(inputs: &InputFiles) -> Result<(), Failure> {
    match standard_output_file() {
        Some(file) => inputs
            .check_stream(&file)
            .map_err(|refusal| Failure::new(format_args!("cannot write to standard output: {refusal}")))
            .map_err(Failure::and_closes_output),
        None => Ok(()),
    }
}

/// The regular file that standard output is connected to.
pub(crate) fn standard_output_file() -> Option<std::fs::Metadata> {
    #[cfg(unix)]
    {
        use std::os::fd::AsFd as _;
        let stdout = io::stdout().as_fd().try_clone_to_owned().map(std::fs::File::from);
        // A closed descriptor fails when it is written to.
        stdout.and_then(|stdout| stdout.metadata()).ok().filter(std::fs::Metadata::is_file)
    }
    #[cfg(not(unix))]
    None
}

/// A model in some format.
enum Contents<'m> {
    Binary(Segments),
    Text(&'m Model),
    /// Encoded, to be written as JSON or in the text format of protobuf.
    Form(Segments),
}

impl Contents<'_> {
    /// Writes the model, and returns what the format leaves out.
    fn write(&self, to: &Destination<'_>, out: &mut dyn Write) -> io::Result<Losses> {
        match self {
            Self::Binary(encoded) => encoded.iter().try_for_each(|piece| out.write_all(piece))?,
            Self::Text(model) => drop(write_onnx_text(model, &PrintOptions::full(), out)?),
            Self::Form(encoded) => return Ok(write_form(encoded, to.format, &to.execution, out)?),
        }
        Ok(Losses::default())
    }
}

fn contents<'m>(model: &'m Model, to: &Destination<'_>) -> Result<Contents<'m>, Failure> {
    Ok(match to.format {
        Format::Onnx => Contents::Binary(encode(model, &EncodeOptions::within(&to.execution.limits))?),
        Format::Onnxtxt => Contents::Text(model),
        Format::Textproto | Format::Json => {
            Contents::Form(encode(model, &EncodeOptions::within(&to.execution.limits))?)
        }
    })
}

/// Reports a model that readers of protobuf cannot open, before it is written.
fn check_size(
    encoded: &Segments,
    to: &Destination<'_>,
    progress: &Progress,
    out: &Out,
) -> Result<(), Failure> {
    if encoded.len() <= MAX_MODEL_BYTES {
        return Ok(());
    }
    let message =
        format!("the model has {} bytes, and protobuf readers open at most {MAX_MODEL_BYTES}", encoded.len());
    if to.options.force {
        progress.aside(|| out.warning(&message, None));
        return Ok(());
    }
    Err(Failure::new(message).help(
        "`onnx convert --external-data FILE` writes the weights to a separate file; `--force` writes the model anyway",
    ))
}

/// Writes a model as ONNX text, and returns what the text does not contain.
pub(crate) fn write_onnx_text(
    model: &Model,
    options: &PrintOptions<'_>,
    out: &mut dyn Write,
) -> io::Result<Sink> {
    print_model_to(model, options, out).map_err(|error| match error {
        WriteError::Io(error) => error,
        other => io::Error::other(other),
    })
}

/// Writes an encoded model as JSON, or else in the text format of protobuf; returns what that leaves out.
pub(crate) fn write_form(
    encoded: &Segments,
    format: Format,
    execution: &Execution,
    out: &mut dyn Write,
) -> Result<Losses, FormatError> {
    let pieces = encoded.iter().map(|piece| &piece[..]);
    match format {
        Format::Json => write_json(MessageType::MODEL, pieces, execution, out),
        _ => write_text(MessageType::MODEL, pieces, execution, out),
    }
}

/// Lists on standard error what the text leaves out.
fn report_losses(losses: &Losses, format: Format, out: &Out) {
    /// More of the same tells nothing new.
    const MOST: u64 = 5;
    for loss in losses.iter().take(MOST as usize) {
        out.warning(&format!("{} leaves out {loss}", format.name()), None);
    }
    if let Some(more) = losses.count().checked_sub(MOST).filter(|&more| more > 0) {
        out.warning(&format!("{} omitted", size::plural(more, "more item")), None);
    }
}

/// The number of tensors whose elements are in other files.
pub(crate) fn external_locations(loaded: &Loaded) -> u64 {
    let mut count = 0;
    tensors::for_each(&loaded.model, |_, tensor| {
        count += u64::from(matches!(tensor.payload(), Payload::External(_)))
    });
    count
}

/// Gives all external tensors their elements.
pub(crate) fn embed(loaded: &mut Loaded, out: &Out) -> Result<(), Failure> {
    if external_locations(loaded) == 0 {
        return Ok(());
    }
    let source = loaded.source()?;
    let options = InlineOptions::default().with_max_total_bytes(loaded.execution.limits.external_bytes);
    inline(&mut loaded.model, &options, &source).map_err(|error| about_data(error.into(), loaded))?;
    for note in source.notes() {
        out.warning(&note.to_string(), None);
    }
    Ok(())
}

/// A failure to read external data, with advice unless a limit is the reason.
fn about_data(failure: Failure, loaded: &Loaded) -> Failure {
    if failure.limit.is_some() { failure } else { failure.help(where_data_is(loaded)) }
}

fn where_data_is(loaded: &Loaded) -> &'static str {
    match loaded.place.directory() {
        Some(_) => {
            "locations of external data are relative to the directory of the model, or that of `--data-dir`"
        }
        None => {
            "a model from a stream has no directory: `--data-dir DIR` specifies that of its external data"
        }
    }
}

/// Keeps external data reachable from the output: where the output is a stream it is embedded, and where the output is in
/// another directory it is copied there. Gives the files to write.
pub(crate) fn keep_reachable(
    loaded: &mut Loaded,
    output: &Path,
    out: &Out,
) -> Result<Vec<DataFile>, Failure> {
    if external_locations(loaded) == 0 {
        return Ok(Vec::new());
    }
    if is_stream(output) {
        embed(loaded, out)?;
        return Ok(Vec::new());
    }
    let Some(directory) = loaded.place.directory() else {
        return Err(Failure::new(
            "the model has external data, but came from a stream, which has no directory",
        )
        .help(where_data_is(loaded)));
    };
    if is_beside(directory, output) {
        return Ok(Vec::new());
    }
    copies(loaded, output.parent().unwrap_or(Path::new("")), out)
}

/// Whether the output is in the directory of the external data, so that locations stay valid. If the directory of the
/// output does not exist, writing fails.
fn is_beside(directory: &Path, output: &Path) -> bool {
    let resolved = |path: &Path| {
        let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        path.canonicalize().ok()
    };
    let to = resolved(output.parent().unwrap_or(Path::new("")));
    to.is_none() || to == resolved(directory)
}

/// Warns if external data is not reachable from the output. Returns no files to write.
pub(crate) fn mention_unreachable(loaded: &Loaded, output: &Path, out: &Out) -> Vec<DataFile> {
    let is_reachable = loaded.place.directory().is_some_and(|directory| is_beside(directory, output));
    if !is_reachable && external_locations(loaded) > 0 {
        let help = "`--full` copies it there; `--data-dir DIR` specifies where it is when the text is read";
        out.warning("the model has external data in another directory than the output", Some(help));
    }
    Vec::new()
}

/// Copies of all files of external data, to be written under the same locations in another directory.
fn copies(loaded: &Loaded, folder: &Path, out: &Out) -> Result<Vec<DataFile>, Failure> {
    let mut locations = BTreeMap::new();
    tensors::for_each(&loaded.model, |_, tensor| {
        if let Payload::External(entries) = tensor.payload()
            && let Ok(location) = entries.location()
        {
            locations.entry(onnx_codec::source::normalized(location)).or_insert_with(|| location.to_owned());
        }
    });
    let source = loaded.source()?;
    let mut files = Vec::new();
    for (normalized, location) in locations {
        match source.read(&location, 0, None) {
            Ok(contents) => {
                create_folders(folder, &normalized)?;
                files.push(DataFile::new(normalized, contents));
            }
            Err(error) if error.reason == DataErrorReason::NotFound => {
                let message = format!("{error}; the output still refers to it");
                out.warning(
                    &message,
                    Some("copy the file to the directory of the output, under the same name"),
                );
            }
            Err(error) => return Err(about_data(error.into(), loaded)),
        }
    }
    Ok(files)
}
