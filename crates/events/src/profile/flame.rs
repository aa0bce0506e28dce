//! A flame graph (Gregg, "The Flame Graph", CACM 2016) as a file of SVG: a bar for each function on a stack, as wide as its
//! share of the samples, above the bar of its caller. The full name, and the share, are the bar's tooltip. The file has no
//! scripts, and needs nothing else.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::collapsed;
use super::texts::Profile;

/// The width of the picture, in pixels.
const WIDTH: f64 = 1200.0;
/// The height of a bar.
const BAR: usize = 17;
/// The space around all bars.
const MARGIN: usize = 10;
/// The height of the title.
const TITLE: usize = 24;
/// Bars that are narrower are left out.
const NARROWEST: f64 = 0.3;
/// The width of a letter, on average.
const LETTER: f64 = 6.8;

/// A function below its callers, with those that it calls.
#[derive(Default)]
struct Bar {
    weight: u64,
    inner: BTreeMap<String, Bar>,
}

impl Bar {
    fn add(&mut self, names: &[String], weight: u64) {
        self.weight += weight;
        if let [name, rest @ ..] = names {
            self.inner.entry(name.clone()).or_default().add(rest, weight);
        }
    }

    /// How many bars are above each other.
    fn height(&self) -> usize {
        self.inner.values().map(|bar| 1 + bar.height()).max().unwrap_or(0)
    }
}

/// The picture.
pub fn svg(profile: &Profile, title: &str) -> String {
    let mut all = Bar::default();
    for (frames, state, weight) in profile.by_stack() {
        all.add(&collapsed::names(profile, frames, state), weight);
    }
    let rows = all.height() + 1;
    let height = TITLE + rows * BAR + 2 * MARGIN;
    let width = WIDTH + 2.0 * MARGIN as f64;
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" font-family=\"monospace\" font-size=\"11\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#fff8f0\"/>\n\
         <text x=\"{MARGIN}\" y=\"{TITLE}\" font-size=\"14\">{}</text>\n",
        escaped(title)
    );
    let total = all.weight.max(1);
    let floor = height - MARGIN;
    draw(&mut text, "all", &all, (MARGIN as f64, floor), total);
    text += "</svg>\n";
    text
}

/// Draws a bar with its lower left corner at this place, and the ones above it.
fn draw(text: &mut String, name: &str, bar: &Bar, (left, floor): (f64, usize), total: u64) {
    let width = WIDTH * bar.weight as f64 / total as f64;
    if width < NARROWEST {
        return;
    }
    let share = 100.0 * bar.weight as f64 / total as f64;
    let top = floor - BAR;
    let shown = shortened(name, (width / LETTER) as usize);
    _ = writeln!(
        text,
        "<g><title>{name}: {weight} samples, {share:.2} %</title>\
         <rect x=\"{left:.1}\" y=\"{top}\" width=\"{width:.1}\" height=\"{height}\" rx=\"2\" fill=\"{colour}\"/>\
         <text x=\"{text_left:.1}\" y=\"{text_floor}\">{shown}</text></g>",
        name = escaped(name),
        weight = bar.weight,
        height = BAR - 1,
        colour = colour(name),
        text_left = left + 3.0,
        text_floor = floor - 5,
        shown = escaped(&shown),
    );
    let mut place = left;
    for (name, inner) in &bar.inner {
        draw(text, name, inner, (place, top), total);
        place += WIDTH * inner.weight as f64 / total as f64;
    }
}

/// As much of a name as fits.
fn shortened(name: &str, letters: usize) -> String {
    match name.chars().count() {
        count if count <= letters => name.to_owned(),
        _ if letters < 4 => String::new(),
        _ => name.chars().take(letters - 1).chain(['…']).collect(),
    }
}

/// A warm colour, the same one for each bar of a name.
fn colour(name: &str) -> String {
    let hash = name.bytes().fold(7_u32, |hash, byte| hash.wrapping_mul(31) ^ u32::from(byte));
    let (green, blue) = (110 + hash % 110, hash / 110 % 60);
    format!("rgb(240,{green},{blue})")
}

fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for character in text.chars() {
        match character {
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            '&' => escaped += "&amp;",
            '"' => escaped += "&quot;",
            character if character.is_control() => escaped.push(' '),
            character => escaped.push(character),
        }
    }
    escaped
}
