//! `onnx ops`: operators, and operator sets as documents.

pub(crate) mod args;
pub(crate) mod bodies;
pub(crate) mod documents;
mod known;
mod list;
mod show;

use std::path::Path;

use onnx_codec::InputFiles;
use onnx_codec::operator_set::{document, document_of_functions};
use onnx_ir::OperatorSetDocument;
use onnx_schema::{OperatorSet, Registry};
use onnx_types::Execution;

use crate::args::{InputArgs, SeverityArgs};
use crate::exit::{Failure, Outcome};
use crate::format::Format;
use crate::input::{is_stream, load};
use crate::limits::LimitArgs;
use crate::output::{Out, shown};
use crate::size::plural;
use crate::store;
use args::{ExportArgs, OpsArgs, OpsCommand};

pub(crate) fn run(args: &OpsArgs, out: &mut Out) -> Result<Outcome, Failure> {
    let registry = documents::registry_with_onnxruntime(&args.ops, &Execution::DEFAULT)?;
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
    let path = args.output_file.as_deref().unwrap_or(Path::new("-"));
    args.report.check(args.functions_of.as_deref(), Some(path), out)?;
    let (document, signatures, inputs) = exported(args, registry)?;
    let operators = plural(document.operators.len().try_into().unwrap_or(u64::MAX), "operator");
    if is_stream(path) {
        let is_text = args.output_file.is_none();
        let (bytes, format) = documents::bytes(&document, is_text)?;
        if !is_text {
            let help = "redirect it, or leave `-o` away, which writes text";
            store::refuse_terminal(path, Format::Onnx, help)?;
        }
        out.output(path, Some(format), bytes.len() as u64, !args.dry_run);
        if args.dry_run {
            out.summary(&format!("would write {}: {operators}", path.to_string_lossy()));
        } else {
            store::stream(path, &inputs, [bytes.as_ref()], out)?;
            if !is_text && signatures.is_some() {
                out.warning(
                    "the signatures of the operators are not written: they are in a file next to the document",
                    Some("`-o FILE.onnxops` writes both"),
                );
            }
        }
        return Ok(Outcome::Fine);
    }
    let options = store::options(args.output, inputs).with_dry_run(args.dry_run);
    let files = documents::save(path, &document, signatures.as_ref(), &options)?;
    files.iter().for_each(|(path, format, bytes)| out.output(path, Some(format), *bytes, !args.dry_run));
    let names: Vec<String> = files.iter().map(|(path, ..)| shown(&path.to_string_lossy())).collect();
    let verb = if args.dry_run { "would write" } else { "wrote" };
    out.summary(&format!("{verb} {}: {operators}", names.join(" and ")));
    Ok(Outcome::Fine)
}

/// The document that the arguments request, its signatures if it needs them, and the files of the input.
fn exported(
    args: &ExportArgs,
    registry: &Registry,
) -> Result<(OperatorSetDocument, Option<OperatorSet>, InputFiles), Failure> {
    let Some(model) = &args.functions_of else {
        let domain = known::known_domain(registry, &args.domain)?;
        let version = known::version(registry, &domain, args.opset)?;
        let set = known::set(registry, &domain, version)?;
        let document = document(&set).map_err(Failure::defect)?;
        return Ok((document, Some(set), InputFiles::default()));
    };
    let input = InputArgs {
        from: None,
        no_map: true,
        data_dir: None,
        bounds: LimitArgs::default(),
        severity: SeverityArgs::default(),
    };
    let loaded = load(model, &input)?;
    let inputs = loaded.files()?;
    let document = document_of_functions(&loaded.model, &args.domain, args.opset.unwrap_or(1))
        .map_err(|error| Failure::new(error).help("`--opset N` and `--domain` say which set it is"))?;
    if document.operators.is_empty() {
        let message = format_args!("the model has no function in domain `{}`", shown(&args.domain));
        return Err(Failure::new(message).about(&loaded.name).help("`--domain` says which is meant"));
    }
    Ok((document, None, inputs))
}
