//! Reads the binary form, all at once or entry by entry; mirrors the writer. The function `decode` reads whole modules
//! with it, and the runtime's module texts (`model/text.rs`) read single entries.

use std::borrow::Cow;
use std::ops::Range;

use num_bigint::BigInt;

use super::cursor::{Cursor, Result};
use super::error::{Entity, FormatError, FormatErrorKind, Section};
use super::{CHECKSUM, HEADER_LENGTH, MAGIC, MAXIMUM_REGISTERS, VERSION};
use crate::entities::{ClassId, FunctionId, Register, StringId, TypeId};
use crate::module::{
    Access, ClassDefinition, Constant, Export, Fault, Function, FunctionKind, Import, LineEntry,
    Method, Module, Region, RegionKind, Side, Site, Slot, Visibility,
};
use crate::types::{RegisterType, TypeDefinition};

/// A module file whose functions and classes are decoded when they are asked for.
///
/// The image borrows or owns the file's bytes.
#[derive(Clone, Debug)]
pub struct ModuleImage<'a> {
    bytes: Cow<'a, [u8]>,
    head: Head,
    strings: Table,
    functions: Table,
    classes: Table,
    types: Vec<TypeDefinition>,
    links: Links,
}

/// The first section.
#[derive(Clone, Debug)]
struct Head {
    path: Option<StringId>,
    main_class: Option<ClassId>,
    name: Option<StringId>,
    version: Option<StringId>,
}

/// The last section.
#[derive(Clone, Debug)]
struct Links {
    imports: Vec<Import>,
    exports: Vec<Export>,
}

/// Where the entries of a table start, and after them where the table ends.
#[derive(Clone, Debug)]
struct Table {
    starts: Vec<u32>,
}

impl Table {
    fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// Where an entry is.
    fn get(&self, index: usize) -> Option<Range<usize>> {
        let (&start, &end) = (self.starts.get(index)?, self.starts.get(index + 1)?);
        Some(start as usize..end as usize)
    }

    /// Where an entry is that exists.
    fn entry(&self, index: usize) -> Range<usize> {
        self.get(index).expect("the index is below the table's length")
    }
}

