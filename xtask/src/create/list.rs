//! Lines that register a module: `mod name;` and an item of a list, both in alphabetical order.

/// Adds `line` to the lines of a text that begin with one of `kinds`, in the order of the names behind these words.
pub(super) fn add_line(text: &str, kinds: &[&str], line: &str) -> Result<String, String> {
    let name = |line: &str| kinds.iter().find_map(|kind| line.strip_prefix(kind).map(str::to_owned));
    let own = name(line).ok_or("the line to add is of another kind")?;
    let mut lines: Vec<&str> = text.lines().collect();
    let before = lines.iter().rposition(|line| name(line).is_some_and(|name| name < own));
    let first = lines.iter().position(|line| name(line).is_some());
    if lines.contains(&line) {
        return Err(format!("`{line}` exists"));
    }
    let at = before.map(|at| at + 1).or(first).ok_or_else(|| format!("has no line like `{line}`"))?;
    lines.insert(at, line);
    Ok(lines.join("\n") + "\n")
}

/// Adds an item to the list that is the value of a constant or static, in alphabetical order.
pub(super) fn add_item(text: &str, declaration: &str, item: &str) -> Result<String, String> {
    let missing = || format!("has no list `{declaration}`");
    let at = text.find(declaration).ok_or_else(missing)?;
    let value = at + text.get(at..).and_then(|rest| rest.find('=')).ok_or_else(missing)?;
    let begin = value + text.get(value..).and_then(|rest| rest.find("&[")).ok_or_else(missing)? + 2;
    let end = begin + text.get(begin..).and_then(|rest| rest.find("];")).ok_or_else(missing)?;
    let mut items = items(text.get(begin..end).unwrap_or_default());
    if items.contains(&item) {
        return Err(format!("`{item}` is registered"));
    }
    let place = items.iter().position(|other| name(other) > name(item)).unwrap_or(items.len());
    items.insert(place, item);
    let list: String = items.iter().map(|item| format!("    {item},\n")).collect();
    let (before, after) = (text.get(..begin).unwrap_or_default(), text.get(end..).unwrap_or_default());
    Ok(format!("{before}\n{list}{after}"))
}

/// The name by which items are in order: `a_rule::RULE, …` of `entry(&a_rule::RULE, …)`.
fn name(item: &str) -> &str {
    item.split_once('&').map_or(item, |(_, name)| name)
}

/// The items of a list, which may contain commas between parentheses.
fn items(list: &str) -> Vec<&str> {
    let (mut items, mut begin, mut depth) = (Vec::new(), 0, 0_i32);
    for (at, letter) in list.char_indices() {
        match letter {
            '(' | '[' | '<' => depth += 1,
            ')' | ']' | '>' => depth -= 1,
            ',' if depth == 0 => {
                items.push(list.get(begin..at).unwrap_or_default());
                begin = at + 1;
            }
            _ => {}
        }
    }
    items.push(list.get(begin..).unwrap_or_default());
    items.into_iter().map(str::trim).filter(|item| !item.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_are_in_order() {
        let add =
            |text: &str, name: &str| add_line(text, &["mod ", "pub(super) mod "], &format!("mod {name};"));
        let text = "//! x\n\nmod b;\npub(super) mod d;\n\nuse x;\n";
        assert_eq!(add(text, "a").unwrap(), "//! x\n\nmod a;\nmod b;\npub(super) mod d;\n\nuse x;\n");
        assert_eq!(add(text, "c").unwrap(), "//! x\n\nmod b;\nmod c;\npub(super) mod d;\n\nuse x;\n");
        assert_eq!(add(text, "e").unwrap(), "//! x\n\nmod b;\npub(super) mod d;\nmod e;\n\nuse x;\n");
        assert!(add(text, "b").is_err() && add("", "b").is_err());
    }

    #[test]
    fn items_are_in_order() {
        let text = "const A: &[T] = &[b::A, d::A];\nstatic E: &[X<Y>] =\n    &[f(&b, 1), f(&d, 2)];\n";
        let with_c = add_item(text, "const A: ", "c::A").unwrap();
        assert!(with_c.starts_with("const A: &[T] = &[\n    b::A,\n    c::A,\n    d::A,\n];\n"), "{with_c}");
        let with_e = add_item(text, "static E: ", "f(&e, 3)").unwrap();
        assert!(with_e.ends_with("&[\n    f(&b, 1),\n    f(&d, 2),\n    f(&e, 3),\n];\n"), "{with_e}");
        assert_eq!(add_item("x", "const A: ", "c"), Err("has no list `const A: `".to_owned()));
    }
}
