#pragma once
// Checkpoints for other languages: librobustrun.so. python/robustrun/_checkpoint/c_api.py uses it.
//
// Every function that can fail returns an rr_code; rr_error() then returns a sentence for the user,
// valid in the calling thread until its next call. Nothing is thrown or printed. The caller owns
// the handles and makes one call at a time on each; a store and its saves count as one handle.
// Texts are UTF-8 and end in NUL. Blobs have a length; checkpoint/c_api/blobs.h defines their
// contents.

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define RR_ABI_VERSION 4
#define RR_API __attribute__((visibility("default")))

typedef enum rr_code {
  RR_OK = 0,
  RR_INVALID_ARGUMENT = 1,
  RR_NOT_FOUND = 2,
  RR_UNAVAILABLE = 3,  // another version's format, EIO, or data on another machine's local disk
  RR_TIMEOUT = 4,
  RR_PERMISSION = 5,
  RR_PROTOCOL = 6,
  RR_CORRUPT = 7,  // a wrong checksum, or contradictory data
  RR_LIMIT = 8,
  RR_CANCELLED = 9,
  // A later attempt of the run took over, or the save is committed already or has another layout.
  RR_CONFLICT = 10,
  RR_OS = 11,
  RR_INTERNAL = 12
} rr_code;

typedef enum rr_io_way {  // how data gets to and from files; as IoWay in checkpoint/disk/disk.h
  RR_IO_AUTO = 0,
  RR_IO_RING = 1,
  RR_IO_DIRECT = 2,
  RR_IO_BUFFERED = 3
} rr_io_way;

typedef struct rr_store rr_store;  // directories to save into
typedef struct rr_save rr_save;  // a step that is being saved
typedef struct rr_checkpoint rr_checkpoint;  // a checkpoint to read

typedef struct rr_blob {  // to be freed by rr_blob_free
  char* data;
  size_t size;
} rr_blob;

typedef struct rr_read {
  uint64_t shard;  // index in the description
  uint64_t begin;  // within the shard, bytes
  uint64_t bytes;
  void* destination;
} rr_read;

RR_API uint32_t rr_abi_version(void);
RR_API const char* rr_error(void);
RR_API void rr_blob_free(rr_blob* blob);

// Opens a store. The first directory is the home. `weights`: each directory's share of the data,
// above 0, in any unit; NULL: equal shares. `workers_per_directory`: 1 to 64 threads.
RR_API int rr_store_open(const char* const* directories, const double* weights, size_t count,
                         uint32_t workers_per_directory, rr_store** store);
// As rr_store_open. `patience_ms`: a directory that takes longer for a call is not used; 0: the
// default, 60,000.
RR_API int rr_store_open_with(const char* const* directories, const double* weights, size_t count,
                              uint32_t workers_per_directory, rr_io_way io, uint64_t patience_ms,
                              rr_store** store);
RR_API void rr_store_close(rr_store* store);
// Store::limit_writes: writes data and parity no faster than this; 0: no limit. May be called at
// any time by any thread.
RR_API void rr_store_write_rate(rr_store* store, uint64_t bytes_per_s);
// Store::use_parity: from now on, saves so that this many directories may be lost.
RR_API int rr_store_parity(rr_store* store, uint32_t parity);
// Store::claim: returns the generation that all processes of this attempt of the run share.
RR_API int rr_store_claim(rr_store* store, const char* run, uint64_t attempt, uint64_t* generation);
// The same for an attempt started by the supervisor with this incarnation (ROBUSTRUN_INCARNATION).
RR_API int rr_store_claim_by(rr_store* store, const char* run, uint64_t incarnation,
                             uint64_t attempt, uint64_t* generation);

// Creates or joins the attempt to save `step`. The store must be claimed, and must outlive the
// save. `saves_before`: how many saves this attempt of the run began earlier, the same on every
// rank. `participants`: a blob.
RR_API int rr_save_begin(rr_store* store, uint64_t step, uint64_t saves_before,
                         const char* participants, size_t participants_size, rr_save** save);
// Writes and syncs the data of `writer`. `structure` describes `count` shards whose bytes are at
// `addresses` and must not change meanwhile. `notes`: a blob of texts about harmless faults.
RR_API int rr_save_write(rr_save* save, const char* writer, const char* structure,
                         size_t structure_size, const void* const* addresses, size_t count,
                         const char* states, size_t states_size, rr_blob* notes);
// Recomputes the checksums of these shards (indices into the structure). `changed`: a blob with the
// names of the shards that changed since they were written. Call this before the commit, while the
// addresses are valid.
RR_API int rr_save_recheck(const rr_save* save, const uint64_t* shards, size_t count,
                           rr_blob* changed);
// Publishes the written part, and commits if all parts are present. `committed`: 1 if this
// call committed the checkpoint, 0 if parts are missing or another writer's call committed it.
RR_API int rr_save_commit(rr_save* save, int* committed, rr_blob* notes);
// The checkpoint's name, such as "step-000000001000/g7-3f9c...", valid until rr_save_close.
RR_API const char* rr_save_name(const rr_save* save);
RR_API void rr_save_close(rr_save* save);

// Lists the attempts in the directories, newest first: a catalogue blob.
RR_API int rr_list(const char* const* directories, size_t count, rr_blob* catalogue);
// Opens the checkpoint `name` (as of rr_save_name), or, if that is NULL, the newest one that is
// committed and not poisoned. RR_NOT_FOUND: there is no such checkpoint.
RR_API int rr_checkpoint_open(const char* const* directories, size_t count, const char* name,
                              rr_checkpoint** checkpoint);
// As rr_checkpoint_open. `io` and `patience_ms`: as for rr_store_open_with.
RR_API int rr_checkpoint_open_with(const char* const* directories, size_t count, const char* name,
                                   rr_io_way io, uint64_t patience_ms, rr_checkpoint** checkpoint);
RR_API void rr_checkpoint_close(rr_checkpoint* checkpoint);
RR_API int rr_checkpoint_describe(const rr_checkpoint* checkpoint, rr_blob* description);
// Reads and checks the bytes of `count` requests. After an error no destination may be used.
RR_API int rr_checkpoint_read(rr_checkpoint* checkpoint, const rr_read* reads, size_t count);
// Reads everything. `faults`: a blob of texts; if it is empty, the checkpoint is marked as
// verified.
RR_API int rr_checkpoint_verify(rr_checkpoint* checkpoint, rr_blob* faults);
// Marks the checkpoint as poisoned: no job starts from it any more. `reason`: one word.
RR_API int rr_checkpoint_poison(const rr_checkpoint* checkpoint, const char* reason);
RR_API int rr_checkpoint_pin(const rr_checkpoint* checkpoint, int pinned);

// Removes old checkpoints, as prune() in checkpoint/store/retention.h. Verifies checkpoints from
// the newest down until `keep` are verified or one is damaged. Then keeps the `keep` newest
// verified ones, all newer ones, and pinned ones, and removes the others. `removed`: a blob of
// names. `notes`: a blob of texts.
RR_API int rr_prune(const char* const* directories, size_t count, uint64_t keep, rr_blob* removed,
                    rr_blob* notes);

// Creates missing directories with mode 0700, but not their parents: a missing parent may be a
// mount that is not there. `errors`: for each directory 0 or an errno; ETIMEDOUT: it did not answer
// within `patience_ms` (0: the default).
RR_API int rr_make_directories(const char* const* directories, size_t count, uint64_t patience_ms,
                               int* errors);

#ifdef __cplusplus
}
#endif
