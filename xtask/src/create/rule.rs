//! The files of a rule of the checker: its module and its page.

use std::collections::BTreeSet;

use super::list::{add_item, add_line};
use super::{Plan, words};
use crate::tidy::sources::Files;

const RULES: &str = "crates/onnx-check/src/rules/";
/// The page with the table of units and codes.
const GUIDE: &str = "docs/add-a-rule.md";

/// Plans the files of a rule, which is named by its unit and its slug.
pub(super) fn plan(files: &Files, name: &str) -> Result<Plan, String> {
    let (unit, slug) =
        name.split_once('/').ok_or("name the unit and the slug: `new rule node/operator-missing`")?;
    let words = words(slug, '-')?;
    let (slug, module) = (words.join("-"), words.join("_"));
    let list = format!("{RULES}{unit}/mod.rs");
    if !files.has(&list) {
        return Err(format!("unknown unit `{unit}`: not in `{RULES}`"));
    }
    if files.iter().any(|(path, _)| path.starts_with(RULES) && path.ends_with(&format!("/{module}.rs"))) {
        return Err(format!("there is a rule `{slug}`"));
    }
    let code = next_code(files, unit)?;
    let cx = context(files.text(&list)).ok_or_else(|| format!("{list}: has no `type Check`"))?;
    let import = import(files.text(&list), &cx).ok_or_else(|| format!("{list}: does not import `{cx}`"))?;
    let lifetimes = if cx == "Cx" { "<'_>" } else { "<'_, '_>" };
    let rule = format!(
        "//! The rule `{slug}`, which reports nothing yet.\n\
         \n\
         use onnx_diag::{{Rule, Severity}};\n\
         \n\
         {import}\n\
         \n\
         pub(crate) static RULE: Rule = Rule::new({code}, \"{slug}\", Severity::Error, \"Not written yet.\")\n\
         \u{20}   .with_explain(include_str!(\"{module}.md\"));\n\
         \n\
         pub(crate) fn check(_: &mut {cx}{lifetimes}) {{}}\n"
    );
    let mut plan = Plan::default();
    plan.create(files, format!("{RULES}{unit}/{module}.rs"), rule)?;
    plan.create(files, format!("{RULES}{unit}/{module}.md"), page(&slug, code))?;
    plan.change(files, &list, |text| {
        let text = add_line(text, &["mod ", "pub(super) mod "], &format!("mod {module};"))?;
        add_item(&text, "static ENTRIES: ", &format!("entry(&{module}::RULE, {module}::check)"))
    })?;
    plan.next.push("write the record, the function and the page; `docs/add-a-rule.md` shows how".to_owned());
    plan.next.push("cargo test -p onnx-check --test rule_pages".to_owned());
    plan.next.push("cargo xtask codegen".to_owned());
    Ok(plan)
}

/// A page whose wrong example expects the rule, which reports nothing: its test fails until the rule is written.
fn page(slug: &str, code: u32) -> String {
    let example = |comment: &str| {
        format!(
            "```onnx\n<ir_version: 10, opset_import: [\"\": 18]>\ng (float[N] x) => (float[N] y) {{\n  \
             y = Relu (x){comment}\n}}\n```"
        )
    };
    let (wrong, right) = (example(&format!("  # error: ONNX{code:04}")), example(""));
    format!(
        "# {slug}\n\n## What\n\nNot written yet.\n\n## Why\n\nNot written yet.\n\n## Wrong\n\n{wrong}\n\n## Right\n\n\
         {right}\n\n## Spec\n\nNot written yet.\n"
    )
}

/// The name of the context of a unit: `NodeCx` of `type Check = fn(&mut NodeCx<'_, '_>);`.
fn context(list: &str) -> Option<String> {
    let rest = list.split("type Check = fn(&mut ").nth(1).or_else(|| list.split("fn(&mut ").nth(1))?;
    Some(rest.split('<').next()?.to_owned())
}

/// The line that imports the context.
fn import(list: &str, cx: &str) -> Option<String> {
    let ends = [format!("::{cx};"), format!("::{{{cx}, "), format!(", {cx}}};"), format!(", {cx}, ")];
    let line =
        list.lines().find(|line| line.starts_with("use ") && ends.iter().any(|end| line.contains(end)))?;
    let module = line.strip_prefix("use ")?.split("::{").next()?.trim_end_matches(';');
    Some(format!("use {}::{cx};", module.trim_end_matches(&format!("::{cx}"))))
}

