//! Makes the source of a module of a typed text. [`crate::session`] calls this for each input.
//!
//! An input is either class declarations or the body of a block: locals, statements, a last
//! expression. It becomes
//!
//! ```text
//! class Input in: workspace = (| private workspace = workspace. |) (
//!     public evaluate = ( ^ [ 3 + x ] value )
//!     x = ( ^ workspace at: #x )
//! )
//! ```
//!
//! with an accessor for every name in the text that the workspace knows. Classes that mention no variable are in a module
//! without the workspace, which has the platform's modules in slots: such a module is a value, so its classes may be value
//! classes. So are classes that inherit from those of earlier inputs, and mention no other variables: the module has the
//! classes of that moment in slots.
//!
//! ```text
//! class Input in: workspace = (| private system = workspace system. |) (
//!     class P x: x = Value (| public x = x. |) ()
//!     public declareIn: workspace = ( workspace at: #P put: P. ^ P )
//! )
//! ```
//!
//! `y:: 4` makes a new
//! variable `y`, unless the text declares that name itself; so does a local variable of the input,
//! `| y = 4. |`, which is turned into such an assignment.
//!
//! A text with mistakes becomes no module. It is checked alone first, so that the diagnostics concern the text only.
//!
//! The module contains the text unchanged, after a prefix of known length without a line end. So a place in the module
//! is the same place in the text, except for that distance on the first line.

use std::collections::BTreeSet;

use squall_newspeak::ast::{Ast, ExpressionKind, Local, Receiver};
use squall_newspeak::diagnostics::Code;
use squall_newspeak::lexer::tokenize;
use squall_newspeak::source::Span;
use squall_newspeak::{Diagnostic, Fragment, Source, check_fragment, parse};

use crate::compiler::{CompileProblem, warnings_before_run};

/// The names that an input can refer to.
#[derive(Clone, Default, Debug)]
pub struct Names {
    /// The messages without arguments that the workspace understands.
    pub known: BTreeSet<String>,
    /// The variables so far.
    pub variables: BTreeSet<String>,
    /// Those of the variables that are classes, as their inputs have declared them.
    pub classes: BTreeSet<String>,
    /// The selectors of the classes so far.
    pub declared: BTreeSet<String>,
}

impl Names {
    /// An input declares these variables: classes, or others.
    pub fn declare(&mut self, variables: BTreeSet<String>, are_classes: bool) {
        self.classes.retain(|class| !variables.contains(class));
        if are_classes {
            self.classes.extend(variables.iter().cloned());
        }
        self.variables.extend(variables);
    }
}

/// An input as a module.
#[derive(Debug)]
pub struct Input {
    /// The text between the module's beginning and its end.
    parts: Parts,
    typed: Source,
    /// Names that become variables by this input.
    pub new_variables: BTreeSet<String>,
}

/// The text of a module in three parts.
#[derive(Clone, Debug)]
struct Parts {
    before: String,
    text: String,
    after: String,
}

const WORKSPACE_SLOT: &str = "private workspace = workspace. ";
const BEFORE_STATEMENTS: &str = "public evaluate = ( ^ [ ";
const AFTER_STATEMENTS: &str = "\n] value )\n";

impl Parts {
    /// The text without accessors, which is enough to parse it.
    fn bare(text: &str) -> Parts {
        let (before, after) = match is_class(text) {
            true => ("", "\n)"),
            false => (BEFORE_STATEMENTS, "\n] value ) )"),
        };
        let before = head(WORKSPACE_SLOT) + before;
        Parts { before, text: text.to_owned(), after: after.to_owned() }
    }

    fn source(&self, name: &str) -> Source {
        Source::new(name, [&*self.before, &self.text, &self.after].concat())
    }
}

/// The beginning of a module with these slots.
fn head(slots: &str) -> String {
    format!("class Input in: workspace = (| {slots}|) ( ")
}

