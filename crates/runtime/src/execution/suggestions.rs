//! Suggestions: the message that a misspelt one may have meant, as a line before the trace of an exception.
//! [`super::stack_traces`] asks for it.
//!
//! The first of these cases that applies gives the suggestion:
//!
//! 1. there is a member of this name, but it is private or protected;
//! 2. the message assigns a slot that is immutable;
//! 3. the message is the one to a loop's condition that is no Boolean;
//! 4. a member of the receiver, or of the objects around it, has nearly this name.
//!
//! Of an object that is not a value, the exception itself knows the reason.
//!
//! All facts are in the receiver's class, which never changes, so exceptions of other vats may be explained as well.

use squall_bytecode::module::Visibility;
use squall_heap::Word;
use strsim::levenshtein;

use crate::model::behavior::{Behavior, Member, MemberKind};
use crate::model::known;
use crate::model::module::Definition;
use crate::model::symbols::Symbol;
use crate::objects::string::Text;
use crate::state::vm::Vm;

/// The kernel's class of exceptions for messages that were not understood.
const CLASS: &str = "MessageNotUnderstood";

/// The kernel's class of exceptions for objects that should be values.
const NO_VALUE: &str = "NotAValue";

/// The kernel's class of exceptions with a text of the program.
const ERROR: &str = "Error";

/// The kernel's class of all exceptions, which may have a text of the program as well.
const EXCEPTION: &str = "Exception";

/// The message to the condition of a loop that is neither true nor false.
const MUST_BE_BOOLEAN: &str = "mustBeBoolean";

/// Selectors that are longer are not compared with others.
const LONGEST: usize = 64;

/// So many characters of an exception's text are in its description, which others may make than made the text.
pub const LONGEST_TEXT: usize = 10_000;

/// The line for an exception, if it is such a one and there is something to say.
pub fn hint(vm: &Vm, exception: Word) -> Option<String> {
    let object = exception.as_object()?;
    let behavior = vm.behavior_of_layout(object.layout())?;
    let classes = behavior.chain().map(|behavior| behavior.definition);
    let mut classes = classes.filter(|class| is_librarys(class)).map(|class| class.name_text());
    let slot = |name| behavior.slot_of_name(vm.symbol(name));
    if classes.find(|name| [CLASS, NO_VALUE].contains(name))? == NO_VALUE {
        let reason = Text::of(object.slot(slot("reason")?))?.shortened(LONGEST_TEXT);
        return Some(format!("  hint: {reason}\n"));
    }
    let receiver = vm.behavior_of_layout(known::layout_of(object.slot(slot("receiver")?)))?;
    let selector =
        Text::of(object.slot(slot("selector")?)).filter(|it| it.len() <= LONGEST)?.to_rust();
    let said = unreachable_member(vm, receiver, &selector)
        .or_else(|| immutable_slot(vm, receiver, &selector))
        .or_else(|| no_condition(&selector))
        .or_else(|| similar_member(vm, receiver, &selector))?;
    Some(format!("  hint: {said}\n"))
}

/// The description of an exception of any vat, if the library's classes determine it: the message that was not
/// understood and the receiver's class, or the program's text.
pub fn description(vm: &Vm, exception: Word) -> Option<String> {
    let object = exception.as_object()?;
    let behavior = vm.behavior_of_layout(object.layout())?;
    let kind = behavior.chain().map(|behavior| behavior.definition);
    let kind = kind.filter(|class| is_librarys(class)).map(|class| class.name_text());
    let kind = kind.into_iter().find(|name| [CLASS, ERROR, EXCEPTION].contains(name))?;
    let slot = |name| {
        let index = behavior.slot_of_name(vm.symbol(name))?;
        Some(object.slot(index))
    };
    let name = behavior.name();
    if kind != CLASS {
        let text = if kind == ERROR { "message" } else { "signalText" };
        return Some(format!("{name}: {}", Text::of(slot(text)?)?.shortened(LONGEST_TEXT)));
    }
    let receiver = vm.behavior_of_layout(known::layout_of(slot("receiver")?))?;
    let selector = Text::of(slot("selector")?)?.shortened(LONGEST_TEXT);
    Some(format!("{name}({}>>#{selector})", receiver.name()))
}

fn is_librarys(definition: &Definition) -> bool {
    definition.module.bytecode.is_image()
}

/// The first member of this name in a class and its superclasses, and the class that has it.
fn member_of(
    class: &'static Behavior,
    name: Symbol,
) -> Option<(&'static Behavior, &'static Member)> {
    class.chain().find_map(|owner| owner.member(name).map(|member| (owner, member)))
}

