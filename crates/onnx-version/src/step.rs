//! One step of one node, as the functions of [`steps`](crate::steps) see it.

use onnx_diag::Quoted;
use onnx_ir::{AttrValue, Attribute, Builder, Model, NodeId, OpsetScope, Position, ValueId};
use onnx_schema::{AttrDefault, Schema, attr, domain, op};
use onnx_shape_infer::Elem;
use onnx_types::tensor::{NoData, Tensor, bf16, f16};
use onnx_types::{Dim, ElemType, Symbol};

use crate::identity::{self, Listed};
use crate::reason::{Cause, VersionReason};
use crate::sparse;
use crate::types::Types;

/// A node that is being converted from the version of one schema to that of another one, upwards or downwards.
pub(crate) struct Step<'a> {
    pub(crate) model: &'a mut Model,
    pub(crate) types: &'a mut Types,
    pub(crate) node: NodeId,
    /// The schema of the node as it is.
    pub(crate) old: &'static Schema,
    /// The schema of the target version of the step; that of the node if the version does not have the operator.
    pub(crate) new: &'static Schema,
    /// The version of the nodes that the step makes.
    pub(crate) version: i64,
    /// Whether an earlier step made the node.
    pub(crate) is_made: bool,
    /// Nodes that the step makes.
    pub(crate) made: Vec<NodeId>,
    /// Values with an entry in `value_info` that steps replaced.
    pub(crate) listed: &'a mut Listed,
}

/// Attributes.
impl Step<'_> {
    pub(crate) fn has(&self, name: Symbol) -> bool {
        self.model.node(self.node).attribute(name).is_some()
    }

    fn value(&self, name: Symbol) -> Result<Option<&AttrValue>, VersionReason> {
        let Some(attribute) = self.model.node(self.node).attribute(name) else { return Ok(None) };
        match attribute.value() {
            AttrValue::Ref(_) => Err(VersionReason::new(
                Cause::Reference,
                format!("`{}` refers to an attribute of the function", self.model.str(name)),
            )),
            value => Ok(Some(value)),
        }
    }

    fn wrong(&self, name: Symbol) -> VersionReason {
        format!("`{}` is not of the kind that the operator declares", self.model.str(name)).into()
    }

    /// An integer, or its default in the old version.
    pub(crate) fn int(&self, name: Symbol) -> Result<Option<i64>, VersionReason> {
        match (self.value(name)?, self.old.default_of(name)) {
            (Some(AttrValue::Int(value)), _) => Ok(Some(*value)),
            (Some(_), _) => Err(self.wrong(name)),
            (None, Some(AttrDefault::Int(value))) => Ok(Some(value)),
            _ => Ok(None),
        }
    }

    /// A flag, `false` if it is neither given nor has a default.
    pub(crate) fn flag(&self, name: Symbol) -> Result<bool, VersionReason> {
        Ok(self.int(name)?.unwrap_or(0) != 0)
    }

    /// A list of integers, as it is given.
    pub(crate) fn given_ints(&self, name: Symbol) -> Result<Option<Vec<i64>>, VersionReason> {
        match self.value(name)? {
            None => Ok(None),
            Some(AttrValue::Ints(values)) => Ok(Some(values.to_vec())),
            // A list without elements has no kind in some files.
            Some(AttrValue::None) => Ok(Some(Vec::new())),
            Some(_) => Err(self.wrong(name)),
        }
    }

    /// A number, or its default in the old version.
    pub(crate) fn float(&self, name: Symbol) -> Result<Option<f32>, VersionReason> {
        match (self.value(name)?, self.old.default_of(name)) {
            (Some(AttrValue::Float(value)), _) => Ok(Some(*value)),
            (Some(_), _) => Err(self.wrong(name)),
            (None, Some(AttrDefault::Float(value))) => Ok(Some(value)),
            _ => Ok(None),
        }
    }

    /// A text, or its default in the old version.
    pub(crate) fn text(&self, name: Symbol) -> Result<Option<String>, VersionReason> {
        match (self.value(name)?, self.old.default_of(name)) {
            (Some(AttrValue::String(text)), _) => {
                let text = std::str::from_utf8(text).map_err(|_| self.wrong(name))?;
                Ok(Some(text.to_owned()))
            }
            (Some(_), _) => Err(self.wrong(name)),
            (None, Some(AttrDefault::String(text))) => Ok(Some(text.to_owned())),
            _ => Ok(None),
        }
    }

    /// An attribute as it is given.
    pub(crate) fn given(&self, name: Symbol) -> Result<Option<AttrValue>, VersionReason> {
        Ok(self.value(name)?.cloned())
    }

    pub(crate) fn set(&mut self, name: Symbol, value: impl Into<AttrValue>) -> Result<(), VersionReason> {
        Ok(self.model.set_attribute(self.node, Attribute::new(name, value))?)
    }

    /// Sets a text.
    pub(crate) fn set_text(&mut self, name: Symbol, text: &'static str) -> Result<(), VersionReason> {
        self.set(name, AttrValue::String(text.into()))
    }

    /// The attributes of the node, for its replacement.
    pub(crate) fn attributes_except(&self, names: &[Symbol]) -> Vec<(Symbol, AttrValue)> {
        let attributes = self.model.node(self.node).attributes().iter();
        let attributes = attributes.filter(|attribute| !names.contains(&attribute.name()));
        attributes.map(|attribute| (attribute.name(), attribute.value().clone())).collect()
    }

    pub(crate) fn remove(&mut self, name: Symbol) {
        self.model.remove_attribute(self.node, name);
    }
}

