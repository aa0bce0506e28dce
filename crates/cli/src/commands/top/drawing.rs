//! What `squall top` draws: a summary, a table of strands or vats, and the stack of a strand; and the same as text.

use std::fmt::Write;

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Clear, Paragraph, Row, Table, TableState, Wrap};
use serde_json::Value as Json;

use super::Shown;

/// The columns of strands and of vats: the title, and the width.
const STRANDS: [(&str, u16); 4] = [("STRAND", 18), ("FOR", 9), ("DOES", 44), ("STANDS AT", 40)];
const VATS: [(&str, u16); 6] = [
    ("VAT", 10),
    ("STATE", 22),
    ("MAILBOX", 9),
    ("MESSAGES/S", 11),
    ("MESSAGES", 12),
    ("TURN", 40),
];

fn number(json: &Json) -> u64 {
    json.as_u64().unwrap_or_default()
}

fn word(json: &Json) -> &str {
    json.as_str().unwrap_or_default()
}

/// Milliseconds, for people.
fn duration(milliseconds: u64) -> String {
    match milliseconds {
        0..1_000 => format!("{milliseconds} ms"),
        1_000..120_000 => format!("{:.1} s", milliseconds as f64 / 1e3),
        120_000..7_200_000 => format!("{} min", milliseconds / 60_000),
        _ => format!("{:.1} h", milliseconds as f64 / 3.6e6),
    }
}

fn mebibytes(json: &Json) -> String {
    format!("{:.1} MiB", number(json) as f64 / f64::from(1 << 20))
}

/// A place in a program.
fn place(json: &Json) -> String {
    match json["function"].as_str() {
        Some(function) => format!("{function} ({}:{})", word(&json["path"]), number(&json["line"])),
        None => String::new(),
    }
}

/// The lines above the table; the flag says whether a line is about something that is wrong.
fn summary(overview: &Json) -> Vec<(String, bool)> {
    let (strands, vats, heap) = (&overview["strands"], &overview["vats"], &overview["heap"]);
    let states = ["running", "outside", "ready", "new", "waiting", "suspended"];
    let states = states.map(|state| format!("{} {state}", number(&strands["states"][state])));
    let collections = number(&heap["nursery"]["count"]) + number(&heap["full"]["count"]);
    let mut lines = vec![
        (
            format!("{}, process {}", word(&overview["program"]), number(&overview["process"])),
            false,
        ),
        (format!("strands  {}: {}", number(&strands["total"]), states.join(", ")), false),
        (
            format!(
                "vats     {}, {} active; {} messages wait, {:.0} in a second",
                number(&vats["total"]),
                number(&vats["active"]),
                number(&vats["waiting"]),
                vats["rate"].as_f64().unwrap_or_default(),
            ),
            false,
        ),
        (format!("heap     {} in use; {collections} collections", mebibytes(&heap["used"])), false),
    ];
    let cycles = number(&strands["cycles"]);
    if cycles > 0 {
        let noun = if cycles == 1 { "cycle" } else { "cycles" };
        lines.push((format!("DEADLOCK {cycles} {noun} of strands that wait for each other"), true));
    }
    lines
}

/// The cells of a row.
fn cells(shown: &Shown, row: &Json) -> Vec<String> {
    if shown.is_vats {
        let rate = row["rate"].as_f64().map_or_else(|| "–".to_owned(), |rate| format!("{rate:.0}"));
        return vec![
            format!("vat {}", number(&row["number"])),
            word(&row["state"]).to_owned(),
            number(&row["mailbox"]).to_string(),
            rate,
            number(&row["messages"]).to_string(),
            place(&row["place"]),
        ];
    }
    let waited = match number(&row["waited"]) {
        0 => "–".to_owned(),
        waited => duration(waited),
    };
    vec![
        format!("{} {}", word(&row["kind"]), number(&row["number"])),
        waited,
        word(&row["text"]).to_owned(),
        place(&row["place"]),
    ]
}

fn columns(shown: &Shown) -> &'static [(&'static str, u16)] {
    if shown.is_vats { &VATS } else { &STRANDS }
}

/// Everything as text.
pub fn text(shown: &Shown) -> String {
    let mut text = String::new();
    for (line, _) in summary(&shown.overview) {
        _ = writeln!(text, "{line}");
    }
    text.push('\n');
    let columns = columns(shown);
    let mut line = |cells: &[String]| {
        let padded = cells
            .iter()
            .zip(columns)
            .map(|(cell, (_, width))| format!("{cell:<width$}", width = usize::from(*width)));
        _ = writeln!(text, "{}", padded.collect::<Vec<_>>().join(" ").trim_end());
    };
    line(&columns.iter().map(|(title, _)| (*title).to_owned()).collect::<Vec<_>>());
    shown.rows.iter().for_each(|row| line(&cells(shown, row)));
    let rest = shown.total.saturating_sub(shown.rows.len() as u64);
    if rest > 0 {
        _ = writeln!(text, "… and {rest} more");
    }
    text
}

