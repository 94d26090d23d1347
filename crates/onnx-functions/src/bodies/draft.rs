//! The builder of handwritten bodies: the operands of a node with their types, and one method for each operator.
//!
//! A builder method adds the form of the operator that the operator set version in scope has, so a body has no version
//! branches for operators whose attributes became inputs. Operands and attributes that a body needs are read with `?`:
//! if one of them is not known, this is the reason why the node has no body.

use onnx_diag::Quoted;
use onnx_ir::{AttrValue, Attribute, CopyMap, GraphId, Model, NodeId, Position, ValueId};
use onnx_schema::{AttrDefault, Schema, attr, domain, op};
use onnx_types::tensor::{Element, Tensor, bf16, f16};
use onnx_types::{ElemType, Symbol, Type};

use crate::reason::FunctionReason;

/// A value of the body.
pub(crate) type V = ValueId;

/// A value that was added to the body, or the reason why the body cannot be written.
pub(crate) type Made<T = V> = Result<T, FunctionReason>;

/// A body under construction.
pub(crate) struct Draft<'a> {
    model: &'a mut Model,
    node: NodeId,
    schema: &'static Schema,
    /// The version of the default domain.
    version: i64,
    /// The types of the operands of the node, and of its outputs.
    types: [Vec<Option<Type>>; 2],
    /// The inputs of the function.
    formals: Vec<V>,
    /// The graph that nodes are added to.
    at: GraphId,
    /// The graphs that were made for nodes.
    graphs: Vec<GraphId>,
}

