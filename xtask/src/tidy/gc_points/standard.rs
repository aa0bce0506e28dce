//! Models of the standard library's methods: the type of the answer, whether it holds words, and how the closures among
//! the arguments are called. [`super::calls`] uses them for receivers whose type the program does not define.
//!
//! The answer of a method that is not listed is taken to be made of the receiver and of all arguments.

use syn::ExprMethodCall;

use super::evaluate::Evaluator;
use super::types::Type;
use super::values::Value;

/// Kinds of types that share methods of the same names.
#[derive(Clone, Copy, PartialEq)]
enum Family {
    Option,
    Result,
    Iterator,
    Collection,
    Cell,
    Other,
}

/// Methods whose answer contains none of the receiver's words.
const MEASURES: &[&str] = &[
    "len",
    "is_empty",
    "is_some",
    "is_none",
    "is_ok",
    "is_err",
    "is_some_and",
    "is_none_or",
    "is_ok_and",
    "count",
    "contains",
    "contains_key",
    "any",
    "all",
    "position",
    "rposition",
    "eq",
    "ne",
    "cmp",
    "partial_cmp",
    "lt",
    "le",
    "gt",
    "ge",
    "starts_with",
    "ends_with",
    "capacity",
    "hash",
    "to_string",
    "is_null",
    "sum",
    "clear",
    "push",
    "truncate",
    "resize",
    "insert_str",
    "push_str",
    "sort",
    "sort_by_key",
    "sort_unstable",
    "sort_by",
    "for_each",
    "retain",
    "reserve",
    "extend",
    "extend_from_slice",
    "fill",
    "send",
    "store",
    "addr",
    "push_back",
    "push_front",
];

/// Methods that store their arguments in the receiver.
const FILLING: &[&str] = &[
    "push",
    "push_back",
    "push_front",
    "insert",
    "extend",
    "extend_from_slice",
    "resize",
    "fill",
    "set",
    "replace",
    "append",
    "get_or_insert_with",
    "get_or_insert",
    "entry",
    "swap",
];

impl<'p> Evaluator<'p> {
    /// Calls a method of the standard library.
    pub fn call_standard(
        &mut self,
        receiver: &Value<'p>,
        name: &str,
        arguments: &[Value<'p>],
        call: &'p ExprMethodCall,
        line: usize,
    ) -> Value<'p> {
        let family = family(&receiver.ty);
        let before = std::mem::replace(&mut self.captured, false);
        let results = self.run_arguments(family, receiver, name, arguments, line);
        let captures = std::mem::replace(&mut self.captured, before);
        let makes = results.iter().any(|value| value.collects);
        let result = results.into_iter().next_back();
        let mut pending = result.as_ref().and_then(|value| value.pending.clone());
        const ENDING: &[&str] =
            &["map", "and_then", "map_err", "or_else", "ok_or_else", "try_for_each", "try_fold"];
        if let (Some(point), false) = (&pending, ENDING.contains(&name)) {
            self.collect(point.line, &point.callee, true);
            pending = None;
        }
        let argument = arguments.first().cloned().unwrap_or_else(Value::unknown);
        let ty = self.answer(family, receiver, name, &argument, result.as_ref(), call);
        let given = arguments.iter().any(|value| value.bears);
        let made = result.as_ref().is_some_and(|value| value.bears);
        let is_lazy = matches!(ty, Type::Iterator(_));
        let is_place = matches!(receiver.ty.peeled(), Type::Pointer(_));
        let bears = !MEASURES.contains(&name)
            && (receiver.bears
                || is_place
                || given
                || made
                || captures && (is_lazy || ty == Type::Unknown));
        if let Some(id) = receiver.place
            && FILLING.contains(&name)
        {
            self.absorb(id, given || made);
        }
        let gathers = family == Family::Iterator && receiver.collects && name == "collect";
        let item = receiver.ty.item();
        let item = match item.is_foreign("Result") || item.is_foreign("Option") {
            true => item.argument(0),
            false => item,
        };
        let value = self.value(ty, bears);
        if gathers && value.bears && self.program.bears(&item) {
            self.gathered(line);
        }
        if name == "extend" && argument.collects && argument.bears {
            self.gathered(line);
        }
        let place = receiver.place.filter(|_| value.bears);
        let collects = is_lazy && (receiver.collects || makes || argument.collects);
        Value { collects, place, pending, ..value }
    }

