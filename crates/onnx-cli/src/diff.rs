//! `onnx diff`: what differs in two models; also as git's external diff driver.

use std::fmt::Write as _;
use std::path::Path;

use onnx_diag::{Clean, Locus};
use onnx_diff::{Aspect, ChangeKind, ChangedElement, Diff, DiffOptions, ModelChange, diff};
use onnx_select::Selectors;
use onnx_text::PrintOptions;
use onnx_weights::weights;
use serde_json::{Value as Json, json};

use crate::args::DiffArgs;
use crate::compare::{difference_item, difference_text};
use crate::exit::{Failure, Outcome};
use crate::input::{Loaded, load};
use crate::json::JsonText;
use crate::output::{BAD, DIM, GOOD, HEADING, Out, WARN, paint, shown};
use crate::progress::Progress;
use crate::{git_driver, print, size};

/// The most characters of a name or value that are shown.
const MOST_CHARS: usize = 300;

pub(crate) fn run(args: &DiffArgs, out: &mut Out) -> Result<Outcome, Failure> {
    if args.install_git {
        return git_driver::install(args, out);
    }
    if args.global || args.local {
        // The arguments of a comparison exclude `--install-git`, so clap does not require it.
        return Err(Failure::new("only the setting of git is global or local")
            .help("write `onnx diff --install-git --global`"));
    }
    if args.git {
        return for_git(args, out);
    }
    if args.textconv {
        return as_text(args, out);
    }
    let Some([a, b]) = args.pair() else {
        return Err(Failure::new("two models are compared").help("write `onnx diff A B`"));
    };
    let progress = Progress::start("comparing", 1);
    let (mut a, mut b) = (load(a, &args.input)?, load(b, &args.input)?);
    progress.aside(|| a.report_complete(&args.input.severity, out))?;
    progress.aside(|| b.report_complete(&args.input.severity, out))?;
    let found = compared(&a, &b, args)?;
    let is_same = found.is_empty();
    progress.aside(|| {
        if out.is_for_people() {
            out.text(&text(&found)?)?;
            if let Some(line) = not_compared(&a, &found, args).filter(|_| !is_same || args.structure) {
                out.text(&format!("{}\n", paint(WARN, line)))?;
            }
        } else {
            out.result_kind("diff/1", "changes");
            out.items(items(&a, &b, &found)?);
        }
        out.input(&a, a.findings.clone())?;
        out.input(&b, b.findings.clone())
    })?;
    match found.unread.first() {
        Some((place, reason)) if is_same => {
            let count = size::plural(found.unread.len() as u64, "tensor");
            let message = format!("{count} could not be compared: {place}: {reason}");
            Err(Failure::new(Clean(&message))
                .help("`--structure` reads no weights; `--data-dir DIR` names their directory"))
        }
        _ => Ok(if is_same { Outcome::Fine } else { Outcome::Findings }),
    }
}

/// What differs, without what the user does not want to see.
fn compared(a: &Loaded, b: &Loaded, args: &DiffArgs) -> Result<Diff, Failure> {
    let (source_a, source_b) = (a.source()?, b.source()?);
    let tolerances = args.tolerances.is_given().then(|| args.tolerances.tolerances());
    let options = DiffOptions::default()
        .with_data_of_a(&source_a)
        .with_data_of_b(&source_b)
        .with_same_files(a.has_data_of(b))
        .with_weights(!args.structure)
        .with_tolerances(tolerances)
        .with_execution(a.execution.clone());
    let mut found = diff(&a.model, &b.model, &options)?;
    found.changes.retain(|change| !(args.no_metadata && change.is_note()));
    if args.no_metadata {
        for change in &mut found.changes {
            change.aspects.retain(|aspect| !aspect.kind.is_note());
        }
    }
    if args.weights {
        let is_weight = |change: &ModelChange| {
            change.element == ChangedElement::Initializer
                || change.aspects.iter().any(|aspect| aspect.difference.is_some())
        };
        found.changes.retain(is_weight);
    }
    Ok(found)
}

