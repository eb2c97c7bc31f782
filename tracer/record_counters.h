#pragma once
// The first page's part about collectives, from minor version 1 on.
//
// Three cache lines: what is rarely written, what threads that call the library write, and what the
// threads that move its data write.

#include <array>
#include <cstddef>
#include <cstdint>

#include "tracer/progress_record.h"

namespace robustrun::tracer {

// The agent's wish, one word: events that NCCL shall report (its activation mask); 0: the plugin's
// own choice. Only ProxyOp, ProxyStep, ProxyCtrl and KernelLaunch follow it, from the next call on:
// what the others say is needed to know what is finished. Where NCCL does not tell of kernels,
// ProxyOp and ProxyStep are such others.
inline constexpr std::size_t kWantedMaskAt = offsetof(ProgressRecord, reserved_agent);
static_assert(kWantedMaskAt == 40);

// Wishes: everything, and all but the steps of data on the network, which are most of the events.
inline constexpr std::uint64_t kAllEvents = 0;
inline constexpr std::uint64_t kEventsWithoutSteps = 0xe46;

inline constexpr std::size_t kCountersAt = 704;

struct RecordCounters {
  std::uint64_t writer_pid;  //   0  process that fills the tables; 0: none yet
  std::uint64_t abi_version;  //   8  of NCCL's profiler interface, 1 to 6
  std::uint64_t event_mask;  //  16  in force
  std::uint64_t operations_dropped;  //  24  that found no slot
  std::uint64_t flows_dropped;  //  32
  std::uint64_t communicators_dropped;  //  40
  std::uint64_t history_dropped;  //  48  edges and histograms
  std::uint64_t ignored;  //  56  events that refer to nothing we know
  std::uint64_t calls_at_ns;  //  64  a thread that calls was last seen to do anything
  std::uint64_t signatures;  //  72  written so far
  std::array<std::uint64_t, 6> reserved_calls;  //  80
  std::uint64_t proxy_at_ns;  // 128  a thread that moves data was last seen
  std::uint64_t timings;  // 136  written so far
  std::array<std::uint64_t, 6> reserved_proxy;  // 144
};
static_assert(offsetof(RecordCounters, calls_at_ns) == 64);
static_assert(offsetof(RecordCounters, proxy_at_ns) == 128);
static_assert(sizeof(RecordCounters) == 192);
static_assert(kCountersAt % 64 == 0 && kCountersAt >= sizeof(ProgressRecord));
static_assert(kCountersAt + sizeof(RecordCounters) <= kRecordBytes);

}  // namespace robustrun::tracer
