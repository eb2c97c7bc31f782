// checkpoint_rank RUN ATTEMPT RANK WORLD STEPS DIRECTORY... : one of several ranks that save the
// same steps without communication. Prints each step that it found committed after writing its
// part. Exits with 0 when all its parts are written, with 9 when it is fenced off.

#include <cstdio>
#include <cstdlib>
#include <string>

#include "tests/checkpoint/saver_state.h"

using namespace robustrun::checkpoint;

int main(int argc, char** argv) {
  if (argc < 7) return 2;
  const Session session{argv[1], std::strtoull(argv[2], nullptr, 10)};
  const std::string rank = argv[3];
  const auto world = static_cast<std::uint32_t>(std::strtoul(argv[4], nullptr, 10));
  const std::uint64_t steps = std::strtoull(argv[5], nullptr, 10);
  StoreOptions options;
  for (int i = 6; i < argc; ++i) options.mounts.push_back({argv[i], 1});
  options.workers_per_mount = 1;
  std::vector<std::string> writers;
  for (std::uint32_t i = 0; i < world; ++i) writers.push_back("rank-" + std::to_string(i));
  auto store = Store::open(std::move(options));
  if (!store) return 3;
  const auto generation = store->claim(session);
  if (!generation) return generation.error().code == robustrun::base::Errc::kConflict ? 9 : 4;
  for (std::uint64_t step = 1; step <= steps; ++step) {
    const AttemptId attempt{step, *generation, attempt_token(session, step, step - 1)};
    const auto joined = store->join(attempt, {world, {{"dp", world}}}, writers);
    if (!joined) return joined.error().code == robustrun::base::Errc::kConflict ? 9 : 5;
    robustrun::test::SampleState state(step);
    const auto number = static_cast<std::uint32_t>(std::strtoul(rank.c_str(), nullptr, 10));
    for (auto& shard : state.contents.shards) shard.rank = number;
    for (auto& kept : state.contents.states) kept.rank = number;
    if (!store->write_part(attempt, "rank-" + rank, state.contents)) return 6;
    const auto done = store->commit_if_complete(attempt, *generation);
    if (!done) return done.error().code == robustrun::base::Errc::kConflict ? 9 : 7;
    if (!done->committed) continue;
    std::printf("%llu\n", static_cast<unsigned long long>(step));
    std::fflush(stdout);
  }
  return 0;
}
