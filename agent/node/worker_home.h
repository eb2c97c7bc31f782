#pragma once
// Where the processes of workers run: on this machine, or in an image (image/node_image.h). Plain
// data.

#include <sys/types.h>

#include <string>
#include <vector>

namespace robustrun::agent {

struct WorkerHome {
  pid_t container = 0;  // a process whose namespaces workers enter; 0: none
  std::vector<std::string> prefix{};  // before their argv: a container runtime with its options
  std::string root{};  // path of the image's root on this machine; empty: no image
  std::string image_key{};  // bootstrap::content_key()

  [[nodiscard]] bool is_container() const { return container != 0 || !prefix.empty(); }

  // The path on this machine of the file that has `path` for a worker. With a `prefix`, that
  // path is unknown, and the result is `path`.
  [[nodiscard]] std::string seen(const std::string& path) const {
    if (container != 0) return "/proc/" + std::to_string(container) + "/root" + path;
    return path;
  }
};

}  // namespace robustrun::agent
