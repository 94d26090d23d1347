//! `onnx fmt`: the canonical layout of text, in place.

use std::path::PathBuf;

use onnx_codec::file::write_atomically;
use onnx_codec::{EncodeOptions, ReadMode};
use onnx_diag::{Clean, Sink};
use onnx_rewrite::format_rules;
use onnx_text::{FormatError, ParseOptions, format_model};
use onnx_types::Execution;
use serde_json::json;

use crate::args::FmtArgs;
use crate::exit::{Failure, Outcome};
use crate::format::{FOR_TEXT_ONLY, Format, TEXT_EXTENSIONS, not_text};
use crate::input::{display_name, expand, is_stdin};
use crate::json::JsonText;
use crate::output::Out;
use crate::part::{Piece, elided};
use crate::reading::{read, read_stdin};
use crate::{jobs, rule_files};

pub(crate) fn run(args: &FmtArgs, out: &mut Out) -> Result<Outcome, Failure> {
    let to_output = args.files.iter().any(|path| is_stdin(path)) && !args.check && !args.dry_run;
    if to_output && !out.is_for_people() {
        let failure = Failure::new("the text and the report cannot both be written to standard output");
        return Err(failure.help("use `--check` or `--dry-run`, or name a file"));
    }
    let extensions = [TEXT_EXTENSIONS, &[rule_files::EXTENSION]].concat();
    let files = expand(&args.files, &extensions);
    out.result_kind("fmt/1", "files");
    jobs::one_by_one(files, "formatting", out, |path, progress, out| {
        let execution = args.bounds.execution();
        execution.interrupt.check()?;
        let formatted = Formatted::of(path.to_owned(), &execution);
        let formatted = formatted.map_err(|failure| failure.or_timeout(&execution))?;
        progress.aside(|| formatted.write(args, out))
    })
}

/// A text in canonical layout.
struct Formatted {
    path: PathBuf,
    /// The size of the text as it was.
    bytes: u64,
    text: String,
    is_changed: bool,
}

impl Formatted {
    fn of(path: PathBuf, execution: &Execution) -> Result<Self, Failure> {
        let interrupt = &execution.interrupt;
        if rule_files::is_rule_file(&path) {
            let before = rule_files::text(&path, execution)?;
            let text = format_rules(&before).map_err(|error| {
                let source = before.clone().into_bytes().into();
                Failure::of_text(&display_name(&path), error.into_findings(), source)
            })?;
            return Ok(Self { path, bytes: before.len() as u64, is_changed: text != before, text });
        }
        let name = display_name(&path);
        let bytes = match is_stdin(&path) {
            true => read_stdin(interrupt)?,
            false => read(&path, ReadMode::Memory, interrupt)?,
        };
        let text = std::str::from_utf8(&bytes)
            .map_err(|error| Failure::not_a_model(format_args!("this is not UTF-8: {error}")).about(&name));
        let both = text.and_then(|text| Ok((text, formatted(text, &name, execution)?)));
        let (before, text) = both.map_err(|failure| match not_text(&bytes, FOR_TEXT_ONLY) {
            Some(reason) => reason.about(&name),
            None => failure,
        })?;
        execution.interrupt.check()?;
        Ok(Self { path, bytes: bytes.len() as u64, is_changed: text != before, text })
    }

    /// Does with the text what the user wants.
    fn write(&self, args: &FmtArgs, out: &mut Out) -> Result<Outcome, Failure> {
        let name = display_name(&self.path);
        let item = json!({ "file": name, "name": name, "formatted": !self.is_changed });
        let format = Some(Format::Onnxtxt.id());
        out.input_of(&name, format, Some(self.bytes), Sink::new(), vec![JsonText::of(&item)?])?;
        if args.check {
            if self.is_changed && out.is_for_people() {
                out.text(&format!("{}\n", Clean(&name)))?;
            }
            return Ok(if self.is_changed { Outcome::Findings } else { Outcome::Fine });
        }
        if !is_stdin(&self.path) && !self.is_changed {
            return Ok(Outcome::Fine);
        }
        if args.dry_run {
            out.summary(&format!("would format {name}"));
        } else if is_stdin(&self.path) {
            out.bytes([self.text.as_bytes()])?;
        } else {
            write_atomically(&self.path, |file| file.write_all(self.text.as_bytes()))?;
            out.summary(&format!("formatted {name}"));
        }
        out.output(&self.path, format, self.text.len() as u64, !args.dry_run);
        Ok(Outcome::Fine)
    }
}

/// The text in canonical layout, with its comments. The bytes of the model prove that it stands for the same one.
fn formatted(text: &str, name: &str, execution: &Execution) -> Result<String, Failure> {
    let options = ParseOptions::default().with_execution(execution.clone()).with_keep_elided(true);
    let formatted = format_model(text, &options).map_err(|error| match error {
        FormatError::Parse(error) => {
            Failure::of_text(name, error.into_findings(), text.as_bytes().to_vec().into())
        }
        FormatError::Changed => changed(&error).about(name),
        FormatError::Print(error) => Failure::from(error).about(name),
        error => Failure::defect(error).about(name),
    })?;
    // Unknown elements cannot be encoded; that both models print the same text was proved.
    if elided(&formatted.before) > 0 {
        return Ok(formatted.text);
    }
    let bytes = |model| {
        Piece::Model.encode(model, &EncodeOptions::within(&execution.limits)).map(|encoded| encoded.to_vec())
    };
    if bytes(&formatted.before)? == bytes(&formatted.after)? {
        return Ok(formatted.text);
    }
    Err(changed(&FormatError::Changed).about(name))
}

fn changed(error: &FormatError) -> Failure {
    Failure::defect(error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stopping::{TEXT, check_stops};

    #[test]
    fn formatting_that_is_stopped_is_no_defect() {
        check_stops(2, |execution| {
            formatted(TEXT, "in.onnxtxt", &execution).map_err(|failure| failure.or_timeout(&execution))
        });
    }
}
