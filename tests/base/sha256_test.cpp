#include "base/io/sha256.h"

#include <doctest/doctest.h>

#include <string>

namespace sha256_test {

using namespace robustrun::base;

TEST_CASE("a digest of pieces equals that of all bytes, and the standard's") {
  const std::string abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
  CHECK(to_hex(sha256("abc")) == abc);  // FIPS 180-4
  Sha256 pieces;
  for (const char* piece : {"a", "", "bc"}) pieces.add(piece);
  CHECK(to_hex(pieces.finish()) == abc);
  CHECK(Sha256().finish() == sha256(""));
}

}  // namespace sha256_test
