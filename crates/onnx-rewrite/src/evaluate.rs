//! Evaluation at rewrite time: the nodes of `let` run on constants and attributes that were matched.

use onnx_eval::{EvalOptions, Value, run_node};
use onnx_ir::{AttrValue, Model, NodeId, Position, ValueId};
use onnx_pass::{Exactness, Patch, Reason, are_fixed, are_undefined};
use onnx_schema::Registry;
use onnx_text::{ParseOptions, parse_model};
use onnx_types::tensor::{NoData, Tensor};
use onnx_types::{ElemClass, ElemType, Execution, Limits, Symbol};

use crate::ast::{AttributeTerm, FlatNode, Literal, Operand, Rule, Var};
use crate::cost::Costs;
use crate::effective::{latest, to_value};
use crate::matching::{Bound, RuleMatch};

/// The operators of the domain `rule`: name, and number of operands.
pub(crate) const INTRINSICS: &[(&str, usize)] =
    &[("Shape", 1), ("Sizes", 1), ("Rank", 1), ("Dims", 1), ("Axes", 2), ("Elem", 1)];

/// The precedence of the element type of an operand: a literal takes the type of an attribute, and both take that of a
/// constant.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Strength {
    Literal,
    Attribute,
    Constant,
}

/// A model in which single nodes run.
#[derive(Debug)]
pub(crate) struct Scratch {
    model: Model,
    inputs: Vec<ValueId>,
    /// Bounds on the cost of each node.
    execution: Execution,
    /// Whether results must be the same bits under every implementation.
    is_exact: bool,
    /// The costs of nodes.
    pub(crate) costs: Costs,
    /// Whether edits need not lower the cost.
    pub(crate) has_any_cost: bool,
}

impl Scratch {
    pub(crate) fn new(execution: &Execution, costs: &Costs) -> Self {
        Self::at([i64::MAX; 2], execution, costs)
    }

    /// Nodes run in these versions of the default domain and of `ai.onnx.ml`, at most the latest ones.
    pub(crate) fn at(versions: [i64; 2], execution: &Execution, costs: &Costs) -> Self {
        let latest = |domain: Symbol| onnx_schema::latest_opset(domain).unwrap_or(1);
        let [default, learned] = versions;
        let default = default.min(latest(onnx_schema::domain::ONNX));
        let learned = learned.min(latest(onnx_schema::domain::ML));
        let imports = format!("\"\": {default}, \"ai.onnx.ml\": {learned}");
        let text = format!("<ir_version: 10, opset_import: [{imports}]> g () => () {{}}");
        let model = parse_model(text, &ParseOptions::default()).unwrap_or_default();
        Self {
            model,
            inputs: Vec::new(),
            execution: execution.clone(),
            is_exact: false,
            costs: costs.clone(),
            has_any_cost: false,
        }
    }

    pub(crate) fn with_any_cost(mut self, has_any_cost: bool) -> Self {
        self.has_any_cost = has_any_cost;
        self
    }

    /// The results of an operator of the default domain on constants.
    pub(crate) fn run(
        &mut self,
        op: &str,
        attributes: Vec<(String, AttrValue)>,
        inputs: Vec<Option<Tensor>>,
        outputs: usize,
    ) -> Result<Vec<Option<Tensor>>, Reason> {
        let inputs: Vec<Option<Value>> = inputs.into_iter().map(|input| input.map(Value::from)).collect();
        let results = self.run_values(["", op], attributes, &inputs, outputs)?;
        let tensor = |value: Option<Value>| value?.tensor().map(|tensor| Tensor::clone(tensor));
        Ok(results.into_iter().map(tensor).collect())
    }

