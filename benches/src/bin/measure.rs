//! Measures this workspace for `cargo xtask bench --peers`, and prints the samples as a JSON object.
//!
//! `measure generate chain|transformer|bare|redundant|subgraphs|functions NODES PATH`, `measure generate weights BYTES PATH`,
//! `measure generate external BYTES DIRECTORY`, `measure model PATH ROUNDS`, `measure text PATH ROUNDS OUT`,
//! `measure forms raw|typed BYTES ROUNDS`, `measure infer PATH ROUNDS`, `measure check PATH ROUNDS`,
//! `measure passes PATH ROUNDS`, `measure pipeline PATH ROUNDS`, `measure pipeline-growth KIND ROUNDS SIZE…`,
//! `measure convert PATH VERSION ROUNDS`, `measure convert-growth VERSION ROUNDS SIZE…`,
//! `measure simplify PATH ROUNDS`, `measure simplify-growth ROUNDS SIZE…`, `measure sweep RULES…`,
//! `measure check-growth ROUNDS SIZE…`, `measure inline PATH ROUNDS`, `measure inline-growth ROUNDS SIZE…`,
//! `measure held open|check|infer|print|convert PATH`, `measure copy FROM TO fsync|plain`, `measure growth ROUNDS SIZE…`,
//! `measure profile PATH ROUNDS`, `measure profile infer|check|encode PATH ROUNDS`, `measure eval FOLDER ROUNDS`,
//! `measure eval-held FOLDER`, `measure eval-growth ROUNDS SIZE…`
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command-line program talks to its caller")]
#![forbid(unsafe_code)]

use std::any::Any;
use std::error::Error;
use std::fs::File;
use std::io::{self, IoSlice, Write};
use std::path::Path;
use std::process::ExitCode;

use bytes::Bytes;
use onnx_benches::forms::forms;
use onnx_benches::samples::Samples;
use onnx_benches::{decode, decode_messages, edits, encode, eval, passes, simplify, status};
use onnx_check::{CheckOptions, ExternalFiles, check};
use onnx_codec::file::{read, write_segments};
use onnx_codec::{FileSource, ReadMode};
use onnx_ir::Model;
use onnx_proto::wire::Segments;
use onnx_shape_infer::{InferOptions, MergePolicy, infer};
use onnx_tests::models::{
    Transformer, chain, external_weights, fan_out, functions, inline_weights, redundant, subgraphs,
};
use onnx_text::{ParseOptions, PrintOptions, parse_model, print_model};
use onnx_version::{ConvertOptions, convert};
use prost::Message as _;

type Result<T = (), E = Box<dyn Error>> = std::result::Result<T, E>;

/// How many edits make one sample.
const EDITS: usize = 2000;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let mut samples = Samples::default();
    let result = match args.as_slice() {
        ["generate", kind, size, path] => generate(kind, size, path),
        ["model", path, rounds] => model(path, rounds, &mut samples),
        ["text", path, rounds, out] => text(path, rounds, out, &mut samples),
        ["forms", kind, bytes, rounds] => forms(kind, bytes, rounds, &mut samples),
        ["infer", path, rounds] => inference(path, rounds, &mut samples),
        ["profile", path, rounds] => profile(path, rounds),
        ["profile", what, path, rounds] => profile_part(what, path, rounds),
        ["check", path, rounds] => check_file(path, rounds, &mut samples),
        ["convert", path, version, rounds] => {
            onnx_benches::convert::converting(path, version, rounds, &mut samples)
        }
        ["convert-growth", version, rounds, sizes @ ..] => {
            onnx_benches::convert::growth(version, rounds, sizes, &mut samples)
        }
        ["inline", path, rounds] => onnx_benches::functions::inlining(path, rounds, &mut samples),
        ["inline-growth", rounds, sizes @ ..] => onnx_benches::functions::growth(rounds, sizes, &mut samples),
        ["passes", path, rounds] => passes::each(path, rounds, &mut samples),
        ["pipeline", path, rounds] => passes::pipeline(path, rounds, &mut samples),
        ["pipeline-growth", kind, rounds, sizes @ ..] => pipeline_growth(kind, rounds, sizes, &mut samples),
        ["simplify", path, rounds] => simplify::file(path, rounds, &mut samples),
        ["simplify-growth", rounds, sizes @ ..] => simplify_growth(rounds, sizes, &mut samples),
        ["sweep", counts @ ..] => {
            simplify::sweep(&Transformer::with_nodes(11_302).build(), counts, &mut samples)
        }
        ["check-growth", rounds, sizes @ ..] => check_growth(rounds, sizes, &mut samples),
        ["held", operation, path] => held(operation, path, &mut samples),
        ["copy", from, to, policy] => copy(from, to, *policy == "fsync"),
        ["growth", rounds, sizes @ ..] => growth(rounds, sizes, &mut samples),
        ["eval", folder, rounds] => eval::runs(folder, rounds, &mut samples),
        ["eval-held", folder] => eval::held(folder, &mut samples),
        ["eval-growth", rounds, sizes @ ..] => eval::growth(rounds, sizes, &mut samples),
        _ => {
            let commands = "generate|model|text|forms|infer|profile|check|check-growth|convert|convert-growth|inline|inline-growth|passes|pipeline|pipeline-growth|simplify|simplify-growth|sweep|held|copy|growth|eval|eval-held|eval-growth";
            Err(format!("measure {commands}, with their arguments").into())
        }
    };
    match result {
        Ok(()) => {
            println!("{}", samples.to_json());
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("measure: {error}");
            ExitCode::FAILURE
        }
    }
}

