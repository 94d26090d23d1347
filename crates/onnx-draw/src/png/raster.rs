//! Shapes as pixels. How much of a pixel a shape covers follows from the distance of the pixel to the edge of the shape.

use super::font;
use crate::layout::Size;
use crate::paint::{BACKGROUND, EDGE, FAINT, INK, MARGIN, Rounded, Surface, TextKind, is_straight};
use crate::picture::Line;
use crate::scene::{SMALL_FONT, TITLE_FONT};

/// Parts of a curve.
const CURVE: usize = 16;
/// Dashes and the gaps between them.
const DASH: f64 = 4.0;
const DASH_GAP: f64 = 3.0;

type Point = (f64, f64);
type Color = [u8; 3];

/// An image, with the scale of what is drawn on it.
pub(super) struct Raster {
    pub(super) width: usize,
    pub(super) height: usize,
    /// Red, green and blue of each pixel, row by row.
    pub(super) pixels: Vec<u8>,
    scale: f64,
}

/// A color of a style sheet: `#fff` or `#1d2129`.
fn color(text: &str) -> Color {
    let digits: Vec<u8> = text
        .bytes()
        .skip(1)
        .map(|digit| char::from(digit).to_digit(16).map_or(0, |digit| digit as u8))
        .collect();
    match *digits.as_slice() {
        [r, g, b] => [r * 17, g * 17, b * 17],
        [r, r2, g, g2, b, b2] => [r * 16 + r2, g * 16 + g2, b * 16 + b2],
        _ => [0; 3],
    }
}

impl Raster {
    /// An empty image of a picture.
    pub(super) fn new(size: Size, scale: f64) -> Self {
        let pixels = |length: f64| pixel((length + 2.0 * MARGIN) * scale).max(1);
        let (width, height) = (pixels(size.width), pixels(size.height));
        Self { width, height, pixels: color(BACKGROUND).repeat(width * height), scale }
    }

    /// A place of the picture in pixels.
    fn place(&self, (x, y): Point) -> Point {
        ((x + MARGIN) * self.scale, (y + MARGIN) * self.scale)
    }

    /// Covers the pixels between two corners as much as a function of their centers says.
    fn cover(&mut self, (from, to): (Point, Point), color: Color, covered: impl Fn(Point) -> f64) {
        let rows = pixel(from.1)..pixel(to.1 + 1.0).min(self.height);
        let columns = pixel(from.0)..pixel(to.0 + 1.0).min(self.width);
        for row in rows {
            for column in columns.clone() {
                let part = covered((column as f64 + 0.5, row as f64 + 0.5)).clamp(0.0, 1.0);
                if part > 0.0 {
                    self.blend(row, column, color, part);
                }
            }
        }
    }

    fn blend(&mut self, row: usize, column: usize, color: Color, part: f64) {
        let at = 3 * (row * self.width + column);
        let Some(old) = self.pixels.get_mut(at..at + 3) else { return };
        for (old, new) in old.iter_mut().zip(color) {
            *old = channel(f64::from(*old) + (f64::from(new) - f64::from(*old)) * part);
        }
    }

    /// A line with round ends, between places in pixels.
    fn segment(&mut self, (a, b): (Point, Point), width: f64, color: Color) {
        let half = (width * self.scale / 2.0).max(0.3);
        let reach = half + 1.0;
        let corners =
            ((a.0.min(b.0) - reach, a.1.min(b.1) - reach), (a.0.max(b.0) + reach, a.1.max(b.1) + reach));
        let (dx, dy) = (b.0 - a.0, b.1 - a.1);
        let square = dx * dx + dy * dy;
        self.cover(corners, color, |(x, y)| {
            let along = if square > 0.0 { ((x - a.0) * dx + (y - a.1) * dy) / square } else { 0.0 };
            let along = along.clamp(0.0, 1.0);
            half + 0.5 - length(x - a.0 - along * dx, y - a.1 - along * dy)
        });
    }

    /// The inside of a rounded rectangle far from its edge, of one color.
    fn inside(&mut self, (from, to): (Point, Point), color: Color) {
        let (left, right) = (pixel(from.0 + 2.0), pixel(to.0 - 2.0).min(self.width));
        for row in pixel(from.1)..pixel(to.1).min(self.height) {
            let start = 3 * (row * self.width + left);
            let end = 3 * (row * self.width + right.max(left));
            if let Some(pixels) = self.pixels.get_mut(start..end) {
                pixels.chunks_exact_mut(3).for_each(|pixel| pixel.copy_from_slice(&color));
            }
        }
    }

    /// An arrow that points down.
    fn arrow(&mut self, tip: Point, color: Color) {
        let (x, y) = self.place(tip);
        let (half, height) = (3.2 * self.scale, 6.4 * self.scale);
        let slope = length(half, height);
        self.cover(((x - half - 1.0, y - height - 1.0), (x + half + 1.0, y + 1.0)), color, |(px, py)| {
            let from_side = ((y - py) * half - (px - x).abs() * height) / slope;
            from_side.min(py - (y - height)) + 0.5
        });
    }
}

/// The length of a vector of pixels, whose square is far from overflow.
fn length(x: f64, y: f64) -> f64 {
    (x * x + y * y).sqrt()
}

