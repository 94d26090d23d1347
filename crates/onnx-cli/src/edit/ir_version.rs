//! The version of the format that an edit sets, raises, or needs.

use onnx_diag::render::text;
use onnx_ir::Model;
use onnx_schema::LATEST_IR_VERSION;

use crate::args::EditArgs;
use crate::exit::Failure;
use crate::format_version;
use crate::input::Loaded;
use crate::output::{Colours, Out};
use crate::progress::Progress;

/// The version before an edit.
pub(super) struct Before {
    version: i64,
    /// Whether the version has everything that the model has.
    is_sufficient: bool,
}

impl Before {
    pub(super) fn new(model: &Model, args: &EditArgs) -> Self {
        Self { version: model.info().ir_version, is_sufficient: may_need_newer(args) && is_sufficient(model) }
    }

    /// Sets the version that is asked for, or refuses what the version of the model does not have. Returns the version if it changed.
    pub(super) fn finish(
        &self,
        loaded: &mut Loaded,
        args: &EditArgs,
        progress: &Progress,
        out: &Out,
    ) -> Result<Option<i64>, Failure> {
        if let Some(version) = args.ir_version {
            format_version::set_ir_version(loaded, version, progress, out)?;
        } else if self.is_sufficient {
            require_sufficient(loaded, progress, out)?;
        }
        let version = loaded.model.info().ir_version;
        Ok((version != self.version).then_some(version))
    }
}

/// Whether an edit can add what came with a version of the format: overloads, element types.
fn may_need_newer(args: &EditArgs) -> bool {
    args.ir_version.is_none()
        && !(args.small.is_empty() && args.interface.add_input.is_empty() && args.interface.types.is_empty())
}

fn is_sufficient(model: &Model) -> bool {
    onnx_version::set_ir_version(&mut model.clone(), model.info().ir_version).is_ok()
}

fn require_sufficient(loaded: &Loaded, progress: &Progress, out: &Out) -> Result<(), Failure> {
    let version = loaded.model.info().ir_version;
    let Err(found) = onnx_version::set_ir_version(&mut loaded.model.clone(), version) else { return Ok(()) };
    let options = text::Options::new(&loaded.name).with_style(&Colours).with_concise(true);
    progress.aside(|| out.findings(&found, &options));
    let has_all = |&version: &i64| onnx_version::set_ir_version(&mut loaded.model.clone(), version).is_ok();
    let newer = (version.saturating_add(1)..=LATEST_IR_VERSION).find(has_all);
    let message = format_args!("IR version {version} of the model does not have what the edit adds");
    let failure = Failure::because_of_findings(message).about(&loaded.name);
    Err(match newer {
        Some(newer) => failure.help(format!("add `--ir-version {newer}`")),
        None => failure.help("leave the edit out"),
    })
}
