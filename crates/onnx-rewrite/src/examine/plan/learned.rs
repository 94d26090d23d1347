//! The operators of `ai.onnx.ml`: tables, coefficients and trees whose lists have the lengths that the operands require.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use onnx_eval::{MapKey, Value};
use onnx_ir::AttrValue;
use onnx_types::ElemType;
use onnx_types::tensor::Tensor;

use super::{Given, Planned, Planner, index_of};

/// Words that are generated as elements, too.
const WORDS: [&str; 3] = ["a", "b", "The"];

impl Planner<'_> {
    /// An attribute that the rule leaves open; `false` if the rule has its value.
    fn is_free(&self, name: &str) -> bool {
        matches!(self.given(name), Given::Any)
    }

    /// Sets an attribute that the rule leaves open.
    fn fill(&mut self, name: &str, value: impl Into<AttrValue>) {
        if self.is_free(name) {
            self.set(name, value);
        }
    }

    /// Leaves out attributes that the rule leaves open.
    fn drop_all(&mut self, names: &[&str]) {
        names.iter().for_each(|name| self.leave_out(name));
    }

    /// The number of elements of a list that the rule gives.
    fn given_count(&self, name: &str) -> Option<i64> {
        let count = match self.given(name) {
            Given::Value(AttrValue::Ints(numbers)) => numbers.len(),
            Given::Value(AttrValue::Floats(numbers)) => numbers.len(),
            Given::Value(AttrValue::Strings(texts)) => texts.len(),
            _ => return None,
        };
        i64::try_from(count).ok()
    }

    /// Rows of features: the number of features, which is the wanted one unless the operand is chosen already.
    fn samples(&mut self, name: &'static str, wanted: Option<i64>) -> Option<i64> {
        if let Some(sizes) = self.known(name) {
            return sizes.last().copied().filter(|_| sizes.len() <= 2);
        }
        let (rows, columns) = (self.size(), wanted.unwrap_or_else(|| self.size()));
        self.sizes(name, &[rows, columns]);
        Some(columns)
    }

    /// Classes as integers or texts: their number is that of the rule or the wanted one.
    fn classes(&mut self, [integers, texts]: [&str; 2], wanted: i64) -> Option<i64> {
        if let Some(count) = self.given_count(integers).or_else(|| self.given_count(texts)) {
            self.drop_all(&[integers, texts]);
            return Some(count);
        }
        let count = usize::try_from(wanted).ok()?;
        let has_texts = self.rng.chance(35) && self.is_free(texts);
        if has_texts || !self.is_free(integers) {
            self.fill(texts, AttrValue::Strings((0..count).map(|n| Bytes::from(format!("c{n}"))).collect()));
            self.drop_all(&[integers]);
        } else {
            let first = self.rng.pick(&[0_i64, 1, 5])?;
            self.fill(integers, AttrValue::Ints((first..).take(count).collect()));
            self.drop_all(&[texts]);
        }
        Some(wanted)
    }

    /// The function that scores go through.
    fn transform(&mut self) {
        self.text("post_transform", "NONE", &["NONE", "NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO"]);
    }
}

fn words() -> AttrValue {
    AttrValue::Strings(WORDS.iter().map(|word| Bytes::from_static(word.as_bytes())).collect())
}

fn count(number: i64) -> usize {
    usize::try_from(number).unwrap_or(0)
}

pub(super) fn rows(planner: &mut Planner<'_>) -> Option<()> {
    planner.samples("X", None)?;
    planner.text("norm", "MAX", &["MAX", "L1", "L2"]);
    if planner.is_free("threshold") {
        let threshold = planner.rng.pick(&[0.0_f32, 0.5, -1.0, 1.0])?;
        planner.fill("threshold", threshold);
    }
    Some(())
}

pub(super) fn scaler(planner: &mut Planner<'_>) -> Option<()> {
    let given = planner.given_count("scale").or_else(|| planner.given_count("offset"));
    let features = planner.samples("X", given.filter(|&given| given > 1))?;
    let own = if planner.rng.chance(30) { 1 } else { features };
    planner.floats("scale", count(own));
    planner.floats("offset", count(own));
    Some(())
}

