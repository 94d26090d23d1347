//! Operators whose operands and attributes depend on each other: blocks of quantization, heads of attention, gates of recurrent
//! layers, trees. Both are planned before the operands of a node are chosen.

mod attention;
mod learned;
mod movement;
mod quantized;
mod recurrent;
mod regions;
mod sequences;

use onnx_eval::Value;
use onnx_ir::AttrValue;
use onnx_schema::Schema;
use onnx_types::ElemType;
use onnx_types::tensor::{NoData, Tensor};

use super::choose::Rng;
use super::generate::{Generator, Slot};
use super::sizes;
use crate::ast::{Arity, AttributeTerm, FlatNode, Operand, Var};
use crate::evaluate::as_kind;

/// What the rule states about an attribute.
#[derive(Clone, Debug)]
enum Given {
    /// The attribute has this value, which the rule names or a node before has.
    Value(AttrValue),
    /// The attribute may have any value.
    Any,
    /// The attribute has its default.
    Default,
}

/// What the rule states about an operand.
#[derive(Clone, Debug)]
enum Role {
    /// It is chosen already: its type and its sizes.
    Known(ElemType, Vec<i64>),
    Required,
    Optional,
    Absent,
}

/// An operand that is planned.
#[derive(Clone, Debug)]
pub(super) enum Planned {
    Omitted,
    /// Any elements of a type, or of that which the other operands imply.
    Sizes(Vec<i64>, Option<ElemType>),
    /// These elements, converted to the type of the operand.
    Elements(Tensor),
    /// A value that is not a tensor, or one that the operator reads as a parameter.
    Whole(Value),
}

/// Attributes and operands of a node. What is not planned is chosen for itself.
#[derive(Clone, Default, Debug)]
pub(super) struct Plan {
    /// By name; `None` for those that are omitted.
    attributes: Vec<(String, Option<AttrValue>)>,
    operands: Vec<(&'static str, Planned)>,
}

impl Plan {
    /// The value of an attribute, or `Some(None)` if it is omitted; `None` if it is not planned.
    pub(super) fn attribute(&self, name: &str) -> Option<Option<AttrValue>> {
        self.attributes.iter().find(|(other, _)| other == name).map(|(_, value)| value.clone())
    }

