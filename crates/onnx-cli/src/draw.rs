//! `onnx draw`: a picture of a model as SVG or PNG, or as a page in which boxes open and close.

use std::path::Path;

use onnx_codec::file::{FileKind, write_file};
use onnx_diff::{DiffOptions, diff};
use onnx_draw::{
    Coloring, DrawError, HtmlOptions, Marks, PictureStyle, Scene, SceneOptions, html,
    letters_without_strokes, png, svg,
};
use onnx_ir::{GraphId, Model, NodeId};
use onnx_page::PageSide;
use onnx_schema::Registry;
use onnx_select::{ModelFacts, Selection};

use crate::args::{ColorBy, DrawArgs};
use crate::exit::{Failure, LibraryError, Outcome};
use crate::format::Format;
use crate::input::{Loaded, display_name, is_stdin, load};
use crate::output::Out;
use crate::progress::Progress;
use crate::selection::{Context, nodes_of, pasted};
use crate::store::{self, Destination, Effect, Written};
use crate::weights::bytes::DataBytes;

/// Boxes of a picture whose depth is not given.
const MOST_BOXES: usize = 120;

/// Letters that a warning names.
const MOST_LETTERS: usize = 12;

/// The format of a picture.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PictureFormat {
    Svg,
    Png,
    Html,
}

impl PictureFormat {
    const fn name(self) -> &'static str {
        match self {
            Self::Svg => "svg",
            Self::Png => "png",
            Self::Html => "html",
        }
    }
}

pub(crate) fn run(args: &DrawArgs, out: &mut Out) -> Result<Outcome, Failure> {
    let path = args.output_file.as_deref().unwrap_or(Path::new("-"));
    args.report.check(Some(&args.input_file), Some(path), out)?;
    let format = format_of(path)?;
    let progress = Progress::start("drawing", 1);
    progress.begin(&display_name(&args.input_file));
    let mut loaded = load(&args.input_file, &args.input)?;
    progress.aside(|| loaded.report(&args.input.severity, args.keep_going, out))?;
    out.input(&loaded, loaded.findings.clone())?;
    let inputs = loaded.files()?;
    let older = args.against.as_deref().map(|path| load(path, &args.input)).transpose()?;
    let bytes = picture(&loaded, older.as_ref(), (args, format), out)?;
    loaded.execution.interrupt.check()?;
    drop(progress);
    if is_stdin(path) {
        store::check_standard_output(&inputs)?;
        out.bytes([bytes.as_slice()])?;
        return Ok(Outcome::Fine);
    }
    let options = store::options(args.output, inputs).with_folders(true);
    let execution = loaded.execution.clone();
    write_file(path, FileKind::Picture, &options, |file| file.write_all(&bytes))?;
    // The format of a destination is one of models, which the report of a picture does not name.
    let (effect, model_format) = (Effect::Write, Format::Onnxtxt);
    let to = Destination { path, format: model_format, effect, execution, options, before: None };
    let format = Some(format.name());
    let bytes = bytes.len() as u64;
    store::report_written(
        &to,
        &Written { format, what: "picture", bytes, data: DataBytes::default(), files: &[] },
        out,
    );
    Ok(Outcome::Fine)
}

/// The format that the extension of the output says.
fn format_of(path: &Path) -> Result<PictureFormat, Failure> {
    if is_stdin(path) {
        return Ok(PictureFormat::Svg);
    }
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    match extension.to_ascii_lowercase().as_str() {
        "svg" => Ok(PictureFormat::Svg),
        "html" | "htm" => Ok(PictureFormat::Html),
        "png" => Ok(PictureFormat::Png),
        _ => Err(Failure::new("the extension of the output is not that of a picture")
            .help("write to a file with the extension .svg, .png or .html, or without `-o` for SVG on standard output")),
    }
}