pub(super) fn imputer(planner: &mut Planner<'_>) -> Option<()> {
    let elem = planner.known_elem("X").unwrap_or(planner.elem);
    let [values, replaced, others] = if elem == ElemType::Int64 {
        ["imputed_value_int64s", "replaced_value_int64", "float"]
    } else {
        ["imputed_value_floats", "replaced_value_float", "int64"]
    };
    let given = planner.given_count(values);
    let features = planner.samples("X", given.filter(|&given| given > 1))?;
    let own = if planner.rng.chance(50) { 1 } else { features };
    if elem == ElemType::Int64 {
        let numbers = (0..own).map(|_| planner.rng.pick(&[0, 1, 7]).unwrap_or(7)).collect();
        planner.fill(values, AttrValue::Ints(numbers));
        let number = planner.rng.pick(&[0_i64, 1, 2])?;
        planner.fill(replaced, number);
    } else {
        planner.floats(values, count(own));
        let number = planner.rng.pick(&[0.0_f32, 1.0, f32::NAN])?;
        planner.fill(replaced, number);
    }
    match others {
        "float" => planner.drop_all(&["imputed_value_floats", "replaced_value_float"]),
        _ => planner.drop_all(&["imputed_value_int64s", "replaced_value_int64"]),
    }
    Some(())
}

pub(super) fn extractor(planner: &mut Planner<'_>) -> Option<()> {
    let input = planner.known_or("X", &[1, 2, 2, 3])?;
    if planner.known("Y").is_none() {
        let last = *input.last()?;
        let number = planner.rng.pick(&[1, 2, 3])?;
        let indices: Vec<i64> = (0..number).map(|_| index_of(planner.rng, last).max(0)).collect();
        let sizes = if planner.rng.chance(50) { vec![number] } else { vec![1, number] };
        planner.elements("Y", Tensor::from_slice(sizes, &indices).ok()?);
    }
    Some(())
}

/// The type of an operand that has texts or integers: that which is chosen already, or one of both.
fn text_or_integer(planner: &mut Planner<'_>) -> Option<ElemType> {
    if let Some(elem) = planner.known_elem("X") {
        return Some(elem);
    }
    let elem = if planner.rng.chance(50) { ElemType::String } else { ElemType::Int64 };
    let rank = planner.rng.pick(&[1, 1, 2])?;
    let sizes = crate::examine::sizes::any(planner.rng, rank);
    planner.typed("X", &sizes, elem);
    Some(elem)
}

pub(super) fn categories(planner: &mut Planner<'_>) -> Option<()> {
    text_or_integer(planner)?;
    planner.fill("cats_strings", words());
    planner.fill("cats_int64s", AttrValue::Ints(vec![0, 1, 2]));
    planner.fill("default_int64", -1_i64);
    planner.fill("default_string", "none");
    Some(())
}

pub(super) fn one_hot(planner: &mut Planner<'_>) -> Option<()> {
    let elem = text_or_integer(planner)?;
    match elem {
        ElemType::String => planner.drop_all(&["cats_int64s"]),
        _ => planner.drop_all(&["cats_strings"]),
    }
    planner.fill("cats_strings", words());
    planner.fill("cats_int64s", AttrValue::Ints(vec![0, 1, 2]));
    planner.int("zeros", 1, &[0, 1, 1]);
    Some(())
}

