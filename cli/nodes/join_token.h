#pragma once
// The join token of an srun: a file (mode 0600) in a folder that all tasks see, by which the tasks
// find their leader. It holds the leader's endpoints and fingerprint and the run's secret
// (wire/tls/credential.h).

#include <string>

#include "base/core/clock.h"
#include "base/core/result.h"
#include "wire/tls/credential.h"

namespace robustrun::cli {

// Blocks until the file exists, for at most `wait`. kTimeout: it did not appear; kPermission: other
// users could have written it.
[[nodiscard]] base::Result<wire::Credential> await_join_token(const std::string& path,
                                                              base::Nanos wait);

}  // namespace robustrun::cli
