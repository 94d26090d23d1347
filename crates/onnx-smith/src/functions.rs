//! Model-local functions: bodies with attributes that calls give or leave to their defaults, and calls of them.

use onnx_ir::{AttrValue, Attribute, FunctionId, NewNode, NodeId, OpsetImport, ValueId};
use onnx_shape_infer::Ty;
use onnx_types::{ElemType, Shape, Symbol, Type};

use crate::draft::Operand;
use crate::smith::{Kind, Smith};

/// The domain of generated functions.
const DOMAIN: &str = "smith.functions";

/// How a function is called.
pub(crate) struct Signature {
    function: FunctionId,
    /// The types that the body was made for.
    inputs: Vec<Type>,
    /// What a call must give.
    attributes: Vec<Attribute>,
    outputs: usize,
}

impl Smith<'_> {
    /// Makes some functions, of which later ones may call earlier ones. There are none before version 8 of the format.
    pub(crate) fn make_functions(&mut self) {
        if self.ir_version() < 8 || !self.choices.chance(40) {
            return;
        }
        for _ in 0..self.choices.between(1, 3) {
            self.make_function();
        }
        if !self.signatures.is_empty() {
            let domain = self.model.intern(DOMAIN);
            self.model.info_mut().opset_imports.push(OpsetImport::new(domain, 1));
        }
    }

    fn make_function(&mut self) {
        let domain = self.model.intern(DOMAIN);
        // Functions of one name have different overloads, which came with version 10.
        let has_overloads = self.ir_version() >= 10;
        let name =
            if has_overloads && self.choices.chance(40) { self.model.intern("Same") } else { self.name("F") };
        let overload = if has_overloads && self.choices.chance(60) { self.name("o") } else { Symbol::EMPTY };
        if self.model.find_function(domain, name, overload).is_some() {
            return;
        }
        let function = self.model.add_function(domain, name, overload);
        let mut imports = self.model.info().opset_imports.clone();
        imports.retain(|import| import.domain() != domain);
        imports.push(OpsetImport::new(domain, 1));
        self.model.function_mut(function).opset_imports = imports;
        let body = self.model.function(function).body();
        let inputs: Vec<Type> = (0..self.choices.between(1, 2)).map(|_| self.parameter()).collect();
        self.open(body, Kind::Function, &inputs);
        let nodes = self.choices.between(1, 4);
        self.fill(nodes);
        let made: Vec<ValueId> = (self.scopes.last().into_iter().flat_map(|scope| &scope.entries))
            .filter(|entry| entry.is_made)
            .map(|entry| entry.value)
            .collect();
        let outputs: Vec<ValueId> = made.iter().rev().copied().take(self.choices.between(1, 2)).collect();
        for &value in &outputs {
            self.model.push_graph_output(body, value);
        }
        self.close();
        if outputs.is_empty() {
            // It is there, so it can be removed.
            let _ = self.model.remove_function(function);
            return;
        }
        let attributes = self.refer_to_attributes(function);
        self.signatures.push(Signature { function, inputs, attributes, outputs: outputs.len() });
    }

    /// The type of an input that a function is made for.
    fn parameter(&mut self) -> Type {
        let elem = self.choices.pick(&[ElemType::Float, ElemType::Int64, ElemType::Double, ElemType::Bool]);
        let rank = self.choices.below(4);
        let dims = (0..rank).map(|_| self.choices.int(1, 4)).collect::<Vec<_>>();
        Type::tensor(elem.unwrap_or_default(), Some(Shape::known(&dims)))
    }

    /// Lets attributes in a body refer to attributes of the function, of which some have defaults.
    fn refer_to_attributes(&mut self, function: FunctionId) -> Vec<Attribute> {
        let body = self.model.function(function).body();
        let has_defaults = self.ir_version() >= 9;
        let mut required = Vec::new();
        let nodes: Vec<NodeId> = self.model.nodes(body).collect();
        for node in nodes {
            for attribute in self.model.node(node).attributes().to_vec() {
                let is_plain = matches!(
                    attribute.value(),
                    AttrValue::Int(_) | AttrValue::Float(_) | AttrValue::Ints(_) | AttrValue::String(_)
                );
                if !is_plain || !self.choices.chance(30) {
                    continue;
                }
                let name = self.name("p");
                let reference = Attribute::reference(attribute.name(), name, attribute.kind());
                let parameter = Attribute::new(name, attribute.value().clone());
                if self.model.set_attribute(node, reference).is_err() {
                    continue;
                }
                if has_defaults && self.choices.chance(50) {
                    // It contains no graph, which could belong to something else.
                    let _ = self.model.push_function_default(function, parameter);
                } else {
                    self.model.function_mut(function).attributes.push(name);
                    required.push(parameter);
                }
            }
        }
        required
    }

    /// Tries to add a call of one of the functions.
    pub(crate) fn call(&mut self) -> Option<NodeId> {
        let index = self.choices.below(self.signatures.len());
        let signature = self.signatures.get(index)?;
        let record = self.model.function(signature.function);
        let mut node = NewNode::new(record.name());
        (node.domain, node.overload) = (record.domain(), record.overload());
        node.attributes = signature.attributes.clone();
        let (inputs, outputs) = (signature.inputs.clone(), signature.outputs);
        let mut operands = Vec::new();
        for ty in &inputs {
            let fitting: Vec<ValueId> =
                self.visible().filter(|entry| entry.ty == Ty::from(ty)).map(|entry| entry.value).collect();
            let found = self.choices.pick(&fitting).filter(|_| self.choices.chance(70));
            operands.push(match (found, self.kind()) {
                (Some(value), _) => Operand::Value(value),
                (None, Kind::Main) => Operand::Input(ty.clone()),
                (None, _) => Operand::Value(fitting.first().copied()?),
            });
        }
        self.commit(node, &operands, &vec![true; outputs])
    }
}
