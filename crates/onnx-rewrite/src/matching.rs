//! Matching: the nodes and values of a model for the variables of the left side of a rule.

mod choices;

use onnx_ir::{Def, NodeId, ValueId};
use onnx_ops::{Call, is_commutative};
use onnx_types::tensor::Tensor;

use crate::ast::{AttributeTerm, FlatNode, Operand, Var};
use crate::effective::{Effective, Source, is_equal, is_literal};
use crate::literal_types;
use crate::operators::{has_semantics, is_later_default, is_operator};
use crate::pattern::Pattern;

/// Maximum number of steps of the search for the matches of a rule at one node.
const MAX_STEPS: usize = 2_000;

/// Maximum number of operands of a node that is matched with two lists of operands, and of its divisions that are tried.
const MAX_VARIADIC: usize = 1024;
const MAX_CHOICES: usize = 64;

/// Maximum number of users of a value among which a node of the pattern is searched.
const MAX_USERS: usize = 1024;

/// The binding of a variable.
#[derive(Clone, Debug, Default)]
pub(crate) enum Bound {
    #[default]
    Free,
    Value(ValueId),
    Rest(Vec<Option<ValueId>>),
    /// An attribute, or an operand that the version in scope has as an attribute.
    Tensor(Tensor),
    Omitted,
}

/// A match of a rule: the nodes and values that its left side is bound to.
#[derive(Clone, Debug)]
pub struct RuleMatch {
    pub(crate) bound: Vec<Bound>,
    /// The node of the model for each node of the left side; `None` for alternatives that were not taken.
    pub(crate) nodes: Vec<Option<NodeId>>,
    /// Constants that were compared with literals.
    pub(crate) read: Vec<ValueId>,
}

impl RuleMatch {
    /// The matched nodes.
    pub fn nodes(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.nodes.iter().flatten().copied()
    }

    pub(crate) fn value(&self, var: Var) -> Option<ValueId> {
        match self.bound.get(var) {
            Some(Bound::Value(value)) => Some(*value),
            _ => None,
        }
    }
}

/// Why a rule does not match at a node: the number of nodes that did match, and the first difference after them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RuleMismatch {
    /// Number of nodes of the left side that were matched before the difference.
    pub matched: usize,
    /// The difference, as a clause.
    pub reason: String,
}

/// An obligation of the search: a part of the left side that must still match.
#[derive(Clone, Debug)]
enum Need<'a> {
    Node(usize, NodeId),
    Value(Var, ValueId),
    /// One of the operands of a node, from this one on, is a variable.
    Fed(Var, NodeId, usize),
    /// The operands of a node of the left side.
    Operands(usize, NodeId),
    /// An operand of a node.
    Operand(NodeId, &'a Operand, Effective),
}

#[derive(Clone, Debug)]
struct State<'a> {
    needs: Vec<Need<'a>>,
    bound: Vec<Bound>,
    nodes: Vec<Option<NodeId>>,
    read: Vec<ValueId>,
}

/// The matches of a rule at a node.
pub(crate) struct Matches<'a> {
    pattern: &'a Pattern,
    source: Source<'a>,
    /// The choices that were not made yet, the next one last.
    open: Vec<State<'a>>,
    steps: usize,
    max_steps: usize,
    is_explained: bool,
    best: RuleMismatch,
}

impl Iterator for Matches<'_> {
    type Item = RuleMatch;

    fn next(&mut self) -> Option<RuleMatch> {
        while let Some(mut state) = self.open.pop() {
            loop {
                self.steps = self.steps.saturating_add(1);
                if self.steps > self.max_steps {
                    self.open.clear();
                    return None;
                }
                let Some(need) = state.needs.pop() else {
                    match self.unmatched(&state) {
                        None => {
                            return Some(RuleMatch {
                                bound: state.bound,
                                nodes: state.nodes,
                                read: state.read,
                            });
                        }
                        Some(index) => {
                            self.users(&state, index);
                            break;
                        }
                    }
                };
                let is_met = match need {
                    Need::Node(index, node) => self.node(&mut state, index, node),
                    Need::Value(var, value) => self.value(&mut state, var, value),
                    Need::Fed(var, node, from) => self.fed(&mut state, var, node, from),
                    Need::Operands(index, node) => self.operands_of(&mut state, index, node),
                    Need::Operand(node, operand, found) => self.operand(&mut state, node, operand, found),
                };
                if !is_met {
                    break;
                }
            }
        }
        None
    }
}

