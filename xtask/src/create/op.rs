//! The files of an operator: rule of inference, kernel, file test, and a recipe on request; and its row of traits.

use super::list::{add_item, add_line};
use super::{Plan, TaskResult};
use crate::operator::homes::{FILETESTS, INFERENCE, KERNELS, RECIPES, TRAITS, homes, key, trait_rows};
use crate::operator::{Fact, facts, find};
use crate::tidy::sources::Files;

/// What is asked for, and what is known of the operator.
struct Wanted<'a> {
    fact: &'a Fact,
    /// Path below the sources of each crate: `ops/tensor/trilu`.
    path: String,
    /// The group and the module: `tensor` and `trilu`.
    group: String,
    module: String,
    /// The name of the operator's constant: `TRILU`.
    constant: String,
}

/// Plans the files of an operator that do not exist.
pub(super) fn plan(files: &Files, args: &[&str]) -> Result<Plan, String> {
    let (mut name, mut group, mut with_recipe) = (None, None, false);
    let mut args = args.iter();
    while let Some(&arg) = args.next() {
        match arg {
            "--recipe" => with_recipe = true,
            "--group" => group = args.next().copied(),
            _ if name.is_none() && !arg.starts_with('-') => name = Some(arg),
            _ => return Err(format!("`new op` takes no argument `{arg}`")),
        }
    }
    let name = name.ok_or("name an operator")?;
    let facts = facts(files);
    let found: Vec<&Fact> = find(&facts, name)
        .map_err(|problem| format!("{problem}; a new one needs facts: `cargo xtask codegen --extract`"))?;
    let fact = found.into_iter().find(|fact| !fact.is_of_runtime());
    let fact = fact.ok_or("the rules of operators that onnxruntime adds are rows in `src/contrib`")?;
    let wanted = Wanted::new(files, fact, group)?;
    let mut plan = Plan::default();
    wanted.traits(files, &mut plan)?;
    wanted.inference(files, &mut plan)?;
    wanted.kernel(files, &mut plan)?;
    if with_recipe {
        wanted.recipe(files, &mut plan)?;
    }
    wanted.file_test(files, &mut plan)?;
    if plan.created.is_empty() && plan.changed.is_empty() {
        return Err(format!("`{}` has all its files: `cargo xtask op {}`", fact.name, fact.name));
    }
    plan.next
        .push("state the traits and write the functions; `docs/add-an-operator.md` shows how".to_owned());
    plan.next.push("BLESS=1 cargo test -p onnx-shape-infer --test filetests".to_owned());
    plan.next.push("cargo xtask codegen".to_owned());
    Ok(plan)
}

impl<'a> Wanted<'a> {
    fn new(files: &Files, fact: &'a Fact, group: Option<&str>) -> Result<Self, String> {
        let constant = constant(files, &fact.name)?;
        let rules = homes(files.iter(), INFERENCE, "infer(");
        let path = match (rules.get(&key(&fact.name)).and_then(|rules| rules.first()), group) {
            (Some(rule), _) => rule.path.clone(),
            (None, Some(group)) => format!("ops/{group}/{}", constant.to_lowercase()),
            (None, None) => return Err("name the group of the new operator: `--group tensor`".to_owned()),
        };
        let mut parts = path.split('/').skip(1);
        let (Some(group), Some(module)) = (parts.next(), parts.next()) else {
            return Err(format!("`{path}` is not a path of a group and a module"));
        };
        if !files.has(&format!("{INFERENCE}ops/{group}/mod.rs")) {
            return Err(format!("unknown group `{group}`: not in `{INFERENCE}ops`"));
        }
        let (group, module) = (group.to_owned(), module.to_owned());
        Ok(Self { fact, path, group, module, constant })
    }

    /// Registers the module in the group of a crate.
    fn register(&self, files: &Files, plan: &mut Plan, root: &str, list: &str, item: &str) -> TaskResult {
        let group = format!("{root}ops/{}/mod.rs", self.group);
        plan.change(files, &group, |text| {
            let text = add_line(text, &["mod ", "pub(super) mod "], &format!("mod {};", self.module))?;
            add_item(&text, list, &format!("{}::{item}", self.module))
        })
    }

    /// Adds a row of traits that states nothing, before those of later names.
    fn traits(&self, files: &Files, plan: &mut Plan) -> TaskResult {
        let own = key(&self.constant);
        let mut groups = files.iter().filter(|(path, _)| path.starts_with(TRAITS));
        if groups.any(|(_, text)| trait_rows(text).iter().any(|(name, _)| *name == own)) {
            return Ok(());
        }
        let domain = match self.fact.domain.as_str() {
            "ai.onnx.ml" => ".of(domain::ML)",
            "ai.onnx.preview" => ".of(domain::PREVIEW)",
            "ai.onnx.preview.training" => ".of(domain::PREVIEW_TRAINING)",
            _ => "",
        };
        let row = format!("    row(op::{}, computed()){domain},", self.constant);
        plan.change(files, &format!("{TRAITS}{}.rs", self.group), |text| {
            let lines: Vec<&str> = text.lines().collect();
            let end = lines.iter().rposition(|line| *line == "];").ok_or("has no list of rows")?;
            let later = trait_rows(text).into_iter().find(|(name, _)| *name > own);
            let mut at = later.map_or(end, |(_, line)| line - 1);
            // The reason of a row is before it.
            while at > 0 && lines[at - 1].trim_start().starts_with("//") {
                at -= 1;
            }
            let (before, after) = lines.split_at(at);
            Ok([before, &[row.as_str()], after].concat().join("\n") + "\n")
        })
    }

