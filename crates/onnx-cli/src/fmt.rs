//! `onnx fmt`: the canonical layout of text, in place.

use std::path::Path;

use onnx_codec::file::{read, write_atomically};
use onnx_codec::{EncodeOptions, ReadMode};
use onnx_diag::Clean;
use onnx_text::{FormatError, ParseOptions, format_model};
use onnx_types::Execution;

use crate::args::FmtArgs;
use crate::exit::{Failure, Outcome};
use crate::format::{FOR_TEXT_ONLY, TEXT_EXTENSIONS, not_text};
use crate::input::{display_name, expand, is_stdin, read_stdin};
use crate::output::Out;
use crate::part::{Piece, elided};
use crate::progress::Progress;

pub(crate) fn run(args: &FmtArgs, out: &mut Out) -> Result<Outcome, Failure> {
    let files = expand(&args.files, TEXT_EXTENSIONS);
    let progress = Progress::start("formatting", files.len());
    let mut outcome = Outcome::Fine;
    for file in files {
        let result = file.and_then(|path| {
            progress.begin(&display_name(&path));
            let execution = args.bounds.execution();
            execution.interrupt.check()?;
            format_file(&path, args, &execution, out).map_err(|failure| failure.or_timeout(&execution))
        });
        outcome = outcome.max(result.unwrap_or_else(|failure| {
            progress.aside(|| out.failure(&failure));
            failure.outcome()
        }));
        progress.end();
    }
    Ok(outcome)
}

fn format_file(
    path: &Path,
    args: &FmtArgs,
    execution: &Execution,
    out: &mut Out,
) -> Result<Outcome, Failure> {
    let name = display_name(path);
    let bytes = if is_stdin(path) { read_stdin()? } else { read(path, ReadMode::Memory)? };
    let text = std::str::from_utf8(&bytes)
        .map_err(|error| Failure::new(format_args!("this is not UTF-8: {error}")).about(&name));
    let both = text.and_then(|text| Ok((text, formatted(text, &name, execution)?)));
    let (text, formatted) = both.map_err(|failure| match not_text(&bytes, FOR_TEXT_ONLY) {
        Some(reason) => reason.about(&name),
        None => failure,
    })?;
    execution.interrupt.check()?;
    let changes = formatted != text;
    if args.check {
        if changes {
            out.text(&format!("{}\n", Clean(&name)))?;
        }
        return Ok(if changes { Outcome::Findings } else { Outcome::Fine });
    }
    if is_stdin(path) {
        out.bytes([formatted.as_bytes()])?;
    } else if changes {
        write_atomically(path, |file| file.write_all(formatted.as_bytes()))?;
    }
    Ok(Outcome::Fine)
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
        error => Failure::new(error).about(name),
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
    Failure::new(error).help("this is a defect of this program: please report it, with the file if you can")
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
