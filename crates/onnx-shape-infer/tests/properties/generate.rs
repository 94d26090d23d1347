//! Random nodes of any operator, right ones and wrong ones.

use std::fmt;

use bytes::Bytes;
use onnx_ir::{AttrValue, GraphId, Model, NewNode, NodeId, OpsetImport, Position, ValueId};
use onnx_schema::{AttrKind, Formal, FormalAttribute, FormalType, Schema, TypeForm, attr, domain, op};
use onnx_types::tensor::Tensor;
use onnx_types::{Dim, ElemType, Shape, Symbol, Type, TypeKind};

pub(crate) use crate::numbers::Numbers;

/// Integers at which arithmetic goes wrong.
pub(crate) const EDGES: [i64; 11] =
    [0, 1, -1, 2, -2, i32::MIN as i64, i32::MAX as i64, i64::MIN, i64::MAX, i64::MIN + 1, i64::MAX - 1];

const FLOATS: [f32; 9] =
    [0.0, 1.0, -1.0, 0.5, 2.0, f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::MIN_POSITIVE];

const STRINGS: [&str; 18] = [
    "",
    "NOTSET",
    "SAME_UPPER",
    "SAME_LOWER",
    "VALID",
    "constant",
    "reflect",
    "ij,jk->ik",
    "...ij->...ji",
    "i,i",
    "->",
    "bidirectional",
    "reverse",
    "linear",
    "floor",
    "not_larger",
    "DCR",
    "BHWC",
];

/// The dimension variables that declared types have: names that every model holds.
const VARIABLES: [Symbol; 3] = [attr::K, attr::P, attr::SIZE];

impl Numbers {
    /// True in `percent` of all cases.
    pub(crate) fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    pub(crate) fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())]
    }
}

/// The operand of an input of a node.
#[derive(Clone, Debug)]
pub(crate) enum Given {
    /// Nothing.
    Missing,
    /// An input of the graph, of a type that may not be known.
    Free(Option<Type>),
    /// A constant.
    Constant(Tensor),
}

/// What an attribute holds; nested graphs are made when the model is.
#[derive(Clone, Debug)]
pub(crate) enum Held {
    Value(AttrValue),
    /// Graphs, each given by its numbers of inputs and outputs and its seed.
    Graphs(Vec<(usize, usize, u64)>, bool),
}

/// A node of an operator, before it is made.
#[derive(Clone)]
pub(crate) struct Plan {
    pub(crate) schema: &'static Schema,
    pub(crate) inputs: Vec<Given>,
    pub(crate) attributes: Vec<(Symbol, Held)>,
    pub(crate) outputs: usize,
}

/// A model of one node.
pub(crate) struct Made {
    pub(crate) model: Model,
    pub(crate) outputs: Vec<ValueId>,
}

/// The symbols of the dimension variables.
pub(crate) const fn variables() -> [Symbol; 3] {
    VARIABLES
}

impl fmt::Debug for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {:?} with ", self.schema, self.inputs)?;
        let name = |name: Symbol| onnx_schema::known_name(name).unwrap_or_default();
        f.debug_map().entries(self.attributes.iter().map(|(symbol, held)| (name(*symbol), held))).finish()?;
        write!(f, " for {} outputs", self.outputs)
    }
}

impl Plan {
    /// A random node. Of its parts, `wild` percent are not what the schema asks for.
    pub(crate) fn random(
        schema: &'static Schema,
        numbers: &mut Numbers,
        variables: &[Symbol],
        wild: usize,
    ) -> Self {
        let mut maker = Maker { schema, numbers, variables, wild, bound: Vec::new(), shapes: Vec::new() };
        let inputs = (0..maker.input_count()).map(|index| maker.input(index)).collect();
        let outputs = maker.output_count();
        let attributes = (schema.attributes().iter()).filter_map(|formal| maker.attribute(formal)).collect();
        Self { schema, inputs, attributes, outputs }
    }

