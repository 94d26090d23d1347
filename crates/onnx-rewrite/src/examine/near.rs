//! Constants and attributes next to the numbers of conditions: a condition that holds for equal elements only is not seen to be too weak.

use std::collections::BTreeSet;

use onnx_ir::AttrValue;
use onnx_schema::{AttrDefault, AttrKind, FormalAttribute};
use onnx_types::ElemType;
use onnx_types::tensor::{NoData, Tensor};

use super::choose::{self, Rng};
use super::generate::Generator;
use crate::ast::{Operand, Rule, Var};

/// The numbers with which the constants of a rule compute.
pub(super) fn numbers(rule: &Rule) -> Vec<f64> {
    const MOST: usize = 16;
    let operands = rule.lets.iter().flat_map(|node| &node.operands);
    let literals = operands.filter_map(|operand| match operand {
        Operand::Literal(literal) | Operand::Default(_, literal) => Some(literal),
        _ => None,
    });
    let mut numbers: Vec<f64> = literals.flat_map(|literal| literal.numbers.iter().copied()).collect();
    numbers.sort_by(f64::total_cmp);
    numbers.dedup();
    numbers.truncate(MOST);
    numbers
}

/// One of these numbers, or one that a comparison tells from it, or does not.
fn near(rng: &mut Rng, numbers: &[f64]) -> Option<f64> {
    const PART: f64 = 1.0 / 64.0;
    let number = rng.pick(numbers)?;
    Some(match rng.below(9) {
        0..4 => number,
        4 => number + 1.0,
        5 => number - 1.0,
        6 => number + 2.0,
        7 => number * (1.0 + PART),
        _ => number * (1.0 - PART),
    })
}

/// Makes the least, the greatest, the first, the last or each element one of these numbers, and leaves others different.
fn place(rng: &mut Rng, around: &[f64], numbers: &mut [f64]) -> Option<()> {
    let bound = near(rng, around)?;
    let at = match rng.below(6) {
        0 => {
            numbers.fill(bound);
            0
        }
        1 => {
            numbers.iter_mut().for_each(|number| *number = bound + number.abs());
            rng.below(numbers.len())
        }
        2 => {
            numbers.iter_mut().for_each(|number| *number = bound - number.abs());
            rng.below(numbers.len())
        }
        3 => 0,
        4 => numbers.len().saturating_sub(1),
        _ => {
            for number in numbers.iter_mut() {
                *number = near(rng, around)?;
            }
            0
        }
    };
    *numbers.get_mut(at)? = bound;
    Some(())
}

impl Generator<'_> {
    /// Whether the next constant or attribute has numbers of conditions, if it is one that the rule computes with.
    fn is_near(&mut self, var: Var) -> bool {
        let operands = self.pattern.rule.lets.iter().flat_map(|node| &node.operands);
        let used = operands.filter_map(|operand| match operand {
            Operand::Var(own) | Operand::Default(own, _) => Some(*own),
            _ => None,
        });
        // Those of the left side: conditions of many constants hold in few models.
        let used: BTreeSet<Var> =
            used.filter(|&own| own == var || self.pattern.needs_constant(own)).collect();
        let count = used.len().max(1);
        !self.near.is_empty()
            && used.contains(&var)
            && self.rng.chance(35_usize.checked_div(count.saturating_mul(count)).unwrap_or(0))
    }

    /// A constant with numbers of conditions, in a part of the models.
    pub(super) fn near_constant(
        &mut self,
        var: Var,
        name: &str,
        sizes: &[i64],
        elem: ElemType,
    ) -> Option<Tensor> {
        if matches!(elem, ElemType::String | ElemType::Bool) || !self.is_near(var) {
            return None;
        }
        let tensor = choose::data(&mut self.rng, name, sizes, elem)?;
        let mut numbers: Vec<f64> = tensor.iter_f64(&NoData).ok()?.collect();
        place(&mut self.rng, &self.near, &mut numbers)?;
        if choose::is_positive(name) {
            numbers.iter_mut().for_each(|number| *number = number.abs().max(0.25));
        }
        let tensor = Tensor::from_slice(sizes.iter().copied(), &numbers).ok()?;
        self.scratch.convert(tensor, elem).ok()
    }

    /// Replaces elements of a list of sizes, axes or indices by numbers of conditions, in a part of the models.
    pub(super) fn near_list(&mut self, var: Var, list: &mut [i64]) {
        if !self.is_near(var) {
            return;
        }
        for number in list {
            if self.rng.chance(50)
                && let Some(near) = near(&mut self.rng, &self.near)
            {
                *number = near as i64;
            }
        }
    }

    /// A number of conditions as the value of an attribute, in a part of the models.
    pub(super) fn near_attribute(&mut self, var: Var, formal: &FormalAttribute) -> Option<AttrValue> {
        // Booleans are integers.
        if matches!(formal.default, Some(AttrDefault::Int(0 | 1))) || !self.is_near(var) {
            return None;
        }
        let number = near(&mut self.rng, &self.near)?;
        match formal.kind {
            AttrKind::Int => Some(AttrValue::Int(number as i64)),
            AttrKind::Float => Some(AttrValue::Float(number as f32)),
            _ => None,
        }
    }
}
