//! The state of a run, except its current graph and node.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::hash::BuildHasher as _;
use std::sync::OnceLock;

use foldhash::fast::RandomState;
use onnx_diag::Rule;
use onnx_ir::{GraphId, Model, NodeId, ValueId};
use onnx_types::expr::{ExprTable, SymbolBounds};
use onnx_types::tensor::{Tensor, TensorError};
use onnx_types::{Dim, ExprId, Symbol};
use slotmap::SecondaryMap;

use super::control::Known;
use super::frame::Runs;
use crate::content::{self, Content};
use crate::dependents::Dependents;
use crate::facts::{Answers, Fact, FactScope, Facts, Premise, Question, Relation, Strength};
use crate::fault;
use crate::naming::Named;
use crate::options::InferOptions;
use crate::table::Table;

/// A contradiction, before its place is looked up.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    pub(crate) rule: &'static Rule,
    pub(crate) node: Option<NodeId>,
    pub(crate) value: Option<ValueId>,
    pub(crate) message: String,
    /// Whether the contradiction is in a graph that need not run, so that the model may be valid.
    pub(crate) is_conditional: bool,
    /// The node of the outermost graph during whose visit it was found.
    pub(crate) root: Option<NodeId>,
    /// The limit that was exceeded, if it is not a contradiction.
    pub(crate) limit: Option<&'static str>,
}

/// What a contradiction follows from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Basis {
    /// Sizes, axes or elements, which are those of a run: if the node is not executed, nothing is contradicted.
    Sizes,
    /// Kinds of values, element types, or numbers of inputs, outputs and attributes: a file whose declarations contradict
    /// these is not valid, whether or not the node is executed.
    Structure,
}

/// Where the node that is being visited is.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Site {
    pub(crate) runs: Runs,
    /// Its graph.
    pub(crate) graph: GraphId,
    /// The node of the outermost graph that is being visited: the node itself, or one that leads to it.
    pub(crate) root: Option<NodeId>,
}

impl Site {
    /// Where facts that are concluded here hold. `None` if this is never executed.
    pub(crate) const fn scope(&self) -> Option<FactScope> {
        match self.runs {
            Runs::Always => Some(FactScope::Model),
            Runs::Maybe => Some(FactScope::Graph(self.graph)),
            Runs::Never => None,
        }
    }
}

/// Contradictions beyond this number are counted as one. Each costs memory, and users do not read that many.
const MAX_FAILURES: usize = 10_000;

/// The expressions of a model in the table of the results.
pub(crate) type Imported = HashMap<ExprId, Dim, RandomState>;

/// The unnamed symbols that were made for sizes which nothing is known about, by the place of the size.
///
/// A place has one symbol however often it is visited, so that visiting it again gives the same result; but a place in a
/// nested graph or a function has one for each visit of the graph, as what was concluded in one visit need not hold in the
/// next.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fresh {
    places: HashMap<(ValueId, u32, u32), Symbol, RandomState>,
    /// The place of each symbol, by the number of the symbol.
    origins: Vec<(ValueId, u32)>,
    visits: SecondaryMap<GraphId, u32>,
    /// The symbols that replace symbols of a nested graph outside of it: by the outer value, the visit of that value's
    /// graph, and the inner symbol.
    exported: HashMap<(ValueId, u32, Symbol), Symbol, RandomState>,
}

impl Fresh {
    pub(crate) fn origin(&self, symbol: Symbol) -> Option<(ValueId, u32)> {
        self.origins.get(symbol.number()? as usize).copied()
    }

    pub(crate) const fn count(&self) -> usize {
        self.origins.len()
    }
}

/// An unnamed symbol for a place.
fn number(origins: &mut Vec<(ValueId, u32)>, place: (ValueId, u32)) -> Symbol {
    // Memory ends long before the numbers do.
    let number = u32::try_from(origins.len()).unwrap_or(u32::MAX);
    origins.push(place);
    Symbol::unnamed(number)
}

