//! What a text declares, and what its names and messages refer to. The model of a text is made anew after each change;
//! the requests ask it.
//!
//! A use refers to a variable of the text, or to members by their selector: in Newspeak, the receiver decides at run time.
//! The part of the receiver that is known narrows the members down.

use std::collections::HashSet;

use squall_newspeak::ast::{
    Access, Ast, Body, Expression, ExpressionKind, Identifier, Pattern, Receiver,
};
use squall_newspeak::check::classes::{ClassRef, Classes, Known, Side};
use squall_newspeak::entities::{BlockId, ClassId, ExpressionId, MessageId, MethodId, Name};
use squall_newspeak::{Library, Span};

/// The kinds of declared things.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SymbolKind {
    /// A class.
    Class,
    /// The primary factory of a class, if it is written.
    Factory,
    /// A slot.
    Slot {
        /// Whether it has a setter.
        is_mutable: bool,
    },
    /// A method.
    Method,
    /// A local variable.
    Local,
    /// A parameter of a method, factory or block.
    Parameter,
}

impl SymbolKind {
    /// Whether it is visible in its method, block or initialiser only.
    pub fn is_variable(self) -> bool {
        matches!(self, SymbolKind::Local | SymbolKind::Parameter)
    }
}

/// A declared thing.
#[derive(Clone, Debug)]
pub struct Symbol {
    /// Its kind.
    pub kind: SymbolKind,
    /// Its name or selector.
    pub name: String,
    /// The words of its name.
    pub parts: Vec<Span>,
    /// The whole declaration.
    pub span: Span,
    /// Its visibility; private for variables.
    pub access: Access,
    /// The class that it belongs to; the class itself for a class.
    pub class: ClassId,
    /// The side of that class.
    pub side: Side,
    /// The class or method around it.
    pub parent: Option<usize>,
    /// The known part of its value.
    pub known: Known,
}

/// The thing that a use refers to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Target {
    /// The variable with this number.
    Variable(usize),
    /// A member of the class whose text declares it.
    Lexical(ClassId, Side),
    /// A member of self, an instance of this class or of one that inherits from it.
    Inherited(ClassId, Side),
    /// The same, sent to `self` or `outer`.
    ToSelf(ClassId, Side),
    /// A member of a superclass or mixin of this class.
    Super(ClassId, Side),
    /// A member of the receiver.
    Receiver(Known),
}

/// A name or message.
#[derive(Clone, Debug)]
pub struct Use {
    /// The variable's name or the selector; of an assignment, the setter's selector.
    pub name: String,
    /// Its words.
    pub parts: Vec<Span>,
    /// Its target.
    pub target: Target,
    /// Whether it is `name:: value`.
    pub is_assignment: bool,
    /// The method, slot or class around it.
    pub around: Option<usize>,
}

/// What is visible at a place.
#[derive(Clone, Debug, Default)]
pub struct Visible {
    /// The variables, outermost first.
    pub variables: Vec<usize>,
    /// The classes around, outermost first.
    pub places: Vec<(ClassId, Side)>,
    /// The target of the use there.
    pub target: Option<Target>,
}

/// The declarations and uses of a text, in the order in which the tree is walked.
#[derive(Clone, Debug, Default)]
pub struct Model {
    /// The declarations.
    pub symbols: Vec<Symbol>,
    /// The uses.
    pub uses: Vec<Use>,
    /// What is visible at the use of the name that was asked for.
    pub visible: Option<Visible>,
}

impl Model {
    /// The model of a tree. `mark` is the name of a use at which [`Model::visible`] is wanted.
    pub fn of(
        ast: &Ast,
        library: &Library,
        word_before: &dyn Fn(u32) -> Span,
        mark: &str,
    ) -> Model {
        let mut walker = Walker {
            ast,
            classes: Classes::of(ast, library),
            word_before,
            mark: ast.nodes.names.find(mark).filter(|_| !mark.is_empty()),
            assigned: assigned(ast),
            model: Model::default(),
            variables: Vec::new(),
            places: Vec::new(),
            around: None,
        };
        walker.class(ast.module);
        walker.model
    }

    /// The symbol whose name is at an offset.
    pub fn symbol_at(&self, offset: u32) -> Option<usize> {
        self.symbols
            .iter()
            .position(|symbol| symbol.parts.iter().any(|part| touches(*part, offset)))
    }

    /// The use that has a word at an offset.
    pub fn use_at(&self, offset: u32) -> Option<usize> {
        let is_there = |name: &Use| name.parts.iter().any(|part| touches(*part, offset));
        self.uses.iter().position(is_there)
    }
}

