//! The layout: writes the tokens with the line ends and blanks that belong between them. `mod.rs` calls it with the
//! marks and the pieces of a text.
//!
//! Each pair of brackets is a level. Its contents stand on one line if the program's author had them on one line, and
//! if they fit into [`WIDTH`]; otherwise each item, such as a statement, begins a line. All decisions depend on the
//! tokens, on the column, and on line ends that the output has, too: so a second run decides alike.

use std::collections::HashMap;

use super::columns::line_up_comments;
use super::marks::{Bracket, Break, Declaration, KeywordMessage, Marks, Role};
use super::pieces::Pieces;
use crate::source::{Source, Span};
use crate::token::TokenKind;

/// The number of columns that a line should have at most.
pub const WIDTH: usize = 120;

/// The number of columns by which contents are indented.
const STEP: usize = 2;

/// How much wider than the others a declared name may be to have its sign in their column.
const WIDEST_DIFFERENCE_OF_NAMES: usize = 12;

/// The same of keywords below each other.
const WIDEST_DIFFERENCE_OF_KEYWORDS: usize = 6;

/// The written text.
pub struct Written {
    pub text: String,
    /// Where each token is in it.
    pub places: Vec<Span>,
}

pub fn write(source: &Source, pieces: &Pieces, marks: &Marks) -> Written {
    let mut layout = Layout::new(source, pieces, marks);
    for index in 0..pieces.tokens.len() {
        layout.token(index);
    }
    layout.finish()
}

/// What a bracket contains: where its lines begin.
struct Level {
    bracket: Option<Bracket>,
    /// Whether each item begins a line.
    has_lines: bool,
    /// The indentation of the line with the opening bracket.
    base: usize,
    /// The indentation of items.
    item: usize,
    /// The indentation of lines that continue an item.
    continued: usize,
    /// In how many arguments the level is.
    depth: u32,
    /// Whether nothing was written in it yet.
    is_new: bool,
}

struct Layout<'a> {
    source: &'a Source,
    pieces: &'a Pieces,
    marks: &'a Marks,
    /// Whether a line begins before a token if the token may begin one.
    lines: Vec<bool>,
    /// The number of lines that begin before a token or at it, whatever its level.
    line_counts: Vec<usize>,
    /// The width of all tokens up to this one on one line.
    widths: Vec<usize>,
    /// Blanks before a token that put it into a column.
    pads: HashMap<usize, usize>,
    levels: Vec<Level>,
    /// The indentation of the statement's or declaration's line that is written.
    line_indentation: usize,
    column: usize,
    /// Where the line begins in the text.
    line_start: usize,
    text: String,
    places: Vec<Span>,
    /// Where the comments begin that are behind other things on their lines.
    trailing: Vec<usize>,
}

