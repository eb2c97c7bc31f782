#pragma once
// Checks that this machine has the program that its workers run, so that an error can name a
// machine without it. Without this check, the interpreter would end there with code 2.

#include "agent/node/worker_home.h"
#include "base/core/result.h"
#include "wire/messages/worker_template.h"

namespace robustrun::agent {

// Fails with ENOENT or ENOTDIR if the working directory, the image or the script is missing here.
// Succeeds if that cannot be known (no permission, a name with $, code that is still to be
// fetched). A script may exist in the image only; `home` tells where the mounted image is visible.
// Blocks as long as the file system does.
base::Status check_program(const wire::WorkerTemplate& workers, const WorkerHome& home = {});

}  // namespace robustrun::agent
