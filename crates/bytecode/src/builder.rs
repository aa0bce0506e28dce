//! Builds modules and emits code: interned tables, labels, patched jumps. The Newspeak compiler and the assembler use
//! it.
//!
//! The builder checks that operands fit their fields and that every label is bound; it does not
//! verify. Compilers and the assembler share it, so there is one encoder.

use std::collections::HashMap;

use num_bigint::BigInt;

use crate::entities::{ConstantId, FunctionId, Register, SiteId, StringId, TypeId};
use crate::instructions::{Field, Opcode, OperandKind};
use crate::module::{
    Constant, Function, FunctionKind, LineEntry, Module, Region, RegionKind, Site,
};
use crate::types::{RegisterType, TypeDefinition};

/// Why a function could not be encoded: a limit of the instruction format was hit.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum BuildError {
    /// A table of the function or module has no room for another entry.
    TableFull {
        /// The name of the table's contents.
        what: &'static str,
        /// How many entries it can have.
        limit: usize,
    },
    /// An operand does not fit its field.
    OperandOutOfRange {
        /// The instruction.
        opcode: Opcode,
        /// The operand's name.
        operand: &'static str,
        /// The value that does not fit.
        value: i64,
    },
    /// A jump is longer than its field allows: the function is too large.
    JumpTooFar {
        /// The jump.
        opcode: Opcode,
    },
    /// A label was used but never bound.
    UnboundLabel(Label),
}

impl std::fmt::Display for BuildError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            BuildError::TableFull { what, limit } => {
                write!(f, "more than {limit} {what} in one function")
            }
            BuildError::OperandOutOfRange { opcode, operand, value } => {
                write!(f, "operand `{operand}` of `{}` cannot be {value}", opcode.info().mnemonic)
            }
            BuildError::JumpTooFar { opcode } => {
                write!(f, "the target of `{}` is too far away", opcode.info().mnemonic)
            }
            BuildError::UnboundLabel(label) => write!(f, "{label:?} is used but not defined"),
        }
    }
}

impl std::error::Error for BuildError {}

/// Interns the strings and types of a module under construction.
#[derive(Default, Debug)]
pub struct ModuleBuilder {
    /// The module so far.
    pub module: Module,
    strings: HashMap<String, StringId>,
    types: HashMap<TypeDefinition, TypeId>,
}

impl ModuleBuilder {
    /// An empty module.
    pub fn new() -> ModuleBuilder {
        ModuleBuilder::default()
    }

    /// The id of a string, the same for equal strings.
    pub fn string(&mut self, text: &str) -> StringId {
        if let Some(&id) = self.strings.get(text) {
            return id;
        }
        let id = StringId(self.module.strings.len() as u32);
        self.module.strings.push(text.to_owned());
        self.strings.insert(text.to_owned(), id);
        id
    }

    /// Adds a string at the end of the table, even if there is an equal one.
    pub fn append_string(&mut self, text: &str) {
        let id = StringId(self.module.strings.len() as u32);
        self.module.strings.push(text.to_owned());
        self.strings.entry(text.to_owned()).or_insert(id);
    }

    /// The type with this definition, the same for equal ones; none if the table is full.
    pub fn define(&mut self, definition: TypeDefinition) -> Option<RegisterType> {
        match self.types.get(&definition) {
            Some(&id) => Some(RegisterType::Defined(id)),
            None => self.append_type(definition),
        }
    }

    /// Adds a row at the end of the type table, even if there is an equal one.
    pub fn append_type(&mut self, definition: TypeDefinition) -> Option<RegisterType> {
        let id = TypeId(u16::try_from(self.module.types.len()).ok()?);
        self.module.types.push(definition.clone());
        self.types.entry(definition).or_insert(id);
        Some(RegisterType::Defined(id))
    }

    /// Adds a function.
    pub fn function(&mut self, function: Function) -> FunctionId {
        self.module.functions.push(function);
        FunctionId(self.module.functions.len() as u32 - 1)
    }
}

/// A place in the code that jumps can name before it is known.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Label(u32);

/// An operand as the builder takes it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Argument {
    /// A register, window or range.
    Register(Register),
    /// A number: immediate, index, count, special, or the index of a function, class or primitive.
    Number(i64),
    /// A constant.
    Constant(ConstantId),
    /// A site.
    Site(SiteId),
    /// A jump target.
    Label(Label),
}

impl From<Register> for Argument {
    fn from(register: Register) -> Argument {
        Argument::Register(register)
    }
}
impl From<ConstantId> for Argument {
    fn from(constant: ConstantId) -> Argument {
        Argument::Constant(constant)
    }
}
impl From<SiteId> for Argument {
    fn from(site: SiteId) -> Argument {
        Argument::Site(site)
    }
}
impl From<Label> for Argument {
    fn from(label: Label) -> Argument {
        Argument::Label(label)
    }
}
impl From<i64> for Argument {
    fn from(number: i64) -> Argument {
        Argument::Number(number)
    }
}

