//! The places of a model whose element type is chosen together.
//!
//! A *slot* is a type variable of one node, an input or output of a graph, or a value that control flow or a call carries: everything
//! in a slot has one type. Values connect slots: where a slot that makes a value and a slot that takes it get different types,
//! there is a cast.

use std::collections::{HashMap, HashSet};

use foldhash::fast::RandomState;
use onnx_ir::{AttrValue, Callee, Def, FunctionId, GraphId, Model, NodeId, Use, User, ValueId};
use onnx_schema::{
    AttrKind, DeclaredSchema, DeclaredType, FormalType, Registry, Schema, TypeSet, attr, domain, op,
};
use onnx_types::{ElemType, Interrupt, Stopped, Type, Watch};

use super::WATCHED_VALUES;
use super::change::Change;
use super::want::{TypeAttribute, Want, WideReason};
use crate::types::{inner_elem, is_dense, mentions, with_elem};

/// Nodes that stay as they are, and why.
pub(crate) type Kept = HashMap<NodeId, WideReason, RandomState>;

/// A key of a slot among those of a node.
type Key = (bool, String);

/// All slots of a model and the values between them.
pub(crate) struct Slots<'a> {
    pub(crate) model: &'a Model,
    registry: &'a Registry,
    change: Change,
    kept: &'a Kept,
    types: &'a HashMap<ValueId, Type, RandomState>,
    wants: Vec<(Want, Option<WideReason>)>,
    parents: Vec<usize>,
    /// The values of the type that is replaced that nodes, inputs or control flow make, with their slots, in order.
    pub(crate) made: Vec<(ValueId, usize)>,
    made_in: HashMap<ValueId, usize, RandomState>,
    pub(crate) used_in: HashMap<Use, usize, RandomState>,
    /// The values that are constants: they are rounded, not cast.
    pub(crate) constants: Vec<ValueId>,
    is_constant: HashSet<ValueId, RandomState>,
    /// The attributes that state types.
    pub(crate) attributes: Vec<(NodeId, TypeAttribute, usize)>,
    /// The slots of each node.
    pub(crate) of_nodes: Vec<(NodeId, Vec<usize>)>,
}

impl<'a> Slots<'a> {
    /// The slots of the graphs of a model.
    pub(crate) fn new(
        model: &'a Model,
        registry: &'a Registry,
        change: Change,
        kept: &'a Kept,
        types: &'a HashMap<ValueId, Type, RandomState>,
    ) -> Self {
        Self {
            model,
            registry,
            change,
            kept,
            types,
            wants: Vec::new(),
            parents: Vec::new(),
            made: Vec::new(),
            made_in: HashMap::default(),
            used_in: HashMap::default(),
            constants: Vec::new(),
            is_constant: HashSet::default(),
            attributes: Vec::new(),
            of_nodes: Vec::new(),
        }
    }

    /// Finds the slots of the main graph, of everything nested in it, and of the functions that are called.
    pub(crate) fn fill(
        &mut self,
        keep_io: bool,
        functions: &[FunctionId],
        interrupt: &Interrupt,
    ) -> Result<(), Stopped> {
        let mut watch = Watch::silent(interrupt, WATCHED_VALUES);
        let main = self.model.main_graph();
        let want = if keep_io { (Want::Wide, Some(WideReason::Interface)) } else { (Want::Free, None) };
        for &input in self.model.graph(main).inputs() {
            if self.is_float(input) && !is_weight(self.model, input) {
                let slot = self.slot(want);
                self.make(input, slot);
            }
        }
        for index in 0..self.model.graph(main).outputs().len() {
            let slot = self.slot(want);
            self.take_output(main, index, slot);
        }
        let bodies = functions.iter().map(|&function| self.model.function(function).body());
        let roots: Vec<GraphId> = std::iter::once(main).chain(bodies).collect();
        for &root in &roots {
            let graphs: Vec<GraphId> = self.model.graphs_in(root).collect();
            for graph in graphs {
                self.find_constants(graph);
            }
        }
        // Formals first, so that calls find their slots.
        for &function in functions {
            let body = self.model.function(function).body();
            for &formal in self.model.graph(body).inputs() {
                if self.is_float(formal) {
                    let slot = self.slot((Want::Free, None));
                    self.make(formal, slot);
                }
            }
        }
        for root in roots {
            let nodes: Vec<NodeId> = self.model.nodes_in(root).collect();
            for node in nodes {
                watch.work(1)?;
                self.node(node);
            }
        }
        Ok(())
    }

