//! Writes the work of processes as assembly. `text` calls this module for each step of the kind `Work`.

use super::{Frame, Writer, name};
use crate::programs::{Reading, Register, Work};

impl Writer<'_> {
    /// Work whose result goes to a register.
    pub(super) fn work(
        &mut self,
        work: Work,
        to: Register,
        helper: usize,
        amount: u64,
        argument: Register,
    ) {
        let helper = self.name_of_helper(helper);
        let argument = name(argument);
        let sum = match work {
            Work::Copies => self.copies(&helper, amount, &argument),
            Work::Pipeline(stages, reading) => {
                self.pipeline(&helper, amount, &argument, stages, reading)
            }
            Work::Lists => self.lists(amount, &argument),
            Work::Choice => self.choice(&helper, amount, &argument),
            Work::Steps => self.steps_of_workers(&helper, amount),
            Work::Bucket => self.bucket(&helper, amount, &argument),
            Work::Indirect => self.indirect(&helper, &argument),
            Work::Timeout => self.timeout(amount, &argument),
        };
        self.line(format!("move {}, r{sum}", name(to)));
    }

    /// Makes a channel with both ends: the frame's first or second one.
    fn channel(&mut self, which: usize, capacity: u64) {
        let Frame { channels, readers, writers, .. } = self.frame;
        self.line(format!("make_channel r{}, {capacity}", channels + which));
        self.line(format!("reading_end r{}, r{}", readers + which, channels + which));
        self.line(format!("writing_end r{}, r{}", writers + which, channels + which));
    }

    /// Adds up so many numbers from the first channel.
    fn add_up(&mut self, amount: u64) -> usize {
        let (numbers, reader, again) = (self.frame.numbers, self.frame.readers, self.label());
        let (sum, left, element) = (numbers + 4, numbers + 5, numbers + 6);
        self.line(format!("load_raw r{sum}, i64 0"));
        self.line(format!("load_raw r{left}, i64 {amount}"));
        self.bind(&again);
        self.line(format!("read r{element}, r{reader}"));
        self.line(format!("add r{sum}, r{sum}, r{element}"));
        self.count_down(left, &again);
        sum
    }

    fn copies(&mut self, helper: &str, amount: u64, argument: &str) -> usize {
        let [inner, second, after] = [(); 3].map(|_| self.label());
        let Frame { numbers, writers, call, .. } = self.frame;
        let [count, given, index, result] = [0, 1, 2, 3].map(|place| numbers + place);
        self.channel(0, amount % 3);
        self.line(format!("load_raw r{count}, i64 {amount}"));
        self.line(format!("move r{given}, {argument}"));
        self.line(format!("par {after}"));
        self.line(format!("branch {second}"));
        self.line(format!("par_for r{index}, r{count}, {inner}"));
        self.line(format!("move r{call}, r{index}"));
        self.line(format!("move r{}, r{given}", call + 1));
        self.line(format!("call r{result}, r{call}, 2, {helper}"));
        self.line(format!("write r{writers}, r{result}"));
        self.line("end_branch");
        self.bind(&inner);
        self.line("end_branch");
        self.bind(&second);
        self.line(format!("branch {after}"));
        let sum = self.add_up(amount);
        self.line("end_branch");
        self.bind(&after);
        sum
    }

    /// Starts a source that writes to a channel.
    fn source(&mut self, which: usize, helper: &str, amount: u64, argument: &str) {
        let Frame { writers, .. } = self.frame;
        let source = self.frame.ranges.source;
        self.line(format!("move r{source}, r{}", writers + which));
        self.line(format!("load_function r{}, {helper}", source + 1));
        self.line(format!("load_raw r{}, i64 {amount}", source + 2));
        self.line(format!("move r{}, {argument}", source + 3));
        self.line(format!("spawn r{source}, 4, $source"));
    }

    fn pipeline(
        &mut self,
        helper: &str,
        amount: u64,
        argument: &str,
        stages: usize,
        reading: Reading,
    ) -> usize {
        let Frame { readers, writers, numbers, exception, .. } = self.frame;
        let stage = self.frame.ranges.stage;
        self.channel(0, amount % 3);
        self.source(0, helper, amount, argument);
        for number in 0..stages {
            self.line(format!("move r{stage}, r{readers}"));
            self.channel(0, number as u64);
            self.line(format!("move r{}, r{writers}", stage + 1));
            self.line(format!("load_function r{}, {helper}", stage + 2));
            self.line(format!("move r{}, {argument}", stage + 3));
            self.line(format!("spawn r{stage}, 4, $stage"));
        }
        let [start, end] = [(); 2].map(|_| self.label());
        let [sum, element, factor] = [0, 1, 2].map(|place| numbers + place);
        self.line(format!("load_raw r{sum}, i64 0"));
        self.line(format!("load_raw r{factor}, i64 31"));
        self.bind(&start);
        self.read(element, reading);
        self.line(format!("mul r{sum}, r{sum}, r{factor}"));
        self.line(format!("add r{sum}, r{sum}, r{element}"));
        self.line(format!("loop {start}"));
        self.bind(&end);
        self.line(format!(
            "catch_fault Poison into r{exception} from {start} to {end} handler {end}"
        ));
        sum
    }

    /// Reads from the first channel.
    fn read(&mut self, to: usize, reading: Reading) {
        let (reader, after, writer) = (self.frame.readers, self.label(), self.frame.object);
        match reading {
            Reading::Read => self.line(format!("read r{to}, r{reader}")),
            Reading::Accept => {
                self.line(format!("accept r{to}, r{writer}, r{reader}, {after}"));
                self.line("yield");
                self.line(format!("end_accept r{writer}"));
                self.bind(&after);
            }
            Reading::Alt => {
                self.line("alt");
                self.line(format!("alt_read r{to}, r{reader}, {after}"));
                self.line("alt_end");
                self.bind(&after);
            }
        }
    }

    fn lists(&mut self, amount: u64, argument: &str) -> usize {
        let Frame { channel_of_lists: channel, numbers, one, .. } = self.frame;
        let lists = self.frame.ranges.lists;
        let (reader, list) = (channel + 1, channel + 2);
        self.line(format!("make_channel r{channel}, {}", amount % 3));
        self.line(format!("reading_end r{reader}, r{channel}"));
        self.line(format!("writing_end r{lists}, r{channel}"));
        self.line(format!("load_raw r{}, i64 {amount}", lists + 1));
        self.line(format!("move r{}, {argument}", lists + 2));
        self.line(format!("spawn r{lists}, 3, $lists"));
        let [sum, left, length, last, factor] = [0, 1, 2, 3, 4].map(|place| numbers + place);
        let again = self.label();
        self.line(format!("load_raw r{sum}, i64 0"));
        self.line(format!("load_raw r{left}, i64 {amount}"));
        self.line(format!("load_raw r{factor}, i64 31"));
        self.bind(&again);
        self.line(format!("read r{list}, r{reader}"));
        self.line(format!("length r{length}, r{list}"));
        self.line(format!("mul r{sum}, r{sum}, r{factor}"));
        self.line(format!("add r{sum}, r{sum}, r{length}"));
        self.line(format!("sub r{length}, r{length}, r{one}"));
        self.line(format!("list_get r{last}, r{list}, r{length}"));
        self.line(format!("add r{sum}, r{sum}, r{last}"));
        self.line(format!("list_append r{list}, r{sum}"));
        self.count_down(left, &again);
        sum
    }

    fn choice(&mut self, helper: &str, amount: u64, argument: &str) -> usize {
        let Frame { numbers, readers, conditions, zero, one, .. } = self.frame;
        for which in 0..2 {
            self.channel(which, which as u64);
            self.source(which, helper, amount, argument);
        }
        let [sum, element, first, second] = [0, 1, 2, 3].map(|place| numbers + place);
        let [again, one_came, other_came, came] = [(); 4].map(|_| self.label());
        self.line(format!("load_raw r{sum}, i64 0"));
        self.line(format!("load_raw r{first}, i64 {amount}"));
        self.line(format!("load_raw r{second}, i64 {amount}"));
        self.bind(&again);
        self.line(format!("lt r{conditions}, r{zero}, r{first}"));
        self.line(format!("lt r{}, r{zero}, r{second}", conditions + 1));
        self.line("alt");
        self.line(format!("alt_if r{conditions}"));
        self.line(format!("alt_read r{element}, r{readers}, {one_came}"));
        self.line(format!("alt_if r{}", conditions + 1));
        self.line(format!("alt_read r{element}, r{}, {other_came}", readers + 1));
        self.line("alt_end");
        self.bind(&one_came);
        self.line(format!("sub r{first}, r{first}, r{one}"));
        self.line(format!("jump {came}"));
        self.bind(&other_came);
        self.line(format!("sub r{second}, r{second}, r{one}"));
        self.bind(&came);
        self.line(format!("add r{sum}, r{sum}, r{element}"));
        self.line(format!("add r{element}, r{first}, r{second}"));
        self.line(format!("lt r{conditions}, r{zero}, r{element}"));
        self.line(format!("loop_if r{conditions}, {again}"));
        sum
    }

    fn steps_of_workers(&mut self, helper: &str, amount: u64) -> usize {
        const WORKERS: u64 = 3;
        let Frame { barrier, writers, numbers, .. } = self.frame;
        let worker = self.frame.ranges.worker;
        let (left, again) = (numbers, self.label());
        self.channel(0, WORKERS * amount);
        self.line(format!("load_raw r{left}, i64 {}", WORKERS + 1));
        self.line(format!("make_barrier r{barrier}, r{left}"));
        for number in 0..WORKERS {
            self.line(format!("move r{worker}, r{barrier}"));
            self.line(format!("move r{}, r{writers}", worker + 1));
            self.line(format!("load_function r{}, {helper}", worker + 2));
            self.line(format!("load_raw r{}, i64 {amount}", worker + 3));
            self.line(format!("load_raw r{}, i64 {number}", worker + 4));
            self.line(format!("spawn r{worker}, 5, $worker"));
        }
        self.line(format!("load_raw r{left}, i64 {amount}"));
        self.bind(&again);
        self.line(format!("sync r{barrier}"));
        self.count_down(left, &again);
        self.add_up(WORKERS * amount)
    }

    fn bucket(&mut self, helper: &str, amount: u64, argument: &str) -> usize {
        let Frame { bucket, writers, numbers, conditions, .. } = self.frame;
        let faller = self.frame.ranges.faller;
        let again = self.label();
        self.channel(0, amount % 3);
        self.line(format!("make_bucket r{bucket}"));
        for number in 0..amount {
            self.line(format!("move r{faller}, r{bucket}"));
            self.line(format!("move r{}, r{writers}", faller + 1));
            self.line(format!("load_function r{}, {helper}", faller + 2));
            self.line(format!("load_raw r{}, i64 {number}", faller + 3));
            self.line(format!("move r{}, {argument}", faller + 4));
            self.line(format!("spawn r{faller}, 5, $faller"));
        }
        let [gone, flushed, all] = [0, 1, 2].map(|place| numbers + place);
        self.line(format!("load_raw r{gone}, i64 0"));
        self.line(format!("load_raw r{all}, i64 {amount}"));
        self.bind(&again);
        self.line("yield");
        self.line(format!("flush r{flushed}, r{bucket}"));
        self.line(format!("add r{gone}, r{gone}, r{flushed}"));
        self.line(format!("lt r{conditions}, r{gone}, r{all}"));
        self.line(format!("loop_if r{conditions}, {again}"));
        self.add_up(amount)
    }

    fn indirect(&mut self, helper: &str, argument: &str) -> usize {
        let Frame { process, writers, .. } = self.frame;
        let once = self.frame.ranges.once;
        self.channel(0, 0);
        self.line(format!("move r{once}, r{writers}"));
        self.line(format!("load_function r{}, {helper}", once + 1));
        self.line(format!("move r{}, {argument}", once + 2));
        self.line(format!("load_function r{process}, $once"));
        self.line(format!("spawn_indirect r{process}, r{once}, 3"));
        self.add_up(1)
    }

    fn timeout(&mut self, milliseconds: u64, argument: &str) -> usize {
        let (numbers, reader) = (self.frame.numbers, self.frame.readers);
        let [came, late, end] = [(); 3].map(|_| self.label());
        self.channel(0, 0);
        self.line(format!("load_raw r{numbers}, i64 {}", milliseconds % 2));
        self.line("alt");
        self.line(format!("alt_read r{}, r{reader}, {came}", numbers + 1));
        self.line(format!("alt_after r{numbers}, {late}"));
        self.line("alt_end");
        self.bind(&came);
        self.line(format!("load_raw r{numbers}, i64 0"));
        self.line(format!("jump {end}"));
        self.bind(&late);
        self.line(format!("move r{numbers}, {argument}"));
        self.bind(&end);
        numbers
    }
}