impl<'a> Draft<'a> {
    pub(crate) fn new(
        model: &'a mut Model,
        node: NodeId,
        (schema, version): (&'static Schema, i64),
        types: [Vec<Option<Type>>; 2],
        body: GraphId,
    ) -> Self {
        let formals = formal_names(schema, model.node(node).input_count());
        let formals = formals.iter().map(|name| model.add_graph_input(body, name, None)).collect();
        Self { model, node, schema, version, types, formals, at: body, graphs: Vec::new() }
    }

    /// Removes the graphs that no node holds, because the body was not completed.
    pub(crate) fn drop_graphs(&mut self) {
        for graph in std::mem::take(&mut self.graphs) {
            // It fails for a graph that a node holds, and that graph must be kept.
            let _ = self.model.erase_graph(graph);
        }
    }

    /// The version of the default operator set.
    pub(crate) const fn version(&self) -> i64 {
        self.version
    }

    pub(crate) const fn model(&mut self) -> &mut Model {
        self.model
    }

    // --- operands ---

    /// An operand; the reason if the node omits it.
    pub(crate) fn input(&self, index: usize) -> Made {
        self.optional(index)
            .ok_or_else(|| FunctionReason::new(format!("the node omits {}", self.name_of(index))))
    }

    /// An operand that the node may omit.
    pub(crate) fn optional(&self, index: usize) -> Option<V> {
        self.model.node(self.node).input(index)?;
        self.formals.get(index).copied()
    }

    /// Number of operands of the node.
    pub(crate) fn input_count(&self) -> usize {
        self.model.node(self.node).input_count()
    }

    /// Number of outputs of the node.
    pub(crate) fn output_count(&self) -> usize {
        self.model.node(self.node).outputs().len()
    }

    fn name_of(&self, index: usize) -> String {
        let formal = self.schema.input_for(index).map(|formal| formal.name).unwrap_or_default();
        format!("input {}", Quoted(formal))
    }

    /// The type of an operand, if it is known.
    pub(crate) fn ty(&self, index: usize) -> Option<&Type> {
        self.types[0].get(index)?.as_ref()
    }

    /// The type of an output, if it is known.
    pub(crate) fn result_ty(&self, index: usize) -> Option<&Type> {
        self.types[1].get(index)?.as_ref()
    }

    /// The element type of an operand.
    pub(crate) fn elem(&self, index: usize) -> Made<ElemType> {
        let elem = self.ty(index).and_then(Type::tensor_type).map(|tensor| tensor.elem);
        elem.filter(|&elem| elem != ElemType::Undefined).ok_or_else(|| {
            FunctionReason::new(format!("the element type of {} is not known", self.name_of(index)))
        })
    }

    /// The rank of an operand.
    pub(crate) fn rank(&self, index: usize) -> Made<usize> {
        let shape = self.ty(index).and_then(Type::shape);
        let rank = shape.map(onnx_types::Shape::rank);
        rank.ok_or_else(|| FunctionReason::new(format!("the rank of {} is not known", self.name_of(index))))
    }

    /// The size of an operand along an axis.
    pub(crate) fn size(&self, index: usize, axis: usize) -> Made<i64> {
        let shape = self.ty(index).and_then(Type::shape);
        let size = shape.and_then(|shape| shape.dim(axis)).and_then(onnx_types::Dim::known);
        size.ok_or_else(|| {
            FunctionReason::new(format!("the size of axis {axis} of {} is not known", self.name_of(index)))
        })
    }

    // --- attributes ---

    /// The attribute of the node, or else the default.
    fn attribute(&self, name: Symbol) -> Made<Option<AttrValue>> {
        match self.model.node(self.node).attribute(name).map(Attribute::value) {
            Some(AttrValue::Ref(_)) => {
                Err(self.wrong(name, "is an attribute of the function around the node"))
            }
            Some(value) => Ok(Some(value.clone())),
            None => Ok(self.schema.default_of(name).and_then(|default| match default {
                AttrDefault::Int(number) => Some(AttrValue::Int(number)),
                AttrDefault::Float(number) => Some(AttrValue::Float(number)),
                AttrDefault::String(text) => Some(text.into()),
                AttrDefault::Ints(numbers) => Some(AttrValue::Ints(numbers.to_vec())),
                _ => None,
            })),
        }
    }

    /// Whether the node has the value of an attribute of the function around it.
    pub(crate) fn is_reference(&self, name: Symbol) -> bool {
        let given = self.model.node(self.node).attribute(name).map(Attribute::value);
        matches!(given, Some(AttrValue::Ref(_)))
    }

    /// The reason why an attribute prevents a body.
    pub(crate) fn wrong(&self, name: Symbol, what: &str) -> FunctionReason {
        FunctionReason::new(format!("attribute {} {what}", Quoted(self.model.str(name))))
    }

    /// An integer that the node may omit.
    pub(crate) fn optional_int(&self, name: Symbol) -> Made<Option<i64>> {
        match self.attribute(name)? {
            None => Ok(None),
            Some(AttrValue::Int(number)) => Ok(Some(number)),
            Some(_) => Err(self.wrong(name, "is not an integer")),
        }
    }

    /// An integer.
    pub(crate) fn int(&self, name: Symbol) -> Made<i64> {
        self.optional_int(name)?.ok_or_else(|| self.wrong(name, "is missing"))
    }

    /// A number that the node may omit.
    pub(crate) fn optional_float(&self, name: Symbol) -> Made<Option<f32>> {
        match self.attribute(name)? {
            None => Ok(None),
            Some(AttrValue::Float(number)) => Ok(Some(number)),
            Some(_) => Err(self.wrong(name, "is not a float")),
        }
    }

    /// A number.
    pub(crate) fn float(&self, name: Symbol) -> Made<f32> {
        self.optional_float(name)?.ok_or_else(|| self.wrong(name, "is missing"))
    }

    /// A list of integers that the node may omit.
    pub(crate) fn optional_ints(&self, name: Symbol) -> Made<Option<Vec<i64>>> {
        match self.attribute(name)? {
            None => Ok(None),
            Some(AttrValue::Ints(numbers)) => Ok(Some(numbers)),
            Some(_) => Err(self.wrong(name, "is not a list of integers")),
        }
    }

    /// A text.
    pub(crate) fn text(&self, name: Symbol) -> Made<String> {
        match self.attribute(name)? {
            Some(AttrValue::String(text)) => {
                String::from_utf8(text.to_vec()).map_err(|_| self.wrong(name, "is not text"))
            }
            _ => Err(self.wrong(name, "is missing or not a string")),
        }
    }

    /// An element type.
    pub(crate) fn elem_attribute(&self, name: Symbol) -> Made<Option<ElemType>> {
        let code = self.optional_int(name)?;
        let elem = |code: i64| i32::try_from(code).ok().and_then(ElemType::from_code);
        code.map(|code| elem(code).ok_or_else(|| self.wrong(name, "is not an element type"))).transpose()
    }

    /// A graph that the node may omit.
    pub(crate) fn optional_graph(&self, name: Symbol) -> Made<Option<GraphId>> {
        match self.attribute(name)? {
            None => Ok(None),
            Some(AttrValue::Graph(graph)) => Ok(Some(graph)),
            Some(_) => Err(self.wrong(name, "is not a graph")),
        }
    }

    // --- nodes ---

    /// Adds a node.
    pub(crate) fn node(
        &mut self,
        op: Symbol,
        inputs: &[Option<V>],
        attributes: Vec<Attribute>,
        outputs: usize,
    ) -> Made<Vec<V>> {
        self.refuse(op, inputs.len(), &attributes)?;
        let mut build = self.model.build_at(Position::End(self.at));
        let mut node = build.call_symbol(domain::ONNX, op);
        for &input in inputs {
            node = node.input(input);
        }
        for attribute in attributes {
            node = node.attribute(attribute);
        }
        Ok(node.outputs_if(&vec![true; outputs])?.into_iter().flatten().collect())
    }

    /// The reason if the version in scope cannot express a node. An operator of another domain can be used together with any
    /// version of the default domain.
    fn refuse(&self, op: Symbol, inputs: usize, attributes: &[Attribute]) -> Made<()> {
        let name = onnx_schema::known_name(op).unwrap_or_default();
        let version = self.version;
        let schema = onnx_schema::lookup(domain::ONNX, op, version);
        let schema = schema.filter(|schema| !schema.is_deprecated());
        let Some(schema) = schema else {
            return Err(FunctionReason::new(format!(
                "the body uses `{name}`, which version {version} does not have"
            )));
        };
        let unknown = attributes.iter().find(|attribute| schema.attribute(attribute.name()).is_none());
        if let Some(attribute) = unknown {
            let attribute = Quoted(self.model.str(attribute.name()));
            return Err(FunctionReason::new(format!(
                "the body uses `{name}` with attribute {attribute}, which version {version} does not have"
            )));
        }
        if !schema.allows_inputs(inputs) {
            return Err(FunctionReason::new(format!(
                "the body uses `{name}` with {inputs} inputs, which version {version} does not allow"
            )));
        }
        Ok(())
    }

    /// Adds a node with one output.
    pub(crate) fn op(&mut self, op: Symbol, inputs: &[V], attributes: Vec<Attribute>) -> Made {
        let inputs: Vec<Option<V>> = inputs.iter().copied().map(Some).collect();
        self.one(op, &inputs, attributes)
    }

    fn one(&mut self, op: Symbol, inputs: &[Option<V>], attributes: Vec<Attribute>) -> Made {
        let made = self.node(op, inputs, attributes, 1)?;
        made.first().copied().ok_or_else(|| "the node has no output".into())
    }

    /// Returns `true` if the version in scope allows an element type for an input of an operator.
    pub(crate) fn allows(&self, op: Symbol, input: usize, elem: ElemType) -> bool {
        let Some(schema) = onnx_schema::lookup(domain::ONNX, op, self.version) else { return false };
        schema.input_for(input).is_some_and(|formal| schema.types_of(formal).contains_tensor(elem))
    }

    /// Adds a graph, which a node that is added next must hold. `fill` adds its nodes and returns its outputs.
    pub(crate) fn graph(
        &mut self,
        inputs: &[(&str, Option<Type>)],
        fill: impl FnOnce(&mut Self, &[V]) -> Made<Vec<V>>,
    ) -> Made<GraphId> {
        let name = self.model.intern("body");
        let graph = self.model.new_graph_in(self.at, name);
        self.graphs.push(graph);
        let inputs = inputs.iter().map(|(name, ty)| self.model.add_graph_input(graph, name, ty.clone()));
        let inputs: Vec<V> = inputs.collect();
        let around = std::mem::replace(&mut self.at, graph);
        let outputs = fill(self, &inputs);
        self.at = around;
        for output in outputs? {
            self.model.push_graph_output(graph, output);
        }
        Ok(graph)
    }

    /// Adds the nodes of a graph that the node holds, with `operands` instead of its inputs, and returns its outputs.
    pub(crate) fn paste(&mut self, graph: GraphId, operands: &[V]) -> Made<Vec<V>> {
        if !self.model.captures(graph).is_empty() {
            return Err("a graph of the node uses values from outside, which a function does not see".into());
        }
        let has_reference = |node: NodeId| {
            let attributes = self.model.node(node).attributes();
            attributes.iter().any(|attribute| matches!(attribute.value(), AttrValue::Ref(_)))
        };
        if self.model.nodes_in(graph).any(has_reference) {
            return Err("a graph of the node refers to attributes of the function around the node".into());
        }
        let inputs = self.model.graph(graph).inputs().to_vec();
        if inputs.len() != operands.len() {
            return Err("a graph of the node has another number of inputs than it gets".into());
        }
        let mut map = CopyMap::new();
        for value in self.model.initializers(graph).collect::<Vec<_>>() {
            let tensor = self.model.value(value).initializer().and_then(|constant| constant.dense().cloned());
            let tensor = tensor.ok_or("a graph of the node has a sparse initializer")?;
            let constant = self.tensor(tensor)?;
            map.map(value, constant);
        }
        for (&input, &operand) in inputs.iter().zip(operands) {
            map.map(input, operand);
        }
        let nodes: Vec<NodeId> = self.model.nodes(graph).collect();
        self.model.copy_each(&nodes, Position::End(self.at), &mut map)?;
        Ok(self.model.graph(graph).outputs().iter().map(|output| map.get(output.value())).collect())
    }

    /// The graph that nodes are added to.
    pub(crate) const fn place(&self) -> GraphId {
        self.at
    }

    /// Declares the type of a value.
    pub(crate) fn declare(&mut self, value: V, ty: Type) {
        self.model.set_type(value, Some(ty));
    }

    // --- constants ---

    fn tensor(&mut self, tensor: Tensor) -> Made {
        self.op(op::CONSTANT, &[], vec![Attribute::new(attr::VALUE, tensor)])
    }

    /// A tensor of rank 0 with a number, which is rounded to the element type.
    pub(crate) fn number(&mut self, elem: ElemType, number: f64) -> Made {
        let tensor = scalar(elem, number).ok_or_else(|| {
            FunctionReason::new(format!("constants of element type {elem} cannot be written"))
        })?;
        self.tensor(tensor)
    }

    /// An `int64` tensor of rank 1.
    pub(crate) fn ints(&mut self, numbers: &[i64]) -> Made {
        self.tensor(Tensor::vector(numbers))
    }

    /// An `int64` tensor of rank 0.
    pub(crate) fn int64(&mut self, number: i64) -> Made {
        self.tensor(Tensor::scalar(number))
    }

    // --- operators with attributes ---

    /// Converts elements; `from` is their type.
    pub(crate) fn cast(&mut self, x: V, from: ElemType, to: ElemType) -> Made {
        if from == to { Ok(x) } else { self.cast_to(x, to) }
    }

    /// Converts elements of any type.
    pub(crate) fn cast_to(&mut self, x: V, to: ElemType) -> Made {
        self.op(op::CAST, &[x], vec![Attribute::new(attr::TO, i64::from(to.code()))])
    }

    /// An operator whose axes are an attribute in older versions, and an input later.
    fn over_axes(&mut self, op: Symbol, x: V, axes: &[i64], mut attributes: Vec<Attribute>) -> Made {
        let schema = onnx_schema::lookup(domain::ONNX, op, self.version);
        if schema.is_some_and(|schema| schema.attribute(attr::AXES).is_some()) {
            attributes.insert(0, Attribute::new(attr::AXES, axes.to_vec()));
            return self.op(op, &[x], attributes);
        }
        let axes = self.ints(axes)?;
        self.op(op, &[x, axes], attributes)
    }

    /// Reduces axes and keeps them with size 1.
    pub(crate) fn reduce(&mut self, op: Symbol, x: V, axes: &[i64]) -> Made {
        self.over_axes(op, x, axes, Vec::new())
    }

    /// Reduces all axes to a tensor of rank 0.
    pub(crate) fn reduce_all(&mut self, op: Symbol, x: V) -> Made {
        self.op(op, &[x], vec![Attribute::new(attr::KEEPDIMS, 0_i64)])
    }

    pub(crate) fn unsqueeze(&mut self, x: V, axes: &[i64]) -> Made {
        self.over_axes(op::UNSQUEEZE, x, axes, Vec::new())
    }

    pub(crate) fn squeeze(&mut self, x: V, axes: &[i64]) -> Made {
        self.over_axes(op::SQUEEZE, x, axes, Vec::new())
    }

    /// The sizes of the axes from `start` to before `end`, as a tensor of rank 1.
    pub(crate) fn sizes(&mut self, x: V, start: i64, end: Option<i64>) -> Made {
        let mut attributes = Vec::new();
        if start != 0 {
            attributes.push(Attribute::new(attr::START, start));
        }
        attributes.extend(end.map(|end| Attribute::new(attr::END, end)));
        self.op(op::SHAPE, &[x], attributes)
    }

    /// The size of an axis, as a tensor of rank 1.
    pub(crate) fn dim(&mut self, x: V, axis: i64) -> Made {
        self.sizes(x, axis, (axis != -1).then_some(axis + 1))
    }

    pub(crate) fn concat(&mut self, parts: &[V], axis: i64) -> Made {
        self.op(op::CONCAT, parts, vec![Attribute::new(attr::AXIS, axis)])
    }

    /// Reshapes to sizes in which 0 is the size 0, so that tensors without elements need no separate case.
    pub(crate) fn reshape(&mut self, x: V, sizes: V) -> Made {
        self.op(op::RESHAPE, &[x, sizes], vec![Attribute::new(attr::ALLOWZERO, 1_i64)])
    }

    pub(crate) fn transpose(&mut self, x: V, permutation: &[i64]) -> Made {
        self.op(op::TRANSPOSE, &[x], vec![Attribute::new(attr::PERM, permutation.to_vec())])
    }

    /// Elements of one axis, from `start` to before `end`; both are tensors of rank 1.
    pub(crate) fn slice(&mut self, x: V, start: V, end: V, axis: i64) -> Made {
        let axis = self.ints(&[axis])?;
        self.op(op::SLICE, &[x, start, end, axis], Vec::new())
    }

    pub(crate) fn gather(&mut self, x: V, indices: V, axis: i64) -> Made {
        self.op(op::GATHER, &[x, indices], vec![Attribute::new(attr::AXIS, axis)])
    }

    /// The numbers 0, 1, 2, … below a number in a tensor of rank 1.
    pub(crate) fn places(&mut self, count: V) -> Made {
        let ones = self.filled(count, ElemType::Int64, 1.0)?;
        let places = self.op(op::NON_ZERO, &[ones], Vec::new())?;
        self.squeeze(places, &[0])
    }

    /// A tensor of equal numbers, of the sizes in a tensor of rank 1.
    pub(crate) fn filled(&mut self, sizes: V, elem: ElemType, number: f64) -> Made {
        let value = one_element(elem, number).ok_or_else(|| {
            FunctionReason::new(format!("constants of element type {elem} cannot be written"))
        })?;
        self.op(op::CONSTANT_OF_SHAPE, &[sizes], vec![Attribute::new(attr::VALUE, value)])
    }
}

/// Methods for operators without attributes.
macro_rules! plain {
    ($($name:ident($($input:ident),+) => $op:ident;)*) => {
        impl Draft<'_> {
            $(pub(crate) fn $name(&mut self, $($input: V),+) -> Made {
                self.op(op::$op, &[$($input),+], Vec::new())
            })*
        }
    };
}

