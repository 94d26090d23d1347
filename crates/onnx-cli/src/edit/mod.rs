//! `onnx edit`: names, inputs and outputs, sizes, and metadata of a model.

mod ir_version;
mod item;
pub(crate) mod sizes;
mod small;
mod types;
mod unmatched;

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;

use onnx_check::{CheckOptions, check};
use onnx_compose::{
    ComposeError, EditOptions, MetadataEdit, NameChanges, RenameKinds, RenameRule, Resized, add_input,
    edit_metadata, initializer_to_input, remove_input, rename_until, resize, set_inputs, set_outputs,
};
use onnx_diag::Sink;
use onnx_ir::{Constant, GraphOutput, Importer, Model, ValueId};
use onnx_text::{ParseOptions, parse_model};
use onnx_types::tensor::Tensor;
use onnx_types::{Dim, ElemType, Execution, Shape, Symbol, Type};
use onnx_version::set_import;

use self::item::Item;
use self::small::{SmallCounts, SmallEdits};
use crate::args::{Changed, EditArgs, ExternalArgs, InterfaceArgs, MetadataArgs, NameKind};
use crate::change::{self, Judged};
use crate::exit::{Failure, Outcome};
use crate::extract::invalid;
use crate::input::{display_name, load_to_copy};
use crate::output::{Out, shown};
use crate::precondition::{self, require_valid_nodes};
use crate::progress::Progress;
use crate::run::files;
use crate::{known_names, selection, size, store, versions, weights};

pub(crate) fn run(args: &EditArgs, out: &mut Out) -> Result<Outcome, Failure> {
    refuse_idle(args)?;
    let changed = Changed { path: &args.input_file, from: args.input.from, in_place: args.in_place.in_place };
    let placement = args.output.placement(Some(&changed), &ExternalArgs::DEFAULT, out)?;
    let progress = Progress::start("editing", 1);
    progress.begin(&display_name(&args.input_file));
    let mut loaded = load_to_copy(&args.input_file, &args.input)?;
    progress.aside(|| loaded.report(&args.input.severity, args.keep_going, out))?;
    let inputs = loaded.files()?;
    let source = loaded.source()?;
    let registry = onnx_shape_infer::contrib::registry();
    let options = EditOptions::default()
        .with_registry(&registry)
        .with_data(&source)
        .with_execution(loaded.execution.clone());
    if !args.set.is_empty() {
        let severity = &args.input.severity;
        progress.aside(|| require_valid_nodes(&loaded, &registry, severity, args.keep_going, out))?;
    }
    let small = SmallEdits::new(&mut loaded.model, &args.small, &registry)?;
    let before = if args.small.is_empty() { None } else { Some(small::defects(&loaded, &registry)?) };
    let before_version = ir_version::Before::new(&loaded.model, args);
    let imports = imports(&mut loaded.model, &args.import)?;
    let had_errors = check(&loaded.model, &CheckOptions::default()).has_errors();
    let done =
        edit(&mut loaded.model, args, &small, &options).map_err(|failure| failure.about(&loaded.name))?;
    loaded.execution.interrupt.check()?;
    let is_fixed = matches!(done, Err(ComposeError::FixedSizes(_)));
    let (done, found) = match done {
        // Errors that the model had stay what they are.
        Ok(done) if !had_errors => (Some(done), invalid(&loaded.model)),
        Ok(done) if !args.import.is_empty() => (Some(done), precondition::invalid(&loaded, &registry)?),
        Ok(done) => (Some(done), Sink::new()),
        Err(ComposeError::Stopped(stopped)) => return Err(stopped.into()),
        Err(error) => (None, error.findings(&loaded.model)),
    };
    let ir_version = match done {
        Some(_) => before_version.finish(&mut loaded, args, &progress, out)?,
        None => None,
    };
    let found = match (before, &done) {
        (Some(before), Some(_)) => small::new_errors(&before, small::defects(&loaded, &registry)?),
        _ => found,
    };
    let done = done.map(|done| Done { imports, ir_version, ..done });
    let judged = Judged::by(small::policy(), found, &loaded, &args.input.severity)?;
    let item = Item::new(&loaded, done.as_ref());
    progress.aside(|| {
        if let Some(done) = &done {
            describe(done, out);
            warn_of_pinned(&loaded.model, &done.pinned, out);
        }
        change::report(&loaded, &judged, ("edit/1", &item), out)
            .map(|()| help_with_axes(&loaded.model, &args.set, is_fixed, out))
    })?;
    if done.is_none() || (judged.is_refused() && !args.keep_going) {
        return Ok(Outcome::Findings);
    }
    let to = placement.destination(loaded.execution.clone(), args.output.write, inputs);
    let files = weights::place(&mut loaded, &placement, out)?;
    store::write(&loaded.model, &to, &files, progress, out)?;
    Ok(Outcome::Fine)
}