/// The bytes of a generated model; `None` if there is no such kind.
fn made(kind: &str, size: usize) -> Option<Bytes> {
    Some(match kind {
        "chain" => chain(size),
        "transformer" => Transformer { value_info: true, ..Transformer::with_nodes(size) }.build(),
        "bare" => Transformer::with_nodes(size).build(),
        "redundant" => redundant(size),
        "subgraphs" => subgraphs(size),
        "functions" => functions(size),
        _ => return None,
    })
}

/// Runs the pipeline on generated models of these sizes.
fn pipeline_growth(kind: &str, rounds: &str, sizes: &[&str], samples: &mut Samples) -> Result {
    for size in sizes {
        let bytes = made(kind, size.parse()?).ok_or("there is no such model")?;
        for _ in 0..rounds.parse::<usize>()? {
            passes::sample(&bytes, &format!("pipeline/{size}"), samples)?;
        }
    }
    Ok(())
}

/// Simplifies chains of these sizes.
fn simplify_growth(rounds: &str, sizes: &[&str], samples: &mut Samples) -> Result {
    for size in sizes {
        let bytes = chain(size.parse()?);
        for _ in 0..rounds.parse::<usize>()? {
            simplify::sample(&bytes, &format!("simplify/{size}"), samples)?;
        }
    }
    Ok(())
}

fn generate(kind: &str, size: &str, path: &str) -> Result {
    let bytes = match kind {
        "weights" => {
            write_plain(path, &inline_weights(size.parse()?))?;
            // What is measured later shall not wait for these pages to reach the disk.
            return Ok(File::open(path)?.sync_all()?);
        }
        "external" => {
            std::fs::create_dir_all(path)?;
            let model = external_weights(Path::new(path), size.parse()?)?;
            return Ok(File::open(model.with_file_name("weights.bin"))?.sync_all()?);
        }
        other => made(other, size.parse()?).ok_or_else(|| format!("there is no model `{other}`"))?,
    };
    Ok(std::fs::write(path, bytes)?)
}

/// All operations on a whole model, interleaved.
fn model(path: &str, rounds: &str, samples: &mut Samples) -> Result {
    let bytes = read(path, ReadMode::Memory)?;
    whole("", &bytes, rounds.parse()?, samples);
    for _ in 0..rounds.parse()? {
        samples.time("load", || read(path, ReadMode::Memory).map(decode)).map(drop)?;
    }
    Ok(())
}

/// Samples of everything that takes time linear in the model; `suffix` ends their names.
///
/// Each library has separate rounds, as in the processes of the others, so that the heap and cache state that one
/// leaves behind does not slow down the next.
fn whole(suffix: &str, bytes: &Bytes, rounds: usize, samples: &mut Samples) {
    // The first round pays for memory that the process does not have yet; this matters most to reading.
    let mut warm_up = Samples::default();
    drop(samples.time(format!("first-decode{suffix}"), || decode(bytes.clone())));
    let mut each = |what: &mut dyn FnMut(&mut Samples)| {
        what(&mut warm_up);
        (0..rounds).for_each(|_| what(samples));
    };
    each(&mut |samples| {
        let model = samples.time(format!("decode{suffix}"), || decode(bytes.clone()));
        drop(samples.time(format!("encode{suffix}"), || encode(&model)));
    });
    each(&mut |samples| {
        let messages = samples.time(format!("prost-decode{suffix}"), || decode_messages(bytes.clone()));
        drop(samples.time(format!("prost-encode{suffix}"), || messages.encode_to_vec()));
    });
    let model = decode(bytes.clone());
    each(&mut |samples| {
        drop(samples.time(format!("clone{suffix}"), || model.clone()));
        let faults = samples.time(format!("verify{suffix}"), || model.verify());
        assert!(faults.is_ok(), "the model that was read is sound");
    });
}