impl<'a> ModuleImage<'a> {
    /// Checks header, checksum, the tables' shape and the strings.
    pub fn open(bytes: impl Into<Cow<'a, [u8]>>) -> Result<ModuleImage<'a>> {
        let bytes = bytes.into();
        check_header(&bytes)?;
        let mut file = Cursor::new(&bytes, HEADER_LENGTH..bytes.len(), None, None);
        let head = read_module(section(&bytes, &mut file, Section::Module)?)?;
        let strings = read_table(section(&bytes, &mut file, Section::Strings)?, "string")?;
        let functions = read_table(section(&bytes, &mut file, Section::Functions)?, "function")?;
        let classes = read_table(section(&bytes, &mut file, Section::Classes)?, "class")?;
        let rows = read_table(section(&bytes, &mut file, Section::Types)?, "type")?;
        let links = read_links(section(&bytes, &mut file, Section::Links)?)?;
        file.finish()?;
        check_strings(&bytes, &strings)?;
        let types = read_definitions(&bytes, &rows)?;
        Ok(ModuleImage { head, strings, functions, classes, types, links, bytes })
    }

    /// The path of the source file as the compiler was told it.
    pub fn path(&self) -> Option<StringId> {
        self.head.path
    }

    /// The definition that loading the module answers, if it has one.
    pub fn main_class(&self) -> Option<ClassId> {
        self.head.main_class
    }

    /// The name by which others import from the module.
    pub fn name(&self) -> Option<StringId> {
        self.head.name
    }

    /// The module's version.
    pub fn version(&self) -> Option<StringId> {
        self.head.version
    }

    /// The type table.
    pub fn types(&self) -> &[TypeDefinition] {
        &self.types
    }

    /// The functions that the module imports.
    pub fn imports(&self) -> &[Import] {
        &self.links.imports
    }

    /// The functions that other modules can import from it.
    pub fn exports(&self) -> &[Export] {
        &self.links.exports
    }

    /// How many strings there are.
    pub fn string_count(&self) -> usize {
        self.strings.len()
    }

    /// How many functions there are.
    pub fn function_count(&self) -> usize {
        self.functions.len()
    }

    /// How many class definitions there are.
    pub fn class_count(&self) -> usize {
        self.classes.len()
    }

    /// The text of a string; the empty string if there is none, as in [`Module::string`].
    pub fn string(&self, id: StringId) -> &str {
        let bytes = self.strings.get(id.index()).map(|range| &self.bytes[range]);
        bytes.and_then(|bytes| std::str::from_utf8(bytes).ok()).unwrap_or_default()
    }

    /// Decodes a function.
    pub fn function(&self, id: FunctionId) -> Result<Function> {
        let (section, entity) = (Section::Functions, Entity::Function(id));
        self.read(self.functions.get(id.index()), section, entity, read_function)
    }

    /// Decodes a class definition.
    pub fn class(&self, id: ClassId) -> Result<ClassDefinition> {
        let (section, entity) = (Section::Classes, Entity::Class(id));
        self.read(self.classes.get(id.index()), section, entity, read_class)
    }

    /// Decodes everything.
    pub fn to_module(&self) -> Result<Module> {
        let functions = (0..self.function_count() as u32).map(|id| self.function(FunctionId(id)));
        let classes = (0..self.class_count() as u32).map(|id| self.class(ClassId(id)));
        let strings =
            (0..self.string_count() as u32).map(|id| self.string(StringId(id)).to_owned());
        Ok(Module {
            strings: strings.collect(),
            path: self.head.path,
            name: self.head.name,
            version: self.head.version,
            types: self.types.clone(),
            imports: self.links.imports.clone(),
            exports: self.links.exports.clone(),
            functions: functions.collect::<Result<_>>()?,
            classes: classes.collect::<Result<_>>()?,
            main_class: self.head.main_class,
        })
    }

    fn read<T>(
        &self,
        range: Option<Range<usize>>,
        section: Section,
        entity: Entity,
        read: fn(&mut Cursor) -> Result<T>,
    ) -> Result<T> {
        let (section, entity) = (Some(section), Some(entity));
        let Some(range) = range else {
            let (offset, kind) = (self.bytes.len(), FormatErrorKind::NoSuchEntry);
            return Err(FormatError { offset, section, entity, kind });
        };
        let mut cursor = Cursor::new(&self.bytes, range, section, entity);
        let value = read(&mut cursor)?;
        cursor.finish()?;
        Ok(value)
    }
}

fn check_header(bytes: &[u8]) -> Result<()> {
    let error = |offset, kind| Err(FormatError { offset, section: None, entity: None, kind });
    if !bytes.starts_with(&MAGIC) {
        return error(0, FormatErrorKind::BadMagic);
    }
    let Some((header, content)) = bytes.split_at_checked(HEADER_LENGTH) else {
        return error(bytes.len(), FormatErrorKind::Truncated("header"));
    };
    let version = u16::from_le_bytes([header[4], header[5]]);
    if version != VERSION {
        return error(4, FormatErrorKind::UnsupportedVersion(version));
    }
    if header[6..8] != [0, 0] {
        return error(6, FormatErrorKind::NotCanonical("header"));
    }
    let what = "file size in bytes";
    if u32::try_from(bytes.len()).is_err() {
        let limit = u64::from(u32::MAX);
        return error(0, FormatErrorKind::TooLarge { what, limit });
    }
    let stored = u32::from_le_bytes(header[CHECKSUM].try_into().expect("four bytes"));
    let computed = crc32fast::hash(content);
    if stored != computed {
        return error(CHECKSUM.start, FormatErrorKind::ChecksumMismatch { stored, computed });
    }
    Ok(())
}

/// The content of the next section.
fn section<'b>(bytes: &'b [u8], file: &mut Cursor, section: Section) -> Result<Cursor<'b>> {
    file.code("section here", |code| (code == section as u8).then_some(()))?;
    let length = file.number("section")?;
    let start = file.position();
    file.take(usize::try_from(length).unwrap_or(usize::MAX), "section")?;
    Ok(Cursor::new(bytes, start..file.position(), Some(section), None))
}

