//! `TreeEnsemble`: decision trees for each row of features, with branches and leaves in separate lists.
//!
//! Comparisons and sums are those of `TreeEnsembleRegressor`. The sets of `membership_values`, separated by NaN, belong to the
//! nodes with the mode `BRANCH_MEMBER` in the order of the lists; the reference assigns them in the order in which it builds
//! trees, which is the same for trees that are listed depth first, the true branch first.

use onnx_schema::{attr, domain, op};
use onnx_types::Symbol;

use super::forest::{Aggregate, Branch, Child, Forest, Test};
use super::label_encoder::tensor;
use super::scores::Transform;
use crate::cx::axes::size;
use crate::cx::{Cx, Outcome, Stop};
use crate::ops::math::cast::put_real;
use crate::registry::{OpKernels, eval, since};

pub(super) const KERNELS: OpKernels = eval(op::TREE_ENSEMBLE, &[since(5, ensemble)]).open().of(domain::ML);

fn ensemble(cx: &mut Cx<'_, '_>) -> Outcome {
    let x = cx.tensor(0)?;
    let forest = forest(cx)?;
    let targets = size(cx.int_or(attr::N_TARGETS, 1)?)?;
    let aggregate = Aggregate::numbered(cx.int_or(attr::AGGREGATE_FUNCTION, 1)?)?;
    let transform = match cx.int_or(attr::POST_TRANSFORM, 0)? {
        0 => Transform::None,
        1 => Transform::Softmax,
        2 => Transform::Logistic,
        3 => Transform::SoftmaxZero,
        4 => Transform::Probit,
        _ => return Err(Stop::failed("attribute `post_transform` names no transform")),
    };
    let mut scores = forest.scores(cx, targets, aggregate)?;
    scores.chunks_mut(targets.max(1)).for_each(|row| transform.apply(row));
    put_real(cx, 0, x.elem, &[super::rows(&x)?.0, targets], &scores)
}

fn numbers(cx: &mut Cx<'_, '_>, name: Symbol) -> Outcome<Vec<f64>> {
    let operand = tensor(cx, name)?;
    Ok(cx.read_f64(&operand)?.into_vec())
}

fn forest(cx: &mut Cx<'_, '_>) -> Outcome<Forest> {
    let ints = |cx: &Cx<'_, '_>, name: Symbol| -> Outcome<Vec<usize>> {
        cx.ints(name)?.unwrap_or_default().into_iter().map(size).collect()
    };
    let (values, modes) = (numbers(cx, attr::NODES_SPLITS)?, numbers(cx, attr::NODES_MODES)?);
    let features = ints(cx, attr::NODES_FEATUREIDS)?;
    let targets = [ints(cx, attr::NODES_TRUENODEIDS)?, ints(cx, attr::NODES_FALSENODEIDS)?];
    let are_leaves = [ints(cx, attr::NODES_TRUELEAFS)?, ints(cx, attr::NODES_FALSELEAFS)?];
    let missing = ints(cx, attr::NODES_MISSING_VALUE_TRACKS_TRUE)?;
    let lists = [&features, &targets[0], &targets[1], &are_leaves[0], &are_leaves[1]];
    let count = values.len();
    let fits = lists.iter().all(|list| list.len() == count) && modes.len() == count;
    if !fits || !missing.is_empty() && missing.len() != count {
        return Err(Stop::failed("the lists about nodes have different lengths"));
    }
    let members = if cx.has_attribute(attr::MEMBERSHIP_VALUES) {
        numbers(cx, attr::MEMBERSHIP_VALUES)?
    } else {
        Vec::new()
    };
    let mut sets = members.split_inclusive(|member| member.is_nan());
    let mut branches = cx.buffer(count)?;
    for index in 0..count {
        let test = Test::numbered(modes[index] as u8)?;
        let set = if test == Test::Member { Some(sets.next()) } else { None };
        let members = match set {
            None => Vec::new(),
            Some(Some([set @ .., last])) if last.is_nan() => set.to_vec(),
            Some(_) => {
                return Err(Stop::failed("`membership_values` has fewer sets than there are nodes for them"));
            }
        };
        let child = |of: usize| {
            let target = targets[of][index];
            if are_leaves[of][index] == 0 { Child::Branch(target) } else { Child::Leaf(target) }
        };
        branches.push(Branch {
            feature: features[index],
            test,
            value: values[index],
            members,
            is_missing_true: missing.get(index).is_some_and(|&way| way != 0),
            children: [child(0), child(1)],
        });
    }
    let (weights, leaf_targets) = (numbers(cx, attr::LEAF_WEIGHTS)?, ints(cx, attr::LEAF_TARGETIDS)?);
    if weights.len() != leaf_targets.len() {
        return Err(Stop::failed("the lists about leaves have different lengths"));
    }
    let votes = leaf_targets.into_iter().zip(weights).map(|vote| vec![vote]).collect();
    let roots = ints(cx, attr::TREE_ROOTS)?.into_iter().map(Child::Branch).collect();
    Ok(Forest { roots, branches, votes })
}
