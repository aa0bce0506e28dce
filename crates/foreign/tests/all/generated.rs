//! Random signatures, in calls and in callbacks: the function receives the given arguments, and the caller the given
//! result.
//!
//! For each signature the test writes two C functions. `f7` copies its arguments to `seen7` and answers the contents of
//! `answer7`; `call7` takes such a function and calls it with arguments from `seen7`.

use std::fmt::Write;
use std::sync::{Arc, Mutex};

use squall_foreign::{
    Callback, CallbackFrame, Declarations, Kind, Library, NativeMemory, Primitive, Signature, Type,
    Value,
};

use crate::compiler::load_text;
use crate::fixture::{Answer, call};
use crate::generator::{
    COMMON, PREAMBLE, Random, Types, any_type, seed_and_cases, systematic_records,
};

/// The distance of the arguments in the buffers.
const STRIDE: usize = 512;

#[test]
fn random_signatures_work_both_ways() {
    let (seed, cases) = seed_and_cases(300);
    let mut random = Random::new(seed);
    let mut types = Types::default();
    (0..cases).for_each(|_| {
        types.record(&mut random, 2);
    });
    let records = passed_by_value(&types.records, &format!("{COMMON}{}", types.text));
    let signatures: Vec<_> = (0..cases)
        .map(|_| {
            let result =
                if random.below(8) == 0 { "void" } else { any_type(&mut random, &records) };
            let count = random.below(11);
            (result, (0..count).map(|_| any_type(&mut random, &records)).collect())
        })
        .collect();
    check(&types.text, &signatures, &mut random);
}

#[test]
fn structures_of_all_sizes_and_kinds_work_both_ways() {
    let (text, names) = systematic_records();
    let mut signatures = Vec::new();
    for name in names.iter().map(String::as_str) {
        signatures.push((name, vec![name]));
        // Too few registers are left for both parts of it, and then for any of it.
        signatures.push((name, vec!["int", "int", "int", "int", "int", name, "int", name]));
        let doubles = ["double"; 7];
        signatures.push((name, [&doubles[..], &[name, "float", "double", name]].concat()));
    }
    check(&text, &signatures, &mut Random::new(1));
}

/// Calls functions of these signatures, and has them call back.
fn check(definitions: &str, signatures: &[(&str, Vec<&str>)], random: &mut Random) {
    let mut declarations = format!("{COMMON}{definitions}");
    let mut bodies = String::new();
    for (number, (result, parameters)) in signatures.iter().enumerate() {
        write_functions(number, result, parameters, &mut declarations, &mut bodies);
    }
    let mut header = Declarations::new();
    let declared = header.declare(&declarations);
    declared.unwrap_or_else(|error| panic!("{error}\n{}", error.excerpt(&declarations)));
    let Some(library) = load_text(&format!("{PREAMBLE}{declarations}\n{bodies}")) else { return };
    for number in 0..signatures.len() {
        let case = Case::new(number, &header, &library);
        for _ in 0..3 {
            case.check_call(random);
            case.check_callback(random);
        }
    }
}

/// The structures that have room in the buffers.
fn passed_by_value<'n>(names: &'n [String], declarations: &str) -> Vec<&'n str> {
    let mut header = Declarations::new();
    header
        .declare(declarations)
        .unwrap_or_else(|error| panic!("{error}\n{}", error.excerpt(declarations)));
    let size = |name: &str| header.parse_type(name).ok()?.layout().map(|layout| layout.size);
    let is_small = |name: &&str| size(name).is_some_and(|size| size <= STRIDE);
    names.iter().map(String::as_str).filter(is_small).collect()
}

