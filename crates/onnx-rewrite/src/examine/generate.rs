//! Models around the left side of a rule: its nodes run on the chosen operands while they are chosen, so that the model runs.

use onnx_eval::Value;
use onnx_ir::{AttrValue, Model};
use onnx_pass::Exactness;
use onnx_schema::{FormalType, Schema};
use onnx_types::tensor::{NoData, Tensor};
use onnx_types::{ElemType, Execution, Type};

use super::attributes::{self, DueValue};
use super::build::Unknown;
use super::choose::{self, Rng};
use super::effects::{self, Dropped};
use super::plan::{Plan, Planned};
use super::{near, sizes, whole};
use crate::ast::{Arity, Condition, Elems, FlatNode, Operand, Var};
use crate::condition::is_of;
use crate::evaluate::{Scratch, of_literal};
use crate::pattern::Pattern;

/// Tries to choose the operands of one node.
const TRIES: usize = 12;

/// The state of a variable of the left side in the model that is being chosen.
#[derive(Clone, Debug)]
pub(super) enum Slot {
    Input(Tensor),
    Constant(Tensor),
    /// A sequence, an optional value or a map, with its type.
    Whole(Value, Type),
    /// The result of a node.
    Result(Value),
    Rest(Vec<Tensor>),
    Attribute(Tensor),
    Omitted,
}

impl Slot {
    pub(super) fn tensor(&self) -> Option<&Tensor> {
        match self {
            Self::Input(tensor) | Self::Constant(tensor) => Some(tensor),
            Self::Result(value) => value.tensor().map(AsRef::as_ref),
            _ => None,
        }
    }

    /// The value of an operand; `None` if there is none, or if there are several.
    fn value(&self) -> Option<Value> {
        match self {
            Self::Input(tensor) | Self::Constant(tensor) => Some(Value::from(tensor.clone())),
            Self::Whole(value, _) | Self::Result(value) => Some(value.clone()),
            _ => None,
        }
    }
}

/// The part of its operand that a `Slice` takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Window {
    /// Any limits, on any axes.
    Any,
    /// From an index to the end.
    Tail,
    /// From the beginning to an index.
    Head,
    /// From the end to the beginning.
    Reversed,
}

/// A node that is chosen: attributes, and the operands that are not variables.
#[derive(Clone, Debug)]
pub(super) struct Chosen {
    pub(super) node: usize,
    pub(super) attributes: Vec<(String, AttrValue)>,
    pub(super) operands: Vec<Option<Tensor>>,
}

/// The tensor that an operand is.
pub(super) fn tensor_of(operand: &Option<Value>) -> Option<&Tensor> {
    operand.as_ref()?.tensor().map(AsRef::as_ref)
}

pub(super) struct Generator<'a> {
    pub(super) pattern: &'a Pattern,
    pub(super) rng: Rng,
    /// The models in which no sizes are known.
    pub(super) unknown: Unknown,
    pub(super) scratch: Scratch,
    pub(super) version: i64,
    pub(super) elem: ElemType,
    /// The last versions of the default domain and of `ai.onnx.ml` in which no operator of the left side is deprecated.
    pub(super) until: [i64; 2],
    /// What is chosen before the operands of the node.
    pub(super) plan: Plan,
    /// Number of models that were begun.
    turn: usize,
    /// Constants are at the limits of their types.
    has_limits: bool,
    /// The size of all axes of operands that are chosen freely, in a part of the models.
    pub(super) equal: Option<i64>,
    /// The sizes that the rule names, and those next to them, which no model has had that the rule edits: each with whether it is that
    /// of the last axis.
    pub(super) due: Vec<(i64, bool)>,
    pub(super) turn_of_due: usize,
    /// The one of these that the model has.
    pub(super) named: Option<(i64, bool)>,
    /// The values of attributes that no model has had that the rule edits.
    pub(super) due_values: Vec<DueValue>,
    /// The index of the one of these that the model has.
    pub(super) named_value: Option<usize>,
    /// The numbers with which the constants of the rule compute.
    pub(super) near: Vec<f64>,
    /// Number of groups of the convolution that is chosen, if its channels can be divided into as many.
    pub(super) groups: i64,
    /// `Slice` takes one half of the last axis, the second one if this is `true`.
    pub(super) half: Option<bool>,
    /// What the next `Slice` takes, and whether all take the same.
    pub(super) window: Window,
    pub(super) keeps_window: bool,
    pub(super) slots: Vec<Option<Slot>>,
    pub(super) chosen: Vec<Chosen>,
    /// The attributes that the rule drops.
    pub(super) dropped: Vec<Dropped>,
    /// Those that have an effect on the last model, as indices.
    pub(super) effective: Vec<usize>,
    /// The node of the left side for which no operands were found last.
    unmade: Option<usize>,
    /// Why a node of the left side did not run on the operands that were chosen last.
    failure: Option<String>,
}

