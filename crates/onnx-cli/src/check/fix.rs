//! `onnx check --fix`: repairs a model in place, and shows the changes as a difference of text.

use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use onnx_check::{CheckOptions, Fix, fix_until, invalid_nodes};
use onnx_codec::{DecodeOptions, Decoded, EncodeOptions, decode, encode, save_as};
use onnx_diag::{Clean, Quoted, Rule};
use onnx_ir::Model;
use onnx_text::{PrintOptions, print_model};
use onnx_types::Symbol;
use onnx_version::{ConvertOptions, ImportCorrection, correct_import};
use serde_json::{Value, json};
use similar::algorithms::{Capture, Compact, Replace, myers};
use similar::{ChangeTag, DiffOp, group_diff_ops};

use super::mechanical;
use crate::args::{CheckArgs, ExternalArgs, FormatOfExtension, OutputArgs, OutputFormat as _, Weights};
use crate::exit::Failure;
use crate::format::{self, Format};
use crate::input::{Loaded, is_stream, load_as};
use crate::json::JsonText;
use crate::output::{BAD, DIM, GOOD, HEADING, Out, clean_lines, paint};
use crate::part::Part;
use crate::progress::Progress;
use crate::store::{self, Counted, Effect, write_form};
use crate::weights::{self, Placement};

/// How many lines are shown around a change.
const CONTEXT: usize = 2;

/// How long to look for the smallest difference of two texts; after that, a larger one will do.
const PATIENCE: Duration = Duration::from_secs(2);

/// What was repaired in a file, or would be.
#[derive(Default)]
pub(super) struct Repaired {
    /// The changes, for people; empty if there are none.
    pub(super) text: String,
    /// What was done.
    pub(super) fixes: Vec<Fix>,
    /// The size of the repaired file.
    pub(super) bytes: u64,
    /// In a dry run, the repaired file as it would be read again.
    pub(super) after: Option<Loaded>,
}

/// Repairs the model in a file, unless this is only to show what would be done.
pub(super) fn repair(path: &Path, args: &CheckArgs) -> Result<Repaired, Failure> {
    if is_stream(path) || args.part != Part::Model {
        return Err(
            Failure::new("only models in files can be repaired").help("name a file, and leave `--as` away")
        );
    }
    let mut loaded = match load_as(path, &args.input, Part::Model) {
        Ok(loaded) => loaded,
        // The check reports the syntax errors of a text model.
        Err(failure) if failure.faults.is_some() => return Ok(Repaired::default()),
        Err(failure) => return Err(failure),
    };
    if loaded.format == Format::Onnxtxt {
        return Err(Failure::new(format_args!(
            "{}: a text is not repaired, as its comments would be lost",
            loaded.name
        ))
        .help("`onnx convert IN.onnxtxt -o OUT.onnx` makes a model that `--fix` repairs; or edit the text"));
    }
    let (text, fixes) = changes(&mut loaded, args.dry_run)?;
    if fixes.is_empty() {
        return Ok(Repaired::default());
    }
    let bytes = write(path, &loaded, args.dry_run)?;
    let after = if args.dry_run { Some(read_again(loaded)?) } else { None };
    Ok(Repaired { text, fixes, bytes, after })
}

/// Writes the repaired model into another file, if that is wanted. Returns this file, which is the one to check, and what was done.
pub(super) fn repair_into(args: &CheckArgs, out: &mut Out) -> Result<Option<(PathBuf, Vec<Fix>)>, Failure> {
    let Some(output) = args.output_file.as_ref().filter(|_| !args.dry_run) else { return Ok(None) };
    let [input] = args.files.as_slice() else {
        return Err(Failure::new("several models cannot be written to one file")
            .help("repair one after the other, or leave `-o` away: `--fix` replaces each"));
    };
    if args.part != Part::Model || is_stream(output) {
        return Err(Failure::new("whole models are repaired, and written to files")
            .help("leave `--as` away, and name a file"));
    }
    let mut loaded = load_as(input, &args.input, Part::Model)?;
    let effect = Effect::Write;
    let (weights, external) = (&Weights::Auto, &ExternalArgs::DEFAULT);
    let format = format::of_output(output, None, FormatOfExtension::HELP)?;
    let placement = Placement { path: output, format, effect, weights, external };
    placement.check()?;
    let inputs = loaded.files()?;
    let (text, fixes) = changes(&mut loaded, false)?;
    let to = placement.destination(loaded.execution.clone(), OutputArgs::default(), inputs);
    let files = weights::place(&mut loaded, &placement, out)?;
    store::write(&loaded.model, &to, &files, Progress::start("repairing", 1), out)?;
    match out.is_for_people() {
        true if !out.is_quiet() => out.text(&text)?,
        true => {}
        false => out.aside(&text),
    }
    Ok(Some((output.clone(), fixes)))
}

