//! `onnx inline`: calls of functions are replaced by the bodies.

use std::collections::{HashMap, HashSet};

use onnx_diag::Sink;
use onnx_functions::{
    Convert, FunctionPattern, FunctionSelector, InlineError, InlineOptions, Inlined, InlinedFunction, Naming,
    expand, inline,
};
use onnx_ir::{FunctionId, Model, NodeId, ValueTypes};
use onnx_schema::{Registry, Schema};
use onnx_select::SelectError;
use onnx_select::Selectors;
use onnx_shape_infer::{InferOptions, infer};
use onnx_version::{ConvertFunctions, ConvertOptions};
use serde::Serialize;

use crate::args::{Changed, ExternalArgs, InlineArgs, Names};
use crate::change::{self, Judged};
use crate::exit::{Failure, LibraryError, Outcome};
use crate::input::{Loaded, display_name, load_to_copy};
use crate::output::{Out, shown};
use crate::precondition::{require_fitting_operands, require_valid_nodes};
use crate::progress::Progress;
use crate::selection::Context;
use crate::{size, store, weights};

pub(crate) fn run(args: &InlineArgs, out: &mut Out) -> Result<Outcome, Failure> {
    let in_place = args.in_place.in_place;
    let changed = Changed { path: &args.input_file, from: args.input.from, in_place };
    let placement = args.output.placement(Some(&changed), &ExternalArgs::DEFAULT, out)?;
    let progress = Progress::start("inlining", 1);
    progress.begin(&display_name(&args.input_file));
    let mut loaded = load_to_copy(&args.input_file, &args.input)?;
    progress.aside(|| loaded.report(&args.input.severity, args.keep_going, out))?;
    // Bodies take the place of what operators compute; a call of a function means the same whatever its nodes are.
    if args.bodies && !args.keep_going {
        let severity = &args.input.severity;
        progress.aside(|| {
            require_valid_nodes(&loaded, Registry::STANDARD, severity, false, out)?;
            let registry = onnx_shape_infer::contrib::registry();
            require_fitting_operands(&loaded, &registry, severity, out)
        })?;
    }
    let selection = Selection::new(&loaded.model, &Context::new(&loaded)?, args)?;
    let inputs = loaded.files()?;
    let naming = match args.names {
        Names::Body => Naming::OnCollision,
        Names::Path => Naming::Always,
    };
    let registry = onnx_shape_infer::contrib::registry();
    let convert = ConvertOptions::default().with_registry(&registry).with_execution(loaded.execution.clone());
    let convert = ConvertFunctions::new(convert);
    let options = InlineOptions::default()
        .with_naming(naming)
        .with_execution(loaded.execution.clone())
        .with_convert(&convert as &dyn Convert);
    let before = loaded.model.node_count();
    let done = inline_selected(&mut loaded, &options, &selection, args.bodies);
    let is_endless = done.is_err();
    let (done, found) = match done {
        Ok(done) => {
            let found = done.findings(&loaded.model);
            (done, found)
        }
        Err(error) => (Inlined::default(), cycle(error)?),
    };
    let judged = Judged::new(found, &loaded, &args.input.severity)?;
    let item = Item::new(&loaded, &done, before);
    progress.aside(|| {
        if !is_endless {
            describe(&loaded.model, &done, before, out);
        }
        change::report(&loaded, &judged, ("inline/1", &item), out)
    })?;
    if is_endless || (judged.is_refused() && !args.keep_going) {
        return Ok(Outcome::Findings);
    }
    let to = placement.destination(loaded.execution.clone(), args.output.write, inputs);
    let files = weights::place(&mut loaded, &placement, out)?;
    store::write(&loaded.model, &to, &files, progress, out)?;
    Ok(Outcome::Fine)
}

/// Inlines the selected calls of functions, and then the selected operators with bodies.
fn inline_selected(
    loaded: &mut Loaded,
    options: &InlineOptions<'_>,
    selection: &Selection,
    bodies: bool,
) -> Result<Inlined, InlineError> {
    let model = &mut loaded.model;
    let mut done = inline(model, options, |_, node, function| selection.selects(node, function))?;
    if bodies {
        let execution = &loaded.execution;
        // Shapes decide about some bodies, so each round infers them anew.
        let registry = onnx_shape_infer::contrib::registry();
        let types = |model: &Model| -> Box<dyn ValueTypes> {
            Box::new(infer(
                model,
                &InferOptions::default().with_registry(&registry).with_execution(execution.clone()),
            ))
        };
        let mut expanded =
            expand(model, options, types, |_, node, schema| selection.selects_operator(node, schema))?;
        done.calls.append(&mut expanded.calls);
    }
    Ok(done)
}

