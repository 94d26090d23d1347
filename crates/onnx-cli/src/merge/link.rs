//! Functions of libraries become functions of a model.

use std::path::Path;

use onnx_compose::{Raised, Renamed, RenamedKind};
use onnx_diag::{Diagnostic, Locus, Quoted, Sink};
use onnx_functions::{Identity, LinkError, LinkedFunction, link, missing_functions, rules};
use onnx_ir::{Model, Places};
use onnx_schema::Registry;
use serde::Serialize;

use super::connect::ReplacedOutput;
use crate::args::{Changed, ExternalArgs, MergeArgs};
use crate::change::{self, Judged};
use crate::exit::{Failure, LibraryError, Outcome};
use crate::input::{Loaded, display_name, load, load_to_copy};
use crate::output::{Out, shown};
use crate::progress::Progress;
use crate::{size, store, weights};

pub(super) fn run(input: &Path, args: &MergeArgs, out: &mut Out) -> Result<Outcome, Failure> {
    let in_place = args.in_place.in_place;
    let changed = Changed { path: input, from: args.input.from, in_place };
    let placement = args.output.placement(Some(&changed), &ExternalArgs::DEFAULT, out)?;
    let progress = Progress::start("merging", 1);
    progress.begin(&display_name(input));
    let mut loaded = load_to_copy(input, &args.input)?;
    progress.aside(|| loaded.report(&args.input.severity, args.keep_going, out))?;
    let inputs = loaded.files()?;
    let mut libraries = Vec::new();
    for path in &args.link {
        let mut library = load(path, &args.input)?;
        progress.aside(|| library.report(&args.input.severity, args.keep_going, out))?;
        libraries.push(library);
    }
    let linked = link_all(&mut loaded.model, &libraries)?;
    loaded.execution.interrupt.check()?;
    let judged = Judged::new(findings(&loaded.model, &libraries, &linked), &loaded, &args.input.severity)?;
    let item = Item::new(&loaded, &linked);
    progress.aside(|| {
        describe(&loaded.model, &libraries, &linked, out);
        change::report(&loaded, &judged, ("merge/1", &item), out)?;
        libraries.iter().try_for_each(|library| {
            let bytes = Some(library.bytes);
            out.input_of(
                &library.name,
                Some(library.format.id()),
                bytes,
                library.findings.clone(),
                Vec::new(),
            )
        })
    })?;
    if judged.is_refused() && !args.keep_going {
        return Ok(Outcome::Findings);
    }
    let to = placement.destination(loaded.execution.clone(), args.output.write, inputs);
    let files = weights::place(&mut loaded, &placement, out)?;
    store::write(&loaded.model, &to, &files, progress, out)?;
    Ok(Outcome::Fine)
}

/// Functions that were linked, each with the index of its library.
pub(super) type Linked = Vec<(usize, LinkedFunction)>;

/// Links libraries until none has a function that is called and not defined: a function of one can call those of others.
pub(super) fn link_all(model: &mut Model, libraries: &[Loaded]) -> Result<Linked, Failure> {
    let mut linked: Linked = Vec::new();
    loop {
        let before = linked.len();
        for (index, library) in libraries.iter().enumerate() {
            let new = link(model, &library.model, Registry::STANDARD)
                .map_err(|error| Failure::from(error).about(&library.name))?;
            linked.extend(new.into_iter().map(|function| (index, function)));
        }
        if linked.len() == before {
            return Ok(linked);
        }
    }
}

impl LibraryError for LinkError {
    fn help(&self) -> Option<String> {
        match self {
            Self::ExternalData { .. } => {
                Some("`onnx convert LIB -o NEW --weights embed` embeds it".to_owned())
            }
            _ => None,
        }
    }
}

/// The warnings about linking: functions with another name, calls of functions that nothing defines, libraries that are not
/// needed.
pub(super) fn findings(model: &Model, libraries: &[Loaded], linked: &Linked) -> Sink {
    let (places, mut sink) = (Places::new(model), Sink::new());
    let name_of = |index: usize| libraries.get(index).map_or("", |library| library.name.as_str());
    for (index, function) in linked {
        let Some(old) = function.renamed_from else { continue };
        let (name, library) = (of_function(model, function), name_of(*index));
        let old = Quoted(&change::identity(model, old)).to_string();
        let message =
            format!("the model has another function {old}: that of {library} is now {}", Quoted(&name));
        let locus = places.function(function.function);
        sink.report(Diagnostic::new(&rules::LINKED_FUNCTION_RENAMED, locus, message));
    }
    for missing in missing_functions(model, Registry::STANDARD) {
        let Some(&node) = missing.nodes.first() else { continue };
        let name = change::identity(model, missing.function);
        let calls = size::plural(missing.nodes.len() as u64, "node");
        let message = format!("no library and no function of the model defines {}: {calls}", Quoted(&name));
        let found = Diagnostic::new(&rules::CALLED_FUNCTION_MISSING, places.node(node), message);
        sink.report(found.help("link a library that defines it, unless the runtime has the operator"));
    }
    for (index, library) in libraries.iter().enumerate() {
        if !linked.iter().any(|(of, _)| *of == index) {
            let message = format!("the model calls no function that only {} defines", library.name);
            let found = Diagnostic::new(&rules::LIBRARY_NOT_USED, Locus::model(), message);
            sink.report(found.help("`onnx info --functions` lists functions with their domains"));
        }
    }
    sink
}

