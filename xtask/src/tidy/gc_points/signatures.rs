//! Translates the syntax of types into types, and finds the types whose values hold words. [`super::program::read`]
//! completes the program with it; the evaluator translates the types in bodies.

use super::names::{Meaning, Space, names};
use super::program::{ModuleId, Program, TypeId, TypeKey, TypeKind};
use super::types::{FunctionType, Type};

/// The types of the heap that are words.
const WORDS: &[&str] = &["Word", "Object"];

/// The type that gives the right to let the collector run.
const MUTATOR: &str = "Mutator";

/// The crate that defines these types.
const HEAP: &str = "squall_heap";

/// A type with a method of one of these names shows its words to the collector: it is a root.
const VISITING: &[&str] =
    &["visit", "visit_roots", "visit_frames", "visit_objects", "visit_shared"];

/// The context of a type's syntax.
#[derive(Clone, Copy)]
struct Surroundings<'s> {
    module: ModuleId,
    generics: &'s [&'s syn::Generics],
    self_type: Option<&'s Type>,
}

impl Program {
    /// Translates the syntax of a type in an item with these generics.
    pub fn lower_in(
        &self,
        module: ModuleId,
        generics: &syn::Generics,
        self_type: Option<&Type>,
        ty: &syn::Type,
    ) -> Type {
        self.lower(ty, Surroundings { module, generics: &[generics], self_type })
    }

    /// Translates the syntax of a type in the body of a function.
    pub fn lower_in_function(&self, function: &super::program::Function, ty: &syn::Type) -> Type {
        let generics = [&function.signature.generics, &function.outer];
        let self_type = function.self_type.as_ref();
        self.lower(ty, Surroundings { module: function.module, generics: &generics, self_type })
    }

    fn lower(&self, ty: &syn::Type, around: Surroundings) -> Type {
        match ty {
            syn::Type::Path(path) => self.lower_path(&path.path, path.qself.is_some(), around),
            syn::Type::Reference(reference) => {
                let inner = self.lower(&reference.elem, around);
                let is_static = |lifetime: &syn::Lifetime| lifetime.ident == "static";
                let is_immortal = reference.lifetime.as_ref().is_some_and(is_static);
                match (is_immortal, reference.mutability.is_some()) {
                    (_, true) => inner,
                    (true, _) => Type::Immortal(Box::new(inner)),
                    _ => Type::Shared(Box::new(inner)),
                }
            }
            syn::Type::Tuple(tuple) => {
                Type::Tuple(tuple.elems.iter().map(|ty| self.lower(ty, around)).collect())
            }
            syn::Type::Slice(slice) => Type::of("[]", self.lower(&slice.elem, around)),
            syn::Type::Array(array) => Type::of("[]", self.lower(&array.elem, around)),
            syn::Type::Ptr(pointer) => Type::Pointer(Box::new(self.lower(&pointer.elem, around))),
            syn::Type::Paren(inner) => self.lower(&inner.elem, around),
            syn::Type::Group(inner) => self.lower(&inner.elem, around),
            syn::Type::BareFn(function) => {
                let inputs = function.inputs.iter().map(|input| self.lower(&input.ty, around));
                self.function_type(inputs.collect(), &function.output, false, around)
            }
            syn::Type::ImplTrait(bounds) => self.lower_bounds(&bounds.bounds, around),
            syn::Type::TraitObject(bounds) => self.lower_bounds(&bounds.bounds, around),
            _ => Type::Unknown,
        }
    }

    fn function_type(
        &self,
        inputs: Vec<Type>,
        output: &syn::ReturnType,
        is_once: bool,
        around: Surroundings,
    ) -> Type {
        let output = self.lower_output(output, around);
        let collects = inputs.iter().any(|input| self.collects(input));
        let (collects, is_deferred) = (collects, false);
        Type::Function(Box::new(FunctionType { inputs, output, is_once, collects, is_deferred }))
    }

    fn lower_output(&self, output: &syn::ReturnType, around: Surroundings) -> Type {
        match output {
            syn::ReturnType::Default => Type::Tuple(Vec::new()),
            syn::ReturnType::Type(_, ty) => self.lower(ty, around),
        }
    }

