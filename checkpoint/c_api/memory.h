#pragma once
// Copies of a rank's state in memory, saved while training goes on: the rest of librobustrun.so.
// As in c_api.h. rr_memory_stage and rr_memory_read are called by one thread, rr_memory_drain by
// another, for a slot that is held.

#include "checkpoint/c_api/api.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct rr_memory rr_memory;

typedef struct rr_order { /* what is copied, and how it will be saved: as for rr_save_begin */
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

/* `threads` copy, the caller's among them. No memory is taken yet. */
RR_API int rr_memory_open(uint32_t threads, rr_memory** memory);
/* Memory that was passed on (rr_memory_use) stays with whoever passed it. */
RR_API void rr_memory_close(rr_memory* memory);
/* Copies are kept from now on in the memfd `fd`, which is taken over and holds two slots, or, when
 * it is -1, in memory of this process with two slots of `slot_bytes`. RR_CONFLICT: a slot is held;
 * RR_LIMIT: there is not so much memory. */
RR_API int rr_memory_use(rr_memory* memory, int fd, uint64_t slot_bytes);
/* Bytes of one slot; 0: there is no memory yet. */
RR_API uint64_t rr_memory_slot_bytes(const rr_memory* memory);
/* Bytes that a slot needs for this. `store` is claimed. */
RR_API int rr_memory_plan(const rr_store* store, const rr_order* order, uint64_t* slot_bytes);
/* Copies; the sources may change when it returns. Touches no disk. `slot`: which one has it;
 * `name`: as of rr_save_name, once it is saved. */
RR_API int rr_memory_stage(rr_memory* memory, const rr_store* store, const rr_order* order,
                           uint32_t* slot, rr_blob* name);
/* The copy in the slot is not to be used: the caller knows that its sources changed. */
RR_API void rr_memory_discard(rr_memory* memory, uint32_t slot);
/* While it is held no copy is made into the slot. */
RR_API void rr_memory_hold(rr_memory* memory, uint32_t slot, int held);
/* Saves the copy in the slot as its writer's part and commits when it is the last one. Nothing is
 * saved when a tensor is no longer what was copied (RR_CORRUPT names it). */
RR_API int rr_memory_drain(rr_memory* memory, uint32_t slot, rr_store* store, int* committed,
                           rr_blob* notes);
/* As rr_checkpoint_read, from memory where that has a copy of exactly this checkpoint; whole
 * shards only. `from_memory`: how many bytes. */
RR_API int rr_memory_read(rr_memory* memory, rr_checkpoint* checkpoint, const rr_read* reads,
                          size_t count, uint64_t* from_memory);
/* Which shards of the checkpoint rr_memory_read would find in memory: `count` from `first` on. */
RR_API int rr_memory_holds(const rr_memory* memory, const rr_checkpoint* checkpoint,
                           uint64_t* first, uint64_t* count);

#ifdef __cplusplus
}
#endif
