#pragma once
// Makes command lines of container runtimes, by which workers get an image as their root. Pure.
//
// bubblewrap makes the namespaces once per node, for a process that only waits (`robustrun-shim
// --hold`); each worker's shim enters them (agent/shim/protocol.h). A worker is therefore started,
// signalled and reaped as without a container. If bubblewrap started each worker, a SIGTERM to the
// worker's group would end bubblewrap first, and the cause of a worker's death would be lost.
// Apptainer and enroot are put in front of each worker's own command.

#include <functional>
#include <string>
#include <vector>

#include "base/core/result.h"
#include "wire/messages/worker_template.h"

namespace robustrun::agent {

// A path of this machine that workers see in their container at `target`.
struct ContainerBind {
  std::string source, target;  // absolute
  bool read_only = false;
  // `source` may be missing on this machine. bubblewrap then skips the bind; for Apptainer and
  // enroot the caller must drop it.
  bool is_optional = false;
  friend bool operator==(const ContainerBind&, const ContainerBind&) = default;
};

// Further paths of this machine that workers need in their container: absolute; empty paths are
// ignored.
struct ContainerNeeds {
  std::string runtime_directory, mounts_directory, shim;
  std::string python;  // the template's python_path with all links resolved
  std::string program_folder;  // of a script on this machine; empty: the script is in the image
};

// Returns all binds:
//
//   /dev, /proc, /sys, /tmp and TMPDIR,
//   files in /etc with host names, name servers, users and groups,
//   the working directory, the home, the cache and the logs,
//   the folders of the script and of the list of dependencies,
//   `needs`, and --container-mounts, which replace binds with the same target.
//
// All but --container-mounts keep their paths. The order is that of mounting: outer paths first.
// There are no duplicates, and no binds that an outer bind already shows. kInvalidArgument: a
// malformed --container-mounts.
[[nodiscard]] base::Result<std::vector<ContainerBind>> container_binds(
    const wire::WorkerTemplate& workers, const ContainerNeeds& needs);

// Parses "SOURCE[:TARGET[:ro|:rw]]" with absolute paths. By default TARGET is SOURCE, and the mount
// is rw. kInvalidArgument: anything else.
[[nodiscard]] base::Result<ContainerBind> parse_container_mount(const std::string& text);

// An entry of a folder of an image.
struct ImageEntry {
  enum class Kind { kFolder, kLink, kOther };
  std::string name;
  Kind kind = Kind::kOther;
  std::string link;  // target of the link
};
// Lists a folder of the image, whose path starts at the image's root ("/"); empty: no such folder.
using ListImage = std::function<std::vector<ImageEntry>(const std::string& folder)>;

struct ContainerCommand {
  std::string program;  // absolute path of bwrap, apptainer or enroot
  std::string root;  // path of the image's root on this machine
  std::vector<ContainerBind> binds;
};

// The argv that runs `command` in a container of bubblewrap. A bind needs an existing target, but
// the image is read-only. The container's root is therefore an empty file system in memory, to
// which the image's entries are bound one by one, and in which missing folders of targets are
// created. kLimit: more entries than kContainerEntriesMax.
[[nodiscard]] base::Result<std::vector<std::string>> bwrap_argv(
    const ContainerCommand& container, const ListImage& list,
    const std::vector<std::string>& command);

// The words to put before a worker's argv. `has_gpus`: the machine has NVIDIA GPUs, whose libraries
// Apptainer then adds.
[[nodiscard]] std::vector<std::string> apptainer_prefix(const ContainerCommand& container,
                                                        const std::string& working_directory,
                                                        bool has_gpus);
// The words to put before a worker's argv. `environment`: names of the variables that workers get.
// `container.root` must not lie directly in /.
[[nodiscard]] std::vector<std::string> enroot_prefix(const ContainerCommand& container,
                                                     const std::string& working_directory,
                                                     const std::vector<std::string>& environment);

}  // namespace robustrun::agent
