//! Type variables: what the schema says about element types before any rule runs.

use std::sync::Arc;

use onnx_schema::{FormalOption, FormalType, Schema, TypeForm, TypeSet};
use onnx_types::{ElemType, Type};
use smallvec::SmallVec;

use crate::cx::{Cx, Outcome, Stop};
use crate::fault::{MISSING, TYPE_NOT_ALLOWED, TYPES_DIFFER};
use crate::ty::Ty;

/// What a type variable stands for at a node.
#[derive(Clone, Default)]
enum Binding {
    #[default]
    Free,
    Tensor(ElemType),
    Other(Arc<Type>),
}

impl Binding {
    fn of(cx: &Cx<'_, '_>, value: onnx_ir::ValueId) -> Self {
        if let Some(ty) = cx.state.table.other(value) {
            return Self::Other(Arc::clone(ty));
        }
        cx.state.table.elem(value).map_or(Self::Free, Self::Tensor)
    }

    fn ty(&self) -> Ty {
        match self {
            Self::Free => Ty::Unknown,
            Self::Tensor(elem) => Ty::Tensor(*elem, None),
            Self::Other(ty) => Ty::Other(Arc::clone(ty)).without_shape(),
        }
    }
}

/// Fills the outputs with the types that the schema's type variables give.
pub(super) fn bind(cx: &mut Cx<'_, '_>) -> Outcome {
    let Some(schema) = cx.schema else { return Ok(()) };
    count(cx, schema)?;
    let mut bound: SmallVec<[Binding; 4]> = SmallVec::from_elem(Binding::Free, schema.constraints().len());
    for index in 0..cx.input_count() {
        let (Some(value), Some(formal)) = (cx.input(index), schema.input_for(index)) else { continue };
        let free = formal.is_variadic() && !formal.is_homogeneous;
        let FormalType::Variable(variable) = formal.ty else {
            if cx.state.options.check_types {
                check(cx, schema, index, value)?;
            }
            continue;
        };
        if cx.state.options.check_types {
            check(cx, schema, index, value)?;
        }
        if let Some(slot) = bound.get_mut(usize::from(variable)).filter(|_| !free) {
            let binding = Binding::of(cx, value);
            match slot {
                Binding::Free => *slot = binding,
                known if cx.state.options.check_types => agree(cx, known, &binding, index)?,
                _ => {}
            }
        }
    }
    fill(cx, schema, &bound);
    Ok(())
}

/// Whether the node has as many inputs as the operator takes. Unless types are checked, too, only a node without any is
/// refused: rules speak for themselves of what they miss, and what is too much does no harm.
fn count(cx: &mut Cx<'_, '_>, schema: &'static Schema) -> Outcome {
    let inputs = cx.input_count();
    let is_refused = if cx.state.options.check_types {
        !schema.allows_inputs(inputs)
    } else {
        inputs == 0 && schema.min_inputs() > 0 && schema.has_inference()
    };
    if is_refused {
        return Err(cx.fail(&MISSING, format_args!("{schema} does not take {inputs} inputs")));
    }
    // Written, but left out by the call of the function that this is in. The reference looks at the first input alone.
    let is_left_out = cx.node.input(0).is_some() && !cx.has_input(0);
    if is_left_out && schema.input_for(0).is_some_and(|formal| formal.option == FormalOption::Single) {
        return Err(cx.fail(&MISSING, format_args!("{schema} needs the input that the call leaves out")));
    }
    Ok(())
}

/// Whether the outputs have types that the operator gives.
pub(super) fn check_outputs(cx: &mut Cx<'_, '_>) -> Outcome {
    let Some(schema) = cx.schema else { return Ok(()) };
    for index in 0..cx.output_count() {
        let (Some(formal), true) = (schema.output_for(index), cx.has_output(index)) else { continue };
        let allowed = schema.types_of(formal);
        let fits = match cx.output_ty(index) {
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

fn fill(cx: &mut Cx<'_, '_>, schema: &'static Schema, bound: &[Binding]) {
    for (index, out) in cx.outs.iter_mut().enumerate() {
        let Some(formal) = schema.output_for(index) else { continue };
        let only = |set: TypeSet| set.single().map_or(Ty::Unknown, |id| form(id.form()));
        out.ty = match formal.ty {
            FormalType::Concrete(id) => form(id.form()),
            FormalType::Variable(_) if formal.is_variadic() && !formal.is_homogeneous => continue,
            FormalType::Variable(variable) => match bound.get(usize::from(variable)) {
                None | Some(Binding::Free) => only(schema.types_of(formal)),
                Some(binding) => binding.ty(),
            },
        };
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
fn check(cx: &mut Cx<'_, '_>, schema: &'static Schema, index: usize, value: onnx_ir::ValueId) -> Outcome {
    let Some(formal) = schema.input_for(index) else { return Ok(()) };
    let allowed = schema.types_of(formal);
    let fits = match Binding::of(cx, value) {
        Binding::Free => return Ok(()),
        Binding::Tensor(elem) => allowed.contains_tensor(elem),
        Binding::Other(ty) => could_be(cx, allowed, &ty),
    };
    if fits {
        return Ok(());
    }
    let name = formal.name;
    Err(cx.fail(&TYPE_NOT_ALLOWED, format_args!("input {index} `{name}` of {schema} takes {allowed}")))
}

fn agree(cx: &mut Cx<'_, '_>, known: &Binding, found: &Binding, index: usize) -> Result<(), Stop> {
    let same = match (known, found) {
        (Binding::Tensor(known), Binding::Tensor(found)) => known == found,
        _ => cx.state.compatible(&known.ty(), &found.ty()),
    };
    if same {
        return Ok(());
    }
    Err(cx.fail(&TYPES_DIFFER, format_args!("input {index} must have the same type as the inputs before it")))
}
