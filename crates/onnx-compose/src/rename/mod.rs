//! New names for values, nodes and functions.

mod collisions;
mod functions;
mod pattern;

use std::collections::{HashMap, HashSet};

use foldhash::fast::RandomState;
use onnx_ir::{Def, FunctionId, GraphId, Model, NodeId, User, ValueId};
use onnx_types::{Interrupt, Stopped, Symbol, Watch};
use slotmap::SecondaryMap;

pub use self::collisions::NameCollision;
use self::pattern::{Pattern, Template};
use crate::error::ComposeError;

/// The kinds of names that are changed. All of them by default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RenameKinds {
    /// Names of nodes, those of nested graphs included.
    pub nodes: bool,
    /// Inputs of the main graph.
    pub inputs: bool,
    /// Outputs of the main graph.
    pub outputs: bool,
    /// Initializers.
    pub initializers: bool,
    /// Values in `value_info`.
    pub value_infos: bool,
    /// Values of the main graph that are none of these, and values of nested graphs.
    pub values: bool,
    /// Functions of the model, with their calls.
    pub functions: bool,
}

impl RenameKinds {
    /// No name.
    pub const NONE: Self = Self {
        nodes: false,
        inputs: false,
        outputs: false,
        initializers: false,
        value_infos: false,
        values: false,
        functions: false,
    };
}

impl Default for RenameKinds {
    fn default() -> Self {
        Self {
            nodes: true,
            inputs: true,
            outputs: true,
            initializers: true,
            value_infos: true,
            values: true,
            functions: true,
        }
    }
}

onnx_types::option_setters! {
    RenameKinds {
        with_nodes => nodes: bool,
        with_inputs => inputs: bool,
        with_outputs => outputs: bool,
        with_initializers => initializers: bool,
        with_value_infos => value_infos: bool,
        with_values => values: bool,
        with_functions => functions: bool,
    }
}

/// A rule by which names change.
#[derive(Clone, Debug)]
pub struct RenameRule(Kind);

#[derive(Clone, Debug)]
enum Kind {
    Exact(String, String),
    Pattern(Pattern, Template),
    AddPrefix(String),
    RemovePrefix(String),
}

impl RenameRule {
    /// The elements with exactly this name get another one. The name of a function is `domain.name:overload`; an empty domain
    /// or overload is omitted with its separator.
    #[must_use]
    pub fn exact(name: impl Into<String>, new: impl Into<String>) -> Self {
        Self(Kind::Exact(name.into(), new.into()))
    }

    /// The elements whose names match a pattern get another name. In the pattern, `*` is any text without a slash, `**` any
    /// text and `?` one character; in the new name, `\1` is what the first wildcard matches, and `\\` a backslash.
    ///
    /// # Errors
    ///
    /// Returns an error if the new name refers to a wildcard that the pattern does not have.
    pub fn pattern(pattern: &str, new: &str) -> Result<Self, ComposeError> {
        let pattern = Pattern::new(pattern);
        let template = Template::new(new, pattern.captures()).map_err(ComposeError::refused)?;
        Ok(Self(Kind::Pattern(pattern, template)))
    }

    /// All names get a prefix; of a function, its name and not its domain. Elements without a name stay without.
    #[must_use]
    pub fn add_prefix(prefix: impl Into<String>) -> Self {
        Self(Kind::AddPrefix(prefix.into()))
    }

    /// The names that have a prefix lose it; of a function, its name and not its domain.
    #[must_use]
    pub fn remove_prefix(prefix: impl Into<String>) -> Self {
        Self(Kind::RemovePrefix(prefix.into()))
    }

    /// The new name, if the rule applies.
    fn apply(&self, name: &str) -> Option<String> {
        match &self.0 {
            Kind::Exact(old, new) => (old == name).then(|| new.clone()),
            Kind::Pattern(pattern, new) => Some(new.fill(&pattern.matches(name)?)),
            Kind::AddPrefix(prefix) => Some(format!("{prefix}{name}")),
            Kind::RemovePrefix(prefix) => name.strip_prefix(prefix.as_str()).map(str::to_owned),
        }
    }

