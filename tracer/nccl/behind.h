#pragma once
// The plugin behind ours: another profiler plugin, which our plugin loads and passes every call on
// to. NCCL has room for one profiler plugin, and a site may have named its own, for example
// NVIDIA's Inspector. The agent then gives NCCL our plugin, and gives our plugin the path of the
// other one (agent/spawn/profiler_slot.h).
//
// NCCL takes the newest interface version that both it and the plugin have. Events are never
// converted between versions, so our plugin offers NCCL only versions that the other plugin has,
// too, and versions below the other plugin's oldest one: a NCCL that takes such a version could not
// use the other plugin at all, and uses ours alone.
//
// The other plugin runs in NCCL's threads, as it would without ours; its faults hit the worker.

#include <cstdint>

#include "tracer/nccl/abi_tables.h"

namespace robustrun::tracer::nccl {

// The types of the function table and of its `args`, by the type of the event descriptor.
template <class Event>
struct TableOf;
template <>
struct TableOf<abi::Event1> {
  using Args = abi::Args1;
  using Table = abi::Table1<abi::Event1, abi::Args1>;
};
template <>
struct TableOf<abi::Event2> {
  using Args = abi::Args1;
  using Table = abi::Table1<abi::Event2, abi::Args1>;
};
template <>
struct TableOf<abi::Event3> {
  using Args = abi::Args1;
  using Table = abi::Table1<abi::Event3, abi::Args1>;
};
template <>
struct TableOf<abi::Event4> {
  using Args = abi::Args4;
  using Table = abi::Table4<abi::Event4>;
};
template <>
struct TableOf<abi::Event5> {
  using Args = abi::Args4;
  using Table = abi::Table5<abi::Event5>;
};
template <>
struct TableOf<abi::Event6> {
  using Args = abi::Args4;
  using Table = abi::Table5<abi::Event6>;
};
template <>
struct TableOf<abi::Event7> {
  using Args = abi::Args4;
  using Table = abi::Table5<abi::Event7>;
};

// Loads the other plugin at the first call, which may block. `own`: our table of this version. If
// the other plugin is a copy of ours, it is not used, because both would write the same record.
void load_behind(int version, const void* own);
// The other plugin's function table of this version; null: it has no such table. Costs one atomic
// load.
[[nodiscard]] const void* behind(int version);

// Where the other plugin may write its activation mask at any time: a word of ours, which mask.h
// merges with our own events into NCCL's mask. In a process without a record we need no events, so
// the other plugin gets NCCL's mask itself (`nccls`).
[[nodiscard]] int* mask_behind(int* nccls);
// The events that the other plugin has written there.
[[nodiscard]] std::uint64_t events_behind();
// Whether NCCL would report events of type `type` for the mask `events`. NCCL also reports types
// that are not in the mask if they contain events of a type in the mask (src/plugin/profiler.cc of
// NVIDIA/nccl).
[[nodiscard]] bool is_wanted(std::uint64_t type, std::uint64_t events);

}  // namespace robustrun::tracer::nccl
