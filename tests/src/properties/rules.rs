//! Rule files: any bytes are refused, with every mistake at a line and a column, or give rules that apply to any model
//! within its limits.

use onnx_ir::Model;
use onnx_pass::{Level, PassCx, PassOptions};
use onnx_rewrite::{ExamineOptions, RuleFileError, RuleSet, examine, format_rules};
use onnx_smith::{SmithOptions, from_seed};
use onnx_text::{ParseOptions, TokenKind, parse_model, tokens};
use onnx_types::{Execution, Limits};

use super::{equal, seeds};
use onnx_hostile::gauntlet::printable;

/// What applying and testing rules may cost.
const LIMITS: Limits = Limits {
    run_elements: 1 << 14,
    run_bytes: 1 << 20,
    run_steps: 1 << 20,
    proof_runs: 2,
    proof_attempts: 4,
    proof_elements: 1 << 10,
    proof_steps: 1 << 18,
    proof_bytes: 1 << 20,
    ..Limits::DEFAULT
};

/// Rules of a file that are tested on models around their left side.
const TESTED: usize = 3;

/// A model with the operators of common rules, nested graphs, values with several users and operands that occur twice.
const MODEL: &str = r#"<ir_version: 10, opset_import: ["": 20]>
g (float[N,3,4] x, bool c) => (float[N,3,4] y, float[A,B] z, int64[3] s)
<float[1] one = {1.0}, float zero = {0.0}, int64[2] sizes = {-1, 4}, int64[1] axis = {1}, float[3,3] w = {1, 0, 0, 0, 1, 0, 0, 0, 1}> {
    a = Transpose <perm = [0, 2, 1]> (x)
    b = MatMul (a, w)
    d = Transpose <perm = [0, 2, 1]> (b)
    e = Neg (d)
    f = Neg (e)
    h = Mul (f, one)
    i = Add (h, zero)
    j = Relu (i)
    k = Relu (j)
    y = If (c) <
        then_branch = t () => (u) { v = Clip (k, zero, one) u = Clip (v, zero) },
        else_branch = e () => (q) { r = Add (k, k) q = Sub (r, x) }
    >
    l = Unsqueeze (k, axis)
    m = Squeeze (l, axis)
    n = Cast <to = 11> (m)
    o = Cast <to = 1> (n)
    z = Reshape (o, sizes)
    s = Shape (k)
}"#;

/// The first byte of a script: the rest chooses tokens of the rules of `onnx-rewrite` that take the place of others.
pub(super) const SCRIPT: u8 = b'%';

/// Any bytes are refused with printable mistakes that have positions in the text, or are rules. The canonical layout of rules
/// stays as it is and means the same. Rules apply to models, which are in order then, and their tests end.
///
/// # Errors
///
/// What does not hold.
pub fn rules(bytes: &[u8]) -> Result<(), String> {
    let text = match bytes.split_first() {
        Some((&SCRIPT, script)) => crossed(script).into(),
        _ => String::from_utf8_lossy(bytes),
    };
    let layout = format_rules(&text);
    let rules = match RuleSet::parse(&text) {
        Ok(rules) => rules,
        Err(error) => {
            if let Err(malformed) = &layout {
                refused(&text, malformed)?;
            }
            return refused(&text, &error);
        }
    };
    let layout = layout.map_err(|error| format!("rules have no layout: {error}"))?;
    let again = format_rules(&layout).map_err(|error| format!("the layout is refused: {error}\n{layout}"))?;
    equal(&again, &layout, "the layout of a layout differs")?;
    let laid_out = RuleSet::parse(&layout).map_err(|error| format!("the layout is refused: {error}"))?;
    let names = |rules: &RuleSet| -> Vec<(String, String)> {
        rules.rules().map(|rule| (rule.name().to_owned(), rule.page().to_owned())).collect()
    };
    equal(&names(&laid_out), &names(&rules), "the layout has other rules")?;
    let seed = bytes.iter().fold(0, |seed: u64, &byte| seed.rotate_left(7) ^ u64::from(byte));
    let execution = Execution::DEFAULT.with_limits(LIMITS).with_seed(seed);
    let fixed = parse_model(MODEL, &ParseOptions::default()).map_err(|error| error.to_string())?;
    apply(&rules, fixed, &execution)?;
    apply(&rules, from_seed(seed, &SmithOptions::default().with_nodes(6)).model, &execution)?;
    if rules.len() <= TESTED {
        let options = ExamineOptions::default().with_attempts(4).with_edits(2).with_execution(execution);
        equal(&examine(&rules, &options).len(), &rules.len(), "not every rule is tested")?;
    }
    Ok(())
}

