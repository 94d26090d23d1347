//! Sizes and lists that fit what was chosen before, so that conditions between operands hold.

use onnx_ir::AttrValue;
use onnx_schema::Schema;
use onnx_types::ElemType;
use onnx_types::tensor::{NoData, Tensor};

use super::generate::{Generator, Slot, Window};
use super::sizes;
use crate::ast::{AttributeTerm, Condition, FlatNode, Operand, Size, Var};

impl Generator<'_> {
    /// Returns `true` if two slices of the left side have the same operand: they may be its halves.
    pub(super) fn slices_one_value_twice(&self) -> bool {
        let slices = self.pattern.rule.from.nodes.iter().filter(|node| node.op == "Slice");
        let operands: Vec<_> = slices.filter_map(|node| node.operands.first()).collect();
        operands.iter().enumerate().any(|(index, operand)| {
            operands.iter().skip(index.saturating_add(1)).any(|other| other == operand)
        })
    }

    /// A list of sizes, or limits of a slice, that fits what was chosen before; mostly `None`.
    pub(super) fn related(&mut self, op: &str, name: &str, first: &[i64]) -> Option<Vec<i64>> {
        let last = first.last().copied()?;
        if op == "Slice"
            && let Some(is_second) = self.half
        {
            let axis = i64::try_from(first.len()).ok()?.checked_sub(1)?;
            let half = last / 2;
            return Some(match name {
                "starts" => {
                    let is_second = self.rng.chance(50);
                    self.half = Some(is_second);
                    vec![if is_second { half } else { 0 }]
                }
                "ends" => vec![if is_second { i64::MAX } else { half }],
                "axes" => vec![if self.rng.chance(50) { -1 } else { axis }],
                _ => vec![1],
            });
        }
        if op == "Slice" {
            return self.window(name, first);
        }
        if op != "Reshape" || name != "shape" || !self.rng.chance(30) {
            return None;
        }
        // The sizes of another operand, or with the last size of this one.
        let all: Vec<Vec<i64>> = self
            .slots
            .iter()
            .flatten()
            .filter_map(Slot::tensor)
            .map(|tensor| tensor.dims().to_vec())
            .collect();
        let mut sizes = self.rng.pick(&all)?;
        let count = |sizes: &[i64]| sizes.iter().try_fold(1_i64, |count, &size| count.checked_mul(size));
        if count(&sizes) != count(first) {
            *sizes.last_mut()? = last;
        }
        (count(&sizes) == count(first)).then_some(sizes)
    }

    /// The limits of a slice that is a window of its operand in a way that slices of models are: they fit each other.
    fn window(&mut self, name: &str, first: &[i64]) -> Option<Vec<i64>> {
        if name == "starts" && !self.keeps_window {
            let all = [Window::Any, Window::Any, Window::Tail, Window::Tail, Window::Head, Window::Reversed];
            self.window = self.rng.pick(&all)?;
        }
        let rank = i64::try_from(first.len()).ok()?;
        let all: &[i64] = match (self.window, name) {
            (Window::Any, _) => return None,
            (Window::Tail, "starts") => &[1, 2, -1, -2, 1, 3],
            (Window::Tail, "ends") => &[i64::MAX, 2_147_483_647, 1000, 100],
            (Window::Head, "starts") => &[0, 0, i64::MIN],
            (Window::Head, "ends") => &[1, 2, -1, 100],
            (Window::Reversed, "starts") => &[-1, -1, i64::MAX, 100, -2],
            (Window::Reversed, "ends") => &[i64::MIN, i64::MIN, -100, -1000, 0],
            (Window::Reversed, "steps") => &[-1, -1, -1, -2],
            (_, "steps") => &[1],
            // Slices in a row have the same axis, mostly.
            (_, "axes") => {
                let axis =
                    if self.rng.chance(70) { 0 } else { i64::try_from(self.rng.below(first.len())).ok()? };
                return Some(vec![if self.rng.chance(15) { axis.checked_sub(rank)? } else { axis }]);
            }
            _ => return None,
        };
        Some(vec![self.rng.pick(all)?])
    }

    /// The operator that decides which sizes a node takes: its own, or that of a node after it whose operand has the same sizes.
    fn leading_operator(&self, node: &FlatNode) -> String {
        const STEPS: usize = 8;
        let nodes = &self.pattern.rule.from.nodes;
        let (mut op, mut output) = (node.op.as_str(), node.outputs.first().copied().flatten());
        for _ in 0..STEPS {
            if sizes::is_particular(op) || !sizes::keeps_sizes(op) {
                break;
            }
            let is_next = |next: &&FlatNode| {
                output.is_some_and(|output| next.operands.first() == Some(&Operand::Var(output)))
            };
            let Some(next) = nodes.iter().find(is_next) else { break };
            (op, output) = (next.op.as_str(), next.outputs.first().copied().flatten());
        }
        if sizes::is_particular(op) { op.to_owned() } else { node.op.clone() }
    }

    /// Numbers of the rule that can be sizes.
    pub(super) fn sizes_of_rule(&self) -> Vec<i64> {
        let rule = &self.pattern.rule;
        let nodes = rule.lets.iter().chain(&rule.from.nodes).chain(&rule.to.nodes);
        let literals = nodes.flat_map(|node| &node.operands).filter_map(|operand| match operand {
            Operand::Literal(literal) | Operand::Default(_, literal) => literal.integers.as_ref(),
            _ => None,
        });
        let mut numbers: Vec<i64> = literals.flatten().copied().collect();
        numbers.extend(
            rule.conditions
                .iter()
                .flat_map(|(_, condition)| match condition {
                    Condition::Equal(a, b) | Condition::AtMost(a, b) => vec![*a, *b],
                    _ => Vec::new(),
                })
                .filter_map(|size| match size {
                    Size::Number(number) => Some(number),
                    _ => None,
                }),
        );
        // Indices count from the end, too.
        numbers.iter_mut().for_each(|number| *number = number.saturating_abs());
        numbers.retain(|number| (3..=2048).contains(number));
        numbers
    }

    /// In a part of the models, the next size that the rule names or is next to one, and whether it is the last one.
    fn due_size(&mut self) -> Option<(i64, bool)> {
        if self.due.is_empty() || self.named.is_some() || !self.rng.chance(15) {
            return None;
        }
        let due = self.due.get(self.turn_of_due.checked_rem(self.due.len())?).copied();
        self.turn_of_due = self.turn_of_due.wrapping_add(1);
        self.named = due;
        due
    }

    /// The sizes that the rule names, and those next to them, each as the first and as the last one.
    pub(super) fn all_due(&self) -> Vec<(i64, bool)> {
        const MOST: usize = 32;
        const SMALL: i64 = 4;
        let mut sizes: Vec<i64> = Vec::new();
        // Smaller ones are chosen anyway.
        for named in self.sizes_of_rule().into_iter().filter(|&named| named > SMALL) {
            sizes.extend([1, 0, -1, 2].map(|by| named.saturating_add(by)));
        }
        let mut seen = std::collections::BTreeSet::new();
        sizes.retain(|size| seen.insert(*size));
        sizes.into_iter().flat_map(|size| [(size, false), (size, true)]).take(MOST).collect()
    }

    /// The sizes of the first operand of a node: mostly those that fit an operand after it which is chosen already, sometimes those
    /// of an operand of another node.
    pub(super) fn first_sizes(&mut self, node: &FlatNode, schema: &Schema) -> Vec<i64> {
        let tensor = |operand: &Operand| match operand {
            Operand::Var(var) => self.slots.get(*var)?.as_ref()?.tensor(),
            _ => None,
        };
        let later = node.operands.iter().enumerate().skip(1).find_map(|(place, operand)| {
            let formal = schema.input_for(place)?;
            let is_similar = schema.input_for(0).is_some_and(|first| first.ty == formal.ty);
            let sizes = tensor(operand).filter(|_| is_similar)?.dims().to_vec();
            Some((formal.name, sizes))
        });
        if let Some((name, later)) = later
            && self.rng.chance(75)
            && let Some(sizes) = sizes::sizes_for(&mut self.rng, &node.op, name, &later)
        {
            return sizes;
        }
        let op = self.leading_operator(node);
        let mut sizes = sizes::first_sizes(&mut self.rng, &op, self.equal);
        // A rule can be wrong only next to a size that it names: each is the first and the last one of some models.
        if !sizes::is_particular(&op)
            && let Some((size, is_last)) = self.due_size()
        {
            // Together with other large axes, the operand would have too many elements.
            if size > 128 {
                sizes.truncate(2);
                sizes.iter_mut().for_each(|size| *size = (*size).min(2));
            }
            let axis = if is_last { sizes.len().saturating_sub(1) } else { 0 };
            if let Some(slot) = sizes.get_mut(axis) {
                *slot = size;
                return sizes;
            }
        }
        let others = self.slots.iter().flatten().filter(|slot| !matches!(slot, Slot::Result(_)));
        let others = others.filter_map(Slot::tensor).map(|tensor| tensor.dims().to_vec());
        let others: Vec<Vec<i64>> = others.filter(|other| other.len() == sizes.len()).collect();
        if self.rng.chance(30) { self.rng.pick(&others).unwrap_or(sizes) } else { sizes }
    }

    /// A constant that was chosen before, sometimes: a rule may be wrong only if two constants are equal.
    pub(super) fn known_constant(&mut self, sizes: &[i64], elem: ElemType) -> Option<Tensor> {
        if !self.rng.chance(15) {
            return None;
        }
        let constants = self.slots.iter().flatten().filter_map(|slot| match slot {
            Slot::Constant(tensor) => Some(tensor),
            _ => None,
        });
        let mut equal = constants.filter(|tensor| tensor.dims() == sizes && tensor.elem() == elem);
        equal.next().cloned()
    }

    /// Number of groups of a convolution: that of the rule, or any if the rule allows it.
    pub(super) fn wanted_groups(&mut self, node: &FlatNode) -> i64 {
        let given = node.attributes.iter().find(|(name, _)| name == "group").map(|(_, term)| term);
        let known = match given {
            Some(AttributeTerm::Value(AttrValue::Int(groups))) => return *groups,
            Some(AttributeTerm::Var(var)) => self.slots.get(*var).and_then(Option::as_ref),
            _ if !node.is_open => return 1,
            _ => None,
        };
        if let Some(Slot::Attribute(groups)) = known {
            return groups.get_i64s(&NoData, 1).ok().and_then(|groups| groups.first().copied()).unwrap_or(1);
        }
        self.rng.pick(&[1, 1, 2, 2, 3, 4]).unwrap_or(1)
    }

    /// Sizes of a variable that satisfy, mostly, the conditions which relate it to a number or to what is chosen already.
    pub(super) fn conditioned(&mut self, var: Var, mut sizes: Vec<i64>) -> Vec<i64> {
        if self.rng.chance(10) {
            return sizes;
        }
        let known = |slots: &[Option<Slot>], size: Size| match size {
            Size::Number(number) => Some(number),
            Size::Rank(other) => i64::try_from(slots.get(other)?.as_ref()?.tensor()?.dims().len()).ok(),
            Size::Dim(other, axis) => at(slots.get(other)?.as_ref()?.tensor()?.dims(), axis).copied(),
        };
        let equal = || {
            let all = self.pattern.rule.conditions.iter();
            all.filter_map(|(_, condition)| match condition {
                Condition::Equal(a, b) => Some([(*a, *b), (*b, *a)]),
                _ => None,
            })
            .flatten()
        };
        let same = self.pattern.rule.conditions.iter().find_map(|(_, condition)| match condition {
            Condition::SameShape(a, b) if *a == var => self.slots.get(*b)?.as_ref()?.tensor(),
            Condition::SameShape(a, b) if *b == var => self.slots.get(*a)?.as_ref()?.tensor(),
            _ => None,
        });
        if let Some(same) = same {
            return same.dims().to_vec();
        }
        for (own, other) in equal() {
            if own == Size::Rank(var)
                && let Some(rank) = known(&self.slots, other).and_then(|rank| usize::try_from(rank).ok())
            {
                let named = self.named.filter(|(size, _)| sizes.contains(size));
                sizes.resize(rank.min(8), 2);
                // The size that the rule names was at the end of another rank.
                if let Some((size, is_last)) = named
                    && !sizes.contains(&size)
                    && let Some(slot) = if is_last { sizes.last_mut() } else { sizes.first_mut() }
                {
                    *slot = size;
                }
            }
        }
        for (own, other) in equal() {
            if let (Size::Dim(own, axis), Some(size)) = (own, known(&self.slots, other))
                && own == var
                && let Some(slot) = index(sizes.len(), axis).and_then(|axis| sizes.get_mut(axis))
            {
                *slot = size;
            }
        }
        sizes
    }
}

/// The index of an axis that may count from the end.
fn index(rank: usize, axis: i64) -> Option<usize> {
    let rank = i64::try_from(rank).ok()?;
    usize::try_from(if axis < 0 { axis.saturating_add(rank) } else { axis }).ok()
}

fn at(sizes: &[i64], axis: i64) -> Option<&i64> {
    sizes.get(index(sizes.len(), axis)?)
}
