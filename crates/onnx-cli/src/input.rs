//! From what the user names to a model: files, directories and standard input.

use std::fs;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use onnx_codec::file;
use onnx_codec::{DecodeOptions, Decoded, FileSource, InputFiles, ModelStamp, ReadMode};
use onnx_diag::render::text;
use onnx_diag::{Caps, Diagnostic, Locus, Policy, Severity, Sink};
use onnx_formats::MessageType;
use onnx_ir::Model;
use onnx_shape_infer::{InferOptions, Inference, infer};
use onnx_text::ParseOptions;
use onnx_types::{Execution, Limits};

use crate::args::{InputArgs, SeverityArgs};
use crate::exit::Failure;
use crate::format::{self, Format};
use crate::output::{Colours, Out};
use crate::part::{Part, Piece};
use crate::reading::{read, read_stdin};
use crate::{rows, size, store};

/// A model that was read, and where it came from.
pub(crate) struct Loaded {
    /// What the user called it.
    pub(crate) name: String,
    /// Where its external data is.
    pub(crate) place: DataPlace,
    pub(crate) format: Format,
    /// The size of the input.
    pub(crate) bytes: u64,
    pub(crate) model: Model,
    /// What of the model the input stands for.
    pub(crate) piece: Piece,
    /// The findings of reading.
    pub(crate) findings: Sink,
    /// The input, where it is in the ONNX text syntax and findings have a line and column of it.
    pub(crate) text: Option<Bytes>,
    pub(crate) mode: ReadMode,
    /// The directory for elements that are made and not written yet; without one they stay in memory.
    pub(crate) held_in: Option<PathBuf>,
    /// What work on the model may cost, and what ends it.
    pub(crate) execution: Execution,
    /// The files of the model as it was read, or why they cannot be accessed.
    pub(crate) files: Result<InputFiles, String>,
}

/// Where the external data of a model is.
#[derive(Clone, Debug, Default)]
pub(crate) struct DataPlace {
    /// The file of the model, as it was before it was read, unless it came from a stream.
    model: Option<(PathBuf, ModelStamp)>,
    /// The directory that the user specified.
    directory: Option<PathBuf>,
}

impl DataPlace {
    pub(crate) fn new(path: &Path) -> Self {
        let model = (!is_stream(path)).then(|| (path.to_owned(), ModelStamp::of(path)));
        Self { model, directory: None }
    }

    pub(crate) const fn in_directory(directory: PathBuf) -> Self {
        Self { model: None, directory: Some(directory) }
    }

    /// The files of a model that was read from here.
    fn files(&self, model: &Model) -> Result<InputFiles, String> {
        let mut files = InputFiles::default();
        if let Some((path, _)) = &self.model {
            files.add(path, model).map_err(|error| error.to_string())?;
        }
        if let Some(directory) = &self.directory {
            files.add_data(directory, model);
        }
        Ok(files)
    }

    /// The directory, if there is one. A path without a directory is in the current one.
    pub(crate) fn directory(&self) -> Option<&Path> {
        let beside = || Some(self.model.as_ref()?.0.parent().unwrap_or(Path::new("")));
        self.directory.as_deref().or_else(beside)
    }
}

impl Loaded {
    /// The external data of the model: in the directory that the user specified, or in that of the model. A model from
    /// a stream has none.
    pub(crate) fn source(&self) -> Result<FileSource, Failure> {
        let source = match (&self.place.directory, &self.place.model) {
            (Some(directory), _) => FileSource::in_directory(directory)?,
            (None, Some((path, stamp))) => FileSource::for_model(path)?.with_stamp(stamp.clone()),
            (None, None) => FileSource::nowhere(),
        };
        let source = source.with_mode(self.mode).with_limits(&self.execution.limits);
        Ok(match &self.held_in {
            Some(directory) => source.with_held_in(directory),
            None => source,
        })
    }

