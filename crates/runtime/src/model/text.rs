//! The text of a loaded module: bytecode in memory, or an image whose functions and class definitions are decoded on
//! request. Modules read it.
//!
//! Modules of programs are decoded as a whole, since they are verified. The library's images were
//! written and verified when the VM was built, and a program uses a small part of them.

use std::borrow::Cow;
use std::sync::OnceLock;

use squall_bytecode::adapters;
use squall_bytecode::entities::{ClassId, FunctionId, StringId};
use squall_bytecode::format::ModuleImage;
use squall_bytecode::module::{ClassDefinition, Export, Function, Import, Module};
use squall_bytecode::types::{RegisterType, TypeDefinition};

/// The text of a loaded module.
pub struct ModuleText(Form);

enum Form {
    /// The module, and where its adapters begin.
    Whole(Module, usize),
    Image(Image),
}

struct Image {
    image: ModuleImage<'static>,
    functions: Box<[OnceLock<Box<Function>>]>,
    classes: Box<[OnceLock<Box<ClassDefinition>>]>,
}

const WRITTEN_BY_US: &str = "a library image is what our own encoder wrote";

impl ModuleText {
    /// Whether it is an image, which only modules of the library are.
    pub fn is_image(&self) -> bool {
        matches!(self.0, Form::Image(_))
    }

    /// The text of a string of the module; the empty string if there is none.
    pub fn string(&self, id: StringId) -> &str {
        match &self.0 {
            Form::Whole(module, _) => module.string(id),
            Form::Image(image) => image.image.string(id),
        }
    }

    /// How many strings there are.
    pub fn string_count(&self) -> usize {
        match &self.0 {
            Form::Whole(module, _) => module.strings.len(),
            Form::Image(image) => image.image.string_count(),
        }
    }

    /// The text of the module's path; the empty string if it has none.
    pub fn path_text(&self) -> &str {
        let path = match &self.0 {
            Form::Whole(module, _) => module.path,
            Form::Image(image) => image.image.path(),
        };
        path.map_or("", |id| self.string(id))
    }

    /// The index of the first adapter, through which the module's exports are called with objects.
    pub fn first_adapter(&self) -> Option<usize> {
        match &self.0 {
            Form::Whole(_, first) => Some(*first),
            Form::Image(_) => None,
        }
    }

    /// The row of the type table that a type names, if it does. Images have no such table.
    pub fn type_definition(&self, kind: RegisterType) -> Option<&TypeDefinition> {
        match &self.0 {
            Form::Whole(module, _) => module.definition(kind),
            Form::Image(_) => None,
        }
    }

    /// The definition that loading the module answers, if it has one.
    pub fn main_class(&self) -> Option<ClassId> {
        match &self.0 {
            Form::Whole(module, _) => module.main_class,
            Form::Image(image) => image.image.main_class(),
        }
    }

    /// The name by which others import from the module.
    pub fn name(&self) -> Option<&str> {
        let name = match &self.0 {
            Form::Whole(module, _) => module.name,
            Form::Image(image) => image.image.name(),
        };
        name.map(|id| self.string(id))
    }

    /// The module's version.
    pub fn version(&self) -> Option<&str> {
        let version = match &self.0 {
            Form::Whole(module, _) => module.version,
            Form::Image(image) => image.image.version(),
        };
        version.map(|id| self.string(id))
    }

    /// The functions that the module imports.
    pub fn imports(&self) -> &[Import] {
        match &self.0 {
            Form::Whole(module, _) => &module.imports,
            Form::Image(image) => image.image.imports(),
        }
    }

    /// The functions that other modules can import from it.
    pub fn exports(&self) -> &[Export] {
        match &self.0 {
            Form::Whole(module, _) => &module.exports,
            Form::Image(image) => image.image.exports(),
        }
    }

    /// The type table.
    pub fn types(&self) -> &[TypeDefinition] {
        match &self.0 {
            Form::Whole(module, _) => &module.types,
            Form::Image(image) => image.image.types(),
        }
    }

    /// A function of the module.
    pub fn function(&self, id: FunctionId) -> &Function {
        match &self.0 {
            Form::Whole(module, _) => &module.functions[id.index()],
            Form::Image(image) => image.functions[id.index()]
                .get_or_init(|| Box::new(image.image.function(id).expect(WRITTEN_BY_US))),
        }
    }

    /// How many functions there are.
    pub fn function_count(&self) -> usize {
        match &self.0 {
            Form::Whole(module, _) => module.functions.len(),
            Form::Image(image) => image.functions.len(),
        }
    }

    /// A class definition of the module.
    pub fn class(&self, id: ClassId) -> &ClassDefinition {
        match &self.0 {
            Form::Whole(module, _) => &module.classes[id.index()],
            Form::Image(image) => image.classes[id.index()]
                .get_or_init(|| Box::new(image.image.class(id).expect(WRITTEN_BY_US))),
        }
    }

    /// How many class definitions there are.
    pub fn class_count(&self) -> usize {
        match &self.0 {
            Form::Whole(module, _) => module.classes.len(),
            Form::Image(image) => image.classes.len(),
        }
    }

    /// All of it.
    pub fn whole(&self) -> Cow<'_, Module> {
        match &self.0 {
            Form::Whole(module, _) => Cow::Borrowed(module),
            Form::Image(image) => Cow::Owned(image.image.to_module().expect(WRITTEN_BY_US)),
        }
    }
}

/// The text of a verified module. Its exports get adapters.
impl From<Module> for ModuleText {
    fn from(mut module: Module) -> ModuleText {
        let first = adapters::add(&mut module);
        ModuleText(Form::Whole(module, first))
    }
}

/// From an image that the VM trusts.
impl From<ModuleImage<'static>> for ModuleText {
    fn from(image: ModuleImage<'static>) -> ModuleText {
        fn cells<T>(count: usize) -> Box<[OnceLock<T>]> {
            (0..count).map(|_| OnceLock::new()).collect()
        }
        ModuleText(Form::Image(Image {
            functions: cells(image.function_count()),
            classes: cells(image.class_count()),
            image,
        }))
    }
}