/// Refuses options that would have no effect.
fn refuse_idle(args: &EditArgs) -> Result<(), Failure> {
    let renames = !args.rename.is_empty() || args.prefix.is_some() || args.remove_prefix.is_some();
    if !args.names_of.is_empty() && !renames {
        return Err(Failure::new("`--names-of` is for `--rename`, `--prefix` and `--remove-prefix`")
            .help("add one of them, or leave `--names-of` away"));
    }
    let is_removed_only = |text: &&String| !text.contains('=');
    let removed = args.interface.remove_input.iter().find(is_removed_only);
    match removed.filter(|_| !args.interface.inputs.is_empty()) {
        Some(removed) => Err(Failure::new(format_args!(
            "`--inputs` removes all inputs that it does not list, `--remove-input {}` too",
            shown(removed)
        ))
        .help("leave one of them out")),
        None => Ok(()),
    }
}

/// Suggests to change axes of several inputs together, if only those of some inputs are changed and that is refused.
fn help_with_axes(model: &Model, set: &[String], is_fixed: bool, out: &Out) {
    let is_axis = set.iter().any(|text| text.contains("]=") || text.contains("],"));
    let is_given = |&input: &ValueId| {
        let axis = format!("{}[", model.str(model.value(input).name()));
        set.iter().any(|text| text.contains(&axis))
    };
    if is_fixed && is_axis && !model.graph(model.main_graph()).inputs().iter().all(is_given) {
        out.help("if axes of other inputs have the same size, free them together: `--set 'x[0],y[0]=N'`");
    }
}

/// Imports versions of operator sets. Returns the operator sets whose import changes.
fn imports(model: &mut Model, wanted: &[(String, i64)]) -> Result<Vec<String>, Failure> {
    versions::refuse_twice("--import", wanted)?;
    let mut changed = Vec::new();
    for (domain, version) in wanted {
        let symbol = model.intern(domain);
        if set_import(model, symbol, *version)? > 0 {
            changed.push(if domain.is_empty() { "ai.onnx".to_owned() } else { shown(domain) });
        }
    }
    Ok(changed)
}

/// What was changed.
#[derive(Default)]
struct Done {
    /// The operator sets that are imported in another version.
    imports: Vec<String>,
    /// The version of the format, if it is another one.
    ir_version: Option<i64>,
    sizes: Resized,
    names: NameChanges,
    small: SmallCounts,
    /// Whether inputs or outputs are others.
    interface: Vec<String>,
    metadata: usize,
    /// The variables that a tensor in the place of an input leaves one size.
    pinned: Vec<Pinned>,
}

