//! A picture as SVG.

use std::fmt::Write as _;

use onnx_diag::Severity;

use crate::marks::{Coloring, DifferenceMark};
use crate::picture::{Drawn, Line, Picture};
use crate::scene::{ItemKind, LINE, SMALL_FONT, TITLE, TITLE_FONT};
use crate::text::shown;

/// Space around the picture.
const MARGIN: f64 = 16.0;
/// The largest picture that viewers are sure to show, in pixels.
const MOST_PIXELS: f64 = 60_000.0;

/// How a picture is written.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct PictureStyle {
    /// The meaning of colors.
    pub coloring: Coloring,
    /// The title of the document, such as the name of the file.
    pub title: String,
}

onnx_types::option_setters! {
    PictureStyle {
        with_coloring => coloring: Coloring,
        with_title => title: String,
    }
}

/// Writes a picture as SVG. The document refers to nothing outside of it, and names are text, never markup.
#[must_use]
pub fn svg(picture: &Picture, style: &PictureStyle) -> String {
    let (width, height) = (picture.size.width + 2.0 * MARGIN, picture.size.height + 2.0 * MARGIN);
    // A picture that is larger is shown smaller; the coordinates stay.
    let scale = (MOST_PIXELS / width.max(height)).min(1.0);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{}\" height=\"{}\" viewBox=\"{} {} {} {}\">\n<!-- onnx draw -->\n",
        number(width * scale),
        number(height * scale),
        number(-MARGIN),
        number(-MARGIN),
        number(width),
        number(height)
    );
    if !style.title.is_empty() {
        let _ = writeln!(out, "<title>{}</title>", escaped(&shown(&style.title)));
    }
    out.push_str(CSS);
    let _ = writeln!(
        out,
        "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"#fff\"/>",
        number(-MARGIN),
        number(-MARGIN),
        number(width),
        number(height)
    );
    picture.boxes.iter().filter(|drawn| drawn.is_open).for_each(|drawn| container(&mut out, drawn));
    picture.lines.iter().for_each(|line| path(&mut out, line));
    picture.boxes.iter().filter(|drawn| !drawn.is_open).for_each(|drawn| closed(&mut out, drawn, style));
    for (x, y, text) in picture.lines.iter().filter_map(|line| line.label.as_ref()) {
        let (x, y) = (number(*x), number(*y));
        let _ = writeln!(out, "<text class=\"e\" x=\"{x}\" y=\"{y}\">{}</text>", escaped(text));
    }
    out.push_str("</svg>\n");
    out
}

/// Fonts have metrics like those of the estimates.
const CSS: &str = "<style>\
text{font-family:'DejaVu Sans',Verdana,Helvetica,Arial,sans-serif;fill:#1d2129}\
.t{font-size:12.5px}.l{font-size:10.5px;fill:#4a5160}\
.e{font-size:10.5px;fill:#4a5160;text-anchor:middle;paint-order:stroke;stroke:#fff;stroke-width:3px;stroke-linejoin:round}\
.p{fill:none;stroke:#8a92a3;stroke-width:1.2}.b{stroke-dasharray:4 3}\
</style>\n\
<defs><marker id=\"a\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"6\" markerHeight=\"6\" orient=\"auto\">\
<path d=\"M0 0L8 4L0 8z\" fill=\"#8a92a3\"/></marker></defs>\n";

/// A box with its contents drawn in it.
fn container(out: &mut String, drawn: &Drawn) {
    let shade = if drawn.path.len().is_multiple_of(2) { "#fff" } else { "#f5f7fa" };
    rect(out, drawn, shade, "#aab2c0", 8.0);
    let (x, y) = (drawn.x + 10.0, drawn.y + 16.0);
    text(out, "t", (x, y), &drawn.title);
}

fn closed(out: &mut String, drawn: &Drawn, style: &PictureStyle) {
    let (center, radius) = (drawn.x + drawn.size.width / 2.0, 5.0);
    match drawn.kind {
        ItemKind::Arriving | ItemKind::Leaving => {
            let y = drawn.y + drawn.size.height / 2.0;
            let _ = writeln!(
                out,
                "<circle cx=\"{}\" cy=\"{}\" r=\"2.5\" fill=\"#8a92a3\"><title>{}</title></circle>",
                number(center),
                number(y),
                escaped(&drawn.title)
            );
            return;
        }
        ItemKind::Input | ItemKind::Output => rect(out, drawn, "#eef0f3", "#8a92a3", drawn.size.height / 2.0),
        _ => rect(out, drawn, &fill(drawn, style.coloring), "#7b8494", radius),
    }
    let is_port = matches!(drawn.kind, ItemKind::Input | ItemKind::Output);
    let x = drawn.x + 11.0;
    let marker = if drawn.can_open { "▸ " } else { "" };
    text(
        out,
        "t",
        (x, drawn.y + 16.0 + if is_port { 1.0 } else { 0.0 }),
        &format!("{marker}{}", drawn.title),
    );
    for (index, line) in drawn.lines.iter().enumerate() {
        text(out, "l", (x, drawn.y + TITLE + LINE * index as f64 + 9.0), line);
    }
    if let Some(severity) = drawn.severity {
        let _ = writeln!(
            out,
            "<circle cx=\"{}\" cy=\"{}\" r=\"5\" fill=\"{}\" stroke=\"#fff\"><title>{severity}</title></circle>",
            number(drawn.x + drawn.size.width - 2.0),
            number(drawn.y + 2.0),
            severity_color(severity)
        );
    }
}

