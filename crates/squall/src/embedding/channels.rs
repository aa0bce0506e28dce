//! Ends of channels, with which the embedder's native threads read and write guest channels.
//!
//! A native thread that reads or writes here acts like a strand: when a write to a channel without a buffer returns,
//! the value has been read.

use std::time::Duration;

use squall_runtime::concurrency::embedding::calls::Site;

use super::{Error, Value, Vm};

/// The end of a channel to read from. A clone is another end, for another native thread. While native code has an end
/// that it does not use at the moment, the machine expects a call from it.
pub struct Reader(End);

/// The end of a channel to write to. A clone is another end, for another native thread.
pub struct Writer(End);

/// An end that native code has. While it exists, the machine expects calls through it.
struct End {
    vm: Vm,
    object: Value,
    number: usize,
}

impl End {
    fn new(vm: &Vm, object: Value) -> End {
        let runtime = vm.runtime();
        let number = runtime.concurrency().embedding.calls.add_end(runtime);
        End { vm: vm.clone(), object, number }
    }

    fn site(&self) -> Site {
        Site::End(self.number)
    }
}

impl Clone for End {
    fn clone(&self) -> End {
        End::new(&self.vm, self.object.clone())
    }
}

impl Drop for End {
    fn drop(&mut self) {
        let runtime = self.vm.runtime();
        runtime.concurrency().embedding.calls.remove_end(runtime);
    }
}

impl Clone for Reader {
    fn clone(&self) -> Reader {
        Reader(self.0.clone())
    }
}

impl Clone for Writer {
    fn clone(&self) -> Writer {
        Writer(self.0.clone())
    }
}

impl Vm {
    /// A new channel whose buffer has room for `capacity` values: its ends, as guest objects.
    fn channel_ends(&self, capacity: usize) -> Result<(Value, Value), Error> {
        let capacity = i64::try_from(capacity).map_err(|_| Error::Argument)?;
        match self.ask("channel:", &[Value::Integer(capacity)])? {
            Value::List(ends) => match <[Value; 2]>::try_from(ends) {
                Ok([reading, writing]) => Ok((reading, writing)),
                Err(_) => Err(Error::Kind("the ends of a channel")),
            },
            _ => Err(Error::Kind("the ends of a channel")),
        }
    }

    /// A channel to guest code: the end for native code, and the one to be given to guest code.
    pub fn channel_to_guest(&self, capacity: usize) -> Result<(Writer, Value), Error> {
        let (reading, writing) = self.channel_ends(capacity)?;
        Ok((Writer(End::new(self, writing)), reading))
    }

    /// A channel from guest code: the end for native code, and the one to be given to guest code.
    pub fn channel_from_guest(&self, capacity: usize) -> Result<(Reader, Value), Error> {
        let (reading, writing) = self.channel_ends(capacity)?;
        Ok((Reader(End::new(self, reading)), writing))
    }

    /// Makes a reader of a guest object that is a reading end, such as a channel's `in`. If it is none, the first use
    /// fails.
    pub fn reader(&self, end: Value) -> Reader {
        Reader(End::new(self, end))
    }

    /// Makes a writer of a guest object that is a writing end, such as a channel's `out`.
    pub fn writer(&self, end: Value) -> Writer {
        Writer(End::new(self, end))
    }
}

impl Reader {
    /// Waits for a value.
    pub fn read(&self) -> Result<Value, Error> {
        self.0.vm.send(self.0.site(), &self.0.object, "read", &[])
    }

    /// Waits for a value for at most this long; `None` if there was none.
    pub fn read_within(&self, patience: Duration) -> Result<Option<Value>, Error> {
        let End { vm, object, .. } = &self.0;
        let milliseconds = Value::Double(patience.as_secs_f64() * 1000.0);
        let arguments = [object.clone(), milliseconds];
        match vm.send(self.0.site(), vm.host(), "read:within:", &arguments)? {
            Value::List(mut values) => Ok(values.pop()),
            _ => Ok(None),
        }
    }

    /// Poisons the channel: all its readers and writers fail from now on.
    pub fn poison(&self) -> Result<(), Error> {
        self.0.vm.send(self.0.site(), &self.0.object, "poison", &[]).map(drop)
    }
}

impl Writer {
    /// Waits until the value is read, or the channel's buffer has room for it. An object of the main actor that is no
    /// value is sent as a far reference.
    pub fn write(&self, value: &Value) -> Result<(), Error> {
        let arguments = std::slice::from_ref(value);
        self.0.vm.send(self.0.site(), &self.0.object, "write:", arguments).map(drop)
    }

    /// Poisons the channel: all its writers fail from now on, and its readers once the buffer is empty.
    pub fn poison(&self) -> Result<(), Error> {
        self.0.vm.send(self.0.site(), &self.0.object, "poison", &[]).map(drop)
    }
}
