//! The primitives of the modelled protocols: the standard library's atomics, or loom's in the models. The modules with
//! such protocols (`status`, `ownership`) import them from here.

#[cfg(not(all(test, feature = "loom")))]
pub(crate) use std::sync::atomic::AtomicU64;

#[cfg(all(test, feature = "loom"))]
pub(crate) use loom::sync::atomic::AtomicU64;

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
