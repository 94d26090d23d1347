//! The model of the operands and attributes that were chosen.

use onnx_ir::{AttrValue, Builder, Constant, EditError, Model, Position, ValueId};
use onnx_schema::Schema;
use onnx_text::{ParseOptions, parse_model};
use onnx_types::tensor::Tensor;
use onnx_types::{Dim, Symbol, Type};

use super::choose::Rng;
use super::generate::{Chosen, Generator, Slot};
use crate::ast::{Arity, FlatNode, Operand, Rule, Var};
use crate::form::{Argument, Form};

/// The sizes that are variables.
#[derive(Clone, Copy)]
enum Free {
    None,
    One(i64),
    All,
    /// Each axis of each operand is a separate variable, also where its size is 1: a run broadcasts what the model does not.
    Each,
    /// Each axis is its own variable, that of its size, or known.
    Mixed,
}

/// The models in which no sizes are known.
pub(super) struct Unknown {
    /// Decides about them whatever else is chosen.
    rng: Rng,
    /// Number of them that the rule must edit yet.
    pub(super) due: usize,
    /// Whether the model is one of them.
    pub(super) is_model: bool,
}

impl Unknown {
    /// A rule that computes with sizes which are not known must edit some of them.
    pub(super) fn new(rule: &Rule, seed: u64) -> Self {
        const MODELS: usize = 12;
        let is_sizes =
            |node: &FlatNode| node.domain == "rule" && matches!(node.op.as_str(), "Sizes" | "Dims");
        let due = if rule.lets.iter().any(is_sizes) { MODELS } else { 0 };
        Self { rng: Rng::new(seed ^ 0x512e), due, is_model: false }
    }
}

impl Generator<'_> {
    /// The model of the choices.
    pub(super) fn build(&mut self) -> Option<Model> {
        let ir_version = 10;
        let mut imports = format!("\"\": {}", self.version);
        let learned = onnx_schema::domain::ML;
        if self.pattern.rule.from.nodes.iter().any(|node| node.domain == "ai.onnx.ml") {
            let version = onnx_schema::latest_opset(learned).unwrap_or(1).min(self.until[1]);
            imports.push_str(&format!(", \"ai.onnx.ml\": {version}"));
        }
        let text = format!("<ir_version: {ir_version}, opset_import: [{imports}]> g () => () {{}}");
        let mut model = parse_model(text, &ParseOptions::default()).ok()?;
        let graph = model.main_graph();
        let free = self.free();
        let mut values: Vec<Vec<Option<ValueId>>> = vec![Vec::new(); self.slots.len()];
        for (var, arity) in self.pattern.rule.from.inputs.iter().map(|(var, arity)| (*var, *arity)) {
            let slot = self.slots.get(var)?.clone();
            let list = match slot {
                Some(Slot::Rest(tensors)) => tensors.into_iter().map(Slot::Input).collect(),
                Some(slot) => vec![slot],
                // A variable of an alternative that was not taken.
                None if arity == Arity::Rest => Vec::new(),
                None => continue,
            };
            for slot in list {
                let value = match slot {
                    Slot::Input(tensor) => Some(input(&mut model, var, &tensor, free, &mut self.unknown.rng)),
                    Slot::Whole(_, ty) => Some(model.add_graph_input(graph, &format!("x{var}"), Some(ty))),
                    Slot::Constant(tensor) => {
                        let name = model.intern(&format!("c{var}"));
                        Some(model.add_initializer(graph, name, Constant::Dense(tensor)))
                    }
                    _ => None,
                };
                values.get_mut(var)?.push(value);
            }
        }
        for chosen in self.chosen.clone() {
            self.add(&mut model, &chosen, &mut values)?;
        }
        for &var in &self.pattern.rule.from.outputs {
            let value = values.get(var)?.first().copied().flatten()?;
            // Not every version of `Identity` takes sequences.
            let is_tensor = self.slots.get(var)?.as_ref()?.tensor().is_some();
            let output = match is_tensor && self.rng.chance(60) {
                true => identity(&mut model, value).ok()?,
                false => value,
            };
            // Models are compared by the names of their outputs.
            let name = model.intern(&format!("y{var}"));
            model.set_value_name(output, name);
            model.push_graph_output(graph, output);
        }
        model.verify_sorted().is_ok().then_some(model)
    }

    /// The same size is the same variable everywhere, or a number. In some models, all sizes are variables: more often if the rule
    /// computes with sizes that are not known, since a comparison of two of them holds whatever they are.
    fn free(&mut self) -> Free {
        let share = if self.unknown.due > 0 { 40 } else { 10 };
        let free = match self.rng.below(100) {
            0..35 => self.rng.pick(&[2, 3, 4]).map_or(Free::None, Free::One),
            35..45 => Free::All,
            _ => Free::None,
        };
        self.unknown.is_model = self.unknown.rng.chance(share);
        let unknown = self.unknown.rng.pick(&[Free::Each, Free::Mixed]);
        unknown.filter(|_| self.unknown.is_model).unwrap_or(free)
    }

    fn add(&mut self, model: &mut Model, chosen: &Chosen, values: &mut [Vec<Option<ValueId>>]) -> Option<()> {
        let node = self.pattern.rule.from.nodes.get(chosen.node)?;
        let (domain, op) = (onnx_schema::domain_symbol(&node.domain)?, onnx_schema::op_symbol(&node.op)?);
        let version = model.opset_version(domain)?;
        let schema = onnx_schema::lookup(domain, op, version)?;
        let mut form = Form::default();
        let tensors = |value: ValueId, model: &Model| model.constant_tensor(value).cloned();
        let mut arguments = Vec::new();
        for (place, operand) in node.operands.iter().enumerate() {
            match operand {
                Operand::Omitted => arguments.push(Argument::Omitted),
                Operand::Literal(_) => arguments.push(Argument::Tensor(chosen.operands.get(place)?.clone()?)),
                Operand::Var(var) | Operand::Rest(var) | Operand::Default(var, _) => {
                    let list = values.get(*var)?;
                    arguments
                        .extend(list.iter().map(|value| value.map_or(Argument::Omitted, Argument::Value)));
                }
            }
        }
        for (index, argument) in arguments.iter().enumerate() {
            form.place_operand(Some(schema), index, argument, &|value| tensors(value, model)).ok()?;
        }
        for (name, value) in &chosen.attributes {
            if crate::form::has_attribute(schema, name) {
                form.set(name, value.clone());
            } else {
                let argument = Argument::Tensor(value.to_tensor()?);
                form.place_attribute(Some(schema), name, &argument, &|value| tensors(value, model)).ok()?;
            }
        }
        let graph = model.main_graph();
        let operands = place_constants(model, form.operands, chosen.node);
        let attributes: Vec<(Symbol, AttrValue)> =
            form.attributes.into_iter().map(|(name, value)| (model.intern(&name), value)).collect();
        let present: Vec<bool> = node.outputs.iter().map(Option::is_some).collect();
        let mut build = model.build_at(Position::End(graph));
        let outputs = make(&mut build, (domain, op), operands, attributes, &present).ok()?;
        for (var, value) in node.outputs.iter().zip(outputs) {
            if let Some(var) = var {
                *values.get_mut(*var)? = vec![value];
            }
        }
        self.takes(node, schema).then_some(())
    }

    /// Returns `true` if a version of an operator takes the types of the operands, and has none that is required and omitted.
    fn takes(&self, node: &FlatNode, schema: &Schema) -> bool {
        node.operands.iter().enumerate().all(|(index, operand)| {
            let Operand::Var(var) = operand else { return true };
            let slot = self.slots.get(*var).and_then(Option::as_ref);
            match (slot, schema.input_for(index)) {
                (Some(Slot::Omitted), Some(formal)) => formal.is_optional() || formal.is_variadic(),
                (Some(Slot::Whole(_, ty)), Some(formal)) => schema.types_of(formal).contains_type(ty),
                (Some(slot), Some(formal)) => {
                    slot.tensor().is_none_or(|tensor| schema.types_of(formal).contains_tensor(tensor.elem()))
                }
                _ => true,
            }
        })
    }
}