pub(super) fn labels(planner: &mut Planner<'_>) -> Option<()> {
    let keys = [
        (ElemType::String, "keys_strings", words()),
        (ElemType::Int64, "keys_int64s", AttrValue::Ints(vec![0, 1, 2])),
        (ElemType::Float, "keys_floats", AttrValue::Floats(vec![0.0, 0.5, -1.0])),
    ];
    let values = [
        ("values_strings", words()),
        ("values_int64s", AttrValue::Ints(vec![3, 4, 5])),
        ("values_floats", AttrValue::Floats(vec![3.0, 0.25, -4.0])),
    ];
    let is_given = |planner: &Planner<'_>, name: &str| matches!(planner.given(name), Given::Value(_));
    let given = keys.iter().find(|(_, name, _)| is_given(planner, name)).map(|(elem, ..)| *elem);
    let elem = match planner.known_elem("X").or(given) {
        Some(elem) => elem,
        None => planner.rng.pick(&[ElemType::String, ElemType::Int64, ElemType::Float])?,
    };
    if planner.known("X").is_none() {
        let sizes = [planner.size(), planner.size()];
        planner.typed("X", &sizes, elem);
    }
    for (own, name, value) in keys {
        match own == elem {
            true => planner.fill(name, value),
            false => planner.drop_all(&[name]),
        }
    }
    let mut chosen = values.iter().position(|(name, _)| is_given(planner, name));
    if chosen.is_none() {
        chosen = Some(planner.rng.below(values.len()));
    }
    for (index, (name, value)) in values.into_iter().enumerate() {
        match chosen == Some(index) {
            true => planner.fill(name, value),
            false => planner.drop_all(&[name]),
        }
    }
    planner.drop_all(&["keys_tensor", "values_tensor", "default_tensor"]);
    Some(())
}

/// Every operand has the name of the only formal one, and the same sizes.
pub(super) fn vectorizer(planner: &mut Planner<'_>) -> Option<()> {
    let (rows, columns) = (planner.size(), planner.size());
    planner.sizes("X", &[rows, columns]);
    let number = planner.count.max(1);
    let widths = (0..number).map(|_| planner.rng.pick(&[columns, columns, 1]).unwrap_or(columns)).collect();
    planner.fill("inputdimensions", AttrValue::Ints(widths));
    Some(())
}

pub(super) fn linear(planner: &mut Planner<'_>) -> Option<()> {
    let given = planner.given_count("coefficients");
    let results = if planner.op == "LinearClassifier" {
        let wanted = planner.rng.pick(&[2, 3, 3])?;
        planner.classes(["classlabels_ints", "classlabels_strings"], wanted)?
    } else {
        planner.int("targets", 1, &[1, 1, 2])
    };
    let wanted = given.and_then(|given| given.checked_div(results));
    let features = planner.samples("X", wanted)?;
    planner.floats("coefficients", count(features.checked_mul(results)?));
    planner.floats("intercepts", count(results));
    planner.transform();
    Some(())
}

pub(super) fn support_vectors(planner: &mut Planner<'_>) -> Option<()> {
    let vectors = planner.given_count("coefficients").unwrap_or(2);
    let wanted = planner.given_count("support_vectors").and_then(|given| given.checked_div(vectors));
    let features = planner.samples("X", wanted)?;
    planner.floats("support_vectors", count(features.checked_mul(vectors)?));
    planner.floats("coefficients", count(vectors));
    planner.floats("rho", 1);
    let kernel = planner.text("kernel_type", "LINEAR", &["LINEAR", "LINEAR", "RBF", "POLY", "SIGMOID"]);
    let parameters = if kernel == "POLY" { vec![0.5, 1.0, 2.0] } else { vec![0.5, 1.0, 3.0] };
    planner.fill("kernel_params", AttrValue::Floats(parameters));
    planner.fill("n_supports", vectors);
    if planner.op == "SVMClassifier" {
        planner.classes(["classlabels_ints", "classlabels_strings"], 2)?;
        planner.fill("vectors_per_class", AttrValue::Ints(vec![1, vectors.saturating_sub(1)]));
        planner.drop_all(&["prob_a", "prob_b", "post_transform"]);
    } else {
        planner.int("one_class", 0, &[0, 0, 1]);
        planner.drop_all(&["post_transform"]);
    }
    Some(())
}