impl<'a> Generator<'a> {
    pub(super) fn new(pattern: &'a Pattern, execution: &Execution) -> Self {
        let until = until(pattern);
        let mut generator = Self {
            until,
            plan: Plan::default(),
            due: Vec::new(),
            turn_of_due: 0,
            named: None,
            due_values: attributes::due_values(&pattern.rule),
            named_value: None,
            near: near::numbers(&pattern.rule),
            pattern,
            rng: Rng::new(execution.seed ^ 0x5eed),
            unknown: Unknown::new(&pattern.rule, execution.seed),
            scratch: Scratch::at(until, execution, &crate::cost::Costs::standard()),
            version: 0,
            elem: ElemType::Float,
            turn: 0,
            has_limits: false,
            equal: None,
            groups: 1,
            half: None,
            window: Window::Any,
            keeps_window: false,
            slots: Vec::new(),
            chosen: Vec::new(),
            dropped: effects::dropped(&pattern.rule),
            effective: Vec::new(),
            unmade: None,
            failure: None,
        };
        generator.due = generator.all_due();
        generator
    }

    /// A model that contains the left side and runs; `None` if the choices do not fit.
    pub(super) fn model(&mut self) -> Option<Model> {
        const VERSIONS: [i64; 9] = [9, 11, 13, 13, 17, 18, 21, 23, i64::MAX];
        let latest = onnx_schema::latest_opset(onnx_schema::domain::ONNX).unwrap_or(1).min(self.until[0]);
        self.version = self.rng.pick(&VERSIONS)?.clamp(self.pattern.rule.since.min(latest), latest);
        // Every other model has an element type that is not `float`, each in turn: few edits suffice for all of them.
        self.turn = self.turn.wrapping_add(1);
        let others = choose::OTHER_ELEMS;
        self.elem = match self.turn % 2 {
            0 => *others.get((self.turn / 2) % others.len())?,
            _ if self.turn % 16 == 7 => ElemType::String,
            _ => ElemType::Float,
        };
        self.has_limits = self.rng.chance(40);
        self.equal = self.rng.chance(35).then(|| self.rng.pick(&[2, 2, 3, 3, 4])).flatten();
        self.slots = vec![None; self.pattern.rule.names.len()];
        self.chosen.clear();
        (self.named, self.named_value) = (None, None);
        self.effective.clear();
        (self.unmade, self.failure) = (None, None);
        self.half = (self.slices_one_value_twice() && self.rng.chance(50)).then_some(false);
        if self.pattern.rule.from.nodes.iter().any(|node| node.op == "Slice") {
            self.keeps_window = self.rng.chance(40);
            self.window = self.rng.pick(&[Window::Tail, Window::Tail, Window::Head, Window::Reversed])?;
        }
        let taken = self.alternatives();
        for index in 0..self.pattern.rule.from.nodes.len() {
            if !taken.get(index).copied().unwrap_or(false) {
                continue;
            }
            let before = self.slots.clone();
            let named = (self.named, self.named_value);
            let mut is_made = false;
            for _ in 0..TRIES {
                self.slots.clone_from(&before);
                (self.named, self.named_value) = named;
                if self.choose(index).is_some() {
                    is_made = true;
                    break;
                }
            }
            if !is_made {
                self.unmade = Some(index);
                return None;
            }
        }
        self.build()
    }

    /// Returns `true` if the results of the left side have at most one element each.
    pub(super) fn is_small(&self) -> bool {
        let results = self.pattern.rule.from.outputs.iter();
        let mut slots = results.filter_map(|&var| self.slots.get(var)?.as_ref());
        slots.all(|slot| slot.tensor().and_then(Tensor::element_count).is_some_and(|count| count <= 1))
    }