/// Prints a model to a file as text that the reference reads, and parses it, interleaved.
fn text(path: &str, rounds: &str, out: &str, samples: &mut Samples) -> Result {
    let model = decode(read(path, ReadMode::Memory)?);
    let rounds: usize = rounds.parse()?;
    let mut warm_up = Samples::default();
    for round in 0..=rounds {
        let samples = if round == 0 { &mut warm_up } else { &mut *samples };
        let printed = samples.time("print-text", || print_model(&model, &PrintOptions::compat()))?.text;
        let parsed = samples.time("parse-text", || parse_model(&printed, &ParseOptions::default()))?;
        assert_eq!(parsed.node_count(), model.node_count(), "the model comes back from its text");
        if round == 0 {
            std::fs::write(out, printed)?;
        }
    }
    Ok(())
}

/// Infers the types and shapes of a model, both from bytes to bytes and on a decoded model.
fn inference(path: &str, rounds: &str, samples: &mut Samples) -> Result {
    let bytes = read(path, ReadMode::Map)?;
    let rounds: usize = rounds.parse()?;
    let mut warm_up = Samples::default();
    for round in 0..=rounds {
        let samples = if round == 0 { &mut warm_up } else { &mut *samples };
        let written = samples.time("infer-bytes", || -> Result<Segments> {
            let mut model = decode(bytes.clone());
            infer(&model, &InferOptions::default()).apply(&mut model, MergePolicy::default())?;
            Ok(encode(&model))
        })?;
        drop(written);
        let mut model = decode(bytes.clone());
        let mut inference = samples.time("infer", || infer(&model, &InferOptions::default()));
        samples.time("infer-apply", || inference.apply(&mut model, MergePolicy::default()).map(drop))?;
        drop(samples.time("infer-encode", || encode(&model)));
    }
    Ok(())
}

/// Only reads a model, or parses a text, for a profiler.
fn profile(path: &str, rounds: &str) -> Result {
    let bytes = read(path, ReadMode::Memory)?;
    if path.ends_with(".onnxtxt") {
        for _ in 0..rounds.parse::<u32>()? {
            parse_model(&bytes, &ParseOptions::default())?;
        }
        return Ok(());
    }
    (0..rounds.parse()?).for_each(|_: u32| drop(decode(bytes.clone())));
    Ok(())
}

/// Repeats one operation on a model in memory, for a profiler.
fn profile_part(what: &str, path: &str, rounds: &str) -> Result {
    let model = decode(read(path, ReadMode::Memory)?);
    for _ in 0..rounds.parse::<u32>()? {
        match what {
            "infer" => drop(infer(&model, &InferOptions::default())),
            "check" => drop(check(&model, &CheckOptions::default())),
            "encode" => drop(encode(&model)),
            other => return Err(format!("`{other}` is not among infer, check and encode").into()),
        }
    }
    Ok(())
}

/// Checks a model from its file to the verdict, and again in memory, interleaved.
fn check_file(path: &str, rounds: &str, samples: &mut Samples) -> Result {
    let options = CheckOptions::default();
    let mut warm_up = Samples::default();
    for round in 0..=rounds.parse()? {
        let samples = if round == 0 { &mut warm_up } else { &mut *samples };
        let verdict = samples.time("check-file", || {
            let model = read(path, ReadMode::Map).map(decode)?;
            Ok::<_, onnx_codec::FileError>(check(&model, &options).has_errors())
        })?;
        let model = read(path, ReadMode::Memory).map(decode)?;
        let found = samples.time("check", || check(&model, &options));
        assert_eq!(found.has_errors(), verdict, "the verdict is the same");
        samples.push("nodes", model.node_count() as u64);
    }
    Ok(())
}

/// Checks nested graphs and functions, by their number.
fn check_growth(rounds: &str, sizes: &[&str], samples: &mut Samples) -> Result {
    let rounds: usize = rounds.parse()?;
    for size in sizes {
        let count: usize = size.parse()?;
        for (name, bytes) in [("subgraphs", subgraphs(count)), ("functions", functions(count))] {
            let model = decode(bytes);
            for _ in 0..rounds {
                let found =
                    samples.time(format!("check-{name}/{count}"), || check(&model, &CheckOptions::default()));
                assert!(!found.has_errors(), "the generated model is right");
            }
        }
    }
    Ok(())
}

