//! `onnx print`: a model as text.

use std::fmt::Write as _;

use onnx_diag::render::text;
use onnx_text::PrintOptions;
use onnx_types::tensor::{NoData, Tensor};
use sha2::{Digest as _, Sha256};

use crate::args::PrintArgs;
use crate::exit::{Failure, Outcome};
use crate::input::{display_name, load_as};
use crate::output::{Colours, Out, clean_lines, is_terminal};
use crate::progress::Progress;
use crate::syntax;

pub(crate) fn run(args: &PrintArgs, out: &mut Out) -> Result<Outcome, Failure> {
    let progress = Progress::start("printing", 1);
    progress.begin(&display_name(&args.input_file));
    let loaded = load_as(&args.input_file, &args.input, args.part)?;
    progress.aside(|| loaded.report(out, args.keep_going))?;
    let options = PrintOptions {
        full: args.full,
        compat: args.compat,
        digest: args.digest.then_some(&digest as &dyn Fn(&Tensor) -> Option<String>),
        ..PrintOptions::default()
    };
    let printed = loaded.piece.print(&loaded.model, &options)?;
    drop(progress);
    if !printed.left_out.is_empty() {
        let options = text::Options { style: &Colours, concise: true, ..text::Options::new(&loaded.name) };
        out.findings(&printed.left_out, &options);
    }
    let text = if is_terminal() { clean_lines(&printed.text) } else { printed.text };
    // Text without colours goes out as it is: the stream that takes colours out could take more.
    if out.is_coloured() {
        out.text(&syntax::coloured(&text))?
    } else {
        out.bytes([text.as_bytes()])?
    }
    Ok(Outcome::Fine)
}

/// The digest of a tensor's elements, whichever field holds them. Strings and invalid tensors have none.
pub(crate) fn digest(tensor: &Tensor) -> Option<String> {
    let mut digest = Sha256::new();
    tensor.chunks(&NoData).ok()?.for_each(|chunk| digest.update(&chunk));
    let mut text = String::from("sha256:");
    for byte in digest.finalize() {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    Some(text)
}
