#pragma once
// The credential with which a launched agent dials its supervisor: one line on standard input,
// written by the launcher.

#include "base/core/result.h"
#include "wire/tls/credential.h"

namespace robustrun::agent {

// Reads that line; blocks for at most kCredentialMax. Errors: no line came in time, or it is
// malformed.
base::Result<wire::Credential> read_credential();

}  // namespace robustrun::agent
