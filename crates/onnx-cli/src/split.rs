//! `onnx extract --parts`: a model is cut into parts that run one after the other.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use clap::ValueEnum as _;
use onnx_codec::file::{FileSet, path_text};
use onnx_compose::{Parts, SplitOptions, SplitPart, Splitting};
use onnx_diag::Sink;
use onnx_ir::Model;

use crate::args::{ExternalArgs, ExtractArgs, Weights};
use crate::change::{self, Judged};
use crate::exit::{Failure, Outcome};
use crate::extract::{Item, TRAINING_REMOVED, invalid};
use crate::folder::CreatedFolder;
use crate::format::Format;
use crate::input::{Loaded, display_name, is_stream, load_to_copy};
use crate::output::{Out, shown};
use crate::progress::Progress;
use crate::spelling::quoted;
use crate::store::{Destination, Effect};
use crate::weights::Placement;
use crate::{rows, size, store, weights};

/// Reads a number of parts, or the most bytes of one: `4`, `500MB`.
pub(crate) fn parts(text: &str) -> Result<Parts, String> {
    match text.parse::<usize>() {
        Ok(0) => return Err("0 parts hold no model: write a number from 1, such as `4`".to_owned()),
        Ok(count) => return Ok(Parts::Count(count)),
        Err(_) => {}
    }
    size::parse(text).map(Parts::Bytes).map_err(|_| {
        format!("`{text}` is neither a number of parts nor a size of them: write `4`, or `500MB`")
    })
}

pub(crate) fn run(args: &ExtractArgs, parts: Parts, out: &mut Out) -> Result<Outcome, Failure> {
    check(args)?;
    let directory = args.output.output_file.as_deref();
    args.output.report.check(Some(&args.input_file), directory, out)?;
    out.hold_summaries();
    let progress = Progress::start("splitting", 1);
    progress.begin(&display_name(&args.input_file));
    let mut loaded = load_to_copy(&args.input_file, &args.input)?;
    progress.aside(|| loaded.report(&args.input.severity, args.keep_going, out))?;
    let before = loaded.model.node_count();
    let registry = onnx_shape_infer::contrib::registry();
    let options = SplitOptions::default().with_registry(&registry).with_execution(loaded.execution.clone());
    let mut found = Sink::new();
    let splitting = Splitting::new(&loaded.model, parts, &options);
    let format = args.output.to.format.unwrap_or(Format::Onnx);
    let names = names(splitting.as_ref().map_or(0, Splitting::len), format);
    let mut made = Vec::new();
    match splitting.as_ref().map_err(|error| error.findings(&loaded.model)) {
        Ok(splitting) => {
            for (name, part) in names.iter().zip(splitting.parts()) {
                match part {
                    Ok(part) => {
                        found.merge(invalid(&part.model));
                        let file = directory.map_or_else(|| name.into(), |directory| directory.join(name));
                        made.push(Made::new(&rows::name(&file), &part, before));
                    }
                    Err(error) => found.merge(error.findings(&loaded.model)),
                }
            }
        }
        Err(reasons) => found.merge(reasons),
    }
    loaded.execution.interrupt.check()?;
    let is_whole = !made.is_empty() && made.len() == names.len();
    let judged = Judged::new(found, &loaded, &args.input.severity)?;
    let items: Vec<&Item<'_>> = made.iter().map(|part| &part.item).collect();
    progress.aside(|| {
        if made.iter().any(|part| part.removed_training) {
            out.warning(TRAINING_REMOVED, None);
        }
        describe(&made, out);
        change::report_all(&loaded, &judged, ("extract/1", &items), out)
    })?;
    let Ok(splitting) = splitting else { return Ok(Outcome::Findings) };
    if !is_whole || (judged.is_refused() && !args.keep_going) {
        return Ok(Outcome::Findings);
    }
    if let Some(directory) = directory.filter(|_| !args.output.dry_run) {
        refuse_others(directory, &names)?;
    }
    drop(progress);
    let join = directory.map(|directory| join(directory, &loaded.model, &made, format));
    write(args, directory, loaded, &splitting, &names, out)?;
    if let Some(join) = join.filter(|_| !args.output.dry_run) {
        out.summary(&format!("to join them again: {join}"));
    }
    Ok(Outcome::Fine)
}

/// What is said about a part.
struct Made {
    item: Item<'static>,
    weight_bytes: u64,
    removed_training: bool,
}

impl Made {
    fn new(name: &str, part: &SplitPart, before: usize) -> Self {
        Self {
            item: Item::of_part(name, &part.model, before),
            weight_bytes: part.weight_bytes,
            removed_training: part.removed_training,
        }
    }
}

/// The command that joins the parts again. Inputs and outputs are named if those of the parts, in their order, are others: an output
/// that a later part takes ends otherwise.
fn join(directory: &Path, model: &Model, made: &[Made], format: Format) -> String {
    let given: Vec<&str> = made.iter().flat_map(|part| part.item.outputs()).map(String::as_str).collect();
    let taken: Vec<&str> = made.iter().flat_map(|part| part.item.inputs()).map(String::as_str).collect();
    let name = |value| model.str(model.value(value).name());
    let graph = model.graph(model.main_graph());
    let inputs: Vec<&str> = graph.inputs().iter().map(|&input| name(input)).collect();
    let outputs: Vec<&str> = graph.outputs().iter().map(|output| name(output.value())).collect();
    let directory = path_text(directory);
    let directory = quoted(directory.trim_end_matches('/'));
    let mut command = format!("onnx merge {directory}/part-*.{} --by-name", format.id());
    if open(&taken, &given) != inputs {
        command.push_str(&format!(" --inputs '{}'", inputs.join(",")));
    }
    if open(&given, &taken) != outputs {
        command.push_str(&format!(" --outputs '{}'", outputs.join(",")));
    }
    command.push_str(" -o MODEL");
    command
}

