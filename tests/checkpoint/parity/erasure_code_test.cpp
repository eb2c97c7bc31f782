#include "checkpoint/parity/erasure_code.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <iterator>
#include <numeric>
#include <string>

#include "base/core/clock.h"
#include "checkpoint/parity/galois.h"

namespace erasure_code_test {

using namespace robustrun;
using namespace robustrun::checkpoint;

namespace {

constexpr std::uint64_t kSeed = 20'262;

std::string random_bytes(base::Rng& rng, std::size_t size) {
  std::string bytes(size, '\0');
  for (char& byte : bytes) byte = static_cast<char>(rng.next());
  return bytes;
}

GaloisSum whole_code(const CodeShape& shape) {
  std::vector<std::uint8_t> matrix;
  for (std::size_t row = 0; row < shape.parity; ++row) {
    std::ranges::copy(code_row(shape, row), std::back_inserter(matrix));
  }
  return {shape.parity, shape.data, std::move(matrix)};
}

std::vector<std::string> coded(const CodeShape& shape, const std::vector<std::string>& data) {
  std::vector<std::string> parity(shape.parity, std::string(data.front().size(), '\0'));
  std::vector<char*> outputs;
  for (std::string& row : parity) outputs.push_back(row.data());
  const GaloisSum code = whole_code(shape);
  for (std::size_t i = 0; i < data.size(); ++i) code.add(i, data[i], outputs);
  return parity;
}

}  // namespace

TEST_CASE("products obey the field's laws: associative, with an inverse for all but 0") {
  for (unsigned a = 1; a < 256; ++a) {
    const auto x = static_cast<std::uint8_t>(a);
    CHECK(galois_product(x, galois_inverse(x)) == 1);
    CHECK(galois_product(x, 0) == 0);
    CHECK(galois_product(x, 1) == x);
    for (unsigned b = 1; b < 256; b += 7) {
      const auto y = static_cast<std::uint8_t>(b);
      CHECK(galois_product(x, galois_product(y, 29)) == galois_product(galois_product(x, y), 29));
      CHECK(galois_product(x, static_cast<std::uint8_t>(y ^ 29U)) ==
            (galois_product(x, y) ^ galois_product(x, 29)));
    }
  }
  CHECK(galois_product(0x80, 2) == 0x1d);  // reduced by the polynomial 0x11d
}

TEST_CASE("ISA-L and the tables give the same, for any length") {
  REQUIRE(galois_in_hardware());  // test machines have Debian's libisal2
  base::Rng rng(kSeed);
  const CodeShape shape{5, 3};
  const GaloisSum code = whole_code(shape);
  for (const std::size_t size : {0, 1, 15, 16, 63, 64, 100, 4096, 100'001}) {
    std::string a(3 * size, '\0');
    std::string b = a;
    for (std::size_t column = 0; column < shape.data; ++column) {
      const std::string input = random_bytes(rng, size);
      const std::vector<char*> into_a = {a.data(), a.data() + size, a.data() + 2 * size};
      const std::vector<char*> into_b = {b.data(), b.data() + size, b.data() + 2 * size};
      code.add(column, input, into_a);
      code.add_by_table(column, input, into_b);
    }
    CAPTURE(size);
    CHECK(a == b);
    CHECK((size == 0 || a != std::string(3 * size, '\0')));
  }
}

TEST_CASE("any lost members up to the number of parity members are recovered, but no more") {
  base::Rng rng(kSeed);
  MESSAGE("seed ", kSeed);
  for (int round = 0; round < 300; ++round) {
    const CodeShape shape{1 + rng.below(12), 1 + rng.below(4)};
    std::vector<std::string> data;
    for (std::size_t i = 0; i < shape.data; ++i) data.push_back(random_bytes(rng, 97));
    const std::vector<std::string> parity = coded(shape, data);
    std::vector<std::size_t> order(shape.data + shape.parity);
    std::iota(order.begin(), order.end(), 0U);
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[rng.below(i)]);
    std::vector<bool> has_data(shape.data, true);
    std::vector<bool> has_parity(shape.parity, true);
    for (std::size_t i = 0; i < shape.parity; ++i) {
      if (order[i] < shape.data) {
        has_data[order[i]] = false;
      } else {
        has_parity[order[i] - shape.data] = false;
      }
    }
    for (std::size_t wanted = 0; wanted < shape.data; ++wanted) {
      if (has_data[wanted]) continue;
      const auto plan = plan_recovery(shape, has_data, has_parity, wanted);
      REQUIRE(plan);
      std::vector<std::string> inputs;
      for (const std::size_t column : plan->columns) inputs.push_back(data[column]);
      for (const std::size_t row : plan->rows) inputs.push_back(parity[row]);
      std::string sum(97, '\0');
      char* const output = sum.data();
      const GaloisSum code(1, inputs.size(), plan->coefficients);
      for (std::size_t i = 0; i < inputs.size(); ++i) code.add(i, inputs[i], {&output, 1});
      REQUIRE(sum == data[wanted]);
      // One more, if there is one left.
      const auto more = std::ranges::find(has_parity, true);
      if (more == has_parity.end()) continue;
      std::vector<bool> fewer(shape.parity, false);
      CHECK_FALSE(plan_recovery(shape, has_data, fewer, wanted));
    }
  }
}

}  // namespace erasure_code_test
