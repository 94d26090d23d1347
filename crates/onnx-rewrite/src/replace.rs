//! The right side of a rule: new nodes in the form of the version in scope, in a patch.

use foldhash::fast::RandomState;
use onnx_ir::{AttrValue, EditError, Model, NodeId, Position, User, ValueId};
use onnx_pass::{Patch, Reason};
use onnx_schema::{Formal, Schema};
use onnx_types::tensor::NoData;
use onnx_types::{ElemType, Symbol};
use slotmap::SparseSecondaryMap;

use crate::ast::{AttributeTerm, Condition, FlatNode, Operand, Rule, Var};
use crate::cost::Costs;
use crate::effective::latest_input;
use crate::evaluate::{Scratch, as_kind, of_literal};
use crate::form::{Argument, Form, has_attribute};
use crate::literal_types::{self, ElemTypes};
use crate::matching::{Bound, RuleMatch};

/// Builds the right side of a rule next to the match, and names the values that it replaces. Returns the new nodes.
pub(crate) fn replace(
    rule: &Rule,
    found: &RuleMatch,
    root: NodeId,
    patch: &mut Patch<'_, '_>,
    scratch: &mut Scratch,
) -> Result<Vec<NodeId>, Reason> {
    has_few_operands(rule, found)?;
    inner_values_have_no_other_uses(rule, found, patch.model())?;
    let lowered = lowers_cost(rule, found, patch.model(), &scratch.costs);
    if scratch.has_any_cost {
        lowered.or_else(|_| replaces_others(rule, found, root, patch.model()))?;
    } else {
        lowered?;
    }
    import(rule, root, patch)?;
    let at = position(rule, found, patch.model())?;
    let elems = element_types(rule, found, root, patch);
    let mut build = Build {
        rule,
        found,
        patch,
        scratch,
        root,
        at,
        made: vec![None; rule.names.len()],
        types: elems,
        elems: SparseSecondaryMap::default(),
        nodes: Vec::new(),
    };
    for node in &rule.to.nodes {
        build.node(node)?;
    }
    let mut pairs = Vec::new();
    for (&old, &new) in rule.from.outputs.iter().zip(&rule.to.outputs) {
        let old = found.value(old).ok_or("a result of the left side is omitted")?;
        let new = build.value(new)?;
        build.allows_result(old, new)?;
        pairs.push((old, new));
    }
    let nodes = build.nodes;
    for (old, new) in pairs {
        let is_new = patch.model().value(new).producer().is_some_and(|node| nodes.contains(&node));
        if !is_new && !patch.same_type(old, new) {
            return Err("the type of the result is not proved to be that of the operand".into());
        }
        patch.replace(old, new);
    }
    Ok(nodes)
}

/// A node that takes the operands of another one grows with each edit, so that a long chain of them would take quadratic time.
fn has_few_operands(rule: &Rule, found: &RuleMatch) -> Result<(), Reason> {
    const MOST: usize = 256;
    let count = |operand: &Operand| match operand {
        Operand::Rest(var) => match found.bound.get(*var) {
            Some(Bound::Rest(values)) => values.len(),
            _ => 0,
        },
        _ => 1,
    };
    let has_many = |node: &FlatNode| node.operands.iter().map(count).sum::<usize>() > MOST;
    match rule.to.nodes.iter().any(has_many) {
        true => Err(Reason::new(format!("a node would have more than {MOST} operands"))),
        false => Ok(()),
    }
}

/// A value inside the pattern is not computed any more: nothing else may use it, unless the rule states that it is
/// shared.
fn inner_values_have_no_other_uses(rule: &Rule, found: &RuleMatch, model: &Model) -> Result<(), Reason> {
    for node in &rule.from.nodes {
        for var in node.outputs.iter().flatten() {
            let is_shared =
                rule.conditions.iter().any(|(_, condition)| *condition == Condition::Shared(*var));
            if rule.from.outputs.contains(var) || is_shared {
                continue;
            }
            let Some(value) = found.value(*var) else { continue };
            let is_inside = |user: User| match user {
                User::Node(user) => found.nodes().any(|node| node == user),
                User::Attribute(_) | User::Graph(_) => false,
            };
            if !model.value(value).uses().iter().all(|at| is_inside(at.user)) {
                return Err(Reason::new(format!("{} has other uses", label(rule, *var))));
            }
        }
    }
    Ok(())
}