    /// The type that the bounds of a parameter or of an `impl Trait` tell.
    fn lower_bounds<'b>(
        &self,
        bounds: impl IntoIterator<Item = &'b syn::TypeParamBound> + Clone,
        around: Surroundings,
    ) -> Type {
        let is_static = |bound: &syn::TypeParamBound| matches!(bound, syn::TypeParamBound::Lifetime(lifetime) if lifetime.ident == "static");
        let is_deferred = bounds.clone().into_iter().any(is_static);
        let traits = bounds.into_iter().filter_map(|bound| match bound {
            syn::TypeParamBound::Trait(bound) => Some(self.lower_bound(bound, around)),
            _ => None,
        });
        let mut known = Type::Unknown;
        for ty in traits {
            known = match (known, ty) {
                (_, Type::Function(function)) => {
                    Type::Function(Box::new(FunctionType { is_deferred, ..*function }))
                }
                (Type::Unknown, ty) => ty,
                (known, _) => known,
            };
        }
        known
    }

    fn lower_bound(&self, bound: &syn::TraitBound, around: Surroundings) -> Type {
        let Some(last) = bound.path.segments.last() else { return Type::Unknown };
        match &last.arguments {
            syn::PathArguments::Parenthesized(signature) => {
                let inputs = signature.inputs.iter().map(|input| self.lower(input, around));
                let is_once = last.ident == "FnOnce";
                self.function_type(inputs.collect(), &signature.output, is_once, around)
            }
            syn::PathArguments::AngleBracketed(arguments) => {
                let item = arguments.args.iter().find_map(|argument| match argument {
                    syn::GenericArgument::AssocType(item) if item.ident == "Item" => Some(&item.ty),
                    _ => None,
                });
                match item {
                    Some(item) => Type::iterator(self.lower(item, around)),
                    None => self.lower_path(&bound.path, false, around),
                }
            }
            syn::PathArguments::None => match last.ident.to_string().as_str() {
                // Traits that nearly every type has tell nothing.
                "Copy" | "Clone" | "Send" | "Sync" | "Sized" | "Default" => Type::Unknown,
                _ => self.lower_path(&bound.path, false, around),
            },
        }
    }

    fn lower_path(&self, path: &syn::Path, is_qualified: bool, around: Surroundings) -> Type {
        let Some(last) = path.segments.last() else { return Type::Unknown };
        let all = names(path);
        if is_qualified {
            return Type::Unknown;
        }
        if all[0] == "Self" {
            let own = around.self_type.cloned().unwrap_or(Type::Unknown);
            return if all.len() == 1 { own } else { Type::Unknown };
        }
        if all.len() == 1
            && let Some(ty) = self.lower_parameter(&all[0], around)
        {
            return ty;
        }
        let arguments = self.lower_arguments(&last.arguments, around);
        match self.resolve(around.module, &all, Space::Types) {
            Some((Meaning::Type(id), length)) if length == all.len() => {
                self.own_type(id, arguments)
            }
            _ => foreign_type(last.ident.to_string(), arguments),
        }
    }

    pub fn lower_arguments_in(
        &self,
        function: &super::program::Function,
        arguments: &syn::PathArguments,
    ) -> Vec<Type> {
        let generics = [&function.signature.generics, &function.outer];
        let self_type = function.self_type.as_ref();
        let module = function.module;
        self.lower_arguments(arguments, Surroundings { module, generics: &generics, self_type })
    }

    fn lower_arguments(&self, arguments: &syn::PathArguments, around: Surroundings) -> Vec<Type> {
        let syn::PathArguments::AngleBracketed(arguments) = arguments else { return Vec::new() };
        let types = arguments.args.iter().filter_map(|argument| match argument {
            syn::GenericArgument::Type(ty) => Some(self.lower(ty, around)),
            _ => None,
        });
        types.collect()
    }

    /// A type of the program; for an alias, the type that it stands for.
    pub fn own_type(&self, id: TypeId, arguments: Vec<Type>) -> Type {
        let item = &self.types[id.0];
        let TypeKind::Alias(ty) = &item.kind else { return Type::Own(id, arguments) };
        let lowered = self.lower_in(item.module, &item.generics, None, ty);
        lowered.with(&self.bindings(id, &arguments))
    }

    /// The arguments to which the parameters of a type are bound.
    pub fn bindings(&self, id: TypeId, arguments: &[Type]) -> Vec<(String, Type)> {
        let parameters = self.types[id.0].generics.type_params();
        let names = parameters.map(|parameter| parameter.ident.to_string());
        names.zip(arguments.iter().cloned()).collect()
    }

    fn lower_parameter(&self, name: &str, around: Surroundings) -> Option<Type> {
        let generics = around
            .generics
            .iter()
            .find(|generics| generics.type_params().any(|parameter| parameter.ident == name))?;
        let own = generics.type_params().find(|parameter| parameter.ident == name)?;
        let mut bounds: Vec<syn::TypeParamBound> = own.bounds.iter().cloned().collect();
        for predicate in generics.where_clause.iter().flat_map(|clause| &clause.predicates) {
            if let syn::WherePredicate::Type(predicate) = predicate
                && let syn::Type::Path(path) = &predicate.bounded_ty
                && path.path.is_ident(name)
            {
                bounds.extend(predicate.bounds.iter().cloned());
            }
        }
        Some(match self.lower_bounds(&bounds, around) {
            Type::Unknown => Type::Parameter(name.to_owned()),
            Type::Foreign(..) => Type::Parameter(name.to_owned()),
            known => known,
        })
    }

    /// Whether exclusive access to a value of this type gives the right to let the collector run.
    pub fn collects(&self, ty: &Type) -> bool {
        match ty {
            Type::Own(id, _) => self.types[id.0].collects,
            _ => false,
        }
    }

    /// Whether values of this type can hold words that the collector does not update. Unknown types can.
    pub fn may_bear(&self, ty: &Type) -> bool {
        match ty {
            Type::Unknown | Type::Parameter(_) | Type::Iterator(_) => true,
            Type::Own(id, arguments) => {
                let item = &self.types[id.0];
                let is_generic = || arguments.iter().any(|ty| self.may_bear(ty));
                item.bears || !item.is_rooted && is_generic()
            }
            Type::Foreign(_, arguments) | Type::Tuple(arguments) => {
                arguments.iter().any(|ty| self.may_bear(ty))
            }
            Type::Shared(inner) => self.may_bear(inner),
            Type::Immortal(_) | Type::Pointer(_) | Type::Function(_) => false,
        }
    }

    /// Whether values of a declared type hold words that the collector does not update. Unknown types do not.
    pub fn bears(&self, ty: &Type) -> bool {
        match ty {
            Type::Unknown | Type::Parameter(_) => false,
            Type::Iterator(item) => self.bears(item),
            Type::Own(id, arguments) => {
                let item = &self.types[id.0];
                item.bears || !item.is_rooted && arguments.iter().any(|ty| self.bears(ty))
            }
            Type::Foreign(_, arguments) | Type::Tuple(arguments) => {
                arguments.iter().any(|ty| self.bears(ty))
            }
            Type::Shared(inner) => self.bears(inner),
            Type::Immortal(_) | Type::Pointer(_) | Type::Function(_) => false,
        }
    }

    /// Whether a type is the heap's `Word` or `Object`.
    pub fn is_word(&self, id: TypeId) -> bool {
        self.is_of_heap(id) && WORDS.contains(&self.types[id.0].name.as_str())
    }

    fn is_of_heap(&self, id: TypeId) -> bool {
        self.crates.get(HEAP) == Some(&self.modules[self.types[id.0].module.0].root)
    }
}

