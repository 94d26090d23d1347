//! Guards as text and as metadata, and the test of given shapes against declarations and guards.

use std::collections::{HashMap, HashSet};

use onnx_diag::{Diagnostic, Locus, Quoted, Severity, Sink};
use onnx_ir::{MetadataEntry, Model, Owner, Places, ValueId};
use onnx_types::{Dim, Symbol};

use crate::bind::Violation;
use crate::facts::{Fact, FactScope, Relation, Strength};
use crate::fault::{CONDITIONAL_GUARD, GIVEN_SHAPE, GUARD_VIOLATED};
use crate::given_shape;
use crate::result::Inference;

/// Prefix of the metadata keys that [`Inference::apply_guards`] writes; a number follows.
pub const GUARD_KEY: &str = "onnx.infer.guard.";

/// A condition that inferred results depend on, with its texts. Names are those of the model, unescaped.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Guard {
    /// The fact. [`Strength::Proved`] means that the model cannot run if the condition is violated.
    pub fact: Fact,
    /// The condition in the notation of Python: `1 <= N`, `(N + 1) % 2 == 0`. Names of values are in backticks.
    pub condition: String,
    /// The operator of the node that needs the condition; empty for the interface of the model.
    pub op: String,
    /// The name of that node, or of its first output if it has no name.
    pub node: String,
    /// The nested graph or function that the condition applies to; `None` if it applies to every run of the model.
    pub graph: Option<String>,
    /// Why the condition is needed.
    pub reason: &'static str,
}

impl Guard {
    /// A fact as a guard of a model, with its texts.
    #[must_use]
    pub fn new(model: &Model, inference: &Inference, fact: Fact) -> Self {
        let node = fact.node.and_then(|node| model.get_node(node));
        let name = node.map_or("", |node| match (model.str(node.name()), node.output(0)) {
            ("", Some(output)) => model.str(model.value(output).name()),
            (name, _) => name,
        });
        let reason = match fact.strength {
            Strength::Proved => "the node needs it to run",
            Strength::Assumed => fact.reason,
        };
        Self {
            fact,
            condition: condition(model, inference, fact.relation),
            op: node.map_or("", |node| model.str(node.op())).to_owned(),
            node: name.to_owned(),
            graph: graph(model, fact.scope),
            reason,
        }
    }

    /// The condition, followed by a comment: ``1 <= N  # Slice `s`, if graph `body` runs: …``.
    #[must_use]
    pub fn line(&self) -> String {
        let mut comment = String::new();
        if !self.op.is_empty() {
            comment = format!("{} {}", self.op, Quoted(&self.node));
        }
        if let Some(graph) = &self.graph {
            let comma = if comment.is_empty() { "" } else { ", " };
            comment = format!("{comment}{comma}if {graph} runs");
        }
        let colon = if comment.is_empty() { "" } else { ": " };
        format!("{}  # {comment}{colon}{}", self.condition, self.reason)
    }
}

/// A relation in the notation of Python.
fn condition(model: &Model, inference: &Inference, relation: Relation) -> String {
    let text = |dim: Dim| {
        let text = inference.text(model, dim);
        text.unwrap_or_else(|| "(too long to write)".to_owned())
    };
    let factor = |dim: Dim| match dim {
        Dim::Expr(_) => format!("({})", text(dim)),
        _ => text(dim),
    };
    let name = |value: ValueId| Quoted(model.str(model.value(value).name())).to_string();
    match relation {
        Relation::Equal(a, b) => format!("{} == {}", text(a), text(b)),
        Relation::AtMost(a, b) => format!("{} <= {}", text(a), text(b)),
        Relation::Divides(by, of) => format!("{} % {} == 0", factor(of), factor(by)),
        Relation::Broadcasts(a, b) => {
            // A number other than 1 is not an alternative.
            let is_one = |dim: &&Dim| dim.known().is_none_or(|size| size == 1);
            let ones = [a, b];
            let ones = ones.iter().filter(is_one).map(|&dim| format!(" or {} == 1", text(dim)));
            format!("{} == {}{}", text(a), text(b), ones.collect::<String>())
        }
        Relation::Declared(value) => format!("declared({})", name(value)),
        Relation::Default(value) => format!("default({})", name(value)),
    }
}

fn graph(model: &Model, scope: FactScope) -> Option<String> {
    let FactScope::Graph(graph) = scope else { return None };
    Some(match model.graph(graph).owner() {
        Owner::Function(function) => {
            format!("function {}", Quoted(model.str(model.function(function).name())))
        }
        _ => format!("graph {}", Quoted(model.str(model.graph(graph).name()))),
    })
}

