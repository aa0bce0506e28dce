//! Puts comments at the ends of lines that follow each other into one column. `layout` calls [`line_up_comments`] when all
//! lines are written: the column depends on the code before the comments alone, so a second run answers the same.

use super::layout::{WIDTH, Written};

/// How much wider than the others the code of a line may be to have its comment in their column.
const WIDEST_DIFFERENCE: usize = 40;

/// A comment at the end of a line: all on this line, and behind code.
struct Trailing {
    /// Where it begins in the text.
    start: usize,
    /// The number of the line.
    line: usize,
    /// The columns of the code before it, and of the comment.
    code: usize,
    own: usize,
}

/// Inserts blanks before comments at ends of lines; `starts` is where the comments begin that are behind other things.
pub fn line_up_comments(written: &mut Written, starts: &[usize]) {
    let mut section: Vec<Trailing> = Vec::new();
    let mut blanks: Vec<(usize, usize)> = Vec::new();
    for comment in trailing(&written.text, starts) {
        if !joins(&section, &comment) {
            end_section(&mut section, &mut blanks);
        }
        section.push(comment);
    }
    end_section(&mut section, &mut blanks);
    insert(written, &blanks);
}

/// The comments that end their lines.
fn trailing<'t>(text: &'t str, starts: &'t [usize]) -> impl Iterator<Item = Trailing> + 't {
    let (mut line, mut seen) = (0, 0);
    starts.iter().filter_map(move |&start| {
        line += text[seen..start].matches('\n').count();
        seen = start;
        let own = text[start..].split('\n').next()?;
        // A comment that goes on, or with something behind it, does not end its line. No other bracket of this form closes one.
        let is_whole = own.find("*)").is_some_and(|end| end + 2 == own.len());
        let code = text[..start].rsplit('\n').next()?.trim_end();
        is_whole.then(|| Trailing {
            start,
            line,
            code: code.chars().count(),
            own: own.chars().count(),
        })
    })
}

/// Whether a comment belongs into the column of the comments above it.
fn joins(section: &[Trailing], comment: &Trailing) -> bool {
    let Some(last) = section.last() else { return true };
    let all = || section.iter().chain([comment]);
    let code = || all().map(|each| each.code);
    let (Some(least), Some(most)) = (code().min(), code().max()) else { return true };
    let fits = all().all(|each| most + 1 + each.own <= WIDTH);
    last.line + 1 == comment.line && most - least <= WIDEST_DIFFERENCE && fits
}

/// Notes the blanks that the comments of a section need.
fn end_section(section: &mut Vec<Trailing>, blanks: &mut Vec<(usize, usize)>) {
    let most = section.iter().map(|comment| comment.code).max().unwrap_or(0);
    blanks.extend(section.drain(..).map(|comment| (comment.start, most - comment.code)));
}

/// Inserts blanks at places, which are in order, and moves the tokens behind them.
fn insert(written: &mut Written, blanks: &[(usize, usize)]) {
    let mut text = String::with_capacity(written.text.len() + written.text.len() / 16);
    let (mut done, mut next, mut moved) = (0, 0, 0);
    for &(place, count) in blanks {
        text.push_str(&written.text[done..place]);
        text.extend(std::iter::repeat_n(' ', count));
        done = place;
        while let Some(token) =
            written.places.get_mut(next).filter(|it| (it.start as usize) < place)
        {
            token.start += moved;
            token.end += moved;
            next += 1;
        }
        moved += count as u32;
    }
    text.push_str(&written.text[done..]);
    for token in &mut written.places[next..] {
        token.start += moved;
        token.end += moved;
    }
    written.text = text;
}