    /// Makes a model of the node.
    pub(crate) fn make(&self) -> Made {
        let mut model = Model::new();
        let graph = model.main_graph();
        let own = OpsetImport::new(self.schema.domain(), self.schema.since_version());
        let mut imports = vec![own];
        if self.schema.domain() != domain::ONNX {
            imports.push(OpsetImport::new(domain::ONNX, 18));
        }
        model.info_mut().opset_imports = imports;
        let mut node = NewNode::new(self.schema.op());
        node.domain = self.schema.domain();
        for (index, given) in self.inputs.iter().enumerate() {
            let name = format!("x{index}");
            node.inputs.push(match given {
                Given::Missing => None,
                Given::Free(ty) => Some(model.add_graph_input(graph, &name, ty.clone())),
                Given::Constant(tensor) => {
                    let name = model.intern(&name);
                    Some(model.add_initializer(graph, name, tensor.clone()))
                }
            });
        }
        for (name, held) in &self.attributes {
            let value = match held {
                Held::Value(value) => value.clone(),
                Held::Graphs(graphs, is_list) => {
                    let made: Vec<GraphId> =
                        graphs.iter().map(|&graph| body(&mut model, &node, graph)).collect();
                    match made.first() {
                        Some(&first) if !is_list => AttrValue::Graph(first),
                        _ => AttrValue::Graphs(made),
                    }
                }
            };
            node.attributes.push(onnx_ir::Attribute::new(*name, value));
        }
        let outputs = outputs(&mut model, self.outputs, "y");
        node.outputs = outputs.iter().copied().map(Some).collect();
        add(&mut model, graph, node);
        for &output in &outputs {
            model.push_graph_output(graph, output);
        }
        Made { model, outputs }
    }
}

fn outputs(model: &mut Model, count: usize, prefix: &str) -> Vec<ValueId> {
    (0..count)
        .map(|index| {
            let name = model.intern(&format!("{prefix}{index}"));
            model.new_value(name)
        })
        .collect()
}

fn add(model: &mut Model, graph: GraphId, node: NewNode) -> NodeId {
    model.add_node(Position::End(graph), node).unwrap()
}

/// A nested graph of a few nodes, which may use what is given to the node around it.
fn body(model: &mut Model, around: &NewNode, (inputs, results, seed): (usize, usize, u64)) -> GraphId {
    let mut numbers = Numbers::new(seed);
    let name = model.intern(&format!("body{seed}"));
    let graph = model.new_graph(name);
    let mut values: Vec<ValueId> = around.inputs.iter().flatten().copied().take(2).collect();
    for index in 0..inputs {
        let ty = [None, Some(Type::tensor(ElemType::Int64, None)), Some(Type::tensor(ElemType::Bool, None))];
        let ty = ty[numbers.below(3)].clone();
        values.push(model.add_graph_input(graph, &format!("b{seed}_{index}"), ty));
    }
    for index in 0..results {
        if values.is_empty() || numbers.chance(10) {
            let name = model.intern(&format!("c{seed}_{index}"));
            let edge = numbers.pick(&EDGES);
            values.push(model.add_initializer(graph, name, Tensor::scalar(edge)));
        }
        let (op, arity) = numbers.pick(&[(op::IDENTITY, 1), (op::ADD, 2), (op::NEG, 1), (op::SHAPE, 1)]);
        let mut node = NewNode::new(op).inputs((0..arity).map(|_| numbers.pick(&values)));
        let made = outputs(model, 1, &format!("o{seed}_{index}_"));
        node.outputs = made.iter().copied().map(Some).collect();
        add(model, graph, node);
        values.extend(&made);
        model.push_graph_output(graph, made[0]);
    }
    graph
}

/// Makes the parts of a random node.
struct Maker<'a> {
    schema: &'static Schema,
    numbers: &'a mut Numbers,
    variables: &'a [Symbol],
    wild: usize,
    /// The types that were chosen for type variables.
    bound: Vec<(u8, TypeForm)>,
    /// The shapes of earlier inputs.
    shapes: Vec<Shape>,
}

