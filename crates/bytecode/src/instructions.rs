//! The instruction table: the single source for the encoder, decoder, assembler, disassembler, verifier, reference
//! manual and the interpreter's skeleton.
//!
//! # Shape of the code
//!
//! Code is a sequence of 32-bit little-endian words. An instruction takes one to three of them:
//!
//! ```text
//! word 0   [ C:8 | B:8 | A:8 | opcode:8 ]     Bc = C and B as one 16-bit field, Abc = 24 bits
//! word 1   [ X3:8 | X2:8 | Xlo:16 ]           X  = the whole word
//! word 2   [ Y:32 ]
//! ```
//!
//! Jump targets are signed distances in words from the instruction's own first word.
//!
//! # Calls and windows
//!
//! A call's *window* is a run of the caller's registers that becomes the start of the callee's
//! frame: receiver (or first argument) in `rW`, arguments after it. Register `rW-1` receives the
//! return address (the call's site). A call destroys `rW-1` and all registers above, then writes
//! its destination. `send0`, `send1` and `send2` name their operands anywhere and copy them into
//! the window only when a frame is really made; slot accesses and arithmetic never need one.
//!
//! # Guards
//!
//! Compilers inline `ifTrue:` and its kin. The branches that do so name a second target, taken
//! when the value is not of the kind they understand, where the real message is sent.

/// Where in an instruction's words an operand lives; see the module's picture.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Field {
    /// Bits 8–15 of word 0.
    A,
    /// Bits 16–23 of word 0.
    B,
    /// Bits 24–31 of word 0.
    C,
    /// Bits 16–31 of word 0.
    Bc,
    /// Bits 8–31 of word 0.
    Abc,
    /// All of word 1.
    X,
    /// Bits 0–15 of word 1.
    Xlo,
    /// Bits 16–23 of word 1.
    X2,
    /// Bits 24–31 of word 1.
    X3,
    /// All of word 2.
    Y,
}

impl Field {
    /// The word the field lives in, the position of its lowest bit, and its width.
    pub const fn place(self) -> (usize, u32, u32) {
        match self {
            Field::A => (0, 8, 8),
            Field::B => (0, 16, 8),
            Field::C => (0, 24, 8),
            Field::Bc => (0, 16, 16),
            Field::Abc => (0, 8, 24),
            Field::X => (1, 0, 32),
            Field::Xlo => (1, 0, 16),
            Field::X2 => (1, 16, 8),
            Field::X3 => (1, 24, 8),
            Field::Y => (2, 0, 32),
        }
    }

    /// The field's bits, unsigned.
    pub fn extract(self, words: &[u32]) -> u32 {
        let (word, shift, width) = self.place();
        let value = words[word] >> shift;
        if width == 32 { value } else { value & ((1 << width) - 1) }
    }

    /// The field's bits as a two's complement number.
    pub fn extract_signed(self, words: &[u32]) -> i32 {
        let (_, _, width) = self.place();
        let unused = 32 - width;
        ((self.extract(words) << unused) as i32) >> unused
    }

    /// Sets the field; bits of `value` beyond its width are dropped, so check the range first.
    pub fn insert(self, words: &mut [u32], value: u32) {
        let (word, shift, width) = self.place();
        let mask = if width == 32 { u32::MAX } else { (1 << width) - 1 };
        words[word] = (words[word] & !(mask << shift)) | ((value & mask) << shift);
    }

    /// The values a signed operand in this field can have.
    pub fn signed_range(self) -> std::ops::RangeInclusive<i64> {
        let (_, _, width) = self.place();
        -(1i64 << (width - 1))..=(1i64 << (width - 1)) - 1
    }

    /// The largest value an unsigned operand in this field can have.
    pub fn unsigned_maximum(self) -> u64 {
        let (_, _, width) = self.place();
        (1u64 << width) - 1
    }
}

/// The meaning of an operand, which determines its check and its text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OperandKind {
    /// A register the instruction writes.
    Define(TypeRule),
    /// A register the instruction reads.
    Use(TypeRule),
    /// A register the instruction reads and writes.
    Update(TypeRule),
    /// The first register of a call window.
    Window,
    /// The first register of a run of `any` registers that are only read.
    Range,
    /// The length of the instruction's window or range.
    Count,
    /// A signed number.
    Immediate,
    /// An unsigned number: a slot, capture or element.
    Index,
    /// One of [`Special`].
    Special,
    /// A constant of the function.
    Constant,
    /// A site of the function.
    Site(SiteRule),
    /// A function of the module.
    Function,
    /// A class definition of the module.
    Class,
    /// The name of a primitive, a string of the module.
    Primitive,
    /// A jump target: a signed distance in words from this instruction.
    Target,
    /// Room for the linker: 0 in a module, and not written in the text form.
    Link,
}

