//! Class definitions: lowers members, and the functions that make classes and instances. `mod.rs` calls it for the
//! module's class, and `expressions` for object literals.
//!
//! See [`squall_bytecode::module::ClassDefinition`] for the functions of a class. An initializer answers the object
//! with which initialisation continues, since only the superclass's initializer of an array knows the object's size; so
//! each initializer takes its receiver from the one before. Factory and initializer contain the own initializer's code;
//! that code is also a function, for the use of the class as a mixin.

use std::collections::HashMap;

use squall_bytecode::entities::{ClassId as DefinitionId, FunctionId, Register};
use squall_bytecode::instructions::{Opcode, Special};
use squall_bytecode::module::{
    Access, ClassDefinition, FunctionKind, Method, Side, Site, Slot, Visibility,
};

use super::function::{Captured, FunctionScope, Home, nth};
use super::{ClassScope, Lowering, visibility};
use crate::ast::{Class, ExpressionKind, Identifier, Inheritance, Receiver};
use crate::entities::{ClassId, MethodId};
use crate::source::Span;

/// The superclass of a class without a superclass clause.
const DEFAULT_SUPERCLASS: &str = "Object";
/// The factory of an inheritance clause without a message.
const DEFAULT_FACTORY: &str = "new";
/// In library code, the superclass of the root class: it means that there is none.
const NO_SUPERCLASS: &str = "Top";

