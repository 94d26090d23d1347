//! From a model to a file or standard output, in any format.

use std::io::{self, IsTerminal as _};
use std::path::Path;

use onnx_codec::file::write_atomically;
use onnx_codec::formats::{self, Loss, Rendered};
use onnx_codec::{DataFile, EncodeOptions, encode, save};
use onnx_ir::Model;
use onnx_text::{PrintOptions, print_model};
use onnx_types::Limits;
use onnx_types::tensor::Payload;

use crate::exit::Failure;
use crate::format::Format;
use crate::input::{Loaded, is_stdin};
use crate::output::Out;
use crate::progress::Progress;
use crate::{size, tensors};

/// Refuses to write binary to a terminal.
pub(crate) fn refuse_terminal(path: &Path, format: Format) -> Result<(), Failure> {
    if is_stdin(path) && format == Format::Onnx && io::stdout().is_terminal() {
        return Err(Failure::new("this would write binary to the terminal")
            .help("redirect it, or choose a format of text: `--to textproto`"));
    }
    Ok(())
}

/// Writes a model and the files of its external data, whole or not at all; `-` is standard output.
pub(crate) fn write(
    model: &Model,
    limits: &Limits,
    path: &Path,
    format: Format,
    files: &[DataFile],
    progress: Progress,
    out: &mut Out,
) -> Result<(), Failure> {
    let to_stdout = is_stdin(path);
    let text = match format {
        Format::Onnx => {
            let encoded = encode(model, &EncodeOptions::within(limits))?;
            if to_stdout {
                drop(progress);
                out.bytes(encoded.iter().map(|piece| &piece[..]))?;
            } else {
                save(path, &encoded, files)?;
            }
            return Ok(());
        }
        Format::Onnxtxt => print_model(model, &PrintOptions::full())?.text,
        Format::Textproto | Format::Json => {
            let rendered = rendered(model, format, limits)?;
            progress.aside(|| report_losses(&rendered.losses, format, out));
            rendered.text
        }
    };
    if to_stdout {
        drop(progress);
        out.bytes([text.as_bytes()])
    } else {
        save_text(path, &text, files)
    }
}

/// A model as JSON, or else as the text format of protobuf.
pub(crate) fn rendered(model: &Model, format: Format, limits: &Limits) -> Result<Rendered, Failure> {
    let to_text = if format == Format::Json { formats::to_json } else { formats::to_text };
    let encoded = encode(model, &EncodeOptions::within(limits))?;
    to_text(encoded.into_bytes()).map_err(Failure::new)
}

/// Says on standard error what the text leaves out.
fn report_losses(losses: &[Loss], format: Format, out: &Out) {
    /// More of the same tells nothing new.
    const MOST: usize = 5;
    for loss in losses.iter().take(MOST) {
        out.warning(&format!("{} leaves out {loss}", format.name()), None);
    }
    if let Some(more) = losses.len().checked_sub(MOST).filter(|&more| more > 0) {
        out.warning(&format!("{} left out", size::plural(more as u64, "more thing")), None);
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

/// Weights that are beside the input are not beside an output elsewhere.
pub(crate) fn warn_of_lost_weights(loaded: &Loaded, output: &Path, out: &Out) {
    let count = external_locations(loaded);
    if count == 0 {
        return;
    }
    let folder = |path: &Path| {
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        parent.unwrap_or(Path::new(".")).canonicalize().ok()
    };
    let from = loaded.path.as_deref().and_then(folder);
    let is_elsewhere = is_stdin(output) || from.is_none() || folder(output) != from;
    if is_elsewhere {
        let tensors = size::plural(count, "tensor");
        let message =
            format!("{tensors} of the output keep their elements in files that stay beside the input");
        out.warning(&message, Some("copy those files too, or use `--inline` or `--external-data FILE`"));
    }
}

/// Writes a text and the files of its external data; the data first, so that the model never names what is not there.
fn save_text(path: &Path, text: &str, files: &[DataFile]) -> Result<(), Failure> {
    let folder = path.parent().unwrap_or(Path::new(""));
    for file in files {
        if path
            .file_name()
            .is_some_and(|name| Path::new(".").join(name) == Path::new(".").join(file.location()))
        {
            return Err(Failure::new(
                "the external data would overwrite the model: choose another name for them",
            ));
        }
        write_atomically(folder.join(file.location()), |out| {
            file.pieces().iter().try_for_each(|piece| out.write_all(piece))
        })?;
    }
    Ok(write_atomically(path, |out| out.write_all(text.as_bytes()))?)
}