impl Maker<'_> {
    fn is_wild(&mut self) -> bool {
        self.numbers.chance(self.wild)
    }

    fn input_count(&mut self) -> usize {
        let most = self.schema.max_inputs().unwrap_or(self.schema.min_inputs() + 3).min(12);
        if self.is_wild() {
            return self.numbers.below(most + 3);
        }
        let least = self.schema.min_inputs().min(most);
        least + self.numbers.below(most - least + 1)
    }

    fn output_count(&mut self) -> usize {
        let most = self.schema.max_outputs().unwrap_or(4).min(8);
        if self.is_wild() {
            return self.numbers.below(most + 3);
        }
        let least = self.schema.min_outputs().max(1).min(most);
        least + self.numbers.below(most - least + 1)
    }

    fn input(&mut self, index: usize) -> Given {
        let formal = self.schema.input_for(index);
        let is_optional = formal.is_some_and(Formal::is_optional);
        if (is_optional && self.numbers.chance(25)) || (self.is_wild() && self.numbers.chance(30)) {
            return Given::Missing;
        }
        if self.is_wild() && self.numbers.chance(30) {
            return Given::Free(None);
        }
        let form = match formal {
            Some(formal) if !self.is_wild() => self.form(formal),
            _ => None,
        };
        let Some(form) = form else { return self.any_input() };
        match form {
            TypeForm::Tensor(elem) => {
                if self.numbers.chance(40) {
                    self.constant(elem).map_or_else(|| self.free(elem), Given::Constant)
                } else {
                    self.free(elem)
                }
            }
            other => Given::Free(Some(self.with_shape(other.to_type()))),
        }
    }

    /// A type that the schema allows here, the same for the same type variable.
    fn form(&mut self, formal: &Formal) -> Option<TypeForm> {
        if let FormalType::Variable(variable) = formal.ty
            && formal.is_homogeneous
            && let Some(&(_, form)) = self.bound.iter().find(|(bound, _)| *bound == variable)
        {
            return Some(form);
        }
        let types: Vec<_> = self.schema.types_of(formal).iter().collect();
        // Integers are what is computed with.
        let integers = types.iter().copied().find(|ty| *ty.form() == TypeForm::Tensor(ElemType::Int64));
        let chosen = match integers {
            Some(integers) if self.numbers.chance(40) => integers,
            _ if types.is_empty() => return None,
            _ => self.numbers.pick(&types),
        };
        if let FormalType::Variable(variable) = formal.ty {
            self.bound.push((variable, *chosen.form()));
        }
        Some(*chosen.form())
    }

    fn any_input(&mut self) -> Given {
        let elem = self.numbers.pick(&[
            ElemType::Undefined,
            ElemType::Float,
            ElemType::Int64,
            ElemType::Int32,
            ElemType::Bool,
            ElemType::String,
            ElemType::Float16,
        ]);
        let tensor = Type::tensor(elem, self.shape());
        match self.numbers.below(8) {
            0 => Given::Free(Some(Type::sequence(tensor))),
            1 => Given::Free(Some(Type::optional(tensor))),
            2 => Given::Free(Some(Type::map(ElemType::Int64, tensor))),
            3 => Given::Free(Some(Type::sparse_tensor(elem, self.shape()))),
            4 => Given::Free(Some(Type::new(TypeKind::Sequence(None)))),
            5 => self.constant(elem).map_or(Given::Free(None), Given::Constant),
            _ => Given::Free(Some(tensor)),
        }
    }

    fn free(&mut self, elem: ElemType) -> Given {
        Given::Free(Some(Type::tensor(elem, self.shape())))
    }

    /// A type with shapes for its tensors.
    fn with_shape(&mut self, mut ty: Type) -> Type {
        let mut inner = &mut ty;
        loop {
            inner = match &mut inner.kind {
                TypeKind::Tensor(tensor) | TypeKind::SparseTensor(tensor) => {
                    tensor.shape = self.shape();
                    break;
                }
                TypeKind::Sequence(Some(inner)) | TypeKind::Optional(Some(inner)) => inner,
                TypeKind::Map { value: Some(value), .. } => value,
                _ => break,
            };
        }
        ty
    }

    fn shape(&mut self) -> Option<Shape> {
        if self.numbers.chance(8) {
            return None;
        }
        if !self.shapes.is_empty() && self.numbers.chance(50) {
            let index = self.numbers.below(self.shapes.len());
            return Some(self.shapes[index].clone());
        }
        let rank = if self.is_wild() { self.numbers.below(9) } else { self.numbers.below(5) };
        let shape = Shape::new((0..rank).map(|_| self.dim()).collect::<Vec<_>>());
        self.shapes.push(shape.clone());
        Some(shape)
    }

    fn dim(&mut self) -> Dim {
        if self.is_wild() {
            return Dim::Known(self.numbers.pick(&EDGES));
        }
        match self.numbers.below(9) {
            0 => Dim::Unknown,
            1 => Dim::Known(0),
            2 => Dim::Known(1),
            3..5 => Dim::Var(self.numbers.pick(self.variables)),
            _ => Dim::Known(1 + self.numbers.below(6) as i64),
        }
    }

    fn integer(&mut self) -> i64 {
        if self.is_wild() { self.numbers.pick(&EDGES) } else { self.numbers.below(7) as i64 - 2 }
    }

    fn constant(&mut self, elem: ElemType) -> Option<Tensor> {
        let is_scalar = self.numbers.chance(30);
        let count = if is_scalar { 1 } else { self.numbers.below(6) };
        let integers: Vec<i64> = (0..count).map(|_| self.integer()).collect();
        let dims = if is_scalar { vec![] } else { vec![count as i64] };
        constant_of(elem, &dims, &integers)
    }

    fn attribute(&mut self, formal: &FormalAttribute) -> Option<(Symbol, Held)> {
        let percent = if formal.is_required { self.wild / 4 } else { 50 };
        if self.numbers.chance(percent) {
            return None;
        }
        let kind = if self.is_wild() { self.numbers.pick(&AttrKind::ALL) } else { formal.kind };
        Some((formal.name, self.held(kind)))
    }

    fn held(&mut self, kind: AttrKind) -> Held {
        let length = self.numbers.below(if self.wild > 0 { 10 } else { 5 });
        let value = match kind {
            AttrKind::Int => AttrValue::Int(self.integer()),
            AttrKind::Ints => AttrValue::Ints((0..length).map(|_| self.integer()).collect()),
            AttrKind::Float => AttrValue::Float(self.numbers.pick(&FLOATS)),
            AttrKind::Floats => AttrValue::Floats((0..length).map(|_| self.numbers.pick(&FLOATS)).collect()),
            AttrKind::String => AttrValue::String(self.string()),
            AttrKind::Strings => AttrValue::Strings((0..length).map(|_| self.string()).collect()),
            AttrKind::Tensor => self.constant(ElemType::Int64).map_or(AttrValue::None, AttrValue::from),
            AttrKind::Graph => return Held::Graphs(vec![self.graph()], false),
            AttrKind::Graphs => {
                return Held::Graphs((0..length.min(3)).map(|_| self.graph()).collect(), true);
            }
            AttrKind::TypeProto => {
                AttrValue::Type(Type::optional(Type::tensor(ElemType::Float, self.shape())).into())
            }
            _ => AttrValue::None,
        };
        Held::Value(value)
    }

    fn string(&mut self) -> Bytes {
        Bytes::from_static(self.numbers.pick(&STRINGS).as_bytes())
    }

    fn graph(&mut self) -> (usize, usize, u64) {
        (self.numbers.below(6), 1 + self.numbers.below(5), self.numbers.below(1_000_000_007) as u64)
    }
}

