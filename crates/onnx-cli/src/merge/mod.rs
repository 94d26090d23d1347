//! `onnx merge`: models become one, and functions of libraries become functions of a model.

mod connect;
mod data;
mod join;
mod link;

use crate::args::MergeArgs;
use crate::exit::{Failure, Outcome};
use crate::output::Out;

pub(crate) fn run(args: &MergeArgs, out: &mut Out) -> Result<Outcome, Failure> {
    match args.input_files.as_slice() {
        [input] if !args.link.is_empty() && !args.joins() => link::run(input, args, out),
        [_] => Err(Failure::new("there is only one model")
            .help("name the models to join, or libraries of functions with `--link LIB`")),
        _ => join::run(args, out),
    }
}