fn label(rule: &Rule, var: Var) -> String {
    let name = rule.variable(var);
    if name.contains(' ') { format!("the result of {name}") } else { format!("`{name}`") }
}

/// The cost of the nodes that the edit erases must be more than that of the nodes that it makes.
fn lowers_cost(rule: &Rule, found: &RuleMatch, model: &Model, costs: &Costs) -> Result<(), Reason> {
    let replaced: Vec<ValueId> = rule.from.outputs.iter().filter_map(|&var| found.value(var)).collect();
    let mut kept: Vec<ValueId> = Vec::new();
    for operand in rule.to.nodes.iter().flat_map(|node| &node.operands) {
        if let Operand::Var(var) | Operand::Rest(var) | Operand::Default(var, _) = operand {
            kept.extend(found.value(*var));
        }
    }
    kept.extend(rule.to.outputs.iter().filter_map(|&var| found.value(var)));
    let mut dying: Vec<NodeId> = Vec::new();
    loop {
        let before = dying.len();
        for node in found.nodes() {
            if dying.contains(&node) {
                continue;
            }
            let is_unused = |value: &ValueId| {
                let is_gone = |user: User| user.node().is_some_and(|user| dying.contains(&user));
                !kept.contains(value)
                    && (replaced.contains(value)
                        || model.value(*value).uses().iter().all(|at| is_gone(at.user)))
            };
            if model.node(node).outputs().iter().flatten().all(is_unused) {
                dying.push(node);
            }
        }
        if dying.len() == before {
            break;
        }
    }
    let old: u64 = dying.iter().map(|&node| costs.of(model.str(model.node(node).op()))).sum();
    let new: u64 = rule.to.nodes.iter().map(|node| costs.of(&node.op)).sum();
    if new < old {
        Ok(())
    } else {
        Err(format!("the cost does not decrease: {old} before, {new} after").into())
    }
}

/// An edit that need not lower the cost replaces results that something uses, of a node that the rule did not make: each edit
/// then leaves one node less that the rule may replace, and the application ends.
fn replaces_others(rule: &Rule, found: &RuleMatch, root: NodeId, model: &Model) -> Result<(), Reason> {
    if model.is_derived_by(root, &rule.name) {
        return Err("the rule made the last node of the left side, and does not lower the cost".into());
    }
    let mut replaced = rule.from.outputs.iter().filter_map(|&var| found.value(var));
    match replaced.all(|value| model.value(value).uses().is_empty()) {
        false => Ok(()),
        true => Err("nothing uses the results of the left side".into()),
    }
}

/// Imports the operator sets of other domains that the right side uses and the model does not import, in the latest version that is
/// declared.
fn import(rule: &Rule, root: NodeId, patch: &mut Patch<'_, '_>) -> Result<(), Reason> {
    for node in &rule.to.nodes {
        if node.domain.is_empty() {
            continue;
        }
        let domain = symbol(patch, root, &node.domain)?;
        let graph = patch.model().node(root).graph();
        let is_standard = onnx_schema::opset_versions(domain).is_some();
        if is_standard || patch.model().versions_in(graph).get(domain).is_some() {
            continue;
        }
        let declared = patch.options().registry.declared_versions(&node.domain);
        patch.set_version(domain, declared.map_or(1, |versions| *versions.end()));
    }
    Ok(())
}

/// The symbol of a name in the model.
fn symbol(patch: &mut Patch<'_, '_>, root: NodeId, name: &str) -> Result<Symbol, Reason> {
    if let Some(symbol) = patch.model().names().get(name) {
        return Ok(symbol);
    }
    let at = Position::Before(root);
    let interned = patch.build(at, |build| Ok::<_, EditError>(build.model().intern(name)));
    Ok(interned?)
}

