//! Replaces calls of macros by expressions that evaluate the same arguments. [`super::program`] expands each body when
//! it reads the sources.

use syn::parse::Parser;
use syn::punctuated::Punctuated;
use syn::visit_mut::{VisitMut, visit_expr_mut, visit_stmt_mut};
use syn::{Expr, Stmt, Token, parse_quote};

/// Replaces the calls of macros in a body.
pub fn expand(block: &mut syn::Block) {
    Expansion.visit_block_mut(block);
}

struct Expansion;

impl VisitMut for Expansion {
    fn visit_expr_mut(&mut self, expression: &mut Expr) {
        if let Expr::Macro(call) = expression {
            *expression = expanded(&call.mac);
        }
        visit_expr_mut(self, expression);
    }

    fn visit_stmt_mut(&mut self, statement: &mut Stmt) {
        if let Stmt::Macro(call) = statement {
            *statement = Stmt::Expr(expanded(&call.mac), call.semi_token);
        }
        visit_stmt_mut(self, statement);
    }
}

fn expanded(call: &syn::Macro) -> Expr {
    let name = call.path.segments.last().map(|segment| segment.ident.to_string());
    let name = name.unwrap_or_default();
    let tokens = call.tokens.clone();
    match name.as_str() {
        "matches" => matches_expression.parse2(tokens).unwrap_or_else(|_| parse_quote!(false)),
        "panic" | "unreachable" | "unimplemented" => parse_quote!(loop {}),
        "vec" => {
            let text = tokens.clone();
            let list = syn::parse2::<syn::ExprRepeat>(parse_quote!([#text]));
            match list {
                Ok(list) => Expr::Repeat(list),
                Err(_) => syn::parse2(parse_quote!([#tokens])).unwrap_or_else(|_| parse_quote!([])),
            }
        }
        _ => {
            let arguments = Punctuated::<Expr, Token![,]>::parse_terminated.parse2(tokens);
            let arguments = arguments.unwrap_or_default();
            let is_text = name == "format" || name == "concat" || name == "stringify";
            match is_text {
                true => parse_quote!({ (#arguments); "" }),
                false => parse_quote!({ (#arguments); }),
            }
        }
    }
}

/// `matches!` is a `match`.
fn matches_expression(input: syn::parse::ParseStream) -> syn::Result<Expr> {
    let value: Expr = input.parse()?;
    input.parse::<Token![,]>()?;
    let pattern = syn::Pat::parse_multi_with_leading_vert(input)?;
    let guard = input.parse::<Option<Token![if]>>()?;
    let guard: Option<Expr> = guard.map(|_| input.parse()).transpose()?;
    input.parse::<Option<Token![,]>>()?;
    Ok(match guard {
        Some(guard) => parse_quote!(match #value { #pattern if #guard => true, _ => false }),
        None => parse_quote!(match #value { #pattern => true, _ => false }),
    })
}
