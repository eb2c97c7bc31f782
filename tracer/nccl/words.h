#pragma once
// Words that several threads of NCCL write and another process reads: each access is one atomic
// instruction, in no order unless a name says so.

#include <atomic>

namespace robustrun::tracer::nccl {

template <class T>
[[nodiscard]] inline T get(T& word) {
  return std::atomic_ref<T>(word).load(std::memory_order_relaxed);
}
// What was written before publish() is seen by whoever sees its value through get_published().
template <class T>
[[nodiscard]] inline T get_published(T& word) {
  return std::atomic_ref<T>(word).load(std::memory_order_acquire);
}
template <class T>
inline void set(T& word, T value) {
  std::atomic_ref<T>(word).store(value, std::memory_order_relaxed);
}
template <class T>
inline void publish(T& word, T value) {
  std::atomic_ref<T>(word).store(value, std::memory_order_release);
}
// The value before.
template <class T>
inline T add(T& word, T value) {
  return std::atomic_ref<T>(word).fetch_add(value, std::memory_order_relaxed);
}
template <class T>
inline T set_bits(T& word, T bits) {
  return std::atomic_ref<T>(word).fetch_or(bits, std::memory_order_relaxed);
}
// On failure `expected` is what was there instead.
template <class T>
[[nodiscard]] inline bool exchange(T& word, T& expected, T value) {
  return std::atomic_ref<T>(word).compare_exchange_strong(expected, value,
                                                          std::memory_order_acq_rel);
}
template <class T>
inline void raise(T& word, T value) {
  T found = get(word);
  while (found < value && !exchange(word, found, value)) {
  }
}

}  // namespace robustrun::tracer::nccl