impl<'a> Layout<'a> {
    fn new(source: &'a Source, pieces: &'a Pieces, marks: &'a Marks) -> Layout<'a> {
        let outermost = Level {
            bracket: None,
            has_lines: true,
            base: 0,
            item: 0,
            continued: STEP,
            depth: 0,
            is_new: true,
        };
        let mut layout = Layout {
            source,
            pieces,
            marks,
            lines: Vec::new(),
            line_counts: Vec::new(),
            widths: Vec::new(),
            pads: HashMap::new(),
            levels: vec![outermost],
            line_indentation: 0,
            column: 0,
            line_start: 0,
            text: String::with_capacity(source.text().len() + source.text().len() / 8),
            places: Vec::with_capacity(pieces.tokens.len()),
            trailing: Vec::new(),
        };
        layout.measure();
        layout
    }

    fn finish(mut self) -> Written {
        self.text.truncate(self.text.trim_end().len());
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        let mut written = Written { text: self.text, places: self.places };
        line_up_comments(&mut written, &self.trailing);
        written
    }

    // Before writing

    fn measure(&mut self) {
        self.lines = (0..self.pieces.tokens.len()).map(|index| self.has_line(index)).collect();
        self.move_lines();
        let (mut count, mut width) = (0, 0);
        for index in 0..self.pieces.tokens.len() {
            count += usize::from(self.counts_as_line(index));
            self.line_counts.push(count);
            width += usize::from(self.is_apart(index)) + self.width_of(index);
            self.widths.push(width);
        }
    }

    fn has_line(&self, index: usize) -> bool {
        let gap = &self.pieces.gaps[index];
        gap.lines > 0 || gap.comments.iter().any(|comment| comment.lines > 0)
    }

    /// A line begins with an operator, not behind it, and behind a semicolon, not with it.
    fn move_lines(&mut self) {
        for index in 1..self.lines.len() {
            let has_comments = |index: usize| !self.pieces.gaps[index].comments.is_empty();
            let is_operator = self.pieces.tokens[index - 1].kind.is_operator()
                && self.marks.breaks[index - 1] == Break::Kept;
            if is_operator && self.lines[index] && !has_comments(index) && !has_comments(index - 1)
            {
                self.lines[index - 1] = true;
                self.lines[index] = false;
            }
            let is_semicolon = self.pieces.tokens[index - 1].kind == TokenKind::Semicolon;
            if is_semicolon && self.lines[index - 1] && !has_comments(index - 1) {
                self.lines[index] = true;
                self.lines[index - 1] = false;
            }
        }
    }

    /// Whether the output has a line end here if the brackets around it have several lines.
    fn counts_as_line(&self, index: usize) -> bool {
        let gap = &self.pieces.gaps[index];
        let has_line_in_comment =
            gap.comments.iter().any(|comment| self.source.slice(comment.span).contains('\n'));
        if has_line_in_comment || gap.comments.iter().any(|comment| comment.lines > 0) {
            return index > 0;
        }
        let may_begin_line = match self.marks.roles[index] {
            Role::Closes(Bracket::Header | Bracket::Members | Bracket::Body) => {
                !self.is_empty_bracket(index)
            }
            Role::Closes(_) => false,
            _ => self.marks.breaks[index] != Break::Never,
        };
        may_begin_line && self.lines[index]
    }

    /// Whether a closing bracket directly follows its opening one.
    fn is_empty_bracket(&self, closing: usize) -> bool {
        let is_opening = |role| matches!(role, Role::Opens(_));
        closing > 0
            && is_opening(self.marks.roles[closing - 1])
            && self.marks.partners[closing - 1] == closing
            && self.pieces.gaps[closing].comments.is_empty()
    }

    fn width_of(&self, index: usize) -> usize {
        let width = |span: Span| self.source.slice(span).chars().count();
        let comments = self.pieces.gaps[index].comments.iter();
        width(self.pieces.tokens[index].span)
            + comments.map(|comment| width(comment.span) + 1).sum::<usize>()
    }

    /// The width of a run of tokens on one line, without the blank before it.
    fn width(&self, first: usize, last: usize) -> usize {
        self.widths[last] - self.widths[first] + self.width_of(first)
    }

    /// The width of the tokens that can only follow another one on its line.
    fn width_behind(&self, index: usize) -> usize {
        let follows = |index: &usize| {
            let kind = self.pieces.tokens[*index].kind;
            let is_sign = matches!(kind, TokenKind::Period | TokenKind::Semicolon);
            let ends_lines = matches!(
                self.marks.roles[*index],
                Role::Closes(Bracket::Header | Bracket::Members | Bracket::Body)
            );
            (kind.is_closer() && !ends_lines || is_sign)
                && self.pieces.gaps[*index].comments.is_empty()
        };
        let last = (index + 1..self.pieces.tokens.len()).take_while(follows).last();
        last.map_or(0, |last| self.widths[last] - self.widths[index])
    }

    // Blanks

    fn text_of(&self, index: usize) -> &'a str {
        self.source.slice(self.pieces.tokens[index].span)
    }

