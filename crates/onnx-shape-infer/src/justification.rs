//! What inferred results and answers depend on.

use foldhash::fast::RandomState;
use onnx_ir::{GraphId, Model, NodeId, OpsetScope, ValueId};
use onnx_types::Dim;
use slotmap::SparseSecondaryMap;

use crate::dependents::Dependents;
use crate::facts::{Fact, FactScope, Relation, Strength};
use crate::result::Inference;

/// What a result depends on, apart from the semantics of the operators. All results hold for runs that complete.
///
/// The order is from strong to weak.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Justification {
    /// It holds in every run of the model.
    Proved,
    /// It holds in every execution of this nested graph or function body. Whether that is executed at all is not known, and
    /// outside of it nothing is claimed.
    ProvedIn(GraphId),
    /// It holds if these guards hold.
    Assumed {
        /// The guards, each once. A guard whose scope is a graph applies only if the graph is executed.
        guards: Vec<Fact>,
        /// The nested graph or function body whose executions the result is about; `None` for all runs.
        graph: Option<GraphId>,
    },
    /// It depends on conditions some of which are not known, as there were more facts than are kept.
    Unrecorded,
}

impl Justification {
    /// Returns `true` if the result holds in every run.
    #[must_use]
    pub const fn is_proved(&self) -> bool {
        matches!(self, Self::Proved)
    }

    /// Returns `true` if the result holds, without a guard, wherever code of this graph is executed.
    #[must_use]
    pub fn is_proved_in(&self, model: &Model, graph: GraphId) -> bool {
        match *self {
            Self::Proved => true,
            Self::ProvedIn(scope) => model.is_inside(graph, scope),
            Self::Assumed { .. } | Self::Unrecorded => false,
        }
    }

    /// The guards that the result depends on.
    #[must_use]
    pub fn guards(&self) -> &[Fact] {
        match self {
            Self::Assumed { guards, .. } => guards,
            _ => &[],
        }
    }

    /// The graph whose executions the result is about; `None` for all runs.
    #[must_use]
    pub const fn graph(&self) -> Option<GraphId> {
        match *self {
            Self::ProvedIn(graph) => Some(graph),
            Self::Assumed { graph, .. } => graph,
            Self::Proved | Self::Unrecorded => None,
        }
    }

    fn new(guards: Vec<Fact>, graph: Option<GraphId>) -> Self {
        match graph {
            _ if !guards.is_empty() => Self::Assumed { guards, graph },
            Some(graph) => Self::ProvedIn(graph),
            None => Self::Proved,
        }
    }

    /// The weakness, for choosing one of several.
    fn rank(&self) -> (u8, usize) {
        match self {
            Self::Proved => (0, 0),
            Self::ProvedIn(_) => (1, 0),
            Self::Assumed { guards, graph } => (if graph.is_none() { 2 } else { 3 }, guards.len()),
            Self::Unrecorded => (4, 0),
        }
    }
}

/// The answer to a question about dimensions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Answer {
    /// Whether the relation holds.
    pub holds: bool,
    /// What the answer depends on.
    pub justification: Justification,
}

impl Answer {
    const fn proved(holds: bool) -> Self {
        Self { holds, justification: Justification::Proved }
    }
}

/// The nodes that a result is computed by.
#[derive(Default)]
pub(crate) struct Slice {
    nodes: SparseSecondaryMap<NodeId, (), RandomState>,
    /// The values that were asked about, and those that the nodes use.
    values: SparseSecondaryMap<ValueId, (), RandomState>,
    open: Vec<NodeId>,
    /// Whether the result can depend on every node.
    is_everything: bool,
}

impl Slice {
    fn value(&mut self, model: &Model, value: ValueId) {
        let Some(record) = model.get_value(value) else { return };
        self.values.insert(value, ());
        self.open.extend(record.producer());
        self.graph(model, model.graph_of(value));
    }

    fn graph(&mut self, model: &Model, graph: GraphId) {
        self.open.extend(model.owner_node(graph));
        // Values of functions are joined over all calls.
        self.is_everything |= matches!(model.scope(graph), OpsetScope::Function(_));
    }

