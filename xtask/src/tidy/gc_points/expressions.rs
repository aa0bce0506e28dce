//! Expressions: the part of the evaluator that has a case for each kind of expression, and evaluates the parts in the
//! order of execution. [`super::evaluate()`] calls it for statements and tail expressions.

use std::rc::Rc;

use syn::Expr;

use super::evaluate::{Evaluator, line_of};
use super::names::{Meaning, Space, names};
use super::program::{TypeId, TypeKey, TypeKind};
use super::types::Type;
use super::values::{Callable, Value};

impl<'p> Evaluator<'p> {
    /// Evaluates an expression. A GC point may be pending in the value, since its result is not tested yet.
    pub fn open(&mut self, expression: &'p Expr) -> Value<'p> {
        if self.flow.is_none() {
            return Value::unknown();
        }
        match expression {
            Expr::Block(block) => self.labelled(block),
            Expr::Unsafe(block) => self.open_block(&block.block),
            Expr::Const(block) => self.block(&block.block),
            Expr::Break(broken) => {
                self.break_from(broken);
                Value::unknown()
            }
            Expr::Continue(again) => {
                self.continue_with(again);
                Value::unknown()
            }
            Expr::Return(result) => {
                match &result.expr {
                    Some(value) => self.tail(value),
                    None => self.leave_by(Value::unit()),
                }
                Value::unknown()
            }
            Expr::ForLoop(repeated) => self.for_loop(repeated),
            Expr::While(repeated) => self.while_loop(repeated),
            Expr::Loop(endless) => self.endless(endless),
            Expr::If(branch) => self.branch(branch),
            Expr::Match(choice) => self.choice(choice),
            Expr::Try(attempt) => self.attempt(attempt),
            Expr::Call(call) => self.call(call),
            Expr::MethodCall(call) => self.method_call(call),
            Expr::Closure(closure) => {
                let names = Rc::new(self.scopes.clone());
                let callable = Some(Callable::Literal(closure, names));
                Value { callable, ..Value::unknown() }
            }
            Expr::Let(binding) => {
                let value = self.expression(&binding.expr);
                self.bind(&binding.pat, value);
                Value::plain(Type::foreign("bool"))
            }
            other => self.simple(other),
        }
    }

    /// Evaluates an expression that is neither a branch nor a call.
    fn simple(&mut self, expression: &'p Expr) -> Value<'p> {
        match expression {
            Expr::Array(_) | Expr::Repeat(_) | Expr::Tuple(_) => self.aggregate(expression),
            Expr::Assign(assignment) => {
                let value = self.expression(&assignment.right);
                self.assign(&assignment.left, value);
                Value::unit()
            }
            Expr::Binary(binary) => self.binary(binary),
            Expr::Cast(cast) => {
                let value = self.expression(&cast.expr);
                let ty = self.program.lower_in_function(self.function, &cast.ty);
                self.value(ty, value.bears)
            }
            Expr::Field(field) => self.field(field),
            Expr::Index(index) => self.index(index),
            Expr::Lit(literal) => {
                let fails = matches!(&literal.lit, syn::Lit::Bool(truth) if !truth.value);
                Value { fails, ..Value::plain(literal_type(&literal.lit)) }
            }
            Expr::Paren(inner) => self.open(&inner.expr),
            Expr::Group(inner) => self.open(&inner.expr),
            Expr::Path(path) => self.path(path),
            Expr::Range(range) => {
                let ends = range.start.iter().chain(&range.end);
                let values = self.operands(ends.map(|end| &**end));
                let ty = values.into_iter().next().map_or(Type::foreign("usize"), |end| end.ty);
                Value::plain(Type::iterator(ty))
            }
            Expr::Reference(reference) => {
                let value = self.expression(&reference.expr);
                match reference.mutability {
                    Some(_) => value,
                    None => Value { ty: Type::Shared(Box::new(value.ty)), ..value },
                }
            }
            Expr::RawAddr(raw) => {
                let value = self.expression(&raw.expr);
                Value::plain(Type::Pointer(Box::new(value.ty)))
            }
            Expr::Struct(literal) => self.structure(literal),
            Expr::Unary(unary) => {
                let value = self.expression(&unary.expr);
                match unary.op {
                    syn::UnOp::Deref(_) => self.dereferenced(value),
                    _ => Value { bears: false, place: None, ..value },
                }
            }
            _ => Value::unknown(),
        }
    }

    /// An array or a tuple.
    fn aggregate(&mut self, expression: &'p Expr) -> Value<'p> {
        match expression {
            Expr::Array(array) => {
                let values = self.operands(&array.elems);
                let bears = values.iter().any(|value| value.bears);
                let ty = values.into_iter().next().map_or(Type::Unknown, |value| value.ty);
                self.value(Type::of("[]", ty), bears)
            }
            Expr::Repeat(repeat) => {
                let value = self.expression(&repeat.expr);
                self.expression(&repeat.len);
                self.value(Type::of("[]", value.ty), value.bears)
            }
            Expr::Tuple(tuple) => {
                let values = self.operands(&tuple.elems);
                let bears = values.iter().any(|value| value.bears);
                let types = values.into_iter().map(|value| value.ty).collect();
                self.value(Type::Tuple(types), bears)
            }
            _ => Value::unknown(),
        }
    }

    fn dereferenced(&self, value: Value<'p>) -> Value<'p> {
        match value.ty.clone() {
            Type::Pointer(inner) => self.value(*inner, true),
            Type::Shared(inner) => Value { ty: *inner, ..value },
            Type::Immortal(inner) => self.value(*inner, true),
            Type::Own(id, _) if self.program.targets.contains_key(&id) => {
                self.value(self.program.targets[&id].clone(), value.bears)
            }
            _ => value,
        }
    }

    /// Assigns a value to a place.
    fn assign(&mut self, place: &'p Expr, value: Value<'p>) {
        match place {
            Expr::Path(path) if path.path.get_ident().is_some() => {
                let name = path.path.segments[0].ident.to_string();
                let before = self.findings.clone();
                let known = self.local(&name, line_of(path)).and_then(|local| local.place);
                // An assignment does not use the old value.
                self.findings = before;
                let Some(id) = known else { return };
                let ty = std::mem::replace(&mut self.locals[id].ty, Type::Unknown);
                self.locals[id].ty = ty.or(value.ty);
                let bears = value.bears && self.program.may_bear(&self.locals[id].ty);
                if let Some(flow) = &mut self.flow {
                    flow.locals[id].bears = bears;
                    flow.locals[id].stale = None;
                }
            }
            Expr::Tuple(places) => {
                for (index, place) in places.elems.iter().enumerate() {
                    let part = self.value(value.ty.argument(index), value.bears);
                    self.assign(place, part);
                }
            }
            other => {
                let target = self.expression(other);
                if let Some(id) = target.place {
                    self.absorb(id, value.bears);
                }
            }
        }
    }

    /// A local may hold a word from now on, if `bears` says so and its type allows that.
    pub fn absorb(&mut self, id: usize, bears: bool) {
        let can = self.locals.get(id).is_some_and(|local| self.program.may_bear(&local.ty));
        if let Some(state) = self.flow.as_mut().and_then(|flow| flow.locals.get_mut(id)) {
            state.bears |= bears && can;
        }
    }

    fn binary(&mut self, binary: &'p syn::ExprBinary) -> Value<'p> {
        use syn::BinOp;
        match binary.op {
            BinOp::And(_) | BinOp::Or(_) => {
                self.expression(&binary.left);
                let before = self.flow.clone();
                self.refine(&binary.left, None, matches!(binary.op, BinOp::And(_)));
                self.expression(&binary.right);
                self.flow = super::flow::join(before, self.flow.take());
                Value::plain(Type::foreign("bool"))
            }
            BinOp::Eq(_)
            | BinOp::Ne(_)
            | BinOp::Lt(_)
            | BinOp::Le(_)
            | BinOp::Gt(_)
            | BinOp::Ge(_) => {
                self.operands([&*binary.left, &*binary.right]);
                Value::plain(Type::foreign("bool"))
            }
            _ => {
                let values = self.operands([&*binary.left, &*binary.right]);
                let ty = values.into_iter().next().map_or(Type::Unknown, |left| left.ty);
                Value::plain(ty)
            }
        }
    }

    fn field(&mut self, field: &'p syn::ExprField) -> Value<'p> {
        let before = self.flow.clone().zip(Some(self.findings.clone()));
        let base = self.expression(&field.base);
        let name = match &field.member {
            syn::Member::Named(name) => name.to_string(),
            syn::Member::Unnamed(index) => index.index.to_string(),
        };
        let ty = self.field_type(&base.ty, &name);
        if let (Expr::Path(_), false) = (&*field.base, self.program.may_bear(&ty))
            && let Some((flow, findings)) = before
        {
            // An access to one field does not use the words in the others.
            (self.flow, self.findings) = (Some(flow), findings);
        }
        let bears = base.bears || self.is_in_root(&base.ty, &ty);
        Value { place: base.place, ..self.value(ty, bears) }
    }

    /// Whether a part of type `part` in a value of type `whole` is a word that is read from a root.
    pub fn is_in_root(&self, whole: &Type, part: &Type) -> bool {
        !self.program.may_bear(whole) && self.program.bears(part)
    }

    fn field_type(&self, base: &Type, name: &str) -> Type {
        match base.peeled() {
            Type::Tuple(elements) => {
                let index: usize = name.parse().unwrap_or(usize::MAX);
                elements.get(index).cloned().unwrap_or(Type::Unknown)
            }
            Type::Own(id, arguments) => {
                let fields = self.program.types[id.0].fields.first();
                let found = fields.and_then(|fields| {
                    let index = fields.names.iter().position(|own| own == name)?;
                    Some(fields.types[index].with(&self.program.bindings(*id, arguments)))
                });
                found.unwrap_or_else(|| match self.program.targets.get(id) {
                    Some(target) => self.field_type(target, name),
                    None => Type::Unknown,
                })
            }
            _ => Type::Unknown,
        }
    }

    fn index(&mut self, index: &'p syn::ExprIndex) -> Value<'p> {
        let values = self.operands([&*index.expr, &*index.index]);
        let [base, at] = &values[..] else { return Value::unknown() };
        let is_range = matches!(at.ty, Type::Iterator(_));
        let element = match base.ty.peeled() {
            Type::Foreign(name, arguments) if name.ends_with("Map") => {
                arguments.get(1).cloned().unwrap_or(Type::Unknown)
            }
            ty => ty.item(),
        };
        let ty = if is_range { Type::of("[]", element) } else { element };
        let bears = base.bears || self.is_in_root(&base.ty, &ty);
        Value { place: base.place, ..self.value(ty, bears) }
    }

    fn structure(&mut self, literal: &'p syn::ExprStruct) -> Value<'p> {
        let parts = literal.fields.iter().map(|field| &field.expr);
        let values = self.operands(parts.chain(literal.rest.as_deref()));
        let bears = values.iter().any(|value| value.bears);
        match self.constructor(&names(&literal.path)) {
            Some((id, _)) => self.value(Type::Own(id, Vec::new()), bears),
            None => self.value(Type::Unknown, bears),
        }
    }

    /// The struct, or the enum and variant, that a path constructs.
    pub fn constructor(&self, path: &[String]) -> Option<(TypeId, usize)> {
        let module = self.function.module;
        if path.first().is_some_and(|first| first == "Self") {
            let Some(Type::Own(id, _)) = &self.function.self_type else { return None };
            let Some(variant) = path.get(1) else { return Some((*id, 0)) };
            let mut fields = self.program.types[id.0].fields.iter();
            return Some((*id, fields.position(|fields| fields.variant == *variant)?));
        }
        if let Some(found) = self.program.variant(module, path) {
            return Some(found);
        }
        match self.program.resolve(module, path, Space::Types) {
            Some((Meaning::Type(id), length)) if length == path.len() => {
                let id = self.program.unaliased(module, id);
                let is_struct = matches!(self.program.types[id.0].kind, TypeKind::Struct);
                is_struct.then_some((id, 0))
            }
            _ => None,
        }
    }

    /// The value of a path: a local, a constant, a function or a variant.
    fn path(&mut self, path: &'p syn::ExprPath) -> Value<'p> {
        if let Some(name) = path.path.get_ident()
            && let Some(value) = self.local(&name.to_string(), line_of(path))
        {
            return value;
        }
        let all = names(&path.path);
        if path.path.is_ident("None") {
            return Value { fails: true, ..Value::plain(Type::of("Option", Type::Unknown)) };
        }
        let module = self.function.module;
        if let Some((Meaning::Constant(owner), _)) =
            self.program.resolve(module, &all, Space::Values)
        {
            let ty = &self.program.modules[owner.0].constants[&all[all.len() - 1]];
            let none = syn::Generics::default();
            return Value::plain(self.program.lower_in(owner, &none, None, ty));
        }
        match self.callee(path) {
            super::calls::Callee::Functions(found) if !found.is_empty() => {
                let callable = Some(Callable::Functions(Rc::new(found)));
                Value { callable, ..Value::unknown() }
            }
            super::calls::Callee::Constructor(ty) => {
                let callable = Some(Callable::Constructor(ty.clone()));
                Value { callable, ..Value::plain(ty) }
            }
            _ => Value::plain(self.constant_of_type(&all)),
        }
    }

    /// The type of an associated constant.
    fn constant_of_type(&self, path: &[String]) -> Type {
        let Some((name, of)) = path.split_last() else { return Type::Unknown };
        let own = || self.function.self_type.clone();
        let ty = match of {
            [first] if first == "Self" => own(),
            _ => match self.program.resolve(self.function.module, of, Space::Types) {
                Some((Meaning::Type(id), _)) => Some(self.program.own_type(id, Vec::new())),
                _ => of.last().map(|name| Type::foreign(name)),
            },
        };
        let Some(ty) = ty else { return Type::Unknown };
        let key = self.program.key(&ty);
        let known =
            key.and_then(|key: TypeKey| self.program.constants.get(&(key, name.clone())).cloned());
        known.unwrap_or(ty)
    }
}

fn literal_type(literal: &syn::Lit) -> Type {
    Type::foreign(match literal {
        syn::Lit::Bool(_) => "bool",
        syn::Lit::Str(_) => "str",
        syn::Lit::Char(_) => "char",
        syn::Lit::Float(_) => "f64",
        syn::Lit::ByteStr(_) => return Type::of("[]", Type::foreign("u8")),
        syn::Lit::Int(number) if !number.suffix().is_empty() => number.suffix(),
        _ => "usize",
    })
}
