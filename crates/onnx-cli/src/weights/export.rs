//! `onnx weights export`: weights in files of tensors.

use std::ffi::OsStr;
use std::io::Write;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use onnx_codec::file::{FileKind, FileSet, write_file};
use onnx_codec::{ExternalizeError, FileError, FileSource, WriteOptions};
use onnx_eval::Value;
use onnx_types::ElemType;
use onnx_types::tensor::{Payload, Tensor};
use onnx_weights::Weight;
use onnx_weights::safetensors::{Layout, LayoutOptions, layout};
use serde_json::json;

use super::verbs::{chosen, loaded, report, require_elements};
use crate::args::ExportWeightsArgs;
use crate::exit::{Failure, Outcome};
use crate::input::{Loaded, is_stream};
use crate::output::{Out, shown};
use crate::run::{Place, extension, write_values};
use crate::size::{bytes, plural};
use crate::{rows, store};

/// A file to write, in pieces.
struct File {
    path: PathBuf,
    kind: FileKind,
    format: &'static str,
    pieces: Vec<Bytes>,
}

pub(super) fn run(args: &ExportWeightsArgs, out: &mut Out) -> Result<Outcome, Failure> {
    let loaded = loaded(&args.chosen, out)?;
    let weights = chosen(&loaded.model, &args.chosen.at)?;
    require_elements(&weights)?;
    let path = args.output_file.as_deref();
    if path.is_some_and(is_stream) {
        return Err(
            Failure::new("weights are not written to a stream").help("name a file: `-o weights.safetensors`")
        );
    }
    let is_written = path.is_some() && !args.dry_run;
    let path = path.unwrap_or(Path::new("weights.safetensors"));
    let options = store::options(args.write, loaded.files()?).with_dry_run(!is_written);
    let source = loaded.source()?;
    let (written, count) = match extension(path).as_str() {
        "safetensors" => safetensors(&loaded, &source, &weights, (path, args), &options, out)?,
        "npz" | "npy" | "pb" if args.shard_size.is_none() => {
            (values(&loaded, &source, &weights, path, &options)?, weights.len())
        }
        "npz" | "npy" | "pb" => {
            return Err(Failure::new("`--shard-size` is for `safetensors`").help("leave it away"));
        }
        _ => {
            return Err(Failure::new("the extension is not that of a file of tensors")
                .help("use `.safetensors`, `.npz`, `.npy` or `.pb`"));
        }
    };
    let mut total = 0_u64;
    for (file, format, len) in &written {
        if args.output_file.is_some() {
            out.output(file, Some(format), *len, is_written);
        }
        total = total.saturating_add(*len);
    }
    let files = match written.as_slice() {
        [(file, ..)] if args.output_file.is_some() => rows::name(file),
        files => plural(files.len() as u64, "file"),
    };
    let text = format!("{files}: {}, {}", plural(count as u64, "weight"), bytes(total));
    out.summary(&match (is_written, args.output_file.is_some()) {
        (true, _) => format!("wrote {text}"),
        (false, true) => format!("would write {text}"),
        (false, false) => store::would_write(&text, "-o FILE"),
    });
    let item = json!({ "weights": count, "bytes": total, "files": written.len() });
    report(&loaded, "weights-export/1", item, out)?;
    Ok(Outcome::Fine)
}

