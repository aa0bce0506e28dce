//! Puts the layers together: makes a VM in which the upper layers have registered themselves with the lower ones.
//! `squall` and tests call it.

use squall_heap::HeapError;
use squall_scheduler::Scheduler;

use crate::concurrency::root_source::Roots;
use crate::concurrency::services::Concurrency;
use crate::concurrency::worker::WorkerHooks;
use crate::library::{primitives, recorded};
use crate::model::host::Host;
use crate::state::tier::Tier;
use crate::state::vm::{Layers, Vm, VmOptions};

/// Makes the VM of this process.
pub fn make_vm(
    options: VmOptions,
    host: Box<dyn Host>,
    tier: &'static dyn Tier,
) -> Result<&'static Vm, HeapError> {
    let find_primitive = if options.replays.is_some() { recorded::find } else { primitives::find };
    let layers = Layers {
        find_primitive,
        services: &Concurrency,
        make_scheduler: |options| Scheduler::new(options, WorkerHooks),
        make_roots: |vm| Box::new(Roots::new(vm)),
    };
    Vm::new(options, host, tier, layers)
}
