#pragma once
// Disks of single machines, and how what is on them gets to shared storage: the rest of
// librobustrun.so. As in c_api.h; docs/checkpoints.md, "Local disks".

#include "checkpoint/c_api/api.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct rr_drain rr_drain;  // local_drain.h; used by one thread, but for rr_drain_rate

// Store::use_local. `count` 0: none any more. `node`: this machine's name.
RR_API int rr_store_local(rr_store* store, const char* const* directories, size_t count,
                          const char* node);
// For each of the `count` shards of the description 1 or 0: its files can be found here.
RR_API int rr_checkpoint_present(rr_checkpoint* checkpoint, uint8_t* present, size_t count);

// `local_count` 0: rr_drain_clean looks nowhere.
RR_API int rr_drain_open(const char* const* directories, size_t count, const char* const* local,
                         size_t local_count, rr_io_way io, uint64_t patience_ms, rr_drain** drain);
RR_API void rr_drain_close(rr_drain* drain);
// LocalDrain::drain of the attempt of that name. `complete`: 1 when it needs no local disk any
// more, by this call. `notes`: a blob of texts.
RR_API int rr_drain_files(rr_drain* drain, const char* attempt, const char* writer, int* complete,
                          rr_blob* notes);
// LocalDrain::clean. `removed`: names.
RR_API int rr_drain_clean(rr_drain* drain, rr_blob* removed);
// At no more than this; 0: no limit. At any time, by any thread.
RR_API void rr_drain_rate(rr_drain* drain, uint64_t bytes_per_s);

// LocalDrain::act_for: that of the session.
RR_API void rr_drain_act_for(rr_drain* drain, uint64_t generation);
// LocalDrain::rest; `turn` of `turns`. The others as for rr_drain_files.
RR_API int rr_drain_rest(rr_drain* drain, const char* attempt, uint64_t turn, uint64_t turns,
                         int* complete, rr_blob* notes);
RR_API int rr_drain_remove_halves(rr_drain* drain);
// 1: some of it is on disks of single machines alone.
RR_API int rr_checkpoint_is_local(rr_checkpoint* checkpoint, int* is_local);

#ifdef __cplusplus
}
#endif
