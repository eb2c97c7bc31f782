#pragma once
// Whether this machine has what its workers are to run. A host that lacks it is named at once;
// without this check the interpreter there would end with code 2.

#include "agent/node/worker_home.h"
#include "base/core/result.h"
#include "wire/messages/worker_template.h"

namespace robustrun::agent {

// Fails with ENOENT or ENOTDIR when the working directory, the image or the script is missing here.
// What cannot be judged (no permission, a name with $) passes; the worker then finds out. A script
// may exist in the image only: `home` says where the image is visible, once it is mounted. Blocks
// as long as the file system does.
base::Status check_program(const wire::WorkerTemplate& workers, const WorkerHome& home = {});

}  // namespace robustrun::agent