fn write_functions(
    number: usize,
    result: &str,
    parameters: &[&str],
    declarations: &mut String,
    bodies: &mut String,
) {
    let list = |named: bool| {
        let one = |(index, of): (usize, &&str)| {
            if named { format!("{of} a{index}") } else { of.to_string() }
        };
        let all: Vec<String> = parameters.iter().enumerate().map(one).collect();
        if all.is_empty() { "void".to_owned() } else { all.join(", ") }
    };
    let _ = writeln!(declarations, "{result} f{number}({});", list(true));
    let _ = writeln!(declarations, "{result} call{number}({result} (*f)({}));", list(false));
    let size = STRIDE * parameters.len().max(1);
    let _ = writeln!(bodies, "unsigned char seen{number}[{size}], answer{number}[{STRIDE}];");
    let _ = writeln!(bodies, "{result} f{number}({}) {{", list(true));
    for index in 0..parameters.len() {
        let _ = writeln!(
            bodies,
            "    memcpy(seen{number} + {}, &a{index}, sizeof a{index});",
            STRIDE * index
        );
    }
    if result != "void" {
        let _ = writeln!(bodies, "    {result} r; memcpy(&r, answer{number}, sizeof r); return r;");
    }
    let _ = writeln!(bodies, "}}\n{result} call{number}({result} (*f)({})) {{", list(false));
    for (index, of) in parameters.iter().enumerate() {
        let from = STRIDE * index;
        let _ = writeln!(
            bodies,
            "    {of} a{index}; memcpy(&a{index}, seen{number} + {from}, sizeof a{index});"
        );
    }
    let names: Vec<String> = (0..parameters.len()).map(|index| format!("a{index}")).collect();
    let keyword = if result == "void" { "" } else { "return " };
    let _ = writeln!(bodies, "    {keyword}f({});\n}}", names.join(", "));
}

struct Case {
    number: usize,
    signature: Signature,
    function: squall_foreign::Function,
    caller: squall_foreign::Function,
    seen: NativeMemory,
    answer: NativeMemory,
}

impl Case {
    fn new(number: usize, header: &Declarations, library: &Library) -> Case {
        let function = |name: &str| {
            let signature = header.function(name).expect("it is declared");
            library.function(name, signature).unwrap_or_else(|error| panic!("{error}"))
        };
        let signature = header.function(&format!("f{number}")).expect("it is declared").clone();
        let buffer = |name: &str, size| {
            let address = library.symbol(&format!("{name}{number}")).expect("it is defined");
            // SAFETY: it has this size, and belongs to this test.
            unsafe { NativeMemory::borrow(address, size, None) }
        };
        let count = signature.parameters().len();
        Case {
            number,
            function: function(&format!("f{number}")),
            caller: function(&format!("call{number}")),
            seen: buffer("seen", STRIDE * count.max(1)),
            answer: buffer("answer", STRIDE),
            signature,
        }
    }

    fn types(&self) -> impl Iterator<Item = &Type> {
        self.signature.parameters().iter().map(|parameter| &parameter.c_type)
    }

    fn random_arguments(&self, random: &mut Random) -> Vec<Vec<u8>> {
        self.types().map(|of| random_bytes(of, random)).collect()
    }

    fn random_answer(&self, random: &mut Random) -> Vec<u8> {
        let answer = random_bytes(self.signature.result(), random);
        self.answer.write_bytes(0, &answer).expect("it is within");
        answer
    }

    fn describe(&self) -> String {
        self.signature.declaring(&format!("f{}", self.number))
    }

    fn check_call(&self, random: &mut Random) {
        let arguments = self.random_arguments(random);
        let answer = self.random_answer(random);
        let values: Vec<Value<'_>> =
            self.types().zip(&arguments).map(|(of, bytes)| value(of, bytes)).collect();
        self.seen.write_bytes(0, &vec![0; self.seen.size()]).expect("it is within");
        let (result, _) = call(&self.function, &values).unwrap_or_else(|error| panic!("{error}"));
        check_result(self.signature.result(), &answer, &result, &self.describe());
        for (index, (of, expected)) in self.types().zip(&arguments).enumerate() {
            let mut seen = vec![0; expected.len()];
            self.seen.read_bytes(STRIDE * index, &mut seen).expect("it is within");
            check_bytes(of, expected, &seen, &format!("argument {index} of {}", self.describe()));
        }
    }