    /// The results of an operator on values of any kind.
    pub(crate) fn run_values(
        &mut self,
        [domain, op]: [&str; 2],
        attributes: Vec<(String, AttrValue)>,
        inputs: &[Option<Value>],
        outputs: usize,
    ) -> Result<Vec<Option<Value>>, Reason> {
        let graph = self.model.main_graph();
        while self.inputs.len() < inputs.len() {
            let name = format!("i{}", self.inputs.len());
            let input = self.model.add_graph_input(graph, &name, None);
            self.inputs.push(input);
        }
        let attributes: Vec<(Symbol, AttrValue)> =
            attributes.into_iter().map(|(name, value)| (self.model.intern(&name), value)).collect();
        let [domain, op] = [domain, op].map(|name| self.model.intern(name));
        let operands: Vec<Option<ValueId>> =
            inputs.iter().zip(&self.inputs).map(|(input, &value)| input.as_ref().map(|_| value)).collect();
        let mut build = self.model.build_at(Position::End(graph));
        let mut node = build.call_symbol(domain, op);
        for operand in operands {
            node = node.input(operand);
        }
        for (name, value) in attributes {
            node = node.attr(name, value);
        }
        let made = node.outputs_if(&vec![true; outputs])?;
        let Some(node) = made.first().copied().flatten().and_then(|value| self.model.value(value).producer())
        else {
            return Err("a node of `let` has no result".into());
        };
        let tensor = |value: &Value| value.tensor().map(|tensor| Tensor::clone(tensor));
        let operands: Vec<Tensor> = inputs.iter().flatten().filter_map(tensor).collect();
        let options = EvalOptions::default().with_execution(self.execution.clone());
        let result = run_node(&self.model, node, inputs, &options);
        let result = result.map_err(|failure| Reason::new(failure.diagnostic().message.clone()));
        let result = result.and_then(|results| {
            let made: Vec<Tensor> = results.iter().flatten().filter_map(tensor).collect();
            self.settled(node, &operands, &made).map(|()| results)
        });
        self.model.erase_node(node)?;
        result
    }

    /// Whether the results are those of all implementations.
    fn settled(&self, node: NodeId, operands: &[Tensor], made: &[Tensor]) -> Result<(), Reason> {
        let op = || self.model.str(self.model.node(node).op());
        if are_undefined(&self.model, node, operands, made) {
            return Err(
                format!("the standard does not define the result of `{}` for these operands", op()).into()
            );
        }
        let is_float = |tensor: &Tensor| tensor.elem().class() == ElemClass::Float;
        let is_open = || !are_fixed(&self.model, node, Registry::STANDARD, operands, made);
        if self.is_exact && operands.iter().chain(made).any(is_float) && is_open() {
            return Err(
                format!("implementations may round the result of `{}` in different ways", op()).into()
            );
        }
        Ok(())
    }

    /// The elements of a tensor in another type.
    pub(crate) fn convert(&mut self, tensor: Tensor, elem: ElemType) -> Result<Tensor, Reason> {
        if tensor.elem() == elem {
            return Ok(tensor);
        }
        let to = vec![("to".to_owned(), AttrValue::Int(i64::from(elem as i32)))];
        let converted = self.run("Cast", to, vec![Some(tensor)], 1)?;
        converted.into_iter().next().flatten().ok_or_else(|| "a literal cannot be converted".into())
    }

    /// The same elements in another type; the reason if that has integers, and an element is not one of them.
    pub(crate) fn convert_numbers(&mut self, tensor: &Tensor, elem: ElemType) -> Result<Tensor, Reason> {
        let converted = self.convert(tensor.clone(), elem)?;
        let is_integral = matches!(elem.class(), ElemClass::Int | ElemClass::Uint | ElemClass::Bool);
        if is_integral && !tensor.iter_f64(&NoData)?.eq(converted.iter_f64(&NoData)?) {
            return Err(Reason::new(format!("a number is not one of {elem}")));
        }
        Ok(converted)
    }
}

/// A literal in its own type: `int64` for integers, `float` otherwise.
pub(crate) fn of_literal(literal: &Literal) -> Tensor {
    match (&literal.integers, literal.is_list) {
        (Some(integers), true) => Tensor::vector(integers),
        (Some(integers), false) => Tensor::scalar(integers.first().copied().unwrap_or(0)),
        (None, true) => {
            Tensor::vector(&literal.numbers.iter().map(|&number| number as f32).collect::<Vec<_>>())
        }
        (None, false) => Tensor::scalar(literal.numbers.first().copied().unwrap_or(0.0) as f32),
    }
}

