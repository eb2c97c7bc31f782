#include "checkpoint/format/crc32c_instruction.h"

#include <array>
#include <cstring>

#include "checkpoint/format/crc32c_polynomial.h"

#if defined(__x86_64__)
#include <nmmintrin.h>
#define RR_CRC __attribute__((target("sse4.2")))
#elif defined(__aarch64__)
#include <arm_acle.h>
#include <asm/hwcap.h>
#include <sys/auxv.h>
#define RR_CRC __attribute__((target("+crc")))
#endif

namespace robustrun::checkpoint {

#ifdef RR_CRC

constexpr std::size_t kStreamBytes = 4096;  // of each of the three streams

namespace {

// Multiplies by x^(8 kStreamBytes), one byte of the other factor at a time.
constexpr auto kStreamShift = [] {
  std::array<std::array<std::uint32_t, 256>, 4> shift{};
  const std::uint32_t power = shift_of_bytes(kStreamBytes);
  for (std::uint32_t byte = 0; byte < 4; ++byte) {
    for (std::uint32_t n = 0; n < 256; ++n) shift[byte][n] = times(power, n << (8U * byte));
  }
  return shift;
}();

std::uint64_t shifted(std::uint64_t crc) {
  return kStreamShift[0][crc & 0xFFU] ^ kStreamShift[1][crc >> 8U & 0xFFU] ^
         kStreamShift[2][crc >> 16U & 0xFFU] ^ kStreamShift[3][crc >> 24U & 0xFFU];
}

std::uint64_t word_at(const char* at) {
  std::uint64_t word = 0;
  std::memcpy(&word, at, sizeof word);
  return word;
}

#if defined(__x86_64__)

RR_CRC inline std::uint64_t with_word(std::uint64_t crc, std::uint64_t word) {
  return _mm_crc32_u64(crc, word);
}

RR_CRC inline std::uint32_t with_byte(std::uint32_t crc, char byte) {
  return _mm_crc32_u8(crc, static_cast<unsigned char>(byte));
}

RR_CRC inline std::uint64_t copy_line(const char* from, char* to, std::uint64_t crc) {
  for (std::size_t i = 0; i < 64; i += 16) {
    const __m128i word = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i));
    _mm_stream_si128(reinterpret_cast<__m128i*>(to + i), word);
    crc = with_word(crc, static_cast<std::uint64_t>(_mm_cvtsi128_si64(word)));
    crc = with_word(crc, static_cast<std::uint64_t>(_mm_extract_epi64(word, 1)));
  }
  return crc;
}

// Stores past the caches become visible in order only after it.
RR_CRC void finish_copy() { _mm_sfence(); }

#else

RR_CRC inline std::uint64_t with_word(std::uint64_t crc, std::uint64_t word) {
  return __crc32cd(static_cast<std::uint32_t>(crc), word);
}

RR_CRC inline std::uint32_t with_byte(std::uint32_t crc, char byte) {
  return __crc32cb(crc, static_cast<unsigned char>(byte));
}

RR_CRC inline std::uint64_t copy_line(const char* from, char* to, std::uint64_t crc) {
  std::array<std::uint64_t, 8> line;
  std::memcpy(line.data(), from, sizeof line);
  std::memcpy(to, line.data(), sizeof line);
  for (const std::uint64_t word : line) crc = with_word(crc, word);
  return crc;
}

void finish_copy() {}

#endif

}  // namespace

RR_CRC std::uint32_t crc32c_by_instruction(std::string_view bytes, std::uint32_t seed) {
  const char* at = bytes.data();
  std::size_t left = bytes.size();
  std::uint64_t a = ~seed;
  while (left >= 3 * kStreamBytes) {
    std::uint64_t b = 0;
    std::uint64_t c = 0;
    for (std::size_t i = 0; i < kStreamBytes; i += 8) {
      a = with_word(a, word_at(at + i));
      b = with_word(b, word_at(at + kStreamBytes + i));
      c = with_word(c, word_at(at + 2 * kStreamBytes + i));
    }
    a = shifted(shifted(a) ^ b) ^ c;
    at += 3 * kStreamBytes;
    left -= 3 * kStreamBytes;
  }
  for (; left >= 8; at += 8, left -= 8) a = with_word(a, word_at(at));
  auto crc = static_cast<std::uint32_t>(a);
  for (; left > 0; ++at, --left) crc = with_byte(crc, *at);
  return ~crc;
}

RR_CRC std::size_t crc32c_copy_by_instruction(std::string_view from, char* to, std::uint32_t& crc) {
  if (reinterpret_cast<std::uintptr_t>(to) % 16 != 0) return 0;
  std::uint64_t a = ~crc;
  std::size_t at = 0;
  for (; from.size() - at >= 3 * kStreamBytes; at += 3 * kStreamBytes) {
    std::uint64_t b = 0;
    std::uint64_t c = 0;
    for (std::size_t i = at; i < at + kStreamBytes; i += 64) {
      a = copy_line(from.data() + i, to + i, a);
      b = copy_line(from.data() + i + kStreamBytes, to + i + kStreamBytes, b);
      c = copy_line(from.data() + i + 2 * kStreamBytes, to + i + 2 * kStreamBytes, c);
    }
    a = shifted(shifted(a) ^ b) ^ c;
  }
  finish_copy();
  crc = ~static_cast<std::uint32_t>(a);
  return at;
}

bool crc32c_in_hardware() {
#if defined(__x86_64__)
  static const bool has = __builtin_cpu_supports("sse4.2") != 0;
#else
  static const bool has = (::getauxval(AT_HWCAP) & HWCAP_CRC32) != 0;
#endif
  return has;
}

#else

bool crc32c_in_hardware() { return false; }
std::uint32_t crc32c_by_instruction(std::string_view, std::uint32_t crc) { return crc; }
std::size_t crc32c_copy_by_instruction(std::string_view, char*, std::uint32_t&) { return 0; }

#endif

}  // namespace robustrun::checkpoint