    pub(super) fn operand(&self, name: &str) -> Option<Planned> {
        self.operands.iter().find(|(other, _)| *other == name).map(|(_, planned)| planned.clone())
    }
}

/// A plan that is being made.
struct Planner<'r> {
    op: &'static str,
    rng: &'r mut Rng,
    /// The version of the default operator set.
    version: i64,
    /// The type of the model.
    elem: ElemType,
    attributes: Vec<(&'static str, Given)>,
    operands: Vec<(&'static str, Role)>,
    /// Number of operands that the rule names.
    count: usize,
    plan: Plan,
}

/// Makes the plan of an operator; `None` if nothing fits what is known.
type Recipe = fn(&mut Planner<'_>) -> Option<()>;

/// The operators that are planned, by domain and name.
const RECIPES: &[(&str, &[&str], Recipe)] = &[
    ("", &["Attention"], attention::attention),
    ("", &["LinearAttention"], attention::linear),
    ("", &["RotaryEmbedding"], attention::rotary),
    ("", &["CausalConvWithState"], attention::causal),
    ("", &["TensorScatter"], attention::cache),
    ("", &["QuantizeLinear", "DequantizeLinear"], quantized::linear),
    ("", &["RNN", "GRU", "LSTM"], recurrent::recurrent),
    ("", &["AffineGrid"], movement::grid),
    ("", &["Col2Im"], movement::columns),
    ("", &["GatherND"], movement::gather),
    ("", &["Compress"], movement::compress),
    ("ai.onnx.ml", &["Scaler"], learned::scaler),
    ("ai.onnx.ml", &["Imputer"], learned::imputer),
    ("ai.onnx.ml", &["Binarizer", "Normalizer"], learned::rows),
    ("ai.onnx.ml", &["ArrayFeatureExtractor"], learned::extractor),
    ("ai.onnx.ml", &["CategoryMapper"], learned::categories),
    ("ai.onnx.ml", &["OneHotEncoder"], learned::one_hot),
    ("ai.onnx.ml", &["LabelEncoder"], learned::labels),
    ("ai.onnx.ml", &["FeatureVectorizer"], learned::vectorizer),
    ("ai.onnx.ml", &["LinearClassifier", "LinearRegressor"], learned::linear),
    ("ai.onnx.ml", &["SVMClassifier", "SVMRegressor"], learned::support_vectors),
    ("ai.onnx.ml", &["TreeEnsemble"], learned::ensemble),
    ("ai.onnx.ml", &["TreeEnsembleClassifier", "TreeEnsembleRegressor"], learned::trees),
    ("ai.onnx.ml", &["ZipMap"], learned::zip),
    ("ai.onnx.ml", &["CastMap", "DictVectorizer"], learned::maps),
    ("", &["SequenceAt", "SequenceErase", "SequenceInsert"], sequences::at),
    ("", &["SplitToSequence"], sequences::split),
    ("", &["ConcatFromSequence"], sequences::concat),
    ("", &["MaxRoiPool", "RoiAlign"], regions::pool),
    ("", &["NonMaxSuppression"], regions::suppression),
    ("", &["DeformConv"], regions::deformed),
    ("", &["QLinearConv"], regions::convolved),
    ("", &["MelWeightMatrix"], regions::mel),
    ("", &["STFT"], regions::spectrum),
    ("", &["TfIdfVectorizer"], learned::frequencies),
    ("", &["RandomNormal", "RandomUniform"], movement::random),
];

impl Generator<'_> {
    /// The plan of a node of the left side; an empty one for operators whose operands are chosen one by one.
    pub(super) fn plan(&mut self, node: &FlatNode, schema: &'static Schema) -> Option<Plan> {
        let is_own = |(domain, ops, _): &&(&str, &[&str], Recipe)| {
            *domain == node.domain && ops.contains(&node.op.as_str())
        };
        let Some((.., recipe)) = RECIPES.iter().find(is_own) else { return Some(Plan::default()) };
        let attributes = schema.attributes().iter();
        let attributes = attributes.map(|formal| (formal.text(), self.given(node, schema, formal.text())));
        let attributes = attributes.collect();
        let operands = schema.inputs().iter().enumerate();
        let operands = operands.map(|(place, formal)| (formal.name, self.role(node, place))).collect();
        let (version, elem) = (self.version, self.elem);
        let mut planner = Planner {
            op: schema.name(),
            rng: &mut self.rng,
            version,
            elem,
            attributes,
            operands,
            count: node.operands.len(),
            plan: Plan::default(),
        };
        recipe(&mut planner)?;
        Some(planner.plan)
    }

    fn given(&self, node: &FlatNode, schema: &Schema, name: &str) -> Given {
        match node.attributes.iter().find(|(other, _)| other == name).map(|(_, term)| term) {
            Some(AttributeTerm::Value(value)) => Given::Value(as_kind(value.clone(), schema, name)),
            Some(AttributeTerm::Var(var)) => match self.slots.get(*var) {
                Some(Some(Slot::Attribute(tensor))) => {
                    let formal = schema.attributes().iter().find(|formal| formal.text() == name);
                    let value = formal.and_then(|formal| crate::effective::to_value(tensor, formal.kind));
                    value.map_or(Given::Any, Given::Value)
                }
                _ => Given::Any,
            },
            None if node.is_open => Given::Any,
            None => Given::Default,
        }
    }

    fn role(&self, node: &FlatNode, place: usize) -> Role {
        let of_var = |var: Var| match self.slots.get(var).and_then(Option::as_ref) {
            Some(Slot::Omitted) => Role::Absent,
            Some(slot) => match slot.tensor() {
                Some(tensor) => Role::Known(tensor.elem(), tensor.dims().to_vec()),
                None => Role::Required,
            },
            None => {
                let mut inputs = self.pattern.rule.from.inputs.iter();
                match inputs.find(|(other, _)| *other == var).map(|(_, arity)| *arity) {
                    Some(Arity::Optional) => Role::Optional,
                    _ => Role::Required,
                }
            }
        };
        match node.operands.get(place) {
            None | Some(Operand::Omitted) => Role::Absent,
            Some(Operand::Literal(_)) => Role::Required,
            Some(Operand::Var(var) | Operand::Default(var, _) | Operand::Rest(var)) => of_var(*var),
        }
    }
}

impl Planner<'_> {
    fn given(&self, name: &str) -> Given {
        let given = self.attributes.iter().find(|(other, _)| *other == name).map(|(_, given)| given.clone());
        given.unwrap_or(Given::Default)
    }

    fn set(&mut self, name: &str, value: impl Into<AttrValue>) {
        self.plan.attributes.push((name.to_owned(), Some(value.into())));
    }

    /// Leaves out an attribute that the rule leaves open.
    fn leave_out(&mut self, name: &str) {
        if let Given::Any = self.given(name) {
            self.plan.attributes.push((name.to_owned(), None));
        }
    }

    /// An attribute: what the rule gives, or in most models a value that is chosen for one that the rule leaves open; `None` if it is
    /// omitted.
    fn chosen<T: Clone>(
        &mut self,
        name: &str,
        read: impl FnOnce(AttrValue) -> Option<T>,
        write: impl FnOnce(T) -> AttrValue,
        choose: impl FnOnce(&mut Rng) -> T,
    ) -> Option<T> {
        match self.given(name) {
            Given::Value(value) => read(value),
            Given::Any if self.rng.chance(75) => {
                let value = choose(self.rng);
                self.set(name, write(value.clone()));
                Some(value)
            }
            Given::Any => {
                self.leave_out(name);
                None
            }
            Given::Default => None,
        }
    }

    /// An integer attribute, one of several if it is chosen; `default` if it is omitted.
    fn int(&mut self, name: &str, default: i64, all: &[i64]) -> i64 {
        let read = |value| if let AttrValue::Int(number) = value { Some(number) } else { None };
        let choose = |rng: &mut Rng| rng.pick(all).unwrap_or(default);
        self.chosen(name, read, AttrValue::Int, choose).unwrap_or(default)
    }

    /// An attribute that is a list of integers; `None` if it is omitted.
    fn ints(&mut self, name: &str, choose: impl FnOnce(&mut Rng) -> Vec<i64>) -> Option<Vec<i64>> {
        let read = |value| if let AttrValue::Ints(numbers) = value { Some(numbers) } else { None };
        self.chosen(name, read, AttrValue::Ints, choose)
    }

    /// A list of floats that the operator needs: what the rule gives, or as many as the operands require.
    fn floats(&mut self, name: &str, count: usize) -> usize {
        match self.given(name) {
            Given::Value(AttrValue::Floats(numbers)) => numbers.len(),
            Given::Any => {
                let numbers = (0..count).map(|_| (self.rng.below(17) as f32 - 8.0) / 4.0).collect();
                self.set(name, AttrValue::Floats(numbers));
                count
            }
            _ => 0,
        }
    }

    /// An integer attribute that the operator requires.
    fn required(&mut self, name: &str, all: &[i64]) {
        if let Given::Any = self.given(name) {
            let number = self.rng.pick(all).unwrap_or(0);
            self.set(name, number);
        }
    }

    /// A list of integers that the operator requires.
    fn required_list(&mut self, name: &str, all: &[i64], count: usize) {
        if let Given::Any = self.given(name) {
            let numbers = (0..count).map(|_| self.rng.pick(all).unwrap_or(1)).collect();
            self.set(name, AttrValue::Ints(numbers));
        }
    }

    /// An attribute that is a text, one of several if it is chosen; `default` if it is omitted.
    fn text(&mut self, name: &str, default: &'static str, all: &[&'static str]) -> String {
        let read = |value| match value {
            AttrValue::String(text) => Some(String::from_utf8_lossy(&text).into_owned()),
            _ => None,
        };
        let choose = |rng: &mut Rng| rng.pick(all).unwrap_or(default).to_owned();
        let found = self.chosen(name, read, |text| AttrValue::from(text.as_str()), choose);
        found.unwrap_or_else(|| default.to_owned())
    }