/// Before the first of the nodes whose results are replaced, if everything that the right side uses is defined there;
/// otherwise before the last one.
fn position(rule: &Rule, found: &RuleMatch, model: &Model) -> Result<Position, Reason> {
    let outputs = rule.from.outputs.iter().filter_map(|&var| found.value(var));
    let mut nodes: Vec<NodeId> = outputs.filter_map(|value| model.value(value).producer()).collect();
    let first = nodes.first().copied().ok_or("the left side has no result")?;
    if nodes.iter().any(|&node| model.node(node).graph() != model.node(first).graph()) {
        return Err("the results are in different graphs".into());
    }
    nodes.sort_by(|&a, &b| match () {
        () if a == b => std::cmp::Ordering::Equal,
        () if model.is_before(a, b) => std::cmp::Ordering::Less,
        () => std::cmp::Ordering::Greater,
    });
    let graph = model.node(first).graph();
    let is_defined_before = |value: ValueId, node: NodeId| match model.value(value).producer() {
        Some(producer) if model.node(producer).graph() == graph => model.is_before(producer, node),
        _ => true,
    };
    let used = |bound: &Bound| match bound {
        Bound::Value(value) => vec![*value],
        Bound::Rest(values) => values.iter().flatten().copied().collect(),
        _ => Vec::new(),
    };
    let operands = rule.from.inputs.iter().filter_map(|&(var, _)| found.bound.get(var)).flat_map(used);
    let operands: Vec<ValueId> = operands.collect();
    let best =
        nodes.iter().copied().find(|&node| operands.iter().all(|&value| is_defined_before(value, node)));
    Ok(Position::Before(best.or_else(|| nodes.last().copied()).unwrap_or(first)))
}

/// The element types of the right side of a match.
fn element_types(rule: &Rule, found: &RuleMatch, root: NodeId, patch: &Patch<'_, '_>) -> ElemTypes {
    let model = patch.model();
    let versions = model.versions_in(model.node(root).graph());
    let results = || rule.from.outputs.iter().zip(&rule.to.outputs);
    let known = |var: Var| match found.bound.get(var) {
        Some(Bound::Value(value)) => patch.elem(*value),
        Some(Bound::Tensor(tensor)) => Some(tensor.elem()),
        Some(Bound::Rest(values)) => values.iter().flatten().find_map(|&value| patch.elem(value)),
        _ => {
            let (&old, _) = results().find(|&(_, &new)| new == var)?;
            patch.elem(found.value(old)?)
        }
    };
    let schema = |node: &FlatNode| {
        let (domain, op) = (onnx_schema::domain_symbol(&node.domain)?, onnx_schema::op_symbol(&node.op)?);
        onnx_schema::lookup(domain, op, versions.get(domain)?)
    };
    let attribute = |node: &FlatNode, name: &str| {
        let own = node.attributes.iter().find(|(other, _)| other == name).map(|(_, term)| term);
        match own {
            Some(AttributeTerm::Value(value)) => Some(value.clone()),
            Some(AttributeTerm::Var(var)) => match found.bound.get(*var) {
                Some(Bound::Tensor(tensor)) if tensor.rank() == 0 => {
                    tensor.get_i64s(&NoData, 1).ok()?.first().copied().map(AttrValue::Int)
                }
                _ => None,
            },
            None => copied(rule, found, model, node)
                .into_iter()
                .find(|(other, _)| other == name)
                .map(|(_, value)| value),
        }
    };
    ElemTypes::of(rule, known, schema, attribute)
}

/// The attributes that `...` copies.
fn copied(rule: &Rule, found: &RuleMatch, model: &Model, node: &FlatNode) -> Vec<(String, AttrValue)> {
    if !node.is_open {
        return Vec::new();
    }
    let from = rule.from.nodes.iter().zip(&found.nodes);
    let source = from
        .filter(|(from, _)| from.is_open && from.op == node.op)
        .find_map(|(from, node)| node.map(|node| (from, node)));
    let Some((from, matched)) = source else { return Vec::new() };
    let all = model.node(matched).attributes().iter();
    let all = all.map(|attribute| (model.str(attribute.name()).to_owned(), attribute.value().clone()));
    all.filter(|(name, _)| !from.attributes.iter().any(|(other, _)| other == name)).collect()
}

struct Build<'a, 'p, 'm> {
    rule: &'a Rule,
    found: &'a RuleMatch,
    patch: &'a mut Patch<'p, 'm>,
    scratch: &'a mut Scratch,
    /// The last node of the left side.
    root: NodeId,
    at: Position,
    /// The values of the variables that the right side defines.
    made: Vec<Option<ValueId>>,
    types: ElemTypes,
    /// Element types of the new values.
    elems: SparseSecondaryMap<ValueId, ElemType, RandomState>,
    nodes: Vec<NodeId>,
}