/// A line about weights of which the elements were not compared, if there are any.
fn not_compared(a: &Loaded, found: &Diff, args: &DiffArgs) -> Option<String> {
    if args.structure {
        let count = weights(&a.model).len() as u64;
        let tensors = size::plural(count, "tensor");
        return (count > 0).then(|| format!("elements were not compared: {tensors}"));
    }
    let (place, reason) = found.unread.first()?;
    let tensors = size::plural(found.unread.len() as u64, "tensor");
    Some(Clean(&format!("elements could not be compared: {tensors}, such as {place}: {reason}")).to_string())
}

/// Shows what differs to git, which takes every status but 0 as a crash. A file that is not a model is a line of text.
fn for_git(args: &DiffArgs, out: &mut Out) -> Result<Outcome, Failure> {
    let path = args.files.first().map(|path| path.to_string_lossy().into_owned()).unwrap_or_default();
    let Some([a, b]) = args.pair() else {
        // A path that is not merged has no two versions.
        out.text(&format!("* Unmerged path {}\n", shown(&path)))?;
        return Ok(Outcome::Fine);
    };
    out.text(&format!("{}\n", paint(HEADING, format_args!("onnx diff {}", shown(&path)))))?;
    out.text(&changed_mode(args))?;
    let text = match (of_git(a, args), of_git(b, args)) {
        (Ok(Some(a)), Ok(Some(b))) => {
            let found = compared(&a, &b, args)?;
            let mut text = text(&found)?;
            if let Some(line) = not_compared(&a, &found, args) {
                writeln!(text, "{}", paint(WARN, line))?;
            }
            text
        }
        (Ok(None), Ok(Some(model))) => format!("{}\n", paint(GOOD, format_args!("+ {}", summary(&model)))),
        (Ok(Some(model)), Ok(None)) => format!("{}\n", paint(BAD, format_args!("- {}", summary(&model)))),
        (Ok(None), Ok(None)) => String::new(),
        (Err(failure), _) | (_, Err(failure)) => {
            format!("the files cannot be compared as models: {}\n", Clean(&failure.message))
        }
    };
    out.text(&text)?;
    Ok(Outcome::Fine)
}

/// The lines of git about a mode that changed, which git leaves to its driver. A file that does not exist has none.
fn changed_mode(args: &DiffArgs) -> String {
    let mode = |at: usize| args.files.get(at).and_then(|mode| mode.to_str()).filter(|mode| *mode != ".");
    match (mode(3), mode(6)) {
        (Some(old), Some(new)) if old != new => {
            format!("old mode {}\nnew mode {}\n", shown(old), shown(new))
        }
        _ => String::new(),
    }
}

/// Prints a model to git, which ends if this command fails. External data is not next to what git passes.
fn as_text(args: &DiffArgs, out: &mut Out) -> Result<Outcome, Failure> {
    let [path] = args.files.as_slice() else {
        return Err(Failure::new("one model is printed").help("write `onnx diff --textconv FILE`"));
    };
    let options = PrintOptions::default().with_digest(Some(&print::digest));
    let printed =
        load(path, &args.input).and_then(|loaded| Ok(loaded.piece.print(&loaded.model, &options)?.text));
    let text =
        printed.unwrap_or_else(|failure| format!("the file is not a model: {}\n", Clean(&failure.message)));
    out.bytes([text.as_bytes()])?;
    Ok(Outcome::Fine)
}

/// A version of a file; `None` if it does not exist.
fn of_git(path: &Path, args: &DiffArgs) -> Result<Option<Loaded>, Failure> {
    if path == Path::new("/dev/null") || path == Path::new("nul") {
        return Ok(None);
    }
    load(path, &args.input).map(Some)
}

fn summary(loaded: &Loaded) -> String {
    let nodes = size::plural(loaded.model.node_count() as u64, "node");
    format!("model with {nodes}, {}", size::bytes(loaded.bytes))
}

