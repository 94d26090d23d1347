//! From a model to a file or a stream, in any format.

use std::io::{self, IsTerminal as _, Write};
use std::path::Path;

use onnx_codec::file::{self, open_stream};
use onnx_codec::{DataFile, EncodeOptions, FileError, InputFiles, Segments, WriteOptions, encode, save_as};
use onnx_diag::Sink;
use onnx_formats::{FormatError, Losses, MessageType, write_json, write_text};
use onnx_ir::Model;
use onnx_text::{PrintOptions, WriteError, print_model_to};
use onnx_types::Execution;

use crate::args::OutputArgs;
use crate::exit::Failure;
use crate::format::Format;
use crate::input::{is_stdin, is_stream};
use crate::output::Out;
use crate::progress::Progress;
use crate::{interrupt, size};

/// The most bytes that protobuf's readers take for a model.
pub(crate) const MAX_MODEL_BYTES: u64 = i32::MAX as u64;

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
    summary(to.path, to.format, model, files, out);
    Ok(())
}

/// Tells which files were written: `wrote out.onnx: 27 nodes, 3.2 kB; 18.1 kB in w.data`.
pub(crate) fn summary(path: &Path, format: Format, model: &Model, files: &[DataFile], out: &mut Out) {
    let len = std::fs::metadata(path).map_or(0, |metadata| metadata.len());
    out.output(&path.to_string_lossy(), Some(format.id()), Some(len));
    for file in files {
        let data = path.with_file_name(file.location());
        out.output(&data.to_string_lossy(), None, Some(file.len()));
    }
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
        "`--weights external` writes the weights to a separate file; `--force` writes the model anyway",
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
