#include "base/core/result.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace robustrun::base {

std::unexpected<Error> fail_errno(std::string what, int os_errno) {
  what += ": ";
  what += ::strerror(os_errno);
  return std::unexpected(Error{Errc::kOs, os_errno, std::move(what)});
}

void assertion_failed(const char* expression, const char* file, int line) noexcept {
  std::fprintf(stderr, "robustrun: bug: assertion `%s` failed at %s:%d\n", expression, file, line);
  std::abort();
}

}  // namespace robustrun::base
