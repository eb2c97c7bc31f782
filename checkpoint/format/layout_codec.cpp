#include "checkpoint/format/layout_codec.h"

#include <cstdint>

#include "checkpoint/format/limits.h"

namespace robustrun::checkpoint {
namespace {

constexpr std::size_t kNameBytesMin = 4;  // its length
constexpr std::size_t kAxisBytesMin = 8;

}  // namespace

void put_names(ByteWriter& out, std::span<const std::string> names) {
  out.number(static_cast<std::uint32_t>(names.size()));
  for (const std::string& name : names) out.text(name);
}

void put_layout(ByteWriter& out, const WorldLayout& layout) {
  out.number(layout.world_size);
  out.number(static_cast<std::uint32_t>(layout.axes.size()));
  for (const Axis& axis : layout.axes) {
    out.text(axis.name);
    out.number(axis.size);
  }
}

std::vector<std::string> names_from(ByteReader& in, std::size_t names_max) {
  std::vector<std::string> names(in.count(names_max, kNameBytesMin));
  for (std::string& name : names) name = in.text(kNameBytesMax);
  return names;
}

WorldLayout layout_from(ByteReader& in) {
  WorldLayout layout;
  layout.world_size = in.number<std::uint32_t>();
  layout.axes.resize(in.count(kAxesMax, kAxisBytesMin));
  for (Axis& axis : layout.axes) {
    axis.name = in.text(kNameBytesMax);
    axis.size = in.number<std::uint32_t>();
  }
  return layout;
}

}  // namespace robustrun::checkpoint
