#pragma once
// Command lines of container runtimes: how workers get an image for their root. Pure.
//
// bubblewrap makes the namespaces once per node, for a process that only waits (`robustrun-shim
// --hold`); each worker's shim enters them (agent/shim/protocol.h). So a worker is started,
// signalled and seen to end as without a container: behind bubblewrap itself a SIGTERM to its group
// would end bubblewrap first, and the kind of a worker's death would be lost. Apptainer and enroot
// are put in front of each worker's own command.

#include <functional>
#include <string>
#include <vector>

#include "base/core/result.h"
#include "wire/messages/worker_template.h"

namespace robustrun::agent {

// What of this machine workers see in their container, and where.
struct ContainerBind {
  std::string source, target;  // absolute
  bool read_only = false;
  bool is_optional = false;  // left out where this machine lacks it
  friend bool operator==(const ContainerBind&, const ContainerBind&) = default;
};

// What else of this machine workers need there: absolute paths, empty ones do not count.
struct ContainerNeeds {
  std::string runtime_directory, mounts_directory, shim;
  std::string python;  // where the template's python_path really lies, should that be a link
  std::string program_folder;  // of a script that lies on this machine; not of one in the image
};

// /dev, /proc and /sys; /tmp, as torchrun's users expect it; names and name services; working
// directory, home, caches, logs, the script's folder, and what robustrun itself needs, all under
// their own names; then --container-mounts. In the order in which they can be mounted: outer ones
// first, none twice, none below another that shows the same. kInvalidArgument: a mount that is
// none.
[[nodiscard]] base::Result<std::vector<ContainerBind>> container_binds(
    const wire::WorkerTemplate& workers, const ContainerNeeds& needs);

// "SOURCE:TARGET[:ro]", or "SOURCE" for the same target.
[[nodiscard]] base::Result<ContainerBind> parse_container_mount(const std::string& text);

struct ImageEntry {
  enum class Kind { kFolder, kLink, kOther };
  std::string name;
  Kind kind = Kind::kOther;
  std::string link;  // what a link says
};
// Of a folder of the image, which is named as in the container ("/" for all of it); nothing: there
// is no such folder.
using ListImage = std::function<std::vector<ImageEntry>(const std::string& folder)>;

struct ContainerCommand {
  std::string program;  // absolute: bwrap, apptainer, enroot
  std::string root;  // of the image, as this machine sees it
  std::vector<ContainerBind> binds;
};

// The image's root is read-only, and a bind can only be made where there is something to cover. So
// the container's root is an empty file system in memory, in which stands what the image has,
// folders on the way to a target that the image lacks are made anew, and their other entries come
// from the image one by one. `command`: what runs in it. kLimit: more entries than
// kContainerEntriesMax.
[[nodiscard]] base::Result<std::vector<std::string>> bwrap_argv(
    const ContainerCommand& container, const ListImage& list,
    const std::vector<std::string>& command);

// What stands before a worker's argv. `has_gpus`: NVIDIA's, whose libraries Apptainer brings along.
[[nodiscard]] std::vector<std::string> apptainer_prefix(const ContainerCommand& container,
                                                        const std::string& working_directory,
                                                        bool has_gpus);
// `environment`: names of variables that are handed in. `root` must be a folder of its own folder.
[[nodiscard]] std::vector<std::string> enroot_prefix(const ContainerCommand& container,
                                                     const std::string& working_directory,
                                                     const std::vector<std::string>& environment);

}  // namespace robustrun::agent