    fn role(&self, name: &str) -> Role {
        let role = self.operands.iter().find(|(other, _)| *other == name).map(|(_, role)| role.clone());
        role.unwrap_or(Role::Absent)
    }

    /// The sizes of an operand that is chosen already.
    fn known(&self, name: &str) -> Option<Vec<i64>> {
        match self.role(name) {
            Role::Known(_, sizes) => Some(sizes),
            _ => None,
        }
    }

    /// The type of an operand that is chosen already.
    fn known_elem(&self, name: &str) -> Option<ElemType> {
        match self.role(name) {
            Role::Known(elem, _) => Some(elem),
            _ => None,
        }
    }

    /// Whether a node has an operand: in some models, if it is optional.
    fn has(&mut self, name: &'static str) -> bool {
        let has = match self.role(name) {
            Role::Known(..) | Role::Required => true,
            Role::Optional => self.rng.chance(60),
            Role::Absent => false,
        };
        if !has {
            self.plan.operands.push((name, Planned::Omitted));
        }
        has
    }

    fn omit(&mut self, name: &'static str) {
        self.plan.operands.push((name, Planned::Omitted));
    }

    fn sizes(&mut self, name: &'static str, sizes: &[i64]) {
        self.plan.operands.push((name, Planned::Sizes(sizes.to_vec(), None)));
    }

