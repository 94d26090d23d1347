//! `onnx convert`: from one format to another, and weights out of the model or into it.

use std::num::NonZeroU64;
use std::path::Path;

use onnx_codec::{DataFile, ExternalizeOptions, externalize};
use onnx_ir::Model;
use onnx_types::ElemType;
use onnx_types::tensor::NoData;

use crate::args::ConvertArgs;
use crate::elided;
use crate::exit::{Failure, Outcome};
use crate::format::{self, Format};
use crate::input::{Loaded, display_name, is_stream, load_to_copy};
use crate::output::Out;
use crate::part::Part;
use crate::progress::Progress;
use crate::store::{self, Destination};
use crate::{size, tensors};

pub(crate) fn run(args: &ConvertArgs, out: &mut Out) -> Result<Outcome, Failure> {
    let format = format::of_output(&args.output_file, args.to)?;
    if is_stream(&args.output_file) && args.external_data.is_some() {
        return Err(Failure::new("external data needs a file that it can be stored next to")
            .help("write to a file instead of `-`, or omit `--external-data`"));
    }
    store::refuse_terminal(&args.output_file, format)?;
    let progress = Progress::start("converting", 1);
    progress.begin(&display_name(&args.input_file));
    let mut loaded = match &args.weights_from {
        Some(original) => load_with_original(args, original)?,
        None => load_to_copy(&args.input_file, &args.input)?,
    };
    progress.aside(|| loaded.report(out, args.keep_going))?;
    let options = store::options(args.output, loaded.files()?);
    let files = move_weights(&mut loaded, args, out)?;
    let to = Destination { path: &args.output_file, format, execution: loaded.execution.clone(), options };
    store::write(&loaded.model, &to, &files, progress, out)?;
    Ok(Outcome::Fine)
}

/// Reads a text in which tensors are elided.
fn load_with_original(args: &ConvertArgs, original: &Path) -> Result<Loaded, Failure> {
    if args.input.from.or_else(|| Format::of(&args.input_file)) != Some(Format::Onnxtxt) {
        return Err(Failure::new(
            "`--weights-from` is for ONNX text, the only format in which tensors are elided",
        )
        .help("if the input is ONNX text, add `--from onnxtxt`"));
    }
    let execution = args.input.bounds.execution();
    elided::load_with(&args.input_file, Some(original), Part::Model, execution)
}

/// Moves weights as the user wishes, and returns the external data files to write with the model.
fn move_weights(loaded: &mut Loaded, args: &ConvertArgs, out: &Out) -> Result<Vec<DataFile>, Failure> {
    if !args.inline && args.external_data.is_none() {
        return store::keep_reachable(loaded, &args.output_file, out);
    }
    store::embed(loaded, out)?;
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
    if let Some(count) = NonZeroU64::new(shape_operands(&loaded.model)) {
        out.warning(
            &format!(
                "{} of integers below 1 kB moved: onnxruntime does not open models whose shape operands are external",
                size::plural(count.get(), "small tensor")
            ),
            Some("leave `--threshold` at its default of 1024"),
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
