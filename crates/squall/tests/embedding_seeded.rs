//! The machine inside of this process, with a seed: one native thread runs at a time.

use squall::embedding::{Error, Value, Vm};
use squall::{FileKind, Options, Surroundings};

const MODULE: &str = r"
class Guest usingPlatform: platform = Value (
| private host      = platform host.
  private processes = platform processes. |
)(
  class Echo in: in out: out = (| in = in. out = out. |)(
    public run = ( [ true ] whileTrue: [ out write: in read * 2 ] )
  )
  public nested = ( ^ (host function: 'nested') value )
  public echoFrom: in to: out = ( processes spawn: Echo with: {in. out} )
  public inner = ( ^ 17 )
  public wait = ( ^ processes Channel new in read )
)";

struct Nowhere;

impl Surroundings for Nowhere {
    fn write_output(&self, _: &str) {}

    fn write_error(&self, _: &str) {}

    fn flush(&self) {}

    fn read_module(&self, _: &str) -> std::io::Result<Vec<u8>> {
        Err(std::io::ErrorKind::NotFound.into())
    }
}

#[test]
fn a_machine_with_a_seed() {
    let mut options = Options::default();
    options.scheduler.seed = Some(7);
    let vm = Vm::start(options, Nowhere).expect("it starts");
    let class = vm.load("guest.ns", FileKind::Newspeak, MODULE.as_bytes()).expect("it compiles");
    let guest = vm.call(&class, "usingPlatform:", &[vm.platform().clone()]).expect("an instance");
    let (to_guest, guest_in) = vm.channel_to_guest(0).expect("a channel");
    let (from_guest, guest_out) = vm.channel_from_guest(0).expect("a channel");
    vm.call(&guest, "echoFrom:to:", &[guest_in, guest_out]).expect("a process");
    for number in 0..20 {
        to_guest.write(&Value::Integer(number)).expect("it is read");
        assert_eq!(from_guest.read(), Ok(Value::Integer(2 * number)));
    }
    let inner = (vm.clone(), guest.clone());
    vm.register("nested", move |_| {
        inner.0.call(&inner.1, "inner", &[]).map_err(|error| error.to_string())
    });
    assert_eq!(vm.call(&guest, "nested", &[]), Ok(Value::Integer(17)));
    drop((to_guest, from_guest));
    assert!(matches!(vm.call(&guest, "wait", &[]), Err(Error::Deadlock(_))));
    assert_eq!(vm.end(0), 0);
}
