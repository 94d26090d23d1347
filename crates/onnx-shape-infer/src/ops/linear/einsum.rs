//! `Einsum`: sums of products along labelled axes.
//!
//! The equation has a term for each input and an optional one for the output: letters, spaces and at most one ellipsis,
//! which stands for the same number of axes in each input. Without a term for the output, the output has the axes of
//! the ellipsis and then the letters that occur once, in the order of their codes.
//!
//! Axes with the same letter have the same size. Runtimes let a size 1 of one input go with any size of another, so the size
//! of a letter is what its sizes broadcast to; within one input they must be the same. The reference takes the first size
//! that it finds and compares nothing. A letter in the output that no input has, a term too many or too few, and a term
//! that does not fit the rank of its input are faults there and here; another character is one here.

use onnx_schema::{attr, op};
use onnx_types::Dim;

use crate::cx::{Cx, Outcome, Stop};
use crate::fault::{BAD_ATTRIBUTE, WRONG_RANK};
use crate::registry::{OpRules, infer, since};
use crate::ty::Dims;

pub(super) const RULES: OpRules = infer(op::EINSUM, &[since(12, einsum)]);

/// One axis of a term, or the axes of its ellipsis.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Part {
    Letter(u8),
    Ellipsis,
}

/// What is known about the axes of the inputs.
struct Sizes {
    /// By letter; nothing for letters that no input has.
    letters: [Option<Dim>; 128],
    /// The dimensions that the ellipsis stands for; `None` if no input of known rank has one.
    ellipsis: Option<Dims>,
    /// Whether an input of unknown rank has an ellipsis.
    has_unknown_ellipsis: bool,
}

fn einsum(cx: &mut Cx<'_, '_>) -> Outcome {
    let equation = cx.text(attr::EQUATION)?.ok_or(Stop::Unknown)?;
    let (inputs, output) = match equation.split_once("->") {
        Some((inputs, output)) => (inputs, Some(output)),
        None => (equation, None),
    };
    let count = inputs.split(',').count();
    if count != cx.input_count() {
        let found = cx.input_count();
        return Err(
            cx.fail(&BAD_ATTRIBUTE, format_args!("the equation has {count} terms for {found} inputs"))
        );
    }
    let mut sizes = Sizes { letters: [None; 128], ellipsis: None, has_unknown_ellipsis: false };
    let mut times = [0_usize; 128];
    for (index, text) in inputs.split(',').enumerate() {
        let term = term(cx, text)?;
        for part in &term {
            if let Part::Letter(letter) = part
                && let Some(times) = times.get_mut(usize::from(*letter))
            {
                *times = times.saturating_add(1);
            }
        }
        measure(cx, &mut sizes, index, &term)?;
    }
    let wanted = match output {
        Some(text) => term(cx, text)?,
        None => implied(&times),
    };
    result(cx, &sizes, &wanted)
}

/// The parts of a term.
fn term(cx: &mut Cx<'_, '_>, text: &str) -> Outcome<Vec<Part>> {
    let mut parts = Vec::new();
    let mut bytes = text.bytes().filter(|byte| *byte != b' ');
    while let Some(byte) = bytes.next() {
        let part = match byte {
            b'.' if bytes.next() == Some(b'.') && bytes.next() == Some(b'.') => Part::Ellipsis,
            byte if byte.is_ascii_alphabetic() => Part::Letter(byte),
            _ => {
                let message = "a term of the equation has other characters than letters and `...`";
                return Err(cx.fail(&BAD_ATTRIBUTE, message));
            }
        };
        if part == Part::Ellipsis && parts.contains(&part) {
            return Err(cx.fail(&BAD_ATTRIBUTE, "a term of the equation has two ellipses"));
        }
        parts.push(part);
    }
    Ok(parts)
}

/// The term of an output that the equation does not give.
fn implied(times: &[usize; 128]) -> Vec<Part> {
    let letters = (0_u8..).zip(times).filter(|&(_, &times)| times == 1);
    std::iter::once(Part::Ellipsis).chain(letters.map(|(letter, _)| Part::Letter(letter))).collect()
}

