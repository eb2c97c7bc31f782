#include "checkpoint/memory/staging.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <exception>
#include <new>
#include <stdexcept>
#include <thread>

#include "checkpoint/c_api/handles.h"
#include "checkpoint/c_api/memory.h"
#include "checkpoint/format/crc32c.h"
#include "checkpoint/format/limits.h"
#include "checkpoint/format/paths.h"
#include "tests/checkpoint/support.h"
#include "tests/paths.h"

namespace staging_test {

using namespace robustrun;
using namespace robustrun::checkpoint;
using robustrun::test::sample_order;
using robustrun::test::SampleState;
using robustrun::test::TwoMounts;

namespace {

template <class Exception>
int guarded_from(Exception exception) {
  return guarded(
      [&]() -> base::Status { std::rethrow_exception(std::make_exception_ptr(exception)); });
}

void give_memory(Staging& staging, std::uint64_t slot_bytes = 4U << 20U) {
  auto area = MemoryArea::own(slot_bytes);
  REQUIRE(area);
  REQUIRE(staging.use(*std::move(area)));
}

// What is wrong with a copy; empty if it is exactly the sample of its step.
std::string wrong_in_copy(const MemoryArea& area, const FoundCopy& found, std::uint64_t rows) {
  const SampleState wanted(found.copy.manifest.head.attempt.step, rows);
  if (found.copy.manifest.states != wanted.contents.states) return "the states differ";
  std::vector<std::string> bytes;
  std::vector<WantedShard> all;
  for (const Shard& shard : found.copy.manifest.shards) bytes.emplace_back(shard.bytes, '\0');
  for (std::size_t i = 0; i < bytes.size(); ++i) all.push_back({i, bytes[i]});
  CopyPool pool(1);
  const auto restored = restore_copy(area.slot(found.slot), found.copy, all, pool);
  if (!restored) return restored.error().what;
  return bytes == wanted.buffers ? "" : "other bytes";
}

}  // namespace

TEST_CASE("a copy in memory equals its source, and the newer of two is found first") {
  Staging staging(2);
  give_memory(staging);
  for (std::uint64_t step = 1; step <= 5; ++step) {
    CAPTURE(step);
    const SampleState state(step);
    REQUIRE(staging.stage(sample_order(step, {"/a"}), state.contents));
    const auto copies = complete_copies(staging.area());
    REQUIRE(copies.size() == (step == 1 ? 1U : 2U));
    CHECK(copies.front().copy.manifest.head.attempt.step == step);
    for (const FoundCopy& found : copies) CHECK(wrong_in_copy(staging.area(), found, 3) == "");
    REQUIRE(find_copy(staging.area(), sample_order(step, {}).attempt));
  }
  CHECK(find_copy(staging.area(), sample_order(3, {}).attempt).error().code ==
        base::Errc::kNotFound);
}

TEST_CASE("copying returns the CRC of the copied bytes, at every length and alignment") {
  base::Rng rng(base::system_seed());
  std::string from(70'000, '\0');
  for (char& byte : from) byte = static_cast<char>(rng.next());
  std::string to(from.size() + 64, '\0');
  for (const std::size_t bytes : {0UZ, 1UZ, 15UZ, 64UZ, 12'288UZ, 12'289UZ, 40'000UZ, 69'000UZ}) {
    for (const std::size_t shift : {0UZ, 1UZ, 16UZ}) {
      CAPTURE(bytes);
      CAPTURE(shift);
      std::ranges::fill(to, '\0');
      const std::string_view source = std::string_view(from).substr(shift, bytes);
      CHECK(copy_with_crc32c(source, to.data() + shift) == crc32c_by_table(source));
      CHECK(std::string_view(to).substr(shift, bytes) == source);
      CHECK(to[shift + bytes] == '\0');
    }
  }
}

TEST_CASE(
    "a process killed at any moment of copying leaves a whole copy of its newest step or the "
    "one before") {
  auto memory = make_sealed_memory(*area_bytes(1U << 20U));
  REQUIRE(memory);
  auto area = MemoryArea::shared(base::Fd(::dup(memory->get())));
  REQUIRE(area);
  const auto seed = base::system_seed();
  CAPTURE(seed);
  base::Rng rng(seed);
  for (int i = 0; i < 40; ++i) {
    CAPTURE(i);
    auto pipe = base::make_pipe();
    REQUIRE(pipe);
    posix_spawn_file_actions_t actions;
    REQUIRE(::posix_spawn_file_actions_init(&actions) == 0);
    ::posix_spawn_file_actions_adddup2(&actions, pipe->second.get(), 1);
    ::posix_spawn_file_actions_adddup2(&actions, memory->get(), 3);
    std::string program = test_helper("memory_stager");
    char* argv[] = {program.data(), nullptr};
    char* environment[] = {nullptr};
    pid_t pid = -1;
    REQUIRE(::posix_spawn(&pid, program.c_str(), &actions, nullptr, argv, environment) == 0);
    ::posix_spawn_file_actions_destroy(&actions);
    pipe->second.reset();
    std::string told;
    const std::size_t lines = 1 + rng.below(4);
    char byte = 0;
    while (static_cast<std::size_t>(std::ranges::count(told, '\n')) < lines) {
      REQUIRE(::read(pipe->first.get(), &byte, 1) == 1);
      told += byte;
    }
    pollfd waiting{pipe->first.get(), 0, 0};
    (void)::poll(&waiting, 0, static_cast<int>(rng.below(3)));
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
    while (::read(pipe->first.get(), &byte, 1) == 1) told += byte;
    const auto newest_told = static_cast<std::uint64_t>(std::ranges::count(told, '\n'));
    const auto copies = complete_copies(*area);
    REQUIRE(!copies.empty());
    REQUIRE(copies.front().copy.manifest.head.attempt.step >= newest_told);
    for (const FoundCopy& found : copies) REQUIRE(wrong_in_copy(*area, found, 200) == "");
  }
}

TEST_CASE("a tensor that changes while it is copied is refused by name") {
  Staging staging(2);
  give_memory(staging, 64U << 20U);
  SampleState state(1, 12'000);
  std::atomic<bool> stop = false;
  std::jthread writer([&] {
    for (char value = 0; !stop; ++value) std::memset(state.buffers[0].data(), value, 48'000'000);
  });
  std::string refused;
  for (int i = 0; i < 100 && refused.empty(); ++i) {
    const auto staged = staging.stage(sample_order(1, {"/a"}), state.contents);
    if (!staged) refused = staged.error().what;
  }
  stop = true;
  CHECK(refused == "cannot keep a copy of 'layer.weight': it changed while it was copied");
}

TEST_CASE("a held slot is not overwritten, and two held slots are an error") {
  Staging staging(2);
  give_memory(staging);
  const SampleState state(1);
  const auto first = staging.stage(sample_order(1, {"/a"}), state.contents);
  REQUIRE(first);
  staging.hold(*first);
  for (std::uint64_t step = 2; step < 6; ++step) {
    const auto next = staging.stage(sample_order(step, {"/a"}), state.contents);
    REQUIRE(next);
    CHECK(*next != *first);
  }
  CHECK(find_copy(staging.area(), sample_order(1, {}).attempt));
  staging.hold(1 - *first);
  CHECK(staging.stage(sample_order(7, {"/a"}), state.contents).error().code ==
        base::Errc::kConflict);
  CHECK(staging.use(MemoryArea()).error().code == base::Errc::kConflict);
  staging.release(*first);
  CHECK(staging.stage(sample_order(7, {"/a"}), state.contents));
}

TEST_CASE("a state that does not fit into a slot is refused before anything is copied") {
  Staging staging(2);
  give_memory(staging, 4096);
  const SampleState state(1, 2000);
  const auto bytes = Staging::slot_bytes_for(sample_order(1, {"/a"}), state.contents);
  REQUIRE(bytes);
  CHECK(*bytes > 8'000'000);
  CHECK(staging.stage(sample_order(1, {"/a"}), state.contents).error().code == base::Errc::kLimit);
  REQUIRE(staging.use(*MemoryArea::own(*bytes)));
  CHECK(staging.stage(sample_order(1, {"/a"}), state.contents));
}

TEST_CASE("memory that could be shortened, or that the machine lacks, is refused") {
  base::Fd open(::memfd_create("unsealed", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  REQUIRE(::ftruncate(open.get(), 4 << 20) == 0);
  CHECK(MemoryArea::shared(std::move(open)).error().code == base::Errc::kInvalidArgument);
  auto memory = make_sealed_memory(4U << 20U);
  REQUIRE(memory);
  CHECK(::ftruncate(memory->get(), 0) != 0);
  CHECK(::ftruncate(memory->get(), 8 << 20) != 0);
  CHECK(make_sealed_memory(available_memory() * 2).error().code == base::Errc::kLimit);
  CHECK(MemoryArea::own(available_memory()).error().code == base::Errc::kLimit);
  CHECK(area_bytes(UINT64_MAX).error().code == base::Errc::kLimit);
}

TEST_CASE("a slot with any byte of its header or description changed is refused") {
  Staging staging(2);
  give_memory(staging);
  const SampleState state(1);
  const auto slot = staging.stage(sample_order(1, {"/a"}), state.contents);
  REQUIRE(slot);
  const std::span<char> bytes = staging.area().slot(*slot);
  REQUIRE(read_slot(bytes));
  for (std::size_t at = 0; at < kSlotHeaderBytes + 200; ++at) {
    if (at >= 12 && at < 16) continue;  // the state
    if (at >= 40 && at < kSlotHeaderBytes) continue;  // unused
    CAPTURE(at);
    const char before = bytes[at];
    bytes[at] = static_cast<char>(before ^ 0x40);
    CHECK_FALSE(read_slot(bytes));
    bytes[at] = before;
  }
  CHECK_FALSE(read_slot(bytes.first(kSlotHeaderBytes)));
  CHECK_FALSE(read_slot({}));
  open_slot(bytes);
  CHECK(read_slot(bytes).error().code == base::Errc::kNotFound);
}

TEST_CASE("a damaged tensor is detected when it is restored, and named") {
  Staging staging(2);
  give_memory(staging);
  const SampleState state(1);
  const auto slot = staging.stage(sample_order(1, {"/a"}), state.contents);
  REQUIRE(slot);
  const auto found = find_copy(staging.area(), sample_order(1, {}).attempt);
  REQUIRE(found);
  staging.area().slot(*slot)[found->copy.offsets[1] + 5] ^= 1;
  CHECK(wrong_in_copy(staging.area(), *found, 3) ==
        "cannot restore tensor 'layer.bias': its copy in memory is damaged");
}

TEST_CASE("a copy is drained as its writer's part and becomes the committed checkpoint") {
  const TwoMounts mounts;
  Staging staging(2);
  give_memory(staging);
  Store store = mounts.store();
  const SampleState state(9);
  const auto order = sample_order(9, mounts.directories);
  const auto slot = staging.stage(order, state.contents);
  REQUIRE(slot);
  const auto drained = drain_copy(staging.area().slot(*slot), store);
  REQUIRE(drained);
  CHECK(drained->committed);
  CHECK(slot_state(staging.area().slot(*slot)) == SlotState::kDrained);
  const auto newest = newest_committed(mounts.directories);
  REQUIRE(newest);
  CHECK(test::wrong_in(*newest) == "");
  const auto found = find_copy(staging.area(), order.attempt);
  REQUIRE(found);
  CHECK(first_shard_of(found->copy, newest->manifest) == 0);
  Manifest other = newest->manifest;
  other.shards[0].crc ^= 1;
  CHECK_FALSE(first_shard_of(found->copy, other));
}

TEST_CASE("a copy that changed before it was on disk is refused by name and not committed") {
  const TwoMounts mounts;
  Staging staging(2);
  give_memory(staging);
  Store store = mounts.store();
  const SampleState state(9);
  const auto order = sample_order(9, mounts.directories);
  const auto slot = staging.stage(order, state.contents);
  REQUIRE(slot);
  const auto found = find_copy(staging.area(), order.attempt);
  staging.area().slot(*slot)[found->copy.offsets[0] + 77] ^= 1;
  const auto drained = drain_copy(staging.area().slot(*slot), store);
  REQUIRE_FALSE(drained);
  CHECK(drained.error().what == "cannot save 'layer.weight': it changed since it was copied");
  CHECK_FALSE(store.has_part(order.attempt, "n0").value());
  CHECK_FALSE(newest_committed(mounts.directories));
}

TEST_CASE("another process saves a copy whose writer died in the middle of saving it") {
  const TwoMounts mounts;
  Staging staging(2);
  give_memory(staging);
  Store store = mounts.store();
  const SampleState state(4);
  const auto order = sample_order(4, mounts.directories);
  const auto slot = staging.stage(order, state.contents);
  REQUIRE(slot);
  REQUIRE(store.join(order.attempt, order.layout, order.writers));
  REQUIRE(store.write_part(order.attempt, "n0", state.contents));
  for (const std::string& directory : mounts.directories) {
    std::filesystem::remove(directory + "/" + attempt_folder(order.attempt) + "/" +
                            part_name("n0"));
  }
  const auto drained = drain_copy(staging.area().slot(*slot), store, "rescue");
  REQUIRE(drained);
  CHECK(drained->committed);
  CHECK(test::wrong_in(*newest_committed(mounts.directories)) == "");
}

TEST_CASE("an exception's text reaches the caller") {
  CHECK(guarded_from(std::runtime_error("no such locale")) == RR_INTERNAL);
  CHECK(std::string(rr_error()) == "cannot go on: no such locale");
  CHECK(guarded_from(7) == RR_INTERNAL);
  CHECK(std::string(rr_error()) == "cannot go on: an unknown exception");
  CHECK(guarded_from(std::bad_alloc()) == RR_LIMIT);
  CHECK(std::string(rr_error()) == "cannot go on: out of memory");
}

TEST_CASE("memory that cannot be used is closed, also while a slot is held") {
  rr_memory* memory = nullptr;
  REQUIRE(rr_memory_open(1, &memory) == RR_OK);
  REQUIRE(rr_memory_use(memory, -1, 4096) == RR_OK);
  const auto is_closed = [&] {
    const int fd = ::memfd_create("copies", MFD_CLOEXEC);
    REQUIRE(fd >= 0);
    CHECK(rr_memory_use(memory, fd, 0) != RR_OK);
    return ::fcntl(fd, F_GETFD) == -1;
  };
  rr_memory_hold(memory, 0, 1);
  CHECK(is_closed());
  rr_memory_hold(memory, 0, 0);
  CHECK(is_closed());  // an empty file
  rr_memory_close(memory);
}

}  // namespace staging_test
