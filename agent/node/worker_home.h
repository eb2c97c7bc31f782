#pragma once
// Where processes of workers begin, if not simply on this machine: in an image (node_image.h).
// Plain data.

#include <sys/types.h>

#include <string>
#include <vector>

namespace robustrun::agent {

struct WorkerHome {
  pid_t container = 0;  // in the namespaces of this process; 0: in ours
  std::vector<std::string> prefix{};  // before their argv: a container runtime with its options
  std::string root{};  // of the image, as this machine sees it; empty: there is none
  std::string image_key{};  // bootstrap::content_key()

  [[nodiscard]] bool is_container() const { return container != 0 || !prefix.empty(); }

  // The path at which this machine sees what a worker calls `path`, or what would be there.
  [[nodiscard]] std::string seen(const std::string& path) const {
    if (container != 0) return "/proc/" + std::to_string(container) + "/root" + path;
    return path;
  }
};

}  // namespace robustrun::agent