/// Computes the nodes of `let`; the results are bound in the match.
pub(crate) fn evaluate(
    rule: &Rule,
    found: &mut RuleMatch,
    patch: &mut Patch<'_, '_>,
    scratch: &mut Scratch,
) -> Result<(), Reason> {
    let mut strengths = vec![Strength::Constant; rule.names.len()];
    for node in rule.from.nodes.iter().flat_map(|node| &node.attributes) {
        if let (_, AttributeTerm::Var(var)) = node
            && let Some(slot) = strengths.get_mut(*var)
        {
            *slot = Strength::Attribute;
        }
    }
    scratch.is_exact = rule.class == Exactness::Exact;
    for node in &rule.lets {
        let mut run = Run { rule, found, patch, scratch, strengths: &strengths };
        let (results, strength) = if node.domain == "rule" {
            (vec![Some(run.intrinsic(node)?)], Strength::Constant)
        } else {
            run.node(node)?
        };
        for (output, result) in node.outputs.iter().zip(results) {
            let (Some(var), Some(result)) = (*output, result) else { continue };
            if let (Some(bound), Some(slot)) = (found.bound.get_mut(var), strengths.get_mut(var)) {
                *bound = Bound::Tensor(result);
                *slot = strength;
            }
        }
    }
    Ok(())
}

struct Run<'a, 'p, 'm, 'c> {
    rule: &'a Rule,
    found: &'a RuleMatch,
    patch: &'a mut Patch<'p, 'm>,
    scratch: &'c mut Scratch,
    strengths: &'a [Strength],
}

impl Run<'_, '_, '_, '_> {
    fn constant(&mut self, var: Var) -> Result<Option<Tensor>, Reason> {
        match self.found.bound.get(var) {
            Some(Bound::Value(value)) => self.patch.try_constant(*value).map(Some),
            Some(Bound::Tensor(tensor)) => Ok(Some(tensor.clone())),
            Some(Bound::Omitted) => Ok(None),
            _ => Err(Reason::new(format!("`{}` has no value", self.rule.variable(var)))),
        }
    }

    fn operands(&mut self, node: &FlatNode) -> Result<Vec<(Option<Tensor>, Strength)>, Reason> {
        let mut operands = Vec::new();
        for operand in &node.operands {
            match operand {
                Operand::Omitted => operands.push((None, Strength::Literal)),
                Operand::Literal(literal) => operands.push((Some(of_literal(literal)), Strength::Literal)),
                Operand::Var(var) => {
                    let strength = self.strengths.get(*var).copied().unwrap_or(Strength::Constant);
                    operands.push((self.constant(*var)?, strength));
                }
                Operand::Default(var, literal) => match self.constant(*var)? {
                    Some(tensor) => operands.push((Some(tensor), Strength::Constant)),
                    None => operands.push((Some(of_literal(literal)), Strength::Literal)),
                },
                Operand::Rest(var) => {
                    let Some(Bound::Rest(values)) = self.found.bound.get(*var) else { continue };
                    for value in values {
                        let tensor = value.map(|value| self.patch.try_constant(value)).transpose()?;
                        operands.push((tensor, Strength::Constant));
                    }
                }
            }
        }
        Ok(operands)
    }

    fn node(&mut self, node: &FlatNode) -> Result<(Vec<Option<Tensor>>, Strength), Reason> {
        let mut operands = self.operands(node)?;
        let op = self.scratch.model.intern(&node.op);
        let schema = latest(Symbol::EMPTY, op).ok_or("an operator of `let` is not known")?;
        let formal = |index: usize| schema.input_for(index).map(|formal| formal.ty);
        for index in 0..operands.len() {
            let Some((Some(tensor), strength)) = operands.get(index).cloned() else { continue };
            let others = operands.iter().enumerate().filter(|(other, _)| formal(*other) == formal(index));
            let stronger =
                others.filter_map(|(_, (tensor, strength))| Some((tensor.as_ref()?.elem(), *strength)));
            let Some((elem, most)) = stronger.max_by_key(|(_, strength)| *strength) else { continue };
            if most > strength
                && let Some(slot) = operands.get_mut(index)
            {
                slot.0 = Some(self.scratch.convert_numbers(&tensor, elem)?);
            }
        }
        let strength = operands.iter().map(|(_, strength)| *strength).max().unwrap_or(Strength::Literal);
        let mut attributes = Vec::new();
        for (name, term) in &node.attributes {
            let value = match term {
                AttributeTerm::Value(value) => value.clone(),
                AttributeTerm::Var(var) => {
                    let tensor = self.constant(*var)?.ok_or("an attribute is omitted")?;
                    let formal = schema.attributes().iter().find(|formal| formal.text() == name);
                    let kind = formal.ok_or("an attribute is not known")?.kind;
                    to_value(&tensor, kind).ok_or("an attribute has another kind")?
                }
            };
            attributes.push((name.clone(), as_kind(value, schema, name)));
        }
        let inputs = operands.into_iter().map(|(tensor, _)| tensor).collect();
        let results = self.scratch.run(&node.op, attributes, inputs, node.outputs.len())?;
        Ok((results, strength))
    }