fn read_module(mut content: Cursor) -> Result<Head> {
    let head = Head {
        path: content.optional("path")?.map(StringId),
        main_class: content.optional("main class")?.map(ClassId),
        name: content.optional("name")?.map(StringId),
        version: content.optional("version")?.map(StringId),
    };
    content.finish()?;
    Ok(head)
}

fn read_links(mut content: Cursor) -> Result<Links> {
    let links = Links {
        imports: content.list("import", 3, read_import)?,
        exports: content.list("export", 2, read_export)?,
    };
    content.finish()?;
    Ok(links)
}

fn read_import(input: &mut Cursor) -> Result<Import> {
    Ok(Import {
        module: read_string(input)?,
        requirement: input.optional("requirement")?.map(StringId),
        functions: input.list("imported function", 1, read_function_id)?,
    })
}

fn read_export(input: &mut Cursor) -> Result<Export> {
    Ok(Export { name: read_string(input)?, function: read_function_id(input)? })
}

fn read_definitions(bytes: &[u8], rows: &Table) -> Result<Vec<TypeDefinition>> {
    let mut types = Vec::with_capacity(rows.len());
    for index in 0..rows.len() {
        // A table with more rows than have a number is decoded as well; nothing can name the last ones.
        let entity = u16::try_from(index).ok().map(|row| Entity::Type(TypeId(row)));
        let mut cursor = Cursor::new(bytes, rows.entry(index), Some(Section::Types), entity);
        types.push(read_definition(&mut cursor)?);
        cursor.finish()?;
    }
    Ok(types)
}

fn read_definition(input: &mut Cursor) -> Result<TypeDefinition> {
    use TypeDefinition::*;
    let known = TypeDefinition::KEYWORDS.len();
    let code = input.code("kind of type", |code| (usize::from(code) < known).then_some(code))?;
    Ok(match code {
        0 => Tuple(read_types(input)?),
        1 => List(read_type(input)?),
        2 => Map(read_type(input)?, read_type(input)?),
        3 => Channel(read_type(input)?),
        4 => Reader(read_type(input)?),
        5 => Writer(read_type(input)?),
        6 => Barrier,
        7 => Bucket,
        8 => Function { parameters: read_types(input)?, result: read_type(input)? },
        _ => Process { parameters: read_types(input)? },
    })
}

fn read_types(input: &mut Cursor) -> Result<Vec<RegisterType>> {
    input.list("type", 1, read_type)
}

/// Finds the entries of a table, which fill the rest of its section.
fn read_table(mut content: Cursor, what: &'static str) -> Result<Table> {
    let count = content.count(what, 1)?;
    let mut lengths = content.clone();
    for _ in 0..count {
        content.number(what)?;
    }
    let mut starts = Vec::with_capacity(count + 1);
    starts.push(content.position() as u32);
    for _ in 0..count {
        let length = lengths.number(what)?;
        content.take(usize::try_from(length).unwrap_or(usize::MAX), what)?;
        starts.push(content.position() as u32);
    }
    content.finish()?;
    Ok(Table { starts })
}

fn check_strings(bytes: &[u8], strings: &Table) -> Result<()> {
    let (first, last) = (strings.starts[0] as usize, strings.starts[strings.len()] as usize);
    if bytes[first..last].is_ascii() {
        return Ok(());
    }
    for index in 0..strings.len() {
        let range = strings.entry(index);
        if let Err(error) = std::str::from_utf8(&bytes[range.clone()]) {
            return Err(FormatError {
                offset: range.start + error.valid_up_to(),
                section: Some(Section::Strings),
                entity: Some(Entity::String(StringId(index as u32))),
                kind: FormatErrorKind::InvalidUtf8,
            });
        }
    }
    Ok(())
}

