//! The classes that a name can stand for, and their members: those of the text, and those of the library. The checker
//! asks here, and so does the language server.
//!
//! The checker knows a class completely if it knows the class's whole chain of superclasses and mixins. Only then it
//! says that the class lacks a member.

use std::collections::{HashMap, HashSet};

use crate::ast::{Access, Ast, Class, ExpressionKind, Inheritance, Literal, Method, Receiver};
use crate::entities::{ClassId, ExpressionId, MessageId, Name};
use crate::outline::{ClassOutline, Denoted, Library, Member};

/// A class of the text, or one of the library.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ClassRef {
    /// A class of the text.
    Text(ClassId),
    /// The class of the library with this number.
    Library(usize),
}

/// The side of a class.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    /// Members of instances.
    Instance,
    /// Members of the class object.
    Class,
}

/// The known part of the value of an expression.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Known {
    /// Nothing.
    Nothing,
    /// It is this class object.
    Class(ClassRef),
    /// It is an instance of exactly this class.
    Instance(ClassRef),
    /// It is a promise: the answer of an eventual send.
    Promise,
}

/// The result of looking for a member in a class.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Found {
    /// The member exists.
    Member(Access),
    /// The class has no such member.
    Missing,
    /// A superclass or mixin is unknown, or the class answers any message.
    Unclear,
}

/// Names lead to names at most this far.
const MOST_STEPS: u32 = 24;

/// All classes of a text.
pub struct Classes<'a> {
    /// The text's tree.
    pub ast: &'a Ast,
    /// The library.
    pub library: &'a Library,
    outer: HashMap<ClassId, ClassId>,
    module_name: String,
}

