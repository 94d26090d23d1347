//! `Cast`, `CastLike`: the type is a string in version 1; later versions add roundings to 8-bit floats.

use onnx_schema::attr;
use onnx_types::ElemType;

use crate::reason::VersionReason;
use crate::step::Step;

/// The number of the type that `to` names.
pub(crate) fn numbered_types(step: &mut Step<'_>) -> Result<(), VersionReason> {
    let name = step.text(attr::TO)?.ok_or("`to` is omitted")?;
    let elem = ElemType::all().find(|elem| elem.proto_name() == name);
    let elem = elem.ok_or_else(|| VersionReason::from(format!("`to` names no type: {name:?}")))?;
    step.set(attr::TO, i64::from(elem.code()))
}

/// Downwards: the name of the type.
pub(crate) fn named_types(step: &mut Step<'_>) -> Result<(), VersionReason> {
    let code = step.int(attr::TO)?.ok_or("`to` is omitted")?;
    let elem = i32::try_from(code).ok().and_then(ElemType::from_code).ok_or("`to` is not a type")?;
    step.remove(attr::TO);
    step.set(attr::TO, elem.proto_name())
}

/// Downwards: the attributes have an effect only on conversions to 8-bit floats, which the older version does not have.
pub(crate) fn without_rounding_modes(step: &mut Step<'_>) -> Result<(), VersionReason> {
    for name in [attr::SATURATE, attr::ROUND_MODE] {
        let is_new = step.old.attribute(name).is_some() && step.new.attribute(name).is_none();
        let output = step.output()?;
        if is_new && step.has(name) {
            let elem = step.elem(output)?;
            let has_effect = match name == attr::SATURATE {
                true => elem.bits().is_some_and(|bits| bits == 8) && elem.is_float(),
                false => elem == ElemType::Float8E8M0,
            };
            if !has_effect {
                step.remove(name);
            }
        }
    }
    Ok(())
}
