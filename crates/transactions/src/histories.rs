//! Random histories, step by step: a random schedule interleaves the attempts of several strands.
//!
//! A commit is a single step here, so the contents of the cells after each commit are known. All values that an attempt
//! has read must have existed together at one moment since it began, even if the attempt fails: that is opacity. When
//! it commits, they must exist at that very moment: that is strict serialisability. (The loom models divide commits
//! into steps.)

use std::sync::atomic::{AtomicU64, Ordering};

use proptest::prelude::*;

use super::*;

const CELLS: usize = 4;
const STRANDS: usize = 3;

/// A strand's step.
#[derive(Clone, Copy, Debug)]
enum Step {
    Read(usize),
    Write(usize),
    /// Commits; if true, without locks when that is possible: the other strands are suspended.
    Commit(bool),
    Abandon,
    BecomeInevitable,
    /// Stores outside of transactions; the flag has the same meaning.
    Store(usize, bool),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (0..CELLS).prop_map(Step::Read),
        4 => (0..CELLS).prop_map(Step::Write),
        4 => any::<bool>().prop_map(Step::Commit),
        1 => Just(Step::Abandon),
        1 => Just(Step::BecomeInevitable),
        2 => (0..CELLS, any::<bool>()).prop_map(|(cell, alone)| Step::Store(cell, alone)),
    ]
}

type State = [u64; CELLS];

/// An attempt and its actions so far.
#[derive(Default)]
struct Strand {
    attempt: Attempt<usize>,
    runs: bool,
    /// The number of the state at which it began.
    begun: usize,
    seen: Vec<(usize, u64)>,
    written: Vec<(usize, u64)>,
}

struct World {
    space: Space,
    cells: [AtomicU64; CELLS],
    /// All states so far.
    states: Vec<State>,
    strands: [Strand; STRANDS],
    /// The strand whose attempt is inevitable.
    holder: Option<usize>,
    values: u64,
}

impl World {
    /// With fewer stripes than cells, some cells share a stripe.
    fn new(bits: u32) -> World {
        World {
            space: Space::new(bits),
            cells: Default::default(),
            states: vec![State::default()],
            strands: Default::default(),
            holder: None,
            values: 0,
        }
    }

    fn new_value(&mut self) -> u64 {
        self.values += 1;
        self.values
    }

    fn state(&self) -> State {
        std::array::from_fn(|cell| self.cells[cell].load(Ordering::Relaxed))
    }

    fn step(&mut self, number: usize, step: Step) {
        match step {
            Step::Store(cell, alone) => return self.store(number, cell, alone),
            Step::Commit(_) | Step::Abandon if !self.strands[number].runs => return,
            _ => {}
        }
        self.begin(number);
        match step {
            Step::Read(cell) => self.read(number, cell),
            Step::Write(cell) => self.write(number, cell),
            Step::Commit(alone) => self.commit(number, alone),
            Step::Abandon => self.end(number),
            Step::BecomeInevitable => self.become_inevitable(number),
            Step::Store(..) => {}
        }
        self.check(number);
    }

    fn begin(&mut self, number: usize) {
        let strand = &mut self.strands[number];
        if !strand.runs {
            strand.attempt.begin(&self.space);
            strand.runs = true;
            strand.begun = self.states.len() - 1;
        }
    }

    fn end(&mut self, number: usize) {
        let strand = &mut self.strands[number];
        strand.attempt.release(&self.space);
        self.forget(number);
    }

    fn forget(&mut self, number: usize) {
        let strand = &mut self.strands[number];
        strand.runs = false;
        strand.seen.clear();
        strand.written.clear();
        self.holder = self.holder.filter(|holder| *holder != number);
    }

    fn read(&mut self, number: usize, cell: usize) {
        let World { space, cells, strands, .. } = self;
        let Strand { attempt, seen, written, .. } = &mut strands[number];
        if written.iter().any(|(written, _)| *written == cell) {
            return;
        }
        let load = || cells[cell].load(Ordering::Relaxed);
        let quick = attempt.try_read(space, Stripe(cell as u32), cell, load);
        match quick.map_or_else(|| attempt.read(space, Stripe(cell as u32), cell, load), Ok) {
            Ok(value) => seen.push((cell, value)),
            Err(_) => {
                assert_ne!(self.holder, Some(number), "an inevitable attempt has failed");
                self.end(number);
            }
        }
    }

    fn write(&mut self, number: usize, cell: usize) {
        let value = self.new_value();
        let World { space, strands, .. } = self;
        let Strand { attempt, written, .. } = &mut strands[number];
        if attempt.is_inevitable() {
            attempt.reserve(space, Stripe(cell as u32));
        }
        written.retain(|(written, _)| *written != cell);
        written.push((cell, value));
    }

    fn become_inevitable(&mut self, number: usize) {
        if self.holder.is_some() {
            return;
        }
        let World { space, strands, .. } = self;
        let Strand { attempt, written, .. } = &mut strands[number];
        let stripes = written.iter().map(|(cell, _)| Stripe(*cell as u32));
        match attempt.make_inevitable(space, stripes) {
            Ok(()) => self.holder = Some(number),
            Err(_) => self.end(number),
        }
    }

    fn commit(&mut self, number: usize, alone: bool) {
        let state = self.state();
        let World { space, cells, strands, .. } = self;
        let Strand { attempt, seen, written, .. } = &mut strands[number];
        if written.is_empty() {
            return self.end(number);
        }
        let stripes = written.iter().map(|(cell, _)| Stripe(*cell as u32));
        let store = || {
            for &(cell, value) in seen.iter() {
                assert_eq!(state[cell], value, "what it has read was changed");
            }
            for &(cell, value) in written.iter() {
                cells[cell].store(value, Ordering::Release);
            }
        };
        if !alone || !attempt.commit_alone(space, stripes.clone(), store) {
            let time = attempt.acquire(space, stripes).and_then(|()| attempt.prepare(space));
            let Ok(time) = time else {
                assert_ne!(self.holder, Some(number), "an inevitable attempt has failed");
                return self.end(number);
            };
            store();
            attempt.publish(space, time, |_| {});
        }
        self.forget(number);
        self.states.push(self.state());
    }

    fn store(&mut self, number: usize, cell: usize, alone: bool) {
        if self.strands[number].runs {
            return;
        }
        let value = self.new_value();
        let World { space, cells, .. } = self;
        let store = || cells[cell].store(value, Ordering::Release);
        if alone && space.write_alone(Stripe(cell as u32), store) {
            return self.states.push(self.state());
        }
        match space.write(Stripe(cell as u32), store) {
            Ok(_) => self.states.push(self.state()),
            Err(_) => assert!(self.holder.is_some(), "nobody has reserved it"),
        }
    }

    /// Checks that the attempt's reads existed together at one moment since it began.
    fn check(&self, number: usize) {
        let strand = &self.strands[number];
        let states = &self.states[strand.begun..];
        let agrees = |state: &State| strand.seen.iter().all(|&(cell, value)| state[cell] == value);
        assert!(states.iter().any(agrees), "{:?} in {states:?}", strand.seen);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn histories_are_opaque_and_serialisable(
        bits in 1..4_u32,
        steps in prop::collection::vec((0..STRANDS, step()), 0..80),
    ) {
        let mut world = World::new(bits);
        for (number, step) in steps {
            world.step(number, step);
        }
        for number in 0..STRANDS {
            world.end(number);
        }
        for cell in 0..CELLS {
            prop_assert!(world.space.write(Stripe(cell as u32), || {}).is_ok(), "something is left reserved");
        }
    }
}