/// Edits the model: inputs and outputs, then sizes, then names. The outer error is about the arguments.
fn edit(
    model: &mut Model,
    args: &EditArgs,
    small: &SmallEdits,
    options: &EditOptions<'_>,
) -> Result<Result<Done, ComposeError>, Failure> {
    // Names in arguments are those of the model as it is.
    let ports = Ports::new(model, &args.interface, &options.execution)?;
    let changes = sizes::changes(model, &args.set)?;
    let rules = rules(model, args)?;
    let metadata = metadata(&args.metadata)?;
    let before = interface(model);
    let names = names_of(model, &before);
    let pinned = pinned(model, &ports.removed);
    let mut done = Done::default();
    match small.apply(model) {
        Ok(counts) => done.small = counts,
        Err(error) => return Ok(Err(error)),
    }
    if let Err(error) = ports.apply(model, &args.interface, options) {
        return Ok(Err(error));
    }
    done.interface = changed_interface(model, &before, &names);
    // Types are changed by name, and layouts by value: a cast in front of an output makes another value the output.
    if let Err(error) = small.apply_layouts(model, options) {
        return Ok(Err(error));
    }
    done.interface.extend(types::apply(model, &args.interface.types)?);
    match resize(model, &changes, options) {
        Ok(resized) => done.sizes = resized,
        Err(error) => return Ok(Err(error)),
    }
    match rename_until(model, &rules, kinds(&args.names_of), &options.execution.interrupt) {
        Ok(renamed) => done.names = renamed,
        Err(error) => return Ok(Err(error)),
    }
    if let Some(rule) = done.names.unmatched.first().copied().filter(|&rule| rule < args.rename.len()) {
        let old = args.rename.get(rule).map_or("", |text| text.split('=').next().unwrap_or(text));
        let failure = Failure::new(format_args!("no name of the model matches `{}`", shown(old)));
        if let Some(failure) = unmatched::explained(model, old, args) {
            return Err(failure);
        }
        let names = all_names(model);
        let mut names: Vec<&str> = names.iter().copied().collect();
        names.sort_unstable();
        return Err(failure.help(match onnx_schema::nearest(old, names.into_iter()) {
            Some(near) => format!("did you mean `{}`?", shown(near)),
            None => "`onnx find MODEL 'all()'` lists nodes and values; a pattern is written `/layer.*/**`"
                .to_owned(),
        }));
    }
    done.metadata = edit_metadata(model, &metadata);
    done.pinned = still_open(model, pinned);
    Ok(Ok(done))
}

/// A size that a dimension variable has wherever a tensor took the place of an input.
struct Pinned {
    input: String,
    variable: Symbol,
    size: i64,
}

/// The sizes of the tensors that take the places of inputs, where these have variables.
fn pinned(model: &Model, removed: &[(ValueId, Option<Arc<Constant>>)]) -> Vec<Pinned> {
    let mut found = Vec::new();
    for (value, constant) in removed {
        let sizes = constant.as_deref().and_then(Constant::dense).map(Tensor::dims);
        let shape = model.ty(*value).and_then(Type::shape);
        let (Some(shape), Some(sizes)) = (shape, sizes) else { continue };
        for (dim, &size) in shape.dims().iter().zip(sizes) {
            if let Dim::Var(variable) = *dim {
                let input = model.str(model.value(*value).name()).to_owned();
                found.push(Pinned { input, variable, size });
            }
        }
    }
    found
}

/// Those of variables that inputs still have.
fn still_open(model: &Model, pinned: Vec<Pinned>) -> Vec<Pinned> {
    let inputs = model.graph(model.main_graph()).inputs().iter();
    let dims = inputs.filter_map(|&input| model.ty(input).and_then(Type::shape)).flat_map(Shape::dims);
    let open: HashSet<Dim> = dims.copied().collect();
    pinned.into_iter().filter(|one| open.contains(&Dim::Var(one.variable))).collect()
}

/// Warns of inputs that take one size only, because a constant has it.
fn warn_of_pinned(model: &Model, pinned: &[Pinned], out: &Out) {
    let Some(first) = pinned.first() else { return };
    let sizes: Vec<String> =
        pinned.iter().map(|one| format!("{}={}", shown(model.str(one.variable)), one.size)).collect();
    let sizes = sizes.join(",");
    let message = format!("the tensor in the place of `{}` fits {sizes} only", shown(&first.input));
    let help = format!(
        "`--set {sizes}` in addition makes the inputs say so; a tensor with sizes of 1 that broadcasts fits all"
    );
    out.warning(&message, Some(&help));
}

