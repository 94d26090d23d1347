//! `onnx convert`: from one format to another, and weights out of the model or into it.

use std::io::{self, IsTerminal as _};
use std::path::Path;

use onnx_codec::file::write_atomically;
use onnx_codec::formats::{self, Loss, Rendered};
use onnx_codec::{
    DataFile, EncodeOptions, ExternalizeOptions, InlineOptions, encode, externalize, inline, save,
};
use onnx_ir::Model;
use onnx_text::{PrintOptions, print_model};
use onnx_types::tensor::{NoData, Payload};

use crate::args::ConvertArgs;
use crate::exit::{Failure, Outcome};
use crate::format::{self, Format};
use crate::input::{Loaded, display_name, load};
use crate::output::Out;
use crate::progress::Progress;
use crate::{size, tensors};

pub(crate) fn run(args: &ConvertArgs, out: &mut Out) -> Result<Outcome, Failure> {
    let to_stdout = args.output_file.as_os_str() == "-";
    let format = format::of_output(&args.output_file, args.to)?;
    if to_stdout && args.external_data.is_some() {
        return Err(Failure::new("external data need a file beside which they can stand")
            .help("give OUT a name, or leave `--external-data` away"));
    }
    if to_stdout && format == Format::Onnx && io::stdout().is_terminal() {
        return Err(Failure::new("this would write binary to the terminal")
            .help("redirect it, or choose a format of text: `--to textproto`"));
    }
    let progress = Progress::start("converting", 1);
    progress.begin(&display_name(&args.input_file));
    let mut loaded = load(&args.input_file, &args.input)?;
    progress.aside(|| loaded.report(out));
    let files = move_weights(&mut loaded, args, out)?;
    let text = match format {
        Format::Onnx => {
            let encoded = encode(&loaded.model, &EncodeOptions::default())?;
            if to_stdout {
                drop(progress);
                out.bytes(encoded.iter().map(|piece| &piece[..]))?;
            } else {
                save(&args.output_file, &encoded, &files)?;
            }
            return Ok(Outcome::Fine);
        }
        Format::Onnxtxt => print_model(&loaded.model, &PrintOptions::full())?.text,
        Format::Textproto | Format::Json => {
            let rendered = rendered(&loaded.model, format)?;
            progress.aside(|| report_losses(&rendered.losses, format, out));
            rendered.text
        }
    };
    if to_stdout {
        drop(progress);
        out.bytes([text.as_bytes()])?;
    } else {
        save_text(&args.output_file, &text, &files)?;
    }
    Ok(Outcome::Fine)
}

/// A model as JSON, or else as the text format of protobuf.
pub(crate) fn rendered(model: &Model, format: Format) -> Result<Rendered, Failure> {
    let to_text = if format == Format::Json { formats::to_json } else { formats::to_text };
    let encoded = encode(model, &EncodeOptions::default())?;
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

/// Moves weights as the user wishes, and returns the files to write beside the model.
fn move_weights(loaded: &mut Loaded, args: &ConvertArgs, out: &Out) -> Result<Vec<DataFile>, Failure> {
    if !args.inline && args.external_data.is_none() {
        warn_of_lost_weights(loaded, args, out);
        return Ok(Vec::new());
    }
    if external_locations(loaded) > 0 {
        let source = loaded.source()?;
        let mut options = InlineOptions::default();
        if loaded.is_mapped() {
            // Mapped weights take no memory.
            options.max_total_bytes = u64::MAX;
        }
        inline(&mut loaded.model, &options, &source).map_err(|error| Failure::new(error).help(WHERE))?;
        for note in source.notes() {
            out.warning(&note.to_string(), None);
        }
    }
    let Some(location) = &args.external_data else { return Ok(Vec::new()) };
    let moved = externalize(&mut loaded.model, &options(location, args)?, &NoData)?;
    for invalid in &moved.invalid {
        out.warning(&format!("stays in the model, because it is invalid: {invalid}"), None);
    }
    if moved.files.is_empty() {
        let threshold = size::bytes(args.threshold);
        out.warning(
            &format!("no tensor has {threshold} or more: nothing was moved"),
            Some("see `--threshold`"),
        );
    }
    Ok(moved.files)
}

const WHERE: &str = "locations of external data are relative to the directory of the model";

fn options(location: &str, args: &ConvertArgs) -> Result<ExternalizeOptions, Failure> {
    let mut options = ExternalizeOptions::new(location);
    options.threshold_bytes = args.threshold;
    options.max_shard_bytes = args.shard_size;
    options.everything = args.all_tensors;
    options.checksum = args.checksum;
    if let Some(align) = args.align {
        let align =
            u32::try_from(align).map_err(|_| Failure::new("`--align` is too large: at most 65536"))?;
        (options.alignment, options.large_alignment) = (align, align);
    }
    Ok(options)
}

/// The number of tensors whose elements are in other files.
fn external_locations(loaded: &Loaded) -> u64 {
    let mut count = 0;
    tensors::for_each(&loaded.model, |_, tensor| {
        count += u64::from(matches!(tensor.payload(), Payload::External(_)))
    });
    count
}

/// Weights that are beside the input are not beside an output elsewhere.
fn warn_of_lost_weights(loaded: &Loaded, args: &ConvertArgs, out: &Out) {
    let count = external_locations(loaded);
    if count == 0 {
        return;
    }
    let folder = |path: &Path| {
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        parent.unwrap_or(Path::new(".")).canonicalize().ok()
    };
    let from = loaded.path.as_deref().and_then(folder);
    let is_elsewhere =
        args.output_file.as_os_str() == "-" || from.is_none() || folder(&args.output_file) != from;
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
