#pragma once
// Training data for other languages: part of librobustrun.so. Its user is
// python/robustrun/_data/c_api.py.
//
// Every function that can fail returns 0 or a code (rr_code of checkpoint/c_api/api.h);
// rr_data_error() then returns a sentence for the user, valid in the calling thread until its next
// call. Nothing is thrown or printed. A handle belongs to the caller, which makes one call at a
// time on it.

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
  const char* column;       // loader::Recipe; "" for what is not given
  const char* tokenizer;
  const char* transform;
  int64_t end;              // token that is appended to each record; -1: none
} rr_data_source;

typedef struct rr_data_spec {  // loader::Spec
  uint64_t seed;
  const rr_data_source* sources;
  size_t source_count;
  uint64_t tokens;  // of a step
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

typedef struct rr_data_cursor {  // loader::Cursor
  uint64_t step;
  uint64_t dropped;
  uint64_t* positions;  // of each source
  int64_t* owed;        // of each source
  rr_data_piece* carry;
  size_t carry_count;
} rr_data_cursor;

typedef struct rr_data_step {
  uint64_t step;
  uint64_t labels;         // over all ranks
  uint64_t digest;
  uint32_t sequences;      // of one micro-batch of this rank
  size_t carry_at_begin;   // pieces in the cursors
  size_t carry_at_end;
} rr_data_step;

RR_DATA_API const char* rr_data_error(void);
// Calls `take` for each input file of a source that is text, in their order: its path, the prefix
// of the tokens made of it, and whether they exist. The texts are valid only until `take` returns.
RR_DATA_API int rr_data_inputs(const rr_data_spec* spec, const char* folder, size_t source,
                               void (*take)(void* context, const char* path, const char* tokens,
                                            int is_prepared),
                               void* context);
// Reads the indices of all sources. Relative paths are relative to `folder`. Copies `spec` and
// `folder`.
RR_DATA_API int rr_data_open(const rr_data_spec* spec, const char* folder, uint32_t rank,
                             uint32_t ranks, rr_data** data);
RR_DATA_API void rr_data_close(rr_data* data);
// Hash of the lengths and places of a source's samples. `source` must be below source_count.
RR_DATA_API uint64_t rr_data_fingerprint(const rr_data* data, size_t source);
// Continues after `cursor`: the next step is the one after it.
RR_DATA_API int rr_data_seek(rr_data* data, const rr_data_cursor* cursor);
// Goes to the next step. After rr_data_open() and after each rr_data_seek() it must succeed once
// before rr_data_get_cursor(), rr_data_segments() or rr_data_read() is called.
RR_DATA_API int rr_data_next_step(rr_data* data, rr_data_step* step);
// The cursor at the beginning or the end of the current step. The caller provides the arrays:
// `positions` and `owed` with one element per source, `carry` with carry_count, which must be the
// carry_at_begin or carry_at_end of that step.
RR_DATA_API int rr_data_get_cursor(const rr_data* data, int at_end, rr_data_cursor* cursor);
// How many numbers rr_data_read() writes to `segments`: the ends of documents' pieces and of
// padding, in tokens, after a first 0 (cu_seqlens). 0: a step has no such micro-batch.
RR_DATA_API size_t rr_data_segments(const rr_data* data, uint32_t micro);
// Reads a micro-batch. `tokens`, `labels` and `positions` have room for sequences * context numbers
// each, `segments` for rr_data_segments(). `labelled`: number of labels that are not -100.
RR_DATA_API int rr_data_read(rr_data* data, uint32_t micro, int64_t* tokens, int64_t* labels,
                             int64_t* positions, int32_t* segments, uint64_t* labelled);

// A shuffled epoch of `samples` samples, for data sets that the caller reads: the samples at
// positions first, first + stride, …, `count` of them. Depends on its arguments alone.
RR_DATA_API int rr_data_shuffled(uint64_t seed, uint64_t epoch, uint64_t samples, uint64_t first,
                                 uint64_t stride, size_t count, uint64_t* out);

#ifdef __cplusplus
}
#endif