impl Input {
    /// Makes a module of a text.
    pub fn new(name: &str, text: &str, names: &Names) -> Result<Input, CompileProblem> {
        let parts = Parts::bare(text);
        let typed = Source::new(name, text.trim_end());
        let fragment = if is_class(text) { Fragment::Members } else { Fragment::Statements };
        let mut errors = check_fragment(&typed, fragment);
        errors.retain(Diagnostic::is_error);
        if !errors.is_empty() {
            return Err(CompileProblem::Newspeak(typed, errors));
        }
        let mut input = Input { parts, typed, new_variables: BTreeSet::new() };
        let mut tree = input.parse(name)?;
        let locals = input.locals(&tree);
        if !locals.is_empty() {
            input.parts.text = without_declarations(&input, &tree, &locals);
            let names = locals.iter().map(|local| tree[local.name.name].to_owned());
            input.new_variables = names.collect();
            tree = input.parse(name)?;
        }
        let mention = Mention::of(&tree);
        let assigned = mention.assigned.difference(&mention.declared);
        input.new_variables.extend(assigned.cloned());
        input.new_variables.extend(input.classes(&tree).into_iter().map(str::to_owned));
        let slots = input.slots_of_value(&tree, &mention, names);
        input.parts.after = input.end(&tree, &mention, names, slots.is_some());
        if let Some(slots) = slots {
            input.parts.before = head(&slots);
        }
        Ok(input)
    }

    /// Whether the input declares classes.
    pub fn declares(&self) -> bool {
        is_class(&self.parts.text)
    }

    /// The slots of a module without the workspace, if the text declares classes that need no more of the workspace than
    /// its messages, and classes to inherit from.
    fn slots_of_value(&self, tree: &Ast, mention: &Mention, names: &Names) -> Option<String> {
        let classes = self.classes(tree);
        let own = |name: &&String| !classes.contains(&name.as_str());
        let variables = &names.variables | &self.new_variables;
        let variables: Vec<_> =
            variables.iter().filter(own).filter(|name| mention.has(name)).collect();
        let is_class =
            |name: &String| names.classes.contains(name) && !mention.assigned.contains(name);
        let inherits = variables.iter().any(|name| mention.inherited.contains(*name));
        let are_parents = inherits && variables.iter().all(|name| is_class(name));
        if !self.declares() || !(variables.is_empty() || are_parents) {
            return None;
        }
        let known = names.known.intersection(&mention.sent).filter(own);
        let known = known.filter(|name| !variables.contains(name));
        let known = known.map(|name| format!("private {name} = workspace {name}. "));
        let inherited =
            variables.iter().map(|name| format!("private {name} = workspace at: #{name}. "));
        Some(known.chain(inherited).collect())
    }

    /// The module's source.
    pub fn source(&self, name: &str) -> Source {
        self.parts.source(name)
    }

    /// How many columns of the module's first line come before the text.
    pub fn columns_before(&self) -> u32 {
        self.parts.before.len() as u32
    }

    /// The mistakes that the text will make when it is evaluated. Nothing is said about names that a later input can
    /// declare, variables of this input, and about messages that a class of an earlier input may understand.
    pub fn warnings(&self, name: &str, names: &Names) -> Option<CompileProblem> {
        let source = self.source(name);
        let range = self.columns_before()..self.columns_before() + self.typed.text().len() as u32;
        let mut warnings = warnings_before_run(&source);
        let is_declared = |warning: &Diagnostic| {
            warning.selector.as_ref().is_some_and(|selector| names.declared.contains(selector))
        };
        warnings.retain(|warning| range.contains(&warning.span().start));
        warnings.retain(|warning| !is_declared(warning));
        for warning in &mut warnings {
            if warning.code == Code::UndeclaredName {
                warning.hint = warning.hint.take().and_then(without_slot);
            }
            warning.labels.retain(|label| range.contains(&label.span.start));
        }
        (!warnings.is_empty()).then(|| self.relocate(CompileProblem::Newspeak(source, warnings)))
    }

    /// The module's problem as a problem of the text.
    pub fn relocate(&self, problem: CompileProblem) -> CompileProblem {
        match problem {
            CompileProblem::Newspeak(_, mut diagnostics) => {
                diagnostics.iter_mut().for_each(|diagnostic| self.relocate_one(diagnostic));
                CompileProblem::Newspeak(self.typed.clone(), diagnostics)
            }
            other => other,
        }
    }

