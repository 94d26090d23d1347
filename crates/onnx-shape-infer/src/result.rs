//! The result of a run: a table separate from the model.

use std::collections::HashSet;
use std::sync::{Arc, OnceLock};

use foldhash::fast::RandomState;
use onnx_diag::{Caps, Diagnostic, Locus, Rule, STOPPED, Severity, Sink};
use onnx_ir::{CallGraph, Changes, GraphId, Model, NodeId, ValueId, ValueTypes};
use onnx_types::expr::ExprTable;
use onnx_types::{Dim, ElemType, Stopped, Symbol, Type};
use slotmap::SecondaryMap;

use crate::content::Content;
use crate::dependents::{Dependents, Granted};
use crate::engine::state::{Failure, Fresh, Imported};
use crate::engine::{Engine, Interface};
use crate::facts::Facts;
use crate::fault::LIMIT;
use crate::findings::findings;
use crate::naming::Named;
use crate::options::InferOptions;
use crate::table::Table;
use crate::ty::Ty;

/// What was inferred about a model: types, shapes and small contents of its values, and the facts they rest on.
///
/// It belongs to the model that it was made from, which it does not change. Symbols with a name are those of the model.
/// Symbols that inference made are [unnamed](Symbol::unnamed), and expressions are in a [table of the
/// result](Self::exprs): [`display`](Self::display) prints dimensions, and [`apply`](Self::apply) and
/// [`intern`](Self::intern) add what they need to the tables of the model.
#[derive(Clone)]
pub struct Inference {
    pub(crate) exprs: ExprTable,
    pub(crate) imported: Imported,
    pub(crate) named: Named,
    pub(crate) table: Table,
    pub(crate) facts: Facts,
    pub(crate) fresh: Fresh,
    pub(crate) failures: Vec<Failure>,
    pub(crate) findings: Sink,
    /// For updates: the dimension variables of the inputs, and what declarations say.
    pub(crate) variables: HashSet<Symbol, RandomState>,
    /// The graphs that are not known to be executed in every run.
    pub(crate) conditional: SecondaryMap<GraphId, ()>,
    /// The nodes of the main graph that the results in function bodies rest on.
    pub(crate) callers: SecondaryMap<NodeId, ()>,
    pub(crate) interface: Interface,
    pub(crate) stopped: Option<Stopped>,
    /// See [`Inference::work`].
    pub(crate) work: u64,
    /// Whether the model may have been edited: see [`Inference::find_dependents`].
    pub(crate) is_behind: bool,
    /// Relations that hold whatever the model proves.
    pub(crate) granted: Granted,
    /// What depends on guards; made by the first question.
    pub(crate) dependents: OnceLock<Dependents>,
}

/// Infers the types and shapes of all values of the main graph and of the graphs nested in it.
///
/// # Panics
///
/// When the arenas of the model do not fit together (see [`Model::verify`]), or when a custom rule panics.
#[must_use]
pub fn infer(model: &Model, options: &InferOptions<'_>) -> Inference {
    run(model, options, None, |engine| {
        engine.run();
        true
    })
    .unwrap_or_default()
}

/// Runs an engine over a model; `None` where `work` returns `false`.
fn run(
    model: &Model,
    options: &InferOptions<'_>,
    before: Option<Inference>,
    work: impl FnOnce(&mut Engine<'_>) -> bool,
) -> Option<Inference> {
    // What is known of recursion stays known: edits of functions are not followed.
    let cycles = if before.is_some() { Vec::new() } else { cycles(model, options) };
    let mut engine = Engine::new(model, options, before);
    engine.cycles = cycles;
    let done = work(&mut engine);
    let inference = Inference::from(engine);
    // A run that was stopped has the result of no work at all, however far it came.
    (done || inference.stopped.is_some()).then(|| inference.with_findings(model, options))
}

/// For each cycle of calls, the node that closes it.
pub(crate) fn cycles(model: &Model, options: &InferOptions<'_>) -> Vec<NodeId> {
    if model.functions().is_empty() {
        return Vec::new();
    }
    CallGraph::new(model, options.registry).cycles().map(|(_, cycle)| cycle.node).collect()
}

impl From<Engine<'_>> for Inference {
    fn from(engine: Engine<'_>) -> Self {
        if let Some(stopped) = engine.stopped {
            return Self { stopped: Some(stopped), ..Self::default() };
        }
        let state = engine.state;
        Self {
            exprs: state.exprs,
            imported: state.imported,
            named: state.named,
            table: state.table,
            facts: state.facts,
            fresh: state.fresh,
            failures: state.failures,
            variables: state.variables,
            conditional: state.conditional,
            callers: state.callers,
            dependents: state.dependents,
            interface: engine.interface,
            work: engine.work,
            ..Self::default()
        }
    }
}