    fn check_callback(&self, random: &mut Random) {
        let arguments = self.random_arguments(random);
        for (index, bytes) in arguments.iter().enumerate() {
            self.seen.write_bytes(STRIDE * index, bytes).expect("it is within");
        }
        let answer = random_bytes(self.signature.result(), random);
        let (own, of) = (answer.clone(), self.signature.result().clone());
        let received: Arc<Mutex<Vec<Answer>>> = Arc::default();
        let receive = received.clone();
        let handler = move |frame: &mut CallbackFrame<'_>| {
            receive.lock().expect("nobody panics").extend(frame.arguments().map(Answer::of));
            frame.set_result(value(&of, &own)).expect("it is of the type");
        };
        let callback = Callback::new(&self.signature, handler).expect("there is memory");
        let (result, _) =
            call(&self.caller, &[Value::Pointer(callback.address())]).expect("it takes an address");
        assert_eq!(callback.take_panic(), None, "{}", self.describe());
        check_result(self.signature.result(), &answer, &result, &self.describe());
        let received = received.lock().expect("nobody panics");
        assert_eq!(received.len(), arguments.len());
        for (index, (of, expected)) in self.types().zip(&arguments).enumerate() {
            let what = format!("argument {index} of callback {}", self.describe());
            check_result(of, expected, &received[index], &what);
        }
    }
}

/// Bytes that are a value of a type: any bytes, but for booleans and floating-point numbers.
fn random_bytes(of: &Type, random: &mut Random) -> Vec<u8> {
    let mut bytes = vec![0; of.layout().map_or(0, |layout| layout.size)];
    bytes.iter_mut().for_each(|byte| *byte = random.next() as u8);
    if of.as_record().is_some_and(|record| record.kind() == squall_foreign::RecordKind::Union) {
        return bytes;
    }
    normalise(of, &mut bytes, random);
    bytes
}

fn normalise(of: &Type, bytes: &mut [u8], random: &mut Random) {
    let number = random.next() as i32 as f32 / 16.0;
    match (of.primitive(), of.kind()) {
        (Some(Primitive::Bool), _) => bytes[0] &= 1,
        (Some(Primitive::F32), _) => bytes.copy_from_slice(&number.to_ne_bytes()),
        (Some(Primitive::F64), _) => bytes.copy_from_slice(&f64::from(number).to_ne_bytes()),
        (_, Kind::Record(record)) => {
            for field in record.fields() {
                let size = field.c_type.layout().expect("it is a field").size;
                normalise(&field.c_type, &mut bytes[field.offset..][..size], random);
            }
        }
        (_, Kind::Array(array)) => {
            let size = array.element.layout().expect("it is an element").size;
            bytes
                .chunks_exact_mut(size)
                .for_each(|element| normalise(&array.element, element, random));
        }
        _ => {}
    }
}

fn value<'b>(of: &Type, bytes: &'b [u8]) -> Value<'b> {
    match of.primitive() {
        Some(primitive) => {
            let memory = NativeMemory::allocate(8).expect("there is memory");
            memory.write_bytes(0, bytes).expect("it is within");
            memory.read(0, primitive).expect("it is within")
        }
        None if bytes.is_empty() => Value::Void,
        None => Value::Record(bytes),
    }
}

fn check_result(of: &Type, expected: &[u8], found: &Answer, what: &str) {
    match found {
        Answer::Record(bytes) => check_bytes(of, expected, bytes, what),
        found => assert_eq!(*found, Answer::of(value(of, expected)), "{what}"),
    }
}

/// Compares all bytes but padding, which may change.
fn check_bytes(of: &Type, expected: &[u8], found: &[u8], what: &str) {
    assert_eq!(expected.len(), found.len(), "{what}");
    let mut matters = vec![false; expected.len()];
    mark(of, 0, &mut matters);
    for index in 0..expected.len() {
        let differs = matters[index] && expected[index] != found[index];
        assert!(!differs, "{what}: byte {index} of {of}:\n{expected:x?}\n{found:x?}");
    }
}

fn mark(of: &Type, offset: usize, matters: &mut [bool]) {
    match (of.primitive(), of.kind()) {
        (Some(primitive), _) => matters[offset..offset + primitive.size()].fill(true),
        (_, Kind::Record(record)) => {
            record
                .fields()
                .iter()
                .for_each(|field| mark(&field.c_type, offset + field.offset, matters));
        }
        (_, Kind::Array(array)) => {
            let size = array.element.layout().expect("it is an element").size;
            (0..array.length.unwrap_or(0))
                .for_each(|index| mark(&array.element, offset + index * size, matters));
        }
        _ => {}
    }
}
