#pragma once
// Codec for a job's layout and for lists of names. Manifests contain them, and Python and
// librobustrun.so exchange them. Decoding is bounded by limits.h.

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/format/byte_codec.h"
#include "checkpoint/format/manifest.h"

namespace robustrun::checkpoint {

void put_names(ByteWriter& out, std::span<const std::string> names);
void put_layout(ByteWriter& out, const WorldLayout& layout);
// After malformed bytes, in.ok() is false and the result is incomplete.
[[nodiscard]] std::vector<std::string> names_from(ByteReader& in, std::size_t names_max);
[[nodiscard]] WorldLayout layout_from(ByteReader& in);

}  // namespace robustrun::checkpoint