/// Whether an offset is in a span or directly behind it.
pub fn touches(span: Span, offset: u32) -> bool {
    span.start <= offset && offset <= span.end
}

/// The names that the text assigns somewhere.
fn assigned(ast: &Ast) -> HashSet<Name> {
    let expressions = ast.nodes.expressions.iter().map(|(_, expression)| expression.kind);
    let target = |kind| match kind {
        ExpressionKind::SetterSend { target, .. } => Some(target.name),
        _ => None,
    };
    expressions.filter_map(target).collect()
}

struct Walker<'a> {
    ast: &'a Ast,
    classes: Classes<'a>,
    /// The token before a place.
    word_before: &'a dyn Fn(u32) -> Span,
    mark: Option<Name>,
    assigned: HashSet<Name>,
    model: Model,
    variables: Vec<(Name, usize)>,
    places: Vec<(ClassId, Side)>,
    around: Option<usize>,
}

impl<'a> Walker<'a> {
    // Declarations

    fn add(&mut self, symbol: Symbol) -> usize {
        self.model.symbols.push(symbol);
        self.model.symbols.len() - 1
    }

    fn symbol(&self, kind: SymbolKind, name: Identifier, span: Span) -> Symbol {
        let (class, side) =
            self.places.last().copied().unwrap_or((self.ast.module, Side::Instance));
        Symbol {
            kind,
            name: self.ast[name.name].to_owned(),
            parts: vec![name.span],
            span,
            access: Access::Private,
            class,
            side,
            parent: self.around,
            known: Known::Nothing,
        }
    }

    fn class(&mut self, id: ClassId) {
        let ast = self.ast;
        let class = &ast[id];
        let around = self.around;
        self.places.push((id, Side::Instance));
        if let Some(name) = class.name {
            let mut symbol = self.symbol(SymbolKind::Class, name, class.span);
            symbol.access = class.access;
            symbol.known = Known::Class(ClassRef::Text(id));
            self.around = Some(self.add(symbol));
            if class.factory.span != name.span {
                self.factory(&class.factory);
            }
        }
        let mark = self.variables.len();
        self.parameters(&class.factory.parameters, Some(id));
        self.clauses(id);
        for &slot in &class.slots {
            self.slot(id, slot);
        }
        class.initializers.iter().for_each(|&expression| self.expression(expression));
        self.variables.truncate(mark);
        class.classes.iter().for_each(|&nested| self.class(nested));
        class.methods.iter().for_each(|&method| self.method(method, Side::Instance));
        class.class_methods.iter().for_each(|&method| self.method(method, Side::Class));
        self.places.pop();
        self.around = around;
    }

    fn factory(&mut self, pattern: &Pattern) {
        let mut symbol = self.pattern_symbol(SymbolKind::Factory, pattern, pattern.span);
        (symbol.access, symbol.side) = (Access::Public, Side::Class);
        self.add(symbol);
    }

    fn pattern_symbol(&self, kind: SymbolKind, pattern: &Pattern, span: Span) -> Symbol {
        let name = Identifier { name: pattern.selector, span: pattern.span };
        let mut symbol = self.symbol(kind, name, span);
        if !pattern.parameters.is_empty() {
            let starts = pattern.parameters.iter().map(|parameter| parameter.span.start);
            symbol.parts = starts.map(|start| (self.word_before)(start)).collect();
        }
        symbol
    }

    fn clauses(&mut self, id: ClassId) {
        let class = &self.ast[id];
        let own = self.places.pop();
        for inheritance in class.superclass.iter().chain(&class.mixins) {
            self.expression(inheritance.class);
        }
        self.places.extend(own);
        for inheritance in class.superclass.iter().chain(&class.mixins) {
            if let Some(message) = inheritance.initializer {
                let parent = self.classes.class_of_clause(id, inheritance);
                let parent = parent.map_or(Known::Nothing, Known::Class);
                self.message(message, Target::Receiver(parent));
                self.arguments(message);
            }
        }
    }

    fn slot(&mut self, id: ClassId, slot: squall_newspeak::entities::SlotId) {
        let slot = &self.ast[slot];
        let kind = SymbolKind::Slot { is_mutable: slot.is_mutable };
        let mut symbol = self.symbol(kind, slot.name, slot.span);
        symbol.access = slot.access;
        if let Some(value) = slot.initializer
            && !slot.is_mutable
        {
            symbol.known = self.classes.in_initializer(id, value, 0);
        }
        let around = self.around;
        self.around = Some(self.add(symbol));
        slot.initializer.into_iter().for_each(|value| self.expression(value));
        self.around = around;
    }