fn read_function(input: &mut Cursor) -> Result<Function> {
    Ok(Function {
        name: StringId(input.u32("function's name")?),
        kind: input
            .code("function kind", |code| FunctionKind::ALL.get(usize::from(code)).copied())?,
        parameters: input.u8("parameter count")?,
        captured: input.u16("number of captured values")?,
        registers: read_registers(input)?,
        result: read_type(input)?,
        home: read_optional_register(input)?,
        constants: input.list("constant", 2, read_constant)?,
        sites: input.list("site", 2, read_site)?,
        regions: input.list("region", 5, read_region)?,
        lines: read_lines(input)?,
        code: read_code(input)?,
    })
}

fn read_registers(input: &mut Cursor) -> Result<Vec<RegisterType>> {
    let count = input.number_below("number of registers", MAXIMUM_REGISTERS as u64)? as usize;
    let mut registers: Vec<RegisterType> = Vec::with_capacity(count);
    while registers.len() < count {
        let offset = input.position();
        let kind = read_type(input)?;
        let most = (count - registers.len()) as u64;
        let length = input.number_below("run of registers", most)? as usize;
        if length == 0 || registers.last() == Some(&kind) {
            let kind = FormatErrorKind::NotCanonical("list of registers");
            return Err(input.error_at(offset, kind));
        }
        registers.resize(registers.len() + length, kind);
    }
    Ok(registers)
}

fn read_type(input: &mut Cursor) -> Result<RegisterType> {
    let most = RegisterType::Defined(TypeId(u16::MAX)).code();
    let code = input.number_below("type", u64::from(most))?;
    Ok(RegisterType::from_code(code as u32)
        .expect("every code up to that of the last row has a type"))
}

fn read_register(input: &mut Cursor) -> Result<Register> {
    input.u8("register").map(Register)
}

fn read_optional_register(input: &mut Cursor) -> Result<Option<Register>> {
    let folded = input.number_below("register", 1 + u64::from(u8::MAX))?;
    Ok(folded.checked_sub(1).map(|index| Register(index as u8)))
}

fn read_string(input: &mut Cursor) -> Result<StringId> {
    input.u32("string").map(StringId)
}

fn read_class_id(input: &mut Cursor) -> Result<ClassId> {
    input.u32("class").map(ClassId)
}

fn read_function_id(input: &mut Cursor) -> Result<FunctionId> {
    input.u32("function").map(FunctionId)
}

fn read_constant(input: &mut Cursor) -> Result<Constant> {
    let what = "constant";
    match input.code(what, |code| (code <= 5).then_some(code))? {
        0 => Ok(Constant::Integer(BigInt::from(input.signed(what)?))),
        1 => read_large_integer(input).map(Constant::Integer),
        2 => Ok(Constant::Double(f64::from_bits(input.u64_fixed(what)?))),
        3 => Ok(Constant::String(read_string(input)?)),
        4 => Ok(Constant::Symbol(read_string(input)?)),
        _ => Ok(Constant::Raw(read_type(input)?, input.number(what)?)),
    }
}

fn read_large_integer(input: &mut Cursor) -> Result<BigInt> {
    let length = input.count("integer", 1)?;
    let offset = input.position();
    let bytes = input.take(length, "integer")?;
    let value = BigInt::from_signed_bytes_le(bytes);
    if i64::try_from(&value).is_ok() || value.to_signed_bytes_le() != bytes {
        return Err(input.error_at(offset, FormatErrorKind::NotCanonical("integer")));
    }
    Ok(value)
}