    const fn is_prefix(&self) -> bool {
        matches!(self.0, Kind::AddPrefix(_) | Kind::RemovePrefix(_))
    }
}

/// Rules with an index of those for single names.
struct Rules<'a> {
    all: &'a [RenameRule],
    exact: HashMap<&'a str, usize, RandomState>,
    others: Vec<usize>,
    has_matched: Vec<bool>,
}

impl<'a> Rules<'a> {
    fn new(all: &'a [RenameRule]) -> Self {
        let (mut exact, mut others) = (HashMap::default(), Vec::new());
        for (index, rule) in all.iter().enumerate() {
            match &rule.0 {
                Kind::Exact(name, _) => {
                    exact.entry(name.as_str()).or_insert(index);
                }
                _ => others.push(index),
            }
        }
        Self { all, exact, others, has_matched: vec![false; all.len()] }
    }

    /// The new name by the first rule that applies, with the rule. Prefixes apply to `bare`.
    fn apply(&mut self, name: &str, bare: &str) -> Option<(String, &'a RenameRule)> {
        if bare.is_empty() {
            return None;
        }
        let exact = self.exact.get(name).copied();
        let before = |index: &usize| exact.is_none_or(|exact| *index < exact);
        let candidates = self.others.iter().copied().filter(before).chain(exact);
        let all = self.all;
        let (index, rule, new) =
            candidates.filter_map(|index| all.get(index).map(|rule| (index, rule))).find_map(
                |(index, rule)| Some((index, rule, rule.apply(if rule.is_prefix() { bare } else { name })?)),
            )?;
        if let Some(slot) = self.has_matched.get_mut(index) {
            *slot = true;
        }
        Some((new, rule))
    }
}

/// The identity of a function.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct FunctionName {
    /// The domain.
    pub domain: String,
    /// The name.
    pub name: String,
    /// The overload; mostly empty.
    pub overload: String,
}

impl FunctionName {
    /// Reads `domain.name:overload`.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let (domain, rest) = text.rsplit_once('.').unwrap_or(("", text));
        let (name, overload) = rest.split_once(':').unwrap_or((rest, ""));
        Self { domain: domain.to_owned(), name: name.to_owned(), overload: overload.to_owned() }
    }

    fn of(model: &Model, function: FunctionId) -> Self {
        let record = model.function(function);
        let [domain, name, overload] =
            [record.domain(), record.name(), record.overload()].map(|part| model.str(part).to_owned());
        Self { domain, name, overload }
    }
}

impl std::fmt::Display for FunctionName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [dot, colon] = [(&self.domain, "."), (&self.overload, ":")]
            .map(|(part, separator)| if part.is_empty() { "" } else { separator });
        write!(f, "{}{dot}{}{colon}{}", self.domain, self.name, self.overload)
    }
}

/// New names of elements of a model.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct NewNames {
    /// Values, each once.
    pub values: Vec<(ValueId, String)>,
    /// Nodes, each once.
    pub nodes: Vec<(NodeId, String)>,
    /// Functions, each once.
    pub functions: Vec<(FunctionId, FunctionName)>,
}

/// Names that were changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct NameChanges {
    /// Values: the old and the new name.
    pub values: Vec<(String, String)>,
    /// Nodes: the old and the new name.
    pub nodes: Vec<(String, String)>,
    /// Functions: the old and the new name.
    pub functions: Vec<(FunctionName, FunctionName)>,
    /// Indices of the rules by which no name was found.
    pub unmatched: Vec<usize>,
}

