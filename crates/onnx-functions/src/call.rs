//! A call of a function, bound to the body: the attribute, operand or result that replaces each one of the function.

use std::collections::HashSet;

use onnx_diag::Quoted;
use onnx_ir::{
    AttrKind, AttrValue, Attribute, Callee, CopyMap, Def, EditError, FunctionId, GraphId, Model, NodeId,
    OpsetScope, Position, User, ValueId, naming_attributes,
};
use onnx_schema::{Registry, op};
use onnx_types::Symbol;

use crate::reason::FunctionReason;

/// A call of a function that can be inlined.
///
/// [`inline`](crate::inline) performs all steps. This type is for editors that apply an edit in separate steps: bind
/// the call, compare the [versions](crate::missing_imports), copy the body, and replace the results.
#[derive(Debug)]
pub struct FunctionCall {
    /// The function.
    pub function: FunctionId,
    /// The body.
    pub body: GraphId,
    /// The operands and attributes of the call that replace the inputs and attributes of the function.
    pub map: CopyMap,
    /// The used outputs of the call, each with the value of the body that replaces it.
    pub results: Vec<(ValueId, ValueId)>,
    omits_inputs: bool,
}

impl FunctionCall {
    /// Binds a call to the function that it calls. References to attributes of the function become the attributes of the call,
    /// or the defaults of the function; omitted inputs are omitted.
    ///
    /// # Errors
    ///
    /// Returns the reason if
    /// - the node calls no function, or has more inputs or outputs than the function;
    /// - an attribute that an operator of the body needs has no value, or one of another kind;
    /// - it omits an input that a standard operator of the body needs;
    /// - the body uses a value that nothing defines, or an attribute of the call names values of the body;
    /// - the call gives an attribute that has a default by a reference to an attribute, without default, of the function
    ///   around the call: which of the two values applies is known only where that function is called.
    pub fn bind(model: &Model, node: NodeId, registry: &Registry) -> Result<Self, FunctionReason> {
        model.get_node(node).ok_or("the node is gone")?;
        let function = model.callee(node, registry).function().ok_or("the node calls no function")?;
        let needs = Needs::of(model, function, registry)?;
        Self::bind_to(model, node, function, &needs)
    }

    /// Like [`bind`](Self::bind), for the function or a copy of it.
    pub(crate) fn bind_to(
        model: &Model,
        node: NodeId,
        function: FunctionId,
        needs: &Needs,
    ) -> Result<Self, FunctionReason> {
        let (record, callee) = (model.node(node), model.function(function));
        let body = callee.body();
        let (formals, results) = (model.graph(body).inputs(), model.graph(body).outputs());
        if record.input_count() > formals.len() || record.outputs().len() > results.len() {
            return Err("the call has more inputs or outputs than the function".into());
        }
        refuse_hidden_default(model, node, function)?;
        let mut arguments: Vec<Attribute> = record.attributes().to_vec();
        arguments.extend(callee.defaults.iter().cloned());
        let mut map = CopyMap::new();
        map.set_attributes(arguments);
        needs.check(model, &map)?;
        for (index, &formal) in formals.iter().enumerate() {
            map.map(formal, record.input(index));
        }
        let pairs = record.outputs().iter().zip(results);
        let results = pairs.filter_map(|(&output, result)| Some((output?, result.value()))).collect();
        let omitted = || (0..formals.len()).filter(|&index| record.input(index).is_none());
        let omits_inputs = omitted().next().is_some();
        for formal in omitted().filter_map(|index| formals.get(index)) {
            refuse_needed(model, *formal)?;
        }
        Ok(Self { function, body, map, results, omits_inputs })
    }

    /// Returns `true` if [`move_body`](Self::move_body) applies: the body needs no change except that operands replace
    /// inputs.
    pub(crate) fn is_movable(&self, model: &Model, needs: &Needs) -> bool {
        let body = model.graph(self.body);
        !self.omits_inputs
            && !needs.has_parts
            && body.initializer_slots() == 0
            && body.quantization.is_empty()
    }

    /// Moves the nodes of the body to an insertion point, and returns them. The function has no nodes and outputs any
    /// more.
    pub(crate) fn move_body(&self, model: &mut Model, at: Position) -> Result<Vec<NodeId>, FunctionReason> {
        for index in (0..model.graph(self.body).outputs().len()).rev() {
            model.remove_graph_output(self.body, index);
        }
        for index in 0..model.graph(self.body).inputs().len() {
            if let Some(&formal) = model.graph(self.body).inputs().get(index) {
                model.replace_all_uses(formal, self.map.get(formal));
            }
        }
        let nodes: Vec<NodeId> = model.nodes(self.body).collect();
        model.splice(self.body, at)?;
        for &node in &nodes {
            for index in 0..model.node(node).outputs().len() {
                if let Some(value) = model.node(node).output(index) {
                    // A name that the body has twice is not needed as it was read.
                    let name = model.value(value).name();
                    model.set_value_name(value, name);
                }
            }
        }
        Ok(nodes)
    }