    /// Why a model was not generated, after [`Generator::model`] has returned `None`.
    pub(super) fn difficulty(&self) -> String {
        let node = self.unmade.and_then(|index| self.pattern.rule.from.nodes.get(index));
        let Some(node) = node else { return "the chosen nodes are not a valid model".to_owned() };
        if !node.domain.is_empty() && node.domain != "ai.onnx.ml" {
            return format!("`{}` of the domain `{}` has no kernel", node.op, node.domain);
        }
        let reason = self.failure.as_deref().map(|reason| format!(": {reason}")).unwrap_or_default();
        format!("`{}` does not run on the chosen operands{reason}", node.op)
    }

    /// Whether each node is taken: one of several alternatives is, each with the same chance, and what is nested in it.
    fn alternatives(&mut self) -> Vec<bool> {
        let from = &self.pattern.rule.from;
        let mut taken = vec![false; from.nodes.len()];
        for (index, node) in from.nodes.iter().enumerate() {
            let alternatives = || {
                let all = from.nodes.iter().enumerate();
                all.filter(|(_, other)| other.outputs == node.outputs).map(|(other, _)| other)
            };
            if alternatives().next() == Some(index) {
                let chosen = self.rng.below(alternatives().count());
                let chosen = alternatives().nth(chosen).and_then(|chosen| taken.get_mut(chosen));
                chosen.into_iter().for_each(|slot| *slot = true);
            }
        }
        let is_taken = |node: usize| taken.get(node).copied().unwrap_or(false);
        let all = (0..from.nodes.len()).map(|node| is_taken(node) && !from.is_left_out(node, is_taken));
        all.collect()
    }