/// Takes the sizes of one input.
fn measure(cx: &mut Cx<'_, '_>, sizes: &mut Sizes, index: usize, term: &[Part]) -> Outcome {
    let has_ellipsis = term.contains(&Part::Ellipsis);
    let letters = term.len().saturating_sub(usize::from(has_ellipsis));
    // Of an input of unknown rank at least the letters are known.
    let Ok(dims) = cx.shape(index) else {
        sizes.has_unknown_ellipsis |= has_ellipsis;
        for part in term {
            if let Part::Letter(letter) = part {
                meet(cx, sizes, *letter, Dim::Unknown)?;
            }
        }
        return Ok(());
    };
    let rank = dims.len();
    if rank < letters || (rank > letters && !has_ellipsis) {
        return Err(cx.fail(
            &WRONG_RANK,
            format_args!("input {index} has rank {rank} and its term in the equation {letters} letters"),
        ));
    }
    let mut rest = dims.into_iter();
    let mut own: Vec<(u8, Dim)> = Vec::with_capacity(letters);
    for part in term {
        match part {
            Part::Ellipsis => {
                spread(cx, sizes, index, rest.by_ref().take(rank.saturating_sub(letters)).collect())?
            }
            Part::Letter(letter) => {
                let size = rest.next().unwrap_or_default();
                match own.iter_mut().find(|(other, _)| other == letter) {
                    Some((_, known)) => {
                        *known = cx.same(*known, size, "the sizes of a letter in one input")?
                    }
                    None => own.push((*letter, size)),
                }
            }
        }
    }
    for (letter, size) in own {
        meet(cx, sizes, letter, size)?;
    }
    Ok(())
}

/// Joins the size of a letter with those in other inputs.
fn meet(cx: &mut Cx<'_, '_>, sizes: &mut Sizes, letter: u8, size: Dim) -> Outcome {
    if let Some(slot) = sizes.letters.get_mut(usize::from(letter)) {
        *slot = Some(match *slot {
            Some(known) => cx.broadcast_dim(known, size)?,
            None => size,
        });
    }
    Ok(())
}

/// Joins the axes of an ellipsis with those in other inputs.
fn spread(cx: &mut Cx<'_, '_>, sizes: &mut Sizes, index: usize, axes: Dims) -> Outcome {
    sizes.ellipsis = Some(match sizes.ellipsis.take() {
        Some(known) if known.len() != axes.len() => {
            let (found, rank) = (axes.len(), known.len());
            return Err(cx.fail(
                &WRONG_RANK,
                format_args!("the ellipsis of input {index} has {found} axes and those before it {rank}"),
            ));
        }
        Some(known) => cx.broadcast(&known, &axes)?,
        None => axes,
    });
    Ok(())
}

fn result(cx: &mut Cx<'_, '_>, sizes: &Sizes, wanted: &[Part]) -> Outcome {
    let mut dims = Dims::new();
    let mut has_unknown_rank = false;
    for part in wanted {
        match part {
            Part::Ellipsis => match &sizes.ellipsis {
                // Those of an input of unknown rank may be larger than 1 where these are not.
                Some(axes) => dims.extend(axes.iter().map(|&dim| match dim {
                    Dim::Known(size) if size != 1 => dim,
                    _ if sizes.has_unknown_ellipsis => Dim::Unknown,
                    dim => dim,
                })),
                None => has_unknown_rank |= sizes.has_unknown_ellipsis,
            },
            Part::Letter(letter) => match sizes.letters.get(usize::from(*letter)).copied().flatten() {
                Some(dim) => dims.push(dim),
                None => {
                    return Err(cx.fail(
                        &BAD_ATTRIBUTE,
                        format_args!("no input has the letter `{}` of the output", char::from(*letter)),
                    ));
                }
            },
        }
    }
    if !has_unknown_rank {
        cx.set_dims(0, dims);
    }
    Ok(())
}
