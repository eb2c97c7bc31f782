#include "agent/process/port_holder.h"

#include <dirent.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>

#include "agent/node/folder.h"
#include "agent/node/limits.h"
#include "base/core/text.h"
#include "base/io/fd.h"

namespace robustrun::agent {
namespace {

constexpr unsigned kListen = 0x0A;    // TCP_LISTEN
constexpr unsigned kTimeWait = 0x06;  // has no owner any more

struct SocketRow {
  unsigned state = 0;
  unsigned port = 0;
  std::string user_id;
  std::string inode;
};

std::vector<std::string_view> words(std::string_view line) {
  std::vector<std::string_view> out;
  for (const std::string_view piece : base::split(line, ' ')) {
    if (!piece.empty()) out.push_back(piece);
  }
  return out;
}

std::optional<unsigned> hexadecimal(std::string_view text) {
  unsigned value = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (parsed.ec != std::errc{}) return std::nullopt;
  return value;
}

// "  0: 00000000:733C 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000  0 12345 …"
std::optional<SocketRow> parse_socket(std::string_view line) {
  const auto columns = words(line);
  if (columns.size() < 10) return std::nullopt;
  const std::size_t colon = columns[1].rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const auto port = hexadecimal(columns[1].substr(colon + 1));
  const auto state = hexadecimal(columns[3]);
  if (!port || !state) return std::nullopt;
  return SocketRow{*state, *port, std::string(columns[7]), std::string(columns[9])};
}

// A listening socket on `port`, else any socket that is bound to it.
std::optional<SocketRow> find_socket(std::uint16_t port) {
  std::optional<SocketRow> found;
  for (const char* const table : {"/proc/net/tcp", "/proc/net/tcp6"}) {
    std::ifstream lines(table);
    for (std::string line; std::getline(lines, line);) {
      auto row = parse_socket(line);
      if (!row || row->port != port || row->state == kTimeWait) continue;
      if (row->state == kListen) return row;
      if (!found) found = std::move(row);
    }
  }
  return found;
}

bool has_open(const std::string& pid, const std::string& link) {
  const std::string path = "/proc/" + pid + "/fd";
  const Folder folder(::opendir(path.c_str()));
  if (!folder) return false;
  std::array<char, 64> target{};
  while (const dirent* entry = ::readdir(folder.get())) {
    const ssize_t size =
        ::readlinkat(::dirfd(folder.get()), entry->d_name, target.data(), target.size());
    if (size > 0 && std::string_view(target.data(), static_cast<std::size_t>(size)) == link) {
      return true;
    }
  }
  return false;
}

pid_t find_process(const std::string& inode) {
  const std::string link = "socket:[" + inode + "]";
  const Folder folder(::opendir("/proc"));
  if (!folder) return 0;
  while (const dirent* entry = ::readdir(folder.get())) {
    const std::string name = entry->d_name;
    const auto pid = base::parse_int<pid_t>(name);
    if (pid && has_open(name, link)) return *pid;
  }
  return 0;
}

std::string user_name(const std::string& user_id) {
  std::ifstream users("/etc/passwd");
  for (std::string line; std::getline(users, line);) {
    const auto fields = base::split(line, ':');
    if (fields.size() > 2 && fields[2] == user_id) return std::string(fields[0]);
  }
  return user_id;
}

std::string command_of(pid_t pid) {
  const auto text = base::read_file("/proc/" + std::to_string(pid) + "/comm", kSysfsBytesMax);
  return text ? std::string(base::trim(*text)) : std::string();
}

}  // namespace

std::optional<PortHolder> port_holder(std::uint16_t port) {
  const auto socket = find_socket(port);
  if (!socket) return std::nullopt;
  PortHolder holder{find_process(socket->inode), user_name(socket->user_id), {}};
  if (holder.pid != 0) holder.command = command_of(holder.pid);
  return holder;
}

}  // namespace robustrun::agent