impl<'a> Matches<'a> {
    /// The search at a node that may be each of these nodes of the pattern.
    pub(crate) fn new(pattern: &'a Pattern, source: Source<'a>, roots: Vec<usize>, node: NodeId) -> Self {
        let state = |root: usize| State {
            needs: vec![Need::Node(root, node)],
            bound: vec![Bound::Free; pattern.rule.names.len()],
            nodes: vec![None; pattern.rule.from.nodes.len()],
            read: Vec::new(),
        };
        let open = roots.into_iter().rev().map(state).collect();
        Self {
            pattern,
            source,
            open,
            steps: 0,
            max_steps: MAX_STEPS,
            is_explained: false,
            best: RuleMismatch::default(),
        }
    }

    /// Allows another number of steps.
    pub(crate) const fn with_max_steps(mut self, steps: usize) -> Self {
        self.max_steps = steps;
        self
    }

    /// Number of steps that were made; more than the maximum if the search was ended.
    pub(crate) const fn steps(&self) -> usize {
        self.steps
    }

    /// Records the differences.
    pub(crate) fn explained(mut self) -> Self {
        self.is_explained = true;
        self
    }

    /// The difference after most matched nodes.
    pub(crate) fn difference(self) -> RuleMismatch {
        self.best
    }

    fn differs(&mut self, state: &State<'a>, reason: impl FnOnce(&Self) -> String) -> bool {
        if self.is_explained {
            let matched = state.nodes.iter().flatten().count();
            if self.best.reason.is_empty() || matched > self.best.matched {
                self.best = RuleMismatch { matched, reason: reason(self) };
            }
        }
        false
    }

