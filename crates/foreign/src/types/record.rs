//! Structures and unions: their fields with their offsets. Declarations make them.

use std::collections::HashSet;
use std::sync::Arc;

use super::layout::Placement;
use super::{Kind, Layout, Type, TypeError};

/// Whether fields follow each other or share their memory.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum RecordKind {
    /// `struct`: one after the other.
    Struct,
    /// `union`: all at the beginning.
    Union,
}

/// A `struct` or `union` with its fields.
#[derive(Clone, PartialEq, Debug)]
pub struct Record(Arc<Definition>);

#[derive(PartialEq, Debug)]
struct Definition {
    kind: RecordKind,
    tag: Option<Arc<str>>,
    fields: Vec<Field>,
    layout: Layout,
}

/// A field of a structure.
#[derive(Clone, PartialEq, Debug)]
pub struct Field {
    /// `None` for a `struct` or `union` whose fields count as fields of the one around it.
    pub name: Option<Arc<str>>,
    /// The type of its values.
    pub c_type: Type,
    /// The distance from the beginning, in bytes.
    pub offset: usize,
}

impl Record {
    /// A record with these fields, laid out like the platform's C compiler does it.
    pub fn new(
        kind: RecordKind,
        tag: Option<Arc<str>>,
        fields: Vec<(Option<Arc<str>>, Type)>,
    ) -> Result<Record, TypeError> {
        if fields.is_empty() {
            return Err(TypeError::NoFields);
        }
        let mut placement = Placement::new(kind == RecordKind::Union);
        let mut placed: Vec<Field> = Vec::with_capacity(fields.len());
        for (name, c_type) in fields {
            // Only the last field may lack a length.
            if placed.last().is_some_and(|field| field.c_type.is_open()) {
                return Err(TypeError::NoLength);
            }
            let offset = placement.place(c_type.needed_layout()?)?;
            placed.push(Field { name, c_type, offset });
        }
        let may_be_open = kind == RecordKind::Struct && placed.len() > 1;
        if !may_be_open && placed.iter().any(|field| field.c_type.is_open()) {
            return Err(TypeError::NoLength);
        }
        check_names(&placed)?;
        let layout = placement.finish()?;
        Ok(Record(Arc::new(Definition { kind, tag, fields: placed, layout })))
    }

    /// Whether it is a `struct` or a `union`.
    pub fn kind(&self) -> RecordKind {
        self.0.kind
    }

    /// The name after `struct` or `union`.
    pub fn tag(&self) -> Option<&Arc<str>> {
        self.0.tag.as_ref()
    }

    /// Its fields, in the order of the text.
    pub fn fields(&self) -> &[Field] {
        &self.0.fields
    }

    /// The memory that it takes.
    pub fn layout(&self) -> Layout {
        self.0.layout
    }

    /// The offset and the type of a field, even if it is one of a nameless part.
    pub fn field(&self, name: &str) -> Option<(usize, &Type)> {
        self.fields().iter().find_map(|field| match (&field.name, field.c_type.as_record()) {
            (Some(own), _) => (&**own == name).then_some((field.offset, &field.c_type)),
            (None, part) => part?.field(name).map(|(offset, of)| (field.offset + offset, of)),
        })
    }

    /// Whether values of several types share memory in it.
    pub(crate) fn has_union(&self) -> bool {
        let has_union =
            |field: &Field| field.c_type.innermost().as_record().is_some_and(Record::has_union);
        self.kind() == RecordKind::Union || self.fields().iter().any(has_union)
    }

    /// The names of its fields, and those of its nameless parts.
    fn names(&self, into: &mut Vec<Arc<str>>) {
        for field in self.fields() {
            match (&field.name, field.c_type.as_record()) {
                (Some(name), _) => into.push(name.clone()),
                (None, Some(part)) => part.names(into),
                (None, None) => {}
            }
        }
    }
}

impl Type {
    /// Whether it is an array without a length, or ends with one.
    fn is_open(&self) -> bool {
        match self.kind() {
            Kind::Array(array) => array.length.is_none(),
            Kind::Record(record) => {
                record.fields().last().is_some_and(|last| last.c_type.is_open())
            }
            _ => false,
        }
    }

    /// The element type of an array, or of nested arrays.
    pub(crate) fn innermost(&self) -> &Type {
        match self.kind() {
            Kind::Array(array) => array.element.innermost(),
            _ => self,
        }
    }
}

fn check_names(fields: &[Field]) -> Result<(), TypeError> {
    let mut names = Vec::new();
    for field in fields {
        match (&field.name, field.c_type.as_record()) {
            (Some(name), _) => names.push(name.clone()),
            (None, Some(part)) => part.names(&mut names),
            (None, None) => {}
        }
    }
    let mut seen = HashSet::new();
    match names.into_iter().find(|name| !seen.insert(name.clone())) {
        Some(name) => Err(TypeError::DuplicateField(name.to_string())),
        None => Ok(()),
    }
}
