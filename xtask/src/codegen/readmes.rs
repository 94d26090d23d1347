//! The README of each crate: its description and the first example of its root page.

use crate::codegen::{Mode, ensure};
use crate::package::published;
use crate::{TaskResult, workspace};

/// What the command is, on the page of its crate.
const COMMAND: &str = "\
The command `onnx` inspects, checks, runs, shrinks, converts, edits and compares [ONNX](https://onnx.ai) models.

```sh
cargo install --locked onnxkit-cli        # after the first release
onnx info model.onnx
onnx check model.onnx
onnx simplify model.onnx --prove -o small.onnx
onnx --help
```

The [tour](https://github.com/onnxkit/onnxkit/blob/main/docs/tour.md) is a menu of jobs. The library runs the command in a \
program:

";

/// Writes `README.md` of every crate.
pub(super) fn generate(mode: Mode) -> TaskResult {
    for name in workspace::crates()? {
        let folder = workspace::root().join("crates").join(&name);
        let read = |path: &str| {
            std::fs::read_to_string(folder.join(path))
                .map_err(|error| format!("crates/{name}/{path}: {error}"))
        };
        let manifest = read("Cargo.toml")?;
        let description = description(&manifest).ok_or_else(|| format!("{name} has no description"))?;
        let example = match read("src/lib.rs") {
            Ok(root) => example(&root)
                .map(|code| format!("```rust\n{code}```\n\n"))
                .ok_or_else(|| format!("the root page of {name} has no example"))?,
            // A program; its examples are in the README of the workspace.
            Err(_) => String::new(),
        };
        let command = if folder.join("src/main.rs").exists() { COMMAND } else { "" };
        // The name in the registry, which shows this page.
        let name_there = published(&name);
        let text = format!(
            "# {name_there}\n\n{description}\n\n{command}{example}{name_there} is a part of the ONNX toolkit, whose README describes all crates. \
             Licensed under MIT or Apache-2.0, at your choice.\n"
        );
        ensure(mode, &format!("crates/{name}/README.md"), &text)?;
    }
    Ok(())
}

fn description(manifest: &str) -> Option<&str> {
    manifest.lines().find_map(|line| line.strip_prefix("description = \"")?.strip_suffix('"'))
}

/// The first example of the root page, without the lines that rustdoc hides.
pub(crate) fn example(root: &str) -> Option<String> {
    let mut lines = root.lines().filter_map(|line| line.strip_prefix("//!"));
    lines.find(|line| line.trim_start().starts_with("```"))?;
    let mut code = String::new();
    for line in lines {
        let line = line.strip_prefix(' ').unwrap_or(line);
        match line {
            "```" => return Some(code),
            "#" => {}
            _ if line.starts_with("# ") => {}
            _ => {
                code.push_str(line);
                code.push('\n');
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_lines_are_left_out() {
        let page = "//! Title.\n//!\n//! ```\n//! let x = 1;\n//! # hidden();\n//!\n//! f(x);\n//! ```\n//! ```\n//! g();\n//! ```\n";
        assert_eq!(example(page).as_deref(), Some("let x = 1;\n\nf(x);\n"));
        assert_eq!(example("//! Title.\n"), None);
    }
}