    fn since(&self) -> u64 {
        self.fact.versions.first().copied().unwrap_or(1)
    }

    fn inference(&self, files: &Files, plan: &mut Plan) -> TaskResult {
        let path = format!("{INFERENCE}{}.rs", self.path);
        if files.has(&path) {
            return Ok(());
        }
        let Self { module, constant, fact, .. } = self;
        let (name, since) = (&fact.name, self.since());
        let text = format!(
            "//! `{name}`: nothing is inferred yet.\n\
             \n\
             use onnx_schema::op;\n\
             \n\
             use crate::cx::{{Cx, Outcome, Stop}};\n\
             use crate::registry::{{OpRules, infer, since}};\n\
             \n\
             pub(super) const RULES: OpRules = infer(op::{constant}, &[since({since}, {module})]);\n\
             \n\
             /// Leaves the outputs as the schema declares them.\n\
             fn {module}(_: &mut Cx<'_, '_>) -> Outcome {{\n    Err(Stop::Unknown)\n}}\n"
        );
        plan.create(files, path, text)?;
        self.register(files, plan, INFERENCE, "const RULES: ", "RULES")
    }

    fn kernel(&self, files: &Files, plan: &mut Plan) -> TaskResult {
        let path = format!("{KERNELS}{}.rs", self.path);
        if files.has(&path) {
            return Ok(());
        }
        let Self { module, constant, fact, .. } = self;
        let (name, since) = (&fact.name, self.since());
        let text = format!(
            "//! `{name}`: not computed yet.\n\
             \n\
             use onnx_schema::op;\n\
             \n\
             use crate::cx::{{Cx, Outcome, Stop}};\n\
             use crate::registry::{{OpKernels, eval, since}};\n\
             \n\
             pub(super) const KERNELS: OpKernels = eval(op::{constant}, &[since({since}, {module})]);\n\
             \n\
             fn {module}(_: &mut Cx<'_, '_>) -> Outcome {{\n    Err(Stop::unsupported(\"the operator\"))\n}}\n"
        );
        plan.create(files, path, text)?;
        self.register(files, plan, KERNELS, "const KERNELS: ", "KERNELS")
    }

    fn recipe(&self, files: &Files, plan: &mut Plan) -> TaskResult {
        let path = format!("{RECIPES}{}.rs", self.path);
        if files.has(&path) {
            return Ok(());
        }
        let Self { module, constant, fact, .. } = self;
        let name = &fact.name;
        let text = format!(
            "//! Recipe of `{name}`.\n\
             \n\
             use onnx_schema::op;\n\
             \n\
             use crate::draft::Draft;\n\
             use crate::ops::{{Row, row}};\n\
             \n\
             pub(in crate::ops) const RECIPES: &[Row] = &[row(&[op::{constant}], {module})];\n\
             \n\
             /// Gives the first operand any sizes.\n\
             fn {module}(draft: &mut Draft<'_, '_>) -> Option<()> {{\n    draft.any().map(drop)\n}}\n"
        );
        plan.create(files, path, text)?;
        self.register(files, plan, RECIPES, "const RECIPES: ", "RECIPES")
    }

    /// A test whose comment says nothing about the output, and which fails until it is blessed.
    fn file_test(&self, files: &Files, plan: &mut Plan) -> TaskResult {
        let path = format!("{FILETESTS}{}.onnxtxt", self.path);
        if files.has(&path) {
            return Ok(());
        }
        let Fact { domain, name, versions, .. } = self.fact;
        let newest = versions.last().copied().unwrap_or(1);
        let (range, import, call) = match domain.as_str() {
            "" => (format!(" opset={}..", self.since()), String::new(), name.clone()),
            "ai.onnx.ml" => (
                format!(" ml={}..", self.since()),
                format!(", \"{domain}\" : {newest}"),
                format!("{domain}.{name}"),
            ),
            _ => (String::new(), format!(", \"{domain}\" : {newest}"), format!("{domain}.{name}")),
        };
        let opset = if domain.is_empty() { newest } else { 21 };
        let module = &self.module;
        let text = format!(
            "#! infer{range}\n\
             <ir_version: 10, opset_import: [\"\" : {opset}{import}]>\n\
             {module} (float[N, 4] x) => (float[] y)\n\
             {{\n   y = {call} (x)  # is:\n}}\n"
        );
        plan.create(files, path, text)
    }
}