    fn find_constants(&mut self, graph: GraphId) {
        for value in self.model.initializers(graph) {
            if !is_weight(self.model, value) || !self.is_float(value) {
                continue;
            }
            if self.model.value(value).initializer().is_some_and(|constant| constant.dense().is_some()) {
                self.constants.push(value);
                self.is_constant.insert(value);
            } else {
                // A sparse tensor is cast.
                let slot = self.slot((Want::Wide, Some(WideReason::Signature)));
                self.make(value, slot);
            }
        }
        for node in self.model.nodes(graph) {
            let record = self.model.node(node);
            let Some(value) = record.output(0).filter(|_| record.is(op::CONSTANT)) else { continue };
            let schema = self.model.callee(node, self.registry).standard();
            let takes = schema.and_then(|schema| Some(schema.types_of(schema.output_for(0)?)));
            let takes = takes.is_some_and(|types| types.contains_tensor(self.change.to()));
            if takes && self.is_float(value) && record.constant_tensor().is_some() {
                self.constants.push(value);
                self.is_constant.insert(value);
            }
        }
    }

    /// The types between which is chosen.
    pub(crate) const fn change(&self) -> Change {
        self.change
    }

    /// The representative of a slot.
    pub(crate) fn root(&self, slot: usize) -> usize {
        let mut at = slot;
        while self.parents[at] != at {
            at = self.parents[at];
        }
        at
    }

    /// Number of slots, joined ones included.
    pub(crate) fn len(&self) -> usize {
        self.parents.len()
    }

    /// What is known about a slot.
    pub(crate) fn want(&self, slot: usize) -> (Want, Option<WideReason>) {
        self.wants[self.root(slot)]
    }

    fn slot(&mut self, want: (Want, Option<WideReason>)) -> usize {
        self.parents.push(self.parents.len());
        self.wants.push(want);
        self.parents.len() - 1
    }

    /// Makes two slots one.
    pub(crate) fn join(&mut self, a: usize, b: usize) {
        let (a, b) = (self.root(a), self.root(b));
        if a != b {
            self.parents[b] = a;
            let other = self.wants[b];
            self.demand(a, other);
        }
    }

    /// Keeps the type of a slot.
    pub(crate) fn widen(&mut self, slot: usize, reason: WideReason) {
        self.demand(slot, (Want::Wide, Some(reason)));
    }

    fn demand(&mut self, slot: usize, want: (Want, Option<WideReason>)) {
        let root = self.root(slot);
        if want.0 > self.wants[root].0 {
            self.wants[root] = want;
        }
    }

    /// Returns `true` if the elements of the value have the type that is replaced and could have another.
    fn is_float(&self, value: ValueId) -> bool {
        self.elem(value) == Some(self.change.from())
    }

    /// The type of the elements of a value.
    pub(crate) fn elem(&self, value: ValueId) -> Option<ElemType> {
        self.types.get(&value).and_then(inner_elem)
    }

    /// Returns `true` if the value may hold the type that is replaced in a form that cannot be changed.
    fn is_fixed_float(&self, value: ValueId) -> bool {
        let ty = self.types.get(&value);
        ty.is_none_or(|ty| inner_elem(ty) != Some(self.change.from()) && mentions(ty, self.change.from()))
    }

    /// The slot that makes a value.
    pub(crate) fn maker(&self, value: ValueId) -> Option<usize> {
        self.made_in.get(&value).copied()
    }

