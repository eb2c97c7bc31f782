// memory_saver save|rescue DIRECTORY... : copies the sample state of one step after the other into
// the memory at descriptor 3 and saves the copies, with "staged STEP" and "saved STEP" on stdout,
// until it is killed; or saves the copies of another process from there, as an agent does.

#include <cstdio>
#include <string_view>

#include "checkpoint/memory/staging.h"
#include "checkpoint/store/catalog.h"
#include "checkpoint/store/retention.h"
#include "tests/checkpoint/saver_state.h"

using namespace robustrun;
using namespace robustrun::checkpoint;

namespace {

void say(const char* what, std::uint64_t step) {
  std::printf("%s %llu\n", what, static_cast<unsigned long long>(step));
  std::fflush(stdout);
}

int rescue(const MemoryArea& area, Store& store) {
  std::vector<FoundCopy> copies = complete_copies(area);
  for (auto left = copies.rbegin(); left != copies.rend(); ++left) {  // the newest last
    if (left->copy.state == SlotState::kDrained) continue;
    const auto done = drain_copy(area.slot(left->slot), store, "rescue");
    if (!done) {
      std::fprintf(stderr, "%s\n", done.error().what.c_str());
      return 4;
    }
    say("saved", left->copy.manifest.head.attempt.step);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  auto area = MemoryArea::shared(base::Fd(3));
  StoreOptions options;
  for (int i = 2; i < argc; ++i) options.mounts.push_back({argv[i], 1});
  options.workers_per_mount = 1;
  auto store = Store::open(std::move(options));
  if (!area || !store || !store->use_parity(1)) return 2;
  if (std::string_view(argv[1]) == "rescue") return rescue(*area, *store);
  const auto newest = newest_committed(store->directories());
  std::uint64_t step = newest ? newest->attempt.step : 0;
  Staging staging(1);
  if (!staging.use(*std::move(area))) return 2;
  while (true) {
    const test::SampleState state(++step);
    const auto slot = staging.stage(test::sample_order(step, store->directories()), state.contents);
    if (!slot) return 3;
    say("staged", step);
    if (!drain_copy(staging.area().slot(*slot), *store)) return 4;
    say("saved", step);
    if (step % 8 == 0) (void)prune(posix_disk(), store->directories(), 2, 2);
  }
}
