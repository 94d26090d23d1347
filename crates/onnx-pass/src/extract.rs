//! The equivalence of a patch: the computation between tapped and replaced values, before and after, as a model.

use onnx_ir::{Constant, GraphId, NewNode, NodeId, OpsetImport, Position, ValueId};
use onnx_schema::{domain, op};
use onnx_shape_infer::{Elem, Relation};
use onnx_types::{Dim, Symbol, Type};

use crate::assumption::Assumption;
use crate::collect::{Collected, Recorded, Region};
use crate::equivalence::{DOMAIN, Equivalence, Labels, SIDES};
use crate::keys::{KeyMap, KeySet};
use crate::query::label;
use crate::sample::SMALL;
use crate::transfer::{Transfer, Unsupported, in_memory};

/// The claim about the nodes of a region as a model.
pub(crate) fn extract(region: &Region<'_>, collected: &Collected) -> Result<Equivalence, Unsupported> {
    let transfer = Transfer::new(region.model, region.exprs, region.registry);
    Assembly { region, collected, transfer }.equivalence()
}

struct Assembly<'a> {
    region: &'a Region<'a>,
    collected: &'a Collected,
    transfer: Transfer<'a>,
}

impl Assembly<'_> {
    fn equivalence(mut self) -> Result<Equivalence, Unsupported> {
        let main = self.transfer.to.main_graph();
        let name = self.transfer.to.intern("equivalence");
        self.transfer.to.set_graph_name(main, name);
        let mut operands = Vec::new();
        for (index, &input) in self.collected.inputs.iter().enumerate() {
            operands.push(self.input(index, input)?);
        }
        let assume = self.assumptions();
        let mut calls = Vec::new();
        for (is_after, nodes) in self.collected.sides.iter().enumerate() {
            calls.push(self.side(is_after == 1, nodes, &operands)?);
        }
        self.transfer.functions()?;
        let [(before, first), (after, second)] = calls.as_slice() else {
            return Err("a side is missing".to_owned());
        };
        let (calls, functions) = ([*before, *after], [*first, *second]);
        let mut model = self.transfer.to;
        Equivalence::write_metadata(&mut model, self.region.class, &assume);
        let original = self.region.model;
        let name = |value: ValueId| original.str(original.value(value).name()).to_owned();
        let labels = Labels {
            inputs: self.collected.inputs.iter().map(|&value| name(value)).collect(),
            outputs: self.region.pairs.iter().map(|&(old, _)| name(old)).collect(),
        };
        Ok(Equivalence { model, calls, functions, assume, class: self.region.class, labels })
    }

    /// Makes an input of the main graph, or an initializer.
    fn input(&mut self, index: usize, value: ValueId) -> Result<ValueId, Unsupported> {
        let region = self.region;
        let main = self.transfer.to.main_graph();
        // One of equal constants is enough to fix the elements of all.
        if let Some(tensor) = self.collected.values_of(index, value).find_map(|value| region.constant(value))
        {
            let mut tensor = in_memory(tensor, region.data).map_err(|error| error.to_string())?;
            tensor.set_name("");
            let name = self.transfer.to.intern(&format!("c{index}"));
            return Ok(self.transfer.to.add_initializer(main, name, Constant::Dense(tensor)));
        }
        let known = (region.known)(value);
        let ty = match region.model.constant_tensor(value) {
            Some(tensor) => Some(Type::tensor(tensor.elem(), Some(onnx_types::Shape::known(tensor.dims())))),
            None => known.ty.or_else(|| region.model.ty(value).cloned()),
        };
        let ty = ty.ok_or_else(|| format!("the type of {} is not known", label(region.model, value)))?;
        let ty = self.transfer.input_type(&ty, !known.is_assumed);
        Ok(self.transfer.to.add_graph_input(main, &format!("x{index}"), ty))
    }

    /// Makes the function of a side, and the node that calls it.
    fn side(
        &mut self,
        is_after: bool,
        nodes: &[NodeId],
        operands: &[ValueId],
    ) -> Result<(NodeId, onnx_ir::FunctionId), Unsupported> {
        let region = self.region;
        let name = if is_after { SIDES[1] } else { SIDES[0] };
        let [domain, name, empty] = [DOMAIN, name, ""].map(|text| self.transfer.to.intern(text));
        let function = self.transfer.to.add_function(domain, name, empty);
        let body = self.transfer.to.function(function).body();
        self.transfer.begin();
        let mut inputs: KeyMap<ValueId, ValueId> = KeyMap::default();
        for (index, &input) in self.collected.inputs.iter().enumerate() {
            let inner = self.transfer.to.add_graph_input(body, &format!("x{index}"), None);
            for value in self.collected.values_of(index, input) {
                self.transfer.map(value, inner);
                inputs.insert(value, inner);
            }
        }
        let imports = self.imports(nodes, is_after);
        self.transfer.to.function_mut(function).opset_imports = imports;
        for &node in nodes {
            if is_after {
                self.redirect(node)?;
            }
            self.transfer.node(node, body)?;
            // A node can make an input of the equivalence, and another value that is needed on this side only.
            for &output in region.model.node(node).outputs().iter().flatten() {
                if let Some(&inner) = inputs.get(output).filter(|_| !self.region.is_replaced(output)) {
                    self.transfer.map(output, inner);
                }
            }
        }
        let mut outputs = Vec::new();
        for (index, &(old, new)) in region.pairs.iter().enumerate() {
            let value = self.transfer.mapped(if is_after { new } else { old })?;
            outputs.push(self.output(body, index, value)?);
        }
        for value in outputs {
            self.transfer.to.push_graph_output(body, value);
        }
        let call = self.call((domain, name), operands)?;
        Ok((call, function))
    }

    /// Replaces the old values by the new ones in the operands of a copied node.
    fn redirect(&mut self, node: NodeId) -> Result<(), Unsupported> {
        let region = self.region;
        let mut replaced = Vec::new();
        region.model.for_each_use_within(node, |value| {
            if let Some(new) = region.replacement(value) {
                replaced.push((value, new));
            }
        });
        for (old, new) in replaced {
            let value = self.transfer.mapped(new)?;
            self.transfer.map(old, value);
        }
        Ok(())
    }

    /// An output of a function: a value of a node that is not an output already.
    fn output(&mut self, body: GraphId, index: usize, value: ValueId) -> Result<ValueId, Unsupported> {
        let to = &mut self.transfer.to;
        let name = to.intern(&format!("y{index}"));
        let new = to.new_value(name);
        let identity = NewNode::new(op::IDENTITY).inputs([value]).outputs([new]);
        to.add_node(Position::End(body), identity).map_err(|error| error.to_string())?;
        Ok(new)
    }

    fn call(
        &mut self,
        (domain, name): (Symbol, Symbol),
        operands: &[ValueId],
    ) -> Result<NodeId, Unsupported> {
        let to = &mut self.transfer.to;
        let main = to.main_graph();
        let side = to.str(name).to_owned();
        let mut new = NewNode::new(name).domain(domain).inputs(operands.iter().copied());
        let mut outputs = Vec::new();
        for index in 0..self.region.pairs.len() {
            let name = to.intern(&format!("{side}{index}"));
            outputs.push(to.new_value(name));
        }
        new = new.outputs(outputs.iter().copied());
        let node = to.add_node(Position::End(main), new).map_err(|error| error.to_string())?;
        for (value, &(old, _)) in outputs.into_iter().zip(self.region.pairs) {
            if let Some(ty) = (self.region.known)(old).ty {
                let ty = self.transfer.input_type(&ty, false);
                self.transfer.to.set_type(value, Some(ty));
            }
            self.transfer.to.push_graph_output(main, value);
        }
        if self.transfer.to.info().opset_imports.is_empty() {
            let version = self.versions_of_model();
            self.transfer.to.info_mut().opset_imports = version;
        }
        Ok(node)
    }

    fn versions_of_model(&mut self) -> Vec<OpsetImport> {
        let version = self.region.model.opset_version(domain::ONNX).unwrap_or(1);
        let own = self.transfer.to.intern(DOMAIN);
        vec![OpsetImport::new(domain::ONNX, version), OpsetImport::new(own, 1)]
    }

    fn imports(&mut self, nodes: &[NodeId], is_after: bool) -> Vec<OpsetImport> {
        let versions = imports(self.region, nodes, is_after).into_iter();
        let import = |(domain, version): (Symbol, Option<i64>)| {
            OpsetImport::new(self.transfer.symbol(domain), version.unwrap_or(1))
        };
        versions.map(import).collect()
    }

    fn assumptions(&mut self) -> Vec<Assumption> {
        let region = self.region;
        let mut assume: Vec<Assumption> = Vec::new();
        let mut shapes: KeySet<ValueId> = KeySet::default();
        for assumption in self.assumptions_of_inputs() {
            let is_new = match &assumption {
                Assumption::Shape { input } => {
                    self.collected.inputs.get(*input).is_none_or(|&value| shapes.insert(value, ()).is_none())
                }
                // One for each input.
                Assumption::Constant { .. } | Assumption::Content { .. } => true,
                other => !assume.contains(other),
            };
            if is_new {
                assume.push(assumption);
            }
        }
        for recorded in region.recorded {
            let assumption = match recorded {
                // `assumptions_of_inputs` has the shapes and elements that these answers depend on.
                Recorded::Shape(_) | Recorded::Constant(_) | Recorded::Content(_) | Recorded::Scope(_) => {
                    None
                }
                Recorded::Relation(relation) => Some(Assumption::Relation(self.relation(*relation))),
                Recorded::Guard(text) => Some(Assumption::Guard(text.clone())),
                Recorded::Granted(condition) => Some(Assumption::Granted(*condition)),
            };
            if let Some(assumption) = assumption.filter(|assumption| !assume.contains(assumption)) {
                assume.push(assumption);
            }
        }
        assume
    }

    /// The facts about the inputs that the edit used: their sizes and their elements.
    fn assumptions_of_inputs(&mut self) -> Vec<Assumption> {
        let region = self.region;
        let mut assume = Vec::new();
        for recorded in region.recorded {
            if let Recorded::Shape(value) = *recorded {
                assume.extend(self.shape_assumptions(value));
            }
        }
        for &value in &region.used.sizes {
            assume.extend(self.shape_assumptions(value));
        }
        for (input, &value) in self.collected.inputs.iter().enumerate() {
            if !self.collected.values_of(input, value).any(|value| region.uses_content(value)) {
                continue;
            }
            if self.collected.values_of(input, value).any(|value| region.constant(value).is_some()) {
                assume.push(Assumption::Constant { input });
            } else if let Some(content) = (region.known)(value).content {
                let elements = content.iter().map(|&elem| self.elem(elem)).collect();
                assume.push(Assumption::Content { input, elements });
            }
        }
        assume
    }

    /// What the edit used about the sizes of a value: the shape of an input, or the numbers among the sizes of what is
    /// computed, which runs must not replace by smaller ones.
    fn shape_assumptions(&self, value: ValueId) -> Vec<Assumption> {
        if let Some(input) = self.collected.inputs.iter().position(|&input| input == value) {
            return vec![Assumption::Shape { input }];
        }
        let ty = (self.region.known)(value).ty;
        let shape = ty.as_ref().and_then(Type::tensor_type).and_then(|ty| ty.shape.as_ref());
        let numbers =
            shape.map(|shape| shape.dims()).unwrap_or_default().iter().filter_map(|dim| dim.known());
        let number = |size: i64| Assumption::Relation(Relation::Equal(Dim::Known(size), Dim::Known(size)));
        numbers.filter(|&size| size > SMALL).map(number).collect()
    }

    fn elem(&mut self, elem: Elem) -> Elem {
        match elem {
            Elem::Int(dim) => Elem::int(self.transfer.dim(dim)),
            Elem::Dyadic(dim, by) => match self.transfer.dim(dim) {
                Dim::Unknown => Elem::Unknown,
                dim => Elem::Dyadic(dim, by),
            },
            Elem::Quotient(..) => Elem::Unknown,
            Elem::Float(_) | Elem::Unknown => elem,
        }
    }

    fn relation(&mut self, relation: Relation) -> Relation {
        let mut both = |a, b| (self.transfer.dim(a), self.transfer.dim(b));
        match relation {
            Relation::Equal(a, b) => {
                let (a, b) = both(a, b);
                Relation::Equal(a, b)
            }
            Relation::AtMost(a, b) => {
                let (a, b) = both(a, b);
                Relation::AtMost(a, b)
            }
            Relation::Divides(a, b) => {
                let (a, b) = both(a, b);
                Relation::Divides(a, b)
            }
            Relation::Broadcasts(a, b) => {
                let (a, b) = both(a, b);
                Relation::Broadcasts(a, b)
            }
            Relation::Declared(_) | Relation::Default(_) => relation,
        }
    }
}

/// The operator sets that the nodes of a side use, with their versions.
pub(crate) fn imports(region: &Region<'_>, nodes: &[NodeId], is_after: bool) -> Vec<(Symbol, Option<i64>)> {
    let model = region.model;
    let mut used: Vec<(Symbol, Option<i64>)> = Vec::new();
    // The outputs are made by `Identity`.
    let scope = region.pairs.first().map(|&(old, _)| model.graph_of(old));
    let versions = scope.map(|graph| model.versions_in(graph));
    used.push((domain::ONNX, versions.and_then(|versions| versions.get(domain::ONNX))));
    for &node in nodes {
        for inner in model.walk_node(node).nodes() {
            let record = model.node(inner);
            if !used.iter().any(|(domain, _)| *domain == record.domain()) {
                let version = model.versions_in(record.graph()).get(record.domain());
                used.push((record.domain(), version));
            }
        }
    }
    for (domain, version) in used.iter_mut().filter(|_| is_after) {
        if let Some(&(_, changed)) = region.versions.iter().find(|(other, _)| other == domain) {
            *version = Some(changed);
        }
    }
    used
}
