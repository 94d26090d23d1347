//! The left side of a rule, prepared for matching.

use onnx_ir::NodeId;

use crate::ast::{Arity, Condition, FlatNode, Operand, Rule, Var};
use crate::effective::Source;
use crate::matching::Matches;
use crate::node_pattern::Selection;

/// The left side of a rule, prepared for matching.
#[derive(Clone, Debug)]
pub(crate) struct Pattern {
    pub(crate) rule: Rule,
    /// The nodes that make a variable: node, and output.
    pub(crate) makers: Vec<Vec<(usize, usize)>>,
    /// The result at which the search begins.
    root: Var,
    /// Variables whose value must be constant.
    pub(crate) constants: Vec<bool>,
    pub(crate) optional: Vec<bool>,
    /// Set if the pattern selects nodes and replaces nothing: everything that it omits may have any value.
    pub(crate) selection: Option<Selection>,
}

impl Pattern {
    pub(crate) fn new(rule: Rule) -> Self {
        let count = rule.names.len();
        let mut makers = vec![Vec::new(); count];
        for (index, node) in rule.from.nodes.iter().enumerate() {
            for (output, var) in node.outputs.iter().enumerate() {
                if let Some(slot) = var.and_then(|var| makers.get_mut(var)) {
                    slot.push((index, output));
                }
            }
        }
        let mut constants = vec![false; count];
        for (_, condition) in &rule.conditions {
            if let Condition::Constant(var) = condition {
                set(&mut constants, *var);
            }
        }
        for node in rule.lets.iter().filter(|node| node.domain != "rule") {
            for operand in &node.operands {
                if let Operand::Var(var) | Operand::Default(var, _) | Operand::Rest(var) = operand {
                    set(&mut constants, *var);
                }
            }
        }
        let mut optional = vec![false; count];
        for &(var, arity) in &rule.from.inputs {
            if arity == Arity::Optional {
                set(&mut optional, var);
            }
        }
        let root = root(&rule, &makers);
        Self { rule, makers, root, constants, optional, selection: None }
    }

    /// A pattern that selects nodes.
    pub(crate) fn selecting(rule: Rule, selection: Selection) -> Self {
        Self { selection: Some(selection), ..Self::new(rule) }
    }

    /// Number of nodes of the left side; alternatives count as the one with the most nodes.
    pub(crate) fn node_count(&self) -> usize {
        let from = &self.rule.from;
        let inner = |owner: usize| from.nodes.iter().filter(|node| node.within == Some(owner)).count();
        let sizes = from.nodes.iter().enumerate().filter(|(_, node)| node.within.is_none());
        let sizes = sizes.filter(|(index, node)| {
            let alternatives =
                from.nodes.iter().enumerate().filter(|(_, other)| other.outputs == node.outputs);
            let largest = alternatives.max_by_key(|&(other, _)| (inner(other), std::cmp::Reverse(other)));
            largest.is_some_and(|(largest, _)| largest == *index)
        });
        sizes.map(|(index, _)| inner(index).saturating_add(1)).sum()
    }

    /// The operators of the node at which the search begins: domain and name.
    pub(crate) fn roots(&self) -> impl Iterator<Item = &FlatNode> {
        let makers = self.makers.get(self.root).map(Vec::as_slice).unwrap_or_default();
        makers.iter().filter_map(|&(node, _)| self.rule.from.nodes.get(node))
    }

    /// The operators of which one makes an operand of a root, for the operand with the fewest; none if each operand may be any
    /// value.
    pub(crate) fn rarest_operand<'a>(&'a self, root: &'a FlatNode) -> Vec<&'a str> {
        let makers = |operand: &Operand| match operand {
            Operand::Var(var) => self.makers.get(*var).map(Vec::as_slice).unwrap_or_default(),
            _ => &[],
        };
        let operands = root.operands.iter().map(makers).filter(|makers| !makers.is_empty());
        let rarest = operands.min_by_key(|makers| makers.len()).unwrap_or_default();
        let nodes = rarest.iter().filter_map(|&(node, _)| self.rule.from.nodes.get(node));
        nodes.map(|node| node.op.as_str()).collect()
    }

    /// The matches whose root is a node, in the order of the search.
    pub(crate) fn at<'a>(&'a self, source: Source<'a>, node: NodeId) -> Matches<'a> {
        let makers = self.makers.get(self.root).map(Vec::as_slice).unwrap_or_default();
        Matches::new(self, source, makers.iter().map(|&(index, _)| index).collect(), node)
    }

    /// Returns `true` if the rule reads the elements of a variable at rewrite time.
    pub(crate) fn needs_constant(&self, var: Var) -> bool {
        Self::is_set(&self.constants, var)
    }

    pub(crate) fn is_set(list: &[bool], var: Var) -> bool {
        list.get(var).copied().unwrap_or(false)
    }
}

fn set(list: &mut [bool], var: Var) {
    if let Some(slot) = list.get_mut(var) {
        *slot = true;
    }
}

/// The result from which most nodes are reached.
fn root(rule: &Rule, makers: &[Vec<(usize, usize)>]) -> Var {
    let reached = |output: Var| {
        let mut seen = vec![false; rule.from.nodes.len()];
        let mut open = vec![output];
        while let Some(var) = open.pop() {
            for &(node, _) in makers.get(var).map(Vec::as_slice).unwrap_or_default() {
                if Pattern::is_set(&seen, node) {
                    continue;
                }
                set(&mut seen, node);
                let operands =
                    rule.from.nodes.get(node).map(|node| node.operands.as_slice()).unwrap_or_default();
                open.extend(operands.iter().filter_map(|operand| match operand {
                    Operand::Var(var) => Some(*var),
                    _ => None,
                }));
            }
        }
        seen.iter().filter(|&&seen| seen).count()
    };
    let outputs = rule.from.outputs.iter().copied();
    // The first of those that reach most.
    outputs.rev().max_by_key(|&output| reached(output)).unwrap_or(0)
}
