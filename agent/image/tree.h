#pragma once
// What is in a mounted image: is it the root of a system, and which interpreter do workers get?
// Blocks as long as the image's file system does.

#include <string>
#include <vector>

#include "agent/image/container_command.h"
#include "base/core/result.h"
#include "wire/messages/worker_template.h"

namespace robustrun::agent {

// The image below `root`. Its links are never followed out of it.
[[nodiscard]] ListImage list_image(const std::string& root);

// It has names of users or of a release, as a system has and a tree of packages has not.
[[nodiscard]] bool is_system_root(const ListImage& list);

// As in the image: PYTHON_EXEC of the workers' environment, else python3 or python in the folders
// where environments and systems have it. kNotFound, with a whole sentence about `image`.
[[nodiscard]] base::Result<std::string> find_interpreter_in(const ListImage& list,
                                                            const wire::WorkerTemplate& workers,
                                                            bool is_container);

// The template for workers whose image is at `root`: interpreter and PATH. In a container they are
// named as there, else as on this machine. Pure. `interpreter`: as in the image; empty: none.
[[nodiscard]] wire::WorkerTemplate with_image(wire::WorkerTemplate workers, const std::string& root,
                                              const std::string& interpreter, bool is_container);

}  // namespace robustrun::agent
