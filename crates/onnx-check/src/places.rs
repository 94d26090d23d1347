//! The loci of entities, for diagnostics, and suggestions for misspelled names.

use std::cell::Cell;
use std::ops::Deref;

use onnx_diag::Locus;
use onnx_ir::{GraphId, Model, NodeId};
use onnx_types::Symbol;

use crate::options::Part;

/// How many names are compared in search of the one that was meant, in one run. More would let a hostile file buy much
/// time with few bytes.
const SUGGESTION_BUDGET: usize = 200_000;

/// The places of the part of a model that is checked, and names that are near to others.
pub(crate) struct Places<'a> {
    model: &'a Model,
    places: onnx_ir::Places<'a>,
    budget: Cell<usize>,
    /// Whether attributes are not in the file, but only what they hold.
    is_contents: bool,
}

impl<'a> Deref for Places<'a> {
    type Target = onnx_ir::Places<'a>;

    fn deref(&self) -> &Self::Target {
        &self.places
    }
}

impl<'a> Places<'a> {
    pub(crate) const fn new(model: &'a Model, part: Part) -> Self {
        // The steps around the part, which are not there for the reader.
        let hidden = match part {
            Part::Model | Part::Graph | Part::Function(_) => 0,
            Part::Node(_) | Part::Inputs => 1,
            Part::Attributes(_) => 2,
            Part::Contents(_) => 3,
        };
        Self {
            model,
            places: onnx_ir::Places::below(model, hidden),
            budget: Cell::new(SUGGESTION_BUDGET),
            is_contents: matches!(part, Part::Contents(_)),
        }
    }

    /// The place of an attribute of a node.
    pub(crate) fn attribute(&self, node: NodeId, name: Symbol) -> Locus {
        if self.is_contents { self.node(node).field("tensor") } else { self.places.attribute(node, name) }
    }

    /// The name visible in `graph` that is nearest to `name`, if one is near.
    pub(crate) fn nearest_value(&self, graph: GraphId, name: Symbol) -> Option<&'a str> {
        let model = self.model;
        let graphs = std::iter::successors(Some(graph), |&graph| model.parent(graph));
        let values = graphs.flat_map(|graph| model.definitions(graph));
        self.nearest(name, values.map(|value| model.value(value).name()))
    }

    /// The candidate that is nearest to `name`, if one is near.
    pub(crate) fn nearest(&self, name: Symbol, candidates: impl Iterator<Item = Symbol>) -> Option<&'a str> {
        let affordable = candidates.take_while(|_| {
            let left = self.budget.get();
            self.budget.set(left.saturating_sub(1));
            left > 0
        });
        onnx_schema::nearest(self.str(name), affordable.map(|candidate| self.str(candidate)))
    }
}
