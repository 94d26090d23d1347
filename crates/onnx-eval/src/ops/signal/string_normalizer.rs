//! `StringNormalizer`: the strings of `[C]` or `[1, C]` that are not stop words, in one case; a single empty string if
//! none is left.
//!
//! Stop words are compared before the case changes; without `is_case_sensitive`, the lower case of both is compared. Case is
//! that of Unicode without a locale: runtimes use the locale of the system, which must exist there.

use std::collections::HashSet;

use bytes::Bytes;
use foldhash::fast::RandomState;
use onnx_schema::{attr, op};
use onnx_types::ElemType;

use super::utf8;
use crate::cx::{Cx, Dims, Outcome, Stop};
use crate::registry::{OpKernels, eval, since};
use crate::value::string_bytes;

pub(super) const KERNELS: OpKernels = eval(op::STRING_NORMALIZER, &[since(10, normalize)]);

fn normalize(cx: &mut Cx<'_, '_>) -> Outcome {
    let x = cx.tensor(0)?;
    if !matches!(*x.dims, [_] | [1, _]) {
        return Err(Stop::failed("the input must have the sizes [C] or [1,C]"));
    }
    let is_exact = cx.flag(attr::IS_CASE_SENSITIVE)?;
    let key = |text: &[u8]| -> Outcome<Vec<u8>> {
        Ok(if is_exact { text.to_vec() } else { utf8(text)?.to_lowercase().into_bytes() })
    };
    let words = cx.texts(attr::STOPWORDS)?.unwrap_or_default();
    let stops: HashSet<Vec<u8>, RandomState> = words.into_iter().map(key).collect::<Outcome<_>>()?;
    let change: fn(&str) -> String = match cx.text(attr::CASE_CHANGE_ACTION)? {
        "LOWER" => str::to_lowercase,
        "UPPER" => str::to_uppercase,
        "NONE" => str::to_owned,
        _ => return Err(Stop::failed("attribute `case_change_action` names no action")),
    };
    let texts = cx.units::<Bytes>(&x)?;
    let total = texts.iter().fold(0_usize, |sum, text| sum.saturating_add(text.len()));
    cx.work(total)?;
    // A character may become three when its case changes.
    cx.budget.allocate(1, total.saturating_mul(6))?;
    cx.budget.allocate(x.count, string_bytes(1) as usize)?;
    let mut out = Vec::new();
    for text in texts.iter() {
        if stops.is_empty() || !stops.contains(&key(text)?) {
            out.push(Bytes::from(change(utf8(text)?)));
        }
    }
    if out.is_empty() {
        out.push(Bytes::new());
    }
    let mut dims: Dims = x.dims.clone();
    if let Some(last) = dims.last_mut() {
        *last = out.len();
    }
    cx.put_units(0, ElemType::String, &dims, out)
}
