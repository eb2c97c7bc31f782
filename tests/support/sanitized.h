#pragma once
// Whether sanitizers slow the program down: for tests that bound a time.

namespace robustrun::test {

#ifdef RR_SANITIZED
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

}  // namespace robustrun::test