/// Operands and results.
impl Step<'_> {
    pub(crate) fn input(&self, index: usize) -> Option<ValueId> {
        self.model.node(self.node).input(index)
    }

    /// An operand that the operator requires.
    pub(crate) fn operand(&self, index: usize) -> Result<ValueId, VersionReason> {
        self.input(index).ok_or_else(|| format!("input {index} is omitted").into())
    }

    /// The first output.
    pub(crate) fn output(&self) -> Result<ValueId, VersionReason> {
        self.model.node(self.node).output(0).ok_or_else(|| "the output is omitted".into())
    }

    /// An output that something uses.
    pub(crate) fn used_output(&self, index: usize) -> Option<ValueId> {
        let output = self.model.node(self.node).outputs().get(index).copied().flatten()?;
        self.is_used(output).then_some(output)
    }

    fn is_used(&self, value: ValueId) -> bool {
        self.model.consumers(value).next().is_some() || self.model.is_graph_output(value)
    }

    pub(crate) fn output_count(&self) -> usize {
        self.model.node(self.node).outputs().len()
    }

    pub(crate) fn set_input(&mut self, index: usize, value: Option<ValueId>) {
        while self.model.node(self.node).input_count() < index {
            self.model.push_input(self.node, None);
        }
        self.model.set_input(self.node, index, value);
    }

    /// Removes the inputs from an index on.
    pub(crate) fn cut_inputs(&mut self, count: usize) {
        while self.model.node(self.node).input_count() > count {
            self.model.remove_input(self.node, count);
        }
    }

    /// A value, for messages.
    pub(crate) fn described(&self, value: ValueId) -> String {
        described(self.model, value)
    }

    /// The element type of a value.
    pub(crate) fn elem(&self, value: ValueId) -> Result<ElemType, VersionReason> {
        self.types.elem(value).ok_or_else(|| {
            let text = format!("the element type of {} is unknown", self.described(value));
            VersionReason::new(Cause::TypeUnknown, text)
        })
    }

    /// The sizes of a value of known rank, each if it is a number.
    pub(crate) fn sizes(&self, value: ValueId) -> Option<Vec<Option<i64>>> {
        Some(self.types.dims(value)?.iter().map(|dim: &Dim| dim.known()).collect())
    }

    /// The dimensions of a value.
    pub(crate) fn dims(&self, value: ValueId) -> Result<Vec<Dim>, VersionReason> {
        self.types.dims(value).map(<[Dim]>::to_vec).ok_or_else(|| self.no_rank(value))
    }

    /// The sizes of a value, all of which must be numbers.
    pub(crate) fn known_sizes(&self, value: ValueId) -> Result<Vec<i64>, VersionReason> {
        let sizes: Option<Vec<i64>> = self.dims(value)?.iter().map(|dim| dim.known()).collect();
        sizes.ok_or_else(|| {
            VersionReason::new(Cause::ShapeUnknown, format!("a size of {} is unknown", self.described(value)))
        })
    }

    /// The rank of a value.
    pub(crate) fn rank(&self, value: ValueId) -> Result<i64, VersionReason> {
        let dims = self.types.dims(value);
        dims.and_then(|dims| i64::try_from(dims.len()).ok()).ok_or_else(|| self.no_rank(value))
    }

    fn no_rank(&self, value: ValueId) -> VersionReason {
        VersionReason::new(Cause::ShapeUnknown, format!("the rank of {} is unknown", self.described(value)))
    }

    /// The elements of a constant that no caller of the model can replace.
    pub(crate) fn constant_of(&self, value: ValueId) -> Option<Tensor> {
        let record = self.model.value(value);
        if let Some(node) = record.producer() {
            let sparse = || sparse::dense(sparse::value(self.model, node)?);
            return self.model.node(node).constant_tensor().or_else(sparse);
        }
        self.model.constant_tensor(value).filter(|_| !self.is_overridable(value)).cloned()
    }

    /// Whether a value is an initializer that callers of the model can replace.
    fn is_overridable(&self, value: ValueId) -> bool {
        let record = self.model.value(value);
        record.initializer().is_some()
            && (matches!(record.def(), onnx_ir::Def::Input { .. }) || self.model.info().ir_version < 4)
    }

    /// The reason why an operand is not a constant.
    fn not_constant(&self, value: ValueId, what: &str) -> VersionReason {
        match self.is_overridable(value) {
            true => VersionReason::new(
                Cause::Overridable,
                format!("{what}, {}, is the default of an input", self.described(value)),
            ),
            false => VersionReason::new(
                Cause::NotConstant,
                format!("{what}, {}, is not constant", self.described(value)),
            ),
        }
    }

    /// The elements of an operand that is constant.
    pub(crate) fn tensor(&self, value: ValueId, what: &str) -> Result<Tensor, VersionReason> {
        self.constant_of(value).ok_or_else(|| self.not_constant(value, what))
    }

    /// The integers of an operand that is constant, or that inference proves to be.
    pub(crate) fn ints(&self, value: ValueId, what: &str) -> Result<Vec<i64>, VersionReason> {
        let known: Option<Vec<i64>> = self.int_dims(value, what)?.into_iter().map(Dim::known).collect();
        known.ok_or_else(|| self.not_constant(value, what))
    }

    /// The integers of an operand, each a number or a size of the model, of which inference proves at least the number.
    pub(crate) fn int_dims(&self, value: ValueId, what: &str) -> Result<Vec<Dim>, VersionReason> {
        if let Some(tensor) = self.constant_of(value) {
            let elements = tensor.iter_i64(&NoData);
            return elements
                .map(|elements| elements.map(Dim::Known).collect())
                .map_err(|_| VersionReason::new(Cause::NotConstant, format!("{what} cannot be read")));
        }
        let refused = || self.not_constant(value, what);
        let original = self.types.original(value);
        let inference = self.types.inference().ok_or_else(refused)?;
        let content = inference.content(original).ok_or_else(refused)?;
        // The value may have been made after inference; what is known about another model would be wrong.
        let graph = self.model.node(self.node).graph();
        let is_proved = inference
            .content_justification(self.model, original)
            .is_some_and(|justification| justification.is_proved_in(self.model, graph));
        let dim = |elem: &Elem| match *elem {
            Elem::Int(dim) => dim,
            _ => Dim::Unknown,
        };
        is_proved.then(|| content.iter().map(dim).collect()).ok_or_else(refused)
    }

    /// The numbers of an operand that is constant.
    pub(crate) fn floats(&self, value: ValueId, what: &str) -> Result<Vec<f64>, VersionReason> {
        let elements = self.tensor(value, what)?.iter_f64(&NoData).map(Iterator::collect);
        elements.map_err(|_| VersionReason::new(Cause::NotConstant, format!("{what} cannot be read")))
    }

    /// An axis counted from the front.
    pub(crate) fn positive(&self, axis: i64, value: ValueId) -> Result<i64, VersionReason> {
        match axis < 0 {
            true => Ok(axis.saturating_add(self.rank(value)?)),
            false => Ok(axis),
        }
    }
}