impl OperandKind {
    /// Whether the operand's field holds a two's complement number.
    pub fn is_signed(self) -> bool {
        matches!(self, OperandKind::Immediate | OperandKind::Target)
    }
}

/// Which kind of site an operand must name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SiteRule {
    /// A send with this many arguments beside the receiver.
    Send(u8),
    /// A send whose argument count is the instruction's count operand less the receiver.
    SendCounted,
    /// [`crate::module::Site::Enclosing`].
    Enclosing,
    /// [`crate::module::Site::Captures`].
    Captures,
    /// [`crate::module::Site::InitializeSlot`].
    InitializeSlot,
    /// [`crate::module::Site::ClassSlot`].
    ClassSlot,
}

/// How control leaves an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Flow {
    /// To the next instruction.
    Next,
    /// To the next instruction, after guest code may have run in the instruction's window.
    Call,
    /// To the next instruction or to one of the targets.
    Branch,
    /// To the target, never to the next instruction.
    Jump,
    /// Out of the function.
    Leave,
    /// Out of the function or, for an unwinding that is not pending, to the next instruction.
    Resume,
}

/// The immediate objects that `load_special` can name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Special {
    /// `nil`
    Nil = 0,
    /// `false`
    False = 1,
    /// `true`
    True = 2,
}

impl Special {
    /// Every special, in the order of its code.
    pub const ALL: [Special; 3] = [Special::Nil, Special::False, Special::True];

    /// The name in the text form.
    pub fn name(self) -> &'static str {
        ["nil", "false", "true"][self as usize]
    }
}

/// One operand of an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Operand {
    /// Its name in the reference manual.
    pub name: &'static str,
    /// Its meaning.
    pub kind: OperandKind,
    /// Where it lives.
    pub field: Field,
}

/// One row of the instruction table.
#[derive(Clone, Copy, Debug)]
pub struct InstructionInfo {
    /// The opcode this row describes.
    pub opcode: Opcode,
    /// The name in the text form.
    pub mnemonic: &'static str,
    /// The operands, in the order of the text form.
    pub operands: &'static [Operand],
    /// How control leaves.
    pub flow: Flow,
    /// One line of register-transfer semantics.
    pub semantics: &'static str,
    /// Details beyond the one line.
    pub notes: &'static str,
}

impl InstructionInfo {
    /// The instruction's length in words.
    pub const fn words(&self) -> usize {
        let mut words = 1;
        let mut i = 0;
        while i < self.operands.len() {
            let (word, _, _) = self.operands[i].field.place();
            if word + 1 > words {
                words = word + 1;
            }
            i += 1;
        }
        words
    }

    /// The operand of this kind, if there is one.
    pub fn operand(&self, kind: OperandKind) -> Option<&'static Operand> {
        self.operands.iter().find(|operand| operand.kind == kind)
    }
}