/// The points of a line, with curves as short straight parts.
fn flat(points: &[Point]) -> Vec<Point> {
    let mut found: Vec<Point> = points.first().copied().into_iter().collect();
    for ends in points.windows(2) {
        let (from, to) = (ends[0], ends[1]);
        if !is_straight(from, to) {
            let middle = f64::midpoint(from.1, to.1);
            found.extend((1..CURVE).map(|step| {
                let t = step as f64 / CURVE as f64;
                let u = 1.0 - t;
                let (early, late) = (u * u * u + 3.0 * u * u * t, 3.0 * u * t * t + t * t * t);
                let bent = (3.0 * u * u * t + 3.0 * u * t * t) * middle;
                (early * from.0 + late * to.0, u * u * u * from.1 + bent + t * t * t * to.1)
            }));
        }
        found.push(to);
    }
    found
}

/// The parts of a dashed line that are drawn.
fn dashes(points: &[Point]) -> Vec<(Point, Point)> {
    let mut found = Vec::new();
    let mut done = 0.0;
    for ends in points.windows(2) {
        let (from, to) = (ends[0], ends[1]);
        let length = length(to.0 - from.0, to.1 - from.1);
        let at = |place: f64| {
            let part = if length > 0.0 { place / length } else { 0.0 };
            (from.0 + (to.0 - from.0) * part, from.1 + (to.1 - from.1) * part)
        };
        let mut place = 0.0;
        while place < length {
            let phase = (done + place) % (DASH + DASH_GAP);
            let rest = if phase < DASH { DASH - phase } else { DASH + DASH_GAP - phase };
            let end = (place + rest.max(0.1)).min(length);
            if phase < DASH {
                found.push((at(place), at(end)));
            }
            place = end;
        }
        done += length;
    }
    found
}

impl Surface for Raster {
    fn rect(&mut self, rect: Rounded, fill: &str, stroke: &str) {
        let (from, to) =
            (self.place((rect.x, rect.y)), self.place((rect.x + rect.size.width, rect.y + rect.size.height)));
        let radius = rect.radius * self.scale;
        let center = (f64::midpoint(from.0, to.0), f64::midpoint(from.1, to.1));
        let half = ((to.0 - from.0) / 2.0 - radius, (to.1 - from.1) / 2.0 - radius);
        // The distance from the edge, negative inside.
        let distance = |(x, y): Point| {
            let (x, y) = ((x - center.0).abs() - half.0, (y - center.1).abs() - half.1);
            length(x.max(0.0), y.max(0.0)) + x.max(y).min(0.0) - radius
        };
        let (fill, stroke) = (color(fill), color(stroke));
        let line = (self.scale / 2.0).max(0.4);
        // Only the edge needs distances: four strips, and the corners in them.
        let deep = radius + line + 2.0;
        self.inside(((from.0 + line, from.1 + deep), (to.0 - line, to.1 - deep)), fill);
        let outer = ((from.0 - line - 1.0, from.1 - line - 1.0), (to.0 + line + 1.0, to.1 + line + 1.0));
        let (upper, lower) =
            (pixel(from.1 + deep) as f64, pixel(to.1 - deep).max(pixel(from.1 + deep)) as f64);
        let strips = [
            (outer.0, (outer.1.0, upper - 1.0)),
            ((outer.0.0, lower), outer.1),
            ((outer.0.0, upper), (from.0 + line + 3.0, lower - 1.0)),
            ((to.0 - line - 3.0, upper), (outer.1.0, lower - 1.0)),
        ];
        for strip in strips {
            self.cover(strip, fill, |place| 0.5 - distance(place));
            self.cover(strip, stroke, |place| line + 0.5 - distance(place).abs());
        }
    }

    fn dot(&mut self, center: Point, radius: f64, fill: &str, _: &str) {
        let at = self.place(center);
        if fill != EDGE {
            self.segment((at, at), 2.0 * radius + 2.0, color(BACKGROUND));
        }
        self.segment((at, at), 2.0 * radius, color(fill));
    }

    fn line(&mut self, line: &Line) {
        let points = flat(&line.points);
        let parts = match line.is_back || line.is_cut {
            true => dashes(&points),
            false => points.windows(2).map(|ends| (ends[0], ends[1])).collect(),
        };
        for (from, to) in parts {
            self.segment((self.place(from), self.place(to)), 1.2, color(EDGE));
        }
        if let Some(&end) = points.last().filter(|_| line.has_arrow) {
            self.arrow(end, color(EDGE));
        }
    }

    fn text(&mut self, kind: TextKind, (x, y): Point, text: &str) {
        let (size, ink, weight) = match kind {
            TextKind::Title => (TITLE_FONT, INK, 1.15),
            TextKind::Heading => (TITLE_FONT, INK, 1.6),
            TextKind::Line | TextKind::Label => (SMALL_FONT, FAINT, 1.0),
        };
        let (strokes, width) = font::strokes(text, size);
        let left = if kind == TextKind::Label { x - width / 2.0 } else { x };
        let has_halo = matches!(kind, TextKind::Heading | TextKind::Label);
        let passes = [has_halo.then_some((BACKGROUND, weight + 3.5)), Some((ink, weight))];
        for (ink, weight) in passes.into_iter().flatten() {
            for &((ax, ay), (bx, by)) in &strokes {
                let ends = (self.place((left + ax, y + ay)), self.place((left + bx, y + by)));
                self.segment(ends, weight, color(ink));
            }
        }
    }
}

/// The pixel at a place; 0 for places outside of the image.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the number is not negative, and images are small"
)]
const fn pixel(place: f64) -> usize {
    place.max(0.0) as usize
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the number is between 0 and 255"
)]
fn channel(value: f64) -> u8 {
    value.round().clamp(0.0, 255.0) as u8
}
