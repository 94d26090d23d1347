//! `onnx ops`: operators, and operator sets as documents.

pub(crate) mod args;
pub(crate) mod documents;
mod known;
mod list;
mod show;

use onnx_codec::operator_set::{document, document_of_functions};
use onnx_codec::{EncodeOptions, InputFiles, encode_operator_set};
use onnx_schema::Registry;

use crate::args::{InputArgs, SeverityArgs};
use crate::exit::{Failure, Outcome};
use crate::input::{is_stream, load};
use crate::limits::LimitArgs;
use crate::output::{Out, shown};
use crate::size::plural;
use crate::store;
use args::{ExportArgs, OpsArgs, OpsCommand};

pub(crate) fn run(args: &OpsArgs, out: &mut Out) -> Result<Outcome, Failure> {
    let registry = documents::registry(&args.ops)?;
    let text = match &args.command {
        OpsCommand::List(args) => list::list(args, &registry, out)?,
        OpsCommand::Search(args) => list::search(args, &registry, out)?,
        OpsCommand::Show(args) => show::show(args, &registry, out)?,
        OpsCommand::Export(args) => return export(args, &registry, out),
    };
    out.text(&text)?;
    Ok(Outcome::Fine)
}

fn export(args: &ExportArgs, registry: &Registry, out: &mut Out) -> Result<Outcome, Failure> {
    args.report.check(args.functions_of.as_deref(), Some(&args.output_file), out)?;
    let mut inputs = InputFiles::default();
    let (document, signatures) = match &args.functions_of {
        Some(model) => {
            let input = InputArgs {
                from: None,
                no_map: true,
                data_dir: None,
                bounds: LimitArgs::default(),
                severity: SeverityArgs::default(),
            };
            let loaded = load(model, &input)?;
            inputs = loaded.files()?;
            let document = document_of_functions(&loaded.model, &args.domain, args.opset.unwrap_or(1))
                .map_err(Failure::new)?;
            if document.operators.is_empty() {
                let domain = shown(&args.domain);
                let message = format_args!("the model has no function in domain `{domain}`");
                return Err(Failure::new(message).about(&loaded.name).help("`--domain` says which is meant"));
            }
            (document, None)
        }
        None => {
            let domain = known::known_domain(registry, &args.domain)?;
            let version = known::version(registry, &domain, args.opset)?;
            let set = known::set(registry, &domain, version)?;
            (document(&set).map_err(Failure::new)?, Some(set))
        }
    };
    if is_stream(&args.output_file) {
        let bytes = encode_operator_set(&document, &EncodeOptions::default())?.into_bytes();
        store::stream(&args.output_file, &inputs, [bytes.as_ref()], out)?;
        out.output(&args.output_file, Some("onnxops"), bytes.len() as u64, true);
        return Ok(Outcome::Fine);
    }
    let options = store::options(args.output, inputs);
    let files = documents::save(&args.output_file, &document, signatures.as_ref(), &options)?;
    files.iter().for_each(|(path, format, bytes)| out.output(path, Some(format), *bytes, true));
    let names: Vec<String> = files.iter().map(|(path, ..)| shown(&path.to_string_lossy())).collect();
    let count = plural(document.operators.len().try_into().unwrap_or(u64::MAX), "operator");
    out.summary(&format!("wrote {}: {count}", names.join(" and ")));
    Ok(Outcome::Fine)
}
