//! Where the weights of an output are: in the model, or in files that it refers to. The modules below are `onnx weights`.

pub(crate) mod bytes;
mod export;
mod import;
mod list;
mod show;
mod stats;
mod strip;
pub(crate) mod verbs;

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};

use onnx_codec::{
    DataFile, EncodeOptions, ExternalizeOptions, InlineDataOptions, InputFiles, encode, externalize, inline,
};
use onnx_ir::Model;
use onnx_types::tensor::{DataErrorReason, DataSource, NoData, Payload, Tensor};
use onnx_types::{ElemType, Execution, Limits};
use onnx_weights::{STRIPPED_LOCATION, is_stripped};

pub(crate) use strip::generate_stripped;

use crate::args::{ExternalArgs, OutputArgs, Weights};
use crate::exit::Failure;
use crate::format::Format;
use crate::input::{Loaded, is_stream};
use crate::output::{Out, shown};
use crate::store::{Destination, Effect, MAX_MODEL_BYTES};
use crate::{size, store, tensors};

/// An output, and where its weights are. The path of an output that is not named is that of the input.
#[derive(Clone, Copy)]
pub(crate) struct Placement<'a> {
    pub(crate) path: &'a Path,
    pub(crate) format: Format,
    pub(crate) effect: Effect,
    pub(crate) weights: &'a Weights,
    pub(crate) external: &'a ExternalArgs,
}

impl Placement<'_> {
    /// Refuses what is impossible for the output, before any work is done.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        if is_stream(self.path) && matches!(self.weights, Weights::External(_)) {
            return Err(Failure::new("external data needs a file that it can be stored next to")
                .help("write to a file instead of `-`, or omit `--weights external`"));
        }
        match self.external.given() {
            Some(option) if !matches!(self.weights, Weights::External(_)) => {
                Err(Failure::new(format_args!("`{option}` is for external data"))
                    .help("add `--weights external`, or `--weights external=NAME`"))
            }
            _ => Ok(()),
        }
    }

    /// How and where to write what was read with this context, unless the files of the inputs forbid it.
    pub(crate) fn destination(
        &self,
        execution: Execution,
        args: OutputArgs,
        inputs: InputFiles,
    ) -> Destination<'_> {
        // Copies of external data have the locations of the originals.
        let folders = !matches!(self.weights, Weights::External(_));
        let options = store::options(args, inputs).with_folders(folders);
        let temporaries = options.temporaries.clone().ended_by(execution.interrupt.clone());
        let options = options.with_temporaries(temporaries).with_dry_run(self.effect == Effect::DryRun);
        Destination {
            path: self.path,
            format: self.format,
            effect: self.effect,
            execution,
            options,
            before: None,
        }
    }

    /// A directory for elements that are made and not written yet: that of the output, where they will be, or else that of temporary files.
    pub(crate) fn held_in(&self) -> PathBuf {
        match self.effect {
            Effect::Write if !is_stream(self.path) => match self.path.parent() {
                Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
                _ => PathBuf::from("."),
            },
            _ => std::env::temp_dir(),
        }
    }

    /// The file for the weights: of the name that is given, or of that of the output and `.data`.
    fn location(&self) -> String {
        match self.weights {
            Weights::External(Some(name)) => name.clone(),
            _ => format!("{}.data", self.path.file_name().unwrap_or_default().to_string_lossy()),
        }
    }
}

/// Moves the weights to where they are wanted, and returns the external data files to write with the model.
pub(crate) fn place(loaded: &mut Loaded, to: &Placement<'_>, out: &Out) -> Result<Vec<DataFile>, Failure> {
    out.detail(2, &format!("weights: {} tensors in other files", external_locations(loaded)));
    match to.weights {
        Weights::Auto => {
            let mut files = keep_reachable(loaded, to.path, out)?;
            files.iter().for_each(|file| out.detail(2, &format!("weights: copies {}", file.location())));
            if to.format == Format::Onnx && !is_stream(to.path) && is_too_large(loaded, MAX_MODEL_BYTES)? {
                out.detail(2, "weights: moved out of the model, which would exceed 2 GiB");
                files.extend(move_out(&mut loaded.model, to, &loaded.execution.limits.clone(), out)?);
            }
            Ok(files)
        }
        Weights::Keep => Ok(mention_unreachable(loaded, to.path, "`--weights auto` keeps it reachable", out)),
        Weights::Embed => {
            mention_stripped(loaded, out);
            embed(loaded, out).map(|()| Vec::new())
        }
        Weights::External(_) => {
            mention_stripped(loaded, out);
            embed(loaded, out)?;
            move_out(&mut loaded.model, to, &loaded.execution.limits.clone(), out)
        }
    }
}