impl Build<'_, '_, '_> {
    fn argument(&self, var: Var) -> Result<Argument, Reason> {
        if let Some(Some(value)) = self.made.get(var) {
            return Ok(Argument::Value(*value));
        }
        Ok(match self.found.bound.get(var) {
            Some(Bound::Value(value)) => Argument::Value(*value),
            Some(Bound::Tensor(tensor)) => Argument::Tensor(tensor.clone()),
            Some(Bound::Omitted) => Argument::Omitted,
            _ => return Err(Reason::new(format!("{} has no value", label(self.rule, var)))),
        })
    }

    fn value(&mut self, var: Var) -> Result<ValueId, Reason> {
        match self.argument(var)? {
            Argument::Value(value) => Ok(value),
            Argument::Tensor(tensor) | Argument::Literal(tensor) => self.patch.new_constant(self.at, tensor),
            Argument::Omitted => Err("an operand is omitted".into()),
        }
    }

    /// The values of a list of operands.
    fn rest(&self, var: Var) -> Result<&[Option<ValueId>], Reason> {
        match self.found.bound.get(var) {
            Some(Bound::Rest(values)) => Ok(values),
            _ => Err("a list of operands has no value".into()),
        }
    }

    fn arguments(&self, node: &FlatNode) -> Result<Vec<Argument>, Reason> {
        let mut arguments = Vec::new();
        for operand in &node.operands {
            match operand {
                Operand::Omitted => arguments.push(Argument::Omitted),
                Operand::Literal(literal) => arguments.push(Argument::Literal(of_literal(literal))),
                Operand::Var(var) => arguments.push(self.argument(*var)?),
                Operand::Default(var, literal) => arguments.push(match self.argument(*var)? {
                    Argument::Omitted => Argument::Literal(of_literal(literal)),
                    other => other,
                }),
                Operand::Rest(var) => {
                    let argument = |value: &Option<ValueId>| value.map_or(Argument::Omitted, Argument::Value);
                    arguments.extend(self.rest(*var)?.iter().map(argument));
                }
            }
        }
        Ok(arguments)
    }

    fn elem(&self, argument: &Argument) -> Option<ElemType> {
        match argument {
            Argument::Value(value) => self.elems.get(*value).copied().or_else(|| self.patch.elem(*value)),
            Argument::Tensor(tensor) => Some(tensor.elem()),
            _ => None,
        }
    }

    fn node(&mut self, node: &FlatNode) -> Result<(), Reason> {
        let (domain, op) = (self.symbol(&node.domain)?, self.symbol(&node.op)?);
        let version = self.patch.build(self.at, |build| Ok::<_, EditError>(build.version(domain)))?;
        let schema = version.and_then(|version| onnx_schema::lookup(domain, op, version));
        if schema.is_none() && !onnx_schema::versions(domain, op).is_empty() {
            let version = version.unwrap_or(0);
            return Err(Reason::new(format!("version {version} does not have `{}`", node.op)));
        }
        let mut arguments = self.arguments(node)?;
        if let Some(schema) = schema {
            self.type_literals(node, &mut arguments, schema)?;
            self.allows_operands(schema, &arguments)?;
        }
        let mut form = Form {
            operands: Vec::new(),
            attributes: copied(self.rule, self.found, self.patch.model(), node),
        };
        let model = self.patch.model();
        let constant = |value: ValueId| model.constant_tensor(value).cloned();
        for (index, argument) in arguments.iter().enumerate() {
            form.place_operand(schema, index, argument, &constant)?;
        }
        for (name, term) in &node.attributes {
            let argument = match term {
                AttributeTerm::Value(value) => {
                    let value =
                        schema.map_or_else(|| value.clone(), |schema| as_kind(value.clone(), schema, name));
                    if schema.is_none_or(|schema| has_attribute(schema, name)) {
                        form.set(name, value);
                        continue;
                    }
                    Argument::Tensor(value.to_tensor().ok_or("an attribute is not a tensor")?)
                }
                AttributeTerm::Var(var) => self.argument(*var)?,
            };
            form.place_attribute(schema, name, &argument, &constant)?;
        }
        self.make(node, domain, op, form)
    }

    fn make(&mut self, node: &FlatNode, domain: Symbol, op: Symbol, form: Form) -> Result<(), Reason> {
        let mut operands = Vec::new();
        for argument in form.operands {
            operands.push(match argument {
                Argument::Omitted => None,
                Argument::Value(value) => Some(value),
                Argument::Tensor(tensor) | Argument::Literal(tensor) => {
                    Some(self.patch.new_constant(self.at, tensor)?)
                }
            });
        }
        while operands.last() == Some(&None) {
            operands.pop();
        }
        let mut attributes = Vec::new();
        for (name, value) in form.attributes {
            attributes.push((self.symbol(&name)?, value));
        }
        let present: Vec<bool> = node.outputs.iter().map(Option::is_some).collect();
        let outputs = self.patch.build(self.at, |build| {
            let mut made = build.call_symbol(domain, op);
            for operand in operands {
                made = made.input(operand);
            }
            for (name, value) in attributes {
                made = made.attr(name, value);
            }
            made.outputs_if(&present)
        })?;
        for (var, value) in node.outputs.iter().zip(outputs) {
            let (Some(var), Some(value)) = (*var, value) else { continue };
            if let Some(slot) = self.made.get_mut(var) {
                *slot = Some(value);
            }
            if let Some(elem) = self.types.get(var) {
                self.elems.insert(value, elem);
            }
            let producer = self.patch.model().value(value).producer();
            self.nodes.extend(producer.filter(|node| !self.nodes.contains(node)));
        }
        Ok(())
    }

    fn symbol(&mut self, name: &str) -> Result<Symbol, Reason> {
        symbol(self.patch, self.root, name)
    }

    /// Literals take the element type of the operands and results of the same type variable.
    fn type_literals(
        &mut self,
        node: &FlatNode,
        arguments: &mut [Argument],
        schema: &Schema,
    ) -> Result<(), Reason> {
        let mut place = 0;
        for (index, operand) in node.operands.iter().enumerate() {
            let count = match operand {
                Operand::Rest(var) => self.rest(*var)?.len(),
                _ => 1,
            };
            let slot = arguments.get_mut(place);
            place = place.saturating_add(count);
            let (Some(slot), Operand::Literal(literal) | Operand::Default(_, literal)) = (slot, operand)
            else {
                continue;
            };
            let Argument::Literal(tensor) = slot else { continue };
            let Some(elem) = self.types.of_literal(node, schema, index, tensor) else {
                let (text, op) = (literal_types::text(literal), &node.op);
                return Err(Reason::new(format!(
                    "the element type of the literal `{text}` of `{op}` is not known, nor that of the operands and results that \
                     have the same: `Cast <to = ...> ({text})` states it, `CastLike ({text}, x)` takes that of `x`"
                )));
            };
            *slot = Argument::Tensor(self.scratch.convert_numbers(tensor, elem)?);
        }
        Ok(())
    }

    /// The reason if the version in scope does not allow the element type of an operand.
    fn allows_operands(&self, schema: &Schema, arguments: &[Argument]) -> Result<(), Reason> {
        for (index, argument) in arguments.iter().enumerate() {
            // Operands are those of the latest version; what is an attribute in this one has no type.
            let formal = match latest_input(schema, index) {
                Some(name) => schema.inputs().iter().find(|formal| formal.name == name),
                None => schema.input_for(index),
            };
            if let (Some(formal), Some(elem)) = (formal, self.elem(argument)) {
                allows(schema, formal, elem)?;
            }
        }
        Ok(())
    }

    /// The reason if the version in scope does not allow the element type of a result. It is that of the value that it
    /// replaces, and can be given by an attribute.
    fn allows_result(&self, old: ValueId, new: ValueId) -> Result<(), Reason> {
        let model = self.patch.model();
        let producer = model.value(new).producer().filter(|node| self.nodes.contains(node));
        let (Some(producer), Some(elem)) = (producer, self.patch.elem(old)) else { return Ok(()) };
        let record = model.node(producer);
        let version = model.versions_in(record.graph()).get(record.domain());
        let schema = version.and_then(|version| onnx_schema::lookup(record.domain(), record.op(), version));
        let index = record.outputs().iter().position(|&output| output == Some(new));
        let formal = schema.zip(index).and_then(|(schema, index)| Some((schema, schema.output_for(index)?)));
        formal.map_or(Ok(()), |(schema, formal)| allows(schema, formal, elem))
    }
}

/// The reason if a version of an operator does not allow an element type for an operand or a result.
fn allows(schema: &Schema, formal: &Formal, elem: ElemType) -> Result<(), Reason> {
    if schema.types_of(formal).contains_tensor(elem) {
        return Ok(());
    }
    let name = formal.name;
    Err(Reason::new(format!("{elem} is not a type of `{name}` of {schema}")))
}
