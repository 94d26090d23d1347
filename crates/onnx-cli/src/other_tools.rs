//! What users of other tools type by of_other_tool, and what is written here.

use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::exit::Failure;
use crate::former_spelling::{Former, of_other_tool, text_of};

/// Commands and options of other tools that have a counterpart.
pub(crate) const OTHER_TOOLS: &[Former] = &[
    of_other_tool("", "optimize", "simplify"),
    of_other_tool("", "optimise", "simplify"),
    of_other_tool("", "shrink", "simplify"),
    of_other_tool("", "slim", "simplify"),
    of_other_tool("", "show", "print"),
    of_other_tool("", "cat", "print"),
    of_other_tool("", "visualize", "view"),
    of_other_tool("", "netron", "view"),
    of_other_tool("", "validate", "check"),
    of_other_tool("", "lint", "check"),
    of_other_tool("", "inspect", "info"),
    of_other_tool("", "summary", "info"),
    of_other_tool("", "profile", "run --stats"),
    of_other_tool("", "compose", "merge"),
    of_other_tool("", "join", "merge"),
    of_other_tool("", "shape-inference", "infer"),
    of_other_tool("", "infer-shapes", "infer"),
    of_other_tool("", "quantise", "quantize"),
    of_other_tool("run", "--batch", "--set batch={}"),
    of_other_tool("run", "--batch-size", "--set batch={}"),
    of_other_tool("compare", "--batch", "--set batch={}"),
    of_other_tool("compare", "--batch-size", "--set batch={}"),
    of_other_tool("print", "--node", "--at {}"),
    of_other_tool("draw", "--node", "--at {}"),
    of_other_tool("run", "--node", "--at {}"),
    of_other_tool("run", "--input", "--feed {}"),
    of_other_tool("run", "--inputs", "--feeds {}"),
    of_other_tool("compare", "--inputs", "--feeds {}"),
    of_other_tool("compare", "--tolerance", "--atol {}"),
    of_other_tool("extract", "--input-names", "--inputs {}"),
    of_other_tool("extract", "--output-names", "--outputs {}"),
    of_other_tool("convert", "--opset-version", "--opset {}"),
    of_other_tool("convert", "--target-opset", "--opset {}"),
    of_other_tool("convert", "--save-as-external-data", "--weights external"),
    of_other_tool("convert", "--fp16", "--float16"),
    of_other_tool("simplify", "--model-check", "--prove"),
    of_other_tool("", "float16", "convert --float16"),
    of_other_tool("", "fp16", "convert --float16"),
    of_other_tool("quantize", "--int8", "--to int8"),
    of_other_tool("quantize", "--uint8", "--to uint8"),
    of_other_tool("quantize", "--int4", "--to int4"),
    of_other_tool("compare", "--onnxrt", "--with onnxruntime"),
    of_other_tool("", "--overwrite", "--force"),
    of_other_tool("", "--inplace", "--in-place"),
    of_other_tool("", "--silent", "--quiet"),
];

const TIMES: &str = "`onnx run IN --stats` lists the nodes with the longest run time, and `onnx cost IN` counts operations; \
                     how fast a runtime is, only the runtime can tell";

/// Commands of other tools that need more than another name, with what is written here.
const ELSEWHERE: &[(&str, &str)] = &[
    ("split", "`onnx extract IN --parts N -o DIR/` cuts a model into parts"),
    ("rename", "`onnx edit IN --rename OLD=NEW -o OUT` renames values and nodes"),
    (
        "set-opset",
        "`onnx convert IN --opset N -o OUT` converts nodes; `onnx edit --import N` only changes the import",
    ),
    ("surgeon", "`onnx edit`, `onnx extract` and `onnx rewrite --rules FILE` change graphs"),
    ("debug-reduce", "`onnx reduce IN -o OUT -- COMMAND {}` finds the smallest model that fails"),
    (
        "stats",
        "`onnx info IN` counts operators and weights, `onnx cost IN` counts operations, and `onnx weights stats IN` describes weights",
    ),
    (
        "list",
        "`onnx find IN 'all()'` lists nodes and values, `onnx weights list IN` weights, `onnx ops list` operators, and `onnx explain` rules",
    ),
    ("benchmark", TIMES),
    ("bench", TIMES),
    ("serve", "models are run by `onnx run`, and not served"),
    ("train", "models are not trained here"),
];

