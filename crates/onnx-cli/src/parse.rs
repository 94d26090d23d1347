//! `onnx parse`: a text to a binary message.

use std::io::{self, IsTerminal as _};

use onnx_codec::ReadMode;
use onnx_codec::file::write_segments;

use crate::args::ParseArgs;
use crate::exit::{Failure, Outcome};
use crate::format::Format;
use crate::input::{display_name, is_stdin, load_part};
use crate::output::Out;
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
    let loaded = load_part(&args.input_file, Format::Onnxtxt, ReadMode::Memory, args.part)?;
    let encoded = loaded.piece.encode(&loaded.model)?;
    drop(progress);
    if to_stdout {
        out.bytes(encoded.iter().map(|piece| &piece[..]))?;
    } else {
        write_segments(&args.output_file, &encoded)?;
    }
    Ok(Outcome::Fine)
}
