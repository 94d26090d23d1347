//! `RegexFullMatch`: whether each text matches a pattern as a whole.
//!
//! The pattern is one of RE2, as in onnxruntime. It is translated to the syntax of the crate `regex`.

use bytes::Bytes;
use onnx_schema::{attr, op};
use onnx_types::ElemType;
use regex::bytes::Regex;

use super::re2::translate;
use crate::cx::{Cx, Outcome, Stop};
use crate::registry::{OpKernels, eval, since};

pub(super) const KERNELS: OpKernels = eval(op::REGEX_FULL_MATCH, &[since(20, full_match)]);

/// The work of compiling a character of a pattern.
const STEPS_PER_STATE: usize = 4096;

fn full_match(cx: &mut Cx<'_, '_>) -> Outcome {
    let x = cx.tensor(0)?;
    let pattern = cx.text(attr::PATTERN)?;
    let (translated, most) = translate(pattern)?;
    // Compiling a pattern takes long compared with a match: a class of Unicode has hundreds of states, which are repeated.
    cx.work(pattern.len().saturating_mul(most as usize).saturating_mul(STEPS_PER_STATE))?;
    let compile = |pattern: &str| {
        Regex::new(pattern).map_err(|_| Stop::unsupported("a pattern that cannot be compiled"))
    };
    // Compile it separately first: a surplus closing bracket must not match the added opening one.
    compile(&translated)?;
    let regex = compile(&format!(r"\A(?:{translated})\z"))?;
    let texts = cx.units::<Bytes>(&x)?;
    let mut out = cx.buffer(x.count)?;
    for text in texts.iter() {
        cx.work(text.len().saturating_mul(pattern.len().max(1)))?;
        out.push(u8::from(regex.is_match(text)));
    }
    cx.put_units(0, ElemType::Bool, &x.dims, out)
}
