//! `onnx convert`: from one format to another, and weights out of the model or into it.

use std::path::Path;

use onnx_codec::EncodeOptions;
use onnx_codec::file::{Kind, write_file};
use onnx_text::PrintOptions;

use crate::args::ConvertArgs;
use crate::elided;
use crate::exit::{Failure, Outcome};
use crate::format::{self, Format};
use crate::input::{Loaded, display_name, is_stream, load_as, load_to_copy};
use crate::output::Out;
use crate::part::{Part, Piece};
use crate::progress::Progress;
use crate::store::{self, Destination};
use crate::weights::{self, Placement};

pub(crate) fn run(args: &ConvertArgs, out: &mut Out) -> Result<Outcome, Failure> {
    let format = format::of_output(&args.output_file, args.to)?;
    let placement = Placement {
        path: &args.output_file,
        format,
        weights: &args.weights.weights,
        external: &args.external,
    };
    placement.check()?;
    args.report.check(Some(&args.input_file), Some(&args.output_file), out)?;
    store::refuse_terminal(&args.output_file, format)?;
    let progress = Progress::start("converting", 1);
    progress.begin(&display_name(&args.input_file));
    let mut loaded = match (&args.weights_from, args.part) {
        (Some(original), part) => load_with_original(args, original, part)?,
        (None, Part::Model) => load_to_copy(&args.input_file, &args.input)?,
        (None, part) => load_as(&args.input_file, &args.input, part)?,
    };
    progress.aside(|| loaded.report(&args.input.severity, args.keep_going, out))?;
    out.input(&loaded, loaded.findings.clone())?;
    let options = store::options(args.output, loaded.files()?);
    let to = Destination { path: &args.output_file, format, execution: loaded.execution.clone(), options };
    if !matches!(loaded.piece, Piece::Model) {
        drop(progress);
        return write_part(&loaded, &to, out).map(|()| Outcome::Fine);
    }
    let files = weights::place(&mut loaded, &placement, out)?;
    store::write(&loaded.model, &to, &files, progress, out)?;
    Ok(Outcome::Fine)
}

/// Reads a text in which tensors are elided.
fn load_with_original(args: &ConvertArgs, original: &Path, part: Part) -> Result<Loaded, Failure> {
    let execution = args.input.bounds.execution();
    let format = args.input.from.or_else(|| Format::of(&args.input_file));
    if format.is_some_and(|format| format != Format::Onnxtxt) {
        return Err(Failure::new(
            "`--weights-from` is for ONNX text, the only format in which tensors are elided",
        )
        .help("if the input is ONNX text, add `--from onnxtxt`"));
    }
    elided::load_with(&args.input_file, original, part, execution)
}

/// Writes a part of a model as a binary message or as ONNX text.
fn write_part(loaded: &Loaded, to: &Destination<'_>, out: &mut Out) -> Result<(), Failure> {
    loaded.execution.interrupt.check()?;
    let pieces = match to.format {
        Format::Onnx => {
            let encoded = loaded.piece.encode(&loaded.model, &EncodeOptions::within(&to.execution.limits))?;
            encoded.iter().map(|piece| piece.to_vec()).collect()
        }
        Format::Onnxtxt => {
            vec![loaded.piece.print(&loaded.model, &PrintOptions::full())?.text.into_bytes()]
        }
        Format::Textproto | Format::Json => {
            return Err(Failure::new(format_args!("{} is written of whole models only", to.format.name()))
                .help("use `--to onnx` or `--to onnxtxt`"));
        }
    };
    if is_stream(to.path) {
        return store::stream(to.path, &to.options.inputs, pieces.iter().map(Vec::as_slice), out);
    }
    let write = |file: &mut dyn std::io::Write| pieces.iter().try_for_each(|piece| file.write_all(piece));
    Ok(write_file(to.path, Kind::Message, &to.options, write)?)
}