pub(crate) struct State<'m> {
    pub(crate) model: &'m Model,
    pub(crate) options: &'m InferOptions<'m>,
    /// The expressions of the results; those of the model are in its own table.
    pub(crate) exprs: ExprTable,
    /// The expressions of the model that were read, as expressions of the results.
    pub(crate) imported: Imported,
    /// The names that symbols of the results have in the model.
    pub(crate) named: Named,
    pub(crate) table: Table,
    pub(crate) facts: Facts,
    pub(crate) fresh: Fresh,
    pub(crate) failures: Vec<Failure>,
    /// What was found before an edit.
    pub(crate) earlier: Option<(Facts, Vec<Failure>)>,
    /// The formal inputs of functions that the current call leaves out.
    absent: SecondaryMap<ValueId, ()>,
    /// The visit of a function that is under way, by its number; 0 outside of functions.
    pub(crate) call: u32,
    pub(crate) site: Site,
    /// How many expressions all visits to come may make together; each visit adds some.
    step_credit: usize,
    /// How loops were widened when they were last visited, and in which visit of a function.
    pub(crate) widened: HashMap<NodeId, (u32, Vec<Known>), RandomState>,
    /// The positions of the reported contradictions by their hashes: bodies are visited more than once.
    reported: HashMap<u64, usize, RandomState>,
    pub(crate) bodies: super::bodies::Bodies,
    /// The nodes of the main graph that the results in function bodies rest on: those that are calls or contain calls.
    /// None if nothing is known about function bodies.
    pub(crate) callers: SecondaryMap<NodeId, ()>,
    /// What texts of declared sizes mean.
    pub(super) read: HashMap<Symbol, Dim, RandomState>,
    /// The names that are by themselves sizes of the main graph's inputs; other sizes are expressions of these.
    pub(crate) variables: HashSet<Symbol, RandomState>,
    /// The graphs that are not known to be executed in every run.
    pub(crate) conditional: SecondaryMap<GraphId, ()>,
    /// For updates: what depended on guards before.
    pub(crate) dependents: OnceLock<Dependents>,
    hasher: RandomState,
    answers: RefCell<Answers>,
    /// The sizes that the node relies on not to be negative.
    relied: RefCell<Vec<ExprId>>,
    /// Whether the rule of the node needs an assumption that the options exclude.
    pub(crate) is_refused: bool,
}

impl<'m> State<'m> {
    /// Begins the count of expressions for a visit of a node.
    pub(super) fn begin_steps(&mut self) {
        let limit = self.options.execution.limits.expression_steps;
        // A visit of a node in a real model takes fewer steps than it adds, so only nodes that take hundreds are limited together.
        self.step_credit = self.step_credit.saturating_add(limit / 256);
        self.exprs.allow_steps(Some(limit.min(self.step_credit)));
    }

    /// Ends the count. Returns `true` if the limit was exceeded.
    pub(super) fn end_steps(&mut self) -> bool {
        let allowed = self.options.execution.limits.expression_steps.min(self.step_credit);
        let left = self.exprs.steps_left().unwrap_or(allowed);
        self.step_credit = self.step_credit.saturating_sub(allowed.saturating_sub(left));
        let ran_out = self.exprs.ran_out_of_steps();
        self.exprs.allow_steps(None);
        ran_out
    }

    /// The state of a run; `variables` are those of the inputs, which take time linear in the inputs to find.
    pub(crate) fn new(
        model: &'m Model,
        options: &'m InferOptions<'m>,
        variables: HashSet<Symbol, RandomState>,
    ) -> Self {
        Self {
            model,
            options,
            exprs: ExprTable::separate(),
            imported: Imported::default(),
            named: Named::default(),
            table: Table::default(),
            facts: Facts::default(),
            fresh: Fresh::default(),
            failures: Vec::new(),
            earlier: None,
            absent: SecondaryMap::new(),
            call: 0,
            site: Site::default(),
            step_credit: options.execution.limits.expression_steps.saturating_mul(16),
            widened: HashMap::default(),
            reported: HashMap::default(),
            bodies: super::bodies::Bodies::unused(),
            callers: SecondaryMap::new(),
            read: HashMap::default(),
            variables,
            conditional: SecondaryMap::new(),
            dependents: OnceLock::new(),
            hasher: RandomState::default(),
            answers: RefCell::default(),
            relied: RefCell::default(),
            is_refused: false,
        }
    }

    pub(crate) fn fail(&mut self, rule: &'static Rule, node: NodeId, message: impl fmt::Display) {
        self.failure(rule, Some(node), None, message);
    }

    /// Reports a contradiction of a node or a value.
    pub(crate) fn failure(
        &mut self,
        rule: &'static Rule,
        node: Option<NodeId>,
        value: Option<ValueId>,
        message: impl fmt::Display,
    ) {
        let basis = if fault::depends_on_sizes(rule) { Basis::Sizes } else { Basis::Structure };
        self.contradiction(rule, basis, (node, value), message);
    }

