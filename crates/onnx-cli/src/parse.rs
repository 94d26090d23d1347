//! `onnx parse`: a text to a binary message.

use std::io::{self, IsTerminal as _};

use onnx_codec::file::write_segments;
use onnx_codec::{EncodeOptions, ReadMode};
use onnx_text::{Originals, ParseOptions};

use crate::args::ParseArgs;
use crate::exit::{Failure, Outcome};
use crate::format::Format;
use crate::input::{display_name, is_stdin, load_part, load_text};
use crate::output::Out;
use crate::print::digest;
use crate::progress::Progress;

pub(crate) fn run(args: &ParseArgs, out: &mut Out) -> Result<Outcome, Failure> {
    let to_stdout = is_stdin(&args.output_file);
    if to_stdout && io::stdout().is_terminal() {
        return Err(
            Failure::new("this would write binary to the terminal").help("redirect it, or use `-o FILE`")
        );
    }
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
    let encoded = loaded.piece.encode(&loaded.model, &EncodeOptions::within(&limits))?;
    drop(progress);
    if to_stdout {
        out.bytes(encoded.iter().map(|piece| &piece[..]))?;
    } else {
        write_segments(&args.output_file, &encoded)?;
    }
    Ok(Outcome::Fine)
}
