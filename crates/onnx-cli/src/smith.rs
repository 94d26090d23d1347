//! `onnx smith`: a valid model, made from a number.

use onnx_codec::InputFiles;
use onnx_schema::{SchemaId, domain, latest_opset, lookup_by_name, opset_versions, suggest_op};
use onnx_smith::{SmithOptions, from_seed};
use onnx_types::Execution;

use crate::args::{ExternalArgs, SmithArgs, Weights};
use crate::exit::{Failure, Outcome};
use crate::output::{Out, shown};
use crate::progress::Progress;
use crate::store;
use crate::weights::move_out;

/// The greatest number of nodes: the random bytes for all of them are made first.
const MAX_NODES: usize = 1_000_000;

pub(crate) fn run(args: &SmithArgs, out: &mut Out) -> Result<Outcome, Failure> {
    let placement = args.output.placement(None, &ExternalArgs::DEFAULT, out)?;
    if args.nodes > MAX_NODES {
        return Err(Failure::new(format_args!("`--nodes {}` is too many", args.nodes))
            .help(format!("write at most {MAX_NODES}")));
    }
    let mut options = SmithOptions::default().with_nodes(args.nodes);
    if let Some(opset) = args.opset {
        let known = opset_versions(domain::ONNX).unwrap_or(1..=1);
        if !known.contains(&opset) {
            return Err(Failure::new(format_args!("there is no version {opset} of the ONNX operators"))
                .help(format!("the versions are {} to {}", known.start(), known.end())));
        }
        options = options.with_opset(opset);
    }
    if let Some(name) = &args.op {
        options = options.with_schema(schema(name, args.opset)?);
    }
    let progress = Progress::start("making", 1);
    let mut made = from_seed(args.seed, &options);
    if let Some(schema) = options.schema.filter(|&schema| made.stats.made(schema) == 0) {
        let text = format!("no node of {} came about", schema.schema());
        progress.aside(|| out.warning(&text, Some("try another seed")));
    }
    let files = match args.output.weights.weights {
        Weights::External(_) => move_out(&mut made.model, &placement, &Execution::DEFAULT.limits, out)?,
        // The model is small, and has no external data.
        Weights::Auto | Weights::Keep | Weights::Embed => Vec::new(),
    };
    let to = placement.destination(Execution::DEFAULT, args.output.write, InputFiles::default());
    store::write(&made.model, &to, &files, progress, out)?;
    Ok(Outcome::Fine)
}

/// The schema of an operator at a version of the ONNX operators, or the newest one.
fn schema(name: &str, opset: Option<i64>) -> Result<SchemaId, Failure> {
    let (namespace, op) = name.rsplit_once('.').unwrap_or(("", name));
    let version = if namespace.is_empty() { opset } else { None };
    let newest = onnx_schema::domain_symbol(namespace).and_then(latest_opset);
    let found = version.or(newest).and_then(|version| lookup_by_name(namespace, op, version));
    let Some(schema) = found else {
        let failure = Failure::new(format_args!("ONNX has no operator `{}` there", shown(name)));
        return Err(match suggest_op(op) {
            Some(other) => failure.help(format!("did you mean `{other}`, or another version?")),
            None => failure.help("`onnx ops search WORD` looks for a part of a name"),
        });
    };
    // If the version is deprecated, the newest earlier one that is not is used.
    let usable =
        schema.versions().iter().rev().filter(|other| other.since_version() <= schema.since_version());
    let usable = usable.into_iter().find(|other| !other.is_deprecated());
    Ok(usable.unwrap_or(schema).id())
}