    fn intrinsic(&mut self, node: &FlatNode) -> Result<Tensor, Reason> {
        let operand = |index: usize| match node.operands.get(index) {
            Some(Operand::Var(var)) => Ok(*var),
            _ => Err(Reason::from("an operand of an intrinsic is not a name")),
        };
        match node.op.as_str() {
            "Axes" => {
                let axes = self.constant(operand(0)?)?.ok_or("the axes are omitted")?;
                let rank = self.constant(operand(1)?)?.ok_or("the rank is omitted")?;
                normalized(&axes, &rank)
            }
            "Elem" => {
                let elem = self.elem(operand(0)?).ok_or("the element type is not known")?;
                Ok(Tensor::scalar(i64::from(elem as i32)))
            }
            "Rank" => {
                let var = operand(0)?;
                let rank = match self.found.bound.get(var) {
                    Some(Bound::Value(value)) => self.patch.try_rank(*value)?,
                    _ => self.sizes(var)?.len(),
                };
                Ok(Tensor::scalar(i64::try_from(rank).unwrap_or(0)))
            }
            op => {
                let sizes = self.sizes(operand(0)?)?;
                match op {
                    "Sizes" => {
                        let sizes: Vec<i64> = sizes.into_iter().map(|size| size.unwrap_or(-1)).collect();
                        Ok(Tensor::vector(&sizes))
                    }
                    "Shape" => {
                        let sizes: Option<Vec<i64>> = sizes.into_iter().collect();
                        Ok(Tensor::vector(&sizes.ok_or("a size is not known")?))
                    }
                    _ => dims(&sizes),
                }
            }
        }
    }

    fn elem(&self, var: Var) -> Option<ElemType> {
        match self.found.bound.get(var)? {
            Bound::Value(value) => self.patch.elem(*value),
            Bound::Tensor(tensor) => Some(tensor.elem()),
            _ => None,
        }
    }

    fn sizes(&mut self, var: Var) -> Result<Vec<Option<i64>>, Reason> {
        match self.found.bound.get(var) {
            Some(Bound::Value(value)) => {
                Ok(self.patch.try_shape(*value)?.into_iter().map(|dim| dim.known()).collect())
            }
            Some(Bound::Tensor(tensor)) => Ok(tensor.dims().iter().copied().map(Some).collect()),
            _ => Err(Reason::new(format!("`{}` is omitted", self.rule.variable(var)))),
        }
    }
}

/// An attribute that is written as an integer, in the kind that the operator declares.
pub(crate) fn as_kind(value: AttrValue, schema: &onnx_schema::Schema, name: &str) -> AttrValue {
    let formal = schema.attributes().iter().find(|formal| formal.text() == name);
    let kind = formal.map(|formal| formal.kind).filter(|&kind| value.kind() != Some(kind));
    let converted = kind.and_then(|kind| to_value(&value.to_tensor()?, kind));
    converted.unwrap_or(value)
}

/// The operand of a `Reshape` to sizes of which at most one is not known.
fn dims(sizes: &[Option<i64>]) -> Result<Tensor, Reason> {
    if sizes.iter().filter(|size| size.is_none()).count() > 1 {
        return Err("more than one size is not known".into());
    }
    // A 0 copies a size, and the size for a -1 cannot be computed next to it.
    if sizes.contains(&Some(0)) {
        return Err("a size is 0".into());
    }
    Ok(Tensor::vector(&sizes.iter().map(|size| size.unwrap_or(-1)).collect::<Vec<_>>()))
}

/// Axes as numbers from 0 on.
fn normalized(axes: &Tensor, rank: &Tensor) -> Result<Tensor, Reason> {
    let source = &NoData;
    let all = axes.get_i64s(source, Limits::DEFAULT.followed_elements)?;
    let rank = rank.get_i64s(source, 1)?.first().copied().ok_or("the rank is not known")?;
    let mut normalized = Vec::with_capacity(all.len());
    for axis in all {
        let axis = if axis < 0 { axis.saturating_add(rank) } else { axis };
        if !(0..rank).contains(&axis) || normalized.contains(&axis) {
            return Err("an axis is out of range, or occurs twice".into());
        }
        normalized.push(axis);
    }
    Ok(Tensor::vector(&normalized))
}