/// New nodes.
impl Step<'_> {
    fn build_at(&mut self, at: Position) -> Builder<'_> {
        let node = self.node;
        self.model.build_at(at).with_version(domain::ONNX, self.version).derive("convert", &[node])
    }

    fn record(&mut self, made: ValueId) -> ValueId {
        self.made.extend(self.model.value(made).producer());
        made
    }

    /// A constant before the node. Before version 4 of the format, an initializer would be an input, and a function has none.
    pub(crate) fn constant(&mut self, tensor: Tensor) -> Result<ValueId, VersionReason> {
        crate::results::check_tensor(&tensor)?;
        let elem = tensor.elem();
        if !self.has_initializers() {
            return self.constant_node(tensor);
        }
        let made = self.build_at(Position::Before(self.node)).constant(tensor)?;
        self.types.set_elem(made, elem);
        Ok(self.record(made))
    }

    /// Whether constants in the graph of the node can be initializers.
    pub(crate) fn has_initializers(&self) -> bool {
        let graph = self.model.node(self.node).graph();
        self.model.info().ir_version >= 4 && matches!(self.model.scope(graph), OpsetScope::Model)
    }

    /// A constant that is a node. Before version 9, only floats are allowed, and a `Cast` makes others from them.
    fn constant_node(&mut self, tensor: Tensor) -> Result<ValueId, VersionReason> {
        let elem = tensor.elem();
        let tensor = if self.version < 9 && !has_floats(&tensor) { as_double(&tensor)? } else { tensor };
        let of_node = tensor.elem();
        let mut build = self.build_at(Position::Before(self.node));
        let made = build.op(op::CONSTANT, []).attr(attr::VALUE, tensor).output()?;
        self.types.set_elem(made, of_node);
        let made = self.record(made);
        self.cast(made, elem)
    }

    /// A list of integers before the node.
    pub(crate) fn list(&mut self, values: &[i64]) -> Result<ValueId, VersionReason> {
        self.constant(Tensor::vector(values))
    }

    /// A number of an element type before the node.
    pub(crate) fn number(&mut self, number: f32, elem: ElemType) -> Result<ValueId, VersionReason> {
        self.constant(float_scalar(number, elem)?)
    }

    /// A node with one output before the node of the step.
    pub(crate) fn before(
        &mut self,
        op: Symbol,
        inputs: &[ValueId],
        attributes: &[(Symbol, AttrValue)],
    ) -> Result<ValueId, VersionReason> {
        self.insert(Position::Before(self.node), op, inputs, attributes)
    }

    /// A node before the node of the step, whose output has the element type of another value.
    pub(crate) fn like(
        &mut self,
        value: ValueId,
        op: Symbol,
        inputs: &[ValueId],
        attributes: &[(Symbol, AttrValue)],
    ) -> Result<ValueId, VersionReason> {
        let made = self.before(op, inputs, attributes)?;
        if let Some(elem) = self.types.elem(value) {
            self.types.set_elem(made, elem);
        }
        Ok(made)
    }

    fn insert(
        &mut self,
        at: Position,
        op: Symbol,
        inputs: &[ValueId],
        attributes: &[(Symbol, AttrValue)],
    ) -> Result<ValueId, VersionReason> {
        let mut build = self.build_at(at);
        let mut node = build.op(op, inputs.iter().copied());
        for (name, value) in attributes {
            node = node.attr(*name, value.clone());
        }
        let made = node.output()?;
        Ok(self.record(made))
    }

    /// A value of another element type before the node.
    pub(crate) fn cast(&mut self, value: ValueId, to: ElemType) -> Result<ValueId, VersionReason> {
        if self.types.elem(value) == Some(to) {
            return Ok(value);
        }
        let code = match self.version < 6 {
            true => AttrValue::String(to.proto_name().as_bytes().to_vec().into()),
            false => AttrValue::Int(to.code().into()),
        };
        let made = self.before(op::CAST, &[value], &[(attr::TO, code)])?;
        self.types.set_elem(made, to);
        Ok(made)
    }

    /// `Squeeze` or `Unsqueeze`, whose axes are an operand from version 13 on.
    pub(crate) fn with_axes(
        &mut self,
        op: Symbol,
        value: ValueId,
        axes: &[i64],
    ) -> Result<ValueId, VersionReason> {
        if self.version < 13 {
            return self.like(value, op, &[value], &[(attr::AXES, AttrValue::Ints(axes.to_vec()))]);
        }
        let axes = self.list(axes)?;
        self.like(value, op, &[value, axes], &[])
    }

    /// The same elements in another shape; a 0 stands for the size of the operand.
    pub(crate) fn reshape(&mut self, value: ValueId, sizes: &[i64]) -> Result<ValueId, VersionReason> {
        if self.version < 5 {
            let sizes = AttrValue::Ints(sizes.to_vec());
            return self.like(value, op::RESHAPE, &[value], &[(attr::SHAPE, sizes)]);
        }
        let sizes = self.list(sizes)?;
        self.like(value, op::RESHAPE, &[value, sizes], &[])
    }

    /// Axes in another order.
    pub(crate) fn transpose(&mut self, value: ValueId, order: &[i64]) -> Result<ValueId, VersionReason> {
        self.like(value, op::TRANSPOSE, &[value], &[(attr::PERM, AttrValue::Ints(order.to_vec()))])
    }

    /// Repeats a value of known sizes until it has others.
    pub(crate) fn tile(&mut self, value: ValueId, sizes: &[i64]) -> Result<ValueId, VersionReason> {
        let own = self.known_sizes(value)?;
        let missing = sizes.len().checked_sub(own.len()).ok_or("the operands cannot be broadcast")?;
        let mut padded = vec![1_i64; missing];
        padded.extend(&own);
        let copies: Vec<i64> =
            sizes.iter().zip(&padded).map(|(&size, &own)| if own == size { 1 } else { size }).collect();
        let value = match missing {
            0 => value,
            // `Reshape` would take the size of another axis for a 0.
            _ => self.with_axes(op::UNSQUEEZE, value, &(0..missing as i64).collect::<Vec<_>>())?,
        };
        if copies.iter().all(|&copies| copies == 1) {
            return Ok(value);
        }
        let repeats = self.list(&copies)?;
        self.like(value, op::TILE, &[value, repeats], &[])
    }

    /// Inserts a node that reads an output of the node and replaces it in all other uses; `elem` is the element type of
    /// the output from then on.
    pub(crate) fn wrap_output(
        &mut self,
        output: ValueId,
        elem: Option<ElemType>,
        op: Symbol,
        more: &[ValueId],
        attributes: &[(Symbol, AttrValue)],
    ) -> Result<(), VersionReason> {
        let mut inputs = vec![output];
        inputs.extend(more);
        let made = self.insert(Position::After(self.node), op, &inputs, attributes)?;
        let ty = self.model.ty(output).cloned();
        identity::replace(self.model, self.listed, output, made);
        if let Some(node) = self.model.value(made).producer() {
            self.model.set_input(node, 0, Some(output));
        }
        self.model.set_type(made, ty);
        self.model.set_type(output, None::<onnx_types::Type>);
        self.types.stand_for(made, output);
        if let Some(elem) = elem {
            self.types.set_elem(output, elem);
        }
        Ok(())
    }

    /// Replaces the only used output by a value before the node, and erases the node.
    pub(crate) fn replace(&mut self, with: ValueId) -> Result<(), VersionReason> {
        self.replace_all(&[Some(with)])
    }

    /// Replaces the outputs by values before the node, and erases the node.
    pub(crate) fn replace_all(&mut self, with: &[Option<ValueId>]) -> Result<(), VersionReason> {
        let outputs = self.model.node(self.node).outputs().to_vec();
        for (index, output) in outputs.iter().enumerate() {
            let (Some(old), new) = (*output, with.get(index).copied().flatten()) else { continue };
            let Some(new) = new else {
                if self.is_used(old) {
                    return Err(format!("output {index} is used").into());
                }
                continue;
            };
            let new = identity::apart(self.model, &mut self.made, old, new)?;
            if self.model.can_replace(old, new) {
                if self.model.value(new).producer().is_some() && self.model.ty(new).is_none() {
                    let ty = self.model.ty(old).cloned();
                    self.model.set_type(new, ty);
                }
                self.types.stand_for(new, old);
                identity::replace(self.model, self.listed, old, new);
            } else if let Some(alias) = self.model.replace_or_alias(old, new)? {
                self.made.push(alias);
                if let Some(value) = self.model.node(alias).output(0) {
                    self.types.stand_for(value, old);
                }
            }
        }
        Ok(self.model.erase_node(self.node)?)
    }

    /// Calls another operator.
    pub(crate) fn rename(&mut self, op: Symbol) {
        let record = self.model.node(self.node);
        let (domain, overload) = (record.written_domain(), record.overload());
        self.model.set_op(self.node, domain, op, overload);
    }
}