/// A jump whose distance is not known yet.
#[derive(Debug)]
struct Patch {
    instruction: usize,
    opcode: Opcode,
    field: Field,
    label: Label,
}

/// A region whose ends are labels.
#[derive(Debug)]
struct PendingRegion {
    start: Label,
    end: Label,
    handler: Label,
    value: Register,
    kind: RegionKind,
}

/// Emits the code of one function.
#[derive(Debug)]
pub struct FunctionBuilder {
    code: Vec<u32>,
    labels: Vec<Option<usize>>,
    patches: Vec<Patch>,
    regions: Vec<PendingRegion>,
    constants: Vec<Constant>,
    constant_ids: HashMap<ConstantKey, ConstantId>,
    sites: Vec<Site>,
    lines: Vec<LineEntry>,
    error: Option<BuildError>,
}

/// The key by which constants are the same object; doubles by their bits.
#[derive(PartialEq, Eq, Hash, Debug)]
pub(crate) enum ConstantKey {
    Integer(BigInt),
    Double(u64),
    String(StringId),
    Symbol(StringId),
    Raw(RegisterType, u64),
}

impl From<&Constant> for ConstantKey {
    fn from(constant: &Constant) -> ConstantKey {
        match constant {
            Constant::Integer(value) => ConstantKey::Integer(value.clone()),
            Constant::Double(value) => ConstantKey::Double(value.to_bits()),
            Constant::String(id) => ConstantKey::String(*id),
            Constant::Symbol(id) => ConstantKey::Symbol(*id),
            Constant::Raw(kind, bits) => ConstantKey::Raw(*kind, *bits),
        }
    }
}

/// The properties of a function, without its code.
#[derive(Clone, Debug)]
pub struct Signature {
    /// Its name.
    pub name: StringId,
    /// The kind of `r0`.
    pub kind: FunctionKind,
    /// Parameters beside receiver or closure.
    pub parameters: u8,
    /// Captured values of a block function.
    pub captured: u16,
    /// The type of each register.
    pub registers: Vec<RegisterType>,
    /// The result's type.
    pub result: RegisterType,
    /// The register of the activation's marker.
    pub home: Option<Register>,
}

impl Default for FunctionBuilder {
    fn default() -> Self {
        FunctionBuilder::new()
    }
}

impl FunctionBuilder {
    /// No code yet.
    pub fn new() -> FunctionBuilder {
        FunctionBuilder {
            code: Vec::new(),
            labels: Vec::new(),
            patches: Vec::new(),
            regions: Vec::new(),
            constants: Vec::new(),
            constant_ids: HashMap::new(),
            sites: Vec::new(),
            lines: Vec::new(),
            error: None,
        }
    }

    /// The pc of the next instruction.
    pub fn pc(&self) -> usize {
        self.code.len()
    }

    /// A label that is not bound yet.
    pub fn label(&mut self) -> Label {
        self.labels.push(None);
        Label(self.labels.len() as u32 - 1)
    }

    /// Binds a label to the next instruction.
    pub fn bind(&mut self, label: Label) {
        self.labels[label.0 as usize] = Some(self.code.len());
    }

    /// The instructions from here on come from this position.
    pub fn position(&mut self, line: u32, column: u32) {
        let pc = self.code.len() as u32;
        if let Some(last) = self.lines.last_mut() {
            if (last.line, last.column) == (line, column) {
                return;
            }
            if last.pc == pc {
                *last = LineEntry { pc, line, column };
                return;
            }
        }
        self.lines.push(LineEntry { pc, line, column });
    }

    /// Sets the source position of the whole code, if no instruction has got one.
    pub fn position_of_all(&mut self, line: u32, column: u32) {
        if self.lines.is_empty() {
            self.lines.push(LineEntry { pc: 0, line, column });
        }
    }

    /// The id of a constant, the same for equal constants.
    pub fn constant(&mut self, constant: Constant) -> ConstantId {
        let key = ConstantKey::from(&constant);
        if let Some(&id) = self.constant_ids.get(&key) {
            return id;
        }
        let index = self.next_index(self.constants.len(), "constants");
        self.constants.push(constant);
        self.constant_ids.insert(key, ConstantId(index));
        ConstantId(index)
    }

    /// A new site: each instruction owns its inline cache.
    pub fn site(&mut self, site: Site) -> SiteId {
        let index = self.next_index(self.sites.len(), "sites");
        self.sites.push(site);
        SiteId(index)
    }

