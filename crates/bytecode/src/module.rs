//! A module in memory: functions, class definitions, and the tables they index. Compilers make it, and the runtime
//! loads it.
//!
//! These are plain data, possibly wrong: a module is safe to run only after the verifier has
//! accepted it. Nothing here knows objects or a heap.
//!
//! # Class definitions
//!
//! A [`ClassDefinition`] is the text of a class. At run time it produces class objects, one per
//! enclosing object. Five kinds of function hang off it:
//!
//! | function | receiver | task |
//! |---|---|---|
//! | accessor | the enclosing object | evaluates the superclass clause, makes the class object and publishes it |
//! | factory | the class object | instantiates, runs the initializer, checks value classes |
//! | initializer | the new object | runs the superclass's and the mixins' initializers, then the own one |
//! | own initializer | the new object | slot initialisers and initialiser expressions, in order |
//! | methods | an instance, or the class object | |
//!
//! Factory and both initializers take the arguments of the class header. When a class is applied
//! as a mixin, only its own initializer runs.
//!
//! # Linking
//!
//! A module can have a name and a version, *export* functions by name, and *import* functions of
//! other modules by name, version and type. An imported function is one of the module's functions
//! that an [`Import`] lists: it has parameters and a result, but no code.

use num_bigint::BigInt;

use crate::entities::{ClassId, FunctionId, Register, StringId};
use crate::types::{RegisterType, TypeDefinition};

/// The path of a file as a module has it: control characters are escaped, since reports show it as it is.
pub fn path_of(file: &str) -> String {
    if file.chars().any(char::is_control) {
        file.escape_debug().to_string()
    } else {
        file.to_owned()
    }
}

/// A compiled module.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Module {
    /// Names, selectors, string literals, and the module's own path; no duplicates.
    pub strings: Vec<String>,
    /// The path of the source file as the compiler was told it.
    pub path: Option<StringId>,
    /// The name by which other modules import from it.
    pub name: Option<StringId>,
    /// Its version (Semantic Versioning 2.0.0), which imports ask for.
    pub version: Option<StringId>,
    /// Types that are no basic ones; each refers to earlier ones only.
    pub types: Vec<TypeDefinition>,
    /// The functions that it imports.
    pub imports: Vec<Import>,
    /// The functions that other modules can import from it.
    pub exports: Vec<Export>,
    /// Functions: bodies, and those that are imported.
    pub functions: Vec<Function>,
    /// Class definitions.
    pub classes: Vec<ClassDefinition>,
    /// The definition that loading the module answers, if it has one.
    pub main_class: Option<ClassId>,
}

impl Module {
    /// The text of a string of this module; the empty string if there is none.
    pub fn string(&self, id: StringId) -> &str {
        self.strings.get(id.index()).map_or("", String::as_str)
    }

    /// The text of the module's path; the empty string if it has none.
    pub fn path_text(&self) -> &str {
        self.path.map_or("", |id| self.string(id))
    }

    /// The row of the type table that a type names, if it does and there is one.
    pub fn definition(&self, kind: RegisterType) -> Option<&TypeDefinition> {
        self.types.get(kind.defined()?.index())
    }

    /// The function that is exported under this name.
    pub fn export(&self, name: &str) -> Option<FunctionId> {
        let mut exports = self.exports.iter();
        exports.find(|export| self.string(export.name) == name).map(|export| export.function)
    }
}

/// The imports of a module from another one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Import {
    /// The name of the other module.
    pub module: StringId,
    /// Which versions of it will do, as Cargo writes it (`^1.2`); none for any, or none at all.
    pub requirement: Option<StringId>,
    /// The functions that stand for the exports with their names.
    pub functions: Vec<FunctionId>,
}

/// An export of a module.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Export {
    /// The name by which it is imported.
    pub name: StringId,
    /// The function.
    pub function: FunctionId,
}

/// The kind of a function's first register, and the ways to call the function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum FunctionKind {
    /// `r0` is the receiver, the parameters follow.
    Method = 0,
    /// `r0` is the closure, the parameters follow. Only run through its closures.
    Block = 1,
    /// The parameters start at `r0`.
    Plain = 2,
    /// As for functions; it has no result, and runs in a strand of its own.
    Process = 3,
}

impl FunctionKind {
    /// Every kind, in the order of its code.
    pub const ALL: [FunctionKind; 4] =
        [FunctionKind::Method, FunctionKind::Block, FunctionKind::Plain, FunctionKind::Process];