/// Two branches and three leaves, as the newest operator writes them.
pub(super) fn ensemble(planner: &mut Planner<'_>) -> Option<()> {
    let floats = [ElemType::Float, ElemType::Double, ElemType::Float16];
    let elem = planner.known_elem("X").unwrap_or(planner.elem);
    let elem = if floats.contains(&elem) { elem } else { ElemType::Float };
    let features = planner.samples("X", Some(2))?;
    let tensor = |numbers: &[f64]| -> Option<AttrValue> {
        let sizes = [i64::try_from(numbers.len()).ok()?];
        Some(AttrValue::from(match elem {
            ElemType::Double => Tensor::from_slice(sizes, numbers).ok()?,
            ElemType::Float16 => {
                let halves: Vec<_> = numbers.iter().map(|&x| onnx_types::tensor::f16::from_f64(x)).collect();
                Tensor::from_slice(sizes, &halves).ok()?
            }
            _ => Tensor::from_slice(sizes, &numbers.iter().map(|&x| x as f32).collect::<Vec<_>>()).ok()?,
        }))
    };
    let modes = planner.rng.pick(&[[0_u8, 0], [0, 1], [2, 3], [1, 0]])?;
    planner.fill("nodes_modes", Tensor::from_slice([2], &modes).ok()?);
    planner.fill("nodes_splits", tensor(&[0.5, -0.5])?);
    planner.fill("leaf_weights", tensor(&[1.0, 2.0, -4.0])?);
    let targets = planner.int("n_targets", 1, &[1, 2]);
    planner.fill("tree_roots", AttrValue::Ints(vec![0]));
    planner.fill("nodes_featureids", AttrValue::Ints(vec![0, features.min(2).saturating_sub(1)]));
    planner.fill("nodes_truenodeids", AttrValue::Ints(vec![1, 0]));
    planner.fill("nodes_trueleafs", AttrValue::Ints(vec![0, 1]));
    planner.fill("nodes_falsenodeids", AttrValue::Ints(vec![2, 1]));
    planner.fill("nodes_falseleafs", AttrValue::Ints(vec![1, 1]));
    planner.fill("leaf_targetids", AttrValue::Ints(vec![0, targets.saturating_sub(1), 0]));
    planner.drop_all(&["nodes_hitrates", "nodes_missing_value_tracks_true", "membership_values"]);
    planner.int("aggregate_function", 1, &[0, 1, 2, 3]);
    planner.int("post_transform", 0, &[0, 0, 1, 2, 3]);
    Some(())
}

/// Two trees of a branch and two leaves each.
pub(super) fn trees(planner: &mut Planner<'_>) -> Option<()> {
    let features = planner.samples("X", Some(2))?;
    let last = features.min(2).saturating_sub(1);
    for (name, numbers) in [
        ("nodes_treeids", vec![0, 0, 0, 1, 1, 1]),
        ("nodes_nodeids", vec![0, 1, 2, 0, 1, 2]),
        ("nodes_featureids", vec![0, 0, 0, last, 0, 0]),
        ("nodes_truenodeids", vec![1, 0, 0, 1, 0, 0]),
        ("nodes_falsenodeids", vec![2, 0, 0, 2, 0, 0]),
    ] {
        planner.fill(name, AttrValue::Ints(numbers));
    }
    let mode = planner.rng.pick(&["BRANCH_LEQ", "BRANCH_LT", "BRANCH_GT", "BRANCH_GTE"])?;
    let modes = [mode, "LEAF", "LEAF", "BRANCH_LEQ", "LEAF", "LEAF"];
    let modes = modes.iter().map(|mode| Bytes::from_static(mode.as_bytes())).collect();
    planner.fill("nodes_modes", AttrValue::Strings(modes));
    planner.fill("nodes_values", AttrValue::Floats(vec![0.5, 0.0, 0.0, -0.5, 0.0, 0.0]));
    let leaves = |planner: &mut Planner<'_>, part: &str, ids: Vec<i64>| {
        planner.fill(&format!("{part}_treeids"), AttrValue::Ints(vec![0, 0, 1, 1]));
        planner.fill(&format!("{part}_nodeids"), AttrValue::Ints(vec![1, 2, 1, 2]));
        planner.fill(&format!("{part}_ids"), AttrValue::Ints(ids));
        planner.fill(&format!("{part}_weights"), AttrValue::Floats(vec![1.0, -2.0, 0.5, 4.0]));
    };
    if planner.op == "TreeEnsembleRegressor" {
        let targets = planner.int("n_targets", 1, &[1, 2]);
        leaves(planner, "target", vec![0, targets.saturating_sub(1), 0, 0]);
        planner.text("aggregate_function", "SUM", &["SUM", "AVERAGE", "MIN", "MAX"]);
    } else {
        let wanted = planner.rng.pick(&[2, 3])?;
        let classes = planner.classes(["classlabels_int64s", "classlabels_strings"], wanted)?;
        leaves(planner, "class", vec![0, 1, classes.saturating_sub(1), 0]);
    }
    planner.transform();
    planner.drop_all(&[
        "base_values",
        "base_values_as_tensor",
        "class_weights_as_tensor",
        "target_weights_as_tensor",
        "nodes_hitrates",
        "nodes_hitrates_as_tensor",
        "nodes_values_as_tensor",
        "nodes_missing_value_tracks_true",
    ]);
    Some(())
}

