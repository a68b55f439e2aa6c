//===- SandboxFilter.cpp - The filter of system calls ---------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// What is refused, not what is allowed: the calls a CUDA driver makes change
// with its version, and a driver that meets a refusal it does not know is no
// use. Calls are refused with an error, so that a library which merely tries
// one carries on. Calls newer than this list do not exist for the process.
//

#include "SandboxLayers.h"
#include <cerrno>
#include <cstddef>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

using namespace sparseditto;
using namespace sparseditto::sandbox;

#ifdef __x86_64__

static constexpr uint32_t refuse = SECCOMP_RET_ERRNO | EPERM;
static constexpr uint32_t unknown = SECCOMP_RET_ERRNO | ENOSYS;
static constexpr uint32_t x32Bit = 0x40000000;
// The last call that was looked at for the list below (mseal).
static constexpr uint32_t lastKnown = 462;
// clone()'s flags for new namespaces, NEWCGROUP to NEWNET and NEWNS.
static constexpr uint32_t namespaceFlags = 0x7e020000;

static constexpr uint32_t refused[] = {
    // Other programs and processes. clone is below.
    SYS_execve, SYS_execveat, SYS_fork, SYS_vfork, SYS_setsid, SYS_setpgid,
    // A look or a hand into other processes.
    SYS_ptrace, SYS_process_vm_readv, SYS_process_vm_writev, SYS_kcmp,
    SYS_process_madvise, SYS_process_mrelease, SYS_pidfd_open, SYS_pidfd_getfd,
    SYS_pidfd_send_signal, SYS_tkill, SYS_rt_sigqueueinfo,
    SYS_rt_tgsigqueueinfo, SYS_migrate_pages,
    // Doors to the kernel that are wide and seldom needed.
    SYS_bpf, SYS_perf_event_open, SYS_userfaultfd, SYS_io_uring_setup,
    SYS_io_uring_enter, SYS_io_uring_register, SYS_add_key, SYS_request_key,
    SYS_keyctl, SYS_iopl, SYS_ioperm, SYS_modify_ldt, SYS_personality,
    SYS_fanotify_init, SYS_lookup_dcookie, SYS_syslog, SYS_acct, SYS_quotactl,
    SYS_quotactl_fd, SYS_vhangup, SYS_uselib, SYS_nfsservctl, SYS_sysfs,
    // The machine.
    SYS_reboot, SYS_kexec_load, SYS_kexec_file_load, SYS_init_module,
    SYS_finit_module, SYS_delete_module, SYS_swapon, SYS_swapoff,
    SYS_sethostname, SYS_setdomainname, SYS_settimeofday, SYS_clock_settime,
    SYS_adjtimex, SYS_clock_adjtime,
    // Namespaces and mounts.
    SYS_unshare, SYS_setns, SYS_mount, SYS_umount2, SYS_pivot_root, SYS_chroot,
    SYS_open_tree, SYS_move_mount, SYS_fsopen, SYS_fsconfig, SYS_fsmount,
    SYS_fspick, SYS_mount_setattr, SYS_name_to_handle_at, SYS_open_by_handle_at,
    // What Landlock does not cover: attributes of files, and length by name.
    SYS_chmod, SYS_fchmod, SYS_fchmodat, 452 /*fchmodat2*/, SYS_chown,
    SYS_fchown, SYS_lchown, SYS_fchownat, SYS_setxattr, SYS_lsetxattr,
    SYS_fsetxattr, SYS_removexattr, SYS_lremovexattr, SYS_fremovexattr,
    SYS_utime, SYS_utimes, SYS_futimesat, SYS_utimensat, SYS_truncate,
    SYS_mknod, SYS_mknodat,
    // Memory that outlives the process.
    SYS_shmget, SYS_msgget, SYS_semget, SYS_mq_open,
    // Other rights.
    SYS_setuid, SYS_setgid, SYS_setreuid, SYS_setregid, SYS_setresuid,
    SYS_setresgid, SYS_setgroups, SYS_setfsuid, SYS_setfsgid, SYS_capset,
    460 /*lsm_set_self_attr*/};

