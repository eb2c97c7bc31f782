#include "checkpoint/c_api/handles.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "checkpoint/c_api/blobs.h"
#include "checkpoint/format/limits.h"

namespace robustrun::checkpoint {

using base::Errc;
using base::fail;
using base::Result;
using base::Status;

namespace {
constexpr uint64_t kPatienceMsMax = 86'400'000;
}  // namespace

Status give_blob(std::string_view bytes, rr_blob* blob) {
  if (blob == nullptr) return {};
  blob->data = static_cast<char*>(std::malloc(std::max<std::size_t>(bytes.size(), 1)));
  blob->size = blob->data == nullptr ? 0 : bytes.size();
  if (blob->data == nullptr) return fail(Errc::kLimit, "cannot return a result: out of memory");
  std::memcpy(blob->data, bytes.data(), bytes.size());
  return {};
}

Result<std::vector<std::string>> directories_from(const char* const* directories, size_t count) {
  if (directories == nullptr || count == 0 || count > kMountsMax) {
    return fail(Errc::kInvalidArgument,
                "cannot use checkpoints: between 1 and 256 directories are needed");
  }
  return std::vector<std::string>(directories, directories + count);
}

Result<IoWay> io_way_from(rr_io_way io) {
  switch (io) {
    case RR_IO_AUTO: return IoWay::kAuto;
    case RR_IO_RING: return IoWay::kRing;
    case RR_IO_DIRECT: return IoWay::kDirect;
    case RR_IO_BUFFERED: return IoWay::kBuffered;
  }
  return fail(Errc::kInvalidArgument, "cannot use checkpoints: unknown I/O method");
}

Result<std::chrono::milliseconds> patience_from(uint64_t ms) {
  if (ms > kPatienceMsMax) {
    return fail(Errc::kInvalidArgument, "cannot use checkpoints with more than a day of patience");
  }
  return ms == 0 ? kPatience : std::chrono::milliseconds(ms);
}

Result<PartContents> contents_from(std::string_view structure, const void* const* addresses,
                                   size_t count, std::string_view states) {
  PartContents contents;
  contents.shards = RR_TRY(decode_structure(structure));
  if (!states.empty()) contents.states = RR_TRY(decode_states(states));
  if (contents.shards.size() != count) {
    return fail(Errc::kInvalidArgument, "cannot save: shards and buffers do not match");
  }
  contents.sources.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    const std::uint64_t bytes = contents.shards[i].bytes;
    if (addresses[i] == nullptr && bytes != 0) {
      return fail(Errc::kInvalidArgument,
                  "cannot save '" + contents.shards[i].name + "': it has no buffer");
    }
    contents.sources.push_back(blob_view(static_cast<const char*>(addresses[i]), bytes));
  }
  return contents;
}

}  // namespace robustrun::checkpoint