    fn make(&mut self, value: ValueId, slot: usize) {
        if self.is_constant.contains(&value) {
            return;
        }
        match self.made_in.get(&value).copied() {
            Some(other) => self.join(other, slot),
            None => {
                self.made_in.insert(value, slot);
                self.made.push((value, slot));
            }
        }
    }

    fn take_output(&mut self, graph: GraphId, index: usize, slot: usize) {
        let output = self.model.graph(graph).outputs().get(index).map(onnx_ir::GraphOutput::value);
        if output.is_some_and(|value| self.is_float(value)) {
            let at = Use { user: User::Graph(graph), index: index as u32 };
            match self.used_in.get(&at).copied() {
                Some(other) => self.join(other, slot),
                None => _ = self.used_in.insert(at, slot),
            }
        }
    }

    fn take(&mut self, node: NodeId, index: usize, slot: usize) {
        self.used_in.insert(Use { user: User::Node(node), index: index as u32 }, slot);
    }

    /// What a slot of values of a type may be, if these types are allowed. The first versions of `Cast` take no strings.
    fn allowed(&self, types: Option<TypeSet>, ty: &Type, is_cast: bool) -> (Want, Option<WideReason>) {
        // No declaration restricts the type.
        let Some(types) = types else { return (Want::Wide, Some(WideReason::Unknown)) };
        if !types.contains_type(&with_elem(ty, self.change.to())) {
            return (Want::Wide, Some(WideReason::Signature));
        }
        // What takes strings as well computes nothing.
        let moves = is_cast || types.contains_type(&with_elem(ty, ElemType::String));
        (if moves { Want::Free } else { Want::Narrow }, None)
    }

    fn node(&mut self, node: NodeId) {
        let record = self.model.node(node);
        let mut floats = record.inputs().flatten().chain(record.outputs().iter().copied().flatten());
        if !floats.any(|value| self.is_float(value)) && record.nested_graphs().next().is_none() {
            return;
        }
        let is_constant = |value: &ValueId| self.is_constant.contains(value);
        if record.is(op::CONSTANT) && record.outputs().iter().flatten().all(is_constant) {
            return;
        }
        let mut own: Vec<usize> = Vec::new();
        match self.model.callee(node, self.registry) {
            Callee::Function(function) => self.call(node, function, &mut own),
            Callee::Standard(schema) if record.nested_graphs().next().is_some() => {
                self.control_flow(node, schema, &mut own);
            }
            Callee::Standard(schema) => self.standard(node, schema, &mut own),
            Callee::Custom(schema) => self.declared(node, schema, &mut own),
            _ => self.unknown(node, &mut own),
        }
        if let Some(&reason) = self.kept.get(&node) {
            own.iter().for_each(|&slot| self.widen(slot, reason));
        }
        self.of_nodes.push((node, own));
    }

    /// The slot of a key of a node.
    fn keyed(&mut self, slots: &mut Vec<(Key, usize)>, key: Key, want: (Want, Option<WideReason>)) -> usize {
        if let Some(&(_, slot)) = slots.iter().find(|(other, _)| *other == key) {
            self.demand(slot, want);
            return slot;
        }
        let slot = self.slot(want);
        slots.push((key, slot));
        slot
    }

    fn standard(&mut self, node: NodeId, schema: &'static Schema, own: &mut Vec<usize>) {
        let formal = |index: usize, is_input: bool| {
            let formal = if is_input { schema.input_for(index) } else { schema.output_for(index) }?;
            let key = match formal.ty {
                FormalType::Variable(variable) if formal.is_variadic() && !formal.is_homogeneous => {
                    (true, format!("{variable} {is_input} {index}"))
                }
                FormalType::Variable(variable) => (true, variable.to_string()),
                FormalType::Concrete(_) => (false, format!("{is_input} {index}")),
            };
            Some((key, Some(schema.types_of(formal))))
        };
        let slots = self.operands(node, &formal);
        own.extend(slots.iter().map(|&(_, slot)| slot));
        if !self.join_containers(node, &slots) {
            self.determine(node, schema, &slots, &formal);
        }
        if !self.has_body(node, schema) {
            own.iter().for_each(|&slot| self.widen(slot, WideReason::Signature));
        }
    }

