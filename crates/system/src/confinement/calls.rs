//! The system calls that are left to a confined process, as a seccomp filter. [`super::Confinement::begin`] calls this
//! module, after the rules about files are in force.
//!
//! The filter names the calls that are allowed; the kernel answers all others with `EPERM`, those of later kernels
//! included. Calls that take a path to a file's *attributes* (mode, owner, times, length) are refused unless the process
//! may write everywhere, because Landlock does not know them.
//!
//! | group | calls |
//! |---|---|
//! | [`ALWAYS`] | memory, threads, time, readiness, signals; files, which Landlock confines; pairs of sockets |
//! | [`conditional`] | those of which only some uses are allowed: `clone`, `kill`, `ioctl` and so on |
//! | [`WITH_NETWORK`] | connecting and listening; `socket` makes sockets of TCP and UDP only |
//! | [`WITH_PROCESSES`] | starting processes, and waiting for them |
//! | [`WITH_WRITING`], [`WITH_ALL_WRITING`] | attributes of files: of open ones, and of any |
//!
//! A second filter makes some calls look like those of an older kernel (`ENOSYS`): `clone3`, whose arguments lie in memory,
//! which a filter cannot read, and the calls that are newer than this file. The C library then takes other ways. If
//! several filters refuse a call, the newest decides the error; so the filter with the names also allows these.

use std::collections::BTreeMap;
use std::process;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch, apply_filter_all_threads,
};

use super::{Confinement, Network, Problem};

/// The calls of a filter. A call without rules is matched whatever its arguments are.
type Calls = BTreeMap<i64, Vec<SeccompRule>>;

/// Forbids the process's threads all calls but those that the confinement leaves.
pub fn begin(confinement: &Confinement) -> Result<(), Problem> {
    let absent = SeccompAction::Errno(libc::ENOSYS as u32);
    let refused = SeccompAction::Errno(libc::EPERM as u32);
    let absent_calls = newer().map(|call| (call, Vec::new())).collect();
    apply(absent_calls, SeccompAction::Allow, absent)?;
    apply(allowed(confinement)?, refused, SeccompAction::Allow)
}

fn apply(calls: Calls, otherwise: SeccompAction, matched: SeccompAction) -> Result<(), Problem> {
    let architecture = TargetArch::try_from(std::env::consts::ARCH)
        .map_err(|_| Problem::System("system calls of this kind of processor"))?;
    let filter = SeccompFilter::new(calls, otherwise, matched, architecture);
    let program = filter.and_then(BpfProgram::try_from);
    let program = program.map_err(|error| Problem::Kernel(error.to_string()))?;
    // Landlock has told that processes do not gain rights by starting a program, which the filter needs.
    apply_filter_all_threads(&program)
        .map_err(|error| Problem::Kernel(format!("system calls cannot be filtered: {error}")))
}

/// `clone3`, and the calls of later kernels, whose numbers are the same on all architectures.
fn newer() -> impl Iterator<Item = i64> {
    /// `mseal`, of Linux 6.10, has the number before.
    const FIRST: i64 = 463;
    /// The next numbers are used on some architectures.
    const LAST: i64 = 511;
    std::iter::once(libc::SYS_clone3).chain(FIRST..=LAST)
}

fn allowed(confinement: &Confinement) -> Result<Calls, Problem> {
    let writes = !confinement.writable.is_empty();
    let groups = [
        (true, ALWAYS),
        (true, OLD),
        (confinement.network != Network::None, WITH_NETWORK),
        (confinement.processes, WITH_PROCESSES),
        (writes, WITH_WRITING),
        (confinement.writes_everything(), WITH_ALL_WRITING),
    ];
    let groups = groups.into_iter().filter(|(is_allowed, _)| *is_allowed);
    let listed = groups.flat_map(|(_, calls)| calls.iter().copied());
    let mut calls: Calls = listed.chain(newer()).map(|call| (call, Vec::new())).collect();
    for (call, alternatives) in conditional(confinement) {
        // A call that is allowed without a condition stays so.
        if calls.contains_key(&call) {
            continue;
        }
        let rules = alternatives.into_iter().map(|conditions| rule(&conditions));
        let rules: Result<Vec<SeccompRule>, _> = rules.collect();
        let rules = rules.map_err(|error| Problem::Kernel(error.to_string()))?;
        calls.insert(call, rules);
    }
    Ok(calls)
}

