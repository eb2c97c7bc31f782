#include "agent/spawn/worker_words.h"

#include <doctest/doctest.h>

#include <cerrno>
#include <vector>

namespace robustrun::agent::worker_words_test {
namespace {

std::vector<wire::WorkerSlot> slots(std::size_t count, wire::StreamRoute route) {
  wire::WorkerSlot slot;
  slot.out = slot.err = route;
  return {count, slot};
}

TEST_CASE("a start without descriptors names the limit, and what all workers of the node take") {
  const base::Error none = base::fail_errno("cannot make a pipe", EMFILE).error();
  wire::WorkerTemplate native;
  native.python_path = "/python";
  const auto captured = slots(16, wire::StreamRoute::kFileAndConsole);
  CHECK(start_failure_words(none, native, captured, 40) ==
        "cannot make a pipe: Too many open files; the hard limit of open files (ulimit -Hn) is 40, "
        "and 16 workers on one node take about 132");
  CHECK(start_failure_words(none, native, captured, 1000) ==
        "cannot make a pipe: Too many open files; the hard limit of open files (ulimit -Hn) is "
        "1000");
  CHECK(start_failure_words(none, {}, slots(30, wire::StreamRoute::kInherit), 40) ==
        "cannot make a pipe: Too many open files; the hard limit of open files (ulimit -Hn) is 40, "
        "and 30 workers on one node take about 50");
}

TEST_CASE("other failures of a start are reported as they are") {
  const base::Error full = base::fail_errno("cannot make a pipe", ENFILE).error();
  CHECK(start_failure_words(full, {}, slots(1, wire::StreamRoute::kFile), 1) == full.what);
}

}  // namespace
}  // namespace robustrun::agent::worker_words_test
