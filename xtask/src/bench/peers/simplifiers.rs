//! Simplifiers side by side on real models: nodes, seconds, and which results are wrong.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

use serde::Deserialize;

use super::{Run, output};
use crate::TaskResult;
use crate::bench::bars::{Bar, Outcome};

/// The tools with which ours is compared, by their names in the script.
const TOOLS: [&str; 5] = ["onnxsim", "onnxslim", "onnxscript", "onnxoptimizer", "onnxruntime"];

/// What ours must leave at most, as a part of what the best of the others leaves on each model.
const NODES: Bar = Bar::AtMost(0.95);

/// What a tool did with a model; see the script for the verdicts.
#[derive(Deserialize)]
struct Simplified {
    #[serde(default)]
    seconds: f64,
    #[serde(default)]
    nodes: u64,
    verdict: String,
}

/// All tools with one model.
#[derive(Deserialize)]
struct Results {
    before: u64,
    #[serde(flatten)]
    tools: BTreeMap<String, Simplified>,
}

impl Results {
    fn of(&self, tool: &str) -> Option<&Simplified> {
        self.tools.get(tool)
    }

    /// The nodes that a tool leaves, if the result can be used in the place of the model.
    fn usable(&self, tool: &str) -> Option<u64> {
        let result = self.of(tool)?;
        matches!(result.verdict.as_str(), "equal" | "uncompared").then_some(result.nodes)
    }

    /// The fewest nodes that another tool leaves; the model itself if no result can be used.
    fn best(&self) -> u64 {
        TOOLS.iter().filter_map(|tool| self.usable(tool)).min().unwrap_or(self.before)
    }
}

/// The table of all models of the folder, if there is one. Their weights must be numbers: equal zeros would be merged.
pub(super) fn simplifiers(run: &mut Run) -> TaskResult {
    let Some(folder) = run.models.clone() else { return Ok(()) };
    crate::workspace::run("cargo", &["build", "--profile", "dist", "-p", "onnx-cli"])?;
    let mut command = Command::new(&run.python);
    command.current_dir(&run.folder);
    command.arg(crate::workspace::root().join("xtask/src/bench/simplifiers.py"));
    command.arg(crate::workspace::target().join("dist/onnx")).arg(run.folder.join("simplified"));
    let entries = fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut models: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    models.retain(|path| path.extension().is_some_and(|extension| extension == "onnx"));
    models.sort();
    if run.quick {
        models.truncate(5);
    }
    let printed = output(command.args(models))?;
    let models: BTreeMap<String, Results> =
        serde_json::from_str(printed.trim()).map_err(|error| format!("simplifiers.py: {error}"))?;
    for tool in TOOLS {
        run.push(of_tool(tool, &models));
    }
    nodes(run, &models);
    for (name, results) in &models {
        worse(run, name, results);
    }
    Ok(())
}

/// How often a tool had each verdict, apart from `equal`.
fn verdicts(tool: &str, models: &BTreeMap<String, Results>) -> String {
    let mut counts: BTreeMap<&str, u32> = BTreeMap::new();
    for result in models.values().filter_map(|results| results.of(tool)) {
        *counts.entry(&result.verdict).or_default() += 1;
    }
    counts.iter().map(|(verdict, count)| format!("{count} {verdict}")).collect::<Vec<_>>().join(", ")
}

/// Nodes and seconds of a tool and of ours, on the models that the tool simplifies.
fn of_tool(tool: &str, models: &BTreeMap<String, Results>) -> Outcome {
    let ended = models.values().filter_map(|results| {
        let both = [results.of("ours")?, results.of(tool)?];
        both.iter().all(|result| result.seconds > 0.0).then_some(both)
    });
    let (mut count, mut seconds, mut nodes) = (0_u32, [0.0; 2], [0; 2]);
    for both in ended {
        count += 1;
        for (index, result) in both.iter().enumerate() {
            seconds[index] += result.seconds;
            nodes[index] += result.nodes;
        }
    }
    let what = format!(
        "real models, {count} that {tool} does: {} and {} nodes; all: {}",
        nodes[0],
        nodes[1],
        verdicts(tool, models)
    );
    Outcome::times("simplify", what, seconds[0] * 1e9, seconds[1] * 1e9, Bar::None)
}

/// The sum of nodes, and how often another tool leaves fewer.
fn nodes(run: &mut Run, models: &BTreeMap<String, Results>) {
    let (mut before, mut ours, mut best, mut above) = (0, 0, 0, Vec::new());
    for (name, results) in models {
        let left = results.usable("ours").unwrap_or(results.before);
        before += results.before;
        ours += left;
        best += results.best();
        if left > results.best() {
            above.push(format!("{name} {left} > {}", results.best()));
        }
    }
    let what = format!(
        "nodes of {} real models, ours / the best usable result of the others; {before} before; ours: {}",
        models.len(),
        verdicts("ours", models)
    );
    let value = ours as f64 / f64::from(u32::try_from(best).unwrap_or(u32::MAX)).max(1.0);
    run.push(Outcome { group: "simplify", what, sides: format!("{ours} / {best}"), value, bar: NODES });
    let what = "real models on which another tool leaves fewer nodes".to_owned();
    let value = above.len() as f64;
    run.push(Outcome { group: "simplify", what, sides: above.join(", "), value, bar: Bar::AtMost(0.0) });
}

/// Rows for tools that leave fewer nodes because the result is not usable.
fn worse(run: &mut Run, name: &str, results: &Results) {
    let Some(left) = results.usable("ours") else { return };
    for tool in TOOLS {
        let Some(result) = results.of(tool) else { continue };
        if result.nodes > 0 && result.nodes < left && results.usable(tool).is_none() {
            let what = format!("{name}: {left} nodes, {tool} {}", result.nodes);
            let reason = match result.verdict.as_str() {
                "different" => "its outputs differ from those of the model",
                "invalid" => "onnxruntime does not run its result",
                _ => "it changed the inputs or outputs",
            };
            run.push(Outcome::without("simplify", what, reason));
        }
    }
}
