#include "agent/deps/install_log.h"

#include <fcntl.h>
#include <fmt/core.h>

#include <vector>

#include "agent/deps/limits.h"
#include "base/core/text.h"
#include "base/core/words.h"

namespace robustrun::agent {

InstallLog::InstallLog(const std::string& directory, base::NodeId node) : directory_(directory) {
  if (!directory.empty()) path_ = fmt::format("{}/deps.node{}.log", directory, node.value);
}

void InstallLog::write(std::string_view piece) {
  if (path_.empty()) return;
  if (!file_) {
    if (!base::make_directories(directory_, 0700)) return;
    file_ = base::Fd(::open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  }
  // The error quotes the end anyway, so a full disk only loses the rest.
  if (file_) static_cast<void>(base::write_all(file_.get(), piece));
}

void InstallLog::keep(std::string_view piece) {
  end_ += piece;
  if (end_.size() > kInstallTailBytes) end_.erase(0, end_.size() - kInstallTailBytes);
}

std::string InstallLog::tail() const {
  std::vector<std::string> lines;
  for (const std::string_view line : base::split(end_, '\n')) {
    const std::string_view words = base::trim(line);
    if (!words.empty()) lines.push_back(base::printable(words));
  }
  if (lines.size() > kInstallTailLines) {
    lines.erase(lines.begin(), lines.end() - static_cast<std::ptrdiff_t>(kInstallTailLines));
  }
  return base::join(lines, " / ");
}

std::string InstallLog::why_failed(const base::Error& error) const {
  std::string why = error.what;
  if (error.code == base::Errc::kTimeout) {
    why = "it did not end within " + base::in_seconds(kInstallMax);
  } else if (error.os_errno == 0) {
    // It ran: the error quotes its last line, which is in the tail as well.
    why = why.substr(0, why.find(": "));
  }
  if (const std::string lines = tail(); !lines.empty()) why += "; its last lines: " + lines;
  if (!path_.empty()) why += "; all of it: " + path_;
  return why;
}

}  // namespace robustrun::agent
