//! Type variables: what the schema says about element types before any rule runs.

use std::sync::Arc;

use onnx_ir::ValueId;
use onnx_schema::{
    DeclaredFormal, DeclaredSchema, DeclaredType, Formal, FormalOption, FormalType, TypeForm, TypeSet,
};
use onnx_types::{ElemType, Type};
use smallvec::SmallVec;

use crate::cx::signature::Signature;
use crate::cx::{Cx, Outcome, Stop};
use crate::fault::{MISSING, TYPE_NOT_ALLOWED, TYPES_DIFFER};
use crate::table::{Kind, Table};
use crate::ty::Ty;

/// What a type variable stands for at a node.
#[derive(Clone, Copy, Default)]
enum Binding {
    #[default]
    Free,
    Tensor(ElemType),
    /// The type of this value, which is not a dense tensor.
    Other(ValueId),
}

impl Binding {
    fn of(cx: &Cx<'_, '_>, value: ValueId) -> Self {
        match cx.state.table.kind(value) {
            Kind::Unknown => Self::Free,
            Kind::Tensor(elem) => Self::Tensor(elem),
            Kind::Other => Self::Other(value),
        }
    }

    fn ty(self, table: &Table) -> Ty {
        match self {
            Self::Free => Ty::Unknown,
            Self::Tensor(elem) => Ty::Tensor(elem, None),
            Self::Other(value) => {
                table.other(value).map_or(Ty::Unknown, |ty| Ty::Other(Arc::clone(ty)).without_shape())
            }
        }
    }
}

/// Fills the outputs with the types that the schema's type variables give.
pub(super) fn bind(cx: &mut Cx<'_, '_>) -> Outcome {
    let Some(schema) = cx.signature() else { return Ok(()) };
    count(cx, schema)?;
    if cx.state.options.check_types {
        check_inputs(cx, schema)?;
    }
    fill(cx, schema);
    super::single::check(cx)
}

/// Fills the outputs with the types that a declaration gives: those of a concrete type, and of type variables with a known
/// input.
pub(super) fn fill_declared(cx: &mut Cx<'_, '_>, schema: &DeclaredSchema) {
    let variable = |formal: &DeclaredFormal| match &formal.ty {
        DeclaredType::Variable(name) if formal.is_homogeneous => Some(name.clone()),
        _ => None,
    };
    for index in 0..cx.outs.len() {
        let Some(formal) = schema.output_for(index) else { break };
        let single = schema.types_of(formal).and_then(TypeSet::single).map(|id| form(id.form()));
        let of_inputs = || {
            let wanted = variable(formal)?;
            let is_bound =
                |&index: &usize| schema.input_for(index).and_then(variable).as_ref() == Some(&wanted);
            let inputs = (0..cx.input_count()).filter(is_bound).filter_map(|index| cx.input(index));
            inputs.map(|value| Binding::of(cx, value)).find(|binding| !matches!(binding, Binding::Free))
        };
        let ty = single.or_else(|| Some(of_inputs()?.ty(&cx.state.table)));
        if let (Some(ty), Some(out)) = (ty, cx.outs.get_mut(index)) {
            out.ty = ty;
        }
    }
}

/// The type variable of a formal, if all values at its place have one type.
fn variable(formal: &Formal) -> Option<u8> {
    match formal.ty {
        FormalType::Variable(variable) if !formal.is_variadic() || formal.is_homogeneous => Some(variable),
        _ => None,
    }
}

/// What a type variable stands for: the type of the first input of it that is known.
fn bound(cx: &Cx<'_, '_>, schema: Signature, wanted: u8) -> Binding {
    let of = |index| {
        let formal = schema.input_for(index)?;
        let binding = Binding::of(cx, cx.input(index).filter(|_| variable(formal) == Some(wanted))?);
        (!matches!(binding, Binding::Free)).then_some(binding)
    };
    (0..cx.input_count()).find_map(of).unwrap_or_default()
}

/// Whether the inputs have types that the operator takes, and those of one type variable the same.
fn check_inputs(cx: &mut Cx<'_, '_>, schema: Signature) -> Outcome {
    let mut bound: SmallVec<[Binding; 4]> = SmallVec::from_elem(Binding::Free, schema.constraints().len());
    for index in 0..cx.input_count() {
        let (Some(value), Some(formal)) = (cx.input(index), schema.input_for(index)) else { continue };
        check(cx, schema, index, value)?;
        let Some(slot) = variable(formal).and_then(|variable| bound.get_mut(usize::from(variable))) else {
            continue;
        };
        let found = Binding::of(cx, value);
        match *slot {
            Binding::Free => *slot = found,
            known => agree(cx, known, found, index)?,
        }
    }
    Ok(())
}

