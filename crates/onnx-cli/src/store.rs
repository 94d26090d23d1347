//! From a model to a file or a stream, in any format.

use std::io::{self, IsTerminal as _, Write};
use std::path::Path;

use onnx_codec::file::{self, FileKind, FileSet, open_stream, write_file};
use onnx_codec::{DataFile, EncodeOptions, FileError, InputFiles, Segments, WriteOptions, encode, save_as};
use onnx_diag::Sink;
use onnx_formats::{ConvertError, Losses, MessageType, write_json, write_text};
use onnx_ir::Model;
use onnx_text::{PrintOptions, WriteError, print_model_to};
use onnx_types::Execution;

use crate::args::OutputArgs;
use crate::exit::Failure;
use crate::format::Format;
use crate::input::{is_stdin, is_stream};
use crate::output::Out;
use crate::progress::Progress;
use crate::weights::bytes::DataBytes;
use crate::writing::{self, Stream};
use crate::{interrupt, rows, size};

/// The most bytes that protobuf's readers take for a model.
pub(crate) const MAX_MODEL_BYTES: u64 = i32::MAX as u64;

/// What a write changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// Files are written.
    Write,
    /// Nothing, because of `--dry-run`.
    DryRun,
    /// Nothing, because no output is named; the option that names it.
    NoOutput(&'static str),
}

/// Where and how a model is written.
pub(crate) struct Destination<'a> {
    pub(crate) path: &'a Path,
    pub(crate) format: Format,
    pub(crate) effect: Effect,
    pub(crate) execution: Execution,
    /// With [`Effect::DryRun`], they change nothing.
    pub(crate) options: WriteOptions,
    /// The size of the model that was read, if the size of the output is worth a comparison.
    pub(crate) before: Option<SizeBefore>,
}

/// The size of a model that was read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SizeBefore {
    /// Bytes of the file.
    pub(crate) file: u64,
    /// Bytes of the files of its external data.
    pub(crate) data: u64,
}

/// How to write files, none of which an input reads.
pub(crate) fn options(args: OutputArgs, inputs: InputFiles) -> WriteOptions {
    WriteOptions::default()
        .with_force(args.force)
        .with_inputs(inputs)
        .with_temporaries(interrupt::temporaries())
}

/// Refuses to write binary to a terminal. `help` says how the command writes something else.
pub(crate) fn refuse_terminal(path: &Path, format: Format, help: &str) -> Result<(), Failure> {
    if format == Format::Onnx { refuse_binary_on_terminal(path, help) } else { Ok(()) }
}

