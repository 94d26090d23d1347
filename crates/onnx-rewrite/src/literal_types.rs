//! The element types of a right side, as far as its nodes and the match determine them: those of its literals follow.

use onnx_ir::AttrValue;
use onnx_schema::{AttrDefault, Formal, FormalType, Schema, TypeForm};
use onnx_types::ElemType;
use onnx_types::tensor::Tensor;

use crate::ast::{FlatNode, Literal, Operand, Rule, Var};

/// The element types of the variables of a rule.
#[derive(Default)]
pub(crate) struct ElemTypes(Vec<Option<ElemType>>);

impl ElemTypes {
    /// The types that follow from those that are `known`, from attributes, and from the operators of the right side: operands and
    /// results of one type variable have one type.
    pub(crate) fn of(
        rule: &Rule,
        known: impl Fn(Var) -> Option<ElemType>,
        schema: impl Fn(&FlatNode) -> Option<&'static Schema>,
        attribute: impl Fn(&FlatNode, &str) -> Option<AttrValue>,
    ) -> Self {
        let mut types = Self((0..rule.names.len()).map(known).collect());
        let nodes: Vec<_> = rule.to.nodes.iter().map(|node| (node, schema(node))).collect();
        for &(node, schema) in &nodes {
            if let (Some(schema), Some(&Some(result))) = (schema, node.outputs.first()) {
                types.add(result, named(node, schema, &attribute));
            }
        }
        // Each round adds a type, or is the last one.
        loop {
            let before = types.0.clone();
            for &(node, schema) in &nodes {
                schema.into_iter().for_each(|schema| types.spread(node, schema));
            }
            if types.0 == before {
                return types;
            }
        }
    }

    pub(crate) fn get(&self, var: Var) -> Option<ElemType> {
        self.0.get(var).copied().flatten()
    }

    fn add(&mut self, var: Var, elem: Option<ElemType>) {
        if let Some(slot) = self.0.get_mut(var)
            && slot.is_none()
        {
            *slot = elem;
        }
    }

    /// Gives the operands and results of a node the types that others of the same type variable have, and the only ones where they have none.
    fn spread(&mut self, node: &FlatNode, schema: &Schema) {
        let places: Vec<(Var, &Formal)> = places(node, schema).collect();
        for &(var, formal) in &places {
            let elem = only_type(schema, formal).or_else(|| self.of_variable(node, schema, formal));
            self.add(var, elem);
        }
    }

    /// The type of the operands and results of a node that have the type variable of one of them.
    fn of_variable(&self, node: &FlatNode, schema: &Schema, formal: &Formal) -> Option<ElemType> {
        let same = places(node, schema).filter(|(_, other)| is_same(formal, other));
        let mut known = same.filter_map(|(var, _)| self.get(var));
        known.find(|&elem| schema.types_of(formal).contains_tensor(elem))
    }

    /// The type of a literal that is an operand of a node; `None` if nothing determines it. A literal next to which nothing has its
    /// type variable has its own type.
    pub(crate) fn of_literal(
        &self,
        node: &FlatNode,
        schema: &Schema,
        index: usize,
        own: &Tensor,
    ) -> Option<ElemType> {
        let Some(formal) = schema.input_for(index) else { return Some(own.elem()) };
        let known = only_type(schema, formal).or_else(|| self.of_variable(node, schema, formal));
        if known.is_some() {
            return known;
        }
        let operands = node.operands.iter().enumerate();
        let mut others = operands.filter(|&(other, operand)| {
            let is_value = !matches!(operand, Operand::Literal(_) | Operand::Omitted);
            is_value && other != index && schema.input_for(other).is_some_and(|other| is_same(formal, other))
        });
        let is_alone = others.next().is_none();
        (is_alone && schema.types_of(formal).contains_tensor(own.elem())).then_some(own.elem())
    }
}

/// The variables that are operands or results of a node, with the parameters that they are.
fn places<'a>(node: &'a FlatNode, schema: &'a Schema) -> impl Iterator<Item = (Var, &'a Formal)> {
    let operands = node.operands.iter().enumerate().filter_map(move |(index, operand)| match operand {
        Operand::Var(var) | Operand::Rest(var) | Operand::Default(var, _) => {
            Some((*var, schema.input_for(index)?))
        }
        Operand::Omitted | Operand::Literal(_) => None,
    });
    let results = node.outputs.iter().enumerate();
    operands.chain(results.filter_map(move |(index, var)| Some(((*var)?, schema.output_for(index)?))))
}

fn is_same(one: &Formal, other: &Formal) -> bool {
    let is_one_type = |formal: &Formal| !formal.is_variadic() || formal.is_homogeneous;
    matches!(one.ty, FormalType::Variable(_)) && one.ty == other.ty && is_one_type(one) && is_one_type(other)
}

/// The element type of a parameter of which only tensors of one type are taken.
fn only_type(schema: &Schema, formal: &Formal) -> Option<ElemType> {
    match *schema.types_of(formal).single()?.form() {
        TypeForm::Tensor(elem) => Some(elem),
        _ => None,
    }
}

/// The element type of the first result, if an attribute names it or is a tensor of it.
fn named(
    node: &FlatNode,
    schema: &Schema,
    attribute: impl Fn(&FlatNode, &str) -> Option<AttrValue>,
) -> Option<ElemType> {
    schema.attributes().iter().find_map(|formal| {
        let is_type = schema.names_element_type(formal.name);
        let code = match (attribute(node, formal.text()), formal.default) {
            (Some(AttrValue::Int(code)), _) if is_type => code,
            (Some(AttrValue::Tensor(tensor)), _) if formal.text() == "value" => return Some(tensor.elem()),
            (None, Some(AttrDefault::Int(code))) if is_type => code,
            _ => return None,
        };
        ElemType::from_code(i32::try_from(code).ok()?).filter(|&elem| elem != ElemType::Undefined)
    })
}

/// A literal as it is written.
pub(crate) fn text(literal: &Literal) -> String {
    let numbers: Vec<String> = match &literal.integers {
        Some(integers) => integers.iter().map(i64::to_string).collect(),
        None => literal.numbers.iter().map(|number| format!("{number:?}")).collect(),
    };
    if literal.is_list { format!("[{}]", numbers.join(", ")) } else { numbers.concat() }
}
