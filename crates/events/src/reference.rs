//! The table as a part of the documentation. `docs/internals/events.md` has it between two marks; the test here fails if
//! that is out of date, and rewrites it with `BLESS=1`.

use crate::table::{Entity, Field, Kind};

/// The table in Markdown: a heading for each entity, and a row for each event.
pub fn text() -> String {
    let mut text = String::new();
    for &entity in Entity::ALL {
        let about = entity.about().trim();
        text +=
            &format!("### {}\n\n{about}\n\n| event | fields | |\n|---|---|---|\n", entity.name());
        for kind in Kind::ALL.iter().filter(|kind| kind.entity() == entity) {
            let fields: Vec<String> = kind
                .fields()
                .iter()
                .map(|(name, field)| format!("{name}: {}", word(*field)))
                .collect();
            text += &format!(
                "| {} | {} | {} |\n",
                kind.name(),
                fields.join(", "),
                kind.sentence().trim()
            );
        }
        text.push('\n');
    }
    text
}

fn word(field: Field) -> String {
    format!("{field:?}").to_lowercase()
}

#[cfg(test)]
mod tests {
    const PATH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/internals/events.md");
    const BEGIN: &str = "<!-- table: begin -->\n\n";
    const END: &str = "<!-- table: end -->\n";

    #[test]
    fn the_page_is_up_to_date() {
        let page = std::fs::read_to_string(PATH).expect("the page");
        let (before, rest) = page.split_once(BEGIN).expect("the first mark");
        let (_, after) = rest.split_once(END).expect("the second mark");
        let wanted = format!("{before}{BEGIN}{}{END}{after}", super::text());
        if std::env::var_os("BLESS").is_some() {
            return std::fs::write(PATH, wanted).expect("the page");
        }
        assert!(
            page == wanted,
            "docs/internals/events.md is out of date: set BLESS=1 to rewrite it"
        );
    }
}
