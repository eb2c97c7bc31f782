#include "supervisor/core/types/exit_code.h"

#include <cerrno>

namespace robustrun::supervisor {
namespace {

// Codes that schedulers read as orders; a worker may only say 93.
constexpr int kReservedFirst = 90;
constexpr int kReservedLast = 99;

}  // namespace

int exit_code_for_worker(const base::ExitStatus& status, bool compat) {
  if (compat) return kExitFailure;
  const int code = status.shell_code();
  if (code == kExitDoNotRequeue) return code;
  const bool reserved = code >= kReservedFirst && code <= kReservedLast;
  return reserved || code == kExitSuccess ? kExitFailure : code;
}

int exit_code_for_start_failure(int os_errno, bool compat) {
  if (compat) return kExitFailure;
  return os_errno == ENOENT || os_errno == ENOTDIR ? kExitNotFound : kExitCannotRun;
}

int exit_code_for_signal(int signal, bool compat) {
  return compat ? kExitFailure : kExitSignalBase + signal;
}

int exit_code_for_infrastructure(bool compat) {
  return compat ? kExitFailure : kExitInfrastructure;
}

}  // namespace robustrun::supervisor
