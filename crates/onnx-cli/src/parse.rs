//! `onnx parse`: a text to a binary message.

use onnx_codec::file::{Kind, write_file};
use onnx_codec::{EncodeOptions, ReadMode, save};
use onnx_text::{Originals, ParseOptions};

use crate::args::ParseArgs;
use crate::exit::{Failure, Outcome};
use crate::format::Format;
use crate::input::{display_name, is_stream, load_part, load_text};
use crate::output::Out;
use crate::part::Piece;
use crate::print::digest;
use crate::progress::Progress;
use crate::store;

pub(crate) fn run(args: &ParseArgs, out: &mut Out) -> Result<Outcome, Failure> {
    store::refuse_terminal(&args.output_file, Format::Onnx)?;
    let progress = Progress::start("parsing", 1);
    progress.begin(&display_name(&args.input_file));
    let limits = args.bounds.limits();
    let original = args.weights_from.as_deref().map(|path| {
        let format = Format::of(path).unwrap_or(Format::Onnx);
        let options = ParseOptions { limits, ..ParseOptions::default() };
        load_part(path, format, ReadMode::Map, args.part, &options)
    });
    let original = original.transpose()?;
    let originals = original.as_ref().map(|original| Originals::new(&original.model, Some(&digest)));
    let (originals, two_threads_from) = (originals.as_ref(), ParseOptions::LARGE);
    let options = ParseOptions { limits, originals, two_threads_from, ..ParseOptions::default() };
    let loaded = load_text(&args.input_file, args.part, &options)?;
    drop(progress);
    let encoding = EncodeOptions::within(&limits);
    if is_stream(&args.output_file) {
        let encoded = loaded.piece.encode(&loaded.model, &encoding)?;
        return store::stream(&args.output_file, encoded.iter().map(|piece| &piece[..]), out)
            .map(|()| Outcome::Fine);
    }
    let mut inputs = loaded.files()?;
    if let (Some(path), Some(original)) = (&args.weights_from, &original) {
        inputs.add(path, &original.model).map_err(Failure::new)?;
    }
    let options = store::options(args.output, inputs);
    if matches!(loaded.piece, Piece::Model) {
        save(&args.output_file, &loaded.model, &[], &encoding, &options)?;
    } else {
        let encoded = loaded.piece.encode(&loaded.model, &encoding)?;
        write_file(&args.output_file, Kind::Message, &options, |file| {
            encoded.iter().try_for_each(|piece| file.write_all(piece))
        })?;
    }
    Ok(Outcome::Fine)
}
