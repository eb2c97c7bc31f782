#pragma once
// Which of our handles belongs to which handle of the plugin behind ours.
//
// NCCL keeps one pointer per event. It gets the other plugin's, which thus goes through us
// unchanged and cannot be lost; ours is found in this table, by that pointer. A handle of ours
// alone, of an event that the other plugin does not want or has no handle for, is given to NCCL as
// it is: no pointer of a process has bits as high as our handles have (handle.h).
//
// The table has room for all events in flight many times over. When it is full the oldest entry of
// a row makes room: its event is then unknown to us, as if its slot had been dropped. Any thread
// may call these functions; none of them waits.

#include <cstdint>

namespace robustrun::tracer::nccl {

// The pointer for NCCL. `theirs` may be null; then `ours` is returned.
[[nodiscard]] void* join(void* theirs, void* ours);
// Our handle in a pointer of NCCL's; null: we have none.
[[nodiscard]] void* ours_of(void* joined);
// The other plugin's handle in a pointer of NCCL's; null: it has none.
[[nodiscard]] void* theirs_of(void* joined);
// Removes the entry of an event that no other event refers to any more.
void forget_pair(void* joined);

}  // namespace robustrun::tracer::nccl
