#pragma once
// Copies of a rank's state in memory, saved while training goes on. Errors, handles and texts are
// as in api.h. One thread calls rr_memory_stage and rr_memory_read; another may call
// rr_memory_drain for a slot that is held.

#include "checkpoint/c_api/api.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct rr_memory rr_memory; /* memory for copies, and the threads that copy */

/* What to copy, and how to save it: the arguments of rr_save_begin and rr_save_write. */
typedef struct rr_order {
  uint64_t step;
  uint64_t saves_before;
  const char* participants;
  size_t participants_size;
  const char* writer;
  const char* structure;
  size_t structure_size;
  const void* const* addresses;
  size_t count;
  const char* states;
  size_t states_size;
} rr_order;

/* `threads`: number of copying threads, including the caller's. Takes no memory yet. */
RR_API int rr_memory_open(uint32_t threads, rr_memory** memory);
/* Closes the memfd of rr_memory_use, too; the copies stay while its maker's own descriptor does. */
RR_API void rr_memory_close(rr_memory* memory);
/* Keeps copies from now on in the memfd `fd`, or, if `fd` is -1, in two slots of `slot_bytes` in
 * this process. Takes ownership of `fd`, also on errors. Drops the copies in earlier memory.
 * RR_CONFLICT: a slot is held. RR_LIMIT: there is too little memory. */
RR_API int rr_memory_use(rr_memory* memory, int fd, uint64_t slot_bytes);
/* Bytes of one slot; 0: no memory yet. */
RR_API uint64_t rr_memory_slot_bytes(const rr_memory* memory);
/* Sets `slot_bytes` to what a slot needs for `order`. `store` must be claimed. */
RR_API int rr_memory_plan(const rr_store* store, const rr_order* order, uint64_t* slot_bytes);
/* Makes a copy; the sources may change afterwards. Touches no disk. `slot`: the slot of the copy;
 * `name`: the name that the checkpoint will have, as of rr_save_name. */
RR_API int rr_memory_stage(rr_memory* memory, const rr_store* store, const rr_order* order,
                           uint32_t* slot, rr_blob* name);
/* Invalidates the copy in the slot. For a caller that finds that its sources changed. */
RR_API void rr_memory_discard(rr_memory* memory, uint32_t slot);
/* While a slot is held (`held` 1), no copy is made into it. */
RR_API void rr_memory_hold(rr_memory* memory, uint32_t slot, int held);
/* Saves the copy in the slot as its writer's part and commits if it was the last part; `committed`
 * as of rr_save_commit. RR_CORRUPT names a tensor whose copy was damaged in memory; then nothing is
 * saved. */
RR_API int rr_memory_drain(rr_memory* memory, uint32_t slot, rr_store* store, int* committed,
                           rr_blob* notes);
/* As rr_checkpoint_read, but whole shards come from memory if it has a copy of this checkpoint.
 * `from_memory`: the number of bytes that came from memory. */
RR_API int rr_memory_read(rr_memory* memory, rr_checkpoint* checkpoint, const rr_read* reads,
                          size_t count, uint64_t* from_memory);
/* Which shards of the checkpoint rr_memory_read would take from memory: `count` from `first` on. */
RR_API int rr_memory_holds(const rr_memory* memory, const rr_checkpoint* checkpoint,
                           uint64_t* first, uint64_t* count);

#ifdef __cplusplus
}
#endif
