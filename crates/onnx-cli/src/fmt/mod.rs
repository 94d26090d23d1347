//! `onnx fmt`: the canonical layout of text, in place.

mod comments;

use onnx_codec::ReadMode;
use onnx_codec::file::{read, write_atomically};
use onnx_diag::Clean;
use onnx_text::{ParseOptions, PrintOptions, parse_model, print_model};

use crate::args::FmtArgs;
use crate::exit::{Failure, Outcome};
use crate::format::TEXT_EXTENSIONS;
use crate::input::{display_name, expand, is_stdin, read_stdin};
use crate::output::Out;
use crate::part::Piece;
use crate::progress::Progress;

pub(crate) fn run(args: &FmtArgs, out: &mut Out) -> Result<Outcome, Failure> {
    let files = expand(&args.files, TEXT_EXTENSIONS);
    let progress = Progress::start("formatting", files.len());
    let mut outcome = Outcome::Fine;
    for file in files {
        let result = file.and_then(|path| {
            progress.begin(&display_name(&path));
            format_file(&path, args, out)
        });
        outcome = outcome.max(result.unwrap_or_else(|failure| {
            progress.aside(|| out.failure(&failure));
            failure.outcome()
        }));
        progress.end();
    }
    Ok(outcome)
}

fn format_file(path: &std::path::Path, args: &FmtArgs, out: &mut Out) -> Result<Outcome, Failure> {
    let name = display_name(path);
    let bytes = if is_stdin(path) { read_stdin()? } else { read(path, ReadMode::Memory)? };
    let text = std::str::from_utf8(&bytes)
        .map_err(|error| Failure::new(format_args!("this is not UTF-8: {error}")).about(&name))?;
    let formatted = formatted(text, &name)?;
    let changes = formatted != text;
    if args.check {
        if changes {
            out.text(&format!("{}\n", Clean(&name)))?;
        }
        return Ok(if changes { Outcome::Findings } else { Outcome::Fine });
    }
    if is_stdin(path) {
        out.bytes([formatted.as_bytes()])?;
    } else if changes {
        write_atomically(path, |file| file.write_all(formatted.as_bytes()))?;
    }
    Ok(Outcome::Fine)
}

/// The text in canonical layout, with its comments. It is proved to stand for the same model.
fn formatted(text: &str, name: &str) -> Result<String, Failure> {
    let parse = |text: &str| {
        let options = ParseOptions { no_positions: true, ..ParseOptions::default() };
        parse_model(text, &options)
            .map_err(|error| Failure::of_text(name, error.into_findings(), text.as_bytes().to_vec().into()))
    };
    let model = parse(text)?;
    let printed = print_model(&model, &PrintOptions::full())?.text;
    let formatted = comments::reattach(text, &printed);
    let same = match parse(&formatted) {
        Ok(again) => Piece::Model.encode(&again)?.to_vec() == Piece::Model.encode(&model)?.to_vec(),
        Err(_) => false,
    };
    if same {
        return Ok(formatted);
    }
    Err(Failure::new("the model would not survive the formatting, so the text stays as it is")
        .about(name)
        .help("this is a defect of this program: please report it, with the file if you can"))
}
