//! Sizes for conditions with a fixed number, such as `N*M*K == 1001`: they are products of divisors of the number.

#![cfg_attr(
    not(test),
    expect(
        clippy::arithmetic_side_effects,
        reason = "counts are bounded by constants, and divisors are positive"
    )
)]

use onnx_types::{Dim, Symbol};

use crate::facts::Relation;
use crate::result::Inference;

/// Numbers beyond this are not factored: trial division takes the root of it.
const MOST_NUMBER: i64 = 1 << 32;
/// Divisors of a number that are tried at each end.
const MOST_DIVISORS: usize = 32;
/// Variables of a condition whose sizes are chosen together.
const MOST_VARIABLES: usize = 3;
/// Choices for a condition.
const MOST_CHOICES: usize = 32;

/// Sizes of the free variables of a relation with which it holds: the most equal ones first.
pub(super) fn choices(
    inference: &Inference,
    relation: Relation,
    free: &[Symbol],
    size: &dyn Fn(Symbol) -> Option<i64>,
) -> Vec<Vec<(Symbol, i64)>> {
    let (Relation::Equal(a, b)
    | Relation::AtMost(a, b)
    | Relation::Divides(a, b)
    | Relation::Broadcasts(a, b)) = relation
    else {
        return Vec::new();
    };
    let exprs = inference.exprs();
    let fixed = |symbol| if free.contains(&symbol) { None } else { size(symbol) };
    let numbers = [a, b].into_iter().filter_map(|dim| exprs.eval(dim, &fixed));
    let divisors: Vec<i64> = numbers.flat_map(divisors).collect();
    let mut variables: Vec<Symbol> = [a, b].into_iter().flat_map(|dim| exprs.symbols(dim)).collect();
    variables.retain(|symbol| free.contains(symbol));
    variables.sort_unstable();
    variables.dedup();
    if divisors.is_empty() || variables.is_empty() || variables.len() > MOST_VARIABLES {
        return Vec::new();
    }
    let mut found: Vec<Vec<(Symbol, i64)>> = Vec::new();
    let combinations = divisors.len().pow(variables.len() as u32);
    for combination in 0..combinations {
        let mut rest = combination;
        let chosen: Vec<(Symbol, i64)> = variables
            .iter()
            .filter_map(|&symbol| {
                let divisor = divisors.get(rest % divisors.len()).copied();
                rest /= divisors.len();
                Some((symbol, divisor?))
            })
            .collect();
        let of = |symbol| {
            let own = chosen.iter().find(|(known, _)| *known == symbol).map(|&(_, size)| size);
            own.or_else(|| size(symbol))
        };
        let value = |dim: Dim| exprs.eval(dim, &of);
        if value(a).is_some() && value(b).is_some() && !relation.fails(value) {
            found.push(chosen);
        }
    }
    let largest = |chosen: &[(Symbol, i64)]| chosen.iter().map(|&(_, size)| size).max();
    found.sort_by_cached_key(|chosen| largest(chosen));
    found.dedup();
    found.truncate(MOST_CHOICES);
    found
}

/// The divisors of a positive number in ascending order; of many, the least and the greatest ones.
fn divisors(number: i64) -> Vec<i64> {
    if !(1..=MOST_NUMBER).contains(&number) {
        return Vec::new();
    }
    let small: Vec<i64> = (1..).take_while(|d| d * d <= number).filter(|d| number % d == 0).collect();
    let small = small.get(..MOST_DIVISORS).unwrap_or(&small);
    let mut all = small.to_vec();
    all.extend(small.iter().rev().map(|d| number / d).filter(|d| !small.contains(d)));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn divisors_come_in_pairs() {
        for (number, expected) in [
            (1001, vec![1, 7, 11, 13, 77, 91, 143, 1001]),
            (36, vec![1, 2, 3, 4, 6, 9, 12, 18, 36]),
            (1, vec![1]),
            (0, vec![]),
            (-4, vec![]),
        ] {
            assert_eq!(divisors(number), expected);
        }
        // 720720 has 240 divisors.
        let many = divisors(720_720);
        assert_eq!((many.len(), many.first(), many.last()), (64, Some(&1), Some(&720_720)));
    }
}