    /// Whether what an operator is made of takes the new type, too: runtimes without a kernel use its body.
    fn has_body(&self, node: NodeId, schema: &Schema) -> bool {
        let part = match schema.op() {
            op::CLIP => op::WHERE,
            op::SOFTMAX_CROSS_ENTROPY_LOSS => op::NEGATIVE_LOG_LIKELIHOOD_LOSS,
            _ => return true,
        };
        let version = self.model.versions_in(self.model.node(node).graph()).get(domain::ONNX).unwrap_or(1);
        let part = onnx_schema::lookup(domain::ONNX, part, version);
        let types = part.and_then(|part| Some(part.types_of(part.output_for(0)?)));
        types.is_none_or(|types| types.contains_tensor(self.change.to()))
    }

    /// Joins the slots of a node that puts tensors into sequences or optionals, or gets them out: their types have the same elements,
    /// which the variables do not say. Returns `true` if an operand determines them.
    fn join_containers(&mut self, node: NodeId, slots: &[(Key, usize)]) -> bool {
        let record = self.model.node(node);
        let is_container =
            |value: ValueId| self.is_float(value) && self.types.get(&value).is_some_and(|ty| !is_dense(ty));
        let outputs = record.outputs().iter().copied().flatten();
        if !record.inputs().flatten().chain(outputs).any(is_container) {
            return false;
        }
        if let Some((&(_, first), others)) = slots.split_first() {
            others.iter().for_each(|&(_, other)| self.join(first, other));
        }
        record.inputs().flatten().any(|value| self.is_float(value))
    }

    fn declared(&mut self, node: NodeId, schema: &DeclaredSchema, own: &mut Vec<usize>) {
        let formal = |index: usize, is_input: bool| {
            let formal = if is_input { schema.input_for(index) } else { schema.output_for(index) }?;
            let key = match &formal.ty {
                DeclaredType::Variable(name) if formal.is_homogeneous => (true, name.clone()),
                _ => (false, format!("{is_input} {index}")),
            };
            Some((key, schema.types_of(formal)))
        };
        let slots = self.operands(node, &formal);
        own.extend(slots.iter().map(|&(_, slot)| slot));
        // An output whose variable no operand binds has a type that only the operator knows.
        let record = self.model.node(node);
        let bound: HashSet<Key> = (0..record.input_count())
            .filter(|&index| record.input(index).is_some())
            .filter_map(|index| formal(index, true).map(|(key, _)| key))
            .collect();
        for (key, slot) in slots {
            if !bound.contains(&key) {
                self.widen(slot, WideReason::Unknown);
            }
        }
    }

    /// Gives operands and results of a node their slots.
    fn operands(
        &mut self,
        node: NodeId,
        formal: &dyn Fn(usize, bool) -> Option<(Key, Option<TypeSet>)>,
    ) -> Vec<(Key, usize)> {
        let mut slots: Vec<(Key, usize)> = Vec::new();
        let record = self.model.node(node);
        let inputs = record.inputs().enumerate().map(|(index, value)| (index, true, value));
        let outputs = record.outputs().iter().enumerate().map(|(index, &value)| (index, false, value));
        for (index, is_input, value) in inputs.chain(outputs) {
            let Some(value) = value else { continue };
            let found = formal(index, is_input);
            if !self.is_float(value) {
                if let Some((key, _)) = found.filter(|_| self.is_fixed_float(value)) {
                    self.keyed(&mut slots, key, (Want::Wide, Some(WideReason::Unknown)));
                }
                continue;
            }
            let Some(ty) = self.types.get(&value) else { continue };
            let slot = match found {
                Some((key, types)) => {
                    let want = self.allowed(types, ty, record.is(op::CAST));
                    self.keyed(&mut slots, key, want)
                }
                None => {
                    let key = (false, format!("{is_input} {index}"));
                    self.keyed(&mut slots, key, (Want::Wide, Some(WideReason::Unknown)))
                }
            };
            match is_input {
                true => self.take(node, index, slot),
                false => self.make(value, slot),
            }
        }
        slots
    }