/// Changes the names of values and nodes of the main graph and of the graphs nested in it, and of functions. The first rule that
/// applies to a name determines the new one. All rules are applied at once, so names can be exchanged.
///
/// Captures in nested graphs, quantization annotations, bindings of the training, device configurations, calls of functions and
/// imports of their domains follow.
///
/// # Errors
///
/// Returns all collisions if names would collide, and an error if a new name would be empty. The model is unchanged then.
pub fn rename(
    model: &mut Model,
    rules: &[RenameRule],
    kinds: RenameKinds,
) -> Result<NameChanges, ComposeError> {
    rename_until(model, rules, kinds, &Interrupt::NEVER)
}

/// Like [`rename`], until an interrupt.
///
/// # Errors
///
/// Those of [`rename`], and an error if the work is interrupted. The model is unchanged then.
pub fn rename_until(
    model: &mut Model,
    rules: &[RenameRule],
    kinds: RenameKinds,
    interrupt: &Interrupt,
) -> Result<NameChanges, ComposeError> {
    let mut rules = Rules::new(rules);
    let names = plan(model, &mut rules, kinds, interrupt)?;
    let mut done = set_names_until(model, &names, interrupt)?;
    let unmatched = rules.has_matched.iter().enumerate().filter(|(_, matched)| !**matched);
    done.unmatched = unmatched.map(|(index, _)| index).collect();
    Ok(done)
}

/// The new names by some rules.
fn plan(
    model: &Model,
    rules: &mut Rules<'_>,
    kinds: RenameKinds,
    interrupt: &Interrupt,
) -> Result<NewNames, Stopped> {
    let mut watch = Watch::silent(interrupt, WATCHED_NAMES);
    let mut names = NewNames::default();
    let trained: HashSet<GraphId, RandomState> =
        model.algorithms().flat_map(|algorithm| model.graphs_in(algorithm)).collect();
    for graph in model.graphs_in(model.main_graph()).filter(|graph| !trained.contains(graph)) {
        // A name that only `value_info` has.
        let is_only_declared = |value: &ValueId| {
            let record = model.value(*value);
            matches!(record.def(), Def::Unresolved(_)) && !record.is_used()
        };
        let declared = model.value_info(graph).map(onnx_ir::InfoEntry::value).filter(is_only_declared);
        for value in model.definitions(graph).chain(declared) {
            watch.work(1)?;
            if kinds.contain(model, value)
                && let name = model.str(model.value(value).name())
                && let Some((new, _)) = rules.apply(name, name)
            {
                names.values.push((value, new));
            }
        }
        for node in model.nodes(graph).filter(|_| kinds.nodes) {
            watch.work(1)?;
            let name = model.str(model.node(node).name());
            if let Some((new, _)) = rules.apply(name, name) {
                names.nodes.push((node, new));
            }
        }
    }
    for &function in model.functions().iter().filter(|_| kinds.functions) {
        watch.work(1)?;
        let old = FunctionName::of(model, function);
        if let Some((new, rule)) = rules.apply(&old.to_string(), &old.name) {
            let is_name = rule.is_prefix();
            let new = if is_name { FunctionName { name: new, ..old } } else { FunctionName::parse(&new) };
            names.functions.push((function, new));
        }
    }
    Ok(names)
}

impl RenameKinds {
    fn contain(self, model: &Model, value: ValueId) -> bool {
        let (record, main) = (model.value(value), model.main_graph());
        let is_input = matches!(record.def(), Def::Input { graph, .. } if graph == main);
        let is_output = record.output_uses().iter().any(|at| at.user == User::Graph(main));
        let is_initializer = record.initializer().is_some();
        (is_input && self.inputs)
            || (is_output && self.outputs)
            || (is_initializer && self.initializers)
            || (record.is_in_value_info() && self.value_infos)
            || (!is_input && !is_output && !is_initializer && self.values)
    }
}

/// Gives elements of a model other names.
///
/// # Errors
///
/// Returns all collisions if names would collide, and an error if a new name would be empty or an element is gone. The model is
/// unchanged then.
pub fn set_names(model: &mut Model, names: &NewNames) -> Result<NameChanges, ComposeError> {
    set_names_until(model, names, &Interrupt::NEVER)
}