    /// Copies the body to an insertion point, and returns the new nodes of the outermost level.
    ///
    /// # Errors
    ///
    /// Returns the reason if the call omits an input that is an output of a graph of the body. The model is unchanged then.
    pub fn copy_body(&mut self, model: &mut Model, at: Position) -> Result<Vec<NodeId>, FunctionReason> {
        let nodes =
            model.copy_nodes(self.body, at, &mut self.map).map_err(|error| not_copied(model, error))?;
        if self.omits_inputs {
            for &(_, copy) in self.map.copied_nodes() {
                trim(model, copy);
            }
        }
        Ok(nodes)
    }
}

/// Removes omitted inputs at the end of a node, which mean the same as inputs that are not there. Variadic inputs count.
fn trim(model: &mut Model, node: NodeId) {
    let callee = model.callee(node, Registry::STANDARD).standard();
    while let Some(last) = model.node(node).input_count().checked_sub(1)
        && model.node(node).input(last).is_none()
        && callee.is_some_and(|schema| schema.input_for(last).is_some_and(|formal| !formal.is_variadic()))
    {
        model.remove_input(node, last);
    }
}

/// The reason for an error of copying a body.
fn not_copied(model: &Model, error: EditError) -> FunctionReason {
    let EditError::NotMapped { value } = error else { return error.into() };
    let name = model.get_value(value).map(|value| model.str(value.name())).unwrap_or_default();
    FunctionReason::new(format!(
        "the call omits {}, which is an output of a graph of the function",
        Quoted(name)
    ))
}

/// The requirements of a body on each call.
#[derive(Clone, Debug, Default)]
pub(crate) struct Needs {
    /// Attributes without which an operator of the body is not valid, each with the operator.
    attributes: Vec<(Symbol, Symbol)>,
    /// Whether a node of the body has a nested graph or refers to an attribute, so that a call differs from the body in more than
    /// operands.
    has_parts: bool,
    /// The kinds of attributes that the body refers to, each with an operator that needs it.
    kinds: Vec<(Symbol, AttrKind, Symbol)>,
}

impl Needs {
    /// Examines a body; the reason if no call of the function can be inlined.
    pub(crate) fn of(
        model: &Model,
        function: FunctionId,
        registry: &Registry,
    ) -> Result<Self, FunctionReason> {
        let body = model.function(function).body();
        let mut needs = Self::default();
        for graph in model.graphs_in(body) {
            for output in model.graph(graph).outputs() {
                refuse_undefined(model, output.value())?;
            }
            for node in model.nodes(graph) {
                for value in model.node(node).used_values() {
                    refuse_undefined(model, value)?;
                }
                refuse_passed_names(model, node)?;
                let has_part = |attribute: &Attribute| {
                    !attribute.value().graphs().is_empty() || matches!(attribute.value(), AttrValue::Ref(_))
                };
                needs.has_parts |= model.node(node).attributes().iter().any(has_part);
                needs.add(model, node, registry);
            }
        }
        Ok(needs)
    }

    fn add(&mut self, model: &Model, node: NodeId, registry: &Registry) {
        let record = model.node(node);
        let is_reference = |attribute: &Attribute| matches!(attribute.value(), AttrValue::Ref(_));
        if !record.attributes().iter().any(is_reference) {
            return;
        }
        let callee = model.callee(node, registry);
        for attribute in record.attributes() {
            let AttrValue::Ref(target) = *attribute.value() else { continue };
            let is_required = match callee {
                Callee::Standard(schema) => {
                    schema.attribute(attribute.name()).is_some_and(|formal| formal.is_required)
                }
                Callee::Custom(schema) => {
                    let name = model.str(attribute.name());
                    schema.attribute(name).is_some_and(|formal| formal.is_required)
                }
                _ => false,
            };
            let kind = match (attribute.kind(), callee) {
                (AttrKind::Undefined, Callee::Standard(schema)) => {
                    schema.attribute(attribute.name()).map_or(AttrKind::Undefined, |formal| formal.kind)
                }
                (kind, _) => kind,
            };
            if kind != AttrKind::Undefined {
                self.kinds.push((target, kind, record.op()));
            }
            if is_required || record.is(op::CONSTANT) {
                self.attributes.push((target, record.op()));
            }
        }
    }