    /// Whether the external data of another model is in the same directory, so that equal locations are the same files.
    pub(crate) fn has_data_of(&self, other: &Self) -> bool {
        let of = |loaded: &Self| {
            let directory = loaded.place.directory()?;
            let directory = if directory.as_os_str().is_empty() { Path::new(".") } else { directory };
            directory.canonicalize().ok()
        };
        of(self).is_some_and(|directory| of(other) == Some(directory))
    }

    /// Infers types and shapes, within the context of the command.
    pub(crate) fn infer(&self, mut options: InferOptions<'_>) -> Result<Inference, Failure> {
        options.execution = self.execution.clone();
        let inference = infer(&self.model, &options);
        self.execution.interrupt.check()?;
        Ok(inference)
    }

    /// The files that an output must not replace: those of the model as it was read, whatever has become of it.
    pub(crate) fn files(&self) -> Result<InputFiles, Failure> {
        let files = self.files.clone();
        files.map_err(|error| Failure::not_readable(format_args!("{}: {error}", self.name)))
    }

    /// The same with its external data where the user specified.
    ///
    /// # Errors
    ///
    /// Returns an error if standard output, which takes a model or a report, is connected to a file of the model.
    fn with_data_in(mut self, args: &InputArgs) -> Result<Self, Failure> {
        if args.data_dir.is_some() {
            self.place.directory.clone_from(&args.data_dir);
            self.files = self.place.files(&self.model);
        }
        if store::standard_output_file().is_some() {
            store::check_standard_output(&self.files()?)?;
        }
        Ok(self)
    }

    /// Gives the findings of reading the severities that the user wants.
    pub(crate) fn judge(&mut self, severity: &SeverityArgs) -> Result<(), Failure> {
        if severity.is_default() {
            return Ok(());
        }
        let caps = severity.caps().unwrap_or(Caps::NONE);
        let mut judged = Sink::with(severity.policy(Policy::new())?, caps);
        judged.merge(std::mem::take(&mut self.findings));
        self.findings = judged;
        Ok(())
    }

    /// Reports what was found when the model was read, on standard error.
    ///
    /// # Errors
    ///
    /// If parts of the file could not be decoded, or the user denies what was found, unless `--keep-going` is given.
    pub(crate) fn report(
        &mut self,
        severity: &SeverityArgs,
        keep_going: bool,
        out: &mut Out,
    ) -> Result<(), Failure> {
        self.report_with(severity, Some(keep_going), out)
    }

    /// Like [`report`](Self::report), for a command without `--keep-going`.
    ///
    /// # Errors
    ///
    /// If parts of the file could not be decoded, or the user denies what was found.
    pub(crate) fn report_complete(&mut self, severity: &SeverityArgs, out: &mut Out) -> Result<(), Failure> {
        self.report_with(severity, None, out)
    }

    /// `keep_going` is `None` if the command does not have the option.
    fn report_with(
        &mut self,
        severity: &SeverityArgs,
        keep_going: Option<bool>,
        out: &mut Out,
    ) -> Result<(), Failure> {
        self.judge(severity)?;
        out.limit_findings(severity.caps());
        out.judge_warnings(&severity.policy(Policy::new())?);
        out.detail(1, &format!("read {}: {}, {}", self.name, self.format.name(), size::bytes(self.bytes)));
        if !self.findings.is_empty() {
            let options = text::Options::new(&self.name).with_style(&Colours).with_concise(true);
            out.findings(&self.findings, &options);
        }
        if !self.findings.has_errors() {
            return Ok(());
        }
        if keep_going == Some(true) {
            return Ok(());
        }
        out.input(self, self.findings.clone())?;
        let is_incomplete =
            self.findings.diagnostics().iter().any(|found| found.rule.severity == Severity::Error);
        let message =
            if is_incomplete { "the file is not decoded completely" } else { "what was found is denied" };
        let help = match (is_incomplete, keep_going.is_some()) {
            (true, true) => "`--keep-going` works with what could be decoded",
            (true, false) => "`onnx convert MODEL -o NEW --keep-going` writes what could be decoded",
            (false, true) => "`--keep-going` proceeds in spite of it",
            (false, false) => "omit `--deny`",
        };
        Err(Failure::because_of_findings(message).about(&self.name).help(help))
    }
}