impl<'a> Classes<'a> {
    /// The classes of a tree.
    pub fn of(ast: &'a Ast, library: &'a Library) -> Classes<'a> {
        let mut outer = HashMap::new();
        for (id, class) in ast.nodes.classes.iter() {
            outer.extend(class.classes.iter().map(|&nested| (nested, id)));
        }
        let module_name = ast[ast.module].name.map(|name| ast[name.name].to_owned());
        Classes { ast, library, outer, module_name: module_name.unwrap_or_default() }
    }

    /// The class around a class; none around the module and object literals.
    pub fn outer(&self, class: ClassId) -> Option<ClassId> {
        self.outer.get(&class).copied()
    }

    /// The class of the library at this path.
    pub fn library_class(&self, path: &str) -> Option<ClassRef> {
        self.library.find(path).map(ClassRef::Library)
    }

    fn instance_of(&self, path: &str) -> Known {
        self.library_class(path).map_or(Known::Nothing, Known::Instance)
    }

    /// The name of a class, for messages.
    pub fn name(&self, class: ClassRef) -> String {
        match class {
            ClassRef::Text(id) => match self.ast[id].name {
                Some(name) => self.ast[name.name].to_owned(),
                None => "the object literal".to_owned(),
            },
            ClassRef::Library(number) => self.library.class(number).name().to_owned(),
        }
    }

    /// The selector of the primary factory.
    pub fn factory(&self, class: ClassRef) -> &str {
        match class {
            ClassRef::Text(id) => &self.ast[self.ast[id].factory.selector],
            ClassRef::Library(number) => &self.library.class(number).factory,
        }
    }

    // Members

    /// The superclass and the mixins, if all are known.
    pub fn parents(&self, class: ClassRef) -> Option<Vec<ClassRef>> {
        self.parents_within(class, 0)
    }

    fn parents_within(&self, class: ClassRef, steps: u32) -> Option<Vec<ClassRef>> {
        match class {
            ClassRef::Library(number) => {
                let parents = self.library.class(number).parents.as_ref()?;
                parents.iter().map(|path| self.library_class(path)).collect()
            }
            ClassRef::Text(id) => {
                let class = &self.ast[id];
                let superclass = match &class.superclass {
                    Some(clause) => self.parent(id, clause, steps)?,
                    None => self.library_class("Kernel.Object")?,
                };
                let mixins = class.mixins.iter().map(|clause| self.parent(id, clause, steps));
                std::iter::once(Some(superclass)).chain(mixins).collect()
            }
        }
    }

    /// The class that a superclass or mixin clause names, if it is known.
    pub fn class_of_clause(&self, class: ClassId, clause: &Inheritance) -> Option<ClassRef> {
        self.parent(class, clause, 0)
    }

    fn parent(&self, class: ClassId, clause: &Inheritance, steps: u32) -> Option<ClassRef> {
        let ExpressionKind::Send { receiver, message } = self.ast[clause.class].kind else {
            return None;
        };
        let name = &self.ast[self.ast[message].selector];
        if name == "Top" && self.module_name == "Kernel" {
            return self.own_class(self.ast.module, name);
        }
        let outer = self.outer(class);
        let known = match (receiver, outer) {
            (Receiver::Implicit | Receiver::SelfObject, Some(outer)) => {
                self.named(outer, name, steps + 1)
            }
            (Receiver::Implicit, None) => self.inherited("Kernel.Thing", name),
            (Receiver::Outer(around), _) => {
                let around = self.around(class, around.name)?;
                self.member_of(ClassRef::Text(around), name, steps + 1)
            }
            _ => Known::Nothing,
        };
        match known {
            Known::Class(class) => Some(class),
            _ => None,
        }
    }

    fn own_class(&self, class: ClassId, name: &str) -> Option<ClassRef> {
        let nested = self.ast[class].classes.iter().copied();
        let is_named = |id: &ClassId| self.ast[*id].name.is_some_and(|n| self.ast[n.name] == *name);
        nested.filter(is_named).map(ClassRef::Text).next()
    }

    /// The class of this name around a class.
    pub fn around(&self, class: ClassId, name: Name) -> Option<ClassId> {
        let mut current = Some(class);
        while let Some(class) = current {
            if self.ast[class].name.is_some_and(|own| own.name == name) {
                return current;
            }
            current = self.outer(class);
        }
        None
    }

    /// Looks for a member in a class, its superclasses and mixins.
    pub fn find(&self, class: ClassRef, side: Side, selector: &str) -> Found {
        let mut visited = HashSet::new();
        let found = self.find_in(class, side, selector, &mut visited);
        match (found, side) {
            (Found::Missing, Side::Class) => match self.library_class("Kernel.Class") {
                Some(class) => self.find_in(class, Side::Instance, selector, &mut HashSet::new()),
                None => Found::Unclear,
            },
            _ => found,
        }
    }

    fn find_in(
        &self,
        class: ClassRef,
        side: Side,
        selector: &str,
        visited: &mut HashSet<ClassRef>,
    ) -> Found {
        if !visited.insert(class) {
            return Found::Missing;
        }
        match self.own_member(class, side, selector) {
            // A private member is there for its own class's text only, and a primary factory for its own class.
            Some(Access::Private) if visited.len() > 1 => {}
            Some(_)
                if side == Side::Class
                    && visited.len() > 1
                    && self.makes_instance(class, selector) => {}
            Some(access) => return Found::Member(access),
            None => {}
        }
        if self.answers_anything(class, side) {
            return Found::Unclear;
        }
        let Some(parents) = self.parents(class) else { return Found::Unclear };
        let mut result = Found::Missing;
        for parent in parents {
            match self.find_in(parent, side, selector, visited) {
                Found::Missing => {}
                Found::Unclear => result = Found::Unclear,
                found => return found,
            }
        }
        result
    }

    /// Whether the class handles messages that it has no method for.
    fn answers_anything(&self, class: ClassRef, side: Side) -> bool {
        let is_root = class == ClassRef::Library(self.library.find("Kernel.Thing").unwrap_or(0));
        !is_root && self.own_member(class, side, "doesNotUnderstand:arguments:").is_some()
    }

    /// The visibility of a member that the class's own text declares.
    pub fn own_member(&self, class: ClassRef, side: Side, selector: &str) -> Option<Access> {
        match (class, side) {
            (ClassRef::Text(id), _) => own_member(self.ast, &self.ast[id], side, selector),
            (ClassRef::Library(number), Side::Instance) => {
                self.library.class(number).member(selector).map(|member| member.access)
            }
            (ClassRef::Library(number), Side::Class) => {
                let class = self.library.class(number);
                let mut members = class.class_side.iter();
                let method = members.find(|member| member.selector == selector);
                method
                    .map(|member| member.access)
                    .or((class.factory == selector).then_some(Access::Public))
            }
        }
    }

    /// Whether a class is another one or inherits from it. False if unclear.
    pub fn inherits(&self, class: ClassRef, ancestor: ClassRef) -> bool {
        self.inherits_within(class, ancestor, 0)
    }

    fn inherits_within(&self, class: ClassRef, ancestor: ClassRef, steps: u32) -> bool {
        class == ancestor
            || steps < MOST_STEPS
                && self.parents_within(class, steps).is_some_and(|parents| {
                    parents.iter().any(|&parent| self.inherits_within(parent, ancestor, steps + 1))
                })
    }

    /// The members of a class with those that it inherits, as far as known.
    pub fn all_members(&self, class: ClassRef, side: Side) -> Vec<String> {
        let (mut names, mut visited) = (Vec::new(), HashSet::new());
        let mut pending = vec![class];
        let first = class;
        while let Some(class) = pending.pop() {
            if visited.insert(class) {
                let known = names.len();
                self.own_members(class, side, &mut names);
                if side == Side::Class
                    && class != first
                    && self.makes_instance(class, self.factory(class))
                {
                    let factory = self.factory(class);
                    let mut index = 0;
                    names.retain(|name| {
                        index += 1;
                        index <= known || name != factory
                    });
                }
                pending.extend(self.parents(class).unwrap_or_default());
            }
        }
        names
    }

    /// The selectors that a class's own text declares, with that of its factory on the class side.
    pub fn own_selectors(&self, class: ClassRef, side: Side) -> Vec<String> {
        let mut names = Vec::new();
        self.own_members(class, side, &mut names);
        names
    }

    fn own_members(&self, class: ClassRef, side: Side, names: &mut Vec<String>) {
        match class {
            ClassRef::Text(id) => names.extend(own_selectors(self.ast, &self.ast[id], side)),
            ClassRef::Library(number) => {
                let class = self.library.class(number);
                let members = match side {
                    Side::Instance => &class.instance,
                    Side::Class => &class.class_side,
                };
                names.extend(members.iter().map(|member| member.selector.clone()));
                if side == Side::Class {
                    names.push(class.factory.clone());
                }
            }
        }
    }

    // Meanings of names

    /// The known part of the answer of a message without arguments to the instance of a class.
    pub fn member_of(&self, class: ClassRef, name: &str, steps: u32) -> Known {
        if steps > MOST_STEPS {
            return Known::Nothing;
        }
        if let ClassRef::Text(id) = class
            && own_member(self.ast, &self.ast[id], Side::Instance, name).is_some()
        {
            return self.own_meaning(id, name, steps + 1);
        }
        if let ClassRef::Library(number) = class
            && let Some(member) = self.library.class(number).member(name)
        {
            return self.denoted(&member.denotes);
        }
        for parent in self.parents_within(class, steps + 1).unwrap_or_default() {
            let known = self.member_of(parent, name, steps + 1);
            if known != Known::Nothing {
                return known;
            }
        }
        Known::Nothing
    }

    fn denoted(&self, denoted: &Denoted) -> Known {
        match denoted {
            Denoted::Any => Known::Nothing,
            Denoted::Class(path) => self.library_class(path).map_or(Known::Nothing, Known::Class),
            Denoted::Instance(path) => self.instance_of(path),
        }
    }

    fn inherited(&self, path: &str, name: &str) -> Known {
        let class = self.library_class(path);
        class.map_or(Known::Nothing, |class| self.member_of(class, name, 0))
    }

    /// The meaning of a name in the members of a class of the text: lexical before inherited.
    pub fn named(&self, class: ClassId, name: &str, steps: u32) -> Known {
        if steps > MOST_STEPS {
            return Known::Nothing;
        }
        let mut current = Some(class);
        while let Some(id) = current {
            if own_member(self.ast, &self.ast[id], Side::Instance, name).is_some() {
                return self.own_meaning(id, name, steps + 1);
            }
            current = self.outer(id);
        }
        self.member_of(ClassRef::Text(class), name, steps + 1)
    }

    fn own_meaning(&self, class: ClassId, name: &str, steps: u32) -> Known {
        if steps > MOST_STEPS {
            return Known::Nothing;
        }
        if let Some(nested) = self.own_class(class, name) {
            return Known::Class(nested);
        }
        let ast = self.ast;
        let mut slots = ast[class].slots.iter().map(|&slot| &ast[slot]);
        if let Some(slot) = slots.find(|slot| ast[slot.name.name] == *name) {
            return match slot.initializer {
                Some(value) if !slot.is_mutable => self.in_initializer(class, value, steps + 1),
                _ => Known::Nothing,
            };
        }
        let methods = ast[class].methods.iter().map(|&method| &ast[method]);
        let mut methods = methods.filter(|method| ast[method.pattern.selector] == *name);
        methods.next().map_or(Known::Nothing, |method| self.answer(class, method, steps))
    }

    /// The answer of a method that only names something.
    fn answer(&self, class: ClassId, method: &Method, steps: u32) -> Known {
        let body = &method.body;
        match body.returned {
            Some(returned) if body.locals.is_empty() && body.statements.is_empty() => {
                self.in_method(class, returned.value, steps + 1)
            }
            _ => Known::Nothing,
        }
    }

    fn in_method(&self, class: ClassId, value: ExpressionId, steps: u32) -> Known {
        self.meaning(value, steps, &|name| self.named(class, name, steps + 1), class)
    }

    /// The known part of an expression in the instance initialiser of a class.
    pub fn in_initializer(&self, class: ClassId, value: ExpressionId, steps: u32) -> Known {
        let name = |name: &str| match self.factory_argument(class, name) {
            Some(known) => known,
            None => self.named(class, name, steps + 1),
        };
        self.meaning(value, steps, &name, class)
    }

    /// The meaning of an argument of the class's factory, if there is one of this name.
    pub fn factory_argument(&self, class: ClassId, name: &str) -> Option<Known> {
        let ast = self.ast;
        let factory = &ast[class].factory;
        let parameters = &factory.parameters;
        let index = parameters.iter().position(|parameter| ast[parameter.name] == *name)?;
        let keyword = ast[factory.selector].split_inclusive(':').nth(index)?;
        let is_module = class == ast.module;
        Some(match keyword {
            "usingPlatform:" if is_module => self.instance_of("Platform"),
            "usingKernel:" if is_module => self.instance_of("Kernel"),
            "testFramework:" if is_module => self.instance_of("Testing"),
            _ => Known::Nothing,
        })
    }

    fn meaning(
        &self,
        value: ExpressionId,
        steps: u32,
        named: &dyn Fn(&str) -> Known,
        class: ClassId,
    ) -> Known {
        if steps > MOST_STEPS {
            return Known::Nothing;
        }
        match self.ast[value].kind {
            ExpressionKind::Literal(literal) => self.literal(literal),
            ExpressionKind::Block(_) => self.instance_of("Kernel.Block"),
            ExpressionKind::Array(_) => self.instance_of("Kernel.Array"),
            ExpressionKind::Outer(name) => match self.around(class, name.name) {
                Some(around) => Known::Instance(ClassRef::Text(around)),
                None => Known::Nothing,
            },
            ExpressionKind::Send { message, .. } if self.ast[message].is_eventual => Known::Promise,
            ExpressionKind::Send { receiver: Receiver::Implicit, message } => {
                let message = &self.ast[message];
                match message.arguments.is_empty() {
                    true => named(&self.ast[message.selector]),
                    false => Known::Nothing,
                }
            }
            ExpressionKind::Send { receiver: Receiver::Outer(name), message } => {
                match self.around(class, name.name) {
                    Some(around) => {
                        self.answer_of(Known::Instance(ClassRef::Text(around)), message, steps)
                    }
                    None => Known::Nothing,
                }
            }
            ExpressionKind::Send { receiver: Receiver::Expression(receiver), message } => {
                let receiver = self.meaning(receiver, steps + 1, named, class);
                self.answer_of(receiver, message, steps)
            }
            _ => Known::Nothing,
        }
    }

    /// The known part of the answer to a message.
    pub fn answer_of(&self, receiver: Known, message: MessageId, steps: u32) -> Known {
        let message = &self.ast[message];
        if message.is_eventual {
            return Known::Promise;
        }
        let selector = &self.ast[message.selector];
        match receiver {
            Known::Class(class) if self.makes_instance(class, selector) => Known::Instance(class),
            Known::Class(class @ ClassRef::Library(number))
                if selector.starts_with("new") && self.is_collection(number) =>
            {
                Known::Instance(class)
            }
            Known::Instance(class) if selector == "module:" && self.name(class) == "Kernel" => {
                self.module_named(message)
            }
            // Only texts of the library know the machine.
            Known::Nothing if selector == "libraryInstance:" => self.module_named(message),
            Known::Instance(class) if message.arguments.is_empty() => {
                self.member_of(class, selector, steps + 1)
            }
            _ => Known::Nothing,
        }
    }

    /// The module of the library that a message names.
    fn module_named(&self, message: &crate::ast::Message) -> Known {
        let argument = self.ast[message.arguments][0];
        match self.ast[argument].kind {
            ExpressionKind::Literal(Literal::Symbol(name)) => self.instance_of(&self.ast[name]),
            _ => Known::Nothing,
        }
    }

    /// Whether the class is one of the basic classes, which have further methods that make instances.
    fn is_collection(&self, number: usize) -> bool {
        let class = self.library.class(number);
        ["Vector", "Array", "Dictionary", "Set"].contains(&class.name())
    }

    fn makes_instance(&self, class: ClassRef, selector: &str) -> bool {
        let is_replaced = match class {
            ClassRef::Text(id) => {
                let mut methods = self.ast[id].class_methods.iter();
                methods.any(|&method| self.ast[self.ast[method].pattern.selector] == *selector)
            }
            ClassRef::Library(number) => {
                let mut methods = self.library.class(number).class_side.iter();
                methods.any(|member| member.selector == selector)
            }
        };
        !is_replaced && self.factory(class) == selector
    }

    /// The known part of a literal.
    pub fn literal(&self, literal: Literal) -> Known {
        self.instance_of(match literal {
            Literal::Nil => "Kernel.Nil",
            Literal::True => "Kernel.True",
            Literal::False => "Kernel.False",
            Literal::Integer(_) | Literal::BigInteger(_) => "Kernel.Integer",
            Literal::Double(_) => "Kernel.Double",
            Literal::String(_) => "Kernel.String",
            Literal::Symbol(_) => "Kernel.Symbol",
        })
    }

    // Outlines

    /// The outlines of the text's classes, the module's first. Object literals have none.
    pub fn outlines(&self) -> Vec<ClassOutline> {
        let mut outlines = Vec::new();
        self.add_outlines(self.ast.module, "", &mut outlines);
        outlines
    }

    fn add_outlines(&self, id: ClassId, around: &str, outlines: &mut Vec<ClassOutline>) {
        let class = &self.ast[id];
        let Some(name) = class.name else { return };
        let path = format!("{around}{}", &self.ast[name.name]);
        let parents = self.parents(ClassRef::Text(id));
        outlines.push(ClassOutline {
            access: class.access,
            factory: self.ast[class.factory.selector].to_owned(),
            parents: match is_root(&path) {
                true => Some(Vec::new()),
                false => {
                    parents.map(|parents| parents.iter().map(|&parent| self.path(parent)).collect())
                }
            },
            instance: self.instance_outline(id),
            class_side: class.class_methods.iter().map(|&m| self.method_outline(id, m)).collect(),
            span: class.span,
            path: path.clone(),
        });
        for &nested in &class.classes {
            self.add_outlines(nested, &format!("{path}."), outlines);
        }
    }

    fn instance_outline(&self, id: ClassId) -> Vec<Member> {
        let (ast, class) = (self.ast, &self.ast[id]);
        let mut members = Vec::new();
        for slot in class.slots.iter().map(|&slot| &ast[slot]) {
            let selector = ast[slot.name.name].to_owned();
            let denotes = self.denotes(self.own_meaning(id, &selector, 0));
            let (access, span) = (slot.access, slot.span);
            if slot.is_mutable {
                let selector = format!("{selector}:");
                members.push(Member { selector, access, denotes: Denoted::Any, span });
            }
            members.push(Member { selector, access, denotes, span });
        }
        for nested in class.classes.iter().map(|&nested| &ast[nested]) {
            let Some(name) = nested.name else { continue };
            let selector = ast[name.name].to_owned();
            let denotes = self.denotes(self.own_meaning(id, &selector, 0));
            members.push(Member { selector, access: nested.access, denotes, span: nested.span });
        }
        members.extend(class.methods.iter().map(|&method| self.method_outline(id, method)));
        members
    }

    fn method_outline(&self, id: ClassId, method: crate::entities::MethodId) -> Member {
        let method = &self.ast[method];
        let selector = self.ast[method.pattern.selector].to_owned();
        let known = match method.pattern.parameters.is_empty() {
            true => self.answer(id, method, 0),
            false => Known::Nothing,
        };
        let (access, span) = (method.access, method.span);
        Member { selector, access, denotes: self.denotes(known), span }
    }

    fn denotes(&self, known: Known) -> Denoted {
        match known {
            Known::Class(class) => Denoted::Class(self.path(class)),
            Known::Instance(class) => Denoted::Instance(self.path(class)),
            _ => Denoted::Any,
        }
    }

    /// The path of a class, from its module on.
    pub fn path(&self, class: ClassRef) -> String {
        match class {
            ClassRef::Library(number) => self.library.class(number).path.clone(),
            ClassRef::Text(id) => {
                let name = self.name(class);
                match self.outer(id) {
                    Some(outer) => format!("{}.{name}", self.path(ClassRef::Text(outer))),
                    None => name,
                }
            }
        }
    }
}

