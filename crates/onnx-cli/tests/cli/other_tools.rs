//! What people type by habit, and the answer that takes them on.

use crate::run::{Folder, onnx};

const MODEL: &str = r#"<ir_version: 10, opset_import: ["": 21]>
g (float[batch, 4] input_ids, float[4] w0) => (float[batch, 4] logits) {
   ["layer.0/add"] h = Add (input_ids, w0)
   ["layer.0/pad"] p = Identity (h)
   ["layer.0/softmax"] logits = Softmax <axis = 1> (p)
}
"#;

/// What is typed, the exit status, and a part of the answer.
const TYPED: &[(&str, i32, &str)] = &[
    // Commands of other tools.
    ("simplfy m.onnx", 2, "did you mean `simplify`?"),
    ("optimize m.onnx", 2, "write `onnx simplify m.onnx`"),
    ("shrink m.onnx -o s.onnx", 2, "write `onnx simplify m.onnx -o s.onnx`"),
    ("show m.onnx", 2, "write `onnx print m.onnx`"),
    ("visualize m.onnx", 2, "write `onnx view m.onnx`"),
    ("validate m.onnx", 2, "write `onnx check m.onnx`"),
    ("infer-shapes m.onnx", 2, "write `onnx infer m.onnx`"),
    ("profile m.onnx", 2, "write `onnx run --stats m.onnx`"),
    ("compose m.onnx m.onnx", 2, "write `onnx merge m.onnx m.onnx`"),
    ("split m.onnx", 2, "`onnx extract IN --parts N -o DIR/`"),
    ("rename m.onnx", 2, "`onnx edit IN --rename OLD=NEW -o OUT`"),
    ("quantise m.onnx --to int8", 2, "write `onnx quantize m.onnx --to int8`"),
    ("shape_inference m.onnx", 2, "write `onnx infer m.onnx`"),
    ("infer_shapes m.onnx", 2, "write `onnx infer m.onnx`"),
    ("stats m.onnx", 2, "`onnx weights stats IN`"),
    ("list m.onnx", 2, "`onnx find IN 'all()'`"),
    ("benchmark m.onnx", 2, "`onnx run IN --stats`"),
    ("bench m.onnx", 2, "`onnx run IN --stats`"),
    ("set_opset m.onnx 13", 2, "`onnx convert IN --opset N -o OUT`"),
    ("m.onnx", 2, "write `onnx info m.onnx`"),
    ("weights m.onnx", 2, "write `onnx weights list m.onnx`"),
    // Reports, targets and renamings.
    ("check m.onnx --sarif", 2, "write `onnx check m.onnx --format sarif`"),
    ("check m.onnx --github", 2, "write `onnx check m.onnx --format github`"),
    ("info m.onnx --csv", 2, "write `onnx info m.onnx --format csv`"),
    ("check m.onnx --report r.json", 2, "write `--format json > FILE`"),
    ("check m.onnx --target onnxruntim", 2, "did you mean `onnxruntime`?"),
    ("quantize m.onnx --to int8 --seed 0 --target tensort", 2, "did you mean `tensorrt`?"),
    ("edit m.onnx --rename input_ids=a,logits=b", 2, "write `--rename OLD=NEW` once for each name"),
    // Options before the command.
    ("--timeout 60s check m.onnx", 0, "no findings"),
    ("--timeout=60s -v check m.onnx", 0, "no findings"),
    ("-q check m.onnx", 0, ""),
    ("--format json info m.onnx", 0, "\"command\":\"info\""),
    ("--format json weights list m.onnx", 0, "weights-list/1"),
    ("--nodes 3 check m.onnx", 2, "`onnx check` has no option `--nodes`"),
    ("--timeout 60s chek m.onnx", 2, "write it after the command: `onnx COMMAND --timeout`"),
    // Standard input twice, or without a name for an output.
    ("diff - -", 2, "only one model can come from standard input"),
    ("compare - -", 2, "only one model can come from standard input"),
    ("check - m.onnx -", 2, "only one model can come from standard input"),
    ("hash - /dev/stdin", 2, "only one model can come from standard input"),
    ("convert - --weights-from -", 2, "only one model can come from standard input"),
    ("draw - --against - -o x.svg", 2, "only one model can come from standard input"),
    ("simplify - m.onnx -o out/", 2, "a model from standard input has no name"),
    ("simplify - -o out/", 2, "`-o DIR/NAME.onnx`"),
    ("--versoins", 2, "did you mean `--version`?"),
    ("check *.onnxx", 2, "leave out quotes around it"),
    ("print m.onnx --to svg", 2, "write `onnx draw IN -o OUT.svg`"),
    ("print m.onnx -o x.svg", 2, "write `onnx draw IN -o OUT.svg`"),
    // The output as a second file.
    ("simplify m.onnx out.onnx", 2, "write `onnx simplify m.onnx -o out.onnx`"),
    ("convert m.onnx out.json", 2, "`out.json` does not exist: as an output, it is `-o out.json` here"),
    ("convert m.onnx out.json", 2, "write `onnx convert m.onnx -o out.json`"),
    ("infer m.onnx out.onnx", 2, "write `onnx infer m.onnx -o out.onnx`"),
    ("edit m.onnx out.onnx --rename h=k", 2, "write `onnx edit m.onnx -o out.onnx --rename h=k`"),
    ("extract m.onnx part.onnx --outputs h", 2, "write `onnx extract m.onnx -o part.onnx --outputs h`"),
    // A second file that exists is not recommended as the output.
    ("simplify - m.onnx", 2, "`m.onnx` exists, and is taken for a second model"),
    ("simplify - m.onnx", 2, "name a new file for the output, `-o NEW.onnx`"),
    ("simplify none.onnx m.onnx", 2, "none.onnx: cannot be read"),
    // Options of other tools.
    ("--model m.onnx", 2, "write `onnx info m.onnx`"),
    ("check --model m.onnx", 2, "write `onnx check m.onnx`"),
    ("convert m.onnx --opset ai.onnx.ml:3", 2, "are written `ai.onnx.ml=3`"),
    ("weights list m.onnx --sort bytes", 0, ""),
    ("draw m.onnx --only h", 2, "write `onnx draw m.onnx --at h`"),
    ("extract m.onnx --output_names h -o x.onnx", 2, "write `onnx extract m.onnx --outputs h -o x.onnx`"),
    ("simplify m.onnx --fp16", 2, "write `onnx convert IN --float16 -o OUT`"),
    ("edit m.onnx --set-batch 4", 2, "write `--set batch=4` for a variable"),
    ("extract m.onnx --parts 0 -o out/", 2, "a number from 1"),
    ("run m.onnx x.npy", 2, "write `--feed NAME=x.npy`"),
    ("run m.onnx case.npz", 2, "write `--feeds case.npz`"),
    ("run m.onnx --input x=x.npy", 2, "write `onnx run m.onnx --feed x=x.npy`"),
    ("run m.onnx --inputs x=x.npy", 2, "write `onnx run m.onnx --feed x=x.npy`"),
    ("run m.onnx --inputs=x=x.npy", 2, "write `onnx run m.onnx --feed x=x.npy`"),
    ("run m.onnx --input case.npz", 2, "write `onnx run m.onnx --feeds case.npz`"),
    ("run m.onnx --input x.npy", 2, "write `onnx run m.onnx --feed NAME=x.npy`"),
    ("run m.onnx --inputs case", 2, "write `onnx run m.onnx --feeds case`"),
    ("compare m.onnx m.onnx --onnxrt", 2, "write `onnx compare IN --with onnxruntime`"),
    ("compare m.onnx m.onnx --with onnxruntime", 2, "`--with` exclude each other"),
    ("compare m.onnx m.onnx --with onnxruntime", 2, "`B`"),
    ("inspect model m.onnx", 2, "write `onnx info m.onnx`"),
    ("inspect m.onnx", 2, "write `onnx info m.onnx`"),
    ("inspect model", 2, "write `onnx info model`"),
    ("simplify m.onnx --overwrite-input-shape x:1,4", 2, "`--set batch=1`"),
    ("simplify m.onnx --model-check", 2, "write `onnx simplify m.onnx --prove`"),
    ("extract m.onnx --output logits -o x.onnx", 2, "write `onnx extract m.onnx --outputs logits -o x.onnx`"),
    ("extract m.onnx --output-names h -o x.onnx", 2, "write `onnx extract m.onnx --outputs h -o x.onnx`"),
    ("convert m.onnx --target-opset 18", 2, "write `onnx convert m.onnx --opset 18`"),
    ("compare m.onnx m.onnx --tolerance 1e-3", 2, "write `onnx compare m.onnx m.onnx --atol 1e-3`"),
    ("simplify m.onnx --inplace", 2, "write `onnx simplify m.onnx --in-place`"),
    ("edit m.onnx --opset 13", 2, "`--import N` only changes the import"),
    ("edit m.onnx --opset=13 -o new.onnx", 2, "`onnx convert IN --opset N -o OUT`"),
    ("quantize m.onnx --to fp16", 2, "`onnx convert MODEL --float16 -o NEW`"),
    ("quantize m.onnx --to bf16", 2, "`onnx convert MODEL --bfloat16 -o NEW`"),
    ("quantize m.onnx --to float16", 2, "`onnx convert MODEL --float16 -o NEW`"),
    ("convert m.onnx --to fp16", 2, "write `--float16` instead of `--to fp16`"),
    ("convert m.onnx --to bfloat16 -o half.onnx", 2, "write `--bfloat16` instead of `--to bfloat16`"),
    ("print m.onnx --node h", 2, "write `onnx print m.onnx --at h`"),
    ("run m.onnx --batch 2", 2, "write `onnx run m.onnx --set batch=2`"),
    ("run m.onnx --batch-size=2", 2, "write `onnx run m.onnx --set batch=2`"),
    ("hash m.onnx --algo md5", 2, "all hashes are SHA-256"),
    ("weights show m.onnx w0", 2, "write `onnx weights show m.onnx --at w0`"),
    ("weights stats m.onnx w0", 2, "write `onnx weights stats m.onnx --at w0`"),
    ("info --versoins m.onnx", 2, "did you mean `--versions`?"),
    ("convert m.onnx --half -o h.onnx", 2, "write `onnx convert m.onnx --float16 -o h.onnx`"),
    ("convert m.onnx --int8", 2, "`onnx quantize IN --to int8 --dynamic -o OUT`"),
    ("convert m.onnx --fp32", 2, "write `onnx convert m.onnx --float32`"),
    ("convert m.onnx --to float32", 2, "write `--float32` instead of `--to float32`"),
    ("merge m.onnx m.onnx --io-map x,y", 2, "`--connect OUT=IN`"),
    ("run m.onnx --onnxrt", 2, "`onnx compare IN --with onnxruntime`"),
    ("run m.onnx --shapes x:[1,8]", 2, "`--set batch=1`"),
    ("infer m.onnx --data-prop", 2, "are always followed"),
    ("infer m.onnx --data_prop", 2, "are always followed"),
    ("weights list m.onnx --top 5", 2, "`--sort size`"),
    ("simplify m.onnx --skip-fuse-bn", 2, "`onnx rewrite --pass NAME`"),
    ("simplify m.onnx --no-large-tensor", 2, "are not computed"),
    ("version", 2, "write `onnx --version`"),
    ("shape-infer m.onnx", 2, "write `onnx infer m.onnx`"),
    ("dynamic m.onnx", 2, "`onnx edit IN --set 'x[0]=batch' -o OUT`"),
    // Arguments that are not valid.
    ("chek m.onnx", 2, "`onnx` has no command `chek`"),
    ("chek m.onnx", 2, "did you mean `check`?"),
    ("weights lst m.onnx", 2, "`onnx weights` has no command `lst`"),
    ("weights lst m.onnx", 2, "did you mean `list`?"),
    ("infer m.onnx --shapes", 2, "`onnx infer` has no option `--shapes`"),
    ("infer m.onnx --shapes", 2, "it is one of another command, `onnx check --shapes`"),
    ("check m.onnx --versoins", 2, "`onnx check` has no option `--versoins`"),
    ("convert m.onnx --to-opset 13", 2, "write `onnx convert m.onnx --opset 13`"),
    ("edit m.onnx --op-type h=Sub", 2, "write `onnx edit m.onnx --operator h=Sub`"),
    ("run m.onnx --threads -1", 2, "it is a whole number from 1"),
    ("print m.onnx m.onnx", 2, "`m.onnx` is one file too many for `onnx print`"),
    ("check -x.onnx", 2, "a file whose name begins with `-` is written `./-x"),
    (
        "convert m.onnx --to jsn",
        2,
        "did you mean `json`? The values are `onnx`, `textproto`, `json`, `onnxtxt`",
    ),
    ("check m.onnx --format xyz", 2, "the values are `text`, `table`, `csv`, `json`"),
    ("convert m.onnx --to", 2, "the values are `onnx`, `textproto`"),
    ("convert m.onnx --opset", 2, "`--opset` needs a value, `[DOMAIN=]N`"),
    ("convert m.onnx --opset", 2, "for example `onnx convert"),
    ("compare m.onnx m.onnx --seed x", 2, "`x` is not a value of `--seed`: it is a whole number"),
    ("compare m.onnx m.onnx --seed 99999999999999999999", 2, "the number is too large"),
    ("convert m.onnx --weights externl", 2, "did you mean `external`?"),
    ("check m.onnx --limit nodez=1", 2, "did you mean `nodes`?"),
    ("check m.onnx --timeout 2x", 2, "write a number with its unit"),
    ("quantize m.onnx -o q.onnx", 2, "`onnx quantize` needs `--to <TYPE>`"),
    ("quantize m.onnx -o q.onnx", 2, "for example `onnx quantize "),
    ("run", 2, "`onnx run` needs `<MODEL>`"),
    ("run", 2, "for example `onnx run "),
    ("compare m.onnx", 2, "for example `onnx compare"),
    ("extract m.onnx", 2, "`--outputs <SEL>` or `--only <SEL>` or `--parts <N|BYTES>`"),
    ("extract m.onnx", 2, "for example `onnx extract"),
    ("reduce m.onnx", 2, "for example `onnx reduce"),
    ("convert m.onnx --float16 --bfloat16", 2, "`--float16` and `--bfloat16` exclude each other"),
    ("convert m.onnx --float16 --bfloat16", 2, "help: leave one of them out\n"),
    ("convert m.onnx --float16 --opset 22", 2, "`onnx convert IN --opset N -o NEW`, and then"),
    ("convert m.onnx --float16 --dequantize", 2, "`onnx convert IN --dequantize -o NEW`, and then"),
    ("convert m.onnx --float16 --half -o h.onnx", 2, "write `onnx convert m.onnx --float16 -o h.onnx`"),
    ("convert m.onnx --float16 --keep_io_types", 2, "write `onnx convert m.onnx --float16 --keep-io`"),
    ("convert m.onnx --float16 --keep-io-types", 2, "write `onnx convert m.onnx --float16 --keep-io`"),
    ("convert m.onnx --float16 --op_block_list Softmax", 2, "`--except 'Softmax() |"),
    ("convert m.onnx --float16 --max-finite-val 1e4", 2, "leave it out"),
    (
        "quantize m.onnx --to int8 --nodes-to-exclude a",
        2,
        "write `onnx quantize m.onnx --to int8 --except a`",
    ),
    ("quantize m.onnx --to int8 --op-types-to-quantize MatMul", 2, "`--except 'all() ~ (MatMul()"),
    ("quantize m.onnx --to int8 --quant-format QDQ", 2, "`--form qdq`"),
    ("quantize m.onnx --to int8 --calibrate-method entropy", 2, "`--method minmax`"),
    ("quantize m.onnx --activation-type int8", 2, "write `onnx quantize m.onnx --to int8`"),
    ("quantize m.onnx --to int8 --reduce-range", 2, "leave it out"),
    ("quantize m.onnx --to uint8 --seed 0 --target tensorrt", 2, "`--to int8`"),
    (
        "quantize m.onnx --to int4 --weights-only --form operator --target onnxruntime --budget snr=3",
        2,
        "`--measure` states",
    ),
    ("quantize m.onnx --to uint8 --calibrate no", 2, "`.npz`"),
    ("convert m.onnx -o a.onnx -o b.onnx", 2, "`--output` is given twice"),
    ("man chek", 2, "did you mean `check`?"),
    ("help chek", 2, "did you mean `check`?"),
    // Files and connections.
    ("info m.onx", 2, "did you mean `m.onnx`?"),
    ("info m", 2, "did you mean `m.onnx`?"),
    ("merge m.onnx m.onnx --connect logit=input_ids", 2, "did you mean the output `logits`?"),
    ("merge m.onnx m.onnx --connect logits=input_id", 2, "did you mean `input_ids`?"),
    ("merge m.onnx m.onnx --connect logits:input_ids", 2, "write `--connect logits=input_ids`"),
    ("convert m.onnx --weights link", 2, "`ln DATA DIR/` links it"),
    // Names of passes, operators, types, rules and limits.
    ("rewrite m.onnx --pass constant-folding", 2, "did you mean `folded-constants`?"),
    ("rewrite m.onnx --pass eliminate_identity", 2, "did you mean `no-identities`?"),
    ("rewrite m.onnx --pass no-identites", 2, "did you mean `no-identities`?"),
    ("ops show LayerNorm", 2, "did you mean `LayerNormalization`?"),
    ("ops show Linear", 2, "did you mean `Gemm`?"),
    ("explain MatMul", 2, "`onnx ops show MatMul` explains it"),
    ("explain matmul", 2, "`onnx ops show MatMul` explains it"),
    ("explain check", 2, "`onnx check --help` explains it"),
    ("explain run_step", 2, "did you mean `run_steps`?"),
    ("check m.onnx --target coreml", 2, "`onnxruntime`, `openvino`, `tensorrt` or the file of a target"),
    ("find m.onnx type(flaot)", 2, "did you mean the type `float`?"),
    ("find m.onnx Softmx()", 1, "did you mean `Softmax()`?"),
    ("find m.onnx softmax()", 2, "did you mean the operator, `Softmax()`?"),
    ("find m.onnx logit", 1, "did you mean"),
    // Sizes and names.
    ("run m.onnx --set bath=1", 2, "batch"),
    ("run m.onnx --set batch=-1", 2, "size"),
    ("edit m.onnx --set batch 1", 2, "write `onnx edit m.onnx --set batch=1`"),
    ("edit --set batch 1 m.onnx", 2, "write `onnx edit --set batch=1 m.onnx`"),
    ("run m.onnx --set batch 1", 2, "write `onnx run m.onnx --set batch=1`"),
    ("edit m.onnx --set input_id[0]=1", 2, "`input_ids`"),
    ("edit m.onnx --set input_ids[5]=1", 2, "does not exist"),
    ("edit m.onnx --rename input_idz=ids", 2, "did you mean `input_ids`?"),
    ("edit m.onnx --rename batch=N", 2, "`--set batch=NEW` renames sizes"),
    ("edit m.onnx --rename input_ids=x --names-of values", 2, "write `--names-of inputs`"),
    ("edit m.onnx --attribute Softmax().axs=1", 2, "did you mean `axis`?"),
    ("edit m.onnx --attribute axis=1", 2, "`Cast().to=float16`"),
    ("edit m.onnx --declare h=float32[2]", 2, "did you mean `float`?"),
    ("edit m.onnx --layout input_ids=NHWC", 2, "has 2 axes, `NHWC` has 4"),
    ("edit m.onnx --layout input_ids=NHWC", 2, "a layout has a letter for each axis"),
    // Versions and numbers.
    ("convert m.onnx --opset 99", 2, "99"),
    ("convert m.onnx --opset seventeen", 2, "write a number, such as 21"),
    ("info m.onnx --limit nodes=2X", 2, "`k`, `M`, `G`, `T`"),
    // Files.
    ("info small.onnxx", 2, "No such file"),
    ("info -- -x.onnx", 2, "No such file"),
    // The model has one input.
    ("run m.onnx --feed img.npy", 2, "`img.npy`"),
    ("run m.onnx --input img.npy", 2, "write `onnx run m.onnx --feed NAME=img.npy`"),
    ("run m.onnx --feed img=img.npy", 2, "img"),
    ("info lfs.onnx", 2, "a Git LFS pointer"),
    ("info page.onnx", 2, "a web page"),
    ("info archive.onnx", 2, "compressed with gzip"),
    ("info x.npy", 2, "NumPy"),
    // Tables.
    ("diff m.onnx m.onnx --format table", 2, "has no table"),
    ("info m.onnx --format table --sort-by size", 2, "the columns are"),
    ("simplify m.onnx m.onnx -o out.onnx", 2, "`-o DIR/`"),
];

