//! `LabelEncoder`: version 1 maps between strings and their indices in a list.

use std::collections::HashSet;

use onnx_ir::AttrValue;
use onnx_schema::attr;
use onnx_types::ElemType;

use crate::reason::VersionReason;
use crate::step::Step;

/// Makes strings and indices the keys and values, in the direction that the type of the operand determines. Strings whose
/// index is looked up must be distinct.
pub(crate) fn two_lists(step: &mut Step<'_>) -> Result<(), VersionReason> {
    let elem = step.elem(step.operand(0)?)?;
    let Some(AttrValue::Strings(texts)) = step.given(attr::CLASSES_STRINGS)? else {
        return Err("`classes_strings` is omitted".into());
    };
    let default_text = step.text(attr::DEFAULT_STRING)?.unwrap_or_else(|| "_Unused".to_owned());
    let default_place = step.int(attr::DEFAULT_INT64)?.unwrap_or(-1);
    step.remove(attr::CLASSES_STRINGS);
    let places = 0..i64::try_from(texts.len()).unwrap_or(i64::MAX);
    if elem == ElemType::String {
        if texts.iter().collect::<HashSet<_>>().len() < texts.len() {
            return Err(
                "`classes_strings` repeats a string, and version 1 does not define which index counts".into(),
            );
        }
        step.set(attr::KEYS_STRINGS, AttrValue::Strings(texts))?;
        step.set(attr::VALUES_INT64S, places.collect::<Vec<i64>>())?;
        step.remove(attr::DEFAULT_STRING);
        return step.set(attr::DEFAULT_INT64, default_place);
    }
    step.set(attr::KEYS_INT64S, places.collect::<Vec<i64>>())?;
    step.set(attr::VALUES_STRINGS, AttrValue::Strings(texts))?;
    step.remove(attr::DEFAULT_INT64);
    step.set(attr::DEFAULT_STRING, AttrValue::String(default_text.into_bytes().into()))
}

/// Version 4 takes the last of equal keys, and any NaN is one key.
pub(crate) fn unique_keys(step: &mut Step<'_>) -> Result<(), VersionReason> {
    let repeats = match (
        step.given(attr::KEYS_INT64S)?,
        step.given(attr::KEYS_STRINGS)?,
        step.given(attr::KEYS_FLOATS)?,
    ) {
        (Some(AttrValue::Ints(keys)), ..) => keys.iter().collect::<HashSet<_>>().len() < keys.len(),
        (_, Some(AttrValue::Strings(keys)), _) => keys.iter().collect::<HashSet<_>>().len() < keys.len(),
        (.., Some(AttrValue::Floats(keys))) => {
            // Zeros of both signs are equal.
            let unique: HashSet<u32> = keys.iter().map(|key| (key + 0.0).to_bits()).collect();
            unique.len() < keys.len() || keys.iter().any(|key| key.is_nan())
        }
        _ => false,
    };
    match repeats {
        true => Err("keys are repeated or NaN, which version 4 treats in another way".into()),
        false => Ok(()),
    }
}

/// Downwards: a list of strings, if the node maps each string to its index in the list, or the reverse.
pub(crate) fn one_list(step: &mut Step<'_>) -> Result<(), VersionReason> {
    let given = (
        step.given(attr::KEYS_STRINGS)?,
        step.given(attr::VALUES_INT64S)?,
        step.given(attr::KEYS_INT64S)?,
        step.given(attr::VALUES_STRINGS)?,
    );
    let (texts, places) = match given {
        (Some(AttrValue::Strings(texts)), Some(AttrValue::Ints(places)), None, None) => (texts, places),
        (None, None, Some(AttrValue::Ints(places)), Some(AttrValue::Strings(texts))) => (texts, places),
        _ => return Err("it does not map between texts and integers".into()),
    };
    let counts = 0..i64::try_from(texts.len()).unwrap_or(i64::MAX);
    if !counts.eq(places.iter().copied()) {
        return Err("the integers are not the places of the texts in a list".into());
    }
    if texts.iter().collect::<HashSet<_>>().len() < texts.len() {
        return Err("a text is repeated".into());
    }
    let default_text = step.text(attr::DEFAULT_STRING)?.unwrap_or_else(|| "_Unused".to_owned());
    let default_place = step.int(attr::DEFAULT_INT64)?.unwrap_or(-1);
    for name in [
        attr::KEYS_STRINGS,
        attr::VALUES_INT64S,
        attr::KEYS_INT64S,
        attr::VALUES_STRINGS,
        attr::DEFAULT_FLOAT,
    ] {
        step.remove(name);
    }
    step.set(attr::CLASSES_STRINGS, AttrValue::Strings(texts))?;
    step.set(attr::DEFAULT_STRING, AttrValue::String(default_text.into_bytes().into()))?;
    step.set(attr::DEFAULT_INT64, default_place)
}
