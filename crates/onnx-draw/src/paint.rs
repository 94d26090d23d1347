//! What a picture consists of, for whatever it is drawn on.

use onnx_diag::Severity;

use crate::layout::Size;
use crate::marks::{Coloring, DifferenceMark};
use crate::picture::{Drawn, Line, Picture};
use crate::scene::{ItemKind, LINE, TITLE};

/// Space around the picture.
pub(crate) const MARGIN: f64 = 16.0;
/// The colors of texts, of lines, and of the background.
pub(crate) const INK: &str = "#1d2129";
pub(crate) const FAINT: &str = "#4a5160";
pub(crate) const EDGE: &str = "#8a92a3";
pub(crate) const BACKGROUND: &str = "#fff";

/// How a picture is drawn.
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

/// The kinds of texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TextKind {
    /// The title of a closed box.
    Title,
    /// The title of an open box, which lines may cross.
    Heading,
    /// A further line of a box.
    Line,
    /// The label of an edge, whose place is its middle.
    Label,
}

/// A rectangle with rounded corners.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rounded {
    pub(crate) x: f64,
    pub(crate) y: f64,
    pub(crate) size: Size,
    pub(crate) radius: f64,
}

/// Something that a picture is drawn on. Colors are those of style sheets: `#fff`, `#1d2129`.
pub(crate) trait Surface {
    fn rect(&mut self, rect: Rounded, fill: &str, stroke: &str);
    /// A circle that says something: a border of the background makes it stand out unless it is part of a line.
    fn dot(&mut self, center: (f64, f64), radius: f64, fill: &str, says: &str);
    fn line(&mut self, line: &Line);
    fn text(&mut self, kind: TextKind, place: (f64, f64), text: &str);
}

/// Draws a picture: open boxes below lines, lines below closed boxes, labels above all.
pub(crate) fn paint(picture: &Picture, style: &PictureStyle, surface: &mut impl Surface) {
    let open = || picture.boxes.iter().filter(|drawn| drawn.is_open);
    for drawn in open() {
        let shade = if drawn.path.len().is_multiple_of(2) { BACKGROUND } else { "#f5f7fa" };
        surface.rect(rounded(drawn, 8.0), shade, "#aab2c0");
    }
    picture.lines.iter().for_each(|line| surface.line(line));
    // Lines enter an open box at its upper side, where its title is.
    for drawn in open() {
        surface.text(TextKind::Heading, (drawn.x + 10.0, drawn.y + 16.0), &drawn.title);
    }
    for drawn in picture.boxes.iter().filter(|drawn| !drawn.is_open) {
        closed(surface, drawn, style.coloring);
    }
    for (x, y, text) in picture.lines.iter().filter_map(|line| line.label.as_ref()) {
        surface.text(TextKind::Label, (*x, *y), text);
    }
}

fn rounded(drawn: &Drawn, radius: f64) -> Rounded {
    Rounded { x: drawn.x, y: drawn.y, size: drawn.size, radius }
}

fn closed(surface: &mut impl Surface, drawn: &Drawn, coloring: Coloring) {
    let is_port = matches!(drawn.kind, ItemKind::Input | ItemKind::Output);
    match drawn.kind {
        ItemKind::Arriving | ItemKind::Leaving => {
            let center = (drawn.x + drawn.size.width / 2.0, drawn.y + drawn.size.height / 2.0);
            surface.dot(center, 2.5, EDGE, &drawn.title);
            return;
        }
        _ if is_port => surface.rect(rounded(drawn, drawn.size.height / 2.0), "#eef0f3", EDGE),
        _ => surface.rect(rounded(drawn, 5.0), &fill(drawn, coloring), "#7b8494"),
    }
    let x = drawn.x + 11.0;
    let marker = if drawn.can_open { "▸ " } else { "" };
    let y = drawn.y + 16.0 + if is_port { 1.0 } else { 0.0 };
    surface.text(TextKind::Title, (x, y), &format!("{marker}{}", drawn.title));
    for (index, line) in drawn.lines.iter().enumerate() {
        surface.text(TextKind::Line, (x, drawn.y + TITLE + LINE * index as f64 + 9.0), line);
    }
    if let Some(severity) = drawn.severity {
        let center = (drawn.x + drawn.size.width - 2.0, drawn.y + 2.0);
        surface.dot(center, 5.0, severity_color(severity), severity.as_str());
    }
}

/// The parts of a line: to the next point straight down, or a curve that leaves and arrives vertically.
pub(crate) const fn is_straight(from: (f64, f64), to: (f64, f64)) -> bool {
    (from.0 - to.0).abs() < 0.5
}

const fn severity_color(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "#c62828",
        Severity::Warning => "#e08a00",
        Severity::Note => "#3f7fc4",
    }
}

/// The color of a closed box.
fn fill(drawn: &Drawn, coloring: Coloring) -> String {
    match coloring {
        Coloring::Type if drawn.kind == ItemKind::Group => BACKGROUND.to_owned(),
        Coloring::Type => hue(&drawn.title),
        Coloring::Scope => pastel(f64::from(drawn.scope) * 137.5 % 360.0),
        Coloring::Cost => match drawn.cost {
            // The root makes small parts visible.
            Some(cost) => mixed((255.0, 255.0, 255.0), (240.0, 120.0, 30.0), cost.sqrt()),
            None => BACKGROUND.to_owned(),
        },
        Coloring::Findings => match drawn.severity {
            Some(Severity::Error) => "#f6c6c6".to_owned(),
            Some(Severity::Warning) => "#fbe2b5".to_owned(),
            Some(Severity::Note) => "#d5e4f6".to_owned(),
            None => BACKGROUND.to_owned(),
        },
        Coloring::Diff => drawn.difference.map_or(BACKGROUND, DifferenceMark::color).to_owned(),
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
