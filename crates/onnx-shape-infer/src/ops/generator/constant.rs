//! `Constant`: a tensor that an attribute gives, from version 11 on also in a sparse format, from version 12 on also numbers and
//! texts. Its elements are known even where others are not followed. There must be exactly one of these attributes; version 1
//! is not held to that, as in the reference.

use onnx_ir::{AttrValue, Attribute};
use onnx_schema::{ExclusivePart, attr, op};
use onnx_types::{Dim, ElemType, Symbol};

use crate::content::Elem;
use crate::cx::{Cx, Outcome, Stop};
use crate::fault::{BAD_ATTRIBUTE, MISSING};
use crate::registry::{OpRules, infer, since};

pub(super) const RULES: OpRules =
    infer(op::CONSTANT, &[since(1, |cx| constant(cx, true)), since(9, |cx| constant(cx, false))])
        .with_elements();

fn constant(cx: &mut Cx<'_, '_>, may_be_missing: bool) -> Outcome {
    // The first versions have one attribute, and nothing to choose.
    let set = cx.schema.and_then(|schema| schema.exclusions().next());
    let parts = set.map_or(&[ExclusivePart::Attribute(attr::VALUE)][..], |set| set.parts);
    let is_given = |&name: &Symbol| parts.contains(&ExclusivePart::Attribute(name)) && cx.has_attribute(name);
    let mut given = cx.node().attributes().iter().map(Attribute::name).filter(is_given);
    let first = given.next();
    // The same one twice is another matter.
    let second = given.find(|&name| Some(name) != first);
    let Some(name) = first else {
        if may_be_missing {
            return Err(Stop::Unknown);
        }
        return Err(cx.fail(&MISSING, "the value is missing"));
    };
    if second.is_some() {
        return Err(cx.fail(&BAD_ATTRIBUTE, "more than one attribute gives a value"));
    }
    if name == attr::VALUE {
        let tensor = cx.tensor_attr(name)?.ok_or(Stop::Unknown)?;
        cx.set_elem(0, tensor.elem());
        cx.set_shape(0, tensor.dims().iter().map(|&size| Dim::Known(size)));
        return values(cx, name);
    }
    if name == attr::SPARSE_VALUE {
        return sparse(cx);
    }
    let (elem, count) = if name == attr::VALUE_FLOAT {
        cx.float(name)?;
        (ElemType::Float, None)
    } else if name == attr::VALUE_FLOATS {
        (ElemType::Float, cx.floats(name)?.map(<[f32]>::len))
    } else if name == attr::VALUE_INT {
        cx.int(name)?;
        (ElemType::Int64, None)
    } else if name == attr::VALUE_INTS {
        (ElemType::Int64, cx.ints(name)?.map(<[i64]>::len))
    } else if name == attr::VALUE_STRING {
        string(cx, name)?;
        (ElemType::String, None)
    } else {
        (ElemType::String, cx.texts(name)?)
    };
    cx.set_elem(0, elem);
    let size = count.map(|count| i64::try_from(count).map_or(Dim::Unknown, Dim::Known));
    cx.set_shape(0, size);
    values(cx, name)
}

/// A text need not be UTF-8 here.
fn string(cx: &mut Cx<'_, '_>, name: Symbol) -> Outcome {
    match cx.attribute(name).map(Attribute::value) {
        Some(AttrValue::String(_)) => Ok(()),
        _ => cx.text(name).map(|_| ()),
    }
}

fn sparse(cx: &mut Cx<'_, '_>) -> Outcome {
    let Some(AttrValue::SparseTensor(tensor)) = cx.attribute(attr::SPARSE_VALUE).map(Attribute::value) else {
        return Err(cx.fail(&BAD_ATTRIBUTE, "attribute `sparse_value` is not a sparse tensor"));
    };
    // Only the attribute is in a sparse format: the output is a dense tensor.
    let elem = tensor.values.as_ref().map_or(ElemType::Undefined, onnx_types::tensor::Tensor::elem);
    cx.set_elem(0, elem);
    cx.set_shape(0, tensor.dims.iter().map(|&size| Dim::Known(size)));
    Ok(())
}

fn values(cx: &mut Cx<'_, '_>, name: Symbol) -> Outcome {
    let limit = cx.content_limit();
    if name == attr::VALUE {
        let tensor = cx.tensor_attr(name)?.ok_or(Stop::Unknown)?;
        let node = Some(cx.id);
        let content = cx.state.elements_of(tensor, limit, (node, None)).ok_or(Stop::Unknown)?;
        cx.share_content(0, content);
    } else if name == attr::VALUE_INT {
        let value = cx.int(name)?;
        cx.set_content(0, value.map(|value| Elem::Int(Dim::Known(value))));
    } else if name == attr::VALUE_INTS {
        let values = cx.ints(name)?.unwrap_or_default();
        cx.set_content(0, values.iter().map(|&value| Elem::Int(Dim::Known(value))));
    } else if name == attr::VALUE_FLOAT {
        let value = cx.float(name)?;
        cx.set_content(0, value.map(|value| Elem::number(f64::from(value))));
    } else if name == attr::VALUE_FLOATS {
        let values = cx.floats(name)?.unwrap_or_default();
        cx.set_content(0, values.iter().map(|&value| Elem::number(f64::from(value))));
    }
    Ok(())
}