/// A rule of `onnx-rewrite` in which tokens of other rules take the place of tokens of the same kind: most are well-formed.
fn crossed(script: &[u8]) -> String {
    let seeds = seeds::rules();
    let texts: Vec<&str> = seeds.iter().filter_map(|seed| std::str::from_utf8(seed).ok()).collect();
    let number = |index: usize| script.get(index).copied().map_or(0, usize::from);
    let text = |index: usize| texts.get(number(index) % texts.len().max(1)).copied().unwrap_or_default();
    let mut parts: Vec<(TokenKind, String, &str)> = Vec::new();
    let mut end = 0;
    for token in tokens(text(0)) {
        let between = text(0).get(end..token.range.start).unwrap_or_default();
        end = token.range.end;
        parts.push((token.kind, between.to_owned(), text(0).get(token.range).unwrap_or_default()));
    }
    for step in (1..script.len()).step_by(3) {
        let at = number(step) % parts.len().max(1);
        let Some((kind, _, slot)) = parts.get_mut(at) else { break };
        let other = text(step + 1);
        let fitting: Vec<&str> = tokens(other)
            .filter(|token| token.kind == *kind)
            .filter_map(|token| other.get(token.range))
            .collect();
        if let Some(token) = fitting.get(number(step + 2) % fitting.len().max(1)) {
            *slot = token;
        }
    }
    parts.into_iter().map(|(_, between, token)| between + token).collect::<String>() + "\n"
}

/// Every mistake is at a line and a column of the text.
fn refused(text: &str, error: &RuleFileError) -> Result<(), String> {
    printable(error.findings())?;
    let mistakes = error.findings().diagnostics();
    if mistakes.is_empty() {
        return Err("the text is refused without a mistake".to_owned());
    }
    let lines: Vec<&str> = text.split('\n').collect();
    for mistake in mistakes {
        let Some(position) = mistake.locus.position() else {
            return Err(format!("a mistake has no position: {}", mistake.message));
        };
        let shown = position.to_string();
        let numbers: Vec<usize> = shown.split(':').filter_map(|number| number.parse().ok()).collect();
        let &[line, column] = numbers.as_slice() else {
            return Err(format!("a position is not a line and a column: {shown}"));
        };
        let found = line.checked_sub(1).and_then(|line| lines.get(line));
        if !found.is_some_and(|found| (1..=found.chars().count() + 1).contains(&column)) {
            return Err(format!("{shown} is not in the text: {}", mistake.message));
        }
    }
    Ok(())
}

/// Applies rules without proof: they may be wrong, but the model stays in order.
fn apply(rules: &RuleSet, mut model: Model, execution: &Execution) -> Result<(), String> {
    let options = PassOptions::default().with_execution(execution.clone()).with_level(Level::Structure);
    let mut cx = PassCx::new(&mut model, options);
    let inference = cx.inference();
    let found = rules.find(cx.model(), Some(inference)).take(1000).count();
    let nodes: Vec<_> = cx.model().nodes(cx.model().main_graph()).collect();
    for node in nodes.into_iter().take(20) {
        for (name, difference) in rules.why(&mut cx, node) {
            if difference.reason.is_empty() {
                return Err(format!("`{name}` does not apply for no reason"));
            }
        }
    }
    let report = rules.apply(&mut cx);
    drop(cx);
    if found == 0 && report.edits > 0 {
        return Err("rules apply where none matches".to_owned());
    }
    model.verify_sorted().map_err(|faults| format!("rules break the model: {faults:?}"))
}