impl Lowering<'_> {
    /// Compiles a class that is a member of the class around it, or the module's.
    pub fn class(&mut self, id: ClassId) -> DefinitionId {
        let definition = self.reserve_definition(id);
        let accessor = self.accessor(id, definition);
        self.define(id, definition, Some(accessor), Side::Instance);
        definition
    }

    /// Takes the next index, so that the class's own code can name it.
    fn reserve_definition(&mut self, id: ClassId) -> DefinitionId {
        let name = self.class_name(id);
        let name = self.module.string(&name);
        let placeholder = ClassDefinition {
            outer: self.classes.last().map(|class| class.id),
            ..ClassDefinition::incomplete(name, visibility(self.ast[id].access))
        };
        self.module.module.classes.push(placeholder);
        DefinitionId(self.module.module.classes.len() as u32 - 1)
    }

    fn class_name(&self, id: ClassId) -> String {
        self.ast[id].name.map_or("objL", |name| &self.ast[name.name]).to_owned()
    }

    /// Compiles everything inside a class.
    fn define(
        &mut self,
        id: ClassId,
        definition: DefinitionId,
        accessor: Option<FunctionId>,
        outer_side: Side,
    ) {
        let ast = self.ast;
        let class = &ast[id];
        let scope = self.class_scope(id, definition, accessor.is_none(), outer_side);
        self.classes.push(scope);
        let factory = self.factory(class);
        let initializer = self.initializer(class);
        let own_initializer = self.own_initializer(class);
        let nested = class.classes.iter().map(|&nested| self.class(nested)).collect();
        let methods = self.methods(&class.methods, Side::Instance);
        let class_methods = self.methods(&class.class_methods, Side::Class);
        let slots = self.slots(class);
        let factory_selector = self.module.string(&ast[class.factory.selector]);
        let position = self.source.position(class.span.range().start as u32);
        let made = &mut self.module.module.classes[definition.index()];
        *made = ClassDefinition {
            accessor,
            factory_selector,
            factory,
            initializer,
            own_initializer,
            slots,
            nested,
            methods,
            class_methods,
            position: (position.line as u32, position.column as u32),
            ..made.clone()
        };
        if accessor.is_some() {
            self.classes.pop();
        }
    }

    fn slots(&mut self, class: &Class) -> Vec<Slot> {
        let ast = self.ast;
        let slot = |&id: &crate::entities::SlotId| {
            let slot = &ast[id];
            Slot {
                name: self.module.string(&ast[slot.name.name]),
                mutable: slot.is_mutable,
                visibility: visibility(slot.access),
            }
        };
        class.slots.iter().map(slot).collect()
    }

    /// The members that the class's text declares; reports those that are declared twice.
    fn class_scope(
        &mut self,
        id: ClassId,
        definition: DefinitionId,
        is_literal: bool,
        outer_side: Side,
    ) -> ClassScope {
        let ast = self.ast;
        let class = &ast[id];
        let mut instance = Members::default();
        for &slot in &class.slots {
            let slot = &ast[slot];
            let access = visibility(slot.access);
            instance.add(self, &ast[slot.name.name], slot.name, access);
            if slot.is_mutable {
                let setter = format!("{}:", &ast[slot.name.name]);
                instance.add(self, &setter, slot.name, access);
            }
        }
        for &nested in &class.classes {
            if let Some(name) = ast[nested].name {
                instance.add(self, &ast[name.name], name, visibility(ast[nested].access));
            }
        }
        let mut class_side = Members::default();
        for (methods, members) in
            [(&class.methods, &mut instance), (&class.class_methods, &mut class_side)]
        {
            for &method in methods {
                let (pattern, access) = (&ast[method].pattern, ast[method].access);
                let place = Identifier { name: pattern.selector, span: pattern.span };
                members.add(self, &ast[pattern.selector], place, visibility(access));
            }
        }
        // A class method of the factory's name replaces it.
        let factory = ast[class.factory.selector].to_owned();
        class_side.visibilities.entry(factory).or_insert(Visibility::Public);
        ClassScope {
            id: definition,
            name: self.class_name(id),
            instance_members: instance.visibilities,
            class_members: class_side.visibilities,
            literal: is_literal.then(Default::default),
            outer_side,
        }
    }

    fn methods(&mut self, methods: &[MethodId], side: Side) -> Vec<Method> {
        let ast = self.ast;
        let compile = |&id: &MethodId| {
            let method = &ast[id];
            let selector = self.module.string(&ast[method.pattern.selector]);
            let function = self.method(id, side);
            Method { selector, visibility: visibility(method.access), function }
        };
        methods.iter().map(compile).collect()
    }

    fn method(&mut self, id: MethodId, side: Side) -> FunctionId {
        let ast = self.ast;
        let method = &ast[id];
        let class = self.classes.last().map_or("", |class| &class.name);
        let suffix = if side == Side::Class { " class" } else { "" };
        let name = format!("{class}{suffix}>>{}", &ast[method.pattern.selector]);
        self.open_method(name, side, &method.pattern.parameters, method.span.start);
        self.function().span = method.pattern.span;
        let locals = self.body_declarations(&method.body, &method.pattern.parameters);
        self.open_scope(&locals);
        self.method_begins(method.pattern.span);
        if self.statements(&method.body, None) {
            self.emit_own_return(Register(0));
        }
        let end = method.body.returned.map_or(method.pattern.span, |returned| returned.span);
        self.position_at_least(end);
        self.finish_function()
    }

    /// Opens a function with a receiver, in the innermost class.
    fn open_function(&mut self, name: String, side: Side, span: Span) {
        let depth = self.classes.len().saturating_sub(1);
        let function = FunctionScope::new(FunctionKind::Method, (name, span), depth, side);
        self.functions.push(function);
    }

    /// Opens a function with a receiver and parameters for the method or initializer with this key.
    fn open_method(&mut self, name: String, side: Side, parameters: &[Identifier], key: u32) {
        self.open_function(name, side, Span::from(key as usize..key as usize));
        self.function().parameters = parameters.len() as u8;
        let first = self.function().allocate_many(parameters.len());
        if self.analysis.has_returning_closure(key, false) {
            let home = self.function().allocate();
            self.function().emit(Opcode::MakeHome, &[home.into()]);
            self.function().home = Home::AtEntry(home);
        } else if self.analysis.has_returning_closure(key, true) {
            let home = self.function().allocate();
            self.function().home = Home::OnColdPaths(home);
        }
        let declarations = self.parameter_declarations(parameters, first);
        self.open_scope(&declarations);
    }
}

/// The members of one side.
#[derive(Default)]
struct Members {
    visibilities: HashMap<String, Visibility>,
    places: HashMap<String, Identifier>,
}