fn interface(model: &Model) -> (Vec<ValueId>, Vec<ValueId>) {
    let graph = model.graph(model.main_graph());
    (graph.inputs().to_vec(), graph.outputs().iter().map(GraphOutput::value).collect())
}

/// The inputs and outputs that a name or a selector denotes; an error if it denotes none.
fn ports_of(model: &Model, text: &str) -> Result<Vec<ValueId>, Failure> {
    let (inputs, outputs) = interface(model);
    let ports: Vec<ValueId> = inputs.into_iter().chain(outputs).collect();
    let named = ports.iter().find(|&&value| model.str(model.value(value).name()) == text);
    if let Some(&value) = named {
        return Ok(vec![value]);
    }
    let ports: HashSet<ValueId> = ports.into_iter().collect();
    let mut values = match selection::values(model, &[text.to_owned()]) {
        // A name, not a selector.
        Err(_) if !text.contains(['*', '?', '(']) => Vec::new(),
        values => values?,
    };
    values.retain(|value| ports.contains(value));
    if values.is_empty() {
        let message = format_args!("`{}` is not an input or output of the model", shown(text));
        let known = interface(model);
        let known: Vec<&str> =
            known.0.iter().chain(&known.1).map(|&port| model.str(model.value(port).name())).collect();
        return Err(Failure::new(message).help(known_names::advice(
            text,
            &known,
            "the model has neither inputs nor outputs",
            |names| format!("the inputs and outputs are {names}"),
        )));
    }
    Ok(values)
}

/// The names of inputs and outputs: those that are removed have none afterwards.
fn names_of(model: &Model, ports: &(Vec<ValueId>, Vec<ValueId>)) -> HashMap<ValueId, String> {
    let values = ports.0.iter().chain(&ports.1);
    values.map(|&value| (value, shown(model.str(model.value(value).name())))).collect()
}

/// The inputs and the outputs that were added or removed, by name, or that only their order changed.
fn changed_interface(
    model: &Model,
    before: &(Vec<ValueId>, Vec<ValueId>),
    names: &HashMap<ValueId, String>,
) -> Vec<String> {
    /// More names would hide what else changed.
    const MOST_NAMES: usize = 6;
    let after = interface(model);
    let name = |&(sign, value): &(char, ValueId)| {
        let name = model.get_value(value).map(|value| shown(model.str(value.name())));
        let name = name.or_else(|| names.get(&value).cloned()).unwrap_or_default();
        format!("{sign}`{name}`")
    };
    let part = |old: &[ValueId], new: &[ValueId], noun: &str| {
        let only = |these: &[ValueId], others: &[ValueId], sign: char| -> Vec<(char, ValueId)> {
            let others: HashSet<ValueId> = others.iter().copied().collect();
            let values = these.iter().filter(|value| !others.contains(value));
            values.map(|&value| (sign, value)).collect()
        };
        let changed = [only(old, new, '-'), only(new, old, '+')].concat();
        let more = changed.len().saturating_sub(MOST_NAMES);
        let names = changed.iter().take(MOST_NAMES).map(name).collect::<Vec<_>>().join(" ");
        match (old == new, names.is_empty(), more) {
            (true, ..) => None,
            (_, true, _) => Some(format!("the order of the {noun}")),
            (.., 0) => Some(format!("{noun} ({names})")),
            _ => Some(format!("{noun} ({names} and {more} more)")),
        }
    };
    [part(&before.0, &after.0, "inputs"), part(&before.1, &after.1, "outputs")]
        .into_iter()
        .flatten()
        .collect()
}

