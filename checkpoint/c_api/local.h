#pragma once
// Local disks, and draining them to shared storage (docs/checkpoints.md, "Local disks"). Errors,
// handles and texts are as in api.h.

#include "checkpoint/c_api/api.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct rr_drain rr_drain;  // LocalDrain; used by one thread, except rr_drain_rate

// Store::use_local. `count` 0: no local disks any more. `node`: this machine's name.
RR_API int rr_store_local(rr_store* store, const char* const* directories, size_t count,
                          const char* node);
// Sets `present` for each of the `count` shards of the description: 1 if its files can be found
// here.
RR_API int rr_checkpoint_present(rr_checkpoint* checkpoint, uint8_t* present, size_t count);

// `local_count` may be 0; then rr_drain_clean removes nothing.
RR_API int rr_drain_open(const char* const* directories, size_t count, const char* const* local,
                         size_t local_count, rr_io_way io, uint64_t patience_ms, rr_drain** drain);
RR_API void rr_drain_close(rr_drain* drain);
// LocalDrain::drain. `attempt`: a name, as of rr_save_name. `complete`: 1 if the files of all
// writers are drained and this call recorded it. `notes`: a blob of texts.
RR_API int rr_drain_files(rr_drain* drain, const char* attempt, const char* writer, int* complete,
                          rr_blob* notes);
// LocalDrain::clean. `removed`: a blob of names.
RR_API int rr_drain_clean(rr_drain* drain, rr_blob* removed);
// Drains no faster than this; 0: no limit. May be called at any time by any thread.
RR_API void rr_drain_rate(rr_drain* drain, uint64_t bytes_per_s);

// LocalDrain::act_for.
RR_API void rr_drain_act_for(rr_drain* drain, uint64_t generation);
// LocalDrain::rest with {turn, turns}. The other arguments are as for rr_drain_files.
RR_API int rr_drain_rest(rr_drain* drain, const char* attempt, uint64_t turn, uint64_t turns,
                         int* complete, rr_blob* notes);
// LocalDrain::remove_halves.
RR_API int rr_drain_remove_halves(rr_drain* drain);
// Sets `is_local` to 1 if some data is only on disks of single machines.
RR_API int rr_checkpoint_is_local(rr_checkpoint* checkpoint, int* is_local);

#ifdef __cplusplus
}
#endif
