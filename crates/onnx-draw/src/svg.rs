//! A picture as SVG.

use std::fmt::Write as _;

use crate::paint::{
    BACKGROUND, EDGE, FAINT, INK, MARGIN, PictureStyle, Rounded, Surface, TextKind, is_straight, paint,
};
use crate::picture::{Line, Picture};
use crate::scene::{SMALL_FONT, TITLE_FONT};
use crate::text::shown;

/// The largest picture that viewers are sure to show, in pixels.
const MOST_PIXELS: f64 = 60_000.0;

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
    out.push_str(&style_sheet());
    let _ = writeln!(
        out,
        "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{BACKGROUND}\"/>",
        number(-MARGIN),
        number(-MARGIN),
        number(width),
        number(height)
    );
    paint(picture, style, &mut Document(&mut out));
    out.push_str("</svg>\n");
    out
}

/// Fonts have metrics like those of the estimates.
fn style_sheet() -> String {
    format!(
        "<style>\
text{{font-family:'DejaVu Sans',Verdana,Helvetica,Arial,sans-serif;fill:{INK}}}\
.t{{font-size:{TITLE_FONT}px}}.l{{font-size:{SMALL_FONT}px;fill:{FAINT}}}\
.h{{font-size:{TITLE_FONT}px;font-weight:600;paint-order:stroke;stroke:{BACKGROUND};stroke-width:4px;stroke-linejoin:round}}\
.e{{font-size:{SMALL_FONT}px;fill:{FAINT};text-anchor:middle;paint-order:stroke;stroke:{BACKGROUND};stroke-width:3px;stroke-linejoin:round}}\
.p{{fill:none;stroke:{EDGE};stroke-width:1.2}}.b{{stroke-dasharray:4 3}}\
</style>\n\
<defs><marker id=\"a\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"6\" markerHeight=\"6\" orient=\"auto\">\
<path d=\"M0 0L8 4L0 8z\" fill=\"{EDGE}\"/></marker></defs>\n"
    )
}

/// The elements of the document.
struct Document<'a>(&'a mut String);

impl Surface for Document<'_> {
    fn rect(&mut self, rect: Rounded, fill: &str, stroke: &str) {
        let (x, y) = (number(rect.x), number(rect.y));
        let (width, height) = (number(rect.size.width), number(rect.size.height));
        let _ = writeln!(
            self.0,
            "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" rx=\"{}\" fill=\"{fill}\" stroke=\"{stroke}\"/>",
            number(rect.radius)
        );
    }

    fn dot(&mut self, (x, y): (f64, f64), radius: f64, fill: &str, says: &str) {
        let border = if fill == EDGE { String::new() } else { format!(" stroke=\"{BACKGROUND}\"") };
        let _ = writeln!(
            self.0,
            "<circle cx=\"{}\" cy=\"{}\" r=\"{}\" fill=\"{fill}\"{border}><title>{}</title></circle>",
            number(x),
            number(y),
            number(radius),
            escaped(says)
        );
    }

    fn line(&mut self, line: &Line) {
        let mut data = String::new();
        let mut last: Option<(f64, f64)> = None;
        for &(x, y) in &line.points {
            let _ = match last {
                None => write!(data, "M{} {}", number(x), number(y)),
                Some(before) if is_straight(before, (x, y)) => write!(data, "L{} {}", number(x), number(y)),
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
        let _ = writeln!(self.0, "<path class=\"{class}\" d=\"{data}\"{arrow}/>");
    }

    fn text(&mut self, kind: TextKind, (x, y): (f64, f64), text: &str) {
        let class = match kind {
            TextKind::Title => "t",
            TextKind::Heading => "h",
            TextKind::Line => "l",
            TextKind::Label => "e",
        };
        let (x, y) = (number(x), number(y));
        let _ = writeln!(self.0, "<text class=\"{class}\" x=\"{x}\" y=\"{y}\">{}</text>", escaped(text));
    }
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
