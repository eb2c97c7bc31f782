#pragma once
// Maps handles of the plugin behind ours (behind.h) to our handles.
//
// NCCL keeps one pointer per event: the other plugin's handle, which thus cannot be lost. A table
// maps that handle to ours. If the other plugin does not want the event, or has no handle for it,
// NCCL gets our handle itself. A pointer of a process never looks like one of our handles, which
// use the highest bits (handle.h). If the other plugin's handle is a number that looks like one,
// the table tells the two apart.
//
// The table has room for many times the events in flight. If a row is full, the oldest entry makes
// room, and our part ignores later reports of its event. Entries of communicators stay until
// forget_pair(). Our part also ignores a communicator for which there is no room, and an event for
// which the other plugin gives the handle of a communicator. Any thread may call these functions;
// none of them waits.

#include <cstdint>

namespace robustrun::tracer::nccl {

// The pointer for NCCL: `theirs`, or `ours` if `theirs` is null. `events`, kept for events_of():
// the mask that the other plugin wanted when this event, or the task of which it is a part, began.
[[nodiscard]] void* join(void* theirs, void* ours, std::uint32_t events = 0);
// Our handle for a pointer from NCCL; null: we have no handle for the event.
[[nodiscard]] void* ours_of(void* joined);
// The other plugin's handle for a pointer from NCCL; null: it has no handle for the event.
[[nodiscard]] void* theirs_of(void* joined);
// The `events` of join() for a pointer from NCCL. Returns `otherwise` if the table has no entry for
// the pointer, or only a communicator's.
[[nodiscard]] std::uint32_t events_of(void* joined, std::uint32_t otherwise);
// Removes the entry of a communicator, or of an event to which no later event refers.
void forget_pair(void* joined);

}  // namespace robustrun::tracer::nccl