/// Passes of other tools, with the pass that does the same.
const PASSES: &[(&str, &str)] = &[
    ("constant-folding", "folded-constants"),
    ("fold-constants", "folded-constants"),
    ("fuse-bn-into-conv", "folded-batch-normalization"),
    ("eliminate-identity", "no-identities"),
    ("eliminate-deadend", "no-dead-nodes"),
    ("dead-code-elimination", "no-dead-nodes"),
    ("cleanup", "no-dead-nodes"),
    ("eliminate-unused-initializer", "no-unused-initializers"),
    ("eliminate-duplicate-initializer", "unique-constants"),
    ("eliminate-common-subexpression", "unique-subexpressions"),
    ("common-subexpression-elimination", "unique-subexpressions"),
    ("cse", "unique-subexpressions"),
    ("toposort", "sorted"),
    ("extract-constant-to-initializer", "constants-as-initializers"),
    ("rename-input-output", "unique-names"),
];

/// The pass that does what a pass of another tool does.
pub(crate) fn pass(name: &str) -> Option<&'static str> {
    let name = name.to_ascii_lowercase().replace('_', "-");
    PASSES.iter().find(|(other, _)| *other == name).map(|&(_, pass)| pass)
}

/// Operators and layers of other systems, with the operator of ONNX.
const OPERATORS: &[(&str, &str)] = &[
    ("LayerNorm", "LayerNormalization"),
    ("BatchNorm", "BatchNormalization"),
    ("InstanceNorm", "InstanceNormalization"),
    ("GroupNorm", "GroupNormalization"),
    ("RMSNorm", "RMSNormalization"),
    ("Linear", "Gemm"),
    ("Dense", "Gemm"),
    ("FullyConnected", "Gemm"),
    ("BatchMatMul", "MatMul"),
    ("Conv2d", "Conv"),
    ("Convolution", "Conv"),
    ("Deconv", "ConvTranspose"),
    ("AvgPool", "AveragePool"),
    ("SiLU", "Swish"),
    ("Multiply", "Mul"),
    ("Subtract", "Sub"),
    ("Divide", "Div"),
    ("Permute", "Transpose"),
    ("Embedding", "Gather"),
    ("ScaledDotProductAttention", "Attention"),
    ("Interpolate", "Resize"),
];

/// The operator that another system calls so.
pub(crate) fn operator(name: &str) -> Option<&'static str> {
    OPERATORS.iter().find(|(other, _)| other.eq_ignore_ascii_case(name)).map(|&(_, operator)| operator)
}

/// The failure for arguments that no other spelling corrects, but whose meaning is clear.
pub(crate) fn explained(error: &clap::Error, words: &[String]) -> Option<Failure> {
    let word = |kind| match error.get(kind) {
        Some(ContextValue::String(word)) => Some(word.as_str()),
        _ => None,
    };
    match error.kind() {
        ErrorKind::InvalidSubcommand => of_command(word(ContextKind::InvalidSubcommand)?, words),
        ErrorKind::UnknownArgument => of_argument(word(ContextKind::InvalidArg)?, words),
        ErrorKind::InvalidValue => {
            of_value(word(ContextKind::InvalidArg)?, word(ContextKind::InvalidValue)?, words)
        }
        ErrorKind::ArgumentConflict => of_outputs(word(ContextKind::InvalidArg)?, words),
        _ => None,
    }
}

fn is_file(word: &str) -> bool {
    let extensions = [".onnx", ".onnxtxt", ".pb", ".textproto", ".ort"];
    extensions.iter().any(|extension| word.ends_with(extension)) || std::path::Path::new(word).is_file()
}

