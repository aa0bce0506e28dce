//! `squall top`: shows on the terminal what a program does that runs with `--observe`. `commands` calls this module.
//!
//! The command asks the observer's server, as the page does, and draws with `ratatui`. Where the standard output is no
//! terminal, or with `--once`, it prints the same once, as text.

mod drawing;

use std::io::{IsTerminal, stdout};
use std::time::{Duration, Instant};

use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use serde_json::Value as Json;
use squall_observer::client::Client;

use super::observe::file_of;
use crate::arguments::Top;
use crate::console::{complain, print};
use crate::exit::Exit;

pub fn top(arguments: &Top) -> Result<Exit, Exit> {
    let client = client(&arguments.program).map_err(|problem| {
        complain(&problem);
        Exit::Failure
    })?;
    let mut shown = Shown::default();
    shown.refresh(&client).map_err(|problem| {
        complain(&problem);
        Exit::Failure
    })?;
    if arguments.once || !stdout().is_terminal() {
        print(&drawing::text(&shown));
        return Ok(Exit::Success);
    }
    let mut terminal = ratatui::init();
    let result = watch(&mut terminal, &client, shown, Duration::from_secs_f64(arguments.interval));
    ratatui::restore();
    result.map(|()| Exit::Success).map_err(|problem| {
        complain(&problem);
        Exit::Failure
    })
}

/// The server of a program, by its address or the number of its process.
fn client(program: &str) -> Result<Client, String> {
    let Ok(process) = program.parse() else { return Client::new(program) };
    let missing = || {
        format!(
            "process {process} has no file with its address: give the address that \
             `squall run --observe` has shown"
        )
    };
    let file = file_of(process).ok_or_else(missing)?;
    Client::new(std::fs::read_to_string(file).map_err(|_| missing())?.trim())
}

/// What strands or vats are sorted by, and how columns are named.
const STRAND_KEYS: [&str; 5] = ["waited", "number", "state", "kind", "priority"];
const VAT_KEYS: [&str; 4] = ["mailbox", "rate", "messages", "number"];
/// How many rows are asked for.
const ROWS: usize = 200;

/// What the terminal shows.
#[derive(Default)]
struct Shown {
    overview: Json,
    /// The rows of the table, and how many there are altogether.
    rows: Vec<Json>,
    total: u64,
    is_vats: bool,
    /// The indices of the keys for sorting.
    strand_key: usize,
    vat_key: usize,
    ascends: bool,
    selected: usize,
    /// The strand whose stack is shown.
    stack: Option<Json>,
    /// The last problem.
    problem: Option<String>,
}

impl Shown {
    fn key(&self) -> &'static str {
        if self.is_vats { VAT_KEYS[self.vat_key] } else { STRAND_KEYS[self.strand_key] }
    }

    fn refresh(&mut self, client: &Client) -> Result<(), String> {
        self.overview = client.get("/api/overview")?;
        let (path, key) = (if self.is_vats { "vats" } else { "strands" }, self.key());
        let order = if self.ascends { "asc" } else { "desc" };
        let target = format!("/api/{path}?sort={key}&order={order}&limit={ROWS}");
        let mut table = client.get(&target)?;
        let total = table["matching"].as_u64().or(table["total"].as_u64());
        self.total = total.unwrap_or_default();
        self.rows = match table["rows"].take() {
            Json::Array(rows) => rows,
            _ => Vec::new(),
        };
        self.selected = self.selected.min(self.rows.len().saturating_sub(1));
        Ok(())
    }

    /// Shows the stack of the selected strand, or of the selected vat's turn.
    fn open(&mut self, client: &Client) {
        let Some(row) = self.rows.get(self.selected) else { return };
        let number = if self.is_vats { &row["turn"] } else { &row["number"] };
        let Some(number) = number.as_u64() else { return };
        match client.get(&format!("/api/strand?number={number}")) {
            Ok(strand) => self.stack = Some(strand),
            Err(problem) => self.problem = Some(problem),
        }
    }

    fn select(&mut self, rows: isize) {
        let last = self.rows.len().saturating_sub(1);
        self.selected = self.selected.saturating_add_signed(rows).min(last);
    }

    fn sort_by_next(&mut self) {
        let (key, count) = match self.is_vats {
            true => (&mut self.vat_key, VAT_KEYS.len()),
            false => (&mut self.strand_key, STRAND_KEYS.len()),
        };
        *key = (*key + 1) % count;
    }
}

/// What a key asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Wish {
    Nothing,
    Draw,
    Refresh,
    Leave,
}

/// How far a page of rows goes.
const PAGE: isize = 20;

/// Does what a key says.
fn press(shown: &mut Shown, client: &Client, key: KeyEvent) -> Wish {
    let with_control = key.modifiers.contains(KeyModifiers::CONTROL);
    match key.code {
        KeyCode::Char('c') if with_control => return Wish::Leave,
        KeyCode::Char('q') => return Wish::Leave,
        KeyCode::Esc | KeyCode::Enter | KeyCode::Backspace if shown.stack.is_some() => {
            shown.stack = None;
        }
        KeyCode::Esc => return Wish::Leave,
        KeyCode::Enter => shown.open(client),
        KeyCode::Up | KeyCode::Char('k') => shown.select(-1),
        KeyCode::Down | KeyCode::Char('j') => shown.select(1),
        KeyCode::PageUp => shown.select(-PAGE),
        KeyCode::PageDown => shown.select(PAGE),
        KeyCode::Home => shown.selected = 0,
        KeyCode::End => shown.select(isize::MAX),
        KeyCode::Tab | KeyCode::BackTab => {
            (shown.is_vats, shown.selected, shown.stack) = (!shown.is_vats, 0, None);
            return Wish::Refresh;
        }
        KeyCode::Char('s') => {
            shown.sort_by_next();
            return Wish::Refresh;
        }
        KeyCode::Char('r') => {
            shown.ascends = !shown.ascends;
            return Wish::Refresh;
        }
        _ => return Wish::Nothing,
    }
    Wish::Draw
}

/// Draws until the user leaves or the program has ended.
fn watch(
    terminal: &mut ratatui::DefaultTerminal,
    client: &Client,
    mut shown: Shown,
    interval: Duration,
) -> Result<(), String> {
    let text = |error: std::io::Error| error.to_string();
    let mut due = Instant::now() + interval;
    loop {
        terminal.draw(|frame| drawing::draw(&shown, frame)).map_err(text)?;
        let mut is_due =
            !event::poll(due.saturating_duration_since(Instant::now())).map_err(text)?;
        if !is_due {
            match event::read().map_err(text)? {
                Event::Key(key) if key.kind == KeyEventKind::Press => {
                    shown.problem = None;
                    match press(&mut shown, client, key) {
                        Wish::Leave => return Ok(()),
                        wish => is_due = wish == Wish::Refresh,
                    }
                }
                _ => {}
            }
        }
        if is_due {
            shown.refresh(client).map_err(|_| "the program has ended".to_owned())?;
            due = Instant::now() + interval;
        }
    }
}
