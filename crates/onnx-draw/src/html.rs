//! A scene as one HTML file that works without a network.

use onnx_ir::Model;

use crate::json::{quoted, scene_json};
use crate::marks::Coloring;
use crate::picture::Summary;
use crate::scene::Scene;
use crate::text::shown;

/// The page, compiled from `web/src` by `npm run build` in `web`.
pub const VIEWER: &str = include_str!("../assets/viewer.js");
/// The style sheet of the page.
pub const STYLE_SHEET: &str = include_str!("../assets/page.css");

/// Options of [`html`].
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct HtmlOptions {
    /// The title of the page, such as the name of the file.
    pub title: String,
    /// The meaning of colors at the beginning.
    pub coloring: Coloring,
}

onnx_types::option_setters! {
    HtmlOptions {
        with_title => title: String,
        with_coloring => coloring: Coloring,
    }
}

/// Writes a scene as one HTML file, in which boxes open and close, with a search. It loads nothing, and its policy forbids it to.
#[must_use]
pub fn html(model: &Model, scene: &Scene, summary: &Summary, options: &HtmlOptions) -> String {
    let title = shown(&options.title);
    let text = title.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let coloring = match options.coloring {
        Coloring::Type => "type",
        Coloring::Cost => "cost",
        Coloring::Scope => "scope",
        Coloring::Findings => "findings",
        Coloring::Diff => "diff",
    };
    let scene = scene_json(model, scene, summary);
    let data = format!("{{\"title\":{},\"coloring\":\"{coloring}\",\"scene\":{scene}}}", quoted(&title));
    format!(
        "<!doctype html>\n<!-- onnx draw -->\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:\">\n\
<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{text}</title>\n\
<style>\n{STYLE_SHEET}</style>\n</head>\n<body>\n<div id=\"app\"></div>\n\
<script type=\"application/json\" id=\"scene\">{data}</script>\n<script>\n{VIEWER}</script>\n</body>\n</html>\n"
    )
}