    fn relocate_one(&self, diagnostic: &mut Diagnostic) {
        let before = self.columns_before();
        let end = self.typed.text().trim_end().len() as u32;
        let moved = |offset: u32| offset.saturating_sub(before).min(end);
        for label in &mut diagnostic.labels {
            let Span { start, end } = label.span;
            label.span = Span { start: moved(start), end: moved(end) };
        }
    }

    fn parse(&self, name: &str) -> Result<Ast, CompileProblem> {
        let source = self.parts.source(name);
        let parsed = parse(&source);
        parsed.ast.ok_or_else(|| {
            let errors = parsed.diagnostics.into_iter().filter(Diagnostic::is_error);
            self.relocate(CompileProblem::Newspeak(source, errors.collect()))
        })
    }

    /// The variables declared at the text's beginning.
    fn locals(&self, tree: &Ast) -> Vec<Local> {
        let bracket = self.columns_before() - "[ ".len() as u32;
        let mut blocks = tree.nodes.blocks.iter().map(|(_, block)| block);
        let block = blocks.find(|block| block.span.start == bracket);
        block.map(|block| block.body.locals.clone()).unwrap_or_default()
    }

    /// The source after the text: accessors, unless the module has slots instead, and for classes the method that answers
    /// the last one.
    fn end(&self, tree: &Ast, mention: &Mention, names: &Names, has_slots: bool) -> String {
        let mut end = String::new();
        let classes = self.classes(tree);
        match classes.last() {
            None => end += AFTER_STATEMENTS,
            Some(last) => {
                let put = |name: &&str| format!("workspace at: #{name} put: {name}. ");
                let puts: String = classes.iter().map(put).collect();
                end += &format!("\npublic declareIn: workspace = ( {puts}^ {last} )\n");
            }
        }
        if has_slots {
            return end + ")";
        }
        let own = |name: &&String| !classes.contains(&name.as_str());
        let variables = &names.variables | &self.new_variables;
        for name in variables.iter().filter(own).filter(|name| mention.has(name)) {
            end += &format!("{name} = ( ^ workspace at: #{name} )\n");
            end += &format!("{name}: value = ( ^ workspace at: #{name} put: value )\n");
        }
        for name in names.known.difference(&variables).filter(own) {
            if mention.sent.contains(name) {
                end += &format!("{name} = ( ^ workspace {name} )\n");
            }
        }
        end + ")"
    }

    /// The names of the classes that the text declares.
    fn classes<'t>(&self, tree: &'t Ast) -> Vec<&'t str> {
        let classes = tree[tree.module].classes.iter();
        classes.filter_map(|&class| tree[class].name.map(|name| &tree[name.name])).collect()
    }
}

/// The text with the declarations at its beginning turned into assignments, and all other characters in their places.
fn without_declarations(input: &Input, tree: &Ast, locals: &[Local]) -> String {
    let before = input.columns_before();
    let place = |offset: u32| (offset - before) as usize;
    let mut text = input.parts.text.clone();
    let (Some(first), Some(last)) = (locals.first(), locals.last()) else { return text };
    let last = place(last.span.end);
    let bars =
        [text[last..].find('|').map(|bar| last + bar), text[..place(first.span.start)].rfind('|')];
    for bar in bars.into_iter().flatten() {
        text.replace_range(bar..bar + 1, " ");
    }
    for local in locals.iter().rev() {
        let name = place(local.name.span.start)..place(local.name.span.end);
        match local.initializer {
            Some(value) => {
                let sign = name.end..place(tree[value].span.start);
                let width = sign.len();
                text.replace_range(sign, &format!("{:<width$}", "::"));
            }
            None => text.replace_range(name.clone(), &" ".repeat(name.len())),
        }
    }
    text
}

/// The names in a text.
#[derive(Default)]
struct Mention {
    /// Selectors of messages without a receiver.
    sent: BTreeSet<String>,
    /// Targets of `name:: value`.
    assigned: BTreeSet<String>,
    /// Names declared in the text.
    declared: BTreeSet<String>,
    /// Names of superclasses and mixins.
    inherited: BTreeSet<String>,
}

