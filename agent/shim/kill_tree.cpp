#include "agent/shim/kill_tree.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <ctime>

#include "agent/shim/limits.h"

namespace robustrun::agent::shim {
namespace {

// Atomic for all members, even forking ones. Without the file (kernels before 5.14) the sweeps do
// it.
void kill_cgroup(const char* cgroup) {
  const int folder = ::open(cgroup, O_PATH | O_DIRECTORY | O_CLOEXEC);
  const int file = folder < 0 ? -1 : ::openat(folder, "cgroup.kill", O_WRONLY | O_CLOEXEC);
  if (file >= 0 && ::write(file, "1", 1) < 0) return;
  ::close(file);
  ::close(folder);
}

// A tree that occupies all processors must not delay its own end: one turn among a thousand
// runnable processes takes seconds. Without privilege this is refused, which only makes us slower.
void come_first() {
  sched_param parameter{};
  parameter.sched_priority = ::sched_get_priority_min(SCHED_RR);
  if (::sched_setscheduler(0, SCHED_RR, &parameter) != 0) return;
}

void wait_for_death(int signals) {
  pollfd watched{signals, POLLIN, 0};
  if (::poll(&watched, 1, kDeathPollMs) <= 0) return;
  signalfd_siginfo ignored;
  while (::read(signals, &ignored, sizeof ignored) == sizeof ignored) continue;
}

}  // namespace

base::Nanos monotonic_now() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return std::chrono::seconds{now.tv_sec} + base::Nanos{now.tv_nsec};
}

base::StrayKiller kill_tree(const char* cgroup, int signals, base::StrayKiller::ReapSink& sink) {
  base::StrayKiller killer;
  if (cgroup != nullptr) kill_cgroup(cgroup);
  come_first();
  while (killer.sweep({}, monotonic_now(), &sink) == base::StraySweep::kAgain) {
    wait_for_death(signals);
  }
  return killer;
}

}  // namespace robustrun::agent::shim