    /// Finds what determines the types of outputs that no operand has.
    fn determine(
        &mut self,
        node: NodeId,
        schema: &'static Schema,
        slots: &[(Key, usize)],
        formal: &dyn Fn(usize, bool) -> Option<(Key, Option<TypeSet>)>,
    ) {
        let record = self.model.node(node);
        let keys_of = |is_input: bool, present: Vec<usize>| -> HashSet<Key> {
            present.into_iter().filter_map(|index| formal(index, is_input).map(|(key, _)| key)).collect()
        };
        let inputs: Vec<usize> =
            (0..record.input_count()).filter(|&index| record.input(index).is_some()).collect();
        let bound = keys_of(true, inputs);
        for (index, value) in record.outputs().iter().enumerate() {
            let Some(value) = value.filter(|&value| self.is_float(value)) else { continue };
            let Some((key, _)) = formal(index, false) else { continue };
            if bound.contains(&key) || !key.0 {
                continue;
            }
            let Some(slot) = self.maker(value) else { continue };
            debug_assert!(slots.iter().any(|(other, _)| *other == key), "the output has a slot");
            match self.source_of_type(node, schema) {
                Source::Attribute(attribute) => self.attributes.push((node, attribute, slot)),
                Source::Input(input) => {
                    let at = Use { user: User::Node(node), index: input as u32 };
                    match self.used_in.get(&at).copied() {
                        Some(other) => self.join(other, slot),
                        None => self.widen(slot, WideReason::Signature),
                    }
                }
                Source::Nothing => self.widen(slot, WideReason::Signature),
            }
        }
    }

    /// What states the type of the results of an operator, if no operand does.
    fn source_of_type(&self, node: NodeId, schema: &'static Schema) -> Source {
        let record = self.model.node(node);
        if schema.op() == op::CONSTANT_OF_SHAPE {
            return match record.attribute(attr::VALUE).map(onnx_ir::Attribute::value) {
                None | Some(AttrValue::Tensor(_)) => Source::Attribute(TypeAttribute::Tensor(attr::VALUE)),
                Some(_) => Source::Nothing,
            };
        }
        if schema.op() == op::OPTIONAL_GET_ELEMENT {
            // The operand may be a tensor, too.
            return Source::Input(0);
        }
        if schema.op() == op::OPTIONAL {
            return Source::Attribute(TypeAttribute::Type(attr::TYPE));
        }
        let names = [attr::TO, attr::DTYPE, attr::OUTPUT_DTYPE, attr::OUTPUT_DATATYPE];
        let Some(declared) = names.iter().find_map(|&name| schema.attribute(name)) else {
            return Source::Nothing;
        };
        let given = record.attribute(declared.name);
        if given.is_some_and(|given| matches!(given.value(), AttrValue::Ref(_))) {
            return Source::Nothing;
        }
        if declared.kind == AttrKind::String {
            return Source::Attribute(TypeAttribute::Name(declared.name));
        }
        let is_given = given.is_some_and(|given| given.as_int() != Some(0));
        // Without the attribute, the result has the type of the operand, or of the scale.
        let input = usize::from(schema.op() == op::DEQUANTIZE_LINEAR);
        let is_float = |index: usize| record.input(index).is_some_and(|value| self.is_float(value));
        let has_default = declared.default.is_some() && schema.op() != op::DEQUANTIZE_LINEAR;
        if !is_given && !has_default && is_float(input) {
            return Source::Input(input);
        }
        Source::Attribute(TypeAttribute::Code(declared.name))
    }

