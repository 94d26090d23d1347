//! `onnx parse`: a text to a binary message.

use onnx_codec::file::{Kind, write_file};
use onnx_codec::{EncodeOptions, save};

use crate::args::ParseArgs;
use crate::exit::{Failure, Outcome};
use crate::format::Format;
use crate::input::{display_name, is_stream};
use crate::output::Out;
use crate::part::Piece;
use crate::progress::Progress;
use crate::{elided, store};

pub(crate) fn run(args: &ParseArgs, out: &mut Out) -> Result<Outcome, Failure> {
    store::refuse_terminal(&args.output_file, Format::Onnx)?;
    let progress = Progress::start("parsing", 1);
    progress.begin(&display_name(&args.input_file));
    let execution = args.bounds.execution();
    let mut loaded = elided::load_with(&args.input_file, args.weights_from.as_deref(), args.part, execution)?;
    loaded.execution.interrupt.check()?;
    let encoding = EncodeOptions::within(&loaded.execution.limits);
    drop(progress);
    let options = store::options(args.output, loaded.files()?);
    if is_stream(&args.output_file) {
        let encoded = loaded.piece.encode(&loaded.model, &encoding)?;
        return store::stream(
            &args.output_file,
            &options.inputs,
            encoded.iter().map(|piece| &piece[..]),
            out,
        )
        .map(|()| Outcome::Fine);
    }
    if matches!(loaded.piece, Piece::Model) {
        let files = store::keep_reachable(&mut loaded, &args.output_file, out)?;
        save(&args.output_file, &loaded.model, &files, &encoding, &options)?;
        store::summary(&args.output_file, &loaded.model, &files, out);
    } else {
        let encoded = loaded.piece.encode(&loaded.model, &encoding)?;
        write_file(&args.output_file, Kind::Message, &options, |file| {
            encoded.iter().try_for_each(|piece| file.write_all(piece))
        })?;
    }
    Ok(Outcome::Fine)
}
