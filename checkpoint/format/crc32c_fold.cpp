#include "checkpoint/format/crc32c_fold.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "checkpoint/format/crc32c.h"
#include "checkpoint/format/crc32c_polynomial.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace robustrun::checkpoint {

#if defined(__x86_64__)

// Four products at a time, because each depends on its own result from the previous round.
constexpr std::size_t kFoldedLines = 4;
constexpr std::size_t kFoldedLineBytes = 64;
constexpr std::size_t kFoldRoundBytes = kFoldedLines * kFoldedLineBytes;
constexpr std::size_t kAheadBytes = 1024;  // prefetch distance
constexpr std::size_t kWorthBytes = 4 * kFoldRoundBytes;

#define RR_FOLD __attribute__((target("avx512f,vpclmulqdq,sse4.2")))

// Factors that move 16 bytes `bytes` further from the end: their first half is multiplied by x^(8
// bytes + 32), the second by x^(8 bytes - 32). Shifted, because the product of two reflected
// polynomials is one bit short.
constexpr std::uint64_t kFirstHalf = std::uint64_t{power(8 * kFoldRoundBytes + 32)} << 1U;
constexpr std::uint64_t kSecondHalf = std::uint64_t{power(8 * kFoldRoundBytes - 32)} << 1U;

// An array cannot hold __m512i itself, whose alignment is an attribute.
struct FoldedLine {
  __m512i bits;
};

template <bool kCopies>
RR_FOLD static std::size_t fold(std::string_view from, char* to, std::uint32_t& crc) {
  if (from.size() < kWorthBytes) return 0;
  const std::size_t bytes = from.size() / kFoldRoundBytes * kFoldRoundBytes;
  const __m512i by = _mm512_broadcast_i32x4(
      _mm_set_epi64x(static_cast<long long>(kSecondHalf), static_cast<long long>(kFirstHalf)));
  const auto take = [&](std::size_t at) RR_FOLD {
    const __m512i line = _mm512_loadu_si512(from.data() + at);
    if constexpr (kCopies) _mm512_stream_si512(reinterpret_cast<__m512i*>(to + at), line);
    return line;
  };
  std::array<FoldedLine, kFoldedLines> lanes;
  for (std::size_t i = 0; i < kFoldedLines; ++i) lanes[i].bits = take(i * kFoldedLineBytes);
  const __m128i before = _mm_cvtsi32_si128(static_cast<int>(~crc));
  lanes[0].bits =
      _mm512_xor_si512(lanes[0].bits, _mm512_inserti32x4(_mm512_setzero_si512(), before, 0));
  for (std::size_t at = kFoldRoundBytes; at < bytes; at += kFoldRoundBytes) {
    for (std::size_t i = 0; i < kFoldedLines; ++i) {
      const std::size_t place = at + i * kFoldedLineBytes;
      _mm_prefetch(from.data() + std::min(place + kAheadBytes, bytes - 1), _MM_HINT_NTA);
      const __m512i first = _mm512_clmulepi64_epi128(lanes[i].bits, by, 0x00);
      const __m512i second = _mm512_clmulepi64_epi128(lanes[i].bits, by, 0x11);
      // All three, XORed.
      lanes[i].bits = _mm512_ternarylogic_epi64(first, second, take(place), 0x96);
    }
  }
  // The remainder is equivalent to the bytes of one round that follow zeros.
  std::array<std::uint64_t, kFoldRoundBytes / sizeof(std::uint64_t)> words;
  std::memcpy(words.data(), lanes.data(), sizeof words);
  std::uint64_t left = 0;
  for (const std::uint64_t word : words) left = _mm_crc32_u64(left, word);
  crc = ~static_cast<std::uint32_t>(left);
  if constexpr (kCopies) _mm_sfence();
  return bytes;
}

bool crc32c_can_fold() {
  static const bool can = __builtin_cpu_supports("avx512f") != 0 &&
                          __builtin_cpu_supports("vpclmulqdq") != 0 &&
                          __builtin_cpu_supports("sse4.2") != 0;
  return can;
}

std::size_t crc32c_fold(std::string_view bytes, std::uint32_t& crc) {
  return fold<false>(bytes, nullptr, crc);
}

std::size_t crc32c_fold_copy(std::string_view from, char* to, std::uint32_t& crc) {
  const std::size_t odd = -reinterpret_cast<std::uintptr_t>(to) % kFoldedLineBytes;
  if (from.size() < odd + kWorthBytes) return 0;
  if (odd > 0) {
    std::memcpy(to, from.data(), odd);
    crc = crc32c({to, odd}, crc);
  }
  return odd + fold<true>(from.substr(odd), to + odd, crc);
}

#else

bool crc32c_can_fold() { return false; }
std::size_t crc32c_fold(std::string_view, std::uint32_t&) { return 0; }
std::size_t crc32c_fold_copy(std::string_view, char*, std::uint32_t&) { return 0; }

#endif

}  // namespace robustrun::checkpoint