    /// The schema of a node in the last version in which no operator of the left side is deprecated.
    fn schema(&self, node: &FlatNode) -> Option<&'static Schema> {
        let until = match node.domain.as_str() {
            "" => self.until[0],
            "ai.onnx.ml" => self.until[1],
            _ => return None,
        };
        onnx_schema::lookup_by_name(&node.domain, &node.op, until)
    }

    fn choose(&mut self, index: usize) -> Option<()> {
        let node = self.pattern.rule.from.nodes.get(index)?;
        let schema = self.schema(node)?;
        let mut operands: Vec<Option<Value>> = Vec::new();
        let mut literals: Vec<Option<Tensor>> = Vec::new();
        let count = self.rng.below(2).saturating_add(1);
        self.groups = self.wanted_groups(node);
        self.plan = self.plan(node, schema)?;
        for (place, operand) in node.operands.iter().enumerate() {
            let (mut values, literal) = match operand {
                Operand::Omitted => (vec![None], None),
                Operand::Literal(literal) => {
                    let tensor = self.literal(literal, schema, place, &operands)?;
                    (vec![Some(Value::from(tensor.clone()))], Some(tensor))
                }
                Operand::Rest(var) => (self.rest(*var, node, schema, place, &operands)?, None),
                Operand::Var(var) | Operand::Default(var, _) => {
                    (vec![self.variable(*var, node, schema, place, &operands, count)?], None)
                }
            };
            operands.append(&mut values);
            literals.push(literal);
        }
        let dims = |place: usize| Some(tensor_of(operands.get(place)?)?.dims().to_vec());
        let attributes = self.attributes(node, schema, &dims(0).unwrap_or_default(), dims(1).as_deref())?;
        let name = [node.domain.as_str(), node.op.as_str()];
        let ran = self.scratch.run_values(name, attributes.clone(), &operands, node.outputs.len());
        let results = match ran {
            Ok(results) => results,
            Err(reason) => {
                self.failure = Some(reason.to_string());
                return None;
            }
        };
        self.record_effects(index, schema, &attributes, &operands, &results);
        for (var, result) in node.outputs.iter().zip(results) {
            if let Some(var) = var {
                *self.slots.get_mut(*var)? = Some(Slot::Result(result?));
            }
        }
        self.chosen.push(Chosen { node: index, attributes, operands: literals });
        Some(())
    }

    fn literal(
        &mut self,
        literal: &crate::ast::Literal,
        schema: &Schema,
        place: usize,
        before: &[Option<Value>],
    ) -> Option<Tensor> {
        let elem = self.elem_of(schema, place, before)?;
        let tensor = self.scratch.convert(of_literal(literal), elem).ok()?;
        if literal.is_list || self.rng.chance(70) {
            return Some(tensor);
        }
        // A splat of sizes that broadcast.
        let first = before.first().and_then(tensor_of)?.dims().to_vec();
        let sizes = sizes::other_sizes(&mut self.rng, "", "", &first, None, 1);
        let number = tensor.iter_f64(&NoData).ok()?.next()?;
        self.scratch.convert(Tensor::splat(sizes, number).ok()?, elem).ok()
    }

    fn rest(
        &mut self,
        var: Var,
        node: &FlatNode,
        schema: &Schema,
        place: usize,
        before: &[Option<Value>],
    ) -> Option<Vec<Option<Value>>> {
        let count = self.rng.below(4);
        let mut tensors: Vec<Tensor> = Vec::new();
        for _ in 0..count {
            let made = tensors.iter().cloned().map(|tensor| Some(Value::from(tensor)));
            let known: Vec<Option<Value>> = before.iter().cloned().chain(made).collect();
            let is_first = known.is_empty();
            let elem = self.elem_of(schema, place, &known)?;
            let planned = schema.input_for(place).and_then(|formal| self.plan.operand(formal.name));
            let sizes = if let Some(Planned::Sizes(sizes, _)) = planned {
                sizes
            } else if is_first {
                sizes::first_sizes(&mut self.rng, &node.op, self.equal)
            } else {
                let first = known.first().and_then(tensor_of)?.dims().to_vec();
                sizes::other_sizes(&mut self.rng, &node.op, "", &first, None, 1)
            };
            tensors.push(self.data("", &sizes, elem)?);
        }
        *self.slots.get_mut(var)? = Some(Slot::Rest(tensors.clone()));
        Some(tensors.into_iter().map(|tensor| Some(Value::from(tensor))).collect())
    }

    fn variable(
        &mut self,
        var: Var,
        node: &FlatNode,
        schema: &Schema,
        place: usize,
        before: &[Option<Value>],
        count: usize,
    ) -> Option<Option<Value>> {
        match self.slots.get(var)? {
            Some(Slot::Omitted) => return Some(None),
            Some(slot) => return slot.value().map(Some),
            None => {}
        }
        let arity =
            self.pattern.rule.from.inputs.iter().find(|(other, _)| *other == var).map(|(_, arity)| *arity);
        let formal = schema.input_for(place)?;
        let planned = self.plan.operand(formal.name);
        let is_omitted = match planned {
            Some(Planned::Omitted) => true,
            Some(_) => false,
            None => self.rng.chance(35),
        };
        if arity == Some(Arity::Optional) && is_omitted {
            *self.slots.get_mut(var)? = Some(Slot::Omitted);
            return Some(None);
        }
        if let Some(slot) = self.planned(var, schema, place, before, planned)? {
            *self.slots.get_mut(var)? = Some(slot.clone());
            return slot.value().map(Some);
        }
        let slot = self.tensor(var, node, schema, place, before, count)?;
        *self.slots.get_mut(var)? = Some(slot.clone());
        slot.value().map(Some)
    }

    /// An operand that is planned, or that cannot be a tensor; `Some(None)` if it is neither.
    fn planned(
        &mut self,
        var: Var,
        schema: &Schema,
        place: usize,
        before: &[Option<Value>],
        planned: Option<Planned>,
    ) -> Option<Option<Slot>> {
        let (tensor, is_constant) = match planned {
            Some(Planned::Whole(value)) => {
                let ty = whole::type_of(&value)?;
                return Some(Some(Slot::Whole(value, ty)));
            }
            Some(Planned::Sizes(sizes, elem)) => {
                let elem = elem.map_or_else(|| self.elem_for(var, schema, place, before), Some)?;
                let (name, is_constant) = (schema.input_for(place)?.name, self.is_constant(var, false));
                let sizes = self.conditioned(var, sizes);
                (self.variable_data((var, name), &sizes, elem, is_constant)?, is_constant)
            }
            Some(Planned::Elements(tensor)) => {
                let elem = self.elem_for(var, schema, place, before)?;
                (self.scratch.convert(tensor, elem).ok()?, self.is_constant(var, true))
            }
            _ => {
                let types = schema.types_of(schema.input_for(place)?);
                let whole = whole::value(&mut self.rng, types, self.elem, &mut self.scratch);
                return Some(whole.map(|(value, ty)| Slot::Whole(value, ty)));
            }
        };
        Some(Some(if is_constant { Slot::Constant(tensor) } else { Slot::Input(tensor) }))
    }

    /// An operand that is a tensor.
    fn tensor(
        &mut self,
        var: Var,
        node: &FlatNode,
        schema: &Schema,
        place: usize,
        before: &[Option<Value>],
        count: usize,
    ) -> Option<Slot> {
        let name = schema.input_for(place)?.name;
        let first = before.first().and_then(tensor_of).map(|tensor| tensor.dims().to_vec());
        let elem = self.elem_for(var, schema, place, before)?;
        let known = first.as_deref().unwrap_or_default();
        let parameter = self.related(&node.op, name, known);
        let mut parameter =
            parameter.or_else(|| choose::parameter(&mut self.rng, &node.op, name, known, count));
        parameter.iter_mut().for_each(|list| self.near_list(var, list));
        let is_list = first.is_some() || node.op == "ConstantOfShape";
        let shaped =
            choose::shaped_parameter(&mut self.rng, &node.op, name, known).filter(|_| first.is_some());
        let is_parameter = parameter.is_some() || shaped.is_some();
        let is_constant = self.is_constant(var, is_parameter);
        let tensor = match (parameter, &first) {
            (_, Some(_)) if shaped.is_some() => self.scratch.convert(shaped?, elem).ok()?,
            (Some(list), _) if is_list => self.scratch.convert(Tensor::vector(&list), elem).ok()?,
            (_, None) => {
                let sizes = self.first_sizes(node, schema);
                let sizes = self.conditioned(var, sizes);
                self.variable_data((var, name), &sizes, elem, is_constant)?
            }
            (_, Some(first)) => {
                let weight = before.get(1).and_then(tensor_of).map(|tensor| tensor.dims().to_vec());
                let (op, weight) = (&node.op, weight.as_deref());
                let groups = sizes::groups(op, first, weight, self.groups);
                let sizes = sizes::other_sizes(&mut self.rng, op, name, first, weight, groups);
                let sizes = self.conditioned(var, sizes);
                self.variable_data((var, name), &sizes, elem, is_constant)?
            }
        };
        Some(if is_constant { Slot::Constant(tensor) } else { Slot::Input(tensor) })
    }

    fn is_constant(&mut self, var: Var, is_parameter: bool) -> bool {
        let is_excluded = self
            .pattern
            .rule
            .conditions
            .iter()
            .any(|(_, condition)| *condition == Condition::NotConstant(var));
        !is_excluded
            && (self.pattern.needs_constant(var) || self.rng.chance(if is_parameter { 95 } else { 12 }))
    }

    /// Elements of a variable; all constants of some models are at the limits of their types.
    fn variable_data(
        &mut self,
        (var, name): (Var, &str),
        sizes: &[i64],
        elem: ElemType,
        is_constant: bool,
    ) -> Option<Tensor> {
        let is_exact = self.pattern.rule.class == Exactness::Exact;
        // A constant that violates a granted condition, such as -0.0, would refute the rule wrongly.
        let conditions = &self.pattern.rule.conditions;
        let is_granted = conditions.iter().any(|(_, condition)| matches!(condition, Condition::Granted(_)));
        if is_constant
            && self.has_limits
            && !is_granted
            && !choose::is_positive(name)
            && elem != ElemType::String
            && let Some(tensor) = choose::limits(&mut self.rng, sizes, elem, is_exact)
        {
            return self.scratch.convert(tensor, elem).ok();
        }
        if is_constant
            && let Some(tensor) =
                self.near_constant(var, name, sizes, elem).or_else(|| self.known_constant(sizes, elem))
        {
            return Some(tensor);
        }
        self.data(name, sizes, elem)
    }

    fn data(&mut self, name: &str, sizes: &[i64], elem: ElemType) -> Option<Tensor> {
        if elem == ElemType::String {
            return choose::strings(&mut self.rng, sizes);
        }
        let tensor = choose::data(&mut self.rng, name, sizes, elem)?;
        self.scratch.convert(tensor, elem).ok()
    }

    /// The element type of an operand: that of one with the same type variable, or the one of the model.
    fn elem_of(&self, schema: &Schema, place: usize, before: &[Option<Value>]) -> Option<ElemType> {
        let formal = schema.input_for(place)?;
        if let FormalType::Variable(_) = formal.ty {
            let same = before
                .iter()
                .enumerate()
                .filter(|(other, _)| schema.input_for(*other).is_some_and(|other| other.ty == formal.ty));
            if let Some(elem) = same.filter_map(|(_, value)| tensor_of(value)).map(Tensor::elem).next() {
                return Some(elem);
            }
        }
        // The elements of a sequence have the type of what is inserted.
        let is_whole = |value: &&Value| value.tensor().is_none();
        let types = schema.types_of(formal);
        let of_whole = before.iter().flatten().find(is_whole).and_then(whole::elem);
        if let Some(elem) = of_whole.filter(|&elem| types.contains_tensor(elem)) {
            return Some(elem);
        }
        let others = [
            ElemType::Float,
            ElemType::Int64,
            ElemType::Uint8,
            ElemType::Bool,
            ElemType::String,
            ElemType::Int8,
            ElemType::Int32,
            ElemType::Double,
        ];
        let mut candidates = std::iter::once(self.elem).chain(others);
        candidates.find(|&elem| types.contains_tensor(elem))
    }

    fn elem_for(
        &mut self,
        var: Var,
        schema: &Schema,
        place: usize,
        before: &[Option<Value>],
    ) -> Option<ElemType> {
        let elem = self.elem_of(schema, place, before)?;
        // The formula of `RMSNormalization` is a product of operands of one type, although its signature has two.
        let may_vary = !before.is_empty() && schema.op() != onnx_schema::op::RMS_NORMALIZATION;
        let (pattern, varies) = (self.pattern, may_vary && self.rng.chance(30));
        let is_one = |elem: ElemType| {
            pattern.rule.conditions.iter().all(|(_, condition)| match condition {
                Condition::Elem(other, Elems::Class(class)) if *other == var => is_of(elem, *class),
                Condition::Elem(other, Elems::List(elems)) if *other == var => elems.contains(&elem),
                _ => true,
            })
        };
        if !has_own_type(schema, place, before) || is_one(elem) && !varies {
            return Some(elem);
        }
        let types = schema.types_of(schema.input_for(place)?);
        let all: Vec<ElemType> =
            ElemType::all().filter(|&elem| types.contains_tensor(elem) && is_one(elem)).collect();
        let is_common = |elem: &&ElemType| **elem == ElemType::Float || choose::OTHER_ELEMS.contains(elem);
        let common: Vec<ElemType> = all.iter().filter(is_common).copied().collect();
        self.rng.pick(&common).or_else(|| self.rng.pick(&all)).or(Some(elem))
    }
}

/// Returns `true` if no operand before one has its type variable.
fn has_own_type(schema: &Schema, place: usize, before: &[Option<Value>]) -> bool {
    let Some(formal) = schema.input_for(place) else { return false };
    let has_same = |other: usize| schema.input_for(other).is_some_and(|other| other.ty == formal.ty);
    matches!(formal.ty, FormalType::Variable(_)) && !(0..before.len()).any(has_same)
}

/// The last versions of the default domain and of `ai.onnx.ml` in which no operator of the left side is deprecated.
fn until(pattern: &Pattern) -> [i64; 2] {
    ["", "ai.onnx.ml"].map(|domain| {
        let own = pattern.rule.from.nodes.iter().filter(|node| node.domain == domain);
        let deprecated = own.filter_map(|node| {
            let latest = onnx_schema::lookup_by_name(domain, &node.op, i64::MAX)?;
            latest.is_deprecated().then(|| latest.since_version().saturating_sub(1))
        });
        deprecated.min().unwrap_or(i64::MAX)
    })
}
