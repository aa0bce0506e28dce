//! The line editor of `squall repl`: history, completion, inputs of several lines. The loop of `squall repl` reads each
//! input with it.

use std::collections::BTreeSet;
use std::path::PathBuf;

use rustyline::completion::Completer;
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::DefaultHistory;
use rustyline::validate::Validator;
use rustyline::{Config, Context, Helper};

use super::{is_finished, library};

const PROMPT: &str = "> ";

/// The prompt for the further lines of an input.
const CONTINUATION: &str = "… ";

/// An editor with a history that is kept in a file.
pub struct Editor {
    editor: rustyline::Editor<Assistant, DefaultHistory>,
    history: Option<PathBuf>,
}

/// A typed line.
pub enum Line {
    /// An input of one or more lines.
    Text(String),
    /// No input: the user interrupted it.
    Interrupted,
    /// The end of all inputs.
    End,
}

impl Editor {
    pub fn new() -> rustyline::Result<Editor> {
        let config = Config::builder().build();
        let mut editor = rustyline::Editor::with_config(config)?;
        editor.set_helper(Some(Assistant::default()));
        let history = history_file();
        if let Some(path) = &history {
            // There is no history before the first session ends.
            _ = editor.load_history(path);
        }
        Ok(Editor { editor, history })
    }

    /// Sets the words for completion.
    pub fn set_vocabulary(&mut self, words: BTreeSet<String>) {
        if let Some(assistant) = self.editor.helper_mut() {
            assistant.words = words;
        }
    }

    /// Reads lines until they are an input. The history is saved at once: the evaluation may end the process.
    pub fn read(&mut self) -> Line {
        let mut text = String::new();
        loop {
            let prompt = if text.is_empty() { PROMPT } else { CONTINUATION };
            match self.editor.readline(prompt) {
                Ok(line) => text += &line,
                Err(ReadlineError::Interrupted) => return Line::Interrupted,
                Err(_) if text.is_empty() => return Line::End,
                // The user gives up: the mistake is reported.
                Err(_) => text.push('\n'),
            }
            text.push('\n');
            if is_finished(&text) {
                self.keep(text.trim_end());
                return Line::Text(text);
            }
        }
    }

    fn keep(&mut self, text: &str) {
        // An input that the history does not take is only not offered again.
        _ = self.editor.add_history_entry(text);
        self.save();
    }

    fn save(&mut self) {
        if let Some(path) = &self.history {
            _ = path.parent().map(std::fs::create_dir_all);
            _ = self.editor.save_history(path);
        }
    }
}

impl Drop for Editor {
    fn drop(&mut self) {
        self.save();
    }
}

/// The file of the history: `SQUALL_HISTORY`, where an empty path means no file, or else a file in the user's state
/// directory.
fn history_file() -> Option<PathBuf> {
    if let Some(path) = std::env::var_os("SQUALL_HISTORY") {
        return (!path.is_empty()).then(|| path.into());
    }
    let state = std::env::var_os("XDG_STATE_HOME").filter(|path| !path.is_empty());
    let state = state.map(PathBuf::from).or_else(|| {
        let home = std::env::var_os("HOME").filter(|path| !path.is_empty())?;
        Some(PathBuf::from(home).join(".local/state"))
    })?;
    Some(state.join("squall/history"))
}

/// Completes words.
#[derive(Default)]
struct Assistant {
    words: BTreeSet<String>,
}

impl Completer for Assistant {
    type Candidate = String;

    fn complete(
        &self,
        line: &str,
        position: usize,
        _: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<String>)> {
        let (start, prefix) = word_before(line, position);
        if let Some(members) = library::members_for(&line[..start]) {
            let members = members.into_iter().filter(|member| member.starts_with(prefix));
            return Ok((start, members.collect()));
        }
        let words = self.words.range(prefix.to_owned()..);
        let candidates = words.take_while(|word| word.starts_with(prefix)).cloned();
        Ok((start, if prefix.is_empty() { Vec::new() } else { candidates.collect() }))
    }
}

/// The part of a word before a place, and its start.
fn word_before(line: &str, position: usize) -> (usize, &str) {
    let is_part = |character: char| character.is_alphanumeric() || matches!(character, '_' | ':');
    let before = &line[..position];
    let start = before.trim_end_matches(is_part).len();
    (start, &before[start..])
}

impl Validator for Assistant {}

impl Hinter for Assistant {
    type Hint = String;
}

impl Highlighter for Assistant {}

impl Helper for Assistant {}

#[cfg(test)]
mod tests {
    use super::word_before;

    #[test]
    fn the_word_before_the_cursor_is_completed() {
        assert_eq!(word_before("a at: 1 pu", 10), (8, "pu"));
        assert_eq!(word_before("(copyFrom:to", 12), (1, "copyFrom:to"));
        assert_eq!(word_before("3 ", 2), (2, ""));
        assert_eq!(word_before("größe", "größ".len()), (0, "größ"));
    }
}
