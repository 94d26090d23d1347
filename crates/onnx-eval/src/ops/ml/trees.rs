//! `TreeEnsembleClassifier`, `TreeEnsembleRegressor` and `TreeEnsemble`: decision trees for each row of features.
//!
//! A comparison is exact in `double`; integers are rounded to `float` first, as both engines do. NaN takes the false branch
//! unless `nodes_missing_value_tracks_true` is set, as in the text; in onnxruntime it takes the true branch of `BRANCH_NEQ`.
//! The root of a tree is its first node in the lists. Weights are added in the order of the trees, in `double`, and rounded
//! once. `AVERAGE` divides by the number of trees, and base values are added afterwards, to every target; onnxruntime leaves
//! them out for a target without a vote. A target without a vote has the score 0 for every aggregate, as in onnxruntime; the
//! reference leaves the greatest or least float there for `MIN` and `MAX`. A regressor transforms a single target too, which
//! onnxruntime leaves as it is.
//!
//! A classifier of two labels whose votes are all for one class has one score, that of the second label. The second label is
//! chosen above 0.5 if no weight is negative, otherwise above 0, as in onnxruntime, whatever the transform. If the one class is
//! the first in the list, the score `s` gives the scores `1 - s` and `s`, or `-s` and `s` with negative weights, and with
//! `LOGISTIC` the logistic function of `-s` and `s`; the other transforms, and base values for both classes, are computed
//! differently by engines and are unsupported. Any other classifier adds votes and base values for each class, and chooses the
//! greatest sum, the first one among equals; with `SOFTMAX_ZERO`, of the sums that the transform does not set to 0. With
//! the other transforms, a class without a vote takes part with its score 0, as in the reference; in onnxruntime it does not.

use std::collections::HashMap;

use foldhash::fast::FixedState;
use onnx_schema::{attr, domain, op};
use onnx_types::{ElemType, Symbol};

use super::forest::{Branch, Child, Forest, Test, Votes};
use super::label_encoder::tensor;
use super::scores::{Transform, is_counted, logistic};
use super::{Labels, transform};
use crate::cx::axes::size;
use crate::cx::{Cx, Outcome, Stop};
use crate::registry::{OpKernels, eval, since};

pub(super) const CLASSIFIER: OpKernels =
    eval(op::TREE_ENSEMBLE_CLASSIFIER, &[since(1, classify)]).open().of(domain::ML);
pub(super) const REGRESSOR: OpKernels =
    eval(op::TREE_ENSEMBLE_REGRESSOR, &[since(1, regress)]).open().of(domain::ML);

/// Numbers of a list of floats, or of the tensor that replaces it.
fn numbers(cx: &mut Cx<'_, '_>, list: Symbol, in_tensor: Symbol) -> Outcome<Vec<f64>> {
    if cx.has_attribute(in_tensor) {
        let operand = tensor(cx, in_tensor)?;
        return Ok(cx.read_f64(&operand)?.into_vec());
    }
    Ok(cx.floats(list)?.unwrap_or_default().into_iter().map(f64::from).collect())
}

/// The names of the attributes that hold votes.
struct VoteNames {
    trees: Symbol,
    nodes: Symbol,
    ids: Symbol,
    weights: [Symbol; 2],
}

