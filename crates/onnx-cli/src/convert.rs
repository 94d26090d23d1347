//! `onnx convert`: from one format to another, and weights out of the model or into it.

use onnx_codec::{DataFile, ExternalizeOptions, InlineOptions, externalize, inline};
use onnx_types::tensor::NoData;

use crate::args::ConvertArgs;
use crate::exit::{Failure, Outcome};
use crate::format;
use crate::input::{Loaded, display_name, is_stdin, load_to_copy};
use crate::output::Out;
use crate::progress::Progress;
use crate::{size, store};

pub(crate) fn run(args: &ConvertArgs, out: &mut Out) -> Result<Outcome, Failure> {
    let format = format::of_output(&args.output_file, args.to)?;
    if is_stdin(&args.output_file) && args.external_data.is_some() {
        return Err(Failure::new("external data need a file beside which they can stand")
            .help("give OUT a name, or leave `--external-data` away"));
    }
    store::refuse_terminal(&args.output_file, format)?;
    let progress = Progress::start("converting", 1);
    progress.begin(&display_name(&args.input_file));
    let mut loaded = load_to_copy(&args.input_file, &args.input)?;
    progress.aside(|| loaded.report(out));
    let files = move_weights(&mut loaded, args, out)?;
    store::write(&loaded.model, &loaded.limits, &args.output_file, format, &files, progress, out)?;
    Ok(Outcome::Fine)
}

/// Moves weights as the user wishes, and returns the files to write beside the model.
fn move_weights(loaded: &mut Loaded, args: &ConvertArgs, out: &Out) -> Result<Vec<DataFile>, Failure> {
    if !args.inline && args.external_data.is_none() {
        store::warn_of_lost_weights(loaded, &args.output_file, out);
        return Ok(Vec::new());
    }
    if store::external_locations(loaded) > 0 {
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