    fn method(&mut self, id: MethodId, side: Side) {
        let method = &self.ast[id];
        let around = self.around;
        if let Some(place) = self.places.last_mut() {
            place.1 = side;
        }
        let mut symbol = self.pattern_symbol(SymbolKind::Method, &method.pattern, method.span);
        symbol.access = method.access;
        self.around = Some(self.add(symbol));
        let mark = self.variables.len();
        self.parameters(&method.pattern.parameters, None);
        self.body(&method.body);
        self.variables.truncate(mark);
        self.around = around;
        if let Some(place) = self.places.last_mut() {
            place.1 = Side::Instance;
        }
    }

    fn parameters(&mut self, parameters: &[Identifier], factory: Option<ClassId>) {
        for &parameter in parameters {
            let mut symbol = self.symbol(SymbolKind::Parameter, parameter, parameter.span);
            let known = factory
                .and_then(|class| self.classes.factory_argument(class, &self.ast[parameter.name]));
            symbol.known = known.unwrap_or(Known::Nothing);
            let symbol = self.add(symbol);
            self.variables.push((parameter.name, symbol));
        }
    }

    fn body(&mut self, body: &Body) {
        let first = self.variables.len();
        for local in &body.locals {
            let symbol = self.symbol(SymbolKind::Local, local.name, local.span);
            let symbol = self.add(symbol);
            self.variables.push((local.name.name, symbol));
        }
        for (index, local) in body.locals.iter().enumerate() {
            let Some(value) = local.initializer else { continue };
            self.expression(value);
            if !self.assigned.contains(&local.name.name) {
                let known = self.known(value);
                self.model.symbols[self.variables[first + index].1].known = known;
            }
        }
        self.ast[body.statements].iter().for_each(|&statement| self.expression(statement));
        if let Some(returned) = body.returned {
            self.expression(returned.value);
        }
    }

    fn block(&mut self, id: BlockId) {
        let block = &self.ast[id];
        let mark = self.variables.len();
        self.parameters(&block.parameters, None);
        self.body(&block.body);
        self.variables.truncate(mark);
    }

    // Uses

    fn place(&self) -> (ClassId, Side) {
        // The superclass of the module is a name outside of all classes.
        self.places.last().copied().unwrap_or((self.ast.module, Side::Instance))
    }

    fn message(&mut self, id: MessageId, target: Target) {
        let ast = self.ast;
        let message = &ast[id];
        let others = ast[message.arguments].iter().skip(1);
        let others = others.map(|&argument| (self.word_before)(ast[argument].span.start));
        let parts = std::iter::once(message.selector_span).chain(others).collect();
        self.note(message.selector, &self.ast[message.selector], parts, target, false);
    }

    fn note(&mut self, name: Name, text: &str, parts: Vec<Span>, target: Target, assigns: bool) {
        if self.mark == Some(name) {
            self.model.visible = Some(Visible {
                variables: self.variables.iter().map(|(_, symbol)| *symbol).collect(),
                places: self.places.clone(),
                target: Some(target),
            });
        }
        let around = self.around;
        self.model.uses.push(Use {
            name: text.to_owned(),
            parts,
            target,
            is_assignment: assigns,
            around,
        });
    }

    fn arguments(&mut self, message: MessageId) {
        let ast = self.ast;
        ast[ast[message].arguments].iter().for_each(|&argument| self.expression(argument));
    }

    fn expression(&mut self, id: ExpressionId) {
        let ast = self.ast;
        let (innermost, sends) = ast.chain(id);
        self.innermost(innermost);
        let mut receiver = self.known(innermost);
        for &send in &sends {
            let ExpressionKind::Send { message, .. } = ast[send].kind else { continue };
            self.message(message, Target::Receiver(receiver));
            self.arguments(message);
            receiver = self.classes.answer_of(receiver, message, 0);
        }
    }