/// Whether a fact is a condition for what is inferred: it is assumed, or it excludes a negative size.
const fn is_guard(fact: &Fact) -> bool {
    match fact.strength {
        Strength::Assumed => true,
        Strength::Proved => matches!(fact.relation, Relation::AtMost(Dim::Known(0), Dim::Expr(_))),
    }
}

impl Inference {
    /// The conditions under which the inferred results hold, in the order in which they were concluded. If all hold, every
    /// inferred dimension is the dimension at run time, and none is negative.
    pub fn guards<'a>(&'a self, model: &'a Model) -> impl Iterator<Item = Guard> + 'a {
        self.conditions(model).map(|fact| Guard::new(model, self, fact))
    }

    /// Returns `true` if any inferred result depends on a guard, other than one that excludes a negative size.
    #[must_use]
    pub fn has_guards(&self, model: &Model) -> bool {
        self.facts.can_have_guards() && self.conditions(model).any(|fact| fact.strength == Strength::Assumed)
    }

    /// The facts that are guards. One that a node proves is a guard of another node unless it is
    /// [discharged](Self::discharged): the proof may depend on it.
    fn conditions<'a>(&'a self, model: &'a Model) -> impl Iterator<Item = Fact> + 'a {
        let discharged: HashSet<Relation> = if self.facts.can_have_guards() {
            self.dependents(model).discharged().collect()
        } else {
            HashSet::new()
        };
        self.facts.conditions().filter_map(move |fact| {
            let is_settled = fact.strength == Strength::Assumed || discharged.contains(&fact.relation);
            let assumed = || {
                let is_assumed = |fact: &&Fact| fact.strength == Strength::Assumed && !fact.is_inherited;
                self.facts.conclusions(fact.relation).find(is_assumed)
            };
            let guard = if is_settled || !self.facts.can_have_guards() { None } else { assumed() };
            guard.or_else(|| is_guard(fact).then_some(fact)).copied()
        })
    }

    /// The conditions that the results for one value can depend on: those of the nodes that it is computed by.
    #[must_use]
    pub fn guards_of(&self, model: &Model, value: ValueId) -> Vec<Guard> {
        let slice = self.slice_of(model, value);
        let facts = self.facts_of(&slice, |fact| is_guard(fact) && !fact.is_inherited);
        facts.into_iter().map(|fact| Guard::new(model, self, fact)).collect()
    }

    /// Writes the guards into the metadata of the model, as entries `onnx.infer.guard.0`, `onnx.infer.guard.1`, … with the
    /// text of [`Guard::line`]. Guards that earlier runs have written remain: the types that they wrote depend on them.
    /// Returns the number of new entries.
    pub fn apply_guards(&self, model: &mut Model) -> usize {
        let entries = model.info().metadata.iter();
        let mut known: Vec<String> = Vec::new();
        let mut next = 0_usize;
        for entry in entries {
            if let Some(number) = model.str(entry.key()).strip_prefix(GUARD_KEY) {
                next = next.max(number.parse().unwrap_or(0_usize).saturating_add(1));
                known.push(entry.value().to_string());
            }
        }
        let known: HashSet<String> = known.into_iter().collect();
        let mut written = 0_usize;
        let lines: Vec<String> = self.guards(model).map(|guard| guard.line()).collect();
        for line in lines.into_iter().filter(|line| !known.contains(line)) {
            let key = model.intern(&format!("{GUARD_KEY}{next}"));
            model.info_mut().metadata.push(MetadataEntry::new(key, line));
            next = next.saturating_add(1);
            written = written.saturating_add(1);
        }
        written
    }