plain! {
    add(a, b) => ADD;
    sub(a, b) => SUB;
    mul(a, b) => MUL;
    div(a, b) => DIV;
    pow(a, b) => POW;
    matmul(a, b) => MAT_MUL;
    less(a, b) => LESS;
    equal(a, b) => EQUAL;
    and(a, b) => AND;
    maximum(a, b) => MAX;
    neg(x) => NEG;
    not(x) => NOT;
    exp(x) => EXP;
    log(x) => LOG;
    sqrt(x) => SQRT;
    reciprocal(x) => RECIPROCAL;
    tanh(x) => TANH;
    erf(x) => ERF;
    sigmoid(x) => SIGMOID;
    ceil(x) => CEIL;
    identity(x) => IDENTITY;
    expand(x, sizes) => EXPAND;
    select(condition, yes, no) => WHERE;
}

/// The names of the inputs of a function: those of the schema, with one numbered name for each operand of a variadic
/// input.
pub(crate) fn formal_names(schema: &Schema, count: usize) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for formal in schema.inputs() {
        if !formal.is_variadic() {
            names.push(formal.name.to_owned());
            continue;
        }
        let first = names.len();
        names.extend((first..count).map(|index| format!("{}_{}", formal.name, index - first)));
    }
    names
}

/// The names of the outputs of a function, likewise.
pub(crate) fn result_names(schema: &Schema, count: usize) -> Vec<String> {
    (0..count)
        .map(|index| match schema.output_for(index) {
            Some(formal) if formal.is_variadic() => format!("{}_{index}", formal.name),
            Some(formal) => formal.name.to_owned(),
            None => String::new(),
        })
        .collect()
}