/// The codes of units, from the table of the guide: unit, first and last code.
fn ranges(guide: &str) -> Vec<(&str, u32, u32)> {
    let row = |line: &'_ str| -> Option<(usize, usize, u32, u32)> {
        let unit = line.strip_prefix("| `")?.split('`').next()?;
        let codes = line.trim_end_matches(" |").rsplit("| ").next()?;
        let (first, last) = codes.split_once(" to ")?;
        Some((3, unit.len(), first.parse().ok()?, last.parse().ok()?))
    };
    let rows = guide.lines().filter_map(|line| row(line).map(|row| (line, row)));
    rows.map(|(line, (at, len, first, last))| (&line[at..at + len], first, last)).collect()
}

/// The code after those of the unit's rules. It must be free, and not in a range inside that of the unit.
fn next_code(files: &Files, unit: &str) -> Result<u32, String> {
    let ranges = ranges(files.text(GUIDE));
    let own = ranges.iter().find(|(name, ..)| *name == unit);
    let &(_, first, last) = own.ok_or_else(|| format!("{GUIDE} has no codes of `{unit}`"))?;
    let codes = |below: &str| -> BTreeSet<u32> {
        let rules = files.iter().filter(|(path, _)| path.starts_with(below) && path.ends_with(".rs"));
        rules
            .filter_map(|(_, text)| text.split("Rule::new(").nth(1)?.split(',').next()?.trim().parse().ok())
            .collect()
    };
    let used = codes(RULES);
    let is_inner = |code: u32| {
        let inner =
            |&(_, low, high): &(&str, u32, u32)| (first, last) != (low, high) && low >= first && high <= last;
        ranges.iter().filter(|range| inner(range)).any(|&(_, low, high)| (low..=high).contains(&code))
    };
    let begin = codes(&format!("{RULES}{unit}/")).last().map_or(first, |code| code + 1);
    let free = (begin..=last).find(|code| !used.contains(code) && !is_inner(*code));
    free.ok_or_else(|| format!("the codes {first} to {last} of `{unit}` are used up"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::sources::read_tree;

    #[test]
    fn files_are_created_where_the_files_of_rules_are() {
        let tree = read_tree().unwrap();
        let plan = plan(&tree, "node/node-too-long").unwrap();
        let created: Vec<&str> = plan.created.iter().map(|(path, _)| path.as_str()).collect();
        let folder = "crates/onnx-check/src/rules/node/";
        assert_eq!(created, [format!("{folder}node_too_long.rs"), format!("{folder}node_too_long.md")]);
        let rule = &plan.created[0].1;
        assert!(
            rule.contains("use crate::cx::NodeCx;\n")
                && rule.contains("fn check(_: &mut NodeCx<'_, '_>) {}\n")
        );
        let list = &plan.changed[0].1;
        assert!(
            list.contains("mod node_not_sorted;\nmod node_too_long;\nmod node_without_values;\n"),
            "{list}"
        );
        assert!(
            list.contains("    entry(&node_too_long::RULE, node_too_long::check),\n    entry(&node_without"),
            "{list}"
        );
    }

    #[test]
    fn every_unit_can_have_a_new_rule() {
        let tree = read_tree().unwrap();
        let mut codes = BTreeSet::new();
        for (unit, first, last) in ranges(tree.text(GUIDE)) {
            let code = next_code(&tree, unit).unwrap();
            assert!((first..=last).contains(&code), "{unit}: {code}");
            codes.insert(code);
            plan(&tree, &format!("{unit}/of-this-unit")).unwrap();
        }
        assert!(codes.len() > 15, "{codes:?}");
    }

    #[test]
    fn names_that_make_no_sense_are_refused() {
        let tree = read_tree().unwrap();
        let refused = |name: &str| plan(&tree, name).unwrap_err();
        assert!(refused("operator-missing").contains("name the unit"));
        assert!(refused("nodes/a-rule").contains("unknown unit `nodes`"));
        assert!(refused("node/A_Rule").contains("lower case"));
        assert!(refused("graph/operator-missing").contains("there is a rule"));
    }
}