    /// All operands and results stay as they are.
    fn unknown(&mut self, node: NodeId, own: &mut Vec<usize>) {
        let slot = self.slot((Want::Wide, Some(WideReason::Unknown)));
        own.push(slot);
        let record = self.model.node(node);
        for (index, value) in record.inputs().enumerate() {
            if value.is_some_and(|value| self.is_float(value)) {
                self.take(node, index, slot);
            }
        }
        for value in record.outputs().iter().copied().flatten() {
            if self.is_float(value) {
                self.make(value, slot);
            }
        }
        for graph in record.nested_graphs() {
            for &input in self.model.graph(graph).inputs() {
                if self.is_float(input) {
                    self.make(input, slot);
                }
            }
            for index in 0..self.model.graph(graph).outputs().len() {
                self.take_output(graph, index, slot);
            }
        }
    }

    fn call(&mut self, node: NodeId, function: FunctionId, own: &mut Vec<usize>) {
        let body = self.model.function(function).body();
        let record = self.model.node(node);
        for (index, value) in record.inputs().enumerate() {
            let Some(value) = value.filter(|&value| self.is_float(value)) else { continue };
            let formal = self.model.graph(body).inputs().get(index).copied();
            let slot = match formal.and_then(|formal| self.maker(formal)) {
                Some(slot) => slot,
                None => self.slot((Want::Free, None)),
            };
            if self.is_fixed_float(value) {
                self.widen(slot, WideReason::Unknown);
            }
            own.push(slot);
            self.take(node, index, slot);
        }
        for (index, value) in record.outputs().iter().enumerate() {
            let Some(value) = value.filter(|&value| self.is_float(value)) else { continue };
            let slot = self.slot((Want::Free, None));
            own.push(slot);
            self.make(value, slot);
            self.take_output(body, index, slot);
        }
    }

    /// The pairs of an operand or result of a node of control flow and a value of its graphs.
    fn control_flow(&mut self, node: NodeId, schema: &'static Schema, own: &mut Vec<usize>) {
        let record = self.model.node(node);
        let links = super::control_flow::links(self.model, record, schema);
        let Some(links) = links else { return self.unknown(node, own) };
        for link in links {
            let values = link.values(self.model, record);
            let Some(&first) = values.iter().find(|&&value| self.is_float(value)) else { continue };
            let Some(ty) = self.types.get(&first) else { continue };
            let mut want = (Want::Free, None);
            for types in link.types(schema) {
                let (allowed, reason) = self.allowed(Some(types), ty, false);
                if allowed == Want::Wide && is_dense(ty) {
                    want = (allowed, reason);
                }
            }
            let slot = self.slot(want);
            own.push(slot);
            if values.iter().any(|&value| self.is_fixed_float(value)) {
                self.widen(slot, WideReason::Unknown);
            }
            if let Some(index) =
                link.input.filter(|&index| record.input(index).is_some_and(|value| self.is_float(value)))
            {
                self.take(node, index, slot);
            }
            if let Some(value) = link.output.and_then(|index| record.output(index))
                && self.is_float(value)
            {
                self.make(value, slot);
            }
            for &(graph, index) in &link.formals {
                if let Some(&formal) = self.model.graph(graph).inputs().get(index)
                    && self.is_float(formal)
                {
                    self.make(formal, slot);
                }
            }
            for &(graph, index) in &link.results {
                self.take_output(graph, index, slot);
            }
        }
    }
}

/// Returns `true` if a value is an initializer that no caller replaces. Before version 4 of the format, all initializers had to be
/// inputs.
pub(crate) fn is_weight(model: &Model, value: ValueId) -> bool {
    let record = model.value(value);
    let is_input = matches!(record.def(), Def::Input { .. });
    record.initializer().is_some() && (!is_input || model.info().ir_version < 4)
}

/// Where the type of a result is stated.
enum Source {
    Attribute(TypeAttribute),
    Input(usize),
    Nothing,
}