/// Applies a macro to the Rust type of an element type and a conversion from `f64`.
macro_rules! by_elem {
    ($elem:expr, $make:ident) => {
        match $elem {
            ElemType::Float => $make!(f32, |number: f64| number as f32),
            ElemType::Double => $make!(f64, |number: f64| number),
            ElemType::Float16 => $make!(f16, f16::from_f64),
            ElemType::Bfloat16 => $make!(bf16, bf16::from_f64),
            ElemType::Int8 => $make!(i8, |number: f64| number as i8),
            ElemType::Int16 => $make!(i16, |number: f64| number as i16),
            ElemType::Int32 => $make!(i32, |number: f64| number as i32),
            ElemType::Int64 => $make!(i64, |number: f64| number as i64),
            ElemType::Uint8 => $make!(u8, |number: f64| number as u8),
            ElemType::Uint16 => $make!(u16, |number: f64| number as u16),
            ElemType::Uint32 => $make!(u32, |number: f64| number as u32),
            ElemType::Uint64 => $make!(u64, |number: f64| number as u64),
            _ => None,
        }
    };
}

fn scalar(elem: ElemType, number: f64) -> Option<Tensor> {
    fn of<T: Element>(value: T) -> Option<Tensor> {
        Some(Tensor::scalar(value))
    }
    macro_rules! make {
        ($type:ty, $convert:expr) => {
            of::<$type>($convert(number))
        };
    }
    by_elem!(elem, make)
}

/// A tensor of rank 1 with one element.
fn one_element(elem: ElemType, number: f64) -> Option<Tensor> {
    fn of<T: Element>(value: T) -> Option<Tensor> {
        Some(Tensor::vector(&[value]))
    }
    macro_rules! make {
        ($type:ty, $convert:expr) => {
            of::<$type>($convert(number))
        };
    }
    by_elem!(elem, make)
}