/// What to do about weights without elements.
const RESTORE: &str = "`onnx weights import MODEL WEIGHTS` puts the elements back, and `--generate` makes others in their place";

/// The number of tensors whose elements were stripped.
fn stripped(loaded: &Loaded) -> u64 {
    let mut count = 0;
    tensors::for_each(&loaded.model, |_, tensor| count += u64::from(is_stripped(tensor)));
    count
}

/// Warns of weights without elements, which cannot be moved.
fn mention_stripped(loaded: &Loaded, out: &Out) {
    let count = stripped(loaded);
    if count > 0 {
        let tensors = size::plural(count, "tensor");
        let verb = if count == 1 { "stays" } else { "stay" };
        out.warning(&format!("{tensors} {verb} without elements, which were stripped"), Some(RESTORE));
    }
}

/// Refuses a model whose elements were stripped, for work that reads them.
pub(crate) fn require_elements(loaded: &Loaded) -> Result<(), Failure> {
    refuse_stripped(stripped(loaded))
}

/// Refuses work that reads the elements of this number of tensors without elements.
fn refuse_stripped(count: u64) -> Result<(), Failure> {
    if count == 0 {
        return Ok(());
    }
    let tensors = size::plural(count, "tensor");
    Err(Failure::new(format_args!("the elements of {tensors} were stripped")).help(RESTORE))
}

/// Whether the encoded model is larger than a number of bytes. Most models are too small to be encoded for that.
fn is_too_large(loaded: &Loaded, most: u64) -> Result<bool, Failure> {
    let mut embedded = 0_u64;
    tensors::for_each(&loaded.model, |_, tensor| {
        let len = tensor.byte_len().filter(|_| !tensor.is_external());
        embedded = embedded.saturating_add(len.unwrap_or_default());
    });
    if embedded < most / 2 {
        return Ok(false);
    }
    Ok(encode(&loaded.model, &EncodeOptions::within(&loaded.execution.limits))?.len() > most)
}

/// Moves the large embedded weights of a model into separate files.
pub(crate) fn move_out(
    model: &mut Model,
    to: &Placement<'_>,
    limits: &Limits,
    out: &Out,
) -> Result<Vec<DataFile>, Failure> {
    let options = options(to, limits)?;
    let moved = externalize(model, &options, &NoData)?;
    for invalid in &moved.invalid {
        out.warning(&format!("stays in the model, because it is invalid: {invalid}"), None);
    }
    if moved.files.is_empty() {
        let threshold = size::bytes(options.threshold_bytes);
        let help = match to.external.are_options {
            true => "`--threshold SIZE` moves smaller tensors, too",
            false => {
                "`onnx convert MODEL -o NEW --weights external --threshold SIZE` moves smaller tensors, too"
            }
        };
        out.warning(&format!("no tensor has {threshold} or more: nothing was moved"), Some(help));
    }
    if let Some(count) = NonZeroU64::new(shape_operands(model)) {
        out.warning(
            &format!(
                "{} of integers below 1 kB moved: onnxruntime does not open models whose shape operands are external",
                size::plural(count.get(), "small tensor")
            ),
            to.external.are_options.then_some("leave `--threshold` at its default of 1024"),
        );
    }
    Ok(moved.files)
}

/// The number of small external tensors of integers: what operators read as sizes and axes when shapes are inferred.
fn shape_operands(model: &Model) -> u64 {
    let mut count = 0;
    tensors::for_each(model, |_, tensor| {
        let is_integers = matches!(tensor.elem(), ElemType::Int64 | ElemType::Int32);
        let is_small = tensor.byte_len().is_some_and(|len| len < 1024);
        count += u64::from(tensor.is_external() && is_integers && is_small && tensor.dims().len() <= 1);
    });
    count
}

fn options(to: &Placement<'_>, limits: &Limits) -> Result<ExternalizeOptions, Failure> {
    let mut options = ExternalizeOptions::new(to.location());
    let args = to.external;
    options.threshold_bytes = args.threshold.unwrap_or(options.threshold_bytes);
    options.max_shard_bytes = args.shard_size;
    options.everything = args.all_tensors;
    options.checksum = args.checksum;
    options.splat_bytes = limits.splat_bytes;
    if let Some(align) = args.align {
        let align = u32::try_from(align)
            .map_err(|_| Failure::new("`--align` is too large").help("give at most 65536"))?;
        (options.alignment, options.large_alignment) = (align, align);
    }
    Ok(options)
}