impl Members {
    fn add(
        &mut self,
        lowering: &mut Lowering<'_>,
        selector: &str,
        place: Identifier,
        visibility: Visibility,
    ) {
        if let Some(&first) = self.places.get(selector) {
            lowering.report_duplicate(place, first, "member");
        }
        self.places.insert(selector.to_owned(), place);
        self.visibilities.insert(selector.to_owned(), visibility);
    }
}

/// The functions that make classes.
impl Lowering<'_> {
    /// The function that evaluates the superclass clause for an enclosing object, makes the class
    /// object, and publishes it.
    fn accessor(&mut self, id: ClassId, definition: DefinitionId) -> FunctionId {
        let ast = self.ast;
        let name = format!("accessor of {}", self.class_name(id));
        self.open_function(name, Side::Instance, ast[id].span.before());
        let class = self.make_class(&ast[id], definition, &[]);
        if !self.classes.is_empty() {
            let site = self.function().builder.site(Site::ClassSlot(definition));
            let operands = [class.into(), Register(0).into(), class.into(), site.into()];
            self.function().emit(Opcode::PublishClass, &operands);
        }
        self.function().emit(Opcode::Return, &[class.into()]);
        self.finish_function()
    }

    /// Emits the making of a class object whose enclosing object is the receiver.
    fn make_class(
        &mut self,
        class: &Class,
        definition: DefinitionId,
        captured: &[Captured],
    ) -> Register {
        let destination = self.function().allocate();
        let parts = self.function().allocate_many(3 + class.mixins.len());
        let part = |index: usize| nth(parts, index);
        let receiver = self.self_register();
        self.function().emit_move(part(0), receiver);
        self.captures_context(captured, part(1));
        self.position(class.span.before());
        match &class.superclass {
            Some(_) if self.is_root(class) => {
                self.function().emit_special(part(2), Special::Nil);
            }
            Some(superclass) => _ = self.value(superclass.class, Some(part(2))),
            None => self.default_superclass(part(2)),
        }
        for (index, mixin) in class.mixins.iter().enumerate() {
            self.value(mixin.class, Some(part(3 + index)));
        }
        let count = (3 + class.mixins.len()) as i64;
        let operands =
            [destination.into(), parts.into(), count.into(), i64::from(definition.0).into()];
        self.function().emit(Opcode::MakeClass, &operands);
        destination
    }

    fn default_superclass(&mut self, destination: Register) {
        let top = self.function().top;
        let (depth, access) = self.implicit_receiver(DEFAULT_SUPERCLASS);
        let receiver = self.enclosing_object(depth);
        let operands = vec![destination.into(), receiver.into()];
        self.small_send(operands, DEFAULT_SUPERCLASS, access);
        self.function().release_to(top);
    }

    /// A context with the variables of the functions around it that an object literal's methods use, or nil.
    fn captures_context(&mut self, captured: &[Captured], destination: Register) {
        if captured.is_empty() {
            return self.function().emit_special(destination, Special::Nil);
        }
        let size = (captured.len() as i64).into();
        self.function().emit(Opcode::MakeContext, &[destination.into(), size]);
        for (index, &item) in captured.iter().enumerate() {
            let top = self.function().top;
            let register = self.function().allocate();
            self.read_item(item, register);
            let operands = [destination.into(), (index as i64).into(), register.into()];
            self.function().emit(Opcode::StoreContext, &operands);
            self.function().release_to(top);
        }
    }

    /// `objL …`: a new class, and an instance of it.
    pub fn object_literal(&mut self, id: ClassId, wanted: Option<Register>) -> Register {
        let ast = self.ast;
        let definition = self.reserve_definition(id);
        let (_, side) = self.place_in_classes();
        self.define(id, definition, None, side);
        let scope = self.classes.pop();
        let captured = scope.and_then(|scope| scope.literal).unwrap_or_default().items;
        let destination = self.destination(wanted);
        let top = self.function().top;
        let class = self.make_class(&ast[id], definition, &captured);
        self.position(ast[id].span.before());
        let selector = &ast[ast[id].factory.selector];
        self.small_send(vec![destination.into(), class.into()], selector, Access::Public);
        self.function().release_to(top);
        destination
    }
}

