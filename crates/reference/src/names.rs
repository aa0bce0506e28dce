//! The list of names that the search on the pages looks through, as a script: a page of a file system may load a script,
//! but no data. [`crate::reference`] calls it.

use serde_json::json;

use crate::links::Links;
use crate::markup::sentence;
use crate::model::{Kind, Member};

/// The script: a call with an array of `[name, kind, place, address, sentence]`.
pub fn script(links: &Links<'_>) -> String {
    let mut lines = Vec::new();
    for (number, module) in links.modules.iter().enumerate() {
        if module.classes.is_empty() {
            let entry = json!([module.name, "module", "", links.page(number), ""]);
            lines.push(entry.to_string());
        }
    }
    for place in links.places() {
        let class = links.class(place);
        let is_module = class.depth() == 0;
        let kind = if is_module { "module" } else { "class" };
        let around = class.path.rsplit_once('.').map_or("", |(around, _)| around);
        let said = class.comment.as_deref().map(sentence).unwrap_or_default();
        lines.push(json!([class.name(), kind, around, links.to_class(place), said]).to_string());
        if class.factory != "new" {
            let entry = json!([class.factory, "factory", class.path, links.to_class(place), said]);
            lines.push(entry.to_string());
        }
        for member in &class.members {
            let said = member.comment.as_deref().map(sentence).unwrap_or_default();
            let address = links.to_member(place, member);
            for name in names(member) {
                let entry = json!([name, kind_name(member.kind), class.path, address, said]);
                lines.push(entry.to_string());
            }
        }
    }
    format!("squallNames([\n{}\n]);\n", lines.join(",\n"))
}

fn names(member: &Member) -> Vec<String> {
    match member.kind {
        Kind::Slot { is_mutable: true } => {
            vec![member.selector.clone(), format!("{}:", member.selector)]
        }
        _ => vec![member.selector.clone()],
    }
}

fn kind_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Slot { .. } => "slot",
        Kind::ClassMessage => "class message",
        Kind::Message => "message",
    }
}
