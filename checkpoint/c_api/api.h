#pragma once
// Checkpoints for other languages: librobustrun.so. Its first user is
// python/robustrun/_checkpoint/c_api.py.
//
// Every function that can fail answers an rr_code; rr_error() is then a sentence for the user, of
// the calling thread, until its next call. Nothing is thrown, nothing is printed. Handles belong to
// the caller; one call at a time on one handle (a save counts as its store). Texts are UTF-8 and
// end in NUL, blobs have a length; checkpoint/c_api/blobs.h says what is in them.

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define RR_ABI_VERSION 1
#define RR_API __attribute__((visibility("default")))

typedef enum rr_code {
  RR_OK = 0,
  RR_INVALID_ARGUMENT = 1,
  RR_NOT_FOUND = 2,
  RR_UNAVAILABLE = 3,  // of a newer format
  RR_TIMEOUT = 4,
  RR_PERMISSION = 5,
  RR_PROTOCOL = 6,
  RR_CORRUPT = 7,  // a checksum, or a contradiction
  RR_LIMIT = 8,
  RR_CANCELLED = 9,
  RR_CONFLICT = 10,  // a later attempt was here
  RR_OS = 11,
  RR_INTERNAL = 12
} rr_code;

typedef enum rr_io_way {  // how data gets past the page cache; IoWay
  RR_IO_AUTO = 0,
  RR_IO_RING = 1,  // io_uring
  RR_IO_DIRECT = 2,  // O_DIRECT
  RR_IO_BUFFERED = 3  // not at all
} rr_io_way;

typedef struct rr_store rr_store;  // directories to save into
typedef struct rr_save rr_save;  // one step that is being saved
typedef struct rr_checkpoint rr_checkpoint;  // one to read

typedef struct rr_blob {  // to be given back by rr_blob_free
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

// The first directory is the home. `weights`: shares of the data, or NULL. Takes memory and
// threads, kept until rr_store_close.
RR_API int rr_store_open(const char* const* directories, const double* weights, size_t count,
                         uint32_t workers_per_directory, rr_store** store);
// As rr_store_open. `patience_ms`: a directory that takes longer for a call is done without;
// 0: the default, 60,000.
RR_API int rr_store_open_with(const char* const* directories, const double* weights, size_t count,
                              uint32_t workers_per_directory, rr_io_way io, uint64_t patience_ms,
                              rr_store** store);
RR_API void rr_store_close(rr_store* store);
// Store::limit_writes: data and parity at no more than this; 0: no limit. At any time, by any
// thread.
RR_API void rr_store_write_rate(rr_store* store, uint64_t bytes_per_s);
// Store::use_parity: from now on this many directories may be lost.
RR_API int rr_store_parity(rr_store* store, uint32_t parity);
// Store::claim: the generation that all processes of this attempt of this run get.
RR_API int rr_store_claim(rr_store* store, const char* run, uint64_t attempt, uint64_t* generation);
// The same for an attempt that this supervisor of the run ordered (ROBUSTRUN_INCARNATION).
RR_API int rr_store_claim_by(rr_store* store, const char* run, uint64_t incarnation,
                             uint64_t attempt, uint64_t* generation);

// Makes or joins the attempt to save `step`; needs a claim. `saves_before`: how many saves this
// session began before this one, the same on every rank. `participants`: a blob. The store must
// outlive the save.
RR_API int rr_save_begin(rr_store* store, uint64_t step, uint64_t saves_before,
                         const char* participants, size_t participants_size, rr_save** save);
// Writes and syncs the data of `writer`. `structure` describes `count` shards, `addresses` are
// their bytes, which must not change meanwhile. `notes`: a blob of texts, what went wrong without
// harm.
RR_API int rr_save_write(rr_save* save, const char* writer, const char* structure,
                         size_t structure_size, const void* const* addresses, size_t count,
                         const char* states, size_t states_size, rr_blob* notes);
// Takes the checksums of these shards' bytes (indices into the structure) once more; `changed`: a
// blob of the names of those that are not as they were written. To be done before the commit, while
// the addresses still hold.
RR_API int rr_save_recheck(const rr_save* save, const uint64_t* shards, size_t count,
                           rr_blob* changed);
// Publishes the part that was written, then commits when all parts are there; `committed`: 0 when
// some are missing yet.
RR_API int rr_save_commit(rr_save* save, int* committed, rr_blob* notes);
// "step-000000001000/g7-3f9c...", until rr_save_close.
RR_API const char* rr_save_name(const rr_save* save);
RR_API void rr_save_close(rr_save* save);

// What lies in the directories, newest first: a catalogue.
RR_API int rr_list(const char* const* directories, size_t count, rr_blob* catalogue);
// `name` as of rr_save_name, or NULL: the newest that is committed and not poisoned.
// RR_NOT_FOUND: there is none.
RR_API int rr_checkpoint_open(const char* const* directories, size_t count, const char* name,
                              rr_checkpoint** checkpoint);
// As rr_checkpoint_open and rr_store_open_with.
RR_API int rr_checkpoint_open_with(const char* const* directories, size_t count, const char* name,
                                   rr_io_way io, uint64_t patience_ms, rr_checkpoint** checkpoint);
RR_API void rr_checkpoint_close(rr_checkpoint* checkpoint);
RR_API int rr_checkpoint_describe(const rr_checkpoint* checkpoint, rr_blob* description);
// Every byte that is handed out was checked; after an error none of them is to be used.
RR_API int rr_checkpoint_read(rr_checkpoint* checkpoint, const rr_read* reads, size_t count);
// Reads everything. `faults`: a blob of texts, empty when all is sound; then it is marked so.
RR_API int rr_checkpoint_verify(rr_checkpoint* checkpoint, rr_blob* faults);
// Nobody starts from it any more. `reason`: one word.
RR_API int rr_checkpoint_poison(const rr_checkpoint* checkpoint, const char* reason);
RR_API int rr_checkpoint_pin(const rr_checkpoint* checkpoint, int pinned);

// Keeps the `keep` newest verified ones, what is newer, and pinned ones; those that stay are
// verified first. Attempts never committed go when older than FENCE. `removed`: names; `notes`:
// texts.
RR_API int rr_prune(const char* const* directories, size_t count, uint64_t keep, rr_blob* removed,
                    rr_blob* notes);

// Makes those of the directories that are not there, for the user alone; never their parents, as a
// mount may be missing. `errors`: for each of them 0 or an errno; ETIMEDOUT: it did not answer
// within `patience_ms` (0: the default).
RR_API int rr_make_directories(const char* const* directories, size_t count, uint64_t patience_ms,
                               int* errors);

#ifdef __cplusplus
}
#endif