/// Draws everything on the terminal.
pub fn draw(shown: &Shown, frame: &mut Frame<'_>) {
    let summary = summary(&shown.overview);
    let heights =
        [Constraint::Length(summary.len() as u16 + 1), Constraint::Min(3), Constraint::Length(1)];
    let [above, middle, below] = Layout::vertical(heights).areas(frame.area());
    let wrong = Style::new().fg(Color::Red).add_modifier(Modifier::BOLD);
    let lines = summary
        .into_iter()
        .map(|(line, is_wrong)| Line::styled(line, if is_wrong { wrong } else { Style::new() }));
    frame.render_widget(Paragraph::new(lines.collect::<Vec<_>>()), above);
    draw_table(shown, frame, middle);
    let help = match &shown.problem {
        Some(problem) => Line::styled(problem.clone(), wrong),
        None => Line::styled(
            "q leave   tab strands/vats   s sort   r reverse   ↑↓ select   enter stack",
            Style::new().add_modifier(Modifier::DIM),
        ),
    };
    frame.render_widget(help, below);
    if let Some(strand) = &shown.stack {
        draw_stack(strand, frame, middle);
    }
}

fn draw_table(shown: &Shown, frame: &mut Frame<'_>, area: Rect) {
    let columns = columns(shown);
    let last = columns.len() - 1;
    let widths = columns.iter().enumerate().map(|(index, (_, width))| match index == last {
        true => Constraint::Min(*width),
        false => Constraint::Length(*width),
    });
    let header = columns.iter().map(|(title, _)| Span::raw(*title));
    let header = Row::new(header).style(Style::new().add_modifier(Modifier::BOLD));
    let rows = shown.rows.iter().map(|row| {
        let color = match word(&row["state"]) {
            "running" | "active" => Color::Green,
            "outside" => Color::Blue,
            "suspended" => Color::Magenta,
            "stuck" => Color::Red,
            _ => Color::Reset,
        };
        Row::new(cells(shown, row)).style(Style::new().fg(color))
    });
    let (noun, order) = (
        if shown.is_vats { "vats" } else { "strands" },
        if shown.ascends { "ascending" } else { "descending" },
    );
    let title = format!(" {} {noun}, by {}, {order} ", shown.total, shown.key());
    let table = Table::new(rows, widths)
        .header(header)
        .block(Block::bordered().title(title))
        .row_highlight_style(Style::new().add_modifier(Modifier::REVERSED));
    let mut state = TableState::new().with_selected(Some(shown.selected));
    frame.render_stateful_widget(table, area, &mut state);
}

fn draw_stack(strand: &Json, frame: &mut Frame<'_>, area: Rect) {
    let title = format!(" {} {} ", word(&strand["kind"]), number(&strand["number"]));
    let mut lines = vec![Line::raw(word(&strand["text"]).to_owned()), Line::raw("")];
    let places = strand["stack"].as_array().into_iter().flatten();
    lines.extend(places.map(|it| Line::raw(format!("at {}", place(it)))));
    if strand["origin"].is_object() {
        lines.push(Line::raw(format!("from {}", place(&strand["origin"]))));
    }
    frame.render_widget(Clear, area);
    let block = Block::bordered().title(title);
    frame.render_widget(Paragraph::new(lines).wrap(Wrap { trim: false }).block(block), area);
}

#[cfg(test)]
mod tests {
    use super::*;
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;
    use serde_json::json;

    fn shown() -> Shown {
        let place = json!({ "function": "Till>>take:", "path": "shop.ns", "line": 10 });
        let row = json!({
            "kind": "thread", "number": 25, "state": "waiting", "text": "waits for a lock #1",
            "waited": 1500, "place": place,
        });
        Shown {
            overview: json!({ "program": "shop.ns", "strands": { "total": 3, "cycles": 1 } }),
            rows: vec![row],
            total: 3,
            ..Shown::default()
        }
    }

    fn drawn(shown: &Shown, width: u16, height: u16) -> String {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).expect("it is in memory");
        terminal.draw(|frame| draw(shown, frame)).expect("it is in memory");
        terminal.backend().to_string()
    }

    #[test]
    fn the_terminal_shows_what_the_text_says() {
        let (text, drawn) = (text(&shown()), drawn(&shown(), 120, 20));
        let parts =
            ["thread 25", "1.5 s", "waits for a lock #1", "Till>>take:", "DEADLOCK 1 cycle "];
        for part in parts {
            assert!(text.contains(part), "{part}: {text}");
            assert!(drawn.contains(part), "{part}: {drawn}");
        }
        assert!(text.contains("… and 2 more"), "{text}");
    }

    #[test]
    fn a_stack_covers_the_table() {
        let mut shown = shown();
        let at = json!({ "function": "Shop>>main:", "path": "shop.ns", "line": 3 });
        shown.stack =
            Some(json!({ "kind": "thread", "number": 25, "stack": [at], "origin": null }));
        let drawn = drawn(&shown, 100, 20);
        assert!(drawn.contains("at Shop>>main: (shop.ns:3)"), "{drawn}");
        assert!(!drawn.contains("STANDS AT"), "{drawn}");
    }

    #[test]
    fn no_size_is_too_small() {
        for (width, height) in [(1, 1), (3, 2), (20, 5), (300, 3)] {
            let mut shown = shown();
            drawn(&shown, width, height);
            (shown.is_vats, shown.stack) = (true, Some(json!({})));
            drawn(&shown, width, height);
        }
    }
}