impl Mention {
    fn of(tree: &Ast) -> Mention {
        let mut mention = Mention::default();
        let nodes = &tree.nodes;
        for (_, expression) in nodes.expressions.iter() {
            match expression.kind {
                ExpressionKind::Send { receiver: Receiver::Implicit, message } => {
                    mention.sent.insert(tree[tree[message].selector].to_owned());
                }
                ExpressionKind::SetterSend { target, .. } => {
                    mention.assigned.insert(tree[target.name].to_owned());
                }
                _ => {}
            }
        }
        let bodies = nodes.blocks.iter().map(|(_, block)| &block.body);
        let bodies = bodies.chain(nodes.methods.iter().map(|(_, method)| &method.body));
        let locals = bodies.flat_map(|body| body.locals.iter()).map(|local| local.name.name);
        let slots = nodes.slots.iter().map(|(_, slot)| slot.name.name);
        let parameters = nodes.blocks.iter().flat_map(|(_, block)| block.parameters.iter());
        let methods = nodes.methods.iter().map(|(_, method)| &method.pattern);
        let classes = nodes.classes.iter().map(|(_, class)| &class.factory);
        let patterns = methods.chain(classes).flat_map(|pattern| pattern.parameters.iter());
        let parameters = parameters.chain(patterns).map(|parameter| parameter.name);
        let names = locals.chain(slots).chain(parameters);
        mention.declared = names.map(|name| tree[name].to_owned()).collect();
        let classes = nodes.classes.iter().map(|(_, class)| class);
        let parents = classes.flat_map(|class| class.superclass.iter().chain(&class.mixins));
        let parents = parents.filter_map(|parent| match tree[parent.class].kind {
            ExpressionKind::Send { receiver: Receiver::Implicit, message } => Some(message),
            _ => None,
        });
        mention.inherited =
            parents.map(|message| tree[tree[message].selector].to_owned()).collect();
        mention
    }

    fn has(&self, name: &str) -> bool {
        self.sent.contains(name) || self.assigned.contains(name)
    }
}

/// The remedy for a name of the library. In a file it is a slot, `add private X = platform kernel X.`; an input has no
/// slots, and writes the initial value.
fn without_slot(hint: String) -> Option<String> {
    if !hint.contains("to the slots") {
        return Some(hint);
    }
    let (_, value) = hint.split_once(" = ")?;
    let (value, _) = value.split_once(".`")?;
    value.starts_with("platform ").then(|| format!("write `{value}`"))
}

/// Whether a text begins with a class declaration rather than an expression.
pub fn is_class(text: &str) -> bool {
    let mut words = text.split_whitespace();
    let first = words.next();
    let first = match first {
        Some("public" | "protected" | "private") => words.next(),
        other => other,
    };
    let named = |name: &str| name.starts_with(char::is_uppercase);
    first == Some("class") && words.next().is_some_and(named)
}

/// Whether a closing bracket in the text closes nothing, or a bracket of another kind.
fn has_stray_bracket(text: &str) -> bool {
    let mut open = Vec::new();
    tokenize(&Source::new("input", text)).list.iter().any(|token| match token.kind.closer() {
        Some(closer) => {
            open.push(closer);
            false
        }
        None => token.kind.is_closer() && open.pop() != Some(token.kind),
    })
}

/// Whether a text can be evaluated, or contains mistakes that no further line can mend.
pub fn is_complete(text: &str) -> bool {
    let parts = Parts::bare(text);
    let end = (parts.before.len() + text.trim_end().len()) as u32;
    let parsed = parse(&parts.source("input"));
    let errors: Vec<_> =
        parsed.diagnostics.iter().filter(|diagnostic| diagnostic.is_error()).collect();
    // No further line can open a bracket that is closed already.
    let is_stray =
        |error: &&Diagnostic| error.code == Code::StrayBracket && error.span().start < end;
    if errors.iter().any(is_stray) || has_stray_bracket(text) {
        return true;
    }
    !errors.iter().any(|error| {
        let is_open = matches!(
            error.code,
            Code::UnterminatedComment | Code::UnterminatedString | Code::UnclosedBracket
        );
        is_open || error.span().start >= end
    })
}
