#include "agent/process/priority.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "base/core/text.h"
#include "base/io/fd.h"

namespace robustrun::agent {

void restore_priority(pid_t pid) {
  const std::string process = "/proc/" + std::to_string(pid);
  const int own = ::getpriority(PRIO_PROCESS, 0);
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(process + "/task", error)) {
    const auto thread = base::parse_int<id_t>(entry.path().filename().string());
    if (thread) ::setpriority(PRIO_PROCESS, *thread, own);
  }
  const base::Fd group(::open((process + "/autogroup").c_str(), O_WRONLY | O_CLOEXEC));
  if (group) static_cast<void>(!::write(group.get(), "0", 1));
}

}  // namespace robustrun::agent
