//! A node before it is made: recipes choose its operands, attributes and outputs here.

use onnx_ir::{AttrValue, Attribute, GraphId, NewNode, NodeId, Position, SparseTensor, ValueId};
use onnx_schema::{Formal, FormalType, Schema, TypeForm, attr, op};
use onnx_shape_infer::Ty;
use onnx_types::tensor::Tensor;
use onnx_types::{Dim, ElemType, Shape, Symbol, Type, TypeKind};

use crate::smith::{Kind, Smith};
use crate::{elements, ops};

/// The most elements of a constant.
const MOST_ELEMENTS: i64 = 256;

/// The operand of an input of a node.
#[derive(Clone, Debug)]
pub(crate) enum Operand {
    /// Nothing.
    Missing,
    /// A value that is there.
    Value(ValueId),
    /// A new input of the main graph.
    Input(Type),
    /// A new constant.
    Constant(Tensor),
}

/// A node before it is made.
///
/// Methods that choose an operand choose the next one. They return `None` if none fits; a recipe propagates the `None`,
/// and no node is created.
pub(crate) struct Draft<'s, 'b> {
    pub(crate) smith: &'s mut Smith<'b>,
    pub(crate) schema: &'static Schema,
    operands: Vec<Operand>,
    types: Vec<Option<Type>>,
    /// The types that type variables stand for.
    bound: Vec<Option<TypeForm>>,
    attributes: Vec<Attribute>,
    /// Attributes that are left out.
    left_out: Vec<Symbol>,
    outputs: Option<usize>,
    /// Graphs that were created for attributes, including unfinished ones.
    graphs: Vec<GraphId>,
}

impl<'s, 'b> Draft<'s, 'b> {
    pub(crate) fn new(smith: &'s mut Smith<'b>, schema: &'static Schema) -> Self {
        Self {
            smith,
            schema,
            operands: Vec::new(),
            types: Vec::new(),
            bound: vec![None; schema.constraints().len()],
            attributes: Vec::new(),
            left_out: Vec::new(),
            outputs: None,
            graphs: Vec::new(),
        }
    }

    /// Makes the node.
    pub(crate) fn forge(mut self) -> Option<NodeId> {
        let depth = self.smith.scopes.len();
        if ops::follow(&mut self).is_none() {
            self.smith.scopes.truncate(depth);
            self.abandon();
            return None;
        }
        self.fill_attributes();
        let outputs = self.outputs();
        let mut node = NewNode::new(self.schema.op());
        node.domain = self.schema.domain();
        node.attributes = self.attributes;
        while matches!(self.operands.last(), Some(Operand::Missing)) {
            self.operands.pop();
        }
        if self.smith.choices.chance(20) {
            node.name = self.smith.name("node");
        }
        self.smith.commit(node, &self.operands, &outputs)
    }

    /// Removes the graphs that were made for a node that is not.
    fn abandon(self) {
        if self.graphs.is_empty() {
            return;
        }
        let holder =
            NewNode::new(op::IF).attribute(Attribute::new(attr::BODY, AttrValue::Graphs(self.graphs)));
        let at = Position::End(self.smith.graph());
        if let Ok(node) = self.smith.model.add_node(at, holder) {
            // It has no outputs that could be used.
            let _ = self.smith.model.erase_node(node);
        }
    }

    /// Which outputs the node has.
    fn outputs(&mut self) -> Vec<bool> {
        if let Some(count) = self.outputs {
            return vec![true; count];
        }
        let least = self.schema.min_outputs().max(1);
        let most = self.schema.max_outputs().unwrap_or(least).max(least);
        let count =
            if self.smith.choices.chance(50) { least } else { self.smith.choices.between(least, most) };
        let count = (count..=most).find(|&count| self.schema.allows_outputs(count)).unwrap_or(least);
        let mut outputs: Vec<bool> = (0..count)
            .map(|index| {
                let is_optional = self.schema.output_for(index).is_some_and(Formal::is_optional);
                index == 0 || !is_optional || self.smith.choices.chance(80)
            })
            .collect();
        if let Some(last) = outputs.last_mut() {
            *last = true;
        }
        outputs
    }

    /// The name of an operand that is there already.
    pub(crate) fn operand_name(&self, index: usize) -> Option<String> {
        let Some(Operand::Value(value)) = self.operands.get(index) else { return None };
        Some(self.smith.model.str(self.smith.model.value(*value).name()).to_owned())
    }

