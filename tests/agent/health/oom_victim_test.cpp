// Which OOM kills of the kernel's log concern this run.
#include "agent/health/oom_victim.h"

#include <doctest/doctest.h>

#include "tests/scratch_folder.h"

namespace robustrun::agent::oom_victim_test {

TEST_CASE("the kernel's line names the victim") {
  const char* const kLines[] = {
      "Memory cgroup out of memory: Killed process 4711 (python3 (x)) total-vm:1kB, anon-rss:1kB",
      "Out of memory: Killed process 4711 (python3 (x)), UID 0, total-vm:1kB"};
  for (const char* const line : kLines) {
    const auto victim = oom_victim(line);
    REQUIRE(victim);
    CHECK(victim->pid == 4711);
    CHECK(victim->name == "python3 (x)");
  }
  for (const char* const line :
       {"", "EDAC MC0: 1 UE memory read error", "Out of memory: Killed process ",
        "Out of memory: Killed process x (y) total-vm", "Out of memory: Killed process -3 (y)",
        "out of memory: Killed process (counter of the OOM killer: 2 more)"}) {
    CAPTURE(line);
    CHECK_FALSE(oom_victim(line));
  }
}

TEST_CASE("a victim is of this run if it is below the agent and has the name of the line") {
  const test::ScratchFolder proc;
  proc.write("10/stat", "10 (agent) S 1 10 10 0\n");
  proc.write("11/stat", "11 (robustrun-shim) S 10 11 11 0\n");
  proc.write("12/stat", "12 (python3) S 11 12 12 0\n");
  proc.write("13/stat", "13 (pt_data (worker) S 12 12 12 0\n");
  proc.write("20/stat", "20 (python3) S 1 20 20 0\n");
  proc.write("21/stat", "21 (python3) S 21 20 20 0\n");  // no process is its own parent
  const auto is_ours = [&](pid_t pid, const char* name) {
    return is_below(10, {pid, name}, proc.path());
  };
  CHECK(is_ours(12, "python3"));
  CHECK(is_ours(13, "pt_data (worker"));
  CHECK_FALSE(is_ours(12, "java"));  // of another pid namespace
  CHECK_FALSE(is_ours(20, "python3"));
  CHECK_FALSE(is_ours(21, "python3"));
  CHECK_FALSE(is_ours(30, "python3"));  // gone
}

}  // namespace robustrun::agent::oom_victim_test
