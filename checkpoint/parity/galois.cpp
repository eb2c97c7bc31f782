#include "checkpoint/parity/galois.h"

#include <dlfcn.h>

#include <array>

#include "base/core/result.h"

namespace robustrun::checkpoint {
namespace {

constexpr unsigned kFieldPolynomial = 0x11d;
constexpr std::size_t kIsalTableBytes = 32;

struct FieldTables {
  std::array<std::uint8_t, 512> powers{};  // of the generator 2; twice, so that sums need no modulo
  std::array<std::uint8_t, 256> logarithms{};

  constexpr FieldTables() {
    unsigned value = 1;
    for (unsigned i = 0; i < 255; ++i) {
      powers[i] = powers[i + 255] = static_cast<std::uint8_t>(value);
      logarithms[value] = static_cast<std::uint8_t>(i);
      value <<= 1U;
      if ((value & 0x100U) != 0) value ^= kFieldPolynomial;
    }
  }
};
constexpr FieldTables kField;

// As declared in isa-l/erasure_code.h, version 2.
struct IsaL {
  void (*init_tables)(int columns, int rows, unsigned char* coefficients,
                      unsigned char* tables) = nullptr;
  void (*update)(int bytes, int columns, int rows, int column, unsigned char* tables,
                 unsigned char* input, unsigned char** outputs) = nullptr;

  // Never unloaded.
  IsaL() {
    void* const library = ::dlopen("libisal.so.2", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return;
    init_tables = reinterpret_cast<decltype(init_tables)>(::dlsym(library, "ec_init_tables"));
    update = reinterpret_cast<decltype(update)>(::dlsym(library, "ec_encode_data_update"));
    if (init_tables == nullptr || update == nullptr) *this = IsaL(0);
  }
  explicit IsaL(int) {}
};

const IsaL& isa_l() {
  static const IsaL library;
  return library;
}

}  // namespace

std::uint8_t galois_product(std::uint8_t a, std::uint8_t b) {
  if (a == 0 || b == 0) return 0;
  return kField.powers[std::size_t{kField.logarithms[a]} + kField.logarithms[b]];
}

std::uint8_t galois_inverse(std::uint8_t a) {
  RR_ASSERT(a != 0);
  return kField.powers[255U - kField.logarithms[a]];
}

bool galois_in_hardware() { return isa_l().update != nullptr; }

GaloisSum::GaloisSum(std::size_t rows, std::size_t columns, std::vector<std::uint8_t> coefficients)
    : rows_(rows), columns_(columns), coefficients_(std::move(coefficients)) {
  RR_ASSERT(rows > 0 && rows <= 255 && columns > 0 && columns <= 255 &&
            coefficients_.size() == rows * columns);
  if (!galois_in_hardware()) return;
  tables_.resize(kIsalTableBytes * coefficients_.size());
  isa_l().init_tables(static_cast<int>(columns), static_cast<int>(rows), coefficients_.data(),
                      tables_.data());
}

void GaloisSum::add(std::size_t column, std::string_view input,
                    std::span<char* const> outputs) const {
  RR_ASSERT(column < columns_ && outputs.size() == rows_ && input.size() <= INT32_MAX);
  if (!galois_in_hardware()) return add_by_table(column, input, outputs);
  std::array<unsigned char*, 255> places{};
  for (std::size_t row = 0; row < rows_; ++row) {
    places[row] = reinterpret_cast<unsigned char*>(outputs[row]);
  }
  // ISA-L's C declarations lack const; tables and input are only read.
  isa_l().update(static_cast<int>(input.size()), static_cast<int>(columns_),
                 static_cast<int>(rows_), static_cast<int>(column),
                 const_cast<unsigned char*>(tables_.data()),
                 reinterpret_cast<unsigned char*>(const_cast<char*>(input.data())), places.data());
}

void GaloisSum::add_by_table(std::size_t column, std::string_view input,
                             std::span<char* const> outputs) const {
  for (std::size_t row = 0; row < rows_; ++row) {
    const std::uint8_t coefficient = coefficients_[row * columns_ + column];
    std::array<std::uint8_t, 256> product{};
    for (unsigned value = 0; value < product.size(); ++value) {
      product[value] = galois_product(coefficient, static_cast<std::uint8_t>(value));
    }
    char* const output = outputs[row];
    for (std::size_t i = 0; i < input.size(); ++i) {
      output[i] = static_cast<char>(static_cast<std::uint8_t>(output[i]) ^
                                    product[static_cast<std::uint8_t>(input[i])]);
    }
  }
}

}  // namespace robustrun::checkpoint