    /// Tests shapes of inputs of the main graph against the declarations and the guards, as [`solve`](Self::solve) does,
    /// and reports each violation: the input, the dimension and both sizes, or the guard, its node and the reason. A guard
    /// of a graph that may not run, or that is assumed, is a warning: the model can run, and inferred results may be others.
    #[must_use]
    pub fn check_shapes(&self, model: &Model, inputs: &[(ValueId, &[i64])]) -> Sink {
        let mut sink = Sink::new();
        let (sizes, violations) = self.solve(model, inputs);
        if violations.is_empty() {
            return sink;
        }
        let places = Places::new(model);
        let sizes: HashMap<Symbol, i64> = sizes.into_iter().collect();
        let size = |symbol| sizes.get(&symbol).copied();
        let name = |value: ValueId| Quoted(model.str(model.value(value).name())).to_string();
        // Advice is about the shape as a whole.
        let mut has_advice = HashSet::new();
        let mut advised = |found: Diagnostic, input: ValueId| {
            if !has_advice.insert(input) {
                return found;
            }
            let given = inputs.iter().find(|(other, _)| *other == input).map(|&(_, given)| given);
            match given.and_then(|given| given_shape::advice(model, self, input, given)) {
                Some(advice) => found.help(advice),
                None => found,
            }
        };
        for violation in violations {
            let found = match violation {
                Violation::Rank { input, declared, found } => {
                    let message = format!(
                        "input {} has rank {declared}, and a shape of rank {found} is given",
                        name(input)
                    );
                    advised(Diagnostic::new(&GIVEN_SHAPE, places.definition(input), message), input)
                }
                Violation::Size { input, axis, dim, declared, found } => {
                    let wanted = wanted_size(model, self, dim, declared);
                    let message = format!(
                        "dimension {axis} of input {} is {wanted}, and {found} is given",
                        name(input)
                    );
                    advised(Diagnostic::new(&GIVEN_SHAPE, places.definition(input), message), input)
                }
                Violation::Fact(fact) | Violation::Scoped(fact) => {
                    let guard = Guard::new(model, self, fact);
                    let place = fact.node.map_or_else(Locus::model, |node| places.node(node));
                    let message = format!("{} does not hold: {}", guard.condition, guard.reason);
                    let sides = substituted(model, self, fact.relation, size);
                    match guard.graph {
                        // A run with these shapes may end, with other shapes than those inferred.
                        None if fact.strength == Strength::Assumed => {
                            let found = Diagnostic::new(&GUARD_VIOLATED, place, message).note(sides);
                            Diagnostic { severity: Severity::Warning, ..found }
                        }
                        None => Diagnostic::new(&GUARD_VIOLATED, place, message).note(sides),
                        Some(graph) => Diagnostic::new(&CONDITIONAL_GUARD, place, message)
                            .note(format!("{sides}; it applies only if {graph} runs")),
                    }
                }
            };
            sink.report(found);
        }
        sink
    }
}

/// What a dimension is declared as, and its size if that follows from the others.
fn wanted_size(model: &Model, inference: &Inference, dim: Dim, declared: Option<i64>) -> String {
    let condition = condition_of(model, inference, dim);
    match (dim, declared) {
        (Dim::Known(_), _) | (_, None) => condition,
        (_, Some(declared)) => format!("{condition}, which is {declared}"),
    }
}

fn condition_of(model: &Model, inference: &Inference, dim: Dim) -> String {
    inference.text(model, dim).unwrap_or_else(|| "unknown".to_owned())
}

/// The sizes of the two sides of a relation.
fn substituted(
    model: &Model,
    inference: &Inference,
    relation: Relation,
    size: impl Fn(Symbol) -> Option<i64>,
) -> String {
    let (Relation::Equal(a, b)
    | Relation::AtMost(a, b)
    | Relation::Divides(a, b)
    | Relation::Broadcasts(a, b)) = relation
    else {
        return String::new();
    };
    let sides = [a, b].map(|dim| {
        let text = condition_of(model, inference, dim);
        match (dim, inference.exprs().eval(dim, &size)) {
            (Dim::Known(_), _) | (_, None) => text,
            (_, Some(size)) => format!("{text} is {size}"),
        }
    });
    let sides: Vec<&str> = [a, b]
        .iter()
        .zip(&sides)
        .filter(|(dim, _)| dim.known().is_none())
        .map(|(_, side)| side.as_str())
        .collect();
    sides.join(", ")
}

/// Reads shapes of inputs: `x=2x128,length=` is an input `x` of shape `[2, 128]` and a scalar `length`.
///
/// # Errors
///
/// With a message if an entry has no `=`, or a size is not a number of 0 or more.
pub fn parse_shapes(text: &str) -> Result<Vec<(String, Vec<i64>)>, String> {
    let mut shapes = Vec::new();
    for entry in text.split(',') {
        let (name, sizes) = entry
            .rsplit_once('=')
            .filter(|(name, _)| !name.is_empty())
            .ok_or_else(|| format!("`{entry}` is not NAME=SIZES, such as `x=2x128`"))?;
        let mut shape = Vec::new();
        for size in sizes.split('x').filter(|_| !sizes.is_empty()) {
            match size.parse() {
                Ok(size) if size >= 0 => shape.push(size),
                _ => return Err(format!("`{size}` in `{entry}` is not a size: write a number of 0 or more")),
            }
        }
        shapes.push((name.to_owned(), shape));
    }
    Ok(shapes)
}
