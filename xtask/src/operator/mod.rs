//! `cargo xtask op NAME`: the files of an operator.

pub(crate) mod homes;
mod names;

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::TaskResult;
use crate::tidy::sources::{Files, read_tree};
use homes::{
    FILETESTS, Home, INFERENCE, KERNELS, RECIPES, TRAITS, calls, homes, key, runtime_homes, trait_rows,
};
pub(crate) use names::{Fact, facts, find};

/// Prints the files of the operators with this name.
pub(crate) fn run(args: &[String]) -> TaskResult {
    let [name] = args else {
        return Err("name one operator: `op Reshape`, `op com.microsoft.Gelu`".to_owned());
    };
    let files = read_tree()?;
    let facts = facts(&files);
    for fact in find(&facts, name)? {
        print!("{}", listing(&files, fact));
    }
    Ok(())
}

/// The files of an operator, one a line.
fn listing(files: &Files, fact: &Fact) -> String {
    let mut text = format!("{fact}\n");
    let mut add = |what: &str, places: Vec<String>| {
        let places = if places.is_empty() { vec!["missing".to_owned()] } else { places };
        for (index, place) in places.iter().enumerate() {
            let _ = writeln!(text, "  {:<14}{place}", if index == 0 { what } else { "" });
        }
    };
    add("facts", vec![format!("{}:{}", fact.path, fact.line)]);
    add("schemas", schemas(files, fact));
    if !fact.is_of_runtime() {
        add("view", view(files, fact));
        add("traits", traits(files, fact));
    }
    let of_crate = |root: &str, marker| {
        let homes = if fact.is_of_runtime() { BTreeMap::new() } else { homes(files.iter(), root, marker) };
        let found = homes.get(&key(&fact.name)).cloned().unwrap_or_default();
        found.iter().map(|home| at(root, home)).collect::<Vec<_>>()
    };
    let rules = if fact.is_of_runtime() {
        let homes = runtime_homes(files.iter());
        let home = homes.get(&(fact.domain.as_str(), key(&fact.name)));
        home.map(|home| at(INFERENCE, home)).into_iter().collect()
    } else {
        of_crate(INFERENCE, "infer(")
    };
    let module = rules.first().and_then(|rule: &String| rule.strip_prefix(INFERENCE)?.split(".rs").next());
    let (own, others) = file_tests(files, fact, module);
    add("inference", rules.clone());
    add("kernel", of_crate(KERNELS, "eval("));
    add("recipe", of_crate(RECIPES, "row("));
    add("file tests", own);
    if !others.is_empty() {
        add("also used in", others);
    }
    add("page", page(files, fact));
    let pages = rule_pages(files, fact);
    if !pages.is_empty() {
        add("rule pages", pages);
    }
    text
}

fn at(root: &str, home: &Home) -> String {
    format!("{root}{}.rs:{}", home.path, home.line)
}

/// The lines of a file that contain a text.
fn lines(files: &Files, path: &str, is_wanted: impl Fn(&str) -> bool) -> Vec<String> {
    let lines = files.text(path).lines().enumerate().filter(|(_, line)| is_wanted(line));
    lines.map(|(index, _)| format!("{path}:{}", index + 1)).collect()
}

/// The rows of the schemas.
fn schemas(files: &Files, fact: &Fact) -> Vec<String> {
    if fact.is_of_runtime() {
        let row = format!("\"{}\", \"{}\", ", fact.domain, fact.name);
        let path = "crates/onnx-schema/src/generated/onnxruntime.rs";
        return lines(files, path, |line| line.trim_start().starts_with("row(") && line.contains(&row));
    }
    let is_row = |line: &str| {
        let row = line.trim_start().strip_prefix("row(").and_then(|row| row.split("op::").nth(1));
        row.and_then(|row| row.split(',').next()).is_some_and(|op| key(op) == key(&fact.name))
    };
    lines(files, "crates/onnx-schema/src/generated/schemas.rs", is_row)
}

/// The row of traits.
fn traits(files: &Files, fact: &Fact) -> Vec<String> {
    let wanted = key(&fact.name);
    let groups = files.iter().filter(|(path, _)| path.starts_with(TRAITS));
    let rows = groups.flat_map(|(path, text)| trait_rows(text).into_iter().map(move |row| (path, row)));
    let own = rows.filter(|(_, (name, _))| *name == wanted);
    own.map(|(path, (_, line))| format!("{path}:{line}")).collect()
}

