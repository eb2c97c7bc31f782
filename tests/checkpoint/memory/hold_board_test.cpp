// Copies that an agent holds while the worker goes on making new ones.
#include "checkpoint/memory/hold_board.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <thread>

#include "checkpoint/memory/memory_area.h"
#include "checkpoint/memory/staging.h"
#include "tests/checkpoint/support.h"

namespace hold_board_test {

using namespace robustrun;
using namespace robustrun::checkpoint;

namespace {

// A memory with a board, as a worker and as an agent see it.
struct SharedMemory {
  explicit SharedMemory(std::uint64_t slot_bytes = 1U << 20U)
      : bytes(area_bytes(slot_bytes, true).value()),
        memory(make_sealed_memory(bytes).value()),
        agents(MemoryArea::shared(base::Fd(::dup(memory.get()))).value()),
        board(MappedBoard::of(memory, bytes).value()) {
    REQUIRE(staging.use(MemoryArea::shared(base::Fd(::dup(memory.get()))).value()));
  }
  std::size_t stage(std::uint64_t step) {
    const test::SampleState state(step);
    const auto slot = staging.stage(test::sample_order(step, {"/a"}), state.contents);
    REQUIRE(slot);
    return *slot;
  }
  [[nodiscard]] std::vector<std::size_t> held() const {
    std::vector<std::size_t> slots;
    for (std::size_t slot = 0; slot < agents.slots(); ++slot) {
      if (board_of().is_held(slot)) slots.push_back(slot);
    }
    return slots;
  }
  [[nodiscard]] HoldBoard board_of() const { return agents.board().value(); }

