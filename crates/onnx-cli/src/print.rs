//! `onnx print`: a model as text.

use std::fmt::Write as _;
use std::io::Write;
use std::path::Path;

use onnx_codec::InputFiles;
use onnx_diag::Sink;
use onnx_diag::render::text;
use onnx_ir::Model;
use onnx_select::Selection;
use onnx_text::{PrintOptions, Printed, print_function, print_graph, print_nodes};
use onnx_types::tensor::{NoData, Tensor};
use sha2::{Digest as _, Sha256};

use crate::args::{PrintArgs, PrintForm};
use crate::exit::{Failure, Outcome};
use crate::format::Format;
use crate::input::{Loaded, display_name, is_stdin, is_stream, load_as};
use crate::output::{Colours, Out, clean_lines, is_terminal};
use crate::part::Piece;
use crate::progress::Progress;
use crate::selection::{Context, nodes_of, pasted};
use crate::size::plural;
use crate::store::{Destination, Effect, Moved, Written};
use crate::weights::bytes::DataBytes;
use crate::{dot, other_tools, store, syntax, weights};

pub(crate) fn run(args: &PrintArgs, out: &mut Out) -> Result<Outcome, Failure> {
    let path = args.output_file.as_deref().unwrap_or(Path::new("-"));
    args.report.check(Some(&args.input_file), Some(path), out)?;
    let extension = path.extension().map(|extension| extension.to_string_lossy().to_ascii_lowercase());
    let other = extension.and_then(|extension| other_tools::no_text(&extension));
    other.or_else(|| other_tools::no_onnxtxt(path)).map_or(Ok(()), Err)?;
    let progress = Progress::start("printing", 1);
    progress.begin(&display_name(&args.input_file));
    let mut loaded = load_as(&args.input_file, &args.input, args.part)?;
    progress.aside(|| loaded.report(&args.input.severity, args.keep_going, out))?;
    out.input(&loaded, loaded.findings.clone())?;
    let options = PrintOptions::default()
        .with_full(args.full)
        .with_metadata(!args.no_metadata)
        .with_compat(args.compat)
        .with_digest(args.digest.then_some(&digest as &onnx_text::Digest<'_>));
    let is_text = args.to == PrintForm::Text;
    let is_model = is_text && args.at.is_none() && matches!(loaded.piece, Piece::Model);
    let inputs = loaded.files()?;
    let to_file = args.output_file.as_deref().filter(|path| !is_stdin(path));
    if is_model && (to_file.is_some() || !(is_terminal() || out.is_coloured())) {
        loaded.execution.interrupt.check()?;
        drop(progress);
        print_model(loaded, &options, args, inputs, out)?;
        return Ok(Outcome::Fine);
    }
    let printed = match &args.at {
        _ if !is_text => Printed { text: picture(&loaded, args.at.as_deref())?, left_out: Sink::new() },
        Some(selector) => print_at(&loaded, selector, &options)?,
        None => loaded.piece.print(&loaded.model, &options)?,
    };
    loaded.execution.interrupt.check()?;
    drop(progress);
    report_left_out(&printed.left_out, &loaded.name, out);
    if let Some(path) = to_file {
        let to = destination(path, &loaded, args, inputs);
        store::write_message(&to, printed.text.as_bytes(), "text", out)?;
        return Ok(Outcome::Fine);
    }
    store::check_standard_output(&inputs)?;
    let text = if is_terminal() { clean_lines(&printed.text) } else { printed.text };
    // Text without colours goes out as it is: the stream that takes colours out could take more.
    if out.is_coloured() && is_text {
        out.text(&syntax::coloured(&text))?
    } else {
        out.bytes([text.as_bytes()])?
    }
    Ok(Outcome::Fine)
}

fn report_left_out(left_out: &Sink, name: &str, out: &Out) {
    if !left_out.is_empty() {
        let options = text::Options::new(name).with_style(&Colours).with_concise(true);
        out.findings(left_out, &options);
    }
}

/// Prints a whole model to a file or stream, in memory that does not grow with the weights.
fn print_model(
    mut loaded: Loaded,
    options: &PrintOptions<'_>,
    args: &PrintArgs,
    inputs: InputFiles,
    out: &mut Out,
) -> Result<(), Failure> {
    let path = args.output_file.as_deref().unwrap_or(Path::new("-"));
    // Abbreviated text is for display; only a complete text is a model, whose external data must stay reachable.
    let files = match args.full {
        _ if is_stream(path) => Vec::new(),
        true => weights::keep_reachable(&mut loaded, path, out)?,
        false => weights::mention_unreachable(&loaded, path, "`--full` copies it there", out),
    };
    let to = destination(path, &loaded, args, inputs);
    let mut left_out = Sink::new();
    let mut contents = |model: &Model, file: &mut dyn Write| {
        left_out = store::write_onnx_text(model, options, file)?;
        Ok(())
    };
    let bytes = match options.elides(&loaded.model) && !is_stream(path) {
        // Elements would be lost if the text replaced a model.
        true => store::write_abridged(&to, &loaded.model, &mut contents)?,
        false => store::write_with(&to, (&loaded.model, &files), out, &mut contents)?,
    };
    let what = plural(loaded.model.node_count() as u64, "node");
    let format = Some(Format::Onnxtxt.id());
    let data = DataBytes::of(&loaded.model, path.parent(), &files);
    let files: Vec<Moved> = files.iter().map(Moved::from).collect();
    store::report_written(&to, &Written { format, what: &what, bytes, data, files: &files }, out);
    report_left_out(&left_out, &loaded.name, out);
    Ok(())
}

fn destination<'a>(path: &'a Path, loaded: &Loaded, args: &PrintArgs, inputs: InputFiles) -> Destination<'a> {
    let options = store::options(args.output, inputs).with_folders(true);
    let (format, execution) = (Format::Onnxtxt, loaded.execution.clone());
    Destination { path, format, effect: Effect::Write, execution, options, before: None }
}

