//! Texts in which tensors are elided, with the model that they were printed from (`--weights-from`).

use std::path::Path;

use onnx_codec::{EncodeOptions, ReadMode, Segments};
use onnx_text::{ElidedTensorSource, ParseOptions, PrintOptions};
use onnx_types::Execution;

use crate::exit::Failure;
use crate::format::Format;
use crate::input::{Loaded, load_part, load_text};
use crate::part::Part;
use crate::print::digest;

/// Reads a text; the elements of elided tensors come from the model in the file `original`, and so does external data. If
/// nothing was edited, the result is that model, with everything that a text for people does not state.
pub(crate) fn load_with(
    path: &Path,
    original: &Path,
    part: Part,
    execution: Execution,
) -> Result<Loaded, Failure> {
    let options = ParseOptions::default().with_execution(execution);
    let format = Format::of(original);
    let original = load_part(original, format, ReadMode::Map, part, &options)?;
    let elided_source = ElidedTensorSource::new(&original.model, Some(&digest));
    let options = options.with_elided_source(&elided_source);
    let loaded = load_text(path, part, &options)?;
    let is_unedited = is_unedited(&loaded, &original, part, &options);
    // A parser that was stopped tells nothing about edits.
    options.execution.interrupt.check()?;
    if is_unedited {
        drop(elided_source);
        let Loaded { model, piece, place, files, .. } = original;
        return Ok(Loaded { model, piece, place, files, ..loaded });
    }
    Ok(Loaded { place: original.place.clone(), files: original.files.clone(), ..loaded })
}

/// Whether a text gives the same bytes as the text that the original prints.
fn is_unedited(loaded: &Loaded, original: &Loaded, part: Part, options: &ParseOptions<'_>) -> bool {
    let encode = EncodeOptions::within(&options.execution.limits);
    let Ok(printed) = original.piece.print(&original.model, &PrintOptions::default()) else { return false };
    let Ok((again, piece)) = part.parse(printed.text.as_bytes(), options) else { return false };
    let both = (loaded.piece.encode(&loaded.model, &encode), piece.encode(&again.model, &encode));
    matches!(both, (Ok(edited), Ok(printed)) if same_bytes(&edited, &printed))
}

/// Whether two encodings are equal, however they are cut into pieces. Pieces at the same address are not read.
fn same_bytes(a: &Segments, b: &Segments) -> bool {
    let (mut left, mut right) = (a.iter(), b.iter());
    let (mut x, mut y): (&[u8], &[u8]) = (&[], &[]);
    loop {
        while x.is_empty() {
            match left.next() {
                Some(piece) => x = piece,
                None => return y.is_empty() && right.all(|piece| piece.is_empty()),
            }
        }
        while y.is_empty() {
            match right.next() {
                Some(piece) => y = piece,
                None => return false,
            }
        }
        let length = x.len().min(y.len());
        let ((head, rest), (other, others)) = (x.split_at(length), y.split_at(length));
        if head.as_ptr() != other.as_ptr() && head != other {
            return false;
        }
        (x, y) = (rest, others);
    }
}