#[test]
fn every_spelling_of_other_tools_has_an_answer() {
    assert!(TYPED.len() >= 60);
    let folder = Folder::with("m.onnxtxt", MODEL);
    onnx(&folder, "convert m.onnxtxt -o m.onnx").exits(0);
    folder.put("lfs.onnx", "version https://git-lfs.github.com/spec/v1\noid sha256:0\n");
    folder.put("page.onnx", "<!DOCTYPE html><title>404</title>");
    folder.put("archive.onnx", b"\x1f\x8b\x08\0\0\0\0\0\0\x03");
    folder.put("x.npy", b"\x93NUMPY\x01\0\x06\0{}    ");
    let mut wrong = Vec::new();
    for (typed, code, answer) in TYPED {
        let run = onnx(&folder, typed);
        if run.code != *code || !(run.err.contains(answer) || run.out.contains(answer)) {
            wrong.push(format!("{typed} -> {} {}{}", run.code, run.out, run.err));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(folder.list(), ["archive.onnx", "lfs.onnx", "m.onnx", "m.onnxtxt", "page.onnx", "x.npy"]);
}

/// An option is not a value, and what follows `--` is a command.
#[test]
fn no_tip_passes_an_option_as_a_value() {
    let folder = Folder::with("m.onnxtxt", MODEL);
    for command in ["simplify", "check", "run", "edit", "convert", "reduce"] {
        let run = onnx(&folder, &format!("{command} m.onnxtxt --zzz")).exits(2);
        assert!(run.err.contains("no option `--zzz`") && !run.err.contains("as a value"), "{}", run.err);
    }
}
