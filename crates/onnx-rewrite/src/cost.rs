//! The costs of nodes, which simplifications lower.

use std::collections::BTreeMap;

/// The common costs: operator and cost.
const COMMON: &str = include_str!("../costs.tsv");

/// The cost of a node of any other operator.
const OTHER: u64 = 8;

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
        let rows = COMMON.lines().filter_map(|line| line.split_once('\t'));
        Self(rows.filter_map(|(op, cost)| Some((op.to_owned(), cost.parse().ok()?))).collect())
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
    fn each_row_of_the_table_is_read() {
        let rows = COMMON.lines().filter(|line| !line.starts_with('#')).count();
        assert_eq!((Costs::standard().0.len(), Costs::standard().of("Conv")), (rows, 64));
    }

    #[test]
    fn a_target_replaces_costs() {
        let costs = Costs::standard().and([("Conv".to_owned(), 7)]);
        assert_eq!((costs.of("Conv"), costs.of("MatMul"), costs.of("Add")), (7, 64, 8));
    }
}