/// A file with its format and size.
type Written = (PathBuf, &'static str, u64);

/// Writes files of the format `safetensors`. Returns them and the number of weights that they have.
fn safetensors(
    loaded: &Loaded,
    source: &FileSource,
    weights: &[Weight<'_>],
    (path, args): (&Path, &ExportWeightsArgs),
    options: &WriteOptions,
    out: &Out,
) -> Result<(Vec<Written>, usize), Failure> {
    let mut tensors: Vec<(&str, &Tensor)> = Vec::new();
    for weight in weights {
        if weight.tensor.elem() == ElemType::String && args.chosen.at.is_empty() {
            out.warning(&format!("`{}` is left out: the format has no strings", shown(&weight.name)), None);
        } else {
            tensors.push((weight.name.as_str(), weight.tensor));
        }
    }
    let metadata = vec![("format".to_owned(), "onnx".to_owned())];
    let laid = LayoutOptions::default().with_max_shard_bytes(args.shard_size).with_metadata(metadata);
    let laid = layout(&tensors, &laid)?;
    let files = files(loaded, source, &tensors, &laid, path)?;
    Ok((write_all(files, options, loaded)?, tensors.len()))
}

/// Refuses tensors of one repeated element that are small in the model and large in a file.
fn refuse_splats(tensors: &[(&str, &Tensor)], limit: u64) -> Result<(), Failure> {
    let splats = tensors.iter().filter(|(_, tensor)| matches!(tensor.payload(), Payload::Splat(_)));
    let bytes = splats.map(|(_, tensor)| tensor.byte_len().unwrap_or(u64::MAX)).fold(0, u64::saturating_add);
    match bytes > limit {
        true => Err(ExternalizeError::SplatTooLarge { limit }.into()),
        false => Ok(()),
    }
}

/// The files of weights, and the index of several. All elements are found before anything is written.
fn files(
    loaded: &Loaded,
    source: &FileSource,
    tensors: &[(&str, &Tensor)],
    laid: &Layout,
    path: &Path,
) -> Result<Vec<File>, Failure> {
    refuse_splats(tensors, loaded.execution.limits.splat_bytes)?;
    let Some(stem) = path.file_stem().and_then(OsStr::to_str) else {
        if laid.files.len() > 1 {
            let path = shown(&path.to_string_lossy());
            return Err(Failure::new(format_args!(
                "`{path}`: several files are named in their index, which is text"
            ))
            .help("give a name that is UTF-8, or leave `--shard-size` away"));
        }
        // A single file has the name that is given.
        return pieces_of(loaded, source, tensors, laid, (path, ""));
    };
    pieces_of(loaded, source, tensors, laid, (path, stem))
}

/// The files with their elements, whose names begin with `stem` if they are several.
fn pieces_of(
    loaded: &Loaded,
    source: &FileSource,
    tensors: &[(&str, &Tensor)],
    laid: &Layout,
    (path, stem): (&Path, &str),
) -> Result<Vec<File>, Failure> {
    let names = laid.file_names(stem);
    let mut files = Vec::new();
    for (file, name) in laid.files.iter().zip(&names) {
        let mut pieces = vec![file.header.clone()];
        for &(name, tensor) in file.tensors.iter().filter_map(|&position| tensors.get(position)) {
            loaded.execution.interrupt.check()?;
            let chunks = tensor.chunks(source).map_err(|error| {
                let failure = match error.limit() {
                    Some(limit) => Failure::exceeding(limit, error),
                    None => {
                        Failure::new(error).help("`--data-dir DIR` specifies the directory of external data")
                    }
                };
                failure.about(&shown(name))
            })?;
            pieces.extend(chunks);
        }
        let path = if names.len() == 1 { path.to_owned() } else { path.with_file_name(name) };
        files.push(File { path, kind: FileKind::Safetensors, format: "safetensors", pieces });
    }
    if names.len() > 1 {
        let index = path.with_file_name(format!("{stem}.safetensors.index.json"));
        let pieces = vec![laid.index(tensors, &names).into()];
        files.push(File { path: index, kind: FileKind::Json, format: "json", pieces });
    }
    Ok(files)
}

/// Writes the files, all or none.
fn write_all(files: Vec<File>, options: &WriteOptions, loaded: &Loaded) -> Result<Vec<Written>, Failure> {
    let (mut written, mut set) = (Vec::new(), FileSet::new(options));
    let failed = |error: FileError| Failure::from(error).or_timeout(&loaded.execution);
    let is_single = files.len() == 1;
    for file in files {
        let contents = |out: &mut dyn Write| {
            file.pieces.iter().try_for_each(|piece| {
                loaded.execution.interrupt.check().map_err(std::io::Error::other)?;
                out.write_all(piece)
            })
        };
        // The user names a single file, which may be a link.
        match is_single {
            true => write_file(&file.path, file.kind, options, contents).map_err(failed)?,
            false => set.add(&file.path, file.kind, contents).map_err(failed)?,
        }
        let len = file.pieces.iter().map(|piece| piece.len() as u64).sum();
        written.push((file.path, file.format, len));
    }
    set.finish().map_err(failed)?;
    Ok(written)
}

/// Writes files of other formats.
fn values(
    loaded: &Loaded,
    source: &FileSource,
    weights: &[Weight<'_>],
    path: &Path,
    options: &WriteOptions,
) -> Result<Vec<Written>, Failure> {
    let kind = extension(path);
    if kind != "npz" && weights.len() != 1 && !path.is_dir() {
        let count = plural(weights.len() as u64, "weight");
        return Err(Failure::new(format_args!("a file `.{kind}` holds one weight, not {count}"))
            .help("choose one with `--at NAME`, or write `-o weights.safetensors` or `-o weights.npz`"));
    }
    let mut values = Vec::new();
    for weight in weights {
        loaded.execution.interrupt.check()?;
        let tensor = weight.load(source)?;
        values.push((weight.name.clone(), Value::from(tensor)));
    }
    let names: Vec<&str> = values.iter().map(|(name, _)| name.as_str()).collect();
    // The advice for outputs of a model names an option that this command does not have.
    let advised = |failure: Failure| match failure.help.as_deref() {
        Some(help) if help.contains("--to pb") => {
            failure.help("write `-o weights.safetensors`, or choose other weights with `--at`")
        }
        _ => failure,
    };
    let place = Place::new(path, None, &names).map_err(advised)?;
    write_values(&place, &values, values.len(), options, &loaded.execution).map_err(advised)
}