    /// Runs the closures among the arguments. Answers their results.
    fn run_arguments(
        &mut self,
        family: Family,
        receiver: &Value<'p>,
        name: &str,
        arguments: &[Value<'p>],
        line: usize,
    ) -> Vec<Value<'p>> {
        let bears = receiver.bears;
        let ty = match (family, name) {
            (Family::Result, "map_err" | "or_else" | "unwrap_or_else") => receiver.ty.argument(1),
            (Family::Option | Family::Result, _) => receiver.ty.argument(0),
            (Family::Iterator | Family::Collection, _) => receiver.ty.item(),
            (Family::Cell, _) => receiver.ty.argument(0),
            _ => Type::Unknown,
        };
        let element = self.value(ty, bears);
        let mut results = Vec::new();
        for argument in arguments {
            let Some(callable) = &argument.callable else { continue };
            let is_once = matches!(family, Family::Option | Family::Result | Family::Other);
            let inputs = match name {
                "fold" | "try_fold" => vec![arguments[0].clone(), element.clone()],
                _ => vec![element.clone(), element.clone()],
            };
            results.push(match name {
                "spawn" => self.run_later(&callable.clone(), &[], name, line),
                _ => self.run(&callable.clone(), &inputs, line, is_once),
            });
        }
        results
    }

    /// The type of the method's answer.
    fn answer(
        &self,
        family: Family,
        receiver: &Value<'p>,
        name: &str,
        argument: &Value<'p>,
        result: Option<&Value<'p>>,
        call: &ExprMethodCall,
    ) -> Type {
        let own = receiver.ty.peeled().clone();
        let result = result.map_or(Type::Unknown, |value| value.ty.clone());
        if let Some(turbofish) = &call.turbofish
            && let Some(syn::GenericArgument::Type(ty)) = turbofish.args.first()
            && matches!(name, "collect" | "parse" | "sum" | "into" | "cast")
        {
            let declared = self.program.lower_in_function(self.function, ty);
            return match name {
                "collect" => declared.or(Type::of("Vec", own.item())),
                "cast" => Type::Pointer(Box::new(declared)),
                _ => declared,
            };
        }
        match family {
            Family::Option => option(own, name, &argument.ty, result),
            Family::Result => fallible(own, name, &argument.ty, result),
            Family::Iterator => iterator(own, name, &argument.ty, result),
            Family::Collection => collection(own, name, result),
            Family::Cell => match name {
                "lock" | "read" | "write" | "try_lock" => {
                    Type::Foreign("Result".to_owned(), vec![own.argument(0), Type::Unknown])
                }
                "get" if !own.is_foreign("Cell") => Type::of("Option", own.argument(0)),
                "set" => Type::Tuple(Vec::new()),
                _ => own.argument(0),
            },
            Family::Other => other(own, name, result),
        }
    }
}

fn family(ty: &Type) -> Family {
    match ty.peeled() {
        Type::Iterator(_) => Family::Iterator,
        Type::Foreign(name, _) => match name.as_str() {
            "Option" => Family::Option,
            "Result" | "LockResult" | "ControlFlow" => Family::Result,
            "[]" | "Vec" | "SmallVec" | "VecDeque" | "HashSet" | "BTreeSet" | "HashMap"
            | "BTreeMap" | "BinaryHeap" => Family::Collection,
            "Cell" | "RefCell" | "OnceLock" | "OnceCell" | "Mutex" | "RwLock" | "UnsafeCell" => {
                Family::Cell
            }
            _ => Family::Other,
        },
        _ => Family::Other,
    }
}

fn option(own: Type, name: &str, argument: &Type, result: Type) -> Type {
    let inner = own.argument(0);
    match name {
        "unwrap" | "expect" | "unwrap_or" | "unwrap_or_else" | "unwrap_or_default"
        | "unwrap_unchecked" | "insert" | "get_or_insert_with" => inner,
        "map" => Type::of("Option", result),
        "map_or" | "map_or_else" => result.or(argument.clone()),
        "and_then" | "and" => result.or(argument.clone()),
        "ok_or" => Type::Foreign("Result".to_owned(), vec![inner, argument.clone()]),
        "ok_or_else" => Type::Foreign("Result".to_owned(), vec![inner, result]),
        "zip" => Type::of("Option", Type::Tuple(vec![inner, argument.argument(0)])),
        "iter" | "into_iter" | "iter_mut" => Type::iterator(inner),
        "flatten" => inner,
        "transpose" => {
            let (value, failure) = (inner.argument(0), inner.argument(1));
            Type::Foreign("Result".to_owned(), vec![Type::of("Option", value), failure])
        }
        name if name.starts_with("is_") => Type::foreign("bool"),
        "eq" | "ne" => Type::foreign("bool"),
        _ => own,
    }
}

