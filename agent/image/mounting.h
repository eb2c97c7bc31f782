#pragma once
// The blocking parts of NodeImage (node_image.h): the image's folder, its mount, and how workers
// use the mount. For any thread.

#include <optional>
#include <string>
#include <vector>

#include "agent/image/container_command.h"
#include "base/core/result.h"
#include "bootstrap/image/mount_folder.h"
#include "bootstrap/image/squash_mount.h"
#include "wire/messages/worker_template.h"

namespace robustrun::agent {

// The facts about this node and its run that the functions below need.
struct ImagePlan {
  wire::WorkerTemplate workers;
  std::string base;         // base::private_base_directory()
  std::string search_path;  // the workers' PATH
  ContainerNeeds needs;
  [[nodiscard]] bool has_server() const { return workers.image_mode == wire::ImageMode::kBlocks; }
};
[[nodiscard]] ImagePlan image_plan(const wire::WorkerTemplate& workers,
                                   const std::string& runtime_directory, const std::string& shim);

// Removes mounts of dead runs, and takes this image's folder.
[[nodiscard]] base::Result<bootstrap::MountFolder> take_image_folder(const ImagePlan& plan);
// Unmounts everything in `folder`. Without `anew`, a block server that listens at `socket` keeps
// its own mount.
base::Status clear_image_folder(const ImagePlan& plan, const std::string& folder,
                                const std::string& socket, bool anew);

// A mounted image, and how workers use it.
struct MountedImage {
  bootstrap::SquashMount mount;
  std::string interpreter;  // path in the image; empty: none is needed
  wire::ContainerRuntime runtime = wire::ContainerRuntime::kNone;  // never kAuto
  std::vector<std::string> container_argv{};  // of bubblewrap (container.h); otherwise empty
  std::vector<std::string> prefix{};  // of Apptainer or enroot, before the workers' argv
  std::string key{};  // bootstrap::content_key()
};
// Mounts the squashfs file `image` at FOLDER/root.
[[nodiscard]] base::Result<MountedImage> mount_image(const ImagePlan& plan,
                                                     const std::string& image,
                                                     const std::string& folder);

}  // namespace robustrun::agent
