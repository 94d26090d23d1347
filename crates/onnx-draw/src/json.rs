//! A scene as JSON, for a page that opens and closes boxes.
//!
//! Every level has the layout with all boxes closed. A page that opens a box makes room for it: boxes right of it move
//! right, ranks below it move down. So nothing is laid out in the page, and what does not change stays where it is.

use std::fmt::Write as _;

use onnx_ir::Model;

use crate::layout::{Size, Spot};
use crate::picture::Summary;
use crate::scene::{Item, ItemKind, LevelId, Scene};
use crate::text::shown;

/// Values of an edge that are listed.
const MOST_VALUES: usize = 40;

/// A level with its layout:
///
/// ```text
/// {w, h, bands: [[top, bottom]…],
///  items: [{k: kind, t: title, l: lines, x, y, w, h, r: rank, in: level, n: nodes, c: cost, s: severity,
///          d: difference, v: values}…],
///  edges: [{f: from, t: to, a: start, b: end, via: [[rank, x]…], cut, back, label, v: values}…]}
/// ```
#[must_use]
pub fn level_json(scene: &Scene, id: LevelId, summary: &Summary) -> String {
    let Some(level) = scene.level(id) else { return "null".to_owned() };
    let (layout, sizes) = scene.layout(id);
    let mut out = format!("{{\"w\":{},\"h\":{},\"bands\":[", n(layout.size.width), n(layout.size.height));
    let bands = layout.bands.iter().map(|band| format!("[{},{}]", n(band.top), n(band.bottom)));
    out.push_str(&bands.collect::<Vec<_>>().join(","));
    out.push_str("],\"items\":[");
    for (index, item) in level.items.iter().enumerate() {
        out.push_str(if index > 0 { ",{" } else { "{" });
        push_item(&mut out, item, (layout.spots[index], sizes[index]), summary);
        out.push('}');
    }
    out.push_str("],\"edges\":[");
    for (index, edge) in level.edges.iter().enumerate() {
        let route = &layout.routes[index];
        out.push_str(if index > 0 { ",{" } else { "{" });
        let _ = write!(
            out,
            "\"f\":{},\"t\":{},\"a\":{},\"b\":{}",
            edge.from,
            edge.to,
            n(route.start),
            n(route.end)
        );
        if !route.via.is_empty() {
            let via: Vec<String> = route.via.iter().map(|&(rank, x)| format!("[{rank},{}]", n(x))).collect();
            let _ = write!(out, ",\"via\":[{}]", via.join(","));
        }
        out.push_str(if route.is_cut { ",\"cut\":true" } else { "" });
        out.push_str(if route.is_back { ",\"back\":true" } else { "" });
        if let Some(label) = &edge.label {
            let _ = write!(out, ",\"label\":{}", quoted(label));
        }
        out.push_str(&values(&edge.values));
        out.push('}');
    }
    out.push_str("]}");
    out
}

fn push_item(out: &mut String, item: &Item, (spot, size): (Spot, Size), summary: &Summary) {
    let kind = match item.kind {
        ItemKind::Node(_) => "node",
        ItemKind::Group => "group",
        ItemKind::Graph(_) => "graph",
        ItemKind::Input => "input",
        ItemKind::Output => "output",
        ItemKind::Arriving => "arriving",
        ItemKind::Leaving => "leaving",
    };
    let _ = write!(
        out,
        "\"k\":\"{kind}\",\"t\":{},\"x\":{},\"y\":{},\"w\":{},\"h\":{},\"r\":{}",
        quoted(&item.title),
        n(spot.x),
        n(spot.y),
        n(size.width),
        n(size.height),
        spot.rank
    );
    if !item.lines.is_empty() {
        let lines: Vec<String> = item.lines.iter().map(|line| quoted(line)).collect();
        let _ = write!(out, ",\"l\":[{}]", lines.join(","));
    }
    if let Some(inside) = item.inside {
        let _ = write!(out, ",\"in\":{inside},\"n\":{}", item.nodes);
    }
    let (cost, severity) = summary.of(item);
    if let Some(cost) = cost.filter(|cost| cost.is_finite()) {
        let _ = write!(out, ",\"c\":{cost}");
    }
    if let Some(severity) = severity {
        let _ = write!(out, ",\"s\":\"{severity}\"");
    }
    if let Some(difference) = summary.difference(item) {
        let _ = write!(out, ",\"d\":\"{}\"", difference.name());
    }
    out.push_str(&values(&item.values));
}

fn values(values: &[onnx_ir::ValueId]) -> String {
    if values.is_empty() {
        return String::new();
    }
    let texts: Vec<String> = values.iter().take(MOST_VALUES).map(|value| format!("\"{value}\"")).collect();
    format!(",\"v\":[{}]", texts.join(","))
}

/// All levels, with the nodes for a search: `{levels: […], parents: [[level, item] or null…], nodes: [[name, operator,
/// level, item]…]}`.
#[must_use]
pub fn scene_json(model: &Model, scene: &Scene, summary: &Summary) -> String {
    let mut out = String::from("{\"levels\":[");
    for level in 0..scene.level_count() {
        out.push_str(if level > 0 { "," } else { "" });
        out.push_str(&level_json(scene, level, summary));
    }
    out.push_str("],\"parents\":");
    out.push_str(&parents_json(scene));
    out.push_str(",\"nodes\":[");
    let mut is_first = true;
    for (id, level) in scene.levels.iter().enumerate() {
        for (index, item) in level.items.iter().enumerate() {
            let ItemKind::Node(node) = item.kind else { continue };
            let name = model.str(model.node(node).name());
            let comma = if std::mem::take(&mut is_first) { "" } else { "," };
            let _ = write!(out, "{comma}[{},{},{id},{index}]", quoted(&shown(name)), quoted(&item.title));
        }
    }
    out.push_str("]}");
    out
}

/// The level and box that contain each level.
#[must_use]
pub fn parents_json(scene: &Scene) -> String {
    let parents: Vec<String> = scene
        .levels
        .iter()
        .map(|level| level.parent.map_or("null".to_owned(), |(level, item)| format!("[{level},{item}]")))
        .collect();
    format!("[{}]", parents.join(","))
}

/// A coordinate with at most one decimal.
fn n(number: f64) -> String {
    format!("{}", (number * 10.0).round() / 10.0)
}

/// A string of JSON that is also safe in an element `script` of HTML.
pub(crate) fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for c in text.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' | '\0'..='\u{1f}' => {
                let _ = write!(quoted, "\\u{:04x}", c as u32);
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}