    /// Adds an exception region; inner regions are added before outer ones.
    pub fn region(
        &mut self,
        (start, end): (Label, Label),
        handler: Label,
        value: Register,
        kind: RegionKind,
    ) {
        self.regions.push(PendingRegion { start, end, handler, value, kind });
    }

    /// Appends an instruction; the arguments are in the table's order.
    ///
    /// The first operand that does not fit is remembered and reported by [`Self::finish`].
    pub fn emit(&mut self, opcode: Opcode, arguments: &[Argument]) {
        let info = opcode.info();
        assert_eq!(
            arguments.len(),
            info.operands.len(),
            "`{}` takes {} operands",
            info.mnemonic,
            info.operands.len()
        );
        let start = self.code.len();
        self.code.resize(start + info.words(), 0);
        self.code[start] = opcode as u32;
        for (operand, &argument) in info.operands.iter().zip(arguments) {
            let value = match argument {
                Argument::Register(register) => i64::from(register.0),
                Argument::Number(number) => number,
                Argument::Constant(constant) => i64::from(constant.0),
                Argument::Site(site) => i64::from(site.0),
                Argument::Label(label) => {
                    self.patches.push(Patch {
                        instruction: start,
                        opcode,
                        field: operand.field,
                        label,
                    });
                    continue;
                }
            };
            if !fits(operand.kind, operand.field, value) {
                self.fail(BuildError::OperandOutOfRange { opcode, operand: operand.name, value });
            }
            operand.field.insert(&mut self.code[start..], value as u32);
        }
    }

    /// Appends a word that need not be an instruction, for tools that reproduce wrong code.
    pub fn word(&mut self, word: u32) {
        self.code.push(word);
    }

    /// Whether a label is bound already, and so precedes the next instruction.
    pub fn is_bound(&self, label: Label) -> bool {
        self.labels[label.0 as usize].is_some()
    }

    /// Puts an instruction without jump target before all others.
    pub fn prepend(&mut self, opcode: Opcode, arguments: &[Argument]) {
        let length = opcode.info().words();
        let body = std::mem::take(&mut self.code);
        self.emit(opcode, arguments);
        self.code.extend(body);
        for label in self.labels.iter_mut().flatten() {
            *label += length;
        }
        for patch in &mut self.patches {
            patch.instruction += length;
        }
        for line in &mut self.lines {
            line.pc += length as u32;
        }
    }

    /// Resolves the labels and answers the function.
    pub fn finish(mut self, signature: Signature) -> Result<Function, BuildError> {
        for patch in std::mem::take(&mut self.patches) {
            self.resolve(&patch);
        }
        let regions = std::mem::take(&mut self.regions);
        let regions = regions.iter().map(|region| self.resolve_region(region)).collect();
        if let Some(error) = self.error {
            return Err(error);
        }
        Ok(Function {
            name: signature.name,
            kind: signature.kind,
            parameters: signature.parameters,
            captured: signature.captured,
            registers: signature.registers,
            result: signature.result,
            home: signature.home,
            constants: self.constants,
            sites: self.sites,
            regions,
            code: self.code,
            lines: self.lines,
        })
    }

    fn resolve(&mut self, patch: &Patch) {
        let distance = self.bound(patch.label) as i64 - patch.instruction as i64;
        if !patch.field.signed_range().contains(&distance) {
            self.fail(BuildError::JumpTooFar { opcode: patch.opcode });
        }
        patch.field.insert(&mut self.code[patch.instruction..], distance as u32);
    }

    fn resolve_region(&mut self, region: &PendingRegion) -> Region {
        Region {
            start: self.bound(region.start) as u32,
            end: self.bound(region.end) as u32,
            handler: self.bound(region.handler) as u32,
            value: region.value,
            kind: region.kind,
        }
    }

    fn bound(&mut self, label: Label) -> usize {
        match self.labels[label.0 as usize] {
            Some(pc) => pc,
            None => {
                self.fail(BuildError::UnboundLabel(label));
                0
            }
        }
    }

    fn next_index(&mut self, length: usize, what: &'static str) -> u16 {
        const LIMIT: usize = 1 << 16;
        if length >= LIMIT {
            self.fail(BuildError::TableFull { what, limit: LIMIT });
            return 0;
        }
        length as u16
    }

    fn fail(&mut self, error: BuildError) {
        self.error.get_or_insert(error);
    }
}

/// Whether a value can stand in a field as an operand of this kind.
pub(crate) fn fits(kind: OperandKind, field: Field, value: i64) -> bool {
    if kind.is_signed() {
        field.signed_range().contains(&value)
    } else {
        u64::try_from(value).is_ok_and(|value| value <= field.unsigned_maximum())
    }
}