/// Like [`set_names`], until an interrupt, which is not checked any more when elements get their names.
fn set_names_until(
    model: &mut Model,
    names: &NewNames,
    interrupt: &Interrupt,
) -> Result<NameChanges, ComposeError> {
    let functions: HashSet<FunctionId, RandomState> = model.functions().iter().copied().collect();
    let is_gone = names.values.iter().any(|(value, _)| model.get_value(*value).is_none())
        || names.nodes.iter().any(|(node, _)| model.get_node(*node).is_none())
        || names.functions.iter().any(|(function, _)| !functions.contains(function));
    if is_gone {
        return Err(onnx_ir::EditError::Gone.into());
    }
    let values = Changed::new(model, &names.values, interrupt, |model, value| model.value(value).name())?;
    let nodes = Changed::new(model, &names.nodes, interrupt, |model, node| model.node(node).name())?;
    let functions: Vec<(FunctionId, FunctionName)> = names
        .functions
        .iter()
        .filter(|(function, new)| FunctionName::of(model, *function) != *new)
        .cloned()
        .collect();
    let texts = names.values.iter().map(|(_, name)| name).chain(names.nodes.iter().map(|(_, name)| name));
    if texts.chain(functions.iter().map(|(_, new)| &new.name)).any(String::is_empty) {
        return Err(ComposeError::refused("a new name is empty"));
    }
    let mut collisions = collisions::of_values(model, &values, interrupt)?;
    collisions.extend(collisions::of_nodes(model, &nodes, interrupt)?);
    collisions.extend(functions::collisions(model, &functions));
    interrupt.check()?;
    if !collisions.is_empty() {
        return Err(ComposeError::Collisions(collisions));
    }
    let done = NameChanges {
        values: values.texts(model, |model, value| model.value(value).name()),
        nodes: nodes.texts(model, |model, node| model.node(node).name()),
        functions: functions
            .iter()
            .map(|(function, new)| (FunctionName::of(model, *function), new.clone()))
            .collect(),
        unmatched: Vec::new(),
    };
    interrupt.check()?;
    for &(value, name) in &values.list {
        model.set_value_name(value, name);
    }
    for &(node, name) in &nodes.list {
        model.set_node_name(node, name);
    }
    functions::apply(model, &functions);
    Ok(done)
}

/// Names between two checks of the interrupt.
const WATCHED_NAMES: u64 = 1 << 10;

/// The elements of one kind whose name changes.
struct Changed<K: slotmap::Key> {
    list: Vec<(K, Symbol)>,
    new: SecondaryMap<K, Symbol>,
}

impl<K: slotmap::Key> Changed<K> {
    fn new(
        model: &mut Model,
        names: &[(K, String)],
        interrupt: &Interrupt,
        old: impl Fn(&Model, K) -> Symbol,
    ) -> Result<Self, Stopped> {
        let (mut list, mut new) = (Vec::new(), SecondaryMap::new());
        let mut watch = Watch::silent(interrupt, WATCHED_NAMES);
        for (key, text) in names {
            watch.work(1)?;
            let name = model.intern(text);
            if old(model, *key) != name {
                list.push((*key, name));
                new.insert(*key, name);
            }
        }
        Ok(Self { list, new })
    }

    fn texts(&self, model: &Model, old: impl Fn(&Model, K) -> Symbol) -> Vec<(String, String)> {
        let text = |symbol: Symbol| model.str(symbol).to_owned();
        self.list.iter().map(|&(key, new)| (text(old(model, key)), text(new))).collect()
    }

    fn name(&self, key: K, old: Symbol) -> Symbol {
        self.new.get(key).copied().unwrap_or(old)
    }
}

/// The graphs whose names are seen from the main graph or see it.
fn graphs(model: &Model) -> Vec<GraphId> {
    model.graphs_in(model.main_graph()).collect()
}
