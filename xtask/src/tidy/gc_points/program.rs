//! The program under analysis: modules, types and functions of some crates, as their sources declare them.
//! [`super::findings`] reads it once with [`read`]; all other modules look things up in it.
//!
//! Tests are left out. An item inside of a function's body counts as an item of the module.

use std::collections::HashMap;
use std::rc::Rc;

use syn::spanned::Spanned;
use syn::visit::Visit;

use super::types::Type;

/// A module, by its index.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ModuleId(pub usize);

/// A struct, enum, trait or alias, by its index.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct TypeId(pub usize);

/// A function or method, by its index.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct FunctionId(pub usize);

/// Everything that was read from the sources.
#[derive(Default)]
pub struct Program {
    pub modules: Vec<Module>,
    pub types: Vec<TypeItem>,
    pub functions: Vec<Function>,
    /// The root modules, by the names that other crates use.
    pub crates: HashMap<String, ModuleId>,
    /// Methods and associated functions, by their type and name.
    pub methods: HashMap<(TypeKey, String), Vec<FunctionId>>,
    /// Associated constants.
    pub constants: HashMap<(TypeKey, String), Type>,
    /// All functions with a receiver, by name.
    pub by_name: HashMap<String, Vec<FunctionId>>,
    /// The type that a type dereferences to.
    pub targets: HashMap<TypeId, Type>,
    /// The traits that a type implements.
    pub traits: HashMap<TypeKey, Vec<TypeId>>,
}

/// The key by which the methods of a type are found.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum TypeKey {
    /// A type of the program.
    Own(TypeId),
    /// A type of a library.
    Foreign(String),
}

/// A module and the names in it.
pub struct Module {
    pub parent: Option<ModuleId>,
    /// The crate's root module.
    pub root: ModuleId,
    pub modules: HashMap<String, ModuleId>,
    pub types: HashMap<String, TypeId>,
    pub functions: HashMap<String, FunctionId>,
    /// The types of constants and statics.
    pub constants: HashMap<String, syn::Type>,
    /// Names that `use` imports: the name in this module, and the path.
    pub imports: Vec<(String, Vec<String>)>,
    /// The paths of `use` declarations with `*`.
    pub globs: Vec<Vec<String>>,
    /// The path of the source file.
    pub path: String,
}

/// A type of the program.
pub struct TypeItem {
    pub name: String,
    pub module: ModuleId,
    pub generics: syn::Generics,
    pub kind: TypeKind,
    /// The fields of the struct, or of each variant of the enum.
    pub fields: Vec<Fields>,
    /// Whether values of this type hold words that the collector does not update.
    pub bears: bool,
    /// Whether the collector updates the words in values of this type.
    pub is_rooted: bool,
    /// Whether exclusive access to a value of this type gives the right to let the collector run.
    pub collects: bool,
}

/// The kind of a type.
pub enum TypeKind {
    Struct,
    Enum,
    Trait,
    Alias(Box<syn::Type>),
}

/// The fields of a struct or of an enum's variant.
#[derive(Default)]
pub struct Fields {
    /// The variant's name; empty for a struct.
    pub variant: String,
    pub names: Vec<String>,
    pub syntax: Vec<syn::Type>,
    pub types: Vec<Type>,
}

/// A function or method.
pub struct Function {
    pub name: String,
    pub module: ModuleId,
    pub line: usize,
    pub last_line: usize,
    pub signature: syn::Signature,
    /// The generics of the `impl` or trait around it.
    pub outer: syn::Generics,
    /// The type that `Self` stands for.
    pub self_syntax: Option<syn::Type>,
    /// The trait that declares the function.
    pub declared_in: Option<TypeId>,
    pub body: Option<Rc<syn::Block>>,
    pub documentation: String,
    /// The parameters' types, the receiver first.
    pub inputs: Vec<Type>,
    pub output: Type,
    pub self_type: Option<Type>,
}

impl Function {
    /// Whether its first parameter is a receiver.
    pub fn has_receiver(&self) -> bool {
        self.signature.receiver().is_some()
    }
}

/// An `impl` block, which is read when all names are known.
struct Implementation {
    module: ModuleId,
    item: syn::ItemImpl,
    /// Whether only the signatures of its functions are of interest.
    is_bodiless: bool,
}