    /// Reports a contradiction whose basis is another one than that of most contradictions of the rule.
    pub(crate) fn contradiction(
        &mut self,
        rule: &'static Rule,
        basis: Basis,
        (node, value): (Option<NodeId>, Option<ValueId>),
        message: impl fmt::Display,
    ) {
        let (message, root) = (message.to_string(), self.site.root);
        let failure = Failure { rule, node, value, message, is_conditional: false, root, limit: None };
        self.record(failure, basis);
    }

    /// Reports a limit that ends the visit of a node.
    pub(crate) fn exceeded(&mut self, limit: &'static str, node: Option<NodeId>, what: &str) {
        self.out_of_bounds(limit, (node, None), format!("{what}: raise the limit `{limit}`"));
    }

    /// The elements of a constant of at most `max` elements, as far as they can be read.
    pub(crate) fn elements_of(
        &mut self,
        tensor: &Tensor,
        max: usize,
        at: (Option<NodeId>, Option<ValueId>),
    ) -> Option<Content> {
        match content::of_tensor(tensor, self.options.data, max)? {
            Ok(content) => Some(content),
            Err(TensorError::Data(error)) => {
                if let Some(limit) = error.limit() {
                    self.out_of_bounds(limit, at, error.to_string());
                }
                None
            }
            Err(_) => None,
        }
    }

    fn out_of_bounds(
        &mut self,
        limit: &'static str,
        (node, value): (Option<NodeId>, Option<ValueId>),
        message: String,
    ) {
        let (rule, root) = (&fault::LIMIT, self.site.root);
        let basis = if fault::depends_on_sizes(rule) { Basis::Sizes } else { Basis::Structure };
        let failure = Failure { rule, node, value, message, is_conditional: false, root, limit: Some(limit) };
        self.record(failure, basis);
    }

    /// Keeps what was found, once.
    fn record(&mut self, failure: Failure, basis: Basis) {
        let runs = self.site.runs;
        // What depends on sizes contradicts the model only if the node is executed.
        let is_conditional = runs != Runs::Always && basis == Basis::Sizes && !self.options.every_graph;
        if is_conditional && runs == Runs::Never {
            return;
        }
        let Failure { rule, node, value, ref message, .. } = failure;
        let hash = self.hasher.hash_one((node, value, rule.code, message));
        let known = self.reported.get(&hash).and_then(|&at| self.failures.get_mut(at));
        if let Some(known) = known {
            known.is_conditional &= is_conditional;
        } else if self.failures.len() < MAX_FAILURES {
            self.reported.insert(hash, self.failures.len());
            self.failures.push(Failure { is_conditional, ..failure });
        }
    }

    /// Records a fact that was concluded at a node, for the graph that is being visited.
    pub(crate) fn conclude(
        &mut self,
        relation: Relation,
        strength: Strength,
        node: Option<NodeId>,
        reason: &'static str,
    ) {
        let root = self.site.root;
        if let Some(scope) = self.site.scope() {
            self.facts.add(Fact { relation, strength, node, scope, reason, root, is_inherited: false });
        }
    }

    /// Number of facts and contradictions that were found so far.
    pub(crate) fn conclusions(&self) -> u64 {
        self.facts.concluded().wrapping_add(self.failures.len() as u64)
    }

    /// Records a guard that an expression, the size of an output of a node, is not negative, unless that is proved or the
    /// rule of the node has recorded it.
    pub(crate) fn guard_size(&mut self, node: NodeId, size: ExprId) {
        let is_guarded_earlier = || {
            let premise = self.earlier.as_ref().and_then(|_| self.facts.premise(size));
            premise.is_some_and(|premise| self.is_concluded_earlier(premise.relation) == Some(true))
        };
        if self.facts.is_guarded(size) || is_guarded_earlier() {
            self.relied.borrow_mut().push(size);
            return;
        }
        let scope = self.site.scope();
        if !self.facts.is_never_negative(&self.exprs, size) {
            let reason = "a size must not be negative";
            let excluded = self.facts.excludes_negative(&mut self.exprs, node, size);
            let relation = excluded.unwrap_or(Relation::AtMost(Dim::Known(0), Dim::Expr(size)));
            if excluded.is_none() {
                self.conclude(relation, Strength::Assumed, Some(node), reason);
            }
            let reason = self.facts.primary(relation).map_or(reason, |fact| fact.reason);
            self.facts.set_premise(size, Premise { relation, reason });
        }
        // A guard of a graph that may not be executed does not cover the rest of the model.
        if scope == Some(FactScope::Model) {
            self.facts.set_guarded(size);
        }
    }