    fn fact(&mut self, model: &Model, fact: &Fact) {
        for node in [fact.node, fact.root].into_iter().flatten() {
            if let Some(record) = model.get_node(node) {
                self.open.push(node);
                // The conclusion of a call belongs to the call, which is its root.
                if !matches!(model.scope(record.graph()), OpsetScope::Function(_)) || fact.root.is_none() {
                    self.graph(model, record.graph());
                }
            }
        }
    }

    fn close(&mut self, model: &Model) {
        while let Some(node) = self.open.pop() {
            if self.nodes.insert(node, ()).is_none() {
                model.for_each_predecessor(node, |producer| self.open.push(producer));
                model.for_each_use_within(node, |value| {
                    self.values.insert(value, ());
                });
                self.open.extend(model.owner_node(model.node(node).graph()));
            }
        }
    }

    fn contains(&self, fact: &Fact) -> bool {
        if self.is_everything {
            return true;
        }
        match (fact.root, fact.relation) {
            (None, Relation::Default(value)) => self.values.contains_key(value),
            (None, _) => true,
            (Some(root), _) => {
                self.nodes.contains_key(root) || fact.node.is_some_and(|node| self.nodes.contains_key(node))
            }
        }
    }
}

impl Inference {
    /// The nodes that a value is computed by, and those that these rely on.
    pub(crate) fn slice_of(&self, model: &Model, value: ValueId) -> Slice {
        let mut slice = Slice::default();
        slice.value(model, value);
        self.close(model, &mut slice);
        slice
    }

    fn close(&self, model: &Model, slice: &mut Slice) {
        slice.close(model);
        // Facts of functions may have been concluded during the visit of another call.
        slice.is_everything |= self.facts.is_incomplete();
        if !self.facts.has_inherited() || slice.is_everything {
            return;
        }
        let mut inherited: Vec<&Fact> = self.facts.every().filter(|fact| fact.is_inherited).collect();
        loop {
            let count = inherited.len();
            inherited.retain(|fact| {
                let is_reached = slice.contains(fact);
                if is_reached && let Some(concluded) = self.facts.primary(fact.relation) {
                    slice.fact(model, concluded);
                }
                !is_reached
            });
            if inherited.len() == count {
                return;
            }
            slice.close(model);
        }
    }

    /// The facts that nodes of a slice concluded and that satisfy a condition, one for each relation and scope.
    pub(crate) fn facts_of(&self, slice: &Slice, is_wanted: impl Fn(&Fact) -> bool) -> Vec<Fact> {
        let mut found: Vec<Fact> = Vec::new();
        let mut known = std::collections::HashSet::new();
        for &fact in self.facts.every() {
            if is_wanted(&fact) && slice.contains(&fact) && known.insert((fact.relation, fact.scope)) {
                found.push(fact);
            }
        }
        found
    }

    fn guards_in(&self, model: &Model, slice: &Slice) -> Vec<Fact> {
        let dependents = self.dependents(model);
        let is_guard = |fact: &Fact| {
            fact.strength == Strength::Assumed && !fact.is_inherited && !dependents.is_discharged(fact)
        };
        self.facts_of(slice, is_guard)
    }

    /// The relations between dimensions that some node needs as a guard and another one proves, so that they hold in every run:
    /// results that need them are [`Justification::Proved`]. Relations that are [granted](Self::grant_proved) and that a node
    /// needs are among them. In the order in which they were first concluded.
    pub fn discharged(&self, model: &Model) -> Vec<Relation> {
        if !self.facts.can_have_guards() {
            return Vec::new();
        }
        let mut found: Vec<Relation> = self.dependents(model).discharged().collect();
        let needed = |relation: &Relation| {
            let mut conclusions = self.facts.conclusions(*relation);
            !found.contains(relation) && conclusions.any(|fact| fact.strength == Strength::Assumed)
        };
        let granted: Vec<Relation> = self.granted.iter().copied().filter(needed).collect();
        found.extend(granted);
        found.sort_by_key(|&relation| self.facts.position(relation));
        found
    }