/// Reads source files, which are pairs of path and text. In the crates in `signatures_only`, it reads signatures only.
pub fn read(files: &[(&str, &str)], signatures_only: &[&str]) -> Result<Program, String> {
    let mut reader = Reader::default();
    for (path, text) in files {
        let file = syn::parse_file(text)
            .map_err(|error| format!("{path}:{}: {error}", error.span().start().line))?;
        let module = reader.module_of_file(path);
        let first = reader.program.functions.len();
        let first_implementation = reader.implementations.len();
        reader.items(module, &file.items);
        if signatures_only.iter().any(|name| path.starts_with(&format!("crates/{name}/"))) {
            reader.forget_bodies(first, first_implementation);
        }
    }
    Ok(reader.finish())
}

#[derive(Default)]
struct Reader {
    program: Program,
    implementations: Vec<Implementation>,
}

impl Reader {
    /// The module of `crates/name/src/a/b.rs`.
    fn module_of_file(&mut self, path: &str) -> ModuleId {
        let rest = path.strip_prefix("crates/").unwrap_or(path);
        let (folder, inner) = rest.split_once("/src/").unwrap_or((rest, "lib.rs"));
        let name = if folder == "squall" { folder.to_owned() } else { format!("squall_{folder}") };
        let root = match self.program.crates.get(&name) {
            Some(root) => *root,
            None => {
                let root = self.add_module(None, path);
                self.program.crates.insert(name, root);
                root
            }
        };
        let inner = inner.trim_end_matches(".rs");
        let parts = inner.split('/').filter(|part| !["lib", "mod", "main"].contains(part));
        let module = parts.fold(root, |module, part| self.child(module, part, path));
        path.clone_into(&mut self.program.modules[module.0].path);
        module
    }

    /// Removes the bodies of the functions that were read last.
    fn forget_bodies(&mut self, first: usize, first_implementation: usize) {
        self.program.functions[first..].iter_mut().for_each(|function| function.body = None);
        let implementations = &mut self.implementations[first_implementation..];
        implementations.iter_mut().for_each(|implementation| implementation.is_bodiless = true);
    }

    fn add_module(&mut self, parent: Option<ModuleId>, path: &str) -> ModuleId {
        let id = ModuleId(self.program.modules.len());
        let root = parent.map_or(id, |parent| self.program.modules[parent.0].root);
        self.program.modules.push(Module {
            parent,
            root,
            modules: HashMap::new(),
            types: HashMap::new(),
            functions: HashMap::new(),
            constants: HashMap::new(),
            imports: Vec::new(),
            globs: Vec::new(),
            path: path.to_owned(),
        });
        id
    }

    fn child(&mut self, parent: ModuleId, name: &str, path: &str) -> ModuleId {
        if let Some(module) = self.program.modules[parent.0].modules.get(name) {
            return *module;
        }
        let module = self.add_module(Some(parent), path);
        self.program.modules[parent.0].modules.insert(name.to_owned(), module);
        module
    }

    fn items(&mut self, module: ModuleId, items: &[syn::Item]) {
        items.iter().for_each(|item| self.item(module, item));
    }

    fn item(&mut self, module: ModuleId, item: &syn::Item) {
        match item {
            syn::Item::Mod(item) if !is_for_tests(&item.attrs) => {
                if let Some((_, items)) = &item.content {
                    let path = self.program.modules[module.0].path.clone();
                    let inner = self.child(module, &item.ident.to_string(), &path);
                    self.items(inner, items);
                }
            }
            syn::Item::Struct(item) => {
                let fields = vec![fields(String::new(), &item.fields)];
                self.add_type(module, &item.ident, &item.generics, TypeKind::Struct, fields);
            }
            syn::Item::Enum(item) => {
                let variants = item.variants.iter();
                let variants =
                    variants.map(|variant| fields(variant.ident.to_string(), &variant.fields));
                let variants = variants.collect();
                self.add_type(module, &item.ident, &item.generics, TypeKind::Enum, variants);
            }
            syn::Item::Type(item) => {
                let kind = TypeKind::Alias(item.ty.clone());
                self.add_type(module, &item.ident, &item.generics, kind, Vec::new());
            }
            syn::Item::Trait(item) => self.add_trait(module, item),
            syn::Item::Fn(item) if !is_for_tests(&item.attrs) => {
                let function = function(module, &item.sig, Some(&item.block), &item.attrs);
                let id = self.add_function(function);
                let names = &mut self.program.modules[module.0].functions;
                names.insert(item.sig.ident.to_string(), id);
                self.items_inside(module, &item.block);
            }
            syn::Item::Const(item) => self.add_constant(module, &item.ident, &item.ty),
            syn::Item::Static(item) => self.add_constant(module, &item.ident, &item.ty),
            syn::Item::Use(item) => self.import(module, &item.tree, &mut Vec::new()),
            syn::Item::Impl(item) if !is_for_tests(&item.attrs) => {
                self.implementations.push(Implementation {
                    module,
                    item: item.clone(),
                    is_bodiless: false,
                });
            }
            _ => {}
        }
    }

