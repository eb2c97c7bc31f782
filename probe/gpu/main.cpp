// robustrun-probe TEST: runs one test of this machine's GPUs (probe/tests.h lists them). Exit code
// 0: a result was printed, good or bad; 2: no such test.

#include <fmt/core.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "probe/gpu/session.h"
#include "probe/result.h"
#include "probe/tests.h"

namespace {

using robustrun::probe::Session;

struct Row {
  const char* name;
  robustrun::base::Status (*run)(Session&);
};
constexpr Row kRows[] = {{"copy", robustrun::probe::copy},
                         {"gemm", robustrun::probe::gemm},
                         {"repeat", robustrun::probe::repeat},
                         {"all-to-all", robustrun::probe::all_to_all},
                         {"neighbours", robustrun::probe::neighbours}};
static_assert(std::size(kRows) == robustrun::probe::kTests.size());

robustrun::base::GpuFacts result_of(const Row& row) {
  const robustrun::base::SystemClock clock;
  robustrun::base::GpuFacts facts;
  Session session(clock, facts);
  robustrun::base::Status done = session.open();
  if (done) done = row.run(session);
  if (!done) facts.error = done.error().what;
  return facts;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view wanted = argc == 2 ? argv[1] : "";
  for (const Row& row : kRows) {
    if (wanted != row.name) continue;
    fmt::print("{}", robustrun::probe::write_result(row.name, result_of(row)));
    std::fflush(stdout);
    std::_Exit(0);  // CUDA's own exit would wait for a GPU that hangs
  }
  fmt::print(stderr, "usage: {} TEST, one of:", robustrun::probe::kProgram);
  for (const Row& row : kRows) fmt::print(stderr, " {}", row.name);
  fmt::print(stderr, "\n");
  return 2;
}