/// The name under which an input is spoken of.
pub(crate) fn display_name(path: &Path) -> String {
    if is_stdin(path) { "<stdin>".to_owned() } else { rows::name(path) }
}

pub(crate) fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Whether an input or output is a stream: standard input or output, a pipe, a device or a descriptor.
pub(crate) fn is_stream(path: &Path) -> bool {
    is_stdin(path) || file::is_stream(path)
}

/// Reads a model.
pub(crate) fn load(path: &Path, args: &InputArgs) -> Result<Loaded, Failure> {
    load_as(path, args, Part::Model)
}

/// Reads a model that will be written elsewhere as a whole.
pub(crate) fn load_to_copy(path: &Path, args: &InputArgs) -> Result<Loaded, Failure> {
    load_part(
        path,
        format_of(path, args),
        args.mode_of_copy(),
        Part::Model,
        &reading(args.bounds.execution()),
    )?
    .with_data_in(args)
}

/// Reads a model that a process keeps, while other programs may change its files: nothing of them is mapped.
pub(crate) fn load_to_keep(path: &Path, args: &InputArgs) -> Result<Loaded, Failure> {
    let reading = reading(args.bounds.execution());
    load_part(path, format_of(path, args), ReadMode::Memory, Part::Model, &reading)?.with_data_in(args)
}

/// Reads a model, or a standalone part of one, in the format that the user or the extension specifies.
pub(crate) fn load_as(path: &Path, args: &InputArgs, part: Part) -> Result<Loaded, Failure> {
    load_part(path, format_of(path, args), args.mode(), part, &reading(args.bounds.execution()))?
        .with_data_in(args)
}

/// How to read, whatever the format.
pub(crate) fn reading(execution: Execution) -> ParseOptions<'static> {
    ParseOptions::default().with_execution(execution).with_keep_elided(true)
}

/// The format that the user or the extension specifies; otherwise the contents decide.
fn format_of(path: &Path, args: &InputArgs) -> Option<Format> {
    args.from.or_else(|| Format::of(path))
}

/// Reads a model, or a standalone part of one.
pub(crate) fn load_part(
    path: &Path,
    format: Option<Format>,
    mode: ReadMode,
    part: Part,
    options: &ParseOptions<'_>,
) -> Result<Loaded, Failure> {
    load_with(path, (format, format::FOR_ANY), mode, part, options)
}

/// Reads a text in which tensors may be elided, if `options` has the model that it was printed from.
pub(crate) fn load_text(path: &Path, part: Part, options: &ParseOptions<'_>) -> Result<Loaded, Failure> {
    load_with(path, (Some(Format::Onnxtxt), format::FOR_TEXT_ONLY), ReadMode::Memory, part, options)
}

/// The format comes with what to do about a binary model in its place.
fn load_with(
    path: &Path,
    formats: (Option<Format>, &str),
    mode: ReadMode,
    part: Part,
    options: &ParseOptions<'_>,
) -> Result<Loaded, Failure> {
    // After the timeout, the other files of a directory are not read.
    let in_time = options.execution.interrupt.check().map_err(Failure::from);
    let loaded = in_time.and_then(|()| load_at_once(path, formats, mode, part, options));
    loaded.map_err(|failure| failure.or_timeout(&options.execution).of_input(display_name(path)))
}

fn load_at_once(
    path: &Path,
    (format, otherwise): (Option<Format>, &str),
    mode: ReadMode,
    part: Part,
    options: &ParseOptions<'_>,
) -> Result<Loaded, Failure> {
    let name = display_name(path);
    // Before the model is read, so that it is noticed if another one takes its place.
    let place = DataPlace::new(path);
    let interrupt = &options.execution.interrupt;
    let bytes = if is_stdin(path) { read_stdin(interrupt)? } else { read(path, mode, interrupt)? };
    decode_contents(Contents { name, bytes, place, format, mode }, otherwise, part, options)
}