fn severity_color(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "#c62828",
        Severity::Warning => "#e08a00",
        Severity::Note => "#3f7fc4",
    }
}

/// The color of a closed box.
fn fill(drawn: &Drawn, coloring: Coloring) -> String {
    match coloring {
        Coloring::Type if drawn.kind == ItemKind::Group => "#fff".to_owned(),
        Coloring::Type => hue(&drawn.title),
        Coloring::Scope => pastel(f64::from(drawn.scope) * 137.5 % 360.0),
        Coloring::Cost => match drawn.cost {
            // The root makes small parts visible.
            Some(cost) => mixed((255.0, 255.0, 255.0), (240.0, 120.0, 30.0), cost.sqrt()),
            None => "#fff".to_owned(),
        },
        Coloring::Findings => match drawn.severity {
            Some(Severity::Error) => "#f6c6c6".to_owned(),
            Some(Severity::Warning) => "#fbe2b5".to_owned(),
            Some(Severity::Note) => "#d5e4f6".to_owned(),
            None => "#fff".to_owned(),
        },
        Coloring::Diff => drawn.difference.map_or("#fff", DifferenceMark::color).to_owned(),
    }
}

/// A color for an operator, which depends on the letters of its name only.
fn hue(name: &str) -> String {
    let hash =
        name.bytes().fold(2_166_136_261_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(16_777_619));
    pastel(f64::from(hash % 24) * 15.0)
}

/// A light color of a hue in degrees.
fn pastel(hue: f64) -> String {
    let channel = |offset: f64| {
        let distance = ((hue + offset) % 360.0 - 180.0).abs() / 180.0;
        distance.clamp(0.0, 1.0) * 70.0 + 185.0
    };
    mixed((channel(0.0), channel(240.0), channel(120.0)), (0.0, 0.0, 0.0), 0.0)
}

fn mixed(a: (f64, f64, f64), b: (f64, f64, f64), part: f64) -> String {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the number is between 0 and 255"
    )]
    let mix = |a: f64, b: f64| (a + (b - a) * part).clamp(0.0, 255.0).round() as u8;
    format!("#{:02x}{:02x}{:02x}", mix(a.0, b.0), mix(a.1, b.1), mix(a.2, b.2))
}

fn rect(out: &mut String, drawn: &Drawn, fill: &str, stroke: &str, radius: f64) {
    let (x, y) = (number(drawn.x), number(drawn.y));
    let (width, height) = (number(drawn.size.width), number(drawn.size.height));
    let _ = writeln!(
        out,
        "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" rx=\"{}\" fill=\"{fill}\" stroke=\"{stroke}\"/>",
        number(radius)
    );
}

fn text(out: &mut String, class: &str, (x, y): (f64, f64), text: &str) {
    let _ = writeln!(
        out,
        "<text class=\"{class}\" x=\"{}\" y=\"{}\">{}</text>",
        number(x),
        number(y),
        escaped(text)
    );
}

fn path(out: &mut String, line: &Line) {
    let mut data = String::new();
    let mut last: Option<(f64, f64)> = None;
    for &(x, y) in &line.points {
        let _ = match last {
            None => write!(data, "M{} {}", number(x), number(y)),
            Some((before, _)) if (before - x).abs() < 0.5 => write!(data, "L{} {}", number(x), number(y)),
            Some((before, above)) => {
                let middle = f64::midpoint(above, y);
                let (from, to, middle) = (number(before), number(x), number(middle));
                write!(data, "C{from} {middle} {to} {middle} {to} {}", number(y))
            }
        };
        last = Some((x, y));
    }
    let class = if line.is_back || line.is_cut { "p b" } else { "p" };
    let arrow = if line.has_arrow { " marker-end=\"url(#a)\"" } else { "" };
    let _ = writeln!(out, "<path class=\"{class}\" d=\"{data}\"{arrow}/>");
}

/// A coordinate with at most one decimal.
fn number(number: f64) -> String {
    let rounded = (number * 10.0).round() / 10.0;
    // A picture does not contain minus zero.
    format!("{}", if rounded == 0.0 { 0.0 } else { rounded })
}

/// A text of XML. What XML cannot contain was escaped as a name.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            '\u{fffe}' | '\u{ffff}' => escaped.push('\u{fffd}'),
            c if c.is_control() => escaped.push('\u{fffd}'),
            c => escaped.push(c),
        }
    }
    escaped
}

/// The constants of the scene and the style sheet must agree.
const _: () = assert!(TITLE_FONT == 12.5 && SMALL_FONT == 10.5);
