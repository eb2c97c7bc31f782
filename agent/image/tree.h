#pragma once
// Looks into a mounted image: whether it is the root of a system, and which interpreter workers
// get. Blocks as long as the image's file system does.

#include <cstdint>
#include <string>
#include <vector>

#include "agent/image/container_command.h"
#include "base/core/result.h"
#include "wire/messages/worker_template.h"

namespace robustrun::agent {

// Where absolute links of an image lead.
enum class ImageLinks : std::uint8_t {
  kInside,  // to the image: it is the root of a container
  kAsHere,  // to this machine: the image's folders are used where they are mounted
};
// Lists folders of the image that is mounted at `root`. Entries that are links are listed as links;
// the path of the folder itself may lead through links.
[[nodiscard]] ListImage list_image(const std::string& root, ImageLinks links);

// Whether the image has /etc/passwd or an os-release file: a system's root has them, a tree of
// packages does not.
[[nodiscard]] bool is_system_root(const ListImage& list);

// The interpreter's path in the image: PYTHON_EXEC of the workers' environment, otherwise python3
// or python in the usual folders. kNotFound: none; the text is for the user.
[[nodiscard]] base::Result<std::string> find_interpreter_in(const ListImage& list,
                                                            const wire::WorkerTemplate& workers,
                                                            bool is_container);

// Sets interpreter and PATH for workers that use the image at `root`: to paths in the container if
// `is_container`, otherwise to paths on this machine. `interpreter`: path in the image; empty:
// none. Pure.
[[nodiscard]] wire::WorkerTemplate with_image(wire::WorkerTemplate workers, const std::string& root,
                                              const std::string& interpreter, bool is_container);

}  // namespace robustrun::agent
