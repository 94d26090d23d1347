//! What users of other tools type, and what is written here.

use std::path::Path;

use clap::CommandFactory as _;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::args::Cli;
use crate::exit::Failure;
use crate::format::Format;
use crate::input::is_stdin;
use crate::output::shown;
use crate::spelling::{Spelling, positions, text_of};

/// Commands and options of other tools that have a counterpart.
pub(crate) const OTHER_TOOLS: &[Spelling] = &[
    Spelling::new("", "optimize", "simplify"),
    Spelling::new("", "optimise", "simplify"),
    Spelling::new("", "shrink", "simplify"),
    Spelling::new("", "slim", "simplify"),
    Spelling::new("", "show", "print"),
    Spelling::new("", "cat", "print"),
    Spelling::new("", "visualize", "view"),
    Spelling::new("", "netron", "view"),
    Spelling::new("", "validate", "check"),
    Spelling::new("", "verify", "check"),
    Spelling::new("", "lint", "check"),
    Spelling::new("", "inspect model", "info"),
    Spelling::new("", "inspect", "info"),
    Spelling::new("", "summary", "info"),
    Spelling::new("", "profile", "run --stats"),
    Spelling::new("", "compose", "merge"),
    Spelling::new("", "join", "merge"),
    Spelling::new("", "shape-inference", "infer"),
    Spelling::new("", "infer-shapes", "infer"),
    Spelling::new("", "quantise", "quantize"),
    Spelling::new("run", "--batch", "--set batch={}"),
    Spelling::new("run", "--batch-size", "--set batch={}"),
    Spelling::new("compare", "--batch", "--set batch={}"),
    Spelling::new("compare", "--batch-size", "--set batch={}"),
    Spelling::new("print", "--node", "--at {}"),
    Spelling::new("draw", "--node", "--at {}"),
    Spelling::new("run", "--node", "--at {}"),
    Spelling::new("run", "--input", "--feed {}"),
    Spelling::new("run", "--inputs", "--feeds {}"),
    Spelling::new("compare", "--inputs", "--feeds {}"),
    Spelling::new("compare", "--tolerance", "--atol {}"),
    Spelling::new("extract", "--input-names", "--inputs {}"),
    Spelling::new("extract", "--output-names", "--outputs {}"),
    Spelling::new("extract", "--input_names", "--inputs {}"),
    Spelling::new("extract", "--output_names", "--outputs {}"),
    Spelling::new("draw", "--only", "--at {}"),
    Spelling::new("print", "--only", "--at {}"),
    Spelling::new("convert", "--opset-version", "--opset {}"),
    Spelling::new("convert", "--target-opset", "--opset {}"),
    Spelling::new("convert", "--to-opset", "--opset {}"),
    Spelling::new("edit", "--op", "--operator {}"),
    Spelling::new("edit", "--op-type", "--operator {}"),
    Spelling::new("convert", "--save-as-external-data", "--weights external"),
    Spelling::new("convert", "--fp16", "--float16"),
    Spelling::new("convert", "--half", "--float16"),
    Spelling::new("convert", "--fp32", "--float32"),
    Spelling::new("convert", "--bf16", "--bfloat16"),
    Spelling::new("", "shape-infer", "infer"),
    Spelling::new("", "version", "--version"),
    Spelling::new("simplify", "--model-check", "--prove"),
    Spelling::new("", "float16", "convert --float16"),
    Spelling::new("", "fp16", "convert --float16"),
    Spelling::new("quantize", "--int8", "--to int8"),
    Spelling::new("quantize", "--uint8", "--to uint8"),
    Spelling::new("quantize", "--int4", "--to int4"),
    Spelling::new("quantize", "--nodes-to-exclude", "--except {}"),
    Spelling::new("quantize", "--nodes_to_exclude", "--except {}"),
    Spelling::new("quantize", "--activation-type", "--to {}"),
    Spelling::new("quantize", "--activation_type", "--to {}"),
    Spelling::new("quantize", "--calibration-data", "--calibrate {}"),
    Spelling::new("quantize", "--calibrate-dataset", "--calibrate {}"),
    Spelling::new("convert", "--calibration-data", "--calibrate {}"),
    Spelling::new("convert", "--keep-io-types", "--keep-io"),
    Spelling::new("convert", "--keep_io_types", "--keep-io"),
    Spelling::new("convert", "--node-block-list", "--except {}"),
    Spelling::new("convert", "--node_block_list", "--except {}"),
    Spelling::new("convert", "--external-data", "--weights external={}"),
    Spelling::new("", "--input", Spelling::ARGUMENT),
    Spelling::new("", "--model", Spelling::ARGUMENT),
    Spelling::new("", "--input-model", Spelling::ARGUMENT),
    Spelling::new("", "--input_model", Spelling::ARGUMENT),
    Spelling::new("", "--model-path", Spelling::ARGUMENT),
    Spelling::new("", "--json", "--format json"),
    Spelling::new("", "--jsonl", "--format jsonl"),
    Spelling::new("", "--sarif", "--format sarif"),
    Spelling::new("", "--github", "--format github"),
    Spelling::new("", "--csv", "--format csv"),
    Spelling::new("", "--table", "--format table"),
    Spelling::new("", "--no-color", "--color never"),
    Spelling::new("", "--output-file", "--output {}"),
    Spelling::new("", "--overwrite", "--force"),
    Spelling::new("", "--inplace", "--in-place"),
    Spelling::new("", "--silent", "--quiet"),
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
    ("dynamic", "`onnx edit IN --set 'x[0]=batch' -o OUT` frees a size"),
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

/// Options of other tools that need more than another name, each with the command that it is typed at, empty for all, and what is
/// written here.
const OPTIONS: &[(&str, &str, &str)] = &[
    ("convert", "--int8", "`onnx quantize IN --to int8 --dynamic -o OUT`"),
    ("convert", "--uint8", "`onnx quantize IN --to uint8 --dynamic -o OUT`"),
    (
        "quantize",
        "--op-types-to-quantize",
        "`--except 'all() ~ (MatMul() | Conv())'`: what is not listed stays",
    ),
    ("quantize", "--op-types-to-exclude", "`--except 'Softmax() | Gelu()'`: a selector of what stays"),
    ("quantize", "--quant-format", "`--form qdq` or `--form operator`"),
    ("quantize", "--calibrate-method", "`--method minmax`, `percentile`, `entropy` or `mse`"),
    ("quantize", "--calibration-method", "`--method minmax`, `percentile`, `entropy` or `mse`"),
    (
        "quantize",
        "--reduce-range",
        "leave it out: weights have all bits; on processors without VNNI, where sums of `uint8` by `int8` can saturate, \
         `--to uint8 --weight-type uint8` avoids that",
    ),
    (
        "convert",
        "--op-block-list",
        "`--except 'Softmax() | LayerNormalization()'`: a selector of nodes that stay",
    ),
    (
        "convert",
        "--max-finite-val",
        "leave it out: numbers of masks become the greatest finite number, and other numbers out of range keep their nodes `float`",
    ),
    (
        "convert",
        "--min-positive-val",
        "leave it out: constants of one element do not become zero, and `-v` lists weights of which elements do",
    ),
    ("convert", "--disable-shape-infer", "leave it out: types and shapes are always inferred"),
    ("check", "--report", "`--format json > FILE`, or another format"),
    ("merge", "--io-map", "`--connect OUT=IN`, once for each pair"),
    ("run", "--onnxrt", "`onnx compare IN --with onnxruntime`, which runs both"),
    ("compare", "--onnxrt", "`onnx compare IN --with onnxruntime`, for a model in both engines"),
    ("run", "--shapes", SHAPES),
    ("", "--overwrite-input-shape", SHAPES),
    ("", "--override-input-shape", SHAPES),
    ("", "--input-shape", SHAPES),
    ("", "--fp16", "`onnx convert IN --float16 -o OUT`"),
    ("", "--half", "`onnx convert IN --float16 -o OUT`"),
    ("edit", "--set-batch", SIZES),
    ("edit", "--batch", SIZES),
    ("edit", "--batch-size", SIZES),
    ("infer", "--data-prop", "leave it out: elements of constants are always followed"),
    ("weights", "--top", "`--sort size`, and `head`"),
    (
        "simplify",
        "--skip-fuse-bn",
        "leave it out: `--except SELECTOR` keeps nodes, and `onnx rewrite --pass NAME` runs chosen passes only",
    ),
    (
        "simplify",
        "--skip-optimization",
        "leave it out: `--except SELECTOR` keeps nodes, and `onnx rewrite --pass NAME` runs chosen passes only",
    ),
    (
        "simplify",
        "--no-large-tensor",
        "leave it out: constants that would make the file larger are not computed",
    ),
];

const SIZES: &str = "`--set batch=4` for a variable, or `--set 'x[0]=batch'` to free an axis of an input";
const SHAPES: &str = "`--set batch=1` for a variable, or `--set 'x[0]=1'` for an axis of an input";

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

pub(crate) fn is_file(word: &str) -> bool {
    let extensions = [".onnx", ".onnxtxt", ".pb", ".textproto", ".ort"];
    extensions.iter().any(|extension| word.ends_with(extension)) || Path::new(word).is_file()
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
    let line = with_command_before(word, words).or_else(|| with("info"))?;
    Some(
        Failure::new("a command is before the model")
            .help(format!("write `{line}`; `onnx --help` lists the commands")),
    )
}

/// `m.onnx check`: the line with the command that is behind the model before it.
fn with_command_before(model: &str, words: &[String]) -> Option<String> {
    let program = Cli::command();
    let first = words.iter().position(|word| word == model)?;
    let command = words.iter().skip(first).position(|word| program.find_subcommand(word).is_some())?;
    let mut line = words.to_vec();
    let command = line.remove(first + command);
    line.insert(first, command);
    Some(text_of(&line))
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
    let dashed = word.replace('_', "-");
    let of_other = |&&(command, option, _): &&(&str, &str, &str)| {
        option == dashed && (command.is_empty() || is(command))
    };
    if let Some((_, _, help)) = OPTIONS.iter().find(of_other) {
        let failure = Failure::new(format_args!("`{word}` is not an option"));
        // Help that begins with code is a spelling; other help is a sentence.
        let is_spelling = help.starts_with('`');
        return Some(failure.help(if is_spelling { format!("write {help}") } else { (*help).to_owned() }));
    }
    if is("edit") && word == "--opset" {
        let help = "`--import N` only changes the import; `onnx convert IN --opset N -o OUT` also converts the nodes";
        return Some(Failure::new("`--opset` is `--import` here, or a conversion").help(help));
    }
    if let Some(failure) = of_second(word, words) {
        return Some(failure);
    }
    if is("hash") && word.starts_with("--algo") {
        let help = "leave it out; `--structure`, `--weights` and `--interface` choose what is hashed";
        return Some(Failure::new("all hashes are SHA-256").help(help));
    }
    if is("weights") && ["list", "show", "stats"].iter().any(|verb| is(verb)) {
        return of_weight(word, words);
    }
    None
}

/// `simplify - b.onnx`: a second model that exists is not recommended as the output.
fn of_second(word: &str, words: &[String]) -> Option<Failure> {
    let (_, files) = positions(words)?;
    let &[first, second] = files.as_slice() else { return None };
    let is_meant = words.get(second).is_some_and(|second| second == word && Path::new(second).is_file());
    let first = Path::new(words.get(first).filter(|_| is_meant)?);
    if let Some(error) = first.metadata().err().filter(|_| !is_stdin(first)) {
        return Some(Failure::cannot_read(first, error));
    }
    let message = format!("`{word}` exists, and is taken for a second model");
    Some(Failure::new(message).help("name a new file for the output, `-o NEW.onnx`"))
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
    let is_print = argument.starts_with("--to ") && words.iter().any(|word| word == "print");
    if let Some(failure) = no_text(value).filter(|_| is_print) {
        return Some(failure);
    }
    if !argument.starts_with("--to ") || !words.iter().any(|word| word == "convert") {
        return None;
    }
    let option = number_format(value)?;
    let message = format!("`--to` is the format of the file, and `{value}` a type of numbers");
    Some(Failure::new(message).help(format!("write `{option}` instead of `--to {value}`")))
}

/// The failure to write text to a file of a format that is a picture or a page.
pub(crate) fn no_text(format: &str) -> Option<Failure> {
    let message = format!("`onnx print` writes text, and `{format}` is a picture or a page");
    let help = "write `onnx draw IN -o OUT.svg`, `OUT.png` or `OUT.html`";
    ["svg", "png", "html", "pdf"].contains(&format).then(|| Failure::new(message).help(help))
}

/// The failure to write text to a file whose name is that of another format of models.
pub(crate) fn no_onnxtxt(path: &Path) -> Option<Failure> {
    let format = Format::of(path).filter(|&format| format != Format::Onnxtxt)?;
    let name = shown(&path.display().to_string());
    let message = format!(
        "`onnx print` writes text as in `.onnxtxt`, and `{name}` has the extension of the format `{}`",
        format.id()
    );
    let help = format!(
        "write `-o {}`, or `onnx convert IN -o {name}` for a model in that format",
        shown(&path.with_extension(Format::Onnxtxt.id()).display().to_string())
    );
    Some(Failure::new(message).help(help))
}

/// The option of `onnx convert` for a type of numbers.
pub(crate) fn number_format(name: &str) -> Option<&'static str> {
    match name.to_ascii_lowercase().as_str() {
        "fp16" | "float16" | "half" | "f16" => Some("--float16"),
        "bf16" | "bfloat16" => Some("--bfloat16"),
        "fp32" | "float32" | "float" | "f32" => Some("--float32"),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn help_that_begins_with_code_is_a_spelling() {
        // "write `onnx x` runs both" is two sentences in one.
        for (command, option, help) in OPTIONS.iter().filter(|(.., help)| help.starts_with('`')) {
            let after = help.split('`').nth(2).unwrap();
            let ends = [":", ",", " or ", " for a "];
            let is_spelling = after.is_empty() || ends.iter().any(|end| after.starts_with(end));
            assert!(is_spelling, "{command} {option}: {help}");
        }
    }
}
