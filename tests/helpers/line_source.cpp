// Writes numbered lines to standard output as fast as they are taken, as a worker of the logs
// figure: line_source LINES LINE_BYTES [LABEL]. Each line is "LABEL NUMBER ....\n", LINE_BYTES long
// in all, so that a reader can detect a lost or reordered one.

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace {

constexpr std::size_t kBlockBytes = std::size_t{64} << 10;

bool write_all(const std::string& bytes) {
  for (std::size_t at = 0; at < bytes.size();) {
    const ssize_t written = ::write(STDOUT_FILENO, bytes.data() + at, bytes.size() - at);
    if (written <= 0) return false;
    at += static_cast<std::size_t>(written);
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: line_source LINES LINE_BYTES [LABEL]\n");
    return 2;
  }
  const long lines = std::strtol(argv[1], nullptr, 10);
  const std::size_t line_bytes = std::strtoul(argv[2], nullptr, 10);
  const std::string label = argc > 3 ? argv[3] : "line";
  std::string block;
  for (long i = 0; i < lines; ++i) {
    const std::size_t start = block.size();
    block.append(label).append(" ").append(std::to_string(i));
    block.resize(start + std::max(line_bytes, block.size() - start + 2) - 1, '.');
    block += '\n';
    if (block.size() >= kBlockBytes) {
      if (!write_all(block)) return 1;
      block.clear();
    }
  }
  return write_all(block) ? 0 : 1;
}