  std::uint64_t bytes;
  base::Fd memory;
  MemoryArea agents;
  mutable MappedBoard board;
  Staging staging{1};
};

// What is wrong with the copy in a slot; empty if it is exactly the sample of that step.
std::string wrong_in_slot(std::span<const char> slot, std::uint64_t step) {
  const auto copy = read_slot(slot);
  if (!copy) return copy.error().what;
  if (copy->manifest.head.attempt.step != step) return "another step";
  const test::SampleState wanted(step);
  for (std::size_t i = 0; i < wanted.buffers.size(); ++i) {
    const std::string_view bytes(slot.data() + copy->offsets[i], wanted.buffers[i].size());
    if (bytes != wanted.buffers[i]) return "other bytes";
  }
  return {};
}

}  // namespace

TEST_CASE("the length of a memory area gives its number of slots, and whether it has a board") {
  constexpr std::uint64_t kGrain = 2U << 20U;
  for (std::uint64_t slot_bytes : {1UL, kGrain - 1, kGrain, kGrain + 1, 7 * kGrain}) {
    CAPTURE(slot_bytes);
    const auto plain = area_shape(area_bytes(slot_bytes).value());
    const auto wide = area_shape(area_bytes(slot_bytes, true).value());
    REQUIRE((plain && wide));
    CHECK((plain->slots == 2 && !plain->has_board));
    CHECK((wide->slots == 4 && wide->has_board));
    CHECK(plain->slot_bytes == wide->slot_bytes);
    CHECK((plain->slot_bytes >= slot_bytes && plain->slot_bytes < slot_bytes + kGrain));
  }
  for (std::uint64_t bytes : {0UL, 1UL, kGrain, kGrain + 1, 3 * kGrain, 7 * kGrain, UINT64_MAX}) {
    CAPTURE(bytes);
    CHECK_FALSE(area_shape(bytes));
  }
}

TEST_CASE("exactly one copy of the wished step or later is held, whichever side comes first") {
  SharedMemory shared;
  for (std::uint64_t step = 1; step <= 3; ++step) shared.stage(step);
  CHECK(shared.board->newest_step() == 3);
  SUBCASE("the copy is made later") {
    shared.board->wish(5);
    shared.board->hold_what_is_there();
    CHECK(shared.held().empty());
    shared.stage(4);
    CHECK(shared.held().empty());
    const std::size_t slot = shared.stage(6);
    CHECK(shared.held() == std::vector{slot});
    shared.stage(7);
    CHECK(shared.held() == std::vector{slot});
    CHECK(shared.board->step(slot) == 6);
  }
  SUBCASE("the copy exists already") {
    shared.board->wish(2);
    shared.board->hold_what_is_there();
    shared.board->hold_what_is_there();
    REQUIRE(shared.held().size() == 1);
    CHECK(shared.board->step(shared.held().front()) == 2);
    shared.stage(4);
    CHECK(shared.held().size() == 1);
  }
  SUBCASE("the wish was withdrawn") {
    shared.board->wish(4);
    shared.board->wish_nothing();
    shared.stage(4);
    CHECK(shared.held().empty());
  }
}

TEST_CASE("two held copies stay whole beside the two newest others") {
  SharedMemory shared;
  std::map<std::size_t, std::uint64_t> held;  // slot and step
  for (std::uint64_t step = 1; step <= 60; ++step) {
    CAPTURE(step);
    if (step == 5 || step == 20) shared.board->wish(step);
    shared.stage(step);
    for (const std::size_t slot : shared.held()) held.try_emplace(slot, step);
    CHECK(held.size() == (step < 5 ? 0U : step < 20 ? 1U : 2U));
    for (const auto& [slot, of] : held) CHECK(wrong_in_slot(shared.agents.slot(slot), of) == "");
    std::vector<std::uint64_t> steps;
    for (const FoundCopy& found : complete_copies(shared.agents)) {
      steps.push_back(found.copy.manifest.head.attempt.step);
    }
    CHECK(steps.front() == step);
    if (step > 1) CHECK(steps[1] == step - 1);
  }
  CHECK(held.begin()->second + std::next(held.begin())->second == 25);
  for (const auto& [slot, of] : held) shared.board->release(slot);
  CHECK(shared.held().empty());
  shared.stage(61);
  const auto [slot, of] =
      *std::ranges::min_element(held, {}, &std::pair<const std::size_t, std::uint64_t>::second);
  CHECK(wrong_in_slot(shared.agents.slot(slot), of) != "");
}

TEST_CASE("a newer copy can be made while the agent and a drain hold copies") {
  SharedMemory shared;
  for (const std::uint64_t step : {1, 2}) {
    shared.board->wish(step);
    shared.stage(step);
  }
  const std::size_t drained = shared.stage(3);
  shared.staging.hold(drained);
  const std::size_t newest = shared.stage(4);
  CHECK(shared.stage(5) == newest);
  CHECK(shared.held().size() == 2);
  shared.staging.hold(newest);
  const test::SampleState state(6);
  CHECK(shared.staging.stage(test::sample_order(6, {"/a"}), state.contents).error().code ==
        base::Errc::kConflict);
}

TEST_CASE("a copy that the script discards has no step any more, held or not") {
  SharedMemory shared;
  shared.board->wish(1);
  const std::size_t slot = shared.stage(1);
  shared.staging.discard(slot);
  CHECK(shared.held() == std::vector{slot});
  CHECK_FALSE(shared.board->step(slot));
  CHECK_FALSE(shared.board->newest_step());
}

TEST_CASE("a new writer has no steps yet, and a slot that a dead writer was filling is free") {
  SharedMemory shared;
  for (std::uint64_t step = 1; step <= 4; ++step) shared.stage(step);
  for (std::size_t slot = 0; slot < 4; ++slot) CHECK(shared.board_of().begin_filling(slot));
  CHECK_FALSE(shared.board_of().begin_filling(0));
  Staging next(1);
  REQUIRE(next.use(MemoryArea::shared(base::Fd(::dup(shared.memory.get()))).value()));
  CHECK_FALSE(shared.board->newest_step());
  const test::SampleState state(2);
  CHECK(next.stage(test::sample_order(2, {"/a"}), state.contents));
  CHECK(shared.board->newest_step() == 2);
}

TEST_CASE("while a worker makes copies as fast as it can, a held copy is of the wished step") {
  const std::uint64_t seed = base::system_seed();
  CAPTURE(seed);
  base::Rng rng(seed);
  SharedMemory shared(64U << 10U);
  std::atomic<bool> stop = false;
  std::atomic<std::uint64_t> failed = 0;
  std::jthread worker([&] {
    for (std::uint64_t step = 1; !stop; ++step) {
      const test::SampleState state(step);
      if (!shared.staging.stage(test::sample_order(step, {"/a"}), state.contents)) ++failed;
    }
  });
  std::optional<std::pair<std::size_t, std::uint64_t>> kept;
  for (int round = 0; round < 200; ++round) {
    const std::uint64_t wanted = shared.board->newest_step().value_or(0) + rng.below(6);
    shared.board->wish(wanted);
    const bool in_time = shared.board->newest_step().value_or(0) < wanted;
    const bool by_worker = in_time && rng.below(2) == 0;
    std::optional<std::pair<std::size_t, std::uint64_t>> got;
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!got) {
      REQUIRE(std::chrono::steady_clock::now() < end);
      if (!by_worker && rng.below(3) == 0) shared.board->hold_what_is_there();
      for (const std::size_t slot : shared.held()) {
        if (kept && kept->first == slot) continue;
        if (const auto step = shared.board->step(slot)) got = {slot, *step};
      }
    }
    CAPTURE(wanted);
    REQUIRE(got->second >= wanted);
    if (by_worker) REQUIRE(got->second == wanted);
    REQUIRE(shared.held().size() == (kept ? 2U : 1U));
    for (int look = 0; look < 3; ++look) {
      REQUIRE(wrong_in_slot(shared.agents.slot(got->first), got->second) == "");
      if (kept) REQUIRE(wrong_in_slot(shared.agents.slot(kept->first), kept->second) == "");
      std::this_thread::yield();
    }
    if (kept) shared.board->release(kept->first);
    kept = got;
  }
  stop = true;
  worker.join();
  CHECK(failed == 0);
}

}  // namespace hold_board_test
