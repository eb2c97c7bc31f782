#include "checkpoint/format/manifest_sections.h"

#include <algorithm>
#include <map>

#include "checkpoint/format/byte_codec.h"
#include "checkpoint/format/limits.h"

namespace robustrun::checkpoint {

std::string encode_groups(const std::vector<ParityGroup>& groups) {
  ByteWriter out;
  out.number(static_cast<std::uint32_t>(groups.size()));
  for (const ParityGroup& group : groups) {
    for (const auto* members : {&group.data, &group.parity}) {
      out.number(static_cast<std::uint32_t>(members->size()));
      for (const ParityMember& member : *members) {
        out.number(member.file);
        out.number(member.offset);
        out.number(member.bytes);
      }
    }
  }
  return out.take();
}

bool decode_groups(std::string_view bytes, std::vector<ParityGroup>& groups) {
  ByteReader in(bytes);
  groups.resize(in.count(UINT32_MAX, 48));
  for (ParityGroup& group : groups) {
    for (auto* members : {&group.data, &group.parity}) {
      members->resize(in.count(kGroupMembersMax, 20));
      for (ParityMember& member : *members) {
        member.file = in.number<std::uint32_t>();
        member.offset = in.number<std::uint64_t>();
        member.bytes = in.number<std::uint64_t>();
      }
    }
    if (!in.ok()) return false;
  }
  return in.ended();
}

bool has_nodes(const std::vector<DataFile>& files) {
  return std::ranges::any_of(files, [](const DataFile& file) { return !file.node.empty(); });
}

std::string encode_nodes(const std::vector<DataFile>& files) {
  std::map<std::string_view, std::vector<std::uint32_t>> nodes;
  for (std::uint32_t i = 0; i < files.size(); ++i) {
    if (!files[i].node.empty()) nodes[files[i].node].push_back(i);
  }
  ByteWriter out;
  out.number(static_cast<std::uint32_t>(nodes.size()));
  for (const auto& [node, held] : nodes) {
    out.text(node);
    out.number(static_cast<std::uint32_t>(held.size()));
    for (const std::uint32_t file : held) out.number(file);
  }
  return out.take();
}

bool decode_nodes(std::string_view bytes, std::vector<DataFile>& files) {
  ByteReader in(bytes);
  for (std::size_t left = in.count(kWritersMax, 8); left > 0 && in.ok(); --left) {
    const std::string node = in.text(kNodeNameBytesMax);
    for (std::size_t held = in.count(kFilesMax, 4); held > 0 && in.ok(); --held) {
      const auto file = in.number<std::uint32_t>();
      if (node.empty() || file >= files.size()) return false;
      files[file].node = node;
    }
  }
  return in.ended();
}

bool names_of_nodes(std::string_view bytes, std::vector<std::string>& nodes) {
  ByteReader in(bytes);
  for (std::size_t left = in.count(kWritersMax, 8); left > 0 && in.ok(); --left) {
    nodes.push_back(in.text(kNodeNameBytesMax));
    in.raw(4 * in.count(kFilesMax, 4));
  }
  return in.ended();
}

}  // namespace robustrun::checkpoint
