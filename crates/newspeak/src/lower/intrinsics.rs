//! The messages of library code to `vmMirror`: lowers primitives, and the two forms of exception handling.
//! `expressions` calls this module.

use squall_bytecode::builder::Label;
use squall_bytecode::entities::Register;
use squall_bytecode::instructions::{Opcode, Special};
use squall_bytecode::module::RegionKind;

use super::Lowering;
use super::function::nth;
use super::inlining::literal_block;
use crate::ast::{ExpressionKind, Receiver};
use crate::entities::{BlockId, ExpressionId, MessageId};

/// The name through which library code reaches the machine.
const MACHINE_MIRROR: &str = "vmMirror";

impl Lowering<'_> {
    /// Whether an expression is the machine's mirror.
    pub fn is_machine_mirror(&self, id: ExpressionId) -> bool {
        match self.ast[id].kind {
            ExpressionKind::Send { receiver: Receiver::Implicit, message } => {
                let message = &self.ast[message];
                message.arguments.is_empty() && self.ast[message.selector] == *MACHINE_MIRROR
            }
            _ => false,
        }
    }

    /// A message to the machine's mirror.
    pub fn intrinsic(&mut self, id: MessageId, wanted: Option<Register>) {
        let ast = self.ast;
        let destination = self.destination(wanted);
        let arguments = &ast[ast[id].arguments];
        let block = |index: usize| literal_block(ast, arguments[index]);
        match &ast[ast[id].selector] {
            "try:catching:with:" => {
                if let (Some(body), Some(handler)) = (block(0), block(2)) {
                    return self.catch(body, arguments[1], handler, destination);
                }
            }
            "try:finally:" => {
                if let (Some(body), Some(cleanup)) = (block(0), block(1)) {
                    // A register that was wanted may be a variable, which the body may use.
                    let result = wanted.is_none().then_some(destination);
                    return self.ensure(body, cleanup, destination, result);
                }
            }
            _ => {}
        }
        self.primitive(id, destination);
    }

    fn primitive(&mut self, id: MessageId, destination: Register) {
        let ast = self.ast;
        let message = &ast[id];
        let arguments = &ast[message.arguments];
        let window = self.open_window(arguments.len());
        for (index, &argument) in arguments.iter().enumerate() {
            self.value(argument, Some(nth(window, index)));
        }
        self.position(message.selector_span);
        let name = self.module.string(&ast[message.selector]);
        let count = arguments.len() as i64;
        let operands = [destination.into(), window.into(), count.into(), i64::from(name.0).into()];
        self.function().emit(Opcode::Primitive, &operands);
    }

    /// `try: body catching: class with: handler`
    fn catch(
        &mut self,
        body: BlockId,
        class: ExpressionId,
        handler: BlockId,
        destination: Register,
    ) {
        let class_register = self.function().allocate();
        self.value(class, Some(class_register));
        let exception = self.function().allocate();
        let result = self.function().allocate();
        let builder = &mut self.function().builder;
        let (handling, join) = (builder.label(), builder.label());
        let range = self.protected(body, result);
        self.function().emit_jump(join);
        self.function().builder.bind(handling);
        self.inline_block(handler, &[exception], Some(result));
        let kind = RegionKind::Catch(class_register);
        let builder = &mut self.function().builder;
        builder.region(range, handling, exception, kind);
        builder.bind(join);
        self.function().emit_move(destination, result);
    }

    /// `try: body finally: cleanup`
    fn ensure(
        &mut self,
        body: BlockId,
        cleanup: BlockId,
        destination: Register,
        result: Option<Register>,
    ) {
        let result = result.unwrap_or_else(|| self.function().allocate());
        if self.is_short(cleanup) {
            self.ensure_shortly(body, cleanup, result);
            return self.function().emit_move(destination, result);
        }
        let token = self.function().allocate();
        // An unwinding reaches the cleanup without a result.
        self.function().emit_special(result, Special::Nil);
        let handling = self.function().builder.label();
        let range = self.protected(body, result);
        self.function().emit_special(token, Special::Nil);
        self.function().builder.bind(handling);
        self.inline_block(cleanup, &[], None);
        self.function().emit(Opcode::ResumeUnwind, &[token.into()]);
        self.function().builder.region(range, handling, token, RegionKind::Ensure);
        self.function().emit_move(destination, result);
    }

    /// The body, inlined, and the range of its code.
    fn protected(&mut self, body: BlockId, result: Register) -> (Label, Label) {
        let builder = &mut self.function().builder;
        let (start, end) = (builder.label(), builder.label());
        builder.bind(start);
        self.inline_block(body, &[], Some(result));
        self.function().builder.bind(end);
        (start, end)
    }

    /// Whether a cleanup is one primitive without arguments. Then its code can appear twice: for unwindings, and for
    /// the normal end without the additions for unwindings.
    fn is_short(&self, cleanup: BlockId) -> bool {
        let body = &self.ast[cleanup].body;
        let ([statement], None) = (&self.ast[body.statements], &body.returned) else {
            return false;
        };
        match &self.ast[*statement].kind {
            ExpressionKind::Send { receiver: Receiver::Expression(receiver), message } => {
                self.is_machine_mirror(*receiver) && self.ast[*message].arguments.is_empty()
            }
            _ => false,
        }
    }

    /// Lowers `try:finally:` with a short cleanup.
    fn ensure_shortly(&mut self, body: BlockId, cleanup: BlockId, result: Register) {
        let token = self.function().allocate();
        let builder = &mut self.function().builder;
        let (handling, join) = (builder.label(), builder.label());
        let range = self.protected(body, result);
        self.inline_block(cleanup, &[], None);
        self.function().emit_jump(join);
        self.function().builder.bind(handling);
        self.inline_block(cleanup, &[], None);
        self.function().emit(Opcode::ResumeUnwind, &[token.into()]);
        // A resumed unwinding does not come here, but the verifier cannot know that.
        self.function().emit_special(result, Special::Nil);
        let builder = &mut self.function().builder;
        builder.region(range, handling, token, RegionKind::Ensure);
        builder.bind(join);
    }
}
