#include "base/io/descriptor_limit.h"

#include <optional>

namespace robustrun::base {
namespace {

std::optional<rlim_t> inherited;

}  // namespace

void raise_descriptor_limit() {
  rlimit own{};
  if (::getrlimit(RLIMIT_NOFILE, &own) != 0 || own.rlim_cur >= own.rlim_max) return;
  const rlimit raised{own.rlim_max, own.rlim_max};
  if (::setrlimit(RLIMIT_NOFILE, &raised) == 0 && !inherited) inherited = own.rlim_cur;
}

rlim_t inherited_descriptor_limit() {
  if (inherited) return *inherited;
  rlimit own{RLIM_INFINITY, RLIM_INFINITY};
  static_cast<void>(::getrlimit(RLIMIT_NOFILE, &own));  // never fails for this limit
  return own.rlim_cur;
}

void give_inherited_descriptor_limit(int pid) {
  rlimit limit{};
  if (!inherited || ::prlimit(pid, RLIMIT_NOFILE, nullptr, &limit) != 0) return;
  if (*inherited > limit.rlim_max) return;
  limit.rlim_cur = *inherited;
  ::prlimit(pid, RLIMIT_NOFILE, &limit, nullptr);
}

}  // namespace robustrun::base