    /// Makes the sizes of an output of a node unknown that can be negative, if the options exclude assumptions.
    pub(crate) fn forget_negative(&mut self, node: NodeId, dims: &mut [Dim]) {
        if self.options.assumed {
            return;
        }
        for dim in dims {
            if let Dim::Expr(size) = *dim
                && !self.facts.is_size(size)
                && !self.facts.is_never_negative(&self.exprs, size)
                && self.facts.excludes_negative(&mut self.exprs, node, size).is_none()
            {
                *dim = Dim::Unknown;
            }
        }
    }

    /// Whether a node before the one that is visited, whose conclusions an update keeps, concluded a relation; `None` if no
    /// node did.
    fn is_concluded_earlier(&self, relation: Relation) -> Option<bool> {
        let (earlier, _) = self.earlier.as_ref()?;
        let order = |node: NodeId| self.model.get_node(node).map(|_| self.model.order_key(node));
        let first = earlier.first_of(relation, order)?;
        Some(self.site.root.and_then(order).is_some_and(|at| first < at))
    }

    /// Whether a size is known not to be negative at the node that is visited. In an update, nodes behind it have concluded
    /// relations, too.
    fn has_premise(&self, size: ExprId) -> bool {
        let premise = self.earlier.as_ref().and_then(|_| self.facts.premise(size));
        premise.is_none_or(|premise| {
            let is_new = |fact: &Fact| fact.scope == FactScope::Model && !fact.is_inherited;
            self.is_concluded_earlier(premise.relation) != Some(false)
                || self.facts.primary(premise.relation).is_some_and(is_new)
        })
    }

    /// Forgets what an earlier run concluded from a node of the main graph, before the node is visited again.
    pub(crate) fn forget_root(&mut self, root: NodeId) {
        let Some((mut earlier, failures)) = self.earlier.take() else { return };
        let model = self.model;
        let order = |node: NodeId| model.get_node(node).map(|_| model.order_key(node));
        for relation in earlier.remove_root(root, order) {
            if let Relation::AtMost(low, high) = relation
                && earlier.first_of(relation, order).is_none()
                && self.facts.primary(relation).is_none()
                && let Dim::Expr(size) = self.exprs.sub(high, low)
                && self.facts.premise(size).is_some_and(|premise| premise.relation == relation)
            {
                self.facts.remove_premise(size);
            }
        }
        self.earlier = Some((earlier, failures));
    }

    /// Records for a node that it relies on sizes not being negative. Where an input has the size, the nodes that the input
    /// comes from have recorded it.
    pub(crate) fn inherit_premises(&mut self, node: NodeId) {
        let mut relied = std::mem::take(self.relied.get_mut());
        relied.sort_unstable();
        relied.dedup();
        for &size in &relied {
            let Some(Premise { relation, reason }) = self.facts.premise(size) else { continue };
            let inputs = self.model.node(node).inputs().flatten();
            let has_size = |value| self.table.dims(value).is_some_and(|dims| dims.contains(&Dim::Expr(size)));
            let is_own = || {
                let root = self.site.root;
                self.facts.primary(relation).is_some_and(|fact| fact.root == root && !fact.is_inherited)
            };
            if is_own() || inputs.into_iter().any(has_size) {
                continue;
            }
            let (strength, root) = (Strength::Assumed, self.site.root);
            if let Some(scope) = self.site.scope() {
                let node = Some(node);
                self.facts.add(Fact { relation, strength, node, scope, reason, root, is_inherited: true });
            }
        }
        relied.clear();
        *self.relied.get_mut() = relied;
    }

    /// What algebra and the intervals of symbols answer; `None` when they do not.
    pub(crate) fn ask(&self, question: Question, a: Dim, b: Dim) -> Option<bool> {
        if let (Question::AtMost, Dim::Known(..=0), Dim::Expr(size)) = (question, a, b)
            && self.facts.is_size(size)
            && self.has_premise(size)
        {
            self.relied.borrow_mut().push(size);
            return Some(true);
        }
        self.answers.borrow_mut().ask(&self.facts, &self.exprs, question, a, b)
    }

    pub(crate) fn is_absent(&self, value: ValueId) -> bool {
        self.absent.contains_key(value)
    }

    pub(crate) fn set_absent(&mut self, value: ValueId, is_absent: bool) {
        if is_absent {
            self.absent.insert(value, ());
        } else {
            self.absent.remove(value);
        }
    }

    /// The symbol for the unknown size at a place.
    pub(crate) fn fresh(&mut self, value: ValueId, axis: u32) -> Symbol {
        let visit = self.visit_of(value);
        let Fresh { places, origins, .. } = &mut self.fresh;
        *places.entry((value, axis, visit)).or_insert_with(|| number(origins, (value, axis)))
    }

