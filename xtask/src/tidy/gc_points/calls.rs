//! Calls: the functions that a call reaches, and the value of the call. [`super::expressions`] evaluates calls with
//! this module.
//!
//! A call on a receiver of unknown type reaches all methods of its name that accept the arguments. A call of an unknown
//! function is a GC point if an argument gives the right to collect.

use std::rc::Rc;

use syn::Expr;

use super::evaluate::{Evaluator, line_of};
use super::flow::Point;
use super::names::{Meaning, Space, names};
use super::program::{FunctionId, TypeKey};
use super::summaries::Bearing;
use super::types::Type;
use super::values::{Callable, Value};

/// The meaning of a path in a call.
pub enum Callee {
    /// One of these functions.
    Functions(Vec<FunctionId>),
    /// The constructor of a struct or of an enum's variant.
    Constructor(Type),
    /// A function of a library: its type, if it has one, and its name.
    Foreign(Option<Type>, String),
}

/// Functions of `Word` whose results are not pointers.
const IMMEDIATE: &[&str] =
    &["from_bool", "from_double", "from_small_integer", "from_small_integer_unchecked", "special"];

impl<'p> Evaluator<'p> {
    pub fn call(&mut self, call: &'p syn::ExprCall) -> Value<'p> {
        let line = line_of(&call.func);
        let Expr::Path(path) = &*call.func else {
            let callee = self.expression(&call.func);
            let arguments = self.operands(&call.args);
            return self.call_value(&callee, arguments, line);
        };
        if let Some(name) = path.path.get_ident()
            && let Some(callee) = self.local(&name.to_string(), line)
        {
            let arguments = self.operands(&call.args);
            return self.call_value(&callee, arguments, line);
        }
        let callee = self.callee(path);
        let arguments = self.operands(&call.args);
        match callee {
            Callee::Functions(found) => {
                let explicit = path.path.segments.last().map(|segment| &segment.arguments);
                self.call_functions(&found, arguments, explicit, line)
            }
            Callee::Constructor(ty) => self.construct(ty, &arguments),
            Callee::Foreign(of, name) => self.call_foreign(of, &name, arguments, line),
        }
    }

    fn construct(&self, ty: Type, arguments: &[Value<'p>]) -> Value<'p> {
        let makes_word = matches!(&ty, Type::Own(id, _) if self.program.is_word(*id));
        let is_immediate = IMMEDIATE.contains(&self.function.name.as_str());
        let bears = match makes_word {
            true => !is_immediate,
            false => arguments.iter().any(|argument| argument.bears),
        };
        let mut value = self.value(ty, bears);
        value.collects = arguments.iter().any(|argument| argument.collects);
        value
    }

    /// Resolves the path of a call.
    pub fn callee(&self, path: &syn::ExprPath) -> Callee {
        let all = names(&path.path);
        let (name, of) = all.split_last().expect("a path has a name");
        let module = self.function.module;
        if let Some((id, _)) = self.program.variant(module, &all) {
            return Callee::Constructor(Type::Own(id, Vec::new()));
        }
        if path.qself.is_some() {
            return Callee::Functions(self.by_name(name));
        }
        if all[0] == "Self" {
            let own = self.function.self_type.clone().unwrap_or(Type::Unknown);
            return match &all[..] {
                [_] => Callee::Constructor(own),
                _ if self.constructor(&all).is_some() => Callee::Constructor(own),
                _ => self.associated(&own, name),
            };
        }
        match self.program.resolve(module, &all, Space::Values) {
            Some((Meaning::Function(id), length)) if length == all.len() => {
                Callee::Functions(vec![id])
            }
            Some((Meaning::Type(id), length)) if length == all.len() => {
                Callee::Constructor(self.program.own_type(id, Vec::new()))
            }
            Some((Meaning::Type(id), length)) if length + 1 == all.len() => {
                let ty = self.program.own_type(id, Vec::new());
                self.associated(&ty, name)
            }
            _ => {
                let of = of.last().map(|of| self.foreign_or_parameter(of));
                match of {
                    Some(ty) => self.associated(&ty, name),
                    None => Callee::Foreign(None, name.clone()),
                }
            }
        }
    }

    fn foreign_or_parameter(&self, name: &str) -> Type {
        let path: syn::Type = syn::Type::Path(syn::TypePath {
            qself: None,
            path: syn::Path::from(syn::Ident::new(name, proc_macro2::Span::call_site())),
        });
        self.program.lower_in_function(self.function, &path)
    }

    fn associated(&self, ty: &Type, name: &str) -> Callee {
        match self.methods_of(ty, name) {
            found if !found.is_empty() => Callee::Functions(found),
            _ if matches!(ty, Type::Parameter(_)) => Callee::Functions(self.by_name(name)),
            _ => Callee::Foreign(Some(ty.clone()), name.to_owned()),
        }
    }

    /// The methods of this name that belong to a type: its own, those of its traits, or those of the type that it
    /// dereferences to.
    pub fn methods_of(&self, ty: &Type, name: &str) -> Vec<FunctionId> {
        let mut ty = ty.peeled().clone();
        loop {
            let Some(key) = self.program.key(&ty) else { return Vec::new() };
            if let Some(found) = self.program.methods.get(&(key.clone(), name.to_owned())) {
                return found.clone();
            }
            let traits = self.program.traits.get(&key).into_iter().flatten();
            let mut defaults = traits.filter_map(|id| {
                let of_trait = (TypeKey::Own(*id), name.to_owned());
                let found = self.program.methods.get(&of_trait)?.iter();
                found.copied().find(|id| {
                    let function = &self.program.functions[id.0];
                    function.declared_in.is_some() && function.body.is_some()
                })
            });
            if let Some(default) = defaults.next() {
                return vec![default];
            }
            match &ty {
                Type::Own(id, _) if self.program.targets.contains_key(id) => {
                    ty = self.program.targets[id].clone();
                }
                _ => return Vec::new(),
            }
        }
    }

    fn by_name(&self, name: &str) -> Vec<FunctionId> {
        self.program.by_name.get(name).cloned().unwrap_or_default()
    }

    pub fn method_call(&mut self, call: &'p syn::ExprMethodCall) -> Value<'p> {
        let name = call.method.to_string();
        let line = line_of(&call.method);
        let receiver = self.open(&call.receiver);
        let (receiver, pending) = self.receiver(receiver, &name);
        let epoch = self.epoch();
        let mut all = self.operands(&call.args);
        let is_open = !all.iter().any(|argument| argument.bears);
        let pending = match is_open {
            true => pending,
            // The arguments are evaluated before the receiver's result is tested, so they are there if it is a failure,
            // too.
            false => self.settled(Value { pending, ..Value::unknown() }).pending,
        };
        let receiver = self.still_valid(receiver, epoch, line_of(&call.receiver));
        let ty = receiver.ty.peeled().clone();
        let found = self.methods_of(&ty, &name);
        let candidates = match &ty {
            _ if !found.is_empty() => found,
            Type::Unknown | Type::Parameter(_) => self.fitting(&name, &all),
            _ => Vec::new(),
        };
        let is_known = !matches!(ty, Type::Unknown | Type::Parameter(_));
        if candidates.is_empty() || !is_known {
            let mut value = self.call_standard(&receiver, &name, &all, call, line);
            value.pending = value.pending.or(pending);
            return self.call_one_of(&candidates, value, line);
        }
        let explicit = call.turbofish.as_ref().map(|_| &syn::PathArguments::None);
        all.insert(0, receiver);
        self.call_functions(&candidates, all, explicit, line)
    }

    /// A method on a receiver of unknown type was called as one of the standard library, with this value. It may also be
    /// one of these.
    fn call_one_of(
        &mut self,
        candidates: &[FunctionId],
        value: Value<'p>,
        line: usize,
    ) -> Value<'p> {
        let program = self.program;
        let mut collecting = candidates.iter().filter(|id| self.summaries[id.0].reaches.is_some());
        if let Some(id) = collecting.next() {
            self.collect(line, &program.functions[id.0].name, true);
        }
        match candidates {
            [id] if value.ty == Type::Unknown => {
                self.value(program.functions[id.0].output.with(&[]), value.bears)
            }
            _ => value,
        }
    }

    /// The receiver of a method. Some methods do not test whether the receiver is a failure: these leave the GC point
    /// of that case pending, as the second result.
    fn receiver(&mut self, mut value: Value<'p>, name: &str) -> (Value<'p>, Option<Point>) {
        const LEAVING_OPEN: &[&str] = &[
            "map",
            "and_then",
            "map_err",
            "ok",
            "ok_or",
            "copied",
            "rev",
            "enumerate",
            "collect",
            "try_for_each",
            "try_fold",
            "sum",
            "zip",
            "into_iter",
        ];
        match LEAVING_OPEN.contains(&name) {
            true => (Value { pending: None, ..value.clone() }, value.pending.take()),
            false => (self.settled(value), None),
        }
    }

    /// The methods of this name that accept these arguments.
    fn fitting(&self, name: &str, arguments: &[Value<'p>]) -> Vec<FunctionId> {
        let fits = |id: &FunctionId| {
            let inputs = &self.program.functions[id.0].inputs[1..];
            let mut pairs = inputs.iter().zip(arguments);
            inputs.len() == arguments.len()
                && pairs.all(|(formal, actual)| match (&actual.callable, formal.peeled()) {
                    (Some(_), formal) => {
                        matches!(formal, Type::Function(_) | Type::Parameter(_) | Type::Unknown)
                    }
                    (None, formal) => could_be(formal, &actual.ty),
                })
        };
        self.by_name(name).into_iter().filter(fits).collect()
    }

    /// Calls a value, such as a closure or a function pointer.
    pub fn call_value(
        &mut self,
        callee: &Value<'p>,
        arguments: Vec<Value<'p>>,
        line: usize,
    ) -> Value<'p> {
        let declared = match callee.ty.peeled() {
            Type::Function(function) => Some((**function).clone()),
            _ => None,
        };
        let bears = arguments.iter().any(|argument| argument.bears);
        match &callee.callable {
            Some(Callable::Literal(closure, names)) => {
                self.run_closure(closure, &Rc::clone(names), &arguments)
            }
            Some(Callable::Functions(found)) => {
                self.call_functions(&Rc::clone(found), arguments, None, line)
            }
            Some(Callable::Constructor(ty)) => self.value(ty.clone(), bears),
            Some(Callable::Parameter(index)) => {
                self.calls_parameter(*index, false);
                if self.summaries[self.id.0].collecting[*index] {
                    self.collect(line, "its function parameter", false);
                }
                let Some(declared) = declared else { return Value::unknown() };
                let bears = self.program.bears(&declared.output);
                self.value(declared.output, bears)
            }
            None => match declared {
                Some(declared) => {
                    if declared.collects {
                        self.collect(line, "a function that is passed to it", true);
                    }
                    let bears = self.program.bears(&declared.output);
                    self.value(declared.output, bears)
                }
                None => {
                    self.call_unknown(&arguments, "an unknown function", line);
                    self.value(Type::Unknown, bears)
                }
            },
        }
    }

    /// The function under analysis calls one of its parameters. `after` says that the collector may have run before the
    /// call.
    fn calls_parameter(&mut self, index: usize, after: bool) {
        if self.epoch() > 0 || after {
            self.summary.calls_after[index] = true;
        }
    }

    /// An unknown function may let the collector run if an argument gives the right to collect.
    fn call_unknown(&mut self, arguments: &[Value<'p>], name: &str, line: usize) {
        // Functions that only move their arguments.
        const HARMLESS: &[&str] = &["from", "from_mut", "from_ref", "new", "write"];
        if HARMLESS.contains(&name) {
            return;
        }
        if arguments.iter().any(|argument| self.program.collects(&argument.ty)) {
            self.collect(line, name, true);
        }
    }

    /// Calls one of these functions. The result covers all of them.
    pub fn call_functions(
        &mut self,
        found: &[FunctionId],
        arguments: Vec<Value<'p>>,
        explicit: Option<&syn::PathArguments>,
        line: usize,
    ) -> Value<'p> {
        let mut result: Option<Value<'p>> = None;
        for id in found {
            let value = self.call_function(*id, &arguments, explicit, line);
            result = Some(match result.take() {
                Some(other) => other.or(value),
                None => value,
            });
        }
        result.unwrap_or_else(Value::unknown)
    }

    fn call_function(
        &mut self,
        id: FunctionId,
        arguments: &[Value<'p>],
        explicit: Option<&syn::PathArguments>,
        line: usize,
    ) -> Value<'p> {
        let program = self.program;
        let function = &program.functions[id.0];
        let summary = &self.summaries[id.0];
        let mut bindings = self.explicit_bindings(function, explicit);
        for (formal, actual) in function.inputs.iter().zip(arguments) {
            formal.learn(&actual.ty, &mut bindings);
        }
        let mut bears = arguments.iter().any(|argument| argument.bears);
        bears |= self.lend_all(id, arguments, &mut bindings, line);
        let may_fail =
            ["Option", "Result", "bool"].iter().any(|name| function.output.is_foreign(name));
        let mut pending = None;
        if summary.reaches.is_some() {
            match may_fail && !summary.succeeds {
                true => pending = Some(Point { line, callee: function.name.as_str().into() }),
                false => self.collect(line, &function.name, true),
            }
        }
        let bears = match summary.bears {
            Bearing::Never => false,
            Bearing::FromArguments => bears,
            Bearing::Always => true,
        };
        for (formal, actual) in function.inputs.iter().zip(arguments) {
            if let (Some(id), false) = (actual.place, matches!(formal, Type::Shared(_))) {
                let gets = arguments.iter().any(|other| other.bears && other.place != Some(id));
                self.absorb(id, gets);
            }
        }
        Value { pending, ..self.value(function.output.with(&bindings), bears) }
    }

    /// Passes the callable arguments to the function. Answers whether one of them answers words.
    fn lend_all(
        &mut self,
        id: FunctionId,
        arguments: &[Value<'p>],
        bindings: &mut Vec<(String, Type)>,
        line: usize,
    ) -> bool {
        let program = self.program;
        let function = &program.functions[id.0];
        let summary = &self.summaries[id.0];
        let mut bears = false;
        for (index, argument) in arguments.iter().enumerate() {
            let formal = function.inputs.get(index).cloned().unwrap_or(Type::Unknown);
            let Some(callable) = &argument.callable else {
                let is_function = matches!(formal.peeled(), Type::Function(of) if of.collects);
                self.lends.extend(is_function.then_some((id, index)));
                continue;
            };
            let is_after = summary.calls_after.get(index).copied().unwrap_or(false);
            let callable = callable.clone();
            let value = self.lend(&callable, &formal, is_after, bindings, &function.name, line);
            let may_collect = value.collects || value.pending.is_some();
            let value = self.settled(value);
            if may_collect && index < function.inputs.len() {
                self.lends.push((id, index));
            }
            if let Type::Function(formal) = formal.peeled() {
                // A value of unknown type that was made of no words gets a type that holds none.
                let ty = if value.ty == Type::Unknown && !value.bears {
                    Type::foreign("_")
                } else {
                    value.ty.clone()
                };
                formal.output.learn(&ty, bindings);
            }
            bears |= value.bears;
        }
        bears
    }

    fn explicit_bindings(
        &self,
        function: &super::program::Function,
        explicit: Option<&syn::PathArguments>,
    ) -> Vec<(String, Type)> {
        let Some(explicit) = explicit else { return Vec::new() };
        let types = self.program.lower_arguments_in(self.function, explicit);
        let parameters = function.signature.generics.type_params();
        parameters.map(|parameter| parameter.ident.to_string()).zip(types).collect()
    }

    /// Passes a callable argument to a function, which calls it.
    fn lend(
        &mut self,
        callable: &Callable<'p>,
        formal: &Type,
        is_after: bool,
        bindings: &[(String, Type)],
        name: &str,
        line: usize,
    ) -> Value<'p> {
        let Type::Function(formal) = formal.peeled().with(bindings) else {
            return self.run(callable, &[], line, false);
        };
        let inputs = formal.inputs.iter().map(|ty| {
            let bears = self.program.bears(ty);
            self.value(ty.clone(), bears)
        });
        let inputs: Vec<_> = inputs.collect();
        if let Callable::Parameter(index) = callable {
            self.calls_parameter(*index, is_after);
            if self.summaries[self.id.0].collecting[*index] {
                self.collect(line, name, false);
            }
            let bears = self.program.bears(&formal.output);
            let collects = self.summaries[self.id.0].collecting[*index];
            return Value { collects, ..self.value(formal.output, bears) };
        }
        if formal.is_deferred {
            return self.run_later(callable, &inputs, name, line);
        }
        if is_after {
            self.collect(line, name, true);
        }
        self.run(callable, &inputs, line, formal.is_once)
    }

    /// Calls a function of a library.
    fn call_foreign(
        &mut self,
        of: Option<Type>,
        name: &str,
        arguments: Vec<Value<'p>>,
        line: usize,
    ) -> Value<'p> {
        let bears = arguments.iter().any(|argument| argument.bears);
        let first = || arguments.first().map_or(Type::Unknown, |argument| argument.ty.clone());
        match name {
            "Some" => return self.construct(Type::of("Option", first()), &arguments),
            "Ok" => {
                let ty = Type::Foreign("Result".to_owned(), vec![first(), Type::Unknown]);
                return self.construct(ty, &arguments);
            }
            "Err" => {
                let ty = Type::Foreign("Result".to_owned(), vec![Type::Unknown, first()]);
                return Value { fails: true, ..self.construct(ty, &arguments) };
            }
            "drop" => {
                let found = self.methods_of(&first(), "drop");
                return self.call_functions(&found, arguments, None, line);
            }
            "take" | "replace" => {
                // The place is not a local, so it is a root: the value that is taken out of it may be a word.
                let takes = bears || arguments.first().is_some_and(|from| from.place.is_none());
                return self.value(first().peeled().clone(), takes);
            }
            _ => {}
        }
        let callables: Vec<_> =
            arguments.iter().filter_map(|value| value.callable.clone()).collect();
        let is_elsewhere = name == "spawn";
        let mut bears = bears;
        for callable in callables {
            bears |= match is_elsewhere {
                true => self.run_later(&callable, &[], name, line),
                false => self.run(&callable, &[], line, false),
            }
            .bears;
        }
        self.call_unknown(&arguments, name, line);
        let first = arguments.first().map_or(Type::Unknown, |argument| argument.ty.clone());
        self.value(type_of_foreign(of, name, first), bears)
    }
}

/// The type of the answer of a library's function, whose first argument has the type `first`.
fn type_of_foreign(of: Option<Type>, name: &str, first: Type) -> Type {
    match (of, name) {
        (Some(ty), "new" | "from" | "with_capacity" | "default" | "empty") => ty,
        (_, "from_ref" | "from_mut" | "identity") => first,
        (_, "once") => Type::iterator(first),
        (_, "empty") => Type::iterator(Type::Unknown),
        (_, "successors") => Type::iterator(first.argument(0)),
        _ => Type::Unknown,
    }
}

/// Whether a value of the type `actual` could be passed as `formal`.
fn could_be(formal: &Type, actual: &Type) -> bool {
    match (formal.peeled(), actual.peeled()) {
        (Type::Own(formal, _), Type::Own(actual, _)) => formal == actual,
        (Type::Own(..), Type::Foreign(..)) | (Type::Foreign(..), Type::Own(..)) => false,
        (Type::Foreign(formal, _), Type::Foreign(actual, _)) => formal == actual,
        (Type::Function(_), Type::Own(..) | Type::Foreign(..) | Type::Tuple(_)) => false,
        _ => true,
    }
}
