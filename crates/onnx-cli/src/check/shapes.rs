//! `onnx check --shapes`: given shapes against the declarations and the conditions of inference.

use std::collections::{HashMap, HashSet};

use onnx_diag::Sink;
use onnx_ir::{Model, ValueId};
use onnx_schema::Registry;
use onnx_shape_infer::{InferOptions, parse_shapes};

use crate::args::CheckArgs;
use crate::exit::Failure;
use crate::input::Loaded;
use crate::known_names;
use crate::output::shown;

/// Adds what contradicts the given shapes.
pub(super) fn test(
    loaded: &mut Loaded,
    args: &CheckArgs,
    registry: &Registry,
    sink: &mut Sink,
) -> Result<(), Failure> {
    let mut given: Vec<(ValueId, Vec<i64>)> = Vec::new();
    let mut seen = HashSet::new();
    let inputs = by_name(&loaded.model);
    for text in &args.shapes {
        for (name, sizes) in parse_shapes(text).map_err(not_shapes)? {
            let input = *inputs.get(name.as_str()).ok_or_else(|| no_input(&loaded.model, &name))?;
            if !seen.insert(input) {
                return Err(Failure::new(format_args!("two shapes are given for input `{}`", shown(&name)))
                    .help("give one shape for each input"));
            }
            given.push((input, sizes));
        }
    }
    let source = loaded.source()?;
    let inference = loaded.infer(InferOptions::default().with_data(&source).with_registry(registry))?;
    let inputs: Vec<(ValueId, &[i64])> =
        given.iter().map(|(input, sizes)| (*input, sizes.as_slice())).collect();
    sink.merge(inference.check_shapes(&loaded.model, &inputs));
    Ok(())
}

fn not_shapes(error: impl std::fmt::Display) -> Failure {
    Failure::new(error).help("write the name of an input and its sizes: `--shapes x=2x128,length=1`")
}

/// The inputs of the main graph. Of those with the same name, which a valid model does not have, the first one counts.
fn by_name(model: &Model) -> HashMap<&str, ValueId> {
    let inputs = model.graph(model.main_graph()).inputs().iter().rev();
    inputs.map(|&input| (model.str(model.value(input).name()), input)).collect()
}

fn no_input(model: &Model, name: &str) -> Failure {
    let inputs = model.graph(model.main_graph()).inputs();
    let known: Vec<&str> = inputs.iter().map(|&input| model.str(model.value(input).name())).collect();
    Failure::new(format_args!("the model has no input `{}`", shown(name)))
        .help(known_names::of_ports(name, &known, "input"))
}