/// A constant tensor of an element type that can hold integers or texts, cut to its width.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)]
pub(crate) fn constant_of(elem: ElemType, dims: &[i64], integers: &[i64]) -> Option<Tensor> {
    let dims = dims.iter().copied();
    macro_rules! cast {
        ($type:ty) => {
            Tensor::from_slice(dims, &integers.iter().map(|&number| number as $type).collect::<Vec<_>>())
        };
    }
    let made = match elem {
        ElemType::Int64 => cast!(i64),
        ElemType::Int32 => cast!(i32),
        ElemType::Int16 => cast!(i16),
        ElemType::Int8 => cast!(i8),
        ElemType::Uint64 => cast!(u64),
        ElemType::Uint32 => cast!(u32),
        ElemType::Uint8 => cast!(u8),
        ElemType::Float => cast!(f32),
        ElemType::Double => cast!(f64),
        ElemType::Bool => {
            Tensor::from_slice(dims, &integers.iter().map(|&number| number != 0).collect::<Vec<_>>())
        }
        ElemType::String => {
            let texts = integers.iter().map(|&number| STRINGS[number.rem_euclid(18) as usize]);
            Tensor::from_strings(dims, texts.collect::<Vec<_>>())
        }
        _ => return None,
    };
    made.ok()
}