    fn innermost(&mut self, id: ExpressionId) {
        let ast = self.ast;
        let Expression { kind, .. } = ast[id];
        match kind {
            ExpressionKind::Send { receiver, message } => {
                let target = self.target(receiver, message);
                self.message(message, target);
                self.arguments(message);
            }
            ExpressionKind::SetterSend { .. } => {
                let (setters, value) = ast.setters(id);
                for setter in setters {
                    if let ExpressionKind::SetterSend { target, .. } = ast[setter].kind {
                        self.assignment(target);
                    }
                }
                self.expression(value);
            }
            ExpressionKind::Cascade { receiver, messages } => {
                let known = match receiver {
                    Receiver::Expression(receiver) => {
                        self.expression(receiver);
                        Some(self.known(receiver))
                    }
                    _ => None,
                };
                for &message in &ast[messages] {
                    let target = match known {
                        Some(known) => Target::Receiver(known),
                        None => self.target(receiver, message),
                    };
                    self.message(message, target);
                    self.arguments(message);
                }
            }
            ExpressionKind::Array(elements) => {
                ast[elements].iter().for_each(|&element| self.expression(element));
            }
            ExpressionKind::Block(block) => self.block(block),
            ExpressionKind::ObjectLiteral(class) => self.class(class),
            _ => {}
        }
    }

    fn assignment(&mut self, target: Identifier) {
        let name = &self.ast[target.name];
        let variable = self.find(target.name);
        let (name, kind) = match variable {
            Some(symbol) => (name.to_owned(), Target::Variable(symbol)),
            None => {
                let setter = format!("{name}:");
                let kind = self.lexical(&setter);
                (setter, kind)
            }
        };
        self.note(target.name, &name, vec![target.span], kind, true);
    }

    fn find(&self, name: Name) -> Option<usize> {
        let mut variables = self.variables.iter().rev();
        variables.find(|(own, _)| *own == name).map(|(_, symbol)| *symbol)
    }

    /// The target of a message without a receiver expression.
    fn target(&self, receiver: Receiver, message: MessageId) -> Target {
        let message = &self.ast[message];
        let (class, side) = self.place();
        match receiver {
            Receiver::Implicit => {
                let variable = self.find(message.selector).filter(|_| message.arguments.is_empty());
                match variable {
                    Some(symbol) => Target::Variable(symbol),
                    None => self.lexical(&self.ast[message.selector]),
                }
            }
            Receiver::Super => Target::Super(class, side),
            Receiver::Outer(name) => {
                let class = self.classes.around(class, name.name).unwrap_or(class);
                Target::ToSelf(class, Side::Instance)
            }
            _ => Target::ToSelf(class, side),
        }
    }

    fn lexical(&self, selector: &str) -> Target {
        let mut places = self.places.iter().rev();
        let declares = |place: &&(ClassId, Side)| {
            self.classes.own_member(ClassRef::Text(place.0), place.1, selector).is_some()
        };
        match places.find(declares) {
            Some(&(class, side)) => Target::Lexical(class, side),
            None => {
                let (class, side) = self.place();
                Target::Inherited(class, side)
            }
        }
    }

    // Values

    /// The known part of an expression's value.
    fn known(&self, id: ExpressionId) -> Known {
        let ast = self.ast;
        let (innermost, sends) = ast.chain(id);
        let first = match ast[innermost].kind {
            ExpressionKind::Literal(literal) => self.classes.literal(literal),
            ExpressionKind::Block(_) => self.instance_of("Kernel.Block"),
            ExpressionKind::Array(_) => self.instance_of("Kernel.Array"),
            ExpressionKind::SelfObject => {
                let (class, side) = self.place();
                match side {
                    Side::Instance => Known::Instance(ClassRef::Text(class)),
                    Side::Class => Known::Class(ClassRef::Text(class)),
                }
            }
            ExpressionKind::Send { message, .. } if ast[message].is_eventual => Known::Promise,
            ExpressionKind::Send { receiver: Receiver::Implicit, message }
                if ast[message].arguments.is_empty() =>
            {
                self.known_name(ast[message].selector)
            }
            _ => Known::Nothing,
        };
        sends.iter().fold(first, |receiver, &send| match ast[send].kind {
            ExpressionKind::Send { message, .. } => self.classes.answer_of(receiver, message, 0),
            _ => Known::Nothing,
        })
    }

    fn instance_of(&self, path: &str) -> Known {
        self.classes.library_class(path).map_or(Known::Nothing, Known::Instance)
    }

    fn known_name(&self, name: Name) -> Known {
        if let Some(symbol) = self.find(name) {
            return self.model.symbols[symbol].known;
        }
        let text = &self.ast[name];
        match self.lexical(text) {
            Target::Lexical(class, Side::Instance) => self.classes.named(class, text, 0),
            Target::Inherited(class, Side::Instance) => {
                self.classes.member_of(ClassRef::Text(class), text, 0)
            }
            _ => Known::Nothing,
        }
    }
}