/// Inputs and outputs that the arguments name.
#[derive(Default)]
struct Ports {
    inputs: Vec<ValueId>,
    outputs: Option<Vec<ValueId>>,
    to_input: Vec<ValueId>,
    removed: Vec<(ValueId, Option<Arc<Constant>>)>,
    added: Vec<(String, Type)>,
}

impl Ports {
    fn new(model: &mut Model, args: &InterfaceArgs, execution: &Execution) -> Result<Self, Failure> {
        let mut ports = Self {
            inputs: selection::values(model, &args.inputs)?,
            to_input: selection::values(model, &args.to_input)?,
            ..Self::default()
        };
        let mut outputs = interface(model).1;
        if !args.outputs.is_empty() {
            outputs = selection::values(model, &args.outputs)?;
        }
        let removed = selection::values(model, &args.remove_output)?;
        let present: HashSet<ValueId> = outputs.iter().copied().collect();
        if let Some(&other) = removed.iter().find(|value| !present.contains(value)) {
            let name = shown(model.str(model.value(other).name()));
            return Err(Failure::new(format_args!("`{name}` is not an output of the model")));
        }
        let removed: HashSet<ValueId> = removed.into_iter().collect();
        outputs.retain(|value| !removed.contains(value));
        outputs.extend(selection::values(model, &args.add_output)?);
        let is_changed =
            [&args.outputs, &args.remove_output, &args.add_output].iter().any(|list| !list.is_empty());
        ports.outputs = is_changed.then_some(outputs);
        for text in &args.remove_input {
            ports.removed.push(removed_input(model, text, execution)?);
        }
        for text in &args.add_input {
            ports.added.push(added_input(model, text)?);
        }
        Ok(ports)
    }

    fn apply(
        self,
        model: &mut Model,
        args: &InterfaceArgs,
        options: &EditOptions<'_>,
    ) -> Result<(), ComposeError> {
        for (name, ty) in self.added {
            add_input(model, &name, ty)?;
        }
        if let Some(outputs) = self.outputs {
            set_outputs(model, &outputs, options)?;
        }
        for (input, constant) in self.removed {
            remove_input(model, input, constant)?;
        }
        for value in self.to_input {
            initializer_to_input(model, value, false)?;
        }
        if args.inputs.is_empty() { Ok(()) } else { set_inputs(model, &self.inputs) }
    }
}

/// Reads `NAME` or `NAME=FILE`.
fn removed_input(
    model: &Model,
    text: &str,
    execution: &Execution,
) -> Result<(ValueId, Option<Arc<Constant>>), Failure> {
    let input = |wanted: &str| {
        let inputs = model.graph(model.main_graph()).inputs().iter().copied();
        inputs.into_iter().find(|&input| model.str(model.value(input).name()) == wanted)
    };
    if let Some(input) = input(text) {
        return Ok((input, None));
    }
    let found = text.split_once('=').and_then(|(name, file)| Some((input(name)?, name, file)));
    let Some((input, name, file)) = found else {
        let inputs = model.graph(model.main_graph()).inputs().iter();
        let names: Vec<&str> = inputs.map(|&input| model.str(model.value(input).name())).collect();
        let name = text.split_once('=').map_or(text, |(name, _)| name);
        return Err(Failure::new(format_args!("`{}` is not an input of the model", shown(name)))
            .help(known_names::of_ports(name, &names, "input")));
    };
    let value = files::value(Path::new(file), name, model.ty(input), execution)?;
    let tensor = value.tensor().ok_or_else(|| {
        Failure::new(format_args!("{file} holds no tensor, and a constant of a model is one"))
    })?;
    Ok((input, Some(Arc::new(Constant::Dense(tensor.as_ref().clone())))))
}

/// The help for a type that is not one.
const TYPE: &str = "write a type as in the text format: `x=float[N, 4]`";