/// The diagnostic for functions that call themselves; other errors are failures of the command.
fn cycle(error: InlineError) -> Result<Sink, Failure> {
    match (error.diagnostic(), error) {
        (Some(diagnostic), _) => {
            let mut sink = Sink::new();
            sink.report(diagnostic);
            Ok(sink)
        }
        (None, InlineError::Stopped(stopped)) => Err(stopped.into()),
        (None, error) => Err(error.into()),
    }
}

impl LibraryError for InlineError {
    fn limit(&self) -> Option<&'static str> {
        self.limit()
    }

    fn help(&self) -> Option<String> {
        self.limit().map(|limit| {
            format!(
                "`--limit {limit}=N` raises the limit, and `--only SEL` inlines less; \
                 `onnx info --functions` lists the nodes that a call of each function creates"
            )
        })
    }
}

/// The calls that are inlined.
struct Selection {
    only: Option<Set>,
    except: Set,
}

/// Calls: those of functions, and nodes.
#[derive(Default)]
struct Set {
    functions: HashSet<FunctionId>,
    nodes: HashSet<NodeId>,
    /// The selectors, for operators.
    selectors: Vec<FunctionSelector>,
}

impl Set {
    /// Reads selectors; each must denote a function or a call.
    fn new(model: &Model, context: &Context, texts: &[String], bodies: bool) -> Result<Self, Failure> {
        let mut set = Self::default();
        if texts.is_empty() {
            return Ok(set);
        }
        let names = FunctionNames::of(model);
        for text in texts {
            let selector = FunctionSelector::new(text);
            // A list of as many names as there are functions takes one search for each.
            let named = names.get(text);
            let functions = named.map_or(model.functions(), |named| named).iter().copied();
            let functions: Vec<FunctionId> =
                functions.filter(|&function| selector.matches(model, function)).collect();
            let is_operator = bodies && operators_with_bodies().any(|schema| matches(&selector, schema));
            let nodes = match functions.is_empty() && !is_operator {
                true => nodes(model, context, text, bodies)?,
                false => Vec::new(),
            };
            if functions.is_empty() && nodes.is_empty() && !is_operator {
                let message = format!("no function and no call of the model matches `{}`", shown(text));
                return Err(Failure::new(message).help("`onnx info --functions` lists the functions"));
            }
            if nodes.is_empty() && named.is_none() {
                each_selects(model, text, bodies)?;
            }
            set.selectors.push(selector);
            set.functions.extend(functions);
            set.nodes.extend(nodes);
        }
        Ok(set)
    }

    fn contains(&self, node: NodeId, function: FunctionId) -> bool {
        self.functions.contains(&function) || self.nodes.contains(&node)
    }

    fn contains_operator(&self, node: NodeId, schema: &Schema) -> bool {
        self.nodes.contains(&node) || self.selectors.iter().any(|selector| matches(selector, schema))
    }
}

/// Functions by their domain and name, for selectors that are names.
struct FunctionNames(HashMap<String, Vec<FunctionId>>);

impl FunctionNames {
    fn of(model: &Model) -> Self {
        let mut names = HashMap::<String, Vec<FunctionId>>::new();
        for &function in model.functions() {
            let record = model.function(function);
            let [domain, name] = [record.domain(), record.name()].map(|part| model.str(part));
            if domain.is_empty() {
                names.entry(name.to_owned()).or_default().push(function);
            }
            let domain = if domain.is_empty() { "ai.onnx" } else { domain };
            names.entry(format!("{domain}.{name}")).or_default().push(function);
        }
        Self(names)
    }

    /// The functions of this name. `None` if there are none, or the text is more than a name.
    fn get(&self, text: &str) -> Option<&[FunctionId]> {
        let is_name = !text.contains([',', '|', '&', '~', '*']);
        self.0.get(text).filter(|_| is_name).map(Vec::as_slice)
    }
}

/// Returns an error if a term of a union matches no function, and with `bodies` no operator: a name that is misspelled would be
/// ignored.
fn each_selects(model: &Model, text: &str, bodies: bool) -> Result<(), Failure> {
    // What `&` and `~` exclude may be absent.
    let terms = text.split([',', '|']).filter_map(|term| term.split(['&', '~']).next());
    for pattern in terms.map(|term| FunctionPattern::new(term.trim())) {
        let is_of_function = model.functions().iter().any(|&function| pattern.matches(model, function));
        let is_match = |schema: &Schema| pattern.matches_identity(schema.domain_name(), schema.name(), "");
        if is_of_function || (bodies && operators_with_bodies().any(is_match)) {
            continue;
        }
        let text = pattern.to_string();
        let functions = model.functions().iter().map(|&function| {
            let record = model.function(function);
            change::identity(model, (record.domain(), record.name(), record.overload()))
        });
        let functions: Vec<String> = functions.collect();
        let nearest = onnx_schema::nearest(&text, functions.iter().map(String::as_str));
        let help = match nearest {
            Some(nearest) => format!("did you mean `{}`?", shown(nearest)),
            None => "`onnx info --functions` lists the functions; repeat the option to add calls".to_owned(),
        };
        return Err(
            Failure::new(format_args!("no function of the model matches `{}`", shown(&text))).help(help)
        );
    }
    Ok(())
}

