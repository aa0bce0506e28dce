//! Resolves paths to items of the program, through modules and `use` declarations. The evaluator and the types' syntax
//! ([`super::signatures`]) look names up here.

use super::program::{FunctionId, ModuleId, Program, TypeId, TypeKey, TypeKind};
use super::types::Type;

/// The item that a path leads to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Meaning {
    Module(ModuleId),
    Type(TypeId),
    Function(FunctionId),
    /// A constant or static in this module.
    Constant(ModuleId),
}

/// The name space to look a name up in: types or values.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Space {
    Types,
    Values,
}

/// The longest chain of `use` declarations that is followed.
const DEPTH: usize = 12;

impl Program {
    /// Resolves the longest prefix of a path that names an item. Answers the item and the number of names in the
    /// prefix.
    pub fn resolve(
        &self,
        from: ModuleId,
        path: &[String],
        space: Space,
    ) -> Option<(Meaning, usize)> {
        self.resolve_within(from, path, space, DEPTH)
    }

    fn resolve_within(
        &self,
        from: ModuleId,
        path: &[String],
        space: Space,
        depth: usize,
    ) -> Option<(Meaning, usize)> {
        let depth = depth.checked_sub(1)?;
        let own = &self.modules[from.0];
        let first = path.first()?;
        let is_last = |index: usize| index + 1 == path.len();
        let space_at = |index| if is_last(index) { space } else { Space::Types };
        let mut meaning = match first.as_str() {
            "crate" => Meaning::Module(own.root),
            "self" => Meaning::Module(from),
            "super" => Meaning::Module(own.parent?),
            name => match self.named(from, name, space_at(0), depth) {
                Some(meaning) => meaning,
                None => Meaning::Module(*self.crates.get(name)?),
            },
        };
        for (index, name) in path.iter().enumerate().skip(1) {
            let Meaning::Module(module) = meaning else { return Some((meaning, index)) };
            meaning = match name.as_str() {
                "super" => Meaning::Module(self.modules[module.0].parent?),
                name => self.named(module, name, space_at(index), depth)?,
            };
        }
        Some((meaning, path.len()))
    }

    /// The item that a name stands for in a module.
    fn named(&self, module: ModuleId, name: &str, space: Space, depth: usize) -> Option<Meaning> {
        let depth = depth.checked_sub(1)?;
        let own = &self.modules[module.0];
        let found = match space {
            Space::Types => {
                let inner = own.modules.get(name).map(|id| Meaning::Module(*id));
                own.types.get(name).map(|id| Meaning::Type(*id)).or(inner)
            }
            Space::Values => {
                let function = own.functions.get(name).map(|id| Meaning::Function(*id));
                let constant = own.constants.get(name).map(|_| Meaning::Constant(module));
                let constructor = own.types.get(name).map(|id| Meaning::Type(*id));
                function.or(constant).or(constructor)
            }
        };
        let imported = || {
            let imports = own.imports.iter().filter(|(alias, _)| alias == name);
            let mut meanings = imports.filter_map(|(_, path)| {
                let (meaning, length) = self.resolve_within(module, path, space, depth)?;
                (length == path.len()).then_some(meaning)
            });
            meanings.next()
        };
        let brought = || {
            own.globs.iter().find_map(|path| {
                match self.resolve_within(module, path, Space::Types, depth)? {
                    (Meaning::Module(other), length) if length == path.len() && other != module => {
                        self.named(other, name, space, depth)
                    }
                    _ => None,
                }
            })
        };
        found.or_else(imported).or_else(brought)
    }

    /// The enum and variant that a path names, through the enum or through a `use` of it.
    pub fn variant(&self, module: ModuleId, path: &[String]) -> Option<(TypeId, usize)> {
        let (name, of) = path.split_last()?;
        let named = |id: TypeId, name: &str| {
            let fields = self.types[id.0].fields.iter();
            let is_enum = matches!(self.types[id.0].kind, TypeKind::Enum);
            let index = fields.enumerate().find(|(_, fields)| fields.variant == *name)?.0;
            is_enum.then_some((id, index))
        };
        if !of.is_empty() {
            let (Meaning::Type(id), length) = self.resolve(module, of, Space::Types)? else {
                return None;
            };
            let id = self.unaliased(module, id);
            return if length == of.len() { named(id, name) } else { None };
        }
        let own = &self.modules[module.0];
        let imported = own.imports.iter().filter(|(alias, path)| alias == name && path.len() > 1);
        let globs =
            own.globs.iter().filter_map(|path| match self.resolve(module, path, Space::Types)? {
                (Meaning::Type(id), length) if length == path.len() => named(id, name),
                _ => None,
            });
        imported.filter_map(|(_, path)| self.variant(module, path)).chain(globs).next()
    }

    /// The type that an alias stands for.
    pub fn unaliased(&self, module: ModuleId, id: TypeId) -> TypeId {
        match &self.types[id.0].kind {
            TypeKind::Alias(ty) => match self.lower_in(module, &syn::Generics::default(), None, ty)
            {
                Type::Own(other, _) => other,
                _ => id,
            },
            _ => id,
        }
    }

    /// The type of the program that a path names, if there is one.
    pub fn type_at(&self, module: ModuleId, path: &syn::Path) -> Option<TypeId> {
        let names: Vec<String> = names(path);
        match self.resolve(module, &names, Space::Types)? {
            (Meaning::Type(id), length) if length == names.len() => Some(id),
            _ => None,
        }
    }

    /// The key under which the methods of a type are stored.
    pub fn key(&self, ty: &Type) -> Option<TypeKey> {
        match ty.peeled() {
            Type::Own(id, _) => Some(TypeKey::Own(*id)),
            Type::Foreign(name, _) => Some(TypeKey::Foreign(name.clone())),
            _ => None,
        }
    }
}

/// The names in a path.
pub fn names(path: &syn::Path) -> Vec<String> {
    path.segments.iter().map(|segment| segment.ident.to_string()).collect()
}