    /// Adds the items inside of a function's body.
    fn items_inside(&mut self, module: ModuleId, block: &syn::Block) {
        struct Inner(Vec<syn::Item>);
        impl<'a> Visit<'a> for Inner {
            fn visit_item(&mut self, item: &'a syn::Item) {
                self.0.push(item.clone());
            }
        }
        let mut inner = Inner(Vec::new());
        inner.visit_block(block);
        self.items(module, &inner.0);
    }

    fn add_type(
        &mut self,
        module: ModuleId,
        name: &syn::Ident,
        generics: &syn::Generics,
        kind: TypeKind,
        fields: Vec<Fields>,
    ) -> TypeId {
        let id = TypeId(self.program.types.len());
        let (bears, is_rooted, collects) = (false, false, false);
        let (name, generics) = (name.to_string(), generics.clone());
        self.program.modules[module.0].types.insert(name.clone(), id);
        let item = TypeItem { name, module, generics, kind, fields, bears, is_rooted, collects };
        self.program.types.push(item);
        id
    }

    fn add_trait(&mut self, module: ModuleId, item: &syn::ItemTrait) {
        let id = self.add_type(module, &item.ident, &item.generics, TypeKind::Trait, Vec::new());
        for inner in &item.items {
            if let syn::TraitItem::Fn(method) = inner {
                let body = method.default.as_ref();
                let function = function(module, &method.sig, body, &method.attrs);
                let name = item.ident.clone();
                let function = Function {
                    outer: item.generics.clone(),
                    self_syntax: Some(syn::parse_quote!(#name)),
                    declared_in: Some(id),
                    ..function
                };
                let method = self.add_function(function);
                self.add_method(TypeKey::Own(id), method);
            }
        }
    }

    fn add_constant(&mut self, module: ModuleId, name: &syn::Ident, ty: &syn::Type) {
        self.program.modules[module.0].constants.insert(name.to_string(), ty.clone());
    }

    fn import(&mut self, module: ModuleId, tree: &syn::UseTree, path: &mut Vec<String>) {
        let mut bring = |name: String, path: &[String]| {
            self.program.modules[module.0].imports.push((name, path.to_vec()));
        };
        match tree {
            syn::UseTree::Path(inner) => {
                path.push(inner.ident.to_string());
                self.import(module, &inner.tree, path);
                path.pop();
            }
            syn::UseTree::Name(name) if name.ident == "self" => {
                bring(path.last().cloned().unwrap_or_default(), path);
            }
            syn::UseTree::Name(name) => {
                let name = name.ident.to_string();
                let path = [path.as_slice(), std::slice::from_ref(&name)].concat();
                bring(name, &path);
            }
            syn::UseTree::Rename(renamed) => {
                let original = renamed.ident.to_string();
                let mut path = path.clone();
                path.extend((original != "self").then_some(original));
                bring(renamed.rename.to_string(), &path);
            }
            syn::UseTree::Glob(_) => self.program.modules[module.0].globs.push(path.clone()),
            syn::UseTree::Group(group) => {
                group.items.iter().for_each(|tree| self.import(module, tree, path));
            }
        }
    }

    fn add_function(&mut self, function: Function) -> FunctionId {
        let id = FunctionId(self.program.functions.len());
        self.program.functions.push(function);
        id
    }

    fn add_method(&mut self, key: TypeKey, id: FunctionId) {
        let function = &self.program.functions[id.0];
        let name = function.name.clone();
        if function.has_receiver() {
            self.program.by_name.entry(name.clone()).or_default().push(id);
        }
        self.program.methods.entry((key, name)).or_default().push(id);
    }

    fn finish(mut self) -> Program {
        while let Some(implementation) = self.implementations.pop() {
            let first = self.program.functions.len();
            self.implementation(implementation.module, &implementation.item);
            if implementation.is_bodiless {
                self.forget_bodies(first, self.implementations.len());
            }
        }
        super::signatures::complete(&mut self.program);
        self.program
    }

    fn implementation(&mut self, module: ModuleId, item: &syn::ItemImpl) {
        let ty = self.program.lower_in(module, &item.generics, None, &item.self_ty);
        let key = self.program.key(&ty);
        let path = item.trait_.as_ref().map(|(_, path, _)| path);
        let of_trait = path.and_then(|path| self.program.type_at(module, path));
        if let (Some(key), Some(of_trait)) = (&key, of_trait) {
            self.program.traits.entry(key.clone()).or_default().push(of_trait);
        }
        let is_deref = path.is_some_and(|path| path.is_ident("Deref"));
        for inner in &item.items {
            match inner {
                syn::ImplItem::Fn(method) if !is_for_tests(&method.attrs) => {
                    let body = Some(&method.block);
                    let function = function(module, &method.sig, body, &method.attrs);
                    let function = Function {
                        outer: item.generics.clone(),
                        self_syntax: Some((*item.self_ty).clone()),
                        ..function
                    };
                    let id = self.add_function(function);
                    // A method of a trait is also a method of all types that implement the trait.
                    of_trait.into_iter().for_each(|of| self.add_method(TypeKey::Own(of), id));
                    key.iter().for_each(|key| self.add_method(key.clone(), id));
                    self.items_inside(module, &method.block);
                }
                syn::ImplItem::Const(constant) => {
                    let ty = self.program.lower_in(module, &item.generics, Some(&ty), &constant.ty);
                    let name = constant.ident.to_string();
                    key.iter().for_each(|key| {
                        self.program.constants.insert((key.clone(), name.clone()), ty.clone());
                    });
                }
                syn::ImplItem::Type(inner) if is_deref && inner.ident == "Target" => {
                    let target =
                        self.program.lower_in(module, &item.generics, Some(&ty), &inner.ty);
                    if let Some(TypeKey::Own(id)) = key {
                        self.program.targets.insert(id, target);
                    }
                }
                _ => {}
            }
        }
    }
}

fn function(
    module: ModuleId,
    signature: &syn::Signature,
    body: Option<&syn::Block>,
    attributes: &[syn::Attribute],
) -> Function {
    Function {
        name: signature.ident.to_string(),
        module,
        line: signature.span().start().line,
        last_line: body.map_or(0, |body| body.span().end().line),
        signature: signature.clone(),
        outer: syn::Generics::default(),
        self_syntax: None,
        declared_in: None,
        body: body.cloned().map(expanded).map(Rc::new),
        documentation: documentation(attributes),
        inputs: Vec::new(),
        output: Type::Unknown,
        self_type: None,
    }
}

fn expanded(mut body: syn::Block) -> syn::Block {
    super::macros::expand(&mut body);
    body
}

fn fields(variant: String, fields: &syn::Fields) -> Fields {
    let names = fields.iter().enumerate().map(|(index, field)| match &field.ident {
        Some(name) => name.to_string(),
        None => index.to_string(),
    });
    let syntax = fields.iter().map(|field| field.ty.clone());
    Fields { variant, names: names.collect(), syntax: syntax.collect(), types: Vec::new() }
}

/// The text of documentation comments.
fn documentation(attributes: &[syn::Attribute]) -> String {
    let mut text = String::new();
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("doc")) {
        if let syn::Meta::NameValue(pair) = &attribute.meta
            && let syn::Expr::Lit(literal) = &pair.value
            && let syn::Lit::Str(line) = &literal.lit
        {
            text.push_str(&line.value());
            text.push('\n');
        }
    }
    text
}

/// Whether an item is there for tests only.
fn is_for_tests(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let syn::Meta::List(list) = &attribute.meta else { return false };
        let tokens = list.tokens.to_string();
        attribute.path().is_ident("cfg") && tokens.starts_with("test")
            || attribute.path().is_ident("cfg") && tokens.starts_with("all (test")
    })
}
