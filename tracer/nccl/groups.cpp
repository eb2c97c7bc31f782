#include "tracer/nccl/groups.h"

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>

#include "tracer/nccl/communicators.h"
#include "tracer/nccl/words.h"

namespace robustrun::tracer::nccl {
namespace {

// Groups that are tracked at a time; in further groups, threads are not seen to be inside NCCL.
constexpr std::size_t kGroups = 64;
constexpr std::size_t kWords = kCommunicatorSlots / 64;

struct Group {
  std::uint64_t generation = 0;  // odd: in use
  std::array<std::uint64_t, kWords> comms{};  // bit mask of slots
};

std::array<Group, kGroups> g_groups;
std::atomic<std::uint64_t> g_batches{0};

Group* current(Handle handle) {
  if (handle.kind != HandleKind::kGroupApi || handle.index >= kGroups) return nullptr;
  Group& group = g_groups[handle.index];
  const std::uint64_t generation = get_published(group.generation);
  return generation % 2 == 1 && is_of(handle, generation) ? &group : nullptr;
}

void add_member(Group& group, std::uint16_t comm) {
  std::uint64_t& word = group.comms[comm / 64U];
  const std::uint64_t bit = std::uint64_t{1} << comm % 64U;
  if ((get(word) & bit) == 0) set_bits(word, bit);  // usually set already by start_group()
}

// Sets since when all communicators of a group are inside NCCL; 0: they are outside.
void set_inside(Tables& t, Group& group, std::uint64_t since) {
  for (std::size_t word = 0; word < kWords; ++word) {
    for (std::uint64_t left = get(group.comms[word]); left != 0; left &= left - 1) {
      const std::size_t comm = word * 64 + static_cast<std::size_t>(std::countr_zero(left));
      set(t.communicators[comm].in_call_at_ns, since);
    }
  }
}

}  // namespace

void* start_group(Tables& t, std::uint16_t comm, std::uint64_t now) {
  for (std::size_t index = 0; index < kGroups; ++index) {
    Group& group = g_groups[index];
    std::uint64_t generation = get_published(group.generation);
    if (generation % 2 == 1 || !exchange(group.generation, generation, generation + 1)) continue;
    for (std::uint64_t& word : group.comms) set<std::uint64_t>(word, 0);
    add_member(group, comm);
    set(t.communicators[comm].in_call_at_ns, now);
    return pack({HandleKind::kGroupApi, generation + 1, static_cast<std::uint16_t>(index), 0});
  }
  return new_batch();
}

void enter_group(Tables& t, Handle handle, std::uint16_t comm, std::uint64_t now) {
  Group* const group = current(handle);
  if (group != nullptr) add_member(*group, comm);
  set(t.communicators[comm].in_call_at_ns, now);
}

void set_group_state(Tables& t, Handle handle, abi::State state, std::uint64_t now) {
  Group* const group = current(handle);
  if (group == nullptr) return;
  if (state == abi::kGroupStartApiStop) set_inside(t, *group, 0);
  if (state == abi::kGroupEndApiStart) set_inside(t, *group, now);
}

void end_group(Tables& t, Handle handle) {
  Group* const group = current(handle);
  if (group == nullptr) return;
  set_inside(t, *group, 0);
  std::uint64_t generation = get(group->generation);
  if (!is_of(handle, generation)) return;
  static_cast<void>(exchange(group->generation, generation, generation + 1));
}

void* new_batch() {
  const std::uint64_t number = g_batches.fetch_add(1, std::memory_order_relaxed);
  return pack({HandleKind::kBatch, number >> 36U, static_cast<std::uint16_t>(number >> 20U),
               static_cast<std::uint32_t>(number)});
}

void* start_launch(Tables& t, std::uint16_t comm, std::uint64_t now) {
  set(t.communicators[comm].in_launch_at_ns, now);
  return pack({HandleKind::kLaunch, generation_of_communicator(comm), comm, 0});
}

void end_launch(Tables& t, Handle launch) {
  if (!is_current(launch.index, launch.generation)) return;
  set<std::uint64_t>(t.communicators[launch.index].in_launch_at_ns, 0);
}

}  // namespace robustrun::tracer::nccl
