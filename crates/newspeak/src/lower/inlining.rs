//! Decides which sends the compiler inlines: control structures whose receiver or arguments are literal blocks of the
//! right shape. `analysis` and `control` ask it.
//!
//! The decision is purely syntactic, so that the analysis and the code generator agree on it. The receiver's class is
//! known at run time only; see [`super::control`] for the guard.

use crate::ast::{Ast, ExpressionKind, Literal, Message, Receiver};
use crate::entities::{BlockId, ExpressionId};

/// A control structure, taken apart.
#[derive(Clone, Copy, Debug)]
pub enum Inlined {
    /// `ifTrue:` and its kin.
    Conditional {
        /// Runs if the receiver is true.
        on_true: Option<BlockId>,
        /// Runs if the receiver is false.
        on_false: Option<BlockId>,
    },
    /// `and:`, `&&`: the block decides if the receiver is true.
    And(BlockId),
    /// `or:`, `||`: the block decides if the receiver is false.
    Or(BlockId),
    /// `whileTrue:` and its kin; the receiver is a literal block.
    While {
        /// The receiver.
        condition: BlockId,
        /// The repeated block; `None` for the unary forms.
        body: Option<BlockId>,
        /// The condition's value that continues the loop.
        goes_on: bool,
    },
    /// `to:do:` and its kin.
    Count {
        /// The last value of the counter.
        limit: ExpressionId,
        /// The distance between its values, never 0.
        step: i8,
        /// The repeated block, with the counter as argument.
        body: BlockId,
    },
    /// `timesRepeat:`.
    Repeat(BlockId),
    /// `ifNil:` and its kin.
    NilTest {
        /// Runs if the receiver is nil.
        on_nil: Option<BlockId>,
        /// Runs if the receiver is not nil, optionally with the receiver as argument.
        on_value: Option<BlockId>,
    },
}

impl Inlined {
    /// Takes a send apart, if it is a control structure that can be inlined.
    pub fn of(ast: &Ast, receiver: Receiver, message: &Message) -> Option<Inlined> {
        let Receiver::Expression(receiver) = receiver else { return None };
        if message.is_eventual {
            return None;
        }
        let arguments = &ast[message.arguments];
        let block = |index: usize, parameters: usize| {
            literal_block(ast, arguments[index]).filter(|&b| ast[b].parameters.len() == parameters)
        };
        // The blocks of nil tests may take the tested object or nothing.
        let cull = |index: usize| block(index, 0).or_else(|| block(index, 1));
        let counted = |step: i8, body: usize| {
            Some(Inlined::Count { limit: arguments[0], step, body: block(body, 1)? })
        };
        let conditional = |on_true, on_false| Inlined::Conditional { on_true, on_false };
        let looping = |goes_on: bool, has_body: bool| {
            let condition =
                literal_block(ast, receiver).filter(|&b| ast[b].parameters.is_empty())?;
            let body = if has_body { Some(block(0, 0)?) } else { None };
            Some(Inlined::While { condition, body, goes_on })
        };
        match &ast[message.selector] {
            "ifTrue:" => Some(conditional(Some(block(0, 0)?), None)),
            "ifFalse:" => Some(conditional(None, Some(block(0, 0)?))),
            "ifTrue:ifFalse:" => Some(conditional(Some(block(0, 0)?), Some(block(1, 0)?))),
            "ifFalse:ifTrue:" => Some(conditional(Some(block(1, 0)?), Some(block(0, 0)?))),
            "and:" | "&&" => Some(Inlined::And(block(0, 0)?)),
            "or:" | "||" => Some(Inlined::Or(block(0, 0)?)),
            "whileTrue:" => looping(true, true),
            "whileFalse:" => looping(false, true),
            "whileTrue" => looping(true, false),
            "whileFalse" => looping(false, false),
            "to:do:" => counted(1, 1),
            "downTo:do:" => counted(-1, 1),
            "to:by:do:" => counted(literal_step(ast, arguments[1])?, 2),
            "downTo:by:do:" => counted(literal_step(ast, arguments[1])?.checked_neg()?, 2),
            "timesRepeat:" => Some(Inlined::Repeat(block(0, 0)?)),
            "ifNil:" => Some(Inlined::NilTest { on_nil: Some(block(0, 0)?), on_value: None }),
            "ifNotNil:" => Some(Inlined::NilTest { on_nil: None, on_value: Some(cull(0)?) }),
            "ifNil:ifNotNil:" => {
                Some(Inlined::NilTest { on_nil: Some(block(0, 0)?), on_value: Some(cull(1)?) })
            }
            "ifNotNil:ifNil:" => {
                Some(Inlined::NilTest { on_nil: Some(block(1, 0)?), on_value: Some(cull(0)?) })
            }
            _ => None,
        }
    }

    /// The blocks whose code becomes part of the function.
    pub fn blocks(self) -> impl Iterator<Item = BlockId> {
        let pair = match self {
            Inlined::Conditional { on_true, on_false } => [on_true, on_false],
            Inlined::And(block) | Inlined::Or(block) | Inlined::Repeat(block) => {
                [Some(block), None]
            }
            Inlined::While { condition, body, .. } => [Some(condition), body],
            Inlined::Count { body, .. } => [Some(body), None],
            Inlined::NilTest { on_nil, on_value } => [on_nil, on_value],
        };
        pair.into_iter().flatten()
    }
}

/// The literal block that an expression is; `None` for other expressions.
pub fn literal_block(ast: &Ast, expression: ExpressionId) -> Option<BlockId> {
    match ast[expression].kind {
        ExpressionKind::Block(block) => Some(block),
        _ => None,
    }
}

/// A literal step that fits the loop instructions.
fn literal_step(ast: &Ast, expression: ExpressionId) -> Option<i8> {
    match ast[expression].kind {
        ExpressionKind::Literal(Literal::Integer(step)) => {
            i8::try_from(step).ok().filter(|&step| step != 0 && step != i8::MIN)
        }
        _ => None,
    }
}
