#pragma once
// Training data for other languages: part of librobustrun.so. python/robustrun/_data/c_api.py uses
// it.
//
// Every function that can fail returns 0 or a code (rr_code of checkpoint/c_api/api.h);
// rr_data_error() then returns a sentence for the user, valid in the calling thread until its next
// call. Nothing is thrown or printed. The caller owns the handles and makes one call at a time on
// each.

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define RR_DATA_API __attribute__((visibility("default")))

typedef struct rr_data rr_data;  // the batches of one rank

typedef struct rr_data_source {  // loader::Source
  const char* name;
  const char* format;  // "megatron", "jsonl", "parquet", "arrow"
  const char* const* paths;
  size_t path_count;
  const uint64_t* weights;  // step, millionths, step, millionths, …
  size_t weight_count;      // pairs
  const char* column;       // these four: loader::Recipe; "": not given
  const char* tokenizer;
  const char* transform;
  int64_t end;              // token that is appended to each record; -1: none
  // The text that is tokenized while the training runs (loader::TextFile); text_count = 0: there is
  // none.
  const char* const* texts;
  const char* const* pieces;
  const uint64_t* records;
  size_t text_count;
  uint64_t fingerprint;  // of the texts
} rr_data_source;

typedef struct rr_data_spec {  // loader::Spec; the words are those of docs/data.md
  uint64_t seed;
  const rr_data_source* sources;
  size_t source_count;
  uint64_t tokens;  // in a step
  uint32_t context;
  uint32_t micro;
  const char* pack;
  const char* leftover;
  const char* longer;
  uint32_t block;
  uint32_t window;
  uint64_t linear;  // cost of a token, in millionths
  uint64_t square;  // adds square * L * L / 1,000 millionths for L tokens
  const char* sync;
  const char* cache;
} rr_data_spec;

typedef struct rr_data_piece {  // loader::Piece
  uint32_t source;
  uint32_t offset;
  uint32_t length;
  uint64_t sample;
} rr_data_piece;

typedef struct rr_data_cursor {  // loader::Cursor, and the number of the next micro-batch
  uint64_t step;
  uint64_t dropped;
  uint64_t* positions;  // of each source
  int64_t* owed;  // of each source
  rr_data_piece* carry;
  size_t carry_count;
  uint32_t micro;
} rr_data_cursor;

typedef struct rr_data_memory rr_data_memory;  // of one batch

typedef struct rr_data_batch {
  uint64_t step;
  uint64_t step_labels;  // number of labels other than -100 in the step, over all ranks
  uint64_t labels;  // number of labels other than -100 in this micro-batch
  uint32_t micro;
  uint32_t sequences;
  size_t segment_count;
  // The tokens, then the labels, then the positions: sequences * context int64_t of each. Then
  // segment_count int32_t: 0, then the ends of all pieces and of the padding, in tokens
  // (cu_seqlens).
  void* block;
  size_t block_bytes;  // size of the block, the same for all batches; the end may be unused
  rr_data_memory* memory;  // owns the block; to be given back with rr_data_release()
} rr_data_batch;

RR_DATA_API const char* rr_data_error(void);
// For a source that is text, calls `take` for each input file, in order, with the file's `path`,
// the prefix `tokens` of the data set made of it, and whether that data set exists. The texts are
// valid only until `take` returns.
RR_DATA_API int rr_data_inputs(const rr_data_spec* spec, const char* folder, size_t source,
                               void (*take)(void* context, const char* path, const char* tokens,
                                            int is_prepared),
                               void* context);
// Reads the indices of all sources. Relative paths are relative to `folder`. `shared`: a folder of
// this user in which the ranks of this machine share one copy of the indices; "": they share
// nothing. The arguments need not outlive the call.
RR_DATA_API int rr_data_open(const rr_data_spec* spec, const char* folder, const char* shared,
                             uint32_t rank, uint32_t ranks, rr_data** data);
RR_DATA_API void rr_data_close(rr_data* data);
// How many samples a source has. Here and in the next function, `source` must be below
// source_count.
RR_DATA_API uint64_t rr_data_samples(const rr_data* data, size_t source);
// Hash of the lengths and places of a source's samples.
RR_DATA_API uint64_t rr_data_fingerprint(const rr_data* data, size_t source);
// Continues with micro-batch number `micro` of the step after `cursor`. After an error the loader
// is where it was.
RR_DATA_API int rr_data_seek(rr_data* data, const rr_data_cursor* cursor);
// Waits until rr_data_ready() would return at once (with a batch or an error), but no longer than
// `milliseconds`; a signal may end the wait earlier. So the caller can handle signals, and report
// what is being read, while it waits. `is_there`: whether rr_data_ready() would return at once. If
// not, `source` and `path` tell which file is being read ("": none); they are valid until
// rr_data_close(). `sample`: the sample of this source whose tokens do not exist yet and for which
// the loader waits; UINT64_MAX: none.
RR_DATA_API int rr_data_wait(rr_data* data, uint32_t milliseconds, int* is_there,
                             const char** source, const char** path, uint64_t* sample);
// Waits for the batch after the one that was received last. While the caller uses the batch, a
// thread reads the next one. Until rr_data_receive() or rr_data_seek(), each call returns the same
// batch with one more handle to its memory; the caller gives back each handle with
// rr_data_release(). After an error, the next call tries again.
RR_DATA_API int rr_data_ready(rr_data* data, rr_data_batch* batch);
// Marks the batch that rr_data_ready() returned as received. No effect if that batch has another
// step or micro-batch number.
RR_DATA_API void rr_data_receive(rr_data* data, uint64_t step, uint32_t micro);
// May be called by any thread, also after rr_data_close().
RR_DATA_API void rr_data_release(rr_data_memory* memory);
// Digest of the plan of the step whose batch was received last. 0 until a batch is received, and
// again after rr_data_seek().
RR_DATA_API uint64_t rr_data_digest(const rr_data* data);
// Number of pieces that rr_data_position() writes to `carry`.
RR_DATA_API size_t rr_data_carried(const rr_data* data);
// The position after the batch that was received last. The caller provides the arrays: `positions`
// and `owed` with one element per source, and `carry` with carry_count = rr_data_carried().
RR_DATA_API int rr_data_position(const rr_data* data, rr_data_cursor* cursor);
// Plans the steps from cursor `from` to cursor `to`, and calls `take` for each piece, of all ranks,
// in the steps from number `first` on. `arrives`: whether the plan ends exactly at `to`. Reads no
// tokens; does not move the loader. `piece` is valid only until `take` returns.
RR_DATA_API int rr_data_walk(const rr_data* data, const rr_data_cursor* from,
                             const rr_data_cursor* to, uint64_t first,
                             void (*take)(void* context, const rr_data_piece* piece), void* context,
                             int* arrives);

// The order of a source with `samples` samples: writes the samples at `count` positions from
// `position` on. Positions continue over the epochs: position `samples` is the first of epoch 1.
RR_DATA_API int rr_data_order(const rr_data_spec* spec, size_t source, uint64_t samples,
                              uint64_t position, size_t count, uint64_t* out);

// A shuffled epoch of `samples` samples, for data sets that the caller reads: writes the samples at
// the `count` positions first, first + stride, and so on. Depends only on the arguments.
RR_DATA_API int rr_data_shuffled(uint64_t seed, uint64_t epoch, uint64_t samples, uint64_t first,
                                 uint64_t stride, size_t count, uint64_t* out);

#ifdef __cplusplus
}
#endif
