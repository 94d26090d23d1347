//! The version of the format of a model.

use onnx_diag::render::text;
use onnx_ir::Model;

use crate::exit::Failure;
use crate::input::Loaded;
use crate::output::{Colours, Out};
use crate::progress::Progress;
use crate::size::plural;

/// Sets the version of the format, or reports what of the model it does not have.
pub(crate) fn set_ir_version(
    loaded: &mut Loaded,
    version: i64,
    progress: &Progress,
    out: &Out,
) -> Result<(), Failure> {
    let before = inputs_with_default(&loaded.model);
    let Err(found) = onnx_version::set_ir_version(&mut loaded.model, version) else {
        note_of_inputs(inputs_with_default(&loaded.model).saturating_sub(before), version, progress, out);
        return Ok(());
    };
    let options = text::Options::new(&loaded.name).with_style(&Colours).with_concise(true);
    progress.aside(|| out.findings(&found, &options));
    let message = format_args!("the model cannot have IR version {version}");
    Err(Failure::because_of_findings(message)
        .about(&loaded.name)
        .help("without `--ir-version`, the model keeps its version"))
}

fn inputs_with_default(model: &Model) -> usize {
    let inputs = model.graph(model.main_graph()).inputs().iter();
    inputs.filter(|&&input| model.value(input).initializer().is_some()).count()
}

/// Says that initializers became inputs, as old versions of the format require.
fn note_of_inputs(count: usize, version: i64, progress: &Progress, out: &Out) {
    if count > 0 {
        let initializers = plural(count as u64, "initializer");
        let verb = if count == 1 { "is an input" } else { "are inputs" };
        let message = format!("{initializers} {verb} with a default now, as IR version {version} requires");
        progress.aside(|| {
            out.note(&message, "version 4 and newer have initializers that callers cannot replace")
        });
    }
}