    /// Whether there is a blank before a token on its line.
    fn is_apart(&self, index: usize) -> bool {
        let Some(before) = index.checked_sub(1) else { return false };
        if self.pieces.is_type[index] {
            return self.pieces.gaps[index].is_wide
                || !self.pieces.is_type[before] && {
                    self.pieces.tokens[before].kind != TokenKind::Caret
                };
        }
        if !self.pieces.gaps[index].comments.is_empty() {
            return self.is_apart_from_comment(index);
        }
        let (role_before, role) = (self.marks.roles[before], self.marks.roles[index]);
        let is_fence = |bracket| matches!(bracket, Bracket::Slots | Bracket::Locals);
        match (role_before, role) {
            (Role::Opens(bracket), Role::Closes(_)) if !is_fence(bracket) => false,
            (Role::Opens(Bracket::Parentheses), _) => false,
            // A symbol such as `#*` and a parenthesis would be another token.
            (_, Role::Closes(Bracket::Parentheses)) => self.text_of(before).ends_with('*'),
            (Role::Opens(Bracket::Header), Role::Opens(Bracket::Slots)) => false,
            (Role::Closes(Bracket::Slots), Role::Closes(Bracket::Header)) => false,
            (Role::Closes(Bracket::Header), Role::Opens(Bracket::Members)) => false,
            (Role::Opens(Bracket::Block), Role::ParameterColon) => false,
            (Role::ParameterColon, _) => false,
            _ => !self.ends_what_is_before(index),
        }
    }

    /// Whether a token stands against the one before it as in English: a period, a semicolon, and the message `,`.
    fn ends_what_is_before(&self, index: usize) -> bool {
        match self.pieces.tokens[index].kind {
            TokenKind::Period | TokenKind::Semicolon => true,
            TokenKind::Operator => {
                self.marks.breaks[index] == Break::Kept && self.text_of(index) == ","
            }
            _ => false,
        }
    }

    fn is_apart_from_comment(&self, index: usize) -> bool {
        !matches!(self.pieces.tokens[index].kind, TokenKind::Period | TokenKind::Semicolon)
            && self.marks.roles[index] != Role::Closes(Bracket::Parentheses)
    }

    // Tokens

    fn level(&self) -> &Level {
        self.levels.last().expect("the outermost level stays")
    }

    fn token(&mut self, index: usize) {
        if let Some(message) = self.marks.messages.get(&index) {
            self.arrange(message);
        }
        let begins_line = self.begins_line(index);
        let has_line = self.comments(index, begins_line);
        match begins_line {
            true if !has_line => {
                let blank = self.may_be_apart(index) && self.pieces.gaps[index].lines > 1;
                self.new_line(self.indentation(index), blank);
            }
            _ if self.at_line_start() => {}
            _ => self.blanks(index),
        }
        if let Role::Closes(_) = self.marks.roles[index] {
            self.close();
        }
        let start = self.text.len();
        let opens = match self.marks.roles[index] {
            Role::Opens(bracket) => Some(self.opened(index, bracket)),
            _ => None,
        };
        self.append(self.text_of(index));
        self.places.push(Span::from(start..self.text.len()));
        if let Some(level) = self.levels.last_mut() {
            level.is_new = false;
        }
        if let Some(level) = opens {
            self.open(level);
        }
    }

    fn blanks(&mut self, index: usize) {
        let pad = match self.pieces.gaps[index].comments.is_empty() {
            true => self.pads.get(&index).copied().unwrap_or(0),
            false => 0,
        };
        let blanks = usize::from(self.is_apart(index)) + pad;
        self.text.extend(std::iter::repeat_n(' ', blanks));
        self.column += blanks;
    }

