//! Patterns: which part of a value each name in a pattern is bound to, and what a successful test says about a local.
//! The evaluator calls this module for parameters, `let`, `match` and closures.

use syn::{Expr, Pat};

use super::evaluate::{Evaluator, line_of};
use super::names::names;
use super::types::Type;
use super::values::Value;

impl<'p> Evaluator<'p> {
    /// Binds the names in a pattern to parts of a value.
    pub fn bind(&mut self, pattern: &'p Pat, value: Value<'p>) {
        match pattern {
            Pat::Ident(name) => {
                if let Some((_, inner)) = &name.subpat {
                    self.bind(inner, value.clone());
                }
                let text = name.ident.to_string();
                // A single name may also be a constant or a variant.
                if !text.starts_with(char::is_uppercase) {
                    self.define(&text, value);
                }
            }
            Pat::Type(typed) => {
                let declared = self.program.lower_in_function(self.function, &typed.ty);
                let ty = declared.or(value.ty);
                self.bind(&typed.pat, Value { ty, ..value });
            }
            Pat::Tuple(tuple) => {
                self.bind_list(tuple.elems.iter(), &value, |ty, index, _| ty.argument(index))
            }
            Pat::Slice(slice) => {
                self.bind_list(slice.elems.iter(), &value, |ty, _, _| ty.item());
            }
            Pat::TupleStruct(inner) => {
                let path = names(&inner.path);
                let types = self.parts(&path, &value.ty);
                let parts = inner.elems.iter().filter(|part| !matches!(part, Pat::Rest(_)));
                for (index, part) in parts.enumerate() {
                    let ty = types.get(index).map_or(Type::Unknown, |(_, ty)| ty.clone());
                    let value = self.part(&value, ty);
                    self.bind(part, value);
                }
            }
            Pat::Struct(inner) => {
                let types = self.parts(&names(&inner.path), &value.ty);
                for field in &inner.fields {
                    let syn::Member::Named(name) = &field.member else { continue };
                    let known = types.iter().find(|(own, _)| name == own);
                    let ty = known.map_or(Type::Unknown, |(_, ty)| ty.clone());
                    let value = self.part(&value, ty);
                    self.bind(&field.pat, value);
                }
            }
            Pat::Reference(inner) => self.bind(&inner.pat, value),
            Pat::Paren(inner) => self.bind(&inner.pat, value),
            // All cases of a pattern bind the same names.
            Pat::Or(cases) => cases.cases.iter().take(1).for_each(|case| {
                self.bind(case, value.clone());
            }),
            _ => {}
        }
    }

    /// A part of a value.
    fn part(&self, whole: &Value<'p>, ty: Type) -> Value<'p> {
        // A part of a thread is a reference to a root.
        let is_reference = self.program.collects(whole.ty.peeled());
        let bears = whole.bears || !is_reference && self.is_in_root(&whole.ty, &ty);
        self.value(ty, bears)
    }

    fn bind_list(
        &mut self,
        parts: impl DoubleEndedIterator<Item = &'p Pat> + ExactSizeIterator,
        value: &Value<'p>,
        ty: impl Fn(&Type, usize, usize) -> Type,
    ) {
        let count = parts.len();
        for (index, part) in parts.enumerate() {
            let ty = ty(&value.ty, index, count);
            let value = self.part(value, ty);
            self.bind(part, value);
        }
    }

    /// The names and types of the fields of a variant or struct.
    pub fn parts(&self, path: &[String], of: &Type) -> Vec<(String, Type)> {
        let last = path.last().map_or("", String::as_str);
        match last {
            "Some" | "Ok" | "Continue" | "Ready" => return vec![("0".to_owned(), of.argument(0))],
            "Err" | "Break" => return vec![("0".to_owned(), of.argument(1))],
            _ => {}
        }
        let Some((id, variant)) = self.constructor(path) else { return Vec::new() };
        let arguments = match of.peeled() {
            Type::Own(own, arguments) if *own == id => arguments.as_slice(),
            _ => &[],
        };
        let bindings = self.program.bindings(id, arguments);
        let fields = &self.program.types[id.0].fields[variant];
        let types = fields.types.iter().map(|ty| ty.with(&bindings));
        fields.names.iter().cloned().zip(types).collect()
    }

    /// A test of a local succeeded or failed (`truth`): the local may be known to hold no pointer now.
    pub fn refine(&mut self, test: &'p Expr, pattern: Option<&'p Pat>, truth: bool) {
        let Some(subject) = without_pointer(test, pattern, truth) else { return };
        let Expr::Path(path) = subject else { return };
        let Some(name) = path.path.get_ident() else { return };
        let before = self.findings.clone();
        let Some(value) = self.local(&name.to_string(), line_of(path)) else { return };
        self.findings = before;
        if let (Some(flow), Some(id)) = (&mut self.flow, value.place) {
            flow.locals[id].bears = false;
        }
    }
}

/// The expression that holds no pointer if a test has succeeded or failed (`truth`). The test is an expression, or a
/// match of the expression with a pattern.
fn without_pointer<'p>(test: &'p Expr, pattern: Option<&Pat>, truth: bool) -> Option<&'p Expr> {
    match (test, pattern) {
        (Expr::MethodCall(call), pattern) => {
            let is_some = match pattern {
                Some(Pat::TupleStruct(inner)) => inner.path.is_ident("Some") && truth,
                Some(_) => return None,
                None => truth,
            };
            let is_without = match call.method.to_string().as_str() {
                "is_pointer" | "as_object" => !is_some,
                "is_nil" | "is_small_integer" | "is_double" | "as_small_integer" | "as_double"
                | "as_bool" => is_some,
                _ => false,
            };
            is_without.then_some(&*call.receiver)
        }
        (Expr::Binary(comparison), None) => {
            let is_same = match comparison.op {
                syn::BinOp::Eq(_) => truth,
                syn::BinOp::Ne(_) => !truth,
                _ => false,
            };
            (is_same && is_constant(&comparison.right)).then_some(&*comparison.left)
        }
        _ => None,
    }
}

/// Whether an expression is the name of a constant.
fn is_constant(expression: &Expr) -> bool {
    let Expr::Path(path) = expression else { return false };
    names(&path.path).last().is_some_and(|name| !name.contains(char::is_lowercase))
}
