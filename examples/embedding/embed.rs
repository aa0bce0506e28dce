//! A program in Rust with a machine in it.
//!
//! ```text
//! area: 42
//! frame: 42, scaled: 2.5
//! sums: 1 3 6 10
//! error: ZeroDivide
//! stranger: ended, fuel
//! stranger: not granted host:geometry
//! ```

use squall::embedding::{Budgets, Error, HostModule, Reader, Value, Vm, Writer};
use squall::{FileKind, Options, Surroundings};

/// The program's text is part of this one.
const PIPELINE: &[u8] = include_bytes!("pipeline.ns");

/// Typed code that imports functions of this program.
const AREAS: &[u8] = include_bytes!("areas.sqasm");

/// The machine writes nothing, and reads no files.
struct Nowhere;

impl Surroundings for Nowhere {
    fn write_output(&self, _: &str) {}

    fn write_error(&self, _: &str) {}

    fn flush(&self) {}

    fn read_module(&self, _: &str) -> std::io::Result<Vec<u8>> {
        Err(std::io::ErrorKind::NotFound.into())
    }
}

fn main() -> Result<(), Error> {
    let vm = Vm::start(Options::default(), Nowhere)?;
    let class = vm.load("pipeline.ns", FileKind::Newspeak, PIPELINE)?;
    let pipeline = vm.call(&class, "usingPlatform:", &[vm.platform().clone()])?;

    vm.register("area", |arguments| match arguments {
        [Value::Integer(width), Value::Integer(height)] => Ok(Value::Integer(width * height)),
        _ => Err("an area is that of two integers".to_owned()),
    });
    let area = vm.call(&pipeline, "areaOf:by:", &[Value::Integer(6), Value::Integer(7)])?;
    println!("area: {}", vm.describe(&area)?);

    vm.register_module(geometry())?;
    let areas = vm.load("areas.sqasm", FileKind::Assembly, AREAS)?;
    let frame = vm.call_export(&areas, "frame", &[Value::Integer(4), Value::Integer(5)])?;
    let scaled = vm.call_export(&areas, "scaled", &[Value::Double(5.0)])?;
    println!("frame: {}, scaled: {}", vm.describe(&frame)?, vm.describe(&scaled)?);

    // Two native threads and a process: this one reads what the other one's numbers sum up to.
    let (numbers, guest_in) = vm.channel_to_guest(0)?;
    let (sums, guest_out) = vm.channel_from_guest(0)?;
    vm.call(&pipeline, "sumFrom:to:", &[guest_in, guest_out])?;
    let writing = std::thread::spawn(move || write_numbers(&numbers));
    print!("sums:");
    read_sums(&vm, &sums)?;
    writing.join().expect("it does not panic")?;

    match vm.call(&pipeline, "divide:", &[Value::Integer(1)]) {
        Err(Error::Exception { class, .. }) => println!("error: {class}"),
        answer => println!("answered: {answer:?}"),
    }

    let budgets = Budgets { fuel: Some(100_000), ..Budgets::default() };
    let sandbox = vm.sandbox("stranger", budgets, &[])?;
    let stranger = sandbox.actor(&vm.call(&pipeline, "stranger", &[])?)?;
    let stranger = vm.call(&stranger, "new", &[])?;
    if let Err(Error::SandboxEnded(_)) = vm.call(&stranger, "spin", &[]) {
        println!("stranger: ended, {}", sandbox.reason()?.name());
    }
    if let Err(Error::Compile(_)) = sandbox.load("areas.sqasm", FileKind::Assembly, AREAS) {
        println!("stranger: not granted host:geometry");
    }
    Ok(())
}

/// Functions that modules of bytecode import by name, version and type.
fn geometry() -> HostModule {
    HostModule::new("host:geometry", "1.0.0")
        .function("area", &["i64", "i64"], "i64", |arguments| match arguments {
            [Value::Integer(width), Value::Integer(height)] => Ok(Value::Integer(width * height)),
            _ => Err("linking has seen to the types".to_owned()),
        })
        .function("scale", &["f64"], "f64", |arguments| match arguments {
            [Value::Double(number)] => Ok(Value::Double(number * 0.5)),
            _ => Err("linking has seen to the types".to_owned()),
        })
}

fn write_numbers(numbers: &Writer) -> Result<(), Error> {
    for number in 1..=4 {
        numbers.write(&Value::Integer(number))?;
    }
    numbers.poison()
}

fn read_sums(vm: &Vm, sums: &Reader) -> Result<(), Error> {
    loop {
        match sums.read() {
            Ok(sum) => print!(" {}", vm.describe(&sum)?),
            Err(Error::Poisoned) => {
                println!();
                return Ok(());
            }
            Err(error) => return Err(error),
        }
    }
}
