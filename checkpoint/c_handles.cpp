#include "checkpoint/c_handles.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "checkpoint/c_blobs.h"

namespace robustrun::checkpoint {

using base::Errc;
using base::fail;
using base::Result;
using base::Status;

Status give_blob(std::string_view bytes, rr_blob* blob) {
  if (blob == nullptr) return {};
  blob->data = static_cast<char*>(std::malloc(std::max<std::size_t>(bytes.size(), 1)));
  blob->size = blob->data == nullptr ? 0 : bytes.size();
  if (blob->data == nullptr) return fail(Errc::kLimit, "cannot answer: there is no memory");
  std::memcpy(blob->data, bytes.data(), bytes.size());
  return {};
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
