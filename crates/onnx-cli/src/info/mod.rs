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
use crate::input::{Loaded, display_name, expand, load};
use crate::output::{Out, terminal_safe};
use crate::progress::Progress;
use crate::{report, versions, wrap};

pub(crate) fn run(args: &InfoArgs, out: &mut Out) -> Result<Outcome, Failure> {
    let files = expand(&args.files, &["onnx"]);
    let progress = Progress::start("reading", files.len());
    out.result_kind("info/1", "models");
    let (mut outcome, mut is_first) = (Outcome::Fine, true);
    for file in files {
        if out.is_closed() {
            break;
        }
        let name = file.as_deref().ok().map(display_name);
        progress.begin(name.as_deref().unwrap_or_default());
        match file.and_then(|path| load(&path, &args.input)) {
            Ok(mut loaded) => {
                loaded.judge(&args.input.severity)?;
                progress.aside(|| show(&mut loaded, args, is_first, out))?;
                is_first = false;
            }
            Err(failure) => {
                progress.aside(|| out.refused(name.as_deref(), &failure))?;
                outcome = outcome.max(failure.outcome());
            }
        }
        progress.end();
    }
    Ok(outcome)
}

/// Shows what is in one model, or adds it to the report.
fn show(loaded: &mut Loaded, args: &InfoArgs, is_first: bool, out: &mut Out) -> Result<(), Failure> {
    let mut facts = gather::gather(loaded);
    if args.versions {
        facts.versions = Some(versions::facts(&loaded.model, &loaded.execution)?);
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
    let item = terminal_safe(&serde_json::to_string(&facts).map_err(Failure::defect)?);
    out.input_of(&loaded.name, Some(loaded.format.id()), Some(loaded.bytes), findings, vec![item])
}
