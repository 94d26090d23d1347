//! Edits that were refused: what is said about them, and the files that reproduce refutations.

use std::path::{Path, PathBuf};

use onnx_codec::file::{FileKind, FileSet, WriteOptions};
use onnx_ir::Model;
use onnx_pass::{Entry, Level, PipelineReport, Refusal, RefusalKind, Verdict};

use crate::exit::Failure;
use crate::folder::CreatedFolder;
use crate::output::{Out, clean_lines, shown};
use crate::size;

/// Who chose the passes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Chosen {
    ByUser,
    ByCommand,
}

/// Warns of refused edits, those of one pass and one reason once. That the options exclude an edit is only a detail, and
/// so is that a selection excludes a pass of the command that edits the model as a whole.
pub(super) fn describe(refusals: &[Refusal], chosen: Chosen, out: &Out) {
    let mut groups: Vec<(&Refusal, usize)> = Vec::new();
    for refusal in refusals {
        let is_same = |(known, _): &&mut (&Refusal, usize)| {
            known.pass == refusal.pass && known.level == refusal.level && known.reason == refusal.reason
        };
        match groups.iter_mut().find(is_same) {
            Some((_, count)) => *count += 1,
            None => groups.push((refusal, 1)),
        }
    }
    for (refusal, count) in groups {
        let text = message(refusal, count);
        // An edit of the model as a whole has no sources.
        let is_whole = refusal.level == Level::Structure && refusal.sources.is_empty();
        match refusal.level {
            Level::Structure if is_whole && chosen == Chosen::ByCommand => out.detail(1, &text),
            Level::Class => out.detail(1, &text),
            _ if refusal.kind == RefusalKind::Untested => {
                let help = "the edit is not made, and the others are; `--accept-untested` makes such edits, and names them";
                out.warning(&text, Some(help));
            }
            _ if refusal.kind == RefusalKind::Undeclared => {
                let help = "the edit is not made, and the others are; `--accept-untested` makes such edits, and so does a document \
                            whose signatures say `\"deterministic\": true` of the operator (`--ops FILE`)";
                out.warning(&text, Some(help));
            }
            _ => out.warning(&text, Some("the edit is not made; the others are")),
        }
    }
}

/// Warns of edits that were made although their values could not be compared, those of one pass and one reason once.
pub(super) fn untested(journal: &[Entry], out: &Out) {
    let mut groups: Vec<(&Entry, &str, usize)> = Vec::new();
    for entry in journal {
        let Verdict::Untested(reason) = &entry.verdict else { continue };
        match groups.iter_mut().find(|(known, why, _)| (&known.pass, *why) == (&entry.pass, reason.as_str()))
        {
            Some((.., count)) => *count += entry.edits,
            None => groups.push((entry, reason, entry.edits)),
        }
    }
    for (entry, reason, count) in groups {
        let (pass, place) = (&entry.pass, place(&entry.sources));
        let times = if count > 1 { format!(" ({count} times)") } else { String::new() };
        let reason = reason.trim_end().replace('\n', "; ");
        let text = format!("the edit `{pass}`{place} was not compared by value: {reason}{times}");
        out.warning(&text, Some("without `--accept-untested` such edits are left out"));
    }
}

/// Warns that the whole models before and after the passes were not compared.
pub(super) fn not_compared(reason: &str, out: &Out) {
    let reason = clean_lines(reason.trim_end());
    let help = "`onnx compare` compares the files, within the limits of runs";
    out.warning(&format!("the models before and after were not compared as a whole: {reason}"), Some(help));
}

/// Warns once of inputs with a default, which hide constants from all edits: the common form of models before IR version 4.
pub(super) fn defaults(model: &Model, out: &Out) {
    let inputs = model.graph(model.main_graph()).inputs().iter();
    let count = inputs.filter(|&&input| model.value(input).initializer().is_some()).count();
    if count == 0 {
        return;
    }
    let what = size::plural(count as u64, "initializer");
    let text =
        format!("{what} of the model can be replaced by its caller, so that no edit uses the elements");
    let help = "if no caller does that: `onnx convert --ir-version 4` if the model has an older one, then `onnx rewrite --pass \
                no-initializer-inputs`";
    out.warning(&text, Some(help));
}

/// The nodes that an edit is derived from.
fn place(sources: &[(String, String)]) -> String {
    match sources {
        [] => String::new(),
        [(op, name), rest @ ..] => {
            let name = if name.is_empty() { String::new() } else { format!(" ({})", shown(name)) };
            let more = match rest.len() {
                0 => String::new(),
                more => format!(" and {} more", size::plural(more as u64, "node")),
            };
            format!(" at {}{name}{more}", shown(op))
        }
    }
}

/// The pass, the node of the model, the level and the reason, in one line.
fn message(refusal: &Refusal, count: usize) -> String {
    let place = place(&refusal.sources);
    let times = if count > 1 { format!(" ({count} times)") } else { String::new() };
    let (pass, level) = (&refusal.pass, refusal.level);
    let reason = refusal.reason.trim_end().replace('\n', "; ");
    format!("the edit `{pass}`{place} was refused ({level}): {reason}{times}")
}

/// Writes the claim of each refuted edit into a folder, if one is given, with the inputs for which its sides differ.
pub(super) fn write_reproducers(
    folder: Option<&Path>,
    done: &PipelineReport,
    options: &WriteOptions,
    out: &mut Out,
) -> Result<(), Failure> {
    let Some(folder) = folder else { return Ok(()) };
    let refuted = done.passes.iter().flat_map(|pass| &pass.report.refusals).filter_map(|refusal| {
        let Some(Verdict::Refuted(counterexample)) = &refusal.verdict else { return None };
        (!counterexample.reproducer.is_empty()).then_some((&refusal.pass, &counterexample.reproducer))
    });
    let mut known: Vec<&str> = Vec::new();
    let (mut set, mut created, mut files) = (FileSet::new(options), None, Vec::new());
    for (pass, text) in refuted {
        if known.contains(&text.as_str()) {
            continue;
        }
        known.push(text);
        let pass: String = pass.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
        let path: PathBuf = folder.join(format!("{pass}-{}.onnxtxt", known.len()));
        if !options.dry_run {
            if created.is_none() {
                created = Some(CreatedFolder::new(folder)?);
            }
            set.add(&path, FileKind::Model, |file| file.write_all(text.as_bytes()))?;
        }
        files.push((path, text.len() as u64));
    }
    set.finish()?;
    created.into_iter().for_each(CreatedFolder::keep);
    for (path, bytes) in files {
        out.output(&path, Some("onnxtxt"), bytes, !options.dry_run);
    }
    Ok(())
}
