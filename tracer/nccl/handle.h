#pragma once
// The handles that our plugin gives NCCL as void pointers: numbers, never addresses.
//
// NCCL also passes handles of events that ended long ago, the same handle twice, and handles of
// other processes. A handle names a slot and the generation of its content, so stale handles are
// recognised, and no pointer is ever dereferenced.

#include <bit>
#include <cstdint>

namespace robustrun::tracer::nccl {

enum class HandleKind : std::uint8_t {
  kNone,
  kContext,   // a communicator; `part`: kOursAlone or 0
  kGroupApi,  // a group of calls
  kBatch,     // a group of tasks; generation, index and part together are a running number
  kCall,      // an operation as the user called it
  kTask,      // an operation as it was handed to the device
  kFlow,
  kStep,      // a step of a flow; `part`: its number
  kChannel,   // one channel of an operation's kernel; `part`: its number
  kLaunch,    // `index`: the communicator
  kCaptured,  // a call that a CUDA graph captured; `index`: the communicator
  kPhase,     // a phase of an operation's kernel; `part`: its number
  kDropped,   // a call for which no slot was free; `index`: the communicator
};

// `part` of a context: the plugin behind ours could not open the communicator.
inline constexpr std::uint32_t kOursAlone = 1;

struct Handle {
  HandleKind kind = HandleKind::kNone;
  std::uint64_t generation = 0;  // the low 24 bits
  std::uint16_t index = 0;       // of the slot, unless the kind says otherwise
  std::uint32_t part = 0;        // 20 bits
};

inline constexpr std::uint64_t kGenerationMask = (1U << 24U) - 1;
inline constexpr std::uint32_t kPartMask = (1U << 20U) - 1;

// From the top: 4 bits kind, 24 generation, 16 index, 20 part.
[[nodiscard]] inline void* pack(Handle handle) {
  const std::uint64_t number = static_cast<std::uint64_t>(handle.kind) << 60U |
                               (handle.generation & kGenerationMask) << 36U |
                               static_cast<std::uint64_t>(handle.index) << 20U |
                               (handle.part & kPartMask);
  return std::bit_cast<void*>(number);
}
[[nodiscard]] inline Handle unpack(const void* pointer) {
  const auto number = std::bit_cast<std::uint64_t>(pointer);
  return {static_cast<HandleKind>(number >> 60U), number >> 36U & kGenerationMask,
          static_cast<std::uint16_t>(number >> 20U),
          static_cast<std::uint32_t>(number) & kPartMask};
}
[[nodiscard]] inline bool is_of(Handle handle, std::uint64_t generation) {
  return handle.generation == (generation & kGenerationMask);
}

}  // namespace robustrun::tracer::nccl