/// The names that others do not have, each once.
fn open<'a>(names: &[&'a str], others: &[&str]) -> Vec<&'a str> {
    let mut seen: HashSet<&str> = others.iter().copied().collect();
    names.iter().copied().filter(|&name| seen.insert(name)).collect()
}

/// Writes the parts, all or none, or only finds out whether that is possible.
fn write(
    args: &ExtractArgs,
    directory: Option<&Path>,
    mut loaded: Loaded,
    splitting: &Splitting<'_>,
    names: &[String],
    out: &mut Out,
) -> Result<(), Failure> {
    let inputs = loaded.files()?;
    let effect = match directory {
        None => Effect::NoOutput("-o DIR/"),
        Some(_) if args.output.dry_run => Effect::DryRun,
        Some(_) => Effect::Write,
    };
    if effect == Effect::DryRun {
        out.would_make(directory)?;
    }
    let created = directory.filter(|_| effect == Effect::Write).map(CreatedFolder::new).transpose()?;
    let options = store::options(args.output.write, inputs.clone());
    let mut set = FileSet::new(&options);
    let format = args.output.to.format.unwrap_or(Format::Onnx);
    let path_of =
        |name: &String| directory.map_or_else(|| args.input_file.clone(), |directory| directory.join(name));
    let paths: Vec<PathBuf> = names.iter().map(path_of).collect();
    let mut staged = Vec::new();
    for (part, path) in splitting.parts().zip(&paths) {
        loaded.model = part.map_err(Failure::new)?.model;
        let weights = placed(&args.output.weights.weights, &loaded, path);
        let placement =
            Placement { path, format, effect, weights: &weights, external: &ExternalArgs::DEFAULT };
        let to = placement.destination(loaded.execution.clone(), args.output.write, inputs.clone());
        let files = weights::place(&mut loaded, &placement, out)?;
        if effect == Effect::Write {
            let done = store::stage(&loaded.model, &to, &files, &mut set, out)?;
            let Destination { format, effect, execution, options, .. } = to;
            staged.push((Destination { path, format, effect, execution, options, before: None }, done));
        } else {
            store::write(&loaded.model, &to, &files, Progress::start("writing", 1), out)?;
        }
    }
    set.finish()?;
    if let Some(created) = created {
        created.keep();
    }
    staged.iter().for_each(|(to, done)| done.report(to, out));
    Ok(())
}

fn check(args: &ExtractArgs) -> Result<(), Failure> {
    if args.in_place.in_place {
        return Err(Failure::new("`--parts` writes several files, so no one file can be replaced")
            .help("use `-o DIR/`"));
    }
    if args.output.output_file.as_deref().is_some_and(is_stream) {
        return Err(Failure::new("several parts cannot be written to a stream").help("use `-o DIR/`"));
    }
    let is_file = |path: &Path| {
        let is_named = path.as_os_str().as_encoded_bytes().ends_with(b"/");
        path.is_file() || (Format::of(path).is_some() && !path.is_dir() && !is_named)
    };
    if args.output.output_file.as_deref().is_some_and(is_file) {
        return Err(Failure::new("the output of `--parts` is a directory, not a file").help("use `-o DIR/`"));
    }
    match args.output.weights.weights {
        Weights::External(Some(_)) => Err(Failure::new("the parts cannot share one file of weights")
            .help("`--weights external` writes one for each part")),
        _ => Ok(()),
    }
}

/// Where the weights of a part are. External data in another directory is copied as far as the part uses it.
pub(crate) fn placed(weights: &Weights, loaded: &Loaded, path: &Path) -> Weights {
    let is_near = is_stream(path)
        || loaded.place.directory().is_some_and(|directory| weights::is_beside(directory, path));
    match weights {
        Weights::Auto if !is_near && weights::external_locations(loaded) > 0 => Weights::External(None),
        other => other.clone(),
    }
}

/// The names of the files: `part-1.onnx`, with as many digits as the last one has.
fn names(count: usize, format: Format) -> Vec<String> {
    let width = count.to_string().len();
    (1..=count).map(|number| format!("part-{number:0width$}.{}", format.id())).collect()
}

/// Refuses a directory with parts of another split, which would be taken for parts of this one.
fn refuse_others(directory: &Path, names: &[String]) -> Result<(), Failure> {
    // A directory that cannot be read has no parts, or writing fails.
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let found = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut others: Vec<String> = found.filter(|name| is_part(name) && !names.contains(name)).collect();
    others.sort();
    let Some(first) = others.first() else { return Ok(()) };
    let path = shown(&directory.join(first).to_string_lossy());
    let count = size::plural(others.len() as u64, "file");
    Err(Failure::new(format_args!("the directory has {count} of another split, such as `{path}`"))
        .help("remove them, or use another directory: `merge` would join them with these parts"))
}

/// Whether a file has a name of [`names`] for some number and format.
fn is_part(name: &str) -> bool {
    let Some((number, format)) = name.strip_prefix("part-").and_then(|rest| rest.split_once('.')) else {
        return false;
    };
    let is_format = Format::value_variants().iter().any(|known| known.id() == format);
    is_format && !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
}

/// Tells where the model was cut.
fn describe(made: &[Made], out: &Out) {
    for part in made {
        let weights = size::bytes(part.weight_bytes);
        out.detail(1, &part.item.describe(&weights));
    }
    if !made.is_empty() {
        out.summary(&format!("split into {}", size::plural(made.len() as u64, "part")));
    }
}