/// Prints what a selector denotes: one graph, or nodes.
fn print_at(loaded: &Loaded, selector: &str, options: &PrintOptions<'_>) -> Result<Printed, Failure> {
    let model = &loaded.model;
    let context = Context::new(loaded)?;
    let facts = context.facts(model);
    let selection = Selection::new(&facts);
    if let Some(graph) = selection.graph(&pasted(model, selector))? {
        let function = model.functions().iter().find(|&&function| model.function(function).body() == graph);
        return Ok(match function {
            Some(&function) => print_function(model, function, options)?,
            None => print_graph(model, graph, options)?,
        });
    }
    let nodes = nodes_of(model, &selection, selector)?;
    loaded.execution.interrupt.check()?;
    Ok(print_nodes(model, &nodes, options)?)
}

/// The picture of the main graph, or of what a selector denotes.
fn picture(loaded: &Loaded, selector: Option<&str>) -> Result<String, Failure> {
    let model = &loaded.model;
    if !matches!(loaded.piece, Piece::Model) {
        return Err(Failure::new("a picture shows a whole model, or a part that `--at` selects")
            .help("leave `--as` or `--to dot` away"));
    }
    let context = Context::new(loaded)?;
    let facts = context.facts(model);
    let selection = Selection::new(&facts);
    let graph = match selector {
        Some(selector) => selection.graph(&pasted(model, selector))?,
        None => Some(model.main_graph()),
    };
    let nodes = match (graph, selector) {
        (Some(graph), _) => model.nodes(graph).collect(),
        (None, selector) => nodes_of(model, &selection, selector.unwrap_or_default())?,
    };
    loaded.execution.interrupt.check()?;
    Ok(dot::text(model, facts.inference(), graph.unwrap_or(model.main_graph()), &nodes))
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
