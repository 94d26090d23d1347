//! The costs of nodes, which simplifications lower.

use std::collections::BTreeMap;

use onnx_schema::traits::CostWeight;

/// The cost of a node that does a few operations for each element, and of operators that are not known.
const OTHER: u64 = 8;

/// The cost of a node by its work.
const fn of_weight(weight: CostWeight) -> u64 {
    match weight {
        CostWeight::Sizes => 2,
        CostWeight::Moves => 4,
        CostWeight::Function => 12,
        CostWeight::Heavy => 64,
        _ => OTHER,
    }
}

/// The cost of a node of each operator: the work of a runtime, in no unit. A simplification must lower the sum.
///
/// One node more of any kind that computes costs more than any that moves elements.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Costs(BTreeMap<String, u64>);

impl Default for Costs {
    fn default() -> Self {
        Self::standard()
    }
}

impl Costs {
    /// The costs that are common to runtimes.
    #[must_use]
    pub fn standard() -> Self {
        let newest = onnx_schema::operators().filter_map(<[_]>::last);
        let rows = newest.filter(|schema| schema.domain().is_empty());
        let rows = rows.map(|schema| (schema.name().to_owned(), of_weight(schema.traits().weight())));
        Self(rows.filter(|&(_, cost)| cost != OTHER).collect())
    }

    /// These costs, with those of some operators replaced.
    #[must_use]
    pub fn and(mut self, others: impl IntoIterator<Item = (String, u64)>) -> Self {
        self.0.extend(others);
        self
    }

    /// The cost of a node of an operator.
    #[must_use]
    pub fn of(&self, op: &str) -> u64 {
        self.0.get(op).copied().unwrap_or(OTHER)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_follow_the_work_of_operators() {
        let costs = Costs::standard();
        let of = ["Reshape", "Transpose", "Add", "HardSwish", "Swish", "Mish", "Softmax", "Conv", "Mine"];
        assert_eq!(of.map(|op| costs.of(op)), [2, 4, 8, 8, 12, 12, 12, 64, 8]);
    }

    #[test]
    fn a_target_replaces_costs() {
        let costs = Costs::standard().and([("Conv".to_owned(), 7)]);
        assert_eq!((costs.of("Conv"), costs.of("MatMul"), costs.of("Add")), (7, 64, 8));
    }
}
