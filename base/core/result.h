#pragma once
// Errors as values: every function that can fail for an outside reason returns Result<T>.
//
// `Error::what` is a sentence for the user: "cannot VERB OBJECT: cause", then what to do.
// RR_TRY unwraps a Result or returns its error from the enclosing function. RR_ASSERT is only for
// bugs: it stays on in release builds and is never used on outside input.

#include <cstdint>
#include <expected>
#include <string>
#include <utility>

namespace robustrun::base {

enum class Errc : std::uint8_t {
  kInvalidArgument,
  kNotFound,
  kUnavailable,
  kTimeout,
  kPermission,
  kProtocol,
  kCorrupt,
  kLimit,
  kCancelled,
  kConflict,
  kOs,
  kInternal,
};

struct Error {
  Errc code = Errc::kInternal;
  int os_errno = 0;  // 0 unless the cause was a system call
  std::string what;
};

// [[nodiscard]] std::expected: plain std::expected may be ignored without a warning.
template <class T>
class [[nodiscard]] Result : public std::expected<T, Error> {
 public:
  using std::expected<T, Error>::expected;
};

using Status = Result<void>;

inline std::unexpected<Error> fail(Errc code, std::string what) {
  return std::unexpected(Error{code, 0, std::move(what)});
}

// A kOs error whose cause is `os_errno`; appends ": <strerror text>" to `what`.
std::unexpected<Error> fail_errno(std::string what, int os_errno);

[[noreturn]] void assertion_failed(const char* expression, const char* file, int line) noexcept;

}  // namespace robustrun::base

#define RR_TRY(expression)                                                \
  __extension__({                                                         \
    auto rr_result = (expression);                                        \
    if (!rr_result) return std::unexpected(std::move(rr_result).error()); \
    *std::move(rr_result);                                                \
  })

#define RR_ASSERT(expression)    \
  (static_cast<bool>(expression) \
       ? static_cast<void>(0)    \
       : ::robustrun::base::assertion_failed(#expression, __FILE__, __LINE__))
