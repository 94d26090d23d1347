//! Why nothing is quantized, and what to do.

use onnx_quantize::{Unquantized, unquantized};
use onnx_schema::Registry;
use onnx_types::ElemType;

use crate::args::QuantizeArgs;
use crate::exit::Failure;
use crate::input::Loaded;

/// Why nothing of a model is quantized, if its products and convolutions say.
pub(super) fn why_unquantized(loaded: &Loaded, registry: &Registry) -> Result<Option<Unquantized>, Failure> {
    let source = loaded.source()?;
    let reason = unquantized(&loaded.model, registry, &source, &loaded.execution);
    loaded.execution.interrupt.check()?;
    Ok(reason)
}

/// What makes such a model one that can be quantized.
pub(super) const fn help_with(reason: Unquantized) -> &'static str {
    match reason {
        Unquantized::Type(ElemType::Double) => {
            "export the model in `float`: no command converts `double`, except that of inputs and outputs (`onnx edit --type`)"
        }
        Unquantized::Type(_) => {
            "`onnx convert MODEL --float32 -o NEW` first; or quantize the model in `float`, and `onnx convert --float16 --keep-io` the result"
        }
        Unquantized::Functions => {
            "`onnx inline MODEL -o NEW` first: it puts the bodies in the place of the calls"
        }
        _ => "`onnx info MODEL` lists the operators, and the types of inputs, outputs and weights",
    }
}

/// What helps if the budget keeps everything, without what the arguments have already.
pub(super) fn help_with_budget(args: &QuantizeArgs, to: ElemType, is_static: bool) -> String {
    let mut ways = vec!["a lower `--budget`".to_owned()];
    if to.bits() < Some(16) {
        let wider = if is_static || to.bits() >= Some(8) { "int16" } else { "int8" };
        ways.push(format!("a type with more bits, such as `--to {wider}`"));
    }
    match (args.block, args.per_channel) {
        (Some(size), _) if size > 16 => ways.push("a smaller `--block`, such as 16".to_owned()),
        (None, false) => ways.push("a scale for each channel: `--per-channel`".to_owned()),
        _ => {}
    }
    if !is_static && args.block.is_none() {
        ways.push("a scale for each block: `--block 32`".to_owned());
    }
    if is_static {
        ways.push("`--weights-only`".to_owned());
    }
    format!("use {}", ways.join(", or "))
}
