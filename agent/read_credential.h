#pragma once
// Reads the credential with which a launched agent connects to its supervisor: one line that the
// launcher writes to the agent's standard input.

#include "base/core/result.h"
#include "wire/tls/credential.h"

namespace robustrun::agent {

// Blocks for at most kCredentialMax. Errors: standard input ended, no line came in time, or the
// line is malformed.
base::Result<wire::Credential> read_credential();

}  // namespace robustrun::agent