    /// Sets the sizes of an operand that is not chosen already, if the node has it.
    fn place(&mut self, name: &'static str, sizes: &[i64]) {
        if self.known(name).is_none() && self.has(name) {
            self.sizes(name, sizes);
        }
    }

    fn typed(&mut self, name: &'static str, sizes: &[i64], elem: ElemType) {
        self.plan.operands.push((name, Planned::Sizes(sizes.to_vec(), Some(elem))));
    }

    fn elements(&mut self, name: &'static str, tensor: Tensor) {
        self.plan.operands.push((name, Planned::Elements(tensor)));
    }

    /// The sizes of an operand: those that it has already, or others of this rank.
    fn known_or(&mut self, name: &'static str, ranks: &[usize]) -> Option<Vec<i64>> {
        if let Some(sizes) = self.known(name) {
            return ranks.contains(&sizes.len()).then_some(sizes);
        }
        let rank = self.rng.pick(ranks)?;
        let sizes = sizes::any(self.rng, rank);
        self.sizes(name, &sizes);
        Some(sizes)
    }

    fn size(&mut self) -> i64 {
        self.rng.pick(&[1, 2, 2, 3, 3, 4]).unwrap_or(2)
    }
}

/// The axis from 0 on; `None` if it is out of range.
fn axis_of(axis: i64, rank: usize) -> Option<usize> {
    let rank = i64::try_from(rank).ok()?;
    let axis = if axis < 0 { axis.checked_add(rank)? } else { axis };
    usize::try_from(axis).ok().filter(|_| axis < rank)
}

/// The axes of a rank in both notations.
fn axes(rank: usize) -> Vec<i64> {
    let rank = i64::try_from(rank).unwrap_or(0);
    (0_i64.saturating_sub(rank)..rank).collect()
}

/// The indices that an operator may take along axes of these sizes, from both ends.
fn index_of(rng: &mut Rng, size: i64) -> i64 {
    let index = i64::try_from(rng.below(usize::try_from(size.max(1)).unwrap_or(1))).unwrap_or(0);
    if rng.chance(30) { index.saturating_sub(size.max(1)) } else { index }
}

/// The integers of an attribute that is a tensor or a list.
fn integers(value: &AttrValue) -> Option<Vec<i64>> {
    value.to_tensor()?.get_i64s(&NoData, 4096).ok()
}
