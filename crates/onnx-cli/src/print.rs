//! `onnx print`: a model as text.

use std::fmt::Write as _;
use std::path::Path;

use onnx_codec::file::{Kind, write_file};
use onnx_diag::render::text;
use onnx_ir::{Element, Selectors};
use onnx_text::{PrintOptions, Printed, print_function, print_graph, print_nodes};
use onnx_types::tensor::{NoData, Tensor};
use sha2::{Digest as _, Sha256};

use crate::args::PrintArgs;
use crate::exit::{Failure, Outcome};
use crate::input::{Loaded, display_name, is_stdin, is_stream, load_as};
use crate::output::{Colours, Out, clean_lines, is_terminal, shown};
use crate::part::Piece;
use crate::progress::Progress;
use crate::{store, syntax};

pub(crate) fn run(args: &PrintArgs, out: &mut Out) -> Result<Outcome, Failure> {
    let progress = Progress::start("printing", 1);
    progress.begin(&display_name(&args.input_file));
    let loaded = load_as(&args.input_file, &args.input, args.part)?;
    progress.aside(|| loaded.report(out, args.keep_going))?;
    let options = PrintOptions {
        full: args.full,
        no_metadata: args.no_metadata,
        compat: args.compat,
        digest: args.digest.then_some(&digest as &dyn Fn(&Tensor) -> Option<String>),
        ..PrintOptions::default()
    };
    let printed = match &args.at {
        Some(selector) => print_at(&loaded, selector, &options)?,
        None => loaded.piece.print(&loaded.model, &options)?,
    };
    drop(progress);
    if !printed.left_out.is_empty() {
        let options = text::Options { style: &Colours, concise: true, ..text::Options::new(&loaded.name) };
        out.findings(&printed.left_out, &options);
    }
    if let Some(path) = args.output_file.as_deref().filter(|path| !is_stdin(path)) {
        write_to(path, &printed.text, args, &loaded, out)?;
        return Ok(Outcome::Fine);
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

/// Writes the text to a file or a stream.
fn write_to(
    path: &Path,
    text: &str,
    args: &PrintArgs,
    loaded: &Loaded,
    out: &mut Out,
) -> Result<(), Failure> {
    if is_stream(path) {
        return store::stream(path, [text.as_bytes()], out);
    }
    let is_model = args.at.is_none() && matches!(loaded.piece, Piece::Model);
    let kind = if is_model { Kind::Model } else { Kind::Message };
    let options = store::options(args.output, loaded.files()?);
    Ok(write_file(path, kind, &options, |file| file.write_all(text.as_bytes()))?)
}

/// Prints what a selector denotes: nodes, or else one graph.
fn print_at(loaded: &Loaded, selector: &str, options: &PrintOptions<'_>) -> Result<Printed, Failure> {
    let model = &loaded.model;
    let selectors = Selectors::new(model);
    let parsed = selectors.parse(selector).map_err(|error| {
        Failure::new(format_args!("`{}` is not a selector: {error}", shown(selector)))
            .help("write a name, `node(K)` or `near(SELECTOR, N)`; quote other names: `\"a name\"`")
    })?;
    let nodes = selectors.nodes(&parsed);
    if !nodes.is_empty() {
        return Ok(print_nodes(model, &nodes, options)?);
    }
    match selectors.elements(&parsed).first() {
        Some(&Element::Graph(graph)) => {
            let function =
                model.functions().iter().find(|&&function| model.function(function).body() == graph);
            Ok(match function {
                Some(&function) => print_function(model, function, options)?,
                None => print_graph(model, graph, options)?,
            })
        }
        Some(&Element::Value(value)) => {
            let name = shown(model.str(model.value(value).name()));
            Err(Failure::new(format_args!("no node produces `{name}`: it is an input or an initializer"))
                .help("`onnx info --all` lists inputs; name a node that uses it"))
        }
        _ => Err(Failure::new(format_args!("nothing in the model matches `{}`", shown(selector)))
            .help("names are those of values and nodes; `node(K)` is the node at index K of the main graph")),
    }
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
