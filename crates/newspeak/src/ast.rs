//! The syntax tree of one module. The parser makes it, and `lower` compiles it.
//!
//! Nodes live in arenas and name each other by index ([`entities`](crate::entities)); every node knows its span. An
//! [`Ast`] has no node that stands for a mistake: there is none for a program with errors, or, for tools, one without the
//! parts with errors ([`parse_partial`](crate::parse_partial)). The parser checks type annotations and drops them;
//! parentheses only widen the span of their contents.
//!
//! Code that walks the tree may recurse, with one exception. Source brackets nest at most
//! [`MOST_NESTED`](crate::parser::MOST_NESTED) deep, and so does the tree, except that sends to sends (`a b c + d`) and
//! setter sends of setter sends (`a:: b:: c`) form chains of any length. Walk those with [`Ast::chain`] and
//! [`Ast::setters`].

use std::ops::Index;

use num_bigint::BigInt;

use crate::entities::{
    Arena, BigIntegerId, BlockId, ClassId, ExpressionId, List, Lists, MessageId, MethodId, Name,
    SlotId, StringId,
};
use crate::names::Names;
use crate::source::Span;

/// A module: its class, and all nodes beneath.
#[derive(Clone, Debug)]
pub struct Ast {
    /// The module's class.
    pub module: ClassId,
    /// The nodes.
    pub nodes: Nodes,
}

/// All nodes of a tree. Index it by a node's id, name, literal or list.
#[derive(Clone, Default, Debug)]
pub struct Nodes {
    /// Classes, the nested ones before the class around them.
    pub classes: Arena<ClassId, Class>,
    /// Slots.
    pub slots: Arena<SlotId, Slot>,
    /// Methods of both sides.
    pub methods: Arena<MethodId, Method>,
    /// Blocks.
    pub blocks: Arena<BlockId, Block>,
    /// Expressions.
    pub expressions: Arena<ExpressionId, Expression>,
    /// Messages.
    pub messages: Arena<MessageId, Message>,
    /// The values of string literals.
    pub strings: Arena<StringId, Box<str>>,
    /// The values of integer literals beyond 64 bits.
    pub big_integers: Arena<BigIntegerId, BigInt>,
    /// Identifiers, selectors and symbols.
    pub names: Names,
    /// The items of expression lists.
    pub expression_lists: Lists<ExpressionId>,
    /// The items of message lists.
    pub message_lists: Lists<MessageId>,
}

/// An interned name where it is written.
#[derive(Clone, Copy, Debug)]
pub struct Identifier {
    /// The name.
    pub name: Name,
    /// Where it is written.
    pub span: Span,
}

/// The code that may send a message which reaches a member.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    /// Only lexically: code inside the class declaration.
    Private,
    /// The class, its subclasses, and code inside. What members are by default.
    Protected,
    /// All code.
    Public,
}

// Declarations

/// A class declaration, or the anonymous class of an object literal.
#[derive(Clone, Debug)]
pub struct Class {
    /// The class's name; none for an object literal.
    pub name: Option<Identifier>,
    /// The visibility of the class; public for the module and for object literals.
    pub access: Access,
    /// The primary factory: the class object's message for new instances. Its parameters are visible in the whole
    /// instance initialiser.
    pub factory: Pattern,
    /// The superclass; none means `Object`.
    pub superclass: Option<Inheritance>,
    /// The mixins, to be applied from left to right.
    pub mixins: Vec<Inheritance>,
    /// The slots, in order of initialisation.
    pub slots: Vec<SlotId>,
    /// Expressions evaluated after the slots are initialised.
    pub initializers: Vec<ExpressionId>,
    /// Nested classes.
    pub classes: Vec<ClassId>,
    /// Instance methods.
    pub methods: Vec<MethodId>,
    /// Class methods.
    pub class_methods: Vec<MethodId>,
    /// The whole declaration.
    pub span: Span,
}

