#pragma once
// Where the processes of workers run: on this machine, or in an image (image/node_image.h). Plain
// data.

#include <sys/types.h>

#include <string>
#include <vector>

namespace robustrun::agent {

struct WorkerHome {
  pid_t container = 0;  // they enter this process's namespaces; 0: none
  std::vector<std::string> prefix{};  // of their argv: a container runtime with its options
  std::string root{};  // of the image, as this machine sees it; empty: no image
  std::string image_key{};  // bootstrap::content_key()

  [[nodiscard]] bool is_container() const { return container != 0 || !prefix.empty(); }

  // The path at which this machine sees the file that a worker calls `path`.
  [[nodiscard]] std::string seen(const std::string& path) const {
    if (container != 0) return "/proc/" + std::to_string(container) + "/root" + path;
    return path;
  }
};

}  // namespace robustrun::agent