fn read_site(input: &mut Cursor) -> Result<Site> {
    let access = match input.code("site", |code| (code <= 11).then_some(code))? {
        0 => Access::Public,
        1 => Access::Lexical,
        2 => Access::Private(read_class_id(input)?, read_side(input)?),
        3 => Access::Super(read_class_id(input)?, read_side(input)?),
        4 => Access::Initializer(read_class_id(input)?),
        5 => Access::OwnInitializer(read_class_id(input)?),
        6 => Access::SuperInitializer(read_class_id(input)?),
        7 => Access::MixinInitializer(read_class_id(input)?, input.u8("mixin")?),
        8 => return Ok(Site::Enclosing(read_class_id(input)?, read_side(input)?)),
        9 => return Ok(Site::Captures(read_class_id(input)?)),
        10 => return Ok(Site::InitializeSlot(read_class_id(input)?, read_string(input)?)),
        _ => return Ok(Site::ClassSlot(read_class_id(input)?)),
    };
    Ok(Site::Send { selector: read_string(input)?, access })
}

fn read_side(input: &mut Cursor) -> Result<Side> {
    input.code("side of a class", |code| match code {
        0 => Some(Side::Instance),
        1 => Some(Side::Class),
        _ => None,
    })
}

fn read_region(input: &mut Cursor) -> Result<Region> {
    let code = input.code("kind of region", |code| (code <= 2).then_some(code))?;
    let start = input.u32("region's start")?;
    let end = input.distance("region's end", start)?;
    let handler = input.distance("region's handler", start)?;
    let value = read_register(input)?;
    let kind = match code {
        0 => RegionKind::Ensure,
        1 => RegionKind::Catch(read_register(input)?),
        _ => RegionKind::Fault(
            input.code("fault", |code| Fault::ALL.get(usize::from(code)).copied())?,
        ),
    };
    Ok(Region { start, end, handler, value, kind })
}

fn read_bool(input: &mut Cursor, what: &'static str) -> Result<bool> {
    input.code(what, |code| (code <= 1).then_some(code == 1))
}

fn read_lines(input: &mut Cursor) -> Result<Vec<LineEntry>> {
    let (mut pc, mut line) = (0, 0);
    input.list("line entry", 3, |input| {
        pc = input.distance("line entry's pc", pc)?;
        line = input.distance("line", line)?;
        Ok(LineEntry { pc, line, column: input.u32("column")? })
    })
}

fn read_code(input: &mut Cursor) -> Result<Vec<u32>> {
    let count = input.count("code", 4)?;
    let (words, _) = input.take(count * 4, "code")?.as_chunks::<4>();
    Ok(words.iter().map(|&word| u32::from_le_bytes(word)).collect())
}

fn read_class(input: &mut Cursor) -> Result<ClassDefinition> {
    Ok(ClassDefinition {
        name: read_string(input)?,
        outer: input.optional("outer class")?.map(ClassId),
        visibility: read_visibility(input)?,
        accessor: input.optional("accessor")?.map(FunctionId),
        factory_selector: read_string(input)?,
        factory: read_function_id(input)?,
        initializer: read_function_id(input)?,
        own_initializer: read_function_id(input)?,
        slots: input.list("slot", 3, read_slot)?,
        nested: input.list("nested class", 1, read_class_id)?,
        methods: input.list("method", 3, read_method)?,
        class_methods: input.list("class method", 3, read_method)?,
        position: (input.u32("line")?, input.u32("column")?),
    })
}

fn read_visibility(input: &mut Cursor) -> Result<Visibility> {
    input.code("visibility", |code| Visibility::ALL.get(usize::from(code)).copied())
}

fn read_slot(input: &mut Cursor) -> Result<Slot> {
    Ok(Slot {
        name: read_string(input)?,
        visibility: read_visibility(input)?,
        mutable: read_bool(input, "mutability")?,
    })
}

fn read_method(input: &mut Cursor) -> Result<Method> {
    Ok(Method {
        selector: read_string(input)?,
        visibility: read_visibility(input)?,
        function: read_function_id(input)?,
    })
}
