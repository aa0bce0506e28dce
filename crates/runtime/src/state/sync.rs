//! The primitives of the modelled protocols: the standard library's atomics, or loom's in the models. The modules with
//! such protocols (`status`, `ownership`, `events`) import them from here.

#[cfg(not(all(test, feature = "loom")))]
pub(crate) use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};

#[cfg(all(test, feature = "loom"))]
pub(crate) use loom::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};

#[cfg(not(all(test, feature = "loom")))]
pub(crate) use parking_lot::{Condvar, Mutex};

#[cfg(all(test, feature = "loom"))]
pub(crate) use blocking::{Condvar, Mutex};

/// Loom's lock and condition with the interface of the lock and the condition that they stand for.
#[cfg(all(test, feature = "loom"))]
mod blocking {
    const UNPOISONED: &str = "a model ends at its first panic";

    #[derive(Default)]
    pub(crate) struct Mutex<T>(loom::sync::Mutex<T>);

    /// Empty only inside of [`Condvar::wait`].
    pub(crate) struct Guard<'m, T>(Option<loom::sync::MutexGuard<'m, T>>);

    #[derive(Default)]
    pub(crate) struct Condvar(loom::sync::Condvar);

    impl<T> Mutex<T> {
        pub(crate) fn lock(&self) -> Guard<'_, T> {
            Guard(Some(self.0.lock().expect(UNPOISONED)))
        }
    }

    impl Condvar {
        pub(crate) fn wait<T>(&self, guard: &mut Guard<'_, T>) {
            guard.0 = guard.0.take().map(|inner| self.0.wait(inner).expect(UNPOISONED));
        }

        pub(crate) fn notify_all(&self) {
            self.0.notify_all();
        }
    }
}

/// One more turn of a loop that waits for another native thread, which needs a few instructions only.
#[cfg(not(all(test, feature = "loom")))]
#[inline]
pub(crate) fn spin(spins: &mut u32) {
    const PATIENCE: u32 = 64;
    *spins += 1;
    if *spins < PATIENCE { std::hint::spin_loop() } else { std::thread::yield_now() }
}

/// A turn of a waiting loop: in a model only another thread can change anything.
#[cfg(all(test, feature = "loom"))]
pub(crate) fn spin(_: &mut u32) {
    loom::thread::yield_now();
}

/// The common parts of the models.
#[cfg(all(test, feature = "loom"))]
pub(crate) mod exploration {
    use loom::sync::Arc;
    use loom::thread;

    /// Runs a program in every order in which its threads are preempted three times at most.
    pub(crate) fn explore(program: impl Fn() + Send + Sync + 'static) {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(3);
        builder.check(program);
    }

    /// Starts a thread that works on the model.
    pub(crate) fn beside<M: 'static, R: 'static>(
        model: &Arc<M>,
        work: impl FnOnce(&M) -> R + Send + 'static,
    ) -> thread::JoinHandle<R> {
        let model = model.clone();
        thread::spawn(move || work(&model))
    }
}
