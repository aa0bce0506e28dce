//! The meaning of a name that is no variable: a member of a class around the code, found in the classes' texts, or a
//! message to self. `expressions` and `classes` call this module.
//!
//! "Lexical before inherited": the innermost class whose own text declares a member of that name determines the
//! receiver. If there is none, the message goes to self, where the member may be inherited.

use squall_bytecode::entities::Register;
use squall_bytecode::instructions::Opcode;
use squall_bytecode::module::{Access, Side, Site, Visibility};

use super::Lowering;
use crate::ast::Identifier;
use crate::diagnostics::{Code, Diagnostic};

impl Lowering<'_> {
    /// The depth of the class whose text declares a member for a message without receiver, and the members that the
    /// message reaches.
    pub fn implicit_receiver(&mut self, selector: &str) -> (usize, Access) {
        let (mut depth, mut side) = self.place_in_classes();
        let start = depth;
        while let Some(class) = self.classes.get(depth) {
            let members = match side {
                Side::Instance => &class.instance_members,
                Side::Class => &class.class_members,
            };
            if let Some(&visibility) = members.get(selector) {
                return (depth, bound_access(visibility, class.id, side));
            }
            if depth == 0 {
                break;
            }
            side = class.outer_side;
            depth -= 1;
        }
        (start, Access::Lexical)
    }

    /// The access of a message to the object of the class at this depth: for `self foo` and `outer Name foo`.
    pub fn lexical_access(&mut self, depth: usize, selector: &str) -> Access {
        let side = self.side_at(depth);
        let Some(class) = self.classes.get(depth) else { return Access::Lexical };
        let members = match side {
            Side::Instance => &class.instance_members,
            Side::Class => &class.class_members,
        };
        let visibility = members.get(selector).copied().unwrap_or(Visibility::Public);
        bound_access(visibility, class.id, side)
    }

    /// The class and side whose text the current code is.
    pub fn place_in_classes(&mut self) -> (usize, Side) {
        let function = self.function();
        (function.class_depth, function.side)
    }

    /// The side of the class at this depth in which the current code is.
    fn side_at(&mut self, depth: usize) -> Side {
        let (innermost, side) = self.place_in_classes();
        if depth >= innermost { side } else { self.classes[depth + 1].outer_side }
    }

    /// The depth of the class that `outer Name` names.
    pub fn outer_depth(&mut self, name: Identifier) -> Option<usize> {
        let text = &self.ast[name.name];
        let (innermost, _) = self.place_in_classes();
        let found = (0..=innermost)
            .rev()
            .find(|&depth| self.classes.get(depth).is_some_and(|class| class.name == *text));
        if found.is_none() {
            let message = format!("no class around this code is called `{text}`");
            let names: Vec<String> = self.classes.iter().map(|class| class.name.clone()).collect();
            let diagnostic = Diagnostic::error(Code::UnknownOuter, message, name.span)
                .labelled("not an enclosing class")
                .with_hint(format!("the classes around it are {}", names.join(", ")));
            self.reporter.report(diagnostic);
        }
        found
    }

    /// A register with the object of the class at this depth: self, or an enclosing object.
    pub fn enclosing_object(&mut self, depth: usize) -> Register {
        let (mut current, mut side) = self.place_in_classes();
        let mut object = self.self_register();
        while current > depth {
            let class = self.classes[current].id;
            let around = self.function().allocate();
            let site = self.function().builder.site(Site::Enclosing(class, side));
            let operands = [around.into(), object.into(), site.into()];
            self.function().emit(Opcode::Enclosing, &operands);
            side = self.classes[current].outer_side;
            current -= 1;
            object = around;
        }
        object
    }
}

fn bound_access(
    visibility: Visibility,
    class: squall_bytecode::entities::ClassId,
    side: Side,
) -> Access {
    match visibility {
        Visibility::Private => Access::Private(class, side),
        _ => Access::Lexical,
    }
}