/// What was done to a model, for programs.
pub(super) fn item(name: &str, fixes: &[Fix]) -> Result<JsonText, Failure> {
    let repairs: Vec<Value> = fixes
        .iter()
        .map(|fix| json!({ "code": fix.rule.id().to_string(), "name": fix.rule.slug, "what": fix.what }))
        .collect();
    JsonText::of(&json!({ "name": name, "repairs": repairs }))
}

/// Repairs a model. Returns the changes, for people, which are empty if there are none, and what was done.
fn changes(loaded: &mut Loaded, is_dry_run: bool) -> Result<(String, Vec<Fix>), Failure> {
    let before = printed(&loaded.model)?;
    let done = repairs(loaded)?;
    let mut text = String::new();
    if done.is_empty() {
        return Ok((text, done));
    }
    let after = printed(&loaded.model)?;
    let verb = if is_dry_run { "would be repaired" } else { "repaired" };
    writeln!(text, "{}: {}", Clean(&loaded.name), paint(HEADING, verb))?;
    for fix in &done {
        let code = paint(GOOD, fix.rule.id());
        writeln!(text, "  {code} {}: {}", fix.rule.slug, Clean(&fix.what))?;
    }
    difference(&mut text, &before, &after)?;
    Ok((text, done))
}

/// Repairs a model, and tells how.
pub(super) fn repairs(loaded: &mut Loaded) -> Result<Vec<Fix>, Failure> {
    let mut done = fix_until(&mut loaded.model, &loaded.execution.interrupt)?;
    done.extend(imports(loaded)?);
    done.extend(mechanical::repair(loaded)?);
    Ok(done)
}

