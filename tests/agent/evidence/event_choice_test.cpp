#include "agent/evidence/event_choice.h"

#include <doctest/doctest.h>

#include <cstring>
#include <vector>

#include "agent/node/limits.h"
#include "tests/support/scratch.h"
#include "tracer/record_collectives.h"

namespace event_choice_test {

using namespace robustrun;
using agent::EventChoice;
using agent::is_sampled;

namespace {

std::vector<std::uint32_t> sampled(std::uint32_t world_size) {
  std::vector<std::uint32_t> ranks;
  for (std::uint32_t rank = 0; rank < world_size; ++rank) {
    if (is_sampled(base::Rank{rank}, world_size)) ranks.push_back(rank);
  }
  return ranks;
}

struct Record {
  test::Scratch scratch;
  base::Result<tracer::RecordFile> file =
      tracer::RecordFile::create(scratch.path("0.record"), base::Rank{0}, base::Attempt{0});
  [[nodiscard]] std::uint64_t wish() const {
    std::uint64_t mask = 0;
    std::memcpy(&mask, file->read_all()->data() + tracer::kWantedMaskAt, sizeof mask);
    return mask;
  }
};

}  // namespace

TEST_CASE(
    "ten ranks of a job are always traced in full, spread evenly; all ranks of a small job are") {
  for (std::uint32_t world = 1; world <= agent::kRanksInFull; ++world) {
    CHECK(sampled(world).size() == world);
  }
  for (const std::uint32_t world : {11U, 16U, 19U, 20U, 21U, 64U, 1000U, 1023U, 16'384U}) {
    CAPTURE(world);
    const auto ranks = sampled(world);
    REQUIRE(ranks.size() == agent::kRanksInFull);
    CHECK(ranks.front() == 0);
    for (std::size_t i = 1; i < ranks.size(); ++i) {
      const std::uint32_t gap = ranks[i] - ranks[i - 1];
      CHECK(gap >= world / agent::kRanksInFull);
      CHECK(gap <= world / agent::kRanksInFull + 1);
    }
  }
}

TEST_CASE("a rank is traced in full while something is suspected, a sampled one always") {
  for (const bool is_one : {false, true}) {
    CAPTURE(is_one);
    Record record;
    EventChoice choice(*record.file, is_one);
    const std::uint64_t calm = is_one ? tracer::kAllEvents : tracer::kEventsWithoutSteps;
    CHECK(record.wish() == calm);
    choice.trace_in_full(true);
    CHECK(record.wish() == tracer::kAllEvents);
    choice.trace_in_full(true);
    choice.trace_in_full(false);
    CHECK(record.wish() == calm);
  }
}

TEST_CASE("events that the user has chosen stay as they are") {
  wire::WorkerTemplate workers;
  CHECK(agent::chooses_events(workers));
  workers.environment = {"A=b", "ROBUSTRUN_NCCL_MASK=0xe46"};
  CHECK_FALSE(agent::chooses_events(workers));
}

}  // namespace event_choice_test