/// A condition on the lower 32 bits of an argument, which are all that the kernel reads of these arguments.
#[derive(Clone, Copy)]
enum Condition {
    /// The argument is this.
    Is(u8, u32),
    /// It is not.
    IsNot(u8, u32),
    /// Its bits under the first number, the mask, are those of the second.
    Has(u8, u32, u32),
    /// It is no address, in all its 64 bits.
    IsNull(u8),
}

use Condition::{Has, Is, IsNot, IsNull};

/// The rule that holds if all conditions do.
fn rule(conditions: &[Condition]) -> Result<SeccompRule, seccompiler::BackendError> {
    let condition = |condition: &Condition| {
        let (argument, operator, value) = match *condition {
            Is(argument, value) => (argument, SeccompCmpOp::Eq, value),
            IsNot(argument, value) => (argument, SeccompCmpOp::Ne, value),
            Has(argument, mask, value) => {
                (argument, SeccompCmpOp::MaskedEq(u64::from(mask)), value)
            }
            IsNull(argument) => {
                let (length, operator) = (SeccompCmpArgLen::Qword, SeccompCmpOp::Eq);
                return SeccompCondition::new(argument, length, operator, 0);
            }
        };
        SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, u64::from(value))
    };
    SeccompRule::new(conditions.iter().map(condition).collect::<Result<_, _>>()?)
}

/// The flags of `clone` that make namespaces.
const NAMESPACES: u32 = (libc::CLONE_NEWNS
    | libc::CLONE_NEWCGROUP
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUSER
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET) as u32;

/// The part of a socket's type that is not a flag.
const SOCKET_TYPE: u32 = 0xf;

/// `FIOSETOWN` and `SIOCSPGRP`: another process gets the signals of a descriptor.
const SET_OWNER: [u32; 2] = [0x8901, 0x8902];

/// `TIOCLINUX`: among other things, it types into a console.
const CONSOLE: u32 = 0x541c;

/// `F_SETSIG` and `F_SETOWN_EX`.
const SET_SIGNAL: u32 = 10;
const SET_OWNER_EX: u32 = 15;

/// The calls of which some uses are allowed: for each, alternatives, which are conditions that hold together.
fn conditional(confinement: &Confinement) -> Vec<(i64, Vec<Vec<Condition>>)> {
    let own = process::id();
    let thread = libc::CLONE_THREAD as u32;
    let fast_open = libc::MSG_FASTOPEN as u32;
    let mut calls = vec![
        // Threads, but no processes.
        (libc::SYS_clone, vec![vec![Has(0, thread | NAMESPACES, thread)]]),
        // Signals to this process. `tkill` takes any thread's number, and is refused.
        (libc::SYS_kill, vec![vec![Is(0, own)]]),
        (libc::SYS_tgkill, vec![vec![Is(0, own)]]),
        (libc::SYS_rt_sigqueueinfo, vec![vec![Is(0, own)]]),
        (libc::SYS_rt_tgsigqueueinfo, vec![vec![Is(0, own)]]),
        // The limits of this process.
        (libc::SYS_prlimit64, vec![vec![Is(0, 0)], vec![Is(0, own)]]),
        // A terminal does not take what the process types for its user, and no other process gets signals.
        (
            libc::SYS_ioctl,
            vec![vec![
                IsNot(1, libc::TIOCSTI as u32),
                IsNot(1, CONSOLE),
                IsNot(1, SET_OWNER[0]),
                IsNot(1, SET_OWNER[1]),
            ]],
        ),
        (
            libc::SYS_fcntl,
            vec![vec![
                IsNot(1, libc::F_SETOWN as u32),
                IsNot(1, SET_SIGNAL),
                IsNot(1, SET_OWNER_EX),
            ]],
        ),
        // A pair of sockets for datagrams could send elsewhere.
        (
            libc::SYS_socketpair,
            vec![vec![Is(0, libc::AF_UNIX as u32), Has(1, SOCKET_TYPE, libc::SOCK_STREAM as u32)]],
        ),
        // Data that goes with the opening of a connection goes past the check of its port.
        (libc::SYS_sendto, vec![vec![Has(3, fast_open, 0)]]),
        (libc::SYS_sendmsg, vec![vec![Has(2, fast_open, 0)]]),
        (libc::SYS_sendmmsg, vec![vec![Has(3, fast_open, 0)]]),
    ];
    if confinement.processes {
        calls[0].1 = vec![vec![Has(0, NAMESPACES, 0)]];
    }
    if confinement.network != Network::None {
        calls.push((libc::SYS_socket, sockets()));
    }
    if !confinement.writable.is_empty() {
        // The times of an open file.
        calls.push((libc::SYS_utimensat, vec![vec![IsNull(1)]]));
    }
    calls
}