/// Imports the version of an operator set for which the nodes were written, where the imported one is another.
fn imports(loaded: &mut Loaded) -> Result<Vec<Fix>, Failure> {
    let options = CheckOptions::default().with_execution(loaded.execution.clone());
    let mut done = Vec::new();
    // The operator sets of ONNX, each with the first rule that a node of it breaks.
    let mut wrong: Vec<(Symbol, &'static Rule)> = Vec::new();
    for invalid in invalid_nodes(&loaded.model, &options)? {
        let domain = loaded.model.node(invalid.node).domain();
        if !wrong.iter().any(|&(known, _)| known == domain) {
            wrong.push((domain, invalid.finding.rule));
        }
    }
    for (domain, rule) in wrong {
        let options = ConvertOptions::default().with_domain(domain).with_execution(loaded.execution.clone());
        for correction in correct_import(&mut loaded.model, &options)? {
            let model = &loaded.model;
            let name = if domain.is_empty() { "ai.onnx" } else { model.str(domain) };
            let function = correction.function.map(|function| model.str(model.function(function).name()));
            let place = function.map(|name| format!(" in the function {}", Quoted(name))).unwrap_or_default();
            let ImportCorrection { from, to, .. } = correction;
            let what = format!(
                "imported version {to} of {} instead of {from}{place}, for which the nodes were written",
                Quoted(name)
            );
            done.push(Fix { rule, what });
        }
    }
    Ok(done)
}

/// The repaired model as it is read from a file that it is written to.
fn read_again(loaded: Loaded) -> Result<Loaded, Failure> {
    let encoded = encode(&loaded.model, &EncodeOptions::within(&loaded.execution.limits))?.into_bytes();
    let options = DecodeOptions::default()
        .with_execution(loaded.execution.clone())
        .with_offsets(loaded.format == Format::Onnx);
    let bytes = encoded.len() as u64;
    let Decoded { model, findings } = decode(encoded, &options)?;
    Ok(Loaded { model, findings, bytes, ..loaded })
}

fn printed(model: &Model) -> Result<String, Failure> {
    Ok(clean_lines(&print_model(model, &PrintOptions::default())?.text))
}

/// Replaces the file as a whole, so that there is a whole model at any time. Returns its size.
fn write(path: &Path, loaded: &Loaded, dry_run: bool) -> Result<u64, Failure> {
    loaded.execution.interrupt.check()?;
    replace(path, loaded, dry_run).map_err(|failure| failure.or_timeout(&loaded.execution))
}

fn replace(path: &Path, loaded: &Loaded, dry_run: bool) -> Result<u64, Failure> {
    let &Loaded { format, ref model, ref execution, .. } = loaded;
    let options = store::options(OutputArgs::default(), loaded.files()?).with_dry_run(dry_run);
    let encoded = encode(model, &EncodeOptions::within(&execution.limits))?;
    let mut bytes = 0;
    save_as(path, model, &[], &options, &mut |_, file| {
        let mut counted = Counted::new(file, &loaded.execution);
        if format == Format::Onnx {
            encoded.iter().try_for_each(|piece| counted.write_all(piece))?;
        } else if let Some(loss) = write_form(&encoded, format, execution, &mut counted)?.first() {
            return Err(io::Error::other(format!("{} would leave out {loss}", format.name())));
        }
        bytes = counted.bytes;
        Ok(())
    })?;
    Ok(bytes)
}

/// Writes the lines that differ, with some around them.
fn difference(out: &mut String, before: &str, after: &str) -> Result<(), Failure> {
    let [before, after] = [before, after].map(|text| text.split_inclusive('\n').collect::<Vec<_>>());
    for (index, group) in group_diff_ops(edits(&before, &after), CONTEXT).iter().enumerate() {
        if index > 0 {
            writeln!(out, "{}", paint(DIM, "..."))?;
        }
        for change in group.iter().flat_map(|edit| edit.iter_changes(&before[..], &after[..])) {
            let line = change.value().trim_end_matches('\n');
            match change.tag() {
                ChangeTag::Delete => writeln!(out, "{}", paint(BAD, format_args!("-{line}")))?,
                ChangeTag::Insert => writeln!(out, "{}", paint(GOOD, format_args!("+{line}")))?,
                ChangeTag::Equal => writeln!(out, " {line}")?,
            }
        }
    }
    Ok(())
}

/// The edits that make lines of other ones. The function of `similar` that takes the algorithm as an argument compiles all of them.
fn edits(before: &[&str], after: &[&str]) -> Vec<DiffOp> {
    let deadline = Instant::now().checked_add(PATIENCE);
    let mut hook = Compact::new(Replace::new(Capture::new()), before, after);
    let Ok(()) = myers::diff_deadline(&mut hook, before, 0..before.len(), after, 0..after.len(), deadline);
    hook.into_inner().into_inner().into_ops()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::stopping::{TEXT, check_stops, loaded};

    #[test]
    fn writing_that_is_stopped_keeps_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let text = folder.path().join("in.onnxtxt");
        fs::write(&text, TEXT).unwrap();
        let model = loaded(&text).model;
        let encoded = encode(&model, &EncodeOptions::default()).unwrap();
        for (name, format, least) in
            [("m.onnx", Format::Onnx, 1), ("m.json", Format::Json, 2), ("m.textproto", Format::Textproto, 2)]
        {
            let path = folder.path().join(name);
            let mut contents = Vec::new();
            match format {
                Format::Onnx => contents = encoded.to_vec(),
                _ => drop(write_form(&encoded, format, &onnx_types::Execution::DEFAULT, &mut contents)),
            }
            fs::write(&path, &contents).unwrap();
            check_stops(least, |execution| {
                let result = write(&path, &Loaded { execution, ..loaded(&path) }, false);
                assert_eq!(fs::read(&path).unwrap(), contents);
                result
            });
        }
    }
}