/// A value, for messages: its name, or what computes it. Values that steps make have no names.
pub(crate) fn described(model: &Model, value: ValueId) -> String {
    let record = model.value(value);
    if !record.name().is_empty() {
        return Quoted(model.str(record.name())).to_string();
    }
    match record.producer() {
        Some(node) => {
            let op = model.node(node).op();
            format!("the result of a node {}", Quoted(model.str(op)))
        }
        None => "a value without a name".to_owned(),
    }
}

/// A number of an element type of floats, rounded to the nearest.
pub(crate) fn float_scalar(number: f32, elem: ElemType) -> Result<Tensor, VersionReason> {
    Ok(match elem {
        ElemType::Float => Tensor::scalar(number),
        ElemType::Double => Tensor::scalar(f64::from(number)),
        ElemType::Float16 => Tensor::scalar(f16::from_f32(number)),
        ElemType::Bfloat16 => Tensor::scalar(bf16::from_f32(number)),
        _ => return Err(not_float(elem)),
    })
}

/// Numbers of an element type of floats, rounded to the nearest.
pub(crate) fn float_list(dims: Vec<i64>, numbers: &[f64], elem: ElemType) -> Result<Tensor, VersionReason> {
    let singles = || numbers.iter().map(|&number| number as f32);
    let made = match elem {
        ElemType::Float => Tensor::from_slice(dims, &singles().collect::<Vec<f32>>()),
        ElemType::Double => Tensor::from_slice(dims, numbers),
        ElemType::Float16 => Tensor::from_slice(dims, &singles().map(f16::from_f32).collect::<Vec<f16>>()),
        ElemType::Bfloat16 => Tensor::from_slice(dims, &singles().map(bf16::from_f32).collect::<Vec<bf16>>()),
        _ => return Err(not_float(elem)),
    };
    made.map_err(|fault| fault.to_string().into())
}