/// The operands of a node, with an initializer for each tensor.
fn place_constants(model: &mut Model, operands: Vec<Argument>, node: usize) -> Vec<Option<ValueId>> {
    let graph = model.main_graph();
    let mut values = Vec::with_capacity(operands.len());
    for (place, argument) in operands.into_iter().enumerate() {
        values.push(match argument {
            Argument::Omitted => None,
            Argument::Value(value) => Some(value),
            Argument::Tensor(tensor) | Argument::Literal(tensor) => {
                let name = model.intern(&format!("k{node}_{place}"));
                Some(model.add_initializer(graph, name, Constant::Dense(tensor)))
            }
        });
    }
    values
}

fn make(
    build: &mut Builder<'_>,
    (domain, op): (Symbol, Symbol),
    operands: Vec<Option<ValueId>>,
    attributes: Vec<(Symbol, AttrValue)>,
    present: &[bool],
) -> Result<Vec<Option<ValueId>>, EditError> {
    let mut node = build.call_symbol(domain, op);
    for operand in operands {
        node = node.input(operand);
    }
    for (name, value) in attributes {
        node = node.attr(name, value);
    }
    node.outputs_if(present)
}

fn identity(model: &mut Model, value: ValueId) -> Result<ValueId, EditError> {
    let graph = model.main_graph();
    model.build_at(Position::End(graph)).op(onnx_schema::op::IDENTITY, [value]).output()
}

/// A graph input with the type of a tensor, with variables for some sizes.
fn input(model: &mut Model, var: Var, tensor: &Tensor, free: Free, rng: &mut Rng) -> ValueId {
    let graph = model.main_graph();
    let number = model.graph(graph).inputs().len();
    let mut dims: Vec<Dim> = Vec::new();
    for (axis, &size) in tensor.dims().iter().enumerate() {
        let free = match free {
            Free::Mixed => rng.pick(&[Free::None, Free::All, Free::Each]).unwrap_or(Free::Each),
            free => free,
        };
        dims.push(match free {
            Free::One(free) if free == size => Dim::Var(model.intern("N")),
            Free::All if size > 1 => Dim::Var(model.intern(&format!("N{size}"))),
            Free::Each => Dim::Var(model.intern(&format!("M{number}_{axis}"))),
            _ => Dim::Known(size),
        });
    }
    let ty = Type::tensor(tensor.elem(), Some(dims.into_iter().collect()));
    model.add_graph_input(graph, &format!("x{var}"), Some(ty))
}
