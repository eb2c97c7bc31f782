#include "wire/net/port_owner.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "base/core/text.h"
#include "base/io/fd.h"

namespace robustrun::wire {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kTableBytesMax = std::size_t{16} << 20;
constexpr std::size_t kNameBytesMax = 64;
// Columns of /proc/net/tcp.
constexpr std::size_t kLocalColumn = 1;
constexpr std::size_t kStateColumn = 3;
constexpr std::size_t kInodeColumn = 9;
constexpr std::string_view kListening = "0A";

std::vector<std::string_view> columns_of(std::string_view line) {
  std::vector<std::string_view> columns = base::split(line, ' ');
  std::erase_if(columns, [](std::string_view column) { return column.empty(); });
  return columns;
}

// The listening sockets on the port, as links in /proc/PID/fd name them: "socket:[INODE]".
std::vector<std::string> listening_links(std::uint16_t port) {
  std::vector<std::string> links;
  for (const char* table : {"/proc/self/net/tcp", "/proc/self/net/tcp6"}) {
    const auto text = base::read_file(table, kTableBytesMax);
    if (!text) continue;
    for (const std::string_view line : base::split(*text, '\n')) {
      const auto columns = columns_of(line);
      if (columns.size() <= kInodeColumn || columns[kStateColumn] != kListening) continue;
      const std::string_view local = columns[kLocalColumn];
      unsigned found = 0;
      const std::string_view digits = local.substr(local.rfind(':') + 1);
      std::from_chars(digits.data(), digits.data() + digits.size(), found, 16);
      if (found != port) continue;
      links.push_back("socket:[" + std::string(columns[kInodeColumn]) + "]");
    }
  }
  return links;
}

bool has_one_of(const fs::path& process, const std::vector<std::string>& links) {
  std::error_code error;
  for (fs::directory_iterator it(process / "fd", error), end; !error && it != end;
       it.increment(error)) {
    std::error_code gone;
    const std::string target = fs::read_symlink(it->path(), gone).string();
    if (!gone && std::ranges::find(links, target) != links.end()) return true;
  }
  return false;
}

}  // namespace

std::optional<std::string> port_owner(std::uint16_t port) {
  const std::vector<std::string> links = listening_links(port);
  if (links.empty()) return std::nullopt;
  std::error_code error;
  for (fs::directory_iterator it("/proc", error), end; !error && it != end; it.increment(error)) {
    const std::string pid = it->path().filename().string();
    if (!base::parse_int<int>(pid) || !has_one_of(it->path(), links)) continue;
    const auto name = base::read_file("/proc/" + pid + "/comm", kNameBytesMax);
    return "process " + pid +
           (name ? " (" + base::printable(base::trim(*name)) + ")" : std::string());
  }
  return std::nullopt;
}

}  // namespace robustrun::wire