namespace {
/// A BPF program that compares words of the call.
class Filter {
public:
  void load(size_t offset) {
    emit(BPF_LD | BPF_W | BPF_ABS, uint32_t(offset), 0, 0);
  }
  /// The low half of an argument; for flags, process numbers and the like the
  /// kernel itself looks at no more.
  void loadArgument(unsigned index) {
    load(offsetof(seccomp_data, args) + index * sizeof(uint64_t));
  }
  void loadCall() { load(offsetof(seccomp_data, nr)); }
  void answer(uint32_t action) { emit(BPF_RET | BPF_K, action, 0, 0); }
  void answerIfEqual(uint32_t value, uint32_t action) {
    emit(BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1);
    answer(action);
  }
  void answerIfNotEqual(uint32_t value, uint32_t action) {
    emit(BPF_JMP | BPF_JEQ | BPF_K, value, 1, 0);
    answer(action);
  }
  void answerIfAbove(uint32_t value, uint32_t action) {
    emit(BPF_JMP | BPF_JGT | BPF_K, value, 0, 1);
    answer(action);
  }
  void answerIfAnyBit(uint32_t bits, uint32_t action) {
    emit(BPF_JMP | BPF_JSET | BPF_K, bits, 0, 1);
    answer(action);
  }
  void answerIfNoBit(uint32_t bits, uint32_t action) {
    emit(BPF_JMP | BPF_JSET | BPF_K, bits, 1, 0);
    answer(action);
  }
  void mask(uint32_t bits) { emit(BPF_ALU | BPF_AND | BPF_K, bits, 0, 0); }
  /// `body` runs for this call alone, and ends with an answer.
  template <typename Body> void call(uint32_t number, Body body) {
    emit(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 0);
    size_t jump = code.size() - 1;
    body();
    code[jump].jf = uint8_t(code.size() - jump - 1);
  }
  Layer install() {
    sock_fprog program = {uint16_t(code.size()), code.data()};
    // All threads, should the process have some after all.
    long result = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
                          SECCOMP_FILTER_FLAG_TSYNC, &program);
    if (result < 0)
      return failed("seccomp");
    if (result > 0)
      return {false, "seccomp: a thread has other filters"};
    return {true, ""};
  }

private:
  void emit(int operation, uint32_t value, uint8_t ifTrue, uint8_t ifFalse) {
    code.push_back({uint16_t(operation), ifTrue, ifFalse, value});
  }
  std::vector<sock_filter> code;
};
} // namespace

Layer sandbox::filterSystemCalls(const SandboxOptions &options,
                                 bool localSockets) {
  Filter filter;
  filter.load(offsetof(seccomp_data, arch));
  filter.answerIfNotEqual(AUDIT_ARCH_X86_64, SECCOMP_RET_KILL_PROCESS);
  filter.loadCall();
  // Calls of the x32 interface have other numbers for the same things.
  filter.answerIfAnyBit(x32Bit, SECCOMP_RET_KILL_PROCESS);
  filter.answerIfAbove(lastKnown, unknown);
  for (uint32_t number : refused)
    filter.answerIfEqual(number, refuse);
  // Its flags are in memory, where a filter cannot look. The C library falls
  // back to clone.
  filter.answerIfEqual(SYS_clone3, unknown);
  if (localSockets)
    filter.answerIfEqual(SYS_connect, refuse);

  // Threads, but no processes.
  filter.call(SYS_clone, [&] {
    filter.loadArgument(0);
    filter.answerIfNoBit(CLONE_THREAD, refuse);
    filter.answerIfAnyBit(namespaceFlags, refuse);
    filter.answer(SECCOMP_RET_ALLOW);
  });
  // A CUDA driver listens on a local stream socket. Datagrams could be sent
  // without connecting.
  for (uint32_t number : {SYS_socket, SYS_socketpair})
    filter.call(number, [&] {
      filter.loadArgument(0);
      filter.answerIfNotEqual(AF_UNIX, refuse);
      if (localSockets && number == SYS_socket && !options.gpu)
        filter.answer(refuse);
      if (localSockets) {
        filter.loadArgument(1);
        filter.mask(0xf);
        filter.answerIfEqual(SOCK_STREAM, SECCOMP_RET_ALLOW);
        filter.answerIfNotEqual(SOCK_SEQPACKET, refuse);
      }
      filter.answer(SECCOMP_RET_ALLOW);
    });
  // Signals and limits for this process alone.
  const auto self = uint32_t(getpid());
  for (uint32_t number : {SYS_kill, SYS_tgkill})
    filter.call(number, [&] {
      filter.loadArgument(0);
      filter.answerIfNotEqual(self, refuse);
      filter.answer(SECCOMP_RET_ALLOW);
    });
  filter.call(SYS_prlimit64, [&] {
    filter.loadArgument(0);
    filter.answerIfEqual(0, SECCOMP_RET_ALLOW);
    filter.answerIfNotEqual(self, refuse);
    filter.answer(SECCOMP_RET_ALLOW);
  });
  // No keys pressed on somebody's terminal.
  filter.call(SYS_ioctl, [&] {
    filter.loadArgument(1);
    filter.answerIfEqual(TIOCSTI, refuse);
    filter.answerIfEqual(TIOCLINUX, refuse);
    filter.answer(SECCOMP_RET_ALLOW);
  });
  filter.answer(SECCOMP_RET_ALLOW);
  return filter.install();
}

#else

Layer sandbox::filterSystemCalls(const SandboxOptions &options,
                                 bool localSockets) {
  return {false, "there is no filter for this architecture"};
}

#endif