fn picture(
    loaded: &Loaded,
    older: Option<&Loaded>,
    (args, format): (&DrawArgs, PictureFormat),
    out: &Out,
) -> Result<Vec<u8>, Failure> {
    let model = &loaded.model;
    let registry = args.documents.registry(&loaded.execution)?;
    let context = Context::with_registry(loaded, registry.clone())?;
    let facts = context.facts(model);
    let (graph, nodes) = chosen(model, &facts, args.at.as_deref())?;
    loaded.execution.interrupt.check()?;
    let groups = match graph {
        None if nodes.is_none() => onnx_page::block_groups(model, &registry, &loaded.execution),
        _ => Vec::new(),
    };
    let options = SceneOptions::default()
        .with_inference(Some(facts.inference()))
        .with_registry(&registry)
        .with_graph(graph)
        .with_nodes(nodes.as_deref())
        .with_groups(&groups);
    let scene = Scene::new(model, &options);
    let mut marks = marks(loaded, &facts, &registry, args.color_by)?;
    let coloring = match (older, args.color_by) {
        (Some(older), _) => {
            mark_changes(loaded, older, &mut marks)?;
            Coloring::Diff
        }
        (None, ColorBy::Type) => Coloring::Type,
        (None, ColorBy::Cost) => Coloring::Cost,
        (None, ColorBy::Scope) => Coloring::Scope,
        (None, ColorBy::Findings) => Coloring::Findings,
    };
    loaded.execution.interrupt.check()?;
    if format == PictureFormat::Html {
        if args.depth.is_some() {
            return Err(Failure::new("the boxes of a page open when they are clicked")
                .help("leave `--depth` away, or write an .svg or .png file"));
        }
        let options = HtmlOptions::default().with_title(loaded.name.clone()).with_coloring(coloring);
        return Ok(html(model, &scene, &scene.summary(&marks), &options).into_bytes());
    }
    let open = match args.depth {
        Some(depth) => scene.opened_to(depth)?,
        None => scene.opened(MOST_BOXES),
    };
    let picture = scene.picture_with(&open, &marks)?;
    let style = PictureStyle::default().with_coloring(coloring).with_title(loaded.name.clone());
    if format != PictureFormat::Png {
        return Ok(svg(&picture, &style).into_bytes());
    }
    let missing = letters_without_strokes(&picture);
    if !missing.is_empty() {
        let letters: String = missing.iter().take(MOST_LETTERS).collect();
        let more = if missing.len() > MOST_LETTERS { "…" } else { "" };
        out.warning(
            &format!("names have letters that .png shows as boxes: {letters}{more}"),
            Some("write an .svg or .html file, which has the fonts of the program that shows it"),
        );
    }
    Ok(png(&picture, &style))
}

/// The graph and the nodes that a selector denotes; none for the whole model.
fn chosen(
    model: &Model,
    facts: &ModelFacts<'_>,
    selector: Option<&str>,
) -> Result<(Option<GraphId>, Option<Vec<NodeId>>), Failure> {
    let Some(selector) = selector else { return Ok((None, None)) };
    let selection = Selection::new(facts);
    if let Some(graph) = selection.graph(&pasted(model, selector))? {
        return Ok((Some(graph), None));
    }
    let nodes = nodes_of(model, &selection, selector)?;
    let graph = nodes.first().map(|&node| model.node(node).graph());
    if nodes.iter().any(|&node| Some(model.node(node).graph()) != graph) {
        return Err(Failure::new("the nodes are in several graphs, and a picture shows one")
            .help("select nodes of one graph: `function(DOMAIN.NAME)/SELECTOR`, `main()/SELECTOR`"));
    }
    Ok((graph, Some(nodes)))
}

/// What the colors need.
fn marks(
    loaded: &Loaded,
    facts: &ModelFacts<'_>,
    registry: &Registry,
    color_by: ColorBy,
) -> Result<Marks, Failure> {
    let mut marks = Marks::default();
    match color_by {
        ColorBy::Type | ColorBy::Scope => {}
        ColorBy::Cost => {
            let cost =
                onnx_page::model_cost(&loaded.model, registry, &loaded.execution).map_err(Failure::new)?;
            onnx_page::mark_cost(&cost, &mut marks);
        }
        ColorBy::Findings => {
            let found = onnx_page::findings(&loaded.model, facts.inference(), registry, &loaded.execution);
            onnx_page::mark_findings(&loaded.model, &found, &mut marks);
        }
    }
    Ok(marks)
}

/// Marks what differs from an older model.
fn mark_changes(loaded: &Loaded, older: &Loaded, marks: &mut Marks) -> Result<(), Failure> {
    let (source_a, source_b) = (older.source()?, loaded.source()?);
    let options = DiffOptions::default()
        .with_data_of_a(&source_a)
        .with_data_of_b(&source_b)
        .with_same_files(loaded.has_data_of(older))
        .with_execution(loaded.execution.clone());
    let found = diff(&older.model, &loaded.model, &options)?;
    onnx_page::mark_changes(&loaded.model, &found, PageSide::Newer, marks);
    Ok(())
}

impl LibraryError for DrawError {
    fn help(&self) -> Option<String> {
        Some("give a smaller `--depth`, or choose a part by `--at`".to_owned())
    }
}