/// The trees, and the votes in the order of their lists.
fn read(cx: &mut Cx<'_, '_>, names: &VoteNames) -> Outcome<(Forest, Vec<(i64, f64)>)> {
    let ints = |cx: &Cx<'_, '_>, name| Ok::<_, Stop>(cx.ints(name)?.unwrap_or_default());
    let (trees, ids) = (ints(cx, attr::NODES_TREEIDS)?, ints(cx, attr::NODES_NODEIDS)?);
    let features = ints(cx, attr::NODES_FEATUREIDS)?;
    let children = [ints(cx, attr::NODES_TRUENODEIDS)?, ints(cx, attr::NODES_FALSENODEIDS)?];
    let missing = ints(cx, attr::NODES_MISSING_VALUE_TRACKS_TRUE)?;
    let modes = cx.texts(attr::NODES_MODES)?.unwrap_or_default();
    let values = numbers(cx, attr::NODES_VALUES, attr::NODES_VALUES_AS_TENSOR)?;
    let lengths =
        [ids.len(), features.len(), children[0].len(), children[1].len(), modes.len(), values.len()];
    if lengths.iter().any(|&length| length != trees.len())
        || !missing.is_empty() && missing.len() != trees.len()
    {
        return Err(Stop::failed("the lists about nodes have different lengths"));
    }
    cx.budget.allocate(trees.len(), size_of::<Branch>() * 2)?;
    let places = places(&trees, &ids)?;
    let votes = votes(cx, names, &places)?;
    let mut forest = Forest { roots: Vec::new(), branches: Vec::new(), votes: votes.1 };
    let mut seen: HashMap<i64, (), FixedState> = HashMap::default();
    for index in 0..trees.len() {
        if seen.insert(trees[index], ()).is_none() {
            forest.roots.push(Child::Branch(index));
        }
        let test = Test::named(modes[index])?;
        let child = |of: usize| match test {
            None => Ok(Child::Leaf(index)),
            Some(_) => places
                .get(&(trees[index], children[of][index]))
                .map(|&child| Child::Branch(child))
                .ok_or_else(|| Stop::failed("a node has a child that does not exist")),
        };
        forest.branches.push(Branch {
            feature: size(features[index]).unwrap_or(usize::MAX),
            test: test.unwrap_or(Test::Always),
            value: values[index],
            members: Vec::new(),
            is_missing_true: missing.get(index).is_some_and(|&way| way != 0),
            children: [child(0)?, child(1)?],
        });
    }
    Ok((forest, votes.0))
}

/// The index of each node, by tree and number.
fn places(trees: &[i64], ids: &[i64]) -> Outcome<HashMap<(i64, i64), usize, FixedState>> {
    let mut places = HashMap::with_capacity_and_hasher(trees.len(), FixedState::default());
    for (index, (&tree, &id)) in trees.iter().zip(ids).enumerate() {
        if places.insert((tree, id), index).is_some() {
            return Err(Stop::failed(format_args!("tree {tree} has node {id} twice")));
        }
    }
    Ok(places)
}

/// The votes, and those of each node.
fn votes(
    cx: &mut Cx<'_, '_>,
    names: &VoteNames,
    places: &HashMap<(i64, i64), usize, FixedState>,
) -> Outcome<(Vec<(i64, f64)>, Votes)> {
    let [trees, nodes, ids] =
        [names.trees, names.nodes, names.ids].map(|name| cx.ints(name).map(Option::unwrap_or_default));
    let (trees, nodes, ids) = (trees?, nodes?, ids?);
    let weights = numbers(cx, names.weights[0], names.weights[1])?;
    if [nodes.len(), ids.len(), weights.len()] != [trees.len(); 3] {
        return Err(Stop::failed("the lists about votes have different lengths"));
    }
    let all: Vec<(i64, f64)> = ids.into_iter().zip(weights).collect();
    let mut by_node: Votes = vec![Vec::new(); places.len()];
    for (node, &(id, weight)) in trees.into_iter().zip(nodes).zip(&all) {
        let place = places.get(&node).and_then(|&place| by_node.get_mut(place));
        let place = place.ok_or_else(|| Stop::failed("a vote belongs to no node"))?;
        place.push((size(id)?, weight));
    }
    Ok((all, by_node))
}