/// Refuses to write binary of another format to a terminal.
pub(crate) fn refuse_binary_on_terminal(path: &Path, help: &str) -> Result<(), Failure> {
    let is_terminal = match is_stdin(path) {
        true => io::stdout().is_terminal(),
        false => file::is_terminal(path),
    };
    if is_terminal {
        return Err(Failure::new("this would write binary to the terminal").help(help));
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
    let bytes = write_model(model, to, files, None, progress, out);
    let bytes = bytes.map_err(|failure| failure.or_timeout(&to.execution))?;
    let what = size::plural(model.node_count() as u64, "node");
    let moved: Vec<Moved> = files.iter().map(Moved::from).collect();
    let data = DataBytes::of(model, to.path.parent(), files);
    report_written(
        to,
        &Written { format: Some(to.format.id()), what: &what, bytes, data, files: &moved },
        out,
    );
    Ok(())
}

/// Adds a model and the files of its external data to files that are written together. [`Effect::Write`] only.
pub(crate) fn stage(
    model: &Model,
    to: &Destination<'_>,
    files: &[DataFile],
    set: &mut FileSet<'_>,
    out: &mut Out,
) -> Result<Staged, Failure> {
    to.execution.interrupt.check()?;
    let bytes = write_model(model, to, files, Some(set), Progress::start("writing", 1), out);
    let bytes = bytes.map_err(|failure| failure.or_timeout(&to.execution))?;
    let what = size::plural(model.node_count() as u64, "node");
    let data = DataBytes::of(model, to.path.parent(), files);
    Ok(Staged { what, bytes, data, files: files.iter().map(Moved::from).collect() })
}

/// A model that was added to files that are written together.
pub(crate) struct Staged {
    what: String,
    bytes: u64,
    data: DataBytes,
    files: Vec<Moved>,
}

impl Staged {
    /// Tells that the files were written.
    pub(crate) fn report(&self, to: &Destination<'_>, out: &mut Out) {
        let format = Some(to.format.id());
        let written =
            Written { format, what: &self.what, bytes: self.bytes, data: self.data, files: &self.files };
        report_written(to, &written, out);
    }
}

/// Writes a model, or adds it to a set, and returns its size in bytes.
fn write_model(
    model: &Model,
    to: &Destination<'_>,
    files: &[DataFile],
    set: Option<&mut FileSet<'_>>,
    progress: Progress,
    out: &mut Out,
) -> Result<u64, Failure> {
    out.require_no_denied()?;
    let mut first = Some(contents(model, to)?);
    if let Some(Contents::Binary(encoded)) = &first {
        check_size(encoded, to, &progress, out)?;
    }
    let (mut losses, mut failure) = (Losses::default(), None);
    let mut produce = |model: &Model, file: &mut dyn Write| {
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
    };
    let bytes = match set {
        Some(set) => add_to(set, to, (model, files), &mut produce),
        None => write_with(to, (model, files), out, &mut produce),
    };
    drop(progress);
    if let Some(failure) = failure {
        return Err(failure);
    }
    let bytes = bytes?;
    report_losses(&losses, to.format, out);
    Ok(bytes)
}

fn add_to(
    set: &mut FileSet<'_>,
    to: &Destination<'_>,
    (model, files): (&Model, &[DataFile]),
    contents: &mut dyn FnMut(&Model, &mut dyn Write) -> io::Result<()>,
) -> Result<u64, Failure> {
    let mut bytes = 0;
    set.add_model(to.path, model, files, |file| {
        let mut counted = Counted::new(file, &to.execution);
        let result = contents(model, &mut counted);
        bytes = counted.bytes;
        result
    })?;
    Ok(bytes)
}

/// Writes a model that `contents` produces, with the files of its data, or only finds out whether that is possible. Returns
/// the size of the model in bytes.
pub(crate) fn write_with(
    to: &Destination<'_>,
    (model, files): (&Model, &[DataFile]),
    out: &mut Out,
    contents: &mut dyn FnMut(&Model, &mut dyn Write) -> io::Result<()>,
) -> Result<u64, Failure> {
    let mut bytes = None;
    let mut counted = |model: &Model, file: &mut dyn Write| {
        let mut counted = Counted::new(file, &to.execution);
        let result = contents(model, &mut counted);
        // A second model takes the place of the first one only until all files are in theirs.
        bytes.get_or_insert(counted.bytes);
        result
    };
    let is_unmade = to.effect == Effect::DryRun && out.is_unmade(to.path);
    match to.effect {
        _ if is_unmade || matches!(to.effect, Effect::NoOutput(_)) => {
            counted(model, &mut io::sink()).map_err(|error| cannot_write(to.path, error))?
        }
        Effect::DryRun if is_stream(to.path) => {
            check_stream(to.path, &to.options.inputs)?;
            counted(model, &mut io::sink()).map_err(|error| cannot_write(to.path, error))?;
        }
        Effect::Write if is_stream(to.path) => {
            stream_with(to.path, &to.options.inputs, |stream| counted(model, stream), out)?;
        }
        _ => save_as(to.path, model, files, &to.options, &mut counted)?,
    }
    Ok(bytes.unwrap_or_default())
}

/// Writes a text that leaves elements out to a file, which does not replace a model. Returns the number of bytes.
pub(crate) fn write_abridged(
    to: &Destination<'_>,
    model: &Model,
    contents: &mut dyn FnMut(&Model, &mut dyn Write) -> io::Result<()>,
) -> Result<u64, Failure> {
    let mut bytes = 0;
    write_file(to.path, FileKind::Abridged, &to.options, |file| {
        let mut counted = Counted::new(file, &to.execution);
        contents(model, &mut counted)?;
        bytes = counted.bytes;
        Ok(())
    })?;
    Ok(bytes)
}

/// Writes what is not a whole model, such as a node, or only finds out whether that is possible.
pub(crate) fn write_message(
    to: &Destination<'_>,
    bytes: &[u8],
    what: &str,
    out: &mut Out,
) -> Result<(), Failure> {
    match to.effect {
        Effect::NoOutput(_) => {}
        Effect::DryRun if is_stream(to.path) => check_stream(to.path, &to.options.inputs)?,
        Effect::Write if is_stream(to.path) => stream(to.path, &to.options.inputs, [bytes], out)?,
        _ => write_file(to.path, FileKind::Message, &to.options, |file| file.write_all(bytes))?,
    }
    let written = Written {
        format: Some(to.format.id()),
        what,
        bytes: bytes.len() as u64,
        data: DataBytes::default(),
        files: &[],
    };
    report_written(to, &written, out);
    Ok(())
}

fn cannot_write(path: &Path, source: io::Error) -> FileError {
    FileError { operation: "write", path: path.to_owned(), source }
}

/// A writer that counts, and fails when the work is stopped.
pub(crate) struct Counted<'a> {
    file: &'a mut dyn Write,
    execution: &'a Execution,
    pub(crate) bytes: u64,
}

impl<'a> Counted<'a> {
    pub(crate) fn new(file: &'a mut dyn Write, execution: &'a Execution) -> Self {
        Self { file, execution, bytes: 0 }
    }
}

impl Write for Counted<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        /// What a disk writes in some milliseconds.
        const MOST: usize = 4 << 20;
        self.execution.interrupt.check().map_err(io::Error::other)?;
        let written = self.file.write(bytes.get(..MOST).unwrap_or(bytes))?;
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// What was written to a destination, or would be.
pub(crate) struct Written<'a> {
    pub(crate) format: Option<&'static str>,
    /// What the file has: `27 nodes`.
    pub(crate) what: &'a str,
    pub(crate) bytes: u64,
    /// Bytes of its external data, wherever they are.
    pub(crate) data: DataBytes,
    /// The files with its data that were written.
    pub(crate) files: &'a [Moved],
}

