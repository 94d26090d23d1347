//! The versions of the operator set of ONNX to which a model can be converted.

use onnx_diag::Clean;
use onnx_draw::shown;
use onnx_ir::Model;
use onnx_schema::{normalize_domain, opset_versions};
use onnx_select::Element;
use onnx_version::{ConvertOptions, StepChange, Unconvertible, imported_version, nearest, plan};
use serde_json::{Value, json};

use crate::edits::{Change, Edit};
use crate::queries::place;
use crate::session::Session;

/// Nodes that are listed.
const MOST_NODES: usize = 100;

fn options(session: &Session) -> ConvertOptions<'_> {
    ConvertOptions::default().with_registry(&session.registry).with_execution(session.execution.clone())
}

/// The oldest and the newest version, what a conversion changes, and what prevents the versions beyond.
pub(crate) fn versions(session: &Session) -> Result<Value, String> {
    let options = options(session);
    let (model, domain) = (&session.model, normalize_domain(options.domain));
    let text = |error: onnx_version::VersionError| error.to_string();
    let current = imported_version(model, domain).ok_or("the model does not import the operators of ONNX")?;
    let known = opset_versions(domain).ok_or("no version of the operator set is known")?;
    let reach = |wanted: i64| -> Result<Value, String> {
        let reach = nearest(model, wanted, &options).map_err(text)?;
        let plan = plan(model, reach.version, &options).map_err(text)?;
        let changed: usize = [StepChange::Form, StepChange::Replaced, StepChange::Expanded]
            .into_iter()
            .map(|change| plan.count(change))
            .sum();
        let refusal = |refusal: &Unconvertible| {
            let mut entry = json!({
                "op": shown(&refusal.op),
                "version": refusal.to,
                "reason": Clean(&refusal.reason.to_string()).to_string(),
                "help": refusal.reason.help(),
            });
            if let Some((level, item)) = place(session, Element::Node(refusal.node)) {
                (entry["level"], entry["item"]) = (json!(level), json!(item));
            }
            entry
        };
        let refusals: Vec<Value> = reach.refusals.iter().take(MOST_NODES).map(refusal).collect();
        Ok(
            json!({ "version": reach.version, "changed": changed, "prevented": reach.refusals.len(), "refusals": refusals }),
        )
    };
    let (oldest, newest) = (reach(*known.start())?, reach(*known.end())?);
    Ok(json!({ "current": current, "oldest": oldest, "newest": newest }))
}

/// Converts to a version, or not at all.
pub(crate) fn convert(session: &Session, model: &mut Model, version: i64) -> Result<Change, String> {
    let options = options(session);
    let text = |error: onnx_version::VersionError| error.to_string();
    let planned = plan(model, version, &options).map_err(text)?;
    if let Some(first) = planned.refusals.first() {
        return Err(Clean(&first.to_string()).to_string());
    }
    let mut edits: Vec<Edit> = planned
        .steps
        .iter()
        .map(|step| Edit {
            what: format!("{} {} → {} {}", shown(&step.op), step.since, step.to, step.change.name()),
            nodes: model.get_node(step.node).map_or_else(String::new, |node| shown(model.str(node.name()))),
            proof: "by the definitions of both versions".to_owned(),
        })
        .collect();
    let before = model.info().ir_version;
    onnx_version::convert(model, version, &options).map_err(text)?;
    let summary = format!("operator set {} → {version}: {} nodes change", planned.from, edits.len());
    if planned.from != version {
        edits.push(Edit::new(format!("the import of the operator set: {} → {version}", planned.from)));
    }
    let after = model.info().ir_version;
    if after != before {
        edits.push(Edit::new(format!(
            "the IR version, which operator set {version} needs: {before} → {after}"
        )));
    }
    Ok(Change { summary, edits })
}