/// Types of the standard library that contain values of other types.
const GENERIC: &[&str] = &[
    "BTreeMap", "BTreeSet", "Cell", "HashMap", "HashSet", "Mutex", "OnceLock", "Option", "RefCell",
    "Result", "SmallVec", "Vec", "VecDeque",
];

/// A type of a library. Owning pointers and lock guards count as the type that they dereference to.
fn foreign_type(name: String, mut arguments: Vec<Type>) -> Type {
    const TRANSPARENT: &[&str] = &[
        "Box",
        "Arc",
        "Rc",
        "Cow",
        "MutexGuard",
        "RwLockReadGuard",
        "Ref",
        "RefMut",
        "ManuallyDrop",
        "MaybeUninit",
        "Pin",
    ];
    match name.as_str() {
        "NonNull" | "Weak" | "PhantomData" => {
            Type::Pointer(Box::new(arguments.pop().unwrap_or(Type::Unknown)))
        }
        transparent if TRANSPARENT.contains(&transparent) => {
            arguments.into_iter().next().unwrap_or(Type::Unknown)
        }
        // The element type is not written where such a value is made.
        generic if GENERIC.contains(&generic) && arguments.is_empty() => {
            Type::Foreign(name, vec![Type::Unknown, Type::Unknown])
        }
        _ => Type::Foreign(name, arguments),
    }
}