    /// Whether the output begins a line with this token, or with a comment before it.
    fn begins_line(&self, index: usize) -> bool {
        let level = self.level();
        if index == 0 {
            return false;
        }
        match (self.marks.breaks[index], self.marks.roles[index]) {
            (_, Role::Closes(Bracket::Header | Bracket::Members | Bracket::Body)) => {
                level.has_lines
            }
            (_, Role::Closes(_)) => false,
            (Break::Never, _) => false,
            (Break::Kept, _) => self.lines[index],
            (Break::Item, _) => level.has_lines && !(level.is_new && self.follows_bar()),
        }
    }

    /// Whether the level is one between bars, whose first item is on the line of the bar.
    fn follows_bar(&self) -> bool {
        matches!(self.level().bracket, Some(Bracket::Slots | Bracket::Locals))
    }

    /// The indentation of a line that begins with this token.
    fn indentation(&self, index: usize) -> usize {
        let level = self.level();
        match (self.marks.breaks[index], self.marks.roles[index]) {
            (_, Role::Closes(_)) => level.base,
            (_, Role::Opens(Bracket::Slots)) => level.base,
            (Break::Item, _) => level.item,
            _ => {
                let depth = self.marks.depths[index].saturating_sub(level.depth);
                level.continued + STEP * depth as usize
            }
        }
    }

    /// The indentation of a line with a comment before this token.
    fn indentation_of_comment(&self, index: usize) -> usize {
        match self.marks.roles[index] {
            Role::Closes(_) | Role::Opens(Bracket::Slots) => self.level().item,
            _ => self.indentation(index),
        }
    }

    /// Whether a blank line may be before this token.
    fn may_be_apart(&self, index: usize) -> bool {
        let level = self.level();
        let is_closed = matches!(self.marks.roles[index], Role::Closes(_));
        self.marks.breaks[index] == Break::Item
            && !is_closed
            && (!level.is_new || level.bracket == Some(Bracket::Members))
    }

    /// Writes the comments before a token. Answers whether a line begins for the token already.
    fn comments(&mut self, index: usize, begins_line: bool) -> bool {
        let pieces = self.pieces;
        let gap = &pieces.gaps[index];
        if gap.comments.is_empty() {
            return false;
        }
        let is_item = self.marks.breaks[index] == Break::Item
            || matches!(self.marks.roles[index], Role::Closes(_)) && self.level().has_lines;
        let indentation = self.indentation_of_comment(index);
        let mut has_line = false;
        for (number, comment) in gap.comments.iter().enumerate() {
            let is_first = index == 0 && number == 0;
            if comment.lines > 0 && !is_first {
                let may_be_apart = number > 0 || self.may_be_apart(index) || self.ends_items(index);
                self.new_line(indentation, is_item && may_be_apart && comment.lines > 1);
                has_line = true;
            } else if !self.at_line_start() && !self.text.is_empty() {
                self.append(" ");
                self.trailing.push(self.text.len());
            }
            self.comment(comment.span);
        }
        let is_on_line_of_bar = self.marks.breaks[index] == Break::Item && self.level().has_lines;
        if gap.lines > 0 && (has_line || index == 0 || begins_line || is_on_line_of_bar) {
            let blank =
                is_item && gap.lines > 1 && !matches!(self.marks.roles[index], Role::Closes(_));
            self.new_line(self.indentation(index), blank);
            return true;
        }
        has_line
    }

    /// Whether the token closes a level with items.
    fn ends_items(&self, index: usize) -> bool {
        matches!(self.marks.roles[index], Role::Closes(_)) && !self.level().is_new
    }

    /// A comment, moved as a whole to the current column.
    fn comment(&mut self, span: Span) {
        let line = self.source.line_span(self.source.line(span.start));
        let before = &self.source.text()[line.start as usize..span.start as usize];
        let (old, new) = (before.chars().count(), self.column);
        let mut lines = self.source.slice(span).split('\n');
        let first = lines.next().unwrap_or_default().trim_end();
        self.append(first);
        for line in lines {
            let line = line.trim_end();
            let text = line.trim_start();
            let indentation = line.chars().count() - text.chars().count();
            let indentation = (indentation + new).saturating_sub(old);
            self.text.push('\n');
            self.column = 0;
            self.line_start = self.text.len();
            if !text.is_empty() {
                self.indent(indentation);
                self.append(text);
            }
        }
    }