fn unreachable_member(vm: &Vm, receiver: &'static Behavior, selector: &str) -> Option<String> {
    let selector = vm.modules.symbols.find(selector)?;
    let (owner, member) = member_of(receiver, selector)?;
    let (text, class) = (vm.modules.symbols.text(selector), owner.full_name());
    match member.visibility {
        Visibility::Private => Some(format!("#{text} of {class} is private")),
        Visibility::Protected => Some(format!(
            "#{text} of {class} is protected; with `public` in front of it, others could send it"
        )),
        Visibility::Public => None,
    }
}

fn immutable_slot(vm: &Vm, receiver: &'static Behavior, selector: &str) -> Option<String> {
    let name = selector.strip_suffix(':')?;
    let (owner, member) = member_of(receiver, vm.modules.symbols.find(name)?)?;
    let is_slot = matches!(member.kind, MemberKind::SlotReader(_));
    let class = owner.full_name();
    is_slot
        .then(|| format!("the slot `{name}` of {class} is immutable; declare it by `{name} ::= …`"))
}

fn no_condition(selector: &str) -> Option<String> {
    (selector == MUST_BE_BOOLEAN)
        .then(|| "the condition of a loop must be true or false".to_owned())
}

/// The most names that are compared. A guest does not pay for the hint, and its classes may have any number of members.
const MOST: usize = 500;

fn similar_member(vm: &Vm, receiver: &'static Behavior, selector: &str) -> Option<String> {
    let enclosing = || std::iter::successors(receiver.definition.outer, |class| class.outer);
    let members: usize = receiver.chain().map(|behavior| behavior.members.len()).sum();
    let around: usize = enclosing().map(|definition| definition.slots.len()).sum();
    if selector.len() > LONGEST || members + around > MOST {
        return None;
    }
    let own = receiver.chain().flat_map(|behavior| behavior.members.iter());
    // Members that the library hides are of no use to programs.
    let is_meant = |members: &[Member]| {
        let member = members.first();
        member.is_some_and(|it| it.visibility == Visibility::Public || !is_librarys(it.definition))
    };
    let own = own.filter(|(_, members)| is_meant(members)).map(|(&name, _)| name);
    let around = enclosing().flat_map(|definition| definition.slots.iter().map(|slot| slot.name));
    let nearest = |names: &mut dyn Iterator<Item = Symbol>| {
        let near = names.filter_map(|name| {
            let text = vm.modules.symbols.text(name);
            Some((distance(selector, text)?, !is_left_out(selector, text), text))
        });
        near.min()
    };
    let own = nearest(&mut own.into_iter());
    let (.., nearest_name) = own.or_else(|| nearest(&mut around.into_iter()))?;
    Some(format!("there is #{nearest_name}"))
}

/// The distance of a name from the written one; `None` for an unrelated name. Names are related if they begin with the
/// same keyword, differ in few characters, or the longer one has the shorter one in it.
fn distance(written: &str, name: &str) -> Option<usize> {
    const FEW: usize = 2;
    let keyword = |selector: &str| selector.find(':').map(|end| selector[..end].to_owned());
    let begins_alike = || keyword(written).is_some() && keyword(written) == keyword(name);
    let is_near = written.len().abs_diff(name.len()) <= FEW && name.len() <= LONGEST;
    let edits = if is_near { levenshtein(written, name) } else { usize::MAX };
    let few = FEW.min(written.len() / 3);
    let has_letters = written.starts_with(|first: char| first.is_alphabetic());
    match edits {
        edits if has_letters && edits <= few => Some(edits),
        _ => (begins_alike() || is_part(written, name))
            .then_some(FEW + 1 + written.len().abs_diff(name.len())),
    }
}

/// Whether a name has the written one in it, in capitals or not, and takes as many arguments.
fn is_part(written: &str, name: &str) -> bool {
    const SHORTEST: usize = 4;
    let arguments = |selector: &str| selector.matches(':').count();
    written.trim_end_matches(':').len() >= SHORTEST
        && arguments(written) == arguments(name)
        && name.to_lowercase().contains(&written.to_lowercase())
}

/// Whether a selector is another one with letters left out: the most frequent slip, so that `printn` rather means
/// `println` than `print`.
fn is_left_out(written: &str, name: &str) -> bool {
    let mut rest = name.chars();
    written.chars().all(|letter| rest.any(|other| other == letter))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_near_or_not() {
        for (written, name, is_near) in [
            ("prinln", "println", true),
            ("Vectr", "Vector", true),
            ("go:", "go:with:", true),
            ("append:append:", "append:", true),
            ("at:", "at:put:", true),
            ("foo", "for", true),
            ("trim", "trimmed", true),
            ("uppercase", "asUppercase", true),
            ("radix:", "printRadix:", true),
            ("with:", "do:with:", false),
            ("foo", "bar", false),
            ("+", "-", false),
            ("a", "b", false),
            ("factorial", "fraction", false),
        ] {
            assert_eq!(distance(written, name).is_some(), is_near, "{written} {name}");
        }
        assert_eq!(levenshtein("kitten", "sitting"), 3);
    }
}
