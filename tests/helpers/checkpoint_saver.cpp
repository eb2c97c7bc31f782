// checkpoint_saver [parity] DIRECTORY... : saves step after step until it is killed, and prints
// each committed step.

#include <unistd.h>

#include <cstdio>
#include <string>

#include "tests/checkpoint/saver_state.h"

int main(int argc, char** argv) {
  robustrun::checkpoint::StoreOptions options;
  const bool parity = argc > 1 && std::string(argv[1]) == "parity";
  for (int i = parity ? 2 : 1; i < argc; ++i) options.mounts.push_back({argv[i], 1});
  options.workers_per_mount = 1;
  auto store = robustrun::checkpoint::Store::open(std::move(options));
  if (!store || !store->use_parity(parity ? 1 : 0) || !store->salvage(1)) return 2;
  const auto newest = robustrun::checkpoint::newest_committed(store->directories());
  std::uint64_t step = newest ? newest->attempt.step : 0;
  while (true) {
    ++step;
    const robustrun::test::SampleState state(step);
    const auto attempt = store->begin(step, 1, {1, {{"dp", 1}}}, {"n0"});
    if (!attempt || !store->write_part(*attempt, "n0", state.contents)) return 3;
    if (!store->commit(*attempt, 1)) return 4;
    const std::string line = std::to_string(step) + "\n";
    if (::write(STDOUT_FILENO, line.data(), line.size()) < 0) return 5;
    if (step % 8 == 0) {
      (void)robustrun::checkpoint::prune(robustrun::checkpoint::posix_disk(), store->directories(),
                                         2, 2);
    }
  }
}