/// Reads `NAME=TYPE`, a type in the text format.
fn added_input(model: &mut Model, text: &str) -> Result<(String, Type), Failure> {
    let malformed = || Failure::new(format_args!("`{}` is not NAME=TYPE", shown(text))).help(TYPE);
    let (name, ty) = text.rsplit_once('=').filter(|(name, _)| !name.is_empty()).ok_or_else(malformed)?;
    let source = format!("<ir_version: 10, opset_import: [\"\": 21]> g ({ty} x) => () {{}}");
    let other = parse_model(source, &ParseOptions::default())
        .map_err(|_| unknown_type(text, ty, TYPE).unwrap_or_else(malformed))?;
    let input = other.graph(other.main_graph()).inputs();
    let parsed = match input {
        [input] => other.ty(*input),
        _ => None,
    };
    let parsed = parsed.ok_or_else(malformed)?;
    Ok((name.to_owned(), Importer::new(&other).ty(model, parsed)))
}

/// The failure of a type with a word that names no type, if there is one, with a help if no type has a similar name.
fn unknown_type(text: &str, ty: &str, otherwise: &str) -> Option<Failure> {
    const KINDS: [&str; 4] = ["seq", "map", "optional", "sparse_tensor"];
    // Words between brackets are dimensions.
    let before = |part: &str| part.split('[').next().unwrap_or_default().to_owned();
    let outside: Vec<String> = ty.split(']').map(before).collect();
    let is_separator = |c: char| !c.is_alphanumeric() && c != '_';
    let mut words = outside.iter().flat_map(|part| part.split(is_separator)).filter(|word| !word.is_empty());
    // The text format has one name for each type.
    let names: Vec<String> = ElemType::all().map(|elem| elem.to_string()).collect();
    let word = words.find(|word| !names.iter().any(|name| name == word) && !KINDS.contains(word))?;
    let help = match onnx_schema::suggest_type(word) {
        Some(name) => format!("did you mean `{name}`?"),
        None => {
            let types: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
            format!("{otherwise}; the element types are {}", types.join(", "))
        }
    };
    let message = format!("`{}`: the type is not known: `{}`", shown(text), shown(word));
    Some(Failure::new(message).help(help))
}

/// Reads the rules by which names change.
fn rules(model: &Model, args: &EditArgs) -> Result<Vec<RenameRule>, Failure> {
    let mut rules = Vec::new();
    let names = if args.rename.is_empty() { HashSet::new() } else { all_names(model) };
    for text in &args.rename {
        let malformed = || {
            Failure::new(format_args!("`{}` is not OLD=NEW", shown(text)))
                .help("write a name or a pattern, and the new name: `input:0=ids`")
        };
        // A name can contain `=`.
        let mut splits =
            text.match_indices('=').filter_map(|(at, _)| Some((text.get(..at)?, text.get(at + 1..)?)));
        let first = splits.clone().next().ok_or_else(malformed)?;
        let (old, new) = splits.find(|(old, _)| names.contains(*old)).unwrap_or(first);
        if old.is_empty() || new.is_empty() {
            return Err(malformed());
        }
        let second = new.split_once(',').and_then(|(_, second)| second.split_once('='));
        if second.is_some_and(|(name, _)| names.contains(name)) {
            return Err(Failure::new(format_args!("`{}` has two new names", shown(text)))
                .help("write `--rename OLD=NEW` once for each name"));
        }
        let is_pattern = !names.contains(old) && old.contains(['*', '?']);
        rules.push(if is_pattern {
            RenameRule::pattern(old, new)
                .map_err(|error| Failure::new(format_args!("`{}`: {error}", shown(text))))?
        } else {
            RenameRule::exact(old, new)
        });
    }
    rules.extend(args.prefix.as_ref().map(RenameRule::add_prefix));
    rules.extend(args.remove_prefix.as_ref().map(RenameRule::remove_prefix));
    Ok(rules)
}

