#pragma once
// How a job was laid out, and lists of names, as bytes: in a manifest's head and in what scripts
// and the library exchange. Readers take no more than limits.h allows.

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/format/byte_codec.h"
#include "checkpoint/format/manifest.h"

namespace robustrun::checkpoint {

void put_names(ByteWriter& out, std::span<const std::string> names);
void put_layout(ByteWriter& out, const WorldLayout& layout);
// Of bytes that are none of either, what is read until `in` is not ok.
[[nodiscard]] std::vector<std::string> names_from(ByteReader& in, std::size_t names_max);
[[nodiscard]] WorldLayout layout_from(ByteReader& in);

}  // namespace robustrun::checkpoint