/// The name of the constant of an operator.
fn constant(files: &Files, name: &str) -> Result<String, String> {
    let constants = files
        .text("crates/onnx-schema/src/generated/names.rs")
        .lines()
        .filter_map(|line| line.trim_start().strip_prefix("pub const ")?.split(':').next());
    let mut matching = constants.filter(|constant| key(constant) == key(name));
    let constant =
        matching.next().ok_or_else(|| format!("`{name}` has no constant: run `cargo xtask codegen`"))?;
    Ok(constant.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::sources::read_tree;

    /// The tree without the files and the registration of `Trilu`, and its paths.
    fn without_trilu() -> (Files, Vec<String>) {
        let tree = read_tree().unwrap();
        let is_own = |path: &str| {
            path.ends_with("/ops/tensor/trilu.rs") || path.ends_with("/ops/tensor/trilu.onnxtxt")
        };
        let own = tree.iter().map(|(path, _)| path.to_owned()).filter(|path| is_own(path)).collect();
        let rest = tree.iter().filter(|(path, _)| !is_own(path)).map(|(path, text)| {
            let text = if path == "crates/onnx-schema/src/traits/tensor.rs" {
                without_row(text, "TRILU")
            } else if path.ends_with("/ops/tensor/mod.rs") {
                let lines = text.replace("trilu::RECIPES,", "");
                lines
                    .lines()
                    .filter(|line| !line.contains("trilu"))
                    .fold(String::new(), |text, line| text + line + "\n")
            } else {
                text.to_owned()
            };
            (path.to_owned(), text)
        });
        (Files::new(rest), own)
    }

    /// The rows of traits without that of an operator.
    fn without_row(text: &str, constant: &str) -> String {
        let rows = trait_rows(text);
        let own = rows.iter().position(|(name, _)| name == constant).unwrap();
        let (begin, end) = (rows[own].1, rows[own + 1].1);
        let lines = text.lines().enumerate().filter(|(index, _)| !(begin..end).contains(&(index + 1)));
        lines.map(|(_, line)| format!("{line}\n")).collect()
    }

    fn sorted(mut paths: Vec<String>) -> Vec<String> {
        paths.sort();
        paths
    }

    #[test]
    fn files_are_created_where_the_files_of_operators_are() {
        let (files, own) = without_trilu();
        assert_eq!(own.len(), 4, "{own:?}");
        let plan = plan(&files, &["--group", "tensor", "--recipe", "Trilu"]).unwrap();
        assert_eq!(sorted(plan.created.iter().map(|(path, _)| path.clone()).collect()), sorted(own));
        let tree = read_tree().unwrap();
        let traits = plan.changed.iter().find(|(path, _)| path.starts_with(TRAITS)).unwrap();
        assert!(traits.1.contains("\n    row(op::TRILU, computed()),\n"), "{}", traits.1);
        assert!(trait_rows(&traits.1).is_sorted());
        for (path, text) in plan.changed.iter().filter(|(path, _)| !path.starts_with(TRAITS)) {
            // Registered as before, apart from the layout.
            let bare = |text: &str| text.replace([' ', '\n'], "").replace(",]", "]");
            assert_eq!(bare(text), bare(tree.text(path)), "{path}");
        }
        let text = |end: &str| plan.created.iter().find(|(path, _)| path.ends_with(end)).unwrap().1.as_str();
        assert!(
            text("filetests/ops/tensor/trilu.onnxtxt")
                .starts_with("#! infer opset=14..\n<ir_version: 10, opset_import: [\"\" : 14]>\n")
        );
        assert!(text("infer/src/ops/tensor/trilu.rs").contains("infer(op::TRILU, &[since(14, trilu)])"));
    }

    #[test]
    fn a_missing_file_goes_to_the_path_of_the_rule() {
        const KERNEL: &str = "crates/onnx-eval/src/ops/tensor/trilu.rs";
        let tree = read_tree().unwrap();
        let (without, _) = without_trilu();
        let rest = tree.iter().filter(|&(path, _)| path != KERNEL).map(|(path, text)| {
            let text = if path.starts_with("crates/onnx-eval/") { without.text(path) } else { text };
            (path.to_owned(), text.to_owned())
        });
        let files = Files::new(rest);
        let plan = plan(&files, &["Trilu"]).unwrap();
        let created: Vec<&str> = plan.created.iter().map(|(path, _)| path.as_str()).collect();
        assert_eq!(created, [KERNEL]);
    }

    #[test]
    fn requests_that_make_no_sense_are_refused() {
        let (files, _) = without_trilu();
        let refused = |args: &[&str]| plan(&files, args).unwrap_err();
        assert!(refused(&["Trilu"]).contains("name the group"));
        assert!(refused(&["Trilu", "--group", "tensors"]).contains("unknown group `tensors`"));
        assert!(refused(&["Relu"]).contains("has all its files"));
        assert!(refused(&["com.microsoft.MoE"]).contains("src/contrib"));
        assert!(refused(&["Interleave"]).contains("needs facts"));
        assert!(refused(&["--force", "Relu"]).contains("`--force`"));
    }
}