/// The typed view, whose name is that of the operator.
fn view(files: &Files, fact: &Fact) -> Vec<String> {
    let paths = files.iter().map(|(path, _)| path);
    let paths = paths.filter(|path| path.starts_with("crates/onnx-ops/src/generated/"));
    let wanted = key(&fact.name);
    let is_view = |line: &str| {
        let name = line.strip_prefix("pub enum ").and_then(|line| line.split(' ').next());
        name.is_some_and(|name| key(name) == wanted)
    };
    paths.flat_map(|path| lines(files, path, is_view)).collect()
}

/// The file tests at the path of the module with the rule, and the number of others that have a node of the operator.
fn file_tests(files: &Files, fact: &Fact, module: Option<&str>) -> (Vec<String>, Vec<String>) {
    let wanted = key(&fact.name);
    let (mut own, mut others) = (Vec::new(), 0_usize);
    for (path, text) in files.iter().filter(|(path, _)| path.ends_with(".onnxtxt")) {
        if !path.contains("/tests/filetests/") || !calls(text, &wanted) {
            continue;
        }
        let rest =
            path.strip_prefix(FILETESTS).zip(module).and_then(|(path, module)| path.strip_prefix(module));
        if rest.is_some_and(|rest| rest.starts_with(['.', '_'])) {
            own.push(path.to_owned());
        } else {
            others += 1;
        }
    }
    let plural = if others == 1 { "" } else { "s" };
    (own, if others == 0 { Vec::new() } else { vec![format!("{others} other file test{plural}")] })
}

fn page(files: &Files, fact: &Fact) -> Vec<String> {
    let domain = if fact.domain.is_empty() { "ai.onnx" } else { &fact.domain };
    let own = format!("docs/generated/operators/{domain}/{}.md", fact.name);
    if files.has(&own) {
        return vec![own];
    }
    let row = format!("| {} |", fact.name);
    lines(files, "docs/generated/onnxruntime.md", |line| fact.is_of_runtime() && line.starts_with(&row))
}

/// The pages of rules with an example that has a node of the operator, and those that name it.
fn rule_pages(files: &Files, fact: &Fact) -> Vec<String> {
    let quoted = format!("`{}`", fact.name);
    let is_page =
        |path: &str| path.starts_with("crates/") && path.contains("/src/rules/") && path.ends_with(".md");
    let pages = files.iter().filter(|(path, text)| is_page(path) && text.contains(&quoted));
    pages.map(|(path, _)| path.to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_of_an_operator_are_listed() {
        let files = read_tree().unwrap();
        let facts = facts(&files);
        let listed = |name: &str| {
            find(&facts, name).unwrap().into_iter().map(|fact| listing(&files, fact)).collect::<String>()
        };
        let trilu = listed("ai.onnx.trilu");
        for part in [
            "Trilu of ai.onnx, version 14\n",
            "  facts         crates/onnx-schema/facts/onnx-",
            "  schemas       crates/onnx-schema/src/generated/schemas.rs:",
            "  view          crates/onnx-ops/src/generated/onnx.rs:",
            "  traits        crates/onnx-schema/src/traits/tensor.rs:",
            "  inference     crates/onnx-shape-infer/src/ops/tensor/trilu.rs:",
            "  kernel        crates/onnx-eval/src/ops/tensor/trilu.rs:",
            "  recipe        crates/onnx-smith/src/ops/tensor/trilu.rs:",
            "  file tests    crates/onnx-shape-infer/tests/filetests/ops/tensor/trilu.onnxtxt\n",
            "  page          docs/generated/operators/ai.onnx/Trilu.md\n",
        ] {
            assert!(trilu.contains(part), "{part}\n{trilu}");
        }
        let contrib = listed("com.microsoft.MoE");
        for part in [
            "MoE of com.microsoft, version 1\n",
            "  schemas       crates/onnx-schema/src/generated/onnxruntime.rs:",
            "  inference     crates/onnx-shape-infer/src/contrib/moe.rs:",
            "  kernel        missing\n",
            "  file tests    crates/onnx-shape-infer/tests/filetests/contrib/moe.onnxtxt\n",
            "  page          docs/generated/onnxruntime.md:",
        ] {
            assert!(contrib.contains(part), "{part}\n{contrib}");
        }
        assert!(listed("REGEXFULLMATCH").contains("  recipe        missing\n"));
    }

    /// Every operator of ONNX has facts, schemas, a view, traits, a rule, a file test and a page; some have no kernel or recipe.
    #[test]
    fn nothing_else_is_missing() {
        let files = read_tree().unwrap();
        for fact in facts(&files).iter().filter(|fact| !fact.is_of_runtime()) {
            let listing = listing(&files, fact);
            let missing = listing.lines().filter(|line| line.ends_with(" missing"));
            let missing: Vec<&str> = missing.filter_map(|line| line.split_whitespace().next()).collect();
            assert!(missing.iter().all(|what| ["kernel", "recipe"].contains(what)), "{listing}");
        }
    }
}
