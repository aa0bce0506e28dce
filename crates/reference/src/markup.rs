//! Comments as HTML: Markdown without its parts that could harm a page. [`crate::pages`] calls it.
//!
//! HTML in a comment is shown as text. Pictures are their texts, and so are links that lead neither to the web nor to a
//! mail address: a page never loads anything. Headings are bold paragraphs, because the page has its own. Names of
//! classes and messages are links: in backquotes all that are known, elsewhere names of classes in several words, such
//! as `ParseError`.

use pulldown_cmark::{CowStr, Event, Options, Parser, Tag, TagEnd, html};

use squall_newspeak::comments::markdown;

use crate::links::{Links, Place};

/// A comment of a class or of one of its members.
pub fn comment(text: &str, links: &Links<'_>, from: Place) -> String {
    let mut events = Vec::new();
    // Links do not nest.
    let mut is_in_link = false;
    let text = markdown(text);
    for event in harmless(&text) {
        match &event {
            Event::Start(Tag::Link { .. }) => is_in_link = true,
            Event::End(TagEnd::Link) => is_in_link = false,
            _ => {}
        }
        match event {
            Event::Code(code) if !is_in_link => push_code(&mut events, code, links, from),
            Event::Text(text) if !is_in_link => push_text(&mut events, &text, links, from),
            event => events.push(event),
        }
    }
    let mut page = String::new();
    html::push_html(&mut page, events.into_iter());
    page
}

/// The first sentence of a comment, without markup.
pub fn sentence(text: &str) -> String {
    let mut plain = String::new();
    for event in harmless(text) {
        match event {
            Event::End(_) if !plain.is_empty() => break,
            Event::Text(text) | Event::Code(text) => plain.push_str(&text),
            Event::SoftBreak | Event::HardBreak => plain.push(' '),
            _ => {}
        }
    }
    match plain.split_once(". ") {
        Some((first, _)) => format!("{first}."),
        None => plain,
    }
}

/// The parts of a comment, without those that could harm a page.
fn harmless(text: &str) -> impl Iterator<Item = Event<'_>> {
    let mut kept = Vec::new();
    let (start, end) = (|tag| Event::Start(tag), |tag| Event::End(tag));
    let parser = Parser::new_ext(text, Options::ENABLE_TABLES);
    parser.flat_map(move |event| match event {
        Event::Html(text) | Event::InlineHtml(text) => vec![Event::Text(text)],
        Event::Start(Tag::HtmlBlock) => vec![start(Tag::Paragraph)],
        Event::End(TagEnd::HtmlBlock) => vec![end(TagEnd::Paragraph)],
        Event::Start(Tag::Heading { .. }) => vec![start(Tag::Paragraph), start(Tag::Strong)],
        Event::End(TagEnd::Heading(_)) => vec![end(TagEnd::Strong), end(TagEnd::Paragraph)],
        Event::Start(Tag::Image { .. }) | Event::End(TagEnd::Image) => Vec::new(),
        Event::Start(Tag::Link { ref dest_url, .. }) => {
            let is_kept = is_harmless(dest_url);
            kept.push(is_kept);
            if is_kept { vec![event] } else { Vec::new() }
        }
        Event::End(TagEnd::Link) if kept.pop() != Some(true) => Vec::new(),
        event => vec![event],
    })
}

fn is_harmless(address: &str) -> bool {
    ["https://", "http://", "mailto:"].iter().any(|scheme| address.starts_with(scheme))
}

/// Adds code, as a link if it is the name of a class or message.
fn push_code<'e>(events: &mut Vec<Event<'e>>, code: CowStr<'e>, links: &Links<'_>, from: Place) {
    let selector = code.trim_start_matches('#');
    let class = links.named(from, &code).map(|place| links.to_class(place));
    match class.or_else(|| links.message(from, selector)) {
        Some(address) => push_link(events, address, Event::Code(code)),
        None => events.push(Event::Code(code)),
    }
}

/// Adds text, in which names of classes are links.
fn push_text<'e>(events: &mut Vec<Event<'e>>, text: &str, links: &Links<'_>, from: Place) {
    let mut rest = String::new();
    for word in text.split_inclusive(|letter: char| !letter.is_alphanumeric()) {
        let name = word.trim_end_matches(|letter: char| !letter.is_alphanumeric());
        let class = Some(name).filter(|name| has_several_words(name));
        match class.and_then(|name| links.named(from, name)) {
            Some(class) => {
                events.push(Event::Text(std::mem::take(&mut rest).into()));
                push_link(events, links.to_class(class), Event::Text(name.to_owned().into()));
                rest.push_str(&word[name.len()..]);
            }
            None => rest.push_str(word),
        }
    }
    events.push(Event::Text(rest.into()));
}

fn push_link<'e>(events: &mut Vec<Event<'e>>, address: String, content: Event<'e>) {
    let link = Tag::Link {
        link_type: pulldown_cmark::LinkType::Inline,
        dest_url: address.into(),
        title: "".into(),
        id: "".into(),
    };
    events.extend([Event::Start(link), content, Event::End(TagEnd::Link)]);
}

/// Whether a name is like `ParseError`: no English word begins so.
fn has_several_words(name: &str) -> bool {
    name.starts_with(|letter: char| letter.is_ascii_uppercase())
        && name.chars().skip(1).any(|letter| letter.is_ascii_uppercase())
        && name.chars().any(|letter| letter.is_ascii_lowercase())
}
