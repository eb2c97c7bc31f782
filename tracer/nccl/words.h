#pragma once
// Access to words that several threads of NCCL write and another process reads. Each access is
// atomic, and relaxed unless noted.

#include <atomic>

namespace robustrun::tracer::nccl {

template <class T>
[[nodiscard]] inline T get(T& word) {
  return std::atomic_ref<T>(word).load(std::memory_order_relaxed);
}
// A thread that reads a published value with get_published() also sees all writes before publish().
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
// Returns the previous value.
template <class T>
inline T add(T& word, T value) {
  return std::atomic_ref<T>(word).fetch_add(value, std::memory_order_relaxed);
}
template <class T>
inline T set_bits(T& word, T bits) {
  return std::atomic_ref<T>(word).fetch_or(bits, std::memory_order_relaxed);
}
// Compares and exchanges, with acquire and release. On failure `expected` gets the current value.
template <class T>
[[nodiscard]] inline bool exchange(T& word, T& expected, T value) {
  return std::atomic_ref<T>(word).compare_exchange_strong(expected, value,
                                                          std::memory_order_acq_rel);
}
// Sets `word` to `value`, unless `word` is larger already.
template <class T>
inline void raise(T& word, T value) {
  T found = get(word);
  while (found < value && !exchange(word, found, value)) {
  }
}

}  // namespace robustrun::tracer::nccl
