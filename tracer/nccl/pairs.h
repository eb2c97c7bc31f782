#pragma once
// Which of our handles belongs to which handle of the plugin behind ours.
//
// NCCL keeps one pointer per event. We give it the other plugin's handle, which thus stays
// unchanged and cannot be lost; this table maps it to ours. If the other plugin does not want the
// event, or has no handle for it, NCCL gets our handle itself. The two cannot be confused: no
// pointer of a process has bits as high as our handles have (handle.h).
//
// The table has room for all events in flight many times over. When a row is full, the entry that
// was made first makes room: its event is then unknown to us, as if its slot had been dropped.
// Entries of communicators stay until they are forgotten. A communicator for which there is no room
// is unknown to us, and so is an event for which the other plugin gives the handle of a
// communicator. Any thread may call these functions; none of them waits.

#include <cstdint>

namespace robustrun::tracer::nccl {

// The pointer for NCCL; `ours` if `theirs` is null. `events`: the mask that the other plugin wants.
[[nodiscard]] void* join(void* theirs, void* ours, std::uint32_t events = 0);
// Our handle in a pointer of NCCL's; null: we have none.
[[nodiscard]] void* ours_of(void* joined);
// The other plugin's handle in a pointer of NCCL's; null: it has none.
[[nodiscard]] void* theirs_of(void* joined);
// The `events` kept with a pointer of NCCL's; `otherwise` if it has no entry or a communicator's.
[[nodiscard]] std::uint32_t events_of(void* joined, std::uint32_t otherwise);
// Removes the entry of an event that no other event refers to any more, or of a communicator.
void forget_pair(void* joined);

}  // namespace robustrun::tracer::nccl
