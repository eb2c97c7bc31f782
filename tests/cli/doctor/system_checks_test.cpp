#include <doctest/doctest.h>

#include "cli/doctor/checks.h"

namespace robustrun::cli::system_checks_test {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a kernel without pidfds is bad") {
  Facts facts;
  facts.kernel = "4.18.0-553.el8";
  CHECK(check_kernel(facts).state == CheckState::kOk);  // its distributor may have added them
  facts.has_pidfd = false;
  const Check check = check_kernel(facts);
  CHECK(check.state == CheckState::kBad);
  CHECK(has(check.found, "4.18.0-553.el8"));
  CHECK(has(check.advice, "5.4"));
}

TEST_CASE("without a cgroup of its own a worker is killed process by process") {
  Facts facts;
  CHECK(check_cgroups(facts).state == CheckState::kWarn);
  facts.cgroup = {"/sys/fs/cgroup/user.slice", false, true};
  CHECK(has(check_cgroups(facts).found, "/sys/fs/cgroup/user.slice"));
  CHECK(has(check_cgroups(facts).advice, "Delegate=yes"));
  facts.cgroup.is_writable = true;
  CHECK(check_cgroups(facts).state == CheckState::kOk);
  facts.cgroup.has_kill = false;
  CHECK(has(check_cgroups(facts).found, "5.14"));
}

TEST_CASE("tools for native stacks need the right to attach") {
  Facts facts;
  facts.stacks.ptrace_scope = 1;
  CHECK(check_stacks(facts).state == CheckState::kAbsent);
  facts.stacks.has_eu_stack = true;
  CHECK(check_stacks(facts).state == CheckState::kWarn);
  CHECK(has(check_stacks(facts).advice, "ptrace_scope=0"));
  facts.is_root = true;
  CHECK(check_stacks(facts).state == CheckState::kOk);
  facts.stacks.ptrace_scope = 3;
  CHECK(check_stacks(facts).state == CheckState::kWarn);
  facts.is_root = false;
  facts.stacks.ptrace_scope = 0;
  CHECK(check_stacks(facts).state == CheckState::kOk);
  facts.stacks.ptrace_scope.reset();  // a kernel without Yama
  CHECK(check_stacks(facts).state == CheckState::kOk);
}

TEST_CASE("FUSE needs the device, and without root fusermount3") {
  Facts facts;
  CHECK(check_fuse(facts).state == CheckState::kAbsent);
  facts.fuse.has_device = true;
  CHECK(has(check_fuse(facts).found, "may not be opened"));
  facts.fuse.opens = true;
  CHECK(check_fuse(facts).advice == "install fuse3");
  facts.fuse.has_fusermount = true;
  CHECK(check_fuse(facts).state == CheckState::kOk);
  CHECK(has(check_fuse(facts).found, "squashfuse"));
  facts.fuse.has_fusermount = false;
  facts.is_root = true;
  CHECK(check_fuse(facts).state == CheckState::kOk);
}

TEST_CASE("a container that starts is all that user namespaces are for") {
  Facts facts;
  facts.namespaces.apparmor_restricts = 1;
  CHECK(has(check_namespaces(facts).found, "AppArmor"));
  facts.namespaces.bwrap.state = Answer::State::kAnswered;
  CHECK(check_namespaces(facts).state == CheckState::kOk);
  facts.namespaces = {0, {}, {}, {}};
  CHECK(has(check_namespaces(facts).advice, "user.max_user_namespaces"));
  facts.namespaces = {15'000, 0, {}, {}};
  CHECK(has(check_namespaces(facts).advice, "unprivileged_userns_clone=1"));
  facts.namespaces = {15'000, 1, 0, {}};
  CHECK(check_namespaces(facts).state == CheckState::kAbsent);  // allowed, and no bwrap
  facts.namespaces.bwrap = {Answer::State::kFailed, 1, "setting up uid map: Permission denied"};
  CHECK(has(check_namespaces(facts).found, "setting up uid map"));
  facts.namespaces.bwrap = {Answer::State::kHung, 0, ""};
  CHECK(check_namespaces(facts).state == CheckState::kWarn);
}

TEST_CASE("half of the available memory is for copies") {
  Facts facts;
  CHECK(check_memory(facts).state == CheckState::kWarn);
  facts.memory.total = 64 * 1024 * kMiB;
  facts.memory.available = 32 * 1024 * kMiB;
  CHECK(check_memory(facts).state == CheckState::kOk);
  CHECK(has(check_memory(facts).found, "32.0 GiB of 64.0 GiB available"));
  CHECK(has(check_memory(facts).found, "may take up to 16.0 GiB"));
  facts.memory.cgroup_limit = 8 * 1024 * kMiB;
  CHECK(has(check_memory(facts).found, "limit of this cgroup 8.0 GiB"));
  facts.memory.available = 100 * kMiB;
  CHECK(check_memory(facts).state == CheckState::kWarn);
}

TEST_CASE("/dev/shm is judged as by the check before a run") {
  Facts facts;
  base::Space& shm = facts.memory.shm;
  shm = {"/dev/shm", 1024 * kMiB, 512 * kMiB, ""};
  CHECK(check_shared_memory(facts).state == CheckState::kOk);
  shm.free = 511 * kMiB;
  CHECK(check_shared_memory(facts).state == CheckState::kWarn);
  CHECK(has(check_shared_memory(facts).advice, "remove files"));
  shm = {"/dev/shm", 64 * kMiB, 15 * kMiB, ""};  // docker's default
  CHECK(check_shared_memory(facts).state == CheckState::kBad);
  CHECK(has(check_shared_memory(facts).advice, "--shm-size"));
  shm.error = "no such folder";
  CHECK(check_shared_memory(facts).state == CheckState::kWarn);
}

TEST_CASE("open files bound the number of ranks") {
  Facts facts;
  CHECK(check_open_files(facts).found == "unlimited");
  facts.limits.open_files = 1024;
  facts.limits.open_files_hard = 1'048'576;
  CHECK(check_open_files(facts).state == CheckState::kOk);
  CHECK(has(check_open_files(facts).found, "up to 384 ranks"));
  facts.limits.open_files = 100;
  CHECK(has(check_open_files(facts).found, "up to 0 ranks"));
  CHECK(check_open_files(facts).advice == "ulimit -n 65536");
  facts.limits.open_files_hard = 512;
  CHECK(has(check_open_files(facts).advice, "limits.conf"));
}

}  // namespace robustrun::cli::system_checks_test
