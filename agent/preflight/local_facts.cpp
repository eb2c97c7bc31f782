#include "agent/preflight/local_facts.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <optional>
#include <system_error>

#include "agent/node/limits.h"
#include "base/core/text.h"
#include "base/io/descriptor_limit.h"

namespace robustrun::agent {
namespace {

std::uint64_t limit_of(rlim_t value) { return value == RLIM_INFINITY ? base::kUnlimited : value; }

rlimit read_limit(__rlimit_resource which) {
  rlimit limit{RLIM_INFINITY, RLIM_INFINITY};
  static_cast<void>(::getrlimit(which, &limit));  // never fails for these limits
  return limit;
}

template <class Number>
std::optional<Number> hexadecimal(std::string_view text) {
  Number value = 0;
  const char* const end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, value, 16);
  if (parsed.ec != std::errc{} || parsed.ptr != end) return std::nullopt;
  return value;
}

// "0100007F": 32-bit words in host byte order, one for IPv4, four for IPv6.
std::string address_text(std::string_view hex) {
  constexpr std::size_t kWordDigits = 8;
  std::array<std::uint32_t, 4> words{};
  if (hex.size() != kWordDigits && hex.size() != kWordDigits * words.size()) return {};
  const std::size_t count = hex.size() / kWordDigits;
  for (std::size_t i = 0; i < count; ++i) {
    const auto word = hexadecimal<std::uint32_t>(hex.substr(i * kWordDigits, kWordDigits));
    if (!word) return {};
    words[i] = *word;
  }
  const auto* const as_v6 = reinterpret_cast<const in6_addr*>(words.data());
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (count == 1) {
    ::inet_ntop(AF_INET, words.data(), text.data(), text.size());
  } else if (IN6_IS_ADDR_V4MAPPED(as_v6)) {
    ::inet_ntop(AF_INET, &words[3], text.data(), text.size());
  } else {
    ::inet_ntop(AF_INET6, words.data(), text.data(), text.size());
  }
  return text.data();
}

}  // namespace

base::Space space_at(const std::string& path) {
  namespace fs = std::filesystem;
  base::Space space;
  fs::path folder = path;
  struct statvfs status{};
  while (::statvfs(folder.c_str(), &status) != 0) {
    const bool above = (errno == ENOENT || errno == ENOTDIR) && folder.has_relative_path();
    if (!above) {
      space.path = folder.string();
      space.error = std::generic_category().message(errno);
      return space;
    }
    folder = folder.parent_path();
  }
  space.path = folder.string();
  space.total = std::uint64_t{status.f_blocks} * status.f_frsize;
  space.free = std::uint64_t{status.f_bavail} * status.f_frsize;
  return space;
}

base::UserLimits user_limits() {
  base::UserLimits limits;
  limits.open_files = limit_of(base::inherited_descriptor_limit());
  limits.open_files_hard = limit_of(read_limit(RLIMIT_NOFILE).rlim_max);
  limits.locked_bytes = limit_of(read_limit(RLIMIT_MEMLOCK).rlim_cur);
  if (::geteuid() != 0) limits.processes = limit_of(read_limit(RLIMIT_NPROC).rlim_cur);
  return limits;
}

std::uint32_t rdma_devices(const std::string& root) {
  std::uint32_t count = 0;
  std::error_code error;
  for (const auto& entry :
       std::filesystem::directory_iterator(root + "/sys/class/infiniband", error)) {
    static_cast<void>(entry);
    ++count;
  }
  return count;
}

std::string busiest_folder(const wire::WorkerTemplate& workers) {
  return workers.log_directory.empty() ? workers.working_directory : workers.log_directory;
}

std::vector<std::string> half_open_peers(std::string_view tables, std::uint16_t port) {
  constexpr std::string_view kSynReceived = "03";
  constexpr std::size_t kLocal = 1, kRemote = 2, kState = 3;
  std::vector<std::string> found;
  for (const std::string_view line : base::split(tables, '\n')) {
    std::vector<std::string_view> columns;
    for (const std::string_view column : base::split(line, ' ')) {
      if (!column.empty() && columns.size() <= kState) columns.push_back(column);
    }
    if (columns.size() <= kState || columns[kState] != kSynReceived) continue;
    const std::size_t colon = columns[kLocal].rfind(':');
    if (colon == std::string_view::npos ||
        hexadecimal<std::uint16_t>(columns[kLocal].substr(colon + 1)) != port) {
      continue;
    }
    std::string peer = address_text(columns[kRemote].substr(0, columns[kRemote].rfind(':')));
    if (!peer.empty() && found.size() < kHalfOpenMax) found.push_back(std::move(peer));
  }
  return found;
}

}  // namespace robustrun::agent
