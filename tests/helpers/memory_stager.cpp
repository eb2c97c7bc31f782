// Copies the sample state of step 1, 2, ... into the memory at descriptor 3, and prints each step
// when its copy is complete, until it is killed.

#include <cstdio>

#include "checkpoint/memory/staging.h"
#include "tests/checkpoint/saver_state.h"

using namespace robustrun;

int main() {
  auto area = checkpoint::MemoryArea::shared(base::Fd(3));
  if (!area) {
    std::fprintf(stderr, "%s\n", area.error().what.c_str());
    return 1;
  }
  checkpoint::Staging staging(2);
  if (!staging.use(*std::move(area))) return 2;
  for (std::uint64_t step = 1;; ++step) {
    const test::SampleState state(step, 200);
    const auto order = test::sample_order(step, {"/nowhere"});
    if (!staging.stage(order, state.contents)) return 3;
    std::printf("%llu\n", static_cast<unsigned long long>(step));
    std::fflush(stdout);
  }
}
