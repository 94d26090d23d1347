//! `onnx hash`: content hashes of models.

use std::path::Path;

use onnx_diff::{
    Digest, HASH_VERSION, HashError, HashOptions, hash_interface, hash_model, hash_structure, hash_weights,
};
use serde::Serialize;

use crate::args::HashArgs;
use crate::exit::{Failure, LibraryError, Outcome};
use crate::input::{Loaded, expand, load};
use crate::jobs;
use crate::json::JsonText;
use crate::output::{DIM, Out, paint, shown};
use crate::progress::Progress;
use crate::weights::require_elements;

pub(crate) fn run(args: &HashArgs, out: &mut Out) -> Result<Outcome, Failure> {
    let files = expand(&args.files, &["onnx"]);
    let progress = Progress::start("hashing", files.len());
    out.result_kind("hash/1", "models");
    let mut outcome = Outcome::Fine;
    jobs::in_order(
        files,
        args.jobs,
        |path| hashed(path, args),
        |name, result| {
            progress.begin(&name);
            progress.aside(|| match result {
                Ok((mut loaded, digests)) => {
                    loaded.report_complete(&args.input.severity, out)?;
                    show(&loaded, &digests, out)
                }
                Err(failure) => {
                    outcome = outcome.max(failure.outcome());
                    out.refused((!name.is_empty()).then_some(name.as_str()), &failure)
                }
            })?;
            progress.end();
            Ok(())
        },
    )?;
    Ok(outcome)
}

/// The digests of a model; those that were not requested are absent.
#[derive(Default)]
struct Digests {
    model: Option<Digest>,
    structure: Option<Digest>,
    interface: Option<Digest>,
    weights: Option<Digest>,
}

fn hashed(path: &Path, args: &HashArgs) -> Result<(Loaded, Digests), Failure> {
    let loaded = load(path, &args.input)?;
    let digests = digests(&loaded, args)
        .map_err(|failure| failure.or_timeout(&loaded.execution).about(&loaded.name))?;
    Ok((loaded, digests))
}

fn digests(loaded: &Loaded, args: &HashArgs) -> Result<Digests, Failure> {
    let (model, execution) = (&loaded.model, &loaded.execution);
    if args.structure {
        return Ok(Digests { structure: Some(hash_structure(model, execution)?), ..Digests::default() });
    }
    if args.interface {
        return Ok(Digests { interface: Some(hash_interface(model)), ..Digests::default() });
    }
    require_elements(loaded)?;
    let source = loaded.source()?;
    let options = HashOptions::default().with_data(&source).with_execution(execution.clone());
    if args.weights {
        return Ok(Digests { weights: Some(hash_weights(model, &options)?), ..Digests::default() });
    }
    let hash = hash_model(model, &options)?;
    let (structure, interface) = (Some(hash.structure), Some(hash.interface));
    Ok(Digests { model: Some(hash.model), structure, interface, weights: Some(hash.weights) })
}

impl LibraryError for HashError {
    fn limit(&self) -> Option<&'static str> {
        self.limit()
    }

    fn help(&self) -> Option<String> {
        let text = "`--structure` and `--interface` read no weights; `--data-dir DIR` names their directory";
        matches!(self, Self::Unreadable(_)).then(|| text.to_owned())
    }
}

/// A digest with the version of the scheme.
fn text(digest: Digest) -> String {
    format!("{HASH_VERSION}:{digest}")
}

fn show(loaded: &Loaded, digests: &Digests, out: &mut Out) -> Result<(), Failure> {
    let findings = loaded.findings.clone();
    if out.is_for_people() {
        let Digests { model, structure, interface, weights } = digests;
        let digest = model.or(*structure).or(*interface).or(*weights).unwrap_or_default();
        out.text(&format!("{}  {}\n", text(digest), shown(&loaded.name)))?;
        let details = [("structure", structure), ("interface", interface), ("weights", weights)];
        for (name, digest) in details.into_iter().filter(|_| model.is_some()) {
            let digest = digest.map(text).unwrap_or_default();
            out.detail(1, &format!("{} {digest}", paint(DIM, name)));
        }
        return out.input(loaded, findings);
    }
    let item = Item {
        name: &loaded.name,
        model: digests.model.map(text),
        structure: digests.structure.map(text),
        interface: digests.interface.map(text),
        weights: digests.weights.map(text),
    };
    let item = JsonText::of(&item)?;
    out.input_of(&loaded.name, Some(loaded.format.id()), Some(loaded.bytes), findings, vec![item])
}

/// A model, as an item of `hash/1`.
#[derive(Serialize)]
struct Item<'a> {
    name: &'a str,
    model: Option<String>,
    structure: Option<String>,
    interface: Option<String>,
    weights: Option<String>,
}