    // Output

    fn at_line_start(&self) -> bool {
        self.text[self.line_start..].trim_start().is_empty()
    }

    fn new_line(&mut self, indentation: usize, has_blank_before: bool) {
        self.text.truncate(self.text.trim_end_matches(' ').len());
        if !self.text.is_empty() && !self.text.ends_with('\n') {
            self.text.push('\n');
        }
        if has_blank_before && !self.text.is_empty() {
            self.text.push('\n');
        }
        self.column = 0;
        self.line_start = self.text.len();
        self.indent(indentation);
        self.line_indentation = indentation;
    }

    fn indent(&mut self, indentation: usize) {
        self.text.extend(std::iter::repeat_n(' ', indentation));
        self.column += indentation;
    }

    fn append(&mut self, text: &str) {
        self.text.push_str(text);
        match text.rfind('\n') {
            Some(end) => {
                self.column = text[end + 1..].chars().count();
                self.line_start = self.text.len() - (text.len() - end - 1);
            }
            None => self.column += text.chars().count(),
        }
    }

    // Levels

    /// The level that an opening bracket begins, at the current column.
    fn opened(&mut self, opening: usize, bracket: Bracket) -> Level {
        let closing = self.marks.partners[opening];
        let has_lines = self.has_lines(opening, closing, bracket);
        let is_fence = matches!(bracket, Bracket::Slots | Bracket::Locals);
        let base = match bracket {
            _ if is_fence => self.column,
            // The head of a declaration may have several lines.
            _ if self.marks.is_declared[opening] => self.level().item,
            _ => self.line_indentation,
        };
        let item = base + STEP;
        let continued = match bracket {
            Bracket::Parentheses | Bracket::Array => item,
            _ => item + STEP,
        };
        if is_fence && has_lines {
            self.line_up(opening);
        }
        let depth = self.marks.depths[opening];
        Level { bracket: Some(bracket), has_lines, base, item, continued, depth, is_new: true }
    }

    fn has_lines(&self, opening: usize, closing: usize, bracket: Bracket) -> bool {
        let may_have_lines = !matches!(bracket, Bracket::Parentheses | Bracket::Array);
        let is_empty = self.is_empty_bracket(closing);
        let has_line = self.line_counts[closing] > self.line_counts[opening];
        let width = self.width(opening, closing) + self.width_behind(closing);
        // The blanks of comments are in the width of the token behind them.
        let own = self.width_of(opening) - self.text_of(opening).chars().count();
        may_have_lines && !is_empty && (has_line || self.column + width - own > WIDTH)
    }

    fn open(&mut self, level: Level) {
        if level.has_lines && matches!(level.bracket, Some(Bracket::Slots | Bracket::Locals)) {
            self.line_indentation = level.item;
        }
        self.levels.push(level);
    }

    fn close(&mut self) {
        if self.levels.len() > 1
            && let Some(level) = self.levels.pop()
        {
            self.line_indentation = level.base;
        }
    }

    // Columns

    /// Puts the signs of declarations below each other.
    fn line_up(&mut self, fence: usize) {
        let marks = self.marks;
        let Some(declarations) = marks.declarations.get(&fence) else { return };
        let mut section: Vec<(usize, usize)> = Vec::new();
        for declaration in declarations {
            let Some((sign, width)) = self.name_of(declaration) else {
                self.end_section(&mut section);
                continue;
            };
            let kind = self.pieces.tokens[sign].kind;
            let is_other = |&(first, _): &(usize, usize)| self.pieces.tokens[first].kind != kind;
            let widths = section.iter().map(|(_, width)| *width).chain([width]);
            let (least, most) = widths.fold((width, width), |(l, m), w| (l.min(w), m.max(w)));
            if self.is_section_start(declaration)
                || section.first().is_some_and(is_other)
                || most - least > WIDEST_DIFFERENCE_OF_NAMES
            {
                self.end_section(&mut section);
            }
            section.push((sign, width));
        }
        self.end_section(&mut section);
    }

