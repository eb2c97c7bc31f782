#pragma once
// The plugin behind ours: NCCL has room for one profiler plugin, and a site may have named its own
// (NVIDIA's Inspector). The agent then gives NCCL our plugin, and us the path of the other one
// (agent/spawn/profiler_slot.h): we load it and pass every call on.
//
// Events are never converted between versions of the interface. NCCL takes the newest version that
// both it and the plugin have. So we offer NCCL the versions that the other plugin has, too. Those
// below the other plugin's oldest one we offer as well: a NCCL that takes such a version could not
// use the other plugin at all, and gets ours alone.
//
// The other plugin's own faults are its own: it runs in NCCL's threads, as it would without us.

#include <cstdint>

#include "tracer/nccl/abi_tables.h"

namespace robustrun::tracer::nccl {

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
// the other plugin is ours, under another name or as a copy, no plugin is behind ours: both would
// write the same record.
void load_behind(int version, const void* own);
// The other plugin's function table of this version; null: it has none. Cheap: one atomic read.
[[nodiscard]] const void* behind(int version);

// Where the other plugin writes its activation mask, at any time: a word of ours, which we merge
// with our own events into NCCL's mask. In a process without a record we have no events, and the
// other plugin gets NCCL's mask itself (`nccls`).
[[nodiscard]] int* mask_behind(int* nccls);
// The events that the other plugin has written there.
[[nodiscard]] std::uint64_t events_behind();
// Whether NCCL would report events of this type for the mask `events`. NCCL also reports an event
// that is not in the mask if it contains events that are (src/plugin/profiler.cc of NVIDIA/nccl).
[[nodiscard]] bool is_wanted(std::uint64_t type, std::uint64_t events);

}  // namespace robustrun::tracer::nccl