/// All differences, as text for people.
fn text(found: &Diff) -> Result<String, Failure> {
    let mut text = String::new();
    for change in &found.changes {
        let (sign, style) = match change.kind {
            ChangeKind::Added => ('+', GOOD),
            ChangeKind::Removed => ('-', BAD),
            _ => ('~', WARN),
        };
        let place = change.after.as_ref().or(change.before.as_ref());
        let place =
            place.filter(|place| !place.steps().is_empty()).map(ToString::to_string).unwrap_or_default();
        let what = format!("{sign} {}", change.element.name());
        write!(text, "{}", paint(style, what))?;
        if !change.text.is_empty() {
            write!(text, " {}", one_line(&change.text))?;
        }
        if !place.is_empty() {
            write!(text, "  {}", paint(DIM, Clean(&place)))?;
        }
        text.push('\n');
        for aspect in &change.aspects {
            writeln!(text, "    {}", aspect_text(aspect))?;
        }
    }
    let nodes = size::plural(found.same_nodes as u64, "node");
    let initializers = size::plural(found.same_initializers as u64, "initializer");
    let matched = format!("{nodes} and {initializers} correspond");
    let mut line = match found.changes.len() {
        0 if !found.unread.is_empty() => {
            let count = size::plural(found.unread.len() as u64, "tensor");
            format!("no difference found, but {count} could not be compared: {matched}")
        }
        0 => format!("no difference: {matched}"),
        count => format!("{}: {matched}", size::plural(count as u64, "difference")),
    };
    if found.within_tolerance > 0 {
        let count = size::plural(found.within_tolerance as u64, "tensor");
        write!(line, "; {count} within the tolerance")?;
    }
    writeln!(text, "{}", paint(DIM, line))?;
    Ok(text)
}

/// Text from a model in one line, escaped, and cut if it is long.
fn one_line(text: &str) -> String {
    let end = text.char_indices().nth(MOST_CHARS).map(|(end, _)| end);
    match end.and_then(|end| text.get(..end)) {
        None => Clean(text).to_string(),
        Some(start) => format!("{}…", Clean(start)),
    }
}

fn aspect_text(aspect: &Aspect) -> String {
    let mut text = one_line(&aspect.to_string());
    if let Some(difference) = &aspect.difference {
        text.push_str(": ");
        match difference_text(difference).as_str() {
            "" => text.push_str("bits differ, numbers do not"),
            words => text.push_str(&Clean(words).to_string()),
        }
    }
    text
}

fn items(a: &Loaded, b: &Loaded, found: &Diff) -> Result<Vec<JsonText>, Failure> {
    let (of_a, of_b) = (Selectors::new(&a.model), Selectors::new(&b.model));
    let place = |locus: Option<&Locus>, selectors: &Selectors<'_>| {
        locus.map(|locus| json!({ "selector": selectors.of_locus(locus), "text": locus.to_string() }))
    };
    let changes = found.changes.iter().map(|change| {
        json!({
            "kind": change.kind.name(),
            "element": change.element.name(),
            "note": change.is_note(),
            "text": change.text,
            "before": place(change.before.as_ref(), &of_a),
            "after": place(change.after.as_ref(), &of_b),
            "aspects": change.aspects.iter().map(aspect_item).collect::<Vec<Json>>(),
        })
    });
    let unread = found.unread.iter().map(|(locus, reason)| {
        json!({
            "kind": "unread",
            "element": "tensor",
            "note": false,
            "text": reason,
            "before": place(Some(locus), &of_a),
            "after": null,
            "aspects": [],
        })
    });
    changes.chain(unread).map(|item| JsonText::of(&item)).collect()
}

fn aspect_item(aspect: &Aspect) -> Json {
    json!({
        "kind": aspect.kind.name(),
        "label": aspect.label,
        "before": aspect.before,
        "after": aspect.after,
        "difference": aspect.difference.as_deref().map(difference_item),
    })
}