impl Default for Inference {
    /// The result about an empty model.
    fn default() -> Self {
        Self {
            exprs: ExprTable::separate(),
            imported: Imported::default(),
            named: Named::default(),
            table: Table::default(),
            facts: Facts::default(),
            fresh: Fresh::default(),
            failures: Vec::new(),
            findings: Sink::default(),
            variables: HashSet::default(),
            conditional: SecondaryMap::default(),
            callers: SecondaryMap::default(),
            interface: Interface::default(),
            stopped: None,
            work: 0,
            is_behind: false,
            granted: Granted::default(),
            dependents: OnceLock::new(),
        }
    }
}

impl Inference {
    /// Looks up the places of what was found.
    pub(crate) fn with_findings(self, model: &Model, options: &InferOptions<'_>) -> Self {
        let limits = &options.execution.limits;
        let caps = Caps { per_rule: limits.findings_per_rule, total: limits.findings };
        let mut findings = findings(model, &self, caps);
        if let Some(stopped) = self.stopped {
            let message = format!("inference was stopped: {stopped}");
            findings.report(Diagnostic::new(&STOPPED, Locus::model(), message));
        }
        Self { findings, ..self }
    }

    /// Infers again what edits of the model can have changed: the edited nodes, and every later node whose inputs
    /// change as a result. The result is that of [`infer`] on the edited model, except for the numbers of new symbols
    /// and the order of facts.
    ///
    /// `changes` are those since the revision at which this result was inferred, with the same options:
    ///
    /// ```
    /// use onnx_shape_infer::{InferOptions, infer};
    /// use onnx_text::{ParseOptions, parse_model};
    ///
    /// let text = r#"<ir_version: 10, opset_import: ["": 20]>
    ///     g (float[N, 4] x) => (y) { a = Relu (x)  y = Transpose (a) }"#;
    /// let mut model = parse_model(text, &ParseOptions::default())?;
    /// let options = InferOptions::default();
    /// let revision = model.revision();
    /// let inference = infer(&model, &options);
    ///
    /// let graph = model.main_graph();
    /// let (relu, x) = (model.graph(graph).first().unwrap(), model.graph(graph).inputs()[0]);
    /// model.replace_node(relu, &[Some(x)])?;
    ///
    /// let changes = model.changes_since(&revision);
    /// let inference = inference.update(&model, &options, &changes);
    /// let y = model.graph(graph).outputs()[0].value();
    /// assert_eq!(inference.shape(y).map(<[_]>::len), Some(2));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// The cost is proportional to the edits, the nodes that they affect, and the number of known contradictions; the
    /// first update also builds an index of the facts. The whole model is inferred again if the changes are not
    /// recorded, and after edits of functions, of versions, and of the symbols in the inputs of the model.
    ///
    /// The values in function bodies are an exception: nothing is known about them after an update that concerns a call, or
    /// that finds a contradiction, as their results are what all calls have in common. [`infer`] finds them again.
    ///
    /// # Panics
    ///
    /// As for [`infer`].
    #[must_use]
    pub fn update(self, model: &Model, options: &InferOptions<'_>, changes: &Changes) -> Self {
        let granted = Arc::clone(&self.granted);
        let updated = match (changes, self.stopped) {
            (Changes::Edits(edits), None) if edits.is_empty() => return self,
            (Changes::Edits(edits), None) => run(model, options, Some(self), |engine| engine.update(edits)),
            _ => None,
        };
        Self { granted, ..updated.unwrap_or_else(|| infer(model, options)) }
    }