    /// What the type, the shape and the elements of a value depend on.
    ///
    /// The guards are those of all nodes that the value is computed by, so a guard can be listed that this result does not
    /// need. A value of a graph that need not be executed is [`Justification::ProvedIn`] that graph. Takes time linear in
    /// these nodes if there are guards; see [`depends_on_guards`](Self::depends_on_guards) for the answer without the list.
    ///
    /// ```
    /// use onnx_shape_infer::{Justification, InferOptions, infer};
    /// use onnx_text::{ParseOptions, parse_model};
    ///
    /// let text = r#"<ir_version: 10, opset_import: ["": 20]>
    ///     g (float[N] x) => (y, z) <int64[1] one = {1}, int64[1] all = {2147483647}> {
    ///         y = Relu (x)
    ///         z = Slice (x, one, all)
    ///     }"#;
    /// let model = parse_model(text, &ParseOptions::default())?;
    /// let inference = infer(&model, &InferOptions::default());
    /// let [y, z] = [0, 1].map(|index| model.graph(model.main_graph()).outputs()[index].value());
    /// assert_eq!(inference.justification(&model, y), Justification::Proved);
    /// // `z` is `[N - 1]` if `1 <= N`.
    /// assert!(matches!(inference.justification(&model, z), Justification::Assumed { .. }));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn justification(&self, model: &Model, value: ValueId) -> Justification {
        let Some(_) = model.get_value(value) else { return Justification::Proved };
        let graph = self.conditional_graph(model.graph_of(value));
        if self.facts.is_full() {
            return Justification::Unrecorded;
        }
        if !self.facts.can_have_guards() {
            return Justification::new(Vec::new(), graph);
        }
        if !self.depends_on_guards(model, value) {
            return Justification::new(Vec::new(), graph);
        }
        let slice = self.slice_of(model, value);
        Justification::new(self.guards_in(model, &slice), graph)
    }

    /// Whether the type, the shape and the elements of a value depend on guards, or on conditions that are not known: whether
    /// [`justification`](Self::justification) lists guards, without the list. The first question takes time linear in the
    /// model, all others constant time; after an [`update`](Self::update), the answer can be `true` where no guard is left.
    #[must_use]
    pub fn depends_on_guards(&self, model: &Model, value: ValueId) -> bool {
        if model.get_value(value).is_none() || !self.facts.can_have_guards() {
            return self.facts.is_full();
        }
        let depends = self.facts.is_full() || self.dependents(model).has(model, value);
        debug_assert!(
            depends || self.is_behind || self.guards_in(model, &self.slice_of(model, value)).is_empty(),
            "{value} has guards that were lost"
        );
        depends
    }

    /// Returns `true` if results about any value [depend on guards](Self::depends_on_guards).
    #[must_use]
    pub fn has_dependents(&self, model: &Model) -> bool {
        self.facts.is_full() || (self.facts.can_have_guards() && !self.dependents(model).is_empty())
    }

    /// Prepares for edits of the model that no [`update`](Self::update) follows at once: finds what depends on guards while the
    /// nodes that conclude them are there. Until the update, the answers are those about the model before the edits.
    pub fn find_dependents(&mut self, model: &Model) {
        if self.facts.can_have_guards() && !self.facts.is_full() {
            self.dependents(model);
        }
        self.is_behind = true;
    }

    pub(crate) fn dependents(&self, model: &Model) -> &Dependents {
        self.dependents.get_or_init(|| Dependents::new(model, &self.facts, &self.granted))
    }

    /// What a dimension of a value depends on; `None` if the rank is not known or less, or nothing is known about the
    /// dimension: it is a symbol that only stands for itself.
    #[must_use]
    pub fn dim_justification(&self, model: &Model, value: ValueId, axis: usize) -> Option<Justification> {
        let dim = *self.shape(value)?.get(axis)?;
        let is_itself = match dim {
            Dim::Unknown => true,
            Dim::Var(symbol) => self.origin(symbol) == Some((value, axis)),
            Dim::Known(_) | Dim::Expr(_) => false,
        };
        (!is_itself).then(|| self.justification(model, value))
    }

    /// What the elements of a value depend on; `None` if they are not known.
    #[must_use]
    pub fn content_justification(&self, model: &Model, value: ValueId) -> Option<Justification> {
        self.content(value).map(|_| self.justification(model, value))
    }

    /// What a fact depends on. An assumed fact is its own guard. A proved one follows from the semantics of its node and from
    /// what is inferred about the inputs of the node, which can depend on guards.
    #[must_use]
    pub fn fact_justification(&self, model: &Model, fact: &Fact) -> Justification {
        let graph = match fact.scope {
            FactScope::Model => None,
            FactScope::Graph(graph) => Some(graph),
        };
        if self.facts.is_full() {
            return Justification::Unrecorded;
        }
        if fact.strength == Strength::Assumed {
            return Justification::Assumed { guards: vec![*fact], graph };
        }
        if !self.facts.can_have_guards() {
            return Justification::new(Vec::new(), graph);
        }
        if let Some(root) = fact.root
            && !self.dependents(model).has_node(model, root, model.main_graph())
        {
            return Justification::new(Vec::new(), graph);
        }
        let mut slice = Slice::default();
        slice.fact(model, fact);
        self.close(model, &mut slice);
        Justification::new(self.guards_in(model, &slice), graph)
    }

    /// Whether two dimensions are equal, and what that depends on; `None` if it is not known. Other than
    /// [`Facts::eq`](crate::Facts::eq), this also answers what holds only in a nested graph.
    ///
    /// The answer is about dimensions. That a dimension is the size of a value has a
    /// separate [justification](Self::dim_justification).
    #[must_use]
    pub fn eq(&self, model: &Model, a: Dim, b: Dim) -> Option<Answer> {
        if a == b && !a.is_unknown() {
            return Some(Answer::proved(true));
        }
        let algebra = self.facts.eq_by_algebra(&self.exprs, a, b);
        self.answer(model, (a, b), algebra, &[Relation::Equal(a, b), Relation::Equal(b, a)])
    }

    /// Whether the first dimension is at most the second, and what that depends on; `None` if it is not known.
    #[must_use]
    pub fn le(&self, model: &Model, a: Dim, b: Dim) -> Option<Answer> {
        if a == b && !a.is_unknown() {
            return Some(Answer::proved(true));
        }
        let algebra = self.facts.le_by_algebra(&self.exprs, a, b);
        let premise = match (a, b) {
            (Dim::Known(..=0), Dim::Expr(size)) => self.facts.premise(size),
            _ => None,
        };
        let own = Relation::AtMost(a, b);
        self.answer(model, (a, b), algebra, &[own, premise.map_or(own, |premise| premise.relation)])
    }

    fn answer(
        &self,
        model: &Model,
        (a, b): (Dim, Dim),
        algebra: Option<bool>,
        relations: &[Relation],
    ) -> Option<Answer> {
        let computed = algebra.map(|holds| Answer { holds, justification: self.of_symbols(model, &[a, b]) });
        if computed.as_ref().is_some_and(|answer| answer.justification.is_proved() || !answer.holds) {
            return computed;
        }
        let mut best = computed;
        for relation in relations {
            for fact in self.facts.conclusions(*relation) {
                // A guard of a graph says nothing about other runs, and inside of the graph it is what is asked.
                if fact.is_inherited || (fact.strength == Strength::Assumed && fact.is_conditional()) {
                    continue;
                }
                let justification = self.fact_justification(model, fact);
                if best.as_ref().is_none_or(|best| justification.rank() < best.justification.rank()) {
                    best = Some(Answer { holds: true, justification });
                }
                if best.as_ref().is_some_and(|best| best.justification.is_proved()) {
                    return best;
                }
            }
        }
        best
    }

    /// What the intervals of the symbols in dimensions depend on: those of symbols that inference made belong to the results
    /// for a value.
    fn of_symbols(&self, model: &Model, dims: &[Dim]) -> Justification {
        let mut slice = Slice::default();
        let (mut is_empty, mut depends) = (true, false);
        let mut graph = None;
        for &dim in dims {
            let symbols = self.exprs.symbols(dim).into_iter();
            for (value, _) in symbols.filter_map(|symbol| self.origin(symbol)) {
                if model.get_value(value).is_some() {
                    slice.value(model, value);
                    graph = graph.or_else(|| self.conditional_graph(model.graph_of(value)));
                    is_empty = false;
                    depends = depends || self.depends_on_guards(model, value);
                }
            }
        }
        match () {
            () if is_empty => Justification::Proved,
            () if self.facts.is_full() => Justification::Unrecorded,
            () if !depends => Justification::new(Vec::new(), graph),
            () => {
                self.close(model, &mut slice);
                Justification::new(self.guards_in(model, &slice), graph)
            }
        }
    }

    /// A graph, if it is not known to be executed in every run.
    fn conditional_graph(&self, graph: GraphId) -> Option<GraphId> {
        self.conditional.contains_key(graph).then_some(graph)
    }
}
