//! `StringSplit`: the parts of each text along a new last axis, and how many there are of each.
//!
//! Without a delimiter, parts are separated by runs of white space (of Unicode); the remainder after `maxsplit` splits
//! is one part without the blanks around it, as in the specification and onnxruntime, whereas the reference keeps
//! blanks at the end. With a delimiter, an empty string has one part, which is empty. A negative `maxsplit` means no
//! limit.

use bytes::Bytes;
use onnx_schema::{attr, op};
use onnx_types::ElemType;

use super::utf8;
use crate::cx::{Cx, Outcome};
use crate::registry::{OpKernels, eval, since};

pub(super) const KERNELS: OpKernels = eval(op::STRING_SPLIT, &[since(20, split)]);

fn split(cx: &mut Cx<'_, '_>) -> Outcome {
    let x = cx.tensor(0)?;
    let delimiter = cx.text(attr::DELIMITER)?;
    let most = cx.int(attr::MAXSPLIT)?.and_then(|most| usize::try_from(most).ok()).unwrap_or(usize::MAX);
    let texts = cx.units::<Bytes>(&x)?;
    let mut counts = cx.buffer(x.count)?;
    let mut longest = 0;
    for text in texts.iter() {
        cx.work(text.len())?;
        let count = parts(utf8(text)?, delimiter, most, |_| {});
        longest = longest.max(count);
        counts.push(count as i64);
    }
    let mut dims = x.dims.clone();
    dims.push(longest);
    let count = cx.count(&dims)?;
    let mut out = cx.buffer::<Bytes>(count)?;
    for (row, text) in texts.iter().enumerate() {
        cx.work(text.len())?;
        parts(utf8(text)?, delimiter, most, |part| out.push(text.slice_ref(part.as_bytes())));
        out.resize((row + 1) * longest, Bytes::new());
    }
    cx.put_units(0, ElemType::String, &dims, out)?;
    cx.put(1, ElemType::Int64, &x.dims, counts)
}

/// Calls `take` for each part of a text, and returns how many there are.
fn parts<'t>(text: &'t str, delimiter: &str, most: usize, mut take: impl FnMut(&'t str)) -> usize {
    let mut count = 0;
    if !delimiter.is_empty() {
        for part in text.splitn(most.saturating_add(1), delimiter) {
            take(part);
            count += 1;
        }
        return count;
    }
    let mut rest = text.trim();
    while !rest.is_empty() {
        let end = if count == most { None } else { rest.find(char::is_whitespace) };
        let (part, after) = rest.split_at(end.unwrap_or(rest.len()));
        take(part);
        count += 1;
        rest = after.trim_start();
    }
    count
}