    /// A sparse tensor of two elements that are not zero.
    pub(crate) fn sparse(&mut self) -> Option<SparseTensor> {
        let code = i32::try_from(self.elem_code(0)?).ok()?;
        elements::sparse(ElemType::from_code(code)?, self.smith.choices.chance(50))
    }

    /// The formal input that the next operand belongs to.
    pub(crate) fn formal(&self) -> Option<&'static Formal> {
        self.schema.input_for(self.operands.len())
    }

    /// How many operands were chosen so far.
    pub(crate) fn count(&self) -> usize {
        self.operands.len()
    }

    /// Returns `true` if another input is possible and is chosen with a probability of `percent` percent.
    pub(crate) fn wants(&mut self, percent: usize) -> bool {
        self.formal().is_some() && self.smith.choices.chance(percent)
    }

    /// Leaves the next input out.
    pub(crate) fn skip(&mut self) {
        self.operands.push(Operand::Missing);
        self.types.push(None);
    }

    /// The type of the next input: that of its variable, or a new choice.
    pub(crate) fn form(&mut self) -> Option<TypeForm> {
        let formal = self.formal()?;
        let variable = match formal.ty {
            FormalType::Concrete(id) => return Some(*id.form()),
            FormalType::Variable(variable) => usize::from(variable),
        };
        let bound = self.bound.get(variable).copied().flatten().filter(|_| formal.is_homogeneous);
        if bound.is_some() {
            return bound;
        }
        let allowed = self.schema.types_of(formal);
        let there: Vec<TypeForm> = self
            .smith
            .visible()
            .filter_map(|entry| entry.ty.to_type())
            .filter_map(|ty| onnx_schema::TypeId::of(&ty))
            .filter(|&id| allowed.contains(id))
            .map(|id| *id.form())
            .collect();
        let all: Vec<TypeForm> = allowed.iter().map(|id| *id.form()).collect();
        let usual: Vec<TypeForm> = [ElemType::Float, ElemType::Int64, ElemType::Bool]
            .into_iter()
            .filter(|&elem| allowed.contains_tensor(elem))
            .map(TypeForm::Tensor)
            .collect();
        let choices = &mut self.smith.choices;
        let form = match choices.below(10) {
            0..=4 => choices.pick(&there).or_else(|| choices.pick(&usual)),
            5 | 6 => choices.pick(&usual),
            _ => None,
        };
        let form = form.or_else(|| choices.pick(&all))?;
        if formal.is_homogeneous
            && let Some(slot) = self.bound.get_mut(variable)
        {
            *slot = Some(form);
        }
        Some(form)
    }

    /// Lets the variable of the next input stand for one of the types, as far as it may.
    pub(crate) fn prefer(&mut self, elems: &[ElemType]) -> Option<()> {
        let formal = self.formal()?;
        let FormalType::Variable(variable) = formal.ty else { return Some(()) };
        let allowed = self.schema.types_of(formal);
        let fitting: Vec<ElemType> =
            elems.iter().copied().filter(|&elem| allowed.contains_tensor(elem)).collect();
        let elem = self.smith.choices.pick(&fitting)?;
        *self.bound.get_mut(usize::from(variable))? = Some(TypeForm::Tensor(elem));
        Some(())
    }

    /// The type of an operand that was chosen.
    pub(crate) fn ty(&self, index: usize) -> Option<&Type> {
        self.types.get(index)?.as_ref()
    }

    /// The sizes of an operand that was chosen.
    pub(crate) fn shape(&self, index: usize) -> Option<&[Dim]> {
        self.ty(index)?.shape().map(Shape::dims)
    }

    /// An operand whose sizes fit, or a new one of the sizes that `make` gives.
    pub(crate) fn operand(
        &mut self,
        fits: impl Fn(&[Dim]) -> bool,
        make: impl FnOnce(&mut Smith<'b>) -> Vec<Dim>,
    ) -> Option<Vec<Dim>> {
        let form = self.form()?;
        let TypeForm::Tensor(elem) = form else { return self.other(form) };
        let there: Vec<(ValueId, Vec<Dim>)> = self
            .smith
            .visible()
            .filter(|entry| entry.ty.elem() == Some(elem))
            .filter_map(|entry| match &entry.ty {
                Ty::Tensor(_, Some(dims)) if fits(dims) => Some((entry.value, dims.to_vec())),
                _ => None,
            })
            .collect();
        if !there.is_empty() && self.smith.choices.chance(75) {
            // Later values come first, so that graphs become deep.
            let recent = there.len().min(12);
            let reach = if self.smith.choices.chance(70) { recent } else { there.len() };
            let back = self.smith.choices.below(reach);
            let (value, dims) = there.get(there.len().checked_sub(back.checked_add(1)?)?)?.clone();
            self.push(Operand::Value(value), Type::tensor(elem, Some(Shape::new(dims.iter().copied()))));
            return Some(dims);
        }
        let dims = make(self.smith);
        if let Some(operand) = self.new_operand(elem, &dims) {
            self.push(operand, Type::tensor(elem, Some(Shape::new(dims.iter().copied()))));
            return Some(dims);
        }
        let (value, dims) = there.into_iter().next_back()?;
        self.push(Operand::Value(value), Type::tensor(elem, Some(Shape::new(dims.iter().copied()))));
        Some(dims)
    }

    fn push(&mut self, operand: Operand, ty: Type) {
        self.operands.push(operand);
        self.types.push(Some(ty));
    }

    /// A new tensor of these sizes as the next operand.
    pub(crate) fn fresh(&mut self, dims: &[Dim]) -> Option<()> {
        let TypeForm::Tensor(elem) = self.form()? else { return None };
        let operand = self.new_operand(elem, dims)?;
        self.push(operand, Type::tensor(elem, Some(Shape::new(dims.iter().copied()))));
        Some(())
    }

    /// A new input or constant.
    fn new_operand(&mut self, elem: ElemType, dims: &[Dim]) -> Option<Operand> {
        let sizes: Option<Vec<i64>> = dims.iter().map(|dim| dim.known()).collect();
        let count =
            sizes.as_ref().and_then(|sizes| sizes.iter().try_fold(1_i64, |all, &size| all.checked_mul(size)));
        let is_small = count.is_some_and(|count| count <= MOST_ELEMENTS);
        let is_main = self.smith.kind() == Kind::Main;
        if is_small && (!is_main || self.smith.choices.chance(30)) {
            return self.random(elem, &sizes?).map(Operand::Constant);
        }
        let is_plain = dims.iter().all(|&dim| self.smith.is_plain(dim));
        (is_main && is_plain)
            .then(|| Operand::Input(Type::tensor(elem, Some(Shape::new(dims.iter().copied())))))
    }

    /// A tensor of small random numbers.
    pub(crate) fn random(&mut self, elem: ElemType, sizes: &[i64]) -> Option<Tensor> {
        let count = sizes.iter().try_fold(1_i64, |all, &size| all.checked_mul(size))?;
        let count = usize::try_from(count).ok().filter(|&count| count <= 4096)?;
        // One choice makes many numbers: bytes are for the structure.
        let (start, step) = (self.smith.choices.int(0, 3), self.smith.choices.int(1, 5));
        let numbers: Vec<i64> = (0..count)
            .map(|index| start.wrapping_add(step.wrapping_mul(index as i64)).rem_euclid(4))
            .collect();
        elements::tensor(elem, sizes, &numbers)
    }

    /// An operand that is not a tensor.
    fn other(&mut self, form: TypeForm) -> Option<Vec<Dim>> {
        let there: Vec<(ValueId, Type)> = self
            .smith
            .visible()
            .filter_map(|entry| Some((entry.value, entry.ty.to_type().filter(|ty| form.fits(ty))?)))
            .collect();
        if let Some(index) = there.len().checked_sub(1)
            && (self.smith.choices.chance(60) || self.smith.kind() != Kind::Main)
        {
            let back = self.smith.choices.below(there.len());
            let (value, ty) = there.get(index.checked_sub(back)?)?.clone();
            self.push(Operand::Value(value), ty);
            return Some(Vec::new());
        }
        if self.smith.kind() != Kind::Main {
            return None;
        }
        let mut ty = form.to_type();
        let mut inner = &mut ty;
        loop {
            inner = match &mut inner.kind {
                TypeKind::Tensor(tensor) | TypeKind::SparseTensor(tensor) => {
                    let rank = self.smith.choices.below(4);
                    tensor.shape = Some(Shape::new(self.smith.dims(rank)));
                    break;
                }
                TypeKind::Sequence(Some(inner)) | TypeKind::Optional(Some(inner)) => inner,
                TypeKind::Map { value: Some(value), .. } => value,
                _ => break,
            };
        }
        self.push(Operand::Input(ty.clone()), ty);
        Some(Vec::new())
    }

    /// An operand of any sizes.
    pub(crate) fn any(&mut self) -> Option<Vec<Dim>> {
        self.of_rank(0, 4)
    }

    /// An operand of any sizes with a rank in a range, both ends included.
    pub(crate) fn of_rank(&mut self, least: usize, most: usize) -> Option<Vec<Dim>> {
        self.operand(
            |dims| dims.len() >= least && dims.len() <= most.max(least),
            |smith| {
                let rank = smith.choices.between(least, most);
                smith.dims(rank)
            },
        )
    }

    /// An operand of exactly these sizes.
    pub(crate) fn shaped(&mut self, dims: &[Dim]) -> Option<()> {
        if dims.iter().any(|dim| dim.is_unknown()) {
            return None;
        }
        self.operand(|found| found == dims, |_| dims.to_vec()).map(drop)
    }

    /// An operand that broadcasts to these sizes.
    pub(crate) fn partner(&mut self, dims: &[Dim]) -> Option<Vec<Dim>> {
        let is_fitting = |found: &[Dim]| {
            found.len() <= dims.len()
                && found.iter().rev().zip(dims.iter().rev()).all(|(a, b)| a == b || *a == Dim::Known(1))
        };
        self.operand(is_fitting, |smith| {
            let keep = match smith.choices.below(4) {
                0 | 1 => dims.len(),
                2 => smith.choices.below(dims.len().saturating_add(1)),
                _ => 0,
            };
            let suffix = dims.get(dims.len().saturating_sub(keep)..).unwrap_or_default();
            suffix.iter().map(|&dim| if smith.choices.chance(20) { Dim::Known(1) } else { dim }).collect()
        })
    }

    /// A constant operand with these numbers, of rank 1.
    pub(crate) fn vector(&mut self, numbers: &[i64]) -> Option<()> {
        self.constant(&[i64::try_from(numbers.len()).ok()?], numbers)
    }

    /// A constant operand with this number, of rank 0.
    pub(crate) fn scalar(&mut self, number: i64) -> Option<()> {
        self.constant(&[], &[number])
    }

    /// A constant operand.
    pub(crate) fn constant(&mut self, dims: &[i64], numbers: &[i64]) -> Option<()> {
        let TypeForm::Tensor(elem) = self.form()? else { return None };
        let tensor = elements::tensor(elem, dims, numbers)?;
        self.push(Operand::Constant(tensor), Type::tensor(elem, Some(Shape::known(dims))));
        Some(())
    }

    /// Integers that early versions take as an attribute, and later ones as the next input.
    pub(crate) fn ints(&mut self, name: Symbol, numbers: &[i64]) -> Option<()> {
        if self.schema.attribute(name).is_some() {
            self.set(name, numbers.to_vec());
            return Some(());
        }
        self.vector(numbers)
    }

    /// Sets an attribute, where the schema has one of this name.
    pub(crate) fn set(&mut self, name: Symbol, value: impl Into<AttrValue>) {
        if self.schema.attribute(name).is_some() && !self.has(name) {
            self.attributes.push(Attribute::new(name, value));
        }
    }

    /// Begins a graph for an attribute.
    pub(crate) fn open(&mut self, inputs: &[Type]) -> GraphId {
        let name = self.smith.name("body");
        let graph = self.smith.model.new_graph(name);
        self.graphs.push(graph);
        self.smith.open(graph, Kind::Body, inputs);
        graph
    }

    /// Whether an attribute was set.
    pub(crate) fn has(&self, name: Symbol) -> bool {
        self.attributes.iter().any(|attribute| attribute.name() == name)
    }

    /// Leaves attributes out that would be filled in otherwise.
    pub(crate) fn leave(&mut self, names: &[Symbol]) {
        self.left_out.extend_from_slice(names);
    }

    /// Returns `true` if an attribute must still be filled in.
    pub(crate) fn is_open(&self, name: Symbol) -> bool {
        !self.left_out.contains(&name) && !self.has(name)
    }

    /// How many outputs the node has.
    pub(crate) fn make(&mut self, outputs: usize) {
        self.outputs = Some(outputs);
    }

    /// The version of the schema.
    pub(crate) const fn since(&self) -> i64 {
        self.schema.since_version()
    }
}