fn of_command(word: &str, words: &[String]) -> Option<Failure> {
    let dashed = word.replace('_', "-");
    if let Some((_, help)) = ELSEWHERE.iter().find(|(other, _)| *other == dashed) {
        return Some(Failure::new(format_args!("`{word}` is not a command")).help(*help));
    }
    if !is_file(word) {
        return None;
    }
    let with = |verb: &str| {
        let index = words.iter().position(|other| other == word)?;
        let mut line = words.to_vec();
        line.insert(index, verb.to_owned());
        Some(text_of(&line))
    };
    if words.iter().any(|other| other == "weights") {
        let line = with("list")?;
        return Some(
            Failure::new(
                "`onnx weights` takes a verb before the model: list, show, stats, export, import or strip",
            )
            .help(format!("write `{line}`")),
        );
    }
    let line = with("info")?;
    Some(
        Failure::new("a command is before the model")
            .help(format!("write `{line}`; `onnx --help` lists the commands")),
    )
}

fn of_argument(word: &str, words: &[String]) -> Option<Failure> {
    let is = |command: &str| words.iter().any(|word| word == command);
    let tensor = [".npy", ".npz", ".pb"].iter().any(|extension| word.ends_with(extension));
    if is("run") && tensor {
        let help = match word.ends_with(".npz") {
            true => format!("write `--feeds {word}`"),
            false => format!("write `--feed NAME={word}`; `onnx info MODEL` lists the inputs"),
        };
        return Some(Failure::new("inputs are given by name").help(help));
    }
    let is_shape = ["--overwrite-input-shape", "--input-shape", "--override-input-shape"].contains(&word);
    if is_shape {
        let help = "write `--set batch=1` for a variable, or `--set 'x[0]=1'` for an axis of an input";
        return Some(Failure::new(format_args!("`{word}` is `--set` here")).help(help));
    }
    if is("edit") && word == "--opset" {
        let help = "`--import N` only changes the import; `onnx convert IN --opset N -o OUT` also converts the nodes";
        return Some(Failure::new("`--opset` is `--import` here, or a conversion").help(help));
    }
    if is("hash") && word.starts_with("--algo") {
        let help = "leave it out; `--structure`, `--weights` and `--interface` choose what is hashed";
        return Some(Failure::new("all hashes are SHA-256").help(help));
    }
    if is("weights") && ["list", "show", "stats"].iter().any(|verb| is(verb)) {
        return of_weight(word, words);
    }
    if is("check") && ["-o", "--output"].contains(&word) {
        let help = "copy the model first, and repair the copy; `--dry-run` shows what would be repaired";
        return Some(
            Failure::new("`check` writes no other file: `--fix` repairs the model in place").help(help),
        );
    }
    None
}

/// `weights show MODEL NAME`: weights are chosen by an option.
fn of_weight(word: &str, words: &[String]) -> Option<Failure> {
    if word.starts_with('-') || is_file(word) {
        return None;
    }
    let index = words.iter().position(|other| other == word)?;
    let mut line = words.to_vec();
    line.insert(index, "--at".to_owned());
    Some(Failure::new("weights are chosen with `--at`").help(format!("write `{}`", text_of(&line))))
}

/// `convert --to fp16`: the name of a type is not that of a format.
fn of_value(argument: &str, value: &str, words: &[String]) -> Option<Failure> {
    if !argument.starts_with("--to ") || !words.iter().any(|word| word == "convert") {
        return None;
    }
    let option = half(value)?;
    let message = format!("`--to` is the format of the file, and `{value}` a type of numbers");
    Some(Failure::new(message).help(format!("write `{option}` instead of `--to {value}`")))
}

/// The option of `onnx convert` for a type of 16 bits.
pub(crate) fn half(name: &str) -> Option<&'static str> {
    match name.to_ascii_lowercase().as_str() {
        "fp16" | "float16" | "half" | "f16" => Some("--float16"),
        "bf16" | "bfloat16" => Some("--bfloat16"),
        _ => None,
    }
}

/// `extract --output VALUE -o FILE`: the output is a file.
fn of_outputs(argument: &str, words: &[String]) -> Option<Failure> {
    let has_outputs = ["extract", "edit"].iter().any(|command| words.iter().any(|word| word == command));
    if !argument.starts_with("--output ") || !has_outputs {
        return None;
    }
    let index = words.iter().position(|word| word == "--output")?;
    let mut line = words.to_vec();
    *line.get_mut(index)? = "--outputs".to_owned();
    let message = "`--output`, or `-o`, is the file to write; `--outputs` names values";
    Some(Failure::new(message).help(format!("write `{}`", text_of(&line))))
}