/// Passes the whole instruction table to a macro.
///
/// Each row is `opcode Name "mnemonic" [operand: kind @ field, …] flow "semantics" "notes";`.
#[macro_export]
macro_rules! for_each_instruction {
    ($callback:ident) => {
        $callback! {
// Values
1 Move "move" [destination: Define(Whatever) @ A, source: Use(SameAsFirst) @ B] Next
    "destination := source" "";
2 LoadInteger "load_integer" [destination: Define(Any) @ A, value: Immediate @ Bc] Next
    "destination := the small integer value" "";
3 LoadSpecial "load_special" [destination: Define(Any) @ A, value: Special @ B] Next
    "destination := nil, false or true" "";
4 LoadConstant "load_constant" [destination: Define(Any) @ A, constant: Constant @ Bc] Next
    "destination := the object that constant stands for"
    "The constant is an integer, a double, a string or a symbol. Each execution answers the identical object.";
5 LoadRaw "load_raw" [destination: Define(Scalar) @ A, constant: Constant @ Bc] Next
    "destination := the bits of constant"
    "The constant's type is the destination's.";

// Closures and captured variables
6 LoadCaptured "load_captured" [destination: Define(Any) @ A, index: Index @ Bc] Next
    "destination := r0.captured[index]"
    "Only in block functions, whose r0 is the closure and is never written.";
7 MakeContext "make_context" [destination: Define(Any) @ A, size: Index @ Bc] Next
    "destination := new context of size variables, all nil"
    "A context holds variables that are shared by an activation and its closures. At most 255 variables.";
8 LoadContext "load_context" [destination: Define(Any) @ A, context: Use(Any) @ B, index: Index @ C] Next
    "destination := context[index]"
    "A guest fault if context is no context or too small.";
9 StoreContext "store_context" [context: Use(Any) @ A, index: Index @ B, value: Use(Any) @ C] Next
    "context[index] := value"
    "A guest fault if context is no context or too small.";
10 MakeClosure "make_closure" [destination: Define(Any) @ A, captured: Range @ B, count: Count @ C, function: Function @ X] Next
    "destination := new block closure over r[captured .. captured+count]"
    "The function is a block function that declares count captured values.";
11 MakeHome "make_home" [destination: Define(Any) @ A] Next
    "destination := new marker of this activation"
    "Blocks capture it to return from this activation; a function has at most one home register.";
12 LoadCaptures "load_captures" [destination: Define(Any) @ A, object: Use(Any) @ B, site: Site(Captures) @ Xlo] Next
    "destination := the captured variables of the class of object that the site's definition produced"
    "How methods of an object literal reach the variables around it. A guest fault if there is no such class.";
13 Enclosing "enclosing" [destination: Define(Any) @ A, object: Use(Any) @ B, site: Site(Enclosing) @ Xlo] Next
    "destination := the object that encloses the class of object that the site's definition produced"
    "On the class side, object is the class itself. A guest fault if there is no such class.";

// Control
16 Jump "jump" [target: Target @ Abc] Jump
    "pc := target" "";
17 Loop "loop" [target: Target @ Abc] Jump
    "pc := target, after a poll"
    "Every cycle of a function contains a loop or for_loop, so that it can be pre-empted; only these may jump backwards.";
18 BranchTrue "branch_true" [value: Use(Any) @ A, target: Target @ Bc, otherwise: Target @ X] Branch
    "if value is true: pc := target; if it is not a Boolean: pc := otherwise" "";
19 BranchFalse "branch_false" [value: Use(Any) @ A, target: Target @ Bc, otherwise: Target @ X] Branch
    "if value is false: pc := target; if it is not a Boolean: pc := otherwise" "";
20 BranchNil "branch_nil" [value: Use(Any) @ A, target: Target @ Bc, otherwise: Target @ X] Branch
    "if value is nil: pc := target; if its class redefines the nil tests: pc := otherwise" "";
21 BranchNotNil "branch_not_nil" [value: Use(Any) @ A, target: Target @ Bc, otherwise: Target @ X] Branch
    "if value is not nil: pc := target; if its class redefines the nil tests: pc := otherwise" "";
22 ForEnter "for_enter" [counter: Use(Any) @ A, limit: Update(Any) @ B, step: Immediate @ C, exit: Target @ X, otherwise: Target @ Y] Branch
    "if counter is beyond limit in the direction of step: pc := exit; if either is unsuitable: pc := otherwise"
    "Suitable are a small integer counter, a small integer or double limit (a double is rounded to the start) \
      and a step but 0, away from the smallest and largest integers.";
23 ForLoop "for_loop" [counter: Update(Any) @ A, limit: Use(Any) @ B, step: Immediate @ C, target: Target @ X] Branch
    "counter := counter + step; if it is not beyond limit: pc := target, after a poll"
    "Falls through if either is not a small integer.";

// Messages and calls
32 Send0 "send0" [destination: Define(Any) @ A, receiver: Use(Any) @ B, window: Window @ C, site: Site(Send(0)) @ Xlo] Call
    "destination := receiver selector" "";
33 Send1 "send1" [destination: Define(Any) @ A, receiver: Use(Any) @ B, argument: Use(Any) @ C, window: Window @ X3, site: Site(Send(1)) @ Xlo] Call
    "destination := receiver selector argument" "";
34 Send2 "send2" [destination: Define(Any) @ A, receiver: Use(Any) @ B, first: Use(Any) @ C, second: Use(Any) @ X2, window: Window @ X3, site: Site(Send(2)) @ Xlo] Call
    "destination := receiver selector first second" "";
35 Send "send" [destination: Define(Any) @ A, window: Window @ B, count: Count @ C, site: Site(SendCounted) @ Xlo] Call
    "destination := r[window] selector r[window+1 .. window+count]" "";
36 SendEventual "send_eventual" [destination: Define(Any) @ A, window: Window @ B, count: Count @ C, site: Site(SendCounted) @ Xlo] Call
    "destination := promise for the result of the message, which is processed in a later turn" "";
37 SendEventualOnly "send_eventual_only" [destination: Define(Any) @ A, window: Window @ B, count: Count @ C, site: Site(SendCounted) @ Xlo] Call
    "as send_eventual, but destination := nil and no promise is made" "";
38 Call "call" [destination: Define(Whatever) @ A, window: Window @ B, count: Count @ C, function: Function @ X] Call
    "destination := function(r[window .. window+count])"
    "Parameter and result types are the function's; it is not a block function.";
39 Primitive "primitive" [destination: Define(Any) @ A, window: Window @ B, count: Count @ C, primitive: Primitive @ X] Call
    "destination := primitive(r[window .. window+count])"
    "Only in trusted modules.";
40 Return "return" [value: Use(Whatever) @ A] Leave
    "leave with value, which has the function's result type" "";
41 ReturnHome "return_home" [value: Use(Any) @ A, home: Use(Any) @ B] Leave
    "mark home as left; leave with value" "";
42 ReturnNonlocal "return_nonlocal" [value: Use(Any) @ A, home: Use(Any) @ B] Leave
    "unwind to the activation that home marks and return value from it"
    "If that activation was left already, its receiver is sent escapedBlock: with the closure, and this function returns the answer.";
43 ResumeUnwind "resume_unwind" [token: Use(Any) @ A] Resume
    "if token is a pending unwinding, continue it; if it is nil, go on" "";
44 LeaveHome "leave_home" [home: Use(Any) @ A] Next
    "mark home as left" "The activation continues, but closures can no longer return from it.";

// Classes and objects
48 MakeClass "make_class" [destination: Define(Any) @ A, parts: Range @ B, count: Count @ C, class: Class @ X] Next
    "destination := new class object of definition class"
    "The parts are: the enclosing object, the captured variables (or nil), the superclass, and the mixins in order.";
49 PublishClass "publish_class" [destination: Define(Any) @ A, object: Use(Any) @ B, class: Use(Any) @ C, site: Site(ClassSlot) @ Xlo] Next
    "destination := class, unless object's class slot was filled meanwhile: then its content" "";
50 Instantiate "instantiate" [destination: Define(Any) @ A, class: Use(Any) @ B] Next
    "destination := new instance of class, all slots nil" "";
51 CheckValue "check_value" [object: Use(Any) @ A] Next
    "signal NotAValue if object's class is a value class and object holds a non-value" "";
52 InitializeSlot "initialize_slot" [object: Use(Any) @ A, value: Use(Any) @ B, site: Site(InitializeSlot) @ Xlo] Next
    "object.slot := value, mutable or not" "";
53 MakeArray "make_array" [destination: Define(Any) @ A, size: Index @ X] Next
    "destination := new Array of size elements, all nil" "";
54 StoreElement "store_element" [array: Use(Any) @ A, value: Use(Any) @ B, index: Index @ X] Next
    "array[index] := value, counting from 0" "";

// Typed registers
64 Add "add" [destination: Define(Number) @ A, left: Use(SameAsFirst) @ B, right: Use(SameAsFirst) @ C] Next
    "destination := left + right" "Integers wrap around.";
65 Subtract "sub" [destination: Define(Number) @ A, left: Use(SameAsFirst) @ B, right: Use(SameAsFirst) @ C] Next
    "destination := left - right" "Integers wrap around.";
66 Multiply "mul" [destination: Define(Number) @ A, left: Use(SameAsFirst) @ B, right: Use(SameAsFirst) @ C] Next
    "destination := left * right" "Integers wrap around.";
67 Divide "div" [destination: Define(Number) @ A, left: Use(SameAsFirst) @ B, right: Use(SameAsFirst) @ C] Next
    "destination := left / right"
    "Integers truncate towards zero, wrap around for the least value over -1, and signal ZeroDivide.";
68 Remainder "rem" [destination: Define(Number) @ A, left: Use(SameAsFirst) @ B, right: Use(SameAsFirst) @ C] Next
    "destination := remainder of left / right, with the sign of left" "Integers signal ZeroDivide.";
69 Negate "neg" [destination: Define(Number) @ A, operand: Use(SameAsFirst) @ B] Next
    "destination := -operand" "Integers wrap around.";
70 And "and" [destination: Define(Bits) @ A, left: Use(SameAsFirst) @ B, right: Use(SameAsFirst) @ C] Next
    "destination := left & right, bit by bit" "";
71 Or "or" [destination: Define(Bits) @ A, left: Use(SameAsFirst) @ B, right: Use(SameAsFirst) @ C] Next
    "destination := left | right, bit by bit" "";
72 Xor "xor" [destination: Define(Bits) @ A, left: Use(SameAsFirst) @ B, right: Use(SameAsFirst) @ C] Next
    "destination := left ^ right, bit by bit" "";
73 Not "not" [destination: Define(Bits) @ A, operand: Use(SameAsFirst) @ B] Next
    "destination := operand with every bit flipped" "";
74 ShiftLeft "shl" [destination: Define(Integer) @ A, left: Use(SameAsFirst) @ B, right: Use(SameAsFirst) @ C] Next
    "destination := left << right" "The distance is taken modulo the type's width.";
75 ShiftRight "shr" [destination: Define(Integer) @ A, left: Use(SameAsFirst) @ B, right: Use(SameAsFirst) @ C] Next
    "destination := left >> right, filling with the sign if signed" "The distance is taken modulo the type's width.";
76 Equal "eq" [destination: Define(Bool) @ A, left: Use(Typed) @ B, right: Use(SameAsSecond) @ C] Next
    "destination := left = right"
    "Tuples, lists and maps are equal if their parts are, floats among them by IEEE 754's totalOrder; channels and the like if they are the same one.";
77 NotEqual "ne" [destination: Define(Bool) @ A, left: Use(Typed) @ B, right: Use(SameAsSecond) @ C] Next
    "destination := left ≠ right" "The negation of eq.";
78 Less "lt" [destination: Define(Bool) @ A, left: Use(Ordered) @ B, right: Use(SameAsSecond) @ C] Next
    "destination := left < right" "Tuples and lists are ordered by their first parts that differ, then by length.";
79 LessOrEqual "le" [destination: Define(Bool) @ A, left: Use(Ordered) @ B, right: Use(SameAsSecond) @ C] Next
    "destination := left ≤ right" "As lt.";
80 Convert "convert" [destination: Define(Number) @ A, source: Use(Number) @ B] Next
    "destination := source as the destination's type"
    "Integers keep their low bits; floats to integers truncate and saturate, NaN gives 0; to floats rounds to nearest.";
81 Box "box" [destination: Define(Any) @ A, source: Use(Boxable) @ B] Next
    "destination := the object for source: an Integer, a Double, a Boolean or a ValueArray"
    "Of a tuple or list the array has the elements; of a map, pairs of keys and values, by ascending keys.";
82 Unbox "unbox" [destination: Define(Boxable) @ A, source: Use(Any) @ B, otherwise: Target @ X] Branch
    "destination := the value of the object source; if it has no exact one of that type: pc := otherwise"
    "The reverse of box; a String is a list<u8>, too, in UTF-8. The destination is defined on the way to the next instruction only.";
83 JumpIf "jump_if" [condition: Use(Bool) @ A, target: Target @ Bc] Branch
    "if condition: pc := target" "";
84 JumpUnless "jump_unless" [condition: Use(Bool) @ A, target: Target @ Bc] Branch
    "if not condition: pc := target" "";
85 LoopIf "loop_if" [condition: Use(Bool) @ A, target: Target @ Bc] Branch
    "if condition: pc := target, after a poll" "Jumps backwards, as loop does.";
86 LoopUnless "loop_unless" [condition: Use(Bool) @ A, target: Target @ Bc] Branch
    "if not condition: pc := target, after a poll" "Jumps backwards, as loop does.";
87 AddChecked "add_checked" [destination: Define(Integer) @ A, left: Use(SameAsFirst) @ B, right: Use(SameAsFirst) @ C] Next
    "destination := left + right" "Signals Overflow if the type cannot hold the sum.";
88 SubtractChecked "sub_checked" [destination: Define(Integer) @ A, left: Use(SameAsFirst) @ B, right: Use(SameAsFirst) @ C] Next
    "destination := left - right" "Signals Overflow if the type cannot hold the difference.";
89 MultiplyChecked "mul_checked" [destination: Define(Integer) @ A, left: Use(SameAsFirst) @ B, right: Use(SameAsFirst) @ C] Next
    "destination := left * right" "Signals Overflow if the type cannot hold the product.";
90 DivideChecked "div_checked" [destination: Define(Integer) @ A, left: Use(SameAsFirst) @ B, right: Use(SameAsFirst) @ C] Next
    "destination := left / right"
    "Truncates towards zero. Signals ZeroDivide, and Overflow for the least value over -1.";
91 NegateChecked "neg_checked" [destination: Define(Integer) @ A, operand: Use(SameAsFirst) @ B] Next
    "destination := -operand" "Signals Overflow if the type cannot hold it.";
92 ConvertExact "convert_exact" [destination: Define(Number) @ A, source: Use(Number) @ B, otherwise: Target @ X] Branch
    "destination := source as the destination's type; if that would not be the same number: pc := otherwise"
    "NaN is the same number as NaN, and -0.0 as the integer 0. The destination is defined on the way to the next instruction only.";

// Tuples, lists and maps
96 MakeTuple "make_tuple" [destination: Define(Tuple) @ A, elements: Range @ B, count: Count @ C] Next
    "destination := tuple of r[elements .. elements+count]" "The registers have the types of the tuple's elements.";
97 TupleGet "tuple_get" [destination: Define(Whatever) @ A, tuple: Use(Tuple) @ B, index: Index @ C] Next
    "destination := tuple[index]" "The destination has the element's type.";
98 TupleSet "tuple_set" [tuple: Update(Tuple) @ A, value: Use(Typed) @ B, index: Index @ C] Next
    "tuple[index] := value" "Makes a new tuple; other registers do not change.";
99 Empty "empty" [destination: Define(Collection) @ A] Next
    "destination := list or map without elements" "";
100 MakeList "make_list" [destination: Define(List) @ A, elements: Range @ B, count: Count @ C] Next
    "destination := list of r[elements .. elements+count]" "The registers have the type of the list's elements.";
101 FillList "fill_list" [destination: Define(List) @ A, length: Use(I64) @ B, value: Use(Typed) @ C] Next
    "destination := list of length times value" "Signals IndexError if length is negative.";
102 LoadBytes "load_bytes" [destination: Define(List) @ A, constant: Constant @ Bc] Next
    "destination := list of the bytes of constant" "The constant is a string, taken as UTF-8, and the destination a list<u8>.";
103 Length "length" [destination: Define(I64) @ A, collection: Use(Collection) @ B] Next
    "destination := number of elements of a list, or of keys of a map" "";
104 ListGet "list_get" [destination: Define(Whatever) @ A, list: Use(List) @ B, index: Use(I64) @ C] Next
    "destination := list[index], counting from 0" "Signals IndexError.";
105 ListSet "list_set" [list: Update(List) @ A, index: Use(I64) @ B, value: Use(Typed) @ C] Next
    "list[index] := value" "Signals IndexError. Other registers do not change.";
106 ListAppend "list_append" [list: Update(List) @ A, value: Use(Typed) @ B] Next
    "list := list with value at its end" "In constant time on average, if no other register or collection has had the list.";
107 ListInsert "list_insert" [list: Update(List) @ A, index: Use(I64) @ B, value: Use(Typed) @ C] Next
    "list := list with value before element index" "The index may be the length. Signals IndexError.";
108 ListRemove "list_remove" [list: Update(List) @ A, index: Use(I64) @ B] Next
    "list := list without element index" "Signals IndexError.";
109 ListExchange "list_exchange" [list: Update(List) @ A, first: Use(I64) @ B, second: Use(I64) @ C] Next
    "list[first] and list[second] change places" "Signals IndexError.";
110 ListSlice "list_slice" [destination: Define(List) @ A, list: Use(SameAsFirst) @ B, start: Use(I64) @ C, end: Use(I64) @ X3] Next
    "destination := elements start up to end, without that, of list" "Signals IndexError unless 0 ≤ start ≤ end ≤ length.";
111 ListConcatenate "list_concatenate" [destination: Define(List) @ A, left: Use(SameAsFirst) @ B, right: Use(SameAsFirst) @ C] Next
    "destination := the elements of left, then those of right" "";
112 MapGet "map_get" [destination: Define(Whatever) @ A, map: Use(Map) @ B, key: Use(Typed) @ C, otherwise: Target @ X] Branch
    "destination := value at key; if map has no such key: pc := otherwise"
    "The destination is defined on the way to the next instruction only.";
113 MapPut "map_put" [map: Update(Map) @ A, key: Use(Typed) @ B, value: Use(Typed) @ C] Next
    "map := map with value at key" "In logarithmic time, as all that follows on maps.";
114 MapRemove "map_remove" [map: Update(Map) @ A, key: Use(Typed) @ B] Next
    "map := map without key" "Does nothing if there is no such key.";
115 MapHas "map_has" [destination: Define(Bool) @ A, map: Use(Map) @ B, key: Use(Typed) @ C] Next
    "destination := whether map has key" "";
116 MapKey "map_key" [destination: Define(Whatever) @ A, map: Use(Map) @ B, index: Use(I64) @ C] Next
    "destination := the key before which index keys are smaller" "Signals IndexError.";
117 MapValue "map_value" [destination: Define(Whatever) @ A, map: Use(Map) @ B, index: Use(I64) @ C] Next
    "destination := the value at the key before which index keys are smaller" "Signals IndexError.";
118 Take "take" [destination: Define(Typed) @ A, source: Use(SameAsFirst) @ B] Next
    "destination := source, which holds nothing afterwards"
    "A list that is taken along can be changed without being copied; after a move, it cannot.";

// Function values
120 LoadFunction "load_function" [destination: Define(Callable) @ A, function: Function @ X] Next
    "destination := function" "A function or a process, whose parameters and result are the type's.";
121 CallIndirect "call_indirect" [destination: Define(Whatever) @ A, window: Window @ B, function: Use(Function) @ C, count: Count @ X] Call
    "destination := function(r[window .. window+count])" "Parameters and result are those of the function's type.";

// Processes
144 Spawn "spawn" [arguments: Range @ B, count: Count @ C, process: Function @ X] Next
    "start process with copies of r[arguments .. arguments+count]"
    "The process runs beside this one from now on, and this one does not wait for its end. Parameter types are the process's; none is `any`.";
145 SpawnIndirect "spawn_indirect" [process: Use(Process) @ A, arguments: Range @ B, count: Count @ C] Next
    "start the process in a register with copies of r[arguments .. arguments+count]"
    "As spawn. The process is one that load_function has loaded, wherever that was.";
146 EndProcess "end_process" [] Leave
    "end this process" "Only in processes, which have no result.";
147 Par "par" [after: Target @ Abc, link: Link @ X] Branch
    "run the branches that follow at the same time; when all have ended: pc := after"
    "Each branch has a copy of the frame. What it has defined at its end is in this frame afterwards. No two \
      branches define the same register, and none reads what another one defines. If an exception ends a \
      branch, it is signalled here when all have ended, and what they define is lost.";
148 Branch "branch" [next: Target @ Abc] Branch
    "begin a branch of a par, which ends at next"
    "A `par` is followed by its branches, each of which begins with `branch`, whose target is the next branch \
      or the end of the last one, and ends with `end_branch`. Control enters a branch at the beginning and \
      leaves it at the end.";
149 EndBranch "end_branch" [] Leave
    "end this branch" "";
150 ParFor "par_for" [index: Define(I64) @ A, count: Use(SameAsFirst) @ B, after: Target @ X, link: Link @ Y] Branch
    "run the body that follows count times at the same time, with index from 0 on; when all have ended: pc := after"
    "Each copy of the body, which ends with `end_branch` before after, has a copy of the frame. Nothing that \
      the body writes has a value afterwards, and the body reads nothing that it writes, unless it has written \
      it itself. Exceptions are as in par.";
151 MakeChannel "make_channel" [destination: Define(Channel) @ A, capacity: Index @ Bc] Next
    "destination := new channel with a buffer for capacity elements" "With 0, readers and writers wait for each other.";
152 ReadingEnd "reading_end" [destination: Define(Reader) @ A, channel: Use(Channel) @ B] Next
    "destination := the end of channel to read from" "";
153 WritingEnd "writing_end" [destination: Define(Writer) @ A, channel: Use(Channel) @ B] Next
    "destination := the end of channel to write to" "";
154 Read "read" [destination: Define(Whatever) @ A, channel: Use(Readable) @ B, link: Link @ X] Next
    "destination := the next element of channel, when there is one"
    "Fault `Poison` if the channel is poisoned.";
155 Write "write" [channel: Use(Writable) @ A, value: Use(Whatever) @ B, link: Link @ X] Next
    "give value to channel; wait for a reader or for room in the buffer"
    "Fault `Poison` if the channel is poisoned.";
156 Accept "accept" [destination: Define(Whatever) @ A, writer: Define(Any) @ B, channel: Use(Readable) @ C, after: Target @ X, link: Link @ Y] Branch
    "destination := the next element of channel; its writer continues after end_accept"
    "The extended rendezvous: the code from here to after, which ends with `end_accept`, runs while the writer \
      waits. It does not change writer. An exception that leaves it lets the writer continue, too. Elements \
      from the buffer of a channel have no waiting writer.";
157 EndAccept "end_accept" [writer: Use(Any) @ A] Next
    "let the writer continue" "Only at the end of the code after `accept`.";
158 Poison "poison" [channel: Use(Communicating) @ A] Next
    "all waiting and later readers and writers of channel have the fault Poison"
    "From the writing end: the elements in the buffer can still be read. Otherwise they are dropped.";
159 Alt "alt" [link: Link @ X] Next
    "wait for one of the alternatives that follow; of several that are ready, each gets its turn"
    "The alternatives are `alt_read`, `alt_after` and `alt_skip`, each optionally after `alt_if`; after the last one comes `alt_end`.";
160 AltPriority "alt_priority" [link: Link @ X] Next
    "wait for one of the alternatives that follow; of several that are ready, the first is taken"
    "Otherwise as alt.";
161 AltIf "alt_if" [condition: Use(Bool) @ A] Next
    "the next alternative counts only if condition" "";
162 AltRead "alt_read" [destination: Define(Whatever) @ A, channel: Use(Readable) @ B, target: Target @ X] Branch
    "alternative: if channel has an element: destination := that; pc := target"
    "The destination is defined on the way to the target only. A poisoned channel is ready: fault `Poison`.";
163 AltAfter "alt_after" [milliseconds: Use(Number) @ A, target: Target @ X] Branch
    "alternative: when no other one was ready for this time: pc := target" "";
164 AltSkip "alt_skip" [target: Target @ X] Branch
    "alternative: if no other one is ready: pc := target" "";
165 AltEnd "alt_end" [] Leave
    "the end of the alternatives" "Without an alternative that counts: fault `Stop`.";
166 MakeBarrier "make_barrier" [destination: Define(Barrier) @ A, enrolled: Use(Integer) @ B] Next
    "destination := new barrier for enrolled processes" "";
167 Enrol "enrol" [barrier: Use(Barrier) @ A] Next
    "one more process takes part in barrier" "";
168 Resign "resign" [barrier: Use(Barrier) @ A] Next
    "one process less takes part in barrier" "";
169 Sync "sync" [barrier: Use(Barrier) @ A, link: Link @ X] Next
    "wait until all processes that take part in barrier have come" "";
170 MakeBucket "make_bucket" [destination: Define(Bucket) @ A] Next
    "destination := new bucket" "";
171 Fall "fall" [bucket: Use(Bucket) @ A, link: Link @ X] Next
    "wait until a process flushes bucket" "";
172 Flush "flush" [destination: Define(I64) @ A, bucket: Use(Bucket) @ B] Next
    "let all processes in bucket continue; destination := their number" "";
173 Yield "yield" [link: Link @ X] Next
    "let other strands run, and continue when it is this strand's turn again" "";
174 Sleep "sleep" [milliseconds: Use(Number) @ A, link: Link @ X] Next
    "wait for a time" "";
175 Now "now" [destination: Define(I64) @ A] Next
    "destination := nanoseconds since some moment in the past" "With a seed, the time is that of the schedule.";
176 Raise "raise" [value: Use(Whatever) @ A] Leave
    "signal an exception with value"
    "An `any` that is an exception is itself signalled, even if it was signalled before. A value that cannot be boxed cannot be raised.";
177 Raised "raised" [destination: Define(Any) @ A, exception: Use(Any) @ B] Next
    "destination := the value that exception was raised with, or nil" "";
178 FaultOf "fault_of" [destination: Define(I64) @ A, exception: Use(Any) @ B] Next
    "destination := the number of the fault that exception stands for"
    "The faults are numbered from 1 in the order of docs/bytecode.md; other exceptions have 0.";
        }
    };
}