/// A tensor of an element type of floats whose elements all are one number.
pub(crate) fn float_splat(dims: Vec<i64>, number: f64, elem: ElemType) -> Result<Tensor, VersionReason> {
    let single = number as f32;
    let made = match elem {
        ElemType::Float => Tensor::splat(dims, single),
        ElemType::Double => Tensor::splat(dims, number),
        ElemType::Float16 => Tensor::splat(dims, f16::from_f32(single)),
        ElemType::Bfloat16 => Tensor::splat(dims, bf16::from_f32(single)),
        _ => return Err(not_float(elem)),
    };
    made.map_err(|fault| fault.to_string().into())
}

/// Whether a constant has floats that every version of `Constant` allows.
pub(crate) fn has_floats(tensor: &Tensor) -> bool {
    [ElemType::Float, ElemType::Double, ElemType::Float16].contains(&tensor.elem())
}

/// The elements of a tensor of integers as `double`, from which a `Cast` makes them again.
pub(crate) fn as_double(tensor: &Tensor) -> Result<Tensor, VersionReason> {
    let elem = tensor.elem();
    let refused = || {
        let text = format!("before version 9, no constant is cast to these elements of type {}", elem.name());
        VersionReason::new(Cause::TypeNotAllowed, text)
    };
    if elem.is_float() {
        return Err(refused());
    }
    let numbers: Vec<f64> = tensor.iter_f64(&NoData).map_err(|_| refused())?.collect();
    // Every integer below 2^53 is a `double`, and no other one is rounded to such a number.
    if numbers.iter().any(|number| number.abs() >= 9_007_199_254_740_992.0) {
        return Err(refused());
    }
    Tensor::from_slice(tensor.dims().to_vec(), &numbers).map_err(|_| refused())
}

fn not_float(elem: ElemType) -> VersionReason {
    let text = format!("a number of type {} cannot be made from an attribute", elem.name());
    VersionReason::new(Cause::TypeNotAllowed, text)
}
