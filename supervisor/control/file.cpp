#include "supervisor/control/file.h"

#include <fmt/core.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/core/text.h"
#include "base/io/fd.h"
#include "supervisor/limits.h"

namespace robustrun::supervisor {
namespace {

constexpr std::string_view kHost = "host ";
constexpr std::string_view kPid = "pid ";

}  // namespace

base::Result<ControlFile> parse_control_file(std::string_view text) {
  ControlFile file;
  const auto lines = base::split(text, '\n');
  file.socket = base::trim(lines.front());
  if (file.socket.empty() || file.socket.size() >= sizeof sockaddr_un::sun_path) {
    return base::fail(base::Errc::kCorrupt, "its file 'control' names no socket");
  }
  for (const std::string_view line : lines) {
    if (line.starts_with(kHost)) {
      file.host = line.substr(kHost.size(), kNodeNameBytesMax);
    } else if (line.starts_with(kPid)) {
      const auto pid = base::parse_int<std::int32_t>(line.substr(kPid.size()));
      file.pid = pid ? std::max(*pid, 0) : 0;
    }
  }
  return file;
}

std::string write_control_file(const ControlFile& file) {
  return fmt::format("{}\nhost {}\npid {}\n", file.socket, file.host, file.pid);
}

std::string control_file(const std::string& run_directory) { return run_directory + "/control"; }

base::Result<ControlFile> read_control_file(const std::string& run_directory) {
  const auto text = base::read_file(control_file(run_directory), kControlFileBytesMax);
  if (text) return parse_control_file(*text);
  const bool refused = text.error().os_errno == EACCES;
  return base::fail(refused ? base::Errc::kPermission : base::Errc::kNotFound,
                    refused ? "its file 'control' is another user's" : "it has no file 'control'");
}

std::string this_host() {
  std::string name(kNodeNameBytesMax + 1, '\0');
  if (::gethostname(name.data(), name.size() - 1) != 0) return "";
  return name.c_str();
}

}  // namespace robustrun::supervisor
