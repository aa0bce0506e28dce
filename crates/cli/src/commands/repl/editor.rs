//! The line editor of `squall repl`: history, completion, inputs of several lines.

use std::collections::BTreeSet;
use std::path::PathBuf;

use rustyline::completion::Completer;
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::DefaultHistory;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{Config, Context, Helper};

use super::is_finished;

const PROMPT: &str = "> ";

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
        let config = Config::builder().auto_add_history(true).build();
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

    pub fn read(&mut self) -> Line {
        match self.editor.readline(PROMPT) {
            Ok(text) => Line::Text(text),
            Err(ReadlineError::Interrupted) => Line::Interrupted,
            Err(_) => Line::End,
        }
    }
}

impl Drop for Editor {
    fn drop(&mut self) {
        if let Some(path) = &self.history {
            _ = path.parent().map(std::fs::create_dir_all);
            _ = self.editor.save_history(path);
        }
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

/// Completes words, and decides whether an input continues on the next line.
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

impl Validator for Assistant {
    fn validate(&self, context: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        Ok(match is_finished(&format!("{}\n", context.input())) {
            true => ValidationResult::Valid(None),
            false => ValidationResult::Incomplete,
        })
    }
}

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
