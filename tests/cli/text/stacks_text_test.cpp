#include "cli/text/stacks_text.h"

#include <doctest/doctest.h>

namespace robustrun::cli::stacks_text_test {
namespace {

tracer::RankSnapshot rank_in(std::uint32_t rank, std::vector<tracer::Frame> frames) {
  tracer::RankSnapshot one;
  one.rank = {rank};
  tracer::ThreadStack& stack = one.evidence.stacks.emplace_back();
  stack.is_main = true;
  stack.frames = std::move(frames);
  return one;
}

TEST_CASE(
    "equal stacks stand together, those of most ranks first, and ranks without one are named") {
  const std::vector<tracer::Frame> training = {{"step", "train.py", 90}, {"main", "train.py", 12}};
  tracer::FleetSnapshot fleet;
  fleet.world_size = 7;
  for (const std::uint32_t rank : {0U, 1U, 2U, 5U}) fleet.ranks.push_back(rank_in(rank, training));
  fleet.ranks.push_back(rank_in(4, {{"load_batch", "data.py", 8}, {"main", "train.py", 10}}));
  tracer::RankSnapshot unseen;
  unseen.rank = {6};
  unseen.evidence.missing = {"py-spy: not installed"};
  fleet.ranks.push_back(unseen);

  const std::string text = stacks_text(supervisor::stacks_of(fleet));
  CAPTURE(text);
  CHECK(text.starts_with("4 ranks: 0-2, 5"));
  const auto first = text.find("    step  train.py:90\n    main  train.py:12\n");
  const auto second = text.find("rank 4");
  REQUIRE(first != text.npos);
  REQUIRE(second != text.npos);
  CHECK(first < second);
  CHECK(text.find("    load_batch  data.py:8\n", second) != text.npos);
  CHECK(text.ends_with("no stack of rank 6: py-spy: not installed\n"));
}

TEST_CASE("ten thousand scattered ranks are a short line") {
  supervisor::WorkerStacks stacks;
  supervisor::RankStack& one = stacks.stacks.emplace_back();
  for (std::uint32_t rank = 0; rank < 20'000; rank += 2) one.ranks.push_back(rank);
  const std::string text = stacks_text(stacks);
  CHECK(text.size() < 100);
  CHECK(text.starts_with("10000 ranks: 0, 2, 4"));
}

}  // namespace
}  // namespace robustrun::cli::stacks_text_test