/// The names of values and nodes.
fn all_names(model: &Model) -> HashSet<&str> {
    let graphs = model.graphs_in(model.main_graph());
    let names = graphs.flat_map(|graph| {
        let values = model.definitions(graph).map(|value| model.value(value).name());
        values.chain(model.nodes(graph).map(|node| model.node(node).name()))
    });
    names.map(|name| model.str(name)).collect()
}

fn kinds(names: &[NameKind]) -> RenameKinds {
    if names.is_empty() {
        return RenameKinds::default();
    }
    let has = |kind: NameKind| names.contains(&kind);
    RenameKinds::NONE
        .with_nodes(has(NameKind::Nodes))
        .with_values(has(NameKind::Values))
        .with_inputs(has(NameKind::Inputs))
        .with_outputs(has(NameKind::Outputs))
        .with_initializers(has(NameKind::Initializers))
        .with_functions(has(NameKind::Functions))
}

fn metadata(args: &MetadataArgs) -> Result<Vec<MetadataEdit>, Failure> {
    let mut edits = Vec::new();
    edits.extend(args.remove_docs.then_some(MetadataEdit::RemoveDocs));
    edits.extend(args.remove_all_metadata.then_some(MetadataEdit::RemoveMetadata));
    edits.extend(args.remove_metadata.iter().cloned().map(MetadataEdit::Remove));
    let mut keys = HashSet::new();
    for text in &args.metadata {
        let (key, value) = text.split_once('=').filter(|(key, _)| !key.is_empty()).ok_or_else(|| {
            Failure::new(format_args!("`{}` is not K=V", shown(text)))
                .help("write a key and its value: `author=me`")
        })?;
        if args.remove_metadata.iter().any(|other| other == key) {
            return Err(Failure::new(format_args!("`{}` is set and removed", shown(key)))
                .help("leave `--metadata` or `--remove-metadata` away"));
        }
        if !keys.insert(key) {
            return Err(Failure::new(format_args!("`{}` is given two values", shown(key)))
                .help("give each key one `--metadata`"));
        }
        edits.push(MetadataEdit::Set(key.to_owned(), value.to_owned()));
    }
    edits.extend(args.producer_name.clone().map(MetadataEdit::ProducerName));
    edits.extend(args.producer_version.clone().map(MetadataEdit::ProducerVersion));
    edits.extend(args.domain.clone().map(MetadataEdit::Domain));
    edits.extend(args.model_version.map(MetadataEdit::ModelVersion));
    edits.extend(args.doc.clone().map(MetadataEdit::Doc));
    edits.extend(args.graph_name.clone().map(MetadataEdit::GraphName));
    Ok(edits)
}

/// Tells what was changed.
fn describe(done: &Done, out: &Out) {
    let Done { imports, ir_version, sizes, names, small, interface, metadata, .. } = done;
    let mut parts = sizes::describe(sizes, out);
    let pairs = names.values.iter().chain(&names.nodes);
    pairs.for_each(|(old, new)| out.detail(2, &format!("{} -> {}", shown(old), shown(new))));
    // A fixed size that becomes another number has no name.
    let types = if parts.is_empty() { sizes.types } else { 0 };
    let constants = (sizes.constants.len(), "constant");
    let renamed = names.values.len() + names.nodes.len() + names.functions.len();
    let counts = [
        (small.operators, "operator"),
        (small.attributes, "attribute"),
        (types + small.types, "declared type"),
        constants,
        (renamed, "name"),
        (small.layouts, "layout"),
        (*metadata, "description"),
    ];
    for (count, noun) in counts {
        if count > 0 {
            parts.push(size::plural(count as u64, noun));
        }
    }
    parts.extend(interface.iter().cloned());
    parts.extend(imports.iter().map(|domain| format!("the import of {domain}")));
    parts.extend(ir_version.map(|version| format!("the IR version to {version}")));
    match parts.is_empty() {
        true => out.warning("nothing changes: the model is as the edits say", None),
        false => out.summary(&format!("changed {}", parts.join(", "))),
    }
}