    /// The sign of a declaration and the width of the text before it.
    fn name_of(&self, declaration: &Declaration) -> Option<(usize, usize)> {
        let sign = declaration.sign?;
        let is_one_line = self.line_counts[sign] == self.line_counts[declaration.start];
        let width = self.width(declaration.start, sign - 1);
        let own_comments =
            self.width_of(declaration.start) - self.text_of(declaration.start).chars().count();
        is_one_line.then_some((sign, width - own_comments))
    }

    /// Whether a blank line or a comment is before a declaration.
    fn is_section_start(&self, declaration: &Declaration) -> bool {
        let gap = &self.pieces.gaps[declaration.start];
        gap.lines > 1 || gap.comments.iter().any(|comment| comment.lines > 0)
    }

    fn end_section(&mut self, section: &mut Vec<(usize, usize)>) {
        let most = section.iter().map(|(_, width)| *width).max().unwrap_or(0);
        for (sign, width) in section.drain(..) {
            self.pads.insert(sign, most - width);
        }
    }

    // Messages

    /// Decides where lines begin in a message with keywords, and puts arguments below each other.
    fn arrange(&mut self, message: &KeywordMessage) {
        let begins = |layout: &Self, number: usize| {
            let start = message.starts[number];
            layout.marks.breaks[start] != Break::Never && layout.lines[start]
        };
        let count = message.starts.len();
        let has_lines = (0..count).any(|number| begins(self, number));
        if !has_lines && count > 1 && self.is_too_wide(message) {
            for &start in &message.starts {
                self.lines[start] = self.marks.breaks[start] == Break::Kept;
            }
        }
        let stands_alone = |layout: &Self, number: usize| {
            let is_last = number + 1 == count;
            let argument = message.keywords[number] + 1;
            begins(layout, number)
                && layout.marks.breaks[message.starts[number]] == Break::Kept
                && (is_last || begins(layout, number + 1))
                && !layout.lines[argument]
        };
        let alone: Vec<usize> = (0..count).filter(|&number| stands_alone(self, number)).collect();
        let width = |number: &usize| self.width(message.starts[*number], message.keywords[*number]);
        let widths: Vec<usize> = alone.iter().map(width).collect();
        let (least, most) = (widths.iter().min(), widths.iter().max());
        let (Some(&least), Some(&most)) = (least, most) else { return };
        if most - least <= WIDEST_DIFFERENCE_OF_KEYWORDS {
            for (number, width) in alone.into_iter().zip(widths) {
                self.pads.insert(message.keywords[number] + 1, most - width);
            }
        }
    }

    /// Whether the message does not fit on the current line, and lines that begin with its keywords help.
    fn is_too_wide(&self, message: &KeywordMessage) -> bool {
        let first = message.starts[0];
        let before = self.line_counts[first];
        let is_on_line = |index: &usize| self.line_counts[*index] == before;
        let last = (first..message.end).take_while(is_on_line).last().unwrap_or(first);
        let behind = if last + 1 == message.end { self.width_behind(last) } else { 0 };
        let width = self.widths[last] - self.widths[first - 1] + behind;
        // One block at the end can have lines of its own.
        let argument = message.keywords[message.keywords.len() - 1] + 1;
        let width_before_block = self.widths[argument.min(last)] - self.widths[first - 1];
        let helps = message.blocks > 1
            || !message.ends_with_block
            || self.column + width_before_block > WIDTH;
        helps && self.column + width > WIDTH
    }
}