fn fallible(own: Type, name: &str, argument: &Type, result: Type) -> Type {
    let (value, failure) = (own.argument(0), own.argument(1));
    let both = |value, failure| Type::Foreign("Result".to_owned(), vec![value, failure]);
    match name {
        "unwrap" | "expect" | "unwrap_or" | "unwrap_or_else" | "unwrap_or_default" => value,
        "unwrap_err" | "expect_err" => failure,
        "ok" => Type::of("Option", value),
        "err" => Type::of("Option", failure),
        "map" => both(result, failure),
        "map_err" => both(value, result),
        "map_or" | "map_or_else" => result.or(argument.clone()),
        "and_then" => result.or(both(Type::Unknown, failure)),
        "or_else" => result.or(both(value, Type::Unknown)),
        "iter" | "into_iter" => Type::iterator(value),
        "transpose" => {
            let inner = value.argument(0);
            Type::of("Option", both(inner, failure))
        }
        name if name.starts_with("is_") => Type::foreign("bool"),
        _ => own,
    }
}

fn iterator(own: Type, name: &str, argument: &Type, result: Type) -> Type {
    let item = own.item();
    match name {
        "map" | "scan" | "map_while" => Type::iterator(match name {
            "map" => result,
            _ => result.argument(0),
        }),
        "filter_map" => Type::iterator(result.item()),
        "flat_map" => Type::iterator(result.item()),
        "flatten" => Type::iterator(item.item()),
        "enumerate" => Type::iterator(Type::Tuple(vec![Type::foreign("usize"), item])),
        "zip" => Type::iterator(Type::Tuple(vec![item, argument.item()])),
        "next" | "last" | "nth" | "next_back" | "find" | "min" | "max" | "min_by_key"
        | "max_by_key" | "reduce" | "peek" => Type::of("Option", item),
        "find_map" | "try_for_each" | "try_fold" => result,
        "fold" => argument.clone(),
        "position" | "rposition" => Type::of("Option", Type::foreign("usize")),
        "count" | "len" | "sum" => Type::foreign("usize"),
        "any" | "all" | "eq" | "contains" | "is_empty" => Type::foreign("bool"),
        "for_each" => Type::Tuple(Vec::new()),
        "collect" => Type::of("Vec", item),
        "start" | "end" => item,
        _ => own,
    }
}

fn collection(own: Type, name: &str, result: Type) -> Type {
    let element = match &own {
        Type::Foreign(name, arguments) if name.ends_with("Map") => {
            arguments.get(1).cloned().unwrap_or(Type::Unknown)
        }
        other => other.item(),
    };
    match name {
        "iter" | "iter_mut" | "into_iter" | "drain" => Type::iterator(own.item()),
        "values" | "values_mut" | "into_values" => Type::iterator(element),
        "keys" | "into_keys" => Type::iterator(own.argument(0)),
        "chunks" | "windows" | "chunks_exact" | "chunks_exact_mut" | "chunks_mut" | "split" => {
            Type::iterator(Type::of("[]", element))
        }
        "get" | "get_mut" | "first" | "last" | "last_mut" | "first_mut" | "pop" | "pop_front"
        | "pop_back" | "front" | "back" | "peek" => Type::of("Option", element),
        "remove" | "swap_remove" if own.is_foreign("Vec") => element,
        "remove" | "insert" => Type::of("Option", element),
        "get_unchecked" | "get_unchecked_mut" => element,
        "len" | "capacity" => Type::foreign("usize"),
        "as_ptr" | "as_mut_ptr" => Type::Pointer(Box::new(element)),
        "map" => Type::of("[]", result),
        "is_empty" | "contains" | "contains_key" => Type::foreign("bool"),
        "split_at" => Type::Tuple(vec![own.clone(), own]),
        "split_first" | "split_last" => Type::of("Option", Type::Tuple(vec![element, own])),
        _ => own,
    }
}

fn other(own: Type, name: &str, result: Type) -> Type {
    match (&own, name) {
        (Type::Foreign(bool, _), "then" | "then_some") if bool == "bool" => {
            Type::of("Option", result)
        }
        (Type::Foreign(number, _), "load" | "swap" | "fetch_add" | "fetch_sub" | "fetch_or")
            if number.starts_with("Atomic") =>
        {
            Type::foreign("u64")
        }
        (Type::Pointer(inner), "read") => (**inner).clone(),
        (Type::Pointer(inner), "as_ref" | "as_mut") => match &**inner {
            inner if inner.is_foreign("NonNull") => inner.argument(0),
            inner => Type::of("Option", inner.clone()),
        },
        (Type::Pointer(_), _) => own,
        (_, "clone" | "to_owned" | "borrow" | "borrow_mut" | "as_ref" | "as_mut" | "by_ref") => own,
        (_, name) if name.starts_with("is_") => Type::foreign("bool"),
        (_, "eq" | "ne" | "lt" | "le" | "contains") => Type::foreign("bool"),
        (Type::Foreign(name, _), _) if is_number(name) => own,
        _ => Type::Unknown,
    }
}

fn is_number(name: &str) -> bool {
    ["u8", "u16", "u32", "u64", "usize", "i8", "i16", "i32", "i64", "isize", "f32", "f64", "u128"]
        .contains(&name)
}
