//! `onnx info`: what is in a model.
//!
//! [`facts`] is the data, [`gather`] finds it, [`text`] makes a page of it; its JSON form is the data as it is.

mod facts;
mod gather;
mod text;
pub(crate) mod types;
mod weights;

use crate::args::InfoArgs;
use crate::exit::{Failure, Outcome};
use crate::input::{display_name, load};
use crate::output::{Out, terminal_safe};
use crate::progress::Progress;

pub(crate) fn run(args: &InfoArgs, out: &mut Out) -> Result<Outcome, Failure> {
    let progress = Progress::start("reading", args.files.len());
    let mut outcome = Outcome::Fine;
    for (i, path) in args.files.iter().enumerate() {
        if out.is_closed() {
            break;
        }
        progress.begin(&display_name(path));
        match load(path, &args.input) {
            Ok(loaded) => {
                let facts = gather::gather(&loaded);
                progress.aside(|| {
                    if args.json {
                        let json = serde_json::to_string(&facts).map_err(Failure::new)?;
                        out.bytes([terminal_safe(&json).as_bytes(), b"\n"])
                    } else {
                        let page = text::page(&facts, args.all)?;
                        out.text(if i > 0 { "\n" } else { "" })?;
                        out.text(&page)
                    }
                })?;
            }
            Err(failure) => {
                progress.aside(|| out.failure(&failure));
                outcome = outcome.max(failure.outcome());
            }
        }
        progress.end();
    }
    Ok(outcome)
}