/// The sockets that can be made: of TCP and UDP. Landlock knows the ports of these, and no other addresses.
fn sockets() -> Vec<Vec<Condition>> {
    let kinds = [(libc::SOCK_STREAM, libc::IPPROTO_TCP), (libc::SOCK_DGRAM, libc::IPPROTO_UDP)];
    let mut sockets = Vec::new();
    for family in [libc::AF_INET, libc::AF_INET6] {
        for (kind, protocol) in kinds {
            for protocol in [0, protocol] {
                sockets.push(vec![
                    Is(0, family as u32),
                    Has(1, SOCKET_TYPE, kind as u32),
                    Is(2, protocol as u32),
                ]);
            }
        }
    }
    sockets
}

/// What every process may do.
const ALWAYS: &[i64] = &[
    // memory
    libc::SYS_mmap,
    libc::SYS_mprotect,
    libc::SYS_munmap,
    libc::SYS_mremap,
    libc::SYS_madvise,
    libc::SYS_brk,
    libc::SYS_msync,
    libc::SYS_mincore,
    libc::SYS_mlock,
    libc::SYS_mlock2,
    libc::SYS_munlock,
    libc::SYS_memfd_create,
    libc::SYS_membarrier,
    libc::SYS_mbind,
    libc::SYS_get_mempolicy,
    libc::SYS_set_mempolicy,
    // threads
    libc::SYS_exit,
    libc::SYS_exit_group,
    libc::SYS_futex,
    libc::SYS_futex_waitv,
    libc::SYS_set_tid_address,
    libc::SYS_set_robust_list,
    libc::SYS_get_robust_list,
    libc::SYS_rseq,
    libc::SYS_gettid,
    libc::SYS_sched_yield,
    libc::SYS_sched_getaffinity,
    libc::SYS_sched_getparam,
    libc::SYS_sched_getscheduler,
    libc::SYS_sched_get_priority_max,
    libc::SYS_sched_get_priority_min,
    libc::SYS_getpriority,
    libc::SYS_getcpu,
    libc::SYS_prctl,
    // signals
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_rt_sigpending,
    libc::SYS_rt_sigtimedwait,
    libc::SYS_rt_sigsuspend,
    libc::SYS_sigaltstack,
    libc::SYS_signalfd4,
    libc::SYS_restart_syscall,
    // time
    libc::SYS_clock_gettime,
    libc::SYS_clock_getres,
    libc::SYS_clock_nanosleep,
    libc::SYS_nanosleep,
    libc::SYS_gettimeofday,
    libc::SYS_times,
    libc::SYS_timer_create,
    libc::SYS_timer_settime,
    libc::SYS_timer_gettime,
    libc::SYS_timer_getoverrun,
    libc::SYS_timer_delete,
    libc::SYS_timerfd_create,
    libc::SYS_timerfd_settime,
    libc::SYS_timerfd_gettime,
    libc::SYS_getitimer,
    libc::SYS_setitimer,
    // files: Landlock confines those that open, make and delete
    libc::SYS_openat,
    libc::SYS_openat2,
    libc::SYS_mkdirat,
    libc::SYS_mknodat,
    libc::SYS_unlinkat,
    libc::SYS_renameat2,
    libc::SYS_linkat,
    libc::SYS_symlinkat,
    libc::SYS_close,
    libc::SYS_close_range,
    libc::SYS_read,
    libc::SYS_write,
    libc::SYS_readv,
    libc::SYS_writev,
    libc::SYS_pread64,
    libc::SYS_pwrite64,
    libc::SYS_preadv,
    libc::SYS_pwritev,
    libc::SYS_preadv2,
    libc::SYS_pwritev2,
    libc::SYS_lseek,
    libc::SYS_ftruncate,
    libc::SYS_fallocate,
    libc::SYS_fsync,
    libc::SYS_fdatasync,
    libc::SYS_sync_file_range,
    libc::SYS_fadvise64,
    libc::SYS_readahead,
    libc::SYS_copy_file_range,
    libc::SYS_sendfile,
    libc::SYS_splice,
    libc::SYS_tee,
    libc::SYS_vmsplice,
    libc::SYS_dup,
    libc::SYS_dup3,
    libc::SYS_flock,
    libc::SYS_getdents64,
    libc::SYS_pipe2,
    libc::SYS_umask,
    // looking at files, which Landlock does not refuse
    libc::SYS_fstat,
    libc::SYS_newfstatat,
    libc::SYS_statx,
    libc::SYS_statfs,
    libc::SYS_fstatfs,
    libc::SYS_faccessat,
    libc::SYS_faccessat2,
    libc::SYS_readlinkat,
    libc::SYS_getxattr,
    libc::SYS_lgetxattr,
    libc::SYS_fgetxattr,
    libc::SYS_listxattr,
    libc::SYS_llistxattr,
    libc::SYS_flistxattr,
    libc::SYS_getcwd,
    libc::SYS_chdir,
    libc::SYS_fchdir,
    // readiness
    libc::SYS_epoll_create1,
    libc::SYS_epoll_ctl,
    libc::SYS_epoll_pwait,
    libc::SYS_epoll_pwait2,
    libc::SYS_ppoll,
    libc::SYS_pselect6,
    libc::SYS_eventfd2,
    // sockets that are open: pairs, and what the process inherited
    libc::SYS_recvfrom,
    libc::SYS_recvmsg,
    libc::SYS_recvmmsg,
    libc::SYS_shutdown,
    libc::SYS_getsockname,
    libc::SYS_getpeername,
    libc::SYS_getsockopt,
    libc::SYS_setsockopt,
    // what the process and the system are
    libc::SYS_getpid,
    libc::SYS_getppid,
    libc::SYS_getuid,
    libc::SYS_geteuid,
    libc::SYS_getgid,
    libc::SYS_getegid,
    libc::SYS_getgroups,
    libc::SYS_getresuid,
    libc::SYS_getresgid,
    libc::SYS_getpgid,
    libc::SYS_getsid,
    libc::SYS_capget,
    libc::SYS_getrlimit,
    libc::SYS_setrlimit,
    libc::SYS_getrusage,
    libc::SYS_sysinfo,
    libc::SYS_uname,
    libc::SYS_getrandom,
];