    /// The name in the text form.
    pub fn name(self) -> &'static str {
        ["method", "block", "function", "process"][self as usize]
    }

    /// Whether `r0` is a receiver or a closure, ahead of the parameters.
    pub fn has_receiver(self) -> bool {
        matches!(self, FunctionKind::Method | FunctionKind::Block)
    }

    /// Whether functions of this kind can be imported and exported.
    pub fn is_linkable(self) -> bool {
        matches!(self, FunctionKind::Plain | FunctionKind::Process)
    }
}

/// A function: its frame's shape, its code, and the tables that the code refers to.
#[derive(Clone, PartialEq, Debug)]
pub struct Function {
    /// For traces: a selector, or a description such as `block in foo:`.
    pub name: StringId,
    /// The kind of `r0`.
    pub kind: FunctionKind,
    /// Parameters, not counting the receiver or closure.
    pub parameters: u8,
    /// Captured values a closure of this block function holds; 0 for the other kinds.
    pub captured: u16,
    /// The type of each register; the length is the frame's size in words.
    pub registers: Vec<RegisterType>,
    /// The type of the result.
    pub result: RegisterType,
    /// The register that holds this activation's marker from `make_home` on, for unwinding.
    pub home: Option<Register>,
    /// Literals.
    pub constants: Vec<Constant>,
    /// Places with an inline cache.
    pub sites: Vec<Site>,
    /// Exception regions; of two that contain a pc, the earlier in this list is the inner one.
    pub regions: Vec<Region>,
    /// Instructions; see [`crate::instructions`]. Imported functions have none.
    pub code: Vec<u32>,
    /// Source positions, by ascending pc; each holds until the next.
    pub lines: Vec<LineEntry>,
}

impl Function {
    /// Registers that hold arguments on entry: the receiver or closure if any, and the parameters.
    pub fn arguments(&self) -> usize {
        usize::from(self.parameters) + usize::from(self.kind.has_receiver())
    }

    /// Whether the function stands for one of another module.
    pub fn is_imported(&self) -> bool {
        self.code.is_empty()
    }

    /// The source position of the instruction at `pc`.
    pub fn position(&self, pc: usize) -> Option<LineEntry> {
        let after = self.lines.partition_point(|entry| entry.pc as usize <= pc);
        after.checked_sub(1).map(|index| self.lines[index])
    }
}

/// A literal.
#[derive(Clone, PartialEq, Debug)]
pub enum Constant {
    /// An integer of any size.
    Integer(BigInt),
    /// A double.
    Double(f64),
    /// A string.
    String(StringId),
    /// A symbol.
    Symbol(StringId),
    /// The bits of a typed register; [`RegisterType::Any`] is not allowed.
    Raw(RegisterType, u64),
}

/// Which members of a receiver a send can reach.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Access {
    /// An ordinary send: public members.
    Public,
    /// A lexically bound send: protected and public members.
    Lexical,
    /// The private member that this definition declares.
    Private(ClassId, Side),
    /// Protected and public members, starting above the class this definition produced.
    Super(ClassId, Side),
    /// The initializer of the class this definition produced.
    Initializer(ClassId),
    /// The own initializer of the class this definition produced.
    OwnInitializer(ClassId),
    /// The initializer of its superclass, if the selector is that class's primary factory.
    SuperInitializer(ClassId),
    /// The own initializer of its mixin with this index, if the selector is that one's primary factory.
    MixinInitializer(ClassId, u8),
}

/// The two halves of a class body.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Side {
    /// Members of instances.
    Instance,
    /// Members of the class object.
    Class,
}

/// A place in a function that owns an inline cache.
#[derive(Clone, PartialEq, Eq, Debug, Hash)]
pub enum Site {
    /// A message send. The number of arguments follows from the selector.
    Send {
        /// The selector.
        selector: StringId,
        /// Which members it reaches.
        access: Access,
    },
    /// The object enclosing the class that this definition produced.
    Enclosing(ClassId, Side),
    /// The captured variables of the class that this object literal's definition produced.
    Captures(ClassId),
    /// The slot of this name that this definition declares.
    InitializeSlot(ClassId, StringId),
    /// The hidden slot, in instances of the enclosing definition, for this nested class.
    ClassSlot(ClassId),
}

/// How many arguments a selector takes beside the receiver.
pub fn selector_arity(selector: &str) -> usize {
    let colons = selector.bytes().filter(|&byte| byte == b':').count();
    match selector.chars().next() {
        Some(first) if !(first.is_alphanumeric() || first == '_') => 1,
        _ => colons,
    }
}

/// A range of code with a handler.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Region {
    /// The first pc inside.
    pub start: u32,
    /// The first pc after it.
    pub end: u32,
    /// Where handling starts; not inside the region.
    pub handler: u32,
    /// An `any` register that receives the exception, or for [`RegionKind::Ensure`] the token.
    pub value: Register,
    /// The exceptions that it handles.
    pub kind: RegionKind,
}