    fn check(&self, model: &Model, map: &CopyMap) -> Result<(), FunctionReason> {
        for &(name, kind, op) in &self.kinds {
            let given = map.attribute(name).map_or(AttrKind::Undefined, Attribute::kind);
            if given != kind && given != AttrKind::Undefined {
                let [name, op] = [name, op].map(|name| Quoted(model.str(name)).to_string());
                return Err(FunctionReason::new(format!(
                    "the call gives attribute {name} as {given}, and {op} in the body needs {kind}"
                )));
            }
        }
        match self.attributes.iter().find(|&&(name, _)| map.attribute(name).is_none()) {
            None => Ok(()),
            Some(&(name, op)) => {
                let [name, op] = [name, op].map(|name| Quoted(model.str(name)).to_string());
                Err(FunctionReason::new(format!(
                    "the call gives no attribute {name}, without which {op} is not valid"
                )))
            }
        }
    }
}

/// The reason if nothing defines a value: after inlining, its name could refer to a value of the graph around the call.
fn refuse_undefined(model: &Model, value: ValueId) -> Result<(), FunctionReason> {
    let record = model.value(value);
    if !matches!(record.def(), Def::Unresolved(_)) {
        return Ok(());
    }
    Err(FunctionReason::new(format!(
        "the function uses {}, which nothing defines",
        Quoted(model.str(record.name()))
    )))
}

/// The reason if a name of a value is an attribute of the call: it would be that of a value of the body.
fn refuse_passed_names(model: &Model, node: NodeId) -> Result<(), FunctionReason> {
    let record = model.node(node);
    let names = naming_attributes(record.domain(), record.op());
    let is_passed = |attribute: &&Attribute| {
        names.contains(&attribute.name()) && matches!(attribute.value(), AttrValue::Ref(_))
    };
    let Some(attribute) = record.attributes().iter().find(is_passed) else { return Ok(()) };
    let [name, op] = [attribute.name(), record.op()].map(|name| Quoted(model.str(name)).to_string());
    Err(FunctionReason::new(format!(
        "{name} of {op} in the body names values, and is an attribute of the call"
    )))
}

/// The reason if a standard operator of the body needs an input that a call omits. What functions and operators of other domains
/// need is not known here.
fn refuse_needed(model: &Model, formal: ValueId) -> Result<(), FunctionReason> {
    for used in model.value(formal).uses() {
        let node = match used.user {
            User::Node(node) => node,
            User::Attribute(node) => {
                let [name, op] = [model.value(formal).name(), model.node(node).op()]
                    .map(|name| Quoted(model.str(name)).to_string());
                return Err(FunctionReason::new(format!("the call omits {name}, which {op} names")));
            }
            User::Graph(_) => continue,
        };
        let Some(schema) = model.callee(node, Registry::STANDARD).standard() else { continue };
        let of_schema = schema.input_for(used.index as usize);
        if of_schema.is_some_and(|input| !input.is_optional() && !input.is_variadic()) {
            let [name, op] = [model.value(formal).name(), model.node(node).op()]
                .map(|name| Quoted(model.str(name)).to_string());
            return Err(FunctionReason::new(format!(
                "the call omits {name}, without which {op} is not valid"
            )));
        }
    }
    Ok(())
}

/// The reason if a call refers to an attribute that can be omitted, of the function around it, for one that has a default in
/// the called function: a reference in the body cannot stand for both.
fn refuse_hidden_default(model: &Model, call: NodeId, function: FunctionId) -> Result<(), FunctionReason> {
    let record = model.node(call);
    if !record.attributes().iter().any(|attribute| matches!(attribute.value(), AttrValue::Ref(_))) {
        return Ok(());
    }
    let defaults = |function: FunctionId| -> HashSet<Symbol> {
        model.function(function).defaults.iter().map(Attribute::name).collect()
    };
    let of_callee = defaults(function);
    let around = match model.scope(record.graph()) {
        OpsetScope::Function(function) => defaults(function),
        OpsetScope::Model => HashSet::new(),
    };
    for attribute in record.attributes() {
        let AttrValue::Ref(target) = *attribute.value() else { continue };
        if of_callee.contains(&attribute.name()) && !around.contains(&target) {
            let [attribute, target] =
                [attribute.name(), target].map(|name| Quoted(model.str(name)).to_string());
            let text = "the function has a default, which counts where";
            return Err(FunctionReason::new(format!(
                "for its attribute {attribute} {text} the function around the call is called without {target}"
            )));
        }
    }
    Ok(())
}