/// Calls of the same kind that this architecture has from its beginnings.
#[cfg(target_arch = "x86_64")]
const OLD: &[i64] = &[
    libc::SYS_arch_prctl,
    libc::SYS_open,
    libc::SYS_creat,
    libc::SYS_mkdir,
    libc::SYS_rmdir,
    libc::SYS_mknod,
    libc::SYS_unlink,
    libc::SYS_rename,
    libc::SYS_renameat,
    libc::SYS_link,
    libc::SYS_symlink,
    libc::SYS_stat,
    libc::SYS_lstat,
    libc::SYS_access,
    libc::SYS_readlink,
    libc::SYS_getdents,
    libc::SYS_dup2,
    libc::SYS_pipe,
    libc::SYS_poll,
    libc::SYS_select,
    libc::SYS_epoll_create,
    libc::SYS_epoll_wait,
    libc::SYS_eventfd,
    libc::SYS_signalfd,
    libc::SYS_alarm,
    libc::SYS_pause,
    libc::SYS_time,
    libc::SYS_getpgrp,
];

#[cfg(target_arch = "aarch64")]
const OLD: &[i64] = &[libc::SYS_renameat];

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const OLD: &[i64] = &[];

const WITH_NETWORK: &[i64] =
    &[libc::SYS_connect, libc::SYS_bind, libc::SYS_listen, libc::SYS_accept, libc::SYS_accept4];

/// Landlock keeps signals of the process within it and its children. Its children signal themselves, too.
const WITH_PROCESSES: &[i64] = &[
    libc::SYS_execve,
    libc::SYS_execveat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_fork,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_vfork,
    libc::SYS_wait4,
    libc::SYS_waitid,
    libc::SYS_setpgid,
    libc::SYS_setsid,
    libc::SYS_pidfd_open,
    libc::SYS_pidfd_send_signal,
    libc::SYS_kill,
    libc::SYS_tkill,
    libc::SYS_tgkill,
    libc::SYS_rt_sigqueueinfo,
    libc::SYS_rt_tgsigqueueinfo,
    libc::SYS_prlimit64,
];

/// Of files that are open.
const WITH_WRITING: &[i64] = &[libc::SYS_fchmod];

/// Of all files.
const WITH_ALL_WRITING: &[i64] = &[
    libc::SYS_fchown,
    libc::SYS_fchownat,
    libc::SYS_fchmodat,
    libc::SYS_utimensat,
    libc::SYS_truncate,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
    // `fchmodat2`, of Linux 6.6
    452,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chmod,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chown,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_lchown,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_utime,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_utimes,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_futimesat,
];