/// The exceptions that a region handles.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RegionKind {
    /// Exceptions whose class, or a superclass of it, has the definition of the class in this register.
    Catch(Register),
    /// Exceptions that are this fault.
    Fault(Fault),
    /// Every unwinding; the handler ends with `resume_unwind` on the token.
    Ensure,
}

/// A kind of exception, for code that knows no classes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Fault {
    /// Every exception.
    Any = 0,
    /// A division of integers by zero.
    ZeroDivide = 1,
    /// An integer that does not fit its type.
    Overflow = 2,
    /// A channel that is poisoned.
    Poison = 3,
    /// A stack that may not grow.
    StackOverflow = 4,
    /// A heap that is full.
    OutOfMemory = 5,
    /// An index that is outside of a list.
    IndexError = 6,
    /// A key that is not in a map.
    KeyError = 7,
    /// A value that `raise` signals.
    Raised = 8,
}

impl Fault {
    /// Every fault, in the order of its code.
    pub const ALL: [Fault; 9] = [
        Fault::Any,
        Fault::ZeroDivide,
        Fault::Overflow,
        Fault::Poison,
        Fault::StackOverflow,
        Fault::OutOfMemory,
        Fault::IndexError,
        Fault::KeyError,
        Fault::Raised,
    ];

    /// The name in the text form.
    pub fn name(self) -> &'static str {
        const NAMES: [&str; 9] = [
            "Any",
            "ZeroDivide",
            "Overflow",
            "Poison",
            "StackOverflow",
            "OutOfMemory",
            "IndexError",
            "KeyError",
            "Raised",
        ];
        NAMES[self as usize]
    }
}

/// From `pc` on, code comes from this position.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LineEntry {
    /// A word index into the code.
    pub pc: u32,
    /// Counting from 1.
    pub line: u32,
    /// In characters, counting from 1.
    pub column: u32,
}

/// The code that may send a message which reaches a member.
#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Visibility {
    /// The declaring class's own text.
    Private = 0,
    /// The object itself, its subclasses and the text nested in them.
    Protected = 1,
    /// All code.
    Public = 2,
}

impl Visibility {
    /// Every visibility, in the order of its code.
    pub const ALL: [Visibility; 3] =
        [Visibility::Private, Visibility::Protected, Visibility::Public];

    /// The name in the text form.
    pub fn name(self) -> &'static str {
        ["private", "protected", "public"][self as usize]
    }
}

/// A slot declaration.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Slot {
    /// Its name, also its reader's selector.
    pub name: StringId,
    /// Whether it has a setter.
    pub mutable: bool,
    /// The visibility of the accessors.
    pub visibility: Visibility,
}

/// A method declaration.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Method {
    /// The selector.
    pub selector: StringId,
    /// The visibility of the method.
    pub visibility: Visibility,
    /// The body: a function of kind [`FunctionKind::Method`].
    pub function: FunctionId,
}

/// A class definition.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ClassDefinition {
    /// Its name.
    pub name: StringId,
    /// The definition whose body contains it; none for a module's main class.
    pub outer: Option<ClassId>,
    /// The visibility of the message that answers the class object.
    pub visibility: Visibility,
    /// Makes the class object; none for object literals, whose method makes it in place.
    pub accessor: Option<FunctionId>,
    /// The selector of the primary factory.
    pub factory_selector: StringId,
    /// The primary factory.
    pub factory: FunctionId,
    /// The initializer.
    pub initializer: FunctionId,
    /// The own initializer.
    pub own_initializer: FunctionId,
    /// Slots, in textual order.
    pub slots: Vec<Slot>,
    /// Nested classes, in textual order.
    pub nested: Vec<ClassId>,
    /// Instance-side methods.
    pub methods: Vec<Method>,
    /// Class-side methods, without the primary factory.
    pub class_methods: Vec<Method>,
    /// Where it is declared: line and column, counting from 1.
    pub position: (u32, u32),
}

impl ClassDefinition {
    /// A definition with a name and nothing else, which takes its place in the module before its parts are known.
    pub fn incomplete(name: StringId, visibility: Visibility) -> ClassDefinition {
        ClassDefinition {
            name,
            outer: None,
            visibility,
            accessor: None,
            factory_selector: name,
            factory: FunctionId(0),
            initializer: FunctionId(0),
            own_initializer: FunctionId(0),
            slots: Vec::new(),
            nested: Vec::new(),
            methods: Vec::new(),
            class_methods: Vec::new(),
            position: (0, 0),
        }
    }
}