/// Tells what was linked.
pub(super) fn describe(model: &Model, libraries: &[Loaded], linked: &Linked, out: &Out) {
    let mut nodes = 0;
    for (index, function) in linked {
        let library = libraries.get(*index).map_or("", |library| library.name.as_str());
        let name = shown(&of_function(model, function));
        let note = match function.renamed_from {
            Some(old) => {
                format!(", was {}", shown(&change::identity(model, old)))
            }
            None => String::new(),
        };
        out.detail(1, &format!("linked {name} from {library}{note}"));
        nodes += body_nodes(model, function);
    }
    let functions = size::plural(linked.len() as u64, "function");
    out.summary(&format!("linked {functions} of {}", size::plural(nodes, "node")));
}

fn of_function(model: &Model, linked: &LinkedFunction) -> String {
    let record = model.function(linked.function);
    let identity: Identity = (record.domain(), record.name(), record.overload());
    change::identity(model, identity)
}

fn body_nodes(model: &Model, linked: &LinkedFunction) -> u64 {
    model.nodes_in(model.function(linked.function).body()).count() as u64
}

/// A model, as an item of `merge/1`.
#[derive(Serialize)]
pub(super) struct Item<'a> {
    name: &'a str,
    linked: Vec<Function>,
    /// What was joined, if several models were.
    joined: Option<Joined>,
}

/// Models that became one.
#[derive(Serialize)]
pub(super) struct Joined {
    pub(super) models: Vec<String>,
    pub(super) connections: u64,
    pub(super) nodes: u64,
    pub(super) inputs: Vec<String>,
    pub(super) outputs: Vec<String>,
    pub(super) renamed: Vec<RenamedItem>,
    pub(super) raised: Vec<RaisedItem>,
    pub(super) shared_initializers: u64,
    pub(super) shared_functions: u64,
}

/// Something with another name.
#[derive(Serialize)]
pub(super) struct RenamedItem {
    model: u64,
    kind: &'static str,
    from: String,
    to: String,
}

impl RenamedItem {
    pub(super) fn new(renamed: &Renamed) -> Self {
        let kind = match renamed.kind {
            RenamedKind::Interface => "interface",
            RenamedKind::Value => "value",
            RenamedKind::Node => "node",
            RenamedKind::Dimension => "dimension",
            RenamedKind::Function => "function",
            _ => "metadata",
        };
        let (from, to) = (renamed.from.clone(), renamed.to.clone());
        Self { model: renamed.model as u64, kind, from, to }
    }

    pub(super) fn of_output(replaced: &ReplacedOutput) -> Self {
        let (from, to) = (replaced.from.clone(), replaced.to.clone());
        Self { model: replaced.model as u64, kind: "interface", from, to }
    }
}

/// An operator set of a newer version.
#[derive(Serialize)]
pub(super) struct RaisedItem {
    model: u64,
    domain: String,
    from: i64,
    to: i64,
}

impl RaisedItem {
    pub(super) fn new(raised: &Raised) -> Self {
        let (from, to) = (raised.from, raised.to);
        Self { model: raised.model as u64, domain: raised.domain.clone(), from, to }
    }
}

#[derive(Serialize)]
struct Function {
    function: String,
    /// The identity in the library, if the model has another function of that.
    renamed_from: Option<String>,
    /// The position of the library on the command line.
    library: usize,
    nodes: u64,
}

impl<'a> Item<'a> {
    /// The item of a model that was not merged.
    pub(super) const fn empty(name: &'a str) -> Self {
        Item { name, linked: Vec::new(), joined: None }
    }

    /// The same with what was joined.
    pub(super) fn with(self, joined: Joined) -> Self {
        Self { joined: Some(joined), ..self }
    }

    pub(super) fn new(loaded: &'a Loaded, linked: &Linked) -> Self {
        let model = &loaded.model;
        let linked = linked.iter().map(|(library, function)| Function {
            function: of_function(model, function),
            renamed_from: function.renamed_from.map(|old| change::identity(model, old)),
            library: *library,
            nodes: body_nodes(model, function),
        });
        Item { name: &loaded.name, linked: linked.collect(), joined: None }
    }
}
