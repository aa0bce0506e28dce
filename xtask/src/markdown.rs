//! Links in Markdown. The site and the rules of the sources call this module.

use std::ops::Range;
use std::path::{Component, Path, PathBuf};

use pulldown_cmark::{Event, LinkType, Options, Parser, Tag};

/// A link: `[text](address)`, or another form that Markdown has; or a picture.
pub struct Link {
    /// Where it is in the text, in bytes.
    pub range: Range<usize>,
    /// Where it leads.
    pub address: String,
    /// Whether the address is in the link, and not elsewhere in the text.
    pub is_inline: bool,
    /// Whether it is a picture.
    pub is_picture: bool,
}

impl Link {
    /// The path, from the project's folder, that the link of a file leads to; none if it leads to the web, or stays in
    /// the file.
    pub fn target(&self, from: &Path) -> Option<PathBuf> {
        let path = self.address.split('#').next().filter(|path| !path.is_empty())?;
        let has_scheme = path.split('/').next().is_some_and(|begin| begin.contains(':'));
        (!has_scheme).then(|| normal(&from.parent().unwrap_or(Path::new("")).join(path)))
    }
}

/// The links and pictures of a text.
pub fn links(text: &str) -> Vec<Link> {
    let events = Parser::new_ext(text, Options::ENABLE_TABLES).into_offset_iter();
    events
        .filter_map(|(event, range)| {
            let Event::Start(tag) = event else { return None };
            let is_picture = matches!(tag, Tag::Image { .. });
            let (Tag::Link { link_type, dest_url, .. } | Tag::Image { link_type, dest_url, .. }) =
                tag
            else {
                return None;
            };
            let is_inline = link_type == LinkType::Inline;
            Some(Link { range, address: dest_url.into_string(), is_inline, is_picture })
        })
        .collect()
}

/// A path without `.` and `..`.
pub fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => {
                normal.pop();
            }
            Component::CurDir => {}
            other => normal.push(other),
        }
    }
    normal
}
