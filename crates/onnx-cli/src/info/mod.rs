//! `onnx info`: what is in a model.
//!
//! [`facts`] is the data, [`gather`] finds it, [`text`] makes a page of it, [`functions`] one of the functions; its JSON form is the data as it is.

mod facts;
mod functions;
mod gather;
mod text;
pub(crate) mod types;
mod weights;

use crate::args::InfoArgs;
use crate::exit::{Failure, Outcome};
use crate::input::{Loaded, expand, load};
use crate::json::JsonText;
use crate::ops::documents;
use crate::output::Out;
use crate::versions::{self, Setting};
use crate::{jobs, report, wrap};

pub(crate) fn run(args: &InfoArgs, out: &mut Out) -> Result<Outcome, Failure> {
    out.result_kind("info/1", "models");
    let mut is_first = true;
    jobs::one_by_one(expand(&args.files, &["onnx"]), "reading", out, |path, progress, out| {
        let mut loaded = load(path, &args.input)?;
        loaded.judge(&args.input.severity)?;
        out.limit_findings(args.input.severity.caps());
        progress.aside(|| show(&mut loaded, args, is_first, out))?;
        is_first = false;
        Ok(Outcome::Fine)
    })
}

/// Shows what is in one model, or adds it to the report.
fn show(loaded: &mut Loaded, args: &InfoArgs, is_first: bool, out: &mut Out) -> Result<(), Failure> {
    let mut facts = gather::gather(loaded);
    if args.versions {
        let registry = documents::registry_with_onnxruntime(&[], &loaded.execution)?;
        let setting = Setting { registry: &registry, execution: &loaded.execution };
        let sets = versions::facts(&loaded.model, setting);
        facts.versions = Some(sets.map_err(|failure| failure.about(&facts.file))?);
    }
    let mut findings = std::mem::take(&mut loaded.findings);
    if out.is_for_people() {
        let page = match &facts.versions {
            Some(sets) => versions::page(&facts.file, sets)?,
            None if args.functions => functions::page(&facts, args.all)?,
            None => text::page(&facts, args.all)?,
        };
        out.text(if is_first { "" } else { "\n" })?;
        out.text(&wrap::for_terminal(&page))?;
        return out.input(loaded, findings);
    }
    report::select(&loaded.model, &mut findings);
    let item = JsonText::of(&facts)?;
    out.input_of(&loaded.name, Some(loaded.format.id()), Some(loaded.bytes), findings, vec![item])
}