/// Whether the node has as many inputs as the operator takes. Unless types are checked, too, only a node without any is
/// refused: rules speak for themselves of what they miss, and what is too much does no harm.
fn count(cx: &mut Cx<'_, '_>, schema: Signature) -> Outcome {
    let inputs = cx.input_count();
    let is_refused = if cx.state.options.check_types {
        !schema.allows_inputs(inputs)
    } else {
        inputs == 0 && schema.min_inputs() > 0 && schema.has_inference()
    };
    if is_refused {
        return Err(cx.fail(&MISSING, format_args!("{schema} does not take {inputs} inputs")));
    }
    // Written, but omitted by the call of the enclosing function. The reference checks only the first input.
    let is_left_out = cx.node.input(0).is_some() && !cx.has_input(0);
    if is_left_out && schema.input_for(0).is_some_and(|formal| formal.option == FormalOption::Single) {
        return Err(cx.fail(&MISSING, format_args!("{schema} needs the input that the call leaves out")));
    }
    Ok(())
}

/// Whether the outputs have types that the operator gives.
pub(super) fn check_outputs(cx: &mut Cx<'_, '_>) -> Outcome {
    let Some(schema) = cx.signature() else { return Ok(()) };
    for (index, out) in cx.outs.iter().enumerate() {
        let (Some(formal), true) = (schema.output_for(index), cx.has_output(index)) else { continue };
        let allowed = schema.types_of(formal);
        let fits = match &out.ty {
            Ty::Unknown | Ty::Tensor(ElemType::Undefined, _) => true,
            Ty::Tensor(elem, _) => allowed.contains_tensor(*elem),
            Ty::Other(ty) => could_be(cx, allowed, ty),
        };
        if !fits {
            let name = formal.name;
            let message = format!("output {index} `{name}` of {schema} is one of {allowed}");
            return Err(cx.fail(&TYPE_NOT_ALLOWED, message));
        }
    }
    Ok(())
}

fn fill(cx: &mut Cx<'_, '_>, schema: Signature) {
    // Outputs of one variable often follow each other, and can be many.
    let mut last = None;
    for index in 0..cx.outs.len() {
        let Some(formal) = schema.output_for(index) else { break };
        let binding = match (variable(formal), last) {
            (Some(variable), Some((known, binding))) if variable == known => binding,
            (Some(variable), _) => bound(cx, schema, variable),
            (None, _) => Binding::Free,
        };
        last = variable(formal).map(|variable| (variable, binding)).or(last);
        let Some(out) = cx.outs.get_mut(index) else { break };
        match formal.ty {
            FormalType::Concrete(id) => out.ty = form(id.form()),
            FormalType::Variable(_) if formal.is_variadic() && !formal.is_homogeneous => {}
            FormalType::Variable(_) => match binding {
                Binding::Free => {
                    out.ty = schema.types_of(formal).single().map_or(Ty::Unknown, |id| form(id.form()));
                }
                Binding::Tensor(elem) => out.ty = Ty::Tensor(elem, None),
                Binding::Other(_) => out.ty = binding.ty(&cx.state.table),
            },
        }
    }
}

/// Whether a value can be of one of the types, as far as its own type is known.
fn could_be(cx: &Cx<'_, '_>, allowed: TypeSet, ty: &Arc<Type>) -> bool {
    let found = Ty::Other(Arc::clone(ty)).without_shape();
    allowed.contains_type(ty) || allowed.iter().any(|id| cx.state.compatible(&form(id.form()), &found))
}

fn form(form: &'static TypeForm) -> Ty {
    match form {
        TypeForm::Tensor(elem) => Ty::Tensor(*elem, None),
        other => other.to_type().into(),
    }
}

/// Whether an input has a type that the operator takes.
fn check(cx: &mut Cx<'_, '_>, schema: Signature, index: usize, value: ValueId) -> Outcome {
    let Some(formal) = schema.input_for(index) else { return Ok(()) };
    let allowed = schema.types_of(formal);
    let fits = match Binding::of(cx, value) {
        Binding::Free => return Ok(()),
        Binding::Tensor(elem) => allowed.contains_tensor(elem),
        Binding::Other(value) => cx.state.table.other(value).is_none_or(|ty| could_be(cx, allowed, ty)),
    };
    if fits {
        return Ok(());
    }
    let name = formal.name;
    Err(cx.fail(&TYPE_NOT_ALLOWED, format_args!("input {index} `{name}` of {schema} takes {allowed}")))
}

fn agree(cx: &mut Cx<'_, '_>, known: Binding, found: Binding, index: usize) -> Result<(), Stop> {
    let same = match (known, found) {
        (Binding::Tensor(known), Binding::Tensor(found)) => known == found,
        _ => cx.state.compatible(&known.ty(&cx.state.table), &found.ty(&cx.state.table)),
    };
    if same {
        return Ok(());
    }
    Err(cx.fail(&TYPES_DIFFER, format_args!("input {index} must have the same type as the inputs before it")))
}
