//! Why something is not known: the way from a value to the place where knowledge was lost.

use onnx_ir::{Model, NodeId, ValueId};
use onnx_types::{Dim, ElemType, Symbol};
use slotmap::SparseSecondaryMap;

use crate::content::Elem;
use crate::result::Inference;
use crate::table::Outline;
use crate::ty::Ty;

/// What is not known about a value.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Gap {
    /// Its type.
    Type,
    /// The type of its elements.
    Elem,
    /// The number of its axes.
    Rank,
    /// The size of an axis: a symbol stands for it that inference made up, or an expression of such symbols.
    Size(usize),
}

/// Why something is not known about a value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Why {
    /// The values from the one that was asked about to the one where it was lost; a single one where both are the same.
    pub chain: Vec<ValueId>,
    /// What is missing at the last value of the chain. Declaring it there recovers everything along the chain, and nothing
    /// smaller does.
    pub missing: Gap,
    /// The node that makes the last value of the chain; none where it is an input of a graph, so that the model itself
    /// leaves it open.
    pub node: Option<NodeId>,
}

/// How many values and sizes an explanation may still examine.
pub(crate) struct Steps(usize);

impl Steps {
    pub(crate) const fn new(limit: usize) -> Self {
        Self(limit)
    }

    /// Takes steps; `false` if there are not enough.
    fn take(&mut self, steps: usize) -> bool {
        let left = self.0.checked_sub(steps.saturating_add(1));
        self.0 = left.unwrap_or(0);
        left.is_some()
    }
}

impl Inference {
    /// The unknown parts of a value, in the order of its axes. For values that are not tensors, only the type as a
    /// whole can be unknown.
    #[must_use]
    pub fn gaps(&self, value: ValueId) -> Vec<Gap> {
        match self.ty(value) {
            Ty::Unknown => vec![Gap::Type],
            Ty::Other(_) => Vec::new(),
            Ty::Tensor(elem, dims) => {
                let mut gaps = Vec::new();
                if elem == ElemType::Undefined {
                    gaps.push(Gap::Elem);
                }
                match dims {
                    None => gaps.push(Gap::Rank),
                    Some(dims) => {
                        let open = dims.iter().enumerate().filter(|&(_, &dim)| self.made_up(dim).is_some());
                        gaps.extend(open.map(|(axis, _)| Gap::Size(axis)));
                    }
                }
                gaps
            }
        }
    }

    /// Why something is not known about a value; `None` if it is known. Takes time linear in the chain and the nodes in it;
    /// [`Inference::report`] answers for all values at once.
    #[must_use]
    pub fn why(&self, model: &Model, value: ValueId, gap: Gap) -> Option<Why> {
        match gap {
            Gap::Size(axis) => {
                let dim = *self.shape(value)?.get(axis)?;
                let symbol = self.made_up(dim)?;
                let (origin, at_axis) = self.origin(symbol)?;
                let chain = self.chain_of_size(model, value, symbol, origin, &mut Steps::new(usize::MAX));
                let rank = self.shape(origin).map_or(0, <[Dim]>::len);
                let missing = Gap::Size(if at_axis < rank { at_axis } else { axis });
                Some(Why { chain, missing, node: model.value(origin).producer() })
            }
            Gap::Type | Gap::Elem | Gap::Rank => {
                let unknown = self.lacks(value, gap);
                let chain =
                    unknown.then(|| self.chain_lacking(model, value, gap, &mut Steps::new(usize::MAX)))?;
                let last = *chain.last()?;
                let missing = if self.ty(last).is_unknown() { Gap::Type } else { gap };
                Some(Why { chain, missing, node: model.value(last).producer() })
            }
        }
    }

    /// The first symbol of a size that inference created.
    pub(crate) fn made_up(&self, dim: Dim) -> Option<Symbol> {
        match dim {
            Dim::Known(_) | Dim::Unknown => None,
            Dim::Var(symbol) => self.is_fresh(symbol).then_some(symbol),
            Dim::Expr(_) => self.exprs.symbols(dim).into_iter().find(|&symbol| self.is_fresh(symbol)),
        }
    }

    fn lacks(&self, value: ValueId, gap: Gap) -> bool {
        match (self.table.outline(value), gap) {
            (Outline::Unknown, _) => true,
            (Outline::Tensor { has_elem, .. }, Gap::Elem) => !has_elem,
            (Outline::Tensor { shape, .. }, Gap::Rank) => shape.is_none(),
            _ => false,
        }
    }

    /// The first input of a node that lacks the same as its outputs; `None` if the node lost it.
    pub(crate) fn lost_before(&self, model: &Model, node: NodeId, gap: Gap) -> Option<ValueId> {
        model.node(node).inputs().flatten().find(|&input| self.lacks(input, gap))
    }

