//! The search of patterns that select nodes.

use onnx_ir::NodeId;
use onnx_ops::Call;

use super::{Matches, Need, State};
use crate::ast::Var;
use crate::node_pattern::Selection;

impl<'a> Matches<'a> {
    /// Like [`node`](Self::node), for a pattern that replaces nothing: the version, other results and other parameters of the
    /// node do not matter.
    pub(super) fn selected(
        &mut self,
        state: &mut State<'a>,
        selection: &Selection,
        index: usize,
        node: NodeId,
    ) -> bool {
        let Some(wanted) = self.pattern_node(index) else { return false };
        let model = self.source.model;
        if !Selection::is_operator(model, node, wanted) {
            return false;
        }
        let call = Call::of(model, node).ok();
        if !self.attributes(state, wanted, node, call.as_ref()) {
            return false;
        }
        if let Some(slot) = state.nodes.get_mut(index) {
            *slot = Some(node);
        }
        match selection.feeder(index) {
            Some(var) => {
                state.needs.push(Need::Operands(index, node));
                state.needs.push(Need::Fed(var, node, 0));
                true
            }
            None => self.operands(state, wanted, node, call.as_ref()),
        }
    }

    pub(super) fn operands_of(&mut self, state: &mut State<'a>, index: usize, node: NodeId) -> bool {
        let call = Call::of(self.source.model, node).ok();
        self.pattern_node(index).is_some_and(|wanted| self.operands(state, wanted, node, call.as_ref()))
    }

    /// Continues with the first operand from an index on, and later with those after it.
    pub(super) fn fed(&mut self, state: &mut State<'a>, var: Var, node: NodeId, from: usize) -> bool {
        let record = self.source.model.node(node);
        let mut operands = record.inputs().enumerate().skip(from);
        let Some((at, value)) = operands.find_map(|(at, value)| Some((at, value?))) else { return false };
        let after = at.saturating_add(1);
        if after < record.input_count() {
            let mut next = state.clone();
            next.needs.push(Need::Fed(var, node, after));
            self.open.push(next);
        }
        state.needs.push(Need::Value(var, value));
        true
    }
}