/// The functions that make instances.
impl Lowering<'_> {
    fn factory(&mut self, class: &Class) -> FunctionId {
        let (definition, name) = self.current_class();
        let selector = &self.ast[class.factory.selector];
        let parameters = &class.factory.parameters;
        let name = format!("{name} class>>{selector}");
        // The code is that of the initializer, so names mean what they mean on the instance side.
        self.open_method(name, Side::Instance, parameters, class.span.start);
        let instance = self.function().allocate();
        self.position(class.span.before());
        self.function().emit(Opcode::Instantiate, &[instance.into(), Register(0).into()]);
        self.function().self_register = instance;
        self.initialize_inherited(class, definition, instance);
        self.initialize_own(class, definition);
        self.function().emit(Opcode::CheckValue, &[instance.into()]);
        self.emit_own_return(instance);
        self.finish_function()
    }

    fn initializer(&mut self, class: &Class) -> FunctionId {
        let (definition, name) = self.current_class();
        let name = format!("initializer of {name}");
        self.open_method(name, Side::Instance, &class.factory.parameters, class.span.start);
        self.initialize_inherited(class, definition, Register(0));
        self.initialize_own(class, definition);
        self.emit_own_return(Register(0));
        self.finish_function()
    }

    fn own_initializer(&mut self, class: &Class) -> FunctionId {
        let (definition, name) = self.current_class();
        let name = format!("own initializer of {name}");
        self.open_method(name, Side::Instance, &class.factory.parameters, class.span.start);
        self.initialize_own(class, definition);
        self.emit_own_return(Register(0));
        self.finish_function()
    }

    fn current_class(&self) -> (DefinitionId, String) {
        let class = self.classes.last().expect("a class is being compiled");
        (class.id, class.name.clone())
    }

    /// The initializers of the superclass and the mixins, each answering the object to go on with.
    fn initialize_inherited(&mut self, class: &Class, definition: DefinitionId, object: Register) {
        if !self.is_root(class) {
            let access = Access::SuperInitializer(definition);
            self.send_initializer(class.superclass.as_ref(), access, object);
        }
        for (index, mixin) in class.mixins.iter().enumerate() {
            let access = Access::MixinInitializer(definition, index as u8);
            self.send_initializer(Some(mixin), access, object);
        }
    }

    /// Whether this is a root of the hierarchy, whose superclass is a name for nothing.
    fn is_root(&self, class: &Class) -> bool {
        let Some(superclass) = class.superclass.filter(|_| self.trusted) else { return false };
        match self.ast[superclass.class].kind {
            ExpressionKind::Send { receiver: Receiver::Implicit, message } => {
                self.ast[self.ast[message].selector] == *NO_SUPERCLASS
            }
            _ => false,
        }
    }

    fn send_initializer(
        &mut self,
        inheritance: Option<&Inheritance>,
        access: Access,
        object: Register,
    ) {
        let top = self.function().top;
        let addressee = super::expressions::Addressee { register: object, access };
        match inheritance.and_then(|inheritance| inheritance.initializer) {
            Some(message) => self.message(addressee, message, Some(object)),
            None => {
                let operands = vec![object.into(), object.into()];
                self.small_send(operands, DEFAULT_FACTORY, access);
            }
        }
        self.function().release_to(top);
    }

    /// Slot initialisers and initialiser expressions, in textual order.
    fn initialize_own(&mut self, class: &Class, definition: DefinitionId) {
        let ast = self.ast;
        for &id in &class.slots {
            let slot = &ast[id];
            if let Some(value) = slot.initializer {
                let top = self.function().top;
                let register = self.value(value, None);
                let object = self.self_register();
                let name = self.module.string(&ast[slot.name.name]);
                let site = Site::InitializeSlot(definition, name);
                let site = self.function().builder.site(site);
                self.position(slot.name.span);
                let operands = [object.into(), register.into(), site.into()];
                self.function().emit(Opcode::InitializeSlot, &operands);
                self.function().release_to(top);
            }
        }
        for &expression in &class.initializers {
            self.effect(expression);
        }
    }
}
