//! `onnx edit --type`: other element types of inputs and outputs.

use onnx_ir::Model;
use onnx_quantize::{RetypeError, retype};
use onnx_types::{ElemClass, ElemType};

use crate::exit::{Failure, LibraryError};
use crate::output::shown;

impl LibraryError for RetypeError {
    fn help(&self) -> Option<String> {
        Some(match self {
            Self::NotFound(_) => "`onnx info MODEL --all` lists inputs and outputs".to_owned(),
            Self::NotTensor(_) => {
                "`onnx infer MODEL -o NEW` declares types that follow from the operators".to_owned()
            }
            Self::Cast { needed, .. } => match needed {
                Some(needed) => format!("`onnx convert MODEL --opset {needed} -o NEW` first"),
                None => "no version of `Cast` converts these types".to_owned(),
            },
            Self::Default(_) => {
                "`onnx rewrite MODEL --pass no-initializer-inputs -o NEW` makes it a constant".to_owned()
            }
            _ => return None,
        })
    }
}

/// The help for what is not a selector and an element type.
const TYPE: &str = "write an input or output, or a selector of several, and an element type: `x=int32`";

/// Changes the types of inputs and outputs: `SEL=TYPE`. Returns the changes as texts.
pub(super) fn apply(model: &mut Model, texts: &[String]) -> Result<Vec<String>, Failure> {
    let mut wanted: Vec<(String, ElemType)> = Vec::new();
    for text in texts {
        let malformed = || Failure::new(format_args!("`{}` is not SEL=TYPE", shown(text))).help(TYPE);
        let (name, ty) = text.rsplit_once('=').filter(|(name, _)| !name.is_empty()).ok_or_else(malformed)?;
        let elem = ElemType::all().find(|elem| elem.to_string() == ty);
        let Some(elem) = elem else {
            return Err(super::unknown_type(text, ty, TYPE).unwrap_or_else(malformed));
        };
        for value in super::ports_of(model, name)? {
            let name = model.str(model.value(value).name());
            if wanted.iter().any(|(other, _)| other == name) {
                return Err(Failure::new(format_args!("`{}` is given two types", shown(name)))
                    .help("give each input and output one `--type`"));
            }
            wanted.push((name.to_owned(), elem));
        }
    }
    let mut changed = Vec::new();
    for (name, elem) in wanted {
        let before = port_type(model, &name);
        let is_input = is_input(model, &name);
        if before == Some(elem) {
            continue;
        }
        let casts = retype(model, &name, elem)?;
        // An input is converted to the type that the nodes take, an output from the type that they give.
        let (from, to) = if is_input { (Some(elem), before) } else { (before, Some(elem)) };
        let is_integer = |elem: ElemType| matches!(elem.class(), ElemClass::Int | ElemClass::Uint);
        let is_cut = from.is_some_and(ElemType::is_float) && to.is_some_and(is_integer);
        let how = match (casts, is_cut) {
            (0, _) => "",
            (_, true) => ", with a cast that cuts off fractions",
            (_, false) => ", with a cast",
        };
        changed.push(format!("the type of `{}` to {elem}{how}", shown(&name)));
    }
    Ok(changed)
}

fn is_input(model: &Model, name: &str) -> bool {
    let (inputs, _) = super::interface(model);
    inputs.into_iter().any(|value| model.str(model.value(value).name()) == name)
}

/// The element type of the input or output of a name.
fn port_type(model: &Model, name: &str) -> Option<ElemType> {
    let (inputs, outputs) = super::interface(model);
    let mut named = inputs.into_iter().chain(outputs);
    let value = named.find(|&value| model.str(model.value(value).name()) == name)?;
    Some(model.ty(value)?.elem())
}