pub(super) fn zip(planner: &mut Planner<'_>) -> Option<()> {
    let names = ["classlabels_int64s", "classlabels_strings"];
    let given = planner.given_count(names[0]).or_else(|| planner.given_count(names[1]));
    let columns = planner.samples("X", given)?;
    planner.classes(names, columns)?;
    Some(())
}

/// A map with the keys that the operator knows, and others.
pub(super) fn maps(planner: &mut Planner<'_>) -> Option<()> {
    let has_texts = match planner.op {
        // Its maps have integers as keys.
        "CastMap" => false,
        _ => match (planner.given("string_vocabulary"), planner.given("int64_vocabulary")) {
            (Given::Value(_), _) => true,
            (_, Given::Value(_)) => false,
            _ => planner.rng.chance(50),
        },
    };
    if planner.op == "CastMap" {
        planner.text("map_form", "DENSE", &["DENSE", "SPARSE"]);
        planner.text("cast_to", "TO_FLOAT", &["TO_FLOAT", "TO_INT64"]);
        planner.int("max_map", 1, &[4, 5]);
    } else if has_texts {
        planner.fill("string_vocabulary", words());
        planner.drop_all(&["int64_vocabulary"]);
    } else {
        planner.fill("int64_vocabulary", AttrValue::Ints(vec![0, 1, 2]));
        planner.drop_all(&["string_vocabulary"]);
    }
    let mut entries = BTreeMap::new();
    for (index, word) in WORDS.iter().enumerate() {
        let key = match has_texts {
            true => MapKey::Text(Bytes::from_static(word.as_bytes())),
            false => MapKey::Int(i64::try_from(index).ok()?),
        };
        let number = planner.rng.pick(&[0.0_f32, 0.5, -1.0, 2.0])?;
        entries.insert(key, Value::from(Tensor::scalar(number)));
    }
    planner.plan.operands.push(("X", Planned::Whole(Value::Map(Arc::new(entries)))));
    Some(())
}

/// `TfIdfVectorizer`: a pool of words and pairs of words.
pub(super) fn frequencies(planner: &mut Planner<'_>) -> Option<()> {
    let given = matches!(planner.given("pool_strings"), Given::Value(_));
    let has_texts = given || planner.is_free("pool_strings") && planner.rng.chance(50);
    let elem = if has_texts { ElemType::String } else { ElemType::Int64 };
    if planner.known("X").is_none() {
        let rank = planner.rng.pick(&[1, 2])?;
        let sizes = crate::examine::sizes::any(planner.rng, rank);
        planner.typed("X", &sizes, elem);
    }
    if has_texts {
        planner.fill("pool_strings", AttrValue::Strings(["a", "b", "a", "b"].map(Bytes::from).to_vec()));
        planner.drop_all(&["pool_int64s"]);
    } else {
        planner.fill("pool_int64s", AttrValue::Ints(vec![0, 1, 0, 1]));
        planner.drop_all(&["pool_strings"]);
    }
    planner.fill("ngram_counts", AttrValue::Ints(vec![0, 2]));
    planner.fill("ngram_indexes", AttrValue::Ints(vec![0, 1, 2]));
    planner.fill("min_gram_length", 1_i64);
    planner.fill("max_gram_length", 2_i64);
    let skipped = planner.rng.pick(&[0_i64, 1])?;
    planner.fill("max_skip_count", skipped);
    if planner.is_free("mode") {
        let mode = planner.rng.pick(&["TF", "IDF", "TFIDF"])?;
        planner.fill("mode", mode);
    }
    planner.floats("weights", 3);
    Some(())
}