    /// Records the end of a visit of a graph: the next visit creates new symbols.
    pub(crate) fn end_visit(&mut self, graph: GraphId) {
        if let Some(entry) = self.fresh.visits.entry(graph) {
            let visits = entry.or_insert(0);
            *visits = visits.wrapping_add(1);
        }
    }

    /// Whether a symbol was made by this run.
    pub(crate) fn is_fresh(&self, symbol: Symbol) -> bool {
        self.origin(symbol).is_some()
    }

    /// The place that a symbol was made for.
    pub(crate) fn origin(&self, symbol: Symbol) -> Option<(ValueId, u32)> {
        self.fresh.origin(symbol)
    }

    /// The graph of the value that a symbol was made for; `None` if the value was erased. Values of functions and nested
    /// graphs have no symbols of erased ones: an edit of a function leads to a new run, and a nested graph that was edited
    /// is visited again.
    pub(crate) fn origin_graph(&self, symbol: Symbol) -> Option<GraphId> {
        let (value, _) = self.origin(symbol)?;
        self.model.get_value(value).map(|_| self.model.graph_of(value))
    }

    /// Gives every unknown size a symbol.
    pub(crate) fn materialize(&mut self, value: ValueId, dims: &mut [Dim]) {
        for (axis, dim) in dims.iter_mut().enumerate() {
            if dim.is_unknown() {
                *dim = Dim::Var(self.fresh(value, u32::try_from(axis).unwrap_or(u32::MAX)));
            }
        }
    }

    /// Replaces the symbols that were made inside a graph by symbols of `owner`, a value outside of it: what a run of the
    /// graph does not determine may be another number in the next run.
    pub(crate) fn export(&mut self, dim: Dim, inside: GraphId, owner: ValueId) -> Dim {
        let local: Vec<Symbol> =
            self.exprs.symbols(dim).into_iter().filter(|&symbol| self.is_local(symbol, inside)).collect();
        if local.is_empty() {
            return dim;
        }
        let outer: Vec<Symbol> = local.iter().map(|&symbol| self.outside(symbol, owner)).collect();
        let binding = |symbol| {
            local
                .iter()
                .position(|&other| other == symbol)
                .and_then(|at| outer.get(at))
                .map(|&to| Dim::Var(to))
        };
        self.exprs.substitute(dim, &binding)
    }

    /// Whether a symbol was made in a graph or in one nested in it.
    pub(crate) fn is_local(&self, symbol: Symbol, inside: GraphId) -> bool {
        self.origin_graph(symbol).is_some_and(|graph| self.model.is_inside(graph, inside))
    }

    /// The symbol of `owner` for a symbol made in a graph that `owner` is outside of; the same one for the same symbol.
    fn outside(&mut self, symbol: Symbol, owner: ValueId) -> Symbol {
        let key = (owner, self.visit_of(owner), symbol);
        if let Some(&known) = self.fresh.exported.get(&key) {
            return known;
        }
        let outer = number(&mut self.fresh.origins, (owner, u32::MAX));
        self.fresh.exported.insert(key, outer);
        let bounds = SymbolBounds::bounds(&self.facts, symbol);
        self.facts.bound(outer, bounds.lo, bounds.hi);
        outer
    }

    fn visit_of(&self, value: ValueId) -> u32 {
        self.fresh.visits.get(self.model.graph_of(value)).copied().unwrap_or(0)
    }

    /// Forgets what is known about the values of a graph and of those nested in it, where it may not hold in every run.
    pub(crate) fn forget_graph(&mut self, graph: GraphId) {
        let model = self.model;
        for graph in model.graphs_in(graph) {
            for &value in model.graph(graph).inputs() {
                self.table.clear(value);
            }
            for node in model.nodes(graph) {
                for &value in model.node(node).outputs().iter().flatten() {
                    self.table.clear(value);
                }
            }
        }
    }
}

/// The dimension variables of the main graph's inputs, and those that the caller gives sizes.
pub(crate) fn variables(model: &Model, options: &InferOptions<'_>) -> HashSet<Symbol, RandomState> {
    let inputs = model.graph(model.main_graph()).inputs().iter();
    let shapes = inputs.filter_map(|&input| model.value(input).ty()?.shape());
    let names = shapes.flat_map(onnx_types::Shape::dims).filter_map(|dim| match dim {
        Dim::Var(name) => Some(*name),
        _ => None,
    });
    names.chain(options.sizes.iter().map(|&(name, _)| name)).collect()
}