    fn pattern_node(&self, index: usize) -> Option<&'a FlatNode> {
        self.pattern.rule.from.nodes.get(index)
    }

    /// A node of the left side that no result reaches: it is found among the users of a value.
    fn unmatched(&self, state: &State<'a>) -> Option<usize> {
        if self.pattern.selection.is_some() {
            return None; // All calls are operands of others.
        }
        let is_bound = |var: Var| !matches!(state.bound.get(var), Some(Bound::Free) | None);
        let from = &self.pattern.rule.from;
        let is_taken = |node: usize| state.nodes.get(node).is_some_and(Option::is_some);
        from.nodes.iter().enumerate().position(|(index, node)| {
            let outputs = node.outputs.iter().flatten();
            outputs.clone().next().is_some()
                && !outputs.into_iter().any(|&var| is_bound(var))
                && !from.is_left_out(index, is_taken)
        })
    }

    /// Continues with each user of an operand that is known.
    fn users(&mut self, state: &State<'a>, index: usize) {
        let Some(node) = self.pattern_node(index) else { return };
        let known = node.operands.iter().find_map(|operand| match operand {
            Operand::Var(var) => match state.bound.get(*var) {
                Some(Bound::Value(value)) => Some(*value),
                _ => None,
            },
            _ => None,
        });
        let Some(value) = known else { return };
        // The users of a value can be very many.
        let model = self.source.model;
        let users = model.consumers(value).take(MAX_USERS);
        let mut users: Vec<NodeId> =
            users.filter(|&user| is_operator(model, model.node(user), node)).take(MAX_CHOICES).collect();
        users.dedup();
        users.retain(|&user| !state.nodes.contains(&Some(user)));
        if users.is_empty() {
            self.differs(state, |_| format!("no other `{}` reads the operand", node.op));
        }
        for user in users.into_iter().rev() {
            let mut next = state.clone();
            next.needs.push(Need::Node(index, user));
            self.open.push(next);
        }
    }

    fn node(&mut self, state: &mut State<'a>, index: usize, node: NodeId) -> bool {
        let Some(wanted) = self.pattern_node(index) else { return false };
        let model = self.source.model;
        match state.nodes.get(index) {
            Some(Some(known)) => {
                return *known == node
                    || self.differs(state, |_| format!("two nodes would be one `{}`", wanted.op));
            }
            Some(None) => {}
            None => return false,
        }
        let Some(record) = model.get_node(node) else { return false };
        if let Some(selection) = &self.pattern.selection {
            return self.selected(state, selection, index, node);
        }
        if !is_operator(model, record, wanted) {
            return self.differs(state, |_| {
                format!("the operator is {}, not `{}`", onnx_diag::Quoted(model.str(record.op())), wanted.op)
            });
        }
        let call = if wanted.domain.is_empty() {
            match Call::of(model, node) {
                Ok(call) => Some(call),
                Err(mismatch) => return self.differs(state, |_| mismatch.to_string()),
            }
        } else {
            Call::of(model, node).ok()
        };
        if !has_semantics(call.as_ref()) {
            return self.differs(state, |_| format!("`{}` has another meaning in this version", wanted.op));
        }
        if !self.attributes(state, wanted, node, call.as_ref()) {
            return false;
        }
        for (output, value) in record.outputs().iter().enumerate() {
            let var = wanted.outputs.get(output).copied().flatten();
            match (var, value) {
                (Some(var), Some(value)) if !self.bind(state, var, Bound::Value(*value)) => return false,
                (None, Some(value)) if model.value(*value).is_used() => {
                    return self.differs(state, |_| format!("another result of `{}` is used", wanted.op));
                }
                _ => {}
            }
        }
        let count =
            record.outputs().iter().rposition(Option::is_some).map_or(0, |last| last.saturating_add(1));
        if wanted.outputs.iter().skip(count).any(Option::is_some) {
            return self.differs(state, |_| format!("`{}` has fewer results", wanted.op));
        }
        if let Some(slot) = state.nodes.get_mut(index) {
            *slot = Some(node);
        }
        self.operands(state, wanted, node, call.as_ref())
    }

    fn attributes(
        &mut self,
        state: &mut State<'a>,
        wanted: &'a FlatNode,
        node: NodeId,
        call: Option<&Call<'_>>,
    ) -> bool {
        let model = self.source.model;
        for (name, term) in &wanted.attributes {
            let found = self.source.attribute(node, call, name);
            let is_met = match (term, &found) {
                (AttributeTerm::Var(var), Effective::Tensor(tensor)) => {
                    self.bind(state, *var, Bound::Tensor(tensor.clone()))
                }
                (AttributeTerm::Var(var), Effective::Operand(value)) => {
                    self.bind(state, *var, Bound::Value(*value))
                }
                (AttributeTerm::Value(value), Effective::Tensor(tensor)) => {
                    value.to_tensor().is_some_and(|value| is_equal(&value, tensor))
                }
                (AttributeTerm::Value(value), Effective::Operand(operand)) => {
                    state.read.push(*operand);
                    let constant = self.source.constant(*operand);
                    let both = value.to_tensor().zip(constant);
                    both.is_some_and(|(value, constant)| is_equal(&value, &constant))
                }
                // In a version without the attribute, the node behaves as with its later default.
                (AttributeTerm::Value(value), Effective::Absent) => is_later_default(call, name, value),
                _ => false,
            };
            if !is_met {
                return self.differs(state, |_| format!("the attribute `{name}` of `{}` differs", wanted.op));
            }
        }
        if wanted.is_open {
            return true;
        }
        let other = model.node(node).attributes().iter().find(|attribute| {
            let name = model.str(attribute.name());
            let is_named = wanted.attributes.iter().any(|(other, _)| other == name);
            // An operand of the pattern may be an attribute of the version in scope.
            let is_operand = call.is_some_and(|call| {
                let schema = call.schema();
                let latest = crate::effective::latest(schema.domain(), schema.op());
                let index =
                    latest.and_then(|latest| latest.inputs().iter().position(|formal| formal.name == name));
                index.is_some_and(|index| index < wanted.operands.len())
            });
            !is_named && !is_operand && !self.source.is_default(call, name, attribute.value())
        });
        match other {
            None => true,
            Some(attribute) => {
                let name = model.str(attribute.name()).to_owned();
                self.differs(state, |_| format!("`{}` has the attribute `{name}`", wanted.op))
            }
        }
    }

    fn operands(
        &mut self,
        state: &mut State<'a>,
        wanted: &'a FlatNode,
        node: NodeId,
        call: Option<&Call<'_>>,
    ) -> bool {
        let has_rest = wanted.operands.iter().any(|operand| matches!(operand, Operand::Rest(_)));
        if has_rest {
            return self.variadic(state, wanted, node);
        }
        let record = self.source.model.node(node);
        let mut needs = Vec::new();
        for (index, operand) in wanted.operands.iter().enumerate() {
            needs.push(Need::Operand(node, operand, self.source.operand(node, call, index)));
        }
        let selects = self.pattern.selection.is_some();
        if !selects && record.inputs().skip(wanted.operands.len()).any(|input| input.is_some()) {
            return self.differs(state, |_| format!("`{}` has more operands", wanted.op));
        }
        let commutes = call.is_some_and(is_commutative) && record.input(0) != record.input(1);
        if commutes
            && let [Need::Operand(_, first, left), Need::Operand(_, second, right)] = needs.as_slice()
            && first != second
        {
            let swapped =
                [Need::Operand(node, second, left.clone()), Need::Operand(node, first, right.clone())];
            if !self.is_excluded(&swapped) {
                let mut other = state.clone();
                other.needs.extend(swapped);
                self.open.push(other);
            }
        }
        if let ([Need::Operand(_, only, _)], true, true) = (needs.as_slice(), commutes, selects) {
            let mut other = state.clone();
            other.needs.push(Need::Operand(node, only, self.source.operand(node, call, 1)));
            self.open.push(other);
        }
        if self.is_excluded(&needs) {
            return false;
        }
        // Known operands and literals come first, because they exclude the most candidates.
        needs.reverse();
        state.needs.extend(needs);
        true
    }

    /// Returns `true` if an operand is made by an operator that the left side does not have there: most candidates end here,
    /// before anything is copied for them. A search that explains itself goes on to the difference.
    fn is_excluded(&self, needs: &[Need<'a>]) -> bool {
        let is_other = |need: &Need<'a>| match need {
            Need::Operand(_, Operand::Var(var), Effective::Operand(value)) => {
                !self.may_make(*var, Some(*value))
            }
            _ => false,
        };
        !self.is_explained && self.pattern.selection.is_none() && needs.iter().any(is_other)
    }

    /// Returns `true` if an operator that makes a variable of the left side makes a value, or if none does.
    fn may_make(&self, var: Var, value: Option<ValueId>) -> bool {
        let model = self.source.model;
        let makers = self.pattern.makers.get(var).map(Vec::as_slice).unwrap_or_default();
        let producer = value.and_then(|value| model.get_value(value)?.producer());
        let is_made_by = |&(maker, _): &(usize, usize)| {
            let maker = self.pattern_node(maker);
            producer.zip(maker).is_some_and(|(node, maker)| is_operator(model, model.node(node), maker))
        };
        makers.is_empty() || makers.iter().any(is_made_by)
    }

    /// `(a*, t, b*)`: the operand that is not matched by `*` can be at each index.
    fn variadic(&mut self, state: &mut State<'a>, wanted: &'a FlatNode, node: NodeId) -> bool {
        let record = self.source.model.node(node);
        let inputs: Vec<Option<ValueId>> = record.inputs().collect();
        let fixed = wanted.operands.iter().filter(|operand| !matches!(operand, Operand::Rest(_))).count();
        let Some(free) = inputs.len().checked_sub(fixed) else {
            return self.differs(state, |_| format!("`{}` has fewer operands", wanted.op));
        };
        let rests = wanted.operands.len().saturating_sub(fixed);
        if rests > 1 && inputs.len() > MAX_VARIADIC {
            return self.differs(state, |_| format!("`{}` has more than {MAX_VARIADIC} operands", wanted.op));
        }
        let first_lengths = match rests {
            1 => vec![free],
            _ => self.first_lengths(wanted, &inputs, free),
        };
        if first_lengths.is_empty() {
            return self
                .differs(state, |_| format!("no operand of `{}` is made by the wanted operator", wanted.op));
        }
        for first in first_lengths.into_iter().rev() {
            let mut next = state.clone();
            let mut left = inputs.iter();
            let (mut is_first, mut is_met) = (true, true);
            for operand in &wanted.operands {
                if let Operand::Rest(var) = operand {
                    let length = if is_first { first } else { free.saturating_sub(first) };
                    is_first = false;
                    let values: Vec<_> = left.by_ref().take(length).copied().collect();
                    is_met &= self.bind(&mut next, *var, Bound::Rest(values));
                } else {
                    let found = left.next().copied().flatten().map_or(Effective::Absent, Effective::Operand);
                    next.needs.push(Need::Operand(node, operand, found));
                }
            }
            if is_met {
                self.open.push(next);
            }
        }
        // The choices continue.
        false
    }

    /// The lengths of the first of two lists of operands for which an operator of the pattern makes the operand after it.
    fn first_lengths(&self, wanted: &FlatNode, inputs: &[Option<ValueId>], free: usize) -> Vec<usize> {
        let first = wanted.operands.iter().position(|operand| matches!(operand, Operand::Rest(_)));
        let next = first.and_then(|first| Some((first, wanted.operands.get(first.checked_add(1)?)?)));
        let may_be = |length: usize| {
            let Some((first, Operand::Var(var))) = next else { return true };
            let value = inputs.get(first.saturating_add(length)).copied().flatten();
            self.may_make(*var, value)
        };
        (0..=free).filter(|&length| may_be(length)).take(MAX_CHOICES).collect()
    }

    fn operand(&mut self, state: &mut State<'a>, node: NodeId, wanted: &Operand, found: Effective) -> bool {
        match (wanted, found) {
            (Operand::Omitted, Effective::Absent) => true,
            (Operand::Var(var), Effective::Operand(value)) => {
                state.needs.push(Need::Value(*var, value));
                true
            }
            (Operand::Var(var), Effective::Tensor(tensor)) => self.bind(state, *var, Bound::Tensor(tensor)),
            (Operand::Var(var), Effective::Absent) if Pattern::is_set(&self.pattern.optional, *var) => {
                self.bind(state, *var, Bound::Omitted)
            }
            (Operand::Literal(literal), Effective::Tensor(tensor)) => {
                is_literal(&tensor, literal, self.source.data)
                    || self.differs(state, |_| "an operand has another value".to_owned())
            }
            (Operand::Literal(literal), Effective::Operand(value)) => {
                let constant = self.source.constant(value);
                let constant = constant.filter(|constant| is_literal(constant, literal, self.source.data));
                if let Some(constant) = constant {
                    state.read.push(value);
                    return literal.is_list
                        || self.pattern.selection.is_some()
                        || self.is_absorbed(node, value, constant.dims())
                        || self.differs(state, |_| "a constant may enlarge the result".to_owned());
                }
                self.differs(state, |_| {
                    format!("an operand is not the constant {}", literal_types::text(literal))
                })
            }
            (Operand::Omitted, _) => self.differs(state, |_| "an operand is not omitted".to_owned()),
            _ => self.differs(state, |_| "an operand is omitted".to_owned()),
        }
    }

    /// Returns `true` if a constant of these sizes, broadcast with another operand of a node, leaves the sizes of that operand.
    fn is_absorbed(&self, node: NodeId, constant: ValueId, dims: &[i64]) -> bool {
        let shape = |value: ValueId| self.source.inference.and_then(|inference| inference.shape(value));
        let others = self.source.model.node(node).inputs().flatten().filter(|&other| other != constant);
        let fits = |value: ValueId| {
            shape(value).is_some_and(|other| {
                let sizes = other.iter().rev().map(|dim| dim.known()).chain(std::iter::repeat(None));
                dims.len() <= other.len()
                    && dims.iter().rev().zip(sizes).all(|(&size, other)| size == 1 || Some(size) == other)
            })
        };
        dims.is_empty() || others.into_iter().any(fits)
    }

    fn value(&mut self, state: &mut State<'a>, var: Var, value: ValueId) -> bool {
        if let Some(Bound::Value(known)) = state.bound.get(var) {
            let is_same = *known == value;
            return is_same
                || self.differs(state, |matches| format!("{} are two values", matches.label(var)));
        }
        let makers = self.pattern.makers.get(var).map(Vec::as_slice).unwrap_or_default();
        if makers.is_empty() {
            if Pattern::is_set(&self.pattern.constants, var) && !self.source.is_constant(value) {
                return self.differs(state, |matches| format!("{} is not constant", matches.label(var)));
            }
            return self.bind(state, var, Bound::Value(value));
        }
        let Some(Def::Output { node, .. }) = self.source.model.get_value(value).map(|record| record.def())
        else {
            return self.differs(state, |matches| format!("{} is not made by a node", matches.label(var)));
        };
        let outputs = self.source.model.node(node).outputs();
        let output = outputs.iter().position(|&made| made == Some(value));
        let selects = self.pattern.selection.is_some();
        let mut fitting =
            makers.iter().filter(|&&(_, wanted)| selects || Some(wanted) == output).map(|&(maker, _)| maker);
        let Some(first) = fitting.next() else {
            return self
                .differs(state, |matches| format!("{} is another result of its node", matches.label(var)));
        };
        let others: Vec<usize> = fitting.collect();
        for other in others.into_iter().rev() {
            let mut next = state.clone();
            next.needs.push(Need::Node(other, node));
            self.open.push(next);
        }
        state.needs.push(Need::Node(first, node));
        true
    }

    fn bind(&mut self, state: &mut State<'a>, var: Var, new: Bound) -> bool {
        if let Some(selection) = &self.pattern.selection
            && !selection.is_named(self.source.model, var, &new)
        {
            return false;
        }
        let Some(slot) = state.bound.get_mut(var) else { return false };
        let is_same = match (&*slot, &new) {
            (Bound::Free, _) => {
                *slot = new;
                return true;
            }
            (Bound::Value(a), Bound::Value(b)) => a == b,
            (Bound::Tensor(a), Bound::Tensor(b)) => is_equal(a, b),
            (Bound::Rest(a), Bound::Rest(b)) => a == b,
            (Bound::Omitted, Bound::Omitted) => true,
            _ => false,
        };
        is_same || self.differs(state, |matches| format!("{} has two values", matches.label(var)))
    }

    fn label(&self, var: Var) -> String {
        let name = self.pattern.rule.variable(var);
        if name.contains(' ') { name.to_owned() } else { format!("`{name}`") }
    }
}
