#include "agent/output/tail_buffer.h"

#include <algorithm>

#include "agent/output/limits.h"

namespace robustrun::agent {
namespace {

std::string_view visible_part(std::string_view line) {
  while (line.ends_with('\r')) line.remove_suffix(1);
  const std::size_t overwritten = line.rfind('\r');
  if (overwritten != std::string_view::npos) line.remove_prefix(overwritten + 1);
  return line.substr(0, kTailLineBytesMax);
}

}  // namespace

void TailBuffer::append(std::string_view bytes) {
  if (bytes.size() >= kTailBytes) {
    bytes_.assign(bytes.substr(bytes.size() - kTailBytes));
    return;
  }
  if (bytes_.size() + bytes.size() > 2 * kTailBytes) {
    bytes_.erase(0, bytes_.size() + bytes.size() - kTailBytes);
  }
  bytes_.append(bytes);
}

std::vector<std::string> TailBuffer::lines(std::size_t count) const {
  std::string_view rest(bytes_);
  if (rest.size() > kTailBytes) rest.remove_prefix(rest.size() - kTailBytes);
  if (rest.empty()) return {};
  if (rest.ends_with('\n')) rest.remove_suffix(1);
  std::vector<std::string> found;
  while (found.size() < count) {
    const std::size_t end = rest.rfind('\n');
    found.emplace_back(visible_part(end == std::string_view::npos ? rest : rest.substr(end + 1)));
    if (end == std::string_view::npos) break;
    rest = rest.substr(0, end);
  }
  std::ranges::reverse(found);
  return found;
}

}  // namespace robustrun::agent
