//! Host modules: an embedder gives native functions declared types, and modules of bytecode import them.
//!
//! Each function becomes an assembly function that makes objects of its arguments, calls the native function by its
//! name, and checks the type of the answer. So linking checks the types of both sides before anything runs, and the
//! native function gets arguments of the declared types.

use std::fmt::Write;
use std::sync::Arc;

use squall_bytecode::assembler::assemble;
use squall_bytecode::verifier::{Trust, verify};
use squall_runtime::concurrency::embedding::functions::NativeFunction;

use super::{Error, Value, Vm};

/// A module of native functions. Its name begins with `host:`.
pub struct HostModule {
    name: String,
    version: String,
    functions: Vec<HostFunction>,
}

struct HostFunction {
    name: String,
    parameters: Vec<String>,
    result: String,
    function: NativeFunction,
}

impl HostModule {
    /// A module without functions. Modules import it by this name, such as `host:geometry`, and this version, such as
    /// `1.0.0`.
    pub fn new(name: &str, version: &str) -> HostModule {
        let (name, version) = (name.to_owned(), version.to_owned());
        HostModule { name, version, functions: Vec::new() }
    }

    /// The module with one more function. Types are those of the assembly language, such as `i64` or `list<f64>`, or
    /// `any`.
    #[must_use]
    pub fn function(
        mut self,
        name: &str,
        parameters: &[&str],
        result: &str,
        function: impl Fn(&[Value]) -> Result<Value, String> + Send + Sync + 'static,
    ) -> HostModule {
        self.functions.push(HostFunction {
            name: name.to_owned(),
            parameters: parameters.iter().map(|&kind| kind.to_owned()).collect(),
            result: result.to_owned(),
            function: Arc::new(function),
        });
        self
    }

    /// The text form of the module.
    fn text(&self) -> String {
        let mut text = format!("module \"{}\" \"{}\"\n", self.name, self.version);
        for (index, function) in self.functions.iter().enumerate() {
            function.write_text(&self.name, index, &mut text);
            _ = writeln!(text, "export \"{}\" $f{index}", function.name);
        }
        text
    }

    /// Whether names and types cannot break out of their places in the text.
    fn is_plain(&self) -> bool {
        let is_plain = |text: &String| {
            let marks = " _-.:<>(),";
            text.chars().all(|letter| letter.is_ascii_alphanumeric() || marks.contains(letter))
        };
        let types = self.functions.iter().flat_map(|function| &function.parameters);
        let functions = self.functions.iter();
        let others = functions.flat_map(|function| [&function.name, &function.result]);
        types.chain(others).chain([&self.name, &self.version]).all(is_plain)
    }
}

impl HostFunction {
    /// The registers: the parameters; the answer as an object; one for the return address; name and arguments as
    /// objects; the answer in its declared type.
    fn write_text(&self, module: &str, index: usize, text: &mut String) {
        let count = self.parameters.len();
        let (answer, window, typed) = (count, count + 2, 2 * count + 3);
        let types: String = self.parameters.iter().map(|kind| format!("{kind}, ")).collect();
        _ = writeln!(
            text,
            "function $f{index} \"{module} {}\" ({count}) -> {} {{",
            self.name, self.result
        );
        _ = writeln!(text, "    registers {types}any*{}, {}", count + 3, self.result);
        _ = writeln!(text, "    load_constant r{window}, \"{module}.{}\"", self.name);
        for (parameter, kind) in self.parameters.iter().enumerate() {
            let opcode = if kind == "any" { "move" } else { "box" };
            _ = writeln!(text, "    {opcode} r{}, r{parameter}", window + 1 + parameter);
        }
        _ = writeln!(text, "    primitive r{answer}, r{window}, {}, \"hostApply:\"", count + 1);
        if self.result == "any" {
            _ = writeln!(text, "    return r{answer}\n}}");
            return;
        }
        let complaint =
            format!("{module}.{} has answered a value that is no {}", self.name, self.result);
        _ = writeln!(text, "    unbox r{typed}, r{answer}, wrong\n    return r{typed}\nwrong:");
        _ = writeln!(text, "    load_constant r{answer}, \"{complaint}\"\n    raise r{answer}\n}}");
    }
}

impl Vm {
    /// Lets modules of bytecode that are loaded from now on import this one.
    pub fn register_module(&self, module: HostModule) -> Result<(), Error> {
        if !module.is_plain() || !module.name.starts_with("host:") {
            return Err(Error::Argument);
        }
        let lines = |problems: Vec<String>| Error::Compile(problems.join("\n"));
        let bytecode = assemble(&module.text()).map_err(|problems| {
            lines(problems.iter().map(|problem| format!("{}:{problem}", module.name)).collect())
        })?;
        verify(&bytecode, Trust::Trusted).map_err(|problems| {
            lines(problems.iter().map(|problem| format!("{}: {problem}", module.name)).collect())
        })?;
        for function in module.functions {
            let name = format!("{}.{}", module.name, function.name);
            self.runtime().concurrency().embedding.functions.register(&name, function.function);
        }
        self.runtime().modules.provide(bytecode);
        Ok(())
    }
}