/// A superclass or mixin, and how it initialises its part of a new instance.
#[derive(Clone, Copy, Debug)]
pub struct Inheritance {
    /// The expression that evaluates to the class, in the scope of the enclosing object: a unary send to an implicit
    /// receiver, `self`, `super` or `outer Name`, or just `outer Name`.
    pub class: ExpressionId,
    /// The message that names the class's primary factory, in the scope of the instance
    /// initialiser; none means `new`. Never eventual, never binary.
    pub initializer: Option<MessageId>,
    /// The whole clause.
    pub span: Span,
}

/// The head of a method or class: a selector with names for its arguments.
#[derive(Clone, Debug)]
pub struct Pattern {
    /// The selector.
    pub selector: Name,
    /// The parameters, as many as the selector has arguments.
    pub parameters: Vec<Identifier>,
    /// From the first word to the last parameter.
    pub span: Span,
}

/// A slot declaration.
#[derive(Clone, Copy, Debug)]
pub struct Slot {
    /// The visibility of its accessors.
    pub access: Access,
    /// Its name.
    pub name: Identifier,
    /// Whether it has a setter: declared by `::=` or without an initialiser.
    pub is_mutable: bool,
    /// Its initial value; none means nil.
    pub initializer: Option<ExpressionId>,
    /// The whole declaration.
    pub span: Span,
}

/// A method declaration.
#[derive(Clone, Debug)]
pub struct Method {
    /// The visibility of the method.
    pub access: Access,
    /// Selector and parameters.
    pub pattern: Pattern,
    /// Its code. Without a `^` it answers self.
    pub body: Box<Body>,
    /// The whole declaration.
    pub span: Span,
}

/// A block.
#[derive(Clone, Debug)]
pub struct Block {
    /// Its parameters.
    pub parameters: Vec<Identifier>,
    /// Its code. Without a `^` it answers its last statement's value, or nil.
    pub body: Box<Body>,
    /// From bracket to bracket.
    pub span: Span,
}

/// The text between the brackets of a method or block.
#[derive(Clone, Debug)]
pub struct Body {
    /// Local variables, in order of initialisation.
    pub locals: Vec<Local>,
    /// The statements before the `^`, if there is one.
    pub statements: List<ExpressionId>,
    /// The final `^` statement.
    pub returned: Option<Return>,
    /// From bracket to bracket.
    pub span: Span,
}

/// A local variable.
#[derive(Clone, Copy, Debug)]
pub struct Local {
    /// Its name.
    pub name: Identifier,
    /// Whether it was declared by `::=` or without an initialiser. Programs also assign the others, which is allowed.
    pub is_mutable: bool,
    /// Its initial value; none means nil.
    pub initializer: Option<ExpressionId>,
    /// The whole declaration.
    pub span: Span,
}

/// `^ value`: return from the method, from a block too.
#[derive(Clone, Copy, Debug)]
pub struct Return {
    /// The returned value.
    pub value: ExpressionId,
    /// From the caret to the value's end.
    pub span: Span,
}

// Expressions

/// An expression.
#[derive(Clone, Copy, Debug)]
pub struct Expression {
    /// Its form.
    pub kind: ExpressionKind,
    /// Where it is, with the parentheses around it.
    pub span: Span,
}