/// Translates the types of all fields and functions, and finds the types that hold words.
pub fn complete(program: &mut Program) {
    lower_fields(program);
    find_collectors(program);
    // A function type contains whether its parameters collect, which is known only now.
    lower_fields(program);
    find_bearers(program);
    lower_functions(program);
}

fn lower_fields(program: &mut Program) {
    for index in 0..program.types.len() {
        let item = &program.types[index];
        let parameters = item.generics.type_params();
        let parameters =
            parameters.map(|parameter| Type::Parameter(parameter.ident.to_string())).collect();
        let own = Type::Own(TypeId(index), parameters);
        let lower = |ty| program.lower_in(item.module, &item.generics, Some(&own), ty);
        let all: Vec<Vec<Type>> =
            item.fields.iter().map(|fields| fields.syntax.iter().map(lower).collect()).collect();
        let fields = &mut program.types[index].fields;
        fields.iter_mut().zip(all).for_each(|(fields, types)| fields.types = types);
    }
}

fn find_collectors(program: &mut Program) {
    loop {
        let finds = |(index, item): (usize, &super::program::TypeItem)| {
            let mut fields = item.fields.iter().flat_map(|fields| &fields.types);
            let is_mutator = item.name == MUTATOR && program.is_of_heap(TypeId(index));
            let has_one =
                !matches!(item.kind, TypeKind::Enum) && fields.any(|ty| program.collects(ty));
            !item.collects && (is_mutator || has_one)
        };
        let found: Vec<usize> = program
            .types
            .iter()
            .enumerate()
            .filter(|pair| finds(*pair))
            .map(|pair| pair.0)
            .collect();
        if found.is_empty() {
            return;
        }
        found.into_iter().for_each(|index| program.types[index].collects = true);
    }
}

/// Finds the types that hold words. A type that shows its words to the collector is a root. A type that gives the right
/// to collect is a root, too: the collector finds its words through it.
fn find_bearers(program: &mut Program) {
    for index in 0..program.types.len() {
        let id = TypeId(index);
        let visits =
            |name: &str| program.methods.contains_key(&(TypeKey::Own(id), name.to_owned()));
        let is_rooted = program.types[index].collects || VISITING.iter().any(|name| visits(name));
        program.types[index].is_rooted = is_rooted && !program.is_word(id);
        program.types[index].bears = program.is_word(id);
    }
    loop {
        let bears = |item: &super::program::TypeItem| {
            let mut fields = item.fields.iter().flat_map(|fields| &fields.types);
            !item.bears && !item.is_rooted && fields.any(|ty| program.bears(ty))
        };
        let types = program.types.iter().enumerate();
        let found: Vec<usize> =
            types.filter(|(_, item)| bears(item)).map(|(index, _)| index).collect();
        if found.is_empty() {
            return;
        }
        found.into_iter().for_each(|index| program.types[index].bears = true);
    }
}

fn lower_functions(program: &mut Program) {
    for index in 0..program.functions.len() {
        let function = &program.functions[index];
        let generics = [&function.signature.generics, &function.outer];
        let module = function.module;
        let bare = Surroundings { module, generics: &generics, self_type: None };
        let self_type = function.self_syntax.as_ref().map(|ty| program.lower(ty, bare));
        let around = Surroundings { self_type: self_type.as_ref(), ..bare };
        let inputs = function.signature.inputs.iter().map(|input| match input {
            syn::FnArg::Receiver(receiver) => {
                let own = self_type.clone().unwrap_or(Type::Unknown);
                match receiver.reference.is_some() && receiver.mutability.is_none() {
                    true => Type::Shared(Box::new(own)),
                    false => own,
                }
            }
            syn::FnArg::Typed(typed) => program.lower(&typed.ty, around),
        });
        let inputs = inputs.collect();
        let output = program.lower_output(&function.signature.output, around);
        let function = &mut program.functions[index];
        (function.inputs, function.output, function.self_type) = (inputs, output, self_type);
    }
}
