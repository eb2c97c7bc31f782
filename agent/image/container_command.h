#pragma once
// Command lines of container runtimes: how workers get an image for their root. Pure.
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

// A path of this machine that workers see in their container, and where they see it.
struct ContainerBind {
  std::string source, target;  // absolute
  bool read_only = false;
  // May be missing on this machine. bwrap_argv() has it skipped then; for the other two runtimes
  // the caller must drop it.
  bool is_optional = false;
  friend bool operator==(const ContainerBind&, const ContainerBind&) = default;
};

// Further paths of this machine that workers need there: absolute; empty ones are ignored.
struct ContainerNeeds {
  std::string runtime_directory, mounts_directory, shim;
  std::string python;  // the target of the template's python_path, if that is a link
  std::string program_folder;  // of a script on this machine; empty for one in the image
};

// All binds: /dev, /proc and /sys; /tmp, as torchrun's users expect it, and TMPDIR; host names and
// name services; working directory, home, caches, logs, the folders of the script and of the list
// of dependencies, and what robustrun itself needs, all under their own names; then
// --container-mounts. Ordered for mounting: outer paths first, none twice, none below another that
// shows the same. kInvalidArgument: a malformed --container-mounts.
[[nodiscard]] base::Result<std::vector<ContainerBind>> container_binds(
    const wire::WorkerTemplate& workers, const ContainerNeeds& needs);

// "SOURCE:TARGET", perhaps with ":ro" or ":rw" (the default) after it, or "SOURCE" for the same
// target.
[[nodiscard]] base::Result<ContainerBind> parse_container_mount(const std::string& text);

struct ImageEntry {
  enum class Kind { kFolder, kLink, kOther };
  std::string name;
  Kind kind = Kind::kOther;
  std::string link;  // target of the link
};
// Lists a folder of the image, named as in the container ("/" for its root); empty: no such folder.
using ListImage = std::function<std::vector<ImageEntry>(const std::string& folder)>;

struct ContainerCommand {
  std::string program;  // absolute: bwrap, apptainer, enroot
  std::string root;  // of the image, as this machine sees it
  std::vector<ContainerBind> binds;
};

// The argv that runs `command` in a container of bubblewrap. The image's root is read-only, and a
// bind needs an existing target. So the container's root is an empty file system in memory that
// gets the image's entries one by one; folders on the way to a target that the image lacks are
// created. kLimit: more entries than kContainerEntriesMax.
[[nodiscard]] base::Result<std::vector<std::string>> bwrap_argv(
    const ContainerCommand& container, const ListImage& list,
    const std::vector<std::string>& command);

// What precedes a worker's argv. `has_gpus`: the machine has NVIDIA GPUs; Apptainer then adds their
// libraries.
[[nodiscard]] std::vector<std::string> apptainer_prefix(const ContainerCommand& container,
                                                        const std::string& working_directory,
                                                        bool has_gpus);
// `environment`: names of the variables that are passed in. The image's `root` must not lie
// directly in /.
[[nodiscard]] std::vector<std::string> enroot_prefix(const ContainerCommand& container,
                                                     const std::string& working_directory,
                                                     const std::vector<std::string>& environment);

}  // namespace robustrun::agent
