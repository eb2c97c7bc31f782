// What libstdc++ wants of threads beyond glibc 2.28.
#include <dlfcn.h>
#include <pthread.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <ctime>

namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kSliceMax = kSecond / 4;

std::int64_t nanoseconds(const timespec& time) { return time.tv_sec * kSecond + time.tv_nsec; }

std::int64_t now(clockid_t clock) {
  timespec time{};
  ::clock_gettime(clock, &time);
  return nanoseconds(time);
}

using ClockWait = int(pthread_cond_t*, pthread_mutex_t*, clockid_t, const timespec*);

}  // namespace

// 2.32 sets it to true as long as there is a single thread; libstdc++ then counts references
// without atomic operations. Never true is always right.
extern "C" char __libc_single_threaded;
char __libc_single_threaded = 0;

// In glibc since 2.30. Older ones wait by the wall clock alone: in slices, after each of which the
// caller is woken as if spuriously, so that a clock that is set back delays it once at most.
extern "C" int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex,
                                      clockid_t clock, const timespec* deadline) {
  static auto* const own =
      reinterpret_cast<ClockWait*>(::dlsym(RTLD_NEXT, "pthread_cond_clockwait"));
  if (own != nullptr) return own(condition, mutex, clock, deadline);
  const std::int64_t left = nanoseconds(*deadline) - now(clock);
  if (left <= 0) return ETIMEDOUT;
  const std::int64_t until = now(CLOCK_REALTIME) + std::min(left, kSliceMax);
  const timespec slice{until / kSecond, until % kSecond};
  const int result = ::pthread_cond_timedwait(condition, mutex, &slice);
  return result == ETIMEDOUT && now(clock) < nanoseconds(*deadline) ? 0 : result;
}