/// The operators that have bodies, in all of their versions.
fn operators_with_bodies() -> impl Iterator<Item = &'static Schema> {
    onnx_schema::all().iter().filter(|schema| schema.is_function())
}

fn matches(selector: &FunctionSelector, schema: &Schema) -> bool {
    selector.matches_identity(schema.domain_name(), schema.name(), "")
}

/// The calls that a selector of nodes denotes, those in functions included: of functions, and with `bodies` of operators.
fn nodes(model: &Model, context: &Context, text: &str, bodies: bool) -> Result<Vec<NodeId>, Failure> {
    let facts = context.facts(model);
    let mut nodes = match onnx_select::Selection::new(&facts).with_functions().nodes(text) {
        // The message of the caller is also about functions.
        Err(SelectError::Nothing { .. }) => return Ok(Vec::new()),
        found => found?,
    };
    nodes.retain(|&node| bodies || model.function_called(model.node(node)).is_some());
    Ok(nodes)
}

impl Selection {
    fn new(model: &Model, context: &Context, args: &InlineArgs) -> Result<Self, Failure> {
        let only =
            (!args.only.is_empty()).then(|| Set::new(model, context, &args.only, args.bodies)).transpose()?;
        Ok(Self { only, except: Set::new(model, context, &args.except, args.bodies)? })
    }

    fn selects(&self, node: NodeId, function: FunctionId) -> bool {
        let is_wanted = self.only.as_ref().is_none_or(|only| only.contains(node, function));
        is_wanted && !self.except.contains(node, function)
    }

    fn selects_operator(&self, node: NodeId, schema: &Schema) -> bool {
        let is_wanted = self.only.as_ref().is_none_or(|only| only.contains_operator(node, schema));
        is_wanted && !self.except.contains_operator(node, schema)
    }
}

/// Tells what was inlined.
fn describe(model: &Model, done: &Inlined, before: usize, out: &Out) {
    for function in done.by_function() {
        let InlinedFunction { inlined, nodes, ref kept, .. } = function;
        let name = change::identity(model, function.function);
        let calls = size::plural(inlined as u64, "call");
        let stay = if kept.is_empty() { String::new() } else { format!(", {} stay", kept.len()) };
        out.detail(1, &format!("{name}: {calls} inlined, {}{stay}", size::plural(nodes, "node")));
    }
    let calls = size::plural(done.inlined() as u64, "call");
    let removed = size::plural(done.removed_functions as u64, "function");
    let [before, after] = [before, model.node_count()].map(|count| size::grouped(count as u64));
    out.summary(&format!("inlined {calls}, removed {removed}: {before} -> {after} nodes"));
}

/// A model, as an item of `inline/1`.
#[derive(Serialize)]
struct Item<'a> {
    name: &'a str,
    nodes_before: u64,
    nodes_after: u64,
    removed_functions: u64,
    functions: Vec<Function>,
    /// The number of calls that stay beyond those that are listed.
    dropped: u64,
}

#[derive(Serialize)]
struct Function {
    function: String,
    inlined: u64,
    /// Number of nodes that took the place of the calls.
    nodes: u64,
    kept: Vec<Kept>,
}

/// A call that stays.
#[derive(Serialize)]
struct Kept {
    /// The functions around it, the outermost first, and its own.
    path: String,
    selector: Option<String>,
    reason: String,
}

impl<'a> Item<'a> {
    fn new(loaded: &'a Loaded, done: &Inlined, before: usize) -> Self {
        let model = &loaded.model;
        let selectors = Selectors::new(model);
        let (mut left, mut dropped) = (loaded.execution.limits.report_entries, 0);
        let mut functions = Vec::new();
        for function in done.by_function() {
            let listed = function.kept.len().min(left);
            left -= listed;
            dropped += (function.kept.len() - listed) as u64;
            let calls = function.kept.iter().take(listed).filter_map(|&index| done.calls.get(index));
            let kept = calls.filter_map(|call| {
                let reason = call.result.as_ref().err()?.to_string();
                let node = model.get_node(call.node).map(|_| onnx_select::Element::Node(call.node));
                let selector = node.and_then(|node| selectors.text(node));
                Some(Kept { path: done.path(call, model), selector, reason })
            });
            functions.push(Function {
                function: change::identity(model, function.function),
                inlined: function.inlined as u64,
                nodes: function.nodes,
                kept: kept.collect(),
            });
        }
        Item {
            name: &loaded.name,
            nodes_before: before as u64,
            nodes_after: model.node_count() as u64,
            removed_functions: done.removed_functions as u64,
            functions,
            dropped,
        }
    }
}
