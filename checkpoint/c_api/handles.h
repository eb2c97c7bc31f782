#pragma once
// The handles of the C interface, and helpers that its functions share. Private to c_api/.

#include <chrono>
#include <exception>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"
#include "checkpoint/c_api/api.h"
#include "checkpoint/store/catalog.h"
#include "checkpoint/store/fence.h"
#include "checkpoint/store/reader.h"
#include "checkpoint/store/store.h"

struct rr_store {
  robustrun::checkpoint::Store store;
  robustrun::checkpoint::Session session;  // the session that claimed
  std::uint64_t generation = 0;            // 0: no session has claimed
};

struct rr_save {
  rr_store* owner = nullptr;
  robustrun::checkpoint::AttemptId attempt;
  std::string name;
  std::optional<robustrun::checkpoint::PreparedPart> written;
  std::vector<std::string_view> sources;  // the caller's memory
};

struct rr_checkpoint {
  robustrun::checkpoint::FoundAttempt found;  // without its manifest, which the reader has
  robustrun::checkpoint::CheckpointReader reader;
  robustrun::checkpoint::ReadOptions options;
};

namespace robustrun::checkpoint {

inline thread_local std::string last_error;

inline void keep_text(const char* cause) noexcept {
  try {
    last_error = std::string("cannot go on: ") + cause;
  } catch (const std::bad_alloc&) {
    last_error.clear();  // rr_error() then returns a constant
  }
}

// Runs `body` and returns RR_OK, or the rr_code of its error; the text goes to last_error.
// Exceptions become errors, so that none crosses the C interface; only std::bad_alloc is expected.
template <class Body>
int guarded(Body body) noexcept {
  try {
    const base::Status status = body();
    if (status) return RR_OK;
    last_error = status.error().what;
    return static_cast<int>(status.error().code) + 1;
  } catch (const std::bad_alloc&) {
    last_error.clear();  // rr_error() then returns a constant
    return RR_LIMIT;
  } catch (const std::exception& error) {
    keep_text(error.what());
  } catch (...) {
    keep_text("an unknown exception");
  }
  return RR_INTERNAL;
}

[[nodiscard]] inline std::string_view blob_view(const char* data, size_t size) {
  return data == nullptr ? std::string_view() : std::string_view(data, size);
}
// Copies `bytes` to `blob`, which the caller frees with rr_blob_free(). Does nothing if `blob` is
// null. kLimit: out of memory.
base::Status give_blob(std::string_view bytes, rr_blob* blob);
// kInvalidArgument: no directory, or too many.
base::Result<std::vector<std::string>> directories_from(const char* const* directories,
                                                        size_t count);
// kInvalidArgument: `io` is not an rr_io_way.
base::Result<IoWay> io_way_from(rr_io_way io);
// `ms` 0: the default. kInvalidArgument: more than a day.
base::Result<std::chrono::milliseconds> patience_from(uint64_t ms);
// Contents from the arguments of rr_save_write(). The caller owns the buffers, which must outlive
// the result. kInvalidArgument: a blob is malformed, shards and buffers do not match, or a buffer
// is missing.
base::Result<PartContents> contents_from(std::string_view structure, const void* const* addresses,
                                         size_t count, std::string_view states);

}  // namespace robustrun::checkpoint