/// A file of external data that was written with a model.
pub(crate) struct Moved {
    location: String,
    bytes: u64,
}

impl From<&DataFile> for Moved {
    fn from(file: &DataFile) -> Self {
        Self { location: file.location().to_owned(), bytes: file.len() }
    }
}

/// The largest text that is written to be read.
const MAX_READ: u64 = 1 << 20;

/// Tells which files were written: `wrote out.onnx: 27 nodes, 3.2 kB; 18.1 kB in w.data`.
pub(crate) fn report_written(to: &Destination<'_>, written: &Written<'_>, out: &mut Out) {
    out.release_summaries();
    let is_written = to.effect == Effect::Write;
    if !matches!(to.effect, Effect::NoOutput(_)) {
        out.output(to.path, written.format, written.bytes, is_written);
        for file in written.files {
            out.output(&to.path.with_file_name(&file.location), None, file.bytes, is_written);
        }
    }
    let mut text = format!("{}, {}", written.what, size::bytes(written.bytes));
    let with_data = |before: &SizeBefore| before.data > 0 || written.data.files > 0;
    if let Some(before) = to.before.filter(|before| !with_data(before)) {
        text.push_str(&format!(" ({} before)", size::bytes(before.file)));
    }
    let moved: u64 = written.files.iter().map(|file| file.bytes).sum();
    match written.files {
        [] => {}
        [file] => text.push_str(&format!("; {} in {}", size::bytes(moved), file.location)),
        files => {
            let files = size::plural(files.len() as u64, "file");
            text.push_str(&format!("; {} in {files}", size::bytes(moved)));
        }
    }
    if let Some(before) = to.before.filter(with_data) {
        let [before, after] = [(before.file, before.data), (written.bytes, written.data.files)]
            .map(|(file, data)| size::bytes(file.saturating_add(data)));
        text.push_str(&format!("; {before} -> {after} with external data"));
    }
    let is_told = (!written.files.is_empty() || to.before.is_some()) && !is_stream(to.path);
    let unused = written.data.notable_unused().filter(|_| is_told);
    if let Some(unused) = unused {
        text.push_str(&format!("; {} of the external data is not used by the model", size::bytes(unused)));
    }
    if !matches!(to.effect, Effect::NoOutput(_)) {
        out.omit_name();
    }
    match to.effect {
        Effect::Write if is_stream(to.path) => {}
        Effect::Write => {
            out.summary(&format!("wrote {}: {text}", rows::name(to.path)));
            let is_asked = out.collected.command() == "print";
            if !is_asked && written.format == Some(Format::Onnxtxt.id()) && written.bytes > MAX_READ {
                out.help("the text has all weights; `onnx print` abridges them, also of a model from a pipe: `-o - | onnx print -`");
            }
        }
        Effect::DryRun => out.summary(&format!("would write {}: {text}", rows::name(to.path))),
        Effect::NoOutput(option) => out.summary(&would_write(&text, option)),
    }
    if unused.is_some() {
        out.help("`onnx convert MODEL -o NEW --weights external=NAME` writes only the external data that the model uses");
    }
}

/// The summary of what is not written because no output is named.
pub(crate) fn would_write(text: &str, option: &str) -> String {
    format!("would write {text} (`{option}` writes it)")
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
    if is_standard_output(path) {
        check_standard_output(inputs)?;
        return out.stream(contents);
    }
    let open = {
        let (path, inputs) = (path.to_owned(), inputs.clone());
        // Opening a pipe waits for its reader.
        move || open_stream(path, &inputs).map_err(|error| error.source)
    };
    match writing::write(Stream::Other, out.timeout(), open, contents) {
        // As for standard output: a reader that closes it does not want the rest.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        Err(error) if writing::is_stopped(&error) => Err(error.into()),
        other => other.map_err(|error| cannot_write(path, error).into()),
    }
}

fn is_standard_output(path: &Path) -> bool {
    is_stdin(path) || file::descriptor(path) == Some(1)
}

/// Refuses to write to a stream that is connected to a file that an input is or reads, as far as that is known before it is
/// opened.
fn check_stream(path: &Path, inputs: &InputFiles) -> Result<(), Failure> {
    if is_standard_output(path) { check_standard_output(inputs) } else { Ok(()) }
}

/// Refuses to write to standard output if it is connected to a file that an input is or reads.
pub(crate) fn check_standard_output(inputs: &InputFiles) -> Result<(), Failure> {
    match standard_output_file() {
        Some(file) => inputs
            .check_stream(&file)
            .map_err(|refusal| {
                Failure::not_writable(format_args!("cannot write to standard output: {refusal}"))
                    .help("write to another file")
            })
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
) -> Result<Losses, ConvertError> {
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