/// The forms of expressions.
#[derive(Clone, Copy, Debug)]
pub enum ExpressionKind {
    /// A constant.
    Literal(Literal),
    /// `self`.
    SelfObject,
    /// `super` not as a receiver; its value is self.
    Super,
    /// `outer Name` not as a receiver: an enclosing object.
    Outer(Identifier),
    /// A send. A lone identifier is one too, with an implicit receiver and no arguments: name resolution decides
    /// whether it is a variable.
    Send {
        /// The receiver.
        receiver: Receiver,
        /// The message.
        message: MessageId,
    },
    /// `name:: value`.
    SetterSend {
        /// The variable or setter.
        target: Identifier,
        /// The new value, which is also the value of the expression.
        value: ExpressionId,
    },
    /// `receiver first; second; …`: at least two messages to one receiver, the last one's
    /// answer being the value. Only the first may be eventual.
    Cascade {
        /// The receiver of all messages.
        receiver: Receiver,
        /// The messages.
        messages: List<MessageId>,
    },
    /// `{ a. b }`: a new array.
    Array(List<ExpressionId>),
    /// A block.
    Block(BlockId),
    /// `objL …`: a new instance of a new class.
    ObjectLiteral(ClassId),
}

/// A constant.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Literal {
    /// `nil`.
    Nil,
    /// `true`.
    True,
    /// `false`.
    False,
    /// An integer of at most 64 bits.
    Integer(i64),
    /// Any other integer.
    BigInteger(BigIntegerId),
    /// A double.
    Double(f64),
    /// A string or character.
    String(StringId),
    /// A symbol.
    Symbol(Name),
}

/// The receiver of a message.
#[derive(Clone, Copy, Debug)]
pub enum Receiver {
    /// No receiver is written: name resolution finds the variable, the enclosing object or self.
    Implicit,
    /// `self`, lexically bound.
    SelfObject,
    /// `super`.
    Super,
    /// `outer Name`, lexically bound.
    Outer(Identifier),
    /// The value of an expression.
    Expression(ExpressionId),
}

/// The message of a send.
#[derive(Clone, Copy, Debug)]
pub struct Message {
    /// The whole selector.
    pub selector: Name,
    /// The arguments, as many as the selector wants.
    pub arguments: List<ExpressionId>,
    /// Whether `<-:` precedes it.
    pub is_eventual: bool,
    /// The selector's first word: where a debugger stops.
    pub selector_span: Span,
    /// Selector and arguments.
    pub span: Span,
}

// Access

impl Ast {
    /// The innermost expression of a chain of sends to sends, and the sends in the order of
    /// evaluation. For `a b + c` that is `a`, and the sends of `b` and `+ c`.
    pub fn chain(&self, expression: ExpressionId) -> (ExpressionId, Vec<ExpressionId>) {
        let mut innermost = expression;
        let mut sends = Vec::new();
        while let ExpressionKind::Send { receiver: Receiver::Expression(receiver), .. } =
            self[innermost].kind
        {
            sends.push(innermost);
            innermost = receiver;
        }
        sends.reverse();
        (innermost, sends)
    }

    /// The setter sends that begin at an expression, outermost first, and the value set.
    pub fn setters(&self, expression: ExpressionId) -> (Vec<ExpressionId>, ExpressionId) {
        let mut setters = Vec::new();
        let mut innermost = expression;
        while let ExpressionKind::SetterSend { value, .. } = self[innermost].kind {
            setters.push(innermost);
            innermost = value;
        }
        (setters, innermost)
    }
}

/// Trees and node collections are indexed alike.
macro_rules! index {
    ($($id:ty => $table:ident: $output:ty;)+) => {
        $(
            impl Index<$id> for Nodes {
                type Output = $output;

                #[inline]
                fn index(&self, id: $id) -> &$output {
                    &self.$table[id]
                }
            }

            impl Index<$id> for Ast {
                type Output = $output;

                #[inline]
                fn index(&self, id: $id) -> &$output {
                    &self.nodes.$table[id]
                }
            }
        )+
    };
}

index! {
    ClassId => classes: Class;
    SlotId => slots: Slot;
    MethodId => methods: Method;
    BlockId => blocks: Block;
    ExpressionId => expressions: Expression;
    MessageId => messages: Message;
    StringId => strings: str;
    BigIntegerId => big_integers: BigInt;
    Name => names: str;
    List<ExpressionId> => expression_lists: [ExpressionId];
    List<MessageId> => message_lists: [MessageId];
}