macro_rules! define_table {
    ($(
        $code:literal $name:ident $mnemonic:literal
        [$($operand:ident : $kind:ident $(($rule:ident $(($arity:literal))?))? @ $field:ident),*]
        $flow:ident $semantics:literal $notes:literal;
    )*) => {
        /// The operation codes. Code 0 is no instruction, so that zeroed memory never verifies.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum Opcode {
            $(#[doc = concat!("`", $semantics, "`")] $name = $code,)*
        }

        impl Opcode {
            /// Every opcode, in ascending order.
            pub const ALL: &'static [Opcode] = &[$(Opcode::$name,)*];

            /// The opcode with this code.
            pub fn from_code(code: u8) -> Option<Opcode> {
                match code {
                    $($code => Some(Opcode::$name),)*
                    _ => None,
                }
            }

            /// This opcode's row of the table.
            pub fn info(self) -> &'static InstructionInfo {
                match self {
                    $(Opcode::$name => {
                        const INFO: InstructionInfo = InstructionInfo {
                            opcode: Opcode::$name,
                            mnemonic: $mnemonic,
                            operands: &[$(Operand {
                                name: stringify!($operand),
                                kind: define_table!(@kind $kind $($rule $(($arity))?)?),
                                field: Field::$field,
                            },)*],
                            flow: Flow::$flow,
                            semantics: $semantics,
                            notes: $notes,
                        };
                        &INFO
                    })*
                }
            }
        }
    };
    (@kind Define $rule:ident) => { OperandKind::Define(TypeRule::$rule) };
    (@kind Use $rule:ident) => { OperandKind::Use(TypeRule::$rule) };
    (@kind Update $rule:ident) => { OperandKind::Update(TypeRule::$rule) };
    (@kind Site $rule:ident) => { OperandKind::Site(SiteRule::$rule) };
    (@kind Site $rule:ident ($arity:literal)) => { OperandKind::Site(SiteRule::$rule($arity)) };
    (@kind $kind:ident) => { OperandKind::$kind };
}

use crate::types::TypeRule;

for_each_instruction!(define_table);

impl Opcode {
    /// Whether its destination is defined on the way to the next instruction only, not on the way
    /// to its target.
    pub fn defines_unless_jumping(self) -> bool {
        matches!(self, Opcode::Unbox | Opcode::ConvertExact | Opcode::MapGet)
    }

    /// Whether it may jump backwards, because it polls when it does.
    pub fn polls(self) -> bool {
        matches!(self, Opcode::Loop | Opcode::ForLoop | Opcode::LoopIf | Opcode::LoopUnless)
    }

    /// The opcode with this name in the text form.
    pub fn from_mnemonic(mnemonic: &str) -> Option<Opcode> {
        Opcode::ALL.iter().copied().find(|opcode| opcode.info().mnemonic == mnemonic)
    }

    /// The opcode in an instruction's first word.
    pub fn of_word(word: u32) -> Option<Opcode> {
        Opcode::from_code(word as u8)
    }
}