/// The contents of a file or of another source.
pub(crate) struct Contents {
    /// What the user calls it.
    pub(crate) name: String,
    pub(crate) bytes: Bytes,
    /// Where its external data is.
    pub(crate) place: DataPlace,
    /// The format that the user or the extension specifies; otherwise the contents decide.
    pub(crate) format: Option<Format>,
    /// How external data is read.
    pub(crate) mode: ReadMode,
}

/// Reads a model, or a standalone part of one, from its contents.
pub(crate) fn load_contents(
    contents: Contents,
    part: Part,
    options: &ParseOptions<'_>,
) -> Result<Loaded, Failure> {
    let name = contents.name.clone();
    let loaded = decode_contents(contents, format::FOR_ANY, part, options);
    loaded.map_err(|failure| failure.or_timeout(&options.execution).of_input(name))
}

/// Refuses contents of more bytes than the limit, in the words of the decoder.
pub(crate) fn require_length(length: u64, limits: &Limits) -> Result<(), Failure> {
    let limit = limits.input_bytes;
    if length <= limit {
        return Ok(());
    }
    let name = "input_bytes";
    let reason = format_args!("{length} exceeds the limit of {limit}: raise the limit `{name}` to accept it");
    Err(Failure::exceeding(name, format_args!("cannot be read: at byte 0: {reason}")))
}

fn decode_contents(
    contents: Contents,
    otherwise: &str,
    part: Part,
    options: &ParseOptions<'_>,
) -> Result<Loaded, Failure> {
    let Contents { name, bytes, place, format, mode } = contents;
    require_length(bytes.len() as u64, &options.execution.limits).map_err(|failure| failure.about(&name))?;
    let format = format.unwrap_or_else(|| format::of_contents(&bytes, part));
    if format == Format::Onnxtxt && !part.has_text() {
        return Err(Failure::new(format_args!("{name}: ONNX text cannot contain this part on its own"))
            .help("use the binary form of the part"));
    }
    let len = bytes.len() as u64;
    let text = (format == Format::Onnxtxt).then(|| bytes.clone());
    let (Decoded { model, findings }, piece) = match format {
        Format::Onnxtxt => {
            part.parse(&bytes, options).map_err(|error| match format::not_text(&bytes, otherwise) {
                Some(failure) => failure.about(&name),
                None => Failure::of_text(&name, error.into_findings(), bytes),
            })?
        }
        _ => decode_as(&bytes, format, part, options).map_err(|failure| failure.about(&name))?,
    };
    let execution = options.execution.clone();
    let files = place.files(&model);
    Ok(Loaded {
        name,
        place,
        format,
        bytes: len,
        model,
        piece,
        findings,
        text,
        mode,
        held_in: None,
        execution,
        files,
    })
}

/// Reads one of the forms of protobuf.
fn decode_as(
    bytes: &Bytes,
    format: Format,
    part: Part,
    options: &ParseOptions<'_>,
) -> Result<(Decoded, Piece), Failure> {
    if format.is_text() && part != Part::Model {
        return Err(Failure::new(format_args!("{} is read as a model only", format.name()))
            .help("leave `--as` away, or convert the file to binary first"));
    }
    let encoded = encoded(bytes, format, &options.execution)?;
    let options =
        DecodeOptions::default().with_execution(options.execution.clone()).with_offsets(!format.is_text());
    let (mut decoded, piece) = part.decode(encoded, &options).map_err(|error| {
        let is_file = part == Part::Model && !format.is_text() && error.limit().is_none();
        let rejected = is_file.then(|| format::rejected(bytes, format, format::FOR_ANY)).flatten();
        rejected.unwrap_or_else(|| Failure::from(error))
    })?;
    // Bytes that protobuf accepts and that contain no graph may be a file of another kind.
    let no_graph = |found: &Diagnostic| found.rule == &onnx_codec::rules::NO_GRAPH;
    if part == Part::Model
        && decoded.findings.diagnostics().iter().any(no_graph)
        && let Some(failure) = format::rejected(bytes, format, format::FOR_ANY)
    {
        return Err(failure);
    }
    if format.is_text() {
        decoded.findings = without_positions(decoded.findings);
    }
    Ok((decoded, piece))
}