    /// Follows inputs that lack the same until a node has none, which lost it.
    pub(crate) fn chain_lacking(
        &self,
        model: &Model,
        value: ValueId,
        gap: Gap,
        steps: &mut Steps,
    ) -> Vec<ValueId> {
        let mut chain = vec![value];
        let mut seen: SparseSecondaryMap<NodeId, ()> = SparseSecondaryMap::new();
        let mut at = value;
        // In a cycle, the chain ends where it would repeat.
        while let Some(node) = model.value(at).producer()
            && seen.insert(node, ()).is_none()
            && steps.take(model.node(node).inputs().len())
            && let Some(next) = self.lost_before(model, node, gap)
        {
            chain.push(next);
            at = next;
        }
        chain
    }

    /// Follows values whose sizes or elements hold the symbol to the value that it was created for.
    pub(crate) fn chain_of_size(
        &self,
        model: &Model,
        value: ValueId,
        symbol: Symbol,
        origin: ValueId,
        steps: &mut Steps,
    ) -> Vec<ValueId> {
        let mut chain = vec![value];
        let mut at = value;
        let mut seen: SparseSecondaryMap<ValueId, ()> = SparseSecondaryMap::new();
        while at != origin && seen.insert(at, ()).is_none() {
            let inputs = model.value(at).producer().map(|node| model.node(node).inputs().flatten());
            let next = inputs.into_iter().flatten().find(|&input| {
                !seen.contains_key(input)
                    && (input == origin || steps.take(self.extent(input)) && self.holds(input, symbol))
            });
            // Values inside nested graphs and functions are not followed, and neither are any once the steps are used up.
            at = next.unwrap_or(origin);
            chain.push(at);
        }
        chain
    }

    /// The number of sizes and elements of a value.
    fn extent(&self, value: ValueId) -> usize {
        let elements = self.content(value).map_or(0, |content| content.len());
        self.shape(value).map_or(0, <[Dim]>::len).saturating_add(elements)
    }

    /// Whether a symbol occurs in the sizes or in the elements of a value.
    fn holds(&self, value: ValueId, symbol: Symbol) -> bool {
        let occurs = |dim: Dim| match dim {
            Dim::Var(other) => other == symbol,
            Dim::Expr(_) => self.exprs.symbols(dim).contains(&symbol),
            Dim::Known(_) | Dim::Unknown => false,
        };
        self.shape(value).is_some_and(|dims| dims.iter().any(|&dim| occurs(dim)))
            || self.content(value).is_some_and(|content| {
                content.iter().any(|&elem| match elem {
                    Elem::Int(dim) | Elem::Dyadic(dim, _) | Elem::Quotient(dim, _) => occurs(dim),
                    Elem::Unknown | Elem::Float(_) => false,
                })
            })
    }
}

#[cfg(test)]
mod tests {
    use onnx_text::{ParseOptions, parse_model};

    use super::*;
    use crate::{InferOptions, infer};

    /// The names along the chain, what is missing, and the operator that lost it.
    fn check(body: &str, value: &str, expected: &[(&str, Gap, &str)]) {
        let text = format!("<ir_version: 10, opset_import: [\"\": 20]> g {body}");
        let model = parse_model(&text, &ParseOptions::default()).unwrap();
        let inference = infer(&model, &InferOptions::default());
        let name = model.names().get(value).unwrap();
        let mut values = model.nodes(model.main_graph()).flat_map(|node| model.node(node).outputs());
        let value = values.find_map(|&value| value.filter(|&value| model.value(value).name() == name));
        let value = value.unwrap();
        let found: Vec<_> = inference
            .gaps(value)
            .into_iter()
            .map(|gap| {
                let why = inference.why(&model, value, gap).unwrap();
                let chain: Vec<&str> =
                    why.chain.iter().map(|&value| model.str(model.value(value).name())).collect();
                let op = why.node.map_or("", |node| model.str(model.node(node).op()));
                (chain.join(" "), why.missing, op.to_owned())
            })
            .collect();
        let found: Vec<_> =
            found.iter().map(|(chain, missing, op)| (chain.as_str(), *missing, op.as_str())).collect();
        assert_eq!(found, expected, "{body}");
    }

    #[test]
    fn chains_lead_to_where_knowledge_was_lost() {
        check("(float[N] x) => (y) { y = Relu (x) }", "y", &[]);
        check("(float[] x) => (y) { a = Relu (x) y = Neg (a) }", "y", &[("y a x", Gap::Rank, "")]);
        check(
            "(float[2] x) => (y) { a = Strange (x) b = Relu (a) y = Neg (b) }",
            "y",
            &[("y b a", Gap::Type, "Strange")],
        );
        check("(float[?, 2] x) => (y) { a = Relu (x) y = Neg (a) }", "y", &[("y a x", Gap::Size(0), "")]);
        check(
            "(float[2, 3] x, int64[2] s) => (y) { a = Reshape (x, s) y = Neg (a) }",
            "y",
            &[("y a", Gap::Size(0), "Reshape"), ("y a", Gap::Size(1), "Reshape")],
        );
    }
}