/// Warns of weights without elements: their file is missing or too short. An edit that needs these elements is not made.
pub(crate) fn warn_of_missing(loaded: &Loaded, out: &Out) -> Result<(), Failure> {
    let source = loaded.source()?;
    let mut last: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    tensors::for_each(&loaded.model, |_, tensor| {
        let Payload::External(data) = tensor.payload() else { return };
        let Some(location) = external_location(tensor) else { return };
        let (Ok(offset), Ok(length)) = (data.offset(), data.length()) else { return };
        let end = offset.saturating_add(length.or_else(|| tensor.byte_len()).unwrap_or_default());
        let (known, count) = last.entry(location.to_owned()).or_default();
        (*known, *count) = ((*known).max(end), *count + 1);
    });
    for (location, (end, count)) in last {
        let Some(at) = end.checked_sub(1) else { continue };
        // The last byte is there if all are.
        if let Err(error) = source.read(&location, at, Some(1)) {
            let missing = error.reason == DataErrorReason::NotFound;
            let what = if missing { "is missing" } else { "cannot be read to the end" };
            let message = format!(
                "`{}` {what}, which has the elements of {}: edits that need them are not made",
                shown(&location),
                size::plural(count, "weight")
            );
            out.warning(
                &message,
                Some("get the file that belongs to the model; `onnx check` names each weight"),
            );
        }
    }
    Ok(())
}

/// The files of external data that a model refers to.
pub(crate) fn locations(model: &Model) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    tensors::for_each(model, |_, tensor| found.extend(external_location(tensor).map(str::to_owned)));
    found
}

/// Warns of the files that a model had before it was changed in place, and does not have any more.
pub(crate) fn mention_left(before: &BTreeSet<String>, model: &Model, out: &Out) {
    for file in before.difference(&locations(model)) {
        out.warning(
            &format!("`{}` has no weight of the model any more, and is left where it is", shown(file)),
            Some("remove it if no other model takes its weights from it"),
        );
    }
}

/// The number of tensors whose elements are in other files.
pub(crate) fn external_locations(loaded: &Loaded) -> u64 {
    let mut count = 0;
    tensors::for_each(&loaded.model, |_, tensor| count += u64::from(external_location(tensor).is_some()));
    count
}

/// The file of the elements of a tensor; a tensor without elements has none.
fn external_location(tensor: &Tensor) -> Option<&str> {
    match tensor.payload() {
        Payload::External(data) => {
            Some(data.location().unwrap_or_default()).filter(|file| !file.starts_with(STRIPPED_LOCATION))
        }
        _ => None,
    }
}

/// Gives all external tensors their elements.
pub(crate) fn embed(loaded: &mut Loaded, out: &Out) -> Result<(), Failure> {
    if external_locations(loaded) == 0 {
        return Ok(());
    }
    let source = loaded.source()?;
    let options = InlineDataOptions::default().with_max_total_bytes(loaded.execution.limits.external_bytes);
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
    copies(loaded, out)
}

/// Whether the output is in the directory of the external data, so that locations stay valid. If the directory of the
/// output does not exist, writing fails.
pub(crate) fn is_beside(directory: &Path, output: &Path) -> bool {
    let resolved = |path: &Path| {
        let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        path.canonicalize().ok()
    };
    let to = resolved(output.parent().unwrap_or(Path::new("")));
    to.is_none() || to == resolved(directory)
}

/// Warns if external data is not reachable from the output. Returns no files to write.
pub(crate) fn mention_unreachable(
    loaded: &Loaded,
    output: &Path,
    otherwise: &str,
    out: &Out,
) -> Vec<DataFile> {
    let is_reachable = loaded.place.directory().is_some_and(|directory| is_beside(directory, output));
    if !is_reachable && external_locations(loaded) > 0 {
        let help = format!("{otherwise}; `--data-dir DIR` specifies where it is when the output is read");
        out.warning("the model has external data in another directory than the output", Some(&help));
    }
    Vec::new()
}

/// Copies of all files of external data, to be written under the same locations in another directory.
fn copies(loaded: &Loaded, out: &Out) -> Result<Vec<DataFile>, Failure> {
    let mut locations = BTreeMap::new();
    tensors::for_each(&loaded.model, |_, tensor| {
        if let Some(location) = external_location(tensor).filter(|location| !location.is_empty()) {
            locations.entry(onnx_codec::source::normalized(location)).or_insert_with(|| location.to_owned());
        }
    });
    let source = loaded.source()?;
    let mut files = Vec::new();
    for (normalized, location) in locations {
        match source.read(&location, 0, None) {
            Ok(contents) => files.push(DataFile::new(normalized, contents)),
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