/// The `ModelProto` that a file holds or describes.
fn encoded(bytes: &Bytes, format: Format, execution: &Execution) -> Result<Bytes, Failure> {
    let read = match format {
        Format::Onnx | Format::Onnxtxt => return Ok(bytes.clone()),
        Format::Textproto => onnx_formats::read_text,
        Format::Json => onnx_formats::read_json,
    };
    let name = format.name();
    read(MessageType::MODEL, bytes, execution).map_err(|error| {
        if let Some(failure) = format::rejected(bytes, format, format::FOR_ANY) {
            return failure;
        }
        if error.limit().is_some() {
            return error.into();
        }
        let failure = Failure::not_a_model(format_args!("this is not {name} of a model: {error}"));
        if format == Format::Textproto && bytes.trim_ascii_start().starts_with(b"<") {
            return failure.help("if it is ONNX text (`<ir_version: 10>`), add `--from onnxtxt`");
        }
        failure
    })
}

/// The same findings without byte offsets, which mean nothing for a text.
fn without_positions(findings: Sink) -> Sink {
    if findings.is_empty() {
        return findings;
    }
    let dropped: Vec<_> = findings.rule_counts().map(|count| (count.rule, count.dropped())).collect();
    let kept = findings.into_diagnostics();
    let mut sink = Sink::with(Policy::new(), Caps { per_rule: usize::MAX, total: kept.len() });
    for mut diagnostic in kept {
        diagnostic.locus = Locus::from_steps(diagnostic.locus.steps().to_vec());
        sink.report(diagnostic);
    }
    for (rule, count) in dropped {
        for _ in 0..count {
            // The sink is full: this only counts.
            sink.report_with(rule, || Diagnostic::new(rule, Locus::model(), ""));
        }
    }
    sink
}

/// The files that the user means: directories stand for the files under them that have one of these extensions, in the
/// order of their names.
pub(crate) fn expand(paths: &[PathBuf], extensions: &[&str]) -> Vec<Result<PathBuf, Failure>> {
    let mut files = Vec::new();
    for path in paths {
        if is_stdin(path) || !path.is_dir() {
            files.push(Ok(path.clone()));
            continue;
        }
        let before = files.len();
        walk(path, extensions, &mut files);
        if files.len() == before {
            let extension = extensions.first().copied().unwrap_or_default();
            let message = format_args!("there is no *.{extension} file under `{}`", path.display());
            let help = format!("name a file, or a directory with *.{extension} files");
            files.push(Err(Failure::new(message).help(help)));
        }
    }
    files
}

/// Collects the files under a directory. Links to directories are not followed, so the walk ends. Names that begin with a
/// dot are left out: caches and version control keep copies of models under such.
fn walk(root: &Path, extensions: &[&str], files: &mut Vec<Result<PathBuf, Failure>>) {
    let mut left = vec![root.to_owned()];
    while let Some(path) = left.pop() {
        let is_directory = path == root || path.symlink_metadata().is_ok_and(|metadata| metadata.is_dir());
        if !is_directory {
            let is_model = path.extension().is_some_and(|extension| {
                extensions.iter().any(|wanted| extension.eq_ignore_ascii_case(wanted))
            });
            if is_model && !path.is_dir() {
                files.push(Ok(path));
            }
            continue;
        }
        match fs::read_dir(&path).and_then(|entries| entries.map(|entry| Ok(entry?.path())).collect()) {
            Ok(entries) => {
                let mut entries: Vec<PathBuf> = entries;
                entries.retain(|entry| {
                    let name = entry.file_name().unwrap_or_default();
                    !name.as_encoded_bytes().starts_with(b".")
                });
                entries.sort_unstable_by(|a, b| b.cmp(a));
                left.append(&mut entries);
            }
            Err(error) => {
                let message = format_args!("{}: cannot be read: {error}", path.display());
                files.push(Err(Failure::not_readable(message)));
            }
        }
    }
}