/// The root of the library's classes, which has no superclass.
fn is_root(path: &str) -> bool {
    path == "Kernel.Top"
}

/// The visibility of a member that the text of a class declares.
fn own_member(ast: &Ast, class: &Class, side: Side, selector: &str) -> Option<Access> {
    let method = |methods: &[crate::entities::MethodId]| {
        let mut methods = methods.iter().map(|&method| &ast[method]);
        methods.find(|method| ast[method.pattern.selector] == *selector).map(|method| method.access)
    };
    if side == Side::Class {
        let is_factory = ast[class.factory.selector] == *selector;
        return method(&class.class_methods).or(is_factory.then_some(Access::Public));
    }
    let slots = class.slots.iter().map(|&slot| &ast[slot]);
    let setter = selector.strip_suffix(':');
    let mut slots = slots.filter(|slot| {
        let name = &ast[slot.name.name];
        name == selector || slot.is_mutable && Some(name) == setter
    });
    let nested = class.classes.iter().map(|&nested| &ast[nested]);
    let mut nested =
        nested.filter(|nested| nested.name.is_some_and(|name| ast[name.name] == *selector));
    let slot = slots.next().map(|slot| slot.access);
    slot.or_else(|| nested.next().map(|class| class.access)).or_else(|| method(&class.methods))
}

/// The selectors that the text of a class declares.
fn own_selectors(ast: &Ast, class: &Class, side: Side) -> Vec<String> {
    let methods = match side {
        Side::Instance => &class.methods,
        Side::Class => &class.class_methods,
    };
    let methods = methods.iter().map(|&method| ast[ast[method].pattern.selector].to_owned());
    if side == Side::Class {
        return methods.chain([ast[class.factory.selector].to_owned()]).collect();
    }
    let mut names: Vec<String> = methods.collect();
    for slot in class.slots.iter().map(|&slot| &ast[slot]) {
        names.push(ast[slot.name.name].to_owned());
        if slot.is_mutable {
            names.push(format!("{}:", &ast[slot.name.name]));
        }
    }
    let nested = class.classes.iter().filter_map(|&nested| ast[nested].name);
    names.extend(nested.map(|name| ast[name.name].to_owned()));
    names
}