    /// Keeps the relations between dimension variables of inputs that this model proves, through all updates: edits that are
    /// made one after the other need only preserve runs in which the model before them completes. A node that proves a
    /// relation can then be removed without the guards of other nodes becoming active. Nodes that no output depends on do not
    /// count, as runtimes may skip them.
    pub fn grant_proved(&mut self, model: &Model) {
        let is_variable = |dim: Dim| match dim {
            Dim::Known(_) => true,
            Dim::Var(symbol) => self.variables.contains(&symbol),
            _ => false,
        };
        let granted: HashSet<_, _> = self.dependents(model).proved(model, &self.facts, is_variable).collect();
        self.granted = Arc::new(granted);
        self.dependents.take();
    }

    /// Gives a value what is known about another one, where nothing is known about it: for an edit that replaces `from` by
    /// a value that is equal in every run.
    pub fn adopt(&mut self, value: ValueId, from: ValueId) {
        self.table.adopt(value, from);
    }

    /// Lets the next [question](Self::depends_on_guards) begin anew, so that guards that updates have removed do not count.
    pub fn forget_dependents(&mut self) {
        self.dependents.take();
    }

    /// Returns `Some` if the run was [interrupted](onnx_types::Interrupt). Nothing is known about any value then, and the
    /// only finding is [`STOPPED`].
    #[must_use]
    pub const fn stopped(&self) -> Option<Stopped> {
        self.stopped
    }

    /// Work of the last run or update: the visits of nodes, each with the operands and results of the node. An
    /// [update](Self::update) after an edit of a node with many operands, or in a large nested graph or a function, takes much.
    #[must_use]
    pub const fn work(&self) -> u64 {
        self.work
    }

    /// The expressions in the results.
    #[must_use]
    pub const fn exprs(&self) -> &ExprTable {
        &self.exprs
    }

    /// The type of a value.
    #[must_use]
    pub fn ty(&self, value: ValueId) -> Ty {
        self.table.ty(value)
    }

    /// The element type of a tensor value.
    #[must_use]
    pub fn elem(&self, value: ValueId) -> Option<ElemType> {
        self.table.elem(value)
    }

    /// The dimensions of a tensor value, if its rank is known.
    #[must_use]
    pub fn shape(&self, value: ValueId) -> Option<&[Dim]> {
        self.table.dims(value)
    }

    /// The elements of a small tensor value, in row-major order, as far as they were followed.
    #[must_use]
    pub fn content(&self, value: ValueId) -> Option<&Content> {
        self.table.content(value)
    }

    /// What was concluded about dimensions.
    #[must_use]
    pub const fn facts(&self) -> &Facts {
        &self.facts
    }

    /// The contradictions that were found.
    #[must_use]
    pub const fn findings(&self) -> &Sink {
        &self.findings
    }

    /// Whether an error is among the [findings](Self::findings). An exceeded limit is none: it is not a defect of the model.
    #[must_use]
    pub fn has_errors(&self) -> bool {
        let limits = self.findings.rule_counts().find(|count| *count.rule == LIMIT);
        self.findings.counts().errors > limits.map_or(0, |count| count.found)
    }

    /// The nodes that contradict themselves in every run of the model, each with the rule and the message.
    pub fn contradicted(&self) -> impl Iterator<Item = (NodeId, &'static Rule, &str)> {
        let is_always = |failure: &&Failure| {
            !failure.is_conditional
                && failure.rule.severity == Severity::Error
                && failure.rule.code != LIMIT.code
        };
        self.failures
            .iter()
            .filter(is_always)
            .filter_map(|failure| Some((failure.node?, failure.rule, failure.message.as_str())))
    }

    /// Number of symbols that inference made.
    #[must_use]
    pub const fn symbol_count(&self) -> usize {
        self.fresh.count()
    }

    /// The place of the size that a symbol was made for, if this run made it: the value and the axis.
    #[must_use]
    pub fn origin(&self, symbol: Symbol) -> Option<(ValueId, usize)> {
        self.fresh.origin(symbol).map(|(value, axis)| (value, axis as usize))
    }

    /// Returns `true` if this run made a symbol, for a size that nothing is known about.
    pub(crate) fn is_fresh(&self, symbol: Symbol) -> bool {
        self.fresh.origin(symbol).is_some()
    }
}

impl ValueTypes for Inference {
    fn type_of(&self, _: &Model, value: ValueId) -> Option<Type> {
        self.ty(value).to_type()
    }

    fn scalar_of(&self, _: &Model, value: ValueId) -> Option<i64> {
        match self.content(value)?.as_ref() {
            [only] => only.known(),
            _ => None,
        }
    }
}
