#pragma once
// Element types of tensors, as safetensors names them. Data files store tensors of any other type
// as bytes (U8); the manifest keeps the name of the type.

#include <cstdint>
#include <span>
#include <string_view>

namespace robustrun::checkpoint {

// Bytes of one element; 0 if safetensors has no such type, or its elements are smaller than a byte.
[[nodiscard]] constexpr std::uint64_t element_bytes(std::string_view dtype) {
  for (const std::string_view name : {"F64", "I64", "U64", "C64"}) {
    if (dtype == name) return 8;
  }
  for (const std::string_view name : {"F32", "I32", "U32"}) {
    if (dtype == name) return 4;
  }
  for (const std::string_view name : {"F16", "BF16", "I16", "U16"}) {
    if (dtype == name) return 2;
  }
  for (const std::string_view name : {"U8", "I8", "BOOL", "F8_E4M3", "F8_E5M2", "F8_E8M0"}) {
    if (dtype == name) return 1;
  }
  return 0;
}

// Sets `elements` to the product of the dimensions. Returns false on overflow.
[[nodiscard]] constexpr bool product(std::span<const std::uint64_t> shape,
                                     std::uint64_t& elements) {
  elements = 1;
  for (const std::uint64_t size : shape) {
    if (__builtin_mul_overflow(elements, size, &elements)) return false;
  }
  return true;
}

}  // namespace robustrun::checkpoint
