#pragma once
// Sections of a manifest that a reader may do without (bit 31 of their kind): parity groups, and on
// which machine's own disk a file is. Of manifest.cpp alone, which checks their checksums.

#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/format/manifest.h"

namespace robustrun::checkpoint {

[[nodiscard]] std::string encode_groups(const std::vector<ParityGroup>& groups);
[[nodiscard]] bool decode_groups(std::string_view bytes, std::vector<ParityGroup>& groups);

// list of (text node, list of u32 files)
[[nodiscard]] bool has_nodes(const std::vector<DataFile>& files);
[[nodiscard]] std::string encode_nodes(const std::vector<DataFile>& files);
// Into files that are there already. False: malformed, or a file that is not there.
[[nodiscard]] bool decode_nodes(std::string_view bytes, std::vector<DataFile>& files);
// The names alone.
[[nodiscard]] bool names_of_nodes(std::string_view bytes, std::vector<std::string>& nodes);

}  // namespace robustrun::checkpoint
