//! Types at the connections: the sizes of different models that are equal, and contradictions.

use std::collections::{HashMap, HashSet};

use foldhash::fast::RandomState;
use onnx_ir::{Def, Model, ValueId};
use onnx_schema::Registry;
use onnx_shape_infer::{InferOptions, Inference, infer};
use onnx_types::{Dim, ElemType, Shape, Symbol, Type, TypeKind};

use super::declared::Declared;
use super::dims::{Classes, Size, Target, Targets, Var, variables_of};
use super::{Connection, MergeError, MergeOptions, Part};
use crate::interface::name;

/// Finds the dimension variables that connections make equal, and refuses connections of types that contradict.
///
/// The type of an input is a contract: callers choose the sizes of its variables. Of a result, only the type that
/// inference proves is used, because some models declare one variable for different sizes; a declared variable that is
/// not proved implies nothing about another model.
pub(super) fn unify(
    parts: &[Part<'_>],
    connections: &[Connection],
    declared: &Declared,
    (options, registry): (&MergeOptions<'_>, &Registry),
) -> Result<Classes, MergeError> {
    let mut classes = Classes::default();
    for name in &options.same_dimensions {
        let mut first = None;
        for var in declared.with_name(parts, name) {
            // Two variables without a size never contradict.
            let _ = classes.unite(Size::Var(*first.get_or_insert(var)), Size::Var(var));
        }
    }
    let mut sides =
        Sides { parts, declared, proved: parts.iter().map(|_| None).collect(), options, registry };
    for (index, connection) in connections.iter().enumerate() {
        let from = sides.from(connection.from)?;
        let to = sides.to(connection.to);
        let (Some(from), Some(to)) = (from, to) else { continue };
        compare(&from, &to, &mut classes).map_err(|reason| {
            let text = |(model, value): (usize, ValueId)| {
                let name = parts.get(model).map(|part| name(&part.model, value)).unwrap_or_default();
                format!("`{name}` of model {}", model.saturating_add(1))
            };
            let reason = format!("{} does not fit {}: {reason}", text(connection.from), text(connection.to));
            MergeError::Connection { index, reason }
        })?;
        for (var, size, reason) in sides.solutions(connection) {
            let united = size.map(|size| classes.unite(Size::Var(var), Size::Known(size)));
            if united.is_none_or(|united| united.is_err()) {
                return Err(MergeError::Connection { index, reason });
            }
        }
    }
    Ok(classes)
}

/// Refuses connections whose sizes contradict after variables were bound to numbers: what inference proves in the merged model, and
/// the contract of the input.
fn refuse_contradictions(
    inference: &Inference,
    (parts, connections): (&[Part<'_>], &[Connection]),
    (sources, targets): (&[ValueId], &Targets),
) -> Result<(), MergeError> {
    let number = |model: usize, dim: Dim| match dim {
        Dim::Var(name) => {
            let mut of_model = targets.get(model).into_iter().flatten();
            of_model.find_map(|(other, target)| match target {
                Target::Known(size) if *other == name => Some(*size),
                _ => None,
            })
        }
        dim => dim.known(),
    };
    for (index, (connection, &source)) in connections.iter().zip(sources).enumerate() {
        let (of, input) = connection.to;
        let Some(part) = parts.get(of) else { continue };
        let contract = part.model.ty(input).and_then(|ty| ty.shape());
        let (Some(contract), Some(proved)) = (contract, inference.shape(source)) else { continue };
        let pairs = proved.iter().zip(contract.dims()).enumerate();
        let known = |(axis, (a, b)): (usize, (&Dim, &Dim))| Some((axis, a.known()?, number(of, *b)?));
        if let Some((axis, a, b)) = pairs.filter_map(known).find(|(_, a, b)| a != b) {
            let name = name(&part.model, input);
            let of = of.saturating_add(1);
            let reason = format!(
                "axis {axis} is {a} with the sizes that the connections bind, and {b} for `{name}` of model {of}"
            );
            return Err(MergeError::Connection { index, reason });
        }
    }
    Ok(())
}

/// Finds the dimension variables that are equal because of what several models compute together: a size that one model computes
/// from its inputs, and that a result of another one has. `sources` are the values of the merged model that the connections begin
/// at, and `of_names` the variables by their names in it. Returns `true` if there are any.
pub(super) fn unify_merged(
    (parts, connections): (&[Part<'_>], &[Connection]),
    (model, sources): (&Model, &[ValueId]),
    (names, of_names, classes): (&Declared, &HashMap<String, Var, RandomState>, &mut Classes),
    (options, registry): (&MergeOptions<'_>, &Registry),
) -> Result<bool, MergeError> {
    let inference = prove(model, options, registry)?;
    let mut is_new = false;
    for (connection, &source) in connections.iter().zip(sources) {
        let (index, value) = connection.to;
        let contract = parts.get(index).and_then(|part| part.model.ty(value)?.shape());
        let (Some(contract), Some(proved)) = (contract, inference.shape(source)) else { continue };
        if contract.rank() != proved.len() {
            continue;
        }
        for (&proved, &declared) in proved.iter().zip(contract.dims()) {
            let (Dim::Var(proved), Dim::Var(declared)) = (proved, declared) else { continue };
            if names.is_expression(index, declared) {
                continue;
            }
            let name = proved.number().is_none().then(|| model.str(proved));
            if let Some(&var) = name.and_then(|name| of_names.get(name)) {
                // Variables that other connections bind to different numbers stay apart.
                let is_united = classes.unite(Size::Var(var), Size::Var((index, declared)));
                is_new |= is_united.unwrap_or_default();
            }
        }
    }
    Ok(is_new)
}

/// Removes declared sizes that a connection binds to a number and that inference does not prove: runtimes use or check
/// declared numbers, but not names, so only a wrong number affects them. `sizes` are the values that the connections begin at,
/// and the new sizes of each model.
///
/// # Errors
///
/// Refuses connections whose sizes contradict with these numbers.
pub(super) fn keep_proved(
    model: &mut Model,
    bound: &[(ValueId, usize)],
    of_parts: (&[Part<'_>], &[Connection]),
    sizes: (&[ValueId], &Targets),
    (options, registry): (&MergeOptions<'_>, &Registry),
) -> Result<(), MergeError> {
    if bound.is_empty() {
        return Ok(());
    }
    let inference = prove(model, options, registry)?;
    refuse_contradictions(&inference, of_parts, sizes)?;
    for &(value, axis) in bound {
        let Some(mut ty) = model.get_value(value).and_then(|record| record.ty().cloned()) else { continue };
        let proved = inference.shape(value).and_then(|shape| shape.get(axis)).and_then(|dim| dim.known());
        let (TypeKind::Tensor(tensor) | TypeKind::SparseTensor(tensor)) = &mut ty.kind else { continue };
        let shape = tensor.shape.as_mut().map(Shape::dims_mut);
        let Some(dim) = shape.and_then(|dims| dims.get_mut(axis)) else { continue };
        let known = match (*dim, proved) {
            (_, Some(size)) => Dim::Known(size),
            (Dim::Known(_) | Dim::Unknown, None) => Dim::Unknown,
            // An expression whose remaining variables are not bound.
            (left, None) => left,
        };
        if *dim != known {
            *dim = known;
            ty.source = None;
            model.set_type(value, Some(ty));
        }
    }
    Ok(())
}

/// Conclusions from the semantics of the operators only.
pub(super) fn prove(
    model: &Model,
    options: &MergeOptions<'_>,
    registry: &Registry,
) -> Result<Inference, MergeError> {
    let options = InferOptions::default()
        .with_registry(registry)
        .with_execution(options.execution.clone())
        .with_assumed(false);
    let inference = infer(model, &options);
    match inference.stopped() {
        Some(stopped) => Err(MergeError::Stopped(stopped)),
        None => Ok(inference),
    }
}

/// A type on one side of a connection.
struct Side<'a> {
    model: &'a Model,
    declared: &'a Declared,
    index: usize,
    ty: Type,
    /// The variables that have a meaning outside of the model; all of them if `None`.
    meant: Option<HashSet<Symbol, RandomState>>,
}

impl Side<'_> {
    fn size(&self, dim: Dim) -> Option<Size> {
        match dim {
            Dim::Known(size) => Some(Size::Known(size)),
            Dim::Var(name) if self.declared.is_expression(self.index, name) => None,
            Dim::Var(name) if self.meant.as_ref().is_none_or(|meant| meant.contains(&name)) => {
                Some(Size::Var((self.index, name)))
            }
            Dim::Var(_) | Dim::Expr(_) | Dim::Unknown => None,
        }
    }
}

struct Sides<'a> {
    parts: &'a [Part<'a>],
    declared: &'a Declared,
    /// The proved types of each model for which they were needed.
    proved: Vec<Option<(Inference, HashSet<Symbol, RandomState>)>>,
    options: &'a MergeOptions<'a>,
    registry: &'a Registry,
}

impl<'a> Sides<'a> {
    fn to(&self, (index, value): (usize, ValueId)) -> Option<Side<'a>> {
        let model = &*self.parts.get(index)?.model;
        Some(Side { model, declared: self.declared, index, ty: model.ty(value)?.clone(), meant: None })
    }

    fn from(&mut self, (index, value): (usize, ValueId)) -> Result<Option<Side<'a>>, MergeError> {
        let Some(part) = self.parts.get(index) else { return Ok(None) };
        let model = &*part.model;
        if matches!(model.value(value).def(), Def::Input { .. }) {
            return Ok(self.to((index, value)));
        }
        let Some(slot) = self.proved.get_mut(index) else { return Ok(None) };
        let (inference, meant) = match slot {
            Some(proved) => proved,
            None => {
                let inference = prove(model, self.options, self.registry)?;
                let inputs = model.graph(model.main_graph()).inputs();
                let meant = inputs.iter().flat_map(|&input| variables_of(model, model.ty(input))).collect();
                slot.insert((inference, meant))
            }
        };
        let proved = inference.ty(value).to_type();
        let ty = match (proved, model.ty(value)) {
            (Some(proved), Some(declared)) => with_declared_numbers(proved, declared),
            (Some(proved), None) => proved,
            (None, Some(declared)) => numbers_only(declared),
            (None, None) => return Ok(None),
        };
        Ok(Some(Side { model, declared: self.declared, index, ty, meant: Some(meant.clone()) }))
    }
}

impl Sides<'_> {
    /// The sizes of variables for which the sizes of a result that are expressions of one variable are the numbers of an input, each
    /// with the reason why the types contradict if there is none.
    fn solutions(&self, connection: &Connection) -> Vec<(Var, Option<i64>, String)> {
        let (of, value) = connection.from;
        let Some((inference, meant)) = self.proved.get(of).and_then(Option::as_ref) else {
            return Vec::new();
        };
        let contract = self.parts.get(connection.to.0).and_then(|part| part.model.ty(connection.to.1));
        let contract = contract.and_then(|ty| ty.shape()).map(Shape::dims).unwrap_or_default();
        let proved = inference.shape(value).unwrap_or_default();
        let mut found = Vec::new();
        for (axis, (&dim, number)) in proved.iter().zip(contract).enumerate() {
            let (Dim::Expr(_), Some(number)) = (dim, number.known()) else { continue };
            let [symbol] = inference.exprs().symbols(dim)[..] else { continue };
            let size = |at: i64| inference.exprs().eval(dim, &|_| Some(at));
            let (Some(zero), Some(one), Some(many)) = (size(0), size(1), size(1000)) else { continue };
            let slope = one.saturating_sub(zero);
            if slope == 0
                || many != slope.saturating_mul(1000).saturating_add(zero)
                || !meant.contains(&symbol)
            {
                continue;
            }
            let rest = number.saturating_sub(zero);
            let solution = rest.checked_div(slope).filter(|&at| at >= 0 && size(at) == Some(number));
            let name = self.parts.get(of).map(|part| part.model.str(symbol)).unwrap_or_default();
            let reason =
                format!("axis {axis} is not {number} for any size of `{name}` that the connections permit");
            found.push(((of, symbol), solution, reason));
        }
        found
    }
}

/// A proved type, with numbers of the declared one where no size is proved.
fn with_declared_numbers(mut proved: Type, declared: &Type) -> Type {
    let (TypeKind::Tensor(tensor), Some(other)) = (&mut proved.kind, declared.tensor_type()) else {
        return proved;
    };
    if tensor.elem == ElemType::Undefined {
        tensor.elem = other.elem;
    }
    let Some(declared) = &other.shape else { return proved };
    match &mut tensor.shape {
        None => tensor.shape = Some(numbers(declared)),
        Some(shape) if shape.rank() == declared.rank() => {
            for (dim, other) in shape.dims_mut().iter_mut().zip(declared.dims()) {
                if let (Dim::Unknown, Dim::Known(_)) = (*dim, *other) {
                    *dim = *other;
                }
            }
        }
        Some(_) => {}
    }
    proved
}

/// A declared type without its variables, which may mean anything.
fn numbers_only(declared: &Type) -> Type {
    let mut ty = declared.clone();
    if let TypeKind::Tensor(tensor) | TypeKind::SparseTensor(tensor) = &mut ty.kind {
        tensor.shape = tensor.shape.as_ref().map(numbers);
    }
    ty
}

fn numbers(shape: &Shape) -> Shape {
    shape.dims().iter().map(|&dim| if matches!(dim, Dim::Known(_)) { dim } else { Dim::Unknown }).collect()
}

/// Makes the sizes of two types equal; an error says what contradicts.
fn compare(from: &Side<'_>, to: &Side<'_>, classes: &mut Classes) -> Result<(), String> {
    let (mut a, mut b) = (&from.ty, &to.ty);
    loop {
        match (&a.kind, &b.kind) {
            (TypeKind::Undefined, _) | (_, TypeKind::Undefined) => return Ok(()),
            (TypeKind::Tensor(x), TypeKind::Tensor(y))
            | (TypeKind::SparseTensor(x), TypeKind::SparseTensor(y)) => {
                same_elem(x.elem, y.elem)?;
                let (Some(x), Some(y)) = (&x.shape, &y.shape) else { return Ok(()) };
                return shapes((from, x), (to, y), classes);
            }
            (TypeKind::Sequence(x), TypeKind::Sequence(y))
            | (TypeKind::Optional(x), TypeKind::Optional(y)) => {
                let (Some(x), Some(y)) = (x.as_deref(), y.as_deref()) else { return Ok(()) };
                (a, b) = (x, y);
            }
            (TypeKind::Map { key: k, value: x }, TypeKind::Map { key: l, value: y }) => {
                same_elem(*k, *l)?;
                let (Some(x), Some(y)) = (x.as_deref(), y.as_deref()) else { return Ok(()) };
                (a, b) = (x, y);
            }
            (TypeKind::Opaque { domain: d, name: n }, TypeKind::Opaque { domain: e, name: m }) => {
                let is_same =
                    from.model.str(*d) == to.model.str(*e) && from.model.str(*n) == to.model.str(*m);
                return if is_same { Ok(()) } else { Err("the opaque types differ".to_owned()) };
            }
            _ => return Err(format!("{} is not {}", kind(a), kind(b))),
        }
    }
}

const fn kind(ty: &Type) -> &'static str {
    match ty.kind {
        TypeKind::Undefined => "an unknown type",
        TypeKind::Tensor(_) => "a tensor",
        TypeKind::SparseTensor(_) => "a sparse tensor",
        TypeKind::Sequence(_) => "a sequence",
        TypeKind::Optional(_) => "an optional value",
        TypeKind::Map { .. } => "a map",
        TypeKind::Opaque { .. } => "an opaque value",
    }
}

fn same_elem(a: ElemType, b: ElemType) -> Result<(), String> {
    let is_open = a == ElemType::Undefined || b == ElemType::Undefined;
    if is_open || a == b { Ok(()) } else { Err(format!("the element types are {a} and {b}")) }
}

fn shapes(
    (from, a): (&Side<'_>, &Shape),
    (to, b): (&Side<'_>, &Shape),
    classes: &mut Classes,
) -> Result<(), String> {
    if a.rank() != b.rank() {
        return Err(format!("the ranks are {} and {}", a.rank(), b.rank()));
    }
    for (axis, (&a, &b)) in a.dims().iter().zip(b.dims()).enumerate() {
        if let (Some(a), Some(b)) = (from.size(a), to.size(b)) {
            classes.unite(a, b).map_err(|(a, b)| format!("axis {axis} is {a} and {b}"))?;
        }
    }
    Ok(())
}
