//! Decision trees: what a row of features leads to.

use crate::cx::{Cx, Outcome, Stop};
use crate::ops::ml::like_input::doubles;
use crate::ops::ml::{row, rows};

/// Votes of each leaf: target and weight.
pub(super) type Votes = Vec<Vec<(usize, f64)>>;

/// The target of a branch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Child {
    /// The node at this index.
    Branch(usize),
    /// The votes at this index.
    Leaf(usize),
}

/// The comparison.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Test {
    LessOrEqual,
    Less,
    GreaterOrEqual,
    Greater,
    Equal,
    NotEqual,
    Member,
    /// A leaf, whose children are equal.
    Always,
}

impl Test {
    /// The test of a mode; `None` for a leaf.
    pub(super) fn named(mode: &[u8]) -> Outcome<Option<Self>> {
        Ok(Some(match mode {
            b"BRANCH_LEQ" => Self::LessOrEqual,
            b"BRANCH_LT" => Self::Less,
            b"BRANCH_GTE" => Self::GreaterOrEqual,
            b"BRANCH_GT" => Self::Greater,
            b"BRANCH_EQ" => Self::Equal,
            b"BRANCH_NEQ" => Self::NotEqual,
            b"LEAF" => return Ok(None),
            _ => return Err(Stop::failed("`nodes_modes` names no comparison")),
        }))
    }

    /// The test of a number.
    pub(super) fn numbered(mode: u8) -> Outcome<Self> {
        Ok(match mode {
            0 => Self::LessOrEqual,
            1 => Self::Less,
            2 => Self::GreaterOrEqual,
            3 => Self::Greater,
            4 => Self::Equal,
            5 => Self::NotEqual,
            6 => Self::Member,
            _ => return Err(Stop::failed(format_args!("{mode} is not the number of a comparison"))),
        })
    }
}

/// A node.
pub(super) struct Branch {
    pub(super) feature: usize,
    pub(super) test: Test,
    pub(super) value: f64,
    pub(super) members: Vec<f64>,
    pub(super) is_missing_true: bool,
    /// The targets if the test holds, and if not.
    pub(super) children: [Child; 2],
}

impl Branch {
    fn child(&self, features: &[f64]) -> Outcome<Child> {
        if self.test == Test::Always {
            return Ok(self.children[0]);
        }
        let Some(&x) = features.get(self.feature) else {
            return Err(Stop::failed("a node compares a feature that does not exist"));
        };
        let holds = if x.is_nan() {
            self.is_missing_true
        } else {
            match self.test {
                Test::LessOrEqual => x <= self.value,
                Test::Less => x < self.value,
                Test::GreaterOrEqual => x >= self.value,
                Test::Greater => x > self.value,
                Test::Equal => x == self.value,
                Test::NotEqual => x != self.value,
                Test::Member => self.members.contains(&x),
                Test::Always => true,
            }
        };
        Ok(self.children[usize::from(!holds)])
    }
}

/// The aggregation of the votes for a target.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Aggregate {
    Average,
    Sum,
    Min,
    Max,
}

impl Aggregate {
    pub(super) fn named(name: &str) -> Outcome<Self> {
        Ok(match name {
            "AVERAGE" => Self::Average,
            "SUM" | "" => Self::Sum,
            "MIN" => Self::Min,
            "MAX" => Self::Max,
            _ => return Err(Stop::failed("`aggregate_function` names no function")),
        })
    }

    pub(super) fn numbered(number: i64) -> Outcome<Self> {
        Ok(match number {
            0 => Self::Average,
            1 => Self::Sum,
            2 => Self::Min,
            3 => Self::Max,
            _ => return Err(Stop::failed("`aggregate_function` names no function")),
        })
    }
}

/// Trees with their votes.
pub(super) struct Forest {
    pub(super) roots: Vec<Child>,
    pub(super) branches: Vec<Branch>,
    pub(super) votes: Votes,
}

impl Forest {
    /// The scores of all targets for each row of the first input.
    pub(super) fn scores(&self, cx: &mut Cx<'_, '_>, targets: usize, how: Aggregate) -> Outcome<Vec<f64>> {
        let x = cx.tensor(0)?;
        let (count, features) = rows(&x)?;
        let mut elements = doubles(cx, &x)?;
        if !x.elem.is_float() {
            elements.iter_mut().for_each(|value| *value = f64::from(*value as f32));
        }
        let mut scores = cx.filled(cx.count(&[count, targets])?, 0.0)?;
        let mut has_vote = cx.filled(targets, false)?;
        for (index, scores) in (0..count).zip(scores.chunks_mut(targets.max(1))) {
            has_vote.fill(false);
            for &root in &self.roots {
                for &(target, weight) in self.leaf(cx, root, row(&elements, index, features))? {
                    let (Some(score), Some(had)) = (scores.get_mut(target), has_vote.get_mut(target)) else {
                        return Err(Stop::failed(format_args!("target {target} does not exist")));
                    };
                    *score = match how {
                        Aggregate::Average | Aggregate::Sum => *score + weight,
                        Aggregate::Min if *had => score.min(weight),
                        Aggregate::Max if *had => score.max(weight),
                        Aggregate::Min | Aggregate::Max => weight,
                    };
                    *had = true;
                }
            }
            if how == Aggregate::Average {
                scores.iter_mut().for_each(|score| *score /= self.roots.len() as f64);
            }
        }
        Ok(scores)
    }

    /// The votes of the leaf to which a row leads.
    fn leaf(&self, cx: &mut Cx<'_, '_>, root: Child, features: &[f64]) -> Outcome<&[(usize, f64)]> {
        let mut child = root;
        // A way without a cycle visits each node once.
        for _ in 0..=self.branches.len() {
            cx.work(1)?;
            match child {
                Child::Leaf(leaf) => {
                    let votes = self.votes.get(leaf);
                    return votes.map(Vec::as_slice).ok_or_else(|| Stop::failed("a leaf does not exist"));
                }
                Child::Branch(index) => {
                    let branch = self.branches.get(index);
                    let branch = branch.ok_or_else(|| Stop::failed("a node does not exist"))?;
                    child = branch.child(features)?;
                }
            }
        }
        Err(Stop::failed("a tree has a cycle"))
    }
}
