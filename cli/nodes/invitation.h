#pragma once
// How the tasks of an srun find the one of them that leads: by a file in a folder that all of them
// see, 0600, with its endpoints, its fingerprint and the secret of the run (wire/tls/credential.h).

#include <string>

#include "base/core/clock.h"
#include "base/core/result.h"
#include "wire/tls/credential.h"

namespace robustrun::cli {

// Blocks until the file is there, for at most `wait`. kPermission when others could have written
// it.
[[nodiscard]] base::Result<wire::Credential> await_invitation(const std::string& path,
                                                              base::Nanos wait);

}  // namespace robustrun::cli