/// Opens a model by a memory map and performs one operation on it in a fresh process. All resident memory counts,
/// including the accessed pages of the map.
/// The version of the default operator set to which models with large weights are converted.
const NEWER_VERSION: i64 = 25;

fn held(operation: &str, path: &str, samples: &mut Samples) -> Result {
    let source = FileSource::for_model(path)?.with_mode(ReadMode::Map);
    let before = status("RssAnon")?;
    // Keep the result alive until the memory has been measured.
    let held: (Model, Box<dyn Any>) = samples.wall_time("held", || -> Result<_> {
        let mut model = read(path, ReadMode::Map).map(decode)?;
        let made: Box<dyn Any> = match operation {
            "open" => Box::new(()),
            "check" => {
                let options = CheckOptions::default().with_external(ExternalFiles::new(source));
                let found = check(&model, &options);
                assert!(!found.has_errors(), "the generated model is right");
                Box::new(found)
            }
            "infer" => {
                let mut inference = infer(&model, &InferOptions::default().with_data(&source));
                Box::new(inference.apply(&mut model, MergePolicy::default())?)
            }
            "print" => Box::new(print_model(&model, &PrintOptions::default())?.text),
            "convert" => Box::new(convert(&mut model, NEWER_VERSION, &ConvertOptions::default())?),
            other => {
                return Err(format!("`{other}` is not among open, check, infer, print and convert").into());
            }
        };
        Ok((model, made))
    })?;
    samples.push("held-anon", status("RssAnon")?.saturating_sub(before));
    samples.push("held-peak", status("VmHWM")?);
    assert!(held.0.node_count() > 0, "the model has nodes");
    Ok(())
}

/// Reads a model by a map and writes it elsewhere.
fn copy(from: &str, to: &str, fsync: bool) -> Result {
    let segments = encode(&decode(read(from, ReadMode::MapAll)?));
    if fsync { Ok(write_segments(to, &segments)?) } else { Ok(write_plain(to, &segments)?) }
}

/// Writes segments without waiting for the disk.
fn write_plain(path: &str, segments: &Segments) -> io::Result<()> {
    let mut file = File::create(path)?;
    let mut slices: Vec<IoSlice<'_>> = segments.iter().map(|segment| IoSlice::new(segment)).collect();
    let mut slices = slices.as_mut_slice();
    while !slices.is_empty() {
        // The most slices that one call takes.
        let most = slices.len().min(1024);
        let written = file.write_vectored(&slices[..most])?;
        IoSlice::advance_slices(&mut slices, written);
    }
    Ok(())
}

/// The same at several sizes; what edits cost is given for [`EDITS`] of them.
fn growth(rounds: &str, sizes: &[&str], samples: &mut Samples) -> Result {
    let rounds: usize = rounds.parse()?;
    for size in sizes {
        let nodes: usize = size.parse()?;
        let suffix = format!("/{nodes}");
        let bytes = chain(nodes);
        whole(&suffix, &bytes, rounds, samples);
        let mut model = decode(bytes);
        for _ in 0..=rounds {
            insert_and_erase(&mut model, &suffix, samples);
        }
        for _ in 0..rounds {
            edits::reverse(&mut model);
            samples.time(format!("sort{suffix}"), || edits::sort(&mut model));
        }
        drop(model);
        let mut model = decode(fan_out(nodes));
        for _ in 0..rounds {
            uses(&mut model, &suffix, samples);
        }
    }
    Ok(())
}

fn insert_and_erase(model: &mut Model, suffix: &str, samples: &mut Samples) {
    let window = edits::window(model, EDITS);
    let made = samples.time(format!("insert{suffix}"), || edits::insert_after(model, &window));
    samples.time(format!("erase{suffix}"), || edits::erase(model, &made));
    // Find the insertion point outside the measurement: walking there takes time linear in the model.
    let Some(&place) = window.get(EDITS / 2) else { return };
    let made = samples.time(format!("insert-crowded{suffix}"), || edits::insert_crowded(model, place, EDITS));
    edits::erase(model, &made);
}

fn uses(model: &mut Model, suffix: &str, samples: &mut Samples) {
    let (hub, input) = edits::hub_and_input(model);
    samples.time(format!("replace{suffix}"), || model.replace_all_uses(hub, input));
    samples.time(format!("replace{suffix}"), || model.replace_all_uses(input, hub));
    // Uses of one value are added and removed among many others.
    let Some(producer) = model.value(hub).producer() else { return };
    let users = vec![producer; EDITS];
    let made = samples.time(format!("insert-use{suffix}"), || edits::insert_after(model, &users));
    samples.time(format!("erase-use{suffix}"), || edits::erase(model, &made));
}
