#pragma once
// The blocking parts of node_image: folder, mount, and how workers use the mount. For any thread;
// does not touch the loop.

#include <optional>
#include <string>
#include <vector>

#include "agent/image/container_command.h"
#include "base/core/result.h"
#include "bootstrap/image/mount_folder.h"
#include "bootstrap/image/squash_mount.h"
#include "wire/messages/worker_template.h"

namespace robustrun::agent {

// What such a thread needs to know of this node and its run.
struct ImagePlan {
  wire::WorkerTemplate workers;
  std::string base;         // private_base_directory()
  std::string search_path;  // PATH
  ContainerNeeds needs;
  [[nodiscard]] bool has_server() const { return workers.image_mode == wire::ImageMode::kBlocks; }
};
[[nodiscard]] ImagePlan image_plan(const wire::WorkerTemplate& workers,
                                   const std::string& runtime_directory, const std::string& shim);

// Removes what dead runs left, and takes this image's folder.
[[nodiscard]] base::Result<bootstrap::MountFolder> take_image_folder(const ImagePlan& plan);
// Unmounts what is mounted in `folder`. Without `anew`, a server that answers at `socket` is left
// alone, together with the mount that it serves.
base::Status clear_image_folder(const ImagePlan& plan, const std::string& folder,
                                const std::string& socket, bool anew);

// A mounted image, and how workers use it.
struct MountedImage {
  bootstrap::SquashMount mount;
  std::string interpreter;  // its path in the image; empty: none is needed
  wire::ContainerRuntime runtime = wire::ContainerRuntime::kNone;
  std::vector<std::string> container_argv{};  // makes the namespaces; empty: no container
  std::vector<std::string> prefix{};          // of the workers' argv
  std::string key{};  // bootstrap::content_key()
};
// Mounts the file `image` at FOLDER/root.
[[nodiscard]] base::Result<MountedImage> mount_image(const ImagePlan& plan,
                                                     const std::string& image,
                                                     const std::string& folder);

}  // namespace robustrun::agent