fn regress(cx: &mut Cx<'_, '_>) -> Outcome {
    let names = VoteNames {
        trees: attr::TARGET_TREEIDS,
        nodes: attr::TARGET_NODEIDS,
        ids: attr::TARGET_IDS,
        weights: [attr::TARGET_WEIGHTS, attr::TARGET_WEIGHTS_AS_TENSOR],
    };
    let (forest, _) = read(cx, &names)?;
    let targets = size(cx.int_or(attr::N_TARGETS, 1)?)?;
    let bases = numbers(cx, attr::BASE_VALUES, attr::BASE_VALUES_AS_TENSOR)?;
    if !bases.is_empty() && bases.len() != targets {
        return Err(Stop::failed(format_args!(
            "there are {} base values for {targets} targets",
            bases.len()
        )));
    }
    let aggregate = super::forest::Aggregate::named(cx.text(attr::AGGREGATE_FUNCTION)?)?;
    let transform = transform(cx)?;
    let mut scores = forest.scores(cx, targets, aggregate)?;
    for row in scores.chunks_mut(targets.max(1)) {
        row.iter_mut().zip(&bases).for_each(|(score, base)| *score += base);
        transform.apply(row);
    }
    let rows = super::rows(&cx.tensor(0)?)?.0;
    cx.put(0, ElemType::Float, &[rows, targets], scores.into_iter().map(|score| score as f32).collect())
}

/// The class with the greatest score, of those that the transform does not set to 0 if there are any.
fn greatest(scores: &[f64], transform: Transform) -> usize {
    let takes_part = |&class: &usize| transform != Transform::SoftmaxZero || is_counted(scores[class]);
    let mut classes: Vec<usize> = (0..scores.len()).filter(takes_part).collect();
    if classes.is_empty() {
        classes = (0..scores.len()).collect();
    }
    let rounded: Vec<f32> = classes.iter().map(|&class| scores[class] as f32).collect();
    classes[super::greatest(&rounded)]
}

fn classify(cx: &mut Cx<'_, '_>) -> Outcome {
    let names = VoteNames {
        trees: attr::CLASS_TREEIDS,
        nodes: attr::CLASS_NODEIDS,
        ids: attr::CLASS_IDS,
        weights: [attr::CLASS_WEIGHTS, attr::CLASS_WEIGHTS_AS_TENSOR],
    };
    let labels = Labels::read(cx, attr::CLASSLABELS_INT64S, attr::CLASSLABELS_STRINGS)?;
    let (forest, votes) = read(cx, &names)?;
    let bases = numbers(cx, attr::BASE_VALUES, attr::BASE_VALUES_AS_TENSOR)?;
    let transform = transform(cx)?;
    let count = labels.len();
    let mut scores = forest.scores(cx, count, super::forest::Aggregate::Sum)?;
    let one_class = votes.first().map(|vote| vote.0).filter(|&id| votes.iter().all(|vote| vote.0 == id));
    let is_single = count == 2 && one_class == Some(0);
    if !bases.is_empty() && bases.len() != count && !(is_single && bases.len() == 1) {
        return Err(Stop::failed(format_args!("there are {} base values for {count} classes", bases.len())));
    }
    if is_single && (bases.len() == 2 || !matches!(transform, Transform::None | Transform::Logistic)) {
        return Err(Stop::unsupported("two base values or this transform of a single score"));
    }
    let is_positive = votes.iter().all(|&(_, weight)| weight >= 0.0);
    let (mut chosen, mut out) = (cx.buffer(scores.len())?, cx.buffer::<f32>(scores.len())?);
    for row in scores.chunks_mut(count.max(1)) {
        row.iter_mut().zip(&bases).for_each(|(score, base)| *score += base);
        if count == 2 && one_class.is_some() {
            let score = row[usize::from(!is_single)] as f32;
            chosen.push(usize::from(score > if is_positive { 0.5 } else { 0.0 }));
        } else {
            chosen.push(greatest(row, transform));
        }
        if is_single {
            let score = row[0];
            let pair = match transform {
                Transform::Logistic => [logistic(-score), logistic(score)],
                _ => [if is_positive { 1.0 - score } else { -score }, score],
            };
            row.copy_from_slice(&pair);
        } else {
            transform.apply(row);
        }
        out.extend(row.iter().map(|&score| score as f32));
    }
    labels.put(cx, &chosen)?;
    cx.put(1, ElemType::Float, &[chosen.len(), count], out)
}
